"""Whether a task says anything about this project: a plan for one that does not holds nothing.

What decides is how much of the task's meaning, each word weighed by its rarity here, is in names of
definitions and in what past tasks were called, how usual its words are there, and how likely the likeliest
file is. A logistic over these is fitted on tasks of public repositories against texts about anything else
(`python -m bench.relevance`, with what it refuses on repositories that it has not seen). A task that names a
path, a definition of several words, a stack frame, a known issue or a version is about the project whatever
else it says. Where words are not spaced, four characters in a row that are no kana of grammar stand for
several words: headings in Japanese and Chinese are names, though past tasks are seldom in that language.

Where few past tasks are known, a task is about the project as soon as it has a word of a definition, of a
path, of source or of a past task.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.places import data_file
from workbench.plan.signals import mention_signals, prepare_query
from workbench.plan.small_talk import is_chore, is_small_talk
from workbench.plan.view import ROLES, RankingView
from workbench.project.index import ProjectIndex
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent
from workbench.records.project import Role
from workbench.text.postings import inverse_document_frequency
from workbench.text.terms import word_terms

FEW_TASKS: Final = 100  # below so many past tasks their words say too little
MOST_ODDS: Final = 8.0
_VERSION = re.compile(r"(?<![\w.])v?\d+(?:\.\d+){1,3}(?![\w.])")
_SEVERAL_WORDS: Final = re.compile(r"[\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{4,}")  # katakana and Han
_SOURCE: Final = ROLES.index(Role.SOURCE)


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """What a project knows of a task. `features` are those of the logistic, by name.

    `named`: whether the task names a path, a definition, a frame, a known issue or a version; `met`: whether
    any of its words is in a name, a path, source or a past task; `past`: whether enough past tasks are known.
    """

    features: Mapping[str, float]
    named: bool
    met: bool
    past: bool


@lru_cache(maxsize=1)
def load_weights() -> Mapping[str, float]:
    """Return the weights of the logistic by feature; `offset` is that of the log-odds, threshold included."""
    text = data_file(__package__, "relevance.json").read_text(encoding="utf-8")
    return {str(name): float(value) for name, value in json.loads(text).items()}


def is_about(view: RankingView, intent: Intent, odds: NDArray[np.float64]) -> bool:
    """Whether a task is about a project; odds: float64 [n], log-odds of its files."""
    evidence = task_evidence(view, intent, odds)
    if evidence.named:
        return True
    if is_small_talk(intent.task.text):
        return False
    if not (evidence.met and evidence.past) or is_chore(intent.task.text):
        return evidence.met
    weights = load_weights()
    return weights["offset"] + sum(weights[name] * value for name, value in evidence.features.items()) > 0.0


def task_evidence(view: RankingView, intent: Intent, odds: NDArray[np.float64]) -> TaskEvidence:
    """Return what a project knows of a task; odds: float64 [n], log-odds of its files."""
    index, past = view.index, view.history
    files, tasks = max(int(index.alive.sum()), 1), max(past.size, 1)
    source = view.places.roles == _SOURCE
    query = prepare_query(intent)
    mentions = {name: float(signal.max(initial=0.0)) for name, signal in mention_signals(view, query).items()}
    named = (
        mentions["path_named"] > 0.0
        or mentions["frame"] > 0.0
        or any(term.startswith("=") and index.frequency("name", term) for term in query.terms)
        or _names_heading(index, intent.task.head)
        or any(reference in past.issues for reference in intent.entities.issue_refs)
        or _VERSION.search(intent.task.head) is not None
    )
    whole = in_names = in_tasks = in_source = as_names = 0.0
    usual_name = usual_task = 0.0
    words, met = 0, False
    for term, weight in query.terms.items():
        if term.isdigit():
            continue
        words += not term.startswith("=")
        held = index.holding("body", term)
        inside, names = int(held.sum()), index.frequency("name", term)
        messages = len(past.messages.posting(term)[0])
        sources = int((held & source).sum())
        met = met or bool(names or sources or messages or index.frequency("path", term))
        rarity = weight * inverse_document_frequency(inside, files)
        whole += rarity
        in_names += rarity * (names > 0)
        in_tasks += rarity * (messages > 0)
        in_source += rarity * sources / max(inside, 1)
        as_names += rarity * min(1.0, 2.0 * names / max(inside, 1))
        usual_name = max(usual_name, math.log1p(names) / math.log1p(files))
        usual_task = max(usual_task, math.log1p(messages) / math.log1p(tasks))
    whole = max(whole, 1e-9)
    likeliest = float(odds.max(initial=-MOST_ODDS))
    features = {
        "in_names": in_names / whole,
        "in_tasks": in_tasks / whole,
        "in_source": in_source / whole,
        "as_names": as_names / whole,
        "usual_name": usual_name,
        "usual_task": usual_task,
        "file_named": max(mentions["stem_named"], mentions["scope_named"]),
        "words": math.log1p(words),
        "likeliest": max(-MOST_ODDS, min(MOST_ODDS, likeliest)),
    }
    return TaskEvidence(features, named, met, past.size >= FEW_TASKS)


def _names_heading(index: ProjectIndex, text: str) -> bool:
    """Whether names of a file hold four characters in a row of a text in a script without spaces."""
    return any(
        index.holders("name", word_terms(run[start : start + 4]))
        for run in _SEVERAL_WORDS.findall(text)
        for start in range(len(run) - 3)
    )
