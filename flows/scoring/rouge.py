"""ROUGE-L at summary level on sets of words, as LV-Eval's released scorer has it (section 4, "ROUGH-L").

A score lies in 0..1 (not in per cent) and is that of the first answer.
"""

from collections.abc import Sequence, Set

import numpy as np

from flows.scoring.words import chinese_segments, normal_segments, of_first_answer

EPSILON = 1e-8
"""In the denominator of F, which so stays a little below 1."""


@of_first_answer("en")
def rouge_score(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Released: ROUGE-L of the texts as they stand; no dataset's metric."""
    return rouge_l(prediction, answer)


@of_first_answer("zh")
def rouge_zh_score(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Released: ROUGE-L of jieba's segments, as they stand; no dataset's metric."""
    return rouge_l(*(" ".join(chinese_segments(text)) for text in (prediction, answer)))


@of_first_answer("zh")
def rouge_zh_score_blacklist(
    prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]
) -> float:
    """Released and paper: ROUGE-L of Chinese words without the blacklisted; the metric of dureader-mixup.

    The text is divided twice: jieba's segments with single spaces between go through jieba again. The spaces stay as
    empty words, as released. So of a text of three blacklisted words or more, spaces remain, which is a sentence: two
    such texts score nearly 1. Of one or two of them nothing remains, which scores 0.
    """
    return rouge_l(*(" ".join(_telling_words(text, blacklist)) for text in (prediction, answer)))


def _telling_words(text: str, blacklist: Set[str]) -> list[str]:
    words = normal_segments(" ".join(chinese_segments(text)))
    return [word for word in words if word not in blacklist]


def rouge_l(hypothesis: str, reference: str) -> float:
    """F = 2PR / (P + R + 1e-8), P = |U| / n and R = |U| / m; 0 where a text has no sentence.

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
    """The words of each sentence. One of white space alone counts: it has one word, which is empty."""
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One longest common subsequence, in order: of several, the one that backtracking from the ends meets.

    Where neither word is on it, the way goes to the shorter `first` if that loses nothing and the shorter
    `second` would, else to the shorter `second`.
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*first, *second]))}
    left, right = ([numbers[word] for word in words] for words in (first, second))
    columns = np.array(right)
    lengths = np.zeros((len(left) + 1, len(right) + 1), dtype=np.int32)
    for row, word in enumerate(left, 1):
        # A row at a time: with a match, or without, and then the best so far from the left.
        extended = lengths[row - 1, :-1] + (columns == word)
        lengths[row, 1:] = np.maximum.accumulate(np.maximum(extended, lengths[row - 1, 1:]))
    found = []
    row, column = len(left), len(right)
    while row and column:
        if left[row - 1] == right[column - 1]:
            found.append(first[row - 1])
            row, column = row - 1, column - 1
        elif lengths[row - 1, column] > lengths[row, column - 1]:
            row -= 1
        else:
            column -= 1
    return found[::-1]
