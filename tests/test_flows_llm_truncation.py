"""Middle truncation: both ends of a prompt stay, with a tokenizer made on the spot."""

from pathlib import Path

import pytest

from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import Message
from flows.llm.truncation import PretrainedTokenizer, cut_to_share, keep_ends, middle_cut
from schemas.errors import WrongInput


class Letters:
    """A token for each character."""

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, tokens: object) -> str:
        assert isinstance(tokens, list)
        return "".join(map(chr, tokens))


def said(**by_role: str) -> list[Message]:
    return [Message(role=role.rstrip("_"), content=content) for role, content in by_role.items()]


@pytest.mark.parametrize(
    ("window", "kept"), [(10, "0123456789"), (9, "01236789"), (8, "01236789"), (3, "09"), (2, "09")]
)
def test_both_ends_of_a_long_prompt_are_kept(window: int, kept: str) -> None:
    assert middle_cut(window, Letters())(said(user="0123456789")) == said(user=kept)


@pytest.mark.slow
def test_a_tokenizer_is_loaded_from_a_folder_and_adds_no_token(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["<s>", "<unk>", "one", "two", "three", "four", "five"])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", unk_token="<unk>").save_pretrained(tmp_path)
    tokenizer = PretrainedTokenizer(str(tmp_path))
    assert list(tokenizer.encode("one two")) == [2, 3]
    five = said(user="one two three four five")
    assert middle_cut(5, tokenizer)(five) == five
    assert middle_cut(4, tokenizer)(five) == said(user="one twofour five")  # joined by nothing


def test_a_tokenizer_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match="no tokenizer could be loaded") as raised:
        PretrainedTokenizer(str(tmp_path / "none"))
    assert "\n" not in str(raised.value)


def test_the_users_message_is_cut_and_the_systems_is_not() -> None:
    cut = middle_cut(6, Letters())
    assert cut(said(system="Read all of it.", user="<0123456789>")) == said(system="Read all of it.", user="<0189>")
    assert cut(said(system="Read all of it.", user="<0123>")) == said(system="Read all of it.", user="<0123>")


def test_of_a_dialogue_the_longest_messages_are_cut_and_short_ones_stay_whole() -> None:
    whole = said(user="0123456789", assistant="abcdefgh", user_="be brief")
    assert middle_cut(26, Letters())(whole) == whole
    assert middle_cut(24, Letters())(whole) == said(user="01236789", assistant="abcdefgh", user_="be brief")
    assert middle_cut(12, Letters())(whole) == said(user="0189", assistant="abgh", user_="beef")
    long = said(user="x" * 1000, assistant="y" * 500, user_="shorter, please")
    found = cut_to_share(long, 0.4)
    assert [len(one["content"]) for one in found] == [294, 294, 15]
    assert found[2] == long[2]


def test_each_message_is_tokenized_once() -> None:
    read: list[str] = []

    class Counted(Letters):
        def encode(self, text: str) -> list[int]:
            read.append(text)
            return super().encode(text)

    messages = said(system="Read.", user="0123456789", assistant="abcdefgh")
    assert middle_cut(8, Counted())(messages) == said(system="Read.", user="0189", assistant="abgh")
    assert read == ["0123456789", "abcdefgh"]


def test_a_tokenizer_without_a_window_counts_nothing() -> None:
    with pytest.raises(ValueError, match="give both, or window alone"):
        EndpointSettings(name="m", tokenizer="gpt2")
    assert EndpointSettings(name="m", window=8000).tokenizer is None


@pytest.mark.parametrize(("share", "kept"), [(1.0, "0123456789"), (0.9, "01236789"), (0.4, "0189"), (0.01, "09")])
def test_a_share_of_a_text_is_its_ends(share: float, kept: str) -> None:
    assert keep_ends("0123456789", share) == kept


def test_without_a_tokenizer_tokens_are_estimated() -> None:
    def cut(text: str) -> str:
        return middle_cut(10, None)(said(user=text))[0]["content"]

    assert cut("x" * 40) == "x" * 40
    assert len(cut("x" * 80)) == 40
    assert len(cut("\u6211" * 80)) == 10  # a Chinese character is a token
