"""The OpenAI protocol, as bytes and words: replies, refusals, and the form of an answer."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from flows.llm.cache import Kind
from flows.llm.model import Invalid

MOST_TOKENS = 10**9
"""A count above it is a server's mistake."""


class Reply(NamedTuple):
    """What a server answered; None where it did not say how many tokens that took."""

    answer: str
    kind: Kind
    input_tokens: int | None
    output_tokens: int | None


class RefusedRequest(Exception):  # noqa: N818 - turned into another exception or another request
    """The server will not take the request as it is (a status of 4xx)."""

    def __init__(self, status: int, code: str, said: str) -> None:
        super().__init__(said)
        self.status = status
        self.code = code
        self.said = said

    @property
    def is_about_form(self) -> bool:
        """Whether it is the response format that the server will not take."""
        return self.names("response_format", "json_schema", "json_object", "json mode", "structured output", "guided")

    @property
    def is_about_length(self) -> bool:
        """Whether the prompt is longer than the model's window."""
        return self.names("context length", "context_length", "context window", "maximum context", "prompt is too long")

    def names(self, *words: str) -> bool:
        """Whether the server's message holds one of `words`."""
        said = f"{self.code} {self.said}".lower()
        return any(word in said for word in words)


def read_reply(body: bytes) -> Reply | None:
    """The first choice of a chat completion; None where `body` is not one."""
    try:
        reply = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:  # half an emoji is an error to orjson, and happens where an answer is cut off
            reply = json.loads(body)
        except (ValueError, RecursionError):
            return None
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        finish, usage = choice.get("finish_reason"), reply.get("usage")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    if not isinstance(content, str | None) or not isinstance(refusal, str | None):
        return None
    kind: Kind = "answer"
    if refusal or finish == "content_filter":
        kind = "refusal"
    elif finish == "length":
        kind = "cut off"
    answer = (refusal or content or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    counted = usage if isinstance(usage, dict) else {}
    return Reply(answer, kind, _count(counted.get("prompt_tokens")), _count(counted.get("completion_tokens")))


def read_log_probabilities(body: bytes) -> Reply | None:
    """What the first choice of a completion tells of its prompt; None where `body` is not one.

    The answer is a JSON list of the log-probabilities of the prompt's tokens, the first of which is 0 where
    there is none; it is empty where they are not told, or not how many tokens the prompt has.
    """
    try:
        reply = orjson.loads(body)
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        echoed, by_token = choice.get("logprobs") or {}, choice.get("prompt_logprobs")
        tokens = _count(usage.get("prompt_tokens"))
        if by_token is not None:
            told = [None if one is None else next(iter(one.values()))["logprob"] for one in by_token]
        else:
            told = echoed.get("token_logprobs") or []
    except (orjson.JSONDecodeError, TypeError, KeyError, IndexError, AttributeError, StopIteration):
        return None
    answer = ""
    if tokens and len(told) >= tokens:
        told = [0.0 if told[0] is None else told[0], *told[1:tokens]]  # behind the prompt stands what was generated
        if all(isinstance(one, int | float) for one in told):
            answer = orjson.dumps(told).decode()
    return Reply(answer, "answer", tokens, _count(usage.get("completion_tokens")))


def _count(value: object) -> int | None:
    """The number of tokens; None where the server gives none, or one that no window could hold."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None  # type: ignore[return-value]


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as strict structured output wants it: closed objects, every property required, no defaults.

    A `$ref` with words beside it is written out, since strict output allows nothing beside a `$ref`.
    """
    definitions: Mapping[str, Any] = schema.get("$defs", {})

    def strict(node: object) -> object:
        if isinstance(node, list):
            return [strict(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and len(node) > 1:
            written_out = {**definitions[node["$ref"].rpartition("/")[2]], **node}
            del written_out["$ref"]
            return strict(written_out)
        made = {
            name: {key: strict(part) for key, part in value.items()}
            if name in ("properties", "$defs")
            else strict(value)
            for name, value in node.items()
            if name != "default"
        }
        if isinstance(made.get("properties"), dict):
            made["additionalProperties"] = False
            made["required"] = list(node["properties"])
        return made

    made = strict(dict(schema))
    assert isinstance(made, dict)
    return made


def form_in_words(schema: Mapping[str, Any]) -> str:
    """The form of an answer for a model that cannot be held to it."""
    return f"Answer with one JSON object and nothing else, of this JSON schema:\n{orjson.dumps(schema).decode()}"


def reask(error: Invalid, schema: Mapping[str, Any] | None) -> str:
    """What a model is told about its invalid answer."""
    again = "Answer again." if schema is None else form_in_words(schema)
    return f"Your answer cannot be used: {error}.\n{again}"
