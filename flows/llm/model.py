"""The two nouns of this package: a Prompt, which knows no model, and a Model, which knows no method."""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypedDict

import orjson
from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

from flows.llm.template import PromptTemplateError, Template
from schemas.base import Frozen, content_hash, odd_character, texts_in, visible
from schemas.errors import Failed, Stopped, WrongInput
from schemas.manifest import added

Out = TypeVar("Out", bound=BaseModel)
Out_co = TypeVar("Out_co", bound=BaseModel, covariant=True, default=BaseModel)
MAX_REASKS = 2
"""How often an invalid answer is asked for again, with its error, before the record is dropped."""
SHOWN_ERRORS = 3
"""How many of the faults in one answer the model is shown."""
CALLS_AHEAD: ContextVar[float] = ContextVar("calls_ahead", default=0)
"""Calls that follow one after the other from the caller's, itself included, as far as is known (an estimate)."""


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


class Said(Frozen):
    """A turn of a dialogue with a model."""

    role: Literal["user", "assistant"]
    text: str


class InDialogue(Frozen):
    """Inputs of a prompt that is asked in a dialogue: all turns before it go along."""

    dialogue: tuple[Said, ...] = ()


class Text(Frozen):
    """The output of a prompt whose answer is plain text."""

    text: str
    cut_off: bool = False
    """Whether it reached its limit of tokens."""
    prompt_cut: bool = False
    """Whether it answers a prompt that was cut in its middle."""


class Invalid(Exception):  # noqa: N818 - it names the answer, not a fault of ours
    """An answer that is not what the prompt asked for.

    `reason` is a short phrase out of a small set, to be counted; `detail` is shown to the model when it is asked
    again.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


Problem = tuple[str, str] | None
"""A check's result: (reason, what is wrong), or None."""


def require(problem: Problem) -> None:
    """Raise `Invalid` if there is a problem."""
    if problem is not None:
        raise Invalid(*problem)


_JOINERS = re.compile("[\u200c\u200d]")
"""Format characters that belong to text: those of scripts, and joiners of combined signs."""


def require_plain_text(asked: object, output: BaseModel) -> None:
    """A check: no text of the answer holds a control or format character, apart from white space."""
    for text in texts_in(output.model_dump()):
        if (odd := odd_character(_JOINERS.sub("", " ".join(text.split())))) is not None:
            raise Invalid("answer holds a character that is no text", f"leave out {visible(odd)}")


CUT_OFF = "answer cut off"
"""The reason for an answer that reached its limit of tokens and cannot be used."""
NO_ROOM = "an answer's tokens fill the model's window"
"""The reason if a prompt of any length would be refused: its `max_tokens` should be less."""
REFUSED = "refused"
"""The reason if the server withheld an answer, or marked it as the model's refusal."""
TOO_LONG = "prompt longer than the model's window"
"""The reason if a prompt does not fit."""


class InvalidAnswer(Exception):  # noqa: N818
    """Every answer was invalid: the record is to be dropped, with the last answer as evidence."""

    def __init__(self, reason: str, answer: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.answer = answer
        self.detail = detail
        self.prompt_cut = False
        """Whether the prompt had been cut in its middle."""

    @property
    def evidence(self) -> str:
        """The last answer, and what is wrong with it if the reason does not say."""
        return f"{self.answer} ({self.detail})" if self.detail and self.detail not in self.answer else self.answer


class NoAnswer(InvalidAnswer):
    """The server did not let the model answer: the evidence is the server's own words."""


class PromptTooLong(NoAnswer):
    """The prompt does not fit into the model's window, whose size is given if the server states it.

    `tokens` is how many the prompt has, by the server's count or else by an estimate.
    """

    def __init__(self, message: str, window: int | None, tokens: int) -> None:
        super().__init__(TOO_LONG, message)
        self.window = window
        self.tokens = tokens


class TransportError(Failed):
    """There was no answer, after every retry: the shard stops and can be resumed.

    `transient` says whether the same request may be answered a little later.
    """

    def __init__(self, message: str, *, transient: bool = True) -> None:
        super().__init__(message)
        self.transient = transient


class ModelSetupError(WrongInput):
    """A model, a prompt or a price is set up wrongly: one line that names what to change."""


class BudgetSpent(Stopped):
    """The money ceiling is reached: the run stops cleanly and can be resumed."""


@dataclass(frozen=True)
class Prompt(Generic[Out_co]):
    """A question to a model: a template, the type of its answer, and the checks that the answer must pass.

    The template is `<folder of the family>/prompts/<name>.j2`, with a `system` and a `user` block; it
    sees the fields of `inputs`. If these are `InDialogue`, the dialogue so far comes between the two, message by
    message. `checks` are called as `check(inputs, output)` and raise `Invalid`. `version` is raised when the question
    changes; the template's hash is kept beside it. With `inputs`, a template can be checked before anything is
    asked (`with_templates`). A prompt that `may_be_cut` loses its middle if a model's window is too short for it;
    its answer is text.
    """

    name: str
    version: int
    output: type[Out_co]
    templates: Path
    role: str = "builder"
    checks: tuple[Callable[[Any, Out_co], None], ...] = ()
    temperature: float = 1.0
    max_tokens: int = 1024
    inputs: type[BaseModel] | None = None
    may_be_cut: bool = False

    @property
    def file(self) -> Path:
        """The template's path."""
        return self.templates / f"{self.name}.j2"

    @cached_property
    def source(self) -> str:
        """The template's text."""
        return self.file.read_text(encoding="utf-8")

    @cached_property
    def fingerprint(self) -> str:
        """Declared version and template hash: `1-9f86d081`."""
        return f"{self.version}-{content_hash(self.source)[:8]}"

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of the answer; None if it is text."""
        return None if self.output is Text else self.output.model_json_schema()

    @cached_property
    def _template(self) -> Template:
        return Template(self.file, self.source)

    def messages(self, inputs: BaseModel) -> list[Message]:
        """The chat messages for `inputs`; raises `PromptTemplateError`."""
        texts = self._template.rendered({name: getattr(inputs, name) for name in type(inputs).model_fields})
        said = inputs.dialogue if isinstance(inputs, InDialogue) else ()
        turns = [(turn.role, turn.text) for turn in said]
        before, after = ([(role, texts[role])] if role in texts else [] for role in ("system", "user"))
        return [{"role": role, "content": text} for role, text in (*before, *turns, *after)]

    def check_template(self) -> None:
        """Raise `PromptTemplateError` if the template cannot be rendered for this prompt's inputs."""
        try:
            template = self._template
        except UnicodeDecodeError as error:
            raise PromptTemplateError(f"{self.file}: not UTF-8 text ({error})") from error
        template.check(None if self.inputs is None else self.inputs.model_fields.keys())

    def parse(self, inputs: BaseModel, answer: str, *, cut_off: bool = False) -> Out_co:
        """The answer as `output`, past every check; raises `Invalid`. A text records whether it was `cut_off`."""
        if self.output is Text:
            if not any(character.isprintable() and not character.isspace() for character in answer):
                raise Invalid("empty answer")
            output = self.output.model_validate({"text": answer, "cut_off": cut_off})
        else:
            written = first_json_object(answer)
            try:
                # Fields that nobody asked for, which models like to add, are left out.
                asked = {name: value for name, value in written.items() if name in self.output.model_fields}
                output = self.output.model_validate(asked)
            except ValidationError as error:
                faults = error.errors(include_url=False, include_context=False)
                shown = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:SHOWN_ERRORS]]
                raise Invalid("answer of the wrong form", "; ".join(shown)) from error
        for check in self.checks:
            check(inputs, output)
        return output


def with_templates(prompt: Prompt[Out], folder: Path, family: str) -> Prompt[Out]:
    """`prompt` with the user's template, if `folder` has one: `<family>/<name>.j2`, else `<name>.j2`.

    Raises `PromptTemplateError` if that template cannot be rendered.
    """
    for place in (folder / family, folder):
        if (place / f"{prompt.name}.j2").is_file():
            replaced = dataclasses.replace(prompt, templates=place)
            replaced.check_template()
            return replaced
    return prompt


_OBJECT = re.compile(r'\{\s*["}]')
THOUGHT = re.compile(r"\s*(?:<(think|thinking|seed:think)>|\[(THINK)\])")
"""The beginning of a thought in an answer."""


def without_thought(answer: str) -> str:
    """The answer after the model's thought; empty if the thought was never closed.

    A thought comes first. If a chat template opens it, the answer has only its end.
    """
    opened = THOUGHT.match(answer)
    if opened is not None:
        end = f"</{opened[1]}>" if opened[1] else f"[/{opened[2]}]"
        return answer[opened.end() :].partition(end)[2].lstrip()
    if answer.count("</think>") == 1 and "<think>" not in answer:
        return answer.partition("</think>")[2].lstrip()
    return answer


def first_json_object(answer: str) -> dict[str, Any]:
    """The first JSON object in `answer` (models wrap it in prose or a code fence, or put it after their thinking).

    Raises `Invalid`. An object that breaks off is an error, even if it contains a whole one.
    """
    answer = without_thought(answer)
    try:
        value = orjson.loads(answer)
    except orjson.JSONDecodeError:
        start = _OBJECT.search(answer)
        if start is None:
            raise Invalid("answer is not JSON", "no JSON object was found") from None
        try:
            value, _ = json.JSONDecoder().raw_decode(answer, start.start())
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:  # half a character, which JSON can express and UTF-8 and orjson cannot
            raise Invalid("answer is not text", "it holds a lone surrogate") from error
        except (ValueError, RecursionError) as error:
            raise Invalid("answer is not JSON", str(error)) from error
    if not isinstance(value, dict):
        raise Invalid("answer is not JSON", "a JSON object was asked for")
    return value


@dataclass
class Usage:
    """Calls, tokens and money.

    `calls` are answers that were paid for, `cached` those that had been paid for before; tokens and money are
    those of `calls`, and with the prefix `cached_` those of the others when they were paid. Money is None if
    a price is not known. `cut_off` counts the answers, of both, that reached their limit of tokens.
    """

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_input_tokens: int = 0
    cached_output_tokens: int = 0
    cached_cost_usd: float | None = 0.0
    cut_off: int = 0

    def add(self, other: "Usage") -> None:
        """Add `other`."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, added(getattr(self, field.name), getattr(other, field.name)))

    def is_first(self, key: str) -> bool:
        """Whether the money for the answer with this cache key is yet to be counted; here it always is."""
        return True


class EachOnce(Usage):
    """Usage in which the money for an answer counts once, however many questions share it."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: set[str] = set()

    def is_first(self, key: str) -> bool:
        """Whether the money is yet to be counted; it is from now on."""
        is_first = key not in self._keys
        self._keys.add(key)
        return is_first


class Model(Protocol):
    """Answers prompts."""

    name: str

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """The typed answer; what it took is added to `usage`. A higher `draw` asks anew.

        Raises `InvalidAnswer` if every answer was invalid, `TransportError` if there was none, and
        `BudgetSpent` at the money ceiling.
        """
        ...

    def identity(self) -> Mapping[str, object]:
        """Everything about the model that its answers depend on; goes into fingerprints."""
        ...


RuleSet = Mapping[str, Callable[..., BaseModel]]
"""A family's rules: prompt name -> function of (inputs, random.Random) giving the prompt's output."""
