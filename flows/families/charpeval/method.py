"""CHARPEval: dialogues with knowledge, whose response is to be told from five distractors that people write.

Ghaddar et al., "CHARPEval: Benchmarking Large Language Models' Contextual Reasoning in Knowledge-Grounded
Dialogue", 2025: section 2.2 (the two last utterances), 2.3 (the distractors), appendix B (who writes them).
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.engine import Context, Drop, SetContext, Slot, StepContext
from flows.construct.records import Records
from flows.construct.settings import FamilySettings
from flows.families.charpeval import checks
from flows.families.charpeval.checks import said
from flows.families.charpeval.facts import LEAST_UNUSED, beyond, defined, main_entities, name_of, others
from flows.families.charpeval.inference import Shots
from flows.families.charpeval.prompts import DRAFT_DISTRACTORS, DRAFT_UTTERANCES, RefusedDraft, ToAsk, ToDistract
from flows.language import en
from flows.language.en.tokens import word_set
from flows.llm.model import InvalidAnswer, Model
from schemas.base import Provenance, content_hash
from schemas.charpeval import DISTRACTOR_TYPES, SUBSETS, Authored, CharpEvalItem, DistractorType, Subset, UtterancePair
from schemas.errors import WrongInput
from schemas.rubric import Turn
from schemas.source import Dialogue

LEAST_SENTENCE = 3
"""Words of the shortest sentence that states a fact: "Cats eat mice"."""
LEAST_SUPPORT = 0.7
"""Share of the response's content words, fillers aside, that the knowledge has, where the source does not vouch for
it; read on Topical-Chat, where most responses rest on fun facts that are not in the data."""
LEAST_SUPPORTED = 4
"""How many such words it has, at least, where no utterances were written for it; all but one of them beside those of
the user's last utterance."""
FILLERS = word_set(
    "yes yeah yep no not oh ok wow lol haha hi hello hey well really actually great nice cool good sure know think "
    "guess hear like love read say tell see wonder believe thing lot right true interesting amazing crazy guy "
    "more most many much one other some all may just only even first use make get go come"
)
"""Base forms that a conversation has whatever it is about."""
NO_DRAFT = "the builder had none"
MOST_TRIES = 2
"""Times that drafts are asked for: those that break a rule are asked for once more, with what was wrong."""
MOST_FACTS = 12
"""Sentences of other dialogues that a builder is shown: for three of the five drafts, some to choose from."""
FACT_WORDS = range(4, 41)
"""Words of such a sentence: a response has no more."""


class CharpEvalSettings(FamilySettings):
    """CHARPEval's block of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Dialogues with knowledge")
    shots: tuple[Shots, ...] = Field(
        (0, 3), min_length=1, description="Demonstrations before the dialogue when a model is evaluated (appendix A)"
    )

    @field_validator("shots")
    @classmethod
    def _each_once(cls, value: tuple[Shots, ...]) -> tuple[Shots, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each stands once")
        return value


def ready(settings: CharpEvalSettings, models: Mapping[str, Model]) -> None:
    """Raise `WrongInput` where there is no source, or one in another language than English."""
    if not settings.sources:
        raise WrongInput("families.charpeval.sources: is empty; name dialogues with knowledge")
    for spec in settings.sources:
        if spec.language != "en":
            raise WrongInput(
                f"families.charpeval: {spec.name}: language {spec.language}: CHARPEval reads English; correct the "
                "source's language, or leave it out"
            )


# ---- utterances: the hard and the easy one (section 2.2) ----


async def filter_dialogue(source: Dialogue, ctx: Context) -> UtterancePair:
    """Dialogues with a turn to go on, knowledge in sentences, and a response that follows from it.

    Departure: a dialogue of one turn, the user's (BEGIN has no others), goes on, though no utterance can need a
    history that is not there: people write what the bot says to it, and then the user's last utterance.
    Rows that are published with their distractors are taken as they are.
    """
    history, last = _by_turns(source)
    notes = [source.note] if source.note else []
    published = bool(source.distractors)
    if published and source.distractors.keys() != set(DISTRACTOR_TYPES):
        raise Drop("not one distractor of each type", ", ".join(source.distractors))
    if published and not (source.hard_utterance or source.easy_utterance):
        raise Drop("published without its last utterance", source.response)
    options = [source.response, *source.distractors.values()]
    if published and len(set(map(str.strip, options))) < len(options):
        raise Drop("two options are the same text", next(one for one in options if options.count(one) > 1))
    if not history and not last and not published:
        raise Drop("too few turns", source.response)
    if not said(source.knowledge):
        raise Drop("no knowledge", source.response)
    if all(en.count(sentence) < LEAST_SENTENCE for sentence in en.sentences(source.knowledge)):
        raise Drop("knowledge without sentences", source.knowledge)
    if not said(source.response):
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
        provenance=ctx.provenance(source, sources=[source.source], notes=notes),
    )


def _by_turns(source: Dialogue) -> tuple[tuple[str, ...], str]:
    """The history by turns of user and bot, the bot's last, and the user's last utterance.

    What one of them says in several turns is one turn; what the user says right before the last utterance
    belongs to it.
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


def _require_support(source: Dialogue, last: str) -> None:
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
    """Section 2.2: dialogues that differ in the last utterance alone, one hard and one easy, are one pair.

    The one that brought the hard utterance is kept, whichever comes first.
    """
    hard: dict[str, UtterancePair] = {}
    easy: dict[str, UtterancePair] = {}
    for pair in pairs:
        if bool(pair.hard_utterance) != bool(pair.easy_utterance):
            (hard if pair.hard_utterance else easy).setdefault(_but_utterances(pair), pair)
    joined = {hard[same].key: one for same, one in easy.items() if same in hard}
    gone = {easy[same].key: hard[same] for same in easy if same in hard}
    for pair in pairs:
        if (into := gone.get(pair.key)) is not None:
            ctx.drop(pair, Drop("joined with its hard utterance", pair.easy_utterance, related_id=into.id))
        elif (other := joined.get(pair.key)) is not None:
            yield pair.revised(easy_utterance=other.easy_utterance, provenance=_both(pair, other))
        else:
            yield pair


def _but_utterances(pair: UtterancePair) -> str:
    texts = [said(turn) for turn in pair.history], said(pair.knowledge), said(pair.response)
    return content_hash(*texts, dict(pair.distractors))


def _both(pair: UtterancePair, other: UtterancePair) -> Provenance:
    one, two = pair.provenance, other.provenance
    return one.model_copy(update={"sources": (*one.sources, *two.sources), "parents": (*one.parents, *two.parents)})


async def drop_duplicates(
    pairs: Records[UtterancePair], ctx: SetContext[CharpEvalSettings]
) -> AsyncIterator[UtterancePair]:
    """One pair of each dialogue and knowledge, whatever its case and punctuation, whoever responds to it."""
    seen: dict[str, str] = {}
    for pair in pairs:
        utterances = (pair.last_utterance, pair.hard_utterance, pair.easy_utterance)
        same = content_hash(*([said(text) for text in texts] for texts in (pair.history, utterances, [pair.knowledge])))
        if same in seen:
            ctx.drop(pair, Drop("duplicate dialogue and knowledge", pair.response, related_id=seen[same]))
        else:
            seen[same] = pair.id
            yield pair


async def draft_utterances(pair: UtterancePair, ctx: Context) -> UtterancePair:
    """Suggestions for what is not written, and why there is none. A builder that has none costs nothing but them."""
    wanted = checks.UTTERANCES if pair.before else (checks.BOT_TURN, *checks.UTTERANCES)
    missing = [name for name in wanted if not said(getattr(pair, name))]
    if not missing or pair.distractors:
        return pair
    asked = ToAsk(
        history=pair.history, last_utterance=pair.last_utterance, knowledge=pair.knowledge, response=pair.response
    )
    try:
        given = await ctx.ask(DRAFT_UTTERANCES, asked)
    except InvalidAnswer as invalid:
        return pair.revised(
            left_out=dict.fromkeys(missing, _no_answer(invalid)), provenance=ctx.asked_of(pair.provenance)
        )
    taken = {said(text): what for what, text in _already_said(pair).items() if said(text)}
    drafts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name in missing:
        text = " ".join(getattr(given, name).split())
        if not said(text):
            left_out[name] = NO_DRAFT
        elif (same := taken.get(said(text))) is not None:
            left_out[name] = f"the builder's, “{text}”, is the same as {same}"
        else:
            drafts[name] = text
            taken[said(text)] = name.replace("_", " ")
    return pair.revised(drafts=drafts, left_out=left_out, provenance=ctx.asked_of(pair.provenance))


def _already_said(pair: UtterancePair) -> Mapping[str, str]:
    """What no suggestion may say again."""
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
    """The pairs that have distractors, or for which they can be written; the others wait among the utterances."""
    return [] if checks.problems_of(pair) else [{}]


async def open_authoring(pair: UtterancePair, slot: Slot, ctx: Context) -> Authored:
    """The dialogue as an author gets it, with nothing written yet; or with the five as they were published."""
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


@dataclass(frozen=True)
class FactPool:
    """Sentences of the knowledge of all dialogues, by what they say something of and by what else they name."""

    subjects: Mapping[str, Sequence[str]]
    others: Mapping[str, Sequence[str]]

    def on(self, record: Authored) -> tuple[str, ...]:
        """Sentences on what the response is about, and on what the knowledge alone names, that it does not hold.

        In turns one of each entity, those that tell what it is first.
        """
        own = {said(sentence) for sentence in en.sentences(record.knowledge)}
        wanted = [name_of(one) for one in (*main_entities(record), *others(record))]
        found: dict[str, None] = {}
        lists = [[*self.subjects.get(name, ()), *self.others.get(name, ())] for name in dict.fromkeys(wanted)]
        for place in range(max(map(len, lists), default=0)):
            for sentences in lists:
                if place < len(sentences) and said(sentences[place]) not in own:
                    found.setdefault(sentences[place])
        fresh = [sentence for sentence in found if len(beyond(sentence, record.knowledge)) >= LEAST_UNUSED]
        return tuple(fresh[:MOST_FACTS])


def collect_facts(step: StepContext[CharpEvalSettings, Authored]) -> FactPool:
    """The facts of the dialogues that authors get."""
    return facts_of(record.knowledge for record in step.inputs if not record.published)


def facts_of(knowledge: Iterable[str]) -> FactPool:
    """The sentences that stand on their own, each once."""
    subjects: dict[str, list[str]] = defaultdict(list)
    others: dict[str, list[str]] = defaultdict(list)
    for sentence in sorted({sentence for text in set(knowledge) for sentence in en.sentences(text)}):
        if en.count(sentence) not in FACT_WORDS or en.dangling_subject(sentence) is not None:
            continue
        subject = defined(sentence)
        for entity in en.entities(sentence):
            (subjects if entity == subject else others)[name_of(entity)].append(sentence)
    return FactPool(subjects, others)


async def draft_distractors(record: Authored, ctx: Context[CharpEvalSettings, FactPool]) -> Authored:
    """Sections 2.3.1 to 2.3.5 as suggestions: those that break no rule that would send them back.

    Those that do are asked for again with what is wrong; what is left out in the end is told with the reason.
    Departure: the paper's annotators start from nothing. Suggestions are shown as such, and are no part of an item.
    """
    if record.published:
        return record
    pool = ctx.prepared
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
            facts=pool.on(record),
            drafts=drafts,
            refused=refused,
        )
        try:
            texts = (await ctx.ask(DRAFT_DISTRACTORS, asked, draw=draw)).texts
        except InvalidAnswer as invalid:
            if not refused:
                left_out = dict.fromkeys(DISTRACTOR_TYPES, _no_answer(invalid))
            break
        wanted = [one.type for one in refused] or DISTRACTOR_TYPES
        texts = drafts | {kind: texts[kind] for kind in wanted if kind in texts and said(texts[kind])}
        broken = checks.rejected_drafts(record, texts)
        drafts = {kind: texts[kind] for kind in DISTRACTOR_TYPES if kind in texts and kind not in broken}
        refused = tuple(RefusedDraft(type=kind, text=texts[kind], problem=why) for kind, why in broken.items())
        left_out |= {one.type: f"the builder's, “{one.text}”, {one.problem}" for one in refused}
        if not refused:
            break
    left_out = {kind: why for kind, why in left_out.items() if kind not in drafts}
    return record.revised(drafts=drafts, left_out=left_out, provenance=ctx.asked_of(record.provenance))


# ---- items (section 2.4) ----


def when_written(record: Authored, prepared: object) -> Sequence[Slot]:
    """Both subsets, once all five distractors are written; of what is published those that are."""
    return [{"subset": subset} for subset in record.subsets] if len(record.distractors) == len(DISTRACTOR_TYPES) else []


async def make_item(record: Authored, slot: Slot, ctx: Context) -> CharpEvalItem:
    """One subset's item. The order of its options is drawn, for exports that need one; no score depends on it."""
    subset = SUBSETS[0] if slot["subset"] == SUBSETS[0] else SUBSETS[1]
    options = [record.response, *record.distractors.values()]
    ctx.random(record.key, subset).shuffle(options)
    return _item(record, subset, options, ctx.key, ctx.provenance(record))


def items_of(record: Authored) -> list[CharpEvalItem]:
    """Both subsets' items of a dialogue as one author left it, to be weighed beside another author's (appendix B)."""
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
