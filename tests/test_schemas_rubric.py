"""Rubrics: what holds together, and what is refused where it is written."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.rubric import Choice, Rubric

ASK = {"name": "q", "question": "?", "options": ["a", "b"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"marks": [{"name": "m", "title": "m", "of": "told"}]}, "told is not a shown text that can be marked"),
        ({"shows": [{"name": "text", "beside": "w"}]}, "w is not a question to show something with"),
        ({"shows": [{"name": "text", "around": "w"}]}, "w is not a shown text to cut around"),
        ({"listed": "w"}, "w is not shown, to list tasks by"),
        ({"asks": [{**ASK, "about": "text"}]}, "text is not written or marked"),
        ({"asks": [{**ASK, "options": ["a", "a"]}]}, "an option occurs twice"),
        ({"asks": [{**ASK, "ends": ["x", "y"]}]}, "only a scale, whose options are ordered, has ends"),
    ],
)  # fmt: skip
def test_a_rubric_whose_parts_do_not_fit_is_refused(changes: dict[str, Any], said: str) -> None:
    whole: dict[str, Any] = {
        "name": "r", "version": 1, "guideline": "g.md", "shows": [{"name": "text"}, {"name": "told", "beside": "q"}],
        "asks": [ASK], "writes": [{"name": "w", "title": "w"}],
    }  # fmt: skip
    Rubric.model_validate(whole)
    with pytest.raises(ValidationError, match=said):
        Rubric.model_validate(whole | changes)


def test_what_neither_accepts_nor_fixes_rejects_where_anything_decides() -> None:
    decides = Choice(name="q", question="?", options=("keep", "edit", "drop"), accepts=("keep",), fixes=("edit",))
    assert decides.rejects == ("drop",)
    assert Choice(name="q", question="?", options=("1", "2")).rejects == ()
