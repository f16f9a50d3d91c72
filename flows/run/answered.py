"""What of a build's material is new since the last one: the rest was asked about before, and its answers are cached."""

from collections.abc import Iterable
from typing import Any

from data.seen import Hashes, are_in, sorted_hashes
from data.sources import PART
from data.stage_files import Stage, StageFiles
from data.store import Store
from flows.construct.engine import Family, Part
from flows.construct.stages import SOURCE, Build, StageRef
from flows.llm.model import Prompt
from flows.project.project import Project
from flows.run.in_process import runner_here
from schemas.base import Record
from schemas.manifest import BuildManifest, StageManifest, UsageOfPrompt


def new_shares(project: Project, store: Store, built: BuildManifest) -> dict[tuple[str, str], float]:
    """Return, by part, the share of the records that it is made from which are new or changed since a build.

    The stages of that build are in `store`. If they are no longer there, all is taken to be new. Sources that changed
    are read.
    """
    shares: dict[tuple[str, str], float] = {}
    for family, part in project.build.parts():
        before = [shares[family.name, maker.name] for maker in family.makers(part)]
        specs = [] if before else [spec for _, spec in project.build.named_sources(family, part)]
        read = [project.build.part_of(spec) for spec in specs if spec.format == PART]
        before += [shares[other.name, source.name] for other, source in read]
        if len(specs) > len(read):
            before.append(_new_share(project, store, family, part, built))
        shares[family.name, part.name] = max(before, default=0.0)
    return shares


def _new_share(project: Project, store: Store, family: Family, part: Part, built: BuildManifest) -> float:
    build, ref = project.build, StageRef(family.name, part.name, SOURCE)
    summary = built.part(family.name, part.name)
    old = next((stage for stage in summary.stages if stage.step == SOURCE), None) if summary else None
    if old is None:
        return 1.0
    if old.fingerprint == build.fingerprint(ref):
        return 0.0
    files = StageFiles(store, ref.family, ref.part, SOURCE, old.fingerprint)
    kept = files.manifest()
    if kept is None or any(build.manifest(needed) is None for needed in build.needs(ref)):
        return 1.0
    if build.manifest(ref) is None:
        runner_here(project, build).run([ref])  # reading costs nothing
    now = build.read(ref)
    before, here = _states(Stage(files, kept, now.record)), _states(now)
    return 1 - float(are_in(here, before).mean()) if len(here) else 0.0


def _states(records: Iterable[Record]) -> Hashes:
    return sorted_hashes(record.id for record in records)


def calls_before(
    built: BuildManifest, build: Build, family: Family, prompt: Prompt[Any], stage: StageManifest | None
) -> int:
    """Return how often a stage of a build asked a prompt, if its template is still the same; a pilot's are among those
    that the whole build asks."""
    now = build.families[family.name].prompts[prompt.name]
    if stage is None or built.prompts.get(f"{family.name}/{prompt.name}") != now.fingerprint:
        return 0
    usage = stage.usage.get(prompt.name, UsageOfPrompt())
    return usage.calls + usage.cached
