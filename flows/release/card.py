"""Gathers the facts for a release's card and manifest: how it was made, its sources, who saw it, how it is scored."""

import importlib.metadata
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from data.parquet import arrow_fields
from data.publish.card_facts import (
    CardFacts,
    ConfigFacts,
    Plot,
    PrivateFacts,
    ReviewFacts,
    SourceFacts,
    UsageFacts,
)
from data.publish.dataset_info import dataset_info, example_row
from data.publish.folder import files_in
from data.publish.licences import licences_of
from data.publish.reading import read_released
from data.publish.rows import ADDED, BOOKKEEPING, UNREVIEWED_ALLOWED
from data.publish.version_number import FIRST_VERSION
from data.seen import sorted_hashes
from data.sources import DATA_SETS, name_of
from data.sources.spec import ATTRIBUTION
from data.whole_file import write_whole
from flows.annotate.work import Collected, last_pull
from flows.construct.part_sources import original_sources
from flows.construct.reviewed import judged_keys
from flows.construct.stages import StageRef
from flows.llm.rules import Rules
from flows.project.annotation_settings import PERSON
from flows.project.output_files import PACKAGE
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.project.settings import sample_path
from flows.release.contamination import RowTexts, contamination_of
from flows.release.family_facts import family_facts
from flows.release.gate import Gated
from flows.release.rows import GatheredConfig, line_sources, single_configs
from flows.report.plots import agreement_plot, plots_of
from flows.report.records import charts_of
from schemas.errors import WrongInput
from schemas.manifest import BuildManifest
from schemas.release import Baseline, Contamination, ReleasedConfig, ReleaseManifest

ACCOUNT = re.compile(r"^account (\d+)$")
"""A person who is not named in the configuration."""


def card_facts(
    project: Project,
    folder: Path,
    configs: Sequence[GatheredConfig],
    repo: str | None,
    canary: str,
    gated: Sequence[Gated],
    private: PrivateSources,
    baselines: Sequence[Baseline] = (),
) -> CardFacts:
    """Return everything that the card says, with the manifest but for its version, inputs and files."""
    built = project.manifest
    settings = project.config.release
    licences = _licences(project, configs)
    collected = last_pull(project) if (project.out / "annotations").is_dir() else []
    reviews = list(_reviews(project, built, collected, configs))
    plots = list(_draw(project, folder, configs, reviews))
    made = _MadeBy.of(project, built, configs)
    families = {config.family.name: config.family for config in configs if config.rows.rows}.values()
    manifest = ReleaseManifest(
        name=built.name,
        version=FIRST_VERSION,
        canary=canary,
        seed=built.seed,
        pilot=built.limit is not None,
        allowed_unreviewed=any(UNREVIEWED_ALLOWED in part.decisions for part in gated),
        configs=tuple(_released_config(project, config, licences[config.rows.name]) for config in configs),
        files=tuple(files_in(folder)),
        baselines=tuple(baselines),
        stages={
            f"{part.family}/{part.part}/{stage.step}": stage.fingerprint
            for part in built.parts
            for stage in part.stages
        },
        models=made.models,
        prompts=made.prompts,
        versions=built.versions,
        draw=built.draw,
        **({"held_out_rolls": True} if settings.held_out_rolls else {}),
        settings={"families": private.hidden(made.settings), "embedder": built.config["embedder"]},
    )
    return CardFacts(
        manifest=manifest,
        repo=repo,
        maintainer=settings.maintainer,
        contact=settings.contact,
        homepage=settings.homepage,
        year=settings.year,
        tool_url=tool_url(),
        families=tuple(
            family_facts(family, [config for config in configs if config.family is family]) for family in families
        ),
        configs=tuple(_config_facts(project, config, folder) for config in configs),
        usage=made.usage,
        reviews=tuple(reviews),
        private=tuple(_private_facts(project, configs, made.models, private)),
        contamination=tuple(_contamination(project, folder, configs)),
        plots=tuple(plots),
        limits=tuple(limit for family in families for limit in family.evaluation.limits),
    )  # fmt: skip


def tool_url() -> str | None:
    """Return the address that the package's metadata gives for Touchstone; None if it gives none."""
    urls = importlib.metadata.metadata(PACKAGE).get_all("Project-URL") or []
    by_label = {label.strip().lower(): url.strip() for label, _, url in (entry.partition(",") for entry in urls)}
    return next((by_label[label] for label in ("homepage", "repository", "source") if label in by_label), None)


@dataclass(frozen=True)
class _MadeBy:
    """The requests made for the released rows, in their parts and in the parts that these are made from."""

    usage: tuple[UsageFacts, ...]
    models: Mapping[str, str]
    prompts: Mapping[str, str]
    settings: Mapping[str, Any]
    """Of the families; private rows are proved by them too."""

    @classmethod
    def of(cls, project: Project, built: BuildManifest, configs: Sequence[GatheredConfig]) -> "_MadeBy":
        usage: list[UsageFacts] = []
        models, prompts = set[str](), set[str]()
        released = {(config.family.name, config.part.name): config for config in configs if config.rows.rows}
        lines = {
            (config.family.name, part.name)
            for config in released.values()
            for part in config.family.with_makers([config.part.name])
        }
        for part in (built_part for built_part in built.parts if (built_part.family, built_part.part) in lines):
            family = project.build.families[part.family]
            for stage in part.stages:
                asked = {name: spent for name, spent in stage.usage.items() if spent.calls or spent.cached}
                usage += (
                    UsageFacts(family=part.family, part=part.part, step=stage.step, prompt=name, usage=spent)
                    for name, spent in asked.items()
                )
                prompts.update(f"{part.family}/{name}" for name in asked)
                step = project.build.step(StageRef(part.family, part.part, stage.step))
                roles = {family.prompts[name].role for name in asked}
                models.update(
                    f"{part.family}.{model}"
                    for role in roles
                    for model in (step.models_as(role, family.settings) if step else ())
                )
        families: Any = built.config["families"]
        of_rows = {config.family.name for config in configs if config.rows.rows or config.rows.held_out}
        return cls(
            tuple(usage),
            {name: model for name, model in built.models.items() if name in models},
            {name: version for name, version in built.prompts.items() if name in prompts},
            {name: family for name, family in families.items() if name in of_rows},
        )


def _released_config(project: Project, config: GatheredConfig, licence: str) -> ReleasedConfig:
    rows = config.rows
    family = project.build.families[config.family.name]
    makers = config.family.with_makers([config.part.name])
    method: dict[str, str] = {}
    for part in makers:
        for step in part.steps:
            method[f"{part.name}/{step.name}"] = str(step.version)
            method |= {prompt.name: family.prompts[prompt.name].fingerprint for prompt in step.prompts}
    return ReleasedConfig(
        name=rows.name, family=config.family.name, part=config.part.name, split=rows.split, rows=rows.rows,
        reviewed=rows.reviewed, held_back=rows.held_back, held_out=rows.held_out, licence=licence,
        fields=rows.fields, method=dict(sorted(method.items())), files=rows.files,
        bookkeeping=tuple(sorted({*BOOKKEEPING, *config.part.item.BOOKKEEPING} & rows.fields.keys())),
        scorer=config.scorer, asked=config.prompts,
        **({"of_private_sources": rows.of_private_sources} if rows.of_private_sources else {}),
    )  # fmt: skip


def _licences(project: Project, configs: Sequence[GatheredConfig]) -> Mapping[str, str]:
    """Return configuration -> licence; empty for configurations without rows."""
    declared = project.config.release.licence
    empty = {config.rows.name for config in configs if not config.rows.rows}
    if isinstance(declared, Mapping):
        without = empty | (single_configs(project) - {config.rows.name for config in configs})
        declared = {name: licence for name, licence in declared.items() if name not in without}
    sources = {config.rows.name: [*config.sources, *config.mixed] for config in configs if config.rows.rows}
    return {**dict.fromkeys(empty, ""), **licences_of(sources, declared)}


def _source_facts(project: Project, config: GatheredConfig) -> Iterator[SourceFacts]:
    """Yield the sources of a configuration, with what the settings say about them."""
    specs = {name_of(spec): spec for spec in line_sources(project, config.family, config.part)}
    sources = {**dict.fromkeys(config.mixed), **config.sources}
    for ref, rows in sorted(sources.items(), key=lambda item: (item[0].source, item[0].licence or "")):
        spec = specs.get(ref.source)
        about = {name: getattr(spec, name) for name in ATTRIBUTION} if spec else {}
        named = DATA_SETS.get(spec.format) if spec else None
        yield SourceFacts(source=ref.source, licence=ref.licence, rows=rows, in_format_of=named, **about)


def _config_facts(project: Project, config: GatheredConfig, folder: Path) -> ConfigFacts:
    rows = config.rows
    described = {
        field.name: field.metadata[b"description"].decode()
        for field in (*arrow_fields(config.part.item), *ADDED)
        if field.metadata and b"description" in field.metadata
    }
    return ConfigFacts(
        name=rows.name,
        summary=_first_sentence(config.part.item),
        fields={**described, **{column.name: column.description for column in config.ready}},
        languages=tuple(sorted(config.languages)),
        sources=tuple(_source_facts(project, config)),
        corrected=config.corrected,
        example=_example(config, folder),
        info=dataset_info(rows.name, rows.split, [folder / path for path in rows.files]) if rows.rows else None,
        let_through=config.let_through,
        task=config.task,
    )


def _example(config: GatheredConfig, folder: Path) -> str:
    """Return the first row without its bookkeeping; empty if there are no rows."""
    left_out = {*BOOKKEEPING, *config.part.item.BOOKKEEPING}
    for row in read_released(folder, config.rows.files):
        return example_row({name: value for name, value in row.items() if name not in left_out})
    return ""


def _first_sentence(record: type[BaseModel]) -> str:
    """Return the summary line of a record type."""
    return " ".join((record.__doc__ or "").strip().split("\n\n")[0].split())


def _private_facts(
    project: Project, configs: Sequence[GatheredConfig], models: Mapping[str, str], private: PrivateSources
) -> Iterator[PrivateFacts]:
    """Yield what it takes to build the drawn rows of each family again."""
    packaged = sample_path().resolve().parent
    drawn = (config for config in configs if config.rows.held_out > config.rows.of_private_sources)
    for family in {config.family.name: config.family for config in drawn}.values():
        lines = family.with_makers({config.part.name for config in configs if config.family is family})
        sources = [spec for part in lines for spec in original_sources(project.build, family, part)]
        files = [spec for spec in sources if not spec.is_remote and Path(spec.path).resolve().parent != packaged]
        files = [spec for spec in files if not private.has(spec)]
        played = {model for role, model in models.items() if role.split(".")[0] == family.name}
        yield PrivateFacts(
            family=family.paper.short,
            models=tuple(sorted(played - {Rules.name})),
            sources=tuple(sorted(set(map(name_of, files)))),
            people=any(part.people is not None and part.people.share == "every" for part in lines),
        )


def _reviews(
    project: Project, built: BuildManifest, collected: Sequence[Collected], configs: Sequence[GatheredConfig]
) -> Iterator[ReviewFacts]:
    """Yield what people saw of each part, and what they decided."""
    by_rubric = {work.rubric: work for work in collected}
    for family, part in project.build.parts():
        if part.people is None:
            continue
        verdicts = project.verdicts(family.name, part.name)
        sifted = project.build.sifted(family, part)
        judged = judged_keys(project.build, family, part)
        retired = {key for key in judged if verdicts[key].retired}
        counted = [verdict for key, verdict in verdicts.items() if key in judged - retired]
        rubric = part.people.rubric
        work = by_rubric.get(rubric.name)
        rated = work.judged if work and not rubric.decides else []
        if not counted and not rated:
            continue
        people = {
            ACCOUNT.sub(r"account-\1", code.strip())
            for code in (
                *(code for verdict in counted for code in (*verdict.by.split(","), verdict.reviewed_by)),
                *(judgement.by for judgement in rated),
            )
            if code.strip()
        }
        if not all(re.fullmatch(PERSON, code) for code in people):  # what it is instead is not shown: it may be a name
            raise WrongInput(
                f"{project.out}/verdicts/{family.name}-{part.name}.jsonl: `by` or `reviewed_by` is no code such as a1; "
                "write codes there, for they stand in the card"
            )
        tasks = part.people.tasks(sifted, built.seed)
        shown = len(np.unique(sorted_hashes(task.item_key for task in tasks if task.item_key not in retired)))
        decided = Counter(verdict.decision for verdict in counted)
        yield ReviewFacts(
            title=rubric.title or rubric.name, rubric=rubric.name, version=rubric.version,
            parts=(f"{family.name}-{part.name}",), share=part.people.share, records=len(sifted), shown=shown,
            judged=work.rated if work and not rubric.decides else len(counted),
            accepted=decided["accept"], fixed=decided["fix"], rejected=decided["reject"], people=tuple(sorted(people)),
            agreement=tuple(work.agreement(built.seed)) if work else (), decides=rubric.decides,
            means=tuple(work.means()) if work else (), compared=tuple(work.compared(built.seed)) if work else (),
            configs=tuple(
                each.rows.name
                for each in configs
                if each.rows.rows and each.family is family and part in family.with_makers([each.part.name])
            ),
        )  # fmt: skip


def _draw(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], reviews: Sequence[ReviewFacts]
) -> Iterator[Plot]:
    parts = {(config.family.name, config.part.name): config for config in configs if config.rows.rows}
    for config in configs:
        if config.rows.of_private_sources:  # a plot is of all rows, and may name what they are about
            parts.pop((config.family.name, config.part.name), None)
    drawn = [
        plot
        for (family, part), config in parts.items()
        for plot in plots_of(f"{family}-{part}", charts_of(project.build, config.family, config.part))
    ]
    drawn += [plot for review in reviews if (plot := agreement_plot(review.parts[0], review.agreement)) is not None]
    for plot in drawn:
        write_whole(folder / plot.plot.path, plot.content)
        yield plot.plot


def _contamination(project: Project, folder: Path, configs: Sequence[GatheredConfig]) -> Iterator[Contamination]:
    embedder = project.config.embedder
    languages = ("en",) if embedder == "packaged" else embedder.languages
    for config in configs:
        for spec in project.config.release.contamination if config.rows.rows else ():

            def rows(config: GatheredConfig = config) -> Iterator[RowTexts]:
                return (RowTexts.of(config.part.item, row) for row in read_released(folder, config.rows.files))

            yield contamination_of(config.rows.name, rows, spec, project.embedder, languages)
