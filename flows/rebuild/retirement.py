"""Rows that are proposed for retirement: a person decides, by a verdict.

They are those that the last profile found to tell no model from another, and those that people accepted and yet marked:
some rejected them, asked about them, skipped them or left a remark, or what stands on the same source was rejected.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from flows.annotate.work import Collected, collect, read_annotations, works
from flows.construct.engine import Family, Part
from flows.profile.page import FIGURES, read_figures
from flows.profile.terminal import FOLDER
from flows.project.output_files import last_manifest
from flows.project.project import Project
from flows.rebuild.refresh import is_refreshed
from schemas.base import Record, SourceRef, counted
from schemas.verdict import Verdict

SHOWN = 3
"""Marked rows of a kind that are given with their lines."""
REJECTED_BY_SOME = "some rejected, and they were accepted"
ASKED_ABOUT = "somebody has a question about"
REMARKED = "were accepted with a remark"
SKIPPED = "somebody skipped"
ALIKE = "tells no model from another"


def proposed(project: Project) -> Iterator[str]:
    """Yield which rows that are built now might be retired, why, and the verdict that retires one."""
    yield from _alike(project)
    yield from _marked(project)
    yield from _on_rejected_sources(project)


# ---- what tells no model from another ----


def _alike(project: Project) -> Iterator[str]:
    """Yield it for each family; nothing where no profile compared models, or it is of other rows."""
    folder = project.out / FOLDER
    path = folder / FIGURES
    for family in read_figures(folder).get("families", ()):
        alike = family.get("alike")
        if alike is None or family["family"] not in project.build.families:
            continue
        found = dict(_rows(project, family["family"], {*alike["all_right"], *alike["none_right"]}))
        reasons = {
            f"none of {len(family['models'])} models has them right": alike["none_right"],
            f"all {len(family['models'])} models have them right": alike["all_right"],
        }
        counts = [(why, [id_ for id_ in ids if id_ in found]) for why, ids in reasons.items()]
        told = "; ".join(f"{why}: {len(ids):,}" for why, ids in counts if ids)
        items = f"the last profile's {counted(alike['items'], 'item')}"
        if told:
            yield f"{family['family']}: of {items}, these tell no model from another: {told} ({path} lists them)"
            one = found[next(id_ for _, ids in counts for id_ in ids)]
            yield _retires(project, family["family"], *one, alike=found)
        elif gone := len(alike["all_right"]) + len(alike["none_right"]):
            why = _drawn_anew(project, family["family"])
            yield f"{family['family']}: of {items}, these tell no model from another: {gone:,}; none is left{why}"


def _drawn_anew(project: Project, family: str) -> str:
    """Return that a family's rows are due to be drawn anew, if they are."""
    built = last_manifest(project.out)
    if built is None or built.draw == project.draw or not any(map(is_refreshed, _parts(project, family))):
        return ""
    return f": all are due to be drawn anew (refresh: {project.config.release.refresh}), and go without a verdict"


def _rows(project: Project, name: str, ids: set[str]) -> Iterator[tuple[str, tuple[Part, Record]]]:
    """Yield the rows with these ids that models are asked about, with their parts."""
    family = project.build.families[name].family
    for part in _parts(project, name) if ids else ():
        if part.name in family.evaluation.parts:
            for record in project.build.accepted(name, part.name):
                if record.id in ids:
                    yield record.id, (part, record)


# ---- what people marked ----


def _marked(project: Project) -> Iterator[str]:
    """Yield the rows that people accepted, or have not decided yet, and marked in the work of the last pull."""
    for work in works(project):
        annotations = read_annotations(project, work.rubric.name) if work.rubric.decides else ()
        if not annotations:
            continue
        by_part: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        for key, why in _marks(collect(project, work, annotations)):
            if key in work.parts:
                by_part[work.parts[key]][why][key] = None
        for name, reasons in sorted(by_part.items()):
            family, _, part_name = name.partition("-")
            part = project.build.families[family].family.part(part_name)
            marked = {key for keys in reasons.values() for key in keys}
            kept = {record.key: record for record in project.build.accepted(family, part_name) if record.key in marked}
            for why, keys in reasons.items():
                records = [kept[key] for key in keys if key in kept]
                if records:
                    rows = counted(len(records), "row")
                    yield f"{name}: {rows} that {why} (annotations/{work.rubric.name}.jsonl has people's words)"
                yield from (f"  {_line(project, family, part, record)} retires it" for record in records[:SHOWN])


def _marks(collected: Collected) -> Iterator[tuple[str, str]]:
    """Yield the keys of records that people marked as they are now, with why."""
    work = collected.work
    now = {task.id for task in work.tasks}
    did = {(annotation.key, annotation.by) for annotation in collected.settlement.counted}
    for one in collected.disagreements:
        if "reject" in one.decisions:
            yield one.task.item_key, REJECTED_BY_SOME
    for question in collected.questions:
        if question.task in now or question.rubric != work.rubric.name:  # a reviewer's, say
            yield question.item, ASKED_ABOUT
    for verdict in collected.settlement.verdicts:
        if verdict.comment and verdict.decision != "reject":
            yield verdict.key, REMARKED
    for annotation in collected.annotations:
        if annotation.cancelled and annotation.task in now and (annotation.key, annotation.by) not in did:
            yield annotation.item, SKIPPED


def _on_rejected_sources(project: Project) -> Iterator[str]:
    """Yield the rows that stand on a source of which people rejected what another family made."""
    rejected: dict[SourceRef, str] = {}
    for family, part in project.build.parts():
        verdicts = project.build.verdicts(family.name, part.name) if part.people is not None else {}
        if any(verdict.decision == "reject" and not verdict.retired for verdict in verdicts.values()):
            for record in project.build.sifted(family, part):
                if _is_rejected(record, verdicts):
                    rejected |= dict.fromkeys(_sources(record), f"{family.name}-{part.name}")
    for family, part in project.build.parts() if rejected else ():
        if family.evaluation.measures and part.name in family.evaluation.parts:
            yield from _beside_rejected(project, family, part, rejected)


def _beside_rejected(project: Project, family: Family, part: Part, rejected: Mapping[SourceRef, str]) -> Iterator[str]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in project.build.accepted(family.name, part.name):
        where = next((rejected[source] for source in _sources(record) if source in rejected), None)
        if where is not None and where.partition("-")[0] != family.name:
            found[where].append(record)
    for where, records in sorted(found.items()):
        rows = counted(len(records), "row")
        yield f"{family.name}-{part.name}: {rows} on sources of which people rejected what {where} has"
        yield _retires(project, family.name, part, records[0])


def _is_rejected(record: Record, verdicts: Mapping[str, Verdict]) -> bool:
    verdict = verdicts.get(record.key)
    if verdict is None or verdict.retired:  # nothing is wrong with what was retired, nor with its source
        return False
    return verdict.decision == "reject" and verdict.view_hash == record.view_hash


def _sources(record: Record) -> tuple[SourceRef, ...]:
    provenance = getattr(record, "provenance", None)
    return provenance.sources if provenance is not None else ()


# ---- the verdict that retires a row ----


def _retires(project: Project, family: str, part: Part, record: Record, alike: Collection[str] = ()) -> str:
    """Return what retires a row: the line of a verdict on it, or on what people judge of that it is made from.

    `alike` are the ids of rows that tell no model from another: that is then why it is retired.
    """
    judged = _judged(project, family, part, record)
    if judged is None:
        sources = ", ".join(f"{source.source} {source.id}" for source in _sources(record))
        return f"nobody judges what {record.key} is made from: without {sources} it is gone"
    its_part, its_record = judged
    line = _line(project, family, its_part, its_record, retired=ALIKE if alike else "")
    if its_part is part:
        return f"a line such as {line} retires one{_taken(project, family, its_record, alike)}; without it, it stays"
    made_from = f"{its_record.key} in {family}-{its_part.name}, from which {record.key} is made"
    taken = _taken(project, family, its_record, alike)
    return f"a line such as {line} retires one{taken}: it is on {made_from}"


def _taken(project: Project, family: str, record: Record, alike: Collection[str]) -> str:
    """Return how many rows that models are asked about go with a record, as they are made from it."""
    ids, asked = {record.id}, set[str]()
    evaluated = project.build.families[family].family.evaluation.parts
    for part in _parts(project, family):
        for row in project.build.accepted(family, part.name).mentioning(frozenset(ids)):
            if hasattr(row, "provenance") and not ids.isdisjoint(row.provenance.parents):
                ids.add(row.id)
                asked |= {row.id} if part.name in evaluated else set()
    if not asked:
        return ""
    others = len(asked.difference(alike))
    apart = f", {others:,} of which {'is' if others == 1 else 'are'} not among these" if alike else ""
    return f" and takes {counted(len(asked), 'row')} with it{apart}"


def _judged(project: Project, family: str, part: Part, record: Record) -> tuple[Part, Record] | None:
    """Return the record itself if people judge such, or the first of those it is made from that they judge."""
    if part.people is not None:
        return part, record
    names, found = set(record.provenance.parents) if hasattr(record, "provenance") else set(), None
    for other in reversed(_parts(project, family)):
        for parent in project.build.accepted(family, other.name).mentioning(names) if names else ():
            if parent.id in names and other.people is not None:
                found = other, parent
            elif parent.id in names and hasattr(parent, "provenance"):
                names |= set(parent.provenance.parents)
    return found


def _line(project: Project, family: str, part: Part, record: Record, retired: str = "") -> str:
    """Return the verdict that retires a record, and the file that it belongs in."""
    assert part.people is not None
    verdict = Verdict(
        key=record.key, view_hash=record.view_hash, rubric=part.people.rubric.name, decision="reject", retired=retired
    )
    shown = verdict.model_dump_json(include={"key", "view_hash", "rubric", "decision", "retired"})
    return f"{shown} in {project.out / 'verdicts' / f'{family}-{part.name}.jsonl'}"


def _parts(project: Project, family: str) -> list[Part]:
    return [part for of_family, part in project.build.parts() if of_family.name == family]
