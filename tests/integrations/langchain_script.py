"""What LangChain messages and tools make of a script, for agents and for graphs made by hand."""

from langchain_core.messages import AIMessage
from langchain_core.tools import tool

THREAD = {"configurable": {"thread_id": "thread-1"}}
INPUT = {"messages": [("user", "Go")]}


def replied(script, ran, messages):
    """Say what a script says; which reply it is, is read off the conversation.

    The ids of its calls come again in every reply, as those of replayed models do.
    """
    ran.asked += 1
    ran.seen[:] = [str(message.content) for message in messages]
    number = sum(isinstance(message, AIMessage) for message in messages)
    calls = [
        {"name": name, "args": arguments, "id": f"call-{position}"}
        for position, (name, arguments) in enumerate(script.reply(number, ran.seen))
    ]
    return AIMessage("" if calls else "done", tool_calls=calls)


def made_tools(script, ran):
    @tool
    def search(query: str) -> str:
        """Search."""
        return ran.answer(script, "search")

    @tool
    def note(text: str) -> str:
        """Note."""
        return ran.answer(script, "note")

    return [search, note]
