"""The programs of the rules model's questions, kind of fact by kind of fact, with their wordings.

In a wording `{p}` is the fact's phrase, `{when}` what happened as a clause of its own, and the other names are slots.
Every wording counts as a pattern of its own; programs of four steps come first in each section, the shorter and longer
ones after them. A question compares only what somebody would compare: counts of one unit, people of one calling, events
and people of one field.
"""

# Each wording stands on one line, however long, so that the list of patterns can be read down.
# ruff: noqa: E501

from flows.families.uraq.facts import FILES, Kind, of_kind
from flows.families.uraq.program import Do, Program
from schemas.uraq import AnswerType


def recall(op: str, *args: int | str, text: str) -> Do:
    """A step that is read off the statement or known."""
    return Do("recall", op, args, text)


def arithmetic(op: str, *args: int | str, text: str) -> Do:
    """A step that is computed."""
    return Do("arithmetic", op, args, text)


def comparison(op: str, *args: int | str, text: str) -> Do:
    """A step that compares."""
    return Do("comparison", op, args, text)


def logic(op: str, *args: int | str, text: str) -> Do:
    """A step that concludes."""
    return Do("logic", op, args, text)


def slot(name: str, text: str) -> Do:
    """A step that recalls the number or answer of a slot."""
    return Do("recall", "same value", (f"@{name}",), text)


# ---- counts ----

N = recall("value", text="the number of {p}")
HOLDER = recall("holder", "@h", text="{told}")
HELD = recall("number held", 1, "@h", text="the number of {unit} of that")
DOES_HAS = {
    "players": ("does", "field"),
    "minutes": ("does", "last"),
    "years": ("did", "last"),
    "symphonies": ("did", "complete"),
}
"""Verbs of a unit other than to have."""


def counts() -> tuple[Program, ...]:
    """Questions on how many there are of something: unit by unit, since a count is compared with those of its unit."""
    units = sorted({fact.unit for fact in of_kind("count") if fact.unit})
    return (
        *(program for unit in units for program in counts_of(unit, *DOES_HAS.get(unit, ("does", "have")))),
        # other numbers of steps
        Program("count-more-2", "count", "boolean",
            (N, comparison("more", 1, "@k", text="whether that is more than {k}")),
            ("Are there more than {k} {p}?",), {"k": "threshold:1"}),
    )  # fmt: skip


def counts_of(unit: str, does: str, has: str) -> tuple[Program, ...]:
    """Questions on how many of one unit something has."""
    own = (HOLDER, HELD, recall("value", text="the number of {p}"))
    other = slot("b", "the number of {b}")
    return (
        Program(f"count-{unit}-more", "count", "number",
            (*own, arithmetic("after", 3, 2, text="the difference of the two numbers")),
            (f"How many more {unit} {does} {{holder}} {has} than {{h}}?",), {"h": "holder"}, unit=unit),
        Program(f"count-{unit}-fewer", "count", "number",
            (*own, arithmetic("after", 2, 3, text="the difference of the two numbers")),
            (f"How many fewer {unit} {does} {{holder}} {has} than {{h}}?",), {"h": "holder"}, unit=unit),
        Program(f"count-{unit}-compared", "count", "boolean",
            (*own, comparison("greater", 3, 2, text="whether that is the greater number")),
            (f"{does.capitalize()} {{holder}} {has} more {unit} than {{h}}?",), {"h": "holder"}, unit=unit),
        # other numbers of steps
        Program(f"count-{unit}-3", "count", "boolean",
            (N, other, comparison("greater", 1, 2, text="whether the first number is greater")),
            (f"{does.capitalize()} {{holder}} {has} more {unit} than {{b_holder}}?",), {"b": "count"}, unit=unit),
        Program(f"count-{unit}-5", "count", "boolean",
            (*own, arithmetic("after", 3, 2, text="the difference of the two numbers"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            (f"{does.capitalize()} {{holder}} {has} over {{k}} {unit} more than {{h}}?",), {"h": "holder", "k": "threshold:4"}, unit=unit),
    )  # fmt: skip


# ---- years ----

Y = recall("value", text="the year of {p}")
Y_B = slot("b", "the year of {b}")
W = slot("w", "who {w} was")
REIGN = recall("monarch", 1, text="who reigned in London in that year")
TERM = recall("president", 1, text="who was US president in that year")
NEXT_MONARCH = recall("next monarch", 2, text="the monarch who came next")
NEXT_TERM = recall("next president", 2, text="the president who came next")
GAMES = comparison("next games", 1, text="the first Summer Olympic year after that year")
GAMES_CITY = recall("games city", 2, text="the city that held those Games")
GAMES_COUNTRY = recall("city country", 3, text="the country that city lies in")
CUP = comparison("next cup", 1, text="the first year of a football World Cup after that year")
R_BIRTH = recall("birth", "@r", text="the year {r} was born")
R_DEATH = recall("death", "@r", text="the year {r} died")


def years() -> tuple[Program, ...]:
    """Questions on when something happened."""
    return (
        Program("year-since-birth", "year", "number",
            (Y, W, recall("birth", 2, text="the year that person was born"), arithmetic("after", 1, 3, text="the years from the birth to the event")),
            ("How many years before {when} was {w} born?",
             "How many years lie between the birth of {w} and {p}?"),
            {"w": "person before"}),
        Program("year-since-death", "year", "number",
            (Y, W, recall("death", 2, text="the year that person died"), arithmetic("after", 1, 3, text="the years from the death to the event")),
            ("How many years had {w} been dead when {when}?",
             "How many years before {when} did {w} die?"),
            {"w": "person before"}),
        Program("year-until-death", "year", "number",
            (Y, W, recall("death", 2, text="the year that person died"), arithmetic("after", 3, 1, text="the years from the event to the death")),
            ("How many years after {when} did {w} die?",
             "For how many more years did {w} live after {when}?"),
            {"w": "person before"}),
        Program("year-on-throne", "year", "number",
            (Y, REIGN, recall("accession", 2, text="the year that monarch came to the throne"), arithmetic("after", 1, 3, text="the years from then to the event")),
            ("For how many years had the monarch in London been on the throne when {when}?",
             "How long, in years, had the monarch in London been on the throne when {when}?"),
            land="uk"),
        Program("year-left-throne", "year", "number",
            (Y, REIGN, recall("end of reign", 2, text="the year that reign ended"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("For how many more years did the monarch in London reign after {when}?",),
            land="uk"),
        Program("year-in-office", "year", "number",
            (Y, TERM, recall("took office", 2, text="the year that president took office"), arithmetic("after", 1, 3, text="the years from then to the event")),
            ("For how many years had the US president been in office when {when}?",),
            land="us"),
        Program("year-left-office", "year", "number",
            (Y, TERM, recall("left office", 2, text="the year that president left office"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("How many years after {when} did the US president of the day leave office?",),
            land="us"),
        Program("year-next-president-state", "year", "entity",
            (Y, TERM, NEXT_TERM, recall("birth state", 3, text="the state that one was born in")),
            ("What was the birth state of the next man to become US president after {when}?",
             "Which state was the birthplace of the next man to become US president after {when}?"),
            land="us"),
        Program("year-next-president-party", "year", "entity",
            (Y, TERM, NEXT_TERM, recall("party", 3, text="that one's party")),
            ("Which party put up the next man to become US president after {when}?",
             "What was the party of the next man to become US president after {when}?"),
            land="us"),
        Program("year-games-country", "year", "entity",
            (Y, GAMES, GAMES_CITY, GAMES_COUNTRY),
            ("Which country hosted the first Summer Olympics after {when}?",
             "In which country were the first Summer Olympics held after {when}?"),
            land="world"),
        Program("year-cup-capital", "year", "entity",
            (Y, CUP, recall("cup winner", 2, text="the country that won it"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country that won the first football World Cup after {when}?",
             "Which city is the capital of the country that won the first football World Cup after {when}?"),
            land="world"),
        Program("year-cup-language", "year", "entity",
            (Y, CUP, recall("cup host", 2, text="the country it was played in"), recall("language", 3, text="the main language of that country")),
            ("What is the main language of the country that hosted the first football World Cup after {when}?",),
            land="world"),
        Program("year-next-house", "year", "entity",
            (Y, REIGN, NEXT_MONARCH, recall("house", 3, text="that one's royal house")),
            ("What was the royal house of the next monarch to come to the throne in London after {when}?",),
            land="uk"),
        Program("year-alive", "year", "boolean",
            (Y, R_BIRTH, R_DEATH, comparison("within", 1, 2, 3, text="whether the event came in between")),
            ("Was {r} alive when {when}?",
             "Did {p} fall within the lifetime of {r}?"),
            {"r": "person"},
            land="world"),
        Program("year-lived-to-see", "year", "boolean",
            (Y, W, recall("death", 2, text="the year that person died"), comparison("less", 1, 3, text="whether the event came before the death")),
            ("Was {w} still alive when {when}?",),
            {"w": "person before"}),
        Program("year-born-by", "year", "boolean",
            (Y, W, recall("birth", 2, text="the year that person was born"), comparison("greater", 1, 3, text="whether the event came after the birth")),
            ("Had {w} been born by the time {when}?",),
            {"w": "person about"}),
        # other numbers of steps
        Program("year-more-2", "year", "boolean",
            (Y, comparison("more", 1, "@k", text="whether that is after {k}")),
            ("Did {p} come after the year {k}?",), {"k": "threshold:1"}),
        Program("year-apart-3", "year", "number",
            (Y, Y_B, arithmetic("apart", 1, 2, text="the years between the two")),
            ("How many years lie between {p} and {b}?",), {"b": "event"}),
        Program("year-before-3", "year", "boolean",
            (Y, Y_B, comparison("less", 1, 2, text="whether the first year is the earlier one")),
            ("Did {p} happen before {b}?",), {"b": "event"}),
        Program("year-birth-5", "year", "boolean",
            (Y, W, recall("birth", 2, text="the year that person was born"), arithmetic("after", 1, 3, text="the years from the birth to the event"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Was {w} born more than {k} years before {when}?",), {"w": "person before", "k": "threshold:4"}),
        Program("year-games-5", "year", "entity",
            (Y, GAMES, GAMES_CITY, GAMES_COUNTRY, recall("capital", 4, text="the capital of that country")),
            ("What is the capital of the country that hosted the first Summer Olympics after {when}?",)),
    )  # fmt: skip


# ---- people ----

BORN = recall("birth", 1, text="the year that person was born")
DIED = recall("death", 1, text="the year that person died")
HOME = recall("home", 1, text="the country that person came from")
WHO = recall("value", text="who {p} was")
MONARCH_THEN = recall("monarch", 2, text="who reigned in London in that year")
PRESIDENT_THEN = recall("president", 2, text="who was US president in that year")
HOUSE = recall("house", 3, text="that monarch's royal house")
HEIR = recall("next monarch", 3, text="the monarch who came next")
SUCCESSOR = recall("next president", 3, text="the president who came next")
BIRTH_STATE = recall("birth state", 3, text="the state that president was born in")


def persons() -> tuple[Program, ...]:
    """Questions on who did something."""
    return (
        Program("person-births-apart", "person", "number",
            (WHO, BORN, R_BIRTH, arithmetic("apart", 2, 3, text="the years between the two births")),
            ("How many years apart were {r} and {p} born?",
             "How many years lie between the births of {r} and {p}?"),
            {"r": "colleague"}),
        Program("person-deaths-apart", "person", "number",
            (WHO, DIED, R_DEATH, arithmetic("apart", 2, 3, text="the years between the two deaths")),
            ("How many years apart did {r} and {p} die?",),
            {"r": "colleague"}),
        Program("person-birth-event", "person", "number",
            (WHO, BORN, Y_B, arithmetic("after", 3, 2, text="the years from the birth to the event")),
            ("How many years before {b_clause} was {p} born?",
             "How many years lie between the birth of {p} and {b}?"),
            {"b": "event of their time"}),
        Program("person-death-event", "person", "number",
            (WHO, DIED, Y_B, arithmetic("after", 2, 3, text="the years from the event to the death")),
            ("How many years after {b_clause} did {p} die?",
             "For how many more years did {p} live after {b_clause}?"),
            {"b": "event of their time"}),
        Program("person-years", "person", "number",
            (WHO, BORN, DIED, arithmetic("after", 3, 2, text="the years from the birth to the death")),
            ("How many years lie between the year of birth and the year of death of {p}?",)),
        Program("person-river", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country"), recall("river", 3, text="the river that capital stands on")),
            ("On which river stands the capital of the country that {p} came from?",
             "Which river flows through the capital of the country that {p} came from?")),
        Program("person-birth-house", "person", "entity",
            (WHO, BORN, MONARCH_THEN, HOUSE),
            ("Which royal house was on the throne in London when {p} was born?",
             "What was the royal house of the monarch in London when {p} was born?"),
            land="United Kingdom"),
        Program("person-death-house", "person", "entity",
            (WHO, DIED, MONARCH_THEN, HOUSE),
            ("Which royal house was on the throne in London when {p} died?",
             "What was the royal house of the monarch in London when {p} died?"),
            land="United Kingdom"),
        Program("person-death-heir", "person", "entity",
            (WHO, DIED, MONARCH_THEN, HEIR),
            ("Who was the next to come to the throne in London after {p} died?",),
            land="United Kingdom"),
        Program("person-birth-heir", "person", "entity",
            (WHO, BORN, MONARCH_THEN, HEIR),
            ("Who was the next to come to the throne in London after {p} was born?",),
            land="United Kingdom"),
        Program("person-birth-state", "person", "entity",
            (WHO, BORN, PRESIDENT_THEN, BIRTH_STATE),
            ("What was the birth state of the US president in office when {p} was born?",),
            land="United States"),
        Program("person-death-state", "person", "entity",
            (WHO, DIED, PRESIDENT_THEN, BIRTH_STATE),
            ("What was the birth state of the US president in office when {p} died?",),
            land="United States"),
        Program("person-birth-next", "person", "entity",
            (WHO, BORN, PRESIDENT_THEN, SUCCESSOR),
            ("Who was the next man to become US president after {p} was born?",
             "Who succeeded the US president in office when {p} was born?"),
            land="United States"),
        Program("person-death-next", "person", "entity",
            (WHO, DIED, PRESIDENT_THEN, SUCCESSOR),
            ("Who was the next man to become US president after {p} died?",
             "Who succeeded the US president in office when {p} died?"),
            land="United States"),
        Program("person-born-before", "person", "boolean",
            (WHO, BORN, R_BIRTH, comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Was {p} born before {r}?",),
            {"r": "colleague"}),
        Program("person-saw", "person", "boolean",
            (WHO, DIED, Y_B, comparison("greater", 2, 3, text="whether the death came after the event")),
            ("Was {p} still alive when {b_clause}?",),
            {"b": "event of their time"}),
        Program("person-same-home", "person", "boolean",
            (WHO, HOME, recall("home", "@r", text="the country {r} came from"), comparison("same", 2, 3, text="whether the two countries are the same")),
            ("Did {p} come from the same country as {r}?",),
            {"r": "person"}),
        # other numbers of steps
        Program("person-born-2", "person", "number",
            (WHO, BORN), ("In which year was {p} born?",)),
        Program("person-died-2", "person", "number",
            (WHO, DIED), ("In which year did {p} die?",)),
        Program("person-capital-3", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country")),
            ("What is the capital of the country that {p} came from?",)),
        Program("person-born-3", "person", "boolean",
            (WHO, BORN, comparison("more", 2, "@k", text="whether that is after {k}")),
            ("Was {p} born after {k}?",), {"k": "threshold:2"}),
        Program("person-lived-5", "person", "boolean",
            (WHO, BORN, DIED, arithmetic("after", 3, 2, text="the years from the birth to the death"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Do more than {k} years lie between the year of birth and the year of death of {p}?",), {"k": "threshold:4"}),
    )  # fmt: skip


# ---- countries ----

LAND = recall("value", text="{p}")
SEAT = recall("capital", 1, text="the capital of that country")
CONTINENT = recall("continent", 1, text="the continent of that country")
LANGUAGE = recall("language", 1, text="the main language of that country")


def countries() -> tuple[Program, ...]:
    """Questions on where something is or comes from."""
    return (
        Program("country-first-games", "country", "number",
            (LAND, recall("first games", 1, text="the year that country first hosted the Summer Olympics"), recall("first games", "@a", text="the year {a} first hosted them"), arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years apart did {a} and {p} first host the Summer Olympics?",
             "How many years lie between the first Summer Olympics in {a} and the first in {p}?"),
            {"a": "country"}),
        Program("country-first-cup", "country", "number",
            (LAND, recall("first cup", 1, text="the year that country first won the football World Cup"), recall("first cup", "@a", text="the year {a} first won it"), arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years apart did {a} and {p} first win the football World Cup?",),
            {"a": "country"}),
        Program("country-mouth", "country", "entity",
            (LAND, SEAT, recall("river", 2, text="the river that capital stands on"), recall("mouth", 3, text="the sea that river flows into")),
            ("Which sea is fed by the river that flows through the capital of {p}?",)),
        Program("country-tongue", "country", "entity",
            (LAND, LANGUAGE, recall("cradle", 2, 1, text="the country that language comes from"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country whose language people speak in {p}?",)),
        Program("country-continent", "country", "boolean",
            (LAND, CONTINENT, recall("continent", "@a", text="the continent of {a}"), comparison("same", 2, 3, text="whether the two continents are the same")),
            ("Is {p} on the same continent as {a}?",),
            {"a": "country"}),
        Program("country-language", "country", "boolean",
            (LAND, LANGUAGE, recall("language", "@a", text="the main language of {a}"), comparison("same", 2, 3, text="whether the two languages are the same")),
            ("Does {p} have the same main language as {a}?",),
            {"a": "country"}),
        Program("country-side", "country", "boolean",
            (LAND, recall("side", 1, text="the side of the road that traffic keeps to in that country"), recall("side", "@a", text="the side of the road that traffic keeps to in {a}"), comparison("same", 2, 3, text="whether the two sides are the same")),
            ("Do people drive on the same side of the road in {p} as in {a}?",),
            {"a": "country"}),
        Program("country-north", "country", "boolean",
            (LAND, SEAT, recall("capital", "@a", text="the capital of {a}"), comparison("further north", 2, 3, text="whether the first capital lies further north")),
            ("Is the capital of {p} further north than the capital of {a}?",),
            {"a": "country"}),
        # other numbers of steps
        Program("country-capital-2", "country", "entity",
            (LAND, SEAT), ("What is the capital of {p}?",)),
        Program("country-language-2", "country", "entity",
            (LAND, LANGUAGE), ("What is the main language of {p}?",)),
        Program("country-continent-3", "country", "boolean",
            (LAND, CONTINENT, comparison("same", 2, "@s", text="whether that is {s}")),
            ("Does {p} lie in {s}?",), {"s": "of a continent"}),
        Program("country-north-5", "country", "boolean",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), recall("latitude of capital", "@a", text="the latitude of the capital of {a}"), comparison("greater", 3, 4, text="whether the first capital lies further north")),
            ("Is the capital of {p} nearer to the North Pole than the capital of {a}?",), {"a": "country"}),
    )  # fmt: skip


# ---- elements ----

STUFF = recall("value", text="{p}")
PROTONS = recall("element place", 1, text="the atomic number of that element")
R_PROTONS = recall("element place", "@r", text="the atomic number of {r}")
FURTHER = arithmetic("add", 2, "@k", text="that number plus {k}")
AT_PLACE = recall("element at", 3, text="the element with that atomic number")


def elements() -> tuple[Program, ...]:
    """Questions on what something is made of."""
    return (
        Program("element-apart", "element", "number",
            (STUFF, PROTONS, R_PROTONS, arithmetic("apart", 2, 3, text="the difference of the two numbers")),
            ("How many places apart in the periodic table are {r} and {p}?",
             "What is the difference between the atomic numbers of {r} and {p}?"),
            {"r": "element"}),
        Program("element-further", "element", "entity",
            (STUFF, PROTONS, FURTHER, AT_PLACE),
            ("Which element has exactly {k} more protons in its nucleus than {p}?",
             "In the periodic table, which element comes {k} places after {p}?"),
            {"k": "few"}),
        Program("element-more", "element", "boolean",
            (STUFF, PROTONS, R_PROTONS, comparison("greater", 2, 3, text="whether the first number is greater")),
            ("Does {p} come later in the periodic table than {r}?",),
            {"r": "element"}),
        # other numbers of steps
        Program("element-symbol-2", "element", "entity",
            (STUFF, recall("symbol", 1, text="the chemical symbol of that element")), ("What is the chemical symbol of {p}?",)),
        Program("element-number-2", "element", "number",
            (STUFF, PROTONS), ("What is the atomic number of {p}?",)),
        Program("element-next-3", "element", "boolean",
            (STUFF, PROTONS, comparison("more", 2, "@k", text="whether that is more than {k}")),
            ("Does an atom of {p} have more than {k} protons?",), {"k": "threshold:2"}),
        Program("element-symbol-5", "element", "entity",
            (STUFF, PROTONS, FURTHER, AT_PLACE, recall("symbol", 4, text="its chemical symbol")),
            ("What is the chemical symbol of the element with {k} protons more than {p}?",), {"k": "few"}),
    )  # fmt: skip


# ---- animals ----

BEAST = recall("value", text="{p}")
CLASS = recall("class", 1, text="the class of animals it belongs to")
LEGS = recall("legs", 1, text="the number of its legs")
A_LEGS = recall("legs", "@a", text="the number of legs of the {a}")


def animals() -> tuple[Program, ...]:
    """Questions on which animal does something."""
    return (
        Program("animal-legs-more", "animal", "number",
            (BEAST, LEGS, A_LEGS, arithmetic("after", 2, 3, text="the difference of the two numbers")),
            ("How many more legs does {p} have than the {a}?",),
            {"a": "small animal"}),
        Program("animal-legs-fewer", "animal", "number",
            (BEAST, LEGS, A_LEGS, arithmetic("after", 3, 2, text="the difference of the two numbers")),
            ("How many fewer legs does {p} have than the {a}?",),
            {"a": "small animal"}),
        Program("animal-class", "animal", "boolean",
            (BEAST, CLASS, recall("class", "@a", text="the class of animals that the {a} belongs to"), comparison("same", 2, 3, text="whether the two classes are the same")),
            ("Does {p} belong to the same class of animals as the {a}?",),
            {"a": "animal"}),
        # other numbers of steps
        Program("animal-class-2", "animal", "entity",
            (BEAST, CLASS), ("To which class of animals does {p} belong?",)),
        Program("animal-science-3", "animal", "entity",
            (BEAST, CLASS, recall("science", 2, text="the branch of zoology that studies that class")),
            ("What is the science called that studies the class of animals to which {p} belongs?",)),
        Program("animal-legs-5", "animal", "boolean",
            (BEAST, LEGS, A_LEGS, arithmetic("add", 2, 3, text="both numbers added up"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Do {p} and the {a} have more than {k} legs between them?",), {"a": "small animal", "k": "threshold:4"}),
    )  # fmt: skip


# ---- states, months, planets ----

STATE = recall("value", text="{p}")
JOINED = recall("admission", 1, text="the year that state joined the Union")
S_JOINED = recall("admission", "@s", text="the year {s} joined the Union")
MONTH = recall("value", text="{p}")
PLACE = recall("month place", 1, text="the number of that month in the year")
WORLD = recall("value", text="{p}")
ORBIT = recall("planet place", 1, text="its place counted from the Sun")
R_ORBIT = recall("planet place", "@r", text="the place of {r} counted from the Sun")


def places() -> tuple[Program, ...]:
    """Questions on states of the United States, months and planets."""
    return (
        Program("state-apart", "state", "number",
            (STATE, JOINED, S_JOINED, arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years apart did {s} and {p} join the Union?",),
            {"s": "us state"}),
        Program("state-president", "state", "entity",
            (STATE, JOINED, PRESIDENT_THEN, SUCCESSOR),
            ("Who was the next man to become US president after {p} joined the Union?",
             "Who succeeded the US president in office when {p} joined the Union?")),
        Program("state-before", "state", "boolean",
            (STATE, JOINED, S_JOINED, comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Did {p} join the Union before {s}?",),
            {"s": "us state"}),
        Program("month-later", "month", "entity",
            (MONTH, PLACE, arithmetic("months on", 2, "@k", text="that number plus {k}, starting again after twelve"), recall("month at", 3, text="the month with that number")),
            ("Which month comes {k} months after {p}?",
             "Which month is it {k} months after {p}?"),
            {"k": "few"}),
        Program("month-before", "month", "boolean",
            (MONTH, PLACE, recall("month place", "@r", text="the number of {r} in the year"), comparison("less", 2, 3, text="whether the first month comes earlier")),
            ("Does {p} come earlier in the calendar year than {r}?",), {"r": "month"}),
        Program("planet-apart", "planet", "number",
            (WORLD, ORBIT, R_ORBIT, arithmetic("apart", 2, 3, text="the difference of the two places")),
            ("Counting outwards from the Sun, how many places apart are {r} and {p}?",), {"r": "planet"}),
        Program("planet-next", "planet", "entity",
            (WORLD, ORBIT, arithmetic("add", 2, "@o", text="the place of the {o} planet outwards"), recall("planet at", 3, text="the planet at that place")),
            ("Which is the {o} planet outwards from {p}?",), {"o": "step"}),
        Program("planet-further", "planet", "boolean",
            (WORLD, ORBIT, R_ORBIT, comparison("greater", 2, 3, text="whether the first planet is further out")),
            ("Is {p} further from the Sun than {r}?",), {"r": "planet"}),
        # other numbers of steps
        Program("state-capital-2", "state", "entity",
            (STATE, recall("state capital", 1, text="the capital of that state")), ("What is the capital of {p}?",)),
        Program("state-president-3", "state", "entity",
            (STATE, JOINED, recall("president", 2, text="who was US president in that year")),
            ("Who was US president when {p} joined the Union?",)),
        Program("state-apart-5", "state", "boolean",
            (STATE, JOINED, S_JOINED, arithmetic("apart", 2, 3, text="the years between the two"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Did {p} and {s} join the Union more than {k} years apart?",), {"s": "us state", "k": "threshold:4"}),
        Program("month-number-2", "month", "number",
            (MONTH, PLACE), ("What number in the year has {p}?",)),
        Program("month-later-3", "month", "boolean",
            (MONTH, PLACE, comparison("more", 2, "@k", text="whether that is more than {k}")),
            ("Does {p} come after the first {k} months of the year?",), {"k": "threshold:2"}),
        Program("planet-place-2", "planet", "number",
            (WORLD, ORBIT), ("Counted from the Sun, what is the place of {p}?",)),
        Program("planet-more-3", "planet", "boolean",
            (WORLD, ORBIT, comparison("more", 2, "@k", text="whether that is more than {k}")),
            ("Do at least {k} other planets lie nearer to the Sun than {p}?",), {"k": "threshold:2"}),
    )  # fmt: skip


# ---- yes or no ----

IS = recall("value", text="whether {p} can be counted among {group}")
IS_X = slot("x", "whether {x} can be counted among {group}")
IS_Y = slot("y", "whether {y} can be counted among {group}")
IS_Z = slot("z", "whether {z} can be counted among {group}")
THINGS = {"x": "thing", "y": "thing"}


def yesno() -> tuple[Program, ...]:
    """Questions on whether something has a property."""
    three = (IS, IS_X, IS_Y)
    return (
        Program("yesno-count", "yesno", "number",
            (*three, logic("count yes", 1, 2, 3, text="how many of the three it holds of")),
            ("How many of these three {has}: {p}, {x} and {y}?",
             "Of {x}, {p} and {y}, how many {has}?",
             "How many of {y}, {p} and {x} {has}?"),
            THINGS),
        Program("yesno-all", "yesno", "boolean",
            (*three, logic("all", 1, 2, 3, text="whether it holds of all three")),
            ("{do} {p}, {x} and {y} all {so}?",
             "{do} all three of these {so}: {x}, {y} and {p}?",
             "{do} {x}, {p} and {y} all {so}?",
             "{do} all of the following {so}: {y}, {p} and {x}?",
             "{do} {y}, {x} and {p} all {so}?"),
            THINGS),
        Program("yesno-any", "yesno", "boolean",
            (*three, logic("any", 1, 2, 3, text="whether it holds of any of the three")),
            ("{do} any of {p}, {x} and {y} {so}?",
             "{do} any of these three {so}: {x}, {y} or {p}?",
             "{do} any of the following {so}: {y}, {p} or {x}?",
             "{do} any of {y}, {x} and {p} {so}?"),
            THINGS),
        Program("yesno-several", "yesno", "boolean",
            (*three, logic("most", 1, 2, 3, text="whether it holds of at least two of the three")),
            ("{do} at least two of {p}, {x} and {y} {so}?",
             "{do} at least two of these three {so}: {x}, {p} and {y}?",
             "{do} at least two of the following {so}: {y}, {x} and {p}?",
             "{do} two or more of {y}, {p} and {x} {so}?",
             "{do} most of these three {so}: {p}, {y} and {x}?"),
            THINGS),
        Program("yesno-opposite-2", "yesno", "boolean",
            (IS, logic("opposite", 1, text="whether the claim is wrong")),
            ("Would it be wrong to count {p} among {group}?",)),
        Program("yesno-both-3", "yesno", "boolean",
            (IS, IS_X, logic("all", 1, 2, text="whether it holds of both")),
            ("{do} both {p} and {x} {so}?",), {"x": "thing"}),
        Program("yesno-count-5", "yesno", "number",
            (*three, IS_Z, logic("count yes", 1, 2, 3, 4, text="how many of the four it holds of")),
            ("How many of these four {has}: {p}, {x}, {y} and {z}?",), {**THINGS, "z": "thing"}),
    )  # fmt: skip


def single_hop() -> tuple[Program, ...]:
    """The question for the fact alone, kind by kind."""
    types: dict[Kind, AnswerType] = {"count": "number", "year": "number", "yesno": "boolean"}
    return tuple(
        Program(
            f"{kind}-1",
            kind,
            types.get(kind, "entity"),
            (recall("value", text="what the statement says"),),
            ("{single}",),
        )
        for kind in FILES
    )


PROGRAMS: tuple[Program, ...] = (
    *counts(),
    *years(),
    *persons(),
    *countries(),
    *elements(),
    *animals(),
    *places(),
    *yesno(),
    *single_hop(),
)
