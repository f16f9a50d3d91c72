"""The questions that the methods ask of a language; `flows.language.en` and `flows.language.zh` answer them."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

AnswerType = Literal["number", "date", "person", "place", "organisation", "other"]
"""The type of an answer. `other` is every other noun phrase."""
Gender = Literal["male", "female"]
AskedKind = Literal["fact", "number", "yes-no", "list"]
MentionForm = Literal["full", "alias", "plural", "abbreviation", "part"]


class Mention(NamedTuple):
    """A stretch of a text that names what an answer names."""

    start: int
    end: int
    form: MentionForm


class Change(NamedTuple):
    """A stretch of a text, and its replacement."""

    old: str
    new: str


class Replaced(NamedTuple):
    """A text in which every mention of an answer names another answer."""

    text: str
    replacements: tuple[Change, ...]
    """The mentions, in order; as long as there were mentions."""
    agreement: tuple[Change, ...]
    """Words beside them that had to follow (a/an, verbs, pronouns), in order."""


class Asked(NamedTuple):
    """A question that a sentence answers."""

    kind: AskedKind
    question: str
    """It ends with a question mark, can be understood without the text, and does not hold the answer."""
    answer: str
    """It stands verbatim in the sentence; "yes" or "no" (是, 否) to a question of the kind "yes-no"."""
    sentence: str
    """The evidence, verbatim from the text."""


class CannotReplace(Exception):  # noqa: N818 - a refusal
    """Raised if a mention cannot name something else; the message says why in a few words."""


class Edit(NamedTuple):
    """A stretch of the text and what replaces it; `mention` tells mentions from the words beside them."""

    start: int
    end: int
    new: str
    mention: bool


def edited(text: str, edits: Iterable[Edit]) -> Replaced:
    """Return the text with the edits made. Raises `CannotReplace` if two overlap."""
    pieces: list[str] = []
    at = 0
    replacements: list[Change] = []
    agreement: list[Change] = []
    for edit in sorted(edits):
        if edit.start < at:
            raise CannotReplace("two changes meet")
        pieces += [text[at : edit.start], edit.new]
        (replacements if edit.mention else agreement).append(Change(text[edit.start : edit.end], edit.new))
        at = edit.end
    pieces.append(text[at:])
    return Replaced("".join(pieces), tuple(replacements), tuple(agreement))


class Language(Protocol):
    """The questions that a method can ask about a text. A module with these functions is a `Language`."""

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
        """True if `phrase` occurs in `text` as whole words, in any case."""
        ...

    def answer_type(self, answer: str, question: str = "") -> AnswerType:
        """Return the type of `answer`; the question decides if the answer alone does not."""
        ...

    def kind(self, answer: str, question: str = "") -> str:
        """Return a name for the set of answers that can take the answer's place, in grammar and in sense.

        It begins with the type. An answer that nothing can replace has a kind of its own.
        """
        ...

    def spans_of_type(self, text: str, answer_type: AnswerType) -> list[tuple[int, int]]:
        """Return the spans of `text` that name something of the type, in order, without overlap."""
        ...

    def mentions(self, text: str, answer: str, aliases: Sequence[str] = ()) -> list[Mention]:
        """Return every mention of the answer in `text`, in order, without overlap (longest first).

        In full or by an alias, in any case; in the plural or singular; abbreviated; by a part of a
        name that nothing else in the text has. A possessive is a mention whose ending stays
        outside it.
        """
        ...

    def replace(self, text: str, answer: str, new: str, aliases: Sequence[str] = ()) -> Replaced:
        """Return `text` with every mention of `answer` naming `new` instead, in the same form.

        Raises `CannotReplace` if the words around a mention cannot be made to agree.
        """
        ...

    def dangling_subject(self, sentence: str) -> str | None:
        """The pronoun or bare definite at the subject of `sentence` that needs the text before it; else None."""
        ...


def language_of(code: str) -> Language:
    """Return the package of a language. Raises `KeyError` for an unknown code."""
    import importlib

    if code not in LANGUAGES:
        raise KeyError(code)
    module: Language = importlib.import_module(f"{__name__}.{code}")
    return module


LANGUAGES = ("en", "zh")
