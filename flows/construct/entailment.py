"""Entailment accuracy (ReEval, section 4.1): whether "question + output" entails "question + answer"."""

import asyncio
import os
import re
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

from flows.llm.loading import quiet
from schemas.errors import WrongInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_MODEL: Final = "cross-encoder/nli-deberta-v3-base"
"""The model of the paper, about 0.7 GB; it reads English."""
LABEL: Final = "entailment"
READ_AT_ONCE: Final = 32
"""Pairs that are read together."""
TIE: Final = 1e-3
"""Logits closer than this may change places when pairs are read together."""
HUB_WAIT: Final = 10.0
"""Seconds that the Hugging Face Hub has to answer before the model is given up."""

_HUB_NAME: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")


class EntailmentModelUnusableError(WrongInput):
    """The weights of the named model cannot be had, or it does not tell entailment."""


class Entailment:
    """A cross-encoder with a label "entailment", by name on the Hugging Face Hub or by path.

    Which of its outputs is that label is read from its configuration. Weights are used in float32, on a GPU where
    there is one. Pairs of about one length are read together, padded to the longest: that rounds logits otherwise, by
    some 1e-6. So the verdict on a pair whose two largest logits are within `TIE` is that of a pass of its own, and
    does not depend on the other pairs; on another device it can come out otherwise. A pair longer than the model's
    window is cut at the end of its longer text, a token at a time.

    The model is loaded at its first use, or by `load`: from local files where they are, otherwise from the Hub. Safe
    to share between threads.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        device: str | None = None,
        batch: int = READ_AT_ONCE,
        hub_wait: float = HUB_WAIT,
    ) -> None:
        """Name the model, where it runs (None: a GPU where there is one), how many pairs are read at once and the
        seconds that the Hub has to answer; loads nothing."""
        self.model = model
        self.device = device
        self.batch = batch
        self.hub_wait = hub_wait
        self._lock = threading.Lock()

    def load(self) -> None:
        """Load the model now.

        Raises `EntailmentModelUnusableError` where it is neither here nor to be had from the Hub, where weights or
        words are missing from it, and where not exactly one of its labels is "entailment". A Hub that does not
        answer costs `hub_wait` seconds; while it sends weights, its client's own limits hold.
        """
        with self._lock:
            _ = self._loaded

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """For each (premise, hypothesis) whether the largest logit is that of entailment. Raises what `load` does."""
        if not pairs:
            return []
        with self._lock:
            network, label = self._loaded
            distinct = sorted(set(pairs), key=lambda pair: (sum(map(len, pair)), pair))
            logits = _logits(network, distinct, self.batch)
            largest = logits.argmax(axis=1)
            first, second = np.sort(logits, axis=1)[:, :-3:-1].T
            for place in np.flatnonzero(first - second < TIE) if self.batch > 1 else ():
                largest[place] = _logits(network, [distinct[place]], 1)[0].argmax()
        verdicts = dict(zip(distinct, (largest == label).tolist(), strict=True))
        return [verdicts[pair] for pair in pairs]

    @cached_property
    def _loaded(self) -> tuple[Any, int]:
        network = _load(self.model, self.device, self.hub_wait)
        return network, _label(self.model, network.model.config.id2label)


class Judge:
    """Has pairs judged that come one by one: those that come while a batch is read make the next. Of one event loop."""

    def __init__(self, entailment: Entailment) -> None:
        self._entailment = entailment
        self._waiting: list[tuple[tuple[str, str], asyncio.Future[bool]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def entails(self, pair: tuple[str, str]) -> bool:
        """See `Entailment.entails`."""
        verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((pair, verdict))
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        return await verdict

    async def _read(self) -> None:
        batch: list[tuple[tuple[str, str], asyncio.Future[bool]]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                verdicts = await asyncio.to_thread(self._entailment.entails, [pair for pair, _ in batch])
                for (_, waiting), verdict in zip(batch, verdicts, strict=True):
                    if not waiting.done():  # else nobody waits for it any more
                        waiting.set_result(verdict)
        except Exception as error:  # noqa: BLE001 - it is handed to whoever waits
            for _, waiting in (*batch, *self._waiting):
                if not waiting.done():
                    waiting.set_exception(error)
            self._waiting = []
        finally:
            self._reading = None


def _logits(network: Any, pairs: Sequence[tuple[str, str]], batch: int) -> "NDArray[np.float32]":
    """The logits of each pair: (pairs, labels)."""
    found: NDArray[np.float32] = network.predict(
        list(pairs), batch_size=batch, show_progress_bar=False, activation_fn=lambda rows: rows
    )
    return found


def _label(model: str, labels: dict[int, str]) -> int:
    """Which output is the entailment."""
    places = [int(place) for place, label in labels.items() if str(label).casefold() == LABEL]
    if len(places) != 1:
        raise EntailmentModelUnusableError(
            f'{model}: its labels are {", ".join(map(str, labels.values()))}, and one has to be "{LABEL}"; name a '
            f"model for natural language inference, such as {DEFAULT_MODEL}"
        )
    return places[0]


def _load(model: str, device: str | None, hub_wait: float) -> Any:
    from huggingface_hub.errors import StrictDataclassError  # a configuration that is none
    from safetensors import SafetensorError

    unusable = (OSError, ValueError, TypeError, RuntimeError, ImportError, SafetensorError, StrictDataclassError)
    try:
        return _loaded_from(model, device, local=True)
    except unusable as error:
        if Path(model).exists() or not _HUB_NAME.fullmatch(model):
            raise _unusable(model, error) from error
    _await_hub(model, hub_wait)
    try:
        return _loaded_from(model, device, local=False)
    except unusable as error:
        raise _unusable(model, error) from error


def _unusable(model: str, error: Exception) -> EntailmentModelUnusableError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = " ".join(lines[:2]) or type(error).__name__
    return EntailmentModelUnusableError(
        f"{model}: cannot be loaded as a cross-encoder ({reason}); check the name or path, or score without entailment"
    )


def _loaded_from(model: str, device: str | None, *, local: bool) -> Any:
    """The model from local files, or from the Hub too. Libraries make up what a folder lacks: that is refused here."""
    import torch
    from sentence_transformers import CrossEncoder

    if not model:
        raise ValueError("it has no name")
    with quiet() as warnings:
        network: Any = CrossEncoder(
            model,
            device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
            local_files_only=local,
            model_kwargs={"dtype": torch.float32},
        ).eval()
    if any("newly initialized" in warning for warning in warnings):
        raise ValueError("weights are missing from it")
    words, embedded = len(network.tokenizer), getattr(network.model.config, "vocab_size", 0)
    if words < embedded / 2:
        raise ValueError(f"its tokenizer has {words} of {embedded} words: files of it are missing")
    return network


def _await_hub(model: str, seconds: float) -> None:
    """Refuse where the Hub does not answer in time: its client would try six times for each file."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return  # its client refuses by itself
    try:
        url = f"{hub}/{model}/resolve/main/config.json"
        urlopen(Request(url, method="HEAD"), timeout=seconds).close()  # noqa: S310 - the user's own setting
    except HTTPError:
        return  # it answers; what it says of the model is its client's to read
    except (OSError, ValueError) as error:
        raise EntailmentModelUnusableError(
            f"{model}: is not on this machine, and {hub} does not answer ({getattr(error, 'reason', error)}); name a "
            "folder that holds the model, or score without entailment"
        ) from error
