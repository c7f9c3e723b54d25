"""The failure classes of [ralph] that concern iterations, their journal and their index, one test each."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from store.embedding_cache import CachedEmbedder, EmbeddingCache
from tests.memory.made import lines_of, run_of
from workbench.config import Config
from workbench.entry.project import OpenedProject, find_state
from workbench.entry.services.memory import read_feature, read_stream, record
from workbench.entry.services.memory_index import Embedding, drop_orphans, open_collection, search, status
from workbench.errors import StoreBusy
from workbench.memory.extraction.extract import (
    MAX_DECISION,
    MAX_DECISIONS,
    MAX_ERROR,
    MAX_ERRORS,
    MAX_FILES,
    extract,
)
from workbench.memory.iterations import digest_output, is_stagnant, iteration_fingerprint
from workbench.memory.journal import KIND, body_of, entry_of, feature_stream, read_journal
from workbench.memory.learnings.accumulation import Accumulated
from workbench.memory.schema import (
    MemoryPayload,
    collection_name,
    embedding_hash,
    embedding_text,
    expected_collections,
    payload_of,
    point_id,
)
from workbench.memory.transcripts import TranscriptReading, read_iterations
from workbench.records.iterations import (
    MAX_EMBEDDING,
    MAX_SUMMARY,
    DecisionEntry,
    ErrorEntry,
    ExtractionResult,
    FileAction,
    FileTouched,
    IterationOutcome,
    IterationRecord,
    PointType,
    RawIterationOutput,
    ResultEvent,
    Task,
    ToolUseEvent,
)

SETTINGS = Config().memory


class FakeEmbedder:
    """Embeds a text to what its letters count, and remembers what it was asked."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.dimensions = 26
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        """Return unit vectors float32 [n, 26]."""
        self.asked += texts
        rows = np.array([[text.lower().count(chr(97 + at)) + 0.01 for at in range(26)] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def place(work: Any) -> OpenedProject:
    work.write("a.txt")
    work.commit()
    return find_state(work.root)


def raw_of(session: str = "s", message: str = "msg_1", text: str = "Done.") -> RawIterationOutput:
    import io

    (raw,) = read_iterations(io.BytesIO(lines_of(run_of(session, message, text))), TranscriptReading())
    return raw


def remember(place: OpenedProject, feature: str, *texts: str) -> None:
    """Record iterations whose results say the texts."""
    found = [
        digest_output(raw_of(f"{feature}{text}", f"msg_{feature}_{text}", text), ["/srv/app"])
        for text in texts
    ]
    record(place, found, Task(feature), by="test")


def embedding(place: OpenedProject, fake: FakeEmbedder) -> Embedding:
    """Return the embedder behind the real cache of vectors."""
    cached = CachedEmbedder(fake, EmbeddingCache(place.home / "embeddings", fake.model, fake.dimensions))
    return Embedding(fake.model, cached.embed)


def record_of(**changes: Any) -> IterationRecord:
    made = IterationRecord(7, "42", "Build the login", "auth", "frontend", "2026-02-07T14:30:00Z",
                           IterationOutcome.FAILURE, "The wrong shape")  # fmt: skip
    return dataclasses.replace(made, **changes)


def test_f02_unbounded_field_growth() -> None:
    """Summary, errors, decisions and files of an iteration have bounds; the rest is counted."""
    words = "ä🙂" * 5_000
    calls = [
        ToolUseEvent("Bash", {"command": "make"}, f"b{at}", f"src/a{at}.c:1:1: error: {words}")
        for at in range(80)
    ]
    calls += [
        ToolUseEvent("Write", {"file_path": f"/p/f{at}.py", "content": ""}, f"w{at}", "ok")
        for at in range(400)
    ]
    texts = tuple(f"I'll use option {at} because {'it is good ' * 40}" for at in range(60))
    raw = RawIterationOutput(
        texts=texts, tool_uses=tuple(calls), cwd="/p", result=ResultEvent("success", text=words)
    )
    iteration = extract(raw, ["/p"])
    assert (len(iteration.summary), iteration.summary[-1]) == (MAX_SUMMARY, "…")
    assert (
        len(iteration.errors),
        len(iteration.decisions),
        len(iteration.files_touched),
    ) == (MAX_ERRORS, MAX_DECISIONS, MAX_FILES)
    assert all(len(error.message) == MAX_ERROR for error in iteration.errors)
    assert all(len(decision.rationale or "") <= MAX_DECISION for decision in iteration.decisions)
    assert iteration.dropped == {
        "errors beyond the bound": 30,
        "decisions beyond the bound": 30,
        "files beyond the bound": 100,
    }


def test_f07_embedding_text_too_long() -> None:
    """What is embedded has at most 4,000 characters, cut between characters, the most telling first."""
    record = record_of(
        summary="🙂" * 9_000,
        errors=(ErrorEntry("TypeError: x", None, "src/a.ts", 42),) * 50,
        decisions=(DecisionEntry("Used forms", "speed"),) * 50,
    )
    text = embedding_text(record)
    assert (len(text), text[-1]) == (MAX_EMBEDDING, "…")
    assert text.startswith("Build the login\n🙂")
    assert text.encode("utf-8").decode("utf-8") == text
    assert "TypeError: x" in embedding_text(record_of(errors=(ErrorEntry("TypeError: x"),)))


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "a/../../x", "a\\..\\x", "..", "C:\\x", "c:x", "\\\\host\\share", "~/x",
     "~root/x", "a\0b", "", ".", "a\nb", "x" * 2_000],
)  # fmt: skip
def test_f09_path_traversal(path: str) -> None:
    """A path that is absolute, leads upwards or is none cannot be in a record, not from a journal either."""
    with pytest.raises(ValueError, match=r"is not relative|leads upwards|names no file|control|longer"):
        FileTouched(path, FileAction.READ)
    body = body_of(
        entry := journal_entry_of(record_of(files_touched=(FileTouched("a.py", FileAction.READ),)))
    )
    assert entry == entry_of(body)
    body["record"]["files_touched"][0]["path"] = path
    with pytest.raises(msgspec.ValidationError):
        entry_of(body)


def test_f09_paths_of_a_transcript_are_made_relative_or_left_out() -> None:
    """Inside of the project they are relative; what leads out, a home and system files are counted."""
    paths = [
        "/p/src/a.py",
        "/p/../etc/shadow",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "/p/src/../b.py",
        "../c.py",
        "d.py",
    ]
    calls = [ToolUseEvent("Read", {"file_path": path}, str(at), "x") for at, path in enumerate(paths)]
    iteration = extract(RawIterationOutput(tool_uses=tuple(calls), cwd="/p"), ["/p"])
    assert [file.path for file in iteration.files_touched] == ["src/a.py", "b.py", "d.py"]
    assert iteration.dropped == {"paths outside of the project": 4}


def journal_entry_of(record: IterationRecord) -> Any:
    from workbench.memory.journal import VERSION, JournalEntry

    return JournalEntry(VERSION, record, "key")


def test_f16_re_embedding_unchanged_records(place: OpenedProject) -> None:
    """A text is embedded once for a model, also when the index is made again or another one is added."""
    fake = FakeEmbedder("one")
    remember(place, "auth", "first", "second")
    stream = feature_stream("auth")
    made = open_collection(place, stream, embedding(place, fake))
    assert made is not None
    assert [made.built, len(fake.asked)] == [True, 2]
    assert [embedding_hash(text) for text in fake.asked] == [point.embedding_hash for point in made.points]
    again = open_collection(place, stream, embedding(place, fake))
    assert again is not None
    assert [again.built, len(fake.asked)] == [False, 2]
    remember(place, "auth", "third")
    shutil.rmtree(place.state / "index")
    open_collection(place, stream, embedding(place, fake))
    assert len(fake.asked) == 3


def test_f18_multi_project_collection_collision(tmp_path: Path) -> None:
    """Two projects with a feature of the same name have two collections, and points of two ids."""
    name = collection_name("/home/me/shop", "auth")
    assert len(name) == 17
    assert all(part == part.lower() and len(part) == 8 for part in name.split("-"))
    assert name != collection_name("/home/me/blog", "auth")
    assert name != collection_name("/home/me/shop", "payments")
    assert name == collection_name("/home/me/shop", "auth")
    assert point_id(record_of(), "/home/me/shop") != point_id(record_of(), "/home/me/blog")
    assert point_id(record_of(), "/home/me/shop") == point_id(record_of(), "/home/me/shop")


def test_f19_embedding_model_change(place: OpenedProject) -> None:
    """Every point says which model made it; another model makes all of them again, from the journal."""
    remember(place, "auth", "first", "second")
    stream = feature_stream("auth")
    old, new = FakeEmbedder("one"), FakeEmbedder("two")
    open_collection(place, stream, embedding(place, old))
    assert status(place, "two").behind == 1
    made = open_collection(place, stream, embedding(place, new))
    assert made is not None
    assert {"two"} == {point.embedding_model for point in made.points}
    assert (len(old.asked), len(new.asked)) == (2, 2)
    open_collection(place, stream, embedding(place, old))
    assert len(old.asked) == 2


def test_f22_index_loss(place: OpenedProject) -> None:
    """The index deleted, or any of its files damaged, gives the same answers again."""
    remember(place, "auth", "tokens are refreshed", "uploads are retried")
    fake = embedding(place, FakeEmbedder("one"))
    before = search(place, SETTINGS, "refresh the tokens", fake)
    assert [hit.payload.summary for hit in before][:1] == ["tokens are refreshed"]
    files = sorted(path for path in (place.state / "index").rglob("*") if path.is_file())
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        assert before == search(place, SETTINGS, "refresh the tokens", fake)
    shutil.rmtree(place.state / "index")
    assert before == search(place, SETTINGS, "refresh the tokens", fake)
    assert search(place, SETTINGS, "refresh the tokens", None)


def test_f24_orphan_collections(place: OpenedProject) -> None:
    """Collections of features that are no more are named and can be removed; the others stay."""
    remember(place, "auth", "first")
    remember(place, "payments", "second")
    search(place, SETTINGS, "first", None)
    (place.state / "journal" / f"{feature_stream('payments')}.jsonl").unlink()
    project = str(place.root)
    gone = collection_name(project, "payments")
    assert gone not in expected_collections(project, ["auth"])
    assert (gone,) == status(place, "").orphans
    assert [gone] == drop_orphans(place)
    found = status(place, "")
    assert (found.orphans, found.collections, found.points, found.behind) == ((), 1, 1, 0)


def test_f28_extraction_corrupts_stagnation() -> None:
    """The fingerprint is of the raw output and taken first: extraction cannot change it."""
    raw = raw_of()
    before = iteration_fingerprint(raw)
    seen: list[str] = []

    def broken(given: RawIterationOutput, roots: Sequence[str]) -> ExtractionResult:
        seen.append(iteration_fingerprint(given))
        for use in given.tool_uses:
            assert isinstance(use.input, dict)
            use.input.clear()
        return ExtractionResult(IterationOutcome.SUCCESS, "anything")

    assert before == digest_output(raw_of(), ["/srv/app"], broken).fingerprint
    assert [before] == seen
    assert before == digest_output(raw, ["/srv/app"]).fingerprint
    assert before == digest_output(raw, ["/elsewhere"]).fingerprint == iteration_fingerprint(raw)
    assert before == iteration_fingerprint(raw_of("another session", "msg_7"))
    assert before != iteration_fingerprint(raw_of(text="Something else."))
    assert is_stagnant(["x", before, before, before])
    assert not is_stagnant([before, before])
    assert not is_stagnant([before, "x", before])


def test_f28_order_holds_where_iterations_are_recorded(place: OpenedProject) -> None:
    """The journal keeps the fingerprint of the raw output, and the third run alike is record."""
    found = [digest_output(raw_of(f"s{at}", f"msg_{at}"), ["/srv/app"]) for at in range(3)]
    kept = record(place, found, Task("auth"), by="test")
    assert [iteration_fingerprint(raw_of())] * 3 == [one.entry.fingerprint for one in kept]
    assert [one.stagnant for one in kept] == [False, False, True]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("version",), 2),
        (("version",), "1"),
        (("record", "outcome"), "splendid"),
        (("record", "model_tier"), "sonnet"),
        (("record", "iteration_number"), "7"),
        (("record", "files_touched"), [{"path": "a.py", "action": "renamed"}]),
        (("record", "errors"), [{"message": "x", "error_type": "Cosmic"}]),
        (("record", "summary"), None),
        (("record",), []),
    ],
)
def test_f36_silent_deserialization_fallback(
    place: OpenedProject, where: tuple[str, ...], value: Any
) -> None:
    """An unknown version, kind or value is refused, set aside and counted; the rest is read."""
    remember(place, "auth", "first", "second")
    stream = feature_stream("auth")
    body: Any = body_of(read_stream(place, stream).entries[0])
    inner = body
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    with pytest.raises(ValueError, match=r"version|Invalid|Expected"):
        entry_of(body)
    place.journal.append(stream, KIND, [{**body, "key": "another"}], by="hand")
    journal = read_journal(stream, (entry for _, entry in place.journal.read(stream)))
    assert (len(journal.entries), len(journal.set_aside)) == (2, 1)
    assert journal.set_aside[0].reason


def test_f36_points_are_read_strictly() -> None:
    """A point of the index with an unknown value is no point."""
    payload = msgspec.to_builtins(payload_of(record_of(), "/p", "model"))
    assert payload_of(record_of(), "/p", "model") == msgspec.convert(payload, MemoryPayload, strict=True)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**payload, "record_type": "aurora"}, MemoryPayload, strict=True)
    with pytest.raises(msgspec.ValidationError):  # points are of iterations and features alone
        msgspec.convert({**payload, "record_type": "metadata"}, MemoryPayload, strict=True)


def test_the_table_names_tests_that_exist() -> None:
    """Every test that docs/failure-classes.md names is one, and every class of the specification has one."""
    page = (Path(__file__).parents[2] / "docs" / "failure-classes.md").read_text(encoding="utf-8")
    here = Path(__file__).parent
    tests = set(
        re.findall(r"def (test_f\d+\w*)", "".join(path.read_text() for path in here.glob("test_f*.py")))
    )
    named = set(re.findall(r"`(test_f\d+\w*)`", page))
    assert named - tests == set()
    classes = [1, 2, 3, 7, 9, 10, 11, 16, 18, 19, 20, 21, 22, 24, 25, 27, 28, 31, 33, 35, 36]
    assert sorted({int(name[6:8]) for name in named}) == classes


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def test_no_secret_is_stored(place: OpenedProject) -> None:
    """A token in words, errors, decisions, titles and paths, also across a bound, is nowhere in the state."""
    long = "x" * (MAX_SUMMARY - 10) + f" {SECRET}"
    calls = (
        ToolUseEvent("Bash", {"command": "make"}, "1", f"a.c:1:1: error: bad token {SECRET}\n", failed=True),
        ToolUseEvent(
            "Bash", {"command": "x"}, "2", f"fatal: https://me:{SECRET}@example.org/x.git", failed=True
        ),
        ToolUseEvent("Read", {"file_path": f"/p/{SECRET}/a.py"}, "3", "x"),
    )
    words = (f"I'll use {SECRET} because it is the token {SECRET} of the build.",)
    raw = RawIterationOutput(texts=words, tool_uses=calls, cwd="/p", prompt=f"Use {SECRET}",
                             result=ResultEvent("success", text=long))  # fmt: skip
    output = digest_output(raw, ["/p"])
    record(place, [output], Task("auth", task_id=SECRET, discipline=SECRET), by="test")
    search(place, SETTINGS, "token", embedding(place, FakeEmbedder("one")))
    kept = [path for root in (place.state, place.home) for path in root.rglob("*") if path.is_file()]
    assert len(kept) > 3
    assert [path for path in kept if SECRET[:12].encode() in path.read_bytes()] == []
    assert sum(output.extraction.redacted.values()) >= 5
    assert output.extraction.dropped == {"paths that hold a secret": 1}


def test_learning_that_fails_leaves_the_iteration_recorded(place: OpenedProject) -> None:
    """Why nothing was learned is told; the record is in the journal."""

    def learn(record_: IterationRecord, found: Any) -> Accumulated:
        raise StoreBusy("somebody else learns")

    (kept,) = record(place, [digest_output(raw_of(), ["/srv/app"])], Task("auth"), by="test", learn=learn)
    assert kept.unlearned == "somebody else learns"
    assert len(read_feature(place, "auth").entries) == 1


def test_what_was_learned_is_found_with_its_feature(place: OpenedProject) -> None:
    """The live learnings of a feature are one point of its index."""
    from workbench.entry.services.memory import learning_store
    from workbench.memory.learnings.service import LearningService

    remember(place, "auth", "first")
    text = "Flaky uploads pass when the queue is drained first."
    LearningService(learning_store(place), "test").add(text, feature="auth", reason="seen in CI")
    hits = search(place, SETTINGS, "flaky uploads", None)
    assert [hit.payload.record_type for hit in hits] == [PointType.FEATURE_SNAPSHOT]
