"""Rubrics: what holds together, and what is refused where it is written."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.rubric import Choice, Rubric

ASK = {"name": "q", "question": "?", "options": ["a", "b"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"marks": [{"name": "m", "title": "m", "of": "told"}]}, "told is no text that is shown, and cannot be marked"),
        ({"shows": [{"name": "text", "beside": "w"}]}, "w is no question, to show something beside"),
        ({"shows": [{"name": "text", "around": "w"}]}, "w is no text that is shown, to be cut around"),
        ({"listed": "w"}, "w is nothing that is shown, to list tasks by"),
        ({"asks": [{**ASK, "about": "text"}]}, "text is nothing that people"),
        ({"asks": [{**ASK, "options": ["a", "a"]}]}, "an option stands twice"),
        ({"asks": [{**ASK, "ends": ["x", "y"]}]}, "ends are those of a scale"),
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
