"""How long a prompt's requests and answers usually are, for estimates while nothing is measured."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from flows.construct.engine import Family
from flows.llm.model import Prompt
from flows.llm.prices import estimate_tokens

TYPICAL_INPUT_TOKENS = 60
"""Tokens for the text filled into a template, while nothing is measured: a few sentences."""


class Tokens(NamedTuple):
    """Tokens of a call."""

    input: int
    output: int


def usual_tokens(family: Family, prompt: Prompt[Any]) -> Tokens:
    """Return the usual tokens of a prompt, for use while nothing is measured: those of a strong model on real sources.

    The family's `prompts/usual.tsv` has, by prompt, the tokens of the request in addition to the template, and those of
    the answer (of each record, if a call writes several). For other prompts: a few sentences, and the longest answer.
    """
    beside, answer = _usual(family.folder).get(prompt.name, (TYPICAL_INPUT_TOKENS, prompt.max_tokens))
    return Tokens(max(1, estimate_tokens(prompt.source) + beside), answer)


@cache
def _usual(folder: Path) -> Mapping[str, tuple[int, int]]:
    path = folder / "prompts" / "usual.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.is_file() else []
    return {name: (int(beside), int(answer)) for name, beside, answer in (line.split("\t") for line in lines)}
