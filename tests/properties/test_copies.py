"""What can be kept can be copied and pickled, and the copy does as the original does."""

import copy
import inspect
import io
import logging
import pickle

import pytest

import antiloop
from antiloop import (
    Agent,
    AgentConfig,
    LoggingObserver,
    LoopDetectedError,
    LoopDetector,
    Message,
    Role,
    ScriptedProvider,
    ToolCall,
    ToolResult,
    exceptions,
    health,
    loop_detection,
    traces,
    types,
)
from antiloop._text_enum import TextEnum
from antiloop.agent import ModelReply, ModelRequest, ToolSchema, Usage
from antiloop.calibration import tally
from antiloop.explanation import explain
from antiloop.formats import from_openai_chat
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    LoopAction,
    LoopPolicy,
    LoopSeverity,
    RepeatDetector,
    ToolPolicy,
    UnknownToolDetector,
    presets,
)
from antiloop.loop_detection._second_opinion.case_file import CaseCall, CaseFile, CaseRound

LS = ToolCall("ls", {"path": ".", "deep": [{"a": [1]}]}, "c1")
RUN = traces.RecordedRun("a1", (LS,) * 6, (ToolResult("a.py"),) * 6, agent="finder")
PRESETS = {
    "default": LoopDetector.default(),
    "escalating": LoopDetector.escalating(),
    **{name: getattr(presets, name)() for name in ("literal", "patient", "cycles", "budgeted")},
}


def looped_agent():
    def ls(path, deep):
        return "a.py"

    provider = ScriptedProvider([LS] * 5 + ["Done."])
    return Agent([ls], provider, AgentConfig(loop_detector=LoopDetector.default()))


def agent_result():
    agent = looped_agent()
    try:
        return agent.run("Go")
    except LoopDetectedError as error:
        return error.partial_result


def agent_error():
    with pytest.raises(LoopDetectedError) as caught:
        looped_agent().run("Go")
    return caught.value


def verdict():
    monitor = LoopDetector.escalating().monitor()
    return [monitor.record_call("ls", {"path": "."}, "a.py") for _ in range(3)][-1]


def health_monitor():
    monitor = health.HealthMonitor()
    for number in range(4):
        monitor.add_round([LS], [ToolResult("a.py")])
        monitor.add(traces.RunEvent("llm_call_completed", number, tokens=5))
    return monitor


CASE = CaseFile("r", 1, 0.5, (CaseRound((CaseCall(1, "ls", "{}", "a.py"),)),))
EQUAL = {
    "call": LS,
    "call with text": ToolCall("ls", "{broken", round=3),
    "result": ToolResult("a.py", True),
    "image": types.Image("cG5n", "image/png"),
    "message": Message(Role.ASSISTANT, "x", (LS,)),
    "reply": ModelReply("x", (LS,), Usage(1, 2)),
    "request": ModelRequest(
        (Message(Role.USER, "x"),), (ToolSchema("ls", "", {"type": "object"}),)
    ),
    "case": CASE,
    "round of a case": CASE.rounds[0],
    "call of a case": CASE.rounds[0].calls[0],
    "profile": loop_detection.ClientProfile.named("codex"),
    "pattern of calls": loop_detection.ClientProfile.named("codex").waits[0],
    "opinion": loop_detection.Opinion(True, 0.9, "It rewrites one file."),
    "second opinion": loop_detection.SecondOpinion(len),
    "verdict": verdict(),
    "detection": verdict().detection,
    "action": LoopAction.BLOCK,
    "policy": LoopPolicy.INJECT_MESSAGE,
    "severity": LoopSeverity.CRITICAL,
    "ladder": Escalation(("notify", "stop")),
    "tool policy": ToolPolicy(key=["path"], thresholds={"repeat": 5}),
    "agent result": agent_result(),
    "trace": agent_result().trace,
    "recorded run": RUN,
    "event": traces.RunEvent("llm_call_completed", 3, tokens=5),
    "history": from_openai_chat([{"role": "user", "content": "Go"}]),
    "explanation": explain(RUN, LoopDetector.escalating()),
    "health report": health.evaluate(RUN),
    "health rule": health.RULES[0],
    "tally": tally([RUN], PRESETS["default"]),
}
"""What is equal to its copy."""

ERRORS = {
    **{
        name: kind("words")
        for name, kind in vars(exceptions).items()
        if inspect.isclass(kind) and issubclass(kind, Exception)
    },
    "LoopDetectedError of a run": agent_error(),
    "LoopDetectedError of a verdict": verdict().as_error(),
}

CONFIGURED = {
    **PRESETS,
    "thorough": LoopDetector.thorough(),
    **{f"{name} - {each.name}": each for name, d in PRESETS.items() for each in d.detectors},
    "call limit": CallLimitDetector(5, per_tool={"ls": 3}),
    "unknown tool": UnknownToolDetector(3),
    "one of each option": LoopDetector(
        [RepeatDetector(3, name="mine")],
        Escalation(),
        escalations={"mine": Escalation(("stop",))},
        inject_message="Stop it.",
        window=20,
        tools={"ls": ToolPolicy(poll=True)},
        notice_role="user",
    ),
    "profile": health.HealthProfile(),
}
"""What shows how it is configured in ``vars``."""

RUNNING = {
    "monitor": lambda: LoopDetector.escalating().monitor(),
    "monitor of a detector of its own": lambda: LoopDetector([Own()], LoopPolicy.STOP).monitor(),
}
"""What goes on as its copy does; each gives a monitor."""


class Own(antiloop.BaseDetector):
    """A detector of the user's own, which looks at texts."""

    name = "own"

    def check(self, tool_calls, tool_results):
        if len(tool_calls) < 4:
            return None
        return antiloop.LoopDetection(self.name, f"{len(tool_calls)} calls", {"tool": "ls"})


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def unpickled_elsewhere(value):
    """Pickle as other Pythons do."""
    file = io.BytesIO()
    pickle.Pickler(file, protocol=2).dump(value)
    return pickle.loads(file.getvalue())


WAYS = [copy.copy, copy.deepcopy, pickled, unpickled_elsewhere]
ways = pytest.mark.parametrize("way", WAYS)


@ways
@pytest.mark.parametrize("name", EQUAL)
def test_a_copy_of_a_value_is_equal_to_it(way, name):
    made = way(EQUAL[name])
    assert type(made) is type(EQUAL[name])
    assert made == EQUAL[name]
    assert repr(made) == repr(EQUAL[name])


@ways
@pytest.mark.parametrize("name", ERRORS)
def test_a_copy_of_an_error_says_the_same(way, name):
    error = ERRORS[name]
    made = way(error)
    assert type(made) is type(error)
    assert str(made) == str(error)
    for field in ("detector", "details", "detection", "trace", "partial_result"):
        assert getattr(made, field, None) == getattr(error, field, None)


@ways
@pytest.mark.parametrize("name", CONFIGURED)
def test_a_copy_of_what_is_configured_is_configured_alike(way, name):
    assert shown(way(CONFIGURED[name])) == shown(CONFIGURED[name])


def shown(thing):
    """Show an object by what it consists of."""
    if isinstance(thing, LoopDetector):
        return thing.to_config()
    if isinstance(thing, health.HealthProfile):
        return {name: shown(value) for name, value in vars(thing).items()}
    if isinstance(thing, antiloop.BaseDetector):
        return type(thing), vars(thing)
    return thing


@ways
@pytest.mark.parametrize("name", PRESETS)
def test_a_copy_of_a_detector_judges_alike(way, name):
    detector = PRESETS[name]
    made = way(detector)
    assert list(traces.replay(RUN, made)) == list(traces.replay(RUN, detector))


@pytest.mark.parametrize("way", [copy.deepcopy, pickled, unpickled_elsewhere])
@pytest.mark.parametrize("name", RUNNING)
def test_a_copy_of_a_monitor_goes_on_as_it_does(way, name):
    monitor = RUNNING[name]()
    for count in range(6):
        made = way(monitor)
        call = [ToolCall("ls", {"path": "."}, round=count)]
        assert made.before(call[0]) == monitor.before(call[0])
        assert made.after(call, ["a.py"]) == monitor.after(call, ["a.py"])
        assert made.snapshot() == monitor.snapshot()


@pytest.mark.parametrize("way", [copy.deepcopy, pickled, unpickled_elsewhere])
def test_a_copy_of_a_health_monitor_goes_on_as_it_does(way):
    monitor = health_monitor()
    made = way(monitor)
    assert made.report() == monitor.report()
    for each in (made, monitor):
        each.add_round([LS], [ToolResult("b.py")])
    assert made.report() == monitor.report()


@pytest.mark.parametrize("way", [copy.deepcopy, pickled, unpickled_elsewhere])
def test_a_copy_of_a_guard_goes_on_as_it_does(way):
    guard = LoopGuard()
    for _ in range(3):
        call = ToolCall("ls", {"path": "."})
        guard.begin(call)
        guard.end(call, ToolResult("a.py"))
    made = way(guard)
    assert made.verdict == guard.verdict
    assert made.take_notice() == guard.take_notice() != ""
    call = ToolCall("ls", {"path": "."})
    made.begin(call)
    made.end(call, ToolResult("a.py"))
    assert (made.run.call_count, guard.run.call_count) == (4, 3)


@ways
def test_a_copy_of_an_agent_runs_as_it_does(way):
    provider = ScriptedProvider([LS, "Done."], repeat_last=True)
    config = AgentConfig(observers=[LoggingObserver(logging.getLogger("x"))], system_prompt="Be.")
    agent = Agent([], provider, config)
    assert way(agent).run("Go").messages == agent.run("Go").messages


def test_no_public_kind_of_value_is_forgotten():
    kinds = {type(value) for group in (EQUAL, ERRORS, CONFIGURED) for value in group.values()}
    kinds |= {loop_detection.LoopMonitor, loop_detection.BaseDetector}
    public = {
        thing
        for module in (antiloop, loop_detection, exceptions, types)
        for name in (getattr(module, "__all__", None) or vars(module))
        for thing in [getattr(module, name)]
        if inspect.isclass(thing) and thing.__module__.startswith("antiloop")
        if thing is not TextEnum  # only others are made of it
    }
    # A model, who watches, and what a run is made of are tested by their runs.
    apart = {Agent, ScriptedProvider, LoggingObserver, AgentConfig, antiloop.AgentObserver}
    # A custom detector is given these; they live as long as the monitor.
    apart |= {loop_detection.Window, loop_detection.Round, loop_detection.JudgedCall}
    apart |= {
        types.PartialResult,  # a protocol
        loop_detection.CallPattern,
        loop_detection.ClientProfile,
        loop_detection.PresetOptions,
        loop_detection.Outcome,
        loop_detection.WindowDetector,
        antiloop.AsyncAgentObserver,
        antiloop.TraceStep,
        antiloop.StepType,
        antiloop.RunStatus,
    }
    assert public - kinds - apart == {Role}
