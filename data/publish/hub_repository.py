"""A dataset repository on the Hugging Face Hub. Requests are repeated while their trouble may pass."""

import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from httpx2 import HTTPError, Response
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError
from huggingface_hub.hf_api import GitCommitInfo, RepoFile
from huggingface_hub.utils import (
    are_progress_bars_disabled,
    disable_progress_bars,
    get_session,
    hf_raise_for_status,
    parse_ratelimit_headers,
    validate_repo_id,
)

from data.checksum import checksum
from data.publish.folder import MANIFEST
from data.temporary_folder import temporary_folder
from schemas.errors import Failed, WrongInput

DATASET = "dataset"
BRANCH = "main"
CLAIM = "Release: "
"""Begins the line in a commit's description that marks it as a version."""
HUBS_OWN = ".gitattributes"
"""Made by the Hub with the repository: never changed, deleted or compared."""
WAITS_S = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try, if the Hub asks for no other wait."""
QUIET_S = 120.0
"""Seconds for which the Hub may send nothing; the client itself would wait for ever."""
AT_WORK = timedelta(minutes=15)
"""How long an untagged commit of a version counts as another publication in progress, not as a finished one."""
LONGEST_WAIT_S = 300.0
"""The longest wait in seconds that the Hub may ask for: its rate limits count windows of 5 minutes."""
SHOWN_CHARACTERS = 300
"""How much of the Hub's own message an error shows."""
CLIENT_ERRORS = (HTTPError, OSError, RuntimeError, ValueError)
"""Errors that the client raises: for HTTP and transport, downloads, uploads (which wrap others), unreadable answers."""

_PASSING = frozenset({408, 429, 500, 502, 503, 504})

T = TypeVar("T")


@dataclass(frozen=True)
class File:
    """A file's content by the two names under which the Hub may know it."""

    sha256: str
    blob: str
    """Git's name: the SHA-1 of a header and the content."""

    def is_at(self, digest: str | None) -> bool:
        """Return whether this is the content that the Hub has under that name."""
        return digest in (self.sha256, self.blob)

    @classmethod
    def of(cls, path: Path) -> "File":
        """Return both names of a file's content."""
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
        return cls(checksum(path), digest.hexdigest())


class Repository:
    """A dataset on the Hub."""

    def __init__(self, name: str) -> None:
        try:
            validate_repo_id(name)
        except HFValidationError as error:
            raise WrongInput(f"{_one_line(str(error))}; expected a dataset as OWNER/NAME") from None
        if "/" not in name:
            raise WrongInput(f"{name}: expected a dataset as OWNER/NAME")
        token = get_token()
        if token and not (token.isascii() and token.isprintable()):  # the client would show it in its error
            raise WrongInput("HF_TOKEN: has characters that no token has; copy it again")
        _quiet()
        self.name = name
        self.api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))

    def ask(self, call: Callable[[], T], resolved: Callable[[], T | None] = lambda: None) -> T:
        """Return the answer to `call`, repeating it while the trouble may pass.

        After each failure `resolved` says whether the call took effect all the same. Raises `Failed` without the
        client's error, which may quote what was sent.
        """
        for wait in chain(WAITS_S, repeat(None)):
            session = get_session()
            session.timeout = QUIET_S
            if _refuse_long_wait not in session.event_hooks["response"]:
                session.event_hooks["response"].append(_refuse_long_wait)
            try:
                return call()
            except (LookupError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
                raise Failed(
                    f"{self.name}: {self.api.endpoint} does not answer as the Hub does ({type(error).__name__}); "
                    "correct HF_ENDPOINT, or unset it"
                ) from error
            except CLIENT_ERRORS as error:
                asked, trouble = _refusal(error), _trouble_of(error, self.name, self.api.endpoint)
            if (done := resolved()) is not None:
                return done
            asks_s = _asked_wait(asked) if asked else 0.0
            if not trouble.passing or wait is None or asks_s > LONGEST_WAIT_S:
                raise Failed(trouble.message)
            time.sleep(max(wait, asks_s))
        raise AssertionError("endless")

    def is_private(self) -> bool | None:
        """Return whether the repository is private; None if it does not exist."""

        def look() -> bool | None:
            try:
                return bool(self.api.dataset_info(self.name).private)
            except RepositoryNotFoundError:
                return None

        return self.ask(look)

    def make(self, private: bool) -> None:
        """Create the repository if it does not exist. Raises `Failed` if it is public and `private` is asked for."""
        is_private = self.is_private()
        if is_private is None:
            self.ask(lambda: self.api.create_repo(self.name, repo_type=DATASET, private=private, exist_ok=True))
        elif private and not is_private:
            raise Failed(f"{self.name}: is public on the Hub, and a private release was asked for; name another")

    def refs(self) -> tuple[str, dict[str, str]]:
        """Return the head of the branch and the commit of each tag, at the same moment."""
        refs = self.ask(lambda: self.api.list_repo_refs(self.name, repo_type=DATASET))
        head = next((branch.target_commit for branch in refs.branches if branch.name == BRANCH), None)
        if head is None:
            raise Failed(f"{self.name}: has no branch {BRANCH}; make it on the Hub, then run again")
        return head, {tag.name: tag.target_commit for tag in refs.tags}

    def files(self, commit: str) -> dict[str, str]:
        """Return path -> digest of the files at a commit, without the Hub's own."""
        tree = self.ask(
            lambda: list(self.api.list_repo_tree(self.name, recursive=True, revision=commit, repo_type=DATASET))
        )
        files = (entry for entry in tree if isinstance(entry, RepoFile) and entry.path != HUBS_OWN)
        return {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files}

    def holds(self, commit: str, ours: dict[str, File]) -> bool:
        """Return whether a commit has our files, byte for byte, whatever people have put beside them."""
        files = self.files(commit)
        return all(file.is_at(files.get(path)) for path, file in ours.items())

    def last_version(self, head: str, tags: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return the commit of the last version on the branch that ends at `head`, and its files; empty if none.

        Its publication may have ended before the tag. If the history of the branch was made anew, it is the latest of
        `tags` (version -> commit, the earliest first).
        """
        marked = (
            commit.commit_id
            for commit in self.history(head)
            if commit.commit_id in tags.values()
            or any(line.startswith(CLAIM) for line in commit.message.splitlines())
        )  # fmt: skip
        for commit in chain(marked, reversed(list(tags.values()))):
            if MANIFEST in (files := self.files(commit)):
                return commit, files
        return "", {}

    def history(self, head: str) -> list[GitCommitInfo]:
        """Return the commits up to `head`, the latest first."""
        return self.ask(lambda: self.api.list_repo_commits(self.name, revision=head, repo_type=DATASET))

    def insist(self, commit: str, version: str, ours: dict[str, File]) -> None:
        """Raise `Failed` if the tagged commit of `version` has other files: another release with the same number."""
        if not self.holds(commit, ours):
            raise Failed(f"{self.name}: version {version} is published with other bytes; publish a later version")

    def untagged_commit(self, head: str, version: str, ours: dict[str, File]) -> str | None:
        """Return the untagged commit with our files, if its answer was lost or its publication ended before the tag.

        Files of other people may be beside ours.

        Raises `Failed` if a commit of the same version with other bytes is so recent that its publication may still
        be running: one version would have two commits.
        """
        for commit in self.history(head):
            if _claim(version) not in commit.message.splitlines():
                continue
            if self.holds(commit.commit_id, ours):
                return commit.commit_id
            if (free := commit.created_at + AT_WORK) > datetime.now(UTC):
                raise Failed(
                    f"{self.name}: another run is publishing {version} with other bytes (commit "
                    f"{commit.commit_id[:8]}); run again after {free:%H:%M} UTC, or publish a later version"
                )
        return head if self.holds(head, ours) else None

    def commit(
        self, folder: Path, ours: dict[str, File], gone: Iterable[str], parent: str, version: str, message: str
    ) -> str:
        """Write our files and delete those that are `gone` in one commit on `parent`; others stay.

        Raises `Failed` if the head is no longer `parent`.
        """
        files = self.files(parent)
        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
            *(
                CommitOperationAdd(path, folder / path)
                for path, file in ours.items()
                if not file.is_at(files.get(path))
            ),
            *(CommitOperationDelete(path, is_folder=False) for path in sorted(gone) if path in files),
        ]

        def applied() -> str | None:
            head, _ = self.refs()
            if head == parent:
                return None
            commit = self.untagged_commit(head, version, ours)
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
        """Download a file to `folder/path`, without reading or filling the user's cache."""
        cache = folder / ".cache"
        return Path(
            self.ask(
                lambda: self.api.hf_hub_download(
                    self.name, path, revision=commit, repo_type=DATASET, local_dir=folder, cache_dir=cache
                )
            )
        )

    def read(self, commit: str, path: str) -> bytes:
        """Return the content of a file."""
        with temporary_folder() as folder:
            return self.download(commit, path, folder).read_bytes()

    def read_back(self, commit: str, ours: dict[str, File]) -> None:
        """Raise `Failed` if the Hub serves our files otherwise at `commit`. One file at a time is on the disk."""
        not_tagged = f"commit {commit[:8]} is not tagged as a version; run again"
        if missing := sorted(ours.keys() - self.files(commit).keys()):
            raise Failed(f"{self.name}: the Hub left out files of the release ({missing[0]}); {not_tagged}")
        with temporary_folder() as folder:
            for path, file in ours.items():
                served = self.download(commit, path, folder)
                if checksum(served) != file.sha256:
                    raise Failed(f"{self.name}: {path} is served with other bytes than were published; {not_tagged}")
                served.unlink()

    def tag(self, commit: str, version: str, ours: dict[str, File]) -> None:
        """Tag `commit` as `version`. Of two publications, the first tag stays."""

        def tagged() -> bool | None:
            _, tags = self.refs()
            if version not in tags:
                return None
            self.insist(tags[version], version, ours)
            return True

        def create() -> bool:
            self.api.create_tag(self.name, tag=version, revision=commit, repo_type=DATASET)
            return True

        self.ask(create, tagged)


def _quiet() -> None:
    """Keep signed addresses, which the client and its transport log, out of logs, and progress bars out of files."""
    for name in ("huggingface_hub", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if not sys.stderr.isatty() and not are_progress_bars_disabled():
        disable_progress_bars()


def _claim(version: str) -> str:
    """Return the line that marks a commit as `version`."""
    return f"{CLAIM}{version}"


# ---- trouble: whether asking again may help, and one line about it that holds no secret ----


@dataclass(frozen=True)
class _Trouble:
    message: str
    passing: bool
    """Whether asking again may help."""


def _trouble_of(error: Exception, name: str, endpoint: str) -> _Trouble:
    """Return the trouble in our words; the Hub's own are repeated only if it refuses a request for another reason."""
    response = _refusal(error)
    if response is None:
        return _without_answer(error, name, endpoint)
    status = response.status_code
    if status in _PASSING:
        asked = _asked_wait(response)
        later = f"; it asks to wait {asked:.0f} s" if asked else ""
        return _Trouble(f"{name}: the Hub answers {_status(status)}{later}; run again later", True)
    if status == HTTPStatus.PRECONDITION_FAILED:
        message = "somebody else is committing; nothing of theirs was changed; run again"
    elif any(isinstance(cause, RepositoryNotFoundError) for cause in _causes(error)):
        message = f"no such dataset at {endpoint} that the token opens; check the name and HF_TOKEN"
    elif status == HTTPStatus.UNAUTHORIZED:
        message = "the Hub does not take the token; put one that may write there in HF_TOKEN"
    elif status == HTTPStatus.FORBIDDEN:
        message = "the token may not write there; put one that may in HF_TOKEN"
    else:
        message = f"the Hub refuses with {_status(status)}: {_words(error)}"
    return _Trouble(f"{name}: {message}", False)


def _without_answer(error: Exception, name: str, endpoint: str) -> _Trouble:
    """Return trouble with the connection, our disk, or an unreadable answer."""
    causes = list(_causes(error))
    if any(isinstance(cause, HTTPError | ConnectionError | TimeoutError) for cause in causes):
        kind = type(causes[-1]).__name__
        return _Trouble(f"{name}: {endpoint} does not answer ({kind}); check the network", True)
    if isinstance(error, OSError) and error.errno is not None:
        return _Trouble(f"{error.filename or name}: {error.strerror}; correct that, then run again", False)
    return _Trouble(f"{name}: the Hub's client stops: {_words(error)}", True)


def _words(error: Exception) -> str:
    """Return the error's own words on one line, without the token in case they repeat it."""
    words = error.server_message or "without a reason" if isinstance(error, HfHubHTTPError) else str(error)
    token = get_token()
    return _one_line(words.replace(token, "(token)") if token else words)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _refusal(error: Exception) -> Response | None:
    """Return the Hub's answer behind an error, however the client wrapped it."""
    return next((cause.response for cause in _causes(error) if isinstance(cause, HfHubHTTPError)), None)


def _asked_wait(response: Response) -> float:
    """Return how many seconds the Hub asks to wait; 0 if it does not."""
    if response.status_code not in _PASSING:
        return 0.0
    limit = parse_ratelimit_headers(response.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def _refuse_long_wait(response: Response) -> None:
    """Raise for an answer that asks for a long wait: a hook in the client's session, whose retries would wait."""
    if _asked_wait(response) > LONGEST_WAIT_S:
        response.read()
        hf_raise_for_status(response)


def _status(code: int) -> str:
    return f"{code} {HTTPStatus(code).phrase}" if code in HTTPStatus._value2member_map_ else str(code)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARACTERS]
