"""The environment of all pages: one style, texts that are shown and have no effect, no undefined names."""

import re
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from schemas.base import visible

HERE = Path(__file__).parent
_ACTING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Controls, and the marks that turn what follows them round."""


def style() -> Markup:
    """Return the style sheet of all pages."""
    return Markup((HERE / "report.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file


@cache
def template(path: Path) -> jinja2.Template:
    """Return the template in this file; it may include those of this folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, HERE]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = "{:,}".format
    environment.filters["capitalize_first"] = lambda words: f"{words[:1].upper()}{words[1:]}"
    return environment.get_template(path.name)


def _shown(value: object) -> object:
    """Return a text with what would act on the texts beside it written out; elements are ours."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _ACTING.sub(lambda character: visible(character[0]), value)
    return value
