"""How a conflict of two records is settled, as one step, and whether a decision is still about what was seen.

There are six ways: keep the left one, the right one or both, merge them, narrow one, let one supersede the
other. What each means for a record is its type's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Generic

from workbench.curation.ledger import Ledger
from workbench.curation.records import R, RecordType, Settling, StepDraft, StepMarks, new_marks
from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.dataclass import dataclass

CONFLICT_SHOWN: Final = 17
"""Characters of a conflict's id that are shown."""


@dataclass(frozen=True, slots=True)
class ConflictDecision:
    """What is decided about a conflict of the records `left` and `right`.

    `text` is the wording of a merge, empty for the left one's. `keep` is the record that takes the other's
    place with `supersede`, and the one that keeps its scope while the other is narrowed to `scope`; the right
    one if empty.
    """

    conflict: str
    left: str
    right: str
    action: Action
    reason: str = ""
    text: str = ""
    scope: tuple[str, ...] = ()
    keep: str = ""


class RecordChanged(UsageError):
    """A record was changed meanwhile: `seen` is how it was, `now` the one there is, None if there is none."""

    def __init__(self, kind: RecordType[Any], seen: Any, now: Any) -> None:  # noqa: ANN401 - any record
        short = kind.short(seen.id)
        what = "removed" if now is None else "changed"
        super().__init__(
            f"{short} was {what} by somebody else meanwhile", hint=f"workbench {kind.group} history {short}"
        )
        self.seen = seen
        self.now = now


class ConflictSettled(UsageError):
    """A conflict was settled by somebody else meanwhile: `by` whom, and how."""

    def __init__(self, conflict: str, action: str, by: str, *, hint: str) -> None:
        super().__init__(
            f"{conflict[:CONFLICT_SHOWN]} was settled by {by} meanwhile: {action.replace('_', '-')}",
            hint=hint,
        )
        self.action = action
        self.by = by


def check_unchanged(ledger: Ledger[R], seen: Iterable[R]) -> None:
    """Raise RecordChanged if what people decide of a record is not as it was seen; counts may have grown."""
    kind = ledger.type
    for record in seen:
        now = ledger.current(record.id)
        if now is None or now.id != record.id or kind.decisions_of(now) != kind.decisions_of(record):
            raise RecordChanged(
                kind, record, ledger.find(now.id) if now is not None and kind.in_use(now) else None
            )


def check_open(ledger: Ledger[R], conflict: str) -> None:
    """Raise ConflictSettled if somebody settled a conflict."""
    settled = ledger.settled.get(conflict)
    if settled is not None:
        group = f"workbench {ledger.type.group}"
        by = f"{settled.by} on another machine" if settled.machine else settled.by
        hint = (
            f"`{group} history` has it." if settled.machine else f"`{group} undo` takes the last step back."
        )
        raise ConflictSettled(conflict, settled.action, by, hint=hint)


def draft_settlement(
    ledger: Ledger[R],
    decision: ConflictDecision,
    *,
    now: str,
    by: str,
    count: Callable[[str], int],
    step: StepMarks | None = None,
) -> StepDraft[R]:
    """Draft the settlement of a conflict, as a step of its own or as part of the given one.

    Raises: UsageError if a record is no longer in use, or what the action needs is missing.
    """
    kind = ledger.type
    left, right = (kind.usable(ledger.require(one)) for one in (decision.left, decision.right))
    title = f"{decision.action.value.replace('_', ' ')}: {kind.short(left.id)}, {kind.short(right.id)}"
    reason = decision.reason or f"conflict {decision.conflict[:CONFLICT_SHOWN]}"
    marks = replace(step or new_marks(title), reason=reason)
    pair = _Pair(kind, decision, left, right, Settling(now, by, reason, ledger.versions, count))
    outcomes = _ACTIONS[decision.action](pair)
    entries, records = [], []
    for before, after, successor in outcomes:
        if after is None:
            entries.append(kind.removed_draft(before, marks, successor))
            continue
        if after is not before:
            entries.append(kind.put_draft(kind.require_valid(after), marks))
        if kind.in_use(after):
            records.append(after)
    entries.append(kind.settled_draft(left, right, decision.conflict, decision.action.value, marks))
    return StepDraft(marks.title, tuple(entries), tuple(records))


Outcome = tuple[R, R | None, str]
"""A record before and after, None if it is removed, and the id of the one in its place."""


@dataclass(frozen=True, slots=True)
class _Pair(Generic[R]):
    kind: RecordType[R]
    decision: ConflictDecision
    left: R
    right: R
    settling: Settling

    def in_order(self) -> tuple[R, R]:
        """Return the record that gives way and the one that is kept."""
        if self.decision.keep and self.decision.keep == self.left.id:
            return self.right, self.left
        return self.left, self.right

    def keep(self, record: R) -> Outcome[R]:
        return record, self.kind.keep_settled(record, self.settling), ""

    def drop(self, record: R, successor: str) -> Outcome[R]:
        action = self.decision.action
        after = self.kind.drop_settled(record, action, successor, self.settling)
        return record, after, successor if action is Action.MERGE else ""


def _keep_left(pair: _Pair[R]) -> list[Outcome[R]]:
    return [pair.keep(pair.left), pair.drop(pair.right, pair.left.id)]


def _keep_right(pair: _Pair[R]) -> list[Outcome[R]]:
    return [pair.drop(pair.left, pair.right.id), pair.keep(pair.right)]


def _keep_both(pair: _Pair[R]) -> list[Outcome[R]]:
    return [pair.keep(pair.left), pair.keep(pair.right)]


def _merge(pair: _Pair[R]) -> list[Outcome[R]]:
    """One record in the place of both: the left one, or a new one that replaces both."""
    merged = pair.kind.merge_settled(pair.left, pair.right, pair.decision.text.strip(), pair.settling)
    if merged.id == pair.left.id:
        return [(pair.left, merged, ""), pair.drop(pair.right, merged.id)]
    return [(pair.left, merged, "")]


def _narrow_scope(pair: _Pair[R]) -> list[Outcome[R]]:
    narrowed, other = pair.in_order()
    after = pair.kind.narrow_settled(narrowed, pair.decision.scope, pair.settling)
    return [(narrowed, after, ""), pair.keep(other)]


def _supersede(pair: _Pair[R]) -> list[Outcome[R]]:
    old, new = pair.in_order()
    after = pair.kind.superseding(old, new, pair.settling)
    if old.id in pair.kind.replaced_ids(after):
        return [(new, after, "")]
    return [pair.drop(old, new.id), (new, after, "")]


_ACTIONS: Final[dict[Action, Callable[[_Pair[Any]], list[Outcome[Any]]]]] = {
    Action.KEEP_LEFT: _keep_left,
    Action.KEEP_RIGHT: _keep_right,
    Action.KEEP_BOTH: _keep_both,
    Action.MERGE: _merge,
    Action.NARROW_SCOPE: _narrow_scope,
    Action.SUPERSEDE: _supersede,
}
