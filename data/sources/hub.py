"""A data set on the Hugging Face Hub, with a field map."""

import os
from collections.abc import Iterator

from data.sources.spec import Row, SourceError
from schemas.errors import first_line

DEFAULT_SPLIT = "train"


def located(path: str) -> tuple[str, str | None, str]:
    """Return `OWNER/NAME[/CONFIG][:SPLIT]` as (repository, configuration, split)."""
    place, _, split = path.partition(":")
    owner, name, *more = [*place.split("/"), ""][:4]
    if not owner or not name or place.count("/") > 2:
        raise SourceError(f"{path}: expected OWNER/NAME[/CONFIG][:SPLIT]; name the repository as the Hub does")
    config = more[0] if more and more[0] else None
    return f"{owner}/{name}", config, split or DEFAULT_SPLIT


def hub_commit(path: str, revision: str | None) -> str:
    """Return the commit of a branch or a tag of the repository now; by default, of its default branch."""
    repository, _, _ = located(path)

    from httpx2 import HTTPError
    from huggingface_hub import HfApi

    try:
        commit = HfApi(endpoint=os.environ.get("HF_ENDPOINT")).dataset_info(repository, revision=revision).sha
    except (HTTPError, OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if commit is None:
        raise SourceError(f"{path}: the Hub names no commit of it; check the name")
    return commit


def _unreadable(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"{path}: expected a data set on the Hub, found {first_line(error)}; check the name, the network and HF_TOKEN"
    )


def hub_rows(path: str, revision: str | None = None) -> Iterator[Row]:
    """Yield the rows of the split at a commit, numbered from 1; they are streamed."""
    repository, config, split = located(path)

    import datasets

    try:
        rows = datasets.load_dataset(repository, config, split=split, streaming=True, revision=revision)
        for number, values in enumerate(rows, start=1):
            yield Row(path, f"row {number}", values)
    except (OSError, ValueError) as error:  # no such repository, configuration or split; no network
        raise _unreadable(path, error) from error
