"""Proves that a row agrees with the other rows of its pair, with the other parts and with its sources."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pydantic import ValidationError

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.facts import packaged_fact
from flows.families.lveval.verify.case import LONGEST_SENTENCE, count, listed, sha256
from flows.language import keywords
from flows.language.boundaries import boundaries
from schemas.base import content_hash
from schemas.lveval import LongContext, Pair, Rule, RuleConflicts
from schemas.source import QASource
from schemas.verdict import Verdict

PLACE_TOLERANCE = 0.015  # share of the context by which a recalled fact may miss its place
_SHARED = ("input", "answers", "answer_keywords", "replacements", "sources", "confusing_facts")
"""The fields that are the same at all levels of a pair."""


_Place = tuple[str, str, str]  # dataset, level and pair


class Levels:
    """The rows so far: which pairs have which levels, and what they share."""

    def __init__(self) -> None:
        self.shared: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
        """By dataset and pair: the first row's level, and the checksums of what is the same at all levels."""
        self.rows: dict[str, dict[str, dict[str, dict[int | None, str]]]] = {}
        """The rows' ids by dataset, level, pair and depth."""
        self.places: dict[_Place, list[tuple[int, int, str]]] = defaultdict(list)
        """The depth of each recalled fact, the words before it, and its row's id."""
        self.contexts: dict[_Place, dict[str, int]] = defaultdict(dict)  # checksum of a context -> its depth
        self.depths: dict[_Place, frozenset[int]] = {}  # the expected depths
        self.recalling: set[str] = set()  # the datasets of fact recall

    def add(self, row: LongContext, dataset: Dataset) -> Iterator[str]:
        """Remember the row; yield where it disagrees with those before it."""
        values = row.model_dump(mode="json", include=set(_SHARED))
        sums = {name: content_hash(value) for name, value in values.items()}
        level, first = self.shared.setdefault((dataset.name, row.pair_id), (row.level, sums))
        for name in _SHARED:
            if sums[name] != first[name]:
                yield f"the field {name!r} is not as it is at level {level}"
        depths = self.rows.setdefault(dataset.name, {}).setdefault(row.level, {}).setdefault(row.pair_id, {})
        if dataset.recalls_fact:
            self.recalling.add(dataset.name)
        if row.depth in depths:
            where = "" if row.depth is None else f", depth {row.depth}"
            yield f"the pair {row.pair_id} has a second row at level {row.level}{where}"
        depths[row.depth] = row.id
        if (row.depth is not None) != dataset.recalls_fact:
            yield f"its depth is {row.depth}, expected {'a number' if dataset.recalls_fact else 'none'}"
        elif row.depth is not None:
            same = self.contexts[dataset.name, row.level, row.pair_id]
            if (other := same.setdefault(row.context_xxh3, row.depth)) != row.depth:
                yield f"its context is that of depth {other}"
            yield from self._place(row, row.depth, dataset)

    def _place(self, row: LongContext, depth: int, dataset: Dataset) -> Iterator[str]:
        """Check that the fact is at its share of the book, as closely as the sentences allow.

        Measured without what was put into the book; by words or by characters, whichever is closer.
        """
        if not 0 <= depth < datasets.DEPTHS:
            yield f"its depth is {depth}, expected 0 to {datasets.DEPTHS - 1}"
            return
        start = next((position.start for position in row.positions if position.kind == "support"), None)
        if start is None:
            return
        put_in = [(position, row.context[position.start : position.end]) for position in row.positions]
        before = [text for position, text in put_in if position.end <= start]
        words = count(row.context[:start], dataset.language) - sum(count(text, dataset.language) for text in before)
        place = dataset.name, row.level, row.pair_id
        if place not in self.depths:
            self.depths[place] = _depths(row, dataset.language)
        book = row.length - sum(count(text, dataset.language) for _, text in put_in)
        signs = start - sum(map(len, before)), len(row.context) - sum(len(text) for _, text in put_in)
        self.places[place].append((depth, words, row.id))
        allowed = max(PLACE_TOLERANCE, LONGEST_SENTENCE[dataset.language] / max(1, book))
        least, most = depth / datasets.DEPTHS - allowed, (depth + 1) / datasets.DEPTHS + allowed
        shares = (words / max(1, book), signs[0] / max(1, signs[1]))
        if not any(least <= share <= most for share in shares):
            wanted = f"{max(0, least):.1%} to {min(1, most):.1%}"
            yield f"at depth {depth} the fact stands at {shares[0]:.1%} of the book, expected {wanted}"

    def faults(self) -> Iterator[Fault]:
        """Yield the rows that are missing at a level, and facts that do not move forward with their depth."""
        for name, levels in self.rows.items():
            recalls = name in self.recalling
            row_ids: dict[str, str] = {}
            for pairs in levels.values():
                row_ids.update((pair, next(iter(depths.values()))) for pair, depths in pairs.items())
            for level, pairs in levels.items():
                for pair, id_ in row_ids.items():
                    wanted = self.depths.get((name, level, pair), range(datasets.DEPTHS)) if recalls else (None,)
                    missing = set(wanted) - pairs.get(pair, {}).keys()
                    at = f" at depths {listed(missing)}" if recalls and pair in pairs else ""
                    if missing:
                        yield Fault(id=id_, problem=f"its pair {pair} has no row at level {level} of {name}{at}")
        for (_, level, _), places in self.places.items():
            for place, following in pairwise(sorted(places)):
                if following[1] < place[1]:
                    stands = f"the fact at depth {following[0]} stands before that at depth {place[0]}"
                    yield Fault(id=following[2], problem=f"at level {level} {stands}")


def _depths(row: LongContext, language: str) -> frozenset[int]:
    """Return the depths expected: the first of those whose nearest boundary of two sentences is the same."""
    joint = "" if language == "zh" else " "
    book, done = "", 0
    for position in sorted(row.positions, key=lambda place: place.start):
        book += row.context[done : position.start]
        done = position.end + len(joint)
    book += row.context[done:]
    ends = np.array([0, *boundaries(book, language), len(book)])
    firsts: dict[int, int] = {}
    for depth in range(datasets.DEPTHS):
        away = np.abs(ends - depth / (datasets.DEPTHS - 1) * len(book))
        firsts.setdefault(int(len(ends) - 1 - np.argmin(away[::-1])), depth)
    return frozenset(firsts.values())


@dataclass(frozen=True)
class Origins:
    """The other parts' records that the contexts were made from."""

    pairs: Mapping[str, Pair]
    facts: Mapping[str, list[str]]
    rules: Mapping[str, set[tuple[str, str]]]
    marked: frozenset[str]  # the pairs whose answer has keywords
    needed: Mapping[str, Sequence[Rule]]
    """The rules of a pair without a known conflict: none may be missing."""

    @classmethod
    def of(cls, ctx: VerifyContext) -> "Origins":
        facts: dict[str, list[str]] = defaultdict(list)
        for fact in ctx.rows("confusing-facts"):
            facts[fact.pair_id].append(fact.fact)
        rules: dict[str, set[tuple[str, str]]] = {}
        needed: dict[str, Sequence[Rule]] = {}
        verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
        for record in ctx.rows("conflicts"):
            rules[record.pair_id] = {(rule.old, rule.new) for rule in record.rules}
            # The conflicts concern the rules that people were shown; conflicts of corrected rules are not recorded.
            if verdicts is not None and not is_corrected(record, verdicts):
                harmful = {conflict.old for conflict in record.conflicts}
                needed[record.pair_id] = [rule for rule in record.rules if rule.old not in harmful]
        marked = frozenset(record.pair_id for record in ctx.rows("keywords"))
        return cls(ctx.rows_by("pairs", lambda pair: pair.id), facts, rules, marked, needed)

    def problems(self, row: LongContext, dataset: Dataset) -> Iterator[str]:
        """Yield where a row, its replacements undone, disagrees with the other parts; nothing if there are none."""
        pair = self.pairs.get(row.pair_id)
        if pair is None:
            if self.pairs:
                yield f"its pair {row.pair_id} is not among the pairs"
            return
        rules = [(rule.old, rule.new) for rule in row.replacements]
        if strange := [rule for rule in rules if rule not in self.rules.get(pair.id, ())]:
            yield f"the rule {' -> '.join(strange[0])} is not among those of its pair"
            return

        for rule in missing_rules(self.needed.get(pair.id, ()), row.replacements):
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
        if [(source.id, source.sha256) for source in row.sources] != [
            (document.id, sha256(document.text)) for document in pair.documents
        ]:
            yield "its source documents are not those of its pair"


def is_corrected(row: RuleConflicts, verdicts: Mapping[str, Verdict]) -> bool:
    """Return whether a person corrected its rules to what they are now."""
    verdict = verdicts.get(row.key)
    written = verdict.changes.get("rules") if verdict is not None else None
    try:
        return written is not None and row.revised(rules=written).rules == row.rules
    except ValidationError:
        return False


def missing_rules(rules: Iterable[Rule], present: Iterable[Rule]) -> list[Rule]:
    """Return the rules that `present` lacks; of two that differ only in case, one is enough."""
    present_rules = {(rule.old.casefold(), rule.new.casefold()) for rule in present}
    return [rule for rule in rules if (rule.old.casefold(), rule.new.casefold()) not in present_rules]


def verify_sources(rows: Iterable[LongContext], documents: Mapping[str, str]) -> Iterator[Fault]:
    """Check the checksums of the supporting documents against `documents`: id to text, as read again."""
    checksums: dict[str, str] = {}
    for row in rows:
        for source in row.sources:
            if source.id not in documents:
                yield Fault(id=row.id, problem=f"the source document {source.id!r} is not among those read")
                continue
            if source.id not in checksums:
                checksums[source.id] = sha256(documents[source.id])
            if (checksum := checksums[source.id]) != source.sha256:
                problem = f"the source document {source.id!r} has SHA-256 {checksum}, expected {source.sha256}"
                yield Fault(id=row.id, problem=problem)


def verify_against_sources(
    rows: Iterable[LongContext], sources: Iterable[QASource], ctx: VerifyContext
) -> Iterator[Fault]:
    """Run `verify_sources` on the questions, read again, and the fact records."""
    plain: dict[str, str] = {}
    for dataset in filter(lambda dataset: dataset.recalls_fact, ctx.settings.known.values()):
        block = ctx.settings.datasets.get(dataset.name)
        fact = (block and block.fact) or packaged_fact(dataset.language)
        plain[f"{dataset.name}#fact"] = fact.fact
    titled: dict[str, str] = {}
    for source in sources:
        name = source.source.source
        documents = [(document.id, document.title, document.text) for document in source.documents]
        for number, title, text in documents or [(source.source.id, source.title, source.evidence or "")]:
            cleaned = text.replace("\r\n", "\n").replace("\r", "\n").strip()
            plain[f"{name}#{number}"] = cleaned
            titled[f"{name}#{number}"] = f"{title}\n{cleaned}" if title else cleaned
    for row in rows:
        dataset = datasets.dataset_of_row(row.model_dump(include=set(datasets.OF_DATASET)))
        yield from verify_sources([row], titled if dataset.titled else plain)
