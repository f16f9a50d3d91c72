"""The questions that a profile answers of a model."""

from collections.abc import Mapping

from flows.construct.evaluation import Question

QUESTIONS: Mapping[Question, str] = {
    "use": "Does it use the evidence that it is given?",
    "evidence": "Does it use the evidence against its memory?",
    "absence": "Does it notice that there is no evidence?",
    "length": "Does it hold over length?",
    "near facts": "Is it misled by near facts?",
    "instruction": "Does it do as it is told, and remember it?",
}
"""In the order of the page."""
