"""What is asked for by name after a pack: definitions, outlines, callers, ranges of files."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from workbench.records.dataclass import dataclass

TOKENS: Final = 1500
"""Of an answer, unless another budget is given."""


class Aspect(StrEnum):
    """What of a handle is wanted. `SHOW` is its text, `REST` what of a file the session was not given."""

    SHOW = "show"
    OUTLINE = "outline"
    REST = "rest"
    CALLERS = "callers"
    USES = "uses"
    SUBCLASSES = "subclasses"
    LINKS = "links"


class Found(StrEnum):
    """What became of a handle: it is in the text, several things have its name, it was given, or unknown.

    `CUT` is a text that goes on, as its last line says; `LEFT_OUT` had no room in the budget.
    """

    SHOWN = "shown"
    CUT = "cut"
    AMBIGUOUS = "ambiguous"
    GIVEN = "given"
    UNKNOWN = "unknown"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """Handles, and how many tokens their texts may have together.

    `aspect` is wanted of every handle that names none of its own. What `session_id` was given before is not
    given `again` unless that is asked for.
    """

    handles: tuple[str, ...]
    token_budget: int = TOKENS
    aspect: Aspect = Aspect.SHOW
    session_id: str = ""
    again: bool = False
