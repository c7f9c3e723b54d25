"""Learnings as journal bodies (`learning.put`) and back, checked on the way in (F36: nothing is guessed)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.errors import ParseError, UsageError
from workbench.records.learnings import MAX_FILES, MAX_REASON, MAX_TEXT, FeatureLearning


def to_body(learning: FeatureLearning) -> dict[str, Any]:
    """Return a learning as a journal body: plain values only, one key per field."""
    import msgspec

    body: dict[str, Any] = msgspec.to_builtins(learning)
    return body


def from_body(body: Mapping[str, Any]) -> FeatureLearning:
    """Return the learning of a journal body. Keys that this version doesn't know are ignored.

    Raises: ParseError if a field is missing, of a wrong type or out of bounds; it names the field.
    """
    import msgspec

    from workbench.records.conversion import convert

    try:
        learning = convert(dict(body), FeatureLearning)
    except msgspec.ValidationError as error:
        raise ParseError(f"learning {_label(body)}: {error}", hint="Correct the field.") from error
    for problem in problems(learning):
        raise ParseError(f"learning {_label(body)}: {problem}", hint="Correct the field.")
    return learning


def problems(learning: FeatureLearning) -> tuple[str, ...]:
    """Return what is wrong with a learning's values, one sentence each; empty for a good one."""
    found = []
    if not learning.text.strip():
        found.append("it says nothing")
    if len(learning.text) > MAX_TEXT:
        found.append(f"its text has more than {MAX_TEXT} characters")
    if not learning.reason.strip():
        found.append("it has no reason: say why it exists")
    if len(learning.reason) > MAX_REASON:
        found.append(f"its reason has more than {MAX_REASON} characters")
    if not learning.feature.strip():
        found.append("it belongs to no feature")
    if len(learning.files) > MAX_FILES:
        found.append(f"it names more than {MAX_FILES} files")
    if not 0.0 <= learning.confidence <= 1.0:
        found.append("its confidence is not between 0 and 1")
    if learning.hit_count < 1:
        found.append("it was seen less than once")
    return tuple(found)


def sound(learning: FeatureLearning) -> FeatureLearning:
    """Return the learning. Raises UsageError if its values are unsound."""
    found = problems(learning)
    if found:
        raise UsageError(f"the learning is not sound: {'; '.join(found)}", hint="Correct the values.")
    return learning


def essence(learning: FeatureLearning | None) -> FeatureLearning | None:
    """Return what of a learning counts as a change of it: not its times nor what was counted."""
    if learning is None:
        return None
    return replace(learning, updated_at="", hit_count=1, confidence=0.5, last_hit="")


def _label(body: Mapping[str, Any]) -> str:
    return repr(str(body.get("id", "?"))[:80])
