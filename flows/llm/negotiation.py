"""Asking a server the way it wants to be asked, which the first call finds out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from flows.llm.chat_format import Reply
from flows.llm.connection import CHAT, Connection
from flows.llm.dialect import Dialect, Form
from flows.llm.model import Message, PromptTooLong, TransportError
from flows.llm.prices import estimate_prompt_tokens
from flows.llm.refusal import RefusedRequest


class Negotiation:
    """Asks one server for chat completions. If it refuses the form or length of a request, asks again differently."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect
        self._heard = False
        """Whether the server has answered, so that something is known of it."""
        self._probe: asyncio.Future[None] | None = None
        """Done when the one call is over that finds out what the server takes and offers."""
        self._window: asyncio.Task[int | None] | None = None

    async def probed(self) -> None:
        """Wait for the call that finds out, if it is under way, and fail with it."""
        if not self._heard and self._probe is not None:
            await asyncio.shield(self._probe)

    @asynccontextmanager
    async def turn(self, form: Form) -> AsyncIterator[None]:
        """Wait until it is known what the server offers, or go first and find out."""
        while not (self._heard and (form.schema is None or self._dialect.level_is_known)):
            if self._probe is not None:
                await asyncio.shield(self._probe)
                continue
            probe = self._probe = asyncio.get_running_loop().create_future()
            try:
                yield
            except TransportError as error:
                probe.set_exception(error)
                probe.exception()  # whoever waits gets it; if nobody does, it is not to be printed
                raise
            finally:
                self._probe = None
                if not probe.done():
                    probe.set_result(None)
            return
        yield

    async def ask(self, form: Form, messages: list[Message], written: bytes, tokens: int) -> Reply:
        """The server's reply; `written` are the messages as JSON, `tokens` the most that the answer may have.

        A prompt that its provider withholds is answered by the provider's own words ("filtered"). Raises
        `PromptTooLong`, with what the server tells of its window, and `TransportError`.
        """
        dialect = self._dialect
        while True:
            level, learnt = dialect.level, dialect.learnt
            try:
                reply = await self._connection.post(dialect.body(form, messages, written, tokens), CHAT)
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
                    raise self._connection.failure(refused) from None
            else:
                self._heard = True
                dialect.level_is_known |= form.schema is not None
                return reply

    async def _shorter(self, refused: RefusedRequest, form: Form, messages: list[Message], tokens: int) -> int:
        """How many tokens to ask for if the window has no room for `tokens`, as long as an answer keeps its own.

        Raises `PromptTooLong` if it cannot.
        """
        window, counted = refused.window, refused.prompt_tokens
        if window is not None and counted is not None and form.limit <= window - counted < tokens:
            return window - counted
        if tokens > form.limit:
            return form.limit
        raise PromptTooLong(
            refused.said,
            window if window is not None else await self._listed_window(),
            counted if counted is not None else estimate_prompt_tokens(messages),
        )

    async def _listed_window(self) -> int | None:
        """The model's window as the server's list of models has it; asked for once."""
        if self._window is None:
            self._window = asyncio.create_task(self._connection.listed_window())
        return await asyncio.shield(self._window)
