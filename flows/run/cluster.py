"""The Dask workers of a build: what each may use of the models' limits, and what happens when workers come and go."""

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, Final, Self

import dask.config
import distributed
from distributed.scheduler import KilledWorker

from flows.construct.runner import File, Piece
from flows.construct.running import run_file, run_shard
from flows.construct.stages import Build, StageRef
from flows.llm.limits import Share
from flows.project.models import Served
from flows.project.project import Project, hold_share, take_share
from flows.project.settings import ConfigError
from schemas.errors import Failed
from schemas.manifest import ShardManifest
from schemas.secrets import hide_in_logs

HERE: Final = {
    "n_workers": os.cpu_count() or 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0",
    "security": True, "silence_logs": logging.ERROR,
}  # fmt: skip
"""The workers of this machine, if no cluster is named. Dask runs whatever anybody sends it: so it is sent by TLS alone,
with a certificate that stays in memory. Without an address, the second one here would warn of a port."""
PAGES: Final = ("distributed.scheduler.http.routes", "distributed.worker.http.routes")
"""Dask's pages about a build, which everybody on the machine could read."""
LOOK_EVERY_S = 1.0
"""How often the workers are counted, in seconds."""
NO_WORKER_S = 30.0
"""A build fails when there was no worker for so many seconds: a worker that is started again takes ten."""
NO_SCHEDULER = "the scheduler does not answer any more; start it again, with its workers"
RUN_AGAIN = "then run again: finished work is kept"
NO_HEARTBEAT: Final = "Failed to communicate with scheduler during heartbeat."
"""What Dask's worker logs, with a traceback, if the scheduler ends while it answers."""

# A connection that closes while the workers end is no fault, and a scheduler that is gone is reported in a line: both
# would be logged with a traceback.
for _library in ("distributed.batched", "distributed.client"):
    logging.getLogger(_library).setLevel(logging.CRITICAL)
logging.getLogger("distributed.worker").addFilter(lambda record: record.msg != NO_HEARTBEAT)

hide_in_logs()  # a worker runs no command
_log = logging.getLogger("distributed.touchstone")
"""Among Dask's own, so that its lines are in a worker's log."""


class Workers:
    """The workers of a cluster while a build runs. Counts them, and shares the models' limits among them.

    No worker asks a model before it was given its share. If one comes or goes, all let the calls in flight end that
    their new share has no room for, and only then are the shares given: the sum never is more than what is configured.
    """

    def __init__(self, project: Project, address: str | None) -> None:
        """`address` is that of the cluster's scheduler; None: workers are started on this machine.

        Raises `OSError` if no scheduler answers.
        """
        # Prefect's handler would print all that Dask logs here.
        logging.getLogger("distributed").setLevel(logging.ERROR)
        with dask.config.set({key: [] for key in PAGES}):
            self._client = distributed.Client(address, **({} if address else HERE))  # type: ignore[no-untyped-call]
        self._project = project
        self._address = address
        self._known: tuple[list[str], bool] | None = None
        """The workers that share the limits, and whether this process does."""
        self.threads = 0
        """Pieces that all workers together run at once."""
        self._asking: set[StageRef] = set()
        """Stages that ask models in this process now."""
        self._seen_at = time.monotonic()
        self._open: set[distributed.Future[Any]] = set()
        self._failure: Failed | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="workers", daemon=True)

    def __enter__(self) -> Self:
        """Share the limits for the first time. Raises `Failed` and `ConfigError`."""
        try:
            if not self._addresses():
                raise self._lost("has no workers; start `dask worker ADDRESS` on each machine")
            self._look()
        except BaseException:
            self._client.close()  # type: ignore[no-untyped-call]
            raise
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(2 * LOOK_EVERY_S)
        self._client.close()  # type: ignore[no-untyped-call]

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

    def run(self, ref: StageRef, piece: Piece) -> Sequence[ShardManifest] | None:
        """Run a piece of a stage on a worker and wait for it. Raises what it failed with; `Failed` without workers."""
        fingerprint = self._project.build.fingerprint(ref)
        addresses = self._known[0] if self._known is not None else []
        own = addresses[piece.worker : piece.worker + 1]  # none, if workers have left since the piece was made
        future = self._client.submit(
            _run_piece, self._project, ref, piece, fingerprint, pure=False,
            workers=own or None, allow_other_workers=bool(own),
        )  # fmt: skip
        self._open.add(future)
        try:
            if self._failure is not None or self._project.loop.stopped:
                self.cancel()
            made: Sequence[ShardManifest] | None = future.result()
            return made
        except KilledWorker as error:
            raise Failed(
                f"{ref}: {error.allowed_failures + 1} workers died one after the other while they worked on the "
                f"same records, perhaps for want of memory; see their logs, {RUN_AGAIN}"
            ) from error
        except (CancelledError, asyncio.CancelledError) as error:
            raise self._why(error) from error
        finally:
            self._open.discard(future)

    def cancel(self) -> None:
        """Start no more of the submitted pieces, and wait for none."""
        if self._client.status == "running":
            self._client.cancel(list(self._open))  # type: ignore[no-untyped-call]

    def _why(self, cancelled: BaseException) -> Failed:
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
            self.threads = sum(self._client.nthreads().values())  # type: ignore[no-untyped-call]

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


def _run_piece(project: Project, ref: StageRef, piece: Piece, fingerprint: str) -> Sequence[ShardManifest] | None:
    """In a worker process, run a piece of a stage; None if the build was stopped there."""
    if project.loop.stopped:
        return None
    build = project.build
    _check_same(build, ref, fingerprint)
    if isinstance(piece, File):
        _check_found(project, [ref])
        _log.info("%s: %s", ref, piece.file.name)
        return [run_file(build, ref, piece.index, piece.file)]
    _check_found(project, piece.chain)
    _log.info("%s: %d to %d", piece.chain[0], piece.start, piece.stop)
    return project.loop.run(run_shard(build, piece.chain, piece.start, piece.stop))


def _check_same(build: Build, ref: StageRef, fingerprint: str) -> None:
    """Raise `Failed` if the stage would have another fingerprint on this machine."""
    if build.fingerprint(ref) != fingerprint:
        raise Failed(
            f"{ref}: the worker on {socket.gethostname()} has another configuration, other sources, verdicts or code "
            "than where the build was started; bring them to the same state at the same paths, then run again"
        )


def _check_found(project: Project, chain: Sequence[StageRef]) -> None:
    """Raise `Failed` if this machine does not find the finished stages that the stages of the chain read."""
    for ref in chain:
        for needed in project.build.needs(ref):
            if needed not in chain and project.build.manifest(needed) is None:
                raise Failed(
                    f"{ref}: the worker on {socket.gethostname()} does not find {needed} in {project.store.url}; "
                    "name a store that all workers reach, such as s3://bucket/prefix"
                )
