"""Prefect's server behind the guard: Prefect itself answers to any name, and to pages of all sites.

Its login is Prefect's own setting, `PREFECT_SERVER_API_AUTH_STRING`.
"""

from flows.loopback.guard import App, Guard


def guarded_app() -> App:
    """Return the server as the environment sets it."""
    from prefect.server.api.server import create_app  # seconds, and of no use to a command

    return Guard(create_app())
