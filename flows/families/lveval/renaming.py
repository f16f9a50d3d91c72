"""Replacement rules and answer keywords without a model: a floor for people to start from (sections 3.2.3 and 3.3)."""

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from flows.families.lveval.naming import rules_problem
from flows.families.lveval.prompts import Keywords, RuleList, ToMark, ToRename
from flows.language import en, language_of, zh
from flows.language.en_names import is_first_name, place_class
from flows.language.en_persons import personal_name
from flows.language.en_phrases import is_dictionary_word
from flows.language.keywords import occurs
from flows.llm.model import Invalid
from schemas.lveval import Rule

TRIED = 12
"""Substitutes that are tried for a name."""
_DEMONYM = re.compile(r"(?:ans?|ese|ish|[ei]c|ites?|ch)$")
"""Ends of words for peoples and languages, which are no names to be replaced."""
_DOT = re.compile(r"[·・•‧]")
_TRANSCRIBED = re.compile(
    "[阿埃艾安奥巴贝比彼波布查达戴德迪多厄尔法菲费弗夫盖格古哈海赫胡基吉加杰卡坎科克库拉莱兰劳勒雷里利林隆卢鲁伦罗洛马麦曼梅米"
    "莫姆穆纳内尼涅努诺欧帕佩皮珀普奇乔切萨塞赛森沙圣施史斯索塔泰特提图托瓦万威韦维温沃伍西希谢辛休雅亚扬耶伊因英约泽扎詹赞兹]+"
)
"""Characters that write foreign names: a name of them alone may be a piece of a longer one."""
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_NUMBER = re.compile(r"[0-9０-９]+(?:[.,．，][0-9０-９]+)*")


@cache
def chinese(kind: str) -> tuple[str, ...]:
    """The packaged Chinese names of a kind: country, city, surname, given (a character of a given name)."""
    lines = Path(__file__).with_name("names.zh.tsv").read_text(encoding="utf-8").splitlines()
    table = dict(line.split("\t") for line in lines if not line.startswith("#"))
    return tuple(table[kind].split())


def replacement_rules(asked: ToRename, rng: random.Random) -> RuleList:
    """Names of the question, then of the answers, each with its parts: persons, places, and names of one unusual word.

    A person takes the first name of one candidate and the family name of another, so that nobody is meant.
    """
    rules: list[Rule] = []
    texts = "\n".join((asked.question, *asked.answers, *asked.sentences))
    for name, others in _ranked(asked):
        if any(name in rule.old or rule.old in name for rule in rules):
            continue
        for made in _rules_for(name, others, texts, asked.language, rng):
            if rules_problem(asked, [*rules, *made]) is None:
                rules.extend(made)
                break
    if not rules:
        raise Invalid("no name to be replaced", asked.question)
    return RuleList(rules=tuple(rules))


def _ranked(asked: ToRename) -> list[tuple[str, tuple[str, ...]]]:
    """Names of question and answers that can be replaced, those of the question first, longest first."""
    own = {one.name: one.others for one in asked.candidates}
    asked_for = occurs(asked.question, list(own), asked.language)
    answered = occurs("\n".join(asked.answers), list(own), asked.language)
    order = sorted(asked_for | answered, key=lambda name: (name not in asked_for, -len(name), name))
    return [(name, own[name]) for name in order]


def _rules_for(
    name: str, others: tuple[str, ...], texts: str, language: str, rng: random.Random
) -> Iterator[list[Rule]]:
    """Sets of rules for a name: the name itself, and the parts of it by which the texts go on to speak of it."""
    order = rng.sample(others, len(others))
    if language == "zh":
        yield from _in_chinese(name, order, texts, rng)
    elif _is_person(name):
        yield from _of_person(name, order, texts)
    elif (kind := _kind(name)) is not None:
        fit = (other for other in order if _kind(other) == kind and not en.mentions(other, name))
        yield from ([Rule(old=name, new=other)] for other in fit)


def _is_person(name: str) -> bool:
    words = name.split()
    return (
        len(words) in (2, 3)
        and personal_name(name) is not None
        and is_first_name(words[0])
        and len(words[-1]) > 2
        and all(word[:1].isupper() and word.replace("-", "").replace("'", "").isalpha() for word in words)
    )


def _kind(name: str) -> str | None:
    """What else can stand for a name that is no person's: a place of the same class, or a name of one unusual word."""
    if en.answer_type(name) == "place":
        return f"place {place_class(name)}" if place_class(name) else None
    if len(name.split()) == 1 and name.isalpha() and name[:1].isupper() and not name.isupper():
        common = is_dictionary_word(name.lower()) or is_first_name(name) or _DEMONYM.search(name)
        return None if common else "coined"
    return None


def _of_person(name: str, others: list[str], texts: str) -> Iterator[list[Rule]]:
    words = name.split()
    people = [one.split() for one in others if _is_person(one) and en.gender(one) == en.gender(name)]
    bare = texts.replace(name, " ")
    for first, last in zip(people[:TRIED], people[1:] + people[:1], strict=False):
        made = [Rule(old=name, new=f"{first[0]} {last[-1]}")]
        if occurs(bare, [words[-1]], "en"):
            made.append(Rule(old=words[-1], new=last[-1]))
        if occurs(bare, [words[0]], "en"):
            made.append(Rule(old=words[0], new=first[0]))
        yield made


def _in_chinese(name: str, others: list[str], texts: str, rng: random.Random) -> Iterator[list[Rule]]:
    """Countries for countries, cities for cities; a Chinese name for a Chinese one, a foreign one of two others."""
    for group in (chinese("country"), chinese("city")):
        if name in group:
            yield from ([Rule(old=name, new=other)] for other in rng.sample(group, TRIED))
            return
    parts = _DOT.split(name)
    if len(parts) > 1 and zh.answer_type(name) == "person":
        foreign = [_DOT.split(one) for one in others if _DOT.search(one)]
        for first, last in zip(foreign[:TRIED], foreign[1:] + foreign[:1], strict=False):
            made = [Rule(old=name, new=f"{first[0]}·{last[-1]}")]
            if parts[-1] in texts.replace(name, " "):
                made.append(Rule(old=parts[-1], new=last[-1]))
            yield made
    elif (
        len(name) in (2, 3)
        and name[0] in chinese("surname")
        and not _TRANSCRIBED.fullmatch(name)
        and zh.answer_type(name) == "person"
    ):
        for _ in range(TRIED):
            given = "".join(rng.sample(chinese("given"), len(name) - 1))
            yield [Rule(old=name, new=f"{rng.choice([one for one in chinese('surname') if one != name[0]])}{given}")]


def answer_keywords(asked: ToMark, rng: random.Random) -> Keywords:
    """The words of the answer that carry meaning and are not in the question; of a number, the number alone."""
    language = language_of(asked.language)
    if asked.language == "zh":
        return Keywords(keywords=_chinese_keywords(asked))
    words = _WORD.findall(asked.answer)
    counted = [word for word in words if any(sign.isdigit() for sign in word)]
    if counted and language.answer_type(asked.answer, asked.question) == "number":
        return Keywords(keywords=" ".join(counted))
    said = language.content_words(asked.question)
    telling = [word for word in words if language.content_words(word)]
    new = [word for word in telling if not language.content_words(word) <= said]
    if telling and telling[-1] not in new:
        new = telling  # the question names what there is to choose from
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return Keywords(keywords=" ".join(chosen))


def _chinese_keywords(asked: ToMark) -> str:
    from flows.language.zh import STOP_WORDS
    from flows.language.zh_text import tagged

    numbers = _NUMBER.findall(asked.answer)
    if numbers and zh.answer_type(asked.answer, asked.question) in ("number", "date"):
        return " ".join(numbers)
    words = [word.strip() for word, _ in tagged(asked.answer)]
    words = [word for word in words if word and any(sign.isalnum() for sign in word)]
    telling = [word for word in words if word not in STOP_WORDS]
    new = [word for word in telling if word not in asked.question]
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return " ".join(chosen)
