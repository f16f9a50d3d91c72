"""ReEval: test cases whose evidence was perturbed, by swapping the answer or by enriching the context.

Yu et al., "ReEval: Automatic Hallucination Evaluation for Retrieval-Augmented Large Language Models via
Transferable Adversarial Attacks", 2024: section 3 (the method), 4.1 (the filters), tables 8 and 9 (the prompts).
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.entailment import DEFAULT_MODEL, Entailment, Judge, premise_and_hypothesis
from flows.construct.records import Records
from flows.construct.settings import FamilySettings
from flows.families.reeval import checks, filters
from flows.families.reeval.alternatives import AnswerPool, pool_of
from flows.families.reeval.inference import STYLES, answering
from flows.families.reeval.passages import EXPANSIONS, Collection, collect
from flows.families.reeval.prompts import (
    ALTERNATIVE_ANSWER,
    CONDENSE,
    MERGE,
    READ_PASSAGE,
    REPLACE_ANSWER,
    RESOLVE_SENTENCE,
    SELECT_SENTENCE,
    ToAlter,
    ToCondense,
    ToMerge,
    ToRead,
    ToReplace,
    ToResolve,
    ToSelect,
)
from flows.language import CannotReplace, language_of, names_of
from flows.language.explained import explanation, only_within_names
from flows.language.pointing import leans_on_what_is_asked, points_outside, unlinked
from flows.language.quotes import stretch_of
from flows.llm.model import InvalidAnswer, Model
from flows.llm.rules import Rules
from flows.scoring.qa import exact_match
from schemas.base import SourceRef, content_hash
from schemas.errors import WrongInput
from schemas.reeval import Case, EnrichedCase, PassageRef, SwapCase
from schemas.source import Passage, QASource

PAGE_SHOWN = 40
"""Characters of a passage without a title by which a drop names it."""
PASSAGES = 3  # section 3.2, "Condense the three passages into one passage"
MOST_MERGES = 2
"""How often two texts are merged: once more where a reader objects to what came of them."""
MATRIX_SEEDS = 500  # section 4.4, "we randomly sample 500 examples"
SHOTS: tuple[Literal[0, 5], ...] = (0, 5)  # section 4.1, "5 static demonstration examples are used"

Name = Annotated[str, Field(min_length=1)]


class ReEvalSettings(FamilySettings):
    """ReEval's block of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Extractive question answering data")
    passages: tuple[SourceSpec, ...] = Field(
        (), description="Passages to enrich evidence with; the sources' own are among them anyway"
    )
    seeds: Literal["pivot", "all"] = Field("pivot", description="`all`: every case, whether the pivot knows it or not")
    pivots: tuple[Name, ...] = Field(
        ("pivot",), min_length=1, description="Roles or models that select the seeds and perturb them"
    )
    right: Literal["em", "entailment", "either"] = Field(
        "either", description="When the pivot's answer is right: exact match, entailment, or one of them (section 4.1)"
    )
    entailment: str = Field(DEFAULT_MODEL, min_length=1, description="A cross-encoder by name or path, or `off`")
    style: Literal["chat", "alpaca", "palm", "claude"] = Field(
        "chat", description="Model style of the inference prompts (tables 10 to 12)"
    )
    prompting: tuple[Literal["open-book", "faithful"], ...] = Field(
        ("open-book", "faithful"), min_length=1, description="How `touchstone evaluate` asks (tables 11 and 12)"
    )
    shots: tuple[Literal[0, 5], ...] = Field(SHOTS, min_length=1, description="Demonstrations before the question")
    matrix_seeds: int = Field(MATRIX_SEEDS, ge=1, description="Seeds of the matrix of pivots and models")

    @field_validator("pivots", "prompting", "shots")
    @classmethod
    def _each_once(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each stands once")
        return value

    @field_validator("entailment", mode="before")
    @classmethod
    def _yaml_reads_off_as_false(cls, value: object) -> object:
        return "off" if value is False else value


def ready(settings: ReEvalSettings, models: Mapping[str, Model]) -> None:
    """Raise `WrongInput` where the pivot cannot select the seeds, or a source is in no language of ours."""
    if not settings.sources:
        raise WrongInput("families.reeval.sources: is empty; name question answering data to perturb")
    for spec in (*settings.sources, *settings.passages):
        if spec.language not in filters.LANGUAGES:
            raise WrongInput(
                f"families.reeval: {spec.name}: language {spec.language}: ReEval reads "
                f"{' and '.join(filters.LANGUAGES)}; correct the source's language, or leave it out"
            )
    if settings.seeds == "all":
        return
    for pivot in settings.pivots:
        if isinstance(models[pivot], Rules):
            raise WrongInput(
                "families.reeval.seeds: the rules model does not answer questions; write `seeds: all`, or name an "
                f"endpoint for the role {pivot} (models.{pivot})"
            )
    if settings.right == "em":
        return
    if settings.entailment == "off":
        raise WrongInput(
            f"families.reeval.right: {settings.right} needs an entailment model, which is off; write `right: em`, or "
            "name one under entailment"
        )
    entailment_model(settings.entailment).load()


@cache
def entailment_model(name: str) -> Entailment:
    """The entailment model of that name, one for all shards."""
    return Entailment(name)


# ---- source data (section 4.1) ----


def for_each_pivot(source: QASource, pivots: Sequence[str]) -> Sequence[Slot]:
    """A case of each source row for each pivot."""
    return [{"pivot": pivot} for pivot in pivots]


def pivots_of(step: StepContext[ReEvalSettings]) -> Sequence[str]:
    """The configured pivots."""
    return step.settings.pivots


async def filter_source(source: QASource, slot: Slot, ctx: Context) -> Case:
    """Section 4.1, 2 and 3, and several answers: cases with a short answer and an evidence to find it in.

    Departures: the paper's limits are in words; for Chinese they are in characters (`filters`). What the
    paper's data do not have is refused as well: no answer, an answer that is not in the evidence, offsets
    that do not match. HTML is taken out of the evidence, and the provenance says so.
    """
    filtered = filters.filtered(source, ctx.random(source.key))
    return Case(
        key=ctx.key,
        question=filtered.question,
        answer=filtered.answer,
        aliases=filtered.aliases,
        evidence=filtered.evidence,
        title=source.title,
        language=source.language,
        pivot=str(slot["pivot"]),
        source=f"{source.format}:{source.source.source}",
        provenance=ctx.provenance(source, sources=[source.source], notes=filtered.notes),
    )


async def drop_duplicates(cases: Records[Case], ctx: SetContext[ReEvalSettings]) -> AsyncIterator[Case]:
    """Section 4.1, 1: one instance of each question, evidence and answer, whichever sources they are of.

    Taken last, when the answer is settled: two sources may give a question different answers beside it.
    """
    seen: dict[str, str] = {}
    for case in cases:
        same = content_hash(
            *(" ".join(text.split()) for text in (case.question, case.evidence, case.answer, case.pivot))
        )
        if same in seen:
            ctx.drop(case, Drop("duplicate question, evidence and answer", case.question, related_id=seen[same]))
        else:
            seen[same] = case.id
            yield case


# ---- seed case selection (section 3) ----


@dataclass(frozen=True)
class Grader:
    """Tells whether the pivot's answer is right (section 4.1, "Generated Data")."""

    rule: Literal["em", "entailment", "either"]
    judge: Judge | None

    async def right(self, case: Case, output: str) -> bool:
        """By exact match, or where "question + output" entails "question + answer"."""
        matches = exact_match(output, [case.answer, *case.aliases], case.language) == 1
        if self.rule == "em" or (self.rule == "either" and matches):
            return matches
        assert self.judge is not None
        return await self.judge.entails(premise_and_hypothesis(case.question, output, case.answer))


def grader(step: StepContext[ReEvalSettings]) -> Grader | None:
    """What seed selection grades with; None where it does not select."""
    settings = step.settings
    if settings.seeds == "all":
        return None
    return Grader(settings.right, None if settings.right == "em" else Judge(entailment_model(settings.entailment)))


async def select_seed(case: Case, ctx: Context[ReEvalSettings, Grader | None]) -> Case:
    """Section 3: the pivot answers rightly with the evidence before it, zero-shot."""
    return await _selected(case, ctx, case.evidence, wanted=True, refusal="pivot is wrong with the evidence")


async def select_unknown(case: Case, ctx: Context[ReEvalSettings, Grader | None]) -> Case:
    """Section 3.2: of category 2, only what the pivot does not answer rightly without the evidence."""
    return await _selected(case, ctx, None, wanted=False, refusal="pivot is right without the evidence")


async def _selected(
    case: Case, ctx: Context[ReEvalSettings, Grader | None], evidence: str | None, *, wanted: bool, refusal: str
) -> Case:
    if ctx.prepared is None:
        return case
    graded = ctx.prepared
    settings = ctx.settings
    asked = answering(case.question, evidence, case.language)
    output = (await ctx.ask(STYLES[settings.style], asked, model=case.pivot)).text
    if await graded.right(case, output) != wanted:
        raise Drop(refusal, evidence=f"{case.question} {output}")
    return case.revised(provenance=ctx.asked_of(case.provenance))


# ---- category 1: answer swapping (section 3.1) ----


def pool_answers(step: StepContext[ReEvalSettings, Case]) -> AnswerPool:
    """The numbers and dates that the cases ask for, for the rules to take alternatives from."""
    return pool_of(list(step.inputs))


async def swap_answer(case: Case, ctx: Context[ReEvalSettings, AnswerPool]) -> SwapCase:
    """Section 3.1 and table 8: another answer, and the evidence rewritten so that it supports that one.

    Departures: the paper swaps every answer. Where the passage explains the answer's name, or has it within other
    names alone, no other fits, and nothing is asked; elsewhere the pivot may say that none does. The paper takes what
    the model rewrites as it comes; ours must pass `checks.swap_problem`: a rewrite that fails is asked again, then the
    answer's mentions are replaced one by one, which must pass the same checks.
    """
    pool = ctx.prepared
    names = names_of(case.language, case.answer, case.aliases, case.evidence)
    if (told := explanation(case.language, case.evidence, case.answer, names)) is not None:
        raise Drop("passage explains the answer's name", evidence=told)
    if (longer := only_within_names(case.language, case.question, case.evidence, case.answer, names)) is not None:
        raise Drop("answer stands within other names alone", evidence=f"{case.answer}: {longer}")
    asked = ToAlter(
        question=case.question,
        answer=case.answer,
        aliases=case.aliases,
        evidence=case.evidence,
        language=case.language,
        candidates=pool.candidates(case, ctx.random(case.key)),
    )
    alternative = (await ctx.ask(ALTERNATIVE_ANSWER, asked, model=case.pivot)).answer
    if not alternative:
        raise Drop("no other answer fits the passage", evidence=f"{case.answer} ({case.question})")
    rewriting = ToReplace(
        answer=case.answer, aliases=names, alternative=alternative, evidence=case.evidence,
        language=case.language,
    )  # fmt: skip
    notes = []
    try:
        rewritten = (await ctx.ask(REPLACE_ANSWER, rewriting, model=case.pivot)).evidence
        evidence = checks.restored(case.evidence, rewritten)
    except InvalidAnswer as invalid:
        evidence = _span_replaced(case, names, alternative, invalid)
        notes = ["the answer was replaced span by span: no rewrite passed the checks"]
    compared = checks.compare(case.language, case.evidence, case.answer, names, evidence)
    return SwapCase(
        key=ctx.key,
        question=case.question,
        answer=alternative,
        original_answer=case.answer,
        aliases=case.aliases,
        evidence=evidence,
        original_evidence=case.evidence,
        replacements=compared.replacements,
        agreement=compared.agreement,
        answer_position=checks.answer_position(case.language, evidence, alternative),
        language=case.language,
        pivot=case.pivot,
        source=case.source,
        provenance=ctx.provenance(case, notes=notes),
    )


def _span_replaced(case: Case, names: tuple[str, ...], alternative: str, invalid: InvalidAnswer) -> str:
    language = language_of(case.language)
    try:
        evidence = language.replace(case.evidence, case.answer, alternative, names).text
    except CannotReplace as error:
        raise Drop(invalid.reason, evidence=f"{invalid.evidence} ({error})") from error
    problem = checks.swap_problem(case.language, case.evidence, case.answer, names, alternative, evidence)
    if problem is not None:
        raise Drop(problem[0], evidence=f"{case.answer} -> {alternative}: {problem[1]}")
    return evidence


# ---- category 2: context enriching (section 3.2) ----


async def drop_duplicate_passages(
    passages: Records[Passage], ctx: SetContext[ReEvalSettings]
) -> AsyncIterator[Passage]:
    """One of each passage, whichever sources they are of; as long as an evidence may be, so headings are none."""
    seen: dict[str, str] = {}
    for passage in passages:
        if len(passage.text) > filters.MOST_EVIDENCE_CHARACTERS:
            refusal = f"passage over {filters.MOST_EVIDENCE_CHARACTERS} characters"
            ctx.drop(passage, Drop(refusal, passage.text[:200], value=float(len(passage.text))))
            continue
        readable = passage.language != "en" or ctx.step.embedder.reads(passage.text)
        if not readable or not filters.is_in(passage.language, passage.text):
            ctx.drop(passage, Drop("passage in another language than the source's", passage.text[:200]))
            continue
        limits, length = filters.LANGUAGES[passage.language], language_of(passage.language).count(passage.text)
        if not limits.least_evidence <= length <= limits.most_evidence:
            short = length < limits.least_evidence
            refusal = f"under {limits.least_evidence}" if short else f"over {limits.most_evidence}"
            ctx.drop(passage, Drop(f"passage {refusal} {limits.unit}", passage.text[:200], value=float(length)))
        elif seen.setdefault(passage.id, passage.key) != passage.key:
            ctx.drop(passage, Drop("duplicate passage", passage.text[:200], related_id=passage.id))
        else:
            yield passage


def retrieve(step: StepContext[ReEvalSettings, Case]) -> Collection:
    """Section 3.2: ranks the collection's passages for every case, question-focused and evidence-focused.

    Departures: English passages are ranked by the configured embedder (the packaged all-MiniLM-L6-v2
    unless another is named; the paper's is all-mpnet-base-v2), Chinese ones by BM25; the collection is
    what is configured and the sources' own passages, where the paper has all of Wikipedia.
    """
    return collect(list(step.inputs), step.used("passages", Passage), step.embedder)


async def enrich(case: Case, ctx: Context[ReEvalSettings, Collection]) -> EnrichedCase:
    """Section 3.2 and table 9: the supporting sentence among what other pages say on the matter.

    Departures: a sentence with words that may need the text before it is resolved by a prompt of its own
    (the paper leaves "proper decontextualization" to the model that selects it); passages that would bring another
    answer, name nothing that the question or the sentence is about, or are too far from the question and evidence, are
    passed over, whoever condenses them: the paper has all of Wikipedia to retrieve from, and what is configured offers
    another mountain where it has nothing on the one that is asked of; the condensed text has at most half of the
    passages' length.
    The paper's pivot condenses and merges whatever it is given, and without the question; ours sees the question, so as
    to leave out what would answer it otherwise, and says so where the passages do not make one text, or the sentence
    cannot stand in it.
    The paper lets both expansions have the same passages, which of all of Wikipedia they seldom do; ours share one
    (`MOST_SHARED`) where the collection has others, and have the sentence at different places.
    The paper keeps what was merged unread, and people judge a sample of it. Ours is read first by the builder model,
    which sees it alone (`_merged`): of a strong pivot's texts a quarter spoke of what they had not introduced, or ran
    together what does not belong together, which no check of words tells.
    Both expansions must succeed, and say different things.
    """
    collection = ctx.prepared
    quoted = (await ctx.ask(SELECT_SENTENCE, ToSelect.of(case), model=case.pivot)).sentence
    if not quoted.strip():
        raise Drop("no single sentence supports the answer", evidence=f"{case.question} {case.answer}")
    sentence = stretch_of(case.evidence, quoted) or quoted
    resolved = await _resolved(case, sentence, ctx)
    found: dict[str, tuple[PassageRef, ...]] = {}
    evidence: dict[str, str] = {}
    sources: list[SourceRef] = []
    notes: list[str] = []
    first = ctx.random(case.key).random()
    for number, expansion in enumerate(EXPANSIONS):
        drawn = collection.passages(case, resolved, expansion, PASSAGES, found.get("question", ()))
        if len(drawn.passages) < PASSAGES:
            short = f"{expansion}-focused: {len(drawn.passages)} of {PASSAGES}; {drawn.far} are on another matter"
            raise Drop(f"fewer than {PASSAGES} passages on the matter", short)
        texts = tuple(passage.text for passage in drawn.passages)
        titles = tuple(passage.title for passage in drawn.passages)
        most = checks.most_condensed(case.language, texts)
        condensing = ToCondense(
            question=case.question,
            answer=case.answer,
            passages=texts,
            titles=titles,
            most=most,
            language=case.language,
        )
        try:
            condensed = (await ctx.ask(CONDENSE, condensing, model=case.pivot)).text
            if not condensed.strip():
                raise Drop("passages do not make one text", f"{expansion}-focused, of {_listed(titles, texts)}")
            merging = ToMerge(
                question=case.question,
                sentence=resolved,
                condensed=condensed,
                passages=texts,
                answer=case.answer,
                place=(first + number / len(EXPANSIONS)) % 1,
                language=case.language,
                most=most + language_of(case.language).count(resolved),
                evidence=case.evidence,
            )
            evidence[expansion] = await _merged(merging, expansion, case.pivot, ctx)
        except InvalidAnswer as invalid:
            told = f"{expansion}-focused, of {_listed(titles, texts)}: {invalid.evidence}"
            raise Drop(invalid.reason, evidence=told) from invalid
        found[expansion] = drawn.passages
        sources += drawn.sources
        notes += [f"{expansion}-focused: {doubt}" for doubt in drawn.doubts]
    if checks.says_the_same(*evidence.values()):
        raise Drop("both expansions say the same", evidence=evidence["evidence"])
    return EnrichedCase(
        key=ctx.key,
        question=case.question,
        answer=case.answer,
        aliases=case.aliases,
        title=case.title,
        original_evidence=case.evidence,
        supporting_sentence=sentence,
        supporting_sentence_resolved=resolved,
        evidence_question_focused=evidence["question"],
        evidence_evidence_focused=evidence["evidence"],
        passages_question_focused=found["question"],
        passages_evidence_focused=found["evidence"],
        language=case.language,
        pivot=case.pivot,
        source=case.source,
        provenance=ctx.provenance(case, sources=sources, notes=notes),
    )


async def _merged(merging: ToMerge, expansion: str, pivot: str, ctx: Context) -> str:
    """The sentence and the condensed text in one passage, to which nobody objects who sees it alone.

    What a reader objects to is shown to the pivot, which merges once more.
    """
    told = ""
    for _ in range(MOST_MERGES):
        merged = (await ctx.ask(MERGE, merging, model=pivot)).text
        if not merged.strip():
            told = told or f"{merging.sentence} | {merging.condensed}"
            raise Drop("supporting sentence has no place in the text", f"{expansion}-focused: {told}")
        objections = (await ctx.ask(READ_PASSAGE, ToRead(passage=merged, language=merging.language))).objections
        if not objections:
            return merged
        merging = merging.model_copy(update={"merged": merged, "objections": objections})
        told = f"{'; '.join(f'{one.sentence} ({one.reason})' for one in objections)} | {merged}"
    raise Drop("a reader objects to the merged text", f"{expansion}-focused: {told}")


def _listed(titles: Sequence[str | None], texts: Sequence[str]) -> str:
    """Passages by their titles, or else their beginnings."""
    return "; ".join(title or text[:PAGE_SHOWN] for title, text in zip(titles, texts, strict=True))


async def _resolved(case: Case, sentence: str, ctx: Context) -> str:
    """The sentence, understood on its own.

    What ties it to the sentence before it ("For example,") is taken off first. The first sentence of the evidence leans
    on none before it: it is asked about only where a word of it may. Any other may speak of what the sentences before
    it introduce, without a word that shows it.
    """
    before = checks.before(case.language, case.evidence, sentence)
    sentence = unlinked(case.language, sentence)
    vague = leans_on_what_is_asked(case.language, case.question, case.answer, sentence, case.title)
    short = checks.short_name(case.language, sentence, case.title)
    if not (before or vague or short or checks.may_lean(case.language, sentence)):
        return sentence
    leaning = points_outside(case.language, sentence)
    if leaning is not None and checks.is_asked_about(case.language, case.question, leaning, case.title):
        leaning = None
    asked = ToResolve(
        question=case.question,
        sentence=sentence,
        leaning=leaning,
        before=before,
        evidence=case.evidence,
        title=case.title,
        answer=case.answer,
        language=case.language,
    )
    return (await ctx.ask(RESOLVE_SENTENCE, asked, model=case.pivot)).sentence
