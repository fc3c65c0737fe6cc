"""Events of Google ADK sessions."""

import pytest

from antiloop.formats import from_adk
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(author, *call_ids, **beside):
    parts = [{"function_call": {"id": i, "name": "ls", "args": {"n": i}}} for i in call_ids]
    return {"author": author, "content": {"role": "model", "parts": parts}, **beside}


def answers(author, call_id, **response):
    body = {"id": call_id, "name": "ls", "response": response}
    return {"author": author, "content": {"role": "user", "parts": [{"function_response": body}]}}


def says(text):
    return {"author": "user", "content": {"role": "user", "parts": [{"text": text}]}}


def test_calls_of_one_event_are_one_round():
    history = from_adk(
        [
            says("look"),
            asks("a", "1", "2"),
            answers("a", "2", error="no"),
            answers("a", "1", result="yes"),
            asks("a", "3"),
        ]
    )
    assert history.calls[0] == ToolCall("ls", {"n": "1"}, "1", 1)
    assert history.results == (ToolResult("yes"), ToolResult("no", is_error=True), None)
    assert [len(part) for part in history.rounds()] == [2, 1]
    assert history.turn_starts == (0,)


def test_one_agent_of_several_can_be_read():
    events = [says("look"), asks("a", "1"), asks("b", "2"), answers("user", "2", result="later")]
    assert [call.id for call in from_adk(events).calls] == ["1", "2"]
    assert from_adk(events, "b").calls == (ToolCall("ls", {"n": "2"}, "2", 2),)
    assert from_adk(events, "b").results == (ToolResult("later"),)


def test_partial_events_are_left_out():
    assert len(from_adk([asks("a", "1", partial=True), asks("a", "1", partial=False)])) == 1


def test_only_words_are_a_turn_of_the_user():
    events = [answers("user", "1", result="x"), says(f"{NOTICE_MARKER} you repeat"), says("go on")]
    assert from_adk(events).turn_starts == (0,)


def test_a_picture_is_a_turn_of_the_user():
    shown = says("look")
    shown["content"]["parts"] = [{"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]
    assert from_adk([asks("a", "1"), shown]).turn_starts == (1,)


def test_the_last_answer_to_a_call_is_its_result():
    history = from_adk(
        [
            asks("a", "1", "2"),
            answers("a", "1", error="This tool call requires confirmation."),
            answers("a", "2", status="pending"),
            answers("user", "1", confirmed=True),
            answers("a", "1", result="sent"),
            answers("user", "2", result="done"),
        ]
    )
    assert history.results == (ToolResult("sent"), ToolResult("done"))


def test_an_answer_of_the_user_may_be_to_a_call_of_another_agent():
    assert from_adk([answers("user", "1", result="x")]).calls == ()
    assert from_adk([answers("a", "1", result="x")]).calls[0].id == "1"


@pytest.mark.parametrize(
    "event", [None, 7, "text", [], {}, {"author": "user"}, {"author": "a", "content": 7}]
)
def test_what_holds_no_call_gives_none(event):
    assert from_adk([event]).calls == ()


def compacts(until, name="end_timestamp"):
    return {"author": "user", "actions": {"compaction": {name: until, "start_timestamp": 0}}}


def called(times):
    """Return events of a call each second, answered half a second later."""
    for time in times:
        yield asks("a", str(time), timestamp=float(time))
        yield {**answers("a", str(time), output="x"), "timestamp": time + 0.5}


def summaries(events):
    return [each.position for each in from_adk(events).messages if each.is_summary]


def test_what_a_compaction_took_away_is_forgotten_before_the_next_reply():
    for name in ("end_timestamp", "endTimestamp"):
        assert summaries([*called(range(9)), compacts(8.5, name), *called([9])]) == [9]
    assert summaries([*called(range(8)), compacts(7.5), *called([8])]) == []
    assert summaries([*called(range(9)), compacts(-1), *called([9])]) == []


def test_a_session_that_is_compacted_each_round_forgets_every_ninth_call():
    events = [each for at in range(30) for each in (*called([at]), compacts(at + 0.5))]
    assert summaries(events) == [9, 18, 27]


def test_times_of_calls_and_results_are_kept():
    (call,), (result,) = (lambda read: (read.calls, read.results))(from_adk(called([7])))
    assert (call.started_at, result.duration_s) == (7.0, 0.5)
