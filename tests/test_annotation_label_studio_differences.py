"""How a change of a text is marked."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.label_studio.differences import GAP, MOST, SPACES, TOKENS, marked


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("It opened in spring.", "It opened in autumn.", "It opened in <del>spring</del><ins>autumn</ins>."),
        ("one two", "two", "<del>one </del>two"),
        ("one", "one two", "one<ins> two</ins>"),
        ("", "one", "<ins>one</ins>"),
        ("one", "", "<del>one</del>"),
        ("a big dog", "the small cat", "<del>a big dog</del><ins>the small cat</ins>"),
        ("春天开通。", "秋天开通。", "<del>春</del><ins>秋</ins>天开通。"),
        ("one\ntwo", "one\nthree", "one<br><del>two</del><ins>three</ins>"),
        ("one  two", "one two\n", SPACES),
        ("is <b>1</b> & 2", "is <i>1</i> & 2",
         "is &lt;<del>b</del><ins>i</ins>&gt;1&lt;/<del>b</del><ins>i</ins>&gt; &amp; 2"),
    ],
)  # fmt: skip
def test_the_words_that_changed_are_marked(before: str, after: str, shown: str) -> None:
    assert marked(before, after) == shown


def test_of_a_long_text_only_what_is_around_a_change_is_shown() -> None:
    words = [f"w{number}" for number in range(400)]
    changed = [*words[:200], "other", *words[201:]]
    assert marked(" ".join(words), " ".join(changed)) == (
        f"{GAP}w192 w193 w194 w195 w196 w197 w198 w199 <del>w200</del><ins>other</ins>"
        f" w201 w202 w203 w204 w205 w206 w207 w208{GAP}"
    )
    gone = marked(" ".join(words), "w0 w399")
    assert len(TOKENS.findall(gone.replace(GAP, ""))) < MOST + 20


TEXTS = st.text(alphabet="ab <&\n春", max_size=40)


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_in_what_is_shown(before: str, after: str) -> None:
    shown = marked(before, after)
    if shown == SPACES:
        assert before.split() == after.split()
    elif GAP not in shown:
        plain = (("&lt;", "<"), ("&amp;", "&"), ("<br>", "\n"))
        for text, other in ((before, "ins"), (after, "del")):
            read = re.sub(f"<{other}>.*?</{other}>", "", shown)
            read = re.sub("</?(ins|del)>", "", read)
            for escaped, character in plain[2:] + plain[:2]:
                read = read.replace(escaped, character)
            assert read == text


def test_ten_thousand_words_with_a_change_at_both_ends_take_less_than_two_seconds() -> None:
    words = [f"w{number % 997}" for number in range(10_000)]
    start = time.process_time()
    marked(" ".join(["old", *words, "old"]), " ".join(["new", *words, "new"]))
    assert time.process_time() - start < 2
