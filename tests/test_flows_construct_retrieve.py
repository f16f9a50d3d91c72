"""Ranking passages and choosing among them: by hand, beside plain arithmetic, and on public questions."""

import gzip
import itertools
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.construct.bm25_index import bm25_index
from flows.construct.embed import FloatMatrix, SentenceBert, UnreadableLanguageError
from flows.construct.retrieve import (
    BM25Index,
    DenseIndex,
    diverse,
    ngram_cosine,
    retriever_for,
)
from schemas.errors import Failed

FACTS = [
    "Grey seals have no ear flaps and their ear canals are filled with wax.",
    "Dogs have sensitive ears that can hear as far as a quarter of a mile away.",
    "The boiling point of water is 100 degrees Celsius at sea level.",
    "Paris is the capital of France and its largest city.",
    "Mars has two small moons, Phobos and Deimos.",
    "The Treaty of Westphalia ended the Thirty Years' War in 1648.",
    "Tofu (豆腐) is made of soy milk that is curdled and pressed.",
    "Mozart wrote his first symphony when he was eight years old.",
    *(f"The asteroid number {number} was discovered in {1800 + number}." for number in range(24)),
]
QUESTIONS = {
    "What closes the ears of grey seals?": 0,
    "At which temperature does water boil?": 2,
    "How many moons has Mars?": 4,
    "Which war did the Peace of Westphalia end?": 5,
    "What is tofu made from?": 6,
    "How old was Mozart when he composed a symphony?": 7,
}
CHINESE = ["海豹没有耳廓。", "水在海平面的沸点是100度。", "火星有两颗卫星。", "。。。", "水在海平面的沸点是100度。"]


class Letters:
    """A small real embedder: the counts of the letters a to d, made unit length. Many texts have equal vectors."""

    name = "letters"

    def reads(self, text: str) -> bool:
        return text.isascii()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        counts = np.array([[1 + text.count(letter) for letter in "abcd"] for text in texts], np.float64).reshape(-1, 4)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


WORDS = st.text("abcd", max_size=6)


@pytest.fixture(scope="module")
def dense() -> DenseIndex:
    return DenseIndex(FACTS, SentenceBert())


def xquad(shared: Path, language: str) -> tuple[list[str], list[str], list[int]]:
    """The paragraphs, the questions and the paragraph of each."""
    with gzip.open(shared / f"data/xquad/xquad.{language}.json.gz", "rt", encoding="utf-8") as file:
        paragraphs = [paragraph for article in json.load(file)["data"] for paragraph in article["paragraphs"]]
    asked = [(qa["question"], place) for place, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]]
    return [paragraph["context"] for paragraph in paragraphs], [text for text, _ in asked], [gold for _, gold in asked]


@pytest.mark.slow
def test_the_packaged_model_finds_the_passage(dense: DenseIndex) -> None:
    assert dense.rank(list(QUESTIONS), 1)[:, 0].tolist() == list(QUESTIONS.values())
    assert dense.name == "cosine of all-MiniLM-L6-v2@53aa51172d14"


@pytest.mark.slow
def test_ranks_do_not_depend_on_the_other_queries(dense: DenseIndex) -> None:
    queries = [*QUESTIONS, "When was asteroid 7 found?", "When was asteroid 8 found?"]
    together = dense.rank(queries, 12)
    assert together.shape == (len(queries), 12)
    assert np.array_equal(dense.rank(queries[::-1], 12)[::-1], together)
    assert np.array_equal(np.concatenate([dense.rank([query], 12) for query in queries]), together)
    assert np.array_equal(dense.rank(queries, 40)[:, :12], together)


@pytest.mark.slow
@given(st.lists(WORDS, max_size=60), st.lists(WORDS, min_size=1, max_size=5), st.integers(0, 70))
@settings(deadline=None)
def test_dense_ranks_are_those_of_exact_arithmetic(texts: list[str], queries: list[str], most: int) -> None:
    index = DenseIndex(texts, Letters())

    def exact(text: str) -> list[int]:
        return [round(float(value) * 2**24) for value in Letters().embed([text])[0]]

    for query, ranks in zip(queries, index.rank(queries, most).tolist(), strict=True):
        dots = [sum(a * b for a, b in zip(exact(query), exact(text), strict=True)) for text in texts]
        best = sorted(range(len(texts)), key=lambda place: (-dots[place], place))[:most]
        assert ranks == best + [-1] * (most - len(best))


def test_of_equal_passages_the_first_come_first() -> None:
    texts = ["ab"] * 300 + ["a"] + ["ab"] * 300
    assert DenseIndex(texts, Letters()).rank(["ab", "a"], 4).tolist() == [[0, 1, 2, 3], [300, 0, 1, 2]]
    assert BM25Index([*CHINESE, *CHINESE]).rank(["水的沸点"], 5).tolist() == [[1, 4, 6, 9, -1]]


def test_an_empty_collection_ranks_nothing() -> None:
    for index in (DenseIndex([], Letters()), BM25Index([]), BM25Index(["。", "！"])):
        assert index.rank(["a", "水"], 3).tolist() == [[-1] * 3] * 2
        assert index.rank([], 3).shape == (0, 3)


@pytest.mark.slow
def test_a_language_that_the_model_does_not_read_is_refused_with_its_place(dense: DenseIndex) -> None:
    with pytest.raises(UnreadableLanguageError, match=r"^passage 1 is in a language.*BM25"):
        DenseIndex([FACTS[0], CHINESE[1]], SentenceBert())
    with pytest.raises(UnreadableLanguageError, match=r"^query 0 is in a language"):
        dense.rank([CHINESE[1]], 1)


@pytest.mark.slow
def test_the_default_of_a_language(dense: DenseIndex) -> None:
    assert isinstance(retriever_for("en", FACTS[:2], dense.embedder), DenseIndex)
    chinese = retriever_for("zh", CHINESE, dense.embedder)
    assert isinstance(chinese, BM25Index)
    assert chinese.name == "BM25 over jieba words"


@pytest.mark.slow
def test_dense_similarity_is_the_cosine(dense: DenseIndex) -> None:
    first, second = dense.vectors[:2].astype(np.float64)
    assert dense.similarity(0, 1) == pytest.approx(first @ second, abs=1e-6)
    assert dense.similarity(FACTS[0], 1) == dense.similarity(0, 1)
    assert dense.similarity("The ears of grey seals have no flaps and are filled with wax.", 0) > 0.85


def test_bm25_worked_by_hand() -> None:
    # 卫星 is in 1 of 3 passages, once, of 2 words (水 卫星); passages have 2 + 1 + 1 = 4 words, 4/3 on average:
    # idf = ln(1 + (3 - 1 + 0.5) / (1 + 0.5)); tf = 1 / (1 + 1.5 (0.25 + 0.75 · 2 / (4/3)))
    index = BM25Index(["水，卫星", "水", "海豹。"])
    scores = index._index.get_scores_from_ids([index._numbers["卫星"]])
    assert scores == pytest.approx([math.log(1 + 2.5 / 1.5) / (1 + 1.5 * (0.25 + 0.75 * 1.5)), 0, 0])
    assert index.rank(["卫星！", "水", "月亮", ""], 3).tolist() == [[0, -1, -1], [1, 0, -1], [-1] * 3, [-1] * 3]


def test_bm25_reads_any_case_and_width() -> None:
    index = BM25Index(["苹果公司于1976年成立", "ＡＰＰＬＥ 公司", "水"])
    assert index.rank(["apple", "１９７６"], 1).tolist() == [[1], [0]]


def test_bm25_finds_the_passages_of_chinese_questions(shared: Path) -> None:
    passages, questions, gold = xquad(shared, "zh")
    assert (len(passages), len(questions)) == (145, 689)
    ranks = BM25Index(passages).rank(questions, 10)
    assert np.mean(ranks[:, 0] == gold) > 0.90  # measured 0.909; character TF-IDF 0.84, the packaged embedder 0.17
    assert np.mean((ranks == np.array(gold)[:, None]).any(axis=1)) > 0.98
    some = slice(0, 689, 23)
    assert np.array_equal(BM25Index(passages).rank(questions[some][::-1], 10)[::-1], ranks[some])


def test_bm25_agrees_with_bm25s_itself(shared: Path) -> None:
    import bm25s

    from flows.construct.retrieve import _words

    passages, questions, _ = xquad(shared, "zh")
    theirs = bm25s.BM25(method="lucene")
    theirs.index([_words(text) for text in passages], show_progress=False)
    for query, ranks in zip(questions[:50], BM25Index(passages).rank(questions[:50], 5), strict=True):
        scores = theirs.get_scores(_words(query))
        assert scores[ranks] == pytest.approx(np.sort(scores)[::-1][:5])


@pytest.mark.parametrize(("at_once", "in_memory_up_to"), [(1 << 20, 1 << 24), (1000, 1), (1, 4096)])
def test_an_index_of_blocks_in_files_has_the_scores_of_bm25s(shared: Path, at_once: int, in_memory_up_to: int) -> None:
    import bm25s

    from flows.construct.retrieve import _words

    numbers: dict[str, int] = {}
    texts = [
        [numbers.setdefault(word, len(numbers)) for word in _words(text)]
        for text in [*CHINESE, *xquad(shared, "zh")[0][:40]]
    ]
    theirs = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    theirs.index((texts, numbers), create_empty_token=False, show_progress=False)
    ours = bm25_index(texts, at_once=at_once, in_memory_up_to=in_memory_up_to).scores
    assert theirs.scores["num_docs"] == ours["num_docs"]
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(theirs.scores[name], ours[name]), name
    assert isinstance(ours["data"].base, bytes) == (4 * len(ours["data"]) <= in_memory_up_to)


def test_an_index_without_room_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Failed, match=r"gone: cannot hold an index of words \(No such file.* set TMPDIR"):
        bm25_index([[0, 1]], in_memory_up_to=1)


def test_ngram_cosine_worked_by_hand() -> None:
    # ab bc / ab bd: 1 of 2 shared, 1 / (√2 · √2)
    assert ngram_cosine("abc", "abd") == pytest.approx(1 / 2)
    # aa twice, ab / aa: 2 / (√(4 + 1) · 1)
    assert ngram_cosine("aaab", "aa") == pytest.approx(2 / math.sqrt(5))
    assert ngram_cosine("水 沸", "水\n沸") == 1
    assert ngram_cosine("a", "A") == 1
    assert ngram_cosine("", "a") == ngram_cosine("", "") == 0


def test_ngram_cosine_tells_a_repeat_from_another_passage(shared: Path) -> None:
    passages, _, _ = xquad(shared, "zh")
    assert max(ngram_cosine(text, other) for text, other in itertools.pairwise(passages)) < 0.5
    assert sum(ngram_cosine(text, text[: len(text) * 3 // 4]) > 0.85 for text in passages) > 0.95 * len(passages)


TITLES = ["Seal", None, "Water", None, "Mars", "War", "Tofu", "Mozart"]


@pytest.mark.slow
def test_pages_are_taken_once_and_repeats_are_passed_over(dense: DenseIndex) -> None:
    def chosen(**changes: object) -> list[int]:
        given_ = {"query": "ears?", "evidence": "Seals hear.", "similarity": dense.similarity, **changes}
        return diverse(range(8), TITLES, FACTS[:8], **given_)  # type: ignore[arg-type]

    assert chosen() == [0, 1, 2]
    assert chosen(most=2) == [0, 1]
    assert chosen(evidence=f" {FACTS[0].upper()}  And so on.") == [1, 2, 3]
    assert chosen(evidence="largest  CITY.", query="Mars has two small moons", most=8) == [0, 1, 2, 5, 6, 7]
    assert chosen(evidence="The ears of grey seals have no flaps and are filled with wax.") == [1, 2, 3]
    assert chosen(refuse=lambda place: place in (0, 2)) == [1, 3, 4]
    assert diverse([2, 0, 1], ["Seal", " seal", None], FACTS, query="", evidence="", similarity=lambda *_: 0) == [2, 0]
    assert diverse([-1, -1], [], [], query="a", evidence="b", similarity=lambda *_: 0) == []


@pytest.mark.slow
def test_a_passage_that_repeats_one_taken_is_passed_over(dense: DenseIndex) -> None:
    texts = [FACTS[2], "Water's boiling point is 100 degrees Celsius at sea level.", "at SEA level.", FACTS[4]]
    index = DenseIndex(texts, dense.embedder)
    assert index.similarity(0, 1) > 0.85
    assert diverse(range(4), [None] * 4, texts, query="?", evidence="Seals.", similarity=index.similarity) == [0, 3]


@given(
    st.lists(st.tuples(st.sampled_from([None, "A", "a ", "B", "C"]), WORDS.filter(bool)), max_size=20),
    st.text("abcd ", max_size=8),
    WORDS,
    st.integers(0, 5),
    st.sets(st.integers(0, 19), max_size=5),
    st.randoms(use_true_random=False),
)
def test_what_is_chosen_is_the_first_that_nothing_rules_out(passages, query, evidence, most, refused, random) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    titles, texts = [title for title, _ in passages], [text for _, text in passages]
    ranked = random.sample(range(len(texts)), len(texts))

    def similarity(first: str | int, second: int) -> float:
        return ngram_cosine(texts[first] if isinstance(first, int) else first, texts[second])

    def ruled_out(place: int, taken: Sequence[int]) -> bool:
        text, page = texts[place], (titles[place] or "").strip().lower()
        others = [texts[other] for other in taken]
        said = [" ".join(query.split()), evidence, *others]
        return (
            place in refused
            or any(page and page == (titles[other] or "").strip().lower() for other in taken)
            or any(other and (text in other or other in text) for other in said)
            or any(ngram_cosine(other, text) > 0.85 for other in (evidence, *others))
        )

    asked: list[int] = []

    def refuse(place: int) -> bool:
        asked.append(place)
        return place in refused

    taken = diverse(
        [*ranked, -1], titles, texts, query=query, evidence=evidence, similarity=similarity, most=most, refuse=refuse
    )
    assert len(taken) <= most
    expected: list[int] = []
    for place in ranked:
        if len(expected) < most and not ruled_out(place, expected):
            expected.append(place)
    assert taken == expected
    assert set(asked) - refused == set(taken)
