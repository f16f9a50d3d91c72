"""Rubrics made from another rubric: their names, and what they have in common."""

from schemas.base import content_hash
from schemas.rubric import Rubric, Shown

LONGEST_NAME = 40


def derived_name(name: str, suffix: str) -> str:
    """Return the rubric's name with the suffix, shortened if necessary, and still unique."""
    if len(name) + len(suffix) <= LONGEST_NAME:
        return name + suffix
    mark = f"-{content_hash(name)[:6]}"
    return name[: LONGEST_NAME - len(suffix) - len(mark)].rstrip("-") + mark + suffix


def same_form(rubric: Rubric, suffix: str, title: str, first: Shown) -> Rubric:
    """Return the rubric's form with one more text at the top, for one person per task and without samples."""
    return rubric.model_copy(
        update={
            "name": derived_name(rubric.name, suffix),
            "title": f"{title}: {rubric.title or rubric.name}",
            "shows": (first, *rubric.shows),
            "listed": rubric.lists_by,
            "people_per_item": 1,
            "overlaps": False,
            "samples": (),
            "validation_share": 0.0,
            "pass_share": 0.0,
        }
    )
