"""Which rows are kept back as a private share."""

from schemas.base import HASH_LENGTH, content_hash

_DRAWS = 1 << 4 * HASH_LENGTH


def is_held_out(canary: str, key: str, share: float) -> bool:
    """Whether what stands under `key` belongs to the private share, a number from 0 (nothing) to 1 (everything).

    It follows from the dataset's canary and the key alone: a row stays on its side through every version, whatever is
    added or removed beside it and whatever seed it was built with, and a larger share keeps all that a smaller one
    did. Rows that give each other away (the levels of one pair, the settings of one item) are asked for under one
    key: that of what they were all made from.
    """
    return int(content_hash(canary, "held out", key), 16) < share * _DRAWS
