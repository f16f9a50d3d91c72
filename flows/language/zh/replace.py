"""Replaces every mention of an answer in a Chinese text by another answer, in matching form."""

import re
from collections.abc import Sequence

from flows.language import CannotReplace, Edit, Replaced, edited
from flows.language.zh.mentions import Found, find
from flows.language.zh.numbers import NUMBER, Date, date_of, like, value_of
from flows.language.zh.text import normal, occurrences
from flows.language.zh.types import answer_type, gender, is_personal_name, spans_of_type, surname, trimmed

_LONGEST_OVERLAP = 4
_PRONOUNS = {"male": "他", "female": "她"}


def replace(text: str, answer: str, new: str, aliases: Sequence[str] = ()) -> Replaced:
    names = tuple(aliases)
    mentions = find(text, answer, names)
    if not mentions:
        return Replaced(text, (), ())
    if find(new, answer, names) or occurrences(normal(new).text, normal(trimmed(answer)).text):
        raise CannotReplace("the new answer names the old one")
    edits = [Edit(mention.start, mention.end, _said(text, mention, new), mention=True) for mention in mentions]
    edits.extend(Edit(at, at + 1, to, mention=False) for at, to in _pronouns(text, answer, new))
    result = edited(text, edits)
    if find(result.text, answer, names):
        raise CannotReplace("a mention of the old answer is left")
    return result


def _said(text: str, mention: Found, new: str) -> str:
    phrase = trimmed(new)
    family = surname(normal(phrase).text)
    if mention.role == "surname":
        at = normal(phrase).text.rfind(family) if "·" in phrase else 0
        piece = phrase[at : at + len(family)] if family and at >= 0 else phrase
    elif mention.role == "given name":
        piece = _given_as_written(phrase)
    elif mention.role == "date part" or date_of(mention.text) is not None:
        dated = _dated(mention.text, normal(phrase).text)
        if dated is None and mention.role == "date part":
            raise CannotReplace("the new answer lacks a part of the date")
        piece = dated or phrase
    else:
        piece = _numbered(mention.text, phrase) or phrase
    if mention.form == "abbreviation" and "简称" in text[max(0, mention.start - 8) : mention.start]:
        raise CannotReplace("the text explains a short name")
    _check_range(text, mention, piece)
    return _without_doubled(text, mention, piece)


def _given_as_written(phrase: str) -> str:
    if "·" in phrase or not is_personal_name(normal(phrase).text):
        return phrase.partition("·")[0]
    return phrase[len(surname(phrase)) :] or phrase


def _dated(old_text: str, new: str) -> str | None:
    """The new date with the parts that the mention has; None if the mention is no date."""
    date = date_of(new)
    if date is None and re.fullmatch(r"\d{4}", new):
        date = Date("", new, "", "")
    if date is None:
        if re.fullmatch(r"\d{4}", old_text):
            raise CannotReplace("the new answer lacks a part of the date")
        return None
    if re.fullmatch(r"\d{4}", old_text):
        return _part(date.year)
    old = date_of(old_text)
    if old is None:
        return None
    day = "号" if old_text.endswith("号") else "日"
    pieces = [
        (old.era, date.era),
        (old.year, date.year and f"{date.year}年"),
        (old.month, date.month and f"{date.month}月"),
    ]
    pieces.append((old.day, date.day and f"{date.day}{day}"))
    return "".join(_part(now) if at else now for at, (was, now) in enumerate(pieces) if was or at == 0)


def _part(part: str) -> str:
    if not part:
        raise CannotReplace("the new answer lacks a part of the date")
    return part


def _numbered(old_text: str, phrase: str) -> str | None:
    """A new number in Arabic or Chinese figures, as the mention has it; None if either is no number."""
    old, new = NUMBER.fullmatch(old_text), NUMBER.fullmatch(normal(phrase).text)
    if old is None or new is None:
        return None
    value = value_of(new.group(2))
    if value is None or value_of(old.group(2)) is None:
        return None
    if old.group(2).isascii() == new.group(2).isascii():
        return None
    tail = new.group(4)
    figure = like(value, old.group(2), before_measure=bool(tail) and not new.group(1))
    return f"{new.group(1) or ''}{figure}{new.group(3)}{tail}" if figure else None


def _check_range(text: str, mention: Found, piece: str) -> None:
    value = re.match(r"\D*(\d+(?:\.\d+)?)", normal(piece).text)
    if value is None:
        return
    number = float(value.group(1))
    before = re.search(r"(\d+(?:\.\d+)?)年?\s*[-–—－~～至到]\s*$", text[max(0, mention.start - 12) : mention.start])
    after = re.match(r"年?\s*[-–—－~～至到]\s*(\d+(?:\.\d+)?)", text[mention.end : mention.end + 12])
    if (before and float(before.group(1)) >= number) or (after and float(after.group(1)) <= number):
        raise CannotReplace("a range would run backwards")


def _without_doubled(text: str, mention: Found, piece: str) -> str:
    """The new words without an ending that the text has after the mention already ("1990年" before "年")."""
    for length in range(min(_LONGEST_OVERLAP, len(piece) - 1), 0, -1):
        tail = piece[-length:]
        if text.startswith(tail, mention.end) and not text[mention.start : mention.end].endswith(tail):
            return piece[:-length]
    for length in range(min(_LONGEST_OVERLAP, len(piece) - 1), 0, -1):
        lead = piece[:length]
        if text.endswith(lead, 0, mention.start) and not text[mention.start : mention.end].startswith(lead):
            return piece[length:]
    return piece


def _pronouns(text: str, answer: str, new: str) -> list[tuple[int, str]]:
    """他 and 她 for a person of another gender, if the text is about one person only."""
    if answer_type(answer) != "person":
        return []
    was, now = gender(normal(trimmed(answer)).text), gender(normal(trimmed(new)).text)
    if was is None or now is None or was == now or _PRONOUNS[was] not in text:
        return []
    others = [text[start:end] for start, end in spans_of_type(text, "person")]
    if _PRONOUNS[now] in text or any(other not in answer and answer not in other for other in others):
        raise CannotReplace("a pronoun may speak of somebody else")
    return [(match.start(), _PRONOUNS[now]) for match in re.finditer(_PRONOUNS[was] + "(?!们)", text)]
