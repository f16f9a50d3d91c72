"""RefuteBench 2.0's meta-evaluation (section 4.4): refutations, and the answers to them, as people rate them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flows.construct.records import Records
from schemas.annotation import Annotation
from schemas.base import content_hash, key_of
from schemas.refutebench import RATINGS, Rating
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, Turn, task_of

SCALE = tuple(map(str, RATINGS))  # section 4.4.1: "ranging from 1 to 5"
FOLLOWING = "following"
AGENT_FIRST, TEMPLATE_FIRST, AGENT_THIRD, EVALUATOR = "agent-first", "template-first", "agent-third", "evaluator"
SPEAKERS = {"user": "User", "assistant": "Assistant"}


def _scale(name: str, question: str, ends: tuple[str, str]) -> Choice:
    return Choice(name=name, question=question, options=SCALE, ordered=True, ends=ends)


REFUTE_RATING = Rubric(
    name="refute-rating",
    title="How good is the refutation, and did the model follow it?",
    version=2,
    guideline="guideline.refute-rating.md",
    shows=(
        Shown(name="dialogue", title="Dialogue, up to the answer that is refuted", kind="dialogue"),
        Shown(name="refutation", title="Refutation"),
        Shown(name="response", title="New answer"),
    ),
    listed="refutation",
    asks=(
        _scale(
            "human_likeness", "Human-likeness: could a person have written the refutation?", ("a template", "a person")
        ),
        _scale(
            "appropriateness",
            "Appropriateness: does the refutation fit what was asked and answered?",
            ("not at all", "one sensible thing, not yet done"),
        ),
        _scale(FOLLOWING, "Following: does the new answer do what the refutation asks?", ("not at all", "all of it")),
    ),
    people_per_item=2,  # "two annotators"
    samples=(
        Sample(name=AGENT_FIRST, size=50),  # "50 data points from RefuteBench 1.0 and 50 from RefuteBench 2.0",
        Sample(name=TEMPLATE_FIRST, size=50),  # of which people see (q, a_0, r_0)
        Sample(name=AGENT_THIRD, size=50),  # "the third refutation in the transient scenarios", of no number
        Sample(name=EVALUATOR, size=100),  # "100 data points from the machine translation dataset"
    ),
)
"""Departure: the paper asks for the first two while people see the query, the answer and the refutation (4.4.1), and
for the third with the new answer as well (4.4.2), in two rounds. We ask for all three in one form; the guideline says
to answer the first two before reading the new answer."""


class _Candidate(NamedTuple):
    """A rating that people may be asked about; of those that show the same, the first one is taken."""

    evaluator: str
    key: str
    model: str
    samples: tuple[str, ...]
    """The samples that it may be drawn for."""


def tasks(ratings: Records[Rating], seed: int, rubric: Rubric = REFUTE_RATING) -> list[Task]:
    """The samples, each drawn from what those before it left; all of it if there is less.

    They depend on the run seed and on what is shown, not on the ratings' order nor on the evaluators. The evaluated
    models are equally frequent in each, as far as possible: "responses from various LLMs".

    The paper leaves open which protocol the first refutations belong to. Ours are of transient dialogues: the
    persistent refutation of a seed criticises the same answer for the same thing, and differs in "from now on".
    """
    candidates: dict[str, _Candidate] = {}
    for rating in filter(_rates_next_answer, ratings):
        shown = _task(rating, "", rubric).id
        samples = tuple(sample.name for sample in rubric.samples if _belongs(rating, sample.name))
        candidate = _Candidate(rating.evaluator, rating.key, rating.model, samples)
        candidates[shown] = min(candidate, candidates.get(shown, candidate))
    sample_of: dict[str, str] = {}
    """By key of the rating, in the order of the tasks."""
    for sample in rubric.samples:
        by_model: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for shown, candidate in candidates.items():
            if sample.name in candidate.samples:
                by_model[candidate.model].append((content_hash(seed, sample.name, shown), shown))
        in_turn = sorted(
            (turn, *entry) for drawn_of_model in by_model.values() for turn, entry in enumerate(sorted(drawn_of_model))
        )
        sample_of |= {candidates.pop(shown).key: sample.name for *_, shown in in_turn[: sample.size]}
    drawn = {rating.key: _task(rating, sample_of[rating.key], rubric) for rating in ratings if rating.key in sample_of}
    return [drawn[key] for key in sample_of]


def evaluators_ratings(ratings: Records[Rating], sampled: Sequence[Task]) -> Iterator[Annotation]:
    """Each evaluator's ratings of the answers that people rate (section 4.4.2)."""
    by_key = {task.item_key: task for task in sampled}
    asked = {_place(rating): by_key[rating.key] for rating in ratings if rating.key in by_key}
    for rating in filter(_rates_next_answer, ratings):
        if (task := asked.get(_place(rating))) is not None:
            answers = {FOLLOWING: str(rating.rating)}
            yield Annotation(task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=rating.evaluator,
                             answers=answers, source=rating.id)  # fmt: skip


def _rates_next_answer(rating: Rating) -> bool:
    """Return whether a rating is R(a_{i+1}, r_i) of a transient dialogue."""
    number = rating.refutation_number
    return rating.protocol == "transient" and number is not None and rating.answer_number == number + 1


def _belongs(rating: Rating, sample: str) -> bool:
    if sample == TEMPLATE_FIRST:
        return rating.refuter == "template" and rating.refutation_number == 0
    if sample == EVALUATOR:  # "along with refutation instructions generated by LLaMA3.1-70b-Inst"
        return rating.refuter == "agent" and rating.task == "translation"
    return rating.refuter == "agent" and rating.refutation_number == (0 if sample == AGENT_FIRST else 2)


def _place(rating: Rating) -> tuple[str, int | None]:
    return rating.dialogue, rating.refutation_number


def _task(rating: Rating, sample: str, rubric: Rubric) -> Task:
    """The task for people of a rating: it hides who refuted, who answered, who rated, and the rating.

    Its key is that of the refutation, so that people's answers stay valid with another evaluator.
    """
    turns = [
        Turn(speaker=SPEAKERS["user"], text=rating.query),
        *(Turn(speaker=SPEAKERS[turn.role], text=turn.text) for turn in rating.earlier),
        Turn(speaker=SPEAKERS["assistant"], text=rating.previous),
    ]
    shown: dict[str, str | tuple[Turn, ...]] = {
        "dialogue": tuple(turns), "refutation": rating.refutation, "response": rating.response,
    }  # fmt: skip
    key = key_of("task", rubric.name, rating.dialogue, {"refutation": rating.refutation_number or 0, "sample": sample})
    return task_of(rating, rubric, shown, sample=sample).model_copy(update={"key": key})
