"""Rows of any table, through a map from our fields to its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from data.sources.dialogues import distractors
from data.sources.spec import DATE, Entry, Reader, Row, SourceError, SourceSpec, dated, shortened, turns
from schemas.charpeval import DISTRACTOR_TYPES
from schemas.errors import alike, nearest
from schemas.source import Assignment, Passage, QASource, Statement

STATEMENT_FIELDS = ("text", "topic", "id", DATE)
PASSAGE_FIELDS = ("text", "title", "id", DATE)
CELL_FIELDS = ("question", "answers", "evidence", "title", "other_answer", "other_evidence", "sides", "id", DATE)
"""Fields of a question in a table without lists. `other_answer` and `other_evidence` are the far side of a conflict
whose near side is the first answer and the evidence; `sides` gives both as a list of [answer, evidence]."""
QUESTION_FIELDS = (*CELL_FIELDS, "answer_starts")
"""`answer_starts` lists where each answer starts in the evidence, in characters, or -1."""

DIALOGUE_FIELDS = (
    "history", "last_utterance", "hard_utterance", "easy_utterance", "knowledge", "response", *DISTRACTOR_TYPES, "note",
    "id", DATE,
)  # fmt: skip
"""`history` is a list of texts that ends with the bot's. Without a last, hard or easy utterance it ends with the
user's, as in CHARP. A text in place of the list is a single turn. Published rows have the five distractors."""

GIVEN_FIELDS = ("text", "headline", "post", "prompt", "request")
"""An assignment has one of these, whose name says what its text is."""
ASSIGNMENT_FIELDS = (*GIVEN_FIELDS, "reference", "id", DATE)


def readers(
    rows: Callable[[SourceSpec], Iterable[Row]], question_fields: Sequence[str] = QUESTION_FIELDS
) -> Mapping[type, Reader]:
    """Return type of record -> its reader for a table's format; `rows` reads the table."""
    return {
        Statement: lambda spec: statements(spec, rows(spec)),
        QASource: lambda spec: questions(spec, rows(spec), question_fields),
        Passage: lambda spec: passages(spec, rows(spec)),
        Assignment: lambda spec: assignments(spec, rows(spec)),
    }


def statements(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield a statement for each row: `text`, and `topic` and `id` if the source has them."""
    fields = _Fields(spec, STATEMENT_FIELDS, required=("text",))
    for row in fields.in_all(rows):
        text = row.text(fields.name("text"))
        values = {"text": text.strip(), "topic": fields.optional(row, "topic"), **fields.dated(row)}
        yield Entry(fields.id(row), values, evidence=text)


def passages(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield a passage for each row: `text` unchanged, and `title` and `id` if the source has them.

    In a table of questions, which has no `text`, the passage is the `evidence`.
    """
    fields = _Fields(spec, (*PASSAGE_FIELDS, *QUESTION_FIELDS), required=("text",), instead="question")
    for row in fields.in_all(rows):
        text = fields.optional(row, "evidence") if fields.present(row, "question") else row.text(fields.name("text"))
        text = text or ""
        values = {"text": text, "title": fields.title(row), **fields.dated(row)}
        yield Entry(fields.id(row), values, evidence=shortened(text))


def questions(spec: SourceSpec, rows: Iterable[Row], allowed: Sequence[str] = QUESTION_FIELDS) -> Iterator[Entry]:
    """Yield a question for each row: `question`, `answers` (a string or a list), and more of the `allowed`."""
    fields = _Fields(spec, allowed, required=("question", "answers"))
    for row in fields.in_all(rows):
        question, answers = row.text(fields.name("question")), fields.texts(row, "answers")
        evidence = fields.optional(row, "evidence")
        values: dict[str, Any] = {"question": question.strip(), "answers": answers, "evidence": evidence}
        values |= {"title": fields.title(row), **fields.dated(row)}
        if "answer_starts" in allowed and fields.present(row, "answer_starts"):
            values["answer_starts"] = row.offsets(fields.name("answer_starts"), len(answers))
        far = fields.optional(row, "other_answer"), fields.optional(row, "other_evidence")
        if fields.present(row, "sides"):
            values["sides"] = tuple(row.pairs(fields.name("sides"), str))
        elif all(far) and evidence and answers:
            values["sides"] = ((answers[0], evidence), far)
        yield Entry(fields.id(row), values, evidence=question)


def dialogues(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield a dialogue for each row: `history`, `knowledge`, `response`, and other fields if present."""
    fields = _Fields(spec, DIALOGUE_FIELDS, required=("history", "knowledge", "response"))
    for row in fields.in_all(rows):
        utterances = {
            name: (fields.optional(row, name) or "").strip()
            for name in ("last_utterance", "hard_utterance", "easy_utterance")
        }
        history = list(fields.texts(row, "history"))
        if not any(utterances.values()) and history:
            utterances["last_utterance"] = history.pop().strip()
        response = row.text(fields.name("response")).strip()
        values: dict[str, Any] = {
            **utterances,
            "history": turns(history),
            "knowledge": row.text(fields.name("knowledge")).strip(),
            "response": response,
            "distractors": distractors(row, fields.name),
            "note": fields.optional(row, "note") or "",
            **fields.dated(row),
        }
        yield Entry(fields.id(row), values, evidence=shortened(response))


def assignments(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield an assignment for each row: one of `GIVEN_FIELDS`, and `reference` and `id` if the source has them.

    If the map names one of the fields, that one counts, whatever else a row has: a table of news has a `text` beside
    each title. Otherwise it is the one that the row has.
    """
    fields = _Fields(spec, ASSIGNMENT_FIELDS, required=())
    named = [name for name in GIVEN_FIELDS if name in (spec.fields or {})]
    if len(named) > 1:
        raise SourceError(
            f"{spec.name}: fields: expected one of {', '.join(GIVEN_FIELDS)}, found {' and '.join(named)}; name one, "
            "and the other in a source of its own"
        )
    for row in fields.in_all(rows):
        present = named or [name for name in GIVEN_FIELDS if fields.present(row, name)]
        if len(present) != 1:
            raise row.error(
                f"expected one of the fields {', '.join(GIVEN_FIELDS)}, found {' and '.join(present) or 'none'}",
                "name the one to take, such as fields: {headline: title}",
            )
        text = row.text(fields.name(present[0])).strip()
        reference = (fields.optional(row, "reference") or "").strip()
        values = {"given": present[0], "text": text, "reference": reference, **fields.dated(row)}
        yield Entry(fields.id(row), values, evidence=shortened(text))


class _Fields:
    """The map of one source. A field that the map names must exist; all others have our names."""

    def __init__(self, spec: SourceSpec, allowed: Sequence[str], required: Sequence[str], instead: str = "") -> None:
        """A row that has the field `instead` needs none of the `required`."""
        self._spec, self._map = spec, spec.fields or {}
        self._allowed, self._required, self._instead = allowed, required, instead
        for name in self._map:
            if name not in allowed:
                raise SourceError(f'{spec.name}: fields: unknown field "{name}"; {nearest(name, allowed)}')

    def in_all(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows. Raises `SourceError` with all the fields that the first one lacks."""
        for number, row in enumerate(rows):
            if number == 0:
                self._check(row)
            yield row

    def _check(self, row: Row) -> None:
        required = () if self._instead and self.name(self._instead) in row.values else self._required
        missing = [ours for ours in dict.fromkeys((*required, *self._map)) if self.name(ours) not in row.values]
        if not missing:
            return
        names = " and ".join(f'"{self.name(ours)}"' for ours in missing)
        if self._instead and required and required[0] in missing:
            names += f' or "{self.name(self._instead)}"'
        found = ", ".join(row.values) or "none"
        meant = ", ".join(f"{ours}: {next(iter(alike(self.name(ours), [*row.values])), '...')}" for ours in missing)
        advice = f"say which are meant, as in fields: {{{meant}}}"
        if also := [ours for ours in dict.fromkeys(self._allowed) if ours not in missing and ours not in self._map]:
            advice += f"; fields may also name {', '.join(also)}"
        what = f"{'a field' if len(missing) == 1 else 'the fields'} {names}"
        raise row.error(f"expected {what}, found {found}", advice)

    def name(self, ours: str) -> str:
        return self._map.get(ours, ours)

    def present(self, row: Row, ours: str) -> bool:
        wanted = ours in self._map or ours in self._required
        value = row.value(self.name(ours)) if wanted else row.values.get(ours)
        return value is not None

    def optional(self, row: Row, ours: str) -> str | None:
        return row.text(self.name(ours)) if self.present(row, ours) else None

    def title(self, row: Row) -> str | None:
        return row.title(self.name("title")) if self.present(row, "title") else None

    def id(self, row: Row) -> str:
        return row.label(self.name("id")) if self.present(row, "id") else row.place

    def dated(self, row: Row) -> Mapping[str, str | None]:
        """Return the date of a row as a field of its record; JSON lines may leave out what is null."""
        return dated(self._spec, row) if self.name(DATE) in row.values else {}

    def texts(self, row: Row, ours: str) -> tuple[str, ...]:
        name = self.name(ours)
        return (row.text(name),) if isinstance(row.value(name), str) else row.texts(name)
