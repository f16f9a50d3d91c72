"""What a model answered on a release's rows, and the tables that scoring makes of it."""

from schemas.base import Frozen


class Prediction(Frozen):
    """A model's reply to one row under one variant."""

    id: str
    variant: str
    prediction: str
    model: str = "model"
    prompting: str | None = None
    shots: int | None = None

    @property
    def group(self) -> str:
        """What its tables call the model: `name`, `name, cot`, `name, cot, 3 shots`."""
        shots = None if self.shots is None else f"{self.shots} shot{'s' * (self.shots != 1)}"
        return ", ".join(part for part in (self.model, self.prompting, shots) if part)


class TableCell(Frozen):
    """One value of one table; None where it would be a share of nothing."""

    table: str
    row: str
    column: str
    value: float | None
    n: int
