"""Proves that each of URAQ's finished rows is what it claims.

The verifier shares nothing with the builder but the schemas and the language: it computes everything again with its own
code.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from flows.construct.embed import FloatMatrix
from flows.construct.rows_on_disk import RowsOnDisk
from flows.construct.sequences_on_disk import SequenceOnDisk
from flows.construct.verification import Fault, VerifyContext
from flows.language import en
from schemas.base import content_hash
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS, Conflict, EvaluationRow, StatementPair, UraqItem

BLOCK = 2048
"""Rows and columns of the similarity matrix that are in memory at once."""
NEARBY = 0.3
"""The cosine above which a statement may not share a word with the question or its steps."""
FEW, HALF = 10, 0.5
"""Of so many pairs or more, a word that more than half of them have tells none from another."""
CONTENT = "content:"
TOLERANCE = 1e-4
"""Cosines are single-precision sums: the last digits depend on the order of the terms."""


def verify_statements(rows: Iterable[StatementPair], ctx: VerifyContext) -> Iterator[Fault]:
    """No two originals are above the threshold; both of a pair are single sentences that cannot both be true."""
    seen: set[str] = set()
    ids, originals = SequenceOnDisk[str](), SequenceOnDisk[str]()
    for pair in rows:
        ids.append(pair.id)
        originals.append(pair.original)
        yield from _repeated(pair, seen)
        if _says_the_same(pair.original, pair.manipulated):
            yield Fault(id=pair.id, problem="original and manipulated say the same")
        elif _can_both_be_true(pair.original, pair.manipulated):
            yield Fault(id=pair.id, problem="original and manipulated can both be true")
        if len(en.sentences(pair.original)) != 1 or len(en.sentences(pair.manipulated)) != 1:
            yield Fault(id=pair.id, problem="original or manipulated is not one sentence")
    vectors = ctx.embedder.embed(originals)
    for top, left in combinations_with_replacement(range(0, len(ids), BLOCK), 2):
        cosines = vectors[top : top + BLOCK] @ vectors[left : left + BLOCK].T
        for row, column in np.argwhere(cosines > ctx.settings.cosine_above + TOLERANCE):
            if top + row < left + column:
                problem = f"cosine {cosines[row, column]:.3f} with {ids[left + column]}"
                yield Fault(id=ids[top + row], problem=problem)


def _says_the_same(original: str, manipulated: str) -> bool:
    """Return whether the same words occur in the same order, with the end moved to the front, or in another voice."""
    before, after = en.content_lemmas(original), en.content_lemmas(manipulated)
    ways = (sorted({"to", "from", "into", "with"} & set(en.words(text))) for text in (original, manipulated))
    if sorted(before) != sorted(after) or len(set(map(tuple, ways))) > 1:
        return False
    if sorted(en.words(original)) != sorted(en.words(manipulated)):
        return len(en.words(original)) != len(en.words(manipulated)) or before == after
    return any(after == before[place:] + before[:place] for place in range(len(before)))


_TRUE_OF_MANY = re.compile(r"^(?:\w+ )?(?:is|are|has|have|can) (?!(?:the|its|their|his|her|called|known)\b)")
_TRUE_OF_ONE = re.compile(
    r"\b(?:only|alone|sole|first|last|most|least|main|official|original|was|were|had|did|\w{2,}est|\w+['’]s|by)\b|than|\d"
)


def _can_both_be_true(original: str, manipulated: str) -> bool:
    """Return whether another subject is said to have a property of the original's, which several things can have."""
    before, after = original.split(), manipulated.split()
    shared = 0
    while shared < min(len(before), len(after)) and before[-1 - shared] == after[-1 - shared]:
        shared += 1
    rest = " ".join(before[len(before) - shared :])
    beginnings = before[: len(before) - shared], after[: len(after) - shared]
    negated = {"not", "no", "never", "cannot"} & {word.casefold() for begun in beginnings for word in begun}
    common_noun = all(0 < len(begun) <= 2 for begun in beginnings) and not negated
    return common_noun and _TRUE_OF_MANY.search(rest) is not None and _TRUE_OF_ONE.search(rest) is None


def verify_items(rows: Iterable[UraqItem], ctx: VerifyContext) -> Iterator[Fault]:
    """The steps are as many as declared and end in the answers; the answers fit type and question."""
    pairs = ctx.rows_by("statements", lambda pair: f"{pair.original}\n{pair.manipulated}")
    seen: set[str] = set()
    for item in rows:
        yield from _repeated(item, seen)
        if f"{item.original}\n{item.manipulated}" not in pairs:
            yield Fault(id=item.id, problem="its pair is not among the statements")
        if item.hops != len(item.steps) or item.hops not in ctx.settings.hops:
            yield Fault(id=item.id, problem=f"{item.hops} hops declared, {len(item.steps)} steps written out")
        elif (item.steps[-1].original.casefold(), item.steps[-1].manipulated.casefold()) != (
            item.answer_original.casefold(),
            item.answer_manipulated.casefold(),
        ):
            yield Fault(id=item.id, problem="the last step does not give the answers")
        texts = [(step.text.casefold(), step.original, step.manipulated) for step in item.steps]
        if len(set(texts)) < len(texts) or len({text for text, *_ in texts}) < len(texts):
            yield Fault(id=item.id, problem="a step stands twice")
        if any(
            step.kind == "recall" and step.original == step.manipulated and _is_said(step.original, item.question)
            for step in item.steps
        ):
            yield Fault(id=item.id, problem="a step gives what the question says")
        yield from _answer_faults(item)


def _is_said(result: str, question: str) -> bool:
    """Return whether the question contains a result that is neither a number nor yes or no."""
    return re.fullmatch(r"[\d.,-]+|yes|no", result) is None and en.contains(question, result)


def verify_conflicts(rows: Iterable[Conflict], ctx: VerifyContext) -> Iterator[Fault]:
    """The two sides differ in evidence and answer; an answer other than yes or no occurs only in its own evidence."""
    seen: set[str] = set()
    for row in rows:
        yield from _repeated(row, seen)
        if row.original == row.manipulated:
            yield Fault(id=row.id, problem="both sides have the same evidence")
        yield from _answer_faults(row)
        if row.answer_type != "boolean":
            if not en.contains(row.original, row.answer_original):
                yield Fault(id=row.id, problem="the original evidence does not hold its answer")
            if not en.contains(row.manipulated, row.answer_manipulated):
                yield Fault(id=row.id, problem="the manipulated evidence does not hold its answer")
            if en.contains(row.manipulated, row.answer_original):
                yield Fault(id=row.id, problem="the manipulated evidence still holds the original answer")


def verify_evaluation(rows: Iterable[EvaluationRow], ctx: VerifyContext) -> Iterator[Fault]:
    """One relevant context at the place that the row gives, no other related one, and the answers of figure 2.

    Relatedness is computed again, from the finished pairs and the steps as they are written.
    """
    pool = _Pool(ctx)
    seen: dict[str, frozenset[tuple[str, int]]] = {}
    for row in rows:
        question = pool.question(row.item_id)
        if question is None:
            yield Fault(id=row.id, problem=f"item {row.item_id} is in neither items nor conflicts")
            continue
        place = (row.setting, row.n_contexts)
        if place in seen.setdefault(row.item_id, frozenset()):
            yield Fault(id=row.id, problem="its item, setting and count stand twice")
        seen[row.item_id] = _with(seen[row.item_id], place)
        yield from (Fault(id=row.id, problem=problem) for problem in _row_problems(row, question, pool))
    for item_id, places in seen.items():
        counts = {number for _, number in places}
        if missing := {(setting, number) for setting in SETTINGS for number in counts} - places:
            yield Fault(id=item_id, problem=f"evaluation rows are missing: {sorted(missing)}")


@cache
def _with(places: frozenset[tuple[str, int]], place: tuple[str, int]) -> frozenset[tuple[str, int]]:
    """The places and one more. Most items have the same, of which there is one set in memory."""
    return places | {place}


@dataclass
class _Question:
    """An item whose rows are looked at."""

    item: UraqItem | Conflict
    vectors: FloatMatrix
    """Those of `_texts_of(item)`."""
    names: set[str]
    words: frozenset[str]
    judged: dict[str, bool | None]
    """By text: whether it is related; None if it is not of the pool."""


class _Pool:
    """The texts that contexts are drawn from, on disk; tells which are related to a question.

    That is to either statement, or to a fact that one of its steps uses. A pair is related if one of its texts

    - is closer than `related_above` to the question, to either side of it, or to a step with its result;
    - has a name that occurs there (for other data: in question and answers), or a long number;
    - is closer than `NEARBY` and has a word in common.

    Names and words that most pairs have do not count.
    """

    def __init__(self, ctx: VerifyContext) -> None:
        self._above = ctx.settings.related_above + TOLERANCE
        texts = SequenceOnDisk[str]()
        having: dict[str, Counter[str]] = defaultdict(Counter)
        pairs: Counter[str] = Counter()
        for part in ("statements", "conflicts"):
            for pair in ctx.rows(part):
                texts.append(pair.original)
                texts.append(pair.manipulated)
                pairs[_dataset(pair)] += 1
                having[_dataset(pair)].update({*en.words(pair.original), *en.words(pair.manipulated)})
                content = {*en.content_words(pair.original), *en.content_words(pair.manipulated)}
                having[_dataset(pair)].update(f"{CONTENT}{word}" for word in content)
        self._common = {
            dataset: {
                word for word, number in words.items() if pairs[dataset] >= FEW and number > HALF * pairs[dataset]
            }
            for dataset, words in having.items()
        }
        sides = len(texts)
        hashes = np.fromiter(map(_hash_of, texts), np.uint64, sides)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

        def items() -> Iterator[tuple[str, tuple[UraqItem | Conflict, int]]]:
            for part in ("items", "conflicts"):
                for item in ctx.rows(part):
                    yield item.id, (item, len(texts))
                    for text in _texts_of(item):
                        texts.append(text)

        self._items = RowsOnDisk(items())
        self._vectors = ctx.embedder.embed(texts)  # at once: a model takes as long for a few as for a batch
        self._texts = texts[:sides]
        self._last: _Question | None = None

    def question(self, item_id: str) -> _Question | None:
        """The item of this id; None if there is none. Rows of one item mostly follow each other."""
        if self._last is None or self._last.item.id != item_id:
            if (found := self._items.get(item_id)) is None:
                return None
            item, start = found
            vectors = self._vectors[start : start + len(_texts_of(item))]
            common = self._common.get(_dataset(item), set())
            names = _names_in(item) - common
            words = frozenset(word for word in _words_in(item) if f"{CONTENT}{word}" not in common)
            self._last = _Question(item, vectors, names, words, {})
        return self._last

    def is_related(self, text: str, question: _Question) -> bool | None:
        """Whether a text is related to the question; None if it is not of the pool."""
        if text not in question.judged:
            first, end = (self._hashes.searchsorted(np.uint64(_hash_of(text)), side) for side in ("left", "right"))
            pairs = self._order[first:end] // 2
            related = any(self._is_pair_related(pair, question) for pair in pairs.tolist())
            question.judged[text] = related if len(pairs) else None
        return question.judged[text]

    def _is_pair_related(self, pair: int, question: _Question) -> bool:
        near = (self._vectors[2 * pair : 2 * pair + 2] @ question.vectors.T).max()
        text = f"{self._texts[2 * pair]} {self._texts[2 * pair + 1]}"
        return bool(
            near > self._above
            or not question.names.isdisjoint(en.words(text))
            or (near > NEARBY + TOLERANCE and not question.words.isdisjoint(en.content_words(text)))
        )


def _dataset(row: StatementPair | UraqItem | Conflict) -> str:
    return row.source if isinstance(row, Conflict) else ""


def _hash_of(text: str) -> int:
    return int(content_hash(text), 16)


def _texts_of(item: UraqItem | Conflict) -> list[str]:
    """The question, both sides, and each step with its result on either side."""
    texts = [item.question, item.original, item.manipulated]
    for step in item.steps if isinstance(item, UraqItem) else ():
        texts += [f"{step.text}: {step.original}", f"{step.text}: {step.manipulated}"]
    return texts


def _names_in(item: UraqItem | Conflict) -> set[str]:
    """Words of names and of capitalised results, and numbers of three digits and more."""
    if isinstance(item, UraqItem):
        results = [result for step in item.steps for result in (step.original, step.manipulated)]
        texts = [item.question, item.original, item.manipulated, *(step.text for step in item.steps), *results]
    else:
        results = [] if item.answer_type == "boolean" else [item.answer_original, item.answer_manipulated]
        texts = [item.question]
    names = " ".join(entity.text for text in texts for entity in en.entities(text) if entity.is_name)
    capitals = " ".join(word for word in " ".join(results).split() if word[0].isupper())
    numbers = {word for word in en.words(" . ".join([*texts, *results])) if re.fullmatch(r"\d{3,}", word)}
    return (set(en.words(f"{names} {capitals}")) | numbers) - en.STOP_WORDS


def _words_in(item: UraqItem | Conflict) -> frozenset[str]:
    """The words that a nearby statement must not share; documents always share some."""
    if isinstance(item, Conflict):
        return frozenset()
    steps = (text for step in item.steps for text in (step.text, step.original, step.manipulated))
    return en.content_words(" . ".join([item.question, item.original, item.manipulated, *steps]))


def _row_problems(row: EvaluationRow, question: _Question, pool: _Pool) -> Iterator[str]:
    item = question.item
    relevant = {"match": item.original, "conflict": item.manipulated, "irrelevant": None}[row.setting]
    if len(row.contexts) != row.n_contexts:
        yield f"{row.n_contexts} contexts declared, {len(row.contexts)} there"
    if len(set(row.contexts)) != len(row.contexts):
        yield "a context stands twice"
    if (relevant is None) != (row.relevant_index is None):
        yield "the place of the relevant context does not go with the setting"
    if row.relevant_index is not None and row.contexts[row.relevant_index : row.relevant_index + 1] != (relevant,):
        yield "the relevant context is not where the row says"
    others = [text for place, text in enumerate(row.contexts) if place != row.relevant_index]
    if any(pool.is_related(text, question) is None for text in others):
        yield "a context is not of the pool"
    if second := [text for text in others if pool.is_related(text, question)]:
        yield f"{len(second)} contexts bear on the question beside the relevant one, such as {second[0]!r}"
    if row.question != item.question or row.answer_type != item.answer_type:
        yield "question or answer type is not the item's"
    if dict(row.expected) != dict(zip(NEEDS, _figure_2(row.setting, item), strict=True)):
        yield "the expected answers are not those of figure 2"


def _figure_2(setting: str, item: UraqItem | Conflict) -> tuple[str, str, str]:
    """Expected answers under context-exclusive, context-first and memory-first."""
    table: Mapping[str, tuple[str, str, str]] = {
        "match": (item.answer_original, item.answer_original, item.answer_original),
        "conflict": (item.answer_manipulated, item.answer_manipulated, item.answer_original),
        "irrelevant": (DONT_KNOW, item.answer_original, item.answer_original),
    }
    return table[setting]


def _answer_faults(row: UraqItem | Conflict) -> Iterator[Fault]:
    """Both answers have the declared type and differ; the question does not give an entity away."""
    answers = (row.answer_original, row.answer_manipulated)
    form = {"number": r"-?[\d,]*\d(\.\d+)?", "boolean": r"yes|no", "entity": r"(?!(yes|no)$).*[^\d.,\s].*"}
    if not all(re.fullmatch(form[row.answer_type], answer) for answer in answers):
        yield Fault(id=row.id, problem=f"the answers {answers} are not both of type {row.answer_type}")
    if answers[0].casefold() == answers[1].casefold():
        yield Fault(id=row.id, problem="both answers are the same")
    if isinstance(row, UraqItem) and row.answer_type == "entity":
        for answer in answers:
            if en.contains(re.sub(r"['’]s\b", "", row.question), answer):
                yield Fault(id=row.id, problem=f"the question holds the answer {answer}")


def _repeated(row: StatementPair | UraqItem | Conflict, seen: set[str]) -> Iterator[Fault]:
    if row.key in seen:
        yield Fault(id=row.id, problem="its key stands twice")
    seen.add(row.key)
