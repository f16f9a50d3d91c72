"""Checks of a sentence: it supports the answer and makes sense alone (section 3.2, "proper decontextualization")."""

import re
from collections.abc import Sequence

from flows.language import Language, language_of
from flows.language.matter import page_name
from flows.language.pointing import leans_on_what_is_asked, points_outside
from flows.language.quotes import holds, stretch_of
from flows.llm.model import Problem

LEAST_SUPPORT = 0.8
"""Share of the supporting sentence's content words that must occur together in the new evidence."""
LEAST_KNOWN = 0.6
"""Share of each condensed or merged sentence's content words that must occur in its sources."""

_ENDS = re.compile(r"[.!?。！？．…][\"'”’）)」』\]]*$")
_STARTS = re.compile(r"^[\"'“‘(（「『]*[A-Z0-9À-Þ㐀-鿿豈-﫿]")
LEANING = {
    "en": re.compile(
        r"\b(?:he|him|his|she|hers?|it|its|they|them|their|theirs|this|these|those|such|former|latter)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"[他她它该此这那其]"),
}
"""Words that may stand for something named before."""
_MAY_GO = {
    "en": re.compile(
        r"^[A-Z][\w'’-]*(?: [\w'’-]+){0,3}:(?= [A-Z])|"
        r"^(?:Apart from|Besides|In addition to|In contrast to|Like|Unlike) [^,.;:]{1,60},|"
        r"\b(?i:again|also|another|earlier|eventually|finally|further|however|instead|later|other|similarly|unlike)\b"
    ),
    "zh": re.compile(
        r"^[^，。：；]{1,8}：|^(?:不同于|与|和|除)[^，。；]{1,20}，|另一个?|另外|其他|然而|最终|后来|此外|还"
    ),
}
"""Words that a sentence may lose to stand alone: a heading, or a comparison with or link to the text before it."""


def sentence_problem(language_code: str, evidence: str, answer: str, quoted: str) -> Problem:
    """Return why `quoted` is not a sentence of the evidence with the answer; an empty text means there is none."""
    language = language_of(language_code)
    if not quoted.strip():
        return None
    sentence = stretch_of(evidence, quoted)
    if sentence is None:
        return (
            "supporting sentence is not in the evidence",
            f"the passage nowhere has {quoted!r}: copy the sentence as it stands there",
        )
    if not _is_one_sentence(language, sentence):
        parts = language.sentences(sentence)
        return "supporting sentence is not one sentence", f"these are {len(parts)}: {' | '.join(parts)}: copy one"
    if not holds(language, sentence, answer):
        return "supporting sentence lacks the answer", f"{sentence!r} does not hold {answer!r}, word for word"
    return None


def _is_one_sentence(language: Language, text: str) -> bool:
    """Return whether a text is one sentence. An English semicolon ends none, though texts are cut there too."""
    parts = language.sentences(text)
    english = language is language_of("en")
    return bool(parts) and (len(parts) == 1 or (english and all(part.endswith(";") for part in parts[:-1])))


def sentence_before(language_code: str, evidence: str, sentence: str) -> str:
    """The sentence that precedes `sentence` in the evidence; empty if it is the first."""
    sentences = language_of(language_code).sentences(evidence)
    place = next((place for place, other in enumerate(sentences) if sentence in other or other in sentence), 0)
    return sentences[place - 1] if place else ""


def is_whole(sentence: str) -> bool:
    """Return whether it begins and ends like a sentence: passages are cut anywhere, and lists have no sentences."""
    return bool(_STARTS.search(sentence) and _ENDS.search(sentence))


def may_lean(language_code: str, sentence: str) -> bool:
    """Return whether any word of a sentence may stand for something named before it."""
    return LEANING[language_code].search(sentence) is not None or points_outside(language_code, sentence) is not None


def begins_leaning(language_code: str, text: str) -> str | None:
    """The pronoun that a text begins with, if nothing in its first sentence tells who or what it is."""
    first = next(iter(language_of(language_code).sentences(text)), "")
    return points_outside(language_code, first) if LEANING[language_code].match(first) else None


def short_name(language_code: str, sentence: str, title: str | None) -> re.Match[str] | None:
    """The last name alone, if a sentence calls the page's person by it, as texts do after the first mention."""
    name = page_name(title)
    language, last = language_of(language_code), name.rpartition(" ")[2]
    if language_code != "en" or " " not in name or language.contains(sentence, name):
        return None
    if language.answer_type(name) != "person":
        return None
    for match in re.finditer(rf"(?<![\w-]){re.escape(last)}(?![\w-]|\s+[A-Z])", sentence):
        word = sentence[: match.start()].rpartition(" ")[0].rpartition(" ")[2] if match.start() else ""
        if not word[:1].isupper() or not language.content_words(word):  # not "Robert Schumann" for Clara
            return match
    return None


def is_asked_about(language_code: str, question: str, leaning: str, title: str | None) -> bool:
    """Return whether the question or the page names a bare definite: "The marathon" of the page "Marathon"."""
    page = page_name(title)
    if language_code == "zh":
        return len(leaning) > 1 and leaning in f"{question} {page}"  # 辐射, a noun that begins like a verb
    words = language_of(language_code).content_words
    named = words(leaning)
    return leaning.lower().startswith("the ") and (named <= words(question) or named == words(page))


def resolved_problem(
    language_code: str,
    question: str,
    sentence: str,
    answer: str,
    resolved: str,
    title: str | None = None,
    evidence: str = "",
) -> Problem:
    """Return why `resolved` does not say on its own what `sentence` of the evidence says; `title` is the page's."""
    language = language_of(language_code)
    leaning = points_outside(language_code, resolved)
    if leaning is not None and not is_asked_about(language_code, f"{question} {answer}", leaning, title):
        return "supporting sentence cannot be understood alone", f"say by name who or what {leaning!r} is"
    if (vague := leans_on_what_is_asked(language_code, question, answer, resolved, title)) is not None:
        return (
            "supporting sentence cannot be understood alone",
            f"{vague!r} means something that the sentence does not name: name it, and what the question is about",
        )
    if not holds(language, resolved, answer):
        return "resolved sentence lacks the answer", f"the sentence must still hold {answer!r}"
    words = language.content_words(sentence)
    may_go = " ".join(match[0] for match in _MAY_GO[language_code].finditer(sentence))
    lost = words - language.content_words(f"{resolved} {may_go}")
    if len(words) - len(lost) < LEAST_SUPPORT * len(words):
        return "resolved sentence says something else", f"keep its words: {', '.join(sorted(lost))}"
    return unknown_problem(language, resolved, (sentence, evidence, title or "", question))


def unknown_problem(language: Language, text: str, sources: Sequence[str]) -> Problem:
    """A sentence of `text` with too few words from the sources."""
    source_words = frozenset().union(*map(language.content_words, sources))
    for sentence in language.sentences(text):
        words = language.content_words(sentence)
        if len(words & source_words) < LEAST_KNOWN * len(words):
            return "text adds what the passages do not say", f"leave this out: {sentence}"
    return None
