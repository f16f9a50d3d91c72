"""URAQ's prompts (appendix A and B, in our own words), with the form of each answer."""

from pathlib import Path

from pydantic import Field, field_validator

from flows.families.uraq import checks, conflicts
from flows.llm.model import Invalid, Prompt, Text, require, require_plain_text
from schemas.base import Frozen
from schemas.uraq import AnswerType, Manipulation, Need, Step

HERE = Path(__file__).parent
OTHER_TYPE = "answer is not of the type asked for"


class StatementsWanted(Frozen):
    """A batch of statements to write."""

    topic: str
    count: int
    round: int = Field(description="0 for the first batch on a topic")
    known: tuple[str, ...] = Field((), description="Statements there already, not to be said again")


class Statements(Frozen):
    """Short general facts, one sentence each."""

    statements: tuple[str, ...]


class ToManipulate(Frozen):
    """A statement to be made false."""

    statement: str


class Manipulated(Frozen):
    """The statement with one key element substituted, or negated."""

    manipulated: str
    manipulation: Manipulation


class ToAsk(Frozen):
    """A pair to ask a question on, of exactly `hops` steps."""

    original: str
    manipulated: str
    hops: int
    answer_type: AnswerType | None = Field(
        None,
        description="What is to be asked for; a number and an entity stand for each other, yes or no for neither; "
        "anything by default",
    )
    only: bool = Field(False, description="A number or an entity will not do where yes or no is wanted")


class Question(Frozen):
    """A question with its steps written out and the answer from either statement."""

    question: str
    steps: tuple[Step, ...]
    answer_type: AnswerType
    answer_original: str
    answer_manipulated: str
    single_hop_question: str
    single_hop_answer: str

    @field_validator("answer_original", "answer_manipulated", "single_hop_answer")
    @classmethod
    def _plain_answer(cls, answer: str) -> str:
        return _plain(answer)

    @field_validator("steps")
    @classmethod
    def _plain_results(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            step.model_copy(update={"original": _plain(step.original), "manipulated": _plain(step.manipulated)})
            for step in steps
        )


def _plain(answer: str) -> str:
    """An answer without outer white space; "Yes." is "yes"."""
    answer = answer.strip()
    word = answer.rstrip(".!").casefold()
    return word if word in ("yes", "no") else answer


class ToAnswer(Frozen):
    """A question to answer from memory."""

    question: str


class ToContradict(Frozen):
    """Evidence to be rewritten so that it supports another answer."""

    question: str
    answer: str
    evidence: str


class Contradiction(Frozen):
    """Another answer of the same type, and the evidence that supports it."""

    answer: str
    evidence: str

    @field_validator("answer")
    @classmethod
    def _plain_answer(cls, answer: str) -> str:
        return _plain(answer)


class ToRead(Frozen):
    """One evaluation row under one user need (appendix C)."""

    need: Need
    contexts: tuple[str, ...]
    question: str


def _check_manipulation(asked: ToManipulate, answer: Manipulated) -> None:
    require(checks.manipulation_problem(asked.statement, answer.manipulated))


def _check_steps(asked: ToAsk, answer: Question) -> None:
    if len(answer.steps) != asked.hops:
        raise Invalid("not as many steps as declared", f"{asked.hops} steps were asked for, not {len(answer.steps)}")
    last = answer.steps[-1]
    for result, final in ((last.original, answer.answer_original), (last.manipulated, answer.answer_manipulated)):
        if result.strip().casefold() != final.strip().casefold():
            raise Invalid("last step does not give the answer", f"its result is {result!r}, the answer {final!r}")


def of_wanted_type(asked: ToAsk, answer_type: AnswerType) -> bool:
    """Return whether a question of this type will do."""
    if answer_type == "boolean":
        return asked.answer_type in ("boolean", None)
    return not asked.only


def _check_question(asked: ToAsk, answer: Question) -> None:
    if not of_wanted_type(asked, answer.answer_type):
        wanted = "yes or no" if asked.answer_type == "boolean" else "a number or an entity, not for yes or no"
        raise Invalid(OTHER_TYPE, f"write a question that asks for {wanted}")
    require(
        checks.question_problem(answer.question, answer.answer_type, answer.answer_original, answer.answer_manipulated)
    )
    require(checks.steps_problem(answer.question, answer.steps, answer.answer_type))


def _check_single_hop(asked: ToAsk, answer: Question) -> None:
    if not answer.single_hop_question.strip() or not answer.single_hop_answer.strip():
        raise Invalid("no single-hop question", "give the simple question and its answer")


def _check_contradiction(asked: ToContradict, answer: Contradiction) -> None:
    require(
        conflicts.contradiction_problem(asked.question, asked.answer, asked.evidence, answer.answer, answer.evidence)
    )


WRITE_STATEMENTS = Prompt(
    "write_statements", 2, Statements, HERE, checks=(require_plain_text,), max_tokens=2048, inputs=StatementsWanted
)
MANIPULATE = Prompt(
    "manipulate",
    3,
    Manipulated,
    HERE,
    checks=(require_plain_text, _check_manipulation),
    max_tokens=256,
    inputs=ToManipulate,
)
ASK_QUESTION = Prompt(
    "ask_question",
    5,
    Question,
    HERE,
    checks=(require_plain_text, _check_steps, _check_question, _check_single_hop),
    max_tokens=1024,
    inputs=ToAsk,
)
ANSWER_SINGLE_HOP = Prompt(
    "answer_single_hop", 1, Text, HERE, role="prescreen", temperature=0.0, max_tokens=64, inputs=ToAnswer
)
CONTRADICT = Prompt(
    "contradict",
    1,
    Contradiction,
    HERE,
    checks=(require_plain_text, _check_contradiction),
    max_tokens=4096,
    inputs=ToContradict,
)
ANSWER_WITH_CONTEXT = Prompt(
    "answer_with_context", 1, Text, HERE, role="evaluated", temperature=0.0, max_tokens=256, inputs=ToRead
)

PROMPTS = (WRITE_STATEMENTS, MANIPULATE, ASK_QUESTION, ANSWER_SINGLE_HOP, CONTRADICT, ANSWER_WITH_CONTEXT)
