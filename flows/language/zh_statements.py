"""A Chinese question as a statement: the answer stands where the question word stands, or is left open."""

import re

from flows.language.zh_text import tagged
from flows.language.zh_types import answer_type

_TIME = re.compile("(?:在|于)?(?:哪一?年|哪些年|什么时候|何时|什么时间|哪一?天|何年|什么年代)")
_PLACE = re.compile("(?:哪里|哪儿|什么地方|何处|什么地区|哪个地方|何地)")
_COUNT = re.compile("(?:多少|几)(?P<unit>[^\\s，。的了是吗呢得取获有]{0,2})")
_WHICH = re.compile("(?:哪一?[个位座家所部种条本名支首届项类场篇次颗份]|哪些|哪几[种个]|什么|何种|哪一|哪)(?:样的)?")
_END = re.compile("[呀呢吗啊？?。\\s]+$")


def statement(question: str, answer: str) -> str | None:
    """The statement that the answer makes of a plain question; None of any other."""
    asked, said = _END.sub("", question), answer.strip("。 ")
    if not asked or "，" in said or re.search("为什么|为何|怎么|怎样|如何|是否|什么意思|什么特点|什么区别", asked):
        return None
    asked = re.sub("(?:是|从事)(?:做|的)?(?:什么|何种)(?:职业|工作)$", "的职业是什么", asked)
    said = said.removeprefix("约") if "约" in asked else said
    if asked.endswith("哪国人"):
        return f"{asked[:-3]}{said.removesuffix('人')}人。"
    for make in (_timed, _placed, _who, _counted, _which):
        made = make(asked, said)
        if made is not None:
            return None if re.search("什么|哪[一个里位些]|谁|多少", made) else f"{made}。"
    return None


def granted(question: str) -> str | None:
    """What a question takes for granted, its answer left open: "有什么用途" as "有多方面的用途"."""
    asked = _END.sub("", question)
    if len(re.findall("什么|为何|哪|谁|多少|几|如何|怎", asked)) != 1 or re.search("[此这该]|第一", asked):
        return None
    made = next((pattern.sub(said, asked) for pattern, said in _GRANTED if pattern.search(asked)), None)
    return f"{made}。" if made else None


_GRANTED = (
    (
        re.compile(
            "，?(?<![成称作名认变])(?:[是又]?(?:为什么|为何)[会要能]?|因为?什么(?:原因(?:而|才)?|而|才))，?(?!$)"
        ),
        "",
    ),
    (
        re.compile(
            "(?<=原因|理由|目的|特点|特征|作用|用途|功能|俗名|别名|习性|目标|来源|来历|方法|方式|标准|措施|意义)(?:都|主要)?(?:是|有)(?:什么|哪些)$"
        ),
        "不止一个",
    ),
    (re.compile("哪(?=[两二三四五六七八九十几])"), ""),
    (
        re.compile(
            "(?P<verb>有|产生了?|造成了?|带来了?)(?:什么|哪些|怎样的)(?:样的)?"
            "(?=[一-龥]{0,2}(?:作用|用途|特点|特性|特征|功能|影响|不同|区别|好处|优点|意义|习性|价值|优势)$)"
        ),
        r"\g<verb>多方面的",
    ),
    (re.compile("有哪些$"), "有很多"),
    (re.compile("(?<!是)哪些(?!年|时|人$|$)"), "若干"),
    (re.compile("(?<![是为叫于])哪一?(?=[个位座家所部种条本支首届项类](?!时|年|方面|地|世)[一-龥]{5})"), "某"),
)
"""Questions for a reason, a list or one of a kind, and what stands in their place."""


def _timed(asked: str, said: str) -> str | None:
    said = f"{said}年" if re.fullmatch(r"\d{4}", said) else said
    if len(found := list(_TIME.finditer(asked))) != 1 or answer_type(said) != "date":
        return None
    lead = asked[found[0].start()] if asked[found[0].start()] in "在于" else ""
    return asked[: found[0].start()] + lead + said + asked[found[0].end() :]


def _placed(asked: str, said: str) -> str | None:
    found = list(_PLACE.finditer(asked))
    if len(found) != 1:
        return None
    rest = asked[found[0].end() :]
    return asked[: found[0].start()] + said + (rest[1:] if rest and said.endswith(rest[0]) else rest)


def _who(asked: str, said: str) -> str | None:
    return asked.replace("谁", said) if asked.count("谁") == 1 else None


def _counted(asked: str, said: str) -> str | None:
    found = list(_COUNT.finditer(asked))
    if len(found) != 1 or not re.match(r"大?[约近]?[\d一二三四五六七八九十百千万两]", said):
        return None
    unit = found[0]["unit"]
    for length in range(len(unit), 0, -1):
        if said.endswith(unit[:length]):
            return asked[: found[0].start()] + said + asked[found[0].start("unit") + length :]
    if unit and unit[0] in said[:-1]:
        return asked[: found[0].start()] + said + asked[found[0].start("unit") + 1 :]
    bare = re.sub(r"(?<=\d)[^\d万亿千百%％]$", "", said) if unit else said
    return asked[: found[0].start()] + bare + asked[found[0].start("unit") :]


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
