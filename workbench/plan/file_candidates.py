"""What files offer a pack: their name, the places in them that the task needs, the whole text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from workbench.plan.chunks import ChunkKind
from workbench.plan.compose import NAMED_FROM, FileCandidate, ViewOffer
from workbench.plan.cuts import END, KIND, KINDS, NAME, START, FileCut, term_id
from workbench.plan.kinds import asked_roles, find_head, named_files, named_kind, says_no_more
from workbench.plan.news import begins_new, is_news, only_new
from workbench.plan.packing import fair_price
from workbench.plan.places import Float32, PlacedFile, place_chances
from workbench.plan.planner import Planner, Ranking
from workbench.plan.render import FileView, Style
from workbench.plan.representations import (
    LEAST_NAMED,
    Content,
    digests_of,
    file_offers,
    name_offer,
    named_places,
    outline_view,
)
from workbench.plan.touches import ChunkTouches
from workbench.plan.workspace import Workspace
from workbench.plan.written import WrittenPlace, by_path
from workbench.project.admission import is_generated
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.plan import Detail, Intent, RankedFile, Representation
from workbench.records.project import Role, Skipped
from workbench.text.terms import parts, words_of

LEAST_CHANCE = 0.01  # a less likely file is neither shown nor named: it would only fill the budget
LIKELY = 0.1  # of a task without a file that is needed with this chance by itself places are only named
LEADS_FROM = 0.25  # a likelier first file is shown even where no place of it stands out
WRITTEN = 0.5  # chance that a place is needed which a task writes by its name and can only mean
CLEAR_LEAD = 1.5  # times as likely as any other file
FOLLOWED_FROM = NAMED_FROM  # beside a file that is so likely, tests and guides are named only
FOLLOWING = frozenset({Role.TEST, Role.DOCS, Role.DATA})
NAMED_FIRST = FOLLOWING | {Role.BUILD, Role.CI}
"""What is named instead of shown beside work on source: these, manifests and workflows."""


_UNWANTED = {Detail.COMPACT: Representation.FULL, Detail.VERBOSE: Representation.OUTLINE}


@dataclass(frozen=True, slots=True)
class FileOffers:
    """What a pack is made of, what is no candidate with the reason, and the price of a token."""

    files: list[FileCandidate]
    unread: list[Skipped]
    price: float


def project_candidates(
    workspace: Workspace,
    planner: Planner,
    ranking: Ranking,
    chances: Mapping[str, float],
    style: Style,
    least: float,
) -> FileOffers:
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
        written=ranking.written,
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


def likely_text(candidates: Sequence[FileCandidate], likeliest: float) -> list[FileCandidate]:
    """Return candidates that are only named where the likeliest file is hardly likely; pinned ones stay.

    `likeliest` is its chance by itself, not raised for a task that needs some file.
    """
    if likeliest >= LIKELY:
        return [*candidates]
    return [one if one.pinned else replace(one, offers=one.offers[:1]) for one in candidates]


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
    written: Sequence[WrittenPlace] = (),
) -> FileOffers:
    """Return the candidates a pack is made of.

    `read` returns a file's content; it is called for the first files and the pinned ones only, which come
    first and count as certainly needed. What is less likely to be needed than `least` is no candidate.
    `touch` returns which chunks of a file past tasks changed. The places `written` in the task are shown.
    """
    lines = {path: [one.line for one in places] for path, places in by_path(written).items()}
    shown: list[tuple[RankedFile, Content]] = []
    named: list[RankedFile] = []
    unread: list[Skipped] = []
    families: dict[str, list[str]] = {}
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
        elif found.path not in wanted and (
            head := find_head(found.path, content.cut, [(one.path, held.cut) for one, held in shown])
        ):
            families.setdefault(head, []).append(found.path)
            unread.append(Skipped(found.path, f"one of a family: {head} is likelier"))
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
    places = [
        _with_written(one.cut, of_chunks, lines.get(one.path, ()))
        for one, of_chunks in zip(
            placed, place_chances(planner.chunks, intent, placed, project_files), strict=True
        )
    ]
    following = following_files(intent, placed, (*pinned, *lines))
    first = next((one.path for one in placed if one.path not in following), "")
    is_kind = named_kind(intent)
    is_asked = is_kind is not None and is_kind(first)
    narrow = named_definitions(intent, [one for one in placed if one.path not in following])
    candidates = []
    for (found, content), one, of_chunks in zip(shown, placed, places, strict=True):
        alike = tuple(families.get(found.path, ()))
        if found.path == first and is_asked and not is_news(first) and says_no_more(intent):
            of_chunks = _from_the_top(one)
        to_show = _of_functions(one.cut, narrow, of_chunks) if narrow and one.path == first else of_chunks
        if found.path == first and is_asked and is_news(first):
            to_show = np.where(begins_new(one.cut), np.maximum(to_show, np.float32(one.chance)), to_show)
        offers = file_offers(content, to_show, style, planner.counter, alike=alike)
        if found.path in pinned:
            offers = (*offers, _outline(content, style, planner))
        elif found.path in following or (narrow and found.path != first and found.path not in lines):
            offers = offers[:1]
        candidates.append(
            FileCandidate(
                path=found.path,
                score=found.score,
                offers=offers,
                pinned=found.path in pinned,
                chance=one.chance,
                fill=partial(fill_view, content, of_chunks),
                leads=found.path in lines or (found.path == first and (one.chance >= LEADS_FROM or is_asked)),
                follows=found.path in following and one.role in FOLLOWING,
                alike=alike,
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
    worked_on = [
        (one.cut.table, of_chunks)
        for one, of_chunks in zip(placed, places, strict=True)
        if one.path not in following
    ]
    price = fair_price(
        [chance for _, of_chunks in worked_on for chance in of_chunks.tolist()],
        [size for table, _ in worked_on for size in (table[:, END] - table[:, START] + 1).tolist()],
    )
    return FileOffers(candidates, unread, price)


def fill_view(content: Content, chances: Float32, view: FileView) -> FileView:
    """Return a view with its lines, and where else to look in the file."""
    filled = content.fill(view)
    if view.representation is not Representation.SNIPPETS:
        return filled
    new = only_new(content.cut, chances) if is_news(content.path) else chances
    return replace(filled, places=named_places(content.cut, new, view.spans))


def following_files(
    intent: Intent, files: Sequence[PlacedFile], pinned: Collection[str] = ()
) -> frozenset[str]:
    """Return the files that follow from the work on others, and are named instead of shown.

    Tests, documentation, data, manifests and workflows follow, unless the task is about such files, names
    one, or points at no file that is worked on by itself.
    """
    asked = asked_roles(intent)
    follows = NAMED_FIRST - asked
    if not any(one.role not in follows and one.chance >= FOLLOWED_FROM for one in files):
        return frozenset()
    named = named_files(intent, pinned)
    is_kind = named_kind(intent) or named.__contains__
    return frozenset(
        one.path for one in files if one.role in follows and one.path not in named and not is_kind(one.path)
    )


def named_definitions(intent: Intent, files: Sequence[PlacedFile]) -> tuple[int, ...]:
    """Return the definitions of the first file that a narrow task names, as places in the names of its cut.

    A task is narrow where it names definitions of the first file, which leads clearly, and of no other one.
    None for any other task.
    """
    if not files or files[0].chance < CLEAR_LEAD * max((one.chance for one in files[1:]), default=0.0):
        return ()
    spelled = {term_id("".join(parts(word))) for word in words_of(intent.task.head) if len(parts(word)) > 1}
    named = [
        [place for place, term in enumerate(one.cut.spelled.tolist()) if term in spelled] for one in files
    ]
    return tuple(named[0]) if len(named[0]) and not any(named[1:]) else ()


def _with_written(cut: FileCut, chances: Float32, lines: Sequence[int]) -> Float32:
    """Return the chances of the chunks of a file, float32 [c], at least `WRITTEN` for those of some lines."""
    at = np.searchsorted(cut.table[:, START], lines, side="right") - 1
    at = at[at >= 0]
    raised = chances.copy()
    raised[at] = np.maximum(raised[at], np.float32(WRITTEN))
    return raised


def _from_the_top(file: PlacedFile) -> Float32:
    """Return chances of the chunks of a file of which nothing is said: the first is shown, others named."""
    chances = np.linspace(NAMED_FROM, LEAST_NAMED, file.cut.count, dtype=np.float32)
    chances[:1] = file.chance
    return chances


def _of_functions(cut: FileCut, names: Sequence[int], chances: Float32) -> Float32:
    """Return the chances of the chunks of some functions, 0 of others; all where only classes are named.

    names: places in the names of the cut; chances: float32 [c].
    """
    inside = np.isin(cut.table[:, NAME], names) & (cut.table[:, KIND] == KINDS.index(ChunkKind.BODY))
    return np.where(inside, chances, np.float32(0.0)) if inside.any() else chances


def _outline(content: Content, style: Style, planner: Planner) -> ViewOffer:
    view = outline_view(content.path, content.symbols)
    return ViewOffer(view, planner.counter.count(style.file(view)), 0.0)
