"""Assembles datasets: each pair with its distractors at each level (sections 3.1 and 3.2.1)."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from flows.construct.engine import Drop, Slot, StepContext
from flows.construct.files_step import FilesContext, RowFile
from flows.construct.rows_on_disk import RowsOnDisk
from flows.families.lveval.conflicts import find_unfit, unfit, usable_rules
from flows.families.lveval.datasets import DEPTHS, Dataset, words_of
from flows.families.lveval.distractor_index import DistractorIndex, Numbers
from flows.families.lveval.material import PairMaterial, ResolvedPair, collect_material
from flows.families.lveval.mixing import LACKING, Laid, Measured, Mixture, Seeds, lay_out, measure, mix
from flows.families.lveval.recall import PARAGRAPHS, Book, Level, level_of, place_of, recalled
from flows.families.lveval.replacement_checks import sides_of
from flows.families.lveval.selection import SelectedDocuments
from flows.families.lveval.settings import LVEvalSettings
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from flows.language.keywords import apply
from schemas.base import content_hash
from schemas.lveval import AnswerKeywords, AnswerTest, LongContext, Pair, PoolDocument, Replacements, RuleConflicts

FREQUENT = 0.01
"""If a larger share of the documents contains an answer, containing it does not show that a document answers."""
FILE_BYTES = 500 * 2**20
BYTES_A_WORD = 6  # bytes of an English word and its space, roughly; twice a Chinese character

Row = tuple[Mapping[str, Any], bytes]  # the fields of a context without its text, and its text in UTF-8


class DatasetAssembly:
    """A dataset: its distractor index, its pairs, and which contexts can be built from them."""

    def __init__(
        self,
        dataset: Dataset,
        index: DistractorIndex,
        pairs: Sequence[Pair],
        materials: Mapping[str, PairMaterial],
        longest: int,
    ) -> None:
        self.dataset = dataset
        self.index = index
        self.pairs = pairs
        self._materials = materials
        self._longest = longest
        self._mixtures: dict[str, tuple[Mixture, AnswerTest]] = {}
        self.measured: dict[tuple[str, str], Measured] = {}  # (key of a pair, level) -> how much its context takes
        self.levels: dict[str, Level] = {}  # fact recall: how much of the book each level takes
        self.missing: dict[str, int] = {}  # level that cannot be built -> words that are missing, at least
        self._refusals: dict[str, dict[str, Drop]] = {}  # key of a pair -> level -> why it has no context
        rules = [rule for material in materials.values() for rule in material.rules]
        facts = [fact.text for material in materials.values() for fact in material.facts]
        index.search(
            [*(side for rule in rules for side in (rule.old, rule.new)), *facts],
            (answer for pair in pairs for answer in pair.answers if not is_yes_or_no(answer)),
        )
        find_unfit((rule.old for rule in rules), index)

    def _material(self, pair: Pair) -> PairMaterial:
        return self._materials.get(pair.id, PairMaterial())

    def facts_of(self, pair: Pair) -> list[str]:
        """Return the pair's confusing facts, before replacement."""
        return [fact.text for fact in self._material(pair).facts]

    @cached_property
    def _resolved(self) -> dict[str, ResolvedPair]:
        """Key of a pair -> the pair after replacement."""
        resolved = {}
        for pair in self.pairs:
            material = self._material(pair)
            rules = usable_rules(material.rules, pair, self.facts_of(pair), self.index)
            resolved[pair.key] = ResolvedPair.of(pair, replace(material, rules=rules))
        return resolved

    def mixture(self, pair: Pair, seed: Seeds) -> tuple[Mixture, AnswerTest]:
        """Return the pair's distractors, drawn once for all levels, and the test that shows they do not answer."""
        if pair.key not in self._mixtures:
            resolved = self._resolved[pair.key]
            excluded, test = self.excluded(pair)
            sides = sides_of(resolved.rules)
            mixture = mix(
                self.index,
                excluded,
                resolved.support,
                resolved.facts,
                (lambda text: apply(text, sides, pair.language)) if sides else None,
                np.concatenate([np.empty(0, np.int64), *(self.index.holding(rule.old) for rule in resolved.rules)]),
                scattered=self.dataset.scattered,
                longest=self._longest,
                seed=seed("order"),
            )
            self._mixtures[pair.key] = mixture, test
        return self._mixtures[pair.key]

    def measure(self, levels: Sequence[str], seeds: Callable[..., Seeds]) -> None:
        """Find out, once, which contexts can be built, so that a pair has one at every level or at none (section 3.1).

        A level that fewer than half of the pairs can fill is left out of this dataset. A pair that lacks any other
        level is not built at all.
        """
        if self._refusals:
            return
        refused: dict[str, dict[str, Drop]] = {}
        for pair in self.pairs:
            refusals = refused[pair.key] = {}
            for level in levels:
                try:
                    if self.dataset.recalls_fact:
                        self.levels[level] = level_of(self.book[0], words_of(level), seeds(pair, level))
                    else:
                        mixture, _ = self.mixture(pair, seeds(pair))
                        headers = mixture.headers(self.index.header)
                        self.measured[pair.key, level] = measure(mixture, words_of(level), headers)
                except Drop as drop:
                    refusals[level] = drop
        for level in levels:
            drops = [refusals[level] for refusals in refused.values() if level in refusals]
            lacking = [int(drop.value or 0) for drop in drops if drop.reason == LACKING]
            if 2 * len(lacking) > len(self.pairs):
                self.missing[level] = min(lacking)
        self._refusals = refused

    def refusal(self, pair: Pair, level: str) -> Drop | None:
        """Return why the pair has no context at this level; None if it has one."""
        refusals = self._refusals[pair.key]
        if level in self.missing:
            return refusals.get(level) or Drop(LACKING, f"most pairs of {self.dataset.name} lack it at {level}")
        at = next((refused for refused in refusals if refused not in self.missing), None)
        if at is None:
            return None
        return Drop(refusals[at].reason, f"at {at}: {refusals[at].evidence}", value=refusals[at].value)

    def excluded(self, pair: Pair) -> tuple[npt.NDArray[np.bool_], AnswerTest]:
        """Return which documents must not distract from the pair, and the test that shows whether they answer.

        They answer its question, nearly repeat one of its documents, contain a substitute or a confusing fact, or
        are written in the other Chinese script, which would give away its own documents.
        """
        index = self.index
        out = np.zeros(len(index), np.bool_)
        test: AnswerTest = "none"
        for answer in pair.answers:
            if is_yes_or_no(answer):
                continue
            test = "whole-word" if test == "none" else test
            holding = index.answering(answer)
            if len(holding) > FREQUENT * len(index):
                test = "with-question-word"
                words = language_of(pair.language).content_words
                asked = words(pair.question).difference(*map(words, pair.answers))
                holding = holding[[self._answers(int(number), answer, asked) for number in holding]]
            out[holding] = True
        for fact in self.facts_of(pair):
            out[index.holding(fact)] = True
        for rule in self._resolved[pair.key].rules:
            out[index.holding(rule.new)] = True
            out[unfit(rule, index)] = True
        out[index.in_other_script(pair.documents[0].text)] = True
        for numbers in self._near_duplicates[pair.key]:
            out[numbers] = True
        return out, test

    @cached_property
    def _near_duplicates(self) -> dict[str, list[Numbers]]:
        """Key of a pair -> the near-duplicates of each of its documents."""
        texts = [document.text.encode() for pair in self.pairs for document in pair.documents]
        duplicates = iter(self.index.near_duplicates(texts))
        return {pair.key: list(islice(duplicates, len(pair.documents))) for pair in self.pairs}

    def _answers(self, number: int, answer: str, asked: frozenset[str]) -> bool:
        """Return whether a sentence of the document contains the answer and a content word of the question."""
        text, language = self.index.text(number), language_of(self.dataset.language)
        sentences = (text[start:end] for start, end in pairwise([0, *self.index.boundaries(number), len(text)]))
        holding = (sentence for sentence in sentences if language.contains(sentence, answer))
        return any(not asked.isdisjoint(language.content_words(sentence)) for sentence in holding)

    @cached_property
    def book(self) -> tuple[Book, AnswerTest]:
        """Fact recall: the documents as one text, without those excluded, and the test that they do not answer."""
        (pair,) = self.pairs
        resolved = self._resolved[pair.key]
        excluded, test = self.excluded(pair)
        text = PARAGRAPHS.join(self.index.text(number) for number in np.flatnonzero(~excluded).tolist()) + PARAGRAPHS
        sides = sides_of(resolved.rules)
        replaced = apply(text, sides, pair.language) if sides else text
        return Book(replaced, resolved.support[0], resolved.facts, pair.language), test

    def row(self, pair: Pair, level: str, depth: int | None, laid: Laid, test: AnswerTest, key: str) -> Row:
        """Return a context in the form in which it is written."""
        resolved = self._resolved[pair.key]
        values = {
            "key": key,
            "input": resolved.question,
            "answers": list(resolved.answers),
            "length": laid.length,
            "dataset": self.dataset.at(level),
            "language": pair.language,
            "answer_keywords": resolved.keywords,
            "confusing_facts": [fact.text for fact in resolved.facts],
            "pair_id": pair.id,
            "level": level,
            "depth": depth,
            "answer_test": test,
            "positions": [dict(position) for position in laid.positions],
            "replacements": [dict(rule) for rule in resolved.rules],
            "sources": [dict(source) for source in resolved.sources],
            "context_xxh3": laid.checksum,
            "reviewed": resolved.reviewed,
            "provenance": resolved.provenance,
        }
        if self.dataset.own:
            values["features"] = self.dataset.features
        return {"id": LongContext.id_of(values), **values}, laid.joined

    def recall_rows(self, pair: Pair, level: str, ctx: FilesContext[Any]) -> Iterator[Row]:
        """Yield the fact at each of its places; drop all of a level that cannot be built.

        Departure: several places can fall on the same boundary of two sentences, which the paper's long books hardly
        have. The first is kept: the others would be the same context again.
        """
        book, test = self.book
        refusal = self.refusal(pair, level)
        firsts: dict[int, tuple[int, str]] = {}
        for depth in range(DEPTHS):
            slot: Slot = {"level": level, "depth": depth}
            if refusal is not None:
                ctx.drop(pair, slot, refusal)
                continue
            place = place_of(book, self.levels[level], depth)
            if place in firsts:
                other, row_id = firsts[place]
                ctx.drop(pair, slot, Drop("same context as another depth", f"depth {other}", related_id=row_id))
                continue
            laid = recalled(book, self.levels[level], place)
            values, context = self.row(pair, level, depth, laid, test, ctx.key(pair, slot))
            firsts[place] = depth, str(values["id"])
            yield values, context


Group = tuple[str, int]
"""Pairs of one dataset that came with one release: they draw from the same documents."""


@dataclass
class DatasetAssemblies:
    """The assemblies of all datasets, each made on demand; one for each release that brought pairs."""

    settings: LVEvalSettings
    seed: int
    documents: RowsOnDisk
    """By dataset, each with the release with which it came."""
    groups: Mapping[Group, Sequence[Pair]]
    pairs: Mapping[str, tuple[Group, Pair]]  # by id
    materials: Mapping[str, PairMaterial]  # by the pair's id
    selected: SelectedDocuments
    _assemblies: dict[Group, DatasetAssembly] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    @classmethod
    def gather(
        cls,
        step: StepContext[LVEvalSettings, Any],
        pairs: Iterable[Pair],
        rules: Iterable[Replacements | RuleConflicts],
        keywords: Iterable[AnswerKeywords],
    ) -> Self:
        """Group what contexts are made of; it is read once."""
        documents = RowsOnDisk(
            (document.dataset, (step.arrival(document), document)) for document in step.used("documents", PoolDocument)
        )
        groups: dict[Group, list[Pair]] = defaultdict(list)
        for pair in pairs:
            groups[pair.dataset, step.arrival(pair)].append(pair)
        by_id = {pair.id: (group, pair) for group, members in groups.items() for pair in members}
        selected = SelectedDocuments((pair for _, pair in by_id.values()), step.arrival)
        materials = collect_material(step, rules, keywords)
        return cls(step.settings, step.seed, documents, groups, by_id, materials, selected)

    def assembly(self, group: Group) -> DatasetAssembly:
        """Return the assembly of a group."""
        with self._locks[str(group)]:
            if group not in self._assemblies:
                name, release = group
                dataset, pairs = self.settings.known[name], self.groups[group]
                documents = (
                    document
                    for came, document in self.documents.named(name)
                    if came <= release and self.selected.refusal(document, release) is None
                )
                index = DistractorIndex(documents, dataset.language, self.settings.header)
                materials = {pair.id: self.materials[pair.id] for pair in pairs if pair.id in self.materials}
                self._assemblies[group] = DatasetAssembly(dataset, index, pairs, materials, self.settings.longest)
            return self._assemblies[group]


class Assembler(DatasetAssemblies):
    """The datasets, ready to be mixed: which contexts can be built is settled for all levels at once."""

    def measured(self, group: Group) -> DatasetAssembly:
        """Return the assembly of a group, once it is known which of its contexts can be built."""
        assembly = self.assembly(group)
        with self._locks[f"{group} measured"]:
            assembly.measure(self.settings.levels, self.seeds)
        return assembly

    def _note(self, name: str, assembly: DatasetAssembly) -> str:
        """Return which levels cannot be built, and how much text they lack."""
        lacking = ", ".join(f"{level} ({missing:,} words missing)" for level, missing in assembly.missing.items())
        built = [level for level in self.settings.levels if level not in assembly.missing]
        can = f"it is built at {', '.join(built)}" if built else "it is built at none"
        place = f"families.lveval.datasets.{name}"
        fewer = f", or lower {place}.pairs: the documents of selected pairs do not distract"
        return (
            f"{name}: not enough text for {lacking}; {can}. Name more documents under {place}.distractors"
            f"{'' if assembly.dataset.recalls_fact else fewer}"
        )

    def seeds(self, pair: Pair, *what: str | int) -> Seeds:
        """Return a function that gives numbers for random choices about the pair."""
        return lambda *more: int(content_hash(self.seed, "mix_contexts", pair.key, *what, *more), 16)

    def contexts(self, pair: Pair, slot: Slot, ctx: FilesContext[Any]) -> Iterator[Row]:
        """Yield the pair's context at the slot's level, or those at all depths of a book; drop what cannot be built."""
        level = str(slot["level"])
        group = self.pairs[pair.id][0]
        assembly = self.measured(group)
        if assembly.missing:
            ctx.note(self._note(group[0], assembly))
        if assembly.dataset.recalls_fact:
            yield from assembly.recall_rows(pair, level, ctx)
        elif (refusal := assembly.refusal(pair, level)) is not None:
            ctx.drop(pair, slot, refusal)
        else:
            mixture, test = assembly.mixture(pair, self.seeds(pair))
            measured = assembly.measured[pair.key, level]
            headers = mixture.headers(self.settings.header)
            laid = lay_out(mixture, measured, headers, self.seeds(pair, level))
            yield assembly.row(pair, level, None, laid, test, ctx.key(pair, slot))


def assembler(step: StepContext[LVEvalSettings, Pair]) -> Assembler:
    """Prepare to mix contexts: the pairs are the step's inputs."""
    return Assembler.gather(
        step, step.inputs, step.used("conflicts", RuleConflicts), step.used("keywords", AnswerKeywords)
    )


def assemblies_of_rules(step: StepContext[LVEvalSettings, Replacements]) -> DatasetAssemblies:
    """Prepare to look for conflicts: the rules are the step's inputs."""
    return DatasetAssemblies.gather(step, step.used("pairs", Pair), step.inputs, ())


def context_files(step: StepContext[LVEvalSettings, Pair], assembler: Assembler) -> Sequence[RowFile]:
    """Return a file for each level and dataset; several, where one would be too long."""
    by_dataset: dict[str, list[Pair]] = defaultdict(list)
    for (name, _), pairs in sorted(assembler.groups.items(), key=lambda group: group[0][1]):
        by_dataset[name] += pairs
    files = []
    for level in step.settings.levels:
        for name, pairs in by_dataset.items():
            dataset = step.settings.known[name]
            rows_a_pair = DEPTHS if dataset.recalls_fact else 1
            most = max(1, FILE_BYTES // (words_of(level) * BYTES_A_WORD * rows_a_pair))
            parts = [pairs[start : start + most] for start in range(0, len(pairs), most)]
            for number, part in enumerate(parts):
                suffix = f"-{number:05}-of-{len(parts):05}" if len(parts) > 1 else ""
                slot: Slot = {"level": level}
                files.append(RowFile(f"{dataset.at(level)}{suffix}", part, slot, len(part) * rows_a_pair, name))
    return files
