"""What a Chinese page says of the one thing it is about."""

import pytest

from flows.language.zh_predicates import about, aliases, predicates


@pytest.mark.parametrize(
    ("page", "name", "said"),
    [
        (
            "刘燕卿（Connie） ，现职香港申诉专员，毕业于香港中文大学社会学系，其父是医生。",
            "刘燕卿",
            ["现职香港申诉专员", "毕业于香港中文大学社会学系"],
        ),
        (
            "满田拓也是日本漫画家。出生于广岛县福山市。球队升入联赛。生于东京。",
            "满田拓也",
            ["是日本漫画家", "出生于广岛县福山市"],
        ),
        (
            "魔岩文化股份有限公司，简称魔岩，总部位于台北市。2001年结束营业。",
            "魔岩文化股份有限公司",
            ["的总部位于台北市", "于2001年结束营业"],
        ),
        ("郝德泉，京剧琴师，又名郝泉，曾给周信芳操琴。", "郝德泉", ["是京剧琴师", "曾给周信芳操琴"]),
        ("甲校和乙校位于北京市。", "甲校和乙校", ["位于北京市"]),
        ("1998年，他出生于北京市。", "", []),
    ],
)
def test_a_clause_is_followed_to_the_subject_it_leaves_out(page: str, name: str, said: list[str]) -> None:
    assert about(page) == name
    assert list(predicates(page)) == said


def test_a_page_calls_its_subject_by_shorter_names_too() -> None:
    page = "彼得·吕姆克尔夫（，），德国作家。吕姆克尔夫出生于多特蒙德。"
    assert aliases(page) == ("彼得·吕姆克尔夫", "吕姆克尔夫")
    assert "出生于多特蒙德" in predicates(page)
    assert aliases("四通控股有限公司，简称四通控股，是公司。") == ("四通控股有限公司", "四通控股")
