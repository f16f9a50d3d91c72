"""Proves that each of URAQ's finished rows is what it claims.

The verifier shares nothing with the builder but the schemas and the language: it computes everything again with its own
code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations_with_replacement

import numpy as np

from flows.construct.verification import Fault, VerifyContext
from flows.language import en
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS, Conflict, EvaluationRow, StatementPair, UraqItem

BLOCK = 2048
"""Rows and columns of the similarity matrix that are in memory at once."""
NEARBY = 0.3
"""The cosine above which a statement may not share a word with the question or its steps."""
TOLERANCE = 1e-4
"""Cosines are single-precision sums: the last digits depend on the order of the terms."""


def verify_statements(rows: Iterable[StatementPair], ctx: VerifyContext) -> Iterator[Fault]:
    """No two originals are above the threshold; both of a pair are single sentences that cannot both be true."""
    seen: set[str] = set()
    ids, originals = [], []
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
    pairs: dict[str, list[StatementPair | Conflict]] = {part: [*ctx.rows(part)] for part in ("statements", "conflicts")}
    items: dict[str, UraqItem | Conflict] = {
        item.id: item for part in ("items", "conflicts") for item in ctx.rows(part)
    }
    stock = {text for part in pairs.values() for pair in part for text in (pair.original, pair.manipulated)}
    related = _RelatedTexts([*pairs["statements"], *pairs["conflicts"]], list(items.values()), ctx)
    seen: dict[str, set[tuple[str, int]]] = {}
    for row in rows:
        item = items.get(row.item_id)
        if item is None:
            yield Fault(id=row.id, problem=f"item {row.item_id} is in neither items nor conflicts")
            continue
        if (row.setting, row.n_contexts) in seen.setdefault(row.item_id, set()):
            yield Fault(id=row.id, problem="its item, setting and count stand twice")
        seen[row.item_id].add((row.setting, row.n_contexts))
        yield from (Fault(id=row.id, problem=problem) for problem in _row_problems(row, item, stock, related.to(item)))
    for item_id, places in seen.items():
        counts = {number for _, number in places}
        if missing := {(setting, number) for setting in SETTINGS for number in counts} - places:
            yield Fault(id=item_id, problem=f"evaluation rows are missing: {sorted(missing)}")


class _RelatedTexts:
    """The texts that are related to a question: to either statement, or to a fact that one of its steps uses.

    A pair is related if one of its texts

    - is closer than `related_above` to the question, to either side of it, or to a step with its result;
    - has a name that occurs there (for other data: in question and answers), or a long number;
    - is closer than `NEARBY` and has a word in common.
    """

    def __init__(
        self, pairs: list[StatementPair | Conflict], items: list[UraqItem | Conflict], ctx: VerifyContext
    ) -> None:
        self._above = ctx.settings.related_above + TOLERANCE
        self._texts = [(pair.original, pair.manipulated) for pair in pairs]
        self._joined = [" ".join(both) for both in self._texts]
        self._words = [frozenset(en.words(text)) for text in self._joined]
        self._content = [en.content_words(text) for text in self._joined]
        asked = {text for item in items for text in _texts_of(item)}
        texts = sorted(asked.union(*self._texts))  # at once: a model takes as long for a few as for a batch
        self._vectors = dict(zip(texts, ctx.embedder.embed(texts), strict=True))
        self._sides = [np.stack([self._vectors[text] for text in side]) for side in zip(*self._texts, strict=True)]
        self._by_item: dict[str, frozenset[str]] = {}

    def to(self, item: UraqItem | Conflict) -> frozenset[str]:
        """The texts that are related to the item's question."""
        if item.id not in self._by_item and self._sides:
            vectors = np.stack([self._vectors[text] for text in _texts_of(item)]).T
            nearest = np.maximum(*((side @ vectors).max(axis=1) for side in self._sides)).tolist()
            names, words = _names_in(item), _words_in(item)
            self._by_item[item.id] = frozenset(
                text
                for both, near, words_of_pair, content in zip(
                    self._texts, nearest, self._words, self._content, strict=True
                )
                if near > self._above
                or not names.isdisjoint(words_of_pair)
                or (near > NEARBY + TOLERANCE and not words.isdisjoint(content))
                for text in both
            )
        return self._by_item.get(item.id, frozenset())


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


def _row_problems(
    row: EvaluationRow, item: UraqItem | Conflict, stock: set[str], related: frozenset[str]
) -> Iterator[str]:
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
    if any(text not in stock for text in others):
        yield "a context is not of the pool"
    if second := [text for text in others if text in related]:
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
