"""Where an API cuts the context down, what came before is not known to the model any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopPolicy, RepeatDetector
from antiloop.formats import (
    from_anthropic,
    from_langchain,
    from_openai_responses,
    from_pydantic_ai,
)
from antiloop.integrations._guard import Guard
from antiloop.loop_detection import LoopAction


def anthropic(number, compaction):
    use = {"type": "tool_use", "id": f"c{number}", "name": "ls", "input": {}}
    given_back = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "a.py"}
    yield {"role": "assistant", "content": [*compaction, use]}
    yield {"role": "user", "content": [given_back]}


def responses(number, compaction):
    yield from compaction
    yield {"type": "function_call", "call_id": f"c{number}", "name": "ls", "arguments": "{}"}
    yield {"type": "function_call_output", "call_id": f"c{number}", "output": "a.py"}


def langchain(number, compaction):
    call = {"id": f"c{number}", "name": "ls", "args": {}}
    yield {"type": "ai", "content": [*compaction], "tool_calls": [call]}
    yield {"type": "tool", "content": "a.py", "tool_call_id": f"c{number}"}


def pydantic_ai(number, compaction):
    call = {"part_kind": "tool-call", "tool_name": "ls", "args": {}, "tool_call_id": f"c{number}"}
    back = {**call, "part_kind": "tool-return", "content": "a.py"}
    yield {"kind": "response", "parts": [*compaction, call]}
    yield {"kind": "request", "parts": [back]}


SAID = {"type": "compaction", "content": "So far: nothing."}
SEALED = {"type": "compaction", "encrypted_content": "gAAAA"}
READERS = {
    "anthropic": (from_anthropic, anthropic, SAID),
    "openai-responses": (from_openai_responses, responses, SEALED),
    "langchain": (from_langchain, langchain, SEALED),
    "langchain-anthropic": (from_langchain, langchain, SAID),
    "pydantic-ai": (from_pydantic_ai, pydantic_ai, {"part_kind": "compaction", "content": None}),
}


@pytest.mark.parametrize("name", READERS)
@given(before=st.integers(0, 4), after=st.integers(1, 4))
def test_calls_before_a_compaction_are_no_evidence_after_it(name, before, after):
    read, round_of, block = READERS[name]
    history = read(
        message
        for number in range(before + after)
        for message in round_of(number, [block] * (number == before))
    )
    assert [(each.is_summary, each.position) for each in history.messages] == [(True, before)]
    said = Guard(LoopDetector([RepeatDetector(3)], LoopPolicy.STOP)).judge(history)
    assert (said.action is LoopAction.STOP) == (after >= 3)


def test_a_compaction_that_failed_changes_nothing():
    messages = [*anthropic(0, [{"type": "compaction", "content": None}])]
    assert not from_anthropic(messages).messages
