"""What `touchstone new` found in somebody's files, and what a family proposes to build from it.

A family declares `propose(found)`. It returns a `Proposal`, or raises `Lacking`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from data.sources import SourceSpec
from data.sources.mapped import ASSIGNMENT_FIELDS
from flows.language import LANGUAGES, language_of
from schemas.source import Assignment, Passage, QASource


class Lacking(Exception):  # noqa: N818 - it is no error
    """What a family cannot be built from this material for."""


@dataclass(frozen=True)
class Material:
    """A source, and the records that its beginning gives."""

    spec: SourceSpec
    records: Mapping[type, Sequence[Any]]
    """By what it can be read as; never empty."""
    is_whole: bool
    """Whether it has no more than what was looked at."""
    files: int = 1
    more: float = 1.0
    """How many times as much there is as was looked at, by the bytes of its files."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Reason -> how many rows or passages are none of its records."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Our field -> other columns that could be meant."""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the terminal calls it."""
        return self.spec.path

    @property
    def language(self) -> str:
        """Code of its language."""
        return self.spec.language

    def with_answers(self) -> list[QASource]:
        """Return the questions whose answer is in their evidence."""
        return [question for question in self.records.get(QASource, ()) if has_answer(question)]


@dataclass(frozen=True)
class Proposal:
    """A family's block of the configuration."""

    settings: Mapping[str, Any]
    what: str
    """What is built from what, in a few words."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Place in the settings (`levels`, `sources[0]`, `datasets.faq.pairs`) -> what stands behind its line."""
    shows: str = ""
    """The part whose rows are worth a look, if the one that a person reads first will have none."""
    gives: Mapping[type, Mapping[str, str]] = field(default_factory=dict)
    """Type of record -> the part that others may read it from, as a source: `{part: documents-pairs}`."""
    wanted: int = 0
    """How many rows are asked for, which give at most as many records to others."""


@dataclass(frozen=True)
class Found:
    """The material, and what the families' settings depend on besides."""

    material: Sequence[Material]
    name: str
    """What the benchmark is called."""
    by_rules: bool
    proposed: Sequence[Proposal] = ()
    """The families that are built besides, which came before."""

    def giving(self, shape: type, languages: Iterable[str] = LANGUAGES) -> list[Material]:
        """Return the material that gives a type of record, in one of the languages."""
        return [some for some in self.material if some.records.get(shape) and some.language in languages]

    def parts_giving(self, shape: type, languages: Iterable[str] = LANGUAGES) -> list[dict[str, str]]:
        """Return the parts of other families that give a type of record in one of the languages, as sources."""
        parts = [proposal.gives[shape] for proposal in self.proposed if shape in proposal.gives]
        return [dict(part) for part in parts if part.get("language", "en") in languages]

    @property
    def documents(self) -> list[Material]:
        """What questions are asked of: documents, and texts that come without questions."""
        return [some for some in self.giving(Passage) if not some.records.get(QASource)]

    @property
    def answered(self) -> list[Material]:
        """Questions whose answers are in their evidence, for some at least, and which give that as passages, too."""
        return [some for some in self.giving(QASource) if some.records.get(Passage) and some.with_answers()]


def has_answer(question: QASource) -> bool:
    """Return whether one of a question's answers is in its evidence, as the families look for it."""
    evidence = question.evidence or ""
    if question.language not in LANGUAGES:
        return any(answer.casefold() in evidence.casefold() for answer in question.answers)
    return any(language_of(question.language).contains(evidence, answer) for answer in question.answers)


def spec_for(spec: SourceSpec, shape: type) -> SourceSpec:
    """Return a source as it is read for a type of record: an assignment has no title."""
    if shape is not Assignment or spec.fields is None:
        return spec
    fields = {name: column for name, column in spec.fields.items() if name in ASSIGNMENT_FIELDS}
    return spec.model_copy(update={"fields": fields})


def source(some: Material, shape: type | None = None) -> dict[str, Any]:
    """Return a source as the configuration has it."""
    spec = some.spec if shape is None else spec_for(some.spec, shape)
    written: dict[str, Any] = {"format": spec.format, "path": spec.path}
    if spec.language != "en":
        written["language"] = spec.language
    if spec.fields is not None:
        written["fields"] = spec.fields
    return written


def other_columns(place: str, sources: Sequence[Material]) -> dict[str, str]:
    """Return comments: what else the columns of the sources at a place could be."""
    comments = {}
    for number, some in enumerate(sources):
        if some.others:
            meant = "; ".join(f"{ours}: {' or '.join(columns)}" for ours, columns in some.others.items())
            comments[f"{place}[{number}]"] = f"or {meant}"
    return comments
