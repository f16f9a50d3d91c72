"""What people are asked about an item of Misdate."""

from flows.construct.people import sample
from schemas.rubric import Choice, Rubric, Shown

CHECK = Rubric(
    name="misdate-check",
    version=1,
    title="Does the text answer the question?",
    guideline="guideline.md",
    shows=(
        Shown(name="context", title="Text"),
        Shown(name="question", title="Question"),
        Shown(name="answer", title="Answer"),
    ),
    asks=(
        Choice(
            name="answers", question="Does the text answer the question so?", options=("yes", "no"), accepts=("yes",)
        ),
    ),
)
PEOPLE = sample(CHECK)
