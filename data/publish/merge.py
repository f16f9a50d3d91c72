"""Three-way merges: of the last version, what people made of it since, and the new version.

What people changed and the new version did not is kept, and what the new version changed and people did not is taken.
Where both changed the same thing in different ways, it is a `Conflict`, and nothing is merged. Pure functions.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, TypeVar

import yaml

from data.publish.folder import CARD, MANIFEST
from schemas.base import visible
from schemas.errors import Stopped, WrongInput
from schemas.release import ReleaseManifest

OWN_BEGIN: Final = b"<!-- own words: begin -->"
OWN_END: Final = b"<!-- own words: end -->"
"""The text between the two is the user's, and is carried over from version to version."""
SHOWN: Final = 60
"""Characters of a value that a conflict shows."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C is ten times as fast; a PyYAML that was built without libyaml lacks it."""
_METADATA = re.compile(rb"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)

T = TypeVar("T")


class Conflict(Stopped):
    """People and the new version changed the same thing in different ways."""


def merge(last: T, theirs: T, new: T) -> T:
    """Return the merged value; where a thing does not exist, it is None. Raises `Conflict`."""
    if theirs in (last, new):
        return new
    if new == last:
        return theirs
    raise Conflict


# ---- files ----


@dataclass(frozen=True)
class Changes:
    """The paths at which a branch differs from the last version on it."""

    edited: Sequence[str] = ()
    deleted: Sequence[str] = ()
    added: Sequence[str] = ()
    """Files that are in no version of ours."""


def changes(version: ReleaseManifest | None, last: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """Return how people changed the branch since `version`; without one, everything on it is theirs.

    `last` and `now` are path -> digest of the files at the version's commit and at the head.
    """
    ours = {MANIFEST, *(file.path for file in version.files)} if version else set[str]()
    return Changes(
        edited=[path for path in sorted(ours & now.keys()) if now[path] != last.get(path)],
        deleted=sorted(ours & last.keys() - now.keys()),
        added=sorted(now.keys() - ours),
    )


# ---- the card ----


@dataclass(frozen=True)
class Card:
    """The parts of a README.md."""

    metadata: Mapping[str, Any]
    text: str
    """SHA-256 of the text without the user's own words."""
    words: bytes | None
    """The user's own words; None if there is no section for them."""


def read_card(content: bytes) -> Card:
    """Return the parts of a README.md. Raises `WrongInput` if its YAML or a marker is broken: edits would be lost."""
    header, text = split_metadata(content)
    try:
        metadata = read_yaml((header or b"").decode()) or {}
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongInput(f"{CARD}: its YAML cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(metadata, dict) or not all(isinstance(key, str) for key in metadata):
        raise WrongInput(f"{CARD}: its YAML is no mapping of names to values; correct it")
    words = own_words(text)
    ours = text if words is None else text.replace(OWN_BEGIN + words + OWN_END, b"")
    lines = b"\n".join(line.rstrip() for line in ours.strip().splitlines())  # an editor may change the ends of lines
    return Card(metadata, sha256(lines).hexdigest(), words)


def read_yaml(text: str | bytes) -> Any:
    """Return what a YAML document says. Raises `yaml.YAMLError`."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - both are safe


def split_metadata(content: bytes) -> tuple[bytes | None, bytes]:
    """Return the YAML between the first two lines of `---`, None without it, and the text below."""
    match = _METADATA.match(content)
    return (match[1], content[match.end() :]) if match else (None, content)


def own_words(readme: bytes) -> bytes | None:
    """Return the text of the user's own section; None if there is no such section.

    Raises `WrongInput` if only one of its markers is there, because the text would be lost.
    """
    start, end = readme.find(OWN_BEGIN), readme.rfind(OWN_END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start:
        raise WrongInput(
            f"{CARD}: one of the two comments around your own words is missing; put `{OWN_BEGIN.decode()}` before "
            f"and `{OWN_END.decode()}` after them, then release again"
        )
    return readme[start + len(OWN_BEGIN) : end]


def with_words(content: bytes, words: bytes) -> bytes:
    """Return a card with other own words."""
    # Nothing else in a card can look like a marker: what comes from data has its angle brackets escaped.
    head, _, rest = content.partition(OWN_BEGIN)
    return head + OWN_BEGIN + words + OWN_END + rest.partition(OWN_END)[2]


def written(metadata: Mapping[str, Any]) -> str:
    """Return the metadata as YAML."""
    text: str = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True)
    return text.strip()


def merge_metadata(last: Mapping[str, Any], theirs: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merged metadata, key by key; of two lists that only grew, with what was added to either.

    Raises `Conflict`.
    """
    keys = dict.fromkeys((*new, *theirs))
    values = {key: _merge_value(key, last.get(key), theirs.get(key), new.get(key)) for key in keys}
    return {key: value for key, value in values.items() if value is not None}


def _merge_value(key: str, last: Any, theirs: Any, new: Any) -> Any:
    try:
        return merge(last, theirs, new)
    except Conflict:
        lists = (last or [], theirs, new)
        if all(isinstance(value, list) for value in lists) and all(item in theirs and item in new for item in lists[0]):
            return [*new, *(item for item in theirs if item not in new)]
        raise Conflict(
            f"{CARD}: `{visible(key)}` was changed from {_shown(last)} to {_shown(theirs)} by hand and to "
            f"{_shown(new)} by the new version; give it the first or the last of these values, then run again"
        ) from None


def merge_words(last: bytes | None, theirs: bytes | None, new: bytes | None) -> bytes | None:
    """Return the merged own words. Raises `Conflict`."""
    texts = [(words or b"").strip() for words in (last, theirs, new)]
    try:
        return new if merge(*texts) == texts[2] else theirs or b"\n\n"
    except Conflict:
        raise Conflict(
            f"{CARD}: your own words differ on the Hub and in the folder; write them in one of the two as they should "
            "be, and in the other as they were, then run again"
        ) from None


def refuse_edited_text(last: str, theirs: Card) -> None:
    """Raise `Conflict` if the text that a release writes (`last`) was edited: it is written anew in each version."""
    if theirs.text != last:
        raise Conflict(
            f"{CARD}: its text was edited outside your own words; put your text between `{OWN_BEGIN.decode()}` and "
            f"`{OWN_END.decode()}`, and the rest back as it was, then run again"
        )


def keeps_card(last: Card, made: Mapping[str, Any], theirs: Card, new: Card) -> bool:
    """Return whether the new version's card has all that people changed in the last version's (`theirs`).

    `made` is the last version's metadata as Touchstone made it. Raises `Conflict`.
    """
    refuse_edited_text(last.text, theirs)
    changed = [
        key for key in {**last.metadata, **theirs.metadata} if last.metadata.get(key) != theirs.metadata.get(key)
    ]
    merged = (_merge_value(key, made.get(key), theirs.metadata.get(key), new.metadata.get(key)) for key in changed)
    return (merge_words(last.words, theirs.words, new.words) or b"").strip() == (new.words or b"").strip() and all(
        value == new.metadata.get(key) for key, value in zip(changed, merged, strict=True)
    )


def _shown(value: Any) -> str:
    text = "none" if value is None else visible(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
