"""Proves that each of CHARPEval's finished rows is what it claims.

The verifier shares nothing with the builder but the schemas and the language: it computes everything again with its own
code.
"""

from collections.abc import Iterable, Iterator, Mapping

from flows.construct.rows_on_disk import RowsOnDisk
from flows.construct.verification import Fault, VerifyContext
from flows.language import en
from schemas.charpeval import DISTRACTOR_TYPES, SUBSETS, Authored, CharpEvalItem, DistractorType, UtterancePair

Dialogue = UtterancePair | Authored


def verify_pairs(rows: Iterable[UtterancePair], ctx: VerifyContext) -> Iterator[Fault]:
    """Each dialogue occurs once, and its two utterances differ."""
    seen: set[str] = set()
    for row in rows:
        for problem in (*_twice(row, seen), *_dialogue_problems(row)):
            yield Fault(id=row.id, problem=problem)


def verify_authored(rows: Iterable[Authored], ctx: VerifyContext) -> Iterator[Fault]:
    """Each has the dialogue of its pair of utterances, and its distractors break no rule."""
    seen: set[str] = set()
    pairs = ctx.rows_by("utterances", lambda pair: pair.id)
    for row in rows:
        problems = [*_twice(row, seen), *_dialogue_problems(row)]
        pair = next((pairs[parent] for parent in row.provenance.parents if parent in pairs), None)
        if pair is None:
            problems.append("it is of no pair of utterances")
        elif pair.before != row.history or any(
            getattr(pair, name) != getattr(row, name)
            for name in ("hard_utterance", "easy_utterance", "knowledge", "response")
        ):
            problems.append("its dialogue is not that of its pair of utterances")
        if row.published and (pair is None or dict(pair.distractors) != row.distractors):
            problems.append("its distractors are not as they were published")
        if not row.published and not (row.hard_utterance and row.easy_utterance):
            problems.append("a last utterance is not written")
        written: dict[DistractorType, str] = {
            kind: text for kind in DISTRACTOR_TYPES if (text := getattr(row, kind).strip())
        }
        if written:
            problems += [f"{kind} is not written" for kind in DISTRACTOR_TYPES if kind not in written]
            problems += _same_problems(row.response, written)
            problems += [] if row.published else _rule_problems(row, written)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_items(rows: Iterable[CharpEvalItem], ctx: VerifyContext) -> Iterator[Fault]:
    """Six different options, with the response at the place that the row gives; both subsets of each dialogue."""
    seen: set[str] = set()
    authored = ctx.rows_by("distractors", lambda record: record.key)
    items = RowsOnDisk((row.dialogue_id, row) for row in rows)
    for dialogue in items:
        record = authored.get(dialogue)
        subsets: dict[str, CharpEvalItem] = {}
        for row in items.named(dialogue):
            problems = [*_twice(row, seen), *_option_problems(row)]
            problems += _same_problems(row.response, row.distractors)
            problems += _rule_problems(record, row.distractors) if record is not None and not record.published else []
            problems += _authored_problems(row, record)
            if subsets.setdefault(row.subset, row) is not row:
                problems.append(f"its dialogue has another item of {row.subset}")
            yield from (Fault(id=row.id, problem=problem) for problem in problems)
        for problem in _pair_problems(subsets, record):
            yield Fault(id=next(iter(subsets.values())).id, problem=f"dialogue {dialogue}: {problem}")
    for record in authored.values():
        if all(getattr(record, kind).strip() for kind in DISTRACTOR_TYPES) and record.key not in items:
            yield Fault(id=record.id, problem="its five distractors are written, but it has no item")


def _twice(row: Dialogue | CharpEvalItem, seen: set[str]) -> Iterator[str]:
    for name in {row.key, row.id}:
        if name in seen:
            yield "it stands twice"
        seen.add(name)


def _dialogue_problems(row: Dialogue) -> Iterator[str]:
    if not any(en.count(sentence) for sentence in en.sentences(row.knowledge)):
        yield "the knowledge says nothing"
    if not en.words(row.response):
        yield "the response says nothing"
    if row.hard_utterance and en.words(row.hard_utterance) == en.words(row.easy_utterance):
        yield "the hard and the easy last utterance are the same"
    if any(not turn.strip() for turn in row.history):
        yield "a turn of the history is blank"


def _option_problems(row: CharpEvalItem) -> Iterator[str]:
    texts = [row.response, *row.distractors.values()]
    if set(row.distractors) != set(DISTRACTOR_TYPES):
        yield f"its distractors are {', '.join(row.distractors)}"
    if len(row.options) != len(DISTRACTOR_TYPES) + 1 or sorted(row.options) != sorted(texts):
        yield "its options are not the response and the five distractors"
    if not 0 <= row.gold_index < len(row.options) or row.options[row.gold_index] != row.response:
        yield f"the response is not option {row.gold_index}"


def _same_problems(response: str, texts: Mapping[DistractorType, str]) -> Iterator[str]:
    seen = {tuple(en.words(response)): "the response"}
    for kind, text in texts.items():
        words = tuple(en.words(text))
        if not words:
            yield f"{kind} is empty"
        elif words in seen:
            yield f"{kind} is the same as {seen[words]}"
        seen.setdefault(words, kind)


def _rule_problems(row: Authored, texts: Mapping[DistractorType, str]) -> Iterator[str]:
    """Section 2.3.4, for what was written here: the distractors of a published row are left as they are."""
    iecf = texts.get("IECF", "")
    by_word = en.content_words(iecf) & en.content_words(row.knowledge) - en.content_words(row.response)
    by_name = (entity for entity in en.entities(row.knowledge) if en.names(iecf, entity))
    if iecf and not by_word and all(en.names(row.response, entity) for entity in by_name):
        yield "IECF names nothing that the knowledge names and the response does not"


def _authored_problems(row: CharpEvalItem, record: Authored | None) -> Iterator[str]:
    if record is None:
        yield f"no dialogue is called {row.dialogue_id}"
        return
    last = record.hard_utterance if row.subset == SUBSETS[0] else record.easy_utterance
    if (row.history, row.last_utterance, row.knowledge, row.response) != (
        record.history, last, record.knowledge, record.response,
    ):  # fmt: skip
        yield "its dialogue is not the one that people wrote for"
    for kind in DISTRACTOR_TYPES:
        if row.distractors.get(kind) != getattr(record, kind).strip():
            yield f"{kind} is not as people wrote it"


def _pair_problems(subsets: dict[str, CharpEvalItem], record: Authored | None) -> Iterator[str]:
    expected = record.subsets if record is not None and record.published else SUBSETS
    missing = [subset for subset in expected if subset not in subsets]
    if missing:
        yield f"it has no item of {', '.join(missing)}"
    if len(subsets) < len(SUBSETS):
        return
    hard, easy = (subsets[subset] for subset in SUBSETS)
    same = ("history", "knowledge", "response", "distractors")
    if differing := [name for name in same if getattr(hard, name) != getattr(easy, name)]:
        yield f"its two items differ in {', '.join(differing)}"
    if en.words(hard.last_utterance) == en.words(easy.last_utterance):
        yield "its two items have the same last utterance"
