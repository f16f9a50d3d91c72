"""Chinese statements that run parallel to the fact: of another than the question's subject, or of it something else.

The subject fact is, in this order: the question's own statement with another answer, of an invented subject of the same
sort; a clause of the page, of an invented subject. The object fact is a clause of the subject's page, the likest the
question first, that tells nothing of what is asked.

Departure: people and GPT-4 write the paper's facts. A clause of a page is lifted with its subject put before it; in an
object fact it stays true, and so contradicts nothing; in a subject fact the answer, names of works and one number are
changed.
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from flows.families.lveval.confusing import subjects
from flows.families.lveval.naming import TRANSCRIBED
from flows.families.lveval.parallels_en import Made
from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.things_en import coined
from flows.language import CannotReplace, zh
from flows.language.alternatives import NUMBER, YEAR, moved
from flows.language.invented import invented_names
from flows.language.zh.numbers import spelt, value_of
from flows.language.zh.predicates import ITSELF, about, aliases, is_unnamed, predicates
from flows.language.zh.sisters import sisters
from flows.language.zh.statements import statement, unexplained
from flows.language.zh.text import NUMERALS, is_known_word, tagged
from flows.language.zh.types import is_personal_name, surname

TRIED = 3
LEAST_BEGUN = 3
"""Characters of a question with which a page begins as well, that are taken for a name."""
_BEGINNING = 60
"""Characters of a page in which it says what it is about."""
_KEPT = 4096
LONGEST_PART = 12
"""Characters of an item of a list that is exchanged with the others."""
_SPELT = re.compile(
    f"[{NUMERALS.strip('零〇万亿')}]+(?=[岁号年个间艘轮部层座次公米人支代种条名位期站级集章届])|元(?=年$)"
)
"""A number in Chinese figures."""
_DOTTED = rf"{TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+"
_NAME_IN_ANSWER = re.compile(f"《[^》]+》|{_DOTTED}|(?<![A-Za-z-])[A-Za-z]{{3,}}")
LONGEST_COUNT = 20
"""Characters of an answer that is a number or a time."""
Thing = tuple[str, str, bool]
"""A name, its sort, and whether it is a woman's."""
_TABLES = {
    "profession": "什么职业|职业是什么|什么工作",
    "country": "哪一?个国家|什么国家|哪国",
    "title": "^(?!.*(?:协定|条约|法案|公约)).*\n《[^》]+》$",
    "colour": "什么颜色[^\n]*\n.*色|颜色是什么",
    "language": "^(?!.*[叫称]).*(?:什么|哪种|哪一?种)语言?\\b[^\n]*\n[一-龥]+[语文]$",
    "era": "(?:什么|哪个?)(?:时[期代]|年代)[^\n]*\n[一-龥]{2}时代",
    "dynasty": "(?:什么|哪个?)(?:时[期代]|年代|朝代?)[^\n]*\n.*[代朝]",
}
"""Which names answer which question, by question and answer."""
_FEMALE = re.compile("女(?:演员|作家|歌手|艺人|子[^，。]{0,8}运动员)|之妻|皇后|公主|妃")
_BODY = re.compile(
    "[国省市县党军队团社会局部院校司行厂所馆台组队室店]$|大学|中学|小学|集团|俱乐部|组织|政府|机构|[王皇]朝"
)
"""Names of what can act as a person does."""
_DONE_BY_SOMEBODY = re.compile(
    "^(?!.*(?:被|由|受|获)).*(?:发现|举行|召开|建造|建立|兴建|开设|设立|创立|创办|成立|出版|推出|发行|拍摄|公布|制成|制得|制造|"
    "研制|研发|找到|决定|宣布|认为)(?:了|[出过]?(?!于|在|的|时|后|以|[0-9])[一-龥])"
)
"""What a thing does not do: the clause leaves out who does it."""
_ANY_OF_A_KIND = re.compile("指(?![挥数标南定导])|(?:概念|方法|术语|现象|总称|统称|通称|学说|理论)$")
"""What begins a page on any thing of a kind; such a thing has no other."""
_PERSON = re.compile(
    "(?:(?<!国)家|演员|歌手|[国能选]手|运动员|作者|将军|人物|学者|诗人|教授|导演|球员|教练|记者|校长|将领|球证|裁判|模特儿?|总理|总统|"
    "牧师|神父|医生|武将|官员|大臣|人|之[子妻女]|[长次三四五六七八九]子|第.子|笑星|皇后|皇帝|首领|大师|进士|部将|名将|宰相|僧人|"
    "[总副]裁|专员|院长|[女男]优|声优|医师|琴师|编剧|君主|国王|公主|王子|子爵|伯爵)$"
)
"""What ends a clause on what a person is."""
_WORK = re.compile("(?:小说|电影|影片|剧集|电视剧|连续剧|剧场版|漫画|游戏|专辑|歌曲|单曲|动画|节目|杂志|作品)$")
_NUMBERED = re.compile(r"(?<![A-Za-z])\d+(?![a-z])")
_ASIDE = re.compile(r"[（(][^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*[）)]")
_ASKED_AND_TOLD = (
    (
        "哪里|哪儿|什么地[方区]|何[处地]|地[址点]|位置|分布|发源|栖",
        "^的?[一-龥]{0,5}[位处设源临邻产]|坐落|分布|栖|生活|处|[带内边侧近]$|源",
    ),
    ("[的么]职业|职业是|身份|(?<!叫)做什么|什么工作|职位", "^(?:是|为|[现历前曾]?[任为]|担任)"),
    (
        "^[^的，]+[是指](?:一[种个]|指|由)?什么(?:样的)?[^时]{0,6}[？?]?$|^[^的，]+是谁[？?]?$|定义|含义|意思|什么是",
        "^(?:是|为|指)",
    ),
    ("属于(?:什么|哪).{0,2}[科目类属种]|科目|民族", "^(?:是|为|属)"),
    ("特[点征性色]|优[点势]|外[观形貌]|颜色|体型|形状|什么样|怎样的", "呈|色|状|^的|性"),
    ("[食吃]什么|什么为食|的食物|食性", "食"),
    ("什么时[候间]|哪一?[年天]|何[时年]|时[期代]|成立|创[立办建]|命名|名字", "成立|创[立办建]|建于|[始源]于|名|意"),
)
"""What asks for a kind of thing, and what tells one that may be taken for the answer."""
_ALONE = re.compile("最|第.[高大长]|得名|名字|唯一|第一|首[个位次任支条]|[「“]|[前现]任$|原名|改名|更名|命名")
"""What is true of one alone, or of its name."""
_CALLED = re.compile("(?:又|也|还|还可以|亦)被?[叫称]|(?:俗|别|旧|又|原)[名称]")
"""Questions for another name."""
_OF_MANY = re.compile("[是为的]|位于|属于|分布|毕业|出生|生于|来往|栖息|司职")
"""What may be said of one thing and of another."""
_LIVING = "鱼-鳣鸟-鹴虫-蠲雀雉雁鹿狐猫狗狼熊猴鼠獴豹虎狮龟贝树草花竹藤果菌藻杉松柏柳榕桃梅菊莲葵麦豆瓜兰"
"""Characters, and the blocks of those for fishes, birds and small animals, that end names of species."""
_SPECIES = re.compile(f"[属科目类龙{_LIVING}]$")
_PLANT = re.compile("(?:杜鹃|[树草花竹兰藤果藻杉松柏柳榕桃梅菊莲葵麦豆瓜])[属科目类]?$")
_COMPOUND = re.compile("[醇醛酸酯烷烯炔酮醚胺苯酚]$")
_TAILS = re.compile(
    "(?:大学|学院|研究院|中学|小学|(?:股份|控股)?有限公司|公司|(?:保险)?集团|银行|铁路|(?:旅客)?铁道|(?:高速)?公路|大桥|机场|车站|医院|教堂|水库|"
    "公园|频道|电视台|剧组|专线|出版社|(?:足球)?俱乐部|气象局|总司令部|组织|机构|乐队|海岸|签证|文明|克拉通|纪念馆|陆块|计划|协定|条约|条款|战争|战役|之战|事件|运动|效应|[龙鱼]科|龙属|龙类|语[族系支]|(?<!物)语|"
    "[省市县郡州区镇乡村湖山岭峰河江溪湾岛站路街桥寺园塔宫城港庙线府厂党陵厦院馆社团队台属科目类龙案令奖杯人姓扇音经刀剑弓甲阀茶酒拳戏舞节法期堂音号]|"
    f"[{_LIVING}][属科]?)$"
)
"""Words for the kind of thing that a name is of."""


class Saying(NamedTuple):
    """What a page says of what it is about."""

    name: str
    text: str
    words: frozenset[str]
    page: str


@lru_cache(_KEPT)
def _sayings(page: str, names: tuple[str, ...]) -> tuple[Saying, ...]:
    """What a page says of what has these names."""
    name, at = names[0], page.find(names[0])
    own = page[at:] if at >= 0 else name + page
    acts = sort_of(name, own) in ("person", "japanese") or _BODY.search(name)
    return tuple(
        Saying(name, text, zh.content_words(text), own)
        for text in dict.fromkeys(predicates(page, names))
        if (acts or not _DONE_BY_SOMEBODY.search(text)) and not any(one in text for one in names)
    )


def facts(asked: ToConfuse, documents: Sequence[str], rng: random.Random) -> tuple[Iterator[Made], Iterator[Made]]:
    """Subject facts and object facts that may do, the best first."""
    asked = asked.model_copy(update={"question": _pointing_at_nothing(asked.question, documents)})
    names = things(asked, documents)[:1]
    stated = tuple(dict.fromkeys(statements(asked, names, rng)))
    own = [
        saying for page in documents if (spoken_of := _spoken_of(page, asked)) for saying in _sayings(page, spoken_of)
    ]
    said = _likest(asked, own)
    besides = [saying for saying in (*said, *own) if not _tells_of_what_is_asked(saying.text, asked)]
    return (
        chain(_renamed_subject(stated, names, rng), _of_another(asked, said, rng), _of_another(asked, own, rng)),
        chain(_of_it(besides), _of_another_time(asked, names, rng)),
    )


def _spoken_of(page: str, asked: ToConfuse) -> tuple[str, ...]:
    """The names of what the question is on: of what the page is about, or else of what the question begins with."""
    names = aliases(page)
    if names and _names_or_implies(asked.question, names, page):
        return (*names, *_endings(names[0], asked.question)[:1])
    if begun := _begun(asked.question, page) or (is_unnamed(page) and _asked_about(asked.question)):
        return (begun,)
    topics = (one for one in subjects("zh", asked.question) if len(one) > 2 and page.count(one) > 1)
    if topic := max((one for one in topics if not is_known_word(one)), key=len, default=""):
        return (topic,)
    return names if any(len(name) > 1 and name in asked.fact for name in names) else ()


def _names_or_implies(question: str, names: Sequence[str], page: str) -> bool:
    """Whether a question has one of the names, or its last three signs, or points to the thing: "这张专辑", "该站"."""
    shown = {name[at:].rstrip("属科") for name in names for at in range(max(len(name) - 2, 1))}
    kinds = "|".join(re.escape(name[-2:]) for name in names)
    pointing = f"[他她它牠]|(?:^|[的，])(?:{kinds})|[该此这本].?(?:{kinds}|路?线|专辑|小说|电影|游戏|作品)"
    itself = ITSELF.match(question)
    return (
        any(one and one in question for one in shown)
        or re.search(pointing, question) is not None
        or (itself is not None and itself[0] in page[:_BEGINNING])
    )


_POINTS_BACK = re.compile("[该此]|本[鱼种线站片剧作校]|这[个些种]|[他她它牠]们?")
_POINTED = "(?:这一?[个张座部所家首本款条]|[该本此])"


def _pointing_at_nothing(question: str, documents: Sequence[str]) -> str:
    """The question with the name of what the page is about where it points to it ("这张专辑", "该站")."""
    for page in documents:
        name = about(page)
        if name and name in question:
            return re.sub(f"{_POINTED}(?={re.escape(name)})", "", question)
        kinds = "|".join(re.escape(name[-length:]) for length in (3, 2, 1)) if len(name) > 1 else ""
        if kinds:
            itself = f"{_POINTED}(?:{kinds}|专辑|小说|电影|游戏|作品|路线|影片)|^(?:{ITSELF.pattern})"
            pointed = f"{itself}|^[他她它牠](?!们)"
            if found := re.search(pointed, question):
                return question[: found.start()] + name + question[found.end() :]
    return question


def _tells_of_what_is_asked(saying: str, asked: ToConfuse) -> bool:
    """Whether it holds a part of an answer, is of the kind that the question asks for, or says no more than that."""
    if zh.content_words(saying) <= zh.content_words(asked.question):
        return True
    said = (part for answer in asked.answers for part in re.split("[，、；。和与及]", answer))
    parts = {short if len(short := part.rstrip("人族国省市县")) > 1 else part for part in said if len(part) > 1}
    parts |= {year for answer in asked.answers for year in re.findall(r"\d{3,4}年", answer)}
    return any(part in saying and part not in asked.question for part in parts) or any(
        re.search(question, asked.question) and re.search(told, saying) for question, told in _ASKED_AND_TOLD
    )


def statements(asked: ToConfuse, names: Sequence[Thing], rng: random.Random) -> Iterator[str]:
    """What the question says with other answers."""
    answers = sorted(asked.answers, key=lambda answer: "，" in answer)
    others: Iterator[str] = chain.from_iterable(other_answers(one, asked.question, rng) for one in answers)
    if _CALLED.search(asked.question) and "有" in asked.question:
        others = iter(())
    elif _CALLED.search(asked.question):
        others = (other for name, sort, _ in names for other in others_than(name, sort, rng))
    if granted := unexplained(asked.question):
        yield granted
        return
    for other in list(dict.fromkeys(others))[:TRIED]:
        made = statement(asked.question, other)
        if made is not None and not _POINTS_BACK.search(other):
            yield made


def _likest(asked: ToConfuse, own: Sequence[Saying]) -> list[Saying]:
    """Those that share words with question or fact besides the names of their subjects, the likest first."""
    names = "".join(one.name for one in own[:1])
    wanted = {one for one in zh.content_words(f"{asked.question}\n{asked.fact}") if one not in names}
    ranked = sorted((-len(wanted & one.words), at) for at, one in enumerate(own))
    return [own[at] for alike, at in ranked if alike]


def _renamed_subject(stated: Sequence[str], names: Sequence[Thing], rng: random.Random) -> Iterator[Made]:
    """The question's statements, of an invented subject."""
    for text in stated:
        for name, sort, female in names:
            stem = _stem(name)
            if name in text and not (len(stem) > 1 and stem in text.replace(name, "")):
                others = (other for other in others_than(name, sort, rng, female=female) if other not in text)
                yield from (Made(text.replace(name, other), stated=True) for other in others)


def _of_another(asked: ToConfuse, said: Sequence[Saying], rng: random.Random) -> Iterator[Made]:
    """What the page says of its subject, of an invented one; the likest last, for it is the likest object fact."""
    answers = list(dict.fromkeys(other_answers(asked.answers[0], asked.question, rng)))
    for one in (*said[1:], *said[:1]):
        stem = _stem(one.name)
        sort, female = sort_of(one.name, one.page), _is_womans(one.page)
        if _ALONE.search(one.text) or (len(stem) > 1 and stem in one.text) or not _bears_on(one, asked):
            continue
        if sort not in ("person", "japanese") and "《" in one.text:
            continue
        if one == said[0] and not _OF_MANY.match(one.text):
            continue
        for other in others_than(one.name, sort, rng, female=female):
            for text in _answered(one.text, asked, answers):
                titled = re.sub("《[^》]+》", lambda _: rng.choice(invented_names("zh")["title"]), text)
                numbers = YEAR if YEAR.search(titled) else NUMBER
                dated = moved(titled, numbers, rng) if len(numbers.findall(titled)) == 1 else titled
                yield Made(f"{other}{dated}。", stated=True)


def _bears_on(said: Saying, asked: ToConfuse) -> bool:
    """Whether it is on the matter of the question, or a part of the sentence that supports the answer."""
    matter = {
        word
        for word, tag in tagged(asked.question)
        if len(word) > 1 and tag in ("n", "v", "vn", "an", "a", "i", "l") and word not in said.name
    }
    return bool(matter & said.words) or said.words <= zh.content_words(asked.fact)


def _answered(saying: str, asked: ToConfuse, others: Sequence[str]) -> Iterator[str]:
    """A saying with another answer, where it holds the answer."""
    if not any(zh.contains(saying, answer) for answer in asked.answers):
        yield saying
        return
    for other in others[:TRIED] if zh.contains(saying, asked.answers[0]) else ():
        try:
            yield zh.replace(saying, asked.answers[0], other).text
        except CannotReplace:
            continue


def _of_it(said: Sequence[Saying]) -> Iterator[Made]:
    """What the page says of its subject, in no sentence of its own."""
    for one in said:
        if (fact := f"{one.name}{one.text}。") not in one.page:
            yield Made(fact, stated=True)


def _of_another_time(asked: ToConfuse, names: Sequence[Thing], rng: random.Random) -> Iterator[Made]:
    """What the question says of another year."""
    question = asked.question
    if _ALONE.search(question) or not names or names[0][0] not in question:
        return
    before, name, after = question.partition(names[0][0])
    others = _earlier_or_later(before, rng), _earlier_or_later(after, rng)
    for changed in (*(one + name + after for one in others[0]), *(before + name + one for one in others[1])):
        made = statements(asked.model_copy(update={"question": changed}), names, rng)
        yield from (Made(one, stated=True) for one in made if one[:-1] not in changed)


def _earlier_or_later(text: str, rng: random.Random) -> list[str]:
    return [moved(text, YEAR, rng)] if len(YEAR.findall(text)) == 1 else []


# ---- other answers ----


def other_answers(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Others of the answer's kind: near years and quantities, invented names; or the answer with a part exchanged."""
    said = _ASIDE.sub("", answer).strip("。 ")
    others = [one for one in _of_its_kind(said, question, rng) if one != said]
    yield from others or dict.fromkeys(one for one in _varied(said, question, rng) if one != said)


def _varied(said: str, question: str, rng: random.Random) -> Iterator[str]:
    """An answer with a name, a number or a word in it exchanged, or as a list that lacks its first."""
    parts = re.split("(、|以及|[和与及或])", said)
    if len(parts) > 1 and all(1 < len(part) <= LONGEST_PART for part in parts[::2]):
        others = [next(iter(_of_its_kind(part, question, rng)), "") for part in parts[::2]]
        if all(others) and len(set(others)) == len(others):
            yield "".join(chain(*zip_longest(others, parts[1::2], fillvalue="")))
    if (count := _SPELT.search(said)) and len(said) <= LONGEST_PART:
        value = 1 if count[0] == "元" else int(value_of(count[0]) or 0)
        spelt_ = (spelt(value + by, before_measure="第" not in said) for by in (2, 1, 3) if value)
        yield from (said[: count.start()] + one + said[count.end() :] for one in spelt_)
    if title := re.fullmatch("[一-龥]{2}((?:王|皇|太)后|亲王|公主|王子)", said):
        yield from ("".join(rng.sample(invented_names("zh")["given"], 2)) + title[1] for _ in range(TRIED))
    yield from sisters(said)
    for found in islice(_NAME_IN_ANSWER.finditer(said), 1):
        if "·" in found[0] and found[0] != said.rstrip("政府号队"):
            continue
        others = (
            rng.sample(invented_names("zh")["title"], TRIED)
            if found[0].startswith("《")
            else list(persons("·", rng))
            if "·" in found[0]
            else [coined(found[0], rng) for _ in range(TRIED)]
        )
        yield from (said.replace(found[0], other) for other in others)
    if len(parts) > 3 and "，" not in said and all(1 < len(part) <= LONGEST_PART for part in parts[::2]):
        yield "".join(parts[2:])


def _of_its_kind(said: str, question: str, rng: random.Random) -> Iterator[str]:
    """Near years and quantities, and invented names."""
    of = zh.answer_type(said, question)
    numbers = YEAR if len(YEAR.findall(said)) == 1 else NUMBER
    if len(YEAR.findall(said)) == 2 and not NUMBER.search(YEAR.sub("", said)):
        by = rng.choice((-3, -2, 2, 3))
        yield YEAR.sub(lambda found: str(int(found[0]) + by), said)
        return
    if age := re.fullmatch(r"(\d\d)(世纪.{0,4})|(\d{3})(0年代.{0,4})", said):
        yield f"{int(age[1]) - 1}{age[2]}" if age[1] else f"{int(age[3]) - 1}{age[4]}"
        return
    if re.fullmatch(r"[0-9.]+[至到~-][0-9.]+[一-龥]{1,3}", said):
        yield from (NUMBER.sub(lambda found: moved(found[0], NUMBER, rng), said) for _ in range(TRIED))
        return
    if about_ := re.fullmatch(r"([1-9])(0+)([多余].{1,2})", said):
        yield from (f"{int(about_[1]) + by}{about_[2]}{about_[3]}" for by in (1, -1) if 0 < int(about_[1]) + by < 10)
        return
    if numbers.search(said) and not re.search("[奖章]$", said):
        if len(said) <= LONGEST_COUNT and len(numbers.findall(said)) == 1 and "世纪" not in said:
            near = (moved(said, numbers, rng) for _ in range(TRIED))
            yield from (one for one in near if one != said)
        return
    yield from _named(said, of, question, rng)


def _named(said: str, of: str, question: str, rng: random.Random) -> Iterator[str]:
    """Another of what the question asks for, or of what the answer ends in."""
    names = invented_names("zh")
    table = next((table for table, form in _TABLES.items() if re.search(form, f"{question}\n{said}")), "")
    if table:
        yield from (one for one in rng.sample(names[table], TRIED) if one not in said)
    elif re.fullmatch("[A-Z][a-z]+(?: [A-Z][a-z.]*)+", said) and re.search("谁|什么名字", question):
        yield from persons("·", rng)
    elif (of == "person" and "、" not in said and _is_person(said, question)) or (
        len(said) == 3
        and is_personal_name(said)
        and not TRANSCRIBED.fullmatch(said)
        and re.search("叫什么|是什么名字", question)
    ):
        yield from persons(said, rng, female=re.search("母|妻|女友|女儿|皇后", question) is not None)
    elif tail := re.search("(?:奖|勋章|奖章|统帅部|司令部|委员会)$", said):
        yield from (place + tail[0] for place in rng.sample(names["place"], TRIED))
    elif of == "place" and re.fullmatch("[一-龥]{2,3}", said) and [tag for _, tag in tagged(said)] == ["ns"]:
        yield from rng.sample(names["place"], TRIED)
    elif re.fullmatch("[A-Z][a-z]{3,}", said):
        yield from (coined(said, rng) for _ in range(TRIED))
    elif said in names["city"]:
        yield from rng.sample(names["city"], TRIED)
    elif (
        re.fullmatch("[^及和与、的了在，到至从]{1,14}", said)
        and _TAILS.search(said)
        and not re.search("分布|栖息", question)
    ):
        yield from _renamed(said, rng)
    elif re.search("哪里|哪儿|什么地[方区]|何[处地]", question) and (
        re.search("位于|坐落|在(?:哪里|什么地方)$", question.rstrip("？?"))
        or any(tag == "ns" for _, tag in tagged(said))
    ):
        if re.search("居住|生活|栖居|放在", question):
            return
        if re.search("分布|栖息|产于|生长|出没", question):
            yield from list(sisters(said)) or rng.sample(names["country"], TRIED)
        else:
            yield from (f"{one}{'人' if said.endswith('人') else '市'}" for one in rng.sample(names["place"], TRIED))


def _is_person(said: str, question: str) -> bool:
    """Whether what looks like a name is one; a foreign one without a dot may be a place's."""
    asked = re.search("谁|哪一?位|何人|什么人|[长人员家手后帝母父妻夫女子师主][^，]{0,2}[叫名是]", question) is not None
    foreign = len(said) > 2 and TRANSCRIBED.fullmatch(said) is not None and "谁" in question
    return "·" in said or (bool(surname(said)) and asked) or foreign


def persons(name: str, rng: random.Random, *, female: bool = False) -> Iterator[str]:
    """Persons whom nobody knows, written as the given one is."""
    female = female or zh.gender(name) == "female"
    names = invented_names("zh")
    if "·" in name or (TRANSCRIBED.fullmatch(name) and (len(name) > 2 or not surname(name))):
        for last in rng.sample(names["foreign-surname"], TRIED):
            yield f"{rng.choice(names['foreign-female' if female else 'foreign-male'])}·{last}" if "·" in name else last
    elif len(name) in (2, 3, 4):
        for family in rng.sample(names["surname"], TRIED):
            yield family + "".join(rng.sample(names["given-female" if female else "given"], 2))


def _renamed(name: str, rng: random.Random) -> list[str]:
    """A name with other words for its own, where the last of them tells what kind of thing it is."""
    if re.fullmatch("[A-Za-z][A-Za-z0-9]{2,}|[A-Za-z]{2,} [A-Za-z]{3,}", name):
        return [" ".join(coined(re.sub("[0-9]", "", word), rng) for word in name.split()) for _ in range(TRIED)]
    stem = _stem(name)
    if "·" in stem and stem != name:
        return [person + name[len(stem) :] for person in persons("·", rng)]
    foreign = len(stem) > 1 and TRANSCRIBED.fullmatch(stem) is not None
    if not stem or not re.fullmatch("[一-龥]+", name) or (stem == name and not (foreign and len(stem) > 2)):
        return []
    sort = "plant" if _PLANT.search(name) else "species" if _SPECIES.search(name) else "place"
    table = "foreign-place" if foreign else sort
    return [one + name[len(stem) :] for one in rng.sample(invented_names("zh")[table], TRIED)]


def _stem(name: str) -> str:
    """A name without the word at its end for the kind of thing."""
    tail = _TAILS.search(name)
    last, tag = tagged(name)[-1]
    lengths = (0, len(tail[0]) if tail else 0, len(last) if tag in ("n", "vn", "nt", "nz") and len(last) > 1 else 0)
    return name[: len(name) - max(length for length in lengths if length < len(name))]


# ---- names ----


def things(asked: ToConfuse, documents: Sequence[str]) -> list[Thing]:
    """What the question names, with its sort: what its pages are about, names with a dot, titles, persons, places."""
    found: dict[str, tuple[str, bool]] = {}
    for page in documents:
        name = about(page)
        called = (*aliases(page), *_endings(name, asked.question))
        if shown := next((one for one in called if one in asked.question), ""):
            foreign = "·" in name and "·" not in shown
            own = page[page.index(shown) :] if shown in page else page
            found[shown] = "foreign-surname" if foreign else sort_of(shown, own), _is_womans(page)
    for name in re.findall("《[^》]+》", asked.question):
        found.setdefault(name, ("work", False))
    for name in re.findall(_DOTTED, asked.question):
        found.setdefault(name, ("person", False))
    for name in () if found else sorted(_topics(asked.question, documents), key=len, reverse=True):
        page = next((page for page in documents if name in page), name)
        found[name] = sort_of(name, page[page.index(name) :]), False
    return [
        (name, sort, female)
        for name, (sort, female) in found.items()
        if not any(answer in name for answer in asked.answers)
    ]


def _topics(question: str, documents: Sequence[str]) -> set[str]:
    """What else a question names: what a page begins with, and what a word at its end tells the kind of."""
    begun = {_begun(question, page) for page in documents} - {""}
    named = {one for one in subjects("zh", question) if not re.search("[年月日]$", one)}
    named = {one for one in named if _NUMBERED.search(one) or _stem(one) not in ("", one)}
    told = (word for word, tag in tagged(question) if tag == "nr" and len(word) == 3 and is_personal_name(word))
    return begun or named | {one for one in told if not TRANSCRIBED.fullmatch(one)}


def _asked_about(question: str) -> str:
    """The one title in a question, or what it begins with that has a number or a word for its kind."""
    titles = re.findall("《[^》]+》", question)
    begins = (one for one in subjects("zh", question) if question.startswith(one))
    named = (one for one in begins if _NUMBERED.search(one) or _stem(one) not in ("", one))
    return titles[0] if len(titles) == 1 else max(named, key=len, default="")


def _begun(question: str, page: str) -> str:
    """The longest beginning of a question with which a page begins as well."""
    words, begun = "", ""
    for word, _ in tagged(question.lstrip("「“《")):
        words += word
        if not page.lstrip("「“《").startswith(words):
            break
        begun = words.rstrip("」”》")
    return begun if len(begun) >= LEAST_BEGUN else ""


def _endings(name: str, question: str) -> list[str]:
    """Ends of a name that are its short form in the question, the longest first."""
    ends = (name[at:] for at in range(1, len(name) - 2))
    lead = "(?:^|[^一-龥]|[的是在于与和由被至到从对])"
    named = (one for one in ends if "·" not in one and re.search(lead + re.escape(one), question))
    return [one for one in named if not is_known_word(one) and _stem(one) not in ("", one)]


def _is_womans(page: str) -> bool:
    return _FEMALE.search(page[:80]) is not None or page.count("她") > page.count("他")


def sort_of(name: str, page: str) -> str:  # noqa: PLR0911 - one for each kind of evidence
    """What sort of thing the page says its subject is; empty where it does not tell."""
    start = _ASIDE.sub("", page[len(name) : len(name) + 120]).lstrip("，、 ").partition("。")[0]
    clauses = re.split("[，、]", start)
    work = _WORK.search(clauses[0])
    if name.startswith("《") or (work and not _TAILS.search(name) and not name.endswith(work[0])):
        return "work"
    if _NUMBERED.search(name):
        return "numbered"
    if is_personal_name(name) and ("·" in name or (len(name) < 4 and not _TAILS.search(name))):
        return "person"
    of_a_kind = "或" in name or any(map(_ANY_OF_A_KIND.search, clauses[:3])) or re.search("[^大中小]学$", name)
    if of_a_kind and not _SPECIES.search(name):
        return "kind"
    told = any(map(_PERSON.search, clauses[:4])) or re.search("(?<!发)生于|毕业于|艺名|^字|，字", start)
    foreign = "·" in name or TRANSCRIBED.fullmatch(name)
    japanese = "日本" in start and 2 < len(name) < 6
    if told and not name.endswith("人") and (len(name) < 5 or foreign or japanese):
        return "japanese" if japanese and not foreign else "person"
    if not _SPECIES.search(name):
        return "thing"
    is_person = len(name) == 3 and is_personal_name(name) and not re.search("[科属种目]|物|鱼|学名", start)
    return "person" if is_person else "species"


def others_than(name: str, sort: str, rng: random.Random, *, female: bool = False) -> list[str]:
    """Invented subjects of the same sort."""
    if sort == "person":
        return list(persons(name, rng, female=female))
    if sort == "foreign-surname":
        return [one for one in rng.sample(invented_names("zh")[sort], TRIED) if one[0] != name[0]]
    if sort == "japanese":
        given = invented_names("zh")["japanese-female" if female else "japanese-male"]
        return [family + rng.choice(given) for family in rng.sample(invented_names("zh")["japanese-surname"], TRIED)]
    if sort == "work":
        return rng.sample(invented_names("zh")["title"], TRIED)
    if sort == "numbered" and (number := _NUMBERED.search(name)):
        by = rng.sample([-3, -2, 2, 3, 4], TRIED)
        return [
            name.replace(number[0], str(int(number[0]) + one).zfill(len(number[0]) if number[0][0] == "0" else 1), 1)
            for one in by
            if int(number[0]) + one > 0
        ]
    is_kind = sort == "kind" or (name.endswith("人") and is_known_word(name))
    return (() if is_kind else _renamed(name, rng)) or [*islice(sisters(name), TRIED), *_next_in_a_series(name)]


def _next_in_a_series(name: str) -> list[str]:
    """Names of compounds: 丙二醛 for 乙二醛."""
    at = "甲乙丙丁".find(name[0])
    return [other + name[1:] for other in "甲乙丙丁戊"[at + 1 :]] if at >= 0 and _COMPOUND.search(name) else []
