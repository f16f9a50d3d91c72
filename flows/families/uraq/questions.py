"""How a question is computed from a fact: small programs of typed steps, and their wordings.

A program reads the fact's value, recalls what else it needs, and computes, compares or concludes. It is run
twice, once with the true value and once with the manipulated one, so that both answers are right by
construction; each of its steps feeds a later one, so that none can be taken away.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from flows.families.uraq.facts import WITH_ARTICLE, Fact, Kind, column, facts, of_kind, people, properties, reigns, rows
from flows.language import en
from schemas.uraq import MAX_HOPS, AnswerType, StepKind

Result = int | str
Slot = Fact | int | str | tuple[str, bool]
"""What fills a slot of a question: another fact, a number, a name, or a thing that has a property or not."""
DRAWS = 60
"""How often slots are drawn anew for one fact and program before the program counts as not applicable."""
MAX_USES = 6
"""No pattern stands more often than this among the four-hop questions of the whole table."""
MEASURES = frozenset(
    [
        "days",
        "years",
        "months",
        "minutes",
        "hours",
        "seconds",
        "nights",
        "feet",
        "metres",
        "yards",
        "degrees",
        "ounces",
        "pounds",
        "pints",
        "points",
        "millilitres",
        "carats",
        "volts",
        "kopecks",
        "bits",
        "frames",
    ]
)
"""First words of phrases that measure rather than count; these are compared, not pooled with other things."""
FEW_OF_A_TOPIC = 5
"""With so many counts of one topic, questions on it keep to the topic."""
TIMES = ((2, "twice"), (3, "three times"), (4, "four times"), (5, "five times"), (10, "ten times"))
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

    `slots` says how each slot is filled (a name in `CANDIDATES`); `most` bounds the numbers that may come up.
    """

    name: str
    kind: Kind
    answer_type: AnswerType
    steps: tuple[Do, ...]
    wordings: tuple[str, ...]
    slots: Mapping[str, str] = field(default_factory=dict)
    pooled: bool = False
    most: int = 2000

    @property
    def hops(self) -> int:
        """How many steps the question takes."""
        return len(self.steps)


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
    """The names of a series in order: a constant one, or one column of a known table."""
    tables = {"element": "known_elements", "president": "known_presidents", "state": "known_states"}
    if series in SERIES:
        return SERIES[series]
    return tuple(row["name"] for row in rows(tables[series]))


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


def nearer(value: int, one: int, other: int) -> Result:
    """Whether `value` is nearer to `one` than to `other`; blocked at a tie."""
    if abs(value - one) == abs(value - other):
        raise Blocked("as near to the one as to the other")
    return yes(abs(value - one) < abs(value - other))


def strictly(condition: Callable[..., bool]) -> Callable[..., Result]:
    """A comparison of numbers that is blocked where two of them are equal."""

    def compare(first: int, *rest: int) -> Result:
        if first in rest:
            raise Blocked("as many as")
        return yes(condition(first, *rest))

    return compare


def ranked(pick: Callable[[list[int]], int]) -> Callable[..., Result]:
    """One of several numbers by its size; blocked where two are equal."""

    def choose(*numbers: int) -> Result:
        if len(set(numbers)) < len(numbers):
            raise Blocked("two are the same")
        return pick(sorted(numbers))

    return choose


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


def of_each(field_: str) -> Callable[..., Result]:
    """An operation that lists a field of several countries."""

    def look(*names: str) -> Result:
        return ", ".join(str(looked_up("known_countries", "name", field_)(name)) for name in names)

    return look


def latitude_of_capital(country: str) -> Result:
    """The latitude of a country's capital, in degrees north."""
    capital = looked_up("known_countries", "name", "capital")(country)
    return looked_up("known_countries", "capital", "latitude")(str(capital))


def capitals_north(latitude: int, *countries: str) -> Result:
    """How many capitals lie further north; blocked where one is too near to tell by whole degrees."""
    others = [int(latitude_of_capital(country)) for country in countries]
    if any(abs(other - latitude) < 2 for other in others):
        raise Blocked("about as far north")
    return sum(other > latitude for other in others)


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
    "games country": looked_up("known_games", "year", "country"),
    "country continent": looked_up("known_games", "country", "continent"),
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
    "left office": of_reign("known_presidents", lambda reign: getattr(reign, "end", "")),
    "nato": lambda letter: SERIES["nato"][SERIES["letter"].index(letter)],
    "city country": looked_up("known_games", "city", "country"),
    "cradle": lambda language: known(CRADLES.get(language)),
    "science": lambda animals: known(SCIENCES.get(animals)),
    "continents of": of_each("continent"),
    "sides of": of_each("side"),
    "languages of": of_each("language"),
    "count in": lambda one, listed: listed.split(", ").count(one),
    "latitude of capital": latitude_of_capital,
    "capitals north": capitals_north,
    "months on": lambda month, further: (month + further - 1) % 12 + 1,
    "add": lambda *numbers: sum(numbers),
    "apart": apart,
    "after": after,
    "times": lambda one, other: one * other,
    "more": lambda one, other: yes(one > other),
    "less": strictly(lambda one, other: one < other),
    "greater": strictly(lambda one, other: one > other),
    "within": strictly(lambda one, low, high: low < one < high),
    "between": strictly(lambda one, low, high: min(low, high) < one < max(low, high)),
    "below all": strictly(lambda one, *rest: one < min(rest)),
    "above all": strictly(lambda one, *rest: one > max(rest)),
    "nearer": nearer,
    "same": lambda one, other: yes(one == other),
    "smallest": ranked(lambda numbers: numbers[0]),
    "largest": ranked(lambda numbers: numbers[-1]),
    "middle": ranked(lambda numbers: numbers[len(numbers) // 2]),
    "count yes": lambda *answers: answers.count("yes"),
    "any": lambda *answers: yes("yes" in answers),
    "all": lambda *answers: yes("no" not in answers),
    "exactly two": lambda *answers: yes(answers.count("yes") == 2),
    "most": lambda *answers: yes(answers.count("yes") > len(answers) / 2),
    "opposite": lambda answer: yes(answer == "no"),
    **{f"{name} at": at_place(name) for name in (*SERIES, "element", "president", "state")},
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
        result = OPS[step.op](*arguments)
        if isinstance(result, int) and abs(result) > program.most:
            raise Blocked("too large a number")
        done[place] = result
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
    names = {name: name_of(slot) for name, slot in slots.items()}
    if "m" in slots:
        names["m"] = dict(TIMES)[int(slot_value(slots["m"]))]
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


def measures(fact: Fact) -> bool:
    """Whether the fact's number is a measure, not a count of things."""
    return fact.phrase.split()[0] in MEASURES


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


def comparable_counts(fact: Fact) -> list[Fact]:
    """The other counts that may stand beside a fact's: of the same unit, or both of things.

    Those of the fact's own topic are preferred, if there are enough of them to choose from.
    """
    unit = fact.phrase.split()[0]
    found = [
        other
        for other in of_kind("count")
        if other.id != fact.id and (other.phrase.split()[0] == unit if measures(fact) else not measures(other))
    ]
    own = [other for other in found if other.topic == fact.topic]
    return own if len(own) >= FEW_OF_A_TOPIC else found


def similar_counts(fact: Fact) -> Sequence[Slot]:
    """Comparable counts of about the same size; of any topic where the fact's own has too few."""
    own = int(fact.value)
    return [other for other in comparable_counts(fact) if own / 4 <= int(other.value) <= own * 4]


def small_counts(fact: Fact) -> Sequence[Slot]:
    """Comparable counts below forty."""
    return [other for other in comparable_counts(fact) if int(other.value) < 40]


def centre(fact: Fact) -> tuple[int, int]:
    """The year around which a fact's events are sought, and how far around it."""
    if fact.kind == "year":
        return int(fact.value), 120
    if fact.kind == "state":
        return int(column("known_states", "name", "year")[fact.value]), 120
    return int(of_person(fact.value, "birth")) + 50, 110


def events(fact: Fact) -> Sequence[Slot]:
    """Events near the fact in time."""
    middle, reach = centre(fact)
    return [other for other in far_from(fact, "year") if abs(int(other.value) - middle) <= reach]


def contemporaries(fact: Fact) -> Sequence[Slot]:
    """People of the fact's time with both dates known, neither its answer nor a wrong one."""
    middle = centre(fact)[0] - 50
    return [
        person.name
        for person in people().values()
        if person.birth is not None
        and person.death is not None
        and person.country
        and abs(person.birth - middle) <= 70
        and person.name not in (fact.value, *fact.others)
        and not set(re.findall(r"\w{4,}", person.name.lower())) & words_of(fact)
    ]


def told_people(fact: Fact, *, born_before: bool) -> Sequence[Slot]:
    """People of the table, told by what they did, whose life lies near the year of the fact, and its wrong ones."""
    years = [int(year) for year in (fact.value, *fact.others)]
    low, high = min(years) - 110, min(years) - 15 if born_before else max(years) + 40
    return [
        one
        for one in far_from(fact, "person")
        if (born := people()[one.value].birth) is not None
        and low <= born <= high
        and people()[one.value].death is not None
    ]


def later_people(fact: Fact) -> Sequence[Slot]:
    """People born within forty years of the death of the fact's person."""
    end = int(of_person(fact.value, "death"))
    near = [one.name for one in people().values() if one.birth is not None and abs(one.birth - end) < 40]
    return [name for name in near if name not in (fact.value, *fact.others)]


def years_nearby(fact: Fact) -> Sequence[Slot]:
    """Years in and around the lifetime of the fact's person."""
    return range(int(of_person(fact.value, "birth")) - 40, int(of_person(fact.value, "death")) + 40)


def things(fact: Fact) -> Sequence[Slot]:
    """Things that have the fact's property, or have it not."""
    own = properties()[fact.feature]
    return [(name, has) for names, has in ((own.yes, True), (own.no, False)) for name in names if name != fact.phrase]


def names_in(table: str) -> Callable[[Fact], Sequence[Slot]]:
    """Names of a known table that are neither the fact's answer nor a wrong one."""

    def candidates(fact: Fact) -> Sequence[Slot]:
        names = [row["name"] for row in rows(table)]
        if table == "known_elements":
            names = names[:54]  # up to xenon: elements a reader has heard of
        return [name for name in names if name not in (fact.value, *fact.others) and name not in fact.phrase]

    return candidates


def one_of(*values: int | str) -> Callable[[Fact], Sequence[Slot]]:
    """A few constants."""
    return lambda fact: [value for value in values if value != fact.value]


CANDIDATES: Mapping[str, Callable[[Fact], Sequence[Slot]]] = {
    "count": similar_counts,
    "small": small_counts,
    "event": events,
    "person": contemporaries,
    "later person": later_people,
    "person before": partial(told_people, born_before=True),
    "person about": partial(told_people, born_before=False),
    "year nearby": years_nearby,
    "thing": things,
    "country": names_in("known_countries"),
    "element": names_in("known_elements"),
    "animal": names_in("known_animals"),
    "us state": names_in("known_states"),
    "planet": one_of(*SERIES["planet"]),
    "month": one_of(*SERIES["month"]),
    "times": one_of(*(number for number, _ in TIMES)),
    "few": one_of(2, 3, 4, 5),
    "step": one_of(1, 2, 3),
    "presidents' state": one_of("Virginia", "Ohio", "New York", "Texas", "Massachusetts", "Vermont"),
    "royal house": one_of("Tudor", "Stuart", "Hanover", "Windsor"),
    "of a continent": one_of("Europe", "North America", "Asia", "South America", "Africa"),
    "parallel": one_of(20, 30, 35, 40, 45, 50, 55),
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
    if program.pooled and measures(fact):
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
def assigned(hops: int) -> Mapping[str, Asked]:
    """The question of every fact that has one, by the fact's id.

    Facts take turns in table order; each takes the pattern least used so far that fits it (ties by a hash),
    and with four hops none that stands `MAX_USES` times already. So a fact's question follows from the
    table alone, whatever is left of it after dedupe, and no part of the table repeats a pattern more often.
    """
    uses: dict[str, int] = {}
    questions: dict[str, Asked] = {}
    for fact in facts():
        rng = random.Random(fact.id)
        order = sorted(patterns(fact.kind, hops), key=lambda pattern: (uses.get(pattern.id, 0), rng.random()))
        for pattern in order:
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
    return {asked.text: asked for hops in range(1, MAX_HOPS + 1) for asked in assigned(hops).values()}


def pattern_of(question: str) -> str:
    """The name of the pattern of a question of the table; raises `KeyError` for any other."""
    return questions()[question].pattern.id
