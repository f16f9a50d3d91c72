import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.construct.centroid_lists import _Centroids
from flows.construct.cosine_space import TILE, Pairs, Space, Tile, _in_16_bits
from flows.construct.dedupe import (
    Dedupe,
    NearDuplicate,
    Rule,
    _first_neighbours,
    deduplicate,
)
from flows.construct.embed import FloatMatrix, SentenceBert
from flows.construct.embedding_cache import CachedEmbedder
from flows.project.project import EMBEDDINGS
from schemas.base import content_hash
from schemas.errors import Failed
from tests.builds import share_vectors

EVERY_PAIR: dict[str, int] = {}
BY_BLOCKS = {"most_pairs": 1}
APPROXIMATE = {"exact_up_to": 1}
APPROXIMATE_BY_BLOCKS = {"exact_up_to": 1, "most_pairs": 1}
WAYS = pytest.mark.parametrize("way", [EVERY_PAIR, BY_BLOCKS, APPROXIMATE, APPROXIMATE_BY_BLOCKS])


def unit(vectors: np.ndarray) -> FloatMatrix:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def clusters(number: int, seed: int, dimensions: int = 12, noise: float = 0.5) -> FloatMatrix:
    """Vectors around few centres, some of them equal."""
    random = np.random.default_rng(seed)
    centres = unit(random.standard_normal((max(1, number // 5), dimensions)))
    vectors = unit(
        centres[random.integers(len(centres), size=number)] + noise * random.standard_normal((number, dimensions))
    )
    vectors[random.random(number) < 0.1] = vectors[0]
    return vectors


def ids_of(number: int, seed: int = 0) -> list[str]:
    return [content_hash(seed, row) for row in range(number)]


def cosines_of(vectors: FloatMatrix) -> np.ndarray:
    """Every cosine, in float64: what the decisions are checked against."""
    exact = vectors.astype(np.float64)
    return exact @ exact.T


def at_angle(*degrees: float) -> FloatMatrix:
    return np.array([[np.cos(np.radians(angle)), np.sin(np.radians(angle))] for angle in degrees], np.float32)


def assert_maximal_independent(result: Dedupe, ids: Sequence[str], vectors: FloatMatrix, above: float) -> None:
    row = {name: number for number, name in enumerate(ids)}
    cosines = cosines_of(vectors)
    kept = [row[name] for name in result.kept]
    assert sorted([*result.kept, *(removed.id for removed in result.removed)]) == sorted(ids)
    among_kept = cosines[np.ix_(kept, kept)] - 2 * np.eye(len(kept))
    assert not (among_kept > above + 1e-6).any()
    for removed in result.removed:
        assert removed.related_id in result.kept
        assert removed.cosine > above
        assert removed.cosine == pytest.approx(cosines[row[removed.id], row[removed.related_id]], abs=1e-6)


made = st.builds(
    clusters,
    st.integers(1, 60),
    st.integers(0, 10**6),
    dimensions=st.sampled_from([2, 5, 12]),
    noise=st.sampled_from([0.05, 0.3, 0.6]),
)


@WAYS
@settings(deadline=None, max_examples=40)
@given(vectors=made, above=st.sampled_from([0.3, 0.5, 0.9]))
def test_survivors_are_a_maximal_independent_set(way: dict[str, int], vectors: FloatMatrix, above: float) -> None:
    ids = ids_of(len(vectors))
    assert_maximal_independent(deduplicate(ids, vectors, cosine_above=above, **way), ids, vectors, above)


@WAYS
@pytest.mark.parametrize("rule", ["independent-set", "paper"])
@settings(deadline=None, max_examples=25)
@given(vectors=made, random=st.randoms(use_true_random=False))
def test_order_of_arrival_changes_nothing(
    way: dict[str, int], rule: Rule, vectors: FloatMatrix, random: object
) -> None:
    ids = ids_of(len(vectors))
    order = list(range(len(ids)))
    random.shuffle(order)
    shuffled = deduplicate([ids[row] for row in order], vectors[order], rule=rule, **way)
    assert shuffled == deduplicate(ids, vectors, rule=rule, **way)


@settings(deadline=None, max_examples=40)
@given(vectors=made)
def test_the_rule_is_fewest_neighbours_first_then_id(vectors: FloatMatrix) -> None:
    vectors = np.unique(vectors, axis=0)
    ids = ids_of(len(vectors))
    near = cosines_of(vectors) > 0.5
    kept: list[int] = []
    for row in sorted(range(len(ids)), key=lambda row: (near[row].sum(), ids[row])):
        if not near[row, kept].any():
            kept.append(row)
    result = deduplicate(ids, vectors)
    assert result.kept == tuple(sorted(ids[row] for row in kept))
    assert deduplicate(ids, vectors, **BY_BLOCKS) == result


@pytest.mark.parametrize("each", [1, 2, 5])
def test_where_pairs_are_too_many_the_first_neighbours_of_each_row_are_held(each: int) -> None:
    random = np.random.default_rng(each)
    size = 50
    rank = random.permutation(size)
    pairs = [
        (a, b) if random.random() < 0.5 else (b, a) for a in range(size) for b in range(a) if random.random() < 0.5
    ]
    random.shuffle(pairs)
    chunks = [
        Pairs(*np.array(pairs[start : start + 7], np.int32).T, np.zeros(len(pairs[start : start + 7]), np.float32))
        for start in range(0, len(pairs), 7)
    ]
    held = _first_neighbours(iter(chunks), rank, 2 * size * each)
    neighbours: dict[int, list[int]] = {row: [] for row in range(size)}
    for a, b in pairs:
        neighbours[max(a, b, key=lambda row: rank[row])].append(min(a, b, key=lambda row: rank[row]))
    first = {
        (row, other) for row, near in neighbours.items() for other in sorted(near, key=lambda row: rank[row])[:each]
    }
    assert sorted(zip(held.left.tolist(), held.right.tolist(), strict=True)) == sorted(first)


@settings(deadline=None, max_examples=40)
@given(vectors=made)
def test_the_survivor_named_is_the_most_similar(vectors: FloatMatrix) -> None:
    ids = ids_of(len(vectors))
    cosines = cosines_of(vectors)
    result = deduplicate(ids, vectors)
    survivors = [ids.index(name) for name in result.kept]
    for removed in result.removed:
        assert removed.cosine == pytest.approx(cosines[ids.index(removed.id), survivors].max(), abs=1e-6)


@pytest.mark.parametrize("way", [EVERY_PAIR, BY_BLOCKS])
@settings(deadline=None, max_examples=40)
@given(vectors=made)
def test_the_papers_words_remove_every_statement_that_is_in_a_pair(way: dict[str, int], vectors: FloatMatrix) -> None:
    ids = ids_of(len(vectors))
    others = cosines_of(vectors) - 2 * np.eye(len(ids))
    result = deduplicate(ids, vectors, rule="paper", **way)
    assert set(result.kept) == {ids[row] for row in np.flatnonzero(~(others > 0.5).any(axis=1))}
    assert sorted([*result.kept, *(removed.id for removed in result.removed)]) == sorted(ids)
    for removed in result.removed:
        assert removed.related_id != removed.id
        assert removed.cosine == pytest.approx(others[ids.index(removed.id)].max(), abs=1e-6)


def test_a_chain_keeps_its_ends_where_components_would_keep_one() -> None:
    # b is 40 degrees from a (cosine 0.766) and 41 from c (0.755), which are 81 apart (0.156).
    result = deduplicate(["a", "b", "c"], at_angle(0, 40, 81))
    assert result.kept == ("a", "c")
    assert result.removed == (NearDuplicate("b", "a", pytest.approx(np.cos(np.radians(40)), abs=2e-7)),)
    assert deduplicate(["a", "b", "c"], at_angle(0, 40, 81), rule="paper").kept == ()


def test_a_cosine_of_exactly_the_threshold_is_not_above_it() -> None:
    vectors = np.array([[1, 0], [0.5, 0.75**0.5]], np.float32)
    assert deduplicate(["a", "b"], vectors).removed == ()
    assert deduplicate(["a", "b"], vectors, cosine_above=0.4999999).kept == ("a",)
    # 0.6 in float32 is a little more than 0.6; the difference is beyond the decimals that are compared.
    assert deduplicate(["a", "b"], np.array([[1, 0], [0.6, 0.8]], np.float32), cosine_above=0.6).removed == ()


@WAYS
def test_nothing_and_one(way: dict[str, int]) -> None:
    assert deduplicate([], np.empty((0, 3), np.float32), **way).kept == ()
    assert deduplicate(["a"], at_angle(10), **way).kept == ("a",)


def test_of_equal_vectors_the_first_id_stands_for_all() -> None:
    result = deduplicate(["c", "a", "b", "d"], at_angle(10, 10, 10, 100))
    assert result.kept == ("a", "d")
    assert result.removed == (NearDuplicate("b", "a", 1.0), NearDuplicate("c", "a", 1.0))


def test_equal_vectors_share_the_survivor_of_the_one_that_stands_for_them() -> None:
    result = deduplicate(["b", "b2", "a", "c"], at_angle(40, 40, 0, 81))
    assert result.kept == ("a", "c")
    assert [(removed.id, removed.related_id) for removed in result.removed] == [("b", "a"), ("b2", "a")]
    assert len({removed.cosine for removed in result.removed}) == 1


@pytest.mark.slow
@WAYS
def test_no_cap_on_the_size_of_a_cluster(way: dict[str, int]) -> None:
    random = np.random.default_rng(0)
    centre = unit(random.standard_normal((1, 32)))
    near = unit(centre + 0.02 * random.standard_normal((1500, 32)))
    away = unit(random.standard_normal((100, 32)))
    vectors = np.concatenate([near, np.repeat(near[:1], 1000, axis=0), away])
    ids = ids_of(len(vectors))
    result = deduplicate(ids, vectors, cosine_above=0.9, **way)
    assert len(result.kept) == 101
    assert_maximal_independent(result, ids, vectors, 0.9)


@pytest.mark.slow
def test_the_approximate_comparison_states_its_recall_and_keeps_about_as_many() -> None:
    vectors = clusters(6000, seed=3, dimensions=48, noise=0.16)
    ids = ids_of(len(vectors))
    exact = deduplicate(ids, vectors)
    approximate = deduplicate(ids, vectors, **APPROXIMATE)
    assert exact.recall is None
    assert 0.99 <= approximate.recall <= 1
    assert_maximal_independent(approximate, ids, vectors, 0.5)
    assert len(approximate.kept) == pytest.approx(len(exact.kept), rel=0.02)


@pytest.mark.parametrize("exact_up_to", [1, 700, 1500])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_what_comes_later_displaces_no_statement(exact_up_to: int, seed: int) -> None:
    vectors = clusters(2400, seed, dimensions=48, noise=0.16)
    ids = ids_of(len(vectors))
    releases = np.sort(np.random.default_rng(seed).integers(1, 4, len(vectors)))
    before: set[str] = set()
    for release in (1, 2, 3):
        there = np.random.default_rng(release).permutation(np.flatnonzero(releases <= release))
        vectors_there, ids_there = vectors[there], [ids[row] for row in there]
        result = deduplicate(ids_there, vectors_there, arrivals=releases[there].tolist(), exact_up_to=exact_up_to)
        assert_maximal_independent(result, ids_there, vectors_there, 0.5)
        earlier = {ids[row] for row in there if releases[row] < release}
        assert earlier & set(result.kept) == before
        before = set(result.kept)


SAME_ANYWHERE = """
import sys
import numpy as np
from flows.construct.dedupe import deduplicate
from schemas.base import content_hash
vectors = np.load(sys.argv[1])
print(content_hash(repr(deduplicate([f"{row:05d}" for row in range(len(vectors))], vectors, exact_up_to=1))))
"""


@pytest.mark.slow
def test_the_approximate_comparison_is_the_same_for_any_processor_and_number_of_threads(tmp_path: Path) -> None:
    file = tmp_path / "vectors.npy"
    np.save(file, clusters(3000, seed=5, dimensions=48, noise=0.16))
    settings_of_machines = [
        {"OMP_NUM_THREADS": "1"},
        {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        {"OMP_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "NEHALEM", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
    ]
    results = {
        subprocess.run(
            [sys.executable, "-c", SAME_ANYWHERE, str(file)],
            env={**os.environ, **machine},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for machine in settings_of_machines
    }
    assert len(results) == 1


@settings(deadline=None, max_examples=30)
@given(vectors=made, most=st.integers(1, 20), random=st.randoms(use_true_random=False))
def test_nearest_centroids_are_those_of_exact_arithmetic(vectors: FloatMatrix, most: int, random: object) -> None:
    centroids = vectors[[random.randrange(len(vectors)) for _ in range(12)]]
    most = min(most, len(centroids))
    grid = [[round(float(value) * 2**24) for value in vector] for vector in vectors]
    others = [[round(float(value) * 2**24) for value in vector] for vector in centroids]
    for nearest, ours in zip(_Centroids(centroids).nearest(vectors, most).tolist(), grid, strict=True):
        dots = [sum(a * b for a, b in zip(ours, theirs, strict=True)) for theirs in others]
        expected = sorted(range(len(others)), key=lambda place: (-dots[place], place))[:most]
        assert nearest[0] == expected[0]
        assert set(nearest) == set(expected)


def of_one_size(shared: int) -> FloatMatrix:
    """Two unit vectors with the cosine shared / 64 * (1 + 2^-8)^2 (nearly): bfloat16 rounds every number down."""
    both = np.full((2, shared), (1 + 0.99 * 2**-8) / 8)
    own = np.eye(2) * np.sqrt(1 - (both[0] ** 2).sum())
    return np.concatenate([both, own], axis=1).astype(np.float32)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(vectors=made | st.builds(of_one_size, st.integers(1, 63)), above=st.sampled_from([0.3, 0.5, 0.9]) | st.none())
def test_products_in_16_bits_lose_no_pair(vectors: FloatMatrix, above: float | None) -> None:
    if above is None:  # just below the cosine of the first and the last, which then are a pair
        above = min(max(float(vectors[-1].astype(np.float64) @ vectors[0]) - 1e-6, 0.01), 0.99)
    rows = np.arange(len(vectors))
    space = Space(vectors, rows, above)
    assert space.rough_tile == math.inf
    every = Tile(space, rows).pairs(rows)
    space.rough_tile = 1
    found = Tile(space, rows).pairs(rows)
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == set(
        zip(every.left.tolist(), every.right.tolist(), strict=True)
    )
    assert Tile(space, rows[:1]).touches(rows[1:]).tolist() == np.isin(rows[1:], every.left[every.right == 0]).tolist()


@pytest.mark.slow
def test_matrices_in_16_bits_have_few_shapes() -> None:
    rows = {len(_in_16_bits(np.ones((number, 3), np.float32))) for number in range(1, TILE + 1, 50)}
    assert rows == {512, 1024, 1536, 2048}


def test_too_low_a_recall_fails_with_advice() -> None:
    vectors = unit(np.random.default_rng(1).standard_normal((3000, 12)))
    with pytest.raises(Failed, match=r"finds \d+\.\d% .* 1 of 219 lists probed.*raise exact_up_to"):
        deduplicate(ids_of(3000), vectors, exact_up_to=1000, most_probes=1)


@pytest.mark.parametrize("wrong", [at_angle(0, 1) * 1.01, at_angle(0, 1) * np.nan, at_angle(0), at_angle(0, 1)[0]])
def test_vectors_that_are_not_one_unit_vector_an_id_are_refused(wrong: FloatMatrix) -> None:
    with pytest.raises(ValueError, match=r"divide each by its length|give one row"):
        deduplicate(["a", "b"], wrong.astype(np.float32))


def test_repeated_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2 ids"):
        deduplicate(["a", "a"], at_angle(0, 90))


@pytest.mark.parametrize("above", [0.0, 1.0, -0.5, 50])
def test_a_threshold_lies_between_0_and_1(above: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        deduplicate(["a"], at_angle(0), cosine_above=above)


@pytest.mark.slow
def test_more_facts_survive_than_components_leave(shared: Path, tmp_path: Path) -> None:
    with gzip.open(shared / "data/strategyqa_en/train.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = sorted({fact for line in lines for fact in json.loads(line)["facts"]})
    ids = [content_hash(fact) for fact in facts]
    share_vectors(tmp_path)
    vectors = CachedEmbedder(SentenceBert(), tmp_path / EMBEDDINGS).embed(facts)
    result = deduplicate(ids, vectors)
    assert_maximal_independent(result, ids, vectors, 0.5)
    assert len(facts) == 4116
    assert len(result.kept) > 2283  # what a greedy choice in order of arrival keeps of them
    assert len(result.kept) > 2 * len(deduplicate(ids, vectors, rule="paper").kept)
