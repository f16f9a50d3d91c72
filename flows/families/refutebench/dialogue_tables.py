"""The tables of RefuteBench's dialogues: their length (table 2), and those that were not finished or rated."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.measures import Condition, LineName, cell_frame
from flows.families.refutebench.plan import dialogues_of, ratings_of, style_in
from flows.families.refutebench.prompts import ANSWER_TOKENS, RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.llm.prices import estimate_tokens
from schemas.base import key_of
from schemas.refutebench import TASKS, Rating, RefutationDialogue, Seed

if TYPE_CHECKING:
    import pandas as pd

TOKENS_TOLD = (
    "tokens are estimated from the texts: one a Chinese, Japanese or Korean character, one for four others; a "
    "dialogue's are all that the model was sent, the whole history with each message, and all that it said; its "
    "evaluation's are the packaged prompts of the ratings that were given, and what the evaluators said"
)
CUT_OFF = "answers cut off"
PROMPT_CUT = "dialogues cut to the window"
Account = Counter[tuple[str, str]]
"""(what, task) -> how many."""


def statistics(dialogues: Sequence[RefutationDialogue], ratings: Sequence[Rating], named: LineName) -> "pd.DataFrame":
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


# ---- not finished, and not rated ----


def accounts_of(
    ctx: DialogueContext,
    settings: RefuteBenchSettings,
    ratings: Sequence[Rating],
    dialogues: Sequence[RefutationDialogue],
    seeds: Sequence[Seed],
) -> dict[Condition, Account]:
    """Count every planned dialogue and rating by outcome; empty if the dialogues are not known."""
    accounts: dict[Condition, Account] = defaultdict(Counter)
    conditions = {
        key_of("refutebench", "dialogues", seed.key, slot): (
            Condition(str(slot["model"]), str(slot["refuter"]), style_in(slot, settings)),
            seed.task,
        )
        for seed in seeds
        for slot in dialogues_of(seed, settings)
    }
    evaluators = {
        key_of("refutebench", "ratings", dialogue.key, slot): (
            Condition.of(dialogue), dialogue.task, str(slot["evaluator"])
        )
        for dialogue in dialogues
        for slot in ratings_of(dialogue, settings.evaluators)
    }  # fmt: skip
    for dialogue in dialogues:
        account, task = accounts[Condition.of(dialogue)], dialogue.task
        account.update([("dialogues planned", task), ("dialogues finished", task)])
        account.update((CUT_OFF, task) for turn in dialogue.turns if turn.cut_off)
        account[PROMPT_CUT, task] += any(turn.prompt_cut for turn in dialogue.turns)
    for dropped in ctx.dropped("dialogues"):
        condition, task = conditions[dropped.key]
        accounts[condition].update([("dialogues planned", task), (f"dialogues dropped: {dropped.reason}", task)])
    if not accounts:
        return {}
    left = dict(evaluators)
    for condition, task, _ in evaluators.values():
        accounts[condition]["ratings planned", task] += 1
    for rating in ratings:
        accounts[Condition.of(rating)]["ratings given", rating.task] += 1
        left.pop(rating.key, None)
    for dropped in ctx.dropped("ratings"):
        condition, task, evaluator = left.pop(dropped.key)
        by = f" ({evaluator})" if len(settings.evaluators) > 1 else ""
        accounts[condition][f"ratings failed: {dropped.reason}{by}", task] += 1
    for condition, task, _ in left.values():
        accounts[condition]["ratings missing", task] += 1
    return dict(accounts)


def account_cells(accounts: Mapping[Condition, Account], named: LineName) -> "pd.DataFrame":
    tasks = {task for account in accounts.values() for _, task in account}
    return cell_frame(
        (named(condition, None, what), task, float(account[what, task]), 1)
        for condition, account in sorted(accounts.items())
        for what in sorted({what for what, _ in account} | {"dialogues finished", "ratings planned", "ratings given"})
        for task in TASKS
        if task in tasks
    )


def account_note(line: str, account: Account) -> str | None:
    """The records that a line lacks, in one sentence; None if it lacks none."""
    faults = []
    for things, fault, verb in (("dialogues", "dropped", "finished"), ("ratings", "failed", "given")):
        reasons: Counter[str] = Counter()
        for (what, _), count in account.items():
            if what.startswith(f"{things} {fault}: "):
                reasons[what.partition(": ")[2]] += count
        planned = sum(count for (what, _), count in account.items() if what == f"{things} planned")
        if reasons:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
            faults.append(f"{reasons.total():,} of {planned:,} {things} were not {verb} ({listed})")
    if faults:
        faults.append("they are no scores")
    if cut := sum(count for (what, _), count in account.items() if what == CUT_OFF):
        faults.append(f"answers refuted and rated as they were cut off at {ANSWER_TOKENS:,} tokens: {cut:,}")
    if cut := sum(count for (what, _), count in account.items() if what == PROMPT_CUT):
        faults.append(f"dialogues whose longest messages were cut to fit into the model's window: {cut:,}")
    return f"{line}: {'; '.join(faults)}" if faults else None
