"""Other names of what a text names: "Denali (also known as Mount McKinley)", "突破机构（简称「突破」）"."""

import re
from collections.abc import Iterator

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
