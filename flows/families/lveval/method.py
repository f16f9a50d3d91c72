"""LV-Eval: confusing facts, replacement rules and answer keywords, which people revise, for mixed contexts.

Yuan et al., "LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K", 2024: section 3.2.2
(confusing facts insertion, CFI), 3.2.3 (keyword and phrase replacement, KPR) and 3.3 (answer keywords). Pairs
and documents are chosen in `selection.py` (sections 3.1 and 3.2.1), contexts made in `contexts.py`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import ValidationError

from flows.construct.engine import Context, Drop, Slot, StepContext
from flows.families.lveval import naming
from flows.families.lveval.conflicts import conflicts
from flows.families.lveval.confusing import CHANGES, fact_problem, is_one
from flows.families.lveval.contexts import Shelves
from flows.families.lveval.datasets import BY_NAME, Dataset
from flows.families.lveval.parallels import Parallels
from flows.families.lveval.pool import Alternatives, Pool, pool_of
from flows.families.lveval.prompts import (
    ANSWER_KEYWORDS,
    CONFUSING_FACTS,
    REPLACEMENT_RULES,
    ConfusingFacts,
    ToConfuse,
    ToMark,
    ToRename,
    rules_in,
)
from flows.families.lveval.settings import MOST_RULES, LVEvalSettings
from flows.language import language_of
from flows.language.boundaries import boundaries
from flows.language.choices import is_yes_or_no
from flows.language.keywords import occurs
from flows.llm.model import Invalid, InvalidAnswer, Model, first_json_object
from flows.llm.rules import Rules
from schemas.errors import WrongInput
from schemas.lveval import (
    AnswerKeywords,
    Changed,
    Conflict,
    ConfusingFact,
    Confusion,
    Pair,
    PoolDocument,
    Replacements,
    RuleConflicts,
)

EXCERPTS = 16
"""Sentences of the supporting documents that are shown to who writes rules, at most."""


def ready(settings: LVEvalSettings, models: Mapping[str, Model]) -> None:
    """Raise `WrongInput` where a dataset has no sources, or a model that cannot answer is to prescreen."""
    if not settings.datasets:
        raise WrongInput(
            f"families.lveval.datasets: is empty; name datasets with their sources (there are {', '.join(BY_NAME)})"
        )
    for name, dataset in settings.datasets.items():
        place = f"families.lveval.datasets.{name}"
        if not dataset.sources:
            raise WrongInput(f"{place}.sources: is empty; name {_wanted(BY_NAME[name])}")
        for spec in (*dataset.sources, *dataset.distractors):
            if spec.language != BY_NAME[name].language:
                raise WrongInput(
                    f"{place}: {spec.name}: language {spec.language}, where the dataset is in "
                    f"{BY_NAME[name].language}; correct the source's language, or name another source"
                )
    for model in settings.prescreen:
        if isinstance(models[model], Rules):
            raise WrongInput(
                "families.lveval.prescreen: the rules model does not answer questions; leave it empty, or name an "
                f"endpoint under models.{model}"
            )
    _ = settings.pair_sources, settings.document_sources


def _wanted(dataset: Dataset) -> str:
    return "a book" if dataset.recalls_fact else f"questions with their documents, like {dataset.original}"


# ---- confusing facts (section 3.2.2) ----


@dataclass
class Pools:
    """What other pairs of a dataset name and its documents say, made when it is first asked for."""

    pairs: Mapping[str, Sequence[Pair]]
    documents: Mapping[str, Sequence[str]]
    _made: dict[str, Pool] = field(default_factory=dict)
    _parallels: dict[str, Parallels] = field(default_factory=dict)

    def of(self, dataset: str) -> Pool:
        """The pool of that dataset."""
        if dataset not in self._made:
            self._made[dataset] = pool_of(BY_NAME[dataset].language, self.pairs[dataset])
        return self._made[dataset]

    def parallels(self, dataset: str) -> Parallels:
        """What confusing facts are made of by rule, for the dataset's pairs."""
        if dataset not in self._parallels:
            own = (document.text for pair in self.pairs[dataset] for document in pair.documents)
            every = (*own, *self.documents.get(dataset, ()))
            self._parallels[dataset] = Parallels(BY_NAME[dataset].language, every)
        return self._parallels[dataset]


def pools(step: StepContext[LVEvalSettings, Pair]) -> Pools:
    """The pools of all datasets."""
    found: dict[str, list[Pair]] = defaultdict(list)
    for pair in step.inputs:
        found[pair.dataset].append(pair)
    documents: dict[str, list[str]] = defaultdict(list)
    for document in step.used("documents", PoolDocument) if "documents" in step.uses else ():
        documents[document.dataset].append(document.text)
    return Pools(found, documents)


def where_confused(pair: Pair, prepared: Pools) -> Sequence[Slot]:
    """The pairs of datasets that have confusing facts (table 2)."""
    return [{}] if BY_NAME[pair.dataset].confusing_facts else []


async def confuse(pair: Pair, slot: Slot, ctx: Context[LVEvalSettings, Pools]) -> Confusion:
    """Section 3.2.2: two descriptions that are close to the original fact, by question and answer.

    Departure: the builder sees the supporting sentence as well, which the paper shows to its annotators alone. Where
    one of the two is no confusing fact after every repair, the other is kept.
    """
    if pair.written is not None:
        facts = pair.written.confusing_facts
        if len(facts) != len(CHANGES):
            raise Drop("no confusing facts", f"the fact record has {len(facts)}, where {len(CHANGES)} are wanted")
        return _confusion(pair, pair.documents[0].text, (facts[0], facts[1]), ("", ""), ctx)
    original, title = supporting_sentence(pair)
    asked = ToConfuse(
        question=pair.question,
        answers=pair.answers,
        fact=original,
        title=title,
        language=pair.language,
    )
    subject_facts, object_facts = ctx.prepared.parallels(pair.dataset).facts(asked, pair, ctx.random(pair.key))
    asked = asked.model_copy(update={"subject_facts": subject_facts, "object_facts": object_facts})
    try:
        answer = await ctx.ask(CONFUSING_FACTS, asked)
    except InvalidAnswer as invalid:
        answer = _last(invalid)
        if all(_refusals(asked, answer, pair)):
            raise
        ctx.note_asked(CONFUSING_FACTS)
    refused = _refusals(asked, answer, pair)
    if all(refused):
        raise Drop(refused[0], answer.subject)
    return _confusion(pair, original, (answer.subject, answer.object), refused, ctx)


def _last(invalid: InvalidAnswer) -> ConfusingFacts:
    """The two facts of the last answer; raises `InvalidAnswer` where it has none."""
    try:
        return ConfusingFacts.model_validate(first_json_object(invalid.answer))
    except (ValidationError, Invalid):
        raise invalid from None


def _refusals(asked: ToConfuse, answer: ConfusingFacts, pair: Pair) -> tuple[str, str]:
    """Why each of the two is no confusing fact of the pair; empty where it is one."""

    def refusal(changes: Changed, fact: str) -> str:
        if (problem := fact_problem(asked, changes, fact)) is not None:
            return problem[0]
        if any(fact in document.text for document in pair.documents):
            return f"{changes} fact stands in a supporting document"
        return ""

    subject, other = refusal("subject", answer.subject), refusal("object", answer.object)
    return subject, other or ("" if subject else _one_fact(answer))


def _one_fact(answer: ConfusingFacts) -> str:
    return "the two facts are one" if is_one(answer.subject, answer.object) else ""


def _confusion(
    pair: Pair, original: str, facts: tuple[str, str], refused: tuple[str, str], ctx: Context[LVEvalSettings, Pools]
) -> Confusion:
    return Confusion(
        key=ctx.key,
        pair_id=pair.id,
        dataset=pair.dataset,
        question=pair.question,
        answers=pair.answers,
        original_fact=original,
        facts=facts,
        refused=refused,
        language=pair.language,
        provenance=ctx.provenance(pair),
    )


def supporting_sentence(pair: Pair) -> tuple[str, str]:
    """The sentence that supports the answer, without a title above it, and the first line of its document.

    Of those that hold an answer (of all, where none does, or it is a yes or a no) the one that shares most words with
    question and answers.
    """
    language = language_of(pair.language)
    named = () if all(map(is_yes_or_no, pair.answers)) else pair.answers
    asked = language.content_words(" ".join((pair.question, *named)))

    def likeness(sentence: str) -> tuple[bool, int]:
        holds = any(language.contains(sentence, answer) for answer in named)
        return holds, len(asked & language.content_words(sentence))

    sentences = [
        (sentence.rpartition("\n")[2], _opening(document.text))
        for document in pair.documents
        for sentence in language.sentences(document.text)
    ]
    return max(sentences, key=lambda sentence: likeness(sentence[0]))


def _opening(text: str) -> str:
    return text.lstrip().partition("\n")[0][:80]


def _candidates(pair: Pair, texts: Sequence[str], ctx: Context[LVEvalSettings, Pools]) -> tuple[Alternatives, ...]:
    pool = ctx.prepared.of(pair.dataset)
    return pool.candidates(pair, texts, ctx.random(pair.key))


def both(confusion: Confusion, prepared: object) -> Sequence[Slot]:
    """A record for each of the two facts, so that people decide on each."""
    return [{"changes": change} for change in CHANGES]


async def part(confusion: Confusion, slot: Slot, ctx: Context) -> ConfusingFact:
    """One of the two facts; a drop where it is no confusing fact."""
    change: Changed = "subject" if slot["changes"] == "subject" else "object"
    at = CHANGES.index(change)
    if confusion.refused[at]:
        raise Drop(confusion.refused[at], confusion.facts[at])
    return ConfusingFact(
        key=ctx.key,
        pair_id=confusion.pair_id,
        dataset=confusion.dataset,
        question=confusion.question,
        answers=confusion.answers,
        original_fact=confusion.original_fact,
        changes=change,
        fact=confusion.facts[at],
        language=confusion.language,
        provenance=ctx.provenance(confusion),
    )


# ---- keyword and phrase replacement (section 3.2.3) ----


def where_replaced(pair: Pair, prepared: Pools) -> Sequence[Slot]:
    """The pairs of datasets that have replacement rules (table 2)."""
    return [{}] if BY_NAME[pair.dataset].replacements else []


async def propose_rules(pair: Pair, slot: Slot, ctx: Context[LVEvalSettings, Pools]) -> Replacements:
    """Section 3.2.3: keywords or phrases to be replaced, each with its substitute.

    Departure: the builder proposes what the paper's annotators write; they revise it. A rule of the last answer that
    cannot be applied is left out; the others stay.
    """
    excerpts = _excerpts(pair)
    lost: tuple[Conflict, ...] = ()
    if pair.written is not None:
        rules = pair.written.replacements
    else:
        asked = ToRename(
            question=pair.question,
            answers=pair.answers,
            sentences=excerpts,
            documents=tuple(document.text for document in pair.documents),
            language=pair.language,
            most=MOST_RULES,
            candidates=_candidates(pair, excerpts, ctx),
        )
        try:
            rules = (await ctx.ask(REPLACEMENT_RULES, asked)).rules
        except InvalidAnswer as refused:
            rules, lost = naming.sift(asked, rules_in(refused.answer))
            if not naming.touches(asked, rules):
                raise
            ctx.note_asked(REPLACEMENT_RULES)
        if not rules:
            raise Drop("no name to be replaced", pair.question)
    olds = [rule.old for rule in rules]
    return Replacements(
        key=ctx.key,
        pair_id=pair.id,
        dataset=pair.dataset,
        question=pair.question,
        answers=pair.answers,
        excerpts=tuple(one for one in excerpts if occurs(one, olds, pair.language)),
        rules=rules,
        lost=lost,
        language=pair.language,
        provenance=ctx.provenance(pair),
    )


def _excerpts(pair: Pair) -> tuple[str, ...]:
    """The sentences that share most words with question and answers, in their order."""
    language = language_of(pair.language)
    asked = language.content_words(" ".join((pair.question, *pair.answers)))
    sentences = [sentence for document in pair.documents for sentence in _sure_sentences(document.text, pair.language)]
    ranked = sorted(range(len(sentences)), key=lambda at: (-len(asked & language.content_words(sentences[at])), at))
    return tuple(sentences[at] for at in sorted(ranked[:EXCERPTS]))


def _sure_sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, cut where nothing speaks against it: not within "Who's Afraid of Virginia Woolf? "."""
    ends = [0, *boundaries(text, language), len(text)]
    return [sentence for start, end in pairwise(ends) if (sentence := text[start:end].strip())]


async def find_conflicts(rules: Replacements, ctx: Context[LVEvalSettings, Shelves]) -> RuleConflicts:
    """Section 3.2.3: what goes wrong where the rules are applied, for people to revise them by.

    A rule that is lost because another is names that one.
    """
    shelves = ctx.prepared
    shelf = shelves.shelf(rules.dataset)
    pair = next(pair for pair in shelf.pairs if pair.id == rules.pair_id)
    return RuleConflicts(
        key=ctx.key,
        pair_id=rules.pair_id,
        dataset=rules.dataset,
        question=rules.question,
        answers=rules.answers,
        rules=rules.rules,
        conflicts=conflicts(rules.rules, pair, shelf.facts_of(pair), shelf.library),
        language=rules.language,
        provenance=ctx.provenance(rules),
    )


# ---- answer keywords (section 3.3) ----


def where_marked(pair: Pair, prepared: object) -> Sequence[Slot]:
    """The pairs of datasets whose answers have keywords (table 2)."""
    return [{}] if BY_NAME[pair.dataset].keywords else []


async def mark_keywords(pair: Pair, slot: Slot, ctx: Context) -> AnswerKeywords:
    """Section 3.3: the words of the answer that a right prediction has to hold.

    Departure: the builder proposes what the paper's annotators mark; they revise it.
    """
    if pair.written is not None:
        keywords = pair.written.keywords
    elif not naming.marks(pair.language, pair.answers[0]):
        raise Drop("no word of the answer counts in the score", pair.answers[0])
    else:
        asked = ToMark(question=pair.question, answer=pair.answers[0], language=pair.language)
        keywords = (await ctx.ask(ANSWER_KEYWORDS, asked)).keywords
    return AnswerKeywords(
        key=ctx.key,
        pair_id=pair.id,
        dataset=pair.dataset,
        question=pair.question,
        answer=pair.answers[0],
        keywords=keywords,
        language=pair.language,
        provenance=ctx.provenance(pair),
    )
