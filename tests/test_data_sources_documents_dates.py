"""The dates that documents state themselves: where they are found, and that no id has them."""

import datetime
import io
import re
import zipfile
from pathlib import Path

import pytest
from docx import Document
from pptx import Presentation

from data.sources.dates import iso_date
from tests.documents import LONG, SENTENCE, docx, paragraph, pdf, pptx, read, sentences, written


def dated(stated: str) -> dict[str, str | bytes]:
    """Documents of the formats that state a date, with this one."""
    word, slides = io.BytesIO(), io.BytesIO()
    made = Document(io.BytesIO(docx([("Leave", [LONG])], "Staff rules")))
    deck = Presentation(io.BytesIO(pptx([("Plan", [sentences(9)], "")], "Acme")))
    for file, stream in ((made, word), (deck, slides)):
        file.core_properties.modified = datetime.datetime.fromisoformat(stated)
        file.save(stream)
    compact = "".join(filter(str.isdigit, stated))
    return {
        "a.md": f"---\ndate: {stated}\n---\n{sentences(10, 'A clerk')}",
        "b.html": f"<head><meta name=date content=2001-01-01><meta property='article:modified_time' content='{stated}'>"
        f"</head><body><p>{sentences(10, 'A cook')}</p><p>{sentences(10, 'A nurse')}</p></body>",
        "c.pdf": pdf([paragraph(70, 700, [SENTENCE])], title=f"Rules) /ModDate (D:{compact}+01'00'"),
        "d.docx": word.getvalue(),
        "e.pptx": slides.getvalue(),
    }


def test_a_passage_has_the_date_that_its_document_states_and_no_id_has_it(tmp_path: Path) -> None:
    first, second = (
        read(written(tmp_path / time[:4], dated(time)), words=[10, 100])[0]
        for time in ("2024-01-31T23:30:00", "2025-12-01T00:10:00")
    )
    assert {(record.place.document, record.place.date) for record in first if record.place} == {
        (name, "2024-01-31") for name in dated("2024-01-31T23:30:00")
    }
    assert {record.place.date for record in second if record.place} == {"2025-12-01"}
    assert [(record.id, record.key, str(record.place)) for record in first] == [
        (record.id, record.key, str(record.place)) for record in second
    ]
    assert first[0].place is not None
    assert first[0].place.dated == "a.md (2024-01-31)"


@pytest.mark.parametrize(
    ("stated", "date"),
    [("2024-02-29T10:00Z", "2024-02-29"), ("2023-02-29", None), ("20240131", "2024-01-31"), ("2024/1/5", "2024-01-05"),
     ("20240131120000Z", "2024-01-31"), ("1611111111", None), ("31 January 2024", None), ("", None)],
)  # fmt: skip
def test_a_stated_date_begins_with_the_year(stated: str, date: str | None) -> None:
    assert iso_date(stated) == date


def test_a_file_without_properties_was_not_made_just_now(tmp_path: Path) -> None:
    whole = zipfile.ZipFile(io.BytesIO(docx([("Leave", [LONG])], "Staff rules")))
    bare = io.BytesIO()
    with zipfile.ZipFile(bare, "w") as archive:
        for name in set(whole.namelist()) - {"docProps/core.xml"}:
            content = whole.read(name)
            if name == "_rels/.rels":
                content = re.sub(rb"<Relationship [^>]*core-properties[^>]*>", b"", content)
            archive.writestr(name, content)
    records, _ = read(written(tmp_path, {"a.docx": bare.getvalue()}))
    assert [(record.title, record.place and record.place.date) for record in records] == [("Staff rules", None)]
