"""Shell lines are read as the commands that a shell would run; bash itself is the oracle."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deep import searches, times
from workbench.shell.lines import MAX_CHARS, read_shell, run_words
from workbench.shell.words import UNKNOWN


def words(line: str) -> list[tuple[str, ...]]:
    return [command.words for command in read_shell(line).commands]


PUSH = ("git", "push", "--force")


@pytest.mark.parametrize(
    "line",
    [
        "git push --force",
        """git 'push' "--force" """,
        "git pu\\sh --fo'rc'e",
        "git \\\n  push \\\n  --force",
        "$'git' $'pu\\x73h' --force # later",
        "ls && git push --force",
        "ls; git push --force; ls",
        "ls | git push --force &",
        "(cd a; git push --force)",
        "{ git push --force; }",
        "echo $(git push --force)",
        'echo "x $(git push --force) y"',
        "echo `git push --force`",
        'echo "`git push --force`"',
        "diff <(git push --force) b",
        'bash -c "git push --force"',
        "sh -lc 'git push --force'",
        "bash -o pipefail -ec 'git push --force'",
        "env A=1 -u B git push --force",
        "env -S 'git push --force'",
        "A=1 B='x y' git push --force",
        "sudo -u root git push --force",
        "command git push --force",
        "sudo -Eu root git push --force",
        "sudo -uroot -- git push --force",
        "busybox env git push --force",
        "git${IFS}push$IFS--force",
        "ls | xargs -0r -I{} git push --force",
        "for ((i=0; i<3; i++)); do git push --force; done",
        "ls&&git>/dev/null push --force",
        "nohup git push --force > log 2>&1 &",
        "time git push --force",
        "timeout -k 5 10 nice -n 3 git push --force",
        "echo push --force | xargs git",
        "xargs -n 1 git push --force",
        "find . -exec git push --force \\;",
        "eval 'git push' --force",
        "if true; then git push --force; fi",
        "while :; do git push --force; done",
        "for i in 1 2; do git push --force; done",
        "case $x in a|b) git push --force;; esac",
        "case $x in (a) ls;; *) git push --force; esac",
        "f() { git push --force; }",
        "function f { git push --force; }",
        "! git push --force",
        "[[ -f x ]] && git push --force",
        "((1 < 2)) && git push --force",
        "echo $((1 + $(git push --force)))",
        "echo ${A:-$(git push --force)}",
        "X=push; git $X --force",
        "FLAGS='push --force'; git $FLAGS",
        "export X=push && git ${X} --force",
        "git ${ACTION:-push} --force",
        "a=(push --force); git ${a[@]}",
        'a=(push --force); git "${a[@]}"',
        "git {push,--force}",
        "bash <<'EOF'\ngit push --force\nEOF",
        "cat <<EOF | sh\ngit push --force\nEOF",
        "cat <<EOF\n$(git push --force)\nEOF",
        "bash <<< 'git push --force'",
        "echo 'git push --force' | bash",
        "cat > x <<'A' && git push --force\nit's\nA",
        "cat <<-'A'\n\tit's\n\tA\ngit push --force",
        "ssh -p 22 host git push --force",
        "trap 'git push --force' EXIT",
        "ls\r\ngit push --force\r\n",
    ],
)
def test_a_command_is_found_however_it_is_written(line: str) -> None:
    """Quoting, wrappers, substitutions, compound commands and assigned variables hide no command."""
    assert PUSH in words(line)
    assert read_shell(line).fault == ""


@pytest.mark.parametrize(
    "line",
    [
        "echo git push --force",
        "git commit -m 'git push --force'",
        'git commit -m "$(cat <<\'EOF\'\ngit push --force "\nEOF\n)"',
        "cat > notes <<'EOF'\ngit push --force\nEOF",
        "ls # git push --force",
        "command -v git push --force",
        "echo '$(git push --force)'",
        "echo \\$(git) push --force || true",
        "git push && echo --force",
        "a=(git push --force)",
        "for x in git push --force; do :; done",
    ],
)
def test_words_of_others_are_no_command(line: str) -> None:
    """Messages, comments, heredocs and quoted substitutions are text, not commands."""
    assert PUSH not in words(line)


@pytest.mark.parametrize(
    "line", ["echo 'a", 'echo "a', "echo `a", "echo $(a", "echo ${a", "a )", "case x in a", "[[ a", "$'a"]
)
def test_what_cannot_be_read_is_named(line: str) -> None:
    """A line with an end missing says so."""
    assert read_shell(line).fault


def test_redirections_and_directories_are_told() -> None:
    """Targets of redirections, literal input and where `cd` led belong to their command."""
    first, second, third = read_shell("cd a && cat < in 2>> err; (cd b; tee x) > out <<< hi").commands[:3]
    assert (first.directory, second.directory) == ("", "a")
    assert (second.reads, second.writes) == (("in",), ("err",))
    assert third.words[0] == "cd"
    assert read_shell("cd a; (cd b; tee x)").commands[2].directory == "a/b"
    assert read_shell("tee x <<< hi").commands[0].given == "hi"
    assert read_shell("find migrations x -exec rm {} +").commands[1].words[1:] == ("migrations", "x")


def test_unknown_values_are_marked() -> None:
    """What only the run decides is one unknown character, not a guess."""
    assert [("rm", f"{UNKNOWN}/x")] == words("rm $1/x")
    assert ("rm", UNKNOWN) in words("rm $(ls)")


def test_words_without_a_shell_are_not_split() -> None:
    """A program started from a list of words gets them as they are."""
    assert [command.words for command in run_words(["echo", "a; b"]).commands] == [("echo", "a; b")]
    assert PUSH in [command.words for command in run_words(["bash", "-lc", "git push --force"]).commands]


@searches
@pytest.mark.parametrize(
    "piece",
    ["$(", "(", "`", "{a,", "{a,b}", "\\", "<<a ", "<<a\n", "case x in ", "bash -c '", "${a:-", "$(((",
     "for x in ", "[[ ", "eval ", "$'", "<(", "<<<", "a=$a$a$a;", "xargs ", "((", "a() ", "'", "\x01\x02"],
)  # fmt: skip
def test_hostile_repetition_ends(piece: str) -> None:
    """Deep and wide nests stay within bounds instead of recursing or growing without end."""
    length = times(MAX_CHARS // 5, MAX_CHARS)
    line = read_shell((piece * length)[:length])
    assert len(line.commands) <= 2_000


def test_a_line_beyond_the_bound_is_not_read() -> None:
    """A longer line is named as such."""
    assert "longer" in read_shell("x" * (MAX_CHARS + 1)).fault


@given(st.text(alphabet=st.sampled_from("ab $(){}[]<>|&;'\"`\\\n#=!*~-,\0\x01\x02\x04é\ud800"), max_size=60))
def test_any_text_is_read(text: str) -> None:
    """No text makes the reader fail, and reading is deterministic."""
    assert read_shell(text) == read_shell(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    """Bytes decoded in any way are read, too."""
    read_shell(data.decode("utf-8", "surrogateescape"))
    read_shell(data.decode("latin-1"))


WORD = st.text(alphabet="abz -'\"$\\*;|&(){}#~\n", max_size=6)


def quotings(word: str) -> st.SearchStrategy[str]:
    """Return ways to write a word in a shell, each character quoted in one way or another."""
    single = "'" + word.replace("'", "'\\''") + "'"
    double = '"' + "".join("\\" + char if char in '"\\$`' else char for char in word) + '"'
    escaped = "".join("'\n'" if char == "\n" else "\\" + char for char in word) or "''"
    ansi = "$'" + word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return st.sampled_from([single, double, escaped, ansi])


@given(st.lists(WORD, min_size=1, max_size=4).flatmap(
    lambda found: st.tuples(st.just(found), st.tuples(*map(quotings, found)))
))  # fmt: skip
def test_quoting_changes_nothing(case: tuple[list[str], tuple[str, ...]]) -> None:
    """Every way to quote words gives the same words."""
    plain, written = case
    assert [("run", *plain)] == words("run " + " ".join(written))


def _join(parts: tuple[str, str, str]) -> str:
    left, between, right = parts
    return left + ("" if left.endswith("\n") else between) + right


SIMPLE = st.sampled_from(
    ["c1 a", "c2 'b c'", 'c3 "$(c4 d)" e', "c5 `c6 f`", "X=1 c7 g", "c8 $X", "V='p q'; c9 $V", "c10 {x,y}z",
     "c11 <<'E'\nc99 it's\nE\n", "c12 <<E\n$(c13 h)\nE\n", "eval 'c14 i'", "bash -c 'c15 \"j k\"'",
     "env N=1 c16 l", "command c17 m", "c18 > /dev/null 2>&1", "c19 $'n\\to'", "c20 ~a \\\n b", "c21 '' o#p",
     "a=(q r); c22 \"${a[@]}\"", "c23 ${U:-s}", "echo c24 t | xargs", "c25 $((1+2))",
     "echo 'c26 u' | bash", "bash <<< 'c27 v'"]
)  # fmt: skip
JOINED = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" ; ", "\n"]), inner).map(_join),
        inner.map("( {} )".format),
        inner.map("{{ {}\n}}".format),
        inner.map("if true\nthen {}\nfi".format),
        inner.map("for i in 1\ndo {}\ndone".format),
        inner.map("case a in a) {}\n;; b) false;; esac".format),
    ),
    max_leaves=4,
)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the oracle")
def test_bash_runs_what_was_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every command that bash starts for a generated line was read, with the words that are known."""
    directory = tmp_path_factory.mktemp("bin")
    log = directory / "log"
    stub = directory / "stub"
    stub.write_text(f'#!/bin/sh\n{{ printf "%s\\0" "${{0##*/}}" "$@"; printf "\\n"; }} >> {log}\n')
    stub.chmod(0o755)
    for number in range(1, 30):
        (directory / f"c{number}").symlink_to(stub)

    @given(JOINED)
    def compare(line: str) -> None:
        log.write_bytes(b"")
        path = f"{directory}:/usr/bin:/bin"
        subprocess.run(
            ["bash", "-c", line],
            env={"PATH": path, "HOME": str(directory)},
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=directory,
        )
        read = words(line)
        for record in filter(None, log.read_bytes().split(b"\0\n")):
            ran = tuple(record.decode().split("\0"))
            assert any(_agree(found, ran) for found in read), (line, ran, read)

    compare()


def _agree(found: tuple[str, ...], ran: tuple[str, ...]) -> bool:
    """Whether words that were read are the ones that ran; an unknown one may be any number of words."""
    known = [word for word in found if UNKNOWN not in word]
    rest = iter(ran)
    return all(word in rest for word in known) and (len(known) < len(found) or len(found) == len(ran))
