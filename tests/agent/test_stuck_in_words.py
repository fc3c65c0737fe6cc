"""A model that is stuck in words: in a reply, or in reply after reply."""

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    LoopDetectedError,
    LoopDetector,
    Role,
    RunStatus,
    ScriptedProvider,
    StepType,
    ToolCall,
)
from antiloop.agent import LoopDetected, ModelReplied, TextDelta
from antiloop.loop_detection import ChantDetector

CHANT = "I should look at the file again before I go on. "
LONG = CHANT * 60


class Endless:
    """A model that never ends its first reply, and answers then."""

    def __init__(self, *later):
        self.pieces = 0
        self.is_closed = False
        self._later = ScriptedProvider(["", *(later or ["Done."])])

    async def astream(self, request):
        if any(message.role is Role.ASSISTANT for message in request.messages):
            async for item in self._later.astream(request):
                yield item
            return
        try:
            while True:
                self.pieces += 1
                yield CHANT
        finally:
            self.is_closed = True

    complete = acomplete = stream = None


Endless.complete = Endless.acomplete = Endless.stream = lambda *_: None


def agent(provider, detector=None, **config):
    detector = detector or LoopDetector.escalating()
    return Agent([look], provider, AgentConfig(loop_detector=detector, **config))


def look(at: str = "") -> str:
    """Look at something."""
    return f"nothing at {at}"


async def events_of(one):
    return [event async for event in one.astream("Hi")]


@pytest.mark.asyncio
async def test_a_chant_ends_the_stream_and_the_model_is_told():
    provider = Endless()
    events = await events_of(agent(provider))
    assert provider.is_closed
    assert provider.pieces < 20
    result = events[-1].result
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Done.")
    first, notice, _ = result.messages[1:]
    assert first.content == CHANT * provider.pieces
    assert "One text of the model repeats itself" in notice.content
    assert [type(event) for event in events].count(LoopDetected) == 1
    assert sum(isinstance(event, TextDelta) for event in events) == provider.pieces + 1


@pytest.mark.asyncio
async def test_what_raises_ends_the_stream_too():
    provider = Endless()
    with pytest.raises(LoopDetectedError) as caught:
        await events_of(agent(provider, LoopDetector([ChantDetector()])))
    assert provider.is_closed
    assert caught.value.detector == "chant"
    assert caught.value.partial_result.text == CHANT * provider.pieces


@pytest.mark.asyncio
async def test_without_a_detector_the_stream_is_read_to_its_end():
    one = Agent([], ScriptedProvider([LONG]))
    events = [event async for event in one.astream("Hi")]
    assert events[-1].result.text == LONG


@pytest.mark.parametrize("parallel", [True, False])
def test_a_chant_in_a_whole_reply_is_told_before_the_next(parallel):
    result = agent(ScriptedProvider([LONG, "Done."]), parallel_tool_execution=parallel).run("Hi")
    assert [message.role for message in result.messages[1:]] == [
        Role.ASSISTANT,
        Role.SYSTEM,
        Role.ASSISTANT,
    ]
    assert result.text == "Done."
    assert result.iterations == 2


def test_who_goes_on_chanting_is_stopped():
    result = agent(ScriptedProvider([LONG], repeat_last=True)).run("Hi")
    assert result.status is RunStatus.LOOP_DETECTED
    assert result.iterations == 2
    assert len(result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)) == 2


@pytest.mark.asyncio
async def test_sync_async_and_stream_decide_alike():
    def scripted():
        return agent(ScriptedProvider([LONG, "Sorry. " * 3, LONG], repeat_last=True))

    said = scripted().run("Hi"), await scripted().arun("Hi")
    events = await events_of(scripted())
    assert {result.status for result in (*said, events[-1].result)} == {RunStatus.COMPLETED}
    assert said[0].messages == said[1].messages
    assert [event.reply.text for event in events if isinstance(event, ModelReplied)][1] == (
        "Sorry. " * 3
    )


def replies(text, *, then):
    from antiloop.agent import ModelReply

    return [ModelReply(text, (ToolCall("look", {"at": "a"}, "c1"),)), *then]


def test_calls_beside_a_chant_run_and_the_notice_follows_their_results():
    result = agent(ScriptedProvider(replies(LONG, then=["Done."]))).run("Hi")
    roles = [message.role.value for message in result.messages[1:]]
    assert roles == ["assistant", "tool", "system", "assistant"]


def test_calls_beside_a_chant_that_ends_the_run_do_not_run():
    with pytest.raises(LoopDetectedError) as caught:
        agent(ScriptedProvider(replies(LONG, then=[])), LoopDetector([ChantDetector()])).run("Hi")
    result = caught.value.partial_result
    assert [each.is_error for each in result.tool_results] == [True]
    assert "the run was ended" in result.tool_results[0].text


def test_the_same_wrong_answer_again_and_again_is_a_matter_of_the_retries_alone():
    wrong = ScriptedProvider(["I cannot say."], repeat_last=True)
    result = agent(wrong, max_structured_retries=9).run("Hi", response_format={"type": "object"})
    assert (result.status, result.detection) == (RunStatus.FAILED, None)
    assert len(result.trace.of_type(StepType.STRUCTURED_RETRY)) == 9
    assert not result.trace.of_type(StepType.GRAPH_LOOP_DETECTED, StepType.NOTICE_INJECTED)


def test_a_chant_in_one_wrong_answer_is_a_loop_all_the_same():
    wrong = ScriptedProvider([LONG], repeat_last=True)
    result = agent(wrong, max_structured_retries=9).run("Hi", response_format={"type": "object"})
    assert result.detection.detector_name == "chant"


@pytest.mark.asyncio
async def test_a_shadow_detector_lets_the_reply_end_and_tells_of_it():
    provider = ScriptedProvider([LONG])
    for result in (
        agent(provider, LoopDetector.escalating(shadow=True)).run("Hi"),
        (await events_of(agent(ScriptedProvider([LONG]), LoopDetector.escalating(shadow=True))))[
            -1
        ].result,
    ):
        assert (result.status, result.text) == (RunStatus.COMPLETED, LONG)
        (step,) = result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
        assert (step.data["action"], step.data["details"]["shadow"]) == ("notify", True)
