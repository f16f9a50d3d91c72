"""Examples of what a model got wrong, each with its replies: what a person reads before they believe a figure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from flows.construct.engine import Family
from flows.construct.evaluation import Measure
from flows.construct.view import View
from flows.evaluate.rows import RowPlaces
from flows.scoring.values import Value, stored
from schemas.base import content_hash
from schemas.prediction import Prediction

EXAMPLES = 10
LONGEST = 600
"""Characters of a reply or an answer that is shown; of a longer one, its beginning."""


@dataclass(frozen=True)
class Failure:
    """An item on which a model got nothing of a measure."""

    value: Value
    row: str
    """Id of its row, for `touchstone explain`."""
    title: str
    expected: tuple[tuple[str, str], ...]
    """What its answer is: (name, text)."""
    replies: tuple[tuple[str, str], ...]
    """(variant, reply) in the order in which they were asked for."""
    view: View
    """The whole row."""


def failed_values(measures: Sequence[Measure], values: Collection[Value]) -> list[Value]:
    """Return values of 0 under the last condition of the first measure that has some, one for an item.

    They are the first by a hash of the item: of all kinds, and the same for everybody.
    """
    values = stored(values)
    for measure in measures:
        conditions = [kind.at for kind in values.kinds() if kind.measure == measure.name]
        if not conditions or not measure.is_share:
            continue
        first: dict[str, Value] = {}
        """By hash."""
        for value in values.where(measure=measure.name, at=conditions[-1]):
            if value.value == 0:
                first[content_hash(value.item)] = value
                if len(first) > EXAMPLES:
                    del first[max(first)]
        if first:
            return [first[item] for item in sorted(first)]
    return []


def failures(
    family: Family,
    places: RowPlaces,
    predictions: Iterable[Prediction],
    chosen: Sequence[Value],
) -> list[Failure]:
    """Return the examples on the `chosen` values."""
    wanted = {value.row or value.item for value in chosen}
    replies: dict[tuple[str, str], list[Prediction]] = {}
    for prediction in predictions if wanted else ():
        if prediction.id in wanted:
            replies.setdefault((prediction.id, prediction.group), []).append(prediction)
    examples = []
    for value in chosen:
        id_ = value.row or value.item
        view = family.view_of(places.row(id_))
        said = [
            (prediction.variant, _reply(prediction))
            for (row, group), of_group in replies.items()
            if row == id_ and group.startswith(value.group)
            for prediction in of_group
            if not value.variant or prediction.variant == value.variant
        ]
        strong = [
            (line.label, " → ".join(dict.fromkeys(_shortened(cell) for cell in line.cells)))
            for line in view.lines
            if line.strong
        ]
        examples.append(Failure(value, id_, view.title, tuple(strong), tuple(said), view))
    return examples


def _reply(prediction: Prediction) -> str:
    if prediction.scores is not None:
        ranked = sorted(prediction.scores.items(), key=lambda option: -option[1])
        return ", ".join(f"{name} {score:.2f}" for name, score in ranked)
    return _shortened(prediction.prediction.strip()) or "(an empty reply)"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
