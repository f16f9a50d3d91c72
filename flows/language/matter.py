"""The subject of a question or a page, and tests whether a text is about it, or about something that belongs to it."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from flows.language import en, language_of
from flows.language.en.names import countries, is_of_a_people, place_class
from flows.language.en.nouns import Entity
from flows.language.en.numbers import date_of
from flows.language.en.phrases import is_dictionary_word
from flows.language.tables import patterns, word_list
from flows.language.zh.text import NAME_TAGS, normal, tagged

BRACKET = re.compile(r"\s*[(（].*?[)）]\s*$")
"""The bracket that distinguishes a page from others of its name: "Mercury (planet)"."""
_WIDE = word_list("zh", "wide")
"""Names that occur in half of all texts."""
_SHARED = 3
"""The length of a run of characters, shared by a question and its evidence, that counts as a name: 大沙地站."""
_NOMINAL = "nemaj"
"""First letters of the tags with which a name can end."""
_SIGNS = re.compile(r"[，,。、？?：:；;\s]")
_TITLED = re.compile(r"[《「『“]([^《》「」『』“”]{2,20})[》」』”]")


def page_name(title: str | None) -> str:
    """Return the subject of a page: its title without the bracket and without the underscores of some sources."""
    return BRACKET.sub("", (title or "").replace("_", " ")).strip()


@lru_cache(1024)
def matter_of(
    code: str, question: str, answer: str, evidence: str, sentence: str, title: str | None
) -> tuple[Entity, ...]:
    """Return the names in the question beside its answer, the page of its evidence, and the first name of the sentence.

    If a question names its page, the page alone: a question about Mozart in Vienna is not about Vienna. A country
    or a people counts only if nothing else is named; the nouns of a question count if it has no names.
    """
    page = page_name(title)
    in_text = _in_chinese if code == "zh" else _in_english
    in_question = in_text(question, evidence)
    if page and language_of(code).contains(question, page):
        in_question = []
    begins = [name for name in in_text(sentence, evidence)[:1] if not any(name in longer for longer in in_question)]
    names = [name for name in [*in_question, page, *begins] if name]
    names = [name for name in dict.fromkeys(names) if not _is_answer(code, name, answer)]
    narrow = [name for name in names if not _is_wide(code, name)] or names
    if narrow or code == "zh":
        return tuple(Entity(name, name.rpartition(" ")[2].lower(), is_name=True) for name in narrow)
    return tuple(
        entity for entity in en.entities(question) if not (entity.is_name or _is_answer(code, entity.text, answer))
    )


def speaks_of(code: str, passage: str, matter: Sequence[Entity]) -> bool:
    """True if a passage names a thing that a question is about, or half of its nouns; if it has neither, always."""
    named = sum(_is_named(code, passage, entity) for entity in matter)
    return not matter or (named > 0 if matter[0].is_name else 2 * named >= len(matter))


def _is_named(code: str, passage: str, entity: Entity) -> bool:
    if code == "zh":
        return language_of(code).contains(passage, entity.text)
    if entity.is_name and en.answer_type(entity.text) == "person":
        return bool(en.mentions(passage, entity.text))  # no other person of the last name
    return en.names(passage, entity)


def _in_english(text: str, evidence: str) -> list[str]:
    """The names of a text; a lone word of the dictionary ("the Parliament") if there is no other."""
    names = (entity.text for entity in en.entities(text) if entity.is_name and date_of(entity.text) is None)
    return [
        name
        for name in names
        if " " in name or place_class(name) is not None or not is_dictionary_word(name.casefold())
    ]


def _in_chinese(text: str, evidence: str) -> list[str]:
    """Return titles in their marks, the longest run of words shared with the evidence, and other names."""
    plain = normal(text).text
    shared = SequenceMatcher(None, plain, normal(evidence).text, autojunk=False).find_longest_match()
    if text in evidence:
        shared = shared._replace(size=0)  # a sentence of the evidence shares all
    words = list(tagged(plain[shared.a : shared.a + shared.size]))
    while words and words[-1][1][0] not in _NOMINAL:
        words.pop()
    while words and words[0][1][0] in "xpucdr":
        words.pop(0)
    stretch = max(_SIGNS.split("".join(word for word, _ in words)), key=len)
    names = [*_TITLED.findall(plain), *([stretch] if len(stretch) >= _SHARED else [])]
    others = (word for word, tag in tagged(plain) if tag in NAME_TAGS and len(word) > 1)
    return [*names, *(word for word in others if not any(word in longer for longer in names))]


def _is_answer(code: str, name: str, answer: str) -> bool:
    language = language_of(code)
    name_words = language.content_words(name)
    return name_words <= language.content_words(answer) or language.contains(name, answer)


def _is_wide(code: str, name: str) -> bool:
    if code == "zh":
        return name in _WIDE
    return name in countries() or all(is_of_a_people(word) for word in name.split())


_BELONGING_EN = re.compile(
    r"\b(?:cousin|(?:half-)?brother|(?:half-)?sister|father|mother|son|daughter|uncle|aunt|nephew|niece|wife|husband|"
    r"friend|pupil|student|teacher|colleague|rival|assistant|namesake|neighbou?r|successor|predecessor|forerunner|"
    r"sequel|remake|parody|copy|replica|suburb|tributary|relative|ancestor|offshoot|planning|opponent|side|act)s?\s+"
    r"(?:of|to)\s+(?:(?:the|an?)\s+)?[\"'“‘]?$",
    re.IGNORECASE,
)
"""Before a name: "a cousin of"."""
_BELONGING_ZH = patterns("zh")["belongs to what is named"]
"""Behind a name: "的续作"."""
_WORD = re.compile(r"[^\W\d_][\w’'.-]*")
_LEAST = 2
"""Characters of a Chinese name that are compared."""


def speaks_of_another(code: str, question: str, text: str) -> bool:
    """True if the text names the thing asked about only to identify another ("a cousin of", "a suburb of").

    Not if the question asks for that relation too: "who is the brother of".
    """
    if code == "zh":
        return any(
            len(lead := text[: match.start()].strip("”」』》")[-_LEAST:]) == _LEAST and lead in question
            for match in _BELONGING_ZH.finditer(text)
            if match[0] not in question
        )
    return _belongs(question, text) and not _belongs(question, question)


def _belongs(question: str, text: str) -> bool:
    asked = {word.casefold().removesuffix("'s") for word in _WORD.findall(question)}
    return any(
        match[0].casefold().removesuffix("'s").rstrip(".") in asked and _BELONGING_EN.search(text[: match.start()])
        for match in _WORD.finditer(text)
    )
