"""LV-Eval's F1 scores: a gate of answer keywords, and a blacklist of words that say nothing (section 3.3).

A score lies in 0..1 (not in per cent). The program that the authors released and their paper differ:

|                  | released                                              | paper                               |
|------------------|-------------------------------------------------------|-------------------------------------|
| gate             | keyword recall of at least 0.2 (en), 0.4 (zh)         | above 0.4 (en), 0.2 (zh)            |
| blacklist        | its words count as not recalled                       | its words are left out of the F1    |
| without keywords | en: no gate; zh: the answer's words are the keywords  | no gate                             |

Departure: keywords of which normalisation leaves nothing ("the", "。") are no gate; the released program
divides by zero there.
"""

from collections import Counter
from collections.abc import Set

from flows.scoring.qa import f1_of_words, recall_of_words
from flows.scoring.words import WORDS

RELEASED_GATES = {"en": 0.2, "zh": 0.4}  # methods: the program's thresholds, which pass
PAPER_GATES = {"en": 0.4, "zh": 0.2}  # section 3.3, "exceeds a certain threshold"
NO_WORDS: Set[str] = frozenset()


def words_f1(prediction: str, answer: str, lang: str, left_out: Set[str] = NO_WORDS) -> float:
    """F1 of the texts' words, without those left out."""
    predicted, gold = ([word for word in WORDS[lang](text) if word not in left_out] for text in (prediction, answer))
    return f1_of_words(predicted, gold)


def words_recall(prediction: str, answer: str, lang: str) -> float:
    """The share of the answer's words that the prediction has."""
    return recall_of_words(WORDS[lang](prediction), WORDS[lang](answer))


def released_f1(prediction: str, answer: str, keywords: str | None, lang: str, not_recalled: Set[str]) -> float:
    """F1 behind the released gate. The recall is a share of all keywords, those that are never recalled too."""
    asked = WORDS[lang](keywords or (answer if lang == "zh" else ""))
    shared = Counter(WORDS[lang](prediction)) & Counter(asked)
    recalled = sum(count for word, count in shared.items() if word not in not_recalled)
    if asked and recalled / len(asked) < RELEASED_GATES[lang]:
        return 0.0
    return words_f1(prediction, answer, lang)


def paper_f1(prediction: str, answer: str, keywords: str | None, lang: str, left_out: Set[str]) -> float:
    """F1 behind the paper's gate, without the words left out. Without keywords there is no gate."""
    asked = WORDS[lang](keywords or "")
    if asked and recall_of_words(WORDS[lang](prediction), asked) <= PAPER_GATES[lang]:
        return 0.0
    return words_f1(prediction, answer, lang, left_out)
