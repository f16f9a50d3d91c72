"""Proves of ReEval's finished rows that each is what it claims.

It shares nothing with the builder but the schemas and the language: it computes everything again with its own code.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import islice

from flows.construct.retrieve import ngram_cosine
from flows.construct.verification import Fault, VerifyContext
from flows.language import Language, language_of
from flows.language.agreement import contradiction, foreign_number, unexplained
from flows.language.explained import explanation, only_within_names
from flows.language.matter import matter_of, page_name, speaks_of
from flows.language.other_names import names_of
from flows.language.pointing import leans_on_what_is_asked, points_outside, question_points_outside, unlinked
from flows.language.quotes import holds
from schemas.base import counted
from schemas.reeval import Edit, EnrichedCase, PassageRef, SwapCase
from schemas.source import Passage

MOST_UNEXPLAINED, MOST_UNEXPLAINED_WORDS = 0.02, 6
"""Share of the evidence's words in edits that the swap does not explain, and how many at the most."""
LEAST_SUPPORT = 0.8
"""Share of the supporting sentence's content words in two neighbouring sentences of the new evidence."""
LEAST_DRAWN = 3
"""Content words of a passage alone that the new evidence holds."""
LEAST_KNOWN = 0.5
"""Share of a sentence's content words, in the new evidence, that its passages or the supporting sentence hold."""
LEAST_NEAR = {"en": 0.45, "zh": 0.35}
"""Similarity of a passage to the question or the original evidence."""
ROUNDING = 1e-4
EMBEDDED_AT_ONCE = 64
"""Rows whose texts are embedded together."""
SAME_ABOVE = 0.9
"""Share of words in the same order above which an expansion repeats the other."""
PASSAGES = 3
MOST_WORDS = {"en": 5, "zh": 10}
LEAST_EVIDENCE = {"en": 10, "zh": 20}

_HAN = "[㐀-鿿豈-﫿]"
_UNREAD = re.compile(r"[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u2064\u3000\ufeff]|  ")
"""Characters that no word comparison shows."""
_WORD = re.compile(r"[㐀-鿿豈-﫿]|[^\W_]+|[^\w\s]|_")
_PRONOUN = re.compile(r"(?:he|his|she|her|it|its|they|their|this|these|those|such)\b|[他她它该此这其]", re.IGNORECASE)
_OFFERS = re.compile(r"\bor\b|还是|還是|或", re.IGNORECASE)


def verify_swaps(rows: Iterable[SwapCase], ctx: VerifyContext) -> Iterator[Fault]:
    """The evidence contains the new answer, nothing of the old answer, and is otherwise unchanged."""
    seen: set[str] = set()
    for row in rows:
        yield from _faults(row, seen, ctx, partial(_swap_problems, row))


def verify_enriched(rows: Iterable[EnrichedCase], ctx: VerifyContext) -> Iterator[Fault]:
    """Both expansions hold the answer and its support among three other pages' passages on the matter."""
    seen: set[str] = set()
    stock = ctx.rows_by("passages", lambda passage: passage.id)
    stream = iter(rows)
    while batch := list(islice(stream, EMBEDDED_AT_ONCE)):
        far = _far_passages([row for row in batch if row.language in MOST_WORDS], ctx)
        for row in batch:
            yield from _faults(row, seen, ctx, partial(_enriched_problems, row, stock, far.get(row.id, ())))


def _faults(
    row: SwapCase | EnrichedCase,
    seen: set[str],
    ctx: VerifyContext,
    problems_of: Callable[[Language], Iterable[str]],
) -> Iterator[Fault]:
    """The faults that any row can have, and those that `problems_of` finds in the row's language."""
    if row.language not in MOST_WORDS:
        yield Fault(id=row.id, problem=f"the language {row.language!r} is none of {', '.join(MOST_WORDS)}")
        return
    language = language_of(row.language)
    common = [*_twice(row.key, seen), *_twice(row.id, seen), *_row_problems(row, language, ctx)]
    for problem in (*common, *problems_of(language)):
        yield Fault(id=row.id, problem=problem)


def _far_passages(rows: Sequence[EnrichedCase], ctx: VerifyContext) -> dict[str, set[str]]:
    """By row id, the passages that are near neither the question nor the original evidence."""
    passages = {row.id: (*row.passages_question_focused, *row.passages_evidence_focused) for row in rows}
    english = [row for row in rows if row.language != "zh"]
    texts = {text for row in english for text in (row.question, row.original_evidence)}
    texts |= {passage.text for row in english for passage in passages[row.id]}
    read = sorted(text for text in texts if text.strip() and ctx.embedder.reads(text))
    vectors = dict(zip(read, ctx.embedder.embed(read), strict=True)) if read else {}

    def near(row: EnrichedCase, passage: str) -> float:
        texts = (row.question, row.original_evidence)
        if row.language == "zh":
            return max(ngram_cosine(text, passage) for text in texts)
        return max(
            (float(vectors[text] @ vectors[passage]) for text in texts if {text, passage} <= vectors.keys()),
            default=0.0,
        )

    return {
        row.id: {
            passage.id for passage in passages[row.id] if near(row, passage.text) < LEAST_NEAR[row.language] - ROUNDING
        }
        for row in rows
    }


def verify_passages(rows: Iterable[Passage], ctx: VerifyContext) -> Iterator[Fault]:
    """No passage occurs twice, and none is empty."""
    seen: set[str] = set()
    for row in rows:
        for problem in (*_twice(row.id, seen), *([] if row.text.strip() else ["it is empty"])):
            yield Fault(id=row.id, problem=problem)


def _twice(name: str, seen: set[str]) -> Iterator[str]:
    if name in seen:
        yield "it stands twice"
    seen.add(name)


def _row_problems(row: SwapCase | EnrichedCase, language: Language, ctx: VerifyContext) -> Iterator[str]:
    """Section 4.1: a question, and a short answer that the original evidence holds; a pivot that was configured."""
    if not any(character.isalnum() for character in row.question):
        yield "the question is empty"
    if (pointing := question_points_outside(row.language, row.question, row.original_evidence)) is not None:
        yield f"the question points at something outside itself: {pointing!r}"
    if not any(character.isalnum() for character in row.answer) or row.answer.casefold() in ("a", "an", "the"):
        yield f"the answer {row.answer!r} says nothing"
    if row.pivot not in ctx.settings.pivots:
        yield f"no pivot is called {row.pivot!r}"
    answer = row.original_answer if isinstance(row, SwapCase) else row.answer
    if language.count(answer) > MOST_WORDS[row.language]:
        yield f"the answer {answer!r} is too long"
    if language.count(row.original_evidence) < LEAST_EVIDENCE[row.language]:
        yield "the original evidence is too short"
    if not language.contains(row.original_evidence, answer):
        yield f"the original evidence does not hold {answer!r}"


# ---- category 1 ----


def _swap_problems(row: SwapCase, language: Language) -> Iterator[str]:
    names = names_of(row.language, row.original_answer, row.aliases, row.original_evidence)
    yield from _answer_problems(row, language, names)
    yield from _edit_problems(row, language, names)
    yield from _coherence_problems(row, language, names)
    before, after = (Counter(_UNREAD.findall(text)) for text in (row.original_evidence, row.evidence))
    if come := after - before:
        yield f"line breaks, blanks or control characters came: {next(iter(come))!r}"
    if row.answer_position != _third(row.evidence, row.answer):
        yield f"the answer does not start in the {row.answer_position} third"


def _answer_problems(row: SwapCase, language: Language, names: Sequence[str]) -> Iterator[str]:
    """The new answer is different, is in the new evidence only, and nothing of the old answer is left there."""
    if not holds(language, row.evidence, row.answer):
        yield f"the evidence does not hold the answer {row.answer!r}"
    new = language.mentions(row.evidence, row.answer)
    for old in language.mentions(row.evidence, row.original_answer, names):
        if not any(now.start <= old.start and old.end <= now.end for now in new):
            yield f"the evidence still holds {row.evidence[old.start : old.end]!r}"
    for name in (row.original_answer, *row.aliases):
        if language.contains(name, row.answer) or language.contains(row.answer, name):
            yield f"the answer is the original one, or holds it: {row.answer!r}, {name!r}"
    if language.contains(row.original_evidence, row.answer):
        yield f"the original evidence holds {row.answer!r} already"
    if explained := explanation(row.language, row.original_evidence, row.original_answer, names):
        yield f"the original evidence explains the name that was replaced: {explained!r}"
    if longer := only_within_names(row.language, row.question, row.original_evidence, row.original_answer, names):
        yield f"the original evidence has the answer within other names alone: {longer!r}"
    shared = language.content_words(row.original_answer) & language.content_words(row.question)
    if language.contains(row.question, row.answer) and not (shared and _OFFERS.search(row.question)):
        yield f"the question gives {row.answer!r} away"


def _coherence_problems(row: SwapCase, language: Language, names: Sequence[str]) -> Iterator[str]:
    """All changes follow from the new answer, and all that should follow from it did change."""
    edits = [*row.replacements, *row.agreement]
    answers = " ".join((row.original_answer, *names))
    beyond = sum(unexplained(row.language, edit.old, edit.new, answers, row.answer) for edit in edits)
    if beyond > min(MOST_UNEXPLAINED * len(_WORD.findall(row.original_evidence)), MOST_UNEXPLAINED_WORDS):
        yield f"{counted(beyond, 'word')} changed that the new answer does not ask for"
    if number := foreign_number(((edit.old, edit.new) for edit in edits), answers, row.answer):
        yield f"the number {number!r} changed, which neither answer has"
    if wrong := contradiction(row.language, row.evidence, row.original_answer, row.answer):
        yield f"in {wrong.place!r}, {wrong.word!r} does not fit the new answer {row.answer!r}"
    if article := _wrong_article(row, language):
        yield f"the article of {article!r} does not agree"


def _wrong_article(row: SwapCase, language: Language) -> str | None:
    """An "a" or "an" right before the new answer that does not agree with it."""
    article_of: Callable[[str], str] | None = getattr(language, "article", None)
    if article_of is None:
        return None
    for mention in language.mentions(row.evidence, row.answer):
        mentioned = row.evidence[mention.start : mention.end]
        before = re.search(r"\b(an?)\s+$", row.evidence[: mention.start], re.IGNORECASE)
        if before and before[1].lower() != article_of(mentioned):
            return f"{before[1]} {mentioned}"
    return None


def _edit_problems(row: SwapCase, language: Language, names: Sequence[str]) -> Iterator[str]:
    """The edits account for every added or removed word, and each replacement for a mention."""
    edits = [*row.replacements, *row.agreement]
    if not row.replacements:
        yield "no replacement is listed"
    if changed := _changed(row.original_evidence, row.evidence, edits):
        yield f"the evidence differs where no edit is listed: {changed[0]}"
    for edit in edits:
        if edit.old not in row.original_evidence or edit.new not in row.evidence:
            yield f"the edit {edit.old!r} to {edit.new!r} was not made"
    before, after = (Counter(_WORD.findall(text)) for text in (row.original_evidence, row.evidence))
    gone = Counter(word for edit in edits for word in _WORD.findall(edit.old))
    come = Counter(word for edit in edits for word in _WORD.findall(edit.new))
    if before + come != after + gone:
        yield "words came or went that no edit tells of"
    mentions = language.mentions(row.original_evidence, row.original_answer, names)
    named = {row.original_evidence[mention.start : mention.end] for mention in mentions}
    for edit in row.replacements:
        if not any(name in edit.old for name in named):
            yield f"the replacement of {edit.old!r} is of no mention of {row.original_answer!r}"


def _changed(old: str, new: str, edits: Sequence[Edit]) -> list[str]:
    """Differences that no edit accounts for."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    removed, added = _bag(edit.old for edit in edits), _bag(edit.new for edit in edits)
    left = []
    for tag, start, end, to_start, to_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal" and not (set(before[start:end]) <= removed and set(after[to_start:to_end]) <= added):
            left.append(f"{' '.join(before[start:end])!r} became {' '.join(after[to_start:to_end])!r}")
    return left


def _bag(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _third(evidence: str, answer: str) -> str | None:
    # Chinese texts may have blanks beside numbers and names or not: it means nothing.
    close = re.sub(rf"(?<={_HAN})\s+|\s+(?={_HAN})", "", answer)
    wanted = r"\s*".join(map(re.escape, re.split(rf"(?<={_HAN})(?=.)|(?<=.)(?={_HAN})", close)))
    places = [match.start() for match in re.finditer(wanted, evidence, re.IGNORECASE)]
    if len(places) != 1:
        return None
    return ("first", "middle", "last")[min(2, 3 * places[0] // len(evidence))]


# ---- category 2 ----


def _enriched_problems(
    row: EnrichedCase, stock: Mapping[str, Passage], far: Iterable[str], language: Language
) -> Iterator[str]:
    yield from _support_problems(row, language)
    words = _WORD.findall(row.evidence_question_focused), _WORD.findall(row.evidence_evidence_focused)
    if SequenceMatcher(None, words[0], words[1], autojunk=False).ratio() > SAME_ABOVE:
        yield "both expansions say the same"
    for expansion, evidence, passages in (
        ("question-focused", row.evidence_question_focused, row.passages_question_focused),
        ("evidence-focused", row.evidence_evidence_focused, row.passages_evidence_focused),
    ):
        problems = (*_passage_problems(row, passages, stock), *_expansion_problems(row, evidence, passages, language))
        yield from (f"{expansion}: {problem}" for problem in problems)
    yield from (f"passage {name} is on another matter" for name in sorted(far))


def _support_problems(row: EnrichedCase, language: Language) -> Iterator[str]:
    if row.supporting_sentence not in row.original_evidence:
        yield "the supporting sentence is not in the original evidence"
    parts = language.sentences(row.supporting_sentence)
    if not parts or not all(row.language == "en" and part.endswith(";") for part in parts[:-1]):
        yield "the supporting sentence is not one sentence"
    for name, sentence in (("", row.supporting_sentence), ("resolved ", row.supporting_sentence_resolved)):
        if not holds(language, sentence, row.answer):
            yield f"the {name}supporting sentence does not hold {row.answer!r}"
    if unlinked(row.language, row.supporting_sentence_resolved) != row.supporting_sentence_resolved:
        yield "the resolved supporting sentence goes on from another"
    leaning = points_outside(row.language, row.supporting_sentence_resolved)
    asked = language.content_words(f"{row.question} {row.answer}")
    page = language.content_words(page_name(row.title))
    words = language.content_words(leaning or "")
    named = words <= asked or words == page
    if leaning is not None and not (leaning.lower().startswith("the ") and named):
        yield f"nobody can tell who or what {leaning!r} is in the resolved supporting sentence"
    elif vague := leans_on_what_is_asked(
        row.language, row.question, row.answer, row.supporting_sentence_resolved, row.title
    ):
        yield f"nobody can tell what {vague!r} means in the resolved supporting sentence"


def _passage_problems(row: EnrichedCase, passages: Sequence[PassageRef], stock: Mapping[str, Passage]) -> Iterator[str]:
    titles = [" ".join(passage.title.replace("_", " ").split()).casefold() for passage in passages if passage.title]
    if len(passages) != PASSAGES or len({passage.id for passage in passages}) != PASSAGES:
        yield f"{PASSAGES} different passages are wanted, {len(passages)} are there"
    if len(set(titles)) != len(titles):
        yield "two passages are of one page"
    evidence = " ".join(row.original_evidence.split()).casefold()
    matter = matter_of(
        row.language, row.question, row.answer, row.original_evidence, row.supporting_sentence_resolved, row.title
    )
    for passage in passages:
        if not speaks_of(row.language, passage.text, matter):
            names = ", ".join(entity.text for entity in matter)
            yield f"passage {passage.id} names nothing of what is asked about: {names}"
        original = stock.get(passage.id)
        if original is None or (original.text, original.title) != (passage.text, passage.title):
            yield f"passage {passage.id} is not of the collection"
        text = " ".join(passage.text.split()).casefold()
        if text in evidence or evidence in text:
            yield f"passage {passage.id} repeats the evidence"


def _expansion_problems(
    row: EnrichedCase, evidence: str, passages: Sequence[PassageRef], language: Language
) -> Iterator[str]:
    if not holds(language, evidence, row.answer):
        yield f"the evidence does not hold the answer {row.answer!r}"
    first = language.sentences(evidence)[0] if evidence.strip() else ""
    if _PRONOUN.match(first) and (leaning := points_outside(row.language, first)) is not None:
        yield f"it begins with {leaning!r}, and nobody can tell who or what that is"
    wanted = language.content_words(row.supporting_sentence_resolved)
    words = [language.content_words(sentence) for sentence in language.sentences(evidence)]
    pairs = [first | second for first, second in zip(words, [*words[1:], frozenset()], strict=True)]
    if wanted and max((len(wanted & pair) for pair in pairs), default=0) < LEAST_SUPPORT * len(wanted):
        yield "the supporting fact is not there"
    sources = [row.supporting_sentence_resolved, *(passage.text for passage in passages)]
    source_words = frozenset().union(*map(language.content_words, sources))
    for sentence in language.sentences(evidence):
        own_words = language.content_words(sentence)
        if len(own_words & source_words) < LEAST_KNOWN * len(own_words):
            yield f"{sentence!r} is in none of the passages"
    most = sum(language.count(passage.text) for passage in passages) / 2
    length = language.count(evidence) - language.count(row.supporting_sentence_resolved)
    if length > most:
        yield f"{length} beside the supporting sentence is more than half of the passages' length"
    everything = frozenset().union(*words) if words else frozenset()
    by_passage = [language.content_words(passage.text) for passage in passages]
    for place, passage in enumerate(passages):
        alone = by_passage[place].difference(*(other for at, other in enumerate(by_passage) if at != place))
        if len(alone & everything) < min(LEAST_DRAWN, len(alone)):
            yield f"nothing of passage {passage.id} is there"
