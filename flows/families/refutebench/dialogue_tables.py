"""The tables of RefuteBench's dialogues: their length (table 2), and those that were not finished or rated."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.measures import Condition, LineName, cell_frame
from flows.families.refutebench.plan import dialogues_of, ratings_of, style_in
from flows.families.refutebench.prompts import ANSWER_TOKENS, RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.llm.prices import estimate_tokens
from flows.scoring.on_disk import Rows
from schemas.base import key_of
from schemas.refutebench import TASKS, Rating, RefutationDialogue

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


@dataclass
class _Sums:
    """Of the dialogues of a line of table 2."""

    dialogues: int = 0
    seeds: int = 0
    turns: int = 0
    tokens: int = 0
    sent_and_said: int = 0
    of_evaluation: int = 0


class Statistics:
    """Table 2: seeds, turns and tokens of the dialogues of each model, protocol and task, added one by one."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], _Sums] = {}
        """By model, refuter, style, protocol and task."""
        self._line_of = Rows()
        """By id of a dialogue, its line."""
        self._seeds = Rows()

    def add(self, dialogue: RefutationDialogue) -> None:
        """Add a dialogue."""
        persistent = dialogue.protocol == "persistent"
        protocol = f"persistent, C = {dialogue.unrelated}" if persistent else dialogue.protocol
        line = (*Condition.of(dialogue), protocol, dialogue.task)
        tokens = [estimate_tokens(turn.text) for turn in dialogue.turns]
        sums = self._sums.setdefault(line, _Sums())
        sums.dialogues += 1
        sums.seeds += self._seeds.add(f"{dialogue.seed} {line}", None)
        sums.turns += len(tokens)
        sums.tokens += sum(tokens)
        # What is sent for an answer, and the answer, are all that was said up to it.
        sums.sent_and_said += sum(list(accumulate(tokens))[1::2])
        self._line_of.add(dialogue.id, line)

    def add_rating(self, rating: Rating) -> None:
        """Add a rating of one of the dialogues."""
        if (line := self._line_of.get(rating.dialogue)) is not None:
            self._sums[tuple(line)].of_evaluation += _tokens_of_rating(rating)

    @property
    def conditions(self) -> set[Condition]:
        """The conditions of the dialogues."""
        return {Condition(*line[:3]) for line in self._sums}

    def cells(self, named: LineName) -> "pd.DataFrame":
        """Return the table: numbers of seeds, and means."""
        lines: list[tuple[str, str | int, float, int]] = []
        for (*condition, protocol, task), sums in self._sums.items():
            columns = {
                "seeds": float(sums.seeds),
                "turns": sums.turns / sums.dialogues,
                "tokens a turn": sums.tokens / sums.turns,
                "tokens a dialogue": sums.sent_and_said / sums.dialogues,
                "tokens of its evaluation": sums.of_evaluation / sums.dialogues,
            }
            row = named(Condition(*condition), None, protocol, task)
            lines += [(row, name, value, sums.dialogues) for name, value in columns.items()]
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


class Accounts:
    """Every planned dialogue and rating by outcome; dialogues are added one by one, and then the ratings given."""

    def __init__(self, ctx: DialogueContext) -> None:
        self._ctx = ctx
        self._settings: RefuteBenchSettings = ctx.settings
        self._accounts: dict[Condition, Account] = defaultdict(Counter)
        self._planned = Rows()
        """By key of a rating that is planned of a dialogue: model, refuter, style, task and evaluator."""
        self._left = Counter[tuple[Condition, str]]()
        """Of these, the ratings that were neither given nor dropped."""

    def add(self, dialogue: RefutationDialogue) -> None:
        """Add a finished dialogue."""
        condition, task = Condition.of(dialogue), dialogue.task
        account = self._accounts[condition]
        account.update([("dialogues planned", task), ("dialogues finished", task)])
        account.update((CUT_OFF, task) for turn in dialogue.turns if turn.cut_off)
        account[PROMPT_CUT, task] += any(turn.prompt_cut for turn in dialogue.turns)
        for slot in ratings_of(dialogue, self._settings.evaluators):
            key = key_of("refutebench", "ratings", dialogue.key, slot)
            self._planned.add(key, (*condition, task, slot["evaluator"]))
            account["ratings planned", task] += 1
            self._left[condition, task] += 1

    def add_rating(self, rating: Rating) -> None:
        """Add a rating that was given."""
        self._accounts[Condition.of(rating)]["ratings given", rating.task] += 1
        self._take(rating.key)

    def _take(self, key: str) -> tuple[Condition, str, str] | None:
        """Return of what a rating is planned, and of which evaluator, and take it from those that are left."""
        if (planned := self._planned.get(key)) is None:
            return None
        *condition, task, evaluator = planned
        self._left[Condition(*condition), task] -= 1
        return Condition(*condition), task, evaluator

    def by_condition(self) -> dict[Condition, Account]:
        """Return the accounts, with what was dropped and what is missing; empty if the dialogues are not known."""
        for condition, task, reason in self._dropped_dialogues():
            self._accounts[condition].update([("dialogues planned", task), (f"dialogues dropped: {reason}", task)])
        if not any(what == "dialogues planned" for account in self._accounts.values() for what, _ in account):
            return {}
        for dropped in self._ctx.dropped("ratings"):
            planned = self._take(dropped.key)
            assert planned is not None
            condition, task, evaluator = planned
            by = f" ({evaluator})" if len(self._settings.evaluators) > 1 else ""
            self._accounts[condition][f"ratings failed: {dropped.reason}{by}", task] += 1
        for (condition, task), number in self._left.items():
            if number:
                self._accounts[condition]["ratings missing", task] = number
        return dict(self._accounts)

    def _dropped_dialogues(self) -> Iterator[tuple[Condition, str, str]]:
        """Yield condition, task and reason of each dialogue that was dropped."""
        planned = Rows(
            (
                key_of("refutebench", "dialogues", seed.key, slot),
                (slot["model"], slot["refuter"], style_in(slot, self._settings), seed.task),
            )
            for seed in self._ctx.records("seeds")
            for slot in dialogues_of(seed, self._settings)
        )
        for dropped in self._ctx.dropped("dialogues"):
            *condition, task = planned.get(dropped.key)
            yield Condition(*condition), task, dropped.reason


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
