"""The models that the settings of a user name: one that embeds texts, one that writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.places import user_home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from store.cross_encoder import CrossEncoder
    from store.embedding import EmbedderReport, EmbeddingSettings, ModelOption
    from store.embedding_cache import CachedEmbedder
    from store.git_repository import Repository
    from store.ollama import ModelState
    from workbench.config import Config
    from workbench.models.language import CountTokens
    from workbench.models.registry import RegisteredParams
    from workbench.models.rerank import Answers, FileExcerpt, Ratings, SecondStage
    from workbench.plan.planner import CandidateSource
    from workbench.ports import Embedder, LanguageModel


def embedding_settings(config: Config) -> EmbeddingSettings:
    """Return what the configuration says about the embedding model."""
    from store.embedding import EmbeddingSettings
    from workbench.places import user_cache

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
    from store.embedding_cache import cache_embeddings

    embedder, unprepared = ready_embedder(config)
    directory = (user_home(os.environ) if home is None else home) / "embeddings"
    return (None if embedder is None else cache_embeddings(embedder, directory)), unprepared


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


def second_stage(
    config: Config, cache: Answers, count_tokens: CountTokens, registered: RegisteredParams | None = None
) -> SecondStage | None:
    """Return what rates the first files of a plan again, None where no model is set up. Nothing is asked yet.

    A model that is `registered` for the project comes before those of the settings. Lines of files are sent
    to a model on this machine alone. Raises: ConfigError for an invalid address; ModelError for a directory
    without a cross-encoder and a registered model that cannot be used.
    """
    from workbench.models.rerank import (
        CachedModel,
        SecondStage,
        classify_task,
        rate_by_encoder,
        rate_by_language,
    )

    settings = config.rerank
    llm_name, top, weight = config.models.llm, settings.top, settings.weight
    if registered is not None:
        from workbench.plan.own_models import check_model

        check_model(registered)
        llm_name, weight = registered.params["model"], float(registered.params["weight"])
        top = int(registered.params["candidates"])
    source: CachedModel | None = None
    if llm_name and config.models.llm_url:
        from store.ollama import Ollama

        llm = Ollama(config.models.llm_url, llm_name, here_only=True)
        source = CachedModel(llm, cache, count_tokens)
    rate: Callable[[str, Sequence[FileExcerpt], float], Ratings]
    if settings.cross_encoder and registered is None:
        encoder = cross_encoder(config)
        model = encoder.model
        rate = lambda task, files, seconds: rate_by_encoder(  # noqa: E731
            encoder, task, files, timeout=seconds, cache=cache
        )
    elif source is not None:
        model = source.model.model
        rate = lambda task, files, seconds: rate_by_language(source, task, files, timeout=seconds)  # noqa: E731
    else:
        return None
    classify = None
    if settings.intent and source is not None:
        classify = lambda task, seconds: classify_task(source, task, timeout=seconds)  # noqa: E731
    return SecondStage(model, top, weight, settings.timeout, rate, classify)


def cross_encoder(config: Config) -> CrossEncoder:
    """Return the cross-encoder that the settings name, not loaded. Raises: ModelError."""
    from store.cross_encoder import CrossEncoder

    return CrossEncoder(Path(config.rerank.cross_encoder).expanduser().absolute())


def candidate_source(config: Config, root: Path, repository: Repository | None) -> CandidateSource | None:
    """Return the program that finds more candidates, None where the settings ask for none."""
    if not config.grepai.search:
        return None
    from workbench.plan.planner import CandidateSource

    def find(task: str, seconds: float) -> dict[str, float]:
        from store.grepai import search_grepai

        return search_grepai(grepai_program(root, repository), root, task, timeout=seconds)

    return CandidateSource(config.grepai.timeout, find)


def grepai_program(root: Path, repository: Repository | None) -> str:
    """Return the grepai that may be run in a project.

    Its index says which address it sends a task to: one that comes with the repository is not believed.
    Raises: ModelError; GitError.
    """
    from store.git_repository import tracked_below
    from store.grepai import DIRECTORY, find_grepai
    from workbench.errors import ModelError

    program = find_grepai(root)
    if repository is not None and (tracked := tracked_below(repository, DIRECTORY)):
        raise ModelError(
            f"git tracks {tracked[0]}: an index that a repository brings is not used",
            hint="Make one of your own with `grepai init`.",
        )
    return program
