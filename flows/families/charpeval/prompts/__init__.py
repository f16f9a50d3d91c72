"""CHARPEval's prompts: suggestions for people who write utterances and distractors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from flows.llm.model import Prompt
from schemas.base import Frozen
from schemas.charpeval import DISTRACTOR_TYPES, DistractorType

HERE = Path(__file__).parent


class ToAsk(Frozen):
    """A dialogue whose last utterance is to be written twice; without history it has one turn, the last utterance."""

    history: tuple[str, ...]
    last_utterance: str
    knowledge: str
    response: str


class Utterances(Frozen):
    """The two last utterances; one that cannot be written is empty."""

    bot_turn: str = Field("", description="What the bot says to a dialogue's only turn; asked for where there is one")
    hard_utterance: str = Field("", description="Answered by the response only to those who know the history")
    easy_utterance: str = Field("", description="Answered by the response to anybody who has the knowledge")


class RefusedDraft(Frozen):
    """A draft that breaks a rule."""

    type: DistractorType
    text: str
    problem: str


class ToDistract(Frozen):
    """A dialogue to write distractors for."""

    history: tuple[str, ...]
    hard_utterance: str
    easy_utterance: str
    knowledge: str
    response: str
    facts: tuple[str, ...] = Field((), description="Sentences of other dialogues' knowledge on what this one is about")
    drafts: Mapping[DistractorType, str] = Field(default_factory=dict, description="Those that are taken already")
    refused: tuple[RefusedDraft, ...] = Field((), description="Those to be written anew, each with what is wrong")


class Distractors(Frozen):
    """A distractor of each type; one that cannot be written is empty."""

    KGIR: str = ""
    KGUG: str = ""
    RECF: str = ""
    IECF: str = ""
    COEX: str = ""

    @property
    def texts(self) -> dict[DistractorType, str]:
        """The distractors that are written, by type."""
        return {kind: text for kind in DISTRACTOR_TYPES if (text := " ".join(getattr(self, kind).split()))}


DRAFT_UTTERANCES = Prompt("draft_utterances", 2, Utterances, HERE, max_tokens=512, inputs=ToAsk)
DRAFT_DISTRACTORS = Prompt("draft_distractors", 3, Distractors, HERE, max_tokens=1024, inputs=ToDistract)

PROMPTS: tuple[Prompt[Any], ...] = (DRAFT_UTTERANCES, DRAFT_DISTRACTORS)
