"""The facts that the rules know, read from the tables beside this file.

Each kind of fact has a table (`count.tsv`, `year.tsv`, ...): `value` is the key element of `statement`, `phrase` names
it in a question, and `others` are wrong values. The `known_*.tsv` tables hold further facts for questions: birth
years, capitals, atomic numbers. All of it is common knowledge, written for this project, and nothing in it changes with
time (no records, no populations, no holders of an office).
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from schemas.base import content_hash

TABLES = Path(__file__).parent
Kind = Literal["count", "year", "person", "country", "element", "animal", "state", "month", "planet", "yesno"]
KINDS: tuple[Kind, ...] = get_args(Kind)
YEAR_SHIFTS = (-34, -23, -16, 14, 19, 27)
"""Distances of a wrong year from the right one: near enough to be believed."""
LATEST_YEAR = 2015
CONTEMPORARY_YEARS = 120
"""A wrong person has the same calling and was born within this many years of the right one."""
WRONG_PEOPLE = 3
"""Number of wrong people for a fact: the nearest by birth."""
WITH_ARTICLE = frozenset({"United States", "United Kingdom", "Netherlands", "Czech Republic"})
"""Countries that take an article inside a sentence."""


@dataclass(frozen=True)
class Fact:
    """A fact: a statement with a slot for its key element, and the ways to name it."""

    id: str
    topic: str
    kind: Kind
    value: str
    others: tuple[str, ...]
    phrase: str
    template: str
    feature: str
    """Of a yes/no fact: the key of its property."""
    clause: str
    """Of an event: what happened, as a clause ("the Titanic sank")."""
    land: str
    """Of an event: the countries whose rulers can date it ("us", "uk", both or neither)."""
    unit: str
    """Of a count: what is counted ("strings"); empty if nobody would compare it with another count."""
    holder: str
    """Of a count with a unit: the thing that has this many of them ("a violin")."""

    def statement_with(self, value: str) -> str:
        """The statement with `value` as its key element; for a yes/no fact, affirmed or negated."""
        if self.kind == "yesno":
            return re.sub(r"\[(\w+)\]", lambda match: _auxiliary(match[1], value), self.template)
        if value in WITH_ARTICLE:
            value = f"the {value}"
        sentence = re.sub(
            r"\b([Aa])n? \{value\}",
            lambda match: f"{match[1]}{'n' if value[0] in 'aeiouAEIOU' else ''} {value}",
            self.template,
        ).replace("{value}", value)
        return sentence[0].upper() + sentence[1:]

    def value_in(self, sentence: str) -> str | None:
        """The value that a sentence gives this fact; None if it is no statement of the fact with a known value."""
        plain = _plain(sentence)
        return next(
            (value for value in (self.value, *self.others) if self.statement_with(value).rstrip(".") == plain), None
        )

    @property
    def statement(self) -> str:
        return self.statement_with(self.value)

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
                return f"Is it right to say: “{self.statement_with('yes').rstrip('.')}”?"
            case _:
                return f"What is {self.phrase}?"


def _auxiliary(word: str, value: str) -> str:
    if value == "yes":
        return word
    return "cannot" if word == "can" else f"{word} not"


@dataclass(frozen=True)
class Person:
    """A person of the past; a field that is not certain enough to be asked about is empty."""

    name: str
    birth: int | None
    death: int | None
    role: str
    country: str


@dataclass(frozen=True)
class Holder:
    """Something that has a number of a unit: the clue that a question gives, its name, and the number."""

    unit: str
    clue: str
    told: str
    """The thing that the clue stands for, if that is not the clue itself ("a team in the sport that ...")."""
    name: str
    number: int


@dataclass(frozen=True)
class Property:
    """A property: as a plural predicate, as a group, and the things that have it or lack it."""

    predicate: str
    group: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


@cache
def rows(table: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table."""
    with (TABLES / f"{table}.tsv").open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def column(table: str, key: str, field: str) -> Mapping[str, str]:
    """A column of a table by another column, without empty cells and without keys whose rows differ in it."""
    cells: dict[str, set[str]] = {}
    for row in rows(table):
        if row[field]:
            cells.setdefault(row[key], set()).add(row[field])
    return {name: values.pop() for name, values in cells.items() if len(values) == 1}


@cache
def people() -> Mapping[str, Person]:
    """Everybody whose dates are known, by name."""
    return {
        row["name"]: Person(row["name"], _year(row["birth"]), _year(row["death"]), row["role"], row["country"])
        for row in rows("known_people")
    }


def _year(cell: str) -> int | None:
    return int(cell) if cell else None


@cache
def properties() -> Mapping[str, Property]:
    """The properties of the yes/no facts, by key."""
    return {
        row["property"]: Property(row["predicate"], row["group"], _parts(row["yes"]), _parts(row["no"]))
        for row in rows("known_properties")
    }


@cache
def holders() -> Mapping[str, Holder]:
    """The things that counts are compared with, by clue."""
    return {
        row["clue"]: Holder(row["unit"], row["clue"], row["told"] or row["clue"], row["name"], int(row["number"]))
        for row in rows("known_holders")
    }


@cache
def facts() -> tuple[Fact, ...]:
    """Every fact, in the order of the kinds and their tables."""
    return tuple(
        Fact(
            id=row["id"],
            topic=row["topic"],
            kind=kind,
            value=row["value"],
            others=_wrong_values(kind, row),
            phrase=row["phrase"],
            template=row["statement"],
            feature=row.get("property", ""),
            **{name: row.get(name, "") for name in ("clause", "land", "unit", "holder")},
        )
        for kind in KINDS
        for row in rows(kind)
    )


@cache
def of_kind(kind: Kind) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts() if fact.kind == kind)


def fact_of(statement: str) -> Fact | None:
    """The fact whose true statement this is, regardless of white space and full stop."""
    return _facts_by_statement().get(_plain(statement))


@cache
def _facts_by_statement() -> dict[str, Fact]:
    return {_plain(fact.statement): fact for fact in facts()}


def _plain(sentence: str) -> str:
    return " ".join(sentence.split()).rstrip(".")


def topics() -> tuple[str, ...]:
    """The topics of the facts, in alphabetical order."""
    return tuple(sorted({fact.topic for fact in facts()}))


def _wrong_values(kind: Kind, row: Mapping[str, str]) -> tuple[str, ...]:
    """The wrong values that the row gives, or else those that its kind offers."""
    value = row["value"]
    if kind == "yesno":
        return ("no" if value == "yes" else "yes",)
    if row["others"]:
        return _parts(row["others"])
    if kind == "year":
        return tuple(str(int(value) + shift) for shift in YEAR_SHIFTS if int(value) + shift <= LATEST_YEAR)
    return _wrong_people(people()[value])


def _wrong_people(right: Person) -> tuple[str, ...]:
    """People of the same calling and time."""
    nearest = sorted(
        (abs(person.birth - right.birth), person.name)
        for person in people().values()
        if person.role == right.role
        and person.name != right.name
        and person.birth is not None
        and person.death is not None
        and right.birth is not None
        and abs(person.birth - right.birth) <= CONTEMPORARY_YEARS
    )
    return tuple(name for _, name in nearest[:WRONG_PEOPLE])


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("|"))
