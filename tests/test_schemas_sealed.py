"""A record that is a file of its own: whatever byte of it is flipped, it is refused, or says the same."""

import json

import pytest
from pydantic import ValidationError

from schemas.manifest import ShardManifest, UsageOfPrompt
from schemas.sealed import SEAL

MANIFEST = ShardManifest(
    index=0, stop=5, mark="0a1b2c3d", planned=5, kept=3, dropped={"too short": 2}, kept_sha256="a" * 64,
    dropped_sha256="b" * 64, usage={"ask": UsageOfPrompt(calls=7, cost_usd=0.1 + 0.2)}, seconds=1e-05,
    notes=("né à São Paulo",),
)  # fmt: skip


@pytest.mark.parametrize("indent", [False, True])
@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_is_found_out(bit: int, *, indent: bool) -> None:
    content = MANIFEST.sealed(indent=indent)
    assert ShardManifest.model_validate_json(content) == MANIFEST
    refused = 0
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        try:
            assert ShardManifest.model_validate_json(bytes(flipped)) == MANIFEST
        except ValidationError:
            refused += 1
    assert refused > 0.9 * len(content)


def test_a_file_of_an_earlier_version_has_no_checksum_and_is_read() -> None:
    assert ShardManifest.model_validate_json(MANIFEST.model_dump_json()) == MANIFEST


def test_a_changed_number_is_refused_with_the_reason() -> None:
    values = {**json.loads(MANIFEST.sealed()), "kept": 4}
    with pytest.raises(ValidationError, match="not as it was written"):
        ShardManifest.model_validate(values)
    del values[SEAL]
    assert ShardManifest.model_validate(values).kept == 4
