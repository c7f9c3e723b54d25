"""Evidence that a file matters for a task, one array per signal.

A signal is a non-negative float32 [n] over all files of the index, in the signal's own unit. Signals that do
not depend on the task (recency, frequency, fan-in, roles) are computed once per state in a `ProjectView`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.plan.intent import query_terms
from workbench.project.index import ProjectIndex
from workbench.project.layers import route
from workbench.project.postings import inverse_document_frequency
from workbench.records.plan import Intent, QueryType
from workbench.records.project import Role
from workbench.sessions.history import History, path_numbers
from workbench.text.tasks import clean_task, scope_of, split_head
from workbench.text.terms import parts, stem

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

ROLES = tuple(Role)
HALF_LIVES = (1.0, 3.0, 12.0, 50.0, 250.0)  # in tasks, newest first
SIMILAR_TASKS = 60

_TEST_AFFIX = re.compile(r"^(?:test|spec)_?|_?(?:tests?|specs?|unittest)$")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_CHANGELOG = re.compile(r"^(?:change(?:log|s)?|history|news|releases?|release[-_]notes?)\b", re.IGNORECASE)
_RISK = frozenset(
    stem(word)
    for word in "auth login session token password permission payment billing crypto security core".split()
)
_RISKY = re.compile("|".join(sorted(_RISK)))  # a stem begins every word it is the stem of

ROLE_CUES: dict[Role, frozenset[str]] = {
    Role.DOCS: frozenset(
        stem(word)
        for word in (
            "doc docs readme documentation changelog changes typo typos guide tutorial "
            "spelling faq wording manual"
        ).split()
    ),
    Role.TEST: frozenset(
        stem(word) for word in "test tests testing spec specs coverage flaky fixture unittest e2e".split()
    ),
    Role.CI: frozenset(
        stem(word)
        for word in "ci workflow workflows actions travis pipeline appveyor circleci dependabot".split()
    ),
    Role.BUILD: frozenset(
        stem(word)
        for word in (
            "bump deps dependency dependencies upgrade version release build package packaging "
            "cargo npm pip makefile cmake"
        ).split()
    ),
    Role.CONFIG: frozenset(
        stem(word)
        for word in "config lint linter eslint prettier ruff settings ignore editorconfig hook".split()
    ),
}


@dataclass(frozen=True, slots=True)
class ProjectView:
    """An index and a history with everything about them that no task changes.

    known: int64 [p] history path → file position or -1; pairs_*: the history's pairs whose file still exists
    recency: float32 [4, n], one row per half-life; stems, names, folders: where a word points
    """

    index: ProjectIndex
    history: History
    pairs_task: Int64
    pairs_file: Int64
    pair_weight: Float32
    recency: Float32
    frequency: Float32
    last_seen: Float32
    fix_share: Float32
    fan_in: Float32
    fan_out: Float32
    risk: Float32
    changelog: Float32
    roles: Int64
    size: Float32
    depth: Float32
    parents: tuple[str, ...]
    folder_of: Int64
    layers: dict[str, Float32]
    stems: Mapping[str, tuple[int, ...]]
    names: Mapping[str, tuple[int, ...]]
    folders: Mapping[str, tuple[int, ...]]
    places: Places


@dataclass(frozen=True, slots=True)
class Places:
    """What paths alone tell. float32 or int64 [n]; the mappings lead from a word to positions."""

    roles: Int64
    risk: Float32
    changelog: Float32
    depth: Float32
    top: Float32
    parents: tuple[str, ...]
    folder_of: Int64
    stems: Mapping[str, tuple[int, ...]]
    names: Mapping[str, tuple[int, ...]]
    folders: Mapping[str, tuple[int, ...]]


def view_project(
    index: ProjectIndex,
    history: History,
    *,
    touched: Sequence[str] = (),
    previous: ProjectView | None = None,
) -> ProjectView:
    """Precompute everything a task does not change.

    `touched` are paths with uncommitted edits: they count as a task newer than any other. What a `previous`
    view knows of the same paths is taken over.
    """
    count = index.count
    if previous is not None and previous.index.positions is index.positions:
        places = previous.places
    else:
        places = _places(index)
    known = path_numbers(history, index.positions)
    files = known[history.files] if len(history.files) else np.zeros(0, dtype=np.int64)
    keep = files >= 0
    pairs_file = files[keep]
    pairs_task = history.tasks[keep].astype(np.int64)
    weight = (1.0 / np.sqrt(np.maximum(history.sizes, 1))).astype(np.float32)[pairs_task]
    rows = [_total(pairs_file, weight * np.exp2(-pairs_task / half), count) for half in HALF_LIVES]
    last = np.full(count, np.inf, dtype=np.float64)
    np.minimum.at(last, pairs_file, pairs_task.astype(np.float64))
    for path in touched:
        position = index.positions.get(path)
        if position is not None:
            last[position] = 0.0
            for row in rows:
                row[position] += 1.0
    frequency = _total(pairs_file, np.ones(len(pairs_file), dtype=np.float32), count)
    fixes = _total(pairs_file, history.fixes[pairs_task].astype(np.float32), count)
    edges = index.edges
    return ProjectView(
        index=index,
        history=history,
        pairs_task=pairs_task,
        pairs_file=pairs_file,
        pair_weight=weight,
        recency=np.stack(rows) if rows else np.zeros((0, count), dtype=np.float32),
        frequency=np.log1p(frequency),
        last_seen=(1.0 / (1.0 + last / 5.0)).astype(np.float32),
        fix_share=(fixes / (frequency + 3.0)).astype(np.float32),
        fan_in=np.log1p(np.bincount(edges[:, 1], minlength=count)).astype(np.float32),
        fan_out=np.log1p(np.bincount(edges[:, 0], minlength=count)).astype(np.float32),
        risk=places.risk,
        changelog=places.changelog,
        roles=places.roles,
        size=(np.log1p(index.size) / 16.0).astype(np.float32),
        depth=places.depth,
        parents=places.parents,
        folder_of=places.folder_of,
        layers=_layer_membership(index, places, rows[2], edges),
        stems=places.stems,
        names=places.names,
        folders=places.folders,
        places=places,
    )


def _places(index: ProjectIndex) -> Places:
    numbers = {role: number for number, role in enumerate(ROLES)}
    stems, names, folders = _pointers(index)
    parents = tuple(path.rpartition("/")[0] for path in index.paths)
    places = {parent: number for number, parent in enumerate(dict.fromkeys(parents))}
    return Places(
        roles=np.asarray([numbers[role] for role in index.roles], dtype=np.int64),
        risk=np.asarray([_risk(path) for path in index.paths], dtype=np.float32),
        changelog=np.asarray(
            [bool(_CHANGELOG.match(path.rsplit("/", 1)[-1])) for path in index.paths], dtype=np.float32
        ),
        depth=np.asarray([path.count("/") for path in index.paths], dtype=np.float32) / 8.0,
        top=np.asarray([1.0 if "/" not in path else 0.0 for path in index.paths], dtype=np.float32),
        parents=parents,
        folder_of=np.asarray([places[parent] for parent in parents], dtype=np.int64),
        stems=stems,
        names=names,
        folders=folders,
    )


def _layer_membership(
    index: ProjectIndex, places: Places, recent: Float32, edges: NDArray[np.int32]
) -> dict[str, Float32]:
    """Each file's membership in each layer, float32 [n] in [0, 1]: by fan-in in L1-L3, by recency in L6."""
    count, roles = index.count, places.roles
    fan_in = np.log1p(np.bincount(edges[:, 1], minlength=count))
    rank = ((1.0 + fan_in) / (1.0 + fan_in.max(initial=0.0))).astype(np.float32)
    source = (roles == ROLES.index(Role.SOURCE)).astype(np.float32)
    tested = np.zeros(count, dtype=np.float32)
    tested[index.tests.ravel()] = 1.0
    return {
        "L0": places.top,
        "L1": source * rank,
        "L2": source * rank,
        "L3": source * rank * (np.asarray(index.lines) > 0),
        "L4": (roles == ROLES.index(Role.BUILD)).astype(np.float32),
        "L5": tested,
        "L6": (recent / max(float(recent.max(initial=0.0)), 1e-9)).astype(np.float32),
    }


def _total(positions: Int64 | NDArray[np.int32], weights: NDArray[np.floating], count: int) -> Float32:
    return np.bincount(positions, weights=weights, minlength=count).astype(np.float32)


def _risk(path: str) -> float:
    if not _RISKY.search(path.lower()):
        return 0.0
    words = {stem(piece) for piece in parts(path)}
    return 1.0 if words & _RISK else 0.0


def file_stem(path: str) -> str:
    """Return a file's bare name, lower-cased: `test_textArea.py` → textarea."""
    name = path.rsplit("/", 1)[-1]
    base = name.split(".", 1)[0] if not name.startswith(".") else name.lstrip(".").split(".", 1)[0]
    lowered = "_".join(parts(base))
    return _TEST_AFFIX.sub("", lowered).replace("_", "") or lowered.replace("_", "")


def _pointers(
    index: ProjectIndex,
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    stems: dict[str, list[int]] = {}
    names: dict[str, list[int]] = {}
    folders: dict[str, list[int]] = {}
    inside: dict[str, tuple[str, ...]] = {}
    for position, (path, living) in enumerate(zip(index.paths, index.alive.tolist(), strict=True)):
        if not living:
            continue
        folder, _, name = path.rpartition("/")
        stems.setdefault(file_stem(name), []).append(position)
        names.setdefault(name.lower(), []).append(position)
        keys = inside.get(folder)
        if keys is None:
            above = sorted(set(folder.split("/"))) if folder else []
            keys = inside[folder] = tuple("".join(parts(parent)) for parent in above)
        for key in keys:
            folders.setdefault(key, []).append(position)
    return (
        {key: tuple(found) for key, found in stems.items()},
        {key: tuple(found) for key, found in names.items()},
        {key: tuple(found) for key, found in folders.items()},
    )


@dataclass(frozen=True, slots=True)
class Query:
    """A task in the forms the signals need: whole and head terms, its words, its scope."""

    intent: Intent
    terms: dict[str, float]
    head_terms: dict[str, float]
    words: dict[str, float]
    scope: str


def prepare_query(intent: Intent) -> Query:
    """Derive the forms of a task that signals look at."""
    text = clean_task(intent.task)
    head, body = split_head(text)
    words: dict[str, float] = {}
    for part, weight in ((head, 1.0), (body, 0.4)):
        found = ["".join(parts(word)) for word in _WORD.findall(part)]
        for word in found:
            words[word] = max(words.get(word, 0.0), weight)
        for first, second in pairwise(found):
            words[first + second] = max(words.get(first + second, 0.0), weight * 0.9)
    return Query(
        intent=intent,
        terms=dict(intent.terms),
        head_terms=query_terms(head),
        words=words,
        scope=scope_of(head),
    )


def lexical_signals(view: ProjectView, query: Query) -> dict[str, Float32]:
    """BM25 and coverage of the task's terms in content, defined names and paths."""
    index = view.index
    signals: dict[str, Float32] = {}
    for field, b in (("body", 0.6), ("name", 0.5), ("path", 0.5)):
        signals[f"bm25_{field}"] = index.bm25(field, query.terms, b=b)
        signals[f"bm25_{field}_head"] = index.bm25(field, query.head_terms, b=b)
        signals[f"coverage_{field}"] = index.coverage(field, query.head_terms)
    for field in ("body", "name", "path"):
        signals[f"rarest_{field}"] = index.rarest(field, query.head_terms)
    exact = {term: weight for term, weight in query.terms.items() if term.startswith("=")}
    signals["symbol_defined"] = index.bm25("name", exact, b=0.2)
    signals["symbol_used"] = index.bm25("body", exact, b=0.5)
    return signals


def mention_signals(view: ProjectView, query: Query) -> dict[str, Float32]:
    """Paths, file names, folders and stack frames that the task names outright."""
    count = view.index.count
    path_named = np.zeros(count, dtype=np.float32)
    stem_named = np.zeros(count, dtype=np.float32)
    folder_named = np.zeros(count, dtype=np.float32)
    frame = np.zeros(count, dtype=np.float32)
    entities = query.intent.entities
    for path in entities.paths:
        for position, strength in _points_to(view, path):
            path_named[position] = max(path_named[position], strength)
    for order, (path, _, _) in enumerate(entities.frames):
        for position, strength in _points_to(view, path):
            frame[position] = max(frame[position], strength / (1.0 + 0.1 * order))
    for word, weight in query.words.items():
        found = view.stems.get(word)
        if found and len(word) > 2:
            stem_named[list(found)] = np.maximum(stem_named[list(found)], weight / len(found) ** 0.5)
        inside = view.folders.get(word)
        if inside and len(word) > 2:
            share = weight / np.log2(2.0 + len(inside))
            folder_named[list(inside)] = np.maximum(folder_named[list(inside)], share)
    scope = np.zeros(count, dtype=np.float32)
    for piece in re.split(r"[\s,/]+", query.scope):
        word = "".join(parts(piece))
        for table, strength in ((view.stems, 1.0), (view.folders, 0.7)):
            found = table.get(word) if word else None
            if found:
                scope[list(found)] = np.maximum(scope[list(found)], strength / np.log2(1.0 + len(found)))
    return {
        "path_named": path_named,
        "stem_named": stem_named,
        "folder_named": folder_named,
        "scope_named": scope,
        "frame": frame,
    }


def _points_to(view: ProjectView, path: str) -> list[tuple[int, float]]:
    """Return the files a written path may mean, with a strength in (0, 1]."""
    wanted = path.lower().strip("/").split("/")
    candidates = view.names.get(wanted[-1], ())
    scored: list[tuple[int, float]] = []
    for position in candidates:
        have = view.index.paths[position].lower().split("/")
        same = 0
        for ours, theirs in zip(reversed(have), reversed(wanted), strict=False):
            if ours != theirs:
                break
            same += 1
        scored.append((position, float(same)))
    if scored:
        best = max(strength for _, strength in scored)
        top = [position for position, strength in scored if strength == best]
        return [(position, 1.0 / len(top) ** 0.5) for position in top]
    module = path.lower().replace("::", ".").replace("/", ".").split(".")
    for depth in (0, 1):
        if len(module) > depth + 1:
            tail = "".join(parts(module[-1 - depth]))
            found = [
                position
                for position in view.stems.get(tail, ())
                if "".join(parts(module[-2 - depth]))
                in ["".join(parts(piece)) for piece in view.index.paths[position].lower().split("/")[:-1]]
            ]
            if found:
                return [(position, 0.7 / len(found) ** 0.5) for position in found]
    return []


def task_weights(view: ProjectView, terms: Mapping[str, float]) -> tuple[Float32, Float32]:
    """Return (similarity, association) of every past task to the query, float32 [tasks] each.

    similarity: BM25 of the messages, as a share of the query's own score; association: Σ idf(t) / (df(t) +
    2).
    """
    messages = view.history.messages
    size = view.history.size
    similarity = np.zeros(size, dtype=np.float32)
    association = np.zeros(size, dtype=np.float32)
    if not size:
        return similarity, association
    mean = max(float(messages.lengths.mean()), 1.0)
    best = 0.0
    for term, weight in terms.items():
        docs, counts = messages.posting(term)
        if not len(docs):
            continue
        idf = inverse_document_frequency(len(docs), size) * weight
        best += idf
        norm = 1.2 * (1 - 0.5 + 0.5 * messages.lengths[docs] / mean)
        similarity[docs] += idf * counts * 2.2 / (counts + norm)
        association[docs] += idf / (len(docs) + 2.0)
    return (similarity / np.float32(best) if best else similarity), association


def history_signals(view: ProjectView, query: Query, semantic: Float32 | None = None) -> dict[str, Float32]:
    """What past tasks like this one touched, and what has been worked on lately.

    semantic: optional float32 [tasks], cosine of the task to past messages, 0 where unknown.
    """
    count = view.index.count
    signals: dict[str, Float32] = {}
    age = np.exp2(-np.arange(view.history.size) / 1500.0).astype(np.float32)
    whole, association = task_weights(view, query.terms)
    head, _ = task_weights(view, query.head_terms)
    for name, similarity in (("affinity", whole), ("affinity_head", head)):
        signals[name] = _spread(view, _best(similarity) ** 2 * age)
    signals["affinity_best"] = _spread_max(view, head * age)
    signals["association"] = _spread(view, association * age)
    signals["affinity_folder"] = _by_folder(view, signals["affinity_head"])
    signals["affinity_role"] = _by_role(view, _best(whole) ** 2 * age)
    if semantic is not None:
        signals["affinity_semantic"] = _spread(view, _best(np.maximum(semantic - 0.2, 0)) ** 2 * age)
        signals["affinity_semantic_best"] = _spread_max(view, np.maximum(semantic, 0) * age)
    causal = np.zeros(view.history.size, dtype=np.float32)
    for reference in query.intent.entities.issue_refs:
        causal[list(view.history.issues.get(reference, ()))] = 1.0
    signals["causal"] = _spread(view, causal)
    for half, row in zip(HALF_LIVES, view.recency, strict=True):
        signals[f"recency_{half:g}"] = row
    signals["last_seen"] = view.last_seen
    signals["frequency"] = view.frequency
    signals["fix_share"] = view.fix_share
    assert all(len(signal) == count for signal in signals.values())
    return signals


def _best(similarity: Float32) -> Float32:
    if len(similarity) <= SIMILAR_TASKS:
        return similarity
    floor = np.partition(similarity, -SIMILAR_TASKS)[-SIMILAR_TASKS]
    return np.where(similarity >= floor, similarity, 0).astype(np.float32)


def _spread(view: ProjectView, weights: Float32) -> Float32:
    return _total(view.pairs_file, weights[view.pairs_task] * view.pair_weight, view.index.count)


def _by_folder(view: ProjectView, affinity: Float32) -> Float32:
    """Share a folder's affinity among its files: one without a past profits from its neighbours."""
    totals = np.bincount(view.folder_of, weights=affinity)
    sizes = np.maximum(np.bincount(view.folder_of), 1)
    return (totals / np.sqrt(sizes))[view.folder_of].astype(np.float32)


def _by_role(view: ProjectView, weights: Float32) -> Float32:
    """The share of similar past tasks that touched a file of this role, float32 [n] in [0, 1]."""
    total = float(weights.sum())
    if not total:
        return np.zeros(view.index.count, dtype=np.float32)
    shares = np.zeros(len(ROLES), dtype=np.float32)
    roles = view.roles[view.pairs_file]
    for number in range(len(ROLES)):
        touched = np.zeros(len(weights), dtype=np.bool_)
        touched[view.pairs_task[roles == number]] = True
        shares[number] = weights[touched].sum() / total
    return shares[view.roles]


def _spread_max(view: ProjectView, weights: Float32) -> Float32:
    best = np.zeros(view.index.count, dtype=np.float32)
    np.maximum.at(best, view.pairs_file, (weights[view.pairs_task] * view.pair_weight).astype(np.float32))
    return best


def role_signals(view: ProjectView, query: Query) -> dict[str, Float32]:
    """What kind of file it is, and whether the task speaks of that kind."""
    roles = view.roles
    cues = {stem(word) for word in _WORD.findall(split_head(clean_task(query.intent.task))[0].lower())}
    called = np.asarray([bool(cues & ROLE_CUES.get(role, frozenset())) for role in ROLES], dtype=np.float32)
    signals = {f"role_{role}": (roles == number).astype(np.float32) for number, role in enumerate(ROLES)}
    signals["role_called"] = called[roles]
    signals["role_uncalled"] = (
        (1.0 - called[roles]) if called.any() else np.zeros(len(roles), dtype=np.float32)
    )
    for role in (Role.DOCS, Role.TEST, Role.CI, Role.BUILD):
        number = ROLES.index(role)
        signals[f"called_{role}"] = (roles == number).astype(np.float32) * called[number]
    return signals


def structure_signals(view: ProjectView, query: Query) -> dict[str, Float32]:
    """Fan-in, fan-out, size, depth, risk."""
    return {
        "fan_in": view.fan_in,
        "fan_out": view.fan_out,
        "risk": view.risk,
        "changelog": view.changelog,
        "size": view.size,
        "depth": view.depth,
        "layer_match": layer_match(view, query.intent.predicted),
    }


def layer_match(view: ProjectView, kind: QueryType) -> Float32:
    """The mean membership in the layers this kind of task is routed to, float32 [n] in [0, 1]."""
    routed = route(kind)
    return np.asarray(np.mean([view.layers[layer] for layer in routed], axis=0), dtype=np.float32)


def neighbour_signals(view: ProjectView, seeds: Float32) -> dict[str, Float32]:
    """What is near the likely files: changed together, imports, tests, same folder, same stem.

    seeds: float32 [n], a probability-like mass on the files a first look found likely.
    """
    index, count = view.index, view.index.count
    mass = np.bincount(
        view.pairs_task, weights=seeds[view.pairs_file] * view.pair_weight, minlength=view.history.size
    )
    age = np.exp2(-np.arange(view.history.size) / 400.0)
    together = _total(view.pairs_file, (mass * age)[view.pairs_task] * view.pair_weight, count)
    own = _total(view.pairs_file, age[view.pairs_task] * view.pair_weight**2, count) * seeds
    together = np.maximum(together - own, 0)
    usage = np.expm1(view.frequency)
    signals = {
        "cochange": together,
        "cochange_lift": (together / np.sqrt(usage + 1.0)).astype(np.float32),
    }
    edges = index.edges
    indegree = np.maximum(np.bincount(edges[:, 1], minlength=count), 1)
    outdegree = np.maximum(np.bincount(edges[:, 0], minlength=count), 1)
    signals["imports_seed"] = _total(edges[:, 0], seeds[edges[:, 1]] / np.sqrt(indegree[edges[:, 1]]), count)
    signals["imported_by_seed"] = _total(
        edges[:, 1], seeds[edges[:, 0]] / np.sqrt(outdegree[edges[:, 0]]), count
    )
    tests = index.tests
    signals["tests_seed"] = _total(tests[:, 0], seeds[tests[:, 1]], count)
    signals["tested_by_seed"] = _total(tests[:, 1], seeds[tests[:, 0]], count)
    folder = np.zeros(count, dtype=np.float32)
    stems = np.zeros(count, dtype=np.float32)
    by_folder: dict[str, float] = {}
    for position in np.flatnonzero(seeds).tolist():
        parent = view.parents[position]
        by_folder[parent] = by_folder.get(parent, 0.0) + float(seeds[position])
        siblings = view.stems.get(file_stem(index.paths[position]), ())
        if 1 < len(siblings) <= 12:
            for sibling in siblings:
                if sibling != position:
                    stems[sibling] += seeds[position]
    if by_folder:
        folder = np.asarray([by_folder.get(parent, 0.0) for parent in view.parents], dtype=np.float32) - seeds
    signals["same_folder"] = np.maximum(folder, 0)
    signals["same_stem"] = stems
    return signals
