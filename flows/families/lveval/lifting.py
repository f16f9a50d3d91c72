"""Confusing facts out of what other documents say (section 3.2.2), for the builder without a model.

Both stand on sentences of other documents that are like the original fact. The subject fact is the likest, its subject
named where it only points to it. The object fact says of the question's subject where it is spoken of beside another,
and then the next likest sentence, which is on that one. So neither contradicts the original or answers the question.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flows.construct.retrieve import BM25Index
from flows.families.lveval.confusing import CHANGES, fact_problem, subjects
from flows.families.lveval.prompts import ToConfuse
from flows.language import language_of
from flows.language.en import STOP_WORDS
from flows.language.en_phrases import is_plural_noun, parts_of_speech
from flows.language.en_tokens import word_set
from flows.language.zh_text import tagged
from schemas.lveval import Pair

RANKED = 100
"""Sentences that are looked at for one pair, at most."""
LONGEST = {"en": 40, "zh": 80}
SHORTEST = {"en": 6, "zh": 12}
"""Words (characters) of a sentence that is lifted."""
LEAST_ALIKE = {"en": 3, "zh": 2}
"""Content words, but numbers, that a subject fact has of question and original, one of the question among them."""
LEAST_ASKED = 2
"""Such words of the question alone that are enough."""
LEAST_BESIDE = {"en": 2, "zh": 1}
"""Such words of the sentence in an object fact, which names the subject besides."""
LONGEST_NAME = {"en": 7, "zh": 14}
"""Words (characters) of what a sentence is about."""
LONGEST_TITLE = 80
OFFERED = 3
"""Facts of either kind that the rules may choose from."""

_BESIDE = {
    "en": (
        "A lecture on {subject} was followed by one on {other}. {text}",
        "A magazine printed its article on {subject} beside one on {other}. {text}",
        "A school encyclopedia has its entry on {subject} on the same page as the one on {other}. {text}",
        "An evening class spent an hour on {subject} and the next on {other}. {text}",
    ),
    "zh": (
        "有一场讲座先介绍了{subject}，再介绍了{other}。{text}",
        "某杂志在同一期里刊登了关于{subject}和{other}的两篇文章。{text}",
        "一本学生百科把{subject}和{other}排在同一页上。{text}",
        "一门夜校课程先用一小时讲{subject}，再用一小时讲{other}。{text}",
    ),
}
"""Where somebody speaks of two that need have nothing in common."""
_ALONGSIDE = {
    "en": (
        "A lecture on {subject} came to speak of other matters as well. {text}",
        "A book for schools has a page on {subject}, and goes on to something else there. {text}",
    ),
    "zh": (
        "有一场关于{subject}的讲座也谈到了别的话题。{text}",
        "一本学生读物有一页讲{subject}，同一页上还讲了别的内容。{text}",
    ),
}
"""The same, for a sentence that does not begin with what it is about."""
_LEANS = {
    "en": re.compile(
        r"(additionally|again|also|another|as a result|but|fifth|finally|first|firstly|for example|for instance|fourth|"
        r"furthermore|hence|however|in addition|in contrast|instead|later|likewise|meanwhile|moreover|nevertheless|"
        r"next|other|otherwise|second|secondly|similarly|still|such|that|then|therefore|third|thirdly|thus|"
        r"unfortunately|yet|though|although|nonetheless|"
        r"(?:since|after|before|with|in|during|by|despite|on|at|from) (?:its|their|his|her|this|that|these|those)|"
        r"examples include|these|those|this|it|its|their|they|he|she|his|her|there)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "但|不过|然而|因此|因而|所以|此外|另外|同时|其后|随后|之后|后来|接着|最后|而|并|也|又|参见|例如|如|"
        "有些|有一些|一些|其他|一般来说|本(?![田州])"
    ),
}
"""Words at the beginning of a sentence that goes on from the one before it."""
_STARTS = re.compile(r"^[\"'“‘「『《〈]*[A-Z0-9À-Þ㐀-鿿豈-﫿]")
_ENDS = {"en": re.compile(r"[.!][\"'”’)\]]*$"), "zh": re.compile(r"[。！．][”’」』）)》\"]*$")}
_NAME_EN = re.compile(
    r"(?:The\s+)?[A-ZÀ-Þ][\w’'&-]*(?:\.(?=\s+[A-Z]))?"
    r"(?:\s+(?:(?:of|the|and|de|la|von|van|for|in)\s+)*[A-ZÀ-Þ0-9][\w’'&-]*(?:\.(?=\s+[A-Z]))?)*"
)
_POINTS_EN = re.compile(r"(?:He|She|It)(?=\s+(?:is|was|has|had|[a-z]+ed)\b)")
_MONTHS = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|of|[\d\s,])+$"
)
_POINTS_INSIDE = {
    "en": re.compile(
        r"\b(?:the (?:city|country|film|series|album|band|song|show|game|team|town|area|island|company|university|"
        r"bill))\b(?! of)|\b[Tt]h(?:is|ese|ose)\s+[a-z]|\(\s*[;,)]|\"\"|\s\.|\bthe\s*[.,;]"
    ),
    "zh": re.compile("(?<!应)该|此[后前外]|，，|本[剧片书作站校人]|上述"),
}
"""What points to something that another sentence names, or was lost."""
_POINTS_ZH = re.compile(r"(?:[它他她牠]们?|该\w|本[种鱼市站书片校]|其)")
_ASIDE_ZH = re.compile(r"^\s*[（(][^（）()]*[）)]")
_ENTITY_ZH = re.compile(r"^[《“「]?[^（(，,。：:；;！？\n]{2,14}?[》”」]?(?=[（(，,]|是|为|位于|乃|指|原产)")
_BEFORE_ZH = re.compile(r"[\d年月日底初中起至]{0,12}[，,]?|[^，,]{1,10}[，,]")
"""What may stand before what a Chinese sentence is about: a date, or a short introduction."""
_DATED = re.compile(r"\d{2}|[年月日]")
_PREDICATES_ZH = word_set("是 为 位于 原产 由 以 曾 被 属于 属 有 生于 建于 分布 毕业 乃 指 共 全长 体长 栖息")


@dataclass(frozen=True)
class Saying:
    """A sentence of a document that makes sense alone."""

    text: str
    about: str = ""
    """What it is about, where that is told."""
    stands: str = ""
    """What of it stands in its document as it is."""


def sayings(language: str, document: str) -> Iterator[Saying]:
    """The sentences of a document that make sense alone, once what they only point to is named."""
    title, _, body = document.partition("\n")
    titled = bool(body) and not _ENDS[language].search(title) and len(title) <= LONGEST_TITLE
    module = language_of(language)
    about = _title(title) if titled else _opening(document) if language == "zh" else ""
    for at, sentence in enumerate(module.sentences(body if titled else document)):
        fits = SHORTEST[language] <= module.count(sentence) <= LONGEST[language] and "\n" not in sentence
        if fits and _ENDS[language].search(sentence):
            saying = _saying_zh(sentence, about) if language == "zh" else _saying_en(sentence, about, at)
            if saying is not None and _stands_alone(language, saying.text):
                yield replace(saying, stands=sentence)


def _title(title: str) -> str:
    """A title without what tells it from others of that name."""
    return re.sub(r"\s*[（(].*$", "", title).strip()


def _opening(text: str) -> str:
    """What a Chinese document begins with: mostly what it is about."""
    found = _ENTITY_ZH.match(text)
    name = found[0].strip() if found else ""
    return "" if _DATED.search(name) or name.startswith("「") else name


def _saying_en(sentence: str, about: str, at: int) -> Saying | None:
    if about and sentence.startswith(about):
        return Saying(sentence, about)
    if about and at == 1 and (points := _POINTS_EN.match(sentence)) is not None:
        return Saying(about + sentence[points.end() :], about)
    named = _NAME_EN.match(sentence)
    if named is None or len(named[0].split()) > LONGEST_NAME["en"] or not _is_name(named[0]):
        return Saying(sentence)
    follows = sentence[named.end() :].split(" ", 2)[1:2]
    verbs = _AUXILIARIES if len(named[0].split()) == 1 else _VERBS
    has_verb = sentence[named.end()] == " " and bool(follows) and verbs.fullmatch(follows[0]) is not None
    return Saying(sentence, named[0].rstrip(".,'")) if has_verb else Saying(sentence)


_AUXILIARIES = re.compile(r"is|was|are|were|has|had")
_VERBS = re.compile(r"is|was|are|were|has|had|became|began|won|made|wrote|led|took|held|gave|lies|[a-z]+ed")


def _is_name(text: str) -> bool:
    """Whether words in capitals are a name: more than the first word of a sentence, or than "British"."""
    words = text.removeprefix("The ").split()
    if words[0].lower() in _OPENERS or words[0].lower() in STOP_WORDS or text == "The" or "'s" in words[-1]:
        return False
    of = parts_of_speech(words[0])
    alone = not of & {"ADJ", "ADV", "VERB"} and len(text) > 2 and not _NO_NAME.search(text)
    return len(words) > 1 or (alone and not is_plural_noun(words[0].lower()))


_NO_NAME = re.compile(r"(?:ish|ese)$")
"""Of whom or what, where nothing follows: "British"."""

_OPENERS = word_set(
    "in on at of to from by for with during after before while when as if since although because there some many most "
    "all both each several few no one two three under over through between among despite like unlike another what "
    "which how other out most earlier later though whereas whether"
)


def _saying_zh(sentence: str, about: str) -> Saying | None:
    """A sentence on what its document is about, by name; any other may lean on what stands before it."""
    if not about or _LEANS["zh"].match(sentence):
        return None
    if sentence.startswith(about):
        rest = _ASIDE_ZH.sub("", sentence[len(about) :]).lstrip("，, ")
        return Saying(f"{about}{'' if _begins_with_verb(rest) else '，'}{rest}", about)
    points = _POINTS_ZH.match(sentence)
    rest = sentence[points.end() :] if points else sentence
    if _LEANS["zh"].match(rest):
        return None
    if _begins_with_verb(rest, any_verb=points is not None):
        return Saying(f"{about}{rest}", about)
    before, named, _ = sentence.partition(about)
    return Saying(sentence, about) if named and not points and _BEFORE_ZH.fullmatch(before) else None


def _begins_with_verb(text: str, *, any_verb: bool = True) -> bool:
    """Whether a Chinese text goes on from its subject, by a verb of those that descriptions have, or by any."""
    words = [word for word in tagged(text[:16]) if word[0].strip()]
    while any_verb and words and words[0][1] in ("d", "ad", "p", "f", "uj", "n", "t", "m", "c"):
        if words[0][1] in ("p", "f", "uj", "n", "t", "m", "c"):
            return True
        words = words[1:]
    return bool(words) and (words[0][0] in _PREDICATES_ZH or (any_verb and words[0][1].startswith("v")))


def _stands_alone(language: str, text: str) -> bool:
    """Whether it begins and ends as a sentence does, and leans on none before it."""
    return bool(
        _STARTS.match(text)
        and not _POINTS_INSIDE[language].search(text)
        and not _LEANS[language].match(text)
        and language_of(language).dangling_subject(text) is None
    )


class Sayings:
    """The sentences of a dataset's documents that make sense alone, to be searched for each of its pairs."""

    def __init__(self, language: str, documents: Iterable[str]) -> None:
        """Where two documents say the same, the first counts."""
        found: dict[str, Saying] = {}
        for document in documents:
            for saying in sayings(language, document):
                found.setdefault(saying.text, saying)
        self._index = BM25Index(list(found))
        self._found = list(found.values())

    def facts(self, asked: ToConfuse, pair: Pair, rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Subject facts and object facts, the likest first; no object fact is of the first subject fact's sentence."""
        alike = self._alike(asked, pair)
        own = own_subjects(asked)
        of_subject = _first(_subject_facts(asked, alike, own))
        rest = [saying for _, saying in alike if saying.text not in of_subject[:1]]
        return of_subject, _first(_object_facts(asked, rest, own, rng))

    def _alike(self, asked: ToConfuse, pair: Pair) -> list[tuple[int, Saying]]:
        """Those that are like question and original, the likest first, with how many content words they have of them.

        None is out of the pair's documents. How like they are is Dice's coefficient of the words.
        """
        words = language_of(asked.language).content_words
        wanted = words(f"{asked.question}\n{asked.fact}")
        own = "\n".join(document.text for document in pair.documents)
        found: list[tuple[float, str, int, Saying]] = []
        for place in self._index.rank([f"{asked.question} {asked.fact}"], RANKED)[0].tolist():
            if place < 0 or self._found[place].stands in own:
                continue
            saying = self._found[place]
            said = words(saying.text)
            common = len([word for word in said & wanted if not word.isdigit()])
            if common >= LEAST_BESIDE[asked.language]:
                found.append((-2 * common / (len(said) + len(wanted)), saying.text, common, saying))
        return [(common, saying) for _, _, common, saying in sorted(found, key=lambda one: one[:2])]


def _subject_facts(asked: ToConfuse, alike: Iterable[tuple[int, Saying]], own: Sequence[str]) -> Iterator[str]:
    """The sentences on another subject, as they are, that have a word of the question."""
    module = language_of(asked.language)
    asked_of = frozenset(word for word in module.content_words(asked.question) if not word.isdigit())
    for common, saying in alike:
        asks = len(module.content_words(saying.text) & asked_of)
        is_alike = asks >= LEAST_ASKED or (asks and common >= LEAST_ALIKE[asked.language])
        on_another = is_alike and not _is_on(saying, own, asked.language)
        if on_another and fact_problem(asked, CHANGES[0], saying.text) is None:
            yield saying.text


def _is_on(saying: Saying, own: Sequence[str], language: str) -> bool:
    """Whether the sentence is on the question's own subject, where that is a name."""
    if not own or own[0].islower():
        return False
    name = language_of(language).content_words(own[0])
    about = language_of(language).content_words(saying.about)
    if about and len(name) == 1:
        return about == name
    return name <= language_of(language).content_words(saying.text)


def _object_facts(
    asked: ToConfuse, alike: Iterable[Saying], subjects_: Sequence[str], rng: random.Random
) -> Iterator[str]:
    """The question's subject spoken of beside another, and what a sentence says of that."""
    module = language_of(asked.language)
    for own in subjects_:
        for saying in alike:
            other = saying.about
            if not other or module.content_words(other) & module.content_words(own):
                continue
            if asked.language == "en" and other.startswith("The "):
                other = f"the {other.removeprefix('The ')}"
            fact = rng.choice(_BESIDE[asked.language]).format(subject=own, other=other, text=saying.text)
            if fact_problem(asked, CHANGES[1], fact) is None:
                yield fact
    for own in subjects_:
        for saying in alike:
            fact = rng.choice(_ALONGSIDE[asked.language]).format(subject=own, text=saying.text)
            if fact_problem(asked, CHANGES[1], fact) is None:
                yield fact


def own_subjects(asked: ToConfuse) -> list[str]:
    """What the question is about, as it names it, the surest first; none of a right answer."""
    found = _own_zh(asked) if asked.language == "zh" else _own_en(asked)
    module = language_of(asked.language)
    return [
        own for own in dict.fromkeys(found) if own and not any(module.contains(answer, own) for answer in asked.answers)
    ]


def _own_zh(asked: ToConfuse) -> Iterator[str]:
    about = _opening(asked.title)
    if about and about in asked.question:
        yield about
    question = asked.question.lower()
    for name in sorted(subjects("zh", asked.question), key=lambda name: (question.find(name), name)):
        at = question.find(name)
        marked = f"《{name}》"
        as_asked = asked.question[at : at + len(name)] if at >= 0 else name
        yield marked if marked in question else re.sub("[内中里上]$", "", as_asked)


def _own_en(asked: ToConfuse) -> Iterator[str]:
    """The title where the question has it, its names, the longest first, and then its noun phrases."""
    core = _title(asked.title)
    if core and len(core.split()) <= LONGEST_NAME["en"]:
        found = re.search(rf"(\bthe\s+)?(?<!\w){re.escape(core)}(?!\w)", asked.question, re.IGNORECASE)
        if found:
            yield f"the {core}" if found[1] and not core.startswith("The ") else core
    runs = [(run[0], run.start()) for run in _NAME_EN.finditer(asked.question)]
    parts = [(part, at) for run, at in runs for part in re.split(r"\s+and\s+", run) if " and " in run]
    for run, at in (*sorted(runs, key=lambda run: (-len(run[0].split()), run[1])), *parts):
        name = re.sub(r"['’]s?$", "", run.removeprefix("The ").rstrip(".,"))
        if _is_name(name) and not _MONTHS.match(name) and (at or len(run.split()) > 1):
            yield _with_article(asked.question, at, name, run.startswith("The "))
    yield from _noun_phrases(asked.question)


def _with_article(text: str, start: int, name: str, has: bool = False) -> str:
    return f"the {name}" if has or text[:start].rstrip().lower().endswith(" the") else name


def _noun_phrases(question: str) -> Iterator[str]:
    """Nouns of the question with the adjectives and nouns before them, the longest first; none that it asks for."""
    found: list[tuple[int, int]] = []
    start = end = -1
    for word in re.finditer(r"[^\W\d_][\w-]*|[,;:?.'\"()]", question):
        of = parts_of_speech(word[0].lower()) if word[0].isalpha() or "-" in word[0] else frozenset()
        noun, adjective = "NOUN" in of and "AUX" not in of and "DET" not in of, of == {"ADJ"}
        if (noun or adjective) and word[0].islower() and len(word[0]) > 2 and not _is_function(word[0]):
            start = word.start() if start < 0 else start
            end = word.end() if noun else end
            continue
        if 0 <= start < end:
            found.append((start, end))
        start = end = -1
    for first, last in sorted(found, key=lambda place: (place[0] - place[1], place[0])):
        before = question[:first].rstrip().lower()
        words = question[first:last].split()
        vague = len(words) == 1 and "VERB" in parts_of_speech(words[0]) and not before.endswith(" the")
        if not vague and not re.search(r"\b(?:what|which|whose|many|much)(?:\s+\w+)?$", before):
            yield _with_article(question, first, question[first:last])


def _is_function(word: str) -> bool:
    return word in STOP_WORDS or word in _OPENERS or word in ("much", "name", "kind", "type", "way", "lot")


def _first(facts: Iterator[str]) -> tuple[str, ...]:
    """The first few of them, each once."""
    found: dict[str, None] = {}
    for fact in facts:
        found[fact] = None
        if len(found) == OFFERED:
            break
    return tuple(found)
