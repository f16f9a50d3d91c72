"""A model behind any server that speaks the OpenAI protocol. The only place that imports openai."""

import asyncio
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self
from urllib.parse import urlsplit, urlunsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from flows.llm.cache import Completion, CompletionCache, Kind, completion_key
from flows.llm.chat_format import (
    MOST_TOKENS,
    Reply,
    offered_window,
    read_failure,
    read_log_probabilities,
    read_reply,
    reask,
)
from flows.llm.dialect import Dialect, Form, Structured
from flows.llm.limits import Budget, Limits
from flows.llm.model import (
    CUT_OFF,
    MAX_REASKS,
    NO_ROOM,
    Invalid,
    InvalidAnswer,
    Message,
    ModelSetupError,
    NoAnswer,
    Out,
    Prompt,
    PromptTooLong,
    TransportError,
    Usage,
    without_thought,
)
from flows.llm.options import Likelihood, Options, TooLong
from flows.llm.prices import Price, Prices, UnknownPrice, estimate_prompt_tokens, estimate_tokens
from flows.llm.refusal import RefusedRequest
from flows.llm.truncation import (
    FEWEST_TOKENS,
    LEAST_CUT,
    SPARE,
    TRIES,
    Cut,
    PretrainedTokenizer,
    cut_to_share,
    middle_cut,
)
from schemas.base import Frozen, canonical_json, visible
from schemas.errors import WrongInput

if TYPE_CHECKING:
    import httpx2
    import openai

_log = logging.getLogger(__name__)

NO_KEY = "no-key"
"""What a server without keys is sent, since the protocol wants one."""
SHORTEST_SECRET = 8
"""A key of fewer characters may be part of any text: it is hidden in no message."""
LONGEST_LABEL = 63  # RFC 1035, section 2.3.4
FEWEST_AT_MASK = 4
"""So many characters of a key around a mask (`...`, `****`) are parts of the key, and no chance."""
_MASK = re.compile(r"\.{2,}|…+|[*•xX#]{3,}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")

CONNECT_S = 10.0
"""How long a connection may take to be made, in seconds."""

DRAIN_S = 20.0
"""How long calls that nobody waits for any more may take to be answered when all is closed, in seconds."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
"""Between two tries after an unreadable reply the pause doubles from the first to the longest, in seconds."""

SILENT_TRIES = 2
"""A server that takes a request and says nothing is asked once more, whatever `max_retries`: one that hangs is given
up after twice `timeout_s`, and a shard that met it is not tried again."""

SILENCE = {"x-should-retry": "false", "x-touchstone-silence": "true"}
"""Headers of the reply that `_connect` makes up for a server that is silent: the SDK is not to try again by itself."""

PASSING = (408, 409, 429, *range(500, 600))
"""Statuses after which the SDK tries again; where a reply of status 200 tells one, we do."""

SHOWN_CHARACTERS = 300
"""How much of a server's own message an error shows."""

REASONING_TOKENS = 8192
"""Room for thoughts where `reasoning_tokens` gives none, and those of a model have taken an answer's own tokens."""

ANSWERED_BY = {"temperature", "parameters", "max_tokens", "reasoning_tokens", "window", "tokenizer"}
"""The settings that answers depend on."""

OURS = ("model", "messages", "max_tokens", "max_completion_tokens", "response_format", "stream", "n", "temperature")
"""Parameters of the protocol that are not set by `parameters`."""

TELLING: tuple[Mapping[str, object], ...] = ({"echo": True, "logprobs": 1}, {"prompt_logprobs": 0})
"""The ways to ask for the log-probabilities of a prompt's tokens: the completions protocol's own, and vLLM's."""


class ApiKeyError(ModelSetupError):
    """The environment variable that should hold a model's key does not hold one."""


class EndpointSettings(Frozen):
    """`models.<role>` of the configuration, for a server of the OpenAI chat protocol."""

    model_config = ConfigDict(hide_input_in_errors=True)

    provider: Literal["endpoint"] = "endpoint"
    name: str = Field(min_length=1, description="The model's name as the server knows it")
    base_url: str = Field("https://api.openai.com/v1", description="Up to and with /v1")
    api_key_env: str | None = Field(
        None,
        description="Environment variable that holds the key; none for a server without keys",
    )
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0, description="Estimated prompt tokens plus max_tokens")
    concurrency: int = Field(64, ge=1, le=1000, description="Requests in flight at once")
    timeout_s: float = Field(180.0, gt=0, description="Longest silence of the server, in seconds; then asked once more")
    max_retries: int = Field(5, ge=0, description="After 429, 5xx and dropped connections")
    structured: Structured = Field(
        "auto", description="How the answer's form is asked for; auto takes the best that the server offers"
    )
    temperature: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Of all prompts, in place of each one's own"
    )
    parameters: Mapping[str, Any] = Field(
        default_factory=dict, description="More that is asked for with every prompt, as the server has it: top_p, seed"
    )
    max_tokens: Mapping[str, Annotated[int, Field(ge=1, le=MOST_TOKENS, strict=True)]] = Field(
        default_factory=dict, description="By prompt, tokens of an answer at most, in place of the prompt's own number"
    )
    reasoning_tokens: int | None = Field(
        None,
        ge=0,
        le=MOST_TOKENS,
        strict=True,
        description=f"Room for thoughts on top of an answer's tokens; null: {REASONING_TOKENS:,}, once they are missed",
    )
    window: int | None = Field(
        None,
        ge=FEWEST_TOKENS,
        description="Tokens of a prompt beyond which that of an evaluated model is cut in its middle",
    )
    tokenizer: str | None = Field(
        None, min_length=1, description="By name or path: what tokens are, for `window`; else they are estimated"
    )

    @model_validator(mode="after")
    def _window_in_tokens(self) -> "EndpointSettings":
        if self.tokenizer is not None and self.window is None:
            raise ValueError("a tokenizer counts the tokens of window: give both, or window alone")
        return self

    @field_validator("parameters")
    @classmethod
    def _are_parameters(cls, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, value in parameters.items():
            if name in OURS:
                raise ValueError(
                    f"{name} is set elsewhere: temperature, max_tokens and structured are settings of their own"
                )
            if not name.isidentifier():
                raise ValueError(f"{name!r} is no parameter's name")
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name} is nothing that JSON can say; put it in quotes") from error
        return parameters

    @field_validator("api_key_env")
    @classmethod
    def _is_name(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError("expected the name of an environment variable, such as OPENAI_API_KEY; not the key")
        return value

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected an address such as http://localhost:8000/v1")
        if parts.query or parts.fragment:
            raise ValueError("an address ends with its path; keys go into the environment, see api_key_env")
        if "@" in parts.netloc:
            raise ValueError("a name and password do not belong in an address; give the key by api_key_env")
        if any(len(label) > LONGEST_LABEL for label in parts.hostname.split(".")):
            raise ValueError(f"no part of a host's name is longer than {LONGEST_LABEL} characters")
        return value.rstrip("/")


@dataclass(frozen=True)
class _Protocol:
    """One of the things that a server can be asked for."""

    name: str
    path: str
    read: Callable[[bytes], Reply | None]


CHAT = _Protocol("chat completion", "/chat/completions", read_reply)
COMPLETION = _Protocol("completion", "/completions", read_log_probabilities)


@dataclass(frozen=True)
class _Question:
    """What is asked of the server."""

    key: str
    """The name that the answer is kept under."""
    ask: Callable[[], Awaitable[Reply]]
    body: Callable[[], bytes]
    """The request, as it would be sent now."""
    input_tokens: Callable[[], int]
    """An estimate."""
    output_tokens: int
    """At most."""
    form: Form | None = None
    """Of a prompt."""
    room: int | None = None
    """How many of the tokens are for thoughts; None where that is as the user has set it."""


@dataclass
class _Probe:
    """The one call that finds out what the server takes and offers, and whether the model thinks."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: TransportError | None = None

    async def over(self) -> None:
        """Wait for it, and fail with it."""
        await self.done.wait()
        if self.error is not None:
            raise TransportError(str(self.error), transient=self.error.transient)


class Endpoint:
    """Answers prompts from a server, paying for no answer twice.

    Every answer is committed to `cache` before it is used; an answer found there takes no place in the
    limits. `budget` is shared by the models of a run: with a ceiling, the price must be known
    (`UnknownPrice`). `ApiKeyError` where the named environment variable holds no key. Belongs to one
    event loop. Where a call is cancelled, what it has sent is still seen through to the cache; `aclose`,
    before the loop ends, waits for that.
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
    ) -> None:
        """`tell` is given each note to the user once: what the server does not take, and is not asked any more."""
        self.name = settings.name
        self.settings = settings
        self.base_url = _public_url(settings.base_url)
        self.price: Price = (prices or Prices()).of(settings.name, settings.base_url)
        self.budget = budget or Budget()
        if self.budget.ceiling_usd is not None and not self.price.known:
            raise UnknownPrice(
                f"the price of {self.name} is not known, so budget_usd cannot be kept; name a file under "
                f"prices: with `{self.name}: {{input_per_million: USD, output_per_million: USD}}`, or "
                "remove budget_usd"
            )
        self.limits = limits or Limits(
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
        )
        self._cache = cache
        self._key = _api_key(settings.api_key_env)
        self._client: openai.AsyncOpenAI | None = None
        self._asked: dict[str, asyncio.Future[Completion]] = {}
        """What is being asked, by the key of its answer."""
        self._calls: set[asyncio.Task[Completion]] = set()
        self._forms: dict[tuple[str, type[BaseModel], float, int], Form] = {}
        self._dialect = Dialect(settings.name, settings.structured, tell)
        self._heard = False
        """Whether the server has answered, so that something is known of it."""
        self._cut: Cut | None = None
        if settings.window is not None:
            named = settings.tokenizer
            self._cut = middle_cut(settings.window, PretrainedTokenizer(named) if named else None)
        self._probe: _Probe | None = None
        self._tell_user = tell
        self._reasons = False
        """Whether the model is known to think before it answers."""
        self._window: asyncio.Task[int | None] | None = None
        """What the server's list of models says of the window."""
        self._telling = 0
        """Which of the ways of `TELLING` the server takes, as far as is known."""

    def identity(self) -> Mapping[str, object]:
        """See `identity_of`."""
        return identity_of(self.settings)

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """The typed answer; what it took is added to `usage`. A higher `draw` asks anew.

        An invalid answer is shown to the model with its error and asked again, `MAX_REASKS` times. A prompt that
        `may_be_cut` is cut to the window that the settings give; where the server refuses it all the same (it counts
        otherwise), by the window that it tells, or else by theirs, and asked again.
        Raises `InvalidAnswer` (also, at once, for a refusal: reason "refused"; `NoAnswer` where it is the server's,
        and `PromptTooLong`), `TransportError`, `BudgetSpent`, and `CacheError` and `PromptTemplateError` of what it
        is built on.
        """
        form, messages = self._form(prompt), prompt.messages(inputs)
        if not prompt.may_be_cut:
            return await self._answer(prompt, form, inputs, messages, draw, usage)
        whole, messages = messages, self._cut(messages) if self._cut else messages
        share = 1.0
        for tries_left in reversed(range(TRIES)):
            shown = messages if share == 1 else cut_to_share(messages, share)
            try:
                answer = await self._answer(prompt, form, inputs, shown, draw, usage)
            except PromptTooLong as too_long:
                told = too_long.window
                left = self.settings.window or 0 if told is None else told - form.limit
                if told is not None and left < FEWEST_TOKENS:
                    raise NoAnswer(NO_ROOM, f"{form.limit:,} tokens (max_tokens), a window of {told:,}") from too_long
                if left < FEWEST_TOKENS or not tries_left:
                    raise
                share *= min(LEAST_CUT, SPARE * left / too_long.tokens)
            except InvalidAnswer as invalid:
                invalid.prompt_cut = shown != whole
                raise
            else:
                return answer.model_copy(update={"prompt_cut": shown != whole})
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
                break  # with what was said of the first answers: theirs is the fault
            if completion.kind == "filtered":
                raise NoAnswer("refused", completion.answer)
            answer, cut_off = without_thought(completion.answer), completion.kind == "cut off"
            if completion.kind == "refusal":
                raise InvalidAnswer("refused", answer)
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
        """How many tokens an answer to `prompt` may have, without the room for thoughts."""
        return self.settings.max_tokens.get(prompt.name, prompt.max_tokens)

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """See `LikelihoodModel`: by the completions protocol of a server that tells the log-probabilities of prompts.

        A prompt is asked about alone too, for the number of its tokens. Where the server makes other tokens of
        its end when an option follows, they are counted as they come.
        """
        return list(await asyncio.gather(*(self._weigh(one.split, usage) for one in asked)))

    async def aclose(self) -> None:
        """Let what is in flight reach the cache, for at most `DRAIN_S` seconds, and close the connections."""
        if self._calls:
            _, unfinished = await asyncio.wait(self._calls, timeout=DRAIN_S)
            for call in unfinished:
                call.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # What is asked, and under which name it is kept.

    def _form(self, prompt: Prompt[Any]) -> Form:
        asked = prompt.name, prompt.output, prompt.temperature, prompt.max_tokens
        form = self._forms.get(asked)
        if form is None:
            settings = self.settings
            temperature = prompt.temperature if settings.temperature is None else settings.temperature
            parameters = {"temperature": temperature, **settings.parameters}
            form = self._forms[asked] = Form(prompt.output.__name__, prompt.schema, parameters, self.limit_of(prompt))
        return form

    def _question(self, form: Form, messages: list[Message], draw: int, room: int) -> _Question:
        """What is asked with so much room for thoughts; it is known by what the user has set, not by what is sent."""
        written, tokens = orjson.dumps(messages), form.limit + room
        key = form.keys.get(room)
        if key is None:
            named = {**form.parameters, "max_tokens": form.limit, **({"room": room} if room else {})}
            key = form.keys[room] = canonical_json([_server(self.settings), named, form.schema])
        return _Question(
            key=completion_key(key, written, b"%d" % draw),
            ask=lambda: self._ask(form, messages, written, tokens),
            body=lambda: self._dialect.body(form, messages, written, tokens),
            input_tokens=lambda: estimate_prompt_tokens(messages),
            output_tokens=tokens,
            form=form,
            room=room if self.settings.reasoning_tokens is None else None,
        )

    # From the cache, or paid for and kept.

    async def _completion(self, form: Form, messages: list[Message], draw: int, usage: Usage) -> Completion:
        """The answer within its limit of tokens, and with room for thoughts where there are any.

        Where the user says nothing of room, the reply without it counts, unless thoughts took its tokens: then the
        one with room. That is so whichever was asked first: what was learnt of the model from other calls saves calls,
        and changes no answer. The one with room counts by itself where the other one is known from it: where it is
        whole and thoughts are shown, or it has no more tokens than the other may have, or a text that fills no more
        than half of them.
        """
        if self.settings.reasoning_tokens is not None:
            question = self._question(form, messages, draw, self.settings.reasoning_tokens)
            completion = await self._kept(question, usage)
            final: Mapping[str, Kind] = {"no room": "cut off", "overlong": "answer"}
            return completion._replace(kind=final.get(completion.kind, completion.kind))
        plain, roomy = (self._question(form, messages, draw, room) for room in (0, REASONING_TOKENS))
        if not self._heard and self._probe is not None:
            await self._probe.over()
        in_room = self._cache.get(plain.key) is None and (self._reasons or self._cache.get(roomy.key) is not None)
        first = await self._kept(roomy if in_room else plain, usage)
        if first.kind not in (("overlong", "cut off") if in_room else ("no room",)):
            return first
        second = await self._kept(plain if in_room else roomy, usage)
        short, long = (second, first) if in_room else (first, second)
        if short.kind != "no room":
            return short
        # A text that is as long as its tokens is no thinker's: what came without room was its beginning.
        unthought = long.kind == "overlong" and long.output_tokens <= estimate_tokens(long.answer)
        if unthought and without_thought(short.answer).strip():
            return short._replace(kind="cut off")
        return long._replace(kind="answer") if long.kind == "overlong" else long

    def _kind(self, reply: Reply, question: _Question) -> Kind:
        """What a reply is; where it has to be asked for again with another limit of tokens, that is told by its kind.

        What is learnt of the model's thoughts is noted.
        """
        if question.form is None or reply.kind not in ("answer", "cut off"):
            return reply.kind
        counted, limit, text = reply.output_tokens, question.form.limit, without_thought(reply.answer)
        hidden = counted is not None and counted > 2 * estimate_tokens(text)
        short = (reply.kind == "cut off" and question.room == 0) and (reply.reasoned or hidden or not text.strip())
        if short and not self._reasons:
            self._tell_user(
                f"model {self.name}: thinks before it answers, and its thoughts take the tokens of its answers; "
                f"{REASONING_TOKENS:,} more are given (reasoning_tokens sets the number, from the first call on)"
            )
        self._reasons |= reply.reasoned or (short and hidden)
        if short:
            return "no room"
        overlong = reply.kind == "answer" and question.room and not reply.reasoned
        overlong = overlong and (counted is None or (counted > limit and 2 * estimate_tokens(reply.answer) >= limit))
        return "overlong" if overlong else reply.kind

    async def _kept(self, question: _Question, usage: Usage) -> Completion:
        """The answer, from the cache or the server; what it took is added to `usage`."""
        key = question.key
        known = self._cache.get(key)
        if known is None and key in self._asked:  # the same is being asked: one answer, paid for once
            known = await asyncio.shield(self._asked[key])
        if known is not None:
            usage.add(self._from_cache(known))
            return known
        asked = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            completion = await self._paid(question)
        except BaseException as error:
            stopped = TransportError(f"model {self.name}: a call like this one was broken off", transient=True)
            asked.set_exception(error if isinstance(error, Exception) else stopped)
            asked.exception()  # known to whoever waits; where nobody does, it is not to be printed
            raise
        else:
            asked.set_result(completion)
        finally:
            del self._asked[key]
        usage.add(
            Usage(
                calls=1,
                input_tokens=completion.input_tokens,
                output_tokens=completion.output_tokens,
                cost_usd=completion.cost_usd if self.price.known else None,
            )
        )
        return completion

    def _from_cache(self, completion: Completion) -> Usage:
        """What an answer that was paid for before counts as; one that was paid at no known price costs today's."""
        cost: float | None = completion.cost_usd
        if not cost:
            known = self.price.known
            cost = self.price.cost(completion.input_tokens, completion.output_tokens) if known else None
        return Usage(
            cached=1,
            cached_input_tokens=completion.input_tokens,
            cached_output_tokens=completion.output_tokens,
            cached_cost_usd=cost,
        )

    async def _paid(self, question: _Question) -> Completion:
        """Ask the server; where nothing is known of it, or of the forms that it offers, as the one that finds out."""
        probe = await self._may_probe(question.form)
        try:
            return await self._pay(question)
        except TransportError as error:
            if probe is not None:
                probe.error = error
            raise
        finally:
            if probe is not None:
                self._probe = None
                probe.done.set()

    async def _may_probe(self, form: Form | None) -> _Probe | None:
        """Wait until it is known what the server offers; a probe where this call is to find out."""
        if form is None:
            return None
        while not (self._heard and (form.schema is None or self._dialect.level_is_known)):
            if self._probe is None:
                self._probe = _Probe()
                return self._probe
            await self._probe.over()
        return None

    async def _pay(self, question: _Question) -> Completion:
        """Ask the server within the limits, and keep its answer."""
        tokens = 0
        if self.settings.tokens_per_minute is not None:
            tokens = question.input_tokens() + question.output_tokens
        await self.limits.enter(tokens)
        try:
            # A token is at least one byte: the call cannot cost more, whatever the server counts.
            reserved = self.price.cost(len(question.body()), question.output_tokens)
            await self.budget.reserve(reserved)
        except BaseException:
            self.limits.leave()
            raise
        # What is sent may be paid for: from here on it is seen through to the cache, even where nobody waits.
        call = asyncio.create_task(self._call(question, reserved))
        self._calls.add(call)
        call.add_done_callback(self._answered)
        return await asyncio.shield(call)

    def _answered(self, call: "asyncio.Task[Completion]") -> None:
        """A call is over. What it failed with is known to whoever waits; where nobody does, it is not to be printed."""
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()

    async def _call(self, question: _Question, reserved: float) -> Completion:
        """Ask the server from a place in the limits, with `reserved` set aside, and give both back."""
        cost = 0.0
        try:
            reply = await question.ask()
            input_tokens, output_tokens = reply.input_tokens, reply.output_tokens
            if input_tokens is None or output_tokens is None:
                input_tokens = question.input_tokens()
                output_tokens = estimate_tokens(reply.answer)
            cost = self.price.cost(input_tokens, output_tokens)
        finally:
            self.budget.settle(reserved, cost)
            self.limits.leave()
        answer = reply.answer.encode("utf-8", "replace").decode()  # half a character is no text to be kept
        kind = self._kind(reply, question)
        if "\0" in answer:
            answer, kind = answer.replace("\0", r"\x00"), kind if kind in ("refusal", "no room") else "no text"
        completion = Completion(answer, kind, input_tokens, output_tokens, cost)
        self._cache.put(question.key, completion)
        return completion

    async def _ask(self, form: Form, messages: list[Message], written: bytes, tokens: int) -> Reply:
        """The server's reply, as it wants to be asked: with what it takes of the request."""
        dialect = self._dialect
        while True:
            level, learnt = dialect.level, dialect.learnt
            try:
                reply = await self._post(dialect.body(form, messages, written, tokens), CHAT)
            except RefusedRequest as refused:
                if refused.is_about_content:
                    return Reply(refused.said, "filtered", 0, 0)
                if refused.is_about_length:
                    self._heard = True
                    tokens = await self._shorter(refused, form, messages, tokens)
                elif (
                    dialect.learnt == learnt  # else another call has learnt something in the meantime
                    and not dialect.learn(refused, form, messages)
                    and not (form.schema is not None and dialect.step_down(refused, level))
                ):
                    dialect.gave_up()
                    self._give_up(refused)
            else:
                self._heard = True
                dialect.level_is_known |= form.schema is not None
                return reply

    async def _shorter(self, refused: RefusedRequest, form: Form, messages: list[Message], tokens: int) -> int:
        """How many tokens to ask for where so many are more than the window has left, as long as an answer has its own.

        Else raises `PromptTooLong`, with what the server tells of its window, in its refusal or its list of models.
        """
        window, counted = refused.window, refused.prompt_tokens
        if window is not None and counted is not None and form.limit <= window - counted < tokens:
            return window - counted
        if tokens > form.limit:
            return form.limit
        raise PromptTooLong(
            refused.said,
            window if window is not None else await self._offered(),
            counted if counted is not None else estimate_prompt_tokens(messages),
        )

    async def _offered(self) -> int | None:
        """The model's window as the server's list of models has it; it is asked for once."""
        if self._window is None:
            self._window = asyncio.create_task(self._list_window())
        return await asyncio.shield(self._window)

    async def _list_window(self) -> int | None:
        import httpx2
        import openai

        assert self._client is not None, "it has just refused a request"
        try:
            listed = await self._client.get("/models", cast_to=httpx2.Response)
        except openai.APIError:
            return None
        return offered_window(listed.content, self.name)

    def _give_up(self, refused: RefusedRequest) -> NoReturn:
        where = f"model {self.name} at {self.base_url}"
        variable = self.settings.api_key_env
        if refused.status in (401, 403):
            raise TransportError(
                f"{where}: the key in the environment variable {variable} was refused ({refused.status}); "
                "set it to a valid key"
                if variable
                else f"{where}: a key is asked for ({refused.status}); name the environment variable that "
                "holds it in api_key_env",
                transient=False,
            ) from None
        said = f" ({refused.said})" if refused.said else ""
        if refused.status == 404:
            raise TransportError(
                f"{where}: not found (404){said}; check name and base_url (which ends in /v1 at most servers)",
                transient=False,
            ) from None
        if refused.status == 429 and refused.code == "insufficient_quota":
            raise TransportError(
                f"{where}: the account has no money left (429){said}; top it up", transient=False
            ) from None
        if refused.status == 429:
            raise TransportError(
                f"{where}: too many requests (429) after {self.settings.max_retries} retries{said}; set "
                "requests_per_minute or lower concurrency, and run again: what was answered is kept"
            ) from None
        if refused.status >= 500:
            raise TransportError(
                f"{where}: server error {refused.status} after {self.settings.max_retries} retries{said}; "
                "run again later: what was answered is kept"
            ) from None
        advice = "; set structured: auto" if refused.is_about_form else ""
        raise TransportError(
            f"{where}: the request was refused ({refused.status}){said}{advice}", transient=False
        ) from None

    # Log-probabilities.

    async def _weigh(self, asked: Options, usage: Usage) -> tuple[Likelihood, ...]:
        texts = (asked.prompt, *(asked.prompt + option for option in asked.options))
        before, *told = await asyncio.gather(*(self._log_probabilities(text, usage) for text in texts))
        for option, one in zip(asked.options, told, strict=True):
            if not before or len(one) <= len(before):
                raise WrongInput(f"model {self.name}: the option {option!r} has no tokens of its own; give it words")
        return tuple(Likelihood(tuple(one[1 : len(before)]), tuple(one[len(before) :])) for one in told)

    async def _log_probabilities(self, text: str, usage: Usage) -> list[float]:
        """Of each token of the text; of the first, before which nothing stands, it means nothing."""

        def body() -> bytes:
            # One token is asked for: some servers refuse none, and to others it means as many as there is room for.
            asked = {"model": self.name, "prompt": text, "max_tokens": 1, "temperature": 0}
            return orjson.dumps({**asked, **TELLING[self._telling]})

        question = _Question(
            key=completion_key(canonical_json([self.identity(), "log-probabilities"]), text.encode()),
            ask=lambda: self._tell(body),
            body=body,
            input_tokens=lambda: estimate_tokens(text),
            output_tokens=1,
        )
        told: list[float] = orjson.loads((await self._kept(question, usage)).answer)
        return told

    async def _tell(self, body: Callable[[], bytes]) -> Reply:
        """The server's reply, in the way that it offers."""
        while True:
            way = self._telling
            try:
                reply = await self._post(body(), COMPLETION)
            except RefusedRequest as refused:
                if refused.is_about_length:
                    raise TooLong(
                        f"model {self.name}: prompt and option are longer than its window ({refused.said}); take fewer "
                        "shots, or a model with a longer window: nothing is cut"
                    ) from None
                if refused.status not in (400, 422) or way == len(TELLING) - 1:
                    self._give_up(refused)
            else:
                if reply.answer:
                    return reply
                if way == len(TELLING) - 1:
                    raise TransportError(
                        f"model {self.name} at {self.base_url}: does not tell the log-probabilities of a prompt's "
                        "tokens with their number in usage.prompt_tokens; take a server that does, such as vLLM, or "
                        "provider local",
                        transient=False,
                    )
            if self._telling == way:  # else another call has gone on already
                self._telling = way + 1

    # The wire.

    def _connect(self) -> "openai.AsyncOpenAI":
        import aiohttp
        import httpx2
        import openai

        class Client(openai.DefaultAioHttpClient):
            """Answers for a server that is silent, so that the SDK does not add its retries to ours."""

            async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
                try:
                    return await super().send(request, **kwargs)
                except httpx2.TimeoutException as error:
                    cause = _innermost(error)
                    if not isinstance(cause, TimeoutError) or isinstance(cause, aiohttp.ConnectionTimeoutError):
                        raise
                    return httpx2.Response(408, headers=SILENCE, request=request)

        timeout = openai.Timeout(self.settings.timeout_s, connect=min(CONNECT_S, self.settings.timeout_s))
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self.settings.base_url,
            timeout=timeout,
            max_retries=self.settings.max_retries,
            http_client=Client(
                timeout=timeout, event_hooks={"request": [self._before_send], "response": [self._after_send]}
            ),
        )

    async def _before_send(self, request: "httpx2.Request") -> None:
        # Each try of the SDK comes by here: retries count among the requests a minute.
        request.extensions["sent_at"] = await self.limits.send()

    async def _after_send(self, response: "httpx2.Response") -> None:
        if response.status_code == 429:
            self.limits.too_many(response.request.extensions["sent_at"])

    async def _post(self, body: bytes, protocol: _Protocol) -> Reply:
        """The reply to one request; raises `RefusedRequest` and `TransportError`."""
        if self._client is None:
            self._client = self._connect()
        import aiohttp
        import httpx2
        import openai

        pause, said, silences = FIRST_PAUSE_S, "", 0
        for tries_left in reversed(range(self.settings.max_retries + 1)):
            try:
                # The body is ready and the reply is checked here, so the SDK's own types would be made in vain.
                response = await self._client.post(protocol.path, cast_to=httpx2.Response, content=body)
            except openai.APIStatusError as error:
                if "x-touchstone-silence" not in error.response.headers:
                    raise self._refused(error.status_code, error.body) from None
                silences += 1
                if silences == SILENT_TRIES or not tries_left:
                    raise self._silent(silences) from None
            except openai.APIConnectionError as error:
                raise self._no_answer(error) from None
            except aiohttp.ClientError as error:  # a reply that is no HTTP; the transport lets it through
                said = self._short(str(error))
            except (UnicodeError, AssertionError) as error:  # an error whose charset the SDK cannot read
                said = self._short(f"{type(error).__name__} {error}")
            else:
                reply = protocol.read(response.content)
                if reply is not None:
                    self.limits.succeeded()
                    return reply
                self._check_failure(response, tries_left)
                said = self._short(response.content.decode("utf-8", "replace"))
            if tries_left:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        raise TransportError(
            f"model {self.name} at {self.base_url}: replied with something that is no {protocol.name} ({said}); "
            f"check that base_url speaks the OpenAI protocol of {protocol.name}s",
            transient=False,
        )

    def _check_failure(self, response: "httpx2.Response", tries_left: int) -> None:
        """Take an error that came with status 200 for what it would be with its own, if it is not to be asked again."""
        failed = read_failure(response.content)
        if failed is None:
            return
        if failed[0] == 429:
            self.limits.too_many(response.request.extensions["sent_at"])
        if not tries_left or failed[0] not in PASSING:
            raise self._refused(*failed)

    def _refused(self, status: int, body: object) -> RefusedRequest:
        told: Mapping[str, Any] = body if isinstance(body, dict) else {"message": body}
        said = told.get("message") or told.get("detail") or told.get("error") or ""
        faults = said if isinstance(said, list) else []  # as FastAPI has it: where, and what is wrong there
        places = [str(one["loc"][-1]) for one in faults if isinstance(one, dict) and one.get("loc")]
        if faults:
            what = [str(one.get("msg", "")) if isinstance(one, dict) else str(one) for one in faults]
            said = "; ".join(f"{place}: {one}" for place, one in zip_longest(places, what, fillvalue=""))
        numbers = {name: value for name in ("n_ctx", "n_prompt_tokens") if isinstance(value := told.get(name), int)}
        code, param = told.get("code"), told.get("param")
        whole = " ".join(said.split()) if isinstance(said, str) else ""
        return RefusedRequest(
            status,
            "" if code is None else str(code),
            self._short(whole),
            whole=f"{told.get('type')} {whole}",
            named=[*places, *([param] if isinstance(param, str) else [])],
            window=numbers.get("n_ctx"),  # llama.cpp
            prompt_tokens=numbers.get("n_prompt_tokens"),
        )

    def _silent(self, tries: int) -> TransportError:
        times = "one try" if tries == 1 else f"{tries} tries"
        return TransportError(
            f"model {self.name} at {self.base_url}: no answer within {self.settings.timeout_s:g} s in {times}; raise "
            "timeout_s or lower concurrency, and run again: what was answered is kept",
            transient=False,
        )

    def _no_answer(self, error: "openai.APIConnectionError") -> TransportError:
        # The transport calls every fault of a connection a timeout: the innermost cause says what it was.
        cause = _innermost(error)
        where = f"model {self.name} at {self.base_url}"
        tries = self.settings.max_retries + 1
        kept = "run again: what was answered is kept"
        return TransportError(
            f"{where}: cannot be reached in {tries} tries ({self._short(str(cause) or type(cause).__name__)}); "
            f"check base_url and that the server is up, and {kept}"
        )

    def _without_key(self, said: str) -> str:
        """`said` without the key or parts of it, also where JSON spells its characters as numbers."""
        if self._key == NO_KEY or len(self._key) < SHORTEST_SECRET:
            return said
        plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), said) if "\\u" in said else said
        hidden = without_parts(plain, self._key)
        return said if hidden == plain else hidden

    def _short(self, said: str) -> str:
        """A server's words on one line, without the key, should it repeat it."""
        line = visible(self._without_key(" ".join(said.split())))
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "..."


def without_parts(said: str, key: str) -> str:
    """`said` with `***` for each part of the key: `SHORTEST_SECRET` characters of it or more, or fewer around a mask.

    Servers repeat a wrong key as `sk-abc...xyz` or `sk-abc****wxyz`, so that its user can tell which one it was.
    """
    hidden = bytearray(len(said))
    pieces = {key[start : start + SHORTEST_SECRET] for start in range(len(key) - SHORTEST_SECRET + 1)}
    for start in range(len(said) - SHORTEST_SECRET + 1):
        if said[start : start + SHORTEST_SECRET] in pieces:
            hidden[start : start + SHORTEST_SECRET] = b"\1" * SHORTEST_SECRET
    for mask in _MASK.finditer(said):
        before = next(n for n in range(len(key), -1, -1) if said[: mask.start()].endswith(key[:n]))
        after = next(n for n in range(len(key) + 1) if said.startswith(key[n:], mask.end()))
        start, end = mask.start() - before, mask.end() + len(key) - after
        if before + len(key) - after >= FEWEST_AT_MASK:
            hidden[start:end] = b"\1" * (end - start)
    shown = (
        "***" if is_hidden else "".join(said[place] for place, _ in run)
        for is_hidden, run in groupby(enumerate(hidden), key=lambda one: one[1])
    )
    return "".join(shown)


def identity_of(settings: EndpointSettings) -> Mapping[str, object]:
    """Model name and server, and what the user has set of its answers: not what the server takes of that."""
    return {**_server(settings), **settings.model_dump(mode="json", include=ANSWERED_BY, exclude_defaults=True)}


def _server(settings: EndpointSettings) -> dict[str, object]:
    return {"provider": "endpoint", "model": settings.name, "base_url": _public_url(settings.base_url)}


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _public_url(url: str) -> str:
    """`url` without query and fragment, which may hold a secret: it is shown and kept."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _api_key(variable: str | None) -> str:
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ApiKeyError(
            f"the environment variable {variable} (api_key_env) holds no key; set it, or remove api_key_env "
            "for a server without keys"
        )
    if not (key.isascii() and key.isprintable()):
        raise ApiKeyError(f"the environment variable {variable} holds characters that no key has; set it anew")
    return key
