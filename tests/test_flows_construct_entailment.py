"""Entailment by small cross-encoders of random weights, made here, and by a stand-in for the Hugging Face Hub."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flows.construct.entailment import (
    DEFAULT_MODEL,
    TIE,
    Entailment,
    EntailmentModelUnusableError,
    Judge,
    _logits,
)
from flows.families.reeval.scored_reply import premise_and_hypothesis
from schemas.errors import WrongInput

ROOT = Path(__file__).resolve().parent.parent
LABELS = ("contradiction", "entailment", "neutral")
WORDS = "how many moons has mars two one what is the capital of france paris yes no ? . ,"
PAIRS = [
    premise_and_hypothesis(question, output, answer)
    for question in ("how many moons has mars", "what is the capital of france?")
    for output in ("two", "paris.", "mars has two moons", "no, " * 9, "")
    for answer in ("two", "paris")
]


def make_model(folder: Path, labels: Sequence[str]) -> Path:
    """A DeBERTa (v2) of 2 layers and 32 dimensions that knows `WORDS`; its weights depend on nothing but a seed."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

    words = {word: place for place, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", *WORDS.split()])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        model_max_length=24,
    ).save_pretrained(folder)
    torch.manual_seed(5)
    config = DebertaV2Config(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=24,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
    )
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "nli", LABELS)


def largest(folder: Path, pair: tuple[str, str]) -> int:
    """Which logit of one pair is the largest, by transformers alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    inputs = AutoTokenizer.from_pretrained(folder)(*pair, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        return int(AutoModelForSequenceClassification.from_pretrained(folder)(**inputs).logits.argmax())


def test_the_question_has_one_mark() -> None:
    assert premise_and_hypothesis("how many?", "Two. ", "two") == ("how many? Two.", "how many? two")
    assert premise_and_hypothesis("how many", "two", "2") == ("how many? two", "how many? 2")
    assert premise_and_hypothesis(" how many ?? ", "", "2") == ("how many?", "how many? 2")
    assert premise_and_hypothesis("几个？", "两个", "二")[0] == "几个? 两个"


@pytest.mark.slow
def test_the_largest_logit_decides(folder: Path) -> None:
    verdicts = Entailment(str(folder)).entails(PAIRS)
    assert verdicts == [largest(folder, pair) == 1 for pair in PAIRS]
    assert set(verdicts) == {True, False}
    assert Entailment("is/not-asked").entails([]) == []


@pytest.mark.slow
def test_which_label_is_entailment_is_read_from_the_model(folder: Path, tmp_path: Path) -> None:
    largest_of = [largest(folder, pair) for pair in PAIRS]
    for labels in (("ENTAILMENT", "neutral", "contradiction"), ("no", "Neutral", "Entailment")):
        place = [label.lower() for label in labels].index("entailment")
        model = make_model(tmp_path / labels[0], labels)
        assert Entailment(str(model)).entails(PAIRS) == [most == place for most in largest_of]


@pytest.mark.slow
def test_a_verdict_does_not_depend_on_the_other_pairs(folder: Path) -> None:
    model = Entailment(str(folder))
    together = model.entails(PAIRS)
    assert model.entails(PAIRS[::-1])[::-1] == together
    assert [model.entails([pair])[0] for pair in PAIRS] == together
    assert model.entails([PAIRS[3], PAIRS[0], PAIRS[3]]) == [together[3], together[0], together[3]]


@pytest.mark.slow
def test_a_verdict_does_not_depend_on_how_many_are_read_together(folder: Path) -> None:
    one, some, all_at_once = (Entailment(str(folder), batch=batch) for batch in (1, 3, 64))
    assert one.entails(PAIRS) == some.entails(PAIRS) == all_at_once.entails(PAIRS)
    loaded = [model._loaded[0] for model in (one, all_at_once)]
    apart, together = (_logits(network, PAIRS, batch) for network, batch in zip(loaded, (1, 64), strict=True))
    assert abs(apart - together).max() < TIE / 10


@pytest.mark.slow
def test_pairs_whose_logits_are_nearly_one_are_read_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read together, every pair seems to be undecided: what decides is the pass of each by itself."""
    judge = Entailment(str(folder))
    expected = judge.entails(PAIRS)
    network, read = judge._loaded[0], []

    def predict(pairs: Sequence[tuple[str, str]], *, batch_size: int, **options: object) -> object:
        read.append((len(pairs), batch_size))
        found = type(network).predict(network, pairs, batch_size=batch_size, **options)
        return found * 1e-9 if batch_size > 1 else found

    monkeypatch.setattr(network, "predict", predict)
    assert judge.entails(PAIRS) == expected
    distinct = len(set(PAIRS))
    assert read == [(distinct, 32), *[(1, 1)] * distinct]


@pytest.mark.slow
async def test_pairs_that_come_one_by_one_are_read_in_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Entailment(str(folder))
    together = model.entails(PAIRS)
    read: list[int] = []

    def entails(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        read.append(len(pairs))
        return Entailment.entails(model, pairs)

    monkeypatch.setattr(model, "entails", entails)
    judge = Judge(model)
    assert await asyncio.gather(*map(judge.entails, PAIRS)) == together
    assert sum(read) == len(PAIRS)
    assert len(read) <= 2
    assert await judge.entails(PAIRS[0]) == together[0]


@pytest.mark.slow
async def test_who_waits_for_a_judge_is_told_what_went_wrong(tmp_path: Path) -> None:
    judge = Judge(Entailment(str(tmp_path / "nothing")))
    told = await asyncio.gather(*map(judge.entails, PAIRS[:3]), return_exceptions=True)
    assert [type(one) for one in told] == [EntailmentModelUnusableError] * 3


@pytest.mark.slow
def test_a_model_runs_on_a_gpu_where_there_is_one(folder: Path) -> None:
    import torch

    judge = Entailment(str(folder))
    judge.load()
    assert judge._loaded[0].model.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.slow
def test_a_model_that_does_not_tell_entailment_is_refused(tmp_path: Path) -> None:
    model = make_model(tmp_path / "other", ("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(WrongInput, match=r'other: its labels are LABEL_0, LABEL_1, LABEL_2, and one has to be "entail'):
        Entailment(str(model)).load()


def damaged(name: str, folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    if name == "empty":
        shutil.rmtree(folder)
        folder.mkdir()
    elif name == "no weights":
        weights.unlink()
    elif name == "half of the weights":
        weights.write_bytes(weights.read_bytes()[:-1000])
    elif name == "no classifier":
        kept = {key: value for key, value in load_file(weights).items() if not key.startswith("classifier")}
        save_file(kept, weights, metadata={"format": "pt"})
    elif name == "no tokenizer":
        for file in folder.glob("tokenizer*"):
            file.unlink()
    elif name == "a number that is a word":
        configuration = folder / "config.json"
        values = json.loads(configuration.read_text()) | {"num_hidden_layers": "two"}
        configuration.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", "Unrecognized model"),
        ("no weights", "no file named model.safetensors"),
        ("half of the weights", "incomplete metadata"),
        ("no classifier", "weights are missing from it"),
        ("no tokenizer", r"tokenizer has \d+ of \d+ words"),
        ("a number that is a word", "num_hidden_layers"),
    ],
)
@pytest.mark.slow
def test_a_damaged_folder_is_one_line(
    name: str, reason: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / name)
    damaged(name, tmp_path / name)
    capfd.readouterr()
    with pytest.raises(
        EntailmentModelUnusableError, match=rf"cannot be loaded as a cross-encoder \(.*{reason}"
    ) as error:
        Entailment(str(tmp_path / name)).load()
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/nowhere/nli", "a/b/c", "no such model!", ""])
def test_what_is_neither_a_folder_nor_a_name_is_one_line(name: str) -> None:
    with pytest.raises(EntailmentModelUnusableError, match="cannot be loaded") as error:
        Entailment(name).load()
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_hub_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(
            WrongInput, match=r"not/there: is not on this machine, and http:.* does not answer"
        ) as error:
            Entailment("not/there").load()
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_hub_that_is_silent_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(WrongInput, match=r"does not answer \(timed out\)"):
            Entailment(DEFAULT_MODEL + "-not-here", hub_wait=0.3).load()


class Hub(BaseHTTPRequestHandler):
    """Answers what a client asks for while it loads "org/nli"; every other model is unknown to it."""

    folder: Path
    COMMIT = "0" * 40

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path.startswith("/api/models/org/nli/tree/"):
            files = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": file.name}
                for file in self.folder.iterdir()
            ]
            self._answer(json.dumps(files).encode())
        elif path.startswith("/api/models/org/nli"):
            siblings = [{"rfilename": file.name} for file in self.folder.iterdir()]
            self._answer(json.dumps({"id": "org/nli", "sha": self.COMMIT, "siblings": siblings}).encode())
        elif path.startswith("/org/nli/resolve/") and (self.folder / path.rsplit("/", 1)[1]).is_file():
            self._answer((self.folder / path.rsplit("/", 1)[1]).read_bytes())
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if "/org/nli/" in path else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{hash(content):x}"')
        self.send_header("X-Repo-Commit", self.COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def load_in_own_process(model: str, endpoint: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The Hub's client reads its settings when it is imported."""
    code = (
        "from flows.construct.entailment import Entailment\n"
        "from schemas.errors import WrongInput\n"
        "try:\n"
        f"    print(Entailment({model!r}).entails({PAIRS!r}))\n"
        "except WrongInput as error:\n"
        "    print(error)\n"
    )
    own = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=True
    )


@pytest.mark.slow
def test_a_model_comes_from_the_hub_once(folder: Path, tmp_path: Path) -> None:
    served = type("Served", (Hub,), {"folder": folder})
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        first = load_in_own_process("org/nli", endpoint, tmp_path)
        unknown = load_in_own_process("org/other", endpoint, tmp_path)
        server.shutdown()
    assert first.stdout == f"{Entailment(str(folder)).entails(PAIRS)}\n"
    assert unknown.stdout.startswith("org/other: cannot be loaded as a cross-encoder (404 Client Error. Repository Not")
    assert unknown.stdout.count("\n") == 1
    assert first.stderr == unknown.stderr == ""
    assert load_in_own_process("org/nli", endpoint, tmp_path).stdout == first.stdout


def test_importing_it_is_quick() -> None:
    code = "import sys, flows.construct.entailment; print([n for n in ('torch', 'transformers') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
