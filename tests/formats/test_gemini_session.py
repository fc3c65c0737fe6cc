"""Messages of Gemini CLI sessions."""

import pytest

from antiloop.formats import from_gemini_session
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def call(call_id, result="a", status="success", at="10:00:00.000", name="ls"):
    return {
        "id": call_id,
        "name": name,
        "args": {"n": call_id},
        "status": status,
        "result": result,
        "timestamp": f"2026-11-02T{at}Z" if at else None,
    }


def says(content):
    return {"type": "user", "content": content}


def gemini(*calls):
    return {"type": "gemini", "content": "", "toolCalls": list(calls)}


def rounds(*messages):
    return [len(part) for part in from_gemini_session(messages).rounds()]


def only_result(**fields):
    return from_gemini_session([gemini({**call("1"), **fields})]).results[0]


def test_calls_and_results_are_read():
    history = from_gemini_session(
        [says([{"text": "look"}]), gemini(call("1")), {"type": "info"}, gemini(call("2", None))]
    )
    assert history.calls == (ToolCall("ls", {"n": "1"}, "1", 1), ToolCall("ls", {"n": "2"}, "2", 2))
    assert history.results == (ToolResult("a"), None)
    assert history.turn_starts == (0,)


def test_calls_recorded_at_the_same_time_are_one_round():
    assert rounds(gemini(call("1"), call("2", at="10:00:00.050"))) == [2]
    assert rounds(gemini(call("1"), call("2", at="10:00:02.000"), call("3", at=None))) == [1, 2]
    assert rounds(gemini(call("1")), gemini(call("2"))) == [1, 1]


def test_a_call_lasts_from_the_reply_or_the_round_before_to_its_result():
    reply = {**gemini(call("1", at="10:00:03.000"), call("2", at="10:00:08.000"))}
    history = from_gemini_session([{**reply, "timestamp": "2026-11-02T10:00:01Z"}])
    first, second = (each.started_at for each in history.calls)
    assert second - first == 2
    assert [each.duration_s for each in history.results] == [2.0, 5.0]
    untold = from_gemini_session([gemini(call("1"), call("2", at=None))])
    assert [each.duration_s for each in untold.results] == [None, None]


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"result": [{"functionResponse": {"response": {"output": "a"}}}]}, ToolResult("a")),
        ({"result": [{"functionResponse": {"response": {"error": "x"}}}]}, ToolResult("x", True)),
        ({"result": [{"text": "a"}, "b"], "status": "error"}, ToolResult("a\nb", True)),
        ({"result": {"inlineData": 1}}, ToolResult('{"inlineData":1}')),
        ({"result": "stopped", "status": "cancelled"}, ToolResult("stopped", True)),
        ({"result": "half", "status": "executing"}, None),
        ({"result": None}, None),
    ],
)
def test_a_result_becomes_text(fields, result):
    assert only_result(**fields) == result


def test_a_notice_of_ours_is_no_user_message():
    assert from_gemini_session([says(f"{NOTICE_MARKER} you repeat")]).turn_starts == ()
    assert from_gemini_session([says("go on")]).turn_starts == (0,)


@pytest.mark.parametrize("message", [None, 7, "text", [], {}, {"toolCalls": 7}])
def test_what_holds_no_call_gives_none(message):
    assert from_gemini_session([message]).calls == ()
