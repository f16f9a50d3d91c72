"""The checks of ReEval's perturbed evidence. The paper states the aim; the checks are ours."""
