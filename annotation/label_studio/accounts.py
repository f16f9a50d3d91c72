"""Who logs in to Label Studio: the owner and the people, with passwords in files that only their owner may read."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from schemas.base import Frozen
from schemas.errors import Failed

if TYPE_CHECKING:
    from annotation.label_studio.client import Client

OWNER_EMAIL = "owner@touchstone.local"
OWNER_FILE = "owner.json"
PEOPLE_FILE = "people.txt"
PASSWORD_BYTES = 12
TOKEN_BYTES = 20
"""Label Studio's own tokens are 40 hexadecimal digits."""


class Owner(Frozen):
    """The account that the local server is made with."""

    email: str
    password: str = Field(repr=False)
    token: str = Field(repr=False)


class Account(Frozen):
    """A person's account on the local server."""

    code: str = Field(description="The person's code, which stands in our files in place of a name")
    email: str
    id: int = Field(description="The server's number of the account; annotations have it as `completed_by`")
    password: str | None = Field(repr=False, description="None where the account was there before, made by another")


def write_private(path: Path, text: str) -> None:
    """Write a whole file that only its owner may read, or none of it. Raises `OSError`."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    try:
        # The mode holds from the first byte on; a file made first and closed to others later could be read between.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_owner(folder: Path) -> Owner | None:
    """The owner of the server under `folder`; None where none was made. Raises `Failed` for a damaged file."""
    path = folder / OWNER_FILE
    try:
        return Owner.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Failed(f"{path}: damaged; put back a copy of it: it holds the owner's password and key") from error


def make_owner(folder: Path) -> Owner:
    """A new owner, with a password and a key that nobody knows yet, kept under `folder`."""
    owner = Owner(
        email=OWNER_EMAIL, password=secrets.token_urlsafe(PASSWORD_BYTES), token=secrets.token_hex(TOKEN_BYTES)
    )
    write_private(folder / OWNER_FILE, owner.model_dump_json())
    return owner


def accounts(client: "Client", people: Mapping[str, str], folder: Path) -> Mapping[str, Account]:
    """The account of each person of `people` (code -> e-mail), made where there is none, by code.

    How each logs in stands in `people.txt` under `folder`. Who has an account keeps it, with its password, whatever
    happens to the configuration: their work refers to it. This edition of Label Studio has no roles: whoever has an
    account sees every project, with all that the others did there.

    Raises `Failed` where the server does not take an account, and the client's errors.
    """
    known = _passwords(folder / PEOPLE_FILE)
    there = client.users()
    for code, email in people.items():
        if email.lower() in there:
            continue
        # Kept before it is used: an account whose password was lost with a kill would be of no use.
        known[email.lower()] = (code, known.get(email.lower(), ("", secrets.token_urlsafe(PASSWORD_BYTES)))[1])
        _write_people(folder / PEOPLE_FILE, client.url, known)
        client.sign_up(email, known[email.lower()][1])
    for code, email in people.items():
        if email.lower() in known:
            known[email.lower()] = (code, known[email.lower()][1])
    _write_people(folder / PEOPLE_FILE, client.url, known)
    there = client.users()
    return {
        code: Account(code=code, email=email, id=there[email.lower()], password=known.get(email.lower(), ("", None))[1])
        for code, email in people.items()
    }


def _passwords(path: Path) -> dict[str, tuple[str, str]]:
    """(code, password) by e-mail."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    if any(len(row) != 3 for row in rows):
        raise Failed(f"{path}: damaged: expected a code, an e-mail and a password a line; put back a copy of it")
    return {email: (code, password) for code, email, password in rows}


def _write_people(path: Path, url: str, known: Mapping[str, tuple[str, str]]) -> None:
    head = f"# Log in at {url}/user/login/\n# code\te-mail\tpassword\n"
    write_private(path, head + "".join(f"{code}\t{email}\t{password}\n" for email, (code, password) in known.items()))
