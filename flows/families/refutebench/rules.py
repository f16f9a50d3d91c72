"""RefuteBench without a model: refuter, evaluated model and evaluator that know plain requirements and nothing else.

The refuter asks for words out of a table of this project's own and for a manner that can be checked. The evaluated
model answers with the source's reference or, of a document, with sentences of it, and applies what it understands; it
forgets at a planted chance.
The evaluator reads what was asked for from the refutation's words.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import lemminflect

from flows.families.refutebench.prompts import Checked, Refutation, ToAnswer, ToCheck, ToRate, ToRateTask, ToRefute
from flows.families.refutebench.requirements import (
    NUMBER_WORDS,
    Requirement,
    apply_all,
    conflicts,
    goes_with,
    is_standing,
    language,
    of_style,
    parse,
    same,
    sentence_end,
    word_bounds,
)
from flows.language import en, zh
from flows.language.zh import text as zh_text
from flows.llm.model import Invalid, RuleSet, Text
from schemas.refutebench import RATINGS, TASKS

WORDINGS = Path(__file__).parent / "wordings.tsv"
LONG_DOCUMENT = 6
"""Sentences of a document from which on its summary has three, and not two."""
ENOUGH_TAKEN_UP = 5
"""Words of a request whose presence shows that a text is about it."""
JOINED_FROM = 0.35
"""Share of small words (articles, prepositions, verbs of no meaning) from which on words are sentences; in a list of
words there are few. English prose has 0.45 and more."""
FAITHFUL_FROM = 0.8
"""Share of a summary's words that are the document's from which on it is faithful: others may have been asked for."""
CHARACTERS_A_WORD = (0.8, 3.5)
"""Chinese characters for each English word of a source sentence, at least and at most. Of the 982 references of
NTREX's newstest2019 971 lie within."""
NEAR_QUERY_END = 160
"""Characters at either end of a query in which it says what is to be done with the document that it holds."""

Language = Literal["en", "zh"]
_TAGS = {"v": ("VB", "VBZ", "VBG", "VBD", "VBN"), "n": ("NN", "NNS")}
_BEFORE_NOUNS = re.compile(r"\b(?:an?|the|this|that|these|those|our|their|its|his|her|my|your|of|no|and|or)\s+$", re.I)
_BEFORE_VERBS = re.compile(r"\b(?:to|we|they|i|you|he|she|it|can|could|will|would|may|might|must|should|not)\s+$", re.I)
_ARTICLE = re.compile(r"\b(an?)\s+$", re.IGNORECASE)
_OPENS = re.compile(r"(?:^|[.!?:\n])[\s\"'“‘(#*-]*$")
_BEFORE_PRESENT = re.compile(
    r"(?:\b(?:to|do|does|did|not|can|could|will|would|may|might|must|should|who|you)|n['’]t)\s+$", re.IGNORECASE
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+$", re.IGNORECASE)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_SLOTS = {
    # A year is no number, and "one" is more often a pronoun.
    "number": rf"(?!one\b|(?:1[5-9]|20)\d\d\b)(?:{NUMBER_WORDS}|\d+(?:[.,]\d+)*(?: (?:thousand|million|billion))?)",
    "year": r"(?:1[5-9]|20)\d\d", "decade": r"(?:1[5-9]|20)\d0s", "month": _MONTH,
    # "About two friends" says what a story is about.
    "many": r"(?!(?:1[5-9]|20)\d\d\b)(?:\d[\d.,]*\d|(?:an?|[a-z-]+) (?:hundred|thousand|million|billion))",
    "season": "spring|summer|autumn|winter",
    "n": r"[一二两三四五六七八九十百千万\d]+", "a": "[\u4e00-\u9fff]", "x": "[^\\W\\d_a-zA-Z在当对像与和]{1,6}?",
}  # fmt: skip
"""What the slots of the table's phrases stand for, beside nouns."""
_SLOT = re.compile("<([a-z]+)>")
_TIED = re.compile("<(?:number|many|year|decade|month|season|n)>")
"""Slots whose words are those of one text, and seldom come again in another."""
COMES_AGAIN = 4
"""Words (characters, in Chinese) that a phrase has at most if another text is likely to have it too."""
_SMALL = "|".join(sorted(en.STOP_WORDS))
_ARTICLES = "the|an?|this|these|those|his|her|its|their|our|my|your"
_SHORT_NOUNS = "人书信车船树水花鱼鸟"
"""Of one character most words that can be nouns are more often something else."""
_TRANSLATE = re.compile(r"\btranslate\b.{0,100}\bChinese\b", re.IGNORECASE | re.DOTALL)
_SUMMARISE = re.compile(r"\bsummari[sz]e (?:the|this|that|these)\b", re.IGNORECASE)


# ---- the evaluated model ----


def respond(asked: ToAnswer, rng: random.Random) -> Text:
    """The answer, with the requirements that are remembered."""
    return Text(text=apply_all(_plain_answer(asked), _remembered(asked, rng)))


def _remembered(asked: ToAnswer, rng: random.Random) -> list[Requirement]:
    """What holds for this answer, less what is forgotten.

    A refutation is about the query before it; the latest is not forgotten, but it can be ignored. When a query is put
    again, what was said from then on holds.
    """
    held: dict[str, list[tuple[Requirement, bool]]] = {}
    query = ""
    for one in (said.text for said in asked.dialogue if said.role == "user"):
        wanted = parse(one)
        if wanted is None:
            query = one
            held[query] = [kept for kept in held.get(query, []) if kept[1]]
        else:
            held.setdefault(query, []).append((wanted, is_standing(one)))
    latest = parse(asked.said)
    if latest is None:
        before = [wanted for wanted, standing in held.get(asked.said, []) if standing]
    else:
        before = [wanted for wanted, _ in held.get(query, [])]
    remembered = [wanted for wanted in before if rng.random() >= asked.forgetting]
    if latest is None or rng.random() < asked.ignoring:
        return remembered
    return [*remembered, latest]


def _plain_answer(asked: ToAnswer) -> str:
    """The answer to the query without any requirement: the same each time."""
    if asked.task == "summarisation":
        return _extract(asked.text)
    if not asked.reference:
        raise Invalid(
            "no reference",
            "the rules translate and write by the source's reference alone: give its rows a reference, or have a "
            "model evaluated",
        )
    return asked.reference


def _extract(document: str) -> str:
    """The first sentence of the document, and the one or two others whose words come back most often in it."""
    of = en if language(document) == "en" else zh
    sentences = list(dict.fromkeys(of.sentences(document)))
    words = [of.content_words(one) for one in sentences]
    often = Counter(word for one in words for word in one)
    weights = [sum(often[word] for word in one) / (len(one) or 1) for one in words]
    most = 2 if len(sentences) >= LONG_DOCUMENT else 1
    others = sorted(range(1, len(sentences)), key=lambda at: (-weights[at], at))[:most]
    chosen = [sentences[at] for at in (0, *sorted(others))] if sentences else [document]
    return (" " if of is en else "").join(chosen)


# ---- the refuter ----


class Wording(NamedTuple):
    """What can be said in place of something else."""

    old: str
    new: str
    use: str
    """v, n: a form of a verb or noun; p: a verb of the present; b: before a noun; - any other."""
    base: str
    """The old words as the table has them."""


@cache
def wordings(of: Language, focus: str) -> tuple[Wording, ...]:
    """The packaged table of a language for words or phrases, with the forms of its verbs and nouns."""
    lines = (line for line in WORDINGS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    rows = [line.split("\t") for line in lines]
    bases = [
        Wording(old, new, use, old) for code, usage, old, new, use in rows if code == of and f"{usage} usage" == focus
    ]
    # A word of its own ("existing") goes before a form of a verb.
    bases.sort(key=lambda one: one.use in _TAGS)
    found: dict[str, Wording] = {}
    for one in (form for base in bases for form in _forms(base)):
        found.setdefault(one.old, one)
    return tuple(found.values())


def _forms(base: Wording) -> Iterator[Wording]:
    """A verb's or noun's wording in each of its forms; the first word of a phrase is the one with forms.

    A form that is two ("took" and "taken" for "looked") is left out: what it is in a text is not known.
    """
    if base.use not in _TAGS:
        yield base
        return
    forms: dict[str, set[str]] = defaultdict(set)
    for tag in _TAGS[base.use]:
        old, new = (_form(one, tag) for one in (base.old, base.new))
        if old and new:
            forms[old].add(new)
    for old, news in forms.items():
        if len(news) == 1 and old not in news:
            yield Wording(old, news.pop(), base.use, base.old)


def _form(words: str, tag: str) -> str:
    first, _, rest = words.partition(" ")
    inflected = next(iter(lemminflect.getInflection(first, tag)), "")
    return f"{inflected} {rest}".strip() if inflected else ""


def _in_text(one: Wording, text: str, nouns: str) -> Iterator[Wording]:
    """The wording with what stands in the text at its slots; `nouns` is a pattern of the text's own."""
    if "<" not in one.old:
        yield one
        return
    if one.use == "b":
        leading = ""
    elif one.old.isascii():
        leading = rf"(?:(?:{_ARTICLES}) )?(?:(?!(?:{_SMALL})\b)[a-z]+ )?"
    else:
        leading = "[\u4e00-\u9fff]{0,2}?"
    slots = _SLOTS | {"noun": rf"{leading}(?:{nouns}){'' if one.old.isascii() else '+'}"}
    bounds = r"(?<![\w-]){}(?![\w-])" if one.old.isascii() else "{}"
    parts = _SLOT.split(one.old)
    pattern = "".join(f"({slots[part]})" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    for found in re.finditer(bounds.format(f"(?i:{pattern})"), text):
        old, new = found.group(), one.new
        for slot, said in zip(parts[1::2], found.groups(), strict=True):
            new = new.replace(f"<{slot}>", said, 1)
        yield Wording(old[0].lower() + old[1:], new, "-", one.base)


def refute(asked: ToRefute, rng: random.Random) -> Refutation:
    """A plain requirement that the response does not meet."""
    if asked.style:
        raise Invalid("the rules refute plainly", f"not {', '.join(asked.style)}; ask for no style rules")
    earlier = [one for one in map(parse, asked.earlier) if one is not None]
    refused = [parse(one) for one, _ in asked.refused]
    for some in _wanted(asked):
        free = [one for one in some if one not in refused and _is_free(one, asked.response, earlier)]
        if free:
            return Refutation(refutation=rng.choice(free).in_words(asked.standing))
    raise Invalid("no refutation found", f"nothing plain can be asked of its {asked.focus}")


def _wanted(asked: ToRefute) -> Iterator[list[Requirement]]:
    """What could be asked for, the better first: words of the first sentence, which a shorter answer keeps too.

    What is to hold from now on is of words that can come again.
    """
    if asked.focus == "style":
        yield of_style(asked.response, next(one for one in TASKS if one == asked.task))
        return
    text = asked.response
    kind: Literal["word", "phrase"] = "word" if asked.focus == "word usage" else "phrase"
    nouns = "|".join(map(re.escape, _nouns(text)))
    table = wordings(language(text), asked.focus)
    if asked.standing:
        table = tuple(row for row in table if not _TIED.search(row.old))
    found = {one for row in table if nouns or "<noun>" not in row.old for one in _in_text(row, text, nouns)}
    found = {one for one in found if Requirement(kind, one.new, one.old).met(text) == 0}
    # One form of a word is not exchanged where another stays.
    forms = Counter(one.base for one in found if kind == "word")
    fitting = sorted(one for one in found if forms[one.base] <= 1 and _fits(one, text))
    first = text[: sentence_end(text)].lower()
    of = en if language(text) == "en" else zh

    def is_better(one: Wording) -> bool:
        return of.count(one.old) <= COMES_AGAIN and one in table if asked.standing else one.old.lower() in first

    for better in (True, False):
        yield [Requirement(kind, one.new, one.old) for one in fitting if is_better(one) is better]


def _nouns(text: str) -> list[str]:
    """The nouns and names of a text."""
    if language(text) == "en":
        return [one.text for one in en.entities(text)]
    return [word for word, tag in zh_text.tagged(text) if tag[0] == "n" and (len(word) > 1 or word in _SHORT_NOUNS)]


def _is_free(wanted: Requirement, response: str, earlier: Sequence[Requirement]) -> bool:
    """Whether it is not met (words: nowhere), can be, and goes with the earlier ones.

    A manner is put on before words are exchanged, so it is none that takes words away that are to be exchanged.
    """
    if not goes_with(wanted, earlier) or any(_takes_away(wanted, one) for one in earlier):
        return False
    after, before = wanted.apply(response), wanted.met(response)
    unmet = before < 1 if wanted.focus == "style" else before == 0
    return unmet and wanted.met(after) == 1 and all(one.met(after) >= one.met(response) for one in earlier)


def _takes_away(wanted: Requirement, earlier: Requirement) -> bool:
    left = wanted.apply(earlier.old)
    return earlier.old not in left and earlier.new not in left


def _fits(one: Wording, text: str) -> bool:
    """Whether the new words can stand wherever the old ones do."""
    if one.old.lower() not in text.lower():
        return False
    if not one.old.isascii():
        bounds = word_bounds(text)
        return all({start, start + len(one.old)} <= bounds for start in _places(text, one.old))
    found = list(re.finditer(rf"(?<![\w-]){re.escape(one.old)}(?![\w-])", text, re.IGNORECASE))
    return bool(found) and all(_fits_at(one, text[: place.start()], place.group()) for place in found)


def _fits_at(one: Wording, before: str, found: str) -> bool:
    if found[0].isupper() and not _OPENS.search(before):
        return False  # a name
    if (one.use == "p" and _BEFORE_PRESENT.search(before)) or (
        " " in one.old and one.use == "v" and _PASSIVE.search(before)
    ):
        return False
    if (one.use == "v" and _BEFORE_NOUNS.search(before)) or (one.use == "n" and _BEFORE_VERBS.search(before)):
        return False
    article = _ARTICLE.search(before)
    return article is None or (len(article.group(1)) > 1) == (one.new[0] in "aeiou")


def _places(text: str, words: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(words, at)]


def check_refutation(asked: ToCheck, rng: random.Random) -> Checked:
    """What is found of a refutation that is a plain requirement; no other is understood."""
    wanted = parse(asked.refutation)
    if wanted is None:
        raise Invalid("refutation not understood", asked.refutation)
    earlier = [(number, one) for number, one in enumerate(map(parse, asked.earlier), 1) if one is not None]
    return Checked(
        met=wanted.met(asked.response) == 1,
        off_focus=wanted.focus != asked.focus,
        aspects=1,
        repeats=next((number for number, one in earlier if same(wanted, one)), 0),
        contradicts=next((number for number, one in earlier if conflicts(wanted, one)), 0),
    )


# ---- the evaluator ----


def _rating(share: float) -> int:
    """5 if met, 1 if nothing of it, in between by the share met."""
    lowest, highest = RATINGS[0], RATINGS[-1]
    between = round(lowest + share * (highest - lowest))
    return highest if share >= 1 else lowest if share <= 0 else min(max(between, lowest + 1), highest - 1)


def _rated(explanation: str, share: float) -> Text:
    return Text(text=f"{explanation}\nRating: [[{_rating(share)}]]")


def rate_refutation(asked: ToRate, rng: random.Random) -> Text:
    """The rating by the requirement that the refutation's words say; none where they say none."""
    wanted = parse(asked.refutation)
    if wanted is None:
        return Text(text="I cannot tell what is asked for here, so I give no rating.")
    share = wanted.met(asked.response)
    how = "in full" if share >= 1 else "not at all" if share <= 0 else f"to {share:.0%}"
    return _rated(f"What is asked for is: {wanted.in_words()} The new answer does it {how}.", share)


def rate_task(asked: ToRateTask, rng: random.Random) -> Text:
    """The rating by what can be seen of an answer without understanding it."""
    ends = asked.query[:NEAR_QUERY_END] + asked.query[-NEAR_QUERY_END:]
    if _TRANSLATE.search(ends):
        return _rate_translation(asked)
    return _rate_summary(asked) if _SUMMARISE.search(ends) else _rate_writing(asked)


def _rate_translation(asked: ToRateTask) -> Text:
    source = max(asked.query.splitlines(), key=len)
    least, most = (times * en.count(source) for times in CHARACTERS_A_WORD)
    han = len(re.findall(r"[\u4e00-\u9fff]", asked.response))
    if not han or language(asked.response) != "zh":
        return _rated("The answer is not in Chinese.", 0.0)
    share = min(1.0, han / least if least else 1.0, most / han)
    return _rated(f"The answer is in Chinese and has {han} characters for {en.count(source)} words.", share)


def _rate_summary(asked: ToRateTask) -> Text:
    of = en if language(asked.query) == "en" else zh
    words = of.content_words(asked.response)
    if of.count(asked.response) >= of.count(asked.query) or not words:
        return _rated("The answer is no shorter than what was to be summarised.", 0.0)
    share = len(words & of.content_words(asked.query)) / len(words)
    explanation = f"The answer is shorter than the document, and {share:.0%} of its words are the document's."
    return _rated(explanation, 1.0 if share >= FAITHFUL_FROM else share)


def _rate_writing(asked: ToRateTask) -> Text:
    of = en if language(asked.query) == "en" else zh
    words = of.content_words(asked.query)
    taken = len(words & of.content_words(asked.response))
    share = min(1.0, taken / min(ENOUGH_TAKEN_UP, len(words))) if words else 1.0
    said = f"The answer takes up {taken} words of the request"
    if of is zh:
        return _rated(f"{said}.", share)
    tokens = en.words(asked.response)
    joined = sum(word in en.STOP_WORDS for word in tokens) / (len(tokens) or 1)
    if joined < JOINED_FROM:
        return _rated(f"{said}, and is a list of words rather than sentences.", 0.0)
    return _rated(f"{said}, in sentences.", share)


RULES: RuleSet = {
    "respond": respond,
    "refute": refute,
    "check_refutation": check_refutation,
    "rate_refutation": rate_refutation,
    "rate_task": rate_task,
}
