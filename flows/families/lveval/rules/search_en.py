"""The sentences of an English collection that bear on a pair: about its subject, or about others of the same type."""

import random
import re
from collections.abc import Container, Iterable, Iterator, Sequence

from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules import sentences_en
from flows.families.lveval.rules.entities_en import entity_type, stands_whole, whole_names, without_asides
from flows.families.lveval.rules.sentences_en import (
    Collection,
    Sentence,
    lead,
    leading_name,
    may_name,
    page_and_type,
    stands_alone,
)
from flows.families.lveval.rules.vocabulary import pattern
from flows.language import en
from flows.language.choices import is_yes_or_no
from flows.language.en.names import is_of_a_people, place_class
from flows.language.en.nouns import entities
from flows.language.en.phrases import parts_of_speech
from flows.language.en.tokens import word_set

NEAR = 40  # documents searched for a pair, those nearest to the question
IN_ARTICLE = 12  # documents nearest to a document without a page, taken to be of the same article
LEAST_TOLD = 8.0  # least weight of a question or sentence (`Collection.weight`)
LEAST_LIKE = 0.1  # share of the weight of question or supporting sentence in a lifted sentence on another subject
LEAST_OF_IT, LEAST_FAR = 0.01, 0.2  # the same, if it is about the subject; if it shares only one word
UNIQUE = pattern("unique")
_TIMES = word_set("year month week day date time century decade age period war begin start end last first")


class PairSearch:
    """The sentences of the documents and of the collection that bear on a pair."""

    def __init__(self, asked: ToConfuse, documents: Sequence[str], collection: Collection, rng: random.Random) -> None:
        self.asked, self.documents, self.rng = asked, documents, rng
        self.names = [
            name
            for name in whole_names(asked.question, documents)
            if not any(answer and answer <= en.content_words(name) for answer in map(en.content_words, asked.answers))
            and (" " in name or not parts_of_speech(name) & {"ADJ", "ADV", "AUX"} or place_class(name))
        ]
        self.from_documents = [sentence for document in documents for sentence in sentences_en.sentences(document)]
        self.pages = {sentence.page for sentence in self.from_documents if sentence.page}
        paged = [name for name in self.names if any(is_part(name, page) or is_part(page, name) for page in self.pages)]
        named = en.content_words(" ".join(whole_names(asked.question, documents)))
        self.asked_names = list(self.names)
        self.names = paged or (self.names[:1] if self.pages else self.names)
        self.question = en.content_words(asked.question) - named
        self.fact = en.content_words(asked.fact) - named
        self.topics = [] if named else self._topics()
        self.collection = collection
        queries = [
            en.content_words(asked.question),
            en.content_words(asked.fact),
            en.content_words(" ".join(self.names)),
            *(en.content_words(opening.text) for opening in self.openings()),
        ]
        near = [document for words in queries for document in collection.near(words, NEAR)]
        article = [other for document in documents for other in collection.near(en.content_words(document), IN_ARTICLE)]
        # Documents, whose sentences are made only where they may be of use: that takes most of the time.
        self.near = list(dict.fromkeys((*near, *article)))
        self.beside = self.near if self.pages else article

    def _topics(self) -> list[frozenset[str]]:
        """Return the words of the noun phrases that a question without names asks about, longest first."""
        kind = re.search(r"\b(?:what|which)\s+((?:\w+\s+){0,2}\w+)", self.asked.question, re.IGNORECASE)
        asked_for = en.content_words(kind[1]) if kind else frozenset[str]()
        phrases = [en.content_words(entity.text) for entity in entities(self.asked.question)]
        phrases = [phrase for phrase in phrases if phrase and not phrase <= asked_for] or phrases
        return sorted(filter(None, dict.fromkeys(phrases)), key=len, reverse=True)

    def openings(self) -> list[Sentence]:
        firsts: dict[str, Sentence] = {}
        for sentence in self.from_documents:
            if sentence.page:
                firsts.setdefault(sentence.page, sentence)
        return list(firsts.values())

    def likeness(self, sentence: Sentence) -> float:
        """Return the share of the weight of question or supporting sentence, without names, that a sentence has."""
        weight = self.collection.weight
        return max(
            weight(sentence.words & wanted) / max(weight(wanted), LEAST_TOLD) for wanted in (self.question, self.fact)
        )

    def of_the_subject(self) -> list[Sentence]:
        """Return sentences about the subject of the question, or a thing that belongs to it, the most similar first."""
        ranked: list[tuple[bool, float, Sentence]] = []
        of = leading_name(lead(self.asked.fact)) if self.names and not self.pages else ""
        called = [name for name in self.names if not is_of_a_people(name)]
        near = [document for document in self.near if not self.names or may_name(document, (*called, of))]
        beside = frozenset(() if self.names else (*_sentences_of(self.beside), *self.from_documents))
        for sentence in dict.fromkeys((*_sentences_of(near), *self.from_documents)):
            if sentence.page and sentence.page in self.names and sentence.page not in self.pages:
                continue  # about another thing of that name
            if self.names:
                led = any(stands_whole(sentence.lead, name) for name in (*called, of) if name in called or " " in name)
                fits = led or any(
                    stands_whole(sentence.text, name) for name in called if not sentence.page or " " in name
                )
            else:
                led = any(topic <= sentence.leads for topic in self.topics)
                fits = sentence in self.from_documents or (
                    not sentence.page
                    and (led or (sentence in beside and any(topic <= sentence.words for topic in self.topics)))
                )
            likeness = self.likeness(sentence)
            if fits and likeness >= (0 if led else LEAST_OF_IT if sentence in self.from_documents else LEAST_FAR):
                ranked.append((not led, -likeness, sentence))
        return [sentence for *_, sentence in sorted(ranked, key=lambda entry: entry[:2])]

    def of_others(self) -> list[Sentence]:
        """Return sentences about another entity of the same type, or of any type if no page shows it."""
        types = {sentence.type.of for sentence in self.from_documents if sentence.type is not None}
        ranked: list[tuple[float, Sentence]] = []
        told = _sentences_of(document for document in self.beside if self._may_tell_of_another(document, types))
        for sentence in dict.fromkeys((*told, *(() if self.pages else self.from_documents))):
            words, told_of = sentence.words, sentence.words if sentence.page else sentence.leads
            if (
                " v " in sentence.text
                or sentence.page in self.pages
                or words <= en.content_words(self.asked.fact)
                or any(en.content_words(name) <= told_of for name in (*self.names, *self.pages))
            ):
                continue
            if not sentence.page and not self._is_of_the_type(sentence):
                continue
            if sentence.page and (
                sentence.type is None or sentence.type.of not in types or not stands_whole(sentence.lead, sentence.page)
            ):
                continue
            asked, supported = (len(_core(words & wanted)) for wanted in (self.question, self.fact))
            likeness, common = self.likeness(sentence), max(asked, supported)
            if common and likeness >= (LEAST_LIKE if common > 1 else LEAST_FAR):
                ranked.append((-likeness, sentence))
        return [sentence for _, sentence in sorted(ranked, key=lambda entry: entry[0])]

    def _may_tell_of_another(self, document: str, types: Container[str]) -> bool:
        page, type_ = page_and_type(document)
        return not page or (page not in self.pages and type_ is not None and type_.of in types)

    def _is_of_the_type(self, sentence: Sentence) -> bool:
        """Return whether a sentence without a page may be about another entity of the question's type."""
        if not self.names:
            return not any(topic <= sentence.leads for topic in self.topics)
        name = leading_name(sentence.lead)
        types = {type_.of for name in self.names if (type_ := entity_type(name, tuple(self.documents))) is not None}
        type_ = entity_type(name, ()) if name else None
        return type_ is None or not types or type_.of in types

    def supporting(self) -> list[str]:
        """Return the sentences of the documents that contain the answer, the supporting sentence first."""
        answer, fact = self.asked.answers[0].strip(" ."), without_asides(self.asked.fact)
        of_fact = [fact, *sentences_en.parts(fact)]
        if not stands_alone(fact):
            of_fact = list(filter(stands_alone, of_fact))
        candidates = (
            *of_fact,
            *(sentence.text for sentence in sorted(self.from_documents, key=self.likeness, reverse=True)),
        )
        if all(map(is_yes_or_no, self.asked.answers)):
            return []
        return [
            text
            for text in dict.fromkeys(candidates)
            if en.contains(text, answer)
            and not UNIQUE.search(text)
            and (self.pages or any(stands_whole(lead(text), name) for name in self.names))
        ]


def _sentences_of(documents: Iterable[str]) -> Iterator[Sentence]:
    return (sentence for document in documents for sentence in sentences_en.sentences(document))


def _core(words: frozenset[str]) -> frozenset[str]:
    """Return the words that name no time and no place."""
    return frozenset(
        word
        for word in words - _TIMES
        if not word[0].isdigit() and place_class(word.capitalize()) is None and not is_of_a_people(word.capitalize())
    )


def is_part(name: str, other: str) -> bool:
    return en.content_words(name) <= en.content_words(other)
