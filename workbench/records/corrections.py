"""Corrections: what a user said of how things are done, as a fact in the journal of a feature."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from workbench.records.dataclass import dataclass


class Strength(StrEnum):
    """How surely a sentence is meant for more than the task at hand."""

    STANDING = "standing"  # it says so itself: always, never, from now on
    CORRECTING = "correcting"  # one way instead of another, after an agent did something
    PASSING = "passing"  # it may be for now: it counts once it is said again


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that was said. `at` is when (ISO 8601), `prompt` its number in the session, from 1.

    `key` is the rule as it was first said, shared by all repetitions; `text` as it was said now, `quote`
    the sentence. `learning_id` is empty while nothing was learned of it. `rule` is the text of a rule in
    force that says so already, or, with `against`, that says otherwise. `template` is a digest of a sentence
    in a long prompt, else empty.
    """

    at: str
    key: str
    text: str
    quote: str
    session_id: str
    prompt: int
    strength: str
    feature: str = ""
    learning_id: str = ""
    rule: str = ""
    against: bool = False
    template: str = ""


def correction_body(one: Correction) -> dict[str, Any]:
    """Return a correction as a journal body."""
    return {name: getattr(one, name) for name in Correction.__slots__}


def read_correction(body: Mapping[str, Any]) -> Correction | None:
    """Return the correction of a journal body, None for a malformed one (F36: nothing is guessed)."""
    import msgspec

    from workbench.records.conversion import convert

    try:
        return convert({name: body[name] for name in Correction.__slots__ if name in body}, Correction)
    except msgspec.ValidationError:
        return None
