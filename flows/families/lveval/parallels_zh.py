"""Chinese statements that run parallel to the fact: of another than the question's subject, or of what is beside it."""

import random
import re
from collections.abc import Iterator, Sequence

from flows.families.lveval.naming import TRANSCRIBED
from flows.families.lveval.parallels_en import Made
from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.things_en import coined
from flows.language import CannotReplace, zh
from flows.language.alternatives import NUMBER, YEAR, is_plausible, moved
from flows.language.invented import invented_names
from flows.language.zh_statements import statement
from flows.language.zh_text import is_known_word, tagged
from flows.language.zh_types import surname

TRIED = 3
LONGEST = 70
CLAUSES = 3
_BESIDE = {
    "person": ("的表亲", "的一位朋友", "的一位同学"),
    "species": ("的近缘种",),
    "river": ("的支流",),
    "place": ("的邻县",),
}
_SORTS = (
    (
        "person",
        "演员|歌手|运动员|政治家|政治人物|学者|作家|诗人|教授|导演|球员|教练|画家|学家|音乐人|记者|校长|将领|球证|裁判|主持人|"
        "模特儿?|总理|总统|牧师|医生|武将|官员|大臣|选手|军人|人|之子|笑星|第.子|教育家",
    ),
    ("work", "电影|电视剧|小说|游戏|专辑|歌曲|漫画|动画|作品|节目|单曲|剧集|软体|软件"),
    ("species", "一个种|植物|动物|恐龙|演化支|物种"),
    ("river", "河流|河道|明渠|支流|水道|河"),
    (
        "thing",
        "车站|大学|学校|学院|中学|小学|教堂|公园|大厦|路线|铁路|公路|公司|组织|机构|政党|部门|部门之一|球队|俱乐部|银行|集团|"
        "频道|法案|计划|协会|医院|博物馆|机场|桥|线|局|司令部|语言|大陆|克拉通|乐队|政府",
    ),
    ("place", "县|市|镇|乡|区|城"),
)
"""What ends the first clause on something, by its sort."""
_ASIDE = re.compile(r"[（(][^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*[）)]")
_ALIAS = re.compile("本名|原名|又名|又称|俗称|简称|全称|别名|译为|音译|写成|^字|^号|学名|英文|缩写|亦作|又译")
_ENTITY = re.compile("^[《「]?[^（(，,。：:；;！？\\n]{2,16}?[》」]?(?=[（(，,]|是|为|位于|乃|指|又名|又称)")
_GOES_ON = re.compile("但|而|因|所以|并|也|其|又|后|由于|故|当|原")
"""Where a clause goes on from the one before it."""
_OWNED = re.compile("[一-龥]{2,3}(?:的|是)")
"""What somebody has, behind the name: 女友的, 生母是."""
_VERB = re.compile("^[^的]{0,3}(?:是|为|有|位于|曾|于|由|在|司职|毕业|出生|来自|分布|祖籍|生于)|是")
_UNIQUE = re.compile("最|意为|得名|名字|唯一|第一|首[个位次]|[于在][0-9]+年，|的[前现]任")
"""What is true of one alone."""
SHORTEST = 10
"""Characters of what is said besides the name."""
_TAILS = re.compile(
    "(?:大学|学院|中学|小学|公司|集团|银行|铁路|公路|大桥|机场|车站|医院|教堂|水库|省|市|县|郡|州|区|镇|乡|村|湖|山|河|江|岛|站|"
    "路|街|桥|寺|塔|宫|城|港|保险集团|气象局|总司令部|陆块|语|计划)$"
)
"""Words for the kind of thing that a name is of."""
_KINDS = re.compile("(?:龙类|[鱼鲷鳗鲨鲤鲈鳅鸟雀龙树草花竹兰藤果蛇蛙龟蟹虾虫蝶蛾菌鹉])$")


def facts(asked: ToConfuse, documents: Sequence[str], rng: random.Random) -> tuple[Iterator[Made], Iterator[Made]]:
    """Subject facts and object facts that may do, the best first."""
    stated = tuple(dict.fromkeys(statements(asked, rng)))
    given = tuple(dict.fromkeys((*stated, *texts(asked, documents, rng))))
    names = things(asked, documents)
    return (
        (Made(fact, text in stated) for text in given for fact in _of_another(text, names, rng)),
        (Made(fact, text in stated) for text in given for fact in _beside(text, names, stated, rng)),
    )


def statements(asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    """What the question says with other answers."""
    for other in list(dict.fromkeys(other_answers(asked.answers[0], asked.question, rng)))[:TRIED]:
        if (made := statement(asked.question, other)) is not None:
            yield made


def texts(asked: ToConfuse, documents: Sequence[str], rng: random.Random) -> Iterator[str]:
    """What the pages say of what they are about, without the answers."""
    others = list(dict.fromkeys(other_answers(asked.answers[0], asked.question, rng)))
    for document in documents:
        about = opening(document)
        for sentence in zh.sentences(_ASIDE.sub("", document)) if about else ():
            said = sentence.removeprefix(about)
            fit = len(sentence) < 3 * LONGEST and said != sentence and not said.startswith(("的", "和", "与"))
            if fit and not _UNIQUE.search(said):
                yield from _clauses(sentence, about, asked, others)


def _clauses(sentence: str, about: str, asked: ToConfuse, others: Sequence[str]) -> Iterator[str]:
    """A sentence on what its page is about without other names for it, and without the answer."""
    if not sentence.endswith("。"):
        return
    if (
        _short(sentence)
        and zh.answer_type(asked.answers[0]) in ("date", "number")
        and any(zh.contains(sentence, one) for one in asked.answers)
    ):
        for other in others[:TRIED]:
            try:
                yield zh.replace(sentence, asked.answers[0], other).text
            except CannotReplace:
                continue
    bare = [_ASIDE.sub("", one) for one in asked.answers]
    clauses = [clause for clause in sentence.rstrip("。")[len(about) :].split("，") if clause]
    if clauses and re.match("是|为", clauses[0]) and any(one and one in clauses[0] for one in bare):
        clauses = [clause for clause in clauses[1:] if _VERB.match(clause)]
    kept: list[str] = []
    for clause in clauses:
        if _GOES_ON.match(clause):
            break
        if not _ALIAS.search(clause) and not any(one and one in clause for one in bare):
            kept.append(clause)
    if kept and zh.count("".join(kept[:CLAUSES])) >= SHORTEST:
        yield f"{about}{_linked(kept[0])}{''.join(f'，{one}' for one in kept[1:CLAUSES])}。"


def _linked(clause: str) -> str:
    """A clause behind its subject: with a verb between, where it is only what somebody is."""
    nominal = not _VERB.search(clause) and tagged(clause)[-1][1].startswith("n")
    made = re.fullmatch("由.+的[一-龥]{2,6}", clause) is not None
    return f"是{clause}" if nominal or made else clause


def _short(sentence: str) -> bool:
    return len(sentence) <= LONGEST and not _ALIAS.search(sentence)


def opening(document: str) -> str:
    """What a page begins with: mostly what it is about."""
    found = _ENTITY.match(document)
    return found[0].strip() if found and not re.search(r"\d{2}年|[年月日]$", found[0]) else ""


# ---- other answers ----


def other_answers(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Others of the answer's kind: near years and quantities, invented names."""
    said = _ASIDE.sub("", answer).strip("。 ")
    of = zh.answer_type(said, question)
    numbers = YEAR if len(YEAR.findall(said)) == 1 else NUMBER
    if re.fullmatch(r"[0-9.]+[至到~-][0-9.]+[一-龥]{1,3}", said):
        yield from (NUMBER.sub(lambda found: moved(found[0], NUMBER, rng), said) for _ in range(TRIED))
        return
    if about := re.fullmatch(r"([1-9])(0+)(多.{1,2})", said):
        yield from (f"{int(about[1]) + by}{about[2]}{about[3]}" for by in (1, -1) if 0 < int(about[1]) + by < 10)
        return
    if numbers.search(said) and not re.search("[奖章]$", said):
        if len(numbers.findall(said)) == 1 and not re.search("世纪|届", said):
            near = (moved(said, numbers, rng) for _ in range(TRIED))
            yield from (one for one in near if one != said and is_plausible(said, one))
        return
    yield from _named(said, of, question, rng)


def _named(said: str, of: str, question: str, rng: random.Random) -> Iterator[str]:
    """Another of what the question asks for, or of what the answer ends in."""
    names = invented_names("zh")
    if re.search("什么职业|职业是什么|什么工作", question):
        yield from rng.sample(names["profession"], TRIED)
    elif re.search("哪一?个国家|什么国家|哪国", question):
        yield from rng.sample(names["country"], TRIED)
    elif of == "person" and "、" not in said:
        yield from persons(said, rng, female=re.search("母|妻|女友|女儿|皇后", question) is not None)
    elif tail := re.search("(?:奖|勋章|奖章|统帅部|司令部|委员会)$", said):
        yield from (place + tail[0] for place in rng.sample(names["place"], TRIED))
    elif tail := re.search("龙类$", said):
        yield from (one + tail[0] for one in rng.sample(names["species"], TRIED))
    elif dotted := re.fullmatch(f"({TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+)(政府|内阁|奖)", said):
        yield from (person + dotted[2] for person in persons(dotted[1], rng))
    elif re.search("什么地方|哪里|哪个[镇村县城]", question) and re.fullmatch("[一-龥]{2,3}", said):
        yield from rng.sample(names["place"], TRIED)
    elif re.fullmatch("《[^》]+》", said):
        yield from rng.sample(names["title"], TRIED)
    elif re.fullmatch("[A-Z][a-z]{3,}", said):
        yield from (coined(said, rng) for _ in range(TRIED))
    elif said in names["city"]:
        yield from rng.sample(names["city"], TRIED)
    elif of in ("place", "organisation") and (other := renamed(said, rng)) is not None and len(said) <= 12:
        yield other


def persons(name: str, rng: random.Random, *, female: bool = False) -> Iterator[str]:
    """Persons whom nobody knows, written as the given one is."""
    female = female or zh.gender(name) == "female"
    names = invented_names("zh")
    if "·" in name or (TRANSCRIBED.fullmatch(name) and not surname(name)):
        for last in rng.sample(names["foreign-surname"], TRIED):
            yield f"{rng.choice(names['foreign-female' if female else 'foreign-male'])}·{last}" if "·" in name else last
    elif surname(name) and len(name) in (2, 3, 4):
        for family in rng.sample(names["surname"], TRIED):
            yield family + "".join(rng.sample(names["given-female" if female else "given"], min(2, len(name) - 1)))


def renamed(name: str, rng: random.Random) -> str | None:
    """A name with another word for its own, where the rest tells what kind of thing it is."""
    tail = _TAILS.search(name)
    if tail is None or not 2 <= tail.start() <= 8 or not re.fullmatch("[一-龥]+", name):
        return None
    foreign = TRANSCRIBED.fullmatch(name[: tail.start()]) is not None
    return rng.choice(invented_names("zh")["foreign-place" if foreign else "place"]) + tail[0]


# ---- names ----


def things(asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, str]]:
    """What the question names, with its sort: what its pages are about, names with a dot, titles, persons, places."""
    found: dict[str, str] = {}
    asked_first = re.match("[一-龥]{2,4}?(?=的|是|在|一共|于|被|曾|何|出|哪|什么)", asked.question)
    for document in documents:
        about = opening(document)
        if about and asked_first and about.endswith(asked_first[0]) and about not in asked.question:
            found[asked_first[0]] = _sort(about, document)
        if about and about in asked.question:
            found[about] = _sort(about, document)
    for start, end in zh.spans_of_type(asked.question, "person"):
        name = asked.question[start:end]
        if (
            surname(name)
            and len(name) in (2, 3)
            and not is_known_word(name)
            and not any(name in one for one in found)
            and any(name in one for one in documents)
        ):
            found[name] = "person"
    for name in re.findall("《[^》]+》", asked.question):
        found.setdefault(name, "work")
    for name in re.findall(f"{TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+", asked.question):
        found.setdefault(name, "person")
    return [
        (name, sort)
        for name, sort in found.items()
        if sort and not any(name in answer or answer in name for answer in asked.answers)
    ]


def _sort(name: str, document: str) -> str:
    if name.startswith("《"):
        return "work"
    if "·" in name:
        return "person"
    if tail := _TAILS.search(name):
        return "river" if tail[0] in "河江" else "place" if tail[0] in "省市县郡州区镇乡村" else "thing"
    if _KINDS.search(name):
        return "species"
    start = _ASIDE.sub("", document[len(name) : len(name) + 200]).partition("。")[0]
    for clause in re.split("[，、]", start):
        for sort, nouns in _SORTS:
            if clause and re.search(f"(?:{nouns})$", clause):
                return sort
    return ""


def _others(name: str, sort: str, rng: random.Random) -> list[str]:
    names = invented_names("zh")
    if sort == "person":
        return list(persons(name, rng))
    if sort == "work":
        return list(rng.sample(names["title"], TRIED))
    if sort == "species" and (kind := _KINDS.search(name)):
        return [one + kind[0] for one in rng.sample(names["species"], TRIED)]
    if sort == "thing" and (number := re.search(r"\d+", name)):
        return [
            name.replace(number[0], str(max(1, int(number[0]) + by)), 1) for by in rng.sample([-3, -2, 2, 3, 4], TRIED)
        ]
    other = renamed(name, rng)
    return [other] if other else []


def _of_another(text: str, names: Sequence[tuple[str, str]], rng: random.Random) -> Iterator[str]:
    for name, sort in names:
        stem = name[: tail.start()] if (tail := _TAILS.search(name)) else ""
        if name in text and not (len(stem) > 1 and stem in text.replace(name, "")):
            for other in _others(name, sort, rng):
                yield text.replace(name, other)


def _beside(text: str, names: Sequence[tuple[str, str]], stated: Sequence[str], rng: random.Random) -> Iterator[str]:
    for name, sort in names:
        if text.count(name) != 1 or sort not in _BESIDE:
            continue
        at = text.index(name) + len(name)
        following = next((tag for word, tag in tagged(text[at : at + 8]) if word.strip()), "")
        for relation in rng.sample(_BESIDE[sort], len(_BESIDE[sort])):
            if following.startswith("n") and text not in stated:
                break
            link = "的" if following.startswith("n") and _OWNED.match(text[at:]) else ""
            yield f"{text[:at]}{relation}{link}{text[at:]}"
