"""The source data of ReEval's section 4.1: its filters, and those that real data need as well."""

import random
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bs4 import BeautifulSoup

from flows.construct.engine import Context, Drop, SetContext, Slot
from flows.construct.records import Records, with_first
from flows.language import Language, language_of
from flows.language.choices import is_choice, is_yes_or_no, other_choice
from flows.language.pointing import question_points_outside
from flows.language.quotes import plain, stretch_of
from flows.language.tables import word_list
from schemas.base import content_hash
from schemas.reeval import Case
from schemas.source import QASource


@dataclass(frozen=True)
class Limits:
    """The paper's lengths, in the unit that the language counts in; `most_evidence` is what 3,000 tokens hold.

    The paper's code limits a rewrite to as many (methods); longer evidence could not be rewritten.
    """

    least_evidence: int
    most_evidence: int
    most_answer: int
    unit: str


LANGUAGES: Mapping[str, Limits] = MappingProxyType(
    {
        "en": Limits(10, 2000, 5, "words"),  # section 4.1, "shorter than 10 words", "longer than 5 words"
        "zh": Limits(20, 3000, 10, "characters"),  # two characters to a word: Chinese words have 1.5 to 2 on average
    }
)

MOST_CHARACTERS = 100
"""The most characters of an answer: five words have no more, but a text without blanks may."""
MOST_EVIDENCE_CHARACTERS = 100_000
"""The most characters of evidence in the source, including markup."""
LEAST_SCRIPT = 0.5
"""Least share of letters in the language's script."""
ENGLISH_ONLY = word_list("en", "english alone")
FOREIGN_ONLY = word_list("en", "foreign alone")
LEAST_FOREIGN = 2
"""A text with this many of them, and more than English ones, is not English. Names have one ("Leonardo da Vinci")."""
HAN_TO_A_WORD = 1
"""Chinese text has at least as many Chinese characters as words in Latin letters, and more than kana and hangul."""

_TAG = re.compile(
    r"</?(?:a|abbr|article|aside|b|blockquote|br|button|cite|code|dd|div|dl|dt|em|figcaption|figure|font|footer|form|"
    r"h[1-6]|head|header|hr|html|i|iframe|img|input|label|li|link|main|meta|nav|ol|p|pre|q|s|script|section|small|"
    r"source|span|strong|style|sub|sup|svg|table|tbody|td|tfoot|th|thead|time|tr|u|ul|video)"
    r"(?:\s[^<>]*)?/?>|<!--|&(?:nbsp|amp|lt|gt|quot|apos|[lr]squo|[lr]dquo|[nm]dash|#\d{2,5});",
    re.IGNORECASE,
)
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+")
_EAST = re.compile(r"[぀-ヿ가-힯]")
"""Kana and hangul."""


def for_each_pivot(source: QASource, pivots: Sequence[str]) -> Sequence[Slot]:
    """A case of each source row for each pivot."""
    return [{"pivot": pivot} for pivot in pivots]


async def filter_source(source: QASource, slot: Slot, ctx: Context) -> Case:
    """Section 4.1, 2 and 3, and several answers: cases with a short answer and an evidence to find it in.

    Departures: the paper's limits are in words; for Chinese they are in characters (`filters`). Faults that the
    paper's data do not have are refused as well: no answer, an answer that is not in the evidence, offsets
    that do not match. HTML is taken out of the evidence, and the provenance says so.
    """
    row = filtered(source, ctx.random(source.key))
    return Case(
        key=ctx.key,
        question=row.question,
        answer=row.answer,
        aliases=row.aliases,
        evidence=row.evidence,
        title=source.title,
        language=source.language,
        pivot=str(slot["pivot"]),
        source=f"{source.format}:{source.source.source}",
        provenance=ctx.provenance(source, sources=[source.source], notes=row.notes),
    )


async def drop_duplicates(cases: Records[Case], ctx: SetContext) -> AsyncIterator[Case]:
    """Section 4.1, 1: one instance of each question, evidence and answer, whichever sources they are of.

    Taken last, when the answer is settled: two sources may give a question different further answers.
    """

    def instance(case: Case) -> str:
        texts = case.question, case.evidence, case.answer, case.pivot
        return content_hash(*(" ".join(text.split()) for text in texts))

    for case, first in with_first(cases, instance, ctx.step.arrival):
        if first is None:
            yield case
        else:
            ctx.drop(case, Drop("duplicate question, evidence and answer", case.question, related_id=first.id))


@dataclass(frozen=True)
class Filtered:
    """A source row past the filters."""

    question: str
    answer: str
    aliases: tuple[str, ...]
    evidence: str
    notes: tuple[str, ...]


def filtered(source: QASource, rng: random.Random) -> Filtered:
    """The row with one answer that its evidence holds. Raises `Drop`."""
    language, limits = language_of(source.language), LANGUAGES[source.language]
    evidence, notes = _evidence(source, language, limits)
    if not is_in(source.language, source.question):
        raise Drop("question in another language than the source's", evidence=source.question[:200])
    if (pointing := question_points_outside(source.language, source.question, evidence)) is not None:
        raise Drop("question points outside itself", evidence=f"{pointing}: {source.question[:200]}")
    answers = [answer for answer in source.answers if any(character.isalnum() for character in answer)]
    if not answers:
        raise Drop("answer is only punctuation", evidence=" / ".join(source.answers))
    if all(map(is_yes_or_no, answers)):
        raise Drop("answer is yes or no", evidence=source.question)
    if source.language == "en" and all(other_choice(source.question, answer, evidence) for answer in answers):
        raise Drop("question chooses between things of the evidence", evidence=source.question)
    offers = any(is_choice(source.language, source.question, answer) for answer in answers)
    if not offers and any(language.contains(source.question, answer) for answer in answers):
        raise Drop("question holds its answer", evidence=source.question)
    _refuse_several(answers, language)
    most = limits.most_answer
    short = [answer for answer in answers if language.count(answer) <= most and len(answer) <= MOST_CHARACTERS]
    if not short:
        raise Drop(f"answer over {limits.most_answer} {limits.unit}", evidence=" / ".join(answers))
    standing = {answer: as_written for answer in short if (as_written := _as_written(language, evidence, answer))}
    if not standing:
        raise Drop("answer not in the evidence", evidence=" / ".join(short))
    if not notes:
        standing, notes = _with_true_offsets(source, standing, evidence)
    chosen = rng.choice(sorted(standing))
    answer = standing[chosen]
    aliases = tuple(dict.fromkeys(other for other in answers if other not in (chosen, answer)))
    return Filtered(source.question.strip(), answer, aliases, evidence, tuple(notes))


def _as_written(language: Language, evidence: str, answer: str) -> str | None:
    """The answer as the evidence writes it, perhaps with other quotation marks and tokens; None without it.

    A comma or full stop that the source cut off with it ("Ticonderoga Point,") does not belong to it.
    """
    answer = answer.rstrip(",;:，；：。、 ")
    if language.contains(evidence, answer):
        return answer
    stretch = stretch_of(evidence, answer)
    return stretch if stretch is not None and language.contains(evidence, stretch) else None


def _evidence(source: QASource, language: Language, limits: Limits) -> tuple[str, list[str]]:
    """The evidence without HTML, and notes on its changes. Raises `Drop`."""
    evidence = source.evidence or ""
    if not evidence.strip():
        raise Drop("no evidence", evidence=source.question)
    if len(evidence) > MOST_EVIDENCE_CHARACTERS:
        raise Drop(f"evidence over {MOST_EVIDENCE_CHARACTERS} characters", evidence[:200], value=float(len(evidence)))
    notes = []
    if _TAG.search(evidence):
        evidence = " ".join(BeautifulSoup(evidence, "html.parser").get_text(" ").split())
        notes.append("HTML was taken out of the evidence")
    length = language.count(evidence)
    if length < limits.least_evidence:
        raise Drop(f"evidence under {limits.least_evidence} {limits.unit}", evidence=evidence, value=float(length))
    if length > limits.most_evidence:
        raise Drop(f"evidence over {limits.most_evidence} {limits.unit}", evidence[:200], value=float(length))
    if not is_in(source.language, evidence):
        raise Drop("evidence in another language than the source's", evidence=evidence[:200])
    return evidence, notes


def is_in(language: str, text: str) -> bool:
    """Return whether a text is written in the language, by its script and, in English, by its frequent words."""
    if language == "zh":
        han = len(_HAN.findall(text))
        return han > len(_EAST.findall(text)) and han >= HAN_TO_A_WORD * len(_LATIN_WORD.findall(text))
    letters = sum(character.isalpha() for character in text)
    if len(_LATIN.findall(text)) < LEAST_SCRIPT * letters:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    foreign = sum(word in FOREIGN_ONLY for word in words)
    return foreign < LEAST_FOREIGN or foreign <= sum(word in ENGLISH_ONLY for word in words)


def _with_true_offsets(source: QASource, standing: dict[str, str], evidence: str) -> tuple[dict[str, str], list[str]]:
    """The answers at the source's offset or found once, and a note on a repaired offset. Raises `Drop`."""
    if not source.answer_starts:
        return standing, []
    starts = dict(zip(source.answers, source.answer_starts, strict=True))
    true = [answer for answer, written in standing.items() if evidence.startswith(written, max(0, starts[answer]))]
    once = [answer for answer, written in standing.items() if answer not in true and evidence.count(written) == 1]
    if not true and not once:
        raise Drop(
            "answer offset does not match", evidence=" / ".join(f"{answer} at {starts[answer]}" for answer in standing)
        )
    kept = {answer: written for answer, written in standing.items() if answer in true or answer in once}
    notes = [] if true else [f"the source's answer offset did not match; it was repaired: {once[0]}"]
    return kept, notes


def _refuse_several(answers: Sequence[str], language: Language) -> None:
    """Answers that all contain the shortest of them, or its words, overlap; others are several answers. Raises `Drop`.

    All of the source's answers are asked, also those that are too long or not in the evidence. The released code wants
    each to contain the next shorter; "in France" and "southern France" still count as the same answer.
    """
    shortest = _bare(min(answers, key=lambda answer: (len(answer), answer)))
    core = language.content_words(shortest)
    for answer in map(_bare, answers):
        if not language.contains(answer, shortest) and not (core and core <= language.content_words(answer)):
            raise Drop("several answers", evidence=" / ".join(answers))


def _bare(answer: str) -> str:
    """An answer without its article and surrounding punctuation."""
    return _ARTICLE.sub("", plain(answer).strip(".,;:。，；：、 "))


_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
