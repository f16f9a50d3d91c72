"""What ReEval's perturbed evidence must meet. The paper states the aim; the checks are ours."""
