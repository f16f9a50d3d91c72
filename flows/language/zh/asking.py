"""Questions that a Chinese sentence answers: a question word takes the place of the answer."""

import re
from collections.abc import Callable, Iterator

from flows.language import Asked
from flows.language.matter import page_name
from flows.language.tables import word_list
from flows.language.zh.amounts import Asking, has_quantity, quantities, question_of, times
from flows.language.zh.pointing import zh_points_outside
from flows.language.zh.text import NAME_TAGS, tagged
from flows.language.zh.types import answer_type, is_nominal, is_personal_name

_SHORTEST, _LONGEST = 7, 70
"""Characters of a sentence that is asked about."""
_SIGNS = re.compile(r"[“”「」『』\"'‘’《》〈〉*_\[\]{}|<>`=~；;！!？?…—─※／#@/\\]|https?|www\.|[（(]|\n\s*\n")
_DOUBTFUL = re.compile(
    "大约|大概|左右|将近|据报|据.{2,8}[说称报]|^平均|上下|约(?=[\\d一二三四五六七八九十百])|近(?=[\\d一二三四五六七八九十百])|超过(?=\\d+年)|可能|也许|或许|通常|一般|往往|有时|"
    "经常|多数|大多|部分|几乎|据说|据称|相传|认为|估计|预计|预期|似乎|好像|例如|比如|譬如|如下|以下简称|上述|下列|这|那(?!不勒斯)|该|此|"
    "(?<![极尤与])其|我们?|咱|(?<!其)他(?!人)|她|它|牠|几(?=[分小天个年十百])|^最(?!后)|等(?:$|，|方式|情况|内容|地)|但|然而|不过|却|因为|由于|所以|因此|除非|除|否则|虽|尽管|即使|"
    "仍|也|还(?!书|款|车|清|原)|同时|另外|随后|后来|当时|目前|现在|如今|其中|之一|多(?=[年名人个])|余(?=[年名人个])|数(?=[百十千])|"
    "分别|逾|则|便|(?<!大)约(?=为)|不是|并非|没有|未(?!成年|满|经|婚)|如何|怎样|为什么|本(?=[公馆校院店站线市县县区部店社所书品机产人期届月年次行会])|同上|见|某"
)
"""Hedges, negations, and words that lean on other sentences."""
_CONDITION = re.compile(
    r"(?:如果?|若|凡|当|一旦|遇到?|发生|在.{1,16}(?:前|后|时|期间)|.{2,16}(?:前|后|(?<!小)时|的)$|对于?|逾期|每逢|为了?)"
)
_TOPIC_MODAL = re.compile(r"必须|须|应当?|需要?|可以?|不得|禁止|严禁|不可|不能|不准|不允许")
_NAME = r"[\u4e00-\u9fffA-Za-z0-9·\- ]"
Rule = Callable[[str], Iterator[Asking]]


def asked_of_sentence(sentence: str, title: str | None = None) -> Iterator[Asked]:
    """Yield the pairs of a sentence; none of a sentence that is not plain, or that leans on the text around it.

    A sentence of a page on a thing that names neither the thing nor anything else tells of a part of it, unless it is
    a rule ("须", "不得").
    """
    plain = sentence.strip()
    if not plain.endswith("。") or not _SHORTEST <= len(plain) <= _LONGEST:
        return
    plain = plain[:-1]
    defined = [*_definitions(plain)]
    for kind, question, answer in defined if defined and not _leans(plain) else ():
        yield Asked(kind, question, answer, sentence)
    if _SIGNS.search(plain) or _DOUBTFUL.search(plain):
        return
    statement = _statement(plain)
    pairs = [pair for rule in _RULES for pair in rule(statement)] if statement else []
    if statement and pairs and not _leans(statement):
        for kind, question, answer in pairs:
            if not _is_of_a_part(question, title) and not _BARE.match(question):
                yield Asked(kind, question, answer, sentence)


_DOCUMENT = re.compile(
    "手册|须知|守则|说明|指南|规定|制度|问题|规则|办法|通知|报告|条例|章程|简介|介绍|规范|要求|条款|协议|政策|流程|服务"
)
_RULE = re.compile("必须|须|应当?|可以?|不得|禁止|严禁|不能|不准")


_BARE = re.compile(
    "(?:培训|考核|押金|费用|材料费?|活动|申请|课程|会议|租金|期限|检查|安装)(?:为|是|须|应|每|多|必须|可以|由)"
)
"""A topic that does not say of what: "培训多久重复一次？"."""


def _is_of_a_part(question: str, title: str | None) -> bool:
    """True if a question without a name is asked of a page on a thing: "裙楼楼高几层？"."""
    if not title or _DOCUMENT.search(title) or _RULE.search(question) or page_name(title) in question:
        return False
    return not any(tag in NAME_TAGS and len(word) > 1 and not word.isdigit() for word, tag in tagged(question))


def _leans(statement: str) -> bool:
    """True if a statement needs the text before it. A deed as its topic does not ("进入实验室必须…")."""
    pointing = zh_points_outside(statement)
    if pointing is None:
        return False
    first, tag = tagged(statement[:24])[0]
    topic = pointing == first and tag[0] in "vdp" and first not in word_list("zh", "subjectless")
    if pointing == first and tag[0] == "n" and statement[len(first) :].startswith("于"):
        return first in word_list("zh", "classes")
    modal = _TOPIC_MODAL.search(statement)
    return not (topic and (statement.startswith("请") or (modal is not None and modal.start() > 1)))


_LIMIT_REACHED = re.compile("(?<!得)(?<!不)(?:超过|少于|低于|高于|达到|不足|满).{1,8}$")
_UNFINISHED = re.compile("(?:[上中后前的间起]|(?<!小)时|以来|期间)$")


def _statement(plain: str) -> str | None:
    """The first clause, with the condition before it; None if it has more conditions, or a list of clauses."""
    clauses = re.split("[，,]", plain)
    if "：" in plain:
        return plain if len(clauses) == 1 else None
    if len(clauses) > 1 and _CONDITION.match(clauses[0]):
        return "，".join(clauses[:2]) if len(clauses) == 2 and plain.count("，") == 1 else None
    if len(clauses) > 3 or (len(clauses) > 1 and re.match("(?:并|且|或|而|则|如|若|期间|最)", clauses[1])):
        return None
    first = clauses[0]
    whole = len(clauses) == 1
    opens = re.match("[在于从自据按]|每(?!位|名|个|人|台|件|组)", first) is not None and _RULE.search(first) is None
    if not whole and (_LIMIT_REACHED.search(first) or first.endswith("的")):
        return None  # "病假超过三天，需要提交医院证明"
    return None if opens or (not whole and _UNFINISHED.search(first)) else first


# ---- persons, places, things ----

_ROLE = re.compile(
    "(?:人|员|师|长|经理|主任|主管|主席|总监|负责人|老师|教授|医生|护士|馆长|校长|队长|组长|顾问|秘书|会计|律师|家长|监护人|专家|董事会|委员会|"
    "部门?|处|科|室|中心|办公室|委员)$"
)
_BY = re.compile(
    rf"(?<![理自缘])由(?P<a>{_NAME}{{2,14}}?)(?P<verb>负责|批准|审批|签字|签署|保管|管理|审核|陪同|操作|填写|主持|检查|维护|任命|创立|创办|设计|建造|组成员|决定|承担|发放|支付|担任)"
)
_TO = re.compile(rf"向(?P<a>{_NAME}{{2,12}}?)(?=报告|申请|提出|提交|登记|说明|反映|咨询|索取|请假|缴纳|出示)")
_AT = re.compile(
    rf"(?P<verb>存放[在于]|位于|设在|设于|放在|安装在|保存在|停放在|寄存在|张贴在|放置在|坐落[在于]|存入|倒入|放入|交到|送到|提交至|送至|交至|寄至)(?P<a>{_NAME}{{2,18}})$"
)
_WORN = re.compile(
    rf"(?P<modal>必须|须|应当?|需要?|要)(?P<verb>随身携带|佩戴|携带|出示|穿着?|提交|填写|戴上?|带上|提供|使用|办理|签署|遵守)(?P<a>{_NAME}{{2,16}})$"
)


def _persons(statement: str) -> Iterator[Asking]:
    """ "请假申请须由部门经理批准": "请假申请须由谁批准？"."""
    for pattern in (_BY, _TO):
        match = pattern.search(statement)
        if match is None or not match.start():
            continue
        agent = match["a"]
        if re.search("[、和或及与的]", agent.replace("的", "", 1)):
            continue
        if _ROLE.search(agent) or is_personal_name(agent):
            office = re.search("(?:部门?|处|科|室|中心|办公室)$", agent)
            asked = "哪个部门" if office else "谁"
            yield "fact", question_of(statement[: match.start("a")] + asked + statement[match.end("a") :]), agent
    named = re.fullmatch(rf"(?P<y>{_NAME}{{3,20}}?)(?:是|为)(?P<a>[\u4e00-\u9fff·]{{2,12}})", statement)
    if named is None or not is_personal_name(named["a"]) or is_personal_name(named["y"]):
        return
    if _ROLE.search(named["y"]) and len(named["y"]) > _SHORTEST_ROLE:
        yield "fact", question_of(f"{named['y']}是谁"), named["a"]


_SHORTEST_ROLE = 4
"""Characters of a role that says whose it is: "人事部经理"."""


def _places(statement: str) -> Iterator[Asking]:
    """ "酸类试剂存放在黄色柜子里": "酸类试剂存放在哪里？"."""
    match = _AT.search(statement)
    if match is None or not match.start() or "不" in statement or re.search("[、或]", match["a"]):
        return
    if re.search("[您你]|指定", match["a"]) or not is_nominal(
        re.sub("[里内上下中旁边]$|[\\d一二三四五六七八九十]+[层楼号]$", "", match["a"])
    ):
        return
    office = re.search("(?:部|处|科|室|中心|办公室)$", match["a"]) and match["verb"][-1] in "至到"
    yield "fact", question_of(statement[: match.start("a")] + ("哪个部门" if office else "哪里")), match["a"].strip()


def _things(statement: str) -> Iterator[Asking]:
    """ "进入实验室必须佩戴护目镜": "进入实验室必须佩戴什么？"."""
    match = _WORN.search(statement)
    if match is None or match.start() < 2 or "不" in statement:
        return
    answer = match["a"]
    if is_nominal(answer) and not re.search("[的了后前时]$|^[上下]|[和或及]", answer):
        yield "fact", question_of(f"{statement[: match.start('a')]}什么"), answer


# ---- lists ----

_PART = r"[^，、。：；（）和与及的]{1,12}"
_PARTS = rf"{_PART}(?:、{_PART}){{0,4}}(?:和|与|及|以及|、){_PART}"
_KINDS = re.compile(
    rf"(?P<s>.{{2,16}}?)(?P<v>分为|分成|有)(?P<a>{_PARTS})(?P<n>[两二三四五])(?P<m>类|种|级|部分|个\w{{1,4}}|档|等级|阶段)$"
)
_COLON = re.compile(
    rf"(?P<s>.{{2,20}}?(?:有|设有|分为|包括|提供))(?P<n>[两二三四五])(?P<m>[个种类项间名位条部]\w{{0,6}})：(?P<a>{_PARTS})$"
)
_INCLUDES = re.compile(rf"(?P<s>.{{2,20}}?)(?P<v>包括|包含|附带|配有|由)(?P<a>{_PARTS})(?P<e>组成|构成)?$")
_COUNTS = {"两": 2, "二": 2, "三": 3, "四": 4, "五": 5}


def _lists(statement: str) -> Iterator[Asking]:
    """ "化学品分为易燃、有毒和腐蚀性三类": "化学品分为哪三类？"."""
    for pattern in (_KINDS, _COLON):
        match = pattern.fullmatch(statement)
        if match is not None and len(re.split("、|和|与|以及|及", match["a"])) == _COUNTS[match["n"]]:
            lead = match["s"] + (match["v"] if pattern is _KINDS else "")
            yield "list", question_of(f"{lead}哪{match['n']}{match['m']}"), match["a"]
            return
    match = _INCLUDES.fullmatch(statement)
    if match is None or (match["v"] == "由") != bool(match["e"]) or re.search("不|[，：]", statement):
        return
    asked = f"{match['s']}由什么{match['e']}" if match["e"] else f"{match['s']}{match['v']}什么"
    if re.search("[、和]", match["s"]) is None and all(
        is_nominal(part) for part in re.split("、|和|与|以及|及", match["a"])
    ):
        yield "list", question_of(asked), match["a"]


# ---- yes or no ----

_MUST = re.compile("必须|应当|可以|须(?!知)|(?<![适相反供效响])应(?![用急聘届激邀]|.{1,12}邀)")
_MOST_OF_YES_NO = 22
"""Characters of a question for yes or no."""
_TAIL = re.compile(
    "(?:存|放|寄存|固定|停放|安装|张贴|摆放|坐落)[在于]|提前|期间|[早晚]上|[上下中]午|点[前后半]|[周星日天月年]后?[前内]|季"
)
"""A place or a time besides."""
_FORBIDDEN = re.compile("不得|不准|不可以?|不能|不允许|禁止|严禁")


def _yes_no(statement: str) -> Iterator[Asking]:
    """ "访客必须佩戴胸牌": "访客必须佩戴胸牌吗？" 是; "室内禁止饮食": "室内可以饮食吗？" 否."""
    forbidden = list(_FORBIDDEN.finditer(statement))
    if len(statement) > _MOST_OF_YES_NO or re.search("[，：]", statement) or _TAIL.search(statement):
        return
    if re.search("只能|只有|仅|才|至少|最多|不超过|超过|以[上下]|低于|高于|少于|多于", statement):
        return
    if forbidden:
        match = forbidden[0]
        before, after = statement[: match.start()], statement[match.end() :]
        if (
            len(forbidden) == 1
            and len(before) > 1
            and len(after) > 1
            and not re.search("[不、或无]|的$|须", before + after)
        ):
            before = re.sub("[均都一律]+$", "", before)
            yield "yes-no", question_of(f"{before}可以{after}", "吗"), "否"
        return
    if re.search("[不无、]", statement) or has_quantity(statement):
        return
    modal = _MUST.search(statement)
    if modal is None or not any(word == modal[0] for word, _ in tagged(statement)):
        return
    if modal.start() > 1 and len(statement) - modal.end() > 1:
        yield "yes-no", question_of(statement, "吗"), "是"


# ---- what something is ----

_IS = re.compile(
    r"(?P<x>[^，。；：（(？！、“”\"「」\s]{2,16}?)(?:[（(][^（）()]*[）)])?，?(?P<be>是指|指的是|是)(?P<y>[^：；？！]{4,60})"
)
_OF = re.compile(rf"(?P<of>{_NAME}{{2,16}})的(?P<role>[\u4e00-\u9fff]{{2,8}})")
_UNCLEAR = re.compile(
    "可能|也许|大约|通常|一般|据说|认为|分别|逾|则|便|(?<!大)约(?=为)|不是|并非|之一|这|那|该|此|(?<![极尤])其|我们|他|她|它|什么|如何|本(?=[公馆校院店站线市县])|当时|目前|现任|上述"
)
_PERSON_NOUN = re.compile(
    "(?:家|人|员|师|[歌水选能好]手|者|[学先医]生|教授|皇帝|将军|将领|[船校市省部会队处局院馆站所班店]长|王|[皇王]后|妃|[王太公]子|[人战武骑骁道]士|[歌影明球]星|官|主席|总统|总理|经理|负责人|主任)$"
)
_ONLY = re.compile(
    "首都|省会|首府|前身|总部|全称|简称|别名|负责人|[馆校院站所局处部会队班店]长|董事长|经理|主任|创始人|创办人|主席|作者|导演|设计者|发明者|最[高大长小]"
)


def _definitions(plain: str) -> Iterator[Asking]:
    """ "通风柜是一种能排出有害气体的柜子": "通风柜是什么？"; "李敏是人事部的负责人": "人事部的负责人是谁？"."""
    match = _IS.match(plain)
    if match is None or _UNCLEAR.search(match[0]) or plain[match.end() : match.end() + 1] not in ("", "，", "；"):
        return
    x, y = match["x"].strip(), match["y"]
    if match["be"] != "是":
        if "的" not in x:
            yield "fact", f"什么是{x}？", y
        return
    first = y.partition("，")[0]
    person = is_personal_name(x) and _PERSON_NOUN.search(first) is not None
    titled = re.fullmatch("《[^《》]+》", x) is not None
    if not (person or titled or (is_nominal(x) and not re.search("[的和与及]|^[一两]|\\d年", x))):
        return
    of = _OF.fullmatch(first)
    whose = of is not None and _PERSON_NOUN.search(of["role"]) is not None
    if (
        of is not None
        and whose <= person
        and _ONLY.search(of["role"])
        and not re.match("[一两]", of["of"])
        and is_nominal(of["of"])
    ):
        is_capital = answer_type(x) == "place" and re.search("首都|省会|首府", of["role"]) is not None
        yield "fact", f"{first}是{'谁' if person else '哪里' if is_capital else '什么'}？", x
    in_full = "的" in first or not re.search("位于|由|在", first)
    if in_full and len(first) > _SHORTEST_KIND and re.match("一[种个项类门名位部款座所家条本首台份支只次]", first):
        yield "fact", f"{x}是{'谁' if person else '什么'}？", first


_SHORTEST_KIND = 5
"""Characters of "一种…" that say enough."""
_RULES: tuple[Rule, ...] = (quantities, times, _persons, _places, _things, _lists, _yes_no)
