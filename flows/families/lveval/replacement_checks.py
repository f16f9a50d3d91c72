"""The checks that replacement rules must pass (section 3.2.3), by the pair's own texts.

A rule that cannot be applied is left out, together with the rules that depend on it; the others stay. Conflicts
with distracting documents are in `conflicts.py`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flows.families.lveval.candidates import named_entities
from flows.families.lveval.distractor_index import BETWEEN
from flows.families.lveval.inputs import ToRename
from flows.families.lveval.name_forms import DOT, forms_of, is_common_word, longer_name, of_one_name, shared_names
from flows.language import en, language_of
from flows.language.boundaries import boundaries
from flows.language.en.names import is_familiar_place
from flows.language.en.phrases import article
from flows.language.en.tokens import word_set
from flows.language.keywords import Edit, met, occurs, problems, readable, replacer
from flows.language.other_names import other_names
from flows.llm.model import Problem
from schemas.lveval import Conflict, Rule

_SENTENCE_ENDS = re.compile(r"[?!;。？！；]")
_ARTICLE = re.compile(r"\b(an?)\s$", re.IGNORECASE)
_UNISEX = word_set(
    "alex ashley avery blake cameron casey charlie dana drew frankie ira jamie jan jean jesse jordan kelly kim kit "
    "leslie lee lynn morgan pat quinn robin rowan sam sasha shannon stacy taylor terry tracy val"
)
"""First names that both men and women have."""
_PRONOUNS = {"male": re.compile(r"(?i)\b(?:he|his|him)\b"), "female": re.compile(r"(?i)\b(?:she|hers?)\b")}
_BARE_GENITIVE = re.compile(r"['’](?= [a-z])")
_NUMERALS = frozenset("0123456789０１２３４５６７８９一二三四五六七八九十百千万亿两.,")
_SHOWN = 200
_TOLD = 6  # the most wrong rules that a message names
_DATE_WORD = re.compile(r"\d{4}|\d{1,2}|[^\W\d_]+")
NOWHERE = "the keyword stands nowhere"
STANDS = "the substitute stands there already"
SHARED = "keyword and substitute share a name"
KIND = "the substitute is of another kind"
PLAIN = "a number or a single character is replaced"
FORM = "keyword and substitute differ in form"
COMMON = "the keyword stands there as a common word too"
ARTICLE = "it does not go with the article before it"
AMONG_RULES = "it does not go with another rule"
INSIDE = "the keyword stands inside a longer name"
PART = "a part of the name goes on to stand there"
OTHER = "another name of the same thing goes on to stand there"
FOLLOWS = "the answer no longer follows"
UNDONE = "it cannot be undone"
TOGETHER = "another rule for the same name is left out"
EXTRA = "one rule too many"
REPEATED = "an earlier version had this substitute"


@dataclass(frozen=True)
class PairTexts:
    """A pair's own texts, to which its rules apply first."""

    question: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    language: str
    facts: tuple[str, ...] = ()

    @cached_property
    def together(self) -> str:
        """All texts joined; no phrase crosses from one to the next."""
        return BETWEEN.join((self.question, *self.answers, *self.documents, *self.facts))

    def sentence_at(self, place: int) -> str:
        """Return the beginning of the sentence at a place of the joined texts."""
        place = max(0, place)
        before, after = self.together.rfind(BETWEEN, 0, place), self.together.find(BETWEEN, place)
        begin = before + len(BETWEEN) if before >= 0 else 0
        text = self.together[begin : after if after >= 0 else None]
        ends = [0, *boundaries(text, self.language), len(text)]
        sentence = next((text[start:end] for start, end in pairwise(ends) if start <= place - begin < end), text)
        return " ".join(sentence.split())[:_SHOWN]


def sides_of(rules: Iterable[Rule]) -> tuple[tuple[str, str], ...]:
    """Return the rules as pairs of keyword and substitute."""
    return tuple((rule.old, rule.new) for rule in rules)


def rules_problem(asked: ToRename, rules: Sequence[Rule]) -> Problem:
    """Return which proposed rules are wrong, and why; or that they leave question and answers as they are."""
    kept, lost = applicable_rules(asked, rules)
    if lost:
        return lost[0].kind, f"{_told(lost[:_TOLD], rules)}. Correct or leave out these rules, and keep the others"
    texts = () if touches_question(asked, kept) else (asked.question, *asked.answers)
    named = dict.fromkeys(name for text in texts for name, _ in named_entities(asked.language, text))
    if names := [name for name in named if not name.isupper()]:
        return "question and answers stay as they are", f"replace at least one of their names: {', '.join(names)}"
    return None


def _told(lost: Sequence[Conflict], rules: Sequence[Rule]) -> str:
    """Return what is wrong with each rule, each reason once; the caller gives the first reason."""
    by_kind: dict[str, list[str]] = {}
    for conflict in lost:
        lines = by_kind.setdefault(conflict.kind, [])
        if (line := _line(conflict, rules)) not in lines:
            lines.append(line)
    first, *others = by_kind
    return ". ".join(("; ".join(by_kind[first]), *(f"And {kind}: {'; '.join(by_kind[kind])}" for kind in others)))


def _line(conflict: Conflict, rules: Sequence[Rule]) -> str:
    """Return the rule and the extract that shows the harm it does."""
    of_keyword = [rule for rule in rules if rule.old == conflict.old]
    rule = next((rule for rule in of_keyword if conflict.excerpt.startswith(f"{rule}: ")), of_keyword[0])
    shown = conflict.excerpt
    for lead in (f"{rule}: ", f"{rule.old!r} -> {rule.new!r}: "):
        shown = shown.removeprefix(lead)
    return f"{rule}: {shown.rstrip('.。')}"


def applicable_rules(asked: ToRename, rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    """Return the proposed rules that can be applied, and the conflicts of the others."""
    texts = PairTexts(asked.question, asked.answers, asked.texts, asked.language)
    extra = [Conflict(old=rule.old, kind=EXTRA, excerpt=f"at most {asked.most}") for rule in rules[asked.most :]]
    kept, lost = remove_harmful(
        rules[: asked.most],
        lambda left: [*_repeated(left, asked.before), *_unfit(left, texts), *objections(left, texts)],
        asked.language,
    )
    return kept, (*lost, *extra)


def touches_question(asked: ToRename, rules: Sequence[Rule]) -> bool:
    """Return whether a rule replaces something in the question or an answer."""
    return bool(occurs(BETWEEN.join((asked.question, *asked.answers)), [rule.old for rule in rules], asked.language))


def _repeated(rules: Sequence[Rule], before: Collection[Rule]) -> Iterator[Conflict]:
    """Yield a conflict for each rule that an earlier version had."""
    for rule in rules:
        if rule in before:
            others = "; ".join(f"{other.new}" for other in before if other.old == rule.old)
            yield Conflict(old=rule.old, kind=REPEATED, excerpt=f"{rule}: take none of these: {others}")


def _unfit(rules: Sequence[Rule], texts: PairTexts) -> Iterator[Conflict]:
    """Yield the conflicts that a rule has by itself, whatever the other rules are."""
    standing = occurs(texts.together, [rule.old for rule in rules], texts.language)
    for rule in rules:
        nowhere = (NOWHERE, "it must be copied letter for letter") if rule.old not in standing else None
        if (problem := nowhere or _own_problem(rule, texts)) is not None:
            yield Conflict(old=rule.old, kind=problem[0], excerpt=f"{rule}: {problem[1]}")
    sound = [rule for rule in rules if readable(rule.old) and readable(rule.new)]
    if texts.language == "en" and sound:
        for edit in replacer(sides_of(sound), "en").edits(texts.together):
            genitive = edit.old[-1:] in "sS" and edit.new[-1:] not in "sS"
            opened = texts.together[max(0, edit.start - 1) : edit.start] in ("'", "‘")
            if genitive and not opened and _BARE_GENITIVE.match(texts.together, edit.end):
                rule = _rule_of(edit, sound)
                shown = f"{rule}: {edit.old + chr(39)!r} stands there, so the substitute ends in s too"
                yield Conflict(old=rule.old, kind=FORM, excerpt=shown)
            before = _ARTICLE.search(texts.together, max(0, edit.start - 4), edit.start)
            if before and article(edit.old) == before[1].lower() != (wanted := article(edit.new)):
                rule = _rule_of(edit, sound)
                shown = f"{rule}: it stands after {before[1]!r}, not {wanted!r}"
                yield Conflict(old=rule.old, kind=ARTICLE, excerpt=shown)


def _own_problem(rule: Rule, texts: PairTexts) -> Problem:
    old, new = rule.old, rule.new
    if _SENTENCE_ENDS.search(new):
        return FORM, "the substitute holds a sign that ends a sentence"
    if texts.language == "en" and old[:1].isupper() != new[:1].isupper() and new[:1].isalpha():
        return FORM, "one begins with a capital, the other does not"
    if shared := shared_names(old, new, texts.language):
        return SHARED, ", ".join(sorted(shared))
    if texts.language == "zh" and len(old.strip()) == 1:
        return PLAIN, "a single character stands in many words; take the characters beside it along"
    return _kind_problem(old, new, texts)


def _kind_problem(old: str, new: str, texts: PairTexts) -> Problem:
    """Return why the substitute is of another type: no date for a date, another gender, a place for a person."""
    code = texts.language
    language = language_of(code)
    was, now = language.answer_type(old), language.answer_type(new)
    dated = was == "date" or is_year(old)
    if not dated and was == "number" and (code != "zh" or set(old[:-1]) <= _NUMERALS):
        return PLAIN, "numbers stay as they are, but for years"
    if dated != (now == "date" or is_year(new)):
        return KIND, "a date takes the place of a date"
    if dated and _form_of_date(old) != _form_of_date(new):
        return KIND, "a date is written as the one before: day, month and year alike"
    if code == "zh" or was != "person":
        return None
    gender, other = _told_gender(old, texts) or _gender(old), _gender(new)
    if now == "person" and gender is not None and other is not None and gender != other:
        return KIND, f"a {gender} name becomes a {other} one"
    return (KIND, "a person is no place") if is_familiar_place(new) else None


def _gender(name: str) -> str | None:
    """Return the gender that a name shows; None for a first name of both genders."""
    return None if name.split(maxsplit=1)[0].casefold() in _UNISEX else en.gender(name)


def _told_gender(name: str, texts: PairTexts) -> str | None:
    """Return the gender by the pronouns of texts about the person; it outweighs that of the first name."""
    about = [text for text in texts.documents if text.startswith(name)]
    genders = {gender for text in about for gender, pronoun in _PRONOUNS.items() if pronoun.search(text)}
    return genders.pop() if len(genders) == 1 else None


def is_year(text: str) -> bool:
    """Return whether the text is a year by itself."""
    return re.fullmatch(r"1\d{3}|20\d{2}", text.strip()) is not None


def _form_of_date(date: str) -> str:
    """Return the date with a letter for each of its numbers and months."""

    def part(match: re.Match[str]) -> str:
        word = match[0]
        if word.isdigit():
            return "y" if len(word) == 4 else "d"
        return "m" if word[:1].isupper() else word

    return _DATE_WORD.sub(part, date)


def remove_harmful(
    rules: Sequence[Rule], conflicts_of: Callable[[Sequence[Rule]], Iterable[Conflict]], code: str
) -> tuple[tuple[Rule, ...], tuple[Conflict, ...]]:
    """Return the rules without conflicts, and the conflicts of the others.

    Leaving out a rule can bring others into conflict. Rules for other spellings of its name go with it, and a conflict
    that arises without it says so. Of rules with the same keyword in any case, the first is kept.
    """
    left, lost = _each_once(rules)
    before: list[Rule] = []
    while left:
        against = list(dict.fromkeys(conflicts_of(left)))
        harmful = {conflict.old for conflict in against}
        gone = [rule for rule in left if rule.old in harmful]
        if not gone:
            break
        useless = {conflict.old for conflict in against if conflict.kind in (NOWHERE, COMMON)}
        for conflict in against:
            causes = [str(rule) for rule in before if _related(rule.old, conflict.old)]
            since = f"since {' and '.join(causes)} is left out: " if causes else ""
            lost.append(conflict.model_copy(update={"excerpt": since + conflict.excerpt}))
        for rule in left:
            others = (other for other in gone if other.old not in useless and of_one_name(other, rule, code))
            if rule.old not in harmful and (other := next(others, None)) is not None:
                gone.append(rule)
                lost.append(Conflict(old=rule.old, kind=TOGETHER, excerpt=f"{rule}: {other} is left out"))
        left, before = tuple(rule for rule in left if rule not in gone), [*before, *gone]
    order = {rule.old: place for place, rule in reversed(list(enumerate(rules)))}
    return left, tuple(sorted(dict.fromkeys(lost), key=lambda conflict: order[conflict.old]))


def _each_once(rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], list[Conflict]]:
    kept: dict[str, Rule] = {}
    lost: list[Conflict] = []
    for rule in rules:
        first = kept.setdefault(rule.old.casefold(), rule)
        if first.new.casefold() != rule.new.casefold():
            lost.append(Conflict(old=rule.old, kind=AMONG_RULES, excerpt=f"{rule}: there is {first}"))
    return tuple(kept.values()), lost


def _related(old: str, other: str) -> bool:
    return old.casefold() in other.casefold() or other.casefold() in old.casefold()


def objections(rules: Sequence[Rule], texts: PairTexts) -> Iterator[Conflict]:
    """Yield all conflicts among the rules, and where they are applied to the pair's own texts."""
    against = problems(sides_of(rules), texts.language)
    yield from (Conflict(old=problem.rule[0], kind=AMONG_RULES, excerpt=str(problem)) for problem in against)
    unsound = {problem.rule for problem in against}
    sound = [rule for rule in rules if (rule.old, rule.new) not in unsound]
    if not sound:
        return
    sides, text = sides_of(sound), texts.together
    way, lowered = replacer(sides, texts.language), text.casefold()
    standing = met(text, sides, texts.language)
    for old, new in standing:
        where = texts.sentence_at(lowered.find(new.casefold()))
        yield Conflict(old=old, kind=STANDS, excerpt=f"{new}: {where}")
    for old, _ in (rule for rule in way.unreturned(text) if rule not in standing):
        yield Conflict(old=old, kind=UNDONE, excerpt=texts.sentence_at(lowered.find(old.casefold())))
    edits = way.edits(text)
    yield from _of_something_else(sound, edits, texts)
    yield from _left_in_part(sound, edits, texts)
    yield from _unanswered(sound, texts)


def _of_something_else(rules: Sequence[Rule], edits: Sequence[Edit], texts: PairTexts) -> Iterator[Conflict]:
    """Yield rules whose keyword occurs in the texts as a common word too, or inside a longer name."""
    text = texts.together
    spans = {(edit.start, edit.end) for edit in edits}
    families = {rule.old.split()[-1] for rule in rules if " " in rule.old.strip()}
    if texts.language == "zh":  # all who share the family name still share it, however the full name is spelt
        last = {DOT.split(rule.new)[-1] for rule in rules if DOT.search(rule.new)}
        families = {rule.old for rule in rules if rule.new in last}
    inside: set[str] = set()
    common: set[str] = set()
    for edit in edits:
        rule = _rule_of(edit, rules)
        if texts.language == "en" and rule.old not in common and is_common_word(edit.old, rule.old):
            common.add(rule.old)
            yield Conflict(old=rule.old, kind=COMMON, excerpt=texts.sentence_at(edit.start))
        longer = longer_name(text, edit.start, edit.end, texts.language, family=edit.old in families)
        beside = any(end in (edit.start - 1, edit.start) or start in (edit.end, edit.end + 1) for start, end in spans)
        if longer and not beside and rule.old not in inside:
            inside.add(rule.old)
            yield Conflict(old=rule.old, kind=INSIDE, excerpt=f"{longer}: {texts.sentence_at(edit.start)}")


def _rule_of(edit: Edit, rules: Sequence[Rule]) -> Rule:
    """Return the rule that made the edit."""
    wanted = _plain(edit.old)
    return next((rule for rule in rules if _plain(rule.old) == wanted), rules[0])


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _left_in_part(rules: Sequence[Rule], edits: Sequence[Edit], texts: PairTexts) -> Iterator[Conflict]:
    """Yield rules whose name is left in the texts in part, in another form, or as another name."""
    text = texts.together
    starts, ends = [edit.start for edit in edits], [edit.end for edit in edits]
    for rule in rules:
        other_forms = other_names(text, rule.old, texts.language)
        for kind, forms in ((PART, forms_of(rule, text, texts.language)), (OTHER, other_forms)):
            for start, end in forms:
                if bisect_left(starts, end) <= bisect_right(ends, start):  # no edit reaches into it
                    shown = f"{text[start:end]!r} in: {texts.sentence_at(start)}"
                    yield Conflict(old=rule.old, kind=kind, excerpt=shown)
                    break


def _unanswered(rules: Sequence[Rule], texts: PairTexts) -> Iterator[Conflict]:
    """Yield rules after which an answer no longer occurs in the documents that contained it."""
    language = language_of(texts.language)
    for answer in texts.answers:
        holding = [text for text in texts.documents if language.contains(text, answer)]

        def follows(left: Sequence[Rule], answer: str = answer, holding: Sequence[str] = tuple(holding)) -> bool:
            way = replacer(sides_of(left), texts.language)
            return not holding or any(language.contains(way.apply(text), way.apply(answer)) for text in holding)

        if follows(rules):
            continue
        blamed = [rule for rule in rules if follows([kept for kept in rules if kept != rule])]
        put = replacer(sides_of(rules), texts.language).apply(answer)
        for rule in blamed or [rule for rule in rules if language.contains(answer, rule.old)] or rules:
            yield Conflict(old=rule.old, kind=FOLLOWS, excerpt=f"{answer} would be {put}")
