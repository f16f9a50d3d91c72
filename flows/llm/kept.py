"""Which answers of a model behind a server are in the cache: told without the server or its key, for estimates."""

import orjson
from pydantic import BaseModel

from flows.llm import truncation
from flows.llm.cache import CompletionCache
from flows.llm.dialect import form_of, question_key
from flows.llm.endpoint_settings import REASONING_TOKENS, EndpointSettings
from flows.llm.log_probabilities import text_key
from flows.llm.model import Prompt


class KeptAnswers:
    """The answers in the cache to what an `Endpoint` with these settings would be asked first."""

    def __init__(self, settings: EndpointSettings, cache: CompletionCache) -> None:
        """Raises `WrongInput` if the tokenizer in the settings cannot be loaded."""
        self._settings = settings
        self._cache = cache
        self._cut = truncation.cut_to(settings.window, settings.tokenizer)

    def has_answer(self, prompt: Prompt, inputs: BaseModel) -> bool:
        """Whether the answer to a prompt that may be cut to the window is there, with room for thoughts or without."""
        settings, messages = self._settings, prompt.messages(inputs)
        form, written = form_of(settings, prompt), orjson.dumps(self._cut(messages) if self._cut else messages)
        rooms = (0, REASONING_TOKENS) if settings.reasoning_tokens is None else (settings.reasoning_tokens,)
        return any(self._cache.get(question_key(settings, form, written, 0, room)) is not None for room in rooms)

    def has_text(self, text: str) -> bool:
        """Whether the log-probabilities of a text are there."""
        return self._cache.get(text_key(self._settings, text)) is not None
