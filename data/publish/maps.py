"""Arrow's map type, which `datasets` cannot read: released as a list of `{key, value}`, read back as a mapping."""

from typing import Any

import pyarrow as pa

_MARK = {b"touchstone": b"map"}


def without_maps(field: pa.Field) -> pa.Field:
    """Return the field with every map in it, at any depth, as a marked list of `{key, value}`."""
    kind = field.type
    if pa.types.is_map(kind):
        value = without_maps(pa.field("value", kind.item_type))
        pair = pa.struct([pa.field("key", kind.key_type), value])
        return pa.field(field.name, pa.list_(pair), metadata={**(field.metadata or {}), **_MARK})
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(without_maps(kind.value_field)))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([without_maps(inner) for inner in kind]))
    return field


def holds_map(field: pa.Field) -> bool:
    """Return whether there is a marked list in the field."""
    if _is_marked(field):
        return True
    if pa.types.is_list(field.type):
        return holds_map(field.type.value_field)
    return pa.types.is_struct(field.type) and any(map(holds_map, field.type))


def with_maps(field: pa.Field, value: Any) -> Any:
    """Return a plain value of the field with its marked lists as mappings."""
    if value is None:
        return None
    if _is_marked(field):
        values = field.type.value_type.field("value")
        return {pair["key"]: with_maps(values, pair["value"]) for pair in value}
    if pa.types.is_list(field.type):
        return [with_maps(field.type.value_field, element) for element in value]
    if pa.types.is_struct(field.type):
        return {inner.name: with_maps(inner, value[inner.name]) for inner in field.type}
    return value


def _is_marked(field: pa.Field) -> bool:
    return _MARK.items() <= (field.metadata or {}).items()
