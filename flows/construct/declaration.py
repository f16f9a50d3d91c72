"""Checks that a family's declaration fits together: a mistake is one line that names it, before anything runs."""

from collections.abc import Container, Iterable, Iterator

from flows.construct.engine import Family, Part
from schemas.errors import Failed


def check_declaration(family: Family) -> None:
    """Raise `Failed` for the first name in a family's declaration that does not exist."""
    for part in family.parts:
        for owner, names, kind, existing in _names(family, part):
            for name in names:
                if name not in existing:
                    raise Failed(f"{family.folder}: {owner} names the {kind} {name}, which does not exist; correct it")


def _names(family: Family, part: Part) -> Iterator[tuple[str, Iterable[str], str, Container[str]]]:
    """What names something, the names, the kind of what they name, and all of that kind."""
    prompts = {prompt.name for prompt in family.prompts}
    parts = {other.name for other in family.parts}
    # A setting is a field, or a property that joins several.
    settings = {*family.settings.model_fields, *vars(family.settings)}
    fields = part.item.model_fields
    for step in part.steps:
        owner = f"the step {step.name} of {part.name}"
        yield owner, [prompt.name for prompt in step.prompts], "prompt", prompts
        yield owner, step.settings, "setting", settings
    if not family.makers(part):
        yield f"`sources` of {part.name}", part.sources, "setting", settings
    yield f"`uses` of {part.name}", part.uses, "part", parts
    if (released := part.released) is not None:
        owner = f"`released` of {part.name}"
        yield owner, (released.together, *released.configs, *released.said), "field", fields
        yield owner, released.verification_inputs, "part", parts
    if part.people is not None:
        corrected = [text.name for text in part.people.rubric.writes if text.corrects]
        yield f"the rubric {part.people.rubric.name}", corrected, "field", fields
