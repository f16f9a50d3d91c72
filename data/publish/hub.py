"""Publishes a release to the Hugging Face Hub: one commit on a known parent, read back, and only then the tag.

A version is in force once its tag exists. Whatever ends a publication before that leaves the previous version in
force, and publishing the same folder again continues from there: files that were uploaded are not uploaded again, and
an existing commit is read back and tagged, not made again.

The token is the client's own (`HF_TOKEN`, or a login); no error shows it. `HF_ENDPOINT` names another Hub.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from data.publish.hub_repository import File, Repository
from data.publish.version_number import is_version, parsed_version
from schemas.errors import WrongInput


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

    Afterwards the repository has exactly these files. Raises `WrongInput` for an impossible name or version; `Failed`
    if the version already exists with other bytes, if somebody else commits meanwhile, if the Hub serves other bytes
    than were published, or if it refuses or does not answer.
    """
    number = parsed_version(version)
    ours = _release_files(folder)
    hub = Repository(repo)
    hub.make(private)
    parent, tags = hub.refs()
    url = f"{hub.api.endpoint}/datasets/{repo}/tree/{version}"
    if version in tags:
        hub.insist(tags[version], version, ours)
        return Published(tags[version], version, url, new=False)
    commit = hub.untagged_commit(parent, version, ours)
    if commit is None:
        later = [tag for tag in _versions(tags) if parsed_version(tag) > number]
        if later:
            raise WrongInput(
                f"{repo}: {version} is earlier than {later[-1]}, which is published; publish a later version"
            )
        commit = hub.commit(folder, ours, parent, version, message)
    hub.read_back(commit, ours)
    hub.tag(commit, version, ours)
    return Published(commit, version, url, new=True)


def versions(repo: str) -> list[str]:
    """Return the published versions of the dataset `repo` (OWNER/NAME), the earliest first; none if it does not exist.

    Raises as `publish` does.
    """
    hub = Repository(repo)
    return _versions(hub.refs()[1]) if hub.is_private() is not None else []


def served(repo: str, path: str, version: str | None = None) -> bytes | None:
    """Return a file of a published version, or of the branch now; None if there is none. Raises as `publish` does."""
    hub = Repository(repo)
    if hub.is_private() is None:
        return None
    head, tags = hub.refs()
    commit = head if version is None else tags.get(version)
    if commit is None or path not in hub.files(commit):
        return None
    with tempfile.TemporaryDirectory() as folder:
        return hub.download(commit, path, Path(folder)).read_bytes()


def fetch(repo: str, version: str, to: Path) -> None:
    """Download a published version, whole or not at all, into the new folder `to`. Raises as `publish` does.

    The client compares sizes; nothing else is checked, because the release's own manifest proves the rest.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise WrongInput(f"{to}: exists already; name a new folder")
    hub = Repository(repo)
    _, tags = hub.refs()
    if version not in tags:
        published = ", ".join(_versions(tags)) or "none"
        raise WrongInput(f"{repo}: no version {version}; the published versions: {published}")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}-") as name:
        whole = Path(name) / "files"
        whole.mkdir()
        for path in hub.files(tags[version]):
            hub.download(tags[version], path, whole)
        shutil.rmtree(whole / ".cache", ignore_errors=True)  # the client's notes
        whole.replace(to)


def _release_files(folder: Path) -> dict[str, File]:
    """Return the files of a release by their paths in the repository. Raises `WrongInput` if it is no release."""
    if not (folder / "README.md").is_file():
        raise WrongInput(f"{folder}: no README.md there; name the folder of a release")
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            raise WrongInput(f"{path}: hidden files are no part of a release; remove it")
        if path.is_file():
            files[name.as_posix()] = File.of(path)
    return files


def _versions(tags: dict[str, str]) -> list[str]:
    return sorted(filter(is_version, tags), key=parsed_version)
