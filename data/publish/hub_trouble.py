"""What goes wrong with the Hub: whether asking again may help, and one line about it that holds no secret."""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from httpx2 import HTTPError, Response
from huggingface_hub import get_token
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.utils import hf_raise_for_status, parse_ratelimit_headers

LONGEST_WAIT_S = 300.0
"""The longest wait in seconds that the Hub may ask for: its rate limits count windows of 5 minutes."""
SHOWN_CHARACTERS = 300
"""How much of the Hub's own message an error shows."""
CLIENT_ERRORS = (HTTPError, OSError, RuntimeError, ValueError)
"""Errors that the client raises: for HTTP and transport, downloads, uploads (which wrap others), unreadable answers."""

_PASSING = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Trouble:
    message: str
    passing: bool
    """Whether asking again may help."""


def trouble_of(error: Exception, name: str, endpoint: str) -> Trouble:
    """Return the trouble in our words; the Hub's own are repeated only if it refuses a request for another reason."""
    response = refusal(error)
    if response is None:
        return _without_answer(error, name, endpoint)
    status = response.status_code
    if status in _PASSING:
        asked = asked_wait(response)
        later = f"; it asks to wait {asked:.0f} s" if asked else ""
        return Trouble(f"{name}: the Hub answers {_status(status)}{later}; run again later", True)
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
    return Trouble(f"{name}: {message}", False)


def _without_answer(error: Exception, name: str, endpoint: str) -> Trouble:
    """Return trouble with the connection, our disk, or an unreadable answer."""
    causes = list(_causes(error))
    if any(isinstance(cause, HTTPError | ConnectionError | TimeoutError) for cause in causes):
        kind = type(causes[-1]).__name__
        return Trouble(f"{name}: {endpoint} does not answer ({kind}); check the network", True)
    if isinstance(error, OSError) and error.errno is not None:
        return Trouble(f"{error.filename or name}: {error.strerror}; mend that, then run again", False)
    return Trouble(f"{name}: the Hub's client stops: {_words(error)}", True)


def _words(error: Exception) -> str:
    """Return the error's own words on one line, without the token in case they repeat it."""
    words = error.server_message or "without a reason" if isinstance(error, HfHubHTTPError) else str(error)
    token = get_token()
    return one_line(words.replace(token, "(token)") if token else words)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def refusal(error: Exception) -> Response | None:
    """Return the Hub's answer behind an error, however the client wrapped it."""
    return next((cause.response for cause in _causes(error) if isinstance(cause, HfHubHTTPError)), None)


def asked_wait(response: Response) -> float:
    """Return how many seconds the Hub asks to wait; 0 if it does not."""
    if response.status_code not in _PASSING:
        return 0.0
    limit = parse_ratelimit_headers(response.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def refuse_long_wait(response: Response) -> None:
    """Raise for an answer that asks for a long wait: a hook in the client's session, whose retries would wait."""
    if asked_wait(response) > LONGEST_WAIT_S:
        response.read()
        hf_raise_for_status(response)


def _status(code: int) -> str:
    return f"{code} {HTTPStatus(code).phrase}" if code in HTTPStatus._value2member_map_ else str(code)


def one_line(text: str) -> str:
    return " ".join(text.split())[:SHOWN_CHARACTERS]
