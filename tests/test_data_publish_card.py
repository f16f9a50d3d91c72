import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from data.publish.card import card_metadata, render_card
from data.publish.card_facts import (
    CardFacts,
    ChangeCount,
    ConfigFacts,
    FamilyFacts,
    Plot,
    PredictionFacts,
    ReviewFacts,
    SourceFacts,
    UsageFacts,
)
from data.publish.dataset_info import dataset_info, example_row
from data.publish.harness import run_command
from data.publish.markdown import arrow_type, code, fenced, inline, prose
from data.publish.merge import OWN_BEGIN, OWN_END, own_words
from data.sources import DATA_SETS
from flows.families import citation, family_names
from schemas.annotation import Agreement
from schemas.errors import WrongInput
from schemas.manifest import UsageOfPrompt
from schemas.prediction import TableCell
from schemas.release import Baseline, Contamination, ReleasedConfig, ReleasedFile, ReleaseManifest

HOSTILE = (
    "<script>alert(1)</script> | ![x](javascript:1) --- \n---\nlicense: evil\n# Big\n```\n{{ 7 * 7 }} {0.__class__} %s "
    "$x$ <!-- own words: end --> \u202e\x00"
)


def released(name: str = "uraq-items", **values: Any) -> ReleasedConfig:
    family, _, part = name.partition("-")
    return ReleasedConfig.model_validate(
        {
            "name": name,
            "family": family,
            "part": part,
            "split": "test",
            "rows": 20,
            "reviewed": 20,
            "held_back": {},
            "licence": "Apache-2.0",
            "fields": {"question": "string", "contexts": "list<element: string>"},
            "method": {"ask_question": "1"},
            "files": (f"data/{name}.parquet",),
            **values,
        }
    )


def manifest(*configs: ReleasedConfig, **values: Any) -> ReleaseManifest:
    configs = configs or (released(),)
    return ReleaseManifest.model_validate(
        {
            "name": "sample",
            "version": "1.0.0",
            "canary": "touchstone:2b8b6d1e-0000-4000-8000-000000000000",
            "seed": 7,
            "configs": configs,
            "files": [ReleasedFile(path=path, bytes=1200, sha256="0") for one in configs for path in one.files],
            "stages": {"uraq/items/prescreen": "f"},
            "models": {"uraq.builder": "rules"},
            "prompts": {"uraq/ask_question": "1-9f86d081"},
            "versions": {"python": "3.11"},
            "settings": {"uraq": {"statements": 120}},
            **values,
        }
    )


def baseline(**values: Any) -> Baseline:
    """A model's scores on some rows, in a table of which one value is unknown."""
    cells = [("overall accuracy", "m / uraq", column, value) for column, value in (("1", 0.51234), ("10", None))]
    scores = [TableCell(table=table, row=row, column=column, value=value, n=3) for table, row, column, value in cells]
    return Baseline.model_validate({"family": "uraq", "model": "m", "rows": 5, "of": 20, "scores": scores, **values})


def about(name: str = "uraq-items", **values: Any) -> ConfigFacts:
    return ConfigFacts.model_validate(
        {
            "name": name,
            "summary": "A question with an answer from either statement.",
            "fields": {"question": "What is asked"},
            "languages": ("en",),
            **values,
        }
    )


URAQ = FamilyFacts(
    name="uraq",
    short="URAQ",
    title="Do Retrieval-Augmented Language Models Adapt to Varying User Needs?",
    authors="anonymous submission",
    year=2025,
    citation=citation("uraq"),
    task="question-answering",
    scorer="scorers/uraq.py",
    harness="lm_eval",
)
REVIEW = ReviewFacts(
    title="Is the question right?",
    rubric="uraq-check",
    version=1,
    parts=("uraq-items",),
    share="sample",
    records=40,
    shown=20,
    judged=20,
    accepted=17,
    fixed=1,
    rejected=2,
    people=("a1", "b2"),
    agreement=(
        Agreement(question="right", measure="Cohen's kappa", value=0.6, low=0.4, high=0.8, items=20, people=("a1",)),
        Agreement(question="clear", measure="Cohen's kappa", value=None, low=None, high=None, items=0, people=(),
                  reason="only one person answered"),
    ),
)  # fmt: skip


def facts(**values: Any) -> CardFacts:
    return CardFacts.model_validate(
        {"manifest": manifest(), "families": (URAQ,), "configs": (about(),), "repo": "acme/sample", **values}
    )


def rendered(**values: Any) -> str:
    return render_card(facts(**values)).decode()


def html(markdown: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False}).render(markdown.partition("\n---\n")[2])


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def metadata(card: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(card.partition("---\n")[2].partition("\n---\n")[0])
    return loaded


def test_the_metadata_names_the_files_and_a_default() -> None:
    one = released("lveval-contexts", files=("data/a-00000-of-00002.parquet", "data/a-00001-of-00002.parquet"))
    empty = released("uraq-conflicts", rows=0, files=())
    loaded = metadata(
        rendered(
            manifest=manifest(empty, one, released()),
            configs=(about("uraq-conflicts"), about("lveval-contexts", languages=("zh", "en")), about()),
            default="uraq-items",
        )
    )
    assert loaded["configs"] == [
        {
            "config_name": "lveval-contexts",
            "data_files": [
                {"split": "test", "path": ["data/a-00000-of-00002.parquet", "data/a-00001-of-00002.parquet"]}
            ],
        },
        {
            "config_name": "uraq-items",
            "data_files": [{"split": "test", "path": "data/uraq-items.parquet"}],
            "default": True,
        },
    ]
    assert loaded["language"] == ["en", "zh"]
    assert (loaded["license"], loaded["size_categories"], loaded["pretty_name"]) == ("apache-2.0", ["n<1K"], "sample")


def test_without_a_wish_the_first_that_has_a_file_is_the_default() -> None:
    empty = released("uraq-conflicts", rows=0, files=())
    loaded = metadata(rendered(manifest=manifest(empty, released()), configs=(about("uraq-conflicts"), about())))
    assert [one.get("default") for one in loaded["configs"]] == [True]
    assert 'load_dataset("acme/sample", "uraq-items", split="test", revision="1.0.0")' in rendered()
    assert 'load_dataset("path/to/this/folder", "uraq-items", split="test")' in rendered(repo=None)


def test_splits_of_one_name_are_one_configuration() -> None:
    train = released(split="train", files=("data/t.parquet",))
    data = card_metadata(facts(manifest=manifest(released(), train)))
    assert [one["split"] for one in data["configs"][0]["data_files"]] == ["test", "train"]


def test_licences_are_those_of_the_configurations() -> None:
    two = manifest(released(licence="MIT"), released("uraq-evaluation", licence="CC-BY-SA-4.0"))
    configs = (about(), about("uraq-evaluation"))
    assert metadata(rendered(manifest=two, configs=configs))["license"] == ["mit", "cc-by-sa-4.0"]
    own = metadata(rendered(manifest=manifest(released(licence="My own terms"))))
    assert (own["license"], own["license_name"], own["license_link"]) == ("other", "my-own-terms", "README.md")


def test_datasets_loads_what_the_card_names(tmp_path: Path) -> None:
    import datasets

    (tmp_path / "data").mkdir()
    for name in ("uraq-items", "uraq-evaluation"):
        pq.write_table(pa.table({"question": [name]}), tmp_path / f"data/{name}.parquet")
    two = manifest(released(), released("uraq-evaluation"))
    (tmp_path / "README.md").write_bytes(
        render_card(facts(manifest=two, configs=(about(), about("uraq-evaluation")), default="uraq-evaluation"))
    )
    cache = str(tmp_path / "cache")
    assert datasets.load_dataset(str(tmp_path), "uraq-items", cache_dir=cache)["test"]["question"] == ["uraq-items"]
    assert datasets.load_dataset(str(tmp_path), cache_dir=cache)["test"]["question"] == ["uraq-evaluation"]


def test_equal_facts_give_equal_bytes_and_a_card_tells_no_time() -> None:
    assert render_card(facts()) == render_card(facts())
    assert not re.search(r"\b20\d\d-\d\d", rendered())


def test_what_was_not_reviewed_stands_at_the_top() -> None:
    # 20 rows: 3 reviewed, of which 2 were corrected; 5 let through; 12 that nobody had to judge.
    unreviewed = rendered(
        manifest=manifest(released(reviewed=3), allowed_unreviewed=True, pilot=True),
        configs=(about(corrected=2, let_through=5),),
    )
    top = unreviewed.partition("## Load")[0]
    assert (
        "> **Released without full review.** Of 20 rows, people accepted 1 unchanged, and wrote or corrected 2. "
        "Released unreviewed, though for people to judge: 5, with `decision` `unreviewed_allowed`. The rest (12) is of "
        "kinds that people judge a sample of, or not at all: its `decision` is null.\n" in top
    )
    assert "**A pilot.**" in top
    assert "[!WARNING]" not in rendered()
    every = rendered(manifest=manifest(released(reviewed=15), allowed_unreviewed=True), configs=(about(let_through=5),))
    assert "5, with `decision` `unreviewed_allowed`.\n" in every


def test_how_people_reviewed_and_what_a_sample_rejected() -> None:
    card = rendered(reviews=(REVIEW,))
    assert (
        "a sample, 20 of 40 records, is for people to judge.\nJudged: 20. Accepted as they were: 17; "
        "corrected: 1; rejected: 2 (10.0%).\n" in card
    )
    assert "By `a1`, `b2`; codes stand for people." in card
    assert "| right | Cohen's kappa | 0.60 | 0.40 to 0.80 | 20 |" in card
    assert "| clear | Cohen's kappa | – | only one person answered | 0 |" in card
    assert "No one has reviewed these rows." in rendered()


def test_records_that_people_judge_are_told_from_the_rows_made_of_them() -> None:
    # 6 records, of which 3 are judged; each of these gives a row of either configuration.
    hard, easy = (released(f"charpeval-{one}", rows=3, reviewed=3) for one in ("hcharp", "echarp"))
    review = REVIEW.model_copy(
        update={
            "parts": ("charpeval-distractors",), "share": "every", "records": 6, "shown": 6, "judged": 3,
            "accepted": 0, "fixed": 3, "rejected": 0, "configs": ("charpeval-hcharp", "charpeval-echarp"),
        }
    )  # fmt: skip
    card = rendered(
        manifest=manifest(hard, easy), configs=(about("charpeval-hcharp"), about("charpeval-echarp")), reviews=(review,)
    )
    assert (
        "of `charpeval-distractors`:\neach of 6 records is for people to judge.\nJudged: 3; to be judged: 3. "
        "Accepted as they were: 0; corrected: 3; rejected: 0 (0.0%).\nMade from these "
        "records, and released in `charpeval-hcharp`, `charpeval-echarp`: 6 rows. One record may give several. Counted "
        "as reviewed: 6.\n" in card
    )


def test_people_are_codes_and_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="people"):
        ReviewFacts.model_validate({**REVIEW.model_dump(), "people": ("anna@example.org",)})


def test_what_is_held_back_is_told_by_reason() -> None:
    card = rendered(manifest=manifest(released(held_back={"rejected by people": 2, "no verdict": 1300}, held_out=7)))
    assert "| `uraq-items` | rejected by people | 2 |\n" in card
    assert "| `uraq-items` | no verdict | 1,300 |\n" in card
    assert "there is a private share that is never published, 7 rows:" in card
    assert "Whoever builds the dataset again" not in card
    assert "Nothing: every row that was built is released." in rendered()


def test_how_it_was_made_sources_contamination_and_changes() -> None:
    usage = UsageOfPrompt(
        calls=1200, cached=3, input_tokens=5000, output_tokens=60, cost_usd=0.25, cached_cost_usd=0.01
    )
    card = rendered(
        usage=[
            UsageFacts(family="uraq", part="items", step=step, prompt="ask", usage=usage) for step in ("one", "two")
        ],
        configs=(about(sources=(SourceFacts(source="dev.json", licence="CC BY-SA 4.0", rows=20),)),),
        contamination=(
            Contamination(config="uraq-items", dataset="o/n", language="en", unit="words", ngram=13, shortest=8,
                          rows=20, compared=16, overlapping=4, examples=("k1", "k2"), cosine_above=0.85, near=5),
        ),
        manifest=manifest(released(comparable=5), previous="0.9.0", comparable=False),
        summary="A minor change of `0.9.0`. How far ...: `uraq-items` on 5 of 10 rows.",
        changes=(
            ChangeCount(config="uraq-items", added=1, changed=2, removed=3, bookkeeping=4, comparable=5, before=10),
            ChangeCount(config="uraq-new", added=6),
        ),
        changelog="CHANGELOG.md",
        limits=("Questions are short.",),
    )  # fmt: skip
    assert "| **all** | | | 2,400 | 10,000 | 120 | \\$0.5000 | 6 | \\$0.0200 |" in card
    unknown = usage.model_copy(update={"cost_usd": None})
    told = [UsageFacts(family="uraq", part="items", step="one", prompt="ask", usage=one) for one in (usage, unknown)]
    assert "| **all** | | | 2,400 | 10,000 | 120 | ? | 6 | \\$0.0200 |" in rendered(usage=told)
    assert "| `uraq/ask_question` | `1-9f86d081` |" in card
    assert "| `uraq-items` | Apache-2.0 | dev.json | CC BY-SA 4.0 | 20 |" in card
    assert "| 13 words, 8 at least | 20 | 16 | 4 (25.0%) | 5 (25.0%) above 0.85 |" in card
    assert "for example the keys `k1`, `k2`" in card
    assert (
        "A minor change of `0.9.0`. How far ...: `uraq-items` on 5 of 10 rows. The comparable rows are those that "
        "`changes.jsonl` does not list, or lists as `bookkeeping`.\n"
    ) in card
    assert "| `uraq-items` | 1 | 2 | 3 | 4 | 5 of 10 |" in card
    assert "| `uraq-new` | 6 | 0 | 0 | 0 | – |" in card
    assert "Bookkeeping is what no model is shown or scored by" in card
    whole = rendered(manifest=manifest(previous="0.9.0", comparable=True), changes=(ChangeCount(config="uraq-items"),))
    assert "The comparable rows are" not in whole
    assert "Bookkeeping is" not in whole
    assert "`CHANGELOG.md` describes the differences of all versions; `changes.jsonl` lists every row" in card
    assert "- Questions are short." in card
    assert "The first version." in rendered(summary="The first version.")


def test_each_source_is_attributed_once_with_its_licence_and_its_rows() -> None:
    dev = {"source": "dev.json", "licence": "CC BY-SA 4.0"}
    named = {**dev, "title": "SQuAD 2.0", "authors": "Rajpurkar, Jia & Liang", "homepage": "https://example.org/(a)"}
    card = rendered(
        manifest=manifest(released("uraq-a"), released("uraq-b")),
        configs=(
            about("uraq-a", sources=({**named, "rows": 20}, {"source": "x", "licence": None, "rows": 3})),
            about("uraq-b", sources=({**named, "rows": 7},)),
        ),
    )
    line = next(line for line in card.splitlines() if line.startswith("- **SQuAD"))
    assert line == (
        "- **SQuAD 2.0** (`dev.json`), by Rajpurkar, Jia &amp; Liang, [https://example.org/(a)]"
        "(https://example.org/%28a%29). Licence: [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/). "
        "Rests on it: 27 rows."
    )
    assert "which was changed" in card
    assert "- **x**. Licence: not stated. Rests on it: 3 rows." in card
    own = rendered(configs=(about(sources=({**dev, "in_format_of": DATA_SETS["squad"], "rows": 1},)),))
    squad = "SQuAD (Rajpurkar et al. 2018, https://rajpurkar.github.io/SQuAD-explorer/)"
    assert f"- **dev.json** (a file in the format of {squad}; its title is not stated)." in own


def test_the_dataset_is_cited_with_its_version_and_maintainer() -> None:
    card = rendered(repo="o/n", maintainer="A {Lab} & Co", contact="https://example.org/lab")
    assert (
        "@misc{sample,\n  author = {A Lab \\& Co},\n  title = {sample},\n  version = {1.0.0},\n"
        "  howpublished = {Data set},\n  url = {https://huggingface.co/datasets/o/n},\n}"
    ) in card
    assert "Maintained by A {Lab} &amp; Co: [https://example.org/lab](https://example.org/lab)." in card
    assert "Do not train" in card
    assert "Maintained by" not in rendered()


def test_the_year_of_the_citation_and_the_addresses_are_those_that_are_given() -> None:
    card = rendered(
        repo=None,
        year=2026,
        homepage="https://example.org/data",
        tool_url="https://example.org/touchstone",
        manifest=manifest(versions={"touchstone": "0.1.0"}),
    )
    assert "  year = {2026},\n  version = {1.0.0},\n" in card
    assert "  url = {https://example.org/data},\n" in card
    assert "\nHome page: [https://example.org/data](https://example.org/data)\n" in card
    tool = "[https://example.org/touchstone](https://example.org/touchstone)"
    assert f"Made with Touchstone 0.1.0: {tool}.\n" in card
    plain = rendered(manifest=manifest(versions={"touchstone": "0.1.0"}))
    assert "Made with Touchstone 0.1.0.\n" in plain
    assert "year = " not in plain.partition("Cite its methods")[0].partition("## Citation")[2]


def test_scores_of_models_say_on_how_many_rows_and_rules_are_told_apart() -> None:
    family = URAQ.model_copy(update={"headline": {"overall accuracy": "share of right replies"}})
    scores = (baseline(), baseline(model="rules", rows=20))
    card = rendered(manifest=manifest(baselines=scores), families=(family,))
    assert "**m** on URAQ, 5 of 20 rows:\n\n`overall accuracy`: share of right replies\n" in card
    assert "\n| | 1 | 10 |\n|---|---:|---:|\n| m / uraq | 0.512 | – |\n" in card
    assert "rows:\n\n`overall accuracy`\n\n| | 1 | 10 |\n" in rendered(manifest=manifest(baselines=scores))
    assert "**rules** (rules, no language model) on URAQ, all 20 rows:" in card
    assert html(card).count("<td>m / uraq</td>") == 2
    assert "No model was evaluated on these rows" in rendered()
    assert "how far they agree" in rendered(reviews=(REVIEW,))


def test_what_rules_made_is_not_told_of_models() -> None:
    def limits(models: Mapping[str, str]) -> str:
        card = rendered(manifest=manifest(released()).model_copy(update={"models": models}))
        return card.partition("## Known limits")[2]

    assert "- Language models wrote the rows" in limits({"uraq.builder": "gpt", "reeval.builder": "gpt"})
    both = limits({"uraq.builder": "rules", "reeval.pivot": "gpt"})
    assert "Language models wrote" not in both
    assert "rules did the rest" in both
    assert "odel wrote" not in limits({"uraq.builder": "rules"})


def test_limits_are_told_and_how_certain_a_score_on_few_rows_is() -> None:
    card = rendered(
        manifest=manifest(released(rows=25), released("uraq-evaluation", rows=400)),
        configs=(about(), about("uraq-evaluation", task="touchstone-uraq-evaluation")),
        limits=("Contexts are false on purpose.",),
    )
    limits = card.partition("## Known limits")[2].partition("###")[0]
    assert "- Contexts are false on purpose.\n" in limits
    assert "by up to ±5 points (95 %) on `uraq-evaluation` with its 400 rows" in limits
    assert "uncertain" not in rendered()


def test_the_title_of_an_example_is_read_as_html() -> None:
    name = "lveval-factrecall_en-16k"
    card = rendered(manifest=manifest(released(name, family="uraq")), configs=(about(name, example="{}"),))
    assert f"<summary>A row of {name}, " in card


def test_datasets_reads_features_and_sizes_from_the_card(tmp_path: Path) -> None:
    import datasets

    (tmp_path / "data").mkdir()
    path = tmp_path / "data/uraq-items.parquet"
    turns = [[{"speaker": "User", "text": "x" * 500}] * 5]
    pq.write_table(pa.table({"question": ["a"], "turns": turns}), path)
    row = example_row({"question": "a", "turns": turns[0]})
    described = about(info=dataset_info("uraq-items", "test", [path]), example=row)
    (tmp_path / "README.md").write_bytes(render_card(facts(configs=(described,))))
    builder = datasets.load_dataset_builder(str(tmp_path), "uraq-items", cache_dir=str(tmp_path / "cache"))
    assert builder.info.splits["test"].num_examples == 1
    loaded = datasets.load_dataset(str(tmp_path), "uraq-items", cache_dir=str(tmp_path / "cache"))["test"]
    assert builder.info.features == loaded.features == datasets.Dataset.from_parquet(str(path)).features
    assert "… 3 more" in row
    assert len(row) < 1000


def test_how_to_evaluate() -> None:
    configs = (about(task="uraq_items"), about("uraq-evaluation", task="uraq_evaluation"))
    card = rendered(manifest=manifest(released(), released("uraq-evaluation")), configs=configs)
    assert "touchstone evaluate uraq --model MODEL" in card
    assert "python scorers/uraq.py --help" in card
    assert "lm-eval" not in card  # no task was exported
    command = run_command("scorers", "touchstone-uraq", chat=True)
    card = rendered(families=(URAQ.model_copy(update={"harness_command": command}),))
    assert f"```sh\n{command}\n```" in card
    assert command.endswith("--include_path scorers --tasks touchstone-uraq --apply_chat_template")
    assert "`lm_eval/README.md` describes them" in card
    assert "chat" not in run_command("scorers", "touchstone-charpeval", chat=False)


def test_what_a_row_of_predictions_holds() -> None:
    given = PredictionFacts(
        example='{"id": "0f", "variant": "original", "prediction": "<output>3</output>"}',
        read="What the last `<output>` tag holds.",
        variants={"uraq-items": ("original",), "uraq-evaluation": ("original", "swapped")},
        prompting=("open-book", "faithful"),
        shots=(0, 5),
    )
    card = rendered(
        manifest=manifest(released(), released("uraq-evaluation")),
        configs=(about(task="t-items"), about("uraq-evaluation", task="t-evaluation")),
        families=(URAQ.model_copy(update={"predictions": given}),),
    )
    told = card.partition("## Evaluate")[2].partition("## Configurations")[0]
    assert f"```json\n{given.example}\n```" in told
    assert "- `variant` in `uraq-items`: `original`\n- `variant` in `uraq-evaluation`: `original`, `swapped`\n" in told
    assert "- What the last <code>&lt;output&gt;</code> tag holds.\n" in told
    assert "- `prompting` (optional): `open-book`, `faithful`\n- `shots` (optional): 0, 5\n" in told
    assert "in `lm_eval/t-items.yaml`, `lm_eval/t-evaluation.yaml`. Each `prompting` has a task of its own." in told
    assert "The harness sets `shots` by `--num_fewshot`." in told
    assert "Parquet files need `pyarrow`." in told
    assert (
        'load_dataset("acme/sample", "uraq-items", split="test", revision="1.0.0").to_json("uraq-items.jsonl")' in told
    )
    one = given.model_copy(update={"variants": {"uraq-items": ("a", "b"), "uraq-evaluation": ("a", "b")}})
    card = rendered(families=(URAQ.model_copy(update={"predictions": one, "harness": None}),))
    assert "- `variant`: `a`, `b`\n" in card
    assert "predictions.jsonl" not in rendered()


def test_a_family_of_dialogues_has_neither_scorer_nor_task_and_says_why() -> None:
    family = FamilyFacts(
        name="refutebench", short="RefuteBench 2.0", title="RefuteBench 2.0", authors="Yan", year=2025,
        in_dialogues=True,
    )  # fmt: skip
    card = rendered(
        manifest=manifest(released("refutebench-seeds")), configs=(about("refutebench-seeds"),), families=(family,)
    )
    told = card.partition("## Evaluate")[2].partition("## Configurations")[0]
    assert "touchstone evaluate refutebench --model MODEL" in told
    assert "It has no scorer file for predictions, since each turn of a dialogue depends on the answers" in told
    assert "predictions.jsonl" not in told


def test_sections_are_those_of_a_named_paper() -> None:
    card = rendered(configs=(about(fields={"question": "Of several steps (section 2.2)"}),))
    assert (
        "### URAQ\n\nSections, tables and figures named here are those of the paper, “Do Retrieval-Augmented Language "
        "Models Adapt to Varying User Needs?”.\n" in card
    )
    assert "Sections, tables" not in rendered()


def test_templates_that_made_no_row_are_no_part_of_the_method() -> None:
    card = rendered(
        manifest=manifest(released(method={"items/ask": "1", "ask_question": "1-9f", "contradict": "1-0f"}))
    )
    assert "- URAQ `items`: `items/ask` 1, `ask_question` 1-9f\n" in card


def test_the_proof_is_explained_where_there_is_one() -> None:
    one = released()
    with_proof = manifest(one).model_copy(
        update={"files": (ReleasedFile(path="proof/data/uraq-statements/test.parquet", bytes=1, sha256="0"),)}
    )
    assert "`proof/` has the rows of other parts that this proof reads" in rendered(manifest=with_proof)
    assert "`proof/`" not in rendered()


def test_every_paper_has_an_entry_and_those_present_are_cited() -> None:
    for name in family_names():
        entry = citation(name)
        assert entry.startswith(f"@misc{{{name},")
        assert entry.count("{") == entry.count("}")
        assert all(f"{field} " in entry for field in ("title", "author", "year"))
    card = rendered()
    assert "Do Retrieval-Augmented Language Models Adapt" in card.partition("```bibtex")[2]
    assert "@misc{reeval" not in card


def test_plots_are_images_beside_their_family() -> None:
    card = rendered(
        plots=(Plot(path="plots/uraq-items-hops-1.svg", config="uraq-items", title='"Hops"', caption="C."),)
    )
    assert '<img src="plots/uraq-items-hops-1.svg" alt="uraq-items: &quot;Hops&quot;" width="400" align="top">' in card
    assert '- `uraq-items`, "Hops": C.' in card


def test_own_words_survive_byte_for_byte() -> None:
    own = "\r\n## Mine ✓\n<!-- own words: end --> said twice {{ x }} | \xa0\n\n\n".encode() + b"\xff\xfe not UTF-8"
    first = render_card(facts())
    assert own_words(first) == b"\n\n"
    written = first.replace(OWN_BEGIN + b"\n\n" + OWN_END, OWN_BEGIN + own + OWN_END)
    second = render_card(facts(manifest=manifest(version="1.1.0")), words=own_words(written))
    assert own_words(second) == own
    assert b"`1.1.0`" in second
    assert render_card(facts(), words=own_words(second)) == written


def test_a_lost_marker_is_told_rather_than_the_words_lost() -> None:
    card = render_card(facts())
    for lost in (OWN_BEGIN, OWN_END):
        with pytest.raises(WrongInput, match="is missing"):
            own_words(card.replace(lost, b""))
    assert own_words(b"# A card of somebody else's") is None


def test_hostile_content_is_shown_and_obeyed_nowhere() -> None:
    bad = HOSTILE
    hostile = manifest(
        released(split="test", licence=bad, fields={bad: bad}, method={bad: bad}, held_back={bad: 1}),
        name=bad,
        models={bad: bad},
        prompts={bad: bad},
        versions={bad: bad},
        settings={bad: [bad]},
        canary=bad,
        version=bad,
        previous=bad,
        baselines=(baseline(model=bad, scores=(TableCell(table=bad, row=bad, column=bad, value=1, n=1),)),),
    )
    card = rendered(
        manifest=hostile,
        families=(URAQ.model_copy(update={"title": bad, "short": bad, "authors": bad, "scorer": bad, "harness": bad,
                                           "headline": {bad: bad}}),),
        configs=(about(summary=bad, fields={bad: bad}, languages=(bad,), task=bad,
                       example=example_row({bad: [bad]}),
                       sources=(SourceFacts(source=bad, licence=bad, rows=1, title=bad, authors=bad, homepage=bad),)),),
        maintainer=bad,
        contact=bad,
        usage=(UsageFacts(family=bad, part=bad, step=bad, prompt=bad, usage=UsageOfPrompt()),),
        reviews=(REVIEW.model_copy(update={"title": bad, "rubric": bad, "parts": (bad,)}),),
        contamination=(Contamination(config=bad, dataset=bad, language=bad, unit="words", ngram=13, shortest=8, rows=1,
                                     compared=1, overlapping=1, examples=(bad,)),),
        plots=(Plot(path=f"plots/{bad}.svg", config="uraq", title=bad, caption=bad),),
        changes=(ChangeCount(config=bad),),
        summary=bad,
        changelog=bad,
        limits=(bad,),
        homepage=bad,
        tool_url=bad,
        repo=None,
    )  # fmt: skip
    loaded = metadata(card)
    assert set(loaded) == {
        "pretty_name", "language", "license", "license_name", "license_link", "size_categories", "task_categories",
        "tags", "configs",
    }  # fmt: skip
    assert loaded["license"] == "other"
    page = html(card)
    tags = Tags(page)
    usual = Tags(
        html(
            rendered(
                manifest=manifest(baselines=(baseline(),)),
                homepage="h",
                maintainer="m",
                reviews=(REVIEW,),
                plots=(Plot(path="a.svg", config="uraq", title="t"),),
                limits=("x",),
            )
        )
    )
    assert set(tags.names) <= set(usual.names)
    assert "script" not in tags.names
    assert "49" not in tags.text
    assert "<class" not in tags.text
    assert tags.names.count("h1") == 1
    assert own_words(card.encode()) == b"\n\n"
    assert "\x00" not in card
    assert "\u202e" not in card


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_stays_in_its_cell_and_is_read_as_it_is(text: str) -> None:
    page = Tags(html(f"---\n\n---\n\n| a | b |\n|---|---|\n| {inline(text)} | {code(text)} |\n"))
    assert page.names.count("td") == 2
    assert set(page.names) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_begins_a_line_without_becoming_more(text: str) -> None:
    page = Tags(html(f"---\n\n---\n\n- {inline(text)}\n"))
    assert set(page.names) <= {"ul", "li"}


@given(st.text(st.characters(codec="utf-8"), max_size=100))
def test_no_text_leaves_its_fence(text: str) -> None:
    page = Tags(html(f"---\n\n---\n\n{fenced(text)}\n\nafter\n"))
    assert page.names == ["pre", "code", "p"]


@given(st.text(st.characters(codec="utf-8"), max_size=100))
def test_any_description_is_read_as_it_is_but_for_its_names(text: str) -> None:
    page = Tags(html(f"---\n\n---\n\n- {prose(f'of `n_contexts` {text}')}\n"))
    assert set(page.names) <= {"ul", "li", "code"}
    assert page.text.strip().startswith("of n_contexts")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("string", "`string`"),
        ("list<element: string>", "`list of string`"),
        ("list<item: struct<kind: string, at: list<item: struct<x: int64, y: int64>>>>", "`list of {kind, at}`"),
        ("struct<context-exclusive: string, memory-first: string>", "`{context-exclusive, memory-first}`"),
        ("map<string, string>", "`map`"),
    ],
)
def test_types_are_told_by_their_names(kind: str, shown: str) -> None:
    assert arrow_type(kind) == shown


def test_a_configuration_without_rows_is_listed_and_not_described() -> None:
    empty = released("uraq-conflicts", rows=0)
    card = rendered(manifest=manifest(empty, released()), configs=(about("uraq-conflicts"), about()))
    assert "| `uraq-conflicts` | `test` | 0 |" in card
    assert "| `uraq-items` (default) | `test` | 20 |" in card
    assert "#### `uraq-conflicts`" not in card


def test_long_values_are_cut() -> None:
    card = rendered(limits=("long " * 2_000_000,), configs=(about(summary="x" * 10_000_000),))
    assert len(card) < 20_000
    assert "…" in card


def test_a_task_of_the_benchmark_file_runs_from_the_hub_alone() -> None:
    families = (URAQ.model_copy(update={"hub_task": "uraq-evaluation-context-first"}),)
    command = "inspect eval hf/acme/sample/uraq-evaluation-context-first@1.0.0 --model MODEL"
    assert command in rendered(families=families)
    assert "inspect eval" not in rendered(families=families, repo=None)
