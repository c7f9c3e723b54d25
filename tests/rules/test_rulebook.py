"""The rules in force follow rule files and journals, are imported once, and survive a full disk."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings

from store.journal import FileJournal
from tests.adapters import ManualClock, MemoryJournal
from tests.deep import times
from tests.rules.strategies import books
from workbench.errors import StoreError
from workbench.records.rules import Rule
from workbench.rules import rulebook
from workbench.rules.curation.ledger import USAGE_STREAM, USED, read_usage
from workbench.rules.curation.rulestore import RuleStore, note_use
from workbench.rules.curation.ruletype import PUT, REMOVED, STREAM, SYNCED, to_body
from workbench.rules.keptbook import rule_shelf, stored_rulebook
from workbench.rules.matching import lexical
from workbench.rules.reading.discovery import MAX_BYTES
from workbench.rules.rulebook import load_rulebook, rule_candidates
from workbench.rules.ruleset import rule_set
from workbench.rules.rulestorage import keep_rules, open_arrays_of, open_rules

Make = Callable[..., RuleStore]


def write(store: RuleStore, path: str, *rules: str) -> None:
    place = store.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"- {rule}\n" for rule in rules), encoding="utf-8")


def texts(store: RuleStore, *candidates: str, **options: Any) -> list[str]:
    return sorted(rule.rule for rule in load_rulebook(store, candidates, **options).rules)


def kinds(store: RuleStore) -> list[str]:
    """Return the kinds of the entries about rules in the project's journal."""
    return [entry.kind for _, entry in store.journal.read(STREAM) if entry.kind != SYNCED]


def test_rule_files_become_rules_once(store: RuleStore) -> None:
    """The first load imports; later ones, also of other processes, find them as they are."""
    write(store, "CLAUDE.md", "Never log tokens.", "Prefer small functions.")
    assert texts(store, "CLAUDE.md") == ["Never log tokens.", "Prefer small functions."]
    assert kinds(store) == ["rule.put", "rule.put"]
    first = load_rulebook(store, ["CLAUDE.md"])
    assert load_rulebook(store, ["CLAUDE.md"], first) is first
    assert kinds(store) == ["rule.put", "rule.put"]
    assert [rule.id for rule in first.rules] == sorted(rule.id for rule in first.rules)


def test_an_edit_puts_and_removes(store: RuleStore) -> None:
    """A changed file changes the rules in force; what left the file is removed, not deleted."""
    write(store, "CLAUDE.md", "Never log tokens.", "Prefer small functions.")
    book = load_rulebook(store, ["CLAUDE.md"])
    write(store, "CLAUDE.md", "Never log tokens.", "Always write tests.")
    assert texts(store, "CLAUDE.md", previous=book) == ["Always write tests.", "Never log tokens."]
    assert REMOVED in kinds(store)
    write(store, "CLAUDE.md", "Never log tokens.", "Prefer small functions.")
    assert texts(store, "CLAUDE.md") == ["Never log tokens.", "Prefer small functions."]


def test_an_edit_of_equal_size_and_time_is_seen(store: RuleStore) -> None:
    """Files are compared by content: a rewrite within the clock's granularity counts."""
    write(store, "CLAUDE.md", "Never log tokens.")
    place = store.root / "CLAUDE.md"
    before = place.stat()
    book = load_rulebook(store, ["CLAUDE.md"])
    write(store, "CLAUDE.md", "Never sell tokens"[:-1] + ".")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert texts(store, "CLAUDE.md", previous=book) == ["Never sell token."]


def test_a_file_that_cannot_be_read_keeps_its_rules(store: RuleStore) -> None:
    """What was known of a rule file holds while it is unreadable, and the file is named."""
    write(store, "CLAUDE.md", "Never log tokens.")
    load_rulebook(store, ["CLAUDE.md"])
    place = store.root / "CLAUDE.md"
    place.write_bytes(b"x" * (MAX_BYTES + 1))
    book = load_rulebook(store, ["CLAUDE.md"])
    assert [rule.rule for rule in book.rules] == ["Never log tokens."]
    assert any("CLAUDE.md" in warning for warning in book.warnings)


def test_rules_of_the_home_follow_the_user(store: RuleStore) -> None:
    """Home rules are journalled at home, and are not read when that is not wanted."""
    assert store.home is not None
    (store.home / ".claude").mkdir()
    (store.home / ".claude/CLAUDE.md").write_text("- Always write tests first.\n", encoding="utf-8")
    write(store, "CLAUDE.md", "Never log tokens.")
    assert texts(store, "CLAUDE.md") == ["Always write tests first.", "Never log tokens."]
    assert [entry.kind for _, entry in store.home_journal.read(STREAM)] == ["rule.put", SYNCED]
    assert texts(replace(store, home=None), "CLAUDE.md") == ["Never log tokens."]
    assert texts(store, "CLAUDE.md") == ["Always write tests first.", "Never log tokens."]


def test_a_rule_put_by_hand_is_in_force(store: RuleStore) -> None:
    """Entries of others in the journal count as soon as they are there; nonsense among them does not."""
    write(store, "CLAUDE.md", "Never log tokens.")
    book = load_rulebook(store, ["CLAUDE.md"])
    mine = replace(book.rules[0], id="mine", rule="Use tabs.", provenance=None, source="user")
    store.journal.append(STREAM, "rule.put", [to_body(mine), {"id": 7}, {}], by="tui")
    store.journal.append(STREAM, REMOVED, [{}, {"id": ["x"]}], by="tui")
    assert texts(store, "CLAUDE.md", previous=book) == ["Never log tokens.", "Use tabs."]
    store.journal.append(STREAM, REMOVED, [{"id": "mine"}], by="tui")
    assert texts(store, "CLAUDE.md") == ["Never log tokens."]


def test_names_that_are_not_utf8_are_kept(store: RuleStore) -> None:
    """A rule file in a directory with an odd name has rules like any other."""
    write(store, "lat\udce9in/CLAUDE.md", "Never log tokens.")
    assert texts(store, "lat\udce9in/CLAUDE.md") == ["Never log tokens."]
    again = load_rulebook(store, ["lat\udce9in/CLAUDE.md"])
    assert again.rules[0].provenance is not None
    assert again.rules[0].provenance.file == "lat\udce9in/CLAUDE.md"


def seal(head: bytes) -> bytes:
    """Return a head as the only content of a stored book, with what is written behind it."""
    content = head + b"\n" + b'{"ids":[],"lineage":{},"checked":[],"checksums":[]}\n'
    return content + b"%016x %016x %08x\n" % (0, 0, zlib.crc32(content))


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"7", b'{"signature": 1}', b"\xff\xfe", b"null"])
def test_a_damaged_book_is_made_anew(store: RuleStore, damage: bytes, sealed: bool) -> None:
    """Whatever stands in the stored book, the rules are those of files and journals."""
    write(store, "CLAUDE.md", "Never log tokens.")
    load_rulebook(store, ["CLAUDE.md"])
    directory = store.latest("rules")
    assert directory is not None
    (directory / "rules.lines").write_bytes(seal(damage) if sealed else damage)
    assert stored_rulebook(replace(store, latest=lambda kind: directory)) is None
    assert texts(replace(store, latest=lambda kind: directory), "CLAUDE.md") == ["Never log tokens."]
    assert kinds(store) == ["rule.put"]


@given(books())
@settings(max_examples=times(5, 15))
def test_rules_are_read_back_as_they_were_kept(
    tmp_path_factory: pytest.TempPathFactory, rules: tuple[Rule, ...]
) -> None:
    """Whatever rules hold, lone surrogates too, one by one and all at once."""
    directory = tmp_path_factory.mktemp("kept")

    def publish(kind: str, write: Callable[[Path], None]) -> Path:
        write(directory)
        return directory

    store = cast("RuleStore", SimpleNamespace(publish=publish, latest=lambda kind: directory))
    kept = rule_shelf(store)
    head = {"signature": "s", "used_until": {"project": 3, "home": 4}}
    held = keep_rules(kept, head, rule_set(rules), whole=False)
    assert tuple(held) == tuple(rules)
    opened = [open_rules(kept, lambda head: True) for _ in range(2)]
    assert [found is not None and found[0] for found in opened] == [head, head]
    first, second = (found[1] for found in opened if found is not None)
    assert [first.find(rule.id) for rule in rules] == list(rules)
    assert tuple(second) == tuple(rules)
    assert first.base.used_until == {"project": 3, "home": 4}
    assert open_arrays_of(kept, first).keys() >= {"digest", "texts.keys"}
    assert first.words == held.words


@pytest.mark.parametrize("damage", [b"", b"workbench arrays 1\n", b"\xff" * 200])
def test_damaged_words_are_made_anew(store: RuleStore, damage: bytes) -> None:
    """The words of rules that cannot be opened, or are those of other rules, are indexed again."""
    write(store, "CLAUDE.md", "Never log tokens.")
    book = load_rulebook(store, ["CLAUDE.md"])
    directory = store.latest("rules")
    assert directory is not None
    assert stored_rulebook(store) == book
    (directory / "arrays.bin").write_bytes(damage)
    assert stored_rulebook(replace(store, latest=lambda kind: directory)) is None
    assert texts(replace(store, latest=lambda kind: directory), "CLAUDE.md") == ["Never log tokens."]


def test_a_full_disk_leaves_the_rules_in_force(store: RuleStore, tmp_path: Path) -> None:
    """Rules that cannot be recorded are used all the same, and it is said; the next load records them."""

    def full(*arguments: Any, **options: Any) -> Any:
        raise StoreError("No space left on device")

    write(store, "CLAUDE.md", "Never log tokens.")
    journal = FileJournal(tmp_path / "journals", ManualClock())
    broken = replace(store, journal=journal, publish=full)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileJournal, "append_all", full)
        book = load_rulebook(broken, ["CLAUDE.md"])
    assert [rule.rule for rule in book.rules] == ["Never log tokens."]
    assert len(book.notes) == 2
    assert all("No space left" in note for note in book.notes)
    healthy = replace(broken, publish=store.publish)
    assert load_rulebook(healthy, ["CLAUDE.md"], book).notes == ()
    assert journal.size(STREAM) > 0


def test_many_uses_are_counted_once(store: RuleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each use counts whether or not the rules were kept again, and few uses keep nothing."""
    write(store, "CLAUDE.md", "Never log tokens.")
    (rule,) = load_rulebook(store, ["CLAUDE.md"]).rules
    kept = store.latest("rules")
    for count in (1, 2):
        note_use(store, [rule], "s1", "claude", by="test")
        assert [rule.usage_count for rule in load_rulebook(store, ["CLAUDE.md"]).rules] == [count]
    assert store.latest("rules") == kept
    monkeypatch.setattr(rulebook, "_UNCOUNTED", 1)
    assert [rule.usage_count for rule in load_rulebook(store, ["CLAUDE.md"]).rules] == [2]
    assert store.latest("rules") != kept
    book = stored_rulebook(store)
    assert book is not None
    assert [rule.usage_count for rule in book.rules] == [2]
    note_use(store, book.rules, "s1", "claude", by="test")
    assert [rule.usage_count for rule in load_rulebook(store, ["CLAUDE.md"]).rules] == [3]


def test_a_rebuild_reads_everything_again(store: RuleStore) -> None:
    """Asked to rebuild, nothing stored before is believed, and nothing is journalled twice."""
    write(store, "CLAUDE.md", "Never log tokens.")
    book = load_rulebook(store, ["CLAUDE.md"])
    again = load_rulebook(store, ["CLAUDE.md"], book, rebuild=True)
    assert again is not book
    assert again.rules == book.rules
    assert kinds(store) == ["rule.put"]


def test_rule_files_are_known_by_their_path() -> None:
    """Of a project's paths, those of known formats are candidates, sorted."""
    paths = [
        "src/main.py",
        "CLAUDE.md",
        "pkg/AGENTS.md",
        ".cursor/rules/a.mdc",
        ".github/workflows/ci.yml",
        ".github/copilot-instructions.md",
        "claude.py",
        ".clinerules",
    ]
    assert rule_candidates(paths) == (
        ".clinerules",
        ".cursor/rules/a.mdc",
        ".github/copilot-instructions.md",
        "CLAUDE.md",
        "pkg/AGENTS.md",
    )


def test_after_an_edit_only_what_changed_is_read(store: RuleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry is folded and one rule's words are read, however many rules there are."""
    rules = [Rule(f"r{number:03}", "", f"Use tool {number}.", project_id="p") for number in range(100)]
    store.journal.append(STREAM, PUT, [to_body(rule) for rule in rules], by="x")
    book = load_rulebook(store, [])
    read: list[str] = []
    parts = lexical._parts

    def noted(rule: Rule) -> dict[str, int]:
        read.append(rule.id)
        return parts(rule)

    monkeypatch.setattr(lexical, "_parts", noted)
    folded = store.reader.folded
    store.journal.append(STREAM, PUT, [to_body(replace(rules[7], rule="Use spaces."))], by="x")
    again = load_rulebook(store, [], book)
    words = again.words
    assert (store.reader.folded - folded, read) == (1, ["r007"])
    assert words == lexical.index_words(again.rules)


def test_uses_are_counted_of_machines_that_join_at_any_time() -> None:
    """What was counted is said by machine: one that came since is counted from its beginning, or not yet."""
    journals = {name: MemoryJournal() for name in ("project", "b")}
    for journal in journals.values():
        journal.append(USAGE_STREAM, USED, [{"rule_ids": ["one"]}], by="x")
    until = {name: journal.size(USAGE_STREAM) for name, journal in journals.items()}
    joined = {"project": journals["project"], "a": MemoryJournal(), "b": journals["b"]}
    joined["a"].append(USAGE_STREAM, USED, [{"rule_ids": ["two"]}], by="x")
    assert {rule: times for rule, (times, _) in read_usage(joined, ends=until).items()} == {"one": 2}
    assert {rule: times for rule, (times, _) in read_usage(joined, until).items()} == {"two": 1}
