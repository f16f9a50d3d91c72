"""Questions for the times, dates, prices and numbers of a plain English statement."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from flows.language import AskedKind
from flows.language.en.clauses import Asking, Clause, base_form, lowered, question_of
from flows.language.en.phrases import PREPOSITIONS, is_plural_noun, parts_of_speech
from flows.language.en.tokens import CARDINALS, MONTHS, word_set

_NUMBERS = "|".join(sorted((word for word in CARDINALS if word != "zero"), key=len, reverse=True))
NUMBER = rf"(?:\d+(?:,\d+)*(?:\.\d+)?|(?:{_NUMBERS})(?:-(?:{_NUMBERS}))?)(?![\w-])"
_LIMIT = (
    r"(?:(?:up to|at least|at most|a maximum of|a minimum of|a total of|no more than|not more than|more than|less than|"
    r"fewer than|over|under) )?"
)
_AMOUNT = rf"{_LIMIT}{NUMBER}(?:(?: to | or |-|–){NUMBER})?"
_TIME = (
    r"(?:(?:working|business|calendar|full|consecutive|school) )?(?:second|minute|hour|day|night|week|month|year)s?\b"
)
_UNITS = word_set("kg km cm mm m g l ml litres GB MB TB mg kilograms kilometres metres degrees percent volts watts")
MONTHS_NAMED = "|".join(month.capitalize() for month in MONTHS)
_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{MONTHS_NAMED})|(?:{MONTHS_NAMED}) \d{{1,2}})(?:,? \d{{4}})?"
CLOCK = r"(?:\d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.m\.|[ap]m\b)|\d{1,2}:\d\d\b|noon\b|midnight\b|\w+ o['’]clock)"
_WEEKDAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days|weekends|weekdays)"
_FURTHER = (
    r"in|on|at|by|for|from|within|with|without|after|before|during|to|if|when|per|each|every|a|an|and|until|since|via"
)
_END = rf"(?=$| (?:{_FURTHER})\b)"
"""What may follow a phrase: nothing, or the next phrase."""
_NOUNS = r"[\w'’-]+(?: [\w'’-]+){0,3}?"
_OF = rf"(?: (?:of|before|after) (?:(?:the|a|an|your|their|each) )?{_NOUNS}{_END})?"
_AHEAD = rf" (?:(?:before|after|in advance of) (?:(?:the|a|an|your|their|each) )?{_NOUNS}{_END}|in advance|beforehand)"
UNIT_OF_TIME = r"(?:minute|hour|day|week|month|year)"
_EVERY = (
    rf"every (?:{NUMBER} {_TIME}|other {UNIT_OF_TIME}|{UNIT_OF_TIME}|morning|evening)|"
    rf"(?:once|twice|{NUMBER} times) (?:a|an|per|each|every) {UNIT_OF_TIME}"
)


class _Adjunct(NamedTuple):
    pattern: re.Pattern[str]
    """The answer is its group "a"."""
    front: str
    """The question word, with the other groups of the pattern."""
    kind: AskedKind


_FRONTS: tuple[tuple[str, str, AskedKind], ...] = (
    (rf"\b(?P<prep>in|to|from|with|into) (?P<a>{_AMOUNT}) (?P<u>[a-z]+s|people)$", "{prep} how many {u}", "number"),
    (rf"\b(?P<prep>within|for|after|in) (?P<a>{_AMOUNT}) (?P<u>{_TIME})(?P<of>{_OF})",
     "{prep} how many {u}{of}", "number"),
    (rf"(?:^| )(?P<a>{_AMOUNT}) (?P<u>{_TIME})(?P<of>{_AHEAD})", "how many {u}{of}", "number"),
    (rf"\b(?P<a>{_EVERY})$", "how often", "number"),
    (rf"\b(?P<a>from {CLOCK} (?:to|until) {CLOCK})", "during which hours", "fact"),
    (rf"\b(?P<prep>at|by|until) (?P<a>{CLOCK})", "{prep} what time", "fact"),
    (rf"\bon (?P<a>{_DATE})(?!\w)", "on which date", "fact"),
    (rf"\b(?P<prep>by|before) (?P<a>{_DATE})(?!\w)", "{prep} which date", "fact"),
    (rf"\bon (?P<a>{_WEEKDAY}(?:(?:, {_WEEKDAY})* and {_WEEKDAY})?)", "on which {day}", "fact"),
    (r"\bin (?P<a>(?:1[0-9]|20)\d\d)(?=$| (?:by|as) )", "in which year", "number"),
    (r"\bsince (?P<a>(?:1[0-9]|20)\d\d)$", "since which year", "number"),
    (rf"\bin (?P<a>(?:{MONTHS_NAMED})(?: \d{{4}})?)$", "{when}", "fact"),
    (rf"\bby (?P<a>{_AMOUNT} ?(?:%|percent\b|per cent\b))(?=$| in )", "by what percentage", "number"),
)  # fmt: skip
_ADJUNCTS = tuple(_Adjunct(re.compile(pattern), front, kind) for pattern, front, kind in _FRONTS)
_ARTICLE = re.compile(r"(?:an?|the|not|no|one|only|part|among)\b")
_MORE_CLAUSES = re.compile(r"\b(?:that|which|who|whose|where|whom)\b|,")
_EARLIER_CLAUSE = re.compile(r"\b(?:when|while|if|after|before|until|as|being|without|by \w+ing)\b")
_DATED = re.compile(r"\d{4}$")
_CUT = re.compile(rf"\b{NUMBER}$")
"""The first half of "25 to 30 seconds"."""
_TOGETHER = re.compile(
    rf"\s*(?:and|or|of|old|ago|that|which|in which|long|each|at the latest|to (?:{NUMBER})|only)(?!\w)|\s*[,–-]"
)
"""What shows, after a stretch, that the stretch goes on."""
_GOES_ON = PREPOSITIONS | word_set("if when while to each per every a an and whenever")
_NOT_BEFORE = PREPOSITIONS | {"up", "and", "or", "a", "an", "the", "only", "first", "last", "next", "another"}


def times(clause: Clause) -> Iterator[Asking]:
    """ "Books must be returned within four weeks": "Within how many weeks must books be returned?"."""
    if (clause.is_copular and _ARTICLE.match(clause.rest)) or re.search(r"\b(?:not|only)\b", clause.rest):
        return
    for pattern, front, kind in _ADJUNCTS:
        for match in pattern.finditer(clause.rest):
            before, after = clause.rest[: match.start()].rstrip(), clause.rest[match.end() :]
            if not _may_be_removed(clause, before, after):
                continue
            if (front == "during which hours" and base_form(clause.verb or "be")[0] == "last") or _CUT.search(before):
                continue
            if "{day}" in front and re.search(CLOCK, clause.rest):  # asked for with the hours
                continue
            if not _is_of_this_time(clause, front, match["a"]) or (front == "how often" and re.search(_DATE, before)):
                continue
            groups = {"prep": "", "u": "", "of": "", **match.groupdict()}
            several = " and " in match["a"] or match["a"].startswith("week")
            asked = front.format(
                prep=groups["prep"],
                u=_plural(groups["u"]),
                of=groups["of"],
                day="days" if several else "day of the week",
                when="when" if match["a"][-1].isdigit() else "in which month",
            )
            yield kind, clause.asked(asked, f"{before} {after.strip()}"), match["a"]


def _is_of_this_time(clause: Clause, front: str, answer: str) -> bool:
    """False for "in August" without its year in the past, and for "She is known for a flight in 1930"."""
    if clause.is_past:
        return front != "{when}" or answer[-1].isdigit()
    dated = _DATED.search(answer) is not None and "since" not in front and "{prep}" not in front
    return not dated or clause.auxiliary == "will"


def _may_be_removed(clause: Clause, before: str, after: str) -> bool:
    """True if a stretch is a phrase of its own, and the words before and after it still say something."""
    last = before.rsplit(maxsplit=1)[-1].lower() if before else ""
    if last in _NOT_BEFORE or before.endswith(",") or _TOGETHER.match(after):
        return False
    follows = after.split(maxsplit=1)[:1]
    if follows and follows[0] not in _GOES_ON:
        return False
    if _MORE_CLAUSES.search(before) or _EARLIER_CLAUSE.search(before) or _MORE_CLAUSES.search(after):
        return False
    return bool(before) or not clause.auxiliary


def _plural(unit: str) -> str:
    return f"{unit}s" if re.fullmatch(_TIME, unit) and not unit.endswith("s") else unit


_CURRENCY = r"(?:euros?|dollars?|pounds?|cents|pence|yuan|francs|yen|crowns|EUR|USD|GBP)"
_MONEY = rf"{_LIMIT}(?:[€£$¥]\d+(?:,\d+)*(?:\.\d+)?|{NUMBER} {_CURRENCY})(?!\w)"
_PAID = re.compile(rf"(?P<before>(?:[a-z]+ )?)(?P<a>{_MONEY})(?P<after>(?: .*)?)")
_FEE = re.compile(
    rf"(?P<before>(?:[a-z]+ )?)an? (?P<fee>(?:[\w-]+ )?(?:fee|fine|deposit|charge|allowance|bonus|grant)) of "
    rf"(?P<a>{_MONEY})(?P<after>(?: .*)?)"
)
_PAYING = word_set("claim withdraw borrow pay cost charge earn spend receive get be")


def prices(clause: Clause) -> Iterator[Asking]:
    """ "A ticket costs 3 euros", "Readers pay a fee of 5 euros for a lost card", "The fee for a copy is $2"."""
    fee = _FEE.fullmatch(clause.rest)
    paid = fee or _PAID.fullmatch(clause.rest)
    if paid is None or "," in paid["after"] or re.search(r"^ (?:and|or|to|in)\b|\b(?:and|or) .*\d", paid["after"]):
        return
    verb = paid["before"].strip()
    if bool(verb) != clause.modal or (fee and clause.is_copular):
        return
    taken = verb or (base_form(clause.verb)[0] if clause.verb else "be")
    if taken in _PAYING and (clause.modal or clause.verb or clause.is_copular):
        front = f"what {fee['fee']}" if fee else "how much"
        yield "number", clause.asked(front, verb + paid["after"]), paid["a"]


_THINGS = re.compile(
    rf"(?P<before>(?:[a-z]+ (?:(?:over|out|up|in|off|on|back|away) )?)?)(?P<a>{_AMOUNT}) "
    rf"(?P<noun>{_NOUNS}(?: of(?: [\w'’-]+){{1,3}}?)?){_END}(?P<after>.*)"
)
_NO_NOUN = word_set("and or which that old times more ago later who year-old other of percent per")
_LASTS = word_set("take last")
_WEIGHTS = word_set("kg g mg kilograms grams tonnes pounds")
_NO_VERBS = word_set("be in on at by for from to with of only about")


def numbers_of_things(clause: Clause) -> Iterator[Asking]:
    """ "Members may borrow up to ten books at a time": "How many books may members borrow at a time?"."""
    if clause.verb and base_form(clause.verb)[0] == "consist":
        consists = clause._replace(rest=clause.rest.removeprefix("of "))
        counted = _THINGS.fullmatch(consists.rest)
        if (
            counted is not None
            and counted["a"] + " " + counted["noun"] == consists.rest
            and is_plural_noun(counted["noun"])
        ):
            yield "number", clause.asked(f"how many {counted['noun']}", "of"), counted["a"]
        return
    counted = _THINGS.fullmatch(clause.rest)
    if counted is None or "," in clause.rest or _PAID.fullmatch(clause.rest) or clause.is_copular:
        return
    verb, noun, after = counted["before"].strip(), counted["noun"], counted["after"].strip()
    if bool(verb) == bool(clause.verb) or verb in _NO_VERBS or (clause.auxiliary and not clause.modal):
        return
    if verb and "VERB" not in parts_of_speech(verb.partition(" ")[0]):
        return
    of_time = re.fullmatch(_TIME, noun) is not None
    last = noun.partition(" of ")[0].rsplit(maxsplit=1)[-1]
    if noun.startswith("of ") or not (is_plural_noun(last) or last in _UNITS or re.fullmatch(_TIME, last)):
        return
    if set(noun.lower().partition(" of ")[0].split()) & _NO_NOUN or re.match(
        r"(?:and|to \d|to \w+ing|in advance|before|after)\b", after
    ):
        return
    taken = verb or base_form(clause.verb)[0]
    if taken == "weigh" and noun in _WEIGHTS:
        yield "number", clause.asked("how much", f"{verb} {after}"), f"{counted['a']} {noun}"
    elif taken in _LASTS and of_time:
        yield "number", clause.asked("how long", f"{verb} {after}"), f"{counted['a']} {noun}"
    else:
        yield "number", clause.asked(f"how many {_plural(noun) if of_time else noun}", f"{verb} {after}"), counted["a"]


_LONG = re.compile(rf"(?P<a>{_AMOUNT} \w+) (?P<how>long|wide|high|deep|tall|old|thick)(?: and .*)?")
_MEASURE = re.compile(
    rf"{_AMOUNT}(?: (?:{_TIME}|percent|per cent|°C|{'|'.join(sorted(_UNITS))})(?!\w)| ?%| ?°C)(?: (?:per|a|an) \w+)?"
)


def measures(clause: Clause) -> Iterator[Asking]:
    """ "The loan period for books is 14 days", "The lake is 12 km long", "Visitors must be at least 18 years old"."""
    in_modal = clause.modal and clause.rest.startswith("be ")
    if not (clause.is_copular or in_modal):
        return
    rest, be = clause.rest.removeprefix("be "), "be" if in_modal else ""
    subject = clause.subject.lower()
    if (long := _LONG.fullmatch(rest)) is not None:
        yield "number", clause.asked(f"how {long['how']}", be), long["a"] + (" old" if long["how"] == "old" else "")
    elif subject.startswith("the ") and len(subject.split()) > 2 and (measure := _MEASURE.fullmatch(rest)) is not None:
        of_time = re.search(rf"{_TIME}$", measure[0]) is not None and " age " not in f" {subject} "
        yield "number", clause.asked("how long" if of_time else "what", be), measure[0]


_COUNTED_SUBJECT = re.compile(rf"(?P<a>{_AMOUNT}) (?P<noun>(?:[\w-]+ )?[\w-]+)", re.IGNORECASE)
_UNITS_OF_TIME = word_set("years days weeks months hours minutes times percent")


def numbers_of_subjects(clause: Clause) -> Iterator[Asking]:
    """ "Up to four guests may stay in a room": "How many guests may stay in a room?"."""
    match = _COUNTED_SUBJECT.fullmatch(clause.subject)
    if match is None or not clause.auxiliary or re.search(r"\bnot\b|,|\b(?:their|they)\b", clause.rest):
        return
    last = match["noun"].rsplit(maxsplit=1)[-1]
    if not is_plural_noun(last) or last in _UNITS_OF_TIME or (clause.is_copular and _ARTICLE.match(clause.rest)):
        return
    asked = [f"how many {lowered(match['noun'])}", clause.auxiliary, clause.rest, clause.condition]
    yield "number", question_of(asked), match["a"]
