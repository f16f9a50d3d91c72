"""Tells, before anything is built, of a dataset whose sources cannot fill a single context."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import TypeVar

from data.sources import SourceError, SourceSpec, documents, read_source
from data.sources.opening import is_file
from flows.construct.engine import Drop
from flows.families.lveval import selection
from flows.families.lveval.datasets import Dataset, words_of
from flows.families.lveval.distractor_index import count
from flows.families.lveval.facts import packaged_fact
from flows.families.lveval.mixing import slack
from flows.families.lveval.settings import DatasetSettings, LVEvalSettings
from schemas.base import SourceRef, content_hash, counted
from schemas.lveval import Document
from schemas.source import Passage, QASource

MOST_BYTES = 2 * 2**20
"""If the files of all datasets have more bytes together, none is looked into: reading them takes seconds."""
UNPACKED = {".gz": 4, ".parquet": 4, ".docx": 4}
"""Roughly how much longer a packed file is when it is read."""
AS_TEXT = frozenset((".md", ".markdown", ".txt", ".text", ".html", ".htm", ".xhtml"))
"""Endings of documents that have no more words than their files: they need not be cut into passages to be counted."""
MOST_ADDED = 0.2
"""Share of a context that titles, confusing facts and replacements may add; in practice it is less."""
Shape = TypeVar("Shape", QASource, Passage)
Question = tuple[QASource, tuple[Document, ...]]
"""A question that can be selected, and its documents as they go into a context."""


def shortages(settings: LVEvalSettings) -> Iterator[str]:
    """Yield a problem for each dataset that gets no context at any level, as far as a short look at its files tells.

    The text is counted generously: a document that holds an answer counts as one that can distract. Datasets with a
    source that is no file at hand are passed over. Raises `SourceError` for a source that cannot be read.
    """
    if settings.parts is not None and "contexts" not in settings.parts:
        return
    files = {
        name: [_files(spec) for spec in (*block.sources, *block.distractors)]
        for name, block in settings.datasets.items()
    }
    sizes = (path.stat().st_size * UNPACKED.get(path.suffix, 1) for paths in chain(*files.values()) for path in paths)
    if sum(sizes) > MOST_BYTES:
        return
    for name, block in settings.datasets.items():
        if all(files[name]):
            dataset = settings.known[name]
            yield from (_of_fact if dataset.recalls_fact else _of_questions)(settings, dataset, block)


def _files(spec: SourceSpec) -> Sequence[Path]:
    """Return the files of a source; none if they are not at hand."""
    if spec.is_remote:
        return ()
    if spec.format == "documents":
        return [path for _, path in documents.files(spec)]
    return [Path(spec.path)] if is_file(spec.path) else ()


def _of_fact(settings: LVEvalSettings, dataset: Dataset, block: DatasetSettings) -> Iterator[str]:
    fact = block.fact or packaged_fact(dataset.language)
    book = sum(count(text, dataset.language) for text, _ in _texts(settings, dataset))
    inserted = sum(count(text, dataset.language) for text in (fact.fact, *fact.confusing_facts))
    if _is_short(settings, dataset, book + inserted):
        yield _lacking(settings, dataset, book)


def _of_questions(settings: LVEvalSettings, dataset: Dataset, block: DatasetSettings) -> Iterator[str]:
    refused: Counter[str] = Counter()
    questions = list(_selectable(settings, dataset, refused))
    if not questions:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in refused.most_common())
        yield f"datasets.{dataset.name}.sources: no question can be selected ({reasons}); correct them, or name others"
        return
    total, headers, shares = _words(settings, dataset, questions)
    # Of a question's own documents a context has all, even where no other context may have them.
    own = max(sum(count(document.text, dataset.language) for document in texts) for _, texts in questions)
    own += headers
    # Which questions a model of `prescreen` answers is not known: perhaps none is selected.
    pairs = 0 if settings.prescreen and dataset.unknown else block.pairs or dataset.pairs
    left = total - round(sum(nsmallest(pairs, shares)))
    if _is_short(settings, dataset, total + own):
        yield _lacking(settings, dataset, total)
    elif _is_short(settings, dataset, left + own):
        yield (
            f"datasets.{dataset.name}.pairs: {counted(pairs, 'pair')} of {counted(len(questions), 'question')} leave "
            f"at most {left:,} of {total:,} words to distract with; the lowest level ({settings.levels[0]}) wants "
            f"{words_of(settings.levels[0]):,}: lower pairs or levels, or name more documents under "
            f"datasets.{dataset.name}.distractors"
        )


def _selectable(settings: LVEvalSettings, dataset: Dataset, refused: Counter[str]) -> Iterator[Question]:
    """Yield the questions that can be selected, each once, and count why the others cannot."""
    seen = set()
    for place, spec in enumerate(settings.datasets[dataset.name].sources):
        for source in _read(f"datasets.{dataset.name}.sources[{place}]", spec, QASource, refused):
            try:
                answers, texts = selection.pair_texts(source, dataset, settings)
            except Drop as drop:
                refused[drop.reason] += 1
                continue
            if (name := (source.question, answers)) not in seen:
                seen.add(name)
                yield source, texts


def _words(settings: LVEvalSettings, dataset: Dataset, questions: Sequence[Question]) -> tuple[int, int, list[float]]:
    """Return the words of all texts, those of their headers, and what each question takes from them if it is selected.

    A text that is kept back for several questions counts as an equal share for each, so that any selection takes at
    least the sum of its shares.
    """
    by_text: dict[str, set[int]] = defaultdict(set)
    by_row: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, (asked, supporting) in enumerate(questions):
        by_row[asked.source.source, asked.source.id].add(number)
        for document in supporting:
            by_text[content_hash(document.text)].add(number)
    total, shares = 0, [0.0] * len(questions)
    seen = set()
    for text, source in _texts(settings, dataset):
        if (name := content_hash(text)) in seen:
            continue
        seen.add(name)
        words = count(text, dataset.language)
        total += words
        kept_back = by_text.get(name, set()) | (by_row.get(selection.row_of(source), set()) if source else set())
        for number in kept_back:
            shares[number] += words / len(kept_back)
    return total, len(seen) * count(settings.header.format(number=len(seen)), dataset.language), shares


def _texts(settings: LVEvalSettings, dataset: Dataset) -> Iterator[tuple[str, SourceRef | None]]:
    """Yield all texts of a dataset, each with its source; of documents in text files these, without one."""
    for name in ("sources", "distractors"):
        for place, spec in enumerate(getattr(settings.datasets[dataset.name], name)):
            paths = _files(spec) if spec.format == "documents" else ()
            if paths and all(path.suffix.lower() in AS_TEXT for path in paths):
                yield from ((path.read_text(encoding="utf-8", errors="replace"), None) for path in paths)
                continue
            for passage in _read(f"datasets.{dataset.name}.{name}[{place}]", spec, Passage, Counter()):
                yield selection.cleaned(passage.title, passage.text, dataset), passage.source


def _read(setting: str, spec: SourceSpec, shape: type[Shape], refused: Counter[str]) -> Iterator[Shape]:
    """Yield the records of a source, and count why others are refused. Raises `SourceError` with the setting."""
    try:
        yield from read_source(spec, shape, lambda dropped: refused.update([dropped.reason]))
    except SourceError as error:
        raise SourceError(f"{setting}: {error}") from error


def _is_short(settings: LVEvalSettings, dataset: Dataset, words: float) -> bool:
    level = words_of(settings.levels[0])
    return (1 - MOST_ADDED) * level - words > slack(level, dataset.language)


def _lacking(settings: LVEvalSettings, dataset: Dataset, words: int) -> str:
    return (
        f"datasets.{dataset.name}: its sources have {words:,} words, and the lowest level ({settings.levels[0]}) wants "
        f"{words_of(settings.levels[0]):,}: name more documents under datasets.{dataset.name}.distractors, or lower "
        "levels"
    )
