"""OpenHands: the contract by what its hooks are told."""

import pytest
from hook_agents import HookContract, ScriptedAgent

from antiloop.integrations.openhands import LoopGuard


class OpenHands(ScriptedAgent):
    has_ids = False

    def ask(self, kind, **told):
        return super().ask("", **{"event_type": kind, **told})

    def refusal(self, answer):
        assert answer.get("decision") in ("deny", None)
        return answer.get("reason")

    def notice(self, answer):
        assert set(answer) <= {"decision", "reason"}

    def result(self, text):
        content = [{"cache_prompt": False, "type": "text", "text": text}]
        return {"tool_response": {"content": content, "is_error": False, "kind": "Observation"}}


class TestOpenHands(HookContract):
    name = "openhands"
    agent = OpenHands


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"content": [{"type": "text", "text": "a"}], "is_error": False}, "a", False),
        ({"content": [{"type": "text", "text": "a"}], "is_error": True}, "a", True),
        ({"content": [], "exit_code": 2}, "[exit code 2]", False),
        ({"x": 1}, '{"x":1}', False),
        (None, "", False),
    ],
)
def test_a_result_is_what_the_model_reads(response, text, is_error):
    result = LoopGuard().result_of({"tool_response": response})
    assert (result.text, result.is_error) == (text, is_error)
