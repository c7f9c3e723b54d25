"""The in-memory adapters."""

from __future__ import annotations

from tests.adapters import ManualClock, MemoryCache, MemoryJournal


def test_the_memory_journal_keeps_the_ports_promises() -> None:
    """Entries come back in order from any offset, and later changes to a body do not reach them."""
    clock = ManualClock(0.0)
    journal = MemoryJournal(clock)
    body = {"list": [1]}
    [first] = journal.append("rules", "rule.put", [body], by="cli")
    body["list"].append(2)
    clock.advance(60)
    [second] = journal.append("rules", "rule.put", [{"n": 2}], by="cli", sync=False)

    assert [(1, first), (2, second)] == list(journal.read("rules"))
    assert [(2, second)] == list(journal.read("rules", 1))
    assert first.body == {"list": [1]}
    assert (first.at, second.at) == ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:01:00.000000Z")
    assert journal.size("rules") == 2
    assert journal.streams() == ["rules"]
    assert journal.size("stash") == 0
    assert journal.append("stash", "x.put", [], by="cli") == []
    assert journal.streams() == ["rules"]


def test_the_memory_cache_returns_what_was_put() -> None:
    """A key gives its newest value, an unknown one None; while it is broken it gives and takes nothing."""
    cache: MemoryCache[bytes] = MemoryCache()
    cache.put("a", b"1", 3)
    cache.put("a", b"2")
    assert (cache.get("a"), cache.get("b"), cache.fault) == (b"2", None, "")

    cache.broken = "away"
    cache.put("a", b"3")
    assert (cache.get("a"), cache.fault) == (None, "away")

    cache.broken = ""
    assert cache.get("a") == b"2"
    cache.clear()
    assert cache.get("a") is None


def test_a_memory_journals_revision_follows_its_entries() -> None:
    """It is another one after each append, and tells journals of the same length apart."""
    one, two = MemoryJournal(), MemoryJournal()
    empty = one.revision("rules")
    one.append("rules", "rule.put", [{}], by="cli")
    two.append("rules", "rule.put", [{}], by="cli")
    assert len({empty, one.revision("rules"), two.revision("rules")}) == 3
