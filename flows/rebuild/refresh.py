"""Decides whether a rebuild draws swaps and replacements anew (`release.refresh`), before anything is built.

A draw has the name of the version that it follows, or of its quarter of the year. With `quarterly`, a draw stays for
the quarter in which its first version came out. It is decided once: until a version has it, every rebuild and run goes
on with it, and so does one that was cut off. Rows that people have to see are given the time: while rows of the newest
version wait for them, nothing is drawn anew, for then they would wait for ever.
"""

from dataclasses import dataclass
from pathlib import Path

from data.store import Store
from flows.construct.engine import Part
from flows.project.build_note import decided_draw
from flows.project.output_files import last_manifest
from flows.project.released import draws_of
from flows.project.settings import Config
from flows.release.gate import CHANGED, UNREVIEWED
from flows.release.history import release_date
from flows.release.version import newest
from schemas.base import counted


@dataclass(frozen=True)
class Refresh:
    """The draw of a rebuild."""

    draw: str | None
    """None for the first."""
    told: str | None
    """What is to be said of it: that it is another than that of the last build, or why it is not."""

    @property
    def lines(self) -> list[str]:
        """What is to be said of it, as lines."""
        return [self.told] if self.told else []


def decide_draw(config: Config, out: Path, to: Path) -> Refresh:
    """Return the draw of a rebuild into `out`; `to` has the versions."""
    draws, when = draws_of(Store(config.store), config.name, decided_draw(out)), config.release.refresh
    draw, waits = draws.present, ""
    refreshed = {family.name for family, settings in config.chosen() if any(map(is_refreshed, family.wanted(settings)))}
    if refreshed and draws.newest is not None and not draws.is_new and when != "never":
        if when == "each":
            draw = draws.newest
        elif draws.since is None or _quarter(draws.since) < _quarter(release_date()):
            draw = _quarter(release_date())
        elif draws.since > release_date():
            told = f"this draw came out on {draws.since}, which is after {release_date()}, today; check the clock"
            waits = f"not drawn anew (refresh: {when}): {told}"
        if draw != draws.present and (rows := _waiting(to, draws.newest, refreshed)):
            told = f"people have still to see {counted(rows, 'row')} of version {draws.newest}"
            draw, waits = draws.present, f"not drawn anew (refresh: {when}): {told}"
    built = last_manifest(out)
    if waits or built is None or draw == built.draw:
        return Refresh(draw, waits or None)
    return Refresh(draw, f"swaps and replacements are drawn anew (refresh: {when}), after version {draws.newest}")


def is_refreshed(part: Part) -> bool:
    """Return whether a part has a step that is drawn anew."""
    return any(step.refreshed for step in part.steps)


def _quarter(day: str) -> str:
    return f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}"


def _waiting(to: Path, version: str, families: set[str]) -> int:
    """Return how many rows of these families wait for people in a version, if it is the newest one in `to`."""
    release = newest(to)
    if release is None or release.manifest.version != version:
        return 0
    held_back = [config.held_back for config in release.manifest.configs if config.family in families]
    return sum(reasons.get(why, 0) for reasons in held_back for why in (UNREVIEWED, CHANGED))
