"""A team whose members are cut off, killed, removed or without room in the middle of each operation.

Two projects share what they write over a real PostgreSQL. Each operation of `workbench store` runs behind a
network that is cut after some of its bytes, or is killed at some instant. Meanwhile people go on writing.
Afterwards the same command works; once both have exchanged, each has all that was acknowledged, once.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.chaos.disks import SKIPPED, fill, mount
from bench.chaos.project import Done, Suite, answer, broken, make_project, run
from bench.chaos.versions import start
from bench.fleet.proxy import Proxy

if TYPE_CHECKING:
    from tests.postgres_server import DatabaseServer

NAME: Final = "chaos"
USUAL: Final = 200_000  # bytes, of an operation that was not measured yet
SMALL: Final = "size=24m"


@dataclass(slots=True)
class Pair:
    """Two members: `here` is behind a network that fails, `there` is not. `kept` was acknowledged."""

    here: Path
    there: Path
    network: Proxy
    urls: dict[str, str]
    suite: Suite
    kept: set[str] = field(default_factory=set)
    purged: list[str] = field(default_factory=list)
    usual: dict[str, tuple[int, float]] = field(default_factory=dict)

    def must(self, root: Path, *words: str) -> Done:
        """Run a command that has to succeed."""
        done = run(root, [*words])
        if done.code or done.defect:
            self.suite.faults.append(f"{' '.join(words)[:80]}: {done.defect or done.err.strip()[-300:]}")
        return done

    def write(self, root: Path, text: str, *, offline: bool = False) -> None:
        """Add a rule; it is acknowledged whatever becomes of the network."""
        os.environ.update({"WORKBENCH_TEAM": "0"} if offline else {})
        try:
            if answer(self.must(root, "rules", "add", text, "--json")) is not None:
                self.kept.add(text)
        finally:
            os.environ.pop("WORKBENCH_TEAM", None)

    def compare(self, when: str) -> None:
        """Let both exchange, and hold each to have everything once, and nothing that was purged."""
        for root in (self.here, self.there, self.here):
            self.must(root, "store", "sync")
        for root in (self.here, self.there):
            listed = answer(run(root, ["rules", "list", "--json"])) or {"rules": []}
            there = Counter(one["rule"] for one in listed["rules"])
            wrong = [f"{text!r} {there[text]} times" for text in self.kept if there[text] != 1]
            wrong += [f"{text!r}, which was purged" for text in self.purged if there[text]]
            self.suite.faults += [f"{when}: {root.name} has {one}" for one in wrong]


Words = Callable[[Pair, int], list[str]]


def _purge(pair: Pair, number: int) -> list[str]:
    text = f"Secret {number} goes."
    pair.must(pair.here, "rules", "add", text)
    pair.must(pair.here, "store", "sync")
    pair.purged.append(text)
    return ["purge", "--secret", text, "--yes"]


OPERATIONS: Final[dict[str, Words]] = {
    "use": lambda pair, number: ["store", "use", pair.urls["here"], "--name", NAME],
    "sync": lambda pair, number: ["store", "sync"],
    "verify": lambda pair, number: ["store", "verify"],
    "copy": lambda pair, number: ["store", "copy", pair.urls["here"], _copy(pair), "--name", NAME],
    "status": lambda pair, number: ["store", "status"],
    "leave": lambda pair, number: ["store", "leave"],
    "members add": lambda pair, number: [*_members("add", f"m{number}"), *_owner(pair)],
    "members list": lambda pair, number: [*_members("list"), *_owner(pair)],
    "members remove": lambda pair, number: [*_members("remove", "idle"), *_owner(pair)],
    "purge": _purge,
}
"""What is tried, by its name; those of the owner go over the same network."""


def _copy(pair: Pair) -> str:
    return str(pair.here.with_name("copy"))


def _members(*words: str) -> list[str]:
    return ["store", "members", *words]


def _owner(pair: Pair) -> list[str]:
    return ["--url", pair.urls["owner"], "--name", NAME]


def teams(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Cut and kill each operation in turn as often as there is time, then what happens once."""
    from tests.postgres_server import DatabaseServer, NoServer

    suite = Suite("members of a team cut off, killed, removed, without room")
    with ExitStack() as stack:
        try:
            server = DatabaseServer()
        except NoServer as reason:
            suite.skipped = str(reason)
            return suite
        stack.callback(server.close)
        network = stack.enter_context(Proxy(server.directory / ".s.PGSQL.5432"))
        owner = server.make_database("team")
        pair = _pair(root, network, owner, suite)
        until, number = time.monotonic() + seconds, 0
        while number < len(OPERATIONS) or time.monotonic() < until:
            name = [*OPERATIONS][number % len(OPERATIONS)]
            _try(pair, name, number, dice)
            number += 1
        _removed_member(pair)
        _two_owners(root, server.make_database("other"), suite)
        _full_disks(pair, server)
        suite.faults += [f"{one.name}: {found}" for one in (pair.here, pair.there) for found in broken(one)]
    return suite


def _pair(root: Path, network: Proxy, owner: str, suite: Suite) -> Pair:
    there = root.with_name("there")
    make_project(there)
    pair = Pair(root, there, network, {"owner": _over(network, owner)}, suite)
    for member in ("here", "there", "idle"):
        done = pair.must(root, *_members("add", member), "--url", owner, "--name", NAME, "--json")
        pair.urls[member] = _over(network, str((answer(done) or {}).get("url", "")))
    for member, place in (("here", root), ("there", there)):
        # The other's network is never cut: it goes by the file of the server's socket.
        url = pair.urls[member] if member == "here" else _beside(pair.urls[member], owner)
        pair.must(place, "store", "use", url, "--name", NAME)
    pair.compare("at first")
    return pair


def _over(network: Proxy, url: str) -> str:
    """Return a URL that leads through a network."""
    return url.partition("?")[0].replace("@/", f"@127.0.0.1:{network.port}/")


def _beside(url: str, owner: str) -> str:
    """Return a URL that leads where the owner's does."""
    member, _, database = url.partition("@")
    return f"{member}@/{database.partition('/')[2]}?{owner.partition('?')[2]}"


def _try(pair: Pair, name: str, number: int, dice: random.Random) -> None:
    """Cut or kill one operation, go on writing, and see that it works once the network does."""
    suite, how = pair.suite, ("cut", "killed")[(number + number // len(OPERATIONS)) % 2]
    suite.tries += 1
    pair.write(pair.here, f"Here {number} holds.", offline=True)
    pair.write(pair.there, f"There {number} holds.")
    words = OPERATIONS[name](pair, number)
    bytes_, lasts = pair.usual.get(name, (USUAL // 100, 0.5))
    if how == "cut":
        pair.network.cut_after(dice.randrange(1, bytes_ + 1))
    done = run(pair.here, words, kill_after=dice.random() * lasts if how == "killed" else None)
    was_killed = done.code == -signal.SIGKILL
    suite.notes["killed" if was_killed else "refused" if done.code else "done"] += 1
    where = f"{name}, {how}, try {number}"
    if not was_killed and done.defect:
        suite.faults.append(f"{where}: {done.defect}")
    if done.code > 0 and ("error: " not in done.err or "hint: " not in done.err):
        suite.faults.append(f"{where}: exit {done.code} without a next step: {done.err.strip()[-300:]}")
    pair.write(pair.here, f"Here {number} was cut off.")
    pair.network.heal()
    before, began = pair.network.passed, time.monotonic()
    again = run(pair.here, words)
    pair.usual[name] = (max(pair.network.passed - before, 1), time.monotonic() - began)
    is_over = name in ("leave", "members remove", "members add", "purge")  # the first time was enough
    if again.defect or (again.code and not is_over):
        suite.faults.append(f"{where}, again: {again.defect or again.err.strip()[-300:]}")
    if name == "leave":
        pair.must(pair.here, "store", "use", pair.urls["here"], "--name", NAME)
    pair.compare(where)


def _removed_member(pair: Pair) -> None:
    """Remove a member: what they write stays with them until they are a member again."""
    suite = pair.suite
    suite.tries += 1
    pair.must(pair.here, *_members("remove", "there"), *_owner(pair))
    pair.write(pair.there, "Written by who was removed.")
    done = run(pair.there, ["store", "sync"])
    if not done.code or "hint: " not in done.err:
        suite.faults.append(f"removed member, sync: exit {done.code}, {done.err.strip()[-300:]}")
    pair.must(pair.here, *_members("add", "there"), *_owner(pair))
    pair.compare("a removed member is back")


def _two_owners(root: Path, owner: str, suite: Suite) -> None:
    """Let processes make the team's tables at once; all of them may be the first."""
    suite.tries += 1
    asked = [
        start(root, [*_members("add", f"o{number}"), "--url", owner, "--name", NAME]) for number in range(3)
    ]
    for one in asked:
        _, said = one.communicate(timeout=300)
        if one.returncode:
            suite.faults.append(f"several owners at once: {said.strip()[-300:]}")
    listed = run(root, [*_members("list"), "--url", owner, "--name", NAME, "--json"])
    found = {one["member"] for one in (answer(listed) or {"members": []})["members"]}
    if not {"o0", "o1", "o2"} <= found:
        suite.faults.append(f"several owners at once: members are {sorted(found)}")


def _full_disks(pair: Pair, server: DatabaseServer) -> None:
    """Leave first the server, then this machine without room; afterwards all is where it belongs."""
    suite = pair.suite
    with _small(server.directory / "small") as disk:
        if disk is None:
            suite.notes[f"not tried: {SKIPPED}"] += 1
            return
        suite.tries += 2
        _full_server(pair, disk, server.url)
    with _small(pair.here.with_name("small")) as disk:
        assert disk is not None
        third = disk / "third"
        make_project(third)
        pair.must(third, "store", "use", pair.urls["here"], "--name", NAME)
        for number in range(20):
            pair.must(pair.there, "stash", "add", f"Segment {number} is long. " + "word " * 2_000)
        ballast = fill(disk)
        done = run(third, ["store", "sync"])
        if done.defect or (done.code and "hint: " not in done.err):
            suite.faults.append(f"no room here: {done.defect or done.err.strip()[-300:]}")
        suite.notes["without room"] += 1
        ballast.unlink()
        pair.must(third, "store", "sync")
        pair.must(third, "store", "verify")


def _full_server(pair: Pair, disk: Path, url: Callable[[str], str]) -> None:
    import psycopg

    suite = pair.suite
    shutil.chown(disk, "nobody")
    with psycopg.connect(url("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
        connection.execute(b"CREATE DATABASE small TABLESPACE small")
    owner = _over(pair.network, url("small"))
    pair.must(pair.there, *_members("add", "here"), "--url", owner, "--name", NAME)
    ballast = fill(disk)
    long = [f"Segment {number} of a full server. " + os.urandom(9_000).hex() for number in range(8)]
    for text in long:
        pair.must(pair.there, "stash", "add", text)
    done = run(pair.there, ["store", "copy", ".", owner, "--name", NAME])
    if not done.code or "has no room" not in done.err or "hint: " not in done.err:
        suite.faults.append(f"a server without room: exit {done.code}, {done.err.strip()[-300:]}")
    suite.notes["without room"] += 1
    ballast.unlink()
    pair.must(pair.there, "store", "copy", ".", owner, "--name", NAME)
    with psycopg.connect(url("postgres"), autocommit=True) as connection:
        connection.execute(b"DROP DATABASE small WITH (FORCE)")
        connection.execute(b"DROP TABLESPACE small")


@contextmanager
def _small(place: Path) -> Iterator[Path | None]:
    """Have a small disk, None where none can be mounted."""
    place.mkdir(exist_ok=True)
    if not mount(place, SMALL):
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
