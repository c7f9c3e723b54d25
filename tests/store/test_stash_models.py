"""A type of segments with a model of its own, with real models: followed, named, and as good as it is."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from store import minilm
from tests.adapters import ManualClock
from tests.replay.conversations import SESSION, SHOP, write_transcript
from workbench.config import Config, StashConfig
from workbench.entry.project import OpenedProject, find_state
from workbench.entry.services.stash import segment_embedding, stash_figures, stash_findings, stash_service
from workbench.entry.services.stash_models import models_of_types
from workbench.entry.services.stash_replay import (
    StashReplayOptions,
    open_conversations,
    replay_stash,
    stash_sources,
)
from workbench.entry.services.stash_search import open_stash_search, renew_stash_index
from workbench.errors import ConfigError
from workbench.records.segments import ContextSegment, SegmentType

_TEXTS = {
    SegmentType.CODE_BLOCK: "def round_vat(total): return total.quantize(CENT)",
    SegmentType.MESSAGE: "The customer wants the invoice in two languages.",
    SegmentType.ERROR_LOG: "ConnectionError: the server of the tax office refused the invoice",
}


def test_a_type_has_a_model_of_its_own(
    model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights under another name find the same; the former index serves until it is prepared."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(model_cache))
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    shutil.copytree(minilm.model_directory(model_cache), tmp_path / "other")
    root, clock = tmp_path / "project", ManualClock()
    (root / ".workbench").mkdir(parents=True)

    def project(*models: str) -> OpenedProject:
        given = Config(stash=StashConfig(models=models))
        return replace(find_state(root, given, {"WORKBENCH_HOME": str(tmp_path / "home")}), clock=clock)

    plain = project()
    service = stash_service(plain, "test")
    segments = [ContextSegment(text=text, type=kind, session_id=kind) for kind, text in _TEXTS.items()]
    code, said, _ = [service.add(segment) for segment in segments]
    searcher = open_stash_search(plain)
    query = searcher.query("where is tax rounded?", min_similarity=0)
    expected = searcher.find(query)
    assert len(expected) == len(_TEXTS)

    both = project(f"code_block={tmp_path / 'other'}", "message=all-MiniLM-L6-v2")
    searcher = open_stash_search(both)
    assert "until `workbench model prepare` is done" in searcher.notes[0]
    assert searcher.find(query) == expected
    assert both.text_vectors[0] is not None
    assert renew_stash_index(both, both.text_vectors[0]) == (3, ())
    searcher = open_stash_search(both)
    assert searcher.notes == []
    assert searcher.find(query) == expected

    kept = stash_service(both, "test")
    assert kept.find(code.id).embedding_model.startswith("other@")
    assert kept.find(said.id).embedding_model == minilm.MODEL_ID
    assert list(stash_figures(both)[1]) == ["code_block"]
    assert segment_embedding(both, kept, code.id).shape == (minilm.DIMENSIONS,)
    assert any("code_block is embedded by other@" in finding.text for finding in stash_findings(both))

    sample = write_transcript(tmp_path / f"{SESSION}.jsonl", *SHOP)
    options = StashReplayOptions(tasks=10, systems=("bm25", "hybrid"))
    ran = replay_stash(open_conversations(root), both.config, stash_sources(both, [sample]), options)
    assert " code_block=other@" in ran.settings["embedding"]

    shutil.rmtree(tmp_path / "other")
    gone = project(f"code_block={tmp_path / 'other'}")
    searcher = open_stash_search(gone)
    assert "code_block is embedded by sentence-transformers" in searcher.notes[0]
    assert searcher.find(query) == expected


@pytest.mark.parametrize("given", ["code=model", "code_block", "code_block="])
def test_an_invalid_setting_is_named(given: str) -> None:
    """With the types that there are."""
    with pytest.raises(ConfigError) as caught:
        models_of_types(StashConfig(models=(given,)))
    assert "debug_output" in caught.value.hint
