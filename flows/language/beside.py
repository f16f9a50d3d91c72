"""Texts about something that only belongs to what a question names: "a cousin of", "的续作"."""

import re

_EN = re.compile(
    r"\b(?:cousin|(?:half-)?brother|(?:half-)?sister|father|mother|son|daughter|uncle|aunt|nephew|niece|wife|husband|"
    r"friend|pupil|student|teacher|colleague|rival|assistant|namesake|neighbou?r|successor|predecessor|forerunner|"
    r"sequel|remake|parody|copy|replica|suburb|tributary|relative|ancestor|offshoot|planning|opponent|side|act)s?\s+"
    r"(?:of|to)\s+(?:(?:the|an?)\s+)?[\"'“‘]?$",
    re.IGNORECASE,
)
"""Before a name."""
_ZH = re.compile(
    "的(?:一[位名个座条部种])?(?:表[弟哥妹姐亲]|堂[弟哥妹姐]|弟弟|哥哥|妹妹|姐姐|父亲|母亲|儿子|女儿|叔父|舅父|侄子|妻子|丈夫|"
    "朋友|学生|弟子|徒弟|老师|同学|同事|同乡|邻居|对手|助手|前身|后继|续作|续集|前作|翻版|近亲|近缘种|支流|郊区|邻[市镇村县国省校站])"
)
"""Behind a name."""
_WORD = re.compile(r"[^\W\d_][\w’'.-]*")
_LEAST = 2
"""Characters of a Chinese name that are compared."""


def speaks_of_another(code: str, question: str, text: str) -> bool:
    """True if the text names the thing asked about only to say whose cousin, or which city's suburb, is meant.

    Not where the question asks of that one as well: "who is the brother of".
    """
    if code == "zh":
        return any(
            len(lead := text[: match.start()].strip("”」』》")[-_LEAST:]) == _LEAST and lead in question
            for match in _ZH.finditer(text)
            if match[0] not in question
        )
    return _belongs(question, text) and not _belongs(question, question)


def _belongs(question: str, text: str) -> bool:
    asked = {word.casefold().removesuffix("'s") for word in _WORD.findall(question)}
    return any(
        match[0].casefold().removesuffix("'s").rstrip(".") in asked and _EN.search(text[: match.start()])
        for match in _WORD.finditer(text)
    )
