"""The week of `tests/test_flows_annotate_week.py`: the records, who does what with which, and what is open each night.

Ann and Ben look at a laptop, Cleo at a phone. Lea leads them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

PEOPLE = {by: f"{by}@example.org" for by in ("ann", "ben", "cleo", "lea")}
ANNOTATORS, LEAD, ON_A_PHONE = ("ann", "ben", "cleo"), "lea", "cleo"

# ---- the records: dialogues as in Topical-Chat, and items that the rules make of six packaged statements ----

DIALOGUES = (
    {
        "id": "jazz",
        "history": [
            "Hi, do you like jazz? I have been listening to a lot of it lately.",
            "I do! I grew up with my father's records. Who do you listen to?",
            "Mostly Miles Davis, but my roommate prefers John Coltrane.",
            "Two giants. I would not want to choose.",
        ],
        "knowledge": "Miles Davis was a trumpeter who was born in Illinois in 1926 and recorded Kind of Blue in 1959. "
        "John Coltrane played the saxophone and recorded Giant Steps.",
        "response": "Miles Davis was born in Illinois in 1926.",
        "hard_utterance": "Where did mine come from, and when?",
        "easy_utterance": "Where and when was Miles Davis born?",
    },
    {
        "id": "birds",
        "history": [
            "Did you watch the penguins documentary last night?",
            "I missed it. Was it any good?",
            "It was great, they showed emperor penguins. There was something on puffins too, but I fell asleep.",
            "Then you missed half of it! I like the emperors best.",
        ],
        "knowledge": "The emperor penguin breeds during the Antarctic winter and can dive for more than twenty "
        "minutes. The puffin nests in burrows on northern cliffs and carries fish in its beak.",
        "response": "The emperor penguin can dive for more than twenty minutes.",
        "hard_utterance": "Do you know how long they can stay under water?",
        "easy_utterance": "How long can an emperor penguin stay under water?",
    },
    {
        "id": "mountains",
        "history": [
            "We are driving to the mountains for the long weekend.",
            "Nice, which ones?",
            "The Rockies. My brother wanted the Alps, but that is too far to drive lol.",
            "Haha, that would be a long drive. Take warm clothes.",
        ],
        "knowledge": "The Rocky Mountains stretch for 3,000 miles from Canada to New Mexico. The Alps are crossed by "
        "eight countries and Mont Blanc is their highest peak.",
        "response": "The Rocky Mountains stretch for 3,000 miles from Canada to New Mexico.",
        "hard_utterance": "How far do ours go?",
        "easy_utterance": "How far do the Rocky Mountains go?",
    },
)
RESPONSES = {str(dialogue["id"]): str(dialogue["response"]) for dialogue in DIALOGUES}

VOLCANOES = "Of K2, Mount Everest and Ben Nevis, how many are volcanoes?"
CALCIUM = "What is the difference between the atomic numbers of calcium and the gas that people need to take in"
FEMUR = "Are the femur, the collarbone and the kneecap all bones?"
CIDER = "Are at least two of the following alcoholic: champagne, lemonade and English cider?"
ISLANDS = "How many of these three are island countries: Cuba, Egypt and New Zealand?"
STARS = "How many of these three are stars: Titan, Polaris and Betelgeuse?"

# ---- the queues, by their titles ----

WRITE = "Write five wrong responses, each wrong in its own way"
CHECK = "Are both statements and both answers what they claim to be?"
PRACTISE_WRITING, PRACTISE_CHECKING = f"Practice: Right or wrong? {WRITE}", f"Practice: {CHECK}"
REVIEW, RETURNED, CORRECTED = f"Review: {WRITE}", f"Back from review: {WRITE}", f"Corrected: {WRITE}"
DECIDE, SURVEY = f"People disagree: {CHECK}", f"Your view: {WRITE}"
AUTHORING, JUDGING = "charpeval-authoring", "uraq-check"


class Form(NamedTuple):
    """The form of a queue."""

    rubric: str
    """Whose records it is about."""
    purpose: str
    name: str
    minutes: int
    """How long people have a task of it open."""


FORMS = {
    PRACTISE_WRITING: Form(AUTHORING, "practice", f"{AUTHORING}-judging-practice", 2),
    PRACTISE_CHECKING: Form(JUDGING, "practice", f"{JUDGING}-practice", 1),
    CHECK: Form(JUDGING, "work", JUDGING, 3),
    WRITE: Form(AUTHORING, "work", AUTHORING, 14),
    REVIEW: Form(AUTHORING, "review", f"{AUTHORING}-review", 6),
    RETURNED: Form(AUTHORING, "revision", f"{AUTHORING}-revision", 5),
    CORRECTED: Form(AUTHORING, "corrected", f"{AUTHORING}-corrected", 1),
    DECIDE: Form(JUDGING, "deciding", f"{JUDGING}-adjudication", 4),
    SURVEY: Form(AUTHORING, "survey", f"{AUTHORING}-survey", 2),
}

# ---- what everybody means ----


class Does(NamedTuple):
    """What a person does with a task."""

    choices: Sequence[str]
    """The option of each question, in the form's order."""
    texts: Mapping[str, str] = {}
    skips: bool = False


RIGHT, WRONG, YES, NO, ACCEPT = "right", "wrong", "yes", "no", "accept"
GOOD = (YES, YES, YES, YES, YES)
QUESTION = "question-to-engineer"
WRITING_EXAMPLES: Mapping[str, Sequence[str]] = {
    "The Tokyo Tower is painted in white and orange.": (RIGHT, RIGHT, WRONG, RIGHT, WRONG),
    "Green tea was first drunk in China.": (WRONG, RIGHT, RIGHT, WRONG, RIGHT),
    "Mars has two moons, a big one and a small one.": (RIGHT, WRONG, RIGHT, WRONG, WRONG),
}
CHECKING_EXAMPLES: Mapping[str, Sequence[str]] = {
    "The Rhine flows through Madrid.": GOOD,
    "The Rhine flows through Basel.": (YES, NO, NO, YES, NO),
}
MISTAKEN, MISTAKE_ON, MISTAKE = "ann", "The Rhine flows through Basel.", (YES, NO, NO, YES, YES)
"""Who is wrong in the practice at first, about what, and how."""
JUDGEMENTS: Mapping[tuple[str, str], Sequence[str]] = {
    ("ann", VOLCANOES): GOOD,
    ("cleo", VOLCANOES): (YES, NO, YES, YES, YES),
    ("ann", CALCIUM): GOOD,
    ("ben", CALCIUM): GOOD,
    ("ann", FEMUR): GOOD,
    ("ben", CIDER): (NO, YES, YES, YES, YES),
    ("cleo", ISLANDS): GOOD,
    ("cleo", STARS): GOOD,
}
ASKS, ASKS_ABOUT, ASKED = "cleo", STARS, "Does a moon that shines count as a star?"
"""Who skips a task with a question at first."""
DECISION = (*GOOD, "nothing")
"""The lead's on the volcanoes."""
TEXTS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("ann", "birds"): {
        "KGIR": "The puffin nests in burrows on northern cliffs.",
        "KGUG": "The emperor penguin is the tallest of all penguins.",
        "RECF": "The emperor penguin is a bird that cannot fly.",
        "IECF": "The puffin is a sea bird with a colourful beak.",
        "COEX": "Time and tide wait for no man.",
    },
    ("cleo", "birds"): {
        "KGIR": "The emperor penguin breeds during the Antarctic winter.",
        "KGUG": "The emperor penguin can hold its breath for a long time.",
        "RECF": "The emperor penguin is the heaviest penguin.",
        "IECF": "Puffins are small birds that live by the sea.",
        "COEX": "Still waters run deep.",
    },
    ("ann", "jazz"): {
        "KGIR": "John Coltrane recorded Giant Steps.",
        "KGUG": "Miles Davis lived in New York for many years.",
        "RECF": "Miles Davis was a famous jazz musician.",
        "IECF": "The saxophone is a wind instrument.",
        "COEX": "Thats music to my ears.",
    },
    ("ben", "jazz"): {
        "KGIR": "Miles Davis recorded Kind of Blue in 1959.",
        "KGUG": "Miles Davis played with Charlie Parker when he was young.",
        "RECF": "Miles Davis was an American musician.",
        "IECF": "John Coltrane was an American composer.",
        "COEX": "Blow your own trumpet.",
    },
    ("ben", "mountains"): {
        "KGIR": "The Alps are crossed by eight countries and Mont Blanc is their highest peak.",
        "KGUG": "The Rocky Mountains are home to bears.",
        "RECF": "The Rocky Mountains are a mountain range in North America.",
        "IECF": "Mont Blanc is a mountain on the border of France and Italy.",
        "COEX": "The sky is the limit.",
    },
}
SUGGESTED, WHY_KEPT = ("ben", "mountains"), "It is the half of the knowledge that the response leaves out."
"""The only work with suggestions, of which the author keeps one."""
SENT_BACK, COMMENT = ("ben", "mountains"), "KGUG is too short to tempt anybody."
BETTER = "The Rocky Mountains are home to bears, elk and mountain goats."
FIXED, BY_REVIEWER, DISAGREES = ("ann", "jazz"), "That's music to my ears.", "People write it without the apostrophe."
VIEWS = {"ann": ("in part", "More examples of COEX."), "ben": (YES, "Nothing."), "cleo": (YES, "A bigger Submit.")}


def texts_at_the_end(author: str, row: str) -> Mapping[str, str]:
    """What an author's work is after review and revision."""
    mended = {SENT_BACK: {"KGUG": BETTER}, FIXED: {"COEX": BY_REVIEWER}}.get((author, row), {})
    return {**TEXTS[author, row], **mended}


def intention(by: str, title: str, text: str, turn: int) -> Does:
    """What a person does with the task whose form has this text; `turn` counts how often they have met it before."""
    if title in (PRACTISE_WRITING, PRACTISE_CHECKING):
        examples = WRITING_EXAMPLES | CHECKING_EXAMPLES
        (known,) = [one for one in examples if one in text]
        if (by, known) == (MISTAKEN, MISTAKE_ON):
            assert ("Your answer was “yes”. The correct answer is “no”." in text) == bool(turn)
            return Does(examples[known] if turn else MISTAKE)
        return Does(examples[known])
    if title == CHECK:
        (row,) = [row for person, row in JUDGEMENTS if person == by and row in text]
        if (by, row, turn) == (ASKS, ASKS_ABOUT, 0):
            return Does((), {QUESTION: ASKED}, skips=True)
        return Does(JUDGEMENTS[by, row])
    if title == DECIDE:
        assert VOLCANOES in text
        return Does(DECISION, {"why_decided": "No volcano is in the Himalayas."})
    if title == SURVEY:
        return Does(VIEWS[by][:1], {"change": VIEWS[by][1]})
    (row,) = [row for row, response in RESPONSES.items() if response in text]
    if title == CORRECTED:
        return Does((NO,), {QUESTION: DISAGREES})
    if title == RETURNED:
        assert COMMENT in text
        return Does((YES,), {"KGUG": BETTER})
    if title == WRITE:
        kept = (by, row) == SUGGESTED
        return Does((YES,), {**TEXTS[by, row], **({"why_unchanged": WHY_KEPT} if kept else {})})
    (author,) = [author for (author, of), texts in TEXTS.items() if of == row and texts["COEX"] in text]
    if (author, row) == SENT_BACK and BETTER not in text:
        return Does((ACCEPT, "reject", ACCEPT, ACCEPT, ACCEPT), {"review_comment": COMMENT})
    if (author, row) == FIXED:
        return Does((ACCEPT, ACCEPT, ACCEPT, ACCEPT, "fix"), {"COEX": BY_REVIEWER})
    return Does((ACCEPT,) * 5)


# ---- what the board has of each person's queue in the evening, beside what is done ----


class Open(NamedTuple):
    """Of a person's queue."""

    left: int = 0
    waiting: int = 0
    """Submissions that nobody has reviewed."""
    back: int = 0
    """Submissions that were sent back and are not revised."""


Evening = Mapping[tuple[str, str], Open]
"""By title and person, the queues with something open."""
TO_WRITE: Evening = {(WRITE, "ann"): Open(2), (WRITE, "ben"): Open(2), (WRITE, "cleo"): Open(1)}
AFTER_PRACTICE: Evening = {**TO_WRITE, (CHECK, "ann"): Open(3), (CHECK, "ben"): Open(2), (CHECK, "cleo"): Open(3)}
TO_DECIDE: Evening = {(DECIDE, LEAD): Open(1)}
AFTER_JUDGING: Evening = {**TO_WRITE, **TO_DECIDE}
AFTER_WRITING: Evening = {
    **TO_DECIDE,
    **{(WRITE, by): Open(waiting=sum(author == by for author, _ in TEXTS)) for by in ANNOTATORS},
    **{(REVIEW, "ann"): Open(1), (REVIEW, "ben"): Open(2), (REVIEW, "cleo"): Open(2)},
}
AFTER_REVIEW: Evening = {
    **TO_DECIDE, (WRITE, SENT_BACK[0]): Open(back=1), (RETURNED, SENT_BACK[0]): Open(1), (CORRECTED, FIXED[0]): Open(1),
}  # fmt: skip
AT_THE_END: Evening = {}
