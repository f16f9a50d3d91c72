"""A build whose stages are all finished. It needs no Prefect, whose start takes longer than all else."""

import os
from pathlib import Path

from data.store import DamageError
from flows.construct.progress import ProgressListener
from flows.prefect_server.embedded import API
from flows.project.build_report import write_report
from flows.project.gc import note_build
from flows.project.locks import building, one_output
from flows.project.output_files import REPORT, remember, write_output_files
from flows.project.project import Project
from flows.run.damage import stages_of
from schemas.manifest import BuildManifest


def finished_build(project: Project, listener: ProgressListener) -> BuildManifest | None:
    """Write the output files of a build without running anything; None if a stage of it is not finished.

    None, too, if the user names a Prefect server, where the run is to be seen.
    """
    if os.environ.get(API):
        return None
    stages = project.build
    with building(project.state):
        try:
            manifests = {}
            for ref in stages_of(stages):
                if (manifest := stages.manifest(ref)) is None:
                    return None
                manifests[ref] = manifest
            built = write_build(project, listener)
        except DamageError:  # found where the files are read
            return None
        for ref, manifest in manifests.items():
            listener.finished(ref, manifest, before=True, example=None)
        return built


def write_build(project: Project, listener: ProgressListener) -> BuildManifest:
    """Write the output files of a build whose stages are finished, and note that it is there."""
    for note in project.unread_verdicts():
        listener.noted(note)
    manifest = write_output_files(project, listener.noted)
    with one_output(project.state, project.out, listener.noted):
        note_build(project.store, project.out, manifest)
        remember(project)
    return manifest


def report_if_new(project: Project) -> Path:
    """Write the report, unless that of this build is there; return where it is."""
    path = project.out / REPORT
    if not path.exists():
        write_report(project)
    return path
