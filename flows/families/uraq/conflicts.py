"""Makes conflicts from other question answering data: two texts, two answers (section 4.1, table 1).

Some sources have both sides (`take_sides`). For the others the builder writes the second side, which must pass
`contradiction_problem`.
"""

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from data.sources import PART
from flows.construct.engine import Drop
from flows.families.uraq import checks
from flows.families.uraq.score import NATURAL
from flows.language import en
from flows.language.en.tokens import word_set
from flows.llm.model import Problem
from flows.scoring.number_value import number_value
from flows.scoring.qa import normalise_answer
from schemas.source import QASource
from schemas.uraq import AnswerType

FORMAT_MAX_CONTEXTS = {"hotpotqa": 32}  # table 1, HotpotQA: 1, 2, 4, ... 32
MAX_CONTEXTS = 64
"""For every other format: table 1's count for DisentQA, 1, 2, 4, ... 64, as far as there are contexts."""

MIN_UNCHANGED = 0.8
"""Least share of the evidence that a contradiction leaves unchanged (our choice; the paper gives no number): twice the
words that both texts have in the same order, divided by the words of both, without the words of the two answers."""
MIN_SHARED = 0.5
"""Least share of the question's content words that a free-text side must repeat (our choice)."""

OWN = (PART, "touchstone")
"""Formats of what Touchstone made."""

TRUTHS = {"true": "yes", "yes": "yes", "false": "no", "no": "no"}
NEGATIONS = word_set("not no never none neither nobody nothing without impossible unable unlikely lack fail")
"""Base forms of the words that negate a sentence."""
FILLERS = word_set(
    "nor either possible able likely hypothetically theoretically any some ever also still necessarily even exist "
    "actually"
)
"""Base forms that a question may have and its answer lack, or the reverse, with the same meaning."""


def context_counts(dataset: str) -> tuple[int, ...]:
    """The context counts of a data set (`format:file`, or `format`): doubling from 1, as in table 1."""
    largest = FORMAT_MAX_CONTEXTS.get(dataset.removeprefix(NATURAL).partition(":")[0], MAX_CONTEXTS)
    return tuple(1 << power for power in range(largest.bit_length()))


def data_set(source: QASource) -> str:
    """The data set of a question: its format and file, after `natural:` if its source gives texts that disagree.

    Sides that another family of ours made are not natural, nor is a side that the builder writes.
    """
    name = f"{source.format}:{source.source.source}"
    is_given = bool(source.sides) and source.format not in OWN
    return f"{NATURAL}{name}" if is_given else name


def answer_type_of(question: str, answer: str) -> AnswerType:
    """boolean: yes or no to a yes/no question; number: a plain number without a unit; else entity."""
    if normalise_answer(answer) in ("yes", "no") and checks.is_yes_no_question(question):
        return "boolean"
    return "number" if checks.is_number(answer) else "entity"


# ---- sources with both sides ----


@dataclass(frozen=True)
class Sides:
    """The side of the ground truth (`original`) and the other side, each with its evidence and answer."""

    original: str
    manipulated: str
    answer_original: str
    answer_manipulated: str
    answer_type: AnswerType


def take_sides(source: QASource) -> Sides:
    """The source's two sides, distinguished by its ground truth.

    If the ground truth is yes or no (or true or false), each side's answer is read as yes or no (`polarities`), and yes
    and no replace the sentences. Otherwise the side whose answer has the normal form of a gold answer is the original.
    Raises `Drop` if that does not decide.
    """
    if len(source.sides) != 2:
        raise Drop("not two sides", evidence=str(len(source.sides)))
    (first, first_text), (second, second_text) = source.sides
    if not first_text.strip() or not second_text.strip():
        raise Drop("side without evidence")
    if normalise_answer(first_text) == normalise_answer(second_text):
        raise Drop("both sides have the same evidence", evidence=first_text)
    truth = TRUTHS.get(normalise_answer(source.answers[0]))
    if truth is None:
        gold = {normalise_answer(answer) for answer in source.answers}
        agrees = normalise_answer(first) in gold, normalise_answer(second) in gold
    else:
        first, second = polarities(source.question, first, second)
        agrees = first == truth, second == truth
    if agrees[0] == agrees[1]:
        raise Drop("ground truth does not tell the sides apart", evidence=f"{first} / {second}")
    near, far = (
        ((first, first_text), (second, second_text)) if agrees[0] else ((second, second_text), (first, first_text))
    )
    if truth is None and (problem := _answers_problem(source.question, near[0], far[0], far[1])):
        raise Drop(problem[0], evidence=problem[1])
    if truth is None and not en.contains(near[1], near[0]):
        raise Drop("answer not in evidence", evidence=near[0])
    answer_type: AnswerType = "boolean" if truth is not None else answer_type_of(source.question, near[0])
    return Sides(near[1], far[1], near[0], far[0], answer_type)


def polarities(question: str, first: str, second: str) -> tuple[str, str]:
    """Two opposite answers to a yes/no question as ("yes", "no") or ("no", "yes"). Raises `Drop`.

    A side repeats the question if both have the same content words in base form, without negations and fillers. It
    says yes if it has as many negations as the question, or two more or fewer; else no.

    - Both repeat it, with different answers: these count.
    - Both repeat it with the same answer: they differ in who does what to whom. The side with the question's order
      says yes, the other no.
    - One repeats it: its answer counts, and the other side says the opposite.
    - Neither does, but both repeat each other, with different answers: these count (the source may have corrected the
      question's spelling).

    Anything else is undecided, and so is a side that shares less than `MIN_SHARED` with the question.

    This decides 799 of the 805 rows of ConflictQA's development set. Of 50 read by hand, 50 were right; in all of the
    713 whose gold facts are known (from StrategyQA), the ground truth is on the side of the facts.
    """
    asked = _Proposition.of(question)
    sides = _Proposition.of(first), _Proposition.of(second)
    says = tuple(_yes_or_no(side.negations == asked.negations) for side in sides)
    repeats = tuple(side.words == asked.words for side in sides)
    evidence = f"{question} / {first} / {second}"
    if any(side.share_of(asked) < MIN_SHARED for side in sides):
        raise Drop("side does not speak to the question", evidence=evidence)
    if says[0] != says[1] and (all(repeats) or sides[0].words == sides[1].words):
        return says[0], says[1]
    if all(repeats):
        in_order = tuple(side.order == asked.order for side in sides)
        if in_order[0] == in_order[1]:
            raise Drop("sides do not conflict", evidence=evidence)
        return _yes_or_no(in_order[0]), _yes_or_no(in_order[1])
    if any(repeats):
        answer = says[0] if repeats[0] else says[1]
        return (answer, _opposite(answer)) if repeats[0] else (_opposite(answer), answer)
    raise Drop("polarity undecided", evidence=evidence)


@dataclass(frozen=True)
class _Proposition:
    """The statement of a sentence: its content words in base form."""

    order: tuple[str, ...]
    negations: int
    """0 or 1: two negations cancel out."""

    @classmethod
    def of(cls, text: str) -> "_Proposition":
        lemmas = en.content_lemmas(text)
        order = tuple(lemma for lemma in lemmas if lemma not in NEGATIONS and lemma not in FILLERS)
        return cls(order, sum(lemma in NEGATIONS for lemma in lemmas) % 2)

    @property
    def words(self) -> "Counter[str]":
        return Counter(self.order)

    def share_of(self, asked: "_Proposition") -> float:
        """The share of the question that this repeats: 0..1; 1 for a question without content words."""
        return (self.words & asked.words).total() / len(asked.order) if asked.order else 1.0


def _yes_or_no(yes: bool) -> str:
    return "yes" if yes else "no"


def _opposite(answer: str) -> str:
    return _yes_or_no(answer == "no")


# ---- sources with one side ----


def answer_to_contradict(source: QASource) -> str:
    """The gold answer to contradict: the first that the evidence contains, or yes or no.

    Raises `Drop` if no rewriting of the evidence could make a conflict that can be scored.
    """
    if source.evidence is None or not source.evidence.strip():
        raise Drop("no evidence")
    all_answers = " / ".join(source.answers)
    boolean = [answer for answer in source.answers if normalise_answer(answer) in ("yes", "no")]
    if boolean and not checks.is_yes_no_question(source.question):
        raise Drop("answer does not fit its question", evidence=f"{source.question} / {all_answers}")
    if boolean:
        return normalise_answer(boolean[0])
    contained = [answer.strip() for answer in source.answers if en.contains(source.evidence, answer)]
    if not contained:
        raise Drop("answer not in evidence", evidence=all_answers)
    fitting = [answer for answer in contained if checks.is_number(answer) or _is_entity(answer)]
    if not fitting:
        raise Drop("answer is neither a number nor a single entity", evidence=all_answers)
    if en.contains(source.question, fitting[0]):
        raise Drop("question contains the answer", evidence=fitting[0])
    return fitting[0]


def _is_entity(answer: str) -> bool:
    return checks.is_entity(answer) and any(character.isalpha() for character in answer)


def contradiction_problem(question: str, answer: str, evidence: str, new_answer: str, new_evidence: str) -> Problem:
    """(reason, what to do) if the new answer and evidence do not contradict the old ones; else None.

    The other answer has the same type, differs after normalisation, and occurs in the other evidence, where the old
    answer no longer does; the other evidence says something else and is otherwise mostly the same (`MIN_UNCHANGED`).
    Yes and no occur in no evidence: for them it need only differ in content words.
    """
    if problem := _answers_problem(question, answer, new_answer, new_evidence):
        return problem
    if answer_type_of(question, answer) != "boolean" and en.contains(evidence, new_answer):
        return "new answer is in the old evidence", f"{new_answer!r} must not stand in the text yet"
    if en.content_words(evidence) == en.content_words(new_evidence):
        return "evidence is unchanged", "rewrite the text so that it supports the new answer"
    unchanged = share_unchanged(evidence, new_evidence, (answer, new_answer))
    if unchanged < MIN_UNCHANGED:
        return "evidence is changed too much", f"{unchanged:.2f} of the words are kept; change only what must change"
    return None


def _answers_problem(question: str, old: str, new: str, new_evidence: str) -> Problem:
    """The problem with two answers and the evidence for the new one."""
    kind = answer_type_of(question, old)
    if answer_type_of(question, new) != kind or (kind == "entity" and not _is_entity(new)):
        return "answer is of another type", f"{new!r} is not one {kind} as {old!r} is"
    if normalise_answer(old) == normalise_answer(new) or (kind == "number" and number_value(old) == number_value(new)):
        return "answers are the same", f"{new!r} is {old!r}"
    if kind == "boolean":
        return None
    if not en.contains(new_evidence, new):
        return "new answer is not in the new evidence", f"the text must hold {new!r}"
    if en.contains(new_evidence, old):
        return "old answer is left in the new evidence", f"replace every {old!r}"
    return None


def share_unchanged(old: str, new: str, answers: tuple[str, str]) -> float:
    """The share of two texts that is the same: 2 x the words common in order / the words of both; 0..1.

    The words of the answers are ignored; 1 if nothing else is left.
    """
    ignored = {word for answer in answers for word in en.words(answer)}
    before, after = ([word for word in en.words(text) if word not in ignored] for text in (old, new))
    return SequenceMatcher(None, before, after, autojunk=False).ratio()
