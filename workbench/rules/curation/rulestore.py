"""Where the rules of a project and of its user come from and go to, and how entries get there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workbench.ports import Entry, Journal, Verbatim
from workbench.records.ids import new_id
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import STREAM, USAGE_STREAM, USED, Ledger, read_ledger, read_usage, take
from workbench.rules.curation.steps import Draft

LOCK = "rules"
CONFLICTS = "conflicts"  # the generation of what was found among rules


@dataclass(frozen=True, slots=True)
class RuleStore:
    """Where rules come from and go to. `home` is None when the user's own rule files are not to be read.

    `publish` and `latest` keep a generation of a kind; `lock` is held while journals are read and written.
    `replace_file(path, data, expected)` writes a rule file that has the bytes `expected`, None for a new
    one; `data` None removes it.
    """

    root: Path
    project_id: str
    home: Path | None
    journal: Journal
    home_journal: Journal
    latest: Callable[[str], Path | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    count_tokens: Callable[[str], int]
    replace_file: Callable[[Path, bytes | None, bytes | None], None]

    def moment(self) -> str:
        """Return the time as rules carry it."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="seconds")

    def ledger(self, until: str = "") -> Ledger:
        """Read the journals, up to and with a moment (ISO 8601). Raises StoreError."""
        return read_ledger(((self.journal, False), (self.home_journal, True)), until)

    def usage(self, until: str = "") -> dict[str, tuple[int, str]]:
        """Return how often each rule was used, and when last. Raises StoreError."""
        return read_usage((self.journal, self.home_journal), until=until)


def record(store: RuleStore, drafts: Sequence[Draft], *, by: str) -> None:
    """Write drafts, those of a journal in one piece; rules of files are kept as their files word them.

    The caller holds the lock. Raises: StoreError, and then nothing is written of the journal that refused.
    """
    for journal, home in ((store.journal, False), (store.home_journal, True)):
        mine = [
            (draft.kind, Verbatim(draft.body) if draft.body.get("provenance") else draft.body)
            for draft in drafts
            if draft.home is home
        ]
        journal.append_all(STREAM, mine, by=by)


def imagine(store: RuleStore, drafts: Iterable[Draft], *, by: str, ledger: Ledger) -> None:
    """Bring drafts into a ledger without writing them."""
    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    for draft in drafts:
        take(ledger, Entry(new_id(), at, draft.kind, by, draft.body), draft.home)


def record_usage(store: RuleStore, rule_ids: Sequence[str], session_id: str, tool: str, *, by: str) -> int:
    """Note that a session of a tool was given rules; return how many of them are known [rules].

    Raises: StoreError.
    """
    versions = store.ledger().versions
    known = [versions[found] for found in dict.fromkeys(rule_ids) if found in versions]
    note_use(store, known, session_id, tool, by=by)
    return len(known)


def note_use(store: RuleStore, rules: Iterable[Rule], session_id: str, tool: str, *, by: str) -> None:
    """Note that a session of a tool, '' where nobody knows, was given rules, each in the journal it is in.

    Nothing is read, and nothing waits for the disk. Raises: StoreError.
    """
    used: dict[bool, list[str]] = {}
    for rule in rules:
        used.setdefault(rule.project_id is None, []).append(rule.id)
    for home, ids in sorted(used.items()):
        body = {"rule_ids": ids, "session_id": session_id, "tool": tool}
        (store.home_journal if home else store.journal).append(USAGE_STREAM, USED, [body], by=by, sync=False)
