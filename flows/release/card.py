"""What a release's card and manifest tell: how it was made, from what, who saw it, and what it is to be scored by."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from data.parquet import arrow_fields
from data.publish.card_facts import (
    CardFacts,
    ConfigFacts,
    FamilyFacts,
    Plot,
    PredictionFacts,
    ReviewFacts,
    SourceFacts,
    UsageFacts,
)
from data.publish.folder import DATA, files_in
from data.publish.licences import licences_of
from data.publish.reading import read_released
from data.publish.rows import ADDED, UNREVIEWED_ALLOWED, ReleasedRows
from data.publish.version_number import FIRST_VERSION
from data.whole_file import write_whole
from flows.annotate.work import Collected, last_pull
from flows.construct.engine import Family
from flows.construct.evaluation import Scorer
from flows.construct.stages import StageRef
from flows.families import citation
from flows.project.project import Project
from flows.project.settings import PERSON
from flows.release.contamination import RowTexts, contamination_of
from flows.release.gate import Gated, line_of
from flows.release.rows import GatheredConfig
from flows.report.plots import agreement_plot, plots_of
from flows.report.read import charts
from schemas.errors import WrongInput
from schemas.manifest import BuildManifest
from schemas.release import Contamination, ReleasedConfig, ReleaseManifest

SCORERS = "scorers"
"""Below a release: the scorers that travel, and tasks for lm-evaluation-harness."""
FILES_NAMED = 4
"""Files that the scorer's command line names in the card; of more a pattern does."""
ACCOUNT = re.compile(r"^account (\d+)$")
"""Who is not named in the configuration."""


def card_facts(
    project: Project,
    folder: Path,
    configs: Sequence[GatheredConfig],
    repo: str | None,
    canary: str,
    inputs: str,
    gated: Sequence[Gated],
) -> CardFacts:
    """All that the card says, and the manifest without its number and its files."""
    built = project.built
    assert built is not None
    settings = project.config.release
    licences = _licences(configs, settings.licence)
    collected = last_pull(project) if (project.out / "annotations").is_dir() else []
    reviews = list(_reviews(project, built, collected, configs))
    plots = list(_draw(project, folder, configs, reviews))
    made = _MadeBy.of(project, built, configs)
    manifest = ReleaseManifest(
        name=built.name,
        version=FIRST_VERSION,
        canary=canary,
        seed=built.seed,
        pilot=built.limit is not None,
        allowed_unreviewed=any(UNREVIEWED_ALLOWED in one.rows.values() for one in gated),
        inputs=inputs,
        configs=tuple(_released_config(project, one, licences[one.rows.name]) for one in configs),
        files=tuple(files_in(folder)),
        stages={
            f"{part.family}/{part.part}/{stage.step}": stage.fingerprint
            for part in built.parts
            for stage in part.stages
        },
        models=made.models,
        prompts=made.prompts,
        versions=built.versions,
        settings={"families": made.settings, "embedder": built.config["embedder"]},
    )
    return CardFacts(
        manifest=manifest,
        repo=repo,
        families=tuple(
            _family_facts(family, [one for one in configs if one.family is family])
            for family in {one.family.name: one.family for one in configs if one.rows.rows}.values()
        ),
        configs=tuple(_config_facts(one) for one in configs),
        usage=made.usage,
        reviews=tuple(reviews),
        contamination=tuple(_contamination(project, folder, configs)),
        plots=tuple(plots),
    )  # fmt: skip


@dataclass(frozen=True)
class _MadeBy:
    """What was asked for the released rows: by the parts that they are of, and those that these are made from."""

    usage: tuple[UsageFacts, ...]
    models: Mapping[str, str]
    prompts: Mapping[str, str]
    settings: Mapping[str, Any]
    """Of the families."""

    @classmethod
    def of(cls, project: Project, built: BuildManifest, configs: Iterable[GatheredConfig]) -> "_MadeBy":
        usage: list[UsageFacts] = []
        models, prompts = set[str](), set[str]()
        there = {(one.family.name, one.part.name): one for one in configs if one.rows.rows}
        lines = {(one.family.name, part.name) for one in there.values() for part in line_of(one.family, one.part)}
        for part in (one for one in built.parts if (one.family, one.part) in lines):
            family = project.build.families[part.family]
            for stage in part.stages:
                asked = {name: one for name, one in stage.usage.items() if one.calls or one.cached}
                usage += (
                    UsageFacts(family=part.family, part=part.part, step=stage.step, prompt=name, usage=one)
                    for name, one in asked.items()
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
        return cls(
            tuple(usage),
            {name: model for name, model in built.models.items() if name in models},
            {name: version for name, version in built.prompts.items() if name in prompts},
            {name: one for name, one in families.items() if name in {family for family, _ in lines}},
        )


def _family_facts(family: Family, configs: Sequence[GatheredConfig]) -> FamilyFacts:
    scored = [one for one in configs if one.task]
    paper, name, scorer = family.paper, family.name, family.evaluation.scorer
    return FamilyFacts(
        name=name, short=paper.short, title=paper.title, authors=paper.authors, year=paper.year,
        citation=citation(name), task=_task(family),
        scorer=f"{SCORERS}/{name}.py" if scorer else None,
        score_command=_score_command(name, [one.rows for one in scored], [one.rows for one in configs]),
        predictions=_predictions(scorer, scored) if scored and scorer else None,
        harness=SCORERS if scored else None,
        in_dialogues=family.evaluation.dialogues is not None,
    )  # fmt: skip


def _task(family: Family) -> str:
    """The Hub's name of what the family asks of a model."""
    if family.evaluation.dialogues is not None:
        return "text-generation"
    return "question-answering" if family.evaluation.choices is None else "multiple-choice"


def _score_command(family: str, scored: Sequence[ReleasedRows], every: Sequence[ReleasedRows]) -> str:
    """How its scorer file is run on all rows that are put to a model."""
    if not scored:
        return ""
    files = [path for rows in scored for path in rows.files]
    if len(files) > FILES_NAMED and len(scored) == sum(1 for rows in every if rows.rows):
        files = [f"{DATA}/{family}-*/*.parquet"]
    return f"python {SCORERS}/{family}.py predictions.jsonl {' '.join(files)}"


def _predictions(scorer: Scorer, scored: Sequence[GatheredConfig]) -> PredictionFacts:
    asked = [one for config in scored for one in config.asked]
    said = {name: value for name, value in scorer.form.items() if name in ("prediction", "scores")}
    return PredictionFacts(
        example=json.dumps({**asked[0], **said}, ensure_ascii=False),
        read=scorer.reading,
        variants={config.rows.name: tuple(dict.fromkeys(one["variant"] for one in config.asked)) for config in scored},
        prompting=tuple(dict.fromkeys(one["prompting"] for one in asked if "prompting" in one)),
        shots=tuple(dict.fromkeys(one["shots"] for one in asked if "shots" in one)),
    )


def _released_config(project: Project, one: GatheredConfig, licence: str) -> ReleasedConfig:
    rows = one.rows
    family = project.build.families[one.family.name]
    makers = line_of(one.family, one.part)
    method: dict[str, str] = {}
    for part in makers:
        for step in part.steps:
            method[f"{part.name}/{step.name}"] = str(step.version)
            method |= {prompt.name: family.prompts[prompt.name].fingerprint for prompt in step.prompts}
    return ReleasedConfig(
        name=rows.name, family=one.family.name, part=one.part.name, split=rows.split, rows=rows.rows,
        reviewed=rows.reviewed, held_back=rows.held_back, held_out=rows.held_out, licence=licence,
        fields=rows.fields, method=dict(sorted(method.items())), files=rows.files,
    )  # fmt: skip


def _licences(configs: Sequence[GatheredConfig], declared: str | Mapping[str, str] | None) -> Mapping[str, str]:
    """By configuration; nobody is asked for that of a configuration without rows."""
    empty = {one.rows.name for one in configs if not one.rows.rows}
    if isinstance(declared, Mapping):
        declared = {name: licence for name, licence in declared.items() if name not in empty}
    sources = {one.rows.name: [*one.sources, *one.mixed] for one in configs if one.rows.rows}
    return {**dict.fromkeys(empty, ""), **licences_of(sources, declared)}


def _config_facts(one: GatheredConfig) -> ConfigFacts:
    described = {
        each.name: each.metadata[b"description"].decode()
        for each in (*arrow_fields(one.part.item), *ADDED)
        if each.metadata and b"description" in each.metadata
    }
    by_name: dict[tuple[str, str | None], int] = defaultdict(int)
    for ref, count in (*one.sources.items(), *((ref, 0) for ref in one.mixed)):
        by_name[ref.source, ref.licence] += count
    return ConfigFacts(
        name=one.rows.name,
        summary=_first_sentence(one.part.item),
        fields=described,
        languages=tuple(sorted(one.languages)),
        sources=tuple(
            SourceFacts(source=source, licence=licence, rows=rows or None)
            for (source, licence), rows in sorted(by_name.items(), key=lambda each: (each[0][0], each[0][1] or ""))
        ),
        corrected=one.corrected,
        let_through=one.let_through,
        task=one.task,
    )


def _first_sentence(record: type[BaseModel]) -> str:
    """What a row is, by its type's own words."""
    return " ".join((record.__doc__ or "").strip().split("\n\n")[0].split())


def _reviews(
    project: Project, built: BuildManifest, collected: Sequence[Collected], configs: Sequence[GatheredConfig]
) -> Iterator[ReviewFacts]:
    """What people saw of each part, and what they decided."""
    by_rubric = {one.rubric: one for one in collected}
    for family, part in project.build.parts():
        if part.people is None:
            continue
        verdicts = project.verdicts(family.name, part.name)
        sifted = project.build.read(StageRef(family.name, part.name, part.steps[-1].name))
        views = {record.key: record.view_hash for record in sifted}
        counted = [one for key, one in verdicts.items() if views.get(key) == one.view_hash]
        rubric = part.people.rubric
        one = by_rubric.get(rubric.name)
        rated = one.judged if one and not rubric.decides else []
        if not counted and not rated:
            continue
        people = {
            ACCOUNT.sub(r"account-\1", code.strip())
            for code in (
                *(code for one_ in counted for code in (*one_.by.split(","), one_.reviewed_by)),
                *(one_.by for one_ in rated),
            )
            if code.strip()
        }
        if not all(re.fullmatch(PERSON, code) for code in people):  # what it is instead is not shown: it may be a name
            raise WrongInput(
                f"{project.out}/verdicts/{family.name}-{part.name}.jsonl: `by` or `reviewed_by` is no code such as a1; "
                "write codes there, for they stand in the card"
            )
        shown = len({task.item_key for task in part.people.tasks(list(sifted), built.seed)})
        decided = Counter(verdict.decision for verdict in counted)
        yield ReviewFacts(
            title=rubric.title or rubric.name, rubric=rubric.name, version=rubric.version,
            parts=(f"{family.name}-{part.name}",), share=part.people.share, records=len(views), shown=shown,
            judged=one.rated if one and not rubric.decides else len(counted),
            accepted=decided["accept"], fixed=decided["fix"], rejected=decided["reject"], people=tuple(sorted(people)),
            agreement=tuple(one.agreement(built.seed)) if one else (), decides=rubric.decides,
            means=tuple(one.means()) if one else (), compared=tuple(one.compared(built.seed)) if one else (),
            configs=tuple(
                each.rows.name
                for each in configs
                if each.rows.rows and each.family is family and part in line_of(family, each.part)
            ),
        )  # fmt: skip


def _draw(
    project: Project, folder: Path, configs: Sequence[GatheredConfig], reviews: Sequence[ReviewFacts]
) -> Iterator[Plot]:
    parts = {(one.family.name, one.part.name): one for one in configs if one.rows.rows}
    drawn = [
        plot
        for (family, part), one in parts.items()
        for plot in plots_of(f"{family}-{part}", charts(project.build, one.family, one.part))
    ]
    drawn += [plot for one in reviews if (plot := agreement_plot(one.parts[0], one.agreement)) is not None]
    for plot in drawn:
        write_whole(folder / plot.plot.path, plot.content)
        yield plot.plot


def _contamination(project: Project, folder: Path, configs: Sequence[GatheredConfig]) -> Iterator[Contamination]:
    embedder = project.config.embedder
    languages = ("en",) if embedder == "packaged" else embedder.languages
    for one in configs:
        for spec in project.config.release.contamination if one.rows.rows else ():

            def rows(one: GatheredConfig = one) -> Iterator[RowTexts]:
                return (RowTexts.of(one.part.item, row) for row in read_released(folder, one.rows.files))

            yield contamination_of(one.rows.name, rows, spec, project.embedder, languages)
