"""The type and kind of a Chinese answer: answers of the same kind can replace each other."""

import re
from functools import lru_cache

from flows.language import AnswerType, Gender
from flows.language.tables import patterns, rows, word_list
from flows.language.zh.numbers import NUMBER, date_of, value_of
from flows.language.zh.text import PERSON_TAGS, normal, tagged

_KEPT = 65536
_EDGES = " \t\r\n\u3000\u00a0\ufeff。，、；：！？.,;:!?"
_PAIRS = {"「": "」", "『": "』", "“": "”", "‘": "’", '"': '"', "（": "）", "(": ")"}
_NUMBER_QUESTION = patterns("zh")["asks for a number"]
_DATE_QUESTION = patterns("zh")["asks for a date"]
_PERSON_QUESTION = re.compile(r"谁|哪[一]?位|何人|叫什么名字")
_PLACE_QUESTION = patterns("zh")["asks for a place"]
_ORGANISATION_QUESTION = patterns("zh")["asks for an organisation"]
_SURNAMES = word_list("zh", "surnames")
_DOUBLE_SURNAMES = word_list("zh", "double surnames")
_FEMALE_SIGNS = word_list("zh", "female")
_MALE_SIGNS = word_list("zh", "male")
_MEASURES = word_list("zh", "measures")
_PERSON_NOUNS = word_list("zh", "person nouns")
_VAGUE_NOUNS = word_list("zh", "vague nouns")
_QUESTION_NOUN = re.compile(r"(?:什么|哪[一]?[个种位座家所条部首本项类]?|何种|何)([\u4e00-\u9fff]{1,4})")
_LONGEST_PHRASE = 12


@lru_cache(_KEPT)
def trimmed(answer: str) -> str:
    """The answer without outer white space, end punctuation and quotation marks around it."""
    phrase = answer.strip(_EDGES)
    while len(phrase) > 2 and _PAIRS.get(phrase[0]) == phrase[-1] and phrase[-1] not in phrase[1:-1]:
        phrase = phrase[1:-1].strip(_EDGES)
    if len(phrase) > 2 and phrase.endswith("的"):
        phrase = phrase[:-1]
    return phrase or answer.strip()


@lru_cache(_KEPT)
def answer_type(answer: str, question: str = "") -> AnswerType:
    phrase = normal(trimmed(answer)).text
    if not phrase:
        return "other"
    if _is_date(phrase, question):
        return "date"
    if _is_number(phrase, question):
        return "number"
    if len(phrase) > _LONGEST_PHRASE * 2 or "《" in phrase:
        return "other"
    return _name_type(phrase, question)


def _is_date(phrase: str, question: str) -> bool:
    if date_of(phrase) is not None:
        return not (
            phrase.endswith("年") and value_of(phrase[:-1]) is not None and len(phrase) < 4 and "多少" in question
        )
    if re.fullmatch(
        r"(?:公元前?|约|大约|于|在)?(?:\d{3,4}年|\d{1,2}世纪|(?:19|20)?\d0年代|[一二三四五六七八九十]+世纪).{0,6}",
        phrase,
    ):
        return not _NUMBER_QUESTION.search(question)
    if re.fullmatch(r"[12]\d{3}", phrase):
        return _DATE_QUESTION.search(question) is not None
    return (
        bool(_DATE_QUESTION.search(question))
        and bool(re.search(r"[年月日代世纪期初末时]|\d", phrase))
        and len(phrase) <= 20
    )


def _is_number(phrase: str, question: str) -> bool:
    body = re.sub(r"^(?:约|大约|近|超过|至少|至多|共|将近|多达|逾)", "", phrase)
    match = NUMBER.fullmatch(body)
    if re.fullmatch(r"百分之.+|[\d.]+%|\d+[:/]\d+", body):
        return True
    if match is None or value_of(match.group(2)) is None:
        return False
    tail = match.group(4)
    if _NUMBER_QUESTION.search(question):
        return len(tail) <= 8
    if match.group(2).isascii():
        return len(tail) <= 4
    return not tail or (tail[0] in _MEASURES and len(tail) <= 2)


def _name_type(phrase: str, question: str) -> AnswerType:  # noqa: PLR0911 - one for each kind of evidence
    """The type of a name: by the question, then by its ending, then by the tagger."""
    asked = asked_noun(question)
    if _PERSON_QUESTION.search(question) and _can_be_person(phrase):
        return "person"
    of_ending = _ending(phrase)
    if _PLACE_QUESTION.search(question) and not (of_ending and of_ending[0] == "organisation"):
        return "place"
    is_named = of_ending is not None and of_ending[0] == "organisation" and len(phrase) >= 3
    if _ORGANISATION_QUESTION.search(question) or is_named:
        return "organisation"
    tags = [tag for _, tag in tagged(phrase)]
    if asked and asked not in _PERSON_NOUNS and not _PLACE_QUESTION.search(question):
        return "other"
    if is_personal_name(phrase) or (set(tags) <= {*PERSON_TAGS, "x"} and tags[0] != "x"):
        return "person"
    if tags[-1] == "ns" or (of_ending and of_ending[0] == "place" and tags[0] == "ns"):
        return "place"
    if tags[-1] == "nt":
        return "organisation"
    return "other"


def _can_be_person(phrase: str) -> bool:
    return (
        2 <= len(phrase) <= 20
        and not re.search(r"[、，,和及与]", phrase)
        and (_ending(phrase) or ("",))[0] != "organisation"
    )


_DIRECTION = re.compile(r"[东西南北中内外上下][部方面边侧]$")


@lru_cache(_KEPT)
def _ending(phrase: str) -> tuple[AnswerType, str] | None:
    """The type and class that the name's longest known ending shows."""
    if _DIRECTION.search(phrase):
        return "place", "direction"
    fitting = [
        (len(ending), kind, group)
        for kind, group, endings in rows("zh", "endings")
        for ending in endings.split()
        if len(phrase) > len(ending) and phrase.endswith(ending)
    ]
    if not fitting:
        return None
    _, kind, group = max(fitting, key=lambda row: row[0])
    return ("place" if kind == "place" else "organisation"), group


@lru_cache(_KEPT)
def is_personal_name(phrase: str) -> bool:
    """A foreign name with its dots, or a Chinese name that the tagger knows: a surname and one or two characters."""
    if "·" in phrase:
        parts = phrase.split("·")
        return (
            all(parts)
            and not _ends_in_noun(parts[-1])
            and all(re.fullmatch(r"[\u4e00-\u9fffa-z.-]{1,10}", part) for part in parts)
        )
    if not 2 <= len(phrase) <= 4 or not surname(phrase):
        return False
    return any(tag in PERSON_TAGS for _, tag in tagged(phrase))


@lru_cache(_KEPT)
def surname(name: str) -> str:
    """The surname of a Chinese name; of a foreign name, the part after the last dot; empty if there is none."""
    if "·" in name:
        return name.rpartition("·")[2]
    if len(name) >= 3 and name[:2] in _DOUBLE_SURNAMES:
        return name[:2]
    return name[0] if 2 <= len(name) <= 3 and name[0] in _SURNAMES else ""


@lru_cache(_KEPT)
def given_name(name: str) -> str:
    """Return the part of a Chinese name after its surname; of a foreign name, the part before the first dot."""
    return name.partition("·")[0] if "·" in name else name[len(surname(name)) :]


@lru_cache(_KEPT)
def gender(name: str) -> Gender | None:
    """The gender that the characters of a Chinese given name show; None if they show none."""
    if "·" in name or not surname(name):
        return None
    characters = set(name[len(surname(name)) :])
    female, male = bool(characters & _FEMALE_SIGNS), bool(characters & _MALE_SIGNS)
    return None if female == male else "female" if female else "male"


@lru_cache(_KEPT)
def kind(answer: str, question: str = "") -> str:
    """Return a name for the set of answers that can replace this answer, in grammar and in sense.

    The type, then measure word and size of a number, form and century of a date, sort of personal name (and
    gender), of place and organisation; of other nouns what the question asks for. An answer that is no name
    and no noun has a kind of its own.
    """
    of = answer_type(answer, question)
    phrase = normal(trimmed(answer)).text
    if of == "number":
        told = _number_shape(phrase)
    elif of == "date":
        told = _date_shape(phrase)
    elif of == "person":
        told = _person_shape(phrase)
    elif of in ("place", "organisation"):
        told = _group_shape(phrase, question)
    else:
        told = _other_shape(phrase, question)
    return f"{of}:{told or 'alone:' + answer}"


def shape(answer: str, question: str = "") -> str:
    """The part of `kind` after the type."""
    return kind(answer, question).partition(":")[2]


def _number_shape(phrase: str) -> str | None:
    match = re.fullmatch(r"(约|大约|近|超过|至少|至多|共|将近|多达|逾)?(.*)", phrase)
    lead, body = (match.group(1) or "", match.group(2)) if match else ("", phrase)
    percent = re.fullmatch(r"([\d.]+)%", body)
    if percent:
        return f"{lead}:%:{len(percent.group(1).partition('.')[0])}"
    number = NUMBER.fullmatch(body)
    value = value_of(number.group(2)) if number else None
    if number is None or value is None:
        return None
    ordinal, scale, tail = number.group(1) or "", number.group(3), number.group(4)
    if re.search(r"\d|[一二三四五六七八九十]", tail):
        return None
    whole = "whole" if value.is_integer() else "decimal"
    figures = "arabic" if number.group(2).isascii() or value <= 9999 else "chinese"
    return f"{lead}:{ordinal}:{len(f'{value:.0f}')}:{whole}:{scale}:{tail}:{figures}"


def _date_shape(phrase: str) -> str | None:
    """The expression with its figures left out, and the century it lies in."""
    year = re.search(r"\d{3,4}", phrase)
    century = year.group()[:-2] if year else ""
    pattern = re.sub(r"\d+", "#", re.sub(r"[一二三四五六七八九十〇零]+(?=[年月日号世])", "#", phrase))
    return f"{pattern}:{century}" if len(pattern) <= 12 else None


def _person_shape(phrase: str) -> str | None:
    if re.search(r"[、，,和及与]", phrase):
        return None
    if "·" in phrase and is_personal_name(phrase):
        return f"dotted:{phrase.count('·')}"
    if re.fullmatch(r"[a-z .'-]+", phrase):
        return f"latin:{len(phrase.split())}"
    if surname(phrase) and not _ends_in_noun(phrase):
        return f"chinese:{gender(phrase) or 'unknown'}"
    if phrase.endswith("人") or _ends_in_noun(phrase):
        return f"noun:{phrase[-1]}"
    return f"characters:{len(phrase)}" if len(phrase) <= 6 and is_nominal(phrase) else None


def _ends_in_noun(phrase: str) -> bool:
    """True if the last word is a common noun of two characters ("系统", "居民")."""
    word, tag = tagged(phrase)[-1]
    return tag == "n" and len(word) > 1


def _group_shape(phrase: str, question: str) -> str | None:
    if re.search(r"[、，,和及与]", phrase) or not is_nominal(phrase):
        return None
    of_ending, last = _ending(phrase), tagged(phrase)[-1]
    if of_ending:
        group = of_ending[1]
    else:
        group = "name" if last[1] in ("ns", "nrt", "nr", "nt", "nz", "eng") else f"noun:{phrase[-1]}"
    return f"{group}:{asked_noun(question)}:{'latin' if phrase.isascii() else ''}"


def _other_shape(phrase: str, question: str) -> str | None:
    """Titles by the kind of work; nouns by what the question asks for, or by their last word."""
    if re.fullmatch(r"《[^》]+》", phrase):
        return f"title:{asked_noun(question)}"
    if len(phrase) > _LONGEST_PHRASE or re.search(r"[、，,;:的了是在()（）]", phrase) or not is_nominal(phrase):
        return None
    if phrase.isascii():
        return f"latin:{asked_noun(question)}:{len(phrase.split())}"
    last = tagged(phrase)[-1][0]
    wanted = asked_noun(question) or (last if last != phrase else "")
    return f"noun:{wanted}" if wanted else None


def is_nominal(phrase: str) -> bool:
    """True if the phrase consists of nouns and their modifiers, and ends in a noun."""
    tags = [tag for word, tag in tagged(phrase) if word.strip()]
    if not tags or any(tag[0] in "pcuydr" or tag.startswith(("ul", "uj")) for tag in tags):
        return False
    return (
        tags[-1][0] in "nxegjlsf"
        or tags[-1] in ("vn", "an", "eng", "nrt", "i", "b")
        or (len(phrase) <= 4 and tags[-1][0] in "v" and len(tags) > 1)
    )


@lru_cache(_KEPT)
def asked_noun(question: str) -> str:
    """The noun after the question word ("什么颜色", "哪个国家"); empty if none follows."""
    match = _QUESTION_NOUN.search(question)
    if match is None:
        return ""
    words = tagged(match.group(1))
    noun = words[0][0] if words and words[0][1][0] == "n" else ""
    return "" if noun in _VAGUE_NOUNS else noun


def spans_of_type(text: str, answer_type: AnswerType) -> list[tuple[int, int]]:
    if answer_type == "date":
        return [match.span() for match in _DATES_IN_TEXT.finditer(text)]
    if answer_type == "number":
        dated = [match.span() for match in _DATES_IN_TEXT.finditer(text)]
        return [
            match.span()
            for match in _NUMBERS_IN_TEXT.finditer(text)
            if not any(start <= match.start() < end for start, end in dated)
        ]
    wanted = {"person": PERSON_TAGS, "place": ("ns",), "organisation": ("nt",), "other": ("nz", "n", "eng")}
    return _spans_of_tags(text, wanted[answer_type])


_FIGURES = r"[\d０-９]"
_DATES_IN_TEXT = re.compile(
    rf"(?:公元前|公元)?(?:{_FIGURES}{{1,4}}|[一二三四五六七八九〇零]{{4}})\s*年代?(?:\s*{_FIGURES}{{1,2}}\s*月)?(?:\s*{_FIGURES}{{1,2}}\s*[日号])?|"
    rf"{_FIGURES}{{1,2}}\s*月(?:\s*{_FIGURES}{{1,2}}\s*[日号])?|(?:{_FIGURES}{{1,2}}|[一二三四五六七八九十]{{1,3}})\s*世纪"
)
_NUMBERS_IN_TEXT = re.compile(
    rf"{_FIGURES}+(?:[,，]{_FIGURES}{{3}})*(?:[.．]{_FIGURES}+)?[万亿]*[%％]?|[一二三四五六七八九十百千两]{{1,6}}[万亿]*(?=[{''.join(_MEASURES)}])"
)


def _spans_of_tags(text: str, wanted: tuple[str, ...]) -> list[tuple[int, int]]:
    """Stretches of words with one of the tags; names joined by a dot are one stretch."""
    spans: list[tuple[int, int]] = []
    at = 0
    for word, tag in tagged(text):
        end = at + len(word)
        if tag in wanted:
            joined = spans and wanted[0] == "nr" and text[spans[-1][1] : at] in ("·", "•", "・", "‧")
            if joined:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((at, end))
        at = end
    return spans
