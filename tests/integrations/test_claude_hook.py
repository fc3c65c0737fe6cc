"""What the hook answers to each event, read off transcripts as Claude Code writes them."""

import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopPolicy
from antiloop.integrations import hook_process, transcript_tail
from antiloop.integrations.claude_code import LoopGuard
from antiloop.integrations.hook_process import Options
from antiloop.integrations.transcript_tail import Look, tail_of, transcript_of
from antiloop.loop_detection import Escalation, RepeatDetector
from antiloop.loop_detection.messages import NOTICE_MARKER
from antiloop.loop_detection.outcome import REFUSED_MARKER

REFUSED = f"PreToolUse:Bash hook error: {REFUSED_MARKER} this call was not run."


def called(number, name="Bash", message=None, **arguments):
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    said = {"id": message or f"m{number}", "role": "assistant", "content": [block]}
    return {"type": "assistant", "uuid": f"a{number}", "message": said}


def answered(number, text="nothing", **beside):
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    said = {"role": "user", "content": [block]}
    return {"type": "user", "uuid": f"u{number}", "message": said, **beside}


def said(text):
    return {"type": "user", "message": {"role": "user", "content": text}}


def rounds(count, text="nothing", first=0, **arguments):
    """Give the lines of equal calls."""
    arguments = arguments or {"command": "ls"}
    numbers = range(first, first + count)
    return [line for n in numbers for line in (called(n, **arguments), answered(n, text))]


class Session:
    """A transcript on disk, and the events of what comes next."""

    def __init__(self, folder):
        self.path = folder / "session.jsonl"
        self.path.write_text("", "utf-8")

    def write(self, *lines, agent=None):
        path = self.path
        if agent:
            path = path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        return self

    def event(self, kind, **beside):
        own = {"hook_event_name": kind, "session_id": "s", "transcript_path": str(self.path)}
        return {**own, **beside}

    def before(self, number=99, name="Bash", agent_id=None, **arguments):
        call = {"tool_name": name, "tool_input": arguments or {"command": "ls"}}
        beside = {"agent_id": agent_id} if agent_id else {}
        return self.event("PreToolUse", tool_use_id=f"t{number}", **call, **beside)

    def after(self, *texts, number=99, name="Bash", **arguments):
        call = {"tool_name": name, "tool_input": arguments or {"command": "ls"}}
        calls = [
            {**call, "tool_use_id": f"t{number + place}", "tool_response": text}
            for place, text in enumerate(texts or ("nothing",))
        ]
        return self.event("PostToolBatch", tool_calls=calls)


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


def guard(policy=LoopPolicy.BLOCK, **options):
    return LoopGuard(LoopDetector([RepeatDetector(3, require_same_result=True)], policy), **options)


def test_a_third_equal_round_brings_a_notice(session):
    answer = guard(LoopPolicy.INJECT_MESSAGE).answer(session.write(*rounds(2)).after())
    told = answer["hookSpecificOutput"]
    assert told["hookEventName"] == "PostToolBatch"
    assert told["additionalContext"].startswith(NOTICE_MARKER)
    assert set(answer) == {"hookSpecificOutput"}


def test_two_equal_rounds_are_not_yet_a_loop(session):
    assert guard(LoopPolicy.STOP).answer(session.write(*rounds(1)).after()) == {}


@pytest.mark.parametrize("policy", [LoopPolicy.STOP, LoopPolicy.RAISE])
def test_to_stop_and_to_raise_end_the_session(session, policy):
    answer = guard(policy).answer(session.write(*rounds(2)).after())
    assert answer["continue"] is False
    assert answer["stopReason"].startswith("Stopped: the agent was stuck in a loop. Tool 'Bash'")


def test_a_call_of_a_blocked_loop_is_denied_with_the_reason(session):
    session.write(*rounds(3))
    told = guard().answer(session.before())["hookSpecificOutput"]
    assert told["permissionDecision"] == "deny"
    assert told["permissionDecisionReason"].startswith(REFUSED_MARKER)
    assert guard().answer(session.before(command="pwd")) == {}


def test_going_on_with_refused_calls_ends_the_session(session):
    session.write(*rounds(3), called(3, command="ls"), answered(3, REFUSED))
    answer = guard().answer(session.after(REFUSED, number=4))
    assert answer["continue"] is False


def test_a_call_after_an_end_that_nobody_heard_of_is_denied_and_ends_the_session(session):
    answer = guard(LoopPolicy.STOP).answer(session.write(*rounds(3)).before())
    assert answer["continue"] is False
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == answer["stopReason"]
    assert guard(LoopPolicy.STOP).answer(session.before(command="pwd")) == {}


def test_the_current_call_counts_once_whether_the_transcript_has_it_or_not(session):
    session.write(*rounds(1), called(50, command="ls"))
    assert guard(LoopPolicy.STOP).answer(session.after(number=50)) == {}
    session.write(answered(50))
    assert guard(LoopPolicy.STOP).answer(session.after(number=50)) == {}


def test_results_that_are_not_written_yet_are_no_evidence(session):
    session.write(*rounds(2), called(7, command="ls"))
    assert guard().answer(session.before()) == {}
    session.write(answered(7))
    assert guard().answer(session.before()) != {}


def test_parallel_calls_of_one_round_are_one_piece_of_evidence(session):
    session.write(*rounds(1))
    assert guard(LoopPolicy.STOP).answer(session.after("nothing", "nothing")) == {}


def test_what_the_user_says_begins_anew(session):
    session.write(*rounds(3), said("go on"))
    assert guard().answer(session.before()) == {}


def test_a_subagent_is_judged_by_its_own_transcript(session):
    own = [{**line, "isSidechain": True, "agentId": "a1"} for line in rounds(3)]
    session.write(*own, agent="a1")
    assert guard().answer(session.before()) == {}
    assert guard().answer(session.before(agent_id="a1")) != {}
    assert guard().answer(session.before(agent_id="a2")) == {}


def test_a_session_of_which_nothing_is_written_yet_passes(session):
    session.path.unlink()
    assert guard().answer(session.before()) == {}


@pytest.mark.parametrize("name", ["TodoWrite", "mcp__desk__search"])
def test_tools_that_plan_and_tools_that_are_named_are_ignored(session, name):
    lines = [line for n in range(5) for line in (called(n, name, x=1), answered(n))]
    session.write(*lines)
    watcher = guard(LoopPolicy.STOP, ignore=["mcp__desk__search"])
    assert watcher.answer(session.after(name=name, x=1)) == {}


def test_ignore_takes_no_single_name():
    with pytest.raises(TypeError, match="ignore takes a list"):
        LoopGuard(ignore="Bash")


def test_failures_are_told_by_their_first_words(session):
    long = "Exit code 1\n" + "a line of the log\n" * 100
    watcher = LoopGuard()
    session.write(*rounds(3, text="done"))
    event = session.after(long)
    assert watcher.answer(event) == {}
    assert transcript_tail.is_failure(long)


def test_an_event_of_another_kind_is_passed_over(session):
    assert guard().answer(session.event("Stop")) == {}
    assert guard().answer(session.event("PostToolBatch", tool_calls=[])) == {}


@pytest.mark.parametrize(
    "response",
    [{"stdout": "nothing", "stderr": ""}, "nothing", [{"type": "text", "text": "nothing"}]],
)
def test_without_the_event_of_a_round_each_call_is_judged_alone(session, response):
    session.write(*rounds(2))
    event = {**session.before(), "hook_event_name": "PostToolUse", "tool_response": response}
    told = guard(LoopPolicy.INJECT_MESSAGE).answer(event)["hookSpecificOutput"]
    assert told["hookEventName"] == "PostToolUse"
    assert NOTICE_MARKER in told["additionalContext"]


def test_a_tools_own_answer_is_found_again_as_the_model_read_it(session):
    response = {"file": {"content": "nothing"}}
    for n in range(2):
        read = answered(n, "     1\tnothing", toolUseResult=response)
        session.write(called(n, command="ls"), read)
    event = {**session.before(), "hook_event_name": "PostToolUse", "tool_response": response}
    assert guard(LoopPolicy.STOP).answer(event)["continue"] is False
    event["tool_response"] = {"file": {"content": "something"}}
    assert guard(LoopPolicy.STOP).answer(event) == {}


def test_a_call_that_failed_is_judged_by_its_error(session):
    session.write(*rounds(2, text="no such file"))
    event = {**session.before(), "hook_event_name": "PostToolUseFailure", "error": "no such file"}
    assert guard(LoopPolicy.STOP).answer(event)["continue"] is False


def test_lines_that_are_no_json_are_passed_over(session):
    session.write(*rounds(2))
    with open(session.path, "a", encoding="utf-8") as file:
        file.write('{"type":"user","half')
    assert guard(LoopPolicy.STOP).answer(session.after()) != {}


# --- the end of a transcript


def test_the_end_of_a_long_transcript_holds_so_many_calls(session, monkeypatch):
    monkeypatch.setattr(transcript_tail, "_BLOCK", 1_000)
    session.write(*rounds(100))
    lines = tail_of(str(session.path), 10)
    calls = [line for line in lines if b'"tool_use"' in line]
    assert 10 <= len(calls) < 40
    assert all(json.loads(line) for line in lines if line)
    assert len(tail_of(str(session.path), 1_000)) == 201


def test_no_more_than_so_many_bytes_are_read(session, monkeypatch):
    monkeypatch.setattr(transcript_tail, "_BLOCK", 100)
    monkeypatch.setattr(transcript_tail, "BYTES", 1_000)
    session.write(*rounds(100))
    assert sum(map(len, tail_of(str(session.path)))) <= 1_000


def test_a_subagents_transcript_stands_beside_that_of_the_session():
    event = {"transcript_path": "/x/s.jsonl", "agent_id": "a1"}
    assert transcript_of(event) == "/x/s/subagents/agent-a1.jsonl"


# --- the first look


def looks_like_news(event, ignore=()):
    return Look(tail_of(transcript_of(event)), json.loads, ignore).is_news(event)


def test_a_new_call_is_news_before_it_runs(session):
    session.write(*rounds(3))
    assert looks_like_news(session.before(command="pwd"))
    assert not looks_like_news(session.before())
    assert looks_like_news(session.before(), ignore=["Bash"])


def test_a_new_call_with_a_new_plain_answer_is_news(session):
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
STEP = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), TEXTS), min_size=1, max_size=3
)


@given(st.lists(STEP, min_size=1, max_size=14), st.sampled_from(["default", "escalating"]))
def test_what_the_first_look_calls_news_needs_no_answer(steps, preset):
    with tempfile.TemporaryDirectory() as folder:
        session, number = Session(Path(folder)), 0
        watcher = LoopGuard(getattr(LoopDetector, preset)())
        for step in steps:
            calls, lines = [], []
            for tool, argument, text in step:
                number += 1
                event = session.before(number, tool, command=argument)
                assert not (looks_like_news(event) and watcher.answer(event))
                calls.append({**event, "tool_response": text})
                lines += [called(number, tool, f"m{len(step)}-{number}", command=argument)]
                lines += [answered(number, text)]
            event = session.event("PostToolBatch", tool_calls=calls)
            assert not (looks_like_news(event) and watcher.answer(event))
            session.write(*lines)


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
    monkeypatch.setattr(hook_process, "_detector", lambda options: 1 / 0)
    assert ran(monkeypatch, capsys, json.dumps(session.before())) == ("", "")


def test_other_presets_and_configurations_are_always_asked(session, tmp_path, monkeypatch, capsys):
    config = tmp_path / "config.json"
    detector = LoopDetector([RepeatDetector(2)], Escalation(("stop",)))
    config.write_text(json.dumps(detector.to_config()), "utf-8")
    event = json.dumps(session.write(*rounds(2)).after())
    out, _ = ran(monkeypatch, capsys, event, "--preset", "default")
    assert json.loads(out)["continue"] is False
    out, _ = ran(monkeypatch, capsys, event, f"--config={config}")
    assert json.loads(out)["continue"] is False
    assert ran(monkeypatch, capsys, event, "--preset=literal", "--ignore", "Bash").out == ""


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("{", (), "StopIteration|JSONDecodeError"),
        ("[]", (), "TypeError|AttributeError"),
        ("{}", (), "KeyError: 'transcript_path'"),
        (None, (), "no event on standard input; --install"),
        ("{}", ("--presett", "x"), "unknown option '--presett'"),
        ("{}", ("--preset",), "--preset needs a value"),
        ('{"transcript_path": "x"}', ("--preset", "x"), "no preset 'x'; choose from default"),
        ('{"transcript_path": "x"}', ("--config", "absent.json"), "absent.json"),
        ('{"transcript_path": "/"}', (), "IsADirectory"),
        ('{"transcript_path": "\\u001b[2J\\u0000"}', (), "null"),
    ],
)
def test_whatever_goes_wrong_the_call_goes_on(text, arguments, told, monkeypatch, capsys):
    out, err = ran(monkeypatch, capsys, text, *arguments)
    assert out == ""
    assert re.search(told, err)
    assert err.count("\n") == 1
    assert err.startswith("antiloop hook: ")
    assert "\x1b" not in err


def test_an_interpreter_without_the_scanner_reads_json_as_well(monkeypatch):
    monkeypatch.setitem(sys.modules, "_json", None)
    assert hook_process._reader() is json.loads


def test_options_are_read_in_both_forms():
    options = Options(["--preset=default", "--ignore", "a", "--ignore=b=c"])
    assert (options.preset, options.config, options.ignore) == ("default", None, ["a", "b=c"])


def test_the_hook_goes_round_the_command_line(session, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["antiloop", "hook", "claude-code"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("antiloop", run_name="__main__")
    assert ended.value.code == 0


def test_a_process_that_has_nothing_to_say_loads_next_to_nothing(session):
    script = (
        "import sys, runpy; sys.argv = ['antiloop', 'hook', 'claude-code']\n"
        "try: runpy.run_module('antiloop', run_name='__main__')\n"
        "except SystemExit as ended: assert ended.code == 0\n"
        "print(*sys.modules)"
    )
    before = subprocess.run(
        [sys.executable, "-c", "import runpy, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(session.before()),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    loaded = set(done.stdout.split()) - set(before.stdout.split())
    assert not {"json", "re", "typing", "argparse", "dataclasses"} & loaded
    assert "antiloop.integrations.claude_code" not in loaded
    assert "antiloop.integrations.hook_process" in loaded
