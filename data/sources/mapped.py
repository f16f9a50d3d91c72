"""Rows of anybody's table, through a map from our fields to theirs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from data.sources.spec import Entry, Row, SourceError, SourceSpec, nearest

STATEMENT_FIELDS = ("text", "topic", "id")
QUESTION_FIELDS = ("question", "answers", "evidence", "other_answer", "other_evidence", "sides", "id")
"""`other_answer` and `other_evidence` are the far side of a conflict whose near side is the first answer
and the evidence; `sides` gives both as a list of [answer, evidence]."""


def statements(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """A statement a row: `text`, and where the source has them `topic` and `id`."""
    fields = _Fields(spec, STATEMENT_FIELDS, required=("text",))
    for row in rows:
        text = row.text(fields.name("text"))
        yield Entry(fields.id(row), {"text": text.strip(), "topic": fields.optional(row, "topic")}, evidence=text)


def questions(spec: SourceSpec, rows: Iterable[Row]) -> Iterator[Entry]:
    """A question a row: `question`, `answers` (a string or a list), and what else the source has."""
    fields = _Fields(spec, QUESTION_FIELDS, required=("question", "answers"))
    for row in rows:
        question, answers = row.text(fields.name("question")), fields.answers(row)
        evidence = fields.optional(row, "evidence")
        values: dict[str, Any] = {"question": question.strip(), "answers": answers, "evidence": evidence}
        far = fields.optional(row, "other_answer"), fields.optional(row, "other_evidence")
        if fields.present(row, "sides"):
            values["sides"] = tuple(row.pairs(fields.name("sides"), str))
        elif all(far) and evidence and answers:
            values["sides"] = ((answers[0], evidence), far)
        yield Entry(fields.id(row), values, evidence=question)


class _Fields:
    """The map of one source. A field that the map names must be there; the others go by our names."""

    def __init__(self, spec: SourceSpec, known: Sequence[str], required: Sequence[str]) -> None:
        self._map = spec.fields or {}
        self._required = required
        for name in self._map:
            if name not in known:
                raise SourceError(f'{spec.name}: fields: unknown field "{name}"; {nearest(name, known)}')

    def name(self, ours: str) -> str:
        return self._map.get(ours, ours)

    def present(self, row: Row, ours: str) -> bool:
        wanted = ours in self._map or ours in self._required
        value = row.value(self.name(ours)) if wanted else row.values.get(ours)
        return value is not None

    def optional(self, row: Row, ours: str) -> str | None:
        return row.text(self.name(ours)) if self.present(row, ours) else None

    def id(self, row: Row) -> str:
        return row.label(self.name("id")) if self.present(row, "id") else row.place

    def answers(self, row: Row) -> tuple[str, ...]:
        name = self.name("answers")
        return (row.text(name),) if isinstance(row.value(name), str) else row.texts(name)
