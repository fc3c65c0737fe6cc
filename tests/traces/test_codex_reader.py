"""Codex CLI sessions: which runs are in a stream, and what they took."""

import json

import pytest

CALL = {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "{}"}
ASKS = {"type": "response_item", "payload": CALL}


def begins(session, **beside):
    return {"type": "session_meta", "payload": {"id": session, **beside}}


def counts(*amounts):
    usage = dict(zip(("input_tokens", "output_tokens"), amounts))
    info = {"total_token_usage": usage}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def test_sessions_may_follow_each_other(read):
    runs = read(begins("a"), ASKS, begins("b"), ASKS, ASKS)
    assert [(run.run_id, len(run)) for run in runs] == [("a", 1), ("b", 2)]


def test_a_fork_takes_over_what_was_before(read):
    (run,) = read(begins("b", forked_from_id="a"), begins("a"), ASKS, begins("b"), ASKS)
    assert (run.run_id, len(run)) == ("b", 2)


def test_a_fork_of_a_fork_takes_over_what_was_before_both(read):
    origins = (begins("b", forked_from_id="a"), begins("a"), ASKS)
    (run,) = read(begins("c", forked_from_id="b"), *origins, ASKS)
    assert (run.run_id, len(run)) == ("c", 2)
    runs = read(begins("c", forked_from_id="b"), *origins, begins("d"), ASKS)
    assert [(run.run_id, len(run)) for run in runs] == [("c", 1), ("d", 1)]


def test_an_older_file_begins_with_a_line_of_its_own(read):
    (run,) = read({"id": "a", "timestamp": "t", "instructions": None}, CALL)
    assert (run.run_id, len(run)) == ("a", 1)


def test_a_session_that_lost_its_first_line_is_read_all_the_same(read):
    (run,) = read(ASKS)
    assert run.run_id == run.source


def test_the_last_count_of_tokens_is_that_of_the_run(read):
    told = {"type": "turn_context", "payload": {"model": "m"}}
    (run,) = read(begins("a"), told, counts(1, 2), ASKS, counts(10, 20), {"type": "event_msg"})
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 10, 20)


def test_other_values_are_said(read):
    (run,) = read(begins("a"), 7, ASKS)
    assert len(run) == 1
    assert read.trouble[0].endswith(":2: expected Codex CLI sessions; skipped")
    assert read(7, source="codex") == []


def test_what_a_reply_took_is_what_the_count_grew_by(read):
    (run,) = read(begins("a"), ASKS, counts(3, 1), counts(3, 1), ASKS, ASKS, counts(10, 2), ASKS)
    assert [(event.step, event.input_tokens, event.output_tokens) for event in run.events] == [
        (0, 3, 1),
        (1, 7, 1),
    ]


def test_a_count_that_begins_anew_is_taken_as_it_is(read):
    (run,) = read(begins("a"), ASKS, counts(30, 1), ASKS, counts(5, 2))
    assert [(event.input_tokens, event.output_tokens) for event in run.events] == [(30, 1), (5, 1)]


@pytest.mark.parametrize(
    ("output", "latency_ms"),
    [
        ("Chunk ID: a1\nWall time: 31.5 seconds\nProcess exited with code 0\nOutput:\nx", 31500),
        (json.dumps({"output": "x", "metadata": {"exit_code": 0, "duration_seconds": 2}}), 2000),
    ],
)
def test_how_long_a_command_took_is_an_event(read, output, latency_ms):
    seen = {"type": "function_call_output", "call_id": "1", "output": output}
    asks = {**ASKS, "timestamp": "1970-01-01T00:00:10Z"}
    seen = {"type": "response_item", "payload": seen}
    (run,) = read(begins("a"), {**ASKS, "payload": {**CALL, "call_id": "0"}}, asks, seen, seen)
    assert [(event.step, event.tool, event.time_s, event.latency_ms) for event in run.events] == [
        (1, "shell", 10.0, latency_ms)
    ]


def test_a_tool_of_the_model_itself_is_named_by_its_type(read):
    shell = {"type": "local_shell_call", "call_id": "1", "action": {"command": ["ls"]}}
    told = json.dumps({"output": "x", "metadata": {"duration_seconds": 2}})
    seen = {"type": "function_call_output", "call_id": "1", "output": told}
    (run,) = read(
        begins("a"), *({"type": "response_item", "payload": one} for one in (shell, seen))
    )
    assert (run.calls[0].tool_name, run.events[0].tool) == ("local_shell", "local_shell")


def test_an_output_that_tells_no_time_is_no_event(read):
    seen = {"type": "function_call_output", "call_id": "1", "output": "Wall time: 3 seconds"}
    (run,) = read(begins("a"), ASKS, {"type": "response_item", "payload": seen})
    assert run.events == ()
