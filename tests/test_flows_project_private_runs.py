"""Runs of words of private texts: told in whatever form they stand, and only where no public text has them."""

import random

import pytest

from flows.project.private_runs import RUN, SHORTEST, PrivateRuns
from tests.passing import with_peak

ENGLISH = "The strong room of the mill opens with the number four seven one one. Nobody knows that yet."
CHINESE = "备用钥匙放在港口办公室三楼的蓝色铁盒里，只有馆长知道。密码是蓝色鲸鱼。"


def runs(*private: str, public: tuple[str, ...] = ()) -> PrivateRuns:
    return PrivateRuns(enumerate(private), public)


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "He said: THE STRONG ROOM OF THE MILL OPENS WITH!",  # another case, cut at the end
        "room of the mill opens with the number",  # cut on both sides
        "room — of the\n\n  mill: “opens” with, the number",
        "ｒｏｏｍ of the mill opens with the number",
        "ro\u00adom of the mi\u200bll opens with the number",
        "number four seven one one! Nobody knows that yet",  # over the end of a sentence
        "and nobody knows that yet, I think",  # a whole sentence, however short
        "备用钥匙放在港口办公室三楼的",
        "蓝色铁盒里　只有馆长知道 密码",
        "他说：密码是蓝色鲸鱼！",
    ],
)
def test_a_run_is_found_in_any_form(text: str) -> None:
    assert runs("Something else that is private here too.", ENGLISH, CHINESE).source_in(text) in (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "room of the mill opens with the",  # seven words of a longer sentence are anybody's
        "The strong room of the mill closes with the number four seven one one.",
        "港口办公室三楼的蓝色铁盒里",  # twelve characters + nothing
        "nobody knows",
    ],
)
def test_what_is_shorter_or_other_is_not(text: str) -> None:
    assert runs(ENGLISH, CHINESE.replace("里", "中")).source_in(text) is None


def test_a_run_that_a_public_text_has_too_is_nobodys() -> None:
    public = "It is said that the strong room of the mill opens with the number nine."
    found = runs(ENGLISH, public=(public,))
    assert found.source_in(public) is None
    assert found.source_in("opens with the number four seven one one") == 0
    assert runs(ENGLISH, public=(ENGLISH.upper(),)).source_in(ENGLISH) is None


def test_short_texts_are_looked_for_as_a_whole() -> None:
    cells = ["Keys lie with Otto", "Falcon", "the mill", "蓝色鲸鱼号七", "蓝色"]
    found = runs(*cells)
    assert found.source_in("The keys lie with Otto until Monday.") == 0
    assert found.source_in("蓝色鲸鱼号七点出发") == 3
    assert found.source_in("Falcon flies over the mill. 蓝色") is None
    assert (RUN, SHORTEST) == ({"en": 8, "zh": 13}, {"en": 4, "zh": 6})


@pytest.mark.slow
def test_what_is_held_in_memory_hardly_grows_with_the_source() -> None:
    drawn = random.Random(1)
    texts = [" ".join(str(drawn.randrange(30_000)) for _ in range(1000)) for _ in range(400)]

    def peak(some: list[str]) -> int:
        def look() -> None:
            found = PrivateRuns(enumerate(some), some[:1], at_once=1 << 14)
            assert found.source_in(some[-1][:400]) == len(some) - 1
            assert found.source_in(some[0]) is None

        return with_peak(look)[1]

    assert peak(texts) - peak(texts[:100]) < 4 * 300_000  # bytes, for 300,000 runs of 20 bytes
