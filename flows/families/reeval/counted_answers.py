"""The numbers and dates that the cases ask for. Rules cannot see other cases: they are given these to choose from."""

from collections.abc import Mapping
from dataclasses import dataclass

from flows.construct.engine import StepContext
from flows.families.reeval.settings import ReEvalSettings
from flows.language import language_of
from schemas.reeval import Case


@dataclass(frozen=True)
class CountedAnswers:
    """The numbers and dates that all cases ask for, by kind."""

    by_kind: Mapping[tuple[str, str], tuple[str, ...]]

    def like(self, case: Case) -> tuple[str, ...]:
        """Those of the kind of the case's answer, sorted; none if that is no number or date."""
        return self.by_kind.get(_kind_of(case), ())


def count_answers(step: StepContext[ReEvalSettings, Case]) -> CountedAnswers:
    """Collect the numbers and dates that the cases ask for."""
    by_kind: dict[tuple[str, str], set[str]] = {}
    for case in step.inputs:
        kind = _kind_of(case)
        if kind[1].startswith(("number:", "date:")):
            by_kind.setdefault(kind, set()).add(case.answer)
    return CountedAnswers({kind: tuple(sorted(answers)) for kind, answers in by_kind.items()})


def _kind_of(case: Case) -> tuple[str, str]:
    """The answer's kind, among answers that may replace each other: Chinese ones of a source, which use one script."""
    among = case.language if case.language == "en" else f"{case.language} {case.source}"
    return among, language_of(case.language).kind(case.answer, case.question)
