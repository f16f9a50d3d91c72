"""The Label Studio in a configuration: the project's own, or the user's."""

import os
import shlex
from pathlib import Path

from annotation.label_studio import server
from annotation.label_studio.client import Client, connect
from flows.project.annotation_settings import LOCAL
from flows.project.project import Project
from flows.project.settings import Config, default_config
from schemas.errors import Failed, WrongInput

KEY = "LABEL_STUDIO_API_KEY"


def server_folder(config: Config) -> Path:
    """Return the folder of the project's own server, with its installation, database and passwords."""
    return config.state / "label-studio"


def connect_configured(project: Project) -> Client:
    """Return the client of the configured server.

    Raises `Failed` if the local one does not answer, `WrongInput` without a key for another, and `connect`'s errors.
    """
    config, path = project.config, project.config_path
    url = config.annotation.url
    if url == LOCAL:
        running = server.running(server_folder(config))
        if running is None:
            start = "touchstone label-studio up" + ("" if path == default_config() else f" {shlex.quote(str(path))}")
            raise Failed(f"the local Label Studio is not running, or does not answer; `{start}` starts it")
        return connect(running.url, running.owner.token)
    key = os.environ.get(KEY, "")
    if not key:
        raise WrongInput(
            f"{url}: its key is missing: make an access token on your account page there, and set the "
            f"environment variable {KEY}"
        )
    return connect(url, key)
