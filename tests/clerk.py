"""Policies of a shop that contradict each other, and a model that asks, reads and weighs as its clerk would."""

import json
import re
from collections.abc import Mapping
from typing import Any

from flows.families.documents.prompts import NOT_KNOWN, NOT_THERE
from tests.chat_server import Messages

RETURNS = "How long can customers of Nordwind return goods?"
REPAIR = "How long does a repair at Nordwind take?"
POSTAGE = "What does postage of Nordwind cost?"
OPENING = "At what time does the shop of Nordwind open?"
PAYING = "How long do customers of Nordwind have to pay a bill?"

FILES: Mapping[str, str] = {
    "terms.md": """# Terms of sale

## Returns

Customers of Nordwind can return goods within 14 days of delivery. The goods must be unused and in their own box, and
the bill has to be with them. Nordwind pays the price back by bank transfer as soon as the goods have been looked at
in the store in Hamburg. Goods that were made to measure, opened food and gift cards cannot be returned, unless they
were broken when they came. Whoever sends a parcel keeps the receipt of the post office until the money is there.

## Postage

The postage of Nordwind costs five euros for each parcel. Heavy goods come by a carrier who calls the day before, and
they are carried to the first door. A parcel that nobody takes in lies at the nearest post office for a week, and then
comes back to the store. Customers who move to another town write to the store before they order, as an address cannot
be changed while a parcel is on its way. The store sends to all countries of the European Union and to Norway.
""",
    "service.md": """# Customer service

## Sending goods back

You are not happy with what you bought? No problem: you have 30 days from delivery to send goods back to Nordwind.
Print the label from your account, stick it on the parcel and bring it to any post office in the country. We write to
you when it has arrived, and most people have their money within the same week. If anything was broken when it came,
please take a picture of it first and send it along with your name, so that we can ask the carrier about it.

## Bills

Bills of Nordwind are due within 20 days. They come by electronic mail on the day on which the parcel leaves the
store, and on paper if you ask for that in your account. You can pay by card, by bank transfer or at the desk. If you
cannot pay in time, write to us before the bill is due: we agree on smaller sums with everybody who asks. A second
letter about the same bill costs three euros, and we are sorry to have to send it.
""",
    "shop.md": """# The shop in Hamburg

## Opening hours

The shop of Nordwind opens at 9:00 on every working day. It closes at 18:00, and on Saturdays two hours before. There
is a lift to the upper floor, and children can play in a corner of their own while their parents look around. Dogs
wait at the door, where there is water for them. The nearest station is three minutes away, and there are racks for
bicycles in the yard behind the house. On the last Friday of the month the shop stays open for an evening with music.

## Repairs

A repair at Nordwind takes two weeks. Bring the thing to the desk on the ground floor, with the bill if you still have
it. The people of the workshop say at once whether it can be mended and what that costs, and nothing is done before
you agree. What is not fetched after half a year is given away. Lamps, radios and kitchen machines are mended in the
house, and all others are sent to their makers, which may cost more than the workshop can say beforehand.
""",
    "club.md": """# The Nordwind club

## What members get

Members of the club pay three euros of postage for each parcel of Nordwind. They are told of new goods a week before
everybody else, and twice a year they are asked to an evening in the shop. Whoever has been a member for ten years
gets a lamp of the first series. A member who moves away stays a member, and one who does not want to be one any
longer says so at the desk, without giving a reason. The club has a library of its own on the upper floor.

## Desk of the club

The desk of the club helps members with all that they bought. For members and everybody else, a repair at Nordwind
takes five weeks, as the workshop has few people. Bills of Nordwind are due within ten days of the day on which they
were written, and the desk takes cash as well. It has the lists of all evenings, and the keys of the library. In
summer the desk is closed on Mondays, and the people of the shop take its letters and parcels for it.
""",
}
ASKED: Mapping[str, tuple[str, str, str]] = {
    "within 14 days of delivery": (RETURNS, "14 days",
                                   "Customers of Nordwind can return goods within 14 days of delivery."),
    "The postage of Nordwind": (POSTAGE, "five euros", "The postage of Nordwind costs five euros for each parcel."),
    "Bills of Nordwind are due within 20": (PAYING, "20 days", "Bills of Nordwind are due within 20 days."),
    "opens at 9:00": (OPENING, "9:00", "The shop of Nordwind opens at 9:00 on every working day."),
    "A repair at Nordwind takes two": (REPAIR, "two weeks", "A repair at Nordwind takes two weeks."),
}  # fmt: skip
"""By words of a passage, the question on it, its answer and the sentence that it rests on."""
OTHERWISE: Mapping[str, tuple[str, str, str]] = {
    RETURNS: ("30 days from delivery", "30 days",
              "No problem: you have 30 days from delivery to send goods back to Nordwind."),
    POSTAGE: ("three euros of postage", "three euros", ""),
    PAYING: ("within ten days", "ten days",
             "Bills of Nordwind are due within ten days of the day on which they were written, and the desk takes cash "
             "as well."),
    REPAIR: ("takes five weeks", "five weeks",
             "For members and everybody else, a repair at Nordwind takes five weeks, as the workshop has few people."),
}  # fmt: skip
"""By question, words of the passage that answers otherwise, that answer, and the sentence; members are others."""
CONFLICTS = {RETURNS: ("14 days", "30 days"), PAYING: ("20 days", "ten days"), REPAIR: ("two weeks", "five weeks")}


def clerk(messages: Messages) -> str:
    """The clerk's answer to any of the prompts."""
    system, text = messages[0]["content"], messages[-1]["content"]
    for words, answer in {
        "Write one question that somebody": _ask,
        "as a strict editor": lambda text: {"fault": "none", "why": ""},
        "whether they say the same": lambda text: {"same": "no"},
        "really contradict each other": _weigh,
        "Write the sentence so that": lambda text: {"statement": ""},
    }.items():
        if words in system:
            return json.dumps(answer(text))
    return NOT_KNOWN if "from what you know" in system else _read(text)


def _ask(text: str) -> dict[str, Any]:
    for words, (question, answer, sentence) in ASKED.items():
        if words in text:
            return {"question": question, "answer": answer, "evidence": [sentence], "steps": []}
    return {"question": "", "answer": "", "evidence": [], "steps": []}


def _read(text: str) -> str:
    question = text.rpartition("Question: ")[2]
    for words, (asked, answer, _) in ASKED.items():
        if asked == question and words in text:
            return answer
    words, answer, _ = OTHERWISE.get(question, ("", "", ""))
    return answer if words and words in text else NOT_THERE


def _weigh(text: str) -> dict[str, Any]:
    (question,) = re.findall(r"^Question: (.*)$", text, re.MULTILINE)
    _, answer, sentence = OTHERWISE[question]
    if not sentence:
        return {"verdict": "speak of different things", "why": "The second is about members.", "answer": "",
                "evidence": []}  # fmt: skip
    return {"verdict": "contradict each other", "why": "", "answer": answer, "evidence": [sentence]}
