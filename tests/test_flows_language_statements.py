"""A question and its answer as one statement, and what belongs to a name and is not it."""

import pytest

from flows.language.en import statements as en_statements
from flows.language.matter import speaks_of_another
from flows.language.zh import statements as zh_statements


@pytest.mark.parametrize(
    ("question", "answer", "sentence", "made"),
    [
        ("How long is the Danube?", "2,850 kilometres", "", "The Danube is 2,850 kilometres long."),
        ("How high above sea level does Lake Titicaca lie?", "3,812 metres", "",
         "Lake Titicaca lies 3,812 metres above sea level."),
        ("In which year did Oslo take back its old name?", "1925", "", "Oslo took back its old name in 1925."),
        ("To whom did the University of Bologna give a paid post in 1732?", "Laura Bassi", "",
         "The University of Bologna gave a paid post to Laura Bassi in 1732."),
        ("In which year did a NASA space shuttle fly for the last time?", "2011", "",
         "A NASA space shuttle flew for the last time in 2011."),
        ("When did the Siege of Antioch take place?", "1097", "", "The Siege of Antioch took place in 1097."),
        ("What year was the treaty signed?", "1992", "The UK vetoed the 1992 treaty.",
         "The treaty was signed in 1992."),
        ("When was Zia-ul-Haq killed?", "1988", "", "Zia-ul-Haq was killed in 1988."),
        ("On what date was the Panama Canal opened?", "15 August 1914", "",
         "The Panama Canal was opened on 15 August 1914."),
        ("Which organisation made Nansen its commissioner?", "League of Nations", "The League of Nations did.",
         "The League of Nations made Nansen its commissioner."),
        ("Which crime novel did Charles Dickens leave unfinished?", "The Mystery of Edwin Drood", "",
         "Charles Dickens left The Mystery of Edwin Drood unfinished."),
        ("What is the parliament of Iceland called?", "Althing", "a parliament, the Althing",
         "The parliament of Iceland is called the Althing."),
        ("What percentage of the population of Warsaw was Jewish in 1897?", "around 34%", "",
         "Around 34% of the population of Warsaw was Jewish in 1897."),
        ("Which board game was published most recently, Pirate's Cove or Catan?", "Pirate's Cove", "", None),
        ("What season was the character introduced?", "third", "", None),
        ("What is the Forest of Aln the last remnant of?", "Kelm", "", None),
        ("What is the CJEU's duty?", "to ensure it", "", None),
        ("Were the centers profitable", "They lost money", "", None),
    ],
)  # fmt: skip
def test_an_english_question_and_its_answer_make_a_statement(
    question: str, answer: str, sentence: str, made: str | None
) -> None:
    assert en_statements.statement(question, answer, sentence) == made


def test_a_question_for_a_time_takes_the_rest_for_granted() -> None:
    question = "When was Warsaw completely razed to the ground by bombing raids?"
    assert en_statements.untimed(question) == "Warsaw was completely razed to the ground by bombing raids."
    assert en_statements.untimed("Who razed Warsaw?") is None


@pytest.mark.parametrize(
    ("question", "answer", "made"),
    [
        ("国家气象局是哪一年成立的？", "1870年", "国家气象局是1870年成立的。"),
        ("天水围河全长有多少公里？", "27公里", "天水围河全长有27公里。"),
        ("汇丰保险花费多少越南盾取得股权？", "41,210亿", "汇丰保险花费41,210亿越南盾取得股权。"),
        ("朱常浩的生母是谁？", "周端妃", "朱常浩的生母是周端妃。"),
        ("班杰是什么职业呀？", "演员", "班杰的职业是演员。"),
        ("隆柯龙类是哪一类的一个演化支？", "泰坦巨龙类", "隆柯龙类是泰坦巨龙类的一个演化支。"),
        ("约翰·达利是哪个国家的社会心理学家？", "美国", "约翰·达利是美国的社会心理学家。"),
        ("黄昆岩是哪国人？", "挪威", "黄昆岩是挪威人。"),
        ("北京体育大学培养了多少位冠军？", "74人", "北京体育大学培养了74位冠军。"),
        ("九龙巴士41R线为什么被取缔？", "为了交通", None),
        ("叶乔波是什么运动员？", "花样滑冰", "叶乔波是花样滑冰运动员。"),
        ("本线在2010年改名为什么？", "海线", None),
        ("乐坛线在2010年改名为什么？", "海线", "乐坛线在2010年改名为海线。"),
        ("迪士尼线有多少列车？", "4列", "迪士尼线有4列列车。"),
        ("俱乐部存在了多长时间？", "五年", "俱乐部存在了五年。"),
        ("天津会堂具有什么价值？", "为历史建筑", None),
    ],
)
def test_a_chinese_answer_stands_where_the_question_word_stands(question: str, answer: str, made: str | None) -> None:
    assert zh_statements.statement(question, answer) == made


def test_a_chinese_question_for_a_reason_takes_the_rest_for_granted() -> None:
    assert zh_statements.unexplained("徐晓飞为什么中途退役过？") == "徐晓飞中途退役过。"
    assert zh_statements.unexplained("他为什么退役？") is None
    assert zh_statements.unexplained("海线改名为什么？") is None


@pytest.mark.parametrize(
    ("code", "question", "text", "another"),
    [
        ("en", "How long is the Danube?", "A tributary of the Danube is 700 kilometres long.", True),
        ("en", "When did A Christmas Carol appear?", "The sequel to A Christmas Carol appeared in 1846.", True),
        ("en", "How long is the Danube?", "The Danube is 700 kilometres long.", False),
        ("en", "Who is the brother of Ida Holm?", "The brother of Ida Holm is Jan.", False),
        ("en", "What is the capital of Iceland?", "The capital of Iceland is Aln.", False),
        ("zh", "徐晓飞是什么职业？", "徐晓飞的一位同学的职业是律师。", True),
        ("zh", "徐晓飞是什么职业？", "徐晓飞的职业是律师。", False),
        ("zh", "徐晓飞的父亲是谁？", "徐晓飞的父亲是徐明。", False),
    ],
)
def test_what_is_said_of_a_cousin_is_said_of_another(code: str, question: str, text: str, another: bool) -> None:
    assert speaks_of_another(code, question, text) == another
