"""CHARPEval: dialogues with knowledge, whose response is to be told from five distractors that people write.

Ghaddar et al., "CHARPEval: Benchmarking Large Language Models' Contextual Reasoning in Knowledge-Grounded
Dialogue", 2025: section 2.2 (the two last utterances), 2.3 (the distractors), appendix B (who writes them).
"""

from collections.abc import AsyncIterator, Iterator, Sequence

from data.seen import text_of
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records, with_first
from flows.construct.rows_on_disk import RowsOnDisk
from flows.families.charpeval import checks
from flows.families.charpeval.facts import FactIndex, normalised
from flows.families.charpeval.prompts import DRAFT_DISTRACTORS, DRAFT_UTTERANCES, RefusedDraft, ToAsk, ToDistract
from flows.families.charpeval.settings import CharpEvalSettings
from flows.language import en
from flows.language.en.tokens import word_set
from flows.llm.model import InvalidAnswer
from schemas.base import Provenance, content_hash
from schemas.charpeval import DISTRACTOR_TYPES, SUBSETS, Authored, CharpEvalItem, DistractorType, Subset, UtterancePair
from schemas.rubric import Turn
from schemas.source import Dialogue

LEAST_SENTENCE = 3
"""Words of the shortest sentence that states a fact: "Cats eat mice"."""
LEAST_SUPPORT = 0.7
"""Share of the response's content words, without fillers, that the knowledge has, if the source does not vouch for it;
chosen on Topical-Chat, where most responses rest on fun facts that are not in the data."""
LEAST_SUPPORTED = 4
"""Least number of such words if no utterances were written for the response; all but one of them in addition to the
words of the user's last utterance."""
FILLERS = word_set(
    "yes yeah yep no not oh ok wow lol haha hi hello hey well really actually great nice cool good sure know think "
    "guess hear like love read say tell see wonder believe thing lot right true interesting amazing crazy guy "
    "more most many much one other some all may just only even first use make get go come"
)
"""Base forms that occur in a conversation on any subject."""
NO_DRAFT = "the builder had none"
MOST_TRIES = 2
"""Times that drafts are asked for: those that break a rule are asked for once more, with the problem."""


# ---- utterances: the hard and the easy one (section 2.2) ----


async def filter_dialogue(source: Dialogue, ctx: Context) -> UtterancePair:
    """Keep dialogues with a previous turn, knowledge in sentences, and a response that follows from it.

    Departure: a dialogue of one turn, the user's (BEGIN has no others), is kept, though no utterance can need a history
    that does not exist: people write the bot's reply to it, and then the user's last utterance. Rows that are published
    with their distractors are taken as they are.
    """
    history, last = _by_turns(source)
    published = bool(source.distractors)
    if published:
        _require_complete(source)
    elif not history and not last:
        raise Drop("too few turns", source.response)
    if not normalised(source.knowledge):
        raise Drop("no knowledge", source.response)
    if all(en.count(sentence) < LEAST_SENTENCE for sentence in en.sentences(source.knowledge)):
        raise Drop("knowledge without sentences", source.knowledge)
    if not normalised(source.response):
        raise Drop("empty response", source.knowledge[:200])
    if not source.attributed and not published:
        _require_support(source, last)
    return UtterancePair(
        key=ctx.key,
        history=history,
        last_utterance=last,
        hard_utterance=source.hard_utterance.strip(),
        easy_utterance=source.easy_utterance.strip(),
        knowledge=source.knowledge.strip(),
        response=source.response.strip(),
        distractors={kind: source.distractors[kind] for kind in DISTRACTOR_TYPES} if published else {},
        source=f"{source.format}:{source.source.source}",
        provenance=ctx.provenance(source, sources=[source.source], notes=[source.note] if source.note else []),
    )


def _by_turns(source: Dialogue) -> tuple[tuple[str, ...], str]:
    """Return the history, in which user and bot alternate and the bot is last, and the user's last utterance.

    Successive turns of one speaker are joined; a turn of the user right before the last utterance belongs to it.
    """
    turns: list[Turn] = []
    for turn in (*source.history, Turn(speaker="User", text=source.last_utterance)):
        text = turn.text.strip()
        if text and turns and turns[-1].speaker == turn.speaker:
            turns[-1] = Turn(speaker=turn.speaker, text=f"{turns[-1].text} {text}")
        elif text:
            turns.append(Turn(speaker=turn.speaker, text=text))
    last = turns.pop().text if turns and turns[-1].speaker == "User" else ""
    return tuple(turn.text for turn in turns), last


def _require_complete(source: Dialogue) -> None:
    """Raise `Drop` unless a published row has a last utterance and five distractors, all different."""
    if source.distractors.keys() != set(DISTRACTOR_TYPES):
        raise Drop("not one distractor of each type", ", ".join(source.distractors))
    if not (source.hard_utterance or source.easy_utterance):
        raise Drop("published without its last utterance", source.response)
    options = [source.response, *source.distractors.values()]
    if len(set(map(str.strip, options))) < len(options):
        raise Drop("two options are the same text", next(text for text in options if options.count(text) > 1))


def _require_support(source: Dialogue, last: str) -> None:
    """Raise `Drop` unless the response rests on the knowledge."""
    knowledge = en.content_words(source.knowledge)
    response = en.content_words(source.response) - FILLERS
    supported = response & knowledge
    share = len(supported) / len(response) if response else 0.0
    new = supported - en.content_words(last)
    written_for = bool(source.hard_utterance and source.easy_utterance)  # a person read the response
    too_few = len(supported) < LEAST_SUPPORTED or len(new) < LEAST_SUPPORTED - 1
    if share < LEAST_SUPPORT or (too_few and not written_for):
        raise Drop("response not attributable", source.response, value=share)
    if source.response.rstrip().endswith("?"):
        raise Drop("response not attributable", f"it asks: {source.response}", value=share)


async def join_subsets(
    pairs: Records[UtterancePair], ctx: SetContext[CharpEvalSettings]
) -> AsyncIterator[UtterancePair]:
    """Join dialogues that differ only in the last utterance, one hard and one easy, into one pair (section 2.2).

    The dialogue with the hard utterance is kept, whichever comes first. In memory are numbers, some 200 bytes for each
    dialogue with one utterance.
    """
    hard: dict[int, int] = {}  # dialogue -> key of the first with that utterance alone
    easy: dict[int, int] = {}

    def halves() -> Iterator[tuple[str, UtterancePair]]:
        for pair in pairs:
            if bool(pair.hard_utterance) != bool(pair.easy_utterance):
                first = hard if pair.hard_utterance else easy
                first.setdefault(int(_but_utterances(pair), 16), int(pair.key, 16))
                yield pair.key, pair

    by_key = RowsOnDisk(halves())
    both = hard.keys() & easy.keys()
    other_half = {hard[dialogue]: easy[dialogue] for dialogue in both}
    other_half |= {easy[dialogue]: hard[dialogue] for dialogue in both}
    for pair in pairs:
        if (key := other_half.get(int(pair.key, 16))) is None:
            yield pair
            continue
        other = by_key[text_of(key)]
        if pair.hard_utterance:
            yield pair.revised(easy_utterance=other.easy_utterance, provenance=_joined(pair, other))
        else:
            ctx.drop(pair, Drop("joined with its hard utterance", pair.easy_utterance, related_id=other.id))


def _but_utterances(pair: UtterancePair) -> str:
    """Return a hash that is equal for dialogues that differ only in the last utterance."""
    texts = [normalised(turn) for turn in pair.history], normalised(pair.knowledge), normalised(pair.response)
    return content_hash(*texts, dict(pair.distractors))


def _joined(pair: UtterancePair, other: UtterancePair) -> Provenance:
    first, second = pair.provenance, other.provenance
    return first.model_copy(
        update={"sources": (*first.sources, *second.sources), "parents": (*first.parents, *second.parents)}
    )


async def drop_duplicates(
    pairs: Records[UtterancePair], ctx: SetContext[CharpEvalSettings]
) -> AsyncIterator[UtterancePair]:
    """Keep one pair for each dialogue and knowledge, whatever its case, punctuation and response."""

    def dialogue(pair: UtterancePair) -> str:
        utterances = (pair.last_utterance, pair.hard_utterance, pair.easy_utterance)
        texts = pair.history, utterances, [pair.knowledge]
        return content_hash(*([normalised(text) for text in group] for group in texts))

    for pair, first in with_first(pairs, dialogue, ctx.step.arrival):
        if first is None:
            yield pair
        else:
            ctx.drop(pair, Drop("duplicate dialogue and knowledge", pair.response, related_id=first.id))


async def draft_utterances(pair: UtterancePair, ctx: Context) -> UtterancePair:
    """Suggest the utterances that are not written, or record why not; the pair goes on in either case."""
    wanted = checks.UTTERANCES if pair.before else (checks.BOT_TURN, *checks.UTTERANCES)
    missing = [name for name in wanted if not normalised(getattr(pair, name))]
    if not missing or pair.distractors:
        return pair
    asked = ToAsk(
        history=pair.history, last_utterance=pair.last_utterance, knowledge=pair.knowledge, response=pair.response
    )
    try:
        suggested = await ctx.ask(DRAFT_UTTERANCES, asked)
    except InvalidAnswer as invalid:
        return pair.revised(
            left_out=dict.fromkeys(missing, _no_answer(invalid)), provenance=ctx.asked_of(pair.provenance)
        )
    taken = {normalised(text): name for name, text in _existing_texts(pair).items() if normalised(text)}
    drafts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name in missing:
        text = " ".join(getattr(suggested, name).split())
        if not normalised(text):
            left_out[name] = NO_DRAFT
        elif (same := taken.get(normalised(text))) is not None:
            left_out[name] = f"the builder's, “{text}”, is the same as {same}"
        else:
            drafts[name] = text
            taken[normalised(text)] = name.replace("_", " ")
    return pair.revised(drafts=drafts, left_out=left_out, provenance=ctx.asked_of(pair.provenance))


def _existing_texts(pair: UtterancePair) -> dict[str, str]:
    """Return the texts that no suggestion may repeat, by their names."""
    return {
        "the hard utterance": pair.hard_utterance,
        "the easy utterance": pair.easy_utterance,
        "the response": pair.response,
        "the turn before": (pair.before or ("",))[-1],
    }


def _no_answer(invalid: InvalidAnswer) -> str:
    return f"the builder gave no answer that can be read ({invalid.reason})"


# ---- distractors: what authors start from (section 2.3) ----


def when_ready(pair: UtterancePair, prepared: object) -> Sequence[Slot]:
    """Return a slot for a pair with distractors, or for which they can be written; other pairs wait."""
    return [] if checks.problems_of(pair) else [{}]


async def open_authoring(pair: UtterancePair, slot: Slot, ctx: Context) -> Authored:
    """Return the dialogue as an author gets it, with nothing written yet, or with the five published distractors."""
    return Authored(
        key=ctx.key,
        history=pair.before,
        hard_utterance=pair.hard_utterance,
        easy_utterance=pair.easy_utterance,
        knowledge=pair.knowledge,
        response=pair.response,
        **{str(kind): text for kind, text in pair.distractors.items()},
        published=bool(pair.distractors),
        source=pair.source,
        provenance=ctx.provenance(pair),
    )


def collect_facts(step: StepContext[CharpEvalSettings, Authored]) -> FactIndex:
    """Return the facts of the dialogues that authors get."""
    return FactIndex(record.knowledge for record in step.inputs if not record.published)


async def draft_distractors(record: Authored, ctx: Context[CharpEvalSettings, FactIndex]) -> Authored:
    """Suggest distractors (sections 2.3.1 to 2.3.5) that break no rule for which a reviewer would reject them.

    Those that do are asked for again with the problem; a suggestion left out in the end is recorded with the reason.
    Departure: the paper's annotators start from nothing. Suggestions are shown as such, and are no part of an item.
    """
    if record.published:
        return record
    drafts: dict[DistractorType, str] = {}
    refused: tuple[RefusedDraft, ...] = ()
    left_out: dict[str, str] = dict.fromkeys(DISTRACTOR_TYPES, NO_DRAFT)
    for draw in range(MOST_TRIES):
        asked = ToDistract(
            history=record.history,
            hard_utterance=record.hard_utterance,
            easy_utterance=record.easy_utterance,
            knowledge=record.knowledge,
            response=record.response,
            facts=ctx.prepared.about(record),
            drafts=drafts,
            refused=refused,
        )
        try:
            texts = (await ctx.ask(DRAFT_DISTRACTORS, asked, draw=draw)).texts
        except InvalidAnswer as invalid:
            if not refused:
                left_out = dict.fromkeys(DISTRACTOR_TYPES, _no_answer(invalid))
            break
        wanted = [draft.type for draft in refused] or DISTRACTOR_TYPES
        texts = drafts | {kind: texts[kind] for kind in wanted if kind in texts and normalised(texts[kind])}
        broken = checks.rejected_drafts(record, texts)
        drafts = {kind: texts[kind] for kind in DISTRACTOR_TYPES if kind in texts and kind not in broken}
        refused = tuple(RefusedDraft(type=kind, text=texts[kind], problem=why) for kind, why in broken.items())
        left_out |= {draft.type: f"the builder's, “{draft.text}”, {draft.problem}" for draft in refused}
        if not refused:
            break
    left_out = {kind: why for kind, why in left_out.items() if kind not in drafts}
    return record.revised(drafts=drafts, left_out=left_out, provenance=ctx.asked_of(record.provenance))


# ---- items (section 2.4) ----


def when_written(record: Authored, prepared: object) -> Sequence[Slot]:
    """Return both subsets once all five distractors are written; for a published row, the subsets that it has."""
    return [{"subset": subset} for subset in record.subsets] if len(record.distractors) == len(DISTRACTOR_TYPES) else []


async def make_item(record: Authored, slot: Slot, ctx: Context) -> CharpEvalItem:
    """Make one subset's item. The order of its options is random, for exports that need one; no score depends on it."""
    subset = SUBSETS[0] if slot["subset"] == SUBSETS[0] else SUBSETS[1]
    options = [record.response, *record.distractors.values()]
    ctx.random(record.key, subset).shuffle(options)
    return _item(record, subset, options, ctx.key, ctx.provenance(record))


def items_of(record: Authored) -> list[CharpEvalItem]:
    """Return both subsets' items of a dialogue as one author left it, to compare authors (appendix B)."""
    options = [record.response, *record.distractors.values()]
    return [_item(record, subset, options, record.key, record.provenance) for subset in record.subsets]


def _item(record: Authored, subset: Subset, options: Sequence[str], key: str, provenance: Provenance) -> CharpEvalItem:
    return CharpEvalItem(
        key=key,
        subset=subset,
        history=record.history,
        last_utterance=record.hard_utterance if subset == SUBSETS[0] else record.easy_utterance,
        knowledge=record.knowledge,
        response=record.response,
        distractors=record.distractors,
        options=tuple(options),
        gold_index=options.index(record.response),
        dialogue_id=record.key,
        provenance=provenance,
    )
