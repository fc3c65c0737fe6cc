"""Gemini CLI: the contract by what its hooks are told."""

import pytest
from hook_agents import HookContract, ScriptedAgent

from antiloop.integrations.gemini_cli import LoopGuard


class Gemini(ScriptedAgent):
    before, after, user = "BeforeTool", "AfterTool", "BeforeAgent"
    has_ids = False

    def refusal(self, answer):
        assert answer.get("decision") in ("deny", None)
        return answer.get("reason")

    def result(self, text):
        return {"tool_response": {"llmContent": text, "returnDisplay": text}}

    def ends(self, answer):
        assert ("stopReason" in answer) is ("continue" in answer)
        return answer.get("continue") is False


class TestGeminiCli(HookContract):
    name = "gemini_cli"
    agent = Gemini


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"llmContent": "a"}, "a", False),
        ({"llmContent": [{"text": "a"}]}, '[{"text":"a"}]', False),
        ({"llmContent": "no file", "error": {"message": "no file: x"}}, "no file", True),
        (None, "", False),
    ],
)
def test_a_result_is_what_the_model_reads(response, text, is_error):
    result = LoopGuard().result_of({"tool_response": response})
    assert (result.text, result.is_error) == (text, is_error)


def test_a_notice_beside_an_error_stands_in_the_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    agent = Gemini(LoopGuard())
    agent.result = lambda text: {"tool_response": {"llmContent": "no", "error": {"message": text}}}
    for _ in range(3):
        call, read = agent.call("read_file", {"file_path": "x"}), []
        agent.begin(call, read)
        answer = agent.ask(agent.after, **call, **agent.result("no file: x"))
    assert answer["decision"] == "deny"
    assert answer["reason"].startswith("no file: x\n\n[antiloop] Notice: ")
