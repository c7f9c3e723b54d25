"""The answer to handles: their texts in one, within a token budget."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text
from workbench.records.expansion import Found
from workbench.records.project import Freshness

Line = Annotated[int, Meta(ge=1)]


class ExpandedHandle(Answer, frozen=True):
    """What became of a handle."""

    handle: Text
    found: Found
    path: Annotated[
        str, Meta(description="The file that its text is of; empty for lists and what is unknown.")
    ]
    spans: Annotated[
        tuple[tuple[Line, Line], ...], Meta(description="Line ranges shown, 1-based, both ends included.")
    ]
    note: Annotated[str, Meta(description="Why it is not or not all shown, and what to ask for; else empty.")]


class ExpandResponse(Answer, frozen=True):
    """What `workbench show --json` prints and POST /v1/expand answers."""

    text: str
    tokens: Annotated[Count, Meta(description="Of text as a whole, never above token_budget.")]
    token_budget: Count
    tokenizer: Annotated[str, Meta(extra_json_schema={"enum": ["o200k_base", "cl100k_base", "utf8-bound"]})]
    freshness: Annotated[
        Freshness, Meta(description="Whether the index described the files on disk when it was asked.")
    ]
    handles: Annotated[tuple[ExpandedHandle, ...], Meta(description="In the order in which they were given.")]
