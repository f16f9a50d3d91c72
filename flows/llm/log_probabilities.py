"""How likely a server's model finds options, if its completions report the log-probabilities of a prompt."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import orjson

from flows.llm.cache import Kind, completion_key
from flows.llm.chat_format import Reply
from flows.llm.connection import COMPLETION, Connection
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import Likelihood, Options, TooLong
from flows.llm.model import TransportError, Usage
from flows.llm.paid import PaidCompletions
from flows.llm.prices import estimate_tokens
from flows.llm.probe import Probe
from flows.llm.refusal import RefusedRequest
from schemas.base import canonical_json
from schemas.errors import WrongInput

WAYS: tuple[Mapping[str, object], ...] = ({"echo": True, "logprobs": 1}, {"prompt_logprobs": 0})
"""How to ask for the log-probabilities of a prompt's tokens: in the completions protocol's way, and in vLLM's."""
UNSUPPORTED = (400, 404, 405, 422, 501)
"""Statuses by which a server says that it has no completions, or not in this way."""


def text_key(settings: EndpointSettings, text: str) -> str:
    """The cache key of the log-probabilities of a text."""
    return completion_key(canonical_json([settings.identity, "log-probabilities"]), text.encode())


class LogProbabilities:
    """Asks a server for the log-probabilities of texts, in the first of the `WAYS` that it takes.

    The first text finds out which, alone: of a server that takes none no more is asked, or paid for.
    """

    def __init__(self, settings: EndpointSettings, connection: Connection, paid: PaidCompletions) -> None:
        self._settings = settings
        self._connection = connection
        self._paid = paid
        self._way = 0
        self._is_known = False
        """Whether the server has answered in this way."""
        self._probe = Probe()

    async def weigh(self, asked: Options, usage: Usage) -> tuple[Likelihood, ...]:
        """The options' likelihoods, in their order. Raises `WrongInput`, `TooLong`, and what asking raises."""
        texts = (asked.prompt, *(asked.prompt + option for option in asked.options))
        before, *whole = await asyncio.gather(*(self._of(text, usage) for text in texts))
        for option, numbers in zip(asked.options, whole, strict=True):
            if not before or len(numbers) <= len(before):
                raise WrongInput(
                    f"model {self._settings.name}: the option {option!r} has no tokens of its own; give it words"
                )
        return tuple(Likelihood(tuple(numbers[1 : len(before)]), tuple(numbers[len(before) :])) for numbers in whole)

    async def _of(self, text: str, usage: Usage) -> list[float]:
        """The log-probability of each token; the first one's means nothing, since no token precedes it."""
        key = text_key(self._settings, text)
        numbers: list[float] = orjson.loads((await self._paid.answer(_TextQuestion(key, text, self), usage)).answer)
        return numbers

    def body(self, text: str) -> bytes:
        """The request about a text, in the way that the server seems to take."""
        # One token is asked for: some servers refuse 0, and to others it means as many as fit.
        asked = {"model": self._settings.name, "prompt": text, "max_tokens": 1, "temperature": 0}
        return orjson.dumps({**asked, **WAYS[self._way]})

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait until the server's way is known, or go first and find out."""
        return self._probe.turn(lambda: self._is_known)

    async def ask(self, text: str) -> Reply:
        """The server's reply about a text."""
        answers: list[str] = []
        while True:
            try:
                reply = await self._connection.post(self.body(text), COMPLETION)
            except RefusedRequest as refused:
                if refused.is_about_length:
                    raise TooLong(
                        f"model {self._settings.name}: prompt and option are longer than its window "
                        f"({refused.message}); take fewer shots, or a model with a longer window: nothing is cut"
                    ) from None
                if self._is_known or refused.status not in UNSUPPORTED:
                    raise self._connection.failure(refused) from None
                answers.append(f"{refused.status} ({refused.message})" if refused.message else str(refused.status))
            else:
                if reply.answer:
                    self._is_known = True
                    return reply
                answers.append("200 without them")
            if self._is_known or self._way == len(WAYS) - 1:
                raise self._unsupported(answers)
            self._way += 1

    def _unsupported(self, answers: Sequence[str]) -> TransportError:
        """The error for a server that takes none of the ways; `answers` are its answers to each."""
        return TransportError(
            f"{self._connection.where}: options are weighed by the log-probabilities of the prompt's tokens and their "
            "number in usage.prompt_tokens (completions with echo, or vLLM's prompt_logprobs), and the server answered "
            f"{' and '.join(dict.fromkeys(answers))}; take a server that has them, such as vLLM, or load the model "
            "here (provider local, by its folder or Hub name); if the server has them, check name and base_url",
            transient=False,
        )


class _TextQuestion(NamedTuple):
    """Asks for the log-probabilities of a text; see `Question`."""

    key: str
    text: str
    asked: LogProbabilities
    is_batched: bool = False
    is_sent: bool = False

    @property
    def output_tokens(self) -> int:
        return 1

    def input_tokens(self) -> int:
        return estimate_tokens(self.text)

    def body(self) -> bytes:
        return self.asked.body(self.text)

    def ask(self, *, batched: bool) -> Awaitable[Reply]:
        assert not batched, "log-probabilities are not asked for in batches"
        return self.asked.ask(self.text)

    def kind(self, reply: Reply) -> Kind:
        return reply.kind

    def turn(self) -> AbstractAsyncContextManager[None]:
        return self.asked.turn()
