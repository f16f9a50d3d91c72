"""English questions on a document, with the name of what the document is about: "At the City Library, ..."."""

import re
from typing import NamedTuple

from flows.language.en.names import place_class
from flows.language.en.phrases import is_dictionary_word, parts_of_speech
from flows.language.en.tokens import word_set

_OF_DOCUMENT = word_set(
    "guide handbook manual rules statutes information instructions regulations policy policies terms conditions faq "
    "questions leaflet brochure notes notice introduction overview safety user users staff employee employees visitor "
    "visitors guest guests parents readers members general new residents for and of the a to operation installation "
    "maintenance use house frequently asked service services tenants students pupils guidelines procedures "
    "catalogue agreement quick start getting started bylaws constitution charter "
    "report volunteer volunteers operator resident owner owners"
)
_DOCUMENT = (
    r"(?:guide|handbook|manual|rules|statutes|information|instructions|regulations|polic(?:y|ies)|terms|notes|"
    r"conditions|by-?laws|constitution|charter|report)"
)
_LEAD = re.compile(
    rf"(?i:(?:[\w'’-]+ )*?{_DOCUMENT} (?:of|to|for|at|about) |using |visiting |welcome to |about )?(?P<name>.+)"
)
_LIVING = re.compile(r"(?:[A-Z][a-z]+ing|Life) in (?P<name>[A-Z]\w+(?:[ -][A-Z]\w+)*)")
_PLACES = word_set(
    "library museum archive archives club laboratory lab school college university company campsite hotel hostel "
    "clinic hospital centre center institute office offices association society theatre gallery gym pool park "
    "zoo port station department studio workshop architects bank restaurant shop bookshop church cemetery"
)
_WITH_ARTICLE = word_set("library museum archive archives club laboratory lab centre center institute gallery company")
_PRODUCTS = word_set(
    "machine maker player pump printer camera phone oven dishwasher dryer washer kettle cooker heater boiler vacuum "
    "cleaner drill saw mower scanner router monitor speaker headphones watch bike bicycle scooter car lamp charger "
    "tablet laptop computer thermostat fridge freezer toaster grinder mixer blender fan purifier humidifier projector"
)
_NO_NAME = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|January|February|March|April|May|June|July|August|"
    r"September|October|November|December|I\b)"
)
_NAME = re.compile(rf"(?<=\s)(?!{_NO_NAME})[A-Z][\w&-]*[a-z\d]")
_AFTER = "in|on|at|by|for|from|with|within|to|before|after|during|when|if|open|close|closed|opened|have|be"
"""What may follow a noun that stands alone, besides the last word of a question."""
_OF_ITSELF = re.compile(
    r"(?:What|Who) (?:is|are|was|does) (?!the [a-z])|"
    rf".* (?:is|are|was|were|did|does|do|has|have) (?:the )?(?!{_NO_NAME})[A-Z][a-z]"
)
"""A question of what a word means, or of something with a name of its own."""


class _Named(NamedTuple):
    name: str
    """With its article."""
    lead: str
    """The preposition before it; empty if no question may be said to be of it."""


def named_question(question: str, title: str) -> str | None:
    """Return the question with the name of what the title names, if it needs it; None if it cannot be put in.

    A title without a name ("Staff handbook") leaves every question as it is.
    """
    named = _named(title)
    if named is None or _OF_ITSELF.match(question) or _names_it(question, named.name):
        return question
    if not named.lead:
        return question if _NAME.search(question) else None
    noun = named.name.rsplit(maxsplit=1)[-1].lower()
    nouns = rf"{re.escape(noun)}|machine|device|appliance" if named.lead == "With" else re.escape(noun)
    bare = re.search(rf"\bthe (?:{nouns})(?=\?| (?P<last>[\w-]+)\?| (?:{_AFTER})\b)", question)
    if bare is not None and not (bare["last"] and _is_noun(bare["last"], question[: bare.start()])):
        return f"{question[: bare.start()]}{named.name}{question[bare.end() :]}"
    return f"{named.lead} {named.name}, {question[:1].lower()}{question[1:]}"


def _named(title: str) -> _Named | None:
    """What a title names; None if it names nothing."""
    before, _, part = (text.strip() for text in title.partition(":"))
    if part and _is_of_document(before):  # "Volunteer handbook: Greenford Food Bank"
        before, part = part, ""
    if (living := _LIVING.fullmatch(before)) is not None and _is_of_place(living["name"]):
        return _Named(living["name"], "In")
    lead = _LEAD.fullmatch(before)
    name = lead["name"].partition(",")[0] if lead is not None else before
    words = [word for word in name.split() if not re.fullmatch(r"(?:19|20)\d\d", word)]
    if all(word.lower() in _OF_DOCUMENT or re.fullmatch(r"[\d.IVX]+", word) for word in words):
        words = []  # "Handbook 7"
    while words and words[-1].lower() in _OF_DOCUMENT:
        words.pop()
    has_article = bool(words) and words[0].lower() in ("the", "a", "an")
    words = words[1:] if has_article else words
    if not words or not (words[0][0].isupper() or words[0][0].isdigit()) or not _is_name(words, has_article):
        return None
    if not _is_of_document(part):
        return _Named(" ".join(words), "")  # of one part: "the branch at the harbour"
    noun = _noun(words)
    if noun in _PLACES or _PLACES & {word.lower() for word in words[1:]}:  # "Seaview Hotel Brannock"
        the = "the " if has_article or noun in _WITH_ARTICLE else ""
        return _Named(the + " ".join(words), "At")
    model = re.search(r"\d", " ".join(words)) is not None and noun == words[-1]  # "Halden 300 chainsaw"
    if model or _PRODUCTS & set(" ".join(words).lower().split()):
        first = (
            words[0].lower() if is_dictionary_word(words[0].lower()) and words[1:2] and words[1].islower() else words[0]
        )
        return _Named(" ".join(["the", first, *words[1:]]), "With")
    return _Named(" ".join(words), "")


def _is_of_document(text: str) -> bool:
    return all(re.sub("['’]s?$", "", word) in _OF_DOCUMENT for word in re.findall(r"[\w'’-]+", text.lower()))


def _is_noun(word: str, before: str) -> bool:
    """True if the word is no verb or adjective: "day" of "the school day", but "lock" of "does the player lock" is."""
    possible = parts_of_speech(word)
    return "NOUN" in possible and "ADJ" not in possible and re.search(r"\b(?:do|does|did) $", before) is None


def _is_of_place(name: str) -> bool:
    return place_class(name) is not None or not is_dictionary_word(name.lower())


def _noun(words: list[str]) -> str:
    return re.sub(r" (?:in|of|at) .*", "", " ".join(words).lower()).rsplit(maxsplit=1)[-1]


def _is_name(words: list[str], has_article: bool) -> bool:
    capitals = [word for word in words if word[0].isupper()]
    if any(re.search(r"[A-Z].*\d|^\d+$", word) for word in words) or "&" in words:
        return True
    if any(not is_dictionary_word(word.lower()) and not word.isupper() for word in capitals):
        return True
    noun = _noun(words)  # "City Library", but not "Swimming Pool"
    return len(capitals) > 1 and noun in (_PLACES if has_article else _WITH_ARTICLE)


def _names_it(question: str, name: str) -> bool:
    capitals = {word for word in name.split() if word[0].isupper()}
    own = {word for word in capitals if not is_dictionary_word(word.lower())} or capitals
    return bool(own & set(re.findall(r"[\w&-]+", question)))
