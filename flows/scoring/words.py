"""Texts as the words that overlap metrics count, and how far two bags of words overlap."""

import functools
import logging
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from schemas.errors import WrongInput

Comparison = Callable[[str, str, str | None, str, Set[str]], float]
"""(prediction, answer, keywords, lang, blacklist) -> score."""


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
        """The score; by the released blacklist of `lang`, where none is given."""
        ...


HERE = Path(__file__).parent
KEPT_TEXTS = 4096
"""Chinese texts whose words are kept: the levels and places of a benchmark repeat its answers."""
CHINESE_PUNCTUATION = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃"
    "》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
"""What LV-Eval's released scorer deletes beside ASCII punctuation; 《 〈 〉 and · are not among it."""

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BOTH_PUNCTUATIONS = str.maketrans("", "", string.punctuation + CHINESE_PUNCTUATION)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def english_words(text: str) -> tuple[str, ...]:
    """The words of SQuAD's normal form: lower case, no ASCII punctuation ("re-entry" is "reentry"), no articles."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())


@lru_cache(KEPT_TEXTS)
def chinese_segments(text: str) -> tuple[str, ...]:
    """The stretches that jieba divides `text` into, which joined are `text` again."""
    return tuple(_segmenter().cut(text, cut_all=False))


def normal_segments(text: str) -> tuple[str, ...]:
    """jieba's segments in lower case, without punctuation of either width and white space: some are empty then."""
    return tuple("".join(one.lower().translate(_BOTH_PUNCTUATIONS).split()) for one in chinese_segments(text))


def chinese_words(text: str) -> tuple[str, ...]:
    """The normal segments, but for the empty ones."""
    return tuple(filter(None, normal_segments(text)))


WORDS: Mapping[str, Callable[[str], tuple[str, ...]]] = {"en": english_words, "zh": chinese_words}
"""By language code."""


@cache
def _segmenter() -> Any:
    """A tokenizer of our own, which no user dictionary of the process reaches."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()


@cache
def released_blacklist(language: str) -> frozenset[str]:
    """LV-Eval's words that tell nothing of an answer (section 3.3), as released: `blacklist.en.txt`, `.zh.txt`."""
    return frozenset((HERE / f"blacklist.{language}.txt").read_text(encoding="utf-8").split())


def read_blacklist(path: Path) -> frozenset[str]:
    """A blacklist of one's own: a word a line, in any case. Raises `WrongInput` where it is none."""
    try:
        words = [line.strip().lower() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise WrongInput(f"{path}: cannot be read as a blacklist: {error}") from error
    if several := next((word for word in words if len(word.split()) > 1), None):
        raise WrongInput(f"{path}: {several!r} is more than a word; a blacklist has one a line")
    if not words:
        raise WrongInput(f"{path}: has no words; leave the setting out for the released blacklist")
    return frozenset(words)


def f1_of_words(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 = 2PR / (P + R) on bags of words, in 0..1; 0 where no word is shared, so also where either is empty.

    P is the share of the predicted words that the gold ones have too, R the share of the gold words that
    the predicted ones have.
    """
    shared = (Counter(predicted) & Counter(gold)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def recall_of_words(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """R of `f1_of_words`."""
    shared = (Counter(predicted) & Counter(gold)).total()
    return shared / len(gold) if shared else 0.0


def of_first_answer(*languages: str) -> Callable[[Comparison], Metric]:
    """Make a metric for texts in `languages` of a comparison with one answer.

    Only the first answer is compared, as LV-Eval's released scorer does. The metric raises `ValueError`
    for another language, and where there is no answer.
    """

    def metric_of(compare: Comparison) -> Metric:
        @functools.wraps(compare)
        def metric(
            prediction: str,
            answers: Sequence[str],
            keywords: str | None,
            lang: str,
            blacklist: Set[str] | None = None,
        ) -> float:
            if lang not in languages:
                known = " and ".join(f'"{code}"' for code in languages)
                raise ValueError(f'{compare.__name__} is for lang {known}, not "{lang}"')
            if not answers:
                raise ValueError("the list of answers is empty")
            left_out = released_blacklist(lang) if blacklist is None else blacklist
            return compare(prediction, answers[0], keywords, lang, left_out)

        return metric

    return metric_of
