"""Other answers to a Chinese question: near years and quantities, invented names, an answer with a part exchanged."""

import random
import re
from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from flows.families.lveval.name_forms import TRANSCRIBED
from flows.families.lveval.rules.entities_en import coined
from flows.families.lveval.rules.entities_zh import ASIDE, DOTTED, TAILS, TRIED, persons, renamed
from flows.language import zh
from flows.language.alternatives import NUMBER, YEAR, moved, sisters
from flows.language.tables import invented_names
from flows.language.zh.numbers import spelt, value_of
from flows.language.zh.text import NUMERALS, tagged
from flows.language.zh.types import is_personal_name, surname

LONGEST_PART = 12  # characters of a list item that may be exchanged
_SPELT = re.compile(
    f"[{NUMERALS.strip('零〇万亿')}]+(?=[岁号年个间艘轮部层座次公米人支代种条名位期站级集章届])|元(?=年$)"
)
"""A number in Chinese figures."""
_NAME_IN_ANSWER = re.compile(f"《[^》]+》|{DOTTED}|(?<![A-Za-z-])[A-Za-z]{{3,}}")
LONGEST_COUNT = 20  # characters of an answer that is a number or a time, at most
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
        others = (
            rng.sample(invented_names("zh")["title"], TRIED)
            if name[0].startswith("《")
            else list(persons("·", rng))
            if "·" in name[0]
            else [coined(name[0], rng) for _ in range(TRIED)]
        )
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
        return
    if age := re.fullmatch(r"(\d\d)(世纪.{0,4})|(\d{3})(0年代.{0,4})", answer):
        yield f"{int(age[1]) - 1}{age[2]}" if age[1] else f"{int(age[3]) - 1}{age[4]}"
        return
    if re.fullmatch(r"[0-9.]+[至到~-][0-9.]+[一-龥]{1,3}", answer):
        yield from (NUMBER.sub(lambda match: moved(match[0], NUMBER, rng), answer) for _ in range(TRIED))
        return
    if about_ := re.fullmatch(r"([1-9])(0+)([多余].{1,2})", answer):
        yield from (f"{int(about_[1]) + by}{about_[2]}{about_[3]}" for by in (1, -1) if 0 < int(about_[1]) + by < 10)
        return
    if numbers.search(answer) and not re.search("[奖章]$", answer):
        if len(answer) <= LONGEST_COUNT and len(numbers.findall(answer)) == 1 and "世纪" not in answer:
            near = (moved(answer, numbers, rng) for _ in range(TRIED))
            yield from (other for other in near if other != answer)
        return
    yield from _named(answer, of, question, rng)


def _named(answer: str, of: str, question: str, rng: random.Random) -> Iterator[str]:
    """Yield other names of the type that the question asks for, or that the end of the answer tells."""
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
    """Return whether what looks like a name is a person's; a foreign one without a dot may be a place's."""
    asked = re.search("谁|哪一?位|何人|什么人|[长人员家手后帝母父妻夫女子师主][^，]{0,2}[叫名是]", question) is not None
    foreign = len(name) > 2 and TRANSCRIBED.fullmatch(name) is not None and "谁" in question
    return "·" in name or (bool(surname(name)) and asked) or foreign
