"""LV-Eval's whole line on small sources: what is selected, what people change, what the finished rows hold."""

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel, ValidationError

from flows.construct.counting import part_summary
from flows.construct.stages import StageRef
from flows.construct.verification import VerifyContext
from flows.families.lveval import FAMILY
from flows.families.lveval.answer_keywords import keywords_after
from flows.families.lveval.conflicts import HEADER, conflicts, usable_rules
from flows.families.lveval.datasets import words_of
from flows.families.lveval.distractor_index import DistractorIndex, count
from flows.families.lveval.inputs import ConfusingFacts, Keywords, RuleList, supporting_sentence
from flows.families.lveval.name_forms import longer_name
from flows.families.lveval.replacement_checks import FOLLOWS, INSIDE, PART, STANDS, TOGETHER, UNDONE
from flows.families.lveval.settings import LVEvalSettings, problems
from flows.llm.model import Out, Prompt, Usage
from flows.project.output_files import write_output_files
from flows.project.project import Project
from flows.project.settings import ConfigError, load_config
from schemas.base import Provenance, SourceRef
from schemas.errors import WrongInput
from schemas.lveval import Conflict, Document, Pair, PoolDocument, Rule, RuleConflicts
from schemas.verdict import Verdict
from tests.builds import bytes_of, write_config
from tests.toy import run_all

TOWNS = ("Varn", "Olde", "Tessin", "Orley", "Brask", "Kelm", "Dorn", "Ustel", "Mirow", "Pardubel")
PEOPLE = ("Ida Holm", "Otto Brandt", "Lena Wirth", "Karl Stein", "Nora Falk", "Paul Lind", "Rosa Kern", "Emil Hagen",
          "Ruth Adler", "Jan Vogel")  # fmt: skip


class Scripted:
    """A builder whose answers are known, and not checked."""

    name = "scripted"

    async def complete(self, prompt: Prompt[Out], inputs: Any, *, draw: int = 0, usage: Usage) -> Out:
        usage.calls += 1
        output: BaseModel
        if prompt.name == "confusing_facts":
            output = ConfusingFacts(
                subject=f"The bridge of Farhaven was designed by nobody known, say {len(inputs.question)} guides.",
                object=f"The bridge at {inputs.question.split()[-1][:-1]} has a model with {len(inputs.fact)} arches.",
            )
        elif prompt.name == "replacement_rules":
            town = next((town for town in TOWNS if town in inputs.question), None)
            output = RuleList(rules=(Rule(old=town, new=f"{town}hausen"),) if town else ())
        else:
            output = Keywords(keywords=inputs.answer)
        assert isinstance(output, prompt.output)
        return output

    def identity(self) -> Mapping[str, object]:
        return {"model": "scripted"}


def filling(rng: random.Random) -> str:
    words = ["".join(rng.choices("abcdefghij", k=rng.randrange(3, 8))) for _ in range(rng.randrange(8, 16))]
    return f"{' '.join(words).capitalize()}."


def squad(folder: Path, *, articles: int = 60, seed: int = 1) -> Path:
    """Ten paragraphs on bridges, and others to distract."""
    rng = random.Random(seed)
    data = []
    for number in range(articles):
        text = " ".join(filling(rng) for _ in range(5))
        questions = []
        if number < len(TOWNS):
            town, person = TOWNS[number], PEOPLE[number]
            first = f"The bridge at {town} was designed by the engineer {person} in {1900 + number}. "
            text = first + text
            questions = [{"id": f"q{number}", "question": f"Who designed the bridge at {town}?",
                          "answers": [{"text": person, "answer_start": first.index(person)}]}]  # fmt: skip
        data.append({"title": f"Page {number}", "paragraphs": [{"context": text, "qas": questions}]})
    path = folder / "bridges.json"
    path.write_text(json.dumps({"version": "1", "data": data}))
    return path


def project_of(folder: Path, out: str = "out", **more: Any) -> Project:
    folder.mkdir(exist_ok=True, parents=True)
    source = {"format": "squad", "path": str(squad(folder))}
    dataset = {"pairs": 6, "sources": [source]}
    block = {"levels": ["800", "2k"], "datasets": {"multifieldqa-en-mixup": dataset}, **more}
    config = write_config(folder, store=str(folder / "store"), families={"lveval": block})
    project = Project(config, folder / out)
    scripted = Scripted()
    for one in project.build.families.values():
        one.models.update(dict.fromkeys(one.models, scripted))  # type: ignore[attr-defined]
    return project


def built(project: Project, order: int = 1) -> Project:
    asyncio.run(run_all(project.build, order))
    write_output_files(project)
    return project


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One build for the tests that only read it."""
    return built(project_of(tmp_path_factory.mktemp("lveval")))


def rows(project: Project, part: str = "contexts") -> list[Any]:
    return list(project.build.accepted("lveval", part))


def faults(project: Project, part: str) -> list[str]:
    context = VerifyContext(
        project.build.families["lveval"].settings, project.embedder, lambda name: rows(project, name)
    )
    return [fault.problem for fault in FAMILY.part(part).verify(rows(project, part), context)]


def test_every_row_is_what_it_says(small: Project) -> None:
    for family, part in small.build.parts():
        assert faults(small, part.name) == [], part.name
        summary = part_summary(small.build, family, part)
        assert summary.planned == summary.kept + summary.waiting + sum(
            sum(one.values()) for one in summary.dropped.values()
        )
    found = defaultdict(set)
    for row in rows(small):
        found[row.level].add(row.pair_id)
        assert row.length == count(row.context, "en")
        assert set(row.answers) <= set(PEOPLE)
        assert row.answers[0] in row.context
        assert [rule.new for rule in row.replacements] == [f"{rule.old}hausen" for rule in row.replacements]
        assert row.replacements[0].new in row.input
        assert f" {row.replacements[0].old} " not in row.context
        assert len(row.confusing_facts) == 2
        assert row.answer_keywords == row.answers[0]
    assert len(found["800"]) == 6
    assert found["800"] == found["2k"]


def test_the_files_are_those_of_the_benchmark(small: Project) -> None:
    from datasets import load_dataset

    path = small.out / "accepted/lveval-multifieldqa_en_mixup_2k.parquet"
    assert pq.ParquetFile(path).metadata.num_rows == 6
    row = load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(small.out / "cache"))[0]
    assert {
        "input",
        "context",
        "answers",
        "length",
        "dataset",
        "language",
        "answer_keywords",
        "confusing_facts",
    } <= set(row)
    assert row["dataset"] == "multifieldqa_en_mixup_2k"
    sifted = small.out / "sifted" / path.name
    assert sifted.read_bytes() == path.read_bytes()


def test_no_selected_pair_lends_its_document_to_another(small: Project) -> None:
    selected = {pair.question for pair in rows(small, "pairs")}
    texts = [document.text for document in rows(small, "documents")]
    for town in TOWNS:
        asked = f"Who designed the bridge at {town}?"
        assert any(f"bridge at {town} " in text for text in texts) is (asked not in selected)


def test_the_bytes_do_not_depend_on_the_order_of_work(tmp_path: Path, small: Project) -> None:
    again = built(project_of(tmp_path / "again"), order=-1)
    names = [name for name in bytes_of(small.out) if "_mixup_" in name]
    assert len(names) == 4
    first, second = rows(small), rows(again)
    assert [row.id for row in first] == [row.id for row in second]
    assert [row.context for row in first] == [row.context for row in second]


def test_a_level_that_the_sources_cannot_fill_is_dropped_and_named(tmp_path: Path) -> None:
    project = built(project_of(tmp_path, levels=["800", "2k", "64k"]))
    assert {row.level for row in rows(project)} == {"800", "2k"}
    manifest = project.build.manifest(StageRef("lveval", "contexts", "mix_contexts"))
    assert manifest is not None
    assert manifest.dropped == {"not enough text": 6}
    (note,) = manifest.notes
    assert "64k (" in note
    assert "words missing" in note
    assert "built at 800, 2k" in note
    assert "or lower families.lveval.datasets.multifieldqa-en-mixup.pairs: the documents of selected pairs do" in note


def test_people_reject_and_mend_facts_and_rules(tmp_path: Path, small: Project) -> None:
    first, second = rows(small, "confusing-facts")[:2]
    replaced = rows(small, "replacements")[0]
    town = second.question.split()[-1][:-1]
    folder = tmp_path / "out" / "verdicts"
    folder.mkdir(parents=True)

    def verdict(record: Any, rubric: str, decision: str, **changes: str) -> str:
        return json.dumps(
            {
                "key": record.key,
                "view_hash": record.view_hash,
                "rubric": rubric,
                "decision": decision,
                "changes": changes,
            }
        )

    (folder / "lveval-confusing-facts.jsonl").write_text(
        verdict(first, "lveval-confusing-facts", "reject") + "\n"
        + verdict(second, "lveval-confusing-facts", "fix", fact=f"The tower at {town} was designed in vain.") + "\n"
    )  # fmt: skip
    old = replaced.rules[0].old
    (folder / "lveval-replacements.jsonl").write_text(
        verdict(replaced, "lveval-replacements", "fix", rules=f"{old} -> Quillford\nengineer -> surveyor") + "\n"
    )
    project = built(project_of(tmp_path))
    mended = [row for row in rows(project) if row.pair_id == first.pair_id]
    assert {row.confusing_facts for row in mended} == {("The tower at Quillford was designed in vain.",)}
    other = [row for row in rows(project) if row.pair_id == replaced.pair_id]
    assert all(f"bridge at Quillford was designed by the surveyor {row.answers[0]}" in row.context for row in other)
    assert faults(project, "contexts") == []
    assert not any(row.reviewed for row in rows(project))


@pytest.mark.parametrize(
    ("part", "rubric", "changes", "said"),
    [
        ("confusing-facts", "lveval-confusing-facts", {"fact": "It was {answer} who came."}, "fact holds the answer"),
        ("confusing-facts", "lveval-confusing-facts", {"fact": "Two\nlines."}, "U\\+000A"),
        ("keywords", "lveval-keywords", {"keywords": "elsewhere"}, "keyword is no word of the answer"),
    ],
)
def test_what_people_write_meets_what_the_builder_has_to(
    tmp_path: Path, small: Project, part: str, rubric: str, changes: dict[str, str], said: str
) -> None:
    record = rows(small, part)[0]
    answer = record.answers[0] if part == "confusing-facts" else record.answer
    folder = tmp_path / "out" / "verdicts"
    folder.mkdir(parents=True)
    written = {field: text.format(answer=answer) for field, text in changes.items()}
    verdict = {
        "key": record.key,
        "view_hash": record.view_hash,
        "rubric": rubric,
        "decision": "fix",
        "changes": written,
    }
    (folder / f"lveval-{part}.jsonl").write_text(json.dumps(verdict) + "\n")
    with pytest.raises(WrongInput, match=said):
        built(project_of(tmp_path))


def test_a_row_is_reviewed_when_people_accepted_all_that_went_into_it(tmp_path: Path, small: Project) -> None:
    chosen = rows(small, "conflicts")[0].pair_id
    folder = tmp_path / "out" / "verdicts"
    folder.mkdir(parents=True)
    for part, rubric in (
        ("confusing-facts", "lveval-confusing-facts"),
        ("conflicts", "lveval-conflicts"),
        ("keywords", "lveval-keywords"),
    ):
        own = [record for record in rows(small, part) if record.pair_id == chosen]
        verdicts = [{"key": one.key, "view_hash": one.view_hash, "rubric": rubric, "decision": "accept"} for one in own]
        (folder / f"lveval-{part}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in verdicts))
    project = built(project_of(tmp_path))
    assert {row.pair_id for row in rows(project) if row.reviewed} == {chosen}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"input": "Who was it?"}, "its question is not its pair's"),
        ({"answers": ("Nobody",)}, "its answers are not its pair's"),
        ({"confusing_facts": ()}, "its confusing facts are not those of its pair"),
        ({"answer_keywords": ""}, "its pair has keywords"),
        ({"replacements": (Rule(old="moon", new="sun"),)}, "the rule moon -> sun is not among those of its pair"),
        ({"pair_id": "0" * 16}, "its pair 0000000000000000 is not among the pairs"),
        ({"sources": ()}, "its source documents are not those of its pair"),
    ],
)
def test_a_row_that_says_the_same_wrong_thing_at_all_levels_is_found_out(
    small: Project, changed: dict[str, Any], said: str
) -> None:
    chosen = next(row.pair_id for row in rows(small) if row.answer_keywords and row.confusing_facts)
    damaged = [row.revised(**changed) if row.pair_id == chosen else row for row in rows(small)]
    settings = small.build.families["lveval"].settings
    context = VerifyContext(settings, small.embedder, lambda name: rows(small, name))
    found = [fault.problem for fault in FAMILY.part("contexts").verify(damaged, context)]
    assert any(problem.startswith(said) for problem in found)


def test_a_lost_rule_is_told_from_one_in_conflict_and_from_what_people_wrote(
    small: Project,
) -> None:
    settings = small.build.families["lveval"].settings
    chosen = next(row for row in rows(small, "conflicts") if row.rules and not row.conflicts)
    lost = chosen.rules[0]
    harmed = chosen.revised(conflicts=(Conflict(old=lost.old, kind="stands", excerpt="somewhere"),))
    by_people = Verdict(
        key=chosen.key,
        view_hash="",
        rubric="lveval-conflicts",
        decision="fix",
        changes={"rules": "\n".join(map(str, chosen.rules))},
    )

    def found(row: RuleConflicts, decided: Mapping[str, Verdict] | None) -> bool:
        given = [row if one.key == chosen.key else one for one in rows(small, "conflicts")]
        context = VerifyContext(
            settings,
            small.embedder,
            lambda name: given if name == "conflicts" else rows(small, name),
            None if decided is None else lambda name: decided,
        )
        damaged = [
            row.revised(replacements=tuple(rule for rule in row.replacements if rule != lost))
            if row.pair_id == chosen.pair_id
            else row
            for row in rows(small)
        ]
        problems = {fault.problem for fault in FAMILY.part("contexts").verify(damaged, context)}
        return f"the rule {lost} of its pair was lost: nothing in 'conflicts' speaks against it" in problems

    assert any(lost in row.replacements for row in rows(small) if row.pair_id == chosen.pair_id)
    assert found(chosen, {})
    assert not found(harmed, {})
    assert not found(chosen, {chosen.key: by_people})
    assert not found(chosen, None)


# ---- conflicts ----


def pair_of(question: str, answers: Sequence[str], *texts: str, language: str = "en") -> Pair:
    return Pair(
        key="p",
        dataset="hotpotwikiqa-mixup",
        question=question,
        answers=tuple(answers),
        documents=tuple(Document(id=str(number), text=text) for number, text in enumerate(texts)),
        language=language,
        source="s",
        row="r",
        provenance=Provenance(seed=1),
    )


def index_of(*texts: str, language: str = "en") -> DistractorIndex:
    documents = [
        PoolDocument(
            key=str(number), dataset="d", text=text, language=language, source=SourceRef(source="s", id=str(number))
        )
        for number, text in enumerate(texts)
    ]
    return DistractorIndex(documents, language, "### Passage {number}\n")


@pytest.mark.parametrize(
    ("rules", "kind", "old"),
    [
        ([Rule(old="Lincoln", new="Harlan")], INSIDE, "Lincoln"),
        ([Rule(old="Varn", new="Olde")], STANDS, "Varn"),
        ([Rule(old="engineer", new="the engineer of")], None, "engineer"),
        (
            [Rule(old="Varn", new="Olmen"), Rule(old="engineer", new="Varn")],
            "it does not go with another rule",
            "engineer",
        ),
        ([Rule(old="engINEER", new="surveyor of old")], UNDONE, "engINEER"),
        ([Rule(old="Varn", new="Passage")], HEADER, "Varn"),
        ([Rule(old="Ida Holm", new="Vera Lund")], PART, "Ida Holm"),
    ],
)
def test_what_speaks_against_a_rule_is_found(rules: list[Rule], kind: str | None, old: str) -> None:
    text = "The engINeer Ida Holm built it at Varn, not at Olde. Holm saw Abraham Lincoln. Lincoln came."
    pair = pair_of("Who built the bridge at Varn?", ["Ida Holm"], text)
    found = conflicts(rules, pair, [], index_of(*(f"Nothing {number}." for number in range(200))))
    if kind is not None:
        assert (old, kind) in {(one.old, one.kind) for one in found}
        assert old not in {rule.old for rule in usable_rules(rules, pair, [], index_of())}


def test_the_rules_for_one_name_are_left_out_together_and_each_loss_is_told() -> None:
    pair = pair_of("Who built it?", ["Ida Holm"], "Ida Holm built it. Holm met Mr Lund. It stands at Varn.")
    rules = [Rule(old="Ida Holm", new="Vera Lund"), Rule(old="Holm", new="Lund"), Rule(old="Varn", new="Olmen")]
    index = index_of("A text.")
    assert usable_rules(rules, pair, [], index) == (rules[2],)
    told = conflicts(rules, pair, [], index)
    assert [(one.old, one.kind) for one in told] == [("Ida Holm", TOGETHER), ("Holm", STANDS)]
    assert told[0].excerpt == "Ida Holm -> Vera Lund: Holm -> Lund is left out"


def test_a_rule_that_fails_without_another_says_which_one_was_left_out() -> None:
    pair = pair_of("Who flew it?", ["Karl Stein"], "Karl Stein flew it. Stein landed at Kelm Bay.")
    rules = [Rule(old="Karl Stein", new="Anton Wieck"), Rule(old="Stein", new="Kelm")]
    told = conflicts(rules, pair, [], index_of("A text."))
    assert [(one.old, one.kind) for one in told] == [("Karl Stein", PART), ("Stein", STANDS)]
    assert told[0].excerpt.startswith("since Stein -> Kelm is left out: 'Stein' in: Stein landed")


def test_rules_that_differ_by_case_alone_are_one() -> None:
    pair = pair_of("Who sells it?", ["MindWare"], "It is sold by MindWare. A sequel was sold by Mindware.")
    rules = [Rule(old="MindWare", new="ThinkForge"), Rule(old="Mindware", new="Thinkforge")]
    assert usable_rules(rules, pair, [], index_of("A text.")) == (rules[0],)
    assert conflicts(rules, pair, [], index_of("A text.")) == ()


@pytest.mark.parametrize("side", ["Zorb\n\x1e\nQuux", "Zorb\u200bla", "\u202eZorbla", "Zorbla\u2028Q", "", "Z" * 101])
def test_a_side_of_a_rule_is_a_line_of_plain_text(side: str) -> None:
    with pytest.raises(ValidationError):
        Rule(old="Holm", new=side)


def test_a_rule_without_conflict_stays() -> None:
    pair = pair_of("Who built the bridge at Varn?", ["Ida Holm"], "The engineer Ida Holm built it at Varn.")
    rules = [Rule(old="Ida Holm", new="Vera Lund"), Rule(old="Holm", new="Lund"), Rule(old="Varn", new="Olmen")]
    assert usable_rules(rules, pair, [], index_of("A text.")) == tuple(rules)


@pytest.mark.parametrize(
    ("text", "keyword", "language", "longer"),
    [
        ("He saw Lincoln Park.", "Lincoln", "en", None),
        ("He saw Lincoln Kirstein.", "Lincoln", "en", "Lincoln Kirstein"),
        ("He went to New England.", "England", "en", "New England"),
        ("The Galata Bridge (Galata Köprüsü).", "Galata", "en", None),
        ("他在北京大学读书。", "北京", "zh", None),
        ("他去了马里兰州。", "马里", "zh", "马里兰州"),
        ("他去了拉丁美洲。", "美洲", "zh", "拉丁美洲"),
        ("今日本来无事。", "日本", "zh", "今日本来"),
        ("He saw President Lincoln.", "Lincoln", "en", None),
        ("It was Abraham Lincoln.", "Lincoln", "en", "Abraham Lincoln"),
        ("Then Lincoln came.", "Lincoln", "en", None),
        ("the engineer Holm", "engineer", "en", None),
    ],
)
def test_a_keyword_inside_a_longer_name(text: str, keyword: str, language: str, longer: str | None) -> None:
    start = text.index(keyword)
    assert longer_name(text, start, start + len(keyword), language) == longer


def test_an_answer_that_no_longer_follows_is_a_conflict() -> None:
    pair = pair_of("Which bridge?", ["Varn bridge"], "It is the Varn bridge of old.")
    found = conflicts([Rule(old="bridge of old", new="ferry")], pair, [], index_of())
    assert [one.kind for one in found] == [FOLLOWS]


@pytest.mark.parametrize(
    ("keywords", "answer", "rules", "language", "after"),
    [
        ("Ida Holm", "the engineer Ida Holm", [("Ida Holm", "Vera Lund")], "en", "Vera Lund"),
        ("engineer Holm", "the engineer Ida Holm", [("Ida Holm", "Vera Lund")], "en", "engineer Vera Lund"),
        ("spring 1931", "in spring of 1931", [("Varn", "Olmen")], "en", "spring 1931"),
        ("约瑟夫 拉斯特", "约瑟夫·拉斯特", [("约瑟夫·拉斯特", "费伦茨·埃里森")], "zh", "费伦茨·埃里森"),
        ("高雄横滨线", "高雄横滨线等", [("高雄", "云屿"), ("横滨", "尾关")], "zh", "云屿尾关线"),
        ("大阪商船 基隆", "大阪商船到基隆", [("大阪", "摄津")], "zh", "摄津商船 基隆"),
        ("Art", "Bart's art", [("Bart", "Olaf")], "en", "art"),
        ("", "Ida Holm", [("Ida Holm", "Vera Lund")], "en", ""),
    ],
)
def test_keywords_follow_the_answer(
    keywords: str, answer: str, rules: list[tuple[str, str]], language: str, after: str
) -> None:
    assert keywords_after(keywords, answer, rules, language) == after


# ---- settings and input ----


@pytest.mark.parametrize(("level", "words"), [("16k", 16_000), ("800", 800), ("256k", 256_000)])
def test_levels_are_words(level: str, words: int) -> None:
    assert words_of(level) == words


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"levels": ["16k", "16k"]}, "each level stands once"),
        ({"levels": ["big"]}, "levels"),
        ({"datasets": {"hotpotwiki": {}}}, "no dataset is called 'hotpotwiki' in the paper"),
        (
            {"datasets": {"hotpotwiki": {}, "lic-mixup": {}, "ours": {}}},
            "no dataset is called 'hotpotwiki' or 'ours' in the paper; if it is your own write its `task`",
        ),
        ({"header": "Passage"}, "holds {number}"),
        ({"header": "### {place}\n"}, "holds {number} once, no other braces"),
        ({"header": "### {number:>9}\n"}, "holds {number} once, no other braces"),
        ({"header": "### {number}\x1e\n"}, "the character U\\+001E"),
        ({"levels": ["16kk"]}, "'16kk' is no level"),
        ({"datasets": {"factrecall-en": {"pairs": 6}}}, "has one pair, its fact"),
    ],
)
def test_wrong_settings_are_refused_in_a_line(tmp_path: Path, block: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        load_config(write_config(tmp_path, families={"lveval": block}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("datasets", "said"),
    [
        ({}, "is empty; name datasets"),
        ({"cmrc-mixup": {}}, "name questions with their documents, like CMRC 2018"),
        ({"factrecall-zh": {}}, "name a book"),
        (
            {"cmrc-mixup": {"sources": [{"format": "squad", "path": "x.json"}]}},
            "language en, where the dataset is in zh",
        ),
    ],
)
def test_datasets_without_sources_are_refused_before_all(datasets: dict[str, Any], said: str) -> None:
    (told,) = problems(LVEvalSettings.model_validate({"datasets": datasets}), {})
    assert said in told


def test_the_supporting_sentence_holds_the_answer_and_most_of_the_question() -> None:
    pair = pair_of("Who designed the bridge at Varn?", ["Ida Holm"],
                   "Ida Holm was tall. The bridge at Varn was designed by Ida Holm. She left.")  # fmt: skip
    assert supporting_sentence(pair)[0] == "The bridge at Varn was designed by Ida Holm."


def test_a_fact_that_comes_to_the_same_sentence_is_recalled_there_once(tmp_path: Path) -> None:
    book = {"format": "squad", "path": str(squad(tmp_path))}
    project = built(project_of(tmp_path, datasets={"factrecall-en": {"sources": [book]}}))
    found = rows(project)
    for level in ("800", "2k"):
        own = [row for row in found if row.level == level]
        assert 20 < len(own) < 200
        assert len({row.context_xxh3 for row in own}) == len({row.context for row in own}) == len(own)
        assert own[0].depth == 0
    (part,) = (part for _, part in project.build.parts() if part.name == "contexts")
    dropped = list(project.build.read(StageRef("lveval", "contexts", "mix_contexts")).dropped())
    assert {one.reason for one in dropped} == {"same context as another depth"}
    assert len(found) + len(dropped) == 2 * 200
    by_id = {row.id: row for row in found}
    assert all(one.evidence == f"depth {by_id[one.related_id].depth}" for one in dropped if one.related_id)
    context = VerifyContext(
        project.build.families["lveval"].settings, project.embedder, lambda name: rows(project, name)
    )

    def problems(given: list[Any]) -> list[str]:
        return [fault.problem for fault in part.verify(given, context)]

    assert problems(found) == []
    again = found[3].revised(key="again", depth=found[3].depth + 1)
    assert f"its context is that of depth {found[3].depth}" in problems([*found, again])
    lacking = problems([row for row in found if row is not found[3]])
    assert [one.partition(" at depths ")[2] for one in lacking] == [str(found[3].depth)]
