"""Middle truncation: what a model with a short window is shown of a long prompt (LV-Eval, section 4).

The whole filled prompt is cut before it goes into a chat format, as LV-Eval's program does; its paper cuts
the context alone. A prompt that says what it asks at both ends keeps it either way. Departure: without a tokenizer,
and where a server tells its window by refusing a prompt, the text is cut by characters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from pydantic import BaseModel

from flows.llm.model import Message, Model, Out, Prompt, PromptTooLong, Usage
from flows.llm.prices import estimate_tokens
from schemas.errors import WrongInput

TRIES = 6
"""How often one prompt is shortened by what its server says before it is given up."""
SPARE = 0.98
"""Tokens are not spread evenly over a text: of the room that there is, so much is used."""
LEAST_CUT = 0.95
"""What is refused again, though it should fit, loses a twentieth at least."""
FEWEST_TOKENS = 16
"""A window with less room than this for a prompt holds no question."""


class Tokenizer(Protocol):
    """The tokens of a text, and the text of tokens; neither adds a token of its own."""

    def encode(self, text: str) -> Sequence[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...


class PretrainedTokenizer:
    """A model's tokenizer through transformers, without the special tokens that it would put around a text."""

    def __init__(self, name: str) -> None:
        """Load it from a folder or the Hub. Raises `WrongInput` where there is none of that name."""
        from transformers import AutoTokenizer

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(name)
        except (OSError, ValueError) as error:
            raise WrongInput(
                f"{name}: no tokenizer could be loaded ({str(error).splitlines()[0]}); name a folder or a Hub "
                "repository that holds one"
            ) from error

    def encode(self, text: str) -> Sequence[int]:
        """The tokens of `text`."""
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the tokens, without special ones."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


def truncate_middle(prompt: str, tokenizer: Tokenizer, window: int) -> str:
    """The first and the last `int(window / 2)` tokens of a prompt that has more than `window`.

    They are decoded apart and joined by nothing, so that a token or two at the seam may come out otherwise
    when the text is read again. `window` is the model's in tokens, less the answer (the
    program's advice: less 500). Raises `ValueError` for one below 2, which would keep nothing.
    """
    if window < 2:
        raise ValueError(f"a window of {window} tokens holds no text; give 2 or more")
    tokens = tokenizer.encode(prompt)
    if len(tokens) <= window:
        return prompt
    half = window // 2
    return tokenizer.decode(tokens[:half]) + tokenizer.decode(tokens[-half:])


def keep_ends(text: str, share: float) -> str:
    """So large a share of the text, by characters: its first and its last half, joined by nothing."""
    half = max(1, int(len(text) * share) // 2)
    return text if 2 * half >= len(text) else text[:half] + text[-half:]


@dataclass(frozen=True)
class CutPrompt(Prompt[Out]):
    """A prompt whose filled text is cut in its middle where a model's window is too short for it."""

    cut: Callable[[str], str] = str

    def messages(self, inputs: BaseModel) -> list[Message]:
        """The chat messages, that of the user cut; raises `PromptTemplateError`."""
        return [
            Message(role=one["role"], content=self.cut(one["content"])) if one["role"] == "user" else one
            for one in super().messages(inputs)
        ]


def cut_by(prompt: Prompt[Out], cut: Callable[[str], str]) -> Prompt[Out]:
    """`prompt` with the user's text as `cut` leaves it."""
    given = {field.name: getattr(prompt, field.name) for field in fields(Prompt)}
    return CutPrompt(**given, cut=cut)


def middle_cut(window: int, tokenizer: Tokenizer | None) -> Callable[[str], str]:
    """How a text is cut for a window of so many tokens; without a tokenizer, by an estimate of them."""

    def estimated(text: str) -> str:
        return keep_ends(text, window / max(window, estimate_tokens(text)))

    return estimated if tokenizer is None else lambda text: truncate_middle(text, tokenizer, window)


class Fitting:
    """Asks one prompt of a model, cut in its middle as far as the model's window makes it.

    `window` is how many tokens of a prompt the user says that there is room for, and `cut` how it is cut to them
    beforehand. Where the server refuses the prompt all the same (it counts otherwise, or more than the user's text),
    that is cut by the window that it tells, or else by the user's, and asked again. `was_cut` tells whether it was.
    """

    def __init__(self, model: Model, prompt: Prompt[Out], window: int | None, cut: Callable[[str], str] | None) -> None:
        self._model = model
        self._prompt = prompt
        self._window = window
        self._cut = cut
        self.was_cut = False

    async def complete(self, inputs: BaseModel, *, answer_tokens: int, usage: Usage) -> Any:
        """The answer; raises what `Model.complete` does, `PromptTooLong` where no window is known."""
        share = 1.0
        for tries_left in reversed(range(TRIES)):
            prompt = cut_by(self._prompt, lambda text, share=share: self._shortened(text, share))  # type: ignore[misc]
            try:
                return await self._model.complete(prompt, inputs, usage=usage)
            except PromptTooLong as too_long:
                told = too_long.window
                left = self._window or 0 if told is None else told - answer_tokens
                if left < FEWEST_TOKENS or not tries_left:
                    raise
                share *= min(LEAST_CUT, SPARE * left / too_long.tokens)
        raise AssertionError("the last try answers or raises")

    def _shortened(self, text: str, share: float) -> str:
        shown = text if self._cut is None else self._cut(text)
        shown = shown if share == 1 else keep_ends(shown, share)
        self.was_cut |= shown != text
        return shown
