"""A rubric as a Label Studio form, and its guideline as the page that annotators read.

The form fits on a laptop's screen: the texts to read are on the left, the questions on the right, and each side scrolls
by itself.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as Xml

from markdown_it import MarkdownIt
from markupsafe import escape

from annotation.label_studio.task_data import NEWS, in_short
from annotation.review import AGREED, NO
from annotation.wording import say
from schemas.base import visible
from schemas.rubric import ENGLISH, Choice, Marked, Rubric, Shown, Task, Written

QUESTION = "question-to-engineer"
"""The box that every form has. No rubric's name has a hyphen."""
FOR_ALL = "for-all"
"""The choice of one option for all questions."""
NEWS_TEXT = "task-news"
"""The text that every form begins with, and that is hidden if a task has no news."""
CHINESE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n *(?=[\u4e00-\u9fff])")
"""The end of a line within a Chinese paragraph, which a page would show as a space."""
EXAMPLES = "Examples on which people differed"
FOR_ALL_KEY = "0"
ALL_PARTS = "All parts at once"
ALL_OR_REST = {"": ALL_PARTS, "kept": "The parts that are left"}
KEYBOARD = ("1234567890", "qwertyiop", "asdfgjkl", "zxcvbnm")
"""The keys that choose, row by row. `u` and `h` are Label Studio's own."""
COLUMNS = 5
"""So many keys of each row, from the left, stand below each other."""
MARK_COLOUR = "#ffd166"
STYLE = Path(__file__).with_name("form.css").read_text(encoding="utf-8")
"""It fits the form on a page and hides what annotators do not need: times of a dialogue that has none, a filter of
speakers, the panels of regions. A task opened from the table has a bar of tabs above its form. If another release names
these elements differently, they are visible, no more."""
# Label Studio shows it in a dialog: in a paragraph that keeps line breaks, with no lines around table cells.
GUIDELINE_STYLE = Path(__file__).with_name("guideline.css").read_text(encoding="utf-8")
# By itself, Label Studio saves choices as they are made, but a text only after Shift+Enter in its box. The project's
# own server saves texts as well (`page/`): its pages show what has the class `kept`, all others what has `unkept`.
SAVING = """
<p class="kept">Your texts are saved as you type. To ask the engineer and go on: write your question, then skip.</p>
<p class="kept keys">With keys alone: if nothing is left to write, the last answer submits by itself after a moment.
Until then <kbd>Esc</kbd> keeps the task open, <kbd>Backspace</kbd> takes the answer back, and another key changes it.
Afterwards, <kbd>Backspace</kbd> goes back to the task. If there is something to write, you are in its box, and
<kbd>Tab</kbd> leads to the next. Typing replaces a suggestion; <kbd>↑</kbd> in the empty box brings it back.</p>
<p class="unkept">Your texts are saved when you submit. If you leave the page or skip the task before, a text is lost
unless you pressed <kbd>Shift</kbd> + <kbd>Enter</kbd> in its box. To ask the engineer and go on: write your question,
press <kbd>Shift</kbd> + <kbd>Enter</kbd>, then skip.</p>
<p class="kept">A skipped task comes back to you later, with what you chose and wrote.</p>
<p class="unkept">A skipped task comes back to you later, as it was at first.</p>
"""
MARKING = "Press {}, then draw over the words. To remove a mark, click it and press Backspace."
WORD_KEYS = (("← →", "choose a word,"), ("Shift + →", "several,"), ("Enter", "marks them"))
SAID_BY_PAGES = {
    "submits": "Submits · Esc keeps the task open, Backspace takes the answer back",
    "returned": "This would come back: {}",
    "warned": "The reviewer will be told: {}",
}
"""What our pages' scripts say over a form. They have it in English; a form in another language brings its own."""
HELP = {
    "kept": ("* required · saved as you type", "· Enter submits, in a box Ctrl+Enter · Backspace: the task before"),
    "unkept": (
        "* required · guideline: Instructions",
        "· Shift+Enter in a box saves a draft · Ctrl+Enter outside submits",
    ),
}
"""What stands over the questions, and what of it is about keys: a phone has none."""


def hotkeys(rubric: Rubric) -> dict[tuple[str, str], str]:
    """Return the key of each option, by (question's name, option), and of each kind of mark, by (name, "").

    If there are more questions than options, and all have the same, each option has a row of the keyboard and each
    question a column: the keys of the third question are 3, e and d. Else each question has a row if there are enough.
    Otherwise they follow each other, and none is split across rows. A key is given once; options without a key are
    chosen with the mouse.
    """
    groups = [(ask.name, ask.options) for ask in rubric.asks] + [(mark.name, ("",)) for mark in rubric.marks]
    keys = {(FOR_ALL, rubric.for_all): FOR_ALL_KEY} if rubric.for_all else {}
    options = groups[0][1] if groups else ()
    if all(others == options for _, others in groups) and len(options) < len(groups) <= COLUMNS:
        return keys | {
            (name, option): row[column]
            for column, (name, _) in enumerate(groups)
            for row, option in zip(KEYBOARD, options, strict=False)
        }
    row_each = len(groups) <= len(KEYBOARD) and all(
        len(options) <= len(row) for (_, options), row in zip(groups, KEYBOARD, strict=False)
    )
    row, place = 0, 0
    for name, options in groups:
        while row < len(KEYBOARD) and place + len(options) > len(KEYBOARD[row]):
            row, place = row + 1, 0
        if row == len(KEYBOARD):
            break
        for option in options:
            keys[name, option] = KEYBOARD[row][place]
            place += 1
        if row_each:
            row, place = row + 1, 0
    return keys


def label_config(rubric: Rubric) -> str:
    """Return the labelling configuration of a rubric, as XML."""
    return Xml.tostring(_Form(rubric).root, encoding="unicode")


def rejecting_question(rubric: Rubric) -> Choice | None:
    """Return the question that rejects a record, after which nothing needs to be written."""
    return next((ask for ask in rubric.asks if ask.rejects and ask.about is None), None)


def deciding_question(rubric: Rubric, name: str) -> Choice | None:
    """Return the question that decides on a text, whose box opens if the answer is to fix it."""
    return next((ask for ask in rubric.asks if ask.about == name and ask.fixes), None)


class _Form:
    """Builds the form of a rubric."""

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        self.keys = hotkeys(rubric)
        self.about = _object(rubric.shows[0].name)
        self.root = Xml.Element("View")
        Xml.SubElement(self.root, "Style").text = STYLE
        columns = _view(self.root, "columns")
        shown, asked = _view(columns, "shown"), _view(columns, "asked")
        Xml.SubElement(_view(shown, "news"), "HyperText", name=NEWS_TEXT, value=f"${NEWS}", inline="true")
        for text in rubric.shows:
            if text.beside is None:
                self._show(shown, text)
        for when, (line, keys) in HELP.items():
            row = _view(_view(asked, when), "row")
            _note(row, self._say(line))
            _note(_view(row, "keys"), self._say(keys))
        if rubric.for_all:
            self._ask_for_all(asked)
        for ask in rubric.asks:
            self._ask(asked, ask)
            for write in rubric.writes:
                if write.name == ask.about:
                    self._write(asked, write)
        rest = [write for write in rubric.writes if deciding_question(rubric, write.name) is None]
        for write in rest:
            if not write.note:
                self._write(asked, write)
        # Notes are side by side, two in a row.
        notes = _view(asked, "aside")
        for write in rest:
            if write.note:
                self._write(notes, write)
        block = _view(notes, "block")
        _title(block, self._say("Question to the engineer"))
        self._box(block, QUESTION, 2, self._say("Is anything unclear, or wrong with this task? May stay empty."))
        self._tell_pages()

    def _say(self, text: str, *values: object) -> str:
        return say(self.rubric.language, text, *values)

    def _tell_pages(self) -> None:
        """Bring what the pages' scripts say, in the form's language, where they alone read it."""
        if self.rubric.language == ENGLISH:
            return
        hidden = _view(self.root, "says")
        hidden.set("style", "display: none")
        for name, text in SAID_BY_PAGES.items():
            Xml.SubElement(_view(hidden, f"says-{name}"), "Header", value=self._say(text, "{}"))

    def _show(self, parent: Xml.Element, text: Shown) -> None:
        # A text that may be long shrinks and scrolls in its own box, so that everything else stays in view.
        is_long = text.kind == "dialogue" or text.around is not None
        block = _view(parent, "long" if is_long else "block")
        _title(block, text.title or text.name)
        for mark in self.rubric.marks:
            if mark.of == text.name:
                self._mark(block, mark)
        _text(block, text)

    def _mark(self, block: Xml.Element, mark: Marked) -> None:
        key = self.keys.get((mark.name, ""))
        _note(block, self._say(MARKING, key or self._say("the button")))
        labels = Xml.SubElement(block, "Labels", name=mark.name, toName=_object(mark.of))
        label = Xml.SubElement(labels, "Label", value=_plain(mark.title), alias=mark.name, background=MARK_COLOUR)
        if key:
            label.set("hotkey", key)

    def _ask_for_all(self, parent: Xml.Element) -> None:
        block = _view(parent, "block form-row")
        _title(block, self._say(ALL_PARTS))
        choices = Xml.SubElement(block, "Choices", name=FOR_ALL, toName=self.about, choice="single", layout="inline")
        self._option(choices, FOR_ALL, self.rubric.for_all, self.rubric.asks[0].label(self.rubric.for_all))

    def _ask(self, parent: Xml.Element, ask: Choice) -> None:
        block = _view(parent, "block")
        _title(block, f"{ask.question} *")
        for text in self.rubric.shows:
            if text.beside == ask.name:
                _text(block, text)
        if ask.ends:
            _note(block, f"{ask.options[0]} = {ask.ends[0]} … {ask.options[-1]} = {ask.ends[1]}")
        choices = Xml.SubElement(
            block, "Choices", name=ask.name, toName=self.about, choice="single-radio", layout="inline", required="true",
            requiredMessage=_plain(self._say("Not answered yet: {}", ask.question)),
        )  # fmt: skip
        if self.rubric.for_all:  # Label Studio neither asks for what is hidden nor submits it
            _visible_when(choices, "choice-unselected", FOR_ALL, (self.rubric.for_all,))
        for option in ask.options:
            choice = self._option(choices, ask.name, option, ask.label(option))
            # A hint tells the page (`keys.js`) too that there is more to do than to choose.
            if option in ask.fixes and any(mark.name == ask.about for mark in self.rubric.marks):
                choice.set("hint", self._say("Then mark the words."))
            elif (ask.name, option) == (AGREED, NO):
                choice.set("hint", self._say("Then say why."))

    def _option(self, choices: Xml.Element, name: str, option: str, label: str) -> Xml.Element:
        choice = Xml.SubElement(choices, "Choice", value=_plain(label), alias=option)
        if key := self.keys.get((name, option)):
            choice.set("hotkey", key)
        return choice

    def _write(self, parent: Xml.Element, write: Written) -> None:
        block = _view(parent, "block")
        needed = write.required
        # Label Studio asks for a required text only while its box is visible.
        if (question := deciding_question(self.rubric, write.name)) is not None:
            needed = True
            _visible_when(block, "choice-selected", question.name, question.fixes)
        elif write.required and (question := rejecting_question(self.rubric)):
            _visible_when(block, "choice-unselected", question.name, question.rejects)
        title = _title(block, write.title + (" *" if needed else ""))
        _note(title, f"$note_{write.name}")
        box = self._box(block, write.name, write.lines, write.hint)
        box.set("value", f"$draft_{write.name}")
        if needed:
            box.set("required", "true")
            box.set("requiredMessage", _plain(self._say("Not written yet: {}", write.title)))

    def _box(self, parent: Xml.Element, name: str, lines: int, hint: str) -> Xml.Element:
        # Without `transcription`, a submit that is stopped because a text is missing turns the full boxes into labels.
        return Xml.SubElement(
            parent, "TextArea", name=name, toName=self.about, rows=str(max(2, lines)), maxSubmissions="1",
            editable="true", transcription="true", showSubmitButton="false", placeholder=_plain(hint),
        )  # fmt: skip


def _view(parent: Xml.Element, name: str) -> Xml.Element:
    return Xml.SubElement(parent, "View", className=f"form-{name}")


def _text(parent: Xml.Element, text: Shown) -> None:
    attributes = {"name": _object(text.name), "value": f"$shown_{text.name}"}
    if text.kind == "dialogue":
        attributes |= {"layout": "dialogue", "nameKey": "speaker", "textKey": "text"}
    Xml.SubElement(_view(parent, "box"), "Paragraphs" if text.kind == "dialogue" else "Text", attributes)


def _visible_when(element: Xml.Element, when: str, choices: str, options: Sequence[str]) -> None:
    """Show the element only while one of the options is chosen, or none of them."""
    element.set("visibleWhen", when)
    element.set("whenTagName", choices)
    element.set("whenChoiceValue", ",".join(options))


def _title(parent: Xml.Element, text: str) -> Xml.Element:
    title = _view(parent, "title")
    Xml.SubElement(title, "Header", value=_plain(text), size="5")
    return title


def _note(parent: Xml.Element, text: str) -> None:
    Xml.SubElement(_view(parent, "note"), "Header", value=text if text.startswith("$note_") else _plain(text), size="5")


def _object(shown: str) -> str:
    """Return a shown text's name in the form. It differs from that of any answer, which has no hyphen."""
    return f"shown-{shown}"


def _plain(text: str) -> str:
    """Return text that Label Studio shows as it is: it takes a word after a dollar sign for a name in the data, and XML
    has no controls.
    """
    return re.sub(r"\$(?=[\w\[{.])", "$\u2060", "\n".join(map(visible, text.split("\n"))))


def hidden_boxes(rubric: Rubric, answers: Mapping[str, str]) -> frozenset[str]:
    """Return the boxes that are hidden with these answers; texts in them do not count."""
    question = rejecting_question(rubric)
    rejected = question is not None and answers.get(question.name) in question.rejects
    hidden = set()
    for write in rubric.writes:
        if (decider := deciding_question(rubric, write.name)) is not None:
            if answers.get(decider.name) not in decider.fixes:
                hidden.add(write.name)
        elif write.required and rejected:
            hidden.add(write.name)
    return frozenset(hidden)


# ---- the guideline ----


def as_html(markdown: str) -> str:
    """Return Markdown as HTML. HTML in it is shown as text."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def guideline_page(rubric: Rubric, guideline: str, examples: Iterable[Task] = ()) -> str:
    """Return the guideline (Markdown) as HTML, with the rubric's keys and version. HTML in it is shown as text.

    `examples` are tasks with their answers, in the order in which they are shown.
    """
    body = as_html(CHINESE_BREAK.sub("", guideline))
    version = say(rubric.language, "Version {}.", rubric.version)
    rest = f"{_decided(rubric, examples)}{_keys(rubric)}<p>{version}</p>"
    return f'<style>\n{GUIDELINE_STYLE}</style><div class="guideline">{body}{rest}</div>'


def _decided(rubric: Rubric, examples: Iterable[Task]) -> str:
    """Return the examples as tables: what was shown, what was answered, and why."""
    tables = []
    for task in examples:
        asked = {ask.name: ask for ask in rubric.asks}
        rows = [
            (text.title or text.name, in_short(task.shown[text.name]))
            for text in rubric.shows
            if text.name in task.shown
        ]
        answers = [(asked[name], answer) for name, answer in task.right_answers.items() if name in asked]
        rows += [(ask.question, ask.label(answer)) for ask, answer in answers]
        rows += [(write.title, task.drafts[write.name]) for write in rubric.writes if write.name in task.drafts]
        rows += [(say(rubric.language, "Why"), task.why)] if task.why else []
        cells = "".join(f"<tr><td>{escape(what)}</td><td>{escape(text)}</td></tr>" for what, text in rows)
        tables.append(f"<table><tbody>{cells}</tbody></table>")
    return f"<h2>{say(rubric.language, EXAMPLES)}</h2>{''.join(tables)}" if tables else ""


def _keys(rubric: Rubric) -> str:
    """Return the keys of the form as a table, in the form's order."""
    keys, in_words = hotkeys(rubric), partial(say, rubric.language)
    for_all = [(FOR_ALL_KEY, ask.label(rubric.for_all)) for ask in rubric.asks[:1]]
    rows = [(when, in_words(what), for_all) for when, what in ALL_OR_REST.items() if rubric.for_all]
    rows += [
        (
            "",
            ask.question,
            [(keys[ask.name, option], ask.label(option)) for option in ask.options if (ask.name, option) in keys],
        )
        for ask in rubric.asks
    ]
    rows += [
        row
        for mark in rubric.marks
        if (mark.name, "") in keys
        for row in (
            ("", mark.title, [(keys[mark.name, ""], in_words("then draw over the words"))]),
            ("kept", mark.title, [(key, in_words(does)) for key, does in ((keys[mark.name, ""], "then"), *WORD_KEYS)]),
        )
    ]
    rows += [
        ("kept", in_words("Submit"), [("Enter", in_words("outside a box")), ("Ctrl + Enter", "")]),
        ("kept", in_words("Go back to the task before"), [("Backspace", in_words("outside a box"))]),
        ("unkept", in_words("Submit"), [("Ctrl + Enter", in_words("outside a box"))]),
        ("", in_words("Skip the task"), [("Ctrl + Space", in_words("outside a box"))]),
        ("unkept", in_words("Save a box as a draft"), [("Shift + Enter", in_words("in it"))]),
    ]
    cells = "".join(
        (f'<tr class="{when}">' if when else "<tr>")
        + f"<td>{escape(what)}</td><td>"
        + "".join(f'<span class="key"><kbd>{escape(key)}</kbd> {escape(does)}</span>' for key, does in how)
        + "</td></tr>"
        for when, what, how in rows
        if how
    )
    # Label Studio adds a table body if there is none, and the next push would see a changed guideline.
    table = f'<h2 class="keys">{in_words("Keys")}</h2><table class="keys"><tbody>{cells}</tbody></table>'
    return f"{table}{in_words(SAVING)}"
