"""The date of the source that a row was made from, where the source states one."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from data.seen import Seen
from data.sources.spec import DATE
from flows.construct.stages import SOURCE
from flows.project.project import Project
from schemas.base import HASH_LENGTH, SourceRef, content_hash
from schemas.source import Passage

AT_ONCE = 1024


def source_dates(project: Project) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a function that gives the latest date of a row's sources, from its values; None if none is known.

    It goes by the places that a row has, or else by what is known of its sources: 20 bytes for each that has a date.
    """
    known, dated = Seen(), _dated(project)
    while days := dict(islice(dated, AT_ONCE)):
        before = known.known([*days])
        known.add({source: day for source, day in days.items() if source not in before})

    def date_of(row: Mapping[str, Any]) -> str | None:
        places = [place for place in (row.get("place"), *(row.get("places") or ())) if place]
        dates = [place["date"] for place in places if place.get("date")]
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
        if refs[0].step == SOURCE and any(spec.format == "documents" or DATE in (spec.fields or {}) for spec in specs):
            for record in project.build.read(refs[0]):
                place = record.place if isinstance(record, Passage) else None
                if (date := record.date or (place and place.date)) and record.source is not None:
                    yield _named(record.source, date)
        if part.item.model_fields.keys() & {"place", "places"}:
            for record in project.build.read(refs[-1]):
                places = [place for place in (getattr(record, "place", None), *getattr(record, "places", ())) if place]
                for source, place in zip(record.provenance.sources, places, strict=False):
                    if place.date is not None:
                        yield _named(source, place.date)


def _named(source: SourceRef, date: str) -> tuple[str, str]:
    return content_hash(source.source, source.id), date.replace("-", "").zfill(HASH_LENGTH)


def _date(day: str) -> str:
    """Return a day that is written as a hash."""
    return f"{day[-8:-4]}-{day[-4:-2]}-{day[-2:]}"
