"""Keys and passwords in texts: what a message, a log or a traceback must not show, and how they are found.

Known are the values of the environment's secrets, keys by the beginnings that their makers give them, and what stands
in an address where a password or a key stands.
"""

import logging
import os
import re
import traceback
from typing import Any

HIDDEN = "***"
SHORTEST = 8
"""A shorter value of the environment may be part of any text, so no message hides it."""
LONGEST_USER = 15
"""A longer name in front of a host, without a password, may be a token."""

_RUN = r"(?=[A-Za-z0-9]{16})(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]"
"""Begins sixteen letters and digits, of which there are both: no word of a file's name."""
_KEY = re.compile(
    rf"(?<![A-Za-z0-9])(?:sk-[\w-]*?{_RUN}|hf_[A-Za-z0-9]{{20}}|(?:AKIA|ASIA)[A-Z0-9]{{16}}|gh[oprsu]_[A-Za-z0-9]{{30}}|"
    r"github_pat_\w{30}|glpat-[\w-]{20}|gsk_[A-Za-z0-9]{30}|AIza[\w-]{35}|nvapi-[\w-]{30}|xai-[A-Za-z0-9]{30}|"
    r"xox[a-z]-[\w-]{10}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10})[\w-]*"
)
"""Of OpenAI and many others, Hugging Face, AWS, GitHub, GitLab, Groq, Google, NVIDIA, xAI, Slack; JSON Web Tokens."""
_TOKEN = re.compile(r"(?<![\w/-])(?=[A-Za-z0-9]{20})(?=(?:[A-Za-z]*\d+){3}[A-Za-z])[A-Za-z0-9]{20}[\w-]*+(?!/)")
"""Twenty letters and digits, mixed more than once."""
_USER = re.compile(r"(?<=://)(?:[^/?#\s]*|[^:/?#\s]*:(?!\d+[/?#])[^\s'\"]*)@")
_NAMES = (
    "key|token|secret|password|passwd|passphrase|pwd|signature|credentials?|authorization|"
    "(?<![a-z])auth|(?<![a-z])pass|(?<![a-z])sig"
)
_NAME = re.compile(rf"(?:{_NAMES})$", re.IGNORECASE)
_VALUE = re.compile(rf"([?&;][\w.-]*(?:{_NAMES})=)[^&;#\s'\"]+", re.IGNORECASE)
_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|AUTH_STRING)$", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """Return the text with `***` for each secret in it."""
    for secret in sorted(_environment(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = _KEY.sub(HIDDEN, text)
    if "://" in text:
        text = _USER.sub(lambda match: match[0] if _is_user(match[0][:-1]) else f"{HIDDEN}@", text)
    return _VALUE.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def without_tokens(text: str) -> str:
    """Return the text with `***` also for what may be a token of no known form: for texts that hold names alone."""
    return _TOKEN.sub(HIDDEN, without_secrets(text))


def is_secret(text: str) -> bool:
    """Return whether a key, or an address with a password, is in the text."""
    return bool(_KEY.search(text)) or any(":" in match[0] for match in _USER.finditer(text))


def names_secret(name: str) -> bool:
    """Return whether what has this name is a secret: `api_key`, `Authorization`."""
    return bool(_NAME.search(name))


def hide_in_logs() -> None:
    """Hide secrets in what this process logs from now on, wherever a handler takes it."""
    logging.setLogRecordFactory(_record)


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = logging.LogRecord(*args, **kwargs)
    try:
        text = record.getMessage()
    except (TypeError, ValueError):  # the handler reports it
        return record
    if (shown := without_secrets(text)) != text:
        record.msg, record.args = shown, ()
    if record.exc_info and record.exc_info[1] is not None:
        trace = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
        if (shown := without_secrets(trace)) != trace:
            record.exc_text = shown  # formatters take it for what they have formatted before
    return record


def _environment() -> set[str]:
    """Return the values of the environment's secrets; a path to a key is none."""
    values = {os.environ[name] for name in os.environ if _VARIABLE.search(name)}
    return {value for value in values if len(value) >= SHORTEST and value[0] not in "/.~"}


def _is_user(name: str) -> bool:
    return ":" not in name and len(name) <= LONGEST_USER
