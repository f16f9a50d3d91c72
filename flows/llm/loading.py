"""Models of transformers, loaded without their loggers and progress bars, and the keys and values that they keep."""

import copy
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.llm.model import ModelSetupError
from schemas.errors import first_line


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model in a folder, or on the Hub. Raises `ModelSetupError`."""
    from transformers import AutoTokenizer

    return _loaded(name, lambda local: AutoTokenizer.from_pretrained(name, local_files_only=local))


def load_model(name: str, dtype: str, device: str | None) -> Any:
    """A causal language model from a folder, or from the Hub, ready to run. Raises `ModelSetupError`."""
    import torch
    from transformers import AutoModelForCausalLM

    model, loading = _loaded(
        name,
        lambda local: AutoModelForCausalLM.from_pretrained(
            name, local_files_only=local, dtype=dtype, output_loading_info=True
        ),
    )
    if missing := sorted(loading["missing_keys"]):
        raise ModelSetupError(f"model {name}: weights are missing from it ({missing[0]}); name a causal language model")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelSetupError(f"model {name}: cannot run on {device} ({first_line(error)})") from error


def _loaded(name: str, load: Callable[[bool], Any]) -> Any:
    """The result of `load(local)`: from local files, or else from the Hub too."""
    from safetensors import SafetensorError

    is_on_hub = not Path(name).exists() and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)
    failed: Exception | None = None
    for local in (True, False) if is_on_hub else (True,):
        try:
            with quiet():
                return load(local)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError) as error:
            failed = error
    assert failed is not None
    raise ModelSetupError(
        f"model {name}: cannot be loaded as a causal language model ({first_line(failed)}); name a folder that holds "
        "one, or a name on the Hugging Face Hub"
    ) from failed


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Collects the warnings of transformers while a model is loaded, without showing them or a progress bar.

    The process's settings are restored.
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


# ---- the keys and values that a model keeps of the tokens it has read ----


def can_crop(cache: Any) -> bool:
    """True if the cache can go back to an earlier state."""
    from transformers.cache_utils import DynamicLayer

    return _has_layers(cache, DynamicLayer)


def can_fork(cache: Any) -> bool:
    """True if several texts can continue from the cache."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    return _has_layers(cache, DynamicLayer, DynamicSlidingWindowLayer)


def _has_layers(cache: Any, *kinds: type) -> bool:
    """True if the cache has layers, and none of another kind."""
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(type(layer) in kinds for layer in layers)


def fork(cache: Any, times: int) -> Any:
    """A copy of the cache for this many texts at once; layers replace their tensors and never write into them."""
    if cache is None:
        return None
    copied = copy.copy(cache)
    copied.layers = [copy.copy(layer) for layer in cache.layers]
    copied.batch_repeat_interleave(times)
    return copied
