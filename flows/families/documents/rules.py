"""The documents family without a model: questions from sentences of a few plain forms (`flows/language/asking.py`).

They are right by construction. The rules read a passage as they ask about it, so they answer a question only where they
would ask it too, and they know nothing without a passage.
"""

import random
import re
from functools import lru_cache

from flows.families.documents.checks import YES_OR_NO, agree, answer_problem, question_problem
from flows.families.documents.prompts import (
    CONTRADICT,
    NOT_KNOWN,
    NOT_THERE,
    Judgement,
    Pair,
    Same,
    Stated,
    ToAnswer,
    ToAnswerFromBoth,
    ToAsk,
    ToCompare,
    ToJudge,
    ToRead,
    ToRecall,
    ToState,
    ToWeigh,
    Weighed,
)
from flows.language.asking import Asked, asked_of, is_named_form
from flows.language.pointing import points_outside, unlinked
from flows.llm.model import RuleSet, Text
from schemas.base import content_hash

NOTHING = Pair(question="", answer="", evidence=())


@lru_cache(4096)
def _asked(language: str, text: str, title: str | None) -> tuple[Asked, ...]:
    return tuple(asked_of(language, text, title))


def ask_pair(asked: ToAsk, rng: random.Random) -> Pair:
    """One of the questions of the kind that the passage gives; of two passages none."""
    if len(asked.passages) > 1:
        return NOTHING
    possible = [
        one
        for one in _asked(asked.language, asked.passages[0], asked.title)
        if one.kind == asked.kind
        and question_problem(asked.language, asked.kind, one.question, one.answer, asked.passages) is None
        and answer_problem(asked.language, asked.kind, one.answer, [one.sentence], ()) is None
    ]
    if not possible:
        return NOTHING
    # Another sentence in the passage changes the choice seldom: only where its question comes first.
    chosen = min(possible, key=lambda one: content_hash("asked", one.question, one.answer))
    return Pair(question=chosen.question, answer=chosen.answer, evidence=(chosen.sentence,))


def judge_question(asked: ToJudge, rng: random.Random) -> Judgement:
    """No fault: the rules ask in forms in which people ask."""
    return Judgement(fault="none", why="")


def read_answer(asked: ToRead, rng: random.Random) -> Text:
    """The answer, if the rules would ask the question about the passage; the question may name what that is about."""
    known = _asked(asked.language, asked.passage, asked.title)
    answers = (one.answer for one in known if is_named_form(asked.question, one.question))
    return Text(text=next(answers, NOT_THERE))


def recall_answer(asked: ToRecall, rng: random.Random) -> Text:
    """Nothing: the rules know no facts."""
    return Text(text=NOT_KNOWN)


def same_answer(asked: ToCompare, rng: random.Random) -> Same:
    """Whether the words are the same."""
    return Same(same="yes" if agree(asked.language, asked.answer, asked.other) else "no")


def weigh_answers(asked: ToWeigh, rng: random.Random) -> Weighed:
    """A contradiction where the rules would ask the question about both passages, for a number or date.

    Of two names, definitions or lists they cannot tell, so the question is no pair, and there is no conflict.
    """
    known = _asked(asked.language, asked.second.passage, asked.second.title)
    found = next((one for one in known if is_named_form(asked.question, one.question)), None)
    if found is None or {asked.kind, found.kind} != {"number"}:
        return Weighed(verdict="do not both answer the question", why="the rules weigh numbers and dates alone")
    return Weighed(verdict=CONTRADICT, why="", answer=found.answer, evidence=(found.sentence,))


def state(asked: ToState, rng: random.Random) -> Stated:
    """The sentence without a word that ties it to the one before, if nothing in it points outside."""
    sentence = unlinked(asked.language, " ".join(asked.sentence.split()))
    if points_outside(asked.language, sentence) is not None or re.search(r"[.!?。！？]$", sentence) is None:
        return Stated(statement="")
    return Stated(statement=sentence)


def answer(asked: ToAnswer, rng: random.Random) -> Text:
    """The answer of the passage, as when it is read for a check; without one, a guess."""
    if asked.evidence is None:
        return Text(text=YES_OR_NO[asked.language][0])
    passage = ToRead(
        question=asked.question, passage=asked.evidence, title=asked.title, place="", language=asked.language
    )
    return read_answer(passage, rng)


def answer_from_both(asked: ToAnswerFromBoth, rng: random.Random) -> Text:
    """The answer of the first passage that has one."""
    replies = [
        answer(ToAnswer(question=asked.question, evidence=text, title=title, language=asked.language), rng).text
        for text, title in ((asked.upper, asked.upper_title), (asked.lower, asked.lower_title))
    ]
    return Text(text=next((reply for reply in replies if reply != NOT_THERE), NOT_THERE))


RULES_VERSION = 8
"""Raised when an answer changes for the same inputs."""
RULES: RuleSet = {
    "ask_pair": ask_pair,
    "judge_question": judge_question,
    "read_answer": read_answer,
    "recall_answer": recall_answer,
    "same_answer": same_answer,
    "weigh_answers": weigh_answers,
    "state": state,
    "answer": answer,
    "answer_from_both": answer_from_both,
}
