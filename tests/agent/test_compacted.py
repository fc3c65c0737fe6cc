"""An API that cuts the context down says so in its reply: what came before is not known then."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    LoopDetector,
    LoopPolicy,
    RepeatDetector,
    RunStatus,
    ScriptedProvider,
    ToolCall,
)
from antiloop.agent import ModelReply
from antiloop.testing import loop_score

DETECTOR = LoopDetector([RepeatDetector(3)], LoopPolicy.STOP)
SAID = {"provider": "anthropic", "blocks": [{"type": "compaction", "content": "So far: nothing."}]}
SEALED = {"provider": "openai", "items": [{"type": "compaction", "encrypted_content": "gAAA"}]}


def look():
    return "nothing"


def replies(before, after, data):
    for number in range(before + after):
        compacted = data if number == before else None
        yield ModelReply(tool_calls=(ToolCall("look"),), provider_data=compacted)
    yield ModelReply("Done.")


@pytest.mark.parametrize("data", [SAID, SEALED], ids=["anthropic", "openai"])
@given(before=st.integers(0, 2), after=st.integers(1, 4), kept=st.integers(0, 2))
def test_calls_before_a_compaction_are_no_evidence_after_it(data, before, after, kept):
    provider = ScriptedProvider(replies(before, after, data))
    agent = Agent([look], provider, AgentConfig(loop_detector=DETECTOR))
    result = agent.run("Go")
    is_stuck = after >= 3
    assert (result.status is RunStatus.LOOP_DETECTED) == is_stuck
    assert (loop_score(result, DETECTOR).label == "stuck") == is_stuck
    # The task, and for each round that is kept a reply and a result.
    rounds = min(kept, before + after - 1)
    continued = agent.run(result.messages[: 1 + 2 * rounds])
    assert (continued.status is RunStatus.LOOP_DETECTED) == is_stuck


@pytest.mark.parametrize(
    "data",
    [
        {"provider": "anthropic", "blocks": [{"type": "compaction", "content": None}, 3, None]},
        {"provider": "openai", "items": [{"type": "reasoning", "content": "x"}]},
        "no mapping",
    ],
)
def test_other_data_of_a_provider_forgets_nothing(data):
    provider = ScriptedProvider(replies(2, 1, data))
    agent = Agent([look], provider, AgentConfig(loop_detector=DETECTOR))
    assert agent.run("Go").status is RunStatus.LOOP_DETECTED
