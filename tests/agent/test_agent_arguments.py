"""An argument that cannot work is refused where it is given, and the message says what to pass."""

import asyncio

import pytest

from antiloop import Agent, AgentConfig, AgentObserver, LoopDetector, Message, Role, tool
from antiloop.agent import ScriptedProvider
from antiloop.agent._tools import Tool

HELLO = ScriptedProvider(["Hello!"], repeat_last=True)


def search(query: str) -> str:
    return "No results."


class HalfAProvider:
    def complete(self, request):
        return HELLO.complete(request)


@pytest.mark.parametrize("provider", [None, "gpt-5", 3, object(), search, HELLO.complete])
def test_a_provider_that_is_none_is_refused(provider):
    with pytest.raises(TypeError, match="the provider must have the methods complete, acomplete,"):
        Agent([], provider)


def test_a_provider_needs_the_methods_only_that_are_used():
    assert Agent([], HalfAProvider()).run("hello").text == "Hello!"


@pytest.mark.parametrize("way", ["arun", "stream", "astream"])
def test_a_provider_without_the_method_that_is_used_is_told_the_ways_that_are_left(way):
    method = "acomplete" if way == "arun" else way
    told = f"has no method {method}, which Agent.{way} asks; write it, or use Agent.run$"

    async def used():
        started = getattr(Agent([], HalfAProvider()), way)("hello")
        await started

    with pytest.raises(TypeError, match=told):
        asyncio.run(used())


def test_a_class_instead_of_a_provider_is_refused():
    with pytest.raises(TypeError, match="is a class; pass an instance: ScriptedProvider"):
        Agent([], ScriptedProvider)


@pytest.mark.parametrize("config", [{}, {"max_iterations": 3}, LoopDetector.default(), 3, False])
def test_a_configuration_that_is_none_is_refused(config):
    with pytest.raises(TypeError, match="config must be an AgentConfig or None, got"):
        Agent([], HELLO, config)


def test_a_dictionary_as_configuration_is_told_the_way():
    with pytest.raises(TypeError, match=r"pass AgentConfig\(\*\*options\)"):
        Agent([], HELLO, {"max_iterations": 3})


@pytest.mark.parametrize("tools", [None, search, "search", tool(search), 3])
def test_one_thing_instead_of_a_list_of_tools_is_refused(tools):
    with pytest.raises(TypeError, match="tools must be a list of functions, got"):
        Agent(tools, HELLO)


@pytest.mark.parametrize("thing", ["search", None, 3, {"name": "search"}])
def test_a_tool_that_is_no_function_is_refused(thing):
    with pytest.raises(TypeError, match="a tool must be a function, got"):
        Agent([thing], HELLO)


@pytest.mark.parametrize("prompt", [None, 3, Message(Role.USER, "Hi"), object()])
def test_a_prompt_that_is_none_is_refused(prompt):
    agent = Agent([], HELLO)
    told = "the prompt must be a text or a list of Message, got"
    with pytest.raises(TypeError, match=told):
        agent.run(prompt)
    with pytest.raises(TypeError, match=told):
        asyncio.run(agent.arun(prompt))
    with pytest.raises(TypeError, match=told):
        agent.astream(prompt)  # before anything is awaited


@pytest.mark.parametrize("prompt", [["Hi"], [{"role": "user", "content": "Hi" * 999}], b"Hi"])
def test_a_prompt_of_something_else_than_messages_is_refused(prompt):
    told = "the prompt must hold Message objects; number 0 is"
    with pytest.raises(TypeError, match=told) as caught:
        Agent([], HELLO).run(prompt)
    assert str(caught.value).endswith("; pass Message(Role.USER, text)")
    assert len(str(caught.value)) < 100


def test_a_conversation_may_be_any_iterable_of_messages():
    assert Agent([], HELLO).run(iter([Message(Role.USER, "Hi")])).text == "Hello!"


@pytest.mark.parametrize("observers", [AgentObserver(), AgentObserver, None, "print", 3])
def test_one_thing_instead_of_a_list_of_observers_is_refused(observers):
    with pytest.raises(TypeError, match="observers must be a list of observers, got"):
        AgentConfig(observers=observers)


def test_a_class_instead_of_an_observer_is_refused():
    with pytest.raises(TypeError, match=r"observers\[1\] is a class; .* AgentObserver\(\)"):
        AgentConfig(observers=[AgentObserver(), AgentObserver])


def test_a_system_prompt_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="system_prompt must be a text or None, got 3"):
        AgentConfig(system_prompt=3)


def test_a_tool_without_a_function_is_refused():
    with pytest.raises(TypeError, match="a tool must be a function, got 'search'"):
        Tool("search")
