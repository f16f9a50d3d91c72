"""TimeQA: questions on a page whose answers change with time (Chen et al. 2021)."""

from collections.abc import Iterator, Sequence

from data.sources.files import json_rows
from data.sources.spec import NO_OFFSET, Entry, Row, SourceSpec, shortened


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Each question of each page, with the paragraph in which its first answer stands, tokenised as it is.

    An answer that stands in another paragraph is kept, without a start. Where there is none, the source
    gives one empty answer.
    """
    for row in json_rows(spec.path):
        id_, paragraphs = row.label("index"), _paragraphs(row)
        for number, (question, given) in enumerate(row.pairs("questions", list), start=1):
            asked = Row(row.file, f"{row.place}, question {number}", {"answers": given})
            answers = [answer for answer in asked.rows("answers", "answer") if answer.text("answer").strip()]
            places = [_place(answer, paragraphs) for answer in answers]
            values = {
                "question": question.strip(),
                "answers": tuple(answer.text("answer") for answer in answers),
                "answer_starts": tuple(start if where == places[0][0] else NO_OFFSET for where, start in places),
                "evidence": paragraphs[places[0][0]] if places else None,
                "title": paragraphs[0].strip() or None,
            }
            yield Entry(f"{id_}#{number}", values, evidence=question)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Each paragraph of each page but the first, which is the title."""
    for row in json_rows(spec.path):
        id_, paragraphs = row.label("index"), _paragraphs(row)
        for number, text in enumerate(paragraphs[1:], start=1):
            values = {"text": text, "title": paragraphs[0].strip() or None}
            yield Entry(f"{id_}, paragraph {number}", values, evidence=shortened(text))


def _paragraphs(row: Row) -> Sequence[str]:
    paragraphs = row.texts("paras")
    if not paragraphs:
        raise row.error('expected field "paras" to start with the title, found an empty list', "correct the row")
    return paragraphs


def _place(answer: Row, paragraphs: Sequence[str]) -> tuple[int, int]:
    """The number of the answer's paragraph, and its start there."""
    number, start = answer.offset("para"), answer.offset("from")
    if not 0 <= number < len(paragraphs):
        raise answer.error(f'expected field "para" to be 0 to {len(paragraphs) - 1}, found {number}', "correct the row")
    return number, start
