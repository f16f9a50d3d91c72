"""Proves that each of RefuteBench's finished rows is what it claims.

The verifier shares nothing with the builder but the schemas: it computes everything again with its own code.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from flows.construct.verification import Fault, VerifyContext
from schemas.refutebench import FOCUSES, DialogueTurn, ProtocolSettings, Rating, RefutationDialogue, Seed


def verify_seeds(rows: Iterable[Seed], ctx: VerifyContext) -> Iterator[Fault]:
    """Each query contains its whole text, and no text occurs twice among the seeds of a task."""
    seen: set[object] = set()
    for row in rows:
        problems = list(_twice(seen, row.key, row.id, (row.task, " ".join(row.text.lower().split()))))
        if row.text not in row.query:
            problems.append("the query does not hold its text")
        if row.reference and row.reference in row.query and row.reference not in row.text:
            problems.append("the query gives its reference away")
        if row.kind == "request" and row.query != row.text:
            problems.append("the request is not the query")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_protocol(rows: Iterable[ProtocolSettings], ctx: VerifyContext) -> Iterator[Fault]:
    """One record, with the build's settings."""
    for place, row in enumerate(rows):
        if place:
            yield Fault(id=row.id, problem="it stands twice")
        names = ("rounds", "unrelated", "refuters", "evaluated", "evaluators")
        if differing := [name for name in names if getattr(row, name) != getattr(ctx.settings, name)]:
            yield Fault(id=row.id, problem=f"its {', '.join(differing)} are not those of the build's settings")


def verify_dialogues(rows: Iterable[RefutationDialogue], ctx: VerifyContext) -> Iterator[Fault]:
    """Each dialogue has the turns of its protocol, on its seed; every model met the same focus at the same place."""
    seeds = ctx.rows_by("seeds", lambda seed: seed.key)
    by_query = ctx.rows_by("seeds", lambda seed: seed.query)
    seen: set[object] = set()
    focuses: dict[tuple[str, str, int], tuple[str, str]] = {}
    for row in rows:
        slot = row.seed, row.protocol, row.unrelated, row.refuter, row.model
        problems = list(_twice(seen, row.key, row.id, slot))
        seed = seeds.get(row.seed)
        if seed is None:
            problems.append(f"no seed is called {row.seed}")
        elif (seed.query, seed.task) != (row.query, row.task):
            problems.append("its query or task is not its seed's")
        problems += _turn_problems(row, ctx.settings.rounds)
        problems += _refutation_problems(row)
        between = [turn.text for turn in row.turns if turn.role == "user" and turn.kind == "unrelated"]
        if any(query not in by_query or by_query[query].task == row.task for query in between):
            problems.append("an unrelated query is no seed's of another task")
        if len(set(between)) < len(between):
            problems.append("an unrelated query is put twice")
        for number, turn in enumerate(_said(row, "refutation")):
            if row.refuter == "agent":
                place = focuses.setdefault((row.seed, row.protocol, number), (turn.focus, row.model))
                if place[0] != turn.focus:
                    problems.append(f"refutation {number} is about {turn.focus}, with {place[1]} about {place[0]}")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _twice(seen: set[object], *names: object) -> Iterator[str]:
    if any(name in seen for name in names):
        yield "it stands twice"
    seen.update(names)


def _said(row: RefutationDialogue, kind: str) -> Sequence[DialogueTurn]:
    return [turn for turn in row.turns if turn.role == "user" and turn.kind == kind]


def _turn_problems(row: RefutationDialogue, rounds: int) -> Iterator[str]:
    if row.protocol == "transient":
        wanted = ["query"] + ["refutation"] * rounds
    else:
        wanted = ["query", "refutation"] + (["unrelated"] * row.unrelated + ["query"] if row.unrelated else [])
    if [turn.kind for turn in row.turns[::2]] != wanted or len(row.turns) != 2 * len(wanted):
        yield f"its turns are not those of a {row.protocol} dialogue"
    if any(turn.role != ("assistant" if place % 2 else "user") for place, turn in enumerate(row.turns)):
        yield "user and assistant do not take turns"
    if any(asked.kind != answer.kind for asked, answer in list(pairwise(row.turns))[::2]):
        yield "an answer is not of the kind of what it answers"
    if any(not turn.text.strip() for turn in row.turns):
        yield "somebody says nothing"
    if any(turn.text != row.query for turn in _said(row, "query")):
        yield "its query is put in other words"


def _refutation_problems(row: RefutationDialogue) -> Iterator[str]:
    texts = [" ".join(turn.text.lower().split()) for turn in _said(row, "refutation")]
    if len(set(texts)) < len(texts):
        yield "a refutation is said twice"
    if any(turn.focus not in FOCUSES for turn in _said(row, "refutation")):
        yield "a refutation has no focus"
    if any(turn.focus for turn in row.turns if turn.role == "assistant" or turn.kind != "refutation"):
        yield "what is no refutation has a focus"


def verify_ratings(rows: Iterable[Rating], ctx: VerifyContext) -> Iterator[Fault]:
    """Each rating is the last in its explanation, and shows the texts of its dialogue."""
    dialogues = ctx.rows_by("dialogues", lambda dialogue: dialogue.id)
    seen: set[object] = set()
    for row in rows:
        slot = row.dialogue, row.evaluator, row.aspect, row.refutation_number, row.answer_number
        problems = list(_twice(seen, row.key, row.id, slot))
        if _last_rating(row.explanation) != str(row.rating) or row.rating not in range(1, 6):
            problems.append(f"its explanation does not end with the rating {row.rating}")
        dialogue = dialogues.get(row.dialogue)
        if dialogue is None:
            problems.append(f"no dialogue is called {row.dialogue}")
        else:
            problems += _shown_problems(row, dialogue)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _last_rating(reply: str) -> str:
    end = reply.rfind("]]")
    while end >= 0:
        inside = reply[:end].rpartition("[[")[2]
        if "[[" in reply[:end] and not {"[", "]"} & set(inside):
            return inside.strip()
        end = reply.rfind("]]", 0, end + 1)
    return ""


def _shown_problems(row: Rating, dialogue: RefutationDialogue) -> Iterator[str]:
    about = ("task", "protocol", "unrelated", "refuter", "style", "model", "query")
    if any(getattr(row, name) != getattr(dialogue, name) for name in about):
        yield "it is of another dialogue"
    answers, refutations = dialogue.answers, dialogue.refutations
    if row.answer_number >= len(answers) or row.response != answers[row.answer_number]:
        yield f"the rated answer is not answer {row.answer_number}"
    number = row.refutation_number
    if (row.aspect == "task") != (number is None):
        yield "it is of a refutation and of the task"
    elif number is None:
        if row.previous or row.refutation or row.earlier:
            yield "a rating of the task shows a refutation"
    elif number >= len(refutations) or row.refutation != refutations[number] or row.previous != answers[number]:
        yield f"it does not show refutation {number} and the answer that was refuted"
    elif row.answer_number <= number:
        yield "the answer was given before the refutation"
    elif row.earlier != _between(dialogue, number):
        yield f"it does not show what was said before refutation {number}"


def _between(dialogue: RefutationDialogue, number: int) -> tuple[DialogueTurn, ...]:
    """The turns after the query and before the answer that the refutation of this number criticises."""
    turns = [turn for turn in dialogue.turns if turn.kind != "unrelated"]
    refutations = [place for place, turn in enumerate(turns) if (turn.role, turn.kind) == ("user", "refutation")]
    return tuple(turns[1 : refutations[number] - 1])
