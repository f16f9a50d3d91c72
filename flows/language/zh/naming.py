"""Chinese questions on a document, with the name of what the document is about: "在松江大学图书馆，…"."""

import re

from flows.language.zh.text import NAME_TAGS, tagged

_DOCUMENT = re.compile(
    "(?:住客|旅客|游园|会员|借阅|住户|业主|租户|患者|就诊|入园|观众|用户|读者|员工|参观|使用|入住|安全|服务|管理|操作|家长|学生|访客|常见|新生|入馆|游客|安装)*"
    "(?:指南|手册|说明书|说明|须知|守则|规则|规程|细则|公约|规定|制度|办法|问题|章程|简介|介绍)$"
)
_PLACE = re.compile(
    "(?:仓库|车间|食堂|宿舍|公司|集团|大学|学校|学院|中学|小学|中心|酒店|宾馆|餐厅|社区|公园|俱乐部|协会|商场|营地|实验室|银行|[馆室厂店院局所站市区县])(?P<more>[^A-Za-z0-9]{0,2})$"
)
_MACHINE = re.compile("机器(?!人)|产品(?!质)")
_PERSON = re.compile("儿童|老人|孕妇|用户|婴儿|成人|孩子|人员")
_WHEN = re.compile("[^，]{0,8}[前后时]")


def named_question(question: str, title: str) -> str | None:
    """Return the question with the name of what the title names, if it needs it; None if it cannot be put in.

    A title without a name ("员工手册"), or of a page on a thing, leaves every question as it is.
    """
    name = _DOCUMENT.sub("", title.strip())
    own = _names(name)
    if name == title.strip() or not own or question.startswith("什么是") or any(word in question for word in own):
        return question
    if question.startswith("在"):
        return None
    if (place := _PLACE.search(name)) is not None:
        name = name[: place.start("more")]  # without the 游园 of 东湖公园游园须知
        noun = tagged(name)[-1][0]
        return f"{name}{question.removeprefix(noun)}" if question.startswith(noun) else f"在{name}，{question}"
    if re.search("[A-Za-z0-9]|[机器仪]$", name):
        return _of_product(question, name)
    return question if _names(question) else None


def _of_product(question: str, name: str) -> str | None:
    if _MACHINE.search(question):
        return _MACHINE.sub(name, question, count=1)
    if question.startswith("整机"):
        return f"{name}{question}"
    first, tag = tagged(question)[0]
    of_part = tag.startswith("n") and _PERSON.match(first) is None
    return f"{name}的{question}" if of_part else None if _WHEN.match(question) else f"使用{name}时，{question}"


def _names(text: str) -> list[str]:
    return [word for word, tag in tagged(text) if tag in NAME_TAGS and len(word) > 1 and not word.isdigit()]
