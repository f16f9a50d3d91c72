"""Chinese entities and answers: their types, and invented substitutes."""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from flows.families.lveval.confusing_facts import subjects
from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.name_forms import TRANSCRIBED
from flows.families.lveval.rules.entities_en import coined
from flows.families.lveval.rules.vocabulary import pattern, vocabulary
from flows.language import zh
from flows.language.alternatives import NUMBER, YEAR, moved, sisters
from flows.language.tables import invented_names
from flows.language.zh.numbers import spelt, value_of
from flows.language.zh.predicates import about, aliases
from flows.language.zh.text import NUMERALS, is_known_word, tagged
from flows.language.zh.types import is_personal_name, surname

LIVING = "鱼-鳣鸟-鹴虫-蠲雀雉雁鹿狐猫狗狼熊猴鼠獴豹虎狮龟贝树草花竹藤果菌藻杉松柏柳榕桃梅菊莲葵麦豆瓜兰"
"""Characters, and the blocks of those for fishes, birds and small animals, that end names of species."""
LEAST_BEGUN = 3  # characters of a common beginning of question and page that counts as a name
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
TAILS = re.compile(f"(?:{''.join(vocabulary('zh_tails'))}|[{LIVING}][属科]?)$")
Entity = tuple[str, str, bool]  # (name, type, whether it is a woman's)
LONGEST_PART = 12  # characters of a list item that may be exchanged
_SPELT = re.compile(
    f"[{NUMERALS.strip('零〇万亿')}]+(?=[岁号年个间艘轮部层座次公米人支代种条名位期站级集章届])|元(?=年$)"
)
"""A number in Chinese figures."""
_NAME_IN_ANSWER = re.compile(f"《[^》]+》|{DOTTED}|(?<![A-Za-z-])[A-Za-z]{{3,}}")
LONGEST_COUNT = 20  # the most characters of an answer that is a number or a time
_TABLES = vocabulary("zh_answer_tables")


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
    """Return other names in a question: common beginnings with a page, and names whose last word shows their kind."""
    begun = {common_beginning(question, page) for page in documents} - {""}
    named = {subject for subject in subjects("zh", question) if not re.search("[年月日]$", subject)}
    tagged_names = (word for word, tag in tagged(question) if tag == "nr" and len(word) == 3)
    people = {name for name in tagged_names if is_personal_name(name) and not TRANSCRIBED.fullmatch(name)}
    return begun or set(filter(_has_kind, named)) | people


def asked_about(question: str) -> str:
    """Return the only title in a question, or its beginning if that has a number or a word for its kind."""
    titles = re.findall("《[^》]+》", question)
    begins = (subject for subject in subjects("zh", question) if question.startswith(subject))
    named = filter(_has_kind, begins)
    return titles[0] if len(titles) == 1 else max(named, key=len, default="")


def _has_kind(name: str) -> bool:
    """Return whether a name has a number, or ends in a word for its kind."""
    return _NUMBERED.search(name) is not None or stem_of(name) not in ("", name)


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
    """Return the type that the page gives its subject; empty if it gives none."""
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
        families = rng.sample(invented_names("zh")["japanese-surname"], TRIED)
        return [family + rng.choice(given_names) for family in families]
    if type_ == "work":
        return rng.sample(invented_names("zh")["title"], TRIED)
    if type_ == "numbered" and (number := _NUMBERED.search(name)):
        width = len(number[0]) if number[0][0] == "0" else 1
        others = (int(number[0]) + by for by in rng.sample([-3, -2, 2, 3, 4], TRIED))
        return [name.replace(number[0], str(other).zfill(width), 1) for other in others if other > 0]
    is_kind = type_ == "kind" or (name.endswith("人") and is_known_word(name))
    return (() if is_kind else renamed(name, rng)) or [*islice(sisters(name), TRIED), *_next_in_a_series(name)]


def _next_in_a_series(name: str) -> list[str]:
    """Return names of compounds: 丙二醛 for 乙二醛."""
    at = "甲乙丙丁".find(name[0])
    return [other + name[1:] for other in "甲乙丙丁戊"[at + 1 :]] if at >= 0 and _COMPOUND.search(name) else []


def persons(name: str, rng: random.Random, *, female: bool = False) -> Iterator[str]:
    """Yield invented persons, written like `name`."""
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
    """Return a name without the last word, which shows the kind of thing."""
    tail = TAILS.search(name)
    last, tag = tagged(name)[-1]
    lengths = (0, len(tail[0]) if tail else 0, len(last) if tag in ("n", "vn", "nt", "nz") and len(last) > 1 else 0)
    return name[: len(name) - max(length for length in lengths if length < len(name))]


def other_answers(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield other answers of the same kind; or else the answer with a part exchanged."""
    bare = ASIDE.sub("", answer).strip("。 ")
    others = [other for other in _of_its_kind(bare, question, rng) if other != bare]
    yield from others or dict.fromkeys(other for other in _varied(bare, question, rng) if other != bare)


def _varied(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield the answer with a name, a number or a word exchanged, or as a list without its first item."""
    parts = re.split("(、|以及|[和与及或])", answer)
    if len(parts) > 1 and all(1 < len(part) <= LONGEST_PART for part in parts[::2]):
        others = [next(iter(_of_its_kind(part, question, rng)), "") for part in parts[::2]]
        if all(others) and len(set(others)) == len(others):
            yield "".join(chain(*zip_longest(others, parts[1::2], fillvalue="")))
    if (count := _SPELT.search(answer)) and len(answer) <= LONGEST_PART:
        value = 1 if count[0] == "元" else int(value_of(count[0]) or 0)
        spelt_ = (spelt(value + by, before_measure="第" not in answer) for by in (2, 1, 3) if value)
        yield from (answer[: count.start()] + number + answer[count.end() :] for number in spelt_)
    if title := re.fullmatch("[一-龥]{2}((?:王|皇|太)后|亲王|公主|王子)", answer):
        yield from ("".join(rng.sample(invented_names("zh")["given"], 2)) + title[1] for _ in range(TRIED))
    yield from sisters(answer)
    for name in islice(_NAME_IN_ANSWER.finditer(answer), 1):
        if "·" in name[0] and name[0] != answer.rstrip("政府号队"):
            continue
        if name[0].startswith("《"):
            others = rng.sample(invented_names("zh")["title"], TRIED)
        else:
            others = list(persons("·", rng)) if "·" in name[0] else [coined(name[0], rng) for _ in range(TRIED)]
        yield from (answer.replace(name[0], other) for other in others)
    if len(parts) > 3 and "，" not in answer and all(1 < len(part) <= LONGEST_PART for part in parts[::2]):
        yield "".join(parts[2:])


def _of_its_kind(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield near years and quantities, and invented names."""
    of = zh.answer_type(answer, question)
    numbers = YEAR if len(YEAR.findall(answer)) == 1 else NUMBER
    if len(YEAR.findall(answer)) == 2 and not NUMBER.search(YEAR.sub("", answer)):
        by = rng.choice((-3, -2, 2, 3))
        yield YEAR.sub(lambda match: str(int(match[0]) + by), answer)
    elif age := re.fullmatch(r"(\d\d)(世纪.{0,4})|(\d{3})(0年代.{0,4})", answer):
        yield f"{int(age[1]) - 1}{age[2]}" if age[1] else f"{int(age[3]) - 1}{age[4]}"
    elif re.fullmatch(r"[0-9.]+[至到~-][0-9.]+[一-龥]{1,3}", answer):
        yield from (NUMBER.sub(lambda match: moved(match[0], NUMBER, rng), answer) for _ in range(TRIED))
    elif about_ := re.fullmatch(r"([1-9])(0+)([多余].{1,2})", answer):
        yield from (f"{int(about_[1]) + by}{about_[2]}{about_[3]}" for by in (1, -1) if 0 < int(about_[1]) + by < 10)
    elif not numbers.search(answer) or re.search("[奖章]$", answer):
        yield from _named(answer, of, question, rng)
    elif len(answer) <= LONGEST_COUNT and len(numbers.findall(answer)) == 1 and "世纪" not in answer:
        near = (moved(answer, numbers, rng) for _ in range(TRIED))
        yield from (other for other in near if other != answer)


def _named(answer: str, of: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield other names of the type that the question asks for, or that the end of the answer shows."""
    names = invented_names("zh")
    table = next((table for table, form in _TABLES.items() if re.search(form, f"{question}\n{answer}")), "")
    if table:
        yield from (name for name in rng.sample(names[table], TRIED) if name not in answer)
    elif re.fullmatch("[A-Z][a-z]+(?: [A-Z][a-z.]*)+", answer) and re.search("谁|什么名字", question):
        yield from persons("·", rng)
    elif (of == "person" and "、" not in answer and _is_person(answer, question)) or (
        len(answer) == 3
        and is_personal_name(answer)
        and not TRANSCRIBED.fullmatch(answer)
        and re.search("叫什么|是什么名字", question)
    ):
        yield from persons(answer, rng, female=re.search("母|妻|女友|女儿|皇后", question) is not None)
    elif tail := re.search("(?:奖|勋章|奖章|统帅部|司令部|委员会)$", answer):
        yield from (place + tail[0] for place in rng.sample(names["place"], TRIED))
    elif of == "place" and re.fullmatch("[一-龥]{2,3}", answer) and [tag for _, tag in tagged(answer)] == ["ns"]:
        yield from rng.sample(names["place"], TRIED)
    elif re.fullmatch("[A-Z][a-z]{3,}", answer):
        yield from (coined(answer, rng) for _ in range(TRIED))
    elif answer in names["city"]:
        yield from rng.sample(names["city"], TRIED)
    elif (
        re.fullmatch("[^及和与、的了在，到至从]{1,14}", answer)
        and TAILS.search(answer)
        and not re.search("分布|栖息", question)
    ):
        yield from renamed(answer, rng)
    elif re.search("哪里|哪儿|什么地[方区]|何[处地]", question) and (
        re.search("位于|坐落|在(?:哪里|什么地方)$", question.rstrip("？?"))
        or any(tag == "ns" for _, tag in tagged(answer))
    ):
        if re.search("居住|生活|栖居|放在", question):
            return
        if re.search("分布|栖息|产于|生长|出没", question):
            yield from list(sisters(answer)) or rng.sample(names["country"], TRIED)
        else:
            yield from (
                f"{name}{'人' if answer.endswith('人') else '市'}" for name in rng.sample(names["place"], TRIED)
            )


def _is_person(name: str, question: str) -> bool:
    """Return whether a possible name is a person's; a foreign name without a dot may be a place's."""
    asked = re.search("谁|哪一?位|何人|什么人|[长人员家手后帝母父妻夫女子师主][^，]{0,2}[叫名是]", question) is not None
    foreign = len(name) > 2 and TRANSCRIBED.fullmatch(name) is not None and "谁" in question
    return "·" in name or (bool(surname(name)) and asked) or foreign
