"""People and submissions that stand out from the others on the same form, by rules that the page states."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from annotation.agreement import SharedWork, agreement_by_person
from annotation.measures import share_interval
from annotation.quality import MOST_MINUTES, minutes_of
from flows.annotate.report import minutes_text
from schemas.annotation import Annotation
from schemas.rubric import Rubric

LEAST = 10
"""Items of a person, and of the others together, before the two are compared; a share of fewer has no interval."""
LEAST_OTHERS = 2
"""Others whose speed is known, before a person's is compared with theirs: of two people nobody knows who is right."""
FAST, SLOW = 0.5, 2.0
"""A person's median time over the median of the others' medians, at and beyond which it stands out."""
CHANCE = 0.001
"""A person's unvaried answers stand out if the others' share of that answer would give them less often than this."""
LEFT_OPEN = 3
"""Forms that a person left open, from which on the person stands out, not only the forms."""
HASTY = 0.1
"""A submission that took less than this share of its form's median time stands out."""
RULES = (
    f"People stand out on a form if, with {LEAST} items or more, their median time is at most {FAST:g} or at least "
    f"{SLOW:g} times the median of {LEAST_OTHERS} others or more; if they always give an answer that, by the others' "
    f"share of it, would come about in fewer than {CHANCE * 1000:g} of 1,000 cases; if the 95 % interval of their "
    "agreement lies below the others', or that of the suggestions they left unchanged above; if they left "
    f"{LEFT_OPEN} forms open. A submission stands out if its form was open for {MOST_MINUTES:g} minutes or more, or "
    f"for less than {HASTY:g} of the form's median time."
)
"""The rules in words."""


class Share(NamedTuple):
    """A share of things, with its 95 % interval if they are `LEAST` or more."""

    value: float
    number: int
    """What it is a share of: items, questions, suggestions."""
    low: float | None
    high: float | None


def share(part: float, of: int, number: int | None = None) -> Share | None:
    """Return `part` of `of`, which come from `number` independent items; None of nothing."""
    if not of:
        return None
    number = of if number is None else number
    low, high = share_interval(part / of, number) if number >= LEAST else (None, None)
    return Share(part / of, number, low, high)


def agreed(shared: Sequence[SharedWork]) -> Share | None:
    """Return the share of the shared answers that are the same, over its items."""
    return share(sum(work.agreed for work in shared), sum(work.pairs for work in shared), len(shared))


def unusual_people(works: Mapping[str, Sequence[Annotation]], rubric: Rubric) -> dict[str, list[str]]:
    """Return, by person, why their time or their answers stand out; `works` has each person's on one form."""
    reasons: dict[str, list[str]] = {by: [] for by in works}
    medians = {by: median(times) for by, done in works.items() if len(times := times_of(done)) >= LEAST}
    for by, own in medians.items():
        others = [value for other, value in medians.items() if other != by]
        if len(others) >= LEAST_OTHERS and not FAST < own / median(others) < SLOW:
            how = "faster" if own < median(others) else "slower"
            told = f"median {minutes_text(own)} minutes, the others {minutes_text(median(others))}"
            reasons[by].append(f"{how} than the others: {told}")
    for ask in rubric.asks:
        answers = {by: Counter(work.answers[ask.name] for work in done if ask.name in work.answers)
                   for by, done in works.items()}  # fmt: skip
        everybody = sum(answers.values(), Counter[str]())
        for by, own_answers in answers.items():
            others_number = everybody.total() - own_answers.total()
            if len(own_answers) != 1 or min(own_answers.total(), others_number) < LEAST:
                continue
            ((answer, number),) = own_answers.items()
            others_share = (everybody[answer] - number) / others_number
            if others_share**number < CHANCE:
                reasons[by].append(
                    f"always answers “{answer}” to {ask.name}, {number:,} times; the others in {others_share:.0%}"
                )
    for by, done in works.items():
        if (left_open := sum(is_left_open(work) for work in done)) >= LEFT_OPEN:
            reasons[by].append(f"{left_open:,} forms open for {MOST_MINUTES:g} minutes or more")
    return {by: told for by, told in reasons.items() if told}


def disagreeing(shared: Sequence[SharedWork]) -> dict[str, str]:
    """Return the people whose agreement lies below the others', with the reason."""
    return {
        by: f"agrees less than the others: {own.value:.0%}, the others {others.value:.0%}"
        for by in agreement_by_person(shared)
        if (own := agreed([work for work in shared if work.by == by]))
        and (others := agreed([work for work in shared if work.by != by]))
        and own.high is not None
        and others.low is not None
        and own.high < others.low
    }


def unvarying(taken: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return the people who leave more suggestions unchanged than the others; by person, unchanged and all of them."""
    told = {}
    for by, (unchanged, suggested) in taken.items():
        own = share(unchanged, suggested)
        others = share(
            sum(number for other, (number, _) in taken.items() if other != by),
            sum(number for other, (_, number) in taken.items() if other != by),
        )
        if own and others and own.low is not None and others.high is not None and own.low > others.high:
            told[by] = f"leaves more suggestions unchanged: {own.value:.0%}, the others {others.value:.0%}"
    return told


def unusual_submissions(works: Sequence[Annotation]) -> list[tuple[Annotation, str]]:
    """Return the submissions of one form that took unusually long or short, the shortest first, with the reason."""
    times = times_of(works)
    bar = HASTY * median(times) if len(times) >= LEAST else 0.0
    return [
        (work, f"open for {work.seconds / 60:,.0f} minutes" if is_left_open(work) else f"{work.seconds:.0f} seconds")
        for work in sorted(works, key=lambda work: (work.seconds, work.at, work.source))
        if work.seconds and (is_left_open(work) or minutes_of(work) < bar)
    ]


def is_left_open(work: Annotation) -> bool:
    """Return whether the form was open so long that nobody can have worked on it all the time."""
    return work.seconds / 60 >= MOST_MINUTES


def times_of(works: Sequence[Annotation]) -> list[float]:
    """Return the minutes of the works whose time is known."""
    return [minutes_of(work) for work in works if work.seconds]
