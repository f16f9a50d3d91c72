"""README.md of a released folder: the dataset card, in Markdown after a block of YAML.

The YAML follows from the manifest, so that it names the files that exist; the rest is `card.md.j2`. Everything that
comes from data is escaped by default, and cut if it is long, so that the card shows it literally. Equal facts give
equal bytes.
"""

import html
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

import jinja2
import yaml
from markupsafe import Markup

from data.publish import markdown
from data.publish.benchmark import BENCHMARK
from data.publish.card_facts import CardFacts, ConfigFacts, FamilyFacts, Plot, SourceFacts
from data.publish.folder import VERIFICATION_INPUTS, claims_of
from data.publish.licences import hub_licence, licence_text
from data.publish.markdown import literal
from data.publish.merge import OWN_BEGIN, OWN_END, with_words, written
from schemas.manifest import UsageOfPrompt, sum_usage
from schemas.release import Baseline, ReleasedConfig, ReleaseManifest

SETTINGS: Final = 8_000
"""Characters that the card shows of the settings."""
SIZES: Final = (
    (10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
)  # fmt: skip
"""(rows, the Hub's name for sizes below that number)."""

_PLACE_IN_PAPER = re.compile(r"\b(?:sections?|tables?|figures?|appendix|appendices) [0-9A-Z]", re.IGNORECASE)


def render_card(facts: CardFacts, metadata: Mapping[str, Any] | None = None, words: bytes | None = None) -> bytes:
    """Return the README.md of a release, in UTF-8.

    `metadata` stands for its own metadata (`card_metadata`), with what people changed in it. `words` are their own.
    """
    page = _template().render(
        facts=facts,
        manifest=facts.manifest,
        families=[_family(facts, family) for family in facts.families],
        sizes=_sizes(facts.manifest),
        usage=sorted(facts.usage, key=lambda row: (row.family, row.part, row.step, row.prompt)),
        total=sum_usage({"all": row.usage} for row in facts.usage).get("all", UsageOfPrompt()),
        default=_default(facts),
        citation=_citation(facts),
        baselines=list(_baselines(facts)),
        smallest=_smallest(facts),
        citations=[family.citation for family in facts.families if family.citation],
        load=_load(facts),
        to_jsonl=_to_jsonl(facts),
        proof=any(file.path.startswith(f"{VERIFICATION_INPUTS}/") for file in facts.manifest.files),
        evaluate={family.name: _evaluate(facts, family) for family in facts.families},
        settings=_settings(facts.manifest),
        canary=markdown.one_line(facts.manifest.canary),
        claims=claims_of(facts.manifest),
        attribution=_attribution(facts),
        own_words=Markup(f"{OWN_BEGIN.decode()}\n\n{OWN_END.decode()}"),  # noqa: S704 - ours
    )
    page = re.sub(r"\n{3,}", "\n\n", page)  # what the template leaves out has a blank line on either side
    content = f"---\n{written(card_metadata(facts) if metadata is None else metadata)}\n---\n\n{page}".encode()
    return content if words is None else with_words(content, words)


def card_metadata(facts: CardFacts) -> dict[str, Any]:
    """Return the card's metadata, with the manifest's configurations and files."""
    from huggingface_hub import DatasetCardData

    manifest = facts.manifest
    loadable = [config for config in manifest.configs if config.rows]
    rows = sum(config.rows for config in manifest.configs)
    licences = list(dict.fromkeys(hub_licence(config.licence) for config in loadable))
    named: dict[str, Any] = {}
    if "other" in licences:
        others = dict.fromkeys(c.licence for c in loadable if hub_licence(c.licence) == "other")
        named = {
            "license_name": _slug(next(iter(others))) if len(others) == 1 else "several",
            "license_link": "README.md",
        }
    data: Any = DatasetCardData(
        pretty_name=markdown.one_line(manifest.name),
        language=sorted({markdown.one_line(code_) for config in facts.configs for code_ in config.languages}) or None,
        license=(licences[0] if len(licences) == 1 else licences) if licences else None,
        **named,
        size_categories=[next((name for most, name in SIZES if rows < most), "100M<n<1B")],
        task_categories=list(dict.fromkeys(family.task for family in facts.families if family.task)) or None,
        tags=["benchmark", "evaluation", "context", *(family.name for family in facts.families)],
        dataset_info=[dict(about.info) for about in facts.configs if about.info] or None,
        configs=list(_data_files(manifest, _default(facts))),
    )
    metadata: dict[str, Any] = data.to_dict()
    return metadata


# ---- what the template is given ----


@dataclass(frozen=True)
class _Group:
    """Configurations of one part with the same fields."""

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
    """True if sections or tables of its paper are mentioned."""
    tasks: Sequence[str]
    """Files of its tasks for the evaluation harness."""


def _family(facts: CardFacts, family: FamilyFacts) -> _Family:
    facts_by_name = {about.name: about for about in facts.configs}
    configs = [
        (config, facts_by_name[config.name]) for config in facts.manifest.configs if config.family == family.name
    ]
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
        for (part, _), grouped in groupby(configs, key=lambda pair: (pair[0].part, list(pair[0].fields.items())))
        if (group := list(grouped))
    ]
    names = {config.name for config, _ in configs} | {f"{family.name}-{config.part}" for config, _ in configs}
    plots = [plot for plot in facts.plots if plot.config in names or plot.config == family.name]
    texts = [text for group in groups for text in (group.summary, *(about for _, _, about in group.fields))]
    texts += [plot.caption for plot in plots]
    tasks = [f"{family.harness}/{about.task}.yaml" for _, about in configs if about.task and family.harness]
    return _Family(family, groups, plots, any(map(_PLACE_IN_PAPER.search, texts)), tasks)


def _load(facts: CardFacts) -> str:
    """Return the code that loads the default configuration."""
    config = next((candidate for candidate in facts.manifest.configs if candidate.name == _default(facts)), None)
    return f"from datasets import load_dataset\n\nrows = {_loaded(facts, config)}" if config else ""


def _to_jsonl(facts: CardFacts) -> str:
    """Return the code that writes scored rows as JSONL; empty if no rows are scored."""
    scored = {about.name for about in facts.configs if about.task}
    config = next((about for about in facts.manifest.configs if about.name in scored), None)
    if config is None:
        return ""
    return f"from datasets import load_dataset\n\n{_loaded(facts, config)}.to_json({literal(f'{config.name}.jsonl')})"


def _loaded(facts: CardFacts, config: ReleasedConfig) -> str:
    place = facts.repo or "path/to/this/folder"
    revision = f", revision={literal(facts.manifest.version)}" if facts.repo else ""
    return f"load_dataset({literal(place)}, {literal(config.name)}, split={literal(config.split)}{revision})"


def _evaluate(facts: CardFacts, family: FamilyFacts) -> Sequence[tuple[str, str]]:
    """Return (description, command) for each way to evaluate a family."""
    asked = "dialogues are held with the model, and rated" if family.in_dialogues else "the model is asked, and scored"
    ways = [
        (
            f"With Touchstone {asked}, over the build that this was released from; MODEL is a key of its `models`",
            f"touchstone evaluate {shlex.quote(family.name)} --model MODEL",
        )
    ]
    if family.harness_command:
        about = "With lm-evaluation-harness, by tasks that score as the scorer file does"
        ways.append((f"{about} (`{family.harness}/README.md` describes them)", family.harness_command))
    if family.inspect_command:
        about = "With Inspect, by tasks that ask and score in the same way"
        ways.append((f"{about} (`scorers/README.md` describes them)", family.inspect_command))
    if family.hub_task and facts.repo:
        task = shlex.quote(f"hf/{facts.repo}/{family.hub_task}@{facts.manifest.version}")
        about = f"With Inspect alone, by a task of `{BENCHMARK}`, whose scorers are Inspect's own and come near to ours"
        ways.append((about, f"inspect eval {task} --model MODEL"))
    if family.scorer:
        command = family.score_command or f"python {shlex.quote(family.scorer)} --help"
        ways.append(("With the scorer file alone, which needs nothing of Touchstone", command))
    return [(about, markdown.one_line(command, markdown.LINE * 4)) for about, command in ways]


@dataclass(frozen=True)
class _Attributed:
    """A source as its licence has it named."""

    facts: SourceFacts
    licence_url: str | None
    rows: int
    """Rows that name it, over all configurations."""
    mixed: Sequence[str]
    """Configurations into whose rows its text may be mixed."""


def _attribution(facts: CardFacts) -> Sequence[_Attributed]:
    """Return each source once, whatever number of configurations has rows of it."""
    by_source: dict[SourceFacts, list[tuple[str, int | None]]] = {}
    for about in facts.configs:
        for source in about.sources:
            by_source.setdefault(source.model_copy(update={"rows": None}), []).append((about.name, source.rows))
    return [
        _Attributed(
            facts=source,
            licence_url=source.licence_url or licence_text(source.licence or ""),
            rows=sum(rows or 0 for _, rows in used),
            mixed=[name for name, rows in used if rows is None],
        )
        for source, used in sorted(by_source.items(), key=lambda item: (item[0].source, item[0].licence or ""))
    ]


def _citation(facts: CardFacts) -> str:
    """Return the BibTeX entry of the dataset itself. The day has no part in it: equal facts give equal cards."""
    manifest = facts.manifest
    values = {
        "author": facts.maintainer,
        "title": manifest.name,
        "year": str(facts.year) if facts.year else None,
        "version": manifest.version,
        "howpublished": "Data set",
        "url": f"https://huggingface.co/datasets/{facts.repo}" if facts.repo else facts.homepage,
    }
    lines = [f"  {key} = {{{_bibtex(value)}}}," for key, value in values.items() if value]
    return "\n".join([f"@misc{{{_slug(manifest.name)},", *lines, "}"])


def _bibtex(value: str) -> str:
    plain = re.sub(r"[\\{}<>]", "", markdown.one_line(value))
    return re.sub(r"([&%$#_])", r"\\\1", plain)


def _smallest(facts: CardFacts) -> ReleasedConfig | None:
    """Return the configuration with the fewest rows of those that are scored; None if none is."""
    scored = {about.name for about in facts.configs if about.task}
    configs = [config for config in facts.manifest.configs if config.name in scored and config.rows]
    return min(configs, key=lambda config: config.rows, default=None)


@dataclass(frozen=True)
class _ScoreTable:
    """A table of a model's scores."""

    about: str
    columns: Sequence[str]
    lines: Sequence[tuple[str, Sequence[float | None]]]


@dataclass(frozen=True)
class _Baseline:
    """A model's scores as the card shows them."""

    facts: Baseline
    family: FamilyFacts
    tables: Mapping[str, _ScoreTable]


def _baselines(facts: CardFacts) -> Iterator[_Baseline]:
    families = {family.name: family for family in facts.families}
    for baseline in facts.manifest.baselines:
        family = families[baseline.family]
        tables = {}
        for name, group in groupby(baseline.scores, key=lambda cell: cell.table):
            cells = list(group)
            values = {(cell.row, cell.column): cell.value for cell in cells}
            columns = list(dict.fromkeys(cell.column for cell in cells))
            lines = [
                (row, [values.get((row, column)) for column in columns])
                for row in dict.fromkeys(cell.row for cell in cells)
            ]
            tables[name] = _ScoreTable(family.headline.get(name, ""), columns, lines)
        yield _Baseline(baseline, family, tables)


def _default(facts: CardFacts) -> str | None:
    """Return the default configuration: one that has rows."""
    loadable = [config.name for config in facts.manifest.configs if config.files and config.rows]
    return facts.default if facts.default in loadable else next(iter(loadable), None)


def _data_files(manifest: ReleaseManifest, default: str | None) -> Iterator[dict[str, Any]]:
    """Yield the `configs:` of the metadata, without configurations that have no files."""
    configs = [config for config in manifest.configs if config.files]
    for name in dict.fromkeys(config.name for config in configs):
        files = [
            {"split": config.split, "path": list(config.files) if len(config.files) > 1 else config.files[0]}
            for config in configs
            if config.name == name
        ]
        yield {"config_name": name, "data_files": files, **({"default": True} if name == default else {})}


def _sizes(manifest: ReleaseManifest) -> Mapping[str, int]:
    """Return configuration -> bytes of its files."""
    sizes = {file.path: file.bytes for file in manifest.files}
    return {config.name: sum(sizes.get(path, 0) for path in config.files) for config in manifest.configs}


def _settings(manifest: ReleaseManifest) -> str:
    dumped: str = yaml.safe_dump(dict(manifest.settings), sort_keys=False, allow_unicode=True, width=100)
    written = "".join(character for character in dumped if character == "\n" or markdown.is_seen(character))
    return written if len(written) <= SETTINGS else f"{written[:SETTINGS]}\n# … cut; manifest.json has all of it\n"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "other"


def image(plot: Plot) -> Markup:
    """Return a plot as an image."""
    path = re.sub(r"[^A-Za-z0-9._/-]", "", plot.path)
    title = html.escape(markdown.one_line(f"{plot.config}: {plot.title}"), quote=False).replace('"', "&quot;")
    return Markup(f'<img src="{path}" alt="{title}" width="400" align="top">')  # noqa: S704 - escaped above


@cache
def _template() -> jinja2.Template:
    environment = markdown.environment()
    filters: dict[str, Callable[..., Any]] = {
        "codes": markdown.codes, "cut": markdown.inline, "decimal": markdown.decimal, "html": markdown.in_html,
        "image": image,
        "kind": markdown.arrow_type, "link": markdown.link, "megabytes": markdown.megabytes, "money": markdown.money,
        "n": "{:,}".format, "percent": markdown.percent, "versions": markdown.versions,
    }  # fmt: skip
    environment.filters.update(filters)
    return environment.get_template("card.md.j2")
