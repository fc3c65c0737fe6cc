"""Copilot CLI: the contract by what its hooks are told."""

import pytest
from hook_agents import HookContract, ScriptedAgent

from antiloop.integrations.copilot import LoopGuard


class Copilot(ScriptedAgent):
    has_ids = False

    def refusal(self, answer):
        assert answer.get("permissionDecision") in ("deny", None)
        return answer.get("permissionDecisionReason")

    def notice(self, answer):
        return answer.get("additionalContext")

    def result(self, text):
        return {"tool_result": {"result_type": "success", "text_result_for_llm": text}}


class TestCopilot(HookContract):
    name = "copilot"
    agent = Copilot


@pytest.mark.parametrize(
    ("told", "text", "is_error"),
    [
        ({"tool_result": {"result_type": "success", "text_result_for_llm": "a"}}, "a", False),
        ({"tool_result": {"result_type": "failure", "text_result_for_llm": "a"}}, "a", True),
        ({"error": "no file"}, "no file", True),
        ({"tool_result": ["a"]}, "", False),
        ({}, "", False),
    ],
)
def test_a_result_is_what_the_model_reads(told, text, is_error):
    result = LoopGuard().result_of(told)
    assert (result.text, result.is_error) == (text, is_error)
