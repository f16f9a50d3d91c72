"""Cron schedules as Prefect's scheduler reads them: of one that it finds no time for, it makes no run, silently."""

import importlib.util
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import ModuleType

FIELDS = 5


def next_time(schedule: str) -> datetime | None:
    """Return when a schedule comes next, UTC; None if it never does. Raises `ValueError` if it is none."""
    reader = _reader()
    fields = schedule.lower().split()
    # The reader also takes seconds, and draws a field such as `r(1-3)` anew each time that it reads it.
    is_drawn = any(field.startswith(("r", "h")) for field in fields)
    if len(fields) != FIELDS or is_drawn or not reader.croniter.is_valid(schedule):
        raise ValueError('expected five fields, such as "0 3 * * 1": minute, hour, day, month, day of the week')
    try:
        time: datetime = reader.croniter(schedule, datetime.now(UTC)).get_next(datetime)
    except reader.CroniterBadDateError:
        return None
    return time


@cache
def _reader() -> ModuleType:
    """Return the module that Prefect brings; importing Prefect takes seconds, and settles its settings."""
    prefect = importlib.util.find_spec("prefect")
    assert prefect is not None
    assert prefect.origin is not None
    path = Path(prefect.origin).parent / "_vendor/croniter/croniter.py"
    spec = importlib.util.spec_from_file_location("croniter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
