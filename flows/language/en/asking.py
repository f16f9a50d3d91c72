"""Questions that an English sentence answers, with their answers, by rules that ask only what is plain."""

import re
from collections.abc import Callable, Iterator

from flows.language import Asked
from flows.language.en.amounts import (
    CLOCK,
    MONTHS_NAMED,
    NUMBER,
    UNIT_OF_TIME,
    measures,
    numbers_of_subjects,
    numbers_of_things,
    prices,
    times,
)
from flows.language.en.clauses import Asking, Clause, base_form, clause_of, inflected, lowered, question_of
from flows.language.en.defining import definitions, is_office, is_role
from flows.language.en.names import is_surname
from flows.language.en.phrases import head, parts_of_speech
from flows.language.en.pointing import en_points_outside, vague_phrase
from flows.language.en.tokens import word_set
from flows.language.tables import word_list

_FEWEST_WORDS, _MOST_WORDS = 4, 34
_SIGNS = re.compile(
    r"[\"“”«»‘*_\[\]{}|<>`=~;!?…()]| [–—-] |—|https?:|www\.|\w@\w|[\w)]:\S|\.\.|\w/\w|\.[a-z]+\b|(?<!\d)\.(?!\d)"
)
"""Signs that no plain sentence has: quotations, code, table rows, addresses, brackets, abbreviations."""
_DOUBTFUL = re.compile(
    r"\b(?:perhaps|probably|possibly|likely|usually|generally|normally|often|sometimes|typically|mostly|mainly|largely|"
    r"might|could|would|seems?|appears?|appeared|believed?|said|says|reported (?:to (?:be|have)|that)|reportedly|"
    r"claim(?:s|ed) (?:to|that)|estimated|expected|suggest(?:s|ed)?|thought|considered|supposed|alleged|approximately|"
    r"about (?=\d|[a-z]+teen|ten|twenty)|around (?=\d|ten|twenty)|roughly|nearly|almost|some (?=\d)|in general|"
    r"in principle|for example|for instance|such|rather|instead|otherwise|unless|except|excluding|we|our|ours|us|i|me|"
    r"my|this|these|those|here|above|below|following|former|latter|(?<!at the )same|respectively|etc|one of|a few|"
    r"hopefully|currently|recently|now|today|then|thus|therefore|however|but|although|though|whereas|because|so|"
    r"neither|nor|either|whether|too|as well|the other|another|others|again|still|already|even|ever|yet|"
    r"(?:does|do|did|need) not|of (?:them|it)|like|known as|later|earlier|around|about|he|him|she|her|his)\b",
    re.IGNORECASE,
)
"""Hedges, words that lean on other sentences, and those that join clauses."""
_DROPPED = re.compile(r"\balso |^(?:Please|Note that|In addition,) ")
_UNNAMED_THING = re.compile(r"(?:be |been )?(?:[\w-]+ ){0,2}(?:it|them|itself|themselves)\b")
Rule = Callable[[Clause], Iterator[Asking]]


def asked_of_sentence(sentence: str, title: str | None = None) -> Iterator[Asked]:
    """Yield the pairs of a sentence; none of a sentence that is not plain, or that leans on the text around it.

    A definite at the subject ("the library") is clear if the title has its noun.
    """
    plain = _plain(sentence)
    if plain is None:
        return
    of_clause = [pair for pair in _asked_of_clause(plain) if not _is_left_over(*pair, plain)]
    pairs = [*definitions(plain), *of_clause]
    if pairs and _stands_alone(plain, title):
        yield from (Asked(*pair, sentence) for pair in pairs)


def _asked_of_clause(plain: str) -> Iterator[Asking]:
    if _DOUBTFUL.search(plain) or ": " in plain:
        return
    dropped = _DROPPED.sub("", plain)
    clause = clause_of(dropped[:1].upper() + dropped[1:])
    if clause is None or _UNNAMED_THING.match(clause.rest):
        return
    if clause.is_past and not _is_named_event(clause, plain):
        return
    limited = re.match(r"(?:No|Only) ", clause.subject) or clause.auxiliary == "cannot"
    for rule in (_who, _yes_no) if limited else _RULES:
        yield from rule(clause)


_LEFT = re.compile(
    r",(?!\d)|.\b(?:which|who|whose)\b(?! (?:day|days|month|date|year|hours)\b)|"
    r"\band (?:until|from|by|at)\b|"
    r"\band (?:[\w'’-]+ ){0,4}(?:must|may|can|cannot|should|will|is|are|was|were|has|have)\b|"
    r"\b(?:previous|following|next|same) (?:day|evening|morning|night|afternoon|week|month)\b|"
    r"\b(?:low|high|peak) season\b|\buntil\b.* (?:summer|winter)"
)
"""What shows that a question kept a part of another clause, or a half of its time ("on the previous day")."""
_SECOND = re.compile(rf"\b(?:and|or|but|except)\b.*\b(?:free|nothing|half|double)\b|\b(?:or|but|except)\b.*\b{NUMBER}")
_IMPERATIVES = word_list("en", "imperatives")
_AND_THEN = re.compile(r"\bI .*\band (?:then )?(\w+)")
"""The second request of a question: "should I unplug the machine and wait"."""


def _has_time(plain: str) -> bool:
    return re.search(rf"{NUMBER} {UNIT_OF_TIME}s?\b", plain) is not None


def _is_left_over(kind: str, question: str, answer: str, plain: str) -> bool:
    """True if a question has a part too many, or its sentence has another value after the answer."""
    if kind == "yes-no":
        return not _is_short(question)
    if _LEFT.search(question) or any(verb in _IMPERATIVES for verb in _AND_THEN.findall(question)):
        return True
    if question.startswith("How long is ") and not re.search(f"{UNIT_OF_TIME}s?$", answer) and _has_time(plain):
        return True  # a walk "is eleven kilometres long and can be done in three hours"
    return kind != "list" and _SECOND.search(plain.partition(answer)[2]) is not None


def _plain(sentence: str) -> str | None:
    """The sentence in one line without its full stop; None if it is a heading, a row, code, a quotation or too long."""
    plain = " ".join(sentence.split())
    if not plain.endswith(".") or not (plain[0].isupper() or plain[0].isdigit()):
        return None
    plain = plain if re.search(r"[ap]\.m\.$", plain) else plain[:-1]
    bare = re.sub(r"(?<=\w) \([^()]*\)(?= (?:is|was|are|were)\b|,)", "", plain)
    signs = re.sub(r": (?=[^:]+$)", " ", re.sub(CLOCK, "", bare))
    return bare if not _SIGNS.search(signs) and _FEWEST_WORDS <= len(plain.split()) <= _MOST_WORDS else None


def _stands_alone(plain: str, title: str | None) -> bool:
    pointing = en_points_outside(plain)
    if pointing is None:
        return True
    if not pointing.lower().startswith("the "):
        return False
    completed = (
        re.match(rf"{re.escape(pointing)}(?: [a-z]+)? (?:(?:of|for|between) (?!\d)|(?:in|at) [A-Z])", plain) is not None
    )
    return completed or pointing.rpartition(" ")[2].lower() in re.findall(r"[\w'’-]+", (title or "").lower())


def _is_named_event(clause: Clause, plain: str) -> bool:
    """True if a sentence in the past names what it tells of, so that its question is understood anywhere."""
    named = re.search(
        r"(?:^| )(?!(?:January|March|April|May|June|July|August|October)\b|\w+(?:ber|ary)\b)[A-Z]", f"x{lowered(plain)}"
    )
    indefinite = clause.subject.startswith(("A ", "An "))
    surname = is_surname(clause.subject) and parts_of_speech(clause.subject.lower())
    return named is not None and not indefinite and not surname and vague_phrase(plain, "") is None


# ---- places, persons, things ----

_PLACED = re.compile(
    r"(?P<before>(?:be )?(?:located|kept|stored|held|based(?= in| at)|found|available|born|situated|displayed|posted|"
    r"sold|collected|buried|obtained|installed|mounted|returned|picked up)) "
    r"(?P<a>(?:in|at|on|near|behind|beside|next to|outside|inside|under|opposite|from) (?:the |an? )?"
    r"[\w'’-]+(?: [\w'’-]+){0,6})"
)
_NO_PLACE = re.compile(
    r"\d|\b(?:all|each|every|any)\b|in the (?:town|city|area|village|region|country|state|county|district)$|"
    rf"\b(?:{MONTHS_NAMED}|spring|summer|autumn|winter|term|advance|season)\b|"
    r"(?:in|on|at) (?:stock|request|demand|advance|time|use|general|total|order|addition|accordance|"
    r"place|common|high|low|part|person|writing)\b|\b(?:when|if|after|before|by|for|within|until|during|every|with|without|only|their|"
    r"its|his|her)\b|days?\b|\b(?:night|morning|evening|hours|week|month|year|century|times?|condition|state|basis)s?\b"
)
_SENT = re.compile(
    r"(?P<before>(?:be )?(?:sent|returned|submitted|handed in|reported|delivered|taken|brought|addressed|forwarded)) "
    r"to (?P<a>(?:the |an? )?[\w'’-]+(?: [\w'’-]+){0,5}?)"
    r"(?P<after>$| (?:within|by|before|after|at least|in writing|if|when|[a-z]+ly|at once)\b.*)"
)
_BY = re.compile(
    r"(?:(?P<be>be) )?(?P<verb>[a-z]+(?:ed|en|t|de|d|wn|un))(?P<when>(?: in \d{4})?) by "
    r"(?P<a>(?:the |an? )?[\w'’.-]+(?: [\w'’.-]+){0,5}?)"
    r"(?P<after>$| (?:in|on|at|after|before|within|for|every|once|if|when)\b.*)"
)


def _where(clause: Clause) -> Iterator[Asking]:
    if "," in clause.rest or not (clause.is_copular or (clause.modal and clause.rest.startswith("be "))):
        return
    placed = _PLACED.fullmatch(clause.rest)
    if placed is not None and not _NO_PLACE.search(placed["a"]):
        yield "fact", clause.asked("where", placed["before"]), placed["a"]
    sent = _SENT.fullmatch(clause.rest)
    if sent is not None and not re.search(r"\b(?:and|or|you|it|them|one|their)\b|\d", sent["a"]):
        place = is_office(sent["a"]) or not is_role(sent["a"])
        asked = clause.asked("where" if place else "to whom", sent["before"] + sent["after"])
        yield "fact", asked, f"to {sent['a']}" if place else sent["a"]


def _by_whom(clause: Clause) -> Iterator[Asking]:
    """ "Requests must be approved by the head of department": "Who must approve requests?"."""
    match = _BY.fullmatch(clause.rest)
    if match is None or "," in clause.rest or not (clause.modal if match["be"] else clause.is_copular):
        return
    agent = match["a"]
    named = agent[:1].isupper() and len(agent.split()) > 1
    if not (is_role(agent) or is_office(agent) or named) or re.search(
        r"\b(?:and|or|which|who|one)\b|ing\b|['’]s\b", agent
    ):
        return
    base = base_form(match["verb"])[0]
    tense = "VBD" if clause.auxiliary in ("was", "were") else "VBZ"
    verb = f"{clause.auxiliary} {base}" if match["be"] else inflected(base, tense)
    asked = ["who", verb, lowered(clause.subject), match["when"], match["after"], clause.condition]
    yield "fact", question_of(asked), agent


_WORN = re.compile(
    r"(?P<verb>wear|bring|carry|show|present|provide|contain|include|state|submit|complete|sign|enclose|attach|leave|"
    r"fill in) (?P<a>(?:an? |the |both )?(?:[\w'’-]+,? ){0,8}?[\w'’-]+)"
    r"(?P<after>$| (?:in|on|at|when|before|during|if|while|to|after|within|for)\b.*)"
)
_HOLDS = word_set("contain include comprise offer need require cover provide sell publish produce")
_LISTED = re.compile(
    r"(?:[\w'’-]+ ){0,3}[\w'’-]+(?:, (?:[\w'’-]+ ){0,3}[\w'’-]+){1,3},? and (?:[\w'’-]+ ){0,3}[\w'’-]+"
)


def _what(clause: Clause) -> Iterator[Asking]:
    """ "Visitors must wear safety goggles in the laboratory": "What must visitors wear in the laboratory?"."""
    if clause.auxiliary in ("must", "should") and (worn := _WORN.fullmatch(clause.rest)) is not None:
        answer = worn["a"]
        listed = _LISTED.fullmatch(answer) is not None
        plain = not re.search(r"\b(?:it|them|you|your|that|which|who|their|or|not|only|by|until|from)\b", answer)
        plain = plain and (worn["after"] != "" or clause.subject != "I")  # "What should I leave?"
        if plain and (listed or not re.search(r",|\band\b", answer)) and len(answer.split()) > 1:
            yield "list" if listed else "fact", clause.asked("what", worn["verb"] + worn["after"]), answer
    holds = clause.verb and base_form(clause.verb)[0] in _HOLDS
    if holds and _LISTED.fullmatch(clause.rest) and not re.search(r"\b(?:its|their|your|of|in|on|for)\b", clause.rest):
        yield "list", clause.asked("what", ""), clause.rest


_PERSONS = word_set(
    "staff personnel people persons members employees visitors guests residents students pupils readers users adults "
    "children parents participants holders customers tenants citizens volunteers researchers"
)


def _is_of_persons(phrase: str) -> bool:
    return is_role(phrase) or head(phrase).lower() in _PERSONS


_OWN = re.compile(r"\b(?:their|they|it|its|his|her|your|you|them|themselves|not|himself|herself)\b|,")


def _who(clause: Clause) -> Iterator[Asking]:
    """ "Only trained staff may use the laser": "Who may use the laser?"; "The caretaker checks the fire doors"."""
    subject = clause.subject
    if _OWN.search(clause.rest):
        return
    if re.match(r"(?:in|on|at|for|during|every|once|twice)\b", clause.rest):  # "visits on Tuesdays"
        return
    if subject.startswith("Only ") and clause.auxiliary in ("may", "can") and _is_of_persons(subject):
        yield "fact", clause.asked_for_subject("who"), subject.removeprefix("Only ")
    elif (
        clause.verb
        and not clause.is_past
        and re.match(r"The (?!.* of an? )", subject)
        and is_role(subject)
        and len(clause.rest.split()) > 1
    ):
        yield "fact", clause.asked_for_subject("who"), subject


# ---- yes or no ----

_POSSIBLE = re.compile(
    r"(?:cause|lead|result|occur|happen|contain|affect|become|include|vary|differ|have|need|appear|rest|indicate|produce|"
    r"increase|decrease|reduce|well|be (?!\w+ed\b|"
    r"(?:sent|kept|held|sold|left|paid|made|taken|given|written|worn|brought|bought|lent|let|put|built|used|shown|"
    r"thrown|driven|eaten)\b))\b"
)
"""After "may", what is possible rather than allowed."""
_SAID_OF = re.compile(
    r"be (?:(?:seen|made|said|found|considered|thought|argued|traced|expected|regarded|\w+ly)\b|"
    r"(?:an?|the|days|weeks) )"
)
_STATE = re.compile(
    r"(?P<not>not )?(?P<state>(?:allowed|permitted|required|forbidden|prohibited|available|included|open|closed|free|"
    r"needed|necessary|covered|mandatory|compulsory|optional|insured|waterproof|refundable)\b.*)"
)
_LIMITED = re.compile(r"\b(?:only|not|never|just|no|at least|at most|all|both|nothing)\b", re.IGNORECASE)
_NOT = re.compile(r"(?:not|never) (?P<rest>.+)")
_A_NUMBER = re.compile(rf"\b{NUMBER}")
_MOST_OF_YES_NO = 12
"""Words of a question for yes or no."""
_NO_TAIL = re.compile(
    rf"\b(?:until|from|before|after|during|within|by|since|at|throughout|beyond|when|while|if|once|every|as|"
    rf"summer|winter|spring|autumn|and|or|days?|weekdays|hours|times?|seen|heard|\w+days)\b|{CLOCK}|\b{NUMBER}"
)
_PHRASE = re.compile(r" (?:in|into|on|for|with|without|to|of) ")
"""Of which a question for yes or no has one at the most."""


def _is_short(question: str) -> bool:
    """True if a question for yes or no is one that people ask without having read its sentence."""
    _, _, said = question.partition(" ")
    words = len(question.split())
    return 3 < words <= _MOST_OF_YES_NO and not _NO_TAIL.search(said) and len(_PHRASE.findall(said)) < 2


def _yes_no(clause: Clause) -> Iterator[Asking]:
    """ "Visitors must wear a badge": "Must visitors wear a badge?"; "must not" answers "may" with no."""
    subject, auxiliary, rest = clause.subject, clause.auxiliary, clause.rest
    if subject.startswith("No ") and auxiliary in ("may", "can") and not _LIMITED.search(rest):
        yield "yes-no", clause._replace(subject=subject[3:]).asked("", rest), "no"
        return
    said = re.sub("^(?:not|never) ", "", rest)
    if _LIMITED.search(f"{subject} {said}") or re.search(r"[,:]", rest) or subject == "I":
        return
    if auxiliary in ("is", "are"):
        if (state := _STATE.fullmatch(rest)) is not None:
            yield "yes-no", clause.asked("", state["state"]), "no" if state["not"] else "yes"
        return
    if (auxiliary == "may" and _POSSIBLE.match(rest)) or _SAID_OF.match(rest):
        return
    may = auxiliary in ("may", "can")
    if (auxiliary not in ("must", "should", "cannot") and not may) or (may and _A_NUMBER.search(rest)):
        return
    denied = _NOT.fullmatch(rest)
    if denied is None and auxiliary != "cannot":
        if len(rest.split()) > 1:
            yield "yes-no", clause.asked("", rest), "yes"
        return
    asked = clause._replace(auxiliary={"cannot": "can", "must": "may"}.get(auxiliary, auxiliary))
    yield "yes-no", asked.asked("", denied["rest"] if denied else rest), "no"


_RULES: tuple[Rule, ...] = (
    prices, times, numbers_of_things, measures, numbers_of_subjects, _where, _by_whom, _what, _who, _yes_no,
)  # fmt: skip
