"""How a project's description names the queue that it holds, as `annotation/label_studio/sync.py` writes it."""

MARK, EVERYBODY = "touchstone", "all"
"""The first word of a project's line with the queue's name, and the person in the name of everybody's queue."""


def queue_name(description: str | None) -> tuple[str, str] | None:
    """Return the form and the person in the name of a project's queue; None if it is none of ours."""
    for line in (description or "").splitlines():
        mark, _, name = line.strip().partition(" ")
        if mark == MARK and name.count("/") >= 2:
            form, by = name.rsplit("/", 2)[1:]
            return form.partition("@")[0], by
    return None
