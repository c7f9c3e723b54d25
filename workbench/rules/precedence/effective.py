"""The rule files that an agent loads for a file, in its order, and those it leaves out, each with why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from workbench.records.rules import Activation
from workbench.rules.precedence.agents import IMPORT_DEPTH, PRECEDENCE
from workbench.rules.precedence.cases import LoadCase, LoadStep
from workbench.rules.precedence.tree import MOST_IMPORTED, RuleText, RuleTree

_ELSEWHERE: Final = "it is for another directory than the file's, or than where the session starts"
_READERS: Final = {"AGENTS.override.md": "codex", "CLAUDE.local.md": "claude"}


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A rule file that an agent loads. `text` is what it reads of it, cut where `cut` says so.

    `via` names the file that imports it, empty for one that the agent finds itself.
    """

    name: str
    when: Activation
    why: str
    found: RuleText
    text: str
    cut: bool = False
    via: str = ""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A rule file of an agent's formats that it does not load for the file, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """What an agent loads for a file, in its order, and what it leaves out, by name."""

    agent: str
    loaded: tuple[LoadedFile, ...]
    left_out: tuple[SkippedFile, ...]


def load_order(agent: str, case: LoadCase) -> LoadOrder:
    """Return what an agent loads for a file, by its own documentation (`agents`)."""
    precedence = PRECEDENCE[agent]
    walk = _Walk(agent, case.tree)
    for step in precedence.load(case):
        walk.take(step)
    for name in case.tree.names(*precedence.families):
        if name not in walk.known and not name.startswith("~/"):
            walk.skipped.setdefault(name, _why_unread(name, agent))
    for name, why in case.tree.refused.items():
        if name in case.tree.sources and case.tree.sources[name].format in precedence.families:
            walk.skipped[name] = f"it {why}"
    left = (SkippedFile(name, why) for name, why in sorted(walk.skipped.items()))
    return LoadOrder(agent, tuple(walk.loaded), tuple(left))


def _why_unread(name: str, agent: str) -> str:
    """Return why an agent reads a file nowhere, or not here."""
    last = name.rpartition("/")[2]
    if last == "AGENT.md":
        return "it looks for AGENTS.md, with an S"
    reader = _READERS.get(last, agent)
    return _ELSEWHERE if reader == agent else f"{PRECEDENCE[reader].title} alone reads it"


class _Walk:
    """What was loaded and left out so far."""

    def __init__(self, agent: str, tree: RuleTree) -> None:
        self.precedence = PRECEDENCE[agent]
        self.tree = tree
        self.loaded: list[LoadedFile] = []
        self.skipped: dict[str, str] = {}
        self.known: set[str] = set()
        self.resolved: dict[str, str] = {}
        self.imported = 0

    def take(self, step: LoadStep, via: str = "", depth: int = 0) -> None:
        """Load a file, unless it is loaded already or not there, and what it imports."""
        found = self.tree.find(step.name)
        if found is None and step.name in self.tree.refused:
            self.skipped[step.name] = f"it {self.tree.refused[step.name]}"
        if found is None or step.name in self.known:
            return
        if step.left_out:
            self.skipped.setdefault(step.name, step.left_out)
            return
        if not found.text.strip():
            self.skipped[step.name] = "it is empty"
            return
        first = self.resolved.setdefault(self.tree.resolve(step.name), step.name)
        if first != step.name:
            if step.when is not Activation.ALWAYS or self._loads_always(first):
                self.skipped.setdefault(step.name, f"it is the same file as {first}")
                return
            self.loaded = [file for file in self.loaded if file.name != first]
            self.skipped[first] = f"it is the same file as {step.name}, which is read at the start"
            self.resolved[self.tree.resolve(step.name)] = step.name
        self.known.add(step.name)
        self.skipped.pop(step.name, None)
        text, cut = _beginning(found, step.most)
        self.loaded.append(LoadedFile(step.name, step.when, step.why, found, text, cut, via))
        if self.precedence.imports:
            self._follow(step, depth)

    def _loads_always(self, name: str) -> bool:
        return any(file.when is Activation.ALWAYS for file in self.loaded if file.name == name)

    def _follow(self, step: LoadStep, depth: int) -> None:
        for one in self.tree.imports(step.name, anything=self.precedence.any_import):
            place = f"{step.name}:{one.line}"
            if not one.name:
                self.skipped[one.target] = f"it is imported by {place}, {one.why}"
            elif one.name in self.known:
                continue
            elif depth >= IMPORT_DEPTH:
                self.skipped[one.name] = f"it is imported by {place}, deeper than {IMPORT_DEPTH} imports"
            elif self.imported >= MOST_IMPORTED:
                self.skipped[one.name] = f"it is imported by {place}, after {MOST_IMPORTED} others"
            elif self.tree.find(one.name) is None:
                why = self.tree.refused.get(one.name, "is not there")
                self.skipped[one.name] = f"it is imported by {place}, and {why}"
            else:
                self.imported += 1
                why = f"imported in line {one.line} of {step.name}"
                self.take(LoadStep(one.name, step.when, why), step.name, depth + 1)


def _beginning(found: RuleText, most: int | None) -> tuple[str, bool]:
    """Return what is read of a file that may be cut after so many bytes, and whether it is."""
    if most is None or found.size <= most:
        return found.text, False
    return found.text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore"), True


@dataclass(frozen=True, slots=True)
class LoadReports:
    """What an agent's own reports say: how many sessions made any, and how many named each file.

    `starts` are the files that a session reported to have loaded at its start.
    """

    sessions: int
    files: Mapping[str, int]
    starts: frozenset[str] = frozenset()

    def unpredicted_files(self, order: LoadOrder) -> tuple[str, ...]:
        """Return the files that a session loaded at its start and the order does not, sorted."""
        return tuple(sorted(self.starts - {one.name for one in order.loaded}))


def count_reports(events: Iterable[tuple[str, str, str]]) -> LoadReports:
    """Return the reports of (session, file, reason) events; the reasons are those of Claude Code's hook."""
    sessions: dict[str, set[str]] = {}
    starts: set[str] = set()
    for session, file, reason in events:
        sessions.setdefault(file, set()).add(session)
        if reason == "session_start":
            starts.add(file)
    everyone: set[str] = set().union(*sessions.values())
    files = {file: len(those) for file, those in sorted(sessions.items())}
    return LoadReports(len(everyone), files, frozenset(starts))
