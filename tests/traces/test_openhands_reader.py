"""OpenHands' files."""

from antiloop.traces._readers.openhands import follow
from antiloop.traces._shared.records import Record
from antiloop.types import ToolResult

RESPONSE = {"id": "r", "model": "m", "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
CALL = {
    "id": 1,
    "source": "agent",
    "timestamp": "1970-01-01T00:00:10",
    "action": "run",
    "args": {"command": "ls"},
    "tool_call_metadata": {
        "function_name": "bash",
        "tool_call_id": "c",
        "model_response": RESPONSE,
    },
}
SEEN = {
    "id": 2,
    "source": "agent",
    "timestamp": "1970-01-01T00:00:12",
    "cause": 1,
    "observation": "run",
    "content": "a.py",
    "llm_metrics": {"accumulated_cost": 0.5},
}


def test_events_one_a_line_are_one_run(read):
    (run,) = read(CALL, SEEN, {"other": 1}, CALL)
    assert len(run) == 2
    assert run.source.endswith(":1")
    assert [what.rpartition(":")[2] for what in read.trouble] == [
        " expected OpenHands events; skipped"
    ]


def test_lists_and_what_holds_them_are_a_run_each(read):
    runs = read([CALL, SEEN], {"instance_id": "x", "history": [CALL]}, {"events": [CALL, SEEN]})
    assert [(run.run_id, len(run)) for run in runs] == [
        (runs[0].source, 1),
        ("x", 1),
        (runs[2].source, 1),
    ]


def test_pairs_of_action_and_observation_are_opened(read):
    (run,) = read({"history": [[CALL, SEEN], [{**CALL, "id": 3}, {**SEEN, "cause": 3}]]})
    assert run.results == (ToolResult("a.py"), ToolResult("a.py"))
    assert [len(run) for run in read([[CALL, SEEN], [CALL, SEEN]])] == [1, 1]


def test_replies_handoffs_and_times_are_events(read):
    handoff = {"id": 3, "source": "agent", "action": "delegate", "args": {"agent": "browser"}}
    lost = {**SEEN, "cause": 99}
    untimed = {"id": 4, "source": "agent", "cause": 3, "observation": "delegate", "content": ""}
    (run,) = read([CALL, SEEN, {**CALL, "id": 9}, handoff, lost, untimed])
    assert [(event.type, event.step) for event in run.events] == [
        ("llm_call_completed", 0),
        ("tool_call_completed", 0),
        ("handoff_started", 2),
        ("tool_call_completed", 2),
    ]
    reply, call, handoff, untimed = run.events
    assert (reply.model, reply.tokens, reply.time_s) == ("m", 7, 10.0)
    assert (call.tool, call.latency_ms) == ("bash", 2000.0)
    assert (handoff.to_agent, untimed.latency_ms) == ("browser", None)
    assert (run.model, run.input_tokens, run.output_tokens, run.cost) == ("m", 5, 2, 0.5)


def test_a_run_that_ends_in_an_error_failed(read):
    state = {"source": "environment", "observation": "agent_state_changed"}
    ended = {**state, "extras": {"agent_state": "error"}}
    broken = {"kind": "ConversationErrorEvent", "source": "environment", "timestamp": "x"}
    assert [read(CALL, last)[0].failed for last in (SEEN, ended, broken)] == [False, True, True]
    assert read({"history": [CALL], "error": "timeout"})[0].failed


def test_events_that_stand_alone_are_followed_as_one_run_and_lists_as_runs_of_their_own():
    trouble = []
    take = follow("f", lambda line, what: trouble.append(line))
    told = []
    for line, value in enumerate([CALL, [CALL, SEEN], 7, SEEN], 1):
        told += [(run.source, run.is_over, run.build(0)) for run in take(Record(line, value))]
    assert [(source, is_over) for source, is_over, _ in told] == [
        ("f:1", False),
        ("f:2", True),
        ("f:1", False),
    ]
    assert [len(history) for _, _, history in told] == [1, 1, 1]
    assert [history.results for _, _, history in told] == [
        (None,),
        (ToolResult("a.py"),),
        (ToolResult("a.py"),),
    ]
    assert trouble == [3]
