"""The models that the settings of a user name: one that embeds texts, one that writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.places import user_home

if TYPE_CHECKING:
    from store.embedding import EmbedderReport, EmbeddingSettings, ModelOption
    from store.embedding_cache import CachedEmbedder
    from store.ollama import ModelState
    from workbench.config import Config
    from workbench.ports import Embedder, LanguageModel


def embedding_settings(config: Config) -> EmbeddingSettings:
    """Return what the configuration says about the embedding model."""
    from store.embedding import EmbeddingSettings
    from workbench.config import user_cache

    models = config.models
    return EmbeddingSettings(
        cache=user_cache(), model=models.embedding_path or models.embedding, download=models.download
    )


def ready_embedder(config: Config) -> tuple[Embedder | None, str]:
    """Return the embedder if a model is ready, without the cache of vectors, and what is missing if not."""
    from store import embedding

    return embedding.ready_embedder(embedding_settings(config))


def cached_embedder(config: Config, home: Path | None = None) -> tuple[CachedEmbedder | None, str]:
    """Return the embedder with the cache of vectors in the user's home, as `ready_embedder` otherwise."""
    from store.embedding_cache import cached

    embedder, unprepared = ready_embedder(config)
    directory = (user_home(os.environ) if home is None else home) / "embeddings"
    return (None if embedder is None else cached(embedder, directory)), unprepared


def embedding_options(config: Config) -> tuple[ModelOption, ...]:
    """Return where an embedding model could come from, in order, by looking only."""
    from store.embedding import survey

    return survey(embedding_settings(config))


def prepare_embedder(config: Config) -> tuple[Embedder | None, EmbedderReport]:
    """Return the first embedder that can be used, building or fetching its model where allowed."""
    from store.embedding import resolve_embedder

    return resolve_embedder(embedding_settings(config))


def language_model(config: Config) -> LanguageModel | None:
    """Return the language model the user set up, None where there is none. Nothing is asked yet.

    Raises: ConfigError for an invalid address.
    """
    if not config.models.llm or not config.models.llm_url:
        return None
    from store.ollama import Ollama

    return Ollama(config.models.llm_url, config.models.llm)


def language_state(config: Config) -> ModelState:
    """Return whether the language model can be asked; a server that is set up is asked for its models.

    Raises: ConfigError for an invalid address.
    """
    from store.ollama import survey

    return survey(config.models.llm_url, config.models.llm)
