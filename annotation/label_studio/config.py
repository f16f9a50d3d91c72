"""A rubric as a Label Studio form, a task as its data, and what people handed in as answers.

The form keeps everything in view on a laptop's page: what is read stands on the left, what is answered on the right,
and each side scrolls by itself.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any
from xml.etree import ElementTree as Xml

from pydantic import Field

from schemas.base import Frozen
from schemas.rubric import Choice, Marked, Rubric, Shown, Task, Turn, Written

MOST_CHARACTERS = 60_000
"""The longest text that a page stays quick with, about 10,000 words: one of 20,000 takes 7 s to open."""
EDGE_CHARACTERS = 10_000
"""How much of a text that is cut stands at its start and at its end."""
PLACES = 4
"""Around how many places of what it is cut around a text that is cut has a stretch."""
LONGEST_TEXT = 200_000
"""Characters that a person may write into a box; the longest knowledge has some 60,000."""
EVIDENCE = 300
QUESTION = "question-to-engineer"
"""The box that every form has; no rubric's name has a hyphen."""
KEYBOARD = ("1234567890", "qwertyiop", "asdfgjkl", "zxcvbnm")
"""The keys that choose, row by row. `u` and `h` are Label Studio's own."""
SUGGESTED = "suggested: check it, or write your own"
LISTED = "Task"
"""What a task is called in its queue's table, where the name of the field is the heading."""
LISTED_CHARACTERS = 240
"""Of a longer text its start stands there, in two lines."""
MARK_COLOUR = "#ffd166"
STYLE = """
.lsf-sidepanels__wrapper { display: none !important; }
.lsf-sidepanels { padding: 0 !important; }
.lsf-sidepanels__content { width: 100% !important; max-width: 100% !important; }
.form-columns { display: flex; gap: 24px; height: calc(100vh - 122px); min-height: 420px; }
.lsf-label-view__lsf-wrapper_mode_explorer .form-columns { height: calc(100vh - 164px); }
.form-shown, .form-asked { flex: 1 1 50%; min-width: 0; overflow-y: auto; padding: 0 8px 4px 0; }
.form-shown { display: flex; flex-direction: column; }
.form-block { flex: 0 0 auto; margin-bottom: 6px; }
.form-long { flex: 0 1 auto; min-height: 110px; margin-bottom: 8px; display: flex; flex-direction: column; }
.form-block .form-box { max-height: 32vh; }
.form-aside { display: flex; flex-wrap: wrap; column-gap: 16px; }
.form-aside .form-block { flex: 1 1 40%; min-width: 0; }
.form-title { display: flex; flex-wrap: wrap; align-items: baseline; column-gap: 10px; margin-bottom: 2px; }
.form-title *, .form-note * { margin: 0 !important; font-size: 15px !important; line-height: 20px !important; }
.form-note *, .form-title .form-note * { font-size: 13px !important; font-weight: 400 !important; opacity: 0.75; }
.form-box { overflow-y: auto; border: 1px solid #d4d4d4; border-radius: 6px; padding: 4px 8px; }
.form-box .lsf-richtext__container { padding: 0 !important; }
.form-box .lsf-richtext { padding: 0 !important; margin: 0 !important; }
.form-shown .lsf-labels { margin: 2px 0 4px 0 !important; }
.form-asked .ant-form-item { margin-bottom: 0 !important; }
.form-asked .lsf-text-area { margin-top: 0 !important; }
.form-asked textarea { padding: 3px 8px !important; line-height: 20px !important; }
.form-asked .lsf-choices { margin: 2px 0 0 0 !important; }
.form-asked .lsf-textarea__actions { opacity: 1 !important; visibility: visible !important; }
.form-box .lsf-paragraphs, .form-box .lsf-paragraphs * { margin-top: 0 !important; }
.lsf-paragraphs [class*=time--] { display: none !important; }
.lsf-paragraphs [class*=wrapper_header--] { display: none !important; }
.lsf-paragraphs [class*=selectAllBtnWrapper--] { display: none !important; }
.lsf-paragraphs [class*=phrase--] { margin: 0 0 4px 0 !important; padding: 3px 10px !important; }
"""
"""What Label Studio shows of its own, and an annotator has no use for, is hidden: times of a dialogue that has none, a
filter of speakers, the panels of regions. A task that is opened out of the table has a bar of tabs above its form.
Where another release names them otherwise they are to be seen, no more."""


class Answers(Frozen):
    """What one person answered on one form."""

    answers: Mapping[str, str] = Field(description="By name of what the rubric asks, the option; of what is written")
    marks: Mapping[str, tuple[str, ...]] = Field(description="By name of what is marked, the stretches in their order")
    untouched: tuple[str, ...] = Field((), description="Suggestions that were handed back as they stood")
    question: str = Field("", description="What the person asks the engineer")


class Unusable(ValueError):  # noqa: N818 - a finding about what somebody handed in
    """Raised where an annotation is no answer to its form: `reason` is out of a small set, `evidence` shows it."""

    def __init__(self, reason: str, evidence: str) -> None:
        super().__init__(f"{reason}: {evidence}")
        self.reason = reason
        self.evidence = evidence


def hotkeys(rubric: Rubric) -> dict[tuple[str, str], str]:
    """The key of each option, by (name of the question, option), and of each kind of mark, by (name, "").

    Every question has a row of the keyboard, where there are rows enough; else they follow each other, none broken
    across rows. A key is given once; what has none left is chosen with the mouse.
    """
    groups = [(one.name, one.options) for one in rubric.asks] + [(one.name, ("",)) for one in rubric.marks]
    keys: dict[tuple[str, str], str] = {}
    apart = len(groups) <= len(KEYBOARD) and all(
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
        if apart:
            row, place = row + 1, 0
    return keys


def label_config(rubric: Rubric) -> str:
    """The labelling configuration of a rubric, as XML."""
    keys = hotkeys(rubric)
    form = Xml.Element("View")
    Xml.SubElement(form, "Style").text = STYLE
    columns = Xml.SubElement(form, "View", className="form-columns")
    shown = Xml.SubElement(columns, "View", className="form-shown")
    asked = Xml.SubElement(columns, "View", className="form-asked")
    for one in rubric.shows:
        if one.beside is None:
            _show(shown, one, [mark for mark in rubric.marks if mark.of == one.name], keys)
    about = _object(rubric.shows[0].name)
    _note(
        asked,
        "* needs an answer · Shift+Enter in a box saves a draft · Ctrl+Enter outside submits · guideline: Instructions",
    )
    for ask in rubric.asks:
        _ask(asked, ask, [one for one in rubric.shows if one.beside == ask.name], about, keys)
        for write in rubric.writes:
            if write.name == ask.about:
                _write(asked, write, about, rubric)
    # What is said beside the work stands side by side, two in a row.
    aside = Xml.Element("View", className="form-aside")
    for write in rubric.writes:
        if _decided_by(rubric, write.name) is None:
            _write(aside if write.note else asked, write, about, rubric)
    asked.append(aside)
    block = Xml.SubElement(aside, "View", className="form-block")
    _title(block, "Question to the engineer")
    _box(block, QUESTION, about, 2, "Anything unclear, or wrong with this task? It can stay empty.")
    return Xml.tostring(form, encoding="unicode")


def _show(parent: Xml.Element, one: Shown, marks: Sequence[Marked], keys: Mapping[tuple[str, str], str]) -> None:
    # What may be long gives way, and scrolls in its own box, so that all else stays in view.
    is_long = one.kind == "dialogue" or one.around is not None
    block = Xml.SubElement(parent, "View", className="form-long" if is_long else "form-block")
    _title(block, one.title or one.name)
    for mark in marks:
        key = keys.get((mark.name, ""))
        _note(block, f"Press {key or 'the button'}, then draw over the words. A click and Backspace takes a mark away.")
        labels = Xml.SubElement(block, "Labels", name=mark.name, toName=_object(one.name))
        label = Xml.SubElement(labels, "Label", value=_plain(mark.title), alias=mark.name, background=MARK_COLOUR)
        if key:
            label.set("hotkey", key)
    _shown(block, one)


def _shown(parent: Xml.Element, one: Shown) -> None:
    box = Xml.SubElement(parent, "View", className="form-box")
    if one.kind == "dialogue":
        Xml.SubElement(
            box, "Paragraphs", name=_object(one.name), value=f"$shown_{one.name}", layout="dialogue",
            nameKey="speaker", textKey="text",
        )  # fmt: skip
    else:
        Xml.SubElement(box, "Text", name=_object(one.name), value=f"$shown_{one.name}")


def _ask(
    parent: Xml.Element, ask: Choice, beside: Sequence[Shown], about: str, keys: Mapping[tuple[str, str], str]
) -> None:
    block = Xml.SubElement(parent, "View", className="form-block")
    _title(block, f"{ask.question} *")
    for one in beside:
        _shown(block, one)
    if ask.ends:
        first, last = ask.ends
        _note(block, f"{ask.options[0]} = {first} … {ask.options[-1]} = {last}")
    choices = Xml.SubElement(
        block, "Choices", name=ask.name, toName=about, choice="single-radio", layout="inline", required="true",
        requiredMessage=_plain(f"Not answered yet: {ask.question}"),
    )  # fmt: skip
    for option in ask.options:
        choice = Xml.SubElement(choices, "Choice", value=_plain(option), alias=option)
        if key := keys.get((ask.name, option)):
            choice.set("hotkey", key)


def _write(parent: Xml.Element, write: Written, about: str, rubric: Rubric) -> None:
    block = Xml.SubElement(parent, "View", className="form-block")
    needed = write.required
    # Label Studio asks for a required text only while it is to be seen.
    if (asking := _decided_by(rubric, write.name)) is not None:
        needed = True
        _seen(block, "choice-selected", asking, asking.fixes)
    elif write.required and (asking := _rejecting(rubric)):
        _seen(block, "choice-unselected", asking, asking.rejects)
    title = _title(block, write.title + (" *" if needed else ""))
    _note(title, f"$note_{write.name}")
    box = _box(block, write.name, about, write.lines, write.hint)
    box.set("value", f"$draft_{write.name}")
    if needed:
        box.set("required", "true")
        box.set("requiredMessage", _plain(f"Not written yet: {write.title}"))


def _seen(block: Xml.Element, when: str, ask: Choice, options: Sequence[str]) -> None:
    """Show the block only while one of the options is chosen, or none of them."""
    block.set("visibleWhen", when)
    block.set("whenTagName", ask.name)
    block.set("whenChoiceValue", ",".join(options))


def _box(parent: Xml.Element, name: str, about: str, lines: int, hint: str) -> Xml.Element:
    # Without `transcription` a submit that is stopped, for a text is missing, makes labels of the boxes that are full.
    return Xml.SubElement(
        parent, "TextArea", name=name, toName=about, rows=str(max(2, lines)), maxSubmissions="1", editable="true",
        transcription="true", showSubmitButton="false", placeholder=_plain(hint),
    )  # fmt: skip


def _title(parent: Xml.Element, text: str) -> Xml.Element:
    title = Xml.SubElement(parent, "View", className="form-title")
    Xml.SubElement(title, "Header", value=_plain(text), size="5")
    return title


def _note(parent: Xml.Element, text: str) -> None:
    note = Xml.SubElement(parent, "View", className="form-note")
    Xml.SubElement(note, "Header", value=text if text.startswith("$note_") else _plain(text), size="5")


def _rejecting(rubric: Rubric) -> Choice | None:
    """The question by which a record is rejected, so that nothing needs to be written."""
    return next((ask for ask in rubric.asks if ask.rejects and ask.about is None), None)


def _decided_by(rubric: Rubric, name: str) -> Choice | None:
    """The question that decides on a text, whose box opens where the answer is to fix it."""
    return next((ask for ask in rubric.asks if ask.about == name and ask.fixes), None)


def _hidden(rubric: Rubric, given: Mapping[str, str]) -> frozenset[str]:
    """The boxes that are not to be seen with these answers; what stands in them counts for nothing."""
    asking = _rejecting(rubric)
    rejected = asking is not None and given.get(asking.name) in asking.rejects
    hidden = {one.name for one in rubric.writes if one.required and rejected}
    for one in rubric.writes:
        if (decider := _decided_by(rubric, one.name)) is not None:
            hidden.discard(one.name)
            if given.get(decider.name) not in decider.fixes:
                hidden.add(one.name)
    return frozenset(hidden)


def _object(shown: str) -> str:
    """A shown text's name in the form: it never meets that of an answer, which has no hyphen."""
    return f"shown-{shown}"


def _plain(text: str) -> str:
    """Text as it is to be read: Label Studio takes a word after a dollar sign for a name of the task's data."""
    return re.sub(r"\$(?=[\w\[{.])", "$\u2060", text)


def data_fields(rubric: Rubric) -> tuple[str, ...]:
    """The names of all that `task_data` gives, but for what tells tasks apart in a table."""
    shown = (f"shown_{one.name}" for one in rubric.shows)
    boxes = (f"{kind}_{one.name}" for one in rubric.writes for kind in ("draft", "note"))
    return ("ext_id", "view_hash", "item_id", "item_key", "item_view", "rubric", "version", *shown, *boxes)


def task_data(rubric: Rubric, task: Task) -> dict[str, Any]:
    """What goes into the `data` of a task: what tells which it is, the texts shown, the drafts.

    The right answers to a validation item are left out, and the sample with them: nothing tells it from the others.
    A text too long for a page is cut: its start and its end stay, and stretches around the first places of what it
    is cut around (`Shown.around`); a note stands for what is left out.

    Raises `ValueError` where the task is not the rubric's: Label Studio would take it, and show no form.
    """
    if (task.rubric, task.version) != (rubric.name, rubric.version):
        raise ValueError(
            f"task {task.key}: is of rubric {task.rubric} {task.version}, not {rubric.name} {rubric.version}"
        )
    if strangers := {*task.drafts}.difference(one.name for one in rubric.writes):
        raise ValueError(f"task {task.key}: {min(strangers)} is nothing that is written; no draft can stand there")
    data: dict[str, Any] = {
        "ext_id": task.key, "view_hash": task.id, "item_id": task.item_id, "item_key": task.item_key,
        "item_view": task.item_view, "rubric": task.rubric, "version": task.version,
    }  # fmt: skip
    for one in rubric.shows:
        text = task.shown.get(one.name)
        if text is None or isinstance(text, str) != (one.kind == "text"):
            raise ValueError(f"task {task.key}: {one.name} is no {one.kind}")
        around = task.shown.get(one.around, "") if one.around else ""
        assert isinstance(around, str)
        data[f"shown_{one.name}"] = cut(text, around) if isinstance(text, str) else _turns(text)
    for write in rubric.writes:
        draft = task.drafts.get(write.name, "")
        data[f"draft_{write.name}"] = draft
        left_out = task.left_out.get(write.name, "")
        note = f"No suggestion: {left_out}" if left_out else ""
        data[f"note_{write.name}"] = SUGGESTED if draft and write.name in task.suggested else note
    data[LISTED] = _listed(task.shown[rubric.lists_by])
    return data


def _listed(text: str | tuple[Turn, ...]) -> str:
    """A line of the text, of a dialogue's last turn."""
    if not isinstance(text, str):
        text = text[-1].text if text else ""
    line = " ".join(text[: 2 * LISTED_CHARACTERS].split())
    return line if len(line) <= LISTED_CHARACTERS else f"{line[: LISTED_CHARACTERS - 1]}…"


def _turns(turns: tuple[Turn, ...]) -> list[dict[str, str]]:
    """A dialogue as Label Studio takes it; of one too long, the last turns, which the rest is about."""
    kept: list[Turn] = []
    left = MOST_CHARACTERS
    for turn in reversed(turns):
        text = cut(turn.text)
        left -= len(text)
        if left < 0:
            kept.append(Turn(speaker="[…]", text=f"{len(turns) - len(kept)} earlier turns are left out here"))
            break
        kept.append(Turn(speaker=turn.speaker, text=text))
    return [{"speaker": turn.speaker, "text": turn.text} for turn in reversed(kept)]


def cut(text: str, around: str = "") -> str:
    """The text, if it is no longer than `MOST_CHARACTERS`; else its start, its end, and stretches around some places.

    They are the first `PLACES` places of any line of `around`, in whatever case, between start and end. Where there
    are none, the start goes on. A note says how many characters are left out, at each place.
    """
    if len(text) <= MOST_CHARACTERS:
        return text
    last = len(text) - EDGE_CHARACTERS
    room = MOST_CHARACTERS - 2 * EDGE_CHARACTERS
    wanted = "|".join(re.escape(one) for one in around.splitlines() if one.strip())
    found = re.finditer(wanted, text, re.IGNORECASE) if wanted else ()
    places = [one.start() for one in found if EDGE_CHARACTERS <= one.start() < last][:PLACES]
    half = room // (2 * max(1, len(places)))
    stretches = [(place - half, place + half) for place in places] or [(EDGE_CHARACTERS, EDGE_CHARACTERS + room)]
    merged: list[tuple[int, int]] = [(0, EDGE_CHARACTERS)]
    for start, end in [*stretches, (last, len(text))]:
        before = merged[-1]
        if start <= before[1]:
            merged[-1] = (before[0], max(before[1], min(end, len(text))))
        else:
            merged.append((start, min(end, len(text))))
    pieces = [text[start:end] for start, end in merged]
    gaps = [f"\n\n[… {later[0] - former[1]:,} characters of the text are left out here …]\n\n"
            for former, later in pairwise(merged)]  # fmt: skip
    return "".join(chain.from_iterable(zip(pieces, [*gaps, ""], strict=True)))


def answers_of(rubric: Rubric, annotation: Mapping[str, Any], data: Mapping[str, Any]) -> Answers:
    """The answers in an annotation, as the export has it; `data` is that of its task.

    The server holds nobody to the form, so all is checked here. What is written is taken without white space around
    it; what stands in a box that was not to be seen counts for nothing. Marked stretches that correct a field of the
    record are its text as well. A suggestion is untouched where it comes back as it stood. A required text that is
    missing is for the author to write (`annotation/review.py`): the form lets a box be emptied that was full before.

    Raises `Unusable`.
    """
    choices = {one.name: one for one in rubric.asks}
    writes = {one.name for one in rubric.writes} | {QUESTION}
    marks = {one.name: one for one in rubric.marks}
    given: dict[str, str] = {}
    spans: dict[str, list[tuple[int, int, str]]] = {name: [] for name in marks}
    for one in annotation.get("result") or ():
        name, kind, value = str(one.get("from_name")), one.get("type"), one.get("value")
        if not isinstance(value, Mapping):
            raise Unusable("unknown answer", f"{name}: {kind} without a value"[:EVIDENCE])
        if name in given:
            raise Unusable("answered twice", name)
        if name in choices and kind == "choices":
            given[name] = _chosen(choices[name], _one(name, value.get("choices")))
        elif name in writes and kind == "textarea":
            given[name] = _typed(name, _one(name, value.get("text")).strip())
        elif name in marks and kind == "labels":
            spans[name].append(_span(marks[name], value, data))
        else:
            raise Unusable("unknown answer", f"{name}: {kind}")
    question = given.pop(QUESTION, "")
    hidden = _hidden(rubric, given)
    given = {name: text for name, text in given.items() if text and name not in hidden}
    stretches = {name: tuple(text for _, _, text in sorted(found)) for name, found in spans.items() if found}
    given |= {name: " ".join(stretches[name]) for name, mark in marks.items() if mark.corrects and name in stretches}
    missing = [one.question for one in rubric.asks if one.name not in given]
    made: list[Written | Marked] = [*rubric.writes, *rubric.marks]
    for part in made:
        decider = _decided_by(rubric, part.name)
        needed = decider is not None and given.get(decider.name) in decider.fixes
        if needed and part.name not in {*hidden, *given, *stretches}:
            missing.append(part.title)
    if missing:
        raise Unusable("incomplete", "; ".join(missing))
    drafts = {
        one.name: str(data.get(f"draft_{one.name}", "")).strip()
        for one in rubric.writes
        if data.get(f"note_{one.name}")
    }
    return Answers(
        answers=given,
        marks=stretches,
        untouched=tuple(name for name, draft in drafts.items() if draft and given.get(name) == draft),
        question=question,
    )


def answers_given(annotation: Mapping[str, Any]) -> Answers:
    """What is in an annotation by the form of another version, which may be unknown by now: nothing is checked."""
    given: dict[str, str] = {}
    marks: dict[str, tuple[str, ...]] = {}
    for one in annotation.get("result") or ():
        name, value = str(one.get("from_name")), one.get("value")
        if isinstance(value, Mapping) and one.get("type") == "labels":
            marks[name] = (*marks.get(name, ()), str(value.get("text", "")))
        elif isinstance(value, Mapping):
            texts = value.get("choices", value.get("text"))
            texts = [texts] if isinstance(texts, str) else texts
            given[name] = "\n".join(map(str, texts)) if isinstance(texts, list) else json.dumps(dict(value))
    question = given.pop(QUESTION, "")
    return Answers(answers=given, marks=marks, question=question)


def _one(name: str, values: object) -> str:
    """The only one of several values."""
    if not isinstance(values, list) or len(values) != 1 or not isinstance(values[0], str):
        twice = isinstance(values, list) and len(values) > 1
        raise Unusable("answered twice" if twice else "unknown answer", f"{name}: {values}"[:EVIDENCE])
    return values[0]


def _typed(name: str, text: str) -> str:
    """A text as a person can have written it."""
    if len(text) > LONGEST_TEXT:
        raise Unusable("too long", f"{name}: {len(text):,} characters, where {LONGEST_TEXT:,} may be written")
    odd = next((one for one in text if unicodedata.category(one) in ("Cc", "Cs") and one not in "\n\r\t"), None)
    if odd is not None:
        raise Unusable("control character", f"{name}: U+{ord(odd):04X}")
    return text


def _chosen(choice: Choice, option: str) -> str:
    if option not in choice.options:
        raise Unusable("unknown option", f"{choice.name}: {option}")
    return option


def _span(mark: Marked, value: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[int, int, str]:
    """A marked stretch: where it begins and ends in the shown text, in characters, and its text."""
    start, end = value.get("start"), value.get("end")
    text = str(data.get(f"shown_{mark.of}", ""))
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= len(text):
        raise Unusable("unknown stretch", f"{mark.name}: {start} to {end}")
    stretch = text[start:end]
    return start, end, stretch.strip()
