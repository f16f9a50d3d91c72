"""Documents: questions whose answers stand in somebody's own documents, for the other families to build on.

There is no paper behind it: the method is Touchstone's own (`method.py`).
"""

from dataclasses import replace
from pathlib import Path

from flows.construct.engine import Family, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.paper import Paper
from flows.construct.release import Apart, Released
from flows.families.documents import charts, keep, method, plan, prompts, rubric, verify
from flows.families.documents.evaluation import EVALUATION
from flows.families.documents.proposal import propose
from flows.families.documents.settings import LANGUAGES, DocumentsSettings
from flows.families.documents.view import view
from schemas.documents import ComparedQuestion, DocumentConflict, DocumentPair, DocumentStatement
from schemas.source import Passage

ANSWERED_OTHERWISE = 0.1
"""How many other passages answer a question otherwise. For estimates."""
SAME_JUDGED = 0.5
"""How often a reader's answer has other words, so that a second question decides. For estimates."""


def _problems(settings: DocumentsSettings, models: object) -> list[str]:
    """Why the settings cannot work, each with its place."""
    if not settings.sources:
        return ["sources: is empty; name documents: {format: documents, path: FOLDER}"]
    return [
        f"sources[{place}]: {spec.name}: language {spec.language}: questions are asked in {' and '.join(LANGUAGES)}; "
        "correct the source's language, or leave it out"
        for place, spec in enumerate(settings.sources)
        if spec.language not in LANGUAGES
    ]


def _by_settings(family: Family, settings: DocumentsSettings) -> Family:
    """People judge a sample of the questions and contradictions, or every one."""
    people = {"pairs": rubric.people(settings.review), "conflicts": rubric.conflict_people(settings.review)}
    return replace(
        family, parts=tuple(replace(part, people=people.get(part.name, part.people)) for part in family.parts)
    )


FAMILY = Family(
    name="documents",
    paper=Paper(
        title="Questions on documents of one's own",
        short="Documents",
        year=2026,
        authors="Touchstone",
    ),
    settings=DocumentsSettings,
    problems=_problems,
    by_settings=_by_settings,
    prompts=prompts.PROMPTS,
    parts=(
        Part(
            "passages",
            source=Passage,
            item=Passage,
            steps=(each(method.choose_passage),),
            verify=verify.verify_passages,
            charts=charts.passage_charts,
        ),
        Part(
            "questions",
            source=Passage,
            uses=("passages",),
            item=ComparedQuestion,
            steps=(
                expand(
                    method.ask_question,
                    version=3,
                    prompts=[prompts.ASK_PAIR],
                    prepare=plan.plan,
                    slots=plan.slots_of,
                    settings=["pairs", "kinds", "drafts", "most_per_document"],
                    expected=Expected(
                        slots=lambda settings: plan.MOST_OF_A_PASSAGE,
                        slots_in_all=plan.first_round,
                    ),
                ),
                each(method.judge_question, prompts=[prompts.JUDGE_QUESTION]),
                each(
                    method.check_answer,
                    version=2,
                    prompts=[prompts.READ_ANSWER, prompts.SAME_ANSWER],
                    expected=Expected(
                        calls=lambda settings: {prompts.READ_ANSWER.name: 1, prompts.SAME_ANSWER.name: SAME_JUDGED}
                    ),
                ),
                each(
                    method.prescreen,
                    version=3,
                    prompts=[prompts.RECALL_ANSWER, prompts.SAME_ANSWER],
                    settings=["prescreen"],
                    asks={"prescreen": "prescreen"},
                    expected=Expected(
                        calls=lambda settings: {
                            prompts.RECALL_ANSWER.name: len(settings.prescreen),
                            prompts.SAME_ANSWER.name: SAME_JUDGED * len(settings.prescreen),
                        }
                    ),
                ),
                each(
                    method.compare_passages,
                    version=4,
                    prompts=[prompts.READ_ANSWER, prompts.SAME_ANSWER, prompts.WEIGH_ANSWERS],
                    prepare=method.rivals,
                    settings=["rivals"],
                    embeds=True,
                    expected=Expected(
                        calls=lambda settings: {
                            prompts.READ_ANSWER.name: settings.rivals,
                            prompts.SAME_ANSWER.name: SAME_JUDGED,
                            prompts.WEIGH_ANSWERS.name: ANSWERED_OTHERWISE,
                        }
                    ),
                ),
                all_(
                    keep.keep_wanted,
                    version=6,
                    prompts=prompts.OF_A_QUESTION,
                    settings=["pairs", "kinds", "drafts", "most_per_document", "prescreen", "rivals", "similar_above"],
                    asks={"prescreen": "prescreen"},
                    creates=True,
                    embeds=True,
                    expected=Expected(
                        calls=lambda settings: {prompt.name: 0 for prompt in prompts.OF_A_QUESTION},
                        kept=lambda settings: settings.pairs,
                        asks_more=lambda settings: settings.pairs * settings.drafts,
                    ),
                ),
            ),
            verify=verify.verify_questions,
        ),
        Part(
            "pairs",
            source=ComparedQuestion,
            uses=("passages",),
            item=DocumentPair,
            steps=(
                each(
                    method.require_one_answer,
                    version=2,
                    prepare=method.others,
                    expected=Expected(kept=lambda settings: settings.pairs),
                ),
            ),
            people=rubric.people("sample"),
            verify=verify.verify_pairs,
            charts=charts.pair_charts,
            released=Released("id", ("question",), verification_inputs=("passages",)),
        ),
        Part(
            "conflicts",
            source=ComparedQuestion,
            uses=("passages",),
            item=DocumentConflict,
            steps=(
                expand(
                    method.require_contradiction,
                    prepare=method.others,
                    slots=method.answered_otherwise,
                    expected=Expected(slots=lambda settings: ANSWERED_OTHERWISE),
                ),
            ),
            people=rubric.conflict_people("sample"),
            verify=verify.verify_conflicts,
            charts=charts.conflict_charts,
            released=Released(
                "id",
                ("question",),
                # The whole part: no score is taken over questions with one answer and with two.
                apart=Apart("conflicts", "natural", "kind", lambda kind: True),
                verification_inputs=("passages", "pairs"),
            ),
        ),
        Part(
            "statements",
            source=DocumentPair,
            uses=("pairs",),
            item=DocumentStatement,
            steps=(each(method.write_statement, version=2, prompts=[prompts.STATE]),),
            verify=verify.verify_statements,
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="pairs",
    folder=Path(__file__).parent,
    rules_advice="the rules ask of sentences in a few plain forms: give more documents, or name a model",
    propose=propose,
    place=1,
)
