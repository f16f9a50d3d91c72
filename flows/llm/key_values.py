"""Keys and values that a transformers model keeps of the tokens it has read: going back in them, and copying them."""

import copy
from typing import Any


def can_crop(cache: Any) -> bool:
    """Whether the cache can go back to an earlier state."""
    from transformers.cache_utils import DynamicLayer

    kinds = _layer_types(cache)
    return bool(kinds) and all(kind is DynamicLayer for kind in kinds)


def can_fork(cache: Any) -> bool:
    """Whether several texts can go on from the cache."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    kinds = _layer_types(cache)
    return bool(kinds) and all(kind in (DynamicLayer, DynamicSlidingWindowLayer) for kind in kinds)


def fork(cache: Any, times: int) -> Any:
    """A copy of the cache for this many texts at once; layers replace their tensors and never write into them."""
    if cache is None:
        return None
    copied = copy.copy(cache)
    copied.layers = [copy.copy(layer) for layer in cache.layers]
    copied.batch_repeat_interleave(times)
    return copied


def _layer_types(cache: Any) -> list[type]:
    return [type(layer) for layer in getattr(cache, "layers", ())]
