"""What a swap may change beside the answer, and what it must; what a strong model answered, and what people mind."""

import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel

from flows.construct.engine import Drop
from flows.construct.verification import VerifyContext
from flows.families.reeval import filters
from flows.families.reeval.checks.alternative import alternative_problem
from flows.families.reeval.checks.passage import condensed_problem, merged_problem, most_condensed, opening
from flows.families.reeval.checks.sentence import begins_leaning, resolved_problem, sentence_problem, short_name
from flows.families.reeval.checks.swap import answer_position, compare, restored, swap_problem
from flows.families.reeval.passages import collect
from flows.families.reeval.prompts import (
    ALTERNATIVE_ANSWER,
    CONDENSE,
    MERGE,
    READ_PASSAGE,
    REPLACE_ANSWER,
    RESOLVE_SENTENCE,
    SELECT_SENTENCE,
    Objection,
    ToAlter,
    ToCondense,
    ToMerge,
    ToRead,
    ToReplace,
    ToResolve,
    ToSelect,
)
from flows.families.reeval.rules import merge, read_passage, resolve_sentence
from flows.families.reeval.rules.alternatives import candidates_for
from flows.families.reeval.rules.swapping import first_fitting
from flows.families.reeval.verify import verify_swaps
from flows.language import language_of
from flows.language.agreement import contradiction, foreign_number, unexplained
from flows.language.explained import explanation, only_within_names
from flows.language.matter import matter_of, speaks_of
from flows.language.other_names import names_of
from flows.language.pointing import leans_on_what_is_asked, points_outside, question_points_outside, unlinked
from flows.language.tables import invented_names
from flows.llm.model import Invalid, Prompt
from schemas.base import Provenance, SourceRef
from schemas.reeval import Case, SwapCase
from schemas.source import Passage, QASource

CURIE = (
    "Marie Curie was a physicist and chemist who was born in Warsaw in 1867. Because the university in her home town "
    "did not admit women, she moved to France in 1891. Together with her husband, Pierre, she announced the discovery "
    "of two new elements in 1898. Curie shared the Nobel Prize in Physics in 1903."
)
OBEDIENT = CURIE.replace("Marie Curie", "Albert Einstein").replace("Curie", "Einstein")
"""What the old bound of two in a hundred words left of a good rewrite: the pronouns of somebody else."""
COHERENT = OBEDIENT.replace("in her home", "in his home").replace(" she ", " he ").replace("her husband", "his wife")
BAGA = "Baga Beach is a popular beach and tourist destination in North Goa. Baga is at the north end of the beaches."


def swap(old: str, new: str, answer: str, alternative: str, *aliases: str) -> tuple[str, str] | None:
    """The problem of a rewrite, which is first restored as the step does it."""
    return swap_problem("en", old, answer, aliases, alternative, restored(old, new))


def row(old: str, new: str, answer: str, alternative: str, question: str = "Which name is told?") -> SwapCase:
    """A finished row as the step makes it of a rewrite, whatever its checks say."""
    names = names_of("en", answer, ())
    compared = compare("en", old, answer, names, new)
    return SwapCase(
        key="k", question=question, answer=alternative, original_answer=answer, evidence=new, original_evidence=old,
        replacements=compared.replacements, agreement=compared.agreement,
        answer_position=answer_position("en", new, alternative), pivot="pivot", source="made",
        provenance=Provenance(seed=1),
    )  # fmt: skip


class _Pivot:
    pivots = ("pivot",)


def faults(case: SwapCase) -> list[str]:
    context = VerifyContext(_Pivot(), None, lambda name: [])  # type: ignore[arg-type]
    return [fault.problem for fault in verify_swaps([case], context)]


# ---- what may change, and what must (item by item of the bound) ----


def test_pronouns_follow_the_new_answer_and_are_listed_in_the_row() -> None:
    assert swap(CURIE, COHERENT, "Marie Curie", "Albert Einstein") is None
    case = row(CURIE, COHERENT, "Marie Curie", "Albert Einstein")
    assert [(edit.old, edit.new) for edit in case.agreement] == [
        ("her", "his"), ("she", "he"), ("her husband", "his wife"), ("she", "he"),
    ]  # fmt: skip
    assert faults(case) == []


def test_pronouns_that_contradict_the_new_answer_are_refused_and_the_spot_is_named() -> None:
    problem = swap(CURIE, OBEDIENT, "Marie Curie", "Albert Einstein")
    assert problem is not None
    assert problem[0] == "passage does not agree with the new answer"
    assert "university in her home town" in problem[1]
    assert "'his or him'" in problem[1]
    assert any(
        "does not fit the new answer" in one for one in faults(row(CURIE, OBEDIENT, "Marie Curie", "Albert Einstein"))
    )


def test_pronouns_of_somebody_else_stay() -> None:
    old = "The prize went to Marie Curie. Her sister Helen lived in Paris, where she worked. It was a great success."
    new = (
        "The prize went to Albert Einstein. His sister Helen lived in Paris, where she worked. It was a great success."
    )
    assert swap(old, new, "Marie Curie", "Albert Einstein") is None


@pytest.mark.parametrize(
    "text",
    [
        "The Queen of the ice (Robert Lindqvist) serves the ice cream, and she casts a spell on it.",  # of the part
        "The general came with Robert Lindqvist as her second in command.",
        "Robert Lindqvist spoke after Quvenzhané. She was content.",  # somebody of a gender that nobody knows
        "Robert Lindqvist lived beside a widow. Her son was ill.",
    ],
)
def test_a_pronoun_that_may_be_somebody_elses_is_no_contradiction(text: str) -> None:
    assert contradiction("en", text, "Helen Lindqvist", "Robert Lindqvist") is None


@pytest.mark.parametrize(
    ("old", "new", "answer", "alternative"),
    [
        ("Prince", "Duke", "Charles, Prince of Wales", "Andrew, Duke of York"),
        ("Wales", "York", "Charles, Prince of Wales", "Andrew, Duke of York"),
        ("These alchemists", "These physicians", "Middle Eastern alchemy", "ancient Greek medicine"),
        ("an alchemical", "a medical", "Middle Eastern alchemy", "ancient Greek medicine"),
        ("derogatory", "admiring", "derision", "admiration"),
        ("HP", "HO", "hit points", "hero power"),
        ("are", "is", "steam engines", "the turbine"),
        ("her husband", "his wife", "Marie Curie", "Albert Einstein"),
        ("on 8 March", "in June", "8 March 2018", "June 2019"),
    ],
)
def test_what_follows_from_the_swap_is_explained(old: str, new: str, answer: str, alternative: str) -> None:
    assert unexplained("en", old, new, answer, alternative) == 0


@pytest.mark.parametrize(
    ("old", "new", "answer", "alternative"),
    [
        ("Paris", "London", "Berlin", "London"),  # another's name may not become the new one
        ("", "London", "Berlin", "London"),
        ("was", "is", "Berlin", "London"),  # a tense is no number
        ("he", "she", "1835", "1852"),  # nobody was exchanged
        ("1867", "1879", "Marie Curie", "Albert Einstein"),
        ("London", "Zanzibar, where the earth is flat", "London", "Zanzibar"),
    ],
)
def test_what_does_not_follow_from_the_swap_is_not(old: str, new: str, answer: str, alternative: str) -> None:
    assert unexplained("en", old, new, answer, alternative) > 0


def test_the_bound_is_on_what_the_swap_does_not_explain() -> None:
    changed = COHERENT.replace("born in Warsaw in 1867", "born in Ulm in 1879").replace(
        "to France in 1891", "to Bern in 1902"
    )
    problem = swap(CURIE, changed, "Marie Curie", "Albert Einstein")
    assert problem is not None
    assert problem[0] == "evidence changed beyond the answer"
    assert "'Ulm' was 'Warsaw'" in problem[1]
    assert "his" not in problem[1]  # what follows from the swap is not complained of
    assert any("does not ask for" in one for one in faults(row(CURIE, changed, "Marie Curie", "Albert Einstein")))


def test_a_title_after_the_name_is_the_name_too() -> None:
    answer, alternative = "Charles, Prince of Wales", "Andrew, Duke of York"
    names = names_of("en", answer, ())
    assert names == ("Prince of Wales",)
    old = "Her heir is her eldest son, Charles, Prince of Wales. Next is William, the Prince of Wales's elder son."
    lazy = old.replace(answer, alternative)
    assert swap_problem("en", old, answer, names, alternative, lazy) == (
        "old answer is left in the new evidence", "replace 'Prince of Wales' as well",
    )  # fmt: skip
    assert swap_problem("en", old, answer, names, alternative, lazy.replace("Prince of Wales", "Duke of York")) is None


@pytest.mark.parametrize(
    ("answer", "aliases", "text", "names"),
    [
        ("Andrew Lloyd Webber", (), "Andrew Lloyd Webber wrote it. Lloyd Webber was paid.", ("Lloyd Webber",)),
        ("Andrew Lloyd Webber", (), "Andrew Lloyd Webber wrote it.", ()),
        ("the European Court of Justice", ("the European Court",), "the European Court of Human Rights", ()),
        ("the European Court of Justice", ("the European Court",), "The European Court met.", ("the European Court",)),
    ],
)
def test_what_else_the_answer_is_called_depends_on_the_text(
    answer: str, aliases: tuple[str, ...], text: str, names: tuple[str, ...]
) -> None:
    assert names_of("en", answer, aliases, text) == names


def test_a_verb_right_after_the_new_answer_agrees() -> None:
    old = "The heat comes first. Steam was used for a hundred years in mills and on ships, and then no more of it."
    wrong = old.replace("Steam", "Gas turbines")
    assert contradiction("en", wrong, "steam", "gas turbines") is not None
    assert swap(old, wrong.replace("turbines was", "turbines were"), "steam", "gas turbines") is None


def test_chinese_pronouns_follow_as_well() -> None:
    old = "王淑芬是一位小学教师，她出生于南京，后来在北京生活了二十年，她的学生都很喜欢她。"
    lazy = old.replace("王淑芬", "李建国")
    assert unexplained("zh", "她", "他", "王淑芬", "李建国") == 0
    assert swap_problem("zh", old, "王淑芬", (), "李建国", lazy.replace("她", "他")) is None


def test_blanks_and_quotation_marks_are_the_sources() -> None:
    old = "“ What Lovers Do ” is  a song by the band ’s singer\n\nAda Brown , and was released on August 30 ."
    said = '"What Lovers Do" is a song by the band\'s singer Eve White, and was released on August 30.'
    new = restored(old, said)
    assert new == old.replace("Ada Brown ,", "Eve White,").replace("Ada Brown", "Eve White")
    assert swap_problem("en", old, "Ada Brown", (), "Eve White", new) is None


# ---- the alternative ----


def case_of(question: str, answer: str, evidence: str, language: str = "en", *aliases: str) -> Case:
    return Case(
        key="k", question=question, answer=answer, aliases=aliases, evidence=evidence, language=language,
        pivot="pivot", source="s", provenance=Provenance(seed=1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "alternative", "fits"),
    [
        ("North Goa", "South Goa", True),  # the paper's own
        ("the Edict of Nantes", "the Edict of Fontainebleau", True),
        ("the Amboise plot", "the Blois plot", True),
        ("hit points or health points", "hero points or honor points", True),
        ("the President of India", "the Prime Minister of India", True),
        ("the early 4th century BCE", "the late 6th century BCE", True),  # figure 1
        ("United States", "the US", False),
        ("John F. Kennedy", "John Kennedy", False),
        ("Besançon Hugues", "Hugues", False),
        ("Nantes", "the city of Nantes", False),
        ("1,000", "1000", False),
    ],
)
def test_an_alternative_may_share_words_but_not_the_meaning(answer: str, alternative: str, fits: bool) -> None:
    case = case_of("What is it?", answer, f"As everybody knows, it is {answer} that the story speaks of.")
    problem = alternative_problem(case, alternative)
    assert (problem is None) is fits, problem


def test_a_question_that_offers_a_choice_does_not_give_the_other_away() -> None:
    case = case_of("baga beach is in north or south goa", "North Goa", BAGA)
    assert alternative_problem(case, "South Goa") is None
    assert swap(BAGA, BAGA.replace("North Goa", "South Goa"), "North Goa", "South Goa") is None
    assert faults(row(BAGA, BAGA.replace("North Goa", "South Goa"), "North Goa", "South Goa", case.question)) == []
    other = case_of("which beach lies in South Goa", "Baga", BAGA)
    assert alternative_problem(other, "South Goa") is not None


# ---- answers that nothing else can stand in for ----


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ('Afranji, meaning "Frank", was the castle of the town.', "Afranji", "Afranji, meaning"),
        ('The word "sarod" roughly means "beautiful sound" in Persian.', "sarod", "sarod"),
        ("It is the Tiber, literally the old river.", "Tiber", "literally"),
        ("The rest was put into the reedhorn (named for its reed) by him.", "reedhorn", "named for its reed"),
        ("The robot, short for robotnik, stood there.", "robot", "short for"),
        ("The answer is NATO, which stands for North Atlantic Treaty Organization.", "NATO", "stands for"),
        ("The R/T badge stands for Road/Track.", "Road/Track", "stands for Road/Track"),
        ("They came to Warsaw (Polish: Warszawa) at night.", "Warsaw", "(Polish: Warszawa)"),
        ("Philippe Petit (French pronunciation: [filip pəti]) walked.", "Philippe Petit", "French pronunciation"),
        ("It is the Omega (ωμέγα) of the tale.", "Omega", "ωμέγα"),
        ("Authority (derived from the Latin word auctoritas) is a right.", "authority", "from the Latin"),
        ("The island of Tasmania was named after the sailor Abel Tasman.", "Abel Tasman", "named after"),
        ("It was described by George Huntington, after whom it is called.", "George Huntington", "after whom"),
        # What explains something else, or nothing, is left alone.
        ("They left Leeds by means of a boat, meaning that all were safe.", "Leeds", None),
        ("In Leeds he met a boy who was named after his uncle.", "Leeds", None),
        ("The street was named after Lincoln, the president.", "Lincoln", None),
        ("Troops from Leeds, from the German army and others came.", "Leeds", None),
        ("The fair was held in Leeds (Yorkshire) in 1890.", "Leeds", None),
        ('It was found in 1890, meaning "long ago" to them.', "1890", None),
        ("Leeds stands for its people.", "Leeds", None),
        ("He sold it in Leeds. The name means nothing to him.", "Leeds", None),
    ],
)
def test_a_name_that_the_text_explains_is_told(text: str, answer: str, told: str | None) -> None:
    found = explanation("en", text, answer)
    assert (found is None) is (told is None), found
    assert (told or "") in (found or "")


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("他住在沃灵顿（Warrington），那是一座城。", "沃灵顿", True),
        ("过去被称为拉穆特人，意为住在海边的人。", "拉穆特人", True),
        ("西湾河电车厂简称西电，建于1989年。", "西电", True),
        ("他住在沃灵顿（1990年以前），那是一座城。", "沃灵顿", False),
        ("伽蓝一词由佛教用语译作中文。", "佛教", False),
    ],
)
def test_a_chinese_name_that_the_text_explains_is_told(text: str, answer: str, told: bool) -> None:
    assert (explanation("zh", text, answer) is not None) is told


@pytest.mark.parametrize(
    ("question", "text", "answer", "longer"),
    [
        ("Which genre do they share?", "It was made by Disney Animation Studios.", "Animation", "Animation Studios"),
        ("What was the mask moved by?", "A computer-puppeteered mask was worn.", "computer", "computer-puppeteered"),
        ("What was the mask moved by?", "A computer-puppeteered mask hides the computer.", "computer", None),
        ("At which university?", "He taught at Oxford University.", "Oxford", None),
        ("In which city did he teach?", "He taught at Oxford University.", "Oxford", "Oxford University"),
        ("Which river is it?", "They crossed the Amazon River.", "Amazon", None),
        ("Where was it held?", "It was held by a London-based club.", "London", None),
    ],
)
def test_an_answer_within_other_names_alone_is_told(question: str, text: str, answer: str, longer: str | None) -> None:
    assert only_within_names("en", question, text, answer) == longer


@pytest.mark.parametrize(
    ("text", "longer"), [("他写了《北京往事》一书。", "《北京往事》"), ("他在北京写了《北京往事》。", None)]
)
def test_an_answer_within_a_chinese_title_alone_is_told(text: str, longer: str | None) -> None:
    assert only_within_names("zh", "他在哪里？", text, "北京") == longer


@pytest.mark.parametrize(
    ("text", "question", "answer", "said"),
    [
        ("They lived in Warsaw (Polish: Warszawa) for years.", "Where did they live?", "Warsaw", "explains the name"),
        ("He taught at Oxford University for years.", "In which city?", "Oxford", "within other names alone"),
    ],
)
def test_a_row_that_swaps_what_nothing_can_stand_in_for_is_a_fault(
    text: str, question: str, answer: str, said: str
) -> None:
    found = faults(row(text, text.replace(answer, "Leeds"), answer, "Leeds", question))
    assert any(said in problem for problem in found)


# ---- several golds, quotes ----


def source(question: str, evidence: str, *answers: str) -> QASource:
    return QASource(
        key="k", question=question, answers=answers, evidence=evidence, source=SourceRef(source="made", id="1"),
        format="squad",
    )  # fmt: skip


HUGUENOTS = (
    "Huguenot numbers peaked near two million by 1562, concentrated mainly in the southern and central parts of "
    "France, about one-eighth the number of French Catholics."
)


def test_golds_that_are_too_long_still_have_a_say() -> None:
    with pytest.raises(Drop, match="several answers"):
        filters.filtered(
            source(
                "Where were the Huguenots?", HUGUENOTS, "The southern and central parts of France", "about one-eighth"
            ),
            random.Random(0),
        )


def test_golds_that_were_not_chosen_survive_for_grading() -> None:
    golds = ("about one-eighth the number of French Catholics", "about one-eighth", "one-eighth")
    kept = filters.filtered(source("What was the proportion?", HUGUENOTS, *golds), random.Random(0))
    assert kept.answer in golds[1:]
    assert {kept.answer, *kept.aliases} == set(golds)


def test_golds_overlap_where_all_hold_the_shortest() -> None:
    golds = ("the parts of France", "France", "southern and central parts of France", "of France")
    assert filters.filtered(source("Where were the Huguenots?", HUGUENOTS, *golds), random.Random(0)).answer in golds


@pytest.mark.parametrize(
    "golds", [("Don Shula", "Shula, Don"), ("October 1980", "in October 1980", "October 26, 1980")]
)
def test_golds_overlap_where_all_have_the_words_of_the_shortest(golds: tuple[str, ...]) -> None:
    evidence = "The record was set by Don Shula in October 1980, as all of the papers wrote on the next day."
    assert filters.filtered(source("Who set it?", evidence, *golds), random.Random(0)).answer in golds


def test_a_comma_cut_off_with_the_answer_is_none_of_it() -> None:
    evidence = "The French withdrew to Ticonderoga Point, where they began to build a fort in the autumn of 1755."
    kept = filters.filtered(source("Where did the French withdraw?", evidence, "Ticonderoga Point,"), random.Random(0))
    assert (kept.answer, kept.aliases) == ("Ticonderoga Point", ())


def test_an_answer_is_found_whatever_its_quotes_and_tokenisation() -> None:
    evidence = "The song is on the band ’s album “ Red Pill Blues ” , which came out in the autumn of 2017 ."
    kept = filters.filtered(source("What is the song on?", evidence, "the band's album \"Red"), random.Random(0))
    assert kept.answer == "the band ’s album “ Red"
    assert kept.aliases == ()


def test_a_sentence_is_a_quote_whatever_its_quotes_and_blanks() -> None:
    evidence = "It was late. The song “ Red  Pill ” is the band ’s best . Nobody knows why."
    said = 'The song "Red Pill" is the band\'s best.'
    assert sentence_problem("en", evidence, "the band's best", said) is None
    assert sentence_problem("en", evidence, "best", "The song is the band's best.") is not None


# ---- what points outside ----


@pytest.mark.parametrize(
    ("question", "pointing"),
    [
        ("When did this attempt take place?", "this attempt"),
        ("Who translated this version of the scriptures?", "this version"),
        ("An illustrated, paraphrased version of this appeared when?", "of this"),
        ("The term may be related to what politician from Switzerland?", "The term"),
        ("When did he die?", "he"),
        ("What was her first book?", "her"),
        ("When was it built?", "it"),
        ("When did Calvin say that he had come home?", None),
        ("who plays kate in this is us", None),
        ("who sings i will go down with this ship", None),
        ("where did this case of product tampering occur", "this case"),
        ("how long does it take to get to mars", None),
        ("this type of nuclear decay turns a proton into a neutron", None),  # a riddle
        ("Who won the race after his brother fell?", None),
        ("Which country imported this year's oil?", None),
        ("The integer factorization problem seeks to determine what?", None),
    ],
)
def test_a_question_that_points_outside_itself_is_told(question: str, pointing: str | None) -> None:
    told = question_points_outside("en", question, "Justin Hartley plays him in This Is Us.")
    assert (told or "").startswith(pointing or "")
    assert (told is None) == (pointing is None)


@pytest.mark.parametrize(
    ("question", "points"),
    [
        ("这张专辑的主题是什么？", True),
        ("该院的现任院长是谁？", True),
        ("1994年他加盟了什么队？", True),
        ("交叉笛鲷的俗名是什么？", False),
        ("日本佛教与西藏佛教有些教派相较于其他教派有什么不同?", False),
        ("朱皇后是谁的妻子？", False),
    ],
)
def test_a_chinese_question_that_points_outside_itself_is_told(question: str, points: bool) -> None:
    assert (question_points_outside("zh", question) is not None) is points


def test_it_is_a_counted_drop_and_a_fault() -> None:
    with pytest.raises(Drop, match="question points outside itself"):
        filters.filtered(source("When did this attempt take place?", HUGUENOTS, "1562"), random.Random(0))
    case = row(HUGUENOTS, HUGUENOTS.replace("1562", "1572"), "1562", "1572", "When did this attempt take place?")
    assert any("points at something outside" in problem for problem in faults(case))


@pytest.mark.parametrize(
    ("sentence", "leaning"),
    [
        ("A two-volume version based on his manuscript, by Jean de Rély, was printed in Paris in 1487.", "his"),
        ("In 1890 his book won the prize.", "his"),
        ("Within this complex is the Grand Kremlin Palace.", "this complex"),
        ("A two-volume version based on Guyard de Moulin's manuscript was printed in 1487.", None),
        ("Baran developed the concept during his research.", None),
        ("By the time he died, Lincoln was president.", None),
    ],
)
def test_pronouns_and_possessives_anywhere_in_a_sentence_are_told(sentence: str, leaning: str | None) -> None:
    told = points_outside("en", sentence)
    assert (told or "").startswith(leaning or "")
    assert (told is None) == (leaning is None)


# ---- what a strong model answered ----

_KINDS: Mapping[str, Prompt[Any]] = {
    "Give a wrong answer": ALTERNATIVE_ANSWER,
    "Rewrite the passage so": REPLACE_ANSWER,
    "Select the sentence": SELECT_SENTENCE,
    "Condense them into one": CONDENSE,
    "Merge the two passages": MERGE,
}


def _field(text: str, name: str, until: str = "(?!)") -> str:
    found = re.search(rf"^{name}:\n(.*?)(?=\n\n(?:{until}):\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _inputs(prompt: Prompt[Any], said: str) -> BaseModel:
    """What a recorded prompt was asked with, read back from its text."""
    question, passage = _field(said, "Question", "Answer"), _field(said, "Passage", "Text span")
    answer = _field(said, "Answer", "Passage")
    if prompt is ALTERNATIVE_ANSWER:
        return ToAlter(
            question=question, answer=answer, aliases=(), evidence=passage, language="en"
        )  # fmt: skip
    if prompt is SELECT_SENTENCE:
        return ToSelect(question=question, answer=answer, evidence=passage, language="en")
    if prompt is REPLACE_ANSWER:
        span = _field(said, "Text span", "Other wordings of it|New span")
        others = tuple(filter(None, _field(said, "Other wordings of it", "New span").split("; ")))
        return ToReplace(
            answer=span, aliases=names_of("en", span, others), alternative=_field(said, "New span"), evidence=passage,
            language="en",
        )  # fmt: skip
    if prompt is CONDENSE:
        passages = tuple(re.split(r"(?:^|\n\n)\[\d\]:\n", said)[1:])
        most = most_condensed("en", passages)
        return ToCondense(question=question, answer=answer, passages=passages, most=most, language="en")
    parts = re.search(r"\[1\]:\n(.*?)\n\n\[2\]:\n(.*?)\n\nSpan:\n(.*)", said, re.DOTALL)
    assert parts is not None
    return ToMerge(
        question=question, sentence=parts[1], condensed=parts[2], passages=(), answer=parts[3], place=0.5,
        language="en", most=200,
    )  # fmt: skip


def recorded(shared: Path, *, first: bool) -> Iterator[tuple[Prompt[Any], BaseModel, str]]:
    """ReEval's recorded answers: the first ones, or those to a complaint."""
    with gzip.open(shared / "recorded/answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            asked = entry["messages"]
            for opening, prompt in _KINDS.items():
                if opening in asked[0]["content"] and (len(asked) == 2) is first:
                    yield prompt, _inputs(prompt, asked[1]["content"]), entry["answer"]


def test_every_first_answer_of_a_strong_model_passes(shared: Path) -> None:
    refused, passed = [], 0
    for prompt, inputs, answer in recorded(shared, first=True):
        try:
            prompt.parse(inputs, answer)
            passed += 1
        except Invalid as invalid:
            refused.append(f"{prompt.name}: {invalid}")
    assert refused == []
    assert passed == 23 + 23 + 16 + 13 + 8


def test_the_repair_that_the_old_bound_pushed_it_into_is_refused(shared: Path) -> None:
    repairs = [one for one in recorded(shared, first=False) if one[0] is REPLACE_ANSWER]
    royal = next(one for one in repairs if "Prince of Wales" in one[1].answer)  # type: ignore[attr-defined]
    with pytest.raises(Invalid, match="replace 'Prince of Wales' as well"):
        REPLACE_ANSWER.parse(royal[1], royal[2])


def test_the_prompts_state_what_the_checks_refuse() -> None:
    asked = ToAlter(question="q", answer="a", aliases=("b",), evidence="e", language="en")
    alternative = ALTERNATIVE_ANSWER.messages(asked)[0]["content"]
    for stated in ("five words", "South Goa for", "question offers answers", "same type", "plain text"):
        assert stated in alternative
    rewriting = ToReplace(answer="a", aliases=(), alternative="b", evidence="e", language="en")
    rewrite = REPLACE_ANSWER.messages(rewriting)[0]["content"]
    for stated in ("coherent", "pronouns and possessives", "number of a verb", "Change nothing else", "short form"):
        assert stated in rewrite


# ---- the rules ----


@pytest.mark.parametrize(
    ("answer", "evidence", "candidates", "chosen"),
    [
        (
            "1979",
            "Denmark joined in 1972, Greece in 1979, and Spain a few years later, in 1985.",
            ("1970", "1983"),
            "1983",
        ),
        ("three", "There are three bridges over the river, as everybody in the old town knows.", ("five",), "five"),
    ],
)
def test_the_rules_keep_dates_in_their_order(
    answer: str, evidence: str, candidates: tuple[str, ...], chosen: str
) -> None:
    asked = ToAlter(question="When or how many?", answer=answer, aliases=(), evidence=evidence, language="en")
    assert first_fitting(asked, candidates).answer == chosen


def test_the_rules_leave_a_number_with_its_conversion_alone() -> None:
    asked = ToAlter(
        question="How far is it?", answer="about 300", aliases=(), language="en",
        evidence="Warsaw lies in Poland about 300 km (190 mi) from the mountains and on a large river.",
    )  # fmt: skip
    with pytest.raises(Invalid, match="number beside its conversion"):
        first_fitting(asked, ["about 400"])


def offered(answer: str, question: str, evidence: str) -> Sequence[str]:
    case = case_of(question, answer, evidence)
    return candidates_for(case, (), random.Random(7))


def test_a_person_is_replaced_by_one_whom_nobody_knows() -> None:
    evidence = "The first director-general was the British biologist Julian Huxley, who took office in 1946."
    invented = invented_names("en")
    people = offered("Julian Huxley", "Who was the first director-general?", evidence)
    assert people
    for first, last in (name.split() for name in people):
        assert first in invented["male"]
        assert last in invented["surname"]


def test_a_town_and_an_organisation_are_invented_and_keep_what_they_are() -> None:
    towns = offered("Lima", "In which city is the centre?", "A research centre in Lima keeps potatoes for the world.")
    assert towns
    assert set(towns) <= set(invented_names("en")["spanish-town"])
    colleges = offered("Gresham College", "At which college was it founded?", "It was founded at Gresham College then.")
    assert colleges
    assert all(one.endswith(" College") for one in colleges)


def test_years_and_quantities_are_near() -> None:
    years = offered("1793", "In which year was it opened?", "During the Revolution, in 1793, it was opened to all.")
    assert years
    assert all(1790 <= int(year) <= 1796 for year in years)
    lengths = offered("1,230 kilometres", "How long is it?", "The river is about 1,230 kilometres long, they say.")
    assert lengths
    for length in lengths:
        figure, unit = length.split()
        assert unit == "kilometres"
        assert 1160 <= int(figure.replace(",", "")) <= 1300


def test_a_title_is_invented_where_nothing_plays_on_it() -> None:
    novel, question = "The Last Man", "Which novel is about a plague?"
    titles = offered(novel, question, f"Her later novel {novel} describes a plague.")
    assert titles
    assert set(titles) <= set(invented_names("en")["title"])
    assert not offered(novel, question, f"{novel} is a film of 1960 about a plague. It was made in Italy.")
    assert not offered(novel, question, f"Her novel {novel} has a title character who survives a plague.")
    assert not offered(novel, question, f"Her novel {novel} is about a plague and a man who survives it.")


@pytest.mark.parametrize(
    ("answer", "question", "evidence", "people"),
    [
        ("Jørn Utzon", "Which architect won?", "The Danish architect Jørn Utzon won. Utzon gave up.", "nordic"),
        ("Junko Tabei", "Who was the first woman?", "Junko Tabei from Japan became the first. She did it.", "japanese"),
        ("Johannes Brahms", "Which composer came?", "She was a German pianist whom Johannes Brahms visited.", "german"),
    ],
)
def test_an_invented_name_sounds_like_those_of_its_people(
    answer: str, question: str, evidence: str, people: str
) -> None:
    names = offered(answer, question, evidence)
    assert names
    assert all(name.split()[1] in invented_names("en")[f"{people}-surname"] for name in names)


@pytest.mark.parametrize(
    ("evidence", "offers"),
    [
        ("She fled and found a new home in Sweden after a long journey.", True),
        ("She fled to Sweden, where a Swedish institute gave her work.", False),
        ("She fled to Sweden and lived in Stockholm for twenty years.", False),
    ],
)
def test_a_country_becomes_its_neighbour_where_nothing_else_is_of_it(evidence: str, offers: bool) -> None:
    countries = offered("Sweden", "In which country did she find a home?", evidence)
    assert set(countries) == ({"Denmark", "Finland", "Iceland", "Norway"} if offers else set())


@pytest.mark.parametrize(
    ("answer", "question", "evidence", "alternatives"),
    [
        ("Elephant Island", "On which island?", "They rowed to Elephant Island and waited for months.", "* Island"),
        ("Oak Island", "Where is the curse of oak island filmed?", "The Curse of Oak Island is set on Oak Island.", ""),
        ("George Strait", "who sings it", "It was performed by American singer George Strait in 1998.", ""),
        ("Roger Dean Stadium", "Where is the training?", "They train at Roger Dean Stadium each spring, they say.", ""),
        ("International Whaling Commission", "Which body?", "The International Whaling Commission forbade it all.",
         "World Whaling Commission"),
        ("gas turbines", "Which engines?", "Along with diesel engines, gas turbines drive most ships today.", ""),
        ("尊敦", "他的神号是什么？", "他是琉球国的建立者，神号尊敦，在位五十年，事迹已经无从考证。", ""),
    ],
)  # fmt: skip
def test_names_of_several_words_change_where_one_is_their_own(
    answer: str, question: str, evidence: str, alternatives: str
) -> None:
    case = case_of(question, answer, evidence)
    if answer == "尊敦":
        case = case.revised(language="zh")
    found = candidates_for(case, (), random.Random(7))
    assert bool(found) == bool(alternatives)
    if alternatives:
        assert all(re.fullmatch(alternatives.replace("*", r"\S+"), one) for one in found)


def test_a_chinese_person_keeps_the_family_and_a_foreign_one_is_foreign() -> None:
    case = case_of("孙权立谁为太子？", "孙登", "孙权封王称帝，立孙登为太子，大臣们请求立他的养母为后。").revised(
        language="zh"
    )
    assert all(one[0] == "孙" and len(one) == 2 for one in candidates_for(case, (), random.Random(7)))
    case = case_of("谁获胜？", "格奥尔基·伊万诺夫", "格奥尔基·伊万诺夫获胜，他将成为下一任总统。").revised(
        language="zh"
    )
    assert all(one.count("·") == 1 for one in candidates_for(case, (), random.Random(7)))


@pytest.mark.parametrize(
    ("answer", "question", "evidence", "candidate", "reason"),
    [
        ("Guy de Lusignan", "Who led the troops?",
         "All declared that they would support Guy. The troops were led by Guy de Lusignan, as they say.",
         "Alban Lorrimer", "a part of the old answer stays"),
        ("13 June 2012", "When was it held?", "Known as Rio 2012, the great meeting was held on 13 June 2012 in Rio.",
         "7 May 2009", "a part of the old answer stays"),
        ("April 11, 2018", "When did it end?", "It ended on April 11, 2018 and the playoffs began on April 14, 2018.",
         "May 18, 2018", "no alternative answer fits"),
        ("352", "How many votes are there?", "There are 352 votes. That is 74 per cent, or 260 of the 352 votes.",
         "355", "number of which a share is told"),
    ],
)  # fmt: skip
def test_what_the_old_answer_leaves_behind_is_a_drop(
    answer: str, question: str, evidence: str, candidate: str, reason: str
) -> None:
    asked = ToAlter(question=question, answer=answer, aliases=(), evidence=evidence, language="en")
    with pytest.raises(Invalid, match=reason):
        first_fitting(asked, [candidate])


@pytest.mark.parametrize(
    ("question", "answer", "sentence", "vague"),
    [
        ("大沙地站何时启用？", "2009年", "该站于2009年启用。", "该站"),
        ("大沙地站何时启用？", "2009年", "大沙地站设有出口，该站于2009年启用。", None),
        ("谁导演了林投姐？", "丁善玺", "丁善玺执导了本片。", "本片"),
    ],
)
def test_a_chinese_sentence_that_leans_on_what_the_passage_named_is_told(
    question: str, answer: str, sentence: str, vague: str | None
) -> None:
    assert leans_on_what_is_asked("zh", question, answer, sentence) == vague


# ---- passages ----


def test_passages_on_another_matter_are_passed_over() -> None:
    texts = (
        "佛山站是广东省佛山市的一个铁路车站，属于广茂铁路，每天有许多旅客在这个车站上车。",
        "桂林站是广西桂林市的一个铁路车站，属于湘桂铁路，每天有许多旅客在这个车站下车。",
        "红烧肉是一道有名的菜，用五花肉、酱油和冰糖慢慢地煮成，味道又甜又香，很受欢迎。",
    )
    passages = [
        Passage(key=str(at), text=text, language="zh", source=SourceRef(source="made", id=str(at)))
        for at, text in enumerate(texts)
    ]
    evidence = "肇庆站是广东省肇庆市的一个铁路车站，属于广茂铁路，每天有许多旅客在车站上车和下车，很热闹。"
    case = case_of("肇庆站属于哪条铁路？每天有许多旅客吗？煮", "广茂铁路", evidence, "zh")
    drawn = collect([case], passages, None, lambda record: 1).draw(case, evidence, "evidence")  # type: ignore[arg-type]
    assert texts[2] not in {passage.text for passage in drawn.passages}
    assert drawn.far == 1  # the stations may be passed over for another reason: each names a railway


# ---- what people who tried it saw ----


@pytest.mark.parametrize(
    ("question", "answer", "sentence", "phrase"),
    [
        (
            "Who wrote the words of The Magic Flute?",
            "Emanuel Schikaneder",
            "Emanuel Schikaneder, the director of the theatre, wrote the words.",
            "the theatre",
        ),
        (
            "Who was the first to set foot on the south summit of Denali?",
            "Walter Harper",
            "A party led by Hudson Stuck reached that summit in June 1913, and Walter Harper was the first on it.",
            "that summit",
        ),
        (
            "On what date did Edmund Hillary and Tenzing Norgay stand on the top of Mount Everest?",
            "29 May 1953",
            "Edmund Hillary and Tenzing Norgay were the first people known to have stood on the top, on 29 May 1953.",
            "the top",
        ),
        (
            "Who was the first president of the International Olympic Committee?",
            "Demetrios Vikelas",
            "The first president was the Greek writer Demetrios Vikelas.",
            "The first president",
        ),
        (
            "To which city was the seat of the International Olympic Committee moved during the First World War?",
            "Lausanne",
            "During the First World War he moved the seat of the committee to Lausanne in neutral Switzerland.",
            "he",
        ),
        (
            "Which composer visited Clara Schumann and her husband in 1853?",
            "Johannes Brahms",
            "In 1853 the couple were visited by the young composer Johannes Brahms.",
            "the couple",
        ),
        (
            "How high is the Eiffel Tower with its aerials?",
            "330 metres",
            "With its aerials the tower is 330 metres high.",
            "the tower",
        ),
        (
            "Which institution plans the observations of the Hubble Space Telescope?",
            "Space Telescope Science Institute",
            "The Space Telescope Science Institute in Baltimore plans the observations.",
            "the observations",
        ),
        (
            "In which building are most of the concerts of the Vienna Philharmonic given?",
            "Musikverein",
            "Since 1870 most of the concerts have been given in the Musikverein.",
            "the concerts",
        ),
        # What names it, or leans on nothing, is understood.
        ("Who wrote the words of The Magic Flute?", "Schikaneder", "Schikaneder wrote the Magic Flute's words.", None),
        (
            "With which composer did Ludwig van Beethoven go to Vienna to study?",
            "Joseph Haydn",
            "Beethoven moved to Vienna to study with Joseph Haydn, although the lessons soon ended.",
            None,
        ),
        (
            "Which organisation has organised the oldest yearly marathon since 1897?",
            "Boston Athletic Association",
            "The Boston Athletic Association has organised the oldest yearly marathon since 1897.",
            None,
        ),
        (
            "From what do the Uros people of Lake Titicaca build their floating islands?",
            "totora reeds",
            "The Uros people live on floating islands that they build from totora reeds.",
            None,
        ),
    ],
)
def test_a_sentence_that_does_not_name_what_is_asked_about_must_lean_on_nothing(
    question: str, answer: str, sentence: str, phrase: str | None
) -> None:
    assert leans_on_what_is_asked("en", question, answer, sentence) == phrase
    problem = resolved_problem("en", question, sentence, answer, sentence)
    if phrase is None:
        assert problem is None
    else:
        assert problem is not None
        assert problem[0] == "supporting sentence cannot be understood alone"
        assert phrase in problem[1]


@pytest.mark.parametrize(
    ("leaning", "sentence", "title", "passage", "resolved"),
    [
        ("It", "It rises in Germany.", "Danube", "The Danube is a river.", "The Danube rises in Germany."),
        (
            "Its rockets",
            "Its rockets are launched from Kourou.",
            "European Space Agency",
            "The European Space Agency has 22 members.",
            "The European Space Agency's rockets are launched from Kourou.",
        ),
        (
            "it",
            "In 1793, it was opened.",
            "Louvre",
            "The Louvre is a museum in Paris.",
            "In 1793, the Louvre was opened.",
        ),
        ("It", "It feeds on krill.", "Blue whale", "The blue whale is a mammal.", "The blue whale feeds on krill."),
        ("It", "It took back its name.", "Oslo", "Oslo is a city.", "Oslo took back its name."),
    ],
)
def test_the_rules_take_the_article_along(leaning: str, sentence: str, title: str, passage: str, resolved: str) -> None:
    asked = ToResolve(
        question="q", sentence=sentence, leaning=leaning, before=passage, evidence=f"{passage} {sentence}",
        title=title, answer="a", language="en",
    )  # fmt: skip
    assert resolve_sentence(asked, Random(0)).sentence == resolved


@pytest.mark.parametrize(
    ("text", "answer", "alternative", "word"),
    [
        ("Tyler met Megan in 1990. Megan sang. He died in 1999.", "John", "Megan", None),
        ("Kwabena met Megan in 1990. Megan sang. He died in 1999.", "John", "Megan", None),
        ("Megan sang. He died in 1999.", "John", "Megan", "He"),
        ("Mrs Otto Hahn was born in 1867.", "Marie Curie", "Otto Hahn", "Mrs"),
        ("Otto Hahn was the first woman to win it.", "Marie Curie", "Otto Hahn", "woman"),
        ("Otto Hahn was the doctor of Queen Victoria.", "Marie Curie", "Otto Hahn", None),
        ("Marie Curie was a host of the show.", "Otto Hahn", "Marie Curie", None),
    ],
)
def test_a_contradiction_is_claimed_only_where_it_is_plain(
    text: str, answer: str, alternative: str, word: str | None
) -> None:
    wrong = contradiction("en", text, answer, alternative)
    assert (wrong.word if wrong else None) == word


def test_the_prompt_says_that_a_chinese_semicolon_ends_a_sentence() -> None:
    asked = ToSelect(question="q", answer="a", evidence="e", language="zh")
    assert "semicolon (；)" in SELECT_SENTENCE.messages(asked)[0]["content"]
    assert len(language_of("zh").sentences("他生于北京；后来去了上海。")) == 2


@pytest.mark.parametrize(
    ("old", "new", "answer", "alternative", "number"),
    [
        ("1895", "1555", "Marie Curie", "Otto Hahn", "1555"),
        ("1895", "", "Marie Curie", "Otto Hahn", "1895"),
        ("in 1895", "in 1762", "1895", "1762", None),
        ("the 1890s, the 19th century", "the 1760s, the 18th century", "1895", "1762", None),
        ("founded in 1895", "built in 1895", "Marie Curie", "Otto Hahn", None),
    ],
)
def test_numbers_change_with_the_answer_alone(
    old: str, new: str, answer: str, alternative: str, number: str | None
) -> None:
    assert foreign_number([(old, new)], answer, alternative) == number


def test_a_text_that_adds_what_no_passage_says_is_refused() -> None:
    sentence, condensed = "Marie Curie was born in Warsaw.", "Warsaw is the capital of Poland and lies on the Vistula."
    merged = f"{sentence} {condensed}"
    assert merged_problem("en", sentence, condensed, "Warsaw", merged) is None
    problem = merged_problem("en", sentence, condensed, "Warsaw", f"{merged} Bananas are yellow.")
    assert problem == ("text adds what the passages do not say", "leave this out: Bananas are yellow.")


@pytest.mark.parametrize(
    ("passage", "title", "place"),
    [
        ("The cheetah is fast. It can reach 100 kilometres an hour. Cheetahs live in Africa.", "Cheetah", 0),
        ("The castle is old. Edinburgh lies on hills. The Royal Mile leads to the palace. It is long.", "Edinburgh", 1),
        ("Farmers in Peru grew it for years. It fed them. Many people ate it every day.", "Potato", None),
        ("of the town. It grew. Vienna lies on the Danube. The old walls were pulled down in 1858.", "Vienna", 2),
        ("He was born in Ulm. He lived in Bern. He died in Princeton in 1955.", None, None),
    ],
)
def test_a_passage_opens_with_a_sentence_that_names_its_page(
    passage: str, title: str | None, place: int | None
) -> None:
    assert opening("en", passage, title) == place


def test_a_condensed_text_begins_with_a_name() -> None:
    passages = ["Oslo is the capital of Norway and the seat of its parliament. It lies at the end of a long fjord."]
    assert condensed_problem("en", passages, "Oslo is the capital of Norway.") is None
    problem = condensed_problem("en", passages, "It is the capital of Norway, Oslo.")
    assert problem == ("condensed text cannot be understood alone", "say by name who or what 'It' is at its start")
    assert begins_leaning("en", "It is known that Oslo is the capital of Norway.") is None
    assert begins_leaning("zh", "他生于北京。") == "他"


@pytest.mark.parametrize(
    ("sentence", "full"),
    [
        ("In 1809 Austen moved with her mother.", "In 1809 Jane Austen moved with her mother."),
        ("Austen's sister burned her letters.", "Jane Austen's sister burned her letters."),
        ("Her sister Cassandra Austen burned the letters.", None),
        ("Jane Austen moved, and Austen wrote.", None),
    ],
)
def test_a_supporting_sentence_gives_the_full_name(sentence: str, full: str | None) -> None:
    short = short_name("en", sentence, "Jane Austen")
    assert (short and f"{sentence[: short.start()]}Jane Austen{sentence[short.end() :]}") == full


def test_the_first_of_two_pronouns_becomes_the_name() -> None:
    asked = ToResolve(
        question="Who finished the Requiem of Wolfgang Amadeus Mozart?",
        sentence="When he died at the age of 35, his Requiem was incomplete, and Franz Xaver Süssmayr finished it.",
        leaning="his",
        before="He wrote more than 600 works.",
        evidence="Wolfgang Amadeus Mozart was a composer.",
        title="Wolfgang Amadeus Mozart",
        answer="Franz Xaver Süssmayr",
        language="en",
    )
    assert resolve_sentence(asked, Random(0)).sentence.startswith(
        "When Wolfgang Amadeus Mozart died at the age of 35, his Requiem was incomplete"
    )


@pytest.mark.parametrize(
    ("sentence", "vague"),
    [
        ("People known to have reached it were Hans Meyer and Ludwig Purtscheller.", "it"),
        ("A mountain keeps its ice.", None),
        ("It takes weeks, says Hans Meyer.", None),
    ],
)
def test_it_needs_a_thing_before_it(sentence: str, vague: str | None) -> None:
    assert leans_on_what_is_asked("en", "Who climbed Kilimanjaro?", "Ludwig Purtscheller", sentence) == vague


@pytest.mark.parametrize("alternative", ["I don't know", "N/A", "none", "Unknown.", "True", "It", "yes", "未知"])
def test_what_is_no_answer_is_no_alternative(alternative: str) -> None:
    case = case_of("Where was she born?", "Ulm", "She was born in Ulm.")
    problem = alternative_problem(case, alternative)
    assert problem is not None


@pytest.mark.parametrize(
    ("question", "answer", "alternative", "lacks"),
    [
        ("Which part of Goa is Baga in?", "North Goa", "South Goa", None),
        ("Which part of Goa is Baga in?", "North Goa", "South Kerala", "Goa"),
        (
            "From which family is the name Mountbatten-Windsor?",
            "Mountbatten family",
            "Battenhill family",
            "Mountbatten",
        ),
        ("The Which university is it?", "The University of Paris", "University of Lyon", None),
        ("香港鲤鱼门天后庙位于哪里？", "九龙油塘鲤鱼门", "九龙观塘茶果岭", "鲤鱼门"),
        ("香港鲤鱼门天后庙位于哪里？", "九龙油塘鲤鱼门", "九龙观塘鲤鱼门", None),
    ],
)
def test_what_the_question_names_stays_in_the_alternative(
    question: str, answer: str, alternative: str, lacks: str | None
) -> None:
    language = "zh" if "？" in question else "en"
    case = case_of(question, answer, f"It is {answer}.", language)
    problem = alternative_problem(case, alternative)
    assert (problem and problem[1]) == (lacks and f"{lacks!r} stands in the question too: it is to stay")


@pytest.mark.parametrize(
    ("code", "sentence", "bare"),
    [
        ("en", "Yet, with time, the Normans came to Ireland.", "With time, the Normans came to Ireland."),
        ("en", "For example, the towns were walled.", "The towns were walled."),
        ("en", "But, in addition, the towns were walled.", "In addition, the towns were walled."),
        ("en", "However hard they tried, the walls held.", "However hard they tried, the walls held."),
        ("en", "Still life painting began in Delft.", "Still life painting began in Delft."),
        ("zh", "例如，城墙建于1405年。", "城墙建于1405年。"),
        ("zh", "但丁写了《神曲》。", "但丁写了《神曲》。"),
    ],
)
def test_what_ties_a_sentence_to_the_one_before_is_taken_off(code: str, sentence: str, bare: str) -> None:
    assert unlinked(code, sentence) == bare


def test_a_noun_of_the_title_becomes_the_title() -> None:
    asked = ToResolve(
        question="How high is the Eiffel Tower with its aerials?",
        sentence="With its aerials the tower is 330 metres high, and several lifts carry visitors.",
        leaning=None,
        before="Its usefulness for radio saved it.",
        evidence="The Eiffel Tower is an iron tower in Paris. With its aerials the tower is 330 metres high.",
        title="Eiffel Tower",
        answer="330 metres",
        language="en",
    )
    assert resolve_sentence(asked, Random(0)).sentence.startswith("With its aerials the Eiffel Tower is 330 metres")


@pytest.mark.parametrize(
    ("alternative", "passes"),
    [("Assyrian–American", True), ("Lebanese-Canadian", True), ("Armenian-American", False), ("American", False)],
)
def test_compounds_may_share_a_word(alternative: str, passes: bool) -> None:
    asked = ToAlter(
        question="What nationality do both have?", answer="Armenian–American", aliases=(),
        evidence="Scout is an Armenian-American journalist.", language="en",
    )  # fmt: skip
    assert (alternative_problem(asked, alternative) is None) is passes


def test_an_english_semicolon_ends_no_sentence() -> None:
    text = "It tells of two boys; Bruno (Butterfield), a son, and Shmuel (Jack Scanlon), an inmate. It is sad."
    first = text.removesuffix(" It is sad.")
    assert sentence_problem("en", text, "Jack Scanlon", first) is None
    assert sentence_problem("en", text, "Jack Scanlon", text) is not None


@pytest.mark.parametrize(
    ("code", "question", "answer", "sentence", "passes"),
    [
        ("zh", "辐射可分为哪两类？", "游离辐射", "辐射可分为游离辐射和非游离辐射。", True),
        ("zh", "楼曾瑞毕业于哪个大学？", "香港中文大学", "楼曾瑞于12岁时来港，1981年毕业于香港中文大学。", True),
        ("zh", "楼曾瑞毕业于哪个大学？", "香港中文大学", "他于12岁时来港，1981年毕业于香港中文大学。", False),
        ("en", "What do theorems induce?", "order", "The time and space hierarchy theorems induce order.", True),
        ("en", "what do 3 dots mean", "the therefore sign", "In a proof, the therefore sign is used.", True),
        ("en", "what do 3 dots mean", "a proof", "In a proof, the therefore sign is used.", False),
        ("en", "What has the sarod?", "strings", "The sarod is known for its strings.", True),
        ("en", "What has it?", "strings", "The film is known for its strings.", False),
    ],
)
def test_a_noun_phrase_that_is_a_name_points_at_nothing(
    code: str, question: str, answer: str, sentence: str, passes: bool
) -> None:
    assert (resolved_problem(code, question, sentence, answer, sentence) is None) is passes


@pytest.mark.parametrize(
    ("sentence", "passes"),
    [
        ("Khan is a former cricketer who played all forms of the game from 2000 till 2014.", True),
        ("Khan played all forms of the game from 2000 till 2014.", False),
        ("It has a deep sound, in contrast with the sweet, overtone-rich texture of the sitar, like Khan's.", True),
        ("Khan liked the sweet, overtone-heavy texture.", False),
        ("As a colonial empire grew, the new empire took on roles of Khan.", True),
        ("As trade grew, the new empire took on roles of Khan.", False),
        ("A film by Khan followed, and the screenplay was written by two brothers.", True),
        ("Khan followed, and the script was read aloud.", False),
        ("Khan wrote the original screenplay.", False),
        ("Khan's is one of the largest and most important print rooms in Vienna.", True),
        ("Khan has the largest and is proud of it.", False),
        ("Khan holds the record for the most titles won.", True),
        ("Khan holds the record.", False),
        ("Khan solved the decision problem in Presburger arithmetic.", True),
        ("Khan won the final in London.", False),
        ("Khan ordered the withdrawal from Fort William Henry.", True),
        ("Khan ordered the withdrawal.", False),
        ("For Khan the main difference is that water is cold.", True),
        ("For Khan the main difference is small.", False),
    ],
)
def test_a_definite_is_clear_beside_what_it_is_of(sentence: str, passes: bool) -> None:
    sentence = sentence.replace("It has", "Bone has")
    problem = resolved_problem("en", "Who met Xanthippe Quux?", sentence, "Khan", sentence)
    assert (problem is None) is passes, problem


@pytest.mark.parametrize(
    ("sentence", "points"),
    [
        ("Although John Hart played mostly minor roles, he replaced Moore in 1952.", None),
        ("When the war ended, he replaced Moore in 1952.", "he"),
    ],
)
def test_a_pronoun_is_clear_behind_a_clause_that_names_its_person(sentence: str, points: str | None) -> None:
    assert points_outside("en", sentence) == points


@pytest.mark.parametrize(
    ("code", "question", "sentence", "title", "passes"),
    [
        ("en", "Who met Ada Quux?", "Khan reached the top of Mount Everest and the tents.", "Mount Everest", True),
        ("en", "Who met Ada Quux?", "Khan reached the top and the tents.", "Mount Everest", False),
        ("en", "Who met Ada Quux?", "Khan reached the top and the tents.", None, False),
        ("en", "Who met Ada Quux?", "The cheetah is what Khan loved.", "Cheetah (animal)", True),
        ("en", "Who met Ada Quux?", "The tower is what Khan loved.", "Eiffel Tower", False),
        ("zh", "谁导演了林投姐？", "《林投记》由丁善玺执导，丁善玺也写了本片的剧本。", "林投记", True),
        ("zh", "谁导演了林投姐？", "丁善玺执导了本片。", "林投记", False),
    ],
)
def test_a_sentence_may_name_its_page_for_what_is_asked_about(
    code: str, question: str, sentence: str, title: str | None, passes: bool
) -> None:
    answer = "丁善玺" if code == "zh" else "Khan"
    problem = resolved_problem(code, question, sentence, answer, sentence, title)
    assert (problem is None) is passes, problem


def test_the_prompts_of_category_2_state_what_their_checks_refuse() -> None:
    selecting = SELECT_SENTENCE.messages(ToSelect(question="q", answer="a", evidence="e", language="en"))
    for stated in ("no more than one", "as it stands", "word for word", "the sentence is empty"):
        assert stated in selecting[0]["content"]
    to_condense = ToCondense(question="q", answer="a", passages=("a", "b", "c"), most=57, language="en")
    condensing = CONDENSE.messages(to_condense)
    for stated in ("57 words", "three of its own words", "by name", "most words of each sentence"):
        assert stated in condensing[0]["content"]
    to_merge = ToMerge(
        question="q",
        sentence="s",
        condensed="c",
        passages=("a", "b", "c"),
        answer="a",
        place=0.5,
        language="en",
        most=71,
    )
    merging = MERGE.messages(to_merge)
    for stated in (
        "stays together",
        "never between two",
        "what something is stands before",
        "the text is empty",
        "71 words",
    ):
        assert stated in merging[0]["content"]
    objection = Objection(sentence="A sentence.", reason="from nowhere")
    again = to_merge.model_copy(update={"evidence": "page", "merged": "earlier", "objections": (objection,)})
    assert "objected" not in merging[0]["content"] + merging[1]["content"]
    assert "introduced within its own sentence" in MERGE.messages(again)[0]["content"]
    for stated in ("page", "earlier", "- A sentence.: from nowhere"):
        assert stated in MERGE.messages(again)[1]["content"]
    reading = READ_PASSAGE.messages(ToRead(passage="The passage.", language="en"))
    for stated in ("word for word", "Do not object to", "the list is empty"):
        assert stated in reading[0]["content"]
    assert "The passage." in reading[1]["content"]
    to_resolve = ToResolve(
        question="q", sentence="s", leaning=None, before="", evidence="e", title=None, answer="a", language="en"
    )
    resolving = RESOLVE_SENTENCE.messages(to_resolve)
    for stated in (
        "heading before a colon",
        "leans on a sentence before",
        "every pronoun",
        "At the time",
        "did so",
        "Add nothing that the\n  passage",
    ):
        assert stated in resolving[0]["content"]


def test_a_complaint_tells_what_is_wrong() -> None:
    text = "It was late. Ada Brown won."
    assert sentence_problem("en", text, "Ada Brown", "Ada won.") == (
        "supporting sentence is not in the evidence",
        "the passage nowhere has 'Ada won.': copy the sentence as it stands there",
    )
    assert sentence_problem("en", text, "Ada Brown", text) == (
        "supporting sentence is not one sentence", "these are 2: It was late. | Ada Brown won.: copy one",
    )  # fmt: skip
    passages = (
        "Oslo lies at the end of a long fjord and has many parks and museums.",
        "Bergen lies on the west coast and has old wooden houses and seven hills.",
    )
    problem = condensed_problem("en", passages, "Oslo lies at the end of a long fjord and has many parks.")
    assert problem is not None
    assert problem[0] == "condensed text leaves a passage out"
    assert "passage 2 alone has it holds 0, not 3: say something of bergen" in problem[1]


# ---- a passage that somebody reads ----


@pytest.mark.parametrize(
    ("sentence", "answer", "question", "passes"),
    [
        # What stands alone, of real texts.
        (
            "Although DTIME(n) is contained in DTIME(n2), it would be interesting to know if the inclusion is strict.",
            "DTIME(n2)", "In what expression can one expect to find DTIME(n)", True,
        ),
        (
            "It is tempting to think that the notion of function problems is richer than that of decision problems.",
            "richer", "How can function problems typically be restated?", True,
        ),
        (
            "Some have described the internal strife between various people groups as a form of imperialism.",
            "internal strife", "What do some people describe as imperialism?", True,
        ),
        (
            "None of the original treaties establishing the European Union mention protection for fundamental rights.",
            "None", "How many original treaties establishing the EU protected fundamental rights?", True,
        ),
        (
            "In his extensively detailed report, Céloron wrote that Natives were badly disposed.",
            "badly disposed", "How did Celeron feel about Native relations?", True,
        ),
        (
            "Unsurprisingly, Afghanistan became one of the poorest countries on earth.",
            "poorest", "What failed in Kabul?", True,
        ),
        (
            "The atmospheric engine, invented by Thomas Newcomen in 1712, was an improvement over Savery's steam pump.",
            "steam pump", "What was invented by Savery?", True,
        ),
        # What does not.
        (
            "The band, invited by its manager, was an improvement over Savery's group.",
            "group", "What was led by Savery?", False,
        ),
        (
            "Germany did so, and underground leader Piłsudski returned to Warsaw on 11 November.",
            "Piłsudski", "Who set up what became the Second Polish Republic?", False,
        ),
        (
            "At the time, Iran was the world's second-largest oil exporter and a close US ally.",
            "Iran", "Which country was the second-largest oil exporter?", False,
        ),
        (
            "In 1973, at the time, Iran was the world's second-largest oil exporter.",
            "Iran", "Which country was the second-largest oil exporter?", True,
        ),
        ("Queen Elizabeth II opened the new building on 9 October 2004.", "2004", "When did Holyrood open?", False),
        ("All princes of Sidon stood by Richard provided that he help Guy.", "Guy", "Whom were they to help?", True),
        ("At sea, Quimby learned that Oswego was attacked in his absence.", "Oswego", "What was attacked?", True),
        ("The quick and full defeat of Prussia ended it.", "Prussia", "Who was defeated?", True),
        ("Stalin built socialism in one country, the model for other states.", "Stalin", "Who built it?", True),
        ("In steam engines, it has been usual to provide lap by long faces.", "lap", "What is provided?", True),
        ("If the level drops, such that the crown gets hot, plugs of lead melt.", "lead", "What melts?", True),
        ("The language {xx | x is a string} takes linear time.", "linear", "What time does it take?", True),
        ("When the withdrawal from Fort Henry began, allies attacked.", "allies", "Who attacked?", True),
        ("It is the seat of a Roman Catholic archdiocese.", "archdiocese", "What is Warsaw the seat of?", False),
        ("The empire contained 32 provinces.", "32", "How many provinces did the Ottoman Empire contain?", False),
        ("All declared their support for Richard.", "Richard", "Who was Guy's rival?", False),
    ],
)  # fmt: skip
def test_a_sentence_that_a_person_understands_alone_passes(
    sentence: str, answer: str, question: str, passes: bool
) -> None:
    problem = resolved_problem("en", question, sentence, answer, sentence)
    assert (problem is None) is passes, problem


def test_a_resolved_sentence_adds_nothing_to_its_passage() -> None:
    sentence, evidence = "Injectors became popular in the 1850s.", "An injector is a means of supplying boiler water."
    question = "In what decade were injectors widely used in steam engines?"
    told = "Injectors, a means of supplying boiler water, became popular in the 1850s."
    assert resolved_problem("en", question, sentence, "1850s", told, None, evidence) is None
    added = "Injectors, cheap brass tubes with narrow nozzles from Manchester, became popular in the 1850s."
    problem = resolved_problem("en", question, sentence, "1850s", added, None, evidence)
    assert problem is not None
    assert problem[0] == "text adds what the passages do not say"


THEORY = "Complexity theory is a branch of mathematics that sorts problems by their difficulty."
USES = "Complexity theory asks about all algorithms. Closely related to complexity theory is computability theory."
PAIR = "A problem is an abstract question. In contrast, an instance of it is a number."


@pytest.mark.parametrize(
    ("sentence", "condensed", "merged", "reason"),
    [
        (THEORY, USES, f"{USES} {THEORY}", "new evidence says too late what it speaks of"),
        (THEORY, USES, f"{THEORY} {USES}", None),
        (
            THEORY, PAIR, PAIR.replace("In contrast", f"{THEORY} In contrast"),
            "supporting sentence parts what belongs together",
        ),
        (THEORY, PAIR, f"{PAIR} {THEORY}", None),
        (THEORY, PAIR, f"{THEORY} {PAIR}", None),
        ("巴黎位于法国。", "伦敦位于英国。它是一个很大的城市。", "伦敦位于英国。巴黎位于法国。它是一个很大的城市。",
         "supporting sentence parts what belongs together"),
    ],
)  # fmt: skip
def test_a_sentence_stands_where_it_can_be_read(sentence: str, condensed: str, merged: str, reason: str | None) -> None:
    language, answer = ("en", "difficulty") if sentence == THEORY else ("zh", "法国")
    problem = merged_problem(language, sentence, condensed, answer, merged)
    assert (problem and problem[0]) == reason


def test_a_merged_text_may_leave_out_a_sentence_but_no_passage() -> None:
    passages = ("Oslo has many parks, museums and ferries.", "Bergen has wooden houses and seven green hills.")
    condensed = f"{passages[0]} Bergen has wooden houses and seven hills."
    sentence = "Ada Brown was born in Oslo."
    whole, part = f"{sentence} {condensed}", f"{sentence} {passages[0]} Bergen has houses."
    assert merged_problem("en", sentence, condensed, "Oslo", whole, passages) is None
    problem = merged_problem("en", sentence, passages[0], "Oslo", part, passages)
    assert problem is not None
    assert problem[0] == "condensed text leaves a passage out"


def test_the_rules_take_another_place_where_the_wanted_one_does_not_do() -> None:
    asked = ToMerge(
        question="q",
        sentence=THEORY,
        condensed=USES,
        passages=(),
        answer="difficulty",
        place=0.99,
        language="en",
        most=200,
    )
    assert merge(asked, Random(0)).text == f"{THEORY} {USES}"


def test_what_was_objected_to_may_go_and_an_objection_quotes_the_passage() -> None:
    sentence, condensed = "Ada Brown was born in Oslo.", "Oslo has parks. Its old fishing harbour smells of salted cod."
    shorter = f"{sentence} Oslo has parks."
    objected = [condensed.partition(". ")[2]]
    problem = merged_problem("en", sentence, condensed, "Oslo", shorter)
    assert problem is not None
    assert problem[0] == "condensed text is not in the new evidence"
    assert merged_problem("en", sentence, condensed, "Oslo", shorter, objected=objected) is None
    longer = merged_problem("en", sentence, condensed, "Oslo", f"{sentence} {condensed}", most=16)
    assert longer == (
        "new evidence is too long", "it has 17, at most 16 are wanted: leave out what matters least",
    )  # fmt: skip
    reading = ToRead(passage=shorter, language="en")
    READ_PASSAGE.parse(reading, '{"objections": [{"sentence": "Oslo has parks.", "reason": "r"}]}')
    with pytest.raises(Invalid, match="objection to what the passage does not say"):
        READ_PASSAGE.parse(reading, '{"objections": [{"sentence": "It has a harbour.", "reason": "r"}]}')


@pytest.mark.parametrize(
    ("language", "passage", "objected"),
    [
        ("en", "The Eiffel Tower stands in Paris. The tower is made of iron. It was built in 1889.", []),
        ("en", "The blue whale feeds on krill. The fin whale is smaller than the blue whale.", []),
        ("en", "Paris lies on the Seine. The attempt failed in 1889.", ["The attempt failed in 1889."]),
        ("en", "It was built in 1889. Paris lies on the Seine.", ["It was built in 1889."]),
        ("en", "Iron rusts in water. He died in Paris.", ["He died in Paris."]),
        ("en", "Marie Curie came from Warsaw. She died in France.", []),
        ("en", "Oslo lies on a fjord. It is old. Oslo lies on a fjord.", ["Oslo lies on a fjord."]),
        ("zh", "他于1934年去世。巴黎位于法国。", ["他于1934年去世。"]),
        ("zh", "巴黎位于法国。它是一个很大的城市。", []),
    ],
)
def test_the_rules_object_to_what_leans_on_nothing(language: str, passage: str, objected: list[str]) -> None:
    found = read_passage(ToRead(passage=passage, language=language), Random(0)).objections
    assert [one.sentence for one in found] == objected


@pytest.mark.parametrize(
    ("sentence", "answer", "question", "resolved"),
    [
        (
            "Royal assent: After the bill has been passed, the Presiding Officer submits it to the Monarch for royal "
            "assent.", "royal assent", "Why is the bill of the Scottish Parliament passed to the Monarch?",
            "After a bill of the Scottish Parliament has been passed, the Presiding Officer submits it to the Monarch "
            "for royal assent.",
        ),
        (
            "Eventually, the Normans merged with the natives.", "natives", "With whom did the Normans merge?",
            "The Normans merged with the natives.",
        ),
        (
            "Unlike earlier anti-colonial movements, Islamic Jihad attacked Muslim leaders.", "Muslim leaders",
            "Whom did Islamic Jihad attack?", "Islamic Jihad attacked Muslim leaders.",
        ),
        (
            "Harvard's attempt to save led to a halt of the Allston Complex.", "Allston Complex",
            "What did Harvard halt?",
            "Harvard's attempt to save after the loss that its endowment suffered in 2008 led to a halt of the Allston "
            "Complex.",
        ),
        ("此外，巴黎还有一座铁塔。", "铁塔", "巴黎有什么塔？", "巴黎有一座铁塔。"),
    ],
)  # fmt: skip
def test_a_resolved_sentence_may_lose_its_opening_and_say_what_it_speaks_of(
    sentence: str, answer: str, question: str, resolved: str
) -> None:
    language = "en" if sentence.isascii() else "zh"
    evidence = f"{sentence} The endowment suffered a loss in 2008. The Scottish Parliament passes bills."
    assert resolved_problem(language, question, sentence, answer, resolved, None, evidence) is None


# ---- passages on the matter ----


STATION = (
    "附近建成了一座很大的公园，湖边种着柳树，周末游人如织。",
    "当地的报纸写过几篇文章，称赞候车大厅明亮宽敞。",
    "钢铁屋顶由一家德国公司设计，曾经获得建筑奖。",
    "站前广场可以换乘公共汽车，也可以租借自行车。",
    "仓库后来改成博物馆，展出老式蒸汽机车和车票。",
)


def test_expansions_draw_on_different_passages_where_there_are_others() -> None:
    texts = [f"肇庆站是广东省肇庆市的一个铁路车站。{what}" for what in STATION]
    passages = [
        Passage(key=str(at), text=text, language="zh", source=SourceRef(source="made", id=str(at)))
        for at, text in enumerate(texts)
    ]
    case = case_of("肇庆站何时启用？", "2009年", "肇庆站是广东省肇庆市的一个铁路车站，于2009年启用。", "zh")
    few, many = (collect([case], passages[:most], None, lambda record: 1) for most in (3, 5))  # type: ignore[arg-type]
    for collection, shared in ((few, 3), (many, 1)):
        first = collection.draw(case, case.evidence, "question")
        other = collection.draw(case, case.evidence, "evidence", first.ids)
        assert len({one.id for one in first.passages} & {one.id for one in other.passages}) == shared
        assert ("both expansions draw on the same passages; to be reviewed" in other.doubts) is (shared == 3)


@pytest.mark.parametrize(
    ("question", "answer", "sentence", "title", "named"),
    [
        ("In which year did Ada Quux settle in Vienna?", "1781", "She came in 1781.", "Ada Quux", ["Ada Quux"]),
        ("In which year did Ada Quux settle in Vienna?", "1781", "She came in 1781.", None, ["Ada Quux", "Vienna"]),
        ("Where was Ada Quux born?", "Leeds", "Leeds was her home.", None, ["Ada Quux"]),
        ("What is the capital of Iceland?", "Oslo", "Oslo is the capital.", None, ["Iceland"]),
        ("Who keeps the Parliament?", "Ada Quux", "Ada Quux keeps it.", "Scottish Parliament", ["Scottish Parliament"]),
        ("who wrote the theme song", "Ada Quux", "Bell Labs hired Ada Quux.", None, ["Bell Labs"]),
        ("who wrote the song", "Ada Quux", "She wrote it.", None, ["song"]),
    ],
)
def test_what_a_question_is_about_is_told(
    question: str, answer: str, sentence: str, title: str | None, named: list[str]
) -> None:
    assert [one.text for one in matter_of("en", question, answer, sentence, sentence, title)] == named


@pytest.mark.parametrize(
    ("code", "title", "passage", "speaks"),
    [
        ("en", "Mount Everest", "The Sherpas live in the high valleys near Mount Everest.", True),
        ("en", "Mount Everest", "Kilimanjaro is the highest mountain in Africa.", False),
        ("en", "Ada Quux", "Her brother met Quux in Leeds.", True),
        ("en", "Ada Quux", "Ben Quux was a draughtsman in Leeds.", False),
        ("en", "Marathon", "FIFA is the world association of football.", False),
        ("en", "Marathon", "The marathon was run in Paris.", True),
        ("zh", "大沙地站", "大沙地站附近有一座公园。", True),
        ("zh", "大沙地站", "桂林站是桂林市的一个铁路车站。", False),
    ],
)
def test_a_passage_on_another_thing_of_the_kind_is_on_another_matter(
    code: str, title: str, passage: str, speaks: bool
) -> None:
    question = f"{title}何时启用？" if code == "zh" else f"When did {title} come up?"
    matter = matter_of(code, question, "2009", "x", "x", title)
    assert [one.text for one in matter] == [title]
    assert speaks_of(code, passage, matter) is speaks


def test_of_a_question_without_names_a_passage_has_half_of_the_nouns() -> None:
    matter = matter_of("en", "which song on the album has a character", "Quux", "x", "x", None)
    assert [one.text for one in matter] == ["song", "album", "character"]
    assert not speaks_of("en", "An album came out in Leeds.", matter)
    assert speaks_of("en", "An album with a song came out in Leeds.", matter)


def test_a_part_of_the_name_in_the_question_is_no_name_by_itself() -> None:
    sentence = "过海隧道巴士935线是香港一条来往湾仔的巴士路线，由九巴营运。"
    matter = matter_of("zh", "过海隧道巴士935线由什么公司营运？", "九巴", sentence, sentence, None)
    assert not speaks_of("zh", "九龙巴士86线是香港一条来往黄泥头及美孚的巴士路线。", matter)


def test_names_of_a_chinese_question_are_what_it_shares_with_its_evidence() -> None:
    evidence = "华北陆块是一个古老的陆块，在三叠纪成为大陆的一部分。"
    found = matter_of("zh", "华北陆块成为什么的一部分？", "大陆", evidence, evidence, None)
    assert [one.text for one in found][:1] == ["华北陆块"]
