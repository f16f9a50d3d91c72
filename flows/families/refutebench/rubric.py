"""RefuteBench 2.0's meta-evaluation (section 4.4): refutations, and the answers to them, as people rate them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from schemas.annotation import Annotation
from schemas.base import content_hash, key_of
from schemas.refutebench import RATINGS, Rating
from schemas.rubric import Choice, Rubric, Sample, Shown, Task, Turn, task_of

SCALE = tuple(map(str, RATINGS))  # section 4.4.1: "ranging from 1 to 5"
FOLLOWING = "following"
AGENT_FIRST, TEMPLATE_FIRST, AGENT_THIRD, EVALUATOR = "agent-first", "template-first", "agent-third", "evaluator"
SPEAKERS = {"user": "User", "assistant": "Assistant"}

REFUTE_RATING = Rubric(
    name="refute-rating",
    title="How good is the refutation, and was it followed?",
    version=1,
    guideline="guideline.refute-rating.md",
    shows=(
        Shown(name="dialogue", title="Dialogue, up to the answer that is refuted", kind="dialogue"),
        Shown(name="refutation", title="Refutation"),
        Shown(name="response", title="New answer"),
    ),
    listed="refutation",
    asks=(
        Choice(
            name="human_likeness",
            question="Human-likeness: could a person have written the refutation?",
            options=SCALE,
            ordered=True,
            ends=("a template", "a person"),
        ),
        Choice(
            name="appropriateness",
            question="Appropriateness: does the refutation fit what was asked and answered?",
            options=SCALE,
            ordered=True,
            ends=("not at all", "one sensible thing, not done yet"),
        ),
        Choice(
            name=FOLLOWING,
            question="Following: does the new answer do what the refutation asks?",
            options=SCALE,
            ordered=True,
            ends=("not at all", "all of it"),
        ),
    ),
    people_per_item=2,  # "two annotators"
    samples=(
        Sample(name=AGENT_FIRST, size=50),  # "50 data points from RefuteBench 1.0 and 50 from RefuteBench 2.0",
        Sample(name=TEMPLATE_FIRST, size=50),  # of which people see (q, a_0, r_0)
        Sample(name=AGENT_THIRD, size=50),  # "the third refutation in the transient scenarios", of no number
        Sample(name=EVALUATOR, size=100),  # "100 data points from the machine translation dataset"
    ),
)
"""Departure: the paper asks for the first two with the query, the answer and the refutation before people (4.4.1), and
for the third with the new answer as well (4.4.2), in two rounds; we ask for all in one form, and the guideline for the
first two before the new answer is read."""


def tasks(ratings: Iterable[Rating], seed: int, rubric: Rubric = REFUTE_RATING) -> list[Task]:
    """The samples, each drawn of what those before it left; all that there is, where there is less.

    Which they are depends on the run seed and on what is shown, not on the ratings' order, nor on who evaluates. The
    evaluated models stand in each in equal numbers, so far as they have so many: "responses from various LLMs".

    The paper leaves open of which protocol the first refutations are: all are of transient dialogues, for the
    persistent one of a seed contradicts the same answer about the same thing, and differs from it in "from now on".
    """
    candidates: dict[str, Rating] = {}
    for one in sorted(filter(_answers_it, ratings), key=lambda one: (one.evaluator, one.key)):
        candidates.setdefault(_task(one, "", rubric).id, one)
    drawn: list[Task] = []
    for sample in rubric.samples:
        by_model: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for shown, one in candidates.items():
            if _belongs(one, sample.name):
                by_model[one.model].append((content_hash(seed, sample.name, shown), shown))
        in_turn = sorted((turn, *each) for own in by_model.values() for turn, each in enumerate(sorted(own)))
        drawn += [_task(candidates.pop(shown), sample.name, rubric) for *_, shown in in_turn[: sample.size]]
    return drawn


def evaluators_ratings(ratings: Iterable[Rating], sampled: Sequence[Task]) -> Iterator[Annotation]:
    """What each evaluator gave for the answers that people rate (section 4.4.2)."""
    given = list(filter(_answers_it, ratings))
    by_key = {one.key: one for one in given}
    asked = {_place(by_key[task.item_key]): task for task in sampled}
    for one in given:
        if (task := asked.get(_place(one))) is not None:
            answers = {FOLLOWING: str(one.rating)}
            yield Annotation(task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=one.evaluator,
                             answers=answers, source=one.id)  # fmt: skip


def _answers_it(one: Rating) -> bool:
    """Whether it is R(a_{i+1}, r_i) of a transient dialogue."""
    number = one.refutation_number
    return one.protocol == "transient" and number is not None and one.answer_number == number + 1


def _belongs(one: Rating, sample: str) -> bool:
    if sample == TEMPLATE_FIRST:
        return one.refuter == "template" and one.refutation_number == 0
    if sample == EVALUATOR:  # "along with refutation instructions generated by LLaMA3.1-70b-Inst"
        return one.refuter == "agent" and one.task == "translation"
    return one.refuter == "agent" and one.refutation_number == (0 if sample == AGENT_FIRST else 2)


def _place(one: Rating) -> tuple[str, int | None]:
    return one.dialogue, one.refutation_number


def _task(one: Rating, sample: str, rubric: Rubric) -> Task:
    """What people see of a rating: nothing of who refuted, who answered, who rated, and how.

    Its key is that of the refutation, so that another evaluator leaves what people did as it is.
    """
    turns = [
        Turn(speaker=SPEAKERS["user"], text=one.query),
        *(Turn(speaker=SPEAKERS[turn.role], text=turn.text) for turn in one.earlier),
        Turn(speaker=SPEAKERS["assistant"], text=one.previous),
    ]
    shown: dict[str, str | tuple[Turn, ...]] = {
        "dialogue": tuple(turns), "refutation": one.refutation, "response": one.response,
    }  # fmt: skip
    key = key_of("task", rubric.name, one.dialogue, {"refutation": one.refutation_number or 0, "sample": sample})
    return task_of(one, rubric, shown, sample=sample).model_copy(update={"key": key})
