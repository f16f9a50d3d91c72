"""What strangers do to files: to the bytes of any, to values, and to the parts of what is packed."""

import gzip
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.strangers.samples import Sample

ODD_BYTES = (
    b"\0", b"\x1b[31m", b"\x07", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xff",
    b"\xf8\x88\x80\x80\x80",
    "\u2028".encode(), "\u202e".encode(), "\u0085".encode(), b"\r", b"\n", b"\t", b'"', b"\\", b"'", b"{", b"[", b"<",
    b"&",
    b"%", b",", b";", b"---\n", b"1e999", b"-", b"9" * 400, b"NaN", b"\x1f\x8b", b"PK\x03\x04", b"%PDF-1.4\n", b"PAR1",
    b"\xe4\xbd\xa0" * 50, b"a" * 300_000, b" " * 300_000, b"\n" * 100_000, b"[" * 50_000, b"(" * 50_000,
    b"<div>" * 20_000,
    b">" * 20_000, b"*" * 20_000, b"`" * 20_000, b"|a" * 5_000, b"&lt;" * 20_000, b"- " * 5_000, b"#" * 5_000,
)  # fmt: skip
VERY_DEEP = "[" * 3_000 + "]" * 3_000
RAW_VALUES = (
    "null", "true", "false", "0", "-1", "1.5", "1e999", "-0.0", "9" * 30, "9" * 5_000, "NaN", "Infinity", '""', '" "',
    "[]",
    "{}", '"\\ud800"', '"\\u0000"', '"\\u001b[31mred"', '"\\u202eright"', '"2024-13-45"', '"0001-01-01"', "[null]",
    '[""]',
    '[["a"]]', '{"a": {"b": []}}', '"' + "a" * 1_000_000 + '"', '"' + "w " * 100_000 + '"',
    "[" + '"a",' * 50_000 + '"a"]',
    VERY_DEEP, "[[[" * 300 + "1" + "]]]" * 300, '"\\n\\n\\n"', '"$$ {{ 7 * 7 }} {% raw %} <script>"',
    '"../../etc/passwd"',
)  # fmt: skip
"""JSON that Python need not be able to hold."""
MARK = "@@value@@"

Mutation = Callable[[bytes, random.Random], bytes]


# ---- bytes ----


def _place(content: bytes, drawn: random.Random) -> int:
    return drawn.randrange(len(content) + 1)


def _slice(content: bytes, drawn: random.Random) -> tuple[int, int]:
    start = _place(content, drawn)
    return start, min(len(content), start + drawn.choice((1, 4, 32, 500, 5_000)))


def flip(content: bytes, drawn: random.Random) -> bytes:
    """Flip some bits."""
    changed = bytearray(content)
    for _ in range(drawn.choice((1, 1, 3, 20))):
        if changed:
            changed[drawn.randrange(len(changed))] ^= 1 << drawn.randrange(8)
    return bytes(changed)


def cut(content: bytes, drawn: random.Random) -> bytes:
    """Keep the beginning, or the end."""
    place = _place(content, drawn)
    return content[:place] if drawn.random() < 0.7 else content[place:]


def leave_out(content: bytes, drawn: random.Random) -> bytes:
    """Leave a stretch out."""
    start, end = _slice(content, drawn)
    return content[:start] + content[end:]


def repeat(content: bytes, drawn: random.Random) -> bytes:
    """Repeat a stretch."""
    start, end = _slice(content, drawn)
    return content[:end] + content[start:end] * drawn.choice((1, 2, 100)) + content[end:]


def swap(content: bytes, drawn: random.Random) -> bytes:
    """Swap two stretches."""
    (one, end), (other, stop) = sorted((_slice(content, drawn), _slice(content, drawn)))
    end = min(end, other)
    return content[:one] + content[other:stop] + content[end:other] + content[one:end] + content[stop:]


def insert(content: bytes, drawn: random.Random) -> bytes:
    """Insert bytes that mean something to some reader."""
    place = _place(content, drawn)
    return content[:place] + drawn.choice(ODD_BYTES) + content[place:]


def numbers(content: bytes, drawn: random.Random) -> bytes:
    """Replace a number with another."""
    found = list(re.finditer(rb"\d+", content))
    if not found:
        return content
    number = drawn.choice(found)
    other = drawn.choice((b"0", b"-1", b"99999999999", b"1e308", b"4294967295", b"1" * 40))
    return content[: number.start()] + other + content[number.end() :]


def encode(content: bytes, drawn: random.Random) -> bytes:
    """Write a text in another encoding, or with other line ends; other bytes as if each were a character."""
    text = content.decode("latin-1" if b"\0" in content else "utf-8", errors="replace")
    return drawn.choice((
        text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-16-be"), text.encode("utf-32"),
        text.encode("latin-1", errors="replace"), text.encode("utf-8-sig"), text.encode("gb18030", errors="replace"),
        text.replace("\n", "\r\n").encode(), text.replace("\n", "\r").encode(), text.replace("\n", " ").encode(),
        text.encode("utf-7"), gzip.compress(content, mtime=0), content * 50,
    ))  # fmt: skip


def nothing(content: bytes, drawn: random.Random) -> bytes:
    """Leave nothing, or nothing to be seen."""
    return drawn.choice(
        (b"", b"\n", b" \n \n", b"\0" * 4096, b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"{}", b"[]", b"null")
    )


OF_BYTES: Sequence[Mutation] = (flip, flip, cut, leave_out, repeat, swap, insert, insert, numbers, encode, nothing)


# ---- values ----


def _nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _nodes(item, (*path, key)))]


def _changed(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """Return the value after `change` was given the container at the end of the path and the key in it."""
    holder = [value]
    at: Any = holder
    for key in (0, *path)[:-1]:
        at = at[key]
    change(at, (0, *path)[-1])
    return holder[0] if holder else None


def value_in(value: Any, drawn: random.Random) -> str:
    """Return JSON of the value with one of those in it replaced, left out, renamed, given twice, or put elsewhere."""
    path = drawn.choice(_nodes(value))
    kind = drawn.choice(("replace", "replace", "replace", "leave out", "rename", "twice", "wrap", "move"))
    raw = drawn.choice(RAW_VALUES)

    def change(holder: Any, key: Any) -> None:
        if kind == "leave out":
            del holder[key]
        elif kind in ("rename", "twice") and isinstance(holder, dict):
            holder[MARK] = holder.pop(key) if kind == "rename" else holder[key]
        elif kind == "wrap":
            holder[key] = drawn.choice(([holder[key]], {"value": holder[key]}, [holder[key]] * 3))
        elif kind == "move":
            holder[key] = str(holder[key])
        else:
            holder[key] = MARK

    text = json.dumps(_changed(json.loads(json.dumps(value)), path, change), ensure_ascii=False)
    if kind in ("rename", "twice"):
        last = str(path[-1]) if path else ""
        return text.replace(
            MARK, last if kind == "twice" else drawn.choice(("", last.upper(), f"{last} ", "\u202e", "x" * 200))
        )
    return text.replace(f'"{MARK}"', raw)


def json_value(content: bytes, drawn: random.Random) -> bytes:
    """Change a value of a JSON file."""
    return value_in(json.loads(content), drawn).encode("utf-8", errors="surrogatepass")


def json_lines_value(content: bytes, drawn: random.Random) -> bytes:
    """Change a value of a line."""
    rows = content.splitlines()
    place = drawn.randrange(len(rows))
    rows[place] = value_in(json.loads(rows[place]), drawn).encode("utf-8", errors="surrogatepass")
    return b"\n".join(rows) + b"\n"


def csv_value(content: bytes, drawn: random.Random) -> bytes:
    """Change a cell, or the number of cells."""
    rows = [line.split(b",") for line in content.split(b"\n")]
    row = drawn.choice(rows)
    cell = drawn.randrange(len(row))
    row[cell : cell + drawn.choice((0, 1))] = drawn.choice((
        [], [b'"'], [b'"""'], [b"a"] * 3, [b"a" * 1_000_000], [b"\x1b[31m"], [b'"a\n\nb"'], [b" "], [b"=cmd()"],
        [b"x"] * 5_000,
        [row[0]], [b"\xff"], [b"\0"],
    ))  # fmt: skip
    return b"\n".join(b",".join(row) for row in rows)


def parquet_value(content: bytes, drawn: random.Random) -> bytes:
    """Give a column another type, another name, or no rows."""
    table = pq.read_table(io.BytesIO(content))
    count = table.num_rows
    place = drawn.randrange(table.num_columns)
    name = table.column_names[place]
    arrays: Sequence[Callable[[], Any]] = (
        lambda: pa.nulls(count), lambda: pa.array([b"\xff\0"] * count), lambda: pa.array([2**63 - 1] * count),
        lambda: pa.array([[["a"]]] * count), lambda: pa.array([{"a": 1}] * count), lambda: pa.array([True] * count),
        lambda: pa.array([float("nan")] * count), lambda: pa.array(["a" * 1_000_000] * count),
        lambda: pa.array([2**53] * count, pa.timestamp("s")), lambda: pa.array([-(2**31)] * count, pa.date32()),
        lambda: pa.array([""] * count), lambda: pa.array(["\0\x1b[31m\u202e"] * count),
        lambda: pa.array(["a"] * count).dictionary_encode(), lambda: pa.array([[]] * count, pa.list_(pa.string())),
        lambda: pa.array([[("k", 1)]] * count, pa.map_(pa.string(), pa.int64())), lambda: pa.array([1] * count,
        pa.uint8()),
        lambda: pa.array([10**30] * count, pa.decimal256(40)), lambda: pa.array([1] * count, pa.duration("s")),
    )  # fmt: skip
    if drawn.random() < 0.7:
        table = table.set_column(place, name, drawn.choice(arrays)())
    else:
        names = list(table.column_names)
        names[place] = drawn.choice(("", names[0], "text", "\u202e", "x" * 500, "question"))
        table = drawn.choice((table.rename_columns(names), table.slice(0, 0), table.select([])))
    file = io.BytesIO()
    pq.write_table(table, file, compression=drawn.choice(("none", "snappy", "zstd", "gzip")))
    return file.getvalue()


def packed_value(content: bytes, drawn: random.Random) -> bytes:
    """Change what a gzip file unpacks to."""
    return gzip.compress(drawn.choice(OF_BYTES)(gzip.decompress(content), drawn), mtime=0)


ENTITIES = (
    b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(8)
    ) + b"]>"
)  # fmt: skip


def office_part(content: bytes, drawn: random.Random) -> bytes:
    """Change a part of a Word file or of slides, leave it out, or add entities that stand for each other."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        telling = [
            name for name in names if name.endswith((".rels", "document.xml", "slide1.xml", "styles.xml", "Types].xml"))
        ]
        chosen = drawn.choice(telling if drawn.random() < 0.7 else names)
        kind = drawn.choice(("bytes", "bytes", "leave out", "entities", "deep", "twice", "tags"))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as other:
            for name in names:
                part = archive.read(name)
                if name == chosen:
                    if kind == "leave out":
                        continue
                    part = _part(part, kind, drawn)
                other.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
            if kind == "twice":
                other.writestr(zipfile.ZipInfo("../../outside.xml"), b"<a/>")
    return file.getvalue()


def _part(part: bytes, kind: str, drawn: random.Random) -> bytes:
    if kind == "entities":
        head, end, body = part.partition(b"?>")
        return head + end + ENTITIES + re.sub(rb">([^<>]+)<", b">&i;<", body, count=1)
    if kind == "deep":
        place = part.rfind(b"</")
        return part[:place] + b"<w:p>" * 20_000 + b"</w:p>" * 20_000 + part[place:]
    if kind == "tags":
        tags = list(re.finditer(rb"<[^<>]*>", part))
        tag = drawn.choice(tags) if tags else None
        return part if tag is None else part[: tag.start()] + part[tag.end() :]
    return drawn.choice(OF_BYTES)(part, drawn) if kind == "bytes" else part


def pdf_part(content: bytes, drawn: random.Random) -> bytes:
    """Change a word of the file's structure, or put a stream that unpacks to far more in place of one."""
    if drawn.random() < 0.2:
        packed = zlib.compress(drawn.choice((b"q ", b"BT (a) Tj ET ", b"\0", b"( ")) * drawn.choice((1_000, 1_000_000)))
        stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
        return re.sub(
            rb"<< /Length \d+ >>\nstream\n.*?\nendstream", lambda found: stream, content, count=1, flags=re.DOTALL
        )
    words = list(re.finditer(rb"/[A-Za-z]+|\d+ 0 R|<[0-9a-f]+>|Tj|Tm|BT|ET", content))
    word = drawn.choice(words)
    other = drawn.choice(
        (b"", b"/Kids", b"2 0 R", b"1 0 R", b"/XObject", b"<</A <</A <<", b"[" * 5_000, b"null", drawn.choice(words)[0])
    )
    return content[: word.start()] + other + content[word.end() :]


OF_VALUES: dict[str, Mutation] = {
    "JSON": json_value, "JSONL": json_lines_value, "CSV": csv_value, "Parquet": parquet_value, "gzip": packed_value,
    "Word": office_part, "slides": office_part, "PDF": pdf_part,
}  # fmt: skip


def mutated(sample: Sample, every: Sequence[Sample], drawn: random.Random) -> tuple[str, bytes]:
    """Return what becomes of a file: the name of the mutation, and the bytes."""
    if drawn.random() < 0.03:
        return "another file", drawn.choice(every).content
    of_values = OF_VALUES.get(sample.kind)
    chosen = of_values if of_values is not None and drawn.random() < 0.5 else drawn.choice(OF_BYTES)
    content = chosen(sample.content, drawn)
    if drawn.random() < 0.2:
        content = drawn.choice(OF_BYTES)(content, drawn)
    return chosen.__name__, content


# ---- configurations ----

RAW_YAML = (
    "null", "true", "yes", "0", "-1", "1.5", ".inf", ".nan", "9" * 30, "9" * 5_000, "1e999", '""', '" "', "[]", "{}",
    "2024-01-31",
    "2024-13-45", "0o17", "1:30", "!!python/object/apply:os.system [id]", "!!binary aGk=", "!!set {a, b}",
    "!unknown x", "*gone",
    "&a [*a]", '"\\e[31mred"', '"\\0"', '"\\u202eright"', '"\\ud800"', "a" * 100_000, "[" * 3_000 + "]" * 3_000,
    "/dev/zero",
    "/dev/stdin", "/", "..", "~", "file:///etc/passwd", "http://127.0.0.1:1/a.jsonl", "ftp://localhost/a",
    "\\\\host\\share",
    "questions.jsonl", "{format: jsonl, path: facts.jsonl}", "{part: uraq-items}", "{part: nowhere}",
    "[1, two, {three: 3}]",
    '"{{ 7 * 7 }}"', "{? [a, b] : c}", "{a: 1, a: 2}", "{<<: {seed: 1}}", "documents", "csv", "hub", "squad", "\t",
)  # fmt: skip


def config_text(content: bytes, drawn: random.Random) -> bytes:
    """Change the bytes."""
    return drawn.choice(OF_BYTES)(content, drawn)


def config_value(content: bytes, drawn: random.Random) -> bytes:
    """Replace a value, leave it out, misspell a key, or add one."""
    value = yaml.safe_load(content)
    path = drawn.choice([node for node in _nodes(value) if node])
    kind = drawn.choice(("replace", "replace", "replace", "leave out", "misspell", "add"))

    def change(holder: Any, key: Any) -> None:
        if kind == "leave out":
            del holder[key]
        elif kind == "misspell" and isinstance(holder, dict):
            letters = list(str(key))
            drawn.shuffle(letters)
            holder["".join(letters)] = holder.pop(key)
        elif kind == "add" and isinstance(holder, dict):
            names = ("models", "budget_usd", "cache", "store", "prices", "prompts", "embedder", "runner", "annotation",
            "release",
                     "schedule", "seed", "limit", "language", "fields", "words", "private", "parts", "unknown",
                     "\x1b[31m")  # fmt: skip
            holder[drawn.choice(names)] = MARK
        else:
            holder[key] = MARK

    changed = yaml.safe_dump(_changed(value, path, change), allow_unicode=True, sort_keys=False, width=10_000)
    return re.sub(f"['\"]?{MARK}['\"]?", lambda found: drawn.choice(RAW_YAML), changed).encode(
        "utf-8", errors="surrogatepass"
    )


OF_CONFIGURATIONS: Sequence[Mutation] = (config_text, config_value, config_value)
