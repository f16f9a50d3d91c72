"""Other names of what a text names: found right behind the name, and nowhere else."""

import pytest

from flows.language.other_names import other_names


@pytest.mark.parametrize(
    ("text", "name", "language", "others"),
    [
        ("Denali (also known as Mount McKinley) is high.", "Denali", "en", ["Mount McKinley"]),
        ("Denali, also known as Mount McKinley, is high.", "Denali", "en", ["Mount McKinley"]),
        ("Josey Scott (born Joseph Scott Sappington; May 3, 1972) sang.", "Josey Scott", "en",
         ["Joseph Scott Sappington"]),
        ("Aldo Fateh (born 1959), also known by his stage name Aladin, is old.", "Aldo Fateh", "en", ["Aladin"]),
        ("The Blanc (commonly known in the English world as The White Bird) flew.", "Blanc", "en", ["White Bird"]),
        ("Galata Bridge (formerly New Bridge) stands.", "Galata", "en", ["New Bridge"]),
        ("Josey Scott (born May 3, 1972) sang.", "Josey Scott", "en", []),
        ("Paris, known for its Eiffel Tower, is large.", "Paris", "en", []),
        ("Roland is known as the Prince of Wales.", "Roland", "en", []),
        ("Byrnes, born in Ohio, died.", "Byrnes", "en", []),
        ("玉山箭竹（学名：），又名玉山矢竹、玉山云竹。", "玉山箭竹", "zh", ["玉山矢竹"]),
        ("突破机构（Breakthrough Limited，简称「突破」）成立。", "突破机构", "zh", ["突破"]),
        ("突破机构成立。", "突破机构", "zh", []),
    ],
)  # fmt: skip
def test_other_names(text: str, name: str, language: str, others: list[str]) -> None:
    assert [text[start:end] for start, end in other_names(text, name, language)] == others
