"""Asks a model about a family's accepted rows: one prediction for each row and variant (and prompting and shots)."""

import asyncio
import gc
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.construct.evaluation import Choice, Request
from flows.evaluate.rows import EvaluatedRows, Rows
from flows.llm.endpoint_settings import is_batched
from flows.llm.likelihood import SCORES, Likelihood, LikelihoodModel, Options, TooLong
from flows.llm.local import LocalModel
from flows.llm.model import (
    CUT_OFF,
    REFUSED,
    TOO_LONG,
    BudgetSpent,
    InvalidAnswer,
    Model,
    NoAnswer,
    Prompt,
    TransportError,
    Usage,
)
from flows.project.evaluated import ENDING, settings_now
from flows.project.locks import one_evaluation
from flows.project.project import Project
from flows.scoring.on_disk import Rows as RowsById
from schemas.base import Record, counted
from schemas.errors import Failed
from schemas.prediction import Prediction

EVALUATED = "evaluated"
"""The role of the model that is asked."""
WEIGHED_AT_ONCE = 16
"""Rows whose options are weighed together; prompts that begin alike are then read one after the other."""


GROUPS_AT_ONCE = 8
"""Groups of rows that are asked about together: while the first is waited for, a server is not idle."""
BATCHED_ROWS, BATCHED_GROUPS_AT_ONCE = 512, 128
"""Rows of a group, and groups at once, if the model is asked in batches: each wait takes hours."""

GONE_AFTER = 64
"""Questions in a row without an answer, each asked as often as the model's settings say: more are not asked."""
FIRST_TRIES = 3
"""The same of a server of which nothing is known yet: they are asked one by one, while the others wait."""

COLLECTIONS = 20_000, 10, 10
"""The thresholds of the garbage collector while a model is asked."""

Predicted = list[Prediction | BudgetSpent | TransportError]
"""Predictions on rows, with the error in place of any that was not paid for, or not answered."""


class Unanswered(Failed):
    """Some questions got no answer: the predictions that were written are those on the others."""


class NothingAnswered(BudgetSpent):
    """The budget was spent before the first answer: no file was written, and an earlier one is unchanged."""


def predict(
    project: Project,
    family: Family,
    model: Model,
    rows: EvaluatedRows,
    path: Path,
    progress: Callable[[int, int], None],
    usage: Usage | None = None,
) -> Usage:
    """Ask `model` about the rows, write its predictions to `path` in the rows' order, and add what was used to `usage`.

    A refusal or an empty answer is a prediction like any other: it is scored as it is. A question that the server
    rejected is a failure. Rows with the same id are one question (two pivots may have made the same case), which is
    asked once. If the budget runs out, the answers so far are written and `BudgetSpent` is raised, or `NothingAnswered`
    if there are none. If some questions get no answer, those to the others are written and `Unanswered` is raised, or
    if there are none, the `TransportError` of the first.
    """
    configured = project.build.families[family.name].prompts
    # A family may use the same prompts for its pivot; here they are for another role.
    prompts = {prompt.name: replace(configured[prompt.name], role=EVALUATED) for prompt in family.evaluation.prompts}
    usage = Usage() if usage is None else usage
    asking = _Asking(model, prompts, usage)
    settings = settings_now(project, family)

    def ask(batch: list[Any]) -> Future[Predicted]:
        requests = [(row.id, request) for row in batch for request in family.evaluation.requests(row, settings)]
        return project.loop.submit(asking.all(requests))

    groups, at_once = rows.batches(), GROUPS_AT_ONCE
    if is_batched(model):
        groups, at_once = rows.batches(BATCHED_ROWS), BATCHED_GROUPS_AT_ONCE
    with one_evaluation(project.state, path):
        _write(rows, groups, path, progress, ask, at_once)
    return usage


def weigh(
    project: Project,
    family: Family,
    model: LikelihoodModel,
    rows: Rows,
    path: Path,
    progress: Callable[[int, int], None],
    usage: Usage | None = None,
) -> Usage:
    """Have `model` weigh the rows' options and write their scores to `path`, in the rows' order, as `predict` does."""
    choices = family.evaluation.choices
    assert choices is not None
    settings = settings_now(project, family)
    usage = Usage() if usage is None else usage

    def ask(batch: list[Any]) -> Future[Predicted]:
        asked = [(row, choice) for row in batch for choice in choices(row, settings)]
        return project.loop.submit(_weigh(model, asked, usage))

    at_once = 1 if isinstance(model, LocalModel) else GROUPS_AT_ONCE
    with one_evaluation(project.state, path):
        _write(rows, rows.batches(WEIGHED_AT_ONCE), path, progress, ask, at_once)
    return usage


def _write(
    rows: Rows,
    batches: Iterable[list[Any]],
    path: Path,
    progress: Callable[[int, int], None],
    ask: Callable[[list[Any]], Future[Predicted]],
    at_once: int,
) -> None:
    """Write the predictions on each row, once for each id, to a file that appears when it is complete.

    After the first batch that the budget stops, those that were begun are written, then `BudgetSpent` is raised. If
    there are no predictions at all, nothing is written; see `predict` for what is raised.
    """
    done, is_answered = 0, False
    stopped: BudgetSpent | None = None
    unanswered: list[TransportError] = []
    with _rare_collections(), whole_file(path) as out, closing(_in_order(batches, ask, at_once)) as answered:
        for rows_done, predictions in answered:
            for prediction in predictions:
                if isinstance(prediction, BudgetSpent):
                    stopped = stopped or prediction
                    continue
                if isinstance(prediction, TransportError):
                    unanswered.append(prediction)
                    continue
                written = prediction.model_dump(
                    exclude_none=True, exclude={"prediction"} if prediction.scores else None
                )
                out.write(json.dumps(written, ensure_ascii=False) + "\n")
                is_answered = True
            if stopped is None:
                done += rows_done
                progress(done, len(rows))
        if stopped is not None and not is_answered:
            raise NothingAnswered(str(stopped)) from stopped
        if unanswered and not is_answered:
            raise unanswered[0]
        remove_tables(path.with_suffix(""))
    if stopped is not None:
        raise stopped
    if unanswered:
        number = counted(len(unanswered), "question")
        raise Unanswered(f"{number} got no answer, and the scores are of the others: {unanswered[0]}")


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cyclic garbage rarely, and not in what exists by now: with many requests in flight it takes long."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _in_order(
    batches: Iterable[list[Any]], ask: Callable[[list[Any]], Future[Predicted]], at_once: int
) -> Generator[tuple[int, Predicted]]:
    """Yield the number of rows in each batch, and the predictions on those whose ids are new, in the batches' order.

    So many batches are asked about `at_once`. After one that the budget stops, no other is begun; after `GONE_AFTER`
    questions in a row without an answer, those that were begun are given up.
    """
    asked = RowsById()
    in_a_row = 0
    begun: deque[tuple[int, Future[Predicted]]] = deque()
    try:
        for batch in batches:
            new = [row for row in {row.id: row for row in batch}.values() if asked.add(row.id, None)]
            begun.append((len(batch), ask(new)))
            if len(begun) == at_once:
                rows, predictions = begun[0][0], begun[0][1].result()
                begun.popleft()
                yield rows, predictions
                if any(isinstance(prediction, BudgetSpent) for prediction in predictions):
                    break
                for prediction in predictions:
                    in_a_row = in_a_row + 1 if isinstance(prediction, TransportError) else 0
                if in_a_row >= GONE_AFTER:
                    return
        for rows, future in begun:
            yield rows, future.result()
    finally:  # after an interruption nothing more is asked
        for _, future in begun:
            future.cancel()


def remove_tables(stem: Path) -> None:
    """Remove the tables, figures, pages and note of predictions that are about to be replaced."""
    for end in (".html", ".tables.html", ".tables.json", ".tables.csv", ".scores.json", ".rows.html", ENDING):
        stem.with_name(f"{stem.name}{end}").unlink(missing_ok=True)


class _Asking:
    """Sends requests to a model, each cut to its window."""

    def __init__(self, model: Model, prompts: Mapping[str, Prompt[Any]], usage: Usage) -> None:
        self._model = model
        self._prompts = {name: replace(prompt, may_be_cut=True) for name, prompt in prompts.items()}
        self._usage = usage
        self._waiting: set[asyncio.Task[Prediction | BudgetSpent | TransportError]] = set()
        self._in_a_row = 0
        """Questions since the last answer that got none."""
        self._error: TransportError | None = None
        """Of the last of them."""
        self._is_shared = False
        """Whether others waited for that question, since nothing was known of the server."""
        self._first_tries = 0
        """Questions without an answer that others waited for."""
        self._gone: TransportError | None = None
        """Set if there were so many of them that the server is taken to be gone."""

    async def all(self, requests: list[tuple[str, Request]]) -> Predicted:
        """Return the predictions on rows, by their ids, in the requests' order."""
        if self._gone is not None:
            return [self._gone] * len(requests)
        tasks = [asyncio.create_task(self._predict(row_id, request)) for row_id, request in requests]
        self._waiting.update(tasks)
        try:
            return await asyncio.gather(*tasks)
        finally:
            self._waiting.difference_update(tasks)

    async def _predict(self, row_id: str, request: Request) -> Prediction | BudgetSpent | TransportError:
        """Return the prediction, or why there is none."""
        while self._gone is None:
            try:
                prediction = await self._answered(row_id, request)
            except BudgetSpent as spent:
                return spent
            except TransportError as error:
                if error is not self._error:
                    self._error, self._is_shared, self._in_a_row = error, False, self._in_a_row + 1
                    self._give_up_if(self._in_a_row >= GONE_AFTER)
                    return error
                # It is of another question, which was to find out what the server takes; this one was not asked yet.
                self._first_tries += not self._is_shared
                self._is_shared = True
                self._give_up_if(self._first_tries >= FIRST_TRIES)
            except asyncio.CancelledError:
                if self._gone is None:
                    raise
            else:
                self._in_a_row = 0
                return prediction
        return self._gone

    def _give_up_if(self, is_gone: bool) -> None:
        """Ask no more, if the server is gone."""
        if is_gone and self._gone is None:
            self._gone = self._error
            for task in self._waiting - {asyncio.current_task()}:
                asyncio.get_running_loop().call_soon(task.cancel)

    async def _answered(self, row_id: str, request: Request) -> Prediction:
        prompt = self._prompts[request.prompt.name]
        text, failure, cut_off, is_refusal = "", None, False, False
        try:
            answer = await self._model.complete(prompt, request.inputs, usage=self._usage)
            text, cut_off, prompt_cut = answer.text, answer.cut_off, answer.prompt_cut
        except NoAnswer as refused:
            failure, prompt_cut = refused.reason, refused.prompt_cut
        except InvalidAnswer as invalid:
            text, cut_off, prompt_cut = invalid.answer, invalid.reason == CUT_OFF, invalid.prompt_cut
            is_refusal = invalid.reason == REFUSED
        return Prediction(
            id=row_id,
            variant=request.variant,
            prediction=text,
            failure=failure,
            cut_off=cut_off or None,
            refused=is_refusal or None,
            prompt_cut=prompt_cut or None,
            model=self._model.name,
            prompting=request.prompting,
            shots=request.shots,
        )


async def _weigh(model: LikelihoodModel, asked: list[tuple[Record, Choice]], usage: Usage) -> Predicted:
    options = [Options(choice.prompt, tuple(choice.options.values())) for _, choice in asked]
    weighed: list[tuple[Likelihood, ...] | BudgetSpent | TooLong | TransportError]
    try:
        weighed = [*await model.likelihoods(options, usage=usage)]
    except TransportError:
        weighed = await asyncio.gather(*(_weighed_alone(model, row_options, usage) for row_options in options))
    except (BudgetSpent, TooLong):  # answers paid for by then are cached, and cost nothing again
        weighed = [await _weighed_alone(model, row_options, usage) for row_options in options]
    predictions: Predicted = []
    for (row, choice), likelihoods in zip(asked, weighed, strict=True):
        if isinstance(likelihoods, BudgetSpent | TransportError):
            predictions.append(likelihoods)
            continue
        for name, score in SCORES.items():
            outcome: dict[str, Any] = {"prediction": "", "failure": TOO_LONG}
            if not isinstance(likelihoods, TooLong):
                scores = map(score, likelihoods)
                outcome = {"scores": dict(zip(choice.options, scores, strict=True))}
            predictions.append(
                Prediction(
                    id=row.id,
                    variant=name,
                    model=model.name,
                    prompting=choice.prompting,
                    shots=choice.shots,
                    **outcome,
                )
            )
    return predictions


async def _weighed_alone(
    model: LikelihoodModel, options: Options, usage: Usage
) -> tuple[Likelihood, ...] | BudgetSpent | TooLong | TransportError:
    try:
        [likelihoods] = await model.likelihoods([options], usage=usage)
    except (BudgetSpent, TooLong, TransportError) as error:
        return error
    return likelihoods
