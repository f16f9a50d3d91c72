"""Whether the pivot's answer to a question is right (ReEval, section 4.1, "Generated Data")."""

from dataclasses import dataclass

from flows.construct.engine import StepContext
from flows.construct.entailment import Judge
from flows.families.reeval.score import premise_and_hypothesis
from flows.families.reeval.settings import ReEvalSettings, RightBy, entailment_model
from flows.scoring.qa import exact_match
from schemas.reeval import Case


@dataclass(frozen=True)
class Grader:
    """Tells whether the pivot's answer is right (section 4.1, "Generated Data")."""

    rule: RightBy
    judge: Judge | None

    async def right(self, case: Case, output: str) -> bool:
        """By exact match, or if "question + output" entails "question + answer"."""
        matches = exact_match(output, [case.answer, *case.aliases], case.language) == 1
        if self.rule == "em" or (self.rule == "either" and matches):
            return matches
        assert self.judge is not None
        return await self.judge.entails(premise_and_hypothesis(case.question, output, case.answer))


def grader(step: StepContext[ReEvalSettings]) -> Grader | None:
    """The grader of seed selection; None if every case is a seed."""
    settings = step.settings
    if settings.seeds == "all":
        return None
    return Grader(settings.right, None if settings.right == "em" else Judge(entailment_model(settings.entailment)))
