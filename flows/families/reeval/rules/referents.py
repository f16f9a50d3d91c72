"""The name that a subject stands for: who "he" is, and what "the film" is."""

import re
from collections.abc import Sequence

from flows.language import Language, language_of
from flows.language.matter import BRACKET, page_name

PERSONAL = frozenset(["he", "she", "his", "her", "him", "他", "她"])
CLEAR = PERSONAL | {"it", "its", "the"}
"""What a name may stand for; they, these, both and most of them may be anybody, and "a year later" is no one."""
NAMED_IN_CHINESE = frozenset(["他", "她", "它"])
"""Subjects that a name can stand for as it is; sentences without a subject are left alone."""
_HAN = re.compile(r"[㐀-鿿]")


def referent(language: Language, subject: str, title: str | None, before: str) -> str | None:
    """The name that a subject stands for; None if it is not clear.

    The title's, where the sentence before speaks of it too, or there is none before, or that one leans on
    what came before it as well; for a person also the name that the sentence before begins with. Only a
    person is he or she, and no person is it; they and these may be anybody; "the film" is the title's
    where the title or the sentence before says that it is one.
    """
    word = subject.split(maxsplit=1)[0].casefold()
    chinese = language is language_of("zh")
    if word not in (NAMED_IN_CHINESE if chinese else CLEAR):
        return None
    named = page_name(title)
    same_script = chinese == bool(_HAN.search(named))
    names = [named] if named and same_script and _speaks_of(language, before, named) else []
    if word in PERSONAL:
        return _person(language, names + _opening_names(language, before), before)
    is_thing = not any(language.answer_type(name) == "person" for name in names)
    if not is_thing or (word == "the" and not _is_a(language, subject, title or "", before)):
        return None
    return names[0] if names else None


def _person(language: Language, names: Sequence[str], before: str) -> str | None:
    """The first of the names that is a person's, where the sentence before speaks of nobody else."""
    fitting = [name for name in names if language.answer_type(name) == "person"]
    return fitting[0] if fitting and len(_persons(language, before, fitting)) == 1 else None


def _speaks_of(language: Language, before: str, name: str) -> bool:
    """Whether a sentence is about `name`, as far as can be seen: it leans on earlier text, or opens with it."""
    if not before or language.dangling_subject(before) is not None:
        return True
    return any(mention.start <= len("The ") for mention in language.mentions(before, name))


def _opening_names(language: Language, sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in language.spans_of_type(sentence, "person")[:1] if start == 0]


def _persons(language: Language, sentence: str, known: Sequence[str]) -> set[str]:
    """The persons that a sentence speaks of, beside those known."""
    named = {sentence[start:end] for start, end in language.spans_of_type(sentence, "person")}
    known_as = {mention for name in known[:1] for mention in named if language.mentions(name, mention)}
    return named - known_as | set(known[:1])


def _is_a(language: Language, subject: str, title: str, before: str) -> bool:
    """Whether the title's bracket, or what the sentence before says it is, calls it what the subject does."""
    called = language.content_words(subject)
    bracket = BRACKET.search(title)
    kind = re.search(r"\b(?:is|was|are|were)\b.*", before)
    known = language.content_words(f"{bracket[0] if bracket else ''} {kind[0] if kind else ''}")
    return bool(called) and called <= known
