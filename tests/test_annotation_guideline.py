"""The guideline as annotators read it."""

from annotation.label_studio.config import guideline_page, hotkeys
from schemas.rubric import Choice, Rubric, Shown
from tests.rubrics import rubrics

RUBRIC = Rubric(
    name="r",
    version=3,
    guideline="g.md",
    shows=(Shown(name="a"),),
    asks=(Choice(name="q", question="Is 1 < 2?", options=("<yes>", "no")),),
)


def test_the_page_has_the_text_the_tables_the_keys_and_the_version() -> None:
    page = guideline_page(RUBRIC, "# Title\n\nA *word*.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    assert "<h1>Title</h1>" in page
    assert "<em>word</em>" in page
    assert "<td>1</td>" in page
    assert "Version 3." in page
    assert "<td>Is 1 &lt; 2?</td>" in page
    assert '<span class="key"><kbd>1</kbd> &lt;yes&gt;</span><span class="key"><kbd>2</kbd> no</span>' in page


def test_html_in_a_guideline_shows_as_text() -> None:
    page = guideline_page(RUBRIC, "<script>alert(1)</script> <b>x</b> [go](javascript:alert(2))")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;x&lt;/b&gt;" in page
    assert "<script" not in page
    assert 'href="javascript' not in page


def test_every_key_of_every_form_is_told() -> None:
    for shipped in rubrics().values():
        page = guideline_page(shipped.rubric, shipped.guideline)
        for key in hotkeys(shipped.rubric).values():
            assert f"<kbd>{key}</kbd>" in page
