"""Replacement rules and answer keywords without a model: a floor for people to start from (sections 3.2.3 and 3.3).

Renamed is what can be renamed soundly by rule: persons, towns, names of one unusual word, names with a word that says
their kind, and a year that is the answer. Substitutes are invented, so that nobody and nothing else is meant.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial

from flows.families.lveval.naming import TRANSCRIBED, rules_problem
from flows.families.lveval.pool import names as names_in
from flows.families.lveval.prompts import Keywords, RuleList, ToMark, ToRename
from flows.language import en, language_of, zh
from flows.language.en.names import TITLES, classes, is_familiar_place, is_first_name, is_surname, place_class
from flows.language.en.numbers import spelt
from flows.language.en.persons import FUNCTION_WORDS, personal_name
from flows.language.en.phrases import PREPOSITIONS, is_dictionary_word
from flows.language.en.tokens import MONTHS, word_set
from flows.language.invented import invented_names
from flows.language.keywords import occurs
from flows.language.zh.text import is_known_word, tagged
from flows.language.zh.types import surname as zh_surname
from flows.llm.model import Invalid
from schemas.lveval import Rule

TRIED = 6
"""Substitutes that are tried for a name."""
THINGS = 3
"""Things that are renamed for one pair, at most."""
_DEMONYM = re.compile(r"(?:ans?|ese|ish|[ei]c|ites?|ch|isms?|ists?|tions?|ity|ness|ology)$")
"""Ends of words for peoples, languages and what is thought or done, which are no names to be replaced."""
_TIMES_AND_TONGUES = frozenset(MONTHS) | word_set(
    "sunday monday tuesday wednesday thursday friday saturday latin greek celsius fahrenheit kelvin sharia jihad koran "
    "quran torah bible"
)
_JOINING = word_set(
    "although because despite furthermore hence however moreover since therefore though thus unless whereas"
)
"""Words that open a sentence, and are in no list of names nor in the dictionary."""
_SON_OF = word_set("al el abu bin ibn")
_PEOPLES = word_set(
    "arab berber breton briton celt croat czech dane finn frank gaul goth greek hindu inca islam islamist jew kurd "
    "magyar maya moor mongol moslem muslim norman norse pole roman salafi saxon scot serb shia shiite sikh slav slovak "
    "slovene soviet sufi sunni swede tatar thai turk viking wahhabi"
)
"""Whose names, coined anew, would belong to nobody."""
_DWELLERS = {
    "Florence": "Florentin", "Genoa": "Genoes", "Glasgow": "Glaswegian", "Halifax": "Haligonian", "Lisbon": "Lisboet",
    "Liverpool": "Liverpudlian", "Lyon": "Lyonnais", "Manchester": "Mancunian", "Milan": "Milanes",
    "Moscow": "Muscovit", "Munich": "Bavarian", "Naples": "Neapolitan", "Prague": "Praguer", "Rome": "Roman",
    "Venice": "Venetian", "Vienna": "Viennes", "Warsaw": "Varsovian",
}  # fmt: skip
"""Cities, and how a word begins for who lives there, where it does not begin with their name."""
_NEIGHBOUR_YEARS = 3
"""Years by which a year is moved, at most: nobody is to have played for his country at thirteen."""
_YEAR = re.compile(r"(?<![\d.,])(?:1[0-9]{3}|20[0-2][0-9])(?![\d.,]*\d|s|年代)")
_ONLY_DATE = re.compile(r"(?:约|于|在)?[0-9]{4}年(?:[0-9]{1,2}月)?(?:[0-9]{1,2}[日号])?")
_ONLY_DATE_EN = re.compile(
    rf"(?:(?:in|on|about|around|circa|c\.) )?(?:(?:early|late|mid) )?(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})"
    r"(?: \d{1,2})?,? )?\d{4}",
    re.IGNORECASE,
)
_KNOWN_EVENT = re.compile(
    r"(?i:\b(?:wars?|revolution|treaty|armistice|capitulated|surrendered|battle|invasion|invaded|annexed|partition|"
    r"crusade|siege|coup|congress|conference|independence|election|elected|president|olympics?|world cup|"
    r"census|earthquake|super bowl|draft|championships?|season|class of)\b)"
    "|战争|大战|革命|条约|投降|起义|解放|独立|奥运|世界杯|选举|总统|地震|大选|赛季|抗战|事变"
)
"""What happened when everybody knows, or happens every so many years."""
_IN_A_WAR = re.compile(r"World War|Nazi|Uprising|世界大战|二战|纳粹")
_COUNTS = {spelt(number): number for number in range(1, 100)} | {str(number): number for number in range(1, 1000)}
_YEARS_LONG = re.compile(
    r"(?<![\d,.-])(\d{1,3}|[a-z]+(?:-[a-z]+)?)(?: [a-z-]+)?[ -]years?\b|(?<!\d)(\d{1,3})(?:周年|年[后前来间])",
    re.IGNORECASE,
)
_NAME_WORD = r"[^\W\d_a-z][\w'’-]*\.?"
_GIVEN = r"[^\W\d_a-z](?:\.|[\w'’-]*)"
_LINK = r"(?:of|the|de|du|la|le|und|et|ul|al|von|van|y|e|i|di|da|del)"
_RUN = rf"{_NAME_WORD}(?: {_LINK})*"
_SOMEBODY = re.compile(r"(?<!\w)(?:[Bb]orn|he|He|she|She|his|His|her|Her)(?!\w)|\(\d{4} ?[–-] ?\d{4}\)")
_MALE = r"\b(?:he|his|him|king|son|father|brother|actor)\b"
_FEMALE = r"\b(?:she|her|hers|queen|daughter|mother|sister|actress)\b"
_OPENING = 80
"""Characters of a text in which it says what it is about."""
_OF_NAME = re.compile(
    r"\b(?:abbreviated|shortened|spelled|spelt|stands for|short for|acronym|etymology|portmanteau|"
    r"(?:the|its|whence the) name (?:is|was|comes|came|means|derives|refers|[\"“])|named (?:after|for|from|in hono)|"
    r"in hono\w+ of|derived from|comes from|means \"|meaning \"|hence meaning|[Tt]he (?:word|term)|"
    r"Gk\.|Greek \"|Latin \")"
)
_OTHER_SCRIPT = "[\u0370-\u1dff\u3040-\ud7ff]"
_NEARLY = 0.7
"""How much of two words is the same from which on they may be two spellings of one name."""
_ALIKE_LETTERS = 4
_DOT = re.compile(r"[·・•‧]")
_KINDS = (
    "自治州",
    "自治县",
    "大学",
    "学院",
    "中学",
    "小学",
    "公司",
    "集团",
    "银行",
    "铁路",
    "公路",
    "大桥",
    "机场",
    "车站",
    "医院",
    "教堂",
    "水库",
    "半岛",
    "群岛",
    "省",
    "市",
    "县",
    "郡",
    "州",
    "区",
    "镇",
    "乡",
    "村",
    "府",
    "海峡",
    "湖",
    "山",
    "河",
    "江",
    "岛",
    "站",
    "路",
    "街",
    "桥",
    "寺",
    "塔",
    "宫",
    "城",
    "港",
    "湾",
    "峡",
    "峰",
    "岭",
    "人",
    "语",
    "族",
)
"""Words for the kind of thing that a Chinese name is of, as its last characters."""
_SHORT_CITIES = {
    "北京": "京",
    "上海": "沪",
    "天津": "津",
    "重庆": "渝",
    "广州": "穗",
    "香港": "港",
    "澳门": "澳",
    "台北": "北市",
    "南京": "宁",
    "成都": "蓉",
    "武汉": "汉",
    "昆明": "昆",
    "杭州": "杭",
    "深圳": "深",
}
"""Cities by which short forms texts speak of them too."""
_WORDS_TOO = frozenset("山河江湖路街桥城人语族")
"""Those that end common words as well."""
_WRITES_NAMES = re.compile(f"[·{TRANSCRIBED.pattern[1:-2]}]")
_SUBJECT = re.compile(r"[《「]?([^\s（(，,。、《》「」：:]{2,12}?)[》」]?(?=[（(，,]|是|为|位于)")
"""What the first sentence of an encyclopedia's page is about."""
_PRONOUNS = ("他(?!们)", "她(?!们)")
_BORN = re.compile(r"[（(][^）)]{0,40}年|出生|字[^母]{1,3}，|生于|逝世")
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_NUMBER = re.compile(r"[0-9０-９]+(?:[.,．，][0-9０-９]+)*")


def replacement_rules(asked: ToRename, rng: random.Random) -> RuleList:
    """Names of the question, then of the answers, each in all the forms in which the documents have it."""
    rules: list[Rule] = []
    texts = "\n".join((asked.question, *asked.answers, *_texts_of(asked)))
    renamed = 0
    for make in (_in_chinese if asked.language == "zh" else _in_english)(asked, texts):
        for _ in range(TRIED):
            made = make(rng)
            fresh = [one for one in made if all(one.old != rule.old for rule in rules)]
            if fresh and rules_problem(asked, [*rules, *fresh]) is None:
                rules.extend(fresh)
                renamed += 1
                break
        if renamed == THINGS:
            break
    if not rules:
        raise Invalid("no name to be replaced", asked.question)
    return RuleList(rules=tuple(rules))


def _texts_of(asked: ToRename) -> tuple[str, ...]:
    return asked.documents or asked.sentences


Maker = Callable[[random.Random], list[Rule]]
"""Makes rules for one thing, others each time."""


def _in_english(asked: ToRename, texts: str) -> Iterator[Maker]:
    """What can be renamed, the names of the question first, the longest first."""
    done: list[str] = []
    for name in _names_of(asked):
        if any(name in other or other in name for other in done):
            continue
        done.append(name)
        words = name.split()
        if _in_another_script(words[-1], texts):
            continue
        if _of_somebody(name, asked) and (_is_person(name) or _is_born(name, texts)):
            yield partial(_person, name, (asked.question, *asked.answers, *_texts_of(asked)))
        elif _told_of_name(name, _texts_of(asked)):
            continue
        elif place_class(name) == "city" and _telling_town(name) and _stands_alone(name, texts):
            dwellers = _DWELLERS.get(name)
            if not _acts(name, _texts_of(asked)) and (dwellers is None or dwellers not in texts):
                yield partial(_one_of, name, invented_names("en")["town"])
        elif (telling := _telling(words)) is not None and _stands_alone(telling, texts):
            yield partial(_coined, telling)
    yield from (partial(_moved, year, "", texts) for year in _asked_years(asked))


def _names_of(asked: ToRename) -> list[str]:
    """The names that question and answers hold, those of the question first, the longest first."""
    places: dict[str, int] = {}
    for place, text in enumerate((asked.question, *asked.answers)):
        for name, _ in names_in(asked.language, text):
            places.setdefault(" ".join(name.split()), place)
        for run in re.findall(rf"{_NAME_WORD}(?: {_NAME_WORD})*", text if place else text[1:]):
            for name in (run, *run.split()):
                places.setdefault(re.sub(r"['’]s$|[.,]$", "", name), place)
    return sorted(places, key=lambda name: (places[name], -len(name), name))


def _told_of_name(name: str, documents: Sequence[str]) -> bool:
    """Whether a text speaks of the name itself: what it means, whence it comes, how else it is written."""
    for text in documents:
        about = name in text[:_OPENING]
        spoken = [one for one in en.sentences(text) if about or name in one]
        if name in text and any(_OF_NAME.search(one) for one in spoken):
            return True
    glossed = rf"{re.escape(name)}(?: \([^()]*\))?,? or (?:the )?[A-Z]|{re.escape(name)} \([A-Z][a-z]+ [a-z]+\)"
    return any(re.search(glossed, text) for text in documents)


def _in_another_script(name: str, texts: str) -> bool:
    return re.search(rf"{re.escape(name)}[^.\n]{{0,40}}\([^()]*{_OTHER_SCRIPT}", texts) is not None


def _acts(name: str, documents: Sequence[str]) -> bool:
    """Whether what looks like a town is somebody: "Baran developed it during his research"."""
    of_somebody = re.compile(rf"(?:^|\n){re.escape(name)} [^\n]*\b(?:his|her|he|she|himself|herself)\b")
    return any(of_somebody.search(one) for text in documents for one in en.sentences(text))


def _is_person(name: str) -> bool:
    words = name.split()
    return (
        len(words) in (2, 3)
        and personal_name(name) is not None
        and is_first_name(words[0])
        and words[0].casefold() not in TITLES
        and words[0].casefold() not in _SON_OF
        and len(words[-1]) > 2
        and not is_dictionary_word(words[0].casefold())
        and (is_surname(words[-1]) or not is_dictionary_word(words[-1].casefold()))
        and words[-1].casefold() not in classes("head")
        and all(word[:1].isupper() for word in words)
    )


def _is_born(name: str, texts: str) -> bool:
    """Whether a page begins with the name and a date of birth."""
    words = name.split()
    unusual = not any(is_dictionary_word(word.casefold()) or place_class(word) for word in words)
    return (
        len(words) == 2
        and unusual
        and bool(re.search(rf"(?:^|\n){re.escape(name)} \((?:born |[^)]{{0,40}}; )?[^)]{{0,20}}\d{{4}}", texts))
    )


def _of_somebody(name: str, asked: ToRename) -> bool:
    """Whether a document that has the name speaks of somebody, who is born or called he or she."""
    texts = _texts_of(asked)
    nicknamed = re.search(rf'{re.escape(name)} ["“]', "\n".join((asked.question, *asked.answers, *texts)))
    return not nicknamed and any(name.rpartition(" ")[2] in text and _SOMEBODY.search(text) for text in texts)


def _stands_alone(word: str, texts: str) -> bool:
    """Whether the word is a name by itself wherever it stands, and nothing is spelt nearly like it.

    Beside it stand at most words that say what kind of thing it is ("Galata Bridge").
    """
    if re.search(rf"(?<!\w){re.escape(word)}(?:\w|['’-]\w{{2}})", texts) or re.search(rf"\w-{re.escape(word)}", texts):
        return False
    if re.search(rf"\b(?:al|bin|ibn|abu) {re.escape(word)}|{re.escape(word)} (?:al|el|bin|ibn)\b", texts):
        return False
    for found in re.finditer(rf"(?<!\w)(?:{_RUN} )?{re.escape(word)}(?: (?:{_LINK} )*{_RUN})?(?!\w)", texts):
        beside = [one.strip(".'") for one in found[0].replace(word, " ", 1).split() if one[:1].isupper()]
        if not all(one.casefold() in classes("head") or is_dictionary_word(one.casefold()) for one in beside):
            return False
    if re.search(rf"(?<!\w){word[0]}\. ?[a-z]{{3}}|(?<!\w){word[0]}[A-Z]{{1,4}}(?!\w)", texts):
        return False  # the first letter of it stands for it: "A. pintoi", "RU"
    others = {one for one in re.findall(r"[^\W\d_a-z][^\W\d_]{3,}", texts) if one != word}
    return not any(_spelt_alike(word, one) for one in others)


def _spelt_alike(word: str, other: str) -> bool:
    if word[0] != other[0] or is_dictionary_word(other.casefold()):
        return False
    if len(word) > _ALIKE_LETTERS and word[:_ALIKE_LETTERS] == other[:_ALIKE_LETTERS]:
        return True  # Myrtus, Myrtaceae
    return SequenceMatcher(None, word.casefold(), other.casefold(), autojunk=False).ratio() >= _NEARLY


def _telling(words: Sequence[str]) -> str | None:
    """The one unusual word of a name that has no other but such as say what kind of thing it is."""
    rest = [word for word in words if word.casefold() not in classes("head") and word.casefold() != "the"]
    if len(rest) != 1:
        return None
    (word,) = rest
    fit = len(word) > 3 and word.isalpha() and word[:1].isupper() and word[1:].islower()
    known = (
        is_dictionary_word(word.casefold())
        or word.casefold() in FUNCTION_WORDS | PREPOSITIONS | _JOINING
        or not {word.casefold(), word.casefold().removesuffix("s")}.isdisjoint(_TIMES_AND_TONGUES | _PEOPLES)
        or is_first_name(word)
        or place_class(word)
        or _DEMONYM.search(word)
    )
    return word if fit and not known else None


def _telling_town(name: str) -> bool:
    low = name.casefold()
    known = low in _TIMES_AND_TONGUES | _PEOPLES or is_dictionary_word(low)
    somebody = is_first_name(name) and not is_familiar_place(name)
    return name.isalpha() and not known and not somebody


def _one_of(name: str, others: Sequence[str], rng: random.Random) -> list[Rule]:
    return [Rule(old=name, new=rng.choice(others))]


def _coined(word: str, rng: random.Random) -> list[Rule]:
    """A word that nobody knows, with the ending of the given one."""
    start = "".join(rng.sample(invented_names("en")["syllable"], 2)).capitalize()
    ending = re.search(r"(?:[aeiou]{1,2}(?:[lmnrst]|ns?|rs?)?|ard|and|ell|ist|ing)$", word.casefold())
    return [Rule(old=word, new=start + (ending[0] if ending else "en"))]


def _person(name: str, documents: Sequence[str], rng: random.Random) -> list[Rule]:
    """A person with a new first and family name, in each form that the texts have."""
    words, texts = name.split(), "\n".join(documents)
    first, last = words[0], words[-1]
    own = "\n".join(text for text in documents if last in text)
    told, named = _gender_of(own, (_MALE, _FEMALE)), en.gender(name)
    of = named if told is None else told
    before = re.findall(rf"({_NAME_WORD}) {re.escape(name)}", texts)
    if (
        of is None
        or (named and of != named)
        or not all(is_dictionary_word(word.casefold()) or word.casefold() in TITLES for word in before)
    ):
        return []
    if _named_otherwise(words, texts):
        return []
    names = invented_names("en")
    new_first, middle = rng.sample(names[of], 2)
    new_last = rng.choice(names["surname"])
    forms = {
        found[0]
        for found in re.finditer(rf"(?<!\w){_NAME_WORD}(?: {_NAME_WORD}){{0,4}}(?: {re.escape(last)})(?!\w)", texts)
        if found[0][0] == first[0]
        and not any(word.endswith(".") and len(word) > len("J.") for word in found[0].split())
        and (found[0].split()[0] == first or found[0].split()[0].endswith("."))
    } | {name}

    def put(form: str) -> str:
        *given, _ = form.split()
        pieces = [
            f"{new[0]}." if word.endswith(".") or len(word) == 1 else new
            for word, new in zip(given, (new_first, middle, *names[of]), strict=False)
        ]
        return " ".join((*pieces, new_last))

    made = [Rule(old=form, new=put(form)) for form in sorted(forms, key=lambda form: (-len(form), form))]
    bare = texts
    for rule in made:
        bare = bare.replace(rule.old, " ")
    if occurs(bare, [last], "en"):
        if is_familiar_place(last):
            return []  # what is called so elsewhere would be renamed too: Washington
        made.append(Rule(old=last, new=new_last))
    for rule in made:
        bare = re.sub(rf"(?<!\w){re.escape(rule.old)}(?!\w)", " ", bare)
    return [] if re.search(rf"(?<!\w)(?:{re.escape(first)}|{re.escape(last)})", bare) else made


def _named_otherwise(words: Sequence[str], texts: str) -> bool:
    """Whether the texts call the person by a name that goes beyond or beside the given one.

    A short form of the first name ("Jim", who is James William), another of the first names, a further family name
    behind the one given; or a genitive that is made with the name's own "s".
    """
    first, *inner, last = words
    runs = [run.split() for run in re.findall(rf"((?:{_GIVEN} ){{1,4}}){re.escape(last)}(?!\w)", texts)]
    following = re.findall(rf"{re.escape(last)} ({_NAME_WORD})", texts)
    return (
        any(word[:2] == first[:2] and word != first for run in runs for word in run)
        or any(len(run) > 1 and first not in run and run[0][0] == first[0] for run in runs)
        or any(run[-1] == word and first not in run for run in runs for word in inner if len(word) > len("J."))
        or any(word.casefold() not in classes("head") and word[1:].islower() for word in following)
        or re.search(rf"{re.escape(last)} (?:y|i|e) [A-Z]|{re.escape(last)}['’](?!s)", texts) is not None
    )


def _gender_of(texts: str, patterns: tuple[str, str]) -> str | None:
    """The gender that pronouns tell, where they are of one."""
    male, female = (len(re.findall(pattern, texts, re.IGNORECASE)) for pattern in patterns)
    return "male" if male and not female else "female" if female and not male else None


def _asked_years(asked: ToRename) -> list[str]:
    """The year that the answer is, with its day and month or without; none of a span, whose length may be told too.

    None where a sentence has it beside what happened when everybody knows, or the texts count years from it.
    """
    answer = asked.answers[0].strip(" .。")
    years = _YEAR.findall(answer)
    dated = (_ONLY_DATE if asked.language == "zh" else _ONLY_DATE_EN).fullmatch(answer)
    asks_date = language_of(asked.language).answer_type(answer, asked.question) == "date"
    if len(years) != 1 or not dated or not asks_date:
        return []
    texts = "\n".join(_texts_of(asked))
    sentences = [one for one in language_of(asked.language).sentences(texts) if years[0] in one]
    if any(_KNOWN_EVENT.search(one) for one in sentences) or _counted_from(int(years[0]), texts):
        return []
    everywhere = "\n".join((asked.question, *asked.answers, texts))
    if _IN_A_WAR.search(everywhere) or re.search(rf"{years[0]}(?:年代|s)", everywhere):
        return []
    return years


def _counted_from(year: int, texts: str) -> bool:
    """Whether the texts name another year, and how many years lie between."""
    others = {int(one) for one in _YEAR.findall(texts)} - {year}
    told = ((found[1] or found[2]).casefold() for found in _YEARS_LONG.finditer(texts))
    counts = {_COUNTS[number] for number in told if number in _COUNTS}
    return any(abs(year - other) in counts for other in others)


def _moved(year: str, unit: str, texts: str, rng: random.Random) -> list[Rule]:
    """The year moved by a few, so that it comes before and after the same years of the texts as it did."""
    others = sorted({int(one) for one in _YEAR.findall(texts)} - {int(year)})
    value = int(year)
    least = max([value - _NEIGHBOUR_YEARS - 1, *(one for one in others if one < value)])
    most = min([value + _NEIGHBOUR_YEARS + 1, *(one for one in others if one > value)])
    free = [one for one in range(least + 1, most) if one != value]
    return [Rule(old=f"{year}{unit}", new=f"{rng.choice(free)}{unit}")] if free else []


# ---- in Chinese ----


def _in_chinese(asked: ToRename, texts: str) -> Iterator[Maker]:
    done: list[str] = []
    for name in _chinese_names(asked):
        if any(name in other or other in name for other in done):
            continue
        make = _chinese_maker(name, asked, texts)
        if make is not None:
            done.append(name)
            yield make
    yield from (partial(_moved, year, "年", texts) for year in _asked_years(asked))


def _chinese_names(asked: ToRename) -> list[str]:
    """What question and answers name: the subjects of documents, names with a dot, names with a tail."""
    said = (asked.question, *asked.answers)
    found: dict[str, int] = {}
    for text in _texts_of(asked):
        subject = _SUBJECT.match(text)
        if subject and any(subject[1] in one for one in said):
            found.setdefault(subject[1], 0)
    for place, one in enumerate(said, 1):
        for name in re.findall(rf"{TRANSCRIBED.pattern}(?:·{TRANSCRIBED.pattern})+", one):
            found.setdefault(name, place)
        for name, _ in names_in("zh", one):
            found.setdefault(name, place)
    return sorted(found, key=lambda name: (found[name], -len(name), name))


def _chinese_maker(name: str, asked: ToRename, texts: str) -> Maker | None:  # noqa: PLR0911 - one for each kind
    if "·" in name:
        after = {texts[found.end() : found.end() + 1] for found in re.finditer(re.escape(name), texts)}
        longer = re.search(f"{name}{TRANSCRIBED.pattern}", texts) or (len(after) == 1 and "".join(after).isalpha())
        if longer or not _spelt_in_chinese(name, texts):
            return None
        return partial(_foreigner, name, texts)
    if _is_chinese_person(name, asked, texts):
        return partial(_chinese_person, name, texts)
    if name in invented_names("zh")["city"] and _spelt_in_chinese(name, texts):
        return partial(_one_of, name, invented_names("zh")["place"])
    stem, tail = next(((name[: -len(tail)], tail) for tail in _KINDS if name.endswith(tail)), ("", ""))
    if (
        len(stem) < 2
        or is_known_word(stem)
        or not (_always_before_kind(stem, texts) and _spelt_in_chinese(stem, texts))
    ):
        return None
    if "谁" in asked.question and any(name in answer for answer in asked.answers):
        return None  # somebody whose name looks like that of a place: 滨田省吾
    foreign = TRANSCRIBED.fullmatch(stem) is not None
    place = [tag for _, tag in tagged(stem)] in (["ns"], ["nt"], ["nz"]) or any(
        text.startswith(name) for text in _texts_of(asked)
    )
    if not foreign and (tail in _WORDS_TOO or not place):
        return None
    others = invented_names("zh")["foreign-place" if foreign else "place"]
    return partial(_one_of, stem, [other for other in others if not other.endswith(_KINDS)])


def _spelt_in_chinese(name: str, texts: str) -> bool:
    """Whether the name has no short form in the texts, and none in another script in brackets behind it."""
    short = _SHORT_CITIES.get(name)
    if short is not None and short in texts.replace(name, ""):
        return False
    return re.search(rf"{name}[^，。]{{0,12}}[（(][^）)]*[A-Za-z]{{3}}", texts) is None


def _always_before_kind(stem: str, texts: str) -> bool:
    """Whether the stem stands nowhere but before a word for its kind, so that it is no piece of another name."""
    return all(
        any(texts.startswith(kind, found.end()) for kind in _KINDS)
        and not _WRITES_NAMES.match(texts[found.start() - 1 : found.start()])
        for found in re.finditer(re.escape(stem), texts)
    )


def _is_chinese_person(name: str, asked: ToRename, texts: str) -> bool:
    """Whether a page tells of somebody so called, or the question asks who it was."""
    if len(name) not in (2, 3) or not zh_surname(name) or TRANSCRIBED.fullmatch(name):
        return False
    if not _spelt_in_chinese(name, texts):
        return False
    if is_known_word(name) and not all(tag.startswith("nr") for _, tag in tagged(name)):
        return False
    around = [texts[found.end() : found.end() + 1] for found in re.finditer(name, texts)]
    if len(set(around)) == 1 and around[0].isalpha() and len(around) > 1:
        return False  # what goes on in the same way everywhere is a longer name
    born = any(text.startswith(name) and _BORN.search(text[:120]) for text in _texts_of(asked))
    return born or ("谁" in asked.question and name in asked.answers)


def _chinese_person(name: str, texts: str, rng: random.Random) -> list[Rule]:
    names = invented_names("zh")
    bare = texts.replace(name, "")
    if name[0] in bare or (len(name) == 2 and name[1] in bare):
        return []  # it may be the family name alone, or the given name
    family = rng.choice([one for one in names["surname"] if one != name[0]])
    told = _gender_of(texts, _PRONOUNS)
    given = "".join(rng.sample([*names["given"], *names[f"given-{told}"]] if told else names["given"], len(name) - 1))
    made = [Rule(old=name, new=family + given)]
    if len(name) == 3 and name[1:] in texts.replace(name, ""):
        made.append(Rule(old=name[1:], new=given))
    return made


def _foreigner(name: str, texts: str, rng: random.Random) -> list[Rule]:
    """A foreign name with a first name of the same gender and another family name; its parts where they stand alone."""
    parts, names = _DOT.split(name), invented_names("zh")
    of = _gender_of(texts, _PRONOUNS) or "male"
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


# ---- keywords ----


def answer_keywords(asked: ToMark, rng: random.Random) -> Keywords:
    """The words of the answer that carry meaning and are not in the question; of a number, the number alone."""
    language = language_of(asked.language)
    if asked.language == "zh":
        return Keywords(keywords=_chinese_keywords(asked))
    words = _WORD.findall(asked.answer)
    counted = [word for word in words if any(sign.isdigit() for sign in word)]
    if counted and language.answer_type(asked.answer, asked.question) == "number":
        return Keywords(keywords=" ".join(counted))
    said = language.content_words(asked.question)
    telling = [word for word in words if language.content_words(word)]
    new = [word for word in telling if not language.content_words(word) <= said]
    if telling and telling[-1] not in new:
        new = telling  # the question names what there is to choose from
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return Keywords(keywords=" ".join(chosen))


def _chinese_keywords(asked: ToMark) -> str:
    from flows.language.zh import STOP_WORDS
    from flows.language.zh.text import tagged

    numbers = _NUMBER.findall(asked.answer)
    if numbers and zh.answer_type(asked.answer, asked.question) in ("number", "date"):
        return " ".join(numbers)
    words = [word.strip() for word, _ in tagged(asked.answer)]
    words = [word for word in words if word and any(sign.isalnum() for sign in word)]
    telling = [word for word in words if word not in STOP_WORDS]
    new = [word for word in telling if word not in asked.question]
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return " ".join(chosen)
