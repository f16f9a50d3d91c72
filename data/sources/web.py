"""Fetches files from web servers, which may be anybody's: within limits, and from nobody whom the user did not mean.

An address that the configuration names is the user's own word, wherever it leads. A redirect is the server's word: it
leads to no other address of this machine or its network, unless the source says `internal: true`. The address that was
checked is the one that is connected to, so that a name cannot come to mean another in between.

URLs are read with the standard library, not through fsspec, which gets the ETag and the content in two requests: a file
that changes in between would be recorded under the wrong ETag.
"""

import contextlib
import http.client
import ipaddress
import socket
import time
import urllib.error
import urllib.request
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from data.sources.opening import megabytes
from data.sources.spec import SourceError, without_query

WAITS_S = (1.0, 4.0)
"""Seconds before each further try, if a server is busy or fails."""
TIMEOUT_S = 60.0
"""Seconds for which a server may send nothing."""
MOST_BYTES, MOST_SECONDS = 16 * 2**30, 6 * 3600
"""Of a file: what never ends, however slowly it comes, is given up."""
AGENT = "touchstone"
PASSING = frozenset({408, 429, 500, 502, 503, 504})
UNCHANGED = "unchanged"
_AT_ONCE = 2**20
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def download(url: str, to: Path, etag_before: str | None, *, internal: bool = False) -> str:
    """Download the URL to a file. Return its ETag, empty if there is none; `UNCHANGED` if that is `etag_before`.

    With `internal`, redirects may lead into this network. Raises `SourceError`.
    """
    shown = without_query(url)
    parts = urlsplit(url)
    if "@" in parts.netloc or not parts.hostname:
        raise SourceError(f"{parts.scheme}://{parts.hostname or ''}...: expected an address without a name or a "
                          "password in it; fetch the file yourself, and name where it lies")  # fmt: skip
    headers = {"User-Agent": AGENT}
    if etag_before and not etag_before.startswith("sha256:"):
        headers["If-None-Match"] = etag_before
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http or https: `SourceSpec.is_url`
    opener = _opener(shown, None if internal else parts.netloc)
    for wait in (*WAITS_S, None):
        try:
            with contextlib.closing(opener.open(request, timeout=TIMEOUT_S)) as reply, to.open("wb") as file:
                _copy(reply, file, shown)
                return str(reply.headers.get("ETag") or "")
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.NOT_MODIFIED:
                return UNCHANGED
            if error.code not in PASSING or wait is None:
                raise SourceError(
                    f"{shown}: the server answers {error.code} ({http.client.responses.get(error.code, 'unknown')}); "
                    "check the URL"
                ) from error
        except (OSError, ValueError, http.client.HTTPException) as error:  # an address or a header that is none, too
            if wait is None:
                reason = getattr(error, "reason", error)
                raise SourceError(f"{shown}: cannot be fetched ({reason}); check the URL and the network") from error
        time.sleep(wait)
    raise AssertionError("endless")


def _copy(reply: Any, file: IO[bytes], shown: str) -> None:
    until = time.monotonic() + MOST_SECONDS
    while content := reply.read1(_AT_ONCE):
        file.write(content)
        if file.tell() > MOST_BYTES:
            raise SourceError(f"{shown}: expected at most {megabytes(MOST_BYTES)}, found more; fetch the file yourself")
        if time.monotonic() > until:
            raise SourceError(
                f"{shown}: is not there after {MOST_SECONDS / 3600:g} hours; fetch the file yourself, and name it"
            )
    length = reply.headers.get("Content-Length")
    if length is not None and int(length) != file.tell():
        raise http.client.IncompleteRead(b"", int(length) - file.tell())


def _opener(shown: str, written: str | None) -> urllib.request.OpenerDirector:
    """Return an opener for HTTP alone, which follows no redirect to a local file or an FTP server.

    `written` is the host and port that the user wrote; None lets redirects lead anywhere.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), _HTTPHandler(shown, written), _HTTPSHandler(shown, written),
                    urllib.request.HTTPDefaultErrorHandler(), urllib.request.HTTPRedirectHandler(),
                    urllib.request.HTTPErrorProcessor()):  # fmt: skip
        opener.add_handler(handler)
    return opener


class _Guarded:
    """What connects for HTTP and for HTTPS."""

    def __init__(self, shown: str, written: str | None) -> None:
        super().__init__()
        self._shown, self._written = shown, written

    def _connection(self, kind: type[Any], request: urllib.request.Request, host: str, **options: Any) -> Any:
        """Return a connection for a request, which checks where it leads if a redirect has led there."""
        connection = kind(host, **options)
        place = urlsplit(request.full_url)
        if request.unverifiable and self._written is not None and place.netloc != self._written:
            if request.host == place.netloc:
                connection._create_connection = partial(_connected, self._shown)
            else:  # by a proxy, which resolves names as it does
                with contextlib.suppress(socket.gaierror):
                    _addresses(self._shown, place.hostname or "", place.port or 0)
        return connection


class _HTTPHandler(_Guarded, urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPConnection, req), req)


class _HTTPSHandler(_Guarded, urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(self._connection, http.client.HTTPSConnection, req), req)


def _connected(shown: str, place: tuple[str, int], timeout: float, source: Any = None) -> socket.socket:
    """Return a connection to the first address that answers. Raises `SourceError` if one is of this network."""
    failed: OSError | None = None
    for address in _addresses(shown, *place):
        try:
            return socket.create_connection((address, place[1]), timeout, source)
        except OSError as error:
            failed = error
    raise failed or OSError("no address")


def _addresses(shown: str, host: str, port: int) -> list[str]:
    found = [str(place[0]) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in found:
        if is_internal(address):
            raise SourceError(
                f"{shown}: leads on to {host}, which is {address}, of this machine or its network; "
                "name that address yourself, or write `internal: true` in the source"
            )
    return found


def is_internal(address: str) -> bool:
    """Return whether an address is none of the public internet: loopback, private, link-local, unspecified, shared."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        within = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in _NAT64:
            within = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if within is not None:
            return is_internal(str(within))
    return not ip.is_global or ip.is_multicast or ip.is_reserved
