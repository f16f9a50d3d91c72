"""CHARPEval's records as a person reads them, in Markdown."""

from collections.abc import Sequence

from flows.families.charpeval.checks import problems_of
from flows.families.charpeval.rubric import dialogue
from schemas.base import Record
from schemas.charpeval import DISTRACTOR_TYPES, Authored, CharpEvalItem, UtterancePair


def show(record: Record) -> str:
    """The record in Markdown."""
    match record:
        case UtterancePair():
            problems = " ".join(problem for _, problem in problems_of(record))
            dialogue_text = _said(record.history, record.last_utterance)
            utterances = {"Hard": record.hard_utterance, "Easy": record.easy_utterance}
            written = "\n".join(f"- {name}: {text or '(not written)'}" for name, text in utterances.items())
            if record.bot_turn:
                dialogue_text += f"\n\n**Bot** (written for it): {record.bot_turn}"
            parts = [dialogue_text, written, _ground(record.knowledge, record.response), _drafts(record)]
            return "\n\n".join(part for part in (*parts, f"*{problems}*" if problems else "") if part)
        case Authored():
            texts = [f"- {kind}: {getattr(record, kind) or '(not written)'}" for kind in DISTRACTOR_TYPES]
            note = f"Note: {record.note}" if record.note else ""
            parts = [
                _said(record.history, record.hard_utterance),
                f"Easy: **User:** {record.easy_utterance}",
                _ground(record.knowledge, record.response),
                "\n".join(texts),
                note,
                _drafts(record),
            ]
            return "\n\n".join(part for part in parts if part)
        case CharpEvalItem():
            options = "\n".join(f"- {kind}: {text}" for kind, text in record.texts.items())
            ground = f"> {record.knowledge}"
            return f"{record.subset}\n\n{_said(record.history, record.last_utterance)}\n\n{ground}\n\n{options}"
        case _:
            raise TypeError(f"CHARPEval has no record {type(record).__name__}")


def _said(history: Sequence[str], last_utterance: str) -> str:
    return "\n\n".join(f"**{turn.speaker}:** {turn.text}" for turn in dialogue(history, last_utterance))


def _ground(knowledge: str, response: str) -> str:
    quoted = "\n> ".join(knowledge.splitlines())
    return f"> {quoted}\n\n**Bot** (the right response): {response}"


def _drafts(record: UtterancePair | Authored) -> str:
    """The suggestions, and the reasons for missing ones."""
    suggested = [f"- {name}: {text}" for name, text in record.drafts.items()]
    left_out = [f"- {name}: none, for {why}" for name, why in record.left_out.items()]
    return "\n".join(["Suggestions:", "", *suggested, *left_out]) if suggested or left_out else ""
