"""Options weighed after a long prompt: ours beside lm-evaluation-harness, on one model and the same data.

    python tests/bench/bench_likelihood.py [items] [threads]        (default: 8 items, one thread)

The model is a random Llama of 71 million parameters in float32; a prompt has 1,000 tokens, and six options of 7 to 20
tokens follow it, as long as those of the paper's figure 1. "apart": no two prompts begin alike. "shots": all prompts
begin with the same 700 tokens, as three-shot prompts do.

The harness (0.4.13) has an environment of its own, `.venv-lm-eval`, made here where it is missing (2 GB). Each side
runs in a process of its own, one after the other. "seconds" is wall time of the harness's own `HFLM.loglikelihood` over
all requests, and of ours, `LocalModel.log_probabilities`, over all prompts: from texts to numbers, tokenising included;
imports, loading the model and one item to warm up are left out. "of processors" is the processors' time for it, which
says more on a busy machine. The harness is run with one and with six requests a batch, and the quicker of the two is
compared. "differs" is the largest difference between the two of an option's summed log-probability, over all options.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / ".venv-lm-eval"
VERSION = "0.4.13"
ITEMS = 8
PROMPT_TOKENS, SHARED_TOKENS = 1_000, 700
OPTION_TOKENS = (14, 14, 13, 17, 20, 7)
MODEL = {"hidden": 512, "layers": 12, "heads": 8, "vocabulary": 32_000, "window": 2_048}
AT_LEAST, WITHIN = 3.0, 1e-4

ASK_HARNESS = """
import json, sys, time
import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

folder, data, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
items = json.load(open(data))
model = HFLM(pretrained=folder, dtype="float32", device="cpu", batch_size=batch)

def requests(items):
    return [
        Instance(request_type="loglikelihood", doc={}, arguments=(one["prompt"], option), idx=place)
        for one in items
        for place, option in enumerate(one["options"])
    ]

model.loglikelihood(requests(items[:1]), disable_tqdm=True)
asked = requests(items)
started, used = time.perf_counter(), time.process_time()
found = model.loglikelihood(asked, disable_tqdm=True)
seconds, used = time.perf_counter() - started, time.process_time() - used
print(json.dumps({"seconds": seconds, "used": used, "sums": [value for value, _ in found]}))
"""


def make(name: str, items: int) -> dict[str, str]:
    """The model, and by kind the data: JSON lists of `{prompt, options}`."""
    from tests.causal_models import make_llama, text

    folder = Path(name)
    made = make_llama(folder, spread=0.02, **MODEL)  # type: ignore[arg-type]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(made)

    def exactly(seed: int, tokens: int, before: str = "") -> str:
        """A text that is so many tokens behind another one."""
        own = len(tokenizer.encode(before))
        ids = tokenizer.encode(before + " " + text(seed, 2 * tokens))[own : own + tokens]
        return before + str(tokenizer.decode(ids))

    shots = exactly(1, SHARED_TOKENS - 1)
    paths = {}
    for kind in ("apart", "shots"):
        data = []
        for place in range(items):
            start = shots if kind == "shots" else ""
            prompt = exactly(100 + place, PROMPT_TOKENS - len(tokenizer.encode(start)), start)
            options = [exactly(1000 * place + number, tokens) for number, tokens in enumerate(OPTION_TOKENS)]
            assert len(tokenizer.encode(prompt)) == PROMPT_TOKENS
            data.append({"prompt": prompt, "options": options})
        path = folder / f"{kind}.json"
        path.write_text(json.dumps(data))
        paths[kind] = str(path)
    return paths


def ours(folder: str, data: str, threads: int) -> dict[str, Any]:
    """Our side, in this process."""
    import torch

    from flows.llm.likelihood import Options, option_sum
    from flows.llm.local import LocalModel, LocalSettings

    torch.set_num_threads(threads)
    items = [Options(one["prompt"], tuple(one["options"])) for one in json.loads(Path(data).read_text())]
    model = LocalModel(LocalSettings(name=folder, dtype="float32", device="cpu"))
    model.log_probabilities(items[:1])
    model = LocalModel(model.settings)  # which has read nothing yet
    model.load()
    started, used = time.perf_counter(), time.process_time()
    found = model.log_probabilities(items)
    seconds, used = time.perf_counter() - started, time.process_time() - used
    parameters = sum(one.numel() for one in model._model.parameters())
    return {
        "seconds": seconds,
        "used": used,
        "sums": [option_sum(one) for options in found for one in options],
        "parameters": parameters,
    }


def run(python: Path, code: str, *arguments: object) -> dict[str, Any]:
    """What a program prints last, run in a process of its own."""
    done = subprocess.run(
        [python, "-c", code, *map(str, arguments)], check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def here(call: str) -> dict[str, Any]:
    """The result of a call of this module, from a process of its own."""
    return run(Path(sys.executable), f"import json, bench_likelihood; print(json.dumps(bench_likelihood.{call}))")


def harness() -> Path:
    """The Python of the harness's environment, which is made where it is missing."""
    python = HARNESS / "bin" / "python"
    if not (HARNESS / ".installed").exists():
        print(f"installing lm-evaluation-harness {VERSION} into {HARNESS.name}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", HARNESS], check=True)
        wanted = ["-c", str(ROOT / "constraints.txt"), f"lm-eval[hf]=={VERSION}"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        (HARNESS / ".installed").touch()
    return python


def main(arguments: list[str] | None = None) -> None:
    """Print a line a side and kind of data; exit with 1 where ours is not what it should be."""
    given = sys.argv[1:] if arguments is None else arguments
    items, threads = (*map(int, given), *(ITEMS, 1)[len(given) :])
    python = harness()
    missed = False
    with tempfile.TemporaryDirectory() as name:
        paths = here(f"make({name!r}, {items})")
        for kind, path in paths.items():
            us = here(f"ours({name!r}, {path!r}, {threads})")
            theirs = {batch: run(python, ASK_HARNESS, name, path, batch, threads) for batch in (1, 6)}
            batch, best = min(theirs.items(), key=lambda one: one[1]["seconds"])
            faster = best["seconds"] / us["seconds"]
            differs = max(
                abs(one - other)
                for them in theirs.values()
                for one, other in zip(us["sums"], them["sums"], strict=True)
            )
            print(
                f"\n{kind}: {items} prompts of {PROMPT_TOKENS:,} tokens, {len(OPTION_TOKENS)} options each, "
                f"{us['parameters'] / 1e6:.0f}M parameters, {threads} thread{'s' * (threads != 1)}"
            )
            sides = {"ours": us, **{f"harness, batch {size}": them for size, them in theirs.items()}}
            for side, one in sides.items():
                print(f"{side:<18}{one['seconds']:>8.1f} s{one['used']:>8.1f} s of processors")
            print(
                f"{faster:.1f} times as fast as the harness with batch {batch}, with {best['used'] / us['used']:.1f} "
                f"times less of processors; differs by {differs:.1e} at most"
            )
            missed = missed or faster < AT_LEAST or differs > WITHIN
    if missed:
        raise SystemExit(f"expected {AT_LEAST:g} times as fast, and no difference above {WITHIN:g}")


if __name__ == "__main__":
    main()
