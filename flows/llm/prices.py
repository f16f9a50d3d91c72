"""Prices of tokens, and estimates of how many tokens a text has."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import Field, RootModel, ValidationError

from flows.llm.model import Message, ModelSetupError
from schemas.base import Frozen
from schemas.errors import first_problem

CHARACTERS_A_TOKEN = 4
"""Latin and other alphabetic scripts: four characters per token."""

MESSAGE_TOKENS = 4
"""Tokens of a chat message in addition to its text, roughly."""

# Han, kana, hangul, and full-width forms: one token per character.
_CJK = re.compile(
    "[\u2e80-\u30ff\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]"
)


class UnknownPrice(ModelSetupError):  # noqa: N818
    """A money ceiling was set for a model whose price is not known."""


class PriceFileError(ModelSetupError):
    """The file of prices cannot be read."""


class Price(Protocol):
    """The price of a model's tokens. If it is not known, every cost is 0."""

    @property
    def is_known(self) -> bool: ...

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """In US dollars."""
        ...


Dollars = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False, strict=True)]
"""For a million tokens. So much for one token is a mistake, and more than a sum can hold is no price."""


class FlatPrice(Frozen):
    """Prices in US dollars for a million tokens."""

    is_known: ClassVar[bool] = True
    input_per_million: Dollars
    output_per_million: Dollars

    def halved(self) -> "FlatPrice":
        """Half of it: the price in batches, at all who have them."""
        return FlatPrice(input_per_million=self.input_per_million / 2, output_per_million=self.output_per_million / 2)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1e6


class NoPrice(FlatPrice):
    """A model whose price is not known: it costs 0 and says so."""

    is_known: ClassVar[bool] = False
    input_per_million: float = 0
    output_per_million: float = 0


class SteppedPrice:
    """A price of the library that depends on the length of the prompt."""

    is_known = True

    def __init__(self, model: str, base_url: str | None, context: Mapping[str, str]) -> None:
        """`context` is how the library names the way of asking."""
        self._model = model
        self._base_url = base_url
        self._context = context

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        price = calc_price(usage, self._model, provider_api_url=self._base_url, price_context=self._context)
        return float(price.total_price)


class _PriceFile(RootModel[dict[str, FlatPrice]]):
    pass


class Prices:
    """Prices by model name: a user's own first, then those of the library genai-prices (its packaged data)."""

    def __init__(self, overrides: Mapping[str, FlatPrice] | None = None) -> None:
        self._overrides = dict(overrides or {})

    @classmethod
    def of_values(cls, values: Any, path: str) -> "Prices":
        """Prices of a file's values, `model name: {input_per_million: USD, output_per_million: USD}`; None: none.

        Raises `PriceFileError`, which shows `path`.
        """
        try:
            return cls(_PriceFile.model_validate({} if values is None else values).root)
        except ValidationError as error:
            raise PriceFileError(
                f"{path}: {first_problem(error, 'the file')}; write `model name: {{input_per_million: USD, "
                "output_per_million: USD}`"
            ) from error

    def of(self, model: str, base_url: str | None = None, *, batch: bool = False) -> Price:
        """The price of `model` from the provider at `base_url`, or else from its maker; in a `batch` or one by one."""
        if model in self._overrides:
            price = self._overrides[model]
            return price.halved() if batch else price
        from genai_prices import Usage, calc_price

        thousand = Usage(input_tokens=1_000, output_tokens=1_000)
        million = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
        context = {"processing": "batch"} if batch else {}
        for place in (base_url, None):
            try:
                small = calc_price(thousand, model, provider_api_url=place, price_context=context)
                large = calc_price(million, model, provider_api_url=place, price_context=context)
            except LookupError:
                continue
            if large.total_price == 1000 * small.total_price:
                return FlatPrice(
                    input_per_million=float(large.input_price), output_per_million=float(large.output_price)
                )
            return SteppedPrice(model, place, context)
        return NoPrice()


def estimate_tokens(text: str) -> int:
    """Roughly the tokens of `text`: one per CJK character, one per four others; rounded up."""
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return cjk + math.ceil((len(text) - cjk) / CHARACTERS_A_TOKEN)


def estimate_prompt_tokens(messages: list[Message]) -> int:
    """Roughly the tokens that a model reads for `messages`."""
    return sum(MESSAGE_TOKENS + estimate_tokens(message["content"]) for message in messages)
