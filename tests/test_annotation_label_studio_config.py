"""Forms: what a rubric and a task become in Label Studio, and what comes back, by hand and on a real page."""

import time
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from pydantic import ValidationError

from annotation.label_studio.answers import Answers, Unusable, answers_of
from annotation.label_studio.config import FOR_ALL, QUESTION, guideline_page, hotkeys, label_config
from annotation.label_studio.task_data import (
    EDGE_CHARACTERS,
    LISTED,
    LISTED_CHARACTERS,
    MOST_CHARACTERS,
    SUGGESTED,
    cut,
    task_data,
)
from annotation.practice import practice_rubric
from annotation.review import judging_of, review_of, revision_of
from flows.families.lveval.rubric import KEYWORDS
from flows.families.reeval.rubric import SUPPORT
from schemas.rubric import Choice, Marked, Rubric, Shown, Task, Turn, Written
from tests.forms import (
    AUTHORING,
    AUTHORING_TASK,
    FORMS,
    HOSTILE,
    HOSTILE_TASK,
    PAGE,
    WRITTEN,
    Form,
    close_guideline,
    log_in,
    make,
    open_form,
    result,
)
from tests.label_studio import Served


def one(name: str, kind: str, value: Any) -> Any:
    return {"result": [{"from_name": name, "type": kind, "value": value}]}


def data_of(rubric: Rubric, **shown: str) -> dict[str, Any]:
    return {f"shown_{name}": text for name, text in shown.items()} | {f"draft_{one.name}": "" for one in rubric.writes}


# ---- the table ----


def test_a_task_is_called_by_what_tells_it_from_others() -> None:
    def listed(form: Form) -> str:
        return str(task_data(form.rubric, form.task)[LISTED])

    assert listed(FORMS[AUTHORING.name]) == "Which of them sat behind the others, then?", "the last turn"
    assert listed(FORMS[f"{AUTHORING.name}-review"]) == "Which of them sat behind the others, then?"
    assert listed(FORMS["reeval-support"]) == "When was the Varn Bridge opened?", "not the passage above it"
    assert listed(FORMS[HOSTILE.name]) == "$shown_text {{shown}} &amp; &lt; \u202eturned \x1b"


def test_what_stands_over_a_form_does_not_name_its_tasks() -> None:
    for rubric in (revision_of(AUTHORING), practice_rubric(AUTHORING)):
        assert rubric.lists_by == "dialogue"


def test_a_long_text_in_the_table_is_its_start_in_one_line() -> None:
    rubric = Rubric(name="r", version=1, guideline="g.md", shows=(Shown(name="text"),), asks=AUTHORING.asks)
    task = AUTHORING_TASK.model_copy(update={"rubric": "r", "drafts": {}, "shown": {"text": "大桥\n\n word" * 2000}})
    line = task_data(rubric, task)[LISTED]
    assert line.startswith("大桥 word大桥 word")
    assert len(line) == LISTED_CHARACTERS
    assert line.endswith("…")
    empty = task.model_copy(update={"shown": {"text": ""}})
    assert task_data(rubric, empty)[LISTED] == ""


# ---- the form ----


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_form_holds_together(form: Form) -> None:
    tags = list(Xml.fromstring(label_config(form.rubric)).iter())
    named = [tag for tag in tags if tag.get("name")]
    names = [tag.get("name") for tag in named]
    assert len(set(names)) == len(names)
    objects = {tag.get("name") for tag in named if tag.tag in ("Text", "Paragraphs")}
    controls = [tag for tag in named if tag.tag in ("Choices", "TextArea", "Labels")]
    assert {tag.get("toName") for tag in controls} <= objects
    asked = {one.name for part in (form.rubric.asks, form.rubric.writes, form.rubric.marks) for one in part}
    for_all = {FOR_ALL} if form.rubric.for_all else set()
    assert {tag.get("name") for tag in controls} == {*asked, *for_all, QUESTION}
    values = [tag.get("value", "") for tag in tags]
    assert {one[1:] for one in values if one.startswith(("$shown_", "$draft_", "$note_"))} == {
        name for name in task_data(form.rubric, form.task) if name.startswith(("shown_", "draft_", "note_"))
    }


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_every_option_has_a_key_of_its_own(form: Form) -> None:
    keys = hotkeys(form.rubric)
    assert (
        len(set(keys.values()))
        == len(keys)
        == sum(len(one.options) for one in form.rubric.asks) + len(form.rubric.marks) + bool(form.rubric.for_all)
    )
    tags = list(Xml.fromstring(label_config(form.rubric)).iter())
    assert sorted(tag.get("hotkey", "") for tag in tags if tag.tag in ("Choice", "Label")) == sorted(keys.values())


def test_up_to_four_questions_have_a_row_of_the_keyboard_each() -> None:
    keys = hotkeys(FORMS["refute-rating"].rubric)
    assert [keys["human_likeness", one] for one in "12345"] == list("12345")
    assert [keys["appropriateness", one] for one in "12345"] == list("qwert")
    assert [keys["following", one] for one in "12345"] == list("asdfg")


def keys_of(rubric: Rubric) -> list[str]:
    """The keys of each question's options."""
    keys = hotkeys(rubric)
    return ["".join(keys[ask.name, option] for option in ask.options) for ask in rubric.asks]


def test_the_parts_of_a_review_have_a_column_of_the_keyboard_each_and_one_key_accepts_all() -> None:
    review = review_of(AUTHORING)
    assert keys_of(review) == ["1qa", "2ws", "3ed", "4rf", "5tg"]
    assert hotkeys(review)[FOR_ALL, "accept"] == "0"
    assert keys_of(judging_of(AUTHORING)) == ["1q", "2w", "3e", "4r", "5t"]


def test_more_questions_follow_each_other_and_none_is_broken_across_rows() -> None:
    asks = tuple(Choice(name=f"q{number}", question="?", options=("a", "b", "c")) for number in range(6))
    rubric = Rubric(name="r", version=1, guideline="g.md", shows=(Shown(name="a"),), asks=asks)
    assert keys_of(rubric) == ["123", "456", "789", "qwe", "rty", "iop"]


def test_keys_that_are_used_up_are_not_given_twice() -> None:
    asks = tuple(
        Choice(name=f"q{number}", question="?", options=tuple(map(str, range(7)))) for number in range(9)
    )  # a row holds one question of seven; there are four rows
    rubric = Rubric(name="r", version=1, guideline="g.md", shows=(Shown(name="a"),), asks=asks)
    assert {name for name, _ in hotkeys(rubric)} == {"q0", "q1", "q2", "q3"}


def test_titles_hints_and_options_stand_in_the_form_as_they_are() -> None:
    tags = list(Xml.fromstring(label_config(HOSTILE)).iter())
    texts = [tag.get(name, "").replace("\u2060", "") for tag in tags for name in ("value", "placeholder")]
    for text in (HOSTILE.shows[0].title, f"{HOSTILE.asks[0].question} *", *HOSTILE.asks[0].options,
                 HOSTILE.writes[0].title, HOSTILE.writes[0].hint, HOSTILE.marks[0].title):  # fmt: skip
        assert text in texts
    # an option that looks like a name of the task's data is none, and comes back as it is
    (option,) = [tag for tag in tags if tag.get("alias") == "$shown_text"]
    assert option.get("value") == "$\u2060shown_text"


@pytest.mark.parametrize("name", ["a b", 'a"b', "a-b", "$a", "1a", "", "true", "<a>", "名"])
def test_names_that_a_form_cannot_hold_are_refused(name: str) -> None:
    for kind, more in ((Shown, {}), (Choice, {"question": "?", "options": ("a", "b")}), (Written, {"title": "t"}),
                       (Marked, {"title": "t", "of": "a"})):  # fmt: skip
        with pytest.raises(ValidationError):
            kind.model_validate({"name": name, **more})


def test_options_at_which_label_studio_would_split_are_refused() -> None:
    with pytest.raises(ValidationError):
        Choice(name="a", question="?", options=("yes", "no, never"))


# ---- the task's data ----


def test_nothing_in_the_data_tells_a_validation_item_from_others() -> None:
    shown = {"evidence": "It was built in 1931.", "question": "When?", "answer": "1931"}
    more: dict[str, Any] = {"rubric": SUPPORT.name, "version": SUPPORT.version, "item_id": "i", "item_key": "k",
                            "item_view": "v", "shown": shown}  # fmt: skip
    plain = task_data(SUPPORT, Task(key="k1", sample="category1", **more))
    known = task_data(
        SUPPORT,
        Task(key="k2", sample="validation", right_answers={"supports": "yes"}, why="It says so plainly.", **more),
    )
    assert {**plain, "ext_id": ""} == {**known, "ext_id": ""}
    assert set(known) == {"ext_id", "view_hash", "item_id", "item_key", "item_view", "rubric", "version", "news",
                          "shown_evidence", "shown_question", "shown_answer", "Task"}  # fmt: skip


def test_a_suggestion_is_said_to_be_one_and_a_text_to_be_corrected_is_not() -> None:
    writes = (Written(name="KGIR", title="t", corrects=True), Written(name="fact", title="t", corrects=True))
    rubric = AUTHORING.model_copy(update={"writes": writes})
    drafts = {"KGIR": "George.", "fact": "It rains."}
    task = AUTHORING_TASK.model_copy(update={"drafts": drafts, "suggested": ("KGIR",)})
    data = task_data(rubric, task)
    assert (data["draft_KGIR"], data["note_KGIR"]) == ("George.", SUGGESTED)
    assert (data["draft_fact"], data["note_fact"]) == ("It rains.", "")
    handed = answers_of(rubric, result(rubric, {**drafts, "decision": "yes"}), data)
    assert handed.untouched == ("KGIR",)  # a text of the record that stays is no suggestion


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "expected rubric form-authoring 1, not form-authoring 2"),
        ({"shown": {"dialogue": ()}}, "last_utterance is no text"),
        ({"shown": {**AUTHORING_TASK.shown, "dialogue": "flat"}}, "dialogue is no dialogue"),
        ({"drafts": {"KGIX": "x"}}, "KGIX has a draft, and the rubric has no such text to write"),
    ],
)
def test_a_task_that_the_form_could_not_show_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        task_data(AUTHORING, AUTHORING_TASK.model_copy(update=changes))


def test_a_long_text_keeps_its_ends_and_the_places_it_is_cut_around() -> None:
    text = "s" * 30_000 + "ANSWER" + "m" * 200_000 + "answer" + "e" * 50_000
    assert cut("a" * MOST_CHARACTERS, "a") == "a" * MOST_CHARACTERS
    short = cut(text, "Answer")
    assert short.startswith("s" * EDGE_CHARACTERS)
    assert short.endswith("e" * EDGE_CHARACTERS)
    assert "ANSWER" in short
    assert "answer" in short
    # 40,000 characters for two places, 10,000 before and after each: 20,000 to 40,000, and 220,006 to 240,006
    assert "\n\n[… 10,000 characters of the text are left out here …]\n\n" in short
    assert "\n\n[… 180,006 characters of the text are left out here …]\n\n" in short
    assert "\n\n[… 30,006 characters of the text are left out here …]\n\n" in short
    assert len(short) < MOST_CHARACTERS + 250


def test_a_long_text_with_nothing_to_be_cut_around_keeps_its_start() -> None:
    text = "".join(chr(0x4E00 + number % 2000) for number in range(100_000))
    short = cut(text)
    assert short.startswith(text[:50_000] + "\n\n[… 40,000 characters")
    assert short.endswith(text[-10_000:])


def test_a_passage_is_cut_around_its_answer() -> None:
    evidence = "word " * 20_000 + "It was built by Ann Arch." + " word" * 20_000
    task = Task(
        key="k", rubric=SUPPORT.name, version=SUPPORT.version, item_id="i", item_key="k", item_view="v",
        shown={"evidence": evidence, "question": "Who?", "answer": "Ann Arch"},
    )  # fmt: skip
    shown = task_data(SUPPORT, task)["shown_evidence"]
    assert "It was built by Ann Arch." in shown
    assert len(shown) < MOST_CHARACTERS + 250


def test_all_speakers_but_one_are_set_apart() -> None:
    turns = [Turn(speaker=speaker, text="Yes?") for speaker in ("User", "Bot", "User", "Expert")]
    shown = task_data(
        AUTHORING, AUTHORING_TASK.model_copy(update={"shown": {**AUTHORING_TASK.shown, "dialogue": tuple(turns)}})
    )["shown_dialogue"]
    assert [turn.get("start") for turn in shown] == [0, None, 0, 0]


def test_a_long_dialogue_keeps_its_last_turns() -> None:
    turns = tuple(Turn(speaker="Bot", text=f"{number} " + "x" * 20_000) for number in range(9))
    shown = task_data(
        AUTHORING, AUTHORING_TASK.model_copy(update={"shown": {**AUTHORING_TASK.shown, "dialogue": turns}})
    )["shown_dialogue"]
    assert shown[0] == {"speaker": "[…]", "text": "7 earlier turns are left out here"}
    assert [turn["text"][:2] for turn in shown[1:]] == ["7 ", "8 "]


# ---- what comes back ----


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_what_is_answered_in_a_form_comes_back(form: Form) -> None:
    rubric, data = form.rubric, task_data(form.rubric, form.task)
    answers = {ask.name: (ask.fixes or ask.options)[0] for ask in rubric.asks}
    answers |= {write.name: f"What stands in {write.name}" for write in rubric.writes}
    spans = {mark.name: [(3, 8)] for mark in rubric.marks}
    handed = answers_of(rubric, result(rubric, {**answers, QUESTION: "Why?"}, spans), data)
    marked = {mark.name: (data[f"shown_{mark.of}"][3:8].strip(),) for mark in rubric.marks}
    corrected = {mark.name: marked[mark.name][0] for mark in rubric.marks if mark.corrects}
    assert handed == Answers(answers={**answers, **corrected}, marks=marked, untouched=(), question="Why?")


def test_texts_come_back_without_the_space_around_them_and_suggestions_left_alone_are_told() -> None:
    data = task_data(AUTHORING, AUTHORING_TASK)
    written = {**WRITTEN, "KGIR": " George Harrison played lead guitar.\n", "note": " \n"}
    handed = answers_of(AUTHORING, result(AUTHORING, written), data)
    assert handed.answers["KGIR"] == "George Harrison played lead guitar."
    assert "note" not in handed.answers
    assert handed.untouched == ("KGIR",)


def test_what_stands_in_boxes_that_are_not_to_be_seen_counts_for_nothing() -> None:
    data = task_data(AUTHORING, AUTHORING_TASK)
    rejected = {**AUTHORING_TASK.drafts, "decision": "reject this dialogue", "note": "Two topics."}
    handed = answers_of(AUTHORING, result(AUTHORING, rejected), data)
    assert handed == Answers(answers={"decision": "reject this dialogue", "note": "Two topics."}, marks={})
    form = FORMS["lveval-confusing-facts"]
    kept = result(form.rubric, {"decision": "keep", "fact": "What the box held."})
    assert answers_of(form.rubric, kept, task_data(form.rubric, form.task)).answers == {"decision": "keep"}


@pytest.mark.parametrize(
    ("handed", "reason", "evidence"),
    [
        (result(AUTHORING, {}), "incomplete", "Can the conversation be used?"),
        (result(AUTHORING, {**WRITTEN, "decision": "perhaps"}), "unknown option", "decision: perhaps"),
        (result(AUTHORING, {**WRITTEN, "KGIX": "x"}), "unknown answer", "KGIX: textarea"),
        (one("KGIR", "choices", {"choices": ["done"]}), "unknown answer", "KGIR: choices"),
        (one("KGIR", "textarea", None), "unknown answer", "KGIR: textarea without a value"),
        (one("KGIR", "textarea", {"text": ["a", "b"]}), "answered twice", "KGIR"),
        (one("KGIR", "textarea", {"text": [123]}), "unknown answer", "KGIR: [123]"),
        (one("KGIR", "textarea", {"text": ["a\0b"]}), "control character", "KGIR: U+0000"),
        (one("KGIR", "textarea", {"text": ["long " * 50_000]}), "too long", "KGIR: 249,999 characters"),
        ({"result": result(AUTHORING, WRITTEN)["result"] * 2}, "answered twice", "decision"),
        ({"result": None}, "incomplete", "Can the conversation be used?"),
        ({}, "incomplete", "Can the conversation be used?"),
    ],
)  # fmt: skip
def test_what_is_no_answer_to_the_form_is_named(handed: Any, reason: str, evidence: str) -> None:
    with pytest.raises(Unusable) as caught:
        answers_of(AUTHORING, handed, task_data(AUTHORING, AUTHORING_TASK))
    assert caught.value.reason == reason
    assert evidence in caught.value.evidence


def test_a_required_text_that_is_missing_is_for_the_author_to_write() -> None:
    handed = answers_of(AUTHORING, result(AUTHORING, {**WRITTEN, "COEX": "  "}), task_data(AUTHORING, AUTHORING_TASK))
    assert "COEX" not in handed.answers
    assert handed.answers["KGIR"] == WRITTEN["KGIR"]


def test_an_option_that_fixes_needs_what_it_is_about() -> None:
    form = FORMS["lveval-confusing-facts"]
    data = task_data(form.rubric, form.task)
    with pytest.raises(Unusable, match="incomplete: The confusing fact, corrected"):
        answers_of(form.rubric, result(form.rubric, {"decision": "edit"}), data)
    with pytest.raises(Unusable, match="incomplete: Keyword"):
        answers_of(KEYWORDS, result(KEYWORDS, {"decision": "edit"}), data_of(KEYWORDS, answer="In 1931."))


def test_marked_stretches_come_in_the_order_of_the_text_and_are_the_field_that_they_correct() -> None:
    # Label Studio counts characters, as Python does: the emoji is one
    data = data_of(KEYWORDS, answer="😀 It was opened in the spring of 1931. 北京大学")
    spans = {"keywords": [(33, 37), (22, 29), (39, 43)]}
    handed = answers_of(KEYWORDS, result(KEYWORDS, {"decision": "edit"}, spans), data)
    assert handed.marks == {"keywords": ("spring", "1931", "北京大学")}
    assert handed.answers == {"decision": "edit", "keywords": "spring 1931 北京大学"}


def test_an_option_for_all_questions_answers_those_without_an_answer() -> None:
    form = FORMS[f"{AUTHORING.name}-review"]
    data, decisions = task_data(form.rubric, form.task), [ask.name for ask in form.rubric.asks]
    accepted = answers_of(form.rubric, result(form.rubric, {FOR_ALL: "accept"}), data)
    assert accepted.answers == dict.fromkeys(decisions, "accept")
    mixed = answers_of(form.rubric, result(form.rubric, {FOR_ALL: "accept", "RECF_decision": "reject"}), data)
    assert mixed.answers == {**accepted.answers, "RECF_decision": "reject"}
    with pytest.raises(Unusable, match="unknown option: for-all: reject"):
        answers_of(form.rubric, result(form.rubric, {FOR_ALL: "reject"}), data)
    with pytest.raises(Unusable, match="unknown answer: for-all"):
        answers_of(AUTHORING, result(AUTHORING, {**WRITTEN, FOR_ALL: "yes"}), task_data(AUTHORING, AUTHORING_TASK))


def test_an_option_for_all_questions_is_one_of_each() -> None:
    with pytest.raises(ValidationError, match="accept is not an option of decision"):
        AUTHORING.model_validate({**dict(AUTHORING), "for_all": "accept"})


@pytest.mark.parametrize("span", [(0, 99), (5, 5), (-1, 3)])
def test_a_stretch_beside_the_text_is_named(span: tuple[int, int]) -> None:
    with pytest.raises(Unusable, match="unknown stretch: keywords"):
        answers_of(
            KEYWORDS, result(KEYWORDS, {"decision": "edit"}, {"keywords": [span]}), data_of(KEYWORDS, answer="In 1931.")
        )


# ---- on a real server, in a real browser ----


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_server_takes_every_form_and_its_task(label_studio: Served) -> None:
    for form in FORMS.values():
        project = make(label_studio, form)
        (row,) = label_studio.client.list_tasks(project)
        assert row["data"] == task_data(form.rubric, form.task)
        there = label_studio.client.project(project)
        assert there.label_config == label_config(form.rubric)
        assert there.instruction == guideline_page(form.rubric, form.guideline), "or each push would put it back"


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_an_author_and_a_reviewer_fill_their_forms_and_their_answers_come_back(
    label_studio: Served, browser: Any
) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    project = make(label_studio, FORMS[AUTHORING.name])
    await open_form(page, label_studio, project)
    assert "Version 1." in await page.inner_text(".guideline")
    await close_guideline(page)
    shown = await page.inner_text(".lsf-editor")
    assert "Which of them sat behind the others, then?" in shown
    assert "00:00" not in shown
    assert await page.input_value("textarea[name=COEX]") == AUTHORING_TASK.drafts["COEX"]
    await page.keyboard.press("1")
    for name in ("KGIR", "KGUG", "RECF"):
        await page.fill(f"textarea[name={name}]", WRITTEN[name] + "\n")
    await page.get_by_test_id("bottombar-submit-button").click()
    assert "Not written yet: 4. IECF" in await page.inner_text(".ant-modal-confirm")
    await page.keyboard.press("Escape")
    await page.fill("textarea[name=IECF]", WRITTEN["IECF"])
    await page.fill(f"textarea[name={QUESTION}]", "Is Pete Best an entity?")
    await submit(page)
    handed = answered(label_studio, project, AUTHORING)
    texts = {name: WRITTEN[name] for name in ("decision", "KGIR", "KGUG", "RECF", "IECF")}
    assert handed.answers == {**texts, "COEX": AUTHORING_TASK.drafts["COEX"]}
    assert handed.untouched == ("COEX",)
    assert handed.question == "Is Pete Best an entity?"

    review = FORMS[f"{AUTHORING.name}-review"]
    project = make(label_studio, review)
    await open_form(page, label_studio, project)
    await close_guideline(page)
    assert await page.locator("textarea[name=KGUG]").is_hidden()
    for key in "1w34t":  # accept, fix, accept, accept, fix
        await page.keyboard.press(key)
    await page.fill("textarea[name=KGUG]", "Ringo Starr was born in 1940.")
    assert await page.input_value("textarea[name=COEX]") == WRITTEN["COEX"]
    await page.fill("textarea[name=review_comment]", "Well done.")
    await submit(page)
    decided = answered(label_studio, project, review.rubric)
    assert decided.answers == {
        "KGIR_decision": "accept", "KGUG_decision": "fix", "RECF_decision": "accept", "IECF_decision": "accept",
        "COEX_decision": "fix", "KGUG": "Ringo Starr was born in 1940.", "COEX": WRITTEN["COEX"],
        "review_comment": "Well done.",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_words_are_marked_with_the_key_and_the_mouse(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    task = FORMS[KEYWORDS.name].task
    answer = "😀 It was opened\n\nin the spring of 1931. 北京大学"
    form = FORMS[KEYWORDS.name]._replace(task=task.model_copy(update={"shown": {**task.shown, "answer": answer}}))
    project = make(label_studio, form)
    await open_form(page, label_studio, project)
    await close_guideline(page)
    for word in ("1931", "spring"):
        await page.keyboard.press("q")
        await draw_over(page, word)
    await page.keyboard.press("2")
    await submit(page)
    handed = answered(label_studio, project, KEYWORDS)
    assert handed.marks == {"keywords": ("spring", "1931")}
    assert handed.answers == {"decision": "edit", "keywords": "spring 1931"}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_hostile_and_long_texts_show_as_text_and_the_form_stays_usable(
    label_studio: Served, browser: Any
) -> None:
    page = await browser.new_page(viewport=PAGE)
    opened: list[str] = []

    async def refuse(dialog: Any) -> None:
        opened.append(dialog.message)
        await dialog.dismiss()

    page.on("dialog", refuse)
    await log_in(page, label_studio)
    project = make(label_studio, FORMS[HOSTILE.name])
    began = time.monotonic()
    await open_form(page, label_studio, project)
    assert time.monotonic() - began < 30
    assert "<script>alert(4)</script>" in await page.inner_text(".guideline")
    await close_guideline(page)
    shown = await page.inner_text(".lsf-editor")
    dialogue = HOSTILE_TASK.shown["dialogue"]
    assert isinstance(dialogue, tuple)
    for text in (*(turn.text for turn in dialogue), *(turn.speaker for turn in dialogue), "<h1>Big</h1> word 词语"):
        assert text in shown
    assert await page.input_value("textarea[name=text]") == HOSTILE_TASK.drafts["text"]
    for option in HOSTILE.asks[0].options:
        assert option in shown.replace("\u2060", "")
    assert opened == []
    assert await page.title() != "owned"
    await page.keyboard.press("3")
    await submit(page)
    handed = answered(label_studio, project, HOSTILE)
    assert handed.answers == {"decision": "$shown_text", "text": HOSTILE_TASK.drafts["text"]}


async def draw_over(page: Any, word: str) -> None:
    """Mark a word of the answer with the mouse."""
    left, top, right = await page.evaluate(
        """word => {
            const answer = document.querySelectorAll('.form-block .lsf-htx-richtext')[1];
            const texts = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
            for (let node; (node = texts.nextNode()); ) {
                const at = node.data.indexOf(word);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + word.length);
                const box = range.getBoundingClientRect();
                return [box.left + 0.5, box.top + box.height / 2, box.right - 0.5];
            }
        }""",
        word,
    )
    await page.mouse.move(left, top)
    await page.mouse.down()
    await page.mouse.move((left + right) / 2, top)
    await page.mouse.move(right, top)
    await page.mouse.up()
    await page.wait_for_timeout(300)


async def submit(page: Any) -> None:
    """Hand in what stands in the form."""
    async with page.expect_response(
        lambda answer: "/annotations" in answer.url and answer.request.method == "POST"
    ) as handed:
        await page.get_by_test_id("bottombar-submit-button").click()
    assert (await handed.value).status == 201


def answered(server: Served, project: int, rubric: Rubric) -> Answers:
    """What was answered to the only task of a project."""
    (row,) = server.client.export(project)
    (annotation,) = row["annotations"]
    return answers_of(rubric, annotation, row["data"])
