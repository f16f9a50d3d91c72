"""The words beside a replaced mention in an English text: articles, verbs and pronouns that agree with it."""

import re
from functools import lru_cache

import lemminflect

from flows.language import CannotReplace, Edit
from flows.language.en import phrases
from flows.language.en.forms import New, Site
from flows.language.en.names import SUFFIXES, gender, is_first_name
from flows.language.en.persons import Found
from flows.language.en.tokens import Tokens, word_set
from flows.language.en.types import answer_type
from flows.language.tables import word_list

_GRAMMAR = phrases.PREPOSITIONS | phrases.AUXILIARIES | {"and", "or", "but"}


def with_concord(site: Site, piece: str) -> list[Edit]:
    """The edits that put `piece` in the place of the mention, with the article before it and the verb after it."""
    words, mention, first, new = site.words, site.mention, site.first, site.new
    heads = _ends_phrase(words, mention.last)
    _check_bare(site, heads)
    edits: list[Edit] = []
    lead = words.text[mention.start : site.start]
    if site.before in ("a", "an"):
        _check_indefinite(mention, heads, new)
        wanted = phrases.article(piece)
        if wanted != site.before:
            changed = wanted.capitalize() if words.capitalised(first - 1) else wanted
            at = words.starts[first - 1], words.ends[first - 1]
            if site.inside:
                lead = changed + words.text[at[1] : site.start]
            else:
                edits.append(Edit(*at, changed, False))
    elif _is_whole_name(site, heads) and site.before == "the" and new.the is False:
        if not site.inside:
            edits.append(Edit(words.starts[first - 1], site.start, "", False))
        lead = ""
        if words.capitalised(first - 1):
            piece = piece[:1].upper() + piece[1:]
    elif _is_whole_name(site, heads) and site.before != "the" and _needs_the(site):
        piece = f"{'The' if words.opens_sentence(first) else 'the'} {piece}"
    edits.append(Edit(mention.start, mention.end, lead + piece, True))
    return edits + _verb(site, heads)


def _is_whole_name(site: Site, heads: bool) -> bool:
    """True if a name is put in the place of a whole answer that ends its noun phrase."""
    name = site.new.proper and site.new.type not in ("number", "date")
    return name and heads and site.mention.role in ("whole", "initials", "spelt out")


def _needs_the(site: Site) -> bool:
    """True if the new name takes "the", the old name did not, and no determiner or adjective precedes it."""
    if not site.new.the or phrases.takes_the(site.answer) is True:
        return False
    low = site.before
    return site.words.opens_sentence(site.first) or low in _GRAMMAR | {""} or phrases.parts_of_speech(low) == {"VERB"}


def _check_indefinite(mention: Found, heads: bool, new: New) -> None:
    """Raise `CannotReplace` for an answer that cannot follow "a": a plural, a substance, a place or a person."""
    if not heads or new.type in ("number", "date"):
        return
    if new.plural != (mention.role == "plural"):
        raise CannotReplace("an article stands before a plural")
    noun = phrases.head(new.inner)
    if new.proper and (new.type in ("person", "place", "organisation") or not phrases.is_dictionary_word(noun)):
        raise CannotReplace("an article stands before a name")
    if not new.proper and phrases.takes_no_article(noun):
        raise CannotReplace("the new answer takes no article")


def _check_bare(site: Site, heads: bool) -> None:
    """Raise `CannotReplace` for a noun that needs an article if the mention has none ("into condenser")."""
    new = site.new
    if new.proper or new.type != "other" or not heads or site.mention.role != "whole":
        return
    noun = phrases.head(new.inner)
    if new.plural or phrases.is_plural(site.answer) or phrases.is_mass(noun):
        return
    if "NOUN" not in phrases.parts_of_speech(noun):
        return
    before = site.before
    kinds = phrases.parts_of_speech(before)
    takes = before in phrases.PREPOSITIONS or ("VERB" in kinds and "ADJ" not in kinds)
    if before == "" and site.first and not site.words.opens_sentence(site.first):
        return
    if (takes and before not in ("of", "as", "is", "was")) or (before == "" and site.first == 0):
        raise CannotReplace("the new answer needs an article")


def _ends_phrase(words: Tokens, last: int) -> bool:
    """True if the noun phrase ends with the word, so that an article before it belongs to it."""
    if not words.adjacent(last):
        return re.match(r"-\w|['’]s\b", words.text[words.ends[last] : words.ends[last] + 3]) is None
    word = words.word(last + 1)
    low = word.lower()
    if low in _GRAMMAR or low in ("who", "which", "that", "where", "when"):
        return True
    kinds = phrases.parts_of_speech(low)
    return not (word[0].isupper() or "NOUN" in kinds or "ADJ" in kinds) or low.endswith("ed")


_PLURAL_VERB = {"is": "are", "was": "were", "has": "have", "does": "do"}
_OTHER_VERB = _PLURAL_VERB | {plural: singular for singular, plural in _PLURAL_VERB.items()}
_NUMBERED_DETERMINERS = word_set("this that these those each every many several few both one another")


def _verb(site: Site, heads: bool) -> list[Edit]:
    """The verb after a mention whose number changes; none if the number stays."""
    words, mention, first = site.words, site.mention, site.first
    is_plural, other_number = site.new.plural, mention.role == "plural"
    if phrases.is_plural(site.answer) == is_plural or mention.role not in ("whole", "plural") or not heads:
        return []
    if site.before and words.normals[first - 1] in _NUMBERED_DETERMINERS:
        raise CannotReplace("a determiner asks for the other number")
    if not words.adjacent(mention.last) or not _can_be_subject(words, first):
        return []
    place = mention.last + 1
    verb = words.word(place)
    if verb in _OTHER_VERB:
        joined = mention.first and words.normals[mention.first - 1] == "and"
        other = None if joined else _OTHER_VERB[verb]
    else:
        other = _other_present(verb, is_plural != other_number)
    return [Edit(words.starts[place], words.ends[place], other, False)] if other else []


def _can_be_subject(words: Tokens, first: int) -> bool:
    if words.opens_sentence(first) or not words.adjacent(first - 1):
        return True
    low = words.before(first)
    if low in ("the", "a", "an"):
        return _can_be_subject(words, first - 1)
    return low not in phrases.PREPOSITIONS and low not in phrases.AUXILIARIES


@lru_cache(8192)
def _other_present(verb: str, plural: bool) -> str | None:
    if not verb.islower():
        return None
    lemmas: tuple[str, ...] = lemminflect.getAllLemmas(verb).get("VERB", ())
    if not lemmas:
        return None
    base = lemmas[0]
    third: tuple[str, ...] = lemminflect.getInflection(base, "VBZ")
    if plural and verb in third:
        return base
    if not plural and verb == base and third and verb not in phrases.PREPOSITIONS:
        return third[0]
    return None


_MALE = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
_FEMALE = {"she": "he", "herself": "himself", "hers": "his"}


def pronouns(words: Tokens, mentions: tuple[Found, ...], answer: str, new: str) -> list[Edit]:
    """The edits of pronouns for a person of another gender, if the text is about one person only."""
    was, now = gender(phrases.core(answer)), gender(phrases.core(new))
    if was is None or now is None or was == now or answer_type(answer) != "person":
        return []
    wanted = word_list("en", "of a man" if was == "male" else "of a woman")
    places = [place for place in range(len(words)) if words.normals[place] in wanted]
    covered = {place for mention in mentions for place in range(mention.first, mention.last + 1)}
    if places and any(_names_person(words, place) for place in range(len(words) - 1) if place not in covered):
        raise CannotReplace("a pronoun may speak of somebody else")
    return [Edit(words.starts[at], words.ends[at], _other_pronoun(words, at), False) for at in places]


def _names_person(words: Tokens, place: int) -> bool:
    named = words.capitalised(place) and words.capitalised(place + 1) and words.adjacent(place)
    return named and is_first_name(words.word(place)) and words.normals[place + 1] not in SUFFIXES


def _other_pronoun(words: Tokens, place: int) -> str:
    word = words.word(place)
    low = word.lower()
    if low in _MALE:
        other = _MALE[low] if low != "his" or _owns(words, place) else "hers"
    elif low == "her":
        other = "his" if _owns(words, place) else "him"
    else:
        other = _FEMALE[low]
    return other.capitalize() if word[0].isupper() else other


def _owns(words: Tokens, place: int) -> bool:
    """True if a noun phrase follows, so that "her" says whose it is."""
    low = words.after(place)
    if not low or low in _GRAMMAR or low in ("that", "who", "when", "a", "an", "the"):
        return False
    kinds = phrases.parts_of_speech(low)
    return not kinds or bool(kinds & {"NOUN", "ADJ"})
