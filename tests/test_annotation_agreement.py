"""How far people agree: each measure against fractions worked by hand, and what is not defined."""

import pytest

from annotation.agreement import (
    Agreement,
    agreement_by_person,
    agreement_of,
    mean_ratings,
    program_agreement,
    shared_work,
)
from annotation.measures import (
    FEW_ITEMS,
    NOT_SHARED,
    ONE_ANSWER,
    ONE_PERSON,
    ONE_RATING,
    Item,
    Measure,
    Measured,
    bootstrap,
    cohen_kappa,
    fleiss,
    krippendorff,
    pearson,
    percent_agreement,
    spearman,
    token_f1,
)
from schemas.annotation import Annotation
from schemas.rubric import Choice, Marked, Rubric, Sample, Shown, Written

YES_NO = ("yes", "no")


def items(*answers: str) -> list[Item]:
    """`"ab"` is an item that person 0 answered with a and person 1 with b; `"a."` one that person 1 left out."""
    return [{str(by): answer for by, answer in enumerate(one) if answer != "."} for one in answers]


def test_percent_agreement() -> None:
    # of aa all pairs agree, of ab none, of aab one of three: (1 + 0 + 1/3) / 3 = 4/9; of b. there is no pair
    assert percent_agreement(items("aa", "ab", "aab", "b.")).value == pytest.approx(4 / 9)


def test_cohens_kappa() -> None:
    # 4 AA, 4 BB, 1 AB, 1 BA: P_o = 8/10, P_e = 1/2 * 1/2 + 1/2 * 1/2 = 1/2, (8/10 - 1/2) / (1/2) = 3/5
    assert cohen_kappa(items(*["aa"] * 4, *["bb"] * 4, "ab", "ba")).value == pytest.approx(3 / 5)


def test_cohens_kappa_of_three_is_the_mean_over_their_pairs() -> None:
    # 0 and 1 agree on all: 1. 0 and 2 (as 1 and 2): aa ab bb bb, P_o = 3/4, P_e = 1/2 * 1/4 + 1/2 * 3/4 = 1/2: 1/2.
    assert cohen_kappa(items("aaa", "aab", "bbb", "bbb")).value == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


def test_fleiss_kappa() -> None:
    # P_i: aaa 1, aab 1/3, bbb 1, abb 1/3, mean 2/3; each option is half of the answers, P_e = 1/2;
    # (2/3 - 1/2) / (1/2) = 1/3
    assert fleiss("ab")(items("aaa", "aab", "bbb", "abb")).value == pytest.approx(1 / 3)


def test_fleiss_kappa_takes_the_items_of_the_commonest_number_of_people() -> None:
    assert fleiss("ab")(items("aaa", "aab", "bbb", "abb", "ab.", "ba.")).value == pytest.approx(1 / 3)


def test_nominal_alpha_with_an_item_that_one_person_left_out() -> None:
    # aa gives o_aa 2, ab gives o_ab = o_ba = 1, bb gives o_bb 2, b. gives none: n_a = n_b = 3, n = 6.
    # D_o = 2/6, D_e = 2 * 3 * 3 / (6 * 5) = 3/5, alpha = 1 - (1/3) / (3/5) = 4/9
    assert krippendorff("ab")(items("aa", "ab", "bb", "b.")).value == pytest.approx(4 / 9)


def test_ordinal_alpha() -> None:
    # 11, 12, 33: n_1 = 3, n_2 = 1, n_3 = 2, n = 6; d_12 = (4 - 4/2)^2 = 4, d_23 = (3 - 3/2)^2 = 9/4,
    # d_13 = (6 - 5/2)^2 = 49/4. D_o = 2 * 4 / 6 = 4/3,
    # D_e = 2 * (3*1*4 + 3*2*49/4 + 1*2*9/4) / (6 * 5) = 180/30 = 6, alpha = 1 - (4/3) / 6 = 7/9
    assert krippendorff("123", "ordinal")(items("11", "12", "33")).value == pytest.approx(7 / 9)


def test_alpha_of_krippendorffs_own_example() -> None:
    # "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units, missing data.
    rows = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    rated = items(*("".join(column) for column in zip(*rows, strict=True)))
    assert krippendorff("12345")(rated).value == pytest.approx(0.743, abs=5e-4)
    assert krippendorff("12345", "ordinal")(rated).value == pytest.approx(0.815, abs=5e-4)


def test_pearson() -> None:
    # 12, 21, 33: both means are 2; products -1 * 0 + 0 * -1 + 1 * 1 = 1, squares 2 and 2: 1 / 2
    assert pearson(items("12", "21", "33"), "123").value == pytest.approx(1 / 2)


def test_spearman_with_ties() -> None:
    # ranks of 1 1 2 3 are 1.5 1.5 3 4, of 1 2 2 3 are 1 2.5 2.5 4; less 2.5: -1 -1 .5 1.5 and -1.5 0 0 1.5;
    # products 1.5 + 0 + 0 + 2.25 = 3.75, squares 4.5 and 4.5: 5/6
    assert spearman(items("11", "12", "22", "33"), "123").value == pytest.approx(5 / 6)


def test_a_rating_is_its_place_on_the_scale_not_its_name() -> None:
    scale = ("bad", "fair", "good")
    rated = [dict(zip("ab", pair, strict=True)) for pair in (("bad", "fair"), ("fair", "bad"), ("good", "good"))]
    assert pearson(rated, scale).value == pytest.approx(1 / 2)


def test_token_f1_of_marks() -> None:
    # the old tower; old tower, Tower hall: two tokens in common (old, tower once) of 3 and 4: 2 * 2 / 7
    assert token_f1(["the old tower"], ["Old tower", "Tower hall"]) == pytest.approx(4 / 7)
    # 中 and 国 in common of 2 and 3: 2 * 2 / 5
    assert token_f1(["中国"], ["中国人"]) == pytest.approx(4 / 5)
    assert token_f1([], []) == 1.0
    assert token_f1(["a"], []) == 0.0


def test_what_is_not_defined_is_none_with_its_reason() -> None:
    same, alone, apart = items("aa", "aa"), items("a", "b"), items("a.", ".b")
    for measure in (cohen_kappa, fleiss("ab"), krippendorff("ab")):
        assert measure(same) == Measured(None, ONE_ANSWER)
        assert measure(alone) == Measured(None, ONE_PERSON)
        assert measure(apart) == Measured(None, NOT_SHARED)
        assert measure([]) == Measured(None, NOT_SHARED)
    assert krippendorff("ab", "ordinal")(same) == Measured(None, ONE_ANSWER)
    assert percent_agreement(same) == Measured(1.0)
    assert percent_agreement(alone) == Measured(None, ONE_PERSON)
    assert pearson(items("11", "12"), "12") == spearman(items("11", "12"), "12") == Measured(None, ONE_RATING)
    assert pearson(apart, "ab") == Measured(None, NOT_SHARED)


RUBRIC = Rubric(
    name="toy", version=1, guideline="g.md", shows=(Shown(name="text"),),
    asks=(
        Choice(name="holds", question="?", options=YES_NO),
        Choice(name="natural", question="?", options=("1", "2", "3"), ordered=True),
    ),
    writes=(Written(name="lie", title="A lie"), Written(name="note", title="Note", note=True)),
    marks=(Marked(name="names", title="Names", of="text"),),
)  # fmt: skip


def done(task: str, by: str, true: str, natural: str, lie: str, names: tuple[str, ...] = ()) -> Annotation:
    answers = {"holds": true, "natural": natural, "lie": lie, "note": by}
    return Annotation(task=task, by=by, answers=answers, marks={"names": names})


GIVEN = [
    done("t1", "a", "yes", "1", "It  fell.", ("Ann",)), done("t1", "b", "yes", "2", "It fell.", ("Ann",)),
    done("t2", "a", "no", "2", "It rose."), done("t2", "b", "yes", "1", "It sank."),
    done("t3", "a", "no", "3", "No.", ("Bo Berg",)), done("t3", "b", "no", "3", "Never.", ("Bo",)),
    done("t4", "a", "no", "3", "None."),
]  # fmt: skip


def test_each_question_has_the_measures_that_suit_it() -> None:
    rows = {(row.question, row.measure): row for row in agreement_of(RUBRIC, GIVEN, draws=0)}
    assert {place: row.value for place, row in rows.items()} == {
        ("holds", "percent agreement"): pytest.approx(2 / 3),
        # P_o = 2/3, P_e = 1/3 * 2/3 + 2/3 * 1/3 = 4/9: (2/9) / (5/9)
        ("holds", "Cohen's kappa"): pytest.approx(2 / 5),
        # half of the answers are yes, P_e = 1/2: (1/6) / (1/2)
        ("holds", "Fleiss' kappa"): pytest.approx(1 / 3),
        # aa ab bb, as above
        ("holds", "Krippendorff's alpha (nominal)"): pytest.approx(4 / 9),
        ("natural", "percent agreement"): pytest.approx(1 / 3),
        # 12 21 33: n = 2, 2, 2; d_12 = 4, d_23 = 4, d_13 = 16; D_o = 4*4/6 = 8/3, D_e = 2*(16+64+16)/30 = 32/5
        ("natural", "Krippendorff's alpha (ordinal)"): pytest.approx(1 - (8 / 3) / (32 / 5)),
        ("natural", "Pearson"): pytest.approx(1 / 2),
        ("natural", "Spearman"): pytest.approx(1 / 2),
        ("lie", "identical texts"): pytest.approx(1 / 3),
        # 1, 1 (nobody marked anything) and 2/3
        ("names", "token F1"): pytest.approx(8 / 9),
    }  # fmt: skip
    assert {(row.items, row.people) for row in rows.values()} == {(3, ("a", "b"))}


def test_boxes_left_empty_are_no_texts_that_agree() -> None:
    works = [done("t1", "a", "no", "1", ""), done("t1", "b", "no", "1", " "), done("t2", "a", "yes", "1", "It sank.")]
    (row,) = (row for row in agreement_of(RUBRIC, works, draws=0) if row.measure == "identical texts")
    assert row.value is None
    corrects = RUBRIC.model_copy(
        update={"writes": tuple(part.model_copy(update={"corrects": True}) for part in RUBRIC.writes)}
    )
    (row,) = (row for row in agreement_of(corrects, works, draws=0) if row.question == "lie")
    assert row.value == 1, "both left the record's text as it is"


def test_the_order_of_annotations_does_not_matter_and_the_last_of_one_person_counts() -> None:
    earlier = done("t2", "a", "yes", "1", "It sank.")
    rows = agreement_of(RUBRIC, GIVEN, seed=3, draws=50)
    assert agreement_of(RUBRIC, [earlier, *GIVEN], seed=3, draws=50) == rows
    assert agreement_of(RUBRIC, GIVEN[::-1], seed=3, draws=50) == rows


def test_intervals_hold_the_value_and_grow_narrow_with_more_items() -> None:
    def kappa(times: int) -> Agreement:
        pairs = ["yes yes", "no no", "yes yes", "no no", "yes no"] * times
        given = [
            Annotation(task=str(number), by=by, answers={"holds": answer})
            for number, pair in enumerate(pairs)
            for by, answer in zip("ab", pair.split(), strict=True)
        ]
        rubric = RUBRIC.model_copy(update={"asks": RUBRIC.asks[:1], "writes": (), "marks": ()})
        rows = agreement_of(rubric, given, draws=200)
        return next(row for row in rows if row.measure == "Cohen's kappa")

    few, many = kappa(4), kappa(40)
    assert few.value == many.value == pytest.approx(8 / 13)  # P_o = 4/5, P_e = 3/5 * 2/5 + 2/5 * 3/5 = 12/25
    assert few.low is not None and few.high is not None and many.low is not None and many.high is not None  # noqa: PT018
    assert few.low < many.low < 8 / 13 < many.high < few.high


def test_no_interval_where_the_measure_is_mostly_undefined() -> None:
    given = [Annotation(task=t, by=by, answers={"holds": a}) for t, a in (("1", "yes"), ("2", "no")) for by in "ab"]
    rows = {row.measure: row for row in agreement_of(RUBRIC, given)}
    kappa = rows["Cohen's kappa"]  # of the samples of two items, half hold one of them twice
    assert (kappa.value, kappa.low, kappa.high) == (1.0, None, None)


def test_one_persons_agreement_with_the_others() -> None:
    shared = shared_work(RUBRIC, [*GIVEN, done("t5", "c", "yes", "1", "")])
    # of six answers that a and b share, t1 true, t3 true and t3 natural are the same; c shares none
    assert agreement_by_person(shared) == {"a": 1 / 2, "b": 1 / 2}


# ---- programs and people ----

SCALE = Rubric(
    name="scale", version=1, guideline="g.md", shows=(Shown(name="text"),),
    asks=(Choice(name="good", question="?", options=("1", "2", "3", "4", "5"), ordered=True),),
    samples=(Sample(name="first", size=9), Sample(name="second", size=9)),
)  # fmt: skip
SAMPLES = {"t1": "first", "t2": "first", "t3": "first", "t4": "first", "u1": "second"}


def rated(by: str, ratings: str, tasks: tuple[str, ...] = ("t1", "t2", "t3", "t4")) -> list[Annotation]:
    return [
        Annotation(task=task, by=by, answers={"good": rating})
        for task, rating in zip(tasks, ratings, strict=True)
        if rating != "."
    ]


def test_a_program_and_people_worked_by_hand() -> None:
    # a 1 1 2 5 and b 3 1 4 5 have the means 2 1 3 5; the program gives 1 2 3 4. Less their means, -1.5 -.5 .5 1.5 and
    # -.75 -1.75 .25 2.25: products 1.125 + .875 + .125 + 3.375 = 5.5, squares 5 and 8.75; ranks 2 1 3 4 are off by 1
    # twice: 1 - 6 * 2 / (4 * 15) = 4/5. With a alone, -1.25 -1.25 -.25 2.75: 1.875 + .625 - .125 + 4.125 = 6.5, squares
    # 10.75. a and b: .3125 + 2.8125 - .1875 + 4.8125 = 7.75.
    people = [*rated("a", "1125"), *rated("b", "3145"), *rated("b", "4", ("u1",))]
    rows = program_agreement(SCALE, people, rated("p", "1234"), SAMPLES)
    values = {(row.program, row.people, row.measure): row.value for row in rows}
    assert len(rows) == len(values) == 8
    assert {row.sample for row in rows} == {"first"}, "no program rated the second"
    assert values["p", ("a", "b"), "Pearson"] == pytest.approx(5.5 / (5 * 8.75) ** 0.5)
    assert values["p", ("a", "b"), "Spearman"] == pytest.approx(4 / 5)
    assert values["p", ("a",), "Pearson"] == pytest.approx(6.5 / (5 * 10.75) ** 0.5)
    assert values["", ("a", "b"), "Pearson"] == pytest.approx(7.75 / (10.75 * 8.75) ** 0.5)
    for row in rows:
        assert row.items == 4
        assert row.value is not None
        assert (row.low or -2) <= row.value <= (row.high or 2)
        assert row.low != row.high
    again = program_agreement(SCALE, people[::-1], rated("p", "1234")[::-1], SAMPLES)
    assert rows == again, "seeded, in whatever order"
    assert all(row.low is None for row in program_agreement(SCALE, people, rated("p", "1234"), SAMPLES, draws=0))


def test_of_what_one_person_rated_that_is_the_mean() -> None:
    # The means are 2 (of 1 and 3), 1, 4, 5: b left the second out, a the third.
    people = [*rated("a", "11.5"), *rated("b", "3.45")]
    (row,) = [
        row for row in program_agreement(SCALE, people, rated("p", "2145"), SAMPLES, draws=0)
        if row.measure == "Pearson" and row.people == ("a", "b") and row.program
    ]  # fmt: skip
    assert (row.value, row.items) == (pytest.approx(1), 4)


def test_what_cannot_be_compared_says_why() -> None:
    def reasons(people: list[Annotation], program: str) -> set[tuple[str, str]]:
        return {
            (row.program, row.reason) for row in program_agreement(SCALE, people, rated("p", program), SAMPLES, draws=0)
        }

    assert reasons(rated("a", "1125"), "4444") == {("p", ONE_RATING), ("", ONE_PERSON)}
    assert reasons(rated("a", "1..."), "4444") == {("p", FEW_ITEMS), ("", ONE_PERSON)}
    assert reasons([], "1234") == {("p", FEW_ITEMS), ("", NOT_SHARED)}
    assert program_agreement(SCALE, rated("a", "1125"), [], SAMPLES) == []


def test_means_are_over_the_items_of_the_mean_over_people() -> None:
    # 2 (of 1 and 3), 1, 4 and 5: 12/4 = 3; over the six ratings it would be 15/6
    first, second = mean_ratings(SCALE, [*rated("a", "11.5"), *rated("b", "3.45"), *rated("b", "4", ("u1",))], SAMPLES)
    assert (first.sample, dict(first.means), first.items, first.people) == ("first", {"good": 3.0}, 4, ("a", "b"))
    assert (second.sample, dict(second.means), second.items, second.people) == ("second", {"good": 4.0}, 1, ("b",))
    assert mean_ratings(SCALE, [], SAMPLES) == []


@pytest.mark.parametrize("measure", [percent_agreement, cohen_kappa, krippendorff("ab"), krippendorff("ab", "ordinal")])
def test_an_interval_is_that_of_the_measure_taken_of_each_sample(measure: Measure[str]) -> None:
    some = items("aaa", "aab", "bb.", "a.b", "b.a", ".aa", "bbb", "ab.", "aba")
    assert bootstrap(some, measure, "ab12", 200) == bootstrap(some, measure.__call__, "ab12", 200)
    assert bootstrap(some, measure, "ab12", 200) != (None, None)
