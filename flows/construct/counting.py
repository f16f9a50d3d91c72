"""Counts the records of a stage and of a part: kept + dropped + waiting = planned."""

from collections.abc import Iterable, Sequence

from flows.construct.engine import Family, Part, RecordStep
from flows.construct.preparing import prepared_step
from flows.construct.reviewed import reviewed_keys
from flows.construct.stages import SOURCE, Build, StageRef
from schemas.errors import Failed
from schemas.manifest import PartManifest, ShardManifest, StageManifest


class AccountingError(Failed):
    """Records were lost or invented between two stages: a fault of a step, never of the input."""


def finish(
    build: Build,
    ref: StageRef,
    shards: Sequence[ShardManifest],
    *,
    planned: int | None = None,
    notes: Iterable[str] = (),
) -> StageManifest:
    """Write the manifest of a stage once all its shards exist. Raises `AccountingError` if records were lost."""
    step = build.step(ref)
    kept = sum(shard.kept for shard in shards)
    dropped: dict[str, int] = {}
    for shard in shards:
        for reason, count in shard.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    planned = sum(shard.planned for shard in shards) if planned is None else planned
    if kept + sum(dropped.values()) != planned:
        raise AccountingError(f"{ref}: {planned} planned, but {kept} kept and {sum(dropped.values())} dropped")
    if isinstance(step, RecordStep) and step.prepare is not None:  # of other steps, who does the work notes it
        _, _, preparation = prepared_step(build, ref, RecordStep)
        notes = [*notes, *getattr(preparation, "notes", ())]
    manifest = StageManifest(
        family=ref.family,
        part=ref.part,
        step=ref.step,
        version=step.version if step else 1,
        fingerprint=build.fingerprint(ref),
        record=build.record_type(ref).__name__,
        inputs=tuple(build.fingerprint(before) for before in build.before(ref)),
        planned=planned,
        kept=kept,
        dropped=dict(sorted(dropped.items())),
        shards=tuple(shards),
        notes=tuple(dict.fromkeys([*notes, *(note for shard in shards for note in shard.notes)])),
        draw=build.draw_of(ref),
    )
    if (earlier := build.manifest(ref)) is not None:  # another build finished it first
        return earlier
    build.keep_answers()
    build.files(ref).finish(manifest)
    return manifest


def part_summary(build: Build, family: Family, part: Part) -> PartManifest:
    """Return a finished part's counts. Raises `AccountingError` if a stage did not get all records before it."""
    manifests = []
    for ref in build.stages(family, part):
        manifest = build.finished(ref)
        step = build.step(ref)
        arrived = len(build.arriving(ref))
        counts = ref.step != SOURCE and (step is None or step.keeps_count)
        if build.before(ref) and manifest.planned != arrived and counts:
            raise AccountingError(f"{ref}: {arrived} records came in, but {manifest.planned} were planned")
        manifests.append(manifest)
    kept = manifests[-1].kept
    dropped = {manifest.step: dict(manifest.dropped) for manifest in manifests if manifest.dropped}
    reviewed = waiting = 0
    if part.people:
        accepted = reviewed_keys(build, family, part)
        reviewed, needed = len(accepted), part.people.needed
        waiting = kept - reviewed if part.people.share == "every" else 0
        if needed is not None:
            waiting = sum(
                record.key not in accepted and needed(record) for record in build.read(build.stages(family, part)[-1])
            )
    return PartManifest(
        family=family.name,
        part=part.name,
        planned=kept + sum(sum(reasons.values()) for reasons in dropped.values()),
        kept=kept - waiting,
        dropped=dropped,
        waiting=waiting,
        reviewed=reviewed,
        stages=tuple(manifests),
        files=(),
    )
