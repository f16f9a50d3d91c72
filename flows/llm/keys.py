"""The API key of a server: read from the environment, and hidden where the server repeats it."""

import os
import re
from itertools import groupby

from flows.llm.model import ModelSetupError

NO_KEY = "no-key"
"""Sent to a server without keys, because the protocol requires one."""
SHORTEST_SECRET = 8
"""A shorter key may be part of any text, so no message hides it."""
FEWEST_AT_MASK = 4
"""This many characters of a key around a mask (`...`, `****`) are parts of the key, not a coincidence."""
_MASK = re.compile(r"\.{2,}|…+|[*•xX#]{3,}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


class ApiKeyError(ModelSetupError):
    """The environment variable that should hold a model's key does not hold one."""


def api_key(variable: str | None) -> str:
    """The key in this environment variable; `NO_KEY` without a variable. Raises `ApiKeyError`."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ApiKeyError(
            f"the environment variable {variable} (api_key_env) holds no key; set it, or remove api_key_env "
            "for a server without keys"
        )
    if not (key.isascii() and key.isprintable()):
        raise ApiKeyError(f"the environment variable {variable} holds characters that no key has; set it again")
    return key


def without_key(text: str, key: str) -> str:
    """`text` without the key or parts of it, also where JSON writes its characters as numbers."""
    if key == NO_KEY or len(key) < SHORTEST_SECRET:
        return text
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "\\u" in text else text
    hidden = without_parts(plain, key)
    return text if hidden == plain else hidden


def without_parts(text: str, key: str) -> str:
    """`text` with `***` for each part of the key: `SHORTEST_SECRET` characters of it or more, or fewer around a mask.

    Servers repeat a wrong key as `sk-abc...xyz` or `sk-abc****wxyz`, so that its user can tell which key it was.
    """
    hidden = bytearray(len(text))
    pieces = {key[start : start + SHORTEST_SECRET] for start in range(len(key) - SHORTEST_SECRET + 1)}
    for start in range(len(text) - SHORTEST_SECRET + 1):
        if text[start : start + SHORTEST_SECRET] in pieces:
            hidden[start : start + SHORTEST_SECRET] = b"\1" * SHORTEST_SECRET
    for mask in _MASK.finditer(text):
        before = next(n for n in range(len(key), -1, -1) if text[: mask.start()].endswith(key[:n]))
        after = next(n for n in range(len(key) + 1) if text.startswith(key[n:], mask.end()))
        start, end = mask.start() - before, mask.end() + len(key) - after
        if before + len(key) - after >= FEWEST_AT_MASK:
            hidden[start:end] = b"\1" * (end - start)
    runs = groupby(zip(hidden, text, strict=True), key=lambda pair: pair[0])
    return "".join("***" if is_hidden else "".join(sign for _, sign in run) for is_hidden, run in runs)
