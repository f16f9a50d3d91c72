"""The scorers that a release ships: one file each, which runs alone and gives what the command line gives."""

import ast
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.construct.entailment import Entailment
from flows.families import family_names, load_family
from flows.families.charpeval import score as charpeval
from flows.families.charpeval.inference import choices
from flows.families.charpeval.inference import prompt as prompt_of
from flows.families.lveval import score as lveval
from flows.families.lveval.datasets import DATASETS
from flows.families.reeval import score as reeval
from flows.families.reeval.evaluation import score_by
from flows.families.uraq import score as uraq
from flows.llm.likelihood import SCORES
from flows.scoring.hashing import drawn_hash
from flows.scoring.scorer import Scores
from flows.scoring.shipped import shipped_file, shipped_scorer
from flows.scoring.tables import Beside, ScoreError, ScoreTables, tally, told_beside
from schemas.base import content_hash
from schemas.charpeval import OPTION_TYPES
from schemas.prediction import Prediction
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS
from tests.released import (
    charpeval_items,
    enriched_cases,
    long_contexts,
    replies,
    swap_cases,
    uraq_rows,
    weighed,
    write_lines,
    write_release,
)
from tests.test_flows_construct_entailment import LABELS, PAIRS, make_model

SCORED = [name for name in family_names() if load_family(name).evaluation.scorer is not None]


def shipped(family: str) -> str:
    return shipped_scorer(load_family(family).folder)


def loaded(folder: Path, family: str) -> ModuleType:
    """The shipped file as lm-evaluation-harness loads it: a module that no other can import."""
    (path := folder / f"{family}.py").write_text(shipped(family), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"shipped_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


# ---- the file ----


def test_the_families_that_ask_and_score_ship_a_scorer() -> None:
    assert set(EXAMPLES) <= set(SCORED)


@pytest.mark.parametrize("family", SCORED)
def test_a_shipped_scorer_is_one_file_of_the_standard_library_that_names_nothing_of_ours(family: str) -> None:
    text = shipped(family)
    tree = ast.parse(text)
    imported = {name.partition(".")[0] for node in tree.body for name in imports_of(node)}
    assert imported <= sys.stdlib_module_names
    assert not {"flows", "schemas", "data"} & {
        name.partition(".")[0] for node in ast.walk(tree) for name in imports_of(node)
    }
    assert [name for name, count in Counter(defined(tree)).items() if count > 1] == []
    assert text.startswith('"""Scores ')


def imports_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [str(node.module)] if isinstance(node, ast.ImportFrom) else []


def defined(tree: ast.Module) -> Iterable[str]:
    """The names that a module defines: in one file, no two modules may define the same."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def test_an_import_that_cannot_be_shipped_is_refused(tmp_path: Path) -> None:
    for line, said in (
        ("from flows.scoring.qa import f1 as best", "imports names as they are"),
        ("from flows.scoring import qa", "is no module"),
    ):
        (tmp_path / "score.py").write_text(f'"""Scores."""\n\n{line}\n', encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            shipped_scorer(tmp_path)


def vectors(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "vectors" / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def test_a_shipped_scorer_meets_every_official_score(shared: Path, tmp_path: Path) -> None:
    metrics = loaded(tmp_path, "lveval").METRICS
    cases = [*vectors(shared, "lveval_metrics"), *vectors(shared, "mrqa_metrics")]
    assert len(cases) == 859 + 158
    for case in cases:
        score = metrics[case["metric"]](case["prediction"], case["answers"], case["keywords"], case["lang"])
        assert score == pytest.approx(case["score"], abs=1e-6), case["id"]


def test_the_names_that_a_scorer_states_again_are_those_of_the_records() -> None:
    assert (uraq.NEEDS, uraq.SETTINGS, uraq.DONT_KNOW) == (NEEDS, SETTINGS, DONT_KNOW)
    assert (OPTION_TYPES, tuple(SCORES)) == (charpeval.OPTION_TYPES, charpeval.SCORES)


def test_charpeval_s_prompts_are_those_of_evaluate() -> None:
    for item in charpeval_items():
        (choice,) = choices(item, Shots())
        row = item.model_dump(mode="json")
        before = choice.prompt.removesuffix(charpeval.prompt(row))
        assert choice.prompt == prompt_of(item) == f"{before}{charpeval.prompt(row)}"
        assert before.endswith("makes nothing up.\n\n")
        assert charpeval.texts(row) == list(choice.options.values())
        assert tuple(choice.options) == charpeval.OPTION_TYPES


@dataclass(frozen=True)
class Shots:
    shots: tuple[Any, ...] = (0,)


# ---- what the command line makes of it ----


@dataclass(frozen=True)
class Settings:
    entailment: str = "off"
    matrix_seeds: int = 500
    metrics: Literal["released", "paper"] = "released"
    context_windows: Mapping[str, int] | None = None
    blacklists: Mapping[Any, str] = field(default_factory=dict)


def tables_of(family: str, rows: Iterable[Any], predictions: Iterable[Any]) -> ScoreTables:
    """The tables of the command line."""
    evaluation = load_family(family).evaluation
    scored = evaluation.score(
        map(evaluation.scored, rows), map(Prediction.model_validate, predictions), False, Settings()
    )  # fmt: skip
    assert set(scored.frames) <= set(scored.layouts), "each table says what its lines and columns are"
    return scored


def rows_in_json(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]


def reeval_replies(cases: Iterable[Any], seed: int) -> list[dict[str, Any]]:
    return replies({case.id: reeval.VARIANTS[reeval.category(case.model_dump())] for case in cases}.items(), seed)


EXAMPLES: dict[str, tuple[list[Any], Callable[[list[Any]], list[dict[str, Any]]]]] = {
    "uraq": (uraq_rows((1,)), lambda rows: replies([(row.id, NEEDS) for row in rows], 1)),
    "reeval": ([*swap_cases(), *enriched_cases()], lambda rows: reeval_replies(rows, 1)),
    "lveval": (
        long_contexts("hotpotwikiqa-mixup"),
        lambda rows: replies([(row.id, lveval.VARIANTS) for row in rows], 1),
    ),
    "charpeval": (charpeval_items(), lambda rows: weighed(rows, ["sum"], 1)),
}
"""Rows of each family, and replies to them."""
TOO_LONG = {"prediction": "", "failure": "prompt longer than the model's window"}


@pytest.mark.parametrize("family", ["uraq", "reeval", "lveval"])
def test_failures_and_empty_replies_are_counted_beside_the_scores(family: str) -> None:
    rows, reply_to = EXAMPLES[family]
    given = [
        {**one, **TOO_LONG} if number % 5 == 0 else {**one, "prediction": " \n"} if number % 5 == 1 else one
        for number, one in enumerate(reply_to(rows))
    ]
    failed = sum("failure" in one for one in given)
    empty = sum(not one["prediction"].strip() for one in given) - failed
    seen = Beside()
    assert len(list(tally(map(Prediction.model_validate, given), seen))) == len(given)
    beside = told_beside(seen)
    counts = Counter[str]()
    for cell in beside.tables:
        counts[cell.row.rpartition(" / ")[2].partition(":")[0]] += cell.n
    assert counts == {"failed": failed, "empty reply": empty}
    scores = SCORES_OF[family](rows_in_json(rows), given)
    assert scores.account.notes() == beside.notes
    assert beside.notes == [
        f"{failed} predictions failed and are not scored: the server (or the model that is loaded here) did not take "
        "the prompt",
        f"{empty} replies are empty, and are scored as they are: the model said nothing",
    ]
    # A failure is what is not there: with --partial, the others are scored to the same.
    answered = [one for one in given if "failure" not in one]
    assert SCORES_OF[family](rows_in_json(rows), answered, True).tables == scores.tables
    with pytest.raises(ScoreError, match=r"all \d+ failed"):
        tables_of(family, rows, [{**one, **TOO_LONG} for one in given])


SCORES_OF: Mapping[str, Callable[..., Scores]] = {
    "uraq": uraq.score, "reeval": reeval.score, "lveval": lveval.score, "charpeval": charpeval.score,
}  # fmt: skip


def test_options_that_are_weighed_have_no_reply_that_could_be_empty() -> None:
    noted = Beside()
    assert len([*tally([Prediction(id="a", variant="sum", scores={"GTRS": 0.0})], noted)]) == 1
    assert noted == {}


def test_lv_eval_s_replies_without_replacements_are_for_touchstone() -> None:
    rows = [row for one in DATASETS for row in long_contexts(one.name)]
    reply = {"id": rows[0].id, "variant": "context", "prediction": "no", "prompting": "no-kpr"}
    with pytest.raises(
        lveval.CannotScore, match="no-kpr: replies without replacements are scored by `touchstone score`"
    ):
        lveval.score(rows_in_json(rows), [reply])


def test_another_blacklist_and_a_window_are_options(folder: Path) -> None:
    rows, reply_to = EXAMPLES["lveval"]
    data, predictions = write_lines(folder / "rows.jsonl", rows_in_json(rows)), folder / "p.jsonl"
    write_lines(predictions, reply_to(rows))
    (folder / "words.txt").write_text("Odessa\n", encoding="utf-8")
    options = ("--metrics", "paper", "--blacklist", "en=words.txt", "--window", "model=4000")
    done = alone(folder, "scorers/lveval.py", predictions, data, *options)
    assert "en: the blacklist is words.txt" in done.stderr
    assert "\tmodel / hotpotwikiqa-mixup / ceiling Lm/Ld\t16k\t25.00\t2" in done.stdout
    done = alone(folder, "scorers/lveval.py", predictions, data, "--blacklist", "en=none.txt", code=2)
    assert "none.txt: cannot be read as a blacklist" in done.stderr


@pytest.mark.slow
def test_its_cross_encoder_is_that_of_the_command_line(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "nli", LABELS)
    verdicts = Entailment(str(folder)).entails(PAIRS)
    assert reeval.cross_encoder(str(folder))(PAIRS) == verdicts
    assert set(verdicts) == {True, False}


def test_a_case_that_two_pivots_made_alike_counts_once() -> None:
    case = load_family("reeval").evaluation.scored
    predictions = [*map(Prediction.model_validate, reeval_replies(enriched_cases(), 1))]
    once, twice = (
        score_by(None, map(case, cases), predictions, False, Settings())
        for cases in (enriched_cases(), [*enriched_cases(), *enriched_cases()])
    )
    assert once.tables == twice.tables


# ---- the command line, alone ----


def test_a_failure_says_nothing(folder: Path) -> None:
    with pytest.raises(ValueError, match="an empty prediction beside a failure"):
        Prediction(id="a", variant="v", prediction="x", failure="too long")
    rows, reply_to = EXAMPLES["uraq"]
    data = write_lines(folder / "rows.jsonl", rows_in_json(rows))
    predictions = write_lines(folder / "p.jsonl", [{**reply_to(rows)[0], "prediction": "x", "failure": "too long"}])
    assert "failure is not as it should be" in alone(folder, "scorers/uraq.py", predictions, data, code=2).stderr


def alone(folder: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A scorer run as a consumer has it: no package beside the standard library, no path, nothing of ours."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", *map(str, arguments)], cwd=folder, capture_output=True, encoding="utf-8",
        env={}, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the scorers as a release does."""
    for name in SCORED:
        (tmp_path / "scorers").mkdir(exist_ok=True)
        (tmp_path / "scorers" / f"{name}.py").write_text(shipped(name), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("family", EXAMPLES)
def test_it_runs_in_an_empty_environment_and_gives_the_tables_of_the_command_line(family: str, folder: Path) -> None:
    rows, reply_to = EXAMPLES[family]
    by_type = [[row for row in rows if type(row) is kind] for kind in dict.fromkeys(map(type, rows))]
    data = [write_lines(folder / f"{number}.jsonl", rows_in_json(own)) for number, own in enumerate(by_type)]
    given = reply_to(rows)
    predictions = write_lines(folder / "predictions.jsonl", given)
    done = alone(folder, f"scorers/{family}.py", predictions, *data, "--output", "tables.json")
    wanted = [cell.model_dump() for cell in tables_of(family, rows, given).tables]
    cells = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    assert cells == wanted != []
    printed = [line.split("\t") for line in done.stdout.splitlines()]
    if family == "lveval":  # in per cent, but for its counts
        cells = [
            cell if cell["table"] in (lveval.SHARED, lveval.FACTS) else cell | {"value": f"{100 * cell['value']:.2f}"}
            for cell in cells
        ]
    assert printed == [
        ["table", "row", "column", "value", "n"],
        *([str(value) for value in cell.values()] for cell in cells),
    ]


def test_chinese_without_jieba_names_what_to_install(folder: Path) -> None:
    rows = long_contexts("lic-mixup")
    data = write_lines(folder / "rows.jsonl", rows_in_json(rows))
    predictions = write_lines(folder / "p.jsonl", replies([(row.id, lveval.VARIANTS) for row in rows], 1, ["长江"]))
    done = alone(folder, "scorers/lveval.py", predictions, data, code=2)
    assert done.stderr == "Chinese texts are divided into words by jieba: pip install jieba==0.42.1\n"


def test_parquet_without_pyarrow_and_entailment_without_torch_name_what_to_install(folder: Path) -> None:
    predictions = write_lines(folder / "p.jsonl", [])
    done = alone(folder, "scorers/uraq.py", predictions, "rows.parquet", code=2)
    assert done.stderr == "rows.parquet: Parquet needs pyarrow: pip install pyarrow, or give the rows as JSONL\n"
    done = alone(folder, "scorers/reeval.py", predictions, "rows.jsonl", "--entailment", "x", code=2)
    assert done.stderr == "--entailment: torch is missing: pip install torch transformers\n"


@pytest.mark.parametrize("family", EXAMPLES)
def test_a_release_s_parquet_gives_the_same_as_its_rows(
    family: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    rows, reply_to = EXAMPLES[family]
    by_type = {kind: [row for row in rows if type(row) is kind] for kind in dict.fromkeys(map(type, rows))}
    data = [write_release(folder / f"{kind.__name__}.parquet", own) for kind, own in by_type.items()]
    given = reply_to(rows)
    predictions = write_lines(folder / "p.jsonl", given)
    monkeypatch.setattr(sys, "argv", ["scorer", str(predictions), *map(str, data), "--output", str(folder / "t.json")])
    loaded(folder, family).main()
    assert capsysbinary.readouterr().out.startswith(b"table\trow\tcolumn\tvalue\tn\n")
    cells = json.loads((folder / "t.json").read_text(encoding="utf-8"))
    assert cells == [cell.model_dump() for cell in tables_of(family, rows, given).tables]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": 1, "variant": "v", "prediction": "x"}', "p.jsonl: line 2: id is not as it should be"),
        ('{"id": "1", "prediction": "x"}', "line 2: variant is not"),
        ('{"id": "1", "variant": "v"}', "line 2: prediction is not"),
        ('{"id": "1", "variant": "v", "prediction": "x", "shots": true}', "line 2: shots is not"),
        ('{"id": "1", "variant": "v", "prediction": "x", "sHots": 1}', "line 2: sHots is not"),
        ('{"id": "1", "variant": "v", "prediction": "x", "scores": {}}', "line 2: scores is not"),
        ("[]", "line 2: expected an object"),
        ("{", "line 2: expected JSON"),
        ("\x00", "line 2: expected JSON"),
    ],
)
def test_a_bad_line_is_told_by_its_place(line: str, said: str, folder: Path) -> None:
    data = write_lines(folder / "rows.jsonl", rows_in_json(uraq_rows((1,))))
    (folder / "p.jsonl").write_text(f"\n{line}\n", encoding="utf-8")
    done = alone(folder, "scorers/uraq.py", "p.jsonl", data, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("family", "line", "said"),
    [
        # What is shown is of the form that this family's parser needs.
        (
            "uraq",
            '{"id": "1", "variant": "context-first", "prediction": ["3"]}',
            'found ["3"]; expected a row such as {',
        ),
        ("uraq", '{"id": "1", "variant": "context-first"}', '"prediction": "So it is <output>3</output>"}'),
        ("charpeval", '{"id": "1", "variant": "sum", "scores": [-1, -2]}', '"scores": {"GTRS": -9.5, "KGIR": -10.5,'),
    ],
)
def test_a_wrong_form_is_answered_with_the_expected_one(family: str, line: str, said: str, folder: Path) -> None:
    data = write_lines(folder / "rows.jsonl", rows_in_json(EXAMPLES[family][0]))
    (folder / "p.jsonl").write_text(line, encoding="utf-8")
    assert said in alone(folder, f"scorers/{family}.py", "p.jsonl", data, code=2).stderr


def test_too_few_scores_are_answered_with_all_their_names(folder: Path) -> None:
    (item, *_) = rows_in_json(charpeval_items(1))
    data = write_lines(folder / "rows.jsonl", [item])
    predictions = write_lines(folder / "p.jsonl", [{"id": item["id"], "variant": "sum", "scores": {"GTRS": -1}}])
    done = alone(folder, "scorers/charpeval.py", predictions, data, code=2)
    assert "expected {GTRS: …, KGIR: …, KGUG: …, RECF: …, IECF: …, COEX: …}, a number each; found GTRS" in done.stderr


def test_the_forms_that_are_shown_are_scored() -> None:
    for family in SCORED:
        scorer = load_family(family).evaluation.scorer
        assert scorer is not None
        assert set(scorer.form) - {"id", "variant"} in ({"prediction"}, {"scores"}), family
        assert Prediction.model_validate(scorer.form)


def test_another_family_s_data_and_a_missing_file_are_told(folder: Path) -> None:
    data = write_lines(folder / "rows.jsonl", rows_in_json(charpeval_items()))
    predictions = write_lines(folder / "p.jsonl", [])
    assert "expected a column item_id, found none" in alone(folder, "scorers/uraq.py", predictions, data, code=2).stderr
    assert "No such file" in alone(folder, "scorers/uraq.py", predictions, "gone.jsonl", code=2).stderr


# ---- for Inspect ----


@given(st.lists(st.text() | st.integers(-(2**53), 2**53), max_size=4))
def test_what_a_shipped_file_draws_is_what_we_draw(parts: list[str | int]) -> None:
    try:
        wanted = content_hash(*parts)
    except TypeError:  # a lone surrogate, which no text of ours has
        return
    assert drawn_hash(*parts) == wanted


def test_the_protocol_of_dialogues_is_one_file_of_the_standard_library() -> None:
    held = load_family("refutebench").evaluation.held.elsewhere
    assert held is not None
    tree = ast.parse(shipped_file(held.protocol))
    assert {name.partition(".")[0] for node in tree.body for name in imports_of(node)} <= sys.stdlib_module_names
