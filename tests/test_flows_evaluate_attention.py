"""Shares of the chunks that heads point to, by hand, from where they point."""

import numpy as np
import pytest

from flows.construct.evaluation import Chunk, ChunkedText
from flows.evaluate.attention import attention_tables, pointed_shares
from flows.evaluate.report import table_view
from flows.llm.local import Attended

SAID = (("instruction", "Say. "), ("history", "Hi. "), ("response", "Bot:"), ("response", " yes"))
TEXT = ChunkedText("hCHARP", tuple(Chunk(name, said) for name, said in SAID))


class Pointing:
    """Tokens of two characters, and two layers of two heads that point where they are told."""

    name = "m"

    def __init__(self, positions: list[list[list[int]]]) -> None:
        self.positions = np.array(positions)

    def attended(self, text: str, start: int) -> Attended:
        # <s> Sa y. _H i. _B ot :_ ye s: the token ":_" ends behind the cue, and "y." of the instruction before its end
        assert (text, start) == ("Say. Hi. Bot: yes", 13)
        return Attended(np.array([0, 2, 4, 6, 8, 10, 12, 14, 16, 17]), self.positions)


def test_shares_worked_by_hand() -> None:
    # The tokens of the response are 7, 8 and 9. Layer 1: 0, 1, 2 are the instruction, and 3 (" H") and 4 are history.
    model = Pointing([[[0, 1, 3], [3, 4, 7]], [[5, 6, 9], [0, 0, 8]]])
    shares = pointed_shares(model, TEXT)
    assert TEXT.names == ("instruction", "history", "response")
    # layer 2: 5 (" B") is history's last character and the response's first: it belongs to the response
    assert shares == pytest.approx(np.array([[2 / 6, 3 / 6, 1 / 6], [2 / 6, 0, 4 / 6]]))


def test_the_tables_are_means_over_the_items_of_a_group() -> None:
    one, other = np.array([[1.0, 0.0, 0.0]] * 12), np.array([[0.5, 0.25, 0.25]] * 12)
    easy = ChunkedText("eCHARP", TEXT.chunks)
    found = attention_tables("m", [(TEXT, one), (TEXT, other), (easy, other)])
    assert list(found.frames) == ["attention of m, eCHARP", "attention of m, hCHARP"]
    frame = found.frames["attention of m, hCHARP"]
    assert list(frame.columns) == ["instruction", "history", "response"]
    assert [str(row) for row in frame.index[[0, 1, 11]]] == ["layer 01", "layer 02", "layer 12"]
    assert frame.loc["layer 12"].tolist() == pytest.approx([0.75, 0.125, 0.125])
    assert {cell.n for cell in found.tables if "hCHARP" in cell.table} == {2}
    assert found.stacked == set(found.frames)


def test_the_plot_has_a_bar_a_layer_with_the_chunks_one_on_the_other() -> None:
    frame = attention_tables("m", [(TEXT, np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]))]).frames[
        "attention of m, hCHARP"
    ]
    view = table_view("attention", frame, stacked=True)
    assert view.chart is not None
    assert view.chart.count("<rect") == 6
    assert "layer 1: 50.0% instruction" in view.chart
    assert "layer 2: 100.0% instruction" in view.chart
    # From the floor at 204 up: 168 high in all, the instruction half of it.
    assert '<rect class="c0" x="73.2" y="120.0" width="233.6" height="84.0">' in view.chart
    assert '<rect class="c1" x="73.2" y="78.0" width="233.6" height="42.0">' in view.chart
