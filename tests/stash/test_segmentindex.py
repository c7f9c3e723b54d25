"""The index of the stash says what its journal says, whenever it was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from store.vectors import Crossovers
from tests.adapters import MemoryJournal
from tests.stash.conftest import Meanings
from workbench.entry.services.stash import AT_ONCE, embed_at_once
from workbench.ports import Damaged
from workbench.records.segments import ContextSegment, FoundSegment, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.segmentindex import IndexPlaces, SegmentIndex
from workbench.stash.segmenttype import STREAM
from workbench.stash.service import StashService

NOW = 1_700_000_000.0
_WORDS = ("redis cache", "login token", "boat sea")


def add(stash: StashService, *texts: str, session: str = "s") -> list[str]:
    """Put texts aside one by one; return their ids."""
    return [stash.add(ContextSegment(text=text, session_id=session)).id for text in texts]


def opened(places: IndexPlaces, *, model: Meanings | None = None) -> SegmentIndex:
    index = SegmentIndex(places)
    index.refresh()
    if model is not None:
        index.embed_tail(model.asked)
    return index


def found(index: SegmentIndex, text: str, model: Meanings | None = None) -> tuple[FoundSegment, ...]:
    query = StashQuery(text=text, top_k=10, min_similarity=0)
    return retrieve(index, query, embed=None if model is None else model.embed, now=NOW)


def first_none(latest: Callable[[str], Path | Damaged | None]) -> Callable[[str], Path | Damaged | None]:
    """Return what finds no generation the first time."""
    given = iter([None])
    return lambda kind: next(given, latest(kind))


def ids(hits: Sequence[FoundSegment]) -> list[str]:
    return [hit.segment.id for hit in hits]


def test_a_generation_answers_as_the_journal_does(stash: StashService, places: IndexPlaces) -> None:
    """Whichever segments are in the generation and which in the tail, the answer is the same."""
    model = Meanings(*_WORDS)
    texts = [
        f"the {word} number {at}. It is about a {word}." for at in range(3) for word in ("redis", "boat")
    ]
    add(stash, *texts[:3])
    index = opened(places)
    index.publish(model.asked)
    add(stash, *texts[3:])
    stash.remove([add(stash, "the cache is gone")[0]])
    whole = SegmentIndex(replace(places, latest=lambda kind: None))
    whole.refresh()
    whole.embed_tail(model.asked)
    again = opened(places, model=model)
    assert (again.stored, whole.stored, len(again)) == (3, 0, 7)
    assert found(again, "which cache?", model) == found(whole, "which cache?", model)
    index.refresh()
    index.publish(model.asked)
    assert (index.stored, len(index)) == (6, 6)
    assert found(index, "which cache?", model) == found(whole, "which cache?", model)


def test_vectors_are_taken_over_and_only_new_texts_embedded(stash: StashService, places: IndexPlaces) -> None:
    """The next generation embeds what came since, and nothing that it has."""
    model = Meanings(*_WORDS)
    add(stash, "the redis")
    opened(places).publish(model.asked)
    add(stash, "the boat")
    opened(places).publish(model.asked)
    assert model.texts == ["the redis", "the boat"]


def test_very_many_come_in_by_generations(
    stash: StashService, places: IndexPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found, removed and changed is the same as where all of it was in memory at once."""
    monkeypatch.setattr("workbench.stash.segmentindex.STEP", 3)
    model = Meanings(*_WORDS)
    known = add(stash, *(f"the {word} number {at}" for at in range(4) for word in ("redis", "boat")))
    stash.remove([known[1], known[6]])
    stash.protect([known[0], known[4]])
    stash.edit(known[5], topic="boats")
    add(stash, "the redis cache of the boat")
    index = SegmentIndex(places)

    index.refresh(write=True)

    assert 0 < index.stored < 9
    index.publish(model.asked)
    expected = opened(replace(places, latest=first_none(places.latest)))
    expected.publish(model.asked)
    assert (index.stored, index.row(known[6])) == (7, -1)
    for text in ("which cache?", "a boat at sea"):
        assert found(index, text, model) == found(expected, text, model)
    assert index.segment(index.row(known[5])) == expected.segment(expected.row(known[5]))


def test_what_is_decided_and_undone_is_followed(stash: StashService, places: IndexPlaces) -> None:
    """Removals, undo, expiry and protection of what is in a generation, without a new one."""
    first, second = add(stash, "the redis cache", "the login token")
    index = opened(places)
    index.publish(None)
    stash.remove([first])
    index.refresh()
    assert (index.row(first), ids(found(index, "redis"))) == (-1, [])
    stash.undo()
    index.refresh()
    assert ids(found(index, "redis"))[0] == first
    stash.expire_at([second], "2023-01-01")
    index.refresh()
    assert second not in ids(found(index, "login"))
    stash.protect([second])
    index.refresh()
    assert ids(found(index, "login"))[0] == second


def test_a_segment_comes_back_that_no_generation_has(stash: StashService, places: IndexPlaces) -> None:
    """It was removed before the generation was written; its text is read from the journal."""
    first, _ = add(stash, "the redis cache", "the login token")
    stash.remove([first])
    index = opened(places)
    index.publish(None)
    assert len(index) == 1
    stash.undo()
    index.refresh()
    assert found(index, "redis")[0].segment.text == "the redis cache"


def test_use_is_counted(stash: StashService, places: IndexPlaces) -> None:
    """What was taken rises, what was shown and left falls; both are kept by the next generation."""
    first, second = add(stash, "the redis cache here", "the redis cache there", session="")
    index = opened(places)
    assert found(index, "redis")[0].similarity == found(index, "redis")[1].similarity
    stash.note_shown([first, second])
    stash.note_merged([second])
    index.refresh()
    index.publish(None)
    best, other = found(index, "redis")
    assert (best.segment.id, best.parts["feedback"] > 0, other.parts["feedback"] < 0) == (second, True, True)


@pytest.mark.parametrize("harm", ["cut", "other", "reported", "gone"])
def test_a_damaged_generation_is_rebuilt_from_the_journal(
    stash: StashService, places: IndexPlaces, journal: MemoryJournal, harm: str
) -> None:
    """It is said why, and nothing is lost."""
    model = Meanings(*_WORDS)
    add(stash, "the redis cache", "the login token")
    index = opened(places)
    index.publish(model.asked)
    path = places.latest("stash")
    assert isinstance(path, Path)
    if harm == "cut":
        file = path / "segments.arrays"
        file.write_bytes(file.read_bytes()[:-70])
    elif harm == "gone":
        (path / "vectors" / "vectors.npy").unlink()
    elif harm == "other":
        entry = journal._streams[STREAM][0]
        journal._streams[STREAM][0] = replace(entry, body={**entry.body, "topic": "x"})
    else:
        places = replace(places, latest=lambda kind: Damaged("it is cut short"))
    again = opened(places, model=model)
    assert (again.stored, len(again)) == (0, 2)
    assert "rebuilt from its journal" in again.notes[0]
    assert len(found(again, "redis", model)) == 2


def test_vectors_of_a_former_model_serve_until_those_of_the_other_are_made(
    stash: StashService, places: IndexPlaces
) -> None:
    """A changed model is due for a generation; what was stashed meanwhile is found by its words."""
    former, other = Meanings(*_WORDS), Meanings("redis", "cache", model="other")
    add(stash, "the redis cache")
    index = opened(places)
    index.publish(former.asked)
    (late,) = add(stash, "the late cache", session="t")
    index.refresh()
    index.embed_tail(other.asked)
    assert (index.model, index.is_behind("other"), index.is_behind("meanings")) == ("meanings", True, False)
    assert np.isnan(index.cosines(former.embed(["x"])[0])).tolist() == [False, True]
    assert late in ids(found(index, "late", former))
    steps: list[tuple[int, int]] = []
    index.publish(other.asked, lambda done, total: steps.append((done, total)))
    assert (index.model, index.is_behind("other"), steps) == ("other", False, [(2, 2)])


def test_turns_are_linked_by_time_within_their_session(stash: StashService, places: IndexPlaces) -> None:
    """The order in which they were stashed decides between equal times only."""
    times = ["2023-01-02T10:00", "2023-01-02T09:00", "2023-01-02T10:00"]
    for at, time in enumerate(times):
        stash.add(ContextSegment(text=f"turn {at}", session_id="s", timestamp=time))
    add(stash, "alone", session="t")
    add(stash, "of no session", "of none either", session="")
    index = opened(places)
    assert index.previous.tolist() == [1, -1, 0, -1, -1, -1]
    assert index.following.tolist() == [2, 0, -1, -1, -1, -1]


def test_a_search_by_sketches_finds_what_an_exact_one_does(
    stash: StashService, places: IndexPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the crossover candidates come from sketches and from words, and are compared all the same."""
    monkeypatch.setattr("store.vectors.CROSSOVERS", Crossovers(sketches=4))
    model = Meanings(*_WORDS)
    add(stash, *(f"the {word} number {at}" for at in range(4) for word in ("redis", "boat", "login")))
    exact = opened(places, model=model)
    index = opened(places)
    index.publish(model.asked)
    assert (index.approximate, exact.approximate) == (True, False)
    assert found(index, "which cache?", model) == found(exact, "which cache?", model)


def test_an_empty_stash_has_an_empty_index(places: IndexPlaces) -> None:
    """Nothing is found and nothing is due."""
    index = opened(places, model=Meanings())
    assert (len(index), index.is_behind("meanings"), found(index, "anything")) == (0, False, ())


def test_what_is_put_aside_is_embedded_at_once_where_a_model_is_loaded(
    stash: StashService, places: IndexPlaces
) -> None:
    """The texts are those the next search asks for; nothing is without a model in the process, or of many."""
    model = Meanings("cat dog")
    config = SimpleNamespace(stash=SimpleNamespace(chunk_tokens=places.chunk_tokens, models=()))
    counter = SimpleNamespace(count=places.count_tokens)
    loaded = SimpleNamespace(model=model.model, setting="", embed=model.embed)
    project: Any = SimpleNamespace(config=config, counter=counter, loaded_vectors=loaded)
    texts = ("The cat sleeps. The dog does not sleep.", " ".join(f"word{one}" for one in range(100)))
    kept = stash.add_many(ContextSegment(text=text) for text in texts).segments
    embed_at_once(project, kept)
    at_once, model.texts[:] = [*model.texts], []
    opened(places, model=model)
    assert at_once == model.texts != []
    model.texts.clear()
    embed_at_once(project, kept * AT_ONCE)
    project.loaded_vectors = None
    embed_at_once(project, kept)
    assert model.texts == []
