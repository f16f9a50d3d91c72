"""Topical-Chat: two people talk about what they have read (Gopalakrishnan et al. 2019)."""

from collections.abc import Iterator, Mapping

from data.sources.files import json_rows
from data.sources.spec import BOT, USER, Entry, Row, SourceSpec
from schemas.rubric import Turn

PERSONAL = "Personal Knowledge"
LEADS = ("shortened_wiki_lead_section", "summarized_wiki_lead_section")
"""Where the text of a factual section is, by the configuration of the conversation."""


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """Each message as the response to the one before it; who gives it is the bot, the other one the user.

    Its knowledge is the Wikipedia text of the factual sections that its author says to have used. A message
    on a section without a text here (the newspaper's always: "missing evidence"), or on personal knowledge
    alone, is refused. A factual section had fun facts too, which are not in the data: that a section is named
    does not say that the message rests on the text, so nothing is vouched for.
    """
    for row in json_rows(spec.path):
        sections = {agent: _texts(row, agent) for agent in ("agent_1", "agent_2")}
        messages = [(one.text("agent"), one.text("message").strip(), one) for one in row.rows("content", "message")]
        for place, (agent, response, message) in enumerate(messages):
            if agent not in sections:
                raise message.error(f'expected agent "agent_1" or "agent_2", found "{agent}"', "correct the row")
            id_ = f"{row.label('conversation_id')}#{place + 1}"
            named = [one for one in message.texts("knowledge_source") if one != PERSONAL]
            lacking = [one for one in named if one not in sections[agent]]
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
                "knowledge": "\n".join(dict.fromkeys(sections[agent][one] for one in named)),
                "response": response,
            }
            yield Entry(id_, values, evidence=response)


def _texts(row: Row, agent: str) -> Mapping[str, str]:
    """The texts that the agent was given, by the name of the section."""
    shown = row.value("reading_set")
    found = shown.get(agent) if isinstance(shown, Mapping) else None
    if not isinstance(found, Mapping):
        raise row.error(f'expected field "reading_set" to have an object {agent}, found none', "correct the row")
    texts: dict[str, str] = {}
    for name, values in found.items():
        section = Row(row.file, f"{row.place}, {agent}, {name}", values if isinstance(values, Mapping) else {})
        text = next((text for lead in LEADS if (text := section.optional(lead))), None)
        if text:
            texts[name] = " ".join(text.split())
    return texts
