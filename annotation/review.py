"""Review and revision of an author's work: the rubrics made from the author's, and their tasks.

They are rubrics like any other, so every form, check and queue works for them too.
"""

from collections.abc import Iterable
from functools import partial

from annotation.wording import say, told
from schemas.annotation import Annotation, Finding
from schemas.base import content_hash, key_of
from schemas.rubric import ENGLISH, Change, Choice, Marked, Rubric, Shown, Task, Written

ACCEPT, FIX, REJECT = "accept", "fix", "reject"
RIGHT, WRONG = "right", "wrong"
COMMENT, WARNINGS, CHOSEN = "review_comment", "warnings", "chosen"
AFTER, AGREED, YES, NO = "after_review", "agreed", "yes", "no"
DISAGREES = "(does not agree with what a reviewer corrected)"
CORRECTED = "A reviewer accepted your work and corrected it, as marked here. You need not change anything."
ALSO_CORRECTED = "The reviewer also corrected other parts; they are in the boxes as corrected."
LONGEST_NAME = 40
"""Characters of a rubric's name."""


def review_of(rubric: Rubric, guideline: str = "") -> Rubric:
    """Return the rubric for reviewing what people write under an authoring rubric.

    It shows what the author saw, wrote, marked and chose, and the checks' warnings. Each part that the author wrote or
    marked is accepted, fixed or rejected; marked spans are corrected as text, one per line. The guideline defaults to
    the author's. Raises `ValueError` for a rubric with nothing to write or mark.
    """
    parts = parts_of(rubric)
    if not parts:
        raise ValueError(f"rubric {rubric.name}: people neither write nor mark anything that could be reviewed")
    in_words = partial(say, rubric.language)
    corrected = [
        Written(
            name=part.name,
            title=in_words("{}: corrected", part.title),
            hint=in_words("The text as it should be"),
            lines=part.lines if isinstance(part, Written) else 2,
        )
        for part in parts
    ]
    comment = Written(
        name=COMMENT,
        title=in_words("Comment for the author"),
        hint=in_words("What is wrong, and what to do about it"),
        note=True,
        lines=3,
    )
    return Rubric(
        name=derived_name(rubric.name, "-review"),
        language=rubric.language,
        title=in_words("Review: {}", rubric.title or rubric.name),
        version=rubric.version,
        guideline=guideline or rubric.guideline,
        shows=(
            *rubric.shows,
            Shown(name=CHOSEN, title=in_words("The author's choices and notes")),
            *(_shown(part, in_words("{}: the author's", part.title)) for part in parts),
            Shown(name=WARNINGS, title=in_words("Warnings of the checks")),
        ),
        listed=rubric.lists_by,
        asks=tuple(
            Choice(
                name=decision_name(part.name),
                question=in_words("{}: is it right as it stands?", part.title),
                about=part.name,
                options=(ACCEPT, FIX, REJECT),
                labels=labels_in(rubric, ACCEPT, FIX, REJECT),
                accepts=(ACCEPT,),
                fixes=(FIX,),
            )
            for part in parts
        ),
        writes=(*corrected, comment),
        for_all=ACCEPT,
    )


def revision_of(rubric: Rubric) -> Rubric:
    """Return the rubric for revising rejected work: the author's, with the reviewer's comment at the top."""
    first = Shown(name=COMMENT, title=say(rubric.language, "Why it came back to you"))
    return same_form(rubric, "-revision", "Back from review: {}", first)


def corrected_of(rubric: Rubric) -> Rubric:
    """Return the rubric by which authors are told what a reviewer corrected in their texts."""
    agreed = Choice(
        name=AGREED,
        question=say(rubric.language, "Do you agree? If you do not, say why in the question to the engineer."),
        options=(YES, NO),
        labels=labels_in(rubric, YES, NO),
    )
    first = Shown(name=AFTER, title=say(rubric.language, "What you wrote, as it is now"))
    return same_form(rubric, "-corrected", "Corrected: {}", first).model_copy(
        update={"asks": (agreed,), "writes": (), "marks": (), "for_all": ""}
    )


def judging_of(rubric: Rubric) -> Rubric:
    """Return the rubric that authors practise on: judging which parts of invented work are right.

    What authors write themselves has no known answer; these judgements do.
    """
    parts = parts_of(rubric)
    return Rubric(
        name=derived_name(rubric.name, "-judging"),
        language=rubric.language,
        title=say(rubric.language, "Right or wrong? {}", rubric.title or rubric.name),
        version=rubric.version,
        guideline=rubric.guideline,
        shows=(*rubric.shows, *(_shown(part, part.title) for part in parts)),
        asks=tuple(
            Choice(
                name=decision_name(part.name),
                question=say(rubric.language, "{}: is it as it should be?", part.title),
                options=(RIGHT, WRONG),
                labels=labels_in(rubric, RIGHT, WRONG),
            )
            for part in parts
        ),
    )


def review_task(rubric: Rubric, review: Rubric, task: Task, work: Annotation, findings: Iterable[Finding]) -> Task:
    """Return the task of reviewing an author's work. Its key stays the same when the author changes the work."""
    rubric = rubric.in_language(task.language)
    in_words = partial(say, rubric.language)
    texts = {part.name: text_of(work, part, task) for part in parts_of(rubric)}
    chosen = [in_words("{} {}", ask.question, ask.label(work.answers.get(ask.name, ""))) for ask in rubric.asks]
    notes = {note.title: work.answers.get(note.name) for note in rubric.writes if note.note}
    chosen += [in_words("{}: {}", title, text) for title, text in notes.items() if text]
    warnings = [problem_of(rubric, finding) for finding in findings]
    return _task(
        review,
        task,
        work.by,
        shown={
            **{shown.name: task.shown[shown.name] for shown in rubric.shows},
            CHOSEN: "\n".join(chosen),
            **{_author_name(name): text for name, text in texts.items()},
            WARNINGS: "\n".join(warnings) or in_words("none"),
        },
        drafts={name: text for name, text in texts.items() if text},
    )


def revision_task(rubric: Rubric, task: Task, work: Annotation, comment: str, corrected: Iterable[Change] = ()) -> Task:
    """Return the task of revising rejected work; `task` may be a revision itself.

    `corrected` are the parts that the reviewer corrected beside those that were rejected.
    """
    corrected = tuple(corrected)
    return _task(
        revision_of(rubric),
        task,
        work.by,
        sample=task.sample,
        shown={COMMENT: comment, **{shown.name: task.shown[shown.name] for shown in rubric.shows}},
        drafts={write.name: text for write in rubric.writes if (text := text_of(work, write, task))},
        news=say(rubric.form_language(task.language), ALSO_CORRECTED) if corrected else "",
        changes=corrected,
    )


def corrected_task(rubric: Rubric, task: Task, by: str, comment: str, corrected: tuple[Change, ...]) -> Task:
    """Return the task by which an author is told what a reviewer corrected; a later correction changes it."""
    in_words = partial(say, rubric.form_language(task.language))
    now = "\n".join(in_words("{}: {}", change.title, change.after) for change in corrected)
    return _task(
        corrected_of(rubric),
        task,
        by,
        shown={AFTER: now, **{shown.name: task.shown[shown.name] for shown in rubric.shows}},
        news="\n".join([in_words(CORRECTED), *([in_words("Comment: {}", comment)] if comment else [])]),
        changes=corrected,
    )


def parts_of(rubric: Rubric) -> list[Written | Marked]:
    """Return the texts and marks that an author makes and a reviewer judges."""
    return [part for part in rubric.parts if not (isinstance(part, Written) and part.note)]


def text_of(work: Annotation, part: Written | Marked, task: Task) -> str:
    """Return the author's text of a part, or the record's own text if it was left alone; never a program's."""
    if isinstance(part, Marked):
        return "\n".join(work.marks.get(part.name, ()))
    return work.answers.get(part.name, record_text(task, part.name) if part.corrects else "").strip()


def record_text(task: Task, name: str) -> str:
    """Return the record's own text in a box; empty if the box has a suggestion."""
    return "" if name in task.suggested else task.drafts.get(name, "")


def title_of(rubric: Rubric, name: str) -> str:
    """Return the question or title that people see for a name."""
    titles = {ask.name: ask.question for ask in rubric.asks}
    titles |= {part.name: part.title for part in rubric.parts}
    return titles.get(name, name)


def problem_of(rubric: Rubric, finding: Finding) -> str:
    """Return what a finding is about and what it says, in the language of the rubric."""
    return say(rubric.language, "{}: {}", title_of(rubric, finding.name), told(rubric, finding.problem))


def derived_key(rubric: Rubric, key: str, by: str) -> str:
    """Return the key of a derived rubric's task on somebody's work on the task with this key."""
    return key_of("task", rubric.name, key, {"by": by})


def decision_name(part: str) -> str:
    """Return the name of the question that decides on a part."""
    return f"{part}_decision"


def labels_in(rubric: Rubric, *options: str) -> dict[str, str]:
    """Return what people see of options that are ours, in the rubric's language."""
    return {} if rubric.language == ENGLISH else {option: say(rubric.language, option) for option in options}


def _author_name(part: str) -> str:
    return f"author_{part}"


def _shown(part: Written | Marked, title: str) -> Shown:
    return Shown(name=_author_name(part.name), title=title, beside=decision_name(part.name))


def _task(rubric: Rubric, task: Task, by: str, **content: object) -> Task:
    """Return the task of a derived rubric on somebody's work on a task."""
    return Task.model_validate(
        {
            "key": derived_key(rubric, task.key, by),
            "rubric": rubric.name,
            "version": rubric.version,
            "item_id": task.item_id,
            "item_key": task.item_key,
            "item_view": task.item_view,
            "language": task.language,
            **content,
        }
    )


# ---- rubrics made from another: their names, and what they have in common ----


def derived_name(name: str, suffix: str) -> str:
    """Return the rubric's name with the suffix, shortened if necessary, and still unique."""
    if len(name) + len(suffix) <= LONGEST_NAME:
        return name + suffix
    mark = f"-{content_hash(name)[:6]}"
    return name[: LONGEST_NAME - len(suffix) - len(mark)].rstrip("-") + mark + suffix


def same_form(rubric: Rubric, suffix: str, title: str, *first: Shown) -> Rubric:
    """Return the rubric's form with more texts at the top, for one person per task and without samples.

    In `title`, `{}` stands for the rubric's.
    """
    return rubric.model_copy(
        update={
            "name": derived_name(rubric.name, suffix),
            "title": say(rubric.language, title, rubric.title or rubric.name),
            "shows": (*first, *rubric.shows),
            "listed": rubric.lists_by,
            "people_per_item": 1,
            "overlaps": False,
            "samples": (),
            "validation_share": 0.0,
            "pass_share": 0.0,
        }
    )
