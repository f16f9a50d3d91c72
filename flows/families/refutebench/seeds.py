"""Seed queries (section 4.1): initial queries out of anybody's sentences, documents, headlines and prompts."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

from flows.construct.dedupe import deduplicate
from flows.construct.engine import Context, Drop, Records, SetContext, Slot, StepContext
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


def tasks_of_sources(step: StepContext) -> Tasks:
    """Which tasks read which source."""
    settings: RefuteBenchSettings = step.settings
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


async def drop_duplicates(seeds: Records[Seed], ctx: SetContext) -> AsyncIterator[Seed]:
    """No two seeds of a task with one text, and none whose texts are near in meaning.

    In a language that the embedder does not read, equal texts alone are found.
    """
    first: dict[tuple[str, str], Seed] = {}
    read: dict[str, list[Seed]] = defaultdict(list)
    gone: dict[str, Drop] = {}
    everything = sorted(seeds, key=lambda seed: seed.key)
    for seed in everything:
        same = first.setdefault((seed.task, " ".join(seed.text.lower().split())), seed)
        if same is not seed:
            gone[seed.key] = Drop("duplicate text", seed.text[:200], related_id=same.id)
        elif ctx.step.embedder.reads(seed.text):
            read[seed.task].append(seed)
    for own in read.values():
        by_id = {seed.id: seed for seed in own}
        vectors = ctx.step.embedder.embed([seed.text for seed in own])
        for one in deduplicate([seed.id for seed in own], vectors, cosine_above=COSINE_ABOVE).removed:
            related = by_id[one.related_id]
            evidence = related.text[:200]
            gone[by_id[one.id].key] = Drop("near-duplicate", evidence, related_id=related.id, value=one.cosine)
    for seed in everything:
        if (drop := gone.get(seed.key)) is not None:
            ctx.drop(seed, drop)
        else:
            yield seed


async def choose_seeds(seeds: Records[Seed], ctx: SetContext) -> AsyncIterator[Seed]:
    """As many of each task as are wanted, in an order that is the run seed's: a new source row moves few of them."""
    settings: RefuteBenchSettings = ctx.settings
    by_task: dict[str, list[Seed]] = defaultdict(list)
    for seed in seeds:
        by_task[seed.task].append(seed)
    for task in TASKS:
        ordered = sorted(by_task[task], key=lambda seed: (content_hash(ctx.step.seed, seed.id), seed.key))
        for place, seed in enumerate(ordered):
            if place < settings.seeds_per_task:
                yield seed
            else:
                ctx.drop(seed, Drop("more than are wanted", value=place + 1))
        if 0 < len(ordered) < settings.seeds_per_task:
            ctx.note(f"{task}: {len(ordered)} seeds; {settings.seeds_per_task} are wanted")
