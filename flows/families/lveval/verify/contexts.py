"""Proves that each context has its length, contains what it claims where it claims, and contains no other answer."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import xxhash

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.answers import answer_problems, keyword_problems, replacement_problems, rule_problems
from flows.families.lveval.verify.case import CLOSING, LONGEST_SENTENCE, Case, Span, count, sha256, short
from flows.families.lveval.verify.origins import Levels, Origins
from flows.families.lveval.verify.search import SearchableTexts, duplicate_problems
from flows.language import language_of
from schemas.lveval import LongContext, Position

TOLERANCE = 0.01  # share of the level by which a context may be longer or shorter
SHORT_LEVEL = 16_000  # below it, a context may miss its level by a sentence
_LEVEL = re.compile(r"([1-9][0-9]*)(k?)")
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\n\t")
_MARK = 987_654_321
_WINDOW = 200  # characters before and after a place that tell whether a sentence ends there
_PARAGRAPH = {"en": re.compile(r"\n[^\S\n]*\n"), "zh": re.compile(r"\n")}
_ENDED = {"en": re.compile(rf"[.!?…]{CLOSING}\Z"), "zh": re.compile(rf"[。！？；…!?;．]{CLOSING}\Z")}
_ABBREVIATED = {
    "en": re.compile(r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|vs|Gen|Col|Capt|Sen|Rev|Mt))\.\Z"),
    "zh": re.compile(r"(?!)"),
}
_GOES_ON = {
    "en": re.compile(r"[a-zß-öø-ÿ”’)\]},.;:!?…%]"),
    "zh": re.compile(r"[。！？!?…．”’」』）)》〉，、；：]"),
}


def verify_contexts(rows: Iterable[LongContext], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that contexts have their length, contain what they claim and no other answer, and agree with other rows."""
    levels, origins = Levels(), Origins.of(ctx)
    for row in rows:
        level = row.dataset.rpartition("_")[2]
        try:
            dataset = datasets.dataset_of_row(row.model_dump(include=set(datasets.OF_DATASET)))
        except KeyError:
            yield Fault(id=row.id, problem=f"no dataset is called {row.dataset!r}")
            continue
        problems = [*_row_problems(row, dataset, level, ctx.settings.header), *levels.add(row, dataset)]
        problems += _feature_problems(row, dataset, ctx)
        problems += origins.problems(row, dataset)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)
    yield from levels.faults()


def _feature_problems(row: LongContext, dataset: Dataset, ctx: VerifyContext) -> Iterator[str]:
    """Check that a dataset that is none of the paper's is the one in the settings."""
    if dataset.own:
        known = ctx.settings.known.get(dataset.name)
        if known is None:
            yield f"no dataset of the configuration is called {dataset.name!r}"
        elif (features := dataset.features) != known.features:
            yield f"its dataset has {features}, in the configuration {known.features}"


def _row_problems(row: LongContext, dataset: Dataset, level: str, header: str) -> Iterator[str]:
    if row.level != level:
        yield f"its level is {row.level!r}, its dataset {row.dataset!r}"
    if row.language != dataset.language:
        yield f"its language is {row.language!r}, that of {dataset.released} {dataset.language!r}"
    try:
        written = row.context.encode()
    except UnicodeEncodeError as error:
        yield f"the context cannot be written in UTF-8: {error.reason} at character {error.start}"
        return
    if len(written.translate(None, _CONTROLS)) != len(written):
        at = next(place for place, sign in enumerate(row.context) if sign < " " and sign not in "\n\t")
        yield f"the context holds the control character {row.context[at]!r} at character {at}"
    if (checksum := xxhash.xxh3_128_hexdigest(written)) != row.context_xxh3:
        yield f"context_xxh3 is {row.context_xxh3}, that of the context {checksum}"
    yield from _length_problems(row, dataset, level)
    spans = [Span(0, len(row.context))]
    if not dataset.recalls_fact:
        placed = headers(row.context, header)
        yield from header_problems(row.context, placed)
        spans = passages(row.context, placed)
    if problems := list(order_problems(row)):
        yield from problems
        return
    case = Case(
        row,
        dataset,
        language_of(dataset.language),
        spans,
        [within(position, spans) for position in row.positions],
    )
    distracting = SearchableTexts(distracting_texts(case), case.code)
    yield from source_problems(case)
    yield from support_problems(case)
    yield from fact_problems(case)
    yield from rule_problems(row.replacements, case.code)
    yield from replacement_problems(case, distracting)
    yield from answer_problems(case, distracting)
    yield from duplicate_problems(case, distracting)
    yield from keyword_problems(row.answer_keywords, row.answers[0] if row.answers else "", dataset)


def _length_problems(row: LongContext, dataset: Dataset, level: str) -> Iterator[str]:
    length = count(row.context, dataset.language)
    if row.length != length:
        yield f"its length is said to be {row.length:,}, and is {length:,}"
    if (match := _LEVEL.fullmatch(level)) is None:
        yield f"{level!r} is no level: expected a number of words, as 16k or 800"
        return
    wanted = int(match[1]) * (1000 if match[2] else 1)
    allowed = TOLERANCE * wanted
    if wanted < SHORT_LEVEL:
        allowed = max(allowed, LONGEST_SENTENCE[dataset.language])
    if abs(length - wanted) > allowed:
        yield f"the context has {length:,} words, expected {wanted:,} within {allowed:,.0f}"


class _Header(NamedTuple):
    number: int
    start: int
    end: int


def headers(context: str, header: str) -> list[_Header]:
    """Return the headers at the beginnings of lines."""
    before, _, after = header.format(number=_MARK).partition(str(_MARK))
    matches = re.finditer(f"{re.escape(before)}([0-9]+){re.escape(after)}", context)
    places = (_Header(int(match[1]), *match.span()) for match in matches)
    return [match for match in places if context[match.start - 1 : match.start] in ("", "\n")]


def header_problems(context: str, headers: Sequence[_Header]) -> Iterator[str]:
    if not headers:
        yield "the context has no passage headers"
        return
    if context[: headers[0].start].strip():
        yield "text stands before the first header"
    for expected, header in enumerate(headers, 1):
        if header.number != expected:
            yield f"the header of passage {header.number} stands where that of passage {expected} is expected"
            return
    for number, (start, end) in enumerate(passages(context, headers), 1):
        if not context[start:end].strip():
            yield f"passage {number} is empty"


def passages(context: str, headers: Sequence[_Header]) -> list[Span]:
    """Return the documents' places, each from the end of its header to the next header."""
    starts = [header.start for header in headers] + [len(context)]
    return [Span(header.end, end) for header, end in zip(headers, starts[1:], strict=True)]


def order_problems(row: LongContext) -> Iterator[str]:
    for position in row.positions:
        if not 0 <= position.start < position.end <= len(row.context):
            yield f"position {position.start} to {position.end} of {position.source!r} lies outside the context"
    for position, following in pairwise(row.positions):
        if following.start < position.end:
            yield f"the positions of {position.source!r} and {following.source!r} overlap or are not in order"


def within(position: Position, spans: Sequence[Span]) -> int | None:
    """Return the number of the document that the position lies in."""
    number = bisect_right(spans, position.start, key=lambda span: span.start) - 1
    return number if number >= 0 and position.end <= spans[number].end else None


def source_problems(case: Case) -> Iterator[str]:
    """Check that each source stands once, as it was before re"""
    row = case.row
    expected = {source.id: source.sha256 for source in row.sources}
    placed = [position.source for position, _ in case.of_kind("support")]
    if not row.sources:
        yield "it names no source document"
    if len(expected) != len(row.sources):
        yield "a source document is named twice"
    for name in expected:
        if (times := placed.count(name)) != 1:
            yield f"the supporting document {name!r} stands {times} times, expected once"
    for position, _ in case.of_kind("support"):
        if position.source not in expected:
            yield f"the supporting document {position.source!r} is none of the sources"
            continue
        checksum = sha256(case.undone(case.text(position)))
        if checksum != expected[position.source]:
            yield (
                f"the supporting document {position.source!r} is not its source: SHA-256 before replacement is "
                f"{checksum}, expected {expected[position.source]}"
            )


def support_problems(case: Case) -> Iterator[str]:
    """Check that each supporting document is a whole passage, and that those of a unit follow each other.

    A recalled fact is between two sentences of the book.
    """
    numbers = []
    for position, number in case.of_kind("support"):
        if number is None:
            yield f"the supporting document {position.source!r} stands in no passage"
            continue
        numbers.append(number)
        start, end = case.spans[number]
        outside = case.row.context[start : position.start] + case.row.context[position.end : end]
        if case.dataset.recalls_fact:
            if not _between_sentences(case, position, case.spans[number]):
                yield f"the fact {position.source!r} stands inside a sentence"
        elif outside.strip():
            yield f"the supporting document {position.source!r} is not the whole of passage {number + 1}"
    if not (case.dataset.scattered or case.dataset.recalls_fact):
        for number, following in pairwise(numbers):
            if following != number + 1:
                yield f"the supporting documents are no unit: passage {following + 1} follows passage {number + 1}"


def fact_problems(case: Case) -> Iterator[str]:
    """Check that each confusing fact occurs once, between two sentences of a distracting document."""
    row = case.row
    if row.confusing_facts and not case.dataset.confusing_facts:
        yield f"{case.dataset.released} has no confusing facts, and the row has {len(row.confusing_facts)}"
    if len(set(row.confusing_facts)) != len(row.confusing_facts):
        yield "a confusing fact is listed twice"
    placed = case.of_kind("confusing")
    texts = [case.text(position) for position, _ in placed]
    for fact in row.confusing_facts:
        if (times := texts.count(fact)) != 1:
            yield f"the confusing fact {short(fact)} has {times} positions, expected one"
        others = [position for position, _ in placed if case.text(position) != fact]
        if times and (standing := _stands(row.context, fact, others)) > times:
            yield f"the confusing fact {short(fact)} stands {standing} times in the context, expected once"
    ids = [position.source for position, _ in placed]
    if len(set(ids)) != len(ids):
        yield "two positions are of the same confusing fact's id"
    supported = {number for _, number in case.of_kind("support") if not case.dataset.recalls_fact}
    for (position, number), text in zip(placed, texts, strict=True):
        if text not in row.confusing_facts:
            yield f"at {position.start} to {position.end} stands {short(text)}, which is no confusing fact"
        elif number is None:
            yield f"the confusing fact {short(text)} stands in no passage"
        elif number in supported:
            yield f"the confusing fact {short(text)} stands in passage {number + 1}, which supports the answer"
        elif not _between_sentences(case, position, case.spans[number]):
            yield f"the confusing fact {short(text)} stands inside a sentence"


def _stands(context: str, fact: str, others: Sequence[Position]) -> int:
    """Return how often `fact` occurs in the context, not counting inside another fact."""
    times, at = 0, context.find(fact)
    while at >= 0:
        times += not any(other.start <= at and at + len(fact) <= other.end for other in others)
        at = context.find(fact, at + 1)
    return times


def _between_sentences(case: Case, position: Position, span: Span) -> bool:
    """Return whether a sentence ends before the position, if text precedes it, and another begins after it."""
    context = case.row.context
    before = context[max(span.start, position.start - _WINDOW) : position.start].rstrip()
    after = context[position.end : min(span.end, position.end + _WINDOW)].lstrip()
    ended = not before or (_ENDED[case.code].search(before) and not _ABBREVIATED[case.code].search(before))
    return bool(ended) and not _GOES_ON[case.code].match(after)


def distracting_texts(case: Case) -> list[str]:
    """Return the texts that do not support the answer, without headers and confusing facts."""
    context, texts = case.row.context, []
    inside: dict[int, list[Position]] = {}
    for position, number in zip(case.row.positions, case.within, strict=True):
        if number is not None:
            inside.setdefault(number, []).append(position)
    for number, span in enumerate(case.spans):
        at, text = span.start, ""
        for position in inside.get(number, ()):
            text, at = text + context[at : position.start], position.end
            if position.kind == "support":
                texts.append(text)
                text = ""
        texts.append(text + context[at : span.end])
    if case.dataset.recalls_fact:
        texts = [paragraph for text in texts for paragraph in _PARAGRAPH[case.code].split(text)]
    return [text for text in texts if not text.isspace() and text]
