"""What a server keeps follows what is here: in differences, again after a loss, another model aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store import vectors as local
from store.qdrant import QdrantServer
from store.vectors import Crossovers
from tests.adapters import ManualClock
from tests.store.collections import MemoryCollection
from workbench.config import Config, VectorsConfig
from workbench.entry.project import OpenedProject, find_state, vector_servers
from workbench.entry.services import memory, stash_models, stash_search, vector_kinds, vector_sync, vectors
from workbench.entry.services.purge import purge_text
from workbench.entry.services.stash import stash_service
from workbench.errors import ConfigError, StoreError, UsageError
from workbench.memory.schema import collection_name
from workbench.records.iterations import RawIterationOutput, Task
from workbench.records.rules import Rule
from workbench.records.segments import ContextSegment
from workbench.rules.curation.curator import Curator

pytestmark = [  # whether it is there is asked without importing it: every worker would, to collect
    pytest.mark.skipif(find_spec("qdrant_client") is None, reason="qdrant-client is not installed here"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
]
TEXTS = ("the redis cache is cold", "the login token is stale", "a boat on the sea", "the cache of boats")


class Words:
    """Embeds a text by its words (port `Embedder`)."""

    dimensions = 384

    def __init__(self, model: str = "words") -> None:
        self.model = model
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()) or ["."]:
                found[row, sum(word.encode()) * (1 + len(self.model)) % self.dimensions] += 1
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found


Open = Callable[..., OpenedProject]


@pytest.fixture
def qdrant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a Qdrant on the wire, which answers at whatever address one is asked for."""
    from qdrant_client import QdrantClient

    from tests.qdrant_server import FakeQdrant

    fake = FakeQdrant()
    client = QdrantClient(fake.url, check_compatibility=False)
    made = QdrantServer.__init__

    def init(self: QdrantServer, url: str, **settings: Any) -> None:
        made(self, url, client=client, **settings)

    monkeypatch.setattr(QdrantServer, "__init__", init)
    monkeypatch.setattr(QdrantServer, "close", lambda self: None)
    yield client
    client.close()
    fake.close()


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open the project with settings of vectors, and what embeds; its state is the same each time."""

    def open_(embedder: Words | None = None, root: str = "project", **given: Any) -> OpenedProject:
        (tmp_path / root / ".workbench").mkdir(parents=True, exist_ok=True)
        settings = {"store": "qdrant", "qdrant_url": "http://127.0.0.1:6333", "here": 0, **given}
        config = Config(vectors=VectorsConfig(**settings))
        state = find_state(tmp_path / root, config, {"WORKBENCH_HOME": str(tmp_path / f"home-{root}")})
        project = replace(state, clock=CLOCK)
        embedder = embedder or Words()
        vars(project)["text_vectors"] = (project.vectors_by(embedder, embedder.model), "")
        return project

    return open_


CLOCK = ManualClock()


def stash(project: OpenedProject, *texts: str) -> list[str]:
    """Put texts aside; return their ids."""
    return [stash_service(project, "test").add(ContextSegment(text=text)).id for text in texts]


def find(project: OpenedProject, text: str) -> tuple[list[str], stash_search.StashSearcher]:
    searcher = stash_search.open_stash_search(project)
    found = searcher.find(searcher.query(text, min_similarity=0))
    return [one.segment.text for one in found], searcher


def test_the_stash_is_sent_and_searched(qdrant: Any, opened: Open) -> None:
    """Its vectors are on the server, once each; what is gone goes; a second look sends nothing."""
    project = opened()
    first, *_ = stash(project, *TEXTS)
    sent = vectors.sync_vectors(project)[0]
    assert (sent.kind, sent.written, sent.removed) == ("stash", sent.points, 0)
    name = collection_name(str(project.root), ":stash")
    assert qdrant.count(name).count == sent.points >= len(TEXTS)
    texts, searcher = find(opened(), "which cache is cold?")
    assert texts[0] == TEXTS[0]
    assert searcher.index.server is not None
    assert (searcher.fault, searcher.notes) == ("", [])
    assert vectors.sync_vectors(opened())[0].written == 0
    held = str([point.payload for point in qdrant.scroll(name, limit=99, with_payload=True)[0]])
    assert held.count("{") >= len(TEXTS)
    assert not [word for word in " ".join(TEXTS).split() if len(word) > 3 and word in held]

    stash_service(project, "test").remove([first])
    stash(project, "a new sea")
    project = opened()
    project.segment_index.refresh()
    project.segment_index.publish(stash_models.model_by(project.text_vectors[0]))  # type: ignore[arg-type]
    again = vectors.sync_vectors(project)[0]
    assert (again.written, again.removed) == (1, 1)
    assert qdrant.count(name).count == again.points


def test_a_server_that_lost_points_gets_them_again(qdrant: Any, opened: Open) -> None:
    """A collection that was dropped, or emptied, is filled by the next look."""
    project = opened()
    stash(project, *TEXTS)
    points = vectors.sync_vectors(project)[0].points
    for collection in qdrant.get_collections().collections:
        qdrant.delete_collection(collection.name)
    assert find(opened(), "cache")[1].fault
    assert vectors.sync_vectors(opened())[0].written == points


def test_without_a_server_everything_works_and_catches_up(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails in the middle: the same answer, said once, not asked again for a while, then caught up."""
    collection = MemoryCollection(384, "words")
    monkeypatch.setattr(vector_kinds, "segment_collection", lambda *_: collection)
    monkeypatch.setattr(vector_sync, "BATCH", 2)
    monkeypatch.setattr(local, "CROSSOVERS", Crossovers(sketches=10**9))
    project = opened()
    stash(project, *TEXTS)
    expected = find(opened(store="local"), "which cache?")[0]
    collection.fails_after = 2  # counting, and a part of the vectors
    texts, searcher = find(opened(), "which cache?")
    assert texts == expected
    assert "cannot be reached" in searcher.fault
    assert any("compared here" in note for note in searcher.notes)
    assert 0 < len(collection.points) < len(searcher.index.generation.chunks.spans)  # type: ignore[union-attr]
    calls = len(collection.calls)
    assert find(opened(), "which cache?")[0] == expected
    assert len(collection.calls) == calls  # it is left alone

    collection.fails_after = 10**9
    CLOCK.advance(61)
    written = collection.points.copy()
    texts, searcher = find(opened(), "which cache?")
    assert texts == expected
    assert not searcher.fault
    assert collection.served
    assert all(collection.points[key] is point for key, point in written.items())  # none is sent twice

    lost = next(iter(collection.points))
    del collection.points[lost]
    kept = collection.points.copy()
    [synced] = vectors.sync_vectors(opened(kinds=("stash",)))
    assert (synced.written, len(collection.points)) == (1, synced.points)
    assert all(collection.points[key] is point for key, point in kept.items())

    collection.fails_after = len(collection.calls)
    texts, searcher = find(opened(), "which cache?")
    assert (texts, searcher.fault != "") == (expected, True)


def test_another_machine_need_not_embed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server has of segments is fetched, and only the rest embedded; nonsense is not taken."""
    collection = MemoryCollection(384, "words")
    monkeypatch.setattr(vector_kinds, "segment_collection", lambda *_: collection)
    project = opened()
    stash(project, *TEXTS)
    find(project, "cache")
    for key in list(collection.points)[:1]:
        collection.points[key] = (collection.points[key][0] * 3, {})
    embedder = Words()
    other = opened(embedder, root="other")
    stash(other, *TEXTS, "nobody has this yet")
    find(other, "cache")
    assert set(embedder.texts) - {"cache"} <= {"nobody has this yet", *TEXTS}
    assert len([text for text in embedder.texts if text in TEXTS]) <= 1


def test_what_is_purged_goes_from_the_server(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge says that the server has it still; the next sync removes it, and nothing else."""
    collection = MemoryCollection(384, "words")
    monkeypatch.setattr(vector_kinds, "segment_collection", lambda *_: collection)
    project = opened(kinds=("stash",))
    stash(project, *TEXTS)
    find(project, "cache")
    assert len(collection.points) == len(TEXTS)
    report = purge_text(project, "redis cache", dry=False)
    assert any("until `workbench vectors sync`" in note for note in report.notes)
    [synced] = vectors.sync_vectors(opened(kinds=("stash",)))
    assert (synced.removed, len(collection.points)) == (1, synced.points)


def test_rules_are_what_the_schema_says(qdrant: Any, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's own rules are in `_memory`, masked, found by meaning, words and both; no person's are."""
    project = opened()
    (project.root / "CLAUDE.md").write_text(
        "# Rules\n\n- Pin every GitHub action to a commit.\n- Run pytest before each commit.\n"
        "- Never print AKIA" + "IOSFODNN7EXAMPLE to a log \\u0000 \x07.\n"
    )
    own = Rule(id="", name="", rule="Mine alone.", project_id=None)
    Curator(project.workspace.rule_store(), "test").add(own)
    sent = vectors.sync_vectors(project)
    assert [one.kind for one in sent] == ["rules"]
    asked = vectors.VectorQuery(text="pin an action", limit=2)
    for mode in ("hybrid", "dense", "sparse"):
        found = vectors.search_vectors(project, replace(asked, mode=mode))
        assert "GitHub action" in found.hits[0].fields["rule"]
        assert (found.collection, found.mode) == ("_memory", mode)
    assert vectors.search_vectors(project, replace(asked, mode="dense", least=0.99)).hits == ()
    assert vectors.search_vectors(project, replace(asked, where={"category": ("agent",)})).hits == ()
    everything = vectors.VectorQuery(limit=2)
    page = vectors.search_vectors(project, everything)
    rest = vectors.search_vectors(project, replace(everything, cursor=page.next_cursor))
    rules = [hit.fields["rule"] for hit in (*page.hits, *rest.hits)]
    assert (len(page.hits), len(rules), len(set(rules)), rest.next_cursor) == (2, 3, 3, "")
    assert not any("IOSFODNN7" in rule for rule in rules)
    wanted = "id category name rule authority scope source conditions replaces created_at updated_at metadata"
    wanted += " project_id tool_targets priority token_cost usage_count last_used tags"
    assert set(wanted.split()) <= page.hits[0].fields.keys()
    own = next(
        name for name in (one.name for one in qdrant.get_collections().collections) if "_memory" in name
    )
    params = qdrant.get_collection(own).config.params
    assert (params.vectors["dense"].size, list(params.sparse_vectors)) == (384, ["sparse"])

    (project.root / "CLAUDE.md").write_text("# Rules\n\n- Pin every GitHub action to a commit.\n")
    assert vectors.sync_vectors(opened())[0].removed == 2


def test_iterations_are_sent_where_that_is_set(qdrant: Any, opened: Open) -> None:
    """Otherwise none is; what one found out goes as text, its secrets masked."""
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    for kinds, sent in ((("rules",), 0), (("iterations",), 1)):
        project = opened(kinds=kinds)
        raw = RawIterationOutput(prompt="Warm the cache", texts=(f"The cache was cold: {secret}",))
        memory.record(
            project, [memory.digest_of(project, raw)], Task("auth", title="Warm the cache"), by="test"
        )
        assert sum(each.written for each in vectors.sync_vectors(project)) == sent
    points = [
        str(point.payload)
        for collection in qdrant.get_collections().collections
        for point in qdrant.scroll(collection.name, with_payload=True)[0]
    ]
    assert any("Warm the cache" in point for point in points)
    assert not any(secret in point for point in points)


def test_a_changed_model_takes_over_when_it_is_complete(qdrant: Any, opened: Open) -> None:
    """A second collection is filled beside the first, with what other projects have, then the alias moves."""
    projects = [opened(root=name, kinds=("rules",)) for name in ("one", "two")]
    for project in projects:
        (project.root / "CLAUDE.md").write_text(f"# R\n\n- Keep {project.root.name} tidy always.\n")
        vectors.sync_vectors(project)
    before = {alias.alias_name: alias.collection_name for alias in qdrant.get_aliases().aliases}
    changed = opened(Words("other"), root="one", kinds=("rules",))
    vectors.sync_vectors(changed)
    after = {alias.alias_name: alias.collection_name for alias in qdrant.get_aliases().aliases}
    assert before.keys() == after.keys() == {"_memory"}
    assert before != after
    for project in (changed, opened(Words("other"), root="two", kinds=("rules",))):
        found = vectors.search_vectors(project, vectors.VectorQuery(text="tidy", mode="dense"))
        assert [hit.fields["rule"] for hit in found.hits] == [f"Keep {project.root.name} tidy always."]


def test_what_belongs_to_nothing_is_named_and_removed(qdrant: Any, opened: Open) -> None:
    """Collections of features and models that are gone; those of other projects stay."""
    project = opened()
    stash(project, *TEXTS)
    vectors.sync_vectors(project)
    gone, others = collection_name(str(project.root), "gone"), collection_name("/elsewhere", "x")
    for name in (f"{gone}-00000000", f"{others}-00000000"):
        qdrant.create_collection(name, vectors_config={})
    status = vectors.vector_status(project)
    kinds = {collection.kind: collection.name for collection in status.collections}
    assert kinds["orphan"] == f"{gone}-00000000"
    assert (status.current, status.store, status.fault) == (True, "qdrant", "")
    assert vectors.clean_vectors(project) == (f"{gone}-00000000",)
    left = {collection.name for collection in qdrant.get_collections().collections}
    assert f"{others}-00000000" in left
    assert kinds["stash"] in left


def test_a_project_that_stays_open_connects_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search after search uses one connection, which is closed with the project."""
    made: list[MemoryCollection] = []

    def open_segments(*_: object) -> MemoryCollection:
        made.append(MemoryCollection(384, "words"))
        made[-1].points = made[0].points
        return made[-1]

    monkeypatch.setattr(vector_servers, "_open_segments", open_segments)
    project = opened()
    stash(project, *TEXTS)
    for text in ("cache", "boat"):
        assert not find(project, text)[1].fault
    assert len(made) == 1
    project.close()
    assert made[0].closed
    assert not find(project, "token")[1].fault
    assert len(made) == 2


def test_settings_that_lead_nowhere_cost_no_answer(opened: Open) -> None:
    """A search answers from this machine, and says what is wrong; without a team there is nothing wrong."""
    stash(opened(), *TEXTS)
    expected = find(opened(store="local"), "which cache?")[0]
    for given in ({"qdrant_url": ""}, {"qdrant_url": "http://example.org"}, {"kinds": ("cats",)}):
        texts, searcher = find(opened(**given), "which cache?")
        assert texts == expected
        assert any("no server searches the stash" in note for note in searcher.notes)
    texts, searcher = find(opened(store="postgres"), "which cache?")
    assert (texts, searcher.notes) == (expected, [])


def test_another_server_begins_with_nothing(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one server was sent is not taken to be on another one."""
    one, two = MemoryCollection(384, "words"), MemoryCollection(384, "words")
    monkeypatch.setattr(vector_kinds, "segment_collection", lambda *_: one)
    stash(opened(), *TEXTS)
    find(opened(), "cache")
    monkeypatch.setattr(vector_kinds, "segment_collection", lambda *_: two)
    _, searcher = find(opened(qdrant_url="https://elsewhere.example.org"), "cache")
    assert one.points.keys() == two.points.keys()
    assert not searcher.fault


def test_settings_that_lead_nowhere_are_refused(opened: Open) -> None:
    """Each says what to set."""
    for given, match in (
        ({"qdrant_url": ""}, "qdrant_url is empty"),
        ({"qdrant_url": "http://example.org"}, "plain text"),
        ({"kinds": ("rules", "cats")}, "'cats' is not a kind"),
        ({"store": "local"}, "no server keeps vectors"),
        ({"store": "postgres"}, "has no team"),
    ):
        with pytest.raises(ConfigError, match=match) as caught:
            vectors.sync_vectors(opened(**given))
        assert caught.value.hint
    for call in (
        vectors.clean_vectors,
        lambda one: vectors.search_vectors(one, vectors.VectorQuery(text="x")),
    ):
        with pytest.raises(UsageError):
            call(opened(store="local"))
    with pytest.raises(StoreError, match="cannot be reached"):
        vectors.search_vectors(opened(qdrant_url="http://127.0.0.1:9"), vectors.VectorQuery(text="x"))
    assert vectors.vector_status(opened(qdrant_url="http://127.0.0.1:9")).fault
    assert vectors.vector_status(opened(store="local")).collections == ()
