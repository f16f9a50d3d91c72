"""What has to be set before a publication is known before anything is done for it."""

import json
from collections.abc import Iterator

import pytest
from huggingface_hub import HfApi

from data.publish import hub_repository
from data.publish.hub_access import access_problems
from schemas.errors import Failed
from tests.hub import HubServer

REPO = "acme/sample"
TOKEN, READER = "hf_plantedSecret0123456789", "hf_reader"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that the client takes for the Hub; retries do not wait."""
    monkeypatch.setattr(hub_repository, "WAITS_S", (0.0,))
    with HubServer(tokens={TOKEN: "write", READER: "read"}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def test_a_dataset_that_is_writable_or_can_be_made_is_no_problem(hub: HubServer) -> None:
    assert access_problems(REPO) == []
    assert hub.repos == {}, "nothing is made"
    hub.made(REPO)
    assert access_problems(REPO) == []


def test_a_token_that_is_missing_or_unknown(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_unknown")
    assert access_problems(REPO) == [
        f"HF_TOKEN: {hub.url} does not take this token; put one there that may write to acme/sample"
    ]
    monkeypatch.setenv("HF_TOKEN", f"{TOKEN}\x01")
    assert access_problems(REPO) == ["HF_TOKEN: has characters that no token has; copy it again"]
    hub.requests.clear()
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("data.publish.hub_access.get_token", lambda: None)
    (problem,) = access_problems(REPO)
    assert problem.startswith("HF_TOKEN: is not set; ")
    assert hub.requests == []


@pytest.mark.parametrize("answer", [{}, {"name": "acme", "orgs": [{}]}, ["acme"]])
def test_a_server_that_is_no_hub_is_named(answer: object, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HfApi, "whoami", lambda _: answer)
    with pytest.raises(Failed) as refused:
        access_problems(REPO)
    assert str(refused.value).startswith(f"acme/sample: {hub.url} does not answer as the Hub does (")
    assert str(refused.value).endswith("); correct HF_ENDPOINT, or unset it")


@pytest.mark.parametrize("content", ["<html>Log in to this network</html>", "[" * 200_000])
def test_a_page_in_place_of_the_hub_is_named(content: str, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HfApi, "whoami", lambda _: json.loads(content))
    with pytest.raises(Failed, match="does not answer as the Hub does"):
        access_problems(REPO)


def test_a_token_that_may_only_read(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", READER)
    line = "acme/sample: the token of acme may not write there; put one that may in HF_TOKEN"
    assert access_problems(REPO) == [line]
    hub.made(REPO)
    assert access_problems(REPO) == [line]


def test_an_owner_under_whose_name_the_token_makes_nothing(hub: HubServer) -> None:
    hub.orgs = {"lab": "write", "readers": "read"}
    assert access_problems("lab/sample") == []
    for owner in ("other", "readers"):
        assert access_problems(f"{owner}/sample") == [
            f"{owner}/sample: there is no such dataset that the token of acme opens, and it may make none under "
            f"{owner}; it may under acme, lab"
        ]


def test_a_name_that_is_none(hub: HubServer) -> None:
    (problem,) = access_problems("sample")
    assert problem == "sample: expected a dataset as OWNER/NAME"
    assert hub.requests == []


def test_a_hub_that_does_not_answer_is_no_fault_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_repository, "WAITS_S", (0.0,))
    with HubServer() as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(Failed, match=r"acme/sample: .* does not answer \(ConnectError\); check the network"):
        access_problems(REPO)
