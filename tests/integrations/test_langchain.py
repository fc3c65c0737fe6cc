"""The contract with LangChain's own agent, and what is special about it."""

import asyncio
import inspect
import json
import sys
from typing import Any, Dict

import pytest
from contract import SAME, Hearer, Ran, Script, ThoughtsContract, detector, read_twice, same

pytest.importorskip("langchain", reason="needs the extra 'langchain'")

from langchain.agents import AgentState
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_agents import ScriptedModel, broken_off, made_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langchain_script import INPUT, THREAD, GraphContract
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from antiloop import LoopDetectedError, LoopDetector, LoopPolicy, RepeatDetector
from antiloop.integrations.langchain import LoopGuard, LoopGuardState
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER


class TestLangChain(GraphContract):
    name = "langchain"

    def made(self, script, ran, **options):
        return made_agent(script, ran, **options)


STOP = {"detector": detector(LoopPolicy.STOP)}
BLOCK = {"detector": detector(Escalation(("block",)))}
NOTIFY = {"detector": detector(LoopPolicy.INJECT_MESSAGE)}
RAISE = {"detector": detector(LoopPolicy.RAISE)}
SCRIPT = Script(same())


class TestTheStateOfARun:
    def test_it_is_small_and_no_part_of_the_output(self):
        agent = made_agent(SCRIPT, Ran(), checkpointer=InMemorySaver(), **STOP)
        assert set(agent.invoke(INPUT, THREAD)) == {"messages"}
        kept = agent.get_state(THREAD).values["antiloop"]
        assert 100 < len(json.dumps(kept)) < 5_000

    def test_a_run_that_ends_says_why(self):
        reply = made_agent(SCRIPT, Ran(), **STOP).invoke(INPUT)["messages"][-1]
        assert isinstance(reply, AIMessage)
        assert reply.content.startswith("Stopped: the agent was stuck in a loop. Tool 'search'")

    def test_a_notice_survives_a_resume(self):
        script, saver, ran = Script(same(), heeds=True), InMemorySaver(), Ran()
        broken_off(script, Ran(), at=3, checkpointer=saver, **NOTIFY)
        made_agent(script, ran, checkpointer=saver, **NOTIFY).invoke(None, THREAD)
        assert (ran.searches, ran.asked) == (0, 1)
        assert sum(text.count(NOTICE_MARKER) for text in ran.seen) == 1

    @pytest.mark.parametrize("rounds", [1, 2])
    def test_a_run_that_began_without_the_guard_is_read(self, rounds):
        saver, ran = InMemorySaver(), Ran()
        broken_off(SCRIPT, Ran(), at=rounds, checkpointer=saver, guard=None)
        made_agent(SCRIPT, ran, checkpointer=saver, **STOP).invoke(None, THREAD)
        assert ran.searches == 3 - rounds

    def test_a_run_that_was_stuck_without_the_guard_is_refused_at_once(self):
        saver, ran = InMemorySaver(), Ran()
        broken_off(SCRIPT, Ran(), at=3, checkpointer=saver, guard=None)
        made_agent(SCRIPT, ran, checkpointer=saver, **BLOCK).invoke(None, THREAD)
        assert ran.searches == 0

    @pytest.mark.parametrize(
        ("old", "version"),
        [({"run": {"version": 0}, "judged": None, "notice": ""}, 0), ({"of": "a later one"}, None)],
    )
    def test_a_checkpoint_of_another_version_is_replaced_by_what_the_messages_tell(
        self, old, version, caplog
    ):
        saver, ran = InMemorySaver(), Ran()
        broken_off(SCRIPT, Ran(), at=2, checkpointer=saver, **STOP)
        agent = made_agent(SCRIPT, ran, checkpointer=saver, **STOP)
        known = {"antiloop": {"LoopGuard": old}}
        agent.update_state(THREAD, known, as_node="LoopGuard.before_model")
        agent.invoke(None, THREAD)
        assert ran.searches == 1
        assert f"got version {version}" in caplog.text

    def test_a_subclass_may_keep_more(self):
        class Counted(LoopGuardState):
            steps: int

        class CountingGuard(LoopGuard):
            state_schema = Counted

            def before_model(self, state, runtime):
                return {**super().before_model(state, runtime), "steps": state.get("steps", 0) + 1}

        ran = Ran()
        made = made_agent(SCRIPT, ran, guard=CountingGuard, **BLOCK)
        assert (made.invoke(INPUT)["steps"], ran.searches) == (7, 3)

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_a_second_guard_may_try_another_detector(self, place):
        class Trying(LoopGuard):
            """LangChain takes one middleware of a class."""

        ran, hearer = Ran(), Hearer()
        tried = LoopDetector([RepeatDetector(3)], LoopPolicy.STOP, shadow=True)
        trying = Trying(tried, observers=[hearer])
        made_agent(SCRIPT, ran, **{place: [trying]}, **BLOCK).invoke(INPUT)
        assert ran.searches == 3
        assert hearer.verdicts[:3] == ["continue", "continue", "stop"]

    def test_an_agent_may_have_a_state_of_its_own(self):
        class Own(AgentState):
            topic: str

        ran = Ran()
        agent = made_agent(SCRIPT, ran, state_schema=Own, **STOP)
        assert agent.invoke({**INPUT, "topic": "refunds"})["topic"] == "refunds"
        assert ran.searches == 3

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_observers_are_notified_the_thread(self, mode):
        hearer = Hearer()
        agent = made_agent(SCRIPT, Ran(), observers=[hearer], **STOP)
        if mode == "sync":
            agent.invoke(INPUT, THREAD)
        else:
            asyncio.run(agent.ainvoke(INPUT, THREAD))
        # LangGraph cannot hand its configuration to async code before Python 3.11.
        known = mode == "sync" or sys.version_info >= (3, 11)
        assert hearer.runs == ["thread-1" if known else ""]


class TestTurns:
    two_a_turn = Script([[SAME], [SAME], [], [SAME], [SAME], []])

    @pytest.mark.parametrize(("across_turns", "searches"), [(False, 4), (True, 3)])
    def test_a_new_turn_begins_anew_unless_told_otherwise(self, across_turns, searches):
        ran = Ran()
        agent = made_agent(
            self.two_a_turn, ran, checkpointer=InMemorySaver(), across_turns=across_turns, **STOP
        )
        for _ in range(2):
            agent.invoke(INPUT, THREAD)
        assert ran.searches == searches

    @pytest.mark.parametrize(("across_turns", "searches"), [(False, 2), (True, 1)])
    def test_a_history_may_be_given_whole_each_time(self, across_turns, searches):
        first = made_agent(self.two_a_turn, Ran(), guard=None).invoke(INPUT)["messages"]
        ran = Ran()
        agent = made_agent(self.two_a_turn, ran, across_turns=across_turns, **STOP)
        agent.invoke({"messages": [*first, ("user", "Go"), ("system", "It is late.")]})
        assert ran.searches == searches

    def test_a_round_that_the_user_interrupts_is_no_evidence(self):
        asked = [{"name": "search", "args": SAME[1], "id": "call-0"}]
        history = [AIMessage("", tool_calls=asked), ToolMessage("x", tool_call_id="call-0")]
        ran = Ran()
        agent = made_agent(Script([[], [SAME], [SAME]]), ran, **STOP)
        agent.invoke({"messages": [*history, HumanMessage("Go")]})
        assert (ran.searches, ran.asked) == (2, 3)

    def test_the_user_goes_on_after_an_error(self):
        ran = Ran()
        agent = made_agent(SCRIPT, ran, checkpointer=InMemorySaver(), **RAISE)
        with pytest.raises(LoopDetectedError):
            agent.invoke(INPUT, THREAD)
        agent = made_agent(Script(same(times=5)), ran, checkpointer=agent.checkpointer, **RAISE)
        assert agent.invoke(INPUT, THREAD)["messages"][-1].content == "done"
        assert ran.searches == 5

    def test_nothing_to_answer_is_no_error(self):
        assert made_agent(Script([]), Ran()).invoke({"messages": []})["messages"]

    @pytest.mark.parametrize(("pictures", "asked"), [("aaaaaa", 3), ("abcdef", 7)])
    def test_a_message_that_a_tool_adds_is_part_of_its_result_and_begins_no_turn(
        self, pictures, asked
    ):
        taken = iter(pictures)

        @tool
        def look() -> Any:
            """Take a picture."""
            answer = ToolMessage("Taken.", tool_call_id="call-0")
            return Command(update={"messages": [answer, HumanMessage(next(taken))]})

        ran = Ran()
        agent = made_agent(Script([[("look", {})]] * 6), ran, tools=[look], **STOP)
        agent.invoke(INPUT)
        assert ran.asked == asked


class Decides(HumanInTheLoopMiddleware):
    """Asks whether a search may run."""

    def __init__(self):
        super().__init__(interrupt_on={"search": True})


def decided(agent, decision):
    """Run an agent to its end with the same decision on every call; give how often it asked."""
    answer, asked = agent.invoke(INPUT, THREAD), 0
    while "__interrupt__" in answer:
        asked += 1
        [interrupt] = answer["__interrupt__"]
        decisions = [decision] * len(interrupt.value["action_requests"])
        answer = agent.invoke(Command(resume={"decisions": decisions}), THREAD)
    return asked


def summarizing():
    """Return what keeps the last two messages and a summary; its options had other names once."""
    options = {"trigger": ("messages", 3), "keep": ("messages", 2)}
    if "trigger" not in inspect.signature(SummarizationMiddleware).parameters:
        options = {"max_tokens_before_summary": 1, "messages_to_keep": 2}
    return SummarizationMiddleware(FakeListChatModel(responses=["short"]), **options)


class TestBesideOtherMiddleware:
    def test_behind_approvals_nobody_is_asked_about_what_is_refused(self):
        ran = Ran()
        agent = made_agent(SCRIPT, ran, before=[Decides()], checkpointer=InMemorySaver(), **BLOCK)
        assert (decided(agent, {"type": "approve"}), ran.searches) == (3, 3)

    def test_before_approvals_it_sees_what_was_decided(self):
        ran, saver = Ran(), InMemorySaver()
        agent = made_agent(SCRIPT, ran, after=[Decides()], checkpointer=saver, **BLOCK)
        assert decided(agent, {"type": "reject", "message": "no"}) == 6
        messages = agent.get_state(THREAD).values["messages"]
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        assert (ran.searches, len(answers)) == (0, 6)

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_a_summary_does_not_blind_it(self, place):
        summary = summarizing()
        ran, number = Ran(), iter(range(9))

        class Forgetful(Script):
            def reply(self, _, seen):
                return super().reply(next(number), seen)

        agent = made_agent(Forgetful(same()), ran, **{place: [summary]}, **STOP)
        messages = agent.invoke(INPUT)["messages"]
        assert ran.searches == 3
        assert "summary" in messages[0].content

    def test_what_is_read_again_after_a_summary_is_no_loop(self):
        ran, number = Ran(), iter(range(99))

        class Forgetful(Script):
            def reply(self, _, seen):
                return super().reply(next(number), seen)

        options = {"trigger": ("messages", 19), "keep": ("messages", 2)}
        if "trigger" not in inspect.signature(SummarizationMiddleware).parameters:
            pytest.skip("counts no messages")
        summary = SummarizationMiddleware(FakeListChatModel(responses=["short"]), **options)
        script = Forgetful(**vars(read_twice()))
        messages = made_agent(script, ran, after=[summary]).invoke(INPUT)["messages"]
        assert "summary" in messages[0].content
        assert (ran.searches, messages[-1].content) == (18, "done")

    def test_an_error_reaches_the_caller_through_retries_of_a_tool(self):
        @tool
        def search(query: str) -> str:
            """Search."""
            ran.tools.append("search")
            raise ConnectionError("no route to the index")

        ran = Ran()
        retries = ToolRetryMiddleware(max_retries=1, initial_delay=0, on_failure="continue")
        agent = made_agent(SCRIPT, ran, tools=[search], after=[retries], **RAISE)
        with pytest.raises(LoopDetectedError):
            agent.invoke(INPUT)
        assert ran.searches == 6

    def test_a_reply_that_is_asked_for_again_finds_the_notice_again(self):
        class AsksAgain(AgentMiddleware):
            @hook_config(can_jump_to=["model"])
            def after_model(self, state, runtime):
                seen.append(any(NOTICE_MARKER in text for text in ran.seen))
                if ran.asked == 4:
                    reply = RemoveMessage(state["messages"][-1].id)
                    return {"messages": [reply], "jump_to": "model"}
                return None

        seen, ran = [], Ran()
        made_agent(Script(same(times=4)), ran, after=[AsksAgain()], **NOTIFY).invoke(INPUT)
        assert seen == [False, False, False, True, True, False]
        assert ran.searches == 4

    @pytest.mark.parametrize(("name", "before"), [("", "nothing found"), ("Mistral", "OK")])
    def test_a_model_of_mistral_has_spoken_between_the_results_and_a_notice(self, name, before):
        ran, model = Ran(), type(f"Chat{name}", (ScriptedModel,), {})
        made_agent(Script(same(times=3)), ran, model=model, **NOTIFY).invoke(INPUT)
        assert NOTICE_MARKER in ran.seen[-1]
        assert ran.seen[-2] == before

    def test_a_notice_is_gone_once_the_model_has_answered(self):
        class AsksForMore(AgentMiddleware):
            @hook_config(can_jump_to=["model"])
            def after_model(self, state, runtime):
                if ran.asked == 4:
                    return {"messages": [HumanMessage("Is that all?")], "jump_to": "model"}
                return None

        ran = Ran()
        made_agent(Script(same(times=3)), ran, after=[AsksForMore()], **NOTIFY).invoke(INPUT)
        assert ran.asked == 5
        assert not any(NOTICE_MARKER in text for text in ran.seen)


class Answer(BaseModel):
    """The answer."""

    number: int


class TestStructuredOutput:
    @pytest.mark.parametrize(("ignore", "asked"), [((), 3), (("Answer",), 7)])
    def test_an_answer_that_never_fits_is_a_loop_unless_ignored(self, ignore, asked):
        script, ran = Script([[("Answer", {"number": "many"})]] * 6), Ran()
        agent = made_agent(script, ran, response_format=ToolStrategy(Answer), ignore=ignore, **STOP)
        agent.invoke(INPUT)
        assert ran.asked == asked

    def test_a_call_beside_the_answer_is_refused_and_the_answer_stands(self):
        script, ran = Script([*same(times=3), [("Answer", {"number": 3}), SAME]]), Ran()
        answer = made_agent(script, ran, response_format=ToolStrategy(Answer), **BLOCK).invoke(
            INPUT
        )
        assert answer["structured_response"] == Answer(number=3)
        assert ran.searches == 3
        assert REFUSED_MARKER in answer["messages"][-1].content


class Garbling(ScriptedModel):
    """Adds a call that cannot be parsed to each of its calls."""

    def _generate(self, messages, **options):
        answer = super()._generate(messages, **options)
        reply = answer.generations[0].message
        if reply.tool_calls:
            garbled: Dict[str, Any] = {"name": "note", "args": "{", "id": "x", "error": "no JSON"}
            reply.invalid_tool_calls = [{**garbled, "type": "invalid_tool_call"}]
        return answer


def test_calls_that_could_not_be_parsed_are_part_of_the_round():
    ran = Ran()
    agent = made_agent(SCRIPT, ran, model=Garbling, **BLOCK)
    agent.invoke(INPUT)
    assert ran.searches == 3


class Unreadable(ScriptedModel):
    """Makes calls that cannot be parsed, and no others."""

    def _generate(self, messages, **options):
        answer = super()._generate(messages, **options)
        reply = answer.generations[0].message
        garbled = {"name": "search", "args": "{", "error": "no JSON", "type": "invalid_tool_call"}
        reply.invalid_tool_calls = [{**garbled, "id": call["id"]} for call in reply.tool_calls]
        reply.tool_calls = []
        return answer


class SendsBack(AgentMiddleware):
    """Has the model try again where nothing could be parsed."""

    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime):
        return {"jump_to": "model"} if state["messages"][-1].invalid_tool_calls else None


def test_replies_that_could_not_be_parsed_are_a_loop_where_they_are_sent_back():
    ran = Ran()
    made_agent(SCRIPT, ran, model=Unreadable, after=[SendsBack()], **STOP).invoke(INPUT)
    assert ran.asked == 3


class ThinkingModel(ScriptedModel):
    """Streams thoughts piece by piece, then an answer."""

    in_content: bool = False

    def _generate(self, messages, stop=None, run_manager=None, **options):
        raise AssertionError("it is streamed")

    def _stream(self, messages, stop=None, run_manager=None, **options):
        for piece in self.script:
            block = {"type": "reasoning", "reasoning": piece}
            beside = {} if self.in_content else {"reasoning_content": piece}
            message = AIMessageChunk([block] if self.in_content else "", additional_kwargs=beside)
            yield ChatGenerationChunk(message=message)
        yield ChatGenerationChunk(message=AIMessageChunk("done"))


class ThinkingInContent(ThinkingModel):
    in_content: bool = True


async def drain_messages(agent):
    """Stream a run token by token; return the last message."""
    async for mode, part in agent.astream(INPUT, stream_mode=["messages", "values"]):
        last = part["messages"][-1] if mode == "values" else None
    return last


def streamed_messages(agent):
    parts = list(agent.stream(INPUT, stream_mode=["messages", "values"]))
    return parts[-1][1]["messages"][-1]


class TestThoughts(ThoughtsContract):
    model = ThinkingModel

    def answer(self, pieces, **options):
        agent = made_agent(pieces, Ran(), model=self.model, **options)
        return asyncio.run(drain_messages(agent)).text


class TestThoughtsInContent(TestThoughts):
    model = ThinkingInContent


class TestThoughtsWithoutAsync(ThoughtsContract):
    def answer(self, pieces, **options):
        return streamed_messages(made_agent(pieces, Ran(), model=ThinkingModel, **options)).text
