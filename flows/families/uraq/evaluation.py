"""How a model is asked about URAQ's evaluation rows, and how its replies are scored."""

from collections.abc import Iterable, Iterator, Sequence
from operator import methodcaller

from data.publish.benchmark import HubScorer, HubTask, ReadyColumn
from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Measure, Request, Scorer, Selection, columns
from flows.families.uraq.contexts import URAQ
from flows.families.uraq.method import to_read
from flows.families.uraq.prompts import ANSWER_WITH_CONTEXT
from flows.families.uraq.score import CHALLENGES, COLUMNS, FORM, SETTINGS, is_natural, measure_of
from flows.families.uraq.score import score as scores_of
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.prediction import Prediction
from schemas.uraq import NEEDS, EvaluationRow, Need

CONTEXTS = "contexts in a row"
LAYOUTS = {
    "overall accuracy": Layout("model / data set", CONTEXTS),
    "case-level accuracy": Layout("model / data set / user need", CONTEXTS),
    "setting-specific accuracy": Layout("model / data set / user need / setting", CONTEXTS),
    "setting-specific accuracy, also right under match": Layout("model / data set / user need / setting", CONTEXTS),
    "I don't know among context-exclusive errors": Layout("model / data set", "share of those errors"),
    "wrong with 1 context, right with the most": Layout(
        "model / data set / user need",
        '"number": replies that are wrong with 1 context and right with the most; "share of single negatives": '
        'how many of these were a bare "no", "none" or "0" with 1 context',
    ),
    "replies without <output>": Layout("model / data set / user need", CONTEXTS),
    "context tokens": Layout("data set", CONTEXTS),
}


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool = False, settings: object = None
) -> ScoreTables:
    """Return every table. `settings` are not needed. Raises `ScoreError` if predictions do not fit the rows."""
    return score_tables(
        scores_of, rows, predictions, partial, LAYOUTS.__getitem__,
        lambda table: "count" if table == "context tokens" else "share",
    )  # fmt: skip


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's task: an item with a number of contexts is a document, in all settings and under all needs."""
    of_needs = [Metric(f"case_{need}") for need in NEEDS]
    of_settings = [Metric(f"{need}_{setting}") for need in NEEDS for setting in SETTINGS]
    with_match = [Metric(f"{need}_{setting}_and_match") for need in NEEDS for setting in CHALLENGES]
    return [
        ReplyScoring(
            about="each item with each number of contexts, in every setting and under every user need",
            variants=variants,
            columns={"need": "variant", "contexts": "contexts", "question": "question"},
            target="{{ expected[variant] }}",
            metrics=[
                Metric("overall"), *of_needs, *of_settings, *with_match, Metric("untagged", higher_is_better=False)
            ],
            values="`overall` is the share of items that are right under all needs in all settings, `case_NEED` under "
            "one need in all settings, `NEED_SETTING` in one setting (`_and_match`: in match as well), as in the "
            "paper's section 4.3; `untagged` is the share of replies without `<output>`.",
            together=("dataset", "item_id", "n_contexts"),
        )
    ]  # fmt: skip


def _answer(need: Need) -> str:
    return f"answer_{need.replace('-', '_')}"


READY = (
    ReadyColumn(
        "information",
        "The contexts as a prompt shows them, in one text",
        "contexts",
        lambda contexts: "\n".join(f"<info>{context}</info>" for context in contexts),
    ),
    *(
        ReadyColumn(_answer(need), f"The right answer under {need}", "expected", methodcaller("get", need, ""))
        for need in NEEDS
    ),
)
LAST_OUTPUT = r"(?s).*<output>\s*(.*?)\s*(?:</output>|$)"
"""What the last `<output>` tag holds."""


def hub_tasks(row: EvaluationRow) -> Sequence[HubTask]:
    """A task for each user need. Numbers and names are compared letter for letter there, but for case."""
    return [
        HubTask(
            variant=need,
            input="question",
            shows=("information",),
            target=_answer(need),
            scorers=(HubScorer("pattern", {"pattern": LAST_OUTPUT}),),
            figure=(measure_of(f"accuracy, {need}", natural=is_natural(row.dataset)), None),
        )
        for need in NEEDS
    ]


def _measures(*, natural: bool) -> Iterator[Measure]:
    """Yield the measures of what was made to conflict, or of natural conflicts."""
    for need in NEEDS:
        name = measure_of(f"accuracy, {need}", natural=natural)
        yield Measure(name, "length", "replies that are right, over all settings", CONTEXTS)
    for need in ("context-first", "context-exclusive"):
        name = measure_of(f"conflict, {need}", natural=natural)
        yield Measure(name, "evidence", "replies that follow the contexts, against memory", CONTEXTS, by_change=False)
    name, tells = "irrelevant, context-exclusive", "replies that say that the contexts have no answer"
    yield Measure(measure_of(name, natural=natural), "absence", tells, CONTEXTS, by_change=False)


EVALUATION = Evaluation(
    parts=("evaluation",),
    selection=Selection("context_counts", lambda row: row.n_contexts if row.dataset == URAQ else None),
    prompts=(ANSWER_WITH_CONTEXT,),
    requests=lambda row, settings: [Request(need, ANSWER_WITH_CONTEXT, to_read(row, need)) for need in NEEDS],
    level="n_contexts",
    scored=columns(*COLUMNS),
    score=score,
    scorer=Scorer(
        FORM,
        "`prediction` is the whole reply. Its answer is what the last `<output>` tag holds: a reply without the tag is "
        "wrong, and is counted.",
        score=scores_of,
        replies=reply_scoring,
    ),
    hub_tasks=hub_tasks,
    limits=(
        "The contexts of URAQ hold statements that were made false on purpose, and the expected answers follow them.",
        "Rows of URAQ that share an `item_id` ask the same question, so they are not independent.",
    ),
    headline={
        "overall accuracy": "share of items that are answered rightly under all user needs in all context settings, by "
        "the number of contexts"
    },
    measures=(*_measures(natural=False), *_measures(natural=True)),
)
