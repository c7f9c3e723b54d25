"""Two directories of a team without a server: what each shares is put where the other has its replica."""

from __future__ import annotations

from pathlib import Path

from store.files import write_atomic
from store.journal import FileJournal
from store.journal_lines import encode_line
from store.team.adoption import STASH, adopt_segments
from store.team.record import write_machines
from store.team.replicas import TEAM, is_for_team, is_shared, raise_floor, replica_root
from store.team.server import TeamMachine
from tests.adapters import ManualClock
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_workspace
from workbench.entry.services.stash import stash_service
from workbench.memory.learnings.learningstore import store_of
from workbench.memory.learnings.service import LearningService
from workbench.records.segments import ContextSegment
from workbench.rules.curation.curator import Curator
from workbench.rules.fields import new_rule
from workbench.stash.service import StashService

MACHINES = {name: f"01J0000000000000000000000{end}" for name, end in (("anna", "A"), ("bob", "B"))}


class Clone:
    """The project's directory of a member of a team."""

    def __init__(self, root: Path, member: str) -> None:
        self.root, self.member, self.state = root, member, root / ".workbench"
        root.mkdir()
        (self.state / TEAM).mkdir(parents=True)
        write_atomic(self.state / TEAM / "machine", MACHINES[member].encode())
        machines = [TeamMachine(MACHINES[name], name, f"{name}s-pc", "") for name in MACHINES]
        write_machines(self.state / TEAM, machines)
        others = [one for one in machines if one.member != member]
        for one in others:  # which makes it a team before anything was received
            (replica_root(self.state, one.id) / "journal").mkdir(parents=True)

    def opened(self) -> OpenedProject:
        """Return the project as a process has it that starts now."""
        return open_workspace(self.root, Config())

    @property
    def rules(self) -> Curator:
        return Curator(self.opened().workspace.rule_store(), "cli")

    @property
    def learnings(self) -> LearningService:
        return LearningService(store_of(self.opened().workspace.rule_store()), "cli")

    @property
    def stash(self) -> StashService:
        return stash_service(self.opened(), "cli")

    def send(self, other: Clone) -> None:
        """Let the other machine have all that is for the team."""
        journal = FileJournal(self.state, ManualClock())
        for stream in filter(is_shared, journal.streams()):
            entries = [entry for _, entry in journal.read(stream) if is_for_team(stream, entry)]
            path = replica_root(other.state, MACHINES[self.member]) / "journal" / f"{stream}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"".join(map(encode_line, entries)))
            if stream == STASH:
                own, peers = FileJournal(other.state, ManualClock()), other.opened().peer_journals
                marks = {MACHINES[self.member]: (0, path.stat().st_size, 0)}
                raise_floor(other.state, max(one.id for one in entries))
                adopt_segments(other.state, own, peers, marks, {})


def edited_apart(root: Path) -> tuple[Clone, Clone]:
    """Return two clones that changed a rule and a learning without having seen each other; both know both."""
    anna, bob = Clone(root / "anna", "anna"), Clone(root / "bob", "bob")
    rule = anna.rules.add(new_rule({"rule": "Round VAT down."}, anna.rules.store.project_id))
    learning = anna.learnings.add("The cache is on", feature="shop", reason="seen")
    anna.send(bob)
    bob.rules.edit(rule.id, priority=80, rule="Round VAT half up.")
    bob.learnings.edit(learning.id, text="The cache is off in tests")
    anna.rules.edit(rule.id, rule="Round VAT down, and log the rest.")
    anna.learnings.edit(learning.id, text="The cache is on in production")
    anna.send(bob)
    bob.send(anna)
    return anna, bob


def stashed_apart(anna: Clone, bob: Clone) -> None:
    """Let two clones decide of a segment without having seen each other; both know both."""
    anna.stash.add(ContextSegment(segment_id="seg-1", text="We keep sessions in Redis"))
    anna.send(bob)
    bob.stash.edit("seg-1", topic="auth", protected=True)
    anna.stash.edit("seg-1", topic="sessions", reason="not only logins")
    anna.send(bob)
    bob.send(anna)
