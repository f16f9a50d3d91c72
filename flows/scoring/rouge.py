"""ROUGE-L at summary level on sets of words, as in LV-Eval's released scorer (section 4, "ROUGH-L").

A score lies in 0..1 (not in per cent).
"""

from collections import defaultdict
from collections.abc import Sequence, Set

from flows.scoring.words import chinese_segments, normal_segments

EPSILON = 1e-8
"""In the denominator of F, which therefore stays a little below 1."""


def rouge_l(hypothesis: str, reference: str) -> float:
    """F = 2PR / (P + R + 1e-8), P = |U| / n and R = |U| / m; 0 if a text has no sentence.

    U are the words on a longest common subsequence of any sentence of the one text with any of the other;
    m and n are the distinct words of reference and hypothesis. Sentences end at full stops. Departure: the
    released program's library (rouge 1.0.1) fails on sentences of several hundred words; here they are scored.
    """
    ours, theirs = _sentences(hypothesis), _sentences(reference)
    if not ours or not theirs:
        return 0.0
    union = {word for gold in theirs for predicted in ours for word in common_subsequence(gold, predicted)}
    precision = len(union) / len({word for sentence in ours for word in sentence})
    recall = len(union) / len({word for sentence in theirs for word in sentence})
    return 2 * precision * recall / (precision + recall + EPSILON)


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence. A sentence of white space alone counts: it has one word, which is empty."""
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """A longest common subsequence, in order: of several, the one that backtracking from the ends finds.

    Where neither word is on it, the way goes to the shorter `first` if that loses nothing and the shorter
    `second` would, else to the shorter `second`.
    """
    # A row of the usual table of lengths as the bits of a number (Crochemore et al., 2001): a zero at each column where
    # the length grows. So a row is made at once, and a length is the zeros up to its column.
    places: dict[str, int] = defaultdict(int)
    for column, word in enumerate(second):
        places[word] |= 1 << column
    every = (1 << len(second)) - 1
    rows = [every]
    for word in first:
        before, matches = rows[-1], places.get(word, 0)
        rows.append(((before + (before & matches)) | (before & ~matches)) & every)

    def length(row: int, column: int) -> int:
        return column - (rows[row] & ((1 << column) - 1)).bit_count()

    words = []
    row, column = len(first), len(second)
    while row and column:
        if first[row - 1] == second[column - 1]:
            words.append(first[row - 1])
            row, column = row - 1, column - 1
        elif length(row - 1, column) > length(row, column - 1):
            row -= 1
        else:
            column -= 1
    return words[::-1]


def chinese_rouge_l(hypothesis: str, reference: str) -> float:
    """ROUGE-L of jieba's segments, unchanged."""
    return rouge_l(*(" ".join(chinese_segments(text)) for text in (hypothesis, reference)))


def chinese_rouge_l_without(hypothesis: str, reference: str, blacklist: Set[str]) -> float:
    """ROUGE-L of Chinese words without blacklisted words.

    The text is divided twice: jieba's segments with single spaces between go through jieba again. The spaces stay as
    empty words, as released. So of a text of three blacklisted words or more, spaces remain, which is a sentence: two
    such texts score nearly 1. Of one or two of them nothing remains, which scores 0.
    """
    return rouge_l(*(" ".join(_telling_words(text, blacklist)) for text in (hypothesis, reference)))


def _telling_words(text: str, blacklist: Set[str]) -> list[str]:
    words = normal_segments(" ".join(chinese_segments(text)))
    return [word for word in words if word not in blacklist]
