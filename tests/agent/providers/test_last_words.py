"""A whole run over both APIs: reasoning, a schema in words, a failure, a resume, the last words."""

import asyncio
from functools import partial

import pytest
from strict_server import (
    WAYS,
    Refused,
    anthropic_events,
    anthropic_whole,
    in_way,
    openai_events,
    openai_whole,
    responses_call,
    responses_events,
    responses_reasoning,
    responses_replies,
    responses_text,
    responses_whole,
    serving,
)

from antiloop import Agent, AgentConfig, Escalation, LoopDetector, RepeatDetector, RunStatus
from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.exceptions import ProviderError

pytest.importorskip("openai")
pytest.importorskip("anthropic")

THOUGHT = {"type": "thinking", "thinking": "Again.", "signature": "c2ln"}


def look(at: str) -> str:
    """Look at a place."""
    return f"Nothing at {at}."


def anthropic_script(request):
    turns = [turn for turn in request["messages"] if turn["role"] == "assistant"]
    if turns and not request.get("tools"):
        raise Refused("requests which include tool_use blocks must define tools")
    if any(turn["content"][0] != THOUGHT for turn in turns):
        raise Refused("the first block must be a thinking block")
    if request.get("tool_choice") == {"type": "none"}:
        return anthropic_whole([{"type": "text", "text": "It is nowhere."}])
    use = {"type": "tool_use", "id": f"c{len(turns)}", "name": "look", "input": {"at": "a"}}
    return anthropic_whole([THOUGHT, use], "tool_use")


def openai_script(request):
    replies = [each for each in request["messages"] if each["role"] == "assistant"]
    if replies and not request.get("tools"):
        raise Refused("tools are missing")
    if any(each.get("reasoning_content") != "Again." for each in replies):
        raise Refused("Missing `reasoning_content` field in the assistant message")
    if request.get("tool_choice") == "none":
        return openai_whole({"content": "It is nowhere."})
    function = {"name": "look", "arguments": '{"at": "a"}'}
    call = {"id": f"c{len(replies)}", "type": "function", "function": function}
    reply = {"content": None, "reasoning_content": "Again.", "tool_calls": [call]}
    return openai_whole(reply, "tool_calls")


def responses_script(request):
    replies = responses_replies(request)
    if replies and not request.get("tools"):
        raise Refused("tools are missing")
    if any(each[0] != responses_reasoning("Again.", at) for at, each in enumerate(replies)):
        raise Refused("'function_call' was provided without its required 'reasoning' item")
    if request.get("tool_choice") == "none":
        return responses_whole([responses_text("It is nowhere.")])
    call = responses_call("look", '{"at": "a"}', len(replies))
    return responses_whole([responses_reasoning("Again.", len(replies)), call])


APIS = {
    "openai": (OpenAIProvider, openai_script, openai_events),
    "responses": (partial(OpenAIProvider, api="responses"), responses_script, responses_events),
    "anthropic": (AnthropicProvider, anthropic_script, anthropic_events),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", APIS)
def test_a_run_that_fails_is_continued_into_its_loop_and_has_the_last_word(api, way):
    make, script, events = APIS[api]
    fails = iter([False, False, True])

    def failing(request):
        if next(fails, False):
            raise Refused("no more today")
        return script(request)

    async def drive():
        with serving(failing, events) as server:
            own = {"base_url": server.url, "api_key": "k", "max_retries": 0}
            async with make("m", client_options=own) as provider:
                detector = LoopDetector([RepeatDetector(3)], Escalation(("notify", "conclude")))
                agent = Agent([look], provider, AgentConfig(loop_detector=detector))
                with pytest.raises(ProviderError, match="no more today") as failed:
                    await in_way(way, agent, "Where is it?")
                part = failed.value.partial_result
                return part, await in_way(way, agent, part.messages)

    part, result = asyncio.run(drive())
    assert [len(part.tool_calls), len(result.tool_calls)] == [2, 2]
    assert (result.status, result.text) == (RunStatus.LOOP_DETECTED, "It is nowhere.")
