"""A Chinese question and its answer as one statement: the answer stands where the question word stands."""

import re

from flows.language.zh_text import tagged
from flows.language.zh_types import answer_type

_TIME = re.compile("(?:在|于)?(?:哪一?年|什么时候|何时|什么时间|哪一?天|何年|什么年代)")
_PLACE = re.compile("(?:哪里|哪儿|什么地方|何处|什么地区|哪个地方|何地)")
_COUNT = re.compile("(?:多少|几)(?P<unit>[^\\s，。的了是吗呢得取获有]{0,2})")
_WHICH = re.compile("(?:哪一?[个位座家所部种条本名支首届项类]|哪些|哪几[种个]|什么|何种|哪一|哪)")
_END = re.compile("[呀呢吗啊？?。\\s]+$")


def statement(question: str, answer: str) -> str | None:
    """The statement that the answer makes of a plain question; None of any other."""
    asked, said = _END.sub("", question), answer.strip("。 ")
    if not asked or re.search("为什么|为何|怎么|怎样|如何|是否|什么意思|什么特点|什么区别", asked):
        return None
    asked = re.sub("是(?:做)?什么职业$", "的职业是什么", asked)
    for make in (_timed, _placed, _who, _counted, _which):
        made = make(asked, said)
        if made is not None:
            return None if re.search("什么|哪[一个里位些]|谁|多少", made) else f"{made}。"
    return None


def _timed(asked: str, said: str) -> str | None:
    if len(found := list(_TIME.finditer(asked))) != 1 or answer_type(said) != "date":
        return None
    lead = "于" if asked[found[0].start()] == "于" else "在" if asked[found[0].start()] == "在" else ""
    said = f"{said}年" if re.fullmatch(r"\d{4}", said) else said
    return asked[: found[0].start()] + lead + said + asked[found[0].end() :]


def _placed(asked: str, said: str) -> str | None:
    found = list(_PLACE.finditer(asked))
    return asked[: found[0].start()] + said + asked[found[0].end() :] if len(found) == 1 else None


def _who(asked: str, said: str) -> str | None:
    return asked.replace("谁", said) if asked.count("谁") == 1 else None


def _counted(asked: str, said: str) -> str | None:
    found = list(_COUNT.finditer(asked))
    if len(found) != 1 or not re.search(r"[\d一二三四五六七八九十百千万两]", said):
        return None
    unit = found[0]["unit"]
    for length in range(len(unit), 0, -1):
        if said.endswith(unit[:length]):
            return asked[: found[0].start()] + said + asked[found[0].start("unit") + length :]
    rest = asked[found[0].start("unit") :]
    return asked[: found[0].start()] + said + rest


def _which(asked: str, said: str) -> str | None:
    found = list(_WHICH.finditer(asked))
    if len(found) != 1:
        return None
    rest = asked[found[0].end() :]
    end = 0
    for word, tag in tagged(rest):
        if not tag.startswith(("n", "vn", "an", "l")) or tag == "nr":
            break
        end += len(word)
    return asked[: found[0].start()] + said + rest[end:]
