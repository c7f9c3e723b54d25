"""The processor time of each test: of its own process, and of the children that it waited for.

`make test` loads this as a plugin, because seconds on the clock depend on what else the machine does. It
lists the ten tests that take most, writes all of them to a file, and fails a whole run of which one test
takes more than a twentieth: such a test is several tests, or its search belongs to `make deep`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Final

import pytest

LISTED: Final = 10
SHARE: Final = 0.05  # of the run's time, for one test
WHOLE: Final = 2_000  # tests; of a smaller run one test may well take most
_PROPERTY: Final = "cpu seconds"
_BEFORE: Final = pytest.StashKey[float]()
_REPORTED: Final[dict[str, float]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--cpu-report", metavar="FILE", default="", help="write each test's CPU seconds to FILE")


def cpu_seconds() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the time before a test."""
    item.stash[_BEFORE] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the time of a test with its fixtures on its last report; what is made once counts for the first."""
    report = yield
    if call.when == "teardown":
        report.user_properties.append((_PROPERTY, cpu_seconds() - item.stash[_BEFORE]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take the time from a report, whichever process ran the test."""
    for name, seconds in report.user_properties:
        if report.when == "teardown" and name == _PROPERTY:
            _REPORTED[report.nodeid] = float(str(seconds))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file; fail a run of which one test takes too much."""
    if file := session.config.getoption("cpu_report"):
        Path(file).write_text(table(_REPORTED), encoding="utf-8")
        if excessive(_REPORTED) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the tests that take most."""
    if not config.getoption("cpu_report"):
        return
    terminalreporter.section(f"{LISTED} tests with the most CPU seconds")
    for test in ordered(_REPORTED)[:LISTED]:
        terminalreporter.write_line(f"{_REPORTED[test]:8.2f}  {test}")
    terminalreporter.write_line(f"{sum(_REPORTED.values()):8.2f}  in all {len(_REPORTED)} tests")
    for test in excessive(_REPORTED):
        terminalreporter.write_line(
            f"FAILED {test}: over {SHARE:.0%} of the CPU seconds of the run", red=True
        )


def ordered(times: Mapping[str, float]) -> list[str]:
    """Return the tests, the one that takes most first."""
    return sorted(times, key=lambda test: (-times[test], test))


def table(times: Mapping[str, float]) -> str:
    """Return a line for each test: its seconds, a tab, its name."""
    return "".join(f"{times[test]:.3f}\t{test}\n" for test in ordered(times))


def excessive(times: Mapping[str, float]) -> list[str]:
    """Return the tests that take more of a whole run than one may."""
    most = SHARE * sum(times.values())
    return [test for test in ordered(times) if times[test] > most] if len(times) >= WHOLE else []
