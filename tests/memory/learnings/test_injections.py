"""What was put into prompts, read again and again as more is put in."""

from __future__ import annotations

from workbench.memory.learnings.echoes import InjectionReader, note_injected, read_injections
from workbench.memory.learnings.learningstore import LearningStore


def test_a_reader_knows_what_was_injected_since_it_looked_last(store: LearningStore) -> None:
    """A reader that is kept tells at any time what reading the journal anew does."""
    reader = InjectionReader(store.journal)
    assert read_injections(store.journal) == reader.injections()
    for number in range(3):
        text = f"The service number {number} needs its own port to be free before it starts."
        assert note_injected(store, {f"learning-{number}": text}, surface="plan", session=f"s{number}")
        assert read_injections(store.journal) == reader.injections()
    assert len(reader.injections().given) == 3
