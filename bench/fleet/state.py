"""What a machine has in the end, read by a process that did not take part: `python -m bench.fleet.state`.

It takes `[ROOT, HOME]` as lines of JSON on stdin, lets all of them synchronise, and answers each with a line:
texts by kind, concurrent edits, and digests of the team's journals, of the ledgers and of the tables. Rules
of rule files are left out, as every checkout has its own. Segments become each machine's own, so that of
them the texts count and the team's journals.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bench.fleet.faces import LibraryFace
from workbench.curation.concurrency import concurrent_edits
from workbench.curation.ledger import Ledger
from workbench.curation.records import AUTOMATIC
from workbench.entry.project import own_machine
from workbench.entry.services.learnings import curate_learnings
from workbench.entry.services.rules import curate_rules
from workbench.entry.services.team import sync_team
from workbench.lists.tables import Page

ENTRIES: Final = "entries of the team"


def machine_state(root: Path, home: Path) -> dict[str, Any]:
    face = LibraryFace(root, home)
    project, host = face.project, face.host
    rules = [rule for rule in _all(project.rules.list) if rule.provenance is None]
    learnings, segments = _all(project.learnings.list), _all(project.stash.list)
    tables = {"table of rules": rules, "table of learnings": learnings}
    found: dict[str, Any] = {
        "texts": {
            "rule": [rule.rule for rule in rules],
            "learning": [learning.text for learning in learnings],
            "segment": [segment.segment.text for segment in segments],
        },
    }
    with curate_rules(host, "rules") as rules_service:
        ledger = rules_service.store.ledger()
        tables["ledger of rules"] = ledger_lines(ledger)
        found["conflicts"] = [edit.id for edit in concurrent_edits(ledger)]
    with curate_learnings(host, "memory") as learnings_service:
        tables["ledger of learnings"] = ledger_lines(learnings_service.store.ledger())
    own = {host.project.project_id: "here", "machine=''": f"machine={own_machine(host.project.state)!r}"}
    found["digests"] = {name: _digest(map(repr, rows), own) for name, rows in tables.items()}
    machines = host.project.state / "team" / "machines"
    journals = [path.read_bytes().splitlines() for path in machines.rglob("*.jsonl")]
    found["digests"][ENTRIES] = entries_digest(line for lines in journals for line in lines)
    face.close()
    return found


def entries_digest(lines: Iterable[bytes]) -> str:
    """Return a digest of journal lines in whatever order, and their count."""
    found = sorted(line.strip() for line in lines)
    return f"{len(found)} {hashlib.sha256(b''.join(found)).hexdigest()[:16]}"


def ledger_lines(ledger: Ledger[Any]) -> list[Any]:
    """Return what a fold of the team's journals says, without what came from rule files."""
    changes = [change for change in ledger.changes if not change.by.startswith(AUTOMATIC)]
    records = [record for record in ledger.records.values() if not getattr(record, "provenance", None)]
    return [*changes, *sorted(records, key=lambda record: str(record.id)), *sorted(ledger.settled.items())]


def _all(listed: Callable[..., Page[Any]]) -> list[Any]:
    def pages() -> Iterator[Any]:
        cursor = None
        while True:
            page = listed(limit=1_000, cursor=cursor)
            yield from page.rows
            if not (cursor := page.cursor):
                return

    return [*pages()]


def _digest(lines: Iterable[str], own: Mapping[str, str]) -> str:
    """Return a digest of lines in which what says "this one" is what it is called everywhere."""
    digest = hashlib.sha256()
    for line in lines:
        for here, everywhere in own.items():
            line = line.replace(here, everywhere)
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


def synchronise(root: Path, home: Path) -> None:
    """Send and receive all there is."""
    face = LibraryFace(root, home)
    sync_team(face.host.project, lambda stage, done, total: None)
    face.close()


def main() -> None:
    """Let all machines send, then receive what all have sent, and answer each line."""
    places = [(Path(root), Path(home)) for root, home in map(json.loads, sys.stdin)]
    for place in (*places, *places):
        synchronise(*place)
    for place in places:
        print(json.dumps(machine_state(*place)), flush=True)


if __name__ == "__main__":
    main()
