"""The contract with the Claude Agent SDK, and what is special about it."""

import asyncio
import logging

import pytest
from contract import CONCLUDE, FolderContract, Hearer, Ran, Script, detector, same

pytest.importorskip("claude_agent_sdk", reason="needs the extra 'claude-agent-sdk'")

from claude_sessions import PREFIX
from claude_sessions import session as carry_out

from antiloop import LoopDetectedError, LoopDetection, LoopPolicy
from antiloop.integrations import claude_agent_sdk
from antiloop.integrations._hooks.hook_session import REFUSALS, REPORT
from antiloop.integrations.claude_agent_sdk import LoopGuard
from antiloop.loop_detection import LoopAction, LoopVerdict


def carried_out(folder, script, ran, *, ignore=(), session=None, **options):
    guard = LoopGuard(ignore=[f"{PREFIX}{name}" for name in ignore], **options)
    told = {"hooks": guard.hooks, "wrapped": guard.raising, **(session or {})}
    asked = carry_out(folder, script, ran, **told)
    return asyncio.run(asked)


class TestClaudeAgentSdk(FolderContract):
    name = "claude_agent_sdk"
    users = ()  # its transcript lacks the words, and is written late

    def carry_out(self, mode, script, ran, **options):
        carried_out(self.folder, script, ran, **options)

    def talk(self, script, ran, **options):
        more = iter([{}, {"continue_conversation": True}])
        return lambda: carried_out(self.folder, script, ran, session=next(more), **options)


def test_a_stopped_run_ends_without_an_error(tmp_path):
    last = carried_out(tmp_path, Script(same()), Ran(), detector=detector(LoopPolicy.STOP))
    assert (last.subtype, last.is_error) == ("success", False)


def test_at_conclude_the_model_is_asked_for_a_report(tmp_path):
    ran = Ran()
    last = carried_out(tmp_path, Script(same(times=3)), ran, detector=CONCLUDE)
    assert (last.result, ran.searches, ran.asked) == ("done", 3, 4)
    assert any(REPORT in text for text in ran.seen)


def test_a_model_that_goes_on_calling_is_refused_and_then_ended(tmp_path):
    ran = Ran()
    last = carried_out(tmp_path, Script(same(times=9)), ran, detector=CONCLUDE)
    assert (last.is_error, ran.searches, ran.asked) == (False, 3, 3 + REFUSALS + 1)


def test_observers_hear_of_which_session(tmp_path):
    hearer, options = Hearer(), {"detector": detector(LoopPolicy.STOP)}
    last = carried_out(tmp_path, Script(same()), Ran(), observers=[hearer], **options)
    assert hearer.runs == [last.session_id]


def test_an_error_is_raised_once_and_only_for_its_own_session():
    guard = LoopGuard(detector(LoopPolicy.RAISE))
    guard._errors["one"] = LoopDetectedError("stuck")

    class Message:
        def __init__(self, session_id):
            self.session_id = session_id

    async def of(*messages):
        for message in messages:
            yield message

    async def drained(*messages):
        return [message async for message in guard.raising(of(*messages))]

    assert asyncio.run(drained()) == []
    assert asyncio.run(drained(1)) == [1]
    asyncio.run(drained(Message("other")))
    with pytest.raises(LoopDetectedError, match="stuck"):
        asyncio.run(drained(Message("one")))
    asyncio.run(drained(Message("one")))


def test_errors_that_nobody_asks_for_are_forgotten(monkeypatch):
    monkeypatch.setattr(claude_agent_sdk, "_ERRORS_REMEMBERED", 2)
    guard = LoopGuard(detector(LoopPolicy.RAISE))
    verdict = LoopVerdict(LoopAction.RAISE, LoopDetection("repeat", "stuck"))
    for session_id in ("one", "two", "three"):
        guard._end({"session_id": session_id}, verdict)
    assert [*guard._errors] == ["two", "three"]


def test_an_event_that_cannot_be_answered_is_logged_and_the_run_goes_on(caplog):
    (matcher,) = LoopGuard().hooks["PreToolUse"]
    (answer,) = matcher.hooks
    with caplog.at_level(logging.ERROR, "antiloop"):
        assert asyncio.run(answer({"hook_event_name": "PreToolUse"}, None, None)) == {}
    assert "could not be answered; the run goes on" in caplog.text
