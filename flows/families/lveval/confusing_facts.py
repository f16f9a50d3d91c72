"""The checks that the two confusing facts of a pair must pass before people see them (section 3.2.2, figure A7).

The *subject* fact says something similar about another subject. The *object* fact is about the same subject, and says
something else. Neither answers the question, and each resembles the question or the original fact. The checks refuse
what a person would refuse; the prompt states all of it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from flows.families.lveval.distractor_index import count
from flows.families.lveval.inputs import ToConfuse
from flows.language import AnswerType, language_of
from flows.language.choices import is_yes_or_no
from flows.language.en.names import is_of_a_people, same_name
from flows.language.en.tokens import word_set
from flows.language.matter import speaks_of_another
from flows.language.zh.text import normal, tagged
from flows.llm.model import Problem
from schemas.base import odd_character
from schemas.lveval import LONGEST_FACT, Changed

CHANGES: tuple[Changed, Changed] = ("subject", "object")
"""Section 3.2.2, figure A7: "modify the subject and object respectively"."""
LEAST_SHARED = 2
"""Content words (characters) that a confusing fact shares with question or original. For an English object fact, the
subject's name is enough."""
LONGEST = {"en": 120, "zh": 240}
"""Words (characters) of a fact; the paper's have up to 113 words (figure A10) and 218 characters (figure A11)."""
MOST_SAID = 0.75
"""Share of the question's words, without names and what it asks for, from which a subject fact has the same subject."""
MOST_REPEATED = 0.9
"""Share of the original's words, without the answer's, from which an object fact merely changes the answer."""
LEAST_REPEATED = 4  # the fewest such words of the original for the share to mean something

_DECLARED = {"en": re.compile(r"[.!][\"'”’)\]]*$"), "zh": re.compile(r"[。！．.][”’」』）)》\"]*$")}
_BRACKETS = (("(", ")"), ("（", "）"), ("“", "”"), ("「", "」"), ("《", "》"), ("[", "]"))
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*\.?")
_KIND_ASKED = re.compile(r"\b(?:what|which)\s+(?:kinds?\s+of\s+|types?\s+of\s+)?([a-z]+)\b", re.IGNORECASE)
_TYPED: frozenset[AnswerType] = frozenset(("number", "date", "person", "place", "organisation"))
_JOINS = frozenset(("of", "the", "and", "for", "in", "de", "la", "von", "van"))  # words in lower case inside a name
_BEGINNINGS = word_set(
    "who whom whose what which when where why how is are was were do does did has have had can could will would should "
    "in on at of to from by for with during after before the a an name both"
)
_NAMING = ("n", "eng", "j", "b", "f", "a", "m", "x", "v")
_NAMES = frozenset(("nr", "ns", "nt", "nz", "nrt", "nrfg"))
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_FUNCTIONAL = frozenset(
    "的了着过地得之是在于与和及或而但也都就还又则并且以为被把将对从由向到等其该这那此他她它有一个所者不无我你们"
    "什么谁哪如何怎样多少几年月日"
)
"""Chinese function words, and characters with little meaning."""
_VERB_BEHIND = re.compile("(?<=..)[是在有为被于曾]$")  # mistaken for the end of a name: 潘淑是
_TITLED = re.compile(r"《([^》]+)》")


class CandidateFact(NamedTuple):
    """A sentence that may become a confusing fact."""

    text: str
    stated: bool  # it restates the question, or is about the very subject
    lifted: bool = False  # a document says nearly the same: it may repeat too much


def refusals(asked: ToConfuse, subject: str, other: str) -> tuple[str, str]:
    """Return why each of the two facts is no confusing fact of the pair; empty if it is."""

    def refusal(changes: Changed, fact: str) -> str:
        if (problem := fact_problem(asked, changes, fact)) is not None:
            return problem[0]
        if any(fact in document for document in asked.documents):
            return f"{changes} fact stands in a supporting document"
        return ""

    of_subject, of_object = refusal("subject", subject), refusal("object", other)
    if not of_subject and not of_object and same_text(subject, other):
        return "", "the two facts are one"
    return of_subject, of_object


def facts_problem(asked: ToConfuse, subject: str, other: str) -> Problem:
    """Return why the two are no confusing facts: the first reason, and what is wrong with which fact."""
    of_subject, of_object = fact_problem(asked, "subject", subject), fact_problem(asked, "object", other)
    if of_subject and of_object:
        return of_subject[0], f"{of_subject[1]}; {of_object[0]}: {of_object[1]}"
    if of_subject:
        return of_subject[0], f"{of_subject[1]}; the object fact is good: leave it as it stands"
    if of_object:
        return of_object[0], f"{of_object[1]}; the subject fact is good: leave it as it stands"
    if same_text(subject, other):
        return "the two facts are one", "write another object fact, and leave the subject fact as it stands"
    return None


def fact_problem(asked: ToConfuse, changes: Changed, fact: str) -> Problem:
    """Return why `fact` is no confusing fact of that kind: (reason, what to change)."""
    problem = (
        _form_problem(asked, changes, fact)
        or answer_problem(asked.language, asked.answers, fact)
        or (_same_subject if changes == "subject" else _another_subject)(asked, fact)
        or _answering_problem(asked, fact)
        or (_repeating_problem(asked, fact) if changes == "object" else None)
    )
    return (f"{changes} fact {problem[0]}", problem[1]) if problem else None


def _form_problem(asked: ToConfuse, changes: Changed, fact: str) -> Problem:
    if not fact.strip():
        return "is missing", "write one"
    if not _DECLARED[asked.language].search(fact.strip()):
        return "is no statement", "it is to end with a full stop"
    if (odd := odd_character(fact)) is not None:
        return "holds a character that is no text", odd
    if fact.count('"') % 2 or any(fact.count(opening) != fact.count(end) for opening, end in _BRACKETS):
        return "has a bracket or quotation mark without its other half", "write both, or none"
    return _likeness_problem(asked, changes, fact)


def _likeness_problem(asked: ToConfuse, changes: Changed, fact: str) -> Problem:
    unit = "characters" if asked.language == "zh" else "words"
    by_name = asked.language == "en" and changes == "object" and bool(subjects(asked.language, asked.question))
    least = 1 if by_name else LEAST_SHARED
    length = count(fact, asked.language)
    if length > LONGEST[asked.language] or len(fact) > LONGEST_FACT:
        return "is too long", f"it has {length} {unit}, at most {LONGEST[asked.language]} are wanted"
    if same_text(fact, asked.fact):
        return "repeats the sentence", "write something else than the sentence"
    shared = _telling(asked.language, fact) & _telling(asked.language, f"{asked.question}\n{asked.fact}")
    if len(shared) < least:
        problem = f"of the question and the sentence it has {len(shared)} meaningful {unit}, {least} are wanted"
        return "resembles nothing", problem
    return None


def _telling(language: str, text: str) -> frozenset[str]:
    """Return the content words; in Chinese, the characters that carry meaning."""
    if language != "zh":
        return language_of(language).content_words(text)
    return frozenset(_HAN.findall(text)) - _FUNCTIONAL


def answer_problem(language: str, answers: Sequence[str], fact: str) -> Problem:
    """Return why a confusing fact gives the answer away, with or without its article and full stop."""
    for answer in answers:
        bare = re.sub(r"^(?:the|an?)\s+(?=\S+\s)", "", answer.strip(" .,;。，；"), flags=re.IGNORECASE)
        if not is_yes_or_no(answer) and language_of(language).contains(fact, bare):
            return "holds the answer", f"{bare!r} must not stand in it"
    return None


def _same_subject(asked: ToConfuse, fact: str) -> Problem:
    """Return the problem if a subject fact names all that the question names and says most of what it asks."""
    named = subjects(asked.language, asked.question)
    if speaks_of_another(asked.language, asked.question, fact):
        return None
    if not named or not all(_is_named(asked.language, fact, name) for name in named):
        return None
    language = language_of(asked.language)
    asked_words = language.content_words(asked.question) - _kind_asked(asked) - language.content_words(" ".join(named))
    if len(asked_words & language.content_words(fact)) < MOST_SAID * len(asked_words):
        return None
    names = ", ".join(sorted(named))
    return "has the same subject", f"it says most of what is asked, and of the same: write of another than {names}"


def _another_subject(asked: ToConfuse, fact: str) -> Problem:
    """Return the problem if an object fact names nothing that question and original begin with."""
    named = subjects(asked.language, asked.question)
    if asked.language == "zh":
        parts = named | _begun(asked, fact)
        parts |= frozenset(word for name in named for word, _ in tagged(name) if len(word) > 1)
    else:
        parts = named | _leading(asked.fact)
        named = frozenset(name for name in named if not is_of_a_people(name))
    if named and not any(_holds(asked.language, fact, name) for name in parts):
        return "has another subject", f"name the subject of the question in it: {', '.join(sorted(named))}"
    return None


def _begun(asked: ToConfuse, fact: str) -> frozenset[str]:
    """Return the longest beginning of a Chinese fact that occurs in the question: a name unknown to the tagger."""
    text, question = normal(fact).text, normal(asked.question).text
    ends = (end for end in range(min(len(text), len(question)), 1, -1) if text[:end] in question)
    return frozenset(text[:end] for end in list(ends)[:1])


def _answering_problem(asked: ToConfuse, fact: str) -> Problem:
    """Return the problem if a fact says all that the question does and names something of the type asked for."""
    language = language_of(asked.language)
    words, wanted = language.content_words(fact), language.content_words(asked.question)
    if not asked.answers or not wanted or speaks_of_another(asked.language, asked.question, fact):
        return None
    of = "other" if is_yes_or_no(asked.answers[0]) else language.answer_type(asked.answers[0], asked.question)
    if of in _TYPED:
        names = (fact[start:end] for start, end in language.spans_of_type(fact, of))
        if all(language.contains(asked.question, name) for name in names):
            return None
        wanted -= _kind_asked(asked)
    if wanted and wanted <= words:
        return "may answer the question", "it says all that the question asks about; leave some of it out, or change it"
    return None


def _kind_asked(asked: ToConfuse) -> frozenset[str]:
    """Return the question's words for its answer: after the question word ("what year", "什么地区")."""
    if asked.language != "zh":
        kind = _KIND_ASKED.search(asked.question)
        return language_of(asked.language).content_words(kind[1]) if kind else frozenset()
    words = tagged(asked.question)
    return frozenset(words[at + 1][0] for at, (_, tag) in enumerate(words[:-1]) if tag == "r")


def _repeating_problem(asked: ToConfuse, fact: str) -> Problem:
    """Return the problem if an object fact is the original with another answer: it contradicts the original."""
    if speaks_of_another(asked.language, asked.question, fact):
        return None
    language = language_of(asked.language)
    kept = language.content_words(asked.fact) - language.content_words(" ".join(asked.answers))
    if len(kept) >= LEAST_REPEATED and len(kept & language.content_words(fact)) >= MOST_REPEATED * len(kept):
        return "contradicts the sentence", "it says the same with another answer; say something else of the subject"
    return None


def subjects(language: str, question: str) -> frozenset[str]:
    """Return what the question names: capitalised words; in Chinese, titles, names and its first noun phrase."""
    if language != "zh":
        return language_of(language).content_words(" ".join(_capitalised(question)))
    named = (
        _VERB_BEHIND.sub("", word) for word, tag in tagged(normal(question).text) if tag in _NAMES and len(word) > 1
    )
    topic = frozenset(_TITLED.findall(question)) or _topic(question)
    return topic | {name for name in named if not any(name in longer for longer in topic)}


def _capitalised(text: str) -> list[str]:
    """Return the words of names; the first word of a sentence only if another capitalised one follows."""
    words = _WORD.findall(text)
    named = [word[0].isupper() and len(word.rstrip(".")) > 1 for word in words]
    if words and not (len(words) > 1 and named[1] and words[0].lower() not in _BEGINNINGS):
        named[0] = False
    return [word.rstrip(".") for word, is_name in zip(words, named, strict=True) if is_name]


def _leading(fact: str) -> frozenset[str]:
    """Return the words of the name that an English sentence begins with."""
    words: list[str] = []
    for word in _WORD.findall(fact):
        if word[0].isupper() or word[0].isdigit():
            words.append(word.rstrip("."))
        elif word not in _JOINS or not words:
            break
    return language_of("en").content_words(" ".join(words)) if words else frozenset()


def _topic(question: str) -> frozenset[str]:
    """Return the noun phrase that a Chinese question begins with."""
    phrase, is_noun = "", False
    for word, tag in tagged(normal(question).text):
        names = tag.startswith((*_NAMING, "t") if phrase else _NAMING)
        is_verb = (tag.startswith("v") and tag != "vn") or word in ("是", "有")
        if not names or is_verb or (tag == "x" and not word.isalnum()):
            break
        phrase += word
        is_noun = is_noun or tag.startswith(("n", "eng", "x"))
    return frozenset([_VERB_BEHIND.sub("", phrase)]) if is_noun and len(phrase) > 1 else frozenset()


def _is_named(language: str, fact: str, name: str) -> bool:
    """Return whether the name occurs in the fact; in Chinese, not as the end of a longer name ("南溪银汉鱼")."""
    if language != "zh":
        return _holds(language, fact, name)
    text, wanted = normal(fact).text, normal(name).text
    before = (text[match.start() - 1 : match.start()] for match in re.finditer(re.escape(wanted), text))
    return any(not _HAN.match(sign) or sign in _FUNCTIONAL for sign in before)


def _holds(language: str, fact: str, name: str) -> bool:
    if language == "zh":
        return normal(name).text in normal(fact).text
    return any(same_name(name, word) for word in language_of(language).content_words(fact))


def same_text(text: str, other: str) -> bool:
    """Return whether two texts differ in nothing but case and white space."""
    return text.casefold().split() == other.casefold().split()
