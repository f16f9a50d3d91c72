"""A model behind any server that speaks the OpenAI protocol."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel

from flows.llm import truncation
from flows.llm.batch_api import BatchApi
from flows.llm.batch_records import BatchRecords, Reading, Request, write_safely
from flows.llm.batches import Batches
from flows.llm.cache import Completion, CompletionCache, Kind
from flows.llm.chat_format import Reply, reask
from flows.llm.connection import Connection
from flows.llm.dialect import Dialect, Form, Negotiation, form_of, question_key
from flows.llm.endpoint_settings import REASONING_TOKENS, EndpointSettings
from flows.llm.lessons import Lessons
from flows.llm.likelihood import Likelihood, Options
from flows.llm.limits import Budget, Limits
from flows.llm.log_probabilities import LogProbabilities
from flows.llm.model import (
    CUT_OFF,
    MAX_REASKS,
    NO_ROOM,
    REFUSED,
    Invalid,
    InvalidAnswer,
    Message,
    NoAnswer,
    Out,
    Prompt,
    PromptTooLong,
    Usage,
    without_thought,
)
from flows.llm.paid import PaidCompletions
from flows.llm.prices import Price, Prices, UnknownPrice, estimate_prompt_tokens, estimate_tokens
from schemas.base import canonical_json

_log = logging.getLogger(__name__)


class Endpoint:
    """Answers prompts from a server, paying for no answer twice (`PaidCompletions`).

    `budget` is shared by the models of a run: with a ceiling, the price must be known (`UnknownPrice`). Raises
    `ApiKeyError` if the named environment variable holds no key. Belongs to one event loop; `aclose` comes before
    the loop ends.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        cache: CompletionCache,
        *,
        prices: Prices | None = None,
        budget: Budget | None = None,
        limits: Limits | None = None,
        tell: Callable[[str], None] = _log.warning,
        batches: BatchRecords | None = None,
        progress: Callable[[str], None] = _log.info,
    ) -> None:
        """`tell` gets each note to the user once: what the server does not take and is no longer asked.

        `batches` are those that are under way, which are waited for even if the settings want none;
        `progress` gets lines on them.
        """
        self.name = settings.name
        self.settings = settings
        prices = prices or Prices()
        self.full_price: Price = prices.of(settings.name, settings.base_url)
        self.batch_price: Price = prices.of(settings.name, settings.base_url, batch=True)
        self.price = self.batch_price if settings.batch else self.full_price
        self.budget = budget = budget or Budget()
        if self.budget.ceiling_usd is not None and not self.price.is_known:
            raise UnknownPrice(
                f"the price of {self.name} is not known, so budget_usd cannot be kept; name a file under "
                f"prices: with `{self.name}: {{input_per_million: USD, output_per_million: USD}}`, or "
                "remove budget_usd"
            )
        self.limits = limits = limits or Limits(
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
        )
        self._connection = Connection(settings, self.limits)
        self._paid = PaidCompletions(self.name, cache, self.full_price, budget, limits, self.batch_price, tell)
        self.negotiation = Negotiation(self._connection, Dialect(settings.name, settings.structured, tell))
        self._log_probabilities = LogProbabilities(settings, self._connection, self._paid)
        self._forms: dict[tuple[str, type[BaseModel], float, int], Form] = {}
        self._cut = truncation.cut_to(settings.window, settings.tokenizer)
        assert batches is not None or not settings.batch, "batches need a folder"
        self._batches: Batches | None = None
        if batches is not None:
            lessons = batches.lessons(canonical_json(settings.model_dump(mode="json")))
            self._batches = Batches(
                settings,
                batches,
                BatchApi(settings, self._connection),
                keep=self._keep,
                is_kept=lambda key: cache.get(key) is not None,
                tell=progress,
                sent=lambda: write_safely(lessons, self.negotiation.dialect.lessons.model_dump_json().encode()),
            )
            if settings.batch and (known := Lessons.read(lessons)) is not None:
                self.negotiation.take(known)
        self._tell = tell
        self._weighs = False
        self._reasons = False
        """Whether the model is known to think before it answers."""

    def identity(self) -> Mapping[str, object]:
        """See `EndpointSettings.identity`."""
        return self.settings.identity

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """The typed answer; what it took is added to `usage`. A higher `draw` asks anew.

        An invalid answer is shown to the model with its error and asked again, `MAX_REASKS` times. A prompt that
        `may_be_cut` is cut to the window in the settings; if the server still refuses it (it counts
        differently), it is cut by the server's stated window, or else by the settings', and asked again.
        Raises `InvalidAnswer` (also, at once, for a refusal: reason "refused"; `NoAnswer` if the server refuses,
        and `PromptTooLong`), `TransportError`, `BudgetSpent`, `CacheError` and `PromptTemplateError`.
        """
        form, messages = self._form(prompt), prompt.messages(inputs)
        if not prompt.may_be_cut:
            return await self._answer(prompt, form, inputs, messages, draw, usage)
        whole, messages = messages, self._cut(messages) if self._cut else messages
        share = 1.0
        for tries_left in reversed(range(truncation.TRIES)):
            shown = messages if share == 1 else truncation.cut_to_share(messages, share)
            try:
                answer = await self._answer(prompt, form, inputs, shown, draw, usage)
            except PromptTooLong as too_long:
                window = too_long.window
                left = self.settings.window or 0 if window is None else window - form.limit
                if window is not None and left < truncation.FEWEST_TOKENS:
                    raise NoAnswer(NO_ROOM, f"{form.limit:,} tokens (max_tokens), a window of {window:,}") from too_long
                if left < truncation.FEWEST_TOKENS or not tries_left:
                    raise
                share *= min(truncation.LEAST_CUT, truncation.SPARE * left / too_long.tokens)
            except InvalidAnswer as invalid:
                invalid.prompt_cut = shown != whole
                raise
            else:
                return answer if shown is whole else answer.model_copy(update={"prompt_cut": shown != whole})
        raise AssertionError("the last try answers or raises")

    async def _answer(
        self, prompt: Prompt[Out], form: Form, inputs: BaseModel, messages: list[Message], draw: int, usage: Usage
    ) -> Out:
        reason = answer = detail = ""
        for _ in range(MAX_REASKS + 1):
            try:
                completion = await self._completion(form, messages, draw, usage)
            except PromptTooLong:
                if not reason:
                    raise
                break  # the first answers are at fault, and their error is reported
            if completion.kind == "filtered":
                raise NoAnswer(REFUSED, completion.answer)
            answer, cut_off = without_thought(completion.answer), completion.kind == "cut off"
            if completion.kind == "refusal":
                raise InvalidAnswer(REFUSED, answer)
            usage.cut_off += cut_off
            try:
                if completion.kind == "no text":
                    raise Invalid("answer holds a character that is no text", r"leave out \x00")
                return prompt.parse(inputs, answer, cut_off=cut_off)
            except Invalid as invalid:
                error = invalid
                if cut_off:
                    error = Invalid(CUT_OFF, f"it was longer than {form.limit} tokens; be brief")
            reason, detail = error.reason, error.detail
            messages = [
                *messages,
                {"role": "assistant", "content": answer or "(no answer)"},
                {"role": "user", "content": reask(error, form.schema)},
            ]
        raise InvalidAnswer(reason, answer, detail)

    def limit_of(self, prompt: Prompt[Any]) -> int:
        """The most tokens that an answer to `prompt` may have, without the room for thoughts."""
        return self.settings.max_tokens.get(prompt.name, prompt.max_tokens)

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """See `LikelihoodModel`: by the completions protocol of a server that reports the log-probabilities of prompts.

        A prompt is also asked about alone, for the number of its tokens. If the server splits its end into other
        tokens when an option follows, they are counted as they come.
        """
        if self.settings.batch and not self._weighs:
            self._weighs = True
            self._tell(
                f"model {self.name}: options are asked about directly, at the full price: no server is known that "
                "takes them in batches and reports the log-probabilities of a prompt"
            )
        return list(await asyncio.gather(*(self._log_probabilities.weigh(options.split, usage) for options in asked)))

    @property
    def waits(self) -> Sequence[float]:
        """How long the server took for each answer so far, in seconds, with the client's own retries."""
        return self._paid.waits

    @property
    def served(self) -> Mapping[str, int]:
        """How many of the answers so far each model gave, by the server's own word; of some it may say nothing."""
        return self._paid.served

    async def aclose(self) -> None:
        """Let what is in flight reach the cache, then close the connections. Batches are not waited for."""
        if self._batches is not None:
            await self._batches.aclose()
        await self._paid.aclose()
        await self._connection.aclose()

    def _form(self, prompt: Prompt[Any]) -> Form:
        asked = prompt.name, prompt.output, prompt.temperature, prompt.max_tokens
        form = self._forms.get(asked)
        if form is None:
            form = self._forms[asked] = form_of(self.settings, prompt)
        return form

    def _question(self, form: Form, messages: list[Message], written: bytes, draw: int, room: int) -> "_ChatQuestion":
        """The question with this much room for thoughts; `written` are the messages as JSON."""
        key = question_key(self.settings, form, written, draw, room)
        return _ChatQuestion(key, self, form, messages, written, room)

    async def _completion(self, form: Form, messages: list[Message], draw: int, usage: Usage) -> Completion:
        """The answer within its limit of tokens, with room for thoughts if there are any.

        If the user sets no room, the reply without room counts, unless thoughts took its tokens: then the reply with
        room does. That holds whichever was asked first: what other calls have shown of the model saves calls, and
        changes no answer. The reply with room counts by itself if it shows what the other reply would be: it is
        complete and shows thoughts, or it has no more tokens than the other may have, or a text that fills no more
        than half of them.
        """
        written = b"%b" % orjson.dumps(messages)  # a copy: that of orjson takes 4 KB at least
        if self.settings.reasoning_tokens is not None:
            question = self._question(form, messages, written, draw, self.settings.reasoning_tokens)
            completion = await self._paid.answer(question, usage)
            final: Mapping[str, Kind] = {"no room": "cut off", "overlong": "answer"}
            return completion._replace(kind=final.get(completion.kind, completion.kind))
        plain = self._question(form, messages, written, draw, 0)
        roomy = self._question(form, messages, written, draw, REASONING_TOKENS)
        await self.negotiation.probed()
        in_room = not self._paid.is_cached(plain) and (self._reasons or self._paid.is_cached(roomy))
        first = await self._paid.answer(roomy if in_room else plain, usage)
        if first.kind not in (("overlong", "cut off") if in_room else ("no room",)):
            return first
        second = await self._paid.answer(plain if in_room else roomy, usage)
        short, long = (second, first) if in_room else (first, second)
        if short.kind != "no room":
            return short
        # A text as long as its tokens left none for thoughts: what came without room was its beginning.
        unthought = long.kind == "overlong" and long.output_tokens <= estimate_tokens(long.answer)
        if unthought and without_thought(short.answer).strip():
            return short._replace(kind="cut off")
        return long._replace(kind="answer") if long.kind == "overlong" else long

    # ---- batches ----

    def is_sent(self, key: str) -> bool:
        """Whether a question was sent in a batch whose replies are not in the cache yet."""
        return self._batches is not None and self._batches.has(key)

    def is_batched(self, key: str, form: Form) -> bool:
        """Whether a question goes into a batch: one that finds out what the server takes is asked at once."""
        batches = self._batches
        if batches is None:
            return False
        return batches.has(key) or (batches.takes(key) and self.negotiation.is_known(form))

    def ask(self, question: "_ChatQuestion", *, batched: bool) -> Awaitable[Reply]:
        """The server's reply to a question, in a batch or at once."""
        form, messages = question.form, question.messages
        if not batched:
            return self.negotiation.ask(form, messages, question.written, question.output_tokens)
        assert self._batches is not None
        ask, reading = self._batches.ask, Reading(form.limit, question.room, question.input_tokens())
        return self.negotiation.ask(
            form, messages, question.written, question.output_tokens,
            lambda body: ask(Request(question.key, body, reading)),
        )  # fmt: skip

    def _keep(self, key: str, reading: Reading, reply: Reply) -> None:
        self._paid.keep(key, reply, self.kind(reply, reading.limit, reading.room), reading.input_tokens)

    def kind(self, reply: Reply, limit: int, room: int) -> Kind:
        """The kind of a reply, which decides whether it is asked for again with another limit of tokens.

        Notes whether the model thinks. If the user has set the room for thoughts, nothing is asked again.
        """
        if reply.kind not in ("answer", "cut off"):
            return reply.kind
        is_set = self.settings.reasoning_tokens is not None
        counted, text = reply.output_tokens, without_thought(reply.answer)
        hidden = counted is not None and counted > 2 * estimate_tokens(text)
        short = not is_set and reply.kind == "cut off" and not room and (reply.reasoned or hidden or not text.strip())
        if short and not self._reasons:
            self._tell(
                f"model {self.name}: thinks before it answers, and its thoughts take the tokens of its answers; "
                f"{REASONING_TOKENS:,} more are given (reasoning_tokens sets the number, from the first call on)"
            )
        self._reasons |= reply.reasoned or (short and hidden)
        if short:
            return "no room"
        if is_set or not room or reply.kind != "answer" or reply.reasoned:
            return reply.kind
        is_overlong = counted is None or (counted > limit and 2 * estimate_tokens(reply.answer) >= limit)
        return "overlong" if is_overlong else reply.kind


class _ChatQuestion(NamedTuple):
    """Asks for the answer to messages, with this much room for thoughts; see `Question`."""

    key: str
    endpoint: Endpoint
    form: Form
    messages: list[Message]
    written: bytes
    """The messages as JSON."""
    room: int

    @property
    def output_tokens(self) -> int:
        return self.form.limit + self.room

    def input_tokens(self) -> int:
        return estimate_prompt_tokens(self.messages)

    def body(self) -> bytes:
        return self.endpoint.negotiation.dialect.body(self.form, self.messages, self.written, self.output_tokens)

    @property
    def is_batched(self) -> bool:
        return self.endpoint.is_batched(self.key, self.form)

    @property
    def is_sent(self) -> bool:
        return self.endpoint.is_sent(self.key)

    def ask(self, *, batched: bool) -> Awaitable[Reply]:
        return self.endpoint.ask(self, batched=batched)

    def kind(self, reply: Reply) -> Kind:
        return self.endpoint.kind(reply, self.form.limit, self.room)

    def turn(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self.is_sent else self.endpoint.negotiation.turn(self.form)
