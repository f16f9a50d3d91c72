"""JSON lines: one object a line, with a field map."""

from collections.abc import Iterator

from data.sources import mapped
from data.sources.files import json_lines
from data.sources.spec import Entry, SourceSpec


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """A statement a line."""
    return mapped.statements(spec, json_lines(spec.path))


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """A question a line."""
    return mapped.questions(spec, json_lines(spec.path))


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """A passage a line."""
    return mapped.passages(spec, json_lines(spec.path))


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """A dialogue a line."""
    return mapped.dialogues(spec, json_lines(spec.path))


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """An assignment a line."""
    return mapped.assignments(spec, json_lines(spec.path))
