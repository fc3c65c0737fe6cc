"""The contract with the real Claude Code, and what its hooks are answered."""

import asyncio
import json
import shlex
import sys

import pytest
from claude_transcripts import Session, answered, called, rounds, said
from contract import FolderContract, Ran, Script, detector, same

from antiloop import LoopDetector, LoopPolicy
from antiloop.cli._hooks.agents import SETTINGS
from antiloop.integrations._hooks.hook_session import REFUSALS, REPORT
from antiloop.integrations._hooks.transcript_tail import is_failure
from antiloop.integrations.claude_code import LoopGuard
from antiloop.loop_detection import RepeatDetector
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

REFUSED = f"PreToolUse:Bash hook error: {REFUSED_MARKER} this call was not run."


def carried_out(folder, script, ran, *, detector=None, ignore=(), observers=(), session=None):
    """Carry out a script with the hook in the settings."""
    reason = "needs claude-agent-sdk, which brings Claude Code"
    pytest.importorskip("claude_agent_sdk", reason=reason)
    from claude_sessions import PREFIX
    from claude_sessions import session as carry_out

    command = [sys.executable, "-m", "antiloop", "hook", "claude-code"]
    if detector is not None:
        (folder / "config.json").write_text(json.dumps(detector.to_config()), "utf-8")
        command += ["--config", str(folder / "config.json")]
    for name in ignore:
        command += ["--ignore", f"{PREFIX}{name}"]
    settings = json.dumps(SETTINGS["claude-code"].with_hook({}, shlex.join(command)))
    asked = carry_out(folder, script, ran, settings=settings, **(session or {}))
    return asyncio.run(asked)


class TestClaudeCode(FolderContract):
    name = "claude_code"

    def carry_out(self, mode, script, ran, **options):
        carried_out(self.folder, script, ran, **options)

    def talk(self, script, ran, **options):
        more = iter([{}, {"continue_conversation": True}])
        return lambda: carried_out(self.folder, script, ran, session=next(more), **options)


def test_a_run_that_is_to_raise_ends_without_an_error(tmp_path):
    ran, options = Ran(), {"detector": detector(LoopPolicy.RAISE)}
    last = carried_out(tmp_path, Script(same()), ran, **options)
    assert (last.subtype, last.is_error, ran.searches) == ("success", False, 3)


def test_a_hook_with_a_broken_configuration_guards_as_the_preset(tmp_path):
    class Broken:
        def to_config(self):
            return {"version": 0}

    broken, whole = Ran(), Ran()
    for name, ran, given in (("broken", broken, Broken()), ("whole", whole, None)):
        (tmp_path / name).mkdir()
        carried_out(tmp_path / name, Script(same()), ran, detector=given)
    assert (broken.searches, broken.asked) == (whole.searches, whole.asked)
    assert whole.searches < 6


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


def reported(answer):
    """Return the words with which the model is asked for a report."""
    told = answer["hookSpecificOutput"]["additionalContext"]
    assert REPORT in told
    return told


def guard(policy=LoopPolicy.BLOCK, **options):
    return LoopGuard(LoopDetector([RepeatDetector(3, require_same_result=True)], policy), **options)


def test_a_third_equal_round_brings_a_notice(session):
    answer = guard(LoopPolicy.INJECT_MESSAGE).answer(session.write(*rounds(2)).after())
    told = answer["hookSpecificOutput"]
    assert told["hookEventName"] == "PostToolBatch"
    assert told["additionalContext"].startswith(NOTICE_MARKER)
    assert set(answer) == {"hookSpecificOutput"}


@pytest.mark.parametrize("policy", [LoopPolicy.BLOCK, LoopPolicy.STOP])
def test_the_answers_to_async_code_are_the_same(session, policy):
    for event in (session.write(*rounds(2)).after(), session.before()):
        assert asyncio.run(guard(policy).aanswer(event)) == guard(policy).answer(event)


def test_two_equal_rounds_are_not_yet_a_loop(session):
    assert guard(LoopPolicy.STOP).answer(session.write(*rounds(1)).after()) == {}


@pytest.mark.parametrize("policy", [LoopPolicy.STOP, LoopPolicy.RAISE])
def test_to_stop_and_to_raise_ask_for_a_report(session, policy):
    answer = guard(policy).answer(session.write(*rounds(2)).after())
    assert reported(answer).startswith("Stopped: the agent was stuck in a loop. Tool 'Bash'")
    assert "continue" not in answer


def test_a_run_that_its_version_did_not_end_at_a_call_ends_after_the_round(session):
    stop = guard(LoopPolicy.STOP)
    session.write(*rounds(3))
    ends = []
    for number in range(10, 10 + REFUSALS + 1):
        told = stop.answer(session.before(number=number, command="pwd"))["hookSpecificOutput"]
        refused = told["permissionDecisionReason"]
        session.write(called(number, command="pwd"), answered(number, refused))
        ends.append("continue" in stop.answer(session.after(refused, number=number)))
    assert ends == [False] * REFUSALS + [True]


def test_after_a_stop_all_calls_are_refused_until_a_person_speaks(session):
    stop = guard(LoopPolicy.STOP)
    session.write(*rounds(3))
    for number in range(REFUSALS):
        answer = stop.answer(session.before(number=10 + number, command=f"pwd {number}"))
        told = answer["hookSpecificOutput"]
        assert told["permissionDecision"] == "deny"
        assert REPORT in told["permissionDecisionReason"]
        assert "continue" not in answer
        refused = told["permissionDecisionReason"]
        session.write(called(10 + number, command="pwd"), answered(10 + number, refused))
        assert stop.answer(session.after(refused, number=10 + number)) == {}
    woken = said("<task-notification>\n<status>completed</status>\n</task-notification>")
    session.write({**woken, "origin": {"kind": "task-notification"}})
    answer = stop.answer(session.before(number=50, command="pwd"))
    assert answer["continue"] is False
    assert answer["stopReason"].startswith("Stopped: the agent was stuck in a loop.")
    session.write(said("Try it again"))
    assert stop.answer(session.before(number=51)) == {}


def test_a_log_that_quotes_a_refusal_ends_no_run(session):
    for number in range(REFUSALS + 1):
        text = f'{number}: "Stopped: the agent was stuck in a loop. {REPORT}",'
        session.write(called(number, command=f"tail {number}"), answered(number, text))
        event = session.after(text, number=number, command=f"tail {number}")
        assert guard(LoopPolicy.STOP).answer(event) == {}
    session.write(*rounds(2, first=50))
    assert reported(guard(LoopPolicy.STOP).answer(session.after()))


def test_what_is_read_again_after_a_compaction_is_no_loop(session):
    def read(first):
        for number in range(9):
            lines = rounds(1, f"text {number}", first + number, command=f"cat f{number}")
            session.write(*lines)
            event = session.after(f"text {number}", number=first + number, command=f"cat f{number}")
            assert LoopGuard().answer(event) == {}

    read(0)
    session.write({"type": "system", "subtype": "compact_boundary", "content": "compacted"})
    read(20)


def test_a_call_of_a_blocked_loop_is_denied_with_the_reason(session):
    session.write(*rounds(3))
    told = guard().answer(session.before())["hookSpecificOutput"]
    assert told["permissionDecision"] == "deny"
    assert told["permissionDecisionReason"].startswith(REFUSED_MARKER)
    assert guard().answer(session.before(command="pwd")) == {}


def test_going_on_with_refused_calls_ends_the_session(session):
    session.write(*rounds(3), called(3, command="ls"), answered(3, REFUSED))
    answer = guard().answer(session.after(REFUSED, number=4))
    assert reported(answer)


def test_a_call_after_an_end_that_nobody_heard_of_is_denied(session):
    answer = guard(LoopPolicy.STOP).answer(session.write(*rounds(3)).before())
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


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
    assert is_failure(long)


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
    assert reported(guard(LoopPolicy.STOP).answer(event))
    event["tool_response"] = {"file": {"content": "something"}}
    assert guard(LoopPolicy.STOP).answer(event) == {}


def test_a_call_that_failed_is_judged_by_its_error(session):
    session.write(*rounds(2, text="no such file"))
    event = {**session.before(), "hook_event_name": "PostToolUseFailure", "error": "no such file"}
    assert reported(guard(LoopPolicy.STOP).answer(event))


def test_lines_that_are_no_json_are_passed_over(session):
    session.write(*rounds(2))
    with open(session.path, "a", encoding="utf-8") as file:
        file.write('{"type":"user","half')
    assert guard(LoopPolicy.STOP).answer(session.after()) != {}


def test_a_call_of_the_loop_is_recognized_by_its_content():
    from antiloop import ToolCall
    from antiloop.integrations.claude_code import LoopGuard

    guard = LoopGuard()
    monitor = guard.monitor()
    for _ in range(5):
        verdict = monitor.record_call("Bash", {"command": "ls"}, "a.py")
    assert guard._is_of_loop(ToolCall("Bash", {"command": "ls"}, "c9"), verdict)
    assert not guard._is_of_loop(ToolCall("Bash", {"command": "pwd"}, "c9"), verdict)
