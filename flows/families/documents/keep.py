"""The last step of the questions: keep the number wanted, and ask for more while too few are left."""

import asyncio
import math
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
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
from schemas.documents import DocumentPair
from schemas.source import Passage

P = TypeVar("P")
Outcome = DocumentPair | tuple[Record, Drop]
"""A question that passed a check, or the record that is dropped."""
LEAST_SHARE = 0.1
"""Of the questions asked for, the share at least that is expected to be kept when more are asked for."""


async def keep_wanted(pairs: Records[DocumentPair], ctx: SetContext[DocumentsSettings]) -> AsyncIterator[DocumentPair]:
    """Keep the number wanted of the questions that do not ask the same, evenly over documents and by kinds' shares.

    While too few are left, ask for more, as far as there is something left to ask. Of two that ask the same, the one
    whose key comes first stays.
    """
    settings, step = ctx.settings, ctx.step
    wanted = min(settings.pairs, step.limit or settings.pairs)
    records = list(pairs)
    # A pilot asks once: it shows what share the checks refuse. The rules ask all that there is at first.
    asks_more = step.limit is None and not is_free(step.models)
    rounds: Rounds | None = None
    while True:
        repeats = await asyncio.to_thread(_repeats, records, ctx)
        kept = _chosen([pair for pair in records if pair.id not in repeats], wanted, ctx)
        ctx.progress(len(kept), wanted)
        if len(kept) == wanted or not asks_more:
            break
        if rounds is None:
            rounds = await asyncio.to_thread(Rounds, ctx)
        if not rounds.left:
            break
        records += await rounds.ask(len(kept), wanted)
    for pair in records:
        if pair.id in kept:
            yield pair
        elif (same := repeats.get(pair.id)) is not None:
            ctx.drop(pair, Drop("asks what another asks", evidence=same.question, related_id=same.id))
        else:
            ctx.drop(pair, Drop("more than wanted", evidence=pair.question))
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

    async def ask(self, kept: int, wanted: int) -> list[DocumentPair]:
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

    async def _asked_and_checked(self, question: Possible, plan: Plan) -> Outcome:
        """Take the steps that the first questions went through, with the draws that they had there."""
        passage = self._passages[question.passage]
        key = key_of("documents", "pairs", passage.key, question.slot)
        ctx = replace(self._at(key, plan), step_name=method.ask_question.__name__)
        place = passage.model_copy(update={"key": key})  # of a question that is none, the drop names the passage
        pair = await self._attempt(place, method.ask_question(passage, question.slot, ctx))
        for check in (method.judge_question, method.check_answer, method.prescreen):
            if isinstance(pair, DocumentPair):
                pair = await self._attempt(pair, check(pair, self._at(key, None)))
        return pair

    async def _attempt(self, record: Record, work: Coroutine[object, object, DocumentPair]) -> Outcome:
        try:
            return await work
        except Drop as drop:
            return record, drop
        except InvalidAnswer as invalid:
            return record, Drop(invalid.reason, evidence=invalid.evidence)

    async def _passed(self, work: Iterable[Coroutine[object, object, Outcome]]) -> list[DocumentPair]:
        """Do the work side by side. Note what was dropped, and return the others, in order."""
        pairs = []
        for outcome in await asyncio.gather(*work):
            if isinstance(outcome, DocumentPair):
                pairs.append(outcome)
            else:
                self._ctx.drop(*outcome)
        return pairs

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


def _repeats(pairs: Sequence[DocumentPair], ctx: SetContext[DocumentsSettings]) -> Mapping[str, DocumentPair]:
    """By id, the questions that ask the same as another, which is kept: by their words, or by the embedder."""
    by_id = {pair.id: pair for pair in pairs}
    first: dict[str, DocumentPair] = {}
    repeats: dict[str, DocumentPair] = {}
    for pair in sorted(pairs, key=lambda pair: pair.key):
        words = " ".join(pair.question.casefold().split())
        if (same := first.setdefault(words, pair)) is not pair:
            repeats[pair.id] = same
    read = [pair for pair in pairs if pair.id not in repeats and ctx.step.embedder.reads(pair.question)]
    if len(read) > 1:
        vectors = np.asarray(ctx.step.embedder.embed([pair.question for pair in read]))
        survivors = deduplicate(
            [pair.id for pair in read], vectors, arrivals=[ctx.step.arrival(pair) for pair in read],
            cosine_above=ctx.settings.similar_above, rule="independent-set",
        )  # fmt: skip
        repeats |= {duplicate.id: by_id[duplicate.related_id] for duplicate in survivors.removed}
    return repeats
