"""Which passage is asked about for which kind of question: evenly over documents and their sections.

Each passage has a few possible questions, drawn by its own key, so that a document that is changed, added or removed
changes no other's. Of all that are possible, those are asked for that come first by turns: a turn takes one question of
each section of each document.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, TypeVar

from flows.construct.engine import Slot, StepContext, seeded
from flows.families.documents.settings import DocumentsSettings
from flows.families.documents.values import values
from flows.language import AnswerType, language_of
from flows.llm.model import Model
from flows.llm.rules import Rules
from schemas.base import content_hash
from schemas.documents import Kind
from schemas.source import Passage

T = TypeVar("T")
FIRST_ROUND = 1.5
"""Questions asked for at first, for each one wanted: the checks refuse some. While too few are left, more are."""
MOST_OF_A_PASSAGE = 3
"""Questions asked for on one passage: on more, they begin to repeat each other."""
MOST_SHARING = 5
"""Passages that share a name that can link two of them: a name that stands everywhere links nothing."""
NAMES: tuple[AnswerType, ...] = ("person", "organisation", "place")
_ENUMERATION = {
    "en": re.compile(r"\w+, (?:[\w’' -]+, )*[\w’' -]+,? (?:and|or) \w+|:\s*\n?\s*[-*•1]"),
    "zh": re.compile(r"\w+、\w+|：\s*\n?\s*[-*•1一]"),
}


@dataclass(frozen=True)
class Plan:
    """The questions to ask for, by the key of their passage; `partners` are the second passages of two-step ones."""

    slots: Mapping[str, Sequence[Slot]]
    partners: Mapping[str, Passage]


class Possible(NamedTuple):
    """A question that a passage may give."""

    passage: str
    kind: Kind
    partner: str | None
    """The second passage of a question of two steps."""

    @property
    def slot(self) -> Slot:
        """The slot of the passage at which it is asked."""
        return {"kind": self.kind} if self.partner is None else {"kind": self.kind, "with": self.partner}


def plan(step: StepContext[DocumentsSettings, Passage]) -> Plan:
    """Choose what to ask for first: somewhat more than is wanted; of the rules, which are free, all."""
    chosen = possible(step.inputs, step.settings, step.seed, None if is_free(step.models) else MOST_OF_A_PASSAGE)
    if not is_free(step.models):
        chosen = chosen[: first_round(step.settings, step.limit)]
    slots: dict[str, list[Slot]] = defaultdict(list)
    for question in chosen:
        slots[question.passage].append(question.slot)
    needed = {question.partner for question in chosen}
    return Plan(slots, {passage.key: passage for passage in step.inputs if passage.key in needed})


def is_free(models: Mapping[str, Model]) -> bool:
    """Return whether asking costs nothing: the rules do it."""
    return isinstance(models["builder"], Rules)


def first_round(settings: DocumentsSettings, limit: int | None) -> int:
    """Return the number of questions to ask for at first."""
    return math.ceil(min(settings.pairs, limit or settings.pairs) * min(FIRST_ROUND, settings.drafts))


def possible(
    passages: Iterable[Passage], settings: DocumentsSettings, seed: int, most: int | None = MOST_OF_A_PASSAGE
) -> list[Possible]:
    """Return the questions that passages may give, of each at most so many, in the order in which to ask for them."""
    linked = _linked(passages, settings, seed)
    by_section: dict[tuple[str, str], list[tuple[int, Possible]]] = defaultdict(list)
    for passage in passages:
        partner = linked.get(passage.key)
        kinds = islice(_kinds(passage, settings, seed, partner is not None), most)
        by_section[document_of(passage), _section(passage)] += (
            (nth, Possible(passage.key, kind, partner if kind == "two-step" else None))
            for nth, kind in enumerate(kinds)
        )
    return list(_in_turns(by_section, settings, seed))


def slots_of(passage: Passage, prepared: Plan) -> Sequence[Slot]:
    """Return the questions to ask on a passage."""
    return prepared.slots.get(passage.key, ())


def document_of(passage: Passage) -> str:
    """Return the name of the document that a passage is of; without one, of its source and page."""
    return passage.place.document if passage.place else f"{passage.source.source}/{passage.title or ''}"


def _section(passage: Passage) -> str:
    return " / ".join(passage.place.headings) if passage.place else ""


def _kinds(passage: Passage, settings: DocumentsSettings, seed: int, is_linked: bool) -> Iterator[Kind]:
    """Draw the kinds of question to ask on a passage, in order: by their shares, of those that it suits."""
    suited = set(_suited(passage, is_linked))
    shares = {kind: share for kind, share in settings.kinds.items() if share and kind in suited}
    random = seeded(seed, "kinds", passage.key)
    while shares:
        (kind,) = random.choices(list(shares), list(shares.values()))
        del shares[kind]
        yield kind


def _suited(passage: Passage, is_linked: bool) -> Iterator[Kind]:
    numbers = len(values(passage.text, passage.language))
    yield from ("fact", "yes-no")
    if numbers:
        yield "number"
    if numbers > 1:
        yield "comparison"
    if _ENUMERATION[passage.language].search(passage.text) is not None:
        yield "list"
    if is_linked:
        yield "two-step"


def _linked(passages: Iterable[Passage], settings: DocumentsSettings, seed: int) -> Mapping[str, str]:
    """By passage, another one that shares a name with it which few others have: a question can lead over the name."""
    if not settings.kinds.get("two-step"):
        return {}
    having: dict[tuple[str, str], list[str]] = defaultdict(list)
    for passage in passages:
        for name in _names(passage):
            having[passage.language, name].append(passage.key)
    partners: dict[str, set[str]] = defaultdict(set)
    for keys in having.values():
        if 2 <= len(keys) <= MOST_SHARING:
            for key in keys:
                partners[key].update(other for other in keys if other != key)
    return {
        key: min(others, key=lambda other: content_hash(seed, "partner", key, other))
        for key, others in partners.items()
    }


def _names(passage: Passage) -> set[str]:
    language = language_of(passage.language)
    spans = (span for type_ in NAMES for span in language.spans_of_type(passage.text, type_))
    return {passage.text[start:end] for start, end in spans}


def _in_turns(
    by_section: Mapping[tuple[str, str], Sequence[tuple[int, Possible]]], settings: DocumentsSettings, seed: int
) -> Iterator[Possible]:
    """Yield the possible questions in the order in which to ask them; of a document at most `most_per_document`.

    The first questions of all documents come before the second ones, and within a document those of its sections. What
    was drawn first on each passage comes before what was drawn second, so that the kinds have their shares.
    """
    by_document: dict[str, list[tuple[int, str, Possible]]] = defaultdict(list)
    for (document, _), questions in by_section.items():
        drawn = sorted(
            (nth, content_hash(seed, "turn", question.passage, question.kind), question) for nth, question in questions
        )
        by_document[document] += ((turn, name, question) for turn, (_, name, question) in enumerate(drawn))
    most = settings.most_per_document
    in_order = (sorted(questions, key=itemgetter(0, 1)) for questions in by_document.values())
    documents = ([(name, question) for _, name, question in questions] for questions in in_order)
    return by_turns(documents, None if most is None else math.ceil(most * settings.drafts))


def by_turns(documents: Iterable[Sequence[tuple[str, T]]], most: int | None) -> Iterator[T]:
    """Yield what comes first of each document, then what comes second of each, and so on; of each at most `most`.

    Each is given with a name, by which those of a turn are put in order.
    """
    turns = [(turn, name, one) for document in documents for turn, (name, one) in enumerate(document[:most])]
    return (one for *_, one in sorted(turns, key=itemgetter(0, 1)))
