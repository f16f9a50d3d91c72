"""Models whose files would run a program: none does, and each is refused in a line."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.construct.embed import SentenceBert
from flows.construct.entailment import Entailment
from flows.families.reeval.scored_reply import cross_encoder
from flows.llm.loading import load_model, load_tokenizer
from flows.llm.truncation import PretrainedTokenizer
from flows.scoring.scorer import CannotScore
from schemas.errors import Failed, WrongInput
from tests.causal_models import make_llama


class Opens:
    """Unpickled, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.mark), "w")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("model"), hidden=16, layers=1, heads=2)


def pickled_weights(folder: Path, mark: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"lm_head.weight": Opens(mark)}, protocol=2))


def code_of_its_own(folder: Path, mark: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "architectures": ["Own"]}
    config["auto_map"] = {f"Auto{kind}": "own.Own" for kind in ("Config", "Model", "ModelForCausalLM", "Tokenizer")}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    tokenizer |= {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: pass\n")


def modules_of_its_own(folder: Path, mark: Path) -> None:
    """Of a sentence-transformers model."""
    modules = [{"idx": 0, "name": "0", "path": "", "type": "own.Own"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: pass\n")


def pickled_layer(folder: Path, mark: Path) -> None:
    """Of a sentence-transformers model: its own weights are sound."""
    kinds = {"": "base.modules.transformer.Transformer", "1": "sentence_transformer.modules.pooling.Pooling",
             "2": "base.modules.dense.Dense"}  # fmt: skip
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.{kind}"}
        for place, (path, kind) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    for path in ("1", "2"):
        (folder / path).mkdir()
    (folder / "1/config.json").write_text(json.dumps({"embedding_dimension": 16, "pooling_mode": "mean"}))
    dense = {
        "in_features": 16,
        "out_features": 4,
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    (folder / "2/config.json").write_text(json.dumps(dense))
    (folder / "2/pytorch_model.bin").write_bytes(pickle.dumps({"linear.weight": Opens(mark)}, protocol=2))


def causal(name: str) -> object:
    return load_model(name, "float32", "cpu")


def embedded(name: str) -> object:
    return SentenceBert(name, ["en"]).embed(["a"])


def entailed(name: str) -> object:
    return Entailment(name).load()


NASTY: list[tuple[Callable[[Path, Path], None], Callable[[str], object], str]] = [
    (pickled_weights, causal, r"no file named model.safetensors.*`save_pretrained` convert them"),
    (pickled_weights, cross_encoder, r"no file named model.safetensors"),
    (pickled_weights, embedded, r"no file named model.safetensors.*`save_pretrained` convert them"),
    (pickled_weights, entailed, r"no file named model.safetensors.*`save_pretrained` convert them"),
    (code_of_its_own, causal, "it comes with code of its own, which is never run"),
    (code_of_its_own, load_tokenizer, "it comes with code of its own, which is never run"),
    (code_of_its_own, PretrainedTokenizer, "custom code"),
    (code_of_its_own, cross_encoder, "custom code"),
    (code_of_its_own, embedded, "it comes with code of its own, which is never run"),
    (code_of_its_own, entailed, "it comes with code of its own, which is never run"),
    (modules_of_its_own, embedded, "it comes with code of its own, which is never run"),
    (pickled_layer, embedded, "weights of a part of it are in a file that may hold a program"),
]
"""What would run, who loads the model, and what is said."""


@pytest.mark.parametrize(
    ("spoil", "load", "said"),
    [
        pytest.param(
            *one, id=f"{one[0].__name__}-{one[1].__name__}", marks=[pytest.mark.slow] * (one[1] in (embedded, entailed))
        )
        for one in NASTY
    ],
)
def test_no_program_of_a_model_runs(
    model: Path, tmp_path: Path, spoil: Callable[[Path, Path], None], load: Callable[[str], object], said: str
) -> None:
    folder, mark = tmp_path / "model", tmp_path / "mark"
    shutil.copytree(model, folder)
    spoil(folder, mark)
    with pytest.raises((Failed, WrongInput, CannotScore), match=said) as refused:
        load(str(folder))
    assert "\n" not in str(refused.value)
    assert not mark.exists()
