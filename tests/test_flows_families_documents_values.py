"""Which numbers of a passage are values, so that a question can ask for one."""

import pytest

from flows.families.documents.values import values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A minimal installation takes 1112 MB of disk space.", ["1112"]),
        ("It ships with version 7.7 and costs $30, or 15% less.", ["7.7", "$30", "15%"]),
        ("There are three distributions, with a 30-day trial.", ["three", "30"]),
        ("It was founded in 1993, and again on 3 May 2001.", ["1993", "3 May 2001"]),
        ("In 12 rooms there are lamps.", ["12"]),
        ("See Section 6.3.6, Chapter 9 and Table 2 on page 14.", []),
        ("Debian 12 runs beside Windows 7 on a Radeon HD 4350.", []),
        ("The output is 04:00.0 or [1002:954f], in cron(8) and on sda1.", []),
        ("The first disk comes before the second one.", []),
        ("Do this:\n1. Open it.\n2) Close it. [3]", []),
        ("", []),
    ],
)
def test_numbers_of_names_sections_and_lists_are_no_values(text: str, found: list[str]) -> None:
    assert values(text, "en") == found


@pytest.mark.parametrize(("text", "found"), [("门票为30元。", 1), ("见第3章和图2。", 0)])
def test_in_chinese_too(text: str, found: int) -> None:
    assert len(values(text, "zh")) == found
