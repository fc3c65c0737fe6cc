"""The process of the hook: a first look, and a detector only where it may matter."""

import errno
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from claude_transcripts import Session, answered, called, rounds
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.__main__ import _status as program
from antiloop.integrations._hooks import hook_process, transcript_tail
from antiloop.integrations._hooks.hook_process import HookOptions
from antiloop.integrations._hooks.transcript_tail import Look, tail_of, transcript_of
from antiloop.integrations.claude_code import LoopGuard
from antiloop.loop_detection import Escalation, RepeatDetector
from antiloop.loop_detection._evidence import effect
from antiloop.loop_detection._messages import NOTICE_MARKER


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    """Begin each session anew: events without an id are of one and the same session."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


# --- the end of a transcript


def test_the_end_of_a_long_transcript_holds_so_many_calls(session, monkeypatch):
    monkeypatch.setattr(transcript_tail, "_BLOCK", 1_000)
    session.write(*rounds(100))
    lines = tail_of(str(session.path), 10).splitlines()
    calls = [line for line in lines if b'"tool_use"' in line]
    assert 10 <= len(calls) < 40
    assert all(json.loads(line) for line in lines if line)
    assert tail_of(str(session.path), 1_000) == session.path.read_bytes()


def test_no_more_than_so_many_bytes_are_read(session, monkeypatch):
    monkeypatch.setattr(transcript_tail, "_BLOCK", 100)
    monkeypatch.setattr(transcript_tail, "BYTES", 1_000)
    session.write(*rounds(100))
    assert 0 < len(tail_of(str(session.path))) <= 1_000


def test_a_subagents_transcript_stands_beside_that_of_the_session():
    event = {"transcript_path": "/x/s.jsonl", "agent_id": "a1"}
    assert transcript_of(event) == "/x/s/subagents/agent-a1.jsonl"


# --- the first look


def looks_like_news(event, ignore=()):
    return Look(tail_of(transcript_of(event)), ignore).is_all_new(event)


def test_a_new_call_is_all_new_before_it_runs(session):
    session.write(*rounds(3), *rounds(1, "nine lines", 3, command="cat x"))
    assert looks_like_news(session.before(command="pwd"))
    assert not looks_like_news(session.before())
    assert looks_like_news(session.before(), ignore=["Bash"])


def test_a_new_call_with_a_new_plain_answer_is_all_new(session):
    session.write(*rounds(3, text="seen before"))
    assert looks_like_news(session.after("nine lines", command="pwd"))
    assert not looks_like_news(session.after("seen before", command="pwd"))
    assert not looks_like_news(session.after("error", command="pwd"))
    assert not looks_like_news(session.after("Exit code 1\n" + "x" * 2_000, command="pwd"))
    assert not looks_like_news(session.after("nine lines", command="ls"))
    assert looks_like_news(session.after("error"), ignore=["Bash"])


def test_an_answer_in_parts_is_read_as_its_text(session):
    parts = [{"type": "text", "text": "seen before"}]
    session.write(called(0, command="ls"), answered(0, parts))
    assert not looks_like_news(session.after("seen before", command="pwd"))
    new = [{"type": "text", "text": "nine lines"}]
    assert looks_like_news(session.after(new, command="pwd"))
    picture = [{"type": "image", "source": {"data": "nine"}}]
    assert not looks_like_news(session.after(picture, command="pwd"))
    assert not looks_like_news(session.after({"nine": "lines"}, command="pwd"))


def test_the_call_itself_and_its_own_result_are_no_past(session):
    session.write(called(99, command="ls"), answered(99, "nine lines"))
    assert looks_like_news(session.before())
    assert looks_like_news(session.after("nine lines"))


def test_arguments_are_compared_by_value_at_any_depth(session):
    session.write(called(0, edits=[{"old": "aaa", "new": 1}], path="x"))
    assert not looks_like_news(session.before(path="x", edits=[{"new": 1, "old": "aaa"}]))
    assert looks_like_news(session.before(path="x", edits=[{"new": 2, "old": "aaa"}]))


def test_a_call_without_words_is_found_by_its_tool(session):
    session.write(called(0, "Look", n=1))
    assert not looks_like_news(session.before(name="Look", n=1))
    assert looks_like_news(session.before(name="Look", words="\u00e4", n=1))


def test_what_is_not_understood_is_no_news(session):
    odd = {**session.before(), "tool_input": "text"}
    assert not looks_like_news(odd)
    assert not looks_like_news(session.event("PostToolUse"))


def test_lines_that_are_not_understood_are_passed_over(session):
    session.write(
        {"x": "Bash", "type": "tool_use"}, {"type": "tool_use", "message": {"content": "Bash"}}
    )
    session.write({"message": {"content": ["Bash", {"type": "tool_use", "name": "x"}]}})
    with open(session.path, "a", encoding="utf-8") as file:
        file.write('{"half "tool_use" Bash\n')
    assert looks_like_news(session.before())


TEXTS = st.sampled_from(
    ["nine lines", "ten lines", "error", "", "nothing found", "x" * 500, "Exit code 1\nfailed"]
)
ARGUMENTS = st.sampled_from(["x", "y", "a new page", "x as another request"])
TOOLS = st.sampled_from(["a", "b", "c", "mcp__x__taskDone"])
STEP = st.lists(st.tuples(TOOLS, ARGUMENTS, TEXTS), min_size=1, max_size=3)


def arguments_of(what, number):
    if what == "a new page":
        return {"url": f"/{number}"}
    return {"command": what[:1], **({"request_id": number} if "request" in what else {})}


def answers_by_look_and_watcher(folder, steps, detector):
    """Give for each event whether it looks like news, and the answer; no refused call runs."""
    session, number = Session(Path(folder)), 0
    watcher = LoopGuard(detector)
    for place, step in enumerate(steps):
        calls, lines = [], []
        for tool, what, text in step:
            number += 1
            arguments = arguments_of(what, number)
            event = session.before(number, tool, **arguments)
            answer = watcher.answer(event)
            yield looks_like_news(event), answer
            refusal = answer.get("hookSpecificOutput", {}).get("permissionDecisionReason")
            calls.append({**event, "tool_response": refusal or text})
            lines += [called(number, tool, f"m{place}", **arguments)]
            lines += [answered(number, refusal or text)]
        event = session.event("PostToolBatch", tool_calls=calls)
        yield looks_like_news(event), watcher.answer(event)
        session.write(*lines)


@given(st.lists(STEP, min_size=1, max_size=14), st.sampled_from(["default", "escalating"]))
def test_what_the_first_look_calls_news_needs_no_answer(steps, preset):
    with tempfile.TemporaryDirectory() as folder:
        detector = getattr(LoopDetector, preset)()
        answers = answers_by_look_and_watcher(folder, steps, detector)
        assert [answer for is_new, answer in answers if is_new and answer] == []


@pytest.mark.parametrize(
    ("what", "text"),
    [("a new page", "Error: no such page"), ("x as another request", "nine lines")],
)
def test_a_new_call_of_a_blocked_tool_is_no_news(what, text, tmp_path):
    steps = [[("fetch", what, text)]] * 7
    answers = list(answers_by_look_and_watcher(tmp_path, steps, LoopDetector.escalating()))
    refused = [is_new for is_new, answer in answers if "permissionDecision" in str(answer)]
    assert refused
    assert not any(refused)


@pytest.mark.parametrize("word", sorted(effect._FINISHING))
def test_a_run_that_is_declared_finished_again_is_no_news(word, tmp_path):
    steps = [[(f"mcp__run__{word.title()}_2", "a new page", f"saved as {n}")] for n in range(3)]
    *_, last = answers_by_look_and_watcher(tmp_path, steps, LoopDetector.escalating())
    assert not last[0]
    assert "declared the run finished 3 times" in str(last[1])


@pytest.mark.parametrize("beside", [{}, {"is_error": True}, {"content": [{"type": "image"}]}])
def test_a_new_call_is_news_only_after_a_success_of_its_tool(beside, session):
    failed = answered(1, "nine lines")
    failed["message"]["content"][0].update(beside)
    session.write(called(1, "Read", "m1", page=1), failed)
    assert looks_like_news(session.before(2, "Read", page=2)) is (not beside)
    assert looks_like_news(session.before(2, "Read", page=2), ["Read"])
    assert looks_like_news(session.before(2, "Write", page=2))
    session.write(called(2, "Write", "m2", page=1), answered(2, "ten lines"))
    assert looks_like_news(session.before(3, "Read", page=2))


def test_failures_of_subagents_in_the_same_transcript_are_theirs(session):
    side = {"isSidechain": True, "agentId": "a1"}
    session.write(called(1, "Read", page=1), answered(1, "Error: nothing"))
    session.write({**called(2, "Write", page=1), **side}, {**answered(2, "ok", **side)})
    assert not looks_like_news(session.before(3, "Read", page=3))


# --- the process


def ran(monkeypatch, capsys, text, *arguments):
    class Stdin(io.TextIOWrapper):
        def isatty(self):
            return text is None

    monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO((text or "").encode())))
    assert hook_process.main(arguments) == 0
    return capsys.readouterr()


def test_an_event_on_standard_input_is_answered_on_standard_output(session, monkeypatch, capsys):
    session.write(*rounds(2, text="same"))
    out, err = ran(monkeypatch, capsys, " " + json.dumps(session.after("same")))
    assert NOTICE_MARKER in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert err == ""


def test_news_are_answered_by_nothing_without_any_detector(session, monkeypatch, capsys):
    monkeypatch.setattr(hook_process, "_detector", lambda file, options: 1 / 0)
    assert ran(monkeypatch, capsys, json.dumps(session.before())) == ("", "")


def test_other_presets_and_configurations_are_always_asked(session, tmp_path, monkeypatch, capsys):
    config = tmp_path / "config.json"
    detector = LoopDetector([RepeatDetector(2)], Escalation(("stop",)))
    config.write_text(json.dumps(detector.to_config()), "utf-8")
    event = json.dumps(session.write(*rounds(2)).after())
    out, _ = ran(monkeypatch, capsys, event, "--preset", "default")
    assert "Stopped: the agent" in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    out, _ = ran(monkeypatch, capsys, event, f"--config={config}")
    assert "Stopped: the agent" in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert ran(monkeypatch, capsys, event, "--preset=literal", "--ignore", "Bash").out == ""


def event(transcript, **beside):
    own = {"hook_event_name": "PreToolUse", "transcript_path": transcript}
    return json.dumps({**own, **beside})


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("{", (), "no event of a Claude Code hook on standard input: not JSON (Expecting"),
        ("words", (), "no event of a Claude Code hook on standard input: not JSON (Expecting"),
        (" \n", (), "no event of a Claude Code hook on standard input: it is empty"),
        ("[]", (), "standard input: expected a JSON object, got list"),
        ("{}", (), 'standard input: no "hook_event_name" in it; --install lets Claude Code send'),
        ('{"hook_event_name": "Stop"}', (), 'standard input: no "transcript_path" in it'),
        (None, (), "standard input: it is empty; --install lets Claude Code send"),
        (event("x"), ("--presett", "x"), "unknown option '--presett'"),
        (event("x"), ("--shadow", "--yes"), "--yes needs --install or --uninstall"),
        (event("x"), ("--preset",), "--preset needs a value"),
        (event("x"), ("--preset", "x"), "no preset 'x'; choose from default"),
        (event("x"), ("--config", "absent.json"), "absent.json: No such file"),
        (event("/"), (), "/: Is a directory"),
        (event("/dev/null"), (), "/dev/null: a device, not a file"),
        (event("\x1b[2J\0"), (), "null"),
    ],
)
def test_whatever_goes_wrong_the_call_goes_on(text, arguments, told, monkeypatch, capsys):
    out, err = ran(monkeypatch, capsys, text, *arguments)
    assert out == ""
    assert told in err
    assert err.count("\n") == 1
    assert err.startswith("antiloop hook: ")
    assert "\x1b" not in err


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


class Full(io.StringIO):
    """A stream on a device on which no space is left."""

    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("stream", [lambda: None, closed, Full])
def test_where_nothing_can_be_written_the_exit_status_is_0(stream, session, monkeypatch):
    for text in ("words", json.dumps(session.write(*rounds(2)).after())):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            patch.setattr(sys, "stdout", stream())
            patch.setattr(sys, "stderr", stream())
            assert hook_process.main(()) == 0


def test_an_error_without_a_file_names_none(session, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", Full())
    _, err = ran(monkeypatch, capsys, json.dumps(session.write(*rounds(2)).after()))
    assert err == "antiloop hook: No space left on device\n"


JSON = st.recursive(
    st.sampled_from([None, True, 7, 1.5, "", "ls", "t1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["tool_name", "tool_input", "tool_use_id"]), inner)
    ),
    max_leaves=6,
)
KEYS = (
    "tool_name",
    "tool_input",
    "tool_use_id",
    "tool_calls",
    "tool_response",
    "agent_id",
    "error",
)
KINDS = ("PreToolUse", "PostToolBatch", "PostToolUse", "PostToolUseFailure", "Stop", "Notification")


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), JSON))
def test_an_event_of_any_shape_is_answered(kind, beside):
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder)).write(*rounds(5))
        said, told = answer(json.dumps({**beside, **session.event(kind)}).encode())
    assert isinstance(json.loads(said or "{}"), dict)
    assert told == ""


@given(st.binary() | st.text().map(str.encode))
def test_whatever_is_no_event_is_told_in_words(data):
    said, told = answer(data)
    assert said == ""
    assert told.startswith("antiloop hook: no event of a Claude Code hook on standard input: ")
    assert told.count("\n") == 1


def answer(data):
    """Answer one event, without pytest's fixtures; give standard output and error."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        assert hook_process.main([]) == 0
        return sys.stdout.getvalue(), sys.stderr.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def test_a_pipe_in_the_place_of_a_transcript_is_not_waited_for(tmp_path, monkeypatch, capsys):
    os.mkfifo(tmp_path / "pipe")
    out, err = ran(monkeypatch, capsys, event(str(tmp_path / "pipe")))
    assert (out, err) == ("", f"antiloop hook: {tmp_path / 'pipe'}: a named pipe, not a file\n")


def test_a_byte_that_is_no_text_spoils_no_line(session, monkeypatch, capsys):
    session.write(*rounds(5))
    data = session.path.read_bytes()
    session.path.write_bytes(data.replace(b'"uuid":"a', b'"uuid":"\xff'))
    out, _ = ran(monkeypatch, capsys, json.dumps(session.before()))
    assert '"deny"' in out


def test_options_are_read_in_both_forms():
    options = HookOptions(["--preset=default", "--ignore", "a", "--ignore=b=c"])
    assert (options.preset, options.config, options.ignore) == ("default", None, ["a", "b=c"])


def test_the_hook_goes_round_the_command_line(session, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "claude-code"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    with pytest.raises(SystemExit) as ended:
        sys.exit(program())
    assert ended.value.code == 0
