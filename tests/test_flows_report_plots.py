from xml.etree import ElementTree

import pytest

from flows.construct.view import Bars, Histogram
from flows.report.plots import agreement_plot, plots_of
from schemas.annotation import Agreement

HOPS = Bars(title="Hops", counts={"1 step": 30, "2 steps": 10})
LENGTH = Histogram(title="Length", series={"questions": {5: 2, 6: 3}, "answers": {1: 5}}, unit="words", caption="All.")


def texts(content: bytes) -> str:
    return " ".join(ElementTree.fromstring(content).itertext())


def row(question: str, value: float | None, low: float | None = None, high: float | None = None) -> Agreement:
    return Agreement(question=question, measure="kappa", value=value, low=low, high=high, items=40, people=("a1",))


def test_charts_become_files_that_say_whose_they_are() -> None:
    hops, length = plots_of("uraq-items", [HOPS, LENGTH])
    assert (hops.plot.path, length.plot.path) == ("plots/uraq-items-hops-1.svg", "plots/uraq-items-length-2.svg")
    assert (length.plot.config, length.plot.title, length.plot.caption) == ("uraq-items", "Length", "All.")
    assert "30 (75%)" in texts(hops.content)
    assert "10 (25%)" in texts(hops.content)
    assert "questions: 5 from 5 to 6, median 6" in texts(length.content)
    assert "uraq-items: 10" in texts(length.content)


def test_equal_charts_give_equal_bytes() -> None:
    assert plots_of("c", [HOPS, LENGTH]) == plots_of("c", [HOPS, LENGTH])


def test_a_chart_without_a_value_is_left_out() -> None:
    empty = [Bars(title="b", counts={"x": 0}), Histogram(title="h", series={"s": {}}, unit="u")]
    assert plots_of("c", empty) == []
    assert agreement_plot("c", [row("right", None)]) is None
    assert agreement_plot("c", []) is None


def test_of_many_bars_the_most_frequent_are_drawn_and_the_others_as_one() -> None:
    (drawn,) = plots_of("c", [Bars(title="b", counts={f"n{number}": number + 1 for number in range(20)})])
    # the 13 largest are n7 to n19; 1 + 2 + ... + 7 = 28 of 210 are left
    assert "7 others" in texts(drawn.content)
    assert "28 (13%)" in texts(drawn.content)
    assert "n6" not in texts(drawn.content).split()


def test_agreement_is_drawn_with_its_interval() -> None:
    drawn = agreement_plot("uraq", [row("right", 0.62, 0.41, 0.8), row("clear", -0.1), row("none", None)])
    assert drawn is not None
    root = ElementTree.fromstring(drawn.content)
    circles = [float(one.attrib["cx"]) for one in root.iter("{http://www.w3.org/2000/svg}circle")]
    intervals = [one for one in root.iter("{http://www.w3.org/2000/svg}line") if one.get("class") == "interval"]
    assert circles[0] > circles[1]
    assert len(intervals) == 1
    assert float(intervals[0].attrib["x1"]) < circles[0] < float(intervals[0].attrib["x2"])
    assert "0.62 (40)" in texts(drawn.content)


@pytest.mark.parametrize(
    "bad", ["<script>alert(1)</script>", '"><style>x', "a\x00b\u202ec", "&amp;{{x}}%s", "y" * 9_000]
)
def test_hostile_names_are_drawn_as_text(bad: str) -> None:
    drawn = plots_of(bad, [Bars(title=bad, counts={bad: 1}), Histogram(title=bad, series={bad: {1: 1}}, unit="words")])
    for one in drawn:
        root = ElementTree.fromstring(one.content)
        assert {element.tag.partition("}")[2] for element in root.iter()} <= {
            "svg", "style", "rect", "text", "g", "line", "title",
        }  # fmt: skip
        assert one.plot.path.startswith("plots/")
        assert len(one.plot.path) < 100
        assert not set(one.plot.path) - set("abcdefghijklmnopqrstuvwxyz0123456789-_/.")
