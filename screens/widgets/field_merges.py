"""A record that two changed at once: what each changed, which side holds, field by field. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

Choice: TypeAlias = Literal["", "mine", "theirs", "merged"]


@dataclass(frozen=True, slots=True)
class FieldMerge:
    """A field that somebody changed: its value when the edit began, now, and as it was edited.

    `choice` is '' while both changed it differently and nobody said which holds.
    """

    name: str
    before: Any
    theirs: Any
    mine: Any
    choice: Choice = ""
    merged: Any = None

    @property
    def value(self) -> Any:
        """The value that holds; theirs while nothing was chosen."""
        return {"mine": self.mine, "merged": self.merged}.get(self.choice, self.theirs)

    @property
    def contested(self) -> bool:
        """Whether both changed it, differently."""
        return self.theirs != self.before and self.mine not in (self.before, self.theirs)


def field_merges(
    names: Iterable[str], seen: object, now: object, changes: Mapping[str, Any]
) -> tuple[FieldMerge, ...]:
    """Return the fields of these names that differ: what one side alone changed is chosen already."""
    found = []
    for name in names:
        before, theirs = getattr(seen, name), getattr(now, name)
        mine = changes.get(name, before)
        if before == theirs == mine:
            continue
        merge = FieldMerge(name, before, theirs, mine)
        if not merge.contested:
            merge = replace(merge, choice="theirs" if mine == before else "mine")
        found.append(merge)
    return tuple(found)


def undecided(merges: Sequence[FieldMerge]) -> int:
    """Return for how many fields nobody said which side holds."""
    return sum(not merge.choice for merge in merges)


def merged_changes(merges: Sequence[FieldMerge]) -> dict[str, Any]:
    """Return what is to be changed of the record as it is now."""
    return {merge.name: merge.value for merge in merges if merge.value != merge.theirs}
