"""The programs of the rules model's questions, kind of fact by kind of fact, with their wordings.

In a wording `{p}` is the fact's phrase and the other names are slots. Every wording counts as a pattern of
its own; programs of four steps come first in each section, the shorter and longer ones after them.
"""

# Each wording stands on one line, however long, so that the list of patterns can be read down.
# ruff: noqa: E501

from flows.families.uraq.facts import FILES, Kind
from flows.families.uraq.questions import Do, Program
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
N_B = slot("b", "the number of {b}")
N_C = slot("c", "the number of {c}")
TWO = {"b": "count", "c": "count"}


def counts() -> tuple[Program, ...]:
    """Questions on how many there are of something."""
    return (
        Program("count-together", "count", "boolean",
            (N, N_B, arithmetic("add", 1, 2, text="both numbers added up"), comparison("more", 3, "@k", text="whether the sum is more than {k}")),
            ("Do the {p} and the {b} together come to more than {k}?",
             "If you counted the {p} and then went on counting the {b}, would you get past {k}?",
             "Is the combined number of {p} and {b} higher than {k}?"),
            {"b": "count", "k": "threshold:3"}, pooled=True),
        Program("count-share", "count", "boolean",
            (N, N_B, arithmetic("remainder", 1, 2, text="the remainder when the first number is divided by the second"), comparison("more", 3, "=0", text="whether the remainder is more than 0")),
            ("If the {p} were shared out equally among the {b}, would any be left over?",
             "Suppose the {b} had to share the {p} fairly, would there be a remainder?"),
            {"b": "sharers"}, pooled=True),
        Program("count-nearer", "count", "boolean",
            (N, N_B, N_C, comparison("nearer", 1, 2, 3, text="whether the first number is nearer to the second than to the third")),
            ("Is the number of {p} closer to the number of {b} than to the number of {c}?",
             "Does the number of {p} differ less from the number of {b} than from the number of {c}?"),
            TWO),
        Program("count-between", "count", "boolean",
            (N, N_B, N_C, comparison("between", 1, 2, 3, text="whether the first number lies between the other two")),
            ("Does the number of {p} lie between the number of {b} and the number of {c}?",
             "Is the number of {p} somewhere between that of the {b} and that of the {c}?"),
            TWO),
        Program("count-within", "count", "boolean",
            (N, N_B, N_C, comparison("within", 1, 2, 3, text="whether the first number is above the second and below the third")),
            ("Are there more {p} than {b} but fewer than {c}?",
             "Do the {p} outnumber the {b} without outnumbering the {c}?"),
            TWO),
        Program("count-times", "count", "boolean",
            (N, N_B, arithmetic("times", 2, "@m", text="{m} the second number"), comparison("greater", 1, 3, text="whether the first number is greater than that")),
            ("Are there more than {m} as many {p} as {b}?",
             "Would {m} the number of {b} still be less than the number of {p}?"),
            {"b": "small", "m": "times"}, pooled=True),
        Program("count-fewest", "count", "boolean",
            (N, N_B, N_C, comparison("below all", 1, 2, 3, text="whether the first number is below both others")),
            ("Are the {p} fewer than both the {b} and the {c}?",
             "Are the {p} outnumbered both by the {b} and by the {c}?"),
            TWO),
        Program("count-most", "count", "boolean",
            (N, N_B, N_C, comparison("above all", 1, 2, 3, text="whether the first number is above both others")),
            ("Are there more {p} than {b} and also more than {c}?",
             "Do the {p} outnumber the {b} as well as the {c}?"),
            TWO),
        Program("count-outnumbering", "count", "number",
            (N, N_B, N_C, comparison("outnumbering", 1, 2, 3, text="how many of the other two numbers are greater than the first")),
            ("How many of these two are more numerous than the {p}: the {b} and the {c}?",
             "Of the two groups, the {b} and the {c}, how many outnumber the {p}?"),
            TWO),
        Program("count-outnumbered", "count", "number",
            (N, N_B, N_C, comparison("outnumbered", 1, 2, 3, text="how many of the other two numbers are smaller than the first")),
            ("How many of these two are smaller in number than the {p}: the {b} and the {c}?",
             "Taking the {b} and the {c}, how many of the two are outnumbered by the {p}?"),
            TWO),
        Program("count-largest", "count", "number",
            (N, N_B, N_C, comparison("largest", 1, 2, 3, text="the largest of the three numbers")),
            ("What is the largest of these three numbers: the number of {p}, of {b}, or of {c}?",
             "Which number is the greatest: that of the {p}, that of the {b} or that of the {c}?"),
            TWO),
        Program("count-smallest", "count", "number",
            (N, N_B, N_C, comparison("smallest", 1, 2, 3, text="the smallest of the three numbers")),
            ("What is the smallest of these three numbers: the number of {p}, of {b}, or of {c}?",
             "Comparing the {p}, the {b} and the {c}, what is the lowest of the three numbers?"),
            TWO),
        Program("count-middle", "count", "number",
            (N, N_B, N_C, comparison("middle", 1, 2, 3, text="the middle one of the three numbers")),
            ("If the numbers of {p}, of {b} and of {c} are put in order of size, which number stands in the middle?",
             "Of the number of {p}, the number of {b} and the number of {c}, which is neither the highest nor the lowest number?"),
            TWO),
        Program("count-dozens", "count", "number",
            (N, N_B, arithmetic("add", 1, 2, text="both numbers added up"), arithmetic("quotient", 3, "=12", text="the full dozens in the sum")),
            ("How many full dozens do the {p} and the {b} make together?",),
            {"b": "count"}, pooled=True),
        Program("count-groups", "count", "number",
            (N, N_B, arithmetic("add", 1, 2, text="both numbers added up"), arithmetic("quotient", 3, "@k", text="how often {k} fits into the sum")),
            ("How many complete groups of {k} could be made up from the {p} and the {b} together?",),
            {"b": "count", "k": "group"}, pooled=True),
        *(
            Program(f"count-{series}-sum", "count", "entity",
                (N, N_B, arithmetic("add", 1, 2, text="both numbers added up"), recall(f"{series} at", 3, text=text)),
                (wording.format(x="the number of {p} plus the number of {b}"),), {"b": "small"}, pooled=True)
            for series, text, wording in LISTS[0::2]
        ),
        *(
            Program(f"count-{series}-difference", "count", "entity",
                (N, N_B, arithmetic("apart", 1, 2, text="the difference of the two numbers"), recall(f"{series} at", 3, text=text)),
                (wording.format(x="the difference between the number of {p} and the number of {b}"),), {"b": "small"}, pooled=True)
            for series, text, wording in LISTS[1::2]
        ),
        Program("count-polygon", "count", "entity",
            (N, N_B, arithmetic("add", 1, 2, text="both numbers added up"), recall("polygon at", 3, text="the polygon with that many sides")),
            ("What do you call a polygon that has as many sides as there are {p} and {b} together?",), {"b": "small"}, pooled=True),
        Program("count-president-capital", "count", "entity",
            (N, recall("president at", 1, text="the US president with that number in the list of presidents"),
             recall("birth state", 2, text="the state he was born in"), recall("state capital", 3, text="the capital of that state")),
            ("What is the capital of the state where the US president was born whose number in the list of presidents is the number of {p}?",
             "Number the US presidents in order and take the one whose number is that of the {p}: what is the capital of his native state?"), pooled=True),
        Program("count-president-next", "count", "entity",
            (N, recall("president at", 1, text="the US president with that number in the list of presidents"),
             recall("next president", 2, text="the president who followed him"), recall("birth state", 3, text="the state that one was born in")),
            ("In which state was the man born who followed the US president whose number in the list of presidents is the number of {p}?",), pooled=True),
        # other numbers of steps
        Program("count-more-2", "count", "boolean",
            (N, comparison("more", 1, "@k", text="whether that is more than {k}")),
            ("Are there more than {k} {p}?",), {"k": "threshold:1"}),
        Program("count-more-3", "count", "boolean",
            (N, N_B, comparison("greater", 1, 2, text="whether the first number is greater")),
            ("Are there more {p} than {b}?",), {"b": "count"}),
        Program("count-apart-3", "count", "number",
            (N, N_B, arithmetic("apart", 1, 2, text="the difference of the two numbers")),
            ("By how many do the number of {p} and the number of {b} differ?",), {"b": "count"}),
        Program("count-both-5", "count", "boolean",
            (N, N_B, N_C, arithmetic("add", 2, 3, text="the second and the third number added up"), comparison("greater", 1, 4, text="whether the first number is greater than that")),
            ("Are there more {p} than {b} and {c} taken together?",), {"b": "small", "c": "small"}),
        Program("count-rest-5", "count", "number",
            (N, N_B, N_C, comparison("largest", 1, 2, text="the larger of the first two numbers"), arithmetic("apart", 4, 3, text="how far that is from the third")),
            ("By how many do the {c} differ in number from whichever are more, the {p} or the {b}?",), TWO),
    )  # fmt: skip


LISTS: tuple[tuple[str, str, str], ...] = (
    ("element", "the element with that atomic number", "Which chemical element has an atomic number equal to {x}?"),
    ("president", "the US president with that number", "Which US president's number in the list of presidents equals {x}?"),
    ("bible", "the book of the Bible at that place", "Which book's place in the Bible, counted from the first, equals {x}?"),
    ("state", "the state at that place in the order of joining", "Which US state's place in the order of joining the Union equals {x}?"),
    ("letter", "the letter at that place", "Which letter's place in the English alphabet equals {x}?"),
    ("greek", "the Greek letter at that place", "Which Greek letter's place in its alphabet equals {x}?"),
    ("planet", "the planet at that place from the Sun", "Which planet's place, counted outwards from the Sun, equals {x}?"),
    ("month", "the month with that number", "Which month's number in the calendar year equals {x}?"),
    ("zodiac", "the sign of the zodiac at that place", "Which sign's place in the Western zodiac, counted from Aries, equals {x}?"),
    ("chinese", "the animal at that place", "Which animal's place in the Chinese zodiac, counted from the rat, equals {x}?"),
    ("mohs", "the mineral of that hardness", "Which mineral's degree on the Mohs scale of hardness equals {x}?"),
    ("gift", "the gift of that day", "In the song about the Twelve Days of Christmas, which gift is new on the day whose number equals {x}?"),
)  # fmt: skip

# ---- years ----

Y = recall("value", text="the year of {p}")
Y_B = slot("b", "the year of {b}")
Y_C = slot("c", "the year of {c}")
EVENTS = {"b": "event", "c": "event"}
REIGN = recall("monarch", 1, text="who reigned in Britain or England in that year")
TERM = recall("president", 1, text="who was US president in that year")
GAMES = comparison("next games", 1, text="the first Summer Olympic year after that year")
CUP = comparison("next cup", 1, text="the first year of a football World Cup after that year")


def years() -> tuple[Program, ...]:
    """Questions on when something happened."""
    return (
        Program("year-alive", "year", "boolean",
            (Y, recall("birth", "@r", text="the year {r} was born"), recall("death", "@r", text="the year {r} died"), comparison("within", 1, 2, 3, text="whether the event came in between")),
            ("Was {r} alive at the time of {p}?",
             "Did {p} fall within the lifetime of {r}?",
             "Was {r} living in the year of {p}?",
             "Could {r} have heard the news of {p} as it happened?"),
            {"r": "person"}),
        Program("year-between", "year", "boolean",
            (Y, Y_B, Y_C, comparison("within", 1, 2, 3, text="whether the first year lies after the second and before the third")),
            ("Did {p} come after {b} but before {c}?",
             "Had {b} already happened, and was {c} still to come, in the year of {p}?"),
            EVENTS),
        Program("year-first", "year", "boolean",
            (Y, Y_B, Y_C, comparison("below all", 1, 2, 3, text="whether the first year is before both others")),
            ("Did {p} come earlier than both {b} and {c}?",
             "Among {p}, {b} and {c}, was the first-named the earliest?"),
            EVENTS),
        Program("year-last", "year", "boolean",
            (Y, Y_B, Y_C, comparison("above all", 1, 2, 3, text="whether the first year is after both others")),
            ("Did {p} take place later than {b} and later than {c}?",
             "Were {b} and {c} both things of the past by the year of {p}?"),
            EVENTS),
        Program("year-nearer", "year", "boolean",
            (Y, Y_B, Y_C, comparison("nearer", 1, 2, 3, text="whether the first year is nearer to the second than to the third")),
            ("Is {p} closer in time to {b} than to {c}?",
             "Did fewer years separate {p} from {b} than from {c}?"),
            EVENTS),
        Program("year-apart", "year", "boolean",
            (Y, Y_B, arithmetic("apart", 1, 2, text="the years between the two"), comparison("more", 3, "@k", text="whether that is more than {k}")),
            ("Did more than {k} years lie between {p} and {b}?",
             "Are {p} and {b} separated by more than {k} years?"),
            {"b": "event", "k": "threshold:3"}),
        Program("year-born", "year", "boolean",
            (Y, recall("birth", "@r", text="the year {r} was born"), arithmetic("after", 1, 2, text="the years from the birth to the event"), comparison("more", 3, "@k", text="whether that is more than {k}")),
            ("Was {r} born more than {k} years before {p}?",
             "Did {p} come more than {k} years after the birth of {r}?"),
            {"r": "person", "k": "threshold:3"}, most=2100),
        Program("year-president-native", "year", "boolean",
            (Y, TERM, recall("birth state", 2, text="the state that president was born in"), comparison("same", 3, "@s", text="whether that is {s}")),
            ("Was the US president at the time of {p} born in {s}?",
             "Did the United States have a president born in {s} in the year of {p}?"),
            {"s": "presidents' state"}),
        Program("year-royal-house", "year", "boolean",
            (Y, REIGN, recall("house", 2, text="the royal house of that monarch"), comparison("same", 3, "@s", text="whether that is {s}")),
            ("Did the monarch who reigned in London at the time of {p} belong to the House of {s}?",
             "Was somebody of the House of {s} on the English or British throne in the year of {p}?"),
            {"s": "royal house"}),
        Program("year-count-before", "year", "number",
            (Y, Y_B, Y_C, comparison("outnumbered", 1, 2, 3, text="how many of the other two years are earlier than the first")),
            ("How many of these two came before {p}: {b} and {c}?",
             "By the time of {p}, how many of the following two had already happened: {b} and {c}?"),
            EVENTS),
        Program("year-count-after", "year", "number",
            (Y, Y_B, Y_C, comparison("outnumbering", 1, 2, 3, text="how many of the other two years are later than the first")),
            ("How many of these two came after {p}: {b} and {c}?",
             "At the time of {p}, how many of these two were still to come: {b} and {c}?"),
            EVENTS),
        Program("year-latest", "year", "number",
            (Y, Y_B, Y_C, comparison("largest", 1, 2, 3, text="the latest of the three years")),
            ("In which year did the latest of these three events take place: {p}, {b} or {c}?",
             "By which year had all three of these happened: {p}, {b} and {c}?"),
            EVENTS),
        Program("year-earliest", "year", "number",
            (Y, Y_B, Y_C, comparison("smallest", 1, 2, 3, text="the earliest of the three years")),
            ("In which year did the earliest of these three events take place: {p}, {b} or {c}?",
             "Of {p}, {b} and {c}, one came first: in which year was that?"),
            EVENTS),
        Program("year-middle", "year", "number",
            (Y, Y_B, Y_C, comparison("middle", 1, 2, 3, text="the middle one of the three years")),
            ("Put {p}, {b} and {c} in order of time: in which year did the second of them happen?",
             "Which year belongs to the event that came between the other two: {p}, {b} or {c}?"),
            EVENTS),
        Program("year-decades", "year", "number",
            (Y, Y_B, arithmetic("apart", 1, 2, text="the years between the two"), arithmetic("quotient", 3, "=10", text="the full decades in them")),
            ("How many full decades lie between the year of {p} and the year of {b}?",),
            {"b": "event"}),
        Program("year-on-throne", "year", "number",
            (Y, REIGN, recall("accession", 2, text="the year that monarch came to the throne"), arithmetic("after", 1, 3, text="the years from then to the event")),
            ("By how many years did {p} come after the accession of the monarch then reigning in London?",
             "In the year of {p}, how many years had passed since the English or British monarch of the time came to the throne?"),
            most=2100),
        Program("year-left-throne", "year", "number",
            (Y, REIGN, recall("end of reign", 2, text="the year that reign ended"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("How many years after {p} did the reign of the monarch then on the English or British throne come to an end?",),
            most=2100),
        Program("year-left-office", "year", "number",
            (Y, TERM, recall("left office", 2, text="the year that president left office"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("How many years after {p} did the man who was then US president leave office?",),
            most=2100),
        Program("year-next-term", "year", "number",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("left office", 3, text="the year that one left office")),
            ("In which year did the successor of the man who was US president at the time of {p} leave office?",),
            most=2100),
        Program("year-next-president-state", "year", "entity",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("birth state", 3, text="the state that one was born in")),
            ("In which state was the man born who became the next US president after the one in office at the time of {p}?",
             "Which is the native state of the successor of the US president who was in office in the year of {p}?")),
        Program("year-next-president-party", "year", "entity",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("party", 3, text="that one's party")),
            ("Which political party put up the US president who succeeded the one in office at the time of {p}?",)),
        Program("year-president-capital", "year", "entity",
            (Y, TERM, recall("birth state", 2, text="the state that president was born in"), recall("state capital", 3, text="the capital of that state")),
            ("What is the capital of the state in which the US president at the time of {p} was born?",
             "The man who was US president in the year of {p} came from a state with which capital?")),
        Program("year-games-country", "year", "entity",
            (Y, GAMES, recall("games city", 2, text="the city that held those Games"), recall("city country", 3, text="the country that city lies in")),
            ("In which country was the first Summer Olympics after {p} held?",
             "Which country's city played host to the next Summer Olympic Games after {p}?")),
        Program("year-games-continent", "year", "entity",
            (Y, GAMES, recall("games country", 2, text="the country those Games were held in"), recall("country continent", 3, text="the continent of that country")),
            ("On which continent did athletes meet for the first Summer Olympics after {p}?",)),
        Program("year-cup-capital", "year", "entity",
            (Y, CUP, recall("cup winner", 2, text="the country that won it"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country that won the first football World Cup after {p}?",)),
        Program("year-cup-host-language", "year", "entity",
            (Y, CUP, recall("cup host", 2, text="the country it was played in"), recall("language", 3, text="the main language of that country")),
            ("What is the main language of the country that hosted the first football World Cup after {p}?",)),
        Program("year-next-house", "year", "entity",
            (Y, REIGN, recall("next monarch", 2, text="the monarch who came next"), recall("house", 3, text="that one's royal house")),
            ("To which royal house did the monarch belong who followed the one reigning in London at the time of {p}?",)),
        Program("year-next-heir", "year", "entity",
            (Y, REIGN, recall("next monarch", 2, text="the monarch who came next"), recall("next monarch", 3, text="the monarch after that one")),
            ("Who was the second monarch to come to the throne in London after the one who reigned at the time of {p}?",)),
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
        Program("year-nearest-5", "year", "number",
            (Y, Y_B, Y_C, comparison("smallest", 1, 2, text="the earlier of the first two years"), arithmetic("apart", 4, 3, text="the years between that one and the third")),
            ("How many years lie between {c} and whichever came first, {p} or {b}?",), EVENTS),
    )  # fmt: skip


# ---- people ----

BORN = recall("birth", 1, text="the year that person was born")
DIED = recall("death", 1, text="the year that person died")
HOME = recall("home", 1, text="the country that person came from")
WHO = recall("value", text="who {p} was")


def persons() -> tuple[Program, ...]:
    """Questions on who did something."""
    return (
        Program("person-born-before", "person", "boolean",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Was {p} born before {r}?",
             "Did {p} come into the world earlier than {r}?"),
            {"r": "person"}),
        Program("person-younger", "person", "boolean",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), comparison("greater", 2, 3, text="whether the first year is the later one")),
            ("Was {p} younger than {r}?",
             "Is the birth of {p} more recent than that of {r}?"),
            {"r": "person"}),
        Program("person-outlived", "person", "boolean",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), comparison("greater", 2, 3, text="whether the first year is the later one")),
            ("Did {p} die later than {r}?",
             "Was {r} already dead when {p} died?"),
            {"r": "person"}),
        Program("person-saw", "person", "boolean",
            (WHO, DIED, slot("b", "the year of {b}"), comparison("greater", 2, 3, text="whether the death came after the event")),
            ("Did {p} live past the year of {b}?",
             "Was the death of {p} later than {b}?"),
            {"b": "event"}),
        Program("person-before-event", "person", "boolean",
            (WHO, BORN, slot("b", "the year of {b}"), comparison("less", 2, 3, text="whether the birth came before the event")),
            ("Was {p} already born by the time of {b}?",
             "Did the birth of {p} come before {b}?"),
            {"b": "event"}),
        Program("person-alive", "person", "boolean",
            (WHO, BORN, DIED, comparison("within", "@y", 2, 3, text="whether {y} lies in between")),
            ("Was {p} alive in the year {y}?",
             "Did the lifetime of {p} include the year {y}?"),
            {"y": "year nearby"}),
        Program("person-died-before-born", "person", "boolean",
            (WHO, DIED, recall("birth", "@r", text="the year {r} was born"), comparison("less", 2, 3, text="whether the death came before the birth")),
            ("Did {p} die before {r} was born?",),
            {"r": "later person"}),
        Program("person-same-home", "person", "boolean",
            (WHO, HOME, recall("home", "@r", text="the country {r} came from"), comparison("same", 2, 3, text="whether the two countries are the same")),
            ("Did {p} come from the same country as {r}?",
             "Were {p} and {r} compatriots?"),
            {"r": "person"}),
        Program("person-home-continent", "person", "boolean",
            (WHO, HOME, recall("continent", 2, text="the continent of that country"), comparison("same", 3, "@s", text="whether that is {s}")),
            ("Is the country that {p} came from in {s}?",),
            {"s": "of a continent"}),
        Program("person-years", "person", "number",
            (WHO, BORN, DIED, arithmetic("after", 3, 2, text="the years from the birth to the death")),
            ("Counting from the year of birth to the year of death, how many years did {p} live?",
             "How many years lie between the birth and the death of {p}, going by calendar years?"),
            most=2100),
        Program("person-births-apart", "person", "number",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), arithmetic("apart", 2, 3, text="the years between the two births")),
            ("How many years lie between the birth years of {p} and {r}?",
             "By how many years do the births of {r} and {p} lie apart?"),
            {"r": "person"}, most=2100),
        Program("person-deaths-apart", "person", "number",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), arithmetic("apart", 2, 3, text="the years between the two deaths")),
            ("How many years passed between the death of {p} and that of {r}, whichever came first?",),
            {"r": "person"}, most=2100),
        Program("person-birth-event", "person", "number",
            (WHO, BORN, slot("b", "the year of {b}"), arithmetic("after", 3, 2, text="the years from the birth to the event")),
            ("How many years after the birth year of {p} did {b} come?",
             "{b} came how many years after the year {p} was born?"),
            {"b": "event"}, most=2100),
        Program("person-death-event", "person", "number",
            (WHO, DIED, slot("b", "the year of {b}"), arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years lie between the death of {p} and {b}?",),
            {"b": "event"}, most=2100),
        Program("person-born-accession", "person", "number",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("accession", 3, text="the year that monarch came to the throne")),
            ("In which year did the English or British monarch come to the throne who was reigning when {p} was born?",),
            most=2100),
        Program("person-earliest", "person", "number",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), comparison("smallest", 2, 3, text="the earlier of the two years")),
            ("In which year was the elder of these two born: {p} or {r}?",
             "What is the birth year of whoever is the older of the two, {p} or {r}?"),
            {"r": "person"}, most=2100),
        Program("person-longest", "person", "number",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), comparison("largest", 2, 3, text="the later of the two years")),
            ("In which year did the later of two deaths fall, that of {p} or that of {r}?",),
            {"r": "person"}, most=2100),
        Program("person-river", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country"), recall("river", 3, text="the river that capital stands on")),
            ("On which river does the capital of the country stand that {p} came from?",
             "Which river flows through the capital of the homeland of {p}?")),
        Program("person-home-code", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country"), recall("letter code", 3, text="the NATO code word for the first letter of the capital")),
            ("Which NATO code word stands for the first letter of the capital of the country that {p} came from?",)),
        Program("person-birth-house", "person", "entity",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("house", 3, text="that monarch's royal house")),
            ("To which royal house did the monarch belong who reigned in London when {p} was born?",
             "Which royal house held the English or British throne in the year {p} was born?")),
        Program("person-death-house", "person", "entity",
            (WHO, DIED, recall("monarch", 2, text="who reigned in London in that year"), recall("house", 3, text="that monarch's royal house")),
            ("Which royal house did the monarch come from who was on the throne in London when {p} died?",)),
        Program("person-death-heir", "person", "entity",
            (WHO, DIED, recall("monarch", 2, text="who reigned in London in that year"), recall("next monarch", 3, text="the monarch who came next")),
            ("Who succeeded the king or queen who was reigning in London when {p} died?",
             "Which monarch followed on the English or British throne after the one who reigned in the year {p} died?")),
        Program("person-birth-heir", "person", "entity",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("next monarch", 3, text="the monarch who came next")),
            ("Which king or queen came to the throne next in London after the one reigning when {p} was born?",)),
        Program("person-birth-state", "person", "entity",
            (WHO, BORN, recall("president", 2, text="who was US president in that year"), recall("birth state", 3, text="the state that president was born in")),
            ("In which state was the man born who was US president in the year {p} was born?",)),
        Program("person-birth-next", "person", "entity",
            (WHO, BORN, recall("president", 2, text="who was US president in that year"), recall("next president", 3, text="the president who came next")),
            ("Who became US president after the one in office when {p} was born?",)),
        Program("person-death-next", "person", "entity",
            (WHO, DIED, recall("president", 2, text="who was US president in that year"), recall("next president", 3, text="the president who came next")),
            ("Which US president succeeded the one who was in office in the year {p} died?",)),
        Program("person-death-state", "person", "entity",
            (WHO, DIED, recall("president", 2, text="who was US president in that year"), recall("birth state", 3, text="the state that president was born in")),
            ("Which US state was the birthplace of the president in office when {p} died?",)),
        Program("person-games", "person", "entity",
            (WHO, DIED, comparison("next games", 2, text="the first Summer Olympic year after that year"), recall("games city", 3, text="the city that held those Games")),
            ("Which city hosted the first Summer Olympics after the death of {p}?",)),
        # other numbers of steps
        Program("person-born-2", "person", "number",
            (WHO, BORN), ("In which year was {p} born?",), most=2100),
        Program("person-died-2", "person", "number",
            (WHO, DIED), ("In which year did {p} die?",), most=2100),
        Program("person-capital-3", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country")),
            ("What is the capital of the country that {p} came from?",)),
        Program("person-born-3", "person", "boolean",
            (WHO, BORN, comparison("more", 2, "@k", text="whether that is after {k}")),
            ("Was {p} born after {k}?",), {"k": "threshold:2"}, most=2100),
        Program("person-lived-5", "person", "boolean",
            (WHO, BORN, DIED, arithmetic("after", 3, 2, text="the years from the birth to the death"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Do more than {k} years lie between the birth and the death of {p}?",), {"k": "threshold:4"}, most=2100),
    )  # fmt: skip


# ---- countries ----

LAND = recall("value", text="which country is meant by {p}")
SEAT = recall("capital", 1, text="the capital of that country")
OTHERS = {"a": "country", "b": "country"}


def countries() -> tuple[Program, ...]:
    """Questions on where something is or comes from."""
    return (
        Program("country-parallel", "country", "boolean",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), comparison("greater", 3, "@k", text="whether that is greater than {k}")),
            ("Does the capital of {p} lie north of the {k}th parallel north?",
             "Is the capital of {p} more than {k} degrees north of the equator?"),
            {"k": "parallel"}),
        Program("country-continent", "country", "boolean",
            (LAND, recall("continent", 1, text="the continent of that country"), recall("continent", "@a", text="the continent of {a}"), comparison("same", 2, 3, text="whether the two continents are the same")),
            ("Is {p} on the same continent as {a}?",
             "Could you travel from {p} to {a} and still be on the same continent?"),
            {"a": "country"}),
        Program("country-language", "country", "boolean",
            (LAND, recall("language", 1, text="the main language of that country"), recall("language", "@a", text="the main language of {a}"), comparison("same", 2, 3, text="whether the two languages are the same")),
            ("Do {a} and {p} have the same main language?",
             "Would a speaker of the main language of {a} be at home with the main language of {p}?"),
            {"a": "country"}),
        Program("country-side", "country", "boolean",
            (LAND, recall("side", 1, text="the side of the road that traffic keeps to in that country"), recall("side", "@a", text="the side of the road that traffic keeps to in {a}"), comparison("same", 2, 3, text="whether the two sides are the same")),
            ("Do drivers in {p} keep to the same side of the road as drivers in {a}?",
             "Does traffic in {p} run on the same side as in {a}?"),
            {"a": "country"}),
        Program("country-count-continent", "country", "number",
            (LAND, recall("continent", 1, text="the continent of that country"), recall("continents of", "@a", "@b", "@c", text="the continents of {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("How many of these countries share a continent with {p}: {a}, {b} and {c}?",
             "Of {a}, {b} and {c}, how many are on the continent of {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-side", "country", "number",
            (LAND, recall("side", 1, text="the side of the road that traffic keeps to in that country"), recall("sides of", "@a", "@b", "@c", text="the sides that traffic keeps to in {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("In how many of these countries does traffic keep to the same side as in {p}: {a}, {b} and {c}?",
             "Taking {a}, {b} and {c}, in how many do people drive on the same side of the road as in {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-language", "country", "number",
            (LAND, recall("language", 1, text="the main language of that country"), recall("languages of", "@a", "@b", "@c", text="the main languages of {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("How many of these countries have the same main language as {p}: {a}, {b} and {c}?",
             "Among {a}, {b} and {c}, how many use the same main language as {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-north", "country", "number",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), comparison("capitals north", 3, "@a", "@b", "@c", text="how many of the capitals of {a}, {b} and {c} lie further north")),
            ("How many of these countries have a capital further north than the capital of {p}: {a}, {b} and {c}?",
             "Of the capitals of {a}, {b} and {c}, how many lie further north than the capital of {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-river-letters", "country", "number",
            (LAND, SEAT, recall("river", 2, text="the river that capital stands on"), arithmetic("letters", 3, text="the letters in the name of that river")),
            ("How many letters are there in the name of the river that runs through the capital of {p}?",
             "Spell the name of the river on which the capital of {p} stands: how many letters do you need?")),
        Program("country-letters-apart", "country", "number",
            (LAND, SEAT, arithmetic("letters", 2, text="the letters in the name of that capital"), comparison("longer capitals", 3, "@a", "@b", "@c", text="how many of the capitals of {a}, {b} and {c} have more letters")),
            ("How many of the capitals of {a}, {b} and {c} have a longer name than the capital of {p}?",),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-mouth", "country", "entity",
            (LAND, SEAT, recall("river", 2, text="the river that capital stands on"), recall("mouth", 3, text="the sea that river flows into")),
            ("Into which sea does the river flow that runs through the capital of {p}?",
             "A boat drifting downstream from the capital of {p} would in the end reach which part of the sea?")),
        Program("country-tongue", "country", "entity",
            (LAND, recall("language", 1, text="the main language of that country"), recall("cradle", 2, text="the country that language comes from"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country where the main language of {p} originally comes from?",
             "The main language of {p} spread from, or belongs to, a country with which capital?")),
        Program("country-capital-code", "country", "entity",
            (LAND, SEAT, recall("first letter", 2, text="the first letter of that capital"), recall("nato", 3, text="the NATO code word for that letter")),
            ("Which NATO code word stands for the letter that the capital of {p} begins with?",
             "Spelling out the capital of {p} on the radio, with which word of the NATO alphabet would you start?")),
        Program("country-language-code", "country", "entity",
            (LAND, recall("language", 1, text="the main language of that country"), recall("first letter", 2, text="the first letter of the name of that language"), recall("nato", 3, text="the NATO code word for that letter")),
            ("With which word of the NATO alphabet does one begin to spell the name of the main language of {p}?",)),
        Program("country-capital-next", "country", "entity",
            (LAND, SEAT, recall("first letter", 2, text="the first letter of that capital"), recall("letter after", 3, text="the next letter of the alphabet")),
            ("Which letter comes in the alphabet right after the one that begins the name of the capital of {p}?",
             "Take the first letter of the capital of {p}: what letter follows it in the alphabet?")),
        # other numbers of steps
        Program("country-capital-2", "country", "entity",
            (LAND, SEAT), ("What is the capital of {p}?",)),
        Program("country-language-2", "country", "entity",
            (LAND, recall("language", 1, text="the main language of that country")), ("What is the main language of {p}?",)),
        Program("country-letters-3", "country", "number",
            (LAND, SEAT, arithmetic("letters", 2, text="the letters in the name of that capital")),
            ("How many letters does the name of the capital of {p} have?",)),
        Program("country-continent-3", "country", "boolean",
            (LAND, recall("continent", 1, text="the continent of that country"), comparison("same", 2, "@s", text="whether that is {s}")),
            ("Does {p} lie in {s}?",), {"s": "of a continent"}),
        Program("country-north-5", "country", "boolean",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), recall("latitude of capital", "@a", text="the latitude of the capital of {a}"), comparison("greater", 3, 4, text="whether the first capital lies further north")),
            ("Is the capital of {p} further north than the capital of {a}?",), {"a": "country"}),
    )  # fmt: skip


# ---- elements ----

STUFF = recall("value", text="which element is meant by {p}")
PROTONS = recall("element place", 1, text="the atomic number of that element")
R_PROTONS = recall("element place", "@r", text="the atomic number of {r}")


def elements() -> tuple[Program, ...]:
    """Questions on what something is made of."""
    return (
        Program("element-more", "element", "boolean",
            (STUFF, PROTONS, R_PROTONS, comparison("greater", 2, 3, text="whether the first number is greater")),
            ("Does an atom of {p} have more protons than an atom of {r}?",
             "Does {p} come later in the periodic table than {r}?",
             "Is the atomic number of {r} exceeded by that of {p}?"),
            {"r": "element"}),
        Program("element-apart", "element", "number",
            (STUFF, PROTONS, R_PROTONS, arithmetic("apart", 2, 3, text="the difference of the two numbers")),
            ("How many places apart are {p} and {r} in the periodic table?",
             "By how many protons do an atom of {p} and an atom of {r} differ?"),
            {"r": "element"}),
        Program("element-together", "element", "number",
            (STUFF, PROTONS, R_PROTONS, arithmetic("add", 2, 3, text="both numbers added up")),
            ("How many protons do one atom of {p} and one atom of {r} have between them?",),
            {"r": "element"}),
        Program("element-count", "element", "number",
            (STUFF, PROTONS, recall("places of", "@r", "@s", "@t", text="the atomic numbers of {r}, {s} and {t}"), comparison("count above", 2, 3, text="how many of the three are greater than the first")),
            ("How many of these elements have a higher atomic number than {p}: {r}, {s} and {t}?",),
            {"r": "element", "s": "element", "t": "element"}),
        Program("element-further", "element", "entity",
            (STUFF, PROTONS, arithmetic("add", 2, "@k", text="that number plus {k}"), recall("element at", 3, text="the element with that atomic number")),
            ("Which element has exactly {k} protons more in its nucleus than {p}?",
             "Going on by {k} places in the periodic table from {p}, which element do you reach?"),
            {"k": "few"}),
        Program("element-code", "element", "entity",
            (STUFF, recall("symbol", 1, text="the chemical symbol of that element"), recall("first letter", 2, text="the first letter of that symbol"), recall("nato", 3, text="the NATO code word for that letter")),
            ("Which word of the NATO alphabet stands for the first letter of the chemical symbol of {p}?",)),
        Program("element-symbol-2", "element", "entity",
            (STUFF, recall("symbol", 1, text="the chemical symbol of that element")), ("What is the chemical symbol of {p}?",)),
        Program("element-number-2", "element", "number",
            (STUFF, PROTONS), ("What is the atomic number of {p}?",)),
        Program("element-next-3", "element", "boolean",
            (STUFF, PROTONS, comparison("more", 2, "@k", text="whether that is more than {k}")),
            ("Does an atom of {p} have more than {k} protons?",), {"k": "threshold:2"}),
        Program("element-symbol-5", "element", "entity",
            (STUFF, PROTONS, arithmetic("add", 2, "@k", text="that number plus {k}"), recall("element at", 3, text="the element with that atomic number"), recall("symbol", 4, text="its chemical symbol")),
            ("What is the chemical symbol of the element with {k} protons more than {p}?",), {"k": "few"}),
    )  # fmt: skip


# ---- animals ----

BEAST = recall("value", text="which animal is meant by {p}")
CLASS = recall("class", 1, text="the class of animals it belongs to")
LEGS = recall("legs", 1, text="the number of its legs")


def animals() -> tuple[Program, ...]:
    """Questions on which animal does something."""
    return (
        Program("animal-class", "animal", "boolean",
            (BEAST, CLASS, recall("class", "@a", text="the class of animals that the {a} belongs to"), comparison("same", 2, 3, text="whether the two classes are the same")),
            ("Does {p} belong to the same class of animals as the {a}?",
             "Would a zoologist put {p} into one class with the {a}?"),
            {"a": "animal"}),
        Program("animal-legs", "animal", "boolean",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), comparison("greater", 2, 3, text="whether the first number is greater")),
            ("Does {p} have more legs than the {a}?",),
            {"a": "animal"}),
        Program("animal-legs-together", "animal", "number",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), arithmetic("add", 2, 3, text="both numbers added up")),
            ("How many legs do {p} and the {a} have between them?",),
            {"a": "animal"}),
        Program("animal-count-class", "animal", "number",
            (BEAST, CLASS, recall("classes of", "@a", "@b", "@c", text="the classes of the {a}, the {b} and the {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("How many of these belong to the same class of animals as {p}: the {a}, the {b} and the {c}?",
             "Of the {a}, the {b} and the {c}, how many are in one class with {p}?"),
            {"a": "animal", "b": "animal", "c": "animal"}),
        Program("animal-polygon", "animal", "entity",
            (BEAST, LEGS, arithmetic("times", 2, "=2", text="twice that number"), recall("polygon at", 3, text="the polygon with that many sides")),
            ("What do you call a polygon with twice as many sides as {p} has legs?",)),
        Program("animal-science", "animal", "entity",
            (BEAST, CLASS, recall("science", 2, text="the branch of zoology that studies that class"), recall("letter code", 3, text="the NATO code word for its first letter")),
            ("Which NATO code word stands for the first letter of the science that studies the class of animals to which {p} belongs?",)),
        Program("animal-class-2", "animal", "entity",
            (BEAST, CLASS), ("To which class of animals does {p} belong?",)),
        Program("animal-science-3", "animal", "entity",
            (BEAST, CLASS, recall("science", 2, text="the branch of zoology that studies that class")),
            ("What is the science called that studies the class of animals to which {p} belongs?",)),
        Program("animal-legs-5", "animal", "boolean",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), arithmetic("add", 2, 3, text="both numbers added up"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Do {p} and the {a} have more than {k} legs between them?",), {"a": "animal", "k": "threshold:4"}),
    )  # fmt: skip


# ---- states, months, planets ----

STATE = recall("value", text="which state is meant by {p}")
JOINED = recall("admission", 1, text="the year that state joined the Union")
MONTH = recall("value", text="which month is meant by {p}")
PLACE = recall("month place", 1, text="the number of that month in the year")
WORLD = recall("value", text="which planet is meant by {p}")
ORBIT = recall("planet place", 1, text="its place counted from the Sun")


def places() -> tuple[Program, ...]:
    """Questions on states of the United States, months and planets."""
    return (
        Program("state-before", "state", "boolean",
            (STATE, JOINED, recall("admission", "@s", text="the year {s} joined the Union"), comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Did {p} join the Union before {s} did?",),
            {"s": "us state"}),
        Program("state-before-event", "state", "boolean",
            (STATE, JOINED, slot("b", "the year of {b}"), comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Was {p} already part of the Union at the time of {b}?",),
            {"b": "event"}),
        Program("state-apart", "state", "number",
            (STATE, JOINED, recall("admission", "@s", text="the year {s} joined the Union"), arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years lie between the admission of {p} and that of {s} to the Union?",),
            {"s": "us state"}, most=2100),
        Program("state-president", "state", "entity",
            (STATE, JOINED, recall("president", 2, text="who was US president in that year"), recall("next president", 3, text="the president who came next")),
            ("Who was the next US president after the one in office when {p} joined the Union?",)),
        Program("state-code", "state", "entity",
            (STATE, recall("state capital", 1, text="the capital of that state"), recall("first letter", 2, text="the first letter of that capital"), recall("nato", 3, text="the NATO code word for that letter")),
            ("Which NATO code word stands for the letter that begins the name of the capital of {p}?",)),
        Program("state-capital-2", "state", "entity",
            (STATE, recall("state capital", 1, text="the capital of that state")), ("What is the capital of {p}?",)),
        Program("state-president-3", "state", "entity",
            (STATE, JOINED, recall("president", 2, text="who was US president in that year")),
            ("Who was US president when {p} joined the Union?",)),
        Program("state-apart-5", "state", "boolean",
            (STATE, JOINED, slot("b", "the year of {b}"), arithmetic("apart", 2, 3, text="the years between the two"), comparison("more", 4, "@k", text="whether that is more than {k}")),
            ("Do more than {k} years lie between {b} and the year in which {p} joined the Union?",), {"b": "event", "k": "threshold:4"}, most=2100),
        Program("month-later", "month", "entity",
            (MONTH, PLACE, arithmetic("months on", 2, "@k", text="that number plus {k}, starting again after twelve"), recall("month at", 3, text="the month with that number")),
            ("Which month comes {k} months after {p}?",
             "Somebody sets out on a journey of {k} months in {p}: in which month does it end?"),
            {"k": "few"}),
        Program("month-apart", "month", "number",
            (MONTH, PLACE, recall("month place", "@r", text="the number of {r} in the year"), arithmetic("apart", 2, 3, text="the difference of the two numbers")),
            ("Within one calendar year, how many months apart are {r} and {p}?",), {"r": "month"}),
        Program("month-before", "month", "boolean",
            (MONTH, PLACE, recall("month place", "@r", text="the number of {r} in the year"), comparison("less", 2, 3, text="whether the first month comes earlier")),
            ("Does {p} come earlier in the calendar year than {r}?",), {"r": "month"}),
        Program("month-number-2", "month", "number",
            (MONTH, PLACE), ("What number in the year has {p}?",)),
        Program("month-later-3", "month", "boolean",
            (MONTH, PLACE, comparison("more", 2, "@k", text="whether that is more than {k}")),
            ("Does {p} come after the first {k} months of the year?",), {"k": "threshold:2"}),
        Program("planet-further", "planet", "boolean",
            (WORLD, ORBIT, recall("planet place", "@r", text="the place of {r} counted from the Sun"), comparison("greater", 2, 3, text="whether the first planet is further out")),
            ("Is {p} further from the Sun than {r}?",), {"r": "planet"}),
        Program("planet-apart", "planet", "number",
            (WORLD, ORBIT, recall("planet place", "@r", text="the place of {r} counted from the Sun"), arithmetic("apart", 2, 3, text="the difference of the two places")),
            ("Counting outwards from the Sun, how many places apart are {r} and {p}?",), {"r": "planet"}),
        Program("planet-next", "planet", "entity",
            (WORLD, ORBIT, arithmetic("add", 2, "@k", text="that place plus {k}"), recall("planet at", 3, text="the planet at that place")),
            ("Counting the planets outwards from {p}, which one is number {k}?",), {"k": "step"}),
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
             "Going through {x}, {y} and {p}, how many do you find that {has}?",
             "Among {y}, {x} and {p}, how many {has}?",
             "How many examples of {group} are there among {p}, {y} and {x}?",
             "What is the number of {group} to be found among {x}, {y} and {p}?",
             "A quiz asks to tick all {group}: how many ticks belong to {y}, {p} and {x}?",
             "If somebody names {p}, {x} and {y} as examples of {group}, how many of the three are right?",
             "You get one point for each of these that you rightly count among {group}: {x}, {p} and {y}; how many points can you get?"),
            THINGS),
        Program("yesno-wrong", "yesno", "number",
            (*three, logic("count no", 1, 2, 3, text="how many of the three it does not hold of")),
            ("How many of {p}, {x} and {y} would you have to strike off a list of {group}?",
             "Somebody claims that {x}, {y} and {p} all {has}: for how many of the three is that wrong?",
             "After picking out all {group}, how many of {y}, {p} and {x} are left over?",
             "For how many of these three is it false to say that they {has}: {x}, {p}, {y}?",
             "How many wrong entries are there in a list of {group} that names {y}, {x} and {p}?",
             "Asked for three {group}, somebody answers {p}, {y} and {x}: how many mistakes is that?",
             "How many of {x}, {p} and {y} do not belong among {group}?"),
            THINGS),
        Program("yesno-all", "yesno", "boolean",
            (*three, logic("all", 1, 2, 3, text="whether it holds of all three")),
            ("Is it true that {p}, {x} and {y} all {has}?",
             "Could a list of {group} rightly contain all of {x}, {p} and {y}?",
             "Do {y}, {p} and {x} without exception belong on a list of {group}?",
             "Would it be right to say of {x}, {y} and {p} that all three {has}?"),
            THINGS),
        Program("yesno-none", "yesno", "boolean",
            (*three, logic("none", 1, 2, 3, text="whether it holds of none of the three")),
            ("Is it true that none of {p}, {x} and {y} {has}?",
             "Are {y}, {x} and {p} all wrong as examples of {group}?",
             "Would you look in vain for {group} among {x}, {p} and {y}?",
             "Would a list of {group} be missing all of {y}, {x} and {p}?"),
            THINGS),
        Program("yesno-one", "yesno", "boolean",
            (*three, logic("exactly one", 1, 2, 3, text="whether it holds of exactly one of the three")),
            ("Is it true that only one of {p}, {x} and {y} can be counted among {group}?",
             "Is exactly one of {y}, {p} and {x} rightly named as an example of {group}?",
             "Would you have to strike all but one of {x}, {y} and {p} off a list of {group}?"),
            THINGS),
        Program("yesno-two", "yesno", "boolean",
            (*three, logic("exactly two", 1, 2, 3, text="whether it holds of exactly two of the three")),
            ("Is it true that exactly two of {p}, {x} and {y} {has}?",
             "Are two, but not all three, of {y}, {x} and {p} rightly called {group}?",
             "Of {x}, {p} and {y}, do exactly two belong on a list of {group}?",
             "Is there exactly one mistake in naming {y}, {p} and {x} as examples of {group}?"),
            THINGS),
        Program("yesno-most", "yesno", "boolean",
            (*three, logic("most", 1, 2, 3, text="whether it holds of at least two of the three")),
            ("Is it true that most of these three {has}: {p}, {x} and {y}?",
             "Would at least two of {p}, {y} and {x} fit on a list of {group}?",
             "Is it right that at least two of {y}, {x} and {p} {has}?",
             "If you guessed that {x}, {p} and {y} all {has}, would you be right more often than wrong?"),
            THINGS),
        Program("yesno-opposite-2", "yesno", "boolean",
            (IS, logic("opposite", 1, text="whether the claim is wrong")),
            ("Would it be wrong to count {p} among {group}?",)),
        Program("yesno-both-3", "yesno", "boolean",
            (IS, IS_X, logic("all", 1, 2, text="whether it holds of both")),
            ("Is it true that both {p} and {x} {has}?",), {"x": "thing"}),
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
            most=6000,
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
