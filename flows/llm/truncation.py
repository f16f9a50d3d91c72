"""Middle truncation: what a model with a short window is shown of a long prompt (LV-Eval, section 4).

The whole filled prompt is cut before it goes into a chat format, as LV-Eval's program does; its paper cuts
the context alone. A prompt that says what it asks at both ends keeps it either way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from pydantic import BaseModel

from flows.llm.model import Message, Out, Prompt
from schemas.errors import WrongInput


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


def cut_to(prompt: Prompt[Out], tokenizer: Tokenizer, window: int) -> Prompt[Out]:
    """`prompt` as a model reads it whose window has so many tokens for a prompt."""
    given = {field.name: getattr(prompt, field.name) for field in fields(prompt)}
    return CutPrompt(**given, cut=lambda text: truncate_middle(text, tokenizer, window))
