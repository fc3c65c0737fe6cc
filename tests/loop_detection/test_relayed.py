"""A call that is handed on by a tool that calls tools is judged as if it were made."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy, ToolResult
from antiloop.loop_detection import CallLimitDetector
from antiloop.loop_detection._evidence.relayed import relayed


def told(steps):
    monitor = LoopDetector.escalating().monitor()
    return [monitor.after([ToolCall(*call)], [answer]).action.value for *call, answer in steps]


CALLS = st.sampled_from(
    [
        ("bash", {"command": "sleep 30; ls out"}),
        ("write_file", {"path": "a", "content": "b"}),
        ("read_file", {"path": "a"}),
        ("scroll_down", {}),
        ("execute_sql", {"query": "INSERT INTO a VALUES (1)"}),
    ]
)


@given(st.lists(st.tuples(CALLS, st.sampled_from(["ok", "x = 1", "No files found"])), max_size=20))
def test_a_call_that_is_handed_on_is_judged_as_if_it_were_made(run):
    plain = told([(*call, answer) for call, answer in run])
    for hand_on in (
        lambda tool, given: ("use_mcp_tool", {"server": "s", "tool_name": tool, "args": given}),
        lambda tool, given: ("call_tool", {"name": tool, "arguments": json.dumps(given)}),
        lambda tool, given: (tool, {"params": given} if given else given),
        lambda tool, given: (tool, {"input": json.dumps(given)}),
    ):
        assert told([(*hand_on(*call), answer) for call, answer in run]) == plain


@pytest.mark.parametrize(
    "call",
    [
        ("a", "text"),
        ("a", [{"tool": "b", "args": {}}]),
        ("a", [7]),
        ("a", {}),
        ("a", {"input": '{"b": 1'}),
        ("a", {"input": '["b"]'}),
        ("a", {"query": '{"b": 1}'}),
        ("a", {"tool": "b", "args": "no object"}),
        ("a", {"tool": "b c", "args": {}}),
        ("a", {"tool": "b" * 101, "args": {}}),
        ("a", {"tool": 7, "args": {}}),
        ("a", {"tool": "b", "args": {}, "input": {}}),
        ("a", {"name": "b", "args": {}}),
        ("a", {"tool": "b", "args": {}, "c": 1, "d": 2, "e": 3}),
        ("a", {"tool": "b", "path": "c", "args": {"path": "d"}}),
    ],
    ids=str,
)
def test_other_calls_are_about_themselves(call):
    assert relayed(*call) == call


def test_the_longest_name_of_a_tool_is_one():
    assert relayed("a", {"tool": "b" * 100, "args": {}}) == ("b" * 100, {})


@given(CALLS, st.sampled_from(["server", "server_name", "device", "account", "host"]))
def test_a_tool_of_several_servers_is_several_tools(call, named):
    tool, given = call
    answers = [f"all is well on {number}" for number in range(6)]
    for answer in ("all is well", None):
        hands = [{named: f"s{n}", "tool_name": tool, "arguments": given} for n in range(6)]
        run = [("use_mcp_tool", each, answer or text) for each, text in zip(hands, answers)]
        calls = [relayed(*each[:2]) for each in run]
        assert len({json.dumps(each) for each in calls}) == 6
        assert told(run)[:3] == ["continue"] * 3


def test_what_is_declared_about_a_tool_that_calls_tools_is_about_all_its_calls():
    detector = LoopDetector.escalating(tools={"use": ToolPolicy(thresholds={"repeat": 2})})
    monitor, call = detector.monitor(), ToolCall("use", {"tool": "read", "args": {"path": "a"}})
    assert [monitor.after([call], [ToolResult("x = 1")]).action.value for _ in "12"][1] == "notify"


def test_what_is_declared_about_a_tool_holds_where_its_call_is_handed_on():
    for policy, told in ((ToolPolicy(exempt=True), "continue"), (ToolPolicy(), "notify")):
        monitor = LoopDetector.escalating(tools={"read": policy}).monitor()
        call = ToolCall("use_mcp_tool", {"tool_name": "read", "arguments": {"path": "a"}})
        assert [monitor.after([call], ["x = 1"]).action.value for _ in "123"][2] == told


@pytest.mark.parametrize("per_tool", [{"read": 2}])
def test_a_budget_counts_the_calls_that_are_handed_on(per_tool):
    monitor = LoopDetector([CallLimitDetector(per_tool=per_tool)], "stop").monitor()
    told = []
    for number in range(3):
        call = {"tool_name": "read", "arguments": {"path": f"a{number}"}}
        told.append(monitor.record_call("use_mcp_tool", call, f"x = {number}").action.value)
    assert told == ["continue", "continue", "stop"]


def test_a_judge_is_asked_beside_calls_that_do_not_count_though_they_are_handed_on():
    tools = {"todo": ToolPolicy(exempt=True)}
    monitor = LoopDetector.escalating(tools=tools, second_opinion=lambda _: True).monitor()
    call = ToolCall("call_tool", {"tool_name": "todo", "arguments": {"items": []}})
    assert monitor.after([call], ["ok"]).action.value == "continue"
    assert monitor.window.rounds == []
