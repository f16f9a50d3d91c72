"""People's decision on a record."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from schemas.base import Frozen

Decision = Literal["accept", "fix", "reject"]

REJECTED = "rejected by people"
RETIRED = "retired"


class Verdict(Frozen):
    """A decision on one record, as it was shown.

    It counts as long as the record under `key` has this `view_hash`: people judged what they saw.
    """

    key: str
    view_hash: str
    rubric: str
    decision: Decision
    changes: Mapping[str, str] = Field(default_factory=dict, description="Field -> corrected text, with `fix`")
    texts: Mapping[str, str] = Field(
        default_factory=dict, description="Texts that are not fields of the record, by name"
    )
    marks: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict, description="By name of what is marked, the spans in their order"
    )
    comment: str = ""
    retired: str = Field(
        "", max_length=100, pattern=r"^[^\n\r|]*$", exclude_if=lambda why: not why,
        description="With `reject`, why a record goes with which nobody found a fault: the release says it, and it is "
        "no rejection by people",
    )  # fmt: skip
    by: str = Field("", description="The person's code, never a name; several who agreed are separated by commas")
    reviewed_by: str = Field("", description="Code of the reviewer, if the work was reviewed")
    at: str = Field("", description="ISO 8601 time")
    posterior: float | None = Field(
        None, ge=0, le=1, exclude_if=lambda value: value is None,
        description="Probability that the decision is right, from people's reliabilities; none where a reviewer "
        "decided, and where nothing is known of them",
    )  # fmt: skip

    @property
    def dropped_for(self) -> str:
        """Why its record is dropped, if it is rejected."""
        return f"{RETIRED}: {self.retired}" if self.retired else REJECTED

    @model_validator(mode="after")
    def _changes_belong_to_a_fix(self) -> "Verdict":
        if bool(self.changes) != (self.decision == "fix"):
            raise ValueError("`changes` go with decision `fix`, and only with it")
        return self

    @model_validator(mode="after")
    def _a_retired_record_is_rejected(self) -> "Verdict":
        if self.retired and self.decision != "reject":
            raise ValueError("`retired` goes with decision `reject` only")
        return self
