"""The main job: a task in, a packed context out, every decision recorded [img 7, 8.1]."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from workbench.expand.sources import Sources
from workbench.plan.compose import Pack, compose
from workbench.plan.file_candidates import LEAST_CHANCE, in_detail, likely_text, project_candidates
from workbench.plan.first_line import brief_head, likeliest_of
from workbench.plan.kinds import lead_with_kind
from workbench.plan.overrides import EXCLUDED, RECEIVED, Overrides
from workbench.plan.packing import PRICE, text_limit
from workbench.plan.passages import (
    RULE_SHARE,
    choose_rules,
    learned_passages,
    loaded_lines,
    matched_text,
    rule_passages,
    without_rule_files,
)
from workbench.plan.planner import (
    Planner,
    Ranking,
    meaning_notes,
    missing_parts,
    plan_confidence,
    rank,
)
from workbench.plan.ranking import needed_chances, own_chances
from workbench.plan.reasons import reasons_of
from workbench.plan.render import DEFAULT_STYLE, STYLES
from workbench.plan.response import plan_response
from workbench.plan.rule_evidence import count_everywhere, only_about, rules_about
from workbench.plan.segments import stashed_passages
from workbench.plan.surroundings import describe_surroundings
from workbench.plan.workspace import Progress, Synced, Workspace
from workbench.plan.written import lead_with_written, written_places
from workbench.project.layers import route
from workbench.records.answers.plan import PlanResponse
from workbench.records.dataclass import dataclass
from workbench.records.plan import Detail, Intent, MlMode, PlanRequest, RankedFile, Representation
from workbench.records.project import CacheStatus, Layer
from workbench.records.rules import Rule
from workbench.rules.matching.match import RuleMatch
from workbench.text.sanitize import shorten, visible_line

if TYPE_CHECKING:
    from workbench.plan.second_stage import SecondLook
    from workbench.records.segments import FoundSegment
    from workbench.stash.selection import ChosenSegment

_NAMED_RULE = 60  # characters of a rule in the reason why it is left out
_PRICES = {Detail.COMPACT: 2.0, Detail.NORMAL: 1.0, Detail.VERBOSE: 0.5}


@dataclass(slots=True)
class Plan:
    """A finished plan: the response [img 8.1] and what it was made of.

    `ranked` are all files that were ranked, excluded ones too; `matches` the rules that match the task,
    `learnings` {id: text} of those in the pack, and `rules` and `segments` those in it. `stashed` are
    all segments that were looked at, by id. `answers` of models were known, and were not. `order` is how
    files were ranked, for another plan of the same task in the same moment.
    """

    response: PlanResponse
    ranking: Ranking
    pack: Pack
    intent: Intent
    ranked: tuple[RankedFile, ...]
    synced: Synced
    stages: dict[str, float] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    matches: tuple[RuleMatch, ...] = ()
    learnings: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[int, int] = (0, 0)
    rules: tuple[Rule, ...] = ()
    segments: tuple[ChosenSegment, ...] = ()
    stashed: Mapping[str, FoundSegment] = field(default_factory=dict)
    order: tuple[Ranking, SecondLook | None] | None = None


def without_models(planner: Planner) -> Planner:
    """Return a planner that goes by words and structure alone: `ml_mode` off."""
    return replace(planner, embedder=None, embedder_note="", recheck=None, search=None)


def rank_request(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    *,
    baseline: bool = False,
    progress: Progress | None = None,
) -> tuple[Ranking, SecondLook | None]:
    """Rank files as a request asks for it, with a second stage where one is wanted, or as the baseline does.

    Raises: StaleProject under `strict`; UsageError for something pinned or excluded that is not there; errors
    of the store and git.
    """
    started = time.perf_counter()
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
        from workbench.plan.baseline import baseline_files  # parsers of manifests, which no other plan needs

        ordered = baseline_files(workspace, ranking.intent.predicted, ranking.model)
        pinned = set(ranking.overrides.pinned).difference(found.path for found in ordered)
        left = (one for one in ranking.files if one.path in pinned)
        return replace(ranking, files=(*ordered, *left)), None
    ranking = lead_with_names(workspace, ranking)
    if not ranking.known or (request.ml_mode is not MlMode.FULL and planner.search is None):
        return ranking, None
    from workbench.plan.second_stage import look_again  # only where something else may be asked

    look = look_again(workspace, planner, request, ranking, started)
    return look.ranking, look


def lead_with_names(workspace: Workspace, ranking: Ranking) -> Ranking:
    """Return a ranking led by the kind of files that a task is about, else by what it writes by its name."""
    led = lead_with_kind(ranking.files, ranking.intent)
    if led is not ranking.files or not ranking.known:
        return replace(ranking, files=led)
    limits = workspace.limits.max_bytes
    sources = Sources(workspace.adapters.root, workspace.index, workspace.snapshot, limits)
    places = written_places(sources, ranking.intent)
    return replace(ranking, files=lead_with_written(led, places, ranking.model), written=places)


def plan(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    *,
    style: str = DEFAULT_STYLE,
    baseline: bool = False,
    progress: Progress | None = None,
    order: tuple[Ranking, SecondLook | None] | None = None,
) -> Plan:
    """Plan context for a task; with an `order` nothing is synced and ranked again.

    Raises: StaleProject under `strict`; UsageError for something pinned or excluded that is not there; errors
    of the store and git.

    With `baseline` the files are in the order of the layers their kind of task is routed to, which is what
    every ranking is compared with.
    """
    clock = time.perf_counter()
    if request.ml_mode is MlMode.OFF:
        planner = without_models(planner)
    order = order or rank_request(workspace, planner, request, baseline=baseline, progress=progress)
    ranking, again = order
    stages = {**again.stages} if again else {}
    left_out = dict.fromkeys(ranking.overrides.excluded, EXCLUDED)
    if request.received:
        left_out = dict.fromkeys(request.received, RECEIVED) | left_out
        ranking = replace(ranking, overrides=ranking.overrides.without(request.received))
    intent, ranked, synced, overrides = ranking.intent, ranking.files, ranking.synced, ranking.overrides
    known = ranking.known or baseline
    considered = ranked if known else tuple(one for one in ranked if one.path in overrides.pinned)
    about = frozenset[str]() if known else rules_about(workspace, matched_text(intent.task))
    ranking = replace(ranking, files=overrides.order_files(considered), known=known or bool(about))
    if not (ranking.known or _says_more(request)):
        return _empty_plan(workspace, planner, request, ranking, ranked, style)
    stages["sync"] = round(sum(synced.stages.values()), 3)
    stages["rank"] = round(_ms(clock) - sum(stages.values()), 3)
    clock = time.perf_counter()
    rules, query, matched = choose_rules(workspace, planner, request, ranking)
    if about:
        rules = only_about(rules, about, overrides.pinned)
    learned = learned_passages(workspace, planner, request, ranking, query)
    stages["rules"] = _ms(clock)
    clock = time.perf_counter()
    first = [*rule_passages(rules), *learned.passages]
    stashed = stashed_passages(workspace, planner, request, ranking, first)
    if stashed.asked:
        stages["stash"] = _ms(clock)
        clock = time.perf_counter()
    chances = needed_chances(ranking.model, ranking.files, overrides.pinned)
    own = own_chances(ranking.model, ranking.files, overrides.pinned)
    least = max(LEAST_CHANCE, request.least_chance)
    offered = project_candidates(workspace, planner, ranking, chances, STYLES[style], least)
    candidates = in_detail(offered.files, request.detail)
    if request.detail is not Detail.VERBOSE:
        may_be_shown = [one.path for one in candidates if len(one.offers) > 1]
        candidates = likely_text(candidates, likeliest_of(own, may_be_shown))
    stages["contents"] = _ms(clock)
    clock = time.perf_counter()
    root = str(workspace.rule_store().root)
    candidates = without_rule_files(candidates, rules, intent, root)
    passages = overrides.passages([*first, *stashed.passages])
    pack = compose(
        passages,
        candidates,
        request.token_budget,
        STYLES[style],
        planner.counter,
        mandatory_share=RULE_SHARE,
        head=brief_head(ranking, planner.confident, baseline=baseline),
        price=offered.price * _PRICES[request.detail],
        most=None if request.detail is Detail.VERBOSE else text_limit(offered.price, request.token_budget),
        passage_price=PRICE * _PRICES[request.detail],
        around=None
        if baseline or not known
        else describe_surroundings(
            workspace, planner, ranking, candidates, STYLES[style], loaded_lines(rules)
        ),
    )
    stages["pack"] = _ms(clock)
    dropped = [
        *left_out.items(),
        *((one.path, one.reason) for one in offered.unread),
        *(
            (one.rule.id, f"“{shorten(one.rule.rule, _NAMED_RULE)}” {visible_line(one.reason)}")
            for one in rules.dropped
        ),
        *learned.dropped,
        *stashed.left_out,
        *(
            (found.path, "ranked too low to be considered")
            for found in ranking.files[planner.read + planner.named :]
        ),
    ]
    segments = stashed.segments_in(pack.passages)
    by_path = {found.path: found for found in ranked}
    low = likeliest_of(own, _shown_paths(pack) or [one.path for one, _ in pack.files]) < planner.confident
    reasons = reasons_of(ranking)
    response = plan_response(
        pack,
        intent,
        cache_status=synced.cache_status,
        freshness=synced.freshness,
        layers=_layers(workspace, intent, [candidate.path for candidate, _ in pack.files]),
        ranked=by_path,
        reasons={one.path: reasons.of(by_path[one.path]) for one, _ in pack.files if one.path in by_path},
        chances={} if baseline else chances,
        segments=segments,
        dropped=dropped,
        degraded=(
            *missing_parts(workspace, planner, ranking.past),
            *matched.degraded,
            *(again.degraded if again else ()),
            *stashed.degraded,
        ),
        notes=[
            *_unfit(pack, dropped, overrides),
            *_notes(workspace, planner, ranking),
            *(again.notes if again else ()),
            *stashed.notes,
            *(matched.notes if planner.recheck else ()),
        ],
        timing={**synced.stages, **stages, "total": round(sum(stages.values()), 3)},
        low_confidence=low,
        confidence=None if baseline or low else plan_confidence(ranking, _shown_paths(pack)),
        known=ranking.known,
    )
    given = learned.learnings_in(pack.passages)
    packed = {passage.id for passage in pack.passages}
    used = tuple(one.rule for one in rules.selected if one.rule.id in packed)
    matches = tuple(matched.matches)
    return Plan(
        response,
        ranking,
        pack,
        intent,
        ranked,
        synced,
        stages,
        overrides,
        matches,
        learnings=given,
        answers=again.lookups if again else (0, 0),
        rules=used,
        segments=segments,
        stashed=stashed.found,
        order=order,
    )


def _says_more(request: PlanRequest) -> bool:
    """Whether a request says more of the work than its task does."""
    told = (request.pinned, request.feature, request.task_id, request.contexts, request.facts)
    return any((*told, request.scenario, request.step))


def _empty_plan(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    ranking: Ranking,
    ranked: tuple[RankedFile, ...],
    style: str,
) -> Plan:
    """Return the plan for a task that says nothing about the project: a line that says so."""
    rules = workspace.rulebook.rules
    absolute = count_everywhere(rules, planner.matcher.columns_of(rules))
    head = brief_head(ranking, planner.confident, absolute=absolute)
    pack = compose([], [], request.token_budget, STYLES[style], planner.counter, head=head)
    synced = ranking.synced
    stages = {"sync": round(sum(synced.stages.values()), 3)}
    response = plan_response(
        pack,
        ranking.intent,
        cache_status=synced.cache_status,
        freshness=synced.freshness,
        layers=(),
        dropped=[(path, EXCLUDED) for path in ranking.overrides.excluded],
        degraded=missing_parts(workspace, planner, ranking.past),
        notes=_notes(workspace, planner, ranking),
        timing={**synced.stages, "total": stages["sync"]},
        low_confidence=True,
        known=False,
    )
    return Plan(response, ranking, pack, ranking.intent, ranked, synced, stages, ranking.overrides)


def _shown_paths(pack: Pack) -> list[str]:
    return [one.path for one, offer in pack.files if offer.view.representation is not Representation.PATH]


def _layers(workspace: Workspace, intent: Intent, paths: Sequence[str]) -> list[Layer]:
    view = workspace.view
    positions = [view.index.positions[path] for path in paths if path in view.index.positions]
    return [layer for layer in route(intent.predicted) if positions and view.layers[layer][positions].any()]


def _notes(workspace: Workspace, planner: Planner, ranking: Ranking) -> list[str]:
    notes = [*workspace.adapters.notes, *ranking.synced.notes]
    if ranking.own is not None:
        shared = f"template of {ranking.own.sessions:,} sessions' prompts"
        notes.append(f"{shared}: its {ranking.own.words:,} words do not count")
    if ranking.synced.cache is CacheStatus.PARTIAL:
        notes.append(f"re-indexed before planning: {ranking.synced.reason}")
    notes.extend(meaning_notes(planner, ranking))
    notes.extend(filter(None, (ranking.note,)))
    if planner.matcher.failed:
        notes.append(planner.matcher.note)
    notes.extend(planner.embedder.notes if planner.embedder is not None else ())
    if workspace.scan_report.get("capped"):
        notes.append("the project has more files than are indexed; see `workbench status`")
    return notes


def _unfit(pack: Pack, dropped: Sequence[tuple[str, str]], overrides: Overrides) -> list[str]:
    """Return what was pinned and could not be packed, with the reason."""
    out = [f"{visible_line(one.file)}: {one.reason}" for one in pack.dropped if one.pinned]
    refused = [f"{visible_line(name)}: {reason}" for name, reason in dropped if name in overrides.pinned]
    return out + refused


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
