"""URAQ: pairs of statements, questions of several steps on them, and evaluation rows.

Anonymous, "Do Retrieval-Augmented Language Models Adapt to Varying User Needs?", appendix A (the
procedure), B and C (the prompts), sections 3 and 4 (the evaluation).
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence, Set
from dataclasses import asdict
from itertools import count, cycle, groupby, islice
from operator import itemgetter

from flows.construct.dedupe import Dedupe
from flows.construct.dedupe import deduplicate as independent_set
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext, seeded
from flows.construct.records import Records
from flows.families.uraq import checks, conflicts, prompts
from flows.families.uraq.contexts import DrawnContexts, dataset_of
from flows.families.uraq.settings import UraqSettings
from flows.llm.model import InvalidAnswer
from schemas.base import key_of
from schemas.source import QASource, Statement
from schemas.uraq import (
    DONT_KNOW,
    SETTINGS,
    AnswerType,
    Conflict,
    EvaluationRow,
    Need,
    Setting,
    StatementPair,
    UraqItem,
)

BATCH = 20
"""The most statements asked for in a call."""
USUAL_SURVIVORS = 0.9
"""For estimates: the share of written statements that are not near-duplicates. The rest is asked for again."""
DRY_TURNS = 3
DRY_YIELD = 0.01
"""The yield has dried up when every topic was asked `DRY_TURNS` times in a row, and less than this share
of the statements asked for in those rounds survived dedupe."""


# ---- A.1 knowledge generation ----


async def write_statements(statements: Records[Statement], ctx: SetContext[UraqSettings]) -> AsyncIterator[Statement]:
    """A.1: short general facts, asked of the builder over topics, or taken from a file.

    The builder is asked in rounds until the wanted number survives dedupe, or the yield dries up. Each round asks for
    the missing number, spread over the topics, and shows the statements already written on a topic. If more statements
    are wanted than the last release has, and the same model writes them by the same prompt, only the rest is asked for.
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
    written = _written_before(ctx)
    survivors, dry = await _survivors(written, ctx), 0
    if survivors > wanted:
        written, survivors = {}, 0
    turns = cycle(settings.topics)
    asked_about: set[str] = set()
    for round_ in count() if survivors < wanted else ():
        size, number = _spread(wanted - survivors, len(settings.topics))
        topics = tuple(islice(turns, number))
        asked_about.update(topics)
        await _write_round(topics, size, round_, written, ctx)
        before, survivors = survivors, await _survivors(written, ctx)
        ctx.progress(min(survivors, wanted), wanted)
        if survivors >= wanted:
            break
        dry = dry + len(topics) if survivors - before < DRY_YIELD * size * len(topics) else 0
        if dry >= DRY_TURNS * len(settings.topics):
            ctx.note(f"the yield dried up after {round_ + 1} rounds: {survivors} statements of {wanted} wanted")
            break
    _note_silent_topics(asked_about, written.values(), ctx)
    for statement in written.values():
        yield statement


async def _survivors(written: Mapping[str, Statement], ctx: SetContext[UraqSettings]) -> int:
    """How many of the statements survive dedupe. In a thread: meanwhile other steps' calls go out and come in."""
    return len((await asyncio.to_thread(_independent, list(written.values()), ctx)).kept)


def _written_before(ctx: SetContext[UraqSettings]) -> dict[str, Statement]:
    """The statements of the last release, by their texts, that would be written in the same way now."""
    asking = ctx.at("")
    asking.note_asked(prompts.WRITE_STATEMENTS)
    known = (statement for statement in ctx.step.released if isinstance(statement, Statement))
    return {
        statement.text: statement
        for statement in known
        if statement.written_by == asking.asked[0] and statement.topic in ctx.settings.topics
    }


async def _write_round(
    topics: Sequence[str], size: int, round_: int, written: dict[str, Statement], ctx: SetContext[UraqSettings]
) -> None:
    """Ask for a batch on each topic, and add the new statements to `written`."""
    batches = await asyncio.gather(*(_write_batch(topic, size, round_, written, ctx) for topic in topics))
    for statement in (statement for batch in batches for statement in batch):
        if (refusal := checks.statement_refusal(statement.text)) is not None:
            ctx.drop(statement, refusal)
        elif (same := written.get(statement.text)) is not None:
            ctx.drop(statement, Drop("repeats a statement word for word", related_id=same.id))
        else:
            written[statement.text] = statement


async def _write_batch(
    topic: str, size: int, round_: int, written: Mapping[str, Statement], ctx: SetContext[UraqSettings]
) -> list[Statement]:
    """A batch of statements; empty, with a recorded drop, if every answer was invalid."""
    earlier = tuple(statement.text for statement in written.values() if statement.topic == topic)
    wanted = prompts.StatementsWanted(topic=topic, count=size, round=round_, known=earlier)
    asking = ctx.at(topic)
    try:
        answer = await asking.ask(prompts.WRITE_STATEMENTS, wanted, draw=round_)
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


def _note_silent_topics(topics: Set[str], written: Iterable[Statement], ctx: SetContext[UraqSettings]) -> None:
    """Note the topics on which nothing was written: the packaged rules know only some topics."""
    for topic in sorted(topics - {statement.topic for statement in written}):
        ctx.note(f"the builder wrote no statement on {topic!r}")


def batches(settings: UraqSettings) -> int:
    """Calls that writing takes if `USUAL_SURVIVORS` of the statements survive each round."""
    missing = 0 if settings.statements_from is not None else settings.statements
    calls = 0
    while missing > 0:
        size, topics = _spread(missing, len(settings.topics))
        calls += topics
        missing -= math.ceil(USUAL_SURVIVORS * min(missing, size * topics))
    return calls


def _spread(missing: int, topics: int) -> tuple[int, int]:
    """How many statements a round asks for in a call, and on how many topics."""
    size = min(BATCH, math.ceil(missing / topics))
    return size, min(topics, math.ceil(missing / size))


# ---- A.2 redundancy filtering ----


async def deduplicate(statements: Records[Statement], ctx: SetContext[UraqSettings]) -> AsyncIterator[Statement]:
    """A.2: no two statements above the cosine threshold remain.

    Departure: the paper says that any pair above it "was removed", which read literally loses both. We keep a maximal
    independent set (`flows/construct/dedupe.py`); `dedupe: paper` does what the paper says.
    """
    survivors = _independent(statements, ctx)
    related = {duplicate.related_id for duplicate in survivors.removed}
    texts = {statement.id: statement.text for statement in statements if statement.id in related}
    kept, removed = frozenset(survivors.kept), {}
    for statement in statements:
        if statement.id in kept:
            yield statement
        else:
            removed[statement.id] = statement
    for duplicate in survivors.removed:
        text, id_ = texts[duplicate.related_id], duplicate.related_id
        refusal = Drop("near-duplicate", evidence=text, related_id=id_, value=duplicate.cosine)
        ctx.drop(removed[duplicate.id], refusal)


def _independent(statements: Iterable[Statement], ctx: SetContext[UraqSettings]) -> Dedupe:
    """Which statements survive. Ids, texts and releases are held in memory, not the statements."""
    ids, texts, arrivals = [], [], []
    for statement in statements:
        ids.append(statement.id)
        texts.append(statement.text)
        arrivals.append(ctx.step.arrival(statement))
    if not ids:
        return Dedupe((), ())
    vectors = ctx.step.embedder.embed(texts)
    return independent_set(
        ids, vectors, arrivals=arrivals, cosine_above=ctx.settings.cosine_above, rule=ctx.settings.dedupe
    )


# ---- A.3 manipulated knowledge creation ----


async def manipulate(statement: Statement, ctx: Context) -> StatementPair:
    """A.3: a manipulated variant of each statement, with a key element substituted or a negation added.

    The words show which of the two it is; the builder's own label is ignored.
    """
    answer = await ctx.ask(prompts.MANIPULATE, prompts.ToManipulate(statement=statement.text))
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
"""By the detail that a pair differs in: the types of answer that suit a question on it, the most natural first."""


def wish_types(step: StepContext[UraqSettings, StatementPair]) -> Mapping[str, AnswerType]:
    """By pair, the type of answer to ask for, so that `answer_shares` hold over all pairs that came with a release.

    The paper leaves the type to the builder, which then asks for yes or no more often than not, and a yes/no
    question is half guessed. The type follows from the detail that the pair differs in (`checks.carries`): a number, a
    thing, or neither. Of the last kind yes or no is asked, even if that exceeds its share.
    """
    pairs = sorted(
        (step.arrival(pair), seeded(step.seed, "answer type", pair.key).random(), pair.key,
         checks.carries(pair.original, pair.manipulated))
        for pair in step.inputs
    )  # fmt: skip
    wished: dict[str, AnswerType] = {}
    for _, arrived in groupby(pairs, key=itemgetter(0)):
        wished |= _wish_types([(key, detail) for *_, key, detail in arrived], step.settings)
    return wished


def _wish_types(pairs: Sequence[tuple[str, str | None]], settings: UraqSettings) -> dict[str, AnswerType]:
    """By key, the type to ask for; `pairs` are keys with the detail, in a random order."""
    shares = {type_: share for type_, share in settings.answer_shares.items() if share > 0}
    by_detail: dict[str | None, list[str]] = {None: [], "number": [], "entity": []}
    for key, detail in pairs:
        by_detail[detail].append(key)
    left = {type_: share * len(pairs) for type_, share in shares.items()}
    wished: dict[str, AnswerType] = {}
    for detail, keys in by_detail.items():
        suited = [type_ for type_ in SUITED[detail] if type_ in shares]
        for key in keys:
            type_ = next((type_ for type_ in suited if left[type_] >= 0.5), suited[0])  # each share, rounded
            left[type_] -= 1
            wished[key] = type_
    return wished


async def ask_question(pair: StatementPair, ctx: Context[UraqSettings, Mapping[str, AnswerType]]) -> UraqItem:
    """A.4 and A.5: a question of several steps with one answer from either statement.

    Departure: the paper asks for one to five steps and keeps the questions of four. We ask for a number that will be
    kept (drawn if there are several), so that no call is wasted on a question to be dropped. A wish for a number or
    an entity (`wish_types`) binds, since the pair differs in a detail of that type; if yes or no is wished for,
    another type will do unless no other is wanted. The original's answer is the ground truth (A.6).
    """
    settings = ctx.settings
    hops = ctx.random(pair.key).choice(sorted(set(settings.hops)))
    asked = prompts.ToAsk(
        original=pair.original,
        manipulated=pair.manipulated,
        hops=hops,
        answer_type=ctx.prepared[pair.key],
        only=settings.answer_shares.get("boolean") == 1,
    )
    answer = await ctx.ask(prompts.ASK_QUESTION, asked)
    return UraqItem(
        key=ctx.key,
        original=pair.original,
        manipulated=pair.manipulated,
        manipulation=pair.manipulation,
        hops=hops,
        topic=pair.topic,
        provenance=ctx.provenance(pair),
        **dict(answer),
    )


async def prescreen(item: UraqItem, ctx: Context[UraqSettings]) -> UraqItem:
    """Section 4.1: only questions whose fact every named model knows when asked in a single hop."""
    settings = ctx.settings
    for name in settings.prescreen:
        reply = await ctx.ask(
            prompts.ANSWER_SINGLE_HOP, prompts.ToAnswer(question=item.single_hop_question), model=name
        )
        if not checks.knows(reply.text, item.single_hop_answer, item.single_hop_question):
            raise Drop(f"fact not known by {name}", evidence=f"{item.single_hop_question} {reply.text}")
    return item.revised(provenance=ctx.asked_of(item.provenance))


# ---- section 4.1: other question answering data ----


async def make_conflict(source: QASource, ctx: Context) -> Conflict:
    """Section 4.1: question answering data "augmented with conflicted knowledge".

    If the source has two sides, the side that agrees with the ground truth is the original. Otherwise the builder
    writes the conflicting answer and evidence; the paper takes them from other work.
    """
    if source.sides:
        sides = conflicts.take_sides(source)
    else:
        answer = conflicts.answer_to_contradict(source)
        assert source.evidence is not None
        other = await ctx.ask(
            prompts.CONTRADICT, prompts.ToContradict(question=source.question, answer=answer, evidence=source.evidence)
        )
        answer_type = conflicts.answer_type_of(source.question, answer)
        sides = conflicts.Sides(source.evidence, other.evidence, answer, other.answer, answer_type)
    return Conflict(
        key=ctx.key,
        question=source.question,
        source=conflicts.data_set(source),
        provenance=ctx.provenance(source, sources=[source.source]),
        **asdict(sides),
    )


# ---- sections 3 and 4.2: evaluation rows (table 1) ----


def context_slots(record: UraqItem | Conflict, prepared: DrawnContexts) -> list[Slot]:
    """Each setting at each context count."""
    counts = prepared.counts[dataset_of(record)]
    return [{"setting": setting, "n_contexts": number} for setting in SETTINGS for number in counts]


async def arrange_contexts(
    item: UraqItem | Conflict, slot: Slot, ctx: Context[UraqSettings, DrawnContexts]
) -> EvaluationRow:
    """Section 4.2: one relevant context (none in irrelevant) at a random place among unrelated ones.

    The unrelated contexts are drawn once for a question (`contexts.draw_contexts`). Its three settings share them and
    the place of the relevant context, and a longer row begins with the draw of the shorter row, so that the rows of a
    question differ only in setting and length. (The paper only says "randomly".)
    """
    setting: Setting = slot["setting"]  # type: ignore[assignment] # the slots are made above
    number = int(slot["n_contexts"])
    dataset = dataset_of(item)
    texts, places = ctx.prepared.texts[dataset], ctx.prepared.drawn[dataset][item.id].tolist()
    if len(places) < number:
        raise Drop("too few unrelated contexts", evidence=f"{len(places)} of {number}", value=float(len(places)))
    contexts = [texts[place] for place in places[:number]]
    relevant = {"match": item.original, "conflict": item.manipulated, "irrelevant": None}[setting]
    place = None
    if relevant is not None:
        place = ctx.random(item.key, "place", number).randrange(number)
        contexts = [*contexts[:place], relevant, *contexts[place : number - 1]]
    return EvaluationRow(
        key=ctx.key,
        item_id=item.id,
        setting=setting,
        n_contexts=number,
        contexts=tuple(contexts),
        relevant_index=place,
        question=item.question,
        answer_type=item.answer_type,
        dataset=dataset,
        expected=expected_answers(item, setting),
        provenance=ctx.provenance(item),
    )


def expected_answers(item: UraqItem | Conflict, setting: Setting) -> dict[Need, str]:
    """Figure 2: the right answer under each user need."""
    original, manipulated = item.answer_original, item.answer_manipulated
    return {
        "context-exclusive": {"match": original, "conflict": manipulated, "irrelevant": DONT_KNOW}[setting],
        "context-first": manipulated if setting == "conflict" else original,
        "memory-first": original,
    }


def to_read(row: EvaluationRow, need: Need) -> prompts.ToRead:
    """The row as the evaluated model reads it under a user need (appendix B and C)."""
    return prompts.ToRead(need=need, contexts=row.contexts, question=row.question)
