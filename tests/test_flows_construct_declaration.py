"""A declaration that does not fit together is one line that says what is missing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flows.families
from flows.construct.engine import Family, Part, each
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families import check_declaration, family_names, load_family
from schemas.errors import Failed
from schemas.rubric import Rubric, Shown
from tests.toy import FAMILY, WORDS, shout

Change = Callable[[Part], Part]


def changed(change: Change) -> Family:
    """The toy family with another first part."""
    words, *others = FAMILY.parts
    return replace(FAMILY, parts=(change(words), *others))


def asking(**values: Any) -> Change:
    """The part with another rubric."""
    rubric = Rubric.model_validate({**dict(WORDS), **values})
    return lambda part: replace(part, people=sample(rubric))


@pytest.mark.parametrize("name", family_names())
def test_every_family_is_declared_as_it_is(name: str) -> None:
    check_declaration(load_family(name))


@pytest.mark.parametrize("name", family_names())
def test_every_template_of_a_family_fits_the_inputs_of_its_prompt(name: str) -> None:
    family = load_family(name)
    for prompt in {*family.prompts, *family.evaluation.prompts}:
        assert prompt.inputs is not None, f"{prompt.file}: give the prompt its `inputs`"
        prompt.check_template()


def test_a_family_has_the_name_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "misnamed").mkdir()
    (tmp_path / "misnamed" / "__init__.py").write_text("from tests.toy import FAMILY\n", encoding="utf-8")
    monkeypatch.setattr(flows.families, "__path__", [*flows.families.__path__, str(tmp_path)])
    monkeypatch.setattr(flows.families, "family_names", lambda: ("misnamed",))
    with pytest.raises(
        Failed, match=r"misnamed/__init__\.py: FAMILY is named 'toy'; name it 'misnamed', as its folder"
    ):
        load_family("misnamed")


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
        (
            lambda part: replace(part, steps=(each(shout, settings=["longest"]),)),  # a property: not in a fingerprint
            "the step shout of words names the setting longest",
        ),
        (
            lambda part: replace(part, steps=(each(shout, asks={"builder": "builders"}),)),
            "the step shout of words names the setting builders",
        ),
        (asking(shows=(Shown(name="txt"),)), "the rubric toy-words names the field txt"),
        (asking(guideline="guide.md"), "the rubric toy-words names the file guide.md"),
        (lambda part: replace(part, sources=("lines",)), "`sources` of words names the setting lines"),
        (lambda part: replace(part, uses=("letters",)), "`uses` of words names the part letters"),
        (lambda part: replace(part, released=Released("word_id", ())), "`released` of words names the field word_id"),
    ],
)
def test_a_name_that_does_not_exist_is_named(change: Change, problem: str) -> None:
    with pytest.raises(Failed, match=problem):
        check_declaration(changed(change))
