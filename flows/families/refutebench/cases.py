"""The dialogues whose attention is analysed (section 5.3): one of each task and protocol.

"A random case is selected for each task": drawn from the run's seed by query and refuter, so that it is the same for
every evaluated model that finished it. The paper leaves open the C of a persistent dialogue: we take the largest, where
there is the most to forget.
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
    """Return, by protocol and task, the finished dialogues in the order in which they are drawn."""
    dialogues: list[RefutationDialogue] = list(ctx.records("dialogues"))

    def drawn(dialogue: RefutationDialogue) -> str:
        return content_hash(ctx.seed, "attention", dialogue.seed, dialogue.refuter)

    candidates = {}
    for protocol in PROTOCOLS:
        for task in TASKS:
            matching = [dialogue for dialogue in dialogues if (dialogue.protocol, dialogue.task) == (protocol, task)]
            most = max((dialogue.unrelated for dialogue in matching), default=0)
            longest = sorted((dialogue for dialogue in matching if dialogue.unrelated == most), key=drawn)
            if longest:
                candidates[f"{protocol}, {task}"] = [_read(dialogue) for dialogue in longest]
    return DialogueCases(candidates, NAMES)


def _read(dialogue: RefutationDialogue) -> ReadDialogue:
    after = f", C = {dialogue.unrelated}" if dialogue.protocol == "persistent" else ""
    return ReadDialogue(
        f"dialogue {dialogue.id} with {dialogue.model}, refuted by {dialogue.refuter}{after}",
        tuple(Said(role=turn.role, text=turn.text) for turn in dialogue.turns),
        tuple(turn_names(dialogue)),
    )


def turn_names(dialogue: RefutationDialogue) -> list[str]:
    """Return section 3's names: q, a0, r0, a1, ... Answers are numbered as in ratings."""
    letters = [_LETTERS[turn.role, turn.kind] for turn in dialogue.turns]
    names = []
    for place, letter in enumerate(letters):
        before = letters[:place].count(letter)
        names.append(letter + ("'" * before if letter == "q" else str(before + (letter in "ub"))))
    return names
