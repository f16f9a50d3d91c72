"""What ReEval can be built from, for `touchstone new`."""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.construct.proposal import Found, Lacking, Material, Proposal, other_columns, source
from schemas.base import counted
from schemas.source import Passage, QASource


def propose(found: Found) -> Proposal:
    """Propose all questions whose answers are in their evidence, with the other texts as passages."""
    asked, parts = found.answered, found.parts_giving(QASource)
    if not asked and not parts:
        raise Lacking("wants questions with the passage that has the answer, word for word")
    passages = found.parts_giving(Passage) or [source(some) for some in found.documents]
    settings: dict[str, Any] = {"seeds": "all", "entailment": "off"}
    comments = {"seeds": "with a model write pivot, and right: em: it takes what the model can answer"}
    if not found.by_rules:
        settings = {"seeds": "pivot", "right": "em", "entailment": "off"}
        comments = {
            "seeds": "what the model can answer; all takes everything",
            "entailment": "for right: either leave this line out: a model is loaded from the Hub",
        }
    settings["sources"] = [*(source(some) for some in asked), *parts]
    if passages and not asked:
        settings = {"parts": ["category1"], **settings}
        comments["parts"] = "category2 wants three other pages on a question's matter: few manuals have them"
    if passages:
        settings["passages"] = passages
    else:
        comments["sources"] = "category 2 mixes in other texts on the same things: name them under passages"
    return Proposal(settings, _what(asked, parts), {**comments, **other_columns("sources", asked)})


def _what(asked: Sequence[Material], parts: Sequence[Mapping[str, str]]) -> str:
    number = sum(len(some.with_answers()) for some in asked)
    askers = " and ".join(part["part"].partition("-")[0] for part in parts)
    if number == 0:
        return f"the questions that {askers} asks"
    more = f" and those that {askers} asks" if askers else ""
    return f"{counted(number, 'question')} with evidence{more}"
