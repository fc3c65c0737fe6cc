"""The values that every part of the library shares."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop import ToolCall, ToolResult

times = st.none() | st.floats(0, 2e9)


@given(times, times)
def test_calls_and_results_are_equal_whenever_they_came_and_however_long_they_took(one, other):
    assert ToolCall("ls", {"a": 1}, started_at=one) == ToolCall("ls", {"a": 1}, started_at=other)
    assert ToolResult("ok", duration_s=one) == ToolResult("ok", duration_s=other)


def test_times_are_unknown_unless_given():
    assert ToolCall("ls").started_at is None
    assert ToolResult("ok").duration_s is None
