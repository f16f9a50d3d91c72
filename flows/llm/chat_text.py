"""A dialogue as a local causal model reads it: in its chat template if it has one, otherwise in plain turns."""

from collections.abc import Sequence
from typing import Any

import jinja2

from flows.llm.model import Said
from schemas.errors import WrongInput

SPEAKERS = {"user": "User", "assistant": "Assistant"}
"""The beginnings of turns without a chat template."""
_MARK = "\ue000"
"""Stands for a turn's text; no template contains it."""


def pieces(tokenizer: Any, turns: Sequence[Said]) -> tuple[str, ...]:
    """The text in pieces: the template's text before the first turn, often nothing, and then each turn's.

    User and assistant take turns, the user first, for at least three turns. A turn's piece includes the template's text
    around it, such as `<|im_start|>user`. Templates are rendered with a mark in place of each turn's text, so that no
    text can be taken for a border, and none is changed by its template (some cut an assistant's thoughts). Raises
    `WrongInput` if the template does not take these turns.
    """
    texts = [turn.text.strip() for turn in turns]
    if tokenizer.chat_template is None:
        return ("", *(f"{SPEAKERS[turn.role]}: {text}\n" for turn, text in zip(turns, texts, strict=True)))
    around = _around(tokenizer, turns)
    ends = {"assistant": around[-1], "user": _around(tokenizer, turns[:-1])[-1]}
    # The characters after a text belong to it if they also follow it at the dialogue's end.
    cuts = [common(after, ends[turn.role]) for turn, after in zip(turns[:-1], around[1:-1], strict=True)]
    heading = around[2][cuts[1] :]
    before = len(around[0]) - common(around[0][::-1], heading[::-1])
    if tokenizer.bos_token and around[0].startswith(tokenizer.bos_token):
        before = max(before, len(tokenizer.bos_token))
    heads = [around[0][before:], *(after[cut:] for after, cut in zip(around[1:-1], cuts, strict=True))]
    tails = [*(after[:cut] for after, cut in zip(around[1:-1], cuts, strict=True)), around[-1]]
    whole = (head + text + tail for head, text, tail in zip(heads, texts, tails, strict=True))
    return (around[0][:before], *whole)


def common(first: Sequence[object], second: Sequence[object]) -> int:
    """The number of characters, or tokens, at the beginning that both share."""
    pairs = zip(first, second, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(first), len(second)))


def _around(tokenizer: Any, turns: Sequence[Said]) -> list[str]:
    """The template's text before the first turn, between turns, and after the last: one more than there are turns."""
    marked = [{"role": turn.role, "content": _MARK} for turn in turns]
    try:
        around: list[str] = tokenizer.apply_chat_template(marked, tokenize=False).split(_MARK)
    except jinja2.TemplateError as error:
        raise WrongInput(f"the model's chat template refuses a dialogue ({error}); use another model") from error
    if len(around) != len(turns) + 1:
        raise WrongInput("the model's chat template does not show each turn of a dialogue once; use another model")
    return around
