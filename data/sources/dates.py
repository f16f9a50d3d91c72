"""The days that sources state."""

import datetime
import re

_DATE = re.compile(r"(\d{4})([-/.]?)(\d\d?+)\2(\d\d?+)(?=\d{4}|\D|$)")

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt ]\d\d?:\d\d.*)?", re.ASCII | re.DOTALL)


def iso_date(stated: str) -> str | None:
    """Return the day with which a stated time begins, year first, as `2024-01-31`; None if it begins with none."""
    match = _DATE.match(stated.strip())
    try:
        return datetime.date(*map(int, match.group(1, 3, 4))).isoformat() if match else None
    except ValueError:
        return None


def plain_day(stated: str) -> str | None:
    """Return the day of `2024-01-31`, with or without a time; None if it is anything else."""
    match = _DAY.fullmatch(stated.strip())
    return iso_date(match[1]) if match else None
