"""The default model is built from the published weights, checked, and visible only when it is right."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from store import minilm
from store.bert import bert_graph, read_safetensors
from store.onnx_embedder import OnnxEmbedder
from workbench.errors import ModelError

LAYERS, HEADS, HIDDEN, INNER, VOCABULARY, POSITIONS = 2, 2, 8, 16, 20, 12


def random_checkpoint(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (VOCABULARY, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        dense = {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (INNER, HIDDEN),
            "output.dense": (HIDDEN, INNER),
        }
        for name, shape in dense.items():
            shapes[f"{prefix}.{name}.weight"] = shape
            shapes[f"{prefix}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}.{name}.weight"] = shapes[f"{prefix}.{name}.bias"] = (HIDDEN,)
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def numpy_bert(tensors: dict[str, Any], ids: list[int]) -> Any:
    """BERT for one text without padding, in float64: the definition, written for reading."""
    weights = {name: value.astype(np.float64) for name, value in tensors.items()}

    def norm(prefix: str, states: Any) -> Any:
        centred = states - states.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{prefix}.weight"] + weights[f"{prefix}.bias"]

    def dense(prefix: str, states: Any) -> Any:
        return states @ weights[f"{prefix}.weight"].T + weights[f"{prefix}.bias"]

    states = norm(
        "embeddings.LayerNorm",
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0],
    )
    width = HIDDEN // HEADS
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        query, key, value = (
            dense(f"{prefix}.attention.self.{part}", states) for part in ("query", "key", "value")
        )
        context = np.empty_like(states)
        for head in range(HEADS):
            columns = slice(head * width, (head + 1) * width)
            scores = np.exp(query[:, columns] @ key[:, columns].T / math.sqrt(width))
            context[:, columns] = (scores / scores.sum(-1, keepdims=True)) @ value[:, columns]
        states = norm(
            f"{prefix}.attention.output.LayerNorm",
            states + dense(f"{prefix}.attention.output.dense", context),
        )
        inner = dense(f"{prefix}.intermediate.dense", states)
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        states = norm(f"{prefix}.output.LayerNorm", states + dense(f"{prefix}.output.dense", inner))
    return states


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_graph_computes_bert_with_padding_masked(seed: int) -> None:
    """The graph's states of real tokens are those of the definition, whatever stands in the padding."""
    import onnxruntime

    tensors = random_checkpoint(seed)
    model = bert_graph(tensors, heads=HEADS)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    texts = [[1, 5, 9, 2], [3, 4]]
    ids = np.array([[1, 5, 9, 2], [3, 4, 17, 18]], np.int64)
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int64)

    (states,) = session.run(
        None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    )

    for row, text in enumerate(texts):
        np.testing.assert_allclose(states[row, : len(text)], numpy_bert(tensors, text), atol=2e-5)


def write_safetensors(path: Path, tensors: dict[str, Any]) -> None:
    """Write float32 tensors in the safetensors format."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, value in tensors.items():
        end = offset + value.nbytes
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    raw = b"".join(value.tobytes() for value in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw)


def test_safetensors_are_read_as_written(tmp_path: Path) -> None:
    """Every tensor comes back with its shape and values."""
    tensors = random_checkpoint(0)
    write_safetensors(tmp_path / "m.safetensors", tensors)

    found = read_safetensors(tmp_path / "m.safetensors")

    assert found.keys() == tensors.keys()
    for name, value in tensors.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("cut", [0, 4, 20, -8])
def test_damaged_safetensors_are_a_model_error(tmp_path: Path, cut: int) -> None:
    """A file cut anywhere is refused with its name, not read in part."""
    path = tmp_path / "m.safetensors"
    write_safetensors(path, {"w": np.ones(4, np.float32)})
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(ModelError, match=r"m\.safetensors"):
        read_safetensors(path)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    """Weights with another SHA-256 are not used, and the message names the file."""
    for name in minilm.SHA256:
        (tmp_path / name).write_bytes(b"other")

    with pytest.raises(ModelError, match=r"model\.safetensors is not the published file"):
        minilm.ensure_built(tmp_path / "cache", tmp_path)

    assert not minilm.model_directory(tmp_path / "cache").exists()


def test_missing_package_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package there is a clear error, and nothing is left behind."""
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_anywhere")

    assert minilm.packaged_weights() is None
    with pytest.raises(ModelError, match="not installed"):
        minilm.ensure_built(tmp_path)


def test_built_model_is_used_again(model_cache: Path) -> None:
    """A second use finds the directory and builds nothing."""
    built = minilm.ensure_built(model_cache)

    assert built == minilm.Built(minilm.model_directory(model_cache), 0.0)
    provenance = json.loads((built.directory / minilm.PROVENANCE).read_text())
    assert provenance["sources"] == minilm.SHA256
    assert provenance["agreement"] >= minilm.MIN_AGREEMENT


def test_package_is_never_imported(model_cache: Path) -> None:
    """Finding and building from the package does not run its code, which would want PyTorch."""
    assert minilm.PACKAGE not in sys.modules
    assert "torch" not in sys.modules


def test_truncated_model_counts_as_not_built(model_cache: Path, tmp_path: Path) -> None:
    """A model directory whose files changed size is not taken for a built one."""
    copy = tmp_path / "model"
    shutil.copytree(minilm.model_directory(model_cache), copy)
    assert minilm.is_built(copy)

    (copy / "model.onnx").write_bytes(b"")

    assert not minilm.is_built(copy)


@pytest.mark.parametrize("provenance", ["", "[]", "{}", '{"sizes": 3}', '{"sizes": {"gone": 1}}'])
def test_damaged_provenance_counts_as_not_built(tmp_path: Path, provenance: str) -> None:
    """Whatever stands in the provenance file, the question has an answer."""
    (tmp_path / minilm.PROVENANCE).write_text(provenance)

    assert not minilm.is_built(tmp_path)


def _build_by_copy(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the slow parts of a build by a copy of the built graph; returns a stand-in for the weights."""
    source = minilm.model_directory(model_cache)

    def copy(weights: Path, target: Path, scratch: Path) -> None:
        shutil.copyfile(source / "model.onnx", target)

    monkeypatch.setattr(minilm, "_write_graph", copy)
    monkeypatch.setattr(minilm, "verify_weights", lambda weights: None)
    return source


def test_model_with_other_vectors_never_appears(
    model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the result disagrees with the reference the build fails and leaves nothing."""
    source = _build_by_copy(model_cache, monkeypatch)
    wrong = {"hello world": list(np.eye(1, minilm.DIMENSIONS)[0])}
    monkeypatch.setattr(minilm, "reference", lambda: wrong)

    with pytest.raises(ModelError, match="differs"):
        minilm.ensure_built(tmp_path, source)

    left = [path.name for path in minilm.model_directory(tmp_path).parent.iterdir()]
    assert left == [minilm.model_directory(tmp_path).with_suffix(".lock").name]


def test_damaged_model_is_built_anew(
    model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged directory is replaced by a whole one at the next use."""
    source = _build_by_copy(model_cache, monkeypatch)
    directory = minilm.model_directory(tmp_path)
    directory.mkdir(parents=True)
    (directory / "model.onnx").write_bytes(b"cut off")

    built = minilm.ensure_built(tmp_path, source)

    assert built.seconds > 0
    assert minilm.is_built(directory)


def test_float32_graph_gives_the_published_vectors(model_cache: Path, tmp_path: Path) -> None:
    """The graph of the published weights gives the vectors printed in the model's public documentation."""
    weights = minilm.packaged_weights()
    if weights is None:
        pytest.skip("the packaged weights are not installed")
    onnx.save(bert_graph(read_safetensors(weights / "model.safetensors"), heads=12), tmp_path / "model.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(minilm.model_directory(model_cache) / name, tmp_path)
    reference = minilm.reference()

    found = OnnxEmbedder(tmp_path, "float32", threads=1).embed(list(reference))

    np.testing.assert_allclose(found[0, :3], [6.76569194e-02, 6.34959415e-02, 4.87131178e-02], atol=1e-6)
    np.testing.assert_allclose(found, np.array(list(reference.values())), atol=6e-6)


def test_the_runtime_is_told_to_report_nothing() -> None:
    """Before anything of the store loads it, also where the environment says otherwise."""
    done = subprocess.run(
        [sys.executable, "-c", "import store, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"],
        env={**os.environ, "ORT_DISABLE_TELEMETRY": "0"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == b"1"


def test_first_uses_at_once_build_once(
    model_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes while the model is being built waits for it instead of building it, too."""
    source = _build_by_copy(model_cache, monkeypatch)
    with ThreadPoolExecutor(3) as pool:
        built = list(pool.map(lambda _: minilm.ensure_built(tmp_path, source), range(3)))

    assert sum(result.seconds > 0 for result in built) == 1
    assert len({result.directory for result in built}) == 1
