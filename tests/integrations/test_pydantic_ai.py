"""The contract with Pydantic AI's own agent, and what is special about it."""

import asyncio
import json
from dataclasses import replace

import pytest
from contract import (
    FORWARD,
    IN_CIRCLES,
    SAME,
    Contract,
    Hearer,
    Ran,
    Script,
    ThoughtsContract,
    detector,
    functions,
    read_twice,
    same,
)

pytest.importorskip("pydantic_ai", reason="needs the extra 'pydantic-ai'")

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelRetry,
    NativeOutput,
    ToolReturn,
    capture_run_messages,
)
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    NativeToolCallPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

from antiloop import LoopDetectedError, LoopPolicy
from antiloop.integrations import pydantic_ai
from antiloop.integrations.pydantic_ai import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._messages import NOTICE_MARKER

pytestmark = pytest.mark.usefixtures("thread_loop")


def scripted_model(script, ran):
    """Say what a script says; which reply it is, is read off the conversation."""

    def calls_of(messages):
        ran.asked += 1
        ran.seen[:] = [
            str(part.content)
            for message in messages
            if message.kind == "request"
            for part in message.parts
        ]
        number = sum(isinstance(each, ModelResponse) for each in messages)
        calls = script.reply(number, ran.seen)
        return calls, script.text(number, calls)

    def reply(messages, info):
        calls, text = calls_of(messages)
        parts = [
            ToolCallPart(name, arguments, f"call-{at}")
            for at, (name, arguments) in enumerate(calls)
        ]
        return ModelResponse(parts=[*([TextPart(text)] if text else []), *parts])

    async def stream(messages, info):
        calls, text = calls_of(messages)
        if text:
            yield text
        for at, (name, arguments) in enumerate(calls):
            yield {at: DeltaToolCall(name, json.dumps(arguments), tool_call_id=f"call-{at}")}

    return FunctionModel(reply, stream_function=stream)


def made_agent(script, ran, *, output_type=str, **options):
    agent = Agent(
        scripted_model(script, ran), output_type=output_type, capabilities=[LoopGuard(**options)]
    )

    for function in functions(script, ran):
        agent.tool_plain(function)
    return agent


async def drain(agent):
    async with agent.run_stream("Go") as run:
        return await run.get_output()


async def handled(agent):
    """Stream a run to its end: `run_stream` takes words beside calls for the final answer."""

    async def drain_events(ctx, events):
        async for _ in events:
            pass

    return (await agent.run("Go", event_stream_handler=drain_events)).output


MODES = {
    "sync": lambda agent: agent.run_sync("Go"),
    "async": lambda agent: asyncio.run(agent.run("Go")),
    "stream": lambda agent: asyncio.run(drain(agent)),
}


class TestPydanticAI(Contract):
    name = "pydantic_ai"

    def carry_out(self, mode, script, ran, **options):
        agent = made_agent(script, ran, **options)
        if mode == "stream" and script.says:
            asyncio.run(handled(agent))
        else:
            MODES[mode](agent)

    def talk(self, script, ran, **options):
        agent, messages = made_agent(script, ran, **options), []

        def speak():
            messages[:] = agent.run_sync("Go", message_history=messages).all_messages()

        return speak

    def begin(self, store, script, **options):
        with capture_run_messages() as messages:
            try:
                made_agent(script, Ran(), **options).run_sync("Go")
            finally:
                store.write_bytes(ModelMessagesTypeAdapter.dump_json(messages))

    def go_on(self, store, script, ran, **options):
        messages = ModelMessagesTypeAdapter.validate_json(store.read_bytes())
        made_agent(script, ran, **options).run_sync(message_history=messages)


class Answer(BaseModel):
    days: int


def guarded(reply, policy, *, searched=None, output_type=str, retries=1, **options):
    """Make an agent whose model calls `reply(number, info)`, with one tool."""

    def answer(messages, info):
        number = sum(isinstance(each, ModelResponse) for each in messages)
        return ModelResponse(parts=[reply(number, info)])

    guard = LoopGuard(detector=detector(policy), **options)
    agent = Agent(
        FunctionModel(answer), output_type=output_type, retries=retries, capabilities=[guard]
    )

    @agent.tool_plain
    def search(query: str) -> str:
        if searched is not None:
            searched.append(query)
        return "nothing found"

    return agent


def search(number, info):
    return ToolCallPart(*SAME)


def three_searches_then(*parts):
    return lambda number, info: ToolCallPart(*SAME) if number < 3 else parts[number - 3]


def test_iter_is_guarded_too():
    async def walk():
        async with guarded(search, LoopPolicy.STOP).iter("Go") as run:
            nodes = [node async for node in run]
        return len(nodes), run.result.output

    nodes, output = asyncio.run(walk())
    assert nodes == 10
    assert output.startswith("Stopped: the agent was stuck in a loop. Tool 'search' was called 3")


def test_a_notice_is_not_stored():
    agent = guarded(three_searches_then(TextPart("done")), LoopPolicy.INJECT_MESSAGE)
    assert NOTICE_MARKER not in agent.run_sync("Go").all_messages_json().decode()


def test_a_refusal_is_a_failure_that_costs_no_retry():
    ran = Ran()
    agent = made_agent(Script(same()), ran, detector=detector(Escalation(("block",))))
    outcomes = [
        part.outcome
        for message in agent.run_sync("Go").all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert outcomes == ["success"] * 3 + ["failed"] * 3


def test_refusals_end_no_run_that_may_not_retry():
    agent = guarded(
        lambda number, info: ToolCallPart(*SAME) if number < 6 else TextPart("done"),
        Escalation(("block",)),
        retries=0,
    )
    assert agent.run_sync("Go").output == "done"


def test_a_stopped_run_can_be_gone_on_with():
    agent = guarded(search, LoopPolicy.STOP)
    stopped = agent.run_sync("Go")
    history = ModelMessagesTypeAdapter.validate_json(stopped.all_messages_json())
    again = agent.run_sync("Look once more", message_history=history)
    calls = [
        part
        for each in again.new_messages()
        for part in each.parts
        if part.part_kind == "tool-call"
    ]
    assert len(calls) == 3


def test_a_conversation_can_be_judged_across_turns():
    agent = guarded(search, LoopPolicy.STOP, across_turns=True)
    history = agent.run_sync("Go").all_messages()
    assert agent.run_sync("Look once more", message_history=history).usage.tool_calls == 1


def test_calls_that_wait_in_a_history_are_refused():
    searched = []
    agent = guarded(
        three_searches_then(ToolCallPart(*SAME)), Escalation(("block",)), searched=searched
    )
    with capture_run_messages() as messages, pytest.raises(IndexError):
        agent.run_sync("Go")
    assert len(searched) == 3
    waiting = [each for each in messages if each.kind == "response"][-1]
    with pytest.raises(IndexError):
        agent.run_sync(message_history=messages[: messages.index(waiting) + 1])
    assert len(searched) == 3


def test_without_a_text_to_end_with_stop_raises():
    agent = guarded(search, LoopPolicy.STOP, output_type=Answer)
    with pytest.raises(LoopDetectedError, match="'search' was called 3 times"):
        agent.run_sync("Go")


def test_where_text_is_one_of_the_outputs_stop_ends_with_it():
    result = guarded(search, LoopPolicy.STOP, output_type=[Answer, str]).run_sync("Go")
    assert result.output.startswith("Stopped:")


def test_a_final_answer_that_is_refused_again_and_again_is_no_loop():
    def reply(number, info):
        return ToolCallPart(info.output_tools[0].name, {"days": 7 if number > 4 else "?"})

    agent = guarded(reply, LoopPolicy.RAISE, output_type=Answer, retries=5)
    assert agent.run_sync("Go").output == Answer(days=7)


def test_a_round_is_judged_once_where_the_final_answer_is_retried():
    told, hearer = [], Hearer()

    def reply(number, info):
        told.append(number)
        if number < 3:
            return ToolCallPart(*SAME)
        return ToolCallPart(info.output_tools[0].name, {"days": 7 if number > 3 else "?"})

    agent = guarded(reply, LoopPolicy.INJECT_MESSAGE, output_type=Answer, observers=[hearer])
    assert agent.run_sync("Go").output == Answer(days=7)
    assert (told, hearer.heard) == ([0, 1, 2, 3, 4], ["repeat"])


def test_a_round_is_judged_once_where_a_text_is_retried():
    hearer = Hearer()
    agent = guarded(
        three_searches_then(TextPart("perhaps"), TextPart("seven days")),
        LoopPolicy.INJECT_MESSAGE,
        observers=[hearer],
    )

    @agent.output_validator
    def is_sure(text: str) -> str:
        if text == "perhaps":
            raise ModelRetry("Be sure.")
        return text

    assert agent.run_sync("Go").output == "seven days"
    assert hearer.heard == ["repeat"]


def test_a_round_is_judged_once_where_the_provider_pauses_after_it():
    hearer = Hearer()
    agent = guarded(
        three_searches_then(TextPart("done"), TextPart("done")),
        LoopPolicy.INJECT_MESSAGE,
        observers=[hearer],
    )
    *history, last = agent.run_sync("Go").all_messages()
    paused = replace(last, parts=[NativeToolCallPart("web_search", {})], state="suspended")
    agent.run_sync(message_history=[*history, paused])
    assert hearer.heard == ["repeat"]


@pytest.mark.parametrize("kept", [2, 5])
def test_what_a_processor_takes_out_of_the_history_is_remembered(kept):
    searched = []
    agent = guarded(search, Escalation(), searched=searched)
    trimmed = ProcessHistory(lambda messages: messages[-kept:])
    assert agent.run_sync("Go", capabilities=[trimmed]).output.startswith("Stopped:")
    assert len(searched) == 4


@pytest.mark.parametrize(("kept", "notices"), [(5, 0), (99, 1)])
def test_what_is_read_again_after_it_left_the_history_is_no_loop(kept, notices):
    ran, hearer, script = Ran(), Hearer(), read_twice()
    said = iter(range(99))

    def reply(messages, info):
        calls = script.reply(next(said), [])
        return ModelResponse(parts=[ToolCallPart(*call) for call in calls] or [TextPart("done")])

    trimmed = ProcessHistory(lambda messages: messages[-kept:])
    agent = Agent(FunctionModel(reply), capabilities=[trimmed, LoopGuard(observers=[hearer])])
    for function in functions(script, ran):
        agent.tool_plain(function)
    assert agent.run_sync("Go").output == "done"
    assert (ran.searches, min(1, len(hearer.heard))) == (18, notices)


def test_a_request_that_others_send_again_holds_the_notice_again():
    told, hearer = [], Hearer()

    class Again(AbstractCapability):
        async def wrap_model_request(self, ctx, *, request_context, handler):
            try:
                return await handler(request_context)
            except ConnectionError:
                return await handler(request_context)

    def reply(messages, info):
        told.append(NOTICE_MARKER in str(messages[-1].parts))
        if told == [False, False, False, True]:
            raise ConnectionError
        return ModelResponse(parts=[TextPart("done") if told[-1] else ToolCallPart(*SAME)])

    guard = LoopGuard(detector(LoopPolicy.INJECT_MESSAGE), observers=[hearer])
    agent = Agent(FunctionModel(reply), capabilities=[Again(), guard])
    agent.tool_plain(lambda query: "nothing found", name="search")
    try:
        assert agent.run_sync("Go").output == "done"
    except UserError as error:
        pytest.skip(f"this version sends a request once: {error}")
    assert (told, hearer.heard) == ([False, False, False, True, True], ["repeat"])


def test_nothing_of_a_run_stays_in_a_guard():
    guard = LoopGuard(detector(LoopPolicy.STOP))
    before = dict(vars(guard))
    agent = Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[ToolCallPart(*SAME)])),
        output_type=[Answer, str],
        capabilities=[guard],
    )
    agent.tool_plain(lambda query: "nothing found", name="search")
    for _ in range(2):
        assert agent.run_sync("Go").usage.tool_calls == 3
    assert vars(guard) == before


@pytest.mark.parametrize(("pictures", "shots"), [("aaaaaa", 3), ("abcdef", 6)])
def test_a_tool_that_shows_pictures_is_judged_by_them(pictures, shots):
    taken = list(pictures)

    def screenshot():
        picture = BinaryContent(taken.pop(0).encode(), media_type="image/png")
        return ToolReturn("The screen:", content=[picture])

    def reply(messages, info):
        return ModelResponse(parts=[ToolCallPart("screenshot") if taken else TextPart("done")])

    guard = LoopGuard(detector(LoopPolicy.STOP))
    agent = Agent(FunctionModel(reply), tools=[screenshot], capabilities=[guard])
    agent.run_sync("Go")
    assert len(pictures) - len(taken) == shots


def thinking_agent(pieces, *, output_type=str, **options):
    async def stream(messages, info):
        for piece in pieces:
            yield {0: DeltaThinkingPart(content=piece)}
        yield "done"

    model = FunctionModel(stream_function=stream)
    return Agent(model, output_type=output_type, capabilities=[LoopGuard(**options)])


leaves_streams = pytest.mark.skipif(
    not pydantic_ai._can_leave_streams(), reason="this version cannot leave a stream"
)


@leaves_streams
class TestThoughts(ThoughtsContract):
    def answer(self, pieces, **options):
        return asyncio.run(drain(thinking_agent(pieces, **options)))


@leaves_streams
class TestThoughtsWithAHandler(ThoughtsContract):
    def answer(self, pieces, **options):
        return asyncio.run(handled(thinking_agent(pieces, **options)))


@leaves_streams
def test_where_words_are_no_output_a_model_that_thinks_in_circles_raises():
    pieces = iter(IN_CIRCLES)
    agent = thinking_agent(pieces, output_type=NativeOutput(Answer))
    with pytest.raises(LoopDetectedError, match="What the model thinks repeats itself"):
        asyncio.run(handled(agent))
    assert len(list(pieces)) > 30


def test_a_run_is_not_streamed_for_its_thoughts():
    def reply(messages, info):
        return ModelResponse(parts=[ThinkingPart("".join(IN_CIRCLES)), TextPart("done")])

    agent = Agent(FunctionModel(reply), capabilities=[LoopGuard()])
    assert agent.run_sync("Go").output == "done"


def test_a_run_that_is_cancelled_while_it_thinks_is_cancelled():
    async def cancelled():
        def pieces():
            for piece in FORWARD:
                task.cancel()
                yield piece

        task = asyncio.ensure_future(handled(thinking_agent(pieces())))
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("version", "can_leave"),
    [("2.16.0", False), ("2.54.9", False), ("2.55.0", True), ("2.100.1", True), ("3.0b1", True)],
)
def test_the_version_says_whether_a_stream_can_be_left(monkeypatch, version, can_leave):
    monkeypatch.setattr(pydantic_ai, "__version__", version)
    assert pydantic_ai._can_leave_streams() is can_leave


def test_a_version_that_cannot_leave_a_stream_reads_it_to_its_end(monkeypatch):
    monkeypatch.setattr(pydantic_ai, "__version__", "2.54.9")
    assert asyncio.run(handled(thinking_agent(iter(IN_CIRCLES)))) == "done"
