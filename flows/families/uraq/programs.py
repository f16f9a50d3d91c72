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
             "Do the {p} and the {b} add up to more than {k}?",
             "Is the combined number of {p} and {b} above {k}?"),
            {"b": "count", "k": "threshold:3"}, pooled=True),
        Program("count-nearer", "count", "boolean",
            (N, N_B, N_C, comparison("nearer", 1, 2, 3, text="whether the first number is nearer to the second than to the third")),
            ("Is the number of {p} closer to the number of {b} than to the number of {c}?",
             "Does the number of {p} come closer to that of the {b} than to that of the {c}?"),
            TWO),
        Program("count-between", "count", "boolean",
            (N, N_B, N_C, comparison("between", 1, 2, 3, text="whether the first number lies between the other two")),
            ("Does the number of {p} lie between the number of {b} and the number of {c}?",
             "Does the number of {p} fall between that of the {b} and that of the {c}?"),
            TWO),
        Program("count-within", "count", "boolean",
            (N, N_B, N_C, comparison("within", 1, 2, 3, text="whether the first number is above the second and below the third")),
            ("Are there more {p} than {b} but fewer than {c}?",
             "Do the {p} outnumber the {b} but not the {c}?"),
            TWO),
        Program("count-times", "count", "boolean",
            (N, N_B, arithmetic("times", 2, "@m", text="{m} the second number"), comparison("greater", 1, 3, text="whether the first number is greater than that")),
            ("Are there more than {m} as many {p} as {b}?",
             "Is the number of {p} more than {m} that of the {b}?"),
            {"b": "small", "m": "times"}, pooled=True),
        Program("count-fewest", "count", "boolean",
            (N, N_B, N_C, comparison("below all", 1, 2, 3, text="whether the first number is below both others")),
            ("Are the {p} fewer than both the {b} and the {c}?",
             "Are the {p} outnumbered by the {b} as well as by the {c}?"),
            TWO),
        Program("count-most", "count", "boolean",
            (N, N_B, N_C, comparison("above all", 1, 2, 3, text="whether the first number is above both others")),
            ("Are there more {p} than {b} and also more than {c}?",
             "Do the {p} outnumber the {b} as well as the {c}?"),
            TWO),
        Program("count-largest", "count", "number",
            (N, N_B, N_C, comparison("largest", 1, 2, 3, text="the largest of the three numbers")),
            ("What is the largest of these three numbers: that of the {p}, of the {b} or of the {c}?",
             "Of the numbers of {p}, of {b} and of {c}, which is the greatest?"),
            TWO),
        Program("count-smallest", "count", "number",
            (N, N_B, N_C, comparison("smallest", 1, 2, 3, text="the smallest of the three numbers")),
            ("What is the smallest of these three numbers: that of the {p}, of the {b} or of the {c}?",
             "Of the numbers of {p}, of {b} and of {c}, which is the smallest?"),
            TWO),
        Program("count-middle", "count", "number",
            (N, N_B, N_C, comparison("middle", 1, 2, 3, text="the middle one of the three numbers")),
            ("If the numbers of {p}, of {b} and of {c} are put in order of size, which number stands in the middle?",
             "Of the numbers of {p}, of {b} and of {c}, which is neither the greatest nor the smallest?"),
            TWO),
        Program("count-total", "count", "number",
            (N, N_B, N_C, arithmetic("add", 1, 2, 3, text="the three numbers added up")),
            ("What is the total number of {p}, {b} and {c}?",
             "What do the numbers of {p}, of {b} and of {c} add up to?",
             "How many {p}, {b} and {c} are there in all?"),
            TWO, pooled=True),
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


# ---- years ----

Y = recall("value", text="the year of {p}")
Y_B = slot("b", "the year of {b}")
Y_C = slot("c", "the year of {c}")
EVENTS = {"b": "event", "c": "event"}
W = slot("w", "who {w} was")
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
             "Did {p} fall between {b} and {c}?"),
            EVENTS),
        Program("year-first", "year", "boolean",
            (Y, Y_B, Y_C, comparison("below all", 1, 2, 3, text="whether the first year is before both others")),
            ("Did {p} come earlier than both {b} and {c}?",
             "Did {p} happen before {b} as well as before {c}?"),
            EVENTS),
        Program("year-last", "year", "boolean",
            (Y, Y_B, Y_C, comparison("above all", 1, 2, 3, text="whether the first year is after both others")),
            ("Did {p} happen after {b} as well as after {c}?",
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
             "Was {s} the birthplace of the US president in office at the time of {p}?"),
            {"s": "presidents' state"}),
        Program("year-royal-house", "year", "boolean",
            (Y, REIGN, recall("house", 2, text="the royal house of that monarch"), comparison("same", 3, "@s", text="whether that is {s}")),
            ("Did the monarch who reigned in London at the time of {p} belong to the House of {s}?",
             "Was the English or British throne held by the House of {s} at the time of {p}?"),
            {"s": "royal house"}),
        Program("year-latest", "year", "number",
            (Y, Y_B, Y_C, comparison("largest", 1, 2, 3, text="the latest of the three years")),
            ("In which year did the latest of these three events take place: {p}, {b} or {c}?",
             "By which year had all three of these happened: {p}, {b} and {c}?"),
            EVENTS),
        Program("year-since-birth", "year", "number",
            (Y, W, recall("birth", 2, text="the year that person was born"), arithmetic("after", 1, 3, text="the years from the birth to the event")),
            ("How many years before {p} was {w} born?",
             "How many years lie between the birth of {w} and {p}?"),
            {"w": "person before"}, most=2100),
        Program("year-since-death", "year", "number",
            (Y, W, recall("death", 2, text="the year that person died"), arithmetic("apart", 1, 3, text="the years between the two")),
            ("How many years lie between {p} and the death of {w}?",
             "How many years apart are the death of {w} and {p}?"),
            {"w": "person before"}, most=2100),
        Program("year-lived-to-see", "year", "boolean",
            (Y, W, recall("death", 2, text="the year that person died"), comparison("less", 1, 3, text="whether the event came before the death")),
            ("Was {w} still alive at the time of {p}?",
             "Did {w} live to see {p}?"),
            {"w": "person before"}),
        Program("year-born-by", "year", "boolean",
            (Y, W, recall("birth", 2, text="the year that person was born"), comparison("greater", 1, 3, text="whether the event came after the birth")),
            ("Was {w} already born at the time of {p}?",
             "Had {w} been born by the time of {p}?"),
            {"w": "person about"}),
        Program("year-earliest", "year", "number",
            (Y, Y_B, Y_C, comparison("smallest", 1, 2, 3, text="the earliest of the three years")),
            ("In which year did the earliest of these three events take place: {p}, {b} or {c}?",
             "Of {p}, {b} and {c}, one came first: in which year was that?"),
            EVENTS),
        Program("year-middle", "year", "number",
            (Y, Y_B, Y_C, comparison("middle", 1, 2, 3, text="the middle one of the three years")),
            ("Put {p}, {b} and {c} in order of time: in which year did the second of them happen?",
             "In which year did the middle one of these three events happen: {p}, {b} or {c}?"),
            EVENTS),
        Program("year-on-throne", "year", "number",
            (Y, REIGN, recall("accession", 2, text="the year that monarch came to the throne"), arithmetic("after", 1, 3, text="the years from then to the event")),
            ("How many years before {p} had the monarch then reigning in London come to the throne?",
             "For how many years had the English or British monarch of the time been on the throne in the year of {p}?"),
            most=2100),
        Program("year-left-throne", "year", "number",
            (Y, REIGN, recall("end of reign", 2, text="the year that reign ended"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("How many years after {p} did the reign of the English or British monarch of the time end?",),
            most=2100),
        Program("year-left-office", "year", "number",
            (Y, TERM, recall("left office", 2, text="the year that president left office"), arithmetic("after", 3, 1, text="the years from the event to then")),
            ("How many years after {p} did the US president of the time leave office?",),
            most=2100),
        Program("year-next-term", "year", "number",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("left office", 3, text="the year that one left office")),
            ("In which year did the successor of the US president at the time of {p} leave office?",),
            most=2100),
        Program("year-next-president-state", "year", "entity",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("birth state", 3, text="the state that one was born in")),
            ("In which state was the man born who became the next US president after the one in office at the time of {p}?",
             "In which state was the successor of the US president at the time of {p} born?")),
        Program("year-next-president-party", "year", "entity",
            (Y, TERM, recall("next president", 2, text="the president who came next"), recall("party", 3, text="that one's party")),
            ("Which political party put up the US president who succeeded the one in office at the time of {p}?",
             "To which party did the successor of the US president at the time of {p} belong?")),
        Program("year-president-capital", "year", "entity",
            (Y, TERM, recall("birth state", 2, text="the state that president was born in"), recall("state capital", 3, text="the capital of that state")),
            ("What is the capital of the state in which the US president at the time of {p} was born?",
             "Which city is the capital of the state where the US president at the time of {p} was born?")),
        Program("year-games-country", "year", "entity",
            (Y, GAMES, recall("games city", 2, text="the city that held those Games"), recall("city country", 3, text="the country that city lies in")),
            ("In which country was the first Summer Olympics after {p} held?",
             "Which country hosted the next Summer Olympic Games after {p}?")),
        Program("year-games-continent", "year", "entity",
            (Y, GAMES, recall("games country", 2, text="the country those Games were held in"), recall("country continent", 3, text="the continent of that country")),
            ("On which continent did athletes meet for the first Summer Olympics after {p}?",)),
        Program("year-cup-capital", "year", "entity",
            (Y, CUP, recall("cup winner", 2, text="the country that won it"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country that won the first football World Cup after {p}?",
             "Which city is the capital of the winner of the first football World Cup after {p}?")),
        Program("year-cup-host-language", "year", "entity",
            (Y, CUP, recall("cup host", 2, text="the country it was played in"), recall("language", 3, text="the main language of that country")),
            ("What is the main language of the country that hosted the first football World Cup after {p}?",)),
        Program("year-next-house", "year", "entity",
            (Y, REIGN, recall("next monarch", 2, text="the monarch who came next"), recall("house", 3, text="that one's royal house")),
            ("To which royal house did the monarch belong who followed the one reigning in London at the time of {p}?",
             "To which royal house did the successor of the monarch reigning in London at the time of {p} belong?")),
        Program("year-next-heir", "year", "entity",
            (Y, REIGN, recall("next monarch", 2, text="the monarch who came next"), recall("next monarch", 3, text="the monarch after that one")),
            ("Who was the next but one on the throne in London after the monarch who reigned at the time of {p}?",)),
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
             "Was {r} born later than {p}?"),
            {"r": "person"}),
        Program("person-younger", "person", "boolean",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), comparison("greater", 2, 3, text="whether the first year is the later one")),
            ("Was {p} younger than {r}?",
             "Was {r} older than {p}?"),
            {"r": "person"}),
        Program("person-outlived", "person", "boolean",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), comparison("greater", 2, 3, text="whether the first year is the later one")),
            ("Did {p} die later than {r}?",
             "Was {r} already dead when {p} died?"),
            {"r": "person"}),
        Program("person-saw", "person", "boolean",
            (WHO, DIED, slot("b", "the year of {b}"), comparison("greater", 2, 3, text="whether the death came after the event")),
            ("Was {p} still alive in the year after {b}?",
             "Did {p} die after {b}?"),
            {"b": "event"}),
        Program("person-before-event", "person", "boolean",
            (WHO, BORN, slot("b", "the year of {b}"), comparison("less", 2, 3, text="whether the birth came before the event")),
            ("Was {p} already born by the time of {b}?",
             "Was {p} born before {b}?"),
            {"b": "event"}),
        Program("person-alive", "person", "boolean",
            (WHO, BORN, DIED, comparison("within", "@y", 2, 3, text="whether {y} lies in between")),
            ("Was {p} alive in the year {y}?",
             "Did the year {y} fall within the lifetime of {p}?"),
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
            ("What is the difference in years between the birth year and the death year of {p}?",
             "How many years lie between the birth year and the death year of {p}?"),
            most=2100),
        Program("person-births-apart", "person", "number",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), arithmetic("apart", 2, 3, text="the years between the two births")),
            ("How many years lie between the birth years of {p} and {r}?",
             "By how many years do the births of {r} and {p} lie apart?"),
            {"r": "person"}, most=2100),
        Program("person-deaths-apart", "person", "number",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), arithmetic("apart", 2, 3, text="the years between the two deaths")),
            ("How many years lie between the deaths of {p} and {r}?",),
            {"r": "person"}, most=2100),
        Program("person-birth-event", "person", "number",
            (WHO, BORN, slot("b", "the year of {b}"), arithmetic("after", 3, 2, text="the years from the birth to the event")),
            ("How many years before {b} was {p} born?",
             "How many years lie between the birth of {p} and {b}?"),
            {"b": "event"}, most=2100),
        Program("person-death-event", "person", "number",
            (WHO, DIED, slot("b", "the year of {b}"), arithmetic("apart", 2, 3, text="the years between the two")),
            ("How many years lie between the death of {p} and {b}?",),
            {"b": "event"}, most=2100),
        Program("person-born-accession", "person", "number",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("accession", 3, text="the year that monarch came to the throne")),
            ("In which year did the monarch reigning in London at the birth of {p} come to the throne?",),
            most=2100),
        Program("person-earliest", "person", "number",
            (WHO, BORN, recall("birth", "@r", text="the year {r} was born"), comparison("smallest", 2, 3, text="the earlier of the two years")),
            ("In which year was the elder of these two born: {p} or {r}?",
             "In which year was the elder of {p} and {r} born?"),
            {"r": "person"}, most=2100),
        Program("person-longest", "person", "number",
            (WHO, DIED, recall("death", "@r", text="the year {r} died"), comparison("largest", 2, 3, text="the later of the two years")),
            ("In which year did the later of these two deaths occur: that of {p} or that of {r}?",),
            {"r": "person"}, most=2100),
        Program("person-river", "person", "entity",
            (WHO, HOME, recall("capital", 2, text="the capital of that country"), recall("river", 3, text="the river that capital stands on")),
            ("On which river stands the capital of the country that {p} came from?",
             "Which river flows through the capital of the homeland of {p}?")),
        Program("person-birth-house", "person", "entity",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("house", 3, text="that monarch's royal house")),
            ("To which royal house did the monarch belong who reigned in London when {p} was born?",
             "Which royal house held the English or British throne in the year {p} was born?")),
        Program("person-death-house", "person", "entity",
            (WHO, DIED, recall("monarch", 2, text="who reigned in London in that year"), recall("house", 3, text="that monarch's royal house")),
            ("Which royal house did the monarch come from who was on the throne in London when {p} died?",
             "To which royal house did the monarch belong who reigned in London when {p} died?")),
        Program("person-death-heir", "person", "entity",
            (WHO, DIED, recall("monarch", 2, text="who reigned in London in that year"), recall("next monarch", 3, text="the monarch who came next")),
            ("Who succeeded the king or queen who was reigning in London when {p} died?",
             "Which monarch followed on the English or British throne after the one who reigned in the year {p} died?")),
        Program("person-birth-heir", "person", "entity",
            (WHO, BORN, recall("monarch", 2, text="who reigned in London in that year"), recall("next monarch", 3, text="the monarch who came next")),
            ("Who succeeded the king or queen who was reigning in London when {p} was born?",)),
        Program("person-birth-state", "person", "entity",
            (WHO, BORN, recall("president", 2, text="who was US president in that year"), recall("birth state", 3, text="the state that president was born in")),
            ("Which US state was the birthplace of the president in office when {p} was born?",
             "In which state was the US president born who was in office at the birth of {p}?")),
        Program("person-birth-next", "person", "entity",
            (WHO, BORN, recall("president", 2, text="who was US president in that year"), recall("next president", 3, text="the president who came next")),
            ("Who became US president after the one in office when {p} was born?",
             "Who succeeded the US president in office when {p} was born?")),
        Program("person-death-next", "person", "entity",
            (WHO, DIED, recall("president", 2, text="who was US president in that year"), recall("next president", 3, text="the president who came next")),
            ("Which US president succeeded the one who was in office in the year {p} died?",
             "Who succeeded the US president in office when {p} died?")),
        Program("person-death-state", "person", "entity",
            (WHO, DIED, recall("president", 2, text="who was US president in that year"), recall("birth state", 3, text="the state that president was born in")),
            ("Which US state was the birthplace of the president in office when {p} died?",
             "In which state was the US president born who was in office at the death of {p}?")),
        Program("person-games", "person", "entity",
            (WHO, DIED, comparison("next games", 2, text="the first Summer Olympic year after that year"), recall("games city", 3, text="the city that held those Games")),
            ("Which city hosted the first Summer Olympics after the death of {p}?",
             "In which city were the first Summer Olympics after the death of {p} held?")),
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

LAND = recall("value", text="{p}")
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
             "Do {p} and {a} lie on the same continent?"),
            {"a": "country"}),
        Program("country-language", "country", "boolean",
            (LAND, recall("language", 1, text="the main language of that country"), recall("language", "@a", text="the main language of {a}"), comparison("same", 2, 3, text="whether the two languages are the same")),
            ("Do {a} and {p} have the same main language?",
             "Is the main language of {a} also that of {p}?"),
            {"a": "country"}),
        Program("country-side", "country", "boolean",
            (LAND, recall("side", 1, text="the side of the road that traffic keeps to in that country"), recall("side", "@a", text="the side of the road that traffic keeps to in {a}"), comparison("same", 2, 3, text="whether the two sides are the same")),
            ("Do drivers in {p} keep to the same side of the road as drivers in {a}?",
             "Is traffic in {p} on the same side of the road as in {a}?"),
            {"a": "country"}),
        Program("country-count-continent", "country", "number",
            (LAND, recall("continent", 1, text="the continent of that country"), recall("continents of", "@a", "@b", "@c", text="the continents of {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("How many of the three countries {a}, {b} and {c} share a continent with {p}?",
             "Of {a}, {b} and {c}, how many lie on the same continent as {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-side", "country", "number",
            (LAND, recall("side", 1, text="the side of the road that traffic keeps to in that country"), recall("sides of", "@a", "@b", "@c", text="the sides that traffic keeps to in {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("In how many of these countries does traffic keep to the same side as in {p}: {a}, {b} and {c}?",
             "In how many of {a}, {b} and {c} do people drive on the same side of the road as in {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-language", "country", "number",
            (LAND, recall("language", 1, text="the main language of that country"), recall("languages of", "@a", "@b", "@c", text="the main languages of {a}, {b} and {c}"), comparison("count in", 2, 3, text="how many of the three are the same as the first")),
            ("How many of these countries have the same main language as {p}: {a}, {b} and {c}?",
             "How many of {a}, {b} and {c} share their main language with {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-count-north", "country", "number",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), comparison("capitals north", 3, "@a", "@b", "@c", text="how many of the capitals of {a}, {b} and {c} lie further north")),
            ("How many of these countries have a capital further north than the capital of {p}: {a}, {b} and {c}?",
             "Of the capitals of {a}, {b} and {c}, how many lie further north than the capital of {p}?"),
            {"a": "country", "b": "country", "c": "country"}),
        Program("country-mouth", "country", "entity",
            (LAND, SEAT, recall("river", 2, text="the river that capital stands on"), recall("mouth", 3, text="the sea that river flows into")),
            ("Into which sea flows the river that runs through the capital of {p}?",
             "Which sea would a boat reach that drifts downstream from the capital of {p}?")),
        Program("country-tongue", "country", "entity",
            (LAND, recall("language", 1, text="the main language of that country"), recall("cradle", 2, text="the country that language comes from"), recall("capital", 3, text="the capital of that country")),
            ("What is the capital of the country that the main language of {p} originally comes from?",)),
        # other numbers of steps
        Program("country-capital-2", "country", "entity",
            (LAND, SEAT), ("What is the capital of {p}?",)),
        Program("country-language-2", "country", "entity",
            (LAND, recall("language", 1, text="the main language of that country")), ("What is the main language of {p}?",)),
        Program("country-continent-3", "country", "boolean",
            (LAND, recall("continent", 1, text="the continent of that country"), comparison("same", 2, "@s", text="whether that is {s}")),
            ("Does {p} lie in {s}?",), {"s": "of a continent"}),
        Program("country-north-5", "country", "boolean",
            (LAND, SEAT, recall("latitude", 2, text="the latitude of that capital in degrees north"), recall("latitude of capital", "@a", text="the latitude of the capital of {a}"), comparison("greater", 3, 4, text="whether the first capital lies further north")),
            ("Is the capital of {p} further north than the capital of {a}?",), {"a": "country"}),
    )  # fmt: skip


# ---- elements ----

STUFF = recall("value", text="{p}")
PROTONS = recall("element place", 1, text="the atomic number of that element")
R_PROTONS = recall("element place", "@r", text="the atomic number of {r}")


def elements() -> tuple[Program, ...]:
    """Questions on what something is made of."""
    return (
        Program("element-more", "element", "boolean",
            (STUFF, PROTONS, R_PROTONS, comparison("greater", 2, 3, text="whether the first number is greater")),
            ("Does an atom of {p} have more protons than an atom of {r}?",
             "Does {p} come later in the periodic table than {r}?",
             "Is the atomic number of {p} greater than that of {r}?"),
            {"r": "element"}),
        Program("element-apart", "element", "number",
            (STUFF, PROTONS, R_PROTONS, arithmetic("apart", 2, 3, text="the difference of the two numbers")),
            ("How many places apart are {p} and {r} in the periodic table?",
             "What is the difference between the atomic numbers of {p} and {r}?"),
            {"r": "element"}),
        Program("element-together", "element", "number",
            (STUFF, PROTONS, R_PROTONS, arithmetic("add", 2, 3, text="both numbers added up")),
            ("How many protons do one atom of {p} and one atom of {r} have between them?",
             "What is the sum of the atomic numbers of {p} and {r}?"),
            {"r": "element"}),
        Program("element-further", "element", "entity",
            (STUFF, PROTONS, arithmetic("add", 2, "@k", text="that number plus {k}"), recall("element at", 3, text="the element with that atomic number")),
            ("Which element has exactly {k} protons more in its nucleus than {p}?",
             "Which element comes {k} places after {p} in the periodic table?"),
            {"k": "few"}),
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

BEAST = recall("value", text="{p}")
CLASS = recall("class", 1, text="the class of animals it belongs to")
LEGS = recall("legs", 1, text="the number of its legs")


def animals() -> tuple[Program, ...]:
    """Questions on which animal does something."""
    return (
        Program("animal-class", "animal", "boolean",
            (BEAST, CLASS, recall("class", "@a", text="the class of animals that the {a} belongs to"), comparison("same", 2, 3, text="whether the two classes are the same")),
            ("Does {p} belong to the same class of animals as the {a}?",
             "Are the {a} and {p} in the same class of animals?"),
            {"a": "animal"}),
        Program("animal-legs", "animal", "boolean",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), comparison("greater", 2, 3, text="whether the first number is greater")),
            ("Does {p} have more legs than the {a}?",
             "Does the {a} have fewer legs than {p}?"),
            {"a": "animal"}),
        Program("animal-legs-together", "animal", "number",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), arithmetic("add", 2, 3, text="both numbers added up")),
            ("How many legs do {p} and the {a} have between them?",
             "How many legs do the {a} and {p} have altogether?"),
            {"a": "animal"}),
        Program("animal-legs-apart", "animal", "number",
            (BEAST, LEGS, recall("legs", "@a", text="the number of legs of the {a}"), arithmetic("apart", 2, 3, text="the difference of the two numbers")),
            ("By how many legs do {p} and the {a} differ?",
             "What is the difference in the number of legs between the {a} and {p}?"),
            {"a": "animal"}),
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

STATE = recall("value", text="{p}")
JOINED = recall("admission", 1, text="the year that state joined the Union")
MONTH = recall("value", text="{p}")
PLACE = recall("month place", 1, text="the number of that month in the year")
WORLD = recall("value", text="{p}")
ORBIT = recall("planet place", 1, text="its place counted from the Sun")


def places() -> tuple[Program, ...]:
    """Questions on states of the United States, months and planets."""
    return (
        Program("state-before", "state", "boolean",
            (STATE, JOINED, recall("admission", "@s", text="the year {s} joined the Union"), comparison("less", 2, 3, text="whether the first year is the earlier one")),
            ("Did {p} join the Union before {s} did?",
             "Was {s} admitted to the Union later than {p}?"),
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
            ("Who succeeded the US president in office when {p} joined the Union?",)),
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
             "Which month is it {k} months after {p}?"),
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
            (WORLD, ORBIT, arithmetic("add", 2, "@o", text="the place of the {o} planet outwards"), recall("planet at", 3, text="the planet at that place")),
            ("Which is the {o} planet outwards from {p}?",), {"o": "step"}),
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
             "Among {y}, {x} and {p}, how many {has}?",
             "How many of {y}, {p} and {x} {has}?",
             "How many of {p}, {y} and {x} count among {group}?",
             "How many of the following three {has}: {x}, {p} and {y}?"),
            THINGS),
        Program("yesno-all", "yesno", "boolean",
            (*three, logic("all", 1, 2, 3, text="whether it holds of all three")),
            ("{do} {p}, {x} and {y} all {so}?",
             "{do} all three of {x}, {y} and {p} {so}?",
             "Is it true that all of {y}, {p} and {x} {has}?"),
            THINGS),
        Program("yesno-any", "yesno", "boolean",
            (*three, logic("any", 1, 2, 3, text="whether it holds of any of the three")),
            ("{do} any of {p}, {x} and {y} {so}?",
             "{do} any of these three {so}: {x}, {y} or {p}?"),
            THINGS),
        Program("yesno-two", "yesno", "boolean",
            (*three, logic("exactly two", 1, 2, 3, text="whether it holds of exactly two of the three")),
            ("{do} exactly two of {p}, {x} and {y} {so}?",
             "{do} only two of {x}, {y} and {p} {so}?"),
            THINGS),
        Program("yesno-most", "yesno", "boolean",
            (*three, logic("most", 1, 2, 3, text="whether it holds of at least two of the three")),
            ("{do} at least two of {p}, {x} and {y} {so}?",
             "Is it true that at least two of {x}, {y} and {p} {has}?"),
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
