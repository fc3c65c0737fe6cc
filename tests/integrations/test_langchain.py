"""The contract with LangChain's own agent, and what is special about it."""

import asyncio
from dataclasses import replace

import pytest
from contract import Contract, Ran, in_another_process

pytest.importorskip("langchain", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from antiloop import LoopDetectedError
from antiloop.integrations.langchain import LoopGuard


class ScriptedModel(BaseChatModel):
    """Says what a script says; which reply it is, is read off the conversation."""

    script: object
    ran: object

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.ran.asked += 1
        self.ran.seen[:] = [str(message.content) for message in messages]
        number = sum(isinstance(message, AIMessage) for message in messages)
        calls = [
            {"name": name, "args": arguments, "id": f"call-{position}"}
            for position, (name, arguments) in enumerate(self.script.reply(number, self.ran.seen))
        ]
        reply = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def made_agent(script, ran, *, checkpointer=None, middleware=(), **options):
    @tool
    def search(query: str) -> str:
        """Search."""
        return ran.answer(script, "search")

    @tool
    def note(text: str) -> str:
        """Note."""
        return ran.answer(script, "note")

    return create_agent(
        ScriptedModel(script=script, ran=ran),
        [search, note],
        middleware=[*middleware, LoopGuard(**options)],
        checkpointer=checkpointer,
    )


THREAD = {"configurable": {"thread_id": "thread-1"}}
INPUT = {"messages": [("user", "Go")]}


async def drain(agent):
    async for _ in agent.astream(INPUT):
        pass


MODES = {
    "sync": lambda agent: agent.invoke(INPUT),
    "async": lambda agent: asyncio.run(agent.ainvoke(INPUT)),
    "stream": lambda agent: asyncio.run(drain(agent)),
}


def break_off(store, script, options):
    with SqliteSaver.from_conn_string(store) as checkpointer, pytest.raises(ConnectionError):
        made_agent(script, Ran(), checkpointer=checkpointer, **options).invoke(INPUT, THREAD)


class TestLangChain(Contract):
    name = "langchain"

    def run(self, mode, script, **options):
        ran = Ran()
        try:
            MODES[mode](made_agent(script, ran, **options))
        except LoopDetectedError as error:
            ran.error = error
        return ran

    def resumed(self, folder, script, **options):
        store = str(folder / "checkpoints.sqlite")
        in_another_process(break_off, store, replace(script, breaks_at=2), options)
        ran = Ran()
        with SqliteSaver.from_conn_string(store) as checkpointer:
            made_agent(script, ran, checkpointer=checkpointer, **options).invoke(None, THREAD)
        return ran
