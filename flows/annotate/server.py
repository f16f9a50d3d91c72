"""The Label Studio that a configuration names: the project's own, or the user's."""

import os
from pathlib import Path

from annotation.label_studio import server
from annotation.label_studio.client import Client, connect
from flows.project.settings import LOCAL, Config
from schemas.errors import Failed, WrongInput

KEY = "LABEL_STUDIO_API_KEY"


def server_folder(config: Config) -> Path:
    """Where the project's own server has its installation, its database and its passwords."""
    return config.state / "label-studio"


def connect_configured(config: Config) -> Client:
    """The client of the configured server.

    Raises `Failed` where the local one does not answer, `WrongInput` without a key for another, and `connect`'s errors.
    """
    url = config.annotation.url
    if url == LOCAL:
        running = server.running(server_folder(config))
        if running is None:
            raise Failed(
                "the local Label Studio does not run, or does not answer; `touchstone label-studio up` starts it"
            )
        return connect(running.url, running.owner.token)
    key = os.environ.get(KEY, "")
    if not key:
        raise WrongInput(
            f"{url}: its key is missing: make an access token on your account page there and put it into the "
            f"environment variable {KEY}"
        )
    return connect(url, key)
