"""The contract with deep agents, which take LangChain's middleware; swarms and supervisors."""

import warnings

import pytest
from contract import Hearer, Ran, Script, detector, same

for module in ("deepagents", "langgraph_supervisor", "langgraph_swarm"):
    pytest.importorskip(module, reason=f"needs the package {module}")

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_agents import ScriptedModel
from langchain_script import INPUT, GraphContract, made_tools
from langgraph.prebuilt import ToolNode
from langgraph_supervisor import create_handoff_tool, create_supervisor
from langgraph_swarm import create_handoff_tool as create_swarm_handoff
from langgraph_swarm import create_swarm

from antiloop import LoopDetectedError, LoopPolicy
from antiloop.integrations import langchain, langgraph
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

STOP = {"detector": detector(LoopPolicy.STOP)}


def model(script, ran):
    return ScriptedModel(script=script, ran=ran)


class TestDeepAgents(GraphContract):
    name = "deepagents"

    def made(self, script, ran, *, checkpointer=None, **options):
        return create_deep_agent(
            model(script, ran),
            made_tools(script, ran),
            middleware=[langchain.LoopGuard(**options)],
            checkpointer=checkpointer,
        )


class Delegating(ScriptedModel):
    """Says what the script says, and what the script of the helper says where the task stands."""

    helper: ScriptedModel

    def _generate(self, messages, **options):
        is_helper = any(message.text == "look it up" for message in messages)
        if is_helper:
            return self.helper._generate(messages, **options)
        return super()._generate(messages, **options)


@pytest.mark.parametrize("name", ["general-purpose", "reader"])
@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_subagent_is_guarded_where_it_has_the_middleware(name, is_guarded):
    ran, script = Ran(), Script(same())
    helper = {"name": name, "description": "reads", "system_prompt": "Read."}
    if is_guarded:
        helper["middleware"] = [langchain.LoopGuard(**STOP)]
    task = ("task", {"description": "look it up", "subagent_type": name})
    agent = create_deep_agent(
        Delegating(script=Script([[task]]), ran=Ran(), helper=model(script, ran)),
        made_tools(script, ran),
        subagents=[helper],
    )
    agent.invoke(INPUT)
    assert ran.searches == (3 if is_guarded else 6)


def hands_to(agent):
    return Script([[(f"transfer_to_{agent}", {})]])


class Handing(ScriptedModel):
    """Hands over, whatever the conversation is."""

    def _generate(self, messages, **options):
        messages = [message for message in messages if message.type == "human"]
        return super()._generate(messages, **options)


def test_agents_of_a_swarm_that_hand_over_in_a_circle_are_stopped():
    ran, guard = Ran(), langchain.LoopGuard()
    agents = [
        create_agent(
            Handing(script=hands_to(other), ran=ran),
            [create_swarm_handoff(agent_name=other)],
            middleware=[guard],
            name=name,
        )
        for name, other in (("alice", "bob"), ("bob", "alice"))
    ]
    swarm = create_swarm(agents, default_active_agent="alice").compile()
    reply = swarm.invoke(INPUT)["messages"][-1]
    assert reply.content.startswith("Stopped: the agent was stuck in a loop. transfer_to_")
    assert ran.asked == 8


def supervised(script, ran, *, kind=ScriptedModel, **options):
    """Make a supervisor as the page does, with a helper that is done at once."""
    guard = langgraph.LoopGuard(**options)

    def before_model(state):
        verdict = guard.verdict(state["messages"])
        verdict.raise_if_looping()
        notice = [("user", guard.notice(verdict))] if verdict.action == "notify" else []
        return {"llm_input_messages": [*state["messages"], *notice]}

    tools = [*made_tools(script, ran), create_handoff_tool(agent_name="helper")]
    helper = create_agent(model(Script(()), Ran()), [], name="helper")
    with warnings.catch_warnings():
        # The supervisor is an agent of an older kind.
        warnings.filterwarnings("ignore", "create_react_agent has been moved")
        return create_supervisor(
            [helper],
            model=kind(script=script, ran=ran),
            tools=ToolNode(tools, **guard.wrappers),
            pre_model_hook=before_model,
        ).compile()


@pytest.mark.parametrize("policy", [LoopPolicy.STOP, LoopPolicy.RAISE])
def test_a_supervisor_ends_with_an_error(policy):
    ran, hearer = Ran(), Hearer()
    options = {"detector": detector(policy), "observers": [hearer]}
    with pytest.raises(LoopDetectedError):
        supervised(Script(same()), ran, **options).invoke(INPUT)
    assert (ran.searches, ran.asked, hearer.heard) == (3, 3, ["repeat"])


def test_a_supervisor_is_told():
    ran = Ran()
    options = {"detector": detector(LoopPolicy.INJECT_MESSAGE)}
    supervised(Script(same(), heeds=True), ran, **options).invoke(INPUT)
    assert (ran.searches, ran.asked) == (3, 4)
    assert NOTICE_MARKER in ran.seen[-1]


def test_calls_of_a_supervisor_are_refused():
    ran = Ran()
    supervised(Script(same()), ran, detector=detector(Escalation(("block",)))).invoke(INPUT)
    assert ran.searches == 3
    assert sum(REFUSED_MARKER in text for text in ran.seen) == 3


def test_a_supervisor_that_hands_over_without_end_is_stopped():
    ran = Ran()
    with pytest.raises(LoopDetectedError, match="transfer_to_helper"):
        supervised(hands_to("helper"), ran, kind=Handing).invoke(INPUT)
    assert ran.asked < 9
