"""Questions whose answers stand in a text, made from its sentences by rules."""

from collections import Counter
from collections.abc import Iterable

import pytest

from flows.language import language_of
from flows.language.asking import Asked, asked_of
from flows.language.pointing import question_points_outside

PASSAGES = {
    "Staff handbook": (
        "en",
        """Working hours and leave

Employees get 28 days of paid leave a year. The leave year begins on 1 April. Requests for leave must be
sent to the personnel office at least two weeks before the first day of absence. Leave requests must be
approved by the line manager. Employees may carry over up to five days of leave to the next year. If an
employee falls ill during leave, the sick days are not counted as leave. Employees who are ill for more
than three days must bring a medical certificate. Part-time staff receive leave in proportion to their
hours. Parental leave is a period of unpaid absence that a parent may take before the child is five years
old. Overtime is paid at one and a half times the normal rate. Employees must not use company cars for
private trips. New employees must complete a probation period of six months. Anna Berg, the head of
personnel, answers questions about leave. The company was founded in 1998 by Peter Holm. It moved to Oslo
in 2004.""",
        7,
    ),
    "Expenses and travel": (
        "en",
        """# Expenses

Travel expenses are refunded within 30 days. Receipts must be submitted to the finance department by the
end of the month. Staff can claim up to 45 euros per day for meals. A hotel room may cost no more than
120 euros a night. Flights must be booked at least 21 days in advance. Claims for more than 500 euros
must be approved by the finance director. Taxis may be used after 10 p.m. only. Alcohol is not
refundable. The mileage rate for private cars is 0.30 euros per kilometre. Employees pay a fee of 15
euros for a lost travel card. A per diem is a fixed daily amount that covers meals and small expenses.
The finance department keeps receipts for seven years. Company credit cards are issued by the treasurer.
Cards can be blocked at any time by calling the bank.""",
        7,
    ),
    "Solo 3 music player manual": (
        "en",
        """The Solo 3 is a portable music player with a touch screen. It can store up to 8,000 songs. The battery
lasts 20 hours and takes three hours to charge. Press the power button for 3 seconds to switch on the
player. The player locks after 30 seconds. The box contains the player, a charging cable and two
earphones. The warranty for the player is 24 months. The Solo 3 weighs 85 g. Do not use the player in the
rain. The player is not waterproof. Clean the screen with a soft cloth once a week. If the player does
not react, hold the power button for 10 seconds. You can connect up to two headphones at the same time.
You can return the player within 14 days of purchase. The display is 6 cm wide. The player has three
modes: music, radio and podcast. The memory card slot is located on the left side.""",
        7,
    ),
    "Coffee maker KM20": (
        "en",
        """The KM20 coffee maker holds 1.5 litres of water. The water tank must be filled before each use. The
machine heats the water in two minutes. A cup of espresso takes 25 seconds. Descale the machine every
three months. Descaling is the removal of mineral deposits from the inside of the machine. The machine
switches off after 15 minutes. Spare parts can be ordered from the service centre in Bern. Repairs must
be carried out by a qualified technician. The water filter should be replaced every 60 days. Children
must not use the machine. The power cable is 1.2 m long. The guarantee covers the pump, the boiler and
the grinder. LED stands for light-emitting diode. The drip tray can be cleaned in the dishwasher. The
coffee maker was developed in 2016 by Lena Moser.""",
        5,
    ),
    "City Library rules": (
        "en",
        """The library opens at 9 a.m. and closes at 7 p.m. on weekdays. The library is closed on Sundays. Members
may borrow up to ten books at a time. Books can be borrowed for four weeks. DVDs can be borrowed for one
week. A loan can be renewed twice unless another reader has reserved the book. Readers pay 20 cents for
each day of delay. The fee for a lost library card is 5 euros. For each interlibrary loan, readers pay a
fee of 3 euros. Children under 12 must be accompanied by an adult. Food is not allowed in the reading
room. Drinks may be taken into the café. No dogs may be brought into the building. The reading room has
80 seats. Lockers are located in the basement. The City Library was opened in 1911. Maria Lund is the
director of the City Library. An inter-library loan is a loan of a book that another library owns.
Returned books are checked by the librarian. The youngest members are six years old. There are three
reading rooms: the blue room, the map room and the quiet room. Visitors must leave bags, coats and
umbrellas in the lockers.""",
        16,
    ),
    "Laboratory safety": (
        "en",
        """Everyone must wear safety goggles in the laboratory. Visitors must sign in at the reception desk. Long
hair must be tied back. Eating is forbidden in the laboratory. Acids are stored in the yellow cabinet.
Gas cylinders must be chained to the wall. Before leaving the laboratory, users must wash their hands. If
acid touches the skin, rinse the skin with water for 15 minutes. Accidents must be reported to the safety
officer within 24 hours. The safety officer inspects the fume cupboards every six months. A fume cupboard
is a ventilated cabinet that removes harmful vapours from the workplace. Waste solvents are collected on
Fridays. Glass waste must not be put in paper bins. Only trained staff may use the laser. At least two
people must be present when the furnace is in use. The fire alarm is tested on the first Monday of each
month. The emergency shower is located next to the main door. Cuts must be treated by a first aider. The
oxygen level must not fall below 19 percent. Chemicals are divided into three classes: flammable, toxic
and corrosive. The eye-wash bottles are refilled twice a year.""",
        13,
    ),
    "员工手册": (
        "zh",
        "员工每年享有15天带薪年假。年假须提前10个工作日申请。请假申请须由部门经理批准。病假超过三天的，员工必须提交医院证"
        "明。新员工的试用期为六个月。员工可以把最多5天年假转入下一年。加班费按小时工资的1.5倍计算。公司成立于1998年，"
        "总部设在上海。它在2004年迁到北京。陈静是人事部的负责人。员工不得将公司车辆用于私人用途。育儿假是父母在孩子满三岁"
        "之前可以申请的无薪假期。报销单须在费用发生后30天内提交至财务部。出差住宿费每晚不得超过400元。员工卡遗失后，须向"
        "行政部报告。工资于每月10日发放。公司大约有200名员工。如果员工迟到，主管会记录。",
        13,
    ),
    "图书馆读者须知": (
        "zh",
        "图书馆上午9点开放，晚上8点闭馆。图书馆周一闭馆。每位读者最多可借10册图书。图书的借期为30天，可续借一次。逾期归"
        "还的图书每天收取0.2元滞纳金。如遗失借书证，读者须缴纳20元工本费。十二岁以下儿童须由家长陪同。阅览室内禁止饮食。"
        "读者不得在书上写字。读者可以在自助机上办理续借。图书馆设有三个阅览室：报刊阅览室、古籍阅览室和电子阅览室。储物柜位于"
        "一楼大厅东侧。市图书馆建成于1956年。馆际互借是指图书馆之间互相借用图书的服务。古籍阅览室有80个座位。进入古籍阅"
        "览室必须出示身份证。该馆藏书丰富。破损的图书由馆员检查。",
        15,
    ),
    "实验室安全守则": (
        "zh",
        "进入实验室必须佩戴护目镜。酸类试剂存放在黄色柜子里。长发必须扎起。实验室内严禁饮食和吸烟。气瓶必须用链条固定在墙上。"
        "离开实验室前，使用者必须洗手。如果皮肤接触到酸液，应立即用清水冲洗15分钟。事故须在24小时内向安全员报告。通风柜是"
        "一种能排出有害气体的柜子。通风柜每6个月检查一次。化学品分为易燃、有毒和腐蚀性三类。激光器由专职技术员操作。废液于每"
        "周五收集。玻璃废物不得放入纸箱。洗眼器的水温应保持在20摄氏度。夜间实验至少要有两人在场。灭火器放置在门口左侧。急救"
        "箱包括纱布、绷带和剪刀。通常实验需要两小时。",
        17,
    ),
    "破壁机使用说明书": (
        "zh",
        "破壁机的额定功率为1200瓦。杯体的最大容量是1.75升。首次使用前，请用清水冲洗杯体。请每隔3个月更换一次密封圈。"
        "机器连续工作时间不得超过5分钟。打磨豆浆需要20分钟。儿童不得操作机器。破壁机附带搅拌杯、研磨杯和量杯。刀片不可以用"
        "手直接触摸。杯盖可以放入洗碗机清洗。整机的保修期为24个月。您可以在购买后7天内申请退货。破壁机有两种模式：快速和静"
        "音。电源线长1.2米。本机不得用于商业用途。破壁机重4.5公斤。LED是发光二极管的英文缩写。维修必须由专业技术人员"
        "进行。",
        12,
    ),
    "网店常见问题": (
        "zh",
        "您可以在收到商品后7天内申请退货。退款会在3至5个工作日内退回原支付账户。订单满99元免运费。标准配送需要两到四天。"
        "礼品卡的有效期为三年。礼品卡不能兑换现金。泳衣和食品不支持退货。客服的工作时间为上午8点至晚上10点。包裹在自提点保"
        "留5天。每个订单只能使用一张优惠券。顾客可以使用信用卡、微信和支付宝付款。单个包裹的重量不得超过30公斤。商品损坏须"
        "在48小时内联系客服。发票会发送到您的邮箱。会员积分每年清零一次。退货须保留原包装。",
        8,
    ),
    "游泳馆须知": (
        "zh",
        "游泳馆每天开放时间为早上7点至晚上9点。八岁以下儿童必须由成人陪同。入池前必须淋浴。泳池区域禁止穿鞋。患有传染病的人"
        "不得入池。大池长50米，深2米。储物柜押金为10元。遗失钥匙须赔偿50元。成人年卡的价格为1800元。年卡有效期12"
        "个月。游泳馆于2018年翻新。更衣室内禁止拍照。失物在前台保存四周。游泳课每节45分钟。团体预约须提前三天。泳池水温"
        "保持在27度。救生员由李强担任队长。王芳是游泳馆的馆长。深水区位于馆内北侧。",
        16,
    ),
}
"""Passages by title: the language, the text, and the fewest pairs."""


@pytest.mark.parametrize(
    ("sentence", "kind", "question", "answer"),
    [
        ("A fume cupboard is a ventilated cabinet that removes vapours.", "fact",
         "What is a fume cupboard?", "a ventilated cabinet that removes vapours"),
        ("Descaling is the removal of mineral deposits from a machine.", "fact",
         "What is descaling?", "the removal of mineral deposits from a machine"),
        ("Anna Berg is a Norwegian engineer born in Bergen.", "fact",
         "Who is Anna Berg?", "a Norwegian engineer born in Bergen"),
        ("The Last Coupon is a 1932 comedy film directed by Frank Launder.", "fact",
         "What is The Last Coupon?", "a 1932 comedy film directed by Frank Launder"),
        ("Maria Lund is the director of the City Library.", "fact",
         "Who is the director of the City Library?", "Maria Lund"),
        ("Harbour Foods is the largest producer of canned fish in Europe.", "fact",
         "What is the largest producer of canned fish in Europe?", "Harbour Foods"),
        ("Anna Berg, the head of personnel, answers questions about leave.", "fact",
         "Who is the head of personnel?", "Anna Berg"),
        ("LED stands for light-emitting diode.", "fact", "What does LED stand for?", "light-emitting diode"),
        ("The City Library was opened in 1911.", "number", "In which year was the City Library opened?", "1911"),
        ("Ingrid Solheim has chaired the board since 2019.", "number",
         "Since which year has Ingrid Solheim chaired the board?", "2019"),
        ("Tuition fees are due on 15 October.", "fact", "On which date are tuition fees due?", "15 October"),
        ("Waste solvents are collected on Fridays.", "fact",
         "On which day of the week are waste solvents collected?", "Fridays"),
        ("Coaches leave at 9 a.m. on weekdays.", "fact", "At what time do coaches leave on weekdays?", "9 a.m."),
        ("Employees get 28 days of leave a year.", "number", "How many days of leave do employees get a year?", "28"),
        ("Members may borrow up to ten books at a time.", "number",
         "How many books may members borrow at a time?", "up to ten"),
        ("At least two people must be present in the workshop.", "number",
         "How many people must be present in the workshop?", "At least two"),
        ("Accidents must be reported to the safety officer within 24 hours.", "number",
         "Within how many hours must accidents be reported to the safety officer?", "24"),
        ("You can return most items within 30 days of delivery.", "number",
         "Within how many days of delivery can I return most items?", "30"),
        ("Flights must be booked at least 21 days in advance.", "number",
         "How many days in advance must flights be booked?", "at least 21"),
        ("Filters are changed every six months.", "number", "How often are filters changed?", "every six months"),
        ("A cup of espresso takes 25 seconds.", "number", "How long does a cup of espresso take?", "25 seconds"),
        ("A parcel may weigh up to 30 kg.", "number", "How much may a parcel weigh?", "up to 30 kg"),
        ("Readers pay 20 cents for each day of delay.", "number",
         "How much do readers pay for each day of delay?", "20 cents"),
        ("The fee for a lost library card is 5 euros.", "number",
         "How much is the fee for a lost library card?", "5 euros"),
        ("For each interlibrary loan, readers pay a fee of 3 euros.", "number",
         "What fee do readers pay for each interlibrary loan?", "3 euros"),
        ("Press the power button for 3 seconds to switch on the player.", "number",
         "For how many seconds should I press the power button to switch on the player?", "3"),
        ("If acid touches the skin, rinse the skin with water for 15 minutes.", "number",
         "For how many minutes should I rinse the skin with water if acid touches the skin?", "15"),
        ("Acids are stored in the yellow cabinet.", "fact", "Where are acids stored?", "in the yellow cabinet"),
        ("Leave requests must be approved by the line manager.", "fact",
         "Who must approve leave requests?", "the line manager"),
        ("Returned books are checked by the librarian.", "fact", "Who checks returned books?", "the librarian"),
        ("Only trained staff may use the laser cutter.", "fact", "Who may use the laser cutter?", "trained staff"),
        ("Everyone must wear safety goggles in the laboratory.", "fact",
         "What must everyone wear in the laboratory?", "safety goggles"),
        ("Visitors must leave bags, coats and umbrellas in the lockers.", "list",
         "What must visitors leave in the lockers?", "bags, coats and umbrellas"),
        ("There are three reading rooms: the blue room, the map room and the quiet room.", "list",
         "Which three reading rooms are there?", "the blue room, the map room and the quiet room"),
        ("Long hair must be tied back.", "yes-no", "Must long hair be tied back?", "yes"),
        ("Visitors must not touch the exhibits.", "yes-no", "May visitors touch the exhibits?", "no"),
        ("Vouchers cannot be exchanged for cash.", "yes-no", "Can vouchers be exchanged for cash?", "no"),
        ("No dogs may be brought into the building.", "yes-no", "May dogs be brought into the building?", "no"),
        ("Smoking is not allowed in the building.", "yes-no", "Is smoking allowed in the building?", "no"),
    ],
)  # fmt: skip
def test_an_english_sentence_answers(sentence: str, kind: str, question: str, answer: str) -> None:
    assert (kind, question, answer, sentence) in [*asked_of("en", sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "He gets 28 days of leave a year.",
        "It was founded in 1998.",
        "The fee is 20 euros.",
        "These forms must be sent to the office within ten days.",
        "Our members may borrow ten books.",
        "Employees usually get 28 days of leave a year.",
        "About 30 people attended the meeting in 1998.",
        "Employees do not get 28 days of leave a year.",
        "Loans can be renewed twice unless another reader has reserved the book.",
        "If they lose the card, readers pay 5 euros.",
        "The manager said that employees get 28 days of leave.",
        'Visitors must wear "a badge" in the building.',
        "Set `limit: 5` to read 5 rows.",
        "| Books must be returned within 14 days. |",
        "Opening hours in 1998",
        "Must visitors wear a badge?",
        "High doses may cause headaches in children.",
        "The commander of the fleet finally called on Jones in 1779.",
        "She is known for the first flight over the Andes in 1930.",
        "The presenter of the show, Kirsty Young, was ill.",
        "News of the battles reached England in August.",
        "The First British Empire was based on mercantilism.",
        "Alington may well be known for having met Tallulah Bankhead.",
        "Iraqi nationality is transmitted by one's parents.",
        "The Yongzheng Emperor died.",
        "The Monarchy was a composite state composed of several territories.",
        "Hamburg steak is a similar product but differs in ingredients.",
        "The son of a rich industrialist marries the daughter of a beggar.",
        "An adoption costs 120 euros for a dog and 80 euros for a cat.",
        "Dogs with a red collar may only be handled by senior staff.",
    ],
)
def test_a_doubtful_english_sentence_is_refused(sentence: str) -> None:
    assert [*asked_of("en", sentence)] == []


@pytest.mark.parametrize(
    ("sentence", "kind", "question", "answer"),
    [
        ("通风柜是一种能排出有害气体的柜子。", "fact", "通风柜是什么？", "一种能排出有害气体的柜子"),
        ("馆际互借是指图书馆之间互相借用图书的服务。", "fact", "什么是馆际互借？", "图书馆之间互相借用图书的服务"),
        ("陈静是人事部的负责人。", "fact", "人事部的负责人是谁？", "陈静"),
        ("市图书馆建成于1956年。", "number", "市图书馆建成于哪一年？", "1956年"),
        ("海港公司于2009年3月12日上市。", "fact", "海港公司于哪一天上市？", "2009年3月12日"),
        ("图书馆周一闭馆。", "fact", "图书馆周几闭馆？", "周一"),
        ("图书馆上午9点开放。", "fact", "图书馆几点开放？", "上午9点"),
        ("客服的工作时间为上午8点至晚上10点。", "fact", "客服的工作时间为几点到几点？", "上午8点至晚上10点"),
        ("员工每年享有15天带薪年假。", "number", "员工每年享有多少天带薪年假？", "15天"),
        ("每位读者最多可借10册图书。", "number", "每位读者最多可借多少册图书？", "10册"),
        ("您可以在购买后7天内申请退货。", "number", "我可以在购买后多少天内申请退货？", "7天"),
        ("请在收到商品后7天内联系客服。", "number", "应在收到商品后多少天内联系客服？", "7天"),
        ("如遗失借书证，读者须缴纳20元工本费。", "number", "如遗失借书证，读者须缴纳多少元工本费？", "20元"),
        ("研发费用占营业收入的6%。", "number", "研发费用占营业收入的百分之多少？", "6%"),
        ("通风柜每6个月检查一次。", "number", "通风柜多久检查一次？", "每6个月"),
        ("酸类试剂存放在黄色柜子里。", "fact", "酸类试剂存放在哪里？", "黄色柜子里"),
        ("请假申请须由部门经理批准。", "fact", "请假申请须由谁批准？", "部门经理"),
        ("事故须在24小时内向安全员报告。", "fact", "事故须在24小时内向谁报告？", "安全员"),
        ("进入实验室必须佩戴护目镜。", "fact", "进入实验室必须佩戴什么？", "护目镜"),
        ("急救箱包括纱布、绷带和剪刀。", "list", "急救箱包括什么？", "纱布、绷带和剪刀"),
        ("化学品分为易燃、有毒和腐蚀性三类。", "list", "化学品分为哪三类？", "易燃、有毒和腐蚀性"),
        ("图书馆设有三个阅览室：报刊阅览室、古籍阅览室和电子阅览室。", "list",
         "图书馆设有哪三个阅览室？", "报刊阅览室、古籍阅览室和电子阅览室"),
        ("杯盖可以放入洗碗机清洗。", "yes-no", "杯盖可以放入洗碗机清洗吗？", "是"),
        ("读者不得在书上写字。", "yes-no", "读者可以在书上写字吗？", "否"),
        ("阅览室内禁止饮食。", "yes-no", "阅览室内可以饮食吗？", "否"),
    ],
)  # fmt: skip
def test_a_chinese_sentence_answers(sentence: str, kind: str, question: str, answer: str) -> None:
    assert (kind, question, answer, sentence) in [*asked_of("zh", sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "它在2004年迁到北京。",
        "该馆有80个座位。",
        "本馆每位读者可借10册图书。",
        "押金为200元。",
        "公司大约有200名员工。",
        "员工没有15天年假。",
        "通常实验需要两小时。",
        "读者只能借10册，但是教师可借20册。",
        "他表示“员工每年享有15天年假”。",
        "1998年在市内率先通过验收。",
        "32%支持参议员竞选。",
        "李英浩周六在联合国大会上发表讲话。",
        "小五郎应京都寺院的邀请来到京都。",
        "吉姆在周日12场单人赛中赢得胜利。",
        "员工每年享有多少天年假？",
        "节目只于每日下午五时至翌日清晨播出。",
        "经济学者教授是福大的首任校长。",
        "2010年4月2日早上11时在北京协和医院逝世。",
        "，。",
    ],
)
def test_a_doubtful_chinese_sentence_is_refused(sentence: str) -> None:
    assert [*asked_of("zh", sentence)] == []


def test_a_part_of_the_thing_that_a_chinese_page_is_on_is_not_asked_about() -> None:
    sentence = "裙楼楼高15层。"
    assert questions(asked_of("zh", sentence, "大楼使用手册")) == ["裙楼楼高多少层？"]
    assert [*asked_of("zh", sentence, "交银金融大厦")] == []


def test_a_limit_that_is_denied_is_no_amount() -> None:
    assert [*asked_of("en", "Visitors cannot stay in the building for more than two hours.")] == []


def test_headings_tables_and_code_are_no_sentences() -> None:
    text = """# Loans last 14 days.

| Fee | Books must be returned within 20 days. |

```
Books must be returned within 30 days.
```

    Books must be returned within 40 days.

Rules for loans
Books must be returned
within 50 days.

- Visitors must wear a badge.
"""
    asked = [*asked_of("en", text)]
    assert [pair.answer for pair in asked] == ["50", "a badge"]
    assert asked[0].sentence == "Books must be returned\nwithin 50 days."


def test_a_title_explains_its_definites_alone() -> None:
    sentence = "The library is closed on Sundays."
    assert [*asked_of("en", sentence)] == []
    assert "On which day of the week is the library closed?" in questions(asked_of("en", sentence, "Library rules"))


def test_a_question_with_two_answers_is_dropped() -> None:
    text = (
        "Books can be borrowed for four weeks. Books can be borrowed for two weeks. Films can be borrowed for one week."
    )
    assert questions(asked_of("en", text)) == ["For how many weeks can films be borrowed?"]


def questions(pairs: Iterable[Asked]) -> list[str]:
    return [pair.question for pair in pairs]


@pytest.mark.parametrize("title", PASSAGES)
def test_what_is_asked_stands_in_the_text(title: str) -> None:
    code, text, fewest = PASSAGES[title]
    asked = [*asked_of(code, text, title)]
    assert len(asked) >= fewest
    assert asked == [*asked_of(code, text, title)]
    assert max(Counter(pair.question for pair in asked).values()) == 1
    for pair in asked:
        check(code, text, pair)


def check(code: str, text: str, pair: Asked) -> None:
    assert pair.sentence in text
    assert pair.question.endswith("？" if code == "zh" else "?")
    assert question_points_outside(code, pair.question, pair.sentence) is None
    if pair.kind == "yes-no":
        assert pair.answer in (("是", "否") if code == "zh" else ("yes", "no"))
    else:
        assert pair.answer in pair.sentence
        assert not language_of(code).contains(pair.question, pair.answer)
