"""A rubric's guideline as the page that annotators read."""

from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import escape

from annotation.label_studio.config import hotkeys
from schemas.rubric import Rubric

# Label Studio shows it in a dialog: in a paragraph that keeps line breaks, with no lines around table cells.
STYLE = Path(__file__).with_name("guideline.css").read_text(encoding="utf-8")
# Label Studio saves choices as they are made, but a text only after Shift+Enter in its box.
SAVING = """
<p>Your texts are saved when you submit. If you leave the page or skip the task before, a text is lost unless you
pressed <kbd>Shift</kbd> + <kbd>Enter</kbd> in its box. To ask the engineer and go on: write your question, press
<kbd>Shift</kbd> + <kbd>Enter</kbd>, then skip. A skipped task comes back to you.</p>
"""


def guideline_page(rubric: Rubric, guideline: str) -> str:
    """Return the guideline (Markdown) as HTML, with the rubric's keys and version. HTML in it is shown as text."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(guideline)
    return f'<style>\n{STYLE}</style><div class="guideline">{body}{_keys(rubric)}<p>Version {rubric.version}.</p></div>'


def _keys(rubric: Rubric) -> str:
    """Return the keys of the form as a table, in the form's order."""
    keys = hotkeys(rubric)
    rows = [
        (ask.question, [(keys[ask.name, option], option) for option in ask.options if (ask.name, option) in keys])
        for ask in rubric.asks
    ]
    rows += [
        (mark.title, [(keys[mark.name, ""], "then draw over the words")])
        for mark in rubric.marks
        if (mark.name, "") in keys
    ]
    rows += [("Submit", [("Ctrl + Enter", "outside a box")]), ("Skip the task", [("Ctrl + Space", "outside a box")])]
    rows += [("Save a box as a draft", [("Shift + Enter", "in it")])]
    cells = "".join(
        f"<tr><td>{escape(what)}</td><td>"
        + "".join(f'<span class="key"><kbd>{escape(key)}</kbd> {escape(does)}</span>' for key, does in how)
        + "</td></tr>"
        for what, how in rows
        if how
    )
    # Label Studio adds a table body if there is none, and the next push would see a changed guideline.
    return f"<h2>Keys</h2><table><tbody>{cells}</tbody></table>{SAVING}"
