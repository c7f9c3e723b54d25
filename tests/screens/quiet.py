"""Waiting for an app in a test: until its event loop has nothing to do, not until the machine looks idle.

Textual's own wait sleeps in steps of 20 ms until the process used next to no processor time in one. That is
most of the time of a test that presses keys, and on a busy machine it can be over too soon. What it stands
for can be seen: nothing is ready to run on the loop, and no timer is due within such a step. What runs in
threads is not seen; so while a worker or a job runs, Textual's own wait goes on.

Frames are drawn once the loop is quiet, one for all that changed: nobody looks at those between. An app
without a terminal writes none, so that only widgets of our own render their lines, which may ask for rows;
those of Textual are drawn where a test looks at the screen. Style sheets are parsed once for all apps of a
run. What Textual looks up in classes for each message is looked up once, nothing is logged to a console that
nobody opened, and strips keep no caches, of which a test uses none. A toast stays for the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from time import monotonic
from types import CodeType, FunctionType, MethodType
from typing import Any, Final
from unittest.mock import patch
from weakref import WeakSet

from textual import Logger, _callback, _wait
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import AwaitMount, Widget

STEP: Final = _wait.SLEEP_GRANULARITY
_TOAST: Final = 3_600  # seconds: a busy machine takes longer over a key than a toast is shown
_TURNS = 3  # of the loop without anything to do
_WAIT_FOR_SCREEN: Final = Pilot._wait_for_screen
_REFRESH: Final = Screen._compositor_refresh
_PARSE: Final = Stylesheet._parse_rules
_PARSED: Final[dict[tuple[Any, ...], list[RuleSet]]] = {}
_JOIN: Final = Stylesheet.parse
_JOINED: Final[dict[tuple[Any, ...], list[RuleSet]]] = {}
_MAP: Final = vars(Stylesheet)["rules_map"].fget
_MAPPED: Final[dict[int, dict[str, list[RuleSet]]]] = {}
_HANDLERS: Final = MessagePump._get_dispatch_methods
_HANDLED: Final[dict[tuple[type, str, type], tuple[tuple[type, str], ...] | None]] = {}
_PARAMETERS: Final = _callback._count_parameters
_COUNTED: Final[dict[CodeType, int]] = {}
_UNDRAWN: Final[WeakSet[App[Any]]] = WeakSet()
_JOBS_APART: Final[ContextVar[bool]] = ContextVar("_JOBS_APART", default=False)


async def quiet(longest: float = 60.0) -> None:
    """Wait until nothing is ready to run on the loop and no timer is due soon, `longest` seconds at most."""
    loop: Any = asyncio.get_running_loop()
    end = monotonic() + longest
    turns = 0
    while monotonic() < end:
        if turns == _TURNS:
            if _JOBS_APART.get() or not draw():
                return
            turns = 0  # drawing may lead to something
        await asyncio.sleep(0)
        due = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        if loop._ready:
            turns = 0
        elif due and (left := min(due) - loop.time()) < STEP:
            turns = 0
            await asyncio.sleep(max(left, 0))
        else:
            turns += 1


def draw() -> bool:
    """Draw what changed in the running app; whether anything had."""
    app = active_app.get()
    if app not in _UNDRAWN:
        return False
    _UNDRAWN.discard(app)
    if app._running and app.screen_stack:
        with patch.object(Compositor, "render_update", render_widgets):
            _REFRESH(app.screen)
    return True


def render_widgets(
    compositor: Compositor,
    full: bool = False,
    screen_stack: list[Screen[Any]] | None = None,
    simplify: bool = False,
) -> None:
    """Have our widgets render the lines of a frame that changed; there is nothing to update."""
    visible_screen_stack.set(screen_stack or [])
    regions = list(compositor._dirty_regions)
    changed = Region.from_union(regions) if regions else Region()
    compositor._dirty_regions.clear()
    for widget, (region, clip) in compositor.visible_widgets.items():
        shown = region.intersection(clip)
        if shown and changed.overlaps(clip) and _is_ours(type(widget)):
            widget.render_lines(shown.translate(-region.offset))


@cache
def _is_ours(kind: type[Widget]) -> bool:
    return not kind.__module__.startswith("textual.") and not issubclass(kind, Screen)


def draw_later(screen: Screen[Any]) -> None:
    """Leave the frame of the topmost screen to `draw`; a screen below it hands on what changed."""
    app = screen.app
    if screen is app.screen:
        _UNDRAWN.add(app)
        screen._dirty_widgets.clear()
    else:
        _REFRESH(screen)


def parse_once(
    sheet: Stylesheet,
    css: str,
    read_from: Any,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """Parse a part of a style sheet, or return what parsing it with the same variables gave before."""
    variables = sheet._variables
    key = (css, read_from, is_default_rules, tie_breaker, scope, tuple(variables.items()))
    if key not in _PARSED:
        _PARSED[key] = _PARSE(sheet, css, read_from, is_default_rules, tie_breaker, scope)
    return _PARSED[key]


def join_once(sheet: Stylesheet) -> None:
    """Take the rules of all parts of a style sheet, joined as they were for the same parts before."""
    key = (tuple(sheet.source.items()), tuple(sheet._variables.items()))
    if key not in _JOINED:
        _JOIN(sheet)
        _JOINED[key] = sheet._rules
    sheet._rules, sheet._rules_map, sheet._require_parse = _JOINED[key], None, False


def map_once(sheet: Stylesheet) -> dict[str, list[RuleSet]]:
    """Return the rules by the names that they select; joined ones stay, so that one map serves all apps."""
    rules = sheet.rules
    if id(rules) not in _MAPPED:
        _MAPPED[id(rules)] = _MAP(sheet)
    return _MAPPED[id(rules)]


def find_handlers(
    pump: MessagePump, name: str, message: Message
) -> Iterable[tuple[type, Callable[[Message], Awaitable[Any]]]]:
    """Return the handlers of a message; which have its name is known where none is decorated."""
    key = (type(pump), name, type(message))
    if key not in _HANDLED:
        _HANDLED[key] = named_handlers(*key)
    named = _HANDLED[key]
    return _HANDLERS(pump, name, message) if named is None else call_named(pump, message, named)


def named_handlers(pump: type, name: str, message: type) -> tuple[tuple[type, str], ...] | None:
    """Return which classes of a kind of widget have a handler by name; None if any has a decorated one."""
    classes = [one for one in message.__mro__ if issubclass(one, Message)]
    if any(not vars(each).get("_decorated_handlers", {}).keys().isdisjoint(classes) for each in pump.__mro__):
        return None
    names = (f"_{name}", name)
    found = ((each, next((one for one in names if vars(each).get(one)), "")) for each in pump.__mro__)
    return tuple((each, one) for each, one in found if one)


def call_named(
    pump: MessagePump, message: Message, named: Iterable[tuple[type, str]]
) -> Iterator[tuple[type, Callable[[Message], Awaitable[Any]]]]:
    """Yield handlers, as long as none before said that it is enough."""
    for each, name in named:
        if message._no_default_action:
            break
        method = vars(each)[name]
        if not getattr(method, "_textual_on", None):
            yield each, method.__get__(pump, each)


def count_parameters(function: Callable[..., Any]) -> int:
    """Count the parameters of a function, once for all functions of the same code."""
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        if function.__func__.__code__.co_argcount and not hasattr(function.__func__, "__wrapped__"):
            return count_parameters(function.__func__) - 1
    elif isinstance(function, AwaitMount):
        return 0
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return _PARAMETERS(function)
    if function.__code__ not in _COUNTED:
        _COUNTED[function.__code__] = _PARAMETERS(function)
    return _COUNTED[function.__code__]


def log_nothing(log: Logger, *message: object, **values: object) -> None:
    """Log nothing: no console listens."""


class NoCache:
    """A cache that keeps nothing."""

    def get(self, key: object) -> None:
        """Return nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        """Keep nothing."""


NO_CACHE: Final = NoCache()


async def wait_for_idle(min_sleep: float = STEP, max_sleep: float = 1) -> None:
    """Wait as Textual does where a thread may hand something over, else until the loop is quiet."""
    if _threads_run(active_app.get()):
        await _wait.wait_for_idle(min_sleep, max_sleep)
    else:
        await quiet()


async def wait_for_screen(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """Wait until all widgets handled their messages; on a quiet loop they did, and none gets one more."""
    if _threads_run(pilot.app):
        return await _WAIT_FOR_SCREEN(pilot, timeout)
    with jobs_apart():
        await quiet(timeout)
    return pilot.app._exception is None


def _threads_run(app: App[Any]) -> bool:
    jobs = getattr(app, "jobs", None)
    busy = jobs is not None and jobs.busy and not _JOBS_APART.get()
    return busy or any(worker.is_running for worker in app.workers)


@contextmanager
def jobs_apart() -> Iterator[None]:
    """Do not wait for jobs in the block, and draw nothing: what comes after it does."""
    token = _JOBS_APART.set(True)
    try:
        yield
    finally:
        _JOBS_APART.reset(token)


@contextmanager
def waiting_for_the_loop() -> Iterator[None]:
    """Let the pilots of Textual wait for the loop, and frames be drawn soon enough to be waited for."""
    with (
        patch("textual.pilot.wait_for_idle", wait_for_idle),
        patch("textual.app.wait_for_idle", wait_for_idle),
        patch.object(Pilot, "_wait_for_screen", wait_for_screen),
        patch("textual.screen.UPDATE_PERIOD", STEP / 2.4),  # a frame is up to two periods away
        patch.object(Screen, "_compositor_refresh", draw_later),
        patch.object(Stylesheet, "_parse_rules", parse_once),
        patch.object(Stylesheet, "parse", join_once),
        patch.object(Stylesheet, "rules_map", property(map_once)),
        patch.object(RuleSet, "__hash__", object.__hash__),  # which is what its own does in Python
        patch.object(App, "NOTIFICATION_TIMEOUT", _TOAST),
        patch.object(MessagePump, "_get_dispatch_methods", find_handlers),
        patch("textual._callback._count_parameters", count_parameters),
        patch.object(Logger, "event", property(lambda log: log)),
        patch.object(Logger, "verbosity", lambda log, verbose: log),
        patch.object(Logger, "__call__", log_nothing),
        patch("textual.strip.FIFOCache", lambda size: NO_CACHE),
    ):
        yield
