"""English names that a rule can soundly replace, and their invented substitutes."""

import random
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial

from flows.families.lveval.candidates import named_entities
from flows.families.lveval.inputs import ToRename
from flows.families.lveval.rules.replacement_makers import Maker, asked_years, gender_of, moved, substituted
from flows.families.lveval.rules.vocabulary import pattern, vocabulary, words
from flows.language import en
from flows.language.en.names import TITLES, classes, is_familiar_place, is_first_name, is_surname, place_class
from flows.language.en.persons import FUNCTION_WORDS, personal_name
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word
from flows.language.en.tokens import MONTHS, word_set
from flows.language.keywords import occurs
from flows.language.tables import invented_names
from schemas.lveval import Rule

_DEMONYM = re.compile(r"(?:ans?|ese|ish|[ei]c|ites?|ch|isms?|ists?|tions?|ity|ness|ology)$")
"""Ends of words for peoples, languages, ideas and actions, which are not replaced."""
_TIMES_AND_TONGUES = frozenset(MONTHS) | words("times_and_tongues")
_JOINING = words("joining_words")
_SON_OF = word_set("al el abu bin ibn")
_PEOPLES = words("peoples")
_DWELLERS = vocabulary("dwellers")
_NAME_WORD = r"[^\W\d_a-z][\w'’-]*\.?"
_GIVEN = r"[^\W\d_a-z](?:\.|[\w'’-]*)"
_LINK = r"(?:of|the|de|du|la|le|und|et|ul|al|von|van|y|e|i|di|da|del)"
_RUN = rf"{_NAME_WORD}(?: {_LINK})*"
_SOMEBODY = re.compile(r"(?<!\w)(?:[Bb]orn|he|He|she|She|his|His|her|Her)(?!\w)|\(\d{4} ?[–-] ?\d{4}\)")
_MALE = r"\b(?:he|his|him|king|son|father|brother|actor)\b"
_FEMALE = r"\b(?:she|her|hers|queen|daughter|mother|sister|actress)\b"
_OPENING = 80  # characters within which a text names its subject
_OF_NAME = pattern("told_of_a_name")
_OTHER_SCRIPT = "[\u0370-\u1dff\u3040-\ud7ff]"
_NEARLY = 0.7  # similarity from which two words may be spellings of the same name
_ALIKE_LETTERS = 4


def in_english(asked: ToRename, texts: str) -> Iterator[Maker]:
    """Yield the names that can be replaced, those of the question first, longest first."""
    done: list[str] = []
    for name in _names_of(asked):
        if any(name in other or other in name for other in done):
            continue
        done.append(name)
        words = name.split()
        if _in_another_script(words[-1], texts):
            continue
        if _of_somebody(name, asked) and (_is_person(name) or _is_born(name, texts)):
            yield partial(_person, name, (asked.question, *asked.answers, *asked.texts))
        elif _told_of_name(name, asked.texts):
            continue
        elif place_class(name) == "city" and _telling_town(name) and _stands_alone(name, texts):
            dwellers = _DWELLERS.get(name)
            if not _acts(name, asked.texts) and (dwellers is None or dwellers not in texts):
                yield partial(substituted, name, invented_names("en")["town"])
        elif (telling := _telling(words)) is not None and _stands_alone(telling, texts):
            yield partial(_coined, telling)
    yield from (partial(moved, year, "", texts) for year in asked_years(asked))


def _names_of(asked: ToRename) -> list[str]:
    """Return the names in question and answers, those of the question first, longest first."""
    places: dict[str, int] = {}
    for place, text in enumerate((asked.question, *asked.answers)):
        for name, _ in named_entities(asked.language, text):
            places.setdefault(" ".join(name.split()), place)
        for run in re.findall(rf"{_NAME_WORD}(?: {_NAME_WORD})*", text if place else text[1:]):
            for name in (run, *run.split()):
                places.setdefault(re.sub(r"['’]s$|[.,]$", "", name), place)
    return sorted(places, key=lambda name: (places[name], -len(name), name))


def _told_of_name(name: str, documents: Sequence[str]) -> bool:
    """Return whether a text is about the name itself: its meaning, its origin, another spelling."""
    for text in documents:
        about = name in text[:_OPENING]
        spoken = [sentence for sentence in en.sentences(text) if about or name in sentence]
        if name in text and any(_OF_NAME.search(sentence) for sentence in spoken):
            return True
    glossed = rf"{re.escape(name)}(?: \([^()]*\))?,? or (?:the )?[A-Z]|{re.escape(name)} \([A-Z][a-z]+ [a-z]+\)"
    return any(re.search(glossed, text) for text in documents)


def _in_another_script(name: str, texts: str) -> bool:
    return re.search(rf"{re.escape(name)}[^.\n]{{0,40}}\([^()]*{_OTHER_SCRIPT}", texts) is not None


def _acts(name: str, documents: Sequence[str]) -> bool:
    """Return whether a seeming town is a person: "Baran developed it during his research"."""
    of_somebody = re.compile(rf"(?:^|\n){re.escape(name)} [^\n]*\b(?:his|her|he|she|himself|herself)\b")
    return any(of_somebody.search(sentence) for text in documents for sentence in en.sentences(text))


def _is_person(name: str) -> bool:
    words = name.split()
    first, last = words[0].casefold(), words[-1].casefold()
    return (
        len(words) in (2, 3)
        and personal_name(name) is not None
        and is_first_name(words[0])
        and first not in TITLES | _SON_OF
        and len(last) > 2
        and not is_dictionary_word(first)
        and (is_surname(words[-1]) or not is_dictionary_word(last))
        and last not in classes("head")
        and all(word[:1].isupper() for word in words)
    )


def _is_born(name: str, texts: str) -> bool:
    """Return whether a page begins with the name and a date of birth."""
    words = name.split()
    if len(words) != 2 or any(is_dictionary_word(word.casefold()) or place_class(word) for word in words):
        return False
    dated = rf"(?:^|\n){re.escape(name)} \((?:born |[^)]{{0,40}}; )?[^)]{{0,20}}\d{{4}}"
    return re.search(dated, texts) is not None


def _of_somebody(name: str, asked: ToRename) -> bool:
    """Return whether a document with the name is about a person, who is born or called he or she."""
    texts = asked.texts
    nicknamed = re.search(rf'{re.escape(name)} ["“]', "\n".join((asked.question, *asked.answers, *texts)))
    return not nicknamed and any(name.rpartition(" ")[2] in text and _SOMEBODY.search(text) for text in texts)


def _stands_alone(word: str, texts: str) -> bool:
    """Return whether the word is always a name by itself, and no other word is spelt nearly like it.

    Only words for its kind may stand beside it ("Galata Bridge").
    """
    if re.search(rf"(?<!\w){re.escape(word)}(?:\w|['’-]\w{{2}})", texts) or re.search(rf"\w-{re.escape(word)}", texts):
        return False
    if re.search(rf"\b(?:al|bin|ibn|abu) {re.escape(word)}|{re.escape(word)} (?:al|el|bin|ibn)\b", texts):
        return False
    for match in re.finditer(rf"(?<!\w)(?:{_RUN} )?{re.escape(word)}(?: (?:{_LINK} )*{_RUN})?(?!\w)", texts):
        beside = [other.strip(".'") for other in match[0].replace(word, " ", 1).split() if other[:1].isupper()]
        if not all(word.casefold() in classes("head") or is_dictionary_word(word.casefold()) for word in beside):
            return False
    if re.search(rf"(?<!\w){word[0]}\. ?[a-z]{{3}}|(?<!\w){word[0]}[A-Z]{{1,4}}(?!\w)", texts):
        return False  # the first letter of it stands for it: "A. pintoi", "RU"
    others = set(re.findall(r"[^\W\d_a-z][^\W\d_]{3,}", texts)) - {word}
    return not any(_spelt_alike(word, other) for other in others)


def _spelt_alike(word: str, other: str) -> bool:
    if word[0] != other[0] or is_dictionary_word(other.casefold()):
        return False
    if len(word) > _ALIKE_LETTERS and word[:_ALIKE_LETTERS] == other[:_ALIKE_LETTERS]:
        return True  # Myrtus, Myrtaceae
    return SequenceMatcher(None, word.casefold(), other.casefold(), autojunk=False).ratio() >= _NEARLY


def _telling(words: Sequence[str]) -> str | None:
    """Return the one unusual word of a name whose other words only say what kind of thing it is."""
    rest = [word for word in words if word.casefold() not in classes("head") and word.casefold() != "the"]
    if len(rest) != 1:
        return None
    (word,) = rest
    fit = len(word) > 3 and word.isalpha() and word[:1].isupper() and word[1:].islower()
    low = word.casefold()
    has_meaning = (
        is_dictionary_word(low)
        or low in FUNCTION_WORDS | PREPOSITIONS | _JOINING
        or not {low, low.removesuffix("s")}.isdisjoint(_TIMES_AND_TONGUES | _PEOPLES)
        or is_first_name(word)
        or place_class(word)
        or _DEMONYM.search(word)
    )
    return word if fit and not has_meaning else None


def _telling_town(name: str) -> bool:
    low = name.casefold()
    has_meaning = low in _TIMES_AND_TONGUES | _PEOPLES or is_dictionary_word(low)
    somebody = is_first_name(name) and not is_familiar_place(name)
    return name.isalpha() and not has_meaning and not somebody


def _coined(word: str, rng: random.Random) -> list[Rule]:
    """Return a rule with an invented word that has the ending of the keyword."""
    start = "".join(rng.sample(invented_names("en")["syllable"], 2)).capitalize()
    ending = re.search(r"(?:[aeiou]{1,2}(?:[lmnrst]|ns?|rs?)?|ard|and|ell|ist|ing)$", word.casefold())
    return [Rule(old=word, new=start + (ending[0] if ending else "en"))]


def _person(name: str, documents: Sequence[str], rng: random.Random) -> list[Rule]:
    """Return rules for a person's new first and family name, in each form in the texts."""
    words, texts = name.split(), "\n".join(documents)
    first, last = words[0], words[-1]
    about = "\n".join(text for text in documents if last in text)
    by_pronouns, named = gender_of(about, (_MALE, _FEMALE)), en.gender(name)
    of = named if by_pronouns is None else by_pronouns
    before = re.findall(rf"({_NAME_WORD}) {re.escape(name)}", texts)
    if of is None or (named and of != named) or _named_otherwise(words, texts):
        return []
    if not all(is_dictionary_word(word.casefold()) or word.casefold() in TITLES for word in before):
        return []
    names = invented_names("en")
    new_first, middle = rng.sample(names[of], 2)
    new_last = rng.choice(names["surname"])
    forms = {
        match[0]
        for match in re.finditer(rf"(?<!\w){_NAME_WORD}(?: {_NAME_WORD}){{0,4}}(?: {re.escape(last)})(?!\w)", texts)
        if match[0][0] == first[0]
        and not any(word.endswith(".") and len(word) > len("J.") for word in match[0].split())
        and (match[0].split()[0] == first or match[0].split()[0].endswith("."))
    } | {name}

    def put(form: str) -> str:
        *given_names, _ = form.split()
        pieces = [
            f"{new[0]}." if word.endswith(".") or len(word) == 1 else new
            for word, new in zip(given_names, (new_first, middle, *names[of]), strict=False)
        ]
        return " ".join((*pieces, new_last))

    made = [Rule(old=form, new=put(form)) for form in sorted(forms, key=lambda form: (-len(form), form))]
    bare = texts
    for rule in made:
        bare = bare.replace(rule.old, " ")
    if occurs(bare, [last], "en"):
        if is_familiar_place(last):
            return []  # other things of that name would be renamed too: Washington
        made.append(Rule(old=last, new=new_last))
    for rule in made:
        bare = re.sub(rf"(?<!\w){re.escape(rule.old)}(?!\w)", " ", bare)
    return [] if re.search(rf"(?<!\w)(?:{re.escape(first)}|{re.escape(last)})", bare) else made


def _named_otherwise(words: Sequence[str], texts: str) -> bool:
    """Return whether the texts call the person by another or a longer name.

    A short form of the first name ("Jim", who is James William), another of the first names, a further family name
    behind the one given; or a genitive that is made with the name's own "s".
    """
    first, *inner, last = words
    runs = [run.split() for run in re.findall(rf"((?:{_GIVEN} ){{1,4}}){re.escape(last)}(?!\w)", texts)]
    following = re.findall(rf"{re.escape(last)} ({_NAME_WORD})", texts)
    return (
        any(word[:2] == first[:2] and word != first for run in runs for word in run)
        or any(len(run) > 1 and first not in run and run[0][0] == first[0] for run in runs)
        or any(run[-1] == word and first not in run for run in runs for word in inner if len(word) > len("J."))
        or any(word.casefold() not in classes("head") and word[1:].islower() for word in following)
        or re.search(rf"{re.escape(last)} (?:y|i|e) [A-Z]|{re.escape(last)}['’](?!s)", texts) is not None
    )
