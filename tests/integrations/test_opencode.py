"""opencode: the contract by what its plugin asks, and the plugin itself, where node is there."""

import json
import shutil
import subprocess
import sys

import pytest
from hook_agents import HookContract, ScriptedAgent

from antiloop.cli._hooks.agents import SETTINGS

PLUGIN = SETTINGS["opencode"]
NODE = shutil.which("node")
DRIVER = """
import { Antiloop } from "./antiloop.mjs"
const stopped = []
const abort = async ({ path }) => { stopped.push(path.id) }
const hooks = await Antiloop({ client: { session: { abort } } })
const said = []
for (const [place, [tool, args]] of JSON.parse(process.argv[2]).entries()) {
  const input = { tool, sessionID: "s", callID: `c${place}`, args }
  if (tool === "compacted") {
    await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
    continue
  }
  if (tool === "user") { await hooks["chat.message"](input); continue }
  try {
    await hooks["tool.execute.before"](input, { args })
    if (args.fails) {
      const state = { status: "error", input: args, error: "no such file" }
      const part = { type: "tool", tool, callID: input.callID, sessionID: "s", state }
      for (const _ of [1, 2]) {
        await hooks.event({ event: { type: "message.part.updated", properties: { part } } })
      }
      said.push("failed")
      continue
    }
    if (args.answers) {
      const output = { content: [{ type: "text", text: args.answers[place] }] }
      await hooks["tool.execute.after"]({ ...input, args: {} }, output)
      said.push(output.content.map((part) => part.text).join(" + "))
      continue
    }
    const output = { title: "", output: "nothing found", metadata: {} }
    await hooks["tool.execute.after"](input, output)
    said.push(output.output)
  } catch (error) {
    said.push(`refused: ${error.message}`)
  }
}
console.log(JSON.stringify({ said, stopped }))
"""
SAME = ["search", {"query": "refunds"}]


class OpenCode(ScriptedAgent):
    def refusal(self, answer):
        assert set(answer) <= {"refusal", "notice", "end"}
        return answer.get("refusal")

    def notice(self, answer):
        return answer.get("notice")

    def ends(self, answer):
        return "end" in answer


class TestOpenCode(HookContract):
    name = "opencode"
    agent = OpenCode


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """Carry out calls with the plugin that --install writes, in node."""
    if NODE is None:
        pytest.skip("needs node")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))

    def run(calls, command=f"{sys.executable} -m antiloop hook opencode"):
        (tmp_path / "antiloop.mjs").write_text(PLUGIN.with_hook("", command), "utf-8")
        (tmp_path / "driver.mjs").write_text(DRIVER, "utf-8")
        words = [NODE, "driver.mjs", json.dumps(calls)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run


def test_the_plugin_tells_refuses_and_stops(plugged):
    ran = plugged([SAME] * 9)
    assert ran["said"][:2] == ["nothing found"] * 2
    assert ran["said"][2].startswith("nothing found\n\n[antiloop] Notice: ")
    assert ran["said"][3] == "nothing found"
    assert ran["said"][4].startswith("refused: Stopped: the agent was stuck in a loop. ")
    assert all("Answer in words now" in text for text in ran["said"][4:])
    assert ran["stopped"] == ["s"]


def test_a_tool_of_an_mcp_server_is_judged_by_its_content_and_told_in_it(plugged):
    steps = [f"step {word} is done" for word in ("one", "two", "six", "ten", "nine", "five")]
    assert plugged([["desk_look", {"answers": steps}]] * 6)["said"] == steps
    said = plugged([["desk_find", {"answers": ["nothing found"] * 3}]] * 3)["said"]
    assert said[:2] == ["nothing found"] * 2
    assert said[2].startswith("nothing found + [antiloop] Notice: ")


def test_failures_are_refused_before_the_session_is_aborted(plugged):
    failing = ["edit", {"path": "n.txt", "fails": True}]
    ran = plugged([failing] * 3 + [["search", {"query": "a"}]] + [failing] * 9)
    assert ran["said"][:3] == ["failed"] * 3
    assert ran["said"][3].startswith("nothing found\n\n[antiloop] Notice: ")
    refused = [text for text in ran["said"] if text.startswith("refused: ")]
    assert len(refused) >= 4
    assert ran["said"].index(refused[0]) < 8
    assert ran["stopped"]


def test_failures_alone_are_refused_with_a_reason_before_the_stop(plugged):
    ran = plugged([["edit", {"path": "n.txt", "fails": True}]] * 7)
    assert ran["said"][:4] == ["failed"] * 4
    assert ran["said"][4].startswith("refused: [antiloop] Refused: ")
    assert ran["said"][5].startswith("refused: Stopped: ")


def test_the_plugin_tells_of_a_compaction(plugged):
    ran = plugged([SAME, SAME, ["compacted", {}], SAME, SAME])
    assert ran == {"said": ["nothing found"] * 4, "stopped": []}


def test_what_the_user_says_reaches_the_plugin(plugged):
    ran = plugged([SAME, SAME, ["user", {}], SAME, SAME])
    assert ran == {"said": ["nothing found"] * 4, "stopped": []}


@pytest.mark.parametrize("command", ["/nowhere/antiloop", "false", "echo words", "echo null"])
def test_a_hook_that_breaks_harms_nothing(command, plugged):
    assert plugged([SAME] * 5, command) == {"said": ["nothing found"] * 5, "stopped": []}


def test_the_plugin_is_short():
    text = PLUGIN.with_hook("", "antiloop hook opencode")
    assert len(text.splitlines()) <= 70
