"""Writes the configuration of the families that can be built: YAML with a comment where something was guessed."""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml

from flows.construct.proposal import Proposal
from flows.llm.endpoint_settings import HOSTED, KEY_ENV

WIDEST = 118
"""Characters of a line with its comment; a longer comment stands above its line."""


def model_settings(name: str, base_url: str) -> dict[str, Any]:
    """Return a model on a server; one on this machine gets no key."""
    settings = {"provider": "endpoint", "name": name, "base_url": base_url}
    return settings if _is_here(base_url) else {**settings, "api_key_env": KEY_ENV}


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def next_commands(proposals: Mapping[str, Proposal], *, by_rules: bool) -> list[tuple[str, str]]:
    """Return the next three commands, each with what it does."""
    run = ("touchstone run", "builds all, and writes out/report.html")
    if not by_rules:
        pilot = ("touchstone run --limit 5 --out pilot", "a pilot, to look at")
        return [("touchstone estimate", "rows, calls, tokens and money"), pilot, run]
    family, proposal = next(iter(proposals.items()))
    shown = f"{family}-{proposal.shows}" if proposal.shows else family
    return [
        run,
        (f"touchstone show {shown} --sample 3", "rows as a person reads them"),
        (f"touchstone verify {family}", "proves every row from the files alone"),
    ]


def configuration(name: str, model: Mapping[str, Any] | None, proposals: Mapping[str, Proposal]) -> str:
    """Return the text of the configuration; without a model, the rules build it."""
    lines = [
        "# Written by `touchstone new`. What it guessed is marked; change a line where it is wrong. Next:",
        *(f"#   {command:<40} {what}" for command, what in next_commands(proposals, by_rules=model is None)),
        f"name: {flow(name)}",
        "seed: 7",
    ]
    if model is None:
        lines += [
            "model: {provider: rules}  # no model: a floor, to see how it works. With one of yours write:",
            f"# model: {HOSTED}",
            "# budget_usd: 5",
        ]
    else:
        lines.append(f"model: {flow(model)}")
        lines += ["budget_usd: 5  # a run stops there"] if "api_key_env" in model else []
    lines.append("families:")
    for family, proposal in proposals.items():
        lines.append(f"  {family}:  # {proposal.what}")
        lines += _block(proposal.settings, proposal.comments, "", "    ")
    lines.append("# release: {licence: CC-BY-4.0}  # what the rows are released under: yours to say")
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    dumped = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6)
    return dumped.removesuffix("\n").removesuffix("\n...")


def _block(settings: Mapping[str, Any], comments: Mapping[str, str], place: str, indent: str) -> Iterator[str]:
    """Yield the lines of a mapping: mappings of settings and lists of sources below their keys, the rest in a line."""
    for key, value in settings.items():
        here = f"{place}.{key}" if place else key
        if isinstance(value, Mapping) and not {"format", "part"} & value.keys():
            yield f"{indent}{flow(key)}:"
            yield from _block(value, comments, here, f"{indent}  ")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from _line(f"{indent}{flow(key)}:", comments.get(here), indent)
            for number, source in enumerate(value):
                yield from _line(f"{indent}  - {flow(source)}", comments.get(f"{here}[{number}]"), f"{indent}  ")
        else:
            yield from _line(f"{indent}{flow(key)}: {flow(value)}", comments.get(here), indent)


def _line(line: str, comment: str | None, indent: str) -> Iterator[str]:
    """Yield a line with its comment behind it, or above it if it would be too long."""
    if not comment:
        yield line
        return
    comment = " ".join(comment.split())
    if len(line) + len(comment) + 4 <= WIDEST:
        yield f"{line}  # {comment}"
    else:
        yield f"{indent}# {comment}:"
        yield line
