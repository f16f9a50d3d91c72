"""Agreement between people on a rubric's questions, and between programs and people on its scales.

An item is a task, under the id of the view that people saw. A person's last annotation of a task counts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from annotation import measures
from schemas.annotation import Agreement, Annotation, Comparison, Means
from schemas.base import content_hash
from schemas.rubric import Choice, Rubric

Ratings = Mapping[str, Mapping[str, int]]
"""By task and person, the rating."""


def agreement_of(
    rubric: Rubric, annotations: Iterable[Annotation], seed: int = 0, draws: int = measures.DRAWS
) -> list[Agreement]:
    """Return how far people agree on each question of a rubric, by the measures that suit it.

    - a choice: percent agreement, Cohen's and Fleiss' kappa, nominal alpha;
    - a choice on a scale: percent agreement, ordinal alpha, Pearson's and Spearman's correlation;
    - a text: the share of pairs who wrote the same, since two texts can both be right; notes are left out, and boxes
      that somebody left empty, but for those with a field of the record, where nothing written corrects nothing;
    - a mark: the mean F1 of the marked tokens.

    Intervals are bootstrapped over the items, seeded, with `draws` samples; with 0 there are none.
    """
    last = _last(annotations)
    rows: list[Agreement] = []
    for ask in rubric.asks:
        answers = _items({place: work.answers.get(ask.name) for place, work in last.items()})
        for measure, function in _measures(ask).items():
            used = measures.of_one_size(answers) if measure == "Fleiss' kappa" else answers
            rows.append(_row(ask.name, measure, used, function, seed, draws))
    for write in (write for write in rubric.writes if not write.note):
        empty = "" if write.corrects else None
        texts = _items(
            {place: " ".join(work.answers.get(write.name, "").split()) or empty for place, work in last.items()}
        )
        rows.append(_row(write.name, "identical texts", texts, measures.percent_agreement, seed, draws))
    for mark in rubric.marks:
        spans = _items({place: work.marks.get(mark.name, ()) for place, work in last.items()})
        rows.append(_row(mark.name, "token F1", spans, measures.mean_token_f1, seed, draws))
    return rows


class SharedWork(NamedTuple):
    """A person's work on a task whose choices others answered too."""

    task: str
    by: str
    at: str
    agreed: int
    """Pairs of an answer and another person's to the same question that are the same."""
    pairs: int
    """All such pairs; at least one."""


def shared_work(rubric: Rubric, annotations: Iterable[Annotation]) -> list[SharedWork]:
    """Return each person's shared work on the rubric's choices, by task and person."""
    by_task: dict[str, list[Annotation]] = defaultdict(list)
    for (task, _), work in _last(annotations).items():
        by_task[task].append(work)
    shared = []
    for task, works in by_task.items():
        for work in works:
            same = [
                work.answers[ask.name] == other.answers[ask.name]
                for ask in rubric.asks
                for other in works
                if other is not work and ask.name in work.answers and ask.name in other.answers
            ]
            if same:
                shared.append(SharedWork(task, work.by, work.at, sum(same), len(same)))
    return shared


def agreement_by_person(shared: Iterable[SharedWork]) -> dict[str, float]:
    """Return the share of shared answers in which another person agrees, of each person who has any."""
    agreed: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for work in shared:
        agreed[work.by] += work.agreed
        pairs[work.by] += work.pairs
    return {by: agreed[by] / pairs[by] for by in sorted(pairs)}


def program_agreement(
    rubric: Rubric,
    annotations: Iterable[Annotation],
    programs: Iterable[Annotation],
    samples: Mapping[str, str],
    seed: int = 0,
    draws: int = measures.DRAWS,
) -> list[Comparison]:
    """Return how far each program's ratings correlate with people's, on the rubric's scales that programs rated.

    By sample (`samples` has that of each task): each program with the mean of people's ratings of an item and, if there
    are several people, with each of them; and people among themselves, for comparison. Intervals as in `agreement_of`.
    """
    of_people, of_programs = _last(annotations), _last(programs)
    rows: list[Comparison] = []
    for sample, ask in _scales(rubric, samples):
        rated = _ratings(of_people, samples, sample, ask)
        machine = _ratings(of_programs, samples, sample, ask)
        people = sorted({by for item in rated.values() for by in item})
        groups = (tuple(people), *(((by,) for by in people) if len(people) > 1 else ()))
        for program in sorted({by for item in machine.values() for by in item}):
            for codes in groups:
                pairs = _paired(machine, program, rated, codes)
                for measure, function in (("Pearson", measures.pearson_of), ("Spearman", measures.spearman_of)):
                    place = content_hash(seed, sample, program, codes, ask.name, measure)
                    row = _measured(ask.name, measure, pairs, function, codes, place, draws)
                    rows.append(Comparison(**dict(row), sample=sample, program=program))
        if machine:
            among = [{by: ask.options[place - 1] for by, place in item.items()} for _, item in sorted(rated.items())]
            for measure in ("Pearson", "Spearman"):
                row = _row(ask.name, measure, among, _measures(ask)[measure], seed, draws)
                rows.append(Comparison(**dict(row), sample=sample, program=""))
    return rows


def mean_ratings(rubric: Rubric, annotations: Iterable[Annotation], samples: Mapping[str, str]) -> list[Means]:
    """Return people's mean ratings on the rubric's scales, by sample (`samples` has that of each task)."""
    last = _last(annotations)
    by_sample: dict[str, dict[str, Ratings]] = defaultdict(dict)
    for sample, ask in _scales(rubric, samples):
        if rated := _ratings(last, samples, sample, ask):
            by_sample[sample][ask.name] = rated
    return [
        Means(
            sample=sample,
            means={name: fmean(fmean(item.values()) for item in rated.values()) for name, rated in questions.items()},
            items=len({task for rated in questions.values() for task in rated}),
            people=tuple(sorted({by for rated in questions.values() for item in rated.values() for by in item})),
        )
        for sample, questions in by_sample.items()
    ]


def _measures(ask: Choice) -> dict[str, Callable[[Sequence[measures.Item]], measures.Measured]]:
    options = ask.options
    if ask.ordered:
        return {
            "percent agreement": measures.percent_agreement,
            "Krippendorff's alpha (ordinal)": measures.krippendorff(options, "ordinal"),
            "Pearson": lambda items: measures.pearson(items, options),
            "Spearman": lambda items: measures.spearman(items, options),
        }
    return {
        "percent agreement": measures.percent_agreement,
        "Cohen's kappa": measures.cohen_kappa,
        "Fleiss' kappa": measures.fleiss(options),
        "Krippendorff's alpha (nominal)": measures.krippendorff(options),
    }


def _row(
    question: str,
    measure: str,
    items: Sequence[Mapping[str, measures.T]],
    function: Callable[[Sequence[Mapping[str, measures.T]]], measures.Measured],
    seed: int,
    draws: int,
) -> Agreement:
    shared = [item for item in items if len(item) > 1]
    people = sorted({by for item in shared for by in item})
    measuring = function if shared else lambda shared: measures.Measured(None, measures.not_shared(items))
    return _measured(question, measure, shared, measuring, people, content_hash(seed, question, measure), draws)


def _measured(
    question: str,
    measure: str,
    items: Sequence[measures.T],
    function: Callable[[Sequence[measures.T]], measures.Measured],
    people: Iterable[str],
    seed: str,
    draws: int,
) -> Agreement:
    value, reason = function(items)
    low, high = None, None
    if value is not None and len(items) > 1 and draws:
        low, high = measures.bootstrap(items, function, seed, draws)
    return Agreement(
        question=question,
        measure=measure,
        value=value,
        low=low,
        high=high,
        items=len(items),
        people=tuple(people),
        reason=reason,
    )


def _last(annotations: Iterable[Annotation]) -> dict[tuple[str, str], Annotation]:
    """Return the last annotation of each task by each person, sorted by (task, person)."""
    return dict(sorted({(work.task, work.by): work for work in annotations}.items(), key=lambda item: item[0]))


def _items(answers: Mapping[tuple[str, str], measures.T | None]) -> list[Mapping[str, measures.T]]:
    """Return the answers to each task, by person."""
    items: dict[str, dict[str, measures.T]] = defaultdict(dict)
    for (task, by), answer in answers.items():
        if answer is not None:
            items[task][by] = answer
    return list(items.values())


def _scales(rubric: Rubric, samples: Mapping[str, str]) -> Iterator[tuple[str, Choice]]:
    """Yield the rubric's scales for each of its samples that has tasks."""
    used = set(samples.values())
    for sample in [sample.name for sample in rubric.samples] or [""]:
        yield from ((sample, ask) for ask in rubric.asks if ask.ordered and sample in used)


def _ratings(
    last: Mapping[tuple[str, str], Annotation], samples: Mapping[str, str], sample: str, ask: Choice
) -> dict[str, dict[str, int]]:
    """Return the ratings on a scale, 1, 2, ..., by task of a sample and by person or program."""
    rated: dict[str, dict[str, int]] = defaultdict(dict)
    for (task, by), work in last.items():
        if samples.get(task) == sample and ask.name in work.answers:
            rated[task][by] = ask.options.index(work.answers[ask.name]) + 1
    return dict(rated)


def _paired(machine: Ratings, program: str, rated: Ratings, codes: Sequence[str]) -> list[tuple[float, float]]:
    """Return, for each item that both rated, the program's rating and the mean of the people's."""
    return [
        (item[program], fmean(ratings))
        for task, item in machine.items()
        if program in item and (ratings := [rated[task][by] for by in codes if by in rated.get(task, {})])
    ]
