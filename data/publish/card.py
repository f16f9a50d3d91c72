"""README.md of a released folder: the dataset card, in Markdown after a block of YAML.

The YAML follows from the manifest, so that it names the files that are there; the rest is `card.md.j2`. Whatever comes
from data is escaped where it is written down, by default, and cut where it is long: a card shows it and obeys none
of it. Equal facts give equal bytes.
"""

import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import jinja2
import yaml
from markupsafe import Markup
from pydantic import Field

from data.publish.folder import PROOF, claims_of
from data.publish.licences import hub_licence
from schemas.annotation import Agreement, Comparison, Means
from schemas.base import Frozen, odd_character
from schemas.errors import WrongInput
from schemas.manifest import UsageOfPrompt, sum_usage
from schemas.release import Contamination, ReleasedConfig, ReleaseManifest

HERE: Final = Path(__file__).parent
OWN_BEGIN: Final = b"<!-- own words: begin -->"
OWN_END: Final = b"<!-- own words: end -->"
"""What stands between the two is the user's, and goes from version to version as it is."""

LINE: Final = 300
"""Characters of a value that the card shows, unless it says otherwise."""
SETTINGS: Final = 8_000
"""Characters of the configuration."""
SIZES: Final = (
    (10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
)  # fmt: skip
"""The Hub's names of sizes: rows below the number."""
TASKS: Final = {
    "uraq": "question-answering",
    "reeval": "question-answering",
    "lveval": "question-answering",
    "charpeval": "multiple-choice",
    "refutebench": "text-generation",
}
"""The Hub's name of what a family asks of a model."""

PersonCode = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,19}$")]
"""A person's code; a name or an address is none."""


class PredictionFacts(Frozen):
    """What a family's scorer file reads: a row for each id and variant."""

    example: str = Field(description="Such a row, as JSON")
    read: str = Field(description="What is made of it, in a sentence or two")
    variants: Mapping[str, tuple[str, ...]] = Field(description="Configuration -> what `variant` can be")
    prompting: tuple[str, ...] = Field((), description="What `prompting` can be, where there are several ways to ask")
    shots: tuple[int, ...] = Field((), description="What `shots` can be, where demonstrations may stand before")


class FamilyFacts(Frozen):
    """A family that is in the release, and how its rows are evaluated."""

    name: str
    short: str = Field(description="What its paper calls it: `LV-Eval`")
    title: str = Field(description="Of its paper")
    authors: str
    year: int
    scorer: str | None = Field(None, description="Path of its scorer file in the release")
    score_command: str = Field("", description="How the scorer file is run")
    predictions: PredictionFacts | None = Field(None, description="None: it has no scorer file, or no rows for it")
    harness: str | None = Field(None, description="Folder of its lm-evaluation-harness tasks in the release")
    in_dialogues: bool = Field(False, description="A model is evaluated in dialogues that are held with it")


class SourceFacts(Frozen):
    """Somebody else's data that rows were made from."""

    source: str
    licence: str | None = Field(description="As it states it")
    rows: int | None = Field(
        description="Released rows that name it; null: none does, and text of it may be mixed into any of them"
    )


class ConfigFacts(Frozen):
    """What the manifest does not say of a configuration."""

    name: str
    summary: str = Field(description="What a row is, in a sentence")
    fields: Mapping[str, str] = Field(description="Column -> description; it may lack some")
    languages: tuple[str, ...] = Field(description="Codes of the languages of its rows")
    sources: tuple[SourceFacts, ...] = ()
    corrected: int = Field(0, description="Of its reviewed rows, those that stand as people corrected them")
    let_through: int = Field(0, description="Its rows that people were to judge, and no one did")
    task: str | None = Field(None, description="Its lm-evaluation-harness task")


class UsageFacts(Frozen):
    """What a prompt took in a step of a part."""

    family: str
    part: str
    step: str
    prompt: str
    usage: UsageOfPrompt


class ReviewFacts(Frozen):
    """How people reviewed what configurations were made from, in figures and codes."""

    title: str = Field(description="Of the rubric")
    rubric: str
    version: int
    parts: tuple[str, ...] = Field(description="`uraq-items`: the parts whose records were shown")
    configs: tuple[str, ...] = Field((), description="Released configurations whose rows are made of these records")
    share: Literal["every", "sample"]
    records: int = Field(description="Records of these parts that passed every check")
    shown: int = Field(description="Of them, those that were to be judged")
    judged: int = Field(description="Of those, those with a verdict, or rated by as many people as were asked")
    accepted: int
    fixed: int
    rejected: int
    people: tuple[PersonCode, ...]
    agreement: tuple[Agreement, ...] = ()
    decides: bool = Field(True, description="The rubric accepts or rejects; ratings do neither, and have no verdict")
    means: tuple[Means, ...] = Field((), description="What people gave on scales, by sample")
    compared: tuple[Comparison, ...] = Field((), description="How far programs agree with people on those")


class Plot(Frozen):
    """A figure that is shipped with the release."""

    path: str = Field(description="Relative to the folder")
    config: str = Field(description="Configuration or part that it is of")
    title: str
    caption: str = ""


class ChangeCount(Frozen):
    """How many rows of a configuration are not as in the version before."""

    config: str
    added: int = 0
    changed: int = 0
    removed: int = 0


class CardFacts(Frozen):
    """All that a card says, but for the user's own words."""

    manifest: ReleaseManifest = Field(description="Of its files, the card's own is not looked at")
    repo: str | None = Field(None, description="OWNER/NAME on the Hub; None: a folder")
    default: str | None = Field(None, description="The configuration that loads where none is named; None: the first")
    families: tuple[FamilyFacts, ...]
    configs: tuple[ConfigFacts, ...]
    usage: tuple[UsageFacts, ...] = ()
    reviews: tuple[ReviewFacts, ...] = ()
    contamination: tuple[Contamination, ...] = ()
    plots: tuple[Plot, ...] = ()
    changes: tuple[ChangeCount, ...] = ()
    changelog: str | None = Field(None, description="Path of the readable changelog in the release")
    limits: tuple[str, ...] = Field((), description="What else a reader should know, a sentence each")


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
        citations=[citations()[one.name] for one in facts.families if one.name in citations()],
        load=_load(facts),
        to_jsonl=_to_jsonl(facts),
        proof=any(file.path.startswith(f"{PROOF}/") for file in facts.manifest.files),
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
        task_categories=list(dict.fromkeys(TASKS[one.name] for one in facts.families if one.name in TASKS)) or None,
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


@cache
def citations() -> Mapping[str, str]:
    """Family -> the BibTeX entry of its paper."""
    entries = (HERE / "citations.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


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
    written = "".join(one for one in dumped if one == "\n" or _seen(one))
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


# ---- how it is written down ----

_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_OPENING = re.compile(r"^(?:[#+\-=:]|\d+(?=[.)](?:\s|$)))")
_PLAIN_CODE = re.compile(r"[\w .,:;/@=+(){}\[\]-]+", re.ASCII)
_NAMED = re.compile(r"`([\w ,./:=<>-]+)`", re.ASCII)
_PLACE_IN_PAPER = re.compile(r"\b(?:sections?|tables?|figures?|appendix|appendices) [0-9A-Z]", re.IGNORECASE)
_ELEMENT = re.compile(r"<(?:element|item): ")


def one_line(text: str, most: int = LINE) -> str:
    """`text` on one line without controls and marks that are not seen, cut where it is longer than `most`."""
    head = text[: most * 4]  # enough, whatever falls away of it: a value may be megabytes long
    plain = " ".join("".join(" " if one.isspace() else one for one in head if one.isspace() or _seen(one)).split())
    return plain if len(plain) <= most and len(head) == len(text) else f"{plain[: most - 1]}…"


def _seen(character: str) -> bool:
    return odd_character(character) is None and unicodedata.category(character) != "Cn"


def inline(value: object, most: int = LINE) -> Markup:
    """A value as Markdown that shows it: no markup, no HTML, no cell of a table begins or ends in it."""
    if isinstance(value, Markup):
        return value
    text = _escaped(one_line(str(value), most))
    opening = _OPENING.match(text)
    if opening:
        text = f"\\{text}" if opening.end() == 1 and not text[0].isdigit() else f"{opening[0]}\\{text[opening.end() :]}"
    return Markup(text)  # noqa: S704 - escaped above


def _escaped(text: str) -> str:
    return "".join(_HTML.get(one, one) for one in _MARKDOWN.sub(r"\\\g<0>", text))


def prose(value: object, most: int = LINE) -> Markup:
    """A description in our own words, whose `names` are code; whatever else is in it is shown as it is."""
    first, *rest = _NAMED.split(one_line(str(value), most))
    shown = str(inline(first, most)) + " " * first.endswith(" ")
    shown += "".join(_escaped(piece) if place % 2 else code(piece) for place, piece in enumerate(rest))
    return Markup(shown)  # noqa: S704 - escaped above


def arrow_type(kind: str) -> Markup:
    """An Arrow type for a reader: of what is nested the names alone, `list of {kind, text}`."""
    return code(_of(_ELEMENT.sub("<", one_line(kind, LINE * 4))), 120)


def _of(kind: str) -> str:
    inner = kind.partition("<")[2].removesuffix(">")
    if kind.startswith("list<"):
        return f"list of {_of(inner)}"
    if kind.startswith("map<"):
        return "map"
    if kind.startswith("struct<"):
        return f"{{{', '.join(part.partition(':')[0].strip() for part in _parts(inner))}}}"
    return kind


def _parts(inner: str) -> Iterator[str]:
    """The fields of a struct: what commas part that stand in no bracket."""
    depth, start = 0, 0
    for place, character in enumerate(inner):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            yield inner[start:place]
            start = place + 1
    yield inner[start:]


def code(value: object, most: int = LINE) -> Markup:
    """A name or a type as code; in tables too."""
    text = one_line(str(value), most)
    if not text:
        return Markup("")
    if _PLAIN_CODE.fullmatch(text):
        return Markup(f"`{text}`")  # noqa: S704 - of plain characters alone
    return Markup("<code>{}</code>").format(inline(text, most))


def fenced(text: str, language: str = "") -> Markup:
    """A block of code whose fence is longer than any run of backticks in it."""
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return Markup(f"{fence}{language}\n{text.rstrip()}\n{fence}")  # noqa: S704 - cannot leave its fence


def literal(value: str) -> str:
    """A text as Python and YAML both write it, on one line."""
    return json.dumps(value)


def codes(names: Iterable[str]) -> Markup:
    """Several names as code."""
    return Markup(", ").join(map(code, names))


def _listed(names: Sequence[str], most: int = 4) -> Markup:
    """Several names as code, of many the first ones."""
    more = len(names) - most
    return codes(names[:most]) + (Markup(f" and {more} more") if more > 0 else Markup(""))  # noqa: S704 - a number


def versions(named: Mapping[str, str]) -> Markup:
    """Names as code, each with its version."""
    return Markup(", ").join(code(name) + Markup(" ") + inline(version) for name, version in named.items())


def percent(count: int, of: int) -> str:
    """A share; of nothing there is none."""
    return f"{count / of:.1%}" if of else "–"


def decimal(value: float | None) -> str:
    """A measure to two places."""
    return "–" if value is None else f"{value:.2f}"


def megabytes(count: int) -> str:
    """Bytes for a reader."""
    return f"{count / 1e6:,.1f} MB" if count >= 10**6 else f"{count / 1e3:,.1f} kB"


def money(usd: float | None) -> str:
    """An amount; `?` where a model's price is not known."""
    return "?" if usd is None else f"${usd:,.4f}"


def image(plot: Plot) -> Markup:
    """A plot as an image."""
    path = re.sub(r"[^A-Za-z0-9._/-]", "", plot.path)
    title = "".join(_HTML.get(one, one) for one in one_line(f"{plot.config}: {plot.title}")).replace('"', "&quot;")
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
        "kind": arrow_type, "listed": _listed,
        "megabytes": megabytes, "money": money,
        "n": "{:,}".format, "percent": percent, "prose": prose, "sorted_usage": _sorted,
        "versions": versions,
    }  # fmt: skip
    environment.filters.update(filters)
    return environment.get_template("card.md.j2")
