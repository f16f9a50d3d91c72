"""Log-probabilities of options beside a plain pass over the whole text, and attention that is known beforehand."""

import asyncio
import itertools
import math
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from flows.llm import local
from flows.llm.chat_text import pieces
from flows.llm.likelihood import Likelihood, Options, TooLong
from flows.llm.local import READ_AT_ONCE, WEIGHTS_AT_ONCE, LocalModel, LocalSettings
from flows.llm.model import ModelSetupError, Said, Usage
from schemas.errors import Failed, WrongInput
from tests.causal_models import make_llama, make_tokenizer, text

pytestmark = pytest.mark.slow  # PyTorch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    torch.set_num_threads(1)
    return make_llama(tmp_path_factory.mktemp("llama") / "tiny-llama")


@pytest.fixture
def model(folder: Path) -> LocalModel:
    return LocalModel(LocalSettings(name=str(folder)))


def plain(model: LocalModel, prompt: str, option: str) -> tuple[list[float], list[float]]:
    """The same by one pass over prompt and option, without cache, batch or padding."""
    import torch

    tokens = model._tokenizer.encode(prompt + option)
    before = len(model._tokenizer.encode(prompt))
    with torch.inference_mode():
        logits = model._model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].float()
    told = torch.log_softmax(logits, dim=-1)
    each = [told[place, token].item() for place, token in enumerate(tokens[1:])]
    return each[: before - 1], each[before - 1 :]


def assert_plain(model: LocalModel, asked: Sequence[Options], within: float = 1e-4) -> None:
    for one, found in zip(asked, model.log_probabilities(asked), strict=True):
        assert len(found) == len(one.options)
        for option, likelihood in zip(one.options, found, strict=True):
            before, after = plain(model, one.prompt, option)
            assert likelihood.prompt == pytest.approx(before, abs=within)
            assert likelihood.option == pytest.approx(after, abs=within)


def six(seed: int, *lengths: int) -> tuple[str, ...]:
    return tuple(f" {text(seed * 100 + number, words)}" for number, words in enumerate(lengths))


def test_ragged_options_after_prompts_of_several_lengths_are_as_in_a_plain_pass(model: LocalModel) -> None:
    lengths = (1, 3, 12, 30, 7, 2)
    asked = [Options(f"{text(words, words)}\nBot:", six(words, *lengths)) for words in (1, 5, 60, 200)]
    assert_plain(model, asked)


def test_a_prompt_longer_than_what_is_read_at_once(model: LocalModel) -> None:
    asked = [Options(text(1, 2 * READ_AT_ONCE), six(1, 4, 9)), Options(text(1, 2 * READ_AT_ONCE), six(2, 3))]
    assert len(model._tokenizer.encode(asked[0].prompt)) > 2 * READ_AT_ONCE
    assert_plain(model, asked)


def test_prompts_that_begin_alike_go_on_from_what_was_read(model: LocalModel) -> None:
    shots = text(9, 150)
    prompts = [f"{shots}\n{text(number, 10 + number)}\nBot:" for number in range(6)]
    read = Reads(model)
    assert_plain(model, [Options(prompt, six(number, 2, 5)) for number, prompt in enumerate(prompts)])
    shared = len(model._tokenizer.encode(shots))
    assert read.lengths[0] > shared
    assert all(length < shared / 2 for length in read.lengths[1:])


class Reads:
    """Notes how many tokens of each prompt are read anew, by what is kept of the last one."""

    def __init__(self, model: LocalModel) -> None:
        self.lengths: list[int] = []
        before, told = model._read_prompt, model._read

        def read(tokens: tuple[int, ...]) -> None:
            nonlocal told
            kept = next((n for n, (a, b) in enumerate(zip(told.tokens, tokens, strict=False)) if a != b), 0)
            before(tokens)
            told = model._read
            self.lengths.append(len(tokens) - kept)

        model._read_prompt = read  # type: ignore[method-assign]


def test_the_same_prompt_twice_and_one_that_begins_another(model: LocalModel) -> None:
    long = text(4, 40)
    assert_plain(model, [Options(long, six(1, 3)), Options(long, six(2, 4)), Options(long[:30], six(3, 3))])
    assert_plain(model, [Options(long, six(1, 3))])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_the_bits_give_the_same_up_to_their_rounding(tmp_path: Path, dtype: str) -> None:
    import torch

    model = LocalModel(LocalSettings(name=str(make_llama(tmp_path, dtype=dtype))))
    assert str(model._model.dtype) == f"torch.{dtype}"
    # A logit of 4 to 8 has steps of 1/32 in bfloat16 and of 1/256 in float16.
    assert_plain(model, [Options(text(2, 50), six(1, 1, 6, 12))], within=0.1 if dtype == "bfloat16" else 0.02)
    whole = LocalModel(LocalSettings(name=str(tmp_path), dtype="float32"))
    assert whole._model.dtype == torch.float32
    assert_plain(whole, [Options(text(2, 50), six(1, 1, 6, 12))])


def test_no_likelihood_depends_on_the_order_of_the_options(model: LocalModel) -> None:
    prompt, options = f"{text(3, 80)}\nBot:", six(5, 4, 4, 9, 1, 17, 6)
    (found,) = model.log_probabilities([Options(prompt, options)])
    by_text = dict(zip(options, found, strict=True))
    for order in random.Random(1).sample(list(itertools.permutations(options)), 4):
        (again,) = LocalModel(model.settings).log_probabilities([Options(prompt, order)])
        assert dict(zip(order, again, strict=True)) == by_text  # to the last bit


def test_options_are_weighed_alone(model: LocalModel) -> None:
    prompt, options = text(3, 30), six(5, 4, 11, 9)
    (together,) = model.log_probabilities([Options(prompt, options)])
    for option, likelihood in zip(options, together, strict=True):
        ((alone,),) = model.log_probabilities([Options(prompt, (option,))])
        assert alone.option == pytest.approx(likelihood.option, abs=1e-4)


def test_a_space_at_the_end_of_the_prompt_belongs_to_the_options(model: LocalModel) -> None:
    with_space, without = Options("Ask the baker. Bot: ", ("bread",)), Options("Ask the baker. Bot:", (" bread",))
    assert with_space.split == without.split == without
    ((one,),), ((other,),) = model.log_probabilities([with_space]), model.log_probabilities([without])
    assert one.option == pytest.approx(other.option, abs=1e-5)
    assert len(one.option) == 1


def test_option_tokens_are_those_behind_as_many_as_the_prompt_has(tmp_path: Path) -> None:
    # " b" + "read" is one token where the tokenizer sees them together: behind " b", nothing is left of it.
    model = LocalModel(LocalSettings(name=str(make_llama(tmp_path, begins=False))))
    assert len(model._tokenizer.encode(" bread")) == len(model._tokenizer.encode(" b")) == 1
    with pytest.raises(WrongInput, match="option 'read' has no tokens of its own"):
        model.log_probabilities([Options(" b", ("read",))])


def test_a_uniform_model_worked_by_hand(tmp_path: Path) -> None:
    # All logits are 0: each of 800 tokens has the probability 1/800.
    import torch

    made = make_llama(tmp_path)
    model = LocalModel(LocalSettings(name=str(made)))
    with torch.no_grad():
        model._model.lm_head.weight.zero_()
    ((found,),) = model.log_probabilities([Options(" bread and water", (" salt and flour",))])
    each = pytest.approx(-math.log(800))
    assert found == Likelihood((each,) * 3, (each,) * 3)


@pytest.mark.parametrize("kind", ["sliding", "recurrent"])
def test_models_whose_cache_cannot_be_shared_or_cut_give_the_same(tmp_path: Path, kind: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, MambaConfig, MistralConfig

    make_tokenizer(tmp_path, 800)
    torch.manual_seed(0)
    config = (
        MistralConfig(
            vocab_size=800, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, sliding_window=16, max_position_embeddings=2048, initializer_range=0.1,
        )
        if kind == "sliding"
        else MambaConfig(vocab_size=800, hidden_size=32, num_hidden_layers=2, state_size=4)
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    model = LocalModel(LocalSettings(name=str(tmp_path)))
    shots = text(9, 40)
    asked = [Options(f"{shots} {text(number, 9)}", six(number, 2, 30, 5)) for number in range(3)]
    assert_plain(model, asked)
    assert_plain(model, [Options(text(1, 3 * READ_AT_ONCE // 2), six(4, 3, 6))])


async def test_likelihoods_for_the_event_loop_are_counted(model: LocalModel) -> None:
    usage = Usage()
    asked = [Options(text(1, 9), six(1, 2, 3)), Options(text(2, 9), six(2, 2, 3))]
    found = await asyncio.gather(*(model.likelihoods([one], usage=usage) for one in asked))
    for (mine,), one in zip(found, asked, strict=True):
        for likelihood, option in zip(mine, one.options, strict=True):
            assert likelihood.option == pytest.approx(plain(model, one.prompt, option)[1], abs=1e-4)
    assert usage.calls == 4


def test_what_does_not_fit_into_the_window_is_said_before_anything_is_read(tmp_path: Path) -> None:
    model = LocalModel(LocalSettings(name=str(make_llama(tmp_path, window=32))))
    read = Reads(model)
    with pytest.raises(TooLong, match=r"have \d\d tokens, and its window is 32; .*nothing is cut") as raised:
        model.log_probabilities([Options(text(1, 5), six(1, 2)), Options(text(1, 36), six(1, 8))])
    assert "\n" not in str(raised.value)
    assert not read.lengths
    assert_plain(model, [Options(text(1, 9), six(1, 3))])


def test_a_folder_is_known_by_its_files_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    def identity(model: Path) -> object:
        return dict(LocalModel(LocalSettings(name=str(model))).identity())

    copy = shutil.copytree(folder, tmp_path / "elsewhere" / folder.name)
    assert identity(copy) == identity(folder)
    assert str(tmp_path) not in str(identity(copy))
    with (copy / "config.json").open("a") as file:
        file.write("\n")
    assert identity(copy) != identity(folder)


@pytest.mark.parametrize("name", ["none", "broken", "a name!"])
def test_a_model_that_is_not_to_be_had_is_one_line(tmp_path: Path, name: str) -> None:
    if name == "broken":
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    with pytest.raises(ModelSetupError, match="cannot be loaded as a causal language model") as raised:
        LocalModel(LocalSettings(name=str(tmp_path / name))).load()
    assert "\n" not in str(raised.value)


def test_missing_weights_and_numbers_that_are_none_are_refused(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: one for name, one in weights.items() if "layers.1.mlp.up_proj" not in name}
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelSetupError, match=r"weights are missing from it \(model.layers.1.mlp.up_proj"):
        LocalModel(LocalSettings(name=str(tmp_path))).load()


def test_a_device_that_is_not_there_is_one_line(folder: Path) -> None:
    with pytest.raises(ModelSetupError, match="cannot run on nonsense"):
        LocalModel(LocalSettings(name=str(folder), device="nonsense")).load()


# ---- attention ----


def test_each_head_looks_where_its_weights_say(tmp_path: Path) -> None:
    """One layer over one-hot embeddings, whose queries are the same for every token: head 0 looks for " flour", head 1
    for " river". Only the last pair of numbers is used, which rotates by next to nothing from token to token.
    """
    import torch
    from transformers import LlamaForCausalLM

    network = LlamaForCausalLM.from_pretrained(make_llama(tmp_path, hidden=800, layers=1, heads=2))
    model = LocalModel(LocalSettings(name=str(tmp_path)))
    tokenizer, size = model._tokenizer, 400  # numbers of a head
    wanted = [tokenizer.encode(word, add_special_tokens=False)[0] for word in (" flour", " river")]
    with torch.no_grad():
        attention = network.model.layers[0].self_attn
        network.model.embed_tokens.weight.copy_(torch.eye(800))
        for one in (attention.q_proj.weight, attention.k_proj.weight):
            one.zero_()
        # Both heads have the same keys: the first looks for positive ones, the second for negative ones.
        attention.k_proj.weight[size - 1, wanted[0]] = 50.0
        attention.k_proj.weight[size - 1, wanted[1]] = -50.0
        attention.q_proj.weight[size - 1, :] = 1.0
        attention.q_proj.weight[2 * size - 1, :] = -1.0
        network.save_pretrained(tmp_path)
    prompt = "the mill and flour of the river by the bridge"
    found = model.attended(f"{prompt} is near stone", len(prompt))
    tokens = tokenizer.encode(f"{prompt} is near stone")
    assert found.positions.shape == (1, 2, 3)
    assert found.positions[0].tolist() == [[tokens.index(wanted[0])] * 3, [tokens.index(wanted[1])] * 3]
    assert found.ends[0] == 0  # of <s>
    assert found.ends[-1] == len(prompt) + len(" is near stone")


def test_attention_from_the_cache_is_that_of_a_plain_pass(model: LocalModel, tmp_path: Path) -> None:
    import torch

    before = model._model.config._attn_implementation
    prompt, option = text(3, 120), f" {text(4, 9)}"
    found = model.attended(prompt + option, len(prompt))
    tokens = model._tokenizer.encode(prompt + option)
    model._model.set_attn_implementation("eager")
    with torch.inference_mode():
        weights = model._model(input_ids=torch.tensor([tokens]), output_attentions=True).attentions
    model._model.set_attn_implementation(before)
    looking = found.positions.shape[-1]
    for layer, expected in zip(found.positions, weights, strict=True):
        assert (layer == expected[0, :, -looking:].argmax(dim=-1).numpy()).all()
    assert looking == len(tokens) - len(model._tokenizer.encode(prompt))
    assert model._model.config._attn_implementation == before
    assert_plain(model, [Options(prompt, (option,))])


def test_attention_in_a_sliding_window_names_the_places_in_the_text(tmp_path: Path) -> None:
    model = LocalModel(LocalSettings(name=str(make_sliding(tmp_path))))
    prompt, option = text(3, 60), f" {text(4, 9)}"
    found = model.attended(prompt + option, len(prompt))
    length, looking = len(found.ends), found.positions.shape[-1]
    for place in range(looking):
        at = length - looking + place
        assert (found.positions[:, :, place] <= at).all()
        assert (found.positions[:, :, place] > at - 16).all()


def test_attention_needs_tokens_to_look(model: LocalModel) -> None:
    with pytest.raises(WrongInput, match="no tokens stand behind character 5"):
        model.attended("bread", 5)


# ---- attention by turns ----

SAID = tuple(
    Said(role="user" if place % 2 == 0 else "assistant", text=text(70 + place, words))
    for place, words in enumerate((12, 40, 3, 25, 9, 31))
)
CHATML = (
    "{{ bos_token + '[system]the baker' }}"
    "{% for m in messages %}{{ '[' + m.role + ']' + m.content + eos_token }}{% endfor %}"
)


def plain_turns(model: LocalModel, ends: Sequence[int], special: bool) -> tuple[list[int], list[list[float]]]:
    """The same from all attention weights of one pass: which turn each token is of, and its largest weights."""
    import torch

    tokenizer = model._tokenizer
    whole = "".join(pieces(tokenizer, SAID))
    encoding = tokenizer(whole, return_offsets_mapping=True, add_special_tokens=special)
    model._model.set_attn_implementation("eager")
    with torch.inference_mode():
        layers = model._model(input_ids=torch.tensor([encoding["input_ids"]]), output_attentions=True).attentions
    pooled = torch.stack(layers).amax(dim=(0, 1, 2)).tolist()  # (tokens, tokens)
    of = [next(turn for turn, end in enumerate(ends) if stop <= end) for _, stop in encoding["offset_mapping"]]
    turns = range(len(ends))
    places = [[at for at, one in enumerate(of) if one == turn] for turn in turns]
    return of, [[max((line[at] for at in places[turn]), default=0.0) for turn in turns] for line in pooled]


@pytest.mark.parametrize("at_once", [1, 20_000, WEIGHTS_AT_ONCE])
@pytest.mark.parametrize("template", [None, CHATML])
@pytest.mark.parametrize("sliding", [False, True])
def test_what_turns_look_at_is_that_of_a_plain_pass_however_it_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, template: str | None, sliding: bool
) -> None:
    model = LocalModel(LocalSettings(name=str(make_sliding(tmp_path) if sliding else folder)))
    model._tokenizer.chat_template = template
    monkeypatch.setattr(local, "WEIGHTS_AT_ONCE", at_once)
    reads: list[int] = []
    weights = model._weights
    monkeypatch.setattr(model, "_weights", lambda inputs, *rest, **how: reads.append(len(inputs)) or weights(
        inputs, *rest, **how))  # fmt: skip
    before = model._model.config._attn_implementation
    found = model.turns_attended(SAID)
    assert model._model.config._attn_implementation == before
    ends = list(itertools.accumulate(map(len, pieces(model._tokenizer, SAID))))
    of, expected = plain_turns(model, ends, special=template is None)
    assert found.turns.tolist() == of
    assert set(of) == set(range(len(SAID) + 1))
    assert np.abs(found.weights - np.array(expected)).max() < 1e-5
    assert found.weights.min() >= 0
    assert found.weights.max() <= 1
    later = np.arange(len(SAID) + 1) > found.turns[:, None]
    assert (found.weights[later] == 0).all()
    # Eight heads in two layers: 20,000 weights are those of a few tokens; the first is always read alone.
    assert sum(reads) == len(of)
    assert (
        max(reads) == {1: 1, 20_000: 20_000 // (8 * len(of)), WEIGHTS_AT_ONCE: min(len(of) - 1, READ_AT_ONCE)}[at_once]
    )


def make_sliding(folder: Path) -> Path:
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    make_tokenizer(folder, 800)
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=800, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, sliding_window=16, initializer_range=0.1,
    )  # fmt: skip
    MistralForCausalLM(config).save_pretrained(folder)
    return folder


def test_a_token_is_of_the_turn_in_which_it_ends(model: LocalModel) -> None:
    tokenizer = model._tokenizer
    tokenizer.chat_template = CHATML
    found = model.turns_attended(SAID)
    tokens = tokenizer("".join(pieces(tokenizer, SAID)), add_special_tokens=False)["input_ids"]
    of_turn = [tokenizer.decode([token for token, of in zip(tokens, found.turns, strict=True) if of == turn])
               for turn in range(len(SAID) + 1)]  # fmt: skip
    assert of_turn[0] == "<s>[system]the baker"
    assert of_turn[1:] == [f"[{said.role}]{said.text}</s>" for said in SAID]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("short", " tokens, and its window is 32; take a model with a longer window"),
        ("recurrent", "does not tell its attention"),
        ("hybrid", "cannot read a dialogue piece by piece"),
    ],
)
def test_a_dialogue_that_a_model_cannot_read_is_refused_in_one_line(tmp_path: Path, kind: str, said: str) -> None:
    from transformers import AutoModelForCausalLM, Lfm2Config, MambaConfig

    if kind == "short":
        make_llama(tmp_path, window=32)
    else:
        make_tokenizer(tmp_path, 800)
        sizes = {"vocab_size": 800, "hidden_size": 32, "num_hidden_layers": 2}
        config = (
            MambaConfig(**sizes, state_size=4)
            if kind == "recurrent"
            else Lfm2Config(
                **sizes, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2,
                layer_types=["conv", "full_attention"],
            )
        )  # fmt: skip
        AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(TooLong if kind == "short" else WrongInput) as raised:
        LocalModel(LocalSettings(name=str(tmp_path))).turns_attended(SAID)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_attention_that_is_no_number_is_said(folder: Path) -> None:
    import torch

    model = LocalModel(LocalSettings(name=str(folder)))
    with torch.no_grad():
        model._model.model.layers[0].self_attn.q_proj.weight.fill_(math.nan)
    with pytest.raises(Failed, match="no number; load it with dtype: float32"):
        model.turns_attended(SAID)
