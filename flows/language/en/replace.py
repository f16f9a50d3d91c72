"""An English text in which every mention of an answer names another one instead, in matching form."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import lemminflect

from flows.language import AnswerType, CannotReplace, Change, Replaced
from flows.language.en.mentions import find, initials
from flows.language.en.names import SUFFIXES, TITLES, gender, is_first_name
from flows.language.en.numbers import Date, date_of, is_year, like, ordinal_value, spelt_ordinal, value_of
from flows.language.en.persons import Found, personal_name
from flows.language.en.phrases import (
    AUXILIARIES,
    PREPOSITIONS,
    article,
    core,
    head,
    is_dictionary_word,
    is_mass,
    is_plural,
    is_proper,
    other_number,
    parts_of_speech,
    takes_no_article,
    takes_the,
    within_sentence,
)
from flows.language.en.tokens import MONTHS, Tokens, ordinal_ending, tokens, word_set
from flows.language.en.types import answer_type

_KEPT = 8192


class _Edit(NamedTuple):
    """A stretch of the text and what replaces it; `mention` tells a mention from a word beside one."""

    start: int
    end: int
    new: str
    mention: bool


class _New(NamedTuple):
    """What is known of the new answer and does not change from mention to mention."""

    inner: str
    first: str
    surname: str
    initials: str
    the: bool | None
    plural: bool
    proper: bool
    type: AnswerType


def replace(text: str, answer: str, new: str, aliases: Sequence[str] = ()) -> Replaced:
    """`text` with every mention of `answer` naming `new` instead, in the form the mention has."""
    names = tuple(aliases)
    found = find(text, answer, names)
    if not found:
        return Replaced(text, (), ())
    if find(new, answer, names):
        raise CannotReplace("the new answer names the old one")
    words = tokens(text)
    edits: list[_Edit] = []
    for mention in found:
        own = _edits_at(words, mention, answer, new)
        edits += [*own, *_possessive(text, own)]
    edits.extend(_pronouns(words, found, answer, new))
    edits.sort()
    result = _apply(text, edits)
    if find(result.text, answer, names):
        raise CannotReplace("a mention of the old answer is left")
    return result


_BARE_POSSESSIVE = re.compile(r"['’](?=\s+[a-z])")
_OPENING_QUOTE = re.compile(r"(?<![^\s(\[])['‘]")
QUOTED_WITHIN = 80
"""Characters before a name in which a quotation that ends with it may begin."""


def _possessive(text: str, edits: Sequence[_Edit]) -> Iterator[_Edit]:
    """ "Thornley's" for "Rawls'": a name without an s at its end is given one. Not at the end of a quotation."""
    for edit in edits:
        found = _BARE_POSSESSIVE.match(text, edit.end)
        quoted = _OPENING_QUOTE.search(text, max(0, edit.start - QUOTED_WITHIN), edit.start)
        if found and not quoted and text[edit.start : edit.end].endswith("s") and not edit.new.endswith("s"):
            yield _Edit(found.start(), found.end(), f"{found[0]}s", mention=False)


def _apply(text: str, edits: list[_Edit]) -> Replaced:
    pieces: list[str] = []
    at = 0
    replacements: list[Change] = []
    agreement: list[Change] = []
    for edit in edits:
        if edit.start < at:
            raise CannotReplace("two changes meet")
        pieces += [text[at : edit.start], edit.new]
        (replacements if edit.mention else agreement).append(Change(text[edit.start : edit.end], edit.new))
        at = edit.end
    pieces.append(text[at:])
    return Replaced("".join(pieces), tuple(replacements), tuple(agreement))


@lru_cache(_KEPT)
def described(new: str) -> _New:
    inner = core(new)
    first, surname = "", ""
    if personal_name(new) is not None:
        first, surname = _first_and_surname(inner)
    short = initials(inner)
    return _New(
        inner=inner if is_proper(new) else within_sentence(inner),
        first=first,
        surname=surname,
        initials=short[0] if short else "",
        the=takes_the(new),
        plural=is_plural(new),
        proper=is_proper(new),
        type=answer_type(new),
    )


def _first_and_surname(inner: str) -> tuple[str, str]:
    """The first name and the family name as they stand in a person's name."""
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


# One mention


def _edits_at(words: Tokens, mention: Found, answer: str, new: str) -> list[_Edit]:
    of = described(new)
    _check_alias(words, mention, answer, of)
    inside, core_first = _article_inside(words, mention)
    start = words.starts[core_first] if inside else mention.start
    said = words.text[start : mention.end]
    if said.count('"') % 2 or said.count("(") != said.count(")"):
        raise CannotReplace("a quotation mark or bracket would be left over")
    piece = _in_form(words, mention, core_first, said, answer, new, of)
    piece = _without_doubled(words, mention, core_first, piece)
    _check_range(words, core_first, mention.last, piece)
    return _with_article(words, mention, inside, core_first, start, piece, answer, of)


def _check_alias(words: Tokens, mention: Found, answer: str, of: _New) -> None:
    """Refuse an alias with another head than the answer's ("power source" of "power"): the new answer has its form."""
    if mention.form != "alias" or mention.role != "whole" or of.proper or of.type != "other":
        return
    said = head(words.text[mention.start : mention.end]).lower()
    if said != head(answer).lower() and not is_proper(answer):
        raise CannotReplace("an alias of another form")


def _article_inside(words: Tokens, mention: Found) -> tuple[bool, int]:
    """Whether the mention begins with an article, and the first word after it."""
    inside = mention.last > mention.first and words.word(mention.first).lower() in ("a", "an", "the")
    inside = inside and words.adjacent(mention.first)
    return inside, mention.first + 1 if inside else mention.first


def _in_form(words: Tokens, mention: Found, first: int, said: str, answer: str, new: str, of: _New) -> str:
    """The new answer as the mention says the old one: part for part, number for number, letter for letter."""
    if mention.role == "surname":
        piece = of.surname or of.inner
    elif mention.role == "first name":
        piece = of.first or of.inner
    elif mention.role == "initials":
        piece = _abbreviated(said, of)
    elif mention.role == "plural":
        piece = _in_other_number(of.inner)
    elif mention.role == "city":
        piece = of.inner.partition(",")[0]
    else:
        piece = _figures(words, first, mention, said, new) or of.inner
    return _cased(words, first, said, answer, piece)


def _abbreviated(said: str, of: _New) -> str:
    if len(of.initials) < 2:
        return of.inner
    plural = said.endswith("s")
    short = "".join(f"{letter}." for letter in of.initials) if "." in said else of.initials
    return f"{short}s" if plural else short


def _in_other_number(inner: str) -> str:
    noun = head(inner)
    other = other_number(noun)
    if (
        takes_no_article(noun)
        or other is None
        or (is_proper(inner) and not is_plural(inner) and len(tokens(inner)) > 1)
    ):
        raise CannotReplace("the new answer has no such number")
    begin = inner.rindex(noun) if inner.endswith(noun) else inner.index(noun)
    return inner[:begin] + other + inner[begin + len(noun) :]


_DATE_PARTS = ("date part", "year")


def _figures(words: Tokens, first: int, mention: Found, said: str, new: str) -> str | None:
    """A new date or number in the way the mention writes the old one; None where it is neither."""
    inner = core(new)
    forms = tuple(tokens(inner).normals)
    date = date_of(forms)
    old = date_of(tuple(form for form in words.normals[first : mention.last + 1] if form != "of"))
    if date is not None and old is not None and (date.month or mention.role in _DATE_PARTS):
        return _dated(words, first, mention, date)
    if date is None and (mention.role in _DATE_PARTS or (old is not None and old.month)):
        raise CannotReplace("the new answer lacks a part of the date")
    return _numbered(said, inner)


def _dated(words: Tokens, first: int, mention: Found, date: Date) -> str:
    """The mention with its day, month and year exchanged, each written as the old one is."""
    pieces, at = [], words.starts[first]
    for place in range(first, mention.last + 1):
        word, form = words.word(place), words.normals[place]
        part: str | None
        if form in MONTHS:
            part = date.month and _month(date.month, word)
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


def _month(month: str, written: str) -> str:
    name = month.capitalize()
    return name[: len(written)] if len(written) in (3, 4) and written.lower() not in MONTHS else name


def _numbered(said: str, inner: str) -> str | None:
    """A new number in words or in figures, as the mention has it, with its own unit."""
    old, new = tokens(said), tokens(inner)
    if not len(old) or not len(new):
        return None
    if len(old) == 1 and len(new) == 1 and (ordinal := ordinal_value(new.word(0))) and ordinal_value(said):
        return _ordinal_like(ordinal, said)
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


def _ordinal_like(value: int, written: str) -> str:
    if written[0].isdigit():
        return f"{value}{ordinal_ending(value)}"
    return spelt_ordinal(value) or f"{value}{ordinal_ending(value)}"


def _cased(words: Tokens, first: int, said: str, answer: str, piece: str) -> str:
    """The new words in the capitals of the old ones."""
    inner = core(answer)
    letters = [letter for letter in said if letter.isalpha()]
    if len(letters) > 3 and said.isupper() and not inner.isupper():
        return piece.upper()
    if said[:1].isupper() and piece[:1].islower():
        opens = words.opens_sentence(first)
        if opens or _is_common(answer):
            return piece[:1].upper() + piece[1:]
    if said[:1].islower() and said[:1].isalpha() and inner[:1].isupper() and piece[:1].isupper():
        first_word = tokens(piece).word(0)
        if is_dictionary_word(first_word) and not is_proper(piece):
            return piece[:1].lower() + piece[1:]
    return piece


def _is_common(answer: str) -> bool:
    """Whether the answer's first letter is small in the middle of a sentence."""
    return not is_proper(answer) and within_sentence(core(answer))[:1].islower()


def _without_doubled(words: Tokens, mention: Found, first: int, piece: str) -> str:
    """The new words without what stands beside the mention already ("Yukon River" before "River")."""
    new = tokens(piece)
    follows = words.normals[mention.last + 1] if words.adjacent(mention.last) else ""
    if len(new) > 1 and new.normals[-1] == follows and not follows[0].isdigit():
        piece = piece[: new.ends[-2]]
        new = tokens(piece)
    precedes = words.normals[first - 1] if first and words.adjacent(first - 1) else ""
    if len(new) > 1 and precedes:
        titles = new.normals[0] in TITLES and precedes in TITLES
        if titles or new.normals[0] == precedes:
            return piece[new.starts[1] :]
    return piece


_RANGE_GAP = re.compile(r"\s*[-–—]\s*")


def _check_range(words: Tokens, first: int, last: int, piece: str) -> None:
    """Refuse a number that turns a range round ("1775–1795" with 1800 in the first place)."""
    new = tokens(piece)
    value = value_of((new.normals[-1],)) if len(new) else None
    if value is None:
        return
    before = _partner(words, first - 1, -1)
    after = _partner(words, last, 1)
    if (before is not None and before >= value) or (after is not None and after <= value):
        raise CannotReplace("a range would run backwards")


def _partner(words: Tokens, gap: int, step: int) -> float | None:
    """The number at the other end of a range, in direction `step` from a gap."""
    near = gap if step < 0 else gap + 1
    if not 0 <= near < len(words):
        return None
    if _RANGE_GAP.fullmatch(words.gap(gap)):
        return value_of((words.normals[near],)) if words.normals[near][0].isdigit() else None
    far = near + step
    if words.normals[near] in ("to", "and", "until") and 0 <= far < len(words):
        opener = words.normals[far - 1] if step < 0 and far else words.normals[gap - 1] if gap > 0 else ""
        if opener in ("from", "between") and words.normals[far][0].isdigit():
            return value_of((words.normals[far],))
    return None


# The words beside a mention


def _with_article(
    words: Tokens, mention: Found, inside: bool, first: int, start: int, piece: str, answer: str, of: _New
) -> list[_Edit]:
    """The edit of the mention, with the article before it put right."""
    before = words.word(first - 1).lower() if first and words.adjacent(first - 1) else ""
    article_edit: list[_Edit] = []
    lead = words.text[mention.start : start]
    heads = _ends_phrase(words, mention.last)
    _check_bare(words, mention, first, heads, answer, of)
    name = of.proper and of.type not in ("number", "date")
    was_the = takes_the(answer)
    if before in ("a", "an"):
        _check_indefinite(mention, heads, of)
        wanted = article(piece)
        if wanted != before:
            changed = wanted.capitalize() if words.capitalised(first - 1) else wanted
            at = words.starts[first - 1], words.ends[first - 1]
            if inside:
                lead = changed + words.text[at[1] : start]
            else:
                article_edit.append(_Edit(*at, changed, False))
    elif name and heads and mention.role in ("whole", "initials", "spelt out"):
        if before == "the" and of.the is False:
            if not inside:
                article_edit.append(_Edit(words.starts[first - 1], start, "", False))
            lead = ""
            if words.capitalised(first - 1):
                piece = piece[:1].upper() + piece[1:]
        elif before != "the" and of.the and was_the is not True and _stands_free(words, first):
            opens = words.opens_sentence(first)
            piece = f"{'The' if opens else 'the'} {piece}"
    edits = [*article_edit, _Edit(mention.start, mention.end, lead + piece, True)]
    return edits + _verb(words, mention, first, said_plural(words, mention, answer), piece, of, heads)


def said_plural(words: Tokens, mention: Found, answer: str) -> bool:
    """Whether the mention stands in the plural."""
    plural = is_plural(answer)
    return not plural if mention.role == "plural" else plural


def _check_indefinite(mention: Found, heads: bool, of: _New) -> None:
    """Refuse what cannot stand after "a" or "an": a plural, a substance, the name of a place or a person."""
    if not heads or of.type in ("number", "date"):
        return
    if of.plural != (mention.role == "plural"):
        raise CannotReplace("an article stands before a plural")
    if of.proper and (of.type in ("person", "place", "organisation") or not is_dictionary_word(head(of.inner))):
        raise CannotReplace("an article stands before a name")
    if not of.proper and takes_no_article(head(of.inner)):
        raise CannotReplace("the new answer takes no article")


def _check_bare(words: Tokens, mention: Found, first: int, heads: bool, answer: str, of: _New) -> None:
    """Refuse a noun that needs an article where the mention stands without one ("into condenser")."""
    if of.proper or of.type != "other" or not heads or mention.role != "whole" or of.plural or is_plural(answer):
        return
    noun = head(of.inner)
    if is_mass(noun) or not is_dictionary_word(noun) or "NOUN" not in parts_of_speech(noun):
        return
    before = words.word(first - 1).lower() if first and words.adjacent(first - 1) else ""
    of_word = parts_of_speech(before)
    takes = before in PREPOSITIONS or ("VERB" in of_word and "ADJ" not in of_word)
    if before == "" and first and not words.opens_sentence(first):
        return
    if (takes and before not in ("of", "as", "is", "was")) or (before == "" and first == 0):
        raise CannotReplace("the new answer needs an article")


def _ends_phrase(words: Tokens, last: int) -> bool:
    """Whether the noun phrase ends with the word, so that an article before it belongs to it."""
    if last + 1 >= len(words) or not words.adjacent(last):
        return not re.match(r"-\w", words.text[words.ends[last] : words.ends[last] + 2]) and not re.match(
            r"['’]s\b", words.text[words.ends[last] : words.ends[last] + 3]
        )
    word = words.word(last + 1)
    low = word.lower()
    if (
        low in PREPOSITIONS
        or low in AUXILIARIES
        or low in ("and", "or", "but", "who", "which", "that", "where", "when")
    ):
        return True
    of = parts_of_speech(low)
    return not (word[0].isupper() or "NOUN" in of or "ADJ" in of) or low.endswith("ed")


def _stands_free(words: Tokens, first: int) -> bool:
    """Whether no determiner or adjective stands before the word at `first`."""
    if words.opens_sentence(first) or not words.adjacent(first - 1):
        return True
    low = words.word(first - 1).lower()
    return low in PREPOSITIONS or low in AUXILIARIES or low in ("and", "or", "but") or parts_of_speech(low) == {"VERB"}


_VERB_PAIRS = (("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"))
_OTHER_VERB = dict(_VERB_PAIRS) | {plural: singular for singular, plural in _VERB_PAIRS}
_NUMBERED_DETERMINERS = word_set("this that these those each every many several few both one another")


def _verb(words: Tokens, mention: Found, first: int, was: bool, piece: str, of: _New, heads: bool) -> list[_Edit]:
    """The verb after a mention whose number changes; none where the number stays."""
    now = of.plural if mention.role != "plural" else not of.plural
    if mention.role not in ("whole", "plural") or was == now or not heads:
        return []
    if first and words.adjacent(first - 1) and words.normals[first - 1] in _NUMBERED_DETERMINERS:
        raise CannotReplace("a determiner asks for the other number")
    place = mention.last + 1
    if place >= len(words) or not words.adjacent(mention.last) or not _can_be_subject(words, first):
        return []
    verb = words.word(place)
    if verb in _OTHER_VERB:
        if mention.first and words.normals[mention.first - 1] == "and":
            return []
        return [_Edit(words.starts[place], words.ends[place], _OTHER_VERB[verb], False)]
    other = _other_present(verb, now)
    return [_Edit(words.starts[place], words.ends[place], other, False)] if other else []


def _can_be_subject(words: Tokens, first: int) -> bool:
    if words.opens_sentence(first) or not words.adjacent(first - 1):
        return True
    low = words.word(first - 1).lower()
    if low in ("the", "a", "an"):
        return _can_be_subject(words, first - 1)
    return low not in PREPOSITIONS and low not in AUXILIARIES


@lru_cache(_KEPT)
def _other_present(verb: str, plural: bool) -> str | None:
    """The present tense of a verb in the other number; None where the word is no verb in the present."""
    if not verb.islower():
        return None
    lemmas: tuple[str, ...] = lemminflect.getAllLemmas(verb).get("VERB", ())
    if not lemmas:
        return None
    base = lemmas[0]
    third: tuple[str, ...] = lemminflect.getInflection(base, "VBZ")
    if plural and verb in third:
        return base
    if not plural and verb == base and third and verb not in PREPOSITIONS:
        return third[0]
    return None


_MALE = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
_FEMALE = {"she": "he", "herself": "himself", "hers": "his"}


def _pronouns(words: Tokens, found: tuple[Found, ...], answer: str, new: str) -> list[_Edit]:
    """Pronouns for a person of another gender, where the text speaks of one person only."""
    was, now = gender(core(answer)), gender(core(new))
    if was is None or now is None or was == now or answer_type(answer) != "person":
        return []
    wanted = {"he", "him", "his", "himself"} if was == "male" else {"she", "her", "hers", "herself"}
    places = sorted(place for form in wanted for place in words.places(form))
    if not places:
        return []
    if _others_named(words, found):
        raise CannotReplace("a pronoun may speak of somebody else")
    return [_Edit(words.starts[at], words.ends[at], _other_pronoun(words, at, was == "male"), False) for at in places]


def _others_named(words: Tokens, found: tuple[Found, ...]) -> bool:
    covered = {place for mention in found for place in range(mention.first, mention.last + 1)}
    return any(
        place not in covered and words.capitalised(place) and words.capitalised(place + 1) and words.adjacent(place)
        and is_first_name(words.word(place)) and words.normals[place + 1] not in SUFFIXES
        for place in range(len(words) - 1)
    )  # fmt: skip


def _other_pronoun(words: Tokens, place: int, male: bool) -> str:
    word = words.word(place)
    low = word.lower()
    if male:
        other = _MALE[low] if low != "his" or _owns(words, place) else "hers"
    elif low == "her":
        other = "his" if _owns(words, place) else "him"
    else:
        other = _FEMALE[low]
    return other.capitalize() if word[0].isupper() else other


def _owns(words: Tokens, place: int) -> bool:
    """Whether a noun phrase follows, so that "her" says whose it is."""
    if place + 1 >= len(words) or not words.adjacent(place):
        return False
    low = words.word(place + 1).lower()
    if (
        low in PREPOSITIONS
        or low in AUXILIARIES
        or low in ("and", "or", "but", "that", "who", "when", "a", "an", "the")
    ):
        return low == "own"
    return bool(parts_of_speech(low) & {"NOUN", "ADJ"}) or not parts_of_speech(low)
