"""The inputs and outputs of LV-Eval's prompts, and the sentences of a pair that its question is about."""

from itertools import pairwise

from pydantic import Field

from flows.families.lveval.candidates import Alternatives
from flows.language import language_of
from flows.language.boundaries import boundaries
from flows.language.choices import is_yes_or_no
from schemas.base import Frozen, Line
from schemas.lveval import LONGEST_FACT, Document, Pair, Rule

EXCERPTS = 16  # the most sentences of the supporting documents shown to whoever writes rules
_OPENING = 80  # characters of a document's first line that show what it is about


class ToConfuse(Frozen):
    """A question with the fact that answers it, for which confusing facts are wanted."""

    question: str
    answers: tuple[str, ...] = Field(description="The gold answer, then its other wordings")
    fact: str = Field(description="The supporting sentence, as it stands in its document")
    title: str = Field(description="What its document is about: title or first words; empty where it does not say")
    language: str
    documents: tuple[str, ...] = Field((), exclude=True, description="For the rules: the supporting documents whole")
    collection: tuple[str, ...] = Field((), exclude=True, description="For the rules: all documents of the dataset")
    seed: str = Field("", exclude=True, description="For the rules: seed of their random choices")


class ConfusingFacts(Frozen):
    """Two statements that resemble the sentence and do not answer the question."""

    subject: Line = Field(max_length=LONGEST_FACT, description="Says the like of another subject")
    object: Line = Field(max_length=LONGEST_FACT, description="Says something else of the same subject")


class ToRename(Frozen):
    """A pair in whose texts names are to be replaced."""

    question: str
    answers: tuple[str, ...]
    sentences: tuple[str, ...] = Field(description="The sentences of the supporting documents that matter")
    documents: tuple[str, ...] = Field((), description="The supporting documents whole, which rules are tried on")
    language: str
    most: int = Field(description="Rules wanted at most")
    candidates: tuple[Alternatives, ...] = Field(description="What other documents name of the same kinds")
    before: tuple[Rule, ...] = Field((), exclude=True, description="Rules of earlier versions, none of which is wanted")
    seed: str = Field("", exclude=True, description="For the rules: seed of their random choices")

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that rules are tried on."""
        return self.documents or self.sentences


class RuleList(Frozen):
    """Replacement rules."""

    rules: tuple[Rule, ...]


class ToMark(Frozen):
    """An answer whose keywords are to be marked."""

    question: str
    answer: str
    language: str


class Keywords(Frozen):
    """Words of the answer, in its order, with single spaces between."""

    keywords: Line


class ToAnswer(Frozen):
    """A question without any document."""

    question: str
    language: str


def supporting_sentence(pair: Pair) -> tuple[str, str]:
    """Return the sentence that supports the answer, without a title before it, and the first line of its document.

    It is one of those that the source says the answer rests on, if it does. Of the sentences that contain an answer, it
    is the one that shares the most words with question and answers. If none does, or the answer is yes or no, all
    sentences are compared.
    """
    language = language_of(pair.language)
    answers = () if all(map(is_yes_or_no, pair.answers)) else pair.answers
    wanted = language.content_words(" ".join((pair.question, *answers)))

    def likeness(sentence: str) -> tuple[bool, int]:
        holds = any(language.contains(sentence, answer) for answer in answers)
        return holds, len(wanted & language.content_words(sentence))

    sentences = [
        (" ".join(sentence.split()), _opening(document))
        for document in pair.documents
        for sentence in pair.sentences
        if sentence in document.text
    ] or [
        (sentence.rpartition("\n")[2], _opening(document))
        for document in pair.documents
        for sentence in language.sentences(document.text)
    ]
    return max(sentences, key=lambda sentence: likeness(sentence[0]))


def _opening(document: Document) -> str:
    return document.text.lstrip().partition("\n")[0][:_OPENING]


def excerpts(pair: Pair) -> tuple[str, ...]:
    """Return the sentences that share the most words with question and answers, in their order."""
    language = language_of(pair.language)
    wanted = language.content_words(" ".join((pair.question, *pair.answers)))
    sentences = [sentence for document in pair.documents for sentence in _sure_sentences(document.text, pair.language)]
    ranked = sorted(range(len(sentences)), key=lambda at: (-len(wanted & language.content_words(sentences[at])), at))
    return tuple(sentences[at] for at in sorted(ranked[:EXCERPTS]))


def _sure_sentences(text: str, language: str) -> list[str]:
    """Split only where a sentence certainly ends: not within "Who's Afraid of Virginia Woolf? "."""
    ends = [0, *boundaries(text, language), len(text)]
    return [sentence for start, end in pairwise(ends) if (sentence := text[start:end].strip())]
