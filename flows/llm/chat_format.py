"""The OpenAI protocol's messages: replies, and the form of an answer."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from flows.llm.cache import Kind
from flows.llm.model import THOUGHT, Invalid
from schemas.base import visible

MOST_TOKENS = 10**9
"""A larger count is a server's mistake."""
MOST_NAMED = 200
"""Characters of a model's name in a reply."""

THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields in which servers put a model's thoughts."""


class Reply(NamedTuple):
    """A server's answer; numbers of tokens are None if it did not report them."""

    answer: str
    kind: Kind
    input_tokens: int | None
    output_tokens: int | None
    reasoned: bool = False
    """Whether the server shows, or counts, that the model thought before it answered."""
    served: str = ""
    """The model that the server says has answered: often a dated version of the one that was asked for."""
    batched: bool = False
    """Whether it came in a batch, at the price of batches."""


FAILED = ("error", "abort")
"""Finish reasons of replies that vLLM, SGLang or OpenRouter broke off: they are no answers."""
CUT = ("length", "max_tokens", "model_context_window_exceeded")
"""Finish reasons of replies that reached their limit of tokens, or the window: OpenAI; Gemini, Anthropic by a proxy."""
WITHHELD = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "refusal", "sensitive")
"""Finish reasons of replies that were withheld: OpenAI and Azure; Gemini and Anthropic behind a proxy; Zhipu.

No reason at all is as good as `stop`: Ollama gives none if its runner gave none."""


def read_reply(body: bytes) -> Reply | None:
    """The first choice of a chat completion; None if `body` is not one, or the server broke it off."""
    try:
        reply = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:  # half an emoji is an error to orjson, and occurs if an answer is cut off
            reply = json.loads(body)
        except (ValueError, RecursionError):
            return None
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        finish, usage = str(choice.get("finish_reason")).lower(), reply.get("usage")
        thought = any(message.get(name) for name in THOUGHTS)
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    if isinstance(content, list):  # content in parts: some are thoughts, the text is the answer
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        thought |= len(texts) < len(content)
        content = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str | None) or not isinstance(refusal, str | None) or finish in FAILED:
        return None
    kind: Kind = "answer"
    if refusal or finish in WITHHELD:
        kind = "refusal"
    elif finish in CUT:
        kind = "cut off"
    answer = (refusal or content or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    counted = usage if isinstance(usage, dict) else {}
    details = counted.get("completion_tokens_details")
    thought |= isinstance(details, dict) and bool(_count(details.get("reasoning_tokens")))
    thought |= THOUGHT.match(answer) is not None
    return Reply(
        answer,
        kind,
        _count(counted.get("prompt_tokens")),
        _count(counted.get("completion_tokens")),
        thought,
        _served(reply),
    )


def _served(reply: Mapping[str, Any]) -> str:
    """The model in a reply, in one short line; empty if it names none."""
    name = reply.get("model")
    return " ".join(visible(name).split())[:MOST_NAMED] if isinstance(name, str) else ""


def read_failure(body: bytes) -> tuple[int, object] | None:
    """The status that a failed reply should have had, and its error; None if `body` is not a failed reply.

    OpenRouter gives the status as the error's code. A reply that was broken off without a word is a server's error.
    """
    try:
        reply = json.loads(body)
        choice = (reply.get("choices") or [{}])[0]
        error = reply.get("error") or choice.get("error")
        finish = str(choice.get("finish_reason")).lower()
        status = int(error["code"]) if isinstance(error, dict) and str(error.get("code")).isdecimal() else 0
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError, IndexError):
        return None
    if status in range(400, 600):
        return status, error
    return (500, error or f"finish_reason {finish}") if finish in FAILED else None


WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")
"""Names of a model's window in servers' lists of models. llama.cpp's `n_ctx_train` is another thing."""


def offered_window(body: bytes, model: str) -> int | None:
    """The window of `model` in a server's list of models; None if it has none."""
    try:
        listed = next(entry for entry in orjson.loads(body)["data"] if entry["id"] == model)
        windows = [_count(listed.get(name)) for name in reversed(WINDOWS)]
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError, StopIteration):
        return None
    return next(filter(None, windows), None)


def read_log_probabilities(body: bytes) -> Reply | None:
    """The log-probabilities of the prompt in the first choice of a completion; None if `body` is not one.

    The answer is a JSON list of numbers for the prompt's tokens, with 0 for the first if it has none. It is empty if
    the server does not report them, or does not say how many tokens the prompt has.
    """
    try:
        reply = orjson.loads(body)
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        echoed, by_token = choice.get("logprobs") or {}, choice.get("prompt_logprobs")
        tokens = _count(usage.get("prompt_tokens"))
        if by_token is not None:
            listed = [None if token is None else next(iter(token.values()))["logprob"] for token in by_token]
        else:
            listed = echoed.get("token_logprobs") or []
        if not isinstance(listed, list):
            return None
    except (orjson.JSONDecodeError, TypeError, KeyError, IndexError, AttributeError, StopIteration):
        return None
    answer = ""
    if tokens and len(listed) >= tokens:
        listed = [0.0 if listed[0] is None else listed[0], *listed[1:tokens]]  # generated tokens follow the prompt's
        numbers = [number for number in listed if isinstance(number, int | float)]
        if not math.isfinite(sum(numbers)):
            return None
        if len(numbers) == len(listed):
            answer = orjson.dumps(listed).decode()
    return Reply(answer, "answer", tokens, _count(usage.get("completion_tokens")), served=_served(reply))


def _count(value: object) -> int | None:
    """The number of tokens; None if the server gives none, or a number that no window could hold."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None  # type: ignore[return-value]


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as strict structured output requires it: closed objects, all properties required, no defaults.

    A `$ref` with other keys beside it is written out, since strict output allows nothing beside a `$ref`.
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
    """The instruction on the form of an answer, for a model that cannot be constrained to it."""
    return f"Answer with one JSON object and nothing else, of this JSON schema:\n{orjson.dumps(schema).decode()}"


def reask(error: Invalid, schema: Mapping[str, Any] | None) -> str:
    """The message to a model about its invalid answer."""
    again = "Answer again." if schema is None else form_in_words(schema)
    return f"Your answer cannot be used: {error}.\n{again}"
