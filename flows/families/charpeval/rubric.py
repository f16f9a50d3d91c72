"""The forms in which people write the two last utterances (section 2.2) and the five distractors (section 2.3)."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from annotation.quality import WHY_UNCHANGED
from annotation.review import review_of
from flows.construct.people import every
from flows.families.charpeval.checks import (
    DECISION,
    REJECT,
    USABLE,
    check,
    check_utterances,
    problems_of,
    unfit_authored,
    unfit_pair,
)
from schemas.charpeval import DISTRACTOR_TYPES, Authored, UtterancePair
from schemas.rubric import Choice, Rubric, Shown, Turn, Written

REVIEW_GUIDELINE = "guideline.review.md"

USE = Choice(name=DECISION, question="Can the conversation be used?", options=(USABLE, REJECT), fixes=(USABLE,))
UTTERANCE = Rubric(
    name="charpeval-utterance",
    title="Write the user's last utterance, twice",
    version=2,
    guideline="guideline.utterance.md",
    shows=(
        Shown(name="problem", title="What to do"),
        Shown(name="dialogue", title="Conversation", kind="dialogue"),
        Shown(name="knowledge", title="What the Bot knows"),
        Shown(name="response", title="The Bot's response"),
    ),
    listed="dialogue",
    asks=(USE,),
    writes=(
        Written(
            name="bot_turn",
            title="Only if the conversation has a single turn, the User's: the Bot's reply to it",
            hint="Lovely! I go there every summer.",
            corrects=True,
            note=True,
        ),
        Written(
            name="hard_utterance",
            title="Last utterance, hard: only the conversation shows what it asks about",
            hint="What ingredients do I need to get started in my spare time?",
            corrects=True,
        ),
        Written(
            name="easy_utterance",
            title="Last utterance, easy: the same question, but it names what it asks about",
            hint="What ingredients do I need to get started baking bread?",
            corrects=True,
        ),
        Written(name="knowledge", title="Knowledge: correct it if needed", corrects=True, lines=4),
        Written(name="response", title="Response: correct it if needed", corrects=True),
        WHY_UNCHANGED,
    ),
)
DISTRACTORS = (
    (
        "1. KGIR: a fact from the knowledge that does not answer the question",
        "Take it from the part of the knowledge that the right response does not use.",
    ),
    (
        "2. KGUG: a true fact that is not in the knowledge, in words of the right response",
        "Use some words of the right response. The knowledge must not say it.",
    ),
    (
        "3. RECF: common knowledge about the subject of the right response",
        "Write what an encyclopedia would say first. Name the subject. The knowledge must not say it.",
    ),
    (
        "4. IECF: common knowledge about something that only the knowledge names",
        "Name a thing that the knowledge names and the right response does not.",
    ),
    (
        "5. COEX: an idiom, proverb or stock phrase that fits here",
        "It must answer nothing. Best name nothing that the knowledge names.",
    ),
)
"""Title and hint of each type's field."""
AUTHORING = Rubric(
    name="charpeval-authoring",
    title="Write five wrong responses, each wrong in its own way",
    version=2,
    guideline="guideline.authoring.md",
    shows=(
        Shown(name="dialogue", title="Conversation", kind="dialogue"),
        Shown(name="hard_utterance", title="The User's last utterance, hard"),
        Shown(name="easy_utterance", title="The User's last utterance, easy"),
        Shown(name="knowledge", title="What the Bot knows"),
        Shown(name="response", title="The right response"),
    ),
    asks=(USE,),
    writes=(
        *(
            Written(name=kind, title=title, hint=hint, corrects=True, required=True)
            for kind, (title, hint) in zip(DISTRACTOR_TYPES, DISTRACTORS, strict=True)
        ),
        Written(name="note", title="Note", hint="Anything the reviewer should know.", corrects=True, note=True),
        WHY_UNCHANGED,
    ),
    overlaps=True,
)


def shown_pair(pair: UtterancePair) -> Mapping[str, str | tuple[Turn, ...]]:
    """Return the texts for authors of utterances: the conversation up to the source's own last utterance."""
    problems = " ".join(problem for _, problem in problems_of(pair))
    return {
        "problem": problems or "Nothing: the conversation can be used as it is.",
        "dialogue": dialogue(pair.history, pair.last_utterance),
        "knowledge": pair.knowledge,
        "response": pair.response,
    }


def shown_authored(record: Authored) -> Mapping[str, str | tuple[Turn, ...]]:
    """Return the texts for authors of distractors: the conversation up to the hard last utterance."""
    return {
        "dialogue": dialogue(record.history, record.hard_utterance),
        "hard_utterance": record.hard_utterance,
        "easy_utterance": record.easy_utterance,
        "knowledge": record.knowledge,
        "response": record.response,
    }


def dialogue(history: Sequence[str], last_utterance: str) -> tuple[Turn, ...]:
    """Return the turns with their speakers, and the last utterance if there is one."""
    speakers = ("Bot", "User")
    turns = [Turn(speaker=speakers[(len(history) - place) % 2 == 0], text=text) for place, text in enumerate(history)]
    return (*turns, Turn(speaker="User", text=last_utterance)) if last_utterance else tuple(turns)


WRITE_UTTERANCES = every(
    UTTERANCE,
    unfit=unfit_pair,
    shown=shown_pair,
    drafts=attrgetter("drafts"),
    left_out=attrgetter("left_out"),
    checks=check_utterances,
    review=review_of(UTTERANCE, REVIEW_GUIDELINE),
    needed=lambda pair: bool(problems_of(pair)),
)
"""Only pairs that distractors cannot be written for yet."""
WRITE_DISTRACTORS = every(
    AUTHORING,
    unfit=unfit_authored,
    shown=shown_authored,
    drafts=attrgetter("drafts"),
    left_out=attrgetter("left_out"),
    checks=check,
    review=review_of(AUTHORING, REVIEW_GUIDELINE),
    needed=lambda record: not record.published,
)
