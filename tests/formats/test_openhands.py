"""OpenHands' events, of both generations, as calls and results."""

import json

import pytest

from antiloop.formats import from_openhands
from antiloop.formats._transcripts.openhands import is_call
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def action(id_, name="run", source="agent", metadata=None, **args):
    told = {"id": id_, "source": source, "action": name, "args": args}
    return {**told, "tool_call_metadata": metadata} if metadata else told


def observation(cause, content, name="run", **more):
    return {"source": "agent", "cause": cause, "observation": name, "content": content, **more}


def metadata(call_id, arguments, reply="r1", name="execute_bash"):
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": "other", "function": {}}, {"id": call_id, "function": function}]
    response = {"id": reply, "choices": [{"message": {"tool_calls": calls}}]}
    return {"function_name": name, "tool_call_id": call_id, "model_response": response}


def sdk(kind, **more):
    return {"kind": kind, "source": "agent", "timestamp": "2026-11-21T04:00:00", **more}


def test_an_observation_belongs_to_the_action_that_caused_it():
    told = from_openhands(
        [
            action(1, command="ls", thought="hm", hidden=False),
            action(2, "read", path="a"),
            observation(2, "A", "read"),
            observation(1, "a.py"),
        ]
    )
    assert told.calls == (
        ToolCall("run", {"command": "ls"}, "event 1", 0),
        ToolCall("read", {"path": "a"}, "event 2", 1),
    )
    assert told.results == (ToolResult("a.py"), ToolResult("A"))


def test_actions_of_one_reply_are_one_round_with_the_arguments_that_it_wrote():
    told = from_openhands(
        [
            action(1, metadata=metadata("c1", {"command": "ls"}), command="ls", is_input=False),
            observation(1, "a"),
            action(2, metadata=metadata("c2", {"command": "pwd"})),
            action(3, metadata=metadata("c3", {"command": "ls"}, reply="r2")),
        ]
    )
    assert told.calls == (
        ToolCall("execute_bash", {"command": "ls"}, "c1", 0),
        ToolCall("execute_bash", {"command": "pwd"}, "c2", 0),
        ToolCall("execute_bash", {"command": "ls"}, "c3", 3),
    )


def test_a_reply_without_the_call_leaves_the_arguments_of_the_action():
    broken = {**metadata("c1", {}), "model_response": {"id": "r", "choices": [{}]}}
    assert from_openhands([action(1, metadata=broken, command="ls")]).calls[0].arguments == {
        "command": "ls"
    }


@pytest.mark.parametrize("more", [{"success": False}, {"observation": "error"}])
def test_failures_are_errors(more):
    told = from_openhands([action(1), {**observation(1, "no"), **more}])
    assert told.results == (ToolResult("no", is_error=True),)


def test_an_observation_without_its_action_is_found_by_the_id_of_the_call_or_dropped():
    answers = {"tool_call_metadata": {"tool_call_id": "c1"}}
    told = from_openhands(
        [
            action(1, metadata=metadata("c1", {})),
            observation(None, "state", "agent_state_changed"),
            observation(77, "a", **answers),
        ]
    )
    assert told.results == (ToolResult("a"),)


def test_an_observation_of_an_action_that_never_stood_here_is_a_step_if_it_was_a_tool():
    told = from_openhands(
        [
            action(1, "recall", source="user"),
            observation(1, "of what is no tool", "recall"),
            observation(7, "cut off", "recall"),
            observation(8, "a", "run"),
            observation(9, "b", "error", tool_call_metadata={"tool_call_id": "c9"}),
            observation(9, "c", "run", tool_call_metadata=metadata("c10", {})),
            sdk("AgentErrorEvent", tool_call_id="c11", tool_name="terminal", error="no"),
        ]
    )
    assert [(call.tool_name, call.id) for call in told.calls] == [
        ("run", "event 8"),
        ("(not recorded, call c9)", "c9"),
        ("execute_bash", "c10"),
        ("terminal", "c11"),
    ]
    assert [result.text for result in told.results] == ["a", "b", "c", "no"]


def test_what_uses_no_tool_or_is_of_the_user_is_no_call():
    assert not is_call(action(1, "message"))
    assert not is_call(action(1, "run", source="user"))
    assert not is_call({"action": {}})


def test_words_of_the_user_are_turns():
    told = from_openhands(
        [
            action(0, "message", source="user", content="hi"),
            action(1),
            action(2, "message", source="user", content=NOTICE_MARKER),
            action(3, "recall", source="user"),
            sdk("MessageEvent", source="user", llm_message={"content": [{"type": "text"}]}),
        ]
    )
    assert told.turn_starts == (0, 1)


def test_events_of_the_agent_sdk():
    def acts(id_, reply, **more):
        return sdk("ActionEvent", id=id_, tool_name="terminal", llm_response_id=reply, **more)

    told = from_openhands(
        [
            sdk("SystemPromptEvent"),
            acts("a", "r1", tool_call_id="1", tool_call={"arguments": '{"command": "ls"}'}),
            acts("b", "r1", tool_call_id="2", action={"command": "pwd", "thought": "x"}),
            acts("c", "r2", tool_call_id="3", action=None),
            sdk("ObservationEvent", action_id="a", observation={"output": "a.py"}),
            sdk("AgentErrorEvent", tool_call_id="2", error="no such tool"),
            sdk("UserRejectObservation", action_id="c", rejection_reason="don't"),
        ]
    )
    assert told.calls == (
        ToolCall("terminal", {"command": "ls"}, "1", 1),
        ToolCall("terminal", {"command": "pwd"}, "2", 1),
        ToolCall("terminal", None, "3", 3),
    )
    assert told.results == (
        ToolResult("a.py"),
        ToolResult("no such tool", True),
        ToolResult("don't", True),
    )


def test_an_observation_of_the_sdk_is_its_content_or_else_the_whole():
    def seen(observation):
        events = [
            sdk("ActionEvent", id="a"),
            sdk("ObservationEvent", action_id="a", observation=observation),
        ]
        return from_openhands(events).results[0]

    parts = [{"type": "text", "text": "a"}]
    assert seen({"content": parts, "is_error": True}) == ToolResult("a", is_error=True)
    assert seen({"n": 1}) == ToolResult('{"n":1}')
