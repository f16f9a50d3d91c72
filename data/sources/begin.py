"""BEGIN: responses of models to a message, labelled by whether the knowledge says what they say (Dziri et al. 2022)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec

ATTRIBUTABLE = "Fully attributable"
LABELS = (ATTRIBUTABLE, "Not fully attributable", "Generic")


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """The rows whose response the knowledge bears out; the others are refused. The rows have no ids, only places.

    A row has the message that is answered and nothing before it.
    """
    for row in json_rows(spec.path):
        label, response = row.text("begin_label"), row.text("response").strip()
        if label not in LABELS:
            raise row.error(f'expected a begin_label of {", ".join(LABELS)}, found "{label}"', "correct the row")
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
