"""Words of a Chinese sentence or question that point at something outside it: 该站, 他."""

from flows.language import zh
from flows.language.tables import patterns
from flows.language.zh.text import NAME_TAGS, normal, tagged

_CHINESE = patterns("zh")["question that points outside"]


def zh_points_outside(sentence: str) -> str | None:
    """See `flows.language.pointing.points_outside`."""
    return zh.dangling_subject(sentence) or _unnamed_in_chinese(sentence)


def zh_question_points_outside(question: str) -> str | None:
    """See `flows.language.pointing.question_points_outside`."""
    return _demonstrative_in_chinese(question.strip()) or _unnamed_in_chinese(question)


def _demonstrative_in_chinese(question: str) -> str | None:
    """该 or 这个 at the beginning, unless a name follows it ("该雅芳河")."""
    match = _CHINESE.match(question)
    if match is None:
        return None
    following = tagged(normal(question[match.end() :]).text)
    return None if following and following[0][1] in NAME_TAGS else match[0]


_SPELT = ("尼", "拉", "那", "加")
"""Characters after 他 in foreign names: 巴吞他尼府."""
_DEMONSTRATIVE = patterns("zh")["demonstrative"]


def demonstrative_without_name(question: str, answer: str, sentence: str) -> str | None:
    """A Chinese phrase such as 该站, if the sentence names nothing before it, of the question or otherwise."""
    plain = normal(sentence).text
    match = _DEMONSTRATIVE.search(plain)
    if match is None:
        return None
    before = plain[: match.start()]
    asked = zh.content_words(question) - zh.content_words(answer)
    names = [word for word, tag in tagged(before) if tag in NAME_TAGS and len(word) > 1 and word not in answer]
    return None if names or asked & zh.content_words(before) else match[0]


def _unnamed_in_chinese(text: str) -> str | None:
    """他 or 她 before which the text names nobody and nothing."""
    named = False
    words = tagged(normal(text).text)
    for (word, tag), (following, _) in zip(words, [*words[1:], ("", "")], strict=True):
        if word in ("他", "她", "他的", "她的") and not named and following not in _SPELT:
            return word
        person = (tag == "n" and word[-1] in "家员者人师手生王长帝后星") or word in ("谁", "人", "者", "《")
        named = named or person or (tag in NAME_TAGS and not word.isdigit())
    return None
