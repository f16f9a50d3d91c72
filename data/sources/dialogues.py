"""Dialogues with knowledge and a response. Each function reads one format."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from data.sources.files import json_rows
from data.sources.spec import BOT, USER, Entry, Row, SourceSpec, turns
from schemas.charpeval import DISTRACTOR_TYPES
from schemas.rubric import Turn

UTTERANCES = {"hCHARP": "hard_utterance", "eCHARP": "easy_utterance"}
"""Subset of CHARP -> the kind of last utterance that its history ends with."""
ATTRIBUTABLE = "Fully attributable"
BEGIN_LABELS = (ATTRIBUTABLE, "Not fully attributable", "Generic")
PERSONAL = "Personal Knowledge"
LEADS = ("shortened_wiki_lead_section", "summarized_wiki_lead_section")
"""Fields of Topical-Chat with the text of a factual section; which one depends on the conversation's configuration."""


def charp(spec: SourceSpec) -> Iterator[Entry]:
    """CHARP (Ghaddar et al. 2024): dialogues that need their history (hCHARP) or do not (eCHARP).

    The row's `subset` says which one; without that field, the file's name does, which contains hCHARP or eCHARP. The
    two subsets may therefore come as one file or as two sources; the family joins rows that differ only in their last
    utterance. The rows that CHARPEval published have five wrong responses as well.
    """
    for row in json_rows(spec.path):
        subset = _subset(row, spec)
        history = [turn.strip() for turn in row.texts("history")]
        if not history:
            raise row.error('expected field "history" to end with the user\'s utterance, found an empty list',
                            "correct the row")  # fmt: skip
        response = row.text("response").strip()
        values = {
            "history": turns(history[:-1]),
            UTTERANCES[subset]: history[-1],
            "knowledge": row.text("knowledge").strip(),
            "response": response,
            "distractors": distractors(row),
            "attributed": True,
        }
        yield Entry(f"{subset} {row.label('row_idx')}", values, evidence=response)


def distractors(row: Row, name: Callable[[str], str] = str) -> dict[str, str]:
    """Return the five wrong responses of a published row; none if it has none of their fields.

    `name` gives the field of a type.
    """
    if not any(row.values.get(name(kind)) is not None for kind in DISTRACTOR_TYPES):
        return {}
    texts: dict[str, str] = {kind: row.text(name(kind)).strip() for kind in DISTRACTOR_TYPES}
    if blank := [name(kind) for kind, text in texts.items() if not text]:
        raise row.error(f'expected a text in "{blank[0]}", found none', "give all five distractors, or none")
    return texts


def _subset(row: Row, spec: SourceSpec) -> str:
    named = row.text("subset") if "subset" in row.values else Path(spec.path).name
    matches = [subset for subset in UTTERANCES if subset.casefold() in named.casefold()]
    if len(matches) != 1:
        raise row.error(
            f'expected a field "subset", or a file\'s name, with hCHARP or eCHARP in it, found "{named}"',
            "name the subset in either",
        )
    return matches[0]


def faithdial(spec: SourceSpec) -> Iterator[Entry]:
    """FaithDial (Dziri et al. 2022): each response of each dialogue, with the turns before it, the user's last.

    BEGIN and VRM label the original response. This reader gives the edited response, which says only what the knowledge
    says, or the original if it needed no edit.
    """
    for row in json_rows(spec.path):
        name = row.label("dialog_idx") if "dialog_idx" in row.values else row.place
        for number, utterance in enumerate(row.rows("utterances", "utterance"), start=1):
            history = [turn.strip() for turn in utterance.texts("history")]
            response = utterance.text("response").strip()
            values = {
                "history": turns(history[:-1]),
                "last_utterance": history[-1] if history else "",
                "knowledge": (utterance.optional("knowledge") or "").strip(),
                "response": response,
                "attributed": True,
            }
            yield Entry(f"{name}#{number}", values, evidence=response)


def begin(spec: SourceSpec) -> Iterator[Entry]:
    """BEGIN (Dziri et al. 2022): models' responses to one message each, refused unless the knowledge supports them."""
    for row in json_rows(spec.path):
        label, response = row.text("begin_label"), row.text("response").strip()
        if label not in BEGIN_LABELS:
            raise row.error(f'expected a begin_label of {", ".join(BEGIN_LABELS)}, found "{label}"', "correct the row")
        values = {
            "history": (),
            "last_utterance": row.text("message").strip(),
            "knowledge": row.text("knowledge").strip(),
            "response": response,
            "attributed": True,
            "note": f"the response is output of the model {row.text('model_name')}",
        }
        refused = "" if label == ATTRIBUTABLE else "response not attributable"
        yield Entry(row.place, values, refused=refused, evidence=f"{label}: {response}")


def topical_chat(spec: SourceSpec) -> Iterator[Entry]:
    """Topical-Chat (Gopalakrishnan et al. 2019): each message as the response to the message before it, the user's.

    Its knowledge is the Wikipedia text of the factual sections that its author claims to have used. A message on a
    section without a text here (the newspaper's always: "missing evidence"), or on personal knowledge alone, is
    refused. Factual sections had fun facts too, which are not in the data. So a section that is named does not prove
    that the message rests on the text, and nothing is vouched for.
    """
    for row in json_rows(spec.path):
        sections = {agent: _sections(row, agent) for agent in ("agent_1", "agent_2")}
        messages = [(part.text("agent"), part.text("message").strip(), part) for part in row.rows("content", "message")]
        for place, (agent, response, message) in enumerate(messages):
            if agent not in sections:
                raise message.error(f'expected agent "agent_1" or "agent_2", found "{agent}"', "correct the row")
            id_ = f"{row.label('conversation_id')}#{place + 1}"
            named = [name for name in message.texts("knowledge_source") if name != PERSONAL]
            lacking = [name for name in named if name not in sections[agent]]
            if lacking or not named:
                reason = "missing evidence" if lacking else "personal knowledge alone"
                yield Entry(id_, refused=reason, evidence=f"{', '.join(lacking)}: {response}" if lacking else response)
                continue
            before = [
                Turn(speaker=BOT if speaker == agent else USER, text=text) for speaker, text, _ in messages[:place]
            ]
            asked = before.pop().text if before and before[-1].speaker == USER else ""
            values = {
                "history": tuple(before),
                "last_utterance": asked,
                "knowledge": "\n".join(dict.fromkeys(sections[agent][name] for name in named)),
                "response": response,
            }
            yield Entry(id_, values, evidence=response)


def _sections(row: Row, agent: str) -> Mapping[str, str]:
    """Return the texts that the agent was given, by the name of the section."""
    shown = row.value("reading_set")
    sections = shown.get(agent) if isinstance(shown, Mapping) else None
    if not isinstance(sections, Mapping):
        raise row.error(f'expected field "reading_set" to have an object {agent}, found none', "correct the row")
    texts: dict[str, str] = {}
    for name, values in sections.items():
        section = Row(row.file, f"{row.place}, {agent}, {name}", values if isinstance(values, Mapping) else {})
        if text := next((text for lead in LEADS if (text := section.optional(lead))), None):
            texts[name] = " ".join(text.split())
    return texts
