"""Publishes a release to the Hugging Face Hub: one commit on a known parent, read back, and only then the tag.

A version is in force when its tag is there. Whatever ends a publication before that leaves the version before in
force, and publishing the same folder again goes on where it ended: uploaded files are not uploaded again, and a
commit that is there is read back and tagged, not made anew.

The token is the client's own (`HF_TOKEN`, or a login); no error shows it. `HF_ENDPOINT` names another Hub.
"""

import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from httpx2 import HTTPError, Response
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import (
    are_progress_bars_disabled,
    disable_progress_bars,
    get_session,
    hf_raise_for_status,
    parse_ratelimit_headers,
    validate_repo_id,
)

from data.checksum import checksum
from data.publish.version_number import is_version, parsed_version
from schemas.errors import Failed, WrongInput

DATASET = "dataset"
BRANCH = "main"
HUBS_OWN = ".gitattributes"
"""Made by the Hub with the repository: never changed, deleted or compared."""
WAITS_S = (1.0, 2.0, 4.0, 8.0)
"""How long it is waited before each further try, in seconds, where the Hub does not say."""
LONGEST_WAIT_S = 300.0
"""The longest wait that the Hub may ask for, in seconds: its rate limits count windows of 5 minutes."""
QUIET_S = 120.0
"""How long the Hub may send nothing, in seconds; the client itself would wait for ever."""
AT_WORK = timedelta(minutes=15)
"""For how long an untagged commit of a version is taken for another publication at work, not for one that ended."""
SHOWN_CHARACTERS = 300
"""How much of the Hub's own message an error shows."""

_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_CLIENT_ERRORS = (HTTPError, OSError, RuntimeError, ValueError)
"""What the client raises: of HTTP and transport, of downloads, wrapped by uploads, for an answer it cannot read."""

T = TypeVar("T")


@dataclass(frozen=True)
class Published:
    """A version on the Hub."""

    commit: str
    tag: str
    url: str
    new: bool
    """False where the version was there already, with the same bytes, and nothing was done."""


@dataclass(frozen=True)
class _File:
    """A file of the release, by both names that the Hub may know its content by."""

    sha256: str
    blob: str
    """Git's: the sha1 of a header and the content."""

    def is_at(self, remote: RepoFile | None) -> bool:
        if remote is None:
            return False
        return remote.lfs.sha256 == self.sha256 if remote.lfs else remote.blob_id == self.blob


def publish(folder: Path, repo: str, version: str, *, message: str, private: bool = False) -> Published:
    """Publish the files of `folder` as `version` of the dataset `repo` (OWNER/NAME), which is made if absent.

    After this the repository has exactly these files. Raises `WrongInput` for a name or a version that cannot be,
    and `Failed` where the version has other bytes already, where somebody else committed meanwhile, where what the
    Hub serves is not what was published, and where the Hub refuses or does not answer.
    """
    number = parsed_version(version)
    ours = _release_files(folder)
    hub = _Repository(repo)
    hub.make(private)
    parent, tags = hub.refs()
    url = f"{hub.api.endpoint}/datasets/{repo}/tree/{version}"
    if version in tags:
        hub.insist(tags[version], version, ours)
        return Published(tags[version], version, url, new=False)
    commit = hub.found(parent, version, ours)
    if commit is None:
        later = [one for one in _versions(tags) if parsed_version(one) > number]
        if later:
            raise WrongInput(
                f"{repo}: {version} is earlier than {later[-1]}, which is published; publish a later version"
            )
        commit = hub.commit(folder, ours, parent, version, message)
    hub.read_back(commit, ours)
    hub.tag(commit, version, ours)
    return Published(commit, version, url, new=True)


def versions(repo: str) -> list[str]:
    """The published versions of the dataset `repo` (OWNER/NAME), the earliest first; of one that is not there none.

    Raises as `publish` does.
    """
    hub = _Repository(repo)
    return _versions(hub.refs()[1]) if hub.is_private() is not None else []


def served(repo: str, path: str, version: str | None = None) -> bytes | None:
    """A file of a published version, or as it is on the branch now; None where it is not there. Raises as `publish`."""
    hub = _Repository(repo)
    if hub.is_private() is None:
        return None
    head, tags = hub.refs()
    commit = head if version is None else tags.get(version)
    if commit is None or path not in hub.files(commit):
        return None
    with tempfile.TemporaryDirectory() as folder:
        return hub.download(commit, path, Path(folder)).read_bytes()


def fetch(repo: str, version: str, to: Path) -> None:
    """Download a published version into `to`, which is made, whole or not at all. Raises as `publish` does.

    The client compares sizes, nothing else is checked: the release's own manifest proves the rest.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise WrongInput(f"{to}: is there already; name a new folder")
    hub = _Repository(repo)
    _, tags = hub.refs()
    if version not in tags:
        there = ", ".join(_versions(tags)) or "none"
        raise WrongInput(f"{repo}: no version {version}; the published versions: {there}")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}-") as name:
        whole = Path(name) / "files"
        whole.mkdir()
        for path in hub.files(tags[version]):
            hub.download(tags[version], path, whole)
        shutil.rmtree(whole / ".cache", ignore_errors=True)  # the client's notes
        whole.replace(to)


class _Repository:
    """A dataset on the Hub, every question to it asked again while its trouble may pass."""

    def __init__(self, name: str) -> None:
        try:
            validate_repo_id(name)
        except HFValidationError as error:
            raise WrongInput(f"{_line(str(error))}; expected a dataset as OWNER/NAME") from None
        if "/" not in name:
            raise WrongInput(f"{name}: expected a dataset as OWNER/NAME")
        token = get_token()
        if token and not (token.isascii() and token.isprintable()):  # the client would show it in its error
            raise WrongInput("HF_TOKEN: has characters that no token has; copy it again")
        _quiet()
        self.name = name
        self.api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))

    def ask(self, call: Callable[[], T], settled: Callable[[], T | None] = lambda: None) -> T:
        """The answer to `call`; it is repeated while the trouble may pass, unless `settled` finds it was done.

        Raises `Failed`, with one line and without the client's error: that may quote what was sent.
        """
        for wait in chain(WAITS_S, repeat(None)):
            session = get_session()
            session.timeout = QUIET_S
            if _refuse_long_wait not in session.event_hooks["response"]:
                session.event_hooks["response"].append(_refuse_long_wait)
            try:
                return call()
            except _CLIENT_ERRORS as error:
                asked, trouble = _refusal(error), self._trouble(error)
            if (done := settled()) is not None:
                return done
            asks_s = _asked_wait(asked) if asked else 0.0
            if not trouble.passing or wait is None or asks_s > LONGEST_WAIT_S:
                raise Failed(trouble.said)
            time.sleep(max(wait, asks_s))
        raise AssertionError("endless")

    def is_private(self) -> bool | None:
        """None where there is no such repository."""

        def look() -> bool | None:
            try:
                return bool(self.api.dataset_info(self.name).private)
            except RepositoryNotFoundError:
                return None

        return self.ask(look)

    def make(self, private: bool) -> None:
        """The repository is there. A public one is refused where a private one is asked for."""
        there = self.is_private()
        if there is None:
            self.ask(lambda: self.api.create_repo(self.name, repo_type=DATASET, private=private, exist_ok=True))
        elif private and not there:
            raise Failed(f"{self.name}: is public on the Hub, and a private release was asked for; name another")

    def refs(self) -> tuple[str, dict[str, str]]:
        """The head of the branch, and the commit of each tag, as of one moment."""
        refs = self.ask(lambda: self.api.list_repo_refs(self.name, repo_type=DATASET))
        head = next((branch.target_commit for branch in refs.branches if branch.name == BRANCH), None)
        if head is None:
            raise Failed(f"{self.name}: has no branch {BRANCH}; make it on the Hub, then run again")
        return head, {tag.name: tag.target_commit for tag in refs.tags}

    def files(self, commit: str) -> dict[str, RepoFile]:
        """The files at a commit by their paths, without the Hub's own."""
        tree = self.ask(
            lambda: list(self.api.list_repo_tree(self.name, recursive=True, revision=commit, repo_type=DATASET))
        )
        return {one.path: one for one in tree if isinstance(one, RepoFile) and one.path != HUBS_OWN}

    def holds(self, commit: str, ours: dict[str, _File]) -> bool:
        """Whether a commit has our files, byte by byte, and no others."""
        theirs = self.files(commit)
        return theirs.keys() == ours.keys() and all(file.is_at(theirs[path]) for path, file in ours.items())

    def insist(self, commit: str, version: str, ours: dict[str, _File]) -> None:
        """The tagged commit of `version` has our files; else it is another release under the same number."""
        if not self.holds(commit, ours):
            raise Failed(f"{self.name}: version {version} is published with other bytes; publish a later version")

    def found(self, head: str, version: str, ours: dict[str, _File]) -> str | None:
        """The untagged commit that has our files: its answer was lost, or its publication ended before the tag.

        Raises `Failed` where a commit of the same version but other bytes is so young that its publication may be
        at work still: one version would have two commits.
        """
        commits = self.ask(lambda: self.api.list_repo_commits(self.name, revision=head, repo_type=DATASET))
        for commit in commits:
            claims = _claim(version) in commit.message.splitlines()
            if (claims or commit.commit_id == head) and self.holds(commit.commit_id, ours):
                return commit.commit_id
            if claims and (free := commit.created_at + AT_WORK) > datetime.now(UTC):
                raise Failed(
                    f"{self.name}: another run is publishing {version} with other bytes (commit "
                    f"{commit.commit_id[:8]}); run again after {free:%H:%M} UTC, or publish a later version"
                )
        return None

    def commit(self, folder: Path, ours: dict[str, _File], parent: str, version: str, message: str) -> str:
        """One commit on `parent` that makes the files ours. Raises `Failed` where the head is no longer `parent`."""
        theirs = self.files(parent)
        differing = [path for path, file in ours.items() if not file.is_at(theirs.get(path))]
        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
            *(CommitOperationAdd(path, folder / path) for path in differing),
            *(CommitOperationDelete(path, is_folder=False) for path in theirs if path not in ours),
        ]

        def applied() -> str | None:
            head, _ = self.refs()
            if head == parent:
                return None
            commit = self.found(head, version, ours)
            if commit is None:
                raise Failed(f"{self.name}: somebody else committed while {version} was published; nothing of theirs "
                             "was changed; run again")  # fmt: skip
            return commit

        return self.ask(
            lambda: self.api.create_commit(
                self.name, operations, commit_message=message, commit_description=_claim(version),
                repo_type=DATASET, revision=BRANCH, parent_commit=parent,
            ).oid,
            applied,
        )  # fmt: skip

    def download(self, commit: str, path: str, folder: Path) -> Path:
        """The file as the Hub serves it, at `folder/path`. Neither reads nor fills the user's cache."""
        cache = folder / ".cache"
        return Path(
            self.ask(
                lambda: self.api.hf_hub_download(
                    self.name, path, revision=commit, repo_type=DATASET, local_dir=folder, cache_dir=cache
                )
            )
        )

    def read_back(self, commit: str, ours: dict[str, _File]) -> None:
        """What the Hub serves at `commit` is what was published. One file at a time lies on the disk."""
        not_tagged = f"commit {commit[:8]} is not tagged as a version; run again"
        if differ := sorted(self.files(commit).keys() ^ ours.keys()):
            raise Failed(f"{self.name}: the Hub's files are not those of the release ({differ[0]}); {not_tagged}")
        with tempfile.TemporaryDirectory() as folder:
            for path, file in ours.items():
                served = self.download(commit, path, Path(folder))
                if checksum(served) != file.sha256:
                    raise Failed(f"{self.name}: {path} is served with other bytes than were published; {not_tagged}")
                served.unlink()

    def tag(self, commit: str, version: str, ours: dict[str, _File]) -> None:
        """`version` names `commit`. Of two publications the first tag stays."""

        def there() -> bool | None:
            _, tags = self.refs()
            if version not in tags:
                return None
            self.insist(tags[version], version, ours)
            return True

        def create() -> bool:
            self.api.create_tag(self.name, tag=version, revision=commit, repo_type=DATASET)
            return True

        self.ask(create, there)

    def _trouble(self, error: Exception) -> "_Trouble":
        """What went wrong, in one line of ours; of the Hub's words only what it says to a request it refuses."""
        response = _refusal(error)
        if response is None:
            return self._without_answer(error)
        status = response.status_code
        if status in _PASSING:
            asked = _asked_wait(response)
            later = f"; it asks to wait {asked:.0f} s" if asked else ""
            return _Trouble(f"{self.name}: the Hub answers {_status(status)}{later}; run again later", True)
        if status == HTTPStatus.PRECONDITION_FAILED:
            said = "somebody else is committing; nothing of theirs was changed; run again"
        elif any(isinstance(one, RepositoryNotFoundError) for one in _causes(error)):
            said = f"no such dataset at {self.api.endpoint} that the token opens; check the name and HF_TOKEN"
        elif status == HTTPStatus.UNAUTHORIZED:
            said = "the Hub does not take the token; put one that may write there in HF_TOKEN"
        elif status == HTTPStatus.FORBIDDEN:
            said = "the token may not write there; put one that may in HF_TOKEN"
        else:
            said = f"the Hub refuses with {_status(status)}: {self._words(error)}"
        return _Trouble(f"{self.name}: {said}", False)

    def _without_answer(self, error: Exception) -> "_Trouble":
        """Trouble of the connection, of our disk, or of an answer that could not be read."""
        causes = list(_causes(error))
        if any(isinstance(one, HTTPError | ConnectionError | TimeoutError) for one in causes):
            kind = type(causes[-1]).__name__
            return _Trouble(f"{self.name}: {self.api.endpoint} does not answer ({kind}); check the network", True)
        if isinstance(error, OSError) and error.errno is not None:
            return _Trouble(f"{error.filename or self.name}: {error.strerror}; mend that, then run again", False)
        return _Trouble(f"{self.name}: the Hub's client stops: {self._words(error)}", True)

    @staticmethod
    def _words(error: Exception) -> str:
        """The error's own words on one line, without the token should they repeat it."""
        words = error.server_message or "without a reason" if isinstance(error, HfHubHTTPError) else str(error)
        token = get_token()
        return _line(words.replace(token, "(token)") if token else words)


def _quiet() -> None:
    """From now on no signed address in a log, where the client and its transport put each, and no bar in a file."""
    for name in ("huggingface_hub", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if not sys.stderr.isatty() and not are_progress_bars_disabled():
        disable_progress_bars()


@dataclass(frozen=True)
class _Trouble:
    said: str
    passing: bool
    """Whether asking again may help."""


def _release_files(folder: Path) -> dict[str, _File]:
    """The files of a release by their paths in the repository. Raises `WrongInput` for what a release has not."""
    if not (folder / "README.md").is_file():
        raise WrongInput(f"{folder}: no README.md there; name the folder of a release")
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts):
            raise WrongInput(f"{path}: hidden files are no part of a release; remove it")
        if path.is_file():
            files[name.as_posix()] = _File(checksum(path), _blob(path))
    return files


def _blob(path: Path) -> str:
    """Git's name of the file's content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _versions(tags: dict[str, str]) -> list[str]:
    return sorted(filter(is_version, tags), key=parsed_version)


def _claim(version: str) -> str:
    """The line in a commit's description by which it is known to be of `version`."""
    return f"Release: {version}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _refusal(error: Exception) -> Response | None:
    """The Hub's answer that made the error, however the client wrapped it."""
    return next((one.response for one in _causes(error) if isinstance(one, HfHubHTTPError)), None)


def _asked_wait(response: Response) -> float:
    """How long the Hub asks to wait, in seconds; 0 where it does not."""
    if response.status_code not in _PASSING:
        return 0.0
    limit = parse_ratelimit_headers(response.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def _refuse_long_wait(response: Response) -> None:
    """A hook of the client's session, whose own retries would wait for as long as they are asked to."""
    if _asked_wait(response) > LONGEST_WAIT_S:
        response.read()
        hf_raise_for_status(response)


def _status(code: int) -> str:
    return f"{code} {HTTPStatus(code).phrase}" if code in HTTPStatus._value2member_map_ else str(code)


def _line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARACTERS]
