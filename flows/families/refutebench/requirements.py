"""Plain requirements of an answer: said in a sentence, understood from it, checked and applied without a model.

Words are found as whole words in English whatever their case, and as stretches of characters in Chinese. A ban (no
exclamation marks) is kept or broken; of a word it is told how many of its places are as required; a length is missed by
more or less.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from flows.families.refutebench.lexicon import packaged
from flows.language import en, zh, zh_text
from schemas.refutebench import Focus, SeedTask

Ban = Literal[
    "exclamation marks", "semicolons", "contractions", "familiar you", "brackets",
    "quotation marks", "lines",
]  # fmt: skip
Exchange = Literal["word", "phrase", "quoted", "quoted phrase", "translation"]
Length = Literal["words", "characters"]
Frame = Literal["opening", "heading", "closing"]
Kind = Exchange | Ban | Length | Frame

LEAST_LENGTH = 20
"""Words or characters that an answer can be asked to be shorter than, at least: openings and headings fit in."""
LENGTH_STEP = 5
STANDING = "From now on, "
"""What a requirement begins with that is to hold for later queries too."""
_SAID: dict[Kind, str] = {
    "word": 'use the word "{new}" instead of "{old}".',
    "phrase": 'say "{new}" where it says "{old}".',
    "quoted": 'put the word "{new}" in quotation marks.',
    "quoted phrase": 'put the phrase "{new}" in quotation marks.',
    "translation": 'the word "{old}" should be translated as "{new}".',
    "words": "keep the whole text shorter than {number} words.",
    "characters": "keep the whole text shorter than {number} Chinese characters and signs.",
    "exclamation marks": "calm down and do not use exclamation marks.",
    "semicolons": "do without semicolons.",
    "contractions": "be more formal and write contractions out in full.",
    "familiar you": "address the reader politely: 您 and never 你.",
    "brackets": "put nothing in brackets.",
    "quotation marks": "drop all quotation marks.",
    "lines": "begin a new line with each sentence.",
    "opening": 'open with the words "{new}"',
    "heading": 'put a heading above it that reads "{new}"',
    "closing": 'finish with a last line that reads "{new}"',
}
_QUOTED = ("quoted", "quoted phrase")
_EXCHANGES: tuple[Exchange, ...] = get_args(Exchange)
_LENGTHS: tuple[Length, ...] = get_args(Length)
_FRAMES: tuple[Frame, ...] = get_args(Frame)
_HEADING = re.compile(r"# [^\n]*(?:\n+|$)")
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
_QUOTES = re.compile('["“”「」『』]')


class _Rule(NamedTuple):
    """What a ban forbids, and what is put there."""

    forbids: re.Pattern[str]
    puts: Callable[[re.Match[str]], str]


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
    if bracket in ")）" and found.string[found.end() :][:1] in tuple(".,;:!?。，；：！？"):
        return ""
    return {"(": " – ", "（": "——", ")": " –", "）": "——"}[bracket]


def _broken(found: re.Match[str]) -> str:
    return found.group().rstrip(" \t") + "\n"


_BANS: dict[Kind, _Rule] = {
    "exclamation marks": _Rule(re.compile("[!！]+"), _calm),
    "semicolons": _Rule(re.compile("[;；]"), lambda found: "," if found.group() == ";" else "，"),
    "contractions": _Rule(_CONTRACTION, _written_out),
    "familiar you": _Rule(re.compile("你们?"), lambda found: "您" if found.group() == "你" else "各位"),
    "brackets": _Rule(
        re.compile(r" ?[(（]|[)）]"),
        _dashed,
    ),
    "quotation marks": _Rule(_QUOTES, lambda found: ""),
    "lines": _Rule(_BOUNDARY, _broken),
}


@dataclass(frozen=True)
class Requirement:
    """What an answer is to be like.

    `new` are the words that are asked for, `old` those that they stand in for; of a translation the translation and the
    English word; what is to be quoted is `new`. `number` is the length that is not to be reached, at least
    `LEAST_LENGTH`. No words hold a straight double quotation mark.
    """

    kind: Kind
    new: str = ""
    old: str = ""
    number: int = 0

    @property
    def focus(self) -> Focus:
        """What it is about."""
        if self.kind in ("word", "quoted", "translation"):
            return "word usage"
        return "phrase usage" if self.kind in ("phrase", "quoted phrase") else "style"

    @property
    def replaced(self) -> str:
        """The words that have to give way; empty where none has."""
        return self.new if self.kind in _QUOTED else self.old

    @property
    def put(self) -> str:
        """The words that are to stand there; empty where none are."""
        return f"“{self.new}”" if self.kind in _QUOTED else self.new

    def in_words(self, standing: bool = False) -> str:
        """The requirement as a sentence; `standing`: one that holds for later queries too."""
        said = _SAID[self.kind].format(new=self.new, old=self.old, number=self.number)
        if standing:
            return STANDING + said
        return f"Please {said}" if self.kind != "translation" else f"T{said[1:]}"

    def met(self, text: str) -> float:
        """How far `text` meets it, from 0 to 1.

        Of words: the share of their places that have the new ones, one half where neither stands. Of a translation and
        of a ban: 1 or 0. Of a length: 1 less the share by which it is exceeded.
        """
        if self.kind == "translation":
            return float(self.new in text)
        if self.kind in ("word", "phrase", *_QUOTED):
            found = [one.lastgroup == "new" for one in _either(self.replaced, self.put).finditer(text)]
            return sum(found) / len(found) if found else 0.5
        if self.kind in _LENGTHS:
            most = self.number - 1
            return min(1.0, max(0.0, 2 - _count(text, self.kind) / most))
        if self.kind in _FRAMES:
            return float(self._frames(text))
        return float(_BANS[self.kind].forbids.search(text) is None)

    def apply(self, text: str) -> str:
        """`text` so changed that it meets it, and else as it was.

        Where neither the old words nor, for a translation, another of the packaged table stand in it as words of their
        own, nothing can be changed, and it comes back as it is.
        """
        if self.kind == "translation":
            return text if self.new in text else self._retranslated(text)
        if self.kind in ("word", "phrase", *_QUOTED):
            return _either(self.replaced, self.put).sub(self._replace, text)
        if self.kind in _LENGTHS:
            return _cut(text, self.number, self.kind)
        if self.kind in _FRAMES:
            return text if self._frames(text) else self._framed(text)
        rule = _BANS[self.kind]
        return rule.forbids.sub(rule.puts, text)

    def _retranslated(self, text: str) -> str:
        """`text` with the new translation for the others of the table, where they are words of their own."""
        others = sorted(packaged().get(self.old, ()), key=len, reverse=True)
        if not any(one in text for one in others):
            return text
        bounds = word_bounds(text)
        return re.sub("|".join(others), lambda found: self.new if set(found.span()) <= bounds else found.group(), text)

    def _replace(self, found: re.Match[str]) -> str:
        if found.lastgroup == "new":
            return found.group()
        return f"“{found.group()}”" if self.kind in _QUOTED else _cased(found.group(), self.new)

    def _frames(self, text: str) -> bool:
        if self.kind == "heading":
            return re.match(rf"# {re.escape(self.new)}(?:\n|$)", text) is not None
        if self.kind == "opening":
            return _body(text).startswith(self.new)
        return text.rstrip().rpartition("\n")[2] == self.new

    def _framed(self, text: str) -> str:
        body = _body(text)
        if self.kind == "heading":
            return f"# {self.new}\n\n{body}"
        if self.kind == "opening":
            space = " " if self.new.isascii() else ""
            return f"{text[: len(text) - len(body)]}{self.new}{space}{body}"
        return f"{text.rstrip()}\n{self.new}"


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


def _body(text: str) -> str:
    """The text below its heading."""
    heading = _HEADING.match(text)
    return text[heading.end() :] if heading else text


def sentence_end(text: str) -> int:
    """Where the first sentence of `text` ends."""
    found = _BOUNDARY.search(text)
    return found.end() if found else len(text)


def _count(text: str, unit: str) -> int:
    return en.count(text) if unit == "words" else zh.count(text)


def _cut(text: str, number: int, unit: str) -> str:
    """The longest beginning of `text` that is short enough and ends with a sentence, or else with a word."""
    if _count(text, unit) < number:
        return text
    ends = [len(one.group().rstrip()) + one.start() for one in _BOUNDARY.finditer(text)]
    ends += [one.start() for one in re.finditer(r"\n+", text)]
    for end in sorted(ends, reverse=True):
        if _count(text[:end], unit) < number and _body(text[:end]).strip():
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
    """Whether both ask for the same: lengths are one wish, whatever the number."""
    if one.kind in _LENGTHS and other.kind in _LENGTHS:
        return True
    if one.kind in ("word", "phrase") and other.kind in ("word", "phrase"):
        return (one.new.lower(), one.old.lower()) == (other.new.lower(), other.old.lower())
    return one == other


def conflicts(one: Requirement, other: Requirement) -> bool:
    """Whether meeting one can undo the other: they want different things in one place, or one changes what the other
    puts in, or shortens what it closes."""
    if same(one, other):
        return False
    kinds = {one.kind, other.kind}
    if "closing" in kinds and kinds & {"words", "characters"}:
        return True
    if one.kind == other.kind and one.kind in _FRAMES:
        return True
    if (
        one.kind in _EXCHANGES
        and other.kind in _EXCHANGES
        and (_holds(one.replaced, other.replaced) or _holds(other.replaced, one.replaced))
    ):
        return True
    return _changes(one, other.put) or _changes(other, one.put)


def goes_with(wanted: Requirement, before: Iterable[Requirement]) -> bool:
    """Whether it neither repeats nor contradicts one of those before."""
    return not any(same(wanted, one) or conflicts(wanted, one) for one in before)


def _holds(text: str, words: str) -> bool:
    return re.search(_whole(words), text, re.IGNORECASE) is not None


def _changes(one: Requirement, words: str) -> bool:
    return bool(words) and one.kind not in (*_LENGTHS, *_FRAMES) and one.apply(words) != words


def apply_all(text: str, requirements: Iterable[Requirement]) -> str:
    """`text` with all of them applied: marks and form first, then words, in the order given, and the length last."""
    order: Sequence[tuple[str, ...]] = (get_args(Ban), _FRAMES, _EXCHANGES, _LENGTHS)
    given = list(requirements)
    for kinds in order:
        for one in (one for one in given if one.kind in kinds):
            text = one.apply(text)
    return text


_OPENINGS = {
    "en": {"translation": "In translation:", "summarisation": "In short:", "writing": "Here it is:"},
    "zh": {"translation": "译文如下：", "summarisation": "简而言之：", "writing": "正文如下："},
}
_HEADINGS = {
    "en": {"translation": "Translation", "summarisation": "Summary", "writing": "Draft"},
    "zh": {"translation": "译文", "summarisation": "摘要", "writing": "正文"},
}
_CLOSINGS = {
    "en": {
        "translation": "End of the text.",
        "summarisation": "That is the gist.",
        "writing": "Thank you for reading.",
    },
    "zh": {"translation": "全文完。", "summarisation": "以上是要点。", "writing": "感谢阅读。"},
}


def of_style(text: str, task: SeedTask) -> list[Requirement]:
    """The requirements of style that fit an answer to such a task and that it does not meet."""
    of = language(text)
    found = [Requirement(kind) for kind in _BANS]
    found += [
        Requirement("opening", _OPENINGS[of][task]),
        Requirement("heading", _HEADINGS[of][task]),
        Requirement("closing", _CLOSINGS[of][task]),
    ]
    ends = [one.end() for one in _BOUNDARY.finditer(text)]
    # A translation cannot lose a sentence.
    if ends and task != "translation":
        unit: Length = "words" if of == "en" else "characters"
        kept, whole = _count(text[: ends[-1]], unit), _count(text, unit)
        number = min(whole, (kept // LENGTH_STEP + 2) * LENGTH_STEP)
        if number >= LEAST_LENGTH:
            found.append(Requirement(unit, number=number))
    return [one for one in found if one.met(text) < 1]
