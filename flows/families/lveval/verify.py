"""Proves of LV-Eval's finished rows that each is what it claims.

It shares nothing with the builder but the schemas, the language, the scorer's words and the list of datasets: what it
finds out again, it finds out by its own code. Rows are read one at a time, and a context is forgotten before
the next: what is kept of a pair, to compare its levels, are checksums.
"""

import hashlib
import re
import textwrap
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray
from pydantic import ValidationError

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.facts import packaged_fact
from flows.language import Language, keywords, language_of
from flows.language.beside import speaks_of_another
from flows.language.boundaries import boundaries
from flows.language.en.names import is_of_a_people, same_name
from flows.language.other_names import other_names
from flows.scoring.words import WORDS, released_blacklist
from schemas.base import content_hash, key_of
from schemas.lveval import (
    AnswerKeywords,
    ConfusingFact,
    LongContext,
    Pair,
    PoolDocument,
    Position,
    Replacements,
    Rule,
    RuleConflicts,
)
from schemas.source import QASource
from schemas.verdict import Verdict

TOLERANCE = 0.01
"""Share of the level by which a context may be longer or shorter."""
SHORT_LEVEL = 16_000
"""Below it a context may miss its level by a sentence."""
LONGEST_SENTENCE = {"en": 60, "zh": 120}
"""Words (characters) of a sentence that is an excuse."""
PLACE_TOLERANCE = 0.015
"""Share of the context by which a recalled fact may stand beside its place."""
SHINGLE = {"en": 8, "zh": 20}
"""Words (characters) in a shingle."""
DUPLICATE_FROM = 0.5
"""Share of common shingles, in those of the shorter text, from which on two texts are near-duplicates."""
LEAST_IN_COMMON = {"en": 2, "zh": 2}
"""Content words (characters) of question or original fact that a confusing fact holds."""
LONGEST_FACT = {"en": 120, "zh": 240}
"""Words (characters) of a confusing fact."""
YES_OR_NO = frozenset(
    ("yes", "no", "是", "否", "是的", "不是", "对", "不对", "有", "没有", "能", "不能", "可以", "不可以", "会", "不会")
)

_LEVEL = re.compile(r"([1-9][0-9]*)(k?)")
_SHARED = ("input", "answers", "answer_keywords", "replacements", "sources", "confusing_facts")
"""What is the same at all levels of a pair."""
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\n\t")
_BASE = np.uint64(0x9E3779B97F4A7C15)
_TABLE_BITS = 20
_SUSPECT_FROM = DUPLICATE_FROM / 2
"""Share of the shingles by which a text is looked at closely: repetitions in it are counted here."""
_NO_LETTERS = re.compile(r"[\W_]+")
_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BORDER = "\n\0\n"
"""Between texts that are searched together: no phrase stands across it."""
_YEAR_AFTER = re.compile(r",? [12]\d{3}\b")
_MARK = 987_654_321
_WINDOW = 200
"""Characters before and after a place that tell whether a sentence ends there."""

_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_EMPTY_HAN = frozenset(
    "的了着过地得之是在于与和及或而但也都就还又则并且以为被把将对从由向到等其该这那此他她它有一个所者不无我你们"
    "什么谁哪如何怎样多少几年月日"
)
_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’']*")
_NAME_AT_FIRST = re.compile(r"(?:[A-ZÀ-ÖØ-Þ0-9][\w’'.-]*[\s,]*(?:(?:of|the|and|for|in|de|la|von|van)\s+)*)*")

_PARAGRAPH = {"en": re.compile(r"\n[^\S\n]*\n"), "zh": re.compile(r"\n")}
_CLOSING = r"[\"'”’」』）)》〉\]*_]*"
_ENDED = {"en": re.compile(rf"[.!?…]{_CLOSING}\Z"), "zh": re.compile(rf"[。！？；…!?;．]{_CLOSING}\Z")}
_ABBREVIATED = {
    "en": re.compile(r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|vs|Gen|Col|Capt|Sen|Rev|Mt))\.\Z"),
    "zh": re.compile(r"(?!)"),
}
_GOES_ON = {
    "en": re.compile(r"[a-zß-öø-ÿ”’)\]},.;:!?…%]"),
    "zh": re.compile(r"[。！？!?…．”’」』）)》〉，、；：]"),
}
_DECLARED = {"en": re.compile(rf"[.!…]{_CLOSING}\Z"), "zh": re.compile(rf"[。！….!．]{_CLOSING}\Z")}


def verify_contexts(rows: Iterable[LongContext], ctx: VerifyContext) -> Iterator[Fault]:
    """Each context is of its length, holds all that it says and nothing else that answers; levels and parts agree."""
    levels, origins = _Levels(), _Origins.of(ctx)
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


def verify_sources(rows: Iterable[LongContext], documents: Mapping[str, str]) -> Iterator[Fault]:
    """The checksums of the supporting documents are those of `documents`: id to text, as read again."""
    known: dict[str, str] = {}
    for row in rows:
        for source in row.sources:
            if source.id not in documents:
                yield Fault(id=row.id, problem=f"the source document {source.id!r} is not among those read")
                continue
            if source.id not in known:
                known[source.id] = _sha256(documents[source.id])
            if (found := known[source.id]) != source.sha256:
                problem = f"the source document {source.id!r} has SHA-256 {found}, expected {source.sha256}"
                yield Fault(id=row.id, problem=problem)


def verify_against_sources(
    rows: Iterable[LongContext], sources: Iterable[QASource], ctx: VerifyContext
) -> Iterator[Fault]:
    """`verify_sources` with the questions as they are read again, and the fact records."""
    plain = {f"{name}#fact": _fact_of(name, ctx) for name, one in datasets.BY_NAME.items() if one.recalls_fact}
    titled: dict[str, str] = {}
    for source in sources:
        name = source.source.source
        own = [(one.id, one.title, one.text) for one in source.documents]
        for number, title, text in own or [(source.source.id, source.title, source.evidence or "")]:
            cleaned = text.replace("\r\n", "\n").replace("\r", "\n").strip()
            plain[f"{name}#{number}"] = cleaned
            titled[f"{name}#{number}"] = f"{title}\n{cleaned}" if title else cleaned
    for row in rows:
        dataset = datasets.BY_RELEASED[row.dataset.removesuffix(f"_{row.level}")]
        yield from verify_sources([row], titled if dataset.titled else plain)


def _fact_of(name: str, ctx: VerifyContext) -> str:
    own = ctx.settings.datasets.get(name)
    fact = own.fact if own is not None and own.fact is not None else packaged_fact(datasets.BY_NAME[name].language)
    return fact.fact


# ---- one context ----


class _Span(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True)
class _Case:
    """A row with what its checks ask again and again."""

    row: LongContext
    dataset: Dataset
    language: Language
    spans: Sequence[_Span]
    """Where the documents stand, each from the end of its header to the next; a book is one document."""
    within: Sequence[int | None]
    """For each of the row's positions, the number of the document that it stands in."""

    @property
    def code(self) -> str:
        return self.dataset.language

    @cached_property
    def rules(self) -> list[tuple[str, str]]:
        """Those that can be looked for; the others are a fault of the row."""
        sides = ((rule.old, rule.new) for rule in self.row.replacements)
        return [(old, new) for old, new in sides if _says_something(old) and _says_something(new)]

    def text(self, position: Position) -> str:
        return self.row.context[position.start : position.end]

    def undone(self, text: str) -> str:
        """The text as it was before replacement."""
        return keywords.undo(text, self.rules, self.code) if self.rules else text

    def of_kind(self, kind: str) -> list[tuple[Position, int | None]]:
        """The positions of a kind, each with the number of its document."""
        places = zip(self.row.positions, self.within, strict=True)
        return [(position, number) for position, number in places if position.kind == kind]


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
    if (found := xxhash.xxh3_128_hexdigest(written)) != row.context_xxh3:
        yield f"context_xxh3 is {row.context_xxh3}, that of the context {found}"
    yield from _length_problems(row, dataset, level)
    spans = [_Span(0, len(row.context))]
    if not dataset.recalls_fact:
        headers = _headers(row.context, header)
        yield from _header_problems(row.context, headers)
        spans = _passages(row.context, headers)
    if problems := list(_order_problems(row)):
        yield from problems
        return
    case = _Case(row, dataset, language_of(dataset.language), spans, [_within(one, spans) for one in row.positions])
    stock = _Stock(_distracting(case), case.code)
    yield from _source_problems(case)
    yield from _support_problems(case)
    yield from _fact_problems(case)
    yield from _rule_problems(row.replacements, case.code)
    yield from _replacement_problems(case, stock)
    yield from _answer_problems(case, stock)
    yield from _duplicate_problems(case, stock)
    yield from _keyword_problems(row.answer_keywords, row.answers[0] if row.answers else "", dataset)


def _length_problems(row: LongContext, dataset: Dataset, level: str) -> Iterator[str]:
    length = _count(row.context, dataset.language)
    if row.length != length:
        yield f"its length is said to be {row.length:,}, and is {length:,}"
    if (found := _LEVEL.fullmatch(level)) is None:
        yield f"{level!r} is no level: expected a number of words, as 16k or 800"
        return
    wanted = int(found[1]) * (1000 if found[2] else 1)
    allowed = TOLERANCE * wanted
    if wanted < SHORT_LEVEL:
        allowed = max(allowed, LONGEST_SENTENCE[dataset.language])
    if abs(length - wanted) > allowed:
        yield f"the context has {length:,} words, expected {wanted:,} within {allowed:,.0f}"


def _count(text: str, code: str) -> int:
    """Words of `text`, or characters in Chinese, white space not counted."""
    words = text.split()
    return sum(map(len, words)) if code == "zh" else len(words)


# ---- documents and positions ----


class _Header(NamedTuple):
    number: int
    start: int
    end: int


def _headers(context: str, header: str) -> list[_Header]:
    """The headers, at the beginnings of lines."""
    before, _, after = header.format(number=_MARK).partition(str(_MARK))
    found = re.finditer(f"{re.escape(before)}([0-9]+){re.escape(after)}", context)
    places = (_Header(int(one[1]), *one.span()) for one in found)
    return [one for one in places if context[one.start - 1 : one.start] in ("", "\n")]


def _header_problems(context: str, headers: Sequence[_Header]) -> Iterator[str]:
    if not headers:
        yield "the context has no passage headers"
        return
    if context[: headers[0].start].strip():
        yield "text stands before the first header"
    for expected, one in enumerate(headers, 1):
        if one.number != expected:
            yield f"the header of passage {one.number} stands where that of passage {expected} is expected"
            return
    for number, (start, end) in enumerate(_passages(context, headers), 1):
        if not context[start:end].strip():
            yield f"passage {number} is empty"


def _passages(context: str, headers: Sequence[_Header]) -> list[_Span]:
    """Where the documents stand, each from the end of its header to the next."""
    starts = [one.start for one in headers] + [len(context)]
    return [_Span(one.end, end) for one, end in zip(headers, starts[1:], strict=True)]


def _order_problems(row: LongContext) -> Iterator[str]:
    for one in row.positions:
        if not 0 <= one.start < one.end <= len(row.context):
            yield f"position {one.start} to {one.end} of {one.source!r} lies outside the context"
    for one, other in pairwise(row.positions):
        if other.start < one.end:
            yield f"the positions of {one.source!r} and {other.source!r} overlap or are not in order"


def _within(position: Position, spans: Sequence[_Span]) -> int | None:
    """The number of the document that the position lies in."""
    number = bisect_right(spans, position.start, key=lambda span: span.start) - 1
    return number if number >= 0 and position.end <= spans[number].end else None


def _source_problems(case: _Case) -> Iterator[str]:
    """Each source stands once, as it was before replacement."""
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
        found = _sha256(case.undone(case.text(position)))
        if found != expected[position.source]:
            yield (
                f"the supporting document {position.source!r} is not its source: SHA-256 before replacement is "
                f"{found}, expected {expected[position.source]}"
            )


def _support_problems(case: _Case) -> Iterator[str]:
    """Each supporting document is the whole of a passage, and those of a unit follow each other.

    A recalled fact stands between two sentences of the book.
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
        for one, other in pairwise(numbers):
            if other != one + 1:
                yield f"the supporting documents are no unit: passage {other + 1} follows passage {one + 1}"


def _fact_problems(case: _Case) -> Iterator[str]:
    """Each confusing fact stands once, between two sentences of a distracting document."""
    row = case.row
    if row.confusing_facts and not case.dataset.confusing_facts:
        yield f"{case.dataset.released} has no confusing facts, and the row has {len(row.confusing_facts)}"
    if len(set(row.confusing_facts)) != len(row.confusing_facts):
        yield "a confusing fact is listed twice"
    placed = case.of_kind("confusing")
    texts = [case.text(position) for position, _ in placed]
    for fact in row.confusing_facts:
        if (times := texts.count(fact)) != 1:
            yield f"the confusing fact {_short(fact)} has {times} positions, expected one"
        others = [position for position, _ in placed if case.text(position) != fact]
        if times and (standing := _stands(row.context, fact, others)) > times:
            yield f"the confusing fact {_short(fact)} stands {standing} times in the context, expected once"
    ids = [position.source for position, _ in placed]
    if len(set(ids)) != len(ids):
        yield "two positions are of the same confusing fact's id"
    supported = {number for _, number in case.of_kind("support") if not case.dataset.recalls_fact}
    for (position, number), text in zip(placed, texts, strict=True):
        if text not in row.confusing_facts:
            yield f"at {position.start} to {position.end} stands {_short(text)}, which is no confusing fact"
        elif number is None:
            yield f"the confusing fact {_short(text)} stands in no passage"
        elif number in supported:
            yield f"the confusing fact {_short(text)} stands in passage {number + 1}, which supports the answer"
        elif not _between_sentences(case, position, case.spans[number]):
            yield f"the confusing fact {_short(text)} stands inside a sentence"


def _stands(context: str, fact: str, others: Sequence[Position]) -> int:
    """How often `fact` stands in the context, not counted inside another fact."""
    times, at = 0, context.find(fact)
    while at >= 0:
        times += not any(one.start <= at and at + len(fact) <= one.end for one in others)
        at = context.find(fact, at + 1)
    return times


def _between_sentences(case: _Case, position: Position, span: _Span) -> bool:
    """Whether the text before ends as a sentence does, if there is any, and the text after begins as one does."""
    context = case.row.context
    before = context[max(span.start, position.start - _WINDOW) : position.start].rstrip()
    after = context[position.end : min(span.end, position.end + _WINDOW)].lstrip()
    ended = not before or (_ENDED[case.code].search(before) and not _ABBREVIATED[case.code].search(before))
    return bool(ended) and not _GOES_ON[case.code].match(after)


# ---- what distracts ----


def _distracting(case: _Case) -> list[str]:
    """The texts of the context that do not support the answer, without headers and confusing facts."""
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


class _Stock:
    """Texts made ready to be searched many times."""

    def __init__(self, texts: Sequence[str], code: str) -> None:
        self.texts = texts
        self.code = code
        self.units = [_units(text, code) for text in texts]
        self.folded = [_folded(units, code) for units in self.units]
        self.whole = _BORDER.join(self.folded)

    def holding(self, phrase: str) -> list[str]:
        """All texts that hold the phrase, and others that hold its letters."""
        wanted = _folded(_units(phrase, self.code), self.code)
        if not wanted or wanted not in self.whole:
            return []
        return [text for text, folded in zip(self.texts, self.folded, strict=True) if wanted in folded]

    def like(self, text: str) -> list[str]:
        """All texts that have half of their shingles, or of those of `text`, in common with it, and some with fewer."""
        size = SHINGLE[self.code]
        own = _units(text, self.code)
        if len(own) < size or not self.texts:
            same = _folded(own, self.code)
            return [other for other, folded in zip(self.texts, self.folded, strict=True) if folded == same]
        marks = np.unique(_rolled(_values([own], self.code), size))
        table = np.zeros(1 << _TABLE_BITS, np.bool_)
        table[marks >> np.uint64(64 - _TABLE_BITS)] = True
        hits = table[self._marks].astype(np.int64)
        lengths = np.fromiter(map(len, self.units), np.int64, len(self.units))
        starts = np.cumsum(lengths) - lengths
        found = np.add.reduceat(np.concatenate((hits, np.zeros(size, np.int64))), np.minimum(starts, len(hits)))
        enough = _SUSPECT_FROM * np.maximum(1, np.minimum(len(marks), lengths - size + 1))
        return [self.texts[place] for place in np.flatnonzero((found >= enough) & (lengths >= size)).tolist()]

    @cached_property
    def _marks(self) -> NDArray[np.uint64]:
        """For each shingle of all texts, one after the other, its place in a table."""
        return _rolled(_values(self.units, self.code), SHINGLE[self.code]) >> np.uint64(64 - _TABLE_BITS)


def _units(text: str, code: str) -> Sequence[str]:
    """The words of a text in lower case, or its characters, in which shingles are measured."""
    if code == "zh":
        return "".join(text.split())
    return text.replace("İ", "I").replace("ſ", "s").replace("’", "'").lower().replace("ς", "σ").split()


def _folded(units: Sequence[str], code: str) -> str:
    """A form in which two spellings meet: no case or width, no difference of white space (in Chinese, no signs)."""
    if code == "zh":
        letters = _NO_LETTERS.sub("", str(units))
        return (letters.translate(_NARROW) if _WIDE.search(letters) else letters).lower()
    return " ".join(units)


def _values(texts: Sequence[Sequence[str]], code: str) -> NDArray[np.uint64]:
    """A number for each unit of the texts, the same for the same ones."""
    if code == "zh":
        return np.frombuffer("".join(map(str, texts)).encode("utf-32-le"), np.uint32).astype(np.uint64)
    return np.fromiter(map(hash, chain.from_iterable(texts)), np.int64, sum(map(len, texts))).view(np.uint64)


def _rolled(values: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """A hash of each run of `size` values, modulo 2^64."""
    number = max(0, len(values) - size + 1)
    total: NDArray[np.uint64] = np.zeros(number, np.uint64)
    for at in range(size):
        total = (total + values[at : at + number]) * _BASE
    return total


# ---- replacements ----


def _rule_problems(rules: Sequence[Rule], code: str) -> Iterator[str]:
    """The rules can be undone: none leads to another, and no two to the same. Rules that differ by case are one."""
    for problem in keywords.problems([(rule.old, rule.new) for rule in rules], code):
        yield f"the rule {problem}"


def _half_renamed(rules: Sequence[tuple[str, str]], text: str, language: Language, code: str) -> Iterator[str]:
    """What a keyword names is replaced in all forms of its name, and by all its names, in `text` as it was before."""
    edits = [(edit.start, edit.end) for edit in keywords.replacer(rules, code).edits(text)]
    for old, new in rules:
        for mention in language.mentions(text, old):
            dated = mention.form == "part" and _YEAR_AFTER.match(text, mention.end)
            if not dated and not any(start < mention.end and mention.start < end for start, end in edits):
                said = text[mention.start : mention.end]
                yield f"{old!r} is replaced by {new!r}, and {said!r} is left: {_around(text[mention.start :], said)}"
                break
        for begin, stop in other_names(text, old, code):
            if not any(start < stop and begin < end for start, end in edits):
                yield f"{old!r} is replaced by {new!r}, and its other name is left: {text[begin:stop]!r}"
                break


def _replacement_problems(case: _Case, stock: _Stock) -> Iterator[str]:
    """No keyword is left, and every substitute stands as the rules put it there."""
    row, rules = case.row, case.rules
    if not rules:
        return
    if not case.dataset.replacements:
        yield f"{case.dataset.released} replaces nothing, and the row has {len(rules)} rules"
    olds = [old for old, _ in rules]
    concerned = dict.fromkeys(text for rule in rules for side in rule for text in stock.holding(side))
    texts = {
        "the question": row.input,
        "the answers": _BORDER.join(row.answers),
        "the answer keywords": row.answer_keywords,
        "the confusing facts": _BORDER.join(row.confusing_facts),
        "the supporting documents": _BORDER.join(case.text(position) for position, _ in case.of_kind("support")),
        "the distracting documents": _BORDER.join(concerned),
    }
    together = _BORDER.join(texts.values())
    if keywords.occurs(together, olds, case.code):
        for where, text in texts.items():
            for old in sorted(keywords.occurs(text, olds, case.code)):
                yield f"the keyword {old!r} is left in {where}"
    own = [texts[where] for where in ("the question", "the answers", "the confusing facts", "the supporting documents")]
    yield from _half_renamed(rules, case.undone(_BORDER.join(own)), case.language, case.code)
    if _put_again(case, together) != together:
        for where, text in texts.items():
            if (again := _put_again(case, text)) != text:
                differ = (one != other for one, other in zip(text, f"{again}\0", strict=False))
                at = next((place for place, different in enumerate(differ) if different), len(again))
                stretch = text[max(0, at - 20) : at + 40].replace(_BORDER, " | ")
                yield f"a substitute in {where} was not put there by the rules: {stretch!r}"


def _put_again(case: _Case, text: str) -> str:
    """The text with its replacements undone, and done again."""
    return keywords.apply(case.undone(text), case.rules, case.code)


def _plain(text: str) -> str:
    """Without difference of case and white space."""
    return " ".join(text.split()).casefold()


def _short(text: str) -> str:
    return repr(textwrap.shorten(text, 60, placeholder=" ...") if " " in text[:60] else text[:60])


def _around(text: str, phrase: str) -> str:
    """What stands around the phrase, or around its first word."""
    at = text.casefold().find(phrase.split(maxsplit=1)[0].casefold())
    return repr(" ".join(text[max(0, at - 30) : at + len(phrase) + 30].split()))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- answers ----


def _answer_problems(case: _Case, stock: _Stock) -> Iterator[str]:
    """The supporting documents answer the question, and nothing else does."""
    row, language = case.row, case.language
    if not any(_says_something(answer) for answer in row.answers):
        yield "it has no answer"
        return
    if row.answer_test == "none":
        if not all(map(_yes_or_no, row.answers)):
            yield f"nothing was made sure of its answer, though {row.answers[0]!r} is no yes or no"
        return
    supports = [case.text(position) for position, _ in case.of_kind("support")]
    if not any(language.contains(text, answer) for text in supports for answer in row.answers):
        yield f"no supporting document holds the answer {row.answers[0]!r}"
    asked = _asked(case) if row.answer_test == "with-question-word" else None
    for answer in dict.fromkeys(row.answers):
        if _yes_or_no(answer):
            continue
        for fact in row.confusing_facts:
            if language.contains(fact, answer):
                yield f"the confusing fact {_short(fact)} holds the answer {answer!r}"
        for text in stock.holding(answer):
            if not _answer_stands(text, answer, case):
                continue
            if asked is None:
                yield f"the answer {answer!r} stands in a distracting document: {_around(text, answer)}"
                break
            if (sentence := _answering(text, answer, asked, case)) is not None:
                yield f"the answer {answer!r} stands in a distracting document with a word asked for: {sentence!r}"
                break


def _asked(case: _Case) -> frozenset[str]:
    """The content words of the question, as it was before replacement, that are no words of an answer."""
    answers = (case.language.content_words(case.undone(answer)) for answer in case.row.answers)
    return case.language.content_words(case.undone(case.row.input)).difference(*answers)


def _answering(text: str, answer: str, asked: frozenset[str], case: _Case) -> str | None:
    """The first sentence that holds the answer together with a word asked for, before replacement."""
    text, answer, language = case.undone(text), case.undone(answer), case.language
    for start, end in pairwise((0, *boundaries(text, case.code), len(text))):
        if _answer_stands(text[start:end], answer, case) and asked & language.content_words(text[start:end]):
            return " ".join(text[start:end].split())
    return None


def _answer_stands(text: str, answer: str, case: _Case) -> bool:
    """Whether the answer stands in a distracting text as whole words: "Neal" does not stand in "O'Neal"."""
    if case.code == "zh":
        return case.language.contains(text, answer)
    return bool(keywords.occurs(text, [answer], case.code))


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _yes_or_no(answer: str) -> bool:
    return _plain(answer).strip(" .,!。，！") in YES_OR_NO


def _keyword_problems(marked: str, answer: str, dataset: Dataset) -> Iterator[str]:
    """Each keyword is a word of the answer."""
    if marked and not dataset.keywords:
        yield f"{dataset.released} has no answer keywords, and here they are {marked!r}"
    language = language_of(dataset.language)
    for keyword in marked.split():
        if not (language.contains(answer, keyword) if dataset.language == "en" else _plain(keyword) in _plain(answer)):
            yield f"the keyword {keyword!r} is no word of the answer {answer!r}"
    telling = set(WORDS[dataset.language](marked)) - released_blacklist(dataset.language)
    if marked.strip() and not telling:
        yield f"the keywords {marked!r} count for nothing: they are on the blacklist"


# ---- near-duplicates ----


def _duplicate_problems(case: _Case, stock: _Stock) -> Iterator[str]:
    """No distracting document is nearly a supporting one, and none stands twice."""
    times = Counter(text.strip() for text in stock.texts)
    if not case.dataset.recalls_fact and len(times) != len(stock.texts):
        yield f"a distracting document stands twice: {_short(times.most_common(1)[0][0])}"
    for position, _ in case.of_kind("support"):
        text = case.text(position)
        for other in stock.like(text):
            if (share := _common(text, other, case.code)) >= DUPLICATE_FROM:
                yield (
                    f"a distracting document has {share:.0%} of its shingles in common with {position.source!r}, "
                    f"expected less than {DUPLICATE_FROM:.0%}: {_short(other)}"
                )


def _common(one: str, other: str, code: str) -> float:
    """Share of the shingles of the shorter text that the other has as well."""
    sets = [_shingles(text, code) for text in (one, other)]
    return len(sets[0] & sets[1]) / max(1, min(map(len, sets)))


def _shingles(text: str, code: str) -> frozenset[tuple[str, ...]]:
    """Each run of so many words (characters); of a text that is shorter, the whole."""
    units = _units(text, code)
    return frozenset(tuple(units[at : at + SHINGLE[code]]) for at in range(max(1, len(units) - SHINGLE[code] + 1)))


# ---- levels ----


@dataclass
class _Levels:
    """What is known of all rows: which pairs stand at which levels, and what they share."""

    shared: dict[tuple[str, str], tuple[str, dict[str, str]]] = field(default_factory=dict)
    """By dataset and pair: the first row's level, and the checksums of what is the same at all levels."""
    rows: dict[str, dict[str, dict[str, dict[int | None, str]]]] = field(default_factory=dict)
    """The rows' ids by dataset, level, pair and depth."""
    places: dict[tuple[str, str, str], list[tuple[int, int, str]]] = field(default_factory=dict)
    """By dataset, level and pair: the depth of each recalled fact, the words before it, and its row's id."""
    contexts: dict[tuple[str, str, str], dict[str, int]] = field(default_factory=dict)
    """By dataset, level and pair: the checksum of each context of a recalled fact, and its depth."""
    depths: dict[tuple[str, str, str], frozenset[int]] = field(default_factory=dict)
    """By dataset, level and pair: the depths that are to be there."""

    def add(self, row: LongContext, dataset: Dataset) -> Iterator[str]:
        """Remember the row; say where it does not go with those before it."""
        values = row.model_dump(mode="json", include=set(_SHARED))
        sums = {name: content_hash(value) for name, value in values.items()}
        level, first = self.shared.setdefault((dataset.name, row.pair_id), (row.level, sums))
        for name in _SHARED:
            if sums[name] != first[name]:
                yield f"the field {name!r} is not as it is at level {level}"
        depths = self.rows.setdefault(dataset.name, {}).setdefault(row.level, {}).setdefault(row.pair_id, {})
        if row.depth in depths:
            where = "" if row.depth is None else f", depth {row.depth}"
            yield f"the pair {row.pair_id} has a second row at level {row.level}{where}"
        depths[row.depth] = row.id
        if (row.depth is not None) != dataset.recalls_fact:
            yield f"its depth is {row.depth}, expected {'a number' if dataset.recalls_fact else 'none'}"
        elif row.depth is not None:
            same = self.contexts.setdefault((dataset.name, row.level, row.pair_id), {})
            if (other := same.setdefault(row.context_xxh3, row.depth)) != row.depth:
                yield f"its context is that of depth {other}"
            yield from self._place(row, row.depth, dataset)

    def _place(self, row: LongContext, depth: int, dataset: Dataset) -> Iterator[str]:
        """The fact stands in its share of the book, as evenly as the sentences allow.

        Measured without what was put into the book; by words or by characters, whichever is closer.
        """
        if not 0 <= depth < datasets.DEPTHS:
            yield f"its depth is {depth}, expected 0 to {datasets.DEPTHS - 1}"
            return
        start = next((one.start for one in row.positions if one.kind == "support"), None)
        if start is None:
            return
        put_in = [(one, row.context[one.start : one.end]) for one in row.positions]
        before = [text for one, text in put_in if one.end <= start]
        words = _count(row.context[:start], dataset.language) - sum(_count(text, dataset.language) for text in before)
        place = dataset.name, row.level, row.pair_id
        if place not in self.depths:
            self.depths[place] = _depths(row, dataset.language)
        book = row.length - sum(_count(text, dataset.language) for _, text in put_in)
        signs = start - sum(map(len, before)), len(row.context) - sum(len(text) for _, text in put_in)
        self.places.setdefault(place, []).append((depth, words, row.id))
        allowed = max(PLACE_TOLERANCE, LONGEST_SENTENCE[dataset.language] / max(1, book))
        least, most = depth / datasets.DEPTHS - allowed, (depth + 1) / datasets.DEPTHS + allowed
        shares = (words / max(1, book), signs[0] / max(1, signs[1]))
        if not any(least <= share <= most for share in shares):
            wanted = f"{max(0, least):.1%} to {min(1, most):.1%}"
            yield f"at depth {depth} the fact stands at {shares[0]:.1%} of the book, expected {wanted}"

    def faults(self) -> Iterator[Fault]:
        """What is missing at a level, and facts that do not go forward with their depth."""
        for name, levels in self.rows.items():
            recalls = datasets.BY_NAME[name].recalls_fact
            known: dict[str, str] = {}
            for pairs in levels.values():
                known.update((pair, next(iter(depths.values()))) for pair, depths in pairs.items())
            for level, pairs in levels.items():
                for pair, id_ in known.items():
                    wanted = self.depths.get((name, level, pair), range(datasets.DEPTHS)) if recalls else (None,)
                    missing = set(wanted) - pairs.get(pair, {}).keys()
                    at = f" at depths {_listed(missing)}" if recalls and pair in pairs else ""
                    if missing:
                        yield Fault(id=id_, problem=f"its pair {pair} has no row at level {level} of {name}{at}")
        for (_, level, _), places in self.places.items():
            for one, other in pairwise(sorted(places)):
                if other[1] < one[1]:
                    problem = f"at level {level} the fact at depth {other[0]} stands before that at depth {one[0]}"
                    yield Fault(id=other[2], problem=problem)


def _depths(row: LongContext, language: str) -> frozenset[int]:
    """The depths that are to be there: of those whose nearest boundary of two sentences is the same, the first."""
    joint = "" if language == "zh" else " "
    book, done = "", 0
    for one in sorted(row.positions, key=lambda position: position.start):
        book += row.context[done : one.start]
        done = one.end + len(joint)
    book += row.context[done:]
    ends = np.array([0, *boundaries(book, language), len(book)])
    firsts: dict[int, int] = {}
    for depth in range(datasets.DEPTHS):
        away = np.abs(ends - depth / (datasets.DEPTHS - 1) * len(book))
        firsts.setdefault(int(len(ends) - 1 - np.argmin(away[::-1])), depth)
    return frozenset(firsts.values())


def _listed(numbers: Iterable[int | None]) -> str:
    names = [str(number) for number in sorted(number for number in numbers if number is not None)]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@dataclass(frozen=True)
class _Origins:
    """What the contexts were made from, as the other parts have it."""

    pairs: Mapping[str, Pair]
    facts: Mapping[str, list[str]]
    rules: Mapping[str, set[tuple[str, str]]]
    marked: frozenset[str]
    """The pairs whose answer has keywords."""
    sources: Mapping[str, list[tuple[str, str]]]
    """Id and checksum of a pair's documents."""
    needed: Mapping[str, Sequence[Rule]]
    """The rules of a pair that nothing is known to speak against: none may be missing."""

    @classmethod
    def of(cls, ctx: VerifyContext) -> "_Origins":
        facts: dict[str, list[str]] = defaultdict(list)
        for fact in ctx.rows("confusing-facts"):
            facts[fact.pair_id].append(fact.fact)
        rules: dict[str, set[tuple[str, str]]] = {}
        needed: dict[str, Sequence[Rule]] = {}
        verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
        for one in ctx.rows("conflicts"):
            rules[one.pair_id] = {(rule.old, rule.new) for rule in one.rules}
            # The conflicts are of the rules as people were shown them: what speaks against theirs is not told.
            if verdicts is not None and not _is_people_s(one, verdicts):
                harmful = {conflict.old for conflict in one.conflicts}
                needed[one.pair_id] = [rule for rule in one.rules if rule.old not in harmful]
        marked = frozenset(one.pair_id for one in ctx.rows("keywords"))
        pairs = {pair.id: pair for pair in ctx.rows("pairs")}
        sources = {pair.id: [(one.id, _sha256(one.text)) for one in pair.documents] for pair in pairs.values()}
        return cls(pairs, facts, rules, marked, sources, needed)

    def problems(self, row: LongContext, dataset: Dataset) -> Iterator[str]:
        """Where a row, its replacements undone, is not what the other parts say; nothing where there are none."""
        if not self.pairs:
            return
        pair = self.pairs.get(row.pair_id)
        if pair is None:
            yield f"its pair {row.pair_id} is not among the pairs"
            return
        rules = [(rule.old, rule.new) for rule in row.replacements]
        if strange := [rule for rule in rules if rule not in self.rules.get(pair.id, ())]:
            yield f"the rule {' -> '.join(strange[0])} is not among those of its pair"
            return

        for rule in _missing(self.needed.get(pair.id, ()), row.replacements):
            yield f"the rule {rule} of its pair was lost: nothing in 'conflicts' speaks against it"

        def undone(texts: Iterable[str]) -> list[str]:
            return [keywords.undo(text, rules, dataset.language) if rules else text for text in texts]

        if undone([row.input]) != [pair.question]:
            yield f"its question is not its pair's: {pair.question!r}"
        if undone(row.answers) != list(pair.answers):
            yield f"its answers are not its pair's: {', '.join(map(repr, pair.answers))}"
        if sorted(undone(row.confusing_facts)) != sorted(self.facts.get(pair.id, ())):
            yield "its confusing facts are not those of its pair"
        if bool(row.answer_keywords) != (pair.id in self.marked):
            yield "its pair has keywords" if pair.id in self.marked else "its pair has no keywords"
        if [(source.id, source.sha256) for source in row.sources] != self.sources[pair.id]:
            yield "its source documents are not those of its pair"


# ---- what goes into the contexts ----


def verify_pairs(rows: Iterable[Pair], ctx: VerifyContext) -> Iterator[Fault]:
    """Each is a question with an answer that its documents hold; none stands twice in a dataset."""
    seen = _Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *_dataset_problems(row.dataset, row.language)]
        problems += seen.twice("question with these answers", row.dataset, row.question, row.answers)
        if row.dataset in datasets.BY_NAME:
            problems += _pair_problems(row, datasets.BY_NAME[row.dataset])
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _pair_problems(row: Pair, dataset: Dataset) -> Iterator[str]:
    language = language_of(dataset.language)
    if not _says_something(row.question):
        yield "the question is empty"
    for answer in row.answers:
        if not _says_something(answer):
            yield f"the answer {answer!r} says nothing"
    if not all(map(_yes_or_no, row.answers)) and not any(
        language.contains(document.text, answer) for document in row.documents for answer in row.answers
    ):
        yield f"no document holds the answer {row.answers[0]!r}"
    if dataset.longest_answer is not None and (length := _count(row.answers[0], row.language)) > dataset.longest_answer:
        yield f"the answer has {length} words, at most {dataset.longest_answer} are wanted"
    if len({document.id for document in row.documents}) != len(row.documents):
        yield "two of its documents have one id"
    for document in row.documents:
        if not document.text.strip():
            yield f"the document {document.id!r} is empty"


def verify_documents(rows: Iterable[PoolDocument], ctx: VerifyContext) -> Iterator[Fault]:
    """None is empty, and no two of a dataset have the same text; a book alone may repeat itself."""
    seen = _Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *_dataset_problems(row.dataset, row.language)]
        if not (row.dataset in datasets.BY_NAME and datasets.BY_NAME[row.dataset].recalls_fact):
            problems += seen.twice("text", row.dataset, row.text)
        if not row.text.strip():
            problems.append("the text is empty")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_facts(rows: Iterable[ConfusingFact], ctx: VerifyContext) -> Iterator[Fault]:
    """Each states something near the question that answers it not; a pair has one of each kind at most."""
    seen = _Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *_dataset_problems(row.dataset, row.language, "confusing_facts")]
        problems += seen.twice(f"fact with another {row.changes} of this pair", row.pair_id, row.changes)
        if row.language in LONGEST_SENTENCE:
            problems += _confusion_problems(row, language_of(row.language))
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _confusion_problems(row: ConfusingFact, language: Language) -> Iterator[str]:
    if not _DECLARED[row.language].search(row.fact.strip()):
        yield f"the fact is no statement: it ends with {row.fact.strip()[-1:]!r}"
    for answer in row.answers:
        if not _yes_or_no(answer) and language.contains(row.fact, answer):
            yield f"the fact holds the answer {answer!r}"
    asked = f"{row.question}\n{row.original_fact}"
    common = _meaningful(asked, row.language, language) & _meaningful(row.fact, row.language, language)
    by_name = row.changes == "object" and row.language == "en" and bool(_names(row.question))
    if len(common) < (least := 1 if by_name else LEAST_IN_COMMON[row.language]):
        unit = "characters" if row.language == "zh" else "content words"
        yield f"the fact has {len(common)} {unit} of question and original, expected {least} or more"
    if _plain(row.fact) == _plain(row.original_fact):
        yield "the fact is the original one"
    if (length := _count(row.fact, row.language)) > (most := LONGEST_FACT[row.language]):
        yield f"the fact has {length} {'characters' if row.language == 'zh' else 'words'}, at most {most} are wanted"
    if row.language == "en":
        yield from _subject_problems(row, language)
    if _says_all_that_is_asked(row, language):
        yield "the fact says all that the question asks about, and may answer it"


def _meaningful(text: str, code: str, language: Language) -> frozenset[str]:
    return frozenset(_HAN.findall(text)) - _EMPTY_HAN if code == "zh" else language.content_words(text)


def _subject_problems(row: ConfusingFact, language: Language) -> Iterator[str]:
    """By the names of the question: a subject fact that has them says less than is asked, an object fact has one.

    To the object fact the name that the original begins with will do, since a question may only describe its subject.
    """
    asked, said = _names(row.question), _folded_words(row.fact)
    begins = _NAME_AT_FIRST.match(row.original_fact)
    if row.changes == "subject" and asked and asked <= frozenset(said):
        if not speaks_of_another(row.language, row.question, row.fact) and language.content_words(
            row.question
        ) <= language.content_words(row.fact):
            yield "the fact with another subject says all that the question does"
        return
    named = [name for name in asked if not is_of_a_people(name)]
    leading = language.content_words(begins[0]) if begins else frozenset()
    known = asked | frozenset(_folded_words(" ".join(leading)))
    if row.changes == "object" and named and not any(same_name(name, word) for name in known for word in said):
        yield "the fact with another object names nothing that the question names"


def _names(text: str) -> frozenset[str]:
    """The words in capitals, but for the one that the text begins with where none follows it."""
    words = _CAPITALISED.findall(text)
    begins = _CAPITALISED.match(text.lstrip()) is not None
    alone = begins and not re.match(r"\W*\w+\s+[^\W\d_a-z]", text)
    return frozenset(word for one in (words[1:] if alone else words) for word in _folded_words(one))


def _folded_words(text: str) -> list[str]:
    """Words in lower case without possessives and plurals, which an English sentence may have or lack."""
    found = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", text).casefold())
    return [word.removesuffix("es").removesuffix("s") for word in found if len(word) > 1]


def _says_all_that_is_asked(row: ConfusingFact, language: Language) -> bool:
    asked = language.content_words(row.question)
    if not asked or not asked <= language.content_words(row.fact):
        return False
    if speaks_of_another(row.language, row.question, row.fact):
        return False
    of = "other" if _yes_or_no(row.answers[0]) else language.answer_type(row.answers[0], row.question)
    named = (row.fact[start:end] for start, end in language.spans_of_type(row.fact, of)) if of != "other" else ()
    return of == "other" or any(not language.contains(row.question, name) for name in named)


def verify_replacements(rows: Iterable[Replacements], ctx: VerifyContext) -> Iterator[Fault]:
    """The rules of a pair can be undone, and each replaces something."""
    seen = _Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *_dataset_problems(row.dataset, row.language, "replacements")]
        problems += seen.twice("pair", row.pair_id)
        if row.language in LONGEST_SENTENCE:
            problems += _rule_problems(row.rules, row.language)
            text = _BORDER.join((row.question, *row.answers, *row.excerpts))
            olds = [rule.old for rule in row.rules]
            for old in sorted(set(olds) - keywords.occurs(text, olds, row.language)):
                problems.append(f"the keyword {old!r} stands in no question, answer or excerpt")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_conflicts(rows: Iterable[RuleConflicts], ctx: VerifyContext) -> Iterator[Fault]:
    """Each conflict is of one of the rules, and shows where; the rules were made from those that were proposed.

    Where their decisions are there, they tell a rule that people left out from one that was lost, and a pair whose
    rules people rejected from one that is missing.
    """
    proposed = {one.pair_id: one for one in ctx.rows("replacements")}
    verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
    there = set()
    for row in rows:
        there.add(row.pair_id)
        before = proposed.get(row.pair_id)
        if proposed and (before is None or before.id not in row.provenance.parents):
            yield Fault(
                id=row.id, problem="it was not made from its pair's rules in 'replacements' as they stand there"
            )
        elif before is not None and verdicts is not None and not _is_people_s(row, verdicts):
            for rule in _missing(before.rules, row.rules):
                yield Fault(id=row.id, problem=f"the rule {rule} was lost: it stands in 'replacements'")
        keywords_of_rules = {rule.old for rule in row.rules}
        for conflict in row.conflicts:
            if conflict.old not in keywords_of_rules:
                yield Fault(id=row.id, problem=f"a conflict of {conflict.old!r}, which is the keyword of no rule")
            if not conflict.excerpt.strip():
                yield Fault(id=row.id, problem=f"the conflict of {conflict.old!r} shows nothing")

    if verdicts is not None:
        rejected = {key for key, verdict in verdicts.items() if verdict.decision == "reject"}
        for one in proposed.values():
            if one.pair_id not in there and key_of("lveval", "conflicts", one.key, None) not in rejected:
                yield Fault(id=one.id, problem="the rules of its pair were lost: 'conflicts' has none of them")


def _is_people_s(row: RuleConflicts, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether its rules are as a person corrected them: a correction of an earlier state of the row is none."""
    verdict = verdicts.get(row.key)
    written = verdict.changes.get("rules") if verdict is not None else None
    try:
        return written is not None and row.revised(rules=written).rules == row.rules
    except ValidationError:
        return False


def _missing(rules: Iterable[Rule], there: Iterable[Rule]) -> list[Rule]:
    """The rules that are not there, in whatever case: of two that differ by it alone one is enough."""
    known = {(rule.old.casefold(), rule.new.casefold()) for rule in there}
    return [rule for rule in rules if (rule.old.casefold(), rule.new.casefold()) not in known]


def verify_keywords(rows: Iterable[AnswerKeywords], ctx: VerifyContext) -> Iterator[Fault]:
    """Each keyword is a word of the answer, and they stand in its order."""
    seen = _Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *_dataset_problems(row.dataset, row.language, "keywords")]
        problems += seen.twice("pair", row.pair_id)
        if row.dataset in datasets.BY_NAME:
            wrong = list(_keyword_problems(row.keywords, row.answer, datasets.BY_NAME[row.dataset]))
            problems += wrong or _sequence_problems(row)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _sequence_problems(row: AnswerKeywords) -> Iterator[str]:
    answer, at = row.answer.casefold(), 0
    for keyword in row.keywords.casefold().split():
        if (place := answer.find(keyword, at)) < 0:
            yield f"the keyword {keyword!r} is out of the answer's order"
            return
        at = place + len(keyword)


def _dataset_problems(name: str, language: str, has: str = "name") -> Iterator[str]:
    """The dataset is known, of this language, and one that has such records."""
    dataset = datasets.BY_NAME.get(name)
    if dataset is None:
        yield f"no dataset is called {name!r}"
        return
    if language != dataset.language:
        yield f"its language is {language!r}, that of {name} {dataset.language!r}"
    if not getattr(dataset, has):
        yield f"{name} has no {has.replace('_', ' ')}"


class _Seen:
    """Checksums of what stood before."""

    def __init__(self) -> None:
        self._before: set[str] = set()

    def twice(self, what: str, *values: object) -> Iterator[str]:
        """Say that the values stood before under that name."""
        name = content_hash(what, *values)
        if name in self._before:
            yield f"its {what} stands twice"
        self._before.add(name)
