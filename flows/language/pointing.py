"""Words of a sentence or question that point at something outside it: "this attempt", "his manuscript"."""

import re

from flows.language import language_of
from flows.language.en.pointing import (
    en_points_outside,
    en_question_points_outside,
    names_what_is_asked,
    points_back,
    vague_phrase,
)
from flows.language.matter import page_name
from flows.language.zh.pointing import demonstrative_without_name, zh_points_outside, zh_question_points_outside


def points_outside(code: str, sentence: str) -> str | None:
    """Return the word or phrase of a sentence that only the text before it explains; None if there is none.

    It is the subject (`Language.dangling_subject`), a pronoun or possessive for a person whom the sentence has not
    named before it, or, in English, "this" with a noun in the first clause.
    """
    return zh_points_outside(sentence) if code == "zh" else en_points_outside(sentence)


def leans_on_what_is_asked(
    code: str, question: str, answer: str, sentence: str, title: str | None = None
) -> str | None:
    """Return the phrase of a sentence that only makes sense together with the question's evidence; else None.

    A sentence with every name of the question, or a noun of a question without names, says what it is about.
    So does one that names the page it is from (`title`), unless it points at a time or deed before it ("at the time",
    "did so"). In any other sentence, "the summit", "that summit" and "she" must have their noun or person in the
    sentence itself. Names are recognised by their capitals. Chinese phrases with 该, 此 or 本 lean on earlier text.
    """
    if code == "en" and (pointing := points_back(sentence)) is not None:
        return pointing
    if title is not None and names_page(code, title, sentence):
        return None
    if code == "zh":
        return demonstrative_without_name(question, answer, sentence)
    return None if names_what_is_asked(question, answer, sentence) else vague_phrase(sentence, answer)


def names_page(code: str, title: str, sentence: str) -> bool:
    """True if a sentence names the subject of the page in full."""
    name = page_name(title)
    return bool(name) and language_of(code).contains(sentence, name)


def question_points_outside(code: str, question: str, evidence: str = "") -> str | None:
    """Return the word or phrase of a question that only a text beside it explains; None if there is none.

    Words that the evidence capitalises are a title and do not point anywhere ("who plays kate in this is us").
    """
    return zh_question_points_outside(question) if code == "zh" else en_question_points_outside(question, evidence)


_LINKS = {
    "en": re.compile(
        r"^(?:(?:But|And|Yet|Thus|Hence|Therefore|Moreover|Furthermore),?|(?:However|Also|So|Then|Still|Besides|Later|"
        r"Finally|Again|Additionally|Consequently|Similarly|Likewise|Nevertheless|Nonetheless|Instead|Meanwhile|Indeed|"
        r"Accordingly|Specifically|Afterwards?|First|Second|Third|Lastly|In (?:particular|addition|contrast|turn|fact|"
        r"other words|general|comparison)|(?:For|As an) (?:example|instance)|As a (?:result|consequence)|By contrast|"
        r"On the (?:other hand|contrary)|At the same time|Soon after(?:wards)?|To this end|That said),)\s+"
    ),
    "zh": re.compile(
        "^(?:但是?|然而|不过|可是|因此|所以|于是|例如|比如|此外|另外|而且|并且|同时|其后|随后|后来|接着|最后|总之|其中|"
        "另一方面|与此同时)[，,]"
    ),
}
"""Words that tie a sentence to the one before it."""


def unlinked(language_code: str, sentence: str) -> str:
    """The sentence without the words at its beginning that tie it to the sentence before: "Yet, with time, ..."."""
    bare = sentence
    while (match := _LINKS[language_code].match(bare)) is not None:
        bare = bare[match.end() :]
    return bare if bare == sentence else bare[:1].upper() + bare[1:]
