"""Middle truncation: a long prompt cut for a model with a short window (LV-Eval, section 4).

The whole filled prompt is cut before it is put into a chat format, as LV-Eval's program does; its paper cuts only the
context. A prompt that gives its instructions at both ends keeps them either way. In a dialogue the longest messages
are cut, each in its middle, so that short ones stay whole. Departure: without a tokenizer, or if a server states its
window by refusing a prompt, the text is cut by characters.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from flows.llm.model import Message
from flows.llm.prices import estimate_tokens
from schemas.errors import WrongInput, first_line

TRIES = 6
"""How often a prompt is shortened after its server's refusals before it is given up."""
SPARE = 0.98
"""The share of the room that is used: tokens are not spread evenly over a text."""
LEAST_CUT = 0.95
"""A prompt that is refused again, though it should fit, loses at least a twentieth."""
FEWEST_TOKENS = 16
"""A window with less room for a prompt is too small for a question."""

Cut = Callable[[list[Message]], list[Message]]
"""Shortens messages for a model with a short window; a system message is never cut."""


class Tokenizer(Protocol):
    """The tokens of a text, and the text of tokens; neither adds a token of its own."""

    def encode(self, text: str) -> Sequence[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...


class PretrainedTokenizer:
    """A model's tokenizer through transformers, without the special tokens that it would put around a text."""

    def __init__(self, name: str) -> None:
        """Load it from a folder or the Hub. Raises `WrongInput` if there is none of that name."""
        from transformers import AutoTokenizer

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise WrongInput(
                f"{name}: no tokenizer could be loaded ({first_line(error)}); name a folder or a Hub "
                "repository that holds one"
            ) from error

    def encode(self, text: str) -> Sequence[int]:
        """The tokens of `text`."""
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the tokens, without special ones."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))


def keep_ends(text: str, share: float) -> str:
    """This share of the text, by characters: half from its start and half from its end, joined without a mark."""
    half = max(1, int(len(text) * share) // 2)
    return text if 2 * half >= len(text) else text[:half] + text[-half:]


def middle_cut(window: int, tokenizer: Tokenizer | None) -> Cut:
    """The cut of messages to a window of this many tokens; without a tokenizer, tokens are estimated.

    `window` is the model's, less the answer (the program's advice: less 500). The two halves that are kept are decoded
    separately and joined without a mark, so that a token or two at the seam may differ when the text is read again.
    """

    def measured(text: str) -> Measured:
        if tokenizer is None:
            return _by_characters(text, estimate_tokens(text))
        tokens = tokenizer.encode(text)

        def ends(most: float) -> str:
            half = max(1, int(most) // 2)
            return tokenizer.decode(tokens[:half]) + tokenizer.decode(tokens[-half:])

        return Measured(len(tokens), ends)

    return lambda messages: _cut_longest(messages, measured, window)


def cut_to(window: int | None, tokenizer: str | None) -> Cut | None:
    """The cut to a model's window, in tokens of the tokenizer of that name, or estimated ones; None without a window.

    Raises `WrongInput` if there is no such tokenizer.
    """
    if window is None:
        return None
    return middle_cut(window, PretrainedTokenizer(tokenizer) if tokenizer else None)


def cut_to_share(messages: list[Message], share: float) -> list[Message]:
    """The messages with this share of their characters."""
    room = sum(len(message["content"]) for message in messages if message["role"] != "system") * share
    return _cut_longest(messages, lambda text: _by_characters(text, len(text)), room)


class Measured(NamedTuple):
    """Measures a text, and shortens it to a length."""

    length: int
    shortened: Callable[[float], str]


def _by_characters(text: str, length: int) -> Measured:
    return Measured(length, lambda most: keep_ends(text, int(most) / length))


def _cut_longest(messages: list[Message], measure: Callable[[str], Measured], room: float) -> list[Message]:
    """The messages with the longest cut to equal length, so that all but the system's have no more than `room`."""
    texts = {
        place: measure(message["content"]) for place, message in enumerate(messages) if message["role"] != "system"
    }
    lengths = sorted(text.length for text in texts.values())
    most = float(room)
    for place, length in enumerate(lengths):
        most = room / (len(lengths) - place)
        if length > most:
            break
        room -= length
    else:
        return messages
    return [
        Message(role=message["role"], content=texts[place].shortened(most))
        if place in texts and texts[place].length > most
        else message
        for place, message in enumerate(messages)
    ]
