"""A model behind any server that speaks the OpenAI protocol. The only place that imports openai."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self
from urllib.parse import urlsplit, urlunsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from flows.llm.cache import Completion, CompletionCache, completion_key
from flows.llm.chat_format import (
    RefusedRequest,
    Reply,
    form_in_words,
    read_log_probabilities,
    read_reply,
    reask,
    strict_schema,
)
from flows.llm.limits import Budget, Limits
from flows.llm.model import (
    MAX_REASKS,
    Invalid,
    InvalidAnswer,
    Message,
    ModelSetupError,
    Out,
    Prompt,
    TransportError,
    Usage,
)
from flows.llm.options import Likelihood, Options, TooLong
from flows.llm.prices import Price, Prices, UnknownPrice, estimate_prompt_tokens, estimate_tokens
from schemas.base import Frozen, canonical_json
from schemas.errors import WrongInput

if TYPE_CHECKING:
    import httpx2
    import openai

NO_KEY = "no-key"
LONGEST_LABEL = 63  # RFC 1035, section 2.3.4
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
"""What a server without keys is sent, since the protocol wants one."""

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

SHOWN_CHARACTERS = 300
"""How much of a server's own message an error shows."""

Structured = Literal["auto", "json_schema", "json_object", "text"]
Level = Literal["json_schema", "json_object", "text"]
LEVELS: tuple[Level, ...] = ("json_schema", "json_object", "text")

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
    window: int | None = Field(
        None, ge=2, description="Tokens of a prompt beyond which `touchstone evaluate` cuts it in its middle"
    )
    tokenizer: str | None = Field(None, min_length=1, description="By name or path: what tokens are, for `window`")

    @model_validator(mode="after")
    def _window_in_tokens(self) -> "EndpointSettings":
        if (self.window is None) != (self.tokenizer is None):
            raise ValueError("window and tokenizer go together: give both, or neither")
        return self

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


@dataclass
class _Form:
    """What of a prompt is the same for all its inputs, put in bytes once."""

    schema: dict[str, Any] | None
    key: bytes
    bodies: dict[tuple[Level, str], bytes] = field(default_factory=dict)


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
    form: _Form | None = None
    """Where the answer is to have one."""


@dataclass
class _Probe:
    """The one call that finds out which structured output the server offers; others wait for it."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: TransportError | None = None


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
    ) -> None:
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
        self._forms: dict[Prompt[Any], _Form] = {}
        self._level: Level = LEVELS[0] if settings.structured == "auto" else settings.structured
        self._level_is_known = settings.structured != "auto"
        self._probe: _Probe | None = None
        # Newer models of OpenAI take the limit of tokens under another name.
        self._limit_name = "max_tokens"
        self._telling = 0
        """Which of the ways of `TELLING` the server takes, as far as is known."""

    def identity(self) -> Mapping[str, object]:
        """Model name and server."""
        return {"provider": "endpoint", "model": self.name, "base_url": self.base_url}

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """The typed answer; what it took is added to `usage`. A higher `draw` asks anew.

        An invalid answer is shown to the model with its error and asked again, `MAX_REASKS` times.
        Raises `InvalidAnswer` (also, at once, for a refusal: reason "refused"), `TransportError`,
        `BudgetSpent`, and `CacheError` and `PromptTemplateError` of what it is built on.
        """
        form = self._form(prompt)
        messages = prompt.messages(inputs)
        reason = answer = detail = ""
        for _ in range(MAX_REASKS + 1):
            completion = await self._completion(prompt, form, messages, draw, usage)
            answer, cut_off = completion.answer, completion.kind == "cut off"
            if completion.kind == "refusal":
                raise InvalidAnswer("refused", answer)
            try:
                return prompt.parse(inputs, answer, cut_off=cut_off)
            except Invalid as invalid:
                error = invalid
                if cut_off:
                    error = Invalid("answer cut off", f"it was longer than {prompt.max_tokens} tokens; be brief")
            reason, detail = error.reason, error.detail
            messages = [
                *messages,
                {"role": "assistant", "content": answer or "(no answer)"},
                {"role": "user", "content": reask(error, form.schema)},
            ]
        raise InvalidAnswer(reason, answer, detail)

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

    def _form(self, prompt: Prompt[Any]) -> _Form:
        form = self._forms.get(prompt)
        if form is None:
            parameters = {"temperature": prompt.temperature, "max_tokens": prompt.max_tokens}
            key = canonical_json([self.identity(), parameters, prompt.schema])
            form = self._forms[prompt] = _Form(prompt.schema, key)
        return form

    def _completion_key(self, form: _Form, messages: bytes, draw: int) -> str:
        return completion_key(form.key, messages, b"%d" % draw)

    def _body(self, prompt: Prompt[Any], form: _Form, messages: list[Message], written: bytes) -> bytes:
        """The request's body; `written` are the messages as JSON."""
        level: Level = self._level if form.schema is not None else "text"
        tail = form.bodies.get((level, self._limit_name))
        if tail is None:
            parameters: dict[str, object] = {
                "model": self.name,
                "temperature": prompt.temperature,
                self._limit_name: prompt.max_tokens,
            }
            if form.schema is not None and level == "json_schema":
                schema = {
                    "name": prompt.output.__name__,
                    "schema": strict_schema(form.schema),
                    "strict": True,
                }
                parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
            elif form.schema is not None and level == "json_object":
                parameters["response_format"] = {"type": "json_object"}
            tail = form.bodies[level, self._limit_name] = b"," + orjson.dumps(parameters)[1:]
        if form.schema is not None and level != "json_schema":
            asked = next(place for place, message in enumerate(messages) if message["role"] == "user")
            content = f"{messages[asked]['content']}\n\n{form_in_words(form.schema)}"
            written = orjson.dumps([*messages[:asked], {"role": "user", "content": content}, *messages[asked + 1 :]])
        return b'{"messages":' + written + tail

    # From the cache, or paid for and kept.

    async def _completion(
        self, prompt: Prompt[Any], form: _Form, messages: list[Message], draw: int, usage: Usage
    ) -> Completion:
        written = orjson.dumps(messages)
        question = _Question(
            key=self._completion_key(form, written, draw),
            ask=lambda: self._ask(prompt, form, messages, written),
            body=lambda: self._body(prompt, form, messages, written),
            input_tokens=lambda: estimate_prompt_tokens(messages),
            output_tokens=prompt.max_tokens,
            form=form,
        )
        return await self._kept(question, usage)

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
        """Ask the server; where nothing is known of the forms that it offers, as the one that finds out."""
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

    async def _may_probe(self, form: _Form | None) -> _Probe | None:
        """Wait until it is known what the server offers; a probe where this call is to find out."""
        if form is None or form.schema is None:
            return None
        while not self._level_is_known:
            if self._probe is None:
                self._probe = _Probe()
                return self._probe
            probe = self._probe
            await probe.done.wait()
            if probe.error is not None:
                raise TransportError(str(probe.error), transient=probe.error.transient)
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
        completion = Completion(self._without_key(answer), reply.kind, input_tokens, output_tokens, cost)
        self._cache.put(question.key, completion)
        return completion

    async def _ask(self, prompt: Prompt[Any], form: _Form, messages: list[Message], written: bytes) -> Reply:
        """The server's reply, stepping down to the structured output that it offers."""
        while True:
            level, limit_name = self._level, self._limit_name
            try:
                reply = await self._post(self._body(prompt, form, messages, written), CHAT)
            except RefusedRequest as refused:
                if refused.code == "content_filter":
                    return Reply(refused.said, "refusal", 0, 0)
                if refused.is_about_length:
                    raise InvalidAnswer("prompt longer than the model's window", refused.said) from None
                if limit_name == "max_tokens" and refused.names("max_completion_tokens"):
                    self._limit_name = "max_completion_tokens"
                elif form.schema is not None and level != "text" and self._is_about_form(refused):
                    if self._level == level:  # else another call has stepped down already
                        self._level = LEVELS[LEVELS.index(level) + 1]
                else:
                    if not self._level_is_known:  # nothing was learnt about the form
                        self._level = LEVELS[0]
                    self._give_up(refused)
            else:
                self._level_is_known |= form.schema is not None
                return reply

    def _is_about_form(self, refused: RefusedRequest) -> bool:
        if self.settings.structured != "auto":
            return False
        if refused.is_about_form:
            return refused.status in (400, 404, 422)
        # A server that says no more than "bad request": worth a try while nothing is known of it.
        return not self._level_is_known and refused.status in (400, 422)

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
                    raise self._refused(error) from None
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
                said = self._short(response.content.decode("utf-8", "replace"))
            if tries_left:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        raise TransportError(
            f"model {self.name} at {self.base_url}: replied with something that is no {protocol.name} ({said}); "
            f"check that base_url speaks the OpenAI protocol of {protocol.name}s",
            transient=False,
        )

    def _refused(self, error: "openai.APIStatusError") -> RefusedRequest:
        body = error.body
        said: object = body
        if isinstance(body, dict):
            said = body.get("message") or body.get("detail") or body.get("error") or ""
        code = error.code if isinstance(error.code, str) else ""
        return RefusedRequest(error.status_code, code, self._short(said if isinstance(said, str) else ""))

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
        """`said` without the key, also where JSON spells its characters as numbers."""
        if self._key == NO_KEY:
            return said
        plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), said) if "\\u" in said else said
        return plain.replace(self._key, "***") if self._key in plain else said

    def _short(self, said: str) -> str:
        """A server's words on one line, without the key, should it repeat it."""
        line = self._without_key(" ".join(said.split()))
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "..."


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
