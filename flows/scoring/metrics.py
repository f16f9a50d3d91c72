"""The metrics by name: what `touchstone metric NAME` runs, and what LV-Eval's datasets are scored by."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol

from flows.scoring.keyword_recall import NO_WORDS, paper_f1, released_f1, words_f1, words_recall
from flows.scoring.qa import NORMAL_FORMS, exact_match, f1
from flows.scoring.rouge import chinese_rouge_l, chinese_rouge_l_without, rouge_l
from flows.scoring.words import released_blacklist


class Metric(Protocol):
    """Scores a prediction. `keywords` and `blacklist` are for metrics that ask for some words, and disregard others."""

    def __call__(
        self,
        prediction: str,
        answers: Sequence[str],
        keywords: str | None,
        lang: str,
        blacklist: Set[str] | None = None,
    ) -> float:
        """The score; by the released blacklist of `lang`, where none is given.

        Raises `ValueError` for a language that the metric is not for, and where there is no answer.
        """
        ...


Comparison = Callable[[str, str, "str | None", str, Set[str]], float]
"""(prediction, answer, keywords, lang, blacklist) -> score."""

_LV_EVAL: Mapping[str, tuple[tuple[str, ...], Comparison]] = {
    # As released. F1 of words, which is factrecall's metric, and the share of the answer's words, which is none's.
    "qa_f1_score": (("en",), lambda said, answer, keywords, lang, blacklist: words_f1(said, answer, lang)),
    "qa_f1_zh_score": (("zh",), lambda said, answer, keywords, lang, blacklist: words_f1(said, answer, lang)),
    "qa_f1_score_factrecall": (
        ("en",), lambda said, answer, keywords, lang, blacklist: words_recall(said, answer, lang)
    ),
    "qa_f1_zh_score_factrecall": (
        ("zh",), lambda said, answer, keywords, lang, blacklist: words_recall(said, answer, lang)
    ),
    # F1 behind the gate, where blacklisted words are not recalled.
    "qa_f1_score_with_gold_ans": (("en",), released_f1),
    "qa_f1_zh_score_with_gold_ans": (("zh",), released_f1),
    # ROUGE-L; that without blacklisted words is dureader's metric, in the paper too, and the others are none's.
    "rouge_score": (("en",), lambda said, answer, keywords, lang, blacklist: rouge_l(said, answer)),
    "rouge_zh_score": (("zh",), lambda said, answer, keywords, lang, blacklist: chinese_rouge_l(said, answer)),
    "rouge_zh_score_blacklist": (
        ("zh",), lambda said, answer, keywords, lang, blacklist: chinese_rouge_l_without(said, answer, blacklist)
    ),
    # The gate without the blacklist: the middle row of table A3, as the program and as the paper would have it.
    "released_f1_with_keywords": (
        ("en", "zh"),
        lambda said, answer, keywords, lang, blacklist: released_f1(said, answer, keywords, lang, NO_WORDS),
    ),
    "paper_f1_with_keywords": (
        ("en", "zh"),
        lambda said, answer, keywords, lang, blacklist: paper_f1(said, answer, keywords, lang, NO_WORDS),
    ),
    # As in the paper; without a gate it is cmrc's metric (section 4).
    "keyword_recall_f1": (("en", "zh"), paper_f1),
    "f1_with_blacklist": (
        ("en", "zh"), lambda said, answer, keywords, lang, blacklist: words_f1(said, answer, lang, blacklist)
    ),
}  # fmt: skip
"""The languages that a metric is for, and how it compares a prediction with one answer."""


def _check_language(name: str, languages: Sequence[str], lang: str) -> None:
    if lang not in languages:
        known = " and ".join(f'"{code}"' for code in languages)
        raise ValueError(f'{name} is for lang {known}, not "{lang}"')


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
