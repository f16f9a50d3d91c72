"""What people revise of LV-Eval (sections 3.2.2, 3.2.3 and 3.3): facts, rules, conflicts, keywords, the blacklist."""

from flows.families.lveval.confusing import answer_problem
from flows.families.lveval.naming import keywords_problem
from flows.llm.model import Problem
from schemas.lveval import AnswerKeywords, ConfusingFact
from schemas.rubric import Choice, Rubric, Shown, Written

KEEP, EDIT, REJECT = "keep", "edit", "reject"
DECISIONS = (KEEP, EDIT, REJECT)


def _decision(question: str) -> tuple[Choice]:
    return (Choice(name="decision", question=question, options=DECISIONS, accepts=(KEEP,), fixes=(EDIT,)),)


CONFUSING_FACT = Rubric(
    name="lveval-confusing-fact",
    version=1,
    guideline="guideline.confusing-facts.md",
    shows=(
        Shown(name="question"),
        Shown(name="answers", title="Right answers"),
        Shown(name="original_fact", title="The original fact"),
        Shown(name="fact", title="The confusing fact"),
    ),
    asks=_decision("Is it like the original fact, without answering the question and without contradicting it?"),
    writes=(Written(name="fact", title="The confusing fact", corrects=True),),
)
REPLACEMENTS = Rubric(
    name="lveval-replacements",
    version=1,
    guideline="guideline.replacements.md",
    shows=(Shown(name="question"), Shown(name="answers"), Shown(name="excerpts", title="Where the keywords stand")),
    asks=_decision("Are these the keywords to be replaced, each by a sound substitute?"),
    writes=(Written(name="rules", title="A rule a line: keyword -> substitute", corrects=True),),
)
CONFLICTS = Rubric(
    name="lveval-conflicts",
    version=1,
    guideline="guideline.replacements.md",
    shows=(Shown(name="question"), Shown(name="answers"), Shown(name="conflicts", title="What goes wrong")),
    asks=_decision("Can the rules stay as they are? A rule in conflict is left out."),
    writes=(Written(name="rules", title="A rule a line: keyword -> substitute", corrects=True),),
)
KEYWORDS = Rubric(
    name="lveval-keywords",
    version=1,
    guideline="guideline.keywords.md",
    shows=(Shown(name="question"), Shown(name="answer"), Shown(name="keywords")),
    asks=_decision("Must a right prediction hold these words, and no others?"),
    writes=(Written(name="keywords", title="Words of the answer, with spaces between", corrects=True),),
)
BLACKLIST = Rubric(
    name="lveval-blacklist",
    version=1,
    guideline="guideline.keywords.md",
    shows=(Shown(name="word"), Shown(name="matches", title="Answers that hold it, as predictions do")),
    asks=(Choice(name="informative", question="Does the word say something by itself?", options=("yes", "no")),),
)
RUBRICS = (CONFUSING_FACT, REPLACEMENTS, CONFLICTS, KEYWORDS, BLACKLIST)


def unfit_fact(record: ConfusingFact) -> Problem:
    """Why what people wrote is no confusing fact."""
    return answer_problem(record.language, record.answers, record.fact)


def unfit_keywords(record: AnswerKeywords) -> Problem:
    """Why what people marked are no keywords of the answer."""
    return keywords_problem(record.language, record.answer, record.keywords)
