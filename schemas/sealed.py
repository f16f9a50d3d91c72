"""Records that are files of their own. Each has a checksum of all else in it: a file that was changed is refused."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import model_validator

from schemas.base import Frozen, canonical_json

SEAL = "checksum"
"""The field with it. Files that were written before there was one are read without it."""


class Sealed(Frozen):
    """A record that is refused where its checksum is of other content."""

    @model_validator(mode="before")
    @classmethod
    def _unsealed(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or SEAL not in values:
            return values
        content = {name: value for name, value in values.items() if name != SEAL}
        if values[SEAL] != _checksum(content):
            raise ValueError("not as it was written: its checksum is of other content")
        return content

    def sealed(self, *, indent: bool = False) -> bytes:
        """Return the record as JSON, with the checksum; with `indent`, for people to read."""
        content = self.model_dump(mode="json")
        return orjson.dumps({**content, SEAL: _checksum(content)}, option=orjson.OPT_INDENT_2 if indent else None)


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(content)).hexdigest()
