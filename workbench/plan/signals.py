"""Evidence that a file matters for a task, one array per signal.

A signal is a non-negative float32 [n] over all files of the index, in the signal's own unit. Signals that do
not depend on the task (recency, frequency, fan-in, roles) come from the `RankingView` as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from workbench.places import data_file
from workbench.plan.intent import query_terms, subject_of
from workbench.plan.view import HALF_LIVES, ROLES, RankingView, file_stem, total
from workbench.project.layers import route
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, QueryType
from workbench.records.project import Role
from workbench.sessions.history import History
from workbench.text.postings import inverse_document_frequency
from workbench.text.terms import count_shared, is_unspaced, parts, scope_of, stem

Float32 = NDArray[np.float32]

SIMILAR_TASKS = 60
ALIKE = 0.5
"""The Jaccard similarity of terms from which two tasks count as nearly of one fingerprint."""

_WEIGHED = 4  # queries: the terms of a task and of its head, which several ask with

_WORD = re.compile(r"[A-Za-z0-9_]+")

ROLE_CUES: Mapping[Role, frozenset[str]] = {
    Role(role): frozenset(map(stem, words.split()))
    for role, words in json.loads(
        data_file(__package__, "role_cues.json").read_text(encoding="utf-8")
    ).items()
}
"""The stems of words that call for files of a role."""


@dataclass(frozen=True, slots=True)
class Query:
    """A task in the forms the signals need: whole and head terms, its words, its scope."""

    intent: Intent
    terms: dict[str, float]
    head_terms: dict[str, float]
    words: dict[str, float]
    scope: str


@lru_cache(maxsize=4)
def prepare_query(intent: Intent) -> Query:
    """Derive the forms of a task that signals look at."""
    head, body = subject_of(intent.task.head), intent.task.body
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


def lexical_signals(view: RankingView, query: Query) -> dict[str, Float32]:
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


def mention_signals(view: RankingView, query: Query) -> dict[str, Float32]:
    """Paths, file names, folders and stack frames that the task names outright."""
    count = view.index.count
    path_named = np.zeros(count, dtype=np.float32)
    stem_named = np.zeros(count, dtype=np.float32)
    folder_named = np.zeros(count, dtype=np.float32)
    frame = np.zeros(count, dtype=np.float32)
    entities = query.intent.entities
    for path in entities.paths:
        for position, strength in points_to(view, path):
            path_named[position] = max(path_named[position], strength)
    for order, (path, _, _) in enumerate(entities.frames):
        for position, strength in points_to(view, path):
            frame[position] = max(frame[position], strength / (1.0 + 0.1 * order))
    for word, weight in query.words.items():
        found = view.places.stems.get(word)
        if found and len(word) > 2:
            stem_named[list(found)] = np.maximum(stem_named[list(found)], weight / len(found) ** 0.5)
        inside = view.places.folders.get(word)
        if inside and len(word) > 2:
            share = weight / np.log2(2.0 + len(inside))
            folder_named[list(inside)] = np.maximum(folder_named[list(inside)], share)
    scope = np.zeros(count, dtype=np.float32)
    for piece in re.split(r"[\s,/]+", query.scope):
        word = "".join(parts(piece))
        for table, strength in ((view.places.stems, 1.0), (view.places.folders, 0.7)):
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


def points_to(view: RankingView, path: str) -> list[tuple[int, float]]:
    """Return the files a written path may mean, with a strength in (0, 1]."""
    wanted = path.lower().strip("/").split("/")
    candidates = view.places.names.get(wanted[-1], ())
    shared = {
        position: count_shared(view.index.paths[position].lower().split("/")[::-1], wanted[::-1])
        for position in candidates
    }
    if shared:
        best = max(shared.values())
        top = [position for position, count in shared.items() if count == best]
        return [(position, 1.0 / len(top) ** 0.5) for position in top]
    module = path.lower().replace("::", ".").replace("/", ".").split(".")
    for depth in (0, 1):
        if len(module) > depth + 1:
            tail = "".join(parts(module[-1 - depth]))
            found = [
                position
                for position in view.places.stems.get(tail, ())
                if "".join(parts(module[-2 - depth]))
                in ["".join(parts(piece)) for piece in view.index.paths[position].lower().split("/")[:-1]]
            ]
            if found:
                return [(position, 0.7 / len(found) ** 0.5) for position in found]
    return []


def task_weights(history: History, terms: Mapping[str, float]) -> tuple[Float32, Float32]:
    """Return (similarity, association) of every past task to the query, float32 [tasks] each.

    similarity: BM25 of the messages, as a share of the query's own score; association: Σ idf(t) / (df(t) +
    2). Those of the latest queries are kept.
    """
    key = (*terms.items(),)
    found: tuple[Float32, Float32] | None = history.weighed.get(key)
    if found is None:
        if len(history.weighed) >= _WEIGHED:
            history.weighed.clear()
        found = history.weighed[key] = _weigh_tasks(history, terms)
    return found


def _weigh_tasks(history: History, terms: Mapping[str, float]) -> tuple[Float32, Float32]:
    messages, size = history.messages, history.size
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


def alike_tasks(history: History, terms: Collection[str]) -> Float32:
    """Return the Jaccard similarity of the terms of a task and of every past one, float32 [tasks] in [0, 1].

    Terms are what fingerprints are made of: tasks of one fingerprint have similarity 1.
    """
    messages, size = history.messages, history.size
    shared = np.zeros(size, dtype=np.float32)
    for term in terms:
        shared[messages.posting(term)[0]] += 1.0
    lengths = np.bincount(messages.docs, minlength=size)  # distinct terms of each
    return np.asarray(shared / np.maximum(lengths + len(terms) - shared, 1.0), dtype=np.float32)


def causal_tasks(history: History, query: Query) -> Float32:
    """Return how sure it is that past tasks are about the same thing, float32 [tasks] in [0, 1] [img 7.2].

    That is 1 where they name an issue of the task; else their similarity where they are nearly of its
    fingerprint (`ALIKE`), and that of the task they share an issue with where that is.
    """
    found = np.zeros(history.size, dtype=np.float32)
    if not history.size:
        return found
    likeness = alike_tasks(history, query.terms)
    alike = np.flatnonzero(likeness >= ALIKE)
    found[alike] = likeness[alike]
    if len(alike):
        near = set(alike.tolist())
        for tasks in history.issues.values():
            both = near.intersection(tasks)
            if both:
                found[list(tasks)] = np.maximum(found[list(tasks)], max(likeness[list(both)]))
    for reference in query.intent.entities.issue_refs:
        found[list(history.issues.get(reference, ()))] = 1.0
    return found


def history_signals(view: RankingView, query: Query, semantic: Float32 | None = None) -> dict[str, Float32]:
    """What past tasks like this one touched, and what has been worked on lately.

    semantic: optional float32 [tasks], cosine of the task to past messages, 0 where unknown.
    """
    count = view.index.count
    signals: dict[str, Float32] = {}
    age = _ages(view)
    whole, association = task_weights(view.history, query.terms)
    head, _ = task_weights(view.history, query.head_terms)
    for name, similarity in (("affinity", whole), ("affinity_head", head)):
        signals[name] = _spread(view, _best(similarity) ** 2 * age)
    signals["affinity_best"] = _spread_max(view, head * age, view.pair_weight)
    signals["association"] = _spread(view, association * age)
    signals["affinity_folder"] = _by_folder(view, signals["affinity_head"])
    signals["affinity_role"] = _by_role(view, _best(whole) ** 2 * age)
    if semantic is not None:
        signals.update(meaning_signals(view, semantic))
    signals["alike_best"] = _spread_max(view, alike_tasks(view.history, query.head_terms) * age)
    signals["causal"] = _spread(view, causal_tasks(view.history, query))
    for half, row in zip(HALF_LIVES, view.recency, strict=True):
        signals[f"recency_{half:g}"] = row
    signals["last_seen"] = view.last_seen
    signals["frequency"] = view.frequency
    signals["fix_share"] = view.fix_share
    assert all(len(signal) == count for signal in signals.values())
    return signals


def meaning_signals(view: RankingView, semantic: Float32) -> dict[str, Float32]:
    """What past tasks of like meaning touched; semantic: float32 [tasks], cosines of the task to them."""
    age = _ages(view)
    return {
        "affinity_semantic": _spread(view, _best(np.maximum(semantic - 0.2, 0)) ** 2 * age),
        "affinity_semantic_best": _spread_max(view, np.maximum(semantic, 0) * age, view.pair_weight),
    }


def _ages(view: RankingView) -> Float32:
    return np.exp2(-np.arange(view.history.size) / 1500.0).astype(np.float32)


def _best(similarity: Float32) -> Float32:
    if len(similarity) <= SIMILAR_TASKS:
        return similarity
    floor = np.partition(similarity, -SIMILAR_TASKS)[-SIMILAR_TASKS]
    return np.where(similarity >= floor, similarity, 0).astype(np.float32)


def _spread(view: RankingView, weights: Float32) -> Float32:
    return total(view.pairs_file, weights[view.pairs_task] * view.pair_weight, view.index.count)


def _by_folder(view: RankingView, affinity: Float32) -> Float32:
    """Share a folder's affinity among its files: one without a past profits from its neighbours."""
    totals = np.bincount(view.places.folder_of, weights=affinity)
    sizes = np.maximum(np.bincount(view.places.folder_of), 1)
    return (totals / np.sqrt(sizes))[view.places.folder_of].astype(np.float32)


def _by_role(view: RankingView, weights: Float32) -> Float32:
    """The share of similar past tasks that touched a file of this role, float32 [n] in [0, 1]."""
    total = float(weights.sum())
    if not total:
        return np.zeros(view.index.count, dtype=np.float32)
    shares = np.zeros(len(ROLES), dtype=np.float32)
    roles = view.places.roles[view.pairs_file]
    for number in range(len(ROLES)):
        touched = np.zeros(len(weights), dtype=np.bool_)
        touched[view.pairs_task[roles == number]] = True
        shares[number] = weights[touched].sum() / total
    return shares[view.places.roles]


def _spread_max(view: RankingView, weights: Float32, pair_weight: Float32 | float = 1.0) -> Float32:
    best = np.zeros(view.index.count, dtype=np.float32)
    np.maximum.at(best, view.pairs_file, (weights[view.pairs_task] * pair_weight).astype(np.float32))
    return best


def role_signals(view: RankingView, query: Query) -> dict[str, Float32]:
    """What kind of file it is, and whether the task speaks of that kind."""
    roles = view.places.roles
    cues = {stem(word) for word in _WORD.findall(query.intent.task.head.lower())}
    called = np.asarray([bool(cues & ROLE_CUES.get(role, frozenset())) for role in ROLES], dtype=np.float32)
    if _is_in_documents(view, query):
        called[ROLES.index(Role.DOCS)] = 1.0
    signals = {f"role_{role}": (roles == number).astype(np.float32) for number, role in enumerate(ROLES)}
    signals["role_called"] = called[roles]
    signals["role_uncalled"] = (
        (1.0 - called[roles]) if called.any() else np.zeros(len(roles), dtype=np.float32)
    )
    for role in (Role.DOCS, Role.TEST, Role.CI, Role.BUILD):
        number = ROLES.index(role)
        signals[f"called_{role}"] = (roles == number).astype(np.float32) * called[number]
    return signals


def _is_in_documents(view: RankingView, query: Query) -> bool:
    """Whether a task has words of a script without spaces, and a document has most of them."""
    words = {term: weight for term, weight in query.head_terms.items() if is_unspaced(term)}
    if not words:
        return False
    covered = view.index.coverage("body", words)
    best = int(covered.argmax()) if len(covered) else -1
    return best >= 0 and covered[best] > 0.0 and ROLES[view.places.roles[best]] is Role.DOCS


def structure_signals(view: RankingView, query: Query) -> dict[str, Float32]:
    """Fan-in, fan-out, size, depth, risk."""
    return {
        "fan_in": view.fan_in,
        "fan_out": view.fan_out,
        "risk": view.places.risk,
        "changelog": view.places.changelog,
        "size": view.size,
        "depth": view.places.depth,
        "layer_match": layer_match(view, query.intent.predicted),
    }


def layer_match(view: RankingView, kind: QueryType) -> Float32:
    """The mean membership in the layers this kind of task is routed to, float32 [n] in [0, 1]."""
    routed = route(kind)
    return np.asarray(np.mean([view.layers[layer] for layer in routed], axis=0), dtype=np.float32)


def neighbour_signals(view: RankingView, seeds: Float32) -> dict[str, Float32]:
    """What is near the likely files: changed together, imports, tests, same folder, same stem.

    seeds: float32 [n], a probability-like mass on the files a first look found likely.
    """
    index, count = view.index, view.index.count
    mass = np.bincount(
        view.pairs_task, weights=seeds[view.pairs_file] * view.pair_weight, minlength=view.history.size
    )
    age = np.exp2(-np.arange(view.history.size) / 400.0)
    together = total(view.pairs_file, (mass * age)[view.pairs_task] * view.pair_weight, count)
    own = total(view.pairs_file, age[view.pairs_task] * view.pair_weight**2, count) * seeds
    together = np.maximum(together - own, 0)
    usage = np.expm1(view.frequency)
    signals = {"cochange": together, "cochange_lift": (together / np.sqrt(usage + 1.0)).astype(np.float32)}
    edges = index.edges
    indegree = np.maximum(np.bincount(edges[:, 1], minlength=count), 1)
    outdegree = np.maximum(np.bincount(edges[:, 0], minlength=count), 1)
    signals["imports_seed"] = total(edges[:, 0], seeds[edges[:, 1]] / np.sqrt(indegree[edges[:, 1]]), count)
    signals["imported_by_seed"] = total(
        edges[:, 1], seeds[edges[:, 0]] / np.sqrt(outdegree[edges[:, 0]]), count
    )
    tests = index.tests
    signals["tests_seed"] = total(tests[:, 0], seeds[tests[:, 1]], count)
    signals["tested_by_seed"] = total(tests[:, 1], seeds[tests[:, 0]], count)
    folder = np.zeros(count, dtype=np.float32)
    stems = np.zeros(count, dtype=np.float32)
    by_folder: dict[str, float] = {}
    for position in np.flatnonzero(seeds).tolist():
        parent = view.places.parents[position]
        by_folder[parent] = by_folder.get(parent, 0.0) + float(seeds[position])
        siblings = view.places.stems.get(file_stem(index.paths[position]), ())
        if 1 < len(siblings) <= 12:
            for sibling in siblings:
                if sibling != position:
                    stems[sibling] += seeds[position]
    if by_folder:
        affinity = [by_folder.get(parent, 0.0) for parent in view.places.parents]
        folder = np.asarray(affinity, dtype=np.float32) - seeds
    signals["same_folder"] = np.maximum(folder, 0)
    signals["same_stem"] = stems
    return signals
