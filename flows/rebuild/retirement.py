"""Items that the last profile found to tell no model from another, proposed for retirement: a person decides."""

from collections.abc import Iterator

from flows.construct.engine import Part
from flows.profile.page import FIGURES, read_figures
from flows.profile.terminal import FOLDER
from flows.project.project import Project
from schemas.base import Record, counted
from schemas.verdict import Verdict


def proposed(project: Project) -> Iterator[str]:
    """Yield for each family which of its rows that are built now might be retired, why, and the verdict that does it.

    Nothing where no profile compared models, or it is of other rows.
    """
    folder = project.out / FOLDER
    path = folder / FIGURES
    for family in read_figures(folder).get("families", ()):
        alike = family.get("alike")
        if alike is None or family["family"] not in project.build.families:
            continue
        found = dict(_rows(project, family["family"], {*alike["all_right"], *alike["none_right"]}))
        reasons = {
            f"none of {len(family['models'])} models has them right": alike["none_right"],
            f"all {len(family['models'])} models have them right": alike["all_right"],
        }
        counts = [(why, [id_ for id_ in ids if id_ in found]) for why, ids in reasons.items()]
        told = "; ".join(f"{why}: {len(ids):,}" for why, ids in counts if ids)
        if not told:
            continue
        items = counted(alike["items"], "item")
        yield f"{family['family']}: of {items}, these tell no model from another: {told} ({path} lists them)"
        part, record = found[next(id_ for _, ids in counts for id_ in ids)]
        if part.people is None:
            yield "a verdict on what they are made from retires them; `touchstone explain ID` names it"
        else:
            verdict = Verdict(
                key=record.key, view_hash=record.view_hash, rubric=part.people.rubric.name, decision="reject"
            )
            shown = verdict.model_dump_json(include={"key", "view_hash", "rubric", "decision"})
            file = project.out / "verdicts" / f"{family['family']}-{part.name}.jsonl"
            yield f"a line such as {shown} in {file} retires one; without it, it stays"


def _rows(project: Project, name: str, ids: set[str]) -> Iterator[tuple[str, tuple[Part, Record]]]:
    """Yield the rows with these ids that models are asked about, with their parts."""
    family = project.build.families[name].family
    wanted = [part for of_family, part in project.build.parts() if of_family.name == name]
    for part in wanted if ids else ():
        if part.name in family.evaluation.parts:
            for record in project.build.accepted(name, part.name):
                if record.id in ids:
                    yield record.id, (part, record)
