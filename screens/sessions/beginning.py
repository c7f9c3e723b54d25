"""How a session begins: it is asked for, and named by words of its task, so that nobody retypes an id."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from screens.base import SectionScreen
from screens.engine import BY, AppEngine
from screens.jobs import Job
from screens.widgets.dialogs import Ask
from workbench.errors import UsageError

_TITLE = "Begin a session"


def ask_name(section: SectionScreen, task: str, then: Callable[[str], None]) -> None:
    """Ask what an episode with a task is to be called; words of the task are written already."""

    def answered(name: str | None) -> None:
        if name is not None:
            then(name.strip())

    def ask(name: str) -> None:
        body = f"Its name, for `workbench episode end {name}`, and in the list of sessions."
        section.app.push_screen(Ask(_TITLE, body=body, value=name, validate=_wrong_name), answered)

    named = partial(name_episode, section.engine, task)
    section.ask("Naming the session", named, ask, group="name", leads=True)


def ask_task(section: SectionScreen, then: Callable[[str, str], None]) -> None:
    """Ask for the task of an episode, then for its name; hand over (task, name)."""

    def answered(task: str | None) -> None:
        if task is not None:
            ask_name(section, task, partial(then, task))

    body = "What is to be done? Edits and reads that name the session count for it."
    section.app.push_screen(
        Ask(_TITLE, body=body, placeholder="fix the login (#7)", validate=_wrong_task), answered
    )


def name_episode(engine: AppEngine, task: str, job: Job) -> str:
    """Return a name for an episode with a task that no session has. Raises: StoreError."""
    from workbench.entry.services.episodes import episode_service

    job.check()
    return episode_service(engine.root, engine.config, BY).free_name(task)


def begin_episode(engine: AppEngine, task: str, name: str, job: Job) -> str:
    """Start an episode and return its name. Raises: UsageError for one that is taken; StoreError."""
    from workbench.entry.services.episodes import episode_service

    job.check()
    return episode_service(engine.root, engine.config, BY).start(task, session_id=name)


def _wrong_task(text: str) -> str:
    return "" if text.strip() else "the task is empty"


def _wrong_name(text: str) -> str:
    from workbench.sessions.episodes_checks import session_id

    try:
        session_id(text.strip())
    except UsageError as error:
        return f"{error.message}. {error.hint}"
    return ""
