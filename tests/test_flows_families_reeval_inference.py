"""The inference prompts as a model reads them: every kind of model, with and without evidence, zero- and few-shot."""

from typing import Any

import pytest

from flows.families.reeval.evaluation import requests
from flows.families.reeval.inference import (
    ANSWERS,
    STYLES,
    Prompting,
    Style,
    ToAnswer,
    answering,
    demonstrations,
)
from flows.families.reeval.settings import ReEvalSettings
from flows.llm.model import Text
from schemas.base import Provenance
from schemas.reeval import EnrichedCase, SwapCase

EVIDENCE = 'He said: "five <b>&amp;</b> {{ six }}".\nThen he left.'
ALONE = "Give the answer alone, with no other words around it."
BOB = f'Bob said, "{EVIDENCE}"\nQ: how many in Bob\'s opinion based on the given text?'


def user(style: Style, asked: ToAnswer) -> str:
    return STYLES[style].messages(asked)[-1]["content"]


def after_instruction(text: str) -> str:
    instruction, _, rest = text.partition("\n\n")
    assert instruction.endswith(ALONE)
    return rest


@pytest.mark.parametrize(
    ("style", "closed_book", "open_book", "faithful"),
    [
        (
            "chat",
            "Question:\nhow many\n\nAnswer:",
            f"Context:\n{EVIDENCE}\n\nQuestion:\nhow many\n\nAnswer:",
            BOB,
        ),
        (
            "alpaca",
            "### Instruction:\nhow many\n\n### Response:",
            f"### Instruction:\nhow many\n\n### Input:\n{EVIDENCE}\n\n### Response:",
            f"### Instruction:\n{BOB}\n\n### Response:",
        ),
        (
            "palm",
            "QUESTION:\nhow many\n\nANSWER:",
            f"QUESTION:\nhow many\n\nPASSAGE:\n{EVIDENCE}\n\nANSWER:",
            BOB,
        ),
        (
            "claude",
            "Question:\nhow many",
            f"Context:\n{EVIDENCE}\n\nQuestion:\nhow many",
            BOB,
        ),
    ],
)
def test_zero_shot_prompts_word_for_word(style: Style, closed_book: str, open_book: str, faithful: str) -> None:
    assert after_instruction(user(style, answering("how many", None, "en"))) == closed_book
    assert after_instruction(user(style, answering("how many", EVIDENCE, "en"))) == open_book
    assert after_instruction(user(style, answering("how many", EVIDENCE, "en", "faithful"))) == faithful


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("prompting", ["open-book", "faithful"])
@pytest.mark.parametrize("evidence", [None, EVIDENCE])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_few_shot_puts_five_whole_examples_before_the_question(
    style: Style, prompting: Prompting, evidence: str | None, language: str
) -> None:
    instruction, *blocks = user(style, answering("how many", evidence, language, prompting, 5)).split("\n\n\n")
    assert instruction.endswith(ALONE)
    assert len(blocks) == 6
    for block, shown in zip(blocks, demonstrations(language), strict=False):
        alone = answering(shown.question, shown.evidence if evidence else None, language, prompting)
        example = after_instruction(user(style, alone))
        label = {"alpaca": "### Response:", "palm": "ANSWER:"}.get(style, "Answer:")
        assert block == f"{example.removesuffix(label).rstrip()}\n\n{label}\n{shown.answer}"
    zero_shot = after_instruction(user(style, answering("how many", evidence, language, prompting)))
    assert blocks[-1].startswith(zero_shot)
    assert blocks[-1].endswith(("Answer:", "ANSWER:", "### Response:"))


def test_the_first_words_differ_by_what_is_given() -> None:
    for style in STYLES:
        first = {
            user(style, answering("q", evidence, "en", prompting)).split("\n")[0]
            for evidence, prompting in ((None, "open-book"), (EVIDENCE, "open-book"), (EVIDENCE, "faithful"))
        }  # fmt: skip
        assert len(first) == 3
    assert [one["role"] for one in STYLES["chat"].messages(answering("q", None, "en"))] == ["system", "user"]


@pytest.mark.parametrize("question", ["Who was it?", "who was it", "是谁？", "Who was it? "])
def test_a_question_mark_is_left_out_before_the_opinion(question: str) -> None:
    text = user("chat", answering(question, EVIDENCE, "en", "faithful"))
    assert text.endswith(f"Q: {question.rstrip('?？ ')} in Bob's opinion based on the given text?")


def test_the_prompts_are_greedy_short_and_of_the_pivot_s_role() -> None:
    for prompt in ANSWERS:
        assert (prompt.output, prompt.temperature, prompt.max_tokens, prompt.role) == (Text, 0.0, 100, "pivot")
    assert [prompt.name for prompt in ANSWERS] == [f"answer_{style}" for style in STYLES]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_demonstrations_answer_from_their_evidence(language: str) -> None:
    shown = demonstrations(language)
    assert len(shown) == 5
    for one in shown:
        assert one.answer in one.evidence
        assert one.answer not in one.question


COMMON: dict[str, Any] = {
    "key": "k", "question": "Who?", "original_evidence": "Ann did.", "source": "squad:dev",
    "provenance": Provenance(seed=1),
}  # fmt: skip
SWAPPED = SwapCase(
    pivot="pivot",
    **COMMON,
    answer="Bo",
    original_answer="Ann",
    evidence="Bo did.",
    replacements=(),
    answer_position="first",
)
ENRICHED = EnrichedCase(
        pivot="pivot",
    **COMMON, answer="Ann", supporting_sentence="Ann did.", supporting_sentence_resolved="Ann did.",
    evidence_question_focused="Ann did it.", evidence_evidence_focused="It was Ann.",
    passages_question_focused=(), passages_evidence_focused=(),
)  # fmt: skip


def test_requests_are_every_variant_under_every_prompting_and_number_of_shots() -> None:
    asked = requests(SWAPPED, ReEvalSettings())
    assert [(one.variant, one.prompting, one.shots) for one in asked] == [
        ("closed_book", "open-book", 0), ("original", "open-book", 0), ("swapped", "open-book", 0),
        ("closed_book", "open-book", 5), ("original", "open-book", 5), ("swapped", "open-book", 5),
        ("original", "faithful", 0), ("swapped", "faithful", 0),
        ("original", "faithful", 5), ("swapped", "faithful", 5),
    ]  # fmt: skip
    evidence = {one.variant: one.inputs.evidence for one in asked}  # type: ignore[attr-defined]
    assert evidence == {"closed_book": None, "original": "Ann did.", "swapped": "Bo did."}
    assert {one.prompt.name for one in requests(SWAPPED, ReEvalSettings(style="palm"))} == {"answer_palm"}


def test_a_category_2_case_is_asked_with_both_expansions() -> None:
    asked = requests(ENRICHED, ReEvalSettings(prompting=("open-book",), shots=(0,)))
    assert {one.variant: one.inputs.evidence for one in asked} == {  # type: ignore[attr-defined]
        "closed_book": None, "original": "Ann did.", "question_focused": "Ann did it.",
        "evidence_focused": "It was Ann.",
    }  # fmt: skip


def test_a_case_has_demonstrations_in_its_own_language() -> None:
    chinese = SWAPPED.revised(language="zh")
    (asked,) = {one.inputs.demonstrations for one in requests(chinese, ReEvalSettings(shots=(5,)))}  # type: ignore[attr-defined]
    assert asked == demonstrations("zh")
