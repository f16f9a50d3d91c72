"""Keyword and phrase replacement: ours beside one pattern of all keywords and beside replacing them in turn.

    python tests/bench/bench_keywords.py [English book] [Chinese book]      (.txt or .txt.gz; default: made texts)

1,000 rules on the first 16k to 256k words (characters, in Chinese) of a text, in the same run, by the time of one
core, the best of five (ours keeps the spellings that it has met). The keywords are of the text: in English a hundred
frequent words, 350 names, 400 rare words and 150 phrases of three words; in Chinese 400 frequent and 600 rare stretches
of two to four characters. MB are of UTF-8. "grows" is the time at a length over the time at half of it: 2 is in
proportion. `re.sub` is one alternation, the longest first, whole words whatever the case (in Chinese plain);
`str.replace` goes through the rules, the longest first. Neither keeps the case, and `str.replace` finds parts of words,
other cases not at all, and what it has put in itself: a floor, not a rival. Below: making the rules ready, undoing, and
finding which paragraphs hold which of 5,000 phrases (`PhraseFinder.holding`).
"""

import gzip
import itertools
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from flows.language.keywords import PhraseFinder, Replacer, Rule

LEVELS = (16_000, 32_000, 64_000, 128_000, 256_000)
RULES = 1_000
PHRASES = 5_000
SEED = 7
RUNS = 5


def read(file: Path) -> str:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return raw.decode("utf-8")


def made(language: str) -> str:
    """A text of made words, some often and most seldom, one in ten a name; longer than the longest level."""
    rng = random.Random(SEED)
    if language == "zh":
        signs = [chr(0x4E00 + at) for at in range(3_000)]
        chosen = iter(rng.choices(signs, [1 / (20 + rank) for rank in range(len(signs))], k=300_000))
        lines = ("".join(itertools.islice(chosen, 20)) + rng.choice("，。") for _ in range(14_000))
        return "\n".join(lines)
    words = ["".join(rng.choices("aeioulnrstdmpk", k=rng.randint(2, 9))) for _ in range(20_000)]
    words = [word.title() if rng.random() < 0.1 else word for word in words]
    chosen = iter(rng.choices(words, [1 / (3 + rank) for rank in range(len(words))], k=280_000))
    return ".\n\n".join(" ".join(itertools.islice(chosen, 14)) for _ in range(19_000))


def beginning(text: str, level: int, language: str) -> str:
    """The first so many words (characters, in Chinese)."""
    units = itertools.islice(re.finditer(r"\S" if language == "zh" else r"\S+", text), level)
    return text[: max(match.end() for match in units)]


def rules(text: str, language: str) -> list[Rule]:
    """Keywords of the text; the substitutes are not in it."""
    rng = random.Random(SEED)
    if language == "zh":
        pairs = [pair for pair, _ in Counter(map("".join, itertools.pairwise(text))).most_common() if pair.isalpha()]
        places = rng.sample(range(len(text)), 20_000)
        rare = [text[at : at + rng.choice((2, 3, 4))] for at in places]
        keywords = [*pairs[50:450], *(stretch for stretch in rare if len(stretch) > 1 and stretch.isalpha())]
        chosen = list(dict.fromkeys(keywords))[:RULES]
        return [(old, f"龘{old[::-1]}靐") for old in chosen]
    ranked = [word for word, _ in Counter(re.findall(r"[a-z]+", text)).most_common()]
    names = [name for name, _ in Counter(re.findall(r"(?<=[a-z] )[A-Z][a-z]+", text)).most_common(350)]
    phrases = rng.sample(re.findall(r"[A-Za-z]+ [a-z]+ [a-z]+", text), 150)
    keywords = [*names, *ranked[50:150], *phrases, *rng.sample(ranked[150:], 1_000)]
    chosen = list({keyword.lower(): keyword for keyword in keywords}.values())[:RULES]
    return [(old, " ".join(f"{word}zq" for word in old.split())) for old in chosen]


def one_pattern(given: list[Rule], language: str) -> Callable[[str], str]:
    """`re.sub` with all keywords, the longest first."""
    longest = sorted((old for old, _ in given), key=len, reverse=True)
    alternatives = "|".join(map(re.escape, longest))
    substitutes = {old.lower(): new for old, new in given}
    whole = alternatives if language == "zh" else rf"(?<!\w)(?:{alternatives})(?!\w)"
    pattern = re.compile(whole, re.IGNORECASE)
    return lambda text: pattern.sub(lambda match: substitutes.get(match.group().lower(), ""), text)


def in_turn(given: list[Rule]) -> Callable[[str], str]:
    """`str.replace` for each rule, the longest first."""
    longest = sorted(given, key=lambda rule: len(rule[0]), reverse=True)

    def replaced(text: str) -> str:
        for old, new in longest:
            text = text.replace(old, new)
        return text

    return replaced


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """The best of some runs."""
    best = float("inf")
    for _ in range(runs):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def megabytes(text: str) -> float:
    return len(text.encode("utf-8")) / 1e6


def table(text: str, language: str) -> None:
    given = rules(beginning(text, LEVELS[-1], language), language)
    ours = Replacer(given, language)
    ours.undo(ours.apply(text[:1000]))
    rivals = {"re.sub": one_pattern(given, language), "str.replace": in_turn(given)}
    print(f"\n{language}: {len(given):,} rules; MB/s")
    heads = ("words", "MB", "replaced", "ours", "grows", *rivals)
    print("".join(f"{head:>12}" for head in heads))
    before = None
    for level in LEVELS:
        context = beginning(text, level, language)
        size, took = megabytes(context), seconds(lambda context=context: ours.apply(context))
        grows = f"{took / before:.2f}" if before else ""
        before = took
        rates = [size / seconds(lambda work=work, context=context: work(context), 1) for work in rivals.values()]
        cells = (f"{level:,}", f"{size:.2f}", f"{len(ours.edits(context)):,}", f"{size / took:.1f}", grows)
        print("".join(f"{cell:>12}" for cell in (*cells, *(f"{rate:.1f}" for rate in rates))))
    applied = ours.apply(context)
    print(f"rules ready in {1000 * seconds(lambda: Replacer(given, language).apply('')):.1f} ms; undo ", end="")
    rate = megabytes(applied) / seconds(lambda: ours.undo(applied))
    print(f"{rate:.1f} MB/s; the longest text comes back: {ours.reversible(context)}")
    index(context, language)


def index(context: str, language: str) -> None:
    """Print how fast it is found which paragraphs hold which phrases."""
    paragraphs = [one for one in re.split(r"\n\s*\n" if language == "en" else r"\n", context) if one]
    phrase = re.compile(r"\w{2,4}" if language == "zh" else r"\b\w{4,} \w+\b|\b\w{5,}\b")
    found = (phrase.search(context, at) for at in random.Random(SEED).sample(range(len(context)), 20 * PHRASES))
    phrases = list(dict.fromkeys(match.group() for match in found if match))[:PHRASES]
    finder = PhraseFinder(phrases, language)
    pairs = sum(map(len, finder.holding(paragraphs).values()))
    rate = megabytes(context) / seconds(lambda: finder.holding(paragraphs), 3)
    print(f"{len(phrases):,} phrases in {len(paragraphs):,} paragraphs: {rate:.1f} MB/s, {pairs:,} pairs found")


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each language."""
    files = dict(zip(("en", "zh"), sys.argv[1:] if arguments is None else arguments, strict=False))
    for language in ("en", "zh"):
        table(read(Path(files[language])) if language in files else made(language), language)


if __name__ == "__main__":
    main()
