"""The contract with an AG2 agent, and what is special about it."""

import asyncio
import json
import pickle

import pytest
from contract import (
    CONCLUDE,
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

pytest.importorskip("ag2", reason="needs the extra 'ag2'")

from ag2 import Agent, Context, MemoryStream
from ag2.events import (
    ModelMessage,
    ModelReasoning,
    ModelRequest,
    ModelResponse,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResultsEvent,
)
from ag2.middleware import BaseMiddleware
from ag2.testing import TestConfig

from antiloop import LoopPolicy
from antiloop.integrations.ag2 import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER


class ScriptedModel(TestConfig):
    """Says what a script says; which reply it is, is read off the conversation."""

    def __init__(self, script, ran):
        super().__init__()
        self.script, self.ran = script, ran

    def create(self):
        return self

    async def __call__(self, messages, context, **options):
        self.ran.asked += 1
        self.ran.seen[:] = [text for event in messages for text in texts_of(event)]
        number = sum(isinstance(event, ModelResponse) for event in messages)
        asked = self.script.reply(number, self.ran.seen)
        calls = [
            ToolCallEvent(name, arguments=json.dumps(arguments), id=f"call-{position}")
            for position, (name, arguments) in enumerate(asked)
        ]
        text = self.script.text(number, calls)
        return ModelResponse(ModelMessage(text) if text else None, tool_calls=ToolCallsEvent(calls))


def texts_of(event):
    """Give the texts that a model is sent for an event."""
    if isinstance(event, ModelRequest):
        return [part.content for part in event.parts]
    if isinstance(event, ToolResultsEvent):
        return [part.content for result in event.results for part in result.result.parts]
    return []


def made_agent(script, ran, *, model=ScriptedModel, middleware=(), tools=None, **options):
    return Agent(
        "researcher",
        config=model(script, ran),
        tools=tools or functions(script, ran),
        middleware=[*middleware, LoopGuard(**options)],
    )


async def streamed(agent):
    async with agent.run("Go") as run:
        run.start()
        return await run.result()


MODES = {
    "async": lambda agent: asyncio.run(agent.ask("Go")),
    "stream": lambda agent: asyncio.run(streamed(agent)),
}


class TestAG2(Contract):
    name = "ag2"

    def carry_out(self, mode, script, ran, **options):
        MODES[mode](made_agent(script, ran, **options))

    def talk(self, script, ran, **options):
        agent, stream = made_agent(script, ran, **options), MemoryStream()
        return lambda: asyncio.run(agent.ask("Go", stream=stream))

    def begin(self, store, script, **options):
        asyncio.run(kept(store, made_agent(script, Ran(), **options)))

    def go_on(self, store, script, ran, **options):
        events = pickle.loads(store.read_bytes())
        asyncio.run(made_agent(script, ran, **options).resume(*events))


async def kept(store, agent):
    """Keep what the conversation was when its turn ended, well or not."""
    stream = MemoryStream()
    try:
        await agent.ask("Go", stream=stream)
    finally:
        store.write_bytes(pickle.dumps(await told_on(stream)))


async def told_on(stream):
    """Give the conversation on a stream, without what led to it."""
    told = (ModelRequest, ModelResponse, ToolResultsEvent)
    return [event for event in await stream.history.get_events() if isinstance(event, told)]


STOP = {"detector": detector(LoopPolicy.STOP)}
BLOCK = {"detector": detector(Escalation(("block",)))}
NOTIFY = {"detector": detector(LoopPolicy.INJECT_MESSAGE)}


def events_after(agent):
    """Give the conversation after a turn."""

    async def asked():
        stream = MemoryStream()
        await agent.ask("Go", stream=stream)
        return await told_on(stream)

    return asyncio.run(asked())


def test_a_stopped_turn_ends_with_a_reply_that_says_why():
    reply = MODES["async"](made_agent(Script(same()), Ran(), **STOP))
    assert reply.body.startswith("Stopped: the agent was stuck in a loop. Tool 'search'")


@pytest.mark.parametrize("mode", MODES)
@last_words
def test_a_model_that_calls_instead_of_its_last_words_ends_all_the_same(mode, words, answer):
    reply = MODES[mode](made_agent(unheard(words), Ran(), detector=CONCLUDE))
    assert reply.body.startswith(answer)


def test_a_notice_is_sent_after_the_results_and_not_stored():
    ran = Ran()
    events = events_after(made_agent(Script(same(), heeds=True), ran, **NOTIFY))
    assert NOTICE_MARKER in ran.seen[-1]
    assert not any(NOTICE_MARKER in text for event in events for text in texts_of(event))
    assert events[-1].content == "done"


def test_the_words_of_a_refusal_are_the_result_of_a_call():
    events = events_after(made_agent(Script(same()), Ran(), **BLOCK))
    results = [text for event in events[1:] for text in texts_of(event)]
    assert [text.startswith(REFUSED_MARKER) for text in results] == [False] * 3 + [True] * 3


def test_a_turn_of_the_user_begins_anew():
    async def talk(agent):
        reply = await agent.ask("Go")
        await reply.ask("Again")

    ran = Ran()
    asyncio.run(talk(made_agent(Script([[SAME], [SAME], (), [SAME], [SAME]]), ran, **STOP)))
    assert ran.searches == 4


def test_across_turns_earlier_rounds_count():
    async def talk(agent):
        reply = await agent.ask("Go")
        return await reply.ask("Again")

    ran = Ran()
    script = Script([[SAME], [SAME], (), [SAME], [SAME]])
    reply = asyncio.run(talk(made_agent(script, ran, across_turns=True, **STOP)))
    assert (ran.searches, reply.body.partition(":")[0]) == (3, "Stopped")


class AskingTwice(BaseMiddleware):
    """Asks the model a second time, as a retry does."""

    async def on_llm_call(self, call_next, events, context):
        await call_next(events, context)
        return await call_next(events, context)


def test_a_round_is_judged_once_however_often_the_model_is_asked():
    ran, hearer = Ran(), Hearer()
    agent = made_agent(
        Script(same(times=3)), ran, middleware=[AskingTwice], observers=[hearer], **NOTIFY
    )
    MODES["async"](agent)
    assert (ran.asked, ran.searches, hearer.heard) == (8, 3, ["repeat"])


class Forgetting(BaseMiddleware):
    """Sends the model only its last reply and what came after, as a limit of the history does."""

    async def on_llm_call(self, call_next, events, context):
        replies = [at for at, event in enumerate(events) if isinstance(event, ModelResponse)]
        return await call_next(list(events)[max(replies, default=0) :], context)


class Counting(ScriptedModel):
    """Says what a script says, reply by reply, whatever the conversation is."""

    said = -1

    async def __call__(self, messages, context, **options):
        self.said += 1
        return await super().__call__([ModelResponse()] * self.said, context, **options)


def test_a_history_that_is_shortened_before_each_request_hides_nothing():
    ran = Ran()
    agent = made_agent(Script(same()), ran, model=Counting, middleware=[Forgetting], **STOP)
    MODES["async"](agent)
    assert ran.searches == 3


def test_what_is_read_again_after_it_left_the_history_is_no_loop():
    for middleware, notices in (([Forgetting], 0), ([], 1)):
        ran, hearer = Ran(), Hearer()
        agent = made_agent(
            read_twice(), ran, model=Counting, middleware=middleware, observers=[hearer]
        )
        MODES["async"](agent)
        assert (ran.searches, min(1, len(hearer.heard))) == (18, notices)


def test_a_turn_may_go_on_from_its_calls():
    ran, script = Ran(), Script(same(times=6))
    calls = [ToolCallEvent(SAME[0], arguments=json.dumps(SAME[1]), id="call-0")]
    rounds = events_after(made_agent(Script(same(times=3)), Ran(), **NOTIFY))[:-1]
    pending = [ModelResponse(tool_calls=ToolCallsEvent(calls)), ToolCallsEvent(calls)]
    asyncio.run(made_agent(script, ran, **BLOCK).resume(*rounds, *pending))
    assert ran.searches == 0


def test_what_a_user_adds_meanwhile_begins_anew():
    ran = Ran()

    def search(query: str, context: Context) -> str:
        """Search."""
        context.enqueue("Look in the other handbook, too.")
        return ran.answer(Script(()), "search")

    agent = made_agent(Script(same()), ran, tools=[search], **STOP)
    MODES["async"](agent)
    assert ran.searches == 6


def test_a_tool_that_fails_again_and_again_is_a_loop():
    def search(query: str) -> str:
        """Search."""
        ran.tools.append("search")
        raise ConnectionError("no route to the index")

    ran = Ran()
    MODES["async"](made_agent(Script(same()), ran, tools=[search], **STOP))
    assert ran.searches == 3


def test_runs_side_by_side_are_told_apart():
    async def both(agents):
        await asyncio.gather(*(agent.ask("Go") for agent in agents))

    rans, guard = [Ran(), Ran()], LoopGuard(**STOP)
    script = Script(same(times=2))
    agents = [
        Agent(
            "a", config=ScriptedModel(script, ran), tools=functions(script, ran), middleware=[guard]
        )
        for ran in rans
    ]
    asyncio.run(both(agents))
    assert [ran.searches for ran in rans] == [2, 2]


def test_observers_hear_of_which_stream():
    async def asked(agent):
        return await agent.ask("Go", stream=stream)

    hearer, stream = Hearer(), MemoryStream()
    asyncio.run(asked(made_agent(Script(same()), Ran(), observers=[hearer], **STOP)))
    assert hearer.runs == [str(stream.id)]


class ThinkingModel(ScriptedModel):
    """Streams thoughts piece by piece, then an answer."""

    async def __call__(self, messages, context, **options):
        for piece in self.script:
            await context.send(ModelReasoning(piece))
        return ModelResponse(ModelMessage("done"))


class TestThoughts(ThoughtsContract):
    def answer(self, pieces, **options):
        agent = Agent(
            "thinker", config=ThinkingModel(pieces, Ran()), middleware=[LoopGuard(**options)]
        )
        return asyncio.run(agent.ask("Go")).body
