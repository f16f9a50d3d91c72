"""The template of a prompt. Users bring their own, which may come from anywhere: it is rendered in a sandbox."""

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from schemas.errors import WrongInput, first_line

FAULTS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
"""What an expression of a template may raise."""
COMPILED = "<template>"
"""The name that Jinja gives to the program that it makes of a template."""
ROLES = ("system", "user")
"""The blocks that are sent."""


class PromptTemplateError(WrongInput):
    """A prompt's template does not parse, uses a variable that its prompt does not have, or does what it may not."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Reaches nothing of Python behind the values, changes none of them, and makes no numbers or texts without end."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and isinstance(left, int | float) and isinstance(right, int | float):
            return left * right
        raise SecurityError("powers, and texts or lists times a number, are not offered")


def environment() -> jinja2.Environment:
    """Return the environment of the templates."""
    return _Sandbox(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


@dataclass(frozen=True)
class Template:
    """A template file of named blocks."""

    file: Path
    source: str

    @cached_property
    def _compiled(self) -> jinja2.Template:
        try:
            return environment().from_string(self.source)
        except jinja2.TemplateSyntaxError as error:
            raise PromptTemplateError(f"{self.file}: line {error.lineno}: {error.message}") from error
        except RecursionError as error:
            raise PromptTemplateError(f"{self.file}: nested too deep") from error

    def rendered(self, fields: Mapping[str, Any]) -> dict[str, str]:
        """The text of each block, by its role. Raises `PromptTemplateError`."""
        compiled = self._compiled
        blocks, context = compiled.blocks, compiled.new_context(dict(fields))
        try:
            return {role: "".join(blocks[role](context)).strip() for role in ROLES if role in blocks}
        except FAULTS as error:
            frames = traceback.walk_tb(error.__traceback__)
            *_, line = (line for frame, line in frames if frame.f_code.co_filename == COMPILED)
            where = f"{self.file}: line {compiled.get_corresponding_lineno(line)}"
            raise PromptTemplateError(f"{where}: {first_line(error)}") from error

    def check(self, offered: Collection[str] | None) -> None:
        """Raise `PromptTemplateError` if it cannot be rendered with these variables; None: which is not known."""
        blocks = self._compiled.blocks
        tree = environment().parse(self.source)
        if any(True for _ in jinja2.meta.find_referenced_templates(tree)):
            # Only this file's text is in the fingerprint.
            raise PromptTemplateError(f"{self.file}: include, import and extends are not offered; copy the text in")
        if "user" not in blocks:
            raise PromptTemplateError(f"{self.file}: no user block; write {{% block user %}} ... {{% endblock %}}")
        if offered is None:
            return
        if unknown := jinja2.meta.find_undeclared_variables(tree) - set(offered) - set(environment().globals):
            raise PromptTemplateError(
                f"{self.file}: unknown variable {', '.join(sorted(unknown))}; "
                f"this prompt offers {', '.join(sorted(offered))}"
            )
