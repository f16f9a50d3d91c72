"""Records as a terminal shows them."""

from rich.console import Console
from rich.markdown import Markdown

from flows.construct.view import Line, View

TEXT = (
    "Write to <qa@debian.org> or a*b*c, `code`, [1](x) & foo_bar_baz.\n- item\n1. first\n# heading\n| a | b |\n***\n"
    "---\ntitle\n===\n - - -\n1.\n\n    code"
)


def test_a_text_is_shown_as_it_is_and_not_as_markdown() -> None:
    view = View(
        title="What is <b>*x*</b>?", columns=("l", "r"), lines=(Line("text", (TEXT,)), Line("both", ("_a_", "<c>")))
    )
    console = Console(width=100)
    with console.capture() as shown:
        console.print(Markdown(view.in_markdown()))
    lines = [line.strip() for line in shown.get().splitlines() if line.strip()]
    assert lines == [
        "What is <b>*x*</b>?",
        *(line.strip() for line in f"• text: {TEXT}".split("\n") if line),
        "• both: _a_ (l) · <c> (r)",
    ]
