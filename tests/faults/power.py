"""A loss of power: of what a process wrote, what a file system may still have.

What was there before the command is on the disk. POSIX promises the content of a file as it was at its last fsync, and
the names in a folder as they were at the folder's. Beyond that, all or nothing of the rest may be there, too; three of
the many states stand for the others: nothing of it, all names without the contents, and all contents without the names.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES, CONTENTS = "power, names ahead", "power, contents ahead"


@dataclass(frozen=True)
class Disk:
    """The content of files and the names in folders, by inode."""

    files: Mapping[int, bytes | Path]
    """A path is where a link leads."""
    folders: Mapping[int, Mapping[str, int]]


def disk_of(root: Path) -> Disk:
    """Read all that is in a folder now."""
    files: dict[int, bytes | Path] = {}
    folders: dict[int, dict[str, int]] = {}
    for place, below, names in os.walk(root):
        folder = Path(place)
        folders[folder.stat().st_ino] = {name: (folder / name).lstat().st_ino for name in (*below, *names)}
        for path in map(folder.joinpath, names):
            files[path.lstat().st_ino] = path.readlink() if path.is_symlink() else path.read_bytes()
    return Disk(files, folders)


def lose_power(root: Path, before: Disk, synced: Path, kind: str) -> None:
    """Leave in a folder what a disk may have of it, given what it had before and what was synced since."""
    now, on_disk = disk_of(root), _synced(before, synced)
    names = now.folders if kind == NAMES else on_disk.folders
    contents = {**on_disk.files, **now.files} if kind == CONTENTS else on_disk.files
    top = root.stat().st_ino
    shutil.rmtree(root)
    _write(root, top, names, contents, {*now.folders, *on_disk.folders})


def _synced(before: Disk, synced: Path) -> Disk:
    files, folders = dict(before.files), dict(before.folders)
    for path in synced.iterdir():
        kind, _, inode = path.name.partition("-")
        if kind == "f" and inode.isdecimal():
            files[int(inode)] = path.read_bytes()
        elif inode.isdecimal():
            lines = (line.split(" ", 2) for line in path.read_text(encoding="utf-8").splitlines())
            folders[int(inode)] = {name: int(number) for _, number, name in lines}
    return Disk(files, folders)


def _write(
    place: Path,
    inode: int,
    names: Mapping[int, Mapping[str, int]],
    contents: Mapping[int, bytes | Path],
    folders: set[int],
) -> None:
    place.mkdir()
    for name, number in names.get(inode, {}).items():
        if number in folders:
            _write(place / name, number, names, contents, folders)
        elif isinstance(content := contents.get(number, b""), Path):
            (place / name).symlink_to(content)
        else:
            (place / name).write_bytes(content)
