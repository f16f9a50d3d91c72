"""Entailment accuracy (ReEval, section 4.1): does "question + output" entail "question + answer"?"""

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

from flows.llm.loading import WEIGHTS, loading_errors, quiet, why_not_loaded
from schemas.errors import WrongInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_MODEL: Final = "cross-encoder/nli-deberta-v3-base"
"""The model of the paper, about 0.7 GB; it reads English."""
LABEL: Final = "entailment"
READ_AT_ONCE: Final = 32
"""Pairs that the model reads in one batch."""
TIE: Final = 1e-3
"""Logits closer than this may swap their order when pairs are read in a batch."""
HUB_WAIT: Final = 10.0
"""Seconds that the Hugging Face Hub has to answer before loading fails."""

_HUB_NAME: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")


class EntailmentModelUnusableError(WrongInput):
    """The named model cannot be loaded, or does not classify entailment."""


class Entailment:
    """A cross-encoder with a label "entailment", by name on the Hugging Face Hub or by path.

    The model's configuration says which of its outputs is that label. Weights are used in float32, on a GPU if there
    is one. Pairs of similar length are read in a batch, padded to the longest, which changes logits by some 1e-6.
    Therefore a pair whose two largest logits are within `TIE` gets a pass of its own, so that its verdict does not
    depend on the other pairs; on another device it may differ. A pair longer than the model's window is cut at the end
    of its longer text, token by token.

    The model is loaded at its first use, or by `load`: from local files if there are any, otherwise from the Hub. Safe
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
        """Name the model, its device (None: a GPU if there is one), the batch size, and the seconds that the Hub has to
        answer. Loads nothing."""
        self.model = model
        self.device = device
        self.batch = batch
        self.hub_wait = hub_wait
        self._lock = threading.Lock()

    def load(self) -> None:
        """Load the model now.

        Raises `EntailmentModelUnusableError` if it is neither here nor on the Hub, if weights or words are missing from
        it, and if not exactly one of its labels is "entailment". A Hub that does not answer costs `hub_wait` seconds;
        while it sends weights, its client's own limits apply.
        """
        with self._lock:
            _ = self._loaded

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Return whether entailment has the largest logit, for each (premise, hypothesis). Raises what `load` does."""
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
    """Batches pairs that come one by one: those that come while a batch is read form the next. For one event loop."""

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
                    if not waiting.done():  # otherwise its caller was cancelled
                        waiting.set_result(verdict)
        except Exception as error:  # noqa: BLE001 - every waiting caller gets it
            for _, waiting in (*batch, *self._waiting):
                if not waiting.done():
                    waiting.set_exception(error)
            self._waiting = []
        finally:
            self._reading = None


def _logits(network: Any, pairs: Sequence[tuple[str, str]], batch: int) -> "NDArray[np.float32]":
    """Return the logits of each pair: shape (pairs, labels)."""
    logits: NDArray[np.float32] = network.predict(
        list(pairs), batch_size=batch, show_progress_bar=False, activation_fn=lambda rows: rows
    )
    return logits


def _label(model: str, labels: dict[int, str]) -> int:
    """Return the place of the entailment output."""
    places = [int(place) for place, label in labels.items() if str(label).casefold() == LABEL]
    if len(places) != 1:
        raise EntailmentModelUnusableError(
            f'{model}: its labels are {", ".join(map(str, labels.values()))}, and one has to be "{LABEL}"; name a '
            f"model for natural language inference, such as {DEFAULT_MODEL}"
        )
    return places[0]


def _load(model: str, device: str | None, hub_wait: float) -> Any:
    try:
        return _loaded_from(model, device, local=True)
    except loading_errors() as error:
        if Path(model).exists() or not _HUB_NAME.fullmatch(model):
            raise _unusable(model, error) from error
    _await_hub(model, hub_wait)
    try:
        return _loaded_from(model, device, local=False)
    except loading_errors() as error:
        raise _unusable(model, error) from error


def _unusable(model: str, error: Exception) -> EntailmentModelUnusableError:
    return EntailmentModelUnusableError(
        f"{model}: cannot be loaded as a cross-encoder ({why_not_loaded(error)}); check the name or path, or score "
        "without entailment"
    )


def _loaded_from(model: str, device: str | None, *, local: bool) -> Any:
    """Load from local files, or also from the Hub. Refuses a model that lacks files, which libraries would make up."""
    import torch
    from sentence_transformers import CrossEncoder

    if not model:
        raise ValueError("it has no name")
    with quiet() as warnings:
        network: Any = CrossEncoder(
            model,
            device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
            local_files_only=local,
            trust_remote_code=False,
            model_kwargs={"dtype": torch.float32, **WEIGHTS},
        ).eval()
    if any("newly initialized" in warning for warning in warnings):
        raise ValueError("weights are missing from it")
    words, embedded = len(network.tokenizer), getattr(network.model.config, "vocab_size", 0)
    if words < embedded / 2:
        raise ValueError(f"its tokenizer has {words} of {embedded} words: files of it are missing")
    return network


def _await_hub(model: str, seconds: float) -> None:
    """Raise if the Hub does not answer in time: its client would try six times for each file."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return  # its client refuses on its own
    try:
        url = f"{hub}/{model}/resolve/main/config.json"
        urlopen(Request(url, method="HEAD"), timeout=seconds).close()  # noqa: S310 - the user's own setting
    except HTTPError:
        return  # it answers; its client reads the details
    except (OSError, ValueError) as error:
        raise EntailmentModelUnusableError(
            f"{model}: is not on this machine, and {hub} does not answer ({getattr(error, 'reason', error)}); name a "
            "folder that holds the model, or score without entailment"
        ) from error
