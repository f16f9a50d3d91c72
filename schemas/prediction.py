"""A model's answers to rows, and the tables that scoring makes of them."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from schemas.base import Frozen


class Prediction(Frozen):
    """A model's reply to one row under one variant, or its scores of the row's options."""

    id: str
    variant: str
    prediction: str = Field("", description="The reply; left out where the options are scored")
    scores: Mapping[str, Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        None, description="By option, how likely the model finds it: the highest is its choice"
    )
    failure: str | None = Field(
        None, min_length=1, description="Why the server did not take the prompt; the prediction is empty, not scored"
    )
    cut_off: Literal[True] | None = Field(None, description="Whether the reply ended at its limit of tokens")
    refused: Literal[True] | None = Field(
        None, description="Whether the server marked the reply as the model's refusal to answer"
    )
    prompt_cut: Literal[True] | None = Field(
        None, description="Whether the prompt was cut in its middle to fit into the model's window"
    )
    model: str = "model"
    prompting: str | None = None
    shots: int | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if ("prediction" in self.model_fields_set) == (self.scores is not None):
            raise ValueError("expected a prediction, or scores in its place")
        if self.failure is not None and (self.prediction or self.scores is not None):
            raise ValueError("expected an empty prediction beside a failure")
        return self

    @property
    def group(self) -> str:
        """The model's name in the tables: `name`, `name, cot`, `name, cot, 3 shots`."""
        shots = None if self.shots is None else f"{self.shots} shot{'s' * (self.shots != 1)}"
        return ", ".join(part for part in (self.model, self.prompting, shots) if part)


class TableCell(Frozen):
    """One value of one table; None for a share of nothing."""

    table: str
    row: str
    column: str
    value: float | None
    n: int
