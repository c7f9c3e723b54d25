"""Which model is used follows the documented order, and a text's vector depends on the text alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import pytest

from store import embedding, minilm
from store.embedders import FastembedEmbedder, LazyEmbedder
from store.embedding import EmbeddingSettings, resolve_embedder, survey
from store.onnx_embedder import OnnxEmbedder
from workbench.errors import ModelError

TEXTS = [
    "jwt token is not refreshed on 401",
    "",
    "a",
    "def f(x):\n    return x + 1\n" * 80,
    "Größe naïve 日本語 \u200b \x00 emoji 🎉",
    "lone \udc80 surrogate",
    "hello world",
]


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> OnnxEmbedder:
    return OnnxEmbedder(minilm.model_directory(model_cache), minilm.MODEL_ID, threads=2)


@pytest.fixture
def settings(tmp_path: Path) -> EmbeddingSettings:
    return EmbeddingSettings(cache=tmp_path / "cache", fastembed_cache=tmp_path / "fastembed")


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_anywhere")


def test_vectors_are_unit_and_float32(embedder: OnnxEmbedder) -> None:
    """Every text, strange ones included, gives a row of length 1."""
    vectors = embedder.embed(TEXTS)

    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_vector_is_the_same_bytes_in_any_company(embedder: OnnxEmbedder, model_cache: Path) -> None:
    """Alone, in a batch, in another order or with another number of threads: the same bytes."""
    together = embedder.embed(TEXTS)
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    single = OnnxEmbedder(minilm.model_directory(model_cache), minilm.MODEL_ID, threads=1).embed(TEXTS)

    assert together.tobytes() == backwards.tobytes() == alone.tobytes() == single.tobytes()


def test_an_optimized_graph_is_the_same_network(embedder: OnnxEmbedder, tmp_path: Path) -> None:
    """Its vectors are the same bytes: written, read, packed or not, damaged, or not kept."""
    expected = embedder.embed(TEXTS).tobytes()

    def vectors(optimized: Path) -> bytes:
        other = OnnxEmbedder(embedder.directory, embedder.model, threads=2, optimized=optimized)
        alone = np.concatenate([other.embed([text]) for text in TEXTS])
        assert alone.tobytes() == other.embed(TEXTS).tobytes()
        return alone.tobytes()

    assert vectors(tmp_path / "graph") == expected
    [kept] = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert vectors(tmp_path / "graph") == expected
    kept.write_bytes(kept.read_bytes()[:-1_000_000])
    assert vectors(tmp_path / "graph") == expected
    assert vectors(tmp_path / "graph") == expected
    assert [*tmp_path.iterdir()] == [kept]
    assert vectors(tmp_path / "missing" / "graph") == expected


def test_no_texts_give_no_rows(embedder: OnnxEmbedder) -> None:
    """An empty list is answered with an empty matrix."""
    assert embedder.embed([]).shape == (0, 384)


def test_fast_adapter_equals_fastembed(embedder: OnnxEmbedder) -> None:
    """fastembed, loading the same directory, gives the same vectors to 1e-5."""
    reference = FastembedEmbedder(minilm.MODEL, path=embedder.directory)

    np.testing.assert_allclose(embedder.embed(TEXTS), reference.embed(TEXTS), atol=1e-5)
    assert reference.dimensions == embedder.dimensions
    assert reference.embed([]).shape == (0, 384)


def test_similar_texts_are_near(embedder: OnnxEmbedder) -> None:
    """A paraphrase is nearer than an unrelated text."""
    question, paraphrase, other = embedder.embed(
        ["login token expires too early", "the session credential times out too soon", "banana bread recipe"]
    )

    assert question @ paraphrase > 0.4 > question @ other


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"\x00damaged", b"{]"])
def test_damaged_model_is_a_model_error(model_cache: Path, tmp_path: Path, name: str, content: bytes) -> None:
    """A damaged file of the model gives an error that names it and the next step."""
    directory = tmp_path / "model"
    shutil.copytree(minilm.model_directory(model_cache), directory)
    (directory / name).write_bytes(content)

    with pytest.raises(ModelError, match=name.replace(".", r"\.")) as caught:
        OnnxEmbedder(directory, "damaged")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_file_is_a_model_error(model_cache: Path, tmp_path: Path, name: str) -> None:
    """A directory without one of the two necessary files is refused."""
    directory = tmp_path / "model"
    shutil.copytree(minilm.model_directory(model_cache), directory)
    (directory / name).unlink()

    with pytest.raises(ModelError, match=f"no {name}"):
        OnnxEmbedder(directory, "incomplete")


def test_nothing_available_means_lexical(settings: EmbeddingSettings, no_package: None) -> None:
    """Without any model the embedder is None and the plan says degraded, with a reason for each option."""
    embedder, report = resolve_embedder(settings)

    assert embedder is None
    assert (report.source, report.degraded) == (embedding.NONE, ("embeddings",))
    assert [option.source for option in report.options] == ["fastembed-cache", "packaged", "download"]
    assert all(option.reason for option in report.options)


def test_turned_off_is_obeyed(settings: EmbeddingSettings) -> None:
    """`model = "none"` uses no model even where one is at hand."""
    off = EmbeddingSettings(cache=settings.cache, model="none")

    embedder, report = resolve_embedder(off)

    assert embedder is None
    assert report.options[0].reason == "embeddings are turned off"


@pytest.mark.parametrize("name", ["", minilm.MODEL])
def test_packaged_model_is_the_default(model_cache: Path, tmp_path: Path, name: str) -> None:
    """With nothing configured or cached the packaged model is used, loaded by texts that take it."""
    settings = EmbeddingSettings(cache=model_cache, model=name, fastembed_cache=tmp_path)
    embedder, report = resolve_embedder(settings)

    assert isinstance(embedder, LazyEmbedder)
    assert not embedder.loaded
    assert (report.source, report.model, report.degraded) == (embedding.PACKAGED, minilm.MODEL_ID, ())
    assert report.as_configured
    assert embedder.embed(["x"]).shape == (1, embedder.dimensions)
    assert not embedder.loaded
    assert embedder.embed(["x"] * 9).shape == (9, embedder.dimensions)
    assert embedder.loaded


def _fastembed_snapshot(model_cache: Path, root: Path) -> Path:
    snapshot = (
        root
        / "models--Qdrant--all-MiniLM-L6-v2-onnx"
        / "snapshots"
        / "5f1b8cd78bc4fb444dd171e59b18f3a3af89a079"
    )
    shutil.copytree(minilm.model_directory(model_cache), snapshot)
    return snapshot


def test_fastembed_cache_goes_before_packaged(
    model_cache: Path, settings: EmbeddingSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model in fastembed's own cache is used, under an id of its own."""
    assert settings.fastembed_cache is not None
    snapshot = _fastembed_snapshot(model_cache, settings.fastembed_cache)

    embedder, report = resolve_embedder(settings)

    assert (report.source, report.path) == (embedding.FASTEMBED_CACHE, str(snapshot))
    assert embedder is not None
    assert embedder.model == f"{minilm.MODEL}@fastembed-5f1b8cd78bc4"
    assert embedder.embed(["x"]).shape == (1, 384)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files on this platform")
def test_cache_of_another_user_is_not_trusted(
    model_cache: Path, settings: EmbeddingSettings, no_package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone can put a model into the shared temporary directory: only the user's own is loaded."""
    assert settings.fastembed_cache is not None
    _fastembed_snapshot(model_cache, settings.fastembed_cache)
    owner = settings.fastembed_cache.stat().st_uid
    if owner == 0:
        os.chown(settings.fastembed_cache, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    embedder, report = resolve_embedder(settings)

    assert embedder is None
    assert "belongs to another user" in report.options[0].reason


def test_configured_directory_goes_first(model_cache: Path, tmp_path: Path) -> None:
    """A configured directory is used before everything else; its id changes with its file."""
    directory = tmp_path / "mine"
    shutil.copytree(minilm.model_directory(model_cache), directory)
    settings = EmbeddingSettings(cache=model_cache, model=str(directory), fastembed_cache=tmp_path)

    first, report = resolve_embedder(settings)
    os.utime(directory / "model.onnx", ns=(1, 1))
    second, _ = resolve_embedder(settings)

    assert first is not None
    assert second is not None
    assert (report.source, report.as_configured) == (embedding.CONFIGURED, True)
    assert first.dimensions == 384
    assert first.model != second.model


def test_configured_model_that_is_missing_is_told(model_cache: Path, tmp_path: Path) -> None:
    """A wrong path falls back to the default, and the report says it is not what was configured."""
    settings = EmbeddingSettings(cache=model_cache, model="./no/such/model", fastembed_cache=tmp_path)

    embedder, report = resolve_embedder(settings)

    assert embedder is not None
    assert (report.source, report.as_configured) == (embedding.PACKAGED, False)
    assert "holds no model.onnx" in report.options[0].reason


def test_unknown_name_is_told(model_cache: Path, tmp_path: Path) -> None:
    """A name fastembed does not know leaves its message in the report."""
    settings = EmbeddingSettings(cache=model_cache, model="nobody/no-such-model", fastembed_cache=tmp_path)

    _, report = resolve_embedder(settings)

    assert (report.source, report.as_configured) == (embedding.PACKAGED, False)
    assert "not supported" in report.options[0].reason


class _Fetched:
    """Stands for a model fastembed has downloaded."""

    dimensions = 3

    def __init__(self, name: str, *, download: bool = False, **_: Any) -> None:
        if not download:
            raise ModelError(f"{name} is not cached")
        self.model = f"{name}@fastembed"
        self.directory = Path("/models") / name

    def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 3), np.float32)


def test_download_only_when_allowed(
    settings: EmbeddingSettings, no_package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last resort is a download, taken only with models.download = true."""
    monkeypatch.setattr(embedding, "FastembedEmbedder", _Fetched)
    allowed = EmbeddingSettings(settings.cache, download=True, fastembed_cache=settings.fastembed_cache)

    assert resolve_embedder(settings)[0] is None
    embedder, report = resolve_embedder(allowed)

    assert embedder is not None
    assert report.source == embedding.DOWNLOAD


def test_failed_download_is_not_repeated_at_once(
    settings: EmbeddingSettings, no_package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed download the next plan does not wait for the network again."""
    calls: list[str] = []

    def fail(name: str, **_: Any) -> Any:
        calls.append(name)
        raise ModelError("no network")

    monkeypatch.setattr(embedding, "FastembedEmbedder", fail)
    allowed = EmbeddingSettings(settings.cache, download=True, fastembed_cache=settings.fastembed_cache)

    resolve_embedder(allowed)
    _, report = resolve_embedder(allowed)

    assert calls == [minilm.MODEL]
    assert "no network" in report.options[-1].reason


def test_failed_build_falls_through(settings: EmbeddingSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that fails leaves its reason and the next option gets its turn."""

    def fail(cache: Path) -> Any:
        raise ModelError("the disk is full")

    monkeypatch.setattr(minilm, "packaged_weights", lambda: settings.cache)
    monkeypatch.setattr(minilm, "ensure_built", fail)

    embedder, report = resolve_embedder(settings)

    assert embedder is None
    assert report.options[1].reason == "the disk is full"


def test_survey_changes_nothing(settings: EmbeddingSettings) -> None:
    """Listing what could be used makes no directory."""
    survey(settings)

    assert not settings.cache.exists()


def test_the_runtime_keeps_and_reports_nothing(tmp_path: Path) -> None:
    """Left alone onnxruntime keeps an id of the machine in the home, and events to send."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import store, onnxruntime; onnxruntime.SessionOptions()"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


def test_query_needs_neither_fastembed_nor_onnx(
    model_cache: Path, tmp_path: Path, start: Callable[..., Popen[str]], outputs: Callable[..., list[str]]
) -> None:
    """Embedding a query with the built model imports none of the slow libraries."""
    code = (
        "import sys; from pathlib import Path\n"
        "from store.embedding import EmbeddingSettings, resolve_embedder\n"
        "settings = EmbeddingSettings(Path(sys.argv[1]), fastembed_cache=Path(sys.argv[2]))\n"
        "embedder, _ = resolve_embedder(settings)\n"
        "embedder.embed(['jwt'])\n"
        "print(sorted({'fastembed', 'onnx', 'duckdb', 'bm25s', 'loguru', 'requests'} & set(sys.modules)))"
    )

    assert outputs([start(code, model_cache, tmp_path)]) == ["[]\n"]
