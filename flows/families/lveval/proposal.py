"""What LV-Eval can be built from, for `touchstone new`."""

from collections.abc import Iterable
from typing import Any

from flows.construct.proposal import Found, Lacking, Material, Proposal, other_columns, source
from flows.families.lveval.datasets import LEVELS as PAPER_LEVELS
from flows.families.lveval.distractor_index import count
from flows.language import LANGUAGES
from schemas.source import Passage, QASource

LEVELS = ("1k", "2k", "4k", "8k", *PAPER_LEVELS)
MOST_PAIRS = 40
"""Pairs of a dataset, where its author has not said how many."""
DISTRACTING = 0.7
"""Share of the other texts that may distract, at least: those that hold an answer do not."""


def propose(found: Found) -> Proposal:
    """Propose a dataset for each language, and the levels that the texts suffice for."""
    if not found.answered and not found.parts_giving(QASource):
        raise Lacking("wants questions with the passage that has the answer, and more text to hide it in")
    levels: tuple[str, ...] = LEVELS
    datasets: dict[str, Any] = {}
    comments: dict[str, str] = {}
    for language in LANGUAGES:
        name = found.name if language == LANGUAGES[0] or not datasets else f"{found.name}-{language}"
        room = _dataset(found, language)
        if room is None:
            continue
        datasets[name], words, asked = room
        levels = tuple(level for level in levels if int(level[:-1]) * 1000 <= words)
        unit = "characters" if language == "zh" else "words"
        comments[f"datasets.{name}.task"] = "without confusing facts: single-hop-qa"
        comments[f"datasets.{name}.pairs"] = (
            f"questions; about {words:,} {unit} that none of them asks about are left to hide the answers in"
        )
        comments |= other_columns(f"datasets.{name}.sources", asked)
    if not datasets or not levels:
        raise Lacking("wants more text to hide the answers in: at least 1,000 words that no chosen question is about")
    levels = tuple(level for level in levels if level in PAPER_LEVELS) or levels[-2:]
    if levels[-1] != LEVELS[-1]:
        comments["levels"] = "words, in Chinese texts characters; more text fills the paper's, 16k to 256k"
    settings = {"levels": [*levels], "datasets": datasets}
    return Proposal(settings, f"questions in contexts of {', '.join(levels)}", comments)


def _dataset(found: Found, language: str) -> tuple[dict[str, Any], int, list[Material]] | None:
    """Return a dataset, the words that can distract, and its sources of questions; None without any."""
    asked = [some for some in found.answered if some.language == language]
    texts = [some for some in found.documents if some.language == language]
    parts = found.parts_giving(QASource, [language])
    if not asked and not parts:
        return None
    evidence = {question.evidence or "" for some in asked for question in some.with_answers()}
    sizes = [count(text, language) for text in evidence]
    passages = sum(round(len(some.records[Passage]) * some.more) for some in texts)
    other = round(sum(_words(some.records[Passage]) * some.more for some in texts))
    if parts:
        sizes += [other // max(passages, 1)] * passages
        other = 0
    # Half of the texts that are asked about are left to distract.
    pairs = min(MOST_PAIRS, max(1, len(sizes) // 2))
    words = round(DISTRACTING * (other + sum(sizes) - sum(sorted(sizes)[-pairs:])))
    settings: dict[str, Any] = {"task": "single-hop-cqa", "language": language, "pairs": pairs}
    settings["sources"] = [*(source(some) for some in asked), *parts]
    if distractors := found.parts_giving(Passage, [language]) or [source(some) for some in texts]:
        settings["distractors"] = distractors
    return settings, words, asked


def _words(passages: Iterable[Passage]) -> int:
    return sum(count(passage.text, passage.language) for passage in passages)
