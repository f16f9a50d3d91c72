"""The reference in docs/configuration.md, made from the typed settings.

`python -m tests.configuration_reference` writes it anew.
"""

import json
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from data.sources.spec import SourceSpec
from flows.construct.settings import FamilySettings
from flows.families import family_names, load_family
from flows.families.lveval.settings import DatasetSettings
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.local import LocalSettings
from flows.project.annotation_settings import AnnotationSettings, StrangersSettings
from flows.project.settings import Config, EmbedderSettings, ReleaseSettings, ScheduleSettings
from schemas.rubric import Choice, Survey, Written

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
BEGIN = "<!-- From here on `python -m tests.configuration_reference` writes this page. -->\n"
LONGEST_DEFAULT = 60
"""A longer list is told by its length."""
NOUNS: dict[type, str] = {
    str: "text", int: "whole number", float: "number", bool: "true or false", SourceSpec: "[source](#a-source)",
    DatasetSettings: "[dataset](#an-lv-eval-dataset)", EmbedderSettings: "[embedder](#embedder)",
    AnnotationSettings: "[annotation](#annotation)", ReleaseSettings: "[release](#release)",
    ScheduleSettings: "[schedule](#schedule)", EndpointSettings: "[endpoint](#an-endpoint)",
    LocalSettings: "[local](#a-local-model)", Survey: "[questionnaire](#a-questionnaire)",
    StrangersSettings: "[strangers](#strangers)",
    Choice: "[question](annotate.md#a-questionnaire-at-the-end)",
    Written: "[box](annotate.md#a-questionnaire-at-the-end)",
}  # fmt: skip


def reference() -> str:
    """The generated part of the page, in Markdown."""
    sections: list[tuple[str, type[BaseModel], type[BaseModel] | None]] = [
        ("Top level", Config, None),
        ("An endpoint", EndpointSettings, None),
        ("A local model", LocalSettings, None),
        ("Embedder", EmbedderSettings, None),
        ("Annotation", AnnotationSettings, None),
        ("Strangers", StrangersSettings, None),
        ("A questionnaire", Survey, None),
        ("Release", ReleaseSettings, None),
        ("Schedule", ScheduleSettings, None),
        ("A source", SourceSpec, None),
        ("Every family", FamilySettings, None),
        *((family.paper.short, family.settings, FamilySettings) for family in map(load_family, family_names())),
        ("An LV-Eval dataset", DatasetSettings, None),
    ]
    return "\n".join(_section(title, model, base) for title, model, base in sections)


def _section(title: str, model: type[BaseModel], base: type[BaseModel] | None) -> str:
    rows = [
        f"| `{name}` | {_kind(field.annotation)} | {_default(field)} | {_cell(field.description or '')} |"
        for name, field in model.model_fields.items()
        if not field.exclude and (base is None or name not in base.model_fields)
    ]
    return "\n".join([f"### {title}", "", "| key | value | default | |", "|---|---|---|---|", *rows, ""])


def _kind(annotation: Any) -> str:
    """What is written there, in the words of YAML."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_kind(one) for one in arguments if one is not type(None)))
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{_kind(arguments[0])} → {_kind(arguments[1])}"
    if isinstance(annotation, type) and annotation is not Any:
        return NOUNS.get(annotation) or (f"`{_provider(annotation)}`" if "provider" in _fields(annotation) else "keys")
    return "anything"


def _fields(model: type) -> Mapping[str, FieldInfo]:
    return model.model_fields if issubclass(model, BaseModel) else {}


def _provider(model: type) -> str:
    return f"{{provider: {_fields(model)['provider'].default}}}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "its own defaults"
    if value is None:
        return "none"
    plain = value if isinstance(value, str | int | float) else dict(value) if isinstance(value, Mapping) else [*value]
    if isinstance(plain, str):
        return f"`{plain}`" if plain.isprintable() else f"`{json.dumps(plain)}`"
    written = yaml.safe_dump(plain, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    shown = written.removesuffix("\n...\n").strip()
    return f"`{shown}`" if len(shown) <= LONGEST_DEFAULT else f"{len(value)} values"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", r"\|")


def page() -> str:
    """The whole page: what is written by hand, and the reference."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
