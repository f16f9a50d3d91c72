"""Middle truncation: both ends of a prompt stay, with a tokenizer made on the spot."""

from pathlib import Path

import pytest

from flows.llm.endpoint import EndpointSettings
from flows.llm.model import Prompt, Text
from flows.llm.truncation import PretrainedTokenizer, cut_by, keep_ends, middle_cut, truncate_middle
from schemas.base import Frozen
from schemas.errors import WrongInput


class Letters:
    """A token for each character."""

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, tokens: object) -> str:
        assert isinstance(tokens, list)
        return "".join(map(chr, tokens))


@pytest.mark.parametrize(
    ("window", "kept"), [(10, "0123456789"), (9, "01236789"), (8, "01236789"), (3, "09"), (2, "09")]
)
def test_both_ends_of_a_long_prompt_are_kept(window: int, kept: str) -> None:
    assert truncate_middle("0123456789", Letters(), window) == kept


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a window of 1 tokens"):
        truncate_middle("0123456789", Letters(), 1)


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
    assert truncate_middle("one two three four five", tokenizer, 5) == "one two three four five"
    assert truncate_middle("one two three four five", tokenizer, 4) == "one twofour five"  # joined by nothing


def test_a_tokenizer_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match="no tokenizer could be loaded") as raised:
        PretrainedTokenizer(str(tmp_path / "none"))
    assert "\n" not in str(raised.value)


class Asked(Frozen):
    context: str


def test_the_users_message_is_cut_and_the_systems_is_not(tmp_path: Path) -> None:
    (tmp_path / "read.j2").write_text(
        "{% block system %}Read all of it.{% endblock %}{% block user %}<{{ context }}>{% endblock %}"
    )
    prompt = cut_by(Prompt("read", 1, Text, tmp_path, inputs=Asked), middle_cut(6, Letters()))
    said = {one["role"]: one["content"] for one in prompt.messages(Asked(context="0123456789"))}
    assert said == {"system": "Read all of it.", "user": "<0189>"}
    assert {one["content"] for one in prompt.messages(Asked(context="0123"))} == {"Read all of it.", "<0123>"}


def test_a_tokenizer_without_a_window_counts_nothing() -> None:
    with pytest.raises(ValueError, match="give both, or window alone"):
        EndpointSettings(name="m", tokenizer="gpt2")
    assert EndpointSettings(name="m", window=8000).tokenizer is None


@pytest.mark.parametrize(("share", "kept"), [(1.0, "0123456789"), (0.9, "01236789"), (0.4, "0189"), (0.01, "09")])
def test_a_share_of_a_text_is_its_ends(share: float, kept: str) -> None:
    assert keep_ends("0123456789", share) == kept


def test_without_a_tokenizer_tokens_are_estimated() -> None:
    cut = middle_cut(10, None)
    assert cut("x" * 40) == "x" * 40
    assert len(cut("x" * 80)) == 40
    assert len(cut("\u6211" * 80)) == 10  # a Chinese character is a token
