"""Three-way merges: of the last version, what people made of it since, and the new version.

What people changed and the new version did not is kept, and what the new version changed and people did not is taken.
Where both changed the same thing in different ways, it is a conflict, for which what people made of it stands until it
is told: who merges goes on, to tell all conflicts at once. Pure functions.
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
from schemas.errors import WrongInput
from schemas.release import ReleaseManifest

OWN_BEGIN: Final = b"<!-- own words: begin -->"
OWN_END: Final = b"<!-- own words: end -->"
"""The text between the two is the user's, and is carried over from version to version."""
SHOWN: Final = 60
"""Characters of a value that a conflict shows."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C is ten times as fast; a PyYAML that was built without libyaml lacks it."""
_METADATA = re.compile(rb"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)

Sides = tuple[str, str, str]
"""Where a value is that people wrote, where the other value is, and what to do."""
WITH_VERSION: Final[Sides] = ("here", "in the new version", "put it back here as it was, and the new value comes")
BOTH_BY_HAND: Final[Sides] = ("on the Hub", "in the folder of the last version", "write the same value in both")

T = TypeVar("T")


class Conflict(Exception):  # noqa: N818 - names what happened
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
            f"and `{OWN_END.decode()}` after them"
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


def merge_metadata(
    last: Mapping[str, Any], theirs: Mapping[str, Any], new: Mapping[str, Any], sides: Sides
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the merged metadata, and key -> a line on its conflict; what people wrote (`theirs`) stands there.

    Lists are merged by their items: what either side added is there, and what either took out is not.
    """
    merged, conflicts = dict[str, Any](), dict[str, str]()
    for key in dict.fromkeys((*new, *theirs)):
        try:
            value = _merge_value(key, last.get(key), theirs.get(key), new.get(key), sides)
        except Conflict as error:
            conflicts[key] = str(error)
            value = theirs.get(key)
        if value is not None:
            merged[key] = value
    return merged, conflicts


def _merge_value(key: str, last: Any, theirs: Any, new: Any, sides: Sides) -> Any:
    try:
        return merge(last, theirs, new)
    except Conflict:
        lists = (last or [], theirs, new)
        if all(isinstance(value, list) for value in lists) and not _replaced_alike(*lists):
            return _merge_items(*lists)
        theirs_by, new_by, advice = sides
        raise Conflict(
            f"{CARD}: `{visible(key)}` was {_shown(last)}, is now {_shown(theirs)} {theirs_by} and "
            f"{_shown(new)} {new_by}; {advice}"
        ) from None


def _replaced_alike(last: Sequence[Any], theirs: Sequence[Any], new: Sequence[Any]) -> bool:
    """Return whether both sides took an item out and put others in: each may have put them in its place."""
    taken_out_twice = any(item not in theirs and item not in new for item in last)
    return taken_out_twice and all(any(item not in last for item in side) for side in (theirs, new))


def _merge_items(last: Sequence[Any], theirs: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    kept = [item for item in new if item in theirs or item not in last]
    return [*kept, *(item for item in theirs if item not in new and item not in last)]


def merge_words(last: bytes | None, theirs: bytes | None, new: bytes | None) -> bytes | None:
    """Return the merged own words. Raises `Conflict`."""
    texts = [(words or b"").strip() for words in (last, theirs, new)]
    try:
        return new if merge(*texts) == texts[2] else theirs or b"\n\n"
    except Conflict:
        raise Conflict(
            f"{CARD}: your own words were changed on the Hub, and otherwise in the folder of the last version; "
            "write the same in both"
        ) from None


def refuse_edited_text(last: str, theirs: Card) -> None:
    """Raise `Conflict` if the text that a release writes (`last`) was edited: it is written anew in each version."""
    if theirs.text != last:
        raise Conflict(
            f"{CARD}: its text was edited outside your own words; put your text between `{OWN_BEGIN.decode()}` and "
            f"`{OWN_END.decode()}`, and the rest back as it was"
        )


def keeps_card(last: Card, made: Mapping[str, Any], theirs: Card, new: Card) -> bool:
    """Return whether the new version's card has all that people changed in the last version's (`theirs`).

    `made` is the last version's metadata as Touchstone made it. Raises `Conflict`.
    """
    refuse_edited_text(last.text, theirs)
    changed = [
        key for key in {**last.metadata, **theirs.metadata} if last.metadata.get(key) != theirs.metadata.get(key)
    ]
    merged = (
        _merge_value(key, made.get(key), theirs.metadata.get(key), new.metadata.get(key), WITH_VERSION)
        for key in changed
    )
    return (merge_words(last.words, theirs.words, new.words) or b"").strip() == (new.words or b"").strip() and all(
        value == new.metadata.get(key) for key, value in zip(changed, merged, strict=True)
    )


def _shown(value: Any) -> str:
    text = "none" if value is None else visible(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
