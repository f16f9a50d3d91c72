"""The cache: what is put is there for good, whoever else writes, and a fault is one line."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from flows.llm import cache as cache_module
from flows.llm.cache import CacheError, Completion, CompletionCache, Row, _CoreTable, completion_key

ANSWER = Completion('{"a": "\u00e9\u4e2d\\u0000"}', "answer", 12, 3, 0.000125, "gpt-4o-2024-08-06")
ROOT = str(Path(__file__).parents[1])


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/deep/down/completions.db"


def test_what_is_put_is_there_for_another_connection_at_once(tmp_path: Path) -> None:
    with closing(CompletionCache(url(tmp_path))) as one, closing(CompletionCache(url(tmp_path))) as other:
        assert other.get("k") is None
        one.put("k", ANSWER)
        assert other.get("k") == ANSWER
        other.put("k", ANSWER._replace(answer="later"))
        assert one.get("k") == ANSWER


EARLIER = (
    "CREATE TABLE completions (key VARCHAR(32) PRIMARY KEY, answer TEXT NOT NULL, kind VARCHAR(16) NOT NULL, "
    "input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd FLOAT NOT NULL)"
)


class OfAnotherDatabase(CompletionCache):
    """SQLite, through the statements that other databases would get."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__("sqlite://", **options)
        self._table = _CoreTable(create_engine(url))


@pytest.mark.parametrize("opened", [CompletionCache, OfAnotherDatabase])
def test_the_table_of_an_earlier_version_serves_as_it_is(tmp_path: Path, opened: Any) -> None:
    url = f"sqlite:///{tmp_path}/completions.db"
    with closing(sqlite3.connect(tmp_path / "completions.db")) as database, database:
        database.execute(EARLIER)
        database.execute("INSERT INTO completions VALUES ('k', 'a', 'answer', 1, 2, 0.5)")
    for _ in range(2):
        with closing(opened(url)) as cache:
            assert cache.get("k") == Completion("a", "answer", 1, 2, 0.5)
            cache.put("new", ANSWER)
            assert cache.get("new") == ANSWER


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///{folder}/c.db"])
def test_it_may_be_opened_in_one_thread_and_used_in_another(tmp_path: Path, address: str) -> None:
    with closing(CompletionCache(address.format(folder=tmp_path))) as cache, ThreadPoolExecutor(1) as thread:
        thread.submit(cache.put, "k", ANSWER).result()
        assert cache.get("k") == ANSWER


@given(st.lists(st.binary()), st.lists(st.binary()))
def test_keys_of_different_parts_differ(one: list[bytes], other: list[bytes]) -> None:
    assert (completion_key(*one) == completion_key(*other)) == (one == other)


def test_a_damaged_file_is_one_line_and_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "completions.db"
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    before = path.read_bytes()
    with pytest.raises(CacheError) as raised:
        CompletionCache(f"sqlite:///{path}")
    assert str(raised.value).startswith(f"{path}: the cache of completions cannot be used (file is not a database)")
    assert "move it away" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_damage_in_the_middle_is_found_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "completions.db"
    with closing(CompletionCache(f"sqlite:///{path}")) as cache:
        for number in range(200):
            cache.put(str(number), ANSWER._replace(answer="x" * 1000))
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 :] = b"\xff" * (len(whole) - 4096 * 3)
    path.write_bytes(whole)

    def read_all() -> None:
        with closing(CompletionCache(f"sqlite:///{path}")) as cache:
            for number in range(200):
                cache.get(str(number))

    with pytest.raises(CacheError, match="the file is damaged"):
        read_all()


@pytest.mark.parametrize("opened", [CompletionCache, OfAnotherDatabase])
@pytest.mark.parametrize("damage", ["answer = 'Z7' || substr(answer, 3)", "kind = 'refusal'", "output_tokens = 19"])
def test_a_damaged_answer_is_not_served_but_asked_for_again(tmp_path: Path, opened: Any, damage: str) -> None:
    url, told = f"sqlite:///{tmp_path}/completions.db", list[str]()
    with closing(opened(url)) as cache:
        cache.put("k", ANSWER)
        cache.put("whole", ANSWER)
    with closing(sqlite3.connect(tmp_path / "completions.db")) as database, database:
        database.execute(f"UPDATE completions SET {damage} WHERE key = 'k'")
    with closing(opened(url, tell=told.append)) as cache:
        assert cache.get("k") is None
        assert cache.get("whole") == ANSWER
        cache.put("k", ANSWER)
        assert cache.get("k") == ANSWER
    (line,) = told
    assert "an answer is damaged (k), and is asked for again" in line


def test_a_flipped_bit_of_an_answer_is_seen_also_where_it_is_no_text_any_more(tmp_path: Path) -> None:
    path = tmp_path / "completions.db"
    for place, bit in ((0, 1), (5, 0x80)):
        path.unlink(missing_ok=True)
        with closing(CompletionCache(f"sqlite:///{path}")) as cache:
            cache.put("k", ANSWER._replace(answer="Lisbon is a city"))
        content = bytearray(path.read_bytes())
        content[content.index(b"Lisbon is a city") + place] ^= bit
        path.write_bytes(content)
        with closing(CompletionCache(f"sqlite:///{path}", tell=lambda line: None)) as cache:
            assert cache.get("k") is None


def test_a_full_disk_is_one_line_and_what_was_there_stays(tmp_path: Path) -> None:
    # A limit on the size of files stands in for the disk: the write fails in the operating system.
    script = f"""
import resource, sys
sys.path.insert(0, {ROOT!r})
from flows.llm import cache as cache_module
from flows.llm.cache import CacheError, Completion, CompletionCache
cache = CompletionCache("sqlite:///{tmp_path}/c.db")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
kept = 0
try:
    for number in range(1000):
        cache.put(str(number), Completion("x" * 1000, "answer", 1, 1, 0.0))
        kept += 1
except CacheError as error:
    print(error)
try:
    cache.get("0")
except CacheError:
    print("nothing more is served")
print(kept)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    error, refused, kept = said.splitlines()
    assert "c.db: the cache of completions cannot be used" in error
    assert "free some space there and run again" in error
    assert refused == "nothing more is served"
    assert int(kept) > 20
    with closing(CompletionCache(f"sqlite:///{tmp_path}/c.db")) as cache:
        assert all(cache.get(str(number)) is not None for number in range(int(kept)))


@pytest.mark.slow
def test_several_processes_write_one_file_at_once(tmp_path: Path) -> None:
    script = f"""
import sys
from contextlib import closing
sys.path.insert(0, {ROOT!r})
from flows.llm.cache import Completion, CompletionCache
with closing(CompletionCache({url(tmp_path)!r})) as cache:
    for number in range(300):
        cache.put(f"shared {{number}}", Completion("x" * 500, "answer", 1, 1, 0.0))
        cache.put(f"{{sys.argv[1]}} {{number}}", Completion("x" * 500, "answer", 1, 1, 0.0))
"""
    processes = [subprocess.Popen([sys.executable, "-c", script, str(number)]) for number in range(3)]
    assert [process.wait(30) for process in processes] == [0, 0, 0]
    with closing(CompletionCache(url(tmp_path))) as cache:
        for name in ("shared", "0", "1", "2"):
            assert all(cache.get(f"{name} {number}") is not None for number in range(300))


def test_who_waits_for_another_process_says_so_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "SAID_AFTER_S", 0.01)
    said: list[str] = []
    path = tmp_path / "deep/down/completions.db"
    with closing(CompletionCache(url(tmp_path))), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def tell(line: str) -> None:
            said.append(line)
            other.execute("COMMIT")

        with closing(CompletionCache(url(tmp_path), tell)) as cache:
            cache.put("k", ANSWER)
            assert cache.get("k") == ANSWER
    assert said == [f"{path}: waiting for another process, which holds this database"]


def test_the_table_of_other_databases_behaves_the_same(tmp_path: Path) -> None:
    # SQLite stands in for them, through the statements that they would get.
    one, other = (_CoreTable(create_engine(f"sqlite:///{tmp_path}/c.db")) for _ in range(2))
    assert one.get("k") is None
    one.put("k", Row(ANSWER, "1"))
    other.put("k", Row(ANSWER._replace(answer="later"), "2"))
    assert other.get("k") == Row(ANSWER, "1")
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("completions.db", "write one such as sqlite:///"),
        ("nosuchdatabase://me:word@host/db", "check the database URL"),
        ("sqlite:////proc/no/such/place.db", "check that its folder exists"),
    ],
)
def test_an_address_that_cannot_be_opened_is_one_line(wrong: str, said: str) -> None:
    with pytest.raises(CacheError, match=said) as raised:
        CompletionCache(wrong)
    assert "word@" not in str(raised.value)
    assert "\n" not in str(raised.value)
