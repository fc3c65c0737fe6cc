"""The same run reads the same, whichever client kept it."""

import json
import sqlite3
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest
from client_files import (
    WRITERS,
    Call,
    Round,
    cursor_stream,
    goose_messages,
    healthy,
    lines,
    opencode_messages,
    stuck,
)

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.exceptions import TraceUnreadable
from antiloop.traces import FORMATS, read_runs, replay
from antiloop.traces._doubts import Doubt
from antiloop.traces._live.live_lines import LiveLines
from antiloop.types import Role

NAMED = [(name, ending) for name, endings in WRITERS.items() for ending in endings]
# What a format does not keep: results, the user, failures, calls as one round, ids, several calls.
NO_RESULTS = {("markdown", "md")}
NO_USER = {("opencode", "run.jsonl"), ("codex-exec", "jsonl"), ("browser-use", "json")}
NO_FAILURES = {("librechat", "json")}
NO_ROUNDS = {("codex-exec", "jsonl"), ("librechat", "json")}
ONE_CALL = {("cline", "xml.json"), ("smolagents", "json")}


def written(tmp_path, name, ending, rounds):
    path = tmp_path / f"run.{ending}"
    path.write_text(WRITERS[name][ending](rounds), encoding="utf-8")
    return str(path)


def read_whole(path, source=None):
    trouble = []
    (run,) = read_runs(path, source=source, on_trouble=trouble.append)
    assert trouble == []
    return run


def of_one_call(rounds):
    return [each._replace(calls=each.calls[:1]) for each in rounds]


@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_calls_results_and_turns_are_those_of_the_run(tmp_path, name, ending):
    key = (name, ending)
    rounds = of_one_call(healthy()) if key in ONE_CALL else healthy()
    rounds += of_one_call(stuck(2))
    run = read_whole(written(tmp_path, name, ending, rounds))
    calls = list(chain.from_iterable(each.calls for each in rounds))
    assert [call.tool_name for call in run.calls] == [call.name for call in calls]
    if key not in NO_RESULTS:
        assert [dict(call.arguments) for call in run.calls] == [call.arguments for call in calls]
        outputs = [result.text for result in run.results]
        assert all(call.output in output for call, output in zip(calls, outputs))
    if key not in NO_RESULTS | NO_FAILURES:
        assert [result.is_error for result in run.results] == [call.failed for call in calls]
    if key not in NO_USER:
        counts = [sum(len(each.calls) for each in rounds[:at]) for at in range(len(rounds))]
        spoken = [count for count, each in zip(counts, rounds) if each.user]
        assert list(run.turn_starts) == spoken
    if key not in NO_ROUNDS | NO_RESULTS:
        sizes = [stop - start for start, stop in run.rounds()]
        assert sizes == [len(each.calls) for each in rounds]


@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_a_call_that_said_nothing_has_an_empty_result(tmp_path, name, ending):
    silent = [Call(f"c{at}", "bash", {"command": f"touch {at}"}, "") for at in range(3)]
    rounds = [Round(None if at else "go", "on", [each]) for at, each in enumerate(silent)]
    run = read_whole(written(tmp_path, name, ending, rounds))
    if (name, ending) not in NO_RESULTS:
        assert [result.text.strip() for result in run.results] == ["", "", ""]


def unknown_results(name, call):
    """Return the lines of a client that tells that a call ended, and not what it gave."""
    if name == "codex-exec":
        item = {"id": call, "type": "web_search", "query": f"about {call}"}
        return [{"type": "item.completed", "item": item}]
    if name == "gemini-stream":
        use = {"type": "tool_use", "tool_id": call, "tool_name": "edit", "parameters": {"n": call}}
        return [use, {"type": "tool_result", "tool_id": call, "status": "success"}]
    asked = {"toolCallId": call, "name": "ask", "arguments": {"n": call}}
    ended = {"toolCallId": call, "success": True}
    events = (("assistant.message", {"toolRequests": [asked]}), ("tool.execution_complete", ended))
    return [{"type": kind, "data": data, "timestamp": 1} for kind, data in events]


@pytest.mark.parametrize("name", ["codex-exec", "gemini-stream", "copilot-cli"])
def test_a_result_that_is_not_kept_is_unknown_and_no_loop(tmp_path, name):
    values = [value for call in "abcdefghij" for value in unknown_results(name, call)]
    run = of_lines(tmp_path, *values, source=name)
    assert run.results == (None,) * 10
    for detector in (LoopDetector.default(), LoopDetector.escalating()):
        assert list(replay(run, detector)) == []


@pytest.mark.parametrize("ids", [["x", "y"], ["x", "x"], [None, None]])
@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_ids_that_are_used_again_or_missing_change_no_call(tmp_path, name, ending, ids):
    if name == "copilot-chat":
        pytest.skip("only ids join its results to their calls")
    known = of_one_call(healthy()) if (name, ending) in ONE_CALL else healthy()
    again = [
        each._replace(calls=[call._replace(id=own) for call, own in zip(each.calls, ids)])
        for each in known
    ]
    whole, other = (read_whole(written(tmp_path, name, ending, each)) for each in (known, again))
    assert [(call.tool_name, call.arguments, call.round) for call in other.calls] == [
        (call.tool_name, call.arguments, call.round) for call in whole.calls
    ]
    assert other.results == whole.results


@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_a_scan_tells_the_stuck_run_from_the_healthy_one(tmp_path, capsys, name, ending):
    assert main(["scan", written(tmp_path, name, ending, stuck())]) == 1
    good = of_one_call(healthy()) if (name, ending) in ONE_CALL else healthy()
    assert main(["scan", written(tmp_path, name, ending, good)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_a_session_that_is_followed_is_judged_as_when_it_is_read_whole(tmp_path, name, ending):
    if name in ("copilot-chat", "markdown"):
        pytest.skip("a document that is written again each time")
    path = written(tmp_path, name, ending, stuck())
    detector = LoopDetector.escalating()
    whole = [(step, verdict.action) for step, verdict in replay(read_whole(path), detector)]
    live = LiveLines("f", detector, None, pytest.fail)
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        found += live.take(number, line)
    found += live.end()
    assert [(step, verdict.action) for _, step, verdict in found] == whole


@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_naming_the_format_reads_what_recognizing_it_reads(tmp_path, name, ending):
    path = written(tmp_path, name, ending, stuck())
    assert read_whole(path, source=name) == read_whole(path)


def test_every_new_format_is_among_the_writers():
    assert set(WRITERS) <= set(FORMATS)


def database(path, *statements):
    with sqlite3.connect(path) as connection:
        for statement, rows in statements:
            connection.executemany(statement, rows) if rows else connection.execute(statement)
    connection.close()


def opencode_database(path, rounds):
    messages = opencode_messages(rounds)
    database(
        path,
        ("CREATE TABLE session (id TEXT, time_created INTEGER)", None),
        ("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)", None),
        (
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER,"
            " data TEXT)",
            None,
        ),
        ("INSERT INTO session VALUES (?, ?)", [("s1", 1)]),
        (
            "INSERT INTO message VALUES (?, 's1', ?, ?)",
            [(one["info"]["id"], at, json.dumps(one["info"])) for at, one in enumerate(messages)],
        ),
        (
            "INSERT INTO part VALUES (?, ?, 's1', ?, ?)",
            [
                (f"{at}", one["info"]["id"], at, json.dumps(part))
                for at, (one, part) in enumerate(
                    (one, part) for one in messages for part in one["parts"]
                )
            ],
        ),
    )


def goose_database(path, rounds):
    rows = [
        (at, one["role"], json.dumps(one["content"]), one["created"])
        for at, one in enumerate(goose_messages(rounds))
    ]
    database(
        path,
        ("CREATE TABLE sessions (id TEXT, created_at INTEGER)", None),
        (
            "CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content_json TEXT,"
            " created_timestamp INTEGER)",
            None,
        ),
        ("INSERT INTO sessions VALUES (?, ?)", [("s1", 1)]),
        ("INSERT INTO messages VALUES (?, 's1', ?, ?, ?)", rows),
    )


def crush_database(path, rounds):
    held = json.loads(WRITERS["crush"]["json"](rounds))["messages"]
    rows = [(f"{at}", one["role"], json.dumps(one["parts"]), at) for at, one in enumerate(held)]
    database(
        path,
        ("CREATE TABLE sessions (id TEXT, created_at INTEGER)", None),
        (
            "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT,"
            " created_at INTEGER)",
            None,
        ),
        ("INSERT INTO sessions VALUES (?, ?)", [("s1", 1)]),
        ("INSERT INTO messages VALUES (?, 's1', ?, ?, ?)", rows),
    )


@pytest.mark.parametrize("write", [opencode_database, goose_database, crush_database])
def test_a_database_is_read_as_its_exports_and_left_as_it_is(tmp_path, write):
    path = tmp_path / "sessions.db"
    write(path, healthy())
    before, names = path.read_bytes(), sorted(tmp_path.iterdir())
    run = read_whole(str(path))
    assert [call.id for call in run.calls] == [call.id for each in healthy() for call in each.calls]
    assert run.run_id == "s1"
    assert run.turn_starts == (0, 5)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, names)


@pytest.mark.parametrize("write", [opencode_database, goose_database, crush_database])
def test_what_is_only_in_the_write_ahead_log_is_read_and_nothing_is_written(tmp_path, write):
    written, left = tmp_path / "live.db", tmp_path / "left"
    left.mkdir()
    with closing(sqlite3.connect(written)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("CREATE TABLE others (id TEXT)")  # holds the log open
        write(written, stuck())
        for each in tmp_path.glob("live.db*"):  # as a client leaves it that is ended by a signal
            if not each.name.endswith("-shm"):
                (left / each.name).write_bytes(each.read_bytes())
    before = {each.name: each.read_bytes() for each in left.iterdir()}
    assert len(before) == 2
    run = read_whole(str(left / "live.db"))
    assert [call.id for call in run.calls] == [call.id for each in stuck() for call in each.calls]
    assert {each.name: each.read_bytes() for each in left.iterdir()} == before


@pytest.mark.parametrize(
    ("write", "change", "what"),
    [
        (opencode_database, "UPDATE part SET data = '{' WHERE id = '5'", "a part of message 'm1'"),
        (opencode_database, "UPDATE message SET data = '[]' WHERE id = 'm1'", "message 'm1'"),
        (goose_database, "UPDATE messages SET content_json = '[' WHERE id = 3", "message 3"),
        (crush_database, "UPDATE messages SET parts = NULL WHERE id = '3'", "message '3'"),
    ],
)
def test_what_is_broken_in_a_database_is_named_and_the_rest_is_read(tmp_path, write, change, what):
    path = tmp_path / "sessions.db"
    write(path, stuck())
    database(path, (change, None))
    trouble = []
    (run,) = read_runs(str(path), on_trouble=trouble.append)
    assert len(run) >= len(stuck()) - 1
    (found,) = (each for each in trouble if not isinstance(each, Doubt))
    assert found.startswith(f"{path}:1: {what} is not a JSON ")


@pytest.mark.parametrize("write", [opencode_database, goose_database, crush_database])
def test_a_value_of_a_database_may_be_bytes(tmp_path, write):
    path = tmp_path / "sessions.db"
    write(path, stuck())
    with closing(sqlite3.connect(path)) as client, client:
        tables = [name for (name,) in client.execute("SELECT name FROM sqlite_master WHERE sql")]
        for table in filter(None, tables):
            columns = [row[1] for row in client.execute(f"PRAGMA table_info({table})")]
            kept = [name for name in columns if "id" not in name and "created" not in name]
            for column in kept:
                client.execute(f"UPDATE {table} SET {column} = CAST({column} AS BLOB)")
    assert len(read_whole(str(path))) == len(stuck())


def test_a_log_that_cannot_be_copied_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "sessions.db"
    opencode_database(path, stuck())
    Path(f"{path}-wal").write_bytes(b"x")

    def fail(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.copyfile", fail)
    with pytest.raises(TraceUnreadable, match="Permission denied"):
        list(read_runs(str(path)))


def test_a_database_of_another_program_is_named(tmp_path, capsys):
    path = tmp_path / "x.db"
    database(path, ("CREATE TABLE notes (id TEXT)", None))
    assert main(["scan", str(path)]) == 2
    assert "a database, not of opencode, Goose or Crush" in capsys.readouterr().err


def test_a_damaged_database_is_an_error(tmp_path, capsys):
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 500)
    assert main(["scan", str(path)]) == 2
    assert "reading failed" in capsys.readouterr().err


def openhands_events(rounds):
    for each in rounds:
        if each.user:
            yield {"source": "user", "action": "message", "args": {"content": each.user}}
        for call in each.calls:
            own = {"source": "agent", "action": call.name, "args": call.arguments}
            yield {"id": call.id, **own}
            given = {"cause": call.id, "observation": call.name, "content": call.output}
            yield {"source": "environment", **given}


def test_a_folder_of_openhands_events_is_one_run_in_the_order_of_its_numbers(tmp_path, capsys):
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(openhands_events(stuck(12))):
        (folder / f"{number}.json").write_text(json.dumps(event, indent=1), encoding="utf-8")
    run = read_whole(str(folder))
    assert [call.id for call in run.calls] == [f"event c{number}" for number in range(12)]
    assert main(["scan", str(tmp_path)]) == 1
    assert "1 run" in capsys.readouterr().out


def test_the_storage_of_opencode_is_read_session_by_session(tmp_path):
    for session in ("ses_1", "ses_2"):
        for message in opencode_messages(stuck(3)):
            info = {**message["info"], "id": f"{session}{message['info']['id']}"}
            place = tmp_path / "message" / session
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{info['id']}.json").write_text(json.dumps(info), encoding="utf-8")
            for at, part in enumerate(message["parts"]):
                place = tmp_path / "part" / info["id"]
                place.mkdir(parents=True, exist_ok=True)
                (place / f"prt_{at}.json").write_text(json.dumps(part), encoding="utf-8")
    runs = list(read_runs(str(tmp_path)))
    assert [(run.run_id, len(run)) for run in runs] == [("ses_1", 3), ("ses_2", 3)]


def test_what_is_broken_in_the_storage_of_opencode_is_named(tmp_path):
    for message in opencode_messages(stuck(3)):
        name = message["info"]["id"]
        for folder, values in (("message/ses_1", [message["info"]]), (f"part/{name}", None)):
            place = tmp_path / folder
            place.mkdir(parents=True, exist_ok=True)
            for at, value in enumerate(values or message["parts"]):
                path = place / (f"{name}.json" if values else f"{at}.json")
                path.write_text(json.dumps(value), encoding="utf-8")
    (tmp_path / "part" / "m2" / "2.json").write_text('{"type": "tool", "too', encoding="utf-8")
    (tmp_path / "message" / "ses_1" / "m3²").mkdir()
    (tmp_path / "message" / "ses_1" / "m4²3.json").mkdir()

    trouble = []
    (run,) = read_runs(str(tmp_path), on_trouble=trouble.append)
    assert len(run) == 2
    assert [each.replace(str(tmp_path), "") for each in trouble] == [
        ":1: '2.json' is not a JSON object; skipped",
        ":1: 'm4²3.json' cannot be read: Is a directory; skipped",
    ]


def test_what_only_looks_like_the_end_of_a_line_stays_in_an_event(tmp_path):
    events = tmp_path / "events"
    events.mkdir()
    said = {"source": "user", "action": "message", "args": {"content": "a\u2028b\x85c"}}
    text = json.dumps(said, ensure_ascii=False, indent=1)
    (events / "0.json").write_text(text, encoding="utf-8")
    (run,) = read_runs(str(events))
    assert [each.text for each in run.messages] == ["a\u2028b\x85c"]


def test_a_transcript_of_cursor_has_calls_without_results(tmp_path):
    use = {"type": "tool_use", "name": "Grep", "input": {"pattern": "x"}}
    said = {"role": "assistant", "message": {"content": [use]}}
    asked = {"type": "text", "text": "<user_query>\nfind x\n</user_query>"}
    user = {"role": "user", "message": {"content": [asked]}}
    path = tmp_path / "t.jsonl"
    path.write_text(lines([user, said, said]), encoding="utf-8")
    run = read_whole(str(path))
    assert run.results == (None, None)
    assert [(each.role, each.text) for each in run.messages] == [(Role.USER, "find x")]


def test_the_subagents_of_copilot_cli_are_separate_runs(tmp_path):
    own = json.loads("[" + ",".join(WRITERS["copilot-cli"]["jsonl"](stuck(2)).splitlines()) + "]")
    theirs = [{**event, "agentId": "a1"} for event in own[2:]]
    path = tmp_path / "events.jsonl"
    path.write_text(lines([*own[:3], *theirs, *own[3:]]), encoding="utf-8")
    runs = list(read_runs(str(path)))
    assert [(run.run_id, len(run)) for run in runs] == [("s1", 2), ("s1/a1", 2)]


AIDER = """
# aider chat started at 2026-05-01 10:00:00

> Aider v0.86.1

#### fix the test
#### please

I change it.

app.py
<<<<<<< SEARCH
a
=======
b
>>>>>>> REPLACE

> Tokens: 1k sent, 20 received.
> Applied edit to app.py

#### go on

I change it.

> The LLM did not conform to the edit format.

# aider chat started at 2026-05-02 10:00:00

> Running pytest
"""


def test_a_history_of_aider_has_a_run_for_each_chat(tmp_path):
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(AIDER, encoding="utf-8")
    first, second = read_runs(str(path))
    assert [call.tool_name for call in first.calls] == ["edit", "edit"]
    assert [result.is_error for result in first.results] == [False, True]
    assert first.turn_starts == (0, 1)
    assert [call.arguments for call in second.calls] == [{"command": "pytest"}]
    assert first.source.endswith(":2")


def test_each_edit_of_a_reply_of_aider_has_its_text(tmp_path):
    path = tmp_path / ".aider.chat.history.md"
    edits = "> Applied edit to a.py\n> Applied edit to b.py\n"
    laps = [f"\n#### go on\n\nTry {number}.\n\n{edits}" for number in range(4)]
    path.write_text(f"# aider chat started at 2026-05-01\n{''.join(laps)}\n#### done\n\n{edits}")
    (run,) = read_runs(str(path))
    texts = [call.arguments["text"] for call in run.calls]
    assert texts == [text for number in range(4) for text in [f"Try {number}."] * 2] + ["", ""]
    assert list(replay(run, LoopDetector.default())) == []


def test_what_the_user_adds_to_a_refusal_in_cline_is_a_turn(tmp_path):
    rounds = of_one_call(stuck(3))
    call = rounds[1].calls[0]._replace(output="Denied.\n<feedback>\nlook in docs\n</feedback>")
    rounds[1] = rounds[1]._replace(calls=[call])
    run = read_whole(written(tmp_path, "cline", "xml.json", rounds))
    assert run.turn_starts == (0, 2)


COMPACTIONS = {
    "pi": {"type": "compaction", "summary": "so far"},
    "copilot-cli": {"type": "session.compaction_complete", "data": {}, "timestamp": "x"},
    "qwen-code": {
        "type": "system",
        "subtype": "chat_compression",
        "uuid": "x",
        "sessionId": "s1",
        "systemPayload": {},
    },
    "droid": {"type": "compaction_state", "summaryText": "so far"},
}


@pytest.mark.parametrize("name", COMPACTIONS)
def test_a_compaction_is_told(tmp_path, name):
    path = tmp_path / "run.jsonl"
    text = WRITERS[name]["jsonl"](stuck(2)) + json.dumps(COMPACTIONS[name]) + "\n"
    path.write_text(text, encoding="utf-8")
    run = read_whole(str(path))
    assert [each.position for each in run.messages if each.is_summary] == [2]
    assert run.turn_starts == (0,)


@pytest.mark.parametrize(
    ("kind", "data", "count"),
    [
        ("truncation", {"messagesRemovedDuringTruncation": 0}, 0),
        ("truncation", {"messagesRemovedDuringTruncation": 2}, 0),
        ("truncation", {"messagesRemovedDuringTruncation": 5}, 1),
        ("truncation", {}, 1),
        ("compaction_complete", {"success": False}, 0),
        ("compaction_complete", {"success": True, "summaryContent": "so far"}, 1),
    ],
)
def test_copilot_cli_has_forgotten_only_what_it_removed(tmp_path, kind, data, count):
    session = [json.loads(line) for line in WRITERS["copilot-cli"]["jsonl"](stuck()).splitlines()]
    event = {"type": f"session.{kind}", "data": data, "timestamp": 1}
    run = of_lines(tmp_path, *session[:8], event, *session[8:])
    assert sum(each.is_summary for each in run.messages) == count


def test_a_copilot_that_trims_a_little_each_round_hides_no_loop(tmp_path):
    """Only what the model has not seen for long is forgotten."""
    rounds = [
        Round(None, "", [Call(f"c{at}", "bash", {"command": f"try {at}"}, "denied", failed=True)])
        for at in range(40)
    ]
    session = [json.loads(line) for line in WRITERS["copilot-cli"]["jsonl"](rounds).splitlines()]
    data = {"messagesRemovedDuringTruncation": 2, "postTruncationMessagesLength": 24}
    trim = {"type": "session.truncation", "data": data, "timestamp": 1}
    trims = [[event, trim] if event["type"].startswith("tool") else [event] for event in session]
    whole, cut = of_lines(tmp_path, *session), of_lines(tmp_path, *chain.from_iterable(trims))
    found = [next(iter(replay(run, LoopDetector.escalating())))[0] for run in (whole, cut)]
    assert found[0] == found[1]
    assert [each.position for each in cut.messages if each.is_summary] == [13, 25, 37]


def test_reading_again_after_a_compaction_is_no_loop_and_without_one_it_is(tmp_path, capsys):
    reads = [
        Round(None, "", [Call(f"{lap}{number}", "read", {"path": f"{number}"}, f"text {number}")])
        for lap in range(2)
        for number in range(9)
    ]
    written_lines = WRITERS["pi"]["jsonl"](reads).splitlines(keepends=True)
    half = 1 + len(written_lines) // 2
    compaction = json.dumps({"type": "compaction", "summary": "so far"}) + "\n"
    path = tmp_path / "run.jsonl"
    options = ("scan", str(path), "--preset", "escalating")
    path.write_text("".join([*written_lines[:half], compaction, *written_lines[half:]]))
    assert main(options) == 0
    assert list(replay(read_whole(str(path)), LoopDetector.escalating())) == []
    path.write_text("".join(written_lines))
    assert main(options) == 1


def test_times_of_calls_are_kept_where_the_client_has_them(tmp_path):
    for name, took in (("opencode", 1.5), ("qwen-code", 0.25), ("gemini-stream", 2.0)):
        ending = next(iter(WRITERS[name]))
        run = read_whole(written(tmp_path, name, ending, stuck(2)))
        assert {result.duration_s for result in run.results} == {took}
        assert all(call.started_at for call in run.calls)


def test_a_request_of_copilot_chat_under_way_is_read_by_what_the_editor_shows(tmp_path):
    part = {
        "kind": "toolInvocationSerialized",
        "toolId": "run_in_terminal",
        "toolCallId": "x",
        "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls"}},
    }
    request = {"message": {"text": "go"}, "response": [{"value": "I look."}, part, part]}
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"initialLocation": "panel", "requests": [request]}))
    run = read_whole(str(path))
    assert [call.tool_name for call in run.calls] == ["run_in_terminal"] * 2
    assert run.results == (None, None)
    assert [each.text for each in run.messages] == ["go", "I look."]


def test_calls_of_copilot_chat_may_be_only_where_the_editor_shows_them(tmp_path):
    part = {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "toolCallId": "x"}
    node = {"node": {"children": [{"type": 2, "text": "line 1"}, {"type": 2, "text": "line 2"}]}}
    metadata = {
        "toolCallRounds": [{"thinking": {"text": "hm"}}],
        "toolCallResults": {"x": {"content": [{"value": node}]}},
    }
    result = {"metadata": metadata}
    request = {"message": {"text": "go"}, "response": [part], "result": result}
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"version": 3, "sessionId": "s1", "requests": [request]}))
    run = read_whole(str(path))
    assert [(call.tool_name, call.id) for call in run.calls] == [("copilot_readFile", "x")]
    assert [result.text for result in run.results] == ["line 1\nline 2"]


def test_calls_of_continue_may_be_only_in_their_states(tmp_path):
    call = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
    state = {"toolCall": call, "status": "done", "output": "a.py"}
    item = {"message": {"role": "assistant", "content": ""}, "toolCallStates": [state]}
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"sessionId": "s1", "history": [item, item]}))
    run = read_whole(str(path))
    assert [(call.tool_name, call.id, call.round) for call in run.calls] == [
        ("ls", "c1", 0),
        ("ls", "c1", 1),
    ]
    assert [result.text for result in run.results] == ["a.py", "a.py"]


@pytest.mark.parametrize(
    "fields",
    [{"visibility": "llm_only"}, {}],
    ids=["hidden", "reminder"],
)
@pytest.mark.parametrize("is_text", [True, False])
def test_what_droid_tells_the_model_is_not_a_turn(tmp_path, fields, is_text):
    text = "context" if fields else "<system-reminder>rules</system-reminder>"
    message = {"role": "user", "content": text if is_text else [{"type": "text", "text": text}]}
    extra = json.dumps({"type": "message", "message": message, **fields})
    path = tmp_path / "s.jsonl"
    path.write_text(WRITERS["droid"]["jsonl"](stuck(2)) + extra + "\n")
    assert read_whole(str(path)).turn_starts == (0,)


def of_lines(tmp_path, *values, source=None):
    path = tmp_path / "f.jsonl"
    path.write_text(lines(list(values)), encoding="utf-8")
    return read_whole(str(path), source)


def test_changes_of_a_log_of_copilot_chat_reach_into_lists_and_what_is_none_is_reported(tmp_path):
    part = {"kind": "toolInvocationSerialized", "toolId": "ls", "toolCallId": "x"}
    details = {"input": '{"path": "."}', "output": [{"value": "a.py"}], "isError": True}
    begin = {"kind": 0, "v": {"sessionId": "s", "requests": [{"message": {"text": "go"}}]}}
    at = ["requests", 0, "response"]
    changes = [
        {"kind": 1, "k": at, "v": [{"kind": "thinking", "value": "hm"}, {"kind": "old"}]},
        {"kind": 2, "k": at, "v": [part, part], "i": 1},
        {"kind": 1, "k": [*at, 1], "v": {**part, "resultDetails": details}},
        {"kind": 3, "k": [*at, 2]},
        {"kind": 1, "k": [*at, 9, "x"], "v": 1},
        {"kind": 2, "k": ["requests", 7], "v": [1]},
        {"kind": 9},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text(lines([begin, *changes, {"kind": 0, "v": {"sessionId": "t", "requests": []}}]))
    trouble = []
    (run,) = read_runs(str(path), on_trouble=trouble.append)
    assert [(call.tool_name, call.arguments) for call in run.calls] == [("ls", {"path": "."})]
    assert [(result.text, result.is_error) for result in run.results] == [("a.py", True)]
    assert [each.text for each in run.messages if each.is_thought] == ["hm"]
    assert [each.split(":")[1] for each in trouble] == ["6", "7", "8"]


def test_what_codex_exec_prints_is_read_item_by_item(tmp_path):
    command = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "a"}
    change = {"id": "i2", "type": "file_change", "changes": [{"path": "a.py"}]}
    run = of_lines(
        tmp_path,
        {"type": "thread.started", "thread_id": "s1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "r", "type": "reasoning", "text": "hm"}},
        {"type": "item.started", "item": {**command, "status": "in_progress"}},
        {"type": "item.completed", "item": {**command, "exit_code": 2, "status": "completed"}},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {**change, "status": "completed"}},
        {"type": "turn.failed", "error": {"message": "x"}},
    )
    assert [(call.tool_name, call.arguments) for call in run.calls] == [
        ("command_execution", {"command": "ls"}),
        ("file_change", {"changes": [{"path": "a.py"}]}),
    ]
    assert run.results[0].is_error
    assert (run.turn_starts, run.failed) == ((1,), True)
    assert [each.text for each in run.messages if each.is_thought] == ["hm"]


def test_a_reply_of_gemini_that_comes_in_pieces_is_one(tmp_path):
    def said(text, **more):
        return {"type": "message", "role": "assistant", "content": text, "delta": True, **more}

    use = {"type": "tool_use", "tool_id": "1", "tool_name": "ls", "parameters": {}}
    events = [said("A list:\n"), *[said("- done\n")] * 6, use, said("The "), said("end")]
    begin = {"type": "init", "session_id": "s", "model": "m"}
    run = of_lines(tmp_path, begin, *events, said("hi", role="user"), said("", delta=False))
    assert [(each.text, each.position) for each in run.messages] == [
        ("A list:\n" + "- done\n" * 6, 0),
        ("The end", 1),
        ("hi", 1),
    ]
    assert list(replay(run, LoopDetector.escalating())) == []
    cut = of_lines(tmp_path, begin, use, said("The "), said("end"))
    assert [each.text for each in cut.messages] == ["The end"]


@pytest.mark.parametrize("value", [0, False, ""])
def test_a_result_that_is_nothing_much_is_what_it_is(tmp_path, value):
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "is_open", "input": {}}
    result = {"type": "tool-result", "toolCallId": "1", "toolName": "is_open"}
    part = {"type": "tool-is_open", "toolCallId": "1", "state": "output-available", "input": {}}
    given = "" if value == "" else json.dumps(value)
    asked = {"role": "assistant", "content": [call]}
    for output in ({"output": {"type": "json", "value": value}}, {"result": value}):
        messages = [asked, {"role": "tool", "content": [{**result, **output}]}]
        assert [each.text for each in of_lines(tmp_path, messages).results] == [given]
    run = of_lines(tmp_path, [{"role": "assistant", "parts": [{**part, "output": value}]}])
    assert [each.text for each in run.results] == [given]


def test_words_of_a_ui_message_stand_before_the_calls_of_their_step(tmp_path):
    def step(number):
        tool = {"type": "tool-ls", "toolCallId": f"{number}", "state": "output-available"}
        words = {"type": "text", "text": f"I look {number}."}
        thought = {"type": "reasoning", "text": "hm"}
        return [{"type": "step-start"}, thought, words, {**tool, "input": {}, "output": "a"}]

    picture = {"role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "x"}]}
    run = of_lines(tmp_path, [{"role": "assistant", "parts": [*step(0), *step(1)]}, picture])
    assert [(each.text, each.position, each.is_thought) for each in run.messages] == [
        ("hm", 0, True),
        ("I look 0.", 0, False),
        ("hm", 1, True),
        ("I look 1.", 1, False),
    ]
    assert ([call.round for call in run.calls], run.turn_starts) == ([1, 2], (2,))


def test_a_call_that_was_denied_in_the_ai_sdk_has_failed(tmp_path):
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "rm", "input": {}}
    denied = {"type": "execution-denied", "reason": "not that"}
    given = {"type": "tool-result", "toolCallId": "1", "toolName": "rm", "output": denied}
    messages = [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [given]}]
    run = of_lines(tmp_path, messages)
    assert [(each.text, each.is_error) for each in run.results] == [("not that", True)]


def users_words(name, content):
    """Return a session that begins with a message of the user."""
    message = {"role": "user", "content": content}
    if name == "amp":
        return {"id": "T-1", "messages": [message]}
    if name == "opencode":
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        return {"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": parts}]}
    if name == "goose":
        return {"id": "s", "working_dir": "", "conversation": [{**message, "created": 1}]}
    return {"type": "message", "message": message} if name == "droid" else message


@pytest.mark.parametrize(
    "content", ["go on", [{"type": "text", "text": "go on"}], [{"type": "file", "url": "x"}]]
)
@pytest.mark.parametrize("name", ["amp", "chat-lines", "droid", "goose", "opencode"])
def test_words_of_a_user_and_what_is_shown_without_a_word_are_a_turn(tmp_path, name, content):
    run = of_lines(tmp_path, users_words(name, content), source=name)
    assert run.turn_starts == (0,)
    said = [] if "file" in str(content) else ["go on"]
    assert [each.text for each in run.messages] == said


def test_a_session_of_pi_may_begin_in_its_middle(tmp_path):
    given = {"role": "toolResult", "toolCallId": "x", "content": [{"type": "text", "text": "a"}]}
    entry = {"type": "message", "id": "1", "parentId": None, "message": given}
    path = tmp_path / "s.jsonl"
    path.write_text(lines([entry, {"type": "branch_summary", "summary": "so far"}]))
    (run,) = read_runs(str(path), on_trouble=[].append)
    assert [result.text for result in run.results] == ["a"]
    assert [each.is_summary for each in run.messages] == [True]


def test_tools_of_cursor_may_be_functions_and_its_thoughts_are_kept(tmp_path):
    body = {"name": "ls", "arguments": '{"path": "."}'}
    event = {"type": "tool_call", "call_id": "x", "session_id": "s"}
    run = of_lines(
        tmp_path,
        {**event, "subtype": "started", "tool_call": {"function": body}},
        {"type": "thinking", "text": "hm", "session_id": "s"},
        {**event, "subtype": "completed", "tool_call": {"function": {**body, "result": "a"}}},
        {"type": "result", "is_error": True, "session_id": "s"},
    )
    assert [(call.tool_name, call.arguments) for call in run.calls] == [("ls", {"path": "."})]
    assert [result.text for result in run.results] == ["a"]
    assert run.failed
    assert [each.is_thought for each in run.messages] == [True]


def test_what_cursor_prints_may_be_cut_at_its_start(tmp_path):
    told = cursor_stream([*healthy(), *stuck(2)]).splitlines(keepends=True)
    for start in range(len(told) - 1):
        path = tmp_path / f"{start}.jsonl"
        path.write_text("".join(told[start:]), encoding="utf-8")
        (run,), (named,) = read_runs(str(path)), read_runs(str(path), source="cursor")
        assert run == named


@pytest.mark.parametrize("beside", [{"parent_tool_use_id": None}, {}])
def test_what_claude_code_prints_may_be_cut_at_its_start(tmp_path, beside):
    def line(role, *blocks):
        message = {"role": role, "content": list(blocks)}
        return {"type": role, "message": message, "session_id": "s", **beside}

    words = {"type": "text", "text": "I look."}
    call = {"type": "tool_use", "id": "x", "name": "Read", "input": {"file_path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "x", "content": "b"}
    run = of_lines(
        tmp_path, line("assistant", words), line("assistant", call), line("user", result)
    )
    assert ([call.tool_name for call in run.calls], run.client) == (["Read"], "claude-code")


def test_copilot_cli_gives_tokens_and_the_errors_of_tools(tmp_path):
    at = "2026-05-01T10:00:00Z"
    call = {"toolCallId": "x", "name": "bash", "arguments": {}}
    usage = {"model": "m", "inputTokens": 5, "outputTokens": 2}
    failed = {"toolCallId": "x", "success": False, "error": {"message": "e"}}
    events = [
        ("session.start", {"sessionId": "s1"}),
        ("session.usage_record", {"usage": usage}),
        ("assistant.message", {"content": "", "toolRequests": [call]}),
        ("tool.execution_complete", failed),
    ]
    found = [{"type": kind, "data": data, "timestamp": at} for kind, data in events]
    run = of_lines(tmp_path, *found)
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 5, 2)
    assert [(result.text, result.is_error) for result in run.results] == [("e", True)]


def test_what_cannot_be_read_in_a_folder_is_reported_or_left_out(tmp_path, capsys):
    events = tmp_path / "a" / "events"
    events.mkdir(parents=True)
    for number, event in enumerate(openhands_events(stuck(6))):
        (events / f"{number}.json").write_text(json.dumps(event), encoding="utf-8")
    (events / "99.json").write_text("{broken", encoding="utf-8")
    assert main(["scan", str(events)]) == 1
    assert "not JSON" in capsys.readouterr().err
    (events / "100.json").write_text("", encoding="utf-8")
    assert main(["scan", str(events)]) == 1
    assert f"{events}:15: empty; skipped" in capsys.readouterr().err
    storage = tmp_path / "b"
    (storage / "part").mkdir(parents=True)
    place = storage / "message" / "ses_1"
    place.mkdir(parents=True)
    (place / "msg_1.json").write_text("{broken", encoding="utf-8")
    assert main(["scan", str(storage)]) == 2
