"""Keeps pages of other sites away: Label Studio itself answers to any name, and never asks where a page is from.

The rule is that of Touchstone's other servers, in a file that imports nothing of ours and is read by its place. Beside
this machine's names, people may come by the address of a proxy, which `label-studio up` writes down.
"""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse

PUBLIC = "public-url"
"""The file with the proxy's address, in the folder of the server."""
refusal = runpy.run_path(str(Path(__file__).resolve().parents[3] / "flows" / "loopback" / "guard.py"))["refusal"]


class Guard:
    """Answers the server's own pages, links to them, and programs."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        """Pass the request on, or refuse it."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        if (why := refusal(request.method, headers, _public())) is not None:
            return HttpResponse(f"touchstone: {why}\n", status=403, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


def _public() -> str | None:
    path = Path(settings.BASE_DATA_DIR).parent / PUBLIC
    return path.read_text(encoding="utf-8").strip() if path.exists() else None
