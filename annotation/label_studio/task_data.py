"""A task as the data that a form shows."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from markupsafe import escape

from annotation.adjudicate import ASKED, nameless
from annotation.label_studio.differences import SPACES, marked
from annotation.verdicts import same_text
from annotation.wording import in_all_languages, say, told
from schemas.annotation import Annotation
from schemas.rubric import ENGLISH, Change, Compared, Rubric, Task, Turn

MOST_CHARACTERS = 60_000
"""The longest text with which a page stays fast, about 10,000 words: one of 20,000 takes 7 s to open."""
EDGE_CHARACTERS = 10_000
"""How much of a cut text is kept at its start and at its end."""
PLACES = 4
"""The most places that a cut text is kept around."""
SUGGESTED = "suggested: check it, or write your own"
LISTED = "Task"
"""The heading of tasks in a queue's table, and so the name of the field."""
RETURNED = "yours, of the earlier version"
NEWS = "news"
"""The name of what the person is told before anything else, in a task's data; HTML."""
EARLIER_TURNS = "{} earlier turns are left out here"
LEFT_OUT = "[… {} characters of the text are left out here …]"
SHORT_CHARACTERS = 600
"""The most of a text in an example."""
NOTHING = "–"
"""The answer of a person who gave none."""
LISTED_CHARACTERS = 240
"""The start of a longer text is shown there, in two lines."""


def data_fields(rubric: Rubric) -> tuple[str, ...]:
    """Return the names of all that `task_data` returns, except `LISTED`."""
    shown = (f"shown_{text.name}" for text in rubric.shows)
    boxes = (f"{kind}_{write.name}" for write in rubric.writes for kind in ("draft", "note"))
    return ("ext_id", "view_hash", "item_id", "item_key", "item_view", "rubric", "version", NEWS, *shown, *boxes)


def task_data(rubric: Rubric, task: Task) -> dict[str, Any]:
    """Return the `data` of a task: its identity, the texts shown, the drafts.

    The answers to gold tasks are left out, and the sample too, so nothing distinguishes them. A text too long for a
    page is cut: its start and end are kept, and the surroundings of the first places of the text that it is cut around
    (`Shown.around`); a note replaces the rest.

    Raises `ValueError` for a task of another rubric: Label Studio would accept it and show no form.
    """
    if (task.rubric, task.version) != (rubric.name, rubric.version):
        raise ValueError(
            f"task {task.key}: expected rubric {rubric.name} {rubric.version}, not {task.rubric} {task.version}"
        )
    if unknown := {*task.drafts}.difference(write.name for write in rubric.writes):
        raise ValueError(f"task {task.key}: {min(unknown)} has a draft, and the rubric has no such text to write")
    data: dict[str, Any] = {
        "ext_id": task.key, "view_hash": task.id, "item_id": task.item_id, "item_key": task.item_key,
        "item_view": task.item_view, "rubric": task.rubric, "version": task.version, NEWS: _news(task, rubric.language),
    }  # fmt: skip
    for shown in rubric.shows:
        text = task.shown.get(shown.name)
        if text is None or isinstance(text, str) != (shown.kind == "text"):
            raise ValueError(f"task {task.key}: {shown.name} is no {shown.kind}")
        around = task.shown.get(shown.around, "") if shown.around else ""
        assert isinstance(around, str)
        if isinstance(text, str) and shown.of_program:
            text = told(rubric, text)
        in_form = cut(text, around, rubric.language) if isinstance(text, str) else _turns(text, rubric.language)
        data[f"shown_{shown.name}"] = in_form
    for write in rubric.writes:
        draft, left_out = task.drafts.get(write.name, ""), task.left_out.get(write.name, "")
        note = say(rubric.language, "No suggestion: {}", told(rubric, left_out)) if left_out else ""
        data[f"draft_{write.name}"] = draft
        note = say(rubric.language, SUGGESTED) if draft and write.name in task.suggested else note
        data[f"note_{write.name}"] = say(rubric.language, RETURNED) if write.name in task.returned else note
    data[LISTED] = listed(task.shown[rubric.lists_by])
    return data


def changes_between(rubric: Rubric, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the shown texts that differ between two tasks' data, as they are shown."""
    names = {text.title or text.name: f"shown_{text.name}" for text in rubric.shows}
    return tuple(
        Change(title=title, before=_plain(before[name]), after=_plain(after[name]))
        for title, name in names.items()
        if name in before and _plain(before[name]) != _plain(after[name])
    )


def own_texts(rubric: Rubric, work: Annotation, before: Mapping[str, Any]) -> dict[str, str]:
    """Return a person's own texts in their work on the task with the data `before`, by the names of the boxes.

    A text that the person left as it was in its box is the record's or a program's. If it is not known what was there
    (`before` is empty), a text of the record is not taken for the person's. A note may be the reason for leaving a
    suggestion, and stays with it.
    """
    texts = {}
    for write in rubric.writes:
        text, draft = work.answers.get(write.name, ""), before.get(f"draft_{write.name}")
        own = not write.corrects if draft is None else not same_text(text, draft)
        own = own or before.get(f"note_{write.name}") in in_all_languages(RETURNED)
        if text and own and write.name not in work.untouched and not (write.note and work.untouched):
            texts[write.name] = text
    return texts


def _plain(text: str | list[dict[str, Any]]) -> str:
    """Return a shown text, or a dialogue with a line for each turn."""
    return text if isinstance(text, str) else "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in text)


def _news(task: Task, language: str) -> str:
    """Return what the person is told, as HTML: the lines, the changes with what was removed and added marked, and what
    others answered.
    """
    lines = [f"<p>{escape(line)}</p>" for line in task.news.splitlines()]
    colon = say(language, "{}: {}", "", "").strip()
    for change in task.changes:
        difference = marked(change.before, change.after)
        said = say(language, SPACES) if difference == SPACES else difference
        lines.append(f"<p><b>{escape(change.title)}{colon}</b> {said}</p>")
    return "".join([*lines, _side_by_side(task.compared, language)])


def _side_by_side(compared: Sequence[Compared], language: str) -> str:
    """Return people's answers as a table in HTML, with a column for each person; where they differ they are bold."""
    if not compared:
        return ""
    people = "".join(f"<th>{name}</th>" for name in nameless(len(compared[0].answers), language))
    rows = []
    for row in compared:
        answers = [str(escape(answer or NOTHING)).replace("\n", "<br>") for answer in row.answers]
        cells = [f"<td><b>{answer}</b></td>" if len(set(answers)) > 1 else f"<td>{answer}</td>" for answer in answers]
        rows.append(f"<tr><th>{escape(row.title)}</th>{''.join(cells)}</tr>")
    head = f"<caption>{say(language, ASKED)}</caption><thead><tr><th></th>{people}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def in_short(text: str | tuple[Turn, ...]) -> str:
    """Return the start of a text, or the end of a dialogue, for a reader who needs no more to recognise it."""
    if isinstance(text, str):
        return text if len(text) <= SHORT_CHARACTERS else f"{text[: SHORT_CHARACTERS - 1]}…"
    line = _plain(_turns(text, ENGLISH))
    return line if len(line) <= SHORT_CHARACTERS else f"…{line[1 - SHORT_CHARACTERS :]}"


def listed(text: str | tuple[Turn, ...]) -> str:
    """Return the start of a text, or of a dialogue's last turn, on one line."""
    if not isinstance(text, str):
        text = text[-1].text if text else ""
    line = " ".join(text[: 2 * LISTED_CHARACTERS].split())
    return line if len(line) <= LISTED_CHARACTERS else f"{line[: LISTED_CHARACTERS - 1]}…"


def _turns(turns: tuple[Turn, ...], language: str) -> list[dict[str, Any]]:
    """Return a dialogue for Label Studio; if it is too long, the last turns, which matter most.

    All speakers but one have a start, so that the form can indent their turns: they are told apart by it alone.
    """
    first = min((turn.speaker for turn in turns), default="")
    kept: list[dict[str, Any]] = []
    left = MOST_CHARACTERS
    for turn in reversed(turns):
        text = cut(turn.text, language=language)
        left -= len(text)
        if left < 0:
            kept.append({"speaker": "[…]", "text": say(language, EARLIER_TURNS, len(turns) - len(kept))})
            break
        start = {} if turn.speaker == first else {"start": 0}
        kept.append({"speaker": turn.speaker, "text": text, **start})
    return kept[::-1]


def cut(text: str, around: str = "", language: str = ENGLISH) -> str:
    """Return the text, or if it is longer than `MOST_CHARACTERS`, its start, end and the surroundings of some places.

    They are the first `PLACES` places between start and end of any line of `around`, in any case. If there are none,
    the start is longer. A note at each gap says how many characters are left out.
    """
    if len(text) <= MOST_CHARACTERS:
        return text
    last = len(text) - EDGE_CHARACTERS
    room = MOST_CHARACTERS - 2 * EDGE_CHARACTERS
    wanted = "|".join(re.escape(line) for line in around.splitlines() if line.strip())
    matches = re.finditer(wanted, text, re.IGNORECASE) if wanted else ()
    places = [match.start() for match in matches if EDGE_CHARACTERS <= match.start() < last][:PLACES]
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
    gaps = [say(language, LEFT_OUT, f"{later[0] - former[1]:,}") for former, later in pairwise(merged)]
    return "".join(chain.from_iterable(zip(pieces, [*(f"\n\n{gap}\n\n" for gap in gaps), ""], strict=True)))
