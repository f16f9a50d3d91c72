"""Chinese names that a rule can soundly replace, and their invented substitutes."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from flows.families.lveval.candidates import named_entities
from flows.families.lveval.inputs import ToRename
from flows.families.lveval.name_forms import TRANSCRIBED
from flows.families.lveval.rules.replacement_makers import Maker, asked_years, gender_of, moved, substituted
from flows.families.lveval.rules.vocabulary import vocabulary
from flows.language.tables import invented_names
from flows.language.zh.text import is_known_word, tagged
from flows.language.zh.types import surname as zh_surname
from schemas.lveval import Rule

_DOT = re.compile(r"[·・•‧]")
_KINDS = tuple(vocabulary("zh_kinds").split())
_SHORT_CITIES = vocabulary("zh_short_cities")
_WORDS_TOO = frozenset("山河江湖路街桥城人语族")  # kinds that end common words as well
_WRITES_NAMES = re.compile(f"[·{TRANSCRIBED.pattern[1:-2]}]")
_SUBJECT = re.compile(r"[《「]?([^\s（(，,。、《》「」：:]{2,12}?)[》」]?(?=[（(，,]|是|为|位于)")
"""The subject of the first sentence of an encyclopedia's page."""
_PRONOUNS = ("他(?!们)", "她(?!们)")
_BORN = re.compile(r"[（(][^）)]{0,40}年|出生|字[^母]{1,3}，|生于|逝世")


def in_chinese(asked: ToRename, texts: str) -> Iterator[Maker]:
    done: list[str] = []
    for name in _chinese_names(asked):
        if any(name in other or other in name for other in done):
            continue
        make = _chinese_maker(name, asked, texts)
        if make is not None:
            done.append(name)
            yield make
    yield from (partial(moved, year, "年", texts) for year in asked_years(asked))


def _chinese_names(asked: ToRename) -> list[str]:
    """Return the names in question and answers: subjects of documents, names with a dot, other entities."""
    asked_texts = (asked.question, *asked.answers)
    places: dict[str, int] = {}
    for text in asked.texts:
        subject = _SUBJECT.match(text)
        if subject and any(subject[1] in text for text in asked_texts):
            places.setdefault(subject[1], 0)
    for place, asked_text in enumerate(asked_texts, 1):
        for name in re.findall(rf"{TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+", asked_text):
            places.setdefault(name, place)
        for name, _ in named_entities("zh", asked_text):
            places.setdefault(name, place)
    return sorted(places, key=lambda name: (places[name], -len(name), name))


def _chinese_maker(name: str, asked: ToRename, texts: str) -> Maker | None:  # noqa: PLR0911 - one for each kind
    if "·" in name:
        after = {texts[match.end() : match.end() + 1] for match in re.finditer(re.escape(name), texts)}
        longer = re.search(f"{name}{TRANSCRIBED.pattern}", texts) or (len(after) == 1 and "".join(after).isalpha())
        if longer or not _spelt_in_chinese(name, texts):
            return None
        return partial(_foreigner, name, texts)
    if _is_chinese_person(name, asked, texts):
        return partial(_chinese_person, name, texts)
    if name in invented_names("zh")["city"] and _spelt_in_chinese(name, texts):
        return partial(substituted, name, invented_names("zh")["place"])
    tail = next((tail for tail in _KINDS if name.endswith(tail)), name)
    stem = name.removesuffix(tail)
    if len(stem) < 2 or is_known_word(stem):
        return None
    if not (_always_before_kind(stem, texts) and _spelt_in_chinese(stem, texts)):
        return None
    if "谁" in asked.question and any(name in answer for answer in asked.answers):
        return None  # a person whose name looks like a place's: 滨田省吾
    foreign = TRANSCRIBED.fullmatch(stem) is not None
    titled = any(text.startswith(name) for text in asked.texts)
    place = titled or [tag for _, tag in tagged(stem)] in (["ns"], ["nt"], ["nz"])
    if not foreign and (tail in _WORDS_TOO or not place):
        return None
    others = invented_names("zh")["foreign-place" if foreign else "place"]
    return partial(substituted, stem, [other for other in others if not other.endswith(_KINDS)])


def _spelt_in_chinese(name: str, texts: str) -> bool:
    """Return whether the texts have no short form of the name, and no other script in brackets after it."""
    short = _SHORT_CITIES.get(name)
    if short is not None and short in texts.replace(name, ""):
        return False
    return re.search(rf"{name}[^，。]{{0,12}}[（(][^）)]*[A-Za-z]{{3}}", texts) is None


def _always_before_kind(stem: str, texts: str) -> bool:
    """Return whether the stem always stands before a word for its kind, and so is no part of another name."""
    return all(
        any(texts.startswith(kind, match.end()) for kind in _KINDS)
        and not _WRITES_NAMES.match(texts[match.start() - 1 : match.start()])
        for match in re.finditer(re.escape(stem), texts)
    )


def _is_chinese_person(name: str, asked: ToRename, texts: str) -> bool:
    """Return whether a page is about a person of that name, or the question asks who it was."""
    if len(name) not in (2, 3) or not zh_surname(name) or TRANSCRIBED.fullmatch(name):
        return False
    if not _spelt_in_chinese(name, texts):
        return False
    if is_known_word(name) and not all(tag.startswith("nr") for _, tag in tagged(name)):
        return False
    around = [texts[match.end() : match.end() + 1] for match in re.finditer(name, texts)]
    if len(set(around)) == 1 and around[0].isalpha() and len(around) > 1:
        return False  # a stem that always continues in the same way is part of a longer name
    born = any(text.startswith(name) and _BORN.search(text[:120]) for text in asked.texts)
    return born or ("谁" in asked.question and name in asked.answers)


def _chinese_person(name: str, texts: str, rng: random.Random) -> list[Rule]:
    names = invented_names("zh")
    bare = texts.replace(name, "")
    if name[0] in bare or (len(name) == 2 and name[1] in bare):
        return []  # it may be the family name alone, or the given name
    family = rng.choice([surname for surname in names["surname"] if surname != name[0]])
    gender = gender_of(texts, _PRONOUNS)
    given_names = [*names["given"], *names[f"given-{gender}"]] if gender else names["given"]
    given_name = "".join(rng.sample(given_names, len(name) - 1))
    made = [Rule(old=name, new=family + given_name)]
    if len(name) == 3 and name[1:] in bare:
        made.append(Rule(old=name[1:], new=given_name))
    return made


def _foreigner(name: str, texts: str, rng: random.Random) -> list[Rule]:
    """Return rules for a foreign name: new first name of the same gender, new family name, parts that stand alone."""
    parts, names = _DOT.split(name), invented_names("zh")
    of = gender_of(texts, _PRONOUNS) or "male"
    first, *middle = rng.sample(names[f"foreign-{of}"], max(1, len(parts) - 1))
    last = rng.choice(names["foreign-surname"])
    made = [Rule(old=name, new="·".join((first, *middle, last)))]
    bare = texts.replace(name, " ")
    if any(not _spelt_in_chinese(part, bare) for part in parts):
        return []
    others = Counter(word for word, tag in tagged(bare) if tag.startswith("nr") and TRANSCRIBED.fullmatch(word))
    if parts[-1] not in bare and parts[0] not in bare and max(others.values(), default=0) > 1:
        return []  # the page calls him by another spelling: 科瓦奇 on that of 尼高·高华
    if parts[-1][0] in bare.replace(parts[-1], ""):
        return []  # the family name may be spelt in another way: 韦伯 beside 韦比
    if len(parts[-1]) > 1 and parts[-1] in bare:
        made.append(Rule(old=parts[-1], new=last))
    if len(parts[0]) > 1 and parts[0] in bare.replace(parts[-1], " "):
        made.append(Rule(old=parts[0], new=first))
    return made
