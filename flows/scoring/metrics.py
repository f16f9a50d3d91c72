"""The metrics by name: `touchstone metric NAME` runs them, and LV-Eval's datasets are scored by them.

LV-Eval's F1 scores have a gate of answer keywords, and a blacklist of words that say nothing (section 3.3). A score
lies in 0..1 (not in per cent). The program that the authors released and their paper differ:

|                  | released                                              | paper                               |
|------------------|-------------------------------------------------------|-------------------------------------|
| gate             | keyword recall of at least 0.2 (en), 0.4 (zh)         | above 0.4 (en), 0.2 (zh)            |
| blacklist        | its words count as not recalled                       | its words are left out of the F1    |
| without keywords | en: no gate; zh: the answer's words are the keywords  | no gate                             |

Departure: keywords of which normalisation leaves nothing ("the", "。") are no gate; the released program
divides by zero there.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol

from flows.scoring.qa import NORMAL_FORMS, exact_match, f1, f1_of_words, recall_of_words
from flows.scoring.rouge import chinese_rouge_l, chinese_rouge_l_without, rouge_l
from flows.scoring.words import WORDS, released_blacklist

RELEASED_GATES = {"en": 0.2, "zh": 0.4}  # methods: the program's thresholds, which pass
PAPER_GATES = {"en": 0.4, "zh": 0.2}  # section 3.3, "exceeds a certain threshold"
NO_WORDS: Set[str] = frozenset()


def words_f1(prediction: str, answer: str, lang: str, left_out: Set[str] = NO_WORDS) -> float:
    """F1 of the texts' words, without the words left out."""
    predicted, gold = ([word for word in WORDS[lang](text) if word not in left_out] for text in (prediction, answer))
    return f1_of_words(predicted, gold)


def words_recall(prediction: str, answer: str, lang: str) -> float:
    """The share of the answer's words that the prediction has."""
    return recall_of_words(WORDS[lang](prediction), WORDS[lang](answer))


def released_f1(prediction: str, answer: str, keywords: str | None, lang: str, not_recalled: Set[str]) -> float:
    """F1 after the released gate. The recall is a share of all keywords, including those that are never recalled."""
    asked = WORDS[lang](keywords or (answer if lang == "zh" else ""))
    shared = Counter(WORDS[lang](prediction)) & Counter(asked)
    recalled = sum(count for word, count in shared.items() if word not in not_recalled)
    if asked and recalled / len(asked) < RELEASED_GATES[lang]:
        return 0.0
    return words_f1(prediction, answer, lang)


def paper_f1(prediction: str, answer: str, keywords: str | None, lang: str, left_out: Set[str]) -> float:
    """F1 after the paper's gate, without the words left out. Without keywords there is no gate."""
    asked = WORDS[lang](keywords or "")
    if asked and recall_of_words(WORDS[lang](prediction), asked) <= PAPER_GATES[lang]:
        return 0.0
    return words_f1(prediction, answer, lang, left_out)


class Metric(Protocol):
    """Scores a prediction. `keywords` and `blacklist` are for metrics that require some words and ignore others."""

    def __call__(
        self,
        prediction: str,
        answers: Sequence[str],
        keywords: str | None,
        lang: str,
        blacklist: Set[str] | None = None,
    ) -> float:
        """The score; by the released blacklist of `lang` if none is given.

        Raises `ValueError` for a language that the metric is not for, and if there is no answer.
        """
        ...


Comparison = Callable[[str, str, "str | None", str, Set[str]], float]
"""(prediction, answer, keywords, lang, blacklist) -> score."""


def _of_texts(compare: Callable[[str, str], float]) -> Comparison:
    return lambda prediction, answer, keywords, lang, blacklist: compare(prediction, answer)


def _of_words(compare: Callable[[str, str, str], float]) -> Comparison:
    return lambda prediction, answer, keywords, lang, blacklist: compare(prediction, answer, lang)


def _without_blacklist(compare: Comparison) -> Comparison:
    return lambda prediction, answer, keywords, lang, blacklist: compare(prediction, answer, keywords, lang, NO_WORDS)


_LV_EVAL: Mapping[str, tuple[tuple[str, ...], Comparison]] = {
    # As released: F1 of words, factrecall's metric, and the share of the answer's words, which no dataset uses.
    "qa_f1_score": (("en",), _of_words(words_f1)),
    "qa_f1_zh_score": (("zh",), _of_words(words_f1)),
    "qa_f1_score_factrecall": (("en",), _of_words(words_recall)),
    "qa_f1_zh_score_factrecall": (("zh",), _of_words(words_recall)),
    # F1 after the gate, at which blacklisted words are not recalled.
    "qa_f1_score_with_gold_ans": (("en",), released_f1),
    "qa_f1_zh_score_with_gold_ans": (("zh",), released_f1),
    # ROUGE-L; without blacklisted words it is dureader's metric, in the paper too; no dataset uses the others.
    "rouge_score": (("en",), _of_texts(rouge_l)),
    "rouge_zh_score": (("zh",), _of_texts(chinese_rouge_l)),
    "rouge_zh_score_blacklist": (
        ("zh",),
        lambda prediction, answer, keywords, lang, blacklist: chinese_rouge_l_without(prediction, answer, blacklist),
    ),
    # The gate without the blacklist: the middle row of table A3, by the program's and by the paper's rules.
    "released_f1_with_keywords": (("en", "zh"), _without_blacklist(released_f1)),
    "paper_f1_with_keywords": (("en", "zh"), _without_blacklist(paper_f1)),
    # As in the paper; without a gate it is cmrc's metric (section 4).
    "keyword_recall_f1": (("en", "zh"), paper_f1),
    "f1_with_blacklist": (
        ("en", "zh"),
        lambda prediction, answer, keywords, lang, blacklist: words_f1(prediction, answer, lang, blacklist),
    ),
}
"""The languages that a metric is for, and how it compares a prediction with one answer."""


def _check_language(name: str, languages: Sequence[str], lang: str) -> None:
    if lang not in languages:
        codes = " and ".join(f'"{code}"' for code in languages)
        raise ValueError(f'{name} is for lang {codes}, not "{lang}"')


def _of_first_answer(name: str, languages: Sequence[str], compare: Comparison) -> Metric:
    """A metric that compares with the first answer alone, as LV-Eval's released scorer does."""

    def metric(
        prediction: str, answers: Sequence[str], keywords: str | None, lang: str, blacklist: Set[str] | None = None
    ) -> float:
        _check_language(name, languages, lang)
        if not answers:
            raise ValueError("the list of answers is empty")
        ignored = released_blacklist(lang) if blacklist is None else blacklist
        return compare(prediction, answers[0], keywords, lang, ignored)

    return metric


def _of_best_answer(name: str, compare: Callable[[str, Sequence[str], str], float]) -> Metric:
    def metric(
        prediction: str, answers: Sequence[str], keywords: str | None, lang: str, blacklist: Set[str] | None = None
    ) -> float:
        _check_language(name, list(NORMAL_FORMS), lang)
        return compare(prediction, answers, lang)

    return metric


METRICS: Mapping[str, Metric] = {
    "exact_match": _of_best_answer("exact_match", exact_match),
    "f1": _of_best_answer("f1", f1),
    **{name: _of_first_answer(name, languages, compare) for name, (languages, compare) in _LV_EVAL.items()},
}
