"""How a question is computed from a fact: small programs of typed steps, and their wordings.

A program reads the fact's value, recalls what else it needs, and computes, compares or concludes. It is run
twice, once with the true value and once with the manipulated one, so that both answers are right by
construction; each of its steps feeds a later one, so that none can be taken away.

A fact that gives no natural question has none: that is a drop, counted as such.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from flows.families.uraq.facts import (
    WITH_ARTICLE,
    Fact,
    Kind,
    column,
    facts,
    holders,
    of_kind,
    people,
    properties,
    reigns,
    rows,
)
from flows.language import en
from schemas.base import content_hash
from schemas.uraq import MAX_HOPS, AnswerType, StepKind

Result = int | str
Slot = Fact | int | str | tuple[str, bool]
"""What fills a slot of a question: another fact, a number, a name, or a thing that has a property or not."""
DRAWS = 60
"""How often slots are drawn anew for one fact and program before the program counts as not applicable."""
MAX_USES = 6
"""No pattern stands more often than this among the four-hop questions of the whole table."""
FEW_PLACES = 25
"""So many places of the periodic table apart, two elements may be compared."""
COUNTED_LEGS = ("insect", "arachnid")
REACH = 110
"""Nobody who was born so many years before an event is thought of together with it."""
AGE_OF_NEWS = 10
"""From this age on somebody is said to have lived to see an event."""
ARTS = frozenset(["literature", "painting", "music"])
"""Topics whose people and events somebody would connect; of the others, few have to do with each other."""
AFTERLIFE = frozenset(["literature", "painting"])
"""Topics whose events somebody would connect with people who were dead by then."""
ORDINALS = ("next", "second", "third")
SERIES: Mapping[str, tuple[str, ...]] = {
    "planet": ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"),
    "month": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
}  # fmt: skip


class Blocked(Exception):  # noqa: N818 - it names the state of a program, not a fault of ours
    """A program cannot be run: something that it needs is missing."""


@dataclass(frozen=True)
class Do:
    """One step: an operation on earlier results (numbers from 1) and slots (`@b`) or constants (`=12`)."""

    kind: StepKind
    op: str
    args: tuple[int | str, ...]
    text: str


@dataclass(frozen=True)
class Program:
    """The steps of a question over a fact of one kind, with its wordings.

    `slots` says how each slot is filled (a name in `CANDIDATES`); `unit` and `land` say which facts it suits.
    """

    name: str
    kind: Kind
    answer_type: AnswerType
    steps: tuple[Do, ...]
    wordings: tuple[str, ...]
    slots: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    """Of counts, the unit that the wordings speak of."""
    land: str = ""
    """Of events and people, whose rulers the wordings speak of: nobody dates by those of another land."""

    @property
    def hops(self) -> int:
        """How many steps the question takes."""
        return len(self.steps)

    def suits(self, fact: Fact) -> bool:
        """Whether the wordings can be said of a fact of the program's kind."""
        if self.kind == "person" and self.land:
            return people()[fact.value].country == self.land
        return self.unit in ("", fact.unit) and (not self.land or self.land in fact.land.split())


@dataclass(frozen=True)
class Pattern:
    """One wording of a program: what may not be used too often."""

    program: Program
    wording: int

    @property
    def id(self) -> str:
        """Name of the pattern."""
        return f"{self.program.name}/{self.wording}"

    @property
    def text(self) -> str:
        """The wording, with its slots."""
        return self.program.wordings[self.wording]


@dataclass(frozen=True)
class Asked:
    """A question on a fact: a pattern with its slots filled."""

    fact: Fact
    pattern: Pattern
    slots: Mapping[str, Slot]

    @property
    def text(self) -> str:
        """The question."""
        return fill(self.pattern.text, self.fact, self.slots)

    def results(self, value: str, without: int | None = None) -> tuple[Result, ...]:
        """Every step's result where the fact's value is `value`; `without` leaves a step out (from 1)."""
        return run(self.pattern.program, self.fact, self.slots, value, without)

    def step_texts(self) -> tuple[str, ...]:
        """Every step in words, without its result."""
        return tuple(fill(step.text, self.fact, self.slots) for step in self.pattern.program.steps)


# ---- operations ----


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


# ---- filling slots ----


def name_of(slot: Slot) -> str:
    """What a question says for a slot."""
    match slot:
        case Fact():
            return slot.phrase
        case (name, _):
            return name
        case _:
            return f"the {slot}" if slot in WITH_ARTICLE else str(slot)


def fill(text: str, fact: Fact, slots: Mapping[str, Slot]) -> str:
    """`text` with the fact's phrase and the slots' names put in."""
    names = {"when": fact.clause, "unit": fact.unit, "holder": fact.holder}
    for name, slot in slots.items():
        names[name] = name_of(slot)
        if isinstance(slot, Fact):
            names |= {f"{name}_clause": slot.clause, f"{name}_holder": slot.holder}
    if "h" in slots:
        names["told"] = holders()[names["h"]].told
    if "o" in slots:
        names["o"] = ORDINALS[int(slot_value(slots["o"])) - 1]
    names["single"] = fact.question
    if fact.feature:
        own = properties()[fact.feature]
        names |= {"has": own.predicate, "group": own.group} | dict(
            zip(("do", "so"), inverted(own.predicate), strict=True)
        )
    filled = text.format(p=fact.phrase, **names)
    return filled[0].upper() + filled[1:]


def inverted(predicate: str) -> tuple[str, str]:
    """A plural predicate taken apart for a question: "are metals" gives "Are" and "metals"."""
    verb, _, rest = predicate.partition(" ")
    if verb in ("are", "were", "can"):
        return verb.capitalize(), rest
    return ("Do", predicate) if en.lemma(verb) == verb else ("Did", f"{en.lemma(verb)} {rest}")


@cache
def words_of(fact: Fact) -> frozenset[str]:
    """Words of four letters or more: facts that share one are too close to be put side by side."""
    return frozenset(re.findall(r"\w{4,}", fact.phrase.lower())) - {
        "first", "publication", "opening", "death", "founding", "discovery", "release", "launch", "battle",
        "standard", "ordinary", "with", "that", "full", "number", "human", "adult",
    }  # fmt: skip


def far_from(fact: Fact, kind: Kind) -> tuple[Fact, ...]:
    """The other facts of a kind that share no telling word with `fact`."""
    own = words_of(fact)
    return tuple(other for other in of_kind(kind) if other.id != fact.id and not words_of(other) & own)


def counts_of_unit(fact: Fact) -> Sequence[Slot]:
    """The other counts of a fact's unit."""
    return [other for other in of_kind("count") if other.id != fact.id and other.unit == fact.unit]


def told_holders(fact: Fact) -> Sequence[Slot]:
    """Clues to other things that have a number of the fact's unit."""
    own = set(re.findall(r"\w{4,}", fact.holder.lower())) - {"team", "alphabet", "flag"}
    return [
        one.clue
        for one in holders().values()
        if one.unit == fact.unit and one.clue != fact.holder and not own & set(re.findall(r"\w{4,}", one.name.lower()))
    ]


def centre(fact: Fact) -> tuple[int, int]:
    """The year around which a fact's events are sought, and how far around it."""
    if fact.kind == "year":
        return int(fact.value), 120
    if fact.kind == "state":
        return int(column("known_states", "name", "year")[fact.value]), 120
    return int(of_person(fact.value, "birth")) + 50, 110


def events(fact: Fact) -> Sequence[Slot]:
    """Events of the fact's topic near it in time."""
    middle, reach = centre(fact)
    return [
        other
        for other in far_from(fact, "year")
        if other.topic == fact.topic and abs(int(other.value) - middle) <= reach
    ]


def events_of_their_time(fact: Fact) -> Sequence[Slot]:
    """Events of their art that the fact's person and the wrong ones lived to see."""
    lives = [people()[name] for name in (fact.value, *fact.others)]
    grown = max((life.birth + AGE_OF_NEWS for life in lives if life.birth is not None), default=0)
    dead = min((life.death for life in lives if life.death is not None), default=0)
    return [other for other in of_the_art(fact, "year") if grown <= int(other.value) < dead]


def of_the_art(fact: Fact, kind: Kind) -> list[Fact]:
    """The facts of a kind from the fact's art; none if it is of no art."""
    return [other for other in far_from(fact, kind) if other.topic == fact.topic and fact.topic in ARTS]


def contemporaries(fact: Fact) -> Sequence[Slot]:
    """People of the fact's time, and of a person's calling, with known dates; neither its answer nor a wrong one."""
    middle = centre(fact)[0] - 50
    return [
        person.name
        for person in people().values()
        if person.birth is not None
        and person.death is not None
        and person.country
        and abs(person.birth - middle) <= (70 if fact.kind == "year" else 40)
        and person.name not in (fact.value, *fact.others)
        and (fact.kind != "person" or person.role == people()[fact.value].role)
        and not set(re.findall(r"\w{4,}", person.name.lower())) & words_of(fact)
    ]


def colleagues(fact: Fact) -> Sequence[Slot]:
    """People of the calling, the country and the time of the fact's person."""
    return [one for one in contemporaries(fact) if people()[str(one)].country == people()[fact.value].country]


def told_people(fact: Fact) -> Sequence[Slot]:
    """People told by what they did who lived at the time of an event of their art, whichever its year."""
    years = [int(year) for year in (fact.value, *fact.others)]
    return [
        one
        for one, birth, death in told_lives(fact)
        if max(years) - REACH <= birth <= min(years) - AGE_OF_NEWS and (death >= max(years) or fact.topic in AFTERLIFE)
    ]


def told_children(fact: Fact) -> Sequence[Slot]:
    """People told by what they did who were born about the year of an event of their art."""
    years = [int(year) for year in (fact.value, *fact.others)]
    return [one for one, birth, _ in told_lives(fact) if min(years) - AGE_OF_NEWS <= birth <= max(years)]


def told_lives(fact: Fact) -> Iterator[tuple[Fact, int, int]]:
    """People of the art of an event, with the years of birth and death."""
    for one in of_the_art(fact, "person"):
        life = people()[one.value]
        is_another = not set(re.findall(r"\w{4,}", life.name.lower())) & words_of(fact)
        if is_another and life.birth is not None and life.death is not None:
            yield one, life.birth, life.death


def things(fact: Fact) -> Sequence[Slot]:
    """Things that have the fact's property, or have it not."""
    own = properties()[fact.feature]
    return [(name, has) for names, has in ((own.yes, True), (own.no, False)) for name in names if name != fact.phrase]


def names_in(table: str) -> Callable[[Fact], Sequence[Slot]]:
    """Names of a known table that are neither the fact's answer nor a wrong one."""

    def candidates(fact: Fact) -> Sequence[Slot]:
        names = [row["name"] for row in rows(table)]
        return [name for name in names if name not in (fact.value, *fact.others) and name not in fact.phrase]

    return candidates


def elements_nearby(fact: Fact) -> Sequence[Slot]:
    """Elements that a reader has heard of, not far from the fact's and the wrong ones."""
    order = members("element")
    values = (fact.value, *fact.others)
    return [
        other.value
        for other in of_kind("element")
        if other.value not in values
        and all(abs(order.index(other.value) - order.index(value)) <= FEW_PLACES for value in values)
    ]


def small_animals(fact: Fact) -> Sequence[Slot]:
    """Animals whose legs somebody would count, beside one of their own kind; none beside others."""
    classes = column("known_animals", "name", "class")
    if classes[fact.value] not in COUNTED_LEGS:
        return []
    return [str(name) for name in names_in("known_animals")(fact) if classes[str(name)] in COUNTED_LEGS]


def one_of(*values: int | str) -> Callable[[Fact], Sequence[Slot]]:
    """A few constants."""
    return lambda fact: [value for value in values if value != fact.value]


CANDIDATES: Mapping[str, Callable[[Fact], Sequence[Slot]]] = {
    "count": counts_of_unit,
    "holder": told_holders,
    "event": events,
    "event of their time": events_of_their_time,
    "person": contemporaries,
    "colleague": colleagues,
    "person before": told_people,
    "person about": told_children,
    "thing": things,
    "country": names_in("known_countries"),
    "element": elements_nearby,
    "animal": names_in("known_animals"),
    "small animal": small_animals,
    "us state": names_in("known_states"),
    "planet": one_of(*SERIES["planet"]),
    "month": one_of(*SERIES["month"]),
    "few": one_of(2, 3, 4, 5),
    "step": one_of(1, 2, 3),
    "of a continent": one_of("Europe", "North America", "Asia", "South America", "Africa"),
}


@cache
def candidates(source: str, fact: Fact) -> tuple[Slot, ...]:
    """What a slot of a fact's question may be filled with."""
    try:
        return tuple(CANDIDATES[source](fact))
    except Blocked:  # nothing is known that they could be sought by
        return ()


ROUND = (1000, 500, 100, 50, 25, 20, 10, 5, 2, 1)


def threshold(low: int, high: int) -> int:
    """The roundest number that `high` is above and `low` is not."""
    for unit in ROUND:
        if (found := (high - 1) // unit * unit) >= low:
            return found
    raise Blocked("nothing in between")


def choose(slots: Sequence[Slot], rng: random.Random) -> Slot:
    """One of `slots`; raises `Blocked` where there is none."""
    if not slots:
        raise Blocked("nothing to choose from")
    return rng.choice(slots)


def fill_slots(fact: Fact, program: Program, value: str, rng: random.Random) -> dict[str, Slot]:
    """One draw of the slots; a slot filled by `threshold:N` parts the results of step N under either value."""
    slots: dict[str, Slot] = {}
    for name, source in program.slots.items():
        if source.startswith("threshold:"):
            upto = int(source.partition(":")[2])
            begun = replace(program, steps=program.steps[:upto])
            ends = [run(begun, fact, slots, one)[-1] for one in (fact.value, value)]
            slots[name] = threshold(*sorted(int(end) for end in ends))
        else:
            slots[name] = choose(candidates(source, fact), rng)
    if len({name_of(slot) for slot in slots.values()}) < len(slots):
        raise Blocked("two slots are filled alike")
    filled = [slot for slot in slots.values() if isinstance(slot, Fact) and slot.kind != "count"]
    if any(words_of(one) & words_of(other) for one in filled for other in filled if one is not other):
        raise Blocked("two slots are too close")
    return slots


def ask(fact: Fact, pattern: Pattern, value: str) -> Asked | None:
    """A question of `pattern` whose answers differ between the fact's value and `value`; none if there is none."""
    program = pattern.program
    if not program.suits(fact):
        return None
    if not all(candidates(source, fact) for source in program.slots.values() if source in CANDIDATES):
        return None
    rng = random.Random(f"{fact.id} {pattern.id} {value}")
    for _ in range(DRAWS):
        try:
            asked = Asked(fact, pattern, fill_slots(fact, program, value, rng))
            original, manipulated = (asked.results(one) for one in (fact.value, value))
        except Blocked:
            continue
        answers = [str(original[-1]), str(manipulated[-1])]
        if (
            answers[0] != answers[1]
            and not given_away(asked, answers, value)
            and not goes_back(program, original, manipulated)
        ):
            return asked
    return None


def goes_back(program: Program, original: Sequence[Result], manipulated: Sequence[Result]) -> bool:
    """Whether a step finds what an earlier one gave: Italy, Italian, the country that Italian comes from."""
    told: set[tuple[Result, Result]] = set()
    for step, one, other in zip(program.steps, original, manipulated, strict=True):
        if (one, other) in told and one != other and step.kind == "recall" and not {one, other} & {"yes", "no"}:
            return True
        told.add((one, other))
    return False


def given_away(asked: Asked, answers: Sequence[str], value: str) -> bool:
    """Whether the question holds an answer or a value of the statement."""
    hidden = {*answers, asked.fact.value, value} if asked.pattern.program.answer_type == "entity" else {
        asked.fact.value, value,
    }  # fmt: skip
    hidden -= {"yes", "no"}
    text = asked.text.casefold()
    return any(re.search(rf"(?<!\w){re.escape(one.casefold())}(?!\w)", text) for one in hidden)


@cache
def patterns(kind: Kind, hops: int) -> tuple[Pattern, ...]:
    """Every wording of every program for facts of `kind` with `hops` steps."""
    from flows.families.uraq.programs import PROGRAMS

    return tuple(
        Pattern(program, wording)
        for program in PROGRAMS
        if program.kind == kind and program.hops == hops
        for wording in range(len(program.wordings))
    )


@cache
def assigned(hops: int, *, yes_no: bool) -> Mapping[str, Asked]:
    """By fact, the question for yes or no, or the one for a number or an entity; a fact may have both, one or none.

    Facts take turns in an order that mixes the topics; each takes the pattern least used so far that fits it
    (ties by a hash), and with four hops none that stands `MAX_USES` times already. So a fact's question follows from
    the table alone, whatever is left of it after dedupe, and no part of the table repeats a pattern more often.
    """
    uses: dict[str, int] = {}
    questions: dict[str, Asked] = {}
    for fact in sorted(facts(), key=lambda fact: content_hash(fact.id)):
        rng = random.Random(fact.id)
        own = [one for one in patterns(fact.kind, hops) if (one.program.answer_type == "boolean") == yes_no]
        for pattern in sorted(own, key=lambda pattern: (uses.get(pattern.id, 0), rng.random())):
            if hops == 4 and uses.get(pattern.id, 0) == MAX_USES:
                break
            asked = ask(fact, pattern, fact.wrong)
            if asked is not None:
                uses[pattern.id] = uses.get(pattern.id, 0) + 1
                questions[fact.id] = asked
                break
    return questions


@cache
def questions() -> Mapping[str, Asked]:
    """Every question of the table, by its text."""
    return {
        asked.text: asked
        for hops in range(1, MAX_HOPS + 1)
        for yes_no in (False, True)
        for asked in assigned(hops, yes_no=yes_no).values()
    }


def pattern_of(question: str) -> str:
    """The name of the pattern of a question of the table; raises `KeyError` for any other."""
    return questions()[question].pattern.id
