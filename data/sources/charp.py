"""CHARP: dialogues that need their history (hCHARP) and do not (eCHARP), with knowledge (Ghaddar et al. 2024).

CHARPEval's rows are CHARP's with five wrong responses more, each in a field of its type's name.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec, turns
from schemas.charpeval import DISTRACTOR_TYPES

UTTERANCES = {"hCHARP": "hard_utterance", "eCHARP": "easy_utterance"}
"""What the last turn of a subset's history is."""


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """Each row as a dialogue with one of its two last utterances.

    Which one, the row's `subset` tells, where it has one; else the file's name, which holds hCHARP or eCHARP.
    So the two subsets come as one file or as two sources; the family puts together what differs in the last
    utterance alone.
    """
    for row in json_rows(spec.path):
        subset = _subset(row, spec)
        history = [one.strip() for one in row.texts("history")]
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
    """The five wrong responses of a published row; nothing where it has none of their fields.

    `name` tells what the field of a type is called.
    """
    if not any(row.values.get(name(kind)) is not None for kind in DISTRACTOR_TYPES):
        return {}
    found: dict[str, str] = {kind: row.text(name(kind)).strip() for kind in DISTRACTOR_TYPES}
    if blank := [name(kind) for kind, text in found.items() if not text]:
        raise row.error(f'expected a text in "{blank[0]}", found none', "give all five distractors, or none")
    return found


def _subset(row: Row, spec: SourceSpec) -> str:
    named = row.text("subset") if "subset" in row.values else Path(spec.path).name
    found = [subset for subset in UTTERANCES if subset.casefold() in named.casefold()]
    if len(found) != 1:
        raise row.error(
            f'expected a field "subset", or a file\'s name, with hCHARP or eCHARP in it, found "{named}"',
            "name the subset in either",
        )
    return found[0]
