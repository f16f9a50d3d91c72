"""The entities that Chinese questions name, their types, and invented names that take their place."""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from flows.families.lveval.confusing_facts import subjects
from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.name_forms import TRANSCRIBED
from flows.families.lveval.rules.entities_en import coined
from flows.families.lveval.rules.vocabulary import pattern
from flows.language import zh
from flows.language.alternatives import sisters
from flows.language.tables import invented_names
from flows.language.zh.predicates import about, aliases
from flows.language.zh.text import is_known_word, tagged
from flows.language.zh.types import is_personal_name, surname

LIVING = "鱼-鳣鸟-鹴虫-蠲雀雉雁鹿狐猫狗狼熊猴鼠獴豹虎狮龟贝树草花竹藤果菌藻杉松柏柳榕桃梅菊莲葵麦豆瓜兰"
"""Characters, and the blocks of those for fishes, birds and small animals, that end names of species."""
LEAST_BEGUN = 3  # characters of a common beginning of question and page that is taken for a name
DOTTED = rf"{TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+"
_FEMALE = re.compile("女(?:演员|作家|歌手|艺人|子[^，。]{0,8}运动员)|之妻|皇后|公主|妃")
_ANY_OF_A_KIND = re.compile("指(?![挥数标南定导])|(?:概念|方法|术语|现象|总称|统称|通称|学说|理论)$")
"""The beginning of a page on a kind of thing, which has no sibling."""
_PERSON = pattern("zh_person")
_WORK = re.compile("(?:小说|电影|影片|剧集|电视剧|连续剧|剧场版|漫画|游戏|专辑|歌曲|单曲|动画|节目|杂志|作品)$")
_NUMBERED = re.compile(r"(?<![A-Za-z])\d+(?![a-z])")
_SPECIES = re.compile(f"[属科目类龙{LIVING}]$")
_PLANT = re.compile("(?:杜鹃|[树草花竹兰藤果藻杉松柏柳榕桃梅菊莲葵麦豆瓜])[属科目类]?$")
_COMPOUND = re.compile("[醇醛酸酯烷烯炔酮醚胺苯酚]$")
TRIED = 3
ASIDE = re.compile(r"[（(][^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*[）)]")
TAILS = re.compile(
    "(?:大学|学院|研究院|中学|小学|(?:股份|控股)?有限公司|公司|(?:保险)?集团|银行|铁路|(?:旅客)?铁道|(?:高速)?公路|大桥|机场|车站|医院|教堂|水库|"
    "公园|频道|电视台|剧组|专线|出版社|(?:足球)?俱乐部|气象局|总司令部|组织|机构|乐队|海岸|签证|文明|克拉通|纪念馆|陆块|计划|协定|条约|条款|战争|战役|之战|事件|运动|效应|[龙鱼]科|龙属|龙类|语[族系支]|(?<!物)语|"
    "[省市县郡州区镇乡村湖山岭峰河江溪湾岛站路街桥寺园塔宫城港庙线府厂党陵厦院馆社团队台属科目类龙案令奖杯人姓扇音经刀剑弓甲阀茶酒拳戏舞节法期堂音号]|"
    f"[{LIVING}][属科]?)$"
)
"""Words for the kind of thing that a name is of."""
Entity = tuple[str, str, bool]  # (name, type, whether it is a woman's)


def entities(asked: ToConfuse, documents: Sequence[str]) -> list[Entity]:
    """Return the entities of the question: subjects of pages, names with a dot, titles, persons, places."""
    types: dict[str, tuple[str, bool]] = {}
    for page in documents:
        name = about(page)
        called = (*aliases(page), *short_forms(name, asked.question))
        if shown := next((name for name in called if name in asked.question), ""):
            foreign = "·" in name and "·" not in shown
            told_of = page[page.index(shown) :] if shown in page else page
            types[shown] = "foreign-surname" if foreign else entity_type(shown, told_of), is_womans(page)
    for name in re.findall("《[^》]+》", asked.question):
        types.setdefault(name, ("work", False))
    for name in re.findall(DOTTED, asked.question):
        types.setdefault(name, ("person", False))
    for name in () if types else sorted(_topics(asked.question, documents), key=len, reverse=True):
        page = next((page for page in documents if name in page), name)
        types[name] = entity_type(name, page[page.index(name) :]), False
    return [
        (name, type_, female)
        for name, (type_, female) in types.items()
        if not any(answer in name for answer in asked.answers)
    ]


def _topics(question: str, documents: Sequence[str]) -> set[str]:
    """Return other names in a question: common beginnings with a page, and names whose last word tells their kind."""
    begun = {common_beginning(question, page) for page in documents} - {""}
    named = {subject for subject in subjects("zh", question) if not re.search("[年月日]$", subject)}
    named = {name for name in named if _NUMBERED.search(name) or stem_of(name) not in ("", name)}
    persons_named = (
        word for word, tag in tagged(question) if tag == "nr" and len(word) == 3 and is_personal_name(word)
    )
    return begun or named | {person for person in persons_named if not TRANSCRIBED.fullmatch(person)}


def asked_about(question: str) -> str:
    """Return the only title in a question, or its beginning if that has a number or a word for its kind."""
    titles = re.findall("《[^》]+》", question)
    begins = (subject for subject in subjects("zh", question) if question.startswith(subject))
    named = (
        beginning for beginning in begins if _NUMBERED.search(beginning) or stem_of(beginning) not in ("", beginning)
    )
    return titles[0] if len(titles) == 1 else max(named, key=len, default="")


def common_beginning(question: str, page: str) -> str:
    """Return the longest common beginning of question and page."""
    words, begun = "", ""
    for word, _ in tagged(question.lstrip("「“《")):
        words += word
        if not page.lstrip("「“《").startswith(words):
            break
        begun = words.rstrip("」”》")
    return begun if len(begun) >= LEAST_BEGUN else ""


def short_forms(name: str, question: str) -> list[str]:
    """Return the ends of a name that stand for it in the question, longest first."""
    ends = (name[at:] for at in range(1, len(name) - 2))
    lead = "(?:^|[^一-龥]|[的是在于与和由被至到从对])"
    named = (end for end in ends if "·" not in end and re.search(lead + re.escape(end), question))
    return [name for name in named if not is_known_word(name) and stem_of(name) not in ("", name)]


def is_womans(page: str) -> bool:
    return _FEMALE.search(page[:80]) is not None or page.count("她") > page.count("他")


def entity_type(name: str, page: str) -> str:  # noqa: PLR0911 - one for each kind of evidence
    """Return the type that the page gives its subject; empty where it does not say."""
    start = ASIDE.sub("", page[len(name) : len(name) + 120]).lstrip("，、 ").partition("。")[0]
    clauses = re.split("[，、]", start)
    work = _WORK.search(clauses[0])
    if name.startswith("《") or (work and not TAILS.search(name) and not name.endswith(work[0])):
        return "work"
    if _NUMBERED.search(name):
        return "numbered"
    if is_personal_name(name) and ("·" in name or (len(name) < 4 and not TAILS.search(name))):
        return "person"
    of_a_kind = "或" in name or any(map(_ANY_OF_A_KIND.search, clauses[:3])) or re.search("[^大中小]学$", name)
    if of_a_kind and not _SPECIES.search(name):
        return "kind"
    is_told = any(map(_PERSON.search, clauses[:4])) or re.search("(?<!发)生于|毕业于|艺名|^字|，字", start)
    foreign = "·" in name or TRANSCRIBED.fullmatch(name)
    japanese = "日本" in start and 2 < len(name) < 6
    if is_told and not name.endswith("人") and (len(name) < 5 or foreign or japanese):
        return "japanese" if japanese and not foreign else "person"
    if not _SPECIES.search(name):
        return "thing"
    is_person = len(name) == 3 and is_personal_name(name) and not re.search("[科属种目]|物|鱼|学名", start)
    return "person" if is_person else "species"


def others_than(name: str, type_: str, rng: random.Random, *, female: bool = False) -> list[str]:
    """Return invented names of the same type."""
    if type_ == "person":
        return list(persons(name, rng, female=female))
    if type_ == "foreign-surname":
        return [other for other in rng.sample(invented_names("zh")[type_], TRIED) if other[0] != name[0]]
    if type_ == "japanese":
        given_names = invented_names("zh")["japanese-female" if female else "japanese-male"]
        return [
            family + rng.choice(given_names) for family in rng.sample(invented_names("zh")["japanese-surname"], TRIED)
        ]
    if type_ == "work":
        return rng.sample(invented_names("zh")["title"], TRIED)
    if type_ == "numbered" and (number := _NUMBERED.search(name)):
        by = rng.sample([-3, -2, 2, 3, 4], TRIED)
        return [
            name.replace(number[0], str(int(number[0]) + other).zfill(len(number[0]) if number[0][0] == "0" else 1), 1)
            for other in by
            if int(number[0]) + other > 0
        ]
    is_kind = type_ == "kind" or (name.endswith("人") and is_known_word(name))
    return (() if is_kind else renamed(name, rng)) or [*islice(sisters(name), TRIED), *_next_in_a_series(name)]


def _next_in_a_series(name: str) -> list[str]:
    """Return names of compounds: 丙二醛 for 乙二醛."""
    at = "甲乙丙丁".find(name[0])
    return [other + name[1:] for other in "甲乙丙丁戊"[at + 1 :]] if at >= 0 and _COMPOUND.search(name) else []


def persons(name: str, rng: random.Random, *, female: bool = False) -> Iterator[str]:
    """Yield invented persons, written as the given one is."""
    female = female or zh.gender(name) == "female"
    names = invented_names("zh")
    if "·" in name or (TRANSCRIBED.fullmatch(name) and (len(name) > 2 or not surname(name))):
        for last in rng.sample(names["foreign-surname"], TRIED):
            yield f"{rng.choice(names['foreign-female' if female else 'foreign-male'])}·{last}" if "·" in name else last
    elif len(name) in (2, 3, 4):
        for family in rng.sample(names["surname"], TRIED):
            yield family + "".join(rng.sample(names["given-female" if female else "given"], 2))


def renamed(name: str, rng: random.Random) -> list[str]:
    """Return other names that end in the same word for the kind of thing."""
    if re.fullmatch("[A-Za-z][A-Za-z0-9]{2,}|[A-Za-z]{2,} [A-Za-z]{3,}", name):
        return [" ".join(coined(re.sub("[0-9]", "", word), rng) for word in name.split()) for _ in range(TRIED)]
    stem = stem_of(name)
    if "·" in stem and stem != name:
        return [person + name[len(stem) :] for person in persons("·", rng)]
    foreign = len(stem) > 1 and TRANSCRIBED.fullmatch(stem) is not None
    if not stem or not re.fullmatch("[一-龥]+", name) or (stem == name and not (foreign and len(stem) > 2)):
        return []
    type_ = "plant" if _PLANT.search(name) else "species" if _SPECIES.search(name) else "place"
    table = "foreign-place" if foreign else type_
    return [other + name[len(stem) :] for other in rng.sample(invented_names("zh")[table], TRIED)]


def stem_of(name: str) -> str:
    """Return a name without the last word, which tells the kind of thing."""
    tail = TAILS.search(name)
    last, tag = tagged(name)[-1]
    lengths = (0, len(tail[0]) if tail else 0, len(last) if tag in ("n", "vn", "nt", "nz") and len(last) > 1 else 0)
    return name[: len(name) - max(length for length in lengths if length < len(name))]
