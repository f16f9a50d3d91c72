"""Confusing facts for the builder without a model: statements that run parallel to the fact (section 3.2.2).

Figure A7's two facts say what the question asks of another city, and of other sections of the same road. So do these.
The subject fact is the question's own statement, or the fact, of somebody or something else: the name is an invented
one, and the answer another of its kind. The object fact says what the page says of the subject besides, or the same of
what belongs to the subject or is next to it (a cousin, a sequel), or of another year. Where a question gives no name to
work with, a sentence of another document serves that speaks of the same things. What cannot be said soundly is left
out.
"""

import random
import re
from collections.abc import Iterable, Iterator

from flows.construct.retrieve import BM25Index
from flows.families.lveval import parallels_en, parallels_zh
from flows.families.lveval.confusing import CHANGES, fact_problem, subjects
from flows.families.lveval.parallels_en import Made
from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.things_en import names
from flows.language import language_of
from flows.language.choices import is_yes_or_no
from schemas.lveval import Changed, Pair

OFFERED = 3
"""Facts of either kind that the rules may choose from."""
RANKED = 60
"""Sentences of other documents that are looked at for one pair, at most."""
LEAST_COMMON = 2
"""Content words, but names, of question or original in a fact that is not the question's own statement."""
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")
LEAST_SHARE = 1 / 3
"""Share of the question's content words in a sentence of another document."""
LEAST_ASKED = 3
"""Content words of the question in a sentence of another document."""


class Parallels:
    """What confusing facts can be made of, for each of a dataset's pairs."""

    def __init__(self, language: str, documents: Iterable[str]) -> None:
        every = tuple(dict.fromkeys(documents))
        self._pages = parallels_zh.kinds(every if language == "zh" else ())
        english = every if language == "en" else ()
        self._sayings = list(dict.fromkeys(said for document in english for said in parallels_en.sayings(document)))
        self._index = BM25Index(self._sayings)

    def facts(self, asked: ToConfuse, pair: Pair, rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Subject facts and object facts that pass, the best first; no object fact is the first subject fact."""
        documents = [document.text for document in pair.documents]
        said = tuple(self._alike(asked, documents))
        if asked.language == "zh":
            made = parallels_zh.facts(asked, documents, self._pages, rng)
        else:
            made = parallels_en.facts(asked, documents, said, rng)
        others = (Made(one, stated=False) for one in said if not subjects(asked.language, asked.question))
        subject = _sound(asked, CHANGES[0], (*made[0], *others))
        further = parallels_en.further(asked, documents) if asked.language == "en" else ()
        besides = (Made(one, stated=True) for one in further if not any(one in text for text in documents))
        own = (Made(one, stated=False) for one in said if one not in subject[:1] and _speaks_of_it(asked, one))
        return subject, _sound(asked, CHANGES[1], (*besides, *made[1], *own))

    def _alike(self, asked: ToConfuse, documents: list[str]) -> Iterator[str]:
        """Sentences of other documents that speak of the same things, the likest first."""
        if not self._sayings:
            return
        words = language_of(asked.language).content_words
        wanted, own = words(asked.question), "\n".join(documents)
        found: list[tuple[float, str]] = []
        for place in self._index.rank([f"{asked.question} {asked.fact}"], RANKED)[0].tolist():
            saying = self._sayings[place] if place >= 0 else ""
            common = len(words(saying) & wanted)
            if saying and saying not in own and common >= max(LEAST_ASKED, len(wanted) * LEAST_SHARE):
                found.append((-2 * common / (len(words(saying)) + len(wanted)), saying))
        yield from (saying for _, saying in sorted(found))


def _speaks_of_it(asked: ToConfuse, text: str) -> bool:
    """Whether an English text names in full what the question names first, where that names anything."""
    words = language_of("en").content_words
    named, said = [words(name) for name in names(asked.question, ())], words(text)
    return not subjects("en", asked.question) or any(name and name <= said for name in named[:1])


def _sound(asked: ToConfuse, change: Changed, made: Iterable[Made]) -> tuple[str, ...]:
    """The first few that pass, each once."""
    answers = [_ASIDE.sub("", answer).strip(" .。") for answer in asked.answers]
    answers = [answer for answer in answers if not is_yes_or_no(answer)]
    module = language_of(asked.language)
    found: dict[str, None] = {}
    for fact, stated in made:
        passes = fact_problem(asked, change, fact) is None and (stated or _bears_on(asked, fact)) and '""' not in fact
        if passes and not any(module.contains(fact, answer) for answer in answers):
            found[fact] = None
            if len(found) == OFFERED:
                break
    return tuple(found)


def _bears_on(asked: ToConfuse, fact: str) -> bool:
    """Whether it is like question or original by more than the names of the question."""
    words = language_of(asked.language).content_words
    common = words(fact) & words(f"{asked.question}\n{asked.fact}")
    named = subjects(asked.language, asked.question)
    return len([one for one in common if not any(one in name for name in named)]) >= LEAST_COMMON
