"""The login of the project's own pages, in a file that its owner alone can read."""

import fcntl
import os
import re
import secrets
from pathlib import Path

NAME = "touchstone"
FILE = "login"
PASSWORD_BYTES = 24
LOGIN = re.compile(rf"{NAME}:[A-Za-z0-9_-]{{32}}\n")
FOR_OTHERS = 0o077


def new_login() -> str:
    """Return a new login, as name:password."""
    return f"{NAME}:{secrets.token_urlsafe(PASSWORD_BYTES)}"


def login_file(state: Path) -> Path:
    """Return where the login of a project is, by the folder of its state."""
    return state / "keys" / FILE


def kept_login(state: Path) -> str:
    """Return the project's login. It is made on first use, and anew if others could read the file. Raises `OSError`."""
    path = login_file(state)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Private from the first byte, and under a lock: two commands that come together have the same login.
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_mode & FOR_OTHERS:
            path.unlink(missing_ok=True)
            return kept_login(state)
        kept = file.read()
        if not LOGIN.fullmatch(kept):  # new, or cut off by a kill
            file.seek(0)
            file.truncate()
            kept = f"{new_login()}\n"
            file.write(kept)
    return kept.strip()
