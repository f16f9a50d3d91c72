"""Loading models through transformers without their loggers and progress bars."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[list[str]]:
    """The warnings of transformers, heard while a model is loaded without them and without a progress bar of weights.

    The process's settings are put back.
    """
    from transformers.utils import logging as transformers_logging

    bars: Any = transformers_logging
    shown = bars.is_progress_bar_enabled()
    listener = _Listener(logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers", "huggingface_hub")]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    bars.disable_progress_bar()
    for logger in loggers:
        logger.handlers, logger.propagate = [listener], False
    try:
        yield listener.heard
    finally:
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
        if shown:
            bars.enable_progress_bar()


class _Listener(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())
