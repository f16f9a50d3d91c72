"""YAML that cannot be read is one line, of the configuration and of the prices alike."""

from pathlib import Path

import pytest

from flows.llm.prices import PriceFileError
from flows.project.models import Models
from flows.project.settings import ConfigError, load_config
from flows.project.yaml_file import yaml_in
from schemas.errors import WrongInput

TEXTS = {
    "m: 2026-13-45": "not valid YAML in line 1: a value cannot be read as timestamp; correct it, or put it in quotes",
    "m: !!timestamp foo": "not valid YAML in line 1: a value cannot be read as timestamp; ",
    "m: !!bool foo": "not valid YAML in line 1: a value cannot be read as bool; ",
    'a: 1\nm: {input_per_million: !!int "", output_per_million: 1}': "not valid YAML in line 2: a value cannot be read "
    "as int; ",
    'm: !!float ""': "not valid YAML in line 1: a value cannot be read as float; ",
    "m: " + "1:" * 200 + "1.0": "not valid YAML in line 1: a value cannot be read as float; ",
    "m: " + "1" * 5000: "not valid YAML in line 1: a value cannot be read as int; ",
    "m: 0x" + "1" * 5000: "not valid YAML in line 1: a value cannot be read as int; ",
    "m: 1\nm: 2": "not valid YAML in line 2: the key 'm' is there twice",
    "1: 1\n1: 2": "not valid YAML in line 2: the key 1 is there twice",
    "? [a]\n: 2": "not valid YAML in line 1: a key is not text; put it in quotes",
    "m: [": "not valid YAML in line 1: while parsing a flow node, ",
    "m: \x01": "not valid YAML: ",
    "[" * 100_000: "it is nested too deeply, or an anchor contains itself; write it out",
    "a: &a " + "[" * 90 + "]" * 90 + "\nb: " + "[" * 90 + "*a" + "]" * 90: "it is nested too deeply, or an anchor ",
    "m: &m !!pairs [a: *m]": "it is nested too deeply, or an anchor contains itself; write it out",
    "m: &m [*m]": "it is nested too deeply, or an anchor contains itself; write it out",
    "m: \udcff": "cannot be read ('utf-8' codec can't decode byte 0xff in position 3: ",
}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_yaml_cannot_read_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(WrongInput) as refused:
        yaml_in(path, "name another")
    assert str(refused.value).startswith(f"{path}: {TEXTS[text]}")
    assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError) as config_refused:
        load_config(path)
    assert str(config_refused.value) == str(refused.value)

    config = tmp_path / "config.yaml"
    config.write_text("name: mine\nprices: mine.yaml\nfamilies: {uraq: {}}\n", encoding="utf-8")
    with pytest.raises(PriceFileError) as prices_refused:
        assert Models(config, load_config(config)).prices
    assert str(prices_refused.value) == f"{config}: prices: {refused.value}"


def test_an_empty_file_of_prices_has_none(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("# none yet\n", encoding="utf-8")
    config = tmp_path / "config.yaml"
    config.write_text("name: mine\nprices: prices.yaml\nfamilies: {uraq: {}}\n", encoding="utf-8")
    assert not Models(config, load_config(config)).prices.of("home-grown").is_known
