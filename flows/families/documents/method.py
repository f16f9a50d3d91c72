"""Questions whose answers stand in documents: asked, checked against their passage and the other ones, and chosen.

There is no paper. The order is: a question on a passage; whether people would ask it; whether a reader finds its answer
there; whether it is known without it; whether other passages give another answer, and contradict this one; and which of
the questions that are left to keep. Those with one answer are the pairs. Each passage that really contradicts a
question's own gives a conflict.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice

from flows.construct.engine import Context, Drop, Slot, StepContext
from flows.construct.retrieve import Retriever, retriever_for
from flows.families.documents import checks, prompts
from flows.families.documents.plan import Plan, document_of
from flows.families.documents.score import own_words
from flows.families.documents.settings import DocumentsSettings
from flows.language import language_of
from flows.llm.model import InvalidAnswer
from schemas.base import key_of
from schemas.documents import (
    BESIDE,
    DERIVED,
    ComparedQuestion,
    DocumentConflict,
    DocumentPair,
    DocumentStatement,
    OtherAnswer,
    Span,
)
from schemas.source import Passage, Place

KEPT_BY = "(families.documents.prescreen: [] keeps such questions)"
NOT_TOLD_APART = "one answer has all words of the other"
"""Why two answers make no conflict: no reply could be told to give one of them alone."""
LEAST_WORDS = {"en": 25, "zh": 40}
"""Words of a passage, or characters in Chinese, below which it is a heading with little under it."""


async def choose_passage(passage: Passage, ctx: Context[DocumentsSettings]) -> Passage:
    """Drop a passage that holds too little to ask about."""
    words = language_of(passage.language).count(passage.text)
    if words < LEAST_WORDS[passage.language]:
        raise Drop("passage too short to ask about", evidence=passage.text, value=float(words))
    return passage


async def ask_question(passage: Passage, slot: Slot, ctx: Context[DocumentsSettings, Plan]) -> DocumentPair:
    """Ask the builder for a question of the planned kind, with its answer and the sentences that it rests on.

    Left to itself, a model asks for yes or no in the way that is easiest for it; half of the time we wish for either.
    """
    partner = ctx.prepared.partners[str(slot["with"])] if "with" in slot else None
    passages = (passage, partner) if partner is not None else (passage,)
    texts = tuple(one.text for one in passages)
    asked = prompts.ToAsk.model_validate(
        {
            "kind": slot["kind"],
            "passages": texts,
            "places": tuple(str(one.place) if one.place else one.title or one.source.source for one in passages),
            "title": passage.title,
            "language": passage.language,
            "wish": ctx.random(passage.key, "wish").choice(("yes", "no")),
        }
    )
    pair = await ctx.ask(prompts.ASK_PAIR, asked)
    if not pair.question:
        raise Drop("nothing of this kind to ask", evidence=f"{asked.kind}: {passage.text[:200]}")
    spans = checks.spans_of(texts, pair.evidence)
    assert spans is not None  # the prompt's check
    return DocumentPair(
        key=ctx.key,
        question=pair.question,
        answer=pair.answer,
        kind=asked.kind,
        evidence=checks.evidence_of(texts),
        sentences=tuple(spans),
        steps=pair.steps if asked.kind in DERIVED else (),
        title=passage.title,
        passages=tuple(one.key for one in passages),
        places=tuple(one.place for one in passages if one.place is not None),
        language=passage.language,
        provenance=ctx.provenance(*passages, sources=[one.source for one in passages]),
    )


async def judge_question(pair: DocumentPair, ctx: Context[DocumentsSettings]) -> DocumentPair:
    """Drop a question that people would not ask, or not in these words."""
    asked = prompts.ToJudge(
        question=pair.question,
        answer=pair.answer,
        passage=pair.evidence,
        title=pair.title,
        place=_place(pair),
        language=pair.language,
    )
    judgement = await ctx.ask(prompts.JUDGE_QUESTION, asked)
    if judgement.fault != "none":
        raise Drop(f"question {judgement.fault}", evidence=f"{pair.question} {judgement.why}")
    return pair.revised(provenance=ctx.asked_of(pair.provenance))


async def check_answer(pair: DocumentPair, ctx: Context[DocumentsSettings]) -> DocumentPair:
    """A reader who has not seen the answer finds the same one in the evidence."""
    reply = await _read(pair, pair.evidence, pair.title, _place(pair), ctx)
    if reply is None:
        raise Drop("a reader finds no answer in the passage", evidence=f"{pair.question} {pair.answer}")
    if not await _same(pair, reply, ctx):
        raise Drop("a reader answers otherwise", evidence=f"{pair.question} {pair.answer} / {reply}")
    return pair.revised(provenance=ctx.asked_of(pair.provenance))


async def prescreen(pair: DocumentPair, ctx: Context[DocumentsSettings]) -> DocumentPair:
    """Drop a question that a named model answers rightly without the passage."""
    for name in ctx.settings.prescreen:
        asked = prompts.ToRecall(question=pair.question, language=pair.language)
        reply = _answer_in((await ctx.ask(prompts.RECALL_ANSWER, asked, model=name)).text)
        if reply is not None and await _same(pair, reply, ctx):
            raise Drop(f"known to {name} without the passage {KEPT_BY}", evidence=f"{pair.question} {reply}")
    return pair.revised(provenance=ctx.asked_of(pair.provenance))


Rivals = Mapping[str, Sequence[Passage]]
"""By the key of a question, the nearest passages that are none of its own."""


def rivals(step: StepContext[DocumentsSettings, DocumentPair]) -> Rivals:
    """Find the passages nearest to each question, in its language."""
    return Nearest(step).to(list(step.inputs))


class Nearest:
    """The passages of the collection by their nearness to questions in their language."""

    def __init__(self, step: StepContext[DocumentsSettings]) -> None:
        self._embedder, self._most = step.embedder, step.settings.rivals
        self._passages: dict[str, list[Passage]] = defaultdict(list)
        for passage in step.used("passages", Passage) if self._most else ():
            if self._reads(passage.language, passage.text):
                self._passages[passage.language].append(passage)
        self._indexes: dict[str, Retriever] = {}

    def to(self, pairs: Sequence[DocumentPair]) -> Rivals:
        """Find the passages nearest to each question that are none of its own."""
        nearest: dict[str, Sequence[Passage]] = {}
        for language, there in sorted(self._passages.items()):
            asked = [pair for pair in pairs if pair.language == language and self._reads(language, pair.question)]
            if not asked:
                continue
            if language not in self._indexes:
                texts = [passage.text for passage in there]
                self._indexes[language] = retriever_for(language, texts, self._embedder)
            # Two more than wanted: the question's own passages are among the nearest.
            ranked = self._indexes[language].rank([pair.question for pair in asked], self._most + 2)
            for pair, places in zip(asked, ranked, strict=True):
                others = (there[place] for place in places.tolist() if place >= 0)
                nearest[pair.key] = list(islice((one for one in others if one.key not in pair.passages), self._most))
        return nearest

    def _reads(self, language: str, text: str) -> bool:
        return language == "zh" or self._embedder.reads(text)


async def compare_passages(pair: DocumentPair, ctx: Context[DocumentsSettings, Rivals]) -> ComparedQuestion:
    """Note the answers of the nearest passages that give another one, each with how the two stand to each other."""
    others = []
    for passage in ctx.prepared.get(pair.key, ()):
        reply = await _read(pair, passage.text, passage.title, str(passage.place or ""), ctx)
        if reply is not None and not await _same(pair, reply, ctx):
            others.append(await _weigh(pair, passage, reply, ctx))
    return ComparedQuestion.model_validate(
        {**dict(pair), "id": "", "others": tuple(others), "provenance": ctx.asked_of(pair.provenance)}
    )


async def _weigh(pair: DocumentPair, passage: Passage, told: str, ctx: Context) -> OtherAnswer:
    """Decide whether another passage that answers otherwise really contradicts the question's own."""
    if not all(own_words(pair.answer, told, pair.language)):
        return OtherAnswer(answer=told, passage=passage.key, weighed=None, why=NOT_TOLD_APART)
    asked = prompts.ToWeigh(
        question=pair.question,
        kind=pair.kind,
        language=pair.language,
        first=prompts.Told(answer=pair.answer, passage=pair.evidence, title=pair.title, place=_place(pair)),
        second=prompts.Told(answer=told, passage=passage.text, title=passage.title, place=str(passage.place or "")),
    )
    try:
        weighed = await ctx.ask(prompts.WEIGH_ANSWERS, asked)
    except InvalidAnswer as invalid:
        return OtherAnswer(answer=told, passage=passage.key, weighed=None, why=invalid.reason)
    contradicts = weighed.verdict == prompts.CONTRADICT
    return OtherAnswer(
        answer=weighed.answer if contradicts else told,
        passage=passage.key,
        weighed=weighed.verdict,
        why=weighed.why,
        evidence=weighed.evidence if contradicts else (),
    )


Passages = Mapping[str, Passage]
"""By key, the passages that answer otherwise."""


def others(step: StepContext[DocumentsSettings, ComparedQuestion]) -> Passages:
    """Find the passages that give another answer to a question."""
    wanted = {other.passage for question in step.inputs for other in question.others}
    return {passage.key: passage for passage in step.used("passages", Passage) if passage.key in wanted}


async def require_one_answer(question: ComparedQuestion, ctx: Context[DocumentsSettings, Passages]) -> DocumentPair:
    """Drop a question that another passage answers otherwise, unless both answers hold. The drop names the places."""
    if not question.has_one_answer:
        disputing = [other for other in question.others if other.weighed not in BESIDE]
        passages = [ctx.prepared[other.passage] for other in disputing]
        here = str(question.places[0]) if question.places else question.title or "here"
        there = (str(passage.place) if passage.place else document_of(passage) for passage in passages)
        told = (f"{place}: {other.answer}" for place, other in zip(there, disputing, strict=True))
        raise Drop(
            "another passage answers otherwise",
            evidence=f"{question.question} {here}: {question.answer}; {'; '.join(told)}",
            related_id=passages[0].id,
        )
    values = {name: getattr(question, name) for name in DocumentPair.model_fields}
    return DocumentPair.model_validate({**values, "id": "", "key": ctx.key, "provenance": ctx.provenance(question)})


def answered_otherwise(question: ComparedQuestion, prepared: Passages) -> Sequence[Slot]:
    """Return a slot for each passage that gives another answer to a question."""
    return [{"with": other.passage} for other in question.others]


async def require_contradiction(
    question: ComparedQuestion, slot: Slot, ctx: Context[DocumentsSettings, Passages]
) -> DocumentConflict:
    """Drop two answers that do not really contradict each other, or that no reply could be told apart by."""
    (other,) = (other for other in question.others if other.passage == slot["with"])
    passage = ctx.prepared[other.passage]
    if other.weighed != prompts.CONTRADICT:
        both = f"{question.question} {question.answer} / {other.answer}"
        if other.weighed is None:
            raise Drop(other.why, evidence=both, related_id=passage.id)
        raise Drop(f"passages {other.weighed}", evidence=f"{both} {other.why}", related_id=passage.id)
    spans = checks.spans_of([passage.text], other.evidence)
    assert spans is not None  # the prompt's check
    return DocumentConflict(
        key=ctx.key,
        question=question.question,
        kind=question.kind,
        first_answer=question.answer,
        first_evidence=question.evidence,
        first_sentences=question.sentences,
        first_title=question.title,
        second_answer=other.answer,
        second_evidence=passage.text,
        second_sentences=tuple(spans),
        second_title=passage.title,
        passages=(*question.passages, passage.key),
        places=(*question.places, *([passage.place] if passage.place is not None else [])),
        language=question.language,
        provenance=ctx.provenance(question, passage, sources=[passage.source]),
    )


def _place(pair: DocumentPair) -> str:
    return "; ".join(map(str, pair.places))


async def _read(pair: DocumentPair, passage: str, title: str | None, place: str, ctx: Context) -> str | None:
    """The checker's answer from a passage; None if it finds none."""
    asked = prompts.ToRead(question=pair.question, passage=passage, title=title, place=place, language=pair.language)
    return _answer_in((await ctx.ask(prompts.READ_ANSWER, asked)).text)


def _answer_in(reply: str) -> str | None:
    text = reply.strip()
    nothing = any(words in text.upper() for words in (prompts.NOT_THERE, prompts.NOT_KNOWN))
    return None if nothing or not text else text


async def _same(pair: DocumentPair, reply: str, ctx: Context) -> bool:
    """Return whether a reply says what the pair's answer says: by its words, or else by the checker."""
    if checks.agree(pair.language, pair.answer, reply):
        return True
    asked = prompts.ToCompare(question=pair.question, answer=pair.answer, other=reply, language=pair.language)
    return (await ctx.ask(prompts.SAME_ANSWER, asked)).same == "yes"


def place_of(span: Span, pair: DocumentPair) -> Place | None:
    """Return where the passage stands that holds a sentence of the evidence."""
    if not pair.places:
        return None
    first, last = pair.places[0], pair.places[-1]
    return first if span.start < first.end - first.start else last


async def write_statement(pair: DocumentPair, ctx: Context[DocumentsSettings]) -> DocumentStatement:
    """Write the sentence that holds the answer so that it is understood wherever it stands."""
    language = language_of(pair.language)
    span = next((span for span in pair.sentences if language.contains(span.text, pair.answer)), pair.sentences[-1])
    asked = prompts.ToState(sentence=span.text, passage=pair.evidence, title=pair.title, language=pair.language)
    statement = (await ctx.ask(prompts.STATE, asked)).statement
    if not statement:
        raise Drop("sentence says nothing by itself", evidence=span.text)
    return DocumentStatement(
        key=key_of("documents", "statements", pair.key),
        text=statement,
        sentence=span.text,
        topic=pair.title,
        place=place_of(span, pair),
        language=pair.language,
        provenance=ctx.provenance(pair),
    )
