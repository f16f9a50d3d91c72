"""`touchstone batches`: what was sent in batches and is not collected yet."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.llm.batch_api import BatchApi, BatchState, LostBatchError
from flows.llm.batch_records import BatchNote, BatchRecord
from flows.llm.connection import Connection
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Limits
from flows.llm.model import ModelSetupError, TransportError
from flows.llm.prices import Prices
from flows.project.console import LEFT, make_console
from flows.project.models import Models
from flows.project.settings import load_config
from schemas.base import counted
from schemas.errors import Failed, WrongInput, nearest

T = TypeVar("T")
ALL = "all"
"""In place of a batch's id."""
MAX_RETRIES = 2
CONCURRENCY = 8
"""Servers are asked about so many batches at once."""


class _Look(NamedTuple):
    """What a server says of a batch."""

    back: str = "?"
    status: str = "?"
    problem: str = ""


def list_batches(config: Path) -> None:
    """Print the batches of a configuration's store, with what their servers say of them."""
    console = make_console()
    records = list(Models(config, load_config(config)).batches)
    if not records:
        console.print("no batch is under way: all that was sent is collected")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, **LEFT)
    for column in ("batch", "model", "sent", "requests", "back", "status"):
        table.add_column(column, justify="right" if column in ("requests", "back") else "left", no_wrap=True)
    looks = asyncio.run(_looks(records))
    for record, look in zip(records, looks, strict=True):
        note = record.note
        sent = f"{note.made.astimezone():%Y-%m-%d %H:%M}"
        table.add_row(*map(escape, (_name(note), note.model, sent, f"{note.requests:,}", look.back, look.status)))
    console.print(table)
    console.print("the command that sent a batch collects it: run it again", soft_wrap=True)
    if problems := dict.fromkeys(look.problem for look in looks if look.problem):
        raise Failed("; ".join(problems))


def cancel_batches(config: Path, name: str) -> None:
    """Cancel a batch at its server, or all. Raises `WrongInput` if there is none of that name."""
    console = make_console()
    models = Models(config, load_config(config))
    records = list(models.batches)
    chosen = [record for record in records if name in (ALL, _name(record.note))]
    if not chosen:
        names = [_name(record.note) for record in records]
        hint = nearest(name, names) if names else "none is under way"
        raise WrongInput(f"--cancel {name}: no such batch is under way; {hint}")
    asyncio.run(_cancel(console, models.prices, chosen))


async def _cancel(console: Console, prices: Prices, records: Sequence[BatchRecord]) -> None:
    for record in records:
        answered = 0
        try:
            state = await _with_api(record.note, partial(_cancelled, record.note))
        except LostBatchError as lost:
            state, answered = None, lost.answered
        if state is None:
            paid = _paid_in_words(record, prices, answered)
            record.remove()
            console.print(
                f"{_name(record.note)}: its server has no answers of it; its requests will be sent again{paid}",
                markup=False,
                soft_wrap=True,
            )
        else:
            console.print(
                f"{state.batch_id}: {state.status}, {state.back:,} of {counted(record.note.requests, 'request')} "
                "answered; the next run takes what is answered, and sends the rest again",
                markup=False,
                soft_wrap=True,
            )


def _paid_in_words(record: BatchRecord, prices: Prices, answered: int) -> str:
    """Return what answers that are lost may have cost; no cost of a run has it."""
    if not answered:
        return ""
    lost = f", though {answered:,} {'was' if answered == 1 else 'were'} answered and paid for"
    price = prices.of(record.note.model, record.note.base_url, batch=True)
    if not price.is_known:
        return lost
    costs = (price.cost(each.input_tokens, each.limit + each.room) for each in record.readings.values())
    return f"{lost}, with up to about {sum(heapq.nlargest(answered, costs)):.2f} USD"


async def _cancelled(note: BatchNote, api: BatchApi) -> BatchState | None:
    """Cancel a batch, and return its state; None if it was never created. Raises `LostBatchError`."""
    batch_id = note.batch_id
    if batch_id is None and note.file_id is not None:
        batch_id = await api.find(note.name, note.file_id, note.made)
    if batch_id is None:
        return None
    state = await api.cancel(batch_id)
    if state.is_over:
        await api.check(batch_id)
    return state


async def _looks(records: Sequence[BatchRecord]) -> list[_Look]:
    """Return what the servers say of the batches."""
    places = asyncio.Semaphore(CONCURRENCY)

    async def look(note: BatchNote) -> _Look:
        batch_id = note.batch_id
        if batch_id is None:
            return _Look("", "being sent, or its sending was cut short")
        try:
            async with places:
                state = await _with_api(note, lambda api: api.state(batch_id))
        except (TransportError, ModelSetupError) as error:
            return _Look(problem=str(error))
        return _Look(f"{state.back:,}", state.status)

    return await asyncio.gather(*(look(record.note) for record in records))


async def _with_api(note: BatchNote, work: Callable[[BatchApi], Awaitable[T]]) -> T:
    settings = EndpointSettings(
        name=note.model, base_url=note.base_url, api_key_env=note.api_key_env, max_retries=MAX_RETRIES
    )
    connection = Connection(settings, Limits(concurrency=CONCURRENCY))
    try:
        return await work(BatchApi(settings, connection))
    finally:
        await connection.aclose()


def _name(note: BatchNote) -> str:
    return note.batch_id or note.name
