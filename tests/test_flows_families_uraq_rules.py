"""URAQ's rules: what they say is right by construction, and this recomputes it."""

import csv
import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

import pytest

from flows.construct.dedupe import deduplicate
from flows.construct.embed import SentenceBert
from flows.families.uraq import checks, conflicts
from flows.families.uraq import prompts as asked_of
from flows.families.uraq.rules import RULES
from flows.families.uraq.rules.facts import KINDS, TABLES, Fact, facts, people, topics
from flows.families.uraq.rules.operations import Blocked
from flows.families.uraq.rules.programs import programs
from flows.families.uraq.rules.questions import MAX_USES, ComputedQuestion, assigned, patterns, questions
from flows.language import en
from flows.llm.model import Invalid, Text
from schemas.uraq import DONT_KNOW, NEEDS

RNG = random.Random(7)
HOPS = (1, 2, 3, 4, 5)
ALL_HOPS = pytest.mark.parametrize("hops", HOPS)


@cache
def table(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def cell(name: str, key: str, value: object, field: str) -> str:
    (found,) = {row[field] for row in table(name) if row[key] == str(value)}
    return found


def asked(hops: int) -> list[ComputedQuestion]:
    """The questions of the table with so many steps: for a number or an entity, and for yes or no."""
    return [*assigned(hops, yes_no=False).values(), *assigned(hops, yes_no=True).values()]


def ask(question: ComputedQuestion) -> asked_of.Question:
    """What the rules answer where a question of this type is wanted."""
    fact = question.fact
    wanted = question.pattern.program.answer_type
    answer = RULES["ask_question"](
        asked_of.ToAsk(
            original=fact.statement,
            manipulated=fact.statement_with(fact.wrong),
            hops=question.pattern.program.hops,
            answer_type=wanted,
            only=wanted == "boolean",
        ),
        RNG,
    )
    assert isinstance(answer, asked_of.Question)
    return answer


def text_of(name: str, inputs: object) -> str:
    answer = RULES[name](inputs, RNG)
    assert isinstance(answer, Text)
    return answer.text


# ---- the table ----


def test_ids_statements_and_single_questions_are_unique() -> None:
    for read in (lambda fact: fact.id, lambda fact: fact.statement, lambda fact: fact.question):
        assert max(Counter(map(read, facts())).values()) == 1


def test_every_name_in_the_table_is_known_to_its_reference_table() -> None:
    known = {"country": "countries", "element": "elements", "animal": "animals", "state": "states", "person": "people"}
    for fact in facts():
        if fact.kind in known:
            names = {row["name"] for row in table(f"known_{known[fact.kind]}")}
            assert {fact.value, *fact.others} <= names, fact.id
        assert fact.value not in fact.others, fact.id


@pytest.mark.parametrize("kind", KINDS)
def test_statements_and_manipulated_variants_pass_the_checks(kind: str) -> None:
    for fact in (fact for fact in facts() if fact.kind == kind):
        assert checks.statement_refusal(fact.statement) is None, fact.id
        answer = RULES["manipulate"](asked_of.ToManipulate(statement=fact.statement), RNG)
        assert isinstance(answer, asked_of.Manipulated)
        assert answer.manipulated != fact.statement
        assert answer.manipulation == ("negation" if kind == "yesno" else "substitution")
        problem = checks.manipulation_problem(fact.statement, answer.manipulated)
        assert problem is None, (fact.statement, answer.manipulated, problem)


def test_all_topics_are_written_out_once_and_then_exhausted() -> None:
    written: list[str] = []
    for topic in topics():
        for round_ in range(1000):
            wanted = asked_of.StatementsWanted(topic=topic, count=7, round=round_)
            batch = RULES["write_statements"](wanted, RNG)
            assert isinstance(batch, asked_of.Statements)
            written += batch.statements
            if not batch.statements:
                break
    assert sorted(written) == sorted(fact.statement for fact in facts())


def test_known_statements_are_not_written_again() -> None:
    first = RULES["write_statements"](asked_of.StatementsWanted(topic="music", count=5, round=0), RNG)
    assert isinstance(first, asked_of.Statements)
    wanted = asked_of.StatementsWanted(topic="music", count=5, round=1, known=first.statements)
    second = RULES["write_statements"](wanted, RNG)
    assert isinstance(second, asked_of.Statements)
    assert len(second.statements) == 5
    assert not set(first.statements) & set(second.statements)


def test_a_topic_that_is_not_in_the_table_has_no_statements() -> None:
    nothing = RULES["write_statements"](asked_of.StatementsWanted(topic="heraldry", count=5, round=0), RNG)
    assert nothing == asked_of.Statements(statements=())


# ---- questions ----


@ALL_HOPS
def test_every_question_passes_the_prompts_checks(hops: int) -> None:
    for question in asked(hops):
        fact = question.fact
        inputs = asked_of.ToAsk(original=fact.statement, manipulated=fact.statement_with(fact.wrong), hops=hops)
        answer = ask(question)
        assert answer.question == question.text
        for check in asked_of.ASK_QUESTION.checks:
            check(inputs, answer)
        for value in (fact.value, fact.wrong):
            if value not in ("yes", "no") and hops > 1:
                assert not en.contains(answer.question, value), answer.question


@ALL_HOPS
def test_no_step_can_be_taken_away(hops: int) -> None:
    for question in asked(hops):
        for place in range(1, hops + 1):
            for value in (question.fact.value, question.fact.wrong):
                with pytest.raises(Blocked):
                    question.results(value, without=place)


def test_every_result_feeds_a_later_step() -> None:
    for program in programs():
        used = {argument for step in program.steps for argument in step.args if isinstance(argument, int)}
        assert used == set(range(1, program.hops)), program.name


@ALL_HOPS
def test_the_fact_is_among_the_steps_and_changes_the_answer(hops: int) -> None:
    for question in asked(hops):
        fact = question.fact
        assert sum(step.op == "value" for step in question.pattern.program.steps) == 1
        assert question.results(fact.value)[-1] != question.results(fact.wrong)[-1]


def year(question: ComputedQuestion, slot: str) -> int:
    other = question.slots[slot]
    assert isinstance(other, Fact)
    return int(other.value)


def name(question: ComputedQuestion, slot: str) -> str:
    other = question.slots[slot]
    assert isinstance(other, str)
    return other


def told(question: ComputedQuestion, slot: str) -> str:
    other = question.slots[slot]
    assert isinstance(other, Fact)
    return other.value


def yes(condition: bool) -> str:
    return "yes" if condition else "no"


def in_office(which: str, when: int) -> int:
    (place,) = [
        place for place, row in enumerate(table(f"known_{which}")) if int(row["start"]) < when < int(row["end"])
    ]
    return place


def next_of(which: str, place: int) -> dict[str, str]:
    rows = table(f"known_{which}")
    assert rows[place]["end"] == rows[place + 1]["start"]
    return rows[place + 1]


def first_after(which: str, when: int) -> dict[str, str]:
    return next(row for row in table(f"known_{which}") if int(row["year"]) > when)


def home(person: str) -> str:
    return cell("known_people", "name", person, "country")


def capital(country: str) -> str:
    return cell("known_countries", "name", country, "capital")


def first_of(which: str, column: str, country: str) -> int:
    """The first year in a table at which the country stands there, under its own name alone."""
    assert f"West {country}" not in {row[column] for row in table(f"known_{which}")}
    return min(int(row["year"]) for row in table(f"known_{which}") if row[column] == country)


def held(question: ComputedQuestion) -> int:
    return int(cell("known_holders", "clue", name(question, "h"), "number"))


PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")
ORACLES: Mapping[str, Callable[[ComputedQuestion, str], object]] = {
    "count-players-more": lambda q, v: int(v) - held(q),
    "count-players-fewer": lambda q, v: held(q) - int(v),
    "count-teeth-fewer": lambda q, v: held(q) - int(v),
    "count-letters-more": lambda q, v: int(v) - held(q),
    "count-players-compared": lambda q, v: yes(int(v) > held(q)),
    "year-alive": lambda q, v: yes(
        (people()[name(q, "r")].birth or 0) < int(v) < (people()[name(q, "r")].death or 0)
    ),
    "year-on-throne": lambda q, v: int(v) - int(table("known_monarchs")[in_office("monarchs", int(v))]["start"]),
    "year-left-throne": lambda q, v: int(table("known_monarchs")[in_office("monarchs", int(v))]["end"]) - int(v),
    "year-in-office": lambda q, v: int(v) - int(table("known_presidents")[in_office("presidents", int(v))]["start"]),
    "year-left-office": lambda q, v: int(table("known_presidents")[in_office("presidents", int(v))]["end"]) - int(v),
    "year-next-president-state": lambda q, v: next_of("presidents", in_office("presidents", int(v)))["state"],
    "year-next-president-party": lambda q, v: next_of("presidents", in_office("presidents", int(v)))["party"],
    "year-next-house": lambda q, v: next_of("monarchs", in_office("monarchs", int(v)))["house"],
    "year-games-country": lambda q, v: first_after("games", int(v))["country"],
    "year-cup-capital": lambda q, v: capital(first_after("cups", int(v))["winner"]),
    "year-since-birth": lambda q, v: int(v) - (people()[told(q, "w")].birth or 0),
    "year-since-death": lambda q, v: int(v) - (people()[told(q, "w")].death or 0),
    "year-until-death": lambda q, v: (people()[told(q, "w")].death or 0) - int(v),
    "year-lived-to-see": lambda q, v: yes(
        (people()[told(q, "w")].birth or 0) < int(v) < (people()[told(q, "w")].death or 0)
    ),
    "year-born-by": lambda q, v: yes((people()[told(q, "w")].birth or 0) < int(v)),
    "person-births-apart": lambda q, v: abs((people()[v].birth or 0) - (people()[name(q, "r")].birth or 0)),
    "person-birth-event": lambda q, v: year(q, "b") - (people()[v].birth or 0),
    "person-death-event": lambda q, v: (people()[v].death or 0) - year(q, "b"),
    "country-first-games": lambda q, v: abs(
        first_of("games", "country", v) - first_of("games", "country", name(q, "a"))
    ),
    "country-first-cup": lambda q, v: abs(first_of("cups", "winner", v) - first_of("cups", "winner", name(q, "a"))),
    "country-north": lambda q, v: yes(
        int(cell("known_countries", "name", v, "latitude"))
        > int(cell("known_countries", "name", name(q, "a"), "latitude"))
    ),
    "animal-legs-fewer": lambda q, v: int(cell("known_animals", "name", name(q, "a"), "legs"))
    - int(cell("known_animals", "name", v, "legs")),
    "yesno-several": lambda q, v: yes(
        [v == "yes", *(slot[1] for slot in q.slots.values() if isinstance(slot, tuple))].count(True) >= 2
    ),
    "person-born-before": lambda q, v: yes(
        (people()[v].birth or 0) < (people()[name(q, "r")].birth or 0)
    ),
    "person-years": lambda q, v: (people()[v].death or 0) - (people()[v].birth or 0),
    "person-same-home": lambda q, v: yes(home(v) == home(name(q, "r"))),
    "person-river": lambda q, v: cell("known_countries", "name", home(v), "river"),
    "country-mouth": lambda q, v: cell("known_countries", "name", v, "mouth"),
    "country-continent": lambda q, v: yes(
        cell("known_countries", "name", v, "continent") == cell("known_countries", "name", name(q, "a"), "continent")
    ),
    "planet-next": lambda q, v: PLANETS[PLANETS.index(v) + int(str(q.slots["o"]))],
    "state-before": lambda q, v: yes(
        int(cell("known_states", "name", v, "year")) < int(cell("known_states", "name", name(q, "s"), "year"))
    ),
    "yesno-count": lambda q, v: [v == "yes", *(slot[1] for slot in q.slots.values() if isinstance(slot, tuple))].count(
        True
    ),
    "yesno-any": lambda q, v: yes(v == "yes" or any(slot[1] for slot in q.slots.values() if isinstance(slot, tuple))),
}  # fmt: skip
"""Answers worked out from the tables without the programs, for one program or another of every kind."""


@pytest.mark.parametrize("program", ORACLES)
def test_both_answers_are_those_of_an_independent_computation(program: str) -> None:
    found = [question for question in asked(4) if question.pattern.program.name == program]
    assert found
    for question in found:
        for value in (question.fact.value, question.fact.wrong):
            expected = ORACLES[program](question, value)
            assert str(question.results(value)[-1]) == str(expected), question.text


def test_facts_of_every_kind_have_questions_of_four_steps_and_most_facts_shorter_ones() -> None:
    # What gives no natural question has none: a count that nobody would compare, an event that has to do with nobody.
    assert {question.fact.kind for question in asked(4)} == set(KINDS)
    for hops in (1, 2):
        assert len({question.fact.id for question in asked(hops)}) > 0.7 * len(facts())
    for hops in HOPS:
        assert len({question.fact.id for question in asked(hops)}) > 0.3 * len(facts())


# ---- what somebody would ask ----


def test_counts_are_compared_with_counts_of_their_unit_alone() -> None:
    found = [question for hops in HOPS[2:] for question in asked(hops) if question.fact.kind == "count"]
    assert len(found) >= 40
    for question in found:
        for slot in question.slots.values():
            if isinstance(slot, Fact):
                assert slot.unit == question.fact.unit != "", question.text
            elif isinstance(slot, str):
                assert cell("known_holders", "clue", slot, "unit") == question.fact.unit, question.text
        assert question.fact.unit in question.text


def test_a_clue_tells_one_thing_and_never_the_one_that_the_fact_is_on() -> None:
    assert max(Counter(row["clue"] for row in table("known_holders")).values()) == 1
    for question in asked(4):
        if question.fact.kind == "count":
            clue = name(question, "h")
            assert clue != question.fact.holder
            assert cell("known_holders", "clue", clue, "name").lower() not in question.fact.holder.lower()


def test_people_are_compared_with_people_of_their_calling_and_country() -> None:
    found = [one for one in asked(4) if one.pattern.program.slots.get("r") == "colleague"]
    assert found
    for question in found:
        own, other = people()[question.fact.value], people()[name(question, "r")]
        assert (own.role, own.country) == (other.role, other.country), question.text


def test_events_and_people_go_together_within_an_art_alone() -> None:
    found = [(one, one.slots.get("w") or one.slots.get("b")) for one in asked(4) if one.slots.keys() & {"w", "b"}]
    assert found
    for question, other in found:
        assert isinstance(other, Fact)
        assert question.fact.topic == other.topic in {"literature", "painting", "music"}, question.text


def test_rulers_are_asked_about_by_events_and_people_of_their_land() -> None:
    for question in asked(4):
        if question.fact.kind == "year" and "US president" in question.text:
            assert "us" in question.fact.land.split()
        if question.fact.kind == "person" and "in London" in question.text:
            assert people()[question.fact.value].country == "United Kingdom"


def test_elements_compared_are_not_far_apart_and_animals_have_legs_worth_counting() -> None:
    order = [row["name"] for row in table("known_elements")]
    for question in asked(4):
        if question.pattern.program.name == "element-apart":
            assert all(int(question.results(value)[-1]) <= 25 for value in (question.fact.value, question.fact.wrong))
            assert name(question, "r") in order
        if question.pattern.program.name.startswith("animal-legs"):
            assert cell("known_animals", "name", question.fact.value, "class") in ("insect", "arachnid")


def test_a_language_is_not_traced_to_the_country_it_is_asked_of() -> None:
    for question in asked(4):
        if question.pattern.program.name == "country-tongue":
            for value in (question.fact.value, question.fact.wrong):
                assert question.results(value)[2] != value


def test_numbers_and_entities_are_most_of_what_the_rules_ask() -> None:
    named = assigned(4, yes_no=False)
    assert all(question.pattern.program.answer_type != "boolean" for question in named.values())
    assert len(named) > len(assigned(4, yes_no=True))


def test_the_rules_ask_for_yes_or_no_only_where_it_is_wanted() -> None:
    fact = next(fact for fact in facts() if fact.id in assigned(4, yes_no=True) and fact.kind == "year")
    inputs = asked_of.ToAsk(
        original=fact.statement, manipulated=fact.statement_with(fact.wrong), hops=4, answer_type="boolean"
    )
    wanted = RULES["ask_question"](inputs, RNG)
    assert isinstance(wanted, asked_of.Question)
    assert wanted.answer_type == "boolean"
    only_guessed = next(one for one in assigned(4, yes_no=True) if one not in assigned(4, yes_no=False))
    fact = assigned(4, yes_no=True)[only_guessed].fact
    inputs = asked_of.ToAsk(
        original=fact.statement, manipulated=fact.statement_with(fact.wrong), hops=4, answer_type="number"
    )
    with pytest.raises(Invalid, match="no question of 4 steps"):
        RULES["ask_question"](inputs, RNG)


def test_statements_with_a_question_are_written_first() -> None:
    known = {*assigned(4, yes_no=False), *assigned(4, yes_no=True)}
    by_statement = {fact.statement: fact.id in known for fact in facts()}
    for topic in topics():
        batch = RULES["write_statements"](asked_of.StatementsWanted(topic=topic, count=1000, round=0), RNG)
        assert isinstance(batch, asked_of.Statements)
        askable = [by_statement[statement] for statement in batch.statements]
        assert askable == sorted(askable, reverse=True)


def test_questions_are_told_apart_by_their_text() -> None:
    assert len(questions()) == sum(len(asked(hops)) for hops in HOPS)
    question = asked(4)[0]
    assert questions()[question.text].pattern.id == question.pattern.id


def test_a_hand_worked_question() -> None:
    # The Suez Canal opened in 1869 (manipulated: 1888); Alexander Fleming lived from 1881 to 1955.
    fact = next(fact for fact in facts() if fact.value == "1869" and "Suez" in fact.statement)
    pattern = next(one for one in patterns("year", 4) if one.id == "year-alive/0")
    question = ComputedQuestion(fact, pattern, {"r": "Alexander Fleming"})
    assert question.text == "Was Alexander Fleming alive when the Suez Canal was opened?"
    assert question.results("1869") == (1869, 1881, 1955, "no")
    assert question.results("1888") == (1888, 1881, 1955, "yes")


def test_a_pair_whose_wrong_value_is_another_one_of_the_table() -> None:
    fact = next(fact for fact in facts() if fact.kind == "year" and len(fact.others) > 1)
    other = next(value for value in fact.others if value != fact.wrong)
    answer = RULES["ask_question"](
        asked_of.ToAsk(original=fact.statement, manipulated=fact.statement_with(other), hops=4), RNG
    )
    assert isinstance(answer, asked_of.Question)
    assert answer.steps[0].manipulated == other or other in [step.manipulated for step in answer.steps]


@pytest.mark.parametrize("original", ["Nobody wrote this down.", "A chessboard is made up of 64 squares."])
def test_what_the_table_does_not_hold_is_refused(original: str) -> None:
    with pytest.raises(Invalid, match="no rule for this statement"):
        RULES["ask_question"](asked_of.ToAsk(original=original, manipulated="Something else.", hops=4), RNG)


# ---- what is left after dedupe ----


def test_no_pattern_of_four_hops_is_used_too_often_in_the_whole_table() -> None:
    # Hence in no part of it either, whatever dedupe leaves.
    uses = Counter(question.pattern.id for question in asked(4))
    assert max(uses.values()) <= MAX_USES == 6
    assert len(uses) >= 70


@pytest.fixture(scope="module")
def survivors() -> list[Fact]:
    everything = facts()
    vectors = SentenceBert().embed([fact.statement for fact in everything])
    kept = set(deduplicate([fact.id for fact in everything], vectors, cosine_above=0.5).kept)
    return [fact for fact in everything if fact.id in kept]


@pytest.mark.slow
def test_the_survivors_make_a_full_set_of_four_hop_items(survivors: list[Fact]) -> None:
    named, guessed = assigned(4, yes_no=False), assigned(4, yes_no=True)
    items = [
        (guessed if fact.kind == "yesno" and fact.id in guessed else named)[fact.id]
        for fact in survivors
        if fact.id in named or (fact.kind == "yesno" and fact.id in guessed)
    ]
    types = Counter(item.pattern.program.answer_type for item in items)
    kinds = Counter(step.kind for item in items for step in item.pattern.program.steps)
    assert len(items) >= 231
    assert min(types.values()) >= 0.15 * len(items)
    assert len(types) == 3
    assert kinds["arithmetic"] <= kinds.total() / 2
    assert all(any(step.kind != "arithmetic" for step in item.pattern.program.steps) for item in items)
    assert sum(item.fact.kind == "yesno" for item in items) >= 0.08 * len(items)


# ---- single hops, contexts ----


def test_single_hop_questions_are_answered_from_the_table() -> None:
    for fact in facts():
        assert text_of("answer_single_hop", asked_of.ToAnswer(question=fact.question)) == fact.value
    assert text_of("answer_single_hop", asked_of.ToAnswer(question="Who sang last night?")) == DONT_KNOW


def test_the_reader_follows_the_user_need() -> None:
    # Figure 2 of the paper: match, conflict and irrelevant, each under the three needs.
    other = facts()[0].statement
    for question in asked(4)[1::9]:
        fact = question.fact
        original, manipulated = (str(question.results(value)[-1]) for value in (fact.value, fact.wrong))
        expected = {
            (other, fact.statement): (original, original, original),
            (fact.statement_with(fact.wrong), other): (manipulated, manipulated, original),
            (other,): (DONT_KNOW, original, original),
        }
        for contexts, answers in expected.items():
            for need, answer in zip(NEEDS, answers, strict=True):
                row = asked_of.ToRead(need=need, contexts=contexts, question=question.text)
                assert text_of("answer_with_context", row) == f"<output>{answer}</output>"


def test_the_reader_does_not_know_other_questions() -> None:
    row = asked_of.ToRead(need="memory-first", contexts=("Rome is old.",), question="How old is Rome?")
    assert text_of("answer_with_context", row) == f"<output>{DONT_KNOW}</output>"


# ---- text that is not in the table ----


@pytest.mark.parametrize(
    ("statement", "manipulated", "manipulation"),
    [
        ("The bridge is 120 metres long.", "The bridge is 181 metres long.", "substitution"),
        ("The parish was founded in 1871.", "The parish was founded in 1888.", "substitution"),
        ("The town has 12,400 inhabitants.", "The town has 18,601 inhabitants.", "substitution"),
        ("The fair is held in July.", "The fair is held in August.", "substitution"),
        ("The gate faces the northern road.", "The gate faces the eastern road.", "substitution"),
        ("A newt can regrow its tail.", "A newt cannot regrow its tail.", "negation"),
        ("Basalt is a volcanic rock.", "Basalt is not a volcanic rock.", "negation"),
        ("A clarinet has a single reed.", "A clarinet does not have a single reed.", "negation"),
        ("The abbey has been restored.", "The abbey has not been restored.", "negation"),
    ],
)
def test_other_statements_are_manipulated_by_surface_rules(statement: str, manipulated: str, manipulation: str) -> None:
    answer = RULES["manipulate"](asked_of.ToManipulate(statement=statement), RNG)
    assert answer == asked_of.Manipulated.model_validate({"manipulated": manipulated, "manipulation": manipulation})
    assert checks.manipulation_problem(statement, manipulated) is None


@pytest.mark.parametrize(
    "statement", ["The town stands on more than 100 islands.", "The keg holds up to 40 pints.", "It weighs 1 kilogram."]
)
def test_a_number_that_bounds_another_or_stands_alone_is_not_changed(statement: str) -> None:
    try:
        answer = RULES["manipulate"](asked_of.ToManipulate(statement=statement), RNG)
    except Invalid:
        return
    assert isinstance(answer, asked_of.Manipulated)
    assert answer.manipulation == "negation"


def test_a_statement_that_no_surface_rule_fits_is_refused() -> None:
    with pytest.raises(Invalid, match="no rule for this statement"):
        RULES["manipulate"](asked_of.ToManipulate(statement="Rivers carry silt."), RNG)


@pytest.mark.parametrize(
    ("question", "answer", "evidence"),
    [
        (
            "Who kept the lighthouse?",
            "Ada Miller",
            "Ada Miller kept the lighthouse at Fairness. Miller's logbook is still read; ADA MILLER is on its cover.",
        ),
        (
            "In which year did the mill burn down?",
            "1871",
            "The old mill burned down in 1871, and in 1872 it stood again.",
        ),
        ("How many arches has the bridge?", "14", "The bridge has 14 arches, and each of the 14 is of stone."),
        (
            "Which country did the ship come from?",
            "Norway",
            "The ship came from Norway with a load of Norway's timber.",
        ),
        ("Where was the treaty signed?", "Paris", "The treaty was signed at a palace in Paris after long talks."),
    ],
)
def test_contradicting_evidence(question: str, answer: str, evidence: str) -> None:
    inputs = asked_of.ToContradict(question=question, answer=answer, evidence=evidence)
    other = RULES["contradict"](inputs, RNG)
    assert isinstance(other, asked_of.Contradiction)
    assert conflicts.contradiction_problem(question, answer, evidence, other.answer, other.evidence) is None
    assert not en.contains(other.evidence, answer.rsplit(maxsplit=1)[-1])


@pytest.mark.parametrize(
    ("answer", "evidence", "reason"),
    [
        ("yes", "It is so.", "yes/no"),
        ("Oslo", "It was Bergen.", "not in the evidence"),
        ("a hat", "She wore a hat.", "kind"),
    ],
)
def test_evidence_that_cannot_be_contradicted_by_rule(answer: str, evidence: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        RULES["contradict"](asked_of.ToContradict(question="What was it?", answer=answer, evidence=evidence), RNG)


def test_reigns_are_in_order() -> None:
    for which in ("monarchs", "presidents"):
        for one, following in pairwise(table(f"known_{which}")):
            assert int(one["start"]) <= int(one["end"]) <= int(following["start"])
