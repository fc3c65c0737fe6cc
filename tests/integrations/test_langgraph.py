"""The contract with a graph made by hand around LangGraph's `ToolNode`."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, List

import pytest
from contract import Ran, Script, detector, same

pytest.importorskip("langgraph", reason="needs the extra 'langgraph'")

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_script import INPUT, GraphContract, made_tools, replied
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from typing_extensions import TypedDict

from antiloop import LoopPolicy
from antiloop.health import HealthStatus, HealthWatch
from antiloop.integrations._guard import stopped
from antiloop.integrations.langgraph import LoopGuard
from antiloop.loop_detection import Escalation, LoopAction
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

BLOCK = {"detector": detector(Escalation(("block",)))}
SCRIPT = Script(same())


def wired(schema, ask, tools):
    """Connect a node that asks the model and one that runs its tools, round and round."""
    graph = StateGraph(schema)
    graph.add_node("ask", ask)
    graph.add_node("tools", tools)
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph


def made_graph(script, ran, *, checkpointer=None, **options):
    guard = LoopGuard(**options)

    def ask(state):
        return told(state, guard.verdict(state["messages"]))

    async def aask(state):
        return told(state, await guard.averdict(state["messages"]))

    def told(state, verdict):
        if verdict.action is LoopAction.RAISE:
            raise verdict.as_error()
        if verdict.action.stops:
            return {"messages": [AIMessage(stopped(verdict))]}
        is_notice = verdict.action is LoopAction.NOTIFY
        notice = [HumanMessage(guard.notice(verdict))] if is_notice else []
        return {"messages": [replied(script, ran, [*state["messages"], *notice])]}

    tools = ToolNode(made_tools(script, ran), **guard.wrappers)
    return wired(MessagesState, RunnableLambda(ask, aask), tools).compile(checkpointer=checkpointer)


class TestLangGraph(GraphContract):
    name = "langgraph"

    def made(self, script, ran, **options):
        return made_graph(script, ran, **options)


def test_an_edge_of_your_own_can_end_the_graph():
    ran, guard = Ran(), LoopGuard(detector=detector(LoopPolicy.STOP))

    def is_over(state):
        return END if guard.verdict(state["messages"]).action.ends_run else "ask"

    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda state: {"messages": [replied(SCRIPT, ran, state["messages"])]})
    graph.add_node("tools", ToolNode(made_tools(SCRIPT, ran)))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_conditional_edges("tools", is_over)
    graph.compile().invoke(INPUT)
    assert (ran.searches, ran.asked) == (3, 3)


@dataclass
class OwnState:
    """A state that is no dictionary."""

    messages: Annotated[List[Any], add_messages]


@pytest.mark.parametrize("schema", [MessagesState, OwnState])
def test_the_state_of_a_graph_may_be_an_object(schema):
    ran, guard = Ran(), LoopGuard(**BLOCK)

    def ask(state):
        messages = state.messages if schema is OwnState else state["messages"]
        return {"messages": [replied(SCRIPT, ran, messages)]}

    tools = ToolNode(made_tools(SCRIPT, ran), **guard.wrappers)
    wired(schema, ask, tools).compile().invoke(INPUT)
    assert ran.searches == 3


def test_the_state_of_a_graph_may_be_the_messages():
    ran, guard = Ran(), LoopGuard(**BLOCK)
    tools = ToolNode(made_tools(SCRIPT, ran), **guard.wrappers)
    state = Annotated[list, add_messages]
    graph = wired(state, lambda messages: [replied(SCRIPT, ran, messages)], tools)
    messages = graph.compile().invoke([("user", "Go")])
    assert ran.searches == 3
    assert sum(REFUSED_MARKER in str(message.content) for message in messages) == 3


def test_the_messages_of_a_graph_may_stand_under_another_key():
    class Chat(TypedDict):
        chat: Annotated[list, add_messages]

    ran, guard = Ran(), LoopGuard(messages_key="chat", **BLOCK)
    tools = ToolNode(made_tools(SCRIPT, ran), messages_key="chat", **guard.wrappers)
    graph = StateGraph(Chat)
    graph.add_node("ask", lambda state: {"chat": [replied(SCRIPT, ran, state["chat"])]})
    graph.add_node("tools", tools)
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", partial(tools_condition, messages_key="chat"))
    graph.add_edge("tools", "ask")
    graph.compile().invoke({"chat": [("user", "Go")]})
    assert ran.searches == 3


def test_health_is_known_while_the_graph_runs():
    watch, ran, seen = HealthWatch(), Ran(), []

    class Noted(HealthWatch):
        def follow(self, run_id, messages, read):
            watch.follow(run_id, messages, read)
            seen.append(watch.report(run_id).calls)

    graph = made_graph(SCRIPT, ran, health=Noted(), checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t1"}})
    assert seen == list(range(len(seen)))
    assert seen[-1] >= 4
    report = watch.report("t1")
    assert report.status is HealthStatus.LIKELY_STUCK
    assert "loop_repeat" in [each.name for each in report.warnings]


def test_a_health_watch_that_raises_harms_nothing(caplog):
    class Broken:
        def follow(self, run_id, messages, read):
            raise RuntimeError("broken")

    def last(**options):
        graph = made_graph(SCRIPT, Ran(), **options)
        return graph.invoke({"messages": [HumanMessage("go")]})["messages"][-1].content

    assert last(health=Broken()) == last()
    assert "the health of a run could not be judged" in caplog.text


def test_a_model_that_only_talks_is_noticed():
    guard, said = LoopGuard(), [HumanMessage("Go")]
    actions = []
    for _ in range(3):
        said.append(AIMessage("Let me check that for you."))
        actions.append(guard.verdict(said).action.value)
    assert actions == ["continue", "continue", "notify"]
