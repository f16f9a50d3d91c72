"""Texts as the words that LV-Eval's metrics count, and its blacklists (section 3.3)."""

import logging
import string
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from flows.scoring.qa import english_words
from flows.scoring.scorer import CannotScore

KEPT_TEXTS = 4096
"""The number of Chinese texts whose words are cached: the levels and places of a benchmark repeat its answers."""
CHINESE_PUNCTUATION = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃"
    "》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
"""The characters that LV-Eval's released scorer deletes beside ASCII punctuation; 《 〈 〉 and · are not among it."""
_BOTH_PUNCTUATIONS = str.maketrans("", "", string.punctuation + CHINESE_PUNCTUATION)

_ENGLISH_BLACKLIST = """
and to of in her was with for it from is that his he by she they or at because be on are their what as had
were about being this who but have has when which does
"""
_CHINESE_BLACKLIST = """
的 和 是 等 在 年 可以 为 与 ‰ 了 或 一种 月 c 至 日 有 进行 于 不 中 × 根据 小 由
亩 也 要 指 法 会 元 主要 以及 通过 首先 对 然后 号 以 所 后 丁 包括 无 将 用 能 形
方面 因素 位于 而 从 到 一定 用于 但 使用 让 具有 并 亿元 万元 上 类 基于 才 来 地 片
其他 个 或者 变得 时 给 你 使 条 受 已经 带 度
"""
_BLACKLISTS: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH_BLACKLIST.split()),
    "zh": frozenset(_CHINESE_BLACKLIST.split()),
}


def released_blacklist(language: str) -> frozenset[str]:
    """LV-Eval's words that say nothing about an answer (section 3.3), as released."""
    return _BLACKLISTS[language]


@lru_cache(KEPT_TEXTS)
def chinese_segments(text: str) -> tuple[str, ...]:
    """The stretches that jieba divides `text` into, which joined are `text` again."""
    return tuple(_segmenter().cut(text, cut_all=False))


def normal_segments(text: str) -> tuple[str, ...]:
    """jieba's segments in lower case, without punctuation of either width and white space: some are empty then."""
    return tuple("".join(word.lower().translate(_BOTH_PUNCTUATIONS).split()) for word in chinese_segments(text))


def chinese_words(text: str) -> tuple[str, ...]:
    """The normal segments without empty ones."""
    return tuple(filter(None, normal_segments(text)))


WORDS: Mapping[str, Callable[[str], tuple[str, ...]]] = {"en": english_words, "zh": chinese_words}
"""By language code."""


@cache
def _segmenter() -> Any:
    """A tokenizer of our own: no user dictionary in the process or file in the temporary folder changes its words."""
    try:
        import jieba
    except ImportError as error:
        raise CannotScore("Chinese texts are divided into words by jieba: pip install jieba==0.42.1") from error
    jieba.setLogLevel(logging.WARNING)
    tokenizer: Any = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
