"""A causal language model in this process, through transformers: for log-probabilities and attention."""

import asyncio
import hashlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from flows.llm.chat_text import common, pieces
from flows.llm.likelihood import Likelihood, Options, TooLong
from flows.llm.loading import can_crop, can_fork, fork, load_model, load_tokenizer
from flows.llm.model import Said, Usage
from schemas.base import Frozen, Line
from schemas.errors import Failed, WrongInput

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

READ_AT_ONCE = 512
"""Tokens of a prompt that are read together: their logits, one for each word of the vocabulary, are held at once."""
WEIGHTS_AT_ONCE = 2**27
"""Attention weights, of all layers and heads, held at once while a whole dialogue is read."""

_WINDOWS = ("max_position_embeddings", "n_positions", "n_ctx")
"""The names of the window in the settings of various models."""


class LocalSettings(Frozen):
    """`models.<role>` of the configuration, for a model that is loaded on this machine."""

    provider: Literal["local"] = "local"
    name: Line = Field(min_length=1, description="A folder, or a name on the Hugging Face Hub")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number format of the weights; auto: as in the model's files"
    )
    device: str | None = Field(None, min_length=1, description="Device to run on; null: a GPU if there is one")


@dataclass(frozen=True)
class Attended:
    """Where the tokens of a text's end look, in every layer and head."""

    ends: "NDArray[np.int64]"
    """(tokens,): where each token of the text ends, in characters; 0 for special tokens."""
    positions: "NDArray[np.int64]"
    """(layers, heads, tokens of the end): the token with the highest attention weight."""


@dataclass(frozen=True)
class TurnsAttended:
    """How much the tokens of a dialogue look at each of its turns; turn 0 is the text before the first turn."""

    turns: "NDArray[np.int64]"
    """(tokens,): the turn of each token, in order."""
    weights: "NDArray[np.float64]"
    """(tokens, turns + 1): the largest attention weight, over layers, heads and a turn's tokens; 0 for later turns."""


@dataclass
class _Read:
    """Tokens that were read, with their keys and values in the model's cache."""

    tokens: tuple[int, ...] = ()
    cache: Any = None
    log_probabilities: list[float] = field(default_factory=list)
    """Of each token but the first, and of the token that follows the last."""


@dataclass(frozen=True)
class _Encoded:
    prompt: tuple[int, ...]
    options: tuple[tuple[int, ...], ...]


class LocalModel:
    """Says how likely options are, and where attention goes. Loaded at its first use, or by `load`.

    A prompt is read once: its keys and values are kept, and its options, padded to equal length, continue from
    there together. Prompts are read in the order of their tokens: a prompt that begins like the last (a few-shot
    prompt's instruction and demonstrations) continues from there too. So a likelihood differs from that of a pass
    over the whole text only by the rounding of floats. Options are read in the order of their tokens as well, so
    that their likelihoods do not depend on the order asked for. If a model does not keep the keys and values of all
    tokens (a recurrent model), each text is read whole.

    Safe to share between threads; calls are handled one at a time.
    """

    def __init__(self, settings: LocalSettings) -> None:
        self.settings = settings
        self._folder = Path(settings.name).resolve() if Path(settings.name).exists() else None
        self.name = self._folder.name if self._folder else settings.name
        self._lock = threading.Lock()
        self._read = _Read()

    def identity(self) -> Mapping[str, object]:
        """The model, with the checksums of its files in place of its folder, and its number format."""
        identity = {"provider": "local", "model": self.name, "dtype": self.settings.dtype}
        return identity | ({"files": self._checksums} if self._folder else {})

    @cached_property
    def _checksums(self) -> dict[str, str]:
        assert self._folder is not None
        checksums = {}
        for path in sorted(self._folder.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                with path.open("rb") as file:
                    checksums[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        return checksums

    def load(self) -> None:
        """Load the model now. Raises `ModelSetupError` if it is not available."""
        with self._lock:
            _ = self._model, self._tokenizer

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """See `LikelihoodModel`."""
        likelihoods = await asyncio.to_thread(self.log_probabilities, asked)
        usage.calls += sum(map(len, likelihoods))
        return likelihoods

    def log_probabilities(self, asked: Sequence[Options]) -> list[tuple[Likelihood, ...]]:
        """For each prompt its options' likelihoods, in the options' order.

        Raises `ModelSetupError` if the model is not available, `WrongInput` for a prompt or an option
        without tokens and `TooLong`, both before anything is read, and `Failed` if the model gives NaN.
        """
        with self._lock:
            encoded = [self._encode(options) for options in asked]
            likelihoods: list[tuple[Likelihood, ...]] = [()] * len(asked)
            for place in sorted(range(len(asked)), key=lambda place: encoded[place].prompt):
                likelihoods[place] = self._weigh(encoded[place])
        return likelihoods

    # ---- tokens ----

    def _encode(self, asked: Options) -> _Encoded:
        split = asked.split
        prompt = tuple(self._tokenizer.encode(split.prompt))
        texts = (split.prompt + option for option in split.options)
        options = tuple(tuple(self._tokenizer.encode(text)[len(prompt) :]) for text in texts)
        if not prompt:
            raise WrongInput(f"model {self.name}: a prompt without tokens; options are weighed after a prompt")
        for text, tokens in zip(asked.options, options, strict=True):
            if not tokens:
                raise WrongInput(f"model {self.name}: the option {text!r} has no tokens of its own; give it words")
        self._check_length(len(prompt) + max(map(len, options), default=0) - 1)
        return _Encoded(prompt, options)

    def _check_length(self, tokens: int) -> None:
        if self._window is not None and tokens > self._window:
            raise TooLong(
                f"model {self.name}: prompt and option have {tokens:,} tokens, and its window is {self._window:,}; "
                "take fewer shots, or a model with a longer window: nothing is cut"
            )

    # ---- likelihood ----

    def _weigh(self, encoded: _Encoded) -> tuple[Likelihood, ...]:
        import torch

        order = sorted(range(len(encoded.options)), key=encoded.options.__getitem__)
        with torch.inference_mode():
            self._read_prompt(encoded.prompt)
            if not self._read.tokens or can_fork(self._read.cache):
                rows = self._continue([encoded.options[place] for place in order], encoded.prompt)
            else:
                rows = [self._whole(encoded.prompt, encoded.options[place]) for place in order]
        before = tuple(self._read.log_probabilities)
        if not all(map(math.isfinite, chain(before, *rows))):
            raise Failed(f"model {self.name}: gives probabilities that are no numbers; load it with dtype: float32")
        by_place = dict(zip(order, rows, strict=True))
        return tuple(Likelihood(before, tuple(by_place[place])) for place in range(len(order)))

    def _read_prompt(self, tokens: tuple[int, ...]) -> None:
        """Read all but the last token, from where the prompt begins to differ from what was read before.

        The last token is read with the options: it predicts their first token.
        """
        last, self._read = self._read, _Read()
        kept = common(last.tokens, tokens[:-1]) if can_crop(last.cache) else 0
        # The last of the common tokens is read again: the token after it may differ from the one read before.
        start = max(0, kept - 1)
        cache = last.cache if start else None
        if cache is not None:
            cache.crop(start - len(last.tokens))
        numbers = last.log_probabilities[:start]
        for first in range(start, len(tokens) - 1, READ_AT_ONCE):
            past = min(first + READ_AT_ONCE, len(tokens) - 1)
            if first and not can_fork(cache):  # it cannot be read in pieces
                numbers, cache = self._in_one_pass(tokens[:-1], tokens[1:]), None
                break
            output = self._model(
                input_ids=self._tensor([tokens[first:past]]), past_key_values=cache, use_cache=True, return_dict=True
            )
            cache = getattr(output, "past_key_values", None)
            numbers += _chosen(output.logits[0], self._tensor(tokens[first + 1 : past + 1]))
        self._read = _Read(tokens[:-1], cache, numbers)

    def _continue(self, options: Sequence[tuple[int, ...]], prompt: tuple[int, ...]) -> list[list[float]]:
        """The options' log-probabilities, all at once, from the prompt's state in the cache."""
        import torch

        longest = max(map(len, options))
        inputs = [(prompt[-1], *option[:-1]) for option in options]
        padded = self._tensor([(*row, *(0,) * (longest - len(row))) for row in inputs])
        # Padding is at the end, where no token of the text sees it: positions continue by themselves.
        mask = torch.ones(len(options), len(prompt) - 1 + longest, dtype=torch.long, device=padded.device)
        for row, option in enumerate(options):
            mask[row, len(prompt) - 1 + len(option) :] = 0
        cache = fork(self._read.cache, len(options))
        logits = self._model(
            input_ids=padded, attention_mask=mask, past_key_values=cache, use_cache=cache is not None, return_dict=True
        ).logits
        return [_chosen(logits[row, : len(option)], self._tensor(option)) for row, option in enumerate(options)]

    def _whole(self, prompt: tuple[int, ...], option: tuple[int, ...]) -> list[float]:
        tokens = prompt + option
        return self._in_one_pass(tokens[:-1], tokens[1:])[-len(option) :]

    def _in_one_pass(self, inputs: tuple[int, ...], targets: tuple[int, ...]) -> list[float]:
        """The log-probability of each target after its input, in one pass that leaves no cache."""
        logits = self._model(input_ids=self._tensor([inputs]), use_cache=False, return_dict=True).logits[0]
        return [
            number
            for at in range(0, len(inputs), READ_AT_ONCE)
            for number in _chosen(logits[at : at + READ_AT_ONCE], self._tensor(targets[at : at + READ_AT_ONCE]))
        ]

    # ---- attention ----

    def attended(self, text: str, start: int) -> Attended:
        """Where the tokens that end after character `start` of the text look.

        Raises what `log_probabilities` raises, and `WrongInput` if the model or its tokenizer does not report it.
        """
        import torch

        with self._lock:
            tokens, ends = self._placed(text)
            self._check_length(len(tokens))
            looking = int((ends > start).sum())
            if not looking or not (ends[-looking:] > start).all():
                raise WrongInput(
                    f"model {self.name}: no tokens stand behind character {start} of the text, up to its end"
                )
            with self._eager():
                self._read_prompt((*tokens[:-looking], 0))
                cache = self._read.cache if can_fork(self._read.cache) else None
                inputs = tokens[-looking:] if cache is not None else tokens
                layers, _ = self._weights(inputs, fork(cache, 1), keep=cache is not None)
            # A layer with a sliding window holds only the last keys.
            positions = [
                layer[0, :, -looking:].float().argmax(dim=-1) + len(tokens) - layer.shape[-1] for layer in layers
            ]
            return Attended(ends, torch.stack(positions).cpu().numpy())

    def turns_attended(self, turns: Sequence[Said]) -> TurnsAttended:
        """How much the tokens of a dialogue look at each of its turns, in the model's chat template.

        Without a template, turns are plain. A token belongs to the turn that holds its last character, a special token
        at the beginning to turn 0. Some tokens are read at a time, `WEIGHTS_AT_ONCE` weights, so that memory grows with
        the dialogue's length and not with its square. Raises what `attended` raises, `TooLong` before anything is read.
        """
        import numpy as np
        import torch

        with self._lock:
            texts = pieces(self._tokenizer, turns)
            # A template writes the special tokens itself.
            tokens, ends = self._placed("".join(texts), special=self._tokenizer.chat_template is None)
            if self._window is not None and len(tokens) > self._window:
                raise TooLong(
                    f"model {self.name}: the dialogue has {len(tokens):,} tokens, and its window is {self._window:,}; "
                    "take a model with a longer window: nothing is cut"
                )
            edges = np.cumsum([len(text) for text in texts])
            # Special tokens after the text, which have no place in it, belong to its last turn.
            owners = np.searchsorted(edges, np.maximum.accumulate(ends), side="left")
            at = self._tensor(owners.tolist())
            largest = torch.zeros(len(tokens), len(texts), device=at.device)
            cache, first, past = None, 0, 1  # the first token shows how many heads there are
            with self._eager():
                while first < len(tokens):
                    if first and not can_fork(cache):
                        raise WrongInput(
                            f"model {self.name}: cannot read a dialogue piece by piece, for it does not keep what each "
                            "token said; use another model"
                        )
                    layers, cache = self._weights(tokens[first:past], cache, keep=True)
                    for layer in layers:
                        looked = layer[0].float().amax(dim=0)
                        turn = at[past - looked.shape[-1] : past].expand_as(looked)
                        largest[first:past].scatter_reduce_(1, turn, looked, "amax")
                    heads = sum(layer.shape[1] for layer in layers)
                    at_once = min(READ_AT_ONCE, max(1, WEIGHTS_AT_ONCE // (heads * len(tokens))))
                    first, past = past, min(past + at_once, len(tokens))
            if not largest.isfinite().all():
                raise Failed(f"model {self.name}: gives attention that is no number; load it with dtype: float32")
            # By the rounding of floats a weight can be a little above 1.
            return TurnsAttended(owners, largest.clamp(max=1).double().cpu().numpy())

    def _placed(self, text: str, *, special: bool = True) -> tuple[tuple[int, ...], "NDArray[np.int64]"]:
        import numpy as np

        if not self._tokenizer.is_fast:
            raise WrongInput(f"model {self.name}: its tokenizer does not tell where tokens stand; use another model")
        encoding = self._tokenizer(text, return_offsets_mapping=True, add_special_tokens=special)
        return tuple(encoding["input_ids"]), np.array([end for _, end in encoding["offset_mapping"]], np.int64)

    @contextmanager
    def _eager(self) -> Iterator[None]:
        """Use the implementation of attention that reports its weights; others do not keep them."""
        import torch

        before = self._model.config._attn_implementation
        self._model.set_attn_implementation("eager")
        try:
            with torch.inference_mode():
                yield
        finally:
            self._model.set_attn_implementation(before)

    def _weights(self, inputs: Sequence[int], cache: Any, *, keep: bool) -> tuple[list["torch.Tensor"], Any]:
        """The attention weights of each layer, (1, heads, inputs, keys), and the cache, if it is to `keep` one."""
        output = self._model(
            input_ids=self._tensor([inputs]), past_key_values=cache, use_cache=keep, output_attentions=True,
            return_dict=True,
        )  # fmt: skip
        layers = [layer for layer in getattr(output, "attentions", None) or () if layer is not None]
        if not layers:
            raise WrongInput(f"model {self.name}: does not tell its attention; use another model")
        return layers, getattr(output, "past_key_values", None)

    # ---- the model ----

    def _tensor(self, tokens: Sequence[int] | Sequence[Sequence[int]]) -> "torch.Tensor":
        import torch

        return torch.tensor(tokens, dtype=torch.long, device=self._model.device)

    @cached_property
    def _window(self) -> int | None:
        config = self._model.config.get_text_config()
        return next((int(getattr(config, name)) for name in _WINDOWS if getattr(config, name, None)), None)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.settings.name)

    @cached_property
    def _model(self) -> Any:
        return load_model(self.settings.name, self.settings.dtype, self.settings.device)


def _chosen(logits: "torch.Tensor", targets: "torch.Tensor") -> list[float]:
    """Log-probabilities of the targets (tokens,) from logits (tokens, vocabulary), in float32 whatever their type."""
    logits = logits.float()
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    numbers: list[float] = (chosen - logits.logsumexp(dim=-1)).tolist()
    return numbers
