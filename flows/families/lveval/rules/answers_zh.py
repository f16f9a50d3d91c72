"""Other answers to a Chinese question: near years and quantities, invented names, an answer with a part exchanged."""

import random
import re
from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from flows.families.lveval.name_forms import TRANSCRIBED
from flows.families.lveval.rules.entities_en import coined
from flows.families.lveval.rules.entities_zh import ASIDE, DOTTED, TAILS, TRIED, persons, renamed
from flows.language import zh
from flows.language.alternatives import NUMBER, YEAR, moved
from flows.language.invented import invented_names
from flows.language.zh.numbers import spelt, value_of
from flows.language.zh.sisters import sisters
from flows.language.zh.text import NUMERALS, tagged
from flows.language.zh.types import is_personal_name, surname

LONGEST_PART = 12  # characters of an item of a list that is exchanged with the others
_SPELT = re.compile(
    f"[{NUMERALS.strip('零〇万亿')}]+(?=[岁号年个间艘轮部层座次公米人支代种条名位期站级集章届])|元(?=年$)"
)
"""A number in Chinese figures."""
_NAME_IN_ANSWER = re.compile(f"《[^》]+》|{DOTTED}|(?<![A-Za-z-])[A-Za-z]{{3,}}")
LONGEST_COUNT = 20  # characters of an answer that is a number or a time
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


def other_answers(answer: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield other answers of the same kind; or else the answer with a part exchanged."""
    said = ASIDE.sub("", answer).strip("。 ")
    others = [one for one in _of_its_kind(said, question, rng) if one != said]
    yield from others or dict.fromkeys(one for one in _varied(said, question, rng) if one != said)


def _varied(said: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield the answer with a name, a number or a word exchanged, or as a list without its first item."""
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
    """Yield near years and quantities, and invented names."""
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
            yield from (other for other in near if other != said)
        return
    yield from _named(said, of, question, rng)


def _named(said: str, of: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield other names of the type that the question asks for, or that the end of the answer tells."""
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
        and TAILS.search(said)
        and not re.search("分布|栖息", question)
    ):
        yield from renamed(said, rng)
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
    """Return whether what looks like a name is a person's; a foreign one without a dot may be a place's."""
    asked = re.search("谁|哪一?位|何人|什么人|[长人员家手后帝母父妻夫女子师主][^，]{0,2}[叫名是]", question) is not None
    foreign = len(said) > 2 and TRANSCRIBED.fullmatch(said) is not None and "谁" in question
    return "·" in said or (bool(surname(said)) and asked) or foreign
