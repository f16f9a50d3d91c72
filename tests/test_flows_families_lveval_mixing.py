"""LV-Eval's contexts: their length, what stands in them and where, whatever the order in which they are made."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.construct.engine import Drop
from flows.families.lveval.datasets import DEPTHS
from flows.families.lveval.distractor_index import DistractorIndex, count, fingerprints
from flows.families.lveval.mixing import (
    LACKING,
    Headers,
    Laid,
    Mixture,
    Text,
    drawn,
    lay_out,
    measure,
    mix,
    slack,
)
from flows.families.lveval.recall import Book, Level, level_of, place_of, recalled
from flows.language.boundaries import boundaries
from flows.language.choices import is_yes_or_no
from schemas.base import SourceRef, content_hash
from schemas.lveval import PoolDocument

HEADERS = {language: Headers("### Passage {number}\n", language, 10_000) for language in ("en", "zh")}


def sentence(rng: random.Random, language: str) -> str:
    if language == "zh":
        return "".join(chr(rng.randrange(0x4E00, 0x5000)) for _ in range(rng.randrange(8, 30))) + "。"
    return (
        " ".join(
            "".join(rng.choices("abcdefgh", k=rng.randrange(2, 8))) for _ in range(rng.randrange(5, 20))
        ).capitalize()
        + "."
    )


def text(rng: random.Random, language: str, sentences: int) -> str:
    return ("" if language == "zh" else " ").join(sentence(rng, language) for _ in range(sentences))


def index_of(language: str, documents: int = 300, seed: int = 1) -> DistractorIndex:
    rng = random.Random(seed)
    return DistractorIndex(
        [
            PoolDocument(key=str(number), dataset="d", text=text(rng, language, rng.randrange(1, 9)), language=language,
                         source=SourceRef(source="s", id=str(number)))
            for number in range(documents)
        ],
        language,
    )  # fmt: skip


def seeds(name: str = "pair") -> Callable[..., int]:
    return lambda *what: int(content_hash(name, *what), 16)


def mixture(language: str, *, scattered: bool = True, longest: int = 4000, seed: int = 5, facts: int = 2) -> Mixture:
    rng = random.Random(seed)
    support = tuple(Text(f"support {number}", text(rng, language, 3), language) for number in range(2))
    confusing = tuple(Text(f"fact {number}", sentence(rng, language), language) for number in range(facts))
    index = index_of(language)
    return mix(index, np.zeros(len(index), bool), support, confusing, None, np.empty(0, np.int64),
               scattered=scattered, longest=longest, seed=seeds()("order"))  # fmt: skip


def laid_out(mixed: Mixture, level: int, language: str, seed: Callable[..., int]) -> Laid:
    return lay_out(mixed, measure(mixed, level, HEADERS[language]), HEADERS[language], seed)


def joined(laid: Laid) -> str:
    return laid.joined.decode()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("level", [800, 1000, 2000, 3000, 4000])
def test_a_context_is_of_its_level_and_holds_everything_where_it_says(language: str, level: int) -> None:
    mixed = mixture(language)
    laid = laid_out(mixed, level, language, seeds())
    context = joined(laid)
    assert laid.length == count(context, language)
    assert abs(laid.length - level) <= slack(level, language)
    wanted = {one.id: one.text for one in (*mixed.support, *mixed.facts)}
    assert {one.source for one in laid.positions} == set(wanted)
    for one in laid.positions:
        assert context[one.start : one.end] == wanted[one.source]
        assert context.count(wanted[one.source]) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_documents_are_headed_in_their_order(language: str) -> None:
    context = joined(laid_out(mixture(language), 2000, language, seeds()))
    parts = context.split("\n\n")
    assert [part.split("\n")[0] for part in parts] == [f"### Passage {place}" for place in range(1, len(parts) + 1)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_confusing_facts_stand_between_two_sentences_of_a_distractor(language: str) -> None:
    mixed = mixture(language)
    for level in (1000, 2000, 4000):
        laid = laid_out(mixed, level, language, seeds())
        context = joined(laid)
        supports = [(one.start, one.end) for one in laid.positions if one.kind == "support"]
        for one in laid.positions:
            if one.kind == "confusing":
                assert not any(start <= one.start < end for start, end in supports)
                assert context[: one.start].rstrip()[-1] in ".。"
                assert one.end + (language == "en") in boundaries(context, language)


def test_a_pairs_documents_stand_together_unless_they_are_scattered() -> None:
    def places(scattered: bool) -> list[int]:
        laid = laid_out(mixture("en", scattered=scattered), 4000, "en", seeds())
        context = joined(laid)
        return [context[: one.start].count("### Passage") for one in laid.positions if one.kind == "support"]

    first, second = places(scattered=False)
    assert second == first + 1
    first, second = places(scattered=True)
    assert second > first + 1


def test_a_longer_level_draws_what_a_shorter_one_does_and_more() -> None:
    mixed = mixture("en")
    wholes = [measure(mixed, level, HEADERS["en"]).whole for level in (1000, 2000, 4000)]
    assert wholes == sorted(wholes)
    contexts = [joined(laid_out(mixed, level, "en", seeds())) for level in (1000, 4000)]
    held = [text.decode() for text in mixed.texts[: wholes[0]]]
    facts = [one.text for one in mixed.facts]
    bare = [context.replace(f"{facts[0]} ", "").replace(f"{facts[1]} ", "") for context in contexts]
    assert all(one in bare[0] and one in bare[1] for one in held)


def test_the_same_seed_gives_the_same_bytes_in_whatever_order_levels_are_made() -> None:
    forth = {level: laid_out(mixture("en"), level, "en", seeds()).joined for level in (1000, 2000, 4000)}
    mixed = mixture("en")
    back = {level: laid_out(mixed, level, "en", seeds()).joined for level in (4000, 2000, 1000)}
    assert forth == back
    assert laid_out(mixed, 4000, "en", seeds("another")).joined != back[4000]


def test_what_cannot_be_built_is_refused_with_what_is_missing() -> None:
    mixed = mixture("en", longest=200_000)
    with pytest.raises(Drop, match=LACKING) as lacking:
        measure(mixed, 200_000, HEADERS["en"])
    assert lacking.value.value is not None
    assert lacking.value.value > 100_000
    with pytest.raises(Drop, match="supporting documents too long"):
        measure(mixed, 20, HEADERS["en"])


def test_what_the_next_document_cannot_fill_another_does() -> None:
    def document(words: int) -> str:
        return f"{' '.join(['word'] * words)}. And more."

    long, short = document(400), document(50)
    index = shelf_of("en", *[long] * 6, *[short] * 20)
    support = (Text("s", "One.", "en"),)
    every = np.zeros(len(index), bool)
    for seed in range(20):
        mixed = mix(index, every, support, (), None, np.empty(0, np.int64), scattered=True, longest=10**6, seed=seed)
        laid = laid_out(mixed, 950, "en", seeds())  # two long ones leave 136 words, which no third can begin to fill
        assert abs(laid.length - 950) <= slack(950, "en")
    only_long = shelf_of("en", *[long] * 6)
    mixed = mix(only_long, np.zeros(6, bool), support, (), None, np.empty(0, np.int64), scattered=True,
                longest=10**6, seed=1)  # fmt: skip
    with pytest.raises(Drop, match=LACKING):
        measure(mixed, 950, HEADERS["en"])


def test_excluded_documents_are_never_drawn_and_those_with_keywords_are_rewritten() -> None:
    index = index_of("en", documents=40)
    excluded = np.zeros(40, bool)
    excluded[:10] = True
    mixed = mix(index, excluded, (Text("s", "One.", "en"),), (), str.upper, np.arange(12, 15), scattered=True,
                longest=10**6, seed=3)  # fmt: skip
    drawn_texts = [one.decode() for one in mixed.texts]
    assert len(drawn_texts) == 30
    assert not {index.text(number) for number in range(10)} & set(drawn_texts)
    assert {index.text(number).upper() for number in range(12, 15)} <= set(drawn_texts)
    assert mixed.counts.tolist() == [count(one, "en") for one in drawn_texts]
    assert mixed.lengths.tolist() == [len(one) for one in drawn_texts]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 500))
def test_an_order_holds_each_once(seed: int, number: int) -> None:
    assert sorted(drawn(number, seed).tolist()) == list(range(number))


def test_the_drawn_order_is_pinned() -> None:
    assert drawn(8, 42).tolist() == [4, 1, 3, 6, 0, 7, 2, 5]


def test_near_duplicates_are_found_by_what_they_share() -> None:
    index = index_of("en", documents=50)
    whole = index.texts[7]
    assert 7 in index.near_duplicates([whole])[0]
    longer = b"Something else stands before it. " + whole.upper() + b" And after."
    if len(fingerprints([whole])[0]) > 4:
        assert 7 in index.near_duplicates([longer])[0]
    [none] = index.near_duplicates([text(random.Random(99), "en", 6).encode()])
    assert not len(none)


def test_what_a_text_repeats_is_one_fingerprint_and_case_and_white_space_are_none() -> None:
    once = text(random.Random(3), "en", 9).encode()
    loose = b"\t" + once.upper().replace(b" ", b" \r\n ") + b"\x0b"
    marks, owners = fingerprints([once, once + b" " + once, loose])
    assert owners.tolist() == sorted(owners.tolist())
    alone, twice, spread = (marks[owners == number].tolist() for number in range(3))
    assert len(set(twice)) == len(twice) > len(alone) == len(set(alone)) > 4
    assert set(alone) < set(twice)
    assert spread == alone


def shelf_of(language: str, *texts: str) -> DistractorIndex:
    source = SourceRef(source="s", id="1")
    return DistractorIndex(
        [
            PoolDocument(key=str(n), dataset="d", text=one, language=language, source=source)
            for n, one in enumerate(texts)
        ],
        language,
    )


def test_answers_are_found_whatever_case_and_width() -> None:
    index = shelf_of("en", "It was Oneal.", "O'NEAL said so.", "oneal, again", "nothing")
    assert index.answering("Oneal").tolist() == [0, 2]
    index = shelf_of("zh", "１９２３年在北 京", "1923年", "19234年")
    assert index.answering("1923").tolist() == [0, 1]
    assert index.answering("北京").tolist() == [0]


def test_chinese_scripts_are_kept_apart() -> None:
    index = shelf_of("zh", "这个国家的经济发展很快。", "這個國家的經濟發展很快。", "2024")
    assert index.in_other_script("他们来自这个国家。").tolist() == [1]
    assert index.in_other_script("他們來自這個國家。").tolist() == [0]
    assert index.in_other_script("2024").tolist() == []
    assert shelf_of("en", "One.").in_other_script("這個國家").tolist() == []


@pytest.mark.parametrize(("answer", "told"), [("Yes", True), ("no.", True), ("是的。", True), ("No one", False)])
def test_yes_and_no_are_no_words_to_look_for(answer: str, told: bool) -> None:
    assert is_yes_or_no(answer) is told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_fact_stands_at_200_places_that_are_evenly_spaced(language: str) -> None:
    rng = random.Random(2)
    paragraphs = [text(rng, language, rng.randrange(1, 6)) for _ in range(400)]
    facts = [Text(name, sentence(rng, language), language) for name in ("fact", "first", "second")]
    book = Book("\n\n".join(paragraphs) + "\n\n", facts[0], tuple(facts[1:]), language)
    level = level_of(book, 3000, seeds())
    starts = []
    for depth in range(DEPTHS):
        laid = recalled(book, level, place_of(book, level, depth))
        context = joined(laid)
        assert laid.length == count(context, language)
        assert abs(laid.length - 3000) <= slack(3000, language)
        for one in laid.positions:
            wanted = book.fact if one.kind == "support" else next(fact for fact in book.facts if fact.id == one.source)
            assert context[one.start : one.end] == wanted.text
        starts.append(next(one.start for one in laid.positions if one.kind == "support") / len(context))
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert starts[-1] > 0.95
    assert max(abs(start - depth / DEPTHS) for depth, start in enumerate(starts)) < 0.06


def test_the_places_of_a_short_book_are_its_boundaries() -> None:
    # Four sentences of ten characters, a blank after each of the first three but the last: boundaries at 0, 11, 22, 33
    # and 44. The place of depth d is d / 199 * 44, so 24 of 199 are nearest to 0 (d / 199 * 44 < 5.5: d < 24.9).
    book = Book("Aa aa aaa. Bb bb bbb. Cc cc ccc. Dd dd ddd. ", Text("fact", "It is so.", "en"), (), "en")
    assert book.ends == [0, 11, 22, 33, 44]
    level = Level(4, 15, ())
    places = [place_of(book, level, depth) for depth in range(DEPTHS)]
    assert [places.index(place) for place in range(5)] == [0, 25, 75, 125, 175]
    assert len({joined(recalled(book, level, place)) for place in places}) == 5
