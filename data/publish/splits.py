"""The choice of rows that are kept back as a private share."""

from schemas.base import HASH_LENGTH, content_hash

_DRAWS = 1 << 4 * HASH_LENGTH


def is_held_out(canary: str, key: str, share: float) -> bool:
    """Return whether a key belongs to the private share, a number from 0 (nothing) to 1 (everything).

    The choice depends on the dataset's canary and the key alone. A row therefore stays on its side in every version,
    whatever other rows are added or removed and whatever the seed, and a larger share includes every smaller one. Rows
    that give each other away (the levels of one pair, the settings of one item) share a key: that of their origin.
    """
    return int(content_hash(canary, "held out", key), 16) < share * _DRAWS
