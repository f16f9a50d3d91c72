"""Build, then release: a stand-in until the rebuild flow is here."""

from prefect import flow

from flows.build import build
from flows.release import Outcome, release


@flow(name="rebuild", validate_parameters=False)
def rebuild(config: str, out: str, to: str | None = None, hub: str | None = None, refresh: bool = False) -> Outcome:
    """Build and release."""
    build(config, out)
    outcome: Outcome = release(out, to=to, hub=hub)
    return outcome
