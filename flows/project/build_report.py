"""Writes a build's report into its output folder."""

from pathlib import Path

from data.whole_file import write_whole
from flows.project.output_files import PEOPLE_REPORT, REPORT, read_manifest
from flows.project.private_sources import PrivateSources
from flows.project.project import Project


def write_report(project: Project) -> Path:
    """Write `report.html` for the build in the project's output folder. Raises `NoBuild`."""
    from flows.report.page import report_page  # imports pandas, which is needed only if something is new

    manifest = read_manifest(project.out)
    beside = PEOPLE_REPORT if (project.out / PEOPLE_REPORT).exists() else None
    path = project.out / REPORT
    finished = Project(project.config_path, project.out, project.limit, built=manifest, store=project.config.store)
    private = PrivateSources(finished).rows_by_part()
    write_whole(path, report_page(finished.build, manifest, beside, private).encode())
    return path
