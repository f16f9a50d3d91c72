"""Which language a text is in, by its script and its most frequent words. A look, not a judgement."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

NAMES: Mapping[str, str] = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Cyrillic script", "ar": "Arabic script",
    "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
    "und": "an unknown language",
}  # fmt: skip
UNKNOWN = "und"
LEAST_SHARE = 0.5
"""Least share of a text's letters in the script that it is said to be in."""
LEAST_KANA = 0.1
"""From this share of kana on, a text with Chinese characters is Japanese."""

_SCRIPTS = {
    "zh": re.compile("[\u3400-\u9fff\uf900-\ufaff]"),
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
}
_LATIN, _LETTER, _WORD = re.compile("[A-Za-z\u00c0-\u024f]"), re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]+")
_FREQUENT = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is was that for it with as on are by this be at from what which who how when where",
        "de": "der die das und ist nicht ein eine mit von zu den auf für sich dem des wird wie was wer wann werden",
        "fr": "le la les et est des une du dans que pour pas qui sur au avec sont par ce quel quelle",
        "es": "el la los las y es de que en una por con para del se no su al qué cuál cuándo",
        "it": "il lo gli e è di che in una per con del della non sono si da quale come",
        "pt": "o os as e é de que em uma por com para do da não se no qual como",
        "nl": "de het een en is van dat niet met voor op zijn te aan wat wie wordt bij",
    }.items()
}


def language_of_texts(texts: Iterable[str]) -> str:
    """Return the code of the language of some texts of one language; `und` if they tell of none."""
    text = "\n".join(texts)
    letters = len(_LETTER.findall(text))
    shares = {name: len(script.findall(text)) / letters for name, script in _SCRIPTS.items()} if letters else {}
    if shares.get("ja", 0) >= LEAST_KANA:
        return "ja"
    if shares and max(shares.values()) >= LEAST_SHARE:
        return max(shares, key=lambda name: shares[name])
    if len(_LATIN.findall(text)) < LEAST_SHARE * max(letters, 1):
        return UNKNOWN
    words = Counter(_WORD.findall(text.lower()))
    hits = {name: sum(words[word] for word in frequent) for name, frequent in _FREQUENT.items()}
    best = max(hits, key=lambda name: hits[name])
    return best if hits[best] else UNKNOWN
