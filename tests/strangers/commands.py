"""The commands that read what strangers sent, in forks of one process that has imported what they import."""

from pathlib import Path

from flows import cli
from flows.construct.stages import SOURCE
from flows.project.project import Project
from flows.run.in_process import runner_here
from tests.builds import share_vectors
from tests.faults import scenes
from tests.faults.forks import Child
from tests.fork_server import _import_all

assert scenes  # `build-here`


@cli.app.command(hidden=True)
def read_here(config: Path) -> None:
    """Read all sources of a configuration as a build does."""
    project = Project(config, Path("out"), None)
    build = project.build
    refs = [ref for family, part in build.parts() for ref in build.stages(family, part) if ref.step == SOURCE]
    runner_here(project, build).run([ref for ref in refs if not build.needs(ref)])


def prepare(home: Path) -> None:
    """Import what commands import; what they keep elsewhere is below `home`."""
    _import_all(home / "prefect")


def run(command: str, argument: str, work: Path) -> tuple[int, str, int, str]:
    """Run a command in a folder. Returns its exit status, its errors, the megabytes that it took, and its output."""
    share_vectors(work / "store")
    shown = work.parent / "shown"
    ended = Child((command, argument), work, work.parent / "said", {}, shown=shown).run()
    return ended.status, ended.said, ended.megabytes, shown.read_text(encoding="utf-8", errors="replace")
