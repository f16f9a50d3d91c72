"""Question-answering metrics: exact match and F1 as SQuAD and the MRQA 2019 shared task compute them.

English answers are compared in SQuAD's normal form, Chinese ones in that of `normalise_chinese`. A score
lies in 0..1 (not in per cent) and is the best over the gold answers.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_HAN = "々〇㐀-䶿一-鿿豈-\ufaff\U00020000-\U0003ffff"
_CHINESE_TOKEN = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


def english_words(text: str) -> tuple[str, ...]:
    """The words of SQuAD's normal form: lower case, no ASCII punctuation ("re-entry" is "reentry"), no articles."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())


def normalise_answer(text: str) -> str:
    """SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(english_words(text))


def normalise_chinese(text: str) -> str:
    """A Chinese answer's normal form: its tokens with single spaces between (mixed segmentation, as CMRC 2018's).

    Width and case are folded (Unicode NFKC) and punctuation of both widths is dropped, in that order. Then
    each Chinese character is a token, and so is each stretch of other characters between white space: Latin
    words and numbers stay whole. "《Python ３》 ２０２４年" is "python 3 2024 年".
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(c for c in folded if c not in string.punctuation and not unicodedata.category(c).startswith("P"))
    return " ".join(_CHINESE_TOKEN.findall(kept))


NORMAL_FORMS: Mapping[str, Callable[[str], str]] = {"en": normalise_answer, "zh": normalise_chinese}
"""By language code; the words of a normal form are separated by single spaces."""


def exact_match(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """1 if the prediction has the normal form of a gold answer, else 0.

    Two texts whose normal forms are both empty match. Raises `ValueError` where there is no answer, and
    `KeyError` for a language that is not in `NORMAL_FORMS`.
    """
    normalise = NORMAL_FORMS[lang]
    predicted = normalise(prediction)
    return max(float(predicted == normalise(answer)) for answer in answers)


def f1(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """The best F1 over the gold answers, on bags of normalised words (characters, in Chinese).

    Raises `ValueError` where there is no answer, and `KeyError` for a language that is not in `NORMAL_FORMS`.
    """
    normalise = NORMAL_FORMS[lang]
    predicted = normalise(prediction).split()
    return max(f1_of_words(predicted, normalise(answer).split()) for answer in answers)


def f1_of_words(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """F1 = 2PR / (P + R) on bags of words, in 0..1; 0 if no word is shared, so also if either is empty.

    P is the share of the predicted words that are also gold words, R the share of the gold words that are
    also predicted.
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
