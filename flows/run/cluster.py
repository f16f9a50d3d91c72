"""The Dask workers of a build: what each may use of the models' limits, and what happens when workers come and go."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, Protocol, Self

import distributed
from distributed.scheduler import KilledWorker

from flows.construct.stages import StageRef
from flows.llm.limits import Share
from flows.project.models import Served
from flows.project.project import Project, hold_share, take_share
from flows.project.settings import ConfigError
from schemas.errors import Failed
from schemas.manifest import ShardManifest

LOOK_EVERY_S = 1.0
"""How often the workers are counted, in seconds."""
NO_WORKER_S = 30.0
"""A build fails when there was no worker for so many seconds: a worker that is started again takes ten."""
NO_SCHEDULER = "the scheduler does not answer any more; start it again, with its workers"
RUN_AGAIN = "then run again: finished work is kept"


class DaskFuture(Protocol):
    """What Prefect returns for a task that it has handed to Dask."""

    @property
    def wrapped_future(self) -> distributed.Future[Any]: ...

    def result(self) -> Sequence[ShardManifest] | None: ...

    def add_done_callback(self, fn: Callable[..., object], /) -> object: ...


class Workers:
    """The workers of a cluster while a build runs. Counts them, and shares the models' limits among them.

    No worker asks a model before it was given its share. If one comes or goes, all let the calls in flight end that
    their new share has no room for, and only then are the shares given: the sum never is more than what is configured.
    """

    def __init__(self, client: distributed.Client, project: Project, address: str | None) -> None:
        """`address` is that of the cluster's scheduler; None: its workers are processes of this machine."""
        self._client = client
        self._project = project
        self._address = address
        self._known: tuple[list[str], bool] | None = None
        """The workers that share the limits, and whether this process does."""
        self._asking: set[StageRef] = set()
        """Stages that ask models in this process now."""
        self._seen_at = time.monotonic()
        self._open: set[distributed.Future[Any]] = set()
        self._failure: Failed | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="workers", daemon=True)

    def __enter__(self) -> Self:
        """Share the limits for the first time. Raises `Failed` and `ConfigError`."""
        if not self._addresses():
            raise self._lost("has no workers; start `dask worker ADDRESS` on each machine")
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(2 * LOOK_EVERY_S)

    @contextmanager
    def asking_here(self, ref: StageRef) -> Iterator[None]:
        """Give this process a share, too, until the block ends. Raises `Failed` if workers are lost."""
        self._asking.add(ref)
        try:
            yield
        except BaseException as error:
            if self._failure is not None:
                raise self._failure from error
            raise
        finally:
            self._asking.discard(ref)

    def piece(self, ref: StageRef, future: DaskFuture) -> "ClusterPiece":
        """Return a piece of a stage that was submitted. Raises `Failed` if the workers are lost."""
        self._open.add(future.wrapped_future)
        future.add_done_callback(lambda done: self._open.discard(done.wrapped_future))
        if self._failure is not None:
            self.cancel()
        return ClusterPiece(ref, future, self)

    def cancel(self) -> None:
        """Start no more of the submitted pieces, and wait for none."""
        if self._client.status == "running":
            self._client.cancel(list(self._open))  # type: ignore[no-untyped-call]

    def failure(self, cancelled: BaseException) -> Failed:
        """Return why a piece was cancelled."""
        if self._failure is None and getattr(cancelled, "reason", None) == "scheduler-connection-lost":
            self._failure = self._lost(NO_SCHEDULER)
        return self._failure or Failed("the build was stopped; run it again to go on")

    def _addresses(self) -> list[str]:
        return sorted(self._client.nthreads())  # type: ignore[no-untyped-call]

    def _lost(self, what: str) -> Failed:
        place = f"DASK_SCHEDULER_ADDRESS: {self._address}" if self._address else "runner: dask"
        return Failed(f"{place}: {what.replace('ADDRESS', self._address or '')}, {RUN_AGAIN}")

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            try:
                self._look()
            except Failed as failure:
                self._failure = failure
            except (OSError, ValueError, RuntimeError, CancelledError, asyncio.CancelledError):
                self._failure = self._lost(NO_SCHEDULER)  # the client raises any of these then
            if self._failure is not None and not self._over.is_set():
                self._project.loop.stop()
                self.cancel()
                return

    def _look(self) -> None:
        """Count the workers, and share anew if others are there than before. Raises `Failed`."""
        addresses = self._addresses()
        now = time.monotonic()
        if addresses:
            self._seen_at = now
        elif now - self._seen_at > NO_WORKER_S:
            raise self._lost(f"all workers were lost {NO_WORKER_S:.0f} s ago; see their logs, start workers")
        sharing = addresses, bool(self._asking)
        if addresses and sharing != self._known and self._share(*sharing):
            self._known = sharing
            self._project.workers = len(addresses)

    def _share(self, addresses: list[str], asks_here: bool) -> bool:
        """Share the limits and the money; False if a worker was lost meanwhile."""
        sharers = len(addresses) + asks_here
        self._check_places(sharers)
        is_first = self._known is None
        shares = [Share(sharers, place, is_first) for place in range(sharers)]
        models, loop = self._project.models, self._project.loop
        loop.run(models.hold(shares[-1] if asks_here else None))
        if not self._tell(hold_share, addresses, shares):
            return False
        left_usd = self._project.models.left_usd()
        each_usd = None if left_usd is None else left_usd / sharers
        shares = [Share(sharers, place, is_first, each_usd) for place in range(sharers)]
        if asks_here:
            loop.run(models.take(shares[-1]))
        return self._tell(take_share, addresses, shares)

    def _tell(self, do: Callable[..., object], addresses: list[str], shares: list[Share]) -> bool:
        """Have all workers hold or take their shares at once, and wait for them; False if one was lost."""
        by_address = dict(zip(addresses, shares, strict=False))
        answers = self._client.run(
            _on_worker, do, self._project.run_id, by_address, workers=addresses, on_error="return"
        )
        errors = {address: answer for address, answer in answers.items() if isinstance(answer, Exception)}
        for address, error in errors.items():
            if not isinstance(error, OSError):
                raise Failed(f"worker {address}: {error}; see its log, {RUN_AGAIN}") from error
        return not errors

    def _check_places(self, sharers: int) -> None:
        """Raise `ConfigError` if a model's concurrency leaves nothing for one of the processes."""
        for family in self._project.build.families.values():
            for name, model in family.models.items():
                if isinstance(model, Served) and model.settings.concurrency < sharers:
                    raise ConfigError(
                        f"{self._project.config_path}: models.{name}: concurrency {model.settings.concurrency} is less "
                        f"than the {sharers} processes that ask; raise it, or run fewer workers"
                    )


async def _on_worker(
    do: Callable[..., object], run_id: str, shares: dict[str, Share], dask_worker: distributed.Worker
) -> None:
    await do(run_id, shares[dask_worker.address])  # type: ignore[misc] # `hold_share` or `take_share`


class ClusterPiece:
    """A piece of a stage on a worker."""

    def __init__(self, ref: StageRef, future: DaskFuture, workers: Workers) -> None:
        self._ref = ref
        self._future = future
        self._workers = workers

    def result(self) -> Sequence[ShardManifest] | None:
        """See `Pending`. Raises `Failed` if the workers are lost."""
        try:
            return self._future.result()
        except KilledWorker as error:
            raise Failed(
                f"{self._ref}: {error.allowed_failures + 1} workers died one after the other while they worked on the "
                f"same records, perhaps for want of memory; see their logs, {RUN_AGAIN}"
            ) from error
        except (CancelledError, asyncio.CancelledError) as error:
            raise self._workers.failure(error) from error

    def add_done_callback(self, fn: Callable[["ClusterPiece"], None], /) -> None:
        """See `Pending`."""
        self._future.add_done_callback(lambda _: fn(self))
