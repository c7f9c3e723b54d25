"""A saved fold that is gone on with is the fold of the whole, whatever became of its file or the journals."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import generations
from store.journal import FileJournal
from tests.adapters import ManualClock
from tests.curation.test_curation import (
    CASES,
    STEPS,
    Bench,
    Case,
    MemoryJournalView,
    Steps,
    bench_of,
    play,
)
from tests.deep import times
from tests.stores import rule_store
from workbench.curation import folding, lazy
from workbench.curation.folding import LedgerReader
from workbench.curation.ledger import Ledger
from workbench.curation.saved import SavedFold, open_fold, write_fold
from workbench.errors import StoreError, UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator

LAST = ("z", 1, "z")


def whole_of(bench: Bench) -> Ledger[Any]:
    return bench.fresh()


def contents_of(ledger: Ledger[Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in (item.name for item in fields(ledger) if item.compare and item.name != "type"):
        value = getattr(ledger, name)
        if isinstance(value, bool):
            found[name] = value
        elif isinstance(value, set):
            found[name] = sorted(value)
        else:
            found[name] = list(value.items()) if hasattr(value, "items") else list(value)
    return found


class Saved:
    """Where folds are saved: in memory a path, on disk the generations of a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.count = 0

    def latest(self, kind: str) -> Path | None:
        """Return the directory of what was saved last."""
        found = generations.latest(self.root, kind)
        return found.path if isinstance(found, generations.Generation) else None

    def publish(self, kind: str, write: Callable[[Path], None]) -> Path:
        self.count += 1
        return generations.publish(self.root, kind, write, clock=self.clock).path

    def reader(self, bench: Bench) -> LedgerReader[Any]:
        """Return what a new process folds with."""
        store = bench.service.store
        return LedgerReader(store.empty_ledger, store.journals, self.latest, self.publish)

    def file(self) -> Path:
        """Return the file of the fold that was saved last."""
        (found,) = [
            path for path in self.root.rglob("fold") if path.parent == self.latest(path.parent.name[:-2])
        ]
        return found


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Saved:
    """Where folds are saved, however few entries they have."""
    monkeypatch.setattr(folding, "FEW", 1)
    return Saved(tmp_path)


LINES = st.lists(st.text(st.sampled_from('abAB éK \n"'), max_size=40), max_size=30)


@given(LINES, st.sampled_from(["a", "ab", "ba", "abab"]), st.integers(1, 40), st.integers(1, 60))
def test_lines_with_a_word_are_found_however_they_are_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], word: str, block: int, most: int
) -> None:
    """In whatever case and across blocks; a line with more than ASCII may have any word in another form."""
    path = tmp_path_factory.mktemp("lines") / "lines"
    encoded = [json.dumps(text, ensure_ascii=False).encode() + b"\n" for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy, "BLOCK", block)
        patch.setattr(lazy, "_AT_ONCE", most)
        with path.open("wb") as file:
            ends, checksums = lazy.write_lines(file, encoded)
        lines = lazy.FileLines(lazy.StoredFile(path), ends, checksums)
        found = list(lines.with_word(word))
    assert found == [
        number for number, line in enumerate(encoded) if word in line.decode().lower() or not line.isascii()
    ]


@pytest.mark.parametrize(
    ("there", "again"),
    [
        ("Run the formatter.", "run  the FORMATTER."),
        ("Read the straße guide", "read the STRASSE guide"),
        ("→ ", "→"),
    ],
)
def test_a_rule_that_is_stored_already_is_refused(saved: Saved, there: str, again: str) -> None:
    """What is said in the lines of a file is found there as it is in memory."""
    bench = bench_of(CASES["rules"])
    first = CASES["rules"].add(bench.service, there)
    CASES["rules"].add(bench.service, "Something else")
    store = bench.service.store
    file = saved.root / "fold"
    write_fold(file, SavedFold(store.ledger(), (), LAST, 2, "a"))
    opened = open_fold(file, store.empty_ledger())
    assert opened is not None
    store.reader._ledger = opened.ledger
    with pytest.raises(UsageError, match=f"already there: {first.id}"):
        CASES["rules"].add(bench.service, again)


CUTS = st.lists(st.integers(0, 3), max_size=16)


@pytest.mark.parametrize("name", CASES)
@given(STEPS, CUTS)
@settings(max_examples=times(4, 12))
def test_saved_anywhere_and_gone_on_with_it_is_the_whole(
    name: str, tmp_path_factory: pytest.TempPathFactory, steps: Steps, cuts: Sequence[int]
) -> None:
    """Where a process ends and the next one begins changes nothing of what a ledger holds, undo included."""
    case = CASES[name]
    bench = bench_of(case)
    file = tmp_path_factory.mktemp("fold") / "fold"
    store = bench.service.store
    for number, _ in enumerate(play(case, bench, steps)):
        cut = cuts[number % len(cuts)] if cuts else 1
        if cut == 0:
            continue
        if cut == 3:
            bench.clock.advance(-5)  # a clock that goes back
        ledger = store.ledger()
        held = contents_of(ledger) if cut == 2 else {}  # what was asked for is no longer as it is stored
        write_fold(file, SavedFold(ledger, (), LAST, number, "a"))
        opened = open_fold(file, store.empty_ledger())
        assert opened is not None
        assert (opened.entries, opened.latest, opened.lineage) == (number, LAST, "a")
        assert not held or contents_of(opened.ledger) == held
        store.reader._ledger = opened.ledger
    assert contents_of(store.ledger()) == contents_of(whole_of(bench))


def test_a_new_process_folds_what_came_since(saved: Saved) -> None:
    """It reads its own few entries, and decodes no record that nobody asks for."""
    bench = bench_of(CASES["toys"])
    records = [bench.service.create(CASES["toys"].make(f"Word {at}", "p")) for at in range(30)]
    first = saved.reader(bench)
    first.ledger()
    first.save()
    bench.clock.advance(1)
    bench.service.edit(records[3].id, text="Other word")
    second = saved.reader(bench)
    ledger = second.ledger()
    assert (second.folded, saved.count) == (1, 1)
    assert ledger.require(records[3].id).text == "Other word"
    asked = [key for key in ledger.records if ledger.records.place(key) is None]
    assert asked == [records[3].id]
    assert contents_of(ledger) == contents_of(whole_of(bench))


def test_little_that_came_since_is_not_saved_again(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold is written when much was folded since the last one, and then as the whole."""
    bench = bench_of(CASES["toys"])
    monkeypatch.setattr(folding, "FEW", 4)
    for number in range(9):
        bench.service.create(CASES["toys"].make(f"Word {number}", "p"))
        reader = saved.reader(bench)
        reader.ledger()
        reader.save()
        reader.save()
        assert saved.count == (number + 1) // 4
    assert contents_of(saved.reader(bench).ledger()) == contents_of(whole_of(bench))


@pytest.mark.parametrize("name", CASES)
def test_two_journals_and_a_clock_that_went_back(name: str, saved: Saved) -> None:
    """An entry of the home that is older than what was saved of the project is folded in its place."""
    case = CASES[name]
    bench = bench_of(case)
    case.add(bench.service, "First word", home=True)
    for number in range(3):
        bench.clock.advance(1)
        case.add(bench.service, f"Word {number} holds")
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    bench.clock.advance(-2)
    late = case.service(bench.journal, MemoryJournalView(bench.home, bench.clock), bench.clock)
    case.add(late, "Late word", home=True)
    again = saved.reader(bench)
    assert contents_of(again.ledger()) == contents_of(whole_of(bench))
    assert again.folded > 1  # from the beginning
    again.save()
    fresh = saved.reader(bench)
    assert contents_of(fresh.ledger()) == contents_of(whole_of(bench))
    assert fresh.folded == 0


def files_bench(root: Path, case: Case) -> Bench:
    """Return an empty project whose journals are files."""
    clock = ManualClock()
    journal, home = FileJournal(root / "state", clock), FileJournal(root / "home", clock)
    return Bench(case.service(journal, home, clock), journal, home, clock)


def test_undo_and_redo_across_processes(saved: Saved, tmp_path: Path) -> None:
    """Each process undoes or does again what another one did, from what was saved."""
    case = CASES["toys"]
    files_bench(tmp_path, case).service.create(case.make("Word 0", "p"))
    for number in (1, 2):
        bench = files_bench(tmp_path, case)
        bench.clock.advance(number)
        bench.service.edit("toy-0", text=f"Word {number}")
    texts = []
    for number, verb in enumerate(("undo", "undo", "redo", "redo", "undo")):
        bench = files_bench(tmp_path, case)
        bench.clock.advance(10 + number)
        store = bench.service.store
        store._reader.append(saved.reader(bench))
        getattr(bench.service, verb)()
        store.ledger()
        store.reader.save()
        texts.append(store.ledger().records["toy-0"].text)
        assert contents_of(store.ledger()) == contents_of(whole_of(bench))
    assert texts == ["Word 1", "Word 0", "Word 1", "Word 2", "Word 1"]
    assert saved.count == 6  # and what was there before the first


HARM: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: data.index(b"\n", len(data) // 2) + 1],
    "emptied": lambda data: b"",
    "a letter of the first line": lambda data: data.replace(b"Word 0", b"Ward 0", 1),
    "a line that cannot be read": lambda data: data.replace(b'{"v":1', b'{"v":"', 1),
    "its first line gone": lambda data: data.split(b"\n", 1)[1],
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("later", [False, True])
def test_a_journal_that_is_another_is_folded_as_a_whole(
    harm: str, later: bool, saved: Saved, tmp_path: Path
) -> None:
    """Replaced, cut short or damaged, also where something follows: what it says now is what holds."""
    case = CASES["toys"]
    bench = files_bench(tmp_path, case)
    for number in range(6):
        bench.service.create(case.make(f"Word {number}", "p"))
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    path = tmp_path / "state" / "journal" / "toys.jsonl"
    path.write_bytes(HARM[harm](path.read_bytes()))
    if later:
        bench.clock.advance(1)
        bench.service.create(case.make("Last word", "p"))
    assert contents_of(saved.reader(bench).ledger()) == contents_of(whole_of(bench))


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        lambda data: b"00000000" + data[8:],
        lambda data: data[:20],
    ],
)
def test_a_damaged_fold_is_of_no_use(harm: Callable[[bytes], bytes], saved: Saved) -> None:
    """All is folded again, and saved anew."""
    bench = bench_of(CASES["rules"])
    for number in range(4):
        CASES["rules"].add(bench.service, f"Word {number} holds")
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    saved.file().write_bytes(harm(saved.file().read_bytes()))
    again = saved.reader(bench)
    assert contents_of(again.ledger()) == contents_of(whole_of(bench))
    assert again.folded == 4
    again.save()
    last = saved.reader(bench)
    last.ledger()
    assert last.folded == 0


def test_what_another_program_saved_is_of_no_use(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may fold otherwise."""
    bench = bench_of(CASES["toys"])
    bench.service.create(CASES["toys"].make("One word", "p"))
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    monkeypatch.setattr("workbench.curation.saved.__version__", "99")
    other = saved.reader(bench)
    other.ledger()
    assert other.folded == 1


def test_a_place_that_takes_nothing_is_no_error(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be saved is folded again by the next process."""
    bench = bench_of(CASES["toys"])
    bench.service.create(CASES["toys"].make("One word", "p"))

    def refuse(kind: str, write: Callable[[Path], None]) -> Path:
        raise StoreError("the disk is full", hint="Make room.")

    monkeypatch.setattr(saved, "publish", refuse)
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    assert contents_of(saved.reader(bench).ledger()) == contents_of(whole_of(bench))


def test_names_that_are_no_text_are_kept(saved: Saved) -> None:
    """A lone surrogate, which a file name that is not UTF-8 becomes, is there again in a new process."""
    case = CASES["rules"]
    bench = bench_of(case)
    record = case.add(bench.service, "One word of caf\udce9")
    bench.service.edit(record.id, tags=("file:\udcff",), reason="\udcff")
    reader = saved.reader(bench)
    reader.ledger()
    reader.save()
    assert contents_of(saved.reader(bench).ledger()) == contents_of(whole_of(bench))


def test_a_service_saves_what_it_folded(saved: Saved) -> None:
    """A step saves once its lock is released, so that nobody waits, and the next process folds little."""
    bench = bench_of(CASES["rules"])
    held: list[str] = []

    @contextlib.contextmanager
    def lock(name: str) -> Iterator[None]:
        held.append(name)
        yield
        held.remove(name)

    def publish(kind: str, write: Callable[[Path], None]) -> Path:
        assert not held
        return saved.publish(kind, write)

    parts = {"latest": saved.latest, "publish": publish, "lock": lock}
    store = rule_store(bench.journal, bench.home, bench.clock, **parts)
    curator = Curator(store, "test")
    for number in range(3):
        curator.add(Rule("", "", f"Word {number} holds", project_id="p"))
    assert saved.count == 2  # each had folded what the one before wrote
    reader = saved.reader(bench)
    assert contents_of(reader.ledger()) == contents_of(whole_of(bench))
    assert reader.folded == 1
