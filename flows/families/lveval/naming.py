"""What replacement rules and answer keywords must meet (sections 3.2.3 and 3.3), by the pair's own texts.

A rule that cannot be applied is left out, and with it those that cannot be applied without it; the others stay.
What distracting documents have against a rule stands in `conflicts.py`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from flows.families.lveval.library import BETWEEN
from flows.families.lveval.pool import names as names_in
from flows.language import en, language_of, zh
from flows.language.boundaries import boundaries
from flows.language.en.names import (
    PARTICLES,
    SUFFIXES,
    TITLES,
    classes,
    is_familiar_place,
    is_first_name,
    is_surname,
    place_class,
)
from flows.language.en.persons import personal_name
from flows.language.en.phrases import article, is_dictionary_word
from flows.language.en.tokens import word_set
from flows.language.keywords import Edit, met, occurs, problems, readable, replacer
from flows.language.other_names import other_names
from flows.language.zh.text import tagged, words
from flows.llm.model import Problem
from flows.scoring.words import WORDS, released_blacklist
from schemas.lveval import Conflict, Rule

NOWHERE = "the keyword stands nowhere"
STANDS = "the substitute stands there already"
SHARED = "keyword and substitute share a name"
KIND = "the substitute is of another kind"
PLAIN = "a number or a single character is replaced"
FORM = "keyword and substitute differ in form"
COMMON = "the keyword stands there as a common word too"
ARTICLE = "it does not go with the article before it"
AMONG_RULES = "it does not go with another rule"
INSIDE = "the keyword stands inside a longer name"
PART = "a part of the name goes on to stand there"
OTHER = "another name of the same thing goes on to stand there"
FOLLOWS = "the answer no longer follows"
UNDONE = "it cannot be undone"
TOGETHER = "another rule for the same name is left out"
EXTRA = "one rule too many"

_SENTENCE_ENDS = re.compile(r"[?!;。？！；]")
_BEFORE = re.compile(r"([A-Z][\w’'.-]*)[ \u00a0]$")
_AFTER = re.compile(r"[ \u00a0]([A-Z][\w’'-]*)")
_ARTICLE = re.compile(r"\b(an?)\s$", re.IGNORECASE)
_RANKS = word_set("khan pasha bey raja rani maharaja shogun mirza")
"""Words of rank behind a name, which may stay as titles may."""
_UNISEX = word_set(
    "alex ashley avery blake cameron casey charlie dana drew frankie ira jamie jan jean jesse jordan kelly kim kit "
    "leslie lee lynn morgan pat quinn robin rowan sam sasha shannon stacy taylor terry tracy val"
)
"""First names of men and women."""
_PRONOUNS = {
    "male": re.compile(r"\b(?:he|his|him)\b", re.IGNORECASE),
    "female": re.compile(r"\b(?:she|hers?)\b", re.IGNORECASE),
}
_BARE_GENITIVE = re.compile(r"['’](?= [a-z])")
_DIRECTIONS = word_set("new north south east west northern southern eastern western great old upper lower")
"""Words that make another place of the one they stand before."""
_DOTS = "·・•‧"
_DOT = re.compile(f"[{_DOTS}]")
TAILS = frozenset(
    "省市县区州郡府道路街村镇乡山河江湖海岛洋港湾桥寺塔宫城国人语族式军队党会社局厅部院校馆园站线铁派系号县属科氏岭峰海峡洲"
)
"""Characters that say what kind of thing a Chinese name is of, as the last of the name or the first after it."""
_INSTITUTIONS = frozenset("院校馆会社局厅部园站店寺庙塔桥")
"""Characters that end words for institutions and buildings, of whatever length."""
TRANSCRIBED = re.compile(
    "[阿埃艾安奥巴贝比彼波布查达戴德迪多厄尔法菲费弗夫盖格古哈海赫胡基吉加杰卡坎科克库拉莱兰劳勒雷里利林隆卢鲁伦罗洛马麦曼梅米"
    "莫姆穆纳内尼涅努诺欧帕佩皮珀普奇乔切萨塞赛森沙圣施史斯索塔泰特提图托瓦万威韦维温沃伍西希谢辛休雅亚扬耶伊因英约泽扎詹赞兹]+"
)
"""Characters that write foreign names: a name of them alone may be a piece of a longer one."""
_ADJECTIVE = re.compile(r"(?:ans?|ese|ish|[ei]c|ites?|ch|ern|ist)$|^christmas$|^easter$")
"""Ends of words for peoples, languages and parts of the world, and feasts: by themselves they tell of no one thing."""
_NUMERALS = frozenset("0123456789０１２３４５６７８９一二三四五六七八九十百千万亿两.,")
_NAMES = ("nr", "ns", "nt", "nz")
_PHRASES = (["i"], ["l"], ["v"])
"""Parts of speech of the words that hold a name and are none: idioms, set phrases, verbs."""
_NEAR = 12
"""Characters on either side of a Chinese keyword in which a longer word is looked for."""
_SHOWN = 200
_TOLD = 6
"""Rules that are said to be wrong at once, at most."""
_ALIKE = 0.8
"""How much two keywords have in common, from which on they are two spellings of one name."""
_NAME_LENGTHS = (2, 3)
"""Characters of a Chinese name whose first is the family's."""
_TELLING = 4
"""Letters of a word by which alone a name is known."""
_TELLING_DIGITS = 3
"""Digits of a number by which alone a name is known ("the 747"); dates apart."""
_SHORT = 2
"""Words of a name that one unusual word of it may stand for."""
_ADJECTIVES = {"France": "French", "Wales": "Welsh", "Netherlands": "Dutch", "Greece": "Greek", "Iraq": "Iraqi"}
"""Of countries whose adjective begins or ends otherwise than most."""
_INNER_NAME = r"(?<=[a-z,] )({})(?!\w| [A-Z])"
"""A family name within a sentence, by itself."""
_ITS_YEAR = re.compile(r",? [12]\d{3}\b")
_DATE_WORD = re.compile(r"\d{4}|\d{1,2}|[^\W\d_]+")


class Renamed(Protocol):
    """The texts of a pair in which names are replaced."""

    @property
    def question(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def sentences(self) -> tuple[str, ...]: ...
    @property
    def documents(self) -> tuple[str, ...]: ...
    @property
    def language(self) -> str: ...
    @property
    def most(self) -> int: ...


@dataclass(frozen=True)
class Texts:
    """A pair's own texts: where its rules are applied first."""

    question: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    language: str
    facts: tuple[str, ...] = ()

    @cached_property
    def together(self) -> str:
        """All of them, with nothing that goes across from one to the next."""
        return BETWEEN.join((self.question, *self.answers, *self.documents, *self.facts))


def sides_of(rules: Iterable[Rule]) -> tuple[tuple[str, str], ...]:
    """The rules as pairs of keyword and substitute."""
    return tuple((rule.old, rule.new) for rule in rules)


# ---- what is proposed ----


def rules_problem(asked: Renamed, rules: Sequence[Rule]) -> Problem:
    """What is wrong with a proposal: with which rules, and why; or that it leaves question and answers as they are."""
    kept, lost = sift(asked, rules)
    if lost:
        return lost[0].kind, f"{_told(lost[:_TOLD], rules)}. Mend or leave out these rules, and keep the others"
    if not touches(asked, kept) and (names := _names_asked(asked)):
        return "question and answers stay as they are", f"replace one of their names at least: {', '.join(names)}"
    return None


def _told(lost: Sequence[Conflict], rules: Sequence[Rule]) -> str:
    """What is wrong with each rule, each reason said once; the first reason is said by whoever tells this."""
    by_kind: dict[str, list[str]] = {}
    for conflict in lost:
        lines = by_kind.setdefault(conflict.kind, [])
        if (line := _line(conflict, rules)) not in lines:
            lines.append(line)
    first, *others = by_kind
    return ". ".join(("; ".join(by_kind[first]), *(f"And {kind}: {'; '.join(by_kind[kind])}" for kind in others)))


def _line(conflict: Conflict, rules: Sequence[Rule]) -> str:
    """The rule and what shows that it does harm."""
    of_keyword = [rule for rule in rules if rule.old == conflict.old]
    rule = next((rule for rule in of_keyword if conflict.excerpt.startswith(f"{rule}: ")), of_keyword[0])
    shown = conflict.excerpt
    for lead in (f"{rule}: ", f"{rule.old!r} -> {rule.new!r}: "):
        shown = shown.removeprefix(lead)
    return f"{rule}: {shown.rstrip('.。')}"


def _names_asked(asked: Renamed) -> list[str]:
    """The persons, places and organisations that question and answers name."""
    texts = (asked.question, *asked.answers)
    named = dict.fromkeys(name for text in texts for name, _ in names_in(asked.language, text))
    return [name for name in named if not name.isupper()]


def sift(asked: Renamed, rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    """The rules of a proposal that can be applied, and what speaks against the others, each by its keyword."""
    documents = asked.documents or asked.sentences
    texts = Texts(asked.question, asked.answers, documents, asked.language)
    extra = [Conflict(old=rule.old, kind=EXTRA, excerpt=f"at most {asked.most}") for rule in rules[asked.most :]]
    kept, lost = settle(
        rules[: asked.most], lambda left: [*_unfit(left, texts), *objections(left, texts)], asked.language
    )
    return kept, (*lost, *extra)


def touches(asked: Renamed, rules: Sequence[Rule]) -> bool:
    """Whether a rule replaces something in the question or an answer."""
    return bool(occurs(BETWEEN.join((asked.question, *asked.answers)), [rule.old for rule in rules], asked.language))


def _unfit(rules: Sequence[Rule], texts: Texts) -> Iterator[Conflict]:
    """What a rule is not to be like, whatever the other rules are."""
    there = occurs(texts.together, [rule.old for rule in rules], texts.language)
    for rule in rules:
        problem = (
            (NOWHERE, "it must be copied letter for letter") if rule.old not in there else _own_problem(rule, texts)
        )
        if problem is not None:
            yield Conflict(old=rule.old, kind=problem[0], excerpt=f"{rule}: {problem[1]}")
    sound = [rule for rule in rules if _readable(rule)]
    if texts.language == "en" and sound:
        for edit in replacer(sides_of(sound), "en").edits(texts.together):
            genitive = edit.old[-1:] in "sS" and edit.new[-1:] not in "sS"
            opened = texts.together[max(0, edit.start - 1) : edit.start] in ("'", "‘")
            if genitive and not opened and _BARE_GENITIVE.match(texts.together, edit.end):
                rule = _rule_of(edit, sound)
                said = f"{rule}: {edit.old + chr(39)!r} stands there, so the substitute ends in s too"
                yield Conflict(old=rule.old, kind=FORM, excerpt=said)
            before = _ARTICLE.search(texts.together, max(0, edit.start - 4), edit.start)
            if before and article(edit.old) == before[1].lower() != (wanted := article(edit.new)):
                rule = _rule_of(edit, sound)
                yield Conflict(
                    old=rule.old, kind=ARTICLE, excerpt=f"{rule}: it stands after {before[1]!r}, not {wanted!r}"
                )


def _own_problem(rule: Rule, texts: Texts) -> Problem:
    old, new = rule.old, rule.new
    if _SENTENCE_ENDS.search(new):
        return FORM, "the substitute holds a sign that ends a sentence"
    if texts.language == "en" and old[:1].isupper() != new[:1].isupper() and new[:1].isalpha():
        return FORM, "one begins with a capital, the other does not"
    if shared := shared_names(old, new, texts.language):
        return SHARED, ", ".join(sorted(shared))
    if texts.language == "zh" and len(old.strip()) == 1:
        return PLAIN, "a single character stands in many words; take the characters beside it along"
    return _kind_problem(old, new, texts)


def _kind_problem(old: str, new: str, texts: Texts) -> Problem:
    """Whether a date is no date any more, or a person is another kind of person."""
    code = texts.language
    language = language_of(code)
    was, now = language.answer_type(old), language.answer_type(new)
    dated = was == "date" or is_year(old)
    if not dated and was == "number" and (code != "zh" or set(old[:-1]) <= _NUMERALS):
        return PLAIN, "numbers stay as they are, but for years"
    if dated != (now == "date" or is_year(new)):
        return KIND, "a date takes the place of a date"
    if dated and _form_of_date(old) != _form_of_date(new):
        return KIND, "a date is written as the one before: day, month and year alike"
    if code == "zh" or was != "person":
        return None
    one, other = _told_gender(old, texts) or _gender(old), _gender(new)
    if now == "person" and one is not None and other is not None and one != other:
        return KIND, f"a {one} name becomes a {other} one"
    return (KIND, "a person is no place") if is_familiar_place(new) else None


def _gender(name: str) -> str | None:
    """The gender that a name tells; a first name that men and women have tells none."""
    return None if name.split(maxsplit=1)[0].casefold() in _UNISEX else en.gender(name)


def _told_gender(name: str, texts: Texts) -> str | None:
    """The gender that the pronouns of a text about somebody tell; it outweighs that of the first name."""
    about = [text for text in texts.documents if text.startswith(name)]
    told = {gender for text in about for gender, pronoun in _PRONOUNS.items() if pronoun.search(text)}
    return told.pop() if len(told) == 1 else None


def is_year(text: str) -> bool:
    """Whether the text is a year by itself."""
    return re.fullmatch(r"1\d{3}|20\d{2}", text.strip()) is not None


def _form_of_date(date: str) -> str:
    """The date with a letter for each of its numbers and months."""

    def part(match: re.Match[str]) -> str:
        word = match[0]
        if word.isdigit():
            return "y" if len(word) == 4 else "d"
        return "m" if word[:1].isupper() else word

    return _DATE_WORD.sub(part, date)


def shared_names(old: str, new: str, code: str) -> frozenset[str]:
    """The names that stand on both sides of a rule: words that generic heads, small words and common words are not."""
    if code == "zh":
        mine, theirs = (
            {word for word, tag in tagged(side) if len(word) > 1 and tag.startswith(_NAMES)} | set(_DOT.split(side))
            for side in (old, new)
        )
        return frozenset(word for word in mine & theirs if len(word) > 1 and not _is_generic_zh(word))
    person = personal_name(old) is not None and any(map(is_first_name, old.split()[:1]))
    mine, theirs = ({word for word in _words_of(side) if _is_name_en(word, of_person=person)} for side in (old, new))
    return frozenset(mine & theirs) if person or mine <= theirs else frozenset()


def _words_of(side: str) -> set[str]:
    return {word.strip(".,'’\"()") for word in side.split()}


def _is_generic_zh(word: str) -> bool:
    """Whether a Chinese word says what kind of thing something is."""
    return word[-1] in _INSTITUTIONS or (word[-1] in TAILS and len(word) <= 2)


def _is_name_en(word: str, *, of_person: bool) -> bool:
    low = word.casefold()
    if not word[:1].isupper() or len(word) < 2 or low in classes("head") or low in TITLES or low in _RANKS:
        return False
    if of_person:
        return low not in SUFFIXES and low not in PARTICLES
    return len(word) >= _TELLING and not is_dictionary_word(low)


# ---- one rule lost is not all ----


def settle(
    rules: Sequence[Rule], found: Callable[[Sequence[Rule]], Iterable[Conflict]], code: str
) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    """The rules that nothing speaks against, and all that speaks against the others.

    A rule left out can bring others into conflict: those for other spellings of its name go with it, and what is found
    without it says so. Of rules with one keyword the first is kept; one that only differs by case is none of its own.
    """
    left, lost = _each_once(rules)
    before: list[Rule] = []
    while left:
        against = list(dict.fromkeys(found(left)))
        harmful = {conflict.old for conflict in against}
        gone = [rule for rule in left if rule.old in harmful]
        if not gone:
            break
        useless = {conflict.old for conflict in against if conflict.kind in (NOWHERE, COMMON)}
        lost += [_because(conflict, [one for one in before if _related(one.old, conflict.old)]) for conflict in against]
        for rule in left:
            if rule.old not in harmful:
                other = next((one for one in gone if one.old not in useless and of_one_name(one, rule, code)), None)
                if other is not None:
                    gone.append(rule)
                    lost.append(Conflict(old=rule.old, kind=TOGETHER, excerpt=f"{rule}: {other} is left out"))
        left, before = tuple(rule for rule in left if rule not in gone), [*before, *gone]
    order = {rule.old: place for place, rule in reversed(list(enumerate(rules)))}
    return left, tuple(sorted(dict.fromkeys(lost), key=lambda conflict: order[conflict.old]))


def _each_once(rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], list[Conflict]]:
    kept: dict[str, Rule] = {}
    lost: list[Conflict] = []
    for rule in rules:
        first = kept.setdefault(rule.old.casefold(), rule)
        if first.new.casefold() != rule.new.casefold():
            lost.append(Conflict(old=rule.old, kind=AMONG_RULES, excerpt=f"{rule}: there is {first}"))
    return tuple(kept.values()), lost


def _because(conflict: Conflict, of: Sequence[Rule]) -> Conflict:
    """The conflict with the rules that were left out before it came about."""
    if not of:
        return conflict
    return conflict.model_copy(
        update={"excerpt": f"since {' and '.join(map(str, of))} is left out: {conflict.excerpt}"}
    )


def _related(old: str, other: str) -> bool:
    return old.casefold() in other.casefold() or other.casefold() in old.casefold()


def of_one_name(rule: Rule, other: Rule, code: str) -> bool:
    """Whether two rules are for spellings or forms of one name, which is to be renamed in all of them or in none."""
    mine, theirs = ("".join(filter(str.isalnum, one.old.casefold())) for one in (rule, other))
    if min(len(mine), len(theirs)) >= _TELLING and SequenceMatcher(None, mine, theirs, False).ratio() >= _ALIKE:
        return True
    return bool(_shared(rule.old, other.old, code)) and bool(_shared(rule.new, other.new, code))


def _shared(one: str, other: str, code: str) -> frozenset[str]:
    if code == "zh":
        return frozenset(filter(lambda part: len(part) > 1, set(_DOT.split(one)) & set(_DOT.split(other))))
    return frozenset(word for word in _words_of(one) & _words_of(other) if _is_name_en(word, of_person=True))


# ---- what a pair's own texts have against rules ----


def objections(rules: Sequence[Rule], texts: Texts) -> Iterator[Conflict]:
    """All that goes wrong in the pair's own texts where the rules are applied, and among the rules themselves."""
    against = problems(sides_of(rules), texts.language)
    yield from (Conflict(old=problem.rule[0], kind=AMONG_RULES, excerpt=str(problem)) for problem in against)
    unsound = {problem.rule for problem in against}
    sound = [rule for rule in rules if (rule.old, rule.new) not in unsound]
    if not sound:
        return
    sides, own = sides_of(sound), texts.together
    way, lowered = replacer(sides, texts.language), own.casefold()
    standing = met(own, sides, texts.language)
    for old, new in standing:
        yield Conflict(
            old=old, kind=STANDS, excerpt=f"{new}: {excerpt(own, lowered.find(new.casefold()), texts.language)}"
        )
    for old, _ in (rule for rule in way.unreturned(own) if rule not in standing):
        yield Conflict(old=old, kind=UNDONE, excerpt=excerpt(own, lowered.find(old.casefold()), texts.language))
    edits = way.edits(own)
    spans = {(edit.start, edit.end) for edit in edits}
    families = {rule.old.split()[-1] for rule in sound if " " in rule.old.strip()}
    if texts.language == "zh":  # who has the family name keeps it in common, whatever spelling the full name has
        last = {_DOT.split(rule.new)[-1] for rule in sound if _DOT.search(rule.new)}
        families = {rule.old for rule in sound if rule.new in last}
    inside: set[str] = set()
    common: set[str] = set()
    for edit in edits:
        rule = _rule_of(edit, sound)
        if texts.language == "en" and rule.old not in common and is_common_word(edit.old, rule.old):
            common.add(rule.old)
            yield Conflict(old=rule.old, kind=COMMON, excerpt=excerpt(own, edit.start, texts.language))
        longer = longer_name(own, edit.start, edit.end, texts.language, family=edit.old in families)
        beside = any(end in (edit.start - 1, edit.start) or start in (edit.end, edit.end + 1) for start, end in spans)
        if longer and not beside and rule.old not in inside:
            inside.add(rule.old)
            yield Conflict(old=rule.old, kind=INSIDE, excerpt=f"{longer}: {excerpt(own, edit.start, texts.language)}")
    yield from _left_in_part(sound, edits, texts)
    yield from _unanswered(sound, texts)


def is_common_word(found: str, keyword: str) -> bool:
    """Whether what was found for an English name is a common word that is spelt like it: "will" for "Will"."""
    return found.islower() and keyword[:1].isupper() and is_dictionary_word(found)


def _readable(rule: Rule) -> bool:
    return readable(rule.old) and readable(rule.new)


def _rule_of(edit: Edit, rules: Sequence[Rule]) -> Rule:
    """The rule that made the edit."""
    wanted = _plain(edit.old)
    return next((rule for rule in rules if _plain(rule.old) == wanted), rules[0])


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _left_in_part(rules: Sequence[Rule], edits: Sequence[Edit], texts: Texts) -> Iterator[Conflict]:
    """Rules for what goes on to stand in the texts by a part of its name, another form of it or another name."""
    own = texts.together
    starts, ends = [edit.start for edit in edits], [edit.end for edit in edits]
    for rule in rules:
        by_kind = {
            PART: forms_of(rule, own, texts.language),
            OTHER: other_names(own, rule.old, texts.language),
        }
        for kind, forms in by_kind.items():
            for start, end in forms:
                if bisect_left(starts, end) <= bisect_right(ends, start):  # no edit reaches into it
                    said = f"{own[start:end]!r} in: {excerpt(own, start, texts.language)}"
                    yield Conflict(old=rule.old, kind=kind, excerpt=said)
                    break


def forms_of(rule: Rule, text: str, code: str) -> Iterator[tuple[int, int]]:
    """Where a text speaks of what the keyword names, by whatever form or part of it."""
    for mention in language_of(code).mentions(text, rule.old):
        of_another_year = mention.form == "part" and _ITS_YEAR.match(text, mention.end)
        if not of_another_year:
            yield mention.start, mention.end
    for part in _telling_parts(rule, code):
        pattern = re.escape(part) if code == "zh" else rf"(?<!\w){re.escape(part)}(?!\w)"
        yield from (match.span() for match in re.finditer(pattern, text))
    if code == "en":
        yield from _of_country(rule, text)
    if code == "en" and (name := personal_name(rule.old)) is not None and is_first_name(old_words(rule)[0]):
        family = old_words(rule)[-1]
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
    """Whether a family name at `place` stands within somebody's full name: "Benji Lee" beside "Chris Lee"."""
    before = _BEFORE.search(text, max(0, place - 40), place)
    return before is not None and before[1].rstrip(".").casefold() not in TITLES and not _opens(text, before.start())


def _of_country(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Where a country that is renamed, by itself or inside a name, goes on to stand, or the adjective of it."""
    for word in old_words(rule):
        if place_class(word) == "country" and word not in _words_of(rule.new):
            adjective = _ADJECTIVES.get(word) or rf"{re.escape(word[:3])}[a-z]*(?:ish|ese|an)"
            pattern = adjective if rule.old == word else re.escape(word)
            yield from (match.span() for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text))


def _telling_parts(rule: Rule, code: str) -> Iterator[str]:
    """The parts of a keyword by which alone its name is known: unusual words, a Chinese name without its tail."""
    if code == "zh":
        stem = rule.old[:-1]
        if rule.old[-1:] in TAILS and len(stem) > 1 and stem not in rule.new:
            flags = [tag for _, tag in tagged(stem)]
            if len(flags) > 1 or not flags[0].startswith("n"):
                yield stem
        return
    words = [word for word in old_words(rule) if word.casefold() not in ("a", "an", "the")]
    kept = _words_of(rule.new)
    yield from (word for word in words if word.isdigit() and len(word) >= _TELLING_DIGITS and word not in kept)
    for word in words if len(words) <= _SHORT else ():
        low = word.casefold()
        common = is_dictionary_word(low) or low in TITLES or _ADJECTIVE.search(low) or word in rule.new
        known = is_first_name(word) or place_class(word)
        if word[:1].isupper() and len(word) >= _TELLING and word.isalpha() and not (common or known):
            yield word


def old_words(rule: Rule) -> list[str]:
    """The words of the keyword in their order, without signs."""
    return [word.strip(".,'’\"()") for word in rule.old.split()]


def _unanswered(rules: Sequence[Rule], texts: Texts) -> Iterator[Conflict]:
    """Rules after which an answer that stood in the documents stands there no more."""
    language = language_of(texts.language)
    for answer in texts.answers:
        holding = [text for text in texts.documents if language.contains(text, answer)]

        def follows(left: Sequence[Rule], answer: str = answer, holding: Sequence[str] = tuple(holding)) -> bool:
            way = replacer(sides_of(left), texts.language)
            return not holding or any(language.contains(way.apply(text), way.apply(answer)) for text in holding)

        if follows(rules):
            continue
        blamed = [rule for rule in rules if follows([one for one in rules if one != rule])]
        put = replacer(sides_of(rules), texts.language).apply(answer)
        for rule in blamed or [rule for rule in rules if language.contains(answer, rule.old)] or rules:
            yield Conflict(old=rule.old, kind=FOLLOWS, excerpt=f"{answer} would be {put}")


def longer_name(text: str, start: int, end: int, code: str, *, family: bool = False) -> str | None:
    """The name of something else that `text[start:end]` is a part of; None where there is none.

    What kind of thing it is may stand beside a name ("Galata Bridge"). In English another name begins with a first
    name or a direction before the keyword ("Abraham Lincoln", "New England"; not where it is a `family` name that is
    renamed for all who have it), or with a family name behind a place ("Paris Hilton"). In Chinese it is a longer word,
    but for a tail that says its kind, or two words that both reach into the keyword.
    """
    if code == "zh":
        last_of_name = text[start - 1 : start] in set(_DOTS) and text[end : end + 1] not in set(_DOTS)
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
    """Whether a sentence begins at `place`."""
    left = text[:place].rstrip(" \n\t\"'“‘(")
    return not left or left[-1] in '.!?:;\n”’"' or text[:place].endswith("\n")


def _longer_word(text: str, start: int, end: int) -> str | None:
    if text[start - 1 : start] in set(_DOTS) or (text[end : end + 1] in set(_DOTS) and text[end : end + 1]):
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
    """Whether a Chinese word is an idiom, or what is done to the name at its end ("一登龙门"), and so no name."""
    tags = [tag for _, tag in tagged(before)] if before else []
    return [tag for _, tag in tagged(word)] in _PHRASES or (len(tags) > 1 and tags[0] in "md" and tags[-1] == "v")


def excerpt(texts: str, place: int, code: str) -> str:
    """The sentence that holds the place, in texts that stand together."""
    place = max(0, place)
    first, last = texts.rfind(BETWEEN, 0, place), texts.find(BETWEEN, place)
    begin = first + len(BETWEEN) if first >= 0 else 0
    text = texts[begin : last if last >= 0 else len(texts)]
    ends = [0, *boundaries(text, code), len(text)]
    sentence = next((text[one:other] for one, other in pairwise(ends) if one <= place - begin < other), text)
    return " ".join(sentence.split())[:_SHOWN]


# ---- answer keywords ----


def keywords_problem(language: str, answer: str, keywords: str) -> Problem:
    """Why these are no keywords of the answer: each is a word of it, in its order, and one tells something."""
    if not keywords.strip():
        return "no keyword", "mark one word of the answer at least"
    place = 0
    for keyword in keywords.split():
        found = place_of_word(language, answer, keyword, place)
        if found is None:
            return "keyword is no word of the answer", f"{keyword!r} must stand in {answer!r}, in its order"
        place = found[1]
    if not marks(language, keywords):
        return "keywords tell nothing", f"{keywords!r} are words that stand in any answer; mark one that tells"
    return None


def place_of_word(language: str, answer: str, keyword: str, begin: int = 0) -> tuple[int, int] | None:
    """Where the keyword stands in the answer as a whole word, from `begin` on, whatever the case."""
    wanted = re.escape(keyword)
    if language != "zh":
        wanted = rf"(?<!\w){wanted}(?!\w)"
    found = re.compile(wanted, re.IGNORECASE).search(answer, begin)
    if found is None or not language_of(language).contains(answer, keyword):
        return None
    return found.span()


def marks(language: str, keywords: str) -> bool:
    """Whether a keyword counts in the score: it is not on the blacklist, and not signs alone."""
    return any(word not in released_blacklist(language) for word in WORDS[language](keywords))
