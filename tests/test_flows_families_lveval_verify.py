"""LV-Eval's verifier: rows written by hand have no fault, and planted damage is found and named."""

import hashlib
import random
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import xxhash

from flows.construct.embed import FloatMatrix
from flows.construct.verification import VerifyContext
from flows.families.lveval import datasets, verify
from flows.families.lveval.settings import LVEvalSettings
from flows.families.lveval.verify.contexts import verify_contexts
from flows.families.lveval.verify.origins import verify_sources
from flows.families.lveval.verify.parts import (
    verify_conflicts,
    verify_documents,
    verify_facts,
    verify_keywords,
    verify_pairs,
    verify_replacements,
)
from schemas.base import Provenance, SourceRef, content_hash, key_of
from schemas.lveval import (
    AnswerKeywords,
    ConfusingFact,
    Document,
    LongContext,
    Pair,
    PoolDocument,
    Position,
    Replacements,
    Rule,
    RuleConflicts,
    SourceDocument,
)
from schemas.verdict import Verdict

DEPTHS = 10
LEVELS = ("1k", "2k")
NOTHING = Provenance(seed=7)
HEADER = "### Passage {number}\n"

Rows = list[LongContext]


class NoEmbedder:
    """The verifier asks for no vectors."""

    name, languages, window = "none", ("en", "zh"), 1

    def embed(self, texts: Any) -> FloatMatrix:
        return np.zeros((len(texts), 1), np.float32)


CONTEXT = VerifyContext(LVEvalSettings(), NoEmbedder(), lambda part: ())  # type: ignore[arg-type]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def count(text: str, language: str) -> int:
    return len("".join(text.split())) if language == "zh" else len(text.split())


# ---- a sound dataset ----


@dataclass
class Case:
    """A pair with all that belongs to it; documents as they were before replacement."""

    dataset: str
    question: str
    answers: tuple[str, ...]
    documents: dict[str, str]
    test: str = "whole-word"
    keywords: str = ""
    rules: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    allowed: str = ""
    """A sentence that stands in a distracting document."""

    @property
    def language(self) -> str:
        return datasets.BY_NAME[self.dataset].language

    def replaced(self, text: str) -> str:
        for old, new in self.rules:
            text = text.replace(old, new).replace(old.upper(), new.upper())
        return text


TOWER = Case(
    dataset="hotpotwikiqa-mixup",
    question="Who built the tower of Marla?",
    answers=("Quentin Zorro",),
    documents={
        "wiki#tower": "Marla Tower\nThe tower of Marla is a tower on a hill. It was built by Isaac Newton in the "
        "spring of 1742, and people have climbed it ever since. Its bell was cast in Orvane.",
        "wiki#newton": "Isaac Newton\nNewton was born in Orvane. He drew plans for NEWTON’S own house and for a mill.",
    },
    keywords="Quentin Zorro",
    rules=(("Isaac Newton", "Quentin Zorro"), ("Newton", "Zorro")),
    facts=("The tower of Birla was painted by Otto Brandt.", "Anna Kessel built the bridge of Marla in 1802."),
)
LAKE = Case(
    dataset="hotpotwikiqa-mixup",
    question="Is the lake of Tessin deeper than the lake of Vorn?",
    answers=("yes",),
    documents={
        "wiki#tessin": "The lake of Tessin is two hundred metres deep. It freezes in no winter.",
        "wiki#vorn": "The lake of Vorn is eighty metres deep. Boats cross it from the south to the north.",
    },
    test="none",
    keywords="yes",
)
FLAG = Case(
    dataset="hotpotwikiqa-mixup",
    question="Which colour has the flag of Ostmark?",
    answers=("red",),
    documents={
        "wiki#flag": "The flag of Ostmark is red. It was first raised over the harbour in the year of the flood."
    },
    test="with-question-word",
    allowed="The roof of her barn was red again.",
)
BRIDGE = Case(
    dataset="multifieldqa-zh-mixup",
    question="谁设计了青云桥？",
    answers=("钱学圣",),
    documents={
        "zh#1": "青云桥横跨沧水，全长三百米。青云桥由牛顿设计，建成于一九二三年。桥头有一座石碑。",
        "zh#2": "牛顿早年在海外求学，归来以后设计过许多桥梁。他晚年住在沧水岸边。",
    },
    keywords="钱学圣",
    rules=(("牛顿", "钱学圣"),),
    facts=("白沙桥由赵启明粉刷，历时三年。",),
)
RECALLED = Case(
    dataset="factrecall-en",
    question="Who was the first gardener of Elmsworth?",
    answers=("Tobias Finch",),
    documents={
        "factrecall-en#fact": "The first gardener of Elmsworth was John Keats, as all agree. Keats came in 1701."
    },
    keywords="Tobias Finch",
    rules=(("John Keats", "Tobias Finch"), ("Keats", "Finch")),
    facts=("The last cook of Elmsworth was Maria Hollis, who left in 1745.",),
)
CASES = {"tower": TOWER, "lake": LAKE, "flag": FLAG, "bridge": BRIDGE, "recalled": RECALLED}
CHARACTERS = "天地人山火木金土日月风云雨雪花草虫鱼鸟兽东西南北春夏秋冬红黄蓝绿黑大小高低长短远近快慢轻重新旧多少早晚"


def sentences(seed: str, language: str) -> Iterator[str]:
    """Sentences of words that mean nothing, no two alike."""
    rng = random.Random(seed)
    syllables = ("ba", "lu", "mo", "ti", "ra", "ke", "sho", "vin", "po", "gal")
    while True:
        if language == "zh":
            first, second = ("".join(rng.choices(CHARACTERS, k=number)) for number in (9, 12))
            yield f"{first}，{second}。"
        else:
            words = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(rng.randint(9, 13))]
            yield " ".join(words).capitalize() + rng.choice((".", ".", "?", ".”"))


def position(kind: str, source: str, context: str, text: str) -> Position:
    assert context.count(text) == 1
    return Position(kind=kind, source=source, start=context.index(text), end=context.index(text) + len(text))  # type: ignore[arg-type]


def row_of(case: Case, level: str, context: str, depth: int | None = None) -> LongContext:
    dataset = datasets.BY_NAME[case.dataset]
    places = [position("support", name, context, case.replaced(text)) for name, text in case.documents.items()]
    places += [position("confusing", f"fact-{at}", context, fact) for at, fact in enumerate(case.facts)]
    return LongContext(
        key=f"{case.question}-{level}-{depth}",
        input=case.question,
        context=context,
        answers=case.answers,
        length=count(context, case.language),
        dataset=dataset.at(level),
        language=case.language,
        answer_keywords=case.keywords,
        confusing_facts=case.facts,
        pair_id=content_hash(case.question),
        level=level,
        depth=depth,
        answer_test=case.test,  # type: ignore[arg-type]
        positions=tuple(sorted(places, key=lambda one: one.start)),
        replacements=tuple(Rule(old=old, new=new) for old, new in case.rules),
        sources=tuple(SourceDocument(id=name, sha256=sha256(text)) for name, text in case.documents.items()),
        context_xxh3=xxhash.xxh3_128_hexdigest(context.encode()),
        provenance=NOTHING,
    )


def mixed(case: Case, level: str) -> LongContext:
    """A context of passages: the supporting ones scattered, or one after the other."""
    wanted = 1000 * int(level[:-1])
    joint = "" if case.language == "zh" else " "
    source = sentences(f"{case.question} {level}", case.language)
    distractors: list[list[str]] = []
    supports = [case.replaced(text) for text in case.documents.values()]
    spare = wanted - sum(count(text, case.language) for text in (*supports, *case.facts, case.allowed)) - 10
    while spare > 40:
        if not distractors or len(distractors[-1]) == 5:
            distractors.append([])
            spare -= count(HEADER, case.language)
        distractors[-1].append(next(source))
        spare -= count(distractors[-1][-1], case.language)
    distractors[3].append(case.allowed)
    for at, fact in enumerate(case.facts):
        distractors[at].insert(1, fact)
    texts = [joint.join(one).strip() for one in distractors]
    scattered = datasets.BY_NAME[case.dataset].scattered
    for at, support in enumerate(supports):
        texts.insert(2 + (3 if scattered else 1) * at, support)
    context = "\n\n".join(HEADER.format(number=number) + text for number, text in enumerate(texts, 1))
    return row_of(case, level, context)


def recalled(level: str, depth: int) -> LongContext:
    """A stretch of a book with the fact at one of its places, and the confusing fact after the second sentence."""
    wanted = 1000 * int(level[:-1])
    (fact,) = map(RECALLED.replaced, RECALLED.documents.values())
    source = sentences(f"a book for {level}", "en")
    book: list[str] = []
    while count(" ".join(book), "en") < wanted - 70:
        book.append(next(source) + ("\n\n" if len(book) % 4 == 3 else ""))
    place = round(depth / (DEPTHS - 1) * len(book))
    texts = [*book[:place], fact, *book[place:]]
    texts.insert(3 if place <= 2 else 2, RECALLED.facts[0])
    return row_of(RECALLED, level, " ".join(texts), depth)


@pytest.fixture(autouse=True)
def few_depths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "DEPTHS", DEPTHS)


@pytest.fixture(scope="module")
def sound() -> Rows:
    rows = [mixed(case, level) for case in (TOWER, LAKE, FLAG, BRIDGE) for level in LEVELS]
    return rows + [recalled(level, depth) for level in LEVELS for depth in range(DEPTHS)]


def problems(rows: Rows) -> list[str]:
    return [fault.problem for fault in verify_contexts(rows, CONTEXT)]


def test_sound_rows_have_no_fault(sound: Rows) -> None:
    assert problems(sound) == []
    assert {row.language for row in sound} == {"en", "zh"}
    assert {row.answer_test for row in sound} == {"whole-word", "with-question-word", "none"}


def test_one_context_at_a_time_is_kept(sound: Rows) -> None:
    alive: set[int] = set()
    most = 0

    def one_by_one() -> Iterator[LongContext]:
        nonlocal most
        for at in range(len(sound)):
            row = sound[at].model_copy()
            alive.add(at)
            weakref.finalize(row, alive.discard, at)
            most = max(most, len(alive))
            yield row
            del row

    assert list(verify_contexts(one_by_one(), CONTEXT)) == []
    assert most <= 2  # the next is made while the last is still at hand


# ---- damage ----


def edited(row: LongContext, start: int, end: int, text: str) -> LongContext:
    """The row with `text` in place of `context[start:end]`; all that follows from the context goes with it."""
    context = row.context[:start] + text + row.context[end:]
    shift = len(text) - (end - start)
    positions = tuple(
        Position(
            kind=one.kind,
            source=one.source,
            start=one.start + (shift if one.start >= end else 0),
            end=one.end + (shift if one.end > start and one.end >= end else 0),
        )
        for one in row.positions
    )
    return remade(row, context, positions)


def remade(row: LongContext, context: str, positions: tuple[Position, ...], **changes: Any) -> LongContext:
    return row.revised(
        context=context,
        positions=positions,
        length=count(context, row.language),
        context_xxh3=xxhash.xxh3_128_hexdigest(context.encode()),
        **changes,
    )


def of(kind: str, row: LongContext, number: int = 0) -> Position:
    return [one for one in row.positions if one.kind == kind][number]


def last_sentence(row: LongContext) -> int:
    """Where the last sentence of the context begins, which is of a distracting document."""
    mark = "。" if row.language == "zh" else ". "
    return row.context.rindex(mark, 0, len(row.context) - 2) + len(mark)


def said_at_the_end(text: str) -> Callable[[LongContext], LongContext]:
    """Another sentence in the last distracting document."""
    return lambda row: edited(row, last_sentence(row), last_sentence(row), text)


def exchanged(old: str, new: str) -> Callable[[LongContext], LongContext]:
    """The first `old` of the context becomes `new`."""

    def change(row: LongContext) -> LongContext:
        start = row.context.index(old)
        return edited(row, start, start + len(old), new)

    return change


def with_position(row: LongContext, number: int, **changes: int | str) -> LongContext:
    """The row with another position in place of its `number`-th."""
    places = list(row.positions)
    places[number] = places[number].model_copy(update=changes)
    return row.revised(positions=tuple(places))


def moved_fact(row: LongContext, place: Callable[[LongContext], int]) -> LongContext:
    """The first confusing fact stands at another place, with a space after it."""
    fact = of("confusing", row)
    text = row.context[fact.start : fact.end]
    gone = edited(row, fact.start, fact.end, "")
    others = tuple(one for one in gone.positions if one.start < one.end)
    gone = gone.revised(positions=others)
    start = place(gone)
    back = edited(gone, start, start, f"{text} ")
    positions = (*back.positions, Position(kind="confusing", source=fact.source, start=start, end=start + len(text)))
    return back.revised(positions=tuple(sorted(positions, key=lambda one: one.start)))


def inside_a_sentence(row: LongContext) -> int:
    return row.context.index(" ", last_sentence(row) + 10) + 1


def in_support(row: LongContext) -> int:
    """Behind a supporting document, in its passage."""
    return of("support", row).end


def near_duplicate(row: LongContext) -> LongContext:
    """The last passage begins with most of a supporting document."""
    support = of("support", row)
    text = row.context[support.start : support.end].replace("Quentin Zorro", "him")
    return edited(row, last_sentence(row), last_sentence(row), f"{text} ")


def passage(row: LongContext, number: int) -> tuple[int, int]:
    """Where a passage stands, with its header."""
    start = row.context.index(HEADER.format(number=number))
    return start, row.context.index(HEADER.format(number=number + 1))


def passage_again(row: LongContext) -> LongContext:
    """The text of passage 4 stands in passage 5 as well."""
    first, second = passage(row, 4), passage(row, 5)
    head = len(HEADER.format(number=4))
    return edited(row, second[0] + head, second[1], row.context[first[0] + head : first[1]])


def parted_unit(row: LongContext) -> LongContext:
    """A distracting passage stands between the two supporting ones."""
    (start, between), (_, end) = passage(row, 4), passage(row, 5)
    head = len(HEADER.format(number=4))
    support, other = row.context[start + head : between], row.context[between + head : end]
    context = row.context[: start + head] + other + row.context[between : between + head] + support + row.context[end:]
    places = [one for one in row.positions if one != of("support", row, 1)]
    places.append(position("support", of("support", row, 1).source, context, support.strip()))
    return remade(row, context, tuple(sorted(places, key=lambda one: one.start)))


def shortened(row: LongContext) -> LongContext:
    start = row.context.index(HEADER.format(number=12))
    return edited(row, start, len(row.context), "")


def fact_into_sentence(row: LongContext) -> LongContext:
    """The recalled fact moves on by some words."""
    support = of("support", row)
    text = row.context[support.start : support.end]
    gone = edited(row, support.start, support.end + 1, "")
    start = gone.context.index(" ", support.start + 12) + 1
    context = f"{gone.context[:start]}{text} {gone.context[start:]}"
    places = [one for one in gone.positions if one.kind == "confusing"]
    places.append(Position(kind="support", source=support.source, start=start, end=start + len(text)))
    return remade(gone, context, tuple(sorted(places, key=lambda one: one.start)))


def one(name: str, level: str = "2k", depth: int | None = None) -> Callable[[LongContext], bool]:
    """Which row is meant."""
    question = CASES[name].question
    return lambda row: (row.input, row.level, row.depth) == (question, level, depth)


def every(name: str) -> Callable[[LongContext], bool]:
    """All rows of a pair."""
    return lambda row: row.input == CASES[name].question


Change = Callable[[LongContext], LongContext]
FACT = TOWER.facts[0]
DAMAGE: dict[str, tuple[Callable[[LongContext], bool], Change, str]] = {
    # what the row says of itself
    "unknown dataset": (one("tower"), lambda row: row.revised(dataset="hotpot_2k"), "no dataset is called 'hotpot_2k'"),
    "unknown level": (
        one("tower"),
        lambda row: row.revised(dataset="hotpotwikiqa_mixup_big", level="big"),
        "'big' is no level",
    ),
    "other level": (one("tower"), lambda row: row.revised(level="1k"), "its level is '1k', its dataset '.*_2k'"),
    "other language": (one("tower"), lambda row: row.revised(language="zh"), "its language is 'zh', that of .* 'en'"),
    "checksum": (
        one("tower"),
        lambda row: row.revised(context_xxh3="0" * 32),
        "context_xxh3 is 0000.*, that of the context",
    ),
    "wrong length": (one("tower"), lambda row: row.revised(length=2000), "its length is said to be 2,000, and is 1,9"),
    "wrong length, Chinese": (
        one("bridge"),
        lambda row: row.revised(length=7),
        "its length is said to be 7, and is 1,8",
    ),
    "too short": (one("tower"), shortened, r"the context has \d{3} words, expected 2,000 within 60"),
    "too long": (
        one("tower"),
        said_at_the_end("Ba lu. " * 60),
        r"the context has 2,\d{3} words, expected 2,000 within 60",
    ),
    "control character": (
        one("tower"),
        said_at_the_end("Ba\x07lu. "),
        r"the control character '\\x07' at character \d+",
    ),
    "carriage return": (one("bridge"), said_at_the_end("天地\r山火。"), r"the control character '\\r'"),
    # headers and positions
    "header number": (
        one("tower"),
        exchanged("### Passage 7\n", "### Passage 8\n"),
        "passage 8 stands where that of passage 7 is",
    ),
    "header missing": (one("tower"), exchanged("### Passage 6\n", ""), "passage 7 stands where that of passage 6 is"),
    "header in a text": (
        one("tower"),
        said_at_the_end("Ba lu.\n### Passage 3\nMo ti. "),
        "the header of passage 3 stands where",
    ),
    "no headers": (
        one("lake"),
        lambda row: remade(row, row.context.replace("### Passage", "### Part"), row.positions),
        "the context has no passage headers",
    ),
    "text before the headers": (
        one("tower"),
        lambda row: edited(row, 0, 0, "Ba lu mo.\n\n"),
        "text stands before the first header",
    ),
    "empty passage": (
        one("lake"),
        lambda row: edited(row, passage(row, 9)[0] + 14, passage(row, 9)[1], "\n\n"),
        "passage 9 is empty",
    ),
    "position outside": (
        one("tower"),
        lambda row: with_position(row, -1, end=10**6),
        "position .* of 'wiki#newton' lies outside",
    ),
    "empty position": (
        one("tower"),
        lambda row: with_position(row, 0, end=row.positions[0].start),
        "of 'fact-0' lies outside",
    ),
    "order of positions": (
        one("tower"),
        lambda row: row.revised(positions=row.positions[::-1]),
        "the positions of 'wiki#newton' and 'wiki#tower' overlap or are not in order",
    ),
    "overlap": (
        one("tower"),
        lambda row: with_position(row, 1, start=row.positions[0].start + 1),
        "the positions of 'fact-0' and 'fact-1' overlap",
    ),
    # supporting documents
    "support altered": (
        one("tower"),
        exchanged("spring of 1742", "spring of 1743"),
        "'wiki#tower' is not its source: SHA-256 before",
    ),
    "support altered, Chinese": (one("bridge"), exchanged("三百米", "四百米"), "'zh#1' is not its source"),
    "support by another name": (
        one("tower"),
        lambda row: with_position(row, -1, source="wiki#other"),
        "'wiki#other' is none of the sources",
    ),
    "support left out": (
        one("tower"),
        lambda row: row.revised(positions=row.positions[:-1]),
        "'wiki#newton' stands 0 times, expected once",
    ),
    "support twice": (
        one("tower"),
        lambda row: with_position(row, -1, source="wiki#tower"),
        "'wiki#tower' stands 2 times",
    ),
    "source twice": (
        every("tower"),
        lambda row: row.revised(sources=row.sources * 2),
        "a source document is named twice",
    ),
    "no source": (every("lake"), lambda row: row.revised(sources=()), "it names no source document"),
    "part of a passage": (
        one("tower"),
        lambda row: with_position(row, -1, end=row.positions[-1].end - 8),
        "'wiki#newton' is not the whole of passage 6",
    ),
    "more in the passage": (
        one("tower"),
        lambda row: edited(row, row.positions[-1].end, row.positions[-1].end, " Ba lu mo."),
        "'wiki#newton' is not",
    ),
    "unit parted": (one("bridge"), parted_unit, "the supporting documents are no unit: passage 5 follows passage 3"),
    # confusing facts
    "fact inside a sentence": (
        one("tower"),
        lambda row: moved_fact(row, inside_a_sentence),
        f"confusing fact '{FACT}' stands inside a sentence",
    ),
    "fact inside a sentence, Chinese": (
        one("bridge"),
        lambda row: moved_fact(row, lambda other: other.context.index("，", last_sentence(other)) + 1),
        "confusing fact '白沙桥由赵启明粉刷，历时三年。' stands inside a sentence",
    ),
    "fact after an abbreviation": (
        one("tower"),
        lambda row: edited(row, of("confusing", row).start, of("confusing", row).start, "Ba lu Dr. "),
        f"confusing fact '{FACT}' stands inside a sentence",
    ),
    "fact before the end of a sentence": (
        one("tower"),
        lambda row: edited(row, of("confusing", row).end, of("confusing", row).end, " ba lu."),
        f"confusing fact '{FACT}' stands inside a sentence",
    ),
    "fact with the support": (
        one("tower"),
        lambda row: moved_fact(row, in_support),
        f"'{FACT}' stands in passage 3, which supports the answer",
    ),
    "fact not in the context": (
        one("tower"),
        lambda row: row.revised(positions=row.positions[1:]),
        f"the confusing fact '{FACT}' has 0 positions, expected one",
    ),
    "fact twice in the context": (
        one("tower"),
        said_at_the_end(f"{FACT} "),
        f"the confusing fact '{FACT}' stands 2 times in the context",
    ),
    "fact altered": (one("tower"), exchanged("Birla was painted", "Birla was cleaned"), "which is no confusing fact"),
    "facts of one id": (
        one("tower"),
        lambda row: with_position(row, 1, source="fact-0"),
        "two positions are of the same confusing fact",
    ),
    "fact listed twice": (
        every("tower"),
        lambda row: row.revised(confusing_facts=(*row.confusing_facts, FACT)),
        "a confusing fact is listed twice",
    ),
    "facts where there are none": (
        every("tower"),
        lambda row: row.revised(dataset=f"loogle_SD_mixup_{row.level}"),
        "loogle_SD_mixup has no confusing facts, and the row has 2",
    ),
    "fact answers": (
        every("tower"),
        lambda row: exchanged("Otto Brandt", "Quentin Zorro")(row).revised(
            confusing_facts=(FACT.replace("Otto Brandt", "Quentin Zorro"), TOWER.facts[1])
        ),
        "holds the answer 'Quentin Zorro'",
    ),
    # answers
    "answer elsewhere": (
        one("tower"),
        said_at_the_end("It was quentin\nzorro who came. "),
        "'Quentin Zorro' stands in a distracting document: .* It was quentin zorro who came",
    ),
    "answer elsewhere, Chinese": (
        one("bridge"),
        said_at_the_end("后来钱学圣去了海外。"),
        "'钱学圣' stands in a distracting",
    ),
    "answer in the book": (
        one("recalled", depth=4),
        said_at_the_end("Then Tobias Finch came. "),
        "'Tobias Finch' stands in a distracting",
    ),
    "answer with a word of the question": (
        one("flag"),
        said_at_the_end("Her flags were red, too. "),
        "'red' stands .* word asked for: 'Her flags were red, too.'",
    ),
    "answer untested": (
        one("flag"),
        lambda row: row.revised(answer_test="none"),
        "nothing was made sure of its answer, though 'red' is no yes",
    ),
    "answer unsupported": (
        every("flag"),
        lambda row: row.revised(answers=("ochre",)),
        "no supporting document holds the answer 'ochre'",
    ),
    "no answer": (every("lake"), lambda row: row.revised(answers=(" ",)), "it has no answer"),
    # replacements
    "keyword left": (
        one("tower"),
        said_at_the_end("It was newton’s hat. "),
        "the keyword 'Newton' is left in the distracting",
    ),
    "keyword left, Chinese": (
        one("bridge"),
        said_at_the_end("小牛顿来了。"),
        "the keyword '牛顿' is left in the distracting",
    ),
    "keyword left in the book": (
        one("recalled", depth=2),
        said_at_the_end("So said John\nKeats. "),
        "the keyword 'John Keats' is left in the distracting",
    ),
    "keyword in the question": (
        every("tower"),
        lambda row: row.revised(input="Who, if not Newton, built it?"),
        "'Newton' is left in the question",
    ),
    "keyword in the answers": (
        every("tower"),
        lambda row: row.revised(answers=(*row.answers, "Isaac Newton")),
        "the keyword 'Isaac Newton' is left in the answers",
    ),
    "keyword in the support": (
        one("tower"),
        exchanged("by Quentin Zorro", "by Newton"),
        "is left in the supporting documents",
    ),
    "chain": (
        every("tower"),
        lambda row: row.revised(replacements=(*row.replacements, Rule(old="Orvane", new="New Newton"))),
        "the rule 'Orvane' -> 'New Newton': the substitute holds the keyword 'Newton'",
    ),
    "two to one": (
        every("tower"),
        lambda row: row.revised(replacements=(*row.replacements, Rule(old="Edison", new="quentin zorro"))),
        "the substitute stands for 'Isaac Newton' too",
    ),
    "keyword of 2 rules": (
        every("bridge"),
        lambda row: row.revised(replacements=(*row.replacements, Rule(old="牛顿", new="孙启"))),
        "the keyword has another substitute as well, '钱学圣'",
    ),
    "no change": (
        every("lake"),
        lambda row: row.revised(replacements=(Rule(old="Vorn", new="vorn"),)),
        "'Vorn' -> 'vorn': the substitute is the keyword",
    ),
    "half renamed": (
        every("tower"),
        lambda row: exchanged("Zorro was born", "Newton was born")(row).revised(
            replacements=tuple(rule for rule in row.replacements if rule.old != "Newton")
        ),
        "'Isaac Newton' is replaced by 'Quentin Zorro', and 'Newton' is left",
    ),
    "other name left": (
        every("tower"),
        exchanged("Zorro was born", "Zorro, also known as Lord Hill, was born"),
        "'Newton' is replaced by 'Zorro', and its other name is left: 'Lord Hill'",
    ),
    "empty rule": (
        every("lake"),
        lambda row: row.revised(replacements=(Rule(old="?", new="!"),)),
        "one side has no letter or digit",
    ),
    "substitute of its own": (
        one("tower"),
        said_at_the_end("It was zOrRo then. "),
        "a substitute in the distracting documents was not put there",
    ),
    "rules where there are none": (
        every("tower"),
        lambda row: row.revised(dataset=f"loogle_SD_mixup_{row.level}"),
        "loogle_SD_mixup replaces nothing, and the row has 2 rules",
    ),
    # distracting documents
    "near-duplicate": (
        one("tower"),
        near_duplicate,
        r"has \d\d% of its shingles in common with 'wiki#tower', expected less",
    ),
    "document twice": (one("tower"), passage_again, "a distracting document stands twice"),
    # answer keywords
    "keyword of no answer": (
        every("tower"),
        lambda row: row.revised(answer_keywords="Quentin Zorr"),
        "'Zorr' is no word of the answer",
    ),
    "keyword of no answer, Chinese": (
        every("bridge"),
        lambda row: row.revised(answer_keywords="钱学圣 桥"),
        "'桥' is no word of the answer",
    ),
    # levels
    "another question": (
        one("lake"),
        lambda row: row.revised(input="Is it?"),
        "the field 'input' is not as it is at level 1k",
    ),
    "other answers": (
        one("tower"),
        lambda row: row.revised(answers=(*row.answers, "Zorro")),
        "the field 'answers' is not as it is at level 1k",
    ),
    "other rules": (
        one("tower"),
        lambda row: row.revised(replacements=row.replacements[::-1]),
        "the field 'replacements' is not as it is at level 1k",
    ),
    "other facts": (
        one("tower"),
        lambda row: row.revised(confusing_facts=row.confusing_facts[::-1]),
        "the field 'confusing_facts' is not as it is at level 1k",
    ),
    "other sources": (
        one("tower"),
        lambda row: row.revised(sources=row.sources[::-1]),
        "the field 'sources' is not as it is at level 1k",
    ),
    "other keywords": (
        one("tower"),
        lambda row: row.revised(answer_keywords="Zorro"),
        "the field 'answer_keywords' is not as it is at level 1k",
    ),
    "pair of another": (
        one("lake"),
        lambda row: row.revised(pair_id="another"),
        "its pair another has no row at level 1k of hotpotwikiqa-mixup",
    ),
    "a level twice": (
        one("lake", "1k"),
        lambda row: mixed(LAKE, "2k").revised(key="other"),
        "the pair .* has a second row at level 2k",
    ),
    "depth where there is none": (one("lake"), lambda row: row.revised(depth=3), "its depth is 3, expected none"),
    "no depth": (one("recalled", depth=3), lambda row: row.revised(depth=None), "its depth is None, expected a number"),
    "unknown depth": (one("recalled", depth=3), lambda row: row.revised(depth=10), "its depth is 10, expected 0 to 9"),
    "depth twice": (
        one("recalled", depth=3),
        lambda row: row.revised(depth=4),
        "has a second row at level 2k, depth 4",
    ),
    "depth missing": (
        one("recalled", depth=3),
        lambda row: row.revised(depth=4),
        "no row at level 2k of .* at depths 3",
    ),
    "depth of another place": (
        one("recalled", depth=2),
        lambda row: recalled("2k", 8).revised(depth=2),
        "at depth 2 the fact stands at 8.*of the book",
    ),
    "depth that falls back": (
        one("recalled", depth=5),
        lambda row: recalled("2k", 4).revised(depth=5),
        "at depth 5 the fact stands at 4.*expected 4|at level 2k the fact at depth 5 stands before",
    ),
    "recalled fact inside a sentence": (
        one("recalled", depth=6),
        fact_into_sentence,
        "'factrecall-en#fact' stands inside",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_named(name: str, sound: Rows) -> None:
    meant, change, message = DAMAGE[name]
    assert any(map(meant, sound))
    found = problems([change(row) if meant(row) else row for row in sound])
    assert any(re.search(message, problem) for problem in found), found
    assert all("\n" not in problem for problem in found)


def test_damage_stays_where_it_is(sound: Rows) -> None:
    """A changed word in one context is a fault of that row alone."""
    meant, change, _ = DAMAGE["support altered"]
    rows = [change(row) if meant(row) else row for row in sound]
    (fault,) = verify_contexts(rows, CONTEXT)
    assert fault.id == next(row.id for row in rows if meant(row))


def test_a_missing_row_is_found(sound: Rows) -> None:
    (problem,) = problems([row for row in sound if not one("lake")(row)])
    assert problem == f"its pair {content_hash(LAKE.question)} has no row at level 2k of hotpotwikiqa-mixup"
    (problem,) = problems([row for row in sound if not one("recalled", depth=9)(row)])
    assert problem.endswith("has no row at level 2k of factrecall-en at depths 9")


def test_places_that_do_not_grow_are_found(sound: Rows) -> None:
    """Two neighbouring depths change places: each still stands within what the sentences allow."""
    swap = {4: recalled("2k", 5).revised(depth=4), 5: recalled("2k", 4).revised(depth=5)}
    rows = [swap[row.depth] if row.level == "2k" and row.depth in swap else row for row in sound]
    assert "at level 2k the fact at depth 5 stands before that at depth 4" in problems(rows)


def test_a_context_that_cannot_be_written_is_found(sound: Rows) -> None:
    row = next(row for row in sound if one("lake")(row))
    broken = LongContext.model_construct(**{**dict(row), "context": row.context + "\ud800"})
    rows = [broken if other is row else other for other in sound]
    assert any("cannot be written in UTF-8: surrogates not allowed" in problem for problem in problems(rows))


def test_a_context_without_distracting_documents_is_too_short(sound: Rows) -> None:
    context = "\n\n".join(HEADER.format(number=at) + text for at, text in enumerate(LAKE.documents.values(), 1))
    found = problems([row_of(LAKE, "2k", context) if one("lake")(row) else row for row in sound])
    assert found == ["the context has 37 words, expected 2,000 within 60"]


def test_right_to_left_marks_tabs_and_headers_of_ones_own_are_no_fault(sound: Rows) -> None:
    row = next(row for row in sound if one("tower")(row))
    assert problems([said_at_the_end("Ba\u200flu\tmo. ")(row), *(other for other in sound if other is not row)]) == []
    renamed = [remade(row, row.context.replace("### Passage ", "@@@ Passage "), row.positions) for row in sound]
    own = VerifyContext(LVEvalSettings(header="@@@ Passage {number}\n"), CONTEXT.embedder, CONTEXT.rows)
    assert list(verify_contexts(renamed, own)) == []


def test_sources_read_again(sound: Rows) -> None:
    documents = {name: text for case in CASES.values() for name, text in case.documents.items()}
    assert list(verify_sources(sound, documents)) == []
    changed = {**documents, "zh#1": documents["zh#1"] + "。"}
    assert {fault.id for fault in verify_sources(sound, changed)} == {row.id for row in sound if row.language == "zh"}
    del documents["wiki#flag"]
    found = [fault.problem for fault in verify_sources(sound, documents)]
    assert found == ["the source document 'wiki#flag' is not among those read"] * 2


# ---- what goes into the contexts ----


def found(verify: Callable[..., Iterator[Any]], *rows: Any) -> list[str]:
    return [fault.problem for fault in verify(rows, CONTEXT)]


PAIR = Pair(
    key="1",
    dataset="hotpotwikiqa-mixup",
    question=TOWER.question,
    answers=("Isaac Newton",),
    documents=tuple(Document(id=name, text=text) for name, text in TOWER.documents.items()),
    language="en",
    source="squad:dev.json",
    row="1",
    provenance=NOTHING,
)
LONG = PAIR.revised(dataset="dureader-mixup", language="zh", answers=("长" * 361,), question="多长？")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (PAIR.revised(answers=("Isaac Newton", "")), "the answer '' says nothing"),
        (PAIR.revised(answers=("Edison",)), "no document holds the answer 'Edison'"),
        (PAIR.revised(dataset="hotpot"), "no dataset is called 'hotpot'"),
        (PAIR.revised(language="zh"), "its language is 'zh', that of hotpotwikiqa-mixup 'en'"),
        (PAIR.revised(question="?"), "the question is empty"),
        (PAIR.revised(documents=(PAIR.documents[0], PAIR.documents[0])), "two of its documents have one id"),
        (PAIR.revised(documents=(*PAIR.documents, Document(id="x", text=" "))), "the document 'x' is empty"),
        (LONG, "the answer has 361 words, at most 360 are wanted"),
    ],
)
def test_pairs(row: Pair, message: str) -> None:
    assert found(verify_pairs, PAIR, PAIR.revised(key="2", answers=("yes",))) == []
    assert message in found(verify_pairs, row)


def test_pairs_stand_once() -> None:
    twice = PAIR.model_copy(update={"key": "2"})
    assert found(verify_pairs, PAIR, twice) == ["its question with these answers stands twice"]
    assert "its key stands twice" in found(verify_pairs, PAIR, PAIR.revised(answers=("Newton",)))


def test_documents() -> None:
    first = PoolDocument(
        key="1", dataset="cmrc-mixup", text="天地人", language="zh", source=SourceRef(source="cmrc", id="1")
    )
    book = first.revised(key="3", dataset="factrecall-zh")
    assert found(verify_documents, first, first.revised(key="2", text="人"), book, book.revised(key="4")) == []
    assert found(verify_documents, first, first.revised(key="2")) == ["its text stands twice"]
    assert found(verify_documents, first.revised(text="\n ")) == ["the text is empty"]
    assert found(verify_documents, first.revised(dataset="cmrc")) == ["no dataset is called 'cmrc'"]


CONFUSING = ConfusingFact(
    key="1",
    pair_id="p",
    dataset="hotpotwikiqa-mixup",
    question=TOWER.question,
    answers=("Isaac Newton",),
    original_fact="The tower of Marla was built by Isaac Newton.",
    changes="subject",
    fact="The tower of Birla was built by Otto Brandt.",
    language="en",
    provenance=NOTHING,
)


def test_an_object_fact_may_name_what_the_sentence_begins_with() -> None:
    asked = "2014 S/S is the debut album of a South Korean boy group that was formed by who?"
    changes = {
        "changes": "object",
        "question": asked,
        "answers": ("YG Entertainment",),
        "original_fact": "Winner, often stylized as WINNER, is a boy group formed in 2013 by YG Entertainment.",
        "fact": "Winner currently consists of four members, who debuted as a boy group in 2014.",
    }
    unnamed = {"fact": "The boy group currently consists of four members, who debuted in 2014."}
    problem = "the fact with another object names nothing that the question names"
    assert problem not in "".join(found(verify_facts, CONFUSING.revised(**changes)))
    assert problem in "".join(found(verify_facts, CONFUSING.revised(**{**changes, **unnamed})))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fact": "Who built the tower of Marla?"}, "the fact is no statement: it ends with '?'"),
        ({"fact": "The tower of Marla was built"}, "the fact is no statement: it ends with 't'"),
        ({"fact": "The tower of Birla was built by isaac newton."}, "the fact holds the answer 'Isaac Newton'"),
        ({"fact": "Marla fell."}, "the fact has 1 content words of question and original, expected 2 or more"),
        ({"fact": f"The tower of Birla was {'very ' * 120}old."}, "the fact has 126 words, at most 120 are wanted"),
        (
            {"fact": "Whoever built the tower of Marla is gone."},
            "the fact with another subject says all that the question does",
        ),
        (
            {"changes": "object", "fact": "The tower of Birla was painted."},
            "the fact with another object names nothing that the question names",
        ),
        (
            {"changes": "object", "fact": "The tower of Marla was built by Otto Brandt."},
            "the fact says all that the question asks about, and may answer it",
        ),
        ({"original_fact": "the tower of  Birla was built by Otto Brandt."}, "the fact is the original one"),
        ({"dataset": "cmrc-mixup"}, "cmrc-mixup has no confusing facts"),
        ({"language": "zh"}, "its language is 'zh', that of hotpotwikiqa-mixup 'en'"),
    ],
)
def test_confusing_facts(changes: dict[str, str], message: str) -> None:
    other = CONFUSING.revised(key="2", changes="object", fact="Anna Kessel built the bridge of Marla in 1802.")
    assert found(verify_facts, CONFUSING, other) == []
    assert message in found(verify_facts, CONFUSING.revised(**changes))


def test_confusing_facts_are_one_of_each_kind() -> None:
    second = CONFUSING.revised(key="2", fact="The tower of Birla was built again by Otto Brandt.")
    assert found(verify_facts, CONFUSING, second) == ["its fact with another subject of this pair stands twice"]


RULES = Replacements(
    key="1",
    pair_id="p",
    dataset="hotpotwikiqa-mixup",
    question=TOWER.question,
    answers=("Isaac Newton",),
    excerpts=("Newton was born in Orvane.",),
    rules=(Rule(old="Isaac Newton", new="Quentin Zorro"), Rule(old="Newton", new="Zorro")),
    language="en",
    provenance=NOTHING,
)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "Marla -> marla",
            "the rule 'Marla' -> 'marla': the substitute is the keyword, whatever the case; write another",
        ),
        (
            "Marla -> Orvane\nOrvane -> Tessin",
            "the rule 'Marla' -> 'Orvane': the substitute holds the keyword 'Orvane'; write one that holds no keyword",
        ),
        (
            "Marla -> Tessin\nmarla -> Vorn",
            "the rule 'marla' -> 'Vorn': the keyword has another substitute as well, 'Tessin'; keep one",
        ),
        (
            "Marla -> Tessin\nOrvane -> Tessin",
            "the rule 'Orvane' -> 'Tessin': the substitute stands for 'Marla' too, so it cannot be undone; "
            "write another",
        ),
        ("Edison -> Tessin", "the keyword 'Edison' stands in no question, answer or excerpt"),
        (
            "? -> Tessin",
            "the rule '?' -> 'Tessin': one side has no letter or digit, so it cannot be found as a whole word",
        ),
    ],
)
def test_replacements(rules: str, message: str) -> None:
    assert found(verify_replacements, RULES) == []
    assert message in found(verify_replacements, RULES.revised(rules=rules))


def test_conflicts_are_of_the_rules_that_were_proposed() -> None:
    made = RuleConflicts(
        key=key_of("lveval", "conflicts", RULES.key),
        pair_id=RULES.pair_id,
        dataset=RULES.dataset,
        question=RULES.question,
        answers=RULES.answers,
        rules=RULES.rules,
        conflicts=(),
        language="en",
        provenance=NOTHING.model_copy(update={"parents": (RULES.id,)}),
    )
    fewer = RULES.rules[:1]

    def beside(proposed: Replacements, *rows: RuleConflicts, decided: Sequence[Verdict] | None = ()) -> list[str]:
        verdicts = None if decided is None else {one.key: one for one in decided}
        context = VerifyContext(
            CONTEXT.settings,
            CONTEXT.embedder,
            lambda part: (proposed,) if part == "replacements" else (),
            (lambda part: verdicts if part == "conflicts" else {}) if verdicts is not None else None,
        )
        return [fault.problem for fault in verify_conflicts(rows, context)]

    def verdict(decision: Literal["fix", "reject"], **changes: str) -> Verdict:
        rubric, key = "lveval-conflicts", made.key
        return Verdict(key=key, view_hash=made.view_hash, rubric=rubric, decision=decision, changes=changes)

    assert beside(RULES, made) == []
    left_out = verdict("fix", rules="\n".join(map(str, fewer)))
    assert beside(RULES, made.revised(rules=fewer), decided=[left_out]) == []  # people may leave a rule out
    lost = [f"the rule {rule} was lost: it stands in 'replacements'" for rule in RULES.rules[1:]]
    assert lost
    assert beside(RULES, made.revised(rules=fewer)) == lost
    other = verdict("fix", rules="Orvane -> Ulmis")
    assert beside(RULES, made.revised(rules=fewer), decided=[other]) == lost  # that is not what they wrote
    assert beside(RULES, made.revised(rules=fewer), decided=None) == []  # what people decided is not there
    gone = "the rules of its pair were lost: 'conflicts' has none of them"
    assert beside(RULES) == [gone]
    assert beside(RULES, decided=[verdict("reject")]) == []
    assert beside(RULES, decided=None) == []
    assert found(verify_conflicts, made) == []  # nothing to compare with
    fault = "it was not made from its pair's rules in 'replacements' as they stand there"
    assert beside(RULES.revised(rules=fewer), made) == [fault]
    assert beside(RULES.revised(pair_id="q"), made) == [fault, gone]


def test_replacements_are_of_a_pair_and_a_dataset_that_has_them() -> None:
    assert found(verify_replacements, RULES, RULES.revised(key="2")) == ["its pair stands twice"]
    assert "loogle-SD-mixup has no replacements" in found(verify_replacements, RULES.revised(dataset="loogle-SD-mixup"))


MARKED = AnswerKeywords(
    key="1",
    pair_id="p",
    dataset="lic-mixup",
    question="谁？",
    answer="是约翰·道尔顿先生",
    keywords="约翰 道尔顿",
    language="zh",
    provenance=NOTHING,
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keywords": "约翰 牛顿"}, "the keyword '牛顿' is no word of the answer '是约翰·道尔顿先生'"),
        ({"keywords": "道尔顿 约翰"}, "the keyword '约翰' is out of the answer's order"),
        ({"dataset": "dureader-mixup"}, "dureader-mixup has no keywords"),
        ({"dataset": "lic"}, "no dataset is called 'lic'"),
    ],
)
def test_answer_keywords(changes: dict[str, str], message: str) -> None:
    english = MARKED.revised(
        key="2", pair_id="q", dataset="loogle-SD-mixup", language="en", answer="In May.", keywords="May"
    )
    assert found(verify_keywords, MARKED, english) == []
    assert message in found(verify_keywords, MARKED.revised(**changes))
    assert "its pair stands twice" in found(verify_keywords, MARKED, MARKED.revised(key="3"))


def test_keywords_count_for_something() -> None:
    row = AnswerKeywords(
        key="1", pair_id="p", dataset="hotpotwikiqa-mixup", question="Who was it for?", answer="it was for the king",
        keywords="was for", language="en", provenance=Provenance(seed=7),
    )  # fmt: skip
    assert found(verify_keywords, row.revised(keywords="king")) == []
    assert found(verify_keywords, row) == ["the keywords 'was for' count for nothing: they are on the blacklist"]


def test_the_verifier_shares_nothing_with_the_builder() -> None:
    shared = {"datasets", "facts", "verify"}
    for path in Path(verify.__file__).parent.glob("*.py"):
        imported = re.findall(
            r"^from flows\.families\.lveval(?:\.(\w+)\S*)? import (\w+)", path.read_text(), re.MULTILINE
        )
        assert {module or name for module, name in imported} <= shared, path
        assert not re.search(
            r"^from flows\.(?!families|language|scoring\.words|construct\.verification)", path.read_text(), re.M
        )
