"""Statements of a Chinese page about its subject, each to be put after the name of the subject.

Such pages name their subject once and then leave it out: "刘燕卿，现职香港申诉专员，毕业于香港中文大学。" says
"现职香港申诉专员" and "毕业于香港中文大学" of 刘燕卿. A clause is followed to its subject as long as nothing else can
be meant: the sentence begins with the name, a pronoun for it, or a verb where the sentence before was on it too.
"""

import re
from collections.abc import Iterator, Sequence

from flows.language.zh import sentences
from flows.language.zh.text import tagged

SHORTEST, LONGEST, LONGEST_SENTENCE = 5, 45, 80
"""Characters of what is said, in a clause and in a sentence."""
_ASIDE = re.compile(r"-\{|\}-|[（(][^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*[）)]")
_NAME = re.compile(
    r"^(?:《[^》]{1,24}》(?:月刊|杂志)?|[^（(，,。：:；;！？《》「」\n]{1,20}?)"
    r"(?=\s*[（(，,]|\s*(?:(?<![A-Za-z])[A-Z][A-Za-z .]+)?(?:是|位于)|为|[乃即]|指(?![数标南定挥导环])|又[名称]|亦称|"
    r"全称|简称|属于|原产|起源|来源|分布|发生|成立|创立|始建|建于|主要|在|(?<!自)由|于[12]\d{3}年)"
)
_NO_NAME = re.compile(
    "^(?:在|于|当|从|因|由于|根据|据|自).{3}|^(?:当时|后来|这|该|本|其|他|她|它)|^[\\d一二三四五六七八九十]+[年月日]|[年月日时]$"
)
_POINTS = re.compile(
    "(?<!耳)其(?![中他次])|该|此|这|那[个些样时里是]|(?<![吉其维])他(?!州)|她|(?<![日基根原])本(?![科田地人名土身部州])|自己|[两二后前]者|"
    "[同翌次]年|当[时中]|之后|以[上下]|下列|如下|上述|同样|另|两人|双方|后来|随后|[则却]|目前|现时|从中"
)
"""Words that need the sentences around them."""
_POINTS_TO_IT = re.compile(
    "(?:他|她|它|牠)(?![们的])|(?:该|本)(?:[线站鱼剧片种书校路属镇县市区村]|作品?|[片影剧节]集?目?|机构|公司|学校|车站|组织|"
    "物种|专辑|游戏|小说|电影)(?!的)"
)
_ALIAS = re.compile(
    "^称|^(?:又|亦|也|旧|古|俗|原|本|全|简|别|学|英|曾用|艺|笔|昵|绰|外|法|小|谥|雅|晚|自)[^，]{0,2}[名称号]|^[又亦也]?[作叫]|^[字号]|译|缩写|简称|发音|拼音|名为|称为|称作"
)
_ITS = re.compile("(?:^|(?<=，))其(?![中他次实后间余时父母妻子])")
_TIME = re.compile(
    r"[于在自从至到]?(?:公元前?)?\d{3,4}年(?:代|间|初|底)?(?:\d{1,2}月)?(?:\d{1,2}日)?(?:[起后前时间]|期间|以[来后前])?"
)
_DAY = re.compile(r"^(\d{3,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?)(?![起以后前间至到时代初底年月\d－~～-])")
_VERB = re.compile(
    r"(?:是|为|有|位于|流经|曾|于[12]?\d|由|以.{1,20}为|司职|[现历前]任|现[职为]|毕业|出生|来自|祖籍|籍贯|生于|卒于|隶属|属于|分布|栖息|主要|著有|"
    r"获|入选|效力|加盟|担任|全长|总长|面积约?\d|体长可?达|体色|海拔\d|全书|播出|首播|成立|创立|建成|启用|通车|设有|[长高宽]约?\d|"
    r"[东南西北][临起至邻接])"
)
_HAS = re.compile("(?:为|是|有|设[在于有]|位[在于]|由|呈|约|可?达|包括|以|\\d)")
"""Words after the name of something that the subject has: "总部设在巴拿马城"."""
ITSELF = re.compile(
    "(?:杂志|学校|校园|车站|公司|集团|机构|组织|球队|比赛|赛事|大会|[线道]路|路线|机场|医院|影片|电影|小说|游戏|专辑|作品|节目|乐队|乐团|城市|大桥)(?!的)"
)
"""Words for the thing itself when they are alone."""
_NO_SAYING = re.compile(
    "据|如|若|在位|除|虽|尽管|因|由于|随|例|但|而|故|所以|即|不[仅但久料]|有[人些的一时研记]|以[致及便]|使|令|让|导致|后|前|时|最后|最终|"
    "直[到至]|等|其|包[括含]|分别|要|经过|作为|当|为了|比如|像|由于|或|以.*[计来]算?$|在.*[时后中前下]$|为.*时$|相[对比]|可见|听说|被$"
)
_OF_IT_ALONE = re.compile(
    "学名|本[鱼种]|[科属][^，。]{0,6}[种属]|出生|生于|毕业|[国省市县]人[，。]|运动员|演员|歌手|(?<!国)家[，。、]|球员|教授"
)
"""In the beginning of a page on a species or a person, which speaks of little else."""
_ROLE = re.compile("(?:运动员|(?<!国)家|演员|歌手|球员|官员|学者|教练|将领)$")
_LEAD = re.compile("[在于自从以][^，]{1,15}?(?:[时中后前里上下起间]|期间)[就便才即]?(?=[曾被获加参成为开入当担转毕出])")
"""A time or place before a verb."""
_ONE_LACKING_A_WORD = re.compile("^是一个?(?=位于[^的]*$)|(?<=^是)一(?=[位由])")
"""Left of "是一位于东京，由公司经营的车站" where the sentence is cut."""
_JOINING = re.compile("^(?:并且|并(?!不)|也|亦|还|又|同时|且|更)")
_OPEN = re.compile(
    "[至到]\\d+年间$|[的和与及或由在于、：:]$|(?:之间|期间|时|后|年|[日天]前)$|“[^”]*$|「[^」]*$|《[^》]*$|^[^“]*”|^[^「]*」|^[^《]*》|[|?？!！…\\[\\]*=：:{}—─]|□|\\s|^[是为]前?\\d+年[至间到]|^于?\\d+年的"
)
_BEGINS_WITHOUT = re.compile("，*(?:是|本[线站片剧作])")
"""A page that leaves out the name of what it is about."""


def is_unnamed(page: str) -> bool:
    """True if a page says at once what something is, and not its name."""
    return _BEGINS_WITHOUT.match(page) is not None


def about(page: str) -> str:
    """Return the subject with whose name the page begins; empty if it does not begin with a name."""
    match = _NAME.match(page)
    if match is None or (_NO_NAME.search(match[0]) and page[match.end() : match.end() + 1] not in ("（", "(")):
        return ""
    if name := re.match(r"[A-Za-z0-9]+(?: [A-Za-z0-9.]+)+(?![A-Za-z])", page):
        return name[0]
    return re.sub("(?<=..)(?:教授|博士|先生|女士)$", "", match[0].strip())


def aliases(page: str) -> tuple[str, ...]:
    """Return the page's names for its subject: full, a title alone, a short form, the last part of a foreign name."""
    name = about(page)
    short = re.search("简称[为「“]*([一-龥]{2,10})", page[:120])
    titled = re.match("《[^》]+》", name)
    others = (name.rpartition("·")[2], titled[0] if titled else "", short[1] if short else "")
    return tuple(dict.fromkeys(alias for alias in (name, *others) if alias))


def predicates(page: str, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the statements of the page about its subject, or about the bearer of these names, in order."""
    names = names or aliases(page)
    named = re.compile(
        f"(?P<time>(?:{_TIME.pattern}，?)?)[「“]?(?:{'|'.join(map(re.escape, names))})[」”]?(?P<joined>[和与及跟、]?)"
    )
    kinds = "|".join(re.escape(name[-length:]) for name in names for length in (3, 2, 1))
    points_to_it = re.compile(f"{_POINTS_TO_IT.pattern}|[该此这本][一个种条套座部项]?(?:{kinds})(?!的)")
    steady = _OF_IT_ALONE.search(page[:200]) is not None
    on_it = is_unnamed(page)
    for at, sentence in enumerate(sentences(_ASIDE.sub("", page)) if names else ()):
        text = re.sub(f"，(?:{points_to_it.pattern})", "，", sentence.lstrip("，").rstrip("。；;"))
        text = _ITS.sub("的", text) if on_it else text
        pointing = (points_to_it.match(text) or ITSELF.match(text)) if on_it else None
        if begins := named.match(text):
            on_it = not begins["joined"]
            yield from _clauses(text[begins.end() :], begins["time"].strip("，"), first=at == 0) if on_it else ()
        elif inside := re.search(f"，(?:{'|'.join(map(re.escape, names))})(?![和与及跟、的])", text):
            yield from _clauses(text[inside.end() :])
        elif on_it and text.startswith("的"):
            yield from _clauses(text)
        elif pointing:
            rest = text[pointing.end() :]
            if "，" in rest and rest[0] != "的" and _is_said(rest) and _is_whole(rest, LONGEST_SENTENCE):
                yield rest
            yield from _clauses(rest)
        elif on_it and not _NO_SAYING.match(text) and (_VERB.match(text) or _after_a_time(text) or _is_had(text)):
            yield from _clauses(text)
        elif on_it and at == 1 and _is_nominal(text.partition("，")[0]):
            yield from _clauses(f"，{text}", first=True)
        else:
            on_it = (
                on_it
                and steady
                and not re.match("[父母]", text)
                and not tagged(text[:8] or "，")[0][1].startswith("nr")
            )


def _after_a_time(text: str) -> bool:
    """True if a verb follows a time at the beginning: "1974年受白景瑞导演赏识"."""
    time = _TIME.match(text)
    return time is not None and _is_said(text[time.end() :].lstrip("，"))


def _clauses(text: str, time: str = "", *, first: bool = False) -> Iterator[str]:
    """The clauses of a sentence, as far as they are of its subject, each with the time before it."""
    parts = text.split("，")
    for at, part in enumerate(parts):
        clause = _ONE_LACKING_A_WORD.sub("", _JOINING.sub("", part.strip()))
        if not clause or _ALIAS.search(part.strip()):
            continue
        if _TIME.fullmatch(clause):
            time = clause
            continue
        if clause.startswith("的"):
            if _is_whole(clause) and not time and len(tagged(clause[1:])[0][0]) > 1:
                yield clause
            return
        if re.fullmatch("由.+的[一-龥]{2,6}", clause) or (
            first and 0 < at < 4 and _is_nominal(clause) and not re.search("[后前时中]$", parts[at - 1])
        ):
            clause = f"是{clause}"
        elif _is_had(clause):
            clause = re.sub(r"^(\D+[^\d约近达为是有在于第])(?=\d)", r"\1为", f"的{clause}")
        elif not _is_said(clause):
            if first and not any(tag == "v" for _, tag in tagged(clause)):
                continue
            return
        saying = time + clause if "于" in clause[:6] else _DAY.sub(r"于\1", time + clause)
        if _is_whole(saying):
            yield saying
        time = ""


def _is_had(clause: str) -> bool:
    """True if a clause begins with something that the thing has: "化学式为NCl"."""
    lead = ""
    if clause.startswith("水深"):  # where the thing lives, not what it has
        return False
    for word, tag in tagged(clause):
        if lead and _HAS.match(word):
            return len(lead) > 1 and not clause.startswith("经营以") and not ITSELF.match(clause)
        if tag not in ("n", "vn", "an") or len(lead) > 4:
            return False
        lead += word
    return False


def _is_said(clause: str) -> bool:
    """True if the subject of a clause comes before it: it begins with a verb, or with what precedes one."""
    if _NO_SAYING.match(clause) or re.match("[以用从对].*的[一-龥]{2,6}$|以[^为]{2,8}与", clause):
        return False
    if _VERB.match(clause):
        return True
    time = _TIME.match(clause) or _LEAD.match(clause)
    for _, tag in tagged(clause[time.end() :] if time else clause):
        if tag.startswith("v") and tag != "vn":
            return True
        if tag[0] not in "pd":
            return False
    return False


def _is_nominal(clause: str) -> bool:
    """True if a clause only names what the thing is: "广东开平人", "清吴沃尧所著的小说"."""
    words = tagged(clause)
    return (
        bool(words)
        and words[-1][1].startswith("n")
        and words[0][1][0] in "nbamft"
        and not _VERB.match(clause)
        and not re.match(r"\d+岁|共|全|约|血型|身高|体重|星座|编号|代号", clause)
        and (
            re.search("所[^，的]{1,3}的[一-龥]{2,8}$", clause) is not None
            or _ROLE.search(clause) is not None
            or not any(tag in ("v", "p", "d") or word in "是为有" for word, tag in words)
        )
    )


def _is_whole(saying: str, longest: int = LONGEST) -> bool:
    """True if a clause makes sense alone: it needs no other sentence, and says what it is about."""
    if not SHORTEST <= len(saying) <= longest or _POINTS.search(saying) or _OPEN.search(saying):
        return False
    defined = re.match("[是为](?:[^，]*?一[条个座种家名位款部所])?(?P<what>.*)", saying)
    return (
        defined is None
        or "的" in saying
        or _ROLE.search(saying) is not None
        or not any(tag == "v" for _, tag in tagged(defined["what"]))
    )
