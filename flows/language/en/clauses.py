"""A plain English statement as subject, verb and what follows, and the questions that its words can be put into."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import lemminflect

from flows.language import AskedKind
from flows.language.en.names import is_of_a_people
from flows.language.en.phrases import PREPOSITIONS, is_plural_noun, parts_of_speech, within_sentence
from flows.language.en.statements import is_finite
from flows.language.en.tokens import CARDINALS, MONTHS, word_set
from flows.language.tables import word_list

MODALS = word_set("must may can will should shall cannot")
_BE = word_set("is are was were")
_HAVE = word_set("has have had")
_VERBS = word_list("en", "verbs of statements")
"""Verbs that are taken as such, although the dictionary knows most of them as nouns too."""
_IMPERATIVES = word_list("en", "imperatives")
_CLAUSE_WORDS = word_set(
    "that which who whom whose what when where while why how whether if because although though since as unless "
    "until so but nor or either neither to not never"
)
"""Words that no plain subject has."""
_OWNING = word_set("its their his her our my")
_NO_SUBJECT = word_set(
    "it its they their them he she his her him this these those that there here such some many most several few other "
    "others another one both either neither none nobody nothing everything something i we our us my who what which "
    "even also then thus hence not never please let half part"
)
"""Words with which no plain subject begins."""
_BEFORE_NOUN = word_set("a an the of and or your my any every all no this that these those very most more")
_SMALL = word_set(
    "a an the all every any each no you if when before after for during at up more less two three four five everyone"
)
_LONGEST_SUBJECT = 9
_JOINED = re.compile(r",? (?:and|then|but|and then)(?: also)? (\S+)(?: (\S+))?")
_ANOTHER = re.compile(r"(?:[A-Z]|the |an? )[\w'’-]*(?: [\w'’-]+){0,4}? (?:is|are|was|were|has|had|must|may|can|will)\b")
""" "Hamilton is second with 62 wins and Prost is third": another statement after "and"."""
_SUBORDINATE = re.compile(
    r"\b(?:if|when|unless|until|because|so|that|which|who|where|while|although|whether|what|how)\b"
)
_FRONT = re.compile(r"^((?:If|When|Before|After|For|During) [^,]+), (.+)$")
_OWN = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
_OWN_WORD = re.compile(r"\b(?:you are|are you|your(?:s|self)?|you)\b")


Asking = tuple[AskedKind, str, str]
"""(kind, question, answer)."""


class Clause(NamedTuple):
    """A plain statement: "Employees" + "get" + "28 days of leave a year", or "Books" + "must" + "be returned"."""

    subject: str
    auxiliary: str
    """A modal verb or a form of "be" or "have"; empty if the verb has none."""
    verb: str
    """The verb, if it has no auxiliary."""
    rest: str
    condition: str = ""
    """An introduction that limits what is said, as it stands at the end of a question: "if a card is lost"."""

    @property
    def is_copular(self) -> bool:
        """True if the auxiliary is a form of "be"."""
        return self.auxiliary in _BE

    @property
    def is_past(self) -> bool:
        return self.auxiliary in ("was", "were", "had") or (bool(self.verb) and base_form(self.verb)[1] == "did")

    @property
    def modal(self) -> bool:
        return self.auxiliary in MODALS

    def asked(self, front: str, rest: str) -> str:
        """Return the question that begins with `front`; `rest` is what it leaves of the statement's rest."""
        subject = lowered(self.subject)
        if self.auxiliary:
            words = [front, self.auxiliary, subject, rest, self.condition]
        else:
            base, do = base_form(self.verb)
            words = [front, do, subject, base, rest, self.condition]
        return question_of(words)

    def asked_for_subject(self, who: str) -> str:
        """Return the question for the subject; its verb is in the singular."""
        verb = {"are": "is", "were": "was", "have": "has"}.get(self.auxiliary, self.auxiliary)
        if not verb:
            base, do = base_form(self.verb)
            verb = self.verb if do == "did" else inflected(base, "VBZ")
        return question_of([who, verb, self.rest, self.condition])


def question_of(words: list[str]) -> str:
    """Join the parts of a question; whoever reads "you" in the text asks as "I"."""
    asked = " ".join(word for word in words if word)
    asked = _OWN_WORD.sub(lambda match: _own(match[0]), asked)
    asked = re.sub(r"\s+", " ", asked).strip(" ,")
    return f"{asked[:1].upper()}{asked[1:]}?"


def _own(word: str) -> str:
    low = word.lower()
    return {"you are": "I am", "are you": "am I"}.get(low) or _OWN[low]


@lru_cache(8192)
def lowered(phrase: str) -> str:
    """The phrase as it stands within a sentence."""
    first = phrase.split(maxsplit=1)[0] if phrase else ""
    low = re.sub("['’]s?$", "", first.lower())
    if low in _SMALL or (low.endswith("ing") and first[1:].islower() and " " not in phrase):
        return phrase[:1].lower() + phrase[1:]
    if "-" in first and all(parts_of_speech(part) for part in low.split("-")):
        return phrase[:1].lower() + phrase[1:]
    if is_plural_noun(low) and parts_of_speech(low) and phrase[len(first) :].startswith((" in ", " of ")):
        return phrase[:1].lower() + phrase[1:]  # "Children in Years 5 and 6", "Members of the Oak Club"
    if first == "I" or is_of_a_people(low) or low in MONTHS or not (parts_of_speech(low) or low in PREPOSITIONS):
        return phrase
    return within_sentence(phrase)


@lru_cache(8192)
def base_form(verb: str) -> tuple[str, str]:
    """The base of a finite verb, and the form of "do" that it takes with it in a question."""
    if verb in ("has", "have", "had"):
        return "have", {"has": "does", "have": "do", "had": "did"}[verb]
    lemmas: tuple[str, ...] = lemminflect.getAllLemmas(verb).get("VERB", (verb,))
    base = next((lemma for lemma in lemmas if lemma in _VERBS), lemmas[0])
    if verb == base:
        return base, "do"
    return base, "does" if verb in lemminflect.getInflection(base, "VBZ") else "did"


def inflected(base: str, tag: str) -> str:
    """The form of a verb with a tag of the Penn Treebank: "approves" (VBZ), "approved" (VBD)."""
    return str(lemminflect.getInflection(base, tag)[0])


def clause_of(sentence: str) -> Clause | None:
    """Return the clause that a sentence (without its full stop) makes; None unless it is a plain statement.

    An introduction with a condition is carried along; of statements joined by "and" the first is taken.
    """
    condition = ""
    if (front := _FRONT.match(sentence)) is not None:
        condition, sentence = lowered(front[1]), front[2]
        if re.search(r"\b(?:and|or|not|it|they|he|she|them|its|their)\b", condition):
            return None
        sentence = sentence[:1].upper() + sentence[1:]
    words = sentence.split()
    if not words or (at := _verb_place(words)) is None:
        return None
    subject, verb, rest = " ".join(words[:at]), words[at], " ".join(words[at + 1 :])
    if at == 0:
        return Clause("I", "should", "", f"{verb.lower()} {rest}", condition)
    if not _is_subject(words[:at]):
        return None
    auxiliary = verb if verb in MODALS | _BE or (verb in _HAVE and _is_participle(words[at + 1 : at + 2])) else ""
    whole = _first_statement(rest)
    if whole is None or (auxiliary and not whole):
        return None
    return Clause(subject, auxiliary, "" if auxiliary else verb, whole, condition)


def _verb_place(words: list[str]) -> int | None:
    """The place of the finite verb; 0 for an imperative."""
    if words[0].lower() in _IMPERATIVES and words[0][:1].isupper() and len(words) > 1:
        follows = words[1].lower()
        if follows in PREPOSITIONS | _BEFORE_NOUN | {"up", "down", "out", "off"} or follows[0].isdigit():
            return 0
    for at in range(1, min(len(words), _LONGEST_SUBJECT + 1)):
        word, before = words[at], words[at - 1].lower()
        if word in MODALS | _BE | _HAVE:
            return at
        counted = before[0].isdigit() or before in CARDINALS
        if counted or before in _BEFORE_NOUN | PREPOSITIONS or not word.islower() or word.endswith(","):
            continue
        if words[at + 1 : at + 2] == ["of"] and not word.startswith("consist"):
            continue
        before_preposition = next((n for n in range(1, at) if words[n] in PREPOSITIONS), at) - 1
        if _is_verb(word, words[before_preposition]) and not _has_later_verb(words[at + 1 :]):
            return at
    return None


def _is_verb(word: str, before: str) -> bool:
    if word in PREPOSITIONS or not (lemmas := lemminflect.getAllLemmas(word).get("VERB", ())):
        return False
    if not set(lemmas) & _VERBS:
        return is_finite(word)
    base, do = base_form(word)
    if do == "do":
        return is_plural_noun(before) or before.lower() == "you"
    if do == "does":
        return not is_plural_noun(before)
    return word in lemminflect.getInflection(base, "VBD")


def _has_later_verb(words: list[str]) -> bool:
    """True if an auxiliary follows in the same clause: the word before it was no verb ("Books borrowed ... must")."""
    for word in words:
        if _SUBORDINATE.fullmatch(word) or word in ("and", "but", "then"):
            return False
        if word in MODALS | _BE | _HAVE or (is_finite(word) and not word.endswith("ed")):
            return True
        if word.endswith(","):
            return False
    return False


def _is_participle(words: list[str]) -> bool:
    if not words:
        return False
    lemmas = lemminflect.getAllLemmas(words[0]).get("VERB", ())
    return any(words[0] in lemminflect.getInflection(lemma, "VBN") for lemma in lemmas)


def _is_subject(words: list[str]) -> bool:
    lows = [word.lower() for word in words]
    if re.match(r"(?:at least|at most|up to|more than|less than) ", " ".join(lows)):
        lows = lows[2:]
    if not lows or len(words) > _LONGEST_SUBJECT or lows[0] in _NO_SUBJECT | PREPOSITIONS or set(lows) & _CLAUSE_WORDS:
        return False
    if (
        any(word.endswith(",") for word in words)
        or lows[-1] in PREPOSITIONS | _BEFORE_NOUN
        or (_OWNING | {"you"}) & set(lows[1:])
    ):
        return False
    if lows[-1].endswith("ly") and "NOUN" not in parts_of_speech(lows[-1]):
        return False
    if lows[0] not in ("no", "only") and (parts_of_speech(lows[0]) == {"ADV"} or lows[0].endswith("ly")):
        return False
    return not any(
        is_finite(word) and not word.endswith("ed") and before not in _BEFORE_NOUN for before, word in pairwise(lows)
    )


def _first_statement(rest: str) -> str | None:
    """What follows the verb, up to another statement joined by "and"; None if a condition may hold for both."""
    for match in _JOINED.finditer(rest):
        word, after = match[1], match[2] or ""
        another = _ANOTHER.match(rest, match.start(1)) is not None
        pronoun = another or word in ("it", "they", "you", "he", "she", "this")
        if pronoun or _starts_statement(word, after) or (match[0].startswith(",") and _states(rest[match.start(1) :])):
            tail = rest[match.start() :]
            return None if _SUBORDINATE.search(tail) else rest[: match.start()]
    return rest


def _starts_statement(word: str, after: str) -> bool:
    if word in MODALS | _BE | _HAVE:
        return True
    lemmas = set(lemminflect.getAllLemmas(word).get("VERB", ()))
    if not lemmas & _VERBS and not is_finite(word):
        return False
    return after in PREPOSITIONS | _BEFORE_NOUN or after[:1].isdigit() or not parts_of_speech(word) & {"NOUN"}


def _states(text: str) -> bool:
    return any(word in MODALS | _BE | _HAVE or is_finite(word.strip(",")) for word in text.split())
