"""How a server wants to be asked: the parts of a request that it accepts, as far as its refusals show."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from flows.llm.cache import completion_key
from flows.llm.chat_format import Reply, form_in_words, strict_schema
from flows.llm.connection import CHAT, Connection
from flows.llm.endpoint_settings import EndpointSettings, Structured
from flows.llm.lessons import Lessons, Level
from flows.llm.model import Message, Prompt, PromptTooLong
from flows.llm.prices import estimate_prompt_tokens
from flows.llm.probe import Probe
from flows.llm.refusal import OF_THE_REQUEST, RefusedRequest
from schemas.base import canonical_json

LEVELS: tuple[Level, ...] = ("json_schema", "json_object", "text")
Post = Callable[[bytes], Awaitable[Reply]]
"""Sends the body of a request. Raises `RefusedRequest` and `TransportError`."""
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""Newer models of OpenAI take the limit of tokens under the second name."""


@dataclass
class Form:
    """The parts of a prompt that are the same for all its inputs, encoded once."""

    answer: str
    """Name of the answer's type."""
    schema: dict[str, Any] | None
    parameters: Mapping[str, Any]
    """Parameters besides messages, limit of tokens and form; the prompt's own come first."""
    limit: int
    """The most tokens of an answer."""
    keys: dict[int, bytes] = field(default_factory=dict)
    """By the room for thoughts, the part of the cache key after the messages."""
    bodies: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """By the lessons learnt about the server and the tokens asked for, the request after its messages."""


def form_of(settings: EndpointSettings, prompt: Prompt[Any]) -> Form:
    """The form of a prompt that is put to a model with these settings."""
    temperature = prompt.temperature if settings.temperature is None else settings.temperature
    limit = settings.max_tokens.get(prompt.name, prompt.max_tokens)
    return Form(prompt.output.__name__, prompt.schema, {"temperature": temperature, **settings.parameters}, limit)


def question_key(settings: EndpointSettings, form: Form, written: bytes, draw: int, room: int) -> str:
    """The cache key of a question with this much room for thoughts; `written` are its messages as JSON.

    It reflects what the user has set, not what is sent.
    """
    key = form.keys.get(room)
    if key is None:
        named = {**form.parameters, "max_tokens": form.limit, **({"room": room} if room else {})}
        key = form.keys[room] = canonical_json([settings.server, named, form.schema])
    return completion_key(key, written, b"%d" % draw)


class Dialect:
    """The requests that a server takes. Parameters that it refuses are left out, and `tell` is called once for each.

    Each value of a parameter is left out by itself, so the order of calls does not change the requests in the end.
    """

    def __init__(self, model: str, structured: Structured, tell: Callable[[str], None]) -> None:
        self._model = model
        self._auto = structured == "auto"
        self._tell = tell
        self.level: Level = LEVELS[0] if structured == "auto" else structured
        self.level_is_known = not self._auto
        self._limit_name = LIMIT_NAMES[0]
        self._most_answered: int | None = None
        self._refused: set[tuple[str, bytes]] = set()
        self._merges_system = False
        self._notes: list[str] = []
        self.learnt = 0
        """Counts the lessons: a request that was refused before a lesson may be accepted after it."""

    @property
    def lessons(self) -> Lessons:
        """What was learnt, for another process."""
        return Lessons(
            level=self.level,
            level_is_known=self.level_is_known,
            limit_name=self._limit_name,
            most_answered=self._most_answered,
            refused=tuple(sorted((name, value.decode()) for name, value in self._refused)),
            merges_system=self._merges_system,
            notes=tuple(self._notes),
        )

    def take(self, lessons: Lessons) -> None:
        """Go on with what another process has learnt, before anything is asked."""
        self.level, self.level_is_known = lessons.level, lessons.level_is_known
        self._limit_name, self._most_answered = lessons.limit_name, lessons.most_answered
        self._refused = {(name, value.encode()) for name, value in lessons.refused}
        self._merges_system = lessons.merges_system
        for note in lessons.notes:
            self._say(note)

    def body(self, form: Form, messages: list[Message], written: bytes, tokens: int) -> bytes:
        """The request's body; `written` are the messages as JSON, `tokens` the most that the answer may have."""
        tail = form.bodies.get((self.learnt, tokens))
        if tail is None:
            tail = form.bodies[self.learnt, tokens] = b"," + orjson.dumps(self._parameters(form, tokens))[1:]
        merges = self._merges_system and messages[0]["role"] == "system"
        in_words = form.schema is not None and self.level != "json_schema"
        if merges or in_words:
            written = orjson.dumps(self._as_taken(messages, merges, form.schema if in_words else None))
        return b'{"messages":' + written + tail

    def _parameters(self, form: Form, tokens: int) -> dict[str, object]:
        limit = tokens if self._most_answered is None else min(tokens, self._most_answered)
        taken = {name: value for name, value in form.parameters.items() if _value(name, value) not in self._refused}
        parameters: dict[str, object] = {"model": self._model, **taken, self._limit_name: limit}
        if form.schema is not None and self.level == "json_schema":
            schema = {"name": form.answer, "schema": strict_schema(form.schema), "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif form.schema is not None and self.level == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        return parameters

    def _as_taken(self, messages: list[Message], merges: bool, schema: Mapping[str, Any] | None) -> list[Message]:
        """The messages; parts that the server takes no other way are put into the user's first message."""
        system = [messages[0]["content"]] if merges else []
        kept = messages[1:] if merges else messages
        asked = next(place for place, message in enumerate(kept) if message["role"] == "user")
        words = [] if schema is None else [form_in_words(schema)]
        content = "\n\n".join([*system, kept[asked]["content"], *words])
        return [*kept[:asked], {"role": "user", "content": content}, *kept[asked + 1 :]]

    def learn(self, refused: RefusedRequest, form: Form, messages: list[Message]) -> bool:
        """Learn from a refusal; False if no other request could avoid it."""
        learnt = self._has_learnt(refused, form, messages)
        self.learnt += learnt
        return learnt

    def _has_learnt(self, refused: RefusedRequest, form: Form, messages: list[Message]) -> bool:
        if refused.status in OF_THE_REQUEST:
            if (most := refused.most_answered) is not None and self._most_answered is None:
                self._most_answered = most
                self._note(refused, f"does not answer with more than {most:,} tokens, and is asked for no more")
                return True
            named = refused.names(LIMIT_NAMES[1]) or refused.is_about(LIMIT_NAMES[0])
            if named and self._limit_name == LIMIT_NAMES[0]:
                self._limit_name = LIMIT_NAMES[1]
                return True
        for name, value in form.parameters.items():
            if refused.is_about(name) and _value(name, value) not in self._refused:
                self._refused.add(_value(name, value))
                self._note(refused, f"does not take {name} {orjson.dumps(value).decode()}, which is left out")
                return True
        if not self._merges_system and messages[0]["role"] == "system" and refused.is_about_system:
            self._merges_system = True
            self._note(refused, "takes no system message; what it says is put before the user's first")
            return True
        return False

    def _note(self, refused: RefusedRequest, what: str) -> None:
        words = f" ({refused.message})" if refused.message else ""
        self._say(f"model {self._model}: {what}{words}")

    def _say(self, note: str) -> None:
        self._notes.append(note)
        self._tell(note)

    def step_down(self, refused: RefusedRequest, level: Level) -> bool:
        """Ask for the form of answers in a plainer way than `level`; False if that was not refused."""
        if level == LEVELS[-1] or not self._is_about_form(refused):
            return False
        if self.level == level:  # otherwise another call has already stepped down
            self.level = LEVELS[LEVELS.index(level) + 1]
            self.learnt += 1
        return True

    def _is_about_form(self, refused: RefusedRequest) -> bool:
        if not self._auto:
            return False
        if refused.is_about_form:
            return refused.status in (400, 404, 422)
        # A server that only says "bad request": worth a try while nothing is known about it.
        return not self.level_is_known and refused.status in (400, 422)

    def gave_up(self) -> None:
        """Forget what a call that was finally refused seemed to show about the form."""
        if not self.level_is_known and self.level != LEVELS[0]:
            self.level = LEVELS[0]
            self.learnt += 1


def _value(name: str, value: object) -> tuple[str, bytes]:
    return name, orjson.dumps(value)


class Negotiation:
    """Asks a server for chat completions. If it refuses the form or length of a request, asks again differently."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect
        self._heard = False
        """Whether the server has answered, so that something is known about it."""
        self._probe = Probe()
        self._window: asyncio.Task[int | None] | None = None

    def take(self, lessons: Lessons) -> None:
        """Go on with what another process has learnt of the server."""
        self._heard = True
        self.dialect.take(lessons)

    async def probed(self) -> None:
        """Wait for the call that finds out, if it is running, and fail with it."""
        if not self._heard:
            await self._probe.over()

    def turn(self, form: Form) -> AbstractAsyncContextManager[None]:
        """Wait until it is known what the server offers, or go first and find out."""
        return self._probe.turn(lambda: self.is_known(form))

    def is_known(self, form: Form) -> bool:
        """Whether it is known how the server takes requests of this form."""
        return self._heard and (form.schema is None or self.dialect.level_is_known)

    async def ask(
        self, form: Form, messages: list[Message], written: bytes, tokens: int, post: Post | None = None
    ) -> Reply:
        """The server's reply; `written` are the messages as JSON, `tokens` the most that the answer may have.

        `post` sends a request, by default at once.

        A prompt that its provider withholds is answered by the provider's own words ("filtered"). Raises
        `PromptTooLong`, with what the server says about its window, and `TransportError`.
        """
        dialect, send = self.dialect, post or partial(self._connection.post, route=CHAT)
        while True:
            level, learnt = dialect.level, dialect.learnt
            try:
                # The body is not kept here: of what waits for a batch, it is on disk.
                reply = await send(dialect.body(form, messages, written, tokens))
            except RefusedRequest as refused:
                if refused.is_about_content:
                    return Reply(refused.message, "filtered", 0, 0)
                if refused.is_about_length:
                    self._heard = True
                    tokens = await self._shorter(refused, form, messages, tokens)
                elif (
                    dialect.learnt == learnt  # otherwise another call has learnt something in the meantime
                    and not dialect.learn(refused, form, messages)
                    and not (form.schema is not None and dialect.step_down(refused, level))
                ):
                    dialect.gave_up()
                    raise self._connection.failure(refused) from None
            else:
                self._heard = True
                dialect.level_is_known |= form.schema is not None
                return reply

    async def _shorter(self, refused: RefusedRequest, form: Form, messages: list[Message], tokens: int) -> int:
        """How many tokens to ask for if the window has no room for `tokens`; an answer keeps its own limit.

        Raises `PromptTooLong` if it cannot.
        """
        window, counted = refused.window, refused.prompt_tokens
        if window is not None and counted is not None and form.limit <= window - counted < tokens:
            return window - counted
        if tokens > form.limit:
            return form.limit
        raise PromptTooLong(
            refused.message,
            window if window is not None else await self._listed_window(),
            counted if counted is not None else estimate_prompt_tokens(messages),
        )

    async def _listed_window(self) -> int | None:
        """The model's window as the server's list of models has it; asked for once."""
        if self._window is None:
            self._window = asyncio.create_task(self._connection.listed_window())
        return await asyncio.shield(self._window)
