"""RefuteBench's tables by hand: ratings few enough to know every mean."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from flows.construct.evaluation import DialogueContext
from flows.evaluate.report import table_view
from flows.families.refutebench.plan import dialogues_of, ratings_of
from flows.families.refutebench.score import bootstrap_means, tables
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.tables import ScoreTables
from schemas.base import Dropped, Provenance, key_of
from schemas.refutebench import PLAIN, DialogueTurn, Rating, RefutationDialogue, Seed, SeedTask

SEED = Provenance(seed=7)
Ratings = dict[tuple[int | None, int], int]
"""(i, j) -> R(a_j, r_i); (None, j) -> R(q, a_j)."""
TRANSIENT: Ratings = {
    (0, 1): 5, (1, 2): 4, (2, 3): 3, (0, 2): 4, (0, 3): 2, (None, 0): 5, (None, 1): 4, (None, 2): 3, (None, 3): 1,
}  # fmt: skip


def seed(name: str, task: SeedTask = "writing") -> Seed:
    return Seed(key=name, task=task, kind="request", query=name, text=name, source="by hand", provenance=SEED)


def dialogue(
    one: Seed, model: str = "m", unrelated: int | None = None, style: str = "abstract", says: str = "four"
) -> RefutationDialogue:
    """Transient, with three refutations; or persistent, where C is given. Everybody says the same each time."""
    kinds: list[Any] = ["query", "refutation", "refutation", "refutation"]
    if unrelated is not None:
        kinds = ["query", "refutation", *["unrelated"] * unrelated, *["query"] * (unrelated > 0)]
    roles: list[Any] = ["user", "assistant"]
    protocol: Any = "transient" if unrelated is None else "persistent"
    refuter: Any = "template" if style == PLAIN else "agent"
    slot = {"model": model, "refuter": refuter, "protocol": protocol, "unrelated": unrelated or 0}
    return RefutationDialogue(
        key=key_of("refutebench", "dialogues", one.key, slot), seed=one.key, task=one.task, query=one.query,
        protocol=protocol, unrelated=unrelated or 0, refuter=refuter, style=style, model=model,
        turns=tuple(DialogueTurn(role=role, kind=kind, text=says) for kind in kinds for role in roles),
        provenance=SEED,
    )  # fmt: skip


def rated(of: RefutationDialogue, given: Ratings, evaluator: str = "judge") -> Iterator[Rating]:
    for (refutation, answer), rating in given.items():
        about = "task" if refutation is None else "refutation"
        slot: Any = {
            "evaluator": evaluator, "aspect": about, "refutation": -1 if refutation is None else refutation,
            "answer": answer,
        }  # fmt: skip
        yield Rating(
            key=key_of("refutebench", "ratings", of.key, slot), dialogue=of.id, task=of.task, protocol=of.protocol,
            unrelated=of.unrelated, refuter=of.refuter, style=of.style, model=of.model, evaluator=evaluator,
            aspect="task" if refutation is None else "refutation", refutation_number=refutation, answer_number=answer,
            query=of.query, response="a", explanation=f"[[{rating}]]", rating=rating, provenance=SEED,
        )  # fmt: skip


def scored(
    ratings: Iterable[Rating],
    dialogues: Sequence[RefutationDialogue] = (),
    seeds: Sequence[Seed] = (),
    dropped: dict[str, list[Dropped]] | None = None,
    **settings: Any,
) -> ScoreTables:
    known: dict[str, Sequence[Any]] = {"ratings": list(ratings), "dialogues": dialogues, "seeds": seeds}
    chosen = RefuteBenchSettings(**{"evaluated": ("m",), "evaluators": ("judge",), **settings})
    return tables(DialogueContext(chosen, 7, known.__getitem__, lambda part: (dropped or {}).get(part, [])))


def value(found: ScoreTables, table: str, row: str, column: str) -> tuple[float | None, int]:
    (cell,) = [c for c in found.tables if (c.table, c.row, c.column) == (table, row, column)]
    return cell.value, cell.n


# ---- tables 4 to 6 ----


def test_transient_dialogues_worked_by_hand() -> None:
    other: Ratings = {**TRANSIENT, (0, 1): 2, (1, 2): 2, (2, 3): 3, (0, 3): 4, (None, 3): 2}
    one, two = dialogue(seed("one")), dialogue(seed("two"))
    found = scored([*rated(one, TRANSIENT), *rated(two, other)])
    row = "m / writing"
    # ((5 + 4 + 3) / 3 + (2 + 2 + 3) / 3) / 2 = (4 + 7/3) / 2
    assert value(found, "overall", row, "mean") == (pytest.approx(19 / 6), 2)
    assert value(found, "memory", row, "turn 1") == (7 / 2, 2)
    assert value(found, "memory", row, "turn 3") == (3, 2)
    assert value(found, "memory", row, "Δ") == (1 / 2, 2)
    assert value(found, "task consistency", row, "initial") == (5, 2)
    assert value(found, "task consistency", row, "final") == (3 / 2, 2)
    assert value(found, "task consistency", row, "Δ") == (7 / 2, 2)
    first = found.frames["over turns: the first refutation"]
    assert list(first.columns) == [1, 2, 3]
    assert list(first.loc[row]) == [7 / 2, 4, 3]
    assert list(found.frames["over turns: the task"].columns) == [0, 1, 2, 3]


def test_a_rating_that_is_missing_takes_its_dialogue_out_of_the_pairs() -> None:
    one, two = dialogue(seed("one")), dialogue(seed("two"))
    lacking = {at: rating for at, rating in TRANSIENT.items() if at not in ((0, 3), (None, 0))}
    not_yet = [*rated(two, {(0, 3): 0, (None, 0): 0})]  # opened, and never rated: no score of 0
    found = scored([*rated(one, TRANSIENT), *rated(two, lacking), *not_yet])
    assert value(found, "memory", "m / writing", "turn 1") == (5, 1)
    assert value(found, "task consistency", "m / writing", "final") == (1, 1)
    assert value(found, "overall", "m / writing", "mean") == (4, 2)
    assert value(found, "over turns: the task", "m / writing", "1") == (4, 1)


def test_with_one_round_there_is_no_memory_to_tell_of() -> None:
    given: Ratings = {(0, 1): 5, (None, 0): 4, (None, 1): 3}
    found = scored(rated(dialogue(seed("one")), given), rounds=1)
    assert "memory" not in found.frames
    assert value(found, "task consistency", "m / writing", "Δ") == (1, 1)


# ---- table 7 ----


def test_persistent_dialogues_worked_by_hand() -> None:
    one, two = (dialogue(seed(name), unrelated=3) for name in ("one", "two"))
    found = scored([*rated(one, {(0, 1): 5, (0, 2): 3}), *rated(two, {(0, 1): 4, (0, 2): 3})])
    assert value(found, "persistent", "m / writing", "C = 0") == (9 / 2, 2)
    assert value(found, "persistent", "m / writing", "C = 3") == (3, 2)
    assert value(found, "persistent", "m / writing", "Δ") == (3 / 2, 2)
    assert set(found.frames) == {"persistent"}


def test_several_c_are_told_over_the_queries_that_have_all_of_them() -> None:
    ratings = []
    for name, at_once, finals in (("one", 5, {1: 4, 3: 2}), ("two", 3, {1: 3, 3: 2}), ("three", 1, {1: 1})):
        for count, final in finals.items():
            ratings += rated(dialogue(seed(name), unrelated=count), {(0, 1): at_once, (0, 2): final})
        ratings += rated(dialogue(seed(name), unrelated=0), {(0, 1): at_once})
    found = scored(ratings)
    row = "m / writing"
    assert [value(found, "persistent", row, f"C = {count}") for count in (0, 1, 3)] == [(4, 2), (7 / 2, 2), (2, 2)]
    assert value(found, "persistent", row, "Δ at C = 1") == (1 / 2, 2)
    assert value(found, "persistent", row, "Δ at C = 3") == (2, 2)
    assert list(found.frames["over C"].loc[row]) == [4, 7 / 2, 2]


# ---- lines ----


def test_a_line_names_what_there_are_several_of_and_always_plain() -> None:
    agent, template = dialogue(seed("one")), dialogue(seed("one"), style=PLAIN)
    only = scored(rated(template, TRANSIENT), [template], [seed("one")], refuters=("template",))
    for name, frame in only.frames.items():
        assert all("style: plain" in row for row in frame.index), name
    both = scored([*rated(agent, TRANSIENT), *rated(template, TRANSIENT), *rated(agent, TRANSIENT, "other")])
    assert sorted(both.frames["overall"].index) == [
        "m, refuted by agent, style: abstract, rated by judge / writing",
        "m, refuted by agent, style: abstract, rated by other / writing",
        "m, refuted by template, style: plain, rated by judge / writing",
    ]


# ---- several models ----


def test_models_are_compared_on_the_seeds_that_all_of_them_finished() -> None:
    """The second model fails on the two hard seeds, on which the first is bad: the first looks no worse for that."""
    easy, hard = [f"easy {number}" for number in range(6)], ["hard 1", "hard 2"]
    poor: Ratings = {**TRANSIENT, (0, 1): 1, (1, 2): 1, (2, 3): 1}
    ratings = [rating for name in easy for rating in rated(dialogue(seed(name), "m"), TRANSIENT)]
    ratings += [rating for name in hard for rating in rated(dialogue(seed(name), "m"), poor)]
    ratings += [rating for name in reversed(easy) for rating in rated(dialogue(seed(name), "other"), TRANSIENT)]
    found = scored(ratings, evaluated=("m", "other"))
    for model in ("m", "other"):
        assert value(found, "overall", f"{model} / writing", "mean") == (4, 6)
        assert value(found, "over turns: the first refutation", f"{model} / writing", "3") == (2, 6)
    assert value(found, "seeds compared", "m / writing", "overall") == (6, 8)
    assert value(found, "seeds compared", "other / writing", "overall") == (6, 6)
    assert found.notes[0] == (
        "overall: m / writing: compared on 6 seeds, which all models finished; of 2 more it has the ratings, and "
        "another model has not"
    )
    alone = scored([one for one in ratings if one.model == "m"])
    assert value(alone, "overall", "m / writing", "mean") == (pytest.approx((6 * 4 + 2 * 1) / 8), 8)
    assert "seeds compared" not in alone.frames


def test_a_model_that_finished_nothing_takes_nothing_from_the_others() -> None:
    ratings = [*rated(dialogue(seed("one")), TRANSIENT), *rated(dialogue(seed("one"), "other"), {(0, 1): 2})]
    assert value(scored(ratings), "overall", "m / writing", "mean") == (4, 1)


# ---- intervals ----


@pytest.mark.parametrize(("number", "ends"), [(1, 0), (4, 0), (5, 5)])
def test_fewer_than_five_seeds_give_no_interval(number: int, ends: int) -> None:
    found = scored(rating for at in range(number) for rating in rated(dialogue(seed(f"{at}")), TRANSIENT))
    assert value(found, "overall", "m / writing", "mean") == (4, number)
    assert value(found, "overall", "m / writing", "low") == ((4, 5) if ends else (None, 0))


def test_an_interval_is_a_point_where_all_are_rated_alike_and_nothing_for_one_dialogue() -> None:
    many = [dialogue(seed(f"{number}")) for number in range(20)]
    found = scored(rating for one in many for rating in rated(one, TRANSIENT))
    assert value(found, "overall", "m / writing", "low") == value(found, "overall", "m / writing", "high") == (4, 20)
    assert value(found, "memory", "m / writing", "Δ low") == (3, 20)
    alone = scored(rated(many[0], TRANSIENT))
    assert value(alone, "overall", "m / writing", "mean") == (4, 1)
    assert value(alone, "overall", "m / writing", "low") == (None, 0)


def test_an_interval_holds_its_mean_and_is_the_same_each_time() -> None:
    import numpy as np

    values = np.array([[1.0] * 50 + [5.0] * 50, [1.0] * 100])
    low, high = bootstrap_means(values, "a1")
    # The standard error of the mean is 2 / sqrt(100) = 0.2, so that the interval is about 3 - 0.39 to 3 + 0.39.
    assert low[0] == pytest.approx(3 - 0.39, abs=0.06)
    assert high[0] == pytest.approx(3 + 0.39, abs=0.06)
    assert (low[1], high[1]) == (1, 1)
    assert [list(ends) for ends in bootstrap_means(values, "a1")] == [list(low), list(high)]


# ---- planted ----


def test_planted_forgetting_comes_out_of_the_tables() -> None:
    """Of 200 dialogues 50 let go of the first refutation at turn 2 and 30 more at turn 3."""
    ratings: list[Rating] = []
    for number in range(200):
        forgets = 2 if number < 50 else 3 if number < 80 else 4
        given: Ratings = {(0, answer): 5 if answer < forgets else 1 for answer in (1, 2, 3)}
        given |= {(1, 2): 5, (2, 3): 5, (None, 0): 5, (None, 1): 4, (None, 2): 3, (None, 3): 2}
        ratings += rated(dialogue(seed(f"{number}", "translation")), given)
    found = scored(ratings)
    row = "m / translation"
    assert value(found, "overall", row, "mean") == (5, 200)
    assert value(found, "memory", row, "Δ") == (pytest.approx(4 * 80 / 200), 200)
    low, high = (value(found, "memory", row, f"Δ {end}")[0] for end in ("low", "high"))
    assert low is not None
    assert high is not None
    assert 1.2 < low < 1.6 < high < 2.0
    first = list(found.frames["over turns: the first refutation"].loc[row])
    assert first == pytest.approx([5, 5 - 4 * 50 / 200, 5 - 4 * 80 / 200])
    assert list(found.frames["over turns: the task"].loc[row]) == [5, 4, 3, 2]


# ---- table 2, and what is not there ----


def test_turns_and_tokens_worked_by_hand() -> None:
    one, two = dialogue(seed("one"), says="四"), dialogue(seed("two"), says="eight to")
    persistent = dialogue(seed("one"), unrelated=1, says="four")
    found = scored([], [one, two, persistent], [seed("one"), seed("two")], unrelated=(1,))
    row = "m / transient / writing"
    assert value(found, "statistics", row, "seeds") == (2, 2)
    assert value(found, "statistics", row, "turns") == (8, 2)
    # One token a turn in the first, two in the second.
    assert value(found, "statistics", row, "tokens a turn") == (3 / 2, 2)
    # For the four answers 2, 4, 6 and 8 turns were sent and said: 20 tokens in the first, 40 in the second.
    assert value(found, "statistics", row, "tokens a dialogue") == (30, 2)
    assert value(found, "statistics", row, "tokens of its evaluation") == (0, 2)
    assert value(found, "statistics", "m / persistent, C = 1 / writing", "turns") == (8, 1)
    assert any("tokens are estimated" in note for note in found.notes)
    evaluated = scored(rated(one, {(0, 1): 4, (None, 0): 4}), [one, two], [seed("one"), seed("two")])
    tokens, _ = value(evaluated, "statistics", row, "tokens of its evaluation")
    assert tokens is not None
    assert tokens > 100  # half of what the two prompts say


def test_everything_planned_is_accounted_for() -> None:
    seeds = [seed("one"), seed("two"), seed("three", "translation")]
    settings = RefuteBenchSettings(evaluated=("m",), evaluators=("judge",), unrelated=(3,), refuters=("agent",))
    slots = dialogues_of(seeds[0], settings)
    assert len(slots) == 2
    finished = [dialogue(one, style="ambiguous, abstract, emotional") for one in seeds]
    transient = [slot for slot in slots if slot["protocol"] == "transient"]
    assert [one.key for one in finished] == [
        key_of("refutebench", "dialogues", one.key, slot) for one in seeds for slot in transient
    ]
    persistent = next(slot for slot in slots if slot["protocol"] == "persistent")
    lost = [
        Dropped(item_id="x", key=key_of("refutebench", "dialogues", one.key, persistent), step="s", reason=reason)
        for one, reason in zip(seeds, ("refutation repeated", "refutation repeated", "too few seeds"), strict=True)
    ]
    failed = [
        Dropped(item_id="x", key=key_of("refutebench", "ratings", finished[0].key, slot), step="s", reason="no rating")
        for slot in ratings_of(finished[0], ["judge"])[:2]
    ]
    ratings = [rating for one in finished[1:] for rating in rated(one, TRANSIENT)]
    found = scored(ratings, finished, seeds, {"dialogues": lost, "ratings": failed})
    table = "not rated and not finished"
    for what, writing, translation in (
        ("dialogues planned", 4, 2), ("dialogues finished", 2, 1), ("dialogues dropped: refutation repeated", 2, 0),
        ("dialogues dropped: too few seeds", 0, 1), ("ratings planned", 18, 9), ("ratings given", 9, 9),
        ("ratings failed: no rating", 2, 0), ("ratings missing", 7, 0),
    ):  # fmt: skip
        assert value(found, table, f"m / {what}", "writing")[0] == writing, what
        assert value(found, table, f"m / {what}", "translation")[0] == translation, what
    assert found.notes[-1] == (
        "m: 3 of 6 dialogues were not finished (2 refutation repeated, 1 too few seeds); 2 of 27 ratings were not "
        "given (2 no rating); they are no scores"
    )
    cut = finished[0].turns[-1].model_copy(update={"cut_off": True})
    found = scored(ratings, [finished[0].revised(turns=(*finished[0].turns[:-1], cut)), *finished[1:]], seeds)
    assert value(found, table, "m / answers cut off", "writing")[0] == 1
    assert found.notes[-1] == "m: answers refuted and rated as they were cut off at 2,048 tokens: 1"
    cut = finished[0].turns[-1].model_copy(update={"prompt_cut": True})
    found = scored(ratings, [finished[0].revised(turns=(*finished[0].turns[:-1], cut)), *finished[1:]], seeds)
    assert value(found, table, "m / dialogues cut to the window", "writing")[0] == 1
    assert found.notes[-1] == "m: dialogues whose longest messages were cut to fit into the model's window: 1"
    nothing = scored([], [], seeds, {"dialogues": lost})
    assert list(nothing.frames) == [table]


# ---- how they are shown ----


def test_ratings_have_two_decimals_and_an_axis_from_1_to_5_and_counts_are_whole() -> None:
    one = dialogue(seed("one"))
    found = scored(rated(one, {**TRANSIENT, (0, 3): 1}), [one], [seed("one")])
    views = {name: table_view(name, frame, unit=found.unit(name)) for name, frame in found.frames.items()}
    assert views["memory"].rows == (("m / writing", ("5.00", "1.00", "4.00"), ""),)
    assert views["memory"].chart is None
    assert views["statistics"].rows[0][1][:3] == ("1", "8", "1")
    chart = views["over turns: the task"].chart
    assert chart is not None
    # From the floor at 240, a rating of 1, to 12, a rating of 5; turns 0 to 3 are as far apart as they are told.
    assert 'points="44.0,12.0 237.3,69.0 430.7,126.0 624.0,240.0"' in chart
    for mark in (">1</text>", ">5</text>", ">0</text>"):
        assert mark in chart
