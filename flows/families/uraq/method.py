"""URAQ: pairs of statements, questions of several steps on them, and evaluation rows.

Anonymous, "Do Retrieval-Augmented Language Models Adapt to Varying User Needs?", appendix A (the
procedure), B and C (the prompts), sections 3 and 4 (the evaluation).
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count, cycle, islice
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.dedupe import deduplicate as independent_set
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext, seeded
from flows.construct.records import Records
from flows.construct.settings import FamilySettings
from flows.families.uraq import checks, conflicts
from flows.families.uraq.bearing import IntArray, Pool, unrelated
from flows.families.uraq.prompts import (
    ANSWER_SINGLE_HOP,
    ANSWER_WITH_CONTEXT,
    ASK_QUESTION,
    CONTRADICT,
    MANIPULATE,
    WRITE_STATEMENTS,
    StatementsWanted,
    ToAnswer,
    ToAsk,
    ToContradict,
    ToManipulate,
    ToRead,
)
from flows.llm.model import InvalidAnswer, Message
from schemas.base import key_of
from schemas.source import QASource, Statement
from schemas.uraq import (
    DONT_KNOW,
    MAX_HOPS,
    SETTINGS,
    AnswerType,
    Conflict,
    EvaluationRow,
    Need,
    Setting,
    StatementPair,
    UraqItem,
)

Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]

COSINE_ABOVE = 0.5  # appendix A.2: "cosine similarity above 0.5"
HOPS = (4,)  # appendix A.5: "those requiring 4-hop reasoning were chosen"
ANSWER_SHARES: Mapping[AnswerType, float] = {"number": 0.4, "entity": 0.35, "boolean": 0.25}
"""Types of answers that are asked for. The paper gives no shares; a yes/no question is half guessed."""
CONTEXT_COUNTS = (1, 10, 25, 50, 100, 250, 500, 1000)  # table 1, "Synthetic"

TOPICS = (
    "animals", "plants", "the human body", "food and drink", "astronomy", "physics", "chemistry", "geology and weather",
    "geography", "countries and capitals", "history", "inventions", "buildings and monuments", "literature", "painting",
    "music", "film and theatre", "sports", "games", "mathematics", "time and calendars", "language and writing",
    "transport", "computers", "everyday objects", "religion and mythology",
)  # fmt: skip
"""What statements are asked about. The paper names no topics, only "general facts" (appendix A.1)."""
BATCH = 20
"""Statements asked for in one call, at most."""
USUAL_SURVIVORS = 0.9
"""Share of the statements written that are no near-duplicates, for estimates: what is missing is asked for again."""
SHARES_WITHIN = 1e-6
DRY_TURNS = 3
DRY_YIELD = 0.01
"""The yield has dried up when every topic was asked `DRY_TURNS` times on end, in rounds of which fewer than
this share of the statements asked for survived dedupe."""


class UraqSettings(FamilySettings):
    """URAQ's block of the configuration."""

    statements: Count = Field(400, description="Statements wanted after dedupe; of a file, all are taken")
    statements_from: SourceSpec | None = Field(None, description="Take the statements from here and ask for none")
    topics: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        TOPICS, min_length=1, description="What statements are asked about"
    )
    cosine_above: float = Field(COSINE_ABOVE, gt=0, lt=1, description="Near-duplicates are above it (appendix A.2)")
    dedupe: Literal["independent-set", "paper"] = Field(
        "independent-set", description="`paper`: both statements of a pair above the threshold go"
    )
    hops: tuple[Annotated[int, Field(strict=True, ge=1, le=MAX_HOPS)], ...] = Field(
        HOPS, min_length=1, description="Steps of the questions that are kept, 1 to 5"
    )
    answer_shares: dict[AnswerType, Annotated[float, Field(ge=0, le=1)]] = Field(
        dict(ANSWER_SHARES), description="Share of questions that ask for each type of answer; one of none is not asked"
    )
    context_counts: tuple[Count, ...] = Field(CONTEXT_COUNTS, min_length=1, description="Contexts in an evaluation row")
    related_above: float = Field(
        0.5, gt=0, lt=1, description="Contexts with a cosine above it to question, pair or a step are related to it"
    )
    prescreen: tuple[str, ...] = Field((), description="Models (of `models`) that must know the single-hop answer")
    qa_sources: tuple[SourceSpec, ...] = Field((), description="Question answering data made to conflict")

    @field_validator("answer_shares")
    @classmethod
    def _add_up(cls, shares: dict[AnswerType, float]) -> dict[AnswerType, float]:
        if abs(sum(shares.values()) - 1) > SHARES_WITHIN:
            raise ValueError(f"the shares add up to {sum(shares.values()):g}; they must to 1")
        return shares


# ---- A.1 knowledge generation ----


async def write_statements(statements: Records[Statement], ctx: SetContext[UraqSettings]) -> AsyncIterator[Statement]:
    """A.1: short general facts, asked of the builder over topics, or taken from a file.

    Asked in numbered rounds until the wanted number survives dedupe, or the yield dries up. Each round
    asks for what is missing, spread over the topics, and shows what is written on a topic already.
    """
    settings = ctx.settings
    for statement in statements:
        if ctx.step.embedder.reads(statement.text):
            yield statement
        else:
            ctx.drop(statement, Drop("in a language that the embedder does not read", evidence=statement.text))
    if settings.statements_from is not None:
        return
    wanted = min(settings.statements, ctx.step.limit or settings.statements)
    written: dict[str, Statement] = {}
    turns = cycle(settings.topics)
    asked_about: set[str] = set()
    survivors = dry = 0
    for round_ in count():
        missing = wanted - survivors
        size, number = _spread(missing, len(settings.topics))
        topics = tuple(islice(turns, number))
        asked_about.update(topics)
        asked = [_written(topic, size, round_, written, ctx) for topic in topics]
        for statement in (one for batch in await asyncio.gather(*asked) for one in batch):
            if (refusal := checks.statement_refusal(statement.text)) is not None:
                ctx.drop(statement, refusal)
            elif (same := written.get(statement.text)) is not None:
                ctx.drop(statement, Drop("repeats a statement word for word", related_id=same.id))
            else:
                written[statement.text] = statement
        before, survivors = survivors, len(_independent(list(written.values()), ctx)) if written else 0
        ctx.progress(min(survivors, wanted), wanted)
        if survivors >= wanted:
            break
        dry = dry + len(topics) if survivors - before < DRY_YIELD * size * len(topics) else 0
        if dry >= DRY_TURNS * len(settings.topics):
            ctx.note(f"the yield dried up after {round_ + 1} rounds: {survivors} statements of {wanted} wanted")
            break
    _tell_silent(asked_about, written.values(), ctx)
    for statement in written.values():
        yield statement


def _tell_silent(topics: Set[str], written: Iterable[Statement], ctx: SetContext[UraqSettings]) -> None:
    """Note the topics on which nothing was written: the packaged rules know some topics alone."""
    for topic in sorted(topics - {statement.topic for statement in written}):
        ctx.note(f"the builder wrote no statement on {topic!r}")


async def _written(
    topic: str, size: int, round_: int, written: Mapping[str, Statement], ctx: SetContext[UraqSettings]
) -> list[Statement]:
    """One batch; none where every answer was invalid, which is a drop of its own."""
    known = tuple(one.text for one in written.values() if one.topic == topic)
    wanted = StatementsWanted(topic=topic, count=size, round=round_, known=known)
    asking = ctx.at(topic)
    try:
        answer = await asking.ask(WRITE_STATEMENTS, wanted, draw=round_)
    except InvalidAnswer as invalid:
        place = f"batch of {size} statements on {topic}, round {round_}"
        batch = Statement(key=key_of("uraq", "statements", place), text=place, topic=topic)
        ctx.drop(batch, Drop(invalid.reason, evidence=invalid.evidence))
        return []
    texts = [" ".join(sentence.split()) or checks.EMPTY for sentence in answer.statements]
    return [
        Statement(key=key_of("uraq", "statements", text), text=text, topic=topic, written_by=asking.asked[0])
        for text in texts
    ]


def batches(settings: UraqSettings) -> int:
    """Calls that writing takes if `USUAL_SURVIVORS` of what is written survive, round by round."""
    missing = 0 if settings.statements_from is not None else settings.statements
    calls = 0
    while missing > 0:
        size, topics = _spread(missing, len(settings.topics))
        calls += topics
        missing -= math.ceil(USUAL_SURVIVORS * min(missing, size * topics))
    return calls


def _spread(missing: int, topics: int) -> tuple[int, int]:
    """How many statements a round asks for at once, and of how many topics."""
    size = min(BATCH, math.ceil(missing / topics))
    return size, min(topics, math.ceil(missing / size))


# ---- A.2 redundancy filtering ----


async def deduplicate(statements: Records[Statement], ctx: SetContext[UraqSettings]) -> AsyncIterator[Statement]:
    """A.2: no two statements above the cosine threshold remain.

    Departure: the paper says that any pair above it "was removed", which read literally loses both. We
    keep a maximal independent set (`flows/construct/dedupe.py`); `dedupe: paper` gives the paper's words.
    """
    everything = list(statements)
    kept = _independent(everything, ctx, drop=True)
    for statement in everything:
        if statement.id in kept:
            yield statement


def _independent(
    statements: Sequence[Statement], ctx: SetContext[UraqSettings], *, drop: bool = False
) -> frozenset[str]:
    """Ids of the statements that survive; the others are dropped where `drop` is set."""
    settings = ctx.settings
    if not statements:
        return frozenset()
    vectors = ctx.step.embedder.embed([statement.text for statement in statements])
    result = independent_set(
        [statement.id for statement in statements], vectors, cosine_above=settings.cosine_above, rule=settings.dedupe
    )
    if drop:
        by_id = {statement.id: statement for statement in statements}
        for removed in result.removed:
            related = by_id[removed.related_id]
            ctx.drop(
                by_id[removed.id],
                Drop("near-duplicate", evidence=related.text, related_id=related.id, value=removed.cosine),
            )
    return frozenset(result.kept)


# ---- A.3 manipulated knowledge creation ----


async def manipulate(statement: Statement, ctx: Context) -> StatementPair:
    """A.3: one manipulated variant of each statement, a key element substituted or a negation added.

    Which of the two it is, the words tell; the builder's own label is not gone by.
    """
    answer = await ctx.ask(MANIPULATE, ToManipulate(statement=statement.text))
    provenance = ctx.provenance(statement, sources=[statement.source] if statement.source else [])
    if statement.written_by is not None:
        provenance = provenance.model_copy(update={"prompts": (statement.written_by, *provenance.prompts)})
    return StatementPair(
        key=ctx.key,
        original=statement.text,
        manipulated=answer.manipulated,
        manipulation=checks.manipulation_of(statement.text, answer.manipulated),
        topic=statement.topic,
        provenance=provenance,
    )


# ---- A.4 to A.6 question, two answers, ground truth ----


SUITED: Mapping[str | None, tuple[AnswerType, ...]] = {
    None: ("boolean", "entity", "number"),
    "number": ("number", "boolean", "entity"),
    "entity": ("entity", "number", "boolean"),
}
"""By what a pair differs in, the types of answer that questions on it can ask for, the most natural first."""


def wish_types(step: StepContext[UraqSettings, StatementPair]) -> Mapping[str, AnswerType]:
    """By pair, the type of answer to be asked for, so that `answer_shares` hold over the lot.

    The paper leaves the type to the builder, which left to itself asks for yes or no more often than not, and a yes/no
    question is half guessed. Which pair gets which type follows from what it differs in (`checks.carries`): a number,
    a thing, or neither. Of the last kind yes or no is asked, even where that makes more of it than its share.
    """
    settings = step.settings
    shares = {type_: share for type_, share in settings.answer_shares.items() if share > 0}
    pairs = sorted(step.inputs, key=lambda pair: seeded(step.seed, "answer type", pair.key).random())
    by_detail: dict[str | None, list[str]] = {None: [], "number": [], "entity": []}
    for pair in pairs:
        by_detail[checks.carries(pair.original, pair.manipulated)].append(pair.key)
    left = {type_: share * len(pairs) for type_, share in shares.items()}
    wished: dict[str, AnswerType] = {}
    for detail, keys in by_detail.items():
        suited = [type_ for type_ in SUITED[detail] if type_ in shares]
        for key in keys:
            type_ = next((one for one in suited if left[one] >= 0.5), suited[0])  # the nearest whole number of each
            left[type_] -= 1
            wished[key] = type_
    return wished


async def ask_question(pair: StatementPair, ctx: Context[UraqSettings, Mapping[str, AnswerType]]) -> UraqItem:
    """A.4 and A.5: a question of several steps with one answer from either statement.

    Departure: the paper asks for one to five steps and keeps the questions of four. We ask for a number
    that will be kept (drawn where several are), so that no call is spent on a question to be thrown away.
    The type of the answer is wished for (`wish_types`). A wish for a number or an entity binds, since the pair differs
    in a detail that carries one; where yes or no is wished for, another type will do unless no other is wanted.
    The original's answer is the ground truth (A.6).
    """
    settings = ctx.settings
    hops = ctx.random(pair.key).choice(sorted(set(settings.hops)))
    asked = ToAsk(
        original=pair.original,
        manipulated=pair.manipulated,
        hops=hops,
        answer_type=ctx.prepared[pair.key],
        only=settings.answer_shares.get("boolean") == 1,
    )
    answer = await ctx.ask(ASK_QUESTION, asked)
    return UraqItem(
        key=ctx.key,
        original=pair.original,
        manipulated=pair.manipulated,
        manipulation=pair.manipulation,
        question=answer.question,
        hops=hops,
        steps=answer.steps,
        answer_type=answer.answer_type,
        answer_original=answer.answer_original,
        answer_manipulated=answer.answer_manipulated,
        single_hop_question=answer.single_hop_question,
        single_hop_answer=answer.single_hop_answer,
        topic=pair.topic,
        provenance=ctx.provenance(pair),
    )


async def prescreen(item: UraqItem, ctx: Context[UraqSettings]) -> UraqItem:
    """Section 4.1: only questions whose fact every named model knows, asked in a single hop."""
    settings = ctx.settings
    for name in settings.prescreen:
        reply = await ctx.ask(ANSWER_SINGLE_HOP, ToAnswer(question=item.single_hop_question), model=name)
        if not checks.knows(reply.text, item.single_hop_answer, item.single_hop_question):
            raise Drop(f"fact not known by {name}", evidence=f"{item.single_hop_question} {reply.text}")
    return item.revised(provenance=ctx.asked_of(item.provenance))


# ---- other question answering data (section 4.1) ----


async def make_conflict(source: QASource, ctx: Context) -> Conflict:
    """Section 4.1: question answering data "augmented with conflicted knowledge".

    Where the source brings two sides, the one that agrees with the ground truth is the original.
    Elsewhere the conflicting answer and evidence are asked for; the paper takes them from other work.
    """
    if source.sides:
        sides = conflicts.take_sides(source)
        original, manipulated = sides.original, sides.manipulated
        answers, answer_type = (sides.answer_original, sides.answer_manipulated), sides.answer_type
    else:
        answer = conflicts.answer_to_contradict(source)
        assert source.evidence is not None
        asked = ToContradict(question=source.question, answer=answer, evidence=source.evidence)
        other = await ctx.ask(CONTRADICT, asked)
        original, manipulated = source.evidence, other.evidence
        answers, answer_type = (answer, other.answer), conflicts.answer_type_of(source.question, answer)
    return Conflict(
        key=ctx.key,
        question=source.question,
        original=original,
        manipulated=manipulated,
        answer_original=answers[0],
        answer_manipulated=answers[1],
        answer_type=answer_type,
        source=f"{source.format}:{source.source.source}",
        provenance=ctx.provenance(source, sources=[source.source]),
    )


# ---- evaluation rows (sections 3, 4.2; table 1) ----


@dataclass(frozen=True)
class ContextPools:
    """The contexts drawn for every question, and what could not be filled."""

    texts: Mapping[str, tuple[str, ...]]
    """By kind of question, what its contexts are drawn from."""
    counts: Mapping[str, tuple[int, ...]]
    """By kind of question, the context counts that some question of the kind can fill."""
    drawn: Mapping[str, IntArray]
    """By question, the places in `texts` of its unrelated contexts in the order drawn; at most the largest count."""
    notes: tuple[str, ...]


def pool_contexts(step: StepContext[UraqSettings, UraqItem | Conflict]) -> ContextPools:
    """Section 4.2: draws each question's contexts out of what has nothing to do with it, without replacement.

    Items draw on every statement kept by dedupe and its manipulated variant; conflicts on the evidence,
    both ways, of the conflicts of the same source, so that the contexts of a row are of one kind, as in
    table 1 (whose DisentQA rows hold 59,000 tokens at 64 contexts: documents, not statements). What bears on a
    question, with every fact that its steps use, is told in `bearing.py`. A count that no question
    of a kind can fill is left out; where some can, the rows of the others are dropped.
    """
    settings = step.settings
    kinds: dict[str, list[UraqItem | Conflict]] = {}
    for record in step.inputs:
        kinds.setdefault(_kind(record), []).append(record)
    pools = ContextPools({}, {}, {}, ())
    for kind, records in sorted(kinds.items()):
        stock = (
            step.used("statements", StatementPair)
            if kind == URAQ
            else _of_source(step.used("conflicts", Conflict), kind)
        )
        wanted = sorted(set(settings.context_counts if kind == URAQ else conflicts.context_counts(kind)))
        pool = Pool(list(stock), step.embedder, settings.related_above)
        places = unrelated(pool, records, step.embedder)
        most = max(map(len, places))
        filled = tuple(number for number in wanted if number <= most)
        largest = max(filled, default=0)
        drawn = {
            record.id: np.array(
                seeded(step.seed, "contexts", record.key).sample(own.tolist(), min(len(own), largest)), dtype=np.int32
            )
            for record, own in zip(records, places, strict=True)
        }
        left_out = [str(number) for number in wanted if number > most]
        note = (
            f"context counts left out for {kind}: {', '.join(left_out)} "
            f"(of the pool of {len(pool.texts)}, at most {most} contexts are unrelated to a question)"
        )
        pools = ContextPools(
            {**pools.texts, kind: pool.texts},
            {**pools.counts, kind: filled},
            {**pools.drawn, **drawn},
            (*pools.notes, *([note] if left_out else [])),
        )
    return pools


URAQ = "uraq"


def _kind(record: UraqItem | Conflict) -> str:
    return URAQ if isinstance(record, UraqItem) else record.source


def _of_source(stock: Iterable[Conflict], source: str) -> list[Conflict]:
    return [one for one in stock if one.source == source]


def context_slots(record: UraqItem | Conflict, prepared: ContextPools) -> list[Slot]:
    """Each setting at each context count."""
    counts = prepared.counts[_kind(record)]
    return [{"setting": setting, "n_contexts": number} for setting in SETTINGS for number in counts]


async def arrange_contexts(
    item: UraqItem | Conflict, slot: Slot, ctx: Context[UraqSettings, ContextPools]
) -> EvaluationRow:
    """Section 4.2: one relevant context (none in irrelevant) at a random place among unrelated ones.

    The unrelated contexts are drawn once a question, without replacement: its three settings share
    them and the relevant context's place, and a longer row begins with the draw of the shorter one, so
    that nothing but setting and length differs between the rows of a question. (The paper says no more
    than "randomly".)
    """
    setting: Setting = slot["setting"]  # type: ignore[assignment] # the slots are made above
    number = int(slot["n_contexts"])
    prepared = ctx.prepared
    texts = prepared.texts[_kind(item)]
    if (there := len(prepared.drawn[item.id])) < number:
        raise Drop("too few unrelated contexts", evidence=f"{there} of {number}", value=float(there))
    drawn = [texts[place] for place in prepared.drawn[item.id][:number]]
    relevant = {"match": item.original, "conflict": item.manipulated, "irrelevant": None}[setting]
    place = None
    contexts = drawn
    if relevant is not None:
        place = ctx.random(item.key, "place", number).randrange(number)
        contexts = [*drawn[:place], relevant, *drawn[place : number - 1]]
    return EvaluationRow(
        key=ctx.key,
        item_id=item.id,
        setting=setting,
        n_contexts=number,
        contexts=tuple(contexts),
        relevant_index=place,
        question=item.question,
        answer_type=item.answer_type,
        dataset=_kind(item),
        expected=expected_answers(item, setting),
        provenance=ctx.provenance(item),
    )


def expected_answers(item: UraqItem | Conflict, setting: Setting) -> dict[Need, str]:
    """Figure 2: the right answer under each user need."""
    original, manipulated = item.answer_original, item.answer_manipulated
    return {
        "match": _by_need(original, original, original),
        "conflict": _by_need(manipulated, manipulated, original),
        "irrelevant": _by_need(DONT_KNOW, original, original),
    }[setting]


def _by_need(context_exclusive: str, context_first: str, memory_first: str) -> dict[Need, str]:
    return {"context-exclusive": context_exclusive, "context-first": context_first, "memory-first": memory_first}


def messages(row: EvaluationRow, need: Need) -> list[Message]:
    """The chat messages that put an evaluation row to a model under a user need (appendix B and C)."""
    return ANSWER_WITH_CONTEXT.messages(to_read(row, need))


def to_read(row: EvaluationRow, need: Need) -> ToRead:
    """What the evaluated model is given."""
    return ToRead(need=need, contexts=row.contexts, question=row.question)
