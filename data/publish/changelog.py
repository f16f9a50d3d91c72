"""The difference between versions as people read it, in Markdown.

Rows are somebody else's words. Whatever comes from them, or from a manifest, stands in a code span, on one line,
with invisible characters written out: it can neither end the span nor run in a page or a terminal.
"""

import json
import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from data.publish.diff import ConfigDifference, Difference, Pair
from schemas.base import visible
from schemas.release import Change

TITLE = "# Changelog\n"
FIELDS_SHOWN = 5
"""Of a changed row."""
OTHERS_SHOWN = 10
"""Of what else differs."""


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
    if difference.metadata:
        yield ""
        more = len(difference.metadata) - OTHERS_SHOWN
        others = ", ".join(map(code, difference.metadata[:OTHERS_SHOWN]))
        yield f"Beside the rows: {others}{f' and {more} more' if more > 0 else ''}."


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
    return [name for name in fields if name not in ("id", "provenance")] or list(fields)


def _value(value: JsonValue) -> str:
    return code(json.dumps(value, ensure_ascii=False))
