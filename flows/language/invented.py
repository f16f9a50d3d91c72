"""Invented names to put in the place of others: persons, places and things that do not exist."""

from flows.language.tables import lists


def invented_names(language: str) -> dict[str, tuple[str, ...]]:
    """Return the packaged names of a language by their kind (`invented_names.tsv`)."""
    return lists(language, "invented_names")
