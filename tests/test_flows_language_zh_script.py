"""The script of Chinese text, on real text of either and on what tells nothing."""

from pathlib import Path

import pytest

from flows.language.zh.script import script
from schemas.source import Passage, QASource
from tests.test_data_sources import read
from tests.test_data_sources_qa import CMRC, DRCD, XQUAD_ZH

LEAST_TOLD = 0.995


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("周末七国分争，并入于秦。", "simplified"),
        ("周末七國分爭，併入於秦。", "traditional"),
        ("為什麼", "traditional"),  # the form of Taiwan; that of the table's other source is 爲
        ("群众在后台", "simplified"),  # 群, 后 and 台 tell nothing
        ("群、床、后、干、台", None),
        ("你好", None),
        ("", None),
        ("The 12 chapters.", None),
        ("国國", None),
        ("《國語》这个词说明，这里没有国家标准。", "simplified"),  # quotes the other script
        ("国國語語语", None),
    ],
)
def test_characters_of_one_script_tell(text: str, told: str | None) -> None:
    assert script(text) == told


@pytest.mark.parametrize(
    ("name", "told", "paragraphs"),
    [(DRCD, "traditional", 1000), (CMRC, "simplified", 502), (XQUAD_ZH, "simplified", 145)],
)
def test_paragraphs_of_real_data_are_told(shared: Path, name: str, told: str, paragraphs: int) -> None:
    passages, _ = read(shared / "data" / name, Passage, "squad", language="zh")
    found = [script(one.text) for one in passages if len(one.text) > 50]
    assert len(found) == paragraphs
    assert sum(one == told for one in found) >= LEAST_TOLD * paragraphs


@pytest.mark.parametrize(("name", "told"), [(DRCD, "traditional"), (CMRC, "simplified"), (XQUAD_ZH, "simplified")])
def test_questions_of_real_data_are_told_or_left(shared: Path, name: str, told: str) -> None:
    questions, _ = read(shared / "data" / name, QASource, "squad", language="zh")
    found = [script(one.question) for one in questions]
    assert set(found) == {told, None}
    assert found.count(None) < 0.07 * len(found)


def test_chinese_books_are_simplified(shared: Path) -> None:
    for name in ("xiyouji", "sanguoyanyi"):
        passages, _ = read(shared / "data" / "books_zh" / f"{name}.txt.gz", Passage, "book", language="zh")
        assert {script(one.text) for one in passages if len(one.text) > 50} == {"simplified"}
