"""The documents family's prompts, with the form of each answer."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from flows.families.documents import checks
from flows.families.documents.score import own_words
from flows.language.pointing import question_points_outside
from flows.language.quotes import stretch_of
from flows.llm.model import Invalid, Prompt, Text, require, require_plain_text
from schemas.base import Frozen
from schemas.documents import Kind, Weighing

HERE = Path(__file__).parent


class ToAsk(Frozen):
    """One passage, or two for a question of two steps, to ask about."""

    kind: Kind
    passages: tuple[str, ...] = Field(min_length=1, max_length=2)
    places: tuple[str, ...] = Field(description="Where each stands: document, page and headings")
    title: str | None = Field(description="Title of the document")
    language: str
    wish: Literal["yes", "no"] = Field("yes", description="Of yes or no, the answer to ask for if it is natural")


class Pair(Frozen):
    """A question with its answer. All is empty if there is nothing of the kind to ask."""

    need: str = Field("", description="Who asks, and what for: whoever has thought of it words the question better")
    question: str
    answer: str
    evidence: tuple[str, ...] = Field(description="The sentences that the answer rests on, word for word")
    steps: tuple[str, ...] = Field((), description="How a derived answer follows from them")

    @field_validator("question", "answer")
    @classmethod
    def _stripped(cls, text: str) -> str:
        return text.strip()


class ToJudge(Frozen):
    """A question to be judged by what people would ask."""

    question: str
    answer: str
    passage: str
    title: str | None
    place: str = Field(description="Where the passage stands; empty if that is not known")
    language: str


Fault = Literal[
    "none",
    "has to be asked back",
    "tells what only the passage tells",
    "is contrived",
    "is not worth asking",
    "has more than one right answer",
    "has an answer that leaves something out",
]


class Judgement(Frozen):
    """What is wrong with a question."""

    fault: Fault
    why: str


class ToRead(Frozen):
    """A question to be answered from a passage alone."""

    question: str
    passage: str
    title: str | None = Field(description="Title of the document: it may say whom the passage is about")
    place: str = Field(description="Where the passage stands; empty if that is not known")
    language: str


class ToRecall(Frozen):
    """A question to be answered from memory."""

    question: str
    language: str


class ToCompare(Frozen):
    """Two answers to a question."""

    question: str
    answer: str
    other: str
    language: str


class Same(Frozen):
    """Whether both answers say the same."""

    same: Literal["yes", "no"]


class ToState(Frozen):
    """A sentence to be made understood by itself."""

    sentence: str
    passage: str
    title: str | None
    language: str


class Stated(Frozen):
    """The sentence, with what only its passage says put into it; empty if that cannot be done."""

    statement: str

    @field_validator("statement")
    @classmethod
    def _on_one_line(cls, text: str) -> str:
        return " ".join(text.split())


class ToAnswer(Frozen):
    """A question to an evaluated model, with the evidence or without it."""

    question: str
    evidence: str | None
    title: str | None = Field(description="Title of the document that the evidence is of")
    language: str


class ToAnswerFromBoth(Frozen):
    """A question to an evaluated model, with two passages that contradict each other, in the order of the prompt."""

    question: str
    upper: str = Field(description="The passage that is shown first")
    upper_title: str | None = Field(description="Title of the document that it is of")
    lower: str
    lower_title: str | None
    language: str


class Told(Frozen):
    """A passage with the answer that it gives."""

    answer: str
    passage: str
    title: str | None
    place: str = Field(description="Where it stands; empty if that is not known")


class ToWeigh(Frozen):
    """Two passages that give different answers to a question."""

    question: str
    kind: Kind
    first: Told
    second: Told
    language: str


CONTRADICT: Weighing = "contradict each other"


class Weighed(Frozen):
    """Whether the passages contradict each other, and where the second gives its answer."""

    verdict: Weighing
    why: str
    answer: str = Field("", description="The second passage's, in its words; empty if they do not contradict")
    evidence: tuple[str, ...] = Field((), description="The sentences of the second passage that it rests on")


def _check_pair(asked: ToAsk, pair: Pair) -> None:
    if not pair.question:
        return
    require(checks.sentences_problem(asked.passages, pair.evidence))
    require(checks.question_problem(asked.language, asked.kind, pair.question, pair.answer, asked.passages))
    require(checks.answer_problem(asked.language, asked.kind, pair.answer, pair.evidence, pair.steps))


def _check_weighed(asked: ToWeigh, weighed: Weighed) -> None:
    if weighed.verdict != CONTRADICT:
        return
    require(checks.sentences_problem([asked.second.passage], weighed.evidence))
    require(checks.told_problem(asked.language, asked.kind, weighed.answer, weighed.evidence))
    if not all(own_words(asked.first.answer, weighed.answer, asked.language)):
        raise Invalid("one answer has all words of the other", f"{asked.first.answer} / {weighed.answer}")


def _check_stated(asked: ToState, stated: Stated) -> None:
    if not stated.statement:
        return
    if (pointing := question_points_outside(asked.language, stated.statement)) is not None:
        raise Invalid("statement needs its passage", f'"{pointing}": only the passage says what is meant; say it')
    if stretch_of(stated.statement, asked.sentence) is None and len(stated.statement) > 3 * len(asked.sentence):
        raise Invalid("statement says more than its sentence", stated.statement)


ASK_PAIR = Prompt("ask_pair", 5, Pair, HERE, checks=(require_plain_text, _check_pair), inputs=ToAsk)
JUDGE_QUESTION = Prompt(
    "judge_question", 2, Judgement, HERE, role="checker", temperature=0.0, max_tokens=128, inputs=ToJudge
)
READ_ANSWER = Prompt("read_answer", 2, Text, HERE, role="checker", temperature=0.0, max_tokens=256, inputs=ToRead)
RECALL_ANSWER = Prompt(
    "recall_answer", 1, Text, HERE, role="prescreen", temperature=0.0, max_tokens=256, inputs=ToRecall
)
SAME_ANSWER = Prompt("same_answer", 1, Same, HERE, role="checker", temperature=0.0, max_tokens=64, inputs=ToCompare)
WEIGH_ANSWERS = Prompt(
    "weigh_answers",
    1,
    Weighed,
    HERE,
    role="checker",
    temperature=0.0,
    max_tokens=512,
    checks=(require_plain_text, _check_weighed),
    inputs=ToWeigh,
)
STATE = Prompt("state", 2, Stated, HERE, checks=(require_plain_text, _check_stated), inputs=ToState)
ANSWER = Prompt(
    "answer", 2, Text, HERE, role="evaluated", temperature=0.0, max_tokens=256, inputs=ToAnswer, may_be_cut=True
)
ANSWER_FROM_BOTH = Prompt(
    "answer_from_both",
    1,
    Text,
    HERE,
    role="evaluated",
    temperature=0.0,
    max_tokens=256,
    inputs=ToAnswerFromBoth,
    may_be_cut=True,
)
OF_A_QUESTION = (ASK_PAIR, JUDGE_QUESTION, READ_ANSWER, RECALL_ANSWER, SAME_ANSWER, WEIGH_ANSWERS)
PROMPTS = (*OF_A_QUESTION, STATE, ANSWER, ANSWER_FROM_BOTH)
NOT_THERE, NOT_KNOWN = "NOT THERE", "NOT KNOWN"
"""The whole reply if the passage has no answer, and if nothing is known without it."""
