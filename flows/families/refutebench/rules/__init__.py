"""RefuteBench without a model: an evaluated model, a refuter and an evaluator that know only plain requirements.

The evaluated model answers with the source's reference or, for a document, with sentences of it, applies the
requirements that it understands, and forgets at a planted chance. The refuter asks for other words out of a table
(`wordings.py`), or for a manner that can be checked. The evaluator reads the requirement from the refutation's words
and measures the answer by it.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from flows.families.refutebench.prompts import Checked, Refutation, ToAnswer, ToCheck, ToRate, ToRateTask, ToRefute
from flows.families.refutebench.requirements import (
    Requirement,
    apply_all,
    conflicts,
    goes_with,
    is_standing,
    of_style,
    parse,
    parse_all,
    same,
)
from flows.families.refutebench.rules.wordings import Wording, fits, in_text, wordings
from flows.families.refutebench.sentences import language, sentence_end
from flows.language import en, zh
from flows.llm.model import Invalid, RuleSet, Text
from schemas.refutebench import RATINGS, TASKS

LONG_DOCUMENT = 6
"""Sentences of a document from which on its summary has three sentences instead of two."""
SHORT_PHRASE = 4
"""Most words (characters, in Chinese) of a phrase that another text is likely to have too."""
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


# ---- the evaluated model ----


def respond(asked: ToAnswer, rng: random.Random) -> Text:
    """The answer, with the requirements that are remembered."""
    return Text(text=apply_all(_plain_answer(asked), _remembered(asked, rng)))


def _remembered(asked: ToAnswer, rng: random.Random) -> list[Requirement]:
    """The requirements that hold for this answer, without the forgotten ones.

    A refutation is about the query before it. The latest is not forgotten, but it can be ignored. When a query is
    repeated, the standing refutations of it hold.
    """
    by_query: dict[str, list[tuple[Requirement, bool]]] = {}
    query = ""
    for message in (turn.text for turn in asked.dialogue if turn.role == "user"):
        requirement = parse(message)
        if requirement is None:
            query = message
            by_query[query] = [kept for kept in by_query.get(query, []) if kept[1]]
        else:
            by_query.setdefault(query, []).append((requirement, is_standing(message)))
    latest = parse(asked.said)
    if latest is None:
        before = [requirement for requirement, standing in by_query.get(asked.said, []) if standing]
    else:
        before = [requirement for requirement, _ in by_query.get(query, [])]
    remembered = [requirement for requirement in before if rng.random() >= asked.forgetting]
    if latest is None or rng.random() < asked.ignoring:
        return remembered
    return [*remembered, latest]


def _plain_answer(asked: ToAnswer) -> str:
    """The answer to the query without any requirement: always the same."""
    if asked.task == "summarisation":
        return _summary(asked.text)
    if not asked.reference:
        raise Invalid(
            "no reference",
            "the rules translate and write by the source's reference alone: give its rows a reference, or have a "
            "model evaluated",
        )
    return asked.reference


def _summary(document: str) -> str:
    """The first sentence of the document, and the one or two others whose words recur most often in it."""
    tongue = en if language(document) == "en" else zh
    sentences = list(dict.fromkeys(tongue.sentences(document)))
    words = [tongue.content_words(sentence) for sentence in sentences]
    frequency = Counter(word for content in words for word in content)
    weights = [sum(frequency[word] for word in content) / (len(content) or 1) for content in words]
    most = 2 if len(sentences) >= LONG_DOCUMENT else 1
    others = sorted(range(1, len(sentences)), key=lambda place: (-weights[place], place))[:most]
    chosen = [sentences[place] for place in (0, *sorted(others))] if sentences else [document]
    return (" " if tongue is en else "").join(chosen)


# ---- the refuter ----


def refute(asked: ToRefute, rng: random.Random) -> Refutation:
    """A plain requirement that the response does not meet."""
    if asked.style:
        raise Invalid("the rules refute plainly", f"not {', '.join(asked.style)}; ask for no style rules")
    earlier = parse_all(asked.earlier)
    refused = [parse(refutation) for refutation, _ in asked.refused]
    for requirements in _candidates(asked):
        free = [
            requirement
            for requirement in requirements
            if requirement not in refused and _is_free(requirement, asked.response, earlier)
        ]
        if free:
            return Refutation(refutation=rng.choice(free).in_words(asked.standing))
    raise Invalid("no refutation found", f"nothing plain can be asked of its {asked.focus}")


def _candidates(asked: ToRefute) -> Iterator[list[Requirement]]:
    """The requirements that could be asked for, the better ones first.

    Better are words of the first sentence, which a shorter answer keeps; in a standing requirement, words that can
    recur in another text.
    """
    text = asked.response
    if asked.focus == "style":
        yield of_style(text, next(task for task in TASKS if task == asked.task))
        return
    kind: Literal["word", "phrase"] = "word" if asked.focus == "word usage" else "phrase"
    table = wordings(language(text), asked.focus)
    if asked.standing:
        table = tuple(wording for wording in table if wording.recurs)
    unmet = {wording for wording in in_text(table, text) if Requirement(kind, wording.new, wording.old).met(text) == 0}
    # No form of a word is exchanged where another form would stay.
    forms = Counter(wording.base for wording in unmet if kind == "word")
    fitting = sorted(wording for wording in unmet if forms[wording.base] <= 1 and fits(wording, text))
    first = text[: sentence_end(text)].lower()
    tongue = en if language(text) == "en" else zh

    def is_better(wording: Wording) -> bool:
        if asked.standing:
            return tongue.count(wording.old) <= SHORT_PHRASE and wording in table
        return wording.old.lower() in first

    for better in (True, False):
        yield [Requirement(kind, wording.new, wording.old) for wording in fitting if is_better(wording) is better]


def _is_free(requirement: Requirement, response: str, earlier: Sequence[Requirement]) -> bool:
    """Return whether a requirement is not met (words: nowhere), can be met, and goes with the earlier ones.

    A manner is applied before words are exchanged, so it must not remove words that are to be exchanged.
    """
    if not goes_with(requirement, earlier) or any(_takes_away(requirement, other) for other in earlier):
        return False
    after, before = requirement.apply(response), requirement.met(response)
    unmet = before < 1 if requirement.focus == "style" else before == 0
    return unmet and requirement.met(after) == 1 and all(other.met(after) >= other.met(response) for other in earlier)


def _takes_away(requirement: Requirement, earlier: Requirement) -> bool:
    left = requirement.apply(earlier.old)
    return earlier.old not in left and earlier.new not in left


def check_refutation(asked: ToCheck, rng: random.Random) -> Checked:
    """The check of a refutation that is a plain requirement; no other is understood."""
    requirement = parse(asked.refutation)
    if requirement is None:
        raise Invalid("refutation not understood", asked.refutation)
    earlier = [(number, other) for number, other in enumerate(map(parse, asked.earlier), 1) if other is not None]
    return Checked(
        met=requirement.met(asked.response) == 1,
        off_focus=requirement.focus != asked.focus,
        aspects=1,
        repeats=next((number for number, other in earlier if same(requirement, other)), 0),
        contradicts=next((number for number, other in earlier if conflicts(requirement, other)), 0),
    )


# ---- the evaluator ----


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


RULES_VERSION = 1
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {
    "respond": respond,
    "refute": refute,
    "check_refutation": check_refutation,
    "rate_refutation": rate_refutation,
    "rate_task": rate_task,
}
