"""The forms in which people revise facts, rules, conflicts, keywords and the blacklist (sections 3.2.2 to 3.3)."""

from collections.abc import Iterable, Iterator

from flows.families.lveval.answer_keywords import keywords_problem
from flows.families.lveval.chinese import CHINESE
from flows.families.lveval.confusing_facts import fact_problem
from flows.families.lveval.datasets import BY_NAME
from flows.families.lveval.inputs import ToConfuse
from flows.llm.model import Problem
from schemas.lveval import AnswerKeywords, ConfusingFact, Pair
from schemas.rubric import Choice, Marked, Rubric, Shown, Task, Written, task_of

KEEP, EDIT, REJECT = "keep", "edit", "reject"
DECISIONS = (KEEP, EDIT, REJECT)


TEXTS = {"zh": CHINESE}


def _decision(question: str, about: str) -> tuple[Choice]:
    return (Choice(name="decision", question=question, about=about, options=DECISIONS, accepts=(KEEP,), fixes=(EDIT,)),)


def _shows(**titles: str) -> tuple[Shown, ...]:
    return tuple(Shown(name=name, title=title) for name, title in titles.items())


CONFUSING_FACT = Rubric(
    name="lveval-confusing-facts",
    title="Is it a good confusing fact?",
    version=2,
    guideline="guideline.confusing-facts.md",
    texts=TEXTS,
    shows=_shows(
        question="Question", answers="Right answers", original_fact="The original fact", fact="The confusing fact"
    ),
    asks=_decision("Is it like the original, without answering the question or contradicting the original?", "fact"),
    writes=(
        Written(
            name="fact",
            title="The confusing fact, corrected",
            hint="One sentence of plain prose that names no right answer",
            corrects=True,
            lines=3,
        ),
    ),
)
RULES = Written(
    name="rules",
    title="The rules, corrected: one per line, keyword -> substitute",
    hint="Albert Einstein -> Paul Hartmann",
    corrects=True,
    lines=8,
)
REPLACEMENTS = Rubric(
    name="lveval-replacements",
    title="Which keywords do we replace, and with what?",
    version=2,
    guideline="guideline.replacements.md",
    texts=TEXTS,
    shows=_shows(
        question="Question", answers="Answers", rules="Proposed rules", excerpts="Sentences that contain the keywords"
    ),
    asks=_decision("Are these the right keywords to replace, each with a good substitute?", "rules"),
    writes=(RULES,),
)
CONFLICTS = Rubric(
    name="lveval-conflicts",
    title="What goes wrong when the keywords are replaced?",
    version=2,
    guideline="guideline.replacements.md",
    texts=TEXTS,
    shows=(
        *_shows(question="Question", answers="Answers", rules="The rules"),
        Shown(name="conflicts", title="What goes wrong", of_program=True),
    ),
    asks=_decision("Can the rules stay as they are? A rule in conflict will be left out.", "rules"),
    writes=(RULES,),
)
KEYWORDS = Rubric(
    name="lveval-keywords",
    title="What must a right answer contain?",
    version=2,
    guideline="guideline.keywords.md",
    texts=TEXTS,
    shows=_shows(question="Question", answer="Answer", keywords="Proposed keywords"),
    asks=_decision(
        "Must a right answer contain the proposed words, and no others? To edit, mark all that it must contain.",
        "keywords",
    ),
    marks=(Marked(name="keywords", title="Keyword", of="answer", corrects=True),),
)
BLACKLIST = Rubric(
    name="lveval-blacklist",
    title="Does the word mean something by itself?",
    version=2,
    guideline="guideline.keywords.md",
    texts=TEXTS,
    shows=(
        Shown(name="word", title="Word"),
        Shown(name="matches", title="Answers that contain it", around="word"),
    ),
    asks=(Choice(name="informative", question="Does the word mean something by itself?", options=("yes", "no")),),
)
ANSWERABLE = Rubric(
    name="answerable-without-context",
    title="Can it be answered without the text?",
    version=1,
    guideline="guideline.answerable.md",
    texts=TEXTS,
    shows=_shows(question="Question", answer="Right answer"),
    asks=(
        Choice(
            name="answerable",
            question="Would common sense or general knowledge give this answer, without the text?",
            options=("yes", "no"),
            accepts=("no",),
        ),
    ),
    overlaps=True,
)
"""Appendix A: of MultiFieldQA "we manually remove questions that can be answered using common-sense knowledge without
referring to the context". The answer is shown: without it nobody knows whether their own answer is right."""
RUBRICS = (BLACKLIST, ANSWERABLE)  # the rubrics of no part


def answerable_tasks(pairs: Iterable[Pair], seed: int) -> Iterator[Task]:
    """Yield the questions of MultiFieldQA and of one's own datasets, each with its first answer (appendix A)."""
    for pair in pairs:
        if BY_NAME[pair.dataset].unknown if pair.dataset in BY_NAME else pair.written is None:
            yield task_of(pair, ANSWERABLE, {"question": pair.question, "answer": pair.answers[0]})


def unfit_fact(record: ConfusingFact) -> Problem:
    """Return why a fact that people wrote is not a confusing fact of its kind."""
    asked = ToConfuse(
        question=record.question,
        answers=record.answers,
        fact=record.original_fact,
        title="",
        language=record.language,
    )
    return fact_problem(asked, record.changes, record.fact)


def unfit_keywords(record: AnswerKeywords) -> Problem:
    """Return why the words that people marked cannot be the keywords of the answer."""
    return keywords_problem(record.language, record.answer, record.keywords)
