"""`touchstone new` in a terminal: what was found, what can be built from it, and the configuration."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from flows.construct.proposal import Material, Proposal, has_answer
from flows.language import LANGUAGES
from flows.llm.endpoint_settings import KEY_ENV, EndpointSettings
from flows.new.configuration import configuration, model_settings, next_commands
from flows.new.languages import NAMES
from flows.new.look import Unused, look, mean_words
from flows.new.proposals import propose
from flows.project.console import make_console
from flows.project.settings import DEFAULT, load_config
from schemas.base import counted, visible
from schemas.errors import Failed, WrongInput, first_problem
from schemas.secrets import is_secret
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

WIDTH = 80
SHOWN = 40
"""Characters that are shown of an answer."""
MOST_SHOWN = 12
"""Files of which nothing is taken that are named one by one."""
NOUNS: Mapping[type, str] = {
    QASource: "question", Statement: "statement", Dialogue: "dialogue", Passage: "passage", Assignment: "text",
}  # fmt: skip
DEFAULT_URL = "https://api.openai.com/v1"


def new_in_terminal(paths: Sequence[Path], model_name: str | None, base_url: str | None) -> None:
    """Look at some files and folders, and write `touchstone.yaml`.

    Raises `WrongInput` if the file is there already, or a path or the model is wrong, and `Failed` if nothing can be
    built.
    """
    path = Path(DEFAULT)
    if path.exists() or path.is_symlink():
        raise WrongInput(f"{path}: is here already, and is not overwritten; move it away, or work in another folder")
    model = _model(model_name, base_url)
    console = make_console(WIDTH)
    material, unused = look(paths)
    for some in material:
        _print_material(console, some)
    _print_unused(console, unused)
    proposals, lacking = propose(material, _name(paths[0]), by_rules=model is None)
    _print_families(console, proposals, lacking)
    if not proposals:
        raise Failed("nothing can be built from this, so nothing was written; the lines above say what is lacking")
    text = configuration(_name(paths[0]), model, proposals)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise WrongInput(f"{path}: is here already, and is not overwritten") from error
    load_config(path)
    console.print(f"\nWrote [bold]{path}[/]. Next")
    for command, what in next_commands(proposals, by_rules=model is None):
        console.print(f"  {escape(f'{command:<38}')} {what}")


def _model(name: str | None, base_url: str | None) -> dict[str, Any] | None:
    """Return the model's settings; None for the rules. Raises `WrongInput`."""
    if name is None:
        if base_url is not None:
            raise WrongInput("--base-url: names a server without a model; name one with --model")
        return None
    if is_secret(name):
        raise WrongInput(f"--model: expected a model's name, found a key; put that into the environment as {KEY_ENV}")
    settings = model_settings(name, base_url or DEFAULT_URL)
    try:
        EndpointSettings.model_validate(settings)
    except ValidationError as error:
        raise WrongInput(f"--model, --base-url: {first_problem(error, 'model')}") from error
    return settings


def _name(path: Path) -> str:
    """Return a name for the benchmark, of letters, digits and `-`, by the data's."""
    stem = path.resolve().name.partition(".")[0] if path.is_file() else path.resolve().name
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40] or "mine"


# ---- what was found ----


def _print_material(console: Console, some: Material) -> None:
    console.print(f"[bold]{escape(visible(some.name))}[/]")
    beginning = "" if some.is_whole else " (its beginning)"
    _print(console, f"{_counts(some)}{beginning}, {NAMES[some.language]}")
    if some.spec.fields:
        taken = ", ".join(f"{ours}: {column}" for ours, column in some.spec.fields.items())
        _print(console, f"taken for {taken}")
        for ours, columns in some.others.items():
            _print(console, f"{ours} could also be {' or '.join(columns)}")
    elif some.spec.format not in ("documents", "book"):
        _print(console, f"in the format {some.spec.format}")
    if some.refused:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in some.refused.items())
        _print(console, f"left out: {reasons}")
    for warning in (*some.notes, *_missing_answers(some)):
        _print(console, f"! {warning}", "yellow")
    if some.language not in LANGUAGES:
        _print(console, f"! no family reads {NAMES[some.language]}: English and Chinese alone", "yellow")


def _counts(some: Material) -> str:
    """Return how many of what there are, and how long they are."""
    shape = next(shape for shape in NOUNS if some.records.get(shape))
    records = some.records[shape]
    texts = [_text(record) for record in records]
    length = f"about {mean_words(texts):,} words each" if texts else ""
    files = f"{counted(some.files, 'document')}, " if some.spec.format == "documents" else ""
    counts = f"{files}{counted(len(records), NOUNS[shape])} of {length}"
    if shape is QASource and some.records.get(Passage):
        passages = some.records[Passage]
        lengths = mean_words([passage.text for passage in passages])
        counts += f", {counted(len(passages), 'passage')} of {lengths:,}"
    return counts


def _text(record: Any) -> str:
    return str(getattr(record, "question", None) or getattr(record, "response", None) or getattr(record, "text", ""))


def _missing_answers(some: Material) -> list[str]:
    """Return what to say of questions whose answer is not in their evidence, or that have none."""
    questions = some.records.get(QASource, ())
    if not questions or any(question.sides for question in questions):
        return []
    if not any(question.evidence for question in questions):
        return ["no column has the passage with the answer: ReEval and LV-Eval want one"]
    missing = [question for question in questions if not has_answer(question)]
    if not missing:
        return []
    answer = " ".join(missing[0].answers[0].split())
    answer = answer if len(answer) <= SHOWN else f"{answer[: SHOWN - 3]}..."
    fields = some.spec.fields or {"answers": "the answer", "evidence": "the evidence"}
    return [
        f"{len(missing):,} of {len(questions):,} answers ({fields['answers']}) are not in {fields['evidence']}: "
        f'first "{answer}" ({missing[0].source.id}); ReEval and LV-Eval leave them out'
    ]


def _print_unused(console: Console, unused: Sequence[Unused]) -> None:
    if not unused:
        return
    console.print("[bold]Not used[/]")
    for file in unused[:MOST_SHOWN]:
        _print(console, f"{file.path}: {file.why}")
    if len(unused) > MOST_SHOWN:
        _print(console, f"and {len(unused) - MOST_SHOWN:,} more files")


def _print_families(console: Console, proposals: Mapping[str, Proposal], lacking: Mapping[str, str]) -> None:
    console.print("\n[bold]Can be built[/]" if proposals else "\n[bold]Nothing can be built[/]")
    for family, proposal in proposals.items():
        _print(console, f"{family}: {proposal.what}")
    if lacking:
        console.print("[bold]Cannot[/]" if proposals else "")
        for family, why in lacking.items():
            _print(console, f"{family}: {why}")


def _print(console: Console, text: str, style: str = "") -> None:
    """Print a text below its heading, its lines indented."""
    for line in textwrap.wrap(visible(text), console.width - 4, initial_indent="  ", subsequent_indent="    "):
        console.print(escape(line), style=style)
