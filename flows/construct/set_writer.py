"""Writes the shards of a stage that runs as a whole."""

from data.stage_files import ShardWriter, StageFiles
from flows.construct.preparing import SHARD_RECORDS
from schemas.base import Dropped, Record
from schemas.manifest import ShardManifest, UsageOfPrompt


class SetWriter:
    """Writes a whole stage, shard after shard, as its records come."""

    def __init__(self, files: StageFiles) -> None:
        self._files = files
        self._shards: list[ShardManifest] = []
        self._writer: ShardWriter | None = None
        self._last: dict[str, UsageOfPrompt] = {}
        self.kept = 0
        self.dropped = 0

    def __enter__(self) -> "SetWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._writer is not None and kind is not None:
            self._writer.__exit__(kind, *error)

    def _open(self) -> ShardWriter:
        if self._writer is not None and self._writer.kept >= SHARD_RECORDS:
            self._close({})
        if self._writer is None:
            self._writer = ShardWriter(self._files, len(self._shards)).__enter__()
        return self._writer

    def _close(self, usage: dict[str, UsageOfPrompt]) -> None:
        writer = self._open() if self._writer is None else self._writer
        writer.__exit__(None, None, None)
        self._shards.append(writer.finish(writer.kept + sum(writer.dropped.values()), usage))
        self._writer = None

    def keep(self, record: Record) -> None:
        self._open().keep(record)
        self.kept += 1

    def drop(self, dropped: Dropped) -> None:
        self._open().drop(dropped)
        self.dropped += 1

    def finish(self, usage: dict[str, UsageOfPrompt]) -> list[ShardManifest]:
        self._close(usage)
        return self._shards
