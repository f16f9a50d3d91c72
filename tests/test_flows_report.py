"""The build report: what stands on the page, that foreign text stays text, and how it looks in a browser."""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.sources import SourceSpec
from data.store import Store
from flows.construct.counting import part_summary
from flows.construct.embed import FloatMatrix
from flows.construct.engine import Family
from flows.construct.settings import FamilySettings
from flows.construct.stages import Build, FamilyBuild
from flows.construct.view import Bars, Histogram, Line, View
from flows.evaluate.report import table_view
from flows.families.lveval import FAMILY as LVEVAL
from flows.families.uraq import FAMILY as URAQ
from flows.families.uraq.view import view
from flows.llm.rules import Rules
from flows.project.build_report import write_report
from flows.project.models import rules_of
from flows.project.output_files import NoBuild, write_output_files
from flows.project.project import Project
from flows.report.bins import binned, median, nice, ticks
from flows.report.page import chart_view, in_reading_order, report_page
from flows.report.records import charts_of, compared_cells
from flows.report.texts import Segment, clip, compared, percent
from schemas.manifest import BuildManifest
from schemas.verdict import Verdict
from tests.builds import write_config
from tests.toy import FAMILY as TOY
from tests.toy import run_all, toy_build

MANY = 2_000_000
"""Bytes that no page exceeds."""
HOSTILE = "<script>window.pwned=1</script>"
FACTS = (
    "An ordinary shamrock has 3 leaflets.", "A spider walks on 8 legs.", "Pure gold is rated at 24 carats.",
    "Leonardo da Vinci painted the Mona Lisa.", "The pyramids of Giza rise in Egypt.", "A spider walks on 8 long legs.",
    "The Statue of Liberty was a gift of France.", "Nothing here fits <b>any</b> rule.",
)  # fmt: skip


class Words:
    """An embedder without a model: texts are as similar as the words they share."""

    name = "words"

    def reads(self, text: str) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        vectors: FloatMatrix = np.zeros((len(texts), 512), np.float32)
        for row, text in enumerate(texts):
            for word in set(text.lower().split()):
                vectors[row, int(hashlib.sha256(word.encode()).hexdigest(), 16) % 512] = 1.0
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors


def manifest_of(build: Build, name: str = "test", **more: Any) -> BuildManifest:
    values: dict[str, Any] = {
        "name": name, "seed": build.seed, "limit": None, "config": {"name": name}, "versions": {"python": "3"},
        "models": {"toy.builder": "rules"}, "prompts": {"toy/toy_shout": "1-00000000"},
        "parts": tuple(part_summary(build, family, part) for family, part in build.parts()),
    }  # fmt: skip
    return BuildManifest.model_validate({**values, **more})


async def toy_page(folder: Path, words: list[str], name: str = "toy", **settings: Any) -> str:
    folder.mkdir(exist_ok=True)
    build = toy_build(folder, words, **settings)
    await run_all(build)
    return report_page(build, manifest_of(build, name))


async def uraq_page(folder: Path, facts: Sequence[str] = FACTS) -> str:
    build = uraq_build(folder, facts)
    await run_all(build)
    return report_page(build, manifest_of(build))


def uraq_build(folder: Path, facts: Sequence[str]) -> Build:
    source = folder / "facts.jsonl"
    source.write_text("".join(json.dumps({"text": fact}) + "\n" for fact in facts))
    spec = SourceSpec(format="jsonl", path=str(source), fields={"text": "text"})
    settings = URAQ.settings.model_validate({"statements_from": spec, "context_counts": (1, 2, 5, 5000), "hops": (2,)})
    return built_of(URAQ, settings, folder)


def built_of(family: Family, settings: FamilySettings, folder: Path) -> Build:
    prompts = {prompt.name: prompt for prompt in family.prompts}
    models = {prompt.role: Rules(rules_of(family.name), 7) for prompt in family.prompts}
    return Build(
        [FamilyBuild(family, settings, prompts, models)], store=Store(str(folder / "store")), seed=7, limit=None,
        embedder=Words(), verdicts=lambda family, part: {},
    )  # fmt: skip


def text_of(page: str) -> str:
    """What a reader sees, roughly: without tags and runs of white space."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2]).split())


# ---- numbers ----


@pytest.mark.parametrize(
    ("step", "expected"), [(1, 1), (1.2, 2), (2.1, 2.5), (0.03, 0.05), (0.1, 0.1), (60, 100), (0.3, 0.5)]
)
def test_nice_steps(step: float, expected: float) -> None:
    assert nice(step) == pytest.approx(expected)


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.18, 0.82, 5) == [0.2, 0.4, 0.6, 0.8]
    assert ticks(3.5, 15.5, 5, integers=True) == [6, 9, 12, 15]


def test_median_by_hand() -> None:
    assert median({5: 2, 7: 1}) == 5
    assert median({5: 1, 8: 1}) == 6.5


def test_whole_numbers_have_bins_of_their_own() -> None:
    bins = binned(Histogram(title="", unit="", series={"words": {5: 2, 7: 1}}))
    assert [(one.label, one.counts) for one in bins] == [("5", (2,)), ("6", (0,)), ("7", (1,))]


def test_no_bin_reaches_across_the_threshold_and_a_value_on_it_lies_below() -> None:
    # from 0.2 to 0.9 in at most 24 bins: the next round width is 0.05
    bins = binned(
        Histogram(title="", unit="", threshold=0.5, series={"kept": {0.2: 1, 0.5: 2}, "dropped": {0.5001: 3, 0.9: 1}})
    )
    below = [one for one in bins if one.high <= 0.5 + 1e-9]
    assert sum(one.counts[0] for one in below) == 3
    assert sum(one.counts[1] for one in bins[len(below) :]) == 4
    assert bins[len(below)].low == pytest.approx(0.5)


def test_without_values_there_is_nothing_to_draw() -> None:
    assert binned(Histogram(title="", unit="", series={"a": {}})) == []
    assert chart_view(Histogram(title="", unit="", series={"a": {}})) is None
    assert chart_view(Bars(title="", counts={})) is None


@given(
    st.dictionaries(
        st.floats(-1e3, 1e3).map(lambda value: round(value, 4)), st.integers(1, 9), min_size=1, max_size=40
    ),
    st.none() | st.floats(-1e3, 1e3).map(lambda value: round(value, 2)),
)
def test_every_value_is_in_one_bin(values: Mapping[float, int], threshold: float | None) -> None:
    histogram = Histogram(title="", unit="", series={"a": values}, threshold=threshold)
    bins = binned(histogram)
    assert sum(one.counts[0] for one in bins) == sum(values.values())
    assert len(bins) <= 27
    view = chart_view(histogram)
    assert view is not None
    assert view.drawing is not None


def test_many_kinds_become_the_most_frequent_and_the_others() -> None:
    view = chart_view(Bars(title="", counts={"rare": 1, **{f"kind {n}": 2 for n in range(12)}}))
    assert view is not None
    assert [(bar.label, bar.count, bar.width) for bar in view.bars][-1] == ("1 other", 1, None)
    assert len(view.bars) == 13


def test_shares_round_to_nothing_only_where_there_is_nothing() -> None:
    assert [percent(0, 5), percent(1, 3), percent(1, 400), percent(399, 400), percent(5, 5), percent(0, 0)] == [
        "0%", "33%", "0.2%", "99.8%", "100%", "",
    ]  # fmt: skip


# ---- texts ----


def test_words_that_the_other_text_lacks_are_marked() -> None:
    left, right = compared("A spider has 8 legs.", "A spider has no legs.")
    assert [one.text for one in left if one.changed] == ["8"]
    assert [one.text for one in right if one.changed] == ["no"]
    assert "".join(one.text for one in left) == "A spider has 8 legs."


def test_texts_with_little_in_common_are_not_marked() -> None:
    assert compared("Paris", "a long river in Egypt") == ((Segment("Paris"),), (Segment("a long river in Egypt"),))


LONG = [f"w{number}" for number in range(500)]


def test_the_cut_of_a_long_text_is_no_change() -> None:
    left = " ".join([*LONG[:250], "eight", *LONG[250:]])
    right = " ".join([*LONG[:250], "nine", *LONG[250:], "and", "more"])
    sides = compared(left, right)
    assert [[one.text for one in side if one.changed] for side in sides] == [["eight"], ["nine", "and more"]]
    shown = ["".join(one.text for one in side) for side in sides]
    assert [" ".join(text.split()[:5]) for text in shown] == ["… (1,039 characters) … w230"] * 2
    assert "w249 eight w250" in shown[0]
    assert "w269 … (1,050 characters) … w480" in shown[0]
    assert shown[0].endswith("w499")
    assert shown[1].endswith("w499 and more")


def test_a_long_text_beside_its_beginning_shows_where_it_goes_on() -> None:
    left, right = compared(" ".join(LONG[:200]), " ".join(LONG))
    assert not any(one.changed for one in left)
    (added,) = [one.text for one in right if one.changed]
    assert added.startswith("w200 w201")
    assert right[-1] == Segment(f" … (+{len(' '.join(LONG[200:])) + 1 - 600:,} characters)")


def test_long_texts_without_much_in_common_and_equal_ones_show_their_beginnings() -> None:
    text = " ".join(LONG)
    for other in (text, "no " * 700):
        assert compared(text, other) == ((Segment(clip(text)),), (Segment(clip(other)),))


@given(st.lists(st.sampled_from("abc"), max_size=900), st.lists(st.sampled_from("abc"), max_size=900))
def test_what_is_shown_of_long_texts_is_bounded(left: list[str], right: list[str]) -> None:
    for side in compared(" ".join(left), " ".join(right)):
        assert sum(len(one.text) for one in side) < 2000
        assert not any(one.changed and "…" in one.text for one in side)


def test_a_long_text_that_both_have_is_shown_once() -> None:
    line = Line("text", ("a long text " * 20,) * 2)
    assert compared_cells(line, True) == [(Segment(line.cells[0]),)]
    assert len(compared_cells(Line("year", ("1755", "1755")), True)) == 2


@given(st.text(max_size=60), st.text(max_size=60))
def test_comparing_loses_nothing(left: str, right: str) -> None:
    assert tuple("".join(one.text for one in side) for side in compared(left, right)) == (left, right)


def test_a_cut_says_so() -> None:
    assert clip("x" * 1000, 100) == "x" * 100 + " … (+900 characters)"
    assert clip("x" * 110, 100) == "x" * 110


async def test_a_long_record_says_how_much_is_missing(tmp_path: Path) -> None:
    build = toy_build(tmp_path, ["ant"])
    await run_all(build)
    long = replace(TOY, view=lambda record: View(lines=tuple(Line(str(n), ("",)) for n in range(40))))
    build.families["toy"] = replace(build.families["toy"], family=long)
    assert "24 more lines" in report_page(build, manifest_of(build, "toy"))


# ---- the page ----


def test_what_is_read_first_stands_first() -> None:
    def names(family: Family) -> list[str]:
        return [part.name for _, part in in_reading_order((family, part) for part in family.parts)]

    assert names(URAQ) == ["items", "evaluation", "statements", "conflicts"]
    assert names(LVEVAL)[:2] == ["contexts", "pairs"]
    order = in_reading_order((family, part) for family in (LVEVAL, URAQ) for part in family.parts)
    assert [family for family, _ in order] == [LVEVAL] * len(LVEVAL.parts) + [URAQ] * len(URAQ.parts)


async def test_the_page_shows_parts_in_the_order_of_reading(tmp_path: Path) -> None:
    page = await uraq_page(tmp_path)
    assert re.findall(r'<section class="part" id="([a-z-]+)"', page)[:2] == ["uraq-items", "uraq-evaluation"]


@pytest.mark.parametrize("most", [1, 2, 5, 7, 8, 13, 75])
def test_axes_have_names_and_counts_are_whole(most: int) -> None:
    values = {0.5 + number / 7: number + 1 for number in range(most)}
    view = chart_view(Histogram(title="t", series={"a": values}, unit="cosine", counted="options"))
    assert view is not None
    texts = re.findall(r'<text class="(\w+)"[^>]*text-anchor="(\w+)">([^<]*)<', str(view.drawing))
    assert [text for kind, _, text in texts if kind == "unit"] == ["cosine", "options"]
    assert all(text.replace(",", "").isdigit() for kind, anchor, text in texts if (kind, anchor) == ("tick", "end"))


async def test_the_funnel_tells_every_count_and_opens_to_examples(tmp_path: Path) -> None:
    page = text_of(await toy_page(tmp_path, ["ant", "bee", "apple", "two words", "mute", "zebra"]))
    assert "6 planned = 0 kept + 3 dropped + 3 waiting" in page
    assert "1 same first letter 17% dropped collides with text apple ant similarity 1" in page
    assert "1 more than one word 20% text two words" in page
    assert "1 cannot be shouted 20% text mute" in page
    assert "3 records came in, 6 rows were planned of them" in page
    assert "toy words people have reviewed none of 3 records" in page


async def test_the_page_leads_to_that_on_people_s_work_where_it_lies_beside_it(tmp_path: Path) -> None:
    build = toy_build(tmp_path, ["ant"])
    await run_all(build)
    manifest = manifest_of(build, "toy")
    assert '<a href="annotation.html">' in report_page(build, manifest, "annotation.html")
    assert "annotation.html" not in report_page(build, manifest)


async def test_a_reason_shows_five_examples_and_says_out_of_how_many(tmp_path: Path) -> None:
    page = await toy_page(tmp_path, [f"{chr(97 + n)} words" for n in range(20)])
    assert "5 of 20, drawn at random" in page
    assert page.count('<li class="example">') == 5


async def test_foreign_text_stays_text(tmp_path: Path) -> None:
    words = [HOSTILE, f"{HOSTILE}again", f"a {HOSTILE}", "&amp;", "'><img/src=x>"]
    page = await toy_page(tmp_path, words, name=f"</title>{HOSTILE}")
    assert "<script" not in page.lower()
    assert "<img" not in page
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in page
    assert "&amp;amp;" in page


async def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    page = await uraq_page(tmp_path)
    assert not re.search(r"https?:|@import|url\(|<script|\bsrc=", page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


async def test_the_same_build_gives_the_same_page(tmp_path: Path) -> None:
    words = [f"{chr(97 + n % 20)}{n}" for n in range(60)]
    assert await toy_page(tmp_path / "one", words) == await toy_page(tmp_path / "two", words)


async def test_the_page_stays_small_whatever_the_build(tmp_path: Path) -> None:
    words = [chr(0x4E00 + n) + "<&" * 4000 + (" x" if n % 2 else "") for n in range(400)]
    page = await toy_page(tmp_path, words, times=tuple(range(1, 4)))
    assert len(page.encode()) < MANY


async def test_a_build_with_very_many_reasons_opens_the_most_frequent(tmp_path: Path) -> None:
    build = toy_build(tmp_path, ["ant", "a b"])
    await run_all(build)
    manifest = manifest_of(build)
    words = manifest.parts[0]
    stage = words.stages[-1].model_copy(update={"dropped": {f"reason {n:04}": 1 for n in range(300)}, "planned": 301})
    part = words.model_copy(update={"stages": (*words.stages[:-1], stage)})
    page = text_of(report_page(build, manifest.model_copy(update={"parts": (part, *manifest.parts[1:])})))
    assert "270 for 270 rarer reasons" in page


async def test_usage_and_provenance_stand_on_the_page(tmp_path: Path) -> None:
    build = toy_build(tmp_path, ["ant"])
    await run_all(build)
    page = text_of(report_page(build, manifest_of(build, limit=5)))
    assert "toy words shout toy shout 1 0 0 $0.00 0 $0.00 in all 1 0 0 $0.00 0 $0.00" in page
    assert "pilot drawn from each source: 5 records only" in page
    assert "toy.builder rules" in page
    assert "toy/toy_shout 1-00000000" in page
    for family, part in build.parts():
        for ref in build.stages(family, part):
            assert build.fingerprint(ref) in page


async def test_what_people_decided_stands_on_the_page(tmp_path: Path) -> None:
    words = ["ant", "bee", "cow"]
    sifted = toy_build(tmp_path, words)
    await run_all(sifted)
    ant, bee, _ = sifted.accepted("toy", "words")
    decided = {"rubric": "toy-words", "comment": "not an insect"}
    verdicts = {
        ant.key: Verdict(key=ant.key, view_hash=ant.view_hash, decision="reject", **decided),
        bee.key: Verdict(key=bee.key, view_hash="of an earlier state", decision="accept", **decided),
    }
    page = text_of(await toy_page(tmp_path, words, verdicts=verdicts))
    assert "people's verdicts 2 −1 1 rejected by people 33% text ant upper ANT evidence not an insect" in unescape(page)
    assert "1 of 2 verdicts do not count" in page
    assert "3 planned = 0 kept + 1 dropped + 2 waiting" in page


# ---- URAQ's charts and views ----


async def test_uraq_draws_both_sides_of_the_similarity_threshold(tmp_path: Path) -> None:
    build = uraq_build(tmp_path, FACTS)
    await run_all(build)
    charts = charts_of(build, URAQ, URAQ.part("statements"))
    (similarity,) = (one for one in charts if isinstance(one, Histogram) and one.title == "Similarity")
    # "A spider walks on 8 legs." and "A spider walks on 8 long legs." share 6 words: 6 / sqrt(6 * 7) = 0.9258
    assert similarity.series["dropped"] == {0.92582: 1}
    assert sum(similarity.series["kept"].values()) == len(FACTS) - 1
    assert max(similarity.series["kept"]) <= 0.5 == similarity.threshold


async def test_uraq_items_stand_side_by_side(tmp_path: Path) -> None:
    page = text_of(await uraq_page(tmp_path))
    for title in ("Statement length", "Similarity", "Question length", "Hops", "Answer types", "Kinds of step",
                  "Contexts per row", "Place of the relevant context"):  # fmt: skip
        assert title in page
    assert "statement An ordinary shamrock has 3 leaflets." in page
    assert "context counts left out for uraq: 5000" in page
    assert "context-exclusive context-first memory-first" in page
    assert "Nothing here fits &lt;b&gt;any&lt;/b&gt; rule." in page


def test_uraq_lays_out_its_own_items_alone() -> None:
    with pytest.raises(TypeError, match="URAQ has no Word"):
        view(TOY.part("words").item.model_construct(id="", key="k"))


# ---- the file, and a browser ----


def test_without_a_build_there_is_no_report(tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": {}}, store=str(tmp_path / "store"))
    with pytest.raises(NoBuild, match="there is no build here"):
        write_report(Project(config, tmp_path / "out"))


@pytest.fixture(scope="session")
def sample_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a small build by the packaged rules and embedder, with a hostile name and statement."""
    folder = tmp_path_factory.mktemp("report")
    facts = (*FACTS, f"The tag {HOSTILE} runs.", f"The word {'x' * 600} is long.")
    (folder / "facts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in facts))
    source = {"format": "jsonl", "path": "facts.jsonl", "fields": {"text": "text"}}
    settings = {"statements_from": source, "context_counts": [1, 2, 5, 5000], "hops": [2]}
    config = folder / "config.yaml"
    config.write_text(
        json.dumps({"name": f"sample {HOSTILE}", "seed": 7, "store": "store", "families": {"uraq": settings}})
    )
    project = Project(config, folder / "out")
    asyncio.run(run_all(project.build))
    write_output_files(project)
    report = write_report(project)
    assert report == folder / "out" / "report.html"
    assert not [path for path in report.parent.iterdir() if "tmp" in path.name]
    return report


CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map((c) => c / 255)
      .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const under = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest(".skip") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(element.closest("svg") ? style.fill : style.color), light(under(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push([element.outerHTML.slice(0, 120), ratio]);
  }
  return faint;
}"""


@pytest.mark.slow
async def test_the_page_is_legible_in_a_browser(sample_report: Path, browser: Any) -> None:
    for width, height in ((1366, 768), (390, 844)):
        for scheme in ("light", "dark"):
            page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            await is_legible(page, sample_report)
            await page.close()


async def is_legible(page: Any, sample_report: Path) -> None:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(sample_report.as_uri())

    async def overflow() -> int:
        root = "document.documentElement"
        wide: int = await page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        return wide

    assert await overflow() == 0
    example = page.locator(".reasons .example").first
    assert not await example.is_visible()
    await page.locator(".reasons summary").first.focus()
    await page.keyboard.press("Enter")
    assert await example.is_visible()
    for details in await page.locator("details").all():
        if await details.get_attribute("open") is None:
            await details.locator("> summary").click()
    assert await page.locator("details:not([open])").count() == 0
    assert await overflow() == 0
    assert await page.locator("svg .threshold").count() == 1
    assert await page.evaluate(CONTRAST) == []
    assert await page.evaluate("window.pwned") is None
    assert HOSTILE in await page.inner_text("h1")
    assert said == []
    assert asked == [sample_report.as_uri()]


def test_a_table_of_many_lines_is_drawn_as_a_heatmap_for_each_group() -> None:
    lines = [f"{group} / {depth:03}" for group in ("m / one", "m / other") for depth in range(40)]
    frame = pd.DataFrame({"16k": [0.5] * 80, "32k": [*[1.0] * 79, float("nan")]}, index=lines)
    view = table_view("recall", frame)
    assert view.folded
    assert view.chart is not None
    assert view.chart.count("<svg") == 2
    assert view.chart.count("<rect") == 159
    assert "m / other" in view.chart


def test_levels_are_places_on_a_scale() -> None:
    view = table_view("scores", pd.DataFrame({"16k": [1.0], "256k": [0.5]}, index=["m"]))
    assert view.chart is not None
    assert ">256k</text>" in view.chart
    assert not view.folded


def test_scores_in_per_cent_have_two_decimals_and_a_mean_beside_their_curves() -> None:
    frame = pd.DataFrame({"16k": [0.16984, 0.5], "32k": [1.0, float("nan")], "all levels": [0.58492, 0.5]}, ["a", "b"])
    view = table_view("score by dataset", frame, unit="per cent", numbers={"a": [12, 8, 20], "b": [5, 0, 5]})
    assert view.columns == ("16k", "32k", "all levels")
    assert view.rows == (("a", ("16.98", "100.00", "58.49"), "8–20"), ("b", ("50.00", "–", "50.00"), "5"))
    assert view.chart is not None
    assert view.chart.count("<circle") == 3, "the mean is no point of a curve"
    assert ">75</text>" in view.chart


def test_an_interval_stands_in_the_cell_of_what_it_is_about() -> None:
    frame = pd.DataFrame(
        {"turn 1": [5.0, 4.0], "turn 1 low": [4.5, float("nan")], "turn 1 high": [5.0, float("nan")], "Δ": [1.0, 2.0]},
        index=["one", "other"],
    )
    view = table_view("memory", frame, unit="rating")
    assert view.columns == ("turn 1", "Δ")
    assert view.rows == (("one", ("5.00 (4.50 to 5.00)", "1.00"), ""), ("other", ("4.00", "2.00"), ""))
