"""The operations of the programs' steps, by name, and the run of a program."""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial

from flows.families.uraq.rules.facts import Fact, column, holders, rows
from flows.families.uraq.rules.programs import Program, Result, Slot

SERIES: Mapping[str, tuple[str, ...]] = {
    "planet": ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"),
    "month": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
}  # fmt: skip
EARLIEST_LEAD = 40
"""Years before the first games from which "the first games after" would be odd."""
NORTH_BY = 2
"""Degrees of latitude between two capitals from which whole degrees show which is farther north."""


class Blocked(Exception):  # noqa: N818 - it names the state of a program, not a fault of ours
    """A program cannot be run: it needs something that is not known."""


def required(result: Result | None) -> Result:
    """The result; raises `Blocked` if it is missing."""
    if result is None or result == "":
        raise Blocked("not known")
    return result


def yes(condition: bool) -> str:
    """A condition as an answer."""
    return "yes" if condition else "no"


# ---- tables and series ----


def looked_up(table: str, key: str, field: str, name: Result) -> Result:
    """A cell of the column `field` in the row whose column `key` has `name`; a whole number as an integer."""
    cell = required(column(table, key, field).get(str(name)))
    return int(cell) if re.fullmatch(r"-?\d+", str(cell)) else cell


def members(series: str) -> tuple[str, ...]:
    """The names of a series, in order: planets, months or elements."""
    return SERIES.get(series) or tuple(row["name"] for row in rows("known_elements"))


def at_place(series: str, place: int) -> Result:
    """The member of a series at a place, counted from 1."""
    names = members(series)
    if not 1 <= place <= len(names):
        raise Blocked(f"no place {place}")
    return required(names[place - 1])


def place_in(series: str, name: str) -> Result:
    """The place of a name in a series, counted from 1."""
    names = members(series)
    if name not in names:
        raise Blocked(f"{name} is not in the series")
    return names.index(name) + 1


# ---- monarchs and presidents ----


def in_office(table: str, year: int) -> Result:
    """Who was in office in a year; blocked in a year of a change."""
    names = [name for name, start, end in _terms(table) if start < year < end]
    return required(names[0] if len(names) == 1 else None)


@cache
def _terms(table: str) -> tuple[tuple[str, int, int], ...]:
    """Every term of office: who, and its first and last year."""
    return tuple((row["name"], int(row["start"]), int(row["end"])) for row in rows(table))


def successor(table: str, name: str) -> Result:
    """Who came next without a gap."""
    order = rows(table)
    places = [place for place, row in enumerate(order) if row["name"] == name]
    if len(places) != 1 or places[0] + 1 == len(order):
        raise Blocked(f"no single successor of {name}")
    now, after = order[places[0]], order[places[0] + 1]
    return required(after["name"] if now["end"] == after["start"] else None)


# ---- games and countries ----


def next_in(table: str, year: int) -> Result:
    """The first year of a table after a year that is not itself in the table."""
    years = [int(row["year"]) for row in rows(table)]
    # Before the first games and in a year of games, "the first after" is open to doubt.
    if year in years or year < years[0] - EARLIEST_LEAD:
        raise Blocked(f"no games clearly follow {year}")
    return required(min((other for other in years if other > year), default=None))


def first_of(table: str, field: str, country: str) -> Result:
    """The first year in which a country appears in a column of a table."""
    if any(row[field] == f"West {country}" for row in rows(table)):
        raise Blocked("some count those of West Germany as well")
    return required(min((int(row["year"]) for row in rows(table) if row[field] == country), default=None))


latitude = partial(looked_up, "known_countries", "capital", "latitude")
capital_of = partial(looked_up, "known_countries", "name", "capital")


def further_north(capital: str, other: str) -> Result:
    """Return whether a capital lies north of another; blocked if whole degrees do not show it."""
    north, south = int(latitude(capital)), int(latitude(other))
    if abs(north - south) < NORTH_BY:
        raise Blocked("about as far north")
    return yes(north > south)


def cradle(language: str, country: str) -> Result:
    """The country that a language comes from, if it is another country."""
    origin = column("known_languages", "name", "country").get(language)
    return required(origin if origin != country else None)


# ---- arithmetic and comparison ----


def strictly(condition: Callable[..., bool]) -> Callable[..., Result]:
    """A comparison that is blocked if the first number equals another number."""

    def compare(first: int, *rest: int) -> Result:
        if first in rest:
            raise Blocked("as many as")
        return yes(condition(first, *rest))

    return compare


def apart(first: int, second: int) -> Result:
    """The difference; blocked if there is none."""
    if first == second:
        raise Blocked("no difference")
    return abs(first - second)


def after(later: int, earlier: int) -> Result:
    """How much later `later` is; blocked if it is not later."""
    if later <= earlier:
        raise Blocked("not after")
    return later - earlier


# The operations that only read a table are in `facts/lookups.tsv`.
OPERATIONS: Mapping[str, Callable[..., Result]] = {
    "same value": lambda value: value,
    "capital": capital_of,
    "latitude": latitude,
    "next games": partial(next_in, "known_games"),
    "next cup": partial(next_in, "known_cups"),
    "monarch": partial(in_office, "known_monarchs"),
    "next monarch": partial(successor, "known_monarchs"),
    "president": partial(in_office, "known_presidents"),
    "next president": partial(successor, "known_presidents"),
    "cradle": cradle,
    "latitude of capital": lambda country: latitude(str(capital_of(country))),
    "further north": further_north,
    "first games": partial(first_of, "known_games", "country"),
    "first cup": partial(first_of, "known_cups", "winner"),
    "holder": lambda clue: holders()[clue].name,
    "number held": lambda name, clue: holders()[clue].number,
    "months on": lambda month, further: (month + further - 1) % 12 + 1,
    "add": lambda *numbers: sum(numbers),
    "apart": apart,
    "after": after,
    "more": lambda number, limit: yes(number > limit),
    "less": strictly(lambda first, second: first < second),
    "greater": strictly(lambda first, second: first > second),
    "within": strictly(lambda number, low, high: low < number < high),
    "same": lambda first, second: yes(first == second),
    "count yes": lambda *answers: answers.count("yes"),
    "any": lambda *answers: yes("yes" in answers),
    "all": lambda *answers: yes("no" not in answers),
    "most": lambda *answers: yes(answers.count("yes") > len(answers) / 2),
    "opposite": lambda answer: yes(answer == "no"),
    **{f"{series} at": partial(at_place, series) for series in (*SERIES, "element")},
    **{f"{series} place": partial(place_in, series) for series in (*SERIES, "element")},
}


def operation(name: str) -> Callable[..., Result]:
    """The operation of that name, from `OPERATIONS` or from `lookups.tsv`."""
    return OPERATIONS.get(name) or _lookups()[name]


@cache
def _lookups() -> Mapping[str, Callable[..., Result]]:
    return {row["operation"]: partial(looked_up, row["table"], row["key"], row["field"]) for row in rows("lookups")}


def run(
    program: Program, fact: Fact, slots: Mapping[str, Slot], value: str, without: int | None = None
) -> tuple[Result, ...]:
    """Every step's result if the fact's value is `value`; raises `Blocked` if a step has none.

    `without` leaves out a step (counted from 1).
    """
    results: dict[int, Result] = {}

    def argument(arg: int | str) -> Result:
        if isinstance(arg, str):
            return slot_value(slots[arg.removeprefix("@")])
        if arg not in results:
            raise Blocked(f"step {arg} is missing")
        return results[arg]

    for number, step in enumerate(program.steps, 1):
        if number == without:
            continue
        if step.op == "value":
            results[number] = int(value) if fact.kind in ("count", "year") else value
        else:
            results[number] = operation(step.op)(*map(argument, step.args))
    if len(program.steps) not in results:
        raise Blocked("the last step is missing")
    return tuple(results.values())


def slot_value(slot: Slot) -> Result:
    """The result that a step reads from a slot."""
    match slot:
        case Fact():
            return slot.value if slot.kind == "person" else int(slot.value)
        case (_, has):
            return yes(has)
        case _:
            return slot
