"""Selecting pairs and documents: which dataset reads which source, and texts that fit a context."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from data.sources import SourceSpec
from flows.construct.engine import Drop, Slot, StepContext
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.distractor_index import count
from flows.families.lveval.facts import packaged_fact, packaged_source
from flows.families.lveval.settings import LVEvalSettings
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from schemas.base import Provenance, Record, SourceRef, content_hash, key_of
from schemas.errors import WrongInput
from schemas.lveval import Document, FactRecord, Pair, PoolDocument
from schemas.source import Passage, QASource

SourceUses = Mapping[tuple[str, str], Sequence[str]]  # (format, name) of a source -> the datasets that use it
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def uses_of_questions(step: StepContext[LVEvalSettings]) -> SourceUses:
    """Return which datasets take questions from which source."""
    blocks, known = step.settings.datasets, step.settings.known
    return _uses({name: block.sources for name, block in blocks.items() if not known[name].recalls_fact})


def uses_of_documents(step: StepContext[LVEvalSettings]) -> SourceUses:
    """Return which datasets take documents from which source."""
    return _uses({name: (*block.sources, *block.distractors) for name, block in step.settings.datasets.items()})


def _uses(specs: Mapping[str, Sequence[SourceSpec]]) -> SourceUses:
    uses: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, sources in specs.items():
        for spec in sources:
            uses[spec.format, spec.name].append(name)
    return uses


def datasets_of_question(source: QASource, uses: SourceUses) -> Sequence[Slot]:
    """Return a slot for each dataset that takes questions from this source."""
    return [{"dataset": name} for name in uses.get((source.format, source.part or source.source.source), ())]


def datasets_of_document(passage: Passage, uses: SourceUses) -> Sequence[Slot]:
    """Return a slot for each dataset that takes documents from this source."""
    read = passage.part or passage.source.source
    names = {name for (_, source), users in uses.items() if source == read for name in users}
    return [{"dataset": name} for name in sorted(names)]


def pair_texts(
    source: QASource, dataset: Dataset, settings: LVEvalSettings
) -> tuple[tuple[str, ...], tuple[Document, ...]]:
    """Return the answers and the documents of a pair. Raises `Drop` if the question can be none.

    The answer must occur in the documents, and be no longer than the dataset allows. A yes or no need not occur, and
    is no answer to a single-hop question: it has no keyword to score by, and half of all guesses are right.
    """
    language = language_of(dataset.language)
    documents = supporting_documents(source, dataset)
    answers = source.answers
    if source.language != dataset.language:
        raise Drop("another language", f"{source.language}, and the dataset is in {dataset.language}")
    if not documents:
        raise Drop("no supporting document", source.question)
    if dataset.hops == "single-hop" and all(map(is_yes_or_no, answers)):
        raise Drop("answered by yes or no", answers[0])
    if settings.datasets[dataset.name].several_answers:
        if len(answers) < 2:
            raise Drop("one answer", answers[0])
        answers = (("、" if dataset.language == "zh" else ", ").join(answers), *answers)
    answered = any(language.contains(document.text, answer) for answer in source.answers for document in documents)
    if not answered and not all(map(is_yes_or_no, source.answers)):
        raise Drop("answer is not in the documents", source.answers[0])
    length = count(answers[0], dataset.language)
    if dataset.longest_answer is not None and length > dataset.longest_answer:
        raise Drop("answer too long", answers[0], value=float(length))
    refuse_control_characters(source.question, *answers, *(document.text for document in documents))
    if (line := header_in(documents, settings.header)) is not None:
        raise Drop("looks like a header", line)
    words = sum(count(document.text, dataset.language) for document in documents)
    if words >= settings.longest:
        raise Drop("supporting documents too long", f"{words:,} words, the longest level has {settings.longest:,}")
    return answers, documents


def supporting_documents(source: QASource, dataset: Dataset) -> tuple[Document, ...]:
    """Return the documents that support the answer; the evidence, if the source has no others."""
    name = source.source.source
    if source.documents:
        return tuple(
            Document(id=f"{name}#{part.id}", text=cleaned(part.title, part.text, dataset)) for part in source.documents
        )
    if not source.evidence or not source.evidence.strip():
        return ()
    return (Document(id=f"{name}#{source.source.id}", text=cleaned(source.title, source.evidence, dataset)),)


class SelectedDocuments:
    """The documents of selected pairs, which distract in no context of pairs that came with them or later.

    In contexts that were released before, they may: there they stay.
    """

    def __init__(self, pairs: Iterable[Pair], arrival: Callable[[Record], int]) -> None:
        """`arrival` returns the number of the release with which a pair came."""
        self._texts: dict[tuple[str, str], int] = {}  # (dataset, hash of the text) -> release of the first such pair
        self._rows: dict[tuple[str, str, str], int] = {}  # (dataset, source, its row) -> the same
        for pair in sorted(pairs, key=arrival):
            for document in pair.documents:
                self._texts.setdefault((pair.dataset, content_hash(document.text)), arrival(pair))
            for source in pair.provenance.sources:
                self._rows.setdefault((pair.dataset, source.source, pair.row), arrival(pair))

    def refusal(self, document: PoolDocument, release: int) -> str | None:
        """Return why a document distracts from no pair of a release; None if it may."""
        source = document.source
        if self._texts.get((document.dataset, content_hash(document.text)), release + 1) <= release:
            return "supports a selected pair"
        row = document.dataset, *row_of(source)
        return "of a selected pair" if self._rows.get(row, release + 1) <= release else None


def row_of(source: SourceRef) -> tuple[str, str]:
    """Return the source's name and its id of the row that a document is from."""
    return source.source, source.id.partition(",")[0]


def cleaned(title: str | None, text: str, dataset: Dataset) -> str:
    """Return a document for a context: stripped, and under its title if titles distinguish pages."""
    stripped = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return f"{title}\n{stripped}" if dataset.titled and title else stripped


def refuse_control_characters(*texts: str) -> None:
    """Raise `Drop` for a text with control characters, which a reader of the context could not see."""
    for text in texts:
        if match := _CONTROL.search(text):
            raise Drop("control character", f"{match[0]!r} at character {match.start()}")


def header_in(documents: Iterable[Document | PoolDocument], form: str) -> str | None:
    """Return a line of the documents that looks like a passage header."""
    parts = [re.escape(part) for part in form.rstrip("\n").split("{number}")]
    pattern = re.compile(rf"^{'[0-9]+'.join(parts)}$", re.MULTILINE)
    return next((match[0] for document in documents if (match := pattern.search(document.text)) is not None), None)


def fact_recall_pair(dataset: Dataset, configured: FactRecord | None, seed: int) -> Pair:
    """Return the only pair of a fact-recall dataset, on the configured or the packaged fact."""
    fact = configured or packaged_fact(dataset.language)
    if not language_of(dataset.language).contains(fact.fact, fact.answers[0]):
        raise WrongInput(
            f"families.lveval.datasets.{dataset.name}.fact: the fact does not hold the answer {fact.answers[0]!r}; "
            "write a fact that does"
        )
    own_fact = SourceRef(source="the configuration's own fact", id=dataset.name)
    return Pair(
        key=key_of("lveval", "pairs", dataset.name),
        dataset=dataset.name,
        question=fact.question,
        answers=fact.answers,
        documents=(Document(id=f"{dataset.name}#fact", text=fact.fact),),
        language=dataset.language,
        source="fact",
        row="fact",
        written=fact,
        provenance=Provenance(seed=seed, sources=(own_fact if configured else packaged_source(dataset.name),)),
    )
