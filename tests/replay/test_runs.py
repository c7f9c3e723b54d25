"""Kept runs have the id of their content, come back as they were, and say when they do not."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.made import made_run
from workbench.errors import StoreError, UsageError
from workbench.records.replay import run_to_json
from workbench.replay.runs import (
    decode_run,
    decode_summary,
    encode_run,
    find_run,
    run_of_document,
)

IDS = ["aaaa1111", "aaaa2222", "bbbb3333"]


@given(st.text(max_size=40), st.text(max_size=20))
def test_a_run_comes_back_as_it_was(head: str, path: str) -> None:
    """Whatever the texts hold, lone surrogates included, a run survives its file under its id."""
    run = made_run(4, head=head, path=path.replace("{", "").replace("}", "") + "\udcff{}.py")
    identifier, data = encode_run(run)
    assert replace(run, id=identifier) == decode_run(io.BytesIO(data))
    assert encode_run(replace(run, id="other")) == (identifier, data)


def test_other_content_has_another_id() -> None:
    """Any change of a run but its id changes its id."""
    run = made_run(3)
    changed = [
        replace(run, at="2027-01-01T00:00:00Z"),
        replace(run, rows=run.rows[:2]),
        replace(run, settings={**run.settings, "budget": 1}),
        made_run(3, seed=2),
    ]
    assert len({encode_run(one)[0] for one in (run, *changed)}) == 5
    assert encode_run(replace(run, id="x"))[0] == encode_run(run)[0]


def test_a_summary_needs_the_header_alone() -> None:
    """The first lines say what a list shows; what comes after may be cut off."""
    run = made_run(50)
    rows = (*run.rows, replace(run.rows[0], id="t", systems={}, fault="no tree"))
    identifier, data = encode_run(replace(run, rows=rows))
    found = decode_summary(io.BytesIO(data[: len(data) // 2]))
    assert (found.id, found.tasks, found.faults) == (identifier, 51, 1)
    assert found.sources == {"session": 50}
    assert found.scores == {one.system: (one.precision_at_10, one.ndcg_at_10) for one in run.systems}


def test_a_changed_file_is_noticed() -> None:
    """A run whose content is not what its id says is refused, as is what is no run at all."""
    _, data = encode_run(made_run(5))
    text = gzip.decompress(data)
    for broken in (
        gzip.compress(text.replace(b"module_1", b"module_2")),
        gzip.compress(text[: len(text) // 2]),
        data[: len(data) // 2],
        b"",
        b"no gzip",
        gzip.compress(b"[]\n{}\n"),
        gzip.compress(b'{"id": 7}\n{}\n'),
        gzip.compress(b'{"id": "x"}\n{}\n'),
    ):
        with pytest.raises(StoreError, match="cannot be read"):
            decode_run(io.BytesIO(broken))
    with pytest.raises(StoreError, match="cannot be read"):
        decode_summary(io.BytesIO(gzip.compress(b'{"id": "x"}\n{"counts": 1}\n')))


@given(st.binary(max_size=60))
def test_no_bytes_crash_the_reader(junk: bytes) -> None:
    """Any bytes are a sentence, compressed or not."""
    for data in (junk, gzip.compress(junk)):
        with pytest.raises(StoreError):
            decode_run(io.BytesIO(data))


def test_what_json_printed_can_be_compared() -> None:
    """The document of a run is a run, with gates beside it or not."""
    run = made_run(3)
    text = json.dumps({**run_to_json(run), "gates": []}).encode()
    assert run_of_document(text, "run.json") == run
    for other in (b"[]", b"{}", b"{", b"\xff", b'{"format": 9}'):
        with pytest.raises(StoreError, match=r"run\.json cannot be read"):
            run_of_document(other, "run.json")


@pytest.mark.parametrize(
    ("name", "found"),
    [("last", 0), ("last~0", 0), ("last~2", 2), ("bbbb", 2), ("BBBB3", 2), ("aaaa2222", 1), ("aaaa1", 0)],
)
def test_names_of_runs(name: str, found: int) -> None:
    """`last`, steps back from it, ids and their beginnings all name a run."""
    assert IDS[found] == find_run(name, IDS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("last~3", "3 runs are kept"),
        ("aaaa", "begins the ids of 2 runs"),
        ("bbb", "no run is called"),
        ("last~x", "no run is called"),
        ("last~²", "no run is called"),
        ("", "no run is called"),
        ("zzzz", "no run is called"),
    ],
)
def test_names_of_no_run(name: str, said: str) -> None:
    """A name that means none, or several, is refused with the reason."""
    with pytest.raises(UsageError, match=said):
        find_run(name, IDS)
    with pytest.raises(UsageError, match="no run is kept yet"):
        find_run(name, [])
