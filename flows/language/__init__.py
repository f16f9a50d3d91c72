"""The questions that the methods ask of a language; `flows.language.en` and `flows.language.zh` answer them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

AnswerType = Literal["number", "date", "person", "place", "organisation", "other"]
"""The type of an answer. `other` is every other noun phrase."""
MentionForm = Literal["full", "alias", "plural", "abbreviation", "part"]


class Mention(NamedTuple):
    """A stretch of a text that names what an answer names."""

    start: int
    end: int
    form: MentionForm


class Change(NamedTuple):
    """A stretch of a text, and what stands in its place now."""

    old: str
    new: str


class Replaced(NamedTuple):
    """A text in which every mention of one thing names another."""

    text: str
    replacements: tuple[Change, ...]
    """The mentions, in order; as long as there were mentions."""
    agreement: tuple[Change, ...]
    """Words beside them that had to follow (a/an, verbs, pronouns), in order."""


class Language(Protocol):
    """The questions a method may ask of a text. A module with these functions is a `Language`."""

    def count(self, text: str) -> int:
        """Words in `text` (characters that are not white space, in Chinese)."""
        ...

    def sentences(self, text: str) -> list[str]:
        """Return the sentences of `text` in order, each verbatim without its outer white space."""
        ...

    def content_words(self, text: str) -> frozenset[str]:
        """The lower-cased base forms of the words that carry meaning; negations are among them."""
        ...

    def contains(self, text: str, phrase: str) -> bool:
        """True if `phrase` stands in `text` as whole words, whatever the case."""
        ...

    def answer_type(self, answer: str, question: str = "") -> AnswerType:
        """Return the type of `answer`; the question helps where the answer alone does not tell."""
        ...

    def kind(self, answer: str, question: str = "") -> str:
        """Return a name for the set of answers that can take the answer's place, in grammar and in sense.

        It begins with the type. An answer that nothing else can stand in for has a kind of its own.
        """
        ...

    def spans_of_type(self, text: str, answer_type: AnswerType) -> list[tuple[int, int]]:
        """Return the spans of `text` that name something of the type, in order, without overlap."""
        ...

    def mentions(self, text: str, answer: str, aliases: Sequence[str] = ()) -> list[Mention]:
        """Return every mention of the answer in `text`, in order, without overlap (longest first).

        In full or by an alias, whatever the case; in the plural or singular; abbreviated; by a part of a
        name where nothing else in the text is called so. A possessive is a mention whose ending stays
        outside it.
        """
        ...

    def replace(self, text: str, answer: str, new: str, aliases: Sequence[str] = ()) -> Replaced:
        """Return `text` with every mention of `answer` naming `new` instead, in the same form.

        Raises `CannotReplace` where the words around a mention cannot be made to agree.
        """
        ...

    def dangling_subject(self, sentence: str) -> str | None:
        """The pronoun or bare definite at the subject of `sentence` that needs the text before it; else None."""
        ...


class CannotReplace(Exception):  # noqa: N818 - a refusal
    """A mention that cannot name something else where it stands: why, in a few words."""


def names_of(code: str, answer: str, aliases: Sequence[str], text: str = "") -> tuple[str, ...]:
    """The aliases that name what the answer names wherever they stand in `text`, and the title that follows its name.

    Another wording of a number or a date does not: "1788" is no name of the day "18 January 1788"; nor does one with
    which something else's name begins: "the European Court", where the text speaks of "the European Court of Human
    Rights". "Charles, Prince of Wales" is the Prince of Wales as well, and "Andrew Lloyd Webber" is Lloyd Webber,
    where the text calls him so.
    """
    if language_of(code).answer_type(answer) in ("number", "date"):
        return ()
    if code != "en":
        return tuple(aliases)
    usable = tuple(alias for alias in aliases if not _begins_another(alias, (answer, *aliases), text))
    further = (_title_after(answer), _without_first_name(answer, text))
    return (*usable, *(name for name in further if name is not None and name not in usable))


def _begins_another(alias: str, names: Sequence[str], text: str) -> bool:
    import re

    longer = [name.casefold() for name in names if len(name) > len(alias)]
    for match in re.finditer(rf"(?<!\w){re.escape(alias)}\s+(?:(?:of|for)\s+)?(?:the\s+)?[A-Z]", text, re.IGNORECASE):
        rest = text[match.start() :].casefold()
        goes_on = match[0][-1].isupper() and not any(rest.startswith(name) for name in longer)
        if goes_on and (" of " in match[0][len(alias) :] or " for " in match[0][len(alias) :]):
            return True
    return False


def _without_first_name(name: str, text: str) -> str | None:
    """The rest of a person's name of three words or more, where the text has it alone."""
    first, _, rest = name.partition(" ")
    alone = " " in rest and rest[:1].isupper() and text.count(rest) > text.count(f"{first} {rest}")
    return rest if alone and language_of("en").answer_type(name) == "person" else None


def _title_after(name: str) -> str | None:
    from flows.language.en.names import TITLES

    title = name.partition(", ")[2].removeprefix("the ")
    first, _, rest = title.partition(" ")
    return title if first[:1].isupper() and first.lower() in TITLES and rest else None


def language_of(code: str) -> Language:
    """The module of a language, by its code. Raises `KeyError` for one that there is none of."""
    import importlib

    if code not in LANGUAGES:
        raise KeyError(code)
    module: Language = importlib.import_module(f"{__name__}.{code}")
    return module


LANGUAGES = ("en", "zh")
