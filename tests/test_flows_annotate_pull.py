"""What a pull makes of submissions, without a server."""

import pytest

from annotation.label_studio.sync import Submitted
from flows.annotate.pull import _read
from tests.toy import WORDS

AT = "2026-01-05T09:00:00Z"


@pytest.mark.parametrize(("owner", "by"), [("a1", "a1"), ("all", "account 0")])
def test_work_of_a_deleted_account_stays_that_of_its_queue(owner: str, by: str) -> None:
    # Label Studio keeps the work, and forgets who did it.
    row = {"id": 1, "completed_by": None, "created_at": AT, "updated_at": AT}
    (_, (read,)) = _read({WORDS.name: WORDS}, [Submitted(f"toys/{WORDS.name}@1/{owner}", 1, {}, row)], {1: "a1"})
    assert read.by == by
