"""RefuteBench 2.0's meta-evaluation (section 4.4): refutations, and the answers to them, as people rate them."""

from schemas.rubric import Choice, Rubric, Shown

RATINGS = ("1", "2", "3", "4", "5")  # section 4.4.1: "ranging from 1 to 5"

REFUTE_RATING = Rubric(
    name="refute-rating",
    title="How good is the refutation, and was it followed?",
    version=1,
    guideline="guideline.refute-rating.md",
    shows=(
        Shown(name="dialogue", title="Dialogue, up to the answer that is refuted", kind="dialogue"),
        Shown(name="refutation", title="Refutation"),
        Shown(name="response", title="New answer"),
    ),
    listed="refutation",
    asks=(
        Choice(
            name="human_likeness",
            question="Human-likeness: could a person have written the refutation?",
            options=RATINGS,
            ordered=True,
            ends=("a template", "a person"),
        ),
        Choice(
            name="appropriateness",
            question="Appropriateness: does the refutation fit what was asked and answered?",
            options=RATINGS,
            ordered=True,
            ends=("not at all", "one sensible thing, not done yet"),
        ),
        Choice(
            name="following",
            question="Following: does the new answer do what the refutation asks?",
            options=RATINGS,
            ordered=True,
            ends=("not at all", "all of it"),
        ),
    ),
    people_per_item=2,  # "two annotators"
)
"""Departure: the paper asks for the first two with the query, the answer and the refutation before people (4.4.1), and
for the third with the new answer as well (4.4.2), in two rounds; we ask for all in one form, and the guideline for the
first two before the new answer is read."""
