"""Reads a finished build: a sample of it, one row's history, and the proof of its rows."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
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
from flows.construct.sources import sources_of
from flows.construct.stages import StageRef
from flows.construct.verification import VerifyContext
from flows.project.console import as_lines, make_console
from flows.project.output_files import accepted_rows, open_build
from flows.project.project import Project
from schemas.base import Dropped, Record, visible
from schemas.errors import Failed, WrongInput, nearest

FAULTS_SHOWN = 20


def family_and_part(project: Project, name: str) -> tuple[Family, Part]:
    """The family and part that `FAMILY-PART` names; `FAMILY` alone gives the part a person reads first."""
    known = {f"{family.name}-{part.name}": (family, part) for family, part in project.build.parts()}
    mains = {family.name: (family, part) for family, part in known.values()}
    mains |= {family.name: (family, part) for family, part in known.values() if part.name == family.reads}
    found = known.get(name) or mains.get(name)
    if found is None:
        raise WrongInput(f"{name}: no such part; {nearest(name, [*known, *mains])}")
    return found


def show_sample(name: str, count: int, seed: int, out: Path | None) -> None:
    """Print a seeded sample of a part's accepted records."""
    console = make_console()
    project = open_build(out, console, stages=False)
    assert project.built is not None
    family, part = family_and_part(project, name)
    built = project.built.part(family.name, part.name)
    total = sum(file.rows for file in built.files if file.path.startswith("accepted/")) if built else 0
    places = set(random.Random(seed).sample(range(total), min(count, total)))
    shown = 0
    for place, record in enumerate(accepted_rows(project, family.name, part) if places else ()):
        if place in places:
            shown += 1
            console.print(Rule(f"{shown} of {len(places)} · {record.id}", style="dim"))
            console.print(Markdown(as_lines(family.show(record))))
    if not places:
        reasons: Counter[str] = Counter()
        for step in (built.dropped if built else {}).values():
            reasons.update(step)
        why = max(sorted(reasons), key=reasons.__getitem__, default="")
        most = (
            f"; {reasons[why]:,} were dropped: {why} (`touchstone explain`, {project.out}/report.html)" if why else ""
        )
        console.print(f"{family.name}-{part.name}: no accepted records{most}", soft_wrap=True)


def explain_record(name: str, out: Path | None) -> None:
    """Print a record's whole history: where it came from, how it went through the steps, what was made of it."""
    console = make_console()
    project = open_build(out, console)
    ids: set[str] = set()
    made: dict[str, int] = {}
    for family, part in project.build.parts():
        for ref in project.build.stages(family, part):
            stage = project.build.read(ref)
            for record in stage:
                if name in (record.id, record.key):
                    _explain_kept(console, project, family, ref, record, told=record.id in ids)
                    ids.add(record.id)
                elif ids.intersection(getattr(getattr(record, "provenance", None), "parents", ())):
                    made[str(ref)] = made.get(str(ref), 0) + 1
            for dropped in stage.dropped():
                if name in (dropped.item_id, dropped.key):
                    _explain_dropped(console, project, ref, dropped)
                    ids.add(dropped.item_id)
    if not ids:
        raise WrongInput(f"{name}: no record of this build has this id or key; ids stand in accepted/ and dropped/")
    for stage_name, number in made.items():
        console.print(f"made of it: {number:,} records in {stage_name}")


def _explain_kept(
    console: Console, project: Project, family: Family, ref: StageRef, record: Record, *, told: bool
) -> None:
    """What a stage that kept the record knows of it; `told` where it is the same as before."""
    manifest = project.build.manifest(ref)
    assert manifest is not None
    console.print(Rule(f"{ref} · kept", style="green", align="left"))
    console.print(f"id {record.id} · key {record.key} · stage {manifest.fingerprint} (version {manifest.version})")
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
    console.print(Panel(Markdown(as_lines(family.show(record)))))
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


def _explain_dropped(console: Console, project: Project, ref: StageRef, dropped: Dropped) -> None:
    console.print(Rule(f"{ref} · dropped", style="red", align="left"))
    console.print(f"id {dropped.item_id} · key {dropped.key}")
    console.print(
        f"reason: {dropped.reason}" + (f" ({dropped.value:.3f})" if dropped.value is not None else ""), markup=False
    )
    if dropped.evidence:
        console.print(as_lines(f"evidence: {dropped.evidence}"), markup=False)
    for related in _parents(project, [dropped.related_id] if dropped.related_id else []):
        console.print(as_lines(f"related: {related.id} {_text_of(related)}"), markup=False)
    for text in _inputs_with(project, ref, dropped):
        console.print(as_lines(f"it was: {text}"), markup=False)


def _inputs_with(project: Project, ref: StageRef, dropped: Dropped) -> Iterator[str]:
    """The text of the record as it reached the step that dropped it."""
    for record in project.build.inputs(ref):
        if record.id == dropped.item_id:
            yield _text_of(record)
            return


def _text_of(record: Record) -> str:
    """What tells a reader which record it is."""
    names = ("text", "original", "question", "response")
    return next((str(text) for name in names if (text := getattr(record, name, None))), "")


def _parents(project: Project, ids: Iterable[str]) -> Iterator[Record]:
    """The records of the build that have these ids, first of each."""
    wanted = set(ids)
    for family, part in project.build.parts():
        for ref in project.build.stages(family, part):
            for record in project.build.read(ref) if wanted else ():
                if record.id in wanted:
                    wanted.discard(record.id)
                    yield record


def verify_family(name: str, out: Path | None, sources: Path | None = None) -> None:
    """Run the family's verifier over its accepted rows, as they lie in the output folder.

    With `sources`, a configuration, what can be proved from its sources is proved as well.
    """
    console = make_console()
    project = open_build(out, console, stages=False)
    families = {family.name: family for family, _ in project.build.parts()}
    if name not in families:
        raise WrongInput(f"{name}: no such family in this build; {nearest(name, list(families))}")
    with console.status(f"looking at the files of {name} ...") as status:
        faults = _verify_parts(project, name, sources, console, status)
    if faults:
        raise Failed(f"{faults} faults in {project.out}: what is named above is not what it claims to be")


def _verify_parts(project: Project, name: str, sources: Path | None, console: Console, status: Status) -> int:
    """Tell the faults of the family's files and rows, part by part; how many there are."""
    faults = 0
    for fault_of_file in _file_faults(project, name):
        faults += 1
        console.print(f"[red]✗[/] {fault_of_file}", soft_wrap=True)
    for family, part in project.build.parts():
        if family.name != name:
            continue
        status.update(f"proving the rows of {name}-{part.name} ...")
        rows = 0

        def counted(part: Part = part) -> Iterator[Any]:
            nonlocal rows
            for row in accepted_rows(project, name, part):
                rows += 1
                yield row

        def rows_of(other: str, family: Family = family) -> Iterable[Any]:
            return accepted_rows(project, name, family.part(other))

        settings = project.build.families[name].settings
        context = VerifyContext(settings, project.embedder, rows_of, lambda other: project.verdicts(name, other))
        found = 0
        faults_of = part.verify(counted(), context)
        if sources is not None and part.against is not None:
            read_again = _read_again(sources, family, part)
            faults_of = chain(faults_of, part.against(accepted_rows(project, name, part), read_again, context))
        for fault in faults_of:
            found += 1
            if found <= FAULTS_SHOWN:
                console.print(f"[red]✗[/] {name}-{part.name} {escape(as_lines(f'{fault.id}: {fault.problem}'))}")
        if found > FAULTS_SHOWN:
            console.print(f"  and {found - FAULTS_SHOWN} more")
        if (told := _accepted_in_manifest(project, family, part)) != rows:
            found += 1
            console.print(f"[red]✗[/] {name}-{part.name}: {rows:,} rows, where the manifest tells of {told:,}")
        console.print(f"{'[red]✗' if found else '[green]✓'}[/] {name}-{part.name}: {rows:,} rows, {found} faults")
        faults += found
    return faults


def _read_again(config: Path, family: Family, part: Part) -> Iterator[Any]:
    """The source records of the part's makers, by the sources of a configuration."""
    settings = Project(config, Path()).config.families.get(family.name)
    if settings is None:
        raise WrongInput(f"{config}: families.{family.name}: is missing; name the configuration that it was built from")
    for maker in family.makers(part):
        for _, spec in sources_of(settings, maker):
            yield from read_source(spec, maker.source, lambda dropped: None)  # type: ignore[type-var, arg-type]


def _file_faults(project: Project, family: str) -> Iterator[str]:
    """What is wrong with the family's files: missing, changed, or not in the manifest."""
    assert project.built is not None
    listed = {file.path: file for part in project.built.parts if part.family == family for file in part.files}
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
    """How many rows of the part the manifest tells of."""
    built = project.built.part(family.name, part.name) if project.built else None
    assert built is not None
    return built.kept + built.waiting
