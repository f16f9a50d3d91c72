"""What an English answer names, and which answers can stand in one another's place."""

import re
from functools import lru_cache
from typing import NamedTuple

from flows.language import AnswerType
from flows.language.en.names import (
    PARTICLES,
    SUFFIXES,
    TITLES,
    classes,
    gender,
    is_common_surname,
    is_familiar_place,
    is_first_name,
    is_surname,
    place_class,
)
from flows.language.en.numbers import SCALES, date_of, is_year, ordinal_value, value_of
from flows.language.en.phrases import (
    ARTICLES,
    PREPOSITIONS,
    SMALL_WORDS,
    core,
    head,
    is_dictionary_word,
    is_list,
    is_mass,
    is_plural,
    is_proper,
    parts_of_speech,
    split_article,
    takes_no_article,
    takes_the,
    unintroduced,
)
from flows.language.en.tokens import CARDINALS, MONTHS, Tokens, tokens, word_set

_KEPT = 65536
_DATE_WORDS = word_set(
    "early mid middle late circa c ca around about in on by since from to until of the ad bc bce ce and between "
    "before after approximately or at during beginning end first second half quarter st nd rd th day night "
    "morning evening afternoon s"
)
_DATE_STRONG = re.compile(
    r"(?:(?:1\d|20)\d0s|\d0s|century|centuries|millennium|decade|monday|tuesday|wednesday|thursday|friday|saturday|"
    r"sunday|spring|summer|autumn|winter|christmas|easter)$"
)
_APPROXIMATE = word_set(
    "about around approximately almost nearly roughly over under more less than at least up to only some just an "
    "a the estimated"
)
_FRACTIONS = word_set("half third thirds quarter quarters dozen dozens hundreds thousands millions twice once")
_NUMBER_QUESTION = re.compile(
    r"\bhow (?:many|much|long|old|far|tall|high|large|big|often|deep|fast|wide|heavy)\b|"
    r"\bwhat (?:percent|percentage|number|fraction|amount|is the population|was the population)",
    re.IGNORECASE,
)
_DATE_QUESTION = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|month|day|century|decade|time period)", re.IGNORECASE
)
_PERSON_QUESTION = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_PLACE_QUESTION = re.compile(r"\bwhere\b|\b(?:in|to|from|at) (?:what|which) (?:place|location)", re.IGNORECASE)
_TEAM_QUESTION = re.compile(
    r"\b(?:league|cup|super ?bowl|championships?|nba|nfl|mlb|nhl|world series|team|finals?|tournament|playoffs?)\b",
    re.I,
)
_FOCUS = re.compile(
    r"\b(?:what|which)\b\s*(?:(?:is|was|are|were|'s)\s+(?:the\s+)?)?((?:[\w'’-]+\s*){1,7})|^\s*(?:name|give)\s+(?:the|a)\s+((?:[\w'’-]+\s*){1,5})",
    re.IGNORECASE,
)
_FOCUS_ENDS = word_set("did do does is was were are has have had can could would will should in on at that who")
_FOCUS_SKIPPED = word_set("name names type types kind kinds sort form term word of the a an other two three")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&]{1,6}")


class Focus(NamedTuple):
    """The noun that a question asks for ("which river ..."), with the type and class it calls for."""

    noun: str
    type: str | None
    group: str | None


@lru_cache(_KEPT)
def focus(question: str) -> Focus | None:
    """What noun follows the question word; the first of them that tells a type, else the last one."""
    match = _FOCUS.search(question)
    if match is None:
        return None
    known = classes("focus")
    last = None
    for word in (match.group(1) or match.group(2) or "").lower().split():
        if word in _FOCUS_ENDS:
            break
        if word in ARTICLES and last is not None:
            return None
        if word in _FOCUS_SKIPPED:
            continue
        if word.endswith(("'s", "’s", "s'", "s’")):  # "which industry's positions": an owner, not what is asked for
            continue
        singular = word if word in known else word.removesuffix("s")
        if singular in known:
            return Focus(singular, *known[singular])
        if "NOUN" in parts_of_speech(word) and word not in _NO_PART_OF_A_PHRASE:
            last = word
        elif last is not None:
            break
    return Focus(last, None, None) if last else None


@lru_cache(_KEPT)
def answer_type(answer: str, question: str = "") -> AnswerType:
    """What `answer` names; the question helps where the answer alone does not tell."""
    inner = core(answer)
    found = tokens(inner)
    if not len(found):
        return "other"
    if _is_date(found, question):
        return "date"
    if _is_number(inner, found, question):
        return "number"
    if not is_proper(answer):
        return "other"
    return _name_type(answer, inner, found, question)


def _is_date(found: Tokens, question: str) -> bool:
    forms = tuple(found.normals)
    counted = _NUMBER_QUESTION.search(question) is not None
    if date_of(forms) is not None:
        return not (counted and len(forms) == 1 and forms[0] not in MONTHS) and _reads_as_date(found, question)
    strong = [form for form in forms if _DATE_STRONG.match(form) or is_year(form) or form in MONTHS]
    if not strong or counted or value_of(forms) is not None:
        return False
    weak = (form for form in forms if form not in _DATE_WORDS and form not in strong)
    if all(form.isdigit() or ordinal_value(form) for form in weak):
        return len(forms) > 1 or bool(_DATE_STRONG.match(forms[0]))
    return _DATE_QUESTION.search(question) is not None and len(forms) <= 6


def _reads_as_date(found: Tokens, question: str) -> bool:
    """Whether a lone word that could be a month or a year is one."""
    if len(found) > 1:
        return True
    if found.normals[0] in ("march", "may"):
        return found.capitalised(0) and (_DATE_QUESTION.search(question) is not None or "month" in question)
    return "," not in found.word(0)


def _is_number(inner: str, found: Tokens, question: str) -> bool:
    forms = found.normals
    start = 0
    while start < len(forms) - 1 and forms[start] in _APPROXIMATE:
        start += 1
    first = forms[start]
    numeric = first[0].isdigit() or first in SCALES or first in _FRACTIONS
    if not numeric:
        return False
    rest = [found.word(place) for place in range(start + 1, len(forms))]
    if any(word[0].isupper() and not word.isupper() for word in rest):
        return False
    return len(rest) <= 3 or _NUMBER_QUESTION.search(question) is not None


def _name_type(  # noqa: PLR0911 - one for each kind of evidence
    answer: str, inner: str, found: Tokens, question: str
) -> AnswerType:
    """The type of a name: by its head, then by the question, then by what is known of its words."""
    of_head = _class_of_name(inner, found)
    asked = focus(question)
    place = place_class(inner)
    if place in ("country", "continent") or (place == "state" and not _asks_person(question)):
        return "place"
    if _is_titled(found):
        return "person"
    personal = not split_article(unintroduced(answer))[0] and _is_personal_name(found)
    if personal and of_head is not None and of_head[1] in _PLACE_HEADS and not _asks_person(question):
        personal = False
    if of_head is not None and of_head[0] != "person" and not personal:
        return _as_type(of_head[0])
    if _asks_person(question) and asked is None and _can_be_person(found, unintroduced(answer)):
        team = _TEAM_QUESTION.search(question) and not is_first_name(found.word(0))
        return "organisation" if team else "person"
    if asked is not None and asked.type in ("person", "place", "organisation"):
        return _as_type(asked.type)
    if _PLACE_QUESTION.search(question) and not _ACRONYM.fullmatch(inner):
        return "other" if _is_plural_name(found.word(len(found) - 1)) and place is None else "place"
    if personal:
        return "person"
    if _is_city_and_state(inner) or (is_familiar_place(inner) and not _is_called_so_too(inner, asked)):
        return "place"
    if _ACRONYM.fullmatch(inner) and (asked is None or asked.type is None) and len(inner) > 2:
        return "organisation"
    return "other"


_PLACE_HEADS = frozenset(("river", "water", "mountain", "island", "street", "building", "region", "settlement"))


def _class_of_name(inner: str, found: Tokens) -> tuple[str, str] | None:
    """Type and class of a name by its head, or by a first word such as "Museum" or "Lake"."""
    if len(found) < 2:
        return classes("the").get(inner.lower())
    if found.normals[0] in ("house", "chamber") and found.normals[1] == "of":
        return "organisation", "body"
    of_head = classes("head").get(head(inner).lower())
    of_first = classes("head").get(found.normals[0])
    if of_head is not None or of_first is None:
        return of_head
    natural = of_first[1] in ("water", "mountain")
    built = of_first[1] in ("building", "school", "street", "team") and not is_surname(found.word(0))
    return of_first if natural or built else None


def _is_called_so_too(inner: str, asked: Focus | None) -> bool:
    """Whether a city's name is a personal name as well, or the question asks for something else."""
    if place_class(inner) != "city":
        return False
    return (asked is not None and asked.type != "place") or is_first_name(inner)


def _as_type(name: str) -> AnswerType:
    types: tuple[AnswerType, ...] = ("number", "date", "person", "place", "organisation")
    return next((kind for kind in types if kind == name), "other")


def _asks_person(question: str) -> bool:
    return _PERSON_QUESTION.search(question) is not None


def _is_titled(found: Tokens) -> bool:
    """ "Queen Victoria", "Pope John", "Governor Vaudreuil"."""
    if len(found) < 2 or found.normals[0] not in TITLES or not found.capitalised(0) or found.normals[0] == "st":
        return False
    return found.normals[1] != "of" or found.normals[0] in _TITLES_OF_PLACES


_TITLES_OF_PLACES = word_set("king queen prince princess duke duchess earl count countess emperor empress")


def _is_personal_name(found: Tokens) -> bool:
    """A first name and a family name, with what may stand between and after them."""
    if len(found) == 2 and not found.adjacent(0):
        return False
    if not 2 <= len(found) <= 5 or not is_first_name(found.word(0)) or not found.capitalised(0):
        return False
    last = found.word(len(found) - 1)
    if (_is_plural_name(last) and is_dictionary_word(last)) or found.normals[0] in ("house", "court"):
        return False
    if found.normals[-1] in ("catholic", "orthodox"):  # "Roman Catholic"
        return False
    if found.normals[-1] in classes("head") and not (is_common_surname(last) and len(found) == 2):
        return False
    return all(
        found.capitalised(place) or found.normals[place] in PARTICLES or found.normals[place] == "of"
        for place in range(1, len(found))
    ) and (not is_dictionary_word(last) or is_surname(last) or found.normals[-1] in SUFFIXES)


def _can_be_person(found: Tokens, inner: str) -> bool:
    """Whether a capitalised answer to "who" can be one person, and not a people, a band or a company."""
    if is_list(inner) or len(found) > 6 or not found.capitalised(0) or any(form[0].isdigit() for form in found.normals):
        return False
    last = found.word(len(found) - 1)
    no_surname = (is_dictionary_word(last) and not is_surname(last)) or is_familiar_place(last)
    if len(found) > 1 and not is_first_name(found.word(0)) and no_surname:
        return False
    known = is_first_name(found.word(0)) and not is_dictionary_word(last)
    return (
        (known or not _is_plural_name(last))
        and not (_ACRONYM.fullmatch(inner) and len(inner) > 1)
        and not split_article(inner)[0]
    )


def _is_plural_name(last: str) -> bool:
    """Whether a name's last word is the plural of a people or a band ("Seljuk Turks", "Bee Gees")."""
    ends = re.search(r"[^aious']s$", last) is not None
    return ends and not is_first_name(last) and not is_common_surname(last)


def _is_city_and_state(inner: str) -> bool:
    """ "Las Vegas, Nevada": a place within another."""
    first, comma, second = inner.partition(",")
    return bool(comma) and place_class(second.strip()) is not None and first[:1].isupper()


_TWO_SENTENCES = re.compile(r"\w{4,}\s?[.!?;:]\s+\S")


@lru_cache(_KEPT)
def kind(answer: str, question: str = "") -> str:
    """A name for the set of answers that can stand in this one's place, in grammar and in sense.

    The type, then what it takes to exchange two answers of it: unit and size of a number, form and century
    of a date, gender and length of a personal name, what sort of place or organisation; of another noun
    phrase its article, number, capital and class. An answer that is no name and no noun phrase gets a kind of
    its own, which no other answer shares.
    """
    of = answer_type(answer, question)
    if _TWO_SENTENCES.search(answer):
        return f"{of}:alone:{answer}"
    shapes = {"number": _number_shape, "date": _date_shape, "person": _person_shape, "place": _place_shape}
    shape = shapes.get(of, _name_shape if of == "organisation" else _other_shape)(answer, question)
    return f"{of}:{shape or 'alone:' + answer}"


def shape(answer: str, question: str = "") -> str:
    """The part of `kind` after the type: "year:19", "count:2:mile", "male:full"."""
    return kind(answer, question).partition(":")[2]


def _number_shape(answer: str, question: str) -> str | None:
    inner = unintroduced(answer)
    found = tokens(inner)
    forms = found.normals
    start = 0
    while start < len(forms) - 1 and forms[start] in _APPROXIMATE:
        start += 1
    approximate = " ".join(forms[:start])
    ordinal = ordinal_value(forms[start])
    if ordinal is not None:
        return f"ordinal:{len(str(ordinal))}:{_tail(found, start + 1)}:{approximate}"
    end = start
    while end < len(forms) and (value_of((forms[end],)) is not None or forms[end] in SCALES):
        end += 1
    value = value_of(tuple(forms[start:end]))
    if value is None or "–" in inner or any(form[0].isdigit() for form in forms[end:]):
        return None
    unit = _tail(found, end) or ("%" if "%" in inner else "")
    unit = {"percent": "%", "per cent": "%"}.get(unit, unit)
    money = next((sign for sign in "$£€¥" if sign in inner), "")
    size = "one" if value == 1 else len(f"{value:.0f}")
    whole = "whole" if value.is_integer() else "decimal"
    if 1000 <= value < 10_000 and "," in inner:
        whole = "with thousands"
    return f"{money}{size}:{whole}:{unit}:{approximate}:{_asked_noun(question) if not unit else ''}"


def _asked_noun(question: str) -> str:
    """What kind of quantity the question asks for, so far as it limits what can be said."""
    match = _NUMBER_QUESTION.search(question)
    return "old" if match and "old" in match.group() else ""


def _tail(found: Tokens, place: int) -> str:
    return " ".join(found.word(at).lower() for at in range(place, len(found)))


def _date_shape(answer: str, question: str) -> str | None:
    """The expression with its figures left out, and the century it lies in."""
    inner = unintroduced(answer)
    found = tokens(inner)
    pattern, century = [], ""
    for place, form in enumerate(found.normals):
        word = found.word(place).lower()
        if form in MONTHS:
            pattern.append("month")
        elif is_year(form):
            century = century or form[:2]
            pattern.append("year")
        elif form.isdigit():
            pattern.append("figure")
        elif ordinal_value(form):
            pattern.append("ordinal")
        elif _DATE_STRONG.match(form) and form[0].isdigit():
            century = century or form[:2]
            pattern.append("decade")
        elif form in ("spring", "summer", "autumn", "winter"):
            pattern.append("season")
        elif form.endswith("day") and _DATE_STRONG.match(form):
            pattern.append("weekday")
        else:
            pattern.append(word)
    ranged = "range:" if pattern.count("year") > 1 else ""
    gaps = "-" if "–" in inner or "-" in inner else ""
    return f"{ranged}{' '.join(pattern)}{gaps}:{century}"


def _person_shape(answer: str, question: str) -> str | None:
    inner = core(answer)
    found = tokens(inner)
    if is_list(inner):
        return f"list:{len(found)}"
    if not all(
        found.capitalised(place) or found.normals[place] in PARTICLES | {"of", "the"} for place in range(len(found))
    ):
        return None
    titled = found.normals[0] if _is_titled(found) else ""
    titled = titled if titled in ("", "king", "queen", "pope", "saint", "emperor", "prince", "princess") else "titled"
    length = "single" if len(found) == 1 else "of" if "of" in found.normals else "full"
    return f"{gender(inner) or _asked_gender(question)}:{titled or length}:{_comma(inner)}"


def _asked_gender(question: str) -> str:
    words = set(question.lower().split())
    if words & {"actress", "queen", "woman", "she", "her", "mother", "wife", "sister", "daughter", "princess", "girl"}:
        return "female"
    if words & {"actor", "king", "man", "he", "his", "father", "husband", "brother", "son", "prince", "pope"}:
        return "male"
    return "unknown"


def _comma(inner: str) -> str:
    return f"{inner.count(',')}," if "," in inner else ""


def _place_shape(answer: str, question: str) -> str | None:
    inner = core(answer)
    found = tokens(inner)
    known, asked, of_head = place_class(inner), focus(question), _class_of_name(inner, found)
    if is_list(inner) or not found.capitalised(0) or len(found) > 6 or any(form[0].isdigit() for form in found.normals):
        return None
    if known is not None:
        group: str = known
    elif of_head is not None:
        group = of_head[1]
    elif asked is not None and asked.type == "place" and asked.group:
        group = asked.group
    else:
        group = "town" if "," in inner else ""
    if known is None and _is_of_people(found):
        group = "people"
    group = _parted(group, inner, asked)
    if not group:
        return None
    return f"{group}:{_article_class(answer)}:{_comma(inner)}"


def _article_class(answer: str) -> str:
    """How the name stands in a sentence: with "the", without, or as it happens to be written."""
    the = takes_the(answer)
    if the is None:
        inner = core(answer)
        lone = len(tokens(inner)) == 1 and not inner.isupper() and not is_plural(inner)
        return "bare" if lone else "bare?"
    return "the" if the else "bare"


def _name_shape(answer: str, question: str) -> str | None:
    inner = core(answer)
    asked, of_head = focus(question), _class_of_name(inner, tokens(inner))
    if is_list(inner) and of_head is None:
        return None
    if of_head is not None:
        group = of_head[1]
    elif asked and asked.type == "organisation":
        group = str(asked.group)
    else:
        group = "team" if _TEAM_QUESTION.search(question) and _can_be_team(inner, tokens(inner)) else ""
    if _BAND_QUESTION.search(question):
        group = "band"
    group = _parted(group, inner, asked)
    if not group:
        return None
    group = f"people of {group}" if _is_of_people(tokens(inner)) else f"{_described(inner)}{group}"
    acronym = "acronym" if _ACRONYM.fullmatch(inner) else "name"
    return f"{group}:{acronym}:{_article_class(answer)}:{'plural' if is_plural(inner) else ''}"


_PARTS = {
    "building": (
        "museum gallery library archive", "stadium arena pavilion gymnasium", "park garden gardens", "castle palace",
        "theatre theater opera", "church cathedral abbey temple mosque", "airport station", "bridge", "tower", "hotel",
        "prison", "house hall",
    ),
    "region": ("forest desert", "valley", "empire kingdom duchy", "district county province"),
    "event": ("war", "battle siege", "revolution revolt uprising", "exhibition festival games", "crisis"),
    "law": ("treaty", "act bill law", "directive"),
    "agency": (
        "council assembly", "commission committee", "department ministry", "agency authority bureau office service",
    ),
    "body": (
        "court tribunal", "parliament congress house senate assembly council", "committee commission",
        "association league union front alliance society", "government cabinet ministry",
    ),
}  # fmt: skip
"""Classes that hold things too different to stand for each other: the words by which their members are told apart."""


def _parted(group: str, inner: str, asked: Focus | None) -> str:
    """The part of a class that a name is of, by its own words or by what is asked for; empty where neither tells."""
    if group not in _PARTS:
        return group
    words = tokens(inner).normals
    for own in ((words[-1], words[0], head(inner).lower()), (asked.noun,) if asked else ()):
        for part in _PARTS[group]:
            if set(own) & set(part.split()):
                return part.split()[0]
    return asked.noun if asked and asked.group == group and asked.noun not in (group, "place", "area") else ""


_LONGEST_PHRASE = 4


def _other_shape(answer: str, question: str) -> str | None:
    inner = core(answer)
    found = tokens(inner)
    if not len(found) or len(found) > _LONGEST_PHRASE + 2 or "," in inner or "(" in inner:
        return None
    if is_proper(answer):
        return _proper_shape(answer, inner, question)
    if is_list(inner) or not _is_common_noun_phrase(found):
        return _adjective_shape(found, question)
    noun = head(inner)
    if len(found) == 1 and "ADJ" in parts_of_speech(noun) and not split_article(unintroduced(answer))[0]:
        return _adjective_shape(found, question)
    number = "plural" if is_plural(inner) else _countability(noun)
    if len(found) == 1 and found.capitalised(0):
        number = f"{number} or name"
    group = classes("common").get(noun.lower(), ("", ""))[1]
    ending = _by_ending(noun)
    sort = group or _asked_sort(question) or (ending if ending in _TELLING else "")
    if not sort and number.startswith("plural") and _asks_person(question):
        sort = "people"
    return f"common:{number}:{sort}:{ending}" if sort else None


def _asked_sort(question: str) -> str:
    """What sort of thing the question asks for: a class or a noun; empty where it does not tell."""
    asked = focus(question)
    if asked is not None:
        if asked.noun in _SAYS_NO_SORT or asked.type in ("number", "date"):
            return ""
        return asked.group if asked.group and asked.group not in _BROAD else asked.noun
    return "band" if _BAND_QUESTION.search(question) else ""


_BROAD = frozenset(("work",))
"""Classes of which the noun asked for says more: a song is no episode."""
_BAND_QUESTION = re.compile(r"\bwho (?:sings?|sang|sung|performs?|performed|recorded|records)\b", re.IGNORECASE)
_SAYS_NO_SORT = word_set(
    "first second third last next another other one two three four five kind given thought called name named thing "
    "things way reason result cause effect example examples part final full main major best most something someone "
    "subject meaning left out take use used role part idea lies means people number group groups "
    "entity entities being variable case concept form aspect area areas factor factors location locations category"
)
"""Words after "what" that name nothing of a sort of its own: "what was the first ...", "what is another ..."."""


def _countability(noun: str) -> str:
    """Whether a singular noun takes an article: never, always, or as its sense goes."""
    if takes_no_article(noun):
        return "mass"
    return "either" if is_mass(noun) else "count"


_TELLING = frozenset(("doctrine", "disease", "field"))
"""Sorts of things that an ending tells by itself."""
_ENDINGS = (
    ("doctrine", re.compile(r"ism$")),
    ("abstract", re.compile(r"(?:tion|sion|ment|ance|ence|ity|ness|ship|hood|ty|cy)s?$")),
    ("agent", re.compile(r"(?:er|or|ist|ian|ant|man|men)s?$")),
    ("substance", re.compile(r"(?:ium|ine|gen|ol|ide|ate|ose|in)s?$")),
    ("disease", re.compile(r"(?:itis|osis|emia|oma)$")),
    ("field", re.compile(r"(?:logy|ics|graphy|nomy)$")),
)


def _by_ending(noun: str) -> str:
    """What sort of thing a noun's ending speaks of, so far as it tells."""
    return next((sort for sort, ending in _ENDINGS if ending.search(noun.lower())), "thing")


def _proper_shape(answer: str, inner: str, question: str) -> str | None:
    of_head = classes("head").get(head(inner).lower())
    group = _asked_sort(question)
    if of_head is not None and len(tokens(inner)) > 1:
        group = of_head[1]
    elif not group and _asks_person(question) and _is_a_people(answer, inner):
        group = "people"
    group = _parted(group, inner, focus(question))
    number = "plural" if is_plural(inner) else "one"
    return f"name:{number}:{_described(inner)}{group}:{_article_class(answer)}" if group else None


def _is_a_people(answer: str, inner: str) -> bool:
    """ "The Anglo-Saxons", "the English": a plural or a word of descent behind an article."""
    return answer[:4].lower() == "the " and (_is_plural_name(inner) or _is_of_people(tokens(inner)))


def _described(inner: str) -> str:
    """Marks a name with words of description ("rock band Scorpions")."""
    found = tokens(inner)
    small = any(
        not found.capitalised(place) and found.normals[place] not in SMALL_WORDS and not found.word(place)[0].isdigit()
        for place in range(len(found))
    )
    return "described:" if small else ""


def _can_be_team(inner: str, found: Tokens) -> bool:
    """Whether a name may be a team's: a place's, a plural, or one that ends in a word of the dictionary."""
    last = found.word(len(found) - 1)
    if is_familiar_place(inner) or place_class(inner) is not None or _is_plural_name(last):
        return True
    return len(found) > 1 and is_dictionary_word(last) and not is_first_name(found.word(0))


_PEOPLE = re.compile(r"(?:ist|ian|ish|ese|ists|ians)$")


def _is_of_people(found: Tokens) -> bool:
    """Whether the word says to what people or creed somebody belongs ("Jordanian"), and names no place or body."""
    return len(found) == 1 and _PEOPLE.search(found.normals[0]) is not None


def _adjective_shape(found: Tokens, question: str) -> str | None:
    """A single adjective shares a kind with those that answer the same sort of question."""
    asked = focus(question)
    if len(found) == 1 and "ADJ" in parts_of_speech(found.word(0)) and asked is not None:
        return f"adjective:{asked.noun}:"
    return None


def _is_common_noun_phrase(found: Tokens) -> bool:
    """Adjectives and nouns that end in a noun, at most `_LONGEST_PHRASE` of them, and no clause."""
    words = [found.word(place) for place in range(len(found))]
    if len(words) > _LONGEST_PHRASE or "NOUN" not in parts_of_speech(words[-1]):
        return False
    if words[-1].lower().endswith("ing") or (len(words) > 1 and words[0].lower().endswith("ing")):
        return False
    for word in words:
        low = word.lower()
        of = parts_of_speech(low)
        if low in PREPOSITIONS or low in CARDINALS or not of & {"NOUN", "ADJ"}:
            return False
        if low in _NO_PART_OF_A_PHRASE:
            return False
    return True


_NO_PART_OF_A_PHRASE = word_set("not no yes it its they their his her this these those that any some all both each")
