"""Objects say what they are in one short line, whatever they hold."""

import collections.abc
import inspect
import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AgentTrace,
    AsyncAgentObserver,
    LoggingObserver,
    LoopDetector,
    Message,
    Role,
    ScriptedProvider,
    StepType,
    ToolCall,
    ToolResult,
    TraceStep,
    loop_detection,
    tool,
)
from antiloop.agent import ModelJudge, Provider, Tool
from antiloop.agent._tools.toolbox import Toolbox
from antiloop.agent.providers import AnthropicProvider, OpenAIProvider
from antiloop.formats import HistoryBuilder
from antiloop.health import HealthMonitor, HealthWatch, evaluate
from antiloop.integrations import Guard, LoopMetrics
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection.presets import PRESETS
from antiloop.prices import Prices
from antiloop.report import DrawnPart
from antiloop.testing import LoopScore, NoLoops
from antiloop.traces import RecordedRun, RunRecorder
from antiloop.types import PartialResult
from test_architecture import public_names


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


def filled(kind, text, within=()):
    """Make what a field of a dataclass may hold, with a text wherever one fits."""
    inner = [each for each in get_args(kind) if each not in (type(None), Ellipsis)]
    origin = get_origin(kind)
    if kind is Any or kind is str:
        return text
    if origin is Union:
        return filled(inner[-1], text, within)
    if origin in (tuple, list, collections.abc.Sequence):
        return tuple(filled(each, text, within) for each in inner)
    if origin is not None and issubclass(origin, collections.abc.Mapping):
        return {text: filled(inner[-1], text, within)}
    if origin is collections.abc.Callable:
        return len
    if is_dataclass(kind) and kind not in within:
        return made_of(kind, text, within)
    if kind is LoopDetector:
        return LoopDetector.default()
    if kind in (bool, int, float):
        return kind(7)
    return next(iter(kind)) if issubclass(kind, Enum) else None


def made_of(kind, text, within=()):
    """Make an object of a dataclass, which checks nothing of it."""
    thing = kind.__new__(kind)
    hints = get_type_hints(kind)
    for each in fields(kind):
        value = filled(hints[each.name], text, (*within, kind))
        object.__setattr__(thing, each.name, value)
    return thing


PUBLIC = {thing for _, thing in public_names() if inspect.isclass(thing)}
DATA = sorted(
    filter(is_dataclass, PUBLIC - {loop_detection.JudgedCall}), key=lambda kind: kind.__qualname__
)
ELSEWHERE = (Enum, Exception, dict, loop_detection.BaseDetector)
"""Enums and errors say by themselves what they are; detectors have tests below."""


def others(folder, text):
    """Make one of each public class that is not a dataclass."""
    model = {"client": object()}
    window = loop_detection.Window()
    window.append([ToolCall(text)], [text])
    return [
        *(window, window.rounds[0], window.rounds[0].evidence[0]),
        *(HistoryBuilder(), DrawnPart({}, text), Guard(), LoopMetrics(text), Prices()),
        *(Agent([], ScriptedProvider([text])), ScriptedProvider([text])),
        *(AgentObserver(), AsyncAgentObserver(), LoggingObserver(), NoLoops()),
        *(HealthMonitor(), HealthWatch(), LoopScore(1.0, True, text)),
        *(LoopDetector.escalating(), LoopDetector.default().monitor(), Tool(len, name=text or "a")),
        *(OpenAIProvider(text, **model), AnthropicProvider(text, **model)),
        *(ModelJudge(ScriptedProvider([text])), RunRecorder(folder / "runs", run_id=text)),
    ]


TEXTS = ["", "cats", "\x1b[2J\u202e", "a\nb", "x" * 100_000, "\ud800", "<a at 0x7f00>"]


@pytest.mark.parametrize("kind", DATA, ids=lambda kind: kind.__qualname__)
def test_each_public_dataclass_says_in_one_short_line_what_it_is(kind):
    for text in TEXTS:
        assert_is_short(made_of(kind, text))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_each_other_public_class_says_in_one_short_line_what_it_is(tmp_path, text):
    things = others(tmp_path, text)
    left = PUBLIC - set(DATA) - set(map(type, things)) - {Provider, PartialResult}
    assert {kind for kind in left if not issubclass(kind, ELSEWHERE)} == set()
    for thing in things:
        assert_is_short(thing)


def assert_is_short(thing):
    shown = repr(thing)
    assert shown.startswith(f"{type(thing).__name__}(")
    assert shown.isprintable()
    assert len(shown) <= 200
    assert " object at 0x" not in shown


def test_the_repr_of_a_dataclass_names_what_is_not_the_default():
    call = ToolCall("search", {"query": "cats", "limit": 3}, round=2)
    assert repr(call) == "ToolCall('search', arguments={query, limit}, round=2)"
    assert repr(ToolCall("search", '{"query": "cats"}')) == "ToolCall('search', arguments=<text>)"
    assert repr(ToolCall("search")) == "ToolCall('search')"
    assert repr(ToolResult("Found.", is_error=True)) == "ToolResult(text='Found.', is_error=True)"
    message = Message(Role.ASSISTANT, "", (call, call))
    assert repr(message) == "Message(role='assistant', tool_calls=<2 items>)"


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
    assert repr(monitor.window) == "Window(4 rounds)"
    assert repr(monitor.window.rounds[0]) == "Round(1 call)"
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


class Refusing(str):
    """A text that does not say what it is."""

    def __str__(self):
        raise RuntimeError("do not touch")

    __len__ = __bool__ = __iter__ = __str__


class Endless(int):
    """A number that is not written, as one of more digits than Python allows."""

    def __repr__(self):
        raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")


class Closed(dict):
    """Arguments that cannot be looked at."""

    def __iter__(self):
        raise RuntimeError("do not touch")

    __len__ = __bool__ = __iter__


@pytest.mark.parametrize("value", [Endless(1), Refusing("a"), Closed(a=1)], ids=type)
def test_what_cannot_be_shown_is_named_by_its_class(value):
    name = f"<{type(value).__name__}>"
    assert repr(ToolResult(value)) == f"ToolResult(text={name})"
    assert f"id={name}" in repr(ToolCall("look", {}, value))
    assert len(repr(ToolCall(value, value))) < 100
