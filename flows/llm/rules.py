"""The model without a model: deterministic functions, one per prompt."""

import random
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ValidationError

from flows.llm.model import Invalid, InvalidAnswer, ModelSetupError, Out, Prompt, RuleSet, Usage
from schemas.base import Frozen, content_hash
from schemas.errors import first_problem


class MissingRule(ModelSetupError):  # noqa: N818
    """The rules do not answer a prompt."""


class RulesSettings(Frozen):
    """`models.<role>` of the configuration, for the rules."""

    provider: Literal["rules"] = "rules"


class Rules:
    """Answers each prompt by its rule: the same inputs, run seed and draw give the same answer.

    A rule that finds no answer raises `Invalid`; nothing is asked again, since a rule would say the same.
    """

    name = "rules"

    def __init__(self, rules: RuleSet, seed: int, version: str = "") -> None:
        """`version` names the rules' code: what they answer depends on it."""
        self._rules = rules
        self._version = version
        self._seed = seed

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        """The rule's answer, past the prompt's checks; raises `InvalidAnswer` and `MissingRule`."""
        rule = self._rules.get(prompt.name)
        if rule is None:
            raise MissingRule(
                f"the rules do not answer the prompt {prompt.name!r}; name a model of provider endpoint for the role "
                f"{prompt.role!r} (models.{prompt.role} or models.default)"
            )
        usage.calls += 1
        seed = content_hash(self._seed, prompt.name, inputs.model_dump(mode="json"), draw)
        answer = ""
        try:
            output = rule(inputs, random.Random(seed))
            if not isinstance(output, prompt.output):
                raise TypeError(
                    f"the rule of {prompt.name!r} gave a {type(output).__name__}, not a {prompt.output.__name__}"
                )
            answer = output.model_dump_json()
            for check in prompt.checks:
                check(inputs, output)
        except Invalid as error:
            raise InvalidAnswer(error.reason, answer or error.detail, error.detail) from error
        except ValidationError as error:
            problem = first_problem(error, "the answer")
            raise InvalidAnswer("answer of the wrong form", answer or problem, problem) from error
        return output

    def identity(self) -> Mapping[str, object]:
        """The rules, their version and their seed."""
        return {"provider": "rules", "version": self._version, "seed": self._seed}
