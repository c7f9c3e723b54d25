"""`workbench vectors`: where vectors are searched, and what a server keeps of them."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.project import open_workspace
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workbench.entry.project import OpenedProject
    from workbench.records.answers.vectors import VectorSearchReport

_WIDTH = 100  # characters shown of a point
_KIND = click.option(
    "--kind", type=click.Choice(("rules", "iterations")), default="rules", help="What is looked for."
)
_FEATURE = click.option("--feature", default="", metavar="NAME", help="Whose iterations.")
_WHERE = click.option(
    "--where", multiple=True, metavar="FIELD=VALUE", help="Only points with this value; repeat for more."
)


@command
def status() -> None:
    """Show where vectors are searched and what the server has of this project.

    The server is asked; one that does not answer is reported, and exits 0: everything works without it.
    """
    from workbench.entry.services.vectors import vector_status

    with _open_project() as (project, _):
        found = vector_status(project)
    out = current().out
    if current().flags.json:
        out.json(found)
        return
    out.data(f"vectors: {found.place or 'on this machine'} (vectors.store is {found.store})")
    if found.fault:
        out.warn(visible_line(f"the server is not asked: {found.fault}"))
    where = "on this machine"
    if found.store != "local" and found.segments > found.here:
        where = (
            "by the server"
            if found.current
            else "on this machine, until the server has all: `workbench vectors sync`"
        )
    out.data(f"stash: {plural(found.segments, 'vector')}, searched {where}")
    for one in found.collections:
        state = "" if one.serving else ", not serving"
        out.data(visible_line(f"  {one.name} ({one.kind}{state}): {plural(one.points, 'point')} {one.model}"))


@command
def measure() -> None:
    """Measure from how many vectors on which search pays on this machine.

    It takes a second or two of one core and is kept in the user's cache, for all projects. Where it never
    ran, the first index of 5,000 vectors or more measures; `workbench doctor` shows what holds.
    """
    from workbench.entry.project import save_crossovers
    from workbench.places import user_cache

    pays = save_crossovers(user_cache())
    out = current().out
    if current().flags.json:
        out.json(pays)
        return
    out.data(f"a search: exact below {pays.sketches:,} vectors, from there on among candidates of sketches")
    out.data(f"a batch: each with all below {pays.graph:,} vectors, from there on by the graph of hnswlib")


@command
@click.option("--clean", is_flag=True, help="Remove collections of features and models that are gone.")
def sync(clean: bool) -> None:
    """Send the server the vectors it lacks, and remove what is gone here.

    A changed model fills collections of its own, which serve once they are complete. Searches and `workbench
    model prepare` send the stash by themselves; this also sends rules and iterations, and what a server lost.
    """
    from workbench.entry.services.vectors import clean_vectors, sync_vectors
    from workbench.records.answers.vectors import VectorSyncReport

    with _open_project() as (project, progress):
        done = sync_vectors(project, progress)
        dropped = clean_vectors(project) if clean else ()
    out = current().out
    if current().flags.json:
        out.json(VectorSyncReport(done, dropped))
        return
    for one in done:
        changes = f"{one.written:,} written, {one.removed:,} removed"
        out.data(visible_line(f"{one.kind}: {plural(one.points, 'point')}, {changes} ({one.place})"))
    for name in dropped:
        out.data(f"removed: {visible_line(name)}")
    if not done:
        out.say("there is nothing to send yet")


@command
@click.argument("text")
@_KIND
@_FEATURE
@_WHERE
@click.option(
    "--mode",
    type=click.Choice(("hybrid", "dense", "sparse")),
    default="hybrid",
    help="By meaning (dense), words (sparse), or both fused by their ranks.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, metavar="N", help="Points at most.")
@click.option("--threshold", type=float, metavar="SCORE", help="The least score, as the mode counts it.")
def search(
    text: str, kind: str, feature: str, where: Sequence[str], mode: str, limit: int, threshold: float | None
) -> None:
    """Search the rules of this project, or a feature's iterations, on the Qdrant of the settings.

    Filters come before the search. The engine's own search of rules, which weighs relevance and authority, is
    `workbench rules search`; this is what other programs find there.
    """
    from workbench.entry.services.vectors import VectorQuery, search_vectors

    if not text.strip():
        raise UsageError("there is nothing to look for", hint="`workbench vectors list` lists all points.")
    asked = VectorQuery(kind, feature, text, mode, limit, threshold, _where(where))  # type: ignore[arg-type]
    with _open_project() as (project, _):
        vectors = search_vectors(project, asked)
    _show(vectors)


@command
@_KIND
@_FEATURE
@_WHERE
@click.option("--limit", type=click.IntRange(1, 1000), default=100, metavar="N", help="Points at most.")
@click.option("--cursor", default="", metavar="ID", help="Where to go on, as the page before says.")
def list_(kind: str, feature: str, where: Sequence[str], limit: int, cursor: str) -> None:
    """List the points of a collection on the Qdrant of the settings, page by page."""
    from workbench.entry.services.vectors import VectorQuery, search_vectors

    asked = VectorQuery(kind, feature, limit=limit, where=_where(where), cursor=cursor)
    with _open_project() as (project, _):
        vectors = search_vectors(project, asked)
    _show(vectors)


@contextmanager
def _open_project() -> Iterator[tuple[OpenedProject, Callable[[str, int, int], None]]]:
    here = current()
    config = here.settings().config
    with closing(open_workspace(here.project, config)) as project, here.out.progress("Working") as line:
        yield project, lambda stage, done, total: line(done, total, stage.capitalize())


def _where(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise UsageError(f"--where {one!r} is not FIELD=VALUE", hint="For example category=behavior.")
        found[name] = (*found.get(name, ()), value)
    return found


def _show(found: VectorSearchReport) -> None:
    here = current()
    if here.wrote_json(found):
        return
    for hit in found.hits:
        fields = hit.fields
        name = fields.get("id") or fields.get("point_id") or ""
        text = fields.get("rule") or fields.get("summary") or json.dumps(fields, default=str)
        score = f"{hit.score:.4f}  " if found.mode else ""
        here.out.data(visible_line(f"{score}{name}  {text}")[:_WIDTH])
    if not found.hits:
        here.out.say("nothing was found")
    if found.next_cursor:
        here.out.say(f"more: --cursor {visible_line(found.next_cursor)}")
