"""The fixture and the option, in a pytest of their own."""

import io
import itertools
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, health, report
from antiloop.integrations.functions import LoopGuard
from antiloop.testing import NoLoops
from antiloop.testing import _pytest_plugin as pytest_plugin
from antiloop.traces import RecordedRun

pytest_plugins = "pytester"
ROOT = Path(__file__).parents[2]

HEAD = """
import pytest
from antiloop import Agent, AgentConfig, LoopDetector, LoopPolicy
from antiloop.integrations.functions import LoopGuard
from antiloop.testing import ScriptedProvider, ToolCall, repeating_script

def run_agent(no_loops, times, detector=None):
    def look():
        return "nothing"
    provider = ScriptedProvider(repeating_script(ToolCall("look"), times))
    config = AgentConfig(loop_detector=detector, observers=[no_loops])
    return Agent([look], provider, config).run("Go")

def call_guarded(guard, times):
    @guard
    def search(query):
        return "nothing found"
    for _ in range(times):
        search("refunds")

def steps(times, tool="search"):
    return {"run_id": "r", "steps": [{"tool_name": tool, "arguments": {}, "result": ""}] * times}
"""


@pytest.fixture
def run_tests(pytester, monkeypatch):
    """Run tests with the plugin alone, whether or not it is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # With one of these, pytest repeats each whole message in its summary.
    for variable in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(variable, raising=False)

    def run(tests, *options):
        pytester.makepyfile(HEAD + tests)
        return pytester.runpytest_inprocess("-p", "antiloop.testing._pytest_plugin", *options)

    return run


def test_an_agent_that_got_stuck_fails_its_test(run_tests):
    done = run_tests(
        """
def test_stuck(no_loops):
    run_agent(no_loops, 5)

def test_fine(no_loops):
    run_agent(no_loops, 2)
"""
    )
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(
        [
            "*got stuck in a loop:",
            "*look 5 times in a row*",
            "*look {} -> nothing",
        ]
    )


def test_a_method_of_unittest_fails_too(run_tests):
    done = run_tests(
        """
import unittest

class Watched:
    @pytest.fixture(autouse=True)
    def watch(self, no_loops):
        self.no_loops = no_loops

class TestPlain(Watched, unittest.TestCase):
    def test_stuck(self):
        run_agent(self.no_loops, 5)

    def test_wrong(self):
        run_agent(self.no_loops, 5)
        self.fail("its own failure")

    def test_fine(self):
        run_agent(self.no_loops, 2)

class TestAsync(Watched, unittest.IsolatedAsyncioTestCase):
    async def test_stuck(self):
        run_agent(self.no_loops, 5)
"""
    )
    done.assert_outcomes(failed=3, passed=1)
    assert str(done.stdout).count("got stuck in a loop:") == 2
    done.stdout.fnmatch_lines(["*its own failure*"])


def test_a_run_that_is_abandoned_is_judged_as_far_as_it_went(run_tests):
    done = run_tests(
        """
@pytest.mark.parametrize("rounds", [2, 4])
def test_left(no_loops, rounds):
    def look():
        return "nothing"
    provider = ScriptedProvider(repeating_script(ToolCall("look"), 9))
    config = AgentConfig(observers=[no_loops])
    events = Agent([look], provider, config).stream("Go")
    finished = (event for event in events if type(event).__name__ == "ToolFinished")
    for _ in range(rounds + 1):
        next(finished)
    events.close()
"""
    )
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(["*got stuck in a loop:", "*look 4 times in a row*"])


def test_runs_are_read_by_the_declared_profiles(run_tests, pytester):
    tests = """
NUMBERS = ["one", "two", "three", "four"]
RUN = {"run_id": "r", "client": "ours", "steps": [
    {"tool_name": "search", "arguments": {}, "result": f"took {each} hours: no"}
    for each in NUMBERS
]}

@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

def test_json(elsewhere, no_loops):
    no_loops(RUN)

def test_file(tmp_path, no_loops):
    import json
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(RUN))
    no_loops(path)

def test_run(no_loops):
    from antiloop.testing._assertion import runs_of
    no_loops(runs_of(RUN))

def test_history(no_loops):
    from antiloop.formats import History
    from antiloop.testing._assertion import runs_of
    (run,) = runs_of(RUN)
    no_loops(History(run.calls, run.results, (), ()))

def test_agent(no_loops):
    numbers = iter(NUMBERS)
    def search():
        return f"took {next(numbers)} hours: no"
    provider = ScriptedProvider(repeating_script(ToolCall("search"), 4))
    Agent([search], provider, AgentConfig(observers=[no_loops])).run("Go")
"""
    run_tests(tests).assert_outcomes(passed=5)
    profile = "[profiles.ours]\ntools = ['search', 'b', 'c']\nwraps = ['^took [a-z]+ hours: ']\n"
    pytester.path.joinpath("antiloop.toml").write_text(profile, "utf-8")
    run_tests(tests).assert_outcomes(failed=5)


def test_a_guard_that_found_a_loop_fails_its_test(run_tests):
    done = run_tests(
        """
def test_given(no_loops):
    call_guarded(LoopGuard(run_id="r1", observers=[no_loops]), 4)

def test_watched(no_loops):
    call_guarded(no_loops.watch(LoopGuard()), 4)

def test_fine(no_loops):
    call_guarded(no_loops.watch(LoopGuard()), 2)
"""
    )
    done.assert_outcomes(failed=2, passed=1)
    done.stdout.fnmatch_lines(["*run 'r1' got stuck, as its guard found:", "*repeat: search *"])
    done.stdout.fnmatch_lines(["*a run got stuck, as its guard found:"])


def test_what_the_detector_of_an_agent_finds_counts_and_is_told_once(run_tests):
    done = run_tests(
        """
def test_stricter_than_the_preset(no_loops):
    no_loops.preset = "patient"
    run_agent(no_loops, 5, LoopDetector.escalating())

def test_the_same(no_loops):
    run_agent(no_loops, 3, LoopDetector(LoopDetector.default().detectors, LoopPolicy.STOP))
"""
    )
    done.assert_outcomes(failed=2)
    said = [line for line in done.outlines if re.match(r"E .*3 times in a row", line)]
    assert len(said) == 1


def test_a_run_that_was_recorded_otherwise_fails_at_once(run_tests):
    done = run_tests(
        """
def test_called(no_loops):
    with pytest.raises(AssertionError, match="4 times in a row"):
        no_loops(steps(4))
    no_loops(steps(4), allow=["search"])
    no_loops(steps(4), preset="patient")
    no_loops.allow = ["search"]
    no_loops(steps(4))
"""
    )
    done.assert_outcomes(passed=1)


def test_one_name_is_no_list_of_tools_that_are_allowed(run_tests):
    done = run_tests(
        """
def test_allowed(no_loops):
    no_loops.allow = "search_all"
    call_guarded(no_loops.watch(LoopGuard()), 2)
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*TypeError: allow takes a list of tool names, not a text*"])


def test_tools_that_are_allowed_are_allowed_in_all_that_is_observed(run_tests):
    done = run_tests(
        """
def test_allowed(no_loops):
    no_loops.allow = ["look", "search"]
    run_agent(no_loops, 5)
    call_guarded(no_loops.watch(LoopGuard()), 4)
"""
    )
    done.assert_outcomes(passed=1)


@given(
    names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
    allow=st.sets(st.sampled_from("abc")),
)
def test_a_loop_in_a_guard_is_allowed_if_all_its_tools_are(names, allow):
    watch = NoLoops()
    watch.allow = allow
    guard = LoopGuard(LoopDetector.default(), observers=[watch])
    for name in names * 4:
        guard.tell(guard.run.record_call(name, {}, "x"), "r")
    if allow.issuperset(names):
        watch.end()
    else:
        with pytest.raises(AssertionError, match="got stuck"):
            watch.end()


def test_a_name_that_looks_like_a_secret_is_not_shown(run_tests):
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
    done = run_tests(
        f"""
def test_loops(no_loops):
    guard = LoopGuard(observers=[no_loops])
    for _ in range(4):
        guard.tell(guard.run.record_call("{key}", {{}}, "x"), "r")
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E *repeat: [*][*][*] *"])


def test_a_test_that_fails_by_itself_is_left_as_it_is(run_tests):
    done = run_tests(
        """
def test_wrong(no_loops):
    run_agent(no_loops, 5)
    assert "this" == "that"
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.no_fnmatch_line("*got stuck*")


def test_the_fixture_may_be_that_of_another_fixture(run_tests):
    done = run_tests(
        """
@pytest.fixture
def agent_run(no_loops):
    return run_agent(no_loops, 5)

def test_stuck(agent_run):
    assert agent_run
"""
    )
    done.assert_outcomes(failed=1)


REPORTED = """
def test_one(no_loops):
    run_agent(no_loops, 5)

def test_two(no_loops):
    no_loops(steps(2, tool="peek"))
"""


def test_all_runs_are_put_into_the_report(run_tests, pytester):
    done = run_tests(REPORTED, "--antiloop-report", "page.html")
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(["antiloop report: page.html: 2 runs"])
    page = (pytester.path / "page.html").read_text(encoding="utf-8")
    name = "test_all_runs_are_put_into_the_report.py"
    assert f"{name}::test_one" in page
    assert f"{name}::test_two" in page
    assert '"peek"' in page


def test_without_runs_there_is_no_report(run_tests, pytester):
    done = run_tests("def test_nothing(): pass", "--antiloop-report", "page.html")
    done.stdout.fnmatch_lines(["antiloop report: page.html: not written, as no_loops was given*"])
    assert not (pytester.path / "page.html").exists()


@pytest.mark.parametrize(("path", "why"), [("no/page.html", "no folder"), (".", "is a folder")])
def test_a_report_that_cannot_be_written_is_refused_before_the_tests(run_tests, path, why):
    done = run_tests("def test_nothing(): pass", "--antiloop-report", path)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*--antiloop-report: *{why}*"])


class Config:
    """As much of a pytest configuration as the plugin uses."""

    def __init__(self, path):
        self.path, self.stash = str(path), pytest.Stash()

    def getoption(self, _):
        return self.path


class BrokenOff(list):
    """Runs, the last of which cannot be had."""

    def __iter__(self):
        yield from super().__iter__()
        raise OSError("no more")


def finish(config, runs):
    config.stash[pytest_plugin._RUNS] = runs
    pytest_plugin.pytest_sessionfinish(SimpleNamespace(config=config))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return (tmp_path_factory.mktemp("folder") for _ in itertools.count())


@given(st.lists(st.text("ab\n\u20ac"), min_size=1, max_size=3), st.sampled_from([None, "", "old"]))
def test_a_page_that_is_there_stays_until_the_new_one_is_complete(folders, names, old):
    page = next(folders) / "page.html"
    if old is not None:
        page.write_text(old)
    config = Config(page)
    pytest_plugin.pytest_configure(config)
    runs = [RecordedRun(name, (ToolCall("ls"),)) for name in names]
    with pytest.raises(OSError, match="no more"):
        finish(config, BrokenOff(runs))
    assert [each.read_text() for each in page.parent.iterdir()] == [old] * (old is not None)
    finish(config, runs)
    made = io.StringIO()
    report.write_page(((run, health.evaluate(run)) for run in runs), made)
    assert [each.read_text() for each in page.parent.iterdir()] == [made.getvalue()]


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


NO_FILES = {
    "a named pipe": os.mkfifo,
    "a socket": make_socket,
    "a link to ": lambda path: path.symlink_to(path.parent.parent / "precious"),
    "is a folder": os.mkdir,
}


@given(st.sampled_from(sorted(NO_FILES)), st.lists(st.sampled_from("abc"), max_size=3))
def test_what_is_no_file_is_named_before_the_tests(folders, kind, links):
    folder = next(folders)
    path = folder / "page"
    NO_FILES[kind](path)
    for number, name in enumerate(links):
        path, target = folder / f"{number}{name}", path
        path.symlink_to(target)
    with pytest.raises(pytest.UsageError, match=f"--antiloop-report: .*{path.name}.*{kind}"):
        pytest_plugin.pytest_configure(Config(path))


def test_a_device_and_an_open_descriptor_are_written_to(tmp_path):
    with (tmp_path / "ours").open("w+") as ours:
        for path in (os.devnull, f"/dev/fd/{ours.fileno()}"):
            config = Config(path)
            pytest_plugin.pytest_configure(config)
            finish(config, [RecordedRun("r", (ToolCall("ls"),))])
    assert (tmp_path / "ours").read_text().startswith("<!doctype html>")


def test_workers_hand_their_runs_to_the_process_that_writes(pytestconfig):
    runs = pytest_plugin._RUNS
    said = [{"role": "assistant", "text": each} for each in ("one", "two")]
    line = json.dumps({"run_id": "r", "steps": [], "messages": said})
    worker = SimpleNamespace(stash=pytest.Stash(), workeroutput={})
    worker.stash[runs] = [SimpleNamespace(source="test_a.py::test_a", to_jsonl=lambda: line)]
    pytest_plugin.pytest_sessionfinish(SimpleNamespace(config=worker))
    node = SimpleNamespace(workeroutput=worker.workeroutput, config=SimpleNamespace())
    node.config.stash = pytest.Stash()
    node.config.stash[runs] = []
    pytest_plugin.pytest_testnodedown(node)
    (run,) = node.config.stash[runs]
    assert (run.run_id, run.source, len(run.messages)) == ("r", "test_a.py::test_a", 2)
    pytest_plugin.pytest_testnodedown(SimpleNamespace())  # a worker that crashed has no output


def test_the_distribution_names_the_plugin():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition("[project.entry-points.pytest11]\n")[2].partition("\n\n")[0]
    assert section == f'antiloop = "{pytest_plugin.__name__}"'


def test_the_plugin_loads_nothing_before_it_is_used():
    script = "import sys, antiloop.testing._pytest_plugin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name for name in done.stdout.split() if name.startswith("antiloop")}
    assert loaded == {
        *("antiloop", "antiloop._lazy", "antiloop.version", "antiloop.testing"),
        "antiloop.testing._pytest_plugin",
    }
