"""Replaces every mention of an answer in an English text by another answer, in matching form."""

import re
from collections.abc import Iterator, Sequence

from flows.language import CannotReplace, Edit, Replaced, edited
from flows.language.en.concord import pronouns, with_concord
from flows.language.en.forms import Site, described, in_form
from flows.language.en.mentions import find
from flows.language.en.names import TITLES
from flows.language.en.numbers import value_of
from flows.language.en.persons import Found
from flows.language.en.phrases import head, is_proper
from flows.language.en.tokens import Tokens, tokens


def replace(text: str, answer: str, new: str, aliases: Sequence[str] = ()) -> Replaced:
    names = tuple(aliases)
    mentions = find(text, answer, names)
    if not mentions:
        return Replaced(text, (), ())
    if find(new, answer, names):
        raise CannotReplace("the new answer names the old one")
    words = tokens(text)
    edits: list[Edit] = []
    for mention in mentions:
        changes = _edits_at(words, mention, answer, new)
        edits += [*changes, *_possessive(text, changes)]
    edits.extend(pronouns(words, mentions, answer, new))
    result = edited(text, edits)
    if find(result.text, answer, names):
        raise CannotReplace("a mention of the old answer is left")
    return result


_BARE_POSSESSIVE = re.compile(r"['’](?=\s+[a-z])")
_OPENING_QUOTE = re.compile(r"(?<![^\s(\[])['‘]")
QUOTED_WITHIN = 80
"""How far before a name a quotation that ends with it may begin, in characters."""


def _possessive(text: str, edits: Sequence[Edit]) -> Iterator[Edit]:
    """ "Thornley's" for "Rawls'": a name that does not end in s gets one. Not at the end of a quotation."""
    for edit in edits:
        match = _BARE_POSSESSIVE.match(text, edit.end)
        quoted = _OPENING_QUOTE.search(text, max(0, edit.start - QUOTED_WITHIN), edit.start)
        if match and not quoted and text[edit.start : edit.end].endswith("s") and not edit.new.endswith("s"):
            yield Edit(match.start(), match.end(), f"{match[0]}s", mention=False)


def _edits_at(words: Tokens, mention: Found, answer: str, new: str) -> list[Edit]:
    longer = mention.last > mention.first and words.adjacent(mention.first)
    has_article = longer and words.word(mention.first).lower() in ("a", "an", "the")
    first = mention.first + 1 if has_article else mention.first
    site = Site(words, mention, first, answer, described(new))
    _check_alias(site)
    if site.old_text.count('"') % 2 or site.old_text.count("(") != site.old_text.count(")"):
        raise CannotReplace("a quotation mark or bracket would be left over")
    piece = _without_doubled(words, mention, first, in_form(site))
    _check_range(words, first, mention.last, piece)
    return with_concord(site, piece)


def _check_alias(site: Site) -> None:
    """Raise `CannotReplace` for an alias whose head is not the answer's ("power source" for "power")."""
    mention, new = site.mention, site.new
    if mention.form != "alias" or mention.role != "whole" or new.proper or new.type != "other":
        return
    alias_head = head(site.words.text[mention.start : mention.end]).lower()
    if alias_head != head(site.answer).lower() and not is_proper(site.answer):
        raise CannotReplace("an alias of another form")


def _without_doubled(words: Tokens, mention: Found, first: int, piece: str) -> str:
    """The new words without those that are already next to the mention ("Yukon River" before "River")."""
    new = tokens(piece)
    follows = words.normals[mention.last + 1] if words.adjacent(mention.last) else ""
    if len(new) > 1 and new.normals[-1] == follows and not follows[0].isdigit():
        piece = piece[: new.ends[-2]]
        new = tokens(piece)
    precedes = words.normals[first - 1] if first and words.adjacent(first - 1) else ""
    if len(new) > 1 and precedes:
        titles = new.normals[0] in TITLES and precedes in TITLES
        if titles or new.normals[0] == precedes:
            return piece[new.starts[1] :]
    return piece


_RANGE_GAP = re.compile(r"\s*[-–—]\s*")


def _check_range(words: Tokens, first: int, last: int, piece: str) -> None:
    """Raise `CannotReplace` for a number that would reverse a range ("1775–1795" with 1800 in the first place)."""
    new = tokens(piece)
    value = value_of((new.normals[-1],)) if len(new) else None
    if value is None:
        return
    before = _partner(words, first - 1, -1)
    after = _partner(words, last, 1)
    if (before is not None and before >= value) or (after is not None and after <= value):
        raise CannotReplace("a range would run backwards")


def _partner(words: Tokens, gap: int, step: int) -> float | None:
    near = gap if step < 0 else gap + 1
    if not 0 <= near < len(words):
        return None
    if _RANGE_GAP.fullmatch(words.gap(gap)):
        return value_of((words.normals[near],)) if words.normals[near][0].isdigit() else None
    far = near + step
    if words.normals[near] in ("to", "and", "until") and 0 <= far < len(words):
        opener = words.normals[far - 1] if step < 0 and far else words.normals[gap - 1] if gap > 0 else ""
        if opener in ("from", "between") and words.normals[far][0].isdigit():
            return value_of((words.normals[far],))
    return None
