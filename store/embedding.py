"""Which embedding model is used, why not another, and how it is loaded.

In order: the configured model or directory, the MiniLM in fastembed's own cache, MiniLM made from the
packaged weights, a download by fastembed where that is allowed, none. Looking is cheap and changes nothing; a
model is built or downloaded only when its turn comes, and loaded only when a text has to be embedded.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from store import minilm
from store.embedders import FastembedEmbedder, LazyEmbedder, fastembed_id
from store.files import private_dir, write_atomic
from workbench.errors import ModelError, StoreError
from workbench.ports import Embedder
from workbench.records.dataclass import dataclass

CONFIGURED: Final = "configured"
FASTEMBED_CACHE: Final = "fastembed-cache"
PACKAGED: Final = "packaged"
DOWNLOAD: Final = "download"
NONE: Final = "none"

OFF: Final = frozenset({"none", "off"})
"""Values of the configured model that ask for no embeddings."""

RETRY_DOWNLOAD: Final = 600.0
"""Seconds after a failed download before the next attempt: a plan must not wait for a dead network twice."""

_TEMPORARY: Final = frozenset({"TMPDIR", "TEMP", "TMP"})
_FASTEMBED_FOLDER: Final = "models--qdrant--all-minilm-l6-v2-onnx"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """What the user configured: `model` is "" (the default), a fastembed name, a directory, or "none"."""

    cache: Path
    model: str = ""
    download: bool = False
    fastembed_cache: Path | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class ModelOption:
    """One place a model can come from. `reason` is why it is not available, or what using it entails."""

    source: str
    model: str
    path: str
    available: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EmbedderReport:
    """Which model is in use, and what became of each option in the order they were considered.

    `source` is "none" and `model` empty where the engine is lexical. `as_configured` is False where the
    configured model could not be used and another is. `build_seconds` is 0.0 unless it was built now.
    """

    source: str
    model: str
    path: str
    options: tuple[ModelOption, ...]
    as_configured: bool = True
    build_seconds: float = 0.0

    @property
    def degraded(self) -> tuple[str, ...]:
        """The parts a plan must report as missing."""
        return ("embeddings",) if self.source == NONE else ()


def survey(settings: EmbeddingSettings) -> tuple[ModelOption, ...]:
    """Return the options in the order they are considered, by looking at directories only."""
    options = [_fastembed_option(settings), _packaged_option(settings)]
    if settings.model and not _is_minilm(settings.model):
        options.insert(0, _configured_option(settings))
    options.append(_download_option(settings, minilm.MODEL))
    return tuple(options)


def resolve_embedder(settings: EmbeddingSettings) -> tuple[Embedder | None, EmbedderReport]:
    """Return the first embedder that can be used, not loaded yet, and the report.

    A missing packaged model is built here (seconds, once), a permitted download happens here. Without any
    model the embedder is None and the report has `degraded`. An option that fails leaves its reason there.
    """
    if settings.model.lower() in OFF:
        option = ModelOption(CONFIGURED, settings.model, "", False, "embeddings are turned off")
        return None, EmbedderReport(NONE, "", "", (option,))
    options = list(survey(settings))
    for position, option in enumerate(options):
        if not option.available:
            continue
        started = time.monotonic()
        try:
            embedder, path = _OPEN[option.source](option, settings)
        except (ModelError, StoreError) as error:
            options[position] = replace(option, available=False, reason=error.message)
            continue
        built = time.monotonic() - started if option.source == PACKAGED and option.reason else 0.0
        options[position] = replace(option, path=str(path))
        in_use = not settings.model or option.source == CONFIGURED or _is_minilm(settings.model)
        return embedder, EmbedderReport(
            option.source,
            embedder.model,
            str(path),
            tuple(options),
            as_configured=in_use,
            build_seconds=built,
        )
    return None, EmbedderReport(
        NONE, "", "", tuple(options), as_configured=not settings.model or _is_minilm(settings.model)
    )


def ready_embedder(settings: EmbeddingSettings) -> tuple[Embedder | None, str]:
    """Return the embedder if a model is ready, and what is missing if not.

    A model that would first have to be built or fetched is left to `workbench model prepare`: a plan does not
    wait for it.
    """
    chosen = next((option for option in survey(settings) if option.available), None)
    if chosen is None or settings.model.lower() in OFF:
        return None, ""
    if chosen.source == DOWNLOAD or (chosen.source == PACKAGED and chosen.reason):
        return None, "the embedding model is not prepared yet: run `workbench model prepare`"
    return resolve_embedder(settings)[0], ""


def configured_embedder(settings: EmbeddingSettings, *, prepare: bool) -> tuple[Embedder | None, str]:
    """Return the embedder of the configured model and of no other, and what is missing if it is not ready.

    With `prepare` it is built or fetched where that is allowed.
    """
    missing = "" if prepare else ready_embedder(settings)[1]
    if missing:
        return None, missing
    found, report = resolve_embedder(settings)
    if found is not None and report.as_configured:
        return found, ""
    return None, report.options[0].reason or "it cannot be used"


def _configured_option(settings: EmbeddingSettings) -> ModelOption:
    from store.onnx_embedder import model_file

    directory = _as_directory(settings.model)
    if directory is not None:
        found = model_file(directory) is not None and (directory / "tokenizer.json").is_file()
        reason = "" if found else f"{directory} holds no model.onnx with tokenizer.json"
        return ModelOption(CONFIGURED, settings.model, str(directory), found, reason)
    located = _read_located(settings).get(settings.model, "")
    if located and Path(located).is_dir():
        return ModelOption(CONFIGURED, settings.model, located, True)
    if settings.download:
        reason = _recent_failure(settings, settings.model)
        return ModelOption(
            CONFIGURED, settings.model, "", not reason, reason or "is downloaded if not cached"
        )
    return ModelOption(CONFIGURED, settings.model, "", True, "if it is in fastembed's cache")


def _fastembed_option(settings: EmbeddingSettings) -> ModelOption:
    root = _fastembed_root(settings)
    for snapshot in _snapshots(root):
        if not all((snapshot / name).is_file() for name in ("model.onnx", "tokenizer.json")):
            continue
        if not _is_trusted(root):
            reason = f"{root} belongs to another user"
            return ModelOption(FASTEMBED_CACHE, minilm.MODEL, str(snapshot), False, reason)
        return ModelOption(FASTEMBED_CACHE, minilm.MODEL, str(snapshot), True)
    return ModelOption(FASTEMBED_CACHE, minilm.MODEL, str(root), False, "not in fastembed's cache")


def _packaged_option(settings: EmbeddingSettings) -> ModelOption:
    directory = minilm.model_directory(settings.cache)
    if minilm.is_built(directory):
        return ModelOption(PACKAGED, minilm.MODEL_ID, str(directory), True)
    if minilm.packaged_weights() is None:
        reason = f"the package {minilm.PACKAGE.replace('_', '-')} is not installed"
        return ModelOption(PACKAGED, minilm.MODEL_ID, str(directory), False, reason)
    return ModelOption(PACKAGED, minilm.MODEL_ID, str(directory), True, "is built at first use")


def _download_option(settings: EmbeddingSettings, name: str) -> ModelOption:
    reason = _recent_failure(settings, name) if settings.download else "models.download is not true"
    return ModelOption(DOWNLOAD, name, str(_fastembed_root(settings)), not reason, reason)


def _open_configured(option: ModelOption, settings: EmbeddingSettings) -> tuple[Embedder, Path]:
    directory = _as_directory(settings.model)
    if directory is not None:
        model = _directory_id(directory)
        return LazyEmbedder(model, lambda: _onnx(directory, model, settings)), directory
    if option.path:
        path = Path(option.path)
        name = settings.model
        return LazyEmbedder(fastembed_id(name), lambda: FastembedEmbedder(name, path=path)), path
    return _by_fastembed(settings, settings.model)


def _open_cached(option: ModelOption, settings: EmbeddingSettings) -> tuple[Embedder, Path]:
    path = Path(option.path)
    model = f"{minilm.MODEL}@fastembed-{path.name[:12]}"
    return LazyEmbedder(model, lambda: _onnx(path, model, settings), minilm.DIMENSIONS), path


def _open_packaged(option: ModelOption, settings: EmbeddingSettings) -> tuple[Embedder, Path]:
    from store.short_texts import ShortTextEmbedder

    path = minilm.ensure_built(settings.cache).directory
    load = lambda: _onnx(path, minilm.MODEL_ID, settings)  # noqa: E731
    return ShortTextEmbedder(minilm.MODEL_ID, load, minilm.DIMENSIONS, path), path


def _open_download(option: ModelOption, settings: EmbeddingSettings) -> tuple[Embedder, Path]:
    return _by_fastembed(settings, minilm.MODEL)


_OPEN: Final[Mapping[str, Callable[[ModelOption, EmbeddingSettings], tuple[Embedder, Path]]]] = {
    CONFIGURED: _open_configured,
    FASTEMBED_CACHE: _open_cached,
    PACKAGED: _open_packaged,
    DOWNLOAD: _open_download,
}


def _onnx(directory: Path, model: str, settings: EmbeddingSettings) -> Embedder:
    from store.onnx_embedder import OnnxEmbedder

    own = directory if model == minilm.MODEL_ID else None  # others' folders stay as they are
    return OnnxEmbedder(directory, model, threads=settings.threads, optimized=own)


def _by_fastembed(settings: EmbeddingSettings, name: str) -> tuple[Embedder, Path]:
    try:
        embedder = FastembedEmbedder(name, cache=settings.fastembed_cache, download=settings.download)
    except ModelError as error:
        if settings.download:
            write_atomic(_failure_file(settings, name), error.message.encode())
        raise
    located = {**_read_located(settings), name: str(embedder.directory)}
    write_atomic(_located_file(settings), json.dumps(located, indent=2, sort_keys=True).encode())
    return embedder, embedder.directory


def _located_file(settings: EmbeddingSettings) -> Path:
    return private_dir(settings.cache / "models") / "located.json"


def _read_located(settings: EmbeddingSettings) -> dict[str, str]:
    """Return where fastembed found a model the last time, by name: saves importing it to look."""
    try:
        value: Any = json.loads((settings.cache / "models" / "located.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(path) for name, path in value.items()} if isinstance(value, dict) else {}


def _failure_file(settings: EmbeddingSettings, name: str) -> Path:
    return settings.cache / "models" / f"failed-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _recent_failure(settings: EmbeddingSettings, name: str) -> str:
    path = _failure_file(settings, name)
    try:
        age = time.time() - path.stat().st_mtime
        reason = path.read_text("utf-8", "replace")
    except OSError:
        return ""
    return f"a download failed {age / 60:.0f} minutes ago: {reason}" if 0 <= age < RETRY_DOWNLOAD else ""


def _as_directory(configured: str) -> Path | None:
    path = Path(configured).expanduser()
    looks = configured.startswith((".", "~", os.sep)) or path.is_absolute()
    return path.absolute() if looks or path.is_dir() else None


def _directory_id(directory: Path) -> str:
    from store.onnx_embedder import model_file

    path = model_file(directory)
    if path is None:
        raise ModelError(f"{directory} holds no model.onnx", hint="Correct models.embedding.")
    stat = path.stat()
    identity = f"{directory.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}"
    return f"{directory.name}@{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _is_minilm(name: str) -> bool:
    return name.lower() in {minilm.MODEL.lower(), "all-minilm-l6-v2"}


def _fastembed_root(settings: EmbeddingSettings) -> Path:
    if settings.fastembed_cache is not None:
        return settings.fastembed_cache
    configured = os.environ.get("FASTEMBED_CACHE_PATH", "")
    return Path(configured) if configured else Path(_temporary_directory()) / "fastembed_cache"


def _temporary_directory() -> str:
    """Return what `tempfile` says, which tries it by writing there and takes 1 ms to import."""
    if os.environ.keys().isdisjoint(_TEMPORARY) and os.access("/tmp", os.W_OK | os.X_OK):
        return "/tmp"
    import tempfile

    return tempfile.gettempdir()


def _snapshots(root: Path) -> Iterator[Path]:
    try:
        folders = sorted(path for path in root.iterdir() if path.name.lower() == _FASTEMBED_FOLDER)
        for folder in folders:
            yield from sorted((folder / "snapshots").iterdir())
    except OSError:
        return


def _is_trusted(root: Path) -> bool:
    """Whether the cache is the user's own or root's: by default it is in the shared temporary directory."""
    return not hasattr(os, "geteuid") or root.stat().st_uid in {0, os.geteuid()}
