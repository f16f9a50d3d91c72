"""Questions for the numbers and times of a plain Chinese statement."""

import re
from collections.abc import Iterator

from flows.language import AskedKind
from flows.language.zh.numbers import value_of
from flows.language.zh.text import tagged

Asking = tuple[AskedKind, str, str]
"""(kind, question, answer)."""
_BESIDE_CHINESE = re.compile(r"(?<=[一-鿿])\s+|\s+(?=[一-鿿])")
_PLEASE = re.compile("(?:^|(?<=，))请(?!假)")


def question_of(text: str, end: str = "") -> str:
    """The text as a question; whoever reads 您 in the text asks as 我, and a request says what one should do."""
    asked = _BESIDE_CHINESE.sub("", re.sub("您|你", "我", text.strip()))
    return f"{_PLEASE.sub('应', asked)}{end}？"


_FIGURE = r"(?:\d+(?:[,，]\d{3})*(?:\.\d+)?|[零一二两三四五六七八九十百千]+(?:点[零一二三四五六七八九]+)?)"
_AMOUNT = rf"{_FIGURE}(?:\s?[至到—~～-]\s?{_FIGURE})?\s?[万亿千百]?"
_OF_TIME = "个工作日|工作日|个月|个小时|个星期|小时|分钟|秒钟|秒|天|日(?=[内前后起])|周(?=[内前后以]|$)|星期|年"
_UNITS = (
    f"{_OF_TIME}|万元|亿元|元|欧元|美元|册|本|名|人|位|个|次|件|辆|间|层|张|份|套|条|项|种|类|部|场|座|所|家|只|瓶|箱|支|颗|把|"
    "公斤|千克|克|吨|毫升|升|平方米|立方米|平方公里|厘米|毫米|公里|千米|米|公顷|亩|摄氏度|度|瓦|伏|岁|页|字|学分|学时|课时|倍|"
    "首|枚|棵|艘|架|集|期"
)
_QUANTITY = re.compile(
    r"(?<![第\dA-Za-z.:：/#年月\-一二三四五六七八九十百千零点几每等])"
    rf"(?P<n>{_AMOUNT})\s?(?P<unit>{_UNITS})(?!代|级|[时钟]?半|多|余|号|线)"
)
_FEW = frozenset("个次种类层间项位名座所家部")
"""Measure words with which one asks 几 for a number up to ten."""
_LIMIT = re.compile("最多|至少|不超过|不得超过|以上|上限")
_PERCENT = re.compile(
    r"(?<![\d.至到\-—约~])(?<![%％至到\-—]\s)(?P<a>\d+(?:\.\d+)?[%％]|百分之[一二三四五六七八九十百]+)"
    r"(?!\s?[至到\-—~]|[^，]*的.)"
)
_NEGATED = re.compile("不(?!超过|少于|得超|得少|得低|得高|低于|足|满|高于|多于)")
_RULED = re.compile("必须|须|应当?|可以|不得|不超过|最多|至少")
_LEAST_LEFT = 4
"""Characters that a question keeps of its statement."""
_SHORT_SUBJECT = re.compile("(?:^|，)[^，]{0,4}(?:为|是|不超过|不得超过)$")
"""Before a number: "押金为", of what?"""


def quantities(statement: str) -> Iterator[Asking]:
    """ "每位读者最多可借10册图书": "每位读者最多可借多少册图书？"."""
    if _NEGATED.search(statement) or "：" in statement:
        return
    for match in _QUANTITY.finditer(statement):
        if not _is_asked_for(statement, match):
            continue
        unit, value = match["unit"], value_of(match["n"].strip())
        few = unit in _FEW and value is not None and value <= 10 and not _LIMIT.search(statement)
        yield from _replaced(statement, match, f"{'几' if few else '多少'}{unit}", "number")
    for match in _PERCENT.finditer(statement):
        if match.start():
            yield from _replaced(statement, match, "百分之多少", "number")


def has_quantity(statement: str) -> bool:
    return _QUANTITY.search(statement) is not None


def _replaced(statement: str, match: re.Match[str], word: str, kind: AskedKind) -> Iterator[Asking]:
    """The question with its word in place of a stretch, unless it then asks for nothing in particular."""
    start, end = match.span("a" if "a" in match.re.groupindex else 0)
    before, after = statement[:start], statement[end:]
    if len(before) + len(after) >= _LEAST_LEFT and (after or not _SHORT_SUBJECT.search(before)):
        yield kind, question_of(f"{before}{word}{after}"), statement[start:end].strip()


def _is_asked_for(statement: str, match: re.Match[str]) -> bool:
    number, unit, before = match["n"].strip(), match["unit"], statement[: match.start()]
    if re.match("一(?:$|一)", number) or (unit == "字" and not number[0].isdigit()):
        return False
    if (unit == "年" and re.fullmatch(r"\d{4}", number)) or re.search(r"年\d|\d月\d|[至到\-—]\s?$", before[-3:]):
        return False
    every = _EVERY.search(statement)
    listed = re.match("[^，]{0,6}[、和]", statement[match.end() :]) is not None or "、" in before
    return not listed and not (every and every.start() <= match.start() < every.end()) and _is_object(statement, match)


def _is_object(statement: str, match: re.Match[str]) -> bool:
    """True if a number is what a verb says, and no part of a name or of the phrase before a 的."""
    before, after = statement[: match.start()].strip(), statement[match.end() :]
    of_time = re.fullmatch(_OF_TIME, match["unit"]) is not None or match["unit"] in "日周"
    if re.search("的.?", after.partition("，")[0]) or (not of_time and before[-1:] in tuple("前后另各此同")):
        return False
    if not before or before.endswith("，"):
        return _RULED.search(after) is not None
    word, tag = tagged(before)[-1]
    if word == "的":
        return match["unit"] == "倍"
    return word != "被" and (tag[0] in "vpdafqc" or (of_time and tag[0] == "t") or (tag[0] == "n" and not after))


_EVERY = re.compile(rf"每隔?(?:{_FIGURE})?(?:个月|小时|分钟|天|周|年|个?星期|月|日)(?=[^，]*一次)")
_YEAR = re.compile(
    r"(?<![\d至到\-—])(?P<a>(?:1\d|20)\d\d\s?年)(?![\dA-Za-z代度至到\-—初末底以间]|\s?\d|[^，]{0,12}[后时]|[^，]*的.)"
)
_DATE = re.compile(
    r"(?<![\d至到\-—])(?P<a>(?P<year>\d{4}\s?年\s?)?\d{1,2}\s?月\s?\d{1,2}\s?[日号])(?![至到\-—以起]|[^，]*[后时])"
)
_A_DAY = re.compile(r"\d\s?月\s?\d{1,2}\s?[日号]")
_OF_THE_MONTH = re.compile(r"每个?月(?P<a>\d{1,2}[日号])(?![至到\-—以前])")
_DAY = "(?:周|星期|礼拜)[一二三四五六日天]"
_WEEKDAY = re.compile(
    rf"(?P<a>{_DAY}(?:[至到、和]{_DAY})?)"
    "(?=.{0,6}(?:闭馆|休馆|开放|休息|营业|关闭|收集|清洗|举行|开会|检查|上课|发放|发布|更新|配送|提供))"
)
"""A day of every week; other weekdays are of one week."""
_HOUR = (
    r"(?:早上|上午|中午|下午|晚上|凌晨|晚间)?\s?"
    r"(?:\d{1,2}[:：]\d{2}|(?:\d{1,2}|[一二三四五六七八九十]{1,2})[点时](?:半|整|\d{1,2}分)?)"
)
_CLOCK = re.compile(rf"(?<![\d:：日号])(?P<a>{_HOUR}(?:\s?[至到—~-]\s?{_HOUR})?)(?![\d零一二三四五六七八九十间候至到])")


def times(statement: str) -> Iterator[Asking]:
    """ "市图书馆建成于1956年": "市图书馆建成于哪一年？"."""
    if "：" in statement or re.search("不|已|将|只", statement):
        return
    if (every := _EVERY.search(statement)) is not None and every.start() and not _CLOCK.search(statement):
        yield from _replaced(statement, every, "多久", "number")
    for pattern in (_YEAR, _DATE, _OF_THE_MONTH, _WEEKDAY, _CLOCK):
        matches = list(pattern.finditer(statement))
        if len(matches) != 1 or (pattern in (_YEAR, _CLOCK) and _A_DAY.search(statement)):
            continue
        if pattern is _WEEKDAY and _CLOCK.search(statement):
            continue  # the hour alone is asked for
        if pattern in (_YEAR, _DATE) and not _is_dated(statement, matches[0]):
            continue
        yield from _replaced(statement, matches[0], _asking_for(matches[0]), "number" if pattern is _YEAR else "fact")


def _is_dated(statement: str, match: re.Match[str]) -> bool:
    """True if something has a date: not if the date comes first ("1998年在市内率先…"), or if its year is missing."""
    with_year = match.re is _YEAR or match["year"] is not None
    return match.start() > 0 and (with_year or re.search("每年|截止|开始|开学|放假|结束", statement) is not None)


def _asking_for(match: re.Match[str]) -> str:
    """The question word for a time."""
    if match.re is _YEAR:
        return "哪一年"
    if match.re is _DATE:
        return "哪一天" if match["year"] else "几月几日"
    if match.re is _OF_THE_MONTH:
        return f"几{match['a'][-1]}"
    if match.re is _WEEKDAY:
        return f"{re.split('[一二三四五六日天]', match['a'])[0]}几"
    return "几点到几点" if re.search("[至到—~-]", match["a"]) else "几点"
