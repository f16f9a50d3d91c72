"""What URAQ asks of its builder's answers: what a person would not mind passes, what a person would mind does not."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.families.uraq import checks
from flows.families.uraq.prompts import (
    ASK_QUESTION,
    MANIPULATE,
    OTHER_TYPE,
    Contradiction,
    Manipulated,
    Question,
    Statements,
    ToAsk,
    ToManipulate,
    of_wanted_type,
)
from flows.families.uraq.verify import _can_both_be_true, _says_the_same
from flows.llm.model import Invalid, Prompt
from schemas.uraq import AnswerType, Step, StepKind


def type_of(answer: str) -> str:
    return "number" if checks.is_number(answer) else "boolean" if checks.is_boolean(answer.lower()) else "entity"


def refusal(prompt: Prompt[Any], asked: Any, answer: Any) -> str | None:
    """Why the prompt's checks refuse an answer, in full; None where they accept it."""
    try:
        for check in prompt.checks:
            check(asked, answer)
    except Invalid as invalid:
        return str(invalid)
    return None


# ---- A.3: manipulated statements ----


@pytest.mark.parametrize(
    ("original", "manipulated"),
    [
        ("A hummingbird can hover in mid-air.", "A hummingbird cannot hover in mid-air."),  # the paper's own
        ("Blue whales are the largest animals on Earth.", "African elephants are the largest animals on Earth."),
        ("Light travels faster than sound.", "Sound travels faster than light."),
        ("A marathon is longer than a half marathon.", "A half marathon is longer than a marathon."),
        ("Gold has the chemical symbol Au.", "Silver has the chemical symbol Au."),
        ("Diesel engines ignite fuel by pressure.", "Diesel engines ignite fuel by sparks."),
        ("Honey is produced by bees.", "Honey is produced by butterflies."),
        ("The Moon orbits the Earth.", "The Earth orbits the Moon."),
        ("Light travels faster than sound in air.", "Light travels slower than sound in air."),
        ("Ice floats on liquid water.", "Ice sinks in liquid water."),
        ("K2 is the highest mountain on Earth.", "Lhotse is the highest mountain on Earth."),
        ("Canberra is the capital city of Australia.", "Sydney is the capital city of Australia."),
        ("Antonio Vivaldi composed The Four Seasons.", "Johann Sebastian Bach composed The Four Seasons."),
        ("Bats are the only mammals capable of true flight.", "Squirrels are the only mammals capable of true flight."),
        ("A quartet has two violins, a viola and a cello.", "A quartet has two violins, two violas and a cello."),
        ("Arteries carry blood from the heart.", "Arteries carry blood to the heart."),
        ("Eleven players form a football team.", "Nine players form a football team."),
        ("Iron is attracted to magnets.", "Iron is not attracted to magnets."),
    ],
)
def test_statements_that_exclude_each_other_pass(original: str, manipulated: str) -> None:
    assert checks.manipulation_problem(original, manipulated) is None
    assert not _says_the_same(original, manipulated)
    assert not _can_both_be_true(original, manipulated)


@pytest.mark.parametrize(
    ("original", "manipulated", "reason"),
    [
        ("Iron is attracted to magnets.", "Copper is attracted to magnets.", "both statements can be true"),
        ("Saturn is surrounded by rings.", "Mars is surrounded by rings.", "both statements can be true"),
        ("Honeybees produce honey.", "Butterflies produce honey.", "both statements can be true"),
        ("In 1957 the Soviet Union launched Sputnik.", "The Soviet Union launched Sputnik in 1957.",
         "manipulated statement is a paraphrase"),
        ("Beethoven composed nine symphonies.", "Nine symphonies were composed by Beethoven.",
         "manipulated statement is a paraphrase"),
        ("The canal connects the Red Sea with the Black Sea.", "The canal connects the Black Sea with the Red Sea.",
         "manipulated statement is a paraphrase"),
        ("Paris is the capital of France.", "The capital of France is Paris.", "manipulated statement is a paraphrase"),
        ("Spiders have eight legs.", "Bats sleep through long, cold and dark winters.",
         "manipulated statement changes too much"),
        ("Spiders have eight legs.", "Spiders have six legs. They spin.", "manipulated statement is not one sentence"),
    ],
)  # fmt: skip
def test_statements_that_do_not_are_refused_with_advice(original: str, manipulated: str, reason: str) -> None:
    problem = checks.manipulation_problem(original, manipulated)
    assert problem is not None
    assert problem[0] == reason
    assert len(problem[1]) > 20


def test_the_words_tell_how_a_statement_was_made_false() -> None:
    assert checks.manipulation_of("Penguins cannot fly.", "Penguins can fly.") == "negation"
    assert checks.manipulation_of("Spiders have eight legs.", "Spiders have six legs.") == "substitution"


def test_the_verifier_tells_by_itself_which_statements_say_the_same_or_go_together() -> None:
    assert _can_both_be_true("Iron is attracted to magnets.", "Copper is attracted to magnets.")
    assert _says_the_same("In 1957 the Soviet Union launched Sputnik.", "The Soviet Union launched Sputnik in 1957.")
    assert _says_the_same("Beethoven composed nine symphonies.", "Nine symphonies were composed by Beethoven.")


@pytest.mark.parametrize(
    ("original", "manipulated", "detail"),
    [
        ("Spiders have eight legs.", "Spiders have six legs.", "number"),
        ("People first walked on the Moon in 1969.", "People first walked on the Moon in 1975.", "number"),
        ("Pablo Picasso painted Guernica.", "Claude Monet painted Guernica.", "entity"),
        ("Insulin is produced in the pancreas.", "Insulin is produced in the liver.", "entity"),
        (
            "The femur is the longest bone in the human body.",
            "The tibia is the longest bone in the human body.",
            "entity",
        ),
        ("Honey is produced by bees.", "Honey is produced by butterflies.", "entity"),
        ("Penguins are birds that cannot fly.", "Penguins are birds that can fly.", None),
        ("Light travels faster than sound.", "Sound travels faster than light.", None),
        ("Ice floats on liquid water.", "Ice sinks in liquid water.", None),
        ("The Nile is the longest river in Africa.", "The Nile is the shortest river in Africa.", None),
    ],
)
def test_what_a_pair_differs_in_tells_what_can_be_asked_of_it(
    original: str, manipulated: str, detail: str | None
) -> None:
    assert checks.carries(original, manipulated) == detail


# ---- A.4, A.5: questions, steps, answers ----

EXAMPLE = re.compile(
    r"^(?P<pair>\S.* / .*)\n  (?P<question>.*\?)\n  (?P<steps>(?s:.*?))\n  Simple: (?P<simple>.*)$", re.M
)


def examples(wanted: AnswerType | None) -> list[tuple[ToAsk, Question]]:
    """The worked examples of the prompt, written out as an answer would be."""
    asked = ToAsk(original="o", manipulated="m", hops=4, answer_type=wanted)
    found = []
    for one in EXAMPLE.finditer(ASK_QUESTION.messages(asked)[0]["content"].partition("Examples")[2]):
        steps = []
        for step in " ".join(one["steps"].split()).split("; "):
            kind, text, result = step.split(": ")
            original, _, manipulated = result.partition(" / ")
            steps.append({"kind": kind, "text": text, "original": original, "manipulated": manipulated or original})
        original, manipulated = steps[-1]["original"], steps[-1]["manipulated"]
        simple, _, answer = one["simple"].partition("? ")
        pair = one["pair"].split(" / ")
        values = {
            "question": one["question"], "steps": steps, "answer_type": type_of(original),
            "answer_original": original, "answer_manipulated": manipulated, "single_hop_question": f"{simple}?",
            "single_hop_answer": answer,
        }  # fmt: skip
        told = ToAsk(original=pair[0], manipulated=pair[1], hops=4, answer_type=wanted)
        found.append((told, Question.model_validate(values)))
    return found


@pytest.mark.parametrize(("wanted", "number"), [(None, 5), ("number", 3), ("entity", 3), ("boolean", 2)])
def test_the_worked_examples_of_the_prompt_keep_its_rules(wanted: AnswerType | None, number: int) -> None:
    found = examples(wanted)
    assert len(found) == number
    for asked, answer in found:
        assert refusal(ASK_QUESTION, asked, answer) is None
        assert checks.manipulation_problem(asked.original, asked.manipulated) is None
        assert checks.statement_refusal(asked.original) is None


@pytest.mark.parametrize(
    "question",
    [
        "When lightning strikes a hill one kilometer away, does an observer see the flash before hearing the thunder?",
        "Where two rivers meet, is the water deeper?",
        "If a puddle lies in the sun, will it dry?",
        "In the year Napoleon died, was Victoria alive?",
        "Is the river, which flows through Cairo, longer than the Rhine?",
        "There are two hives. Isn't the larger one empty?",
        "Of the three, do two lay eggs?",
        "Suppose a team loses two players: could it go on?",
    ],
)
def test_questions_for_yes_or_no(question: str) -> None:
    assert checks.is_yes_no_question(question)


@pytest.mark.parametrize(
    "question",
    [
        "When was the king born, and is he alive?",
        "In which year did the war end, if it did?",
        "Which is longer, the Nile or the Rhine?",
        "If a game has two decks, how many cards are used?",
        "A runner takes two breaks. About how many minutes does the runner need?",
    ],
)
def test_questions_for_something_else(question: str) -> None:
    assert not checks.is_yes_no_question(question)


def question(**changes: Any) -> Question:
    """An answer of the builder on spiders, with `changes`."""
    steps = [
        {"kind": "recall", "text": "The legs of a spider.", "original": "8", "manipulated": "6"},
        {"kind": "recall", "text": "The legs of a dog.", "original": "4", "manipulated": "4"},
        {"kind": "comparison", "text": "Whether twice the legs of a dog are fewer.", "original": "no",
         "manipulated": "yes"},
    ]  # fmt: skip
    values = {
        "question": "Does a spider have fewer legs than two dogs?", "steps": steps, "answer_type": "boolean",
        "answer_original": "no", "answer_manipulated": "yes", "single_hop_question": "How many legs has a spider?",
        "single_hop_answer": "8",
    }  # fmt: skip
    return Question.model_validate({**values, **changes})


ASKED = ToAsk(original="Spiders have eight legs.", manipulated="Spiders have six legs.", hops=3)


def test_yes_is_yes_however_it_is_written() -> None:
    answer = question(answer_original="No.", answer_manipulated=" Yes")
    assert (answer.answer_original, answer.answer_manipulated) == ("no", "yes")
    assert refusal(ASK_QUESTION, ASKED, answer) is None
    assert Contradiction(answer="No.", evidence="It does not.").answer == "no"


def test_a_possessive_gives_no_letter_away() -> None:
    asked = "With which letter does the nickname begin of the team of the city in which Canada's government sits?"
    assert checks.question_problem(asked, "entity", "S", "M") is None
    given_away = checks.question_problem("Is it S, or which letter?", "entity", "S", "M")
    assert given_away is not None


def test_a_guessed_answer_is_refused_where_a_number_or_an_entity_is_wanted() -> None:
    wishes: tuple[AnswerType | None, ...] = ("boolean", "number", "entity", None)
    for wished in wishes:
        asked = ASKED.model_copy(update={"answer_type": wished})
        problem = refusal(ASK_QUESTION, asked, question())
        assert (problem is None) == (wished in ("boolean", None))
        assert problem is None or problem.startswith(OTHER_TYPE)
        # The prompt says so beforehand, and not elsewhere.
        told = " ".join(message["content"] for message in ASK_QUESTION.messages(asked))
        assert ("A yes/no question can be guessed and is refused here" in told) == (problem is not None)


def test_a_number_stands_for_yes_or_no_unless_that_alone_is_wanted() -> None:
    for only in (False, True):
        asked = ToAsk(original="a", manipulated="b", hops=4, answer_type="boolean", only=only)
        assert of_wanted_type(asked, "number") == (not only)
        assert of_wanted_type(asked, "boolean")


Told = tuple[StepKind, str, str, str]


def steps(*told: Told) -> list[Step]:
    return [Step(kind=kind, text=text, original=one, manipulated=other) for kind, text, one, other in told]


@pytest.mark.parametrize(
    ("asked", "told", "why"),
    [
        ("Which currency came before the euro in the country whose capital held the Games?",
         [("recall", "The city.", "Athens", "Paris"), ("recall", "The country.", "Greece", "France"),
          ("recall", "Its currency.", "euro", "euro"), ("recall", "The one before.", "drachma", "franc")],
         "step 3 is no inference: the question says 'euro' already"),
        ("Is the flash seen before the thunder is heard?",
         [("recall", "Which is faster.", "light", "sound"),
          ("logic", "Both start at once.", "same start", "same start"),
          ("comparison", "Which comes first.", "yes", "no")],
         "step 2 is no inference: it gives 'same start' from both statements"),
        ("Would a magnet pull on the metal of the statue?",
         [("recall", "The metal.", "copper", "copper"), ("recall", "What magnets pull.", "iron", "copper"),
          ("comparison", "Compare the metals.", "different", "same"), ("logic", "Conclude.", "no", "yes")],
         "step 4 is no inference: the comparison before it decides the answer"),
        ("What is the capital of the country that the language of the home of pizza comes from?",
         [("recall", "The home of pizza.", "Italy", "France"), ("recall", "Its language.", "Italian", "French"),
          ("recall", "Where that comes from.", "Italy", "France"), ("recall", "The capital.", "Rome", "Paris")],
         "step 3 is no inference: it gives what step 1 gave"),
        ("How many legs have two spiders?",
         [("recall", "Legs of a spider.", "8", "6"), ("recall", "Legs of a spider.", "8", "6"),
          ("arithmetic", "Twice that.", "16", "12")],
         "step 2 is no inference: it is step 1 again"),
    ],
)  # fmt: skip
def test_a_step_that_changes_nothing_is_no_step(asked: str, told: Sequence[Told], why: str) -> None:
    yes_no = told[-1][2] in ("yes", "no")
    problem = checks.steps_problem(asked, steps(*told), "boolean" if yes_no else "entity")
    assert problem is not None
    assert problem[0] == "a step changes nothing"
    assert why in problem[1]


# ---- section 4.1: pre-screening ----


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Tchaikovsky", "Pyotr Ilyich Tchaikovsky"),
        ("Honey bees", "Honeybees"),
        ("Two violins, one viola, and one cello", "two violins, a viola, and a cello"),
        ("Atlantic", "the Atlantic Ocean"),
        ("USSR", "the Soviet Union"),
        ("No, penguins cannot fly.", "no"),
        ("8 legs", "8"),
        ("eight", "8"),
        ("206", "206 bones"),
        ("Canberra, the capital", "Canberra"),
    ],
)
def test_a_fact_is_known_where_a_person_would_say_so(reply: str, answer: str) -> None:
    assert checks.knows(reply, answer, "Which is it?")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("I don't know", "Canberra"),
        ("Sydney", "Canberra"),
        ("not Canberra", "Canberra"),
        ("Black Sea", "the Red Sea"),
        ("Sea", "the Red Sea"),
        ("Buzz Aldrin", "Neil Armstrong"),
        ("South Korea", "North Korea"),
        ("8 or 9", "8"),
        ("Yes", "no"),
    ],
)
def test_a_fact_is_not_known_where_the_reply_is_another(reply: str, answer: str) -> None:
    assert not checks.knows(reply, answer, "Which is it?")


# ---- what a strong model answered ----

WRONG = {
    "Mars is surrounded by a prominent system of rings.": "both statements can be true",
    "Butterflies produce honey from the nectar of flowers.": "both statements can be true",
    "White blood cells carry oxygen through the body.": "both statements can be true",
    "Copper is attracted to magnets.": "both statements can be true",
    # the comparison decides the answer, and one more step says so
    "Would a puddle of pure water at standard atmospheric pressure freeze on a night when the temperature stays at 41 "
    "degrees Fahrenheit?": "a step changes nothing",
    "Would a magnet pull on a plate cut from the metal that covers the Statue of Liberty?": "a step changes nothing",
    # the currency of today is in the question
    "Which currency was used before the euro in the country whose capital hosted the first modern Olympic Games?":
        "a step changes nothing",
    # that flash and thunder start together is used by nothing
    "When lightning strikes a hill one kilometer away, does an observer see the flash before hearing the thunder?":
        "a step changes nothing",
}  # fmt: skip
"""First answers that are refused, and rightly: 4 pairs of 48 that go together, 4 questions of 48 with an idle step."""


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[dict[str, Any]]:
    with gzip.open(shared / "recorded" / "answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if len(row["messages"]) == 2]


def given(row: dict[str, Any], field: str) -> str:
    found = re.search(rf"^{field}: (.*)$", row["messages"][1]["content"], re.MULTILINE)
    assert found is not None
    return found[1]


def asked_by(rows: list[dict[str, Any]], opening: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["messages"][0]["content"].startswith(opening)]


def test_what_a_strong_model_answered_first_passes_but_for_what_is_wrong(recorded: list[dict[str, Any]]) -> None:
    found: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for row in asked_by(recorded, "You write short factual statements"):
        for text in Statements.model_validate_json(row["answer"]).statements:
            counted["statements"] += 1
            assert checks.statement_refusal(text) is None, text
    for row in asked_by(recorded, "You are given a true statement. Turn it"):
        counted["pairs"] += 1
        pair = Manipulated.model_validate_json(row["answer"])
        if problem := refusal(MANIPULATE, ToManipulate(statement=given(row, "Statement")), pair):
            found[pair.manipulated] = problem.partition(":")[0]
    for row in asked_by(recorded, "You are given a true statement and a manip"):
        counted["questions"] += 1
        answer = Question.model_validate_json(row["answer"])
        asked = ToAsk(original=given(row, "Original"), manipulated=given(row, "Manipulated"), hops=4)
        if problem := refusal(ASK_QUESTION, asked, answer):
            found[answer.question] = problem.partition(":")[0]
    assert counted == {"statements": 49, "pairs": 48, "questions": 48}
    assert found == WRONG


def test_prescreening_accepts_every_recorded_reply(recorded: list[dict[str, Any]]) -> None:
    # All 24 were right; three had been refused: "Tchaikovsky", "Honey bees", "Two violins, one viola, and one cello".
    answers = {}
    for row in asked_by(recorded, "You are given a true statement and a manip"):
        answer = Question.model_validate_json(row["answer"])
        answers[answer.single_hop_question] = answer.single_hop_answer
    replies = asked_by(recorded, "Answer the question from what you know")
    assert len(replies) == 24
    for row in replies:
        asked = row["messages"][1]["content"].strip()
        assert checks.knows(row["answer"], answers[asked], asked), asked
