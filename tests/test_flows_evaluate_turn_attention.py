"""Where turns look, by hand, from how much their tokens look at each turn."""

from collections.abc import Sequence

import numpy as np
import pytest

from flows.construct.evaluation import DialogueCases, ReadDialogue
from flows.evaluate.attention import turn_tables, turn_weights
from flows.evaluate.report import table_view
from flows.llm.likelihood import TooLong
from flows.llm.local import TurnsAttended
from flows.llm.model import Said

# <s>, then turn 1 of two tokens and turn 2 of one.
WITH_START = TurnsAttended(
    np.array([0, 1, 1, 2]),
    np.array([[1.0, 0, 0], [0.75, 0.25, 0], [0.5, 0.5, 0], [0.125, 0.625, 0.25]]),
)
WITHOUT = TurnsAttended(np.array([1, 1, 2]), np.array([[0, 1.0, 0], [0, 0.5, 0], [0, 0.75, 0.25]]))
SAID = (Said(role="user", text="Bake."), Said(role="assistant", text="Baked."))


class Looking:
    """A model with a window of so many characters."""

    name = "m"

    def __init__(self, found: TurnsAttended, window: int = 100) -> None:
        self.found, self.window = found, window

    def turns_attended(self, turns: Sequence[Said]) -> TurnsAttended:
        if sum(len(turn.text) for turn in turns) > self.window:
            raise TooLong("too long")
        return self.found


def dialogue(name: str, *texts: str) -> ReadDialogue:
    turns = tuple(Said(role=said.role, text=text) for said, text in zip(SAID, texts, strict=True))
    return ReadDialogue(name, turns, ("q", "a0"))


def test_a_turn_s_weight_is_the_mean_over_its_tokens() -> None:
    # Turn 1 looks at <s> with (0.75 + 0.5) / 2, at itself with (0.25 + 0.5) / 2.
    expected = [[1, np.nan, np.nan], [0.625, 0.375, np.nan], [0.125, 0.625, 0.25]]
    np.testing.assert_array_equal(turn_weights(WITH_START), expected)


def test_where_nothing_stands_before_the_first_turn_there_is_no_line_for_it() -> None:
    nothing = [np.nan] * 3
    np.testing.assert_array_equal(turn_weights(WITHOUT), [nothing, [np.nan, 0.75, np.nan], [np.nan, 0.75, 0.25]])
    (frame,) = turn_tables(Looking(WITHOUT), DialogueCases({"x": [dialogue("d", "a", "b")]}, "")).frames.values()
    assert list(frame.index) == list(frame.columns) == ["q", "a0"]


def test_a_table_has_its_lines_in_the_order_of_the_turns_and_a_cell_as_many_values_as_tokens() -> None:
    found = turn_tables(Looking(WITH_START), DialogueCases({"transient, x": [dialogue("d1", "a", "b")]}, "q is q"))
    assert list(found.frames) == ["attention of m, transient, x"]
    frame = found.frames["attention of m, transient, x"]
    assert list(frame.index) == list(frame.columns) == ["s", "q", "a0"]
    assert [(cell.row, cell.column, cell.value, cell.n) for cell in found.tables] == [
        ("s", "s", 1, 1), ("q", "s", 0.625, 2), ("q", "q", 0.375, 2),
        ("a0", "s", 0.125, 1), ("a0", "q", 0.625, 1), ("a0", "a0", 0.25, 1),
    ]  # fmt: skip
    assert found.notes[0].endswith("; q is q")
    assert found.notes[1] == "attention of m, transient, x: d1, drawn by the run's seed"


def test_of_dialogues_longer_than_the_window_the_next_is_read_and_that_is_said() -> None:
    long, short = dialogue("long", "a" * 90, "b" * 90), dialogue("short", "a", "b")
    cases = DialogueCases({"x": [long, long, short], "y": [long], "z": [short, long]}, "")
    found = turn_tables(Looking(WITH_START), cases)
    assert list(found.frames) == ["attention of m, x", "attention of m, z"]
    assert found.notes[1:] == [
        "attention of m, x: short, drawn by the run's seed, after 2 that are longer than the model's window",
        "attention of m, y: none: of 1 dialogue, each is longer than the model's window",
        "attention of m, z: short, drawn by the run's seed",
    ]
    assert turn_tables(Looking(WITH_START), DialogueCases({}, "")).notes == []


def test_the_drawing_has_a_cell_for_each_turn_that_can_be_looked_at() -> None:
    found = turn_tables(Looking(WITH_START), DialogueCases({"x": [dialogue("d", "a", "b")]}, ""))
    (name,) = found.grids
    view = table_view(name, found.frames[name], heated=True)
    assert view.chart is not None
    assert view.chart.count("<rect") == 6
    assert 'fill-opacity="0.625"><title>a0 at q: 0.625</title>' in view.chart
    # 640 wide without 40 on the left and 12 on the right: a column has 196; a line has 26, the third begins at 24 + 52.
    assert '<rect class="heat" x="236.0" y="76" width="195.0" height="25" fill-opacity="0.625">' in view.chart
    assert view.rows[0] == ("s", ("1.000", "–", "–"), ""), "nobody said over how many it is taken"
    assert view.keyed is None


@pytest.mark.parametrize("turns", [WITH_START, WITHOUT])
def test_no_turn_sees_a_later_one(turns: TurnsAttended) -> None:
    found = turn_weights(turns)
    assert np.isnan(found[np.triu_indices(3, 1)]).all()
