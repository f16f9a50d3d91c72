"""The changes that a text needs when its answer is replaced by another.

Two questions, for English and Chinese: how many words of an edit the replacement does not explain, and where a
text still says something about the new answer that fits only the old one.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from flows.language import en, language_of, zh
from flows.language.en.names import is_familiar_place
from flows.language.en.numbers import date_of
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word
from flows.language.tables import lists, word_list
from flows.language.zh.text import normal

WORD = re.compile(r"[㐀-鿿豈-﫿]|[^\W_]+|[^\w\s]|_")
"""A word, a Chinese character or a sign. An apostrophe is a sign of its own: "Wales's" is "Wales", "'", "s"."""
_SIGNS = frozenset(",.'’\"`-–—()（），、。《》“”‘·")
"""Punctuation marks that come and go with a name."""
_STEM, _STEM_SHARE = 4, 0.5
"""The fewest first letters that words of a family share, and their least share of the longer word."""
_SHOWN = 30
"""Characters shown on either side of a word that does not agree."""
_UNCOUNTED = frozenset(["a", "an", "the", "s"])
"""Articles, and the ending of a possessive."""
_LINKING = frozenset(["of", "the", "and", "or", "a", "an", "in"])
"""Words of a name that give no initial."""
_PRONOUNS = word_list("en", "personal pronouns")
_EXCHANGED = tuple(frozenset(group.split(":")) for group in lists("en", "words")["exchanged"])
"""Words that may replace each other beside the new answer."""
_PAIRS = [pair.split(":") for pair in lists("en", "words")["of men and women"]]
_COUNTERPARTS = frozenset(
    frozenset((male + ending, female + ending)) for male, female in _PAIRS for ending in ("", "s")
)
_NOUNS = {"male": frozenset(male for male, _ in _PAIRS), "female": frozenset(female for _, female in _PAIRS)}
_PERSONAL = {"male": word_list("en", "of a man") | {"他"}, "female": word_list("en", "of a woman") | {"她"}}
_CHINESE = tuple(
    frozenset(characters)
    for characters in (
        "他她它牠其",
        "男女父母爸妈夫妻妇婦丈儿兒子兄弟哥姐姊妹王后皇帝叔伯姨姑侄公婆爷奶先生士",
        "个個位座本部场場次家條条项項名首片种種只隻头頭匹辆輛艘架所间間栋棟幢件",
    )
)
"""Pronouns, characters of words for men and women, measure words; those of a group may replace each other."""
_COUNTERPART = {"she": "he", "her": "his or him", "hers": "his", "herself": "himself", "她": "他"} | {
    "he": "she", "him": "her", "his": "her", "himself": "herself", "他": "她"
}  # fmt: skip
"""Personal pronoun -> that of the other gender."""
_VERBS = {"is": "are", "was": "were", "has": "have"}
"""Singular -> plural."""


class Contradiction(NamedTuple):
    """A word that does not agree with the new answer."""

    word: str
    place: str
    """The words around it."""
    should: str
    """The word that would agree."""


def unexplained(code: str, old: str, new: str, answer: str, alternative: str) -> int:
    """Count the words of the edit from `old` to `new` that replacing `answer` by `alternative` does not explain.

    Explained are words of the names: whole, in part, as initials, of the same family ("alchemists" beside
    "alchemy"), and the words that replaced them; articles; verbs and nouns that agree in number; and, unless
    numbers or dates were exchanged, pronouns and words for men and women ("husband", "wife").
    """
    gone, names_gone = _apart(old, answer)
    come, names_come = _apart(new, alternative)
    shared = gone & come
    gone, come = gone - shared, come - shared
    for word in list(gone.elements()):
        partner = next((other for other in come if _agrees(code, answer, word, other)), None)
        if partner is not None:
            gone -= Counter([word])
            come -= Counter([partner])
    if names_gone:
        return max(gone.total(), come.total() - names_gone)
    # "a derogatory pun" became "an admiring pun" with "admiration"; another's name may not become the new one.
    lower = {word for word in WORD.findall(old) if word.islower()}
    freed = min(names_come, sum(word in lower for word in gone.elements()))
    return max(gone.total() - freed, come.total() + names_come - freed)


def foreign_number(edits: Iterable[tuple[str, str]], answer: str, alternative: str) -> str | None:
    """Return a number that the edits (old, new) add or remove though neither answer has it; None if there is none.

    A decade or a century that follows from the answer's own year is its own.
    """
    gone: Counter[str] = Counter()
    come: Counter[str] = Counter()
    for old, new in edits:
        gone.update(_NUMBER.findall(old))
        come.update(_NUMBER.findall(new))
    left = [*(come - gone - _own_numbers(alternative)), *(gone - come - _own_numbers(answer))]
    return left[0] if left else None


_NUMBER = re.compile(r"\d+")
_MANY = 1000


def _own_numbers(name: str) -> Counter[str]:
    """The numbers of a name, and those that its years give: 1895 is in the 1890s, the 90s and the 19th century."""
    numbers = set(_NUMBER.findall(name))
    years = {year for year in numbers if len(year) == len("1895")}
    numbers |= {f"{year[:3]}0" for year in years} | {year[2:] for year in years} | {f"{year[2]}0" for year in years}
    numbers |= {str(int(year) // 100 + 1) for year in years} | {f"{year[:2]}00" for year in years}
    return Counter(dict.fromkeys(numbers, _MANY))


def _apart(text: str, name: str) -> tuple[Counter[str], int]:
    words, initials = _family(name)
    others: Counter[str] = Counter()
    of_name = 0
    for word in map(str.casefold, WORD.findall(text)):
        if word in words or _stands_for(word, words, initials):
            of_name += word not in _SIGNS
        elif word not in _UNCOUNTED and word not in _SIGNS:
            others[word] += 1
    return others, of_name


@lru_cache(1024)
def _family(name: str) -> tuple[frozenset[str], str]:
    words = [word.casefold() for word in WORD.findall(name)]
    return frozenset(words), "".join(word[0] for word in words if word.isalpha() and word not in _LINKING)


def _stands_for(word: str, words: frozenset[str], initials: str) -> bool:
    """True if a word is the initials of a name, or belongs to the family of one of its words."""
    if not (word.isalpha() and word.isascii()):
        return False
    return (len(word) > 1 and word in initials) or any(_akin(word, other) for other in words)


def _akin(word: str, other: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return shared >= _STEM and shared >= _STEM_SHARE * max(len(word), len(other))


def _agrees(code: str, answer: str, gone: str, come: str) -> bool:
    """True if a word replaced another so that it agrees with the new answer."""
    short, long = sorted((gone, come), key=len)
    of_other_number = long in (f"{short}s", f"{short}es") or (short.endswith("y") and long == f"{short[:-1]}ies")
    if of_other_number or any({gone, come} <= group for group in _EXCHANGED):
        return True
    if language_of(code).answer_type(answer) in ("number", "date"):
        return False
    if {gone, come} <= _PRONOUNS or frozenset((gone, come)) in _COUNTERPARTS:
        return True
    return any({gone, come} <= group for group in _CHINESE)


# ---- words that still fit only the old answer ----


def contradiction(code: str, text: str, answer: str, alternative: str) -> Contradiction | None:
    """Return the place where `text`, with `alternative` in place of `answer`, fits only the old answer; else None.

    A title or "the first woman" right beside the new name; a pronoun of the old person's gender, where the new
    person has the other and nobody else named before it could be meant; a verb in the number of the old
    answer, right after the new one.
    """
    return (
        _of_title(code, text, answer, alternative)
        or _of_gender(code, text, answer, alternative)
        or _of_number(code, text, answer, alternative)
    )


_TITLES = word_list("en", "titles of men or women")
_SAID = {"male": word_list("en", "called men"), "female": word_list("en", "called women")}
"""Words never used for a person of the other gender. "Host" and "hero" are not among them: women are called so too."""
_TITLE_BEFORE = re.compile(r"(?<!\w)([A-Z][a-z]+)\.?\s+$")
_CALLED = re.compile(
    r",?\s+(?:(?:is|was|became|remains|remained)\s+)?(?:the|an?)\s+(?:(?!of\b|to\b|for\b|in\b|by\b|and\b)[\w-]+\s+)?(\w+)\b"
    r"(?!['’\w]|\s+of\s+the\s+match)"
)


def _of_title(code: str, text: str, answer: str, alternative: str) -> Contradiction | None:
    """ "Mrs" right before a man's name, or "was the first woman" right after it."""
    was, now = _gender(code, answer), _gender(code, alternative)
    if code != "en" or was is None or now is None or was == now:
        return None
    for mention in en.mentions(text, alternative):
        title = _TITLE_BEFORE.search(text, 0, mention.start)
        called = _CALLED.match(text, mention.end)
        for match, gendered_words in ((title, _TITLES & _NOUNS[was]), (called, _SAID[was])):
            if match is not None and (word := match[1].casefold()) in gendered_words:
                should = next(pair[now == "female"] for pair in _PAIRS if word in pair)
                should = should.capitalize() if match[1][0].isupper() else should
                return Contradiction(match[1], _around(text, match.start(1)), should)
    return None


def _of_gender(code: str, text: str, answer: str, alternative: str) -> Contradiction | None:
    was, now = _gender(code, answer), _gender(code, alternative)
    if was is None or now is None or was == now:
        return None
    mentions = [(mention.start, mention.end) for mention in language_of(code).mentions(text, alternative)]
    # The brackets name the actor who plays somebody: "the Snow Queen (Elizabeth Mitchell) ... she".
    named_at = [span for span in mentions if text.rfind("(", 0, span[0]) <= text.rfind(")", 0, span[0])]
    others = [
        span
        for span in _people(code, text, was)
        if not any(span[0] < end and start < span[1] for start, end in named_at)
    ]
    for match in WORD.finditer(text):
        if match[0].casefold() not in _PERSONAL[was] or text.startswith("们", match.end()):
            continue
        if any(end <= match.start() for _, end in others):
            return None
        named = max((span for span in named_at if span[1] <= match.start()), default=None)
        if named is not None and text[named[1] : match.start()] != " as ":  # "with Abercrombie as his second"
            return Contradiction(match[0], _around(text, match.start()), _COUNTERPART[match[0].casefold()])
    return None


def _people(code: str, text: str, gender: str) -> list[tuple[int, int]]:
    """Return the mentions of people whom a pronoun of the gender could mean: by name, or as somebody's mother."""
    spans = language_of(code).spans_of_type(text, "person")
    named = [(start, end) for start, end in spans if _gender(code, text[start:end]) in (gender, None)]
    spoken = (
        match
        for match in WORD.finditer(text)
        if match[0].casefold() in _NOUNS[gender] or (code == "en" and _may_be_name(text, match, gender))
    )
    return [*named, *((match.start(), match.end()) for match in spoken)]


def _may_be_name(text: str, word: re.Match[str], gender: str) -> bool:
    """True if a capitalised word may name somebody of the gender: a fitting first name, or no known word or place."""
    if not word[0][:1].isupper() or len(word[0]) == 1 or _LOCATED.search(text, 0, word.start()):
        return False
    low = word[0].lower()
    if low not in en.STOP_WORDS and en.gender(word[0]) == gender:
        return True
    if (
        low in en.STOP_WORDS | PREPOSITIONS | _OPENERS
        or is_dictionary_word(low)
        or date_of(word[0]) is not None
        or is_familiar_place(word[0])
    ):
        return False
    return en.gender(word[0]) is None


_OPENERS = word_list("en", "openers")
_LOCATED = re.compile(r"\b(?:in|at|near|from|to|of|the)\s+$")


def _gender(code: str, name: str) -> str | None:
    return en.gender(name) if code == "en" else zh.gender(normal(name).text)


def _of_number(code: str, text: str, answer: str, alternative: str) -> Contradiction | None:
    """A verb right after the new answer, in the old answer's number; not for names and numbers, which take either."""
    if code != "en" or not (answer.islower() and alternative.islower()):
        return None
    plural = en.is_plural(alternative)
    counted = {en.answer_type(answer), en.answer_type(alternative)} & {"number", "date"}
    if plural == en.is_plural(answer) or counted:
        return None
    wrong = _VERBS if plural else {many: singular for singular, many in _VERBS.items()}
    for mention in en.mentions(text, alternative):
        opens = re.search(r"(?:^|[.!?]\s+)(?:The\s+)?$", text[: mention.start])
        verb = re.match(r"\s+(\w+)", text[mention.end :])
        if opens and verb and verb[1] in wrong:
            return Contradiction(verb[1], _around(text, mention.end), wrong[verb[1]])
    return None


def _around(text: str, place: int) -> str:
    start = text.rfind(" ", 0, max(0, place - _SHOWN)) + 1
    end = text.find(" ", place + _SHOWN)
    return text[start : end if end > 0 else len(text)]
