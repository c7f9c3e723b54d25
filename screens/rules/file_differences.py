"""What differs between rule files and the store, as jobs of the dialog see it, settle it and write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from screens.engine import BY, AppEngine
from screens.jobs import Job
from screens.widgets.diff import unify_lines
from workbench.records.rules import Rule
from workbench.rules.fields import check_fields
from workbench.rules.files.drift import FileDrift, SyncOutcome, Written, find_drift, write_pending
from workbench.rules.files.merge import Incoming
from workbench.rules.files.settling import put_back, settle
from workbench.text.counts import plural

_MARKS: Final = {Incoming.ADDED: "+", Incoming.CHANGED: "~", Incoming.MOVED: ">", Incoming.REMOVED: "-"}

_SHOWN: Final = 120  # lines of a question


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """One rule that is out of sync with its file. `side` is where it changed: file, store or both.

    `ours` is the store's text and `theirs` the file's, None where there is none; `identifier` names the rule
    of a conflict, which is settled by it, or of a change of the file, which is put back by it.
    """

    file: str
    line: int
    side: str
    what: str
    ours: str | None
    theirs: str | None
    identifier: str = ""
    store_id: str = ""

    @property
    def key(self) -> str:
        """The id of the difference in the list."""
        return f"{self.file}:{self.line} {self.side} {self.what} {self.identifier} {self.ours or self.theirs}"


def differences(drift: Sequence[FileDrift]) -> tuple[RuleDifference, ...]:
    """Return what is out of sync, file by file: what both changed first, for it waits for somebody."""
    found: list[RuleDifference] = []
    for file in drift:
        for conflict in file.conflicts:
            ours, theirs = _text(conflict.ours), _text(conflict.theirs)
            store_id = "" if conflict.ours is None else conflict.ours.id
            found.append(
                RuleDifference(
                    file.file, conflict.line, "both", "!", ours, theirs, conflict.base.id, store_id
                )
            )
        for pending in file.pending:
            what = "+" if pending.base is None else "-" if pending.rule is None else "~"
            found.append(
                RuleDifference(
                    file.file, pending.line, "store", what, _text(pending.rule), _text(pending.base)
                )
            )
        found += [
            RuleDifference(
                file.file,
                change.line,
                "file",
                _MARKS[change.what],
                _text(change.before),
                _text(change.after),
                "".join(rule.id for rule in [change.before or change.after] if rule is not None),
            )
            for change in file.incoming
        ]
    return tuple(found)


def look_at(engine: AppEngine, job: Job) -> tuple[RuleDifference, ...]:
    """Return what is out of sync, changing nothing. Raises: StoreError."""
    with engine.workspace(job.progress) as opened:
        workspace = opened.workspace
        outcome = find_drift(workspace.rule_store(), workspace.rule_files())
    return differences(outcome.drift)


def sync_files(engine: AppEngine, dry_run: bool, job: Job) -> SyncOutcome:
    """Write what the store alone changed into the files, or say what would be written. Raises: StoreError."""
    with engine.workspace(job.progress) as opened:
        workspace = opened.workspace
        return write_pending(workspace.rule_store(), workspace.rule_files(), dry_run=dry_run)


def take_side(engine: AppEngine, difference: RuleDifference, side: str, job: Job) -> None:
    """Keep one side of a conflict, `ours` or `theirs`. Raises: UsageError, StoreError."""
    with engine.workspace(job.progress) as opened:
        workspace = opened.workspace
        settle(workspace.rule_store(), workspace.rule_files(), difference.identifier, side, by=BY)


def put_file_back(engine: AppEngine, difference: RuleDifference, dry_run: bool, job: Job) -> Written | None:
    """Have a file say again what the store says, or say what would be written. Raises: StoreError."""
    with engine.workspace(job.progress) as opened:
        workspace = opened.workspace
        store, files = workspace.rule_store(), workspace.rule_files()
        return put_back(store, files, difference.identifier, dry_run=dry_run)


def take_merged(engine: AppEngine, difference: RuleDifference, text: str, job: Job) -> None:
    """Settle a conflict with words of both sides: ours are kept and reworded. Raises: as above."""
    from workbench.rules.curation.curator import Curator

    fields, _ = check_fields({"rule": text})
    with engine.workspace(job.progress) as opened:
        workspace = opened.workspace
        store = workspace.rule_store()
        settle(store, workspace.rule_files(), difference.identifier, "ours", by=BY)
        if text.strip() != (difference.ours or "").strip():
            Curator(store, BY, workspace.rule_files).edit(
                difference.store_id, reason="merged with the file", **fields
            )


def preview_text(files: Sequence[Written]) -> str:
    """Return what would be written, as lines for a question; of very many the first ones."""
    lines: list[str] = []
    for written in files:
        before, after = (data.decode("utf-8", "replace") for data in (written.before, written.after))
        lines.append(written.file if written.changed else f"{written.file}: nothing of it can be written")
        lines += [
            f"  {'+' if line.kind == 'new' else '-'} {line.text}"
            for line in unify_lines(before, after, context=0)
            if line.kind in ("old", "new")
        ]
        lines += [f"  ! {reason}" for reason in written.refused]
    more = [f"and {plural(len(lines) - _SHOWN, 'more line')}"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *more])


def _text(rule: Rule | None) -> str | None:
    return None if rule is None else rule.rule
