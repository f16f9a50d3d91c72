"""What is hidden in a text, and what is not."""

import logging
import pickle

import pytest

from schemas.errors import Failed, WrongInputs
from schemas.secrets import hide_in_logs, is_secret, names_secret, without_secrets, without_tokens

RUN = "Ab3dEf7hIj1lMn0pQr5tWxYz"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a key sk-proj-{RUN}, refused", "a key ***, refused"),
        (f"Bearer hf_{RUN}", "Bearer ***"),
        ("'AKIAABCDEFGHIJKLMNOP'", "'***'"),
        (f"ghp_{RUN}{RUN}", "***"),
        (f"eyJ{RUN}.eyJ{RUN}.{RUN}", "***"),
        ("postgresql://anna:pw@host/db?password=hunter2&sslmode=require", "postgresql://***@host/db?password=***&sslmode=require"),
        ("mysql://anna:p/w@x@host/db", "mysql://***@host/db"),
        (f"https://{RUN}@host/x", "https://***@host/x"),
        ("https://h/x?X-Amz-Signature=0f1a&X-Amz-Date=20260101", "https://h/x?X-Amz-Signature=***&X-Amz-Date=20260101"),
        ("https://h/x?id=1&api_key=0f1a", "https://h/x?id=1&api_key=***"),
    ],
)  # fmt: skip
def test_a_secret_is_hidden_and_the_rest_stays(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "data/sk-learn-documentation-2024-english.jsonl: no such file",
        "http://127.0.0.1:8000/v1/models@main: and https://host/@anna/x, mail anna@example.org",
        "http://127.0.0.1:8000?x=a@b",
        "sftp://anna@host/x",
        "https://h/x?author=anna&design=2&page=3",
        "touchstone: a.yaml: models.m.api_key_env: expected the name of an environment variable",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert without_tokens(text) == text
    assert not is_secret(text)


def test_the_environments_secrets_are_hidden_and_paths_and_short_values_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "open-sesame")
    monkeypatch.setenv("PGPASSWORD", "open-sesame-too")
    monkeypatch.setenv("TLS_KEY", "/etc/tls.pem")
    monkeypatch.setenv("OTHER_TOKEN", "true")
    monkeypatch.setenv("KEYBOARD", "qwertyuiop")
    text = "open-sesame and open-sesame-too, /etc/tls.pem, true, qwertyuiop"
    assert without_secrets(text) == "*** and ***, /etc/tls.pem, true, qwertyuiop"


def test_a_token_of_no_known_form_is_hidden_where_only_names_are_written() -> None:
    assert without_secrets(RUN) == RUN
    assert without_tokens(f"families.{RUN}: unknown family") == "families.***: unknown family"
    assert without_tokens(f"/data/{RUN}/x.jsonl, a {RUN}/b") == f"/data/{RUN}/x.jsonl, a {RUN}/b"


def test_names_of_secrets() -> None:
    assert all(map(names_secret, ("api_key", "Authorization", "x-auth", "accessToken", "password")))
    assert not any(map(names_secret, ("top_k", "api_key_env", "tokenizer", "author", "keys_of")))


def test_an_error_holds_no_secret_not_even_sent_to_another_process() -> None:
    error = WrongInputs(f"a: sk-{RUN}", "b: postgresql://a:b@c/d")
    assert pickle.loads(pickle.dumps(error)).problems == error.problems == ("a: ***", "b: postgresql://***@c/d")
    assert str(Failed(f"sk-{RUN}")) == "***"


def test_logs_hold_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    before, handler = logging.getLogRecordFactory(), logging.StreamHandler()
    log = logging.Logger("secrets")
    log.addHandler(handler)
    hide_in_logs()
    try:
        log.warning("of %s: %d", f"sk-{RUN}", 1)
        try:
            raise ValueError(f"postgresql://a:{RUN}@c/d")
        except ValueError:
            log.exception("broken")
        log.warning("%s of none", "one")
    finally:
        logging.setLogRecordFactory(before)
    said = capsys.readouterr().err
    assert RUN not in said
    assert "of ***: 1\nbroken\nTraceback" in said
    assert "ValueError: postgresql://***@c/d\none of none\n" in said
