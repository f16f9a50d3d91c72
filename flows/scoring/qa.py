"""Question-answering metrics: exact match and F1 as SQuAD and the MRQA 2019 shared task compute them.

English answers are compared in SQuAD's normal form, Chinese ones in that of `normalise_chinese`. A score
lies in 0..1 (not in per cent) and is the best over the gold answers.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Mapping, Sequence, Set
from fractions import Fraction

from flows.scoring import keyword_recall, rouge
from flows.scoring.words import Metric, english_words, f1_of_words

_HAN = "々〇㐀-䶿一-鿿豈-\ufaff\U00020000-\U0003ffff"
_CHINESE_TOKEN = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


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
"""By language code; the words of a normal form stand between single spaces."""


def exact_match(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """1 where the prediction has the normal form of a gold answer, else 0.

    Two texts whose normal forms are both empty match. Raises `ValueError` where there is no answer, and
    `KeyError` for a language that is not in `NORMAL_FORMS`.
    """
    normalise = NORMAL_FORMS[lang]
    predicted = normalise(prediction)
    return max(float(predicted == normalise(answer)) for answer in answers)


def f1(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """The best F1 = 2PR / (P + R) over the gold answers, on bags of normalised words (characters, in Chinese).

    P is the share of the prediction's words that the answer has too, R the share of the answer's words
    that the prediction has. 0 where no word is shared, so also where either is empty. Raises `ValueError`
    where there is no answer, and `KeyError` for a language that is not in `NORMAL_FORMS`.
    """
    normalise = NORMAL_FORMS[lang]
    predicted = normalise(prediction).split()
    return max(f1_of_words(predicted, normalise(answer).split()) for answer in answers)


def _normalised(metric: Callable[[str, Sequence[str], str], float]) -> Metric:
    def of_case(
        prediction: str, answers: Sequence[str], keywords: str | None, lang: str, blacklist: Set[str] | None = None
    ) -> float:
        if lang not in NORMAL_FORMS:
            known = " and ".join(f'"{code}"' for code in NORMAL_FORMS)
            raise ValueError(f'{metric.__name__} is for lang {known}, not "{lang}"')
        return metric(prediction, answers, lang)

    return of_case


METRICS: Mapping[str, Metric] = {
    "exact_match": _normalised(exact_match),
    "f1": _normalised(f1),
    "qa_f1_score": keyword_recall.qa_f1_score,
    "qa_f1_score_factrecall": keyword_recall.qa_f1_score_factrecall,
    "qa_f1_score_with_gold_ans": keyword_recall.qa_f1_score_with_gold_ans,
    "qa_f1_zh_score": keyword_recall.qa_f1_zh_score,
    "qa_f1_zh_score_factrecall": keyword_recall.qa_f1_zh_score_factrecall,
    "qa_f1_zh_score_with_gold_ans": keyword_recall.qa_f1_zh_score_with_gold_ans,
    "released_f1_with_keywords": keyword_recall.released_f1_with_keywords,
    "keyword_recall_f1": keyword_recall.keyword_recall_f1,
    "paper_f1_with_keywords": keyword_recall.paper_f1_with_keywords,
    "f1_with_blacklist": keyword_recall.f1_with_blacklist,
    "rouge_score": rouge.rouge_score,
    "rouge_zh_score": rouge.rouge_zh_score,
    "rouge_zh_score_blacklist": rouge.rouge_zh_score_blacklist,
}
"""What `touchstone metric NAME` knows."""

_ONES = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_TEENS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"thousand": 10**3, "million": 10**6}
_VALUES = _ONES | _TEENS | _TENS


def _any_of(words: Mapping[str, int]) -> str:
    return f"(?:{'|'.join(words)})"


_BELOW_100 = f"(?:{_any_of(_TENS)}(?: {_any_of(_ONES)})?|{_any_of(_TEENS)}|{_any_of(_ONES)})"
_BELOW_1000 = f"(?:{_any_of(_ONES)} hundred(?: (?:and )?{_BELOW_100})?|{_BELOW_100})"
_WORDS = re.compile(
    rf"(?:{_BELOW_1000} million)?(?:(?:^| ){_BELOW_1000} thousand)?(?:(?:^| )(?:(?<!^)and )?{_BELOW_1000})?"
)
_DIGITS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")


LONGEST_NUMBER = 200
"""Characters; what is longer is a runaway answer."""


def number_value(text: str) -> Fraction | None:
    """The value of a text that is a number and nothing else, or None.

    Read are digits with a sign, a decimal point and thousands commas ("-1,234.50"), ratios ("3/4") and
    English number words below a thousand million ("twenty-five", "two hundred and six"); one full stop may
    follow. Anything beside the number, a unit too, makes it something else.
    """
    stripped = text.strip().replace("−", "-").removesuffix(".")
    if len(stripped) > LONGEST_NUMBER:
        return None
    if (ratio := _RATIO.fullmatch(stripped)) and int(ratio[2]):
        return Fraction(int(ratio[1]), int(ratio[2]))
    if re.search("[0-9]", stripped):
        return Fraction(stripped.replace(",", "")) if _DIGITS.fullmatch(stripped) else None
    return _value_of_words(" ".join(stripped.lower().replace("-", " ").split()))


def _value_of_words(text: str) -> Fraction | None:
    if text == "zero":
        return Fraction(0)
    if text.startswith("minus "):
        positive = _value_of_words(text.removeprefix("minus "))
        return None if positive is None else -positive
    if not text or not _WORDS.fullmatch(text):
        return None
    total = group = 0
    for word in text.split():
        if word in _SCALES:
            total, group = total + group * _SCALES[word], 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += _VALUES[word]
    return Fraction(total + group)
