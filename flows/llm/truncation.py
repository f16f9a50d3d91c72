"""Middle truncation: what a model with a short window is shown of a long prompt (LV-Eval, section 4).

The whole filled prompt is cut before it goes into a chat format, as LV-Eval's program does; its paper cuts
the context alone. A prompt that says what it asks at both ends keeps it either way. Of a dialogue the longest messages
are cut, each in its middle, so that short ones stay whole. Departure: without a tokenizer, and where a server tells its
window by refusing a prompt, the text is cut by characters.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from flows.llm.model import Message
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

Cut = Callable[[list[Message]], list[Message]]
"""Messages as a model with a short window is shown them; what the system says is never cut."""


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


def keep_ends(text: str, share: float) -> str:
    """So large a share of the text, by characters: its first and its last half, joined by nothing."""
    half = max(1, int(len(text) * share) // 2)
    return text if 2 * half >= len(text) else text[:half] + text[-half:]


def middle_cut(window: int, tokenizer: Tokenizer | None) -> Cut:
    """How messages are cut for a window of so many tokens; without a tokenizer, by an estimate of them.

    `window` is the model's, less the answer (the program's advice: less 500). The first and the last half of what
    there is room for are decoded apart and joined by nothing, so that a token or two at the seam may come out
    otherwise when the text is read again.
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


def cut_to_share(messages: list[Message], share: float) -> list[Message]:
    """The messages with so large a share of their characters."""
    room = sum(len(one["content"]) for one in messages if one["role"] != "system") * share
    return _cut_longest(messages, lambda text: _by_characters(text, len(text)), room)


class Measured(NamedTuple):
    """How long a text is, and what is left of it in so much room."""

    length: int
    shortened: Callable[[float], str]


def _by_characters(text: str, length: int) -> Measured:
    return Measured(length, lambda most: keep_ends(text, int(most) / length))


def _cut_longest(messages: list[Message], measure: Callable[[str], Measured], room: float) -> list[Message]:
    """The messages with the longest cut to one length, so that all but the system's have no more than `room`."""
    texts = {place: measure(one["content"]) for place, one in enumerate(messages) if one["role"] != "system"}
    lengths = sorted(text.length for text in texts.values())
    most = float(room)
    for place, own in enumerate(lengths):
        most = room / (len(lengths) - place)
        if own > most:
            break
        room -= own
    else:
        return messages
    return [
        Message(role=one["role"], content=texts[place].shortened(most))
        if place in texts and texts[place].length > most
        else one
        for place, one in enumerate(messages)
    ]
