"""Source records from anybody's rows: a module for each format, and one entry point for all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from data.seen import Seen
from data.sources import assignments, book, dialogues, documents, hotpotqa, mapped, qa, squad, timeqa, touchstone
from data.sources.files import csv_rows, json_lines, parquet_rows
from data.sources.hub import hub_rows
from data.sources.mapped import GIVEN_FIELDS
from data.sources.opening import check_is_file
from data.sources.spec import (
    DATE,
    NO_OFFSET,
    PART,
    Entry,
    Reader,
    Row,
    SourceError,
    SourceSpec,
    says_something,
    without_query,
)
from schemas.base import Dropped, SourceRef, content_hash, key_of
from schemas.errors import first_problem, nearest
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

__all__ = [
    "DATA_SETS",
    "FORMATS",
    "MAPPED",
    "PART",
    "Entry",
    "Row",
    "SourceError",
    "SourceSpec",
    "keys_from_row",
    "name_of",
    "read_entries",
    "read_source",
]

S = TypeVar("S", Statement, QASource, Passage, Dialogue, Assignment)


FORMATS: Mapping[str, Mapping[type, Reader]] = {
    "creak": {Statement: qa.creak_statements},
    "strategyqa": {Statement: qa.strategyqa_statements, QASource: qa.strategyqa_questions},
    "conflictqa": {QASource: qa.conflictqa_questions},
    "hotpotqa": {QASource: hotpotqa.questions, Passage: hotpotqa.passages},
    "squad": {QASource: squad.questions, Passage: squad.passages},
    "squad-articles": {QASource: squad.article_questions, Passage: squad.passages},
    "nq-open": {QASource: qa.nq_open_questions, Passage: qa.nq_open_passages},
    "timeqa": {QASource: timeqa.questions, Passage: timeqa.passages},
    "timeqa-pages": {QASource: timeqa.page_questions, Passage: timeqa.page_passages},
    "realtimeqa": {QASource: qa.realtimeqa_questions},
    "book": {Passage: book.passages},
    "documents": {Passage: documents.passages, Assignment: documents.assignments},
    "charp": {Dialogue: dialogues.charp},
    "faithdial": {Dialogue: dialogues.faithdial},
    "topical-chat": {Dialogue: dialogues.topical_chat},
    "begin": {Dialogue: dialogues.begin},
    "ntrex": {Assignment: assignments.ntrex},
    "ntrex-documents": {Assignment: assignments.ntrex_documents},
    "scitldr": {Assignment: assignments.scitldr},
    "writingbench": {Assignment: assignments.writingbench},
    "ifeval": {Assignment: assignments.ifeval},
    "self-instruct": {Assignment: assignments.self_instruct},
    "mt-bench": {Assignment: assignments.mt_bench},
    "jsonl": {
        **mapped.readers(lambda spec: json_lines(spec.path)),
        Dialogue: lambda spec: mapped.dialogues(spec, json_lines(spec.path)),
    },
    "csv": mapped.readers(csv_rows, mapped.CELL_FIELDS),
    "parquet": mapped.readers(lambda spec: parquet_rows(spec.path)),
    "hub": mapped.readers(lambda spec: hub_rows(spec.path, spec.revision)),
    "touchstone": touchstone.READERS,
    PART: touchstone.READERS,
}
_SQUAD = "SQuAD (Rajpurkar et al. 2018, https://rajpurkar.github.io/SQuAD-explorer/)"
_TIMEQA = "TimeQA (Chen et al. 2021, https://github.com/wenhuchen/Time-Sensitive-QA)"
_NTREX = "NTREX (Federmann et al. 2022, https://github.com/MicrosoftTranslator/NTREX)"
DATA_SETS = {
    "creak": "CREAK (Onoe et al. 2021, https://github.com/yasumasaonoe/creak)",
    "strategyqa": "StrategyQA (Geva et al. 2021, https://github.com/eladsegal/strategyqa)",
    "conflictqa": "ConflictQA (Xie et al. 2024, https://github.com/OSU-NLP-Group/LLM-Knowledge-Conflict)",
    "hotpotqa": "HotpotQA (Yang et al. 2018, https://hotpotqa.github.io/)",
    "squad": _SQUAD,
    "squad-articles": _SQUAD,
    "nq-open": "NQ-Open (Lee et al. 2019, https://ai.google.com/research/NaturalQuestions)",
    "timeqa": _TIMEQA,
    "timeqa-pages": _TIMEQA,
    "realtimeqa": "RealTime QA (Kasai et al. 2023, https://realtimeqa.github.io/)",
    "charp": "CHARP (Ghaddar et al. 2024)",
    "faithdial": "FaithDial (Dziri et al. 2022, https://github.com/McGill-NLP/FaithDial)",
    "topical-chat": "Topical-Chat (Gopalakrishnan et al. 2019, https://github.com/alexa/Topical-Chat)",
    "begin": "BEGIN (Dziri et al. 2022, https://github.com/google/BEGIN-dataset)",
    "ntrex": _NTREX,
    "ntrex-documents": _NTREX,
    "scitldr": "SciTLDR (Cachola et al. 2020, https://github.com/allenai/scitldr)",
    "writingbench": "WritingBench (Wu et al. 2025, https://github.com/X-PLUG/WritingBench)",
    "ifeval": "IFEval (Zhou et al. 2023)",
    "self-instruct": "Self-Instruct (Wang et al. 2023, https://github.com/yizhongw/self-instruct)",
    "mt-bench": "MT-bench (Zheng et al. 2023, https://github.com/lm-sys/FastChat)",
}
"""Format -> the data set that it is named after, whose it is, and where it is. A file in the format may be of another
and have another licence: XQuAD and CMRC 2018 have the format of SQuAD."""
FOUND = ", found "
"""Before what an error says is there in place of what was expected."""
AT_ONCE = 256
"""Entries that are read together: their ids and texts are looked up at once."""
MAPPED = frozenset({"jsonl", "csv", "parquet", "hub"})
"""The formats that take `fields`; all others know theirs."""
DATED = frozenset({"creak", "strategyqa", "conflictqa", "nq-open", "realtimeqa"})
"""The formats that know theirs, except for a column with a date, which `fields` may name."""


def check_source(spec: SourceSpec, shape: type) -> None:
    """Raise `SourceError` if name, format, a table's first row or a book's beginning show that `shape` is not there."""
    _reader(spec, shape)
    if spec.revision is not None and not spec.is_remote:
        raise SourceError(f"{spec.path}: revision: only a data set on the Hub or a URL has one; leave it out")
    spec = spec.at_hand
    if spec.format in (PART, "hub"):
        pass  # what a part gives, the configuration says; the Hub is not asked before a build
    elif spec.format == "touchstone":
        touchstone.parts(spec.path)
    elif spec.format == "documents":
        documents.files(spec)
    else:
        check_is_file(spec.path)
        with _retold(spec):
            if spec.fields is not None or spec.format in MAPPED:
                next(_reader(spec, shape)(spec), None)
            elif spec.format == "book":
                book.refuse_html(spec)


def read_source(spec: SourceSpec, shape: type[S], refuse: Callable[[Dropped], None]) -> Iterator[S]:
    """Yield the source's records in its order; every row becomes a record or is passed to `refuse`.

    A row (of StrategyQA a fact, of SQuAD a question or a paragraph) is refused for a reason of its format ("labelled
    false", "no gold passage"), for an "empty text" (no letter and no digit), for "no answer", as a "duplicate text"
    (`related_id` names the earlier record) or for a "duplicate id". Reading stops once `spec.limit` records are kept.
    A record's key follows from the format, the file's name (without `.gz`), and the source's own id or the row's
    place, so that it does not depend on the file's folder. Raises `SourceError`.
    """
    reader = _reader(spec, shape)
    spec = spec.at_hand
    door = _Door(spec, shape, refuse)
    with _retold(spec):
        entries = reader(spec)
        while some := list(islice(entries, door.wanted)):
            yield from door.admit(some)
    if not door.seen and spec.format != PART:  # a part may have kept nothing
        raise SourceError(f"{spec.name}: expected at least one row, found none; check the path")


@contextmanager
def _retold(spec: SourceSpec) -> Iterator[None]:
    """Make errors in the copy of a URL name the URL, and errors in a private source show nothing that stands there."""
    try:
        yield
    except SourceError as error:
        message = str(error)
        if spec.url is not None:
            message = message.replace(spec.path, without_query(spec.url))
        if spec.private and FOUND in message:
            expected = message.partition(FOUND)[0]
            message = f"{expected}; what is there is not shown, as the source is private: correct row or fields"
        if message == str(error):
            raise
        raise SourceError(message) from (None if spec.private else error)


def name_of(spec: SourceSpec) -> str:
    """Return the name of a source in its records."""
    return touchstone.unsharded(spec.name) if spec.format == "touchstone" else spec.name


def keys_from_row(spec: SourceSpec, key: str) -> Iterator[str]:
    """Yield the keys that source records have which a part of the same configuration gives for a row of its own."""
    yield from (key_of("source", _place(spec), id_) for id_ in (key, f"{key}{touchstone.SINGLE_HOP}"))


def _place(spec: SourceSpec) -> str:
    """Return what the keys of a source's records begin with. A document has its own name, wherever it lies."""
    return f"{spec.format}:{'' if spec.format == 'documents' else name_of(spec).removesuffix('.gz')}"


def read_entries(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the source's rows in every shape that its format gives, including those that `read_source` would refuse.

    A mapped format gives the shapes whose fields are named. `spec.limit` counts the rows of each shape. Raises
    `SourceError`.
    """
    spec = spec.at_hand
    for shape in _shapes(spec):
        yield from islice(_reader(spec, shape)(spec), spec.limit)


def _shapes(spec: SourceSpec) -> Sequence[type]:
    """Return the shapes in which to read a source of which any text will do."""
    shapes = tuple(FORMATS.get(spec.format, {}))
    if spec.format == "touchstone":
        names = next(touchstone.rows(spec), Row(spec.path, "", {})).values
        return (QASource,) if "question" in names else (Assignment,) if "kind" in names else (Passage,)
    if spec.format not in MAPPED:
        return shapes[:1] if spec.format == "documents" else shapes or (Passage,)
    telling = {QASource: {"question"}, Dialogue: {"response"}, Assignment: {*GIVEN_FIELDS, "reference"} - {"text"}}
    wanted = [shape for shape, fields in telling.items() if shape in shapes and fields & (spec.fields or {}).keys()]
    if "text" in (spec.fields or {}) and Assignment not in wanted:
        wanted.append(Passage)
    if not wanted:
        raise SourceError(
            f"{spec.name}: fields: name the fields that hold text, such as "
            "fields: {text: body}, or {question: question, answers: answers, evidence: context}"
        )
    return wanted


def _reader(spec: SourceSpec, shape: type) -> Reader:
    shapes = FORMATS.get(spec.format)
    if shapes is None:
        raise SourceError(f'{spec.name}: unknown format "{spec.format}"; {nearest(spec.format, list(FORMATS))}')
    scheme, _, place = spec.path.partition("://")
    if place and spec.format not in (PART, "hub") and not spec.is_url:
        raise SourceError(
            f"{scheme}://...: expected a file, or a URL with http:// or https://, found {scheme}://; "
            "write the path of the file, or fetch it yourself"
        )
    if shape not in shapes:
        article = "an" if shape.__name__.startswith("A") else "a"
        able = ", ".join(name for name, shapes in FORMATS.items() if shape in shapes and name != PART)
        raise SourceError(
            f"{spec.name}: expected a format that gives {article} {shape.__name__}, found {spec.format}; "
            f"use one of {able}"
        )
    if spec.fields is not None and spec.format in DATED and spec.fields.keys() != {DATE}:
        raise SourceError(f"{spec.name}: format {spec.format} takes no fields but {DATE}; leave the others out")
    if spec.fields is not None and spec.format not in MAPPED | DATED:
        raise SourceError(
            f"{spec.name}: format {spec.format} takes no fields; leave them out, or use one of "
            f"{', '.join(sorted(MAPPED))}"
        )
    if spec.words is not None:
        if spec.format != "documents":
            raise SourceError(f"{spec.name}: words: only a source of format documents has passages cut; leave it out")
        if spec.words[0] > spec.words[1]:
            raise SourceError(
                f"{spec.name}: words: expected the least before the most, found {list(spec.words)}; turn them round"
            )
    return shapes[shape]


class _Door(Generic[S]):
    """Turns entries into records, and reports those that it refuses."""

    def __init__(self, spec: SourceSpec, shape: type[S], refuse: Callable[[Dropped], None]) -> None:
        self._spec, self._refuse = spec, refuse
        self._shape: type[S] = shape
        self._name = name_of(spec)
        self._place = _place(spec)
        self._ids = Seen()
        """Of the admitted records, by key."""
        self._contents = Seen()
        self.seen = 0
        self.kept = 0

    @property
    def wanted(self) -> int:
        """How many entries to read next: none once `limit` records are kept, and never more than that takes."""
        return AT_ONCE if self._spec.limit is None else min(AT_ONCE, self._spec.limit - self.kept)

    def admit(self, entries: Sequence[Entry]) -> Iterator[S]:
        """Yield the records of some entries, and report those that are refused, in their order."""
        self.seen += len(entries)
        reasons = [entry.refused or _flaw(entry.values) for entry in entries]
        records = [None if reason else self._record(entry) for entry, reason in zip(entries, reasons, strict=True)]
        contents = self._contents.known([record.id for record in records if record is not None])
        ids = self._ids.known([record.key for record in records if record is not None])
        admitted: dict[str, str] = {}
        for entry, reason, record in zip(entries, reasons, records, strict=True):
            if record is None:
                self._drop(entry, content_hash(self._place, entry.id), reason, entry.related)
            elif (first := contents.get(record.id)) is not None:
                self._drop(entry, record.id, "duplicate text", first)
            elif (first := ids.get(record.key)) is not None:
                self._drop(entry, record.id, "duplicate id", first)
            else:
                contents[record.id] = ids[record.key] = admitted[record.key] = record.id
                self.kept += 1
                yield record
        self._contents.add({id_: id_ for id_ in admitted.values()})
        self._ids.add(admitted)

    def _record(self, entry: Entry) -> S:
        values = {
            "source": SourceRef(source=self._name, id=entry.id, licence=self._spec.licence),
            **entry.values,
            "key": self._key(entry),
        }
        if self._shape is QASource:
            values |= _answers(entry.values["answers"], entry.values.get("answer_starts", ()))
        if "format" in self._shape.model_fields:
            values["format"] = self._spec.format
        if "part" in self._shape.model_fields and self._spec.format == PART:
            values["part"] = self._name
        if "language" in self._shape.model_fields:
            values.setdefault("language", self._spec.language)
        try:
            record: S = self._shape.model_validate(values)
        except ValidationError as error:  # a field that is kept as it is
            problem = first_problem(error, "the row")
            raise SourceError(f"{self._spec.path}: {entry.id}: {problem}; correct the row") from error
        return record

    def _key(self, entry: Entry) -> str:
        return key_of("source", self._place, entry.id)

    def _drop(self, entry: Entry, id_: str, reason: str, related: str | None) -> None:
        self._refuse(
            Dropped(
                item_id=id_,
                key=self._key(entry),
                step=f"source:{self._spec.format}",
                reason=reason,
                evidence=entry.evidence,
                related_id=related,
            )
        )


def _answers(answers: Sequence[str], starts: Sequence[int]) -> Mapping[str, tuple[str, ...] | tuple[int, ...]]:
    """Return the distinct answers, stripped, with their starts; of a repeated answer the first known start.

    Stripping the front of an answer moves its start.
    """
    start_of: dict[str, int] = {}
    for answer, start in zip(answers, starts or [NO_OFFSET] * len(answers), strict=True):
        if text := answer.strip():
            moved = start if start == NO_OFFSET else start + len(answer) - len(answer.lstrip())
            if start_of.get(text, NO_OFFSET) == NO_OFFSET:
                start_of[text] = moved
    return {"answers": tuple(start_of), "answer_starts": tuple(start_of.values()) if starts else ()}


def _flaw(values: Mapping[str, Any]) -> str:
    """Return why an entry is empty; "" if it is not.

    Dialogues always pass: their family decides what a dialogue must have.
    """
    if "response" in values:
        return ""
    text = values["text"] if "text" in values else values["question"]
    if not says_something(text):
        return "empty text"
    if "answers" in values and not any(answer.strip() for answer in values["answers"]):
        return "no answer"
    return ""
