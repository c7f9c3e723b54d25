"""Where the rules of a project and of its user come from and go to, and what is noted of their use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from workbench.curation.store import CurationStore
from workbench.ports import Journal
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import USAGE_STREAM, USED, RuleLedger, read_usage

LOCK = "rules"
OWN = ("project", "home")  # the origins of what is written here
CONFLICTS = "conflicts"  # the generation of what was found among rules


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStore(CurationStore[RuleLedger]):
    """Where rules come from and go to. `home` is None when the user's own rule files are not to be read.

    `replace_file(path, data, expected)` writes a rule
    file that has the bytes `expected`, None for a new one; `data` None removes it.
    """

    root: Path
    home: Path | None
    replace_file: Callable[[Path, bytes | None, bytes | None], None]

    def empty_ledger(self) -> RuleLedger:
        """Return a ledger without rules."""
        return RuleLedger()

    def usage(self, until: str = "") -> dict[str, tuple[int, str]]:
        """Return how often each rule was used, and when last. Raises StoreError."""
        return read_usage(self.usage_origins, until=until)

    @property
    def usage_origins(self) -> Mapping[str, Journal]:
        """The journals that say what rules were used, by origin: machines join at any time."""
        return {**dict(zip(OWN, (self.journal, self.home_journal), strict=True)), **self.team}

    @property
    def usage_journals(self) -> tuple[Journal, ...]:
        """The same, always in the same order."""
        return tuple(self.usage_origins.values())

    @property
    def machines(self) -> tuple[str, ...]:
        """The ids of a team's other machines."""
        return tuple(self.team)


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
