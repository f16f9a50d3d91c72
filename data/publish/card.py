"""README.md of a released folder: the dataset card, in Markdown after a block of YAML.

The YAML follows from the manifest, so that it names the files that are there; the rest is `card.md.j2`. Whatever comes
from data is escaped where it is written down, by default, and cut where it is long: a card shows it and obeys none
of it. Equal facts give equal bytes.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import jinja2
import yaml
from markupsafe import Markup

from data.publish.card_facts import CardFacts, ConfigFacts, FamilyFacts, Plot, UsageFacts
from data.publish.folder import VERIFICATION_INPUTS, claims_of
from data.publish.licences import hub_licence
from data.publish.markdown import (
    HTML,
    LINE,
    arrow_type,
    code,
    codes,
    decimal,
    fenced,
    inline,
    is_seen,
    listed,
    literal,
    megabytes,
    money,
    one_line,
    percent,
    prose,
    versions,
)
from schemas.errors import WrongInput
from schemas.manifest import UsageOfPrompt, sum_usage
from schemas.release import ReleasedConfig, ReleaseManifest

HERE: Final = Path(__file__).parent
OWN_BEGIN: Final = b"<!-- own words: begin -->"
OWN_END: Final = b"<!-- own words: end -->"
"""What stands between the two is the user's, and goes from version to version as it is."""

SETTINGS: Final = 8_000
"""Characters of the configuration."""
SIZES: Final = (
    (10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
)  # fmt: skip
"""The Hub's names of sizes: rows below the number."""

_PLACE_IN_PAPER = re.compile(r"\b(?:sections?|tables?|figures?|appendix|appendices) [0-9A-Z]", re.IGNORECASE)


def render_card(facts: CardFacts, before: bytes | None = None) -> bytes:
    """README.md of a release, in UTF-8; `before` is that of the version before, whose own section is carried over.

    Raises `WrongInput` where the marker that ends that section is gone.
    """
    from huggingface_hub import DatasetCard

    page = _template().render(
        facts=facts,
        manifest=facts.manifest,
        families=[_family(facts, one) for one in facts.families],
        sizes=_sizes(facts.manifest),
        total=sum_usage({"all": one.usage} for one in facts.usage).get("all", UsageOfPrompt()),
        default=_default(facts),
        citations=[family.citation for family in facts.families if family.citation],
        load=_load(facts),
        to_jsonl=_to_jsonl(facts),
        proof=any(file.path.startswith(f"{VERIFICATION_INPUTS}/") for file in facts.manifest.files),
        evaluate={one.name: _evaluate(facts, one) for one in facts.families},
        settings=_settings(facts.manifest),
        canary=one_line(facts.manifest.canary),
        claims=claims_of(facts.manifest),
        own=_own_marker(),
    )
    page = re.sub(r"\n{3,}", "\n\n", page)  # of what the template leaves out a blank line stays on either side
    card = DatasetCard(f"---\n{card_data(facts).to_yaml()}\n---\n\n{page}")
    content: bytes = card.content.encode()
    own = None if before is None else own_words(before)
    return content if own is None else _with_own(content, own)


def card_data(facts: CardFacts) -> Any:
    """The card's metadata, a `DatasetCardData`: configurations and files are the manifest's."""
    from huggingface_hub import DatasetCardData

    manifest = facts.manifest
    loadable = [config for config in manifest.configs if config.rows]
    licences = list(dict.fromkeys(hub_licence(config.licence) for config in loadable))
    named: dict[str, Any] = {}
    if "other" in licences:
        others = dict.fromkeys(c.licence for c in loadable if hub_licence(c.licence) == "other")
        named = {
            "license_name": _slug(next(iter(others))) if len(others) == 1 else "several",
            "license_link": "README.md",
        }
    return DatasetCardData(
        pretty_name=one_line(manifest.name),
        language=sorted({one_line(one) for config in facts.configs for one in config.languages}) or None,
        license=(licences[0] if len(licences) == 1 else licences) if licences else None,
        **named,
        size_categories=[_size_category(sum(config.rows for config in manifest.configs))],
        task_categories=list(dict.fromkeys(family.task for family in facts.families if family.task)) or None,
        tags=["benchmark", "evaluation", "context", *(one.name for one in facts.families)],
        configs=list(_data_files(manifest, _default(facts))),
    )


def own_words(readme: bytes) -> bytes | None:
    """What stands between the markers of the user's own section; None where it has none.

    Raises `WrongInput` where only one of the markers is there: what was written would be lost.
    """
    start, end = readme.find(OWN_BEGIN), readme.rfind(OWN_END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start:
        raise WrongInput(
            f"README.md: of the two comments around your own words one is missing; put `{OWN_BEGIN.decode()}` before "
            f"and `{OWN_END.decode()}` after them, then release again"
        )
    return readme[start + len(OWN_BEGIN) : end]


# ---- what the template is given ----


@dataclass(frozen=True)
class _Group:
    """Configurations of one part whose rows have the same fields."""

    part: str
    summary: str
    configs: Sequence[tuple[ReleasedConfig, ConfigFacts]]
    fields: Sequence[tuple[str, str, str]]
    """(column, type, description)."""
    method: Mapping[str, str]

    @property
    def names(self) -> Sequence[str]:
        return [config.name for config, _ in self.configs]

    @property
    def rows(self) -> int:
        return sum(config.rows for config, _ in self.configs)


@dataclass(frozen=True)
class _Family:
    facts: FamilyFacts
    groups: Sequence[_Group]
    plots: Sequence[Plot]
    cites: bool
    """Whether sections or tables of its paper are named."""
    tasks: Sequence[str]
    """Files of its tasks for the harness."""


def _family(facts: CardFacts, family: FamilyFacts) -> _Family:
    known = {one.name: one for one in facts.configs}
    own = [(one, known[one.name]) for one in facts.manifest.configs if one.family == family.name]
    groups = [
        _Group(
            part=part,
            summary=group[0][1].summary,
            configs=group,
            fields=[(name, kind, group[0][1].fields.get(name, "")) for name, kind in group[0][0].fields.items()],
            # Templates that no row was made by are left out.
            method={
                name: version
                for name, version in group[0][0].method.items()
                if "/" in name or f"{family.name}/{name}" in facts.manifest.prompts
            },
        )
        for (part, _), grouped in groupby(own, key=lambda one: (one[0].part, list(one[0].fields.items())))
        if (group := list(grouped))
    ]
    names = {config.name for config, _ in own} | {f"{family.name}-{config.part}" for config, _ in own}
    plots = [plot for plot in facts.plots if plot.config in names or plot.config == family.name]
    told = [text for one in groups for text in (one.summary, *(about for _, _, about in one.fields))]
    told += [plot.caption for plot in plots]
    tasks = [f"{family.harness}/{about.task}.yaml" for _, about in own if about.task and family.harness]
    return _Family(family, groups, plots, any(map(_PLACE_IN_PAPER.search, told)), tasks)


def _load(facts: CardFacts) -> str:
    """How the default configuration is loaded."""
    config = next((one for one in facts.manifest.configs if one.name == _default(facts)), None)
    return f"from datasets import load_dataset\n\nrows = {_loaded(facts, config)}" if config else ""


def _to_jsonl(facts: CardFacts) -> str:
    """How rows that are scored become JSONL; empty where none are."""
    scored = {one.name for one in facts.configs if one.task}
    config = next((one for one in facts.manifest.configs if one.name in scored), None)
    if config is None:
        return ""
    return f"from datasets import load_dataset\n\n{_loaded(facts, config)}.to_json({literal(f'{config.name}.jsonl')})"


def _loaded(facts: CardFacts, config: ReleasedConfig) -> str:
    place = facts.repo or "path/to/this/folder"
    revision = f", revision={literal(facts.manifest.version)}" if facts.repo else ""
    return f"load_dataset({literal(place)}, {literal(config.name)}, split={literal(config.split)}{revision})"


def _evaluate(facts: CardFacts, family: FamilyFacts) -> Sequence[tuple[str, str]]:
    """(what a command does, the command) for each way to evaluate a family."""
    asked = "dialogues are held with the model, and rated" if family.in_dialogues else "the model is asked, and scored"
    ways = [
        (
            f"With Touchstone {asked}, over the build that this was released from; MODEL is a key of its `models`",
            f"touchstone evaluate {shlex.quote(family.name)} --model MODEL",
        )
    ]
    tasks = [one.task for one in facts.configs if one.task and _family_of(facts, one.name) == family.name]
    if family.harness and tasks:
        several = f"  # or another of the {len(tasks)} tasks there" if len(tasks) > 1 else ""
        ways.append(
            (
                "With lm-evaluation-harness, which scores as the scorer file does",
                f"lm-eval run --model hf --model_args pretrained=MODEL --include_path {shlex.quote(family.harness)} "
                f"--tasks {shlex.quote(tasks[0])}{several}",
            )
        )
    if family.scorer:
        command = family.score_command or f"python {shlex.quote(family.scorer)} --help"
        ways.append(("With the scorer file alone, which needs nothing of Touchstone", command))
    return [(about, one_line(command, LINE * 4)) for about, command in ways]


def _family_of(facts: CardFacts, config: str) -> str | None:
    return next((one.family for one in facts.manifest.configs if one.name == config), None)


def _default(facts: CardFacts) -> str | None:
    """The configuration that loads where none is named: one that has rows."""
    loadable = [config.name for config in facts.manifest.configs if config.files and config.rows]
    return facts.default if facts.default in loadable else next(iter(loadable), None)


def _data_files(manifest: ReleaseManifest, default: str | None) -> Iterator[dict[str, Any]]:
    """The `configs:` of the metadata; a configuration without a file has no place there."""
    there = [config for config in manifest.configs if config.files]
    for name in dict.fromkeys(config.name for config in there):
        files = [
            {"split": config.split, "path": list(config.files) if len(config.files) > 1 else config.files[0]}
            for config in there
            if config.name == name
        ]
        yield {"config_name": name, "data_files": files, **({"default": True} if name == default else {})}


def _sizes(manifest: ReleaseManifest) -> Mapping[str, int]:
    """Bytes of each configuration's files."""
    sizes = {file.path: file.bytes for file in manifest.files}
    return {config.name: sum(sizes.get(path, 0) for path in config.files) for config in manifest.configs}


def _settings(manifest: ReleaseManifest) -> str:
    dumped: str = yaml.safe_dump(dict(manifest.settings), sort_keys=False, allow_unicode=True, width=100)
    written = "".join(one for one in dumped if one == "\n" or is_seen(one))
    return written if len(written) <= SETTINGS else f"{written[:SETTINGS]}\n# … cut; manifest.json has all of it\n"


def _size_category(rows: int) -> str:
    return next((name for most, name in SIZES if rows < most), "100M<n<1B")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "other"


def _own_marker() -> Markup:
    return Markup(f"{OWN_BEGIN.decode()}\n\n{OWN_END.decode()}")  # noqa: S704 - ours


def _with_own(content: bytes, own: bytes) -> bytes:
    # Nothing else in a card can look like a marker: what comes from data has its angle brackets escaped.
    head, _, rest = content.partition(OWN_BEGIN)
    return head + OWN_BEGIN + own + OWN_END + rest.partition(OWN_END)[2]


def image(plot: Plot) -> Markup:
    """A plot as an image."""
    path = re.sub(r"[^A-Za-z0-9._/-]", "", plot.path)
    title = "".join(HTML.get(one, one) for one in one_line(f"{plot.config}: {plot.title}")).replace('"', "&quot;")
    return Markup(f'<img src="{path}" alt="{title}" width="400" align="top">')  # noqa: S704 - escaped above


def _sorted(usage: Iterable[UsageFacts]) -> list[UsageFacts]:
    return sorted(usage, key=lambda one: (one.family, one.part, one.step, one.prompt))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - every value goes through `finalize`, which escapes it for Markdown
        finalize=inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "code": code, "codes": codes, "cut": inline, "decimal": decimal, "fenced": fenced, "image": image,
        "kind": arrow_type, "listed": listed,
        "megabytes": megabytes, "money": money,
        "n": "{:,}".format, "percent": percent, "prose": prose, "sorted_usage": _sorted,
        "versions": versions,
    }  # fmt: skip
    environment.filters.update(filters)
    return environment.get_template("card.md.j2")
