"""Plain requirements of an answer: said in a sentence, understood from it, checked and applied without a model.

Words are found as whole words in English whatever their case, and as stretches of characters in Chinese. A manner (no
exclamation marks) is kept or not; of a word it is told how many of its places are as required; a length is missed by
more or less, and of sentences it is told how many are short enough.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from flows.families.refutebench.lexicon import packaged
from flows.language import en, zh
from flows.language.en.numbers import value_of
from flows.language.zh import text as zh_text
from schemas.refutebench import TASKS, Focus, SeedTask

Manner = Literal[
    "exclamation marks", "questions", "contractions", "stiffness", "familiar you", "brackets", "semicolons",
    "figures", "formal", "casual", "concise", "bullets",
]  # fmt: skip
"""In the order in which they are applied: what is put in a list is whole by then."""
Exchange = Literal["word", "phrase", "translation"]
Length = Literal["words", "characters"]
SentenceLength = Literal["sentence words", "sentence characters"]
Kind = Exchange | Manner | Length | SentenceLength

LEAST_LENGTH = 20
"""Words or characters that an answer can be asked to be shorter than, at least."""
LENGTH_STEP = 5
SHORTER = 0.9
"""Of an answer's length, the most that it can be asked to be under: a word less is no complaint."""
SENTENCES: Mapping[SentenceLength, tuple[int, ...]] = {"sentence words": (20, 15), "sentence characters": (30, 20)}
"""What the sentences of an answer can be asked to have at most; the first that one of them exceeds is."""
FIGURES_ABOVE = 10
STANDING = "From now on, "
"""What a requirement begins with that is to hold for later queries too."""
_SAID: dict[Kind, str] = {
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
"""Of those that do not go with every task: a translation cannot lose a sentence, and a story is no list."""
REGISTERS = Path(__file__).parent / "registers.tsv"
_CLOSERS = "\"'“”’」』)）\\]"
_BOUNDARY = re.compile(
    # A full stop after a lone letter or a title ends no sentence ("U.S. leaders", "Mr. Adams").
    rf"(?:(?<!\b[A-Za-z])(?<!\b(?:Mr|Ms|Dr|St|No|vs|al))(?<!\bMrs)\.|(?<=[.!?])\.|[!?…])[{_CLOSERS}]*[ \t]+(?=[^\s–—])"
    rf"|[。！？]+[{_CLOSERS}]*[ \t]*(?=[^\s。！？–—{_CLOSERS}])"
)
_EXPANDED = {
    "can't": "cannot", "won't": "will not", "shan't": "shall not", "let's": "let us", "it's": "it is",
    "that's": "that is", "there's": "there is", "here's": "here is", "what's": "what is", "who's": "who is",
    "he's": "he is", "she's": "she is", "where's": "where is", "how's": "how is",
}  # fmt: skip
_ENDINGS = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'m": " am"}
_CONTRACTION = re.compile(
    rf"(?<![\w'’])(?:{'|'.join(_EXPANDED)}|[A-Za-z]+?(?:{'|'.join(_ENDINGS)}))(?!\w)".replace("'", "['’]"),
    re.IGNORECASE,
)
_CONTRACTED = re.compile(
    r"\b(?:(do|does|did|is|are|was|were|has|have|had|would|could|should) not|(can)not|(will) not"
    r"|(I am|(?:we|you|they) are|(?:I|we|you|they|he|she|it) will(?! not))(?= \w))\b(?! only)",
    re.IGNORECASE,
)
_QUOTED = re.compile('“[^”]*”|"[^"]*"')
"""What others say: a writer is not asked to change their manner."""
_QUOTES = re.compile('["“”「」『』]')
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_SCALE = "hundred|thousand|million|billion"
NUMBER_WORDS = (
    rf"(?<![\w-])(?:(?:{_TENS})-(?:{_ONES})|{_TENS}|{_TEENS}|{_ONES})"
    rf"(?: (?:{_SCALE})|(?<=hundred) and (?:(?:{_TENS})-(?:{_ONES})|{_TENS}|{_TEENS}|{_ONES}))*(?![\w-])"
)
_NUMBER = re.compile(NUMBER_WORDS, re.IGNORECASE)
_JOINT = {
    "en": re.compile(
        r";\s+(?P<open>[\"“]?)(?P<next>\w)|,\s+(?P<join>but|and|so|yet)\s+"
        r"(?=(?:it|he|she|they|we|I|you|there|this|that|nobody|somebody|everybody|not)\b"
        r"|(?<=but )(?:the|a|an|its|their|now)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"[；;]\s*|，(?=但是|但|不过|然而|所以|因此|于是)|，(?P<because>因为)"),
}
_OPENING = re.compile("(?<!，)(?:虽然|尽管|即使|因为|由于|既然|如果)")
"""Where one of these opens a sentence, what goes with it further on cannot open one."""


class _Rule(NamedTuple):
    """How a manner is told and put on."""

    kept: Callable[[str], bool]
    put_on: Callable[[str], str]


def _ban(forbids: re.Pattern[str], puts: Callable[[re.Match[str]], str]) -> _Rule:
    return _Rule(lambda text: forbids.search(text) is None, lambda text: forbids.sub(puts, text))


def _written_out(found: re.Match[str]) -> str:
    word = found.group()
    plain = word.lower().replace("’", "'")
    if plain in _EXPANDED:
        return _cased(word, _EXPANDED[plain])
    ending = next(one for one in _ENDINGS if plain.endswith(one))
    return word[: -len(ending)] + _ENDINGS[ending]


def _calm(found: re.Match[str]) -> str:
    """A full stop for a run of marks; nothing where the sentence ends beside it anyway."""
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    if before in tuple(".。…!！?？") or after in tuple(".。…!！?？"):
        return ""
    return "." if found.group()[0].isascii() else "。"


def _dashed(found: re.Match[str]) -> str:
    """A dash for a bracket; nothing for a closing one before a mark, with which what was in brackets ends as well."""
    bracket = found.group().strip()
    if bracket in "(（" and found.string[: found.start()].rpartition("\n")[2] in ("", "-", "- "):
        return " " if found.string[: found.start()].endswith("-") else ""
    if bracket in ")）" and found.string[found.end() :][:1] in tuple(".,;:!?。，；：！？"):
        return ""
    return {"(": " – ", "（": "——", ")": " –", "）": "——"}[bracket]


def _stopped(found: re.Match[str]) -> str:
    """A full stop for a semicolon; in a list, where a line has one sentence, a comma."""
    begins = (found[1] or "") + (found[2] or "")
    if found.string[: found.start()].rpartition("\n")[2].startswith("- "):
        return ("," if found.group()[0] == ";" else "，") + begins
    return ("." if found.group()[0] == ";" else "。") + begins.upper()


def _contracted(found: re.Match[str]) -> str:
    verb, can, will, pronoun = found.groups()
    if verb:
        return f"{verb}n't"
    if can:
        return f"{can}'t"
    if will:
        return f"{will[0]}on't"
    first, _, second = pronoun.partition(" ")
    return first + {"am": "'m", "are": "'re", "will": "'ll"}[second.lower()]


def _in_figures(found: re.Match[str]) -> str:
    value = value_of(tuple(found.group().replace("-", " ").split()))
    return f"{value:,.0f}" if value is not None and value > FIGURES_ABOVE else found.group()


def _has_figures(text: str) -> bool:
    return all(_in_figures(found) == found.group() for found in _NUMBER.finditer(text))


def pieces(text: str) -> list[str]:
    """The sentences of a text, each with what parts it from the next."""
    ends = {one.end() for one in _BOUNDARY.finditer(text)} | {one.end() for one in re.finditer(r"\n+", text)}
    marks = [0, *sorted(ends), len(text)]
    return [text[start:end] for start, end in pairwise(marks) if start < end]


def _asks(sentence: str) -> bool:
    """Whether it is a question, and the writer's own."""
    return sentence.rstrip().endswith(("?", "？")) and _QUOTES.search(sentence) is None


def _without_questions(text: str) -> str:
    while any(map(_asks, pieces(text))):
        rest = "".join(one for one in pieces(text) if not _asks(one)).rstrip()
        text = rest if any(map(str.isalnum, rest)) else re.sub("[?？]+", ".", text)
    return text


def _is_list(text: str) -> bool:
    return all(one.startswith("- ") for one in pieces(text) if one.strip())


def _listed(text: str) -> str:
    return "\n".join(f"- {one.strip().removeprefix('- ')}" for one in pieces(text) if one.strip())


@cache
def register(manner: str) -> Mapping[str, str]:
    """What gives way to what where a Chinese text is to be formal, casual or concise, the longer first."""
    lines = (line for line in REGISTERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    rows = sorted((line.split("\t") for line in lines), key=lambda row: -len(row[1]))
    return {old: new for wanted, old, new in rows if wanted == manner}


def _in_register(manner: str) -> _Rule:
    table = register(manner)
    return _ban(re.compile("|".join(map(re.escape, table))), lambda found: table[found.group()])


_MANNERS: dict[Kind, _Rule] = {
    "exclamation marks": _ban(re.compile("[!！]+"), _calm),
    "questions": _Rule(lambda text: not any(map(_asks, pieces(text))), _without_questions),
    "contractions": _ban(_CONTRACTION, _written_out),
    "stiffness": _ban(_CONTRACTED, _contracted),
    "familiar you": _ban(re.compile("你们?"), lambda found: "您" if found.group() == "你" else "各位"),
    "brackets": _ban(re.compile(r" ?[(（]|[)）]"), _dashed),
    "semicolons": _ban(re.compile(r"[;；](?:(\s*[\"“]?)([a-z]))?"), _stopped),
    "figures": _Rule(_has_figures, lambda text: _NUMBER.sub(_in_figures, text)),
    "formal": _in_register("formal"),
    "casual": _in_register("casual"),
    "concise": _in_register("concise"),
    "bullets": _Rule(_is_list, _listed),
}


@dataclass(frozen=True)
class Requirement:
    """What an answer is to be like.

    `new` are the words that are asked for, `old` those that they stand in for; of a translation the translation and the
    English word. `number` is the length that is not to be reached, at least `LEAST_LENGTH`, or the most that a sentence
    may have. No words hold a straight double quotation mark.
    """

    kind: Kind
    new: str = ""
    old: str = ""
    number: int = 0

    @property
    def focus(self) -> Focus:
        """What it is about."""
        if self.kind in ("word", "translation"):
            return "word usage"
        return "phrase usage" if self.kind == "phrase" else "style"

    def in_words(self, standing: bool = False) -> str:
        """The requirement as a sentence; `standing`: one that holds for later queries too."""
        said = _SAID[self.kind].format(new=self.new, old=self.old, number=self.number)
        if standing:
            return STANDING + said
        return f"Please {said}" if self.kind != "translation" else f"T{said[1:]}"

    def met(self, text: str) -> float:
        """How far `text` meets it, from 0 to 1.

        Of words: the share of their places that have the new ones, one half where neither stands. Of a translation and
        of a manner: 1 or 0. Of a length: 1 less the share by which it is exceeded. Of sentences: the share that is
        short enough.
        """
        if self.kind == "translation":
            return float(self.new in text)
        if self.kind in _EXCHANGES:
            found = [one.lastgroup == "new" for one in _either(self.old, self.new).finditer(text)]
            return sum(found) / len(found) if found else 0.5
        if self.kind in _LENGTHS:
            most = self.number - 1
            return min(1.0, max(0.0, 2 - _count(text, self.kind) / most))
        if self.kind in _SENTENCES:
            short = [_count(one, self.kind) <= self.number for one in pieces(text)]
            return sum(short) / len(short) if short else 1.0
        return float(_MANNERS[self.kind].kept(text))

    def apply(self, text: str) -> str:
        """`text` so changed that it meets it, as far as a rule can, and else as it was.

        Where neither the old words nor, for a translation, another of the packaged table stand in it as words of their
        own, nothing can be changed, and it comes back as it is. A long sentence is parted where it has a joint.
        """
        if self.kind == "translation":
            return text if self.new in text else self._retranslated(text)
        if self.kind in _EXCHANGES:
            return _either(self.old, self.new).sub(self._replace, text)
        if self.kind in _LENGTHS:
            return _cut(text, self.number, self.kind)
        if self.kind in _SENTENCES:
            return "".join(one if _count(one, self.kind) <= self.number else _parted(one) for one in pieces(text))
        return text if self.met(text) == 1 else _MANNERS[self.kind].put_on(text)

    def _retranslated(self, text: str) -> str:
        """`text` with the new translation for the others of the table, where they are words of their own."""
        others = sorted(packaged().get(self.old, ()), key=len, reverse=True)
        if not any(one in text for one in others):
            return text
        bounds = word_bounds(text)
        return re.sub("|".join(others), lambda found: self.new if set(found.span()) <= bounds else found.group(), text)

    def _replace(self, found: re.Match[str]) -> str:
        return found.group() if found.lastgroup == "new" else _cased(found.group(), self.new)


@lru_cache(1024)
def _either(old: str, new: str) -> re.Pattern[str]:
    """Finds the new words, in a group of that name, and else the old ones: new words may hold old ones."""
    return re.compile(f"(?P<new>{_whole(new)})|{_whole(old)}", re.IGNORECASE)


def _whole(phrase: str) -> str:
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    return rf"(?<![\w-]){pattern}(?![\w-])" if phrase.isascii() else pattern


def word_bounds(text: str) -> frozenset[int]:
    """Where the words of a Chinese text begin and end."""
    return frozenset(at for _, start, end in zh_text.words(text) for at in (start, end))


def _cased(found: str, put: str) -> str:
    if found[:1].isupper():
        return put.upper() if len(found) > 1 and found.isupper() else put[:1].upper() + put[1:]
    return put


def _parted(sentence: str) -> str:
    """The sentence as several, at its joints."""
    of = language(sentence)
    between = "\n- " if sentence.startswith("- ") else " " if of == "en" else ""

    def part(found: re.Match[str]) -> str:
        if of == "zh":
            return f"。{between}{'这是因为' if found['because'] else ''}"
        if found["join"]:
            return f".{between}{found['join'].capitalize()} "
        return f".{between}{found['open']}{found['next'].upper()}"

    return sentence if of == "zh" and _OPENING.search(sentence) else _JOINT[of].sub(part, sentence)


def sentence_end(text: str) -> int:
    """Where the first sentence of `text` ends."""
    found = _BOUNDARY.search(text)
    return found.end() if found else len(text)


def _count(text: str, unit: str) -> int:
    return en.count(text) if unit.endswith("words") else zh.count(text)


def _cut(text: str, number: int, unit: str) -> str:
    """The longest beginning of `text` that is short enough and ends with a sentence, or else with a word."""
    if _count(text, unit) < number:
        return text
    ends = [len(one.group().rstrip()) + one.start() for one in _BOUNDARY.finditer(text)]
    ends += [one.start() for one in re.finditer(r"\n+", text)]
    for end in sorted(ends, reverse=True):
        if _count(text[:end], unit) < number and text[:end].strip():
            return text[:end]
    words = list(re.finditer(r"\S+" if unit == "words" else r"\S", text))
    fitting = (one.end() for one in reversed(words) if _count(text[: one.end()], unit) < number)
    return text[: next(fitting, 0)]


def language(text: str) -> Literal["en", "zh"]:
    """The language of an answer: Chinese where there are at least half as many Chinese characters as Latin letters."""
    han = len(re.findall(r"[\u4e00-\u9fff]", text))
    latin = len(re.findall(r"[A-Za-z]", text))
    return "zh" if han and 2 * han >= latin else "en"


def _form(kind: Kind) -> re.Pattern[str]:
    fields = {"new": '(?P<new>[^"]+)', "old": '(?P<old>[^"]+)', "number": r"(?P<number>[0-9]{1,6})"}
    said = re.sub(r"\\\{(\w+)\\\}", lambda found: fields[found.group(1)], re.escape(_SAID[kind]))
    return re.compile(rf"(?:{re.escape(STANDING)}|please )?{said}", re.IGNORECASE)


_FORMS: dict[Kind, re.Pattern[str]] = {kind: _form(kind) for kind in _SAID}


def parse(refutation: str) -> Requirement | None:
    """The requirement that a refutation's words say; None where they say none that is known here."""
    for kind, form in _FORMS.items():
        if found := form.fullmatch(refutation.strip()):
            said = found.groupdict()
            number = int(said.get("number") or 0)
            if kind in _LENGTHS and number < LEAST_LENGTH:
                return None
            return Requirement(kind, said.get("new") or "", said.get("old") or "", number)
    return None


def is_standing(refutation: str) -> bool:
    """Whether a refutation's words say that it holds for later queries too."""
    return refutation.strip().lower().startswith(STANDING.strip().lower())


def same(one: Requirement, other: Requirement) -> bool:
    """Whether both ask for the same: lengths are one wish, whatever the number, and so are those of sentences."""
    if any(one.kind in kinds and other.kind in kinds for kinds in (_LENGTHS, _SENTENCES)):
        return True
    if one.kind in ("word", "phrase") and other.kind in ("word", "phrase"):
        return (one.new.lower(), one.old.lower()) == (other.new.lower(), other.old.lower())
    return one == other


def conflicts(one: Requirement, other: Requirement) -> bool:
    """Whether meeting one can undo the other: they want different things in one place, or one changes what the other
    puts in, or they are opposite manners."""
    if same(one, other):
        return False
    if {one.kind, other.kind} in _OPPOSITES:
        return True
    if (
        one.kind in _EXCHANGES
        and other.kind in _EXCHANGES
        and (_holds(one.old, other.old) or _holds(other.old, one.old))
    ):
        return True
    return _changes(one, other.new) or _changes(other, one.new)


def goes_with(wanted: Requirement, before: Iterable[Requirement]) -> bool:
    """Whether it neither repeats nor contradicts one of those before."""
    return not any(same(wanted, one) or conflicts(wanted, one) for one in before)


def _holds(text: str, words: str) -> bool:
    return re.search(_whole(words), text, re.IGNORECASE) is not None


def _changes(one: Requirement, words: str) -> bool:
    return bool(words) and one.kind not in (*_LENGTHS, *_SENTENCES, "bullets") and one.apply(words) != words


def apply_all(text: str, requirements: Iterable[Requirement]) -> str:
    """`text` with all of them applied: sentences and manner, then words, in the order given, and the length last."""
    order = (_SENTENCES, *((one,) for one in get_args(Manner)), _EXCHANGES, _LENGTHS)
    given = list(requirements)
    for kinds in order:
        for one in (one for one in given if one.kind in kinds):
            text = one.apply(text)
    return text


def of_style(text: str, task: SeedTask) -> list[Requirement]:
    """The requirements of style that fit an answer to such a task and that it meets better when they are applied."""
    of = language(text)
    sentence: SentenceLength = "sentence words" if of == "en" else "sentence characters"
    found = [Requirement(kind) for kind in _MANNERS]
    longest = max((_count(one, sentence) for one in pieces(text)), default=0)
    found += [Requirement(sentence, number=most) for most in SENTENCES[sentence] if longest > most][:1]
    ends = [*accumulate(len(one) for one in pieces(text))][:-1]
    unit: Length = "words" if of == "en" else "characters"
    numbers = ((_count(text[:end], unit) // LENGTH_STEP + 2) * LENGTH_STEP for end in reversed(ends))
    most = SHORTER * _count(text, unit)
    found += [Requirement(unit, number=max(one, LEAST_LENGTH)) for one in numbers if max(one, LEAST_LENGTH) <= most][:1]
    if _CONTRACTION.search(_QUOTED.sub("", text)) is None:
        found.remove(Requirement("contractions"))
    fitting = (one for one in found if task in _TASKS_OF.get(one.kind, TASKS))
    return [one for one in fitting if one.met(one.apply(text)) > one.met(text)]
