"""What an English text speaks of: names and head nouns, in text of any case."""

import pytest

from flows.language import en


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Sugar and flour are used to make cake while bread is baked with flour, water, yeast and salt.",
            ["Sugar", "flour", "cake", "bread", "water", "yeast", "salt"],
        ),
        ("Bread is a staple food prepared from a dough.", ["Bread", "staple food", "dough"]),
        ("Marie Curie was born in Warsaw in May 1867.", ["Marie Curie", "Warsaw"]),
        ("elvis presley was an american singer and actor.", ["elvis presley", "american singer", "actor"]),
        ("The quarterback touches the ball on almost every offensive play.", ["quarterback", "ball", "play"]),
        ("It sold over 275 million copies in one year.", ["copies"]),
        ("Yes, I can do that the whole time.", []),
        ("", []),
    ],
)
def test_entities_are_names_and_head_nouns(text: str, found: list[str]) -> None:
    assert [one.text for one in en.entities(text)] == found


def test_a_word_that_can_be_a_verb_is_told_by_the_words_beside_it() -> None:
    assert [one.text for one in en.entities("We play in the sun.")] == ["sun"]
    assert [one.text for one in en.entities("The sun sets in the west.")] == ["sun", "west"]
    assert [one.text for one in en.entities("The play was a success.")] == ["play", "success"]


def test_a_noun_is_named_in_either_number_and_a_name_in_part() -> None:
    (bees,) = [one for one in en.entities("Honey bees make wax.") if one.head == "bee"]
    assert en.names("A bee is an insect.", bees)
    assert not en.names("A beech is a tree.", bees)
    curie = en.entities("In 1903 Marie Curie won a prize.")[0]
    assert en.names("Curie had two daughters.", curie)
    assert not en.names("Pierre had two daughters.", curie)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Black tea is dried and takes boiling water.", ["tea", "water"]),
        ("A barn owl hunts mice and makes no honey.", ["barn owl", "mice", "honey"]),
        ("The lake is deep and freezes over in January.", ["lake"]),
        ("It is so faint that it looks white to the eye.", ["eye"]),
        ("They come about when particles from the sun hit gases.", ["particles", "sun", "gases"]),
        ("It was bound into books.", ["books"]),
        ("It motivates sports teams.", ["sports teams"]),
        ("The look of the park is old.", ["look", "park"]),
    ],
)
def test_a_verb_is_no_entity(text: str, found: list[str]) -> None:
    assert [one.text for one in en.entities(text)] == found


def test_things_of_one_noun_that_a_text_tells_apart_are_entities_of_their_own() -> None:
    black, water, green = en.entities("Black tea takes boiling water, while green tea is made with less.")
    assert [one.text for one in (black, water, green)] == ["black tea", "water", "green tea"]
    assert en.names("Black tea is drunk in Britain.", black)
    assert not en.names("Green tea is from China.", black)
    assert not en.names("Tea is from China.", black)
    (tea,) = en.entities("Green tea is best when that green tea is fresh.")
    assert (tea.text, tea.kind) == ("tea", "")


def test_a_name_is_named_by_its_own_word() -> None:
    etna, *_ = en.entities("Mount Etna on Sicily is tall.")
    assert en.names("How tall is Etna?", etna)
    tower, *_ = en.entities("The Eiffel Tower is in Paris.")
    assert not en.names("The Tokyo Tower is taller.", tower)
