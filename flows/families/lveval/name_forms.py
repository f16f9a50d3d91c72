"""How a name occurs in texts: in other forms, as a part of a longer name, or as a common word."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from flows.language import language_of, zh
from flows.language.en.names import PARTICLES, SUFFIXES, TITLES, classes, is_first_name, is_surname, place_class
from flows.language.en.persons import personal_name
from flows.language.en.phrases import is_dictionary_word
from flows.language.en.tokens import word_set
from flows.language.zh.text import tagged, words
from schemas.lveval import Rule

_BEFORE = re.compile(r"([A-Z][\w’'.-]*)[ \u00a0]$")
_AFTER = re.compile(r"[ \u00a0]([A-Z][\w’'-]*)")
_RANKS = word_set("khan pasha bey raja rani maharaja shogun mirza")
"""Ranks after a name, which may stay, like titles."""
_DIRECTIONS = word_set("new north south east west northern southern eastern western great old upper lower")
"""Words that turn the name after them into that of another place."""
DOTS = "·・•‧"
DOT = re.compile(f"[{DOTS}]")
_INSTITUTIONS = frozenset("院校馆会社局厅部园站店寺庙塔桥")  # end words for institutions and buildings of any length
_ADJECTIVE = re.compile(r"(?:ans?|ese|ish|[ei]c|ites?|ch|ern|ist)$|^christmas$|^easter$")
"""Ends of words for peoples, languages and regions, and feasts: these words alone identify nothing."""
_NAMES = ("nr", "ns", "nt", "nz")
_PHRASES = (["i"], ["l"], ["v"])  # parts of speech of words that are no names: idioms, set phrases, verbs
_NEAR = 12  # characters on either side of a Chinese keyword that are searched for a longer word
_ALIKE = 0.8  # similarity from which two keywords are spellings of the same name
_NAME_LENGTHS = (2, 3)  # characters of a Chinese name that begins with the family name
_TELLING = 4  # letters of a word that identifies a name by itself
_TELLING_DIGITS = 3  # digits of a number that identifies a name by itself ("the 747"), except dates
_SHORT = 2  # the most words of a name that an unusual word of it can stand for
_ADJECTIVES = {"France": "French", "Wales": "Welsh", "Netherlands": "Dutch", "Greece": "Greek", "Iraq": "Iraqi"}
"""Countries with an irregular adjective."""
_INNER_NAME = r"(?<=[a-z,] )({})(?!\w| [A-Z])"  # a family name within a sentence, by itself
_ITS_YEAR = re.compile(r",? [12]\d{3}\b")
TAILS = frozenset(
    "省市县区州郡府道路街村镇乡山河江湖海岛洋港湾桥寺塔宫城国人语族式军队党会社局厅部院校馆园站线铁派系号县属科氏岭峰海峡洲"
)
"""Characters that show the kind of thing, at the end of a Chinese name or after it."""
TRANSCRIBED = re.compile(
    "[阿埃艾安奥巴贝比彼波布查达戴德迪多厄尔法菲费弗夫盖格古哈海赫胡基吉加杰卡坎科克库拉莱兰劳勒雷里利林隆卢鲁伦罗洛马麦曼梅米"
    "莫姆穆纳内尼涅努诺欧帕佩皮珀普奇乔切萨塞赛森沙圣施史斯索塔泰特提图托瓦万威韦维温沃伍西希谢辛休雅亚扬耶伊因英约泽扎詹赞兹]+"
)
"""Characters that transcribe foreign names: a name of such characters may be part of a longer one."""


def shared_names(old: str, new: str, code: str) -> frozenset[str]:
    """Return the names on both sides of a rule, without common words and words that say what kind of thing it is."""
    if code == "zh":
        mine, theirs = (
            {word for word, tag in tagged(side) if len(word) > 1 and tag.startswith(_NAMES)} | set(DOT.split(side))
            for side in (old, new)
        )
        return frozenset(word for word in mine & theirs if len(word) > 1 and not _is_generic_zh(word))
    person = personal_name(old) is not None and any(map(is_first_name, old.split()[:1]))
    mine, theirs = ({word for word in _words_of(side) if _is_name_en(word, of_person=person)} for side in (old, new))
    return frozenset(mine & theirs) if person or mine <= theirs else frozenset()


def _is_generic_zh(word: str) -> bool:
    """Return whether a Chinese word says what kind of thing something is."""
    return word[-1] in _INSTITUTIONS or (word[-1] in TAILS and len(word) <= 2)


def _is_name_en(word: str, *, of_person: bool) -> bool:
    low = word.casefold()
    if not word[:1].isupper() or len(word) < 2 or low in classes("head") or low in TITLES or low in _RANKS:
        return False
    if of_person:
        return low not in SUFFIXES and low not in PARTICLES
    return len(word) >= _TELLING and not is_dictionary_word(low)


def of_one_name(rule: Rule, other: Rule, code: str) -> bool:
    """Return whether two rules are for forms of the same name, which is replaced in all of them or in none."""
    mine, theirs = ("".join(filter(str.isalnum, each.old.casefold())) for each in (rule, other))
    if min(len(mine), len(theirs)) >= _TELLING and SequenceMatcher(None, mine, theirs, False).ratio() >= _ALIKE:
        return True
    return bool(_shared(rule.old, other.old, code)) and bool(_shared(rule.new, other.new, code))


def _shared(name: str, other: str, code: str) -> frozenset[str]:
    if code == "zh":
        return frozenset(filter(lambda part: len(part) > 1, set(DOT.split(name)) & set(DOT.split(other))))
    common = set(_words_of(name)) & set(_words_of(other))
    return frozenset(word for word in common if _is_name_en(word, of_person=True))


def is_common_word(match: str, keyword: str) -> bool:
    """Return whether a match of an English name is a common word spelt like it: "will" for "Will"."""
    return match.islower() and keyword[:1].isupper() and is_dictionary_word(match)


def forms_of(rule: Rule, text: str, code: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a text mentions the keyword's bearer, by any form or part of the name."""
    for mention in language_of(code).mentions(text, rule.old):
        if mention.form != "part" or not _ITS_YEAR.match(text, mention.end):  # otherwise of another year
            yield mention.start, mention.end
    for part in _telling_parts(rule, code):
        pattern = re.escape(part) if code == "zh" else rf"(?<!\w){re.escape(part)}(?!\w)"
        yield from (match.span() for match in re.finditer(pattern, text))
    if code == "en":
        yield from _of_country(rule, text)
    words_of_old = _words_of(rule.old)
    if code == "en" and (name := personal_name(rule.old)) is not None and is_first_name(words_of_old[0]):
        family = words_of_old[-1]
        if family.casefold() == name.last:
            inner = re.finditer(_INNER_NAME.format(re.escape(family)), text)
            yield from (match.span(1) for match in inner if not _of_another(text, match.start(1)))
    if code == "zh" and zh.answer_type(rule.old) == "person" and len(rule.old) in _NAME_LENGTHS:
        at = 0
        for word, tag in tagged(text):
            if word == rule.old[0] and tag.startswith("nr"):
                yield at, at + 1
            at += len(word)


def _of_another(text: str, place: int) -> bool:
    """Return whether a family name at `place` belongs to another full name: "Benji Lee" beside "Chris Lee"."""
    before = _BEFORE.search(text, max(0, place - 40), place)
    return before is not None and before[1].rstrip(".").casefold() not in TITLES and not _opens(text, before.start())


def _of_country(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a country that a rule replaces, alone or inside a name, or its adjective is left."""
    for word in _words_of(rule.old):
        if place_class(word) == "country" and word not in _words_of(rule.new):
            adjective = _ADJECTIVES.get(word) or rf"{re.escape(word[:3])}[a-z]*(?:ish|ese|an)"
            pattern = adjective if rule.old == word else re.escape(word)
            yield from (match.span() for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text))


def _telling_parts(rule: Rule, code: str) -> Iterator[str]:
    """Yield the parts that identify a name by themselves: unusual words, a Chinese name without its last character."""
    if code == "zh":
        stem = rule.old[:-1]
        if rule.old[-1:] in TAILS and len(stem) > 1 and stem not in rule.new:
            flags = [tag for _, tag in tagged(stem)]
            if len(flags) > 1 or not flags[0].startswith("n"):
                yield stem
        return
    words = [word for word in _words_of(rule.old) if word.casefold() not in ("a", "an", "the")]
    kept = _words_of(rule.new)
    yield from (word for word in words if word.isdigit() and len(word) >= _TELLING_DIGITS and word not in kept)
    for word in words if len(words) <= _SHORT else ():
        low = word.casefold()
        common = is_dictionary_word(low) or low in TITLES or _ADJECTIVE.search(low) or word in rule.new
        is_name = is_first_name(word) or place_class(word)
        if word[:1].isupper() and len(word) >= _TELLING and word.isalpha() and not (common or is_name):
            yield word


def _words_of(side: str) -> list[str]:
    """Return the words of a keyword or a substitute in their order, without punctuation."""
    return [word.strip(".,'’\"()") for word in side.split()]


def longer_name(text: str, start: int, end: int, code: str, *, family: bool = False) -> str | None:
    """Return the name of something else that contains `text[start:end]`; None if there is none.

    A word for its kind may stand beside a name ("Galata Bridge"). In English a longer name begins with a first
    name or a direction before the keyword ("Abraham Lincoln", "New England"; not where it is a `family` name that is
    renamed for all who have it), or ends in a family name after a place ("Paris Hilton"). In Chinese it is a longer
    word, except for a tail that says its kind, or two words that both reach into the keyword.
    """
    if code == "zh":
        last_of_name = text[start - 1 : start] in set(DOTS) and text[end : end + 1] not in set(DOTS)
        return None if family and last_of_name else _longer_word(text, start, end)
    keyword = text[start:end]
    if not keyword[:1].isupper() or len(keyword.split()) > 1:
        return None
    after = _AFTER.match(text, end)
    if after and (is_first_name(keyword) or place_class(keyword)):
        word = after[1].removesuffix("'s").removesuffix("’s")
        if is_surname(word) and not is_dictionary_word(word.casefold()) and word.casefold() not in classes("head"):
            return text[start : after.end(1)]
    before = _BEFORE.search(text, max(0, start - 40), start)
    if before is None or family:
        return None
    word = before[1].rstrip(".")
    if word.casefold() in TITLES or (_opens(text, before.start()) and not is_first_name(word)):
        return None
    named = (is_first_name(word) or len(word) == 1) and not place_class(word)
    return text[before.start() : end] if named or word.casefold() in _DIRECTIONS else None


def _opens(text: str, place: int) -> bool:
    """Return whether a sentence begins at `place`."""
    left = text[:place].rstrip(" \n\t\"'“‘(")
    return not left or left[-1] in '.!?:;\n”’"' or text[:place].endswith("\n")


def _longer_word(text: str, start: int, end: int) -> str | None:
    if text[start - 1 : start] in set(DOTS) or (text[end : end + 1] in set(DOTS) and text[end : end + 1]):
        return text[max(0, start - _NEAR) : end + _NEAR].strip()
    first = max(0, start - _NEAR)
    near = [(word, first + begin, first + stop) for word, begin, stop in words(text[first : end + _NEAR])]
    reaching_in = next((word for word, begin, stop in near if begin < start < stop < end), None)
    reaching_out = next((word for word, begin, stop in near if start < begin < end < stop), None)
    if reaching_in and reaching_out:
        return reaching_in + reaching_out
    for word, begin, stop in near:
        if begin <= start and end <= stop and stop - begin > end - start:
            if _is_phrase(word, text[begin:start]):
                return None
            name = word.rstrip("".join(TAILS))
            return word if begin < start or (TRANSCRIBED.fullmatch(name) and len(name) > end - start) else None
    return None


def _is_phrase(word: str, before: str) -> bool:
    """Return whether a Chinese word is an idiom, or a verb with the name as its object ("一登龙门"): no name."""
    tags = [tag for _, tag in tagged(before)] if before else []
    return [tag for _, tag in tagged(word)] in _PHRASES or (len(tags) > 1 and tags[0] in "md" and tags[-1] == "v")
