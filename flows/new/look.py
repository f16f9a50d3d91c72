"""Looks at somebody's files: which of our formats each is in, and what its beginning gives."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from data.sources import FORMATS, SourceError, SourceSpec, documents, read_source
from data.sources.files import csv_rows, json_lines, parquet_rows
from data.sources.opening import check_is_file, is_folder
from flows.construct.proposal import Material, spec_for
from flows.language import LANGUAGES
from flows.new.columns import Guess, guess, words
from flows.new.languages import NAMES, language_of_texts
from schemas.base import counted
from schemas.errors import WrongInput
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

MOST_ROWS = 2000
"""Rows of a table, and records of a source, that are looked at."""
FEWEST_ROWS, ROWS_IN_ALL = 200, 10_000
"""Of many sources fewer rows each are looked at, but never fewer than that."""
MOST_BYTES = 2 * 2**20
"""Of the documents of a source, those that are looked at have no more together; the first is in any case."""
MOST_DOCUMENTS = 40
MOST_TABLES = 20
TOO_MANY = f"not looked at: it comes after {MOST_TABLES} tables; name it alone"
MOST_OF_A_LANGUAGE = 200
"""Records whose texts tell the language."""

DOCUMENTS = frozenset(documents.READERS) - {".csv", ".tsv"}
TABLES: Mapping[str, str] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet",
}  # fmt: skip
NAMED = (
    "squad", "hotpotqa", "nq-open", "timeqa", "conflictqa", "strategyqa", "creak", "faithdial", "topical-chat", "begin",
    "charp", "ntrex", "scitldr", "writingbench", "self-instruct", "mt-bench",
)  # fmt: skip
"""Formats of published data in JSON: a file is in the first of them that reads its first rows."""
TRIED_ROWS = 5

S = TypeVar("S", Statement, QASource, Passage, Dialogue, Assignment)


@dataclass(frozen=True)
class Unused:
    """A file of which nothing is taken, and why."""

    path: str
    why: str


def look(paths: Sequence[Path]) -> tuple[list[Material], list[Unused]]:
    """Return what some files and folders hold, in the order of their names. Raises `WrongInput` for one that is not."""
    material: list[Material] = []
    unused: list[Unused] = []
    sources = list(_to_look_at(paths))
    rows = min(MOST_ROWS, max(FEWEST_ROWS, ROWS_IN_ALL // max(len(sources), 1)))
    for name, looking in sources:
        try:
            some = looking(rows)
        except SourceError as error:
            unused.append(Unused(name, str(error).removeprefix(f"{name}: ").removeprefix(f"{Path(name).name}: ")))
        except OSError as error:
            unused.append(Unused(name, error.strerror or str(error)))
        else:
            if any(some.records.values()):
                material.append(some)
            else:
                reasons = ", ".join(f"{number:,} {reason}" for reason, number in some.refused.items())
                unused.append(Unused(name, f"nothing in it can be used ({reasons or 'no rows'})"))
    return material, unused


def _to_look_at(paths: Sequence[Path]) -> Iterator[tuple[str, Callable[[int], Material]]]:
    """Yield the path of each source, and how to look at it. Raises `WrongInput`."""
    tables = 0
    for path in paths:
        if not os.path.lexists(path):
            raise WrongInput(f"{path}: no such file or folder; name your data")
        if not is_folder(path):
            check_is_file(path)
        files = _files(path)
        if not files:
            raise WrongInput(f"{path}: there is no file in it; name a folder with your data")
        for spec in _documents(path, files):
            yield spec.path, partial(_look_at_documents, spec)
        for file in files:
            suffix = _suffix(file)
            if suffix in TABLES:
                tables += 1
                yield str(file), partial(_look_at_table, file) if tables <= MOST_TABLES else partial(_refuse, TOO_MANY)
            elif _is_book(file):
                yield str(file), partial(_look_at, SourceSpec(format="book", path=str(file)), (Passage,))
        strange = [
            file for file in files if not (_suffix(file) in TABLES or _suffix(file) in DOCUMENTS or _is_book(file))
        ]
        if strange:
            endings = ", ".join(sorted({_suffix(file) or "none" for file in strange}))
            yield str(path), partial(_refuse, f"{counted(len(strange), 'file')} of no known format ({endings})")


def _refuse(why: str, rows: int) -> Material:
    raise SourceError(why)


# ---- files ----


def _files(path: Path) -> list[Path]:
    """Return a file, or all files below a folder but hidden ones and those of our own builds."""
    if path.is_file():
        return [path]
    files: list[Path] = []
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or (entry.is_dir() and documents.is_output(entry)):
            continue
        files += _files(entry) if entry.is_dir() else [entry] if entry.is_file() else []
    return files


def _suffix(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix if _is_packed_table(file) else file.suffix.lower()


def _is_book(file: Path) -> bool:
    return file.name.lower().endswith((".txt.gz", ".text.gz"))


def _is_packed_table(file: Path) -> bool:
    name = file.name.lower()
    return name.endswith(".gz") and Path(name.removesuffix(".gz")).suffix in TABLES


def _documents(path: Path, files: Sequence[Path]) -> Iterator[SourceSpec]:
    """Yield the sources of documents in a folder: the folder, if it holds nothing else and no build will go into it.

    Otherwise a pattern for each ending, in each folder of the first level.
    """
    wanted = [file for file in files if _suffix(file) in DOCUMENTS]
    if path.is_file() or not wanted:
        yield from (SourceSpec(format="documents", path=str(file)) for file in wanted)
        return
    holds_builds = path.resolve() in (Path.cwd(), *Path.cwd().parents)
    if len(wanted) == len(files) and not holds_builds:
        yield SourceSpec(format="documents", path=str(path))
        return
    patterns: dict[str, None] = {}
    for file in wanted:
        inner = file.relative_to(path).parts
        folder = path / inner[0] / "**" if len(inner) > 1 else path
        patterns[str(folder / f"*{file.suffix}")] = None
    yield from (SourceSpec(format="documents", path=pattern) for pattern in patterns)


# ---- what is in them ----


def _look_at_documents(spec: SourceSpec, rows: int) -> Material:
    sizes = {path: path.stat().st_size for _, path in documents.files(spec)}
    refused: Counter[str] = Counter()
    passages: list[Passage] = []
    foreign: Counter[str] = Counter()
    chosen = _beginning(sizes)
    for path in chosen:
        read = _read(SourceSpec(format="documents", path=str(path)), Passage, refused, rows)
        passages += read
        if read and (spoken := language_of_texts(passage.text for passage in read)) not in LANGUAGES:
            foreign[spoken] += 1
    # A document most of whose letters are Chinese says so itself; what the others are in, the source says.
    other = [passage.text for passage in passages if passage.language != "zh"]
    language = language_of_texts(other[:MOST_OF_A_LANGUAGE]) if other else "zh"
    if other and len(other) < len(passages) / 2:
        language = "zh"
    return Material(
        spec.model_copy(update={"language": language}),
        {Passage: passages},
        is_whole=len(chosen) == len(sizes),
        files=len(sizes),
        more=sum(sizes.values()) / max(sum(sizes[path] for path in chosen), 1),
        refused=refused,
        notes=_of_languages(foreign, passages),
    )


def _of_languages(foreign: Mapping[str, int], passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return what to say of documents in other languages than most are in."""
    notes = [
        f"{counted(number, 'document')} in {NAMES[language]}, which no family reads: they are better left out"
        for language, number in foreign.items()
    ]
    chinese = sum(passage.language == "zh" for passage in passages)
    if 0 < chinese < len(passages):
        notes.append(f"{chinese:,} of {len(passages):,} passages are in Chinese, the others are not")
    return tuple(notes)


def _beginning(sizes: Mapping[Path, int]) -> list[Path]:
    """Return the first documents that are not too long together; the shortest, if each is too long."""
    chosen: list[Path] = []
    left = MOST_BYTES
    for path, size in sizes.items():
        if size <= left and len(chosen) < MOST_DOCUMENTS:
            chosen.append(path)
            left -= size
    return chosen or [min(sizes, key=lambda path: sizes[path])]


def _look_at_table(file: Path, rows: int) -> Material:
    if TABLES[_suffix(file)] == "jsonl" and (named := _in_named_format(file, rows)) is not None:
        return named
    spec = SourceSpec(format=TABLES[_suffix(file)], path=str(file))
    table = _rows(spec, rows)
    guessed = guess(table)
    if guessed is None:
        columns = ", ".join(dict.fromkeys(name for row in table for name in row))
        raise SourceError(f"no column looks like texts; it has {columns}" if table else "it has no rows")
    if not guessed.shapes:
        raise SourceError("; ".join(guessed.notes))
    if Dialogue in guessed.shapes and Dialogue not in FORMATS[spec.format]:
        raise SourceError(f"dialogues are read from jsonl alone, not from {spec.format}: save it as JSONL")
    return _look_at(spec.model_copy(update={"fields": dict(guessed.fields)}), guessed.shapes, rows, guessed)


def _rows(spec: SourceSpec, rows: int) -> list[Mapping[str, Any]]:
    if spec.format == "csv":
        reader = csv_rows(spec)
    else:
        reader = parquet_rows(spec.path) if spec.format == "parquet" else json_lines(spec.path)
    return [row.values for row in islice(reader, rows)]


def _in_named_format(file: Path, rows: int) -> Material | None:
    """Return what a file in the format of published data holds; None if it is in none of them."""
    for name in NAMED:
        spec = SourceSpec(format=name, path=str(file))
        shapes = tuple(FORMATS[name])
        try:
            entries = list(islice(FORMATS[name][shapes[0]](spec), TRIED_ROWS))
        except (SourceError, OSError):
            continue
        if entries:
            return _look_at(spec, shapes, rows)
    return None


def _look_at(spec: SourceSpec, shapes: Sequence[type], rows: int, guessed: Guess | None = None) -> Material:
    """Return what a source gives, with the language of its texts."""
    refused: Counter[str] = Counter()
    records: dict[type, list[Any]] = {}
    for number, shape in enumerate(shapes):
        records[shape] = _read(spec, shape, Counter() if number else refused, rows)
    some = [record for found in records.values() for record in found[:MOST_OF_A_LANGUAGE]]
    language = language_of_texts(text for record in some for text in _texts(record))
    spec = spec.model_copy(update={"language": language})
    return Material(
        spec,
        {shape: [_in(record, language) for record in found] for shape, found in records.items() if found},
        is_whole=all(len(found) < rows for found in records.values()),
        refused=refused,
        others=guessed.others if guessed else {},
        notes=guessed.notes if guessed else (),
    )


def _read(spec: SourceSpec, shape: type[S], refused: Counter[str], rows: int) -> list[S]:
    spec = spec_for(spec, shape)
    return list(islice(read_source(spec, shape, lambda dropped: refused.update([dropped.reason])), rows))


def _in(record: Any, language: str) -> Any:
    return record.model_copy(update={"language": language}) if "language" in type(record).model_fields else record


def _texts(record: Any) -> Iterator[str]:
    """Yield the texts of a record that tell its language."""
    for name in ("question", "text", "evidence", "knowledge", "response"):
        if isinstance(text := getattr(record, name, None), str):
            yield text[:2000]


def mean_words(texts: Sequence[str]) -> int:
    """Return the words of a text, on average."""
    return round(sum(map(words, texts)) / len(texts)) if texts else 0
