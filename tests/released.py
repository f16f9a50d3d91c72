"""Rows as a release has them, few and short, of every family that is scored; and replies to them."""

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.parquet import arrow_fields
from flows.families.lveval.datasets import BY_NAME
from schemas.base import PromptRef, Provenance, Record, SourceRef
from schemas.charpeval import DISTRACTOR_TYPES, SUBSETS, CharpEvalItem
from schemas.documents import DocumentConflict, DocumentPair, Span
from schemas.lveval import LongContext, Rule
from schemas.reeval import EnrichedCase, PassageRef, SwapCase
from schemas.source import Place
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS, EvaluationRow

KINDS: dict[Any, tuple[str, str, str]] = {
    "number": ("3", "4", "number"), "boolean": ("yes", "no", "boolean"), "entity": ("the Sun", "Moon", "entity"),
    "number in words": ("1,200", "1,300", "number"),
}  # fmt: skip
"""Of an item of URAQ: the right answer, that of the contexts in conflict, and the type of both."""


def uraq_rows(counts: Sequence[int] = (1, 10), datasets: Sequence[str] = ("uraq",)) -> list[EvaluationRow]:
    """An item of each kind in each data set, in every setting with every number of contexts."""
    rows = []
    for dataset in datasets:
        for name, (right, other, kind) in KINDS.items():
            for setting in SETTINGS:
                found = {"match": right, "conflict": other, "irrelevant": DONT_KNOW}[setting]
                wanted = found if found != DONT_KNOW else right
                expected = {"context-exclusive": found, "context-first": wanted, "memory-first": right}
                rows += [
                    EvaluationRow(
                        key=f"{dataset} {name} {setting} {count}", item_id=f"{dataset}-{name}", setting=setting,
                        n_contexts=count, contexts=tuple(f"Context <b>{n}</b> tells that it is {found}.\nSo it is."
                                                         for n in range(count)),
                        relevant_index=None, question=f"What is “{name}”?", answer_type=kind, dataset=dataset,
                        expected=expected, provenance=Provenance(seed=1),
                    )
                    for count in counts
                ]  # fmt: skip
    return rows


def document_pairs() -> list[DocumentPair]:
    """Two questions on one document, and one on another."""
    return [
        DocumentPair(
            key=question, question=question, answer=answer, kind="fact", evidence=f"It is {answer}.",
            sentences=(Span(text=f"It is {answer}.", start=0, end=len(answer) + 7),), passages=(question,),
            places=(Place(document=document, start=0, end=9, checksum="0"),), language="en",
            provenance=Provenance(seed=1),
        )
        for question, answer, document in (
            ("How high?", "three", "tower.md"), ("Which king?", "old King", "tower.md"), ("Sure?", "yes", "b.md")
        )
    ]  # fmt: skip


def document_conflicts() -> list[DocumentConflict]:
    """Two questions to which the same two documents give different answers, and one of other documents, in Chinese."""
    return [
        DocumentConflict(
            key=question, question=question, kind="number", first_answer=first, first_title=titles[0],
            first_evidence=f"“{first}” — it says.", first_sentences=(Span(text=first, start=1, end=1 + len(first)),),
            second_answer=second, second_title=titles[1], second_evidence=f"{second}\nand no more {{{{ }}}}.",
            second_sentences=(Span(text=second, start=0, end=len(second)),), passages=("1", "2"),
            places=tuple(Place(document=name, start=0, end=9, checksum="0") for name in documents), language=language,
            provenance=Provenance(seed=1),
        )
        for question, first, second, titles, documents, language in (
            ("How long?", "14 days", "30 days", ("Terms <b>", None), ("terms.md", "service.md"), "en"),
            ("How much?", "five euros", "three euros", (None, "Service"), ("terms.md", "service.md"), "en"),
            ("几天？", "14天", "30天", ("规定", "须知"), ("a.md", "b.md"), "zh"),
        )
    ]  # fmt: skip


def provenance(row: str, pivot: str = "rules") -> Provenance:
    """Of a case that this pivot made of a source's row."""
    asked = [PromptRef(name="p", version="1-0", role=role, model=f"{pivot}{role}") for role in ("builder", "pivot")]
    return Provenance(sources=(SourceRef(source="dev.json", id=row),), prompts=tuple(asked), seed=1)


def swap_cases(pivots: Sequence[str] = ("p",), sources: Sequence[str] = ("squad:dev", "nq:dev")) -> list[SwapCase]:
    """Category 1: two cases a source and pivot, in English and in Chinese."""
    made = []
    for pivot in pivots:
        for source in sources:
            for number, (language, old, new) in enumerate(
                (("en", "the old King", "a new Queen"), ("zh", "北京", "上海"))
            ):
                made.append(
                    SwapCase(
                        key=f"{pivot} {source} {number}", question=f"Who ({source})?", answer=new, original_answer=old,
                        aliases=("the aged king",) if language == "en" else (), evidence=f"It was {new} — “so”.",
                        original_evidence=f"It was {old} — “so”.", replacements=(),
                        answer_position=(None, "first")[number], language=language, pivot=pivot, source=source,
                        provenance=provenance(f"{source} {number}", pivot),
                    )
                )  # fmt: skip
    return made


def enriched_cases(pivots: Sequence[str] = ("p",)) -> list[EnrichedCase]:
    """Category 2: three cases a pivot."""
    return [
        EnrichedCase(
            key=f"{pivot} {number}", question=f"Where is it ({number})", answer=f"in town {number}",
            aliases=("downtown",), original_evidence=f"It is in town {number}.", supporting_sentence="It is there.",
            supporting_sentence_resolved="The clock is there.",
            evidence_question_focused=f"It is in town {number}. There are towns.",
            evidence_evidence_focused=f"Clocks are in towns. It is in town {number}.",
            passages_question_focused=(PassageRef(id="1", title=None, text="There are towns."),),
            passages_evidence_focused=(), language="en", pivot=pivot, source="timeqa:dev",
            provenance=provenance(f"row {number}", pivot),
        )
        for pivot in pivots
        for number in range(3)
    ]  # fmt: skip


ANSWERS = {
    "en": ("The harbour clock was repaired by Odessa Marlowe in 1987.", "no"),
    "zh": ("长江是中国最长的河流。", "否"),
}
RULE = Rule(old="Ada Lovelace", new="Odessa Marlowe")
KEYWORDS = {"en": "Odessa Marlowe 1987", "zh": "长江 中国"}


CONFUSING = ("The station clock was repaired by Otto Brandt.", "The harbour clock was painted.")


def long_contexts(name: str, levels: Sequence[str] = ("16k", "32k"), number: int = 2) -> list[LongContext]:
    """Rows of one of LV-Eval's datasets, as many a level; the first pair alone has confusing facts."""
    dataset = BY_NAME[name]
    return [
        LongContext(
            key=f"{name} {level} {n}", input=f"Who repaired clock {n}?", context=f"### Passage 1\n{n} {{{{ it }}}}",
            answers=ANSWERS[dataset.language], length=3, dataset=dataset.at(level), language=dataset.language,
            answer_keywords=KEYWORDS[dataset.language] if dataset.keywords else "",
            confusing_facts=CONFUSING if dataset.confusing_facts and not n else (),
            pair_id=f"pair {n}", level=level, depth=10 * n if dataset.recalls_fact else None, answer_test="whole-word",
            positions=(), replacements=(RULE,) if dataset.replacements else (), sources=(),
            context_xxh3=f"{n}", provenance=Provenance(seed=1),
        )
        for level in levels
        for n in range(number)
    ]  # fmt: skip


def charpeval_items(number: int = 3) -> list[CharpEvalItem]:
    """Dialogues of each subset."""
    made = []
    for subset in SUBSETS:
        for n in range(number):
            distractors = {kind: f"{kind} of the  bread, number {n}." for kind in DISTRACTOR_TYPES}
            options = (f"The bell made bread {n}.", *distractors.values())
            made.append(
                CharpEvalItem(
                    key=f"{subset} {n}", subset=subset, history=("Hello\nyou.", "I kept the flour.")[: n % 3],
                    last_utterance=f"And the oven near the bridge, {n}?", knowledge=f"The bell “made”\nbread {n}.",
                    response=options[0], distractors=distractors, options=options, gold_index=0,
                    dialogue_id=f"d{n}", provenance=Provenance(seed=1),
                )
            )  # fmt: skip
    return made


SAID = (
    "", " ", "the", "I don't know", "i dont know based on this", "yes", "No.", "3.0", "three", "-3", "the sun",
    "<output>3</output>", "<OUTPUT>three", "<output>yes</output> <output>no</output>", "<output>Sun.</output>",
    "<output> I don’t know </output>", "<output>1,200</output>", "<output>one thousand two hundred</output>",
    "<output>1200 km</output>", "no", "0", "<output>none</output>", "a new queen", "old King", "it is an old king",
    "the aged king", "上海", "在上海。", "２０２４年 北京", "in town 1", "downtown", "town 2 in", "Odessa Marlowe",
    "the clock was repaired in 1987", "长江", "中国最长的河流是长江。", "的 是", "黄河. 长江. 河流",
    "İstanbul ß", "\u0000\u2028",
)  # fmt: skip
"""Replies right and wrong, strange and empty."""


def replies(
    rows: Iterable[tuple[str, Iterable[str]]], seed: int, said: Sequence[str] = SAID, **group: Any
) -> list[dict[str, Any]]:
    """A reply to each (id, variants), drawn out of `said`."""
    drawn = random.Random(seed)
    return [
        {"id": id_, "variant": one, "prediction": drawn.choice(said), **group} for id_, all_ in rows for one in all_
    ]


def right_in_part(rows: Sequence[EvaluationRow], seed: int, **group: Any) -> list[dict[str, Any]]:
    """Replies to URAQ's rows that are often right, so that whole items are."""
    drawn = random.Random(seed)
    return [
        {
            "id": row.id, "variant": need, **group,
            "prediction": f"<output>{row.expected[need]}</output>" if drawn.random() < 0.9 else drawn.choice(SAID),
        }
        for row in rows
        for need in NEEDS
    ]  # fmt: skip


def weighed(items: Iterable[CharpEvalItem], variants: Iterable[str], seed: int, **group: Any) -> list[dict[str, Any]]:
    """Scores of the items' options, some of which tie."""
    drawn, given = random.Random(seed), list(items)
    return [
        {"id": item.id, "variant": one, "scores": {kind: -drawn.randrange(1, 5) / 2 for kind in item.texts}, **group}
        for one in variants
        for item in given
    ]


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """A JSONL file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def write_release(path: Path, rows: Sequence[Record]) -> Path:
    """A config's Parquet file: the record's columns, and those that a release adds."""
    more = [pa.field("canary", pa.string()), pa.field("reviewed", pa.bool_()), pa.field("verdict", pa.string())]
    fields = [field for field in arrow_fields(type(rows[0])) if field.name != "reviewed"]
    added = {"canary": "GUID", "reviewed": True, "verdict": "accept"}
    table = pa.Table.from_pylist([row.model_dump(mode="json") | added for row in rows], pa.schema([*fields, *more]))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path
