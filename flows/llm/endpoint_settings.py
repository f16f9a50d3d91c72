"""`models.<role>` of the configuration, for a server of the OpenAI protocol."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, field_validator, model_validator

from flows.llm.chat_format import MOST_TOKENS
from flows.llm.truncation import FEWEST_TOKENS
from schemas.base import Frozen, Line
from schemas.secrets import names_secret, without_tokens

Structured = Literal["auto", "json_schema", "json_object", "text"]
LONGEST_LABEL = 63  # RFC 1035, section 2.3.4

REASONING_TOKENS = 8192
"""Room for thoughts if `reasoning_tokens` sets none and a model's thoughts have taken the tokens of its answers."""

ANSWERED_BY = {"temperature", "parameters", "max_tokens", "reasoning_tokens", "window", "tokenizer"}
"""The settings that answers depend on."""

KEY_ENV = "OPENAI_API_KEY"
HOSTED = f"{{provider: endpoint, name: gpt-4o-mini, api_key_env: {KEY_ENV}}}"
"""An example of a model on somebody's server, for a configuration."""

OURS = ("model", "messages", "max_tokens", "max_completion_tokens", "response_format", "stream", "n", "temperature")
"""Parameters of the protocol that `parameters` may not set."""


class EndpointSettings(Frozen):
    """`models.<role>` of the configuration, for a server of the OpenAI chat protocol."""

    provider: Literal["endpoint"] = "endpoint"
    name: Line = Field(min_length=1, description="The model's name as the server knows it")
    base_url: str = Field("https://api.openai.com/v1", description="Address of the API, with /v1")
    api_key_env: str | None = Field(
        None,
        description="Environment variable with the key; null for a server without keys",
    )
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0, description="Estimated prompt tokens plus max_tokens")
    concurrency: int = Field(64, ge=1, le=1000, description="Requests in flight at once")
    timeout_s: float = Field(
        180.0, gt=0, description="Longest silence of the server in seconds, before the request is repeated once"
    )
    max_retries: int = Field(5, ge=0, description="Retries after 429, 5xx and dropped connections")
    batch: bool = Field(False, description="Send requests in batches, which come back within a day, at half the price")
    batch_unanswered: Literal["again", "directly"] = Field(
        "again", description="How to ask what a batch leaves unanswered: in another batch, or at once at the full price"
    )
    structured: Structured = Field(
        "auto", description="How JSON is requested; auto takes the best way that the server offers"
    )
    temperature: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="For all prompts, in place of each prompt's own"
    )
    parameters: Mapping[str, Any] = Field(
        default_factory=dict, description="Further parameters for every prompt, by the server's names: top_p, seed"
    )
    max_tokens: Mapping[str, Annotated[int, Field(ge=1, le=MOST_TOKENS, strict=True)]] = Field(
        default_factory=dict, description="By prompt, the most tokens of an answer, in place of the prompt's own number"
    )
    reasoning_tokens: int | None = Field(
        None,
        ge=0,
        le=MOST_TOKENS,
        strict=True,
        description=f"Extra tokens for reasoning, on top of the answer's; null: {REASONING_TOKENS:,}, if needed",
    )
    window: int | None = Field(
        None,
        ge=FEWEST_TOKENS,
        description="The most tokens of an evaluated model's prompt; a longer one is cut in the middle",
    )
    tokenizer: str | None = Field(
        None, min_length=1, description="Name or path of the tokenizer that counts for `window`; null: an estimate"
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
            if (secret := next(filter(names_secret, (name, *_names_in(value))), None)) is not None:
                raise ValueError(f"{secret}: a key goes into the environment, and api_key_env names the variable")
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
        is_name = value is None or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value)
        if not is_name or (value is not None and without_tokens(value) != value):
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
        return urlunsplit(parts).rstrip("/")

    @property
    def server(self) -> dict[str, object]:
        """The model and its server, as cache keys and fingerprints name them."""
        return {"provider": "endpoint", "model": self.name, "base_url": self.base_url}

    @property
    def identity(self) -> Mapping[str, object]:
        """The model, its server, and the settings that its answers depend on, whether or not the server takes them."""
        return {**self.server, **self.model_dump(mode="json", include=ANSWERED_BY, exclude_defaults=True)}


def _names_in(value: object) -> Iterator[str]:
    """Yield the names in a parameter's value, however deep."""
    if isinstance(value, Mapping):
        yield from map(str, value)
    for inner in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _names_in(inner)


def is_batched(model: object) -> bool:
    """Whether a model's answers come in batches: then as much as possible is to be asked at once."""
    settings = getattr(model, "settings", None)
    return isinstance(settings, EndpointSettings) and settings.batch
