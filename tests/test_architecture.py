"""The rooms and their doors: who may import whom, and what stays out of a quick command."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("schemas", "data", "annotation", "flows")
MAY_IMPORT = {
    "schemas": {"schemas"},
    "data": {"schemas", "data"},
    "annotation": {"schemas", "annotation"},
    "flows": {"schemas", "data", "annotation", "flows"},
}
FENCES = {
    "prefect": (
        "flows/run/flow.py", "flows/annotate/flow.py", "flows/release/flow.py", "flows/rebuild/flow.py",
        "flows/serve/", "flows/prefect_server/",
    ),
    "distributed": ("flows/run/cluster.py",),
    "faiss": ("flows/construct/",),
    "sentence_transformers": ("flows/construct/",),
    "label_studio_sdk": ("annotation/label_studio/",),
    "huggingface_hub": ("data/sources/hub.py", "data/publish/", "flows/llm/loading.py"),
    "datasets": ("data/sources/hub.py", "data/publish/", "flows/families/charpeval/score.py"),
    "openai": ("flows/llm/client.py", "flows/llm/connection.py", "flows/llm/batch_api.py"),
    "uv": ("annotation/label_studio/install.py",),
    "crowdkit": ("annotation/reliability.py",),
    "trafilatura": ("data/sources/documents/",),
    "pypdfium2": ("data/sources/documents/",),
    "docx": ("data/sources/documents/office.py",),
    "pptx": ("data/sources/documents/office.py",),
    # Rows in temporary files without a name; and the error of a library that refuses to unpickle.
    "pickle": ("flows/construct/rows_on_disk.py", "flows/construct/sequences_on_disk.py", "flows/llm/loading.py"),
    "joblib": (), "dill": (), "cloudpickle": (), "marshal": (), "shelve": (),
}  # fmt: skip
HEAVY = (
    "prefect", "torch", "transformers", "sentence_transformers", "faiss", "datasets", "openai", "pandas", "pyarrow",
    "numpy", "sqlalchemy", "huggingface_hub", "lemminflect", "label_studio_sdk", "httpx", "uv", "crowdkit",
    "trafilatura", "pypdfium2", "docx", "pptx",
)  # fmt: skip
OF_THE_SERVER = "annotation/label_studio/page/"
"""It runs in Label Studio's environment."""
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
"""Lines."""
FLOORS = (
    {"flows.language", "flows.loopback", "schemas"},
    {"annotation", "data", "flows.llm", "flows.prefect_server", "flows.scoring"},
    {"flows.construct"},
    {"flows.families", "flows.report"},
    {"flows.project"},
    {"flows.run", "flows.annotate", "flows.new"},
    {"flows.evaluate"},
    {"flows.release"},
    {"flows.profile", "flows.results"},
    {"flows.rebuild"},
    {"flows.serve"},
    {"flows.cli"},
)
"""The rooms from the ground up: each uses rooms below its own floor alone."""


@cache
def syntax() -> dict[str, list[ast.AST]]:
    """By path from the root, the nodes of every module of the product."""
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {str(path.relative_to(ROOT)): [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))] for path in paths}


@cache
def imports() -> list[tuple[str, str]]:
    """(path from the root, imported module) of every import of the product."""
    pairs: list[tuple[str, str]] = []
    for path, nodes in syntax().items():
        for node in nodes:
            if isinstance(node, ast.Import):
                pairs += ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                pairs.append((path, node.module))
                pairs += ((path, f"{node.module}.{alias.name}") for alias in node.names)
    return pairs


def test_packages_import_one_way() -> None:
    for path, module in imports():
        room, target = path.split("/")[0], module.split(".")[0]
        assert target not in PACKAGES or target in MAY_IMPORT[room], f"{path} imports {module}"


@pytest.mark.parametrize("library", FENCES)
def test_fenced_libraries_stay_in_their_rooms(library: str) -> None:
    for path, module in imports():
        if module.split(".")[0] == library:
            assert path.startswith(FENCES[library]), f"{path} imports {module}"


def room_of(module: str) -> str:
    """`flows.run` of `flows.run.estimate`; the whole package of `data`, `schemas` and `annotation`."""
    return ".".join(module.split(".")[: 2 if module.startswith("flows.") else 1])


def test_every_room_uses_rooms_below_it_alone() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    for path, module in imports():
        if module.split(".")[0] not in PACKAGES or module == "flows":
            continue
        own, used = room_of(path.removesuffix(".py").replace("/", ".")), room_of(module)
        assert own == used or floor[used] < floor[own], f"{path} imports {module}"


LOADS_A_MODEL = ("from_pretrained", "SentenceTransformer", "CrossEncoder")
WITH_WEIGHTS = ("SentenceTransformer", "CrossEncoder", "AutoModel")


def test_nothing_that_is_read_runs() -> None:
    """Ruff's rules hold eval, exec and unsafe YAML (S102, S307, S506); this holds what it does not know."""
    calls = [(path, node) for path, nodes in syntax().items() for node in nodes if isinstance(node, ast.Call)]
    models = 0
    for path, call in calls:
        name = ast.unparse(call.func)
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        assert name not in ("torch.load", "eval", "exec"), f"{path}:{call.lineno}"
        assert "allow_pickle" not in options, f"{path}:{call.lineno}"
        if name.rpartition(".")[2] in LOADS_A_MODEL:
            models += 1
            assert options.get("trust_remote_code") == "False", f"{path}:{call.lineno}"
            if name.startswith(WITH_WEIGHTS):
                told = f"{options.get('model_kwargs')} {options.get(None)} {options.get('use_safetensors')}"
                assert "WEIGHTS" in told or "True" in told, f"{path}:{call.lineno}"
    assert models >= 7


ONE_WAY = {
    "Console": (), "typer.echo": ("flows/cli.py",),
    "print": ("flows/project/installation.py", "flows/scoring/scorer.py"),
    "jinja2.Environment": ("flows/report/template.py", "data/publish/markdown.py"),
    "Environment": ("data/publish/harness.py",),
}  # fmt: skip
"""Who writes to the terminal beside `flows/project/console.py`, and has templates beside the sandbox: of ours alone."""


def test_texts_leave_by_one_way() -> None:
    for path, nodes in syntax().items():
        for node in nodes:
            if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in ONE_WAY:
                assert path in ONE_WAY[name], f"{path}:{node.lineno}: {name}"


def test_modules_and_functions_are_short() -> None:
    for path, nodes in syntax().items():
        assert (ROOT / path).read_text(encoding="utf-8").count("\n") <= LONGEST_MODULE, path
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or node.lineno) - node.lineno < LONGEST_FUNCTION, f"{path}: {node.name}"


def test_nothing_lies_between_the_rooms() -> None:
    assert [path.name for path in sorted((ROOT / "flows").glob("*.py"))] == ["__init__.py", "cli.py"]


def test_no_imports_run_in_a_circle() -> None:
    paths = {path for path, _ in imports()}
    # Packages out of which a module is imported: of `from flows.report import svg`, the package itself is not used.
    through = {
        (path, module.rpartition(".")[0]) for path, module in imports() if f"{module.replace('.', '/')}.py" in paths
    }

    def file_of(module: str) -> str | None:
        place = module.replace(".", "/")
        return next((path for path in (f"{place}.py", f"{place}/__init__.py") if path in paths), None)

    uses: dict[str, set[str]] = {path: set() for path in paths}
    for path, module in imports():
        used = file_of(module)
        if used is not None and used != path and not (used.endswith("__init__.py") and (path, module) in through):
            uses[path].add(used)
    while ground := {path for path, used in uses.items() if not used}:
        uses = {path: used - ground for path, used in uses.items() if path not in ground}
    assert not uses, sorted(uses)


def test_only_a_family_imports_itself() -> None:
    families = {path.split("/")[2] for path in syntax() if path.startswith("flows/families/") and path.count("/") > 2}
    for path, module in imports():
        if module.startswith("flows.families.") and (family := module.split(".")[2]) in families:
            assert path.startswith(f"flows/families/{family}/"), f"{path} imports {module}"


def test_only_the_composition_knows_the_rules() -> None:
    for path, module in imports():
        if module.startswith("flows.families.") and "rules" in module.split(".")[3:4]:
            is_part = path.startswith(f"flows/families/{module.split('.')[2]}/rules")
            assert is_part or path == "flows/project/project.py", f"{path} imports {module}"


def test_families_run_without_their_rules() -> None:
    code = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('flows.families.') and 'rules' in name.split('.')[3:4]:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "from flows.families import family_names, load_family\n"
        "print([load_family(name).name for name in family_names()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "uraq" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['touchstone', '--help']\n"
        "from flows.cli import main\n"
        "main()\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


def test_reading_a_build_imports_nothing_that_makes_tables_or_asks_models() -> None:
    code = (
        "import sys\n"
        "import flows.run.reading\n"
        "from flows.families import family_names, load_family\n"
        "for name in family_names(): load_family(name)\n"
        "print([name for name in ('pandas', 'torch', 'openai', 'prefect') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_library_imported_is_a_declared_dependency() -> None:
    import importlib.metadata
    import re
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    listed = [*project["dependencies"], *optional["dask"], *optional["office"]]
    declared = {re.split(r"[\[<>=! ]", one)[0].lower().replace("_", "-") for one in listed}
    carried = importlib.metadata.packages_distributions()
    for path, module in imports():
        top = module.split(".")[0]
        if top in PACKAGES or top in sys.stdlib_module_names or path.startswith(OF_THE_SERVER):
            continue
        names = {name.lower().replace("_", "-") for name in carried.get(top, ())}
        assert names & declared, f"{path} imports {module}, which no declared dependency carries"


def test_the_build_backend_finds_every_package() -> None:
    import tomllib

    from setuptools import find_namespace_packages

    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    packages = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for package in PACKAGES
        for path in (ROOT / package).rglob("__init__.py")
    }
    assert set(find_namespace_packages(str(ROOT), **tool)) == packages


def test_the_repository_speaks_of_the_product_alone() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    forbidden = ("/" + "work/", "/" + "farm/")
    for name in tracked:
        path = ROOT / name
        assert not path.is_symlink(), name
        if path.suffix in (".py", ".md", ".toml", ".yaml", ".j2", ".txt") or path.name in ("Makefile", "run"):
            text = path.read_text(encoding="utf-8")
            assert not any(word in text for word in forbidden), name
