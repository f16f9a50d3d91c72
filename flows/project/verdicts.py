"""Reads the files of verdicts."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from data.sources.files import json_lines
from schemas.errors import first_problem
from schemas.verdict import Verdict


def read_verdicts(path: Path) -> Mapping[str, Verdict]:
    """Return the verdicts of a file by key, the last one for each; none if there is no file.

    Raises `SourceError` for a line that is not a verdict.
    """
    verdicts: dict[str, Verdict] = {}
    for row in json_lines(str(path)) if path.exists() else ():
        try:
            verdict = Verdict.model_validate(dict(row.values))
        except ValidationError as error:
            raise row.error(first_problem(error, "the verdict"), "correct the verdict") from error
        verdicts[verdict.key] = verdict
    return verdicts
