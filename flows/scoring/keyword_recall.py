"""LV-Eval's F1 scores: a gate of answer keywords, and a blacklist of words that tell nothing (section 3.3).

A score lies in 0..1 (not in per cent) and is that of the first answer; the blacklist is the released one, or the
caller's own. The program that the authors released
and their paper differ; metrics with the program's names are as the program, the others as the paper.

|                  | released: `qa_f1_score_with_gold_ans`, `qa_f1_zh_...` | paper: `keyword_recall_f1`          |
|------------------|-------------------------------------------------------|-------------------------------------|
| gate             | keyword recall of at least 0.2 (en), 0.4 (zh)         | above 0.4 (en), 0.2 (zh)            |
| blacklist        | its words count as not recalled                       | its words are left out of the F1    |
| without keywords | en: no gate; zh: the answer's words are the keywords  | no gate                             |

Departure: keywords of which normalisation leaves nothing ("the", "。") are no gate; the released program
divides by zero there.
"""

from collections import Counter
from collections.abc import Set

from flows.scoring.words import WORDS, f1_of_words, of_first_answer, recall_of_words

RELEASED_GATES = {"en": 0.2, "zh": 0.4}  # methods: the program's thresholds, which pass
PAPER_GATES = {"en": 0.4, "zh": 0.2}  # section 3.3, "exceeds a certain threshold"
NONE: Set[str] = frozenset()


# ---- as released ----


@of_first_answer("en")
def qa_f1_score(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Released: F1 of English words; factrecall_en's metric."""
    return _f1(prediction, answer, lang)


@of_first_answer("zh")
def qa_f1_zh_score(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Released: F1 of Chinese words; factrecall_zh's metric."""
    return _f1(prediction, answer, lang)


@of_first_answer("en")
def qa_f1_score_factrecall(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Released: the share of the answer's English words that the prediction has; no dataset's metric."""
    return recall_of_words(WORDS[lang](prediction), WORDS[lang](answer))


@of_first_answer("zh")
def qa_f1_zh_score_factrecall(
    prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]
) -> float:
    """Released: the share of the answer's Chinese words that the prediction has; no dataset's metric."""
    return recall_of_words(WORDS[lang](prediction), WORDS[lang](answer))


@of_first_answer("en")
def qa_f1_score_with_gold_ans(
    prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]
) -> float:
    """Released: F1 of English words behind the gate at 0.2, where blacklisted words are not recalled."""
    return _released(prediction, answer, keywords, lang, blacklist)


@of_first_answer("zh")
def qa_f1_zh_score_with_gold_ans(
    prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]
) -> float:
    """Released: F1 of Chinese words behind the gate at 0.4, where blacklisted words are not recalled."""
    return _released(prediction, answer, keywords, lang, blacklist)


@of_first_answer("en", "zh")
def released_f1_with_keywords(
    prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]
) -> float:
    """The released gate without its blacklist: the middle row of table A3, as the released program would have it."""
    return _released(prediction, answer, keywords, lang, NONE)


# ---- as in the paper ----


@of_first_answer("en", "zh")
def keyword_recall_f1(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Paper: F1 without blacklisted words, behind the gate above 0.4 (en) or 0.2 (zh). Without keywords, no gate."""
    return _paper(prediction, answer, keywords, lang, blacklist)


@of_first_answer("en", "zh")
def paper_f1_with_keywords(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Paper: F1 of all words behind the gate above 0.4 (en) or 0.2 (zh): the middle row of table A3."""
    return _paper(prediction, answer, keywords, lang, NONE)


@of_first_answer("en", "zh")
def f1_with_blacklist(prediction: str, answer: str, keywords: str | None, lang: str, blacklist: Set[str]) -> float:
    """Paper: F1 without blacklisted words and without a gate; the metric of cmrc-mixup (section 4)."""
    return _f1(prediction, answer, lang, blacklist)


def _f1(prediction: str, answer: str, lang: str, left_out: Set[str] = NONE) -> float:
    predicted, gold = ([word for word in WORDS[lang](text) if word not in left_out] for text in (prediction, answer))
    return f1_of_words(predicted, gold)


def _released(prediction: str, answer: str, keywords: str | None, lang: str, not_recalled: Set[str]) -> float:
    """Blacklisted words lower the recall: they are among the keywords that it is a share of."""
    asked = WORDS[lang](keywords or (answer if lang == "zh" else ""))
    shared = Counter(WORDS[lang](prediction)) & Counter(asked)
    recalled = sum(count for word, count in shared.items() if word not in not_recalled)
    if asked and recalled / len(asked) < RELEASED_GATES[lang]:
        return 0.0
    return _f1(prediction, answer, lang)


def _paper(prediction: str, answer: str, keywords: str | None, lang: str, left_out: Set[str]) -> float:
    asked = WORDS[lang](keywords or "")
    if asked and recall_of_words(WORDS[lang](prediction), asked) <= PAPER_GATES[lang]:
        return 0.0
    return _f1(prediction, answer, lang, left_out)
