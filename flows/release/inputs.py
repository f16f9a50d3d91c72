"""Everything that a version depends on, as one hash."""

from typing import Any

from data.checksum import checksum
from data.publish.edits import Edits
from data.sources.fingerprint import source_fingerprint
from data.sources.spec import ATTRIBUTION
from flows.construct.stages import FamilyBuild
from flows.project.output_files import PACKAGE
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.release.baselines import evaluations_of
from flows.scoring.shipped import shipped_scorer
from schemas.base import content_hash
from schemas.manifest import BuildManifest


def inputs_of(
    project: Project, repo: str | None, edits: Edits, private: PrivateSources, *, allow_unreviewed: bool
) -> str:
    """Return a hash of everything that a version depends on: if it is the previous version's, nothing differs."""
    built = project.manifest
    people = sorted((project.out / "annotations").glob("*.jsonl"))
    return content_hash(
        [[part.family, part.part, [stage.fingerprint for stage in part.stages]] for part in built.parts],
        [[path.name, checksum(path)] for path in (*people, *evaluations_of(project))],
        project.config.release.model_dump(mode="json", exclude={"contamination", "refresh"}),
        [source_fingerprint(spec) for spec in project.config.release.contamination],
        [
            [family.name, [getattr(spec, name) for name in ATTRIBUTION]]
            for family, part in project.build.parts()
            for _, spec in project.build.named_sources(family, part)
        ],
        edits.digest,
        [repo, allow_unreviewed, built.name, built.seed, built.limit, built.versions.get(PACKAGE)],
        dict(built.models),
        [_evaluation(built, configured) for configured in project.build.families.values()],
        *([["private", *private.names]] if private else []),
    )


def _evaluation(built: BuildManifest, configured: FamilyBuild) -> list[object]:
    """Return what scores on a family's rows depend on beside the rows."""
    family, evaluation = configured.family, configured.family.evaluation
    prompts = [configured.prompts[prompt.name] for prompt in evaluation.prompts]
    settings: Any = built.config["families"]
    return [
        family.name,
        shipped_scorer(family.folder) if evaluation.scorer else None,
        [[prompt.source, prompt.max_tokens] for prompt in prompts],
        {name: value for name, value in settings.get(family.name, {}).items() if name in evaluation.settings},
    ]
