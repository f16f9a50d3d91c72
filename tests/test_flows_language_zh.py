"""Chinese: characters, sentences, words; what answers name, where texts name it, and exchanging it."""

import itertools
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.language import CannotReplace, Change, Language, Replaced, language_of, zh
from tests.builds import ROOT


def said(text: str, answer: str, *aliases: str) -> list[str]:
    """The mentions as they stand."""
    return [text[mention.start : mention.end] for mention in zh.mentions(text, answer, aliases)]


def replaced(text: str, answer: str, new: str, *aliases: str) -> str:
    return zh.replace(text, answer, new, aliases).text


def test_the_module_is_a_language() -> None:
    language: Language = zh
    assert language_of("zh") is zh
    assert language.count("他 来\u3000了。") == 4


def test_sentences_keep_their_closing_quotes() -> None:
    text = "他来了。“走吧！”他说……好；真的？ 重３．５公斤．完"
    assert zh.sentences(text) == ["他来了。", "“走吧！”", "他说……", "好；", "真的？", "重３．５公斤．", "完"]
    assert zh.sentences("") == []


@given(st.text(alphabet="他来 。！？；…．”」\n3３a", max_size=40))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(zh.sentences(text)).split()) == "".join(text.split())


def test_words_that_carry_meaning_hold_negations_but_no_particles() -> None:
    words = zh.content_words("他没有在北京大学学习ＰＹＴＨＯＮ。")
    assert {"没有", "北京大学", "学习", "python"} <= words
    assert not words & {"他", "在", "。"}


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("共有13个", "3", False),
        ("共有 3 个", "3个", True),
        ("长３．５米", "3", False),
        ("长３．５米", "3.5米", True),
        ("十三年", "三年", False),
        ("用Python写", "python", True),
        ("用Pythonic写", "Python", False),
        ("安德鲁•杰克逊", "安德鲁·杰克逊", True),
        ("北京", "", False),
    ],
)
def test_a_phrase_is_found_with_whole_numbers_and_latin_words(text: str, phrase: str, found: bool) -> None:
    assert zh.contains(text, phrase) is found


@pytest.mark.parametrize(
    ("answer", "question", "of"),
    [
        ("1987年", "哪一年？", "date"),
        ("１９１９年4月1日", "", "date"),
        ("1954", "什么时候？", "date"),
        ("19世纪", "", "date"),
        ("18趟", "有多少趟？", "number"),
        ("55.1%", "", "number"),
        ("七层", "有几层？", "number"),
        ("第八届", "第几届？", "number"),
        ("潘基文", "谁是秘书长？", "person"),
        ("安德鲁·杰克逊", "", "person"),
        ("瑞典", "在哪里？", "place"),
        ("德国", "他是哪国人？", "place"),
        ("莫斯科大学", "进入了什么大学？", "organisation"),
        ("国家党", "哪个政党？", "organisation"),
        ("《傅满洲》", "哪部作品？", "other"),
        ("素褐色", "是什么颜色？", "other"),
        ("", "", "other"),
    ],
)
def test_an_answer_has_a_type(answer: str, question: str, of: str) -> None:
    assert zh.answer_type(answer, question) == of


def test_kinds_tell_what_can_be_exchanged() -> None:
    assert zh.kind("1987年", "哪一年？") == zh.kind("1934年", "哪一年？")
    assert zh.kind("1987年", "哪一年？") != zh.kind("1834年", "哪一年？")
    assert zh.kind("18趟", "多少趟？") == zh.kind("二十趟", "多少趟？")
    assert zh.kind("18趟", "多少趟？") != zh.kind("18公里", "多少？")
    assert zh.kind("潘基文", "谁？") != zh.kind("安德鲁·杰克逊", "谁？")
    assert zh.kind("因为下雨了", "为什么？") != zh.kind("因为他走了", "为什么？")
    assert zh.kind("《红楼梦》", "哪部作品？") == zh.kind("《西游记》", "哪部作品？")
    assert zh.shape("德国", "哪国？") == zh.kind("德国", "哪国？").partition(":")[2]


def test_spans_of_a_type_are_found_in_a_text() -> None:
    text = "1987年5月，王小明在北京买了18本书。"
    assert [text[start:end] for start, end in zh.spans_of_type(text, "date")] == ["1987年5月"]
    assert [text[start:end] for start, end in zh.spans_of_type(text, "number")] == ["18"]
    assert [text[start:end] for start, end in zh.spans_of_type(text, "place")] == ["北京"]
    assert [text[start:end] for start, end in zh.spans_of_type(text, "person")] == ["王小明"]


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("１９８７年和1987 年，不是21987年", "1987年", ["１９８７年", "1987 年"]),
        ("七层、7层，不是十七层", "七层", ["七层", "7层"]),
        ("唐朝与唐代", "唐朝", ["唐朝", "唐代"]),
        ("美利坚合众国即美国", "美国", ["美利坚合众国", "美国"]),
        ("上海市在上海", "上海市", ["上海市", "上海"]),
        ("迈克·泰勒来了，泰勒走了", "迈克·泰勒", ["迈克·泰勒", "泰勒"]),
        ("迈克·泰勒和安娜·泰勒，泰勒走了", "迈克·泰勒", ["迈克·泰勒"]),
        ("潘基文来了，潘先生走了", "潘基文", ["潘基文", "潘"]),
        ("「狼」来了，狼狈", "狼", ["狼"]),
        ("欧洲法院（简称欧院）成立，欧院很大", "欧洲法院", ["欧洲法院", "欧院", "欧院"]),
    ],
)
def test_an_answer_is_found_however_it_is_written(text: str, answer: str, found: list[str]) -> None:
    assert said(text, answer) == found


def test_a_date_is_found_by_its_parts() -> None:
    text = "1919年4月1日，即4月1日，1919年"
    assert said(text, "1919年4月1日") == ["1919年4月1日", "4月1日", "1919年"]
    assert [mention.form for mention in zh.mentions(text, "1919年4月1日")] == ["full", "part", "part"]


@pytest.mark.parametrize(
    ("text", "answer", "new", "result"),
    [
        ("他于１９８７年来，1987年走。", "1987年", "1990年", "他于1990年来，1990年走。"),
        ("在1987年来", "1987", "1990年", "在1990年来"),
        ("有七层，7层高", "七层", "9层", "有九层，9层高"),
        ("1919年4月1日，4月1日", "1919年4月1日", "1920年5月2日", "1920年5月2日，5月2日"),
        ("迈克·泰勒来，泰勒走", "迈克·泰勒", "安德鲁·杰克逊", "安德鲁·杰克逊来，杰克逊走"),
        ("潘基文来，潘先生走", "潘基文", "王小明", "王小明来，王先生走"),
        ("读《红楼梦》。", "《红楼梦》", "《西游记》", "读《西游记》。"),
    ],
)
def test_a_mention_is_replaced_in_its_own_form(text: str, answer: str, new: str, result: str) -> None:
    assert replaced(text, answer, new) == result


def test_pronouns_follow_the_gender_where_one_person_is_spoken_of() -> None:
    done = zh.replace("王丽娟来了，她很高。", "王丽娟", "李志强")
    assert done == Replaced("李志强来了，他很高。", (Change("王丽娟", "李志强"),), (Change("她", "他"),))
    with pytest.raises(CannotReplace):
        zh.replace("王丽娟来了，她很高，他也来了。", "王丽娟", "李志强")


@pytest.mark.parametrize(
    ("text", "answer", "new"),
    [
        ("从1987年至1990年", "1987年", "1995年"),
        ("北京大学（简称北大）", "北京大学", "清华大学"),
        ("有狼来", "狼", "灰狼"),
        ("1987年来", "1987年5月", "五年"),
    ],
)
def test_what_cannot_agree_is_refused(text: str, answer: str, new: str) -> None:
    with pytest.raises(CannotReplace):
        zh.replace(text, answer, new)


def test_a_text_without_a_mention_stays() -> None:
    assert zh.replace("没有。", "北京", "上海") == Replaced("没有。", (), ())


NAMES = ("北京", "1987年", "七层", "潘基文", "王丽娟", "迈克·泰勒", "美国", "《红楼梦》", "1919年4月1日", "18", "唐朝")
PIECES = (
    *NAMES,
    "泰勒",
    "7层",
    "他",
    "她",
    "１９８７年",
    "来了",
    "，",
    "。",
    " ",
    "\u00a0",
    "（",
    "潘先生",
    "唐代",
    "–",
    "3",
    "ab",
    "İ",
)
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_a_replacement_leaves_nothing_and_lists_what_it_changed(text: str, answer: str, new: str) -> None:
    found = zh.mentions(text, answer)
    assert all(first.end <= second.start for first, second in itertools.pairwise(found))
    try:
        done = zh.replace(text, answer, new)
    except CannotReplace:
        return
    assert [change.old for change in done.replacements] == [text[one.start : one.end] for one in found]
    assert not found or not zh.mentions(done.text, answer)
    if not done.agreement:
        pieces, at = [], 0
        for mention, change in zip(found, done.replacements, strict=True):
            pieces += [text[at : mention.start], change.new]
            at = mention.end
        assert "".join([*pieces, text[at:]]) == done.text


@settings(deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_has_a_type_a_kind_and_no_trouble(answer: str, question: str) -> None:
    assert zh.kind(answer, question).startswith(zh.answer_type(answer, question))
    zh.dangling_subject(answer)
    zh.mentions(question, answer)


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("他来了。", "他"),
        ("1990年，她离开了。", "她"),
        ("但是他们留下了。", "他们"),
        ("该片获奖。", "该片"),
        ("其作品很多。", "其作品"),
        ("曾任校长。", "曾"),
        ("毕业于北京大学。", "毕业"),
        ("此后，公司倒闭。", "此后"),
        ("体长可达46.5公分。", "体长"),
        ("西起龙口西站，东至珠玑站。", "西起"),
        ("1995年，在陪同学报考北京电影学院时，被录取。", "被"),
        ("2003年，球队升入超级联赛。", "球队"),
        ("2006年有2192人参赛。", "有"),
        ("以英文为主要教学语言。", "以"),
        ("是2000年发售的游戏。", "是"),
        ("海豚的体长可达3米。", None),
        ("广州足球队升入超级联赛。", None),
        ("北京是首都。", None),
        ("1990年，北京举办了运动会。", None),
        ("", None),
    ],
)
def test_a_subject_that_needs_earlier_text_is_named(sentence: str, subject: str | None) -> None:
    assert zh.dangling_subject(sentence) == subject


@pytest.mark.slow
def test_a_dictionary_in_the_temporary_folder_changes_no_word(tmp_path: Path) -> None:
    """jieba itself takes any file of that name there, whoever wrote it, and writes one where there is none."""
    divided = """
from flows.language.zh.text import is_known_word, tagged, words
from flows.scoring.words import chinese_words
text = "上海图书馆位于上海市淮海中路"
print(tagged(text), *words(text), is_known_word("图书馆"), chinese_words(text))
"""
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "jieba.cache").write_bytes(marshal.dumps(({}, 1)))
    (tmp_path / "empty").mkdir()
    outputs = [
        subprocess.run(
            [sys.executable, "-c", divided], cwd=ROOT, env={**os.environ, "TMPDIR": str(folder)},
            capture_output=True, text=True, check=True,
        )
        for folder in (planted, tmp_path / "empty")
    ]  # fmt: skip
    assert outputs[0].stdout == outputs[1].stdout
    assert "('上海图书馆', 'nt')" in outputs[0].stdout
    assert [output.stderr for output in outputs] == ["", ""]
    assert not [*(tmp_path / "empty").iterdir()]
