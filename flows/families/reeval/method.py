"""ReEval: test cases whose evidence was perturbed, by swapping the answer or by enriching the context.

Yu et al., "ReEval: Automatic Hallucination Evaluation for Retrieval-Augmented Large Language Models via
Transferable Adversarial Attacks", 2024: section 3 (the method), 4.1 (the filters), tables 8 and 9 (the prompts).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flows.construct.engine import Context, Drop, StepContext
from flows.construct.entailment import Judge
from flows.construct.refresh import drawn_before
from flows.families.reeval import prompts
from flows.families.reeval.checks.alternative import alternative_problem
from flows.families.reeval.checks.passage import most_condensed, says_the_same
from flows.families.reeval.checks.sentence import is_asked_about, may_lean, sentence_before, short_name
from flows.families.reeval.checks.swap import answer_position, compare, restored, swap_problem
from flows.families.reeval.inference import STYLES, answering
from flows.families.reeval.passages import PASSAGES, Collection, Drawn, Expansion, collect
from flows.families.reeval.scored_reply import premise_and_hypothesis
from flows.families.reeval.settings import ReEvalSettings, entailment_model
from flows.language import CannotReplace, language_of
from flows.language.explained import explanation, only_within_names
from flows.language.other_names import names_of
from flows.language.pointing import leans_on_what_is_asked, points_outside, unlinked
from flows.language.quotes import stretch_of
from flows.llm.model import InvalidAnswer
from flows.scoring.qa import exact_match
from schemas.base import content_hash
from schemas.reeval import Case, EnrichedCase, SwapCase
from schemas.source import Passage

MOST_MERGES = 2
"""How often two texts are merged: once more if a reader objects to the first result."""

# ---- seed case selection (section 3) ----


def judge(step: StepContext[ReEvalSettings]) -> Judge | None:
    """The judge of the pivot's answers; None if exact match decides, or nothing is asked."""
    settings = step.settings
    judged = settings.seeds == "pivot" and settings.right != "em"
    return Judge(entailment_model(settings.entailment)) if judged else None


async def select_seed(case: Case, ctx: Context[ReEvalSettings, Judge | None]) -> Case:
    """Section 3: the pivot answers correctly with the evidence, zero-shot."""
    return await _selected(case, ctx, case.evidence, wanted=True, refusal="pivot is wrong with the evidence")


async def select_unknown(case: Case, ctx: Context[ReEvalSettings, Judge | None]) -> Case:
    """Section 3.2: for category 2, only questions that the pivot does not answer correctly without the evidence."""
    return await _selected(case, ctx, None, wanted=False, refusal="pivot is right without the evidence")


async def _selected(
    case: Case, ctx: Context[ReEvalSettings, Judge | None], evidence: str | None, *, wanted: bool, refusal: str
) -> Case:
    if ctx.settings.seeds == "all":
        return case
    asked = answering(case.question, evidence, case.language)
    output = (await ctx.ask(STYLES[ctx.settings.style], asked, model=case.pivot)).text
    if await _is_right(case, output, ctx) != wanted:
        raise Drop(refusal, evidence=f"{case.question} {output}")
    return case.revised(provenance=ctx.asked_of(case.provenance))


async def _is_right(case: Case, output: str, ctx: Context[ReEvalSettings, Judge | None]) -> bool:
    """Section 4.1, "Generated Data": by exact match, or if "question + output" entails "question + answer"."""
    rule = ctx.settings.right
    matches = exact_match(output, [case.answer, *case.aliases], case.language) == 1
    if rule == "em" or (rule == "either" and matches):
        return matches
    assert ctx.prepared is not None
    return await ctx.prepared.entails(premise_and_hypothesis(case.question, output, case.answer))


# ---- category 1: answer swapping (section 3.1) ----


@dataclass(frozen=True)
class OtherAnswers:
    """The answers of other cases and of other releases."""

    counted: Mapping[tuple[str, str], Mapping[str, int]]
    """By kind, the numbers and dates that all cases ask for, sorted, each with the release with which it came.

    The rules choose from them, and see no other case.
    """
    before: Mapping[str, tuple[str, ...]]
    """By key, the alternatives of a case in the releases before, the last one last, if it is drawn anew."""


def other_answers(step: StepContext[ReEvalSettings, Case]) -> OtherAnswers:
    """Collect the numbers and dates that the cases ask for, and the alternatives that they had before."""
    by_kind: dict[tuple[str, str], dict[str, int]] = {}
    for case in step.inputs:
        kind = _kind_of(case)
        if kind[1].startswith(("number:", "date:")):
            came, known = step.arrival(case), by_kind.setdefault(kind, {})
            known[case.answer] = min(came, known.get(case.answer, came))
    counted = {kind: dict(sorted(answers.items())) for kind, answers in by_kind.items()}
    return OtherAnswers(counted, drawn_before(step, SwapCase, lambda case: case.answer))


def _kind_of(case: Case) -> tuple[str, str]:
    """The kind of answers that may replace each other; Chinese answers of different sources may differ in script."""
    among = case.language if case.language == "en" else f"{case.language} {case.source}"
    return among, language_of(case.language).kind(case.answer, case.question)


async def swap_answer(case: Case, ctx: Context[ReEvalSettings, OtherAnswers]) -> SwapCase:
    """Section 3.1 and table 8: another answer, and the evidence rewritten so that it supports that answer.

    Departures: the paper swaps every answer. If the passage explains the answer's name, or has it only inside other
    names, no other fits, and nothing is asked; otherwise the pivot may say that none fits. The paper takes the
    model's rewrite as it is; ours must pass `swap_problem`: if a rewrite fails, the model is asked again, then the
    answer's mentions are replaced one by one, which must pass the same checks. A case that is drawn anew for a version
    gets an alternative that no version before had; if there is no other, it keeps its last one.
    """
    names = names_of(case.language, case.answer, case.aliases, case.evidence)
    if (explained := explanation(case.language, case.evidence, case.answer, names)) is not None:
        raise Drop("passage explains the answer's name", evidence=explained)
    if (longer := only_within_names(case.language, case.question, case.evidence, case.answer, names)) is not None:
        raise Drop("answer stands within other names alone", evidence=f"{case.answer}: {longer}")
    before = ctx.prepared.before.get(ctx.key, ())
    try:
        return await _swapped(case, names, await _alternative_answer(case, before, ctx), ctx)
    except (Drop, InvalidAnswer):
        if not before or alternative_problem(case, before[-1]) is not None:
            raise
    ctx.note_asked(prompts.ALTERNATIVE_ANSWER, model=case.pivot)
    return await _swapped(case, names, before[-1], ctx)


async def _swapped(case: Case, names: tuple[str, ...], alternative: str, ctx: Context) -> SwapCase:
    evidence, notes = await _replaced(case, names, alternative, ctx)
    compared = compare(case.language, case.evidence, case.answer, names, evidence)
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
        answer_position=answer_position(case.language, evidence, alternative),
        language=case.language,
        pivot=case.pivot,
        source=case.source,
        provenance=ctx.provenance(case, notes=notes),
    )


async def _alternative_answer(
    case: Case, before: tuple[str, ...], ctx: Context[ReEvalSettings, OtherAnswers]
) -> str:  # fmt: skip
    """Table 8, "Alternative answer generation"; none of those that the case had `before`."""
    release, answers = ctx.step.arrival(case), ctx.prepared.counted.get(_kind_of(case), {})
    draw = [] if ctx.step.draw is None else [ctx.step.draw]
    asked = prompts.ToAlter(
        question=case.question,
        answer=case.answer,
        aliases=case.aliases,
        evidence=case.evidence,
        title=case.title,
        language=case.language,
        others=tuple(answer for answer, came in answers.items() if came <= release),
        before=before,
        seed=content_hash(ctx.step.seed, ctx.step_name, case.key, *draw),
    )
    alternative = (await ctx.ask(prompts.ALTERNATIVE_ANSWER, asked, model=case.pivot, draw=len(before))).answer
    if not alternative:
        raise Drop("no other answer fits the passage", evidence=f"{case.answer} ({case.question})")
    return alternative


async def _replaced(case: Case, names: tuple[str, ...], alternative: str, ctx: Context) -> tuple[str, Sequence[str]]:
    """Table 8, the evidence with the alternative in place of the answer, and notes for the provenance."""
    asked = prompts.ToReplace(
        answer=case.answer, aliases=names, alternative=alternative, evidence=case.evidence, language=case.language
    )
    try:
        rewritten = (await ctx.ask(prompts.REPLACE_ANSWER, asked, model=case.pivot)).evidence
    except InvalidAnswer as invalid:
        evidence = _span_replaced(case, names, alternative, invalid)
        return evidence, ["the answer was replaced span by span: no rewrite passed the checks"]
    return restored(case.evidence, rewritten), []


def _span_replaced(case: Case, names: tuple[str, ...], alternative: str, invalid: InvalidAnswer) -> str:
    try:
        evidence = language_of(case.language).replace(case.evidence, case.answer, alternative, names).text
    except CannotReplace as error:
        raise Drop(invalid.reason, evidence=f"{invalid.evidence} ({error})") from error
    problem = swap_problem(case.language, case.evidence, case.answer, names, alternative, evidence)
    if problem is not None:
        raise Drop(problem[0], evidence=f"{case.answer} -> {alternative}: {problem[1]}")
    return evidence


# ---- category 2: context enriching (section 3.2) ----


def retrieve(step: StepContext[ReEvalSettings, Case]) -> Collection:
    """Section 3.2: ranks the collection's passages for every case, question-focused and evidence-focused.

    Departures: English passages are ranked by the configured embedder (the packaged all-MiniLM-L6-v2
    unless another is named; the paper's is all-mpnet-base-v2), Chinese ones by BM25; the collection is
    what is configured and the sources' own passages; the paper has all of Wikipedia.
    """
    return collect(step.inputs, step.used("passages", Passage), step.embedder, step.arrival)


async def enrich(case: Case, ctx: Context[ReEvalSettings, Collection]) -> EnrichedCase:
    """Section 3.2 and table 9: the supporting sentence among passages of other pages on the matter.

    Departures: the paper lets both expansions have the same passages, which seldom happens with all of Wikipedia; ours
    share one (`passages.MOST_SHARED`) if the collection has others, and have the sentence at different places. Both
    expansions must succeed, and say different things.
    """
    sentence = await _supporting_sentence(case, ctx)
    resolved = await _resolved(case, sentence, ctx)
    place = ctx.random(case.key).random()
    question = await _expanded(case, resolved, "question", place, (), ctx)
    evidence = await _expanded(case, resolved, "evidence", (place + 1 / 2) % 1, question.drawn.ids, ctx)
    if says_the_same(question.evidence, evidence.evidence):
        raise Drop("both expansions say the same", evidence=evidence.evidence)
    return EnrichedCase(
        key=ctx.key,
        question=case.question,
        answer=case.answer,
        aliases=case.aliases,
        title=case.title,
        original_evidence=case.evidence,
        supporting_sentence=sentence,
        supporting_sentence_resolved=resolved,
        evidence_question_focused=question.evidence,
        evidence_evidence_focused=evidence.evidence,
        passages_question_focused=question.drawn.passages,
        passages_evidence_focused=evidence.drawn.passages,
        language=case.language,
        pivot=case.pivot,
        source=case.source,
        provenance=ctx.provenance(
            case,
            sources=[*question.drawn.sources, *evidence.drawn.sources],
            notes=[*question.notes, *evidence.notes],
        ),
    )


async def _supporting_sentence(case: Case, ctx: Context) -> str:
    """Table 9, the sentence of the evidence that supports the answer, verbatim."""
    asked = prompts.ToSelect(question=case.question, answer=case.answer, evidence=case.evidence, language=case.language)
    quoted = (await ctx.ask(prompts.SELECT_SENTENCE, asked, model=case.pivot)).sentence
    if not quoted.strip():
        raise Drop("no single sentence supports the answer", evidence=f"{case.question} {case.answer}")
    return stretch_of(case.evidence, quoted) or quoted


async def _resolved(case: Case, sentence: str, ctx: Context) -> str:
    """The sentence in a form that makes sense alone.

    Departure: the paper leaves "proper decontextualization" to the model that selects the sentence; ours has a prompt
    for it. Words that tie the sentence to the one before it ("For example,") are taken off first. The first
    sentence of the evidence has none before it: it is asked about only if a word of it may need one. Any other may
    mention things that the sentences before it introduce, without a word that shows it.
    """
    before = sentence_before(case.language, case.evidence, sentence)
    sentence = unlinked(case.language, sentence)
    vague = leans_on_what_is_asked(case.language, case.question, case.answer, sentence, case.title)
    short = short_name(case.language, sentence, case.title)
    if not (before or vague or short or may_lean(case.language, sentence)):
        return sentence
    leaning = points_outside(case.language, sentence)
    if leaning is not None and is_asked_about(case.language, case.question, leaning, case.title):
        leaning = None
    asked = prompts.ToResolve(
        question=case.question,
        sentence=sentence,
        leaning=leaning,
        before=before,
        evidence=case.evidence,
        title=case.title,
        answer=case.answer,
        language=case.language,
    )
    return (await ctx.ask(prompts.RESOLVE_SENTENCE, asked, model=case.pivot)).sentence


@dataclass(frozen=True)
class Expanded:
    """One expansion of a case."""

    evidence: str
    drawn: Drawn
    notes: Sequence[str]


async def _expanded(
    case: Case,
    resolved: str,
    expansion: Expansion,
    place: float,
    others: Sequence[str],
    ctx: Context[ReEvalSettings, Collection],
) -> Expanded:
    """Section 3.2: three passages condensed, and the supporting sentence merged with them near `place`.

    Departures: passages that would bring another answer, name nothing that the question or the sentence is about, or
    are too far from question and evidence, are skipped: the paper retrieves from all of Wikipedia, but a
    configured collection offers another mountain if it has nothing on the mountain in question. The condensed text
    has at most half of the passages' length. The paper's pivot condenses and merges whatever it is given, without
    the question; ours sees the question, to leave out what would give another answer, and says so if the
    passages do not make one text, or the sentence cannot stand in it.
    """
    drawn = ctx.prepared.draw(case, resolved, expansion, others)
    if len(drawn.passages) < PASSAGES:
        short = f"{expansion}-focused: {len(drawn.passages)} of {PASSAGES}; {drawn.far} are on another matter"
        raise Drop(f"fewer than {PASSAGES} passages on the matter", short)
    texts = tuple(passage.text for passage in drawn.passages)
    most = most_condensed(case.language, texts)
    condensing = prompts.ToCondense(
        question=case.question,
        answer=case.answer,
        passages=texts,
        titles=tuple(passage.title for passage in drawn.passages),
        most=most,
        language=case.language,
    )
    try:
        condensed = (await ctx.ask(prompts.CONDENSE, condensing, model=case.pivot)).text
        if not condensed.strip():
            raise Drop("passages do not make one text", f"{expansion}-focused, of {drawn.pages}")
        merging = prompts.ToMerge(
            question=case.question,
            sentence=resolved,
            condensed=condensed,
            passages=texts,
            answer=case.answer,
            place=place,
            language=case.language,
            most=most + language_of(case.language).count(resolved),
            evidence=case.evidence,
        )
        evidence = await _merged(merging, expansion, case.pivot, ctx)
    except InvalidAnswer as invalid:
        what = f"{expansion}-focused, of {drawn.pages}: {invalid.evidence}"
        raise Drop(invalid.reason, evidence=what) from invalid
    return Expanded(evidence, drawn, [f"{expansion}-focused: {doubt}" for doubt in drawn.doubts])


async def _merged(merging: prompts.ToMerge, expansion: Expansion, pivot: str, ctx: Context) -> str:
    """Table 9, the sentence and the condensed text in one passage, to which no reader objects who sees it alone.

    Departure: the paper keeps the merged text unread, and people judge a sample of it. Here the builder model
    reads it, and the pivot merges once more with its objections: of a strong pivot's texts a quarter spoke of things
    they had not introduced, or ran together what does not belong together, which no check of words can see.
    """
    history = ""
    for _ in range(MOST_MERGES):
        merged = (await ctx.ask(prompts.MERGE, merging, model=pivot)).text
        if not merged.strip():
            history = history or f"{merging.sentence} | {merging.condensed}"
            raise Drop("supporting sentence has no place in the text", f"{expansion}-focused: {history}")
        objections = (
            await ctx.ask(prompts.READ_PASSAGE, prompts.ToRead(passage=merged, language=merging.language))
        ).objections
        if not objections:
            return merged
        merging = merging.model_copy(update={"merged": merged, "objections": objections})
        listed = "; ".join(f"{objection.sentence} ({objection.reason})" for objection in objections)
        history = f"{listed} | {merged}"
    raise Drop("a reader objects to the merged text", f"{expansion}-focused: {history}")
