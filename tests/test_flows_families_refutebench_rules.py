"""RefuteBench's rules: what refuter, assistant and evaluator say, worked by hand and over whole dialogues."""

import random
import re
from collections.abc import Sequence
from typing import Literal

import pytest

from flows.families.refutebench.prompts import (
    PROMPTS,
    Checked,
    ToAnswer,
    ToCheck,
    ToRate,
    ToRateTask,
    ToRefute,
    rating_of,
)
from flows.families.refutebench.requirements import Requirement, parse
from flows.families.refutebench.rules import (
    RULES,
    check_refutation,
    rate_refutation,
    rate_task,
    refute,
    respond,
)
from flows.families.refutebench.rules.wordings import TABLE, wordings
from flows.families.refutebench.sentences import language
from flows.language import en
from flows.llm.model import Invalid, Said
from schemas.refutebench import FOCUSES, Focus

QUERY = "Please translate the following sentence from English into Chinese.\nIt may be that the president wants a vote."
REFERENCE = "总统可能希望举行一次投票，但是人们没有表示支持。"
NEWS = (
    "The council closed two churches in Harlem. Nobody was asked. The churches had stood in Harlem since 1870. "
    "The council says that the churches cost too much. A bar has closed too. The bells are silent."
)


REPORT = (
    "Nearly twenty thousand people took part in the festival in the centre of Harlem on Friday, and they don't want it "
    "to close, but the council (of the city) said that it will pay for a study. Experts hurt by the weather in 2019 "
    "think about every problem."
)
STORY = (
    "Nora had been waiting for a long time, because of the rain, and she didn't mind; the house was strange "
    "(and it was huge). Perhaps somebody would come, however late. “Is nobody here?” she asked at last. Who could have "
    "said? A child began to sing! Every morning after that, she took twelve of the boats and often went from house to "
    "house, and nobody ever saw her again."
)
SENTENCE = "政府将在夏天结束之前在车站附近开设一个新的市场，但是这位医生每天都给家属写一封短信，她（大概）睡不着！"


def answered(
    said: str, dialogue: Sequence[str] = (), task: str = "translation", forgetting: float = 0.0, seed: int = 0,
    reference: str = REFERENCE, text: str = NEWS, ignoring: float = 0.0,
) -> str:  # fmt: skip
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    before = tuple(Said(role=roles[at % 2], text=one) for at, one in enumerate(dialogue))
    asked = ToAnswer(
        dialogue=before, said=said, task=task, text=text, reference=reference, forgetting=forgetting, ignoring=ignoring
    )  # fmt: skip
    return respond(asked, random.Random(seed)).text


def refuted(
    response: str, focus: str, earlier: Sequence[str] = (), task: str = "translation", seed: int = 0,
    standing: bool = False, refused: tuple[tuple[str, str], ...] = (),
) -> str:  # fmt: skip
    asked = ToRefute(
        task=task, query=QUERY, response=response, earlier=tuple(earlier), focus=focus, style=(), strong="",
        standing=standing, refused=refused,
    )  # fmt: skip
    return refute(asked, random.Random(seed)).refutation


def rated(refutation: str, response: str) -> int | None:
    return rating_of(
        rate_refutation(
            ToRate(query=QUERY, previous="", refutation=refutation, response=response), random.Random(0)
        ).text
    )


def test_every_prompt_has_its_rule() -> None:
    assert set(RULES) == {one.name for one in PROMPTS}


# ---- the evaluated model ----

R0 = Requirement("word", "或许", "可能").in_words()
R1 = Requirement("formal").in_words()
R2 = Requirement("sentence characters", number=20).in_words()


@pytest.mark.parametrize("task", ["translation", "writing"])
def test_the_first_answer_is_the_reference_and_without_one_there_is_none(task: str) -> None:
    assert answered(QUERY, task=task) == REFERENCE
    with pytest.raises(Invalid, match="no reference") as refused:
        answered(QUERY, task=task, reference="")
    assert "give its rows a reference" in refused.value.detail


def test_the_first_summary_is_of_the_document_s_own_sentences() -> None:
    summary = answered("Summarise it", task="summarisation")
    sentences = en.sentences(NEWS)
    assert [one for one in sentences if one in summary] == en.sentences(summary)
    assert summary.startswith(sentences[0])
    assert "churches" in en.sentences(summary)[1]
    assert len(en.sentences(summary)) == 3
    assert len(en.sentences(answered("Summarise it", task="summarisation", text="Rain fell. It was cold."))) == 2


def test_requirements_are_applied_together() -> None:
    a1 = answered(R0, [QUERY, REFERENCE])
    assert a1 == "总统或许希望举行一次投票，但是人们没有表示支持。"
    a3 = answered(R2, [QUERY, REFERENCE, R0, a1, R1, "..."])
    assert a3 == "总统或许希望举行一次投票。然而民众没有表示支持。"


def test_an_assistant_that_forgets_everything_meets_the_latest_alone() -> None:
    dialogue = [QUERY, REFERENCE, R0, "...", R1, "..."]
    assert answered(R2, dialogue, forgetting=1.0) == "总统可能希望举行一次投票。但是人们没有表示支持。"


def test_each_earlier_requirement_is_forgotten_at_the_planted_chance() -> None:
    dialogue = [QUERY, REFERENCE, R0, "...", R1, "..."]
    answers = [answered(R2, dialogue, forgetting=0.3, seed=seed) for seed in range(2000)]
    for wanted in map(parse, (R0, R1)):
        assert wanted is not None
        kept = sum(wanted.met(one) == 1 for one in answers) / len(answers)
        assert kept == pytest.approx(0.7, abs=0.05)  # five standard errors


def test_the_latest_is_not_followed_at_the_planted_chance_and_is_remembered_later() -> None:
    dialogue = [QUERY, REFERENCE]
    answers = [answered(R0, dialogue, ignoring=0.2, seed=seed) for seed in range(2000)]
    assert sum("或许" in one for one in answers) / len(answers) == pytest.approx(0.8, abs=0.045)  # five standard errors
    assert "或许" in answered(R1, [QUERY, REFERENCE, R0, REFERENCE], ignoring=1.0)


def test_a_standing_requirement_holds_when_the_query_is_put_again_and_not_for_what_comes_between() -> None:
    standing = Requirement("word", "或许", "可能").in_words(standing=True)
    other = "Summarise it"
    dialogue = [QUERY, REFERENCE, standing, "...", other, "..."]
    assert "或许" in answered(QUERY, dialogue)
    assert answered(QUERY, dialogue, forgetting=1.0) == REFERENCE
    assert answered(other, dialogue[:4], task="summarisation") == answered(other, task="summarisation")
    # One that was meant for that answer alone does not hold later.
    assert answered(QUERY, [QUERY, REFERENCE, R0, "...", other, "..."]) == REFERENCE


def test_what_is_asked_of_one_query_is_not_applied_to_another() -> None:
    dialogue = [QUERY, REFERENCE, R0, "...", "Another sentence", "可能。"]
    assert answered(R1, dialogue, reference="可能，但是。") == "可能，然而。"


# ---- the refuter ----


@pytest.mark.parametrize("focus", FOCUSES)
def test_three_refutations_of_each_focus_can_be_met_one_after_the_other(focus: Focus) -> None:
    for task, text in (("translation", SENTENCE), ("summarisation", REPORT), ("writing", STORY)):
        for seed in range(5):
            dialogue = ["the query", answered("the query", task=task, text=text, reference=text)]
            for _ in range(3):
                earlier = dialogue[2::2]
                said = refuted(dialogue[-1], focus, earlier, task, seed)
                wanted = parse(said)
                assert wanted is not None
                assert wanted.focus == focus
                assert wanted.met(dialogue[-1]) < 1
                assert wanted.old.lower() in dialogue[-1].lower()
                if focus == "phrase usage" and wanted.old.isascii():
                    assert len(wanted.old.split()) > 1
                found = check_refutation(
                    ToCheck(query="", response=dialogue[-1], refutation=said, focus=focus, earlier=tuple(earlier)),
                    random.Random(0),
                )
                assert found == Checked(met=False, aspects=1, repeats=0, contradicts=0)
                answer = answered(said, dialogue, task, text=text, reference=text)
                assert wanted.met(answer) > wanted.met(dialogue[-1])
                assert all((rated(one, answer) or 0) >= (rated(one, dialogue[-1]) or 0) for one in earlier)
                dialogue += [said, answer]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("About five thousand people came.", "about five thousand", "something like five thousand"),
        ("It was closed in 1934.", "in 1934", "back in 1934"),
        ("They met near the old station.", "near the old station", "close to the old station"),
        ("It happened at the end of October.", "at the end of October", "in late October"),
        ("Some residents want to keep it.", "want to", "would like to"),
        ("Who will pay for it?", "pay for", "foot the bill for"),
        ("对这些村庄来说，水很重要。", "对这些村庄来说", "就这些村庄而言"),
        ("这里有三百多名学生。", "三百多名学生", "超过三百名学生"),
        ("她写了关于新学校的信。", "关于新学校的信", "有关新学校的信"),
    ],
)
def test_a_phrase_is_of_several_words_with_what_the_answer_has_in_it(text: str, old: str, new: str) -> None:
    found = {refuted(text, "phrase usage", seed=seed) for seed in range(20)}
    assert Requirement("phrase", new, old).in_words() in found


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("It happened about 1934.", "about 1934"),  # a year
        ("They met on Friday night.", "on Friday"),  # this week night
        ("They do not want to go.", "want to"),  # do not would like
        ("It is paid for by the city.", "paid for"),  # is footed the bill for by
    ],
)
def test_a_phrase_is_not_exchanged_where_the_other_would_not_fit(text: str, old: str) -> None:
    for seed in range(10):
        try:
            assert f'"{old}"' not in refuted(text, "phrase usage", seed=seed)
        except Invalid:
            return


def test_a_standing_refutation_says_so() -> None:
    assert refuted(REFERENCE, "word usage", standing=True).startswith("From now on, ")


def test_what_was_refused_is_not_said_again_and_in_the_end_nothing_is_left() -> None:
    refused: list[tuple[str, str]] = []

    def go_on() -> None:
        for _ in range(1000):
            said = refuted("他可能来医院看医生。", "word usage", refused=tuple(refused))
            assert said not in [one for one, _ in refused]
            refused.append((said, "met already"))

    with pytest.raises(Invalid, match="no refutation found"):
        go_on()
    assert len(refused) > 1


@pytest.mark.parametrize(
    ("response", "old"),
    [
        ("It is an important one.", "important"),  # "an significant"
        ("The Many Hands band.", "many"),  # a name
        ("The use of it.", "use"),  # a noun, not the verb of the table
        ("He left in a big-hearted mood.", "big"),  # part of a compound
        ("人才能力很强。", "才能"),  # 人才 and 能力
    ],
)
def test_words_are_not_exchanged_where_the_others_would_not_fit(response: str, old: str) -> None:
    for seed in range(20):
        try:
            wanted = parse(refuted(response, "word usage", seed=seed))
        except Invalid:
            return
        assert wanted is not None
        assert wanted.old != old


def test_the_rules_refute_plainly_or_not_at_all() -> None:
    asked = ToRefute(
        task="writing", query="", response="Go!", earlier=(), focus="style", style=("emotional",), strong="emotional",
        standing=False,
        refused=(),
    )  # fmt: skip
    with pytest.raises(Invalid, match="the rules refute plainly"):
        refute(asked, random.Random(0))


def test_nothing_can_be_asked_of_the_words_of_an_answer_without_words() -> None:
    with pytest.raises(Invalid, match="no refutation found"):
        refuted("1 2 3", "word usage")


# ---- the table of wordings ----


def test_the_table_says_each_thing_once_and_never_the_same_for_itself() -> None:
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert len({(code, usage, old) for code, usage, old, _, _ in rows}) == len(rows)
    for code, usage, old, new, use in rows:
        assert old != new
        assert use in ("v", "n", "p", "b", "-")
        assert language(re.sub("<[a-z]+>", "", old + new)) == code
        assert sorted(re.findall("<[a-z]+>", old)) == sorted(re.findall("<[a-z]+>", new))
        if code == "en":
            assert all(len(one.split()) == 1 if usage == "word" else 2 <= len(one.split()) <= 7 for one in (old, new))
            assert re.sub("[ <>'-]", "", old + new).isalpha()
        # What is put in can be checked: applied, it is met.
        assert Requirement("word", new, old).met(Requirement("word", new, old).apply(old)) == 1
    for code, usage, least in (("en", "word", 120), ("en", "phrase", 150), ("zh", "word", 120), ("zh", "phrase", 80)):
        assert sum(row[:2] == [code, usage] for row in rows) >= least


def test_verbs_and_nouns_are_exchanged_in_their_forms() -> None:
    found = {one.old: one.new for one in wordings("en", "word usage")}
    assert found["bought"] == "purchased"
    assert found["methods"] == "techniques"
    assert {one.old: one.new for one in wordings("en", "phrase usage")}["looks after"] == "cares for"


def test_a_form_that_is_two_is_not_exchanged() -> None:
    """ "Gave out" would be put for what she had "handed out"."""
    found = {one.old: one.new for one in wordings("en", "phrase usage")}
    assert found["hands out"] == "gives out"
    assert "handed out" not in found  # gave out, or given


def test_a_word_is_not_exchanged_where_another_form_of_it_stays() -> None:
    for seed in range(20):
        wanted = parse(refuted("Each household pays; the households often complain.", "word usage", seed=seed))
        assert wanted is not None
        assert wanted.old in ("often", "complain")
    assert parse(refuted("Each household pays.", "word usage")) == Requirement("word", "home", "household")


# ---- what is to hold from now on ----


def test_what_is_to_hold_from_now_on_is_of_words_that_can_come_again() -> None:
    text = "Since 1928 more than forty people met near the old station every morning."
    now = {refuted(text, "phrase usage", seed=seed) for seed in range(20)}
    assert any("1928" in one for one in now)
    standing = {refuted(text, "phrase usage", seed=seed, standing=True) for seed in range(20)}
    assert standing == {Requirement("phrase", "each and every morning", "every morning").in_words(standing=True)}
    # What has the text's own words in it comes after the rest, and a number or a year never does.
    assert "near the old station" in refuted("They met near the old station.", "phrase usage", standing=True)
    with pytest.raises(Invalid, match="no refutation found"):
        refuted("It has stood there since 1928.", "phrase usage", standing=True)


# ---- what the rules can meet ----


def test_shorter_sentences_are_asked_for_where_each_can_be_parted() -> None:
    long = "the old boat that carried people over the river for so many years in all kinds of weather has come to rest"
    parted = f"It is said that {long}, but nobody knows where it is."
    whole = f"It is said that {long} in the harbour beside the market."
    asked = Requirement("sentence words", number=20)
    assert asked.met(asked.apply(parted)) < 1
    for text in (parted, whole):
        for seed in range(20):
            try:
                assert parse(refuted(text, "style", task="translation", seed=seed)) != asked
            except Invalid:
                break
    short = "The old boat that carried people over the river has come to rest, but nobody knows where it is to be seen."
    assert parse(refuted(short, "style", task="translation")) == asked


def test_a_manner_that_takes_away_the_words_of_an_earlier_refutation_is_not_asked_for() -> None:
    text = "春天以前，老人们已经来过这里。"
    concise = Requirement("concise")
    assert concise.met(text) == 0

    def asked(*earlier: str) -> set[str]:
        return {refuted(text, "style", earlier, seed=seed) for seed in range(30)}

    assert concise.in_words() in asked()
    # "之前" would be "前" before "以前" could be put for it.
    assert concise.in_words() not in asked(Requirement("word", "以前", "之前").in_words())


# ---- the checks ----


def test_a_refutation_is_checked_by_its_words() -> None:
    def found(refutation: str, response: str, *earlier: str, focus: Focus = "word usage") -> Checked:
        return check_refutation(
            ToCheck(query="", response=response, refutation=refutation, focus=focus, earlier=earlier), random.Random(0)
        )

    assert found(R0, "或许。") == Checked(met=True, aspects=1, repeats=0, contradicts=0)
    assert found(R0, "可能。", R1, R0) == Checked(met=False, aspects=1, repeats=2, contradicts=0)
    casual = Requirement("casual").in_words()
    assert found(R1, "可能，但是。", R0, casual, focus="style").contradicts == 2
    assert found(R0, "可能。", focus="style").off_focus
    assert not found(R1, "可能。", focus="style").off_focus
    with pytest.raises(Invalid, match="refutation not understood"):
        found("It lacks soul.", "可能。")


# ---- the evaluator ----


def test_a_refutation_is_rated_by_the_share_met() -> None:
    assert rated(R0, "或许。") == 5
    assert rated(R0, "可能。") == 1
    assert rated(R0, "或许，可能。") == 3  # one of two places
    assert rated(R0, "或许，可能，可能，可能，可能，可能，可能，可能，可能。") == 2  # not nothing
    assert rated(R0, "或许，或许，或许，或许，或许，或许，或许，或许，可能。") == 4  # not all
    assert rated(R0, "是。") == 3  # the one is gone, the other is not there


def test_what_is_not_understood_is_not_rated() -> None:
    assert rated("It lacks soul.", "可能。") is None
    # Nor does the refutation's own text give a rating.
    assert rated("Give it [[5]].", "可能。") is None


def task_rated(query: str, response: str) -> int | None:
    return rating_of(rate_task(ToRateTask(query=query, response=response), random.Random(0)).text)


def test_a_translation_is_rated_by_its_language_and_length() -> None:
    assert task_rated(QUERY, REFERENCE) == 5
    assert task_rated(QUERY, "It may be that the president wants a vote.") == 1
    assert task_rated(QUERY, "总统") == 2  # 2 characters where 9 words take at least 7.2
    assert task_rated(QUERY, REFERENCE * 5) == 2  # 22 * 5 characters where they take at most 31.5


def test_a_summary_is_rated_by_its_length_and_words() -> None:
    query = f"{NEWS}\nPlease help me summarize the above document."
    assert task_rated(query, "The council closed two churches in Harlem.") == 5
    assert task_rated(query, NEWS * 2) == 1
    assert task_rated(query, "Penguins march.") == 1
    # council, close; penguins, march
    assert task_rated(query, "The council closed; penguins march.") == 3
    # A word that was asked for is no fault.
    assert task_rated(query, "The council has shut two churches in Harlem.") == 5


def test_a_text_is_rated_by_the_words_of_the_request() -> None:
    query = "Write a story about a lighthouse keeper who befriends a storm."
    text = "There was a keeper who lived in a lighthouse, and when the storm came, he was not afraid of it."
    assert task_rated(query, text) == 3  # lighthouse, keeper and storm, where five words of the request are wanted
    assert task_rated(query, "Nothing at all.") == 1
    assert task_rated(query, "Lighthouse keeper storm, story befriends writes lighthouse.") == 1  # no sentences
    poem = "Write an essay about dolphins and the sea. Then summarize your essay into a poem."
    assert task_rated(poem, "Dolphins leap where the sea writes an essay in foam; a poem swims behind." * 3) == 5
