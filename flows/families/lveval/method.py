"""LV-Eval's method, in the order of its sections; `__init__.py` puts the steps together.

Yuan et al., "LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K", 2024:

- section 3.1 and appendix A: question-answer pairs are selected for each dataset (table 2);
- section 3.2.1: their documents are mixed up with distracting ones, to contexts of five lengths;
- section 3.2.2: confusing facts insertion (CFI);
- section 3.2.3: keyword and phrase replacement (KPR);
- section 3.3: keywords are marked in the answers, for the metric.

People revise confusing facts, rules and keywords; contexts are mixed from what they accepted.
"""

import heapq
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.files_step import FilesContext, RowFile
from flows.construct.records import Records, with_first
from flows.families.lveval import prompts, selection
from flows.families.lveval.answer_keywords import counts_in_score
from flows.families.lveval.assembly import Assembler, DatasetAssemblies
from flows.families.lveval.candidates import RuleMaterial, TextsByDataset
from flows.families.lveval.conflicts import conflicts
from flows.families.lveval.confusing_facts import CHANGES, refusals
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.inputs import ToAnswer, ToConfuse, ToMark, ToRename, excerpts, supporting_sentence
from flows.families.lveval.replacement_checks import applicable_rules, touches_question
from flows.families.lveval.settings import MOST_RULES, LVEvalSettings
from flows.language.keywords import occurs
from flows.llm.model import InvalidAnswer, Prompt
from flows.scoring.qa import exact_match
from schemas.base import content_hash, counted
from schemas.lveval import (
    AnswerKeywords,
    Conflict,
    ConfusingFact,
    Confusion,
    Pair,
    PoolDocument,
    Replacements,
    Rule,
    RuleConflicts,
)
from schemas.source import Passage, QASource

# ---- pairs (section 3.1, appendix A) ----


async def to_pair(source: QASource, slot: Slot, ctx: Context[LVEvalSettings]) -> Pair:
    """Appendix A: make the question a pair of the dataset, or drop it.

    Departure: the paper's authors select by hand, here `selection.pair_texts` says what can be a pair.
    """
    dataset = ctx.settings.known[str(slot["dataset"])]
    answers, documents = selection.pair_texts(source, dataset, ctx.settings)
    return Pair(
        key=ctx.key,
        dataset=dataset.name,
        question=source.question,
        answers=answers,
        documents=documents,
        sentences=source.sentences,
        language=dataset.language,
        source=f"{source.format}:{source.source.source.removesuffix('.gz')}",
        row=source.source.id,
        provenance=ctx.provenance(source, sources=[source.source]),
    )


def prescreen_prompts(settings: LVEvalSettings) -> Sequence[Prompt[Any]]:
    """Return the prompts of `prescreen`; none if the settings name no model."""
    return [prompts.ANSWER_UNAIDED] if settings.prescreen else []


async def prescreen(pair: Pair, ctx: Context[LVEvalSettings]) -> Pair:
    """Appendix A: drop a question of MultiFieldQA, or of a dataset of one's own, that a model answers without context.

    Departure: a model is asked in place of people, and an answer is right if it matches exactly.
    """
    if not ctx.settings.known[pair.dataset].unknown:
        return pair
    for model in ctx.settings.prescreen:
        try:
            reply = await ctx.ask(
                prompts.ANSWER_UNAIDED, ToAnswer(question=pair.question, language=pair.language), model=model
            )
        except InvalidAnswer:
            continue
        if exact_match(reply.text, pair.answers, pair.language):
            raise Drop("answered without the context", f"{model}: {reply.text}")
    return pair.model_copy(update={"provenance": ctx.asked_of(pair.provenance)})


async def select_pairs(pairs: Records[Pair], ctx: SetContext[LVEvalSettings]) -> AsyncIterator[Pair]:
    """Table 2: draw each dataset's number of pairs, seeded by their keys, and make the pairs of fact recall.

    Departure: pairs of the last release come first, so that none is displaced. Of the others, those that came last do,
    since the documents of an older one may distract in released contexts. A question that a dataset has already, with
    the same answers, is a duplicate.
    """
    settings = ctx.settings
    released = {pair.key for pair in ctx.step.released}
    ranks: dict[str, list[tuple[int, int, str, str]]] = defaultdict(list)
    firsts = {}

    def question(pair: Pair) -> str:
        return content_hash(pair.dataset, pair.question, pair.answers)

    for pair, first in with_first(pairs, question, ctx.step.arrival):
        if first is None:
            rank = content_hash(ctx.step.seed, ctx.step_name, pair.key)
            came = ctx.step.arrival(pair)
            turn = (0, came) if pair.key in released else (1, -came)
            ranks[pair.dataset].append((*turn, rank, pair.key))
        else:
            firsts[pair.key] = first.key
    chosen: set[str] = set()
    for name, block in settings.datasets.items():
        dataset = settings.known[name]
        wanted = block.pairs or dataset.pairs
        chosen.update(key for *_, key in heapq.nsmallest(wanted, ranks[name]))
        if not dataset.recalls_fact and len(ranks[name]) < wanted:
            ctx.note(f"{name}: {len(ranks[name]):,} of {counted(wanted, 'pair')}; its sources have no more that pass")
    for pair in pairs:
        if pair.key in firsts:
            ctx.drop(pair, Drop("duplicate question", pair.question, related_id=firsts[pair.key]))
        elif pair.key in chosen:
            yield pair
        else:
            ctx.drop(pair, Drop("not selected"))
    for name, block in settings.datasets.items():
        if settings.known[name].recalls_fact:
            yield selection.fact_recall_pair(settings.known[name], block.fact, ctx.step.seed)


# ---- mixing up (section 3.2.1) ----


async def to_document(passage: Passage, slot: Slot, ctx: Context[LVEvalSettings]) -> PoolDocument:
    """Make the passage a document of the dataset's pool."""
    dataset = ctx.settings.known[str(slot["dataset"])]
    if passage.language != dataset.language:
        raise Drop("another language", f"{passage.language}, and the dataset is in {dataset.language}")
    text = selection.cleaned(passage.title, passage.text, dataset)
    selection.refuse_control_characters(text)
    return PoolDocument(key=ctx.key, dataset=dataset.name, text=text, language=dataset.language, source=passage.source)


async def pool_documents(
    documents: Records[PoolDocument], ctx: SetContext[LVEvalSettings]
) -> AsyncIterator[PoolDocument]:
    """Section 3.2.1: pool the documents of pairs that were not selected, each once."""
    selected = selection.SelectedDocuments(ctx.step.used("pairs", Pair), ctx.step.arrival)
    known = ctx.settings.known

    def refusal(document: PoolDocument) -> Drop | None:
        if (reason := selected.refusal(document, ctx.step.arrival(document))) is not None:
            return Drop(reason)
        line = selection.header_in([document], ctx.settings.header)
        return Drop("looks like a header", line) if line is not None else None

    refused = {document.key: drop for document in documents if (drop := refusal(document)) is not None}

    def text(document: PoolDocument) -> str:
        return document.key if document.key in refused else content_hash(document.dataset, document.text)

    for document, first in with_first(documents, text, ctx.step.arrival):
        if document.key in refused:
            ctx.drop(document, refused[document.key])
        elif first is not None and not known[document.dataset].recalls_fact:  # a book may repeat itself
            ctx.drop(document, Drop("duplicate text", related_id=first.id))
        else:
            yield document


def mix_contexts(file: RowFile, ctx: FilesContext[Assembler]) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """Section 3.2: yield the contexts of a dataset and level, with facts inserted and keywords replaced."""
    for pair in file.records:
        assert isinstance(pair, Pair)
        yield from ctx.prepared.contexts(pair, file.slot, ctx)


# ---- confusing facts insertion (section 3.2.2) ----


class KnownDatasets(Protocol):
    """Whatever a step prepares that has the datasets by name."""

    @property
    def known(self) -> Mapping[str, Dataset]:
        """The datasets by their names in the configuration."""
        ...


def pairs_with(
    feature: Literal["confusing_facts", "replacements", "keywords"],
) -> Callable[[Pair, KnownDatasets], Sequence[Slot]]:
    """Return the slots of a step for the pairs of datasets that have the feature (table 2)."""
    return lambda pair, prepared: [{}] if getattr(prepared.known[pair.dataset], feature) else []


def settings_of(step: StepContext[LVEvalSettings, Pair]) -> LVEvalSettings:
    """Return the settings, which know the datasets."""
    return step.settings


async def confuse(pair: Pair, slot: Slot, ctx: Context[LVEvalSettings, TextsByDataset]) -> Confusion:
    """Section 3.2.2: write two descriptions that are close to the original fact, from question and answer.

    Departure: the builder sees the supporting sentence as well, which the paper shows only to its annotators. If
    one of the two is no confusing fact after all repairs, the other is kept.
    """
    if pair.written is not None:
        facts = pair.written.confusing_facts
        if len(facts) != len(CHANGES):
            raise Drop("no confusing facts", f"the fact record has {len(facts)}, where {len(CHANGES)} are wanted")
        original, written = pair.documents[0].text, (facts[0], facts[1])
        return Confusion(**_shared_fields(pair, ctx), answers=pair.answers, original_fact=original, facts=written)
    original, title = supporting_sentence(pair)
    asked = ToConfuse(
        question=pair.question,
        answers=pair.answers,
        fact=original,
        title=title,
        language=pair.language,
        documents=tuple(document.text for document in pair.documents),
        collection=ctx.prepared.texts[pair.dataset, ctx.step.arrival(pair)].documents,
        seed=content_hash(ctx.step.seed, ctx.step_name, pair.key),
    )
    try:
        answer = await ctx.ask(prompts.CONFUSING_FACTS, asked)
    except InvalidAnswer as invalid:
        last = prompts.facts_in(invalid.answer)
        if last is None or all(refusals(asked, last.subject, last.object)):
            raise
        answer = last
        ctx.note_asked(prompts.CONFUSING_FACTS)
    refused = refusals(asked, answer.subject, answer.object)
    if all(refused):
        raise Drop(refused[0], answer.subject)
    return Confusion(
        **_shared_fields(pair, ctx),
        answers=pair.answers,
        original_fact=original,
        facts=(answer.subject, answer.object),
        refused=refused,
    )


def _shared_fields(record: Pair | Confusion | Replacements, ctx: Context) -> dict[str, Any]:
    """Return the fields that every record made from a pair has."""
    return {
        "key": ctx.key,
        "pair_id": record.id if isinstance(record, Pair) else record.pair_id,
        "dataset": record.dataset,
        "question": record.question,
        "language": record.language,
        "provenance": ctx.provenance(record),
    }


def both_facts(confusion: Confusion, prepared: object) -> Sequence[Slot]:
    """Return a slot for each of the two facts, so that people decide on each."""
    return [{"changes": change} for change in CHANGES]


async def part(confusion: Confusion, slot: Slot, ctx: Context) -> ConfusingFact:
    """Return one of the two facts; drop it if it is no confusing fact."""
    at = CHANGES.index(slot["changes"])
    if confusion.refused[at]:
        raise Drop(confusion.refused[at], confusion.facts[at])
    return ConfusingFact(
        **_shared_fields(confusion, ctx),
        answers=confusion.answers,
        original_fact=confusion.original_fact,
        changes=CHANGES[at],
        fact=confusion.facts[at],
    )


# ---- keyword and phrase replacement (section 3.2.3) ----


async def propose_rules(pair: Pair, slot: Slot, ctx: Context[LVEvalSettings, RuleMaterial]) -> Replacements:
    """Section 3.2.3: propose keywords or phrases to be replaced, each with its substitute.

    Departure: the builder proposes what the paper's annotators write; they revise it. A rule of the last answer that
    cannot be applied is left out; the others stay. Rules that are drawn anew for a version have no substitute for a
    keyword that a version before had for it; if there are no others, the pair keeps its last ones.
    """
    sentences = excerpts(pair)
    lost: tuple[Conflict, ...] = ()
    if pair.written is not None:
        rules = pair.written.replacements
    else:
        before = ctx.prepared.before.get(ctx.key, ())
        try:
            rules, lost = await _proposed(pair, sentences, before, ctx)
        except (Drop, InvalidAnswer):
            asked = _to_rename(pair, sentences, (), ctx)
            if not before or applicable_rules(asked, before[-1]) != (before[-1], ()):
                raise
            rules = before[-1]
            ctx.note_asked(prompts.REPLACEMENT_RULES)
    keywords = [rule.old for rule in rules]
    return Replacements(
        **_shared_fields(pair, ctx),
        answers=pair.answers,
        excerpts=tuple(sentence for sentence in sentences if occurs(sentence, keywords, pair.language)),
        rules=rules,
        lost=lost,
    )


async def _proposed(
    pair: Pair, sentences: Sequence[str], before: Sequence[tuple[Rule, ...]], ctx: Context[LVEvalSettings, RuleMaterial]
) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    """Return the rules for a pair, and why others of the last answer cannot be applied."""
    asked = _to_rename(pair, sentences, before, ctx)
    lost: tuple[Conflict, ...] = ()
    try:
        rules = (await ctx.ask(prompts.REPLACEMENT_RULES, asked, draw=len(before))).rules
    except InvalidAnswer as refused:
        rules, lost = applicable_rules(asked, prompts.rules_in(refused.answer))
        if not touches_question(asked, rules):
            raise
        ctx.note_asked(prompts.REPLACEMENT_RULES)
    if not rules:
        raise Drop("no name to be replaced", pair.question)
    return rules, lost


def _to_rename(
    pair: Pair, sentences: Sequence[str], before: Sequence[tuple[Rule, ...]], ctx: Context[LVEvalSettings, RuleMaterial]
) -> ToRename:
    draw = [] if ctx.step.draw is None else [ctx.step.draw]
    texts = ctx.prepared.texts.texts[pair.dataset, ctx.step.arrival(pair)]
    return ToRename(
        question=pair.question,
        answers=pair.answers,
        sentences=tuple(sentences),
        documents=tuple(document.text for document in pair.documents),
        language=pair.language,
        most=MOST_RULES,
        candidates=texts.candidates.for_pair(pair, sentences, ctx.random(pair.key, *draw).random()),
        before=tuple(dict.fromkeys(rule for rules in before for rule in rules)),
        seed=content_hash(ctx.step.seed, ctx.step_name, pair.key, *draw),
    )


async def find_conflicts(rules: Replacements, ctx: Context[LVEvalSettings, DatasetAssemblies]) -> RuleConflicts:
    """Section 3.2.3: find what goes wrong when the rules are applied, so that people can revise them.

    A rule that is lost because of another rule names it.
    """
    group, pair = ctx.prepared.pairs[rules.pair_id]
    assembly = ctx.prepared.assembly(group)
    return RuleConflicts(
        **_shared_fields(rules, ctx),
        answers=rules.answers,
        rules=rules.rules,
        conflicts=conflicts(rules.rules, pair, assembly.facts_of(pair), assembly.index),
    )


# ---- answer keywords (section 3.3) ----


async def mark_keywords(pair: Pair, slot: Slot, ctx: Context) -> AnswerKeywords:
    """Section 3.3: mark the words of the answer that a right prediction must contain.

    Departure: the builder proposes what the paper's annotators mark; they revise it.
    """
    answer = pair.answers[0]
    if pair.written is not None:
        keywords = pair.written.keywords
    elif not counts_in_score(pair.language, answer):
        raise Drop("no word of the answer counts in the score", answer)
    else:
        asked = ToMark(question=pair.question, answer=answer, language=pair.language)
        keywords = (await ctx.ask(prompts.ANSWER_KEYWORDS, asked)).keywords
    return AnswerKeywords(**_shared_fields(pair, ctx), answer=answer, keywords=keywords)
