"""The environment of all pages: one style, escaped texts, no undefined names."""

from pathlib import Path

import jinja2
from markupsafe import Markup

HERE = Path(__file__).parent


def style() -> Markup:
    """Return the style sheet of all pages."""
    return Markup((HERE / "report.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file


def template(path: Path) -> jinja2.Template:
    """Return the template in this file; it may include those of this folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, HERE]),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = "{:,}".format
    environment.filters["capitalize_first"] = lambda words: f"{words[:1].upper()}{words[1:]}"
    return environment.get_template(path.name)
