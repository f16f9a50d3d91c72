"""RefuteBench 2.0: a model's answers are refuted, and rated for how well they follow and how long they remember.

Yan, Luo and Zhang, "RefuteBench 2.0 – Agentic Benchmark for Dynamic Evaluation of LLM Responses to Refutation
Instruction", 2025: section 4.1 (seed queries), 3 (the two protocols), 4.2 (the refuter) and 4.3 (the evaluator). How a
single dialogue is held is in `conversation.py`; which dialogues and ratings there are is in `plan.py`.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from flows.construct.dedupe import deduplicate
from flows.construct.embed import Embedder
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records, with_first
from flows.construct.rows_on_disk import RowsOnDisk
from flows.families.refutebench.conversation import SAME_ABOVE, Conversation
from flows.families.refutebench.plan import dialogues_of, style_in
from flows.families.refutebench.prompts import RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask, rating_of
from flows.families.refutebench.protocol import MOST_TRIES, place_between
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.language import LANGUAGES, language_of
from schemas.base import Provenance, content_hash, key_of
from schemas.refutebench import (
    FOCUSES,
    TASKS,
    DialogueTurn,
    ProtocolSettings,
    Rating,
    RefutationDialogue,
    Seed,
    SeedTask,
    style_of,
)
from schemas.source import Assignment

LENGTHS: Mapping[SeedTask, range] = {
    "translation": range(5, 81),
    "summarisation": range(60, 1501),
    "writing": range(3, 601),
}
"""Words (characters, in Chinese) of the text of a query; the paper gives no numbers. They allow a sentence that can be
criticised more than once, a document that is worth a summary, and a request that is not itself a long text."""
COSINE_ABOVE = 0.9
"""Of two seeds of a task above this cosine one is dropped; the paper gives no number."""


# ---- seed queries (section 4.1) ----


class Form(NamedTuple):
    """The form of an initial query (table 3, in our own words)."""

    kind: str
    query: str


FORMS: Mapping[tuple[SeedTask, str], Form] = {
    ("translation", "text"): Form("translation", "Translate this sentence from English into Chinese.\n\n{text}"),
    ("summarisation", "text"): Form("summary", "{text}\n\nSummarise the text above."),
    ("writing", "headline"): Form("news", "Write a news article for this headline: {text}"),
    ("writing", "post"): Form("counter-argument", "Write a counter-argument that refutes this post: {text}"),
    ("writing", "prompt"): Form("story", "Write a story that follows this prompt: {text}"),
    ("writing", "request"): Form("request", "{text}"),
}
"""(task, what the source gives) -> the query."""


def text_of(query: str) -> str:
    """Return the text that an initial query gives."""
    for form in FORMS.values():
        before, after = form.query.split("{text}")
        if (before or after) and query.startswith(before) and query.endswith(after):
            return query.removeprefix(before).removesuffix(after)
    return query


async def make_seed(source: Assignment, slot: Slot, ctx: Context) -> Seed:
    """Section 4.1: the initial query, from texts that are neither too short nor too long for the task."""
    task = next(task for task in TASKS if task == slot["task"])
    form = FORMS.get((task, source.given))
    if form is None:
        raise Drop(f"a {source.given} gives no {task} query", source.text[:200])
    text = source.text.strip()
    if source.language not in LANGUAGES:
        raise Drop("language that is not read", source.language)
    if task == "translation" and source.language != "en":
        raise Drop("no English sentence", text[:200])
    words = language_of(source.language).count(text)
    if words not in LENGTHS[task]:
        raise Drop("too short" if words < LENGTHS[task].start else "too long", text[:200], value=words)
    return Seed(
        key=ctx.key,
        task=task,
        kind=form.kind,
        query=form.query.replace("{text}", text),
        text=text,
        reference=source.reference.strip(),
        language=source.language,
        source=f"{source.format}:{source.source.source}",
        provenance=ctx.provenance(source, sources=[source.source]),
    )


async def choose_seeds(seeds: Records[Seed], ctx: SetContext[RefuteBenchSettings]) -> AsyncIterator[Seed]:
    """As many seeds of each task as are wanted, in an order drawn from the run seed: a new source row moves few.

    No query occurs twice. No two seeds of a task have the same text, and none are close in meaning (in a language that
    the embedder does not read, only equal texts are found). For a duplicate the next seed in order moves up, so that no
    more are compared than are taken.
    """
    wanted = ctx.settings.seeds_per_task
    queries: dict[str, Seed] = {}
    by_key = RowsOnDisk((seed.key, seed) for seed in seeds)
    by_task: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for seed in seeds:
        by_task[seed.task].append((content_hash(ctx.step.seed, seed.id), seed.key))
    for task in TASKS:
        ordered = _SeedsOnDisk(by_key, [key for _, key in sorted(by_task.pop(task, ()))])
        ordered = _SeedsOnDisk(by_key, [seed.key for seed in _without(queries, ordered, ctx)])
        ordered = _SeedsOnDisk(by_key, [seed.key for seed in _each_text_once(ordered, ctx)])
        taken = wanted
        while True:
            near = _near_duplicates(list(islice(ordered, taken)), ctx.step.embedder)
            missing = wanted - (min(taken, len(ordered)) - len(near))
            if missing <= 0 or taken >= len(ordered):
                break
            taken += missing
        for place, seed in enumerate(ordered):
            if (drop := near.get(seed.key)) is not None:
                ctx.drop(seed, drop)
            elif place < taken:
                queries[seed.query] = seed
                yield seed
            else:
                ctx.drop(seed, Drop("more than are wanted", value=place + 1))
        if len(ordered) and missing > 0:
            ctx.note(f"{task}: {wanted - missing} seeds; {wanted} are wanted")


class _SeedsOnDisk:
    """Seeds in an order of their own."""

    def __init__(self, by_key: Mapping[str, Seed], keys: Sequence[str]) -> None:
        self._by_key, self._keys = by_key, keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Seed]:
        return map(self._by_key.__getitem__, self._keys)


def _without(
    queries: Mapping[str, Seed], seeds: Iterable[Seed], ctx: SetContext[RefuteBenchSettings]
) -> Iterator[Seed]:
    """The seeds whose query is not that of another task's seed."""
    for seed in seeds:
        if (same := queries.get(seed.query)) is not None:
            ctx.drop(seed, Drop("query of another task", seed.query[:200], related_id=same.id))
        else:
            yield seed


def _each_text_once(seeds: Records[Seed], ctx: SetContext[RefuteBenchSettings]) -> Iterator[Seed]:
    for seed, first in with_first(seeds, lambda seed: " ".join(seed.text.lower().split()), ctx.step.arrival):
        if first is None:
            yield seed
        else:
            ctx.drop(seed, Drop("duplicate text", seed.text[:200], related_id=first.id))


def _near_duplicates(seeds: Sequence[Seed], embedder: Embedder) -> Mapping[str, Drop]:
    """By key, why a seed is dropped."""
    readable = [seed for seed in seeds if embedder.reads(seed.text)]
    by_id = {seed.id: seed for seed in readable}
    vectors = embedder.embed([seed.text for seed in readable])
    return {
        by_id[removed.id].key: Drop(
            "near-duplicate",
            by_id[removed.related_id].text[:200],
            related_id=removed.related_id,
            value=removed.cosine,
        )
        for removed in deduplicate([seed.id for seed in readable], vectors, cosine_above=COSINE_ABOVE).removed
    }


# ---- the two protocols (section 3) ----


async def state_protocol(
    records: Records[Assignment], ctx: SetContext[RefuteBenchSettings]
) -> AsyncIterator[ProtocolSettings]:
    """One record: the choices that the protocols leave open, as the settings make them."""
    settings = ctx.settings
    yield ProtocolSettings(
        key=key_of("refutebench", "protocol", ""),
        rounds=settings.rounds,
        unrelated=settings.unrelated,
        refuters=settings.refuters,
        style=style_of(settings.style),
        focuses=FOCUSES,
        evaluated=settings.evaluated,
        evaluators=settings.evaluators,
        tries=MOST_TRIES,
        same_above=SAME_ABOVE,
        provenance=Provenance(seed=ctx.step.seed),
    )


@dataclass(frozen=True)
class SeedIndex:
    """The seeds by query, with the settings that dialogues are planned by."""

    settings: RefuteBenchSettings
    by_query: Mapping[str, Seed]


def index_seeds(step: StepContext[RefuteBenchSettings]) -> SeedIndex:
    """Index all seeds: dialogues take their unrelated queries from them."""
    seeds = sorted(step.used("seeds", Seed), key=lambda seed: seed.key)
    return SeedIndex(step.settings, {seed.query: seed for seed in seeds})


def dialogue_slots(seed: Seed, index: SeedIndex) -> Sequence[Slot]:
    """The dialogues that are held about a seed."""
    return dialogues_of(seed, index.settings)


async def open_dialogue(seed: Seed, slot: Slot, ctx: Context[RefuteBenchSettings, SeedIndex]) -> RefutationDialogue:
    """The dialogue before anything is answered: the queries that are known in advance.

    The paper leaves open what is asked in between: C seeds of other tasks, drawn by their queries alone, so that they
    are the same for every model and refuter, in this build or in another one of the same seeds. Those of a smaller C
    are the first of a larger one's.
    """
    turns = [DialogueTurn(role="user", kind="query", text=seed.query)]
    between: list[Seed] = []
    count = int(slot["unrelated"])
    if count:
        others = [other for other in ctx.prepared.by_query.values() if other.task != seed.task]
        if len(others) < count:
            raise Drop("too few seeds of other tasks", value=len(others))
        between = nsmallest(count, others, key=lambda other: place_between(seed.query, other.query))
        turns += [DialogueTurn(role="user", kind="unrelated", text=other.query) for other in between]
        turns.append(turns[0])
    return RefutationDialogue(
        key=ctx.key,
        seed=seed.key,
        task=seed.task,
        query=seed.query,
        protocol="transient" if slot["protocol"] == "transient" else "persistent",
        unrelated=count,
        refuter="agent" if slot["refuter"] == "agent" else "template",
        style=style_in(slot, ctx.settings),
        model=str(slot["model"]),
        turns=tuple(turns),
        provenance=ctx.provenance(seed, *between),
    )


async def hold_dialogue(opened: RefutationDialogue, ctx: Context[RefuteBenchSettings, SeedIndex]) -> RefutationDialogue:
    """Section 3, to the last turn. Without a valid answer of evaluated model or refuter, the dialogue is dropped.

    Transient: (q, a0, r0, a1, r1, ...), each answer refuted in turn. Persistent: (q, a0, r0, a0', C unrelated pairs, q,
    a), a refutation that is to hold when the query is repeated.
    """
    talk = Conversation(opened, ctx, ctx.prepared.by_query)
    await talk.ask(opened.query)
    if opened.protocol == "transient":
        for _ in range(ctx.settings.rounds):
            await talk.refute()
    else:
        await talk.refute(standing=True)
        for turn in opened.turns[1:]:
            await talk.ask(turn.text, unrelated=turn.kind == "unrelated")
    return opened.revised(turns=tuple(talk.turns), provenance=ctx.asked_of(opened.provenance))


# ---- the evaluator (section 4.3): ratings from 1 to 5 ----


async def open_rating(dialogue: RefutationDialogue, slot: Slot, ctx: Context) -> Rating:
    """The rating before it is given: the texts that an evaluator is shown (figure 4).

    The paper leaves open which answer is shown before a later one: it is always the answer that was refuted, a_i, so
    that R(a1, r0) and R(a3, r0) differ in the new answer alone.
    """
    refuted, answer = int(slot["refutation"]), int(slot["answer"])
    of_refutation = slot["aspect"] == "refutation"
    return Rating(
        key=ctx.key,
        dialogue=dialogue.id,
        task=dialogue.task,
        protocol=dialogue.protocol,
        unrelated=dialogue.unrelated,
        refuter=dialogue.refuter,
        style=dialogue.style,
        model=dialogue.model,
        evaluator=str(slot["evaluator"]),
        aspect="refutation" if of_refutation else "task",
        refutation_number=refuted if of_refutation else None,
        answer_number=answer,
        query=dialogue.query,
        earlier=dialogue.turns[1 : 2 * refuted + 1] if of_refutation else (),
        previous=dialogue.answers[refuted] if of_refutation else "",
        refutation=dialogue.refutations[refuted] if of_refutation else "",
        response=dialogue.answers[answer],
        provenance=ctx.provenance(dialogue),
    )


async def rate(opened: Rating, ctx: Context) -> Rating:
    """Figure 4. The paper leaves open how R(q, a) is asked: with the query and the answer alone.

    A reply without a rating is shown to the evaluator and asked again, then dropped: it is never a score.
    """
    if opened.aspect == "refutation":
        asked = ToRate(
            query=opened.query, previous=opened.previous, refutation=opened.refutation, response=opened.response
        )
        reply = await ctx.ask(RATE_REFUTATION, asked, model=opened.evaluator)
    else:
        task = ToRateTask(query=opened.query, response=opened.response)
        reply = await ctx.ask(RATE_TASK, task, model=opened.evaluator)
    rating = rating_of(reply.text)
    assert rating is not None  # the prompt's check
    return opened.revised(explanation=reply.text, rating=rating, provenance=ctx.asked_of(opened.provenance))
