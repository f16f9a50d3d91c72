"""Prints the schemas of records, and checks the installation."""

import http.client
import importlib.metadata
import json
import os
import shutil
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
from packaging.version import Version
from pydantic import BaseModel
from rich.markup import escape

from flows.families import family_names, load_family
from flows.llm.connection import NO_KEY, sent_on, without_key
from flows.llm.endpoint_settings import EndpointSettings
from flows.project.settings import load_config
from schemas.base import Dropped, visible
from schemas.errors import Failed, WrongInput, nearest
from schemas.manifest import BuildManifest
from schemas.prediction import Prediction, TableCell
from schemas.verdict import Verdict

GIGABYTE = 2**30
LEAST_FREE = GIGABYTE // 10
"""Several times what the packaged sample, its cache and Prefect's database need."""
LARGEST_BUILD = 5 * GIGABYTE
"""The largest build (eleven datasets at every length) writes 4 GB; this adds what it keeps in the store."""

LOCAL_SERVERS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}
"""Default addresses of servers that speak the OpenAI protocol."""
LISTED = 5
"""Models of a server that are named."""
CORRECT = "; start it, or correct base_url"
MOST_LISTED_BYTES = 2**24
"""Of a server's list of models."""
REDIRECTS = (301, 302, 303, 307, 308)


def print_schema(name: str) -> None:
    """Print a public record's JSON Schema; `list` prints the names."""
    records: dict[str, type[BaseModel]] = {
        f"{family}-{part.name}": part.item for family in family_names() for part in load_family(family).parts
    } | {
        "dropped": Dropped,
        "verdict": Verdict,
        "prediction": Prediction,
        "table-cell": TableCell,
        "manifest": BuildManifest,
    }
    if name == "list":
        print("\n".join(sorted(records)))
        return
    if name not in records:
        raise WrongInput(f"{name}: no such record; {nearest(name, list(records))}")
    print(json.dumps(records[name].model_json_schema(), indent=2, ensure_ascii=False))


def run_doctor(problems: int = 0, config: Path | None = None) -> None:
    """Check what a build needs, and whether the servers that a configuration names answer; print a line for each check.

    Raises `Failed` if something is missing, or if checks before these showed `problems`.
    """
    from flows.construct.embed import SentenceBert
    from flows.project.console import make_console

    console = make_console()

    def report(good: bool, what: str, advice: str = "") -> None:
        nonlocal problems
        problems += not good
        console.print(
            f"{'[green]✓' if good else '[red]✗'}[/] " + escape(f"{what}; {advice}" if advice and not good else what),
            soft_wrap=True,
        )

    fits = (3, 11) <= sys.version_info < (3, 14)
    report(fits, f"Python {sys.version.split()[0]}", "install Python 3.11, 3.12 or 3.13")
    for library in ("prefect", "openai", "sentence-transformers", "faiss-cpu", "datasets", "pandas"):
        report(True, f"{library} {importlib.metadata.version(library)}")
    for library, below in (("fastapi", "0.154"), ("sqlalchemy", "2.1")):
        version = importlib.metadata.version(library)
        report(Version(version) < Version(below), f"{library} {version}", f"Prefect needs it below {below}")
    vector = SentenceBert().embed(["The packaged model answers."])
    report(vector.shape[1] > 0, f"packaged SentenceBERT model: {vector.shape[1]} dimensions, checksum as released")
    free = shutil.disk_usage(Path.cwd()).free
    report(free >= LEAST_FREE, f"{free / GIGABYTE:.1f} GB free on this disk", "a build of the sample needs 0.1 GB")
    if LEAST_FREE <= free < LARGEST_BUILD:
        console.print("- enough for a small build; the largest needs 5 GB")
    named = {} if config is None else _named_servers(config)
    for url, (key_env, wanted) in named.items():
        if key_env and not os.environ.get(key_env):
            report(False, f"{url}: {key_env} is not set", f"export it, or correct api_key_env in {config}")
            continue
        here, why = served(url, os.environ.get(key_env) if key_env else None, timeout_s=5)
        models = ", ".join(dict.fromkeys(wanted))
        report(here is not None, f"{url} answers, for {models}" if here is not None else f"{url}: {why} in {config}")
        for model in dict.fromkeys(wanted):
            if here and model not in here:
                console.print(
                    f"- it does not list {model}; it has {', '.join(here[:LISTED])}", soft_wrap=True, markup=False
                )
    servers = [server for server in local_servers() if server[1] not in named]
    for name, url, model in servers:
        report(True, f"{name} answers: model: {{provider: endpoint, name: {model}, base_url: {url}}}")
    if not servers and not named:
        console.print("- no OpenAI-compatible server answers on the usual local ports; the rules model needs none")
    if problems:
        raise Failed(f"{problems} of the checks above failed")


def local_servers() -> Iterable[tuple[str, str, str]]:
    """Yield (name, base URL, a model) of each OpenAI-compatible server that answers on this machine."""
    for name, url in LOCAL_SERVERS.items():
        models, _ = served(url, None, timeout_s=0.3)
        if models:
            yield name, url, models[0]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows none: a redirect would send the key to a server that nobody has named."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def served(url: str, key: str | None, *, timeout_s: float) -> tuple[list[str] | None, str]:
    """Return the models that a server of the OpenAI protocol lists; without an answer None, and what to do.

    A server that sends on and on is left to a thread, which ends with the process.
    """
    listed: list[tuple[list[str] | None, str]] = []
    asking = threading.Thread(target=lambda: listed.append(_listed(url, key, timeout_s)), daemon=True)
    asking.start()
    asking.join(timeout_s)
    return listed[0] if listed else (None, f"no answer within {timeout_s:g} s{CORRECT}")


def _listed(url: str, key: str | None, timeout_s: float) -> tuple[list[str] | None, str]:
    """What `served` returns; `timeout_s` is the longest silence."""
    request = urllib.request.Request(  # noqa: S310 - the user's own address
        f"{url.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {}
    )
    try:
        with _OPENER.open(request, timeout=timeout_s) as reply:
            content = reply.read(MOST_LISTED_BYTES + 1)
        if len(content) > MOST_LISTED_BYTES:
            return None, f"it answers with more than {MOST_LISTED_BYTES // 2**20} MB{CORRECT}"
        return [str(model["id"]) for model in orjson.loads(content)["data"]], ""
    except urllib.error.HTTPError as error:
        # It is there: some list no models, and a wrong key is told by the first call.
        if error.code == HTTPStatus.NOT_FOUND:
            return [], ""
        if error.code in REDIRECTS and (location := error.headers.get("Location")):
            return None, visible(without_key(sent_on(url.rstrip("/"), request.full_url, location), key or NO_KEY))
        # Its own words may repeat the key.
        return None, f"it answers {error.code} {http.client.responses.get(error.code, '')}".rstrip() + CORRECT
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as error:
        return None, f"no answer ({getattr(error, 'reason', error)}){CORRECT}"


def _named_servers(config: Path) -> dict[str, tuple[str | None, list[str]]]:
    """Return, by address, the servers that a configuration names: the variable with the key, and the models."""
    named: dict[str, tuple[str | None, list[str]]] = {}
    settings = load_config(config)
    for model in (settings.model, *settings.models.values()):
        if isinstance(model, EndpointSettings):
            named.setdefault(model.base_url, (model.api_key_env, []))[1].append(model.name)
    return named
