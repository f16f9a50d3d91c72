"""What calls cost and how long they take: asked at once, and in batches."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flows.project.models import Served
from schemas.manifest import added

FIRST_TOKEN_S, TOKENS_A_SECOND = 1.0, 60.0
"""Until a hosted model begins its answer, and how quickly it goes on: about."""
ROUND_HOURS = 24
"""A batch is back by then, or has expired."""
MINUTE_S, HOUR_S = 60, 3600


class Costs(NamedTuple):
    """The money for calls, in US dollars; None if a price is not known."""

    as_set: float | None = 0.0
    """In the way that the configuration says."""
    at_once: float | None = 0.0
    batched: float | None = 0.0
    seconds: float = 0.0
    """How long they take if they are asked at once, about."""

    def times(self, factor: float) -> "Costs":
        """Return what so many times as many calls cost."""
        if not factor:
            return Costs()
        as_set, at_once, batched = (None if usd is None else usd * factor for usd in self[:3])
        return Costs(as_set, at_once, batched, self.seconds * factor)


def costs_of(
    models: Sequence[object], calls: int, tokens_in: int, tokens_out: int, *, in_batches: bool = True
) -> Costs:
    """Return what calls cost that the models share equally; without `in_batches` they are asked at once in any case."""
    served = [model for model in models if isinstance(model, Served)]
    if not calls or not served:
        return Costs()
    share = 1 / len(models)
    seconds = sum(_seconds(model, calls * share, tokens_in * share, tokens_out * share) for model in served)
    if not all(model.price.is_known for model in served):
        return Costs(None, None, None, seconds)
    at_once, batched = (
        sum(price.cost(tokens_in, tokens_out) for price in prices) * share
        for prices in ([model.full_price for model in served], [model.batch_price for model in served])
    )
    if not in_batches:
        return Costs(at_once, at_once, at_once, seconds)
    as_set = sum(model.price.cost(tokens_in, tokens_out) for model in served) * share
    return Costs(as_set, at_once, batched, seconds)


def sum_of(costs: Iterable[Costs]) -> Costs:
    """Return the sum."""
    total = Costs()
    for more in costs:
        total = Costs(
            added(total.as_set, more.as_set),
            added(total.at_once, more.at_once),
            added(total.batched, more.batched),
            total.seconds + more.seconds,
        )
    return total


def both_ways(costs: Costs, rounds: int, *, is_batched: bool) -> list[str]:
    """Return a line on what calls cost and take at once and in batches, if they go in batches or would be cheaper so.

    `rounds` is how many calls follow one after the other.
    """
    is_cheaper = costs.batched is not None and costs.at_once is not None and costs.batched < costs.at_once
    if not costs.seconds or not (is_batched or is_cheaper):
        return []
    rounds = max(1, rounds)
    each = f"up to {ROUND_HOURS} hours" + (f" for each of {rounds} rounds or more" if rounds > 1 else "")
    setting = "" if is_batched else " (batch: true)"
    return [
        f"at once: {_money(costs.at_once)}, about {_time(costs.seconds)}; "
        f"in batches{setting}: {_money(costs.batched)}, {each}"
    ]


def _seconds(model: Served, calls: float, tokens_in: float, tokens_out: float) -> float:
    settings = model.settings
    seconds = (FIRST_TOKEN_S * calls + tokens_out / TOKENS_A_SECOND) / settings.concurrency
    if settings.requests_per_minute is not None:
        seconds = max(seconds, MINUTE_S * calls / settings.requests_per_minute)
    if settings.tokens_per_minute is not None:
        seconds = max(seconds, MINUTE_S * (tokens_in + tokens_out) / settings.tokens_per_minute)
    return seconds


def _money(usd: float | None) -> str:
    return "?" if usd is None else f"${usd:.2f}"


def _time(seconds: float) -> str:
    if seconds >= HOUR_S:
        return f"{seconds / HOUR_S:.1f} hours"
    return f"{max(1, round(seconds / MINUTE_S))} min"
