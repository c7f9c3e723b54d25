"""The rules and learnings of a plan: matched with the task, selected within their shares, as passages.

Rules are matched in the task's context. Learnings are matched as rules are, by meaning where an embedding
model is ready and by words; reviewed ones come first, in a small share of the budget. A learning never binds:
it competes for its place, names its origin and whether anybody reviewed it, and every one that is left out
has a reason. Where nothing was ever learned, nothing is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import GitError
from workbench.plan.compose import FileCandidate
from workbench.plan.overrides import PINNED
from workbench.plan.planner import Planner, Ranking, Recheck
from workbench.plan.render import LEARNINGS, LOADED, BriefLine, Passage
from workbench.plan.rule_evidence import files_at_hand
from workbench.plan.semantics import TaskVector
from workbench.plan.workspace import Progress, Workspace
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, PlanRequest, TaskText
from workbench.records.rules import Authority, Rule
from workbench.rules.curation.versions import is_held_back
from workbench.rules.descriptions import FileNames, instruction
from workbench.rules.matching.context import RuleContext, agent_name, make_context
from workbench.rules.matching.filters import find_claims, find_disabled, match_columns_of
from workbench.rules.matching.match import MatchReport, RuleQuery
from workbench.rules.matching.search import match_message
from workbench.rules.matching.selection import DroppedRule, PlanRuleLimits, RuleSelection, select_rules
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.memory.learnings.keeping import Kept
    from workbench.memory.learnings.prompt import Candidate
    from workbench.ports import Float32

RULE_SHARE = 0.1
_ONE_BY_ONE = "its rules are packed one by one"
_ORDER = "orders the assistant about, and is out of force: `workbench rules lint`"
MATCHED_BODY = 500  # characters of a task's body whose words are compared with rules


def choose_rules(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking
) -> tuple[RuleSelection, RuleQuery, MatchReport]:
    """Return the rules that may enter a plan, what was asked, and how all matched. Raises: StoreError."""
    query, report = match_task(workspace, planner, request, ranking)
    rules = workspace.rulebook.rules
    limits = PlanRuleLimits(tokens=int(request.token_budget * RULE_SHARE), matched=planner.matching.limit)
    columns = planner.matcher.columns_of(rules) or match_columns_of(rules)
    overrides = ranking.overrides
    # A session that says what it has says what its agent loads, too.
    loaded: list[DroppedRule] = []
    if request.tool and not request.received:
        claims = [rules[row] for row in find_claims(columns, query)]
        claims += [match.rule for match in report.matches]
        loaded = _loaded_by_agent(
            claims, agent_name(request.tool), FileNames(str(workspace.rule_store().root))
        )
    loaded = [one for one in loaded if one.rule.id not in overrides.pinned]
    pinned = [(rule, PINNED) for rule in rules if rule.id in overrides.pinned] if overrides.pinned else []
    selection = select_rules(
        rules,
        report,
        query,
        limits,
        columns,
        pinned=pinned,
        excluded={*overrides.excluded, *(one.rule.id for one in loaded)},
        had={*request.received, *(one.rule.id for one in loaded)}.difference(overrides.pinned),
        duplicates=workspace.known_duplicates,
    )
    held = [
        DroppedRule(rules[row], _ORDER, with_file=True)
        for row in find_disabled(columns)
        if is_held_back(rules[row])
    ]
    return replace(selection, dropped=(*selection.dropped, *loaded, *held)), query, report


def _loaded_by_agent(rules: Sequence[Rule], agent: str, names: FileNames) -> list[DroppedRule]:
    """Return the rules that an agent loads by itself as dropped ones, with their files."""
    from workbench.rules.precedence.own_files import loaded_files  # only where an agent is named

    files = loaded_files(rules, agent, names)
    known = {rule.id: rule for rule in rules}
    return [
        DroppedRule(known[key], f"is in {file}, which {agent} loads by itself", with_file=True, loaded=file)
        for key, file in files.items()
    ]


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
    text = matched_text(ranking.intent.task)
    report = match_message(index, query, vector, planner.matching, text=text)
    return query, report if planner.recheck is None else _checked_again(report, planner.recheck, text)


def matched_text(task: TaskText) -> str:
    """Return what of a task is compared with rules and learnings."""
    return f"{task.head}\n{task.body[:MATCHED_BODY]}"


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


def request_context(workspace: Workspace, request: PlanRequest, ranking: Ranking) -> RuleContext:
    """Return the context of a request whose files are ranked. What git cannot answer is left out."""
    control = workspace.adapters.control
    head = None
    if control is not None:
        try:
            head = control.head()
        except GitError:
            head = None  # the sync reports it
    return make_context(
        paths=files_at_hand(ranking),
        changed=None if control is None else workspace.uncommitted,
        head=head,
        query_type=ranking.intent.predicted.value,
        tool=request.tool,
        scenario=request.scenario,
        step=request.step,
        contexts=request.contexts,
        facts=dict(request.facts),
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
                text=instruction(rule),
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


def loaded_lines(selection: RuleSelection) -> list[BriefLine]:
    """Return how many rules of each file apply that the agent loads by itself, a line for each file."""
    counts = Counter(one.loaded for one in selection.dropped if one.loaded)
    return [
        BriefLine(
            LOADED,
            file,
            f"{plural(count, 'rule')} of {visible_line(file)} {'apply' if count > 1 else 'applies'}; "
            "your agent loads it",
        )
        for file, count in sorted(counts.items())
    ]


def without_rule_files(
    candidates: Sequence[FileCandidate], selection: RuleSelection, intent: Intent, root: str
) -> list[FileCandidate]:
    """Return the candidates with the files excluded whose rules go into the pack by themselves, or must not.

    A file that is pinned or that the task names is packed all the same: it may be what is to be changed.
    """
    names = FileNames(root)
    why: dict[str, str] = {}
    for rule, reason in (
        *((chosen.rule, _ONE_BY_ONE) for chosen in selection.selected),
        *((dropped.rule, _ONE_BY_ONE) for dropped in selection.dropped if dropped.repeats),
        *(
            (dropped.rule, f"one of its rules {dropped.reason}")
            for dropped in selection.dropped
            if dropped.with_file
        ),
    ):
        for name in names.of(rule):
            why.setdefault(name, f"a rule file: {reason}")
    for path in intent.entities.paths:
        why.pop(path, None)
    return [
        replace(one, excluded=why[one.path]) if one.path in why and not one.pinned else one
        for one in candidates
    ]


SHARE = 0.12
"""Of a plan's budget: enough for a handful, and files stay what a plan is for."""

UNREVIEWED = 3
_REVIEWED_WORTH = 0.5
_UNREVIEWED_WORTH = 0.15
_OWN_TASK = 0.6
LEAST_OVERLAP = 0.25
LEAST_SHARED = 2
_FULL_OVERLAP = 0.6


@dataclass(frozen=True, slots=True)
class Learned:
    """Learnings for a plan as passages, and (id, reason) of those left out; `texts` are their texts by id."""

    passages: tuple[Passage, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def learnings_in(self, passages: Sequence[Passage]) -> dict[str, str]:
        """Return {id: text} of the learnings among the passages of a finished pack."""
        return {one.id: self.texts[one.id] for one in passages if one.id in self.texts}


NOTHING = Learned()


def learned_passages(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking, query: RuleQuery
) -> Learned:
    """Return the learnings that may enter a plan, in the order of their claims; `query` is that of its rules.

    Raises: StoreError.
    """
    kept = workspace.learnings()
    if kept is None or not kept.known.live:
        return NOTHING
    from workbench.memory.learnings.prompt import candidates  # where there is something to select

    tasks = _tasks(request, ranking.intent.entities.issue_refs)
    if query.context is None:
        query = replace(query, context=request_context(workspace, request, ranking))
    vector = partial(_vector, planner, ranking)
    relevance, whys = learning_relevance(planner, ranking.intent.task, vector, query, kept)
    columns = kept.known.columns
    for identifier in columns.of_tasks(tasks):
        relevance[identifier] = max(relevance.get(identifier, 0.0), _OWN_TASK)
    overrides = ranking.overrides
    relevance |= {columns.ids[row]: 1.0 for row in columns.rows(overrides.pinned).tolist()}
    found = candidates(
        kept.known, workspace.adapters.now(), feature=request.feature, tasks=tasks, relevance=relevance
    )
    claims = [one for one in found.candidates if one.learning.id not in overrides.excluded]
    claims.sort(key=lambda one: one.learning.id not in overrides.pinned)
    share = int(request.token_budget * SHARE)
    passages, dropped = _admit(claims, planner, share, whys, pinned=overrides.pinned)
    left_out = tuple(one for one in found.left_out if one[0] not in overrides.excluded)
    texts = {one.learning.id: one.learning.text for one in found.candidates}
    return Learned(tuple(passages), (*dropped, *left_out), texts)


def learning_relevance(
    planner: Planner, task: TaskText, vector_of: Callable[[], Float32 | None], query: RuleQuery, kept: Kept
) -> tuple[dict[str, float], dict[str, str]]:
    """Return {id: relevance in [0, 1]} of the learnings about a task, and why, by words and by meaning.

    `vector_of` returns the unit vector of the task, float32 [d], or None where no model is ready.
    """
    from workbench.rules.matching.filters import reject
    from workbench.rules.matching.lexical import shared_words, term_overlap
    from workbench.rules.matching.search import match_message

    text = matched_text(task)
    relevance: dict[str, float] = {}
    whys: dict[str, str] = {}
    overlap, shared = term_overlap(kept.words, text)
    for row in ((overlap >= LEAST_OVERLAP) & (shared >= LEAST_SHARED)).nonzero()[0].tolist():
        rule = kept.rules[row]
        if not reject(rule, query):
            relevance[rule.id] = min(1.0, float(overlap[row]) / _FULL_OVERLAP)
            whys[rule.id] = f"shares {', '.join(shared_words(rule, text))} with the task"
    vector = vector_of()
    if vector is not None:
        index = planner.learned.index(kept.rules, kept.words, planner.embedder)
        if index.vectors is not None:
            for match in match_message(index, query, vector, planner.matching, text=text).matches:
                if match.relevance > relevance.get(match.rule.id, 0.0):
                    relevance[match.rule.id], whys[match.rule.id] = match.relevance, match.why
    return relevance, whys


def _vector(planner: Planner, ranking: Ranking) -> Float32 | None:
    vector = ranking.vector.get()
    return TaskVector(planner.embedder, ranking.intent.task).get() if vector is None else vector


def _tasks(request: PlanRequest, references: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks a request is about: the one it names, and the issues its text does."""
    named = [] if request.task_id is None else [request.task_id]
    return tuple(dict.fromkeys((*named, *references, *(one.lstrip("#") for one in references))))


def _admit(
    claims: Sequence[Candidate],
    planner: Planner,
    tokens: int,
    whys: Mapping[str, str],
    *,
    pinned: Sequence[str] = (),
) -> tuple[list[Passage], list[tuple[str, str]]]:
    from workbench.memory.learnings.prompt import escape_frame, source_of

    passages: list[Passage] = []
    dropped: list[tuple[str, str]] = []
    left, unreviewed = tokens, 0
    for place, claim in enumerate(claims):
        one = claim.learning
        text, origin = escape_frame(one), source_of(one, None)
        cost = planner.counter.count(f"- ({origin}) {text}\n")
        wanted = one.id in pinned
        if not wanted and not one.reviewed and unreviewed >= UNREVIEWED:
            dropped.append((one.id, f"more than {UNREVIEWED} learnings that nobody reviewed"))
            continue
        if not wanted and cost > left:
            dropped.append((one.id, f"its {cost} tokens exceed the {tokens} of the learnings"))
            continue
        left -= cost
        unreviewed += not one.reviewed
        worth = (_REVIEWED_WORTH if one.reviewed else _UNREVIEWED_WORTH) * claim.score
        passages.append(
            Passage(
                id=one.id,
                section=LEARNINGS,
                text=text,
                origin=origin,
                why="; ".join(
                    filter(None, (claim.why, PINNED if wanted else whys.get(one.id, "about the same task")))
                ),
                score=claim.score,
                utility=worth / (1.0 + 0.1 * place),
            )
        )
    return passages, dropped
