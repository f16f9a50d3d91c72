"""The prompt as appendix A lays it out, and the same text in the chunks of appendix C."""

from dataclasses import dataclass

from flows.families.charpeval.inference import INSTRUCTION, Shots, choices, chunks, demonstrations, prompt
from schemas.charpeval import OPTION_TYPES
from tests.test_schemas_charpeval import item


@dataclass(frozen=True)
class Settings:
    shots: tuple[Shots, ...] = (0, 3)


BAKING = item(history=("I bake.", "Bread?\n\n Or cake?"), last_utterance="Bread. What do I need?")


def test_zero_shot_as_the_paper_lays_it_out() -> None:
    assert prompt(BAKING) == (
        f"{INSTRUCTION}\n\n"
        "User: I bake.\nBot: Bread? Or cake?\nUser: Bread. What do I need?\n\n"
        "Knowledge: Bread is baked of flour; cake of sugar.\n\n"
        "Bot:"
    )


def test_three_shots_stand_between_the_instruction_and_the_item() -> None:
    shown = prompt(BAKING, 3)
    zero = prompt(BAKING)
    assert shown.startswith(INSTRUCTION)
    assert shown.endswith(zero.removeprefix(INSTRUCTION))
    places = [shown.index(f"Bot: {one.response}\n\n") for one in demonstrations()]
    assert places == sorted(places)
    assert shown.count("Knowledge:") == 4
    assert shown.endswith("\n\nBot:")


def test_the_demonstrations_are_dialogues_answered_from_their_knowledge() -> None:
    assert len(demonstrations()) == 3
    for one in demonstrations():
        assert len(one.history) % 2 == 0  # the last turn before the user's is the bot's
        assert one.response not in one.knowledge


def test_the_first_speaker_of_an_odd_history_is_the_bot() -> None:
    assert "\n\nBot: Welcome.\nUser: Bread.\n\n" in prompt(item(history=("Welcome.",), last_utterance="Bread."))
    assert "\n\nUser: Bread.\n\nKnow" in prompt(item(history=(), last_utterance="Bread."))


def test_each_option_follows_by_itself_behind_a_space() -> None:
    zero, three = choices(BAKING, Settings())
    assert (zero.prompt, zero.shots) == (prompt(BAKING), 0)
    assert (three.prompt, three.shots) == (prompt(BAKING, 3), 3)
    assert tuple(zero.options) == OPTION_TYPES
    assert zero.options["GTRS"] == " Take flour."
    assert not any(option in zero.prompt for option in zero.options.values())
    assert [one.shots for one in choices(BAKING, Settings((3,)))] == [3]


def test_what_is_asked_does_not_depend_on_the_order_of_the_options() -> None:
    turned = item(
        history=BAKING.history,
        last_utterance=BAKING.last_utterance,
        options=BAKING.options[::-1],
        gold_index=5,
    )
    assert choices(turned, Settings()) == choices(BAKING, Settings())
    assert chunks(turned) == chunks(BAKING)


def test_the_chunks_are_the_prompt_and_the_response() -> None:
    found = chunks(BAKING)
    assert "".join(chunk.text for chunk in found.chunks) == f"{prompt(BAKING)} Take flour."
    assert found.names == ("instruction", "history", "knowledge", "response")
    assert found.chunks[-1].text == " Take flour."
    assert found.chunks[1].text.endswith("What do I need?\n\n")
    assert found.group == "hCHARP"
