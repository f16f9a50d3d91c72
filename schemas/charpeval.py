"""CHARPEval (Ghaddar et al., 2025): dialogues with knowledge, and responses to be told from five distractors."""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from schemas.base import Provenance, Record, RowProvenance

Subset = Literal["hCHARP", "eCHARP"]
"""Whether the response needs the history (hard) or the last utterance and the knowledge alone (easy): section 2.2."""
DistractorType = Literal["KGIR", "KGUG", "RECF", "IECF", "COEX"]
"""Section 2.3: knowledge irrelevant, knowledge ungrounded, relevant and irrelevant entity's common fact, common
expression."""
OptionType = Literal["GTRS", DistractorType]
"""The kinds of options: the ground truth response, or a distractor."""

SUBSETS: tuple[Subset, ...] = get_args(Subset)
DISTRACTOR_TYPES: tuple[DistractorType, ...] = get_args(DistractorType)
OPTION_TYPES: tuple[OptionType, ...] = ("GTRS", *DISTRACTOR_TYPES)
"""In the order of the paper's tables 2 to 5."""


class UtterancePair(Record):
    """A dialogue whose response answers a hard last utterance (with the history) and an easy one (section 2.2)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "history", "last_utterance", "bot_turn", "hard_utterance", "easy_utterance", "knowledge", "response",
        "distractors", "language",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = (
        "history", "last_utterance", "hard_utterance", "easy_utterance", "knowledge", "response", "language",
    )  # fmt: skip

    history: tuple[str, ...] = Field(
        description="Turns before the last utterance, by turns of bot and user: the last is the bot's; may be empty"
    )
    last_utterance: str = Field(description="The user's as the source has it; empty where it has none")
    bot_turn: str = Field(
        "", description="Of a source of one turn, the user's: what people have the bot say to it, before the utterances"
    )
    hard_utterance: str = Field(description="Needs the history to be answered; empty: not written")
    easy_utterance: str = Field(description="Is answered by the knowledge alone; empty: not written")
    knowledge: str = Field(min_length=1)
    response: str = Field(min_length=1, description="The ground truth response to either")
    distractors: Mapping[str, str] = Field(
        default_factory=dict,
        description="Type -> wrong response, one of each, where the source is CHARPEval as published",
    )
    drafts: Mapping[str, str] = Field(
        default_factory=dict, description="Utterance -> suggestion to those who write it, never part of an item"
    )
    left_out: Mapping[str, str] = Field(default_factory=dict, description="Utterance -> why nothing is suggested")
    language: Literal["en"] = "en"
    source: str = Field(description="Format and name of the source: `charp:hCHARP.jsonl`")
    provenance: Provenance

    @property
    def before(self) -> tuple[str, ...]:
        """The turns before the two utterances: of a source of one turn, that turn and what the bot says to it."""
        return (self.last_utterance, self.bot_turn) if self.bot_turn else self.history


class Authored(Record):
    """A dialogue with what people wrote for it: five distractors (section 2.3), each empty until it is written."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "history", "hard_utterance", "easy_utterance", "knowledge", "response",
        "KGIR", "KGUG", "RECF", "IECF", "COEX", "language",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = ("history", "hard_utterance", "easy_utterance", "knowledge", "response")

    history: tuple[str, ...] = Field(description="As of the pair of utterances")
    hard_utterance: str = Field(description="Empty only where one subset alone was published")
    easy_utterance: str = Field(description="Empty only where one subset alone was published")
    knowledge: str = Field(min_length=1)
    response: str = Field(min_length=1, description="The ground truth response")
    KGIR: str = Field("", description="Knowledge irrelevant: a fact of the knowledge that does not answer (2.3.1)")
    KGUG: str = Field("", description="Knowledge ungrounded: a true fact beside the knowledge (2.3.2)")
    RECF: str = Field("", description="Relevant entity, common fact: on the response's main entity (2.3.3)")
    IECF: str = Field("", description="Irrelevant entity, common fact: on one that the response lacks (2.3.4)")
    COEX: str = Field("", description="Common expression that fits the conversation (2.3.5)")
    note: str = Field("", description="What the author says about it")
    published: bool = Field(False, description="The five are as the source has them: nobody writes here")
    drafts: Mapping[str, str] = Field(
        default_factory=dict, description="Type -> suggestion to the author, never part of an item"
    )
    left_out: Mapping[str, str] = Field(default_factory=dict, description="Type -> why nothing is suggested")
    language: Literal["en"] = "en"
    source: str = Field(description="Format and name of the source: `charp:hCHARP.jsonl`")
    provenance: Provenance

    @property
    def distractors(self) -> dict[DistractorType, str]:
        """The distractors that are written, by type."""
        return {kind: text for kind in DISTRACTOR_TYPES if (text := getattr(self, kind).strip())}

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """Those whose last utterance is written."""
        utterances = (self.hard_utterance, self.easy_utterance)
        return tuple(subset for subset, text in zip(SUBSETS, utterances, strict=True) if text)


class CharpEvalItem(Record):
    """A dialogue with knowledge, the response to its last utterance, and five distractors (section 2.3).

    The order of `options` is for export alone: it is not part of what the item is.
    """

    DEFINES: ClassVar[tuple[str, ...]] = (
        "subset", "history", "last_utterance", "knowledge", "response", "distractors", "language",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = ("history", "last_utterance", "knowledge", "response", "distractors")
    TEXTS: ClassVar[tuple[str, ...]] = ("last_utterance", "history", "knowledge", "response", "distractors")

    subset: Subset = Field(description="`hCHARP`, with the hard last utterance, or `eCHARP`, with the easy one")
    history: tuple[str, ...] = Field(
        description="Turns before the last utterance, by turns of bot and user: the last is the bot's; may be empty"
    )
    last_utterance: str = Field(min_length=1, description="The user's, which the response answers")
    knowledge: str = Field(min_length=1, description="What the response rests on")
    response: str = Field(min_length=1, description="The ground truth response")
    distractors: Mapping[DistractorType, str] = Field(description="One of each type")
    options: tuple[str, ...] = Field(description="The response and the distractors, in the order of the export")
    gold_index: int = Field(ge=0, description="Place of the response among the options")
    language: Literal["en"] = Field("en", description="Code of its language")
    dialogue_id: str = Field(description="The dialogue that it was made from; both its subsets have the same")
    provenance: RowProvenance

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if lacking := [kind for kind in DISTRACTOR_TYPES if kind not in self.distractors]:
            raise ValueError(f"distractors: {', '.join(lacking)} missing; there is one of each type")
        texts = list(self.texts.values())
        if blank := [kind for kind, text in self.texts.items() if not text.strip()]:
            raise ValueError(f"{', '.join(blank)}: blank; each option is a text")
        if len(set(texts)) < len(texts):
            raise ValueError("two options are the same text")
        if sorted(self.options) != sorted(texts):
            raise ValueError("options: expected the response and the five distractors, each once")
        if self.gold_index >= len(texts) or self.options[self.gold_index] != self.response:
            raise ValueError("gold_index: the response does not stand there among the options")
        return self

    @property
    def texts(self) -> dict[OptionType, str]:
        """The options by what they are, in the order of the paper's tables."""
        return {"GTRS": self.response, **{kind: self.distractors[kind] for kind in DISTRACTOR_TYPES}}
