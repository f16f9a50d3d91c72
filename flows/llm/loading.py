"""Models of transformers, loaded without their loggers and progress bars, and the keys and values that they keep.

No program that comes with a model runs: weights are in safetensors, and code beside them is refused without asking.
"""

import copy
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import PickleError
from typing import Any, Final

from flows.llm.model import ModelSetupError
from schemas.errors import first_line

WEIGHTS: Final = {"use_safetensors": True}
"""What `from_pretrained` is told of weights: in any other file, a program could be among them."""


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model in a folder, or on the Hub. Raises `ModelSetupError`."""
    from transformers import AutoTokenizer

    return _loaded(
        name, lambda local: AutoTokenizer.from_pretrained(name, local_files_only=local, trust_remote_code=False)
    )


def load_model(name: str, dtype: str, device: str | None) -> Any:
    """A causal language model from a folder, or from the Hub, ready to run. Raises `ModelSetupError`."""
    import torch
    from transformers import AutoModelForCausalLM

    model, loading = _loaded(
        name,
        lambda local: AutoModelForCausalLM.from_pretrained(
            name, local_files_only=local, dtype=dtype, output_loading_info=True, trust_remote_code=False, **WEIGHTS
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
    is_on_hub = not Path(name).exists() and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)
    failed: Exception | None = None
    for local in (True, False) if is_on_hub else (True,):
        try:
            with quiet():
                return load(local)
        except loading_errors() as error:
            failed = error
    assert failed is not None
    raise ModelSetupError(
        f"model {name}: cannot be loaded as a causal language model ({why_not_loaded(failed)}); name a folder that "
        "holds one, or a name on the Hugging Face Hub"
    ) from failed


def loading_errors() -> tuple[type[Exception], ...]:
    """What the libraries raise for a model that is damaged, of another kind, or not there."""
    from huggingface_hub.errors import StrictDataclassError  # an invalid configuration
    from safetensors import SafetensorError

    unusable = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, PickleError)
    return (*unusable, SafetensorError, StrictDataclassError)


def why_not_loaded(error: Exception) -> str:
    """In a line why a model was not loaded; if for a program that may be in its files, with what to do."""
    said = str(error)
    if "custom code" in said or "trust_remote_code" in said:
        return "it comes with code of its own, which is never run; name a model that transformers knows by itself"
    if isinstance(error, PickleError):
        return "weights of a part of it are in a file that may hold a program; save them anew with safetensors"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reason = " ".join(lines[:2]) or type(error).__name__
    if "named model.safetensors" in reason:
        return (
            f"{reason.partition('. Please')[0].rstrip('.')}: weights in other files, which may hold a program, are not "
            "loaded; if you trust them, transformers' `from_pretrained` and then `save_pretrained` convert them"
        )
    return reason


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
