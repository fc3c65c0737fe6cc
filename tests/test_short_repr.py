"""Objects say what they are in one short line, whatever they hold."""

import inspect
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentTrace,
    LoopDetector,
    ScriptedProvider,
    StepType,
    ToolCall,
    TraceStep,
    loop_detection,
    tool,
)
from antiloop.agent.toolbox import Toolbox
from antiloop.health import evaluate
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun


def run_of(text, arguments=None):
    """Let an agent make the same call until it is stopped; give its result."""

    def search(query: str) -> str:
        return text

    call = ToolCall("search", arguments or {"query": text})
    provider = ScriptedProvider([call], repeat_last=True)
    config = AgentConfig(loop_detector=LoopDetector.escalating())
    return Agent([search], provider, config).run(text)


def objects(text):
    """Return what holds a text that came from outside, in all places where one can."""
    result = run_of(text)
    monitor = LoopDetector.escalating().monitor()
    verdicts = [monitor.record_call(text, {"q": text}, text) for _ in range(4)]
    return [
        result,
        replace(result, error=text),
        result.trace,
        *result.trace.steps,
        result.detection,
        monitor,
        *verdicts,
        *(verdict.detection for verdict in verdicts if verdict.detection),
        AgentTrace(text, (TraceStep(StepType.ERROR, text, {"text": text}),)),
        AgentConfig(system_prompt=text),
        evaluate(RecordedRun(text, (ToolCall(text),) * 9)),
        RecordedRun(text, (ToolCall(text),) * 3, source=f"{text}:1"),
    ]


@given(st.text() | st.sampled_from(["\x1b[2J\u202e", "a\nb", "x" * 100_000, "\ud800"]))
def test_whatever_an_object_holds_its_repr_is_one_short_line(text):
    for thing in objects(text):
        shown = repr(thing)
        assert shown.startswith(f"{type(thing).__name__}(")
        assert shown.isprintable()
        assert len(shown) <= 200


@pytest.mark.parametrize("name", PRESETS)
def test_a_loop_detector_names_its_detectors_and_its_ladder(name):
    detector = PRESETS[name]()
    shown = repr(detector)
    assert len(shown) <= 200
    assert all(each.name in shown for each in detector.detectors)
    assert all(action.value in shown for action in detector.escalation.actions)


DETECTORS = [
    made
    for name in loop_detection.__all__
    if inspect.isclass(made := getattr(loop_detection, name))
    and issubclass(made, loop_detection.BaseDetector)
    and not inspect.isabstract(made)
]


@pytest.mark.parametrize("made", DETECTORS, ids=lambda made: made.__name__)
def test_the_repr_of_a_detector_makes_it_again(made):
    detector = made(7)
    again = eval(repr(detector), {made.__name__: made})
    assert vars(again) == vars(detector)


def test_the_repr_of_a_detector_names_what_was_chosen():
    detector = loop_detection.RepeatDetector(3, patience=6)
    assert repr(detector) == "RepeatDetector(threshold=3, patience=6)"


def test_a_detector_of_your_own_is_called_by_its_name():
    class Mine(loop_detection.BaseDetector):
        name = "mine"

        def check(self, tool_calls, tool_results):
            return None

    assert repr(Mine()) == "Mine(name='mine')"


def test_what_a_repr_says():
    @tool
    def search(query: str) -> str:
        return "No results."

    provider = ScriptedProvider([ToolCall("search", {"query": "x"})], repeat_last=True)
    agent = Agent([search], provider, AgentConfig(loop_detector=LoopDetector.escalating()))
    result = agent.run("Refunds?")
    monitor = agent._config.loop_detector.monitor()
    assert repr(provider) == "ScriptedProvider(1 line, repeat_last=True)"
    assert repr(Toolbox([search])) == "Toolbox(search)"
    assert repr(search) == "Tool('search')"
    assert repr(agent) == "Agent(Toolbox(search), ScriptedProvider)"
    assert repr(result) == "AgentResult(loop_detected, 5 iterations, 5 tool calls, '')"
    said = "Tool 'search' was called 5 times in a row with the same arguments."
    assert repr(result.detection).startswith("LoopDetection('repeat', \"Tool 'search' was")
    assert result.detection.message == said
    assert repr(monitor) == "LoopMonitor(0 calls, Ladder(0 blocks))"
    for _ in range(4):
        verdict = monitor.record_call("search", {"query": "x"}, "No results.")
    assert repr(verdict).startswith("LoopVerdict(block, LoopDetection('repeat', ")
    assert repr(monitor).startswith("LoopMonitor(4 calls, Ladder(2 blocks")
    assert repr(monitor.after([], [])) == "LoopVerdict(continue)"
    assert repr(RecordedRun("r", (), source="f:1")) == "RecordedRun('r', 0 calls, 'f:1')"


def test_a_configuration_names_what_was_chosen():
    assert repr(AgentConfig()) == "AgentConfig()"
    chosen = AgentConfig(max_iterations=3, loop_detector=LoopDetector.default())
    detector = "LoopDetector([repeat, stall, ping_pong], raise)"
    assert repr(chosen) == f"AgentConfig(max_iterations=3, loop_detector={detector})"
    assert repr(LoopGuard(LoopDetector.default())) == f"LoopGuard({detector})"


def test_arguments_stay_out_of_a_repr():
    detection = run_of("No results.", {"query": "hunter2"}).detection
    assert not re.search("hunter2", repr(detection))
