"""A stream for code that is not async."""

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
from antiloop.agent import RunFinished, RunStarted, TextDelta, providers


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


def test_leaving_early_ends_the_run_and_its_thread():
    before = threading.active_count()
    events = Agent([look], ScriptedProvider([ToolCall("look")] * 9 + ["Done."])).stream("Go")
    next(events)
    assert threading.active_count() > before
    events.close()
    assert [each for each in threading.enumerate() if each.name == "antiloop-loop"] == []


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
