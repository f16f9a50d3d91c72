"""Plain requirements of an answer: put in a sentence, read from it, checked and applied without a model.

Words are matched as whole words in English, in any case, and as stretches of characters in Chinese. A manner is kept or
not; of a word, the share of its places is counted that are as required; a length is missed by more or less, and of
sentences the share is counted that are short enough.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Literal, get_args

from flows.families.refutebench.manners import MANNERS, Manner, contracts_itself, in_case_of
from flows.families.refutebench.sentences import count, cut, language, pieces, split_at_joints
from flows.language.zh import text as zh_text
from schemas.refutebench import TASKS, Focus, SeedTask

Exchange = Literal["word", "phrase", "translation"]
Length = Literal["words", "characters"]
SentenceLength = Literal["sentence words", "sentence characters"]
Kind = Exchange | Manner | Length | SentenceLength

LEXICON = Path(__file__).parent / "lexicon.en-zh.tsv"
"""English words in their base form, each with two to five translations into Simplified Chinese."""
LEAST_LENGTH = 20
"""Least number of words or characters that an answer can be asked to stay under."""
LENGTH_STEP = 5
SHORTER = 0.9
"""The largest share of an answer's length that it can be asked to stay under: a word less is no complaint."""
SENTENCES: Mapping[SentenceLength, tuple[int, ...]] = {"sentence words": (20, 15), "sentence characters": (30, 20)}
"""Limits of a sentence's length: the first that a sentence of the answer exceeds is asked for."""
STANDING = "From now on, "
"""Opens a requirement that is to hold for later queries too."""
_WORDINGS: dict[Kind, str] = {
    "word": 'use the word "{new}" instead of "{old}".',
    "phrase": 'say "{new}" instead of "{old}".',
    "translation": 'the word "{old}" should be translated as "{new}".',
    "words": "keep it shorter, under {number} words in all.",
    "characters": "keep it shorter, under {number} characters in all.",
    "sentence words": "use shorter sentences, of {number} words at most.",
    "sentence characters": "use shorter sentences, of {number} characters at most.",
    "exclamation marks": "calm down a little and do without exclamation marks.",
    "questions": "stop asking questions and just say it.",
    "contractions": "be more formal and write contractions out in full.",
    "stiffness": 'sound less stiff and use contractions like "don\'t" throughout.',
    "familiar you": "be more polite and address the reader as 您, never as 你.",
    "brackets": "tell it straight, without asides in brackets.",
    "semicolons": "make it easier to read and do without semicolons.",
    "figures": "write all numbers above ten as figures.",
    "formal": "make it sound more formal.",
    "casual": "make it sound more casual, the way people talk.",
    "concise": "be more concise.",
    "bullets": "make it a list of bullet points, one for each sentence.",
}
_OPPOSITES = (frozenset(("contractions", "stiffness")), frozenset(("formal", "casual")))
_EXCHANGES: tuple[Exchange, ...] = get_args(Exchange)
_LENGTHS: tuple[Length, ...] = get_args(Length)
_SENTENCES: tuple[SentenceLength, ...] = get_args(SentenceLength)
_TASKS_OF: Mapping[Kind, tuple[SeedTask, ...]] = {
    "bullets": ("summarisation",), "questions": ("writing",), "words": ("summarisation", "writing"),
    "characters": ("summarisation", "writing"),
}  # fmt: skip
"""Tasks of the kinds that do not suit every task: a translation cannot lose a sentence, and a story is no list."""


@dataclass(frozen=True)
class Requirement:
    """A requirement of an answer.

    `new` are the words that are asked for and `old` the words they replace; of a translation, the translation and the
    English word. `number` is the length to stay under, at least `LEAST_LENGTH`, or the longest allowed sentence. No
    words contain a straight double quotation mark.
    """

    kind: Kind
    new: str = ""
    old: str = ""
    number: int = 0

    @property
    def focus(self) -> Focus:
        """The aspect of the answer that it is about (figure 3)."""
        if self.kind in ("word", "translation"):
            return "word usage"
        return "phrase usage" if self.kind == "phrase" else "style"

    def in_words(self, standing: bool = False) -> str:
        """The requirement as a sentence; a `standing` one holds for later queries too."""
        wording = _WORDINGS[self.kind].format(new=self.new, old=self.old, number=self.number)
        if standing:
            return STANDING + wording
        return f"Please {wording}" if self.kind != "translation" else f"T{wording[1:]}"

    def met(self, text: str) -> float:
        """How far `text` meets it, from 0 to 1.

        Of words: the share of their places that have the new ones; one half where neither occurs. Of a translation and
        of a manner: 1 or 0. Of a length: 1 minus the share by which it is exceeded. Of sentences: the share that is
        short enough.
        """
        if self.kind == "translation":
            return float(self.new in text)
        if self.kind in _EXCHANGES:
            places = [match.lastgroup == "new" for match in _either(self.old, self.new).finditer(text)]
            return sum(places) / len(places) if places else 0.5
        if self.kind in _LENGTHS:
            most = self.number - 1
            return min(1.0, max(0.0, 2 - count(text, self.kind) / most))
        if self.kind in _SENTENCES:
            short = [count(sentence, self.kind) <= self.number for sentence in pieces(text)]
            return sum(short) / len(short) if short else 1.0
        return float(MANNERS[self.kind].kept(text))

    def apply(self, text: str) -> str:
        """`text` changed to meet it, as far as a rule can; unchanged if none can.

        A translation is replaced only where another of the packaged table is a word of its own. A long sentence is
        split where it has a joint.
        """
        if self.kind == "translation":
            return text if self.new in text else self._retranslated(text)
        if self.kind in _EXCHANGES:
            return _either(self.old, self.new).sub(self._replace, text)
        if self.kind in _LENGTHS:
            return cut(text, self.number, self.kind)
        if self.kind in _SENTENCES:
            return "".join(
                sentence if count(sentence, self.kind) <= self.number else split_at_joints(sentence)
                for sentence in pieces(text)
            )
        return text if self.met(text) == 1 else MANNERS[self.kind].put_on(text)

    def _retranslated(self, text: str) -> str:
        """`text` with the new translation in place of others of the table, if they are words of their own."""
        others = sorted(packaged_lexicon().get(self.old, ()), key=len, reverse=True)
        if not any(other in text for other in others):
            return text
        bounds = word_bounds(text)
        return re.sub("|".join(others), lambda match: self.new if set(match.span()) <= bounds else match.group(), text)

    def _replace(self, match: re.Match[str]) -> str:
        return match.group() if match.lastgroup == "new" else in_case_of(match.group(), self.new)


@lru_cache(1024)
def _either(old: str, new: str) -> re.Pattern[str]:
    """Matches the new words, in a group of that name, and else the old ones: new words may contain old ones."""
    return re.compile(f"(?P<new>{_whole(new)})|{_whole(old)}", re.IGNORECASE)


def _whole(phrase: str) -> str:
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    return rf"(?<![\w-]){pattern}(?![\w-])" if phrase.isascii() else pattern


def word_bounds(text: str) -> frozenset[int]:
    """Where the words of a Chinese text begin and end."""
    return frozenset(place for _, start, end in zh_text.words(text) for place in (start, end))


@cache
def packaged_lexicon() -> Mapping[str, tuple[str, ...]]:
    """Return the translations of each English word of the packaged table, in its order."""
    lines = LEXICON.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {word: tuple(translations) for word, *translations in rows}


# ---- reading a requirement from its sentence ----


def _form(kind: Kind) -> re.Pattern[str]:
    fields = {"new": '(?P<new>[^"]+)', "old": '(?P<old>[^"]+)', "number": r"(?P<number>[0-9]{1,6})"}
    wording = re.sub(r"\\\{(\w+)\\\}", lambda match: fields[match.group(1)], re.escape(_WORDINGS[kind]))
    return re.compile(rf"(?:{re.escape(STANDING)}|please )?{wording}", re.IGNORECASE)


_FORMS: dict[Kind, re.Pattern[str]] = {kind: _form(kind) for kind in _WORDINGS}


def parse(refutation: str) -> Requirement | None:
    """The requirement that a refutation states; None if it states none that is known here."""
    for kind, form in _FORMS.items():
        if match := form.fullmatch(refutation.strip()):
            fields = match.groupdict()
            number = int(fields.get("number") or 0)
            if kind in _LENGTHS and number < LEAST_LENGTH:
                return None
            return Requirement(kind, fields.get("new") or "", fields.get("old") or "", number)
    return None


def parse_all(refutations: Iterable[str]) -> list[Requirement]:
    """The requirements of the refutations that state one, in their order."""
    return [requirement for requirement in map(parse, refutations) if requirement is not None]


def is_standing(refutation: str) -> bool:
    """Return whether a refutation says that it holds for later queries too."""
    return refutation.strip().lower().startswith(STANDING.strip().lower())


# ---- several requirements ----


def same(first: Requirement, second: Requirement) -> bool:
    """Return whether both ask for the same: all lengths do, whatever the number, and so do those of sentences."""
    if any(first.kind in kinds and second.kind in kinds for kinds in (_LENGTHS, _SENTENCES)):
        return True
    if first.kind in ("word", "phrase") and second.kind in ("word", "phrase"):
        return (first.new.lower(), first.old.lower()) == (second.new.lower(), second.old.lower())
    return first == second


def conflicts(first: Requirement, second: Requirement) -> bool:
    """Return whether meeting one can undo the other.

    They want different things in the same place, one changes what the other puts in, or they are opposite manners.
    """
    if same(first, second):
        return False
    if {first.kind, second.kind} in _OPPOSITES:
        return True
    exchanges = first.kind in _EXCHANGES and second.kind in _EXCHANGES
    if exchanges and (_contains(first.old, second.old) or _contains(second.old, first.old)):
        return True
    return _changes(first, second.new) or _changes(second, first.new)


def goes_with(requirement: Requirement, earlier: Iterable[Requirement]) -> bool:
    """Return whether it neither repeats nor contradicts an earlier requirement."""
    return not any(same(requirement, other) or conflicts(requirement, other) for other in earlier)


def _contains(text: str, words: str) -> bool:
    return re.search(_whole(words), text, re.IGNORECASE) is not None


def _changes(requirement: Requirement, words: str) -> bool:
    if not words or requirement.kind in (*_LENGTHS, *_SENTENCES, "bullets"):
        return False
    return requirement.apply(words) != words


def apply_all(text: str, requirements: Iterable[Requirement]) -> str:
    """`text` with all of them applied: sentences and manner first, then words in the order given, the length last."""
    in_order = list(requirements)
    manners = [(manner,) for manner in get_args(Manner)]
    # Twice: a full stop for a semicolon may bring out a question. What is met is left as it is.
    for kinds in (_SENTENCES, *manners, *manners, _EXCHANGES, _LENGTHS):
        for requirement in in_order:
            if requirement.kind in kinds:
                text = requirement.apply(text)
    return text


def of_style(text: str, task: SeedTask) -> list[Requirement]:
    """The requirements of style that suit the task and that the answer meets better once they are applied."""
    unit: Length
    sentence: SentenceLength
    unit, sentence = ("words", "sentence words") if language(text) == "en" else ("characters", "sentence characters")
    manners = [Requirement(manner) for manner in get_args(Manner) if manner != "contractions" or contracts_itself(text)]
    longest = max((count(piece, sentence) for piece in pieces(text)), default=0)
    limits = [Requirement(sentence, number=limit) for limit in SENTENCES[sentence] if longest > limit]
    ends = [*accumulate(len(piece) for piece in pieces(text))][:-1]
    most = SHORTER * count(text, unit)
    numbers = (max((count(text[:end], unit) // LENGTH_STEP + 2) * LENGTH_STEP, LEAST_LENGTH) for end in reversed(ends))
    lengths = [Requirement(unit, number=number) for number in numbers if number <= most]
    return [
        requirement
        for requirement in (*manners, *limits[:1], *lengths[:1])
        if task in _TASKS_OF.get(requirement.kind, TASKS)
        and requirement.met(requirement.apply(text)) > requirement.met(text)
    ]
