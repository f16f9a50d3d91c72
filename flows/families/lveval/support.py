"""The sentences of a pair's supporting documents that its question is about."""

from itertools import pairwise

from flows.language import language_of
from flows.language.boundaries import boundaries
from flows.language.choices import is_yes_or_no
from schemas.lveval import Pair

EXCERPTS = 16  # sentences of the supporting documents shown to whoever writes rules, at most
_OPENING = 80  # characters of a document's first line that tell what it is about


def supporting_sentence(pair: Pair) -> tuple[str, str]:
    """Return the sentence that supports the answer, without a title above it, and the first line of its document.

    Among the sentences that hold an answer, it is the one that shares most words with question and answers. Where none
    does, or the answer is yes or no, all sentences are compared.
    """
    language = language_of(pair.language)
    answers = () if all(map(is_yes_or_no, pair.answers)) else pair.answers
    wanted = language.content_words(" ".join((pair.question, *answers)))

    def likeness(sentence: str) -> tuple[bool, int]:
        holds = any(language.contains(sentence, answer) for answer in answers)
        return holds, len(wanted & language.content_words(sentence))

    sentences = [
        (sentence.rpartition("\n")[2], document.text.lstrip().partition("\n")[0][:_OPENING])
        for document in pair.documents
        for sentence in language.sentences(document.text)
    ]
    return max(sentences, key=lambda sentence: likeness(sentence[0]))


def excerpts(pair: Pair) -> tuple[str, ...]:
    """Return the sentences that share most words with question and answers, in their order."""
    language = language_of(pair.language)
    wanted = language.content_words(" ".join((pair.question, *pair.answers)))
    sentences = [sentence for document in pair.documents for sentence in _sure_sentences(document.text, pair.language)]
    ranked = sorted(range(len(sentences)), key=lambda at: (-len(wanted & language.content_words(sentences[at])), at))
    return tuple(sentences[at] for at in sorted(ranked[:EXCERPTS]))


def _sure_sentences(text: str, language: str) -> list[str]:
    """Split only where a sentence surely ends: not within "Who's Afraid of Virginia Woolf? "."""
    ends = [0, *boundaries(text, language), len(text)]
    return [sentence for start, end in pairwise(ends) if (sentence := text[start:end].strip())]
