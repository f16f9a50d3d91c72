"""Evaluations of a build: predictions, and the note beside them of what the model was asked about each row.

A release goes by it: its card has scores only on rows about which the model would be asked the same today.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, field_validator

from data.checksum import checksum
from data.publish.inspect_package import EVALUATED
from data.publish.rows import BOOKKEEPING
from data.sources.files import json_lines
from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.construct.settings import FamilySettings
from flows.llm.model import Prompt
from flows.llm.rules import RulesSettings
from flows.project.project import Project
from flows.scoring.on_disk import Lines, Rows
from schemas.base import content_hash
from schemas.errors import Failed, first_problem
from schemas.prediction import Prediction
from schemas.sealed import Sealed

ENDING = ".evaluation.json"
LINES_OF_A_TEXT = 1000
PREDICTIONS = "predictions"
"""Folder of the predictions in the output folder of a build."""


class Evaluated(Sealed):
    """`FAMILY-MODEL.evaluation.json`, the note."""

    family: str
    model: str = Field(description="As the command named it")
    predictions: str = Field(description="SHA-256 of the predictions")
    rows: tuple[str, ...] = Field(
        description="Texts of lines, one for each row, by id: its id, and the fingerprint of what was asked about it"
    )

    @field_validator("rows", mode="before")
    @classmethod
    def _as_lines(cls, rows: object) -> object:
        return fingerprint_lines(rows.items()) if isinstance(rows, Mapping) else rows  # before, an object had them


class AskedRows(NamedTuple):
    """What a model was asked about."""

    rows: tuple[str, ...]
    """Lines such as those of a note; of dialogues, what each begins with."""
    prompts: Collection[str] = ()
    """The names of the prompts of single questions."""


def fingerprint_lines(fingerprints: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a line for each id, in order, with its fingerprint: there may be millions, of 34 bytes each."""
    last = ((id_, [*of_id][-1][0]) for (id_,), of_id in Lines(2, fingerprints).groups(1))
    texts = []
    while some := [f"{id_} {fingerprint}\n" for id_, fingerprint in islice(last, LINES_OF_A_TEXT)]:
        texts.append("".join(some))
    return tuple(texts)


def fingerprints_in(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each id of such lines, with its fingerprint."""
    for text in texts:
        for line in text.splitlines():
            id_, _, fingerprint = line.rpartition(" ")
            yield id_, fingerprint


def write_note(project: Project, family: Family, model: str, rows: Iterable[Any], path: Path) -> AskedRows:
    """Write the note on the predictions in `path`, which are on some of the rows, or all; return what was asked."""
    asked = Fingerprints(project, family)
    predicted = Rows((str(row.values.get("id")), True) for row in json_lines(str(path)))
    lines = fingerprint_lines((row.id, asked(row)) for row in rows if predicted.get(row.id))
    note = Evaluated(family=family.name, model=model, predictions=checksum(path), rows=lines)
    write_whole(note_of(path), note.sealed())
    return AskedRows(lines, asked.prompts)


def note_of(predictions: Path) -> Path:
    """Return the path of the note on a file of predictions."""
    return predictions.with_name(f"{predictions.stem}{ENDING}")


def predictions_of(note: Path) -> Path:
    """Return the path of the predictions that a note is on."""
    return note.with_name(f"{note.name.removesuffix(ENDING)}.jsonl")


def notes_in(out: Path) -> list[Path]:
    """Return the paths of the notes in the output folder of a build."""
    return sorted((out / PREDICTIONS).glob(f"*{ENDING}"))


def read_note(path: Path) -> Evaluated:
    """Return a note. Raises `Failed` for a damaged one."""
    try:
        return Evaluated.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise Failed(f"{path}: damaged note on an evaluation; remove it, or evaluate the model again") from error


def read_predictions(path: Path, family: Family) -> Iterator[Prediction]:
    """Yield the predictions of a JSONL file: replies, or scores if the family weighs options.

    Raises `WrongInput` for a bad line.
    """
    wanted = "prediction" if family.evaluation.choices is None else "scores"
    for row in json_lines(str(path)):
        advice = f"a row has id, variant and {wanted}"
        try:
            prediction = Prediction.model_validate(dict(row.values))
        except ValidationError as error:
            raise row.error(first_problem(error, "the row"), advice) from error
        if prediction.failure is None and (prediction.scores is None) != (wanted == "prediction"):
            raise row.error(f"it has no {wanted}", advice)
        yield prediction


def settings_now(project: Project, family: Family) -> FamilySettings:
    """Return the build's settings, with the evaluation settings taken from the configuration as it is now."""
    built, evaluation = project.build.families[family.name].settings, family.evaluation
    names = [*evaluation.settings, *([evaluation.selection.setting] if evaluation.selection else ())]
    if not names:
        return built
    now = project.settings_now[family.name]
    return built.model_copy(update={name: getattr(now, name) for name in names})


class Fingerprints:
    """Gives a fingerprint of what a model is asked now about a row, and scored by.

    It goes by all in the row that is comparable, the prompts, and the ways to ask.
    """

    def __init__(self, project: Project, family: Family) -> None:
        self._evaluation, self._settings = family.evaluation, settings_now(project, family)
        prompts: Mapping[str, Prompt[Any]] = project.build.families[family.name].prompts
        self._templates = content_hash(
            [[prompts[prompt.name].source, prompt.max_tokens] for prompt in family.evaluation.prompts]
        )
        self.prompts: set[str] = set()
        """The names of those by which the rows so far are asked about."""

    def __call__(self, row: Any) -> str:
        """Return the fingerprint of a row."""
        evaluation, settings = self._evaluation, self._settings
        ways: list[list[object]]
        if evaluation.choices is not None:
            choices = evaluation.choices(row, settings)
            ways = [[choice.prompt, dict(choice.options), choice.prompting, choice.shots] for choice in choices]
        else:
            requests = evaluation.requests(row, settings)
            ways = [[request.variant, request.prompt.name, request.prompting, request.shots] for request in requests]
            self.prompts.update(request.prompt.name for request in requests)
        comparable = row.model_dump(mode="json", exclude={*BOOKKEEPING, *row.BOOKKEEPING, "key"})
        return content_hash(self._templates, ways, comparable)


def advice_on_rules(project: Project, family: Family) -> str:
    """Return which roles in a family's dialogues need a model beside the evaluated one; empty if each has one."""
    settings = project.build.families[family.name].settings
    steps = [step for name in family.evaluation.held.parts for step in family.part(name).steps]
    asked = [(step, prompt.role) for step in steps for prompt in step.prompts if prompt.role != EVALUATED]
    by_rules = dict.fromkeys(
        role
        for step, role in asked
        if any(isinstance(project.config.model_for(name), RulesSettings) for name in step.models_as(role, settings))
    )
    roles = " and ".join(by_rules)
    return f"rules find little to refute in what a model writes: name models for {roles} too" if roles else ""


def dialogue_fingerprints(family: Family, prompts: Mapping[str, Prompt[Any]]) -> Mapping[str, str]:
    """Return prompt or step -> version, of the parts that hold and rate dialogues; empty if the family holds none."""
    held = family.evaluation.dialogues
    steps = [(name, step) for name in (held.parts if held else ()) for step in family.part(name).steps]
    return {
        **{f"{part}/{step.name}": str(step.version) for part, step in steps},
        **{
            prompt.name: content_hash(prompts[prompt.name].source, prompt.max_tokens, prompt.temperature)
            for _, step in steps
            for prompt in step.prompts
        },
    }
