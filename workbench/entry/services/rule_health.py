"""Whether the rules are sound: what `workbench doctor` reports of their journals and of their files.

Files are compared with the store as they are now; nothing is synced.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.entry.project import Project
from workbench.entry.services.doctor import DoctorFinding, State
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.replacing import replacement_cycles
from workbench.rules.files.drift import SyncOutcome, find_drift

_SHOWN = 5


def rule_findings(project: Project) -> Iterator[DoctorFinding]:
    """Yield what is odd about the rules, or that nothing is. Raises: StoreError."""
    store = project.workspace.rule_store()
    ledger = store.ledger()
    found = [*_entries(ledger), *_secrets(ledger), *_files(find_drift(store, project.workspace.rule_files()))]
    if found:
        yield from found
        return
    kept = f"{len(ledger.live):,} in force" if ledger.live else "none yet"
    yield DoctorFinding("rules", State.OK, kept)


def _entries(ledger: RuleLedger) -> Iterator[DoctorFinding]:
    for reason in ledger.skipped[:_SHOWN]:
        step = (
            "It is in no list. Put the rule right with `workbench rules add`, or delete the journal's line."
        )
        yield DoctorFinding("rules", State.NOTE, f"a recorded rule is left out: {reason}", step)
    if len(ledger.skipped) > _SHOWN:
        yield DoctorFinding(
            "rules", State.NOTE, f"and {len(ledger.skipped) - _SHOWN:,} more", "See the first ones."
        )
    for cycle in replacement_cycles(ledger.versions.values())[:_SHOWN]:
        text = f"rules replace each other in a circle: {' -> '.join((*cycle, cycle[0]))}"
        step = f"`workbench rules history {cycle[0][:13]}` shows how; add the rule again if it is missing."
        yield DoctorFinding("rules", State.NOTE, text, step)


def _secrets(ledger: RuleLedger) -> Iterator[DoctorFinding]:
    """Yield the rules that hold secrets. The files are the user's own: they are reported, never rewritten."""
    from workbench.text.redact import redact

    held = [(key, redact(rule.rule).counts) for key, rule in sorted(ledger.live.items())]
    leaking = [(key, counts) for key, counts in held if counts]
    for key, counts in leaking[:_SHOWN]:
        text = f"rule {key[:13]} holds what looks like a secret: {', '.join(counts)}"
        yield DoctorFinding(
            "rules", State.NOTE, text, "Take it out of the rule and its file, and renew the secret."
        )
    if len(leaking) > _SHOWN:
        yield DoctorFinding(
            "rules", State.NOTE, f"{len(leaking) - _SHOWN:,} more hold secrets", "See the first ones."
        )


def _files(outcome: SyncOutcome) -> Iterator[DoctorFinding]:
    for drift in outcome.drift:
        if drift.pending:
            text = f"{drift.file} does not have what changed here: {len(drift.pending):,} of its rules"
            step = "`workbench rules drift` shows what is to be written, `--merge` writes it."
            yield DoctorFinding("rules", State.NOTE, text, step)
        if drift.conflicts:
            text = f"{drift.file} and the store changed rules differently: {len(drift.conflicts):,}"
            step = "`workbench rules drift` shows both sides, `--resolve ID --take ours` settles one."
            yield DoctorFinding("rules", State.NOTE, text, step)
    for warning in outcome.warnings[:_SHOWN]:
        yield DoctorFinding("rules", State.NOTE, warning, "Mend the file; the rest of it was read.")
