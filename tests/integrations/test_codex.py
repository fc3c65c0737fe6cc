"""Codex: the contract by what its hooks are told, and one run of Codex itself where it is there."""

from hook_agents import HookContract, ScriptedAgent

from antiloop import LoopDetector
from antiloop.integrations.codex import LoopGuard


class TestCodex(HookContract):
    name = "codex"


def test_a_subagent_has_a_session_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    agent, read = ScriptedAgent(LoopGuard(LoopDetector.default())), []
    for number in range(6):
        call = {**agent.call("Bash", {"command": "ls"}), "agent_id": f"a{number % 3}"}
        assert agent.begin(call, read)
        agent.end(call, "nothing", read)
    assert read == ["nothing"] * 6


def test_another_turn_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    agent, read = ScriptedAgent(LoopGuard()), []
    for number in range(6):
        call = {**agent.call("Bash", {"command": "ls"}), "turn_id": f"t{number}"}
        assert agent.begin(call, read)
        agent.end(call, "nothing", read)
    assert read == ["nothing"] * 6


def test_failures_that_codex_does_not_report_are_refused_with_a_reason_before_the_stop(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    agent, read = ScriptedAgent(LoopGuard(LoopDetector.escalating())), []
    patch = {"command": "apply_patch <<'E'\n*** Begin Patch\n*** Update File: n.txt\nE"}
    for _ in range(6):
        agent.begin(agent.call("Bash", patch), read)
    first, *others = read
    assert first.startswith("[antiloop] Refused: ")
    assert others[-1].startswith("Stopped: ")
