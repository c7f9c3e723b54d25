"""From how many vectors on which search pays is measured once, kept, and a default until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from store import crossovers as module
from store.crossovers import FILE, LEAST, build_measured, crossovers, save_crossovers
from store.vectors import EXACT, SKETCH, Crossovers
from tests.store.test_vectors import clustered

HERE = Crossovers(sketches=120_000, graph=7_000, measured=True)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Crossovers]:
    """What was measured, which takes no time here."""
    calls: list[Crossovers] = []

    def measure() -> Crossovers:
        calls.append(HERE)
        return HERE

    monkeypatch.setattr(module, "measure_crossovers", measure)
    return calls


def test_few_vectors_measure_nothing(tmp_path: Path, measured: list[Crossovers]) -> None:
    """Until it matters the default holds, and nothing is written."""
    assert crossovers(tmp_path, LEAST - 1) == crossovers(None, 10**6) == Crossovers()
    assert (measured, list(tmp_path.iterdir())) == ([], [])


def test_many_vectors_measure_once(tmp_path: Path, measured: list[Crossovers]) -> None:
    """The first index of many measures, later ones and other projects read it, however few they hold."""
    assert [crossovers(tmp_path / "cache", count) for count in (LEAST, LEAST, 1)] == [HERE] * 3
    assert len(measured) == 1


@pytest.mark.parametrize("content", [b"", b"{}}", b'{"sketches":"many"}', b"\xff"])
def test_damage_is_measured_again(tmp_path: Path, measured: list[Crossovers], content: bytes) -> None:
    """A file that is none counts as missing."""
    (tmp_path / FILE).write_bytes(content)
    assert crossovers(tmp_path) == Crossovers()
    assert crossovers(tmp_path, LEAST) == HERE == crossovers(tmp_path)
    assert len(measured) == 1


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path, measured: list[Crossovers]) -> None:
    """The search goes on by what was measured."""
    (tmp_path / "cache").write_text("no directory")
    assert save_crossovers(tmp_path / "cache") == HERE


def test_an_index_is_built_as_pays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first index that is large enough measures, and those of few vectors are exact as before."""
    monkeypatch.setattr(module, "LEAST", 400)
    monkeypatch.setattr(module, "measure_crossovers", lambda: Crossovers(sketches=450, measured=True))

    methods = [build_measured(tmp_path, clustered(count)).method for count in (399, 400, 500)]
    assert methods == [EXACT, EXACT, SKETCH]
    assert (tmp_path / FILE).is_file()


def test_a_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ways cross follows from what each takes, rounded to two digits, within what is believed."""
    monkeypatch.setattr(module, "_SAMPLE", 400)
    monkeypatch.setattr(module, "_GRAPH_SAMPLE", 50)
    lines = iter([(0.1e-6, 0.0), (0.02e-6, 0.001)])  # exact, sketches: seconds each vector and each search
    monkeypatch.setattr(module, "_line", lambda search: (search(400), next(lines))[1])
    monkeypatch.setattr(module, "_graph", lambda vectors: (len(vectors) * 1e-6, 0.0001))

    # 11 ms of 0.1 µs are 110,000 vectors; n · 0.1 µs = 50 µs · √(n / 50) + 100 µs at 6,852.
    assert module.measure_crossovers() == Crossovers(sketches=110_000, graph=6_900, measured=True)


def test_a_real_measurement_is_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine does meanwhile, what is kept can be used."""
    monkeypatch.setattr(module, "_SAMPLE", 4_000)
    monkeypatch.setattr(module, "_GRAPH_SAMPLE", 300)
    pays = module.measure_crossovers()
    assert 50_000 <= pays.sketches <= 2_000_000
    assert LEAST <= pays.graph <= 100_000
    assert pays.measured
