"""A Chinese question as a statement: the answer takes the place of the question word."""

import re

from flows.language.tables import patterns
from flows.language.zh.text import tagged
from flows.language.zh.types import answer_type

_TIME = re.compile("(?:在|于)?(?:哪一?年|哪些年|什么时候|何时|什么时间|哪一?天|何年|什么年代)")
_DATED = re.compile("[年月日][初末间底中]?$|世纪|年代|时[期代]|[一二三四五六七八九十]年")
_PLACE = re.compile("(?:哪里|哪儿|什么地方|何处|什么地区|哪个地方|何地)")
_COUNT = re.compile("第?(?:多少|几)(?!几)")
_HOW_LONG = re.compile("多(?:长(?:的?时间)?|久|大|高|重|远|深|宽|厚)$")
_WHY = patterns("zh")["asks why"]
_WHICH = patterns("zh")["asks which"]
_OF_WHAT_SORT = re.compile("(?:运动员|选手)$")
"""A word after its modifier: "速度滑冰运动员"."""
_NAMED_BY_LETTERS = ("频道", "公司", "网站", "主机")
_NOT_PLAIN = patterns("zh")["no plain question"]
_SPACED = re.compile(r"(?<=[一-龥]) (?=\d)|(?<=\d) (?=[一-龥])")
_DOUBLED = re.compile("的(?=的|分布[于在])")
"""A superfluous 的 in a question: "植物的分布于哪里"."""
_END = re.compile("[呀呢吗啊？?。\\s]+$")


def statement(question: str, answer: str) -> str | None:
    """Return the statement that the answer makes of a plain question; None for other questions."""
    asked, filler = _DOUBLED.sub("", _END.sub("", question)), _SPACED.sub("", answer.strip("。 "))
    if not asked or _NOT_PLAIN.search(asked):
        return None
    filler = re.sub("^(?:主要)?(?:分布|位|栖息)[于在]", "", filler)
    asked = re.sub("(?:是|从事)(?:做|的)?(?:什么|何种)(?:职业|工作)$", "的职业是什么", asked)
    filler = filler.removeprefix("约") if "约" in asked else filler
    if of_a_country := re.fullmatch("(.*)哪(?:一?个)?国家?的?人", asked):
        return f"{of_a_country[1]}{filler.removesuffix('人')}人。"
    for make in (_timed, _placed, _who, _how_long, _counted, _which):
        made = make(asked, filler)
        if made is not None:
            asks_on = re.search("什么|哪|谁|多少|几(?![何乎内])", made.replace(filler, "", 1))
            return None if asks_on or ("，" in filler and not made.endswith(filler)) else f"{made}。"
    return None


def unexplained(question: str) -> str | None:
    """Return what a question for a reason takes for granted; None for other questions."""
    asked = _END.sub("", question)
    if not _WHY.search(asked) or re.search("[此该这]|本[线站片剧鱼种]|^[当在]?[他她它牠]|什么.*什么", asked):
        return None
    return f"{_WHY.sub('', asked)}。"


def _timed(asked: str, answer: str) -> str | None:
    answer = f"{answer}年" if re.fullmatch(r"\d{4}", answer) else answer
    is_date = answer_type(answer) == "date" or _DATED.search(answer)
    if len(matches := list(_TIME.finditer(asked))) != 1 or not is_date:
        return None
    lead = asked[matches[0].start()] if asked[matches[0].start()] in "在于" else ""
    return asked[: matches[0].start()] + lead + answer + asked[matches[0].end() :]


def _placed(asked: str, answer: str) -> str | None:
    matches = list(_PLACE.finditer(asked))
    if len(matches) != 1:
        return None
    rest = asked[matches[0].end() :]
    return asked[: matches[0].start()] + answer + (rest[1:] if rest and answer.endswith(rest[0]) else rest)


def _who(asked: str, answer: str) -> str | None:
    return asked.replace("谁", answer) if asked.count("谁") == 1 else None


def _how_long(asked: str, answer: str) -> str | None:
    match = _HOW_LONG.search(asked)
    return asked[: match.start()] + answer if match and re.search(r"[\d一二三四五六七八九十百千万两]", answer) else None


def _counted(asked: str, answer: str) -> str | None:
    """A number in place of its question word, with its unit once."""
    matches = list(_COUNT.finditer(asked))
    if len(matches) != 1 or not re.match(r"第?大?[约近]?[\d一二三四五六七八九十百千万两]", answer):
        return None
    rest = asked[matches[0].end() :]
    both = next((length for length in range(len(answer), 0, -1) if rest.startswith(answer[-length:])), 0)
    if both and tagged(rest)[0][0] == rest[: both + 1] != rest[:both]:
        return asked[: matches[0].start()] + answer + rest
    if not both and rest[:1] not in ("", "的", "了"):
        answer = re.sub(r"(?<=\d)[^\d万亿千百%％]$", "", answer)
        if not re.search(r"[\d一二三四五六七八九十百千万两亿]$", answer):
            return None
    return asked[: matches[0].start()] + answer + rest[both:]


def _which(asked: str, answer: str) -> str | None:
    matches = list(_WHICH.finditer(asked))
    if len(matches) != 1:
        return None
    lead, rest = asked[: matches[0].start()], asked[matches[0].end() :]
    end = 0
    is_clause = re.match("现?[为是由须应]", answer) or (lead.endswith("有") and "，" in answer)
    if is_clause or rest.startswith("最"):
        return None
    words = tagged(rest)
    for word, tag in words[:-1] if len(words) > 1 and lead.endswith(("在", "由", "从", "被")) else words:
        if not tag.startswith(("n", "l") if end else ("n", "vn", "an", "l")) or tag == "nr" or word in "时后前中里":
            break
        end += len(word)
    if len(answer) > 2 and rest[end:].startswith(answer[-2:]):
        return None
    end = len(rest) if rest and answer.endswith(rest) else end
    if _OF_WHAT_SORT.match(rest) or (answer.isascii() and not answer.islower() and rest[:end] in _NAMED_BY_LETTERS):
        end = 0
    return lead.removesuffix(answer[0] if answer[0] in "受由在于以" else "是是") + answer + rest[end:]
