"""Publishes a release to the Hugging Face Hub: one commit on a known parent, read back, and only then the tag.

A version is in force once its tag exists. Whatever ends a publication before that leaves the previous version in
force, and publishing the same folder again continues from there: files that were uploaded are not uploaded again, and
an existing commit is read back and tagged, not made again.

The token is the client's own (`HF_TOKEN`, or a login); no error shows it. `HF_ENDPOINT` names another Hub.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from data.publish.edits import Branch
from data.publish.folder import CARD, MANIFEST, Release, is_reserved, read_manifest, read_release
from data.publish.hub_repository import File, Repository
from data.publish.merge import Conflict, changes, keeps_card, read_card
from data.publish.version_number import is_version, parsed_version
from schemas.base import visible
from schemas.errors import Conflicts, Failed, WrongInput
from schemas.release import ReleaseManifest


@dataclass(frozen=True)
class Published:
    """A version on the Hub."""

    commit: str
    tag: str
    url: str
    new: bool
    """False if the version existed already with the same bytes, so that nothing was done."""


def publish(folder: Path, repo: str, version: str, *, message: str, private: bool = False) -> Published:
    """Publish the files of `folder` as `version` of the dataset `repo` (OWNER/NAME), creating it if necessary.

    Afterwards the repository has these files, and those that people put beside the last version. Raises `WrongInput`
    for an impossible name or version; `Failed` if the version already exists with other bytes, if it would undo what
    somebody changed (`losses`) or somebody else commits meanwhile, if the Hub serves other bytes than were
    published, or if it refuses or does not answer.
    """
    number = parsed_version(version)
    release = read_release(folder)
    ours = _release_files(release)
    hub = Repository(repo)
    hub.make(private)
    parent, every_tag = hub.refs()
    tags = _versions(every_tag)
    url = f"{hub.api.endpoint}/datasets/{repo}/tree/{version}"
    if version in tags:
        hub.insist(tags[version], version, ours)
        return Published(tags[version], version, url, new=False)
    commit = hub.untagged_commit(parent, version, ours)
    if commit is None:
        later = [tag for tag in tags if parsed_version(tag) > number]
        if later:
            raise WrongInput(
                f"{repo}: {version} is earlier than {later[-1]}, which is published; publish a later version"
            )
        branch = _branch(hub, parent, tags)
        if lost := losses(branch, release):
            raise Conflicts(f"{repo}: version {version} would undo what people changed", lost)
        gone = {file.path for file in branch.version.files} - ours.keys() if branch.version else ()
        commit = hub.commit(folder, ours, gone, parent, version, message)
    hub.read_back(commit, ours)
    hub.tag(commit, version, ours)
    return Published(commit, version, url, new=True)


def look(repo: str, to: Path) -> Branch | None:
    """Return the branch of the dataset `repo` (OWNER/NAME); None if there is no such dataset.

    The last version on it, which another machine may have released, is fetched to `to` if it is not there; no other
    process may do so at the same time. Raises `Failed` if another version with its number is there, and otherwise as
    `publish` does.
    """
    hub = Repository(repo)
    if hub.is_private() is None:
        return None
    head, every_tag = hub.refs()
    branch = _branch(hub, head, _versions(every_tag))
    if branch.version is not None:
        folder = to / branch.version.version
        if not folder.exists():
            _fetch(hub, branch.commit, branch.version, folder)
        elif branch.version.version in branch.tags and read_release(folder).manifest != branch.version:
            raise Failed(
                f"{folder}: {repo} has another version {branch.version.version}, which was published first; move this "
                "folder away, then release again: the difference will be the next version"
            )
    return branch


def losses(branch: Branch, release: Release) -> list[str]:
    """Return a line on each change by people on the branch that `release`, once it is published, would undo.

    Raises `Failed` if they changed it so lately that making the version again would keep it.
    """
    lost = []
    new = {MANIFEST, *(file.path for file in release.manifest.files)}
    since = f"since version {branch.version.version}" if branch.version else ""
    theirs = {*branch.contents, *(branch.version.added if branch.version else ())}
    for path in (*branch.changed.edited, *branch.changed.deleted, *branch.changed.added):
        digest, name = branch.now.get(path), f"{branch.repo}: {visible(path)}"
        is_same = File.of(release.folder / path).is_at(digest) if path in new else digest is None
        try:
            if is_same or (path in branch.contents and _is_merged(branch, path, release)):
                continue
        except (Conflict, WrongInput) as error:
            lost.append(f"{branch.repo}: {error}")
            continue
        if path in theirs:
            raise Failed(f"{name}: changed on the Hub while {release.manifest.version} was made; run again")
        if path not in branch.changed.added:
            what = f"{'deleted' if digest is None else 'edited'} on the Hub {since}, and no release can keep that"
            lost.append(f"{name}: {what}; put it back as that version has it")
        elif path in new:
            lost.append(f"{name}: the release has a file of that name too; rename one of the two")
        elif is_reserved(path):
            lost.append(f"{name}: added on the Hub where only a release writes; move it elsewhere")
    return lost


def _is_merged(branch: Branch, path: str, release: Release) -> bool:
    """Return whether `release` has what people changed in a file, or there is nothing left of it. Raises `Conflict`."""
    content, last = branch.contents[path], branch.version
    if path != CARD:
        made = next((file.made for file in last.files if file.path == path), None) if last else None
        return sha256(content).hexdigest() == made
    last_card, new = read_card(branch.last_card), read_card((release.folder / CARD).read_bytes())
    metadata = (last.card.metadata if last else {}) or last_card.metadata
    return keeps_card(last_card, metadata, read_card(content), new)


def fetch(repo: str, version: str, to: Path) -> None:
    """Download a published version, whole or not at all, into the new folder `to`. Raises as `publish` does.

    The client compares sizes; nothing else is checked, because the release's own manifest proves the rest. What other
    people put beside its files is left out.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise WrongInput(f"{to}: exists already; name a new folder")
    hub = Repository(repo)
    commit = _commit_of(hub, version)
    _fetch(hub, commit, _manifest(hub, commit), to)


def commit_of(repo: str, version: str) -> str:
    """Return the commit of a published version. Raises as `publish` does."""
    return _commit_of(Repository(repo), version)


def _commit_of(hub: Repository, version: str) -> str:
    tags = _versions(hub.refs()[1])
    if version not in tags:
        raise WrongInput(f"{hub.name}: no version {version}; the published versions: {', '.join(tags) or 'none'}")
    return tags[version]


def _fetch(hub: Repository, commit: str, manifest: ReleaseManifest, to: Path) -> None:
    whole = to.with_name(f".{to.name}")  # always the same name, so that the next run removes what a killed one left
    shutil.rmtree(whole, ignore_errors=True)
    whole.mkdir(parents=True)
    try:
        for path in (MANIFEST, *(file.path for file in manifest.files)):
            hub.download(commit, path, whole)
        shutil.rmtree(whole / ".cache", ignore_errors=True)  # the client's notes
        whole.replace(to)
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def _branch(hub: Repository, head: str, tags: Mapping[str, str]) -> Branch:
    """Return the branch that ends at `head`."""
    commit, last = hub.last_version(head, tags)
    now = last if commit == head else hub.files(head)
    version = _manifest(hub, commit) if commit else None
    changed = changes(version, last, now)
    mergeable = [path for path in changed.edited if not is_reserved(path)]
    mergeable += [CARD] if CARD in changed.added else []
    contents = {path: hub.read(head, path) for path in mergeable}
    last_card = hub.read(commit, CARD) if commit and CARD in contents else b""
    return Branch(hub.name, tags, version, commit, now, changed, contents, last_card)


def _manifest(hub: Repository, commit: str) -> ReleaseManifest:
    return read_manifest(hub.read(commit, MANIFEST), f"{hub.name}: {MANIFEST} of commit {commit[:8]}")


def _release_files(release: Release) -> dict[str, File]:
    """Return the files of a release by their paths in the repository. Raises `Failed` if one is missing."""
    paths = [MANIFEST, *(file.path for file in release.manifest.files)]
    for path in paths:
        if not (release.folder / path).is_file():
            raise Failed(f"{release.folder / path}: missing; remove this folder, and release again")
    return {path: File.of(release.folder / path) for path in sorted(paths)}


def _versions(tags: Mapping[str, str]) -> dict[str, str]:
    """Return version -> its commit, the earliest first."""
    return {version: tags[version] for version in sorted(filter(is_version, tags), key=parsed_version)}
