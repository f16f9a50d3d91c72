"""Candidates for the slots of a wording: for each source, what somebody would ask about together with the fact."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from flows.families.uraq.rules.facts import (
    WITH_ARTICLE,
    Fact,
    Kind,
    column,
    holders,
    of_kind,
    people,
    properties,
    rows,
)  # fmt: skip
from flows.families.uraq.rules.operations import SERIES, Blocked, members, operation, slot_value
from flows.families.uraq.rules.programs import Slot
from flows.language import en
from flows.language.en.tokens import word_set

FEW_PLACES = 25
"""The greatest distance in the periodic table between two elements that are compared."""
COUNTED_LEGS = ("insect", "arachnid")
REACH = 110
"""In years: nobody connects an event with people born longer before it."""
EVENT_REACH = 120
"""The years around an event, or a state's admission, in which another event is sought."""
AGE_OF_NEWS = 10
"""Age from which somebody is said to have lived to see an event."""
ARTS = frozenset(["literature", "painting", "music"])
"""Topics whose people and events somebody would connect; in other topics few have to do with each other."""
AFTERLIFE = frozenset(["literature", "painting"])
"""Topics whose events somebody would connect with people who were dead by then."""
ORDINALS = ("next", "second", "third")
COMMON_WORDS = word_set(
    "first publication opening death founding discovery release launch battle standard ordinary with that full number "
    "human adult"
)
COMMON_HOLDER_WORDS = word_set("team alphabet flag")
ROUND = (1000, 500, 100, 50, 25, 20, 10, 5, 2, 1)


# ---- filling a wording ----


def name_of(slot: Slot) -> str:
    """The name of a slot in a question."""
    match slot:
        case Fact():
            return slot.phrase
        case (name, _):
            return name
        case _:
            return f"the {slot}" if slot in WITH_ARTICLE else str(slot)


def fill(text: str, fact: Fact, slots: Mapping[str, Slot]) -> str:
    """`text` with the fact's phrase and the names of the slots put in."""
    names = {
        "p": fact.phrase, "when": fact.clause, "unit": fact.unit, "holder": fact.holder, "single": fact.question,
    }  # fmt: skip
    for name, slot in slots.items():
        names[name] = name_of(slot)
        if isinstance(slot, Fact):
            names |= {f"{name}_clause": slot.clause, f"{name}_holder": slot.holder}
    if "h" in slots:
        names["told"] = holders()[names["h"]].told
    if "o" in slots:
        names["o"] = ORDINALS[int(slot_value(slots["o"])) - 1]
    if fact.feature:
        feature = properties()[fact.feature]
        names |= {"has": feature.predicate, "group": feature.group}
        names["do"], names["so"] = inverted(feature.predicate)
    filled = text.format(**names)
    return filled[0].upper() + filled[1:]


def inverted(predicate: str) -> tuple[str, str]:
    """A plural predicate split for a question: "are metals" gives "Are" and "metals"."""
    verb, _, rest = predicate.partition(" ")
    if verb in ("are", "were", "can"):
        return verb.capitalize(), rest
    return ("Do", predicate) if en.lemma(verb) == verb else ("Did", f"{en.lemma(verb)} {rest}")


# ---- candidates, source by source ----


@cache
def telling_words(text: str) -> frozenset[str]:
    """Words of four letters or more."""
    return frozenset(re.findall(r"\w{4,}", text.lower()))


def words_of(fact: Fact) -> frozenset[str]:
    """Words of a fact's phrase: facts that share a word are too close to be put side by side."""
    return telling_words(fact.phrase) - COMMON_WORDS


def far_from(fact: Fact, kind: Kind) -> list[Fact]:
    """The facts of a kind that share no distinctive word with `fact`."""
    words = words_of(fact)
    return [other for other in of_kind(kind) if other.id != fact.id and not words_of(other) & words]


def of_the_art(fact: Fact, kind: Kind) -> list[Fact]:
    """The facts of a kind from the fact's art; none if it is of no art."""
    return [other for other in far_from(fact, kind) if other.topic == fact.topic and fact.topic in ARTS]


def counts_of_unit(fact: Fact) -> Sequence[Slot]:
    """The other counts of a fact's unit."""
    return [other for other in of_kind("count") if other.id != fact.id and other.unit == fact.unit]


def holder_clues(fact: Fact) -> Sequence[Slot]:
    """Clues to other things that have a number of the fact's unit."""
    words = telling_words(fact.holder) - COMMON_HOLDER_WORDS
    return [
        holder.clue
        for holder in holders().values()
        if holder.unit == fact.unit and holder.clue != fact.holder and not words & telling_words(holder.name)
    ]


def centre(fact: Fact) -> tuple[int, int]:
    """The year around which a fact's events are sought, and how far around it."""
    if fact.kind == "year":
        return int(fact.value), EVENT_REACH
    if fact.kind == "state":
        return int(column("known_states", "name", "year")[fact.value]), EVENT_REACH
    return int(operation("birth")(fact.value)) + 50, REACH


def events(fact: Fact) -> Sequence[Slot]:
    """Events of the fact's topic near it in time."""
    middle, reach = centre(fact)
    return [
        other
        for other in far_from(fact, "year")
        if other.topic == fact.topic and abs(int(other.value) - middle) <= reach
    ]


def events_of_their_time(fact: Fact) -> Sequence[Slot]:
    """Events of their art that the fact's person and the wrong people lived to see."""
    lives = [people()[name] for name in (fact.value, *fact.others)]
    grown = max((life.birth + AGE_OF_NEWS for life in lives if life.birth is not None), default=0)
    dead = min((life.death for life in lives if life.death is not None), default=0)
    return [event for event in of_the_art(fact, "year") if grown <= int(event.value) < dead]


def contemporaries(fact: Fact) -> Sequence[Slot]:
    """People of the fact's time, and of a person's calling, with known dates; neither its answer nor a wrong value."""
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
        and not telling_words(person.name) & words_of(fact)
    ]


def colleagues(fact: Fact) -> Sequence[Slot]:
    """People of the calling, the country and the time of the fact's person."""
    country = people()[fact.value].country
    return [name for name in contemporaries(fact) if people()[str(name)].country == country]


def people_before(fact: Fact) -> Sequence[Slot]:
    """People known by what they did who lived at the time of an event of their art, whichever its year."""
    years = [int(year) for year in (fact.value, *fact.others)]
    return [
        person
        for person, birth, death in lives_of_the_art(fact)
        if max(years) - REACH <= birth <= min(years) - AGE_OF_NEWS and (death >= max(years) or fact.topic in AFTERLIFE)
    ]


def people_born_about(fact: Fact) -> Sequence[Slot]:
    """People known by what they did who were born about the year of an event of their art."""
    years = [int(year) for year in (fact.value, *fact.others)]
    return [person for person, birth, _ in lives_of_the_art(fact) if min(years) - AGE_OF_NEWS <= birth <= max(years)]


def lives_of_the_art(fact: Fact) -> Iterator[tuple[Fact, int, int]]:
    """People of the art of an event, with their years of birth and death."""
    for person in of_the_art(fact, "person"):
        life = people()[person.value]
        is_other = not telling_words(life.name) & words_of(fact)
        if is_other and life.birth is not None and life.death is not None:
            yield person, life.birth, life.death


def things(fact: Fact) -> Sequence[Slot]:
    """Other things that have the fact's property or lack it."""
    feature = properties()[fact.feature]
    sides = ((feature.yes, True), (feature.no, False))
    return [(name, has) for names, has in sides for name in names if name != fact.phrase]


def names_in(table: str, fact: Fact) -> Sequence[str]:
    """Names of a table that are neither the fact's answer nor a wrong value."""
    taken = (fact.value, *fact.others)
    return [row["name"] for row in rows(table) if row["name"] not in taken and row["name"] not in fact.phrase]


def elements_nearby(fact: Fact) -> Sequence[Slot]:
    """Elements that a reader has heard of, not far from the fact's and the wrong elements."""
    places = {name: place for place, name in enumerate(members("element"))}
    taken = (fact.value, *fact.others)
    return [
        other.value
        for other in of_kind("element")
        if other.value not in taken and all(abs(places[other.value] - places[name]) <= FEW_PLACES for name in taken)
    ]


def small_animals(fact: Fact) -> Sequence[Slot]:
    """Animals whose legs somebody would count beside the fact's animal; none unless it is such an animal itself."""
    classes = column("known_animals", "name", "class")
    if classes[fact.value] not in COUNTED_LEGS:
        return []
    return [name for name in names_in("known_animals", fact) if classes[name] in COUNTED_LEGS]


def constants(*values: int | str) -> Callable[[Fact], Sequence[Slot]]:
    """A few constants, without the fact's own value."""
    return lambda fact: [value for value in values if value != fact.value]


CANDIDATES: Mapping[str, Callable[[Fact], Sequence[Slot]]] = {
    "count": counts_of_unit,
    "holder": holder_clues,
    "event": events,
    "event of their time": events_of_their_time,
    "person": contemporaries,
    "colleague": colleagues,
    "person before": people_before,
    "person about": people_born_about,
    "thing": things,
    "country": partial(names_in, "known_countries"),
    "element": elements_nearby,
    "animal": partial(names_in, "known_animals"),
    "small animal": small_animals,
    "us state": partial(names_in, "known_states"),
    "planet": constants(*SERIES["planet"]),
    "month": constants(*SERIES["month"]),
    "few": constants(2, 3, 4, 5),
    "step": constants(1, 2, 3),
    "of a continent": constants("Europe", "North America", "Asia", "South America", "Africa"),
}


@cache
def candidates(source: str, fact: Fact) -> tuple[Slot, ...]:
    """The candidates for a slot of a fact's question."""
    try:
        return tuple(CANDIDATES[source](fact))
    except Blocked:  # a date or place needed for the search is not known
        return ()


def threshold(low: int, high: int) -> int:
    """The roundest number below `high` and not below `low`."""
    for unit in ROUND:
        if (number := (high - 1) // unit * unit) >= low:
            return number
    raise Blocked("nothing in between")
