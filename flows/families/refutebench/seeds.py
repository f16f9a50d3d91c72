"""Seed queries (section 4.1): initial queries out of anybody's sentences, documents, headlines and prompts."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import NamedTuple

from flows.construct.dedupe import deduplicate
from flows.construct.embed import Embedder
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.language import LANGUAGES, language_of
from schemas.base import content_hash
from schemas.refutebench import TASKS, Seed, SeedTask
from schemas.source import Assignment

LENGTHS: Mapping[SeedTask, range] = {
    "translation": range(5, 81),
    "summarisation": range(60, 1501),
    "writing": range(3, 601),
}
"""Words (characters, in Chinese) of what a query is about; the paper names none. A sentence that can be complained of
more than once, a document that is worth a summary, a request that is not itself a long text."""
COSINE_ABOVE = 0.9
"""Of two seeds of a task that are nearer, one goes; the paper names none."""

Tasks = Mapping[tuple[str, str], Sequence[SeedTask]]
"""(format, name) of a source -> the tasks that read it."""


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
"""(task, what is given) -> the query."""


def tasks_of_sources(step: StepContext[RefuteBenchSettings]) -> Tasks:
    """Which tasks read which source."""
    settings = step.settings
    found: dict[tuple[str, str], list[SeedTask]] = defaultdict(list)
    for task in TASKS:
        for spec in settings.sources.get(task, ()):
            found[spec.format, spec.name].append(task)
    return found


def tasks_of(source: Assignment, tasks: Tasks) -> Sequence[Slot]:
    """A seed of the source record for each task that reads it; of a released seed, its own task's alone."""
    reading = tasks.get((source.format, source.source.source), ())
    return [{"task": task} for task in ([source.task] if source.task and reading else reading)]


async def make_seed(source: Assignment, slot: Slot, ctx: Context) -> Seed:
    """Section 4.1: the initial query, of texts that are neither too short nor too long for the task."""
    task = next(one for one in TASKS if one == slot["task"])
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
    """As many of each task as are wanted, in an order that is the run seed's: a new source row moves few of them.

    No query stands twice; no two seeds of a task have one text, and none are near in meaning (in a language that the
    embedder does not read, equal texts alone are found): for a duplicate the next in order comes in, so that no more
    are compared than are taken.
    """
    settings = ctx.settings
    queries: dict[str, Seed] = {}
    by_task: dict[str, list[Seed]] = defaultdict(list)
    for seed in seeds:
        by_task[seed.task].append(seed)
    for task in TASKS:
        ordered = sorted(by_task[task], key=lambda seed: (content_hash(ctx.step.seed, seed.id), seed.key))
        ordered = list(_each_text_once(_without(queries, ordered, ctx), ctx))
        taken = settings.seeds_per_task
        while True:
            near = _near_duplicates(ordered[:taken], ctx.step.embedder)
            missing = settings.seeds_per_task - (len(ordered[:taken]) - len(near))
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
        if ordered and missing > 0:
            ctx.note(f"{task}: {settings.seeds_per_task - missing} seeds; {settings.seeds_per_task} are wanted")


def _without(queries: Mapping[str, Seed], seeds: Sequence[Seed], ctx: SetContext[RefuteBenchSettings]) -> list[Seed]:
    """The seeds whose query is none of another task's."""
    for seed in seeds:
        if (same := queries.get(seed.query)) is not None:
            ctx.drop(seed, Drop("query of another task", seed.query[:200], related_id=same.id))
    return [seed for seed in seeds if seed.query not in queries]


def _each_text_once(seeds: Sequence[Seed], ctx: SetContext[RefuteBenchSettings]) -> Iterator[Seed]:
    first: dict[str, Seed] = {}
    for seed in seeds:
        same = first.setdefault(" ".join(seed.text.lower().split()), seed)
        if same is seed:
            yield seed
        else:
            ctx.drop(seed, Drop("duplicate text", seed.text[:200], related_id=same.id))


def _near_duplicates(seeds: Sequence[Seed], embedder: Embedder) -> Mapping[str, Drop]:
    """By key, why a seed goes."""
    read = [seed for seed in seeds if embedder.reads(seed.text)]
    by_id = {seed.id: seed for seed in read}
    vectors = embedder.embed([seed.text for seed in read])
    return {
        by_id[one.id].key: Drop(
            "near-duplicate", by_id[one.related_id].text[:200], related_id=one.related_id, value=one.cosine
        )
        for one in deduplicate([seed.id for seed in read], vectors, cosine_above=COSINE_ABOVE).removed
    }
