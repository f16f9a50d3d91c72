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
from flows.language import AnswerType, language_of
from flows.llm.rules import Rules
from schemas.base import content_hash
from schemas.documents import Kind
from schemas.source import Passage

T = TypeVar("T")
MOST_OF_A_PASSAGE = 3
"""Questions asked for on one passage: on more, they begin to repeat each other."""
MOST_SHARING = 5
"""Passages that share a name that can link two of them: a name that stands everywhere links nothing."""
NAMES: tuple[AnswerType, ...] = ("person", "organisation", "place")
COUNTED: tuple[AnswerType, ...] = ("number", "date")
_ENUMERATION = {
    "en": re.compile(r"\w+, (?:[\w’' -]+, )*[\w’' -]+,? (?:and|or) \w+|:\s*\n?\s*[-*•1]"),
    "zh": re.compile(r"\w+、\w+|：\s*\n?\s*[-*•1一]"),
}


@dataclass(frozen=True)
class Plan:
    """The questions to ask for, by the key of their passage; `partners` are the second passages of two-step ones."""

    slots: Mapping[str, Sequence[Slot]]
    partners: Mapping[str, Passage]


class _Possible(NamedTuple):
    """A question that a passage may give."""

    passage: str
    kind: Kind


def plan(step: StepContext[DocumentsSettings, Passage]) -> Plan:
    """Choose what to ask for: `drafts` times as many questions as `pairs`; of the rules, which are free, all."""
    settings = step.settings
    linked, is_free = _linked(step), isinstance(step.models["builder"], Rules)
    by_section: dict[tuple[str, str], list[_Possible]] = defaultdict(list)
    for passage in step.inputs:
        for kind in islice(
            _kinds(passage, settings, step.seed, passage.key in linked), None if is_free else MOST_OF_A_PASSAGE
        ):
            by_section[document_of(passage), _section(passage)].append(_Possible(passage.key, kind))
    chosen = list(_in_turns(by_section, settings, step.seed))
    if not is_free:
        wanted = min(settings.pairs, step.limit or settings.pairs)
        chosen = chosen[: math.ceil(wanted * settings.drafts)]
    slots: dict[str, list[Slot]] = defaultdict(list)
    for key, kind in chosen:
        slots[key].append({"kind": kind, "with": linked[key]} if kind == "two-step" else {"kind": kind})
    needed = {linked[key] for key, kind in chosen if kind == "two-step"}
    return Plan(slots, {passage.key: passage for passage in step.inputs if passage.key in needed})


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
    language = language_of(passage.language)
    numbers = sum(len(language.spans_of_type(passage.text, type_)) for type_ in COUNTED)
    yield from ("fact", "yes-no")
    if numbers:
        yield "number"
    if numbers > 1:
        yield "comparison"
    if _ENUMERATION[passage.language].search(passage.text) is not None:
        yield "list"
    if is_linked:
        yield "two-step"


def _linked(step: StepContext[DocumentsSettings, Passage]) -> Mapping[str, str]:
    """By passage, another one that shares a name with it which few others have: a question can lead over the name."""
    if not step.settings.kinds.get("two-step"):
        return {}
    having: dict[tuple[str, str], list[str]] = defaultdict(list)
    for passage in step.inputs:
        for name in _names(passage):
            having[passage.language, name].append(passage.key)
    partners: dict[str, set[str]] = defaultdict(set)
    for keys in having.values():
        if 2 <= len(keys) <= MOST_SHARING:
            for key in keys:
                partners[key].update(other for other in keys if other != key)
    return {
        key: min(others, key=lambda other: content_hash(step.seed, "partner", key, other))
        for key, others in partners.items()
    }


def _names(passage: Passage) -> set[str]:
    language = language_of(passage.language)
    spans = (span for type_ in NAMES for span in language.spans_of_type(passage.text, type_))
    return {passage.text[start:end] for start, end in spans}


def _in_turns(
    by_section: Mapping[tuple[str, str], Sequence[_Possible]], settings: DocumentsSettings, seed: int
) -> Iterator[_Possible]:
    """Yield the possible questions in the order in which to ask them; of a document at most `most_per_document`.

    The first questions of all documents come before the second ones, and within a document those of its sections.
    """

    def drawn(possible: _Possible) -> str:
        return content_hash(seed, "turn", *possible)

    by_document: dict[str, list[tuple[int, str, _Possible]]] = defaultdict(list)
    for (document, _), possible in by_section.items():
        by_document[document] += ((turn, drawn(one), one) for turn, one in enumerate(sorted(possible, key=drawn)))
    most = settings.most_per_document
    in_order = (sorted(possible, key=itemgetter(0, 1)) for possible in by_document.values())
    documents = ([(name, one) for _, name, one in possible] for possible in in_order)
    return by_turns(documents, None if most is None else math.ceil(most * settings.drafts))


def by_turns(documents: Iterable[Sequence[tuple[str, T]]], most: int | None) -> Iterator[T]:
    """Yield what comes first of each document, then what comes second of each, and so on; of each at most `most`.

    Each is given with a name, by which those of a turn are put in order.
    """
    turns = [(turn, name, one) for document in documents for turn, (name, one) in enumerate(document[:most])]
    return (one for *_, one in sorted(turns, key=itemgetter(0, 1)))
