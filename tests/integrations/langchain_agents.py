"""LangChain agents whose model says what a script says."""

from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_script import INPUT, THREAD, made_tools, replied

from antiloop.integrations.langchain import LoopGuard


class ScriptedModel(BaseChatModel):
    """Says what a script says."""

    script: Any
    ran: Any

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        reply = replied(self.script, self.ran, messages)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def made_agent(
    script, ran, *, model=ScriptedModel, tools=None, before=(), after=(), guard=LoopGuard, **options
):
    """Make an agent with a guard, between the middleware before and after it.

    Options that are not the agent's own are those of the guard; without a guard there are none.
    """
    own = {name: options.pop(name) for name in AGENT_OPTIONS if name in options}
    guards = [guard(**options)] if guard else []
    return create_agent(
        model(script=script, ran=ran),
        tools or made_tools(script, ran),
        middleware=[*before, *guards, *after],
        **own,
    )


AGENT_OPTIONS = ("checkpointer", "response_format", "state_schema")


def broken_off(script, ran, at, thread=THREAD, **options):
    """Run an agent until its connection to the model breaks at a reply; the checkpointer knows."""
    agent = made_agent(replace(script, breaks_at=at), ran, **options)
    try:
        agent.invoke(INPUT, thread)
    except ConnectionError:
        return
    raise AssertionError("the agent came to its end")
