"""How a project's description names the queue that it holds, as `annotation/label_studio/sync.py` writes it."""

MARK, EVERYBODY = "touchstone", "all"
"""The first word of a project's line with the queue's name, and the person in the name of everybody's queue."""
ENGLISH = "en"


def queue_name(description: str | None) -> tuple[str, str] | None:
    """Return the form and the person in the name of a project's queue; None if it is none of ours."""
    if (name := _form_and_person(description)) is None:
        return None
    return name[0].partition("@")[0], name[1]


def queue_language(description: str | None) -> str:
    """Return the language of the form, which follows its version: `zh` of `lveval-keywords@2.zh`."""
    form, _ = _form_and_person(description) or ("", "")
    return form.partition("@")[2].partition(".")[2] or ENGLISH


def _form_and_person(description: str | None) -> tuple[str, str] | None:
    for line in (description or "").splitlines():
        mark, _, name = line.strip().partition(" ")
        if mark == MARK and name.count("/") >= 2:
            form, by = name.rsplit("/", 2)[1:]
            return form, by
    return None
