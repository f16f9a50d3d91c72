"""FaithDial: dialogues whose responses were edited to say what the knowledge says (Dziri et al. 2022)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, turns


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """Each response of each dialogue, with what was said before it; the last of its history is the user's.

    BEGIN and VRM label the original response; the one given here is the edited one, which says nothing else
    than the knowledge, or the original where nothing had to be edited.
    """
    for row in json_rows(spec.path):
        name = row.label("dialog_idx") if "dialog_idx" in row.values else row.place
        for number, said in enumerate(row.rows("utterances", "utterance"), start=1):
            history = [one.strip() for one in said.texts("history")]
            response = said.text("response").strip()
            values = {
                "history": turns(history[:-1]),
                "last_utterance": history[-1] if history else "",
                "knowledge": (said.optional("knowledge") or "").strip(),
                "response": response,
                "attributed": True,
            }
            yield Entry(f"{name}#{number}", values, evidence=response)
