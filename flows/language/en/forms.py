"""An English answer in the form in which a mention names another: part for part, number for number."""

from functools import lru_cache
from typing import NamedTuple

from flows.language import AnswerType, CannotReplace
from flows.language.en import phrases
from flows.language.en.numbers import Date, date_of, is_year, like, ordinal_value, spelt_ordinal, value_of
from flows.language.en.persons import Found, personal_name
from flows.language.en.tokens import MONTHS, Tokens, ordinal_ending, tokens
from flows.language.en.types import answer_type
from flows.language.en.variants import initials


class New(NamedTuple):
    """Facts about the new answer that are the same for every mention."""

    core: str
    """As written, without an article or an introduction."""
    inner: str
    """The same as it is written within a sentence."""
    first: str
    surname: str
    initials: str
    the: bool | None
    plural: bool
    proper: bool
    type: AnswerType


@lru_cache(8192)
def described(new: str) -> New:
    inner = phrases.core(new)
    first, surname = "", ""
    if personal_name(new) is not None:
        first, surname = _first_and_surname(inner)
    short = initials(inner)
    return New(
        core=inner,
        inner=inner if phrases.is_proper(new) else phrases.within_sentence(inner),
        first=first,
        surname=surname,
        initials=short[0] if short else "",
        the=phrases.takes_the(new),
        plural=phrases.is_plural(new),
        proper=phrases.is_proper(new),
        type=answer_type(new),
    )


def _first_and_surname(inner: str) -> tuple[str, str]:
    words, name = tokens(inner), personal_name(inner)
    if name is None:
        return "", ""
    at = next((place for place in range(len(words)) if words.normals[place] == name.first), 0)
    first = words.word(at)
    if not name.last:
        return first, ""
    last = max(place for place in range(len(words)) if words.normals[place] == name.last)
    begin = last - len(name.last_forms) + 1
    return first, inner[words.starts[begin] : words.ends[last]]


class Site(NamedTuple):
    """A mention in its text, the answer that it names, and the one that it is to name."""

    words: Tokens
    mention: Found
    first: int
    """The first word of the mention after its article."""
    answer: str
    new: New

    @property
    def inside(self) -> bool:
        """True if the mention begins with an article."""
        return self.first > self.mention.first

    @property
    def start(self) -> int:
        """Where the mention starts without its article."""
        return self.words.starts[self.first] if self.inside else self.mention.start

    @property
    def old_text(self) -> str:
        return self.words.text[self.start : self.mention.end]

    @property
    def before(self) -> str:
        return self.words.before(self.first)


def in_form(site: Site) -> str:
    """The new answer in the form in which the mention gives the old one: part, number and capitals alike."""
    new, role = site.new, site.mention.role
    if role == "surname":
        piece = new.surname or new.inner
    elif role == "first name":
        piece = new.first or new.inner
    elif role == "initials":
        piece = _abbreviated(site.old_text, new)
    elif role == "plural":
        piece = _in_other_number(new.inner)
    elif role == "city":
        piece = new.inner.partition(",")[0]
    else:
        piece = _figures(site) or new.inner
    return _cased(site, piece)


def _abbreviated(old_text: str, new: New) -> str:
    if len(new.initials) < 2:
        return new.inner
    plural = old_text.endswith("s")
    short = "".join(f"{letter}." for letter in new.initials) if "." in old_text else new.initials
    return f"{short}s" if plural else short


def _in_other_number(inner: str) -> str:
    noun = phrases.head(inner)
    other = phrases.other_number(noun)
    if (
        phrases.takes_no_article(noun)
        or other is None
        or (phrases.is_proper(inner) and not phrases.is_plural(inner) and len(tokens(inner)) > 1)
    ):
        raise CannotReplace("the new answer has no such number")
    begin = inner.rindex(noun) if inner.endswith(noun) else inner.index(noun)
    return inner[:begin] + other + inner[begin + len(noun) :]


_DATE_PARTS = ("date part", "year")


def _figures(site: Site) -> str | None:
    """A new date or number, written as the mention writes the old one; None if it is neither."""
    words, mention = site.words, site.mention
    date = date_of(tuple(tokens(site.new.core).normals))
    old = date_of(tuple(form for form in words.normals[site.first : mention.last + 1] if form != "of"))
    if date is not None and old is not None and (date.month or mention.role in _DATE_PARTS):
        return _dated(words, site.first, mention, date)
    if date is None and (mention.role in _DATE_PARTS or (old is not None and old.month)):
        raise CannotReplace("the new answer lacks a part of the date")
    return _numbered(site.old_text, site.new.core)


def _dated(words: Tokens, first: int, mention: Found, date: Date) -> str:
    pieces, at = [], words.starts[first]
    for place in range(first, mention.last + 1):
        word, form = words.word(place), words.normals[place]
        part: str | None
        if form in MONTHS:
            shortened = len(word) in (3, 4) and word.lower() not in MONTHS
            part = date.month and date.month.capitalize()[: len(word) if shortened else None]
        elif is_year(form):
            part = str(date.year) if date.year else None
        elif form == "of":
            part = word
        else:
            part = (date.day and (str(date.day) if form.isdigit() else f"{date.day}{ordinal_ending(date.day)}")) or None
        if not part:
            raise CannotReplace("the new answer lacks a part of the date")
        pieces += [words.text[at : words.starts[place]], part]
        at = words.ends[place]
    return "".join(pieces) + words.text[at : mention.end]


def _numbered(old_text: str, inner: str) -> str | None:
    """A new number in words or in figures, as the mention has it, with its own unit."""
    old, new = tokens(old_text), tokens(inner)
    if not len(old) or not len(new):
        return None
    if len(old) == 1 and len(new) == 1 and (ordinal := ordinal_value(new.word(0))) and ordinal_value(old_text):
        in_figures = f"{ordinal}{ordinal_ending(ordinal)}"
        return in_figures if old_text[0].isdigit() else spelt_ordinal(ordinal) or in_figures
    value = value_of((new.normals[0],))
    was = value_of((old.normals[0],))
    if value is None or was is None or (is_year(new.normals[0]) and not new.word(0).count(",")):
        return None
    whole = value_of(tuple(new.normals))
    if len(old) == 1 and whole is not None and whole <= 999:
        return inner[: new.starts[0]] + like(whole, old.word(0)) + inner[new.ends[-1] :]
    if old.word(0)[0].isalpha() == new.word(0)[0].isalpha() or value > 999:
        return inner
    return inner[: new.starts[0]] + like(value, old.word(0)) + inner[new.ends[0] :]


def _cased(site: Site, piece: str) -> str:
    old_text, inner = site.old_text, phrases.core(site.answer)
    if sum(map(str.isalpha, old_text)) > 3 and old_text.isupper() and not inner.isupper():
        return piece.upper()
    if old_text[:1].isupper() and piece[:1].islower():
        common = site.words.opens_sentence(site.first) or _is_common(site.answer)
        return piece[:1].upper() + piece[1:] if common else piece
    if old_text[:1].islower() and inner[:1].isupper() and piece[:1].isupper():
        common = phrases.is_dictionary_word(tokens(piece).word(0)) and not phrases.is_proper(piece)
        return piece[:1].lower() + piece[1:] if common else piece
    return piece


def _is_common(answer: str) -> bool:
    """True if the answer's first letter is small in the middle of a sentence."""
    return not phrases.is_proper(answer) and phrases.within_sentence(phrases.core(answer))[:1].islower()
