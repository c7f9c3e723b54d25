"""What is read of one learning is what the fold of all of them knows of it."""

from __future__ import annotations

from pathlib import Path

from tests.memory.learnings.facts import contradict, note_hit
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.entry.services.learnings import learning_past, learning_service
from workbench.memory.learnings.review import conflict_rows, conflicts_of, queue_of
from workbench.records.learnings import Correction, LearningKind, LearningSource, correction_body


def test_one_is_read_as_the_whole_ledger_has_it(tmp_path: Path) -> None:
    """Why it waits, its pair, hits, outcomes against it, what was said of it and done to it."""
    project = open_workspace(tmp_path, Config())
    service = learning_service(project, "test")
    agent = LearningSource.AGENT
    ports = [
        service.add(f"The service listens on port {port}", feature="auth", reason="seen", source=agent)
        for port in (8080, 9090)
    ]
    note_hit(service, ports[1].id, session_id="s2", why="found out again")
    contradict(service, ports[0].id, session_id="s3", why="it listened elsewhere")
    service.edit(ports[0].id, reason_text="seen twice")
    tabs = service.add(
        "Use tabs.", feature="style", reason="said", kind=LearningKind.CORRECTION, source=agent
    )
    for number, learned in (("1", ""), ("2", tabs.id), ("3", "")):
        said = Correction(
            "2030-01-01T00:00:00Z", "Use tabs.", "Use tabs.", f"Tabs {number}", number, 1, "passing"
        )
        body = {**correction_body(said), "learning_id": learned}
        project.journal.append("memory/style", "correction.said", [body], by="test")
    service.reject([service.add("The moon is green", feature="style", reason="said", personal=True).id])

    ledger = service.store.ledger()
    pairs = conflicts_of(ledger)
    assert pairs
    project.conflicts.keep("learning", conflict_rows(pairs))
    queue = {item.learning.id: item for item in queue_of(ledger, project.clock.now(), pairs)}
    assert {item.why.value for item in queue.values()} >= {"conflict", "contradicted", "suggested-rule"}
    for one in ledger.all():
        past = learning_past(project, one.id)
        assert past.item == queue.get(one.id)
        assert past.hits == ledger.hits.get(one.id, ())
        assert past.against == ledger.contradictions.get(one.id, ())
        assert past.changes == tuple(change for change in ledger.changes if change.record_id == one.id)
    assert project.unreadable_learnings() == (0, "")
    project.journal.append("memory/style", "learning.put", [{"id": "x"}], by="test")
    assert project.unreadable_learnings()[0] == 1
