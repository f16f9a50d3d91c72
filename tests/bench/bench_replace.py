"""Exchanging answers in passages: ours beside plain text replacement, in the same run.

    python tests/bench/bench_replace.py [SQuAD file (.json or .json.gz)] [cases]        (default: made passages, 2000)

A case is a passage of about 120 words, an answer in it and another answer. "replace + checks" is `replace`, then all
that a build checks of what came out (`swap_problem`: nothing of the old answer left, nothing else changed, agreement);
every case has a passage, an answer and a new answer of its own, and nothing of the case is in a cache when its clock
runs, except that its answers' types have been asked for before, which has a row of its own. `str.replace` exchanges
the answer's very letters; `re.sub` whole words in either case. Neither keeps "a" and "an", parts of names or capitals
right, so they are a floor, not a rival. The last rows are the share of passages in which plain replacement leaves a
mention that ours finds, and of those that ours refuses.
"""

import gzip
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from flows.families.reeval.checks.swap import compare, swap_problem
from flows.language import CannotReplace, en

CASES = 2_000
MOST_WORDS = 5
SEED = 7
RUNS = 3
_NAMES = ("Winston Churchill", "Marie Curie", "Ada Lovelace", "Alan Turing", "Grace Hopper", "Niels Bohr")
_PLACES = ("the Rhine", "Warsaw", "the Netherlands", "Normandy", "Lake Geneva", "France")
_FILLING = ("engine", "patent", "council", "steam", "harbour", "treaty", "winter", "school", "border", "season")


class Case(NamedTuple):
    text: str
    answer: str
    new: str
    question: str


def made(number: int) -> list[Case]:
    """Passages from a fixed seed in which the answer stands in full and by a part, each passage unlike all others."""
    rng = random.Random(SEED)
    cases = []
    for case in range(number):
        group = rng.choice((_NAMES, _PLACES))
        answer, new = rng.sample(group, 2)
        sentences = []
        for sentence in range(8):
            words = " ".join(rng.choices(_FILLING, k=11))
            subject = answer if sentence % 3 == 0 else answer.split()[-1] if sentence % 3 == 1 else "The committee"
            sentences.append(f"{subject[:1].upper()}{subject[1:]} saw {words} in {1900 + rng.randrange(99)}.")
        cases.append(Case(f"{case}. {' '.join(sentences)}", answer, new, "Who" if group is _NAMES else "Where"))
    return cases


def read(file: Path, number: int) -> list[Case]:
    """Questions of a SQuAD file with short answers, each with another answer of its kind."""
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    rows = [
        (paragraph["context"], question["answers"][0]["text"], question["question"])
        for article in json.loads(raw)["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
        if question["answers"] and len(question["answers"][0]["text"].split()) <= MOST_WORDS
    ]
    kinds: dict[str, list[str]] = defaultdict(list)
    for _, answer, question in rows:
        kinds[en.kind(answer, question)].append(answer)
    rng = random.Random(SEED)
    rng.shuffle(rows)
    cases = []
    for text, answer, question in rows:
        others = [other for other in kinds[en.kind(answer, question)] if other.lower() != answer.lower()]
        if others:
            cases.append(Case(text, answer, rng.choice(others), question))
    return cases[:number]


def ours(case: Case) -> str:
    try:
        text = en.replace(case.text, case.answer, case.new).text
    except CannotReplace:
        return case.text
    swap_problem("en", case.text, case.answer, (), case.new, text)
    return text


def plain(case: Case) -> str:
    return case.text.replace(case.answer, case.new)


def whole_words(case: Case) -> str:
    return re.sub(rf"(?<!\w){re.escape(case.answer)}(?!\w)", lambda _: case.new, case.text, flags=re.IGNORECASE)


def forget() -> None:
    """Empty the caches of texts, answers and results, so that a run starts as the first one did."""
    from flows.language.en.forms import described
    from flows.language.en.mentions import find
    from flows.language.en.tokens import tokens
    from flows.language.en.variants import plan_of

    for kept in (compare, tokens, find, plan_of, described):
        kept.cache_clear()
    re.purge()


def rate(work: Callable[[Case], object], cases: list[Case]) -> float:
    """Cases in a second, the best of `RUNS`."""
    best = float("inf")
    for _ in range(RUNS):
        forget()
        started = time.perf_counter()
        for case in cases:
            work(case)
        best = min(best, time.perf_counter() - started)
    return len(cases) / best


def typing_rate(cases: list[Case]) -> float:
    """Types asked in a second, none of them asked before."""
    en.answer_type("Paris", "Where is it?")
    en.answer_type("Ada Lovelace", "Who was it?")
    fresh = [(f"{case.answer} {number}", case.question) for number, case in enumerate(cases)]
    fresh += [(case.answer, f"{case.question} ({number})") for number, case in enumerate(cases)]
    started = time.perf_counter()
    for answer, question in fresh:
        en.answer_type(answer, question)
    return len(fresh) / (time.perf_counter() - started)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    given = sys.argv[1:] if arguments is None else arguments
    number = int(given[1]) if len(given) > 1 else CASES
    cases = read(Path(given[0]), number) if given else made(number)
    for case in cases:
        en.answer_type(case.answer), en.answer_type(case.new)
    words = sum(len(case.text.split()) for case in cases) / len(cases)
    print(f"{len(cases):,} passages of {words:.0f} words on average, one core")
    print(f"{'method':<26}{'cases a second':>16}{'ours/it':>10}")
    rates = {
        "ours: replace + checks": rate(ours, cases),
        "str.replace": rate(plain, cases),
        "re.sub": rate(whole_words, cases),
    }
    for name, cases_a_second in rates.items():
        print(f"{name:<26}{cases_a_second:>16,.0f}{rates['ours: replace + checks'] / cases_a_second:>10.3f}")
    print(f"{'ours: answer_type':<26}{typing_rate(cases):>16,.0f}")
    left = sum(bool(en.mentions(plain(case), case.answer)) for case in cases)
    refused = sum(ours(case) == case.text for case in cases)
    print(f"{'mention left by str.replace':<30}{left / len(cases):>10.1%}")
    print(f"{'refused by ours':<30}{refused / len(cases):>10.1%}")


if __name__ == "__main__":
    main()
