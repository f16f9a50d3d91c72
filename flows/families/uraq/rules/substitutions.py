"""Surface rules that make another text of any sentence: another number, another word of a row, a negation."""

import re

from flows.families.uraq.rules.operations import SERIES

SWAPS: tuple[tuple[str, ...], ...] = (
    SERIES["month"],
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("north", "east", "south", "west"),
    ("northern", "eastern", "southern", "western"),
    ("largest", "smallest"),
    ("longest", "shortest"),
    ("highest", "lowest"),
    ("oldest", "youngest"),
    ("fastest", "slowest"),
    ("before", "after"),
    ("above", "below"),
    ("summer", "winter"),
)
"""Rows of words: a substitution takes the next word of a row, and the first after the last."""
AUXILIARIES = re.compile(r"\b(is|are|was|were|can|could|will|would|must|should|has|have|had)\b")
BOUND = re.compile(
    r"\b(?:more than|less than|fewer than|at least|at most|over|under|above|below|up to|nearly)\s+$", re.IGNORECASE
)
"""Before a number: words that make it a bound. Both of two such statements can be true."""
FULL_VERBS = {"has": "does not have", "have": "do not have", "had": "did not have"}
"""How `has` is negated where it is not the auxiliary of the perfect."""
PARTICIPLE = re.compile(r"\s+(been|\w+ed|\w+en|become|begun|come|done|found|gone|had|led|lost|made|met|run|set|won)\b")
SEVERAL_CLAUSES = re.compile(
    r"[,;:]|\b(when|while|if|although|though|because|since|until|unless|after|before|that|who|which|where|but|only)\b",
    re.IGNORECASE,
)
MAX_SUBJECT_WORDS = 6
"""Words before the auxiliary: a longer subject mostly hides a clause."""
NEGATED = re.compile(r"\b(not|never|no|cannot|none|neither|nor|without|nothing|nobody)\b|n't\b", re.IGNORECASE)


def with_other_number(statement: str) -> str | None:
    """The statement with its number changed, written as before; None unless it has exactly one that can change."""
    match = re.search(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.,]*\w)", statement)
    if match is None or len(re.findall(r"\d+(?:[.,]\d+)*", statement)) > 1:
        return None  # no number, a range, or figures that belong together
    if match[0] == "1" or BOUND.search(statement[: match.start()]):
        return None  # the noun would have to agree, or a larger number could be right as well
    return statement[: match.start()] + other_number(match[0]) + statement[match.end() :]


def other_number(text: str) -> str:
    """Another number, written alike: a year some years off, anything else about half as much again."""
    value = float(text.replace(",", ""))
    if re.fullmatch(r"1\d{3}|20\d\d", text):
        return str(int(value) + (17 if value < 2000 else -17))
    decimals = len(text.partition(".")[2])
    changed = value * 1.5 + (0 if decimals else 1)
    return f"{changed:,.{decimals}f}" if "," in text else f"{changed if decimals else int(changed):.{decimals}f}"


def with_other_word(statement: str) -> str | None:
    """The statement with its first word of `SWAPS` swapped; None where there is none."""
    following = {word: row[(place + 1) % len(row)] for row in SWAPS for place, word in enumerate(row)}
    for match in re.finditer(r"\w+", statement):
        # "May" at the start of a sentence is seldom the month.
        if match[0] in following and not (match[0] == "May" and match.start() == 0):
            return statement[: match.start()] + following[match[0]] + statement[match.end() :]
    return None


def with_negation(statement: str) -> str | None:
    """The statement with its auxiliary negated.

    None where there is no auxiliary, a negation already, or more than one clause: surface rules cannot tell which
    clause to negate.
    """
    match = AUXILIARIES.search(statement)
    if match is None or NEGATED.search(statement) or SEVERAL_CLAUSES.search(statement):
        return None
    if AUXILIARIES.search(statement, match.end()) or len(statement[: match.start()].split()) > MAX_SUBJECT_WORDS:
        return None
    word = match[1]
    perfect = PARTICIPLE.match(statement, match.end())
    negated = "cannot" if word == "can" else FULL_VERBS.get(word, "") if not perfect else ""
    return statement[: match.start()] + (negated or f"{word} not") + statement[match.end() :]
