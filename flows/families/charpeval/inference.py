"""The prompt that puts an item to a model; each option is scored as its continuation (appendix A).

The layout is the paper's: instruction, dialogue, knowledge, and `Bot:` for the option to go on; three-shot, the
demonstrations stand between the instruction and the item, each with its response. The instruction is in our own
words. As in appendix A.1, options are weighed singly and never listed or shuffled. A prompt ends without a space: it
belongs to the option. Turns, knowledge and options are put on a line each, whatever line breaks they have. The text
goes to every model as it is: instruction-tuned ones are given no chat format.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from flows.construct.evaluation import Choice, Chunk, ChunkedText
from flows.families.charpeval.settings import CharpEvalSettings, Shots
from schemas.base import Frozen
from schemas.charpeval import CharpEvalItem

DEMONSTRATIONS = Path(__file__).parent / "demonstrations.jsonl"

INSTRUCTION = (
    "Below is a conversation between a “User” and a “Bot”, and after it a piece of “Knowledge” with facts. Write the "
    "Bot's next turn: an answer to the User's last message that rests on the Knowledge alone. Add nothing that the "
    "Knowledge does not say. Where it does not tell what the User wants to know, the Bot may say that it is not sure; "
    "it makes nothing up."
)


class Demonstration(Frozen):
    """An exchange that is answered, to stand before the one to be answered."""

    history: tuple[str, ...]
    last_utterance: str
    knowledge: str
    response: str


Exchange = CharpEvalItem | Demonstration
"""A dialogue up to the user's last utterance, with knowledge to answer it from, and the response."""


@cache
def demonstrations() -> tuple[Demonstration, ...]:
    """Return the three, always in the same order: two that need the history, and one that does not."""
    lines = DEMONSTRATIONS.read_text(encoding="utf-8").splitlines()
    return tuple(Demonstration.model_validate_json(line) for line in lines)


def choices(item: CharpEvalItem, settings: CharpEvalSettings) -> Sequence[Choice]:
    """Return the item with every number of shots, and its options by kind."""
    options: dict[str, str] = {kind: f" {_line(text)}" for kind, text in item.texts.items()}
    return [Choice(prompt(item, shots), options, shots=shots) for shots in settings.shots]


def prompt(item: Exchange, shots: Shots = 0) -> str:
    """Return the prompt before an option."""
    shown = [_text((*_chunks(demonstration), _response(demonstration))) for demonstration in demonstrations()[:shots]]
    return "\n\n".join([INSTRUCTION, *shown, _text(_chunks(item))])


def chunks(item: CharpEvalItem) -> ChunkedText:
    """Return the zero-shot prompt and the response in the chunks of appendix C; `Bot:` belongs to the response."""
    instruction = Chunk("instruction", f"{INSTRUCTION}\n\n")
    return ChunkedText(item.subset, (instruction, *_chunks(item), _response(item)))


def _chunks(exchange: Exchange) -> tuple[Chunk, ...]:
    turns = (*exchange.history, exchange.last_utterance)
    # They alternate, and the last is the user's.
    speakers = ["User" if (len(turns) - place) % 2 else "Bot" for place in range(len(turns))]
    dialogue = "\n".join(f"{speaker}: {_line(turn)}" for speaker, turn in zip(speakers, turns, strict=True))
    return (
        Chunk("history", f"{dialogue}\n\n"),
        Chunk("knowledge", f"Knowledge: {_line(exchange.knowledge)}\n\n"),
        Chunk("response", "Bot:"),
    )


def _response(exchange: Exchange) -> Chunk:
    return Chunk("response", f" {_line(exchange.response)}")


def _text(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def _line(text: str) -> str:
    return " ".join(text.split())
