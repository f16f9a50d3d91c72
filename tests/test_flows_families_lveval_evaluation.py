"""What a model is asked about a row: as released, under each ablation, and cut to its window."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from flows.families.lveval.datasets import ABLATIONS, BY_NAME, DATASETS, Ablation, ablations_of
from flows.families.lveval.evaluation import ANSWERS, Direct, InContext, context_of, requests
from flows.llm.model import with_templates
from schemas.base import Provenance
from schemas.lveval import LongContext, Position, Rule

FACT_EN, FACT_ZH = "Otto Hahn was a chemist.", "哈恩是化学家。"
TOLD_EN, TOLD_ZH = "It rained.", "下雨了。"


@dataclass(frozen=True)
class Settings:
    ablations: tuple[Ablation, ...] = ABLATIONS


def row(dataset: str, language: str = "en", depth: int | None = None) -> LongContext:
    """A row with a confusing fact between two sentences, and "Beethoven" where "Einstein" was."""
    told, fact, joint = (TOLD_EN, FACT_EN, " ") if language == "en" else (TOLD_ZH, FACT_ZH, "")
    name, verb = ("Ludwig Beethoven", " wrote it.") if language == "en" else ("贝多芬", "写了它。")
    start = len(f"### Passage 1\n{told}{joint}")
    context = f"### Passage 1\n{told}{joint}{fact}{joint}{told}\n\n### Passage 2\n{name}{verb}"
    return LongContext(
        key="k",
        input=f"Who is {name}?",
        context=context,
        answers=(name,),
        length=20,
        dataset=f"{dataset}_16k",
        language=language,
        answer_keywords=name,
        confusing_facts=(fact,),
        pair_id="p",
        level="16k",
        depth=depth,
        answer_test="whole-word",
        positions=(
            Position(kind="confusing", source="c", start=start, end=start + len(fact)),
            Position(kind="support", source="s", start=context.index(name), end=len(context)),
        ),
        replacements=(Rule(old="Albert Einstein", new=name) if language == "en" else Rule(old="爱因斯坦", new=name),),
        sources=(),
        context_xxh3="0",
        provenance=Provenance(seed=1),
    )


def asked(one: LongContext, ablations: tuple[Ablation, ...] = ABLATIONS) -> dict[tuple[str | None, str], str]:
    """The user's message by prompting and variant."""
    found = requests(one, Settings(ablations))
    said = {(request.prompting, request.variant): request.prompt.messages(request.inputs) for request in found}
    assert len(said) == len(found)
    return {place: messages[-1]["content"] for place, messages in said.items()}


@pytest.mark.parametrize(
    ("one", "question", "cue"),
    [
        (row("hotpotwikiqa_mixup"), "Question: Who is Ludwig Beethoven?", "Answer:"),
        (row("factrecall_en", depth=3), "Question: Who is Ludwig Beethoven?", "Answer:"),
        (row("lic_mixup", "zh"), "问题：Who is 贝多芬?", "回答："),
        (row("factrecall_zh", "zh", depth=3), "问题：Who is 贝多芬?", "回答："),
    ],
)
def test_the_instruction_stands_before_and_after_the_context(one: LongContext, question: str, cue: str) -> None:
    text = asked(one, ())[None, "context"]
    before, after = text.split(one.context)
    assert after.rstrip().endswith(f"{question}\n{cue}")
    first, again = before.split("\n")[0], after.strip().split("\n")[0]
    assert min(len(first), len(again)) > 20
    direct = asked(one, ())[None, "direct"]
    assert direct.endswith(f"{question}\n{cue}")
    assert one.context not in direct


def test_a_dataset_is_asked_for_as_many_tokens_as_it_has() -> None:
    for dataset in DATASETS:
        one = row(dataset.released, dataset.language, 0 if dataset.recalls_fact else None)
        (in_context,) = [request for request in requests(one, Settings(())) if request.variant == "context"]
        assert in_context.prompt.max_tokens == dataset.answer_tokens
        assert in_context.prompt.temperature == 0
        assert in_context.prompt.role == "evaluated"


SOME, ONE = "nly some of the", "nly one of the"
ALONE = ("answer alone", "explaining", "只写答案", "解释")


@pytest.mark.parametrize(
    ("name", "matter", "brief"),
    [
        ("hotpotwikiqa-mixup", SOME, True),
        ("loogle-SD-mixup", ONE, True),
        ("loogle-CR-mixup", ONE, True),
        ("loogle-MR-mixup", ONE, True),
        ("multifieldqa-en-mixup", ONE, True),
        ("multifieldqa-zh-mixup", "只与其中一篇有关", True),
        ("cmrc-mixup", "只与其中一篇有关", False),
        ("lic-mixup", "只与其中一篇有关", False),
        ("dureader-mixup", "只与其中一篇有关", False),
        ("factrecall-en", None, False),
        ("factrecall-zh", None, False),
    ],
)
def test_a_dataset_is_asked_what_the_released_program_asks(name: str, matter: str | None, brief: bool) -> None:
    dataset = BY_NAME[name]
    one = row(dataset.released, dataset.language, 0 if dataset.recalls_fact else None)
    said = asked(one, ())
    for half in said[None, "context"].split(one.context):  # each is said before the article and after it
        assert [text for text in (SOME, ONE, "只与其中一篇有关") if text in half] == ([matter] if matter else [])
        assert any(text in half for text in ALONE) == brief
        assert ("用中文作答" in half) == (name == "multifieldqa-zh-mixup")
        # Nothing is asked that the program does not ask.
        assert not any(
            text in half for text in ("few words", "简短", "otherwise", "know", "所知", "trust", "book", "书")
        )
    assert any(text in said[None, "direct"] for text in ALONE) == brief


def test_every_template_fits_its_inputs() -> None:
    assert [prompt.name for prompt in ANSWERS] == [
        *(f"answer_{dataset.name}" for dataset in DATASETS),
        *(f"answer_{hops}_{language}" for hops in ("single-hop", "multi-hop") for language in ("en", "zh")),
        "direct_en", "direct_zh",
    ]  # fmt: skip
    direct = ANSWERS[-2]
    texts = [direct.messages(Direct(question="Who?", brief=brief))[0]["content"] for brief in (True, False)]
    assert texts == [
        f"Answer the question below from what you know.{alone}\n\nQuestion: Who?\nAnswer:"
        for alone in (" Write the answer alone, without explaining it.", "")
    ]


def test_a_template_of_one_s_own_is_given_for_one_dataset(tmp_path: Path) -> None:
    (tmp_path / "lveval").mkdir()
    own = "{% block user %}{{ context }} {{ question }} In French, please.{% endblock %}"
    (tmp_path / "lveval" / "answer_loogle-SD-mixup.j2").write_text(own, encoding="utf-8")
    replaced = {prompt.name for prompt in ANSWERS if with_templates(prompt, tmp_path, "lveval") is not prompt}
    assert replaced == {"answer_loogle-SD-mixup"}


def test_curly_brackets_of_a_context_stay_as_they_are() -> None:
    prompt = ANSWERS[0]
    assert "{{ question }}" in prompt.messages(InContext(context="{{ question }}", question="Why?"))[-1]["content"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_ablation_undoes_confusing_facts_replacements_or_both(language: str) -> None:
    one = row(f"multifieldqa_{language}_mixup", language)
    told, fact, space = (TOLD_EN, FACT_EN, " ") if language == "en" else (TOLD_ZH, FACT_ZH, "")
    new, old = ("Ludwig Beethoven", "Albert Einstein") if language == "en" else ("贝多芬", "爱因斯坦")
    no_facts = one.context.replace(f"{fact}{space}", "")
    assert f"{told}{space}{told}\n\n" in no_facts
    assert context_of(one, None) == one.context
    assert context_of(one, "no-cfi") == no_facts
    assert context_of(one, "no-kpr") == one.context.replace(new, old)
    assert context_of(one, "neither") == no_facts.replace(new, old)
    said = asked(one)
    assert f"Who is {new}?" in said["no-cfi", "context"]
    assert f"Who is {old}?" in said["no-kpr", "context"]
    assert f"Who is {old}?" in said["neither", "context"]
    assert f"Who is {old}?" in said["no-kpr", "direct"]
    assert not any(new in text for (prompting, _), text in said.items() if prompting in ("no-kpr", "neither"))


def test_nothing_is_asked_twice_under_another_name() -> None:
    assert set(asked(row("hotpotwikiqa_mixup"))) == {
        (None, "context"), (None, "direct"), ("no-cfi", "context"),
        ("no-kpr", "context"), ("no-kpr", "direct"), ("neither", "context"),
    }  # fmt: skip
    assert set(asked(row("lic_mixup", "zh"))) == {(None, "context"), (None, "direct"), ("no-cfi", "context")}
    unconfused = row("lic_mixup", "zh").revised(confusing_facts=(), positions=())
    assert set(asked(unconfused)) == {(None, "context"), (None, "direct")}
    assert set(asked(row("loogle_SD_mixup").revised(confusing_facts=()))) == {(None, "context"), (None, "direct")}
    assert ablations_of(BY_NAME["cmrc-mixup"], confused=False) == ("no-kpr",)
