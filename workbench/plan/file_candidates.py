"""What files offer a pack: their name, the places in them that the task needs, the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.cuts import FileCut
from workbench.plan.places import Float32, PlacedFile, place_chances
from workbench.plan.planner import Planner, Ranking
from workbench.plan.render import FileView, Style
from workbench.plan.representations import (
    Content,
    digests_of,
    file_offers,
    name_offer,
    named_places,
    outline_view,
)
from workbench.plan.signals import ROLE_CUES
from workbench.plan.touches import ChunkTouches
from workbench.plan.workspace import Workspace
from workbench.project.admission import is_generated
from workbench.project.languages import role_of
from workbench.records.plan import Detail, Intent, RankedFile, Representation
from workbench.records.project import Role, Skipped
from workbench.text.terms import stem, words_of

LEAST_CHANCE = 0.01  # a less likely file is neither shown nor named: it would only fill the budget
LEADS_FROM = 0.25  # a likelier first file is shown even where no place of it stands out
FOLLOWING = frozenset({Role.TEST, Role.DOCS, Role.DATA})
_CHANGES_FILE = re.compile(r"\bCHANGES\b|\bchanges\.\w")
_LOCALE = re.compile(
    r"(?:(?<=/)|(?<=^)|(?<=[._-]))(?:ar|bn|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)"
    r"(?:[-_](?:[A-Za-z]{2}|hans|hant|Hans|Hant))?(?=/|\.)"
)
_VERBS = frozenset({stem("changes")})
_UNWANTED = {Detail.COMPACT: Representation.FULL, Detail.VERBOSE: Representation.OUTLINE}


def project_candidates(
    workspace: Workspace,
    planner: Planner,
    ranking: Ranking,
    chances: Mapping[str, float],
    style: Style,
    least: float,
) -> tuple[list[FileCandidate], list[Skipped]]:
    """Return `file_candidates` of a workspace: its contents, and the chunks that its past tasks changed."""
    digests = digests_of(workspace.snapshot)
    read = partial(planner.contents.read, index=workspace.index, digests=digests)
    edits = workspace.edits()
    touch = None
    if edits is not None:
        from workbench.plan.touches import task_touches  # a project that was never indexed by itself has none

        touch = task_touches(edits, workspace.history, ranking.intent)
    found = file_candidates(
        planner,
        ranking.intent,
        ranking.files,
        chances,
        read,
        style,
        pinned=ranking.overrides.pinned,
        least=least,
        touch=touch,
        project_files=workspace.index.count,
    )
    planner.contents.flush()
    return found


def in_detail(candidates: Sequence[FileCandidate], detail: Detail) -> list[FileCandidate]:
    """Return candidates without the offers that a detail leaves out; what is pinned keeps its own."""
    unwanted = _UNWANTED.get(detail)
    if unwanted is None:
        return [*candidates]
    return [
        one if one.pinned else replace(one, offers=tuple(_without(one.offers, unwanted)))
        for one in candidates
    ]


def _without(offers: Sequence[ViewOffer], unwanted: Representation) -> Iterator[ViewOffer]:
    return (offer for offer in offers if offer.view.representation is not unwanted)


def file_candidates(  # noqa: PLR0913 - what a pack is made of
    planner: Planner,
    intent: Intent,
    files: Sequence[RankedFile],
    chances: Mapping[str, float],
    read: Callable[[str], Content | Skipped],
    style: Style,
    *,
    pinned: Collection[str] = (),
    least: float = LEAST_CHANCE,
    touch: Callable[[str, FileCut], ChunkTouches] | None = None,
    project_files: int = 0,
) -> tuple[list[FileCandidate], list[Skipped]]:
    """Return the candidates a pack is made of, and the files that are not candidates with the reason.

    `read` returns a file's content; it is called for the first files and the pinned ones only, which come
    first and count as certainly needed. What is less likely to be needed than `least` is no candidate.
    `touch` returns which chunks of a file past tasks changed.
    """
    shown: list[tuple[RankedFile, Content]] = []
    named: list[RankedFile] = []
    unread: list[Skipped] = []
    considered = files[: planner.read + planner.named]
    wanted = named_files(intent, pinned)
    for place, found in enumerate(considered):
        chance = chances[found.path]
        if chance < least:
            unread.append(Skipped(found.path, f"unlikely to be needed ({chance:.1%})"))
            continue
        if found.path not in pinned and place >= planner.read:
            named.append(found)
            continue
        content = read(found.path)
        if isinstance(content, Skipped):
            unread.append(content)
        elif found.path not in wanted and is_generated(content.data):
            unread.append(Skipped(found.path, "generated: its first lines say so"))
        elif found.path not in wanted and (twin := _twin_of(found.path, [one.path for one, _ in shown])):
            unread.append(Skipped(found.path, f"one of a family: {twin} is likelier"))
        else:
            shown.append((found, content))
    placed = [
        PlacedFile(
            found.path,
            role_of(found.path),
            content.cut,
            content.data,
            chances[found.path],
            touch(found.path, content.cut) if touch is not None else {},
        )
        for found, content in shown
    ]
    places = place_chances(planner.chunks, intent, placed, project_files)
    following = following_files(intent, placed, pinned)
    first = next((one.path for one in placed if one.path not in following), "")
    candidates = []
    for (found, content), one, of_chunks in zip(shown, placed, places, strict=True):
        offers = file_offers(content, of_chunks, style, planner.counter)
        if found.path in pinned:
            offers = (*offers, _outline(content, style, planner))
        elif found.path in following:
            offers = offers[:1]
        candidates.append(
            FileCandidate(
                path=found.path,
                score=found.score,
                offers=offers,
                pinned=found.path in pinned,
                chance=one.chance,
                fill=partial(fill_view, content, of_chunks),
                leads=found.path == first and one.chance >= LEADS_FROM,
                follows=found.path in following,
            )
        )
    for found in named:
        offer = name_offer(found.path, style, planner.counter)
        candidates.append(
            FileCandidate(
                found.path,
                found.score,
                (offer,),
                chance=chances[found.path],
                follows=bool(following) and role_of(found.path) in FOLLOWING,
            )
        )
    return candidates, unread


def fill_view(content: Content, chances: Float32, view: FileView) -> FileView:
    """Return a view with its lines, and where else to look in the file."""
    filled = content.fill(view)
    if view.representation is not Representation.SNIPPETS:
        return filled
    return replace(filled, places=named_places(content.cut, chances, view.spans))


def following_files(
    intent: Intent, files: Sequence[PlacedFile], pinned: Collection[str] = ()
) -> frozenset[str]:
    """Return the files that follow from the work on others, and are named instead of shown.

    Tests, documentation and data follow, unless the task is about such files, names one, or points at no
    file that is worked on by itself.
    """
    asked = asked_roles(intent)
    if not any(one.role not in FOLLOWING and one.chance >= LEADS_FROM for one in files):
        return frozenset()
    named = named_files(intent, pinned)
    return frozenset(
        one.path for one in files if one.role in FOLLOWING and one.role not in asked and one.path not in named
    )


def named_files(intent: Intent, pinned: Collection[str] = ()) -> frozenset[str]:
    """Return the files that are asked for by name: pinned, in the task, or in its stack trace."""
    frames = (path for path, _line, _function in intent.entities.frames)
    return frozenset((*pinned, *intent.entities.paths, *frames))


def _twin_of(path: str, likelier: Sequence[str]) -> str:
    """Return the likelier file of which a path is another translation, empty where there is none."""
    key = _LOCALE.sub("*", path)
    if key == path:
        return ""
    return next((other for other in likelier if other != path and _LOCALE.sub("*", other) == key), "")


def asked_roles(intent: Intent) -> frozenset[Role]:
    """Return the kinds of files that the head of a task asks for.

    "changes" does only as the name of a file: in "when the value changes" it is a verb.
    """
    head = intent.task.head
    stems = {stem(word) for word in words_of(head.lower())}
    if not _CHANGES_FILE.search(head):
        stems -= _VERBS
    return frozenset(role for role, cues in ROLE_CUES.items() if cues & stems)


def _outline(content: Content, style: Style, planner: Planner) -> ViewOffer:
    view = outline_view(content.path, content.symbols)
    return ViewOffer(view, planner.counter.count(style.file(view)), 0.0)
