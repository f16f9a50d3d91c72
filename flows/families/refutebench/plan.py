"""The plan of a build: which seeds, dialogues and ratings there are, and how many, before anything is asked."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from flows.construct.engine import Slot, StepContext
from flows.families.refutebench.prompts import CHECK_REFUTATION, RATE_REFUTATION, RATE_TASK, REFUTE, RESPOND
from flows.families.refutebench.protocol import places_rated
from flows.families.refutebench.settings import RefuteBenchSettings
from schemas.refutebench import PLAIN, TASKS, Protocol, RefutationDialogue, Seed, SeedTask, style_of
from schemas.source import Assignment

TEMPLATE_TASKS = ("translation", "writing")
"""The tasks that version 1.0's templates refute (its third task, question answering, is none of version 2.0's)."""

TasksOfSources = Mapping[tuple[str, str], Sequence[SeedTask]]
"""(format, name) of a source -> the tasks that read it."""


# ---- seeds ----


def tasks_of_sources(step: StepContext[RefuteBenchSettings]) -> TasksOfSources:
    """Return the tasks that read each source."""
    settings = step.settings
    tasks: dict[tuple[str, str], list[SeedTask]] = defaultdict(list)
    for task in TASKS:
        for spec in settings.sources.get(task, ()):
            tasks[spec.format, spec.name].append(task)
    return tasks


def tasks_of(source: Assignment, tasks: TasksOfSources) -> Sequence[Slot]:
    """Return a slot for each task that reads the source record; for a released seed, only its own task."""
    reading = tasks.get((source.format, source.source.source), ())
    return [{"task": task} for task in ([source.task] if source.task and reading else reading)]


# ---- dialogues ----


def dialogues_of(seed: Seed, settings: RefuteBenchSettings) -> Sequence[Slot]:
    """Return a dialogue of each protocol, for each model and each refuter that knows the task."""
    return [
        {"model": model, "refuter": refuter, **protocol}
        for model in settings.evaluated
        for refuter in settings.refuters
        if refuter == "agent" or seed.task in TEMPLATE_TASKS
        for protocol in protocols_of(settings)
    ]


def style_in(slot: Slot, settings: RefuteBenchSettings) -> str:
    """Return the style of the refutations of a slot's dialogue; the template's are plain."""
    return style_of(settings.style) if slot["refuter"] == "agent" else PLAIN


def protocols_of(settings: RefuteBenchSettings) -> Sequence[Slot]:
    """Return transient, and persistent for each C."""
    persistent: list[Slot] = [{"protocol": "persistent", "unrelated": count} for count in settings.unrelated]
    return [{"protocol": "transient", "unrelated": 0}, *persistent]


def kinds_of(settings: RefuteBenchSettings) -> Sequence[tuple[str, int]]:
    """Return the dialogues about a seed that a program with a refuting model can hold; none for templates alone."""
    kinds = [(str(slot["protocol"]), int(slot["unrelated"])) for slot in protocols_of(settings)]
    return kinds if "agent" in settings.refuters else []


# ---- ratings ----


def evaluators_of(step: StepContext[RefuteBenchSettings]) -> Sequence[str]:
    """Return the evaluators."""
    return step.settings.evaluators


def ratings_of(dialogue: RefutationDialogue, evaluators: Sequence[str]) -> Sequence[Slot]:
    """Return the ratings of a dialogue, by each evaluator."""
    return _ratings(dialogue.protocol, len(dialogue.answers), len(dialogue.refutations), evaluators)


def ratings_planned(slot: Slot, settings: RefuteBenchSettings) -> Sequence[Slot]:
    """Return the ratings of a slot's dialogue once it is finished."""
    if slot["protocol"] == "transient":
        return _ratings("transient", settings.rounds + 1, settings.rounds, settings.evaluators)
    return _ratings("persistent", 3 if slot["unrelated"] else 2, 1, settings.evaluators)


def _ratings(protocol: Protocol, answers: int, refutations: int, evaluators: Sequence[str]) -> Sequence[Slot]:
    ratings: list[Slot] = [
        {"aspect": "task" if i is None else "refutation", "refutation": -1 if i is None else i, "answer": j}
        for i, j in places_rated(protocol, answers, refutations)
    ]
    return [{"evaluator": evaluator, **rating} for evaluator in evaluators for rating in ratings]


# ---- numbers for estimates, if nothing is dropped ----


def tasks_per_record(settings: RefuteBenchSettings) -> int:
    """Return the tasks of a source record, for the source that most tasks read; a released seed has only one."""
    reading = Counter(
        source for specs in settings.sources.values() for source in {(spec.format, spec.name) for spec in specs}
    )
    return max((tasks for (format_, _), tasks in reading.items() if format_ != "touchstone"), default=1)


def seeds_wanted(settings: RefuteBenchSettings) -> int:
    """Return the seeds over all tasks that have a source."""
    tasks = [task for task in TASKS if settings.sources.get(task)]
    released = any(spec.format == "touchstone" for task in tasks for spec in settings.sources[task])
    return settings.seeds_per_task * len(TASKS if released else tasks)


def dialogues_per_seed(settings: RefuteBenchSettings) -> int:
    """Return the dialogues of a seed whose task every refuter knows."""
    return len(settings.evaluated) * len(settings.refuters) * len(protocols_of(settings))


def dialogue_calls(settings: RefuteBenchSettings) -> Mapping[str, float]:
    """Return the calls of a dialogue, by prompt; the template refutes without a model."""

    def mean(transient: int, persistent: Callable[[int], int]) -> float:
        """Over the dialogues of a seed; `persistent` by C."""
        return (transient + sum(map(persistent, settings.unrelated))) / (1 + len(settings.unrelated))

    answers = mean(settings.rounds + 1, lambda count: 3 + count if count else 2)
    refuted = mean(settings.rounds, lambda count: 1)
    refuted *= ("agent" in settings.refuters) / len(settings.refuters)
    return {RESPOND.name: answers, REFUTE.name: refuted, CHECK_REFUTATION.name: refuted}


def rating_calls(settings: RefuteBenchSettings) -> Mapping[str, float]:
    """Return the calls of a rating, by prompt; it rates either a refutation or the task."""
    ratings = _ratings_per_seed(settings)
    following = sum(rating["aspect"] == "refutation" for rating in ratings) / len(ratings)
    return {RATE_REFUTATION.name: following, RATE_TASK.name: 1 - following}


def ratings_per_dialogue(settings: RefuteBenchSettings) -> float:
    """Return the mean number of ratings of a dialogue, over the protocols."""
    return len(_ratings_per_seed(settings)) / len(protocols_of(settings))


def _ratings_per_seed(settings: RefuteBenchSettings) -> Sequence[Slot]:
    """Return the ratings of a seed's dialogues with one model and refuter."""
    return [rating for protocol in protocols_of(settings) for rating in ratings_planned(protocol, settings)]
