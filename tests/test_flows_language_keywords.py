"""Keyword and phrase replacement: what is found, what is put, what comes back, and what is wrong with rules."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.language import en, zh
from flows.language.folding import folded
from flows.language.keywords import (
    PhraseFinder,
    Problem,
    Replacer,
    Rule,
    apply,
    met,
    occurs,
    problems,
    replacer,
    undo,
)

FIGURE_3 = [("Albert Einstein", "Albert Beverley"), ("Einstein", "Beverley"), ("physicist", "chemist")]
ODD = "İıßẞﬁΣσςKſ\u0301\u0308\u200f\u202e\ud800\udfff\x00\ufeff\u00ad\u3000\u00a0\u2028Ａａ３'’-_.,13 aAbBéE\n"


def found(text: str, *phrases: str, language: str = "en") -> list[str]:
    """The stretches of `text` that are one of the phrases."""
    return [text[start:end] for _, start, end in PhraseFinder(phrases, language).find(text)]


# Whole words


@pytest.mark.parametrize(
    ("text", "phrase", "stretches"),
    [
        ("Newcastle, new, NEW.", "New", ["new", "NEW"]),
        ("co-author", "author", ["author"]),
        ("snake_case", "snake", []),
        ("It is 3.5 m, 1,300 m, 3, 3. And 3", "3", ["3", "3", "3"]),
        ("13 and 3rd", "3", []),
        ("Rome,1990.Rome", "Rome", ["Rome", "Rome"]),
        ("C++ and c++11", "C++", ["C++"]),
        ("ASP.NET is not .NET", ".net", [".NET"]),
        (
            "Einstein's, EINSTEIN’S, Einstein’ll, Einstein'",
            "Einstein",
            ["Einstein", "EINSTEIN", "Einstein", "Einstein"],
        ),
        ("don't, Don, DON’T, don'", "Don", ["Don", "don"]),
        ("six o'clock, the clock, 'clock'", "clock", ["clock", "clock"]),
        ("O’Brien and O'BRIEN", "O'Brien", ["O’Brien", "O'BRIEN"]),
        ("New\r\n  York, New\u00a0York, New-York", "new york", ["New\r\n  York", "New\u00a0York"]),
        ("Jose\u0301 and Jose", "Jose", ["Jose"]),
        ("\u200fEinstein\u200f", "Einstein", ["Einstein"]),
        ("Einstein在", "Einstein", []),
        ("ΟΔΟΣ οδος", "οδος", ["ΟΔΟΣ", "οδος"]),
        ("anything", "", []),
        ("what?!", "?!", []),
    ],
)
def test_english_phrases_are_whole_words_whatever_the_case(text: str, phrase: str, stretches: list[str]) -> None:
    assert found(text, phrase) == stretches


@pytest.mark.parametrize(
    ("text", "phrase", "stretches"),
    [
        ("我在北京大学读书", "北京", ["北京"]),
        ("十三年三月", "三", ["三"]),
        ("共13个3", "3", ["3"]),
        ("长3.5米", "3", []),
        ("长３．５米", "３", []),
        ("长３．５米", "3", []),
        ("用Java写JavaScript和java8", "Java", ["Java", "java"]),
        ("ＪＡＶＡ和Java", "ｊａｖａ", ["ＪＡＶＡ"]),
        ("在New\nYork城", "new york", ["New\nYork"]),
        ("北\n京", "北京", []),
        ("京", "京", ["京"]),
    ],
)
def test_chinese_phrases_cut_no_number_and_no_latin_word(text: str, phrase: str, stretches: list[str]) -> None:
    assert found(text, phrase, language="zh") == stretches


def test_overlapping_phrases_are_all_found_in_order_with_their_numbers() -> None:
    finder = PhraseFinder(["New York", "York", "New York City", "york city", "York"], "en")
    assert list(finder.find("New York City")) == [(0, 0, 8), (2, 0, 13), (1, 4, 8), (4, 4, 8), (3, 4, 13)]
    assert found("甲乙甲乙甲", "甲乙甲", "乙", language="zh") == ["甲乙甲", "乙", "甲乙甲", "乙"]


def english_places(text: str, phrase: str) -> list[tuple[int, int]]:
    """Where a phrase stands, by looking at every stretch of the text."""
    mark = "\u0301\u0308"
    places = []
    for start, end in itertools.combinations(range(len(text) + 1), 2):
        stretch = text[start:end]
        if stretch != stretch.strip() or folded(stretch) != folded(phrase):
            continue
        before, after = text[:start], text[end:]
        cut = re.search(rf"[\w{mark}]\Z", before) or re.match(rf"[\w{mark}]", after)
        if re.match(r"\d", stretch):
            cut = cut or re.search(r"\d[.,]\Z", before)
        if re.search(r"\d\Z", stretch):
            cut = cut or re.match(r"[.,]\d", after)
        if re.match(rf"[\w{mark}]", stretch):
            cut = cut or re.search(rf"[^\W\d{mark}][{mark}]*['’]\Z|[{mark}]['’]\Z", before)
        if re.search(rf"[\w{mark}]\Z", stretch) and not re.match(rf"(?i)['’](?:s|re|ve|ll|d|m)(?![\w{mark}])", after):
            cut = cut or re.match(rf"['’](?:[^\W\d]|[{mark}])", after)
        if not cut:
            places.append((start, end))
    return places


@settings(deadline=None)
@given(st.text("abAsB13.,'’ \n-_\u0301", max_size=24), st.lists(st.text("abs13 .'\u0301", max_size=4), max_size=4))
def test_english_search_finds_what_looking_at_every_stretch_finds(text: str, phrases: list[str]) -> None:
    readable = {number: phrase for number, phrase in enumerate(phrases) if any(map(str.isalnum, phrase))}
    expected = sorted((*place, number) for number in readable for place in english_places(text, readable[number]))
    assert [(start, end, number) for number, start, end in PhraseFinder(phrases, "en").find(text)] == expected


@settings(deadline=None)
@given(st.text("abAB1 \n-_x", max_size=24), st.text("abAB1 ", min_size=1, max_size=4))
def test_without_apostrophes_and_points_the_notion_of_whole_words_is_that_of_contains(text: str, phrase: str) -> None:
    assert bool(occurs(text, [phrase], "en")) == en.contains(text, phrase)


@settings(deadline=None)
@given(st.text("三十年a1b.月", max_size=16), st.text("三十年a1b月", min_size=1, max_size=3))
def test_in_chinese_it_is_that_of_contains_too(text: str, phrase: str) -> None:
    assert bool(occurs(text, [phrase], "zh")) == zh.contains(text, phrase)


@pytest.mark.parametrize("language", ["en", "zh"])
@settings(deadline=None)
@given(data=st.data())
def test_places_are_right_in_any_text(language: str, data: st.DataObject) -> None:
    odd = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=40)
    phrases = data.draw(st.lists(st.text(st.sampled_from(ODD), min_size=1, max_size=3), max_size=5))
    text = data.draw(odd) + "".join(data.draw(odd) + phrase for phrase in phrases)
    for number, start, end in PhraseFinder(phrases, language).find(text):
        assert folded(text[start:end]) == folded(phrases[number])
        assert text[start:end] == text[start:end].strip()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_character_keeps_its_place(language: str) -> None:
    # Between every two code points that are no part of a word: what comes before them must not move the phrase.
    for first in range(0, 0x110000, 0x8000):
        text = "".join(map(chr, range(first, first + 0x8000))) + " . Einstein"
        assert found(text, "einstein", language=language)[-1] == "Einstein"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_long_texts_are_searched_to_the_letter(language: str) -> None:
    finder = PhraseFinder(["New York"], language)
    for before in range((1 << 17) - 10, (1 << 17) + 3):
        text = f"{'. ' * (before // 2)}{'.' * (before % 2)}New York's{' .' * 10}"
        assert list(finder.find(text)) == [(0, before, before + 8)]
    text = f"New{' ' * 300_000}York and New York"
    assert [end - start for _, start, end in finder.find(text)] == [300_007, 8]


def test_thousands_of_phrases_that_share_words_are_told_apart() -> None:
    phrases = [f"the house of number {number}" for number in range(3_000)]
    text = "\n".join(f"The House of\nNumber {number}," for number in range(2_990, 3_010))
    assert [number for number, _, _ in PhraseFinder(phrases, "en").find(text)] == list(range(2_990, 3_000))


def test_words_of_the_same_letters_are_told_apart() -> None:
    assert found("was saw swa", "saw") == ["saw"]
    assert found("北京京北", "京北", language="zh") == ["京北"]


def test_a_pool_is_indexed_by_phrase() -> None:
    finder = PhraseFinder(["York", "new york", "absent", ""], "en")
    documents = ["York, York", "", "nothing", "New\nYork", "New", "York"]
    assert finder.holding(documents) == {0: [0, 3, 5], 1: [3]}
    assert finder.holding([]) == {}
    assert PhraseFinder([], "en").holding(documents) == {}


@settings(deadline=None)
@given(st.lists(st.text("ab \n\x00'3.", max_size=6), max_size=6), st.lists(st.text("ab3 \x00", max_size=4), max_size=4))
def test_the_index_is_what_looking_at_each_document_finds(documents: list[str], phrases: list[str]) -> None:
    finder = PhraseFinder(phrases, "en")
    expected: dict[int, list[int]] = {}
    for number, document in enumerate(documents):
        for phrase in finder.among(document):
            expected.setdefault(phrase, []).append(number)
    assert finder.holding(documents) == expected


def test_a_pool_larger_than_is_searched_at_once_is_indexed() -> None:
    documents = [f"{'filling ' * 40_000}{'Einstein' if number % 2 else 'Newton'}" for number in range(8)]
    assert PhraseFinder(["einstein", "newton"], "en").holding(documents) == {0: [1, 3, 5, 7], 1: [0, 2, 4, 6]}


def test_occurs_gives_the_phrases_as_they_were_asked() -> None:
    assert occurs("Einstein’s don't", ["EINSTEIN", "don", "Newton"], "en") == {"EINSTEIN"}


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(KeyError):
        PhraseFinder(["a"], "fr")
    with pytest.raises(KeyError):
        replacer([("a", "b")], "fr")


# What is put


def test_the_example_of_the_paper() -> None:
    text = "Albert Einstein was a German physicist. EINSTEIN’S theory is Einstein's."
    assert apply(text, FIGURE_3, "en") == "Albert Beverley was a German chemist. BEVERLEY’S theory is Beverley's."
    assert undo(apply(text, FIGURE_3, "en"), FIGURE_3, "en") == text


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        (("Einstein", "Beethoven"), "einstein EINSTEIN Einstein", "beethoven BEETHOVEN Beethoven"),
        (("James", "Henry"), "James' James's JAMES’", "Henry' Henry's HENRY’"),
        (("New York", "Los Angeles"), "New\nYork NEW\u00a0 YORK", "Los\nAngeles LOS\u00a0 ANGELES"),
        (("New York", "Dar es Salaam"), "New\nYork", "Dar\nes Salaam"),
        (("Albert Einstein", "Ludwig Beethoven"), "Albert EINSTEIN", "Ludwig BEETHOVEN"),
        (("War and Peace", "Hope and Glory"), "War And Peace, War and peace", "Hope And Glory, Hope and glory"),
        (("apple", "green pear"), "Apple, APPLE, apple", "Green pear, GREEN PEAR, green pear"),
        (("red apple", "pear"), "Red apple, RED APPLE", "Pear, PEAR"),
        (("i", "we"), "I and i", "We and we"),
        (("O'Brien", "D'Arcy"), "O’Brien O'BRIEN", "D’Arcy D'ARCY"),
        (("U.S.", "U.K."), "the U.S.'s u.s.", "the U.K.'s u.k."),
        (("street", "straße"), "STREET", "STRAßE"),
        (("1789", "1811"), "in 1789's 1,789", "in 1811's 1,789"),
        (("\u0130stanbul", "Izmir"), "\u0130stanbul \u0130STANBUL", "Izmir IZMIR"),
    ],
)  # fmt: skip
def test_case_endings_and_white_space_are_kept_and_come_back(rule: Rule, old: str, new: str) -> None:
    ours = Replacer([rule], "en")
    assert ours.apply(old) == new
    assert ours.undo(new) == old
    assert ours.reversible(old)
    assert ours.unreturned(old) == []


def test_a_mixture_takes_the_nearest_case_and_is_known_not_to_come_back() -> None:
    ours = Replacer([("Einstein", "Beethoven")], "en")
    assert ours.apply("EInstein EINSTEiN") == "Beethoven BEETHOVEN"
    assert not ours.reversible("EInstein")


def test_articles_stay() -> None:
    assert apply("an apple", [("apple", "pear")], "en") == "an pear"


def test_edits_say_what_was_found_where_and_what_was_put() -> None:
    text = "İİ Einstein’s\u0301 EINSTEIN"
    edits = Replacer([("einstein", "bach")], "en").edits(text)
    assert edits == [(15, 23, "EINSTEIN", "BACH")]
    assert text[15:23] == "EINSTEIN"


def test_the_longest_goes_first_wherever_it_starts() -> None:
    rules = [("b c d", "long"), ("a b", "short"), ("c", "least"), ("d", "last")]
    assert apply("a b c d", rules, "en") == "a long"
    assert apply("a b c", rules, "en") == "short least"
    assert apply("甲乙丙丁", [("甲乙", "一"), ("乙丙丁", "二"), ("丁", "三")], "zh") == "甲二"
    assert apply("ha ha ha ha ha", [("ha ha", "ho hum")], "en") == "ho hum ho hum ha"


def test_no_rule_goes_on_from_another() -> None:
    assert apply("one two three", [("one", "two"), ("two", "three"), ("three", "one")], "en") == "two three one"
    assert apply("York", [("York", "New"), ("New Haven", "x")], "en") == "New"


WORDS = st.sampled_from(["ada", "bly", "cox", "ada bly", "bly cox", "day", "3", "o'day"])
RULES = st.lists(st.tuples(WORDS, st.sampled_from(["uvw", "xyz uvw", "zzz", "U.V.", "9"])), max_size=5)
TEXTS = st.lists(
    st.sampled_from(["ada", "Ada", "BLY", "bly", "Cox", "3", "day", "o’day", " ", "\n", "-", "'s", "’S", ".", "'"]),
    max_size=20,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(TEXTS, RULES)
def test_edits_are_whole_words_apart_from_each_other_and_make_the_text(text: str, rules: list[Rule]) -> None:
    ours = Replacer(rules, "en")
    edits, made, last = ours.edits(text), "", 0
    for edit in edits:
        assert edit.start >= last
        assert edit.old == text[edit.start : edit.end]
        assert (edit.start, edit.end) in english_places(text, edit.old)
        made, last = made + text[last : edit.start] + edit.new, edit.end
    assert ours.apply(text) == made + text[last:]


@settings(deadline=None)
@given(TEXTS, RULES)
def test_what_is_left_standing_was_taken_by_a_longer_keyword_or_by_one_before_it(text: str, rules: list[Rule]) -> None:
    edits = Replacer(rules, "en").edits(text)
    for _, start, end in PhraseFinder([old for old, _ in rules], "en").find(text):
        rivals = [edit for edit in edits if edit.start < end and start < edit.end]
        length = len(folded(text[start:end]))
        assert any((-len(folded(edit.old)), edit.start) <= (-length, start) for edit in rivals)


@settings(deadline=None)
@given(TEXTS, RULES)
def test_the_order_of_rules_changes_nothing(text: str, rules: list[Rule]) -> None:
    for order in (rules[::-1], sorted(rules), rules[1:] + rules[:1]):
        assert apply(text, order, "en") == apply(text, rules, "en")
        assert undo(text, order, "en") == undo(text, rules, "en")


# What comes back

NAMES = ["Ada", "Bly Cox", "Ada Bly", "Day"]
SUBSTITUTES = ["Uvw", "Xyz Rst", "Zzz Qqq", "Pqr"]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.sampled_from([str, str.lower, str.upper]),
            st.sampled_from([" ", "\n", "\u00a0", "\r\n  "]),
            st.sampled_from([" ", ", ", "'s ", "’s\n", "-", "' ", " İﬁ ", "\u200f", " \ud800", ".\x00"]),
        )
    )
)
def test_keywords_in_any_plain_case_come_back(pieces: list[tuple[str, type[str], str, str]]) -> None:
    text = "".join(case(name).replace(" ", gap) + after for name, case, gap, after in pieces)
    ours = Replacer(list(zip(NAMES, SUBSTITUTES, strict=True)), "en")
    assert ours.undo(ours.apply(text)) == text
    assert not occurs(ours.apply(text), NAMES, "en")


@settings(deadline=None)
@given(st.text("北京大学在，。\n", max_size=30))
def test_chinese_comes_back(text: str) -> None:
    ours = Replacer([("北京", "上海"), ("北京大学", "复旦"), ("学", "习")], "zh")
    assert ours.undo(ours.apply(text)) == text


@pytest.mark.parametrize("language", ["en", "zh"])
@settings(deadline=None)
@given(text=st.text(st.sampled_from("abABé ’'\n3İßẞK北三十\u0301"), max_size=30), rules=RULES)
def test_the_rules_in_the_way_are_named_exactly_when_a_text_does_not_come_back(
    language: str, text: str, rules: list[Rule]
) -> None:
    rules = [*rules, ("a", "uvw"), ("A b", "é"), ("ß", "k"), ("三", "十"), ("3", "b")]
    ours = Replacer(rules, language)
    assert ours.reversible(text) == (ours.undo(ours.apply(text)) == text) == (not ours.unreturned(text))
    assert set(ours.unreturned(text)) <= set(rules)


@pytest.mark.parametrize(
    ("rules", "text", "named"),
    [
        ([("Einstein", "Bach"), ("Newton", "Haydn")], "Newton met Bach", [("Einstein", "Bach")]),
        ([("London", "NYC")], "LONDON", [("London", "NYC")]),
        ([("New York", "Paris")], "New\nYork", [("New York", "Paris")]),
        ([("Einstein's", "of Bach")], "Einstein’s", [("Einstein's", "of Bach")]),
        ([("Ada", "New"), ("Bly", "New York")], "Ada York", [("Ada", "New"), ("Bly", "New York")]),
        ([("Ada", "Bach"), ("Bly", "Bach")], "Ada Bly", [("Bly", "Bach")]),
    ],
)
def test_a_text_that_does_not_come_back_names_the_rules_in_the_way(
    rules: list[Rule], text: str, named: list[Rule]
) -> None:
    assert not Replacer(rules, "en").reversible(text)
    assert Replacer(rules, "en").unreturned(text) == named


def test_a_latin_substitute_beside_a_latin_word_is_in_the_way_in_chinese() -> None:
    assert replacer([("北京", "Paris")], "zh").unreturned("北京Java") == [("北京", "Paris")]


def test_substitutes_that_a_text_has_already_are_told() -> None:
    assert met("Bach’s and haydn", [("Einstein", "Haydn"), ("Bohr", "Mozart"), ("Newton", "Bach")], "en") == [
        ("Einstein", "Haydn"),
        ("Newton", "Bach"),
    ]


# What is wrong with rules


def test_sound_rules_have_no_problems() -> None:
    assert problems(FIGURE_3[1:], "en") == []
    assert problems([("Einstein", "Bach"), ("Albert Einstein", "Johann Bach"), ("Einstein", "Bach")], "en") == []
    assert problems([("北京", "上海"), ("北京大学", "复旦大学")], "zh") == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([("a", " ")], [Problem("empty side", ("a", " "))]),
        ([("?!", "b")], [Problem("no letter or digit", ("?!", "b"))]),
        ([("Ada", "ADA")], [Problem("unchanged", ("Ada", "ADA"))]),
        ([("Ada", "x"), ("ada", "y")], [Problem("keyword twice", ("ada", "y"), ("Ada", "x"))]),
        ([("Ada", "x"), ("Bly", "X")], [Problem("substitute twice", ("Bly", "X"), ("Ada", "x"))]),
        ([("Ada", "the bly"), ("Bly", "x")], [Problem("chain", ("Ada", "the bly"), ("Bly", "x"))]),
        ([("Ada", "Ada Bly")], [Problem("chain", ("Ada", "Ada Bly"), ("Ada", "Ada Bly"))]),
        (
            [("Ada", "Bly"), ("Bly", "Ada")],
            [Problem("chain", ("Ada", "Bly"), ("Bly", "Ada")), Problem("chain", ("Bly", "Ada"), ("Ada", "Bly"))],
        ),
        ([("Ada", "Blythe"), ("Bly", "x")], []),
    ],
)
def test_problems_are_named_with_the_rule_that_causes_them(rules: list[Rule], expected: list[Problem]) -> None:
    assert problems(rules, "en") == expected


def test_a_problem_reads_as_a_line_with_advice() -> None:
    (problem,) = problems([("Ada", "x"), ("ada", "y")], "en")
    assert str(problem) == "'ada' -> 'y': the keyword has another substitute as well, 'x'; keep one"


@pytest.mark.parametrize("rule", [("", "x"), ("Ada", " "), ("…", "x")])
def test_rules_that_cannot_be_found_are_refused(rule: Rule) -> None:
    with pytest.raises(ValueError, match="one side"):
        Replacer([rule], "en")


def test_a_replacer_is_made_once_for_the_same_rules() -> None:
    assert replacer(FIGURE_3, "en") is replacer(list(FIGURE_3), "en")
    assert replacer([], "en").apply("text") == "text"
