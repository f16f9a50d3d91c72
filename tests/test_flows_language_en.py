"""English: words, sentences, meaning-bearing words, whole-word mentions."""

import re
import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.language import Language, en


def test_the_module_is_a_language() -> None:
    language: Language = en
    assert language.count("one two") == 2


def test_words_are_counted_between_white_space() -> None:
    assert en.count("The well-known U.S. costs $3.50 — that's it.") == 7
    assert en.count(" ... ") == 0


def test_sentences_are_verbatim_and_do_not_break_at_abbreviations() -> None:
    text = 'Dr. Smith left the U.S. in 1990.  He\u00a0stayed! "Why?" he asked.\n\nA new paragraph'
    assert en.sentences(text) == [
        "Dr. Smith left the U.S. in 1990.",
        "He\u00a0stayed!",
        '"Why?" he asked.',
        "A new paragraph",
    ]
    assert en.sentences("") == []


@given(st.text(alphabet="ab .?!\n\u00a0’-'", max_size=60))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(en.sentences(text)).split()) == "".join(text.split())


def test_a_negation_bears_meaning_and_a_contraction_is_undone() -> None:
    can, cannot = en.content_words("A hummingbird can hover."), en.content_words("Hummingbirds can’t hover.")
    assert can == {"hummingbird", "hover"}
    assert cannot == can | {"not"}
    assert en.content_words("It cannot; it won't; it isn't.") == {"not"}


def test_forms_of_a_word_meet_and_a_comparative_stands_apart() -> None:
    assert en.content_words("The women were writing") == en.content_words("A woman wrote it")
    assert en.content_words("the number of cities") == {"number", "city"}
    assert en.content_words("taller") != en.content_words("tall")
    assert en.content_words("more") != en.content_words("less")


def test_numbers_and_order_words_bear_meaning() -> None:
    assert en.content_words("before 1,234.5 years") == {"before", "1,234.5", "year"}
    assert en.content_words("Rome's U2 after") == {"rome", "u2", "after"}


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("The New\n York line", "new york", True),
        ("Newcastle", "new", False),
        ("It is 3.5 m", "3", False),
        ("It is 13,000", "13", False),
        ("It is 3.", "3", True),
        ("C++ is old", "c++", True),
        ("co-author", "author", True),
        ("anything", "", False),
    ],
)
def test_a_phrase_is_found_as_whole_words(text: str, phrase: str, found: bool) -> None:
    assert en.contains(text, phrase) is found


@given(
    st.text(alphabet="aAbB1. ,xéÉiİıſKς", max_size=30),
    st.text(alphabet="aAbB1. ,éiIsSkΣ", min_size=1, max_size=4),
)
def test_a_phrase_found_letter_for_letter_is_what_the_pattern_finds(text: str, phrase: str) -> None:
    parts = phrase.split()
    pattern = r"\s+".join(map(re.escape, parts))
    wanted = re.search(rf"(?<!\w)(?<!\d[.,]){pattern}(?![.,]?\d|\w)", text, re.IGNORECASE) is not None
    assert en.contains(text, phrase) is (bool(parts) and wanted)


def test_each_character_that_a_pattern_takes_for_a_letter_is_found_as_that_letter() -> None:
    text = " ".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
    for letter in string.ascii_letters:
        taken = re.findall(letter, text, re.IGNORECASE)
        assert len(taken) >= 2
        assert all(en.contains(f"an {character} here", f"{letter} here") for character in taken)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("The song was Rawls' breakthrough.", "The song was Thornley's breakthrough."),
        ("The song was Rawls’ breakthrough.", "The song was Thornley’s breakthrough."),
        ("They called him 'Rawls' at home.", "They called him 'Thornley' at home."),
    ],
)
def test_a_name_without_an_s_at_its_end_is_given_one_as_a_possessive(text: str, new: str) -> None:
    assert en.replace(text, "Rawls", "Thornley").text == new
