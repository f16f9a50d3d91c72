"""The operations of the programs' steps, by name, and the run of a program."""

import re
from collections.abc import Callable, Mapping

from flows.families.uraq.rules.facts import Fact, column, holders, people, rows
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
"""Degrees of latitude between two capitals of which whole degrees tell the northern one."""


class Blocked(Exception):  # noqa: N818 - it names the state of a program, not a fault of ours
    """A program cannot be run: it needs something that is not known."""


def known(result: Result | None) -> Result:
    """The result; raises `Blocked` if it is missing."""
    if result is None or result == "":
        raise Blocked("not known")
    return result


def yes(condition: bool) -> str:
    """A condition as an answer."""
    return "yes" if condition else "no"


# ---- tables and series ----


def looked_up(table: str, key: str, field: str) -> Callable[[str], Result]:
    """Read a column of a table by another one."""
    return lambda name: _typed(known(column(table, key, field).get(str(name))))


def _typed(cell: Result) -> Result:
    return int(cell) if re.fullmatch(r"-?\d+", str(cell)) else cell


def members(series: str) -> tuple[str, ...]:
    """The names of a series, in order: planets, months or elements."""
    return SERIES.get(series) or tuple(row["name"] for row in rows("known_elements"))


def at_place(series: str) -> Callable[[int], Result]:
    """The member of a series at a place, counted from 1."""

    def look(place: int) -> Result:
        names = members(series)
        if not 1 <= place <= len(names):
            raise Blocked(f"no place {place}")
        return known(names[place - 1])

    return look


def place_in(series: str) -> Callable[[str], Result]:
    """The place of a name in a series, counted from 1."""

    def look(name: str) -> Result:
        names = members(series)
        if name not in names:
            raise Blocked(f"{name} is not in the series")
        return names.index(name) + 1

    return look


def of_person(name: str, field: str) -> Result:
    """A field of a known person."""
    if name not in people():
        raise Blocked(f"{name} is not known")
    return known(getattr(people()[name], field))


# ---- monarchs and presidents ----


def in_office(table: str) -> Callable[[int], Result]:
    """Who was in office in a year; blocked in a year of a change."""

    def look(year: int) -> Result:
        names = [row["name"] for row in rows(table) if int(row["start"]) < year < int(row["end"])]
        return known(names[0] if len(names) == 1 else None)

    return look


def successor(table: str) -> Callable[[str], Result]:
    """Who came next without a gap."""

    def look(name: str) -> Result:
        order = rows(table)
        places = [place for place, row in enumerate(order) if row["name"] == name]
        if len(places) != 1 or places[0] + 1 == len(order):
            raise Blocked(f"no single successor of {name}")
        now, after = order[places[0]], order[places[0] + 1]
        return known(after["name"] if now["end"] == after["start"] else None)

    return look


def of_office(table: str, field: str) -> Callable[[str], Result]:
    """A column of the row of a name; blocked where several rows of that name differ in it."""

    def look(name: str) -> Result:
        cells = {row[field] for row in rows(table) if row["name"] == name}
        return _typed(known(cells.pop() if len(cells) == 1 else None))

    return look


# ---- games and countries ----


def next_in(table: str) -> Callable[[int], Result]:
    """The first year of a table after a year that is not itself in the table."""

    def look(year: int) -> Result:
        years = [int(row["year"]) for row in rows(table)]
        # Before the first games and in a year of games, "the first after" is open to doubt.
        if year in years or year < years[0] - EARLIEST_LEAD:
            raise Blocked(f"no games clearly follow {year}")
        return known(min((other for other in years if other > year), default=None))

    return look


def first_of(table: str, field: str) -> Callable[[str], Result]:
    """The first year in which a country appears in a column of a table."""

    def look(country: str) -> Result:
        if any(row[field] == f"West {country}" for row in rows(table)):
            raise Blocked("some count those of West Germany as well")
        return known(min((int(row["year"]) for row in rows(table) if row[field] == country), default=None))

    return look


latitude = looked_up("known_countries", "capital", "latitude")
capital_of = looked_up("known_countries", "name", "capital")


def further_north(capital: str, other: str) -> Result:
    """Return whether a capital lies north of another; blocked where whole degrees cannot tell."""
    north, south = int(latitude(capital)), int(latitude(other))
    if abs(north - south) < NORTH_BY:
        raise Blocked("about as far north")
    return yes(north > south)


def cradle(language: str, country: str) -> Result:
    """The country that a language comes from, if it is another one."""
    origin = column("known_languages", "name", "country").get(language)
    return known(origin if origin != country else None)


# ---- arithmetic and comparison ----


def strictly(condition: Callable[..., bool]) -> Callable[..., Result]:
    """A comparison that is blocked where the first number equals another one."""

    def compare(first: int, *rest: int) -> Result:
        if first in rest:
            raise Blocked("as many as")
        return yes(condition(first, *rest))

    return compare


def apart(first: int, second: int) -> Result:
    """The difference; blocked where there is none."""
    if first == second:
        raise Blocked("no difference")
    return abs(first - second)


def after(later: int, earlier: int) -> Result:
    """How much later `later` is; blocked where it is not."""
    if later <= earlier:
        raise Blocked("not after")
    return later - earlier


OPERATIONS: Mapping[str, Callable[..., Result]] = {
    "same value": lambda value: value,
    "birth": lambda name: of_person(name, "birth"),
    "death": lambda name: of_person(name, "death"),
    "home": lambda name: of_person(name, "country"),
    "capital": capital_of,
    "continent": looked_up("known_countries", "name", "continent"),
    "language": looked_up("known_countries", "name", "language"),
    "latitude": latitude,
    "side": looked_up("known_countries", "name", "side"),
    "river": looked_up("known_countries", "capital", "river"),
    "mouth": looked_up("known_countries", "river", "mouth"),
    "class": looked_up("known_animals", "name", "class"),
    "legs": looked_up("known_animals", "name", "legs"),
    "symbol": looked_up("known_elements", "name", "symbol"),
    "state capital": looked_up("known_states", "name", "capital"),
    "admission": looked_up("known_states", "name", "year"),
    "games city": looked_up("known_games", "year", "city"),
    "cup winner": looked_up("known_cups", "year", "winner"),
    "cup host": looked_up("known_cups", "year", "host"),
    "next games": next_in("known_games"),
    "next cup": next_in("known_cups"),
    "monarch": in_office("known_monarchs"),
    "next monarch": successor("known_monarchs"),
    "house": of_office("known_monarchs", "house"),
    "accession": of_office("known_monarchs", "start"),
    "end of reign": of_office("known_monarchs", "end"),
    "president": in_office("known_presidents"),
    "next president": successor("known_presidents"),
    "birth state": of_office("known_presidents", "state"),
    "party": of_office("known_presidents", "party"),
    "took office": of_office("known_presidents", "start"),
    "left office": of_office("known_presidents", "end"),
    "city country": looked_up("known_games", "city", "country"),
    "cradle": cradle,
    "science": looked_up("known_classes", "name", "science"),
    "latitude of capital": lambda country: latitude(str(capital_of(country))),
    "further north": further_north,
    "first games": first_of("known_games", "country"),
    "first cup": first_of("known_cups", "winner"),
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
    **{f"{series} at": at_place(series) for series in (*SERIES, "element")},
    **{f"{series} place": place_in(series) for series in (*SERIES, "element")},
}


def run(
    program: Program, fact: Fact, slots: Mapping[str, Slot], value: str, without: int | None = None
) -> tuple[Result, ...]:
    """Every step's result if the fact's value is `value`; raises `Blocked` where a step has none.

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
            results[number] = OPERATIONS[step.op](*map(argument, step.args))
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
