"""Other names of a thing in a text: its aliases, and those that the text gives.

"Denali (also known as Mount McKinley)", "突破机构（简称「突破」）".
"""

import re
from collections.abc import Iterator, Sequence

from flows.language import language_of
from flows.language.en.names import TITLES

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_WORD = rf"(?!(?:{_MONTH})(?!\w))[^\W\d_a-z][\w'’.-]*"
_NAME = rf"{_WORD}(?:[ ](?:(?:of|the|and|de|du|la|von|van)[ ])*{_WORD})*(?<![.'’-])"
_HOW_OFTEN = (
    r"(?:(?:also|formerly|previously|originally|once|better|best|more|commonly|popularly|sometimes|often|officially|"
    r"locally|generally|usually|simply|otherwise|then|now)[ ]+){0,2}"
)
_CALLED = (
    r"(?:known|called|named|spelled|spelt|written|abbreviated|shortened|nicknamed|dubbed|referred[ ]to|styled)"
    r"(?:[ ]in[ ][\w -]{1,40}?[ ]as)?(?:[ ]+(?:to|as|by))*"
    r"(?:[ ]+(?:his|her|its|their|the)[ ](?:stage|pen|birth|real)?[ ]?name)?"
)
_ENGLISH = re.compile(
    rf"(?:[ ]{_WORD}){{0,2}}"
    r"(?:[ ]?\([^()]*\))?(?:,|[ ]?\()[ ]*"
    rf"(?:{_HOW_OFTEN}{_CALLED}|formerly|previously|originally|aka|a\.k\.a\.|AKA|née|né|born)[ ]+"
    rf"(?:(?:simply|just|the|The)[ ]+)?[\"“'‘]?(?P<name>{_NAME})"
)
_CHINESE = re.compile(
    r"[^\W\d]{0,3}[》」』”]?(?:[（(][^（）()]*[）)])?(?:[，,]?[^，。；（）()]{0,2}?|[（(][^（）()]*?)"
    r"(?:又称|又名|又译|又叫|亦称|亦名|也称|也叫|简称|原名|本名|别名|别称|俗称|旧称|旧名|曾用名|艺名|前称)(?:为|作|是|做)?[:：]?[《「『“]?"
    r"(?P<name>[^\s，。、；：:（）()《》「」『』“”\"]{2,12})"
)


def other_names(text: str, name: str, code: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of other names that the text gives right after the name."""
    pattern = _CHINESE if code == "zh" else _ENGLISH
    whole = re.escape(name) if code == "zh" else rf"(?<!\w){re.escape(name)}(?!\w)"
    for match in re.finditer(whole, text):
        naming = pattern.match(text, match.end())
        if naming is not None:
            yield naming.span("name")


def names_of(code: str, answer: str, aliases: Sequence[str], text: str = "") -> tuple[str, ...]:
    """Return the aliases that mean the answer everywhere in `text`, and the title that follows its name.

    Left out are other wordings of a number or a date ("1788" does not mean the day "18 January 1788"), and an alias
    that begins another name ("the European Court", if the text has "the European Court of Human Rights"). Added
    are the title in "Charles, Prince of Wales", and "Lloyd Webber" for "Andrew Lloyd Webber", if the text has it.
    """
    if language_of(code).answer_type(answer) in ("number", "date"):
        return ()
    if code != "en":
        return tuple(aliases)
    usable = tuple(alias for alias in aliases if not _begins_another(alias, (answer, *aliases), text))
    further = (_title_after(answer), _without_first_name(answer, text))
    return (*usable, *(name for name in further if name is not None and name not in usable))


def _begins_another(alias: str, names: Sequence[str], text: str) -> bool:
    longer = [name.casefold() for name in names if len(name) > len(alias)]
    for match in re.finditer(rf"(?<!\w){re.escape(alias)}\s+(?:(?:of|for)\s+)?(?:the\s+)?[A-Z]", text, re.IGNORECASE):
        rest = text[match.start() :].casefold()
        goes_on = match[0][-1].isupper() and not any(rest.startswith(name) for name in longer)
        if goes_on and (" of " in match[0][len(alias) :] or " for " in match[0][len(alias) :]):
            return True
    return False


def _without_first_name(name: str, text: str) -> str | None:
    """Return the rest of a person's name of three words or more, if the text has it alone."""
    first, _, rest = name.partition(" ")
    alone = " " in rest and rest[:1].isupper() and text.count(rest) > text.count(f"{first} {rest}")
    return rest if alone and language_of("en").answer_type(name) == "person" else None


def _title_after(name: str) -> str | None:
    title = name.partition(", ")[2].removeprefix("the ")
    first, _, rest = title.partition(" ")
    return title if first[:1].isupper() and first.lower() in TITLES and rest else None
