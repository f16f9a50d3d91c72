"""How real servers refuse a request, in their own words: for `ChatServer(refuses=...)`."""

from collections.abc import Callable
from typing import Any

from tests.chat_server import Refusal

Refuses = Callable[[dict[str, Any]], Refusal | None]
CHARACTERS_A_TOKEN = 4


def tokens_of(body: dict[str, Any]) -> int:
    """The tokens of a request's messages, as these servers count them."""
    return sum(3 + len(message["content"]) // CHARACTERS_A_TOKEN for message in body["messages"])


def limit_of(body: dict[str, Any]) -> int:
    limit: int = body.get("max_tokens", body.get("max_completion_tokens", 0))
    return limit


def _openai(message: str, param: str | None, code: str | None) -> Refusal:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def o1_mini(body: dict[str, Any]) -> Refusal | None:
    """OpenAI's o1-mini: one fault at a time, as the real one tells them."""
    if "max_tokens" in body:
        said = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return _openai(said, "max_tokens", "unsupported_parameter")
    if any(message["role"] == "system" for message in body["messages"]):
        said = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return _openai(said, "messages[0].role", "unsupported_value")
    for name in ("temperature", "top_p"):
        if body.get(name, 1) != 1:
            said = (
                f"Unsupported value: '{name}' does not support {body[name]:g} with this model. "
                "Only the default (1) value is supported."
            )
            return _openai(said, name, "unsupported_value")
    if "response_format" in body:
        kind = body["response_format"]["type"]
        said = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        return _openai(said, "response_format", None)
    return None


def openai_window(window: int) -> Refuses:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        tokens, limit = tokens_of(body), limit_of(body)
        if tokens + limit <= window:
            return None
        said = (
            f"This model's maximum context length is {window} tokens. However, you requested {tokens + limit} tokens "
            f"({tokens} in the messages, {limit} in the completion). Please reduce the length of the messages or "
            "completion."
        )
        return _openai(said, "messages", "context_length_exceeded")

    return refuses


def vllm_window(window: int) -> Refuses:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        tokens, limit = tokens_of(body), limit_of(body)
        if tokens > window:
            said = (
                f"This model's maximum context length is {window} tokens. However, your request has {tokens} input "
                "tokens. Please reduce the length of the input messages. None"
            )
        elif tokens + limit > window:
            said = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context length "
                f"is {window} tokens and your request has {tokens} input tokens ({limit} > {window} - {tokens}). None"
            )
        else:
            return None
        return 400, {"object": "error", "message": said, "type": "BadRequestError", "param": None, "code": 400}

    return refuses


def llama_cpp(window: int, *, tells: bool) -> Refuses:
    """llama.cpp's server: newer ones `tell` numbers."""

    def refuses(body: dict[str, Any]) -> Refusal | None:
        tokens = tokens_of(body)
        if tokens <= window:
            return None
        numbers = {"n_prompt_tokens": tokens, "n_ctx": window} if tells else {}
        said = "the request exceeds the available context size. try increasing the context size or enable context shift"
        return 400, {"error": {"code": 400, "message": said, "type": "exceed_context_size_error", **numbers}}

    return refuses


def ollama(window: int) -> Refuses:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        if tokens_of(body) <= window:
            return None
        said = "the input length exceeds the context length"
        return 400, {"error": {"message": said, "type": "api_error", "param": None, "code": None}}

    return refuses
