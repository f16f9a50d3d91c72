"""Strangers: people who join by a study's link, and get a code for the platform from which they came.

Three files are in the folder of the local server. `study.json` says what the link offers, and holds the completion
codes; `strangers.txt`, which the server writes, has who joined, and is the only place with their ids at the platform;
`standing.json`, which a push writes, has who gets no more tasks of a benchmark, and why. `page/join.py` is the server's
side of them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from annotation.label_studio.accounts import write_private
from schemas.base import Frozen
from schemas.errors import Failed, WrongInput

STUDY, JOINED, STANDING = "study.json", "strangers.txt", "standing.json"
DOMAIN = "strangers.invalid"
"""Where their accounts have addresses, each under its code; no mail goes there (RFC 2606)."""
Standing = Literal["screened out", "left", "none left"]
"""Why somebody gets no more tasks: not right in practice, no submission for too long, or there was no task for them."""


class Study(Frozen):
    """What the link offers. The codes are the study's secret."""

    study: str = Field(description="Its id at the platform")
    build: str = Field("", description="The name of the build whose tasks its people do; empty in older files")
    most_people: int
    consent: str = Field(description="HTML")
    consent_sha256: str = Field(description="The first digits of that of the text as it was written")
    code: str = Field(repr=False, description="For those who did all their tasks")
    screened_out_code: str = Field("", repr=False, description="For those who did not pass the practice set")


class Stranger(Frozen):
    """Somebody who joined; their id at the platform is not read."""

    code: str = Field(description="`p1`, `p2`, ... in the order in which they agreed")
    study: str
    agreed_at: str = Field(description="ISO 8601")


def address_of(code: str) -> str:
    """Return the address of a stranger's account."""
    return f"{code}@{DOMAIN}"


def open_study(folder: Path, study: Study) -> None:
    """Have the link offer this study."""
    write_private(folder / STUDY, study.model_dump_json())


def study_of(folder: Path) -> Study | None:
    """Return what the link offers now."""
    path = folder / STUDY
    return Study.model_validate_json(path.read_bytes()) if path.exists() else None


def check_own_study(folder: Path, build: str) -> None:
    """Raise `WrongInput` if the server has another build's study: whoever joined it would get this one's tasks too."""
    study = study_of(folder)
    if study is not None and study.build not in ("", build):
        raise WrongInput(
            f"annotation.strangers: the study on this store's Label Studio ({folder}) is that of {study.build}, whose "
            "people would get these tasks too; give this build a `store` of its own"
        )


def strangers(folder: Path) -> list[Stranger]:
    """Return those who joined, in the order in which they did. Raises `Failed` for a damaged file."""
    path = folder / JOINED
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    rows = [row for row in rows if row != [""] and not row[0].startswith("#")]
    if any(len(row) != 5 for row in rows):
        raise Failed(f"{path}: damaged: expected five columns per line; restore a copy")
    return [Stranger(code=code, study=study, agreed_at=at) for code, study, _, at, _ in rows]


def standings(folder: Path, benchmark: str) -> dict[str, Standing]:
    """Return, by code, why people get no more tasks of a benchmark; a pilot is one of its own."""
    return _all_standings(folder).get(benchmark, {})


def write_standings(folder: Path, benchmark: str, standing: Mapping[str, Standing]) -> None:
    """Write down those of a benchmark, as the last: they are what the server's page tells people."""
    others = {name: rest for name, rest in _all_standings(folder).items() if name != benchmark}
    write_private(folder / STANDING, json.dumps({**others, benchmark: dict(sorted(standing.items()))}, indent=1))


def _all_standings(folder: Path) -> dict[str, dict[str, Standing]]:
    path = folder / STANDING
    content: dict[str, dict[str, Standing]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content
