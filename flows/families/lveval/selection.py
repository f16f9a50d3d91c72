"""Choosing pairs and gathering documents (sections 3.1 and 3.2.1, appendix A)."""

import heapq
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from data.sources import SourceSpec
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records
from flows.families.lveval.datasets import BY_NAME, Dataset
from flows.families.lveval.facts import packaged_fact, packaged_source
from flows.families.lveval.library import count
from flows.families.lveval.prompts import ANSWER_UNAIDED, ToAnswer
from flows.families.lveval.settings import LVEvalSettings
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from flows.llm.model import InvalidAnswer, Prompt
from flows.scoring.qa import exact_match
from schemas.base import Provenance, SourceRef, content_hash, key_of
from schemas.errors import WrongInput
from schemas.lveval import Document, FactRecord, Pair, PoolDocument
from schemas.source import Passage, QASource

Uses = Mapping[tuple[str, str], Sequence[str]]
"""(format, name) of a source -> the datasets that use it."""


# ---- pairs ----


def uses_of_questions(step: StepContext[LVEvalSettings]) -> Uses:
    """Which datasets take questions from which source."""
    settings = step.settings
    return _uses({name: one.sources for name, one in settings.datasets.items() if not BY_NAME[name].recalls_fact})


def uses_of_documents(step: StepContext[LVEvalSettings]) -> Uses:
    """Which datasets take documents from which source."""
    settings = step.settings
    return _uses({name: (*one.sources, *one.distractors) for name, one in settings.datasets.items()})


def _uses(specs: Mapping[str, Sequence[SourceSpec]]) -> Uses:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, own in specs.items():
        for spec in own:
            found[spec.format, spec.name].append(name)
    return found


def datasets_of_question(source: QASource, uses: Uses) -> Sequence[Slot]:
    """A pair of the question for each dataset that takes its source."""
    return [{"dataset": name} for name in uses.get((source.format, source.source.source), ())]


async def to_pair(source: QASource, slot: Slot, ctx: Context[LVEvalSettings]) -> Pair:
    """The selection steps of appendix A: the question as a pair of the dataset, or a drop.

    Departure: what the paper's people look at by hand is tested: the answer stands in the documents
    (unless it is a yes or a no), and is not longer than the dataset allows.
    """
    settings = ctx.settings
    dataset = BY_NAME[str(slot["dataset"])]
    language = language_of(dataset.language)
    documents = _supporting(source, dataset)
    answers = source.answers
    if source.language != dataset.language:
        raise Drop("another language", f"{source.language}, and the dataset is in {dataset.language}")
    if not documents:
        raise Drop("no supporting document", source.question)
    if settings.datasets[dataset.name].several_answers:
        if len(answers) < 2:
            raise Drop("one answer", answers[0])
        answers = (("、" if dataset.language == "zh" else ", ").join(answers), *answers)
    stands = [answer for answer in source.answers if any(language.contains(one.text, answer) for one in documents)]
    if not stands and not all(map(is_yes_or_no, source.answers)):
        raise Drop("answer is not in the documents", source.answers[0])
    length = count(answers[0], dataset.language)
    if dataset.longest_answer is not None and length > dataset.longest_answer:
        raise Drop("answer too long", answers[0], value=float(length))
    _refuse_flawed(source.question, *answers, *(one.text for one in documents))
    if (line := _header_in(documents, settings.header)) is not None:
        raise Drop("looks like a header", line)
    words = sum(count(one.text, dataset.language) for one in documents)
    if words >= settings.longest:
        raise Drop("supporting documents too long", f"{words:,} words, the longest level has {settings.longest:,}")
    return Pair(
        key=ctx.key,
        dataset=dataset.name,
        question=source.question,
        answers=answers,
        documents=documents,
        language=dataset.language,
        source=f"{source.format}:{source.source.source.removesuffix('.gz')}",
        row=source.source.id,
        provenance=ctx.provenance(source, sources=[source.source]),
    )


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _refuse_flawed(*texts: str) -> None:
    """Raise `Drop` for a text that holds control characters, which no reader of a context could tell."""
    for text in texts:
        if (found := _CONTROL.search(text)) is not None:
            raise Drop("control character", f"{found[0]!r} at character {found.start()}")


def _header_in(documents: Iterable[Document | PoolDocument], form: str) -> str | None:
    """A line of the documents that reads as the header of one does."""
    pattern = _pattern(form)
    return next((found[0] for one in documents if (found := pattern.search(one.text)) is not None), None)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in form.rstrip("\n").split("{number}")]
    return re.compile(rf"^{'[0-9]+'.join(parts)}$", re.MULTILINE)


def _supporting(source: QASource, dataset: Dataset) -> tuple[Document, ...]:
    """The supporting documents; the evidence, where the source has no others."""
    name = source.source.source
    if source.documents:
        return tuple(
            Document(id=f"{name}#{one.id}", text=_headed(one.title, one.text, dataset)) for one in source.documents
        )
    if not source.evidence or not source.evidence.strip():
        return ()
    return (Document(id=f"{name}#{source.source.id}", text=_headed(source.title, source.evidence, dataset)),)


def _headed(title: str | None, text: str, dataset: Dataset) -> str:
    """A document as it goes into a context: without outer white space; under its title, where pages are told apart."""
    cleaned = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return f"{title}\n{cleaned}" if dataset.titled and title else cleaned


def asked_unaided(settings: LVEvalSettings) -> Sequence[Prompt[Any]]:
    """The prompts of `prescreen`: none where no model is named."""
    return [ANSWER_UNAIDED] if settings.prescreen else []


async def prescreen(pair: Pair, ctx: Context[LVEvalSettings]) -> Pair:
    """Appendix A: questions that a model answers without the context are left out of MultiFieldQA.

    Departure: a model is asked in place of people, and right is what matches an answer exactly.
    """
    if not BY_NAME[pair.dataset].unknown:
        return pair
    for model in ctx.settings.prescreen:
        try:
            said = await ctx.ask(ANSWER_UNAIDED, ToAnswer(question=pair.question, language=pair.language), model=model)
        except InvalidAnswer:
            continue
        if exact_match(said.text, pair.answers, pair.language):
            raise Drop("answered without the context", f"{model}: {said.text}")
    return pair.model_copy(update={"provenance": ctx.asked_of(pair.provenance)})


async def select_pairs(pairs: Records[Pair], ctx: SetContext[LVEvalSettings]) -> AsyncIterator[Pair]:
    """Draw each dataset's number of pairs (table 2), seeded by their keys; and make those of fact recall.

    A question that a dataset has already, with the same answers, is a duplicate.
    """
    settings = ctx.settings
    ranks: dict[str, list[tuple[str, str]]] = defaultdict(list)
    firsts: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for pair in pairs:
        place = pair.dataset, pair.question, pair.answers
        if firsts.setdefault(place, pair.key) == pair.key:
            ranks[pair.dataset].append((content_hash(ctx.step.seed, ctx.step_name, pair.key), pair.key))
    chosen: set[str] = set()
    for name, one in settings.datasets.items():
        dataset = BY_NAME[name]
        wanted = one.pairs or dataset.pairs
        chosen.update(key for _, key in heapq.nsmallest(wanted, ranks[name]))
        if not dataset.recalls_fact and len(ranks[name]) < wanted:
            ctx.note(f"{name}: {len(ranks[name]):,} pairs of {wanted:,}; its sources have no more that pass")
    for pair in pairs:
        first = firsts[pair.dataset, pair.question, pair.answers]
        if first != pair.key:
            ctx.drop(pair, Drop("duplicate question", pair.question, related_id=first))
        elif pair.key in chosen:
            yield pair
        else:
            ctx.drop(pair, Drop("not selected"))
    for name, one in settings.datasets.items():
        if BY_NAME[name].recalls_fact:
            yield _recalled(BY_NAME[name], one.fact, ctx)


def _recalled(dataset: Dataset, own: FactRecord | None, ctx: SetContext[LVEvalSettings]) -> Pair:
    """The one pair of a fact-recall dataset: on a fact of the user's own, or on the packaged one."""
    fact = own or packaged_fact(dataset.language)
    written_in = (
        SourceRef(source="the configuration's own fact", id=dataset.name) if own else packaged_source(dataset.name)
    )
    language = language_of(dataset.language)
    if not language.contains(fact.fact, fact.answers[0]):
        raise WrongInput(
            f"families.lveval.datasets.{dataset.name}.fact: the fact does not hold the answer {fact.answers[0]!r}; "
            "write a fact that does"
        )
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
        provenance=Provenance(seed=ctx.step.seed, sources=(written_in,)),
    )


# ---- documents ----


def datasets_of_document(passage: Passage, uses: Uses) -> Sequence[Slot]:
    """A document of the passage for each dataset that takes its source."""
    names = {name for (_, source), own in uses.items() if source == passage.source.source for name in own}
    return [{"dataset": name} for name in sorted(names)]


async def to_document(passage: Passage, slot: Slot, ctx: Context) -> PoolDocument:
    """The passage as a document of the dataset's pool."""
    dataset = BY_NAME[str(slot["dataset"])]
    if passage.language != dataset.language:
        raise Drop("another language", f"{passage.language}, and the dataset is in {dataset.language}")
    text = _headed(passage.title, passage.text, dataset)
    _refuse_flawed(text)
    return PoolDocument(key=ctx.key, dataset=dataset.name, text=text, language=dataset.language, source=passage.source)


@dataclass
class _Held:
    """What a dataset has already."""

    texts: dict[str, str]
    """Hash of a text -> the id of the record that has it."""
    supporting: set[str]
    rows: set[tuple[str, str]]
    """(name, row) of the sources of its pairs."""


async def pool_documents(
    documents: Records[PoolDocument], ctx: SetContext[LVEvalSettings]
) -> AsyncIterator[PoolDocument]:
    """Section 3.2.1: distracting documents are those of pairs that were not selected; each once."""
    held: dict[str, _Held] = defaultdict(lambda: _Held({}, set(), set()))
    for pair in ctx.step.used("pairs", Pair):
        own = held[pair.dataset]
        own.supporting.update(content_hash(one.text) for one in pair.documents)
        own.rows.update((source.source, pair.row) for source in pair.provenance.sources)
    for document in documents:
        own, text = held[document.dataset], content_hash(document.text)
        if text in own.supporting:
            ctx.drop(document, Drop("supports a selected pair"))
        elif (document.source.source, document.source.id.partition(",")[0]) in own.rows:
            ctx.drop(document, Drop("of a selected pair"))
        elif (line := _header_in([document], ctx.settings.header)) is not None:
            ctx.drop(document, Drop("looks like a header", line))
        elif text in own.texts and not BY_NAME[document.dataset].recalls_fact:  # a book may repeat itself
            ctx.drop(document, Drop("duplicate text", related_id=own.texts[text]))
        else:
            own.texts[text] = document.id
            yield document
