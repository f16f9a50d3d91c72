"""The evaluator by rules: it reads what was asked for from the refutation's words, and measures the answer by it."""

import random
import re

from flows.families.refutebench.prompts import ToRate, ToRateTask
from flows.families.refutebench.requirements import parse
from flows.families.refutebench.sentences import language
from flows.language import en, zh
from flows.llm.model import Text
from schemas.refutebench import RATINGS

ENOUGH_TAKEN_UP = 5
"""Words of a request that a text has to contain to be about it."""
JOINED_FROM = 0.35
"""Share of small words (articles, prepositions, auxiliaries) from which on words are sentences and no mere list.
English prose has 0.45 and more."""
FAITHFUL_FROM = 0.8
"""Share of a summary's words that are the document's from which on it is faithful: others may have been asked for."""
CHARACTERS_A_WORD = (0.8, 3.5)
"""Least and most Chinese characters for each English word of a source sentence. Of the 982 references of NTREX's
newstest2019, 971 lie within."""
NEAR_QUERY_END = 160
"""Characters at either end of a query in which it says what to do with the document that it contains."""
_TRANSLATE = re.compile(r"\btranslate\b.{0,100}\bChinese\b", re.IGNORECASE | re.DOTALL)
_SUMMARISE = re.compile(r"\bsummari[sz]e (?:the|this|that|these)\b", re.IGNORECASE)


def rate_refutation(asked: ToRate, rng: random.Random) -> Text:
    """The rating by the requirement that the refutation states; none if it states none."""
    requirement = parse(asked.refutation)
    if requirement is None:
        return Text(text="I cannot tell what is asked for here, so I give no rating.")
    share = requirement.met(asked.response)
    how = "in full" if share >= 1 else "not at all" if share <= 0 else f"to {share:.0%}"
    return _rated(f"What is asked for is: {requirement.in_words()} The new answer does it {how}.", share)


def rate_task(asked: ToRateTask, rng: random.Random) -> Text:
    """The rating by what can be measured of an answer without understanding it."""
    ends = asked.query[:NEAR_QUERY_END] + asked.query[-NEAR_QUERY_END:]
    if _TRANSLATE.search(ends):
        return _rate_translation(asked)
    return _rate_summary(asked) if _SUMMARISE.search(ends) else _rate_writing(asked)


def _rated(explanation: str, share: float) -> Text:
    """The explanation with a rating: the highest for all of it, the lowest for nothing, others in between."""
    lowest, highest = RATINGS[0], RATINGS[-1]
    between = min(max(round(lowest + share * (highest - lowest)), lowest + 1), highest - 1)
    rating = highest if share >= 1 else lowest if share <= 0 else between
    return Text(text=f"{explanation}\nRating: [[{rating}]]")


def _rate_translation(asked: ToRateTask) -> Text:
    source = max(asked.query.splitlines(), key=len)
    least, most = (times * en.count(source) for times in CHARACTERS_A_WORD)
    han = len(re.findall(r"[\u4e00-\u9fff]", asked.response))
    if not han or language(asked.response) != "zh":
        return _rated("The answer is not in Chinese.", 0.0)
    share = min(1.0, han / least if least else 1.0, most / han)
    return _rated(f"The answer is in Chinese and has {han} characters for {en.count(source)} words.", share)


def _rate_summary(asked: ToRateTask) -> Text:
    tongue = en if language(asked.query) == "en" else zh
    words = tongue.content_words(asked.response)
    if tongue.count(asked.response) >= tongue.count(asked.query) or not words:
        return _rated("The answer is no shorter than what was to be summarised.", 0.0)
    share = len(words & tongue.content_words(asked.query)) / len(words)
    explanation = f"The answer is shorter than the document, and {share:.0%} of its words are the document's."
    return _rated(explanation, 1.0 if share >= FAITHFUL_FROM else share)


def _rate_writing(asked: ToRateTask) -> Text:
    tongue = en if language(asked.query) == "en" else zh
    words = tongue.content_words(asked.query)
    taken = len(words & tongue.content_words(asked.response))
    share = min(1.0, taken / min(ENOUGH_TAKEN_UP, len(words))) if words else 1.0
    explanation = f"The answer takes up {taken} words of the request"
    if tongue is zh:
        return _rated(f"{explanation}.", share)
    tokens = en.words(asked.response)
    joined = sum(word in en.STOP_WORDS for word in tokens) / (len(tokens) or 1)
    if joined < JOINED_FROM:
        return _rated(f"{explanation}, and is a list of words rather than sentences.", 0.0)
    return _rated(f"{explanation}, in sentences.", share)
