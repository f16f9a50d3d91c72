"""CHARP: dialogues that need their history (hCHARP) or do not (eCHARP), with knowledge (Ghaddar et al. 2024).

The rows that CHARPEval published are CHARP's with five wrong responses, each in a field named after its type.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from data.sources.files import json_rows
from data.sources.spec import Entry, Row, SourceSpec, turns
from schemas.charpeval import DISTRACTOR_TYPES

UTTERANCES = {"hCHARP": "hard_utterance", "eCHARP": "easy_utterance"}
"""Subset -> what the last turn of its history is."""


def dialogues(spec: SourceSpec) -> Iterator[Entry]:
    """Yield each row as a dialogue with one of its two last utterances.

    The row's `subset` says which one; without that field, the file's name does, which contains hCHARP or eCHARP. The
    two subsets may therefore come as one file or as two sources; the family joins rows that differ only in their last
    utterance.
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
