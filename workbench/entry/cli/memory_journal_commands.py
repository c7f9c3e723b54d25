"""`workbench memory status`: the features that are remembered, and the state of their journals."""

from __future__ import annotations

from typing import Any

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.layout import counted
from workbench.text.sanitize import visible_line


@command(examples=("workbench memory status", "workbench memory status --json"))
def status() -> None:
    """Show what is remembered of each feature, and what of it cannot be read.

    Each feature has a journal of its own. Lines that were damaged, edited to something else or written by
    another version are counted and left where they are; everything else is read.
    """
    from workbench.entry.memory_place import memory_place

    here = current()
    place = memory_place(here.project)
    features: list[dict[str, Any]] = []
    for stream in place.streams():
        found = place.read(stream)
        newest = found.entries[-1].record if found.entries else None
        features.append(
            {
                "feature": found.feature,
                "journal": f"journal/{stream}.jsonl",
                "iterations": len(found.entries),
                "last": None if newest is None else newest.timestamp,
                "outcome": None if newest is None else str(newest.outcome),
                "set_aside": [{"id": one.id, "reason": one.reason} for one in found.set_aside],
                "broken_lines": place.broken_lines(stream),
            }
        )
    if here.flags.json:
        here.out.json({"state_directory": str(place.state), "features": features})
        return
    for one in features:
        last = f", last {one['last']} {one['outcome']}" if one["last"] else ""
        here.out.data(f"{visible_line(one['feature'])}: {counted(one['iterations'], 'iteration')}{last}")
        unread = len(one["set_aside"]) + one["broken_lines"]
        if unread:
            here.out.warn(f"{one['journal']}: {counted(unread, 'line')} cannot be read and are left out")
    if not features:
        here.out.say("nothing is remembered yet")
