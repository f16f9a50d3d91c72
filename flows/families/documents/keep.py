"""The last step of the questions: keep the number wanted, and ask for more while too few are left."""

import asyncio
import math
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TypeVar

import numpy as np

from flows.construct.dedupe import deduplicate
from flows.construct.engine import Context, Drop, SetContext
from flows.construct.records import Records
from flows.families.documents import method
from flows.families.documents.plan import Plan, Possible, by_turns, first_round, is_free, possible
from flows.families.documents.settings import DocumentsSettings
from flows.llm.model import InvalidAnswer
from schemas.base import Record, content_hash, key_of
from schemas.documents import BESIDE, ComparedQuestion, DocumentPair
from schemas.source import Passage

P = TypeVar("P")
Question = TypeVar("Question", bound=DocumentPair)
Dropping = tuple[Record, Drop]
"""A record that a check refused, and why."""
LEAST_SHARE = 0.1
"""Of the questions asked for, the share at least that is expected to be kept when more are asked for."""


async def keep_wanted(
    questions: Records[ComparedQuestion], ctx: SetContext[DocumentsSettings]
) -> AsyncIterator[ComparedQuestion]:
    """Keep the number wanted of the questions that do not ask the same, evenly over documents and by kinds' shares.

    While too few are left, ask for more, as far as there is something left to ask. Of two that ask the same, the one
    whose key comes first stays. Questions whose answer is disputed come beside the number wanted, and all stay; one
    that asks the same as such a question goes, whatever its answer.
    """
    settings, step = ctx.settings, ctx.step
    wanted = min(settings.pairs, step.limit or settings.pairs)
    records = list(questions)
    # A pilot asks once: it shows what share the checks refuse. The rules ask all that there is at first.
    asks_more = step.limit is None and not is_free(step.models)
    rounds: Rounds | None = None
    while True:
        repeats = await asyncio.to_thread(_repeats, records, ctx)
        distinct = [question for question in records if question.id not in repeats]
        kept = _chosen([question for question in distinct if question.has_one_answer], wanted, ctx)
        ctx.progress(len(kept), wanted)
        if len(kept) == wanted or not asks_more:
            break
        if rounds is None:
            rounds = await asyncio.to_thread(Rounds, ctx)
        if not rounds.left:
            break
        records += await rounds.ask(len(kept), wanted)
    for question in records:
        if (same := repeats.get(question.id)) is not None:
            ctx.drop(question, Drop("asks what another asks", evidence=same.question, related_id=same.id))
        elif question.id in kept or not question.has_one_answer:
            yield question
        else:
            ctx.drop(question, Drop("more than wanted", evidence=question.question))
    if len(kept) < wanted and step.limit is None:
        more = "more documents give more"
        if is_free(step.models):
            more = f"the rules ask of few, plain sentences; a model asks of all, and {more}"
        elif rounds is not None and rounds.are_cut:
            more += f", and so may more `drafts` than {settings.drafts:g}"
        ctx.note(f"{len(kept)} of {wanted} questions wanted: {more}")


class Rounds:
    """The questions that are asked for after the first ones, round by round."""

    def __init__(self, ctx: SetContext[DocumentsSettings]) -> None:
        self._ctx = ctx
        self._passages = {passage.key: passage for passage in ctx.step.used("passages", Passage)}
        self._nearest = method.Nearest(ctx.step)
        self._asked = first_round(ctx.settings, None)
        questions = possible(self._passages.values(), ctx.settings, ctx.step.seed)
        most = math.ceil(ctx.settings.pairs * ctx.settings.drafts)
        self.left = deque(questions[self._asked : most])
        self.are_cut = len(questions) > most
        """Whether `drafts` leaves some of what could be asked."""

    async def ask(self, kept: int, wanted: int) -> list[ComparedQuestion]:
        """Ask for as many as are missing, by the share that was kept so far. Return those that pass the checks."""
        missing = math.ceil((wanted - kept) / max(kept / self._asked, LEAST_SHARE))
        questions = [self.left.popleft() for _ in range(min(missing, len(self.left)))]
        self._asked += len(questions)
        partners = {one.partner: self._passages[one.partner] for one in questions if one.partner is not None}
        pairs = await self._passed(self._asked_and_checked(one, Plan({}, partners)) for one in questions)
        nearest = await asyncio.to_thread(self._nearest.to, pairs)
        return await self._passed(
            self._attempt(pair, method.compare_passages(pair, self._at(pair.key, nearest))) for pair in pairs
        )

    async def _asked_and_checked(self, question: Possible, plan: Plan) -> DocumentPair | Dropping:
        """Take the steps that the first questions went through, with the draws that they had there."""
        passage = self._passages[question.passage]
        key = key_of("documents", "questions", passage.key, question.slot)
        ctx = replace(self._at(key, plan), step_name=method.ask_question.__name__)
        place = passage.model_copy(update={"key": key})  # of a question that is none, the drop names the passage
        pair = await self._attempt(place, method.ask_question(passage, question.slot, ctx))
        for check in (method.judge_question, method.check_answer, method.prescreen):
            if isinstance(pair, DocumentPair):
                pair = await self._attempt(pair, check(pair, self._at(key, None)))
        return pair

    async def _attempt(self, record: Record, work: Coroutine[object, object, Question]) -> Question | Dropping:
        try:
            return await work
        except Drop as drop:
            return record, drop
        except InvalidAnswer as invalid:
            return record, Drop(invalid.reason, evidence=invalid.evidence)

    async def _passed(self, work: Iterable[Coroutine[object, object, Question | Dropping]]) -> list[Question]:
        """Do the work side by side. Note what was dropped, and return the others, in order."""
        passed: list[Question] = []
        for outcome in await asyncio.gather(*work):
            if isinstance(outcome, tuple):
                self._ctx.drop(*outcome)
            else:
                passed.append(outcome)
        return passed

    def _at(self, key: str, prepared: P) -> Context[DocumentsSettings, P]:
        return Context(self._ctx.step, self._ctx.step_name, key, prepared, self._ctx.usage)


def _chosen(pairs: Sequence[DocumentPair], wanted: int, ctx: SetContext[DocumentsSettings]) -> frozenset[str]:
    """Return the ids of the questions to keep: of each kind its share first, as far as there are enough of others."""
    in_turns = list(_in_turns(pairs, ctx.settings, ctx.step.seed))
    of_kind: Counter[str] = Counter()
    within: list[str] = []
    beyond: list[str] = []
    for pair in in_turns:
        of_kind[pair.kind] += 1
        is_within = of_kind[pair.kind] <= math.ceil(ctx.settings.kinds.get(pair.kind, 0) * wanted)
        (within if is_within else beyond).append(pair.id)
    return frozenset(islice([*within, *beyond], wanted))


def _in_turns(pairs: Iterable[DocumentPair], settings: DocumentsSettings, seed: int) -> Iterator[DocumentPair]:
    """Yield the first question of each document, then the second of each, up to `most_per_document`; drawn by keys."""
    by_document: dict[str, list[tuple[str, DocumentPair]]] = defaultdict(list)
    for pair in pairs:
        by_document[_document(pair)].append((content_hash(seed, "keep", pair.key), pair))
    drawn = (sorted(pairs, key=itemgetter(0)) for pairs in by_document.values())
    return by_turns(drawn, settings.most_per_document)


def _document(pair: DocumentPair) -> str:
    return pair.places[0].document if pair.places else pair.title or ""


def _repeats(
    questions: Sequence[ComparedQuestion], ctx: SetContext[DocumentsSettings]
) -> Mapping[str, ComparedQuestion]:
    """By id, the questions that ask the same as another, which is kept: by their words, or by the embedder.

    One whose answer is disputed comes before the others: what asks the same is disputed as well.
    """
    by_id = {question.id: question for question in questions}
    first: dict[Hashable, ComparedQuestion] = {}
    repeats: dict[str, ComparedQuestion] = {}
    for question in sorted(questions, key=lambda question: (question.has_one_answer, question.key)):
        same = next((first[name] for name in _names(question) if name in first), None)
        if same is not None:
            repeats[question.id] = same
        else:
            first |= dict.fromkeys(_names(question), question)
    read = [one for one in questions if one.id not in repeats and ctx.step.embedder.reads(one.question)]
    if len(read) > 1:
        vectors = np.asarray(ctx.step.embedder.embed([one.question for one in read]))
        survivors = deduplicate(
            [one.id for one in read], vectors,
            arrivals=[ctx.step.arrival(one) if one.has_one_answer else 0 for one in read],
            cosine_above=ctx.settings.similar_above, rule="independent-set",
        )  # fmt: skip
        repeats |= {duplicate.id: by_id[duplicate.related_id] for duplicate in survivors.removed}
    return repeats


def _names(question: ComparedQuestion) -> Iterator[Hashable]:
    """Yield what a question that asks the same has in common: its words, or two passages with their answers."""
    yield " ".join(question.question.casefold().split())
    here = (question.passages, question.answer.casefold())
    for other in question.others:
        if other.weighed not in BESIDE:
            yield frozenset((here, ((other.passage,), other.answer.casefold())))
