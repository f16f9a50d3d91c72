"""Statements of a Chinese page about its subject, each in a form that can follow the subject's name.

Such pages name their subject once and then leave it out: "刘燕卿，现职香港申诉专员，毕业于香港中文大学。" says
"现职香港申诉专员" and "毕业于香港中文大学" of 刘燕卿. A clause is followed to its subject as long as nothing else can
be meant: the sentence begins with the name, a pronoun for it, or a verb if the sentence before was about it too.
"""

import re
from collections.abc import Iterator, Sequence

from flows.language.tables import patterns
from flows.language.zh import sentences
from flows.language.zh.text import tagged

SHORTEST, LONGEST, LONGEST_SENTENCE = 5, 45, 80
"""The most characters of a statement, as a clause and as a sentence."""
_ASIDE = re.compile(r"-\{|\}-|[（(][^（）()]*(?:[（(][^（）()]*[）)][^（）()]*)*[）)]")
_NAME = patterns("zh")["name at the beginning of a page"]
_NO_NAME = patterns("zh")["no name at the beginning of a page"]
_POINTS = patterns("zh")["needs other sentences"]
"""Words that need the sentences around them."""
_POINTS_TO_IT = patterns("zh")["points to the subject of the page"]
_ALIAS = patterns("zh")["other name"]
_ITS = re.compile("(?:^|(?<=，))其(?![中他次实后间余时父母妻子])")
_TIME = patterns("zh")["time of a clause"]
_DAY = re.compile(r"^(\d{3,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?)(?![起以后前间至到时代初底年月\d－~～-])")
_VERB = patterns("zh")["verb of a clause"]
_HAS = re.compile("(?:为|是|有|设[在于有]|位[在于]|由|呈|约|可?达|包括|以|\\d)")
"""Words after the name of something that the subject has: "总部设在巴拿马城"."""
ITSELF = patterns("zh")["the thing itself"]
"""Words for the thing itself when they are alone."""
_NO_SAYING = patterns("zh")["no statement"]
_OF_IT_ALONE = patterns("zh")["page on a species or a person"]
"""At the beginning of a page on a species or a person, which is about little else."""
_ROLE = re.compile("(?:运动员|(?<!国)家|演员|歌手|球员|官员|学者|教练|将领)$")
_LEAD = re.compile("[在于自从以][^，]{1,15}?(?:[时中后前里上下起间]|期间)[就便才即]?(?=[曾被获加参成为开入当担转毕出])")
"""A time or place before a verb."""
_ONE_LACKING_A_WORD = re.compile("^是一个?(?=位于[^的]*$)|(?<=^是)一(?=[位由])")
"""Left of "是一位于东京，由公司经营的车站" where the sentence is cut."""
_JOINING = re.compile("^(?:并且|并(?!不)|也|亦|还|又|同时|且|更)")
_OPEN = patterns("zh")["open at an end"]
_BEGINS_WITHOUT = re.compile("，*(?:是|本[线站片剧作])")
"""A page that leaves out the name of its subject."""


def is_unnamed(page: str) -> bool:
    """True if a page says at once what something is, and not its name."""
    return _BEGINS_WITHOUT.match(page) is not None


def about(page: str) -> str:
    """Return the subject with whose name the page begins; empty if it does not begin with a name."""
    match = _NAME.match(page)
    if match is None or (_NO_NAME.search(match[0]) and page[match.end() : match.end() + 1] not in ("（", "(")):
        return ""
    if name := re.match(r"[A-Za-z0-9]+(?: [A-Za-z0-9.]+)+(?![A-Za-z])", page):
        return name[0]
    return re.sub("(?<=..)(?:教授|博士|先生|女士)$", "", match[0].strip())


def aliases(page: str) -> tuple[str, ...]:
    """Return the page's names for its subject: full, a title alone, a short form, the last part of a foreign name."""
    name = about(page)
    short = re.search("简称[为「“]*([一-龥]{2,10})", page[:120])
    titled = re.match("《[^》]+》", name)
    others = (name.rpartition("·")[2], titled[0] if titled else "", short[1] if short else "")
    return tuple(dict.fromkeys(alias for alias in (name, *others) if alias))


def predicates(page: str, names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the statements of the page about its subject, or about the bearer of these names, in order."""
    names = names or aliases(page)
    named = re.compile(
        f"(?P<time>(?:{_TIME.pattern}，?)?)[「“]?(?:{'|'.join(map(re.escape, names))})[」”]?(?P<joined>[和与及跟、]?)"
    )
    kinds = "|".join(re.escape(name[-length:]) for name in names for length in (3, 2, 1))
    points_to_it = re.compile(f"{_POINTS_TO_IT.pattern}|[该此这本][一个种条套座部项]?(?:{kinds})(?!的)")
    steady = _OF_IT_ALONE.search(page[:200]) is not None
    on_it = is_unnamed(page)
    for at, sentence in enumerate(sentences(_ASIDE.sub("", page)) if names else ()):
        text = re.sub(f"，(?:{points_to_it.pattern})", "，", sentence.lstrip("，").rstrip("。；;"))
        text = _ITS.sub("的", text) if on_it else text
        pointing = (points_to_it.match(text) or ITSELF.match(text)) if on_it else None
        if begins := named.match(text):
            on_it = not begins["joined"]
            yield from _clauses(text[begins.end() :], begins["time"].strip("，"), first=at == 0) if on_it else ()
        elif inside := re.search(f"，(?:{'|'.join(map(re.escape, names))})(?![和与及跟、的])", text):
            yield from _clauses(text[inside.end() :])
        elif on_it and text.startswith("的"):
            yield from _clauses(text)
        elif pointing:
            rest = text[pointing.end() :]
            if "，" in rest and rest[0] != "的" and _is_said(rest) and _is_whole(rest, LONGEST_SENTENCE):
                yield rest
            yield from _clauses(rest)
        elif on_it and not _NO_SAYING.match(text) and (_VERB.match(text) or _after_a_time(text) or _is_had(text)):
            yield from _clauses(text)
        elif on_it and at == 1 and _is_nominal(text.partition("，")[0]):
            yield from _clauses(f"，{text}", first=True)
        else:
            on_it = (
                on_it
                and steady
                and not re.match("[父母]", text)
                and not tagged(text[:8] or "，")[0][1].startswith("nr")
            )


def _after_a_time(text: str) -> bool:
    """True if a verb follows a time at the beginning: "1974年受白景瑞导演赏识"."""
    time = _TIME.match(text)
    return time is not None and _is_said(text[time.end() :].lstrip("，"))


def _clauses(text: str, time: str = "", *, first: bool = False) -> Iterator[str]:
    """The clauses of a sentence that are about its subject, each with the time before it."""
    parts = text.split("，")
    for at, part in enumerate(parts):
        clause = _ONE_LACKING_A_WORD.sub("", _JOINING.sub("", part.strip()))
        if not clause or _ALIAS.search(part.strip()):
            continue
        if _TIME.fullmatch(clause):
            time = clause
            continue
        if clause.startswith("的"):
            if _is_whole(clause) and not time and len(tagged(clause[1:])[0][0]) > 1:
                yield clause
            return
        if re.fullmatch("由.+的[一-龥]{2,6}", clause) or (
            first and 0 < at < 4 and _is_nominal(clause) and not re.search("[后前时中]$", parts[at - 1])
        ):
            clause = f"是{clause}"
        elif _is_had(clause):
            clause = re.sub(r"^(\D+[^\d约近达为是有在于第])(?=\d)", r"\1为", f"的{clause}")
        elif not _is_said(clause):
            if first and not any(tag == "v" for _, tag in tagged(clause)):
                continue
            return
        saying = time + clause if "于" in clause[:6] else _DAY.sub(r"于\1", time + clause)
        if _is_whole(saying):
            yield saying
        time = ""


def _is_had(clause: str) -> bool:
    """True if a clause begins with something that the thing has: "化学式为NCl"."""
    lead = ""
    if clause.startswith("水深"):  # where the thing lives, not what it has
        return False
    for word, tag in tagged(clause):
        if lead and _HAS.match(word):
            return len(lead) > 1 and not clause.startswith("经营以") and not ITSELF.match(clause)
        if tag not in ("n", "vn", "an") or len(lead) > 4:
            return False
        lead += word
    return False


def _is_said(clause: str) -> bool:
    """True if the subject of a clause comes before it: it begins with a verb, or with words that precede a verb."""
    if _NO_SAYING.match(clause) or re.match("[以用从对].*的[一-龥]{2,6}$|以[^为]{2,8}与", clause):
        return False
    if _VERB.match(clause):
        return True
    time = _TIME.match(clause) or _LEAD.match(clause)
    for _, tag in tagged(clause[time.end() :] if time else clause):
        if tag.startswith("v") and tag != "vn":
            return True
        if tag[0] not in "pd":
            return False
    return False


def _is_nominal(clause: str) -> bool:
    """True if a clause only names what the thing is: "广东开平人", "清吴沃尧所著的小说"."""
    words = tagged(clause)
    return (
        bool(words)
        and words[-1][1].startswith("n")
        and words[0][1][0] in "nbamft"
        and not _VERB.match(clause)
        and not re.match(r"\d+岁|共|全|约|血型|身高|体重|星座|编号|代号", clause)
        and (
            re.search("所[^，的]{1,3}的[一-龥]{2,8}$", clause) is not None
            or _ROLE.search(clause) is not None
            or not any(tag in ("v", "p", "d") or word in "是为有" for word, tag in words)
        )
    )


def _is_whole(saying: str, longest: int = LONGEST) -> bool:
    """True if a clause makes sense alone: it needs no other sentence, and says what it is about."""
    if not SHORTEST <= len(saying) <= longest or _POINTS.search(saying) or _OPEN.search(saying):
        return False
    defined = re.match("[是为](?:[^，]*?一[条个座种家名位款部所])?(?P<what>.*)", saying)
    return (
        defined is None
        or "的" in saying
        or _ROLE.search(saying) is not None
        or not any(tag == "v" for _, tag in tagged(defined["what"]))
    )
