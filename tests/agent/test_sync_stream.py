"""A stream for code that is not async."""

import asyncio
import threading

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    LoopDetectedError,
    LoopDetector,
    RepeatDetector,
    ScriptedProvider,
    ToolCall,
)
from antiloop.agent import ModelReply, RunFinished, RunStarted, TextDelta, providers


def look() -> str:
    return "nothing"


def test_events_come_while_the_run_goes_on():
    agent = Agent([look], ScriptedProvider([ToolCall("look"), "Done."]))
    kinds = [type(event) for event in agent.stream("Go")]
    assert (kinds[0], kinds[-1]) == (RunStarted, RunFinished)
    assert TextDelta in kinds


def test_the_run_waits_while_nobody_asks_for_more():
    asked = []

    def slow() -> str:
        asked.append(1)
        return "x"

    events = Agent([slow], ScriptedProvider([ToolCall("slow"), "Done."])).stream("Go")
    assert type(next(events)) is RunStarted
    assert asked == []
    events.close()
    assert asked == []


class Heard(ScriptedProvider):
    """A model whose streams say when they are closed."""

    def __init__(self, replies):
        super().__init__(replies)
        self.closed = 0

    def stream(self, request):
        try:
            yield from super().stream(request)
        finally:
            self.closed += 1


def test_leaving_early_closes_the_stream_of_the_model():
    model = Heard(["One two three."])
    events = Agent([], model).stream("Go")
    assert any(isinstance(event, TextDelta) for event in events)
    assert model.closed == 0
    events.close()
    assert model.closed == 1


def test_it_needs_no_thread_and_no_event_loop():
    before = threading.active_count()
    events = Agent([look], ScriptedProvider([ToolCall("look"), "Done."])).stream("Go")
    assert {threading.active_count() for _ in events} == {before}


def test_an_error_of_the_stream_reaches_the_caller():
    class Broken(ScriptedProvider):
        def stream(self, request):
            yield "One "
            raise OSError("gone")

    heard = []
    with pytest.raises(OSError, match="gone"):
        heard.extend(heard.append(event) for event in Agent([], Broken(["x"])).stream("Go"))
    assert TextDelta("One ") in heard


@pytest.mark.parametrize("kind", [iter, list])
def test_a_stream_may_be_any_iterable(kind):
    class Plain(ScriptedProvider):
        def stream(self, request):
            return kind(["a", ModelReply("a")])

    assert list(Agent([], Plain(["x"])).stream("Go"))[-1].result.text == "a"


def in_events(agent):
    async def events():
        return [event async for event in agent.astream("Go")]

    return asyncio.run(events())


@pytest.mark.parametrize("way", [in_events, lambda agent: list(agent.stream("Go"))])
def test_an_api_that_sends_null_for_no_text_and_no_calls_is_understood(way):
    replies = iter([ModelReply(None, (ToolCall("look"),)), ModelReply(None, None)])

    class Raw(ScriptedProvider):
        def stream(self, request):
            yield from [None, "a", None, next(replies)]

        async def astream(self, request):
            for item in self.stream(request):
                yield item

    config = AgentConfig(loop_detector=LoopDetector.escalating())
    *events, end = way(Agent([look], Raw(["x"]), config))
    assert [event.text for event in events if type(event) is TextDelta] == ["a", "a"]
    assert [message.content for message in end.result.messages[1:]] == ["", "nothing", ""]


class Nothing(Exception):
    """False, as an error that holds a list of errors may be."""

    def __len__(self):
        return 0


@pytest.mark.parametrize(
    "way",
    [
        in_events,
        lambda agent: list(agent.stream("Go")),
        lambda agent: agent.run("Go"),
        lambda agent: asyncio.run(agent.arun("Go")),
    ],
)
def test_an_error_of_the_provider_that_is_false_reaches_the_caller(way):
    class Broken(ScriptedProvider):
        def complete(self, request):
            raise Nothing

    with pytest.raises(Nothing):
        way(Agent([], Broken(["x"])))


def test_a_stream_that_cannot_be_closed_harms_nothing(caplog):
    class Stuck(list):
        def close(self):
            raise OSError("gone")

    class Plain(ScriptedProvider):
        def stream(self, request):
            return Stuck([ModelReply("a")])

    assert list(Agent([], Plain(["x"])).stream("Go"))[-1].result.text == "a"
    assert "the model's stream could not be closed" in caplog.text


def test_a_reply_that_repeats_itself_without_end_is_broken_off():
    endless = Heard([ModelReply("I will look at the file again. " * 5_000), "Done."])
    config = AgentConfig(loop_detector=LoopDetector.escalating())
    pieces = [e for e in Agent([], endless, config).stream("Go") if isinstance(e, TextDelta)]
    assert len(pieces) < 10_000
    assert endless.closed == 2


def test_what_the_run_raises_reaches_the_caller():
    detector = LoopDetector([RepeatDetector(2)])
    agent = Agent(
        [look], ScriptedProvider([ToolCall("look")] * 9), AgentConfig(loop_detector=detector)
    )
    with pytest.raises(LoopDetectedError):
        list(agent.stream("Go"))


@pytest.mark.parametrize("name", ["OpenAIProvider", "AnthropicProvider"])
def test_a_provider_is_there_by_its_name(name):
    assert getattr(providers, name).__name__ == name
    assert name in dir(providers)
