"""The team of a project from the command line and for what runs long: joined, exchanged with, and left."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from store.purge import remains
from store.team import members, team
from store.team.replicas import own_machine
from tests.entry.cli.conftest import Ran, Run
from tests.store.team.memory_server import MemoryServer, MemoryTeam, cut
from workbench.curation import folding
from workbench.entry.hooks.handlers import respond
from workbench.entry.os import background
from workbench.entry.project import find_state
from workbench.entry.services import team as service
from workbench.entry.services import team_exchange as exchange
from workbench.entry.services.opening import host_project, listen_to_team
from workbench.errors import TeamError

URL = "postgresql://{}:secret@localhost/team"

Say = Callable[..., Ran]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> MemoryTeam:
    """Return a server that URLs lead to, for the member that they name."""
    made = MemoryTeam()

    def connect(url: str, project: str) -> MemoryServer:
        team.require_url(url)
        made.fail(f"connect {project}")
        made.fail("connect")
        return made.connect(url.partition("//")[2].partition(":")[0])

    monkeypatch.setattr(team, "open_team_server", connect)
    monkeypatch.setattr(members, "open_team_server", connect)
    return made


@pytest.fixture
def pair(project: Any, tmp_path: Path, run: Run, server: MemoryTeam) -> tuple[Say, Say]:
    """Return what runs the program in the projects of two members, clones of one repository."""
    project.git("remote", "add", "origin", "git@github.com:Acme/shop.git")
    other = project.copy(tmp_path / "other")

    def saying(root: Path) -> Say:
        return lambda *arguments: run("--project", str(root), *arguments)

    anna, bob = saying(project.root), saying(other.root)
    for say, member in ((anna, "anna"), (bob, "bob")):
        assert say("store", "use", URL.format(member)).code == 0
    return anna, bob


def test_joining_shares_what_is_here_and_says_so(project: Any, run: Run, server: MemoryTeam) -> None:
    """Copied aside first, under the name of the git remote, and without the password anywhere."""
    assert "no team" in run("store", "status").out
    run("rules", "add", "Never push.")
    project.git("remote", "add", "origin", "git@github.com:Acme/shop.git")
    done = run("store", "use", URL.format("anna"))
    assert (done.code, "sent 1 record, received 0 records" in done.out) == (0, True)
    assert "github.com/Acme/shop at postgresql://anna:***@localhost/team" in done.out
    assert [*(project.root / ".workbench/team/exports").glob("*/machines/*/journal/rules.jsonl")]
    status = run("store", "status", "--json").json()
    assert (status["member"], status["answers"], status["unsent"]) == ("anna", True, 0)
    assert [one["own"] for one in status["machines"]] == [True]
    shown = run("store", "status")
    assert "this machine" in shown.out
    assert "in sync; last in sync 20" in shown.out
    assert "secret" not in done.out + done.err + shown.out + str(status)
    other = run("store", "use", URL.format("anna"), "--name", "another")
    assert (other.code, "in the team of github.com/Acme/shop already" in other.err) == (2, True)
    assert run("store", "use", "https://example.org").code == 2
    assert run("store", "use", URL.format("anna"), "--name", "a\nb").code == 2


def test_a_command_exchanges_after_its_answer(
    pair: tuple[Say, Say], server: MemoryTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it wrote something, or the last time is a while ago; `store` commands say what they did."""
    anna, bob = pair
    monkeypatch.setattr(team, "_SAME", 1e9)
    bob("rules", "list")
    anna("rules", "add", "Never push.")
    assert b"Never push." in next(iter(server.lines.values()))
    server.calls.clear()
    bob("rules", "list")
    assert server.calls == []
    done = bob("store", "sync")
    assert done.out == "sent 0 records, received 1 record\n"
    assert bob("store", "sync", "--json").json()["received"] == 0
    assert bob("store", "verify").out == "the same in both: 1 record of 1 machine\n"
    bob("stash", "add", "Sessions are kept in Redis")
    status = anna("store", "status")
    assert "to receive" in status.out
    assert "bob, seen 20" in status.out
    anna("store", "sync")
    assert "Sessions are kept in Redis" in anna("stash", "list").out
    assert "auto:team:" in anna("stash", "history").out
    assert anna("stash", "undo").code == 2
    anna("store", "leave", "--forget")
    assert "the stash is empty" in anna("stash", "list").err


def test_without_the_server_work_goes_on(
    pair: tuple[Say, Say], server: MemoryTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported once, asked again after a minute at the earliest, and nothing is lost."""
    anna, bob = pair
    server.fail = cut("connect")
    first = anna("rules", "add", "Never push.")
    assert (first.code, "connection was lost" in first.err) == (0, True)
    server.fail = cut()
    second = anna("rules", "add", "Never pull.")
    assert (second.code, "lost" in second.err, server.lines) == (0, False, {})
    server.fail = cut("connect")
    status = anna("store", "status")
    assert (status.code, "2 records to send, the server does not answer" in status.out) == (0, True)
    refused = anna("store", "sync")
    assert (refused.code, "connection was lost" in refused.err) == (1, True)
    assert "2 records to send: the connection was lost" in anna("doctor").out

    def remove(call: str) -> None:
        raise TeamError("anna is not a member of any project", hint="Ask the owner.")

    server.fail = remove
    status = anna("store", "status")
    assert "2 records to send, the server refuses" in status.out
    assert "does not answer" not in status.out + status.err
    server.fail = cut()
    assert "sent 2 records" in anna("store", "sync").out
    assert "received 2 records" in bob("store", "sync").out

    silent = threading.Event()

    def hang(call: str) -> None:
        if call == "connect":
            silent.wait()
            cut("connect")(call)

    monkeypatch.setattr(exchange, "_BRIEFLY", 0.01)
    server.fail = hang
    quiet = anna("rules", "add", "Never fetch.")
    silent.set()
    assert (quiet.code, "did not answer within a second" in quiet.err) == (0, True)
    assert "kept here and sent later" in quiet.err
    server.fail = cut()
    server.calls.clear()
    monkeypatch.setenv(exchange.SWITCH, "0")
    assert anna("rules", "add", "Never rebase.").code == 0
    assert server.calls == []


def test_a_server_that_is_away_is_not_joined(project: Any, run: Run, server: MemoryTeam) -> None:
    """Nothing is kept for a team that there is not, and nothing claims so."""
    server.fail = cut("connect")
    refused = run("store", "use", URL.format("anna"), "--name", "shop")
    assert (refused.code, "No team was joined" in refused.err, "sent later" in refused.err) == (
        1,
        True,
        False,
    )
    assert "this project has no team" in run("store", "status").out + run("store", "status").err


def test_what_differs_is_shown_and_mended(pair: tuple[Say, Say], server: MemoryTeam, project: Any) -> None:
    """A record of another machine that was changed here is named, and fetched again."""
    anna, bob = pair
    bob("rules", "add", "Never push.")
    anna("store", "sync")
    [path] = [
        one
        for one in (project.root / ".workbench/team/machines").glob("*/journal/rules.jsonl")
        if b"Never push." in one.read_bytes()
    ]
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Never push.", b"Ever, push."))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = anna("store", "verify")
    assert (found.code, "rules of machine" in found.out) == (1, True)
    assert anna("store", "verify").code == 0
    assert b"Never push." in path.read_bytes()


def test_copies_go_either_way(
    pair: tuple[Say, Say], server: MemoryTeam, tmp_path: Path, project: Any
) -> None:
    """From the server, from a project, and into a directory that is continued; nothing is overwritten."""
    anna, bob = pair
    bob("rules", "add", "Never push.")
    anna("rules", "add", "Never pull.")
    anna("store", "sync")
    there, again = str(tmp_path / "there"), str(tmp_path / "again")
    done = anna("store", "copy", URL.format("anna"), there, "--name", "github.com/Acme/shop")
    assert (done.code, done.out) == (0, "copied 2 records\nthe same in both: 2 records of 2 machines\n")
    assert anna("store", "copy", str(project.root), again, "--json").json()["records"] == 2
    assert anna("store", "copy", there, again, "--json").json()["copied"] == 0
    assert anna("store", "copy", URL.format("anna"), there).code == 2
    assert anna("store", "copy", str(tmp_path / "nowhere"), there).code == 2
    (tmp_path / "empty").mkdir()
    assert "no journals" in anna("store", "copy", str(tmp_path / "empty"), again).err


def test_a_team_is_left_with_or_without_what_others_wrote(
    pair: tuple[Say, Say], server: MemoryTeam, project: Any
) -> None:
    """Afterwards nothing is sent; joining again brings back what was forgotten, under the same id."""
    anna, bob = pair
    bob("rules", "add", "Never push.")
    anna("store", "sync")
    state = find_state(project.root)
    assert len(state.peer_journals) == 1
    assert "no team any more" in anna("store", "leave").out
    anna("rules", "add", "Never pull.")
    assert (state.has_team, len(state.peer_journals), len(server.lines)) == (False, 1, 1)
    assert anna("store", "sync").code == anna("store", "leave").code == 2
    assert anna("store", "use", URL.format("anna")).code == 0
    server.fail = cut("connect")
    anna("rules", "add", "Never fetch.")
    assert anna("store", "leave", "--json").json() == {"unsent": 1, "forgotten": False}
    assert len(state.peer_journals) == 1
    assert anna("store", "leave", "--forget", "--json").json() == {"unsent": 0, "forgotten": True}
    assert state.peer_journals == {}
    server.fail = cut()
    joined = anna("store", "use", URL.format("anna"))
    assert ("received 1 record" in joined.out, "damaged" in joined.err) == (True, False)
    assert len(state.peer_journals) == 1
    assert len(server.machines) == 2


def test_a_purge_takes_a_text_out_of_the_whole_team(
    pair: tuple[Say, Say], server: MemoryTeam, project: Any
) -> None:
    """Here, at the server and at the others; what another machine wrote is named, and theirs to take out."""
    anna, bob = pair
    anna("rules", "add", "Never say Mellon.")
    bob("rules", "add", "Never write Mellon.")
    anna("store", "sync")
    done = anna("purge", "--secret", "Mellon", "--yes")
    assert (done.code, ":other of the team wrote it, too" in done.err) == (1, True)
    assert bob("purge", "--secret", "Mellon", "--yes").code == 1
    for say in (anna, bob, anna, bob):
        say("store", "sync")
    assert not any(b"Mellon" in lines for lines in server.lines.values())
    assert anna("purge", "--secret", "Mellon", "--yes").out == "a text: nothing is kept of it\n"
    files = [one for one in (project.root / ".workbench").rglob("*") if one.is_file()]
    assert [file for file in files if b"Mellon" in file.read_bytes()] == []


def test_what_runs_long_sends_and_receives_beside_its_work(
    pair: tuple[Say, Say], server: MemoryTeam, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, also after the server was away; it ends with the face, and where the team is left."""
    anna, bob = pair
    exchanged = threading.Condition()
    real = team.ProjectTeam.sync

    def sync(*arguments: Any, **options: Any) -> Any:
        done = real(*arguments, **options)
        with exchanged:
            exchanged.notify_all()
        return done

    monkeypatch.setattr(team.ProjectTeam, "sync", sync)
    monkeypatch.setattr(exchange, "_RETRY", (0.01,))
    monkeypatch.setattr(exchange, "_LISTEN", 0.01)
    state = find_state(project.root)

    def received(count: int) -> bool:
        with exchanged:
            return exchanged.wait_for(
                lambda: sum(1 for one in state.peer_journals.values() for _ in one.read("rules")) == count, 60
            )

    host = host_project(project.root, {}, "http")
    with host.turn():
        pass
    bob("rules", "add", "Never push.")
    assert received(1)
    server.fail = cut("heads")
    state.journal.append("rules", "rule.put", [{"text": "by something else"}], by="x")
    bob("rules", "add", "Never pull.")
    server.fail = cut()
    bob("store", "sync")
    assert received(2)
    listener = listen_to_team(find_state(project.root), None)
    assert listener is not None
    assert listen_to_team(find_state(project.root), listener) is listener
    anna("store", "leave")
    host.close()
    listener.stop()
    assert not listener.is_listening
    assert listen_to_team(find_state(project.root), None) is None


def test_what_a_turn_wrote_is_sent_when_it_ends(
    pair: tuple[Say, Say], server: MemoryTeam, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the next look at the journals; and who stops waits for no look, either."""
    monkeypatch.setattr(exchange, "_LISTEN", 600.0)
    state = find_state(project.root)
    machine, host = own_machine(state.state), host_project(project.root, {}, "http")

    def rules_sent(count: int) -> bool:
        return server.lines.get((machine, "rules"), b"").count(b"\n") == count

    for count in (1, 2):
        with host.turn() as opened:
            opened.journal.append("rules", "rule.put", [{"text": f"Rule {count}."}], by="x")
        with server.changed:
            assert server.changed.wait_for(partial(rules_sent, count), 60)
    host.close()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("git@github.com:Acme/shop.git", "github.com/Acme/shop"),
        ("https://user:token@GitHub.com/acme/shop/", "github.com/acme/shop"),
        ("ssh://git@host.example:2222/a/b/c.git", "host.example/a/b/c"),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("file:///srv/git/shop", ""),
        ("https://[broken/x", ""),
        ("host:" + "x" * 300, ""),
        ("C:\\code\\shop", ""),
    ],
)
def test_a_project_is_named_by_its_remote(address: str, name: str) -> None:
    """The same for all clones, with no user and no token in it; a path says nothing to others."""
    assert service.remote_name(address) == name


def test_a_role_that_was_there_keeps_its_password(
    project: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member of another project is given its URL, with nothing of the owner's login in it."""
    monkeypatch.setattr(service, "prepare_team_project", lambda url, name: None)
    monkeypatch.setattr(service, "team_members", lambda url, name: [])
    made = iter(["", "", "new/one"])
    monkeypatch.setattr(service, "add_team_member", lambda url, name, member: next(made))
    owner = ("--url", "postgresql://own:hers@host/team?sslmode=require&password=hers", "--name", " shop ")

    known = run("store", "members", "add", "anna", *owner)
    line = "for anna: workbench store use 'postgresql://anna@host/team?sslmode=require' --name 'shop'\n"
    assert (known.code, known.out) == (0, line)
    assert "keeps its password" in known.err
    told = run("store", "members", "add", "anna", *owner, "--json")
    assert told.json()["url"] == "postgresql://anna@host/team?sslmode=require"
    new = run("store", "members", "add", "anna", *owner, "--json")
    assert new.json()["url"] == "postgresql://anna:new%2Fone@host/team?sslmode=require"
    assert "keeps" not in new.err


@pytest.mark.parametrize("name", [" ", "a\nb", "x" * 201])
def test_what_cannot_name_a_project_is_refused(
    project: Any, run: Run, server: MemoryTeam, tmp_path: Path, name: str
) -> None:
    """Blanks alone among it, wherever a name is given."""
    for words in (("use", URL.format("anna")), ("copy", URL.format("anna"), str(tmp_path / "there"))):
        refused = run("store", *words, "--name", name)
        assert (refused.code, "cannot be the name" in refused.err) == (2, True)
    assert server.calls == []


SECRET = "the zebra sleeps at noon"


def use_everything(say: Say) -> None:
    """Let a machine make all that it makes of what others wrote."""
    for command in (
        "index",
        "rules list zebra",
        "rules match zebra",
        "rules conflicts list",
        "memory list zebra",
        "memory conflicts",
        "memory search zebra",
        "stash list zebra",
        "stash search zebra",
        "stash conflicts",
        "rules history",
        "stash history",
        "plan zebra",
        "stats --usage",
        "status",
    ):
        name, *rest = command.split()
        words = [" ".join(rest)] if name == "plan" else rest
        assert say(name, *words).code in (0, 1), command


@pytest.mark.parametrize("way", ["text", "leaves and comes back"])
def test_a_purged_text_is_on_no_machine(
    pair: tuple[Say, Say], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """In no replica, copy, stash, table, index or fold, also of who was offline and decided about it."""
    monkeypatch.setattr(folding, "FEW", 1)
    anna, bob = pair
    machines = [tmp_path / name / ".workbench" for name in ("work", "other")]
    anna("rules", "add", f"Remember that {SECRET}.", "--tag", "tool:zebra")
    anna("memory", "add", f"{SECRET} in the barn", "--reason", f"seen: {SECRET}")
    anna("stash", "add", f"A decision: {SECRET}, always.", "--id", "seg-1")
    anna("store", "sync")
    bob("store", "sync")
    if way != "text":
        bob("store", "leave")
        assert bob("store", "use", "postgresql://bob:secret@localhost/team").code == 0
    use_everything(bob)
    assert len(remains(machines[1:], [SECRET.encode()])) > 4
    bob("stash", "protect", "seg-1")
    purged = anna("purge", "--secret", SECRET, "--yes")
    assert purged.code == 0, purged.err
    anna("store", "sync")
    bob("store", "sync")
    assert [str(path.relative_to(tmp_path)) for path in remains(machines, [SECRET.encode()])] == []
    assert [*(machines[1] / "index").glob("project*")]  # what is of the repository alone stays
    use_everything(bob)
    assert "[secret:purged]" in bob("stash", "show", "seg-1").out
    assert remains(machines, [SECRET.encode()]) == []


def test_who_forgets_the_team_has_nothing_left_of_it(
    pair: tuple[Say, Say], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of what others wrote nor of what was made of that."""
    monkeypatch.setattr(folding, "FEW", 1)
    anna, bob = pair
    anna("rules", "add", f"Remember that {SECRET}.")
    anna("store", "sync")
    bob("store", "sync")
    use_everything(bob)
    assert bob("store", "leave", "--forget").code == 0
    assert remains([tmp_path / "other" / ".workbench"], [SECRET.encode()]) == []


def test_between_turns_of_an_agent_another_process_exchanges(
    pair: tuple[Say, Say], project: Any, server: MemoryTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook asks no server: it starts a command once a minute, and none where all is exchanged."""
    started: list[tuple[str, ...]] = []

    def start(root: Path, *words: str) -> bool:
        started.append(words)
        return root.is_dir()

    monkeypatch.setattr(background, "run_in_background", start)
    payload = {"session_id": "5f0c1f7e-0000-4000-8000-000000000001", "cwd": str(project.root)}

    def hook(name: str) -> int:
        data = json.dumps({**payload, "hook_event_name": name}).encode()
        calls = len(server.calls)
        respond(data, name, "claude").then()
        assert len(server.calls) == calls
        return len(started)

    pair[0]("store", "sync")
    assert hook("Stop") == 0
    state = find_state(project.root)
    state.journal.append("rules", "rule.put", [{"id": "rule-1", "rule": "Never push."}], by="mcp")
    monkeypatch.setenv(exchange.SWITCH, "0")
    assert hook("Stop") == 0
    monkeypatch.delenv(exchange.SWITCH)
    assert (hook("PostToolUse"), hook("Stop"), hook("Stop")) == (0, 1, 1)
    assert started == [("store", "sync")]
    (state.state / "team" / "turn").write_text("nonsense")
    assert hook("UserPromptSubmit") == 2
