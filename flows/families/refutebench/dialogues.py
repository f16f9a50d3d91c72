"""The two protocols (section 3): transient and persistent refutation of an evaluated model's answers.

A dialogue is a state machine whose state is what has been said: it is sent whole with every message, and each answer
is kept under it before it is used. One that was broken off is begun again and goes through what is known to the turn at
which it stopped, without asking, or paying, for any of it again.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from random import Random

from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records
from flows.families.refutebench import templates
from flows.families.refutebench.lexicon import packaged
from flows.families.refutebench.prompts import (
    CHECK_REFUTATION,
    REFUTE,
    RESPOND,
    Checked,
    ToAnswer,
    ToCheck,
    ToRefute,
)
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.llm.model import InvalidAnswer, Problem, Said
from schemas.base import Provenance, content_hash, key_of
from schemas.refutebench import (
    FOCUSES,
    PLAIN,
    DialogueTurn,
    Focus,
    ProtocolSettings,
    RefutationDialogue,
    Seed,
    style_of,
)
from schemas.source import Assignment

MOST_TRIES = 3
"""Refutations that are asked for before a dialogue is dropped; the paper names no number."""
SAME_ABOVE = 0.9
"""Cosine above which two refutations of a dialogue say the same; the paper names none."""
TEMPLATE_TASKS = ("translation", "writing")
"""What version 1.0's templates refute (its third task, question answering, is none of version 2.0's)."""


@dataclass(frozen=True)
class Pool:
    """The seeds as dialogues need them."""

    settings: RefuteBenchSettings
    by_query: Mapping[str, Seed]
    by_key: Mapping[str, Seed]


def pool_seeds(step: StepContext[RefuteBenchSettings]) -> Pool:
    """All seeds, for the unrelated queries and what goes with a query."""
    seeds = sorted(step.used("seeds", Seed), key=lambda seed: seed.key)
    return Pool(step.settings, {seed.query: seed for seed in seeds}, {seed.key: seed for seed in seeds})


async def state_protocol(
    records: Records[Assignment], ctx: SetContext[RefuteBenchSettings]
) -> AsyncIterator[ProtocolSettings]:
    """One record: what the protocols leave to be chosen, as it was chosen."""
    settings = ctx.settings
    yield ProtocolSettings(
        key=key_of("refutebench", "protocol", ""),
        rounds=settings.rounds,
        unrelated=settings.unrelated,
        refuters=settings.refuters,
        style=style_of(settings.style),
        focuses=FOCUSES,
        evaluated=settings.evaluated,
        evaluators=settings.evaluators,
        tries=MOST_TRIES,
        same_above=SAME_ABOVE,
        provenance=Provenance(seed=ctx.step.seed),
    )


# ---- which dialogues there are ----


def dialogues_of(seed: Seed, pool: Pool) -> Sequence[Slot]:
    """The dialogues that are held about a seed."""
    return slots_of(seed, pool.settings)


def slots_of(seed: Seed, settings: RefuteBenchSettings) -> Sequence[Slot]:
    """A dialogue of each protocol, with each model by each refuter that knows the task."""
    return [
        {"model": model, "refuter": refuter, **protocol}
        for model in settings.evaluated
        for refuter in settings.refuters
        if refuter == "agent" or seed.task in TEMPLATE_TASKS
        for protocol in protocols_of(settings)
    ]


def protocols_of(settings: RefuteBenchSettings) -> Sequence[Slot]:
    """Transient, and persistent for each C."""
    persistent: list[Slot] = [{"protocol": "persistent", "unrelated": count} for count in settings.unrelated]
    return [{"protocol": "transient", "unrelated": 0}, *persistent]


async def open_dialogue(seed: Seed, slot: Slot, ctx: Context[RefuteBenchSettings, Pool]) -> RefutationDialogue:
    """The dialogue before anything is answered: the queries that are known in advance.

    The paper leaves open what is asked in between: C seeds of other tasks, drawn from the query and from theirs alone,
    so that they are the same for every model and refuter, in this build or in another one of the same seeds; those of a
    smaller C are the first of a larger one's.
    """
    settings = ctx.settings
    pool = ctx.prepared
    turns = [DialogueTurn(role="user", kind="query", text=seed.query)]
    between: list[Seed] = []
    count = int(slot["unrelated"])
    if count:
        others = [one for one in pool.by_key.values() if one.task != seed.task]
        if len(others) < count:
            raise Drop("too few seeds of other tasks", value=len(others))
        between = nsmallest(count, others, key=lambda one: content_hash("unrelated", seed.query, one.query))
        turns += [DialogueTurn(role="user", kind="unrelated", text=one.query) for one in between]
        turns.append(turns[0])
    agent = slot["refuter"] == "agent"
    return RefutationDialogue(
        key=ctx.key,
        seed=seed.key,
        task=seed.task,
        query=seed.query,
        protocol="transient" if slot["protocol"] == "transient" else "persistent",
        unrelated=count,
        refuter="agent" if agent else "template",
        style=style_of(settings.style) if agent else PLAIN,
        model=str(slot["model"]),
        turns=tuple(turns),
        provenance=ctx.provenance(seed, *between),
    )


# ---- how they are held ----


async def hold_dialogue(opened: RefutationDialogue, ctx: Context[RefuteBenchSettings, Pool]) -> RefutationDialogue:
    """Section 3, to the last turn; what the evaluated model or the refuter cannot say drops the dialogue."""
    settings = ctx.settings
    talk = Talk(opened, ctx)
    if opened.protocol == "transient":
        await talk.ask(opened.query)
        for _ in range(settings.rounds):
            await talk.refute()
    else:
        await talk.ask(opened.query)
        await talk.refute(standing=True)
        for turn in opened.turns[1:]:
            await talk.ask(turn.text, unrelated=turn.kind == "unrelated")
    return opened.revised(turns=tuple(talk.turns), provenance=ctx.asked_of(opened.provenance))


@dataclass
class Talk:
    """A dialogue as far as it has come."""

    opened: RefutationDialogue
    ctx: Context[RefuteBenchSettings, Pool]
    turns: list[DialogueTurn] = field(default_factory=list)

    async def ask(self, query: str, *, unrelated: bool = False) -> None:
        """Put a query to the evaluated model."""
        await self._say(DialogueTurn(role="user", kind="unrelated" if unrelated else "query", text=query), query)

    async def refute(self, *, standing: bool = False) -> None:
        """Have the latest answer refuted, and answered anew.

        Section 4.2, fairness: what a refutation is about is drawn from the seed query and the turn alone, so that every
        evaluated model meets the same. Section 3 leaves open how a persistent refutation is worded: it is to be a
        `standing` one, which holds from now on.
        """
        if self.opened.refuter == "template":
            text, focus = self._by_template(standing)
        else:
            text, focus = await self._by_agent(standing)
        await self._say(DialogueTurn(role="user", kind="refutation", text=text, focus=focus), self.opened.query)

    async def _say(self, turn: DialogueTurn, query: str) -> None:
        """Section 5: greedily, with the whole history, as far as the model's window holds it.

        Departure: the paper's dialogues fit into any window. Of one that does not the longest messages are cut in their
        middle (so that refutations stay whole), which the turn says.
        """
        seed = self.ctx.prepared.by_query[query]
        asked = ToAnswer(
            dialogue=tuple(Said(role=one.role, text=one.text) for one in self.turns),
            said=turn.text,
            task=seed.task,
            text=seed.text,
            reference=seed.reference,
            forgetting=self.ctx.settings.forgetting.get(self.opened.model, 0.0),
            ignoring=self.ctx.settings.ignoring.get(self.opened.model, 0.0),
        )
        try:
            answer = await self.ctx.ask(RESPOND, asked, model=self.opened.model)
        except InvalidAnswer as invalid:
            raise Drop(f"evaluated model: {invalid.reason}", invalid.evidence) from invalid
        said = DialogueTurn(
            role="assistant",
            kind=turn.kind,
            text=answer.text.strip(),
            cut_off=answer.cut_off,
            prompt_cut=answer.prompt_cut,
        )
        self.turns += [turn, said]

    # ---- the refuter (section 4.2) ----

    @property
    def _earlier(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.turns if one.role == "user" and one.kind == "refutation")

    def _by_template(self, standing: bool) -> tuple[str, str]:
        """Version 1.0, on the same seeds."""
        settings = self.ctx.settings
        seed = self.ctx.prepared.by_key[self.opened.seed]
        lexicon = settings.lexicon or packaged()
        rng = Random(content_hash("template", self.opened.query, self.turns[-1].text, len(self._earlier)))
        return templates.refute(seed.text, seed.task, self.turns[-1].text, self._earlier, lexicon, rng, standing)

    async def _by_agent(self, standing: bool) -> tuple[str, str]:
        """Figure 3, and what it asks for checked: not met yet, on focus, one aspect, no repetition, no contradiction.

        Departure: the paper's prompt says that several requirements may be given, and section 4.2 that each is about a
        certain aspect; one is asked for. It names no check: a refutation that does not pass is asked for again with the
        reason, and after `MOST_TRIES` the dialogue is dropped.
        """
        settings = self.ctx.settings
        focus = focus_of(self.opened.query, len(self._earlier))
        refused: list[tuple[str, str]] = []
        for draw in range(MOST_TRIES):
            asked = ToRefute(
                task=self.opened.task,
                query=self.opened.query,
                response=self.turns[-1].text,
                earlier=self._earlier,
                focus=focus,
                style=settings.style,
                strong=strong_of(self.opened.query, settings.style),
                standing=standing,
                refused=tuple(refused),
            )
            try:
                text = " ".join((await self.ctx.ask(REFUTE, asked, draw=draw)).refutation.split())
            except InvalidAnswer as invalid:
                raise Drop(f"refuter: {invalid.reason}", invalid.evidence) from invalid
            problem = await self._problem(text, focus)
            if problem is None:
                return text, focus
            refused.append((text, problem[1]))
            reason = problem[0]
        raise Drop(f"refutation {reason}", "; ".join(text for text, _ in refused))

    async def _problem(self, text: str, focus: Focus) -> Problem:
        if not any(character.isalnum() for character in text):
            return "without words", "it says nothing"
        earlier = self._earlier
        same = self._said_in_these_words(text)
        if same is None and earlier and self.opened.style != PLAIN:  # plain ones differ in a word: "say this for that"
            same = await asyncio.to_thread(self._said_in_other_words, text)
        if same is not None:
            return "repeated", f"it says again: {same}"
        asked = ToCheck(
            query=self.opened.query, response=self.turns[-1].text, refutation=text, focus=focus, earlier=earlier
        )
        try:
            return _fault(await self.ctx.ask(CHECK_REFUTATION, asked), focus, earlier)
        except InvalidAnswer as invalid:
            raise Drop(f"check of the refutation: {invalid.reason}", invalid.evidence) from invalid

    def _said_in_these_words(self, text: str) -> str | None:
        """The earlier refutation that is the same."""
        bare = _bare(text)
        return next((one for one in self._earlier if _bare(one) == bare), None)

    def _said_in_other_words(self, text: str) -> str | None:
        """The earlier refutation that means the same."""
        embedder = self.ctx.step.embedder
        # The embedder does not tell Chinese words apart: refutations that name others do not say the same.
        readable = [one for one in self._earlier if embedder.reads(one) and _chinese(one) == _chinese(text)]
        if not readable or not embedder.reads(text):
            return None
        vectors = embedder.embed([text, *readable])
        near = vectors[1:] @ vectors[0]
        place = int(near.argmax())
        return readable[place] if near[place] > SAME_ABOVE else None


def focus_of(query: str, number: int) -> Focus:
    """What the refutation of this number is about (figure 3: "randomly chosen"), whatever model is evaluated where."""
    return Random(content_hash("focus", query, number)).choice(FOCUSES)


def strong_of(query: str, style: Sequence[str]) -> str:
    """Which of the style rules is strong throughout a query's dialogues, whatever model is evaluated where.

    Departure: figure 3 has each refutation highly ambiguous, highly abstract and highly emotional at once, which no
    person is. One of them is, drawn from the query; the others are there in a lesser degree.
    """
    return Random(content_hash("strong", query)).choice(style) if style else ""


def _fault(checked: Checked, focus: Focus, earlier: Sequence[str]) -> Problem:
    if checked.met:
        return "met already", "the answer does that already"
    if checked.off_focus:
        return "off its focus", f"it asks for something else than a change in {focus}"
    if checked.aspects != 1:
        return "of several aspects", f"it asks for {checked.aspects} things; ask for one"
    if 0 < checked.repeats <= len(earlier):
        return "repeated", f"it says again: {earlier[checked.repeats - 1]}"
    if 0 < checked.contradicts <= len(earlier):
        return "contradicted", f"it goes against: {earlier[checked.contradicts - 1]}"
    return None


def _chinese(text: str) -> str:
    return "".join(character for character in text if "\u3400" <= character <= "\u9fff")


def _bare(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
