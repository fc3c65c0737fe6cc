import asyncio
import inspect
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AsyncAgentObserver,
    LoggingObserver,
    LoopDetector,
    LoopPolicy,
    RepeatDetector,
    RunStatus,
    ScriptedProvider,
    ToolCall,
)
from antiloop.testing import repeating_script

SCRIPT = (ToolCall("look"), "Done.")
HOOKS = [name for name in vars(AgentObserver) if name.startswith("on_")]


def look(at: str = "") -> str:
    return "x"


def crash(request):
    raise OSError("gone")


def agent(*observers, script=SCRIPT, detector=None):
    config = AgentConfig(observers=observers, loop_detector=detector)
    return Agent([look], ScriptedProvider(script), config)


@pytest.fixture(params=["run", "arun"])
def go(request):
    if request.param == "run":
        return lambda made: made.run("Go")
    return lambda made: asyncio.run(made.arun("Go"))


class Recorder(AgentObserver):
    """Receives everything."""

    def __init__(self):
        self.heard = []


def _hearing(name):
    def hear(self, *arguments):
        self.heard.append((name, arguments))

    return hear


def _hearing_later(name):
    async def hear(self, *arguments):
        await asyncio.sleep(0)
        self.heard.append((name, arguments))

    return hear


class AsyncRecorder(AsyncAgentObserver):
    """Receives everything, in coroutines."""

    def __init__(self):
        self.heard = []


for _name in HOOKS:
    setattr(Recorder, _name, _hearing(_name))
    setattr(AsyncRecorder, f"a_{_name}", _hearing_later(_name))


def test_both_classes_have_the_same_events_with_the_same_arguments():
    for name in HOOKS:
        sync, later = getattr(AgentObserver, name), getattr(AsyncAgentObserver, f"a_{name}")
        assert inspect.signature(sync) == inspect.signature(later)
        assert inspect.iscoroutinefunction(later)
    assert len([name for name in vars(AsyncAgentObserver) if name.startswith("a_on_")]) == 14


def test_an_observer_that_overrides_nothing_changes_nothing(go):
    assert go(agent(AgentObserver(), AsyncAgentObserver())).text == "Done."


def test_an_observer_hears_everything_in_order(go):
    recorder = Recorder()
    result = go(agent(recorder))
    assert [name for name, _ in recorder.heard] == [
        "on_run_start",
        "on_user_message",
        "on_iteration_start",
        "on_model_start",
        "on_model_end",
        "on_tool_start",
        "on_tool_end",
        "on_round",
        "on_iteration_start",
        "on_model_start",
        "on_model_end",
        "on_said",
        "on_run_end",
    ]
    assert all(arguments[0] == result.run_id for _, arguments in recorder.heard)
    told = dict(recorder.heard)
    assert told["on_tool_end"][1:] == (result.tool_calls[0], result.tool_results[0])
    assert told["on_iteration_start"][1] == 2
    assert told["on_model_end"][1].text == "Done."
    assert told["on_run_end"][1] == result


def test_an_async_observer_hears_the_same_as_a_sync_one(go):
    sync, later = Recorder(), AsyncRecorder()
    go(agent(sync, later))
    assert later.heard == sync.heard


def test_an_error_is_heard_before_the_end(go):
    recorder = Recorder()
    with pytest.raises(OSError, match="gone"):
        go(agent(recorder, script=[crash]))
    (error, (run_id, raised)), (end, (_, result)) = recorder.heard[-2:]
    assert (error, end) == ("on_error", "on_run_end")
    assert isinstance(raised, OSError)
    assert run_id == result.run_id
    assert result.status is RunStatus.FAILED


class Broken(AgentObserver):
    pass


class BrokenLater(AsyncAgentObserver):
    pass


def _break(self, *arguments):
    raise RuntimeError("broken")


async def _break_later(self, *arguments):
    raise RuntimeError("broken")


for _name in HOOKS:
    setattr(Broken, _name, _break)
    setattr(BrokenLater, f"a_{_name}", _break_later)


@pytest.mark.parametrize("kind", [Broken, BrokenLater])
def test_an_observer_that_raises_is_logged_by_name_and_harms_nothing(go, caplog, kind):
    recorder = Recorder()
    assert go(agent(kind(), recorder)).text == "Done."
    assert len(recorder.heard) == 13
    assert f"observer {kind.__name__} failed in on_run_start" in caplog.text
    assert "RuntimeError: broken" in caplog.text


TELLS_WHO = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="a task cannot tell who has cancelled it"
)


class Cancelled(AgentObserver):
    def on_tool_end(self, *arguments):
        raise asyncio.CancelledError  # as from an event loop of its own


class CancelledLater(AsyncAgentObserver):
    async def a_on_tool_end(self, *arguments):
        task = asyncio.ensure_future(asyncio.sleep(3600))
        task.cancel()
        await task


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a task cannot tell who has cancelled it")
@pytest.mark.parametrize("kind", [pytest.param(Cancelled, marks=TELLS_WHO), CancelledLater])
def test_an_observer_that_is_cancelled_from_inside_harms_nothing(go, caplog, kind):
    recorder = Recorder()
    assert go(agent(kind(), recorder)).text == "Done."
    assert len(recorder.heard) == 13
    assert f"observer {kind.__name__} failed in on_tool_end" in caplog.text


async def test_a_run_that_is_cancelled_while_an_observer_works_ends():
    class Waits(AsyncAgentObserver):
        async def a_on_tool_end(self, *arguments):
            await asyncio.sleep(3600)

    run = asyncio.ensure_future(agent(Waits()).arun("Go"))
    await asyncio.wait({run}, timeout=0.05)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


def test_an_observer_that_raises_hides_no_error_of_the_provider(go):
    with pytest.raises(OSError, match="gone"):
        go(agent(Broken(), script=[crash]))


def test_a_sync_method_may_be_a_coroutine_all_the_same(go):
    class Confused(AgentObserver):
        heard = 0

        async def on_run_end(self, run_id, result):
            self.heard += 1

    confused = Confused()
    go(agent(confused))
    assert confused.heard == 1


async def test_an_async_observer_works_in_a_sync_run_inside_a_running_event_loop():
    recorder = AsyncRecorder()
    assert agent(recorder).run("Go").text == "Done."
    assert recorder.heard[-1][0] == "on_run_end"


def test_the_logging_observer_warns_of_loops(go, caplog):
    caplog.set_level(logging.DEBUG)
    detector = LoopDetector([RepeatDetector(3)], LoopPolicy.STOP)
    script = repeating_script(ToolCall("look"), times=3)
    run_id = go(agent(LoggingObserver(), script=script, detector=detector)).run_id
    records = [record for record in caplog.records if "antiloop.agent" in record.name]
    [warning] = [record for record in records if record.levelno >= logging.WARNING]
    assert warning.getMessage().startswith(f"run {run_id}: tool-call loop found by repeat: ")
    infos = [record.getMessage() for record in records if record.levelno == logging.INFO]
    assert infos == [
        f"run {run_id} started",
        f"run {run_id} ended: loop_detected after 3 iterations",
    ]
    debugs = [record.getMessage() for record in records if record.levelno == logging.DEBUG]
    assert debugs[:3] == [
        f"run {run_id}: iteration 1",
        f"run {run_id}: calling look",
        f"run {run_id}: look answered",
    ]


def test_the_logging_observer_tells_of_failures(caplog):
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger("mine")
    with pytest.raises(OSError, match="gone"):
        agent(LoggingObserver(log), script=[ToolCall("lok"), crash]).run("Go")
    texts = [record.getMessage() for record in caplog.records if record.name == "mine"]
    assert any(text.endswith("lok failed") for text in texts)
    assert any(text.endswith("failed: gone") for text in texts)


@given(st.text(min_size=1))
def test_the_logging_observer_writes_one_line_whatever_a_model_calls_a_tool(name):
    heard = []
    log = logging.getLogger("antiloop.test_observers")
    log.setLevel(logging.DEBUG)
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    log.addHandler(handler)
    try:
        agent(LoggingObserver(log), script=[ToolCall(name), "Done."]).run("Go")
    finally:
        log.removeHandler(handler)
    assert any(text.endswith(" failed") for text in heard)
    assert all(map(str.isprintable, heard))


@pytest.mark.parametrize("base", [AgentObserver, AsyncAgentObserver])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("on_tool_loop_detect", "on_tool_loop_detected"),
        ("on_runend", "on_run_end"),
        ("a_on_verdicts", "a_on_verdict"),
    ],
)
def test_a_method_that_is_named_almost_like_an_event_is_warned_of(base, name, meant):
    told = rf"^Mine\.{name} is not an event of a run and is never called; did you mean '{meant}'\?$"
    with pytest.warns(UserWarning, match=told) as warned:
        type("Mine", (base,), {name: lambda self: None})
    assert warned[0].filename == __file__


def test_methods_of_ones_own_and_those_of_another_library_are_not_warned_of():
    class Handler:
        def on_tool_ended(self):
            """Called by another library."""

    class Both(AgentObserver, Handler):
        def on_tool_ended(self):
            """Called by another library."""

        def a_on_run_end(self, run_id, result):
            """Called by this one, as all events are."""

        def on_the_whole(self):
            """Like none of ours."""
