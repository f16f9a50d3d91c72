"""The packaged table of facts, written for this project, and what else the rules know.

One file of facts per kind (`counts.tsv`, `years.tsv`, ...): `value` is the key element of `statement`,
`phrase` names it in a question, `others` are wrong values for it. The `known_*.tsv` files hold what a
question may ask for on top: birth years, capitals, atomic numbers. All of it is common knowledge in our
own words; nothing in it changes with time (no records, no populations, no holders of an office).
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from schemas.base import content_hash

HERE = Path(__file__).parent
Kind = Literal[
    "count", "year", "person", "country", "element", "animal", "state", "month", "planet", "yesno"
]  # fmt: skip
FILES: Mapping[Kind, str] = MappingProxyType(
    {
        "count": "counts",
        "year": "years",
        "person": "persons",
        "country": "countries",
        "element": "elements",
        "animal": "animals",
        "state": "states",
        "month": "months",
        "planet": "planets",
        "yesno": "yesno",
    }
)
YEAR_SHIFTS = (-34, -23, -16, 14, 19, 27)
"""How far a wrong year lies from the right one: near enough to be believed."""
LATEST_YEAR = 2015
CONTEMPORARY_YEARS = 120
"""A wrong person has the same calling and was born within this many years of the right one."""
WRONG_PEOPLE = 3
"""So many of them, the nearest by birth, are wrong values."""
WITH_ARTICLE = frozenset({"United States", "United Kingdom", "Netherlands", "Czech Republic"})
"""Countries that take an article inside a sentence."""
NEGATIONS = MappingProxyType({"can": "cannot"})


@dataclass(frozen=True)
class Fact:
    """One fact: a statement with a slot for its key element, and the ways to name it."""

    id: str
    topic: str
    kind: Kind
    value: str
    others: tuple[str, ...]
    phrase: str
    template: str
    feature: str = ""
    clause: str = ""
    """Of an event, what happened, as a clause: "the Titanic sank"."""
    land: str = ""
    """Of an event, whose rulers are asked about by it: "us", "uk", both or neither."""
    unit: str = ""
    """Of a count, what is counted ("strings"); empty where nobody would compare it with another count."""
    holder: str = ""
    """Of a count with a unit, what has so many of them: "a violin"."""

    def said(self, value: str) -> str:
        """The statement with `value` as its key element; for a yes/no fact, affirmed or negated."""
        if self.kind == "yesno":
            return re.sub(r"\[(\w+)\]", lambda found: auxiliary(found[1], value), self.template)
        if value in WITH_ARTICLE:
            value = f"the {value}"
        sentence = re.sub(
            r"\b([Aa])n? \{value\}",
            lambda found: f"{found[1]}{'n' if value[0] in 'aeiouAEIOU' else ''} {value}",
            self.template,
        ).replace("{value}", value)
        return sentence[0].upper() + sentence[1:]

    def value_in(self, sentence: str) -> str | None:
        """The value that a sentence gives this fact: one of those in the table; None where it gives none."""
        said = " ".join(sentence.split()).rstrip(".")
        for value in (self.value, *self.others):
            if self.said(value).rstrip(".") == said:
                return value
        return None

    @property
    def statement(self) -> str:
        """The true statement."""
        return self.said(self.value)

    @property
    def wrong(self) -> str:
        """The value of the manipulated statement: one of `others`, chosen by the fact's id alone."""
        return self.others[int(content_hash(self.id), 16) % len(self.others)]

    @property
    def question(self) -> str:
        """The question that asks for the fact alone."""
        match self.kind:
            case "count":
                return f"What is the number of {self.phrase}?"
            case "year":
                return f"In which year was {self.phrase}?"
            case "person":
                return f"Who was {self.phrase}?"
            case "yesno":
                return f"Is it right to say: “{self.said('yes').rstrip('.')}”?"
            case _:
                return f"What is {self.phrase}?"


@dataclass(frozen=True)
class Person:
    """A person of the past; an empty field is not certain enough to be asked."""

    name: str
    birth: int | None
    death: int | None
    role: str
    country: str


@dataclass(frozen=True)
class Reign:
    """A time in office: of a British monarch or a US president, in calendar years."""

    name: str
    start: int
    end: int
    house: str
    party: str


@dataclass(frozen=True)
class Holder:
    """Something that has a number of a unit: the clue by which a question tells it, its name, and how many."""

    unit: str
    clue: str
    told: str
    """What a clue like "a team in the sport that ..." tells of, where that is not the clue itself."""
    name: str
    number: int


@dataclass(frozen=True)
class Property:
    """A property things have or have not: as a plural predicate, as a group, and things on either side."""

    predicate: str
    group: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


def auxiliary(word: str, value: str) -> str:
    """The auxiliary `word`, negated where `value` is no."""
    return word if value == "yes" else NEGATIONS.get(word, f"{word} not")


def number(text: str) -> int | None:
    """The number in a cell; none where the cell is empty."""
    return int(text) if text else None


@cache
def rows(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a packaged table."""
    with (HERE / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def people() -> Mapping[str, Person]:
    """Everybody whose dates are known, by name."""
    return MappingProxyType(
        {
            row["name"]: Person(row["name"], number(row["birth"]), number(row["death"]), row["role"], row["country"])
            for row in rows("known_people")
        }
    )


@cache
def column(table: str, key: str, field: str) -> Mapping[str, str]:
    """One column of a known table, by another; empty cells are left out."""
    return MappingProxyType({row[key]: row[field] for row in rows(table) if row[field]})


@cache
def reigns(table: str) -> tuple[Reign, ...]:
    """The monarchs or the presidents, in order."""
    return tuple(
        Reign(
            row["name"],
            int(row["start"]),
            int(row["end"]),
            row.get("house", "") or row.get("state", ""),
            row.get("party", ""),
        )
        for row in rows(table)
    )


@cache
def properties() -> Mapping[str, Property]:
    """The properties of the yes/no facts, by key."""
    return MappingProxyType(
        {
            row["property"]: Property(
                row["predicate"], row["group"], tuple(row["yes"].split("|")), tuple(row["no"].split("|"))
            )
            for row in rows("known_properties")
        }
    )


@cache
def holders() -> Mapping[str, Holder]:
    """What counts are compared with, by clue."""
    return MappingProxyType(
        {
            row["clue"]: Holder(row["unit"], row["clue"], row["told"] or row["clue"], row["name"], int(row["number"]))
            for row in rows("known_holders")
        }
    )


def wrong_years(value: str) -> tuple[str, ...]:
    """Years an event did not happen in."""
    return tuple(str(int(value) + shift) for shift in YEAR_SHIFTS if int(value) + shift <= LATEST_YEAR)


def wrong_people(name: str) -> tuple[str, ...]:
    """People of the same calling and time, nobody of them the right answer."""
    right = people()[name]
    near = [
        (abs(other.birth - right.birth), other.name)
        for other in people().values()
        if other.role == right.role
        and other.name != name
        and other.birth is not None
        and other.death is not None
        and right.birth is not None
        and abs(other.birth - right.birth) <= CONTEMPORARY_YEARS
    ]
    return tuple(other for _, other in sorted(near)[:WRONG_PEOPLE])


def others(kind: Kind, row: Mapping[str, str]) -> tuple[str, ...]:
    """The wrong values of a fact: as its row says, or what its kind offers."""
    if kind == "yesno":
        return ("no" if row["value"] == "yes" else "yes",)
    if row["others"]:
        return tuple(row["others"].split("|"))
    return wrong_years(row["value"]) if kind == "year" else wrong_people(row["value"])


@cache
def facts() -> tuple[Fact, ...]:
    """Every fact of the table, in table order."""
    return tuple(
        Fact(
            row["id"],
            row["topic"],
            kind,
            row["value"],
            others(kind, row),
            row["phrase"],
            row["statement"],
            row.get("property", ""),
            row.get("clause", ""),
            row.get("land", ""),
            row.get("unit", ""),
            row.get("holder", ""),
        )
        for kind, name in FILES.items()
        for row in rows(name)
    )


@cache
def of_kind(kind: Kind) -> tuple[Fact, ...]:
    """The facts of one kind."""
    return tuple(fact for fact in facts() if fact.kind == kind)


@cache
def topics() -> tuple[str, ...]:
    """The topics of the table, in alphabetical order."""
    return tuple(sorted({fact.topic for fact in facts()}))
