"""The words beside an exchanged mention of an English text: articles, verbs and pronouns that agree with it."""

import re
from functools import lru_cache

import lemminflect

from flows.language import CannotReplace
from flows.language.edits import Edit
from flows.language.en import phrases
from flows.language.en.forms import New
from flows.language.en.names import SUFFIXES, gender, is_first_name
from flows.language.en.persons import Found
from flows.language.en.tokens import Tokens, word_set
from flows.language.en.types import answer_type

_KEPT = 8192


def with_article(
    words: Tokens, mention: Found, inside: bool, first: int, start: int, piece: str, answer: str, of: New
) -> list[Edit]:
    """The edit of the mention, with the article before it put right."""
    before = words.before(first)
    article_edit: list[Edit] = []
    lead = words.text[mention.start : start]
    heads = _ends_phrase(words, mention.last)
    _check_bare(words, mention, first, heads, answer, of)
    name = of.proper and of.type not in ("number", "date")
    was_the = phrases.takes_the(answer)
    if before in ("a", "an"):
        _check_indefinite(mention, heads, of)
        wanted = phrases.article(piece)
        if wanted != before:
            changed = wanted.capitalize() if words.capitalised(first - 1) else wanted
            at = words.starts[first - 1], words.ends[first - 1]
            if inside:
                lead = changed + words.text[at[1] : start]
            else:
                article_edit.append(Edit(*at, changed, False))
    elif name and heads and mention.role in ("whole", "initials", "spelt out"):
        if before == "the" and of.the is False:
            if not inside:
                article_edit.append(Edit(words.starts[first - 1], start, "", False))
            lead = ""
            if words.capitalised(first - 1):
                piece = piece[:1].upper() + piece[1:]
        elif before != "the" and of.the and was_the is not True and _stands_free(words, first):
            opens = words.opens_sentence(first)
            piece = f"{'The' if opens else 'the'} {piece}"
    edits = [*article_edit, Edit(mention.start, mention.end, lead + piece, True)]
    return edits + _verb(words, mention, first, said_plural(words, mention, answer), piece, of, heads)


def said_plural(words: Tokens, mention: Found, answer: str) -> bool:
    """True if the mention stands in the plural."""
    plural = phrases.is_plural(answer)
    return not plural if mention.role == "plural" else plural


def _check_indefinite(mention: Found, heads: bool, of: New) -> None:
    """Refuse what cannot stand after "a" or "an": a plural, a substance, the name of a place or a person."""
    if not heads or of.type in ("number", "date"):
        return
    if of.plural != (mention.role == "plural"):
        raise CannotReplace("an article stands before a plural")
    if of.proper and (
        of.type in ("person", "place", "organisation") or not phrases.is_dictionary_word(phrases.head(of.inner))
    ):
        raise CannotReplace("an article stands before a name")
    if not of.proper and phrases.takes_no_article(phrases.head(of.inner)):
        raise CannotReplace("the new answer takes no article")


def _check_bare(words: Tokens, mention: Found, first: int, heads: bool, answer: str, of: New) -> None:
    """Refuse a noun that needs an article where the mention stands without one ("into condenser")."""
    if (
        of.proper
        or of.type != "other"
        or not heads
        or mention.role != "whole"
        or of.plural
        or phrases.is_plural(answer)
    ):
        return
    noun = phrases.head(of.inner)
    if phrases.is_mass(noun) or not phrases.is_dictionary_word(noun) or "NOUN" not in phrases.parts_of_speech(noun):
        return
    before = words.before(first)
    of_word = phrases.parts_of_speech(before)
    takes = before in phrases.PREPOSITIONS or ("VERB" in of_word and "ADJ" not in of_word)
    if before == "" and first and not words.opens_sentence(first):
        return
    if (takes and before not in ("of", "as", "is", "was")) or (before == "" and first == 0):
        raise CannotReplace("the new answer needs an article")


def _ends_phrase(words: Tokens, last: int) -> bool:
    """True if the noun phrase ends with the word, so that an article before it belongs to it."""
    if last + 1 >= len(words) or not words.adjacent(last):
        return not re.match(r"-\w", words.text[words.ends[last] : words.ends[last] + 2]) and not re.match(
            r"['’]s\b", words.text[words.ends[last] : words.ends[last] + 3]
        )
    word = words.word(last + 1)
    low = word.lower()
    if (
        low in phrases.PREPOSITIONS
        or low in phrases.AUXILIARIES
        or low in ("and", "or", "but", "who", "which", "that", "where", "when")
    ):
        return True
    of = phrases.parts_of_speech(low)
    return not (word[0].isupper() or "NOUN" in of or "ADJ" in of) or low.endswith("ed")


def _stands_free(words: Tokens, first: int) -> bool:
    """True if no determiner or adjective stands before the word at `first`."""
    if words.opens_sentence(first) or not words.adjacent(first - 1):
        return True
    low = words.word(first - 1).lower()
    return (
        low in phrases.PREPOSITIONS
        or low in phrases.AUXILIARIES
        or low in ("and", "or", "but")
        or phrases.parts_of_speech(low) == {"VERB"}
    )


_VERB_PAIRS = (("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"))
_OTHER_VERB = dict(_VERB_PAIRS) | {plural: singular for singular, plural in _VERB_PAIRS}
_NUMBERED_DETERMINERS = word_set("this that these those each every many several few both one another")


def _verb(words: Tokens, mention: Found, first: int, was: bool, piece: str, of: New, heads: bool) -> list[Edit]:
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
        return [Edit(words.starts[place], words.ends[place], _OTHER_VERB[verb], False)]
    other = _other_present(verb, now)
    return [Edit(words.starts[place], words.ends[place], other, False)] if other else []


def _can_be_subject(words: Tokens, first: int) -> bool:
    if words.opens_sentence(first) or not words.adjacent(first - 1):
        return True
    low = words.word(first - 1).lower()
    if low in ("the", "a", "an"):
        return _can_be_subject(words, first - 1)
    return low not in phrases.PREPOSITIONS and low not in phrases.AUXILIARIES


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
    if not plural and verb == base and third and verb not in phrases.PREPOSITIONS:
        return third[0]
    return None


_MALE = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
_FEMALE = {"she": "he", "herself": "himself", "hers": "his"}


def pronouns(words: Tokens, mentions: tuple[Found, ...], answer: str, new: str) -> list[Edit]:
    """Pronouns for a person of another gender, where the text speaks of one person only."""
    was, now = gender(phrases.core(answer)), gender(phrases.core(new))
    if was is None or now is None or was == now or answer_type(answer) != "person":
        return []
    wanted = {"he", "him", "his", "himself"} if was == "male" else {"she", "her", "hers", "herself"}
    places = sorted(place for form in wanted for place in words.places(form))
    if not places:
        return []
    if _others_named(words, mentions):
        raise CannotReplace("a pronoun may speak of somebody else")
    return [Edit(words.starts[at], words.ends[at], _other_pronoun(words, at, was == "male"), False) for at in places]


def _others_named(words: Tokens, mentions: tuple[Found, ...]) -> bool:
    covered = {place for mention in mentions for place in range(mention.first, mention.last + 1)}
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
    """True if a noun phrase follows, so that "her" says whose it is."""
    if place + 1 >= len(words) or not words.adjacent(place):
        return False
    low = words.word(place + 1).lower()
    if (
        low in phrases.PREPOSITIONS
        or low in phrases.AUXILIARIES
        or low in ("and", "or", "but", "that", "who", "when", "a", "an", "the")
    ):
        return low == "own"
    return bool(phrases.parts_of_speech(low) & {"NOUN", "ADJ"}) or not phrases.parts_of_speech(low)
