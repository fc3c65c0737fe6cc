"""Event logs: which events make one run, which calls one round, and which result is whose."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.types import ToolCall, ToolResult


def event(type_, run_id="a", **fields):
    return {"type": type_, "run_id": run_id, **fields}


def started(tool="ls", **fields):
    return event("tool_call_started", tool=tool, **fields)


def completed(tool="ls", **fields):
    return event("tool_call_completed", tool=tool, **fields)


def test_a_completed_call_needs_no_start(read):
    (run,) = read(completed(input={"p": "."}, output="a.py", latency_ms=5))
    assert run.calls == (ToolCall("ls", {"p": "."}, None, 0),)
    assert run.results == (ToolResult("a.py"),)
    assert (run.events[0].step, run.events[0].latency_ms, run.events[0].output) == (0, 5.0, None)


def test_a_call_that_never_completed_has_an_unknown_result(read):
    (run,) = read(started(input="{bad"), completed("cd", output="x"))
    assert run.calls[0].arguments == "{bad"
    assert run.results == (None, ToolResult("x"))


def test_a_result_that_names_no_tool_is_of_the_oldest_open_call(read):
    (run,) = read(started(input={"p": 1}), started("cd"), event("tool_call_completed", output="x"))
    assert run.results == (ToolResult("x"), None)


def test_the_oldest_of_very_many_open_calls_are_given_up(read):
    (run,) = read(*(started(input={"n": n}) for n in range(101)), completed(output="x"))
    assert [n for n, result in enumerate(run.results) if result] == [1]


def test_results_go_to_the_call_with_their_id(read):
    (run,) = read(
        started(call_id="1"),
        started(call_id="2"),
        completed(call_id="2", output="b"),
        completed(call_id="1", output="a"),
        completed(call_id="3", output="c"),
    )
    assert [result.text for result in run.results] == ["a", "b", "c"]


def test_without_ids_the_oldest_open_call_of_the_tool_is_answered(read):
    (run,) = read(
        started(input={"n": 1}),
        started(input={"n": 2}),
        started(input={"n": 3}),
        completed(input={"n": 2}, output="b"),
        completed(output="a"),
        completed(input={"n": 9}, output="d"),
    )
    assert [result and result.text for result in run.results] == ["a", "b", None, "d"]


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"output": "a"}, ToolResult("a")),
        ({"output": {"n": 1}}, ToolResult('{"n":1}')),
        ({"output": "a", "is_error": True}, ToolResult("a", True)),
        ({"error": "timeout"}, ToolResult("timeout", True)),
        ({"error": "timeout", "output": "a"}, ToolResult("a", True)),
        ({"is_error": True}, ToolResult("", True)),
        ({"error": None}, None),
        ({}, None),
        ({"output": None}, ToolResult("")),
    ],
)
def test_results_and_errors(read, fields, result):
    assert read(completed(**fields))[0].results == (result,)


def test_a_failed_call_is_an_error(read):
    (run,) = read(event("tool_call_failed", tool="ls"))
    assert run.results == (ToolResult("", is_error=True),)


def test_calls_that_start_before_the_first_is_completed_are_one_round(read):
    (run,) = read(
        started(call_id="1", input={"n": 1}),
        started(call_id="2", input={"n": 2}),
        completed(call_id="2"),
        started(call_id="3"),
        completed(call_id="1"),
        started(call_id="4", agent="other"),
    )
    assert list(run.rounds()) == [(0, 2), (2, 3), (3, 4)]


BETWEEN = [
    event("llm_call_completed", model="m"),
    event("llm_call_started"),
    event("state_updated", output={"n": 1}),
    event("memory_write", input="x"),
    event("retry_triggered"),
    event("user_message"),
    event("handoff_started", to_agent="other"),
]


@pytest.mark.parametrize("between", BETWEEN, ids=lambda event: event["type"])
def test_what_lies_between_two_replies_begins_a_round(read, between):
    (run,) = read(started("ls"), started("cd"), between, started("cat"))
    assert list(run.rounds()) == [(0, 2), (2, 3)]


@pytest.mark.parametrize("type_", ["memory_read", "something_else"])
def test_other_events_do_not(read, type_):
    (run,) = read(started("ls"), event(type_), started("cat"))
    assert list(run.rounds()) == [(0, 2)]


def test_what_another_agent_does_begins_no_round(read):
    (run,) = read(
        started("ls", agent="one"),
        event("state_updated", agent="other"),
        started("cat", agent="one"),
        event("state_updated", agent="one"),
        started("cd", agent="one"),
    )
    assert list(run.rounds()) == [(0, 2), (2, 3)]


def test_the_same_call_again_begins_a_round(read):
    (run,) = read(*(started(input={"p": n % 2}) for n in range(4)), started(input={"p": "0"}))
    assert list(run.rounds()) == [(0, 2), (2, 5)]


def test_where_replies_are_recorded_they_alone_tell_the_rounds(read):
    reply = event("llm_call_completed")
    (run,) = read(reply, started(), started(), reply, started())
    assert list(run.rounds()) == [(0, 2), (2, 3)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "|"]), min_size=1))
def test_calls_that_never_complete_are_rounds_as_far_as_nothing_lies_between(read, happened):
    log = [event("state_updated") if each == "|" else started(each) for each in happened]
    expected, together = [], ""
    for each in happened:
        if each == "|" or each in together:
            expected, together = [*expected, together], ""
        together += each.strip("|")
    expected = [each for each in [*expected, together] if each]
    runs = read(*log)
    found = [
        "".join(call.tool_name for call in run.calls[start:stop])
        for run in runs
        for start, stop in run.rounds()
    ]
    assert found == expected


def test_a_loop_of_calls_that_never_complete_is_found(read):
    (run,) = read(*[started(input={"p": 1})] * 3)
    assert LoopDetector.default().check(run.calls, run.results).repetitions == 3


def test_a_round_may_be_named(read):
    (run,) = read(*(completed(round=round_) for round_ in ["x", "x", 7, 7, None]))
    assert list(run.rounds()) == [(0, 2), (2, 4), (4, 5)]


def test_runs_may_be_mixed_and_are_given_when_they_end(read):
    runs = read(
        completed(run_id="a"),
        completed(run_id="b"),
        event("run_failed", "b", error="no"),
        completed(run_id="a"),
        event("run_completed"),
    )
    assert [(run.run_id, len(run), run.failed) for run in runs] == [("b", 1, True), ("a", 2, False)]
    assert [run.source[-2:] for run in runs] == [":2", ":1"]


def test_a_run_that_goes_on_after_its_end_is_a_further_one_but_an_afterword_is_none(read):
    end = event("run_completed")
    assert [len(run) for run in read(completed(), end, event("state_updated"))] == [1]
    assert [len(run) for run in read(completed(), end, completed())] == [1, 1]
    assert [len(run) for run in read(event("state_updated"))] == [0]


def test_events_without_a_run_are_of_one_run(read):
    (run,) = read({"type": "tool_call_completed"}, {"type": "tool_call_completed", "run_id": None})
    assert len(run) == 2
    assert run.run_id.endswith("f")


def test_what_happened_beside_the_calls_is_kept(read):
    (run,) = read(
        event("user_message"),
        event("llm_call_completed", model="m", tokens={"input": "5", "output": 2}, cost=0.25),
        completed(agent="support", tokens=7),
        event(
            "handoff_started", agent="support", to_agent="billing", timestamp="1970-01-01T00:01:00"
        ),
        event("my_own", input=[1], output={"n": 1}, error=False),
        event("retry_triggered", tool="ls", error="timeout", cost="0.5"),
    )
    assert run.turn_starts == (0,)
    _, reply, call, handoff, own, retry = run.events
    assert (reply.model, reply.input_tokens, reply.output_tokens, reply.tokens) == ("m", 5, 2, 7)
    assert (call.step, call.tokens, handoff.step) == (0, 7, 1)
    assert (handoff.to_agent, handoff.time_s) == ("billing", 60.0)
    assert (own.type, own.input, own.output, own.error) == ("my_own", [1], {"n": 1}, None)
    assert (retry.tool, retry.error) == ("ls", "timeout")
    assert (run.agent, run.model, run.cost) == ("support", "m", 0.75)
    assert (run.input_tokens, run.output_tokens) == (5, 2)


def test_what_only_the_start_of_a_call_told_is_kept(read):
    (run,) = read(
        started("ls", call_id="1", agent="support", timestamp=10, cost=0.5, tokens=7),
        started("cd", call_id="2"),
        event("tool_call_completed", call_id="1", output="a.py", timestamp=12.5),
        completed("cd", call_id="2", output="b", timestamp=13, latency_ms=7),
    )
    one, other = run.events
    assert (one.tool, one.agent, one.time_s, one.latency_ms) == ("ls", "support", 10.0, 2500.0)
    assert (one.cost, one.tokens) == (0.5, 7)
    assert (other.time_s, other.latency_ms) == (13.0, 7.0)
    assert run.agent == "support"


def test_lines_that_are_no_events_are_told(read):
    (run,) = read(completed(), {"type": 7}, [completed()], {"run_id": "a"})
    assert len(run) == 2, "a list of events is opened"
    assert len(read.trouble) == 2
    assert read.trouble[0].endswith("f:2: expected one event of a run a line; skipped")


@pytest.mark.parametrize("told", [{}, {"stuck": "yes"}, {"stuck": True, "confidence": 7}])
def test_what_is_no_opinion_is_passed_over(read, told):
    (run,) = read(completed(), event("second_opinion", step=0, **told))
    assert (run.opinions, len(run.events)) == ((), 2)


def test_an_opinion_ends_a_round(read):
    told = event("second_opinion", stuck=False)
    (run,) = read(started("ls"), started("cd"), told, started("pwd"))
    assert [call.round for call in run.calls] == [0, 0, 2]
