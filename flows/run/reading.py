"""Reads a finished build: a sample of its rows, the history of one row, and the verification of all rows."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.rule import Rule
from rich.status import Status

from data.checksum import checksum
from data.sources import read_source
from flows.construct.engine import Family, Part
from flows.construct.part_sources import opened
from flows.construct.people import in_words
from flows.construct.settings import sources_of
from flows.construct.stages import PEOPLE, StageRef
from flows.project.console import make_console
from flows.project.output_files import accepted_rows, open_build, verify_context
from flows.project.project import Project
from schemas.base import Dropped, Record, as_lines, counted, visible
from schemas.errors import Failed, WrongInput, nearest
from schemas.verdict import Verdict

FAULTS_SHOWN = 20


def family_and_part(project: Project, name: str) -> tuple[Family, Part]:
    """Return the family and part that `FAMILY-PART` names; `FAMILY` alone gives the part a person reads first."""
    parts = {f"{family.name}-{part.name}": (family, part) for family, part in project.build.parts()}
    mains = {family.name: (family, part) for family, part in parts.values()}
    mains |= {family.name: (family, part) for family, part in parts.values() if part.name == family.reads}
    named = parts.get(name) or mains.get(name)
    if named is None:
        raise WrongInput(f"{name}: no such part; {nearest(name, [*parts, *mains])}")
    return named


def show_sample(name: str, count: int, seed: int, out: Path | None) -> None:
    """Print a seeded sample of a part's accepted records."""
    console = make_console()
    project = open_build(out, console, stages=False)
    family, part = family_and_part(project, name)
    built = project.manifest.part(family.name, part.name)
    total = sum(file.rows for file in built.files if file.path.startswith("accepted/")) if built else 0
    places = set(random.Random(seed).sample(range(total), min(count, total)))
    shown = 0
    for place, record in enumerate(accepted_rows(project, family.name, part) if places else ()):
        if place in places:
            shown += 1
            console.print(Rule(f"{shown} of {len(places)} · {escape(record.id)}", style="dim"))
            console.print(Markdown(as_lines(family.view_of(record).in_markdown())))
    if not places:
        reasons: Counter[str] = Counter()
        for step in (built.dropped if built else {}).values():
            reasons.update(step)
        why = max(sorted(reasons), key=reasons.__getitem__, default="")
        most = f"; dropped: {reasons[why]:,} for {why} (`touchstone explain`, {project.out}/report.html)" if why else ""
        console.print(f"{family.name}-{part.name}: no accepted records{most}", soft_wrap=True, markup=False)


def explain_record(name: str, out: Path | None) -> None:
    """Print a record's whole history: its sources, the steps it went through, and the records made from it."""
    console = make_console()
    project = open_build(out, console)
    stages, made_of = _history(project, name)
    if not stages:
        raise WrongInput(f"{name}: no record of this build has this id or key; ids stand in accepted/ and dropped/")
    for id_, passed in stages.items():
        for place, (family, ref, record) in enumerate(passed):
            if isinstance(record, Dropped):
                _explain_dropped(console, project, ref, record, told=place > 0)
            else:
                _explain_kept(console, project, family, ref, record, told=place > 0)
        for ref, number in made_of[id_].items():
            console.print(f"made of {id_}: {counted(number, 'record')} in {ref}", markup=False)


Passed = Mapping[str, Sequence[tuple[Family, StageRef, Record | Dropped]]]
"""Id of a record -> the stages that kept or dropped it."""


def _history(project: Project, name: str) -> tuple[Passed, Mapping[str, Mapping[StageRef, int]]]:
    """Return the records that have this id or key, and id -> in which stages how many records are made of it."""
    stages: dict[str, list[tuple[Family, StageRef, Record | Dropped]]] = {}
    made_of: dict[str, Counter[StageRef]] = defaultdict(Counter)
    for family, part in project.build.parts():
        for ref in project.build.stages(family, part):
            stage, names = project.build.read(ref), {name, *stages}
            for record in stage.mentioning(names):
                if name in (record.id, record.key):
                    stages.setdefault(record.id, []).append((family, ref, record))
                for parent in getattr(getattr(record, "provenance", None), "parents", ()):
                    made_of[parent][ref] += 1
            for dropped in stage.dropped(names):
                if name in (dropped.item_id, dropped.key):
                    stages.setdefault(dropped.item_id, []).append((family, ref, dropped))
    return stages, made_of


def _explain_kept(
    console: Console, project: Project, family: Family, ref: StageRef, record: Record, *, told: bool
) -> None:
    """Print a stage's record; `told` if an earlier stage had the same record, whose details were printed then."""
    manifest = project.build.manifest(ref)
    assert manifest is not None
    console.print(Rule(f"{ref} · kept", style="green", align="left"))
    console.print(
        f"id {record.id} · key {record.key} · stage {manifest.fingerprint} (version {manifest.version})", markup=False
    )
    verdict = project.build.verdicts(ref.family, ref.part).get(record.key) if ref.step == PEOPLE else None
    if verdict is not None and _applied(verdict, record):
        _explain_verdict(console, verdict)
    provenance = getattr(record, "provenance", None)
    if told:
        return
    if provenance is None:
        console.print(as_lines(_text_of(record)), markup=False)
        source = getattr(record, "source", None)
        if source is not None:
            console.print(
                visible(f"source: {source.source}, {source.id}, licence {source.licence or 'not stated'}"), markup=False
            )
        return
    console.print(Panel(Markdown(as_lines(family.view_of(record).in_markdown()))))
    for source in provenance.sources:
        console.print(
            visible(f"source: {source.source}, {source.id}, licence {source.licence or 'not stated'}"), markup=False
        )
    for prompt in provenance.prompts:
        console.print(f"asked: {prompt.name} {prompt.version} of {prompt.role} ({prompt.model})", markup=False)
    console.print(f"seed: {provenance.seed}")
    for note in provenance.notes:
        console.print(as_lines(f"note: {note}"), markup=False)
    for parent in _parents(project, provenance.parents):
        console.print(f"made from {parent.id}:", markup=False)
        console.print(as_lines(f"  {_text_of(parent)}"), markup=False)


def _explain_dropped(console: Console, project: Project, ref: StageRef, dropped: Dropped, *, told: bool) -> None:
    """Print why a stage dropped a record, and what it was unless that was `told`."""
    console.print(Rule(f"{ref} · dropped", style="red", align="left"))
    console.print(f"id {dropped.item_id} · key {dropped.key}", markup=False)
    measured = "" if dropped.value is None else f" ({round(dropped.value, 3):.10g})"
    console.print(f"reason: {dropped.reason}{measured}", markup=False)
    verdict = project.build.verdicts(ref.family, ref.part).get(dropped.key) if ref.step == PEOPLE else None
    if verdict is not None and verdict.decision == "reject":
        _explain_verdict(console, verdict)
    if dropped.evidence:
        console.print(as_lines(f"evidence: {dropped.evidence}"), markup=False)
    for related in _parents(project, [dropped.related_id] if dropped.related_id else []):
        console.print(as_lines(f"related: {related.id} {_text_of(related)}"), markup=False)
    if told:
        return
    arrived = (project.build.read(before).mentioning([dropped.item_id]) for before in project.build.before(ref))
    before = next((record for records in arrived for record in records if record.id == dropped.item_id), None)
    if before is not None:
        console.print(as_lines(f"it was: {_text_of(before)}"), markup=False)


def _applied(verdict: Verdict, record: Record) -> bool:
    """Return whether a verdict made a kept record what it is: one on an earlier view of it did not."""
    if verdict.decision == "accept":
        return verdict.view_hash == record.view_hash
    return bool(verdict.changes) and all(
        in_words(getattr(record, name)) == text for name, text in verdict.changes.items()
    )


def _explain_verdict(console: Console, verdict: Verdict) -> None:
    reviewed = f", reviewed by {verdict.reviewed_by}" if verdict.reviewed_by else ""
    sure = "" if verdict.posterior is None else f", right with a probability of {verdict.posterior:.0%}"
    by = verdict.by or "an unnamed person"
    console.print(visible(f"decided by {by}{reviewed} (rubric {verdict.rubric}){sure}"), markup=False)


def _text_of(record: Record) -> str:
    """Return the text by which a reader recognises the record."""
    names = ("text", "original", "question", "response")
    return next((str(text) for name in names if (text := getattr(record, name, None))), "")


def _parents(project: Project, ids: Iterable[str]) -> Iterator[Record]:
    """Yield the records of the build that have these ids, the first of each."""
    wanted = set(ids)
    for family, part in project.build.parts():
        for ref in project.build.stages(family, part):
            for record in project.build.read(ref).mentioning(tuple(wanted)) if wanted else ():
                if record.id in wanted:
                    wanted.discard(record.id)
                    yield record


def verify_build(name: str | None, out: Path | None, sources: Path | None = None) -> None:
    """Run the verifier of a family, or of all families, over the accepted rows in the output folder.

    With a configuration as `sources`, its sources are read again and the rows are checked against them as well.
    Raises `Failed` if there are faults.
    """
    console = make_console()
    project = open_build(out, console, stages=False)
    names = (
        [project.family(name).name] if name else list(dict.fromkeys(family.name for family, _ in project.build.parts()))
    )
    faults = 0
    for family in names:
        with console.status(f"looking at the files of {family} ...") as status:
            faults += _verify_parts(project, family, sources, console, status)
    if faults:
        raise Failed(f"{counted(faults, 'fault')} in {project.out}: what is named above is not what it claims to be")


def _verify_parts(project: Project, name: str, sources: Path | None, console: Console, status: Status) -> int:
    """Print the faults of the family's files and rows, part by part. Returns their number."""
    total = 0
    for fault_of_file in _file_faults(project, name):
        total += 1
        console.print(f"[red]✗[/] {escape(fault_of_file)}", soft_wrap=True)
    for family, part in project.build.parts():
        if family.name != name:
            continue
        status.update(f"proving the rows of {name}-{part.name} ...")
        rows = 0

        def accepted(part: Part = part) -> Iterator[Any]:
            nonlocal rows
            for row in accepted_rows(project, name, part):
                rows += 1
                yield row

        context = verify_context(project, family)
        faults = 0
        faults_found = part.verify(accepted(), context)
        if sources is not None and part.against is not None:
            read_again = _read_again(sources, project, family, part)
            against = part.against(accepted_rows(project, name, part), read_again, context)
            faults_found = chain(faults_found, against)
        for fault in faults_found:
            faults += 1
            if faults <= FAULTS_SHOWN:
                console.print(f"[red]✗[/] {name}-{part.name} {escape(as_lines(f'{fault.id}: {fault.problem}'))}")
        if faults > FAULTS_SHOWN:
            console.print(f"  and {faults - FAULTS_SHOWN} more")
        if (listed := _accepted_in_manifest(project, family, part)) != rows:
            faults += 1
            console.print(
                f"[red]✗[/] {name}-{part.name}: {counted(rows, 'row')}, where the manifest tells of {listed:,}"
            )
        mark = "[red]✗" if faults else "[green]✓"
        console.print(f"{mark}[/] {name}-{part.name}: {counted(rows, 'row')}, {counted(faults, 'fault')}")
        total += faults
    return total


def _read_again(config: Path, built: Project, family: Family, part: Part) -> Iterator[Any]:
    """Yield the source records of the part's makers, read from the sources of a configuration, and from built parts."""
    settings = Project(config, Path()).config.families.get(family.name)
    if settings is None:
        raise WrongInput(f"{config}: families.{family.name}: is missing; name the configuration that it was built from")
    for maker in family.makers(part):
        for _, spec in sources_of(settings, maker.sources):
            yield from read_source(opened(built.build, spec), maker.source, lambda dropped: None)  # type: ignore[type-var, arg-type]


def _file_faults(project: Project, family: str) -> Iterator[str]:
    """Yield a line for each of the family's files that is missing, changed, or not in the manifest."""
    listed = {file.path: file for part in project.manifest.parts if part.family == family for file in part.files}
    for name, file in listed.items():
        path = project.out / name
        try:
            if checksum(path) != file.sha256:
                yield f"{path}: was changed; the manifest has another checksum"
        except OSError as error:
            yield f"{path}: cannot be read ({error.strerror}); the manifest lists it"
    for folder in ("sifted", "dropped", "accepted"):
        for path in sorted((project.out / folder).glob(f"{family}-*.parquet")):
            if f"{folder}/{path.name}" not in listed:
                yield f"{path}: is not in the manifest; its rows are no part of the build"


def _accepted_in_manifest(project: Project, family: Family, part: Part) -> int:
    """Return the number of accepted rows of the part, by the manifest."""
    built = project.manifest.part(family.name, part.name)
    assert built is not None
    return built.sifted
