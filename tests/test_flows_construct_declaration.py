"""A declaration that does not fit together is one line that says what is missing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from flows.construct.engine import Family, Part, each
from flows.construct.release import Released
from flows.families import check_declaration, family_names, load_family
from schemas.errors import Failed
from tests.toy import FAMILY, shout

Change = Callable[[Part], Part]


def changed(change: Change) -> Family:
    """The toy family with another first part."""
    words, *others = FAMILY.parts
    return replace(FAMILY, parts=(change(words), *others))


@pytest.mark.parametrize("name", family_names())
def test_every_family_is_declared_as_it_is(name: str) -> None:
    check_declaration(load_family(name))


def test_a_prompt_that_is_not_listed_is_named() -> None:
    with pytest.raises(Failed, match="the step shout of words names the prompt toy_shout, which does not exist"):
        check_declaration(replace(FAMILY, prompts=()))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda part: replace(part, steps=(each(shout, settings=["pitch"]),)),
            "the step shout of words names the setting pitch",
        ),
        (lambda part: replace(part, sources=("lines",)), "`sources` of words names the setting lines"),
        (lambda part: replace(part, uses=("letters",)), "`uses` of words names the part letters"),
        (lambda part: replace(part, released=Released("word_id", ())), "`released` of words names the field word_id"),
    ],
)
def test_a_name_that_does_not_exist_is_named(change: Change, problem: str) -> None:
    with pytest.raises(Failed, match=problem):
        check_declaration(changed(change))
