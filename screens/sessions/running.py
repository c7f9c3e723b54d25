"""What agents do now, as rows and lines: files that they were given or not, rules kept and broken, tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from screens.sessions.rows import OUTCOMES, SessionClock, head, source, span, when
from screens.sessions.story import FACT, FILE, TASK, StoryLine, branch_lines, task_lines
from screens.sessions.work import TracedSession
from workbench.records.episodes import ChangeKind, Episode, FileChange, Outcome, SessionRow, Trace
from workbench.records.plan import QueryType
from workbench.sessions.episodes_fold import state_of
from workbench.sessions.running import BROKEN, KEPT, QUIET, WAITING, WORKING, was_missed, was_opened
from workbench.text.counts import counted

if TYPE_CHECKING:
    from workbench.records.answers.usage import RunningFile, RunningRule, RunningSession

STATES: Final = {
    WORKING: ("▶", "bold $text-accent"),
    WAITING: ("‖", "bold $text-warning"),
    QUIET: ("◌", "$text-muted"),
}
_SOURCES: Final = {"claude": "claude_code"}
_VERDICTS: Final = {BROKEN: ("✗", "bold $text-error"), KEPT: ("✓", "bold $text-success")}
_UNJUDGED: Final = ("·", "$text-muted")
_TEXT: Final = 300  # characters


def _glyph(session: RunningSession) -> tuple[str, str]:
    """Return what says the state, or the outcome where that is known."""
    is_known = session.state == WAITING and session.outcome != Outcome.UNKNOWN
    return OUTCOMES.get(session.outcome, STATES[WAITING]) if is_known else STATES[session.state]


def running_cells(session: RunningSession, clock: SessionClock) -> tuple[Content | str, ...]:
    """Return the cells of the columns of sessions."""
    edits = sum(one.edited_at >= 0 for one in session.files)
    reads = sum(one.read_at >= 0 for one in session.files)
    return (
        shown(when(session.started_at, clock.now), "$text-muted"),
        source(_SOURCES.get(session.agent, session.agent)),
        Content.styled(*_glyph(session)),
        shown(head(session.task), limit=_TEXT),
        shown(f"{reads:,}"),
        shown(f"{edits:,}"),
        shown(f"{span(clock.now - session.last_at)} ago", STATES[session.state][1]),
    )


def row_of(session: RunningSession) -> SessionRow:
    """Return a running session as a row of the list: of its last prompt, where that is recorded."""
    episode = episode_of(session)
    counts = (len(episode.reads), len(episode.changes), len(session.files))
    return SessionRow(
        episode.session_id, session.task, episode.query_type, session.started_at, episode.ended_at,
        episode.outcome.value, episode.source, session.session_id, None, "", "", *counts, session.last_at,
    )  # fmt: skip


def key_of(session: RunningSession) -> str:
    """Return what outcomes of the session are recorded under."""
    return session.episode or session.session_id


def episode_of(session: RunningSession) -> Episode:
    """Return a running session as the episode of its last prompt."""
    return Episode(
        session_id=key_of(session),
        project_id="",
        task_text=session.task,
        task_fingerprint="",
        query_type=QueryType.UNKNOWN.value,
        started_at=session.started_at,
        ended_at=session.last_at if session.state == WAITING else None,
        outcome=Outcome(session.outcome),
        changes=tuple(
            FileChange(one.path, ChangeKind.MODIFIED) for one in session.files if one.edited_at >= 0
        ),
        reads=tuple(one.path for one in session.files if one.read_at >= 0),
        source=_SOURCES.get(session.agent, session.agent),
        parent_session=session.session_id,
        last_at=session.last_at,
    )


def trace_running(session: RunningSession, clock: SessionClock, there: Collection[str]) -> TracedSession:
    """Return a running session as the one under the cursor; `there` are files that exist."""
    episode = episode_of(session)
    state = state_of(episode.ended_at is not None, "", episode.last_at, clock.now, clock.timeout)
    return TracedSession(Trace(episode, ()), state, frozenset(there))


def running_lines(
    session: RunningSession, clock: SessionClock, folded: Collection[str], width: int
) -> list[StoryLine]:
    """Return the lines of a running session; of headings in `folded` only they themselves."""
    missed = [one for one in session.files if was_missed(one)]
    given = [one for one in session.files if one.given]
    opened = sum(map(was_opened, given))
    tokens = f"{session.tokens:,} tokens in {counted(session.calls, 'hand-over')}"
    broken = [rule for rule in session.rules if rule.verdict == BROKEN]
    others = [rule for rule in session.rules if rule.verdict != BROKEN]
    kept = sum(rule.verdict == KEPT for rule in session.rules)
    has = f"{len(session.rules):,}: {len(broken):,} broken, {kept:,} kept"
    return [
        *_now(session, clock),
        *_rules(broken),
        *task_lines(episode_of(session), width),
        *branch_lines("not given", _files(missed), folded, f"{counted(len(missed), 'file')} it needed"),
        *branch_lines("given", _files(given), folded, f"{len(given):,}, {opened:,} opened · {tokens}"),
        *branch_lines("rules", _rules(others), folded, has if session.rules else "0"),
        *_facts(session, clock),
    ]


def _now(session: RunningSession, clock: SessionClock) -> Iterator[StoryLine]:
    glyph, style = _glyph(session)
    word = session.state if glyph == STATES[session.state][0] else session.outcome
    ago = f"{span(clock.now - session.last_at)} ago"
    yield StoryLine(
        "now",
        TASK,
        Content.assemble(
            (f"{glyph} ", style),
            shown(word, style),
            "  ",
            shown(session.now or "nothing yet", limit=_TEXT),
        ),
        shown(ago, "$text-muted"),
        at=session.last_at,
    )


def _files(files: Sequence[RunningFile]) -> list[StoryLine]:
    return [StoryLine(f"file:{one.path}", FILE, _file(one), _how(one), one.path) for one in files]


def _file(file: RunningFile) -> Content:
    if file.edited_at >= 0:
        sign, style = "~", "bold $text-warning"
    elif file.read_at >= 0:
        sign, style = "✓", "$text-success"
    else:
        sign, style = "·", "$text-muted"
    return Content.assemble((f"{sign} ", style), shown(file.path, "" if was_opened(file) else "$text-muted"))


def _how(file: RunningFile) -> Content:
    did = [word for word, at in (("read", file.read_at), ("edited", file.edited_at)) if at >= 0]
    return shown(", ".join(did) or "not opened", "$text-muted")


def _rules(rules: Sequence[RunningRule]) -> list[StoryLine]:
    found = []
    for rule in rules:
        sign, style = _VERDICTS.get(rule.verdict, _UNJUDGED)
        said = rule.verdict if rule.verdict in _VERDICTS else "no check"
        text = Content.assemble((f"{sign} ", style), shown(rule.text, limit=_TEXT))
        found.append(StoryLine(f"rule:{rule.rule_id}", FACT, text, shown(said, style)))
    return found


def _facts(session: RunningSession, clock: SessionClock) -> Iterator[StoryLine]:
    facts = [("session", session.session_id), ("known by", session.known_by or "the command line")]
    if session.lost_at >= 0:
        facts.append(("context", f"compacted or cleared {span(clock.now - session.lost_at)} ago"))
    for name, text in facts:
        line = Content.assemble("  ", (f"{name:<9}", "$text-muted"), shown(text, "$text-muted"))
        yield StoryLine(f"fact/{name}", FACT, line)
