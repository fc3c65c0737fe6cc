"""Agents that call a hook, as far as their hooks see them: they follow a script.

What an event holds and how an answer is understood is that of the agent; see the pages.
"""

import json
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import count

import pytest
from contract import SAME, FolderContract, Ran, Script, detector, same

from antiloop import LoopPolicy
from antiloop.integrations._hooks.hook_session import REFUSALS, REPORT
from antiloop.loop_detection import Escalation, RepeatDetector
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER


class Ended(Exception):
    """The run was ended by a hook."""


class ScriptedAgent:
    """An agent whose hooks are those of Claude Code, but that a hook cannot end a run."""

    before, after, user = "PreToolUse", "PostToolUse", "UserPromptSubmit"
    has_ids = True

    def __init__(self, guard):
        self.guard = guard
        self.number = count()

    def ask(self, kind, **told):
        """Send an event as JSON, and read the answer as JSON."""
        event = {"hook_event_name": kind, "session_id": "s", "cwd": "/x", **told}
        return json.loads(json.dumps(self.guard.answer(json.loads(json.dumps(event)))))

    def call(self, name, arguments):
        """Return what events tell of a call."""
        beside = {"tool_use_id": f"c{next(self.number)}"} if self.has_ids else {}
        return {"tool_name": name, "tool_input": arguments, **beside}

    def refusal(self, answer):
        told = answer.get("hookSpecificOutput", {})
        assert told.get("permissionDecision") in ("deny", None)
        return told.get("permissionDecisionReason")

    def notice(self, answer):
        return answer.get("hookSpecificOutput", {}).get("additionalContext")

    def result(self, text):
        """Return what events tell of a result."""
        return {"tool_response": text}

    def ends(self, answer):
        assert "continue" not in answer
        return False

    def speak(self):
        self.ask(self.user, prompt="go")

    def begin(self, call, read):
        """Ask whether a call may run; the refusal is read in its place."""
        answer = self.ask(self.before, **call)
        refusal = self.refusal(answer)
        read += filter(None, [refusal, self.notice(answer)])
        if self.ends(answer):
            raise Ended
        return refusal is None

    def end(self, call, text, read):
        answer = self.ask(self.after, **call, **self.result(text))
        read += filter(None, [text, self.notice(answer)])
        if self.ends(answer):
            raise Ended

    def round(self, calls, script, ran, read):
        """Carry out the calls of one reply: all begin, then all end."""
        told = [self.call(*call) for call in calls]
        may_run = [self.begin(call, read) for call in told]
        for (name, _), call, runs in zip(calls, told, may_run):
            if runs:
                self.end(call, ran.answer(script, name), read)

    def converse(self, script, ran, first=0):
        """Carry out a script, from its reply of this number on."""
        read = []
        for number in count(first):
            ran.asked += 1
            ran.seen[:] = read
            calls = script.reply(number, read)
            if not calls:
                return
            try:
                self.round(calls, script, ran, read)
            except Ended:
                return


WRAPPED = {
    "codex": "Chunk ID: {0:06x}\nWall time: {0}.5 seconds\nOutput:\n{1}",
    "gemini_cli": "Output: {1}\nExit Code: 1\nProcess Group PGID: {0}",
    "copilot": "{1}\n<shellId: {0} completed with exit code 1>",
    "openhands": "{1}\n[Current working directory: /tmp/{0}]",
    "opencode": "{1}\n<system-reminder>\n{0} tokens left\n</system-reminder>",
}
"""What each program wraps around the same result, with a number that is new each time."""


class HookContract(FolderContract):
    """The contract, for an agent that calls a hook."""

    agent = ScriptedAgent

    @pytest.fixture(autouse=True)
    def _cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def new(self, **options):
        from importlib import import_module

        module = import_module(f"antiloop.integrations.{self.name}")
        return self.agent(module.LoopGuard(**options))

    def carry_out(self, mode, script, ran, **options):
        agent = self.new(**options)
        agent.speak()
        agent.converse(script, ran)

    def talk(self, script, ran, **options):
        agent, asked = self.new(**options), []

        def speak():
            agent.speak()
            agent.converse(script, ran, first=len(asked))
            asked[:] = script.rounds

        return speak

    def begin(self, store, script, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(store))
            self.carry_out("sync", script, Ran(), **options)

    def go_on(self, store, script, ran, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(store))
            agent = self.new(**options)
            agent.number = count(100)
            agent.converse(script, ran, first=2)

    def test_after_the_end_the_loop_is_refused_until_the_user_speaks(self):
        ran, read = Ran(), []
        agent = self.new(detector=detector(LoopPolicy.STOP))
        agent.speak()
        agent.converse(Script(same()), ran)
        assert ran.searches == 3
        for call in (SAME, ("search", {"query": "other"})):
            with suppress(Ended):
                assert not agent.begin(agent.call(*call), read)
        assert all(text.startswith("Stopped: the agent was stuck in a loop.") for text in read)
        agent.speak()
        assert agent.begin(agent.call(*SAME), read)

    def test_who_goes_on_calling_after_the_end_is_ended_for_good(self):
        agent, read = self.new(detector=detector(LoopPolicy.STOP)), []
        agent.speak()
        agent.converse(Script(same(times=3)), Ran())
        for number in range(REFUSALS):
            assert not agent.begin(agent.call("search", {"query": str(number)}), read)
        with pytest.raises(Ended) if agent.guard._can_end else nullcontext():
            assert not agent.begin(agent.call("search", {"query": "again"}), read)
        assert all(REPORT in text for text in read)

    def test_calls_that_fail_before_they_run_are_a_loop_as_well(self):
        policy = Escalation(("block",))
        agent, read = self.new(detector=detector(policy, RepeatDetector(3))), []
        agent.speak()
        ran = [agent.begin(agent.call("edit", {"path": "x"}), read) for _ in range(12)]
        assert ran.index(False) == 4  # copies of one call are judged two by two
        assert any(REFUSED_MARKER in text for text in read)

    def test_two_equal_calls_of_one_reply_are_one_piece_of_evidence(self):
        ran = Ran()
        script = Script([[("search", {"query": "refunds"})] * 2] * 2)
        agent = self.new(detector=detector(LoopPolicy.INJECT_MESSAGE))
        agent.speak()
        agent.converse(script, ran)
        assert ran.searches == 4
        assert not any(NOTICE_MARKER in text for text in ran.seen)

    def test_a_new_id_around_an_equal_result_brings_nothing_new(self):
        agent, number = self.new(detector=detector(LoopPolicy.STOP)), count(8_000)
        wrapped, plain = WRAPPED[self.name], agent.result
        agent.result = lambda text: plain(wrapped.format(next(number), text))
        agent.speak()
        ran = Ran()
        agent.converse(Script(same()), ran)
        assert ran.searches == 3

    def test_what_the_program_says_in_the_users_place_is_not_the_user(self):
        agent, ran = self.new(detector=detector(LoopPolicy.STOP)), Ran()
        texts = {"codex": "<turn_aborted>x</turn_aborted>", "copilot": "<system_notification>x"}
        texts.update(gemini_cli="Please continue.", opencode="Continue if you have next steps")
        said = texts.get(self.name, "Please continue working on the task on whatever approach you")
        said += {"openhands": " think is suitable"}.get(self.name, "")
        agent.speak()
        for _ in range(6):
            agent.converse(Script(same(times=1)), ran)
            agent.ask(agent.user, prompt=said)
        assert ran.searches == 3

    def test_what_the_user_says_begins_anew(self):
        ran, script = Ran(), Script(same(times=2))
        agent = self.new(detector=detector(Escalation(("block",))))
        for _ in range(4):
            agent.speak()
            agent.converse(replace(script), ran)
        assert ran.searches == 8

    def test_sessions_do_not_disturb_one_another(self):
        ran, script = Ran(), Script(same(times=2))
        for session in "abcd":
            agent = self.new(detector=detector(Escalation(("block",))))
            agent.ask = lambda kind, ask=agent.ask, session=session, **told: ask(
                kind, **{**told, "session_id": session}
            )
            agent.converse(script, ran)
        assert ran.searches == 8
