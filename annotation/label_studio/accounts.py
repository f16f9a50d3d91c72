"""Accounts on Label Studio: the owner's and the people's, with passwords in files that only their owner may read."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from schemas.base import Frozen
from schemas.errors import Failed, WrongInput

if TYPE_CHECKING:
    from annotation.label_studio.client import Client

OWNER_EMAIL = "owner@touchstone.local"
OWNER_FILE = "owner.json"
PEOPLE_FILE = "people.txt"
PASSWORD_BYTES = 12
TOKEN_BYTES = 20
"""Label Studio's own tokens are 40 hexadecimal digits."""


class Owner(Frozen):
    """The local server's first account."""

    email: str
    password: str = Field(repr=False)
    token: str = Field(repr=False)


class Login(Frozen):
    """A person's login on the local server."""

    code: str = Field(description="The person's code, which our files use instead of a name")
    email: str = Field(description="In lower case, as on the server")
    password: str = Field(repr=False)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, all or nothing. Raises `OSError`."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        # Private from the first byte: a file that is made private later could be read in between.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_owner(folder: Path) -> Owner | None:
    """Return the owner of the server under `folder`; None if there is none yet. Raises `Failed` for a damaged file."""
    path = folder / OWNER_FILE
    try:
        return Owner.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Failed(f"{path}: damaged; restore a copy: it holds the owner's password and key") from error


def make_owner(folder: Path) -> Owner:
    """Make a new owner, with a random password and key, and keep it under `folder`."""
    owner = Owner(
        email=OWNER_EMAIL, password=secrets.token_urlsafe(PASSWORD_BYTES), token=secrets.token_hex(TOKEN_BYTES)
    )
    write_private(folder / OWNER_FILE, owner.model_dump_json())
    return owner


def accounts(client: "Client", people: Mapping[str, str], folder: Path | None) -> Mapping[int, str]:
    """Return the person's code of each account, by number; `people` is code -> e-mail address.

    On the local server, whose state is in `folder`, missing accounts are made, and `people.txt` there has everybody's
    login. A person keeps their account and password whatever happens to the configuration: their work refers to it, and
    stays theirs if their address changes. On another server (`folder` is None) people join by its invitation.

    This edition of Label Studio has no roles: everybody with an account can open every project and all work in it.

    Raises `Failed` for people without an account on another server, `WrongInput` for a person who had another code, and
    the client's errors.
    """
    if owner := next((code for code, email in people.items() if email.lower() == OWNER_EMAIL), None):
        raise WrongInput(f"annotation.people.{owner}: {OWNER_EMAIL} is the owner's; give the person's own address")
    users, logins = client.users(), list[Login]()
    missing = {code: email for code, email in people.items() if email.lower() not in users}
    if folder is not None:
        logins = _make(client, folder, people, missing)
    elif missing:
        who = ", ".join(f"{code} ({email})" for code, email in missing.items())
        raise Failed(f"{client.url}: no account for {who}; invite them from its Organization page")
    users = client.users() if missing else users
    before = {users[login.email]: login.code for login in logins if login.email in users and login.code in people}
    return {**before, **{users[email.lower()]: code for code, email in people.items()}}


def _make(client: "Client", folder: Path, people: Mapping[str, str], missing: Mapping[str, str]) -> list[Login]:
    """Make the missing accounts, and write down everybody's login, those of earlier people too."""
    path = folder / PEOPLE_FILE
    logins = {login.email: login for login in _read_logins(path)}
    for code, email in people.items():
        before = logins.get(email.lower())
        if before is not None and before.code != code and before.code not in people:
            raise WrongInput(
                f"annotation.people.{code}: this person's code was {before.code} ({path}), and their work is under it; "
                f"keep the code: write {before.code}"
            )
        if before is not None or code in missing:
            password = before.password if before else secrets.token_urlsafe(PASSWORD_BYTES)
            logins[email.lower()] = Login(code=code, email=email.lower(), password=password)
    # Written before it is used: an account whose password was lost in a kill would be useless.
    head = f"# Log in at {client.url}/user/login/\n# code\te-mail\tpassword\n"
    lines = (f"{login.code}\t{login.email}\t{login.password}\n" for login in logins.values())
    write_private(path, head + "".join(lines))
    for email in missing.values():
        client.sign_up(email, logins[email.lower()].password)
    return list(logins.values())


def _read_logins(path: Path) -> list[Login]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    if any(len(row) != len(Login.model_fields) for row in rows):
        raise Failed(f"{path}: damaged: expected a code, an e-mail address and a password per line; restore a copy")
    return [Login(code=code, email=email, password=password) for code, email, password in rows]
