"""What files offer a pack: their name, an outline, snippets or the whole text, weighed by their chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.planner import Planner, Ranking
from workbench.plan.render import Style
from workbench.plan.representations import Content, digests_of, file_offers, name_offer
from workbench.plan.snippets import FileText, chunk_features, expected_shares
from workbench.plan.workspace import Workspace
from workbench.records.plan import Detail, Intent, RankedFile, Representation
from workbench.records.project import Skipped

LEAST_CHANCE = 0.01  # a less likely file is neither shown nor named: it would only fill the budget
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
    return file_candidates(
        planner,
        ranking.intent,
        ranking.files,
        chances,
        read,
        style,
        pinned=ranking.overrides.pinned,
        least=least,
        touch=touch,
    )


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
    touch: Callable[[FileText, Sequence[dict[str, float]]], None] | None = None,
) -> tuple[list[FileCandidate], list[Skipped]]:
    """Return the candidates a pack is made of, and the files that are not candidates with the reason.

    `read` returns a file's content; it is called for the first files and the pinned ones only, which come
    first and count as certainly needed. What is less likely to be needed than `least` is no candidate.
    `touch` adds to the features of a file's chunks which of them past tasks changed.
    """
    shown: list[tuple[RankedFile, Content]] = []
    named: list[RankedFile] = []
    unread: list[Skipped] = []
    considered = files[: planner.read + planner.named]
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
        else:
            shown.append((found, content))
    rows = chunk_features(intent, [content.text for _, content in shown])
    if touch is not None:
        for (_, content), chunk_rows in zip(shown, rows, strict=True):
            touch(content.text, chunk_rows)
    candidates = [
        FileCandidate(
            path=found.path,
            score=found.score,
            offers=file_offers(
                content.text,
                chances[found.path],
                expected_shares(planner.chunks, chunk_rows),
                content.outline,
                style,
                planner.counter,
                planner.worth,
                content.tokens,
            ),
            pinned=found.path in pinned,
        )
        for (found, content), chunk_rows in zip(shown, rows, strict=True)
    ]
    for found in named:
        offer = name_offer(found.path, chances[found.path], style, planner.counter, planner.worth)
        candidates.append(FileCandidate(found.path, found.score, (offer,)))
    return candidates, unread
