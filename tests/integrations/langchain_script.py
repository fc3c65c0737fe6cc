"""What LangChain messages and tools make of a script, for agents and for graphs made by hand."""

import asyncio
from abc import abstractmethod

from contract import Contract, Ran, functions
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

THREAD = {"configurable": {"thread_id": "thread-1"}}
INPUT = {"messages": [("user", "Go")]}


def replied(script, ran, messages):
    """Say what a script says; which reply it is, is read off the conversation.

    The ids of its calls come again in every reply, as those of replayed models do.
    """
    ran.asked += 1
    ran.seen[:] = [str(message.content) for message in messages]
    number = sum(isinstance(message, AIMessage) for message in messages)
    asked = script.reply(number, ran.seen)
    calls = [
        {"name": name, "args": arguments, "id": f"call-{position}"}
        for position, (name, arguments) in enumerate(asked)
    ]
    return AIMessage(script.text(number, asked), tool_calls=calls)


def made_tools(script, ran):
    return list(map(tool, functions(script, ran)))


async def drain(graph):
    async for _ in graph.astream(INPUT):
        pass


MODES = {
    "sync": lambda graph: graph.invoke(INPUT),
    "async": lambda graph: asyncio.run(graph.ainvoke(INPUT)),
    "stream": lambda graph: asyncio.run(drain(graph)),
}


class GraphContract(Contract):
    """The contract for what runs as a graph, with checkpoints in a file."""

    @abstractmethod
    def made(self, script, ran, **options):
        """Make the graph that carries out a script."""

    def carry_out(self, mode, script, ran, **options):
        MODES[mode](self.made(script, ran, **options))

    def talk(self, script, ran, **options):
        graph = self.made(script, ran, checkpointer=InMemorySaver(), **options)
        return lambda: graph.invoke(INPUT, THREAD)

    def begin(self, store, script, **options):
        with SqliteSaver.from_conn_string(str(store)) as checkpointer:
            self.made(script, Ran(), checkpointer=checkpointer, **options).invoke(INPUT, THREAD)

    def go_on(self, store, script, ran, **options):
        with SqliteSaver.from_conn_string(str(store)) as checkpointer:
            self.made(script, ran, checkpointer=checkpointer, **options).invoke(None, THREAD)
