"""Where the app was left: the screen, its filters, cursor and sort, so that it opens there again.

What is kept is a convenience: a file that cannot be read or written costs nothing but the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from workbench.records.conversion import decode_json


@dataclass(slots=True)
class Place:
    """The section that was shown and what each section remembers, as JSON values."""

    section: str = ""
    theme: str = ""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, section: str) -> Mapping[str, Any]:
        """Return what a section remembers."""
        return self.sections.get(section, {})


def read_place(data: bytes | None) -> Place:
    """Return the place that was kept, or an empty one for what is missing or damaged."""
    if data is None:
        return Place()
    try:
        return decode_json(data, Place)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Place()


def write_place(place: Place) -> bytes:
    """Return a place as it is kept."""
    return msgspec.json.encode(place)


def changed_over(before: Place, now: Place, data: bytes | None) -> bytes:
    """Return what was kept with that replaced in which `now` differs from `before`."""
    there = read_place(data)
    changed = {name: kept for name, kept in now.sections.items() if before.sections.get(name) != kept}
    return write_place(
        Place(
            section=now.section if now.section != before.section else there.section,
            theme=now.theme if now.theme != before.theme else there.theme,
            sections={**there.sections, **changed},
        )
    )
