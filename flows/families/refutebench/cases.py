"""The dialogues whose attention is looked at (section 5.3): one of each task and protocol.

"A random case is selected for each task": drawn from the run's seed by query and refuter, so that of every evaluated
model the same one is looked at, where it finished it. Which C a persistent one has, the paper leaves open: it is the
largest, with which there is the most to be forgotten.
"""

from flows.construct.evaluation import DialogueCases, DialogueContext, ReadDialogue
from flows.llm.model import Said
from schemas.base import content_hash
from schemas.refutebench import PROTOCOLS, TASKS, RefutationDialogue

NAMES = (
    "q is the query and a0 its answer, r0 a refutation and a1 what is answered to it, and so on; u1 is the first "
    "unrelated query and b1 its answer; q' is the query put again"
)

_LETTERS = {
    ("user", "query"): "q", ("user", "refutation"): "r", ("user", "unrelated"): "u",
    ("assistant", "query"): "a", ("assistant", "refutation"): "a", ("assistant", "unrelated"): "b",
}  # fmt: skip


def cases(ctx: DialogueContext) -> DialogueCases:
    """By protocol and task, the finished dialogues in the order in which they are drawn."""
    dialogues: list[RefutationDialogue] = list(ctx.records("dialogues"))

    def drawn(one: RefutationDialogue) -> str:
        return content_hash(ctx.seed, "attention", one.seed, one.refuter)

    candidates = {}
    for protocol in PROTOCOLS:
        for task in TASKS:
            own = [one for one in dialogues if (one.protocol, one.task) == (protocol, task)]
            most = max((one.unrelated for one in own), default=0)
            longest = sorted((one for one in own if one.unrelated == most), key=drawn)
            if longest:
                candidates[f"{protocol}, {task}"] = [_read(one) for one in longest]
    return DialogueCases(candidates, NAMES)


def _read(dialogue: RefutationDialogue) -> ReadDialogue:
    after = f", C = {dialogue.unrelated}" if dialogue.protocol == "persistent" else ""
    return ReadDialogue(
        f"dialogue {dialogue.id} with {dialogue.model}, refuted by {dialogue.refuter}{after}",
        tuple(Said(role=turn.role, text=turn.text) for turn in dialogue.turns),
        tuple(turn_names(dialogue)),
    )


def turn_names(dialogue: RefutationDialogue) -> list[str]:
    """Section 3's names: q, a0, r0, a1, ... Answers are numbered as ratings number them."""
    letters = [_LETTERS[turn.role, turn.kind] for turn in dialogue.turns]
    names = []
    for place, letter in enumerate(letters):
        before = letters[:place].count(letter)
        names.append(letter + ("'" * before if letter == "q" else str(before + (letter in "ub"))))
    return names
