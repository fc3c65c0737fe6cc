"""The pytest plugin: the fixture ``no_loops`` and the option ``--antiloop-report``.

It is loaded wherever antiloop is installed, so nothing else of antiloop is imported before a test
asks for the fixture.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Generator, Iterator, List, Optional

import pytest

if TYPE_CHECKING:
    from ..traces import RecordedRun
    from ._no_loops import NoLoops

_WATCH = pytest.StashKey["NoLoops"]()
_RUNS = pytest.StashKey["List[RecordedRun]"]()
_WORKER = "antiloop_runs"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("antiloop", "tool-call loops of agents")
    group.addoption(
        "--antiloop-report",
        metavar="FILE",
        help="write the runs that the fixture no_loops was given as one HTML page",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a report that cannot be written before the tests run."""
    config.stash[_RUNS] = []
    path = config.getoption("--antiloop-report")
    why = _why_not_written(path) if path else None
    if why is not None:
        raise pytest.UsageError(f"--antiloop-report: {why}")


@pytest.fixture
def no_loops(request: pytest.FixtureRequest) -> "Iterator[NoLoops]":
    """Fail the test if an agent gets stuck in a tool-call loop in it.

    Give it as an observer to a guard or an agent, or call it with a recorded run.
    """
    from ._no_loops import NoLoops

    project = NoLoops._of_project(str(request.config.rootpath))
    watch = request.node.stash[_WATCH] = project
    yield watch
    for run in watch.runs:
        request.config.stash[_RUNS].append(_named(run, request.node.nodeid))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Judge what was observed when a test has passed, so that a loop makes it fail."""
    outcome = yield
    watch = item.stash.get(_WATCH, None)
    if watch is None or outcome.excinfo is not None:
        return
    try:
        watch.end()
    except (AssertionError, TypeError) as error:
        outcome.force_exception(error)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, or hand the runs to the process that does."""
    config, runs = session.config, session.config.stash[_RUNS]
    worker = getattr(config, "workeroutput", None)  # of pytest-xdist
    if worker is not None:
        worker[_WORKER] = [(run.source, run.to_jsonl()) for run in runs]
    elif config.getoption("--antiloop-report") and runs:
        _write(config, runs)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the runs of a worker of pytest-xdist."""
    from ._assertion import own_runs

    for test, line in getattr(node, "workeroutput", {}).get(_WORKER, ()):
        node.config.stash[_RUNS] += (_named(run, test) for run in own_runs(line))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print where the report is."""
    path, count = config.getoption("--antiloop-report"), len(config.stash[_RUNS])
    if path:
        runs = "1 run" if count == 1 else f"{count} runs"
        what = runs if count else "not written, as no_loops was given no run"
        terminalreporter.write_line(f"antiloop report: {path}: {what}")


def _why_not_written(path: str) -> Optional[str]:
    from .._regular_file import what_waits
    from .._replaced_file import is_written_in_place, named_folders, target_of

    if not Path(path).absolute().parent.is_dir():
        return f"no folder {Path(path).absolute().parent}"
    if Path(path).is_dir():
        return f"{path} is a folder; name a file in it"
    kind = what_waits(path)
    if kind is not None:
        return f"{path} is {kind}; name a file"
    if is_written_in_place(path):
        return None
    try:
        target_of(path, named_folders(path))
    except OSError as error:
        return f"{path}: {error.strerror}"
    return None


def _named(run: "RecordedRun", test: str) -> "RecordedRun":
    from dataclasses import replace

    return replace(run, source=test)


def _write(config: pytest.Config, runs: "List[RecordedRun]") -> None:
    from .._replaced_file import named_folders, replaced_file
    from ..health import evaluate
    from ..report import write_page

    path = config.getoption("--antiloop-report")
    with replaced_file(path, within=named_folders(path)) as page:
        write_page(((run, evaluate(run)) for run in runs), page)
