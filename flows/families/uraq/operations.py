"""What the steps of a program do: each operation by name, and the run of all of them."""

import re
from collections.abc import Callable, Mapping

from flows.families.uraq.facts import (
    Fact,
    column,
    holders,
    people,
    reigns,
    rows,
)
from flows.families.uraq.program import Program, Result, Slot

SERIES: Mapping[str, tuple[str, ...]] = {
    "planet": ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"),
    "month": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
}  # fmt: skip


class Blocked(Exception):  # noqa: N818 - it names the state of a program, not a fault of ours
    """A program cannot be run: something that it needs is missing."""


def known(result: Result | None) -> Result:
    """A result that is there; raises `Blocked` where it is not."""
    if result is None or result == "":
        raise Blocked("not known")
    return result


def looked_up(table: str, key: str, field_: str) -> Callable[[str], Result]:
    """An operation that reads one column of a known table by another."""

    def look(name: str) -> Result:
        text = known(column(table, key, field_).get(str(name)))
        return int(text) if re.fullmatch(r"-?\d+", str(text)) else text

    return look


def at_place(series: str) -> Callable[[int], Result]:
    """An operation that gives what stands at a place of a series, counted from 1."""

    def look(place: int) -> Result:
        names = members(series)
        if not 1 <= place <= len(names):
            raise Blocked(f"no place {place}")
        return known(names[place - 1])

    return look


def place_in(series: str) -> Callable[[str], Result]:
    """An operation that gives the place of a name in a series, counted from 1."""

    def look(name: str) -> Result:
        names = members(series)
        if name not in names:
            raise Blocked(f"{name} is not in the series")
        return names.index(name) + 1

    return look


def members(series: str) -> tuple[str, ...]:
    """The names of a series in order: a constant one, or the elements."""
    return SERIES.get(series) or tuple(row["name"] for row in rows("known_elements"))


def in_office(table: str) -> Callable[[int], Result]:
    """Who was in office in a year; years of a change are left open."""

    def look(year: int) -> Result:
        found = [reign.name for reign in reigns(table) if reign.start < year < reign.end]
        return known(found[0] if len(found) == 1 else None)

    return look


def successor(table: str) -> Callable[[str], Result]:
    """Who came next, where the one's end is the other's start."""

    def look(name: str) -> Result:
        order = reigns(table)
        places = [place for place, reign in enumerate(order) if reign.name == name]
        if len(places) != 1 or places[0] + 1 == len(order):
            raise Blocked(f"no single successor of {name}")
        now, after = order[places[0]], order[places[0] + 1]
        return known(after.name if now.end == after.start else None)

    return look


def of_reign(table: str, read: Callable[[object], object]) -> Callable[[str], Result]:
    """Something about the one person of that name who was in office."""

    def look(name: str) -> Result:
        found = {read(reign) for reign in reigns(table) if reign.name == name}
        result = found.pop() if len(found) == 1 else None
        return known(result if isinstance(result, int | str) else None)

    return look


def next_in(table: str) -> Callable[[int], Result]:
    """The first year of a table after a year that is not itself in it."""

    def look(year: int) -> Result:
        years = [int(row["year"]) for row in rows(table)]
        # Before the first and in a year of the games themselves, "the first after" is open to doubt.
        if year in years or year < years[0] - 40:
            raise Blocked(f"no games clearly follow {year}")
        return known(min((held for held in years if held > year), default=None))

    return look


def of_person(name: str, field_: str) -> Result:
    """A field of a known person."""
    if name not in people():
        raise Blocked(f"{name} is not known")
    result = getattr(people()[name], field_)
    return known(result if isinstance(result, int | str) else None)


def yes(condition: bool) -> str:
    """A condition as an answer."""
    return "yes" if condition else "no"


def strictly(condition: Callable[..., bool]) -> Callable[..., Result]:
    """A comparison of numbers that is blocked where two of them are equal."""

    def compare(first: int, *rest: int) -> Result:
        if first in rest:
            raise Blocked("as many as")
        return yes(condition(first, *rest))

    return compare


def apart(one: int, other: int) -> Result:
    """The difference; blocked where there is none."""
    if one == other:
        raise Blocked("no difference")
    return abs(one - other)


def after(later: int, earlier: int) -> Result:
    """How much later `later` is; blocked where it is not."""
    if later <= earlier:
        raise Blocked("not after")
    return later - earlier


def latitude_of_capital(country: str) -> Result:
    """The latitude of a country's capital, in degrees north."""
    capital = looked_up("known_countries", "name", "capital")(country)
    return looked_up("known_countries", "capital", "latitude")(str(capital))


def further_north(capital: str, other: str) -> Result:
    """Whether a capital lies north of another; blocked where the two are too near to tell by whole degrees."""
    one, two = (int(looked_up("known_countries", "capital", "latitude")(name)) for name in (capital, other))
    if abs(one - two) < 2:
        raise Blocked("about as far north")
    return yes(one > two)


def first_of(table: str, field_: str) -> Callable[[str], Result]:
    """An operation that gives the first year of a table in which a country stands in a column."""

    def look(country: str) -> Result:
        if any(row[field_] == f"West {country}" for row in rows(table)):
            raise Blocked("counted by some with those of West Germany")
        return known(min((int(row["year"]) for row in rows(table) if row[field_] == country), default=None))

    return look


CRADLES = {
    "Spanish": "Spain", "Portuguese": "Portugal", "English": "United Kingdom", "French": "France",
    "German": "Germany", "Italian": "Italy", "Dutch": "Netherlands", "Greek": "Greece", "Japanese": "Japan",
    "Chinese": "China", "Hungarian": "Hungary", "Polish": "Poland", "Bulgarian": "Bulgaria",
    "Danish": "Denmark", "Norwegian": "Norway", "Swedish": "Sweden", "Finnish": "Finland",
    "Russian": "Russia", "Icelandic": "Iceland", "Thai": "Thailand", "Vietnamese": "Vietnam",
    "Czech": "Czech Republic", "Romanian": "Romania", "Persian": "Iran", "Khmer": "Cambodia", "Korean": "South Korea",
}  # fmt: skip


SCIENCES = {
    "mammal": "mammalogy", "bird": "ornithology", "fish": "ichthyology", "insect": "entomology",
    "reptile": "herpetology", "amphibian": "herpetology", "arachnid": "arachnology", "mollusc": "malacology",
}  # fmt: skip


OPS: Mapping[str, Callable[..., Result]] = {
    "same value": lambda value: value,
    "birth": lambda name: of_person(name, "birth"),
    "death": lambda name: of_person(name, "death"),
    "home": lambda name: of_person(name, "country"),
    "capital": looked_up("known_countries", "name", "capital"),
    "continent": looked_up("known_countries", "name", "continent"),
    "language": looked_up("known_countries", "name", "language"),
    "latitude": looked_up("known_countries", "capital", "latitude"),
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
    "house": of_reign("known_monarchs", lambda reign: getattr(reign, "house", "")),
    "accession": of_reign("known_monarchs", lambda reign: getattr(reign, "start", "")),
    "end of reign": of_reign("known_monarchs", lambda reign: getattr(reign, "end", "")),
    "president": in_office("known_presidents"),
    "next president": successor("known_presidents"),
    "birth state": of_reign("known_presidents", lambda reign: getattr(reign, "house", "")),
    "party": of_reign("known_presidents", lambda reign: getattr(reign, "party", "")),
    "took office": of_reign("known_presidents", lambda reign: getattr(reign, "start", "")),
    "left office": of_reign("known_presidents", lambda reign: getattr(reign, "end", "")),
    "city country": looked_up("known_games", "city", "country"),
    "cradle": lambda language, country: known(CRADLES.get(language) if CRADLES.get(language) != country else None),
    "science": lambda animals: known(SCIENCES.get(animals)),
    "latitude of capital": latitude_of_capital,
    "further north": further_north,
    "first games": first_of("known_games", "country"),
    "first cup": first_of("known_cups", "winner"),
    "holder": lambda clue: holders()[clue].name,
    "number held": lambda name, clue: holders()[clue].number,
    "months on": lambda month, further: (month + further - 1) % 12 + 1,
    "add": lambda *numbers: sum(numbers),
    "apart": apart,
    "after": after,
    "more": lambda one, other: yes(one > other),
    "less": strictly(lambda one, other: one < other),
    "greater": strictly(lambda one, other: one > other),
    "within": strictly(lambda one, low, high: low < one < high),
    "same": lambda one, other: yes(one == other),
    "count yes": lambda *answers: answers.count("yes"),
    "any": lambda *answers: yes("yes" in answers),
    "all": lambda *answers: yes("no" not in answers),
    "most": lambda *answers: yes(answers.count("yes") > len(answers) / 2),
    "opposite": lambda answer: yes(answer == "no"),
    **{f"{name} at": at_place(name) for name in (*SERIES, "element")},
    **{f"{name} place": place_in(name) for name in ("planet", "month", "element")},
}


def run(
    program: Program, fact: Fact, slots: Mapping[str, Slot], value: str, without: int | None = None
) -> tuple[Result, ...]:
    """Every step's result where the fact's value is `value`; raises `Blocked` where a step has none."""
    done: dict[int, Result] = {}
    for place, step in enumerate(program.steps, 1):
        if place == without:
            continue
        if step.op == "value":
            done[place] = int(value) if fact.kind in ("count", "year") else value
            continue
        arguments: list[Result] = []
        for argument in step.args:
            if isinstance(argument, int):
                if argument not in done:
                    raise Blocked(f"step {argument} is missing")
                arguments.append(done[argument])
            elif argument.startswith("="):
                arguments.append(int(argument[1:]))
            else:
                arguments.append(slot_value(slots[argument[1:]]))
        done[place] = OPS[step.op](*arguments)
    if len(program.steps) not in done:
        raise Blocked("the last step is missing")
    return tuple(done.values())


def slot_value(slot: Slot) -> Result:
    """What a step reads out of a slot."""
    match slot:
        case Fact():
            return slot.value if slot.kind == "person" else int(slot.value)
        case (_, has):
            return yes(has)
        case _:
            return slot
