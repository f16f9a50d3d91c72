"""One text that tries everything, through every exit: it is shown, and has no effect."""

import csv
import io
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml
from markdown_it import MarkdownIt
from rich.console import Console
from rich.progress import Progress

from annotation.label_studio.config import guideline_page, label_config
from flows.cli import _print_error
from flows.construct.stages import StageRef
from flows.evaluate.scores_file import write_cells
from flows.project.build_report import write_report
from flows.project.console import SteadyConsole
from flows.project.project import Project
from flows.release.terminal import print_difference
from flows.run.reading import explain_record, show_sample, verify_build
from flows.run.summary import print_next, print_summary
from flows.run.terminal import Terminal
from schemas.errors import Failed, WrongInput
from schemas.prediction import TableCell
from schemas.rubric import Choice, Rubric, Shown, Written
from tests.families.saying import WRONG
from tests.saying import build, released

pytestmark = pytest.mark.usefixtures("saying")

RUN = "document.documentElement.dataset.ran = 1"
NASTY = (
    "=\x1b[31m \x1b]8;;https://evil.example\x07\x9b2J\x08\x7f\r\u202eturned \u2066 \u2028 \x85 \u200f "
    "cmd|' /C calc'!A1 [red]markup[/red] [/] [link=https://evil.example]link[/link] :bug: {{ 7 * 7 }} "
    "{% raw %} ${7*7} {0.__class__} %s "
    f'</title></style></textarea><script>{RUN}</script><img src=x onerror="{RUN}">" onmouseover="{RUN}" '
    f"x=' onfocus='{RUN}' autofocus <svg onload=\"{RUN}\"> [here](javascript:{RUN}) "
    "![there](https://evil.example/x.png) <https://evil.example> | a | `code` ``` *stars* "
    "<!-- own words: begin --> mine <!-- own words: end -->\n---\nlicense: evil\n---\n# Heading\n\n- item\n1. one\n"
)
NAME = f"<img src=x onerror='{RUN}'>[red]a[/] \\\"| b"
FOLDER = "[red]out[/] <b> \u202e"


class Effects(HTMLParser):
    """Collects what a text could have put into a page: elements that run or load, and attributes that do."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "svg", "iframe", "textarea", "h5") or (tag == "img" and "plots/" not in str(attributes)):
            self.found.append(tag)
        for name, value in attributes:
            if name.startswith("on") or (value or "").startswith("javascript:") or "evil.example" in (value or ""):
                self.found.append(f"{tag} {name}")


def effects(page: str) -> list[str]:
    parser = Effects()
    parser.feed(page)
    return parser.found


def acting(text: str) -> set[str]:
    """The characters of a text that a terminal would obey, or that turn or hide what follows."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Co") and c != "\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A build of the text, in a folder, under a name, with a source's name and a drop that have it as well."""
    texts = {"plain": "plain", NASTY: f"first {NASTY}", "wrong": f"{WRONG} {NASTY}", "mute": f"mute {NASTY}"}
    return build(tmp_path / FOLDER, texts, name=NAME, licence=NAME)


def test_it_has_no_effect_in_a_terminal(project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_sample("saying-lines", 9, 7, project.out)
    family = project.build.families["saying"].family
    for record in project.build.sifted(family, family.part("lines")):
        explain_record(record.key, project.out)
    for dropped in project.build.read(StageRef("saying", "lines", "shout")).dropped():
        explain_record(dropped.key, project.out)
    with pytest.raises(Failed):
        verify_build(None, project.out)
    first = released(build(tmp_path / "1", {"a": "one", "b": "two"}, name="n")).folder
    second = released(build(tmp_path / "1", {"a": NASTY, "b": f"{NASTY} two"}, name="n")).folder
    print_difference(str(first), str(second), None)
    console = SteadyConsole(width=120)
    print_summary(console, project.manifest, {}, {})
    print_next(console, project, project.manifest, project.out / "report.html")
    listener = Terminal(console)
    listener.noted(NASTY)
    listener.blocked(StageRef("saying", "lines", "shout"), NASTY)
    said = capsys.readouterr()
    assert acting(said.out) == set()
    assert "[red]markup[/red] [/] [link=https://evil.example]link[/link] :bug:" in " ".join(said.out.split())
    assert "\\x1b[31m" in said.out


def test_it_has_no_effect_in_what_a_terminal_draws() -> None:
    written = io.StringIO()
    console = SteadyConsole(file=written, force_terminal=True, width=100)
    with Progress(console=console) as progress:
        progress.add_task(NASTY.replace("[", "\\["))
    drawn = written.getvalue()
    plain = io.StringIO()
    with Progress(console=Console(file=plain, force_terminal=True, width=100)) as progress:
        progress.add_task("nothing")
    assert acting(drawn) <= acting(plain.getvalue()), "no character acts but those of the bar itself"
    assert "\x1b[31m" not in drawn
    assert "\x1b]8" not in drawn


@pytest.mark.parametrize("error", [WrongInput(f"a.yaml: {NASTY}: what to do"), Failed(NASTY), ValueError(NASTY * 9)])
def test_it_has_no_effect_in_an_error(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    _print_error(str(error), error)
    said = capsys.readouterr().err
    assert acting(said) == set()
    assert said.count("\n") == 1
    assert len(said) < 1100


def test_a_long_error_is_cut_and_keeps_its_advice(capsys: pytest.CaptureFixture[str]) -> None:
    _print_error(f"a.yaml: name: {'x' * 100_000}: is too long; name it in a line", None)
    said = capsys.readouterr().err
    assert said.startswith("touchstone: a.yaml: name: xxxx")
    assert "... (100,0" in said
    assert said.endswith("xxxx: is too long; name it in a line\n")
    assert len(said) < 1100


def test_it_has_no_effect_on_the_report(project: Project) -> None:
    page = write_report(project).read_text(encoding="utf-8")
    assert effects(page) == []
    assert acting(page) <= {"\u200f"}, "a mark of direction turns nothing"
    assert "{{ 7 * 7 }} {% raw %}" in page


def test_it_has_no_effect_in_a_release(project: Project, tmp_path: Path) -> None:
    first = released(build(tmp_path / "r", {"a": "one", "b": "two"}, name=project.config.name)).folder
    second = released(build(tmp_path / "r", {"a": NASTY, "b": f"{NASTY} two", NASTY: "x"}, name=project.config.name))
    for path in (first / "README.md", second.folder / "README.md", second.folder / "CHANGELOG.md"):
        text = path.read_text(encoding="utf-8")
        assert acting(text) == set(), path
        front, page = ("", text) if not text.startswith("---\n") else text[4:].split("\n---\n", 1)
        assert "evil" not in (yaml.safe_load(front) or {}).get("license", "")
        rendered = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(page)
        assert effects(rendered) == [], path
        assert ">Heading<" not in rendered
        assert 'href="https://evil' not in rendered


def test_it_has_no_effect_in_a_form_or_its_guideline() -> None:
    rubric = Rubric(
        name="nasty", version=1, title=NASTY, guideline="guideline.md", shows=(Shown(name="text", title=NASTY),),
        asks=(Choice(name="good", question=NASTY, options=("yes", "no"), accepts=("yes",)),),
        writes=(Written(name="upper", title=NASTY, hint=NASTY),),
    )  # fmt: skip
    form = Xml.fromstring(label_config(rubric))
    assert {element.tag for element in form.iter()} <= {
        "View", "Style", "HyperText", "Header", "Text", "Choices", "Choice", "TextArea",
    }  # fmt: skip
    values = [value for element in form.iter() for value in element.attrib.values()]
    assert not any(acting(value) - {"\u2060"} for value in values)
    page = guideline_page(rubric, NASTY)
    assert [effect for effect in effects(page) if effect not in ("img", "img src", "a href")] == []
    assert "javascript:" not in page.replace("(javascript:", "")


def test_it_is_no_formula_in_a_table(tmp_path: Path) -> None:
    texts = [NASTY, "+1+1", "-2+3", "@SUM(A1)", "\t=1", "-0.5", "plain", "＝1+1"]
    write_cells(tmp_path / "t.csv", [TableCell(table="t", row=text, column="c", value=-0.5, n=1) for text in texts])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [*(f"'{text}" for text in texts[:5]), "-0.5", "plain", "'＝1+1"]
    assert {row["value"] for row in rows} == {"-0.5"}


@pytest.mark.slow
async def test_it_runs_nothing_in_a_browser_and_the_layout_holds(
    project: Project, browser: Any, tmp_path: Path
) -> None:
    path = write_report(project)
    for width in (1366, 390):
        page = await browser.new_page(viewport={"width": width, "height": 844})
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        await page.goto(path.as_uri())
        for details in await page.locator("details").all():
            if await details.get_attribute("open") is None:
                await details.locator("> summary").click()
        ran, wide, title = await page.evaluate(
            "[document.documentElement.dataset.ran ?? null, document.documentElement.scrollWidth - innerWidth, "
            "document.title]"
        )
        await page.screenshot(path=tmp_path / f"{width}.png", full_page=True)
        assert ran is None
        assert wide <= 0
        assert title.startswith("<img src=x")
        assert asked == [path.as_uri()]
        await page.close()
