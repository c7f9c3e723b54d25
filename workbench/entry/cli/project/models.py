"""`workbench model`: which models rank and embed, which are in use, and making them ready."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.project.own_models import model_line
from workbench.entry.cli.session import Session, session
from workbench.entry.os.background import give_way, in_background
from workbench.entry.project import (
    embedding_options,
    embedding_settings,
    find_state,
    language_state,
    prepare_embedder,
    require_consent,
)
from workbench.entry.services.index import prepare_vectors
from workbench.entry.services.models import list_models
from workbench.errors import ModelError, StoreError, Unasked
from workbench.plan.ranking import DEFAULT_MODEL
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import ModelState, VectorStore
    from workbench.ports import Embedder


@command
def list_() -> None:
    """List the ranking models that come with the program and those of this project, and embedding models."""
    here = current()
    config = here.settings().config
    with closing(find_state(here.project, config)) as project:
        own = list_models(project)
    ranking = config.models.ranking or DEFAULT_MODEL
    models = ranking_models()
    options = embedding_options(config)
    chosen = next((number for number, option in enumerate(options) if option.available), -1)
    language = language_state(config)
    if here.flags.json:
        here.out.json(
            {
                "ranking": [{**model, "in_use": model["model_id"] == ranking} for model in models],
                "own": own,
                "embedding": [
                    {**asdict(option), "in_use": number == chosen} for number, option in enumerate(options)
                ],
                "language": language,
            }
        )
        return
    here.out.data("ranking (models.ranking)")
    for one in models:
        mark = "*" if one["model_id"] == ranking else " "
        trained = f", trained on {len(one['trained_on'])} repositories" if one["trained_on"] else ""
        here.out.data(f"{mark} {one['model_id']:<20} {one['features']} features{trained}")
    if own:
        here.out.data("of this project (* active, ~ canary)")
        for entry in own:
            here.out.data(model_line(entry))
    here.out.data("embedding (models.embedding), in the order they are considered")
    for number, option in enumerate(options):
        mark = "*" if number == chosen else " "
        state = option.reason or ("ready" if option.available else "not available")
        here.out.data(f"{mark} {option.source:<16} {option.model}: {state}")
    here.out.data("language (models.llm, models.llm_url), asked only where you turn it on")
    here.out.data(f"{'*' if language.available else ' '} {language_line(language)}")
    if chosen < 0:
        here.out.say("no embedding model can be used: search is by words alone")


def language_line(state: ModelState) -> str:
    """Return one line about the language model: its name, its place and whether it can be asked."""
    if state.available:
        reason = f"runs elsewhere: texts go to {state.elsewhere}" if state.elsewhere else "ready"
    else:
        reason = " ".join(filter(None, (state.reason, f"({state.step})" if state.step else "")))
    name = " at ".join(filter(None, (state.model, state.url)))
    return visible_line(f"{name}: {reason}" if name else reason)


def ranking_models() -> list[dict[str, Any]]:
    """Return the ranking models that come with the program, by name."""
    found = []
    for resource in sorted(files("workbench.models").joinpath("data").iterdir(), key=lambda one: one.name):
        if resource.name.endswith(".json"):
            document = json.loads(resource.read_text(encoding="utf-8"))
            if {"weights", "seeds", "relevance"} <= document.keys():
                found.append(
                    {
                        "model_id": document["model_id"],
                        "features": len(document["weights"]),
                        "trained_on": list(document.get("trained_on", ())),
                    }
                )
    return found


@command
def prepare() -> None:
    """Make the embedding model ready, then embed the project's past tasks, rules and learnings.

    The model is built from the weights that come with the program, or fetched where models.download allows
    it. It takes seconds, once for all projects; outside of any that is all. While texts are embedded by
    another model than before, plans go on with the vectors of the former one.
    """
    here = current()
    if in_background():
        give_way()
    unasked = ""
    with ExitStack() as held:
        try:
            require_consent(here.project)
            held.enter_context(find_state(here.project).lock("prepare", patience=0))
        except Unasked as error:
            unasked = error.message
        _prepare(here, unasked)


def _prepare(here: Invocation, unasked: str) -> None:
    started = time.perf_counter()
    with here.out.progress("Preparing the embedding model") as line:
        line(0)
        embedder, report = prepare_embedder(here.settings().config)
    if embedder is None:
        reasons = "; ".join(f"{option.source}: {option.reason}" for option in report.options if option.reason)
        raise ModelError(f"no embedding model can be used ({reasons})", hint="See `workbench doctor`.")
    built = time.perf_counter() - started
    embedded: Mapping[str, int] = {}
    segments = 0
    if unasked:
        here.out.say(f"no texts are embedded: {unasked}")
    else:
        embedded, segments = _embed(here, embedder)
    counts = {kind: embedded.get(kind, 0) for kind in ("tasks", "rules", "learnings")}
    if here.flags.json:
        here.out.json(
            {
                "source": report.source,
                "model": report.model,
                "path": report.path,
                "embedded": counts["tasks"],
                "embedded_rules": counts["rules"],
                "embedded_learnings": counts["learnings"],
                "embedded_segments": segments,
                "timing": {"model": round(built * 1000, 3)},
            }
        )
        return
    here.out.data(f"{report.model} is ready at {report.path} ({built:.1f} s)")
    if unasked:
        return
    here.out.data(
        f"{counts['tasks']:,} past tasks, {counts['rules']:,} texts of rules and "
        f"{counts['learnings']:,} of learnings embedded"
    )
    if segments:
        here.out.data(f"the stash is searched by meaning: {segments:,} segments")


def _embed(here: Invocation, embedder: Embedder) -> tuple[Mapping[str, int], int]:
    """Embed a project's texts and return how many of each kind were, and how many segments."""
    embedded: Mapping[str, int] = {}
    with session("index") as work:
        work.measurement.note_sync(work.opened.workspace.sync(progress=work.progress))
        vectors = work.opened.vectors_by(embedder, embedding_settings(work.opened.config).model)
        try:
            embedded = prepare_vectors(work.opened, vectors, work.progress)
        except ModelError as error:
            here.out.say(f"texts are not embedded: {error.message}")
        return embedded, _renew_stash(work, vectors)


def _renew_stash(work: Session, vectors: VectorStore) -> int:
    """Write the index of the stash with the model's vectors, where there is a stash; return its size."""
    from workbench.stash.segmenttype import STREAM

    if not work.opened.journal.size(STREAM):
        return 0
    from workbench.entry.services.stash_search import renew_stash_index

    try:
        count, notes = renew_stash_index(work.opened, vectors, partial(work.progress, "embedding segments"))
        for note in notes:
            work.here.out.say(note)
        return count
    except (ModelError, StoreError) as error:
        work.here.out.say(f"the stash is not embedded: {error.message}")
        return 0
