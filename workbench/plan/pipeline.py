"""The main job: a task in, a packed context out, with every decision on the record [img 7, 8.1]."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.plan.chances import needed_chances
from workbench.plan.compose import FileCandidate, Pack, compose
from workbench.plan.contents import Content, Contents, digests_of
from workbench.plan.intent import parse_intent
from workbench.plan.learned import learned_passages
from workbench.plan.matching import RuleMatcher
from workbench.plan.ranking import LinearModel, rank_files
from workbench.plan.render import DEFAULT_STYLE, STYLES, Passage, Style
from workbench.plan.representations import Shares, file_offers, named_only
from workbench.plan.response import EMBEDDINGS, plan_response
from workbench.plan.rule_context import request_context
from workbench.plan.semantics import CachingEmbedder, KnownPast, TaskVector, known_past
from workbench.plan.snippets import ChunkModel, chunk_features, expected_shares
from workbench.plan.wishes import EXCLUDED, PINNED, Wishes, resolve_wishes
from workbench.plan.workspace import Progress, Synced, Workspace
from workbench.project.layers import route
from workbench.records.plan import Intent, PlanRequest, QueryType, RankedFile
from workbench.records.project import Skipped
from workbench.records.rules import Authority, Rule
from workbench.rules.matching.applying import PlanRuleLimits, RuleSelection, select_rules
from workbench.rules.matching.match import MatchParams, MatchReport, RuleMatch, RuleQuery
from workbench.rules.matching.searching import match_message
from workbench.text.sanitize import visible_line
from workbench.text.tasks import clean_task, split_head
from workbench.text.tokens import TokenCounter

if TYPE_CHECKING:
    from workbench.rules.matching.recheck import Rechecked

Float32 = NDArray[np.float32]
Recheck = Callable[[Sequence[RuleMatch], str], "Rechecked"]

READ = 20  # candidates whose content is looked at
NAMED = 80  # further candidates that may at least be named
RULE_SHARE = 0.35
LEAST_CHANCE = 0.01  # a less likely file is neither shown nor named: it would only fill the budget
_NAMED_RULE = 60  # characters of a rule in the reason why it is left out
_SPARE_SHARE = 0.1  # of the budget that may stay free without a word
MATCHED_BODY = 500  # characters of a task's body whose words are compared with rules


@dataclass(frozen=True, slots=True)
class Planner:
    """What planning needs besides a workspace: models, tokenizer, limits.

    `recheck` takes matches and the message and gives what a language model leaves of them; None asks none.
    """

    ranking: LinearModel
    chunks: ChunkModel
    worth: Shares
    counter: TokenCounter
    contents: Contents
    matching: MatchParams
    plain_ranking: LinearModel | None = None
    embedder: CachingEmbedder | None = None
    embedder_note: str = ""
    matcher: RuleMatcher = field(default_factory=RuleMatcher)
    learned: RuleMatcher = field(default_factory=RuleMatcher)
    recheck: Recheck | None = None
    read: int = READ
    named: int = NAMED


@dataclass(slots=True)
class Plan:
    """A finished plan: the response [img 8.1] and what it was made of.

    `ranked` are all files that were ranked, excluded ones too; `matches` the rules that answer to the task,
    `learnings` {id: text} of those in the pack, and `rules` those in it.
    """

    response: dict[str, object]
    ranking: Ranking
    pack: Pack
    intent: Intent
    ranked: tuple[RankedFile, ...]
    synced: Synced
    stages: dict[str, float] = field(default_factory=dict)
    wishes: Wishes = field(default_factory=Wishes)
    matches: tuple[RuleMatch, ...] = ()
    learnings: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files in order, the model that ordered them, and what was known of past tasks by meaning."""

    intent: Intent
    files: tuple[RankedFile, ...]
    synced: Synced
    model: LinearModel
    past: KnownPast
    vector: TaskVector
    wishes: Wishes = field(default_factory=Wishes)


def rank(
    workspace: Workspace,
    planner: Planner,
    task: str,
    *,
    query_type: QueryType | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    pinned: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> Ranking:
    """Rank the project's files for a task, best first; pinned ones are among them.

    Raises: UsageError for something pinned or excluded that is not there.
    """
    synced = workspace.sync(strict=strict, progress=progress)
    wishes = resolve_wishes(
        pinned,
        excluded,
        workspace.index.positions.keys(),
        wishable_ids(workspace) if pinned or excluded else (),
    )
    past = known_past(planner.embedder, workspace.task_heads)
    needed = past.vectors is not None or bool(workspace.rulebook.rules)
    vector = TaskVector(planner.embedder if needed else None, task)
    intent = parse_intent(task, project_id=workspace.adapters.project_id, query_type=query_type)
    model = planner.ranking if past.vectors is not None else planner.plain_ranking or planner.ranking
    ranked = rank_files(
        workspace.view, intent, model, semantic=lambda: past.compared(vector), also=wishes.pinned
    )
    return Ranking(intent, ranked, synced, model, past, vector, wishes)


def plan(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    *,
    style: str = DEFAULT_STYLE,
    baseline: bool = False,
    progress: Progress | None = None,
) -> Plan:
    """Plan context for a task.

    Raises: StaleProject under `strict`; UsageError for something pinned or excluded that is not there; errors
    of the store and git.

    With `baseline` the files stand in the order of the layers their kind of task is routed to, which is
    what every ranking is compared with.
    """
    stages: dict[str, float] = {}
    clock = time.perf_counter()
    ranking = rank(
        workspace,
        planner,
        request.task,
        query_type=request.query_type,
        strict=request.strict,
        progress=progress,
        pinned=request.pinned,
        excluded=request.excluded,
    )
    if baseline:
        from workbench.plan.layered import baseline_files  # parsers of manifests, which no other plan needs

        ordered = baseline_files(workspace, ranking.intent.predicted, ranking.model)
        there = {found.path for found in ordered}
        left = [one for one in ranking.files if one.path in ranking.wishes.pinned and one.path not in there]
        ranking = replace(ranking, files=(*ordered, *left))
    intent, ranked, synced, wishes = ranking.intent, ranking.files, ranking.synced, ranking.wishes
    ranking = replace(ranking, files=wishes.ordered(ranked))
    stages["sync"] = round(sum(synced.stages.values()), 3)
    stages["rank"] = round(_ms(clock) - stages["sync"], 3)
    clock = time.perf_counter()
    rules, matched = _rules(workspace, planner, request, ranking)
    learned = learned_passages(workspace, planner, request, ranking)
    stages["rules"] = _ms(clock)
    clock = time.perf_counter()
    chances = needed_chances(ranking.model, ranking.files, wishes.pinned)
    candidates, unread = _candidates(workspace, planner, ranking, chances, STYLES[style])
    stages["contents"] = _ms(clock)
    clock = time.perf_counter()
    candidates = _without_rule_files(candidates, rules, intent)
    passages = wishes.passages([*rule_passages(rules), *learned.passages])
    pack = compose(passages, candidates, request.token_budget, STYLES[style], planner.counter)
    stages["pack"] = _ms(clock)
    dropped = [
        *((name, EXCLUDED) for name in wishes.excluded),
        *((found.path, found.reason) for found in unread),
        *((one.rule.id, f"“{_short(one.rule.rule)}” {visible_line(one.reason)}") for one in rules.dropped),
        *learned.dropped,
        *(
            (found.path, "ranked too low to be considered")
            for found in ranking.files[planner.read + planner.named :]
        ),
    ]
    response = plan_response(
        pack,
        intent,
        cache_status=synced.cache_status,
        freshness=str(synced.freshness),
        layers=_layers(workspace, intent, [candidate.path for candidate, _ in pack.files]),
        ranked={found.path: found for found in ranked},
        chances={} if baseline else chances,
        dropped=dropped,
        degraded=(*missing_parts(workspace, planner), *matched.degraded),
        notes=[
            *_unfit(pack, dropped, wishes),
            *_spare(pack),
            *_notes(workspace, planner, ranking),
            *(matched.notes if planner.recheck else ()),
        ],
        timing={**synced.stages, **stages, "total": round(sum(stages.values()), 3)},
    )
    given = learned.given(pack.passages)
    packed = {passage.id for passage in pack.passages}
    used = tuple(one.rule for one in rules.selected if one.rule.id in packed)
    return Plan(
        response, ranking, pack, intent, ranked, synced, stages, wishes, tuple(matched.matches), given, used
    )


def _rules(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking
) -> tuple[RuleSelection, MatchReport]:
    query, report = match_task(workspace, planner, request, ranking)
    rules = workspace.rulebook.rules
    limits = PlanRuleLimits(tokens=int(request.token_budget * RULE_SHARE), matched=planner.matching.limit)
    columns = planner.matcher.columns_of(rules)
    wishes = ranking.wishes
    pinned = [(rule, PINNED) for rule in rules if rule.id in wishes.pinned] if wishes.pinned else []
    selection = select_rules(
        rules,
        report,
        query,
        limits,
        columns,
        pinned=pinned,
        excluded=wishes.excluded,
        duplicates=workspace.known_duplicates,
    )
    return selection, report


def match_task(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    ranking: Ranking,
    *,
    progress: Progress | None = None,
) -> tuple[RuleQuery, MatchReport]:
    """Match the rules in force with a task in its context: its first files, and what else is known of it.

    With `progress` it waits until all rules are embedded, where an embedding model is ready.
    """
    book = workspace.rulebook
    adapters = workspace.adapters
    context = request_context(workspace, request, ranking) if book.rules else None
    query = RuleQuery(request.task, adapters.project_id, context, adapters.now())
    vector = ranking.vector.get() if book.rules else None
    index = planner.matcher.index(
        book.rules,
        book.words,
        None if vector is None else planner.embedder,
        progress=None if progress is None else partial(progress, "embedding rules"),
    )
    head, body = split_head(clean_task(request.task))
    text = f"{head}\n{body[:MATCHED_BODY]}"
    report = match_message(index, query, vector, planner.matching, text=text)
    return query, report if planner.recheck is None else _checked_again(report, planner.recheck, text)


def _checked_again(report: MatchReport, recheck: Recheck, text: str) -> MatchReport:
    """Return the report without what a language model took away [adr2, option C]."""
    done = recheck(report.matches, text)
    notes = tuple(note for note in (done.note, "" if done.cost is None else done.cost.sentence()) if note)
    return MatchReport(
        done.matches,
        lambda: (*report.rejected, *done.rejected),
        (*report.notes, *notes),
        (*report.degraded, *done.degraded),
        report.barred,
    )


def rule_passages(selection: RuleSelection) -> list[Passage]:
    """Return selected rules as passages of a pack, in their order."""
    passages = []
    for number, chosen in enumerate(selection.selected):
        rule = chosen.rule
        where = (
            f"{rule.provenance.file}:{rule.provenance.line}" if rule.provenance is not None else rule.source
        )
        passages.append(
            Passage(
                id=rule.id,
                section="Rules",
                text=rule.rule,
                origin=where,
                authority=rule.authority.value,
                why=chosen.why,
                score=1.0 - number / 100.0,
                utility=0.6 / (1.0 + 0.1 * number),
                priority=rule.priority,
                mandatory=rule.authority is Authority.ABSOLUTE,
            )
        )
    return passages


def _without_rule_files(
    candidates: Sequence[FileCandidate], selection: RuleSelection, intent: Intent
) -> list[FileCandidate]:
    """Return the candidates with the files excluded whose rules go into the pack by themselves.

    A file that is pinned or that the task names is packed all the same: it may be what is to be changed.
    """
    inside = [chosen.rule for chosen in selection.selected]
    inside += [dropped.rule for dropped in selection.dropped if dropped.repeats]
    held = {rule.provenance.file for rule in inside if rule.provenance}
    held.difference_update(intent.entities.paths)
    return [
        replace(one, excluded="its rules are in the pack") if one.path in held and not one.pinned else one
        for one in candidates
    ]


def _candidates(
    workspace: Workspace, planner: Planner, ranking: Ranking, chances: Mapping[str, float], style: Style
) -> tuple[list[FileCandidate], list[Skipped]]:
    digests = digests_of(workspace.snapshot)
    read = partial(planner.contents.read, index=workspace.index, digests=digests)
    return file_candidates(
        planner, ranking.intent, ranking.files, chances, read, style, pinned=ranking.wishes.pinned
    )


def file_candidates(
    planner: Planner,
    intent: Intent,
    files: Sequence[RankedFile],
    chances: Mapping[str, float],
    read: Callable[[str], Content | Skipped],
    style: Style,
    *,
    pinned: Collection[str] = (),
) -> tuple[list[FileCandidate], list[Skipped]]:
    """Return the candidates a pack is made of, and the files that are none with the reason.

    `read` gives a file's content; it is asked for the first files and the pinned ones only, which stand first
    and count as certainly needed.
    """
    shown: list[tuple[RankedFile, Content]] = []
    named: list[RankedFile] = []
    unread: list[Skipped] = []
    considered = files[: planner.read + planner.named]
    for place, found in enumerate(considered):
        chance = chances[found.path]
        if chance < LEAST_CHANCE:
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
        offer = named_only(found.path, chances[found.path], style, planner.counter, planner.worth)
        candidates.append(FileCandidate(found.path, found.score, (offer,)))
    return candidates, unread


def _layers(workspace: Workspace, intent: Intent, paths: Sequence[str]) -> list[str]:
    view = workspace.view
    positions = [view.index.positions[path] for path in paths if path in view.index.positions]
    return [layer for layer in route(intent.predicted) if positions and view.layers[layer][positions].any()]


def missing_parts(workspace: Workspace, planner: Planner) -> tuple[str, ...]:
    """Return what a plan has to do without here."""
    missing = (EMBEDDINGS,) if planner.embedder is None else ()
    return (*workspace.adapters.degraded, *missing)


def unprepared(planner: Planner, ranking: Ranking) -> bool:
    """Whether a plan would be better informed after `workbench model prepare`."""
    return bool(planner.embedder_note or ranking.past.missing or planner.matcher.note)


def _notes(workspace: Workspace, planner: Planner, ranking: Ranking) -> list[str]:
    notes = [*workspace.adapters.notes, *ranking.synced.notes]
    if ranking.synced.cache == "partial":
        notes.append(f"re-indexed before planning: {ranking.synced.reason}")
    if ranking.vector.failure:
        notes.append(f"the task was not compared by meaning: {ranking.vector.failure}")
    if planner.matcher.failed:
        notes.append(planner.matcher.note)
    if workspace.scan_report.get("capped"):
        notes.append("the project has more files than are indexed; see `workbench status`")
    return notes


def wishable_ids(workspace: Workspace) -> frozenset[str]:
    """Return the ids of the passages that can be pinned and excluded: rules and learnings in force."""
    kept = workspace.learnings()
    learned = () if kept is None else kept.known.live
    return frozenset((*(rule.id for rule in workspace.rulebook.rules), *(one.id for one in learned)))


def _unfit(pack: Pack, dropped: Sequence[tuple[str, str]], wishes: Wishes) -> list[str]:
    """Say what was pinned and could not be packed."""
    out = [f"{visible_line(one.file)}: {one.reason}" for one in pack.dropped if one.pinned]
    refused = [f"{visible_line(name)}: {reason}" for name, reason in dropped if name in wishes.pinned]
    return out + refused


def _short(text: str) -> str:
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= _NAMED_RULE else line[: _NAMED_RULE - 1] + "…"


def _spare(pack: Pack) -> list[str]:
    """Say why much of the budget stays free although something was left out."""
    free = pack.report.token_budget - pack.report.estimated_used
    if free < pack.report.token_budget * _SPARE_SHARE or not pack.dropped:
        return []
    return [f"{free:,} tokens stay free: nothing else is likely enough to be worth its tokens"]


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
