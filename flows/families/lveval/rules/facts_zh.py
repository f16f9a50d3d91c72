"""Chinese confusing facts without a model: about another subject, or something else about the same (section 3.2.2).

Subject facts are, in this order, the question's statement about an invented subject of the same type, with another
answer; and a clause of the page about an invented subject. Object facts are clauses of the subject's page, the most
similar to the question first, that say nothing about what is asked.

Departure: people and GPT-4 write the paper's facts. Here a clause of a page is lifted and put after its subject.
In an object fact it stays true and contradicts nothing; in a subject fact the answer, titles and a number change.
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from flows.families.lveval.confusing_facts import CandidateFact, subjects
from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules import entities_zh
from flows.families.lveval.rules.entities_zh import TRIED, Entity, other_answers, others_than, stem_of
from flows.families.lveval.rules.vocabulary import pattern, vocabulary
from flows.language import CannotReplace, zh
from flows.language.alternatives import NUMBER, YEAR, moved
from flows.language.tables import invented_names
from flows.language.zh.predicates import ITSELF, about, aliases, is_unnamed, predicates
from flows.language.zh.statements import statement, unexplained
from flows.language.zh.text import is_known_word, tagged

_BEGINNING = 60  # characters in which a page names its subject
_KEPT = 4096
_BODY = re.compile(
    "[国省市县党军队团社会局部院校司行厂所馆台组队室店]$|大学|中学|小学|集团|俱乐部|组织|政府|机构|[王皇]朝"
)
"""Names of things that can act like a person."""
_DONE_BY_SOMEBODY = pattern("zh_done_by_somebody")
_ASKED_AND_TOLD = vocabulary("zh_asked_and_told")
_ALONE = re.compile("最|第.[高大长]|得名|名字|唯一|第一|首[个位次任支条]|[「“]|[前现]任$|原名|改名|更名|命名")
"""Words for what is true of only one thing, or of its name."""
_CALLED = re.compile("(?:又|也|还|还可以|亦)被?[叫称]|(?:俗|别|旧|又|原)[名称]")  # questions for another name
_OF_MANY = re.compile("[是为的]|位于|属于|分布|毕业|出生|生于|来往|栖息|司职")
_POINTS_BACK = re.compile("[该此]|本[鱼种线站片剧作校]|这[个些种]|[他她它牠]们?")
_POINTED = "(?:这一?[个张座部所家首本款条]|[该本此])"


class Clause(NamedTuple):
    """A clause in which a page says something about its subject."""

    name: str
    text: str
    words: frozenset[str]
    page: str


@lru_cache(_KEPT)
def _clauses(page: str, names: tuple[str, ...]) -> tuple[Clause, ...]:
    """Return what a page says about the subject with these names."""
    name, at = names[0], page.find(names[0])
    told_of = page[at:] if at >= 0 else name + page
    acts = entities_zh.entity_type(name, told_of) in ("person", "japanese") or _BODY.search(name)
    return tuple(
        Clause(name, text, zh.content_words(text), told_of)
        for text in dict.fromkeys(predicates(page, names))
        if (acts or not _DONE_BY_SOMEBODY.search(text)) and not any(name in text for name in names)
    )


def facts(
    asked: ToConfuse, documents: Sequence[str], rng: random.Random
) -> tuple[Iterator[CandidateFact], Iterator[CandidateFact]]:
    """Return candidates for subject facts and for object facts, best first."""
    asked = asked.model_copy(update={"question": _pointing_at_nothing(asked.question, documents)})
    names = entities_zh.entities(asked, documents)[:1]
    stated = tuple(dict.fromkeys(statements(asked, names, rng)))
    clauses = [
        clause for page in documents if (spoken_of := _spoken_of(page, asked)) for clause in _clauses(page, spoken_of)
    ]
    likest = _likest(asked, clauses)
    besides = [clause for clause in (*likest, *clauses) if not _tells_of_what_is_asked(clause.text, asked)]
    return (
        chain(_renamed_subject(stated, names, rng), _of_another(asked, likest, rng), _of_another(asked, clauses, rng)),
        chain(_of_it(besides), _of_another_time(asked, names, rng)),
    )


def _spoken_of(page: str, asked: ToConfuse) -> tuple[str, ...]:
    """Return the names of the question's subject: that of the page, or else the beginning of the question."""
    names = aliases(page)
    if names and _names_or_implies(asked.question, names, page):
        return (*names, *entities_zh.short_forms(names[0], asked.question)[:1])
    if begun := entities_zh.common_beginning(asked.question, page) or (
        is_unnamed(page) and entities_zh.asked_about(asked.question)
    ):
        return (begun,)
    topics = (subject for subject in subjects("zh", asked.question) if len(subject) > 2 and page.count(subject) > 1)
    if topic := max((topic for topic in topics if not is_known_word(topic)), key=len, default=""):
        return (topic,)
    return names if any(len(name) > 1 and name in asked.fact for name in names) else ()


def _names_or_implies(question: str, names: Sequence[str], page: str) -> bool:
    """Return whether a question has a name or its last characters, or points to the thing: "这张专辑", "该站"."""
    shown = {name[at:].rstrip("属科") for name in names for at in range(max(len(name) - 2, 1))}
    kinds = "|".join(re.escape(name[-2:]) for name in names)
    pointing = f"[他她它牠]|(?:^|[的，])(?:{kinds})|[该此这本].?(?:{kinds}|路?线|专辑|小说|电影|游戏|作品)"
    itself = ITSELF.match(question)
    return (
        any(name and name in question for name in shown)
        or re.search(pointing, question) is not None
        or (itself is not None and itself[0] in page[:_BEGINNING])
    )


def _pointing_at_nothing(question: str, documents: Sequence[str]) -> str:
    """Return the question with the subject's name in place of a phrase that points to it ("这张专辑", "该站")."""
    for page in documents:
        name = about(page)
        if name and name in question:
            return re.sub(f"{_POINTED}(?={re.escape(name)})", "", question)
        kinds = "|".join(re.escape(name[-length:]) for length in (3, 2, 1)) if len(name) > 1 else ""
        if kinds:
            itself = f"{_POINTED}(?:{kinds}|专辑|小说|电影|游戏|作品|路线|影片)|^(?:{ITSELF.pattern})"
            pointed = f"{itself}|^[他她它牠](?!们)"
            if match := re.search(pointed, question):
                return question[: match.start()] + name + question[match.end() :]
    return question


def _tells_of_what_is_asked(clause: str, asked: ToConfuse) -> bool:
    """Return whether a clause has part of an answer, is of the kind asked for, or says no more than the question."""
    if zh.content_words(clause) <= zh.content_words(asked.question):
        return True
    answer_parts = (part for answer in asked.answers for part in re.split("[，、；。和与及]", answer))
    parts = {short if len(short := part.rstrip("人族国省市县")) > 1 else part for part in answer_parts if len(part) > 1}
    parts |= {year for answer in asked.answers for year in re.findall(r"\d{3,4}年", answer)}
    return any(part in clause and part not in asked.question for part in parts) or any(
        re.search(question, asked.question) and re.search(telling, clause) for question, telling in _ASKED_AND_TOLD
    )


def statements(asked: ToConfuse, names: Sequence[Entity], rng: random.Random) -> Iterator[str]:
    """Yield the question as a statement with other answers."""
    answers = sorted(asked.answers, key=lambda answer: "，" in answer)
    others: Iterator[str] = chain.from_iterable(other_answers(answer, asked.question, rng) for answer in answers)
    if _CALLED.search(asked.question) and "有" in asked.question:
        others = iter(())
    elif _CALLED.search(asked.question):
        others = (other for name, type_, _ in names for other in others_than(name, type_, rng))
    if granted := unexplained(asked.question):
        yield granted
        return
    for other in list(dict.fromkeys(others))[:TRIED]:
        made = statement(asked.question, other)
        if made is not None and not _POINTS_BACK.search(other):
            yield made


def _likest(asked: ToConfuse, clauses: Sequence[Clause]) -> list[Clause]:
    """Return the clauses that share words with question or fact, subject names aside, the most similar first."""
    names = "".join(clause.name for clause in clauses[:1])
    wanted = {word for word in zh.content_words(f"{asked.question}\n{asked.fact}") if word not in names}
    ranked = sorted((-len(wanted & clause.words), at) for at, clause in enumerate(clauses))
    return [clauses[at] for alike, at in ranked if alike]


def _renamed_subject(stated: Sequence[str], names: Sequence[Entity], rng: random.Random) -> Iterator[CandidateFact]:
    """Yield the question's statements about an invented subject."""
    for text in stated:
        for name, type_, female in names:
            stem = stem_of(name)
            if name in text and not (len(stem) > 1 and stem in text.replace(name, "")):
                others = (other for other in others_than(name, type_, rng, female=female) if other not in text)
                yield from (CandidateFact(text.replace(name, other), stated=True) for other in others)


def _of_another(asked: ToConfuse, clauses: Sequence[Clause], rng: random.Random) -> Iterator[CandidateFact]:
    """Yield the page's clauses about an invented subject; the most similar last, as it is the best object fact."""
    answers = list(dict.fromkeys(other_answers(asked.answers[0], asked.question, rng)))
    for clause in (*clauses[1:], *clauses[:1]):
        stem = stem_of(clause.name)
        type_, female = entities_zh.entity_type(clause.name, clause.page), entities_zh.is_womans(clause.page)
        if _ALONE.search(clause.text) or (len(stem) > 1 and stem in clause.text) or not _bears_on(clause, asked):
            continue
        if type_ not in ("person", "japanese") and "《" in clause.text:
            continue
        if clause == clauses[0] and not _OF_MANY.match(clause.text):
            continue
        for other in others_than(clause.name, type_, rng, female=female):
            for text in _answered(clause.text, asked, answers):
                titled = re.sub("《[^》]+》", lambda _: rng.choice(invented_names("zh")["title"]), text)
                numbers = YEAR if YEAR.search(titled) else NUMBER
                dated = moved(titled, numbers, rng) if len(numbers.findall(titled)) == 1 else titled
                yield CandidateFact(f"{other}{dated}。", stated=True)


def _bears_on(clause: Clause, asked: ToConfuse) -> bool:
    """Return whether a clause concerns the question's matter, or is part of the supporting sentence."""
    matter = {
        word
        for word, tag in tagged(asked.question)
        if len(word) > 1 and tag in ("n", "v", "vn", "an", "a", "i", "l") and word not in clause.name
    }
    return bool(matter & clause.words) or clause.words <= zh.content_words(asked.fact)


def _answered(clause: str, asked: ToConfuse, others: Sequence[str]) -> Iterator[str]:
    """Yield a clause, with another answer if it contains the answer."""
    if not any(zh.contains(clause, answer) for answer in asked.answers):
        yield clause
        return
    for other in others[:TRIED] if zh.contains(clause, asked.answers[0]) else ():
        try:
            yield zh.replace(clause, asked.answers[0], other).text
        except CannotReplace:
            continue


def _of_it(clauses: Sequence[Clause]) -> Iterator[CandidateFact]:
    """Yield the page's clauses about its subject, unless the page has the sentence."""
    for text in clauses:
        if (fact := f"{text.name}{text.text}。") not in text.page:
            yield CandidateFact(fact, stated=True)


def _of_another_time(asked: ToConfuse, names: Sequence[Entity], rng: random.Random) -> Iterator[CandidateFact]:
    """Yield the question's statements with another year."""
    question = asked.question
    if _ALONE.search(question) or not names or names[0][0] not in question:
        return
    before, name, after = question.partition(names[0][0])
    others = _earlier_or_later(before, rng), _earlier_or_later(after, rng)
    for changed in (*(other + name + after for other in others[0]), *(before + name + other for other in others[1])):
        made = statements(asked.model_copy(update={"question": changed}), names, rng)
        yield from (CandidateFact(text, stated=True) for text in made if text[:-1] not in changed)


def _earlier_or_later(text: str, rng: random.Random) -> list[str]:
    return [moved(text, YEAR, rng)] if len(YEAR.findall(text)) == 1 else []
