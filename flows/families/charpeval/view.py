"""CHARPEval's records laid out for the build report."""

from collections.abc import Sequence

from flows.construct.view import Line, View
from flows.families.charpeval.checks import problems_of
from flows.families.charpeval.rubric import dialogue
from schemas.base import Record
from schemas.charpeval import DISTRACTOR_TYPES, Authored, CharpEvalItem, UtterancePair

NOT_WRITTEN = "(not written)"


def view(record: Record) -> View:
    """A dialogue with its utterances, its distractors, or its options."""
    match record:
        case UtterancePair():
            problems = " ".join(problem for _, problem in problems_of(record))
            return View(
                title=record.last_utterance or (record.history[-1] if record.history else record.hard_utterance),
                tags=(record.source, "waiting" if problems else "ready"),
                lines=(
                    *_turns(record.history, record.last_utterance),
                    *([Line("Bot", (record.bot_turn,))] if record.bot_turn else []),
                    Line("hard utterance", (record.hard_utterance or NOT_WRITTEN,)),
                    Line("easy utterance", (record.easy_utterance or NOT_WRITTEN,)),
                    Line("knowledge", (record.knowledge,)),
                    Line("response", (record.response,), strong=True),
                    *_drafts(record),
                    *([Line("waits for", (problems,))] if problems else []),
                ),
            )
        case Authored():
            return View(
                title=record.hard_utterance,
                tags=(record.source,),
                lines=(
                    *_turns(record.history, record.hard_utterance),
                    Line("easy utterance", (record.easy_utterance,)),
                    Line("knowledge", (record.knowledge,)),
                    Line("response", (record.response,), strong=True),
                    *(Line(kind, (getattr(record, kind) or NOT_WRITTEN,)) for kind in DISTRACTOR_TYPES),
                    *_drafts(record),
                ),
            )
        case CharpEvalItem():
            return View(
                title=record.last_utterance,
                tags=(record.subset,),
                lines=(
                    *_turns(record.history, record.last_utterance),
                    Line("knowledge", (record.knowledge,)),
                    *(Line(kind, (text,), strong=kind == "GTRS") for kind, text in record.texts.items()),
                ),
            )
    raise TypeError(f"CHARPEval has no {type(record).__name__}")


def _drafts(record: UtterancePair | Authored) -> Sequence[Line]:
    """The suggestions, and the reasons for missing ones."""
    suggested = [Line(f"suggested {_plain(name)}", (text,)) for name, text in record.drafts.items()]
    return [*suggested, *(Line(f"no {_plain(name)} suggested", (why,)) for name, why in record.left_out.items())]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _turns(history: Sequence[str], last_utterance: str) -> Sequence[Line]:
    return [Line(turn.speaker, (turn.text,)) for turn in dialogue(history, last_utterance)]
