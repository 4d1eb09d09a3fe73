"""Any value of any msgspec type: what hypothesis can't derive from structs by itself."""

from __future__ import annotations

import functools
from typing import Any

import msgspec.inspect as types
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

INT_MAX = 2**53 - 1
"""Greatest integer that every reader of JSON keeps."""

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@functools.cache
def any_of(kind: Any) -> SearchStrategy[Any]:
    """Return a strategy for a type: a struct, a union, or what fields of structs are made of."""
    return _of(types.type_info(kind))


@functools.singledispatch
def _of(info: types.Type) -> SearchStrategy[Any]:
    raise TypeError(f"no values are known of {info}")


@_of.register
def _(info: types.BoolType) -> SearchStrategy[Any]:
    return st.booleans()


@_of.register
def _(info: types.NoneType) -> SearchStrategy[Any]:
    return st.none()


@_of.register
def _(info: types.IntType) -> SearchStrategy[Any]:
    least = -INT_MAX if info.ge is None else info.ge
    return st.integers(least, INT_MAX if info.le is None else min(info.le, INT_MAX))


@_of.register
def _(info: types.FloatType) -> SearchStrategy[Any]:
    least = info.ge if info.gt is None else info.gt
    return st.floats(least, info.le, exclude_min=info.gt is not None, allow_nan=False, allow_infinity=False)


@_of.register
def _(info: types.StrType) -> SearchStrategy[Any]:
    return TEXT.filter(bool) if info.min_length else TEXT


@_of.register
def _(info: types.LiteralType) -> SearchStrategy[Any]:
    return st.sampled_from(info.values)


@_of.register
def _(info: types.UnionType) -> SearchStrategy[Any]:
    return st.one_of([_of(each) for each in info.types])


@_of.register
def _(info: types.VarTupleType) -> SearchStrategy[Any]:
    return st.lists(_of(info.item_type), max_size=3).map(tuple)


@_of.register
def _(info: types.DictType) -> SearchStrategy[Any]:
    return st.dictionaries(_of(info.key_type), _of(info.value_type), max_size=3)


@_of.register
def _(info: types.StructType) -> SearchStrategy[Any]:
    required = {field.name: _of(field.type) for field in info.fields if field.required}
    optional = {field.name: _of(field.type) for field in info.fields if not field.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda fields: info.cls(**fields))
