"""The date of the source that a row was made from, where the source states one: documents do."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flows.construct.stages import SOURCE
from flows.project.project import Project
from schemas.source import Passage, Place

Source = tuple[str, str]
"""A source and the id of what stands there."""


def source_dates(project: Project) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a function that gives the latest date of a row's sources, from its values; None if none is known.

    It goes by the places that a row has, or else by those of other rows that rest on the same sources.
    """
    known: dict[Source, str] = {}
    for source, place in _placed(project):
        if place.date is not None:
            known[source] = max(place.date, known.get(source, ""))

    def date_of(row: Mapping[str, Any]) -> str | None:
        places = [place for place in (row.get("place"), *(row.get("places") or ())) if place]
        dates = [place["date"] for place in places if place.get("date")]
        if not dates and known:
            named = (row.get("provenance") or {}).get("sources") or ()
            dates = [known[at] for source in named if (at := (source["source"], source["id"])) in known]
        return max(dates, default=None)

    return date_of


def _placed(project: Project) -> Iterator[tuple[Source, Place]]:
    """Yield what stands in documents, among the records that sources gave and the accepted ones."""
    for family, part in project.build.parts():
        refs = project.build.stages(family, part)
        is_document = any(spec.format == "documents" for _, spec in project.build.named_sources(family, part))
        of_source = [
            ref for ref in refs if is_document and ref.step == SOURCE and project.build.record_type(ref) is Passage
        ]
        fields = part.item.model_fields.keys() & {"place", "places"}
        for ref in (*of_source, *(refs[-1:] if fields else ())):
            for record in project.build.read(ref):
                yield from _places(record)


def _places(record: Any) -> Iterable[tuple[Source, Place]]:
    """Return the sources of a record that stands in documents, each with its place."""
    if isinstance(record, Passage):
        return [((record.source.source, record.source.id), record.place)] if record.place else []
    places = [place for place in (getattr(record, "place", None), *getattr(record, "places", ())) if place]
    sources = record.provenance.sources
    return [((source.source, source.id), place) for source, place in zip(sources, places, strict=False)]
