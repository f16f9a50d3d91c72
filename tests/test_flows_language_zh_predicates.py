"""What a Chinese page says of the one thing it is about."""

import pytest

from flows.language.zh.predicates import about, aliases, predicates


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
        (
            "埃里森（），美国退役篮球运动员。他效力于老鹰队，并在1986年加盟公牛队。其处女作在杂志上发表。",
            "埃里森",
            ["是美国退役篮球运动员", "效力于老鹰队，并在1986年加盟公牛队", "效力于老鹰队", "的处女作在杂志上发表"],
        ),
        (
            "江刺车站（）是一位于日本水泽区，由公司经营的铁路车站。",
            "江刺车站",
            ["位于日本水泽区", "是由公司经营的铁路车站"],
        ),
        ("郝德泉（），京剧琴师。。，名望很高。", "郝德泉", ["是京剧琴师"]),
        ("1998年，他出生于北京市。", "", []),
    ],
)
def test_a_clause_is_followed_to_the_subject_it_leaves_out(page: str, name: str, said: list[str]) -> None:
    assert about(page) == name
    assert list(predicates(page)) == said


def test_a_page_speaks_of_other_things_by_their_names() -> None:
    page = "广茂铁路是一条铁路。三茂铁路于1991年投入运营。广三铁路于1903年筑成，全长49公里。"
    assert list(predicates(page, ("广三铁路",))) == ["于1903年筑成", "的全长为49公里"]


def test_a_page_calls_its_subject_by_shorter_names_too() -> None:
    page = "彼得·吕姆克尔夫（，），德国作家。吕姆克尔夫出生于多特蒙德。"
    assert aliases(page) == ("彼得·吕姆克尔夫", "吕姆克尔夫")
    assert "出生于多特蒙德" in predicates(page)
    assert aliases("四通控股有限公司，简称四通控股，是公司。") == ("四通控股有限公司", "四通控股")
