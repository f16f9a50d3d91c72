"""The scorers that travel say what ours say: metric by metric, table by table, and in an empty environment."""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.publish.scorers import FORMS, READ, SCORED, charpeval, lveval, reeval, scorer, uraq
from flows.construct.entailment import Entailment, premise_and_hypothesis
from flows.families import load_family
from flows.families.charpeval.inference import choices
from flows.families.charpeval.inference import prompt as prompt_of
from flows.families.charpeval.score import first
from flows.families.lveval.datasets import DATASETS
from flows.families.lveval.inference import ablations_of
from flows.families.lveval.score import MetricsVariant, metric_of, words_of
from flows.families.reeval.score import ScoredCase
from flows.families.reeval.score import tables as reeval_tables
from flows.families.uraq.score import is_refusal, is_right, read_reply
from flows.scoring.qa import METRICS, exact_match, f1, number_value
from flows.scoring.rouge import rouge_l
from flows.scoring.tables import PartialScores, ScoreError, ScoreTables, tally, told_beside
from flows.scoring.words import released_blacklist
from schemas.charpeval import OPTION_TYPES
from schemas.prediction import Prediction
from schemas.uraq import NEEDS, SETTINGS, AnswerType
from tests.causal_models import text
from tests.released import (
    SAID,
    charpeval_items,
    enriched_cases,
    long_contexts,
    replies,
    right_in_part,
    swap_cases,
    uraq_rows,
    weighed,
    write_lines,
    write_release,
)
from tests.test_flows_construct_entailment import LABELS, PAIRS, make_model

MODULES: dict[str, ModuleType] = {"charpeval": charpeval, "lveval": lveval, "reeval": reeval, "uraq": uraq}
PIECES = (
    "the", "A", "sun", "moon.", "北京", "上海", "的", "10", "one", "hundred", "and", "-", "’s", "<output>", "</output>",
    "no", "1,000", "3/4", "ß", ". ", "Ａ", "，",
)  # fmt: skip
WORDS = ("the", "sun", "moon", "twenty", "five", "million", "and", "3", "不", "红")
TEXTS = st.one_of(
    st.sampled_from(SAID),
    st.text(max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
)
ANY_LANGUAGE = {
    "released_f1_with_keywords", "paper_f1_with_keywords", "keyword_recall_f1", "f1_with_blacklist",
}  # fmt: skip
"""Metrics of Chinese and English; the others are of one of them, which their names tell."""


# ---- one reply ----


def test_a_scorer_imports_the_standard_library_alone_unless_it_is_asked_for_more() -> None:
    for name in SCORED:
        top = [
            line.split()[1].partition(".")[0]
            for line in scorer(name).splitlines()
            if line.startswith(("import ", "from "))
        ]
        assert set(top) <= sys.stdlib_module_names, name


def vectors(shared: Path, name: str) -> list[dict[str, Any]]:
    lines = (shared / "vectors" / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def test_every_official_score_is_met_and_equals_ours(shared: Path) -> None:
    cases = vectors(shared, "lveval_metrics")
    assert len(cases) == 859
    for case in cases:
        answer, keywords, lang = case["answers"][0], case["keywords"], case["lang"]
        score = lveval.METRICS[case["metric"]](case["prediction"], answer, keywords, lang, None)
        assert score == pytest.approx(case["score"], abs=1e-6), case["id"]
        assert score == METRICS[case["metric"]](case["prediction"], case["answers"], keywords, lang)
    cases = vectors(shared, "mrqa_metrics")
    assert len(cases) == 158
    for case in cases:
        score = {"exact_match": reeval.exact_match, "f1": reeval.f1}[case["metric"]](
            case["prediction"], case["answers"]
        )
        assert score == pytest.approx(case["score"], abs=1e-6), case["id"]
        assert score == METRICS[case["metric"]](case["prediction"], case["answers"], None, "en")


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from(["en", "zh"]))
def test_reeval_s_metrics_are_ours_on_any_text(prediction: str, answers: list[str], lang: str) -> None:
    assert reeval.exact_match(prediction, answers, lang) == exact_match(prediction, answers, lang)
    assert reeval.f1(prediction, answers, lang) == f1(prediction, answers, lang)
    assert reeval.premise_and_hypothesis(prediction, answers[0], answers[-1]) == premise_and_hypothesis(
        prediction, answers[0], answers[-1]
    )


@settings(deadline=None)  # jieba reads its dictionary once
@given(TEXTS, TEXTS, st.one_of(st.none(), TEXTS), st.sampled_from(sorted(lveval.METRICS)), st.booleans())
def test_lv_eval_s_metrics_are_ours_on_any_text(
    prediction: str, answer: str, keywords: str | None, metric: str, own: bool
) -> None:
    blacklist = frozenset({"sun", "的", "红"}) if own else None
    for lang in ("en", "zh") if metric in ANY_LANGUAGE else ("zh",) if "_zh" in metric else ("en",):
        ours = METRICS[metric](prediction, [answer], keywords, lang, blacklist)
        assert lveval.METRICS[metric](prediction, answer, keywords, lang, blacklist) == ours


def test_no_metric_is_missing_and_the_blacklists_are_the_released_ones() -> None:
    assert {*lveval.METRICS, "exact_match", "f1"} == set(METRICS)
    assert {lang: released_blacklist(lang) for lang in ("en", "zh")} == lveval.BLACKLISTS


def test_lv_eval_s_datasets_are_ours() -> None:
    assert set(lveval.DATASETS) == {one.released for one in DATASETS}
    for one in DATASETS:
        own = lveval.DATASETS[one.released]
        assert own[:4] == (one.name, one.kind, one.metric, one.confusing_facts)
        assert (own.replaced, own.keywords) == (bool(one.replacements), one.keywords)
        assert own.facts == ("no-cfi" in ablations_of(one, confused=one.confusing_facts))
        variants: tuple[MetricsVariant, ...] = ("released", "paper")
        for variant in variants:
            assert lveval.metric_of(own, variant) == metric_of(one, variant)
    assert [lveval.words_of(level) for level in ("800", "16k")] == [words_of(level) for level in ("800", "16k")]


def test_rouge_of_a_long_text_is_ours() -> None:
    ours, theirs = (" ".join(text(seed, 300) for seed in seeds) for seeds in ((1, 2), (2, 3)))
    assert lveval.rouge_l(ours, theirs) == rouge_l(ours, theirs) > 0


KINDS: st.SearchStrategy[AnswerType] = st.sampled_from(["number", "boolean", "entity"])


@given(TEXTS, TEXTS, KINDS)
def test_uraq_s_reading_of_a_reply_is_ours_on_any_text(reply: str, expected: str, kind: AnswerType) -> None:
    read = read_reply(reply)
    assert uraq.read_reply(reply) == (read.answer, read.tagged)
    assert uraq.is_refusal(read.answer) == is_refusal(read.answer)
    assert uraq.is_right(read.answer, expected, kind) == is_right(read.answer, expected, kind)
    assert uraq.number_value(reply) == number_value(reply)


@given(st.dictionaries(st.sampled_from(OPTION_TYPES), st.sampled_from([-1.0, -2.0, -2.5]), min_size=5))
def test_the_first_place_is_shared_as_ours_is(scores: dict[Any, float]) -> None:
    if len(scores) < len(OPTION_TYPES):
        with pytest.raises(charpeval.CannotScore, match=r"expected \{GTRS: …, KGIR"):
            charpeval.first(scores)
    else:
        assert charpeval.first(scores) == first(scores)


def test_charpeval_s_prompts_are_those_of_evaluate() -> None:
    for item in charpeval_items():
        (choice,) = choices(item, Shots())
        row = item.model_dump(mode="json")
        before = choice.prompt.removesuffix(charpeval.prompt(row, ""))
        assert choice.prompt == prompt_of(item) == charpeval.prompt(row, before)
        assert before.endswith("makes nothing up.\n\n")
        assert charpeval.texts(row) == list(choice.options.values())
        assert tuple(choice.options) == charpeval.OPTION_TYPES


@dataclass(frozen=True)
class Shots:
    shots: tuple[Any, ...] = (0,)


# ---- the tables ----


@dataclass(frozen=True)
class Settings:
    entailment: str = "off"
    matrix_seeds: int = 500
    metrics: MetricsVariant = "released"
    context_windows: Mapping[str, int] | None = None
    blacklists: Mapping[Any, str] = field(default_factory=dict)


def ours(
    family: str, rows: Iterable[Any], given_: Iterable[Any], partial: bool = False, **settings: Any
) -> ScoreTables:
    evaluation = load_family(family).evaluation
    predictions = [Prediction.model_validate(one) for one in given_]
    found = evaluation.score(map(evaluation.scored, rows), predictions, partial, Settings(**settings))
    assert set(found.frames) <= set(found.layouts), "each table says what its lines and columns are"
    return found


def assert_equal(found: Mapping[str, Sequence[Any]], wanted: ScoreTables) -> None:
    """The same cells in the same order, and the same values as far as the order of adding goes."""
    cells = [(table, *cell) for table, own in found.items() for cell in own]
    assert [(*cell[:3], cell[4]) for cell in cells] == [(c.table, c.row, c.column, c.n) for c in wanted.tables]
    for cell, one in zip(cells, wanted.tables, strict=True):
        assert cell[3] == (None if one.value is None else pytest.approx(one.value, abs=1e-12)), one
    assert cells


def rows_in_json(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]


@pytest.mark.parametrize("seed", range(4))
def test_uraq_s_tables_are_ours(seed: int) -> None:
    rows = uraq_rows((1, 4, 25), ("uraq", "conflictqa:dev"))
    given_ = [
        *right_in_part(rows, seed), *right_in_part(rows, seed + 10, model="b", shots=1),
        *replies([(row.id, NEEDS) for row in rows], seed, model="b"),
    ]  # fmt: skip
    found, notes = uraq.score(rows_in_json(rows), given_)
    assert_equal(found, ours("uraq", rows, given_))
    assert but_for_empty(notes) == []
    assert {value for table in found.values() for _, _, value, _ in table} > {0, 1, None}


@pytest.mark.parametrize("seed", range(3))
def test_uraq_s_tables_of_a_part_are_ours(seed: int) -> None:
    rows = uraq_rows((1, 10), ("uraq", "x"))
    given_ = right_in_part(rows, seed)[seed :: seed + 2] + replies([("strange", NEEDS)], seed)
    with pytest.warns(PartialScores) as told:
        wanted = ours("uraq", rows, given_, partial=True)
    found, notes = uraq.score(rows_in_json(rows), given_, partial=True)
    assert_equal(found, wanted)
    assert but_for_empty(notes) == [str(told[0].message)]


def but_for_empty(notes: Iterable[str]) -> list[str]:
    """The notes, but for that on empty replies: some of those that are drawn here are."""
    return [note for note in notes if "replies are empty" not in note]


def reeval_replies(cases: Iterable[Any], seed: int, **group: Any) -> list[dict[str, Any]]:
    faithful = group.get("prompting") == "faithful"
    variants = {case.id: reeval.VARIANTS[reeval.category(case.model_dump())][faithful:] for case in cases}
    return replies(variants.items(), seed, **group)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pivots", [("p",), ("p", "q")])
def test_reeval_s_tables_are_ours(seed: int, pivots: tuple[str, ...]) -> None:
    cases = [*swap_cases(pivots), *enriched_cases(pivots)]
    given_ = [
        *reeval_replies(cases, seed, shots=0), *reeval_replies(cases, seed + 9, prompting="faithful", shots=5),
        *(reeval_replies(cases, seed + 7, model="another") if seed % 2 else ()),
    ]  # fmt: skip
    found, notes = reeval.score(rows_in_json(cases), given_)
    assert_equal(found, ours("reeval", cases, given_))
    assert but_for_empty(notes) == ["without --entailment: Entail. and Norm. entail. are left out"]
    assert any(name.endswith("by pivot") for name in found) == (len(pivots) > 1 or seed % 2 == 1)


class ByWords:
    """Entails where the hypothesis' answer stands in the premise's."""

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [after.partition("? ")[2][-3:] in before for before, after in pairs]


@pytest.mark.parametrize("seed", range(4))
def test_reeval_s_tables_by_a_judge_are_ours(seed: int) -> None:
    cases = [*swap_cases(("p", "q")), *enriched_cases(("p", "q"))]
    given_ = reeval_replies(cases, seed)
    scored = [ScoredCase.of(case) for case in cases]
    wanted = reeval_tables(scored, map(Prediction.model_validate, given_), False, Settings("by words"), ByWords())
    found, _ = reeval.score(rows_in_json(cases), given_, judge=ByWords().entails)
    assert_equal(found, wanted)
    columns = {column for table in found.values() for _, column, _, _ in table}
    assert columns >= {"Entail.", "Norm. entail."}


def test_a_case_that_two_pivots_made_alike_counts_once() -> None:
    cases = [*enriched_cases(), *enriched_cases()]
    given_ = reeval_replies(enriched_cases(), 1)
    assert_equal(reeval.score(rows_in_json(cases), given_)[0], ours("reeval", cases, given_))


@pytest.mark.slow
def test_its_entailment_is_ours(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "nli", LABELS)
    verdicts = Entailment(str(folder)).entails(PAIRS)
    assert reeval.cross_encoder(str(folder))(PAIRS) == verdicts
    assert set(verdicts) == {True, False}


ALL_DATASETS = [row for one in DATASETS for row in long_contexts(one.name, ("16k", "4k", "800"))]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metrics", ["released", "paper"])
def test_lv_eval_s_tables_are_ours(seed: int, metrics: MetricsVariant) -> None:
    rows, windows = ALL_DATASETS, {"m": 4000}
    both = [(row.id, lveval.VARIANTS) for row in rows]
    faced = [(row.id, ["context"]) for row in rows if lveval.has_facts(row.model_dump())]
    given_ = [
        *replies(both, seed, model="m"), *replies(faced, seed + 1, model="m", prompting="no-cfi"),
        *replies(both, seed + 2, model="n", prompting="cot", shots=1),
    ]  # fmt: skip
    found, notes = lveval.score(rows_in_json(rows), given_, metrics=metrics, windows=windows)
    assert_equal(found, ours("lveval", rows, given_, metrics=metrics, context_windows=windows))
    assert notes[0] == f"{metrics} metrics"
    assert "hotpotwikiqa-mixup: 1 of 2 pairs have no confusing fact; CFI and KPR is over the others" in notes
    assert set(found) == {
        "score by dataset", "score by level", "score by type", "metric ablation", "fact recall by depth",
        "CFI and KPR", "leakage", "words shared with answers", "confusing facts",
    }  # fmt: skip


def test_lv_eval_s_replies_without_replacements_are_for_touchstone() -> None:
    one = {"id": ALL_DATASETS[0].id, "variant": "context", "prediction": "no", "prompting": "no-kpr"}
    with pytest.raises(
        lveval.CannotScore, match="no-kpr: replies without replacements are scored by `touchstone score`"
    ):
        lveval.score(rows_in_json(ALL_DATASETS), [one])


@pytest.mark.parametrize("seed", range(3))
def test_charpeval_s_tables_are_ours(seed: int) -> None:
    items = charpeval_items()
    variants = ("sequence", "sum", "mean")[: seed + 1]
    given_ = [*weighed(items, variants, seed, shots=0), *weighed(items, variants, seed + 5, model="b", shots=3)]
    found, notes = charpeval.score(rows_in_json(items), given_)
    wanted = ours("charpeval", items, given_)
    assert_equal(found, wanted)
    assert but_for_empty(notes) == list(wanted.notes)


# ---- what does not fit ----

GIVEN: dict[str, tuple[list[Any], Callable[[list[Any]], list[dict[str, Any]]]]] = {
    "uraq": (uraq_rows((1,)), lambda rows: replies([(row.id, NEEDS) for row in rows], 1)),
    "reeval": ([*swap_cases(), *enriched_cases()], lambda rows: reeval_replies(rows, 1)),
    "lveval": (
        long_contexts("hotpotwikiqa-mixup"),
        lambda rows: replies([(one.id, lveval.VARIANTS) for one in rows], 1),
    ),
    "charpeval": (charpeval_items(), lambda rows: weighed(rows, ["sum"], 1)),
}


@pytest.mark.parametrize("family", SCORED)
def test_what_is_missing_double_or_unknown_is_counted_as_we_count_it(family: str) -> None:
    rows, reply_to = GIVEN[family]
    given_ = reply_to(rows)
    strange = {**given_[0], "id": "strange"}
    for faulty in (given_[1:], [*given_, given_[0]], [*given_, strange], [*given_[2:], strange], [strange]):
        with pytest.raises(ScoreError) as wanted:
            ours(family, rows, faulty)
        with pytest.raises(MODULES[family].CannotScore) as found:
            MODULES[family].score(rows_in_json(rows), faulty)
        counts = str(wanted.value).partition("; ")[0]
        assert str(found.value).partition("; ")[0] == counts
        assert "missing" in counts
    with pytest.raises(MODULES[family].CannotScore, match="found none"):
        MODULES[family].score(rows_in_json(rows), [])
    with pytest.raises(MODULES[family].CannotScore, match="rows: expected"):
        MODULES[family].score([], given_)


TOO_LONG = {"prediction": "", "failure": "prompt longer than the model's window"}


@pytest.mark.parametrize("family", ["uraq", "reeval", "lveval"])
def test_failures_are_there_and_in_no_score(family: str) -> None:
    rows, reply_to = GIVEN[family]
    given_ = reply_to(rows)
    failing = [{**one, **TOO_LONG} if number % 3 == 0 else one for number, one in enumerate(given_)]
    found, notes = MODULES[family].score(rows_in_json(rows), failing)
    assert_equal(found, ours(family, rows, failing))
    failed = sum("failure" in one for one in failing)
    said = f"{failed} predictions failed and are not scored: the server (or the model that is loaded here) did not take"
    assert f"{said} the prompt" in notes
    # They are what is not there: with --partial, the others are scored to the same.
    answered = [one for one in failing if "failure" not in one]
    assert MODULES[family].score(rows_in_json(rows), answered, True)[0] == found
    seen: list[Prediction] = []
    beside = told_beside([*tally(map(Prediction.model_validate, failing), seen)] and seen)
    assert sum(cell.value or 0 for cell in beside.tables if "failed: " in cell.row) == failed
    assert beside.notes[0] == f"{said} the prompt"
    every = [{**one, **TOO_LONG} for one in given_]
    for score in (lambda: MODULES[family].score(rows_in_json(rows), every), lambda: ours(family, rows, every)):
        with pytest.raises((ScoreError, MODULES[family].CannotScore), match=r"all \d+ failed"):
            score()


@pytest.mark.parametrize("family", ["uraq", "reeval", "lveval"])
def test_empty_replies_are_scored_and_counted_beside_the_scores(family: str) -> None:
    rows, reply_to = GIVEN[family]
    silent = [
        {**one, "prediction": " \n" if number % 2 else ""} if number % 5 < 2 else one
        for number, one in enumerate(reply_to(rows))
    ]
    empty = sum(not one["prediction"].strip() for one in silent)
    found, notes = MODULES[family].score(rows_in_json(rows), silent)
    assert_equal(found, ours(family, rows, silent))
    said = f"{empty} replies are empty, and are scored as they are: the model said nothing"
    assert said in notes
    seen: list[Prediction] = []
    beside = told_beside([*tally(map(Prediction.model_validate, silent), seen)] and seen)
    assert {cell.row.rpartition(" / ")[2] for cell in beside.tables} == {"empty reply"}
    assert sum(cell.value or 0 for cell in beside.tables) == empty
    assert beside.notes == [said]
    # Options that are weighed have no reply at all.
    weighed = Prediction(id="a", variant="sum", scores={"GTRS": 0.0})
    noted: list[Prediction] = []
    assert list(tally([weighed], noted)) == [weighed]
    assert noted == []


def test_a_failure_says_nothing(folder: Path) -> None:
    with pytest.raises(ValueError, match="an empty prediction beside a failure"):
        Prediction(id="a", variant="v", prediction="x", failure="too long")
    rows, reply_to = GIVEN["uraq"]
    data = write_lines(folder / "rows.jsonl", rows_in_json(rows))
    predictions = write_lines(folder / "p.jsonl", [{**reply_to(rows)[0], "prediction": "x", "failure": "too long"}])
    assert "failure is not as it should be" in alone(folder, "scorers/uraq.py", predictions, data, code=2).stderr


# ---- the command line, alone ----


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
        (tmp_path / "scorers" / f"{name}.py").write_text(scorer(name), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("family", SCORED)
def test_it_runs_in_an_empty_environment_and_tells_what_we_tell(family: str, folder: Path) -> None:
    rows, reply_to = GIVEN[family]
    if family == "reeval":  # two files, as its two categories are
        data = [
            write_lines(folder / "one.jsonl", rows_in_json(rows[:4])),
            write_lines(folder / "two.jsonl", rows_in_json(rows[4:])),
        ]
    else:
        data = [write_lines(folder / "rows.jsonl", rows_in_json(rows))]
    given_ = reply_to(rows)
    predictions = write_lines(folder / "predictions.jsonl", given_)
    done = alone(folder, f"scorers/{family}.py", predictions, *data, "--output", "tables.json")
    wanted = ours(family, rows, given_)
    cells = json.loads((folder / "tables.json").read_text(encoding="utf-8"))
    assert_equal(
        {name: [tuple(cell.values())[1:] for cell in cells if cell["table"] == name] for name in wanted.frames}, wanted
    )
    printed = [line.split("\t") for line in done.stdout.splitlines()]
    if family == "lveval":  # in per cent, but for its counts
        cells = [
            cell if cell["table"] in (lveval.SHARED, lveval.FACTS) else cell | {"value": f"{100 * cell['value']:.2f}"}
            for cell in cells
        ]
    assert printed == [
        ["table", "row", "column", "value", "n"],
        *([str(one) for one in cell.values()] for cell in cells),
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


@pytest.mark.parametrize("family", SCORED)
def test_a_release_s_parquet_gives_the_same_as_its_rows(
    family: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    rows, reply_to = GIVEN[family]
    by_type = {kind: [row for row in rows if type(row) is kind] for kind in dict.fromkeys(map(type, rows))}
    data = [write_release(folder / f"{kind.__name__}.parquet", own) for kind, own in by_type.items()]
    given_ = reply_to(rows)
    predictions = write_lines(folder / "p.jsonl", given_)
    monkeypatch.setattr(sys, "argv", ["scorer", str(predictions), *map(str, data)])
    MODULES[family].main()
    lines = capsysbinary.readouterr().out.decode().splitlines()[1:]
    wanted = ours(family, rows, given_)
    assert len(lines) == len(wanted.tables)
    for line, cell in zip(lines, wanted.tables, strict=True):
        *names, value, n = line.split("\t")
        assert (names, int(n)) == ([cell.table, cell.row, cell.column], cell.n)
        assert (None if value == "None" else float(value)) == (
            None if cell.value is None else pytest.approx(cell.value, abs=1e-12)
        )


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
    data = write_lines(folder / "rows.jsonl", rows_in_json(GIVEN[family][0]))
    (folder / "p.jsonl").write_text(line, encoding="utf-8")
    assert said in alone(folder, f"scorers/{family}.py", "p.jsonl", data, code=2).stderr


def test_too_few_scores_are_answered_with_all_their_names(folder: Path) -> None:
    (item, *_) = rows_in_json(charpeval_items(1))
    data = write_lines(folder / "rows.jsonl", [item])
    predictions = write_lines(folder / "p.jsonl", [{"id": item["id"], "variant": "sum", "scores": {"GTRS": -1}}])
    done = alone(folder, "scorers/charpeval.py", predictions, data, code=2)
    assert "expected {GTRS: …, KGIR: …, KGUG: …, RECF: …, IECF: …, COEX: …}, a number each; found GTRS" in done.stderr


def test_the_forms_that_are_shown_are_scored() -> None:
    for family, form in FORMS.items():
        assert set(form) - {"id", "variant"} in ({"prediction"}, {"scores"}), family
        assert Prediction.model_validate(form)
    assert set(READ) == set(FORMS) == set(SCORED)


def test_another_family_s_data_and_a_missing_file_are_told(folder: Path) -> None:
    data = write_lines(folder / "rows.jsonl", rows_in_json(charpeval_items()))
    predictions = write_lines(folder / "p.jsonl", [])
    assert "expected a column item_id, found none" in alone(folder, "scorers/uraq.py", predictions, data, code=2).stderr
    assert "No such file" in alone(folder, "scorers/uraq.py", predictions, "gone.jsonl", code=2).stderr


# ---- what the harness calls ----


def test_the_harness_s_figures_of_uraq_are_the_tables() -> None:
    rows = uraq_rows((1, 10))
    given_ = right_in_part(rows, 3)
    by_id = {row.id: row.model_dump(mode="json") for row in rows}
    found: dict[str, list[Any]] = {}
    for one in given_:
        for name, value in uraq.process_results(
            {**by_id[one["id"]], "variant": one["variant"]}, [one["prediction"]]
        ).items():
            found.setdefault(name, []).append(value)
    tables, _ = uraq.score(by_id.values(), given_)
    assert uraq.overall(found["overall"]) == pytest.approx(over(tables["overall accuracy"]))
    for need in NEEDS:
        cells = [cell for cell in tables["case-level accuracy"] if need in cell[0]]
        assert uraq.case_level(found[f"case_{need}"]) == pytest.approx(over(cells))
        for setting in SETTINGS:
            cells = [cell for cell in tables["setting-specific accuracy"] if cell[0].endswith(f"{need} / {setting}")]
            assert sum(found[f"{need}_{setting}"]) / len(found[f"{need}_{setting}"]) == pytest.approx(over(cells))
    assert sum(found["untagged"]) / len(found["untagged"]) == pytest.approx(over(tables["replies without <output>"]))
    assert math.isnan(uraq.overall([]))


def over(cells: Iterable[Any]) -> float:
    """The mean over all columns of a table, each by its number."""
    kept = [(value, n) for _, _, value, n in cells if n]
    return sum(value * n for value, n in kept) / sum(n for _, n in kept)


def test_the_harness_s_figures_of_reeval_are_the_tables() -> None:
    cases = enriched_cases()
    given_ = reeval_replies(cases, 5)
    by_id = {case.id: case.model_dump(mode="json") for case in cases}
    found: dict[str, list[Any]] = {}
    for one in given_:
        for name, value in reeval.process_results(
            {**by_id[one["id"]], "variant": one["variant"]}, [one["prediction"]]
        ).items():
            found.setdefault(name, []).append(value)
    tables, _ = reeval.score(by_id.values(), given_)
    cells = {(name, column): value for name, own in tables.items() for _, column, value, _ in own}
    assert reeval.both_right(found["em_both"]) == pytest.approx(cells["category 2", "EM"])
    assert reeval.mean_of_both(found["f1_both"]) == pytest.approx(cells["category 2", "F1"])
    assert sum(found["f1_original"]) / 3 == pytest.approx(cells["category 2, original evidence", "F1"])


@pytest.mark.parametrize("family", SCORED)
def test_a_shipped_scorer_is_one_file_that_names_nothing_of_ours(family: str) -> None:
    text = scorer(family)
    assert "data.publish" not in text
    assert text.count("def fitting(") == 1
    assert text.startswith('"""Scores ')
    assert text.rstrip().endswith("raise SystemExit(2) from None")
