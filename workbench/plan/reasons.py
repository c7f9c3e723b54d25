"""Why a file is where it is, in sentences that are true of it: the same ones wherever a plan is shown.

A reason names what matched: words of the task, a definition, past tasks, a file that leads. Its strength is
what the features that measure this gave the file's score, with their share in the first look. What was given
for anything else, such as how recent, large or often changed a file is, cannot be named: it is a first
estimate, which never leads and is only said where it gave more than all that is named, or all there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from workbench.places import data_file
from workbench.records.dataclass import dataclass
from workbench.records.plan import RankedFile
from workbench.text.counts import plural
from workbench.text.sanitize import shorten, visible_line

if TYPE_CHECKING:
    from workbench.plan.evidence import FileEvidence
    from workbench.plan.planner import Ranking

ESTIMATE: Final = "a first estimate"
SHOWN_REASONS: Final = 3
_NAME: Final = 60  # characters of a definition or a word
_HEAD: Final = 60  # of a past task's first line
_SEED: Final = "seed"


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence on a file and how much of its score it is about."""

    text: str
    strength: float


class FileReasons:
    """The reasons of a ranking's files; each is looked up when it is asked for."""

    def __init__(self, evidence: FileEvidence, seeds: Mapping[str, float]) -> None:
        """Take what matched, and the weights of the first look by signal."""
        self._evidence, self._seeds = evidence, seeds

    def weigh(self, file: RankedFile, limit: int = SHOWN_REASONS) -> list[Reason]:
        """Return the strongest reasons of a file, what cannot be named last; none if nothing speaks for it.

        It is for files of the ranking's index.
        """
        position = self._evidence.view.index.positions.get(file.path)
        strengths, rest = self._strengths(file)
        if position is None:
            return []
        found: list[Reason] = []
        named = 0.0
        for kind in sorted(strengths, key=lambda one: (-round(strengths[one], 6), one)):
            strength = strengths[kind]
            if len(found) == limit or strength <= 0:
                break
            if text := SENTENCES[kind](self._evidence, position, file):
                named += strength
                found.append(Reason(text, round(strength, 4)))
            else:
                rest += strength
        if rest > 0 and rest > named and len(found) < limit:
            found.append(Reason(ESTIMATE, round(rest, 4)))
        return found

    def of(self, file: RankedFile, limit: int = SHOWN_REASONS) -> tuple[str, ...]:
        """Return the sentences of `weigh`."""
        return tuple(one.text for one in self.weigh(file, limit))

    def _strengths(self, file: RankedFile) -> tuple[dict[str, float], float]:
        """Return what was given for each kind of reason that is true of a file, and for all else."""
        given: dict[str, float] = {}
        rest = seed = 0.0
        for feature, value in file.contributions.items():
            kind = _kind_of(feature)
            if kind == _SEED:
                seed += value
            elif not kind:
                rest += value
            else:
                given[kind] = given.get(kind, 0.0) + value
        looks: dict[str, float] = {}
        for name, value in file.features.items():
            if (look := self._seeds.get(name, 0.0) * value) > 0:
                kind = _kind_of(name)
                looks[kind] = looks.get(kind, 0.0) + look
        whole = sum(looks.values())
        for kind, look in looks.items():
            if kind and seed > 0:
                given[kind] = given.get(kind, 0.0) + seed * look / whole
        unnamed = looks.get("", 0.0) / whole if whole and seed > 0 else 1.0
        return given, rest + seed * unnamed


def reasons_of(ranking: Ranking) -> FileReasons:
    """Return the reasons of a ranking's files: those first in its order that were not excluded lead."""
    from workbench.plan.evidence import LEADERS, FileEvidence  # numpy, which no screen needs to be drawn

    excluded = {*ranking.overrides.excluded}
    leaders = [one.path for one in ranking.files[: LEADERS + len(excluded)] if one.path not in excluded]
    evidence = FileEvidence(
        ranking.view,
        ranking.intent,
        leaders[:LEADERS],
        ranking.heads,
        lambda: ranking.past.cosines(ranking.vector, ranking.model.adapter),
    )
    return FileReasons(evidence, ranking.model.seeds)


def _quote(words: Iterable[str]) -> str:
    """Return words in quotes: `“session” and “cookie”`."""
    return " and ".join(f"“{shorten(word, _NAME)}”" for word in words)


def _file(evidence: FileEvidence, position: int) -> str:
    return visible_line(evidence.unique_name(position))


def _in_trace(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    line = evidence.frame_line(position)
    return "" if line is None else f"in the stack trace at line {line}"


def _named_path(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    path = evidence.named_path(position)
    return path and f"named in the task, “{visible_line(path)}”"


def _of_path(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    if name := evidence.matched_name(position):
        return f"its name, {_quote([name])}, is in the task"
    if words := evidence.matched_words(position, "path", 2):
        return f"its path has {_quote(one.word for one in words)}"
    folder = evidence.matched_folder(position)
    return folder and f"its folder, {_quote([folder])}, is in the task"


def _defines(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    found = evidence.matched_definition(position)
    if found is None:
        return ""
    name = shorten(found.name, _NAME)
    if found.whole:
        return f"defines {name}, which is in the task"
    return f"defines {name}, {found.matched} of its {plural(found.parts, 'part')} in the task"


def _contains(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    words = evidence.matched_words(position, "body", 2)
    found = " and ".join(f"{_quote([one.word])} (in {plural(one.files, 'file')})" for one in words)
    return found and f"contains {found}"


def _past(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    found = evidence.matched_tasks(position)
    if found is None:
        return ""
    tasks = f"changed in {plural(found.count, 'past task')} with {_quote(found.words)}"
    head = shorten(evidence.head(found.task), _HEAD)
    such = "such as " if found.count > 1 else ""
    return f"{tasks}, {such}“{head}”" if head else tasks


def _close(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    task, alike = evidence.closest_task(position), evidence.matched_tasks(position)
    if task is None or (alike is not None and alike.task == task):
        return ""  # its words are said
    head = shorten(evidence.head(task), _HEAD)
    from workbench.plan.evidence import CLOSEST

    return head and f"changed in “{head}”, one of the {CLOSEST} past tasks closest in meaning"


def _for_issue(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    issue = evidence.named_issue(position)
    return issue and f"changed for {visible_line(issue)} before"


def _companion(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    found = evidence.companion(position)
    if found is None:
        return ""
    other, common, tasks = found
    return f"changed with {_file(evidence, other)} in {common:,} of its {plural(tasks, 'past task')}"


def _beside(kind: str, form: str) -> Callable[[FileEvidence, int, RankedFile], str]:
    def sentence(evidence: FileEvidence, position: int, _: RankedFile) -> str:
        other = evidence.neighbour(position, kind)
        return "" if other is None else form.format(_file(evidence, other))

    return sentence


def _asked_role(evidence: FileEvidence, position: int, _: RankedFile) -> str:
    word = evidence.called_role(position)
    from workbench.plan.view import ROLES

    role = ROLES[int(evidence.view.places.roles[position])]
    return word and f"its kind, {role}, is asked for by {_quote([word])}"


def _rating_text(_: FileEvidence, __: int, file: RankedFile) -> str:
    return f"rated {file.features.get('reranking', 0.0):.0%} by the model of the second stage"


def _from_grepai(_: FileEvidence, __: int, file: RankedFile) -> str:
    return "found by grepai"


SENTENCES: Final[Mapping[str, Callable[[FileEvidence, int, RankedFile], str]]] = {
    "trace": _in_trace,
    "named": _named_path,
    "path": _of_path,
    "definition": _defines,
    "content": _contains,
    "past": _past,
    "meaning": _close,
    "issue": _for_issue,
    "together": _companion,
    "imports": _beside("imports", "imports {}"),
    "imported by": _beside("imported by", "imported by {}"),
    "tests": _beside("tests", "tests {}"),
    "tested by": _beside("tested by", "tested by {}"),
    "folder": _beside("folder", "same folder as {}"),
    "name": _beside("name", "named like {}"),
    "role": _asked_role,
    "reranking": _rating_text,
    "grepai": _from_grepai,
}
"""What writes each kind of reason for a file at a position: empty where it cannot be named."""

_SIGNALS: Final = {
    "trace": "frame",
    "named": "path_named",
    "path": "bm25_path coverage_path rarest_path stem_named folder_named scope_named family_named",
    "definition": "bm25_name coverage_name rarest_name symbol_defined place_name place_name_share"
    " place_name_exact place_named place_named_both",
    "content": "bm25_body coverage_body rarest_body symbol_used place_bm25 places_bm25 place_cover"
    " place_neighbour place_literal",
    "past": "affinity affinity_best alike_best association",
    "meaning": "affinity_semantic affinity_semantic_best",
    "issue": "causal",
    "together": "cochange cochange_lift",
    "imports": "imports_seed",
    "imported by": "imported_by_seed",
    "tests": "tests_seed",
    "tested by": "tested_by_seed",
    "folder": "same_folder",
    "name": "same_stem",
    "role": "role_called called_build called_ci called_docs called_test",
    "reranking": "reranking",
    "grepai": "grepai",
}
_KINDS: Final = {signal: kind for kind, signals in _SIGNALS.items() for signal in signals.split()}


def signal_of(feature: str) -> str:
    """Return the signal that a feature is a form of: `bm25_body_head.rank`, bm25_body."""
    return feature.split(".", 1)[0].removesuffix("_head")


@lru_cache(maxsize=4096)
def _kind_of(feature: str) -> str:
    """Return the kind of reason that a feature measures, `seed` for the first look, empty for none."""
    signal = signal_of(feature)
    return _SEED if signal == _SEED else _KINDS.get(signal, "")


@lru_cache(maxsize=1)
def _phrases() -> dict[str, str]:
    """Return the signals of the ranking as a person would say them."""
    text = data_file(__package__, "phrases.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@lru_cache(maxsize=4096)
def phrase(feature: str) -> str:
    """Return what a feature measures, in words; one without words of its own keeps its name."""
    base = signal_of(feature)
    if base.startswith("recency_"):
        base = "recency"
    phrases = _phrases()
    if base.startswith(("role_", "called_")) and base not in phrases:
        return f"the kind of file ({base.split('_', 1)[1]})"
    return phrases.get(base, feature.split(".", 1)[0])


def by_phrase(contributions: Mapping[str, float]) -> dict[str, float]:
    """Return what features gave, summed by what they measure: the largest first, the estimate last."""
    sums: dict[str, float] = {}
    for feature, value in contributions.items():
        words = phrase(feature)
        sums[words] = sums.get(words, 0.0) + value
    order = sorted(sums, key=lambda words: (words == ESTIMATE, -abs(round(sums[words], 6)), words))
    return {words: round(sums[words], 4) for words in order}
