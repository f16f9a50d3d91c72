"""What can fail between us and a Label Studio server, each a line that names the server and what it was asked for."""

import contextlib
from collections.abc import Iterator, Mapping
from http import HTTPStatus

import httpx

from schemas.errors import Failed, WrongInput
from schemas.secrets import without_secrets

SHOWN_CHARACTERS = 300
"""How much of the server's own message, or of an address that it gives, an error shows."""


class Unanswered(Failed):
    """The server did not answer, or broke off: the request may or may not have been carried out."""


class Refused(Failed):
    """The server refused; nothing was done."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status: 404 if there is no such thing, 400 if the request is not valid."""


class KeyRefused(WrongInput):
    """The server does not accept the key."""


@contextlib.contextmanager
def errors_named(url: str, what: str) -> Iterator[None]:
    """Turn errors of the SDK and of its transport into ours; none of them contains the key."""
    from label_studio_sdk.core.api_error import ApiError

    try:
        yield
    except httpx.ConnectError as error:
        raise Unanswered(f"{url}: no server answers there ({error}); start it, or correct annotation.url") from error
    except httpx.TimeoutException as error:
        raise Unanswered(f"{url}: took too long to {what}; run again, nothing is done twice") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unanswered(
            f"{url}: broke off when asked to {what} ({type(error).__name__}); run again, nothing is done twice"
        ) from error
    except ApiError as error:
        raise _refusal(url, what, error.status_code or 0, _message(error.body)) from error
    # The answer is not JSON, has another form, or is nested too deep.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Unanswered(f"{url}: was asked to {what} and gave an answer that is not Label Studio's") from error


def refuse_redirect(url: str, answer: httpx.Response) -> None:
    """Raise `Unanswered` for a redirect: something before the server sent it, and nothing was done."""
    if answer.is_redirect:
        raise Unanswered(redirection(url, answer))


def redirection(url: str, answer: httpx.Response) -> str:
    """Return what to tell of a server at `url` that redirects a request: no user and no query is in it."""
    try:
        to = answer.url.join(answer.headers["location"])
    except (KeyError, ValueError, httpx.InvalidURL):
        return f"{url}: redirects to no address (status {answer.status_code}); correct annotation.url"
    place, asked = (str(address.copy_with(userinfo=b"", query=None, fragment=None)) for address in (to, answer.url))
    final = place.removesuffix(asked.removeprefix(url))[:SHOWN_CHARACTERS]
    return f"{url}: redirects to {final}; if you trust it, give that address as annotation.url, or log in there"


def _refusal(url: str, what: str, status: int, message: str) -> Exception:
    if status == HTTPStatus.UNAUTHORIZED:
        return KeyRefused(f"{url}: does not accept the key ({message}); make an access token on your account page")
    if status == HTTPStatus.FORBIDDEN:
        return KeyRefused(f"{url}: may not {what} with this key ({message}); give the key of an account that may")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Unanswered(f"{url}: failed (status {status}) when asked to {what}: {message}; see its log")
    return Refused(f"{url}: refused to {what} (status {status}): {message}", status)


def _message(body: object) -> str:
    """Return the server's own message, on one line."""
    if isinstance(body, Mapping):
        body = body.get("validation_errors") or body.get("detail") or body
    if isinstance(body, str) and "<html" in body.lower():
        return "a web page; the address is not the server's own"
    words = without_secrets(" ".join(str(body).split()))
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]} ..."
