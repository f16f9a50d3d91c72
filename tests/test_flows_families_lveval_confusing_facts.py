"""LV-Eval's confusing facts: what each of the two must meet, what good answers are, and what becomes of a bad one."""

import asyncio
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest

from flows.construct.engine import Context, Drop, StepContext
from flows.families.lveval.candidates import DatasetTexts, TextsByDataset
from flows.families.lveval.confusing_facts import fact_problem, facts_problem
from flows.families.lveval.inputs import ConfusingFacts, ToConfuse, supporting_sentence
from flows.families.lveval.method import confuse, part
from flows.families.lveval.prompts import BUILDER_PROMPTS, CONFUSING_FACTS
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import InvalidAnswer, Usage
from schemas.base import Provenance
from schemas.lveval import Changed, Document, Pair
from tests.chat_server import ChatServer, Messages


def asked(question: str, answer: str, fact: str, language: str = "en") -> ToConfuse:
    return ToConfuse(question=question, answers=(answer,), fact=fact, title="", language=language)


CURIE = asked("Where did Marie Curie study physics?", "Paris", "Marie Curie studied physics in Paris.")
CHINESE = asked("大果西番莲分布在什么地区？", "热带美洲", "大果西番莲分布在热带美洲。", "zh")
FOUNDER = asked(
    "Which scientist is widely regarded as a founder of modern chemistry?",
    "Antoine Lavoisier",
    "Antoine Lavoisier was honoured, and is widely regarded as a founder of modern chemistry.",
)


@pytest.mark.parametrize(
    ("question", "changes", "fact", "reason"),
    [
        (CURIE, "subject", "Lise Meitner studied physics in Vienna.", None),
        (CURIE, "subject", "However, Lise Meitner studied physics. She did so in Vienna.", None),
        (CURIE, "subject", " ", "is missing"),
        (CURIE, "subject", "Did Lise Meitner study physics in Vienna?", "is no statement"),
        (CURIE, "subject", "Lise Meitner studied physics in Paris.", "holds the answer"),
        (CURIE, "subject", "Marie Curie studied physics in Vienna.", "has the same subject"),
        (CURIE, "subject", "A cousin of Marie Curie taught physics in Vienna.", None),
        (CURIE, "subject", "Weather was fine in Vienna.", "resembles nothing"),
        (CURIE, "subject", 'Lise Meitner studied physics in "Vienna.', "has a bracket or quotation mark"),
        (CURIE, "subject", f"Lise Meitner studied physics {'very ' * 120}hard.", "is too long"),
        (CURIE, "object", "Marie Curie translated an article on the engine.", None),
        (CURIE, "object", "Curie translated an article on the engine.", None),
        (
            asked("What did the tower cost?", "4 crowns", "It cost 4 crowns."),
            "object",
            "Rain hit the tower.",
            "resembles",
        ),
        (CURIE, "object", "A cousin of Curie studied physics in Vienna.", None),
        (CURIE, "object", "marie curie studied  physics in Paris.", "repeats the sentence"),
        (CURIE, "object", "Marie Curie studied physics in Vienna.", "may answer the question"),
        (CURIE, "object", "Lise Meitner studied physics in Vienna.", "has another subject"),
        (
            asked("Who led the choir of Aln?", "Ida Holm", "Ida Holm led the choir of Aln through two world wars."),
            "object",
            "Jan Vogel led a choir of Aln through two world wars.",
            "may answer the question",
        ),
        (
            asked("Who sang at Aln in May?", "Ida Holm", "Ida Holm led the choir of Aln through two world wars."),
            "object",
            "Jan Vogel led the choir of Aln through two world wars.",
            "contradicts the sentence",
        ),
        (FOUNDER, "subject", "Jon Halvorsen is widely regarded as a founder of modern dentistry.", None),
        (
            FOUNDER,
            "subject",
            "The scientist Jon Halvorsen is widely regarded as a founder of modern chemistry.",
            "may answer the question",
        ),
        (
            asked("Where did Celeron bury a plate?", "Aln", "Céloron buried a plate at Aln."),
            "object",
            "Céloron bought a plate at Kelm.",
            None,
        ),
        (
            asked("What is the English word for the small flute?", "fife", "The English word for it is fife."),
            "object",
            "The word for a small drum is tabor.",
            None,
        ),
        (
            asked("Where did Marie Curie study physics?", "Paris", "Marie Curie studied physics in Paris."),
            "object",
            "A cousin of Marie Curie studied physics in Vienna.",
            None,
        ),
        (asked("潘淑是哪里人？", "湖州", "潘淑，湖州人。", "zh"), "object", "潘淑的表亲是苏州人。", None),
        (CHINESE, "subject", "龙珠果是西番莲属的植物，分布在许多温暖的地区。", None),
        (CHINESE, "subject", "大果西番莲分布在非洲。", "has the same subject"),
        (CHINESE, "subject", "新大果西番莲分布在非洲。", None),
        (CHINESE, "subject", "天气很好。", "resembles nothing"),
        (CHINESE, "object", "大果西番莲的果肉可以鲜食。", None),
        (CHINESE, "object", "龙珠果分布在非洲。", "has another subject"),
        (CHINESE, "object", f"大果西番莲的果肉{'非常' * 120}好吃。", "is too long"),
    ],
)
def test_what_each_fact_must_meet(question: ToConfuse, changes: Changed, fact: str, reason: str | None) -> None:
    problem = fact_problem(question, changes, fact)
    assert (
        reason is None if problem is None else reason is not None and problem[0].startswith(f"{changes} fact {reason}")
    )
    assert (problem is None) == (reason is None)


def test_the_complaint_names_each_bad_fact_and_spares_the_good_one() -> None:
    good, bad = "Lise Meitner studied physics in Vienna.", "Marie Curie studied physics in Vienna."
    assert facts_problem(CURIE, good, bad) == (
        "object fact may answer the question",
        "it says all that the question asks about; leave some of it out, or change it; "
        "the subject fact is good: leave it as it stands",
    )
    assert facts_problem(CURIE, "Lise Meitner studied physics in Paris.", bad) == (
        "subject fact holds the answer",
        "'Paris' must not stand in it; object fact may answer the question: "
        "it says all that the question asks about; leave some of it out, or change it",
    )
    same = "A cousin of Marie studied physics in Vienna."
    assert facts_problem(CURIE, same, same.upper()) == (
        "the two facts are one", "write another object fact, and leave the subject fact as it stands",
    )  # fmt: skip


# ---- good answers ----


def test_the_example_in_the_prompt_is_good() -> None:
    text = " ".join(CONFUSING_FACTS.source.split())
    found = re.search(r'Question: "(.*?)" Sentence: "(.*?)" Subject: "(.*?)" Object: "(.*?)"', text)
    assert found is not None
    question, sentence, subject, other = found.groups()
    assert facts_problem(asked(question, "4 crowns", sentence), subject, other) is None


@pytest.fixture
def paper(shared: Path) -> str:
    return next((shared / "papers").glob("004_*")).read_text(encoding="utf-8")


def one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, pattern
    return found[1]


def test_the_example_of_figure_a7_is_good(paper: str) -> None:
    question = one(r"example: input: (.*?) Output", paper)
    sentence = "The total bid control price of Sections A, B and C of the Wuzhou City Ring Expressway is 1,140."
    facts = one(r"Output: (Recently.*?) \\n", paper), one(r"\\n(Recently.*?)\n", paper)
    assert facts_problem(asked(question, "1,140", sentence), *facts) is None


def test_the_chinese_example_of_figure_a7_names_the_subject_that_it_says_to_change(paper: str) -> None:
    question = one(r"案例：input: (.*?) output", paper)
    sentence = "梧州市环城高速公路A标段、B标段和C标段的招标控制价合计1140万元。"
    subject, other = one(r"output: (最近.*?) \\n", paper), one(r"\\n(最近.*?)\n", paper)
    about = asked(question, "1140万元", sentence, "zh")
    assert fact_problem(about, "object", other) is None
    assert fact_problem(about, "subject", subject.replace("梧州市", "抚州市")) is None
    problem = fact_problem(about, "subject", subject)
    assert problem is not None
    assert problem[0] == "subject fact has the same subject"


def test_the_facts_of_figures_a10_and_a11_are_good(paper: str) -> None:
    english = asked(
        "What is the name of the scientist widely acclaimed as the foundational figure of modern physics?",
        "Ludwig Beethoven",
        one(r"(Ludwig Beethoven is a German.*?modern physics\.)", paper),
    )
    facts = one(r"'(David Beckham was.*?)'\n", paper), one(r"'(John Beverley made.*?)'\n", paper)
    assert facts_problem(english, *facts) is None
    chinese = asked(
        "被世人广泛推崇为现代物理学奠基人的科学家叫什么名字?", "贝多芬", one(r"(庚子年间.*?奠基者)\.", paper), "zh"
    )
    facts = one(r"'(贝克拉姆乃.*?)'", paper), one(r"'(贝弗利先生.*?)'", paper)
    assert facts_problem(chinese, *facts) is None


def recorded(shared: Path) -> Iterator[tuple[int, ToConfuse, str]]:
    """How many messages stood before each recorded answer, what was asked, and the answer."""
    with gzip.open(shared / "recorded" / "answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if "Write two confusing facts" in row["messages"][0]["content"]:
                text = row["messages"][1]["content"]
                question = one(r"Question:\n(.*)\n", text)
                inputs = ToConfuse(
                    question=question,
                    answers=tuple(re.findall(r"^- (.*)$", text.partition("\nSentence")[0], re.MULTILINE)),
                    fact=one(r"\nSentence(?: \(from: .*\))?:\n(.*)", text),
                    title="",
                    language="zh" if re.search("[一-龥]", question) else "en",
                )
                yield len(row["messages"]), inputs, row["answer"]


def test_every_first_answer_of_a_strong_model_is_good(shared: Path) -> None:
    first = [(inputs, answer) for said, inputs, answer in recorded(shared) if said == 2]
    assert len(first) == 18
    for inputs, answer in first:
        CONFUSING_FACTS.parse(inputs, answer)


def test_what_unjust_complaints_led_to_is_no_worse_for_it(shared: Path) -> None:
    for said, inputs, answer in recorded(shared):
        if said > 2:
            CONFUSING_FACTS.parse(inputs, answer)


# ---- asking ----


async def ask(server: ChatServer, folder: Path, inputs: Sequence[ToConfuse]) -> tuple[list[Any], Usage]:
    usage = Usage()
    with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        async with aclosing(Endpoint(EndpointSettings(name="gpt-4o-mini", base_url=server.url), cache)) as endpoint:
            asking = (endpoint.complete(CONFUSING_FACTS, one, usage=usage) for one in inputs)
            return await asyncio.gather(*asking, return_exceptions=True), usage


def test_a_strong_model_is_asked_once_a_pair(shared: Path, tmp_path: Path) -> None:
    answers = {inputs.question: answer for said, inputs, answer in recorded(shared) if said == 2}
    inputs = list({inputs.question: inputs for said, inputs, _ in recorded(shared) if said == 2}.values())

    def reply(messages: Messages) -> str:
        return answers[one(r"Question:\n(.*)\n", messages[1]["content"])]

    with ChatServer(answer=reply) as server:
        facts, usage = asyncio.run(ask(server, tmp_path, inputs))
    assert all(isinstance(one, ConfusingFacts) for one in facts)
    assert usage.calls == len(inputs)


def test_a_bad_fact_is_asked_for_again_and_the_good_one_stays(tmp_path: Path) -> None:
    good = "Lise Meitner studied physics in Vienna."
    said: list[str] = []

    def reply(messages: Messages) -> str:
        said.append(messages[-1]["content"])
        other = (
            "Marie Curie studied physics in Vienna." if len(messages) == 2 else "Marie Curie taught physics at Sevres."
        )
        return json.dumps({"subject": good, "object": other})

    with ChatServer(answer=reply) as server:
        (facts,), _ = asyncio.run(ask(server, tmp_path, [CURIE]))
    assert facts == ConfusingFacts(subject=good, object="Marie Curie taught physics at Sevres.")
    assert "object fact may answer the question" in said[-1]
    assert "the subject fact is good: leave it as it stands" in said[-1]


PAIR = Pair(
    key="1",
    dataset="hotpotwikiqa-mixup",
    question=CURIE.question,
    answers=CURIE.answers,
    documents=(Document(id="1", text="Marie Curie studied physics in Paris. Marie Curie played the organ in Sceaux."),),
    language="en",
    source="s",
    row="1",
    provenance=Provenance(seed=1),
)


class Stubborn:
    """A builder that never gives an answer past the checks."""

    name = "stubborn"

    def __init__(self, answer: str) -> None:
        self.answer = answer

    async def complete(self, prompt: Any, inputs: Any, *, draw: int = 0, usage: Usage) -> Any:
        raise InvalidAnswer("object fact may answer the question", self.answer)

    def identity(self) -> dict[str, object]:
        return {}


def context(answer: str) -> Context:
    step = StepContext(
        settings=None, seed=1, limit=None, inputs=[], uses={}, reviewed=lambda name: frozenset(), embedder=None,  # type: ignore[arg-type]
        models={"builder": Stubborn(answer)}, prompts={prompt.name: prompt for prompt in BUILDER_PROMPTS},
    )  # fmt: skip
    texts = {(PAIR.dataset, 1): DatasetTexts("en", [PAIR], [])}
    return Context(step, "confuse", "1", TextsByDataset({}, texts), {})


def test_of_two_facts_the_sound_one_is_kept() -> None:
    answer = {"subject": "Lise Meitner studied physics in Vienna.", "object": "Marie Curie studied physics in Vienna."}
    ctx = context(json.dumps(answer))
    confusion = asyncio.run(confuse(PAIR, {}, ctx))
    assert confusion.provenance.prompts[0].name == "confusing_facts"
    assert asyncio.run(part(confusion, {"changes": "subject"}, ctx)).fact == answer["subject"]
    with pytest.raises(Drop, match="object fact may answer the question"):
        asyncio.run(part(confusion, {"changes": "object"}, ctx))


@pytest.mark.parametrize(
    "answer",
    ["no JSON", '{"subject": "Paris.", "object": "Paris."}', '{"subject": "", "object": ""}'],
)
def test_without_a_sound_fact_the_pair_has_none(answer: str) -> None:
    with pytest.raises(InvalidAnswer, match="object fact may answer the question"):
        asyncio.run(confuse(PAIR, {}, context(answer)))


def test_a_fact_that_stands_in_a_supporting_document_is_none() -> None:
    answer = {
        "subject": "Lise Meitner studied physics in Vienna.",
        "object": "Marie Curie played the organ in Sceaux.",
    }
    confusion = asyncio.run(confuse(PAIR, {}, context(json.dumps(answer))))
    assert confusion.refused == ("", "object fact stands in a supporting document")


def test_an_answer_that_no_sentence_holds_whole_has_a_supporting_sentence_all_the_same() -> None:
    text = "The fleet sailed. In May it reached Aln. In June it reached Kelm. It returned."
    pair = PAIR.revised(
        question="Where was the fleet?",
        answers=("Aln. In June it reached Kelm",),
        documents=(Document(id="1", text=text),),
    )
    assert supporting_sentence(pair)[0] == "In June it reached Kelm."
