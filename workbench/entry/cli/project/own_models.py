"""`workbench model`: the models of a project, trained on its own past, and which one plans rank with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.os.background import give_way, in_background
from workbench.entry.project import OpenedProject, open_workspace
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.records.answers.models import ModelEntry, ModelStatus, TrainingReport

_KIND = click.option(
    "--kind",
    type=click.Choice(["linear", "trees", "calibration", "adapter", "ollama_rerank"]),
    default="linear",
    show_default=True,
    help="Kind of model.",
)


@contextmanager
def _open_project() -> Iterator[tuple[Invocation, OpenedProject]]:
    here = current()
    with closing(open_workspace(here.project, here.settings().config)) as project:
        yield here, project


def model_line(one: ModelEntry) -> str:
    """Return a model in a line: whether it is used, its kind, what it was trained on and what it gained."""
    mark = "*" if one.active else "~" if one.canary else " "
    made = time.strftime("%Y-%m-%d", time.localtime(one.created_at))
    parts = [f"{mark} {one.model_id:<26} {one.model_kind:<13} {made}"]
    if one.canary:
        parts.append(f"canary on {one.canary:.0%} of plans")
    if one.provenance.samples:
        parts.append(plural(one.provenance.samples, "task"))
    metrics = one.provenance.metrics
    if {"before", "after"} <= metrics.keys():
        parts.append(f"nDCG@10 {metrics['before']:.3f} -> {metrics['after']:.3f} on later tasks")
    if one.fault:
        parts.append(f"cannot be used: {one.fault}")
    return visible_line(", ".join(parts))


def status_lines(found: ModelStatus) -> list[str]:
    """Return what plans rank with, a line each."""
    used = list(dict.fromkeys(found.ranking.values()))
    lines = [f"plans rank with {', without embeddings with '.join(used)}"]
    if second := found.active.get("ollama_rerank"):
        lines.append(f"{second} rates the first files again in ml_mode full")
    if found.canary is not None:
        one = found.canary
        lines.append(
            f"{one.model_id} is tried on {one.share:.0%} of plans: {one.scored} of {one.needed} scored, "
            f"nDCG@10 {one.gain:+.3f} against the active one"
        )
    if found.training:
        lines.append(f"last training, {found.training}")
    lines += [f"note: {note}" for note in found.notes]
    return [*map(visible_line, lines), *map(model_line, found.models)]


@command
def status() -> None:
    """Show what plans rank with, how a canary does, and the models of this project.

    A canary that has been scored often enough is settled: it becomes the active model, or is rolled back.
    """
    from workbench.entry.services.models import model_status

    with _open_project() as (here, project):
        found = model_status(project)
    if here.wrote_json(found):
        return
    for line in status_lines(found):
        here.out.data(line)
    if not found.models:
        here.out.say("no model was trained on this project: `workbench model train`")


@command
@click.argument("model_id", metavar="ID")
def show(model_id: str) -> None:
    """Show how a model of this project was trained and what it weighs otherwise than the packaged one."""
    from workbench.entry.services.models import find_model, largest_weights, list_models

    with _open_project() as (here, project):
        model = find_model(project.own_models.registry(), model_id)
        [entry] = [one for one in list_models(project) if one.model_id == model.model_id]
    if here.wrote_json({"model": entry, "params": model.params}):
        return
    for line in (model_line(entry), *provenance_lines(entry)):
        here.out.data(line)
    for base, weights in largest_weights(model).items():
        here.out.data(f"added to {base}, the largest of {len(weights)} weights")
        for name, value in list(weights.items())[:12]:
            here.out.data(f"  {value:+.3f} {name}")


def provenance_lines(entry: ModelEntry) -> list[str]:
    """Return how a model was trained, a line each."""
    made = entry.provenance
    days = [time.strftime("%Y-%m-%d", time.localtime(at)) for at in (made.since, made.until)]
    lines = [f"version     {entry.version}"]
    if made.samples:
        lines += [
            f"trained on  {plural(made.samples, 'task')} from {days[0]} to {days[1]}",
            f"prompts     {made.sessions}, the others are commits",
            f"starts from {made.base}, seed {made.seed}, program {made.code_version}",
        ]
    lines += [f"{name:<11} {value:g}" for name, value in sorted(made.metrics.items())]
    return [visible_line(line) for line in lines]


@command
@click.argument("model_id", metavar="ID")
@click.option(
    "--canary",
    type=click.IntRange(1, 99),
    metavar="PERCENT",
    help="Try it on this share of plans first: it becomes active, or is rolled back by itself.",
)
def activate(model_id: str, canary: int | None) -> None:
    """Let plans rank with a model from now on, in all processes at once.

    Of each kind one model is active. With --canary a share of tasks is ranked by it, and of every plan that a
    session is handed both orders are scored by what the session edits.
    """
    from workbench.entry.services.models import activate_model

    with _open_project() as (here, project):
        model = activate_model(project, model_id, share=1.0 if canary is None else canary / 100, by="cli")
    if here.wrote_json(
        {"model_id": model.model_id, "model_kind": model.model_kind, "canary": (canary or 0) / 100}
    ):
        return
    name = visible_line(model.model_id)
    here.out.data(f"{name} is active" if canary is None else f"{name} is tried on {canary} % of plans")


@command
@_KIND
def rollback(kind: str) -> None:
    """Stop a canary, or go back to the model that was active before, at last to the packaged one."""
    from workbench.entry.services.models import packaged_ranking, roll_back

    with _open_project() as (here, project):
        left, now = roll_back(project, kind, by="cli")
        packaged = packaged_ranking(project)
    if here.wrote_json({"from": left, "to": now or packaged}):
        return
    here.out.data(visible_line(f"{left} is no longer used; plans rank with {now or packaged}"))


@command
@click.argument("model_id", metavar="ID")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
def export(model_id: str, output: Path | None) -> None:
    """Print a model as JSON, with its parameters and how it was trained."""
    from workbench.entry.services.models import export_model

    with _open_project() as (here, project):
        text = export_model(project, model_id)
    if output is None:
        here.out.data(text.rstrip("\n"))
        return
    if output.exists():
        raise UsageError(f"{output} exists", hint="Name another file, or remove it first.")
    output.write_text(text, encoding="utf-8")
    here.out.say(f"written to {output}")


@command
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
def import_(path: Path) -> None:
    """Register a model that was exported; it is checked, and not used before it is activated."""
    from workbench.entry.services.models import import_model

    with _open_project() as (here, project):
        name = import_model(project, path, by="cli")
    if here.wrote_json({"model_id": name}):
        return
    here.out.data(f"{name} is registered")
    here.out.say(f"use it: `workbench model activate {name}`")


@command
@click.option("--since", default="", metavar="WHEN", help="Only tasks since then: 30d, 12w, 2026-01-31.")
@click.option(
    "--min-samples",
    type=click.IntRange(min=50),
    default=500,
    show_default=True,
    metavar="N",
    help="Refuse with fewer past tasks.",
)
@click.option(
    "--kind",
    type=click.Choice(["linear", "adapter"]),
    default="linear",
    show_default=True,
    help="Weights of features, or a map of the vectors of tasks.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=7, show_default=True, help="Of the tests.")
@click.option("--activate/--no-activate", default=True, help="Use the model where it is better.")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="Processes that replay tasks.")
@click.option("--async", "later", is_flag=True, help="Train in a process of its own and return at once.")
def train(
    since: str, min_samples: int, kind: str, seed: int, activate: bool, workers: int | None, later: bool
) -> None:
    """Train a ranking on this project's own past: commits and prompts, each with what was known before it.

    The packaged ranking stays the base; a few weights are added, fitted to the older tasks and tested on the
    newest. Where they are not better beyond chance, nothing changes and it says so. A better one is tried on
    a share of plans first, where sessions are recorded. With --kind adapter the vector of a task is moved
    towards those of past tasks that changed the same files; that takes a prepared embedding model.
    """
    from workbench.entry.cli.arguments import since_time

    begun = int(since_time(since).timestamp()) if since else 0
    with _open_project() as (here, project):
        from workbench.entry.services.model_training import TrainingOptions, start_training, train_model

        wanted = TrainingOptions(max(begun, 0), min_samples, seed, activate, workers, kind)
        if later:
            found = start_training(project, wanted)
        else:
            if in_background():
                give_way()
            with here.out.progress("Reading the past") as line:
                found = train_model(project, wanted, by="cli", progress=line)
    if here.wrote_json(found):
        return
    for text in training_lines(found):
        here.out.data(text)


def training_lines(found: TrainingReport) -> list[str]:
    """Return what came of a training, a line each."""
    if found.running:
        return [found.reason]
    lines = [f"{plural(found.samples, 'past task')} fitted to, {found.held_out} held out"]
    lines.append(found.reason)
    return [visible_line(line) for line in (*lines, *([found.model_id] if found.model_id else []))]


@command
@click.argument("name", metavar="MODEL")
@click.option(
    "--candidates", type=click.IntRange(1, 30), metavar="N", help="How many files it rates (rerank.top)."
)
@click.option(
    "--weight", type=click.FloatRange(0, 6), metavar="W", help="What ratings change (rerank.weight)."
)
def register(name: str, candidates: int | None, weight: float | None) -> None:
    """Register a language model of Ollama as the second stage of plans, which rates the first files again.

    It is not used before it is activated, then in plans with --ml-mode full and in no other. The server is
    the one of models.llm_url.
    """
    from workbench.entry.services.models import register_reranker

    with _open_project() as (here, project):
        found = register_reranker(project, name, candidates=candidates, weight=weight, by="cli")
    if here.wrote_json({"model_id": found}):
        return
    here.out.data(f"{found} is registered")
    here.out.say(f"use it: `workbench model activate {found}`")
