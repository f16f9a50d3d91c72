"""The length of RefuteBench's dialogues and of their evaluation (table 2)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean

import pandas as pd

from flows.families.refutebench.lines import Condition, LineName, cell_frame
from flows.families.refutebench.prompts import RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask
from flows.llm.prices import estimate_tokens
from schemas.refutebench import Rating, RefutationDialogue

TOKENS_TOLD = (
    "tokens are estimated from the texts: one a Chinese, Japanese or Korean character, one for four others; a "
    "dialogue's are all that the model was sent, the whole history with each message, and all that it said; its "
    "evaluation's are the packaged prompts of the ratings that were given, and what the evaluators said"
)


def statistics(dialogues: Sequence[RefutationDialogue], ratings: Sequence[Rating], named: LineName) -> pd.DataFrame:
    """Table 2: seeds, turns and tokens of the dialogues of each model, protocol and task."""
    evaluation: Counter[str] = Counter()
    for rating in ratings:
        evaluation[rating.dialogue] += _tokens_of_rating(rating)
    groups: dict[str, list[RefutationDialogue]] = defaultdict(list)
    for dialogue in dialogues:
        persistent = dialogue.protocol == "persistent"
        protocol = f"persistent, C = {dialogue.unrelated}" if persistent else dialogue.protocol
        groups[named(Condition.of(dialogue), None, protocol, dialogue.task)].append(dialogue)
    lines: list[tuple[str, str | int, float, int]] = []
    for row, group in groups.items():
        turns = [[estimate_tokens(turn.text) for turn in dialogue.turns] for dialogue in group]
        columns = {
            "seeds": float(len({dialogue.seed for dialogue in group})),
            "turns": fmean(map(len, turns)),
            "tokens a turn": fmean(tokens for dialogue in turns for tokens in dialogue),
            # What is sent for an answer, and the answer, are all that was said up to it.
            "tokens a dialogue": fmean(sum(list(accumulate(dialogue))[1::2]) for dialogue in turns),
            "tokens of its evaluation": fmean(evaluation[dialogue.id] for dialogue in group),
        }
        lines += [(row, name, value, len(group)) for name, value in columns.items()]
    return cell_frame(lines)


def _tokens_of_rating(rating: Rating) -> int:
    if rating.refutation_number is None:
        messages = RATE_TASK.messages(ToRateTask(query=rating.query, response=rating.response))
    else:
        asked = ToRate(
            query=rating.query, previous=rating.previous, refutation=rating.refutation, response=rating.response
        )
        messages = RATE_REFUTATION.messages(asked)
    return sum(estimate_tokens(message["content"]) for message in messages) + estimate_tokens(rating.explanation)
