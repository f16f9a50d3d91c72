"""Prices: a user's own before the library's; an unknown one says so; estimates by a stated rule."""

import math

import pytest

from flows.llm.prices import PriceFileError, Prices, estimate_prompt_tokens, estimate_tokens


def test_the_library_knows_common_models_wherever_they_are_served() -> None:
    for address in (None, "https://api.openai.com/v1", "http://localhost:8000/v1"):
        price = Prices().of("gpt-4o-mini", address)
        assert price.is_known
        # 0.15 USD a million in, 0.60 out
        assert price.cost(1_000_000, 0) == pytest.approx(0.15)
        assert price.cost(0, 500_000) == pytest.approx(0.30)


def test_a_price_with_steps_is_asked_of_the_library_each_time() -> None:
    price = Prices().of("gemini-2.5-pro")
    assert price.is_known
    assert price.cost(1_000_000, 0) > 10 * price.cost(100_000, 0) * 1.5


def test_an_unknown_model_costs_nothing_and_says_so() -> None:
    price = Prices().of("home-grown")
    assert not price.is_known
    assert price.cost(10**6, 10**6) == 0


def test_a_file_overrides_the_library() -> None:
    values = {"gpt-4o-mini": {"input_per_million": 1, "output_per_million": 2.5}}
    price = Prices.of_values(values, "prices.yaml").of("gpt-4o-mini", "https://api.openai.com/v1")
    assert price.cost(2_000_000, 1_000_000) == 4.5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"m": {"input_per_million": 1}}, "m.output_per_million: Field required"),
        *(
            (
                {"m": {"input_per_million": price, "output_per_million": 1}},
                f"m.input_per_million: Input should be {said}",
            )
            for price, said in (
                (-1, "greater than or equal to 0"),
                (True, "a valid number"),
                (math.inf, "a finite number"),
                (math.nan, "a finite number"),
                (1e300, "less than or equal to 1000000"),
                (10**400, ""),
            )
        ),
        ({"m": {"input": 1}}, "m.input_per_million: Field required"),
        ({1: {"input_per_million": 1, "output_per_million": 1}}, "1.[key]: Input should be a valid string"),
        ([1, 2], "the file: Input should be a valid dictionary"),
    ],
)
def test_a_wrong_file_is_one_line(values: object, said: str) -> None:
    with pytest.raises(PriceFileError) as raised:
        Prices.of_values(values, "prices.yaml")
    assert str(raised.value).startswith(f"prices.yaml: {said}")
    assert "; write `model name:" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_tokens_are_estimated_by_script() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcde") == 2  # five fours, rounded up
    assert estimate_tokens("\u4e2d\u6587abcd") == 3  # two characters and a four
    assert estimate_tokens("\uc548\ub155") == 2
    assert estimate_prompt_tokens([{"role": "user", "content": "abcd"}, {"role": "user", "content": ""}]) == 9


def test_a_batch_costs_what_the_library_says_and_half_of_a_price_of_ones_own() -> None:
    assert Prices().of("gpt-4o-mini", batch=True).cost(1_000_000, 1_000_000) == pytest.approx(0.375)
    values = {"mine": {"input_per_million": 1, "output_per_million": 2.5}}
    assert Prices.of_values(values, "prices.yaml").of("mine", batch=True).cost(2_000_000, 1_000_000) == 2.25
