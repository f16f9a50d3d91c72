"""Checks that a release can be published before any work is done for it: the token, and its rights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from huggingface_hub import get_token
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from data.publish.hub_repository import DATASET, Repository
from schemas.errors import WrongInput

READS = "read"
"""The role of a token, or of a member of an organisation, that may not write."""


@dataclass(frozen=True)
class _Account:
    """The Hub's answer about a token."""

    name: str
    owners: Sequence[str]
    """The names under which its account may make datasets."""
    reads_only: bool


def access_problems(repo: str) -> Sequence[str]:
    """Return what has to be set before the dataset `repo` (OWNER/NAME) can be published, a line for each.

    Changes nothing on the Hub. Whether a fine-grained token may make a dataset that does not exist yet, the Hub says
    only when it is made. Raises `Failed` if the Hub does not answer.
    """
    try:
        hub = Repository(repo)
    except WrongInput as error:
        return [str(error)]
    if get_token() is None:
        return [f"HF_TOKEN: is not set; put a token there that may write to {repo}, or take out the repository"]
    account = hub.ask(lambda: _account(hub))
    if account is None:
        return [f"HF_TOKEN: {hub.api.endpoint} does not take this token; put one there that may write to {repo}"]
    may_write, owner = hub.ask(lambda: _may_write(hub)), repo.partition("/")[0]
    if may_write is False or (may_write is None and account.reads_only):
        return [f"{repo}: the token of {account.name} may not write there; put one that may in HF_TOKEN"]
    if may_write is None and owner not in account.owners:
        return [
            f"{repo}: there is no such dataset that the token of {account.name} opens, and it may make none under "
            f"{owner}; it may under {', '.join(account.owners)}"
        ]
    return []


def _account(hub: Repository) -> _Account | None:
    """Return the account of the token; None if the Hub does not take the token."""
    try:
        answer = hub.api.whoami()
    except HfHubHTTPError as error:
        if error.response.status_code == HTTPStatus.UNAUTHORIZED:
            return None
        raise
    token: Mapping[str, str] = answer.get("auth", {}).get("accessToken") or {}
    orgs = [org["name"] for org in answer.get("orgs", ()) if org.get("roleInOrg") != READS]
    return _Account(answer["name"], (answer["name"], *orgs), token.get("role") == READS)


def _may_write(hub: Repository) -> bool | None:
    """Return whether the token may write to the dataset; None if there is none that it opens."""
    try:
        hub.api.auth_check(hub.name, repo_type=DATASET, write=True)
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == HTTPStatus.FORBIDDEN:
            return False
        if isinstance(error, RepositoryNotFoundError) or status == HTTPStatus.NOT_FOUND:
            return None
        raise
    return True
