import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from data.sources import SourceError, SourceSpec, read_entries
from flows.construct import overlap
from flows.construct.embed import FloatMatrix, SentenceBert
from flows.construct.overlap import CHARACTERS, WORDS, Overlap, nearest_cosines, shared_ngrams, tokens
from flows.release import contamination
from flows.release.contamination import RowTexts, contamination_of, texts_of
from schemas.charpeval import CharpEvalItem
from schemas.lveval import LongContext
from schemas.uraq import EvaluationRow
from tests.passing import with_peak

ALPHABET = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen",
)  # fmt: skip


def words(count: int, start: int = 0) -> str:
    return " ".join(ALPHABET[start : start + count])


def overlap_of(ours: Sequence[str], others: Iterable[str], at_once: int = overlap.AT_ONCE) -> Overlap:
    rows = [(f"k{number}", (text,)) for number, text in enumerate(ours)]
    return shared_ngrams(lambda: rows, others, WORDS, at_once)


class NoEmbedder:
    """For what must not embed."""

    name = "none"

    def reads(self, text: str) -> bool:
        raise AssertionError(text)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        raise AssertionError(texts)


def test_thirteen_words_in_a_row_are_an_overlap_and_twelve_are_not() -> None:
    ours = [f"Before. {words(13)} after", f"Before. {words(12)} after it"]
    assert overlap_of(ours, [f"Elsewhere {words(13)} goes on"]).overlapping == {"k0"}


def test_case_punctuation_and_white_space_do_not_count() -> None:
    assert overlap_of(["ONE, two-three\n\nfour; FIVE six. Seven (eight)"], [words(13)]).overlapping == {"k0"}
    assert tokens("Re-entry: １２ o’clock, at_once") == ["re", "entry", "12", "o", "clock", "at", "once"]


def test_a_short_text_overlaps_where_all_of_it_is_there_and_below_eight_words_says_nothing() -> None:
    found = overlap_of([words(8), f"{words(8)} other", words(7)], [f"so {words(15)} on"])
    assert found == Overlap(rows=3, compared=2, overlapping=frozenset({"k0"}))


def test_the_order_of_words_counts() -> None:
    backwards = " ".join(reversed(ALPHABET[:13]))
    assert not overlap_of([backwards], [words(13)]).overlapping


def test_nothing_overlaps_with_nothing() -> None:
    assert overlap_of([words(13)], []) == Overlap(1, 1, frozenset())
    assert overlap_of([], [words(13)]) == Overlap(0, 0, frozenset())


def test_the_other_side_is_streamed_once_in_lots_that_change_nothing() -> None:
    others = [f"{number} {words(13, number % 3)} {number}" for number in range(40)]
    ours = [words(13, start) for start in range(3)] + [f"{words(5)} 99 {words(8, 5)}"]
    read: list[str] = []

    def streamed() -> Iterator[str]:
        for text in others:
            read.append(text)
            yield text

    assert overlap_of(ours, streamed(), at_once=20) == overlap_of(ours, others)
    assert read == others


def test_no_more_is_held_than_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    whole = overlap._holds

    def watched(lot: overlap.Hashes, wanted: overlap.Hashes) -> bool:
        sizes.append(len(lot))
        return whole(lot, wanted)

    monkeypatch.setattr(overlap, "_holds", watched)
    overlap_of([f"not {words(12)}"], (f"{number} {words(15)}" for number in range(200)), at_once=100)
    # a text of 16 words has 9 + 8 + 7 + 6 + 5 + 4 = 39 n-grams of 8 to 13 words: three texts pass 100
    assert max(sizes) <= 3 * 39
    assert len(sizes) > 60


def test_chinese_is_compared_by_characters() -> None:
    # 21 characters, as many as stand for 13 English words; the third text has 20 of them and a different one
    text = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋"
    assert len(text) == CHARACTERS.ngram
    rows = [("a", (f"前{text}后",)), ("b", (text[:-1] + "冬的",)), ("c", (text[:13],)), ("d", (text[:12],))]
    found = shared_ngrams(lambda: rows, [f"他说：“{text[:8]}，{text[8:]}。”"], CHARACTERS)
    assert found == Overlap(rows=4, compared=3, overlapping=frozenset("ac"))


def test_nearest_cosines_are_those_of_all_pairs() -> None:
    class Turned:
        name = "angles"

        def reads(self, text: str) -> bool:
            return True

        def embed(self, texts: Sequence[str]) -> FloatMatrix:
            angles = np.deg2rad([float(text) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    # 0 degrees is nearest to 60 (cosine 1/2), 90 to 60 (cosine of 30 degrees), 200 to 180
    cosines = nearest_cosines(["0", "90", "200"], iter(["60", "180"]), Turned())
    assert cosines == pytest.approx([0.5, 3**0.5 / 2, np.cos(np.deg2rad(20))], abs=1e-6)
    assert nearest_cosines(["0"], [], Turned()).tolist() == [-1.0]
    assert nearest_cosines([], ["0"], NoEmbedder()).tolist() == []


def jsonl(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_rows_of_another_language_are_not_compared(tmp_path: Path) -> None:
    rows = [RowTexts("en", "en", words(9), (words(9),)), RowTexts("zh", "zh", "天" * 30, ("天" * 30,))]
    other = SourceSpec(format="jsonl", path=jsonl(tmp_path / "o.jsonl", {"body": words(15)}), fields={"text": "body"})
    found = contamination_of("c", lambda: rows, other, NoEmbedder(), languages=())
    assert (found.rows, found.compared, found.overlapping, found.examples) == (1, 1, 1, ("en",))
    assert (found.share, found.ngram, found.unit, found.near, found.cosine_above) == (1.0, 13, "words", None, None)
    chinese = other.model_copy(update={"language": "zh"})
    found = contamination_of("c", lambda: rows, chinese, NoEmbedder(), languages=("en",))
    assert (found.rows, found.overlapping, found.near, found.unit) == (1, 0, None, "characters")


@pytest.mark.slow
def test_what_says_the_same_in_other_words_is_near_though_nothing_overlaps(tmp_path: Path) -> None:
    rows = [
        RowTexts("same", "en", "Which river runs through the city of Paris?", ("Which river runs through Paris?",)),
        RowTexts("twice", "en", "Which river runs through the city of Paris?", ("Which river runs through Paris?",)),
        RowTexts("other", "en", "How many moons has Jupiter?", ("How many moons has Jupiter?",)),
        RowTexts("foreign", "en", "哪条河流经巴黎市中心而过呢", ("哪条河",)),
    ]
    path = jsonl(tmp_path / "o.jsonl", {"q": "What river flows through the city of Paris?", "a": "Seine"})
    other = SourceSpec(format="jsonl", path=path, fields={"question": "q", "answers": "a"})
    found = contamination_of("c", lambda: rows, other, SentenceBert(), languages=("en",))
    assert (found.overlapping, found.near, found.cosine_above, found.rows) == (0, 2, 0.85, 4)


def test_questions_are_compared_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = []

    class OneHot:
        name = "equal texts"

        def reads(self, text: str) -> bool:
            return True

        def embed(self, texts: Sequence[str]) -> FloatMatrix:
            at_once.append(len(texts))
            return np.eye(6, dtype=np.float32)[[int(text) for text in texts]]

    monkeypatch.setattr(contamination, "ASKED_AT_ONCE", 4)
    rows = [RowTexts(f"{n}", "en", text, (text,)) for n, text in enumerate("0011223344")]
    path = jsonl(tmp_path / "o.jsonl", *({"q": text, "a": "x"} for text in "045"))
    other = SourceSpec(format="jsonl", path=path, fields={"question": "q", "answers": "a"})
    found = contamination_of("c", lambda: rows, other, OneHot(), languages=("en",))
    assert (found.near, found.rows, max(at_once)) == (4, 10, 3)


def test_rows_are_counted_without_their_keys_in_memory() -> None:
    count = 1_000
    rows = lambda: ((f"{number:016x}", (words(8),)) for number in range(count))  # noqa: E731
    found, peak = with_peak(lambda: shared_ngrams(rows, [words(15, 1)], WORDS))
    assert found == Overlap(count, count, frozenset())
    assert peak < 50 * count


def test_a_source_is_read_in_every_shape_with_what_its_door_would_refuse(shared: Path) -> None:
    squad = SourceSpec(format="squad", path=str(shared / "data/squad2_en/dev.json.gz"))
    with gzip.open(squad.path) as file:
        articles = json.load(file)["data"]
    questions = {qa["question"].strip() for a in articles for p in a["paragraphs"] for qa in p["qas"]}
    read = {text.strip() for entry in read_entries(squad) for text in texts_of(entry)}
    assert questions <= read  # unanswerable ones are refused as items, and are there
    assert {p["context"].strip() for a in articles for p in a["paragraphs"]} <= {text.strip() for text in read}


def test_a_table_whose_text_is_not_named_is_refused(tmp_path: Path) -> None:
    spec = SourceSpec(format="jsonl", path=jsonl(tmp_path / "o.jsonl", {"body": "x"}))
    with pytest.raises(SourceError, match="name the fields that hold text") as refused:
        list(read_entries(spec))
    assert "\n" not in str(refused.value)
    with pytest.raises(SourceError, match="did you mean"):
        list(read_entries(SourceSpec(format="squat", path="x.json")))


def test_families_declare_which_fields_are_text_the_question_first() -> None:
    row = RowTexts.of(EvaluationRow, {"key": "k", "question": "q?", "contexts": ["a", "b"], "setting": "match"})
    assert row == RowTexts("k", "en", "q?", ("q?", "a", "b"))
    row = RowTexts.of(LongContext, {"key": "k", "input": "问", "context": "长", "language": "zh"})
    assert row == RowTexts("k", "zh", "问", ("问", "长"))
    values = {"key": "k", "last_utterance": "u", "history": ["h"], "knowledge": "w", "response": "r"}
    row = RowTexts.of(CharpEvalItem, {**values, "distractors": {"KGIR": "d"}})
    assert row.texts == ("u", "h", "w", "r", "d")


def test_xquad_shares_its_paragraphs_with_squad(shared: Path) -> None:
    # the data's own notes count 58 English paragraphs of XQuAD that are in the SQuAD file as well
    xquad = SourceSpec(format="squad", path=str(shared / "data/xquad/xquad.en.json.gz"))
    squad = SourceSpec(format="squad", path=str(shared / "data/squad2_en/dev.json.gz"))
    with gzip.open(xquad.path) as file:
        paragraphs = [p["context"] for a in json.load(file)["data"] for p in a["paragraphs"]]
    rows = [RowTexts(str(number), "en", "", (text,)) for number, text in enumerate(paragraphs)]
    found = contamination_of("xquad", lambda: rows, squad, NoEmbedder(), languages=())
    assert (found.rows, found.compared, found.overlapping) == (145, 145, 58)
