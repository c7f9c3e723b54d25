"""Replays that are started here: asked for, run as the program runs them, followed, kept when cancelled."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from textual.timer import Timer

from screens.headless import command_line
from screens.jobs import Failure, Job
from screens.replay import asking
from screens.replay.asking import Ended
from screens.replay.following import LivePanel, SoFar, begin, further
from screens.replay.gates_view import gates_sentence
from screens.replay.place import RUN, RUNS, ReplayBase
from screens.replay.wish import SystemChoice, Wish, arguments, system_choices

_LOOK_EVERY: Final = 0.5  # seconds between two looks at what a replay has reached


class StartsReplays(ReplayBase):
    """Starts one replay at a time; `wish` is what was asked for last."""

    def __init__(self) -> None:
        super().__init__()
        self.wish = Wish()
        self._replay: Job | None = None
        self._watch: Timer | None = None
        self._benchmark = ""

    def action_new(self) -> None:
        """Ask what to replay."""
        if self._replay is not None and not self._replay.over:
            self.bench.tell("a replay is running: ctrl+c cancels it", severity="warning")
            return

        def work(job: Job) -> tuple[tuple[SystemChoice, ...], int]:
            return system_choices(), self.engine.config.plan.budget

        self.ask("Looking at systems", work, self._ask_wish, quiet=True)

    def _ask_wish(self, found: tuple[tuple[SystemChoice, ...], int]) -> None:
        from screens.replay.new_dialog import NewReplay

        if self.is_current:
            self.app.push_screen(NewReplay(found[0], self.wish, found[1], self.engine.root), self._wished)

    def _wished(self, wish: Wish | None) -> None:
        if wish is None:
            return
        self.wish = wish
        words = arguments(wish)
        self.query_one(LivePanel).start(command_line(words))
        self.show_view(RUNS)
        root = self.engine.root

        def work(job: Job) -> Ended:
            return asking.start_replay(root, words, wish.elsewhere, wish.dataset, job)

        self._replay = self.ask(
            "Replaying",
            work,
            partial(self._replayed, words),
            group="replay",
            writes=True,
            failed=partial(self._failed, words),
            stopped=partial(self._stopped, words),
        )
        self._follow()

    def _follow(self) -> None:
        """Look now and then at what the replay has reached."""
        if self.state is None:
            return
        rows = self.state / "replay" / "rows"
        self.ask("Looking", lambda job: begin(rows), self._reached, group="follow", quiet=True)
        self._watch = self.set_interval(_LOOK_EVERY, partial(self._look, rows))

    def _look(self, rows: Path) -> None:
        job = self._replay
        if job is None or job.over:
            return
        live = self.query_one(LivePanel)
        live.update_state(job.stage, job.done, job.total)
        before = live.so_far
        self.ask("Looking", lambda job: further(rows, before), self._reached, group="follow", quiet=True)

    def _reached(self, so_far: SoFar) -> None:
        self.query_one(LivePanel).update_figures(so_far)

    def _over(self) -> None:
        if self._watch is not None:
            self._watch.stop()
        self._watch = None
        self.query_one(LivePanel).stop()

    def _replayed(self, words: list[str], ended: Ended) -> None:
        self._over()
        if ended.text:
            self.bench.log_action(words, "rules benchmark")
            self._benchmark = ended.text
            self.show_benchmark()
            return
        told = gates_sentence(ended.gates) if ended.gates else ""
        self.bench.log_action(words, told or "done")
        self.bench.tell(f"replayed: {told}" if told else "replayed")
        if ended.gates:
            self.place.gates[ended.name] = ended.gates
        self.load()
        if self.place.view == RUNS:
            self.open_run(ended.name, RUN)

    def show_benchmark(self) -> None:
        """Show what a rules benchmark printed, once this section is in front."""
        from screens.widgets.details import Details

        if self._benchmark and self.is_current:
            self.app.push_screen(Details("Rules benchmark", self._benchmark))
            self._benchmark = ""

    def _failed(self, words: list[str], failure: Failure) -> None:
        self._over()
        self.bench.log_action(words, failure.message, failed=True)
        self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="error")

    def _stopped(self, words: list[str]) -> None:
        """List what the cancelled replay has kept."""
        self._over()
        self.bench.log_action(words, "cancelled; what was done is kept", failed=True)
        self.load()
