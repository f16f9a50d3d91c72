"""Writes the report of a build beside its files."""

from pathlib import Path

from data.store import Store
from flows.project.output_files import PEOPLE_REPORT, REPORT, read_manifest
from flows.project.project import Project
from flows.report.page import report_page


def write_report(project: Project) -> Path:
    """Write `report.html` for the build in the project's output folder. Raises `NoBuild`."""
    manifest = read_manifest(project.out)
    assert manifest is not None
    beside = PEOPLE_REPORT if (project.out / PEOPLE_REPORT).exists() else None
    page = report_page(project.build, manifest, beside)
    path = project.out / REPORT
    Store(str(project.out)).write(str(path.resolve()), page.encode())
    return path
