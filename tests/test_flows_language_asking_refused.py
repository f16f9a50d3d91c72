"""Sentences of handbooks that give a question only if it is one that people ask, and a whole answer."""

import pytest

from flows.language.asking import asked_of, is_named_form


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        # a yes-no question that nobody asks who has not read the sentence
        ("An extraordinary meeting must be called if one fifth of the members demand it in writing.", []),
        ("Music should never be heard beyond your own pitch.", []),
        ("Open fires are forbidden throughout the site.", []),
        ("Contact lenses should not be worn when handling paraformaldehyde.", []),
        ("A doctor's certificate is required from the fourth day of absence.", []),
        ("Company bicycles can be borrowed from the courtyard without booking.", []),
        ("Children in Years 5 and 6 may walk home alone.", []),
        ("Registration is free.", []),
        ("Children in uniform may walk home alone.", [("May children in uniform walk home alone?", "yes")]),
        # no yes-no question beside another
        ("Visitors must wear a badge.", [("What must visitors wear?", "a badge")]),
        ("Conversations should be held in the lobby.", [("Where should conversations be held?", "in the lobby")]),
        # the rest of another clause
        ("If the oxygen alarm sounds, leave the room at once, close the door and call extension 4455.", []),
        ("If the pump is hot, unplug the machine and wait for ten seconds.", []),
        ("Replacing a lost key costs £60, which the employee pays.", []),
        ("Reception is open from 8 am to 9 pm in summer and until 6 pm in the low season.", []),
        ("Check-in begins at 3 pm and rooms must be vacated by 10:30 am.", []),
        # a half of the time
        ("Cancellations are free until noon on the previous day.", []),
        ("Fresh rolls must be ordered by 6 pm on the previous evening.", []),
        # the wrong question word
        ("Visitors must leave the building by 10 pm.",
         [("By what time must visitors leave the building?", "10 pm")]),
        ("Only pencils may be used in the hall.", []),
        ("Only members may use the boats.", [("Who may use the boats?", "members")]),
        ("Parents' evenings are held in October and March.", []),
        ("Quiet hours last from 10 pm to 7 am.", []),
        ("There are three kinds of membership: active, junior and supporting.",
         [("Which three kinds of membership are there?", "active, junior and supporting")]),
        ("There are three zones in the laboratory: red, yellow and green.",
         [("Which three zones are there in the laboratory?", "red, yellow and green")]),
        ("The school nurse visits on Tuesdays.",
         [("On which day of the week does the school nurse visit?", "Tuesdays")]),
        # a range
        ("A good shot takes 25 to 30 seconds.", [("How long does a good shot take?", "25 to 30 seconds")]),
        # another answer
        ("A walk round the lake is eleven kilometres long and can be done in three hours.", []),
        ("School lunches cost £2.65 a day and are free for children up to Year 2.", []),
        ("Dogs cost €3 a night and must be kept on a lead.", [("How much do dogs cost a night?", "€3")]),
    ],
)  # fmt: skip
def test_english_pairs_of_a_sentence(sentence: str, asked: list[tuple[str, str]]) -> None:
    title = "School guide"  # explains "the school"
    assert [(pair.question, pair.answer) for pair in asked_of("en", sentence, title)] == asked


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        ("机器净重九点二公斤，安装位置离电源插座不得超过一点五米。", [("机器净重多少公斤？", "九点二公斤")]),
        ("机器每分钟可以制水一点六升。", [("机器每分钟可以制水多少升？", "一点六升")]),
        ("图书馆早上七点半开门。", [("图书馆几点开门？", "早上七点半")]),
        ("连续出水超过三十分钟，机器会自动停止。", []),
        ("病假超过三天，需要提交医院证明。", []),
        ("因病不能上班的，应在当天上午九点以前通知直属主管。", []),
        ("讲解员每天上午十一点和下午三点各演示一次。", []),
        ("年假须提前两周在系统中申请，由部门经理批准。", []),
        ("大件行李应寄存在入口左侧的储物柜。", []),
        ("充电需要四小时，充满后可连续工作一百五十分钟。", [("充电需要多少小时？", "四小时")]),
        ("喷泉表演每周六晚上七点举行。", [("喷泉表演每周六几点举行？", "晚上七点")]),
        ("离开实验室前，使用者必须洗手。", []),
        ("请假申请须由部门经理批准。", [("请假申请须由谁批准？", "部门经理")]),
        ("培训每年重复一次。", []),
    ],
)
def test_chinese_pairs_of_a_sentence(sentence: str, asked: list[tuple[str, str]]) -> None:
    assert [(pair.question, pair.answer) for pair in asked_of("zh", sentence)] == asked


@pytest.mark.parametrize(
    ("title", "sentence", "question"),
    [
        ("Rules of the City Library", "Books can be borrowed for four weeks.",
         "At the City Library, for how many weeks can books be borrowed?"),
        ("City Library rules", "The library opens at 9 a.m.", "At what time does the City Library open?"),
        ("Parents' Guide to Elmcroft Primary School", "The school nurse visits on Tuesdays.",
         "At Elmcroft Primary School, on which day of the week does the school nurse visit?"),
        ("Living in Marlstadt: information for new residents", "A single ticket costs 2.60 euros.",
         "In Marlstadt, how much does a single ticket cost?"),
        ("Aurelo 4 espresso machine: user manual", "Descaling takes forty minutes.",
         "With the Aurelo 4 espresso machine, how long does descaling take?"),
        ("Aurelo 4 espresso machine: user manual", "The machine is not waterproof.",
         "Is the Aurelo 4 espresso machine waterproof?"),
        ("Aurelo 4 espresso machine: user manual", "The Aurelo 4 is a coffee machine with two baskets.",
         "What is the Aurelo 4?"),
        ("Rules of the City Library", "A fume cupboard is a ventilated cabinet that removes vapours.",
         "What is a fume cupboard?"),
        ("Staff handbook 2024", "Flights must be booked 21 days in advance.",
         "How many days in advance must flights be booked?"),
        ("Volunteer handbook: Greenford Food Bank", "Food parcels are handed out on Tuesdays.",
         "At Greenford Food Bank, on which day of the week are food parcels handed out?"),
        ("Seaview Hotel Brannock: information for guests", "Towels are changed every two days.",
         "At Seaview Hotel Brannock, how often are towels changed?"),
        ("Halden 300 chainsaw: operator's manual", "The chainsaw weighs 5 kg.",
         "How much does the Halden 300 chainsaw weigh?"),
        # a name of which a question cannot be said to be, and a part of the thing with rules of its own
        ("Nordwind", "Flights must be booked 21 days in advance.", None),
        ("City Library: the branch at the harbour", "Books can be borrowed for four weeks.", None),
        ("松江大学图书馆读者指南", "本科生最多可以借二十册书。", "在松江大学图书馆，本科生最多可以借多少册书？"),
        ("松江大学图书馆读者指南", "图书馆周一闭馆。", "松江大学图书馆周几闭馆？"),
        ("松江大学图书馆读者指南", "松江大学图书馆建于1954年。", "松江大学图书馆建于哪一年？"),
        ("清泉S6家用净水器使用说明书", "整机保修两年。", "清泉S6家用净水器整机保修多少年？"),
        ("清泉S6家用净水器使用说明书", "机器净重九公斤。", "清泉S6家用净水器净重多少公斤？"),
        ("清泉S6家用净水器使用说明书", "滤芯每六个月更换一次。", "清泉S6家用净水器的滤芯多久更换一次？"),
        ("东湖公园游园须知", "公园始建于1957年。", "东湖公园始建于哪一年？"),
        ("员工手册", "员工每年享有15天带薪年假。", "员工每年享有多少天带薪年假？"),
    ],
)  # fmt: skip
def test_a_question_names_what_its_page_is_about(title: str, sentence: str, question: str | None) -> None:
    code = "en" if sentence.isascii() else "zh"
    assert [pair.question for pair in asked_of(code, sentence, title)] == ([] if question is None else [question])


@pytest.mark.parametrize(
    ("question", "bare", "same"),
    [
        ("At the City Library, at what time do tours begin?", "At what time do tours begin?", True),
        ("At what time does the City Library open?", "At what time does the library open?", True),
        ("在松江大学图书馆，书可以借多少天？", "书可以借多少天？", True),
        ("How many books may members borrow?", "how many books may members borrow?", True),
        ("How many books may new members borrow?", "How many books may members borrow?", False),
        ("新员工每年享有多少天年假？", "员工每年享有多少天年假？", False),
        ("How many books?", "How many books may members borrow?", False),
    ],
)
def test_a_question_with_a_name_put_in_is_known_again(question: str, bare: str, same: bool) -> None:
    assert is_named_form(question, bare) is same
