"""Version 1.0's template refuter."""

import random

import pytest

from flows.construct.engine import Drop
from flows.families.refutebench.conversation import refute_by_template
from flows.families.refutebench.requirements import packaged_lexicon, parse

LEXICON = {"see": ("看到", "看见", "目睹"), "church": ("教堂", "教会")}
SENTENCE = "He sees two churches and a bar."
ANSWER = "他看到了两座教堂和一家酒吧。"


def translations(answer: str = ANSWER, earlier: tuple[str, ...] = ()) -> set[str]:
    return {
        refute_by_template(SENTENCE, "translation", answer, earlier, LEXICON, random.Random(seed), False)[0]
        for seed in range(40)
    }


def test_a_word_of_the_sentence_is_given_a_translation_that_the_answer_lacks() -> None:
    assert translations() == {
        'The word "see" should be translated as "看见".',
        'The word "see" should be translated as "目睹".',
        'The word "church" should be translated as "教会".',
    }


def test_a_word_is_used_once_in_a_dialogue() -> None:
    assert translations(earlier=('The word "see" should be translated as "目睹".',)) == {
        'The word "church" should be translated as "教会".'
    }


def test_it_is_about_word_usage_and_can_be_standing() -> None:
    said, focus = refute_by_template(SENTENCE, "translation", ANSWER, (), LEXICON, random.Random(0), True)
    assert focus == "word usage"
    assert said.startswith('From now on, the word "')


@pytest.mark.parametrize(
    ("sentence", "answer", "earlier", "reason"),
    [
        ("Nothing of it.", ANSWER, (), "no word of the table"),
        ("A church.", "教堂，也就是教会。", (), "no translation left"),
        ("A church.", "教堂。", ('The word "church" should be translated as "教会".',), "no translation left"),
    ],
)
def test_a_dialogue_ends_where_no_translation_can_be_asked_for(
    sentence: str, answer: str, earlier: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(Drop) as dropped:
        refute_by_template(sentence, "translation", answer, earlier, LEXICON, random.Random(0), False)
    assert dropped.value.reason == reason


def test_the_packaged_table_serves_as_well() -> None:
    said, _ = refute_by_template(
        "The president said so.", "translation", "总统这样说。", (), packaged_lexicon(), random.Random(0), False
    )
    wanted = parse(said)
    assert wanted is not None
    assert wanted.new in packaged_lexicon()[wanted.old]
    assert wanted.new not in "总统这样说。"


def test_writing_is_asked_for_what_it_does_not_meet_until_nothing_is_left() -> None:
    earlier: list[str] = []

    def go_on(answer: str) -> None:
        for seed in range(20):
            said, focus = refute_by_template("Go", "writing", answer, earlier, {}, random.Random(seed), False)
            wanted = parse(said)
            assert wanted is not None
            assert focus == "style"
            assert wanted.met(answer) < 1
            answer = wanted.apply(answer)
            earlier.append(said)

    with pytest.raises(Drop, match="no requirement left"):
        go_on("Let's go (now)! There are twelve of us; we are many. Are you coming?")
    # exclamation marks, contractions, brackets, figures, semicolons, questions
    assert len(earlier) == len(set(earlier)) == 6
