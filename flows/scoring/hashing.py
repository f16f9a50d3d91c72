"""Hashes for draws that a shipped file has to make as we make them.

This module needs the standard library alone: a release ships it as part of scorers.
"""

import hashlib
import json

DIGITS = 16


def drawn_hash(*parts: str | int) -> str:
    """Return the hash of texts and whole numbers that `schemas.base.content_hash` returns of them."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
