"""Tests in forked workers are reported as if one process ran them, with what they cost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cpu_report import excessive, table

MODULES = {
    "test_one.py": """
import os, warnings, pytest

@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    yield tmp_path_factory.mktemp("shared")
    print("the end of shared")

def test_passes(shared): warnings.warn("an odd thing")
def test_fails(shared): assert [1] == [2]
def test_dies(): os.kill(os.getpid(), 9)
def test_comes_after(): pass
def test_is_skipped(): pytest.skip("a reason")
""",
    "test_other.py": """
def test_uses_the_processor():
    sum(range(10_000_000))
""",
}


HANGS = {"test_hangs.py": "import time\ndef test_hangs(): time.sleep(600)\ndef test_comes_after(): pass\n"}


def run(directory: Path, *options: str, modules: Mapping[str, str] = MODULES) -> str:
    """Run tests in a directory in two workers; return what is printed."""
    for name, code in modules.items():
        (directory / name).write_text(code, encoding="utf-8")
    plugins = ["-p", "tests.workers", "-p", "tests.cpu_report", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(directory), *plugins]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    place = {"cwd": Path(__file__).parent.parent, "capture_output": True, "text": True, "env": alone}
    return subprocess.run([*command, "--workers", "2", *options, str(directory)], **place).stdout  # type: ignore[call-overload,no-any-return]


def test_reports_come_from_all_workers(tmp_path: Path) -> None:
    """Failures keep their explanation, a test that kills its process fails, and the rest of its file runs."""
    report = tmp_path / "cpu"
    printed = run(tmp_path, "-v", f"--cpu-report={report}")
    assert re.search(r"2 failed, 3 passed, 1 skipped, 1 warning", printed), printed
    assert "assert [1] == [2]" in printed
    assert "an odd thing" in printed
    assert "the process of this test ended by signal 9" in printed
    assert re.search(r"test_comes_after PASSED", printed)
    names = [line.partition("::")[2] for line in report.read_text().splitlines()]
    assert names[0] == "test_uses_the_processor"
    assert len(names) == 5  # who died could not say


def test_a_run_stops_at_the_first_failure(tmp_path: Path) -> None:
    """`-x` ends all workers."""
    assert re.search(r"1 failed, [0-3] passed", run(tmp_path, "-x", "-k", "not dies"))


def test_a_test_that_hangs_fails(tmp_path: Path) -> None:
    """Its process ends with the stacks of its threads."""
    ends = ("-o", "faulthandler_exit_on_timeout=true", "-o", "faulthandler_timeout=3")
    printed = run(tmp_path, *ends, modules=HANGS)
    assert re.search(r"1 failed, 1 passed", printed), printed
    assert "the process of this test ended with exit code 1" in printed


@pytest.mark.parametrize(("tests", "named"), [(1_999, []), (2_000, ["slow"])])
def test_a_test_may_take_a_twentieth_of_a_whole_run(tests: int, named: list[str]) -> None:
    """A smaller run is a part, of which one test may well take most."""
    times = {f"test-{number}": 0.001 for number in range(tests - 1)} | {"slow": 1.0}
    assert excessive(times) == named
    assert table({"b": 0.5, "a": 0.5, "c": 2.0}) == "2.000\tc\n0.500\ta\n0.500\tb\n"
