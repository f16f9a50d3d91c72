"""Names that are nobody's and nothing's, to stand in the places of others (`invented_names.tsv` of a language)."""

from functools import cache
from importlib.resources import files


@cache
def invented_names(language: str) -> dict[str, tuple[str, ...]]:
    """The packaged names of a language by their kind; a line in the file stands for a space inside a name."""
    file = files(f"flows.language.{language}").joinpath("invented_names.tsv")
    lines = file.read_text(encoding="utf-8").splitlines()
    table = dict(line.split("\t") for line in lines if not line.startswith("#"))
    return {kind: tuple(name.replace("_", " ") for name in names.split()) for kind, names in table.items()}
