"""Writes the difference between versions for people, in Markdown.

Rows are somebody else's words. Whatever comes from them or from a manifest is in a code span, on one line, with
invisible characters written out: it can neither end the span nor run in a page or a terminal.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from data.publish.diff import ConfigDifference, Difference, Pair
from data.publish.folder import CARD, CHANGES, MANIFEST, VERIFICATION_INPUTS
from schemas.base import counted, visible
from schemas.release import Change

TITLE = "# Changelog\n"
FIELDS_SHOWN = 5
"""Fields of a changed row that are shown."""
CONFIGS_NAMED = 3
"""Configurations that a summary names of those of which it says the same."""
COUNTS_NAMED = 5
"""Different numbers of comparable rows that a summary says; the table has all."""
WHOLLY, NOT_AT_ALL = "wholly", "not at all"
GREW = "on all earlier rows, having only grown"
OTHERS_SHOWN = 10
"""Other files that differ and are named."""
FOLLOW = (CARD, "plots/", f"{VERIFICATION_INPUTS}/")
"""Files that follow from others."""
FACTS = {
    "name": "name", "seed": "seed", "pilot": "whether it is a pilot", "models": "models", "prompts": "prompts",
    "allowed_unreviewed": "whether unreviewed rows were let through", "settings": "settings",
    "baselines": "the scores of models",
}  # fmt: skip
"""Field of the manifest -> its name in the changelog."""


def changelog(difference: Difference, version: str, older: str = "") -> str:
    """Return the file: this version's section above those of earlier versions (`older`, the file so far)."""
    below = older.removeprefix(TITLE).strip("\n")
    return f"{TITLE}\n{section(difference, version)}" + (f"\n{below}\n" if below else "")


def section(difference: Difference, version: str) -> str:
    """Return the section on `version`."""
    return "\n".join(_lines(difference, version)) + "\n"


def code(text: str) -> str:
    """Return any text as a code span."""
    shown = visible(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    # One space on either side is not part of a span.
    space = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def summary(difference: Difference) -> str:
    """Return in a sentence how a version differs from the previous one, and how far scores are comparable."""
    if difference.before is None:
        return "The first version."
    before = code(difference.before)
    if difference.bump is None:
        return f"Nothing differs from {before}."
    kind = f"A patch of {before}" if difference.bump == "patch" else f"A {difference.bump} change of {before}"
    configs = sorted(difference.configs, key=lambda config: config.comparable / config.before if config.before else 1)
    partly = [(config.comparable, config.before) for config in configs if 0 < config.comparable < config.before]
    numbers = list(dict.fromkeys(partly))[:COUNTS_NAMED]
    alike = defaultdict[str, list[str]](list)
    for config in configs:
        is_named = (config.comparable, config.before) in numbers
        how = f"on {config.comparable:,} of {config.before:,} rows" if is_named else _comparable(config)
        alike[how].append(config.name)
    if [*alike] == [WHOLLY]:
        return f"{kind}: scores are comparable with those on it."
    if [*alike] == [NOT_AT_ALL]:
        return f"{kind}: no score is comparable with those on it."
    told = "; ".join(f"{_listed(names, CONFIGS_NAMED)} {how}" for how, names in alike.items())
    return f"{kind}. How far scores are comparable with those on it: {told}."


def _comparable(config: ConfigDifference) -> str:
    """Return how far scores on a configuration are comparable, in words that fit several as well."""
    if config.is_new:
        return "new"
    if config.is_gone:
        return "gone"
    if config.comparable == config.before:
        return GREW if config.added else WHOLLY
    return "on some rows" if config.comparable else NOT_AT_ALL


def _listed(names: Sequence[str], most: int) -> str:
    """Return names as code; of many only the first."""
    more = len(names) - most
    return ", ".join(map(code, names[:most])) + (f" and {more} more" if more > 0 else "")


def _lines(difference: Difference, version: str) -> Iterator[str]:
    yield f"## {visible(version)}"
    yield ""
    yield summary(difference)
    differing = [config for config in difference.configs if not config.is_same]
    if differing:
        yield ""
        yield "| configuration | rows added | changed | removed | bookkeeping | unchanged | comparable |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for config in differing:
            name = code(config.name).replace("|", "\\|")
            counts = (config.added, config.changed, config.removed, config.bookkeeping, config.unchanged)
            comparable = "–" if config.is_new else f"{config.comparable:,} of {config.before:,}"
            yield f"| {name} | {' | '.join(f'{count:,}' for count in counts)} | {comparable} |"
    if (same := len(difference.configs) - len(differing)) and difference.before is not None:
        yield ""
        yield f"{counted(same, 'configuration')} without a difference."
    if any(0 < config.comparable < config.before for config in differing):
        yield ""
        yield f"The comparable rows are those that {code(CHANGES)} does not list, or lists as `bookkeeping`."
    for config in differing:
        if (lines := list(_config(config))) and difference.before is not None:
            yield ""
            yield f"### {code(config.name)}"
            yield ""
            yield from lines
    if beside := list(_beside(difference)):
        yield ""
        yield "### Beside the rows"
        yield ""
        yield from beside


def _beside(difference: Difference) -> Iterator[str]:
    """Yield other differences that matter to a reader; of files that follow from others only if they are all."""
    for config in difference.configs:
        if config.licence is not None:
            yield f"- Licence of {code(config.name)}: {_pair(config.licence)}."
    for config in difference.configs:
        if config.held_back:
            counts = (
                f"{now:,} for {code(reason)} (before: {before:,})" for reason, (before, now) in config.held_back.items()
            )
            yield f"- Rows of {code(config.name)} that are held back: {', '.join(counts)}."
    facts = [words for name, words in FACTS.items() if f"{MANIFEST}: {name}" in difference.metadata]
    if facts:
        yield f"- Changed: {', '.join(facts)}; compare {code(MANIFEST)} of both versions."
    # The task of a new or removed configuration comes and goes with it.
    tasks = tuple(f"-{config.name}.yaml" for config in difference.configs if config.is_new or config.is_gone)
    paths = [path for path in difference.metadata if not path.startswith(f"{MANIFEST}: ")]
    by_hand = {name for names in difference.by_hand.values() for name in names}
    acted = [path for path in paths if not path.startswith(FOLLOW) and not path.endswith(tasks) and path not in by_hand]
    others = facts or any(config.licence or config.held_back for config in difference.configs)
    alone = all(config.is_same for config in difference.configs) and not others
    if files := acted or (paths if alone else []):
        yield f"- Files: {_listed(files, OTHERS_SHOWN)}."
    yield from (
        f"- {kind[0].upper()}{kind[1:]}: {_listed(names, OTHERS_SHOWN)}." for kind, names in difference.by_hand.items()
    )


def _config(config: ConfigDifference) -> Iterator[str]:
    if config.is_new:
        yield "- New."
    if config.is_gone:
        yield "- Removed."
    if config.published:
        yield f"- Of the added rows, {config.published:,} were private in the version before."
    yield from (f"- Column {code(name)}: {_pair(pair)}." for name, pair in config.columns.items())
    if config.split is not None:
        yield f"- Split: {_pair(config.split)}."
    if config.is_scored_otherwise:
        yield "- The scorer changed: no score is comparable."
    if config.asked:
        yield f"- A model is asked in another way: no score is comparable. See {', '.join(map(code, config.asked))}."
    yield from (f"- Method, {code(name)}: {_pair(pair)}." for name, pair in config.method.items())
    if config.fields:
        yield f"- Fields that changed, and in how many rows: {_counts(config.fields)}."
    if config.bookkeeping_fields:
        yield f"- Bookkeeping alone changed, and in how many rows: {_counts(config.bookkeeping_fields)}."
    for change in config.examples:
        yield from _example(change)


def _counts(fields: Mapping[str, int]) -> str:
    return ", ".join(f"{code(name)} in {count:,}" for name, count in fields.items())


def _pair(pair: Pair) -> str:
    before, now = pair
    if before is None:
        return f"new, {code(now or '')}"
    if now is None:
        return f"removed, was {code(before)}"
    return f"{code(now)} in place of {code(before)}"


def _example(change: Change) -> Iterator[str]:
    yield f"- For example, row {code(change.key)}:"
    names = list(change.fields)
    for name in names[:FIELDS_SHOWN]:
        before, now = change.fields[name]
        yield f"  - {code(name)}: {_value(before)} became {_value(now)}"
    if (more := len(names) - FIELDS_SHOWN) > 0:
        yield f"  - and {counted(more, 'other field')}"


def _value(value: JsonValue) -> str:
    return code(json.dumps(value, ensure_ascii=False))
