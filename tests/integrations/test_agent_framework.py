"""The contract with an agent of Microsoft Agent Framework, and what is special about it."""

import asyncio
import inspect
import json
from dataclasses import replace

import pytest
from contract import (
    CONCLUDE,
    FORWARD,
    SAME,
    Contract,
    Hearer,
    Ran,
    Script,
    ThoughtsContract,
    detector,
    functions,
    last_words,
    read_twice,
    same,
    unheard,
)

pytest.importorskip("agent_framework", reason="needs the extra 'agent-framework'")

import agent_framework
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from antiloop import LoopPolicy
from antiloop.formats import from_agent_framework
from antiloop.integrations.agent_framework import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER


def tool_mode(choice):
    """Return whether a model may call tools, as a word."""
    return choice.get("mode") if isinstance(choice, dict) else choice


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Says what a script says; which reply it is, is read off the conversation."""

    def __init__(self, script, ran, **options):
        super().__init__(**options)
        self.script, self.ran = script, ran
        self.choices = []

    def _inner_get_response(self, *, messages, stream, options, **more):
        self.choices.append(tool_mode(options.get("tool_choice")))
        if not stream:
            return self._replied(messages)

        async def updates():
            reply = await self._replied(messages)
            for content in reply.messages[0].contents:
                yield ChatResponseUpdate(contents=[content], role="assistant")

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

    async def _replied(self, messages):
        self.ran.asked += 1
        self.ran.seen[:] = [text for message in messages for text in texts_of(message)]
        number = sum(message.role == "assistant" for message in messages)
        asked = self.script.reply(number, self.ran.seen)
        calls = [
            Content.from_function_call(f"call-{position}", name, arguments=json.dumps(arguments))
            for position, (name, arguments) in enumerate(asked)
        ]
        text = self.script.text(number, calls)
        said = [Content.from_text(text)] if text else []
        return ChatResponse(messages=[Message("assistant", [*said, *calls])])


def texts_of(message):
    """Return the texts of a message, those in results too."""
    return [content.text or content.result or "" for content in message.contents]


def made_agent(script, ran, *, client=ScriptedClient, before=(), context_providers=(), **options):
    return Agent(
        client(script, ran),
        tools=functions(script, ran),
        middleware=[*before, *LoopGuard(**options).middleware],
        context_providers=list(context_providers),
    )


class Keeping(ChatMiddleware):
    """Keeps in a file what the model is sent."""

    def __init__(self, store):
        self.store = store

    async def process(self, context, call_next):
        self.store.write_text(json.dumps([message.to_dict() for message in context.messages]))
        await call_next()


def kept(store):
    return [Message.from_dict(each) for each in json.loads(store.read_text("utf-8"))]


async def drain(agent):
    async for _ in agent.run("Go", stream=True):
        pass


async def talk(agent, session, *said):
    """Say one thing after the other; give the last answer."""
    answers = [await agent.run(each, session=session) for each in said]
    return answers[-1]


MODES = {
    "async": lambda agent: asyncio.run(agent.run("Go")),
    "stream": lambda agent: asyncio.run(drain(agent)),
}


class TestAgentFramework(Contract):
    name = "agent_framework"

    def carry_out(self, mode, script, ran, **options):
        MODES[mode](made_agent(script, ran, **options))

    def talk(self, script, ran, **options):
        agent, session = made_agent(script, ran, **options), AgentSession()
        return lambda: asyncio.run(agent.run("Go", session=session))

    def begin(self, store, script, **options):
        MODES["async"](made_agent(script, Ran(), before=[Keeping(store)], **options))

    def go_on(self, store, script, ran, **options):
        asyncio.run(made_agent(script, ran, **options).run(kept(store)))


class Serving(ScriptedClient):
    """A service that keeps the conversation: it is sent what is new, and nothing else."""

    def __init__(self, script, ran):
        super().__init__(script, ran)
        self.known, self.sent = [], []

    async def _replied(self, messages):
        self.sent.append([message.role for message in messages])
        self.known += messages
        reply = await super()._replied(self.known)
        self.known += reply.messages
        reply.conversation_id = "conversation-1"
        return reply

    def _inner_get_response(self, *, messages, stream, options, **more):
        response = super()._inner_get_response(
            messages=messages, stream=stream, options=options, **more
        )
        return response.with_result_hook(self._named) if stream else response

    def _named(self, response):
        response.conversation_id = "conversation-1"
        return response


def stopping(**options):
    return {"detector": detector(LoopPolicy.STOP), **options}


BLOCK = {"detector": detector(Escalation(("block",)))}


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_known_where_the_service_keeps_the_conversation(mode):
    ran = Ran()
    agent = made_agent(Script(same()), ran, client=Serving, **stopping())
    MODES[mode](agent)
    assert ran.searches == 3
    assert agent.client.sent == [["user"], ["tool"], ["tool"]]


@pytest.mark.parametrize("mode", MODES)
def test_calls_are_refused_where_the_service_keeps_the_conversation(mode):
    ran = Ran()
    MODES[mode](made_agent(Script(same()), ran, client=Serving, **BLOCK))
    assert (ran.searches, ran.asked) == (3, 7)


def test_a_stopped_run_ends_with_an_answer_that_says_why():
    answer = MODES["async"](made_agent(Script(same()), Ran(), **stopping()))
    assert answer.text.startswith("Stopped: the agent was stuck in a loop. Tool 'search'")


def test_a_stopped_stream_ends_with_an_answer_that_says_why():
    async def last_of(agent):
        return [update.text async for update in agent.run("Go", stream=True)][-1]

    text = asyncio.run(last_of(made_agent(Script(same()), Ran(), **stopping())))
    assert text.startswith("Stopped: the agent was stuck in a loop. Tool 'search'")


@last_words
def test_a_model_that_calls_instead_of_its_last_words_ends_all_the_same(words, answer):
    agent = made_agent(unheard(words), Ran(), detector=CONCLUDE)
    assert MODES["async"](agent).text.startswith(answer)
    assert agent.client.choices == ["auto"] * 3 + ["none"]


@last_words
def test_calls_in_a_stream_of_last_words_are_left_out(words, answer):
    async def streamed(agent):
        run = agent.run("Go", stream=True)
        said = [each.type for update in [u async for u in run] for each in update.contents]
        return said, await run.get_final_response()

    agent = made_agent(unheard(words), Ran(), detector=CONCLUDE)
    said, whole = asyncio.run(streamed(agent))
    assert whole.text.startswith(answer)
    assert said.count("function_call") == 3
    assert agent.client.choices == ["auto"] * 3 + ["none"]


def test_a_notice_is_sent_after_the_results_and_not_kept():
    ran, session = Ran(), AgentSession()
    options = {"detector": detector(LoopPolicy.INJECT_MESSAGE)}
    agent = made_agent(Script(same(), heeds=True), ran, **options)
    answer = asyncio.run(agent.run("Go", session=session))
    assert NOTICE_MARKER in ran.seen[-1]
    assert answer.text == "done"
    assert NOTICE_MARKER not in json.dumps(session.to_dict())


def test_the_words_of_a_refusal_are_the_result_of_a_call():
    answer = MODES["async"](made_agent(Script(same()), Ran(), **BLOCK))
    history = from_agent_framework(answer.messages)
    refused = [result.text.startswith(REFUSED_MARKER) for result in history.results]
    assert refused == [False] * 3 + [True] * 3


def test_a_call_is_known_whatever_its_arguments_are_turned_into():
    ran = Ran()

    def search(query: str, limit: int = 10) -> str:
        """Search."""
        return ran.answer(script, "search")

    script = Script([[("search", {"query": "refunds", "limit": "10"})]] * 6)
    agent = Agent(
        ScriptedClient(script, ran), tools=[search], middleware=LoopGuard(**BLOCK).middleware
    )
    MODES["async"](agent)
    assert ran.searches == 3


class AskingAgain(ChatMiddleware):
    """Asks once more after each reply, as a retry does."""

    async def process(self, context, call_next):
        sent = list(context.messages)
        await call_next()
        context.messages = sent
        await call_next()


def test_a_round_is_judged_once_however_often_the_model_is_asked():
    ran, hearer = Ran(), Hearer()
    options = {"detector": detector(LoopPolicy.INJECT_MESSAGE), "observers": [hearer]}
    MODES["async"](made_agent(Script(same(times=3)), ran, before=[AskingAgain()], **options))
    assert (ran.asked, ran.searches, hearer.heard) == (8, 3, ["repeat"])


def test_a_run_that_broke_off_is_taken_up_in_the_same_task(tmp_path):
    async def in_two_parts(guard, script, store):
        agent = Agent(
            ScriptedClient(replace(script, breaks_at=2), Ran()),
            tools=functions(script, Ran()),
            middleware=[Keeping(store), *guard.middleware],
        )
        with pytest.raises(Exception, match="the connection to the model broke"):
            await agent.run("Go")
        agent.client.script, agent.client.ran = script, ran
        await agent.run(kept(store))

    ran = Ran()
    asyncio.run(in_two_parts(LoopGuard(**stopping()), Script(same()), tmp_path / "store"))
    assert ran.asked == 1


def test_a_turn_of_the_user_begins_anew():
    ran = Ran()
    agent = made_agent(Script([[SAME], [SAME], (), [SAME], [SAME]]), ran, **stopping())
    asyncio.run(talk(agent, AgentSession(), "Go", "Again"))
    assert ran.searches == 4


def test_across_turns_earlier_rounds_count():
    ran = Ran()
    script = Script([[SAME], [SAME], (), [SAME], [SAME]])
    agent = made_agent(script, ran, **stopping(across_turns=True))
    answer = asyncio.run(talk(agent, AgentSession(), "Go", "Again"))
    assert (ran.searches, answer.text.partition(":")[0]) == (3, "Stopped")


def test_runs_side_by_side_are_told_apart():
    async def both(agents):
        await asyncio.gather(*(agent.run("Go") for agent in agents))

    rans, guard = [Ran(), Ran()], LoopGuard(**stopping())
    script = Script(same(times=2))
    agents = [
        Agent(
            ScriptedClient(script, ran), tools=functions(script, ran), middleware=guard.middleware
        )
        for ran in rans
    ]
    asyncio.run(both(agents))
    assert [ran.searches for ran in rans] == [2, 2]


def test_an_approved_call_is_not_refused_for_another_run_of_this_task():
    guard, approved = LoopGuard(detector(Escalation(("block",)))), Ran()

    def agent(script, tools):
        return Agent(ScriptedClient(script, Ran()), tools=tools, middleware=guard.middleware)

    tools = functions(Script([[SAME]]), approved)
    asking = agent(Script([[SAME]]), [tool(each, approval_mode="always_require") for each in tools])
    looping = agent(Script(same()), functions(Script(same()), Ran()))

    async def one_job_after_the_other():
        session = asking.create_session()
        asked = await asking.run("Go", session=session)
        await looping.run("Go")
        answers = [each.to_function_approval_response(True) for each in asked.user_input_requests]
        return await asking.run(Message("user", answers), session=session)

    assert asyncio.run(one_job_after_the_other()).text == "done"
    assert approved.searches == 1


def test_an_agent_behind_a_tool_is_a_separate_run():
    inner, outer = Ran(), Ran()
    guard = LoopGuard(**stopping())
    helper = Agent(
        Counting(Script([[SAME], ()] * 9), inner),
        name="helper",
        tools=functions(Script(()), inner),
        middleware=guard.middleware,
    )
    ask = [[("helper", {"task": "Look it up"})]] * 6
    agent = Agent(
        Serving(Script(ask), outer), tools=[helper.as_tool()], middleware=guard.middleware
    )
    answer = asyncio.run(agent.run("Go"))
    assert answer.text.startswith("Stopped: the agent was stuck in a loop. Tool 'helper'")
    assert inner.searches == 3


class Counting(ScriptedClient):
    """Says what a script says, reply by reply, whatever the conversation is."""

    said = -1

    async def _replied(self, messages):
        self.said += 1
        return await super()._replied([Message("assistant", [])] * self.said)


class Windowed(Counting):
    """Sends the model only the last groups of messages."""

    def __init__(self, script, ran):
        window = agent_framework.SlidingWindowStrategy(keep_last_groups=2)
        super().__init__(script, ran, compaction_strategy=window)


has_compaction = pytest.mark.skipif(
    not hasattr(agent_framework, "SlidingWindowStrategy"), reason="this version has no compaction"
)


@has_compaction
def test_what_is_read_again_after_a_compaction_is_no_loop():
    for client, notices in ((Windowed, 0), (Counting, 1)):
        ran, hearer = Ran(), Hearer()
        agent = made_agent(read_twice(), ran, client=client, observers=[hearer])
        assert MODES["async"](agent).text == "done"
        assert (ran.searches, min(1, len(hearer.heard))) == (18, notices)


@has_compaction
def test_a_loop_across_compactions_is_stopped():
    ran = Ran()
    agent = made_agent(Script(same(times=12)), ran, client=Windowed)
    assert MODES["async"](agent).text.startswith("Stopped:")
    assert ran.searches == 4


def test_nothing_is_forgotten_where_the_service_keeps_the_conversation():
    ran, hearer = Ran(), Hearer()
    MODES["async"](made_agent(read_twice(), ran, client=Serving, observers=[hearer]))
    assert (ran.searches, bool(hearer.heard)) == (18, True)


def test_guards_of_different_detectors_may_watch_one_agent():
    ran = Ran()
    watching, blocking = LoopGuard(**stopping()), LoopGuard(**BLOCK)
    agent = Agent(
        ScriptedClient(Script(same()), ran),
        tools=functions(Script(()), ran),
        middleware=[*watching.middleware, *blocking.middleware],
    )
    MODES["async"](agent)
    assert (ran.searches, ran.asked) == (3, 3)


def test_observers_hear_of_which_session():
    hearer, session = Hearer(), AgentSession(session_id="session-1")
    agent = made_agent(Script(same()), Ran(), **stopping(observers=[hearer]))
    asyncio.run(agent.run("Go", session=session))
    # Older versions do not say which session a request belongs to.
    names_session = "session" in inspect.signature(ChatContext).parameters
    assert hearer.runs == (["session-1"] if names_session else [""])


def test_a_guard_may_stand_at_a_client():
    ran, script = Ran(), Script(same())
    client = ScriptedClient(script, ran, middleware=LoopGuard(**stopping()).middleware)
    options = {"tools": functions(script, ran)}

    async def awaited():
        await client.get_response([Message("user", ["Go"])], options=options)

    asyncio.run(awaited())
    assert ran.searches == 3


class Thinking(ScriptedClient):
    """Streams thoughts piece by piece, then an answer."""

    def _inner_get_response(self, *, messages, stream, options, **more):
        async def updates():
            for piece in self.script:
                content = Content.from_text_reasoning(text=piece)
                yield ChatResponseUpdate(contents=[content], role="assistant")
            yield ChatResponseUpdate(contents=[Content.from_text("done")], role="assistant")

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def streamed(pieces, **options):
    """Stream a run; return the words that came, and the whole response."""

    async def read():
        agent = Agent(Thinking(pieces, Ran()), middleware=LoopGuard(**options).middleware)
        stream = agent.run("Go", stream=True)
        words = "".join([update.text async for update in stream])
        return words, await stream.get_final_response()

    return asyncio.run(read())


class TestThoughts(ThoughtsContract):
    def answer(self, pieces, **options):
        words, response = streamed(pieces, **options)
        assert words == response.text
        return words


def test_a_stream_that_is_heard_to_its_end_is_kept_as_it_came():
    _, response = streamed(iter(FORWARD))
    kinds = [content.type for message in response.messages for content in message.contents]
    assert kinds == ["text_reasoning", "text"]
