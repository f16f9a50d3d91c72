"""Forms, guidelines and examples in Chinese: all of it is there, none is left in English, what is stored stays."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import get_args
from xml.etree import ElementTree as Xml

import pytest

from annotation.adjudicate import adjudication_of
from annotation.chinese import CHINESE, YOUR_WORK
from annotation.earlier import asked_again
from annotation.label_studio import config
from annotation.label_studio.answers import answers_of
from annotation.label_studio.config import (
    ALL_OR_REST,
    SAID_BY_PAGES,
    WORD_KEYS,
    guideline_page,
    hotkeys,
    label_config,
)
from annotation.label_studio.sync import Queue, card_text
from annotation.label_studio.task_data import RETURNED, task_data
from annotation.practice import feedback, practice_for, practice_rubric
from annotation.review import COMMENT, corrected_of, decision_name, judging_of, review_of, revision_of
from annotation.settle import FollowUp, settle
from annotation.survey import survey_of
from annotation.wording import in_all_languages, say, told
from flows.annotate.guidelines import HERE, examples_of, guideline_of
from flows.families.lveval import answer_keywords, conflicts, confusing_facts, replacement_checks
from flows.families.lveval.inputs import ToConfuse
from flows.language import keywords
from schemas.annotation import Annotation
from schemas.lveval import Changed
from schemas.rubric import Change, Choice, Compared, Rubric, Shown, Survey, Task, Written, guideline_in
from tests.forms import result
from tests.rubrics import declared_rubrics

ENGLISH_LEFT = re.compile(r"[A-Za-z]{2,}(?:[ ,;:]+[A-Za-z]{2,}){2}")
"""Three words in a row."""
ON_THE_PAGE = re.compile(r"Label All Tasks|Ctrl ?\+ ?(?:Enter|Space)|Shift ?\+ ?Enter|Instructions|Backspace")
"""Names of Label Studio's buttons and of keys, which are English on every page."""
IN_CHINESE = {
    rubric.name: (rubric, folder) for rubric, folder in declared_rubrics() if "zh" in rubric.languages
}  # fmt: skip
PAGES = Path(config.__file__).parent / "page"
QUESTIONS = Survey(
    asks=(Choice(name="clear", question="指南清楚吗？", options=("清楚", "不清楚")),),
    writes=(Written(name="change", title="应该改什么？"),),
)


def forms(rubric: Rubric) -> Iterator[Rubric]:
    """All forms that are made of a rubric."""
    yield from (rubric, practice_rubric(rubric), revision_of(rubric), corrected_of(rubric), adjudication_of(rubric))
    yield survey_of(rubric, QUESTIONS)
    if rubric.parts:
        yield from (review_of(rubric), judging_of(rubric))


def is_chinese(text: str) -> bool:
    """Whether nothing of it is left in English."""
    return ENGLISH_LEFT.search(ON_THE_PAGE.sub("", text)) is None


def read_in(form: Rubric) -> list[str]:
    """All that people read in a form."""
    root = Xml.fromstring(label_config(form))
    names = ("value", "placeholder", "requiredMessage")
    texts = [element.get(name, "") for element in root.iter() for name in names]
    return [text for text in texts if text and not text.startswith("$")]


def test_the_rubrics_whose_items_may_be_chinese_are_in_chinese() -> None:
    assert set(IN_CHINESE) == {
        "lveval-confusing-facts", "lveval-replacements", "lveval-conflicts", "lveval-keywords", "lveval-blacklist",
        "answerable-without-context", "reeval-support",
    }  # fmt: skip


@pytest.mark.parametrize("name", IN_CHINESE)
def test_no_form_and_no_guideline_is_left_in_english(name: str) -> None:
    rubric, folder = IN_CHINESE[name]
    chinese = rubric.in_language("zh")
    for form in forms(chinese):
        assert form.language == "zh"
        for text in read_in(form):
            assert is_chinese(text), text
            assert re.search(r"[\u4e00-\u9fff]|^\W+$", text), text
        at = HERE if form.guideline.startswith(("guideline.adjudication", "guideline.survey")) else folder
        html = guideline_page(form, guideline_of(form, at))
        assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]\n *[\u4e00-\u9fff]", html), "a page shows a space there"
        page = re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.S)
        assert is_chinese(page), ENGLISH_LEFT.findall(page)
    card = card_text(Queue("b/x@1.zh/a1", "x", "", "", [], about=chinese.title, language="zh")).splitlines()[:-1]
    assert is_chinese(" ".join(card))


@pytest.mark.parametrize("name", IN_CHINESE)
def test_what_is_stored_is_the_same_in_both_languages(name: str) -> None:
    rubric, folder = IN_CHINESE[name]
    for english, chinese in zip(forms(rubric), forms(rubric.in_language("zh")), strict=True):
        assert english.name == chinese.name
        assert hotkeys(english) == hotkeys(chinese)
        stored = ("name", "toName", "alias", "whenTagName", "whenChoiceValue", "visibleWhen", "hotkey", "required")
        elements = [
            [
                [element.get(name) for name in stored]
                for element in Xml.fromstring(label_config(form)).iter()
                if any(element.get(name) for name in stored)
            ]
            for form in (english, chinese)
        ]
        assert elements[0] == elements[1]
    pairs = zip(examples_of(rubric, folder), examples_of(rubric.in_language("zh"), folder), strict=True)
    for english_task, chinese_task in pairs:
        assert english_task.key == chinese_task.key, "who has practised in one language has practised"
        assert english_task.right_answers == chinese_task.right_answers
        assert set(english_task.drafts) == set(chinese_task.drafts)
        assert chinese_task.language == "zh"


@pytest.mark.parametrize("name", IN_CHINESE)
def test_a_guideline_teaches_in_chinese_what_it_teaches_in_english(name: str) -> None:
    rubric, folder = IN_CHINESE[name]
    chinese = rubric.in_language("zh")
    text, english = guideline_of(chinese, folder), guideline_of(rubric, folder)
    assert "**这是做什么的。**" in text
    assert "## 极端情况" in text
    assert "## 拿不准的时候" in text
    assert text.count("\n## ") == english.count("\n## ")
    assert text.count("\n| ") == english.count("\n| ")
    for ask in chinese.asks:
        for option in ask.options:
            assert ask.label(option) in text
            assert not re.search(rf"\*\*{option}\*\*|\| {option} \|", text)
    assert not re.search(r"[\u4e00-\u9fff][,;:?!]", re.sub(r"`[^`]*`", "", text)), "punctuation is of full width"


def test_the_guidelines_of_derived_forms_teach_the_same_in_chinese() -> None:
    for form in ("adjudication", "review", "survey"):
        english, chinese = (
            (HERE / guideline_in(language, f"guideline.{form}.md")).read_text(encoding="utf-8")
            for language in ("en", "zh")
        )
        assert chinese.count("\n## ") == english.count("\n## ")
        assert chinese.count("\n| ") == english.count("\n| ")
        assert chinese.count("\n- ") == english.count("\n- ")


@pytest.mark.parametrize("name", IN_CHINESE)
def test_the_worked_examples_can_be_answered_in_the_chinese_form(name: str) -> None:
    rubric, folder = IN_CHINESE[name]
    chinese = rubric.in_language("zh")
    for task in examples_of(chinese, folder):
        data = task_data(chinese, task)
        assert is_chinese(" ".join(map(str, (task.why, *(data[f"shown_{text.name}"] for text in chinese.shows)))))
        texts = {one.name: f"{task.drafts.get(one.name)}" for one in chinese.writes}
        answered = result(chinese, {**task.right_answers, **texts}, {one.name: [(0, 3)] for one in chinese.marks})
        assert answers_of(rubric, answered, data) == answers_of(chinese, answered, data)
        assert chinese.in_language("zh") == chinese


def test_a_chinese_form_brings_what_the_pages_say_and_an_english_one_leaves_it_to_them() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.js"))
    rubric, _ = IN_CHINESE["lveval-confusing-facts"]
    brought = {
        view.get("className", "").removeprefix("form-says-"): header.get("value", "")
        for view in Xml.fromstring(label_config(rubric.in_language("zh"))).iter("View")
        for header in view.findall("Header") if view.get("className", "").startswith("form-says-")
    }  # fmt: skip
    assert brought == {name: CHINESE[text] for name, text in SAID_BY_PAGES.items()}
    for name, text in SAID_BY_PAGES.items():
        assert f'"{text}"' in scripts
        assert name in scripts
    assert "form-says" not in label_config(rubric)


def test_what_people_are_told_of_their_work_is_in_chinese() -> None:
    rubric, folder = IN_CHINESE["lveval-confusing-facts"]
    chinese = rubric.in_language("zh")
    task = examples_of(chinese, folder)[0]
    work = Annotation(task=task.id, key=task.key, rubric=task.rubric, version=2, by="a1", source="s",
                      answers={"decision": "reject"})  # fmt: skip
    (practised,) = practice_for("a1", [task], [work.model_copy(update={"rubric": f"{rubric.name}-practice"})], chinese)
    told_after = str(practised.shown["feedback"])
    assert "您的回答是“拒绝”，正确答案是“保留”。" in told_after
    assert told_after.endswith(f"理由：{task.why}")
    assert "正确" in feedback(task, work.model_copy(update={"answers": {"decision": "keep"}}), chinese)
    assert "没有回答" in feedback(task, work.model_copy(update={"answers": {}}), chinese)
    change = Change(title="问题", before="旧的", after="新的")
    again = asked_again(task, chinese, work, {"fact": "我的。"}, [change], own=True)
    compared = [Compared(title=ask.question, answers=("保留", "拒绝")) for ask in chinese.asks]
    data = task_data(chinese, again.model_copy(update={"compared": tuple(compared)}))
    assert "您之前的回答：它与原事实相似" in data["news"]
    assert "<b>问题：</b>" in data["news"]
    assert "<th>甲</th><th>乙</th>" in data["news"]
    assert data["note_fact"] in in_all_languages(RETURNED)
    assert is_chinese(
        " ".join(str(text) for name, text in data.items() if name.startswith(("news", "note_", "shown_")))
    )
    (back,) = settled_in_chinese(rubric, task, work)
    said = "它与原事实相似，既不回答问题，也不与原事实矛盾吗？您选择了修改，但文字没有任何改动"
    assert back.task.shown["review_comment"] == said


def test_only_our_own_colon_goes_after_a_question_and_peoples_words_stay() -> None:
    assert say("zh", "{}: {}", "它对吗？", "甲问“对吗？：”") == "它对吗？甲问“对吗？：”"
    assert say("zh", "{}: is it as it should be?", "甲问：对吗？：不对") == "甲问：对吗？：不对：符合要求吗？"
    assert say("zh", "Comment: {}", "为什么？：因为") == "意见：为什么？：因为"


def test_chinese_words_of_a_list_have_a_chinese_comma_between_them() -> None:
    rubric, folder = IN_CHINESE["lveval-keywords"]
    chinese = rubric.in_language("zh")
    task, (mark, *_) = examples_of(chinese, folder)[0], chinese.marks
    work = Annotation(task=task.id, key=task.key, rubric=task.rubric, version=task.version, by="a1", source="s",
                      answers={}, marks={mark.name: ("何立山", "陆平")})  # fmt: skip
    assert asked_again(task, chinese, work, {}, (), own=True).news.endswith("何立山、陆平")
    assert asked_again(task, rubric, work, {}, (), own=True).news.endswith("何立山, 陆平")


def test_what_a_reviewer_rejected_is_told_in_chinese() -> None:
    rubric, folder = IN_CHINESE["lveval-keywords"]
    task = examples_of(rubric.in_language("zh"), folder)[0]
    two = Rubric(name="toy", version=1, guideline="guideline.md", shows=(Shown(name="question"),),
                 writes=(Written(name="a", title="First"), Written(name="b", title="Second")),
                 texts={"zh": {"First": "其一", "Second": "其二"}})  # fmt: skip
    review, task = review_of(two), task.model_copy(update={"rubric": "toy", "version": 1, "right_answers": {}})
    work = Annotation(task=task.id, key=task.key, rubric="toy", version=1, by="a1", source="s",
                      answers={"a": "我", "b": "你"})  # fmt: skip
    (asked,) = settle([task], [work], two, review=review).reviews
    rejects = {decision_name("a"): "reject", decision_name("b"): "reject", COMMENT: "重写"}
    judged = Annotation(task=asked.task.id, key=asked.task.key, rubric=review.name, version=review.version, by="a2",
                        source="r", answers=rejects, at="2026-01-02T00:00:00Z")  # fmt: skip
    (back,) = settle([task], [work, judged], two, review=review).revisions
    assert back.task.shown[COMMENT] == "被拒绝：其一、其二\n重写"


def settled_in_chinese(rubric: Rubric, task: Task, work: Annotation) -> tuple[FollowUp, ...]:
    """What goes back to the author, who says "edit" and changes nothing."""
    emptied = work.model_copy(update={"answers": {"decision": "edit"}, "at": "2026-01-01T00:00:00Z"})
    return settle([task.model_copy(update={"right_answers": {}})], [emptied], rubric).revisions


def test_what_checks_find_in_chinese_items_is_told_in_chinese() -> None:
    rubric, _ = IN_CHINESE["lveval-conflicts"]
    chinese, found = rubric.in_language("zh"), set(problems_returned(confusing_facts, answer_keywords))
    found.add("resembles nothing: of the question and the sentence it has 1 meaningful characters, 3 are wanted")
    found |= {f"fact: {changes} fact {problem}" for problem in found for changes in ("subject", "object")}
    found |= {f"望川: {excerpt}" for excerpt in conflicts_found(conflicts, replacement_checks)}
    found |= {
        str(keywords.Problem(name, ("望川", "云浦"), ("东渡", "云浦"))) for name in get_args(keywords.ProblemName)
    }
    assert len(found) > 60
    for text in found:
        assert is_chinese(told(chinese, text)), told(chinese, text)
        assert told(rubric, text) == text
    assert told(chinese, "没有这个: 也没有那个") == "没有这个: 也没有那个"


def test_what_checks_put_into_a_chinese_sentence_has_chinese_commas_and_quotation_marks() -> None:
    rubric, _ = IN_CHINESE["lveval-confusing-facts"]
    chinese, question = rubric.in_language("zh"), "李白和杜甫出生在哪一年？"

    def said(changes: Changed, fact: str, *answers: str) -> str:
        asked = ToConfuse(question=question, answers=answers, fact="李白出生在701年。", title="", language="zh")
        problem = confusing_facts.fact_problem(asked, changes, fact)
        assert problem is not None
        assert is_chinese(told(chinese, ": ".join(problem)))
        return told(chinese, ": ".join(problem)).rpartition("：")[2]

    assert said("subject", "李白和杜甫出生在唐朝的哪一年没有人知道。") == "请写 李白、杜甫 以外的主体"
    assert said("object", "这位诗人出生在碎叶，那一年没有人知道。") == "李白、杜甫"
    assert said("object", "李白出生在701年，杜甫晚一些。", "701年") == "其中不能出现 “701年”"
    # A quotation of what somebody wrote stays, and so does a sentence of the record.
    assert told(chinese, "'望川, 云浦' is no rule; write `keyword -> substitute`").startswith("“望川, 云浦” 不是规则")
    assert told(chinese, "'望川' in: 他说, 她来了。") == "“望川” 出现在：他说, 她来了。"


def seen(*modules: ModuleType) -> Iterator[tuple[ModuleType, ast.AST]]:
    """The parts of the functions that look at what people are shown or write."""
    for module in modules:
        for function in ast.parse(inspect.getsource(module)).body:
            if isinstance(function, ast.FunctionDef) and function.name not in FOR_MODELS:
                yield from ((module, node) for node in ast.walk(function))


FOR_MODELS = ("_unfit", "applicable_rules", "rules_problem", "facts_problem", "refusals")
"""What these find is told to the model that writes rules and facts."""


def problems_returned(*modules: ModuleType) -> Iterator[str]:
    """What the checks of a module return: the reason and what is wrong."""
    for module, node in seen(*modules):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            reason, detail = node.value.elts
            if isinstance(reason, ast.Constant):
                yield f"{as_text(reason, module)}: {as_text(detail, module)}"


def conflicts_found(*modules: ModuleType) -> Iterator[str]:
    """The kinds of conflicts, each with what shows it."""
    for module, node in seen(*modules):
        if isinstance(node, ast.Call) and called(node) == "Conflict":
            given = {str(one.arg): as_text(one.value, module) for one in node.keywords}
            yield f"{given['kind']}: {given['excerpt']}"


def as_text(node: ast.expr, module: ModuleType) -> str:
    """A text of a program, with an example for what is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(as_text(part, module) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "characters" if ast.unparse(node) == "f'{unit}'" else "望川"
    if isinstance(node, ast.Name):
        return str(getattr(module, node.id, "望川"))
    return str(node.value) if isinstance(node, ast.Constant) else "望川"


SAYING = {"say": 1, "in_words": 0, "_say": 0, "same_form": 2, "labels_in": 1, "in_all_languages": 0}
"""The functions that say a text of ours, and where it is among what they are given."""


def test_every_text_of_ours_is_there_in_chinese() -> None:
    said = texts_said() | {*ALL_OR_REST.values(), "then", *(does for _, does in WORD_KEYS)}
    assert len(said) > 60
    assert not said - set(CHINESE)
    findings = {"is empty", "you said that you fixed it, but no text was changed"}
    assert set(CHINESE) - said == findings, "what checks say is looked up as it comes"
    for english, chinese in CHINESE.items():
        assert english.count("{}") == chinese.count("{}")
        assert is_chinese(re.sub(r"<[^>]+>", "", chinese)), chinese


def texts_said() -> set[str]:
    """Every text that our code says: as it is, by the name of a constant, or one after the other in a loop."""
    package = HERE.parent.parent / "annotation"
    nodes = [node for path in package.rglob("*.py") if path.parent != PAGES for node in nodes_of(path)]
    named: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for name, text in zip(target.elts, value.elts, strict=False) if several else [(target, value)]:  # type: ignore[attr-defined]
                if getattr(name, "id", "").isupper():
                    named.setdefault(name.id, set()).update(texts_in(text, {}))
    found = (set(named["HELP"]) - {"kept", "unkept"}) | set(SAID_BY_PAGES.values())
    for node in nodes:
        if isinstance(node, ast.Call) and (place := SAYING.get(called(node))) is not None:
            last = None if called(node) == "labels_in" else place + 1
            for argument in node.args[place:last]:
                found |= texts_in(argument, named)
        if (
            isinstance(node, ast.ListComp | ast.GeneratorExp)
            and isinstance(node.elt, ast.Call)
            and called(node.elt) in SAYING
        ):
            found |= texts_in(node.generators[0].iter, named)
    return found - {"–"}  # the answer of a person who gave none


def test_every_text_of_the_page_of_people_s_work_is_there_in_chinese() -> None:
    nodes = nodes_of(PAGES / "your_work.py")
    said = {
        text
        for node in nodes
        if isinstance(node, ast.Call) and called(node) == "say"
        for text in texts_in(node.args[1], {})
    }
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("FORMS", "IN_TEMPLATE", "NO_LONGER")
    }
    said |= {text for _, text in constants["FORMS"] if text}
    said |= {*constants["IN_TEMPLATE"].values(), *constants["NO_LONGER"].values()}
    (told,) = (
        node for node in nodes_of(PAGES / "join.py") if isinstance(node, ast.FunctionDef) and node.name == "told"
    )
    of_strangers = {text for part in told.body[1:] for text in texts_in(part, {}) if re.search(r"\w \w", text)}
    said |= of_strangers
    assert said == set(YOUR_WORK)
    for english, chinese in YOUR_WORK.items():
        assert english.count("{") == chinese.count("{")
        assert is_chinese(chinese), chinese


def nodes_of(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def texts_in(node: ast.AST, named: Mapping[str, set[str]]) -> set[str]:
    """The texts in a part of a program, and those of the constants that it names."""
    parts = list(ast.walk(node))
    texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return texts.union(*(named.get(part.id, set()) for part in parts if isinstance(part, ast.Name)))
