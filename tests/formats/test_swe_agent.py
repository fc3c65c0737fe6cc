"""SWE-agent's trajectories as calls and results."""

import pytest

from antiloop.formats import from_swe_agent
from antiloop.types import ToolCall, ToolResult


def message(role, content="", **more):
    return {"role": role, "content": content, **more}


def asks(*calls):
    body = [{"id": i, "function": {"name": "bash", "arguments": a}} for i, a in calls]
    return message("assistant", action="ls", tool_calls=body)


@pytest.mark.parametrize(
    ("action", "tool_name", "arguments"),
    [
        ("ls\n", "ls", {}),
        ("open app.py 10\n", "open", {"input": "app.py 10"}),
        ("edit 1:2\nx = 1\nend_of_edit", "edit", {"input": "1:2\nx = 1\nend_of_edit"}),
    ],
)
def test_the_first_word_of_an_action_is_the_tool(action, tool_name, arguments):
    told = from_swe_agent([{"action": action, "observation": "seen"}])
    assert told.calls == (ToolCall(tool_name, arguments, None, 0),)
    assert told.results == (ToolResult("seen"),)


def test_each_step_is_a_round_and_an_empty_action_is_no_call():
    steps = [
        {"action": "ls", "observation": "a"},
        {"action": " \n", "observation": "Your reply could not be read."},
        {"action": "ls"},
    ]
    told = from_swe_agent(steps)
    assert [call.round for call in told.calls] == [0, 2]
    assert told.results == (ToolResult("a"), None)


def test_messages_are_read_by_their_tool_calls():
    told = from_swe_agent(
        [
            message("system", "be good"),
            message("user", "fix it"),
            asks(("1", '{"command": "ls"}'), ("2", "{bad")),
            message("tool", "a", tool_call_ids=["1", "2"]),
        ]
    )
    assert told.calls == (
        ToolCall("bash", {"command": "ls"}, "1", 2),
        ToolCall("bash", "{bad", "2", 2),
    )
    assert told.results == (ToolResult("a"), ToolResult("a"))
    assert told.turn_starts == (0,)


def test_messages_without_tool_calls_are_read_by_their_action():
    told = from_swe_agent(
        [
            message("assistant", action="ls -F", message_type="action"),
            message("user", "a.py", message_type="observation"),
            message("assistant", "I am done."),
        ]
    )
    assert told.calls == (ToolCall("ls", {"input": "-F"}, None, 0),)
    assert (told.results, told.turn_starts) == ((ToolResult("a.py"),), ())


@pytest.mark.parametrize("step", [None, 7, "x", [], {"action": None}, {"role": 7}])
def test_what_is_no_step_is_no_call(step):
    assert len(from_swe_agent([step])) == 0
