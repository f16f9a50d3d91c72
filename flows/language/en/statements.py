"""An English question and its answer as one statement ("How long is the Danube?": "The Danube is 2,850 km long.")."""

import re
from functools import lru_cache
from itertools import pairwise

import lemminflect

from flows.language.en.names import classes, place_class
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word, is_plural, parts_of_speech, takes_the
from flows.language.en.tokens import MONTHS, word_set
from flows.language.en.types import answer_type

_ASKS = re.compile(
    r"(?:(?P<prep>[A-Z][a-z]+) (?P<of>what|which|whom) |(?P<where>Where|When) |"
    r"How (?P<many>many|much) |How (?P<how>long|high|deep|tall|wide|old) |(?:What|Which) (?P<time>year|month) |"
    r"What percent(?:age)? (?P<share>of .+)|(?P<who>Who|Whom|What|Which) )(?P<rest>.*)"
)
_KEPT_WORDS = 65536
_AUX = word_set("is are was were did does do has have had can could will")
_PARTICLES = word_set("back out up down off away home on over")
_BE = word_set("is are was were")
_FINITE = _BE | word_set("has had")
WORK_ASKED = re.compile(r"\b(?:novel|film|movie|opera|book|song|album|play|poem)\b(?= |\?)")
_CLAUSE = re.compile(r"[,;:()]|\b(?:that|which|who|whom|whose|when|where|while|because|if|after|before)\b")


def statement(question: str, answer: str, sentence: str = "") -> str | None:
    """Return the statement that the answer makes of a plain question; None for other questions.

    `sentence` contains the answer, and shows whether it has an article.
    """
    asked = _ASKS.fullmatch(question.strip().rstrip("?").strip())
    if asked is None or _CLAUSE.search(asked["rest"]):
        return None
    filler = answer.strip(" .") if WORK_ASKED.search(question) else _with_article(answer, sentence)
    made = _asked_by(asked, filler)
    return None if made is None else _finished(made)


def untimed(question: str) -> str | None:
    """Return what a question for a time takes for granted, without the time; None for other questions."""
    asked = _ASKS.fullmatch(question.strip().rstrip("?").strip())
    if asked is None or not (asked["where"] == "When" or asked["time"]):
        return None
    made = _told(asked["rest"].split(), "")
    return None if made is None else _finished(made)


def _finished(made: str) -> str:
    made = re.sub(r"\s+", " ", made).strip(" .")
    return f"{made[0].upper()}{made[1:]}."


def _with_article(answer: str, sentence: str) -> str:
    answer = answer.strip(" .")
    if re.fullmatch(r"\d{3,4}", answer):
        return answer
    article = re.search(rf"\b(the|an?) {re.escape(answer)}(?!\w)", sentence, re.IGNORECASE)
    if answer.casefold().startswith(("the ", "a ", "an ")):
        return answer[0].lower() + answer[1:]
    return f"{article[1].lower()} {answer}" if article else f"the {answer}" if takes_the(answer) else answer


def _asked_by(asked: re.Match[str], answer: str) -> str | None:  # noqa: PLR0911 - one for each question word
    words = asked["rest"].split()
    if asked["how"]:
        return _measured(words, asked["how"], answer)
    if asked["many"]:
        return _counted(words, answer)
    if asked["where"]:
        return _told(words, _placed(answer, asked["where"]))
    if asked["share"]:
        return f"{answer} {asked['share']}" if "%" in answer or "percent" in answer else None
    if asked["time"]:
        return _told(words, f"in {answer}")
    if asked["prep"]:
        preposition = asked["prep"].lower()
        at = _auxiliary(words)
        if at is None or preposition not in PREPOSITIONS:
            return None
        onward = [word for word in words[:at] if word in ("onwards",)]
        return _told(words[at:], " ".join((preposition, answer, *onward)))
    return _whoever(words, asked["who"], answer)


def _measured(words: list[str], how: str, answer: str) -> str | None:
    above = words[:3] == ["above", "sea", "level"]
    rest = words[3:] if above else words
    if not rest or not answer[:1].isdigit():
        return None
    if above:
        if rest[0] in _BE:
            return f"{' '.join(rest[1:])} {rest[0]} {answer} above sea level"
        return _told(rest, f"{answer} above sea level")
    if rest[0] in _BE:
        return f"{' '.join(rest[1:])} {rest[0]} {answer} {how}"
    if rest[0] == "did" and rest[-1] in ("take", "last"):
        return f"{' '.join(rest[1:-1])} {_past(rest[-1])} {answer}"
    return None


def _counted(words: list[str], answer: str) -> str | None:
    at = _auxiliary(words) or next((place for place, word in enumerate(words) if is_finite(word)), 0)
    noun, rest = words[:at], words[at:]
    number = answer.removesuffix(f" {noun[-1]}") if noun else ""
    plain = re.fullmatch(r"(?:(?:about|over|around|nearly|at least) )?[\d.,]*\d(?: (?:m|b|tr)illion)?|[a-z]+", number)
    if plain is None or at > LONGEST_COUNTED or PREPOSITIONS & set(noun):
        return None
    counted = " ".join((number, *noun))
    if rest[0] in ("did", "does", "do"):
        return _object(rest, counted)
    if rest[1:2] == ["there"]:
        return " ".join(("there", rest[0], counted, *rest[2:]))
    alone = rest[0] in _AUX and (len(rest) == 1 or rest[1][:1].isupper() or rest[1] in ("the", "a", "an"))
    return None if alone or rest[0] in ("has", "have", "had") else " ".join((counted, *rest))


LONGEST_COUNTED = 4
"""The most words for what is counted."""


def _placed(answer: str, asked: str) -> str | None:
    """The answer with the preposition that it takes as a place or a time."""
    first = answer.split(maxsplit=1)[0].casefold()
    if first in PREPOSITIONS:
        return answer[0].lower() + answer[1:]
    if asked == "When":
        dated = answer_type(answer) == "date"
        if not dated:
            return None
        has_day = re.search(r"\b\d{1,2}\b(?!\d)", re.sub(r"\d{4}", "", answer))
        months = [word for word in answer.split() if word.casefold().strip(",") in MONTHS]
        return f"on {answer}" if has_day and months else f"in {answer}"
    last = answer.rsplit(maxsplit=1)[-1].casefold()
    if place_class(answer) or classes("head").get(last, ("", ""))[1] in ("region", "settlement", "island", "country"):
        return f"in {answer}"
    return f"at {answer}" if classes("head").get(last, ("", ""))[1] in ("building", "school") else None


_TIMED = re.compile(
    r"\b(?:in|since|from|until|during) (?:1\d|20)\d\d$|\bduring the [A-Z][^,]*$|"
    r"\bin the Middle Ages$|\bfor about [a-z ]+$"
)
"""The time, at the end of a statement: after the place and the company."""


def _auxiliary(words: list[str]) -> int | None:
    return next((at for at, word in enumerate(words) if word in _AUX), None)


def _told(words: list[str], adverbial: str | None) -> str | None:
    """Auxiliary, subject and verb in the order of a statement, followed by the adverbial."""
    if adverbial is None or not words or words[0] not in _AUX or _CLAUSE.search(" ".join(words)):
        return None
    aux, rest = words[0], words[1:]
    at = _verb(rest, aux)
    if at is None:
        return None
    subject, verb, onward = rest[:at], rest[at], rest[at + 1 :]
    if subject and subject[-1].endswith("ly"):
        subject, verb = subject[:-1], f"{subject[-1]} {verb}"
    if aux in ("did", "does", "do"):
        *adverb, verb = verb.split()
        verb = " ".join((*adverb, _inflected(aux, verb)))
    else:
        verb = f"{aux} {verb}"
    if onward and onward[-1] in ("in", "at", "to", "on", "from"):
        onward = onward[:-1]
    timed = _TIMED.search(" ".join(onward))
    if timed is not None and adverbial and not adverbial.startswith("in "):
        return " ".join((*subject, verb, " ".join(onward)[: timed.start()], adverbial, timed[0]))
    return " ".join((*subject, verb, *onward, adverbial))


def _verb(words: list[str], aux: str) -> int | None:
    tag = {"did": "VB", "does": "VB", "do": "VB", "can": "VB", "could": "VB", "will": "VB"}.get(aux, "VBN")
    for at, word in enumerate(words):
        if at == 0 or not word.islower():
            continue
        before = words[at - 1].casefold()
        if before in ("the", "a", "an", "of", "in", "on", "his", "her", "its", "and", "to", "first") or (
            before in PREPOSITIONS
        ):
            continue
        if aux in _BE and word in ("located", "held", "born"):
            return at
        if _is_form(word, tag) and not _is_noun_here(words, at, tag):
            return at
    return None


def _is_noun_here(words: list[str], at: int, tag: str) -> bool:
    """True if the word only looks like a verb: another verb, or a name before one, follows ("space shuttle fly")."""
    if tag != "VB" or words[at] == "take" or "NOUN" not in parts_of_speech(words[at]):
        return False
    onward = words[at + 1 :]
    if onward and onward[0][:1].isupper() and words[at - 1].endswith(("'s", "’s", "s'")):
        return True
    if onward and onward[0] in _PARTICLES:
        return False
    return (
        bool(onward)
        and onward[0].islower()
        and onward[0] not in PREPOSITIONS
        and (_is_form(onward[0], "VB") or any(_is_form(word, "VB") for word in onward[1:2]))
    )


def _is_form(word: str, tag: str) -> bool:
    lemmas = lemminflect.getAllLemmas(word).get("VERB", ())
    forms = {form for lemma in lemmas for form in lemminflect.getInflection(lemma, tag)}
    if word not in forms or word in PREPOSITIONS:
        return False
    if tag == "VBN":
        return word.endswith(("ed", "en", "n", "t", "d")) or "NOUN" not in parts_of_speech(word)
    return True


def _inflected(aux: str, verb: str) -> str:
    return _past(verb) if aux == "did" else verb if aux == "do" else lemminflect.getInflection(verb, "VBZ")[0]


_IRREGULAR = {"begin": "began", "find": "found", "lie": "lay", "leave": "left", "drink": "drank", "sink": "sank"}


def _past(verb: str) -> str:
    return _IRREGULAR.get(verb) or str(lemminflect.getInflection(verb, "VBD")[0])


def _whoever(words: list[str], who: str, answer: str) -> str | None:  # noqa: PLR0911 - one for each order of words
    """A question for a subject, an object or what something is."""
    if not words or "or" in words:
        return None
    if words[0] in _AUX:
        return _what_is(words, who, answer)
    at = _auxiliary(words)
    noun = words[:at] if at is not None else words
    if who in ("What", "Which") and at is not None and 0 < at <= 3:
        if any(word in PREPOSITIONS for word in noun):
            return None
        if words[at] == "did":
            return _object(words[at:], answer)
        if words[-1] in PREPOSITIONS:
            return None
        inverted = _verb(words[at + 1 :], words[at]) is not None
        if (
            words[at] in _BE
            and not inverted
            and at + 1 < len(words)
            and is_plural(answer) == (words[at] in ("are", "were"))
        ):
            return " ".join((answer, *words[at:]))
        return None
    verb = next((place for place, word in enumerate(words) if is_finite(word)), None)
    if verb is None or verb > (0 if who == "Who" else 3) or any(word in PREPOSITIONS for word in words[:verb]):
        return None
    if who in ("What", "Which") and verb == 0:
        return None
    return " ".join((answer, *words[verb:]))


@lru_cache(_KEPT_WORDS)
def is_finite(word: str) -> bool:
    if not word.islower() or not (lemmas := lemminflect.getAllLemmas(word).get("VERB", ())):
        return False
    forms = {form for lemma in lemmas for tag in ("VBD", "VBZ") for form in lemminflect.getInflection(lemma, tag)}
    return (word in forms and (word.endswith("ed") or "NOUN" not in parts_of_speech(word))) or word in _FINITE


def _what_is(words: list[str], who: str, answer: str) -> str | None:
    aux, rest = words[0], words[1:]
    if aux in ("did", "does"):
        return _object(words, answer)
    if aux not in _BE or rest[-1] in PREPOSITIONS:
        return None
    if "called" in rest and who == "What":
        at = rest.index("called")
        return " ".join((*rest[:at], aux, "called", answer, *rest[at + 1 :]))
    names = who == "Who" or answer[:1].isupper() or answer[:1].isdigit() or answer.startswith(("the ", "a ", "an "))
    if names and rest and rest[0] in ("the", "one"):
        return f"{' '.join(rest)} {aux} {answer}" if who == "What" else " ".join((answer, aux, *rest))
    return None


def _object(words: list[str], answer: str) -> str | None:
    """Return a statement of what somebody did: the answer after the verb, or after the question's last preposition."""
    rest = words[1:]
    at = _verb(rest, words[0])
    if at is None:
        return None
    onward = rest[at + 1 :]
    verb = _inflected(words[0], rest[at])
    # A preposition without its noun, before another: "as the seat for in 1529".
    left = next((at for at, pair in enumerate(pairwise(onward)) if set(pair) <= PREPOSITIONS), None)
    if left is not None:
        return " ".join((*rest[:at], verb, *onward[: left + 1], answer, *onward[left + 1 :]))
    if onward and onward[-1] in PREPOSITIONS:
        return " ".join((*rest[:at], verb, *onward, answer))
    if onward and onward[0] not in PREPOSITIONS and not is_dictionary_word(onward[0]):
        return None
    if onward and onward[0] not in PREPOSITIONS and onward != ["unfinished"]:
        return None
    return " ".join((*rest[:at], verb, answer, *onward))
