"""The date of the source that a row was made from, where the source states one."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from data.seen import Seen
from data.sources.spec import DATE
from flows.construct.stages import SOURCE
from flows.project.project import Project
from schemas.base import HASH_LENGTH, content_hash

AT_ONCE = 1024
_READ = ("source", "provenance", "date", "place", "places")
"""Fields by which the dates of sources are known."""


def source_dates(project: Project) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a function that gives the latest date of a row's sources, from its values; None if none is known.

    It goes by the places that a row has, or else by what is known of its sources: 20 bytes for each that has a date.
    """
    known, dated = Seen(), _dated(project)
    while days := dict(islice(dated, AT_ONCE)):
        before = known.known([*days])
        known.add({source: day for source, day in days.items() if source not in before})

    def date_of(row: Mapping[str, Any]) -> str | None:
        dates = [day for place in _places(row) if (day := place.get("date"))]
        if not dates:
            named = (row.get("provenance") or {}).get("sources") or ()
            names = [content_hash(source["source"], source["id"]) for source in named]
            dates = [_date(day) for name in names if (day := known.get(name)) is not None]
        return max(dates, default=None)

    return date_of


def _dated(project: Project) -> Iterator[tuple[str, str]]:
    """Yield a hash for each record of a source that has a date, and its day as such a hash.

    They are those that sources gave, and those whose place in a document an accepted record has.
    """
    for family, part in project.build.parts():
        refs = project.build.stages(family, part)
        specs = [spec for _, spec in project.build.named_sources(family, part)]
        states_dates = any(spec.format == "documents" or DATE in (spec.fields or {}) for spec in specs)
        dated = [refs[0]] if states_dates and refs[0].step == SOURCE else []
        dated += refs[-1:] if part.item.model_fields.keys() & {"place", "places"} else ()
        for ref in dict.fromkeys(dated):
            for record in project.build.read(ref).columns(_READ):
                yield from _dates(record)


def _dates(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    sources = (record["provenance"] or {}).get("sources") or [record["source"]]
    dates = [record["date"]] if record["date"] else [place.get("date") for place in _places(record)]
    for source, date in zip(sources, dates, strict=False):
        if date is not None:
            yield content_hash(source["source"], source["id"]), date.replace("-", "").zfill(HASH_LENGTH)


def _places(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [place for place in (row.get("place"), *(row.get("places") or ())) if place]


def _date(day: str) -> str:
    """Return a day that is written as a hash."""
    return f"{day[-8:-4]}-{day[-4:-2]}-{day[-2:]}"
