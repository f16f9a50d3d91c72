"""The tables beside a language's modules: values separated by tabs; a comment line begins with `#`."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files


def read(language: str, table: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of `<table>.tsv` of a language; they are not kept."""
    lines = files(f"flows.language.{language}").joinpath(f"{table}.tsv").read_text(encoding="utf-8").splitlines()
    yield from (tuple(line.split("\t")) for line in lines if line and not line.startswith("#"))


@cache
def rows(language: str, table: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of `<table>.tsv` of a language."""
    return tuple(read(language, table))


@cache
def lists(language: str, table: str) -> dict[str, tuple[str, ...]]:
    """Return the lists of a table by name; a space within an entry is written `_`."""
    return {
        name: tuple(entry.replace("_", " ") for entry in entries.split()) for name, entries in rows(language, table)
    }


def word_list(language: str, name: str) -> frozenset[str]:
    """Return a list of `words.tsv`."""
    return frozenset(lists(language, "words")[name])


@cache
def patterns(language: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of `patterns.tsv` by name."""
    return {name: re.compile(expression) for name, expression in rows(language, "patterns")}


def invented_names(language: str) -> dict[str, tuple[str, ...]]:
    """Return persons, places and things that do not exist, by their kind (`invented_names.tsv`)."""
    return lists(language, "invented_names")
