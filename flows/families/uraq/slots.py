"""What may fill the slots of a program's wordings: of each source, what somebody would ask with the fact."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from flows.families.uraq.facts import (
    WITH_ARTICLE,
    Fact,
    Kind,
    column,
    holders,
    of_kind,
    people,
    properties,
    rows,
)
from flows.families.uraq.operations import SERIES, Blocked, members, of_person, slot_value
from flows.families.uraq.program import Slot
from flows.language import en

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
