"""The contract with the real Claude Code, whose hooks are processes of their own."""

import asyncio
import json
import shlex
import sys

import pytest
from contract import Contract, Ran, Script, detector, same

pytest.importorskip("claude_agent_sdk", reason="needs claude-agent-sdk, which brings Claude Code")

from claude_sessions import PREFIX, session

from antiloop import LoopPolicy
from antiloop.cli.claude_settings import EVENTS, entry


def carried_out(folder, script, ran, *, detector=None, ignore=()):
    """Carry out a script with the hook in the settings."""
    command = [sys.executable, "-m", "antiloop", "hook", "claude-code"]
    if detector is not None:
        (folder / "config.json").write_text(json.dumps(detector.to_config()), "utf-8")
        command += ["--config", str(folder / "config.json")]
    for name in ignore:
        command += ["--ignore", f"{PREFIX}{name}"]
    hooks = {event: [entry(shlex.join(command))] for event in EVENTS}
    settings = json.dumps({"hooks": hooks})
    return asyncio.run(session(folder, script, ran, settings=settings))


class TestClaudeCode(Contract):
    name = "claude_code"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def carry_out(self, mode, script, ran, **options):
        carried_out(self.folder, script, ran, **options)


def test_a_run_that_is_to_raise_ends_without_an_error(tmp_path):
    ran, options = Ran(), {"detector": detector(LoopPolicy.RAISE)}
    last = carried_out(tmp_path, Script(same()), ran, **options)
    assert (last.subtype, last.is_error, ran.searches) == ("success", False, 3)


def test_a_hook_that_breaks_harms_nothing(tmp_path):
    class Broken:
        def to_config(self):
            return {"version": 0}

    ran = Ran()
    carried_out(tmp_path, Script(same()), ran, detector=Broken())
    assert (ran.searches, ran.asked) == (6, 7)
