"""The difference between versions as people read it, in Markdown.

Rows are somebody else's words. Whatever comes from them, or from a manifest, stands in a code span, on one line,
with invisible characters written out: it can neither end the span nor run in a page or a terminal.
"""

import json
import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from data.publish.diff import ConfigDifference, Difference, Pair
from data.publish.folder import CARD, MANIFEST, VERIFICATION_INPUTS
from data.publish.row_diff import field_of
from schemas.base import visible
from schemas.release import Change

TITLE = "# Changelog\n"
FIELDS_SHOWN = 5
"""Of a changed row."""
OTHERS_SHOWN = 10
"""Files beside the rows that differ."""
FOLLOW = (CARD, "plots/", f"{VERIFICATION_INPUTS}/")
"""Files that follow from rows and the rest."""
FACTS = {
    "name": "name", "seed": "seed", "pilot": "whether it is a pilot", "models": "models", "prompts": "prompts",
    "allowed_unreviewed": "whether unreviewed rows were let through", "settings": "settings",
}  # fmt: skip
"""What the manifest says of all rows -> in words."""


def changelog(difference: Difference, version: str, older: str = "") -> str:
    """The file: this version's section, above those of the versions before (`older`, the file as it was)."""
    below = older.removeprefix(TITLE).strip("\n")
    return f"{TITLE}\n{section(difference, version)}" + (f"\n{below}\n" if below else "")


def section(difference: Difference, version: str) -> str:
    """What is new in `version`."""
    return "\n".join(_lines(difference, version)) + "\n"


def code(text: str) -> str:
    """The text as a code span, whatever is in it."""
    shown = visible(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    # One space on either side is no part of a span.
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def _lines(difference: Difference, version: str) -> Iterator[str]:
    yield f"## {version}"
    yield ""
    yield _summary(difference)
    differing = [one for one in difference.configs if not one.is_same]
    if differing:
        yield ""
        yield "| configuration | rows added | changed | removed | unchanged |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        for one in differing:
            name = code(one.name).replace("|", "\\|")
            yield f"| {name} | {one.added:,} | {one.changed:,} | {one.removed:,} | {one.unchanged:,} |"
    if (same := len(difference.configs) - len(differing)) and difference.before is not None:
        yield ""
        yield f"{same} configuration{'' if same == 1 else 's'} without a difference."
    for one in differing:
        if (told := list(_config(one))) and difference.before is not None:
            yield ""
            yield f"### {code(one.name)}"
            yield ""
            yield from told
    if beside := list(_beside(difference)):
        yield ""
        yield "### Beside the rows"
        yield ""
        yield from beside


def _beside(difference: Difference) -> Iterator[str]:
    """What else a reader may act on. What follows from the rest (card, plots, proof) is told where nothing else is."""
    for one in difference.configs:
        if one.licence is not None:
            yield f"- Licence of {code(one.name)}: {_pair(one.licence)}."
    for one in difference.configs:
        if one.held_back:
            counts = (
                f"{now:,} for {code(reason)} (before: {before:,})" for reason, (before, now) in one.held_back.items()
            )
            yield f"- Rows of {code(one.name)} that are held back: {', '.join(counts)}."
    facts = [words for name, words in FACTS.items() if f"{MANIFEST}: {name}" in difference.metadata]
    if facts:
        yield f"- Other than before: {', '.join(facts)}; {code(MANIFEST)} of either version tells what."
    # The task of a configuration that is new or gone comes and goes with it.
    own = tuple(f"-{one.name}.yaml" for one in difference.configs if one.is_new or one.is_gone)
    paths = [path for path in difference.metadata if not path.startswith(f"{MANIFEST}: ")]
    acted = [path for path in paths if not path.startswith(FOLLOW) and not path.endswith(own)]
    told = facts or any(one.licence or one.held_back for one in difference.configs)
    alone = difference.bump == "patch" and not told
    if files := acted or (paths if alone else []):
        more = len(files) - OTHERS_SHOWN
        yield f"- Files: {', '.join(map(code, files[:OTHERS_SHOWN]))}{f' and {more} more' if more > 0 else ''}."


def _summary(difference: Difference) -> str:
    if difference.before is None:
        return "The first version."
    before = code(difference.before)
    if difference.bump is None:
        return f"Nothing differs from {before}."
    if difference.bump == "patch":
        return f"A patch of {before}: the rows are the same."
    if difference.comparable:
        return f"A {difference.bump} change of {before}, whose rows are all here unchanged: results on them compare."
    return f"A {difference.bump} change of {before}: results on the whole do not compare with those on {before}."


def _config(one: ConfigDifference) -> Iterator[str]:
    if one.is_new:
        yield "- New."
    if one.is_gone:
        yield "- No longer there."
    yield from (f"- Column {code(name)}: {_pair(pair)}." for name, pair in one.columns.items())
    if one.split is not None:
        yield f"- Split: {_pair(one.split)}."
    yield from (f"- Method, {code(name)}: {_pair(pair)}." for name, pair in one.method.items())
    if one.fields:
        counts = (f"{code(name)} in {one.fields[name]:,}" for name in _telling(one.fields))
        yield f"- Fields that changed, and in how many rows: {', '.join(counts)}."
    for change in one.examples:
        yield from _example(change)


def _pair(pair: Pair) -> str:
    before, now = pair
    if before is None:
        return f"new, {code(now or '')}"
    if now is None:
        return f"no longer there, was {code(before)}"
    return f"{code(now)} in place of {code(before)}"


def _example(change: Change) -> Iterator[str]:
    yield f"- For example, row {code(change.key)}:"
    names = _telling(change.fields)
    for name in names[:FIELDS_SHOWN]:
        before, now = change.fields[name]
        yield f"  - {code(name)}: {_value(before)} became {_value(now)}"
    if (more := len(names) - FIELDS_SHOWN) > 0:
        yield f"  - and {more} other field{'' if more == 1 else 's'}"


def _telling(fields: Iterable[str]) -> list[str]:
    """The fields without `id` and `provenance`, which are others whenever the content is."""
    return [name for name in fields if field_of(name) not in ("id", "provenance")] or list(fields)


def _value(value: JsonValue) -> str:
    return code(json.dumps(value, ensure_ascii=False))
