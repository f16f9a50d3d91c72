"""A handbook of every format, English and Chinese, printed by a real browser: what of it becomes passages."""

import csv
import gzip
import io
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from data.sources import SourceSpec, read_source
from schemas.base import Dropped
from schemas.source import Passage
from tests.documents import Planted, bomb, docx, encrypted_pdf, pdf, pptx, printed

ROOT = Path(__file__).parent.parent
Texts = Callable[[], str]
LEAST_FACTS, LEAST_BOILERPLATE = 0.95, 0.95


def english(shared: Path) -> Iterator[str]:
    """Paragraphs of Wikipedia of 40 to 120 words."""
    path = shared / "data" / "wiki_passages_en" / "2wikimultihopqa_corpus.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            text = " ".join(json.loads(line)["text"].split())
            if 40 <= len(text.split()) <= 120 and "cookie" not in text.lower():
                yield text


def chinese(shared: Path) -> Iterator[str]:
    """Paragraphs of the Chinese Wikipedia."""
    with gzip.open(shared / "data" / "cmrc2018_zh" / "cmrc2018_dev.json.gz", "rt", encoding="utf-8") as file:
        for article in json.load(file)["data"]:
            for paragraph in article["paragraphs"]:
                yield "".join(paragraph["context"].split())


def fact(number: int) -> str:
    """A sentence with long words, which a narrow column breaks."""
    return (
        f"Reimbursement number {number} is administered by the internationally recognised correspondence department "
        f"of Station {number * 37}, which acknowledges applications within {number + 3} working days."
    )


def broken(text: str) -> str:
    """The text with places at which a browser may break its long words."""
    return re.sub(r"\b([a-z]{5})([a-z]{4,})\b", "\\1\u00ad\\2", text)


@pytest.fixture(scope="module")
def planted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """The folder, with its facts and boilerplate."""
    made = Planted(tmp_path_factory.mktemp("documents") / "handbook")
    prose, prose_zh = english(shared), chinese(shared)
    numbers = iter(range(1, 1000))

    def with_fact() -> str:
        return f"{next(prose)} {made.fact(fact(next(numbers)))}"

    def with_fact_zh() -> str:
        number = next(numbers)
        text = f"第{number}号报销单由国际事务部第{number * 37}分站在{number + 3}个工作日内办理。"
        return f"{next(prose_zh)}{made.fact(text)}"

    _markdown(made, with_fact, with_fact_zh)
    _html(made, with_fact, with_fact_zh)
    _pdf(made, with_fact, tmp_path_factory.mktemp("print"))
    letter = [("Leave", [with_fact(), with_fact()]), ("Pay", [with_fact()])]
    made.lines("Confidential header")
    made.write("letters.docx", docx(letter, "Letters", [("Grade", "Days"), ("A", "31")]))
    slides = [(f"Topic {number}", ["A point to make", with_fact()], "") for number in range(5)]
    made.write("deck.pptx", pptx(slides, *made.lines("Acme, for staff alone")))
    table = io.StringIO()
    csv.writer(table).writerows([("title", "text"), *((f"Question {number}", with_fact()) for number in range(6))])
    made.write("faq.csv", table.getvalue())
    _more(made, with_fact, with_fact_zh, tmp_path_factory.mktemp("print more"))
    made.write("locked.pdf", encrypted_pdf())
    made.write("empty.md", "")
    made.write("scan.pdf", pdf([[], []]))
    made.write("damaged.pdf", (made.folder / "handbook.pdf").read_bytes()[:5000])
    made.write("bomb.docx", bomb())
    return made


def _markdown(made: Planted, with_fact: Texts, with_fact_zh: Texts) -> None:
    entries = made.lines("Chapter on the first matter", "Chapter on the second matter")
    contents = "".join(f"- [{entry}](#x)\n" for entry in entries)
    chapters = "".join(f"## Chapter {n}\n\n{with_fact()}\n\n- {with_fact()}\n- An item.\n\n" for n in range(5))
    made.write("rules/policy.md", f"# Policy\n\n## Table of contents\n\n{contents}\n{chapters}")
    chapters = "".join(f"## 第{n}章\n\n{with_fact_zh()}\n\n" for n in range(5))
    made.write("rules/政策.md", f"# 政策\n\n## 目录\n\n- {made.lines('第一章的全部内容')[0]}\n\n{chapters}")
    made.write("rules/design.md", (ROOT / "docs" / "design.md").read_text(encoding="utf-8"))
    wrapped = (
        "\n".join(textwrap.wrap(with_fact(), 70)).replace("internationally", "inter-\nnationally") for _ in "1234"
    )
    made.write("rules/notes.txt", "\n\n".join(wrapped))


def _html(made: Planted, with_fact: Texts, with_fact_zh: Texts) -> None:
    banner, nav, foot = made.lines(
        "We use cookies to improve your experience; accept all cookies or change your settings.",
        "Careers at Acme worldwide",
        "All rights reserved by Acme",
    )
    around = (
        f"<div id='cookie-banner'><p>{banner}</p><button>Accept</button></div><nav><ul><li><a href='/'>Home</a></li>"
        f"<li><a href='/jobs'>{nav}</a></li></ul></nav><main>{{}}</main><footer><p>{foot}</p></footer>"
    )
    table = (
        f"<table><tr><th>City</th><th>Rate</th></tr><tr><td>Leeds</td><td>{made.fact('55 pounds 17')}</td></tr></table>"
    )
    parts = "".join(f"<h2>Part {n}</h2><p>{with_fact()}</p><ul><li>{with_fact()}</li></ul>" for n in range(4))
    page = f"<html><head><title>Travel | Acme</title></head><body>{around}</body></html>"
    made.write("site/travel.html", page.format(f"<h1>Travel</h1>{parts}{table}"))
    made.write("site/travel_2023.html", page.format(f"<h1>Travel</h1>{parts.replace('acknowledges', 'answers')}"))
    banner_zh = made.lines("本网站使用 Cookie 改善您的体验，请接受全部 Cookie 或更改设置。")[0]
    parts = "".join(f"<h2>第{n}部分</h2><p>{with_fact_zh()}</p>" for n in range(4))
    made.write("site/差旅.html", page.replace(banner, banner_zh).format(f"<h1>差旅</h1>{parts}"))


def _pdf(made: Planted, with_fact: Texts, folder: Path) -> None:
    head = made.lines("Acme Handbook, edition of 2024", "of the handbook, page")[0]
    parts = "".join(
        f"<h2>Section {n}</h2><p>{broken(with_fact())}</p><p>{broken(with_fact())}</p><p>{broken(with_fact())}</p>"
        for n in range(8)
    )
    html = (
        f"<html lang=en><head><meta charset=utf-8><title>Handbook</title><style>@page {{size: A4; margin: 25mm 20mm; "
        f"@top-center {{content: '{head}'}} @bottom-center {{content: 'of the handbook, page ' counter(page)}} }} "
        f"body {{font: 10pt DejaVu Sans; text-align: justify}} main {{columns: 2}}</style></head><body>"
        f"<h1>Handbook of Acme</h1><main>{parts}</main></body></html>"
    )
    made.write("handbook.pdf", printed(html, folder))


def _more(made: Planted, with_fact: Texts, with_fact_zh: Texts, folder: Path) -> None:
    """The other endings, and the other language of each format."""
    made.write("rules/leave.markdown", "".join(f"# Leave {n}\n\n{with_fact()}\n\n{with_fact()}\n\n" for n in range(2)))
    made.write(
        "rules/pay.md", f"---\ndate: 2024-05-06\n---\n# Pay\n\n{with_fact()}\n\n1. {with_fact()}\n2. {with_fact()}\n"
    )
    made.write("rules/terms.text", f"TERMS\n\n{with_fact()}\n\n{with_fact()}\n")
    made.write("rules/报销.txt", f"报销办法\n\n{with_fact_zh()}\n\n{with_fact_zh()}\n")
    made.write("site/faq.htm", f"<title>Questions</title><h1>Questions</h1><p>{with_fact()}</p><p>{with_fact()}</p>")
    body = f"<body><h1>制度</h1><p>{with_fact_zh()}</p><p>{with_fact_zh()}</p></body>"
    made.write(
        "site/制度.xhtml", f"<html xmlns='http://www.w3.org/1999/xhtml'><head><title>制度</title></head>{body}</html>"
    )
    made.write("通知.docx", docx([("休假", [with_fact_zh(), with_fact_zh()])], "通知"))
    made.write("memo.docx", docx([("Memo", [with_fact(), with_fact()])], "Memo"))
    made.write("培训.pptx", pptx([(f"第{n}课", ["要点", with_fact_zh()], "") for n in range(4)], "内部资料，请勿外传"))
    for name, delimiter, text in (("问答.csv", ",", with_fact_zh), ("prices.tsv", "\t", with_fact)):
        rows = io.StringIO()
        csv.writer(rows, delimiter=delimiter).writerows([("title", "text"), *((f"{n}", text()) for n in range(3))])
        made.write(name, rows.getvalue())
    style = "@page {size: A4; margin: 25mm 20mm; @bottom-right {content: counter(page)}} body {font: 11pt sans-serif}"
    cells = "".join(f"<tr><td>City {n}</td><td>{made.fact(f'{n}55 crowns a night')}</td></tr>" for n in range(4))
    for name, head, text, rest in (
        ("minutes.pdf", "Minutes", with_fact, f"<table>{cells}</table>"),
        ("forms.pdf", "Forms", with_fact, f"<ul><li>{with_fact()}</li><li>{with_fact()}</li></ul>"),
        ("手册.pdf", "手册", with_fact_zh, ""),
    ):
        parts = "".join(f"<h2>{head} {n}</h2><p>{text()}</p><p>{text()}</p>" for n in range(3))
        page = f"<meta charset=utf-8><title>{head}</title><style>{style}</style><h1>{head}</h1>{parts}{rest}"
        made.write(name, printed(page, folder))


@pytest.mark.slow
def test_facts_become_passages_and_boilerplate_does_not(planted: Planted) -> None:
    dropped: list[Dropped] = []
    spec = SourceSpec(format="documents", path=f"{planted.folder}/**")
    passages = list(read_source(spec, Passage, dropped.append))
    texts = [" ".join(passage.text.split()) for passage in passages]
    lost = [fact for fact in planted.facts if not any(fact in text for text in texts)]
    left = [line for line in planted.boilerplate if any(line in text for text in texts)]
    facts = 1 - len(lost) / len(planted.facts)
    removed = 1 - len(left) / len(planted.boilerplate)
    figures = (
        f"{sum(path.is_file() for path in planted.folder.rglob('*'))} files: {facts:.0%} of {len(planted.facts)} facts "
        f"whole, {removed:.0%} of {len(planted.boilerplate)} lines removed; "
        f"lost: {lost}; left: {left}; {Counter(drop.reason for drop in dropped)}"
    )
    print(figures)
    assert facts >= LEAST_FACTS, figures
    assert removed >= LEAST_BOILERPLATE, figures
    reasons = {drop.evidence: drop.reason for drop in dropped}
    unreadable = Counter(drop.reason for drop in dropped if drop.reason not in ("boilerplate", "table of contents"))
    assert unreadable["encrypted"] == unreadable["empty"] == unreadable["no text layer"] == 1, reasons
    assert unreadable["damaged"] == unreadable["too large"] == 1, reasons
    assert unreadable["near-duplicate"] >= 4, figures
    assert {passage.language for passage in passages if re.search("[\u4e00-\u9fff]", passage.source.id)} == {"zh"}
    places = {passage.place.page for passage in passages if passage.place and passage.place.document == "handbook.pdf"}
    assert {1, 2} <= places
