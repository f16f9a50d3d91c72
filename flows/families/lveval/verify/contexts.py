"""Proves that each context has its length, holds what it says, and holds no other answer."""

import re
from collections.abc import Iterable, Iterator

import xxhash

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify import placement
from flows.families.lveval.verify.answers import answer_problems, keyword_problems
from flows.families.lveval.verify.case import Case, Span
from flows.families.lveval.verify.levels import Levels
from flows.families.lveval.verify.origins import Origins
from flows.families.lveval.verify.replacements import replacement_problems, rule_problems
from flows.families.lveval.verify.search import SearchableTexts, duplicate_problems
from flows.families.lveval.verify.texts import LONGEST_SENTENCE, count
from flows.language import language_of
from schemas.lveval import LongContext

TOLERANCE = 0.01  # share of the level by which a context may be longer or shorter
SHORT_LEVEL = 16_000  # below it, a context may miss its level by a sentence
_LEVEL = re.compile(r"([1-9][0-9]*)(k?)")
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\n\t")


def verify_contexts(rows: Iterable[LongContext], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that contexts have their length, hold what they say and no other answer, and agree with other rows."""
    levels, origins = Levels(), Origins.of(ctx)
    for row in rows:
        released, _, level = row.dataset.rpartition("_")
        dataset = datasets.BY_RELEASED.get(released)
        if dataset is None:
            yield Fault(id=row.id, problem=f"no dataset is called {row.dataset!r}")
            continue
        problems = [*_row_problems(row, dataset, level, ctx.settings.header), *levels.add(row, dataset)]
        problems += origins.problems(row, dataset)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)
    yield from levels.faults()


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
        placed = placement.headers(row.context, header)
        yield from placement.header_problems(row.context, placed)
        spans = placement.passages(row.context, placed)
    if problems := list(placement.order_problems(row)):
        yield from problems
        return
    case = Case(
        row,
        dataset,
        language_of(dataset.language),
        spans,
        [placement.within(position, spans) for position in row.positions],
    )
    distracting = SearchableTexts(placement.distracting_texts(case), case.code)
    yield from placement.source_problems(case)
    yield from placement.support_problems(case)
    yield from placement.fact_problems(case)
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
