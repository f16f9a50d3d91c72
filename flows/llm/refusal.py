"""A server's refusal of a request: of its parameters, its form, or a prompt that is too long.

Each server words its refusals in its own way, and few give a code. Their words are in `refusals.yaml`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from itertools import zip_longest
from typing import Any

import yaml

REQUEST_TOO_LARGE = "request too large"
"""OpenAI's words, with 429, for a request that exceeds the tokens of a whole minute."""
_WORDS: dict[str, list[str]] = yaml.safe_load(files("flows.llm").joinpath("refusals.yaml").read_text(encoding="utf-8"))
_WINDOW, _PROMPT = (
    [re.compile(pattern, re.IGNORECASE) for pattern in _WORDS[name]] for name in ("window", "prompt_tokens")
)
_MOST_ANSWERED = re.compile(r"at most (\d+) (?:completion|output) tokens", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NOT_OF_THE_REQUEST = (401, 403, 404, 429)
"""Statuses about the key, the address and the pace, not about the request's content."""
OF_THE_REQUEST = (400, 415, 422)
"""Statuses that show what a server takes. A passing fault (5xx) shows nothing about that."""
LONG_NAME = 5
"""A parameter's name with this many letters cannot be a word of a sentence, even without quotes."""


class RefusedRequest(Exception):  # noqa: N818 - turned into another exception or another request
    """The server will not take the request as it is.

    `whole` is its message in full, for parsing; `message` is the part shown to people. `named` are places in the
    request that it names in fields of their own; `window` and `prompt_tokens`, numbers that it gives in fields.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        whole: str | None = None,
        named: Iterable[str] = (),
        window: int | None = None,
        prompt_tokens: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self._named = frozenset(named)
        self._words = _THOUSANDS.sub("", f"{code} {message if whole is None else whole}")
        self._window = window
        self._prompt_tokens = prompt_tokens

    def names(self, *words: str) -> bool:
        """Whether the server's message contains one of `words`."""
        text = self._words.lower()
        return any(word in text for word in words)

    @property
    def is_about_form(self) -> bool:
        """Whether it is the response format that the server will not take."""
        return self.names("response_format", "json_schema", "json_object", "json mode", "structured output", "guided")

    @property
    def is_about_length(self) -> bool:
        """Whether the prompt, maybe with room for its answer, is longer than the model's window."""
        if self.status in _NOT_OF_THE_REQUEST and not self.names("context", REQUEST_TOO_LARGE):
            return False
        return self.most_answered is None and (self.status == 413 or self.names(*_WORDS["too_long"]))

    @property
    def is_about_content(self) -> bool:
        """Whether the provider refuses to answer this prompt because of its content."""
        return self.code == "content_filter" or (
            (self.status in OF_THE_REQUEST or self.status in (403, 451)) and self.names(*_WORDS["moderated"])
        )

    @property
    def is_about_system(self) -> bool:
        """Whether the server takes no message of the role "system": templates of some models have none."""
        if self.names("must alternate", "system role not supported"):  # llama.cpp says it about the template, with 500
            return self.status not in _NOT_OF_THE_REQUEST
        if self.status not in OF_THE_REQUEST:
            return False
        return any(name.endswith(".role") for name in self._named) or (
            self.names("system") and self.names("role", "instruction")
        )

    def is_about(self, parameter: str) -> bool:
        """Whether it is this parameter, or its value, that the server will not take."""
        if self.status not in OF_THE_REQUEST:
            return False
        name = re.escape(parameter)
        quoted = rf"['\"`\[.]{name}['\"`\].:]"
        bare = rf"|(?<!\w){name}(?!\w)" if len(parameter) >= LONG_NAME or "_" in parameter else ""
        return parameter in self._named or re.search(quoted + bare, self._words) is not None

    @property
    def window(self) -> int | None:
        """The tokens of the model's window, by the server's message."""
        return self._window or self._first(_WINDOW)

    @property
    def prompt_tokens(self) -> int | None:
        """The tokens of the prompt, by the server's message."""
        return self._prompt_tokens or self._first(_PROMPT)

    @property
    def most_answered(self) -> int | None:
        """The most tokens of an answer, by the server's message, if more were asked for."""
        return self._first((_MOST_ANSWERED,))

    def _first(self, patterns: Iterable[re.Pattern[str]]) -> int | None:
        for pattern in patterns:
            if (match := pattern.search(self._words)) is not None:
                return int(match[1]) or None
        return None


def read_refusal(status: int, body: object, shorten: Callable[[str], str]) -> RefusedRequest:
    """The refusal in a reply's JSON; `shorten` makes the server's words fit to be shown to people."""
    error: Mapping[str, Any] = body if isinstance(body, dict) else {"message": body}
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    faults = message if isinstance(message, list) else []  # FastAPI's form: the place, and what is wrong there
    places = [str(fault["loc"][-1]) for fault in faults if isinstance(fault, dict) and fault.get("loc")]
    if faults:
        words = [str(fault.get("msg", "")) if isinstance(fault, dict) else str(fault) for fault in faults]
        message = "; ".join(f"{place}: {word}" for place, word in zip_longest(places, words, fillvalue=""))
    whole = " ".join(message.split()) if isinstance(message, str) else ""
    numbers = {name: value for name in ("n_ctx", "n_prompt_tokens") if isinstance(value := error.get(name), int)}
    code, parameter = error.get("code"), error.get("param")
    return RefusedRequest(
        status,
        "" if code is None else str(code),
        shorten(whole),
        whole=f"{error.get('type')} {whole}",
        named=[*places, *([parameter] if isinstance(parameter, str) else [])],
        window=numbers.get("n_ctx"),  # llama.cpp
        prompt_tokens=numbers.get("n_prompt_tokens"),
    )
