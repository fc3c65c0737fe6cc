"""ATIF trajectories as calls and results."""

from types import SimpleNamespace

import pytest

from antiloop.formats import from_atif
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def call(id_, name="ls", arguments=None):
    return {"tool_call_id": id_, "function_name": name, "arguments": arguments or {}}


def agent(*calls, results=(), **more):
    seen = [{"source_call_id": id_, "content": content} for id_, content in results]
    return {"source": "agent", "tool_calls": list(calls), "observation": {"results": seen}, **more}


def user(text):
    return {"source": "user", "message": text}


def test_calls_of_one_step_are_one_round():
    told = from_atif(
        {
            "steps": [
                user("hi"),
                agent(call("1", "ls", {"p": "."}), call("2"), results=[("2", "b"), ("1", "a")]),
                agent(call("3")),
            ]
        }
    )
    assert told.calls == (
        ToolCall("ls", {"p": "."}, "1", 1),
        ToolCall("ls", {}, "2", 1),
        ToolCall("ls", {}, "3", 2),
    )
    assert told.results == (ToolResult("a"), ToolResult("b"), None)
    assert told.turn_starts == (0,)


def test_results_without_an_id_belong_to_the_latest_calls_in_order():
    told = from_atif({"steps": [agent(call("1"), call("2"), results=[(None, "a"), (None, "b")])]})
    assert told.results == (ToolResult("a"), ToolResult("b"))


def test_times_are_those_of_the_steps_where_they_tell_apart():
    asked = agent(call("1"), timestamp="1970-01-01T00:00:07Z")
    later = {"source": "system", "observation": {"results": [{"content": "a"}]}}
    told = from_atif({"steps": [asked, {**later, "timestamp": "1970-01-01T00:00:09.5Z"}]})
    assert (told.calls[0].started_at, told.results[0].duration_s) == (7.0, 2.5)
    # How long a call took is not known where its result stands in the same step.
    beside = agent(call("1"), results=[("1", "a")], timestamp="1970-01-01T00:00:07Z")
    told = from_atif({"steps": [beside]})
    assert (told.calls[0].started_at, told.results[0].duration_s) == (7.0, None)


def test_results_may_stand_in_a_later_step():
    later = {"source": "system", "observation": {"results": [{"content": "a"}]}}
    assert from_atif({"steps": [agent(call("1")), later]}).results == (ToolResult("a"),)


def test_steps_copied_from_an_earlier_trajectory_are_left_out():
    told = from_atif({"steps": [agent(call("1"), is_copied_context=True), agent(call("2"))]})
    assert [one.id for one in told.calls] == ["2"]


def test_the_words_of_antiloop_are_no_turn():
    told = from_atif({"steps": [agent(call("1")), user(NOTICE_MARKER + " loop"), user("go on")]})
    assert told.turn_starts == (1,)


def test_objects_are_read_like_json():
    one = SimpleNamespace(tool_call_id="1", function_name="ls", arguments='{"p": 1}')
    step = SimpleNamespace(source="agent", tool_calls=[one], observation=None)
    assert from_atif(SimpleNamespace(steps=(step,))).calls[0].arguments == {"p": 1}


@pytest.mark.parametrize("value", [None, {}, {"steps": 7}, {"steps": [None, 7, []]}])
def test_what_is_no_trajectory_has_no_calls(value):
    assert len(from_atif(value)) == 0


def test_a_result_that_only_points_elsewhere_is_unknown():
    ref = {"source_call_id": "1", "subagent_trajectory_ref": [{"trajectory_id": "x"}]}
    step = {"source": "agent", "tool_calls": [call("1")], "observation": {"results": [ref]}}
    assert from_atif({"steps": [step]}).results == (None,)
