"""ReEval without a model: span replacement and extraction by rules. A floor to measure models against.

Every rule works on the given text alone, and what it gives passes the same checks as a model's answer.
None answers a question: the rules are no pivot that knows anything.
"""

import random
import re
from collections.abc import Sequence

from flows.families.reeval import checks
from flows.families.reeval.alternatives import is_alone, is_person
from flows.families.reeval.prompts import (
    Alternative,
    Objection,
    Passage,
    Reading,
    Replaced,
    Sentence,
    ToAlter,
    ToCondense,
    ToMerge,
    ToRead,
    ToReplace,
    ToResolve,
    ToSelect,
)
from flows.language import CannotReplace, Language, language_of, names_of
from flows.language.en.names import classes
from flows.language.pointing import leans_on_what_is_asked, points_outside
from flows.language.titles import BRACKET, page_name
from flows.llm.model import Invalid, RuleSet

EXTRACTED = {"en": 50, "zh": 90}
"""Words (characters in Chinese) that the rules take of a passage, beyond its opening sentence."""
LEAST_ASKED = {"en": 0.4, "zh": 0.5}
"""Share of the question's content words that a sentence must hold to support its answer by itself. Chinese sentences
leave their subject out more often."""
PERSONAL = frozenset(["he", "she", "his", "her", "him", "他", "她"])
CLEAR = PERSONAL | {"it", "its", "the"}
"""What a name may stand for; they, these, both and most of them may be anybody, and "a year later" is no one."""
NAMED_IN_CHINESE = frozenset(["他", "她", "它"])
"""Subjects that a name can stand for as it is; sentences without a subject are left alone."""
POSSESSIVES = frozenset(["his", "her", "its"])
POINTING = frozenset(["the", "this", "these", "that", "those"])
_EARLIER = {
    own: re.compile(rf"\b{subject}\b")
    for own, subject in (("his", "he"), ("her", "she"), ("its", "it"), ("he", "he"), ("she", "she"))
}
"""For a pronoun in the main clause, the one that a clause before it has for the same: "When he died, his Requiem"."""


def alternative_answer(asked: ToAlter, rng: random.Random) -> Alternative:
    """The first of the candidates, in their seeded order, that can take the answer's place in the evidence."""
    language = language_of(asked.language)
    names = names_of(asked.language, asked.answer, asked.aliases, asked.evidence)
    kind = language.kind(asked.answer, asked.question)
    if not asked.candidates:
        reason = "kind of the answer cannot be told" if is_alone(kind) else "no other answer of its kind"
        raise Invalid(reason, f"{asked.answer} ({asked.question})")
    if kind.startswith("person:") and not is_person(asked.answer, asked.question, asked.evidence, asked.language):
        raise Invalid("kind of the answer cannot be told", f"{asked.answer} ({asked.question})")
    if _is_converted(asked.evidence, asked.answer):
        raise Invalid("number beside its conversion", asked.answer)
    if kind.startswith("number:") and _is_reckoned_with(language, asked.evidence, asked.answer):
        raise Invalid("number of which a share is told", asked.answer)
    refusal = ""
    for candidate in asked.candidates:
        if not _keeps_order(asked.evidence, asked.answer, candidate) or _dates_meet(asked, candidate):
            refusal = "a date would be out of its order"
            continue
        try:
            evidence = language.replace(asked.evidence, asked.answer, candidate, names).text
        except CannotReplace as error:
            refusal = str(error)
            continue
        if (part := _left(asked, candidate, evidence)) is not None:
            raise Invalid("a part of the old answer stays", f"{part} of {asked.answer}")
        problem = checks.swap_problem(asked.language, asked.evidence, asked.answer, names, candidate, evidence)
        if problem is None:
            return Alternative(answer=candidate)
        refusal = problem[0]
    raise Invalid("no alternative answer fits", refusal)


def _left(asked: ToAlter, candidate: str, evidence: str) -> str | None:
    """A part of the name of a person or place, or the year of a date, that the rewritten evidence still has.

    "Guy" of Guy de Lusignan is a word like others, and 2012 stands in "Rio 2012": nobody tells that they are mentions.
    "Otto Frisch" is another Otto.
    """
    if asked.language != "en":
        return None
    kind = language_of("en").kind(asked.answer, asked.question)
    if kind.startswith(("person:", "place:")):
        parts = [word for word in asked.answer.split() if word[:1].isupper() and len(word.strip(".")) > 1]
        parts = [part for part in parts if part.casefold() not in classes("head")]
    else:
        parts = _YEAR.findall(asked.answer)
    left = (part for part in parts if part not in candidate)
    return next((part for part in left if re.search(rf"(?<!\w){re.escape(part)}(?!\w| [A-Z])", evidence)), None)


_MONTHS = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"


def _dates_meet(asked: ToAlter, candidate: str) -> bool:
    """Whether another month would stand among other days of its year: no order of months is looked at."""
    months = [re.findall(_MONTHS, one) for one in (asked.answer, candidate)]
    if asked.language != "en" or not months[0] or months[0] == months[1]:
        return False
    rest = re.sub(re.escape(asked.answer), " ", asked.evidence, flags=re.IGNORECASE)
    return any(re.search(rf"{_MONTHS}[^.]{{0,10}}{year}", rest) for year in _YEAR.findall(candidate))


_YEAR = re.compile(r"(?<!\d)(?<!\d[.,])(?:1\d|20)\d\d(?!\d|[.,]\d)")
_CONVERTED = re.compile(r"[^()（）.,;]{0,20}[(（][^()（）]{0,8}\d")


def _is_converted(evidence: str, answer: str) -> bool:
    """Whether the answer is a number that the text gives in another unit, in brackets beside it."""
    if not any(sign.isdigit() for sign in answer) or _YEAR.search(answer):
        return False
    places = re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", evidence)
    return any(_CONVERTED.match(evidence, found.end()) for found in places)


_SHARE = re.compile(r"per\s?cent|%|百分之|％")


def _is_reckoned_with(language: Language, evidence: str, answer: str) -> bool:
    """Whether a sentence tells a share beside the answer, which is none: "74 per cent, or 260 of the 352 votes"."""
    if _SHARE.search(answer):
        return False
    figure = next(iter(re.findall(r"\d[\d.,]*", answer)), answer)
    beside = (one for one in language.sentences(evidence) if re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", one))
    return any(
        _SHARE.search(one) and not re.search(rf"{re.escape(figure)}\s*(?:{_SHARE.pattern})", one) for one in beside
    )


def _keeps_order(evidence: str, answer: str, candidate: str) -> bool:
    """Whether a year stands between the same other years of the text as the answer's: texts tell what comes first."""
    years = [_YEAR.findall(one) for one in (answer, candidate)]
    if not all(len(one) == 1 for one in years):
        return True
    old, new = int(years[0][0]), int(years[1][0])
    others = {int(year) for year in _YEAR.findall(evidence)} - {old}
    return all((year < old) == (year < new) and year != new for year in others)


def replace_answer(asked: ToReplace, rng: random.Random) -> Replaced:
    """Every mention replaced, with the words that must agree."""
    try:
        replaced = language_of(asked.language).replace(asked.evidence, asked.answer, asked.alternative, asked.aliases)
    except CannotReplace as error:
        raise Invalid("answer cannot be replaced", str(error)) from error
    return Replaced(evidence=replaced.text)


def select_sentence(asked: ToSelect, rng: random.Random) -> Sentence:
    """Of the sentences that hold the answer, the one that shares most content words with the question."""
    language = language_of(asked.language)
    wanted = language.content_words(asked.question)
    holding = [one for one in language.sentences(asked.evidence) if language.contains(one, asked.answer)]
    whole = [one for one in holding if checks.is_whole(one)]
    if not whole:
        raise Invalid("no whole sentence holds the answer", " / ".join(holding))
    shared = {one: len(wanted & language.content_words(one)) for one in whole}
    best = max(whole, key=lambda one: shared[one])
    if shared[best] < LEAST_ASKED[asked.language] * len(wanted):
        raise Invalid("no sentence says enough of the question", best)
    return Sentence(sentence=best)


def resolve_sentence(asked: ToResolve, rng: random.Random) -> Sentence:
    """What leans on the text before it named: by the page's title, if the page is about it, or the sentence before."""
    if asked.leaning is None:
        if (titled := _titled(asked)) is not None:
            return Sentence(sentence=titled)
        short = checks.short_name(asked.language, asked.sentence, asked.title)
        if short is None or asked.title is None:
            return Sentence(sentence=asked.sentence)
        before, after = asked.sentence[: short.start()], asked.sentence[short.end() :]
        return Sentence(sentence=f"{before}{page_name(asked.title)}{after}")
    language = language_of(asked.language)
    name = referent(language, asked.leaning, asked.title, asked.before)
    if name is None:
        raise Invalid("supporting sentence cannot be understood alone", f"{asked.leaning}: {asked.sentence}")
    if asked.language == "en":
        name = _with_article(name, asked.evidence)
        if asked.sentence.startswith(asked.leaning):
            name = name[:1].upper() + name[1:]
    first, _, rest = asked.leaning.partition(" ")
    earlier = _EARLIER[first.casefold()] if first.casefold() in _EARLIER and asked.language == "en" else None
    found = earlier.search(asked.sentence) if earlier else None
    if found is not None and found.start() < asked.sentence.find(asked.leaning):
        # "When he died, his Requiem ...": the first of the two is the name's place
        return Sentence(sentence=f"{asked.sentence[: found.start()]}{name}{asked.sentence[found.end() :]}")
    if first.casefold() in POSSESSIVES:
        name = f"{name}'s" + (f" {rest}" if rest else "")
    leaning = re.compile(rf"(?<!\w){re.escape(asked.leaning)}" + (r"(?!\w)" if asked.leaning.isascii() else ""))
    return Sentence(sentence=leaning.sub(lambda _: name, asked.sentence, count=1))


def _titled(asked: ToResolve) -> str | None:
    """The sentence with the page's title for what its own noun calls: "the tower" of the page on the Eiffel Tower."""
    language, title = language_of(asked.language), page_name(asked.title)
    vague = leans_on_what_is_asked(asked.language, asked.question, asked.answer, asked.sentence, asked.title)
    if asked.language != "en" or vague is None or not vague.lower().startswith("the "):
        return None
    if not title or not language.content_words(vague) <= language.content_words(title):
        return None
    name = _with_article(title, asked.evidence)
    place = re.search(rf"(?<!\w){re.escape(vague)}(?!\w)", asked.sentence)
    if place is None:
        return None
    name = name if place.start() else name[:1].upper() + name[1:]
    return f"{asked.sentence[: place.start()]}{name}{asked.sentence[place.end() :]}"


def _with_article(name: str, passage: str) -> str:
    """The name as the passage first writes it: "the Danube", "the blue whale"."""
    found = re.search(rf"(?<!\w)([Tt]he\s+)?((?i:{re.escape(name)}))(?!\w|\s+[A-Z])", passage)
    return f"the {found[2]}" if found is not None and found[1] else name


def condense(asked: ToCondense, rng: random.Random) -> Passage:
    """A paragraph of each passage: its opening sentence and what follows, up to half of its length."""
    titles = asked.titles or (None,) * len(asked.passages)
    taken = (_extract(asked.language, *titled) for titled in zip(asked.passages, titles, strict=True))
    return Passage(text="\n".join(taken))


def merge(asked: ToMerge, rng: random.Random) -> Passage:
    """The sentence put before, between or after the paragraphs of the condensed text, and all made one.

    Where the wanted place does not do, or was objected to, the first that does is taken.
    """
    paragraphs = asked.condensed.splitlines()
    wanted = min(int(asked.place * (len(paragraphs) + 1)), len(paragraphs))
    merged = [
        _joined(asked.language, [*paragraphs[:place], asked.sentence, *paragraphs[place:]])
        for place in (wanted, *range(len(paragraphs) + 1))
    ]
    fitting = (
        text
        for text in merged
        if text != asked.merged
        and checks.merged_problem(asked.language, asked.sentence, asked.condensed, asked.answer, text) is None
    )
    return Passage(text=next(fitting, merged[0]))


def read_passage(asked: ToRead, rng: random.Random) -> Reading:
    """Sentences that lean on what stands nowhere before them, and those that say again what another said."""
    language = language_of(asked.language)
    before = ""
    said: list[frozenset[str]] = []
    objections = []
    for sentence in language.sentences(asked.passage):
        words = language.content_words(sentence)
        leaning = points_outside(asked.language, sentence)
        if words in said:
            objections.append(Objection(sentence=sentence, reason="it is said twice"))
        elif leaning is not None and not _tells_of(language, before, leaning):
            objections.append(Objection(sentence=sentence, reason=f"nothing before it tells of {leaning!r}"))
        before = _joined(asked.language, [before, sentence])
        said.append(words)
    return Reading(objections=tuple(objections))


def _tells_of(language: Language, before: str, leaning: str) -> bool:
    """Whether the text before says what a phrase leans on; "the blue whale", of several words, is a kind that it names.

    A person is needed for "he", the noun for "the tower", any sentence for "it".
    """
    first, _, noun = leaning.casefold().partition(" ")
    if first in PERSONAL:
        return bool(language.spans_of_type(before, "person"))
    if first == "the" and " " in noun:
        return True
    return bool(before) and (first not in POINTING or language.content_words(noun) <= language.content_words(before))


def _extract(language_code: str, passage: str, title: str | None) -> str:
    """The passage's opening sentence and those after it, up to `EXTRACTED` and half of the passage's length."""
    language = language_of(language_code)
    start = checks.opening(language_code, passage, title)
    if start is None:
        raise Invalid("passage has no sentence that stands on its own", passage)
    first, *following = (" ".join(sentence.split()) for sentence in language.sentences(passage)[start:])
    most = min(EXTRACTED[language_code], checks.MOST_CONDENSED * language.count(passage))
    taken = first
    for sentence in following:
        longer = _joined(language_code, [taken, sentence])
        if language.count(longer) > most or not checks.is_whole(sentence):
            break
        taken = longer
    return taken


# ---- who or what a subject is ----

_HAN = re.compile(r"[㐀-鿿]")


def referent(language: Language, subject: str, title: str | None, before: str) -> str | None:
    """The name that a subject stands for; None where it is not clear.

    The title's, where the sentence before speaks of it too, or there is none before, or that one leans on
    what came before it as well; for a person also the name that the sentence before begins with. Only a
    person is he or she, and no person is it; they and these may be anybody; "the film" is the title's
    where the title or the sentence before says that it is one.
    """
    word = subject.split(maxsplit=1)[0].casefold()
    chinese = language is language_of("zh")
    if word not in (NAMED_IN_CHINESE if chinese else CLEAR):
        return None
    named = page_name(title)
    same_script = chinese == bool(_HAN.search(named))
    names = [named] if named and same_script and _speaks_of(language, before, named) else []
    if word in PERSONAL:
        return _person(language, names + _opening_names(language, before), before)
    is_thing = not any(language.answer_type(name) == "person" for name in names)
    if not is_thing or (word == "the" and not _is_a(language, subject, title or "", before)):
        return None
    return names[0] if names else None


def _person(language: Language, names: Sequence[str], before: str) -> str | None:
    """The first of the names that is a person's, where the sentence before speaks of nobody else."""
    fitting = [name for name in names if language.answer_type(name) == "person"]
    return fitting[0] if fitting and len(_persons(language, before, fitting)) == 1 else None


def _speaks_of(language: Language, before: str, name: str) -> bool:
    """Whether a sentence is about `name`, as far as can be seen: it leans on earlier text, or opens with it."""
    if not before or language.dangling_subject(before) is not None:
        return True
    return any(mention.start <= len("The ") for mention in language.mentions(before, name))


def _opening_names(language: Language, sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in language.spans_of_type(sentence, "person")[:1] if start == 0]


def _persons(language: Language, sentence: str, known: Sequence[str]) -> set[str]:
    """The persons that a sentence speaks of, beside those known."""
    named = {sentence[start:end] for start, end in language.spans_of_type(sentence, "person")}
    own = {mention for name in known[:1] for mention in named if language.mentions(name, mention)}
    return named - own | set(known[:1])


def _is_a(language: Language, subject: str, title: str, before: str) -> bool:
    """Whether the title's bracket, or what the sentence before says it is, calls it what the subject does."""
    called = language.content_words(subject)
    bracket = BRACKET.search(title)
    said = re.search(r"\b(?:is|was|are|were)\b.*", before)
    known = language.content_words(f"{bracket[0] if bracket else ''} {said[0] if said else ''}")
    return bool(called) and called <= known


def _joined(language_code: str, sentences: Sequence[str]) -> str:
    return ("" if language_code == "zh" else " ").join(sentences)


RULES: RuleSet = {
    "alternative_answer": alternative_answer,
    "replace_answer": replace_answer,
    "select_sentence": select_sentence,
    "resolve_sentence": resolve_sentence,
    "condense": condense,
    "merge": merge,
    "read_passage": read_passage,
}
