"""Whose a step is: the machine's that began it, and no other machine's entry counts to it.

In a team a step's id names its machine (`workbench.records.ids`), and what another member writes into
it is put aside before it gets here. Steps from before the team, or of an older program, name none: their
machine is the first that speaks of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.curation import CURATION
from workbench.errors import ParseError
from workbench.ports import Entry

if TYPE_CHECKING:
    from workbench.curation.ledger import Ledger
    from workbench.curation.records import CurationStep


def in_own_step(ledger: Ledger[Any], entry: Entry) -> Entry:
    """Return an entry in a step of its own where the one that it names is another machine's.

    Directories that were copied before they were in a team have the same entries, of the same step.
    """
    found = entry.body.get(CURATION)
    marks = found if isinstance(found, Mapping) else {}
    step = ledger.steps.get(str(marks.get("step") or entry.id))
    if step is None or step.machine == entry.machine or _is_copy(ledger, step, entry):
        return entry
    own = {**marks, "step": f"{entry.id}.{entry.machine}"}
    return replace(entry, body={**entry.body, CURATION: own})


def _is_copy(ledger: Ledger[Any], step: CurationStep[Any], entry: Entry) -> bool:
    """Whether an entry says once more what one of a step says, and that still holds."""
    kind = ledger.type
    identifier = kind.record_ids(entry.body)[0]
    if entry.kind not in (kind.put, kind.removed):
        return any((one.id, one.at) == (identifier, entry.at) for one in (*step.resolved, *step.reopened))
    made = next((change for change in reversed(step.changes) if change.record_id == identifier), None)
    if made is None or (made.at, made.by) != (entry.at, entry.by):
        return False
    if entry.kind == kind.removed:
        return made.after is None and identifier not in ledger.records
    with suppress(ParseError):
        return bool(ledger.records.get(identifier) == made.after == kind.from_body(entry.body))
    return False
