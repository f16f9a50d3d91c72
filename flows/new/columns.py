"""Guesses which column of a table is what, by the columns' names and by what they hold."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

MOST_COMPARED = 200
"""Rows in which answers are looked for in other columns, to tell which column is which."""
LEAST_SCORE = 0.3
OTHERS_SCORE = 0.6
"""Share of the best column's score from which on another could be meant, too."""
MOSTLY = 0.5
LONGEST_STATEMENT = 40
"""Words of a text up to which it may be a statement, on average."""
LEAST_SUMMARISED = 50
"""Words of a text from which on it is worth a summary, on average."""
CHARACTERS_IN_A_WORD = 1.7
"""Of Chinese text, roughly."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "frage", "问题", "提问", "input", "prompt", "q"),
    "answers": (
        "answers", "answer", "antwort", "antworten", "答案", "回答", "gold", "ground truth", "label", "response",
        "target", "output", "a",
    ),
    "evidence": (
        "evidence", "context", "passage", "paragraph", "kontext", "absatz", "beleg", "textstelle", "上下文", "段落",
        "证据", "材料", "原文", "document", "source text", "text", "content",
    ),
    "title": ("title", "titel", "标题", "headline", "heading"),
    "topic": ("topic", "subject", "entity", "thema", "主题"),
    "id": ("id", "key", "nr", "编号"),
    "statement": ("statement", "claim", "fact", "sentence", "aussage", "satz", "behauptung", "陈述", "事实", "句子"),
    "text": ("text", "body", "content", "article", "passage", "document", "inhalt", "正文", "内容", "文本", "abstract"),
    "history": ("history", "dialogue history", "dialog history", "conversation", "turns", "verlauf", "历史", "对话"),
    "knowledge": ("knowledge", "evidence", "wissen", "知识", "fact"),
    "response": ("response", "reply", "antwort", "回复", "回答", "answer"),
    "last_utterance": ("last utterance", "utterance", "message"),
    "other_answer": ("other answer", "counter answer", "wrong answer"),
    "other_evidence": ("other evidence", "counter evidence"),
}  # fmt: skip
"""What a column is called that holds a field, the best name first. Names are compared without case and signs."""

_TRUTHS = frozenset(("true", "false", "yes", "no", "supported", "refuted", "0", "1"))


@dataclass(frozen=True)
class Column:
    """A column of the rows that were looked at."""

    name: str
    values: Sequence[Any]
    """Of all rows, None where a row has none."""

    @cached_property
    def texts(self) -> Sequence[tuple[str, ...]]:
        """The texts of each row: one, or those of a list; none where it has something else."""
        return [
            (value,) if isinstance(value, str) else tuple(value) if _is_texts(value) else () for value in self.values
        ]

    @cached_property
    def is_text(self) -> bool:
        """True if every row that has a value has a text, and some have."""
        present = [value for value in self.values if value is not None]
        return bool(present) and all(isinstance(value, str) for value in present) and any(map(str.strip, present))

    @cached_property
    def is_texts(self) -> bool:
        """True if every row that has a value has a text or a list of texts, and some have."""
        present = [value for value in self.values if value is not None]
        return any(any(texts) for texts in self.texts) and all(isinstance(v, str) or _is_texts(v) for v in present)

    @cached_property
    def words(self) -> float:
        """Words of a text, on average."""
        texts = [text for texts in self.texts for text in texts if text.strip()]
        return sum(map(words, texts)) / len(texts) if texts else 0.0

    @cached_property
    def asked(self) -> float:
        """Share of the texts that end with a question mark."""
        texts = [text.strip() for texts in self.texts for text in texts if text.strip()]
        return sum(text.endswith(("?", "？")) for text in texts) / len(texts) if texts else 0.0

    def called(self, field_name: str) -> float:
        """Return how well the column's name suits a field: 1 for its best name, half for a name within another."""
        name = _plain(self.name)
        for place, known in enumerate(NAMES[field_name]):
            if name == known:
                return 1 - place / 100
        parts = name.split()
        for place, known in enumerate(NAMES[field_name]):
            if known in parts or (not known.isascii() and known in name):
                return 0.5 - place / 100
        return 0.0

    def inside(self, other: "Column") -> float:
        """Return the share of rows in which one of this column's texts is in the other's."""
        pairs = [
            (texts, " ".join(others).casefold())
            for texts, others in zip(self.texts[:MOST_COMPARED], other.texts[:MOST_COMPARED], strict=True)
            if any(map(str.strip, texts)) and others
        ]
        found = sum(any(text.strip() and text.strip().casefold() in whole for text in texts) for texts, whole in pairs)
        return found / len(pairs) if pairs else 0.0

    @property
    def holds_lists_as_text(self) -> bool:
        """True if its cells are written lists, such as `["a", "b"]`."""
        texts = [value.strip() for value in self.values if isinstance(value, str) and value.strip()]
        return bool(texts) and all(text.startswith("[") and text.endswith("]") for text in texts)


@dataclass(frozen=True)
class Guess:
    """What a table holds, and which column is taken for which field."""

    fields: Mapping[str, str]
    """Our field -> the column."""
    shapes: tuple[type, ...]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Our field -> other columns that could be meant, the likelier first."""
    notes: tuple[str, ...] = ()


def words(text: str) -> float:
    """Return the words of a text; of Chinese about as many as it would have."""
    wide = sum("\u3400" <= character <= "\u9fff" for character in text)
    return wide / CHARACTERS_IN_A_WORD if wide > len(text) / 3 else float(len(text.split()))


def guess(rows: Sequence[Mapping[str, Any]]) -> Guess | None:
    """Return what a table holds: dialogues, questions, statements or texts; None if it is none of these."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [Column(name, [row.get(name) for row in rows]) for name in names]
    # Every row has a field that the configuration names: others cannot be read.
    columns = [column for column in columns if all(column.name in row for row in rows)]
    return _dialogues(columns) or _questions(columns) or _statements_or_texts(columns)


def _dialogues(columns: Sequence[Column]) -> Guess | None:
    taken: dict[str, list[Column]] = {}
    for name in ("history", "knowledge", "response"):
        free = [column for column in columns if column.is_texts and column not in [best[0] for best in taken.values()]]
        ranked = _ranked(free, lambda column, name=name: column.called(name))  # type: ignore[misc]
        if not ranked:
            return None
        taken[name] = ranked
    return _guess(columns, taken, ("last_utterance", "id"), (Dialogue,))


def _questions(columns: Sequence[Column]) -> Guess | None:
    asking = _ranked(
        [column for column in columns if column.is_text and column.words > 1],
        lambda column: column.called("question") + column.asked,
    )
    if not asking:
        return None
    rest = [column for column in columns if column is not asking[0]]

    def evidence_of(answers: Column) -> list[Column]:
        longer = [column for column in rest if column.is_text and column is not answers]
        longer = [column for column in longer if column.words > max(answers.words, 3)]
        return _ranked(
            longer,
            lambda column: column.called("evidence") * 0.75 + answers.inside(column) - 2 * column.called("answers"),
        )

    def likeness(column: Column) -> float:
        held = max((column.inside(other) for other in evidence_of(column)[:1]), default=0.0)
        return column.called("answers") + held - column.asked

    answering = _ranked([column for column in rest if column.is_texts], likeness)
    if not answering:
        return Guess({"question": asking[0].name}, (), notes=("questions without a column of answers",))
    taken = {"question": asking, "answers": answering}
    if evidence := evidence_of(answering[0]):
        taken["evidence"] = evidence
    notes = []
    if answering[0].holds_lists_as_text:
        notes.append(f"{answering[0].name} has lists written as text: each is read as one answer; save them as JSONL")
    optional = ("title", "id", "other_answer", "other_evidence")
    guessed = _guess(columns, taken, optional, (QASource, Passage) if evidence else (QASource,))
    return Guess(guessed.fields, guessed.shapes, guessed.others, tuple(notes))


def _statements_or_texts(columns: Sequence[Column]) -> Guess | None:
    texts = [column for column in columns if column.is_text and column.words > 2 and column.asked < MOSTLY]
    ranked = _ranked(texts, lambda column: max(column.called("statement"), column.called("text")))
    if not ranked:
        ranked = sorted(texts, key=lambda column: -column.words)
    if not ranked:
        return None
    text = ranked[0]
    if text.words <= LONGEST_STATEMENT:
        labels = [column.name for column in columns if column is not text and _is_truth(column)]
        notes = tuple(f"{name} says which are true: all are read as true; leave the others out" for name in labels)
        guessed = _guess(columns, {"text": ranked}, ("topic", "id"), (Statement,))
        return Guess(guessed.fields, guessed.shapes, guessed.others, notes)
    shapes = (Passage, Assignment) if text.words >= LEAST_SUMMARISED else (Passage,)
    return _guess(columns, {"text": ranked}, ("title", "id"), shapes)


def _guess(
    columns: Sequence[Column], taken: Mapping[str, Sequence[Column]], optional: Iterable[str], shapes: tuple[type, ...]
) -> Guess:
    """Return the guess with the best column of each field, and of optional fields those that have their names."""
    fields = {name: ranked[0].name for name, ranked in taken.items()}
    others = {
        name: tuple(column.name for column in ranked[1:3] if column.name not in fields.values())
        for name, ranked in taken.items()
    }
    for name in optional:
        free = [column for column in columns if column.name not in fields.values()]
        fitting = [column for column in free if name == "id" or column.is_text]
        if name == "id":
            fitting = [column for column in free if _are_ids(column)]
        if ranked := _ranked(fitting, lambda column, name=name: column.called(name)):  # type: ignore[misc]
            fields[name] = ranked[0].name
    return Guess(fields, shapes, {name: names for name, names in others.items() if names})


def _ranked(columns: Iterable[Column], score: Callable[[Column], float]) -> list[Column]:
    """Return the columns that score enough, and not far less than the best, the best first."""
    scored = sorted(((score(column), column) for column in columns), key=lambda pair: -pair[0])
    least = max(LEAST_SCORE, OTHERS_SCORE * scored[0][0]) if scored else 0
    return [column for points, column in scored if points >= least]


def _are_ids(column: Column) -> bool:
    values = [value for value in column.values if value is not None]
    are_labels = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    return are_labels and len(set(values)) == len(column.values)


def _is_truth(column: Column) -> bool:
    values = {str(value).strip().casefold() for value in column.values if value is not None}
    return 1 < len(values) <= 3 and values <= _TRUTHS


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _plain(name: str) -> str:
    """Return a column's name in small letters, its words apart: `questionText` and `question_text` are the same."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[\W_]+", " ", apart).casefold().split())
