"""The values that every part of the library shares."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    LoopAction,
    LoopDetection,
    LoopDetector,
    LoopVerdict,
    Message,
    Role,
    StepType,
    ToolCall,
    ToolPolicy,
    ToolResult,
    TraceStep,
)
from antiloop.agent import LoopDetected, ModelRequest
from antiloop.agent.providers import ToolSchema
from antiloop.calibration import calibrate
from antiloop.integrations.gateway import JudgedRequest
from antiloop.loop_detection import ClientProfile
from antiloop.traces import RecordedRun

times = st.none() | st.floats(0, 2e9)


@given(times, times)
def test_calls_and_results_are_equal_whenever_they_came_and_however_long_they_took(one, other):
    assert ToolCall("ls", {"a": 1}, started_at=one) == ToolCall("ls", {"a": 1}, started_at=other)
    assert ToolResult("ok", duration_s=one) == ToolResult("ok", duration_s=other)


def test_times_are_unknown_unless_given():
    assert ToolCall("ls").started_at is None
    assert ToolResult("ok").duration_s is None


ARGUMENTS = (
    st.none() | st.text(max_size=3) | st.dictionaries(st.text(max_size=2), st.lists(st.integers()))
)


@given(ARGUMENTS, st.none() | st.text(max_size=2), st.none() | st.integers(0, 3))
def test_equal_calls_are_one_in_a_set(arguments, call_id, number):
    one = ToolCall("ls", arguments, call_id, number)
    other = ToolCall("ls", copy.deepcopy(arguments), call_id, number, started_at=2.0)
    assert {one, other} == {one}
    assert {Message(Role.ASSISTANT, tool_calls=(each,)) for each in (one, other)} == {
        Message(Role.ASSISTANT, tool_calls=(one,))
    }
    assert len({one, ToolCall("ls", {"another": 1}, call_id, number)}) == 2


VALUES = [
    ToolCall("ls", {"a": [1]}),
    ToolResult("ok"),
    Message(Role.ASSISTANT, tool_calls=(ToolCall("ls", {"a": [1]}),)),
    TraceStep(StepType.TOOL_CALL, "ls", {"a": [1]}),
    ToolPolicy(poll={"a": [1]}, thresholds={"repeat": 4}, key=["a"], strip=["b"]),
    LoopDetection("repeat", "message", {"a": [1]}),
    LoopVerdict(detection=LoopDetection("repeat", "message", {"a": [1]})),
    ClientProfile.named("codex"),
    RecordedRun("r", (ToolCall("ls", {"a": [1]}),), client=ClientProfile.named("codex")),
    ToolSchema("ls", "List.", {"type": "object"}),
    ModelRequest((), (), {"type": "object"}),
    LoopDetected("repeat", "message", {"a": [1]}, LoopAction.STOP),
    JudgedRequest({"messages": []}),
    calibrate([], LoopDetector.default()),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_can_be_kept_in_a_set(value):
    assert copy.deepcopy(value) in {value}
