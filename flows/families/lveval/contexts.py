"""The contexts part: pairs, documents, confusing facts, rules and keywords brought together (section 3.2)."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from flows.construct.engine import Drop, Slot, StepContext
from flows.construct.files_step import FilesContext, RowFile
from flows.families.lveval.conflicts import look_for_unfit, settled, unfit
from flows.families.lveval.datasets import BY_NAME, DEPTHS, Dataset
from flows.families.lveval.library import BETWEEN, Library, Numbers
from flows.families.lveval.mixing import LACKING, Headers, Laid, Measured, Mixture, Seeds, Text, lay_out, measure, mix
from flows.families.lveval.naming import place_of_word, sides_of
from flows.families.lveval.recall import PARAGRAPHS, Book, Level, level_of, place_of, recalled
from flows.families.lveval.settings import LVEvalSettings, words_of
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from flows.language.keywords import apply, replacer
from schemas.base import Provenance, content_hash
from schemas.lveval import (
    AnswerKeywords,
    AnswerTest,
    ConfusingFact,
    LongContext,
    Pair,
    PoolDocument,
    Replacements,
    Rule,
    RuleConflicts,
    SourceDocument,
)

FREQUENT = 0.01
"""Share of the documents that hold an answer, above which holding it does not tell that a document answers."""
FILE_BYTES = 500 * 2**20
BYTES_A_WORD = 6
"""About what a word takes in English, with its space; twice what a Chinese character takes."""


@dataclass(frozen=True)
class Material:
    """What belongs to one pair beside its documents."""

    facts: tuple[Text, ...] = ()
    rules: tuple[Rule, ...] = ()
    keywords: str = ""
    provenance: tuple[Provenance, ...] = ()
    reviewed: bool = True
    """Whether people accepted all of it."""


@dataclass(frozen=True)
class Settled:
    """A pair as its rows have it, after replacement: the same at every level."""

    pair: Pair
    question: str
    answers: tuple[str, ...]
    keywords: str
    facts: tuple[Text, ...]
    support: tuple[Text, ...]
    rules: tuple[Rule, ...]
    sources: tuple[SourceDocument, ...]
    provenance: dict[str, Any]
    reviewed: bool

    @classmethod
    def of(cls, pair: Pair, material: Material) -> "Settled":
        """Replacement through question, answers, keywords, supporting documents and facts alike (section 3.2.3)."""
        sides = sides_of(material.rules)
        texts = [
            pair.question,
            *pair.answers,
            *(one.text for one in pair.documents),
            *(one.text for one in material.facts),
        ]
        put = iter(apply(BETWEEN.join(texts), sides, pair.language).split(BETWEEN) if sides else texts)
        parts = [pair.provenance, *material.provenance]
        return cls(
            pair=pair,
            question=next(put),
            answers=tuple(islice(put, len(pair.answers))),
            keywords=keywords_after(material.keywords, pair.answers[0], sides, pair.language),
            support=tuple(Text(one.id, next(put), pair.language) for one in pair.documents),
            facts=tuple(Text(one.id, next(put), pair.language) for one in material.facts),
            rules=material.rules,
            sources=tuple(SourceDocument.of(one) for one in pair.documents),
            provenance=Provenance(
                sources=pair.provenance.sources,
                prompts=tuple(dict.fromkeys(prompt for one in parts for prompt in one.prompts)),
                parents=tuple(dict.fromkeys((pair.id, *(parent for one in parts[1:] for parent in one.parents)))),
                seed=pair.provenance.seed,
                notes=tuple(dict.fromkeys(note for one in parts for note in one.notes)),
            ).model_dump(mode="json"),
            reviewed=material.reviewed and bool(material.provenance),
        )


def keywords_after(keywords: str, answer: str, sides: Sequence[tuple[str, str]], language: str) -> str:
    """The keywords of the answer after replacement: what stands in their places, a substitute always whole."""
    if not sides or not keywords:
        return keywords
    way = replacer(sides, language)
    edits = way.edits(answer)
    spans: list[tuple[int, int]] = []
    place = 0
    for keyword in keywords.split():
        found = place_of_word(language, answer, keyword, place)
        if found is None:
            return keywords
        place = found[1]
        touched = [edit for edit in edits if edit.start < found[1] and found[0] < edit.end]
        start = min([found[0], *(edit.start for edit in touched)])
        end = max([found[1], *(edit.end for edit in touched)])
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return " ".join(way.apply(answer[start:end]) for start, end in spans)


class Shelf:
    """A dataset at work: its documents, and what was found out about each of its pairs."""

    def __init__(
        self, dataset: Dataset, library: Library, pairs: Sequence[Pair], materials: Mapping[str, Material], longest: int
    ) -> None:
        self.dataset = dataset
        self.library = library
        self.pairs = pairs
        self._materials = materials
        self._longest = longest
        self._settled: dict[str, Settled] = {}
        self._mixtures: dict[str, tuple[Mixture, AnswerTest]] = {}
        self.measured: dict[tuple[str, str], Measured] = {}
        """What goes into the context of a pair's key at a level."""
        self.levels: dict[str, Level] = {}
        """Fact recall: how much of the book each level takes."""
        self.missing: dict[str, int] = {}
        """Of the levels that cannot be built: how many words are missing at least."""
        self._refusals: dict[str, dict[str, Drop]] = {}
        """By pair and level, why a context cannot be built."""
        library.search(
            [
                *(side for one in materials.values() for rule in one.rules for side in (rule.old, rule.new)),
                *(fact.text for one in materials.values() for fact in one.facts),
            ],
            (answer for pair in pairs for answer in pair.answers if not is_yes_or_no(answer)),
        )
        look_for_unfit((rule.old for one in materials.values() for rule in one.rules), library)

    def facts_of(self, pair: Pair) -> list[str]:
        """The pair's confusing facts, as they were written."""
        return [fact.text for fact in self._materials.get(pair.id, Material()).facts]

    def settled(self, pair: Pair) -> Settled:
        """The pair after replacement."""
        if pair.key not in self._settled:
            own = self._materials.get(pair.id, Material())
            rules = settled(own.rules, pair, self.facts_of(pair), self.library)
            self._settled[pair.key] = Settled.of(pair, replace(own, rules=rules))
        return self._settled[pair.key]

    def mixture(self, pair: Pair, seed: Seeds) -> tuple[Mixture, AnswerTest]:
        """The pair's distractors, drawn once for all levels, and how they were told from answers."""
        if pair.key not in self._mixtures:
            own = self.settled(pair)
            excluded, test = self.excluded(pair, own.rules)
            sides = sides_of(own.rules)
            mixture = mix(
                self.library,
                excluded,
                own.support,
                own.facts,
                (lambda text: apply(text, sides, pair.language)) if sides else None,
                _union(self.library.holding(rule.old) for rule in own.rules),
                scattered=self.dataset.scattered,
                longest=self._longest,
                seed=seed("order"),
            )
            self._mixtures[pair.key] = mixture, test
        return self._mixtures[pair.key]

    def measure(self, levels: Sequence[str], headers: Headers, seeds: Callable[..., Seeds]) -> None:
        """Find out which contexts can be built, so that a pair is there at each level or at none (section 3.1).

        A level that fewer than half of the pairs can fill is no level of this dataset; a pair that cannot be
        built at one of the others is built at none.
        """
        for pair in self.pairs:
            own = self._refusals[pair.key] = {}
            for level in levels:
                try:
                    if self.dataset.recalls_fact:
                        self.levels[level] = level_of(self.book[0], words_of(level), seeds(pair, level))
                    else:
                        mixture, _ = self.mixture(pair, seeds(pair))
                        self.measured[pair.key, level] = measure(mixture, words_of(level), headers)
                except Drop as drop:
                    own[level] = drop
        for level in levels:
            lacking = [own[level] for own in self._refusals.values() if level in own and own[level].reason == LACKING]
            if 2 * len(lacking) > len(self.pairs):
                self.missing[level] = min(int(drop.value or 0) for drop in lacking)

    def refusal(self, pair: Pair, level: str) -> Drop | None:
        """Why the pair has no context at this level; None where it has one."""
        own = self._refusals[pair.key]
        if level in self.missing:
            return own.get(level) or Drop(LACKING, f"most pairs of {self.dataset.name} lack it at {level}")
        at = next((one for one in own if one not in self.missing), None)
        if at is None:
            return None
        return Drop(own[at].reason, f"at {at}: {own[at].evidence}", value=own[at].value)

    def excluded(self, pair: Pair, rules: Sequence[Rule]) -> tuple[npt.NDArray[np.bool_], AnswerTest]:
        """The documents that must not distract from the pair.

        They answer its question, nearly repeat one of its documents, hold a substitute or a confusing fact
        already, or are written in the other of the two Chinese scripts, which would tell them from its own.
        """
        library = self.library
        out = np.zeros(len(library), np.bool_)
        test: AnswerTest = "none"
        for answer in pair.answers:
            if is_yes_or_no(answer):
                continue
            test = "whole-word" if test == "none" else test
            holding = library.answering(answer)
            if len(holding) > FREQUENT * len(library):
                test = "with-question-word"
                asked = self._asked(pair)
                holding = holding[[self._answers(int(number), answer, asked) for number in holding]]
            out[holding] = True
        for fact in self.facts_of(pair):
            out[library.holding(fact)] = True
        for rule in rules:
            out[library.holding(rule.new)] = True
            out[unfit(rule, library)] = True
        out[library.in_other_script(pair.documents[0].text)] = True
        for number in self._near_duplicates[pair.key]:
            out[number] = True
        return out, test

    @cached_property
    def _near_duplicates(self) -> dict[str, list[Numbers]]:
        """By a pair's key, the near-duplicates of each of its documents."""
        found = iter(self.library.near_duplicates([one.text.encode() for pair in self.pairs for one in pair.documents]))
        return {pair.key: list(islice(found, len(pair.documents))) for pair in self.pairs}

    def _asked(self, pair: Pair) -> frozenset[str]:
        language = language_of(pair.language)
        answers = frozenset[str]().union(*map(language.content_words, pair.answers))
        return language.content_words(pair.question) - answers

    def _answers(self, number: int, answer: str, asked: frozenset[str]) -> bool:
        """Whether a sentence of the document holds the answer and a content word of the question."""
        text, language = self.library.text(number), language_of(self.dataset.language)
        places = [0, *self.library.boundaries(number), len(text)]
        return any(
            language.contains(sentence, answer) and not asked.isdisjoint(language.content_words(sentence))
            for sentence in (text[start:end] for start, end in pairwise(places))
        )

    @cached_property
    def book(self) -> tuple[Book, AnswerTest]:
        """Fact recall: the documents as one text, without those that must not distract, and how they were told."""
        (pair,) = self.pairs
        own = self.settled(pair)
        excluded, test = self.excluded(pair, own.rules)
        text = PARAGRAPHS.join(self.library.text(number) for number in np.flatnonzero(~excluded).tolist()) + PARAGRAPHS
        sides = sides_of(own.rules)
        put = apply(text, sides, pair.language) if sides else text
        return Book(put, own.support[0], own.facts, pair.language), test


@dataclass
class Shelves:
    """All datasets at work; each is made when it is first asked for."""

    settings: LVEvalSettings
    seed: int
    documents: Mapping[str, Sequence[PoolDocument]]
    pairs: Mapping[str, Sequence[Pair]]
    materials: Mapping[str, Material]
    """By the pair's id."""
    _made: dict[str, Shelf] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def shelf(self, name: str) -> Shelf:
        """The dataset of that name."""
        with self._locks[name]:
            if name not in self._made:
                dataset = BY_NAME[name]
                library = Library(self.documents.get(name, ()), dataset.language, self.settings.header)
                pairs = self.pairs[name]
                own = {pair.id: self.materials[pair.id] for pair in pairs if pair.id in self.materials}
                self._made[name] = Shelf(dataset, library, pairs, own, self.settings.longest)
            return self._made[name]


@dataclass
class Mixer(Shelves):
    """All datasets, ready to be mixed: which contexts can be built is found out for all levels at once."""

    _headers: dict[str, Headers] = field(default_factory=dict)
    _measured: set[str] = field(default_factory=set)

    def measured(self, name: str) -> Shelf:
        """The dataset of that name, once it is known which of its contexts can be built."""
        shelf = self.shelf(name)
        with self._locks[f"{name} measured"]:
            if name not in self._measured:
                shelf.measure(self.settings.levels, self.headers(shelf.dataset.language), self.seeds)
            self._measured.add(name)
        return shelf

    @property
    def notes(self) -> tuple[str, ...]:
        """Which levels cannot be built, and how much text they lack."""
        return tuple(self._note(name, self.measured(name)) for name in self.pairs if self.measured(name).missing)

    def _note(self, name: str, shelf: Shelf) -> str:
        lacking = ", ".join(f"{level} ({missing:,} words missing)" for level, missing in shelf.missing.items())
        built = [level for level in self.settings.levels if level not in shelf.missing]
        can = f"it is built at {', '.join(built)}" if built else "it is built at none"
        return f"{name}: not enough text for {lacking}; {can}. Name more documents under datasets.{name}.distractors"

    def headers(self, language: str) -> Headers:
        """The headers of documents, counted as the language counts."""
        with self._locks[language]:
            return self._headers.setdefault(language, Headers(self.settings.header, language))

    def seeds(self, pair: Pair, *what: str | int) -> Seeds:
        """Numbers for the random choices that concern the pair."""
        return lambda *more: int(content_hash(self.seed, "mix_contexts", pair.key, *what, *more), 16)


def bring_together(step: StepContext[LVEvalSettings, Pair]) -> Mixer:
    """Read what the contexts are made of, once: the pairs, with all that was written and revised for them."""
    return Mixer(
        **_gathered(step, step.inputs, step.used("conflicts", RuleConflicts), step.used("keywords", AnswerKeywords))
    )


def bring_rules_together(step: StepContext[LVEvalSettings, Replacements]) -> Shelves:
    """Read what rules can be in conflict with, once: the rules are what runs through the step."""
    return Shelves(**_gathered(step, step.used("pairs", Pair), step.inputs, ()))


def _gathered(
    step: StepContext[LVEvalSettings],
    pairs: Iterable[Pair],
    rules: Iterable[Replacements | RuleConflicts],
    keywords: Iterable[AnswerKeywords],
) -> dict[str, Any]:
    documents: dict[str, list[PoolDocument]] = defaultdict(list)
    for document in step.used("documents", PoolDocument):
        documents[document.dataset].append(document)
    by_dataset: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_dataset[pair.dataset].append(pair)
    made: dict[str, Material] = defaultdict(Material)

    reviewed = frozenset().union(*(step.reviewed(part) for part in ("confusing-facts", "conflicts", "keywords")
                                   if part in step.uses))  # fmt: skip

    def add(record: Any, **more: Any) -> None:
        own = made[record.pair_id]
        seen = own.reviewed and record.key in reviewed
        made[record.pair_id] = replace(own, provenance=(*own.provenance, record.provenance), reviewed=seen, **more)

    for fact in step.used("confusing-facts", ConfusingFact):
        own = made[fact.pair_id].facts
        add(fact, facts=(*own, Text(fact.id, fact.fact, fact.language)))
    for one in rules:
        add(one, rules=one.rules)
    for marked in keywords:
        add(marked, keywords=marked.keywords)
    return {
        "settings": step.settings, "seed": step.seed, "documents": documents, "pairs": by_dataset, "materials": made
    }  # fmt: skip


def context_files(step: StepContext[LVEvalSettings, Pair], mixer: Mixer) -> Sequence[RowFile]:
    """A file for each level and dataset; several, where one would be too long."""
    files = []
    for level in step.settings.levels:
        for name, pairs in mixer.pairs.items():
            dataset, each = BY_NAME[name], DEPTHS if BY_NAME[name].recalls_fact else 1
            most = max(1, FILE_BYTES // (words_of(level) * BYTES_A_WORD * each))
            cut = [pairs[start : start + most] for start in range(0, len(pairs), most)]
            for number, own in enumerate(cut):
                suffix = f"-{number:05}-of-{len(cut):05}" if len(cut) > 1 else ""
                slot: Slot = {"level": level}
                files.append(RowFile(f"{dataset.at(level)}{suffix}", own, slot, len(own) * each))
    return files


def mix_contexts(file: RowFile, ctx: FilesContext[Mixer]) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """Section 3.2: the contexts of one dataset and level."""
    mixer = ctx.prepared
    level = str(file.slot["level"])
    for pair in file.records:
        assert isinstance(pair, Pair)
        shelf = mixer.measured(pair.dataset)
        if shelf.dataset.recalls_fact:
            yield from _recall(shelf, pair, level, ctx)
            continue
        if (refusal := shelf.refusal(pair, level)) is not None:
            ctx.drop(pair, file.slot, refusal)
            continue
        mixture, test = shelf.mixture(pair, mixer.seeds(pair))
        measured = shelf.measured[pair.key, level]
        laid = lay_out(mixture, measured, mixer.headers(pair.language), mixer.seeds(pair, level))
        yield _row(shelf, pair, level, None, laid, test, ctx.key(pair, file.slot))


def _recall(
    shelf: Shelf, pair: Pair, level: str, ctx: FilesContext[Mixer]
) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """The fact at each of its places; of a level that cannot be built, all are dropped.

    Departure: of places that come to one boundary of two sentences, which the paper's long books hardly have, the
    first is kept: the others would be the same context again.
    """
    book, test = shelf.book
    refusal = shelf.refusal(pair, level)
    firsts: dict[int, tuple[int, str]] = {}
    for depth in range(DEPTHS):
        slot: Slot = {"level": level, "depth": depth}
        if refusal is not None:
            ctx.drop(pair, slot, refusal)
            continue
        place = place_of(book, shelf.levels[level], depth)
        if place in firsts:
            other, row_id = firsts[place]
            ctx.drop(pair, slot, Drop("same context as another depth", f"depth {other}", related_id=row_id))
            continue
        laid = recalled(book, shelf.levels[level], place)
        values, context = _row(shelf, pair, level, depth, laid, test, ctx.key(pair, slot))
        firsts[place] = depth, str(values["id"])
        yield values, context


def _row(
    shelf: Shelf, pair: Pair, level: str, depth: int | None, laid: Laid, test: AnswerTest, key: str
) -> tuple[Mapping[str, Any], bytes]:
    own = shelf.settled(pair)
    values = {
        "key": key,
        "input": own.question,
        "answers": list(own.answers),
        "length": laid.length,
        "dataset": shelf.dataset.at(level),
        "language": pair.language,
        "answer_keywords": own.keywords,
        "confusing_facts": [fact.text for fact in own.facts],
        "pair_id": pair.id,
        "level": level,
        "depth": depth,
        "answer_test": test,
        "positions": [dict(one) for one in laid.positions],
        "replacements": [dict(rule) for rule in own.rules],
        "sources": [dict(one) for one in own.sources],
        "context_xxh3": laid.checksum,
        "reviewed": own.reviewed,
        "provenance": own.provenance,
    }
    return {"id": LongContext.id_of(values), **values}, laid.joined


def _union(parts: Iterator[Numbers]) -> Numbers:
    found = list(parts)
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
