"""Short texts on what somebody asked to have written, without a model: sentences that go with any subject.

Each is a text of its kind (news, story, counter-argument, letter) that says what the request says and names what it
names, as an object, so that no verb has to agree with it. It is whole, and it is no more than a frame.
"""

import random
import re
from collections.abc import Sequence

from flows.language import en, zh
from flows.language.en_tokens import word_set
from schemas.base import content_hash

READ_OF_REQUEST = 600
"""Characters of a request in which its subjects are looked for: what is pasted below it can be a book."""
SUBJECTS = 3
"""Things that the request names and the text takes up."""
_ABOUT_THE_TEXT = word_set(
    "write letter email mail speech story poem article essay post text description introduction guide word words "
    "paragraph sentence list title page blog review response reader draft line section letters keyword"
)
"""Nouns of a request that say what is to be written, and not on what."""

_TEXTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "news": (
        ("{text}",),
        (
            "Many people here have been waiting for this news, and it didn't come without a long debate.",
            "The decision was made this week, although several people had hoped for a different one.",
        ),
        (
            "“We've talked about {0} for years,” said a woman who lives close by; “it's good that something happens!”",
            "“It wasn't easy,” said a man who has known {0} all his life; “but now there's something to look at!”",
        ),
        (
            "Not everybody is so sure: some ask who will pay for it, and others want to know how long it will last.",
            "There are also doubts, because nobody can say yet what it will mean for {1} (the figures aren't known).",
        ),
        (
            "However, those who took part in the decision think that it can only help {2}.",
            "However, it's often the small steps that count, and this is one for {2}.",
        ),
        (
            "Will that be enough? More is to be said at a public meeting next week (all are welcome).",
            "What comes next? A first report is expected at the end of the month (it will be open to all).",
        ),
    ),
    "story": (
        ("{text}",),
        (
            "Nobody believed it at first, and there was a good reason for that: it had been a quiet year.",
            "It was a small town (almost too small), and people there didn't care for surprises.",
        ),
        (
            "“Don't tell anyone,” said the old neighbour; “not yet!”",
            "“You won't believe this,” said the girl at the door; “come and look!”",
        ),
        (
            "However, it couldn't be kept a secret for a long time, because somebody asked about {0} every day.",
            "However, there was no way back now, and every night somebody thought of {0}.",
        ),
        ("What was there to be afraid of?", "Who could have known what it meant?"),
        (
            "In the end the answer lay with {1}, where nobody had thought of looking.",
            "In the end it all came down to {1}, and it was simple.",
        ),
        (
            "Years later they'd still tell the story to their children, and it was different each time.",
            "People still speak of {2} in that town, and they always smile when they do.",
        ),
    ),
    "counter-argument": (
        (
            "I've read your post more than once, and I can't agree with it.",
            "Your post made me think, but it didn't convince me.",
        ),
        (
            "You write: “{first}” That sounds simple; however, it's only a part of the story.",
            "“{first}” Is that really so? It's often said, and it's not always true.",
        ),
        (
            "What is good for you isn't good for all people, and not everybody who has to do with {0} has a choice.",
            "You speak about {0} as if there were nothing to lose; many people would lose a lot.",
        ),
        (
            "There's also a price that you don't mention: somebody has to look after {1} (and somebody has to pay).",
            "There's a reason why we have {1}, and it hasn't gone away (I wish it had).",
        ),
        (
            "Of course there's something in what you say about {2}, but one example isn't a proof.",
            "I don't want to deny that {2} can be improved, but that isn't what you ask for.",
        ),
        (
            "So let's not throw away what works! In the end it is better to mend a thing than to do without it.",
            "So let's try it on a small scale first! In the end we'll know more, and nobody will have been hurt.",
        ),
    ),
    "request": (
        (
            "Dear all, today it's about {0}.",
            "Dear reader, there's something to be said about {0}.",
        ),
        (
            "It has been on my mind for a long time, and I don't want to put it off any more.",
            "It's an important matter, although it isn't always spoken of.",
        ),
        (
            "Many people know {1} well, and they know what can be expected (and what can't).",
            "Who hasn't thought of {1} at some time, and who hasn't put the thought away again?",
        ),
        (
            "However, it's the small things that count; and with {2} it is the same.",
            "However, there's more to it: one can't speak of {2} and leave the rest out.",
        ),
        ("What can be done? A good deal, because the first step is often the hardest!",
         "Is there a simple answer? Not always, but it's good to ask the question!"),
        (
            "In the end it will help all of us. “Better late than never,” as the saying goes.",
            "In the end it's up to us. “Where there's a will, there's a way,” as the saying goes.",
        ),
    ),
}  # fmt: skip
"""By kind the sentences in their order, each in the ways in which it can be said. In all there is something of what
plain requirements of manner are about: marks, brackets, quotations, contractions."""
_CHINESE: tuple[tuple[str, ...], ...] = (
    ("最近，人们经常谈到{0}！", "今天想和你说说{0}！"),
    ("这不是一件小事，因为它也关系到{1}。", "虽然这件事看起来很小，但是它与{1}有关。"),
    ("这样做真的有必要吗？", "为什么现在还要说这些呢？"),
    ("其实答案就在我们身边；只要看一看{2}（哪怕只看一眼），就能够明白。",
     "道理其实不难；如果认真想一想{2}（不用很久），就会知道。"),
    ("一位老人说：“以前谁也没有想到会这样。”", "有一句老话说得好：“办法总比困难多。”"),
    ("当然，困难还有很多，但是我们已经开始了。", "当然，人们的看法不一样，不过大家都希望事情变好。"),
    ("希望你以后再想起{0}的时候，也能够记得今天的话。", "最后，希望每个人都能够为此做一点事情。"),
)  # fmt: skip


def written(kind: str, request: str, language: str) -> str:
    """The text for what is given: a headline, a post, a story's prompt, or a whole request. The same each time."""
    draw = random.Random(content_hash(request))
    frames = _CHINESE if language == "zh" else _TEXTS.get(kind, _TEXTS["request"])
    subjects = _chinese_subjects(request) if language == "zh" else _english_subjects(request)
    sentences = [draw.choice(ways) for ways in frames]
    whole = " ".join(request.split())
    values = {"text": _sentence(whole), "first": _sentence(_first(whole)).replace("“", "").replace("”", "")}
    said = [sentence.format(*subjects, **values) for sentence in sentences]
    return ("" if language == "zh" else " ").join(said)


def _first(text: str) -> str:
    return next(iter(en.sentences(text)), text)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _english_subjects(request: str) -> Sequence[str]:
    """What the request names; the last comes again where it names too few."""
    found = []
    for one in en.entities(request[:READ_OF_REQUEST]):
        if one.is_name:
            found.append(one.text)
        elif one.head not in _ABOUT_THE_TEXT and one.text.isascii():
            found.append(f"the {one.text.lower()}")
    return _enough(found or ["the matter"])


def _chinese_subjects(request: str) -> Sequence[str]:
    beginning = request[:READ_OF_REQUEST]
    words = [one for one in zh.content_words(beginning) if re.fullmatch(r"[\u4e00-\u9fff]{2,}", one)]
    return _enough(sorted(words, key=lambda one: (beginning.find(one), one)) or ["这件事"])


def _enough(found: Sequence[str]) -> Sequence[str]:
    return [found[min(at, len(found) - 1)] for at in range(SUBJECTS)]
