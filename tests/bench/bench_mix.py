"""Mixing contexts, from settled pairs to finished Parquet files, beside pyarrow merely writing the same rows.

    python tests/bench/bench_mix.py [share of the full size, 0 to 1]        (default: 0.05)

The corpus is made from a fixed seed in the paper's shape (table 2): eleven datasets, 1,729 pairs, five levels, 8,645
contexts of about 885 million words, some 1,900 replacement rules, two confusing facts a pair where a dataset has them.
"ours" is the whole `contexts` part on as many threads as there are cores: documents are counted and searched,
distractors drawn, keywords replaced, facts put in, rows written. A pair a dataset is mixed before, so that
dictionaries and tables of the languages are read, as the parts that make pairs and rules do. "pyarrow" reads the
finished rows back and writes them again with the same settings, on as many processes; only the time that its writing
takes counts, the longest of the processes'. Both are done three times, by turns; the ratio is the median of the three.
Memory is this process's largest, which holds ours and the corpus.
"""

import multiprocessing
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.parquet import long_text_options
from data.stage_files import LongTextShardWriter, StageFiles
from data.store import Store
from flows.construct.engine import Drop, Slot
from flows.construct.files_step import FilesContext, RowFile
from flows.families.lveval.assembly import Assembler, context_files
from flows.families.lveval.datasets import DATASETS, Dataset
from flows.families.lveval.facts import packaged_fact
from flows.families.lveval.material import PairMaterial
from flows.families.lveval.method import mix_contexts
from flows.families.lveval.mixing import Text
from flows.families.lveval.selection import SelectedDocuments
from flows.families.lveval.settings import LVEvalSettings
from schemas.base import Provenance, Record, SourceRef, key_of
from schemas.lveval import Document, LongContext, Pair, PoolDocument, Rule
from schemas.manifest import ShardManifest

SEED = 7
VOCABULARY = 30_000
POOL_WORDS = 420_000
"""Words (characters) of a dataset's documents: the longest level and some more."""
CORES = os.cpu_count() or 1
TURNS = 3


class Writer:
    """Sentences of made words, the frequent ones as frequent as in a text."""

    def __init__(self, language: str, rng: random.Random) -> None:
        self.language, self.rng = language, rng
        letters = "etaoinshrdlucmfwypvbgk" if language == "en" else [chr(code) for code in range(0x4E00, 0x5E00)]
        lengths = (2, 10) if language == "en" else (1, 3)
        self.words = ["".join(rng.choices(letters, k=rng.randrange(*lengths))) for _ in range(VOCABULARY)]
        self.weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))

    def sentences(self, number: int) -> str:
        chosen = self.rng.choices(self.words, cum_weights=self.weights, k=14 * number)
        cut = [chosen[start : start + 14] for start in range(0, len(chosen), 14)]
        if self.language == "zh":
            return "".join(f"{''.join(words)}。" for words in cut)
        return " ".join(f"{' '.join(words).capitalize()}." for words in cut)

    def name(self, number: int) -> str:
        return f"{self.rng.choice(self.words)}q{number}x".capitalize() if self.language == "en" else f"龘{number}龘"


def corpus(share: float) -> tuple[dict[str, list[Pair]], dict[str, list[PoolDocument]], dict[str, PairMaterial]]:
    """Pairs, documents and materials of the eleven datasets; `share` of the pairs."""
    rng = random.Random(SEED)
    writers = {language: Writer(language, rng) for language in ("en", "zh")}
    pairs: dict[str, list[Pair]] = defaultdict(list)
    documents: dict[str, list[PoolDocument]] = {}
    materials: dict[str, PairMaterial] = {}
    for dataset in DATASETS:
        writer = writers[dataset.language]
        documents[dataset.name] = pool(dataset, writer)
        number = 1 if dataset.recalls_fact else max(1, round(share * dataset.pairs))
        for place in range(number):
            pair, material = one_pair(dataset, writer, place, documents[dataset.name], number)
            pairs[dataset.name].append(pair)
            materials[pair.id] = material
    return pairs, documents, materials


def pool(dataset: Dataset, writer: Writer) -> list[PoolDocument]:
    made, words = [], 0
    while words < POOL_WORDS:
        text = writer.sentences(writer.rng.randrange(4, 12))
        words += len(text.split()) if dataset.language == "en" else len(text)
        place = str(len(made))
        made.append(PoolDocument(key=key_of("bench", dataset.name, place), dataset=dataset.name, text=text,
                                 language=dataset.language, source=SourceRef(source="made", id=place)))  # fmt: skip
    return made


def one_pair(
    dataset: Dataset, writer: Writer, place: int, documents: list[PoolDocument], number: int
) -> tuple[Pair, PairMaterial]:
    rules = round(dataset.replacements / dataset.pairs) if not dataset.recalls_fact else 0
    answer = writer.name(place)
    fact = packaged_fact(dataset.language) if dataset.recalls_fact else None
    joint = "" if dataset.language == "zh" else " "
    text = fact.fact if fact else f"{writer.sentences(3)}{joint}{answer}。{writer.sentences(3)}"
    pair = Pair(
        key=key_of("bench", dataset.name, f"pair {place}"), dataset=dataset.name,
        question=fact.question if fact else writer.sentences(1), answers=fact.answers if fact else (answer,),
        documents=tuple(Document(id=f"{place}.{one}", text=text if one == 0 else writer.sentences(6))
                        for one in range(2 if dataset.scattered else 1)),
        language=dataset.language, source="made", row=str(place), written=fact, provenance=Provenance(seed=SEED),
    )  # fmt: skip
    facts = fact.confusing_facts if fact else [writer.sentences(1) for _ in range(2 if dataset.confusing_facts else 0)]
    # Keywords as rare as names: each stands in a few documents of the pool.
    rare = [next(word for word in iter(lambda: writer.rng.choice(writer.words[VOCABULARY // 2 :]), "") if len(word) > 1)
            for _ in range(rules)]  # fmt: skip
    made = [Rule(old=old, new=f"{writer.name(place * 10 + turn)}") for turn, old in enumerate(dict.fromkeys(rare))]
    chosen = fact.replacements if fact else tuple(made)
    texts = tuple(Text(f"{pair.id}.{turn}", one, dataset.language) for turn, one in enumerate(facts))
    return pair, PairMaterial(texts, chosen, "", ())


def assembler(
    settings: LVEvalSettings,
    documents: dict[str, list[PoolDocument]],
    pairs: dict[str, list[Pair]],
    materials: dict[str, PairMaterial],
) -> Assembler:
    """An assembler of a dataset that was never released: everything came at once."""
    groups = {(name, 0): own for name, own in pairs.items()}
    by_id = {pair.id: (group, pair) for group, own in groups.items() for pair in own}
    selected = SelectedDocuments((pair for _, pair in by_id.values()), lambda pair: 0)
    came = {name: [(0, document) for document in own] for name, own in documents.items()}
    return Assembler(settings, SEED, came, groups, by_id, materials, selected)


def ours(mixer: Assembler, settings: LVEvalSettings, folder: Path) -> tuple[int, dict[str, int], list[Path]]:
    """Write all files; rows, drops by reason, and the files."""
    store = StageFiles(Store(str(folder)), "lveval", "contexts", "mix_contexts", "bench")

    class Step:
        def __init__(self) -> None:
            self.settings = settings

    step: Any = Step()
    files = context_files(step, mixer)
    drops: dict[str, int] = defaultdict(int)

    def write(index: int, file: RowFile) -> ShardManifest:
        def key(record: Record, slot: Slot) -> str:
            return key_of("lveval", "contexts", record.key, slot)

        def drop(record: Record, slot: Slot, refusal: Drop) -> None:
            drops[refusal.reason] += 1

        with LongTextShardWriter(store, index, file.name, LongContext, "context") as writer:
            for values, text in mix_contexts(file, FilesContext(mixer, key, drop, writer.note)):
                writer.write(values, text)
        return writer.finish(file.planned)

    with ThreadPoolExecutor(CORES) as threads:
        shards = list(threads.map(write, *zip(*reversed(list(enumerate(files))), strict=True)))
    return sum(shard.kept for shard in shards), dict(drops), [Path(store.kept(shard)) for shard in reversed(shards)]


def rewrite(files: list[str]) -> float:
    """Seconds that pyarrow takes to write the rows of these files again."""
    seconds = 0.0
    for file in files:
        source = pq.ParquetFile(file)
        with pq.ParquetWriter(
            f"{file}.again", source.schema_arrow, **long_text_options(source.schema_arrow, "context")
        ) as writer:
            for group in range(source.num_row_groups):
                table: pa.Table = source.read_row_group(group)
                started = time.perf_counter()
                writer.write_table(table)
                seconds += time.perf_counter() - started
            started = time.perf_counter()
        seconds += time.perf_counter() - started
        Path(f"{file}.again").unlink()
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    given = sys.argv[1:] if arguments is None else arguments
    share = float(given[0]) if given else 0.05
    settings = LVEvalSettings()
    with tempfile.TemporaryDirectory() as folder:
        few, own, little = corpus(0)
        short = LVEvalSettings(levels=("1k",))
        ours(assembler(short, own, few, little), short, Path(folder))
    pairs, documents, materials = corpus(share)
    print(f"{'ours, seconds':>16}{'MB/s':>8}{f'pyarrow, {CORES} processes, write only':>40}{'MB/s':>8}{'ratio':>8}")
    ratios = []
    for _ in range(TURNS):
        into = Path(tempfile.mkdtemp(prefix="bench-mix-"))
        try:
            started = time.perf_counter()
            mixer = assembler(settings, documents, pairs, materials)
            rows, drops, files = ours(mixer, settings, into)
            built = time.perf_counter() - started
            sizes = sorted(((file.stat().st_size, str(file)) for file in files), reverse=True)
            texts = sum(_text_bytes(file) for file in files)
            shares = [[name for _, name in sizes[turn::CORES]] for turn in range(CORES)]
            with multiprocessing.get_context("spawn").Pool(CORES) as processes:
                written = max(processes.map(rewrite, shares))
        finally:
            shutil.rmtree(into)
        ratios.append(built / written)
        print(f"{built:>16.1f}{texts / 1e6 / built:>8.0f}{written:>40.1f}{texts / 1e6 / written:>8.0f}"
              f"{ratios[-1]:>8.2f}", flush=True)  # fmt: skip
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{rows:,} contexts of {sum(map(len, pairs.values())):,} pairs, {texts / 1e9:.2f} GB of rows, dropped: {drops}"
    )
    print(f"median ratio {statistics.median(ratios):.2f}; largest memory of ours, with the corpus: {memory:,.0f} MB")


def _text_bytes(file: Path) -> int:
    metadata = pq.ParquetFile(file).metadata
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))


if __name__ == "__main__":
    main()
