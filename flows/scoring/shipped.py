"""A family's scorer (or the protocol of its dialogues) as one file, as a release ships it; and its fingerprint."""

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import flows
from schemas.base import content_hash

ROOT = Path(flows.__file__).parent.parent
SCORER = "score.py"


@cache
def scorer_fingerprint(text: str) -> str:
    """Return a hash of what a program does: comments, docstrings and layout have no part in it."""
    return content_hash(_meaning(ast.parse(text)))


def _meaning(node: Any) -> Any:
    if isinstance(node, list):
        return [_meaning(value) for value in node if not _is_docstring(value)]
    if not isinstance(node, ast.AST):
        return repr(node)
    # Without empty fields: a later version of Python adds some.
    fields = {name: value for name, value in ast.iter_fields(node) if value is not None and value != []}
    return [type(node).__name__, {name: _meaning(value) for name, value in fields.items()}]


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def shipped_scorer(folder: Path) -> str:
    """Return the text of `score.py` in a family's folder as one file."""
    return shipped_file(folder / SCORER)


def shipped_file(path: Path) -> str:
    """Return the text of a module, and within it that of each module of ours that it imports.

    Raises `ValueError` for an import that cannot be replaced with the text: it renames, or imports a module.
    """
    source = _Source(path)
    modules: dict[str, _Source] = {}
    _collect(source, modules)
    imports = _merged([line for part in (source, *modules.values()) for line in part.imports])
    texts = [
        f"# ---- {name.rpartition('.')[2].replace('_', ' ')} ----\n\n{part.body}" for name, part in modules.items()
    ]
    return "\n\n".join(
        [f'"""{source.docstring}"""\n\n{imports}', *texts, f"# ---- the {path.stem} ----\n\n{source.body}"]
    )


class _Source:
    """A module's text in parts: its docstring, its imports of the standard library and of our modules, and the rest."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        ours = [node for node in statements if isinstance(node, ast.ImportFrom) and _is_ours(node)]
        if any(alias.asname for node in ours for alias in node.names):
            raise ValueError(f"{path}: a module that a scorer ships imports names as they are")
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        self.imports = [node for node in statements if node not in ours]
        self.ours = [str(node.module) for node in ours]
        last = max((node.end_lineno or 0 for node in statements), default=tree.body[0].end_lineno or 0)
        self.body = "\n".join(text.splitlines()[last:]).strip() + "\n"


def _is_ours(node: ast.ImportFrom) -> bool:
    return (node.module or "").partition(".")[0] == flows.__name__


def _collect(source: _Source, modules: dict[str, _Source]) -> None:
    """Add the modules of ours that a text needs, each after those that it needs itself."""
    for name in source.ours:
        if name not in modules:
            path = ROOT / f"{name.replace('.', '/')}.py"
            if not path.is_file():
                raise ValueError(f"{name}: is no module; a scorer imports the names of one")
            needed = _Source(path)
            _collect(needed, modules)
            modules[name] = needed


def _merged(imports: Sequence[ast.Import | ast.ImportFrom]) -> str:
    """The import statements of several modules, merged."""
    plain = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names: dict[str, set[str]] = {}
    for node in imports:
        if isinstance(node, ast.ImportFrom):
            names.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    lines = [f"import {name}" for name in sorted(plain)]
    lines += [f"from {module} import {', '.join(sorted(taken))}" for module, taken in sorted(names.items())]
    return "\n".join(lines) + "\n"
