"""CHARPEval's records for a person: in Markdown, and laid out for the build report."""

from collections.abc import Sequence

from flows.construct.view import Line, View
from flows.families.charpeval.checks import problems_of
from flows.families.charpeval.rubric import dialogue
from schemas.base import Record
from schemas.charpeval import DISTRACTOR_TYPES, Authored, CharpEvalItem, UtterancePair

NOT_WRITTEN = "(not written)"


def show(record: Record) -> str:
    """Return the record in Markdown."""
    match record:
        case UtterancePair():
            problems = _problems(record)
            utterances = {"Hard": record.hard_utterance, "Easy": record.easy_utterance}
            parts = [
                _said(record.history, record.last_utterance),
                f"**Bot** (written for it): {record.bot_turn}" if record.bot_turn else "",
                "\n".join(f"- {name}: {text or NOT_WRITTEN}" for name, text in utterances.items()),
                _ground(record.knowledge, record.response),
                _suggestions(record),
                f"*{problems}*" if problems else "",
            ]
        case Authored():
            parts = [
                _said(record.history, record.hard_utterance),
                f"Easy: **User:** {record.easy_utterance}",
                _ground(record.knowledge, record.response),
                "\n".join(f"- {kind}: {getattr(record, kind) or NOT_WRITTEN}" for kind in DISTRACTOR_TYPES),
                f"Note: {record.note}" if record.note else "",
                _suggestions(record),
            ]
        case CharpEvalItem():
            options = "\n".join(f"- {kind}: {text}" for kind, text in record.texts.items())
            said = _said(record.history, record.last_utterance)
            parts = [record.subset, said, f"> {record.knowledge}", options]
        case _:
            raise TypeError(f"CHARPEval has no record {type(record).__name__}")
    return "\n\n".join(filter(None, parts))


def view(record: Record) -> View:
    """Return the record as lines: a dialogue with its utterances, its distractors, or its options."""
    match record:
        case UtterancePair():
            problems = _problems(record)
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
                    *_suggested(record),
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
                    *_suggested(record),
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
    raise TypeError(f"CHARPEval has no record {type(record).__name__}")


def _problems(pair: UtterancePair) -> str:
    return " ".join(problem for _, problem in problems_of(pair))


def _said(history: Sequence[str], last_utterance: str) -> str:
    return "\n\n".join(f"**{turn.speaker}:** {turn.text}" for turn in dialogue(history, last_utterance))


def _turns(history: Sequence[str], last_utterance: str) -> Sequence[Line]:
    return [Line(turn.speaker, (turn.text,)) for turn in dialogue(history, last_utterance)]


def _ground(knowledge: str, response: str) -> str:
    quoted = "\n> ".join(knowledge.splitlines())
    return f"> {quoted}\n\n**Bot** (the right response): {response}"


def _suggestions(record: UtterancePair | Authored) -> str:
    """Return the suggestions, and the reasons for missing ones, in Markdown."""
    suggested = [f"- {name}: {text}" for name, text in record.drafts.items()]
    left_out = [f"- {name}: none, for {why}" for name, why in record.left_out.items()]
    return "\n".join(["Suggestions:", "", *suggested, *left_out]) if suggested or left_out else ""


def _suggested(record: UtterancePair | Authored) -> Sequence[Line]:
    """Return the suggestions, and the reasons for missing ones, as lines."""
    drafts = [Line(f"suggested {_plain(name)}", (text,)) for name, text in record.drafts.items()]
    return [*drafts, *(Line(f"no {_plain(name)} suggested", (why,)) for name, why in record.left_out.items())]


def _plain(name: str) -> str:
    return name.replace("_", " ")
