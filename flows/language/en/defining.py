"""Questions that an English sentence answers by saying what something is, what it is called, or what its parts are."""

import re
from collections.abc import Iterator

from flows.language.en.clauses import Asking, clause_of, lowered, question_of
from flows.language.en.names import classes, is_first_name
from flows.language.en.phrases import PREPOSITIONS, head, is_dictionary_word, is_plural, is_plural_noun
from flows.language.en.statements import is_finite
from flows.language.en.tokens import CARDINALS, word_set
from flows.language.tables import word_list

_SMALL = r"(?:of|the|de|van|von|and|for|da|di|du|la|le)"
_NAME = rf"[A-Z][\w'’-]*(?: {_SMALL}(?= [A-Z\d])(?: {_SMALL})? [A-Z\d][\w'’-]*| [A-Z\d][\w'’-]*)*"
_DOUBTFUL = re.compile(
    r"\b(?:perhaps|probably|possibly|likely|usually|generally|often|sometimes|typically|mostly|might|could|would|not|"
    r"said|thought|believed|considered|one of|this|these|those|such|we|our|I|my|here|above|below|following|former|"
    r"latter|same|however|also|another|other|its|their|his|her|he|she|they|it|never|no longer|currently|now|about|"
    r"therefore|thus)\b"
)
_IS = re.compile(r"(?P<x>[A-Z0-9][^,:]*?) (?P<be>is|are|was|were) (?P<y>(?:an?|the) .+)")
_MEANS = re.compile(
    r"(?P<x>(?:An? |The (?:term|word|abbreviation|acronym) )?[^,:]+?) (?P<v>means|stands for|refers to) "
    r"(?P<y>[\w'’-]+(?: [\w'’-]+){0,19})"
)
_CALLED = re.compile(
    r"(?P<x>(?:The|An?) [^,:]+?) (?P<be>is|are) (?:called|known as|referred to as|named) "
    r"(?P<y>[\w'’-]+(?: [\w'’-]+){0,4})"
)
_PRESENT = r"(?!was\b)(?:is|are|has|can|will|may|must|[a-z]+s)\b"
_APPOSED = re.compile(rf"(?P<x>{_NAME}), (?P<y>the [^,]+), {_PRESENT}")
_APPOSED_ROLE = re.compile(rf"(?P<y>The [^,]+), (?P<x>{_NAME}), {_PRESENT}")
_COMPLETED = re.compile(r"\b(?:of|for|in|at|between)\b")
_SUPERLATIVE = re.compile(
    r"the (?:(?:second|third|fourth)[ -])?(?:(?!interest|request|forest|guest|west)[a-z]+est|most [a-z]+|only|"
    r"capital)\b"
)
_FEWEST, _MOST = 4, 24
"""Words of a definition."""
_LISTED = re.compile(
    r"(?P<s>.*?)\b(?P<n>two|three|four|five|[2-5]) (?P<noun>(?:[\w'’-]+ ){0,2}?[\w'’-]+)"
    r"(?P<of>(?: (?:of|for|in|on|at) [^:,]+)?): "
    r"(?P<a>[^:;]+ and [^:;,]+)"
)


def definitions(plain: str) -> Iterator[Asking]:
    """Yield the pairs of a sentence in one line without its full stop."""
    yield from _listed(plain)
    yield from _apposed(plain)
    if not _DOUBTFUL.search(plain):
        yield from _is_what(plain)
        yield from _means(plain)


def _is_what(plain: str) -> Iterator[Asking]:
    """ "A fume cupboard is a cabinet that ...", "Maria Lund is the director of the City Library"."""
    match = _IS.fullmatch(plain)
    if match is None or not _is_term(match["x"], match["be"]):
        return
    x, be, y = match["x"], match["be"], _whole(match["y"])
    if y is None or is_plural(x) != (be in ("are", "were")):
        return
    person = is_role(y) or (_is_first_of_person(x) and (_is_agent(_kind(y)) or " who " in y))
    named = re.fullmatch(_NAME, x) is not None and (" " in x or not is_dictionary_word(x)) and not x.endswith("ing")
    who = "who" if person and named else "what"
    if y.startswith("the ") and named:
        if _is_the_one(y) and be == "is" and not _INNER_DEFINITE.search(y):
            yield "fact", question_of([who, be, y]), x
        if person and be == "is":
            yield "fact", question_of([who, be, lowered(x)]), y
    elif _says_enough(y) and (not y.startswith("the ") or _ACT.match(y)):
        yield "fact", question_of([who, be, x if _WORK.search(y) else lowered(x)]), y


_WORK = re.compile(
    r"\b(?:film|movie|novel|song|album|single|series|book|play|opera|game|sitcom|comedy|drama|magazine|documentary|"
    r"poem|painting|musical|soap|show|episode|treatise)\b"
)
_ACT = re.compile(r"the (?:[a-z]+ )?(?:act|study|use|method|way|practice|[a-z]+(?:ion|ing|ment|al|ure|ance)) of\b")
_INNER_DEFINITE = re.compile(
    r" (?:of|for|in) the (?!(?:[a-z-]+ )?(?:world|country|earth|university|company|library|office)\b)[a-z]"
)
""" "The presenter of the show": of which show?"""
_NO_TERM = re.compile(
    r"\b(?:that|which|who|when|where|what|how|if|there|and|or|to|you|your|all|for|with|not|as)\b|['’]s\b", re.IGNORECASE
)
_NO_TERM_FIRST = word_set(
    "it he she they each every any some most many in on at as by no only from both among its his her their this that "
    "these those such our we i another other everyone everything nothing today here"
)


def _is_term(x: str, be: str) -> bool:
    """True if a definition can be of it: a name, or a kind of thing."""
    words = x.split()
    first = words[0].lower()
    if len(words) > 6 or _NO_TERM.search(x) or first in _NO_TERM_FIRST | PREPOSITIONS or x[0].isdigit():
        return False
    if any(is_finite(word) for word in words[1:]) or first.endswith("ly"):
        return False
    named = re.fullmatch(_NAME, x) is not None and words[0] not in ("A", "An", "The")
    if words[0] == "The":  # "The Monarchy" is one that the text has named
        return re.fullmatch(_NAME, " ".join(words[1:])) is not None and (
            len(words) > 2 or not is_dictionary_word(words[1])
        )
    if named and (len(words) > 1 or not is_dictionary_word(x) or x.isupper()):
        return True
    return be == "is" and len(words) <= 4 and not (named and is_plural_noun(x))


def _whole(y: str) -> str | None:
    """The definition without what stands behind its first comma, if that is only said besides."""
    first, comma, after = y.partition(",")
    if y.rsplit(maxsplit=1)[-1] in PREPOSITIONS:
        return None
    if not comma:
        return y if len(y.split()) <= _MOST else None
    if re.match(r" [A-Z][\w ]+$", after) and len(y.split()) <= _MOST:
        return y  # "a stadium in Nashville, Tennessee"
    if ", to " in after:
        return None
    listed = re.match(r" (?:and|or|but|while|whereas)\b|[^,]*,? (?:and|or) | [a-z]+,| [A-Z\d]", after)
    if listed or len(first.split()) < _FEWEST or re.search(r"\b(?:between|from|either)\b", first):
        return None
    return first


_VAGUE = word_list("en", "light nouns") | word_set("member lot result major good great bit must popular very common")
_PARTITIVE = word_set("part type kind form set way period amount number")


def _says_enough(y: str) -> bool:
    words = y.split()
    if len(words) < _FEWEST or re.search(r"\b(?:and|but) (?:is|was|has|had|can|may|must|were|are)\b", y):
        return False
    if re.match(r"an? (?:similar|different|especially|particularly) ", y) or " but " in y:
        return False
    if re.match(r"an? (?:\w+ )?(?:member|part|result|example|one) ", y):
        return False
    return words[1] not in _VAGUE or (words[1] in _PARTITIVE and len(words) > _FEWEST + 1)


def _is_the_one(y: str) -> bool:
    """True if "the Y of Z" says by itself what is asked for."""
    if len(y.split()) > 14 or "," in y or re.search(r"\b(?:who|which|that|where|and|name|son|daughter|result)\b", y):
        return False
    return _SUPERLATIVE.match(y) is not None or _COMPLETED.search(y) is not None


_ROLE = re.compile(
    r".{2,}(?:ist|ian|man|woman|officer|manager|maker|writer|singer|author|footballer|lawyer|teacher|librarian|director|"
    r"professor|bishop|coordinator|supervisor|secretary|nurse|engineer|representative|treasurer|caretaker|inspector|"
    r"physician|novelist|instructor|technician|assistant|administrator|editor|doctor|trainer|receptionist|accountant|"
    r"lecturer|operator|tutor|actress|actor|aider|surgeon|auditor)s?"
)
_HEADS = word_set(
    "cardinal empress politician statesman figure painter head chair lead doctor author nurse officer editor actor "
    "tutor"
)
_OFFICES = word_set(
    "office department desk committee team board council reception service management court company university "
    "government school ministry agency library police commission party union authority centre center"
)


_PARTICIPLE = re.compile(r"(?<=\w) \w+(?:ed|en|wn|rn|ld|ade) (?=by|in|on|at|from|to|for|as|with)\b.*")
_AGENT = re.compile(r"\b[\w-]+(?:er|or|ist|ian|ess|man|woman|ant|eur|ete|star|hero|mathematician|judge|spy)s?$")


def _kind(y: str) -> str:
    """The phrase up to its noun: "an artist" of "an artist born in Warsaw"."""
    kind = _PARTICIPLE.sub("", y)
    return kind[: kind.index(head(kind)) + len(head(kind))]


def _is_agent(kind: str) -> bool:
    return any(_AGENT.search(part) is not None for part in re.split(r",? and |, | for | of ", kind))


def _is_first_of_person(x: str) -> bool:
    return " " in x and is_first_name(x.partition(" ")[0])


def is_role(phrase: str) -> bool:
    """True if the phrase is for a person by what they are or do."""
    noun = head(_PARTICIPLE.sub("", phrase)).lower()
    singular = noun.removesuffix("s")
    if singular == "player":
        return bool((word_list("en", "games") - {noun}) & set(phrase.lower().split()))
    known = classes("focus").get(singular, ("", ""))[0] == "person" or singular in word_list("en", "persons") | _HEADS
    return known or _ROLE.fullmatch(noun) is not None


def is_office(phrase: str) -> bool:
    """True if the phrase is for a group of persons or the place where they work."""
    return head(phrase).lower() in _OFFICES


_FINITE = re.compile(r"\b(?:is|are|was|were|has|had|have|will|can|may|must)\b")
_END_OF_NAME = re.compile(r"\b(?:in|by|on|after|for|when|until|or|and|because|from|at|to|with)\b")


def _means(plain: str) -> Iterator[Asking]:
    match = _MEANS.fullmatch(plain)
    if match is not None and len(match["x"].split()) <= 5 and not _NO_TERM.search(match["x"]):
        base = {"means": "mean", "stands for": "stand for", "refers to": "refer to"}[match["v"]]
        bare = re.match(r"The (?!term|word|abbreviation|acronym)", match["x"]) is not None
        if not bare and not re.match(r"that\b", match["y"]):
            yield "fact", question_of(["what does", lowered(match["x"]), base]), match["y"]
    match = _CALLED.fullmatch(plain)
    if match is None or _END_OF_NAME.search(match["y"]):
        return
    if re.search(r"\b(?:of|that|who|for|in|from)\b", match["x"]):
        yield "fact", question_of(["what", match["be"], lowered(match["x"]), "called"]), match["y"]


def _apposed(plain: str) -> Iterator[Asking]:
    """ "Anna Berg, the head of personnel, answers ...": "Who is the head of personnel?"."""
    for match in (_APPOSED.match(plain), _APPOSED_ROLE.match(plain)):
        if match is None or _DOUBTFUL.search(f"{match['x']}, {match['y']}"):
            continue
        y = lowered(match["y"])
        person = _is_first_of_person(match["x"])
        if (
            match["x"].split()[0].lower() in PREPOSITIONS | _NO_TERM_FIRST
            or _FINITE.search(y)
            or _INNER_DEFINITE.search(y)
        ):
            continue
        if _is_the_one(y) and is_role(y) == person and not is_plural(y) and not is_plural(match["x"]):
            yield "fact", question_of(["who" if person else "what", "is", y]), match["x"]


def _there(counted: str, of: str) -> str:
    """ "which three kinds of membership are there", "which three zones are there in the laboratory"."""
    return f"which {counted}{of} are there" if of.startswith(" of ") else f"which {counted} are there{of}"


def _listed(plain: str) -> Iterator[Asking]:
    """ "The laboratory has three zones: A, B and C": "Which three zones does the laboratory have?"."""
    match = _LISTED.fullmatch(plain)
    if match is None or not match["s"] or _DOUBTFUL.search(match["s"]):
        return
    parts = re.split(r",? and |, ", match["a"])
    number, noun = int(CARDINALS.get(match["n"], match["n"])), match["noun"]
    if (
        len(parts) != number
        or not is_plural_noun(noun.rsplit(maxsplit=1)[-1])
        or any(len(part.split()) > 8 for part in parts)
    ):
        return
    lead, counted = match["s"].strip(), f"{match['n']} {noun}"
    if lead == "There are":
        yield "list", question_of([_there(counted, match["of"])]), match["a"]
    elif (clause := clause_of(f"{lead} {counted}{match['of']}")) is not None and clause.rest.endswith(
        f"{counted}{match['of']}"
    ):
        left = clause.rest.removesuffix(f"{counted}{match['of']}").strip()
        yield "list", clause.asked(f"which {counted}{match['of']}", left), match["a"]
