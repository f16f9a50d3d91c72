"""Checks, before the work of a release, all that its user has to set: licences, secrets, the right to publish.

Everything else takes minutes of proving, or hours of building, before it can be refused.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from data.publish.folder import read_release, versions_in
from data.publish.licences import undetermined, unknown
from data.publish.reading import read_batches
from data.sources.pins import Pins, lock_of
from data.temporary_folder import temporary_folder
from flows.project.output_files import accepted_files
from flows.project.private_sources import PrivateSources
from flows.project.project import COPIES, Project
from flows.project.released import RELEASES
from flows.project.settings import load_config
from flows.release.gate import needs_people
from flows.release.history import release_date
from flows.release.private_share import PrivateShare
from flows.release.rows import (
    config_name,
    line_sources,
    mixed_sources,
    single_configs,
    source_refs,
    sources_named,
)
from flows.release.version import (
    PRIVATE,
    is_as_before,
    lacks_last_step,
    newest,
    refuse_another_dataset,
)
from schemas.base import SourceRef
from schemas.errors import Failed, WrongInput, raise_all


def check_release(project: Project, repo: str | None, to: Path, *, allow_unreviewed: bool | None) -> None:
    """Check what the release of a finished build to the folder `to`, and to `repo` if there is one, needs.

    Without `allow_unreviewed`, unreviewed rows are treated as in the newest version in `to`. Raises `WrongInput` with a
    line for each problem, and `Failed` if only the Hub is the problem: it does not answer.
    """
    allowed = bool(allow_unreviewed or is_as_before(newest(to), allow_unreviewed))
    licences = _licences_of_rows(project, allow_unreviewed=allowed)
    _check([*_another_dataset(project, to), *licences, *_secret(project, to), *project.wrong_verdicts()], repo)


def check_rebuild(project: Project, repo: str | None, to: Path) -> None:
    """Check, before a build, what the configuration alone tells about its release. Raises as `check_release` does.

    Sources without a licence count if the rows will be published: a build for people alone may not have them yet.
    """
    _check_before_build(project, repo, to, licences=repo is not None)


def check_configuration(path: Path, out: Path) -> str | None:
    """Check what `check_rebuild` checks, and licences too; the Hub only if the configuration names a repository there.

    Returns that repository. A URL that no build has fetched is fetched to a folder that is removed again. Raises as
    `check_release` does.
    """
    settings = load_config(path)
    with temporary_folder() as scratch:
        pins = Pins(lock_of(path), settings.state / COPIES, scratch=scratch)
        project = Project(path, out, pins=pins)
        try:
            _check_before_build(project, settings.release.repo, out / RELEASES, licences=True)
        finally:
            project.close()
    return settings.release.repo


def _check_before_build(project: Project, repo: str | None, to: Path, *, licences: bool) -> None:
    undecided = _licences_of_sources(project) if licences else ()
    problems = [*_another_dataset(project, to), *_unknown_before_build(project), *undecided, *_secret(project, to)]
    _check([*problems, *project.wrong_verdicts()], repo)


def _check(problems: Sequence[str], repo: str | None) -> None:
    problems = [*problems, *_refused(release_date)]
    try:
        access = _access_problems(repo)
    except Failed as error:
        if not problems:
            raise
        access = [str(error)]
    raise_all([*problems, *access])


def _refused(check: Callable[[], object]) -> Sequence[str]:
    """Return what a check refuses."""
    try:
        check()
    except WrongInput as error:
        return [str(error)]
    return ()


def _another_dataset(project: Project, to: Path) -> Sequence[str]:
    """Return what is wrong with the name of the dataset."""
    return _refused(lambda: refuse_another_dataset(project.config.name, to, newest(to)))


def _secret(project: Project, to: Path) -> Sequence[str]:
    """Return what is wrong with the secret that draws private rows, or with those of the versions before."""
    if lacks_last_step(to):  # which the release takes first
        return ()
    earlier = map(read_release, versions_in(to))
    return _refused(lambda: PrivateShare.opened(project.config.release, to / PRIVATE, [*earlier]))


def _access_problems(repo: str | None) -> Sequence[str]:
    if repo is None:
        return ()
    from data.publish.hub_access import access_problems

    return access_problems(repo)


def _licences_of_rows(project: Project, *, allow_unreviewed: bool) -> Sequence[str]:
    """Return the problems of all configurations with accepted rows; none while review holds back all these rows.

    A licence that is declared for a configuration that there is not is a problem all the same.
    """
    private = PrivateSources.to_be_released(project)
    sources: dict[str, set[SourceRef]] = {}
    may_go_out: set[str] = set()
    for family, part in project.build.parts():
        if part.released is None:
            continue
        waits = needs_people(family, part) and part.released.asked is None and not allow_unreviewed
        names = ["reviewed", "provenance", *part.released.named_by]
        batches = (read_batches(path, names) for path in accepted_files(project, family.name, part.name))
        for row in (row for file in batches for batch in file for row in batch.rows()):
            if private.named_by(row) is not None:
                continue  # it will not be published
            config = config_name(family, part, row)
            if config not in sources:
                sources[config] = set(mixed_sources(project, family, part, row, private))
            sources[config] |= sources_named(row)
            if row["reviewed"] or not waits:
                may_go_out.add(config)
    problems = undetermined(sources, project.config.release.licence)
    strange = unknown(_declared(project), sorted({*sources, *single_configs(project)}))
    return [*strange, *(() if may_go_out.isdisjoint(problems) else problems.values())]


def _unknown_before_build(project: Project) -> Sequence[str]:
    """Return the declared licences of configurations that a build cannot have.

    The names that a part of several configurations gives them are not known: any of its family may be one.
    """
    parts = {f"{family.name}-{part.name}" for family, part in project.build.parts()}
    several = [f"{family.name}-" for family, part in project.build.parts() if part.released and part.released.configs]
    certain = [name for name in _declared(project) if name in parts or not name.startswith(tuple(several))]
    return unknown(certain, sorted(single_configs(project)))


def _declared(project: Project) -> Mapping[str, str]:
    """Return configuration -> declared licence; empty if one is declared for all, or none."""
    declared = project.config.release.licence
    return declared if isinstance(declared, Mapping) else {}


def _licences_of_sources(project: Project) -> Sequence[str]:
    """Return the problems that the sources of the configuration alone show.

    The configurations of some parts, and which sources their rows name, turn out only when they are built: of these
    it returns a problem only if no source states a licence, and none of the part's family is declared.
    """
    declared = project.config.release.licence
    sources: dict[str, list[SourceRef]] = {}
    for family, part in project.build.parts():
        if part.released is None:
            continue
        specs = line_sources(project, family, part)
        refs = source_refs(spec for spec in specs if not spec.private)
        if specs and not refs:
            continue  # nothing of it will be published
        if part.released.configs or part.released.mixes is not None:
            named = [name for name in declared or () if name.startswith(f"{family.name}-")]
            if not named and not any(ref.licence for ref in refs):
                sources[f"{family.name}-{part.name}"] = refs
        else:
            sources[f"{family.name}-{part.name}"] = refs
    return [*undetermined(sources, declared, sources.keys() - single_configs(project)).values()]
