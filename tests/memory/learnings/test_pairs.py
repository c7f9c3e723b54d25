"""Pairs that collide are found once: the same pairs as anew, from memory, from disk, and after damage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from store import generations
from tests.adapters import ManualClock
from workbench.comparison import candidates
from workbench.comparison.candidates import find_duplicates
from workbench.memory.learnings import pairs
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.pairs import PairCache
from workbench.memory.learnings.review import conflicts_of, queue_of
from workbench.memory.learnings.service import LearningService

TEXTS = [
    *(f"The service `svc{number}` needs port {8000 + number} to be free." for number in range(60)),
    "Always run `make lint` before a commit.",
    "Run `make lint` before each commit, always.",
    "Never run `make lint` before a commit.",
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the collections that were looked through."""
    sizes: list[int] = []

    def counting(texts: Sequence[str], **how: Any) -> list[object]:
        sizes.append(len(texts))
        return list(find_duplicates(texts, **how))

    monkeypatch.setattr(candidates, "find_duplicates", counting)
    return sizes


def publishing(root: Path) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return what publishes generations below a directory, as the program does."""
    return lambda kind, write: generations.publish(root, kind, write, clock=ManualClock()).path


def latest(root: Path) -> Callable[[str], Path | None]:
    """Return what finds the current generation of a kind."""

    def find(kind: str) -> Path | None:
        found = generations.latest(root, kind)
        return found.path if isinstance(found, generations.Generation) else None

    return find


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def kept_size(root: Path) -> int:
    found = latest(root)(pairs.GENERATION)
    assert found is not None
    return (found / "pairs.json").stat().st_size


def test_pairs_are_found_once_and_are_those_found_anew(tmp_path: Path, asked: list[int]) -> None:
    """A second process reads them; a changed collection is looked through again."""
    first = PairCache(lambda kind: None, publishing(tmp_path))
    assert first.find(TEXTS) == find_duplicates(TEXTS)
    first.keep()
    second = PairCache(latest(tmp_path), publishing(tmp_path))
    assert (second.find(TEXTS), second.find(TEXTS)) == (find_duplicates(TEXTS), find_duplicates(TEXTS))
    assert asked == [len(TEXTS)]
    second.find(TEXTS[1:])
    assert asked == [len(TEXTS), len(TEXTS) - 1]


def test_a_long_comparison_says_how_far_it_is() -> None:
    """Each text is counted, of every collection that is compared for the first time."""
    cache, seen = PairCache(), list[tuple[int, int]]()
    cache.progress = lambda done, total: seen.append((done, total))
    cache.find(TEXTS)
    cache.find(TEXTS)
    assert seen == [(done, len(TEXTS)) for done in range(len(TEXTS))]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"version": "0"}', b'{"version": 3, "groups": 4}', b"\xff"]
)
def test_damage_is_found_anew(tmp_path: Path, data: bytes) -> None:
    """What is kept is disposable (F22): torn, of another version or form."""
    one = PairCache(latest(tmp_path), publishing(tmp_path))
    one.find(TEXTS)
    one.keep()
    publishing(tmp_path)(pairs.GENERATION, lambda path: write(path / "pairs.json", data))
    again = PairCache(latest(tmp_path), publishing(tmp_path))
    assert again.find(TEXTS) == find_duplicates(TEXTS)


def test_what_nobody_asked_for_since_is_forgotten(tmp_path: Path) -> None:
    """What is kept does not grow with every change of a learning."""
    one = PairCache(lambda kind: None, publishing(tmp_path))
    one.find(TEXTS)
    one.keep()
    size = kept_size(tmp_path)
    for last in range(1, 4):
        one.find(TEXTS[last:])
        one.keep()
    assert kept_size(tmp_path) <= size


def test_the_desk_sees_the_same_queue_after_changes(
    store: LearningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pairs remembered or found anew, before and after decisions."""
    monkeypatch.setattr(pairs, "_SMALL", 0)
    desk = LearningService(store, "cli")
    made = [desk.add(text, feature="auth", reason="seen") for text in (*TEXTS[:5], TEXTS[60], TEXTS[62])]
    assert desk.review_queue() == queue_of(store.ledger(), store.now(), conflicts_of(store.ledger()))
    desk.reject([made[-1].id])
    assert desk.review_queue() == queue_of(store.ledger(), store.now(), conflicts_of(store.ledger()))
    desk.undo()
    assert desk.review_queue() == queue_of(store.ledger(), store.now(), conflicts_of(store.ledger()))
    assert len(desk.conflicts()) == 1
