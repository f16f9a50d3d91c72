"""What ReEval's perturbed evidence must meet: the paper states the aim, the checks are ours."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Protocol

from rapidfuzz.distance import Levenshtein, Opcode, Postfix, Prefix

from flows.families.reeval.filters import LANGUAGES, MOST_CHARACTERS
from flows.language import Language, Mention, language_of
from flows.language.agreement import WORD, contradiction, foreign_number, unexplained
from flows.language.choices import is_choice
from flows.language.pointing import leans_on_what_is_asked, points_outside, unlinked
from flows.language.quotes import holds, same, stretch_of, tokens_of
from flows.language.titles import page_name
from flows.llm.model import Problem
from schemas.base import odd_character
from schemas.reeval import AnswerPosition, Edit

MOST_UNEXPLAINED, MOST_UNEXPLAINED_WORDS = 0.02, 6
"""Share of the evidence's words that may change though the swap does not explain it, and how many at the most."""
MOST_CONDENSED = 0.5
"""Length of a condensed text, as a share of the passages'."""
LEAST_SUPPORT = 0.8
"""Share of the supporting sentence's content words that must stand together in the new evidence."""
LEAST_KNOWN = 0.6
"""Share of the content words of each sentence, condensed or merged, that stand in what it was made of."""
_SHOWN = 8
"""Words of a passage by which a complaint tells what a condensed text lacks."""
LEAST_DRAWN = 3
"""Content words of a passage alone that a condensed text must hold, so that it draws on each."""
RIVAL_ABOVE, UNSURE_ABOVE = 0.6, 0.4
"""Shares of the question's content words in a sentence that names something of the answer's type: above the
first it may well answer the question otherwise; above the second it is for people to look at."""

_MARKUP = re.compile(r"<[^<>]*>|\[/?\w+\]")
_HAN = re.compile(r"[㐀-鿿豈-﫿]")


# ---- category 1 ----


class Answered(Protocol):
    """A question with its answer and evidence."""

    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...
    @property
    def evidence(self) -> str: ...
    @property
    def language(self) -> str: ...


def alternative_problem(case: Answered, alternative: str) -> Problem:  # noqa: PLR0911 - one for each requirement
    """Why `alternative` cannot take the place of the answer.

    It is short, names something else than the answer or its aliases, of which each has a word that the other has not
    ("South Goa" for "North Goa"), and stands neither in the evidence nor in the question, unless that asks which
    of the two it is. What the question names too stays in it ("Goa"). A number takes the place of a number alone, a
    date that of a date.
    """
    language, limits = language_of(case.language), LANGUAGES[case.language]
    found = _MARKUP.search(alternative)
    if (unfit := found[0] if found else odd_character(alternative)) is not None:
        return "alternative is no plain text", f"{unfit!r} must not stand in it"
    if case.language == "en" and _HAN.search(alternative) and not _HAN.search(case.evidence):
        return "alternative in another script", f"{alternative!r} must be in the language of the passage"
    if not any(character.isalnum() for character in alternative):
        return "no alternative answer", "it has no letter and no digit"
    if _NO_ANSWER.fullmatch(alternative.strip(" .!。！")):
        return "no alternative answer", f"{alternative!r} names nothing: leave it empty where no other answer fits"
    if language.count(alternative) > limits.most_answer or len(alternative) > MOST_CHARACTERS:
        return "alternative answer too long", f"{alternative!r} has over {limits.most_answer} {limits.unit}"
    kinds = [language.answer_type(one, case.question) for one in (case.answer, alternative)]
    counted = kinds[0] in ("number", "date")
    if (counted or kinds[1] in ("number", "date")) and kinds[0] != kinds[1]:
        return "alternative of another type", f"{alternative!r} is a {kinds[1]}, {case.answer!r} a {kinds[0]}"
    for name in (case.answer, *case.aliases):
        if _names_the_same(language, name, alternative, counted=counted):
            return "alternative overlaps the answer", f"{alternative!r} may be another name of {name!r}"
    if (named := _named_in_question(case, alternative)) is not None:
        return "alternative without what the question names", f"{named!r} stands in the question too: it is to stay"
    if case.language == "zh" and _SPACED.search(alternative) and not _SPACED.search(case.answer):
        return "alternative of another form", f"{alternative!r} has blanks between Chinese characters"
    if language.contains(case.question, alternative) and not is_choice(case.language, case.question, case.answer):
        return "question gives the alternative away", f"{alternative!r} stands in the question"
    if language.contains(case.evidence, alternative):
        return "alternative already in the evidence", f"{alternative!r} stands in the passage"
    return None


def _named_in_question(case: Answered, alternative: str) -> str | None:
    """A word of a name that answer and question have in common and the alternative has not; in Chinese a stretch."""
    if case.language == "zh":
        question, answer = case.question, case.answer
        found = SequenceMatcher(None, answer, question, autojunk=False).find_longest_match()
        shared = answer[found.a : found.a + found.size]
        return shared if found.size >= LEAST_SHARED and _HAN.match(shared) and shared not in alternative else None
    words = language_of(case.language).content_words
    own, asked = map(_NAME_WORD.findall, (case.answer, case.question))
    kept = words(alternative)
    return next((word for word in own if word in asked and words(word) and not words(word) <= kept), None)


_NAME_WORD = re.compile(r"[A-ZÀ-Þ][^\W\d_]{2,}")
LEAST_SHARED = 3
"""Characters that a Chinese answer and its question have in common, from which on they name one thing."""

_NO_ANSWER = re.compile(
    r"none|nothing|nobody|no one|nowhere|never|unknown|n/?a|not (?:applicable|known|available|stated)|"
    r"(?:i )?do(?:n['’]?t| not) know|(?:there is )?no (?:other )?answer|true|false|yes|no|it|he|she|they|this|that|"
    r"无|没有|未知|不知道|不详|不明|是|否|他|她|它",
    re.IGNORECASE,
)
"""What stands where an answer is not had; yes and no are the answers of other questions than ours."""

_SPACED = re.compile(r"[㐀-鿿豈-﫿]\s+[㐀-鿿豈-﫿]")


def _names_the_same(language: Language, name: str, alternative: str, *, counted: bool) -> bool:
    """Whether two answers may mean one thing: one holds or names the other, or adds no word that tells them apart."""
    if language.contains(name, alternative) or language.contains(alternative, name):
        return True
    named = [*language.mentions(alternative, name), *language.mentions(name, alternative)]
    one, other = language.content_words(name), language.content_words(alternative)
    if _JOINED.fullmatch(name) and _JOINED.fullmatch(alternative) and one - other and other - one:
        return False  # "Assyrian–American" for "Armenian–American": each has a word of its own
    if any(not counted or mention.form == "full" for mention in named):
        return True
    return not counted and bool(one and other) and (one <= other or other <= one)


_JOINED = re.compile(r"[^\W\d_]+(?:[-‐‑–/][^\W\d_]+)+")
"""A compound of several words with a hyphen, a dash or a slash."""


def swap_problem(  # noqa: PLR0911 - one for each requirement
    language_code: str, old: str, answer: str, aliases: Sequence[str], alternative: str, new: str
) -> Problem:
    """Why `new`, as `restored` gives it, is not the evidence `old` with `alternative` in the answer's place."""
    language = language_of(language_code)
    if not holds(language, new, alternative):
        return "new answer is not in the new evidence", f"the passage must hold {alternative!r}"
    if left := left_over(language, new, answer, aliases, alternative):
        return "old answer is left in the new evidence", f"replace {left!r} as well"
    if (odd := _new_signs(old, new)) is not None:
        return "evidence changed beyond the answer", f"leave line breaks and blanks as they were: {odd!r}"
    compared = compare(language_code, old, answer, aliases, new)
    if not compared.replacements:
        return "nothing was replaced", f"replace every mention of {answer!r}"
    names = " ".join((answer, *aliases))
    edits = [*compared.replacements, *compared.agreement]
    beyond = {edit: unexplained(language_code, edit.old, edit.new, names, alternative) for edit in edits}
    if sum(beyond.values()) > min(MOST_UNEXPLAINED * compared.tokens, MOST_UNEXPLAINED_WORDS):
        shown = "; ".join(f"{edit.new!r} was {edit.old!r}" for edit in edits if beyond[edit])
        return (
            "evidence changed beyond the answer",
            f"{alternative!r} does not ask for these changes, undo them: {shown}",
        )
    if (number := foreign_number(((edit.old, edit.new) for edit in edits), names, alternative)) is not None:
        return "evidence changed beyond the answer", f"{number!r} is none of the answer's numbers: leave it as it was"
    if (wrong := contradiction(language_code, new, answer, alternative)) is not None:
        return (
            "passage does not agree with the new answer",
            f"in {wrong.place!r}, {wrong.word!r} does not fit {alternative!r}: write {wrong.should!r}",
        )
    return language_problem(language, new, alternative)


def _new_signs(old: str, new: str) -> str | None:
    """A sign that nobody reads and that came with a rewrite: a control or format character, a blank, a line break."""
    for sign in sorted(one for one in set(new) - {" "} if one.isspace() or odd_character(one)):
        if new.count(sign) > old.count(sign):
            return sign
    return "  " if new.count("  ") > old.count("  ") else None


def left_over(language: Language, text: str, answer: str, aliases: Sequence[str], alternative: str) -> str | None:
    """A mention of the old answer that is no part of a mention of the new one."""
    old = language.mentions(text, answer, aliases)
    if not old:
        return None
    new = language.mentions(text, alternative)
    for mention in old:
        if not any(one.start <= mention.start and mention.end <= one.end for one in new):
            return text[mention.start : mention.end]
    return None


_ARTICLE = re.compile(r"\b([Aa]n?)\s+$")


def language_problem(language: Language, text: str, alternative: str) -> Problem:
    """Where the word before a mention of the new answer does not agree with it."""
    article_of: Callable[[str], str] | None = getattr(language, "article", None)
    if article_of is None:
        return None
    for mention in language.mentions(text, alternative):
        found = _ARTICLE.search(text, max(0, mention.start - 4), mention.start)
        if found and found[1].lower() != article_of(text[mention.start : mention.end]):
            return "article does not agree", f"{found[1]} {text[mention.start : mention.end]}"
    return None


@dataclass(frozen=True)
class Compared:
    """Two versions of an evidence side by side."""

    replacements: tuple[Edit, ...]
    """Mentions of the old answer, with what stands in their place."""
    agreement: tuple[Edit, ...]
    """All other differences."""
    tokens: int
    """Words and signs of the old evidence."""


@lru_cache(maxsize=64)
def compare(language_code: str, old: str, answer: str, aliases: tuple[str, ...], new: str) -> Compared:
    """What differs between two versions of an evidence: at the answer's mentions, and elsewhere."""
    mentions = language_of(language_code).mentions(old, answer, aliases)
    start, end, to_end = _differing(old, new, mentions)
    before, after = list(WORD.finditer(old, start, end)), list(WORD.finditer(new, start, to_end))
    mentions = [mention for mention in mentions if start <= mention.start and mention.end <= end]
    blocks = _blocks(before, after, mentions)
    replacements: list[Edit] = []
    agreement: list[Edit] = []
    for is_mention, start, end, to_start, to_end in blocks:
        edit = Edit(old=_stretch(old, before, start, end), new=_stretch(new, after, to_start, to_end))
        (replacements if is_mention else agreement).append(edit)
    return Compared(tuple(replacements), tuple(agreement), len(WORD.findall(old)))


def restored(old: str, new: str) -> str:
    """A rewritten evidence, its blanks, line breaks, quotation marks and dashes as before wherever it says the same.

    Models set a text anew: they straighten quotation marks, and take out the blanks of tokenised text.
    """
    before, after = tokens_of(old), tokens_of(new)
    ours = {
        one.dest_start + step: one.src_start + step
        for one in Levenshtein.opcodes(*([same(token[0]) for token in side] for side in (before, after)))
        if one.tag == "equal"
        for step in range(one.src_end - one.src_start)
    }

    def gap(tokens: Sequence[re.Match[str]], text: str, place: int) -> str:
        start = tokens[place - 1].end() if place else 0
        return text[start : tokens[place].start() if place < len(tokens) else len(text)]

    pieces = []
    for place in range(len(after) + 1):
        last, this = ours.get(place - 1, -1 if place == 0 else None), ours.get(place)
        this = len(before) if place == len(after) else this
        blank = gap(after, new, place)
        if last is not None and this == last + 1:
            blank = gap(before, old, this)
        elif blank:
            near = (
                gap(before, old, this) if this is not None else gap(before, old, last + 1) if last is not None else ""
            )
            blank = near or blank
        pieces.append(blank)
        if place < len(after):
            pieces.append(after[place][0] if this is None else before[this][0])
    return "".join(pieces)


def _differing(old: str, new: str, mentions: Sequence[Mention]) -> tuple[int, int, int]:
    """Where the texts begin to differ, and where in each they are the same again: between words, outside mentions."""
    start = old.rfind(" ", 0, int(Prefix.similarity(old, new))) + 1
    start = min([start, *(one.start for one in mentions if one.start < start < one.end)])
    same = int(Postfix.similarity(old[start:], new[start:]))
    end = old.find(" ", len(old) - same)
    end = len(old) if end < 0 else max([end, *(one.end for one in mentions if one.start < end < one.end)])
    return start, end, len(new) - (len(old) - end)


def _blocks(
    before: Sequence[re.Match[str]], after: Sequence[re.Match[str]], mentions: Sequence[Mention]
) -> Iterator[tuple[bool, int, int, int, int]]:
    """(of a mention, start, end, start and end in the new text) of every difference, in tokens and in order.

    A mention of which anything differs is one difference as a whole, with all that differs beside it.
    """
    opcodes = list(Levenshtein.opcodes([token.group() for token in before], [token.group() for token in after]))
    spans = [_tokens_of(before, mention) for mention in mentions]
    found: list[tuple[bool, int, int, int, int]] = []
    for start, end, to_start, to_end in _edits(opcodes):
        block = False, start, end, to_start, to_end
        for first, last in spans:
            inserted_beside = start == end and first <= start <= last
            if first < last and (inserted_beside or (start < last and first < end)):
                begin, finish = _aligned(opcodes, first)[0], _aligned(opcodes, last - 1)[1]
                block = True, min(start, first), max(end, last), min(to_start, begin), max(to_end, finish)
        if found and found[-1][0] == block[0] and block[1] <= found[-1][2] and block[3] <= found[-1][4]:
            one = found.pop()
            block = one[0], min(one[1], block[1]), max(one[2], block[2]), min(one[3], block[3]), max(one[4], block[4])
        found.append(block)
    yield from found


def _edits(opcodes: Sequence[Opcode]) -> Iterator[tuple[int, int, int, int]]:
    """What differs, token by token: start and end in the old text, start and end in the new."""
    for one in opcodes:
        start, end, to_start, to_end = one.src_start, one.src_end, one.dest_start, one.dest_end
        if one.tag == "equal":
            continue
        shared = min(end - start, to_end - to_start)
        yield from ((start + step, start + step + 1, to_start + step, to_start + step + 1) for step in range(shared))
        yield from ((token, token + 1, to_end, to_end) for token in range(start + shared, end))
        if to_start + shared < to_end:
            yield end, end, to_start + shared, to_end


def _aligned(opcodes: Sequence[Opcode], token: int) -> tuple[int, int]:
    """Start and end in the new text of what stands for a token of the old."""
    one = next(one for one in opcodes if one.src_start <= token < one.src_end)
    place = min(one.dest_start + token - one.src_start, one.dest_end)
    return place, min(place + 1, one.dest_end)


def _tokens_of(tokens: Sequence[re.Match[str]], mention: Mention) -> tuple[int, int]:
    """Places of the first token of a mention and of the first after it."""
    start = bisect_right(tokens, mention.start, key=lambda token: token.end())
    return start, bisect_left(tokens, mention.end, key=lambda token: token.start())


def _stretch(text: str, tokens: Sequence[re.Match[str]], start: int, end: int) -> str:
    return text[tokens[start].start() : tokens[end - 1].end()] if start < end else ""


_STRETCHES = re.compile(r"[㐀-鿿豈-﫿]|[^㐀-鿿豈-﫿]+")


def answer_position(language_code: str, evidence: str, answer: str) -> AnswerPosition | None:
    """Third of the evidence, in characters, in which the answer starts; None unless it occurs once (table 14).

    White space beside a Chinese character says nothing: "1944 年" stands in "1944年".
    """
    folded = evidence.casefold()
    stretches = [one.strip() for one in _STRETCHES.findall(answer.casefold())]
    wanted = r"\s*".join(re.escape(one) for one in stretches if one)
    places = [found.start() for found in re.finditer(wanted, folded)]
    if len(places) != 1:
        return None
    share = places[0] / len(folded)
    return "first" if share < 1 / 3 else "middle" if share < 2 / 3 else "last"


# ---- category 2 ----


def before(language_code: str, evidence: str, sentence: str) -> str:
    """The sentence that stands before `sentence` in the evidence; empty where it is the first."""
    sentences = language_of(language_code).sentences(evidence)
    place = next((place for place, one in enumerate(sentences) if sentence in one or one in sentence), 0)
    return sentences[place - 1] if place else ""


def sentence_problem(language_code: str, evidence: str, answer: str, quoted: str) -> Problem:
    """Why `quoted` quotes no sentence of the evidence that holds the answer. Empty, it says that none supports it."""
    language = language_of(language_code)
    if not quoted.strip():
        return None
    sentence = stretch_of(evidence, quoted)
    if sentence is None:
        return (
            "supporting sentence is not in the evidence",
            f"the passage nowhere has {quoted!r}: copy the sentence as it stands there",
        )
    if not _is_one_sentence(language, sentence):
        found = language.sentences(sentence)
        return "supporting sentence is not one sentence", f"these are {len(found)}: {' | '.join(found)}: copy one"
    if not holds(language, sentence, answer):
        return "supporting sentence lacks the answer", f"{sentence!r} does not hold {answer!r}, word for word"
    return None


def _is_one_sentence(language: Language, text: str) -> bool:
    """Whether a text is no more than one sentence; an English semicolon ends none, wherever texts are cut else."""
    found = language.sentences(text)
    english = language is language_of("en")
    return bool(found) and (len(found) == 1 or (english and all(one.endswith(";") for one in found[:-1])))


def may_lean(language_code: str, sentence: str) -> bool:
    """Whether a sentence has any word that may stand for something named before it."""
    return _LEANING[language_code].search(sentence) is not None or points_outside(language_code, sentence) is not None


_LEANING = {
    "en": re.compile(
        r"\b(?:he|him|his|she|hers?|it|its|they|them|their|theirs|this|these|those|such|former|latter)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"[他她它该此这那其]"),
}


def short_name(language_code: str, sentence: str, title: str | None) -> re.Match[str] | None:
    """Where a sentence calls the person whom its page is about by the last name alone, as texts do that go on."""
    name = page_name(title)
    language, last = language_of(language_code), name.rpartition(" ")[2]
    if language_code != "en" or " " not in name or language.contains(sentence, name):
        return None
    if language.answer_type(name) != "person":
        return None
    for found in re.finditer(rf"(?<![\w-]){re.escape(last)}(?![\w-]|\s+[A-Z])", sentence):
        word = sentence[: found.start()].rpartition(" ")[0].rpartition(" ")[2] if found.start() else ""
        if not word[:1].isupper() or not language.content_words(word):  # not "Robert Schumann" for Clara
            return found
    return None


def is_asked_about(language_code: str, question: str, leaning: str, title: str | None) -> bool:
    """Whether a bare definite is what the question names, or the page is of: "The marathon" of the page "Marathon"."""
    page = page_name(title)
    if language_code == "zh":
        return len(leaning) > 1 and leaning in f"{question} {page}"  # 辐射, a noun that begins like a verb
    language = language_of(language_code)
    said = language.content_words(leaning)
    return leaning.lower().startswith("the ") and (
        said <= language.content_words(question) or said == language.content_words(page)
    )


_MAY_GO = {
    "en": re.compile(
        r"^[A-Z][\w'’-]*(?: [\w'’-]+){0,3}:(?= [A-Z])|"
        r"^(?:Apart from|Besides|In addition to|In contrast to|Like|Unlike) [^,.;:]{1,60},|"
        r"\b(?i:again|also|another|earlier|eventually|finally|further|however|instead|later|other|similarly|unlike)\b"
    ),
    "zh": re.compile(
        r"^[^，。：；]{1,8}：|^(?:不同于|与|和|除)[^，。；]{1,20}，|另一个?|另外|其他|然而|最终|后来|此外|还"
    ),
}
"""What a sentence may lose that is to stand alone: a heading, a comparison with what stood before it, a link to it."""


def resolved_problem(
    language_code: str,
    question: str,
    sentence: str,
    answer: str,
    resolved: str,
    title: str | None = None,
    evidence: str = "",
) -> Problem:
    """Why `resolved` does not say on its own what `sentence` of the evidence says; `title` is that of their page."""
    language = language_of(language_code)
    leaning = points_outside(language_code, resolved)
    if leaning is not None and not is_asked_about(language_code, f"{question} {answer}", leaning, title):
        return "supporting sentence cannot be understood alone", f"say by name who or what {leaning!r} is"
    if (vague := leans_on_what_is_asked(language_code, question, answer, resolved, title)) is not None:
        return (
            "supporting sentence cannot be understood alone",
            f"{vague!r} means something that the sentence does not name: name it, and what the question is about",
        )
    if not holds(language, resolved, answer):
        return "resolved sentence lacks the answer", f"the sentence must still hold {answer!r}"
    said = language.content_words(sentence)
    may_go = " ".join(found[0] for found in _MAY_GO[language_code].finditer(sentence))
    lost = said - language.content_words(f"{resolved} {may_go}")
    if len(said) - len(lost) < LEAST_SUPPORT * len(said):
        return "resolved sentence says something else", f"keep its words: {', '.join(sorted(lost))}"
    return _unknown_problem(language, resolved, (sentence, evidence, title or "", question))


_ENDS = re.compile(r"[.!?。！？．…][\"'”’）)」』\]]*$")
_STARTS = re.compile(r"^[\"'“‘(（「『]*[A-Z0-9À-Þ㐀-鿿豈-﫿]")


def is_whole(sentence: str) -> bool:
    """Whether it begins and ends as a sentence does: passages are cut anywhere, and lists have none."""
    return bool(_STARTS.search(sentence) and _ENDS.search(sentence))


def opening(language_code: str, passage: str, title: str | None) -> int | None:
    """Place of the passage's first sentence that is whole and stands on its own; None where there is none.

    It has at most half of the passage's length, or the passage could not be condensed. A passage is of its page's
    title: a sentence that has less than half of it does not say what it speaks of.
    """
    language = language_of(language_code)
    most = MOST_CONDENSED * language.count(passage)
    for place, sentence in enumerate(language.sentences(passage)):
        if is_whole(sentence) and language.count(sentence) <= most and _stands_alone(language_code, sentence, title):
            return place if place == 0 or not may_lean(language_code, sentence) else None
    return None


def _stands_alone(language_code: str, sentence: str, title: str | None) -> bool:
    """Whether a sentence names the page that it is from, and leans on nothing else ("The cheetah" is the Cheetah)."""
    language = language_of(language_code)
    titled = language.content_words(page_name(title))
    if titled and 2 * len(titled & language.content_words(sentence)) < len(titled):
        return False
    leaning = points_outside(language_code, sentence)
    return leaning is None or (leaning.startswith("The ") and language.content_words(leaning) <= titled)


def most_condensed(language_code: str, passages: Sequence[str]) -> int:
    """How long a text may be that the passages are condensed into."""
    return int(MOST_CONDENSED * sum(map(language_of(language_code).count, passages)))


def condensed_problem(language_code: str, passages: Sequence[str], condensed: str) -> Problem:
    """Why `condensed` does not condense the passages: it is too long, leaves one out, or begins with a pronoun."""
    language = language_of(language_code)
    length, most = language.count(condensed), most_condensed(language_code, passages)
    if not 0 < length <= most:
        unit = LANGUAGES[language_code].unit
        return "condensed text has the wrong length", f"it has {length} {unit}, which should be 1 to {most}"
    if (undrawn := _undrawn_problem(language, passages, condensed)) is not None:
        return undrawn
    if (leaning := begins_leaning(language_code, condensed)) is not None:
        return "condensed text cannot be understood alone", f"say by name who or what {leaning!r} is at its start"
    return _unknown_problem(language, condensed, passages)


def _undrawn_problem(language: Language, passages: Sequence[str], text: str) -> Problem:
    """Which of the passages a text made of them says nothing of."""
    said = language.content_words(text)
    words = [language.content_words(passage) for passage in passages]
    for place, own in enumerate(words):
        alone = own.difference(*(other for at, other in enumerate(words) if at != place))
        if len(said & alone) < min(LEAST_DRAWN, len(alone)):
            lacking = ", ".join(sorted(alone - said)[:_SHOWN])
            return (
                "condensed text leaves a passage out",
                f"of the words that passage {place + 1} alone has it holds {len(said & alone)}, not "
                f"{min(LEAST_DRAWN, len(alone))}: say something of {lacking}",
            )
    return None


def begins_leaning(language_code: str, text: str) -> str | None:
    """The pronoun that a text begins with, where nothing in its first sentence tells who or what it is."""
    first = next(iter(language_of(language_code).sentences(text)), "")
    return points_outside(language_code, first) if _LEANING[language_code].match(first) else None


def _unknown_problem(language: Language, text: str, sources: Sequence[str]) -> Problem:
    """A sentence of `text` of which the sources say too little for it to come from them."""
    known = frozenset().union(*map(language.content_words, sources))
    for sentence in language.sentences(text):
        said = language.content_words(sentence)
        if len(said & known) < LEAST_KNOWN * len(said):
            return "text adds what the passages do not say", f"leave this out: {sentence}"
    return None


def merged_problem(  # noqa: PLR0911 - one for each requirement
    language_code: str,
    sentence: str,
    condensed: str,
    answer: str,
    merged: str,
    passages: Sequence[str] = (),
    most: int | None = None,
    objected: Sequence[str] = (),
) -> Problem:
    """Why `merged` does not hold both the supporting fact and the condensed text, each sentence in its place.

    What an editor `objected` to may go.
    """
    language = language_of(language_code)
    if not holds(language, merged, answer):
        return "answer is not in the new evidence", f"the passage must hold {answer!r}"
    if support_in(language, merged, sentence) < LEAST_SUPPORT:
        return "supporting fact is not in the new evidence", f"keep what this says: {sentence}"
    said = language.content_words(condensed) - language.content_words(" ".join(objected))
    if len(said & language.content_words(merged)) < LEAST_SUPPORT * len(said):
        return "condensed text is not in the new evidence", "keep what the second passage says"
    if most is not None and (length := language.count(merged)) > most:
        return "new evidence is too long", f"it has {length}, at most {most} are wanted: leave out what matters least"
    if passages and (undrawn := _undrawn_problem(language, passages, merged)) is not None:
        return undrawn
    if (parted := _parted(language_code, sentence, condensed, merged)) is not None:
        return (
            "supporting sentence parts what belongs together",
            f"{parted!r} goes on from another sentence than the first passage: put that elsewhere",
        )
    if (defined := _defined_late(language, sentence, merged)) is not None:
        return (
            "new evidence says too late what it speaks of",
            f"the first passage says what {defined!r} is: it must stand before what else is said of it",
        )
    if (leaning := begins_leaning(language_code, merged)) is not None:
        return "new evidence cannot be understood alone", f"say by name who or what {leaning!r} is at its start"
    return _unknown_problem(language, merged, (sentence, condensed))


def objection_problem(passage: str, quoted: str) -> Problem:
    """Why an objection is to nothing that the passage says."""
    if stretch_of(passage, quoted) is not None:
        return None
    return "objection to what the passage does not say", f"it nowhere has {quoted!r}: copy the sentence as it stands"


def _parted(language_code: str, sentence: str, condensed: str, merged: str) -> str | None:
    """What goes on from a sentence of the condensed text, and stands after the supporting one in the merged."""
    at = merged.find(sentence)
    if at < 0:
        return None
    following = next(iter(language_of(language_code).sentences(merged[at + len(sentence) :])), "").strip()
    goes_on = unlinked(language_code, following) != following or begins_leaning(language_code, following) is not None
    if not goes_on or condensed.find(following) <= 0:
        return None
    return following


_DEFINES = re.compile(r"(?:An? |The )?([A-Za-z][\w-]*(?: [\w-]+){0,3}?) (?:is|are|was|were) (?:an?|any|one of) ")


def _defined_late(language: Language, sentence: str, merged: str) -> str | None:
    """What the supporting sentence says the kind of, where more than one sentence before it speaks of that."""
    found = _DEFINES.match(sentence)
    if found is None or (at := merged.find(sentence)) < 0:
        return None
    before = [one for one in language.sentences(merged[:at]) if language.contains(one, found[1])]
    return found[1] if len(before) > 1 else None


SAME_ABOVE = 0.9
"""Share of words in the same order above which a text repeats another. Of 21 pairs of expansions, four were above it,
which differed in one sentence at the most; the next, at 0.86, had its sentences in another order."""


def says_the_same(one: str, other: str) -> bool:
    """Whether a text repeats another nearly word by word."""
    first, second = ([word[0] for word in WORD.finditer(text)] for text in (one, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio() > SAME_ABOVE


def support_in(language: Language, text: str, sentence: str) -> float:
    """Share of the sentence's content words that stand in two neighbouring sentences of the text; 0..1."""
    wanted = language.content_words(sentence)
    if not wanted or sentence in text:
        return 1.0
    words = [language.content_words(one) for one in language.sentences(text)]
    pairs = [one | other for one, other in zip(words, [*words[1:], frozenset()], strict=True)]
    return max((len(wanted & pair) for pair in pairs), default=0) / len(wanted)


def rival(case: Answered, passage: str) -> tuple[str, float] | None:
    """The sentence of a passage that comes nearest to answering the question otherwise, and how near; 0..1.

    It names something of the answer's type which is not the answer and not in the question; nearness is
    the share of the question's content words that it holds.
    """
    language = language_of(case.language)
    asked = language.content_words(case.question)
    nearest: tuple[str, float] | None = None
    for sentence in language.sentences(passage):
        near = len(asked & language.content_words(sentence)) / len(asked) if asked else 0.0
        if near > UNSURE_ABOVE and (nearest is None or near > nearest[1]) and _names_another(language, case, sentence):
            nearest = sentence, near
    return nearest


def _names_another(language: Language, case: Answered, sentence: str) -> bool:
    kind = language.answer_type(case.answer, case.question)
    own = language.mentions(sentence, case.answer, case.aliases)
    for start, end in language.spans_of_type(sentence, kind):
        named = sentence[start:end]
        is_answer = any(one.start < end and start < one.end for one in own)
        if not is_answer and not language.contains(case.question, named):
            return True
    return False
