"""The evaluator (section 4.3): ratings of the answers of finished dialogues, from 1 to 5."""

from collections.abc import Sequence

from flows.construct.engine import Context, Slot, StepContext
from flows.families.refutebench.prompts import RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask, rating_of
from flows.families.refutebench.settings import RefuteBenchSettings
from schemas.refutebench import Protocol, Rating, RefutationDialogue


def who_rate(step: StepContext[RefuteBenchSettings]) -> Sequence[str]:
    """The evaluators."""
    settings = step.settings
    return settings.evaluators


def ratings_of(dialogue: RefutationDialogue, evaluators: Sequence[str]) -> Sequence[Slot]:
    """What is rated of a dialogue, by each evaluator.

    How each refutation is followed by the answer to it, R(a_{i+1}, r_i), as section 5.1.1 has it; how the first is by
    every later answer, R(a_j, r_0), of which table 5 takes the last and figure 6 the course; and of a transient
    dialogue how every answer does what the query asks, R(q, a_j), of which table 6 takes the first and the last.
    """
    return _ratings(dialogue.protocol, len(dialogue.answers), len(dialogue.refutations), evaluators)


def ratings_planned(slot: Slot, settings: RefuteBenchSettings) -> Sequence[Slot]:
    """What is rated of the dialogue of a slot once it is finished."""
    if slot["protocol"] == "transient":
        return _ratings("transient", settings.rounds + 1, settings.rounds, settings.evaluators)
    return _ratings("persistent", 3 if slot["unrelated"] else 2, 1, settings.evaluators)


def _ratings(protocol: Protocol, answers: int, refutations: int, evaluators: Sequence[str]) -> Sequence[Slot]:
    """The same, of a dialogue with so many answers to its query and refutations of them."""
    pairs = [(i, j) for i in range(refutations) for j in range(i + 1, answers) if i == 0 or j == i + 1]
    rated: list[Slot] = [{"aspect": "refutation", "refutation": i, "answer": j} for i, j in pairs]
    if protocol == "transient":
        rated += [{"aspect": "task", "refutation": -1, "answer": j} for j in range(answers)]
    return [{"evaluator": evaluator, **one} for evaluator in evaluators for one in rated]


async def open_rating(dialogue: RefutationDialogue, slot: Slot, ctx: Context) -> Rating:
    """What an evaluator is shown (figure 4).

    The paper leaves open which answer stands before a later one's: it is always the answer that was refuted, a_i, so
    that R(a1, r0) and R(a3, r0) differ in the new answer alone.
    """
    refuted, answer = int(slot["refutation"]), int(slot["answer"])
    about = slot["aspect"] == "refutation"
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
        aspect="refutation" if about else "task",
        refutation_number=refuted if about else None,
        answer_number=answer,
        query=dialogue.query,
        earlier=dialogue.turns[1 : 2 * refuted + 1] if about else (),
        previous=dialogue.answers[refuted] if about else "",
        refutation=dialogue.refutations[refuted] if about else "",
        response=dialogue.answers[answer],
        provenance=ctx.provenance(dialogue),
    )


async def rate(opened: Rating, ctx: Context) -> Rating:
    """Figure 4; the paper leaves open how R(q, a) is asked: with the query and the answer alone.

    A reply without a rating is shown to the evaluator and asked again, then dropped as such: it is never a score.
    """
    if opened.aspect == "refutation":
        asked = ToRate(
            query=opened.query, previous=opened.previous, refutation=opened.refutation, response=opened.response
        )
        reply = await ctx.ask(RATE_REFUTATION, asked, model=opened.evaluator)
    else:
        reply = await ctx.ask(
            RATE_TASK, ToRateTask(query=opened.query, response=opened.response), model=opened.evaluator
        )
    rating = rating_of(reply.text)
    assert rating is not None  # the prompt's check
    return opened.revised(explanation=reply.text, rating=rating, provenance=ctx.asked_of(opened.provenance))
