"""Gemini CLI sessions: documents, and records one a line."""

from antiloop.traces._readers.gemini_cli import follow
from antiloop.traces._shared.records import Record
from antiloop.types import ToolResult

CALL = {"id": "c", "name": "ls", "args": {}, "status": "executing", "result": None}
DONE = {**CALL, "status": "success", "result": "a"}


def begins(session, **beside):
    return {"sessionId": session, "projectHash": "p", **beside}


def message(own, *calls, **beside):
    return {"id": own, "type": "gemini", "toolCalls": list(calls), **beside}


def test_a_document_and_lines_are_the_same_run(read):
    (document,) = read(begins("s", messages=[message("1", DONE)]))
    (lines,) = read(begins("s"), message("1", CALL), message("1", DONE), {"$set": {"summary": "x"}})
    assert (document.calls, document.results) == (lines.calls, lines.results)
    assert (document.run_id, len(document)) == ("s", 1)


def test_messages_may_come_with_a_change_of_the_session(read):
    (run,) = read(begins("s"), message("1", DONE), {"$set": {"messages": [message("2", DONE)]}})
    assert len(run) == 2


def test_what_was_taken_back_has_happened_all_the_same(read):
    (run,) = read(begins("s"), message("1", DONE), {"$rewindTo": "1"}, message("2", DONE))
    assert len(run) == 2


def test_a_session_that_is_resumed_is_written_again_without_its_calls(read):
    called = {"functionCall": {"id": "c", "name": "ls", "args": {}}}
    given = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a"}}}
    again = [
        {"id": "1", "type": "gemini", "content": [called]},
        {"id": "1", "type": "user", "content": [given]},
    ]
    snapshot = {"id": "2", "type": "user", "content": [{"text": "<state_snapshot>a is there"}]}
    (run,) = read(
        *(begins("s"), message("1", DONE), begins("s"), {"$set": {"messages": again}}),
        *({"$set": {"messages": [snapshot]}}, message("3", {**DONE, "id": "d"})),
    )
    assert (run.results, run.turn_starts) == ((ToolResult("a"), ToolResult("a")), ())
    assert [(each.is_summary, each.position) for each in run.messages] == [(True, 1)]


def test_sessions_may_follow_each_other(read):
    runs = read(begins("s"), message("1", DONE), begins("s"), begins("t"), message("1", DONE))
    assert [(run.run_id, len(run)) for run in runs] == [("s", 1), ("t", 1)]


def test_model_and_tokens_are_added_up(read):
    tokens = {"input": 3, "output": 2, "thoughts": 5}
    (run,) = read(begins("s"), message("1", model="m", tokens=tokens), message("2", tokens=tokens))
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 6, 14)


def test_other_values_are_said(read):
    (run,) = read(begins("s"), 7, message(None, DONE))
    assert len(run) == 1
    assert read.trouble[0].endswith(":2: expected Gemini CLI sessions; skipped")
    assert read(7, source="gemini-cli") == []


def test_contents_in_a_checkpoint_are_a_run(read):
    part = {"functionCall": {"name": "ls", "args": {}}}
    contents = [{"role": "model", "parts": [part]}, {"role": "user", "parts": [{"text": "x"}]}]
    (run,) = read({"history": contents, "modelVersion": "m"})
    assert (len(run), run.turn_starts, run.model) == (1, (1,), "m")


def test_a_session_that_is_followed_grows_with_its_messages():
    trouble = []
    take = follow("f", lambda line, what: trouble.append(line))
    other = {**CALL, "id": "d"}
    records = [begins("s"), {"id": "u", "type": "user", "content": "x"}, message("1", CALL)]
    grown = [
        message("1", DONE, other),
        message("1", DONE, other),
        {"id": "u", "type": "user", "content": "y"},
    ]
    for line, value in enumerate([*records, 7, *grown], 1):
        for session in take(Record(line, value)):
            told = session.build(0)
    assert ([call.id for call in told.calls], told.turn_starts) == (["c", "d"], (0,))
    assert told.results == (ToolResult("a"), None)
    assert (session.run_id, session.source, trouble) == ("s", "f:1", [4])


def test_each_reply_that_tells_what_it_took_is_an_event(read):
    told = {"tokens": {"input": 3, "output": 2}, "timestamp": "1970-01-01T00:00:10Z"}
    (run,) = read(begins("s"), message("1", DONE, DONE), message("2", DONE, **told))
    assert [(event.step, event.tokens, event.time_s) for event in run.events] == [(2, 5, 10.0)]
