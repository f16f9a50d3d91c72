"""Context enriching by rules (ReEval, section 3.2): sentences and passages are used unchanged."""

import random
import re
from collections.abc import Sequence

from flows.families.reeval import prompts
from flows.families.reeval.checks.passage import MOST_CONDENSED, merged_problem, opening
from flows.families.reeval.checks.sentence import is_whole, short_name
from flows.language import Language, language_of
from flows.language.matter import BRACKET, page_name
from flows.language.pointing import leans_on_what_is_asked, points_outside
from flows.llm.model import Invalid

EXTRACTED = {"en": 50, "zh": 90}
"""Words (characters in Chinese) that the rules take of a passage, beyond its opening sentence."""
LEAST_ASKED = {"en": 0.4, "zh": 0.5}
"""Share of the question's content words that a sentence must have to support its answer by itself. Chinese sentences
leave out their subject more often."""
POSSESSIVES = frozenset(["his", "her", "its"])
PERSONAL = frozenset(["he", "she", "his", "her", "him", "他", "她"])
NAMEABLE = PERSONAL | {"it", "its", "the"}
"""The words that a name may replace; not they, these, both and most of them (anybody) or "a year later" (nobody)."""
NAMED_IN_CHINESE = frozenset(["他", "她", "它"])
"""Subjects that a name can replace as they are; sentences without a subject are left alone."""
_HAN = re.compile(r"[㐀-鿿]")
POINTING = frozenset(["the", "this", "these", "that", "those"])
_EARLIER = {
    pronoun: re.compile(rf"\b{subject}\b")
    for pronoun, subject in (("his", "he"), ("her", "she"), ("its", "it"), ("he", "he"), ("she", "she"))
}
"""For a pronoun in the main clause, that of the same person in a clause before it: "When he died, his Requiem"."""


def select_sentence(asked: prompts.ToSelect, rng: random.Random) -> prompts.Sentence:
    """Of the sentences with the answer, the one that shares the most content words with the question."""
    language = language_of(asked.language)
    wanted = language.content_words(asked.question)
    holding = [sentence for sentence in language.sentences(asked.evidence) if language.contains(sentence, asked.answer)]
    whole = [sentence for sentence in holding if is_whole(sentence)]
    if not whole:
        raise Invalid("no whole sentence holds the answer", " / ".join(holding))
    shared = {sentence: len(wanted & language.content_words(sentence)) for sentence in whole}
    best = max(whole, key=lambda sentence: shared[sentence])
    if shared[best] < LEAST_ASKED[asked.language] * len(wanted):
        raise Invalid("no sentence says enough of the question", best)
    return prompts.Sentence(sentence=best)


def resolve_sentence(asked: prompts.ToResolve, rng: random.Random) -> prompts.Sentence:
    """Replace a phrase that needs earlier text by a name: the page's title, or a name from the sentence before."""
    if asked.leaning is None:
        if (titled := _titled(asked)) is not None:
            return prompts.Sentence(sentence=titled)
        short = short_name(asked.language, asked.sentence, asked.title)
        if short is None or asked.title is None:
            return prompts.Sentence(sentence=asked.sentence)
        before, after = asked.sentence[: short.start()], asked.sentence[short.end() :]
        return prompts.Sentence(sentence=f"{before}{page_name(asked.title)}{after}")
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
    match = earlier.search(asked.sentence) if earlier else None
    if match is not None and match.start() < asked.sentence.find(asked.leaning):
        # "When he died, his Requiem ...": the first of the two is the name's place
        return prompts.Sentence(sentence=f"{asked.sentence[: match.start()]}{name}{asked.sentence[match.end() :]}")
    if first.casefold() in POSSESSIVES:
        name = f"{name}'s" + (f" {rest}" if rest else "")
    leaning = re.compile(rf"(?<!\w){re.escape(asked.leaning)}" + (r"(?!\w)" if asked.leaning.isascii() else ""))
    return prompts.Sentence(sentence=leaning.sub(lambda _: name, asked.sentence, count=1))


def _titled(asked: prompts.ToResolve) -> str | None:
    """The sentence with the page's title in place of its noun: "the tower" of the page on the Eiffel Tower."""
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
    match = re.search(rf"(?<!\w)([Tt]he\s+)?((?i:{re.escape(name)}))(?!\w|\s+[A-Z])", passage)
    return f"the {match[2]}" if match is not None and match[1] else name


def condense(asked: prompts.ToCondense, rng: random.Random) -> prompts.Passage:
    """A paragraph of each passage: its opening sentence and what follows, up to half of its length."""
    titles = asked.titles or (None,) * len(asked.passages)
    taken = (_extract(asked.language, *titled) for titled in zip(asked.passages, titles, strict=True))
    return prompts.Passage(text="\n".join(taken))


def merge(asked: prompts.ToMerge, rng: random.Random) -> prompts.Passage:
    """The condensed text with the sentence before, between or after its paragraphs, as one passage.

    If the wanted place does not work, or was objected to, the first place that works is taken.
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
        and merged_problem(asked.language, asked.sentence, asked.condensed, asked.answer, text) is None
    )
    return prompts.Passage(text=next(fitting, merged[0]))


def read_passage(asked: prompts.ToRead, rng: random.Random) -> prompts.Reading:
    """Sentences that need something no sentence before them says, and sentences that repeat another."""
    language = language_of(asked.language)
    before = ""
    earlier: list[frozenset[str]] = []
    objections = []
    for sentence in language.sentences(asked.passage):
        words = language.content_words(sentence)
        leaning = points_outside(asked.language, sentence)
        if words in earlier:
            objections.append(prompts.Objection(sentence=sentence, reason="it is said twice"))
        elif leaning is not None and not _tells_of(language, before, leaning):
            objections.append(prompts.Objection(sentence=sentence, reason=f"nothing before it tells of {leaning!r}"))
        before = _joined(asked.language, [before, sentence])
        earlier.append(words)
    return prompts.Reading(objections=tuple(objections))


def _tells_of(language: Language, before: str, leaning: str) -> bool:
    """Return whether the text before explains a phrase; "the blue whale", of several words, names its kind.

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
    start = opening(language_code, passage, title)
    if start is None:
        raise Invalid("passage has no sentence that stands on its own", passage)
    first, *following = (" ".join(sentence.split()) for sentence in language.sentences(passage)[start:])
    most = min(EXTRACTED[language_code], MOST_CONDENSED * language.count(passage))
    taken = first
    for sentence in following:
        longer = _joined(language_code, [taken, sentence])
        if language.count(longer) > most or not is_whole(sentence):
            break
        taken = longer
    return taken


def _joined(language_code: str, sentences: Sequence[str]) -> str:
    return ("" if language_code == "zh" else " ").join(sentences)


# ---- the name that a subject stands for: who is "he", which is "the film" ----


def referent(language: Language, subject: str, title: str | None, before: str) -> str | None:
    """The name that a subject stands for; None if it is not clear.

    The title's, if the sentence before is about it too, or there is none before, or that sentence needs
    earlier text as well; for a person also the name that the sentence before begins with. Only a
    person is he or she, and no person is it; they and these may be anybody; "the film" is the title's
    if the title or the sentence before says that it is a film.
    """
    word = subject.split(maxsplit=1)[0].casefold()
    chinese = language is language_of("zh")
    if word not in (NAMED_IN_CHINESE if chinese else NAMEABLE):
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
    """The first of the names that is a person's, if the sentence before mentions nobody else."""
    fitting = [name for name in names if language.answer_type(name) == "person"]
    return fitting[0] if fitting and len(_persons(language, before, fitting)) == 1 else None


def _speaks_of(language: Language, before: str, name: str) -> bool:
    """Return whether a sentence may be about `name`: it needs earlier text, or begins with the name."""
    if not before or language.dangling_subject(before) is not None:
        return True
    return any(mention.start <= len("The ") for mention in language.mentions(before, name))


def _opening_names(language: Language, sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in language.spans_of_type(sentence, "person")[:1] if start == 0]


def _persons(language: Language, sentence: str, names: Sequence[str]) -> set[str]:
    """The persons that a sentence speaks of; mentions of the first of `names` count as that name."""
    named = {sentence[start:end] for start, end in language.spans_of_type(sentence, "person")}
    others_names = {mention for name in names[:1] for mention in named if language.mentions(name, mention)}
    return named - others_names | set(names[:1])


def _is_a(language: Language, subject: str, title: str, before: str) -> bool:
    """Return whether the title's bracket, or the definition in the sentence before, uses the subject's noun."""
    called = language.content_words(subject)
    bracket = BRACKET.search(title)
    kind = re.search(r"\b(?:is|was|are|were)\b.*", before)
    kind_words = language.content_words(f"{bracket[0] if bracket else ''} {kind[0] if kind else ''}")
    return bool(called) and called <= kind_words
