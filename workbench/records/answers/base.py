"""What the published answers share: frozen structs without further keys, and the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from msgspec import Meta, Struct

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Numbers = Mapping[str, float]
Texts = tuple[Text, ...]
Different = Annotated[tuple[Text, ...], Meta(extra_json_schema={"uniqueItems": True})]
"""Texts, each once."""


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer or part of one. Its fields are the keys of the JSON, in this order."""

    @classmethod
    def of(cls, source: object, /, **given: Any) -> Self:
        """Return an answer with the fields that are given, and the others as a source has them."""
        others = {name: getattr(source, name) for name in cls.__struct_fields__ if name not in given}
        return cls(**others, **given)
