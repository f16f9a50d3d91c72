"""What comes later changes no row that was released: pools as they were, and draws that move no other member."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.store import Store
from flows.construct import records
from flows.construct.arrivals import History
from flows.construct.dedupe import deduplicate
from flows.construct.draws import members_of, random_order
from flows.construct.files_step import FilesStep
from flows.construct.records import First, with_first
from flows.construct.verification import VerifyContext
from flows.project.project import Project
from flows.project.released import RELEASES, MadeOf, released_stages
from flows.project.settings import sample_path
from schemas.base import Record, content_hash
from schemas.errors import Failed
from schemas.source import Statement
from tests.builds import write_config
from tests.passing import with_peak
from tests.toy import run_all

NAMES = [["uraq/items/people", "uraq/items/prescreen"], ["uraq/statements/manipulate"]]


def history(tmp_path: Path, *releases: Mapping[str, str]) -> History:
    """The history of releases whose stages are all in the store."""
    store = Store(str(tmp_path))
    for release in releases:
        for name, fingerprint in release.items():
            store.write(f"{store.root}/{name}-{fingerprint}/manifest.json", b"{}")
    return History(store, lambda: releases)


def of_stages(items: str, statements: str, evaluation: str, items_step: str = "prescreen") -> dict[str, str]:
    return {
        f"uraq/items/{items_step}": items,
        "uraq/statements/manipulate": statements,
        "uraq/evaluation/arrange_contexts": evaluation,
    }


def folders(of: History) -> list[tuple[str, ...]]:
    return [tuple(folder.rpartition("/")[2] for folder in release)
            for release in of.of("uraq/evaluation/arrange_contexts", NAMES)]  # fmt: skip


def test_a_history_has_what_a_step_read_and_made_for_each_release_that_changed_it(tmp_path: Path) -> None:
    first, same, grown = of_stages("i1", "s1", "e1"), of_stages("i1", "s1", "e1"), of_stages("i2", "s2", "e2")
    assert folders(history(tmp_path, first, same, grown)) == [
        ("prescreen-i1", "manipulate-s1", "arrange_contexts-e1"),
        ("prescreen-i2", "manipulate-s2", "arrange_contexts-e2"),
    ]


def test_a_release_counts_with_its_verdicts_and_only_while_what_it_read_is_there(tmp_path: Path) -> None:
    of = history(tmp_path, of_stages("i1", "s1", "e1", "people"), of_stages("i2", "s2", "e2"), {"uraq/other/step": "x"})
    shutil.rmtree(tmp_path / "uraq" / "items" / "prescreen-i2")
    shutil.rmtree(tmp_path / "uraq" / "evaluation" / "arrange_contexts-e1")
    assert folders(of) == [("people-i1", "manipulate-s1", "arrange_contexts-e1")]


def test_a_damaged_stage_of_a_release_counts_and_is_told(tmp_path: Path) -> None:
    of = history(tmp_path, of_stages("i1", "s1", "e1"))
    (tmp_path / "uraq" / "items" / "prescreen-i1" / "manifest.json").unlink()
    assert folders(of) == [("prescreen-i1", "manipulate-s1", "arrange_contexts-e1")]
    with pytest.raises(Failed, match=r"prescreen-i1: not whole, and a released version was made from it; put it back"):
        of.read("uraq/items/prescreen-i1", Record)


def test_a_damaged_note_is_not_passed_over(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write(f"{store.root}/{RELEASES}/1.json", b'{"what": "mine 1.0.0", "sta')
    with pytest.raises(Failed, match=r"1\.json: damaged note on a release; remove it"):
        released_stages(store, "mine")


def test_a_note_that_a_killed_release_did_not_finish_is_none(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write(f"{store.root}/{RELEASES}/1.json", MadeOf(what="mine 1.0.0", stages=("a/b/c-1",)).sealed())
    (tmp_path / RELEASES / "2.json.tmp").write_bytes(b"")
    assert released_stages(store, "mine") == [{"a/b/c": "1"}]


def test_versions_of_one_dataset_are_in_their_order(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for number, what in enumerate(["mine 1.10.0", "mine 1.9.0", "other 1.0.0", "mine 1.0.0"]):
        made = MadeOf(what=what, stages=(f"uraq/items/prescreen-{number}",))
        store.write(f"{store.root}/{RELEASES}/{number}.json", made.model_dump_json().encode())
    assert [release["uraq/items/prescreen"] for release in released_stages(store, "mine")] == ["3", "1", "0"]


class Facts:
    """As many facts as wanted, each made as it is read; two of a kind follow each other."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Statement]:
        for number in range(self._count):
            yield Statement(key=content_hash(number), text=f"Fact {number // 2}.", topic=str(number))


def test_of_equal_records_the_first_is_that_of_the_earliest_release() -> None:
    facts = list(Facts(6))
    came = dict(zip((fact.key for fact in facts), (2, 1, 1, 1, 1, 2), strict=True))
    firsts = [first for _, first in with_first(facts, lambda fact: fact.text, lambda fact: came[fact.key])]
    assert firsts == [First(facts[1].key, facts[1].id), None, None, First(facts[2].key, facts[2].id),
                      None, First(facts[4].key, facts[4].id)]  # fmt: skip
    assert [*with_first([], lambda fact: "", lambda fact: 1)] == []


def test_texts_whose_hashes_differ_in_their_last_bit_alone_are_not_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "content_hash", lambda text: f"f00000000000000{text[5]}")
    assert [first is None for _, first in with_first(Facts(4), lambda fact: fact.text, lambda fact: 1)] == [
        True, False, True, False,
    ]  # fmt: skip


def test_the_first_of_equal_records_is_found_without_their_texts_in_memory() -> None:
    count = 2_000
    duplicates, peak = with_peak(
        lambda: sum(first is not None for _, first in with_first(Facts(count), lambda fact: fact.text, lambda fact: 1))
    )
    assert duplicates == count // 2
    assert peak < 110 * count


@given(st.lists(st.text(), unique=True, min_size=2, max_size=40), st.integers(0, 2**64 - 1), st.data())
def test_one_member_less_moves_no_other(texts: list[str], seed: int, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(texts))
    order = [texts[place] for place in random_order(members_of(texts), seed)]
    rest = [text for text in texts if text != gone]
    assert [rest[place] for place in random_order(members_of(rest), seed)] == [text for text in order if text != gone]


def test_orders_are_random() -> None:
    """Of 1,000 seeds, each of ten members comes first about 100 times, and two seeds agree in no more than chance."""
    members = members_of(range(10))
    orders = np.array([random_order(members, seed) for seed in range(1000)])
    assert 60 < np.bincount(orders[:, 0]).min() <= np.bincount(orders[:, 0]).max() < 140
    assert (orders[1:] == orders[:-1]).mean() < 0.13


def test_a_statement_that_is_added_displaces_none() -> None:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(30, 24))
    vectors = np.concatenate([centre + 0.5 * rng.normal(size=(8, 24)) for centre in centres]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"{place:03}" for place in rng.permutation(len(vectors))]
    old = rng.permutation(len(vectors))[:80]
    alone = deduplicate([ids[place] for place in old], vectors[old], cosine_above=0.8)
    came = [1 if place in set(old.tolist()) else 2 for place in range(len(ids))]
    grown = deduplicate(ids, vectors, arrivals=came, cosine_above=0.8)
    assert set(alone.kept) < set(grown.kept)
    without = deduplicate(ids, vectors, cosine_above=0.8)
    assert not set(alone.kept) <= set(without.kept), "the case shows nothing: no statement would be displaced anyway"


# ---- whole builds ----


@pytest.fixture
def grow(tmp_path: Path) -> Callable[..., dict[tuple[str, str], Any]]:
    """Builds and releases a dataset of three families; returns its rows by part and key."""
    sources = sample_path().parent
    versions = iter(range(1, 100))

    def build(questions: Sequence[int], pairs: int, context_counts: Sequence[int], statements: int) -> Any:
        lines = (sources / "questions.jsonl").read_text().splitlines()
        (tmp_path / "questions.jsonl").write_text("".join(f"{lines[number]}\n" for number in questions))
        ours = {"format": "jsonl", "path": "questions.jsonl"}
        pages = [{"format": "jsonl", "path": str(sources / f"{name}.jsonl")} for name in ("pages", "related")]
        dataset = {"pairs": pairs, "sources": [ours], "distractors": pages[:1]}
        config = write_config(
            tmp_path,
            store=str(tmp_path / "store"),
            families={
                "reeval": {"seeds": "all", "entailment": "off", "sources": [ours], "passages": pages},
                "lveval": {"levels": ["1k"], "datasets": {"multifieldqa-en-mixup": dataset}},
                "uraq": {"statements": statements, "context_counts": context_counts},
            },
        )
        project = Project(config, tmp_path / "out")
        asyncio.run(run_all(project.build))
        rows, stages = {}, []
        for family, part in project.build.parts():
            refs = project.build.stages(family, part)
            stages += [f"{ref.family}/{ref.part}/{ref.step}-{project.build.fingerprint(ref)}" for ref in refs]
            known = VerifyContext(
                project.build.families[family.name].settings,
                project.embedder,
                lambda other, family=family: project.build.accepted(family.name, other),  # type: ignore[misc]
                lambda other: {},
            )
            assert list(part.verify(project.build.accepted(family.name, part.name), known)) == []
            if part.released is not None:
                long = isinstance(part.steps[-1], FilesStep)
                for record in project.build.accepted(family.name, part.name):
                    rows[f"{family.name}-{part.name}", record.key] = record.id if long else record.model_dump_json()
        made = MadeOf(what=f"test {next(versions)}.0.0", stages=tuple(stages))
        store = project.store
        store.write(f"{store.root}/{RELEASES}/{made.what}.json", made.model_dump_json().encode())
        again = Project(config, tmp_path / "out")
        unfinished = [ref for family, part in again.build.parts() for ref in again.build.stages(family, part)
                      if again.build.manifest(ref) is None]  # fmt: skip
        assert unfinished == [], "a release changes nothing in the build that it was made from"
        return rows

    return build


def changed(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> list[Any]:
    return sorted(key for key in before.keys() & now.keys() if before[key] != now[key])


@pytest.mark.slow
def test_rows_that_were_released_stay_when_questions_counts_and_statements_are_added(grow: Any) -> None:
    first = grow(range(30), 20, [1, 10], 60)
    questions = grow(range(45), 35, [1, 10], 60)
    assert changed(first, questions) == []
    for part in ("reeval-category1", "reeval-category2", "lveval-contexts"):
        assert sum(name == part for name, _ in questions) > sum(name == part for name, _ in first)
    counts = grow(range(45), 35, [1, 5, 10, 25], 60)
    assert changed(questions, counts) == []
    statements = grow(range(45), 35, [1, 5, 10, 25], 75)
    assert changed(counts, statements) == []
    assert first.keys() < questions.keys() < counts.keys() < statements.keys()
    more = grow(range(45), 40, [1, 5, 10, 25], 90)
    assert {name for name, _ in changed(statements, more)} <= {"lveval-contexts"}, "a pair's pages leave the pool"
    assert statements.keys() < more.keys()
    fewer = grow(range(2, 45), 33, [1, 5, 10, 25], 90)
    gone = {name for name, _ in changed(more, fewer)}
    assert gone <= {"lveval-contexts", "reeval-category2"}, "only what drew from the pages of the questions that went"
    back = grow(range(45), 33, [1, 5, 10, 25], 90)
    assert {name for name, _ in changed(fewer, back)} <= {"lveval-contexts"}
    assert {key for key in fewer if key not in back} == set(), "what came back displaces nothing"
