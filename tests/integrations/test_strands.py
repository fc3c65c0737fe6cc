"""The contract with a Strands agent, and what is special about it."""

import asyncio
import json

import pytest
from contract import (
    CONCLUDE,
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
    last_words,
    read_twice,
    same,
    unheard,
)

pytest.importorskip("strands", reason="needs the extra 'strands'")

from strands import Agent, ModelRetryStrategy, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import AfterInvocationEvent
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ModelThrottledException

from antiloop import LoopDetectedError, LoopDetector, LoopPolicy, RepeatDetector
from antiloop.integrations._guard import WITHDRAWN
from antiloop.integrations.strands import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER


class ScriptedModel(Model):
    """Says what a script says; which reply it is, is read off the conversation."""

    def __init__(self, script, ran):
        self.script, self.ran = script, ran

    def update_config(self, **config):
        raise NotImplementedError

    def get_config(self):
        return {}

    def structured_output(self, *arguments, **options):
        raise NotImplementedError

    async def stream(self, messages, *arguments, **options):
        self.ran.asked += 1
        self.ran.seen[:] = [text for message in messages for text in texts_of(message)]
        number = sum(message["role"] == "assistant" for message in messages)
        calls = self.script.reply(number, self.ran.seen)
        yield {"messageStart": {"role": "assistant"}}
        text = self.script.text(number, calls)
        if text:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
        for position, (name, arguments) in enumerate(calls):
            use = {"name": name, "toolUseId": f"call-{number}-{position}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def texts_of(message):
    """Return the texts of a message, those in results too."""
    blocks = list(message["content"])
    blocks += [part for block in blocks for part in block.get("toolResult", {}).get("content", ())]
    return [block["text"] for block in blocks if "text" in block]


def made_agent(
    script,
    ran,
    *,
    hooks=(),
    model=ScriptedModel,
    session_manager=None,
    manager=None,
    messages=None,
    **options,
):
    return Agent(
        model(script, ran),
        tools=list(map(tool, functions(script, ran))),
        hooks=[*hooks, LoopGuard(**options)],
        session_manager=session_manager,
        callback_handler=None,
        agent_id="researcher",
        messages=messages,
        conversation_manager=manager,
        retry_strategy=ModelRetryStrategy(max_attempts=2, initial_delay=0),
    )


async def drain(agent):
    async for _ in agent.stream_async("Go"):
        pass


MODES = {
    "sync": lambda agent: agent("Go"),
    "async": lambda agent: asyncio.run(agent.invoke_async("Go")),
    "stream": lambda agent: asyncio.run(drain(agent)),
}


def stored(store, script, ran, **options):
    session = FileSessionManager("session-1", storage_dir=str(store))
    return made_agent(script, ran, session_manager=session, **options)


class TestStrands(Contract):
    name = "strands"

    def carry_out(self, mode, script, ran, **options):
        MODES[mode](made_agent(script, ran, **options))

    def talk(self, script, ran, **options):
        agent = made_agent(script, ran, **options)
        return lambda: agent("Go")

    def begin(self, store, script, **options):
        stored(store, script, Ran(), **options)("Go")

    def go_on(self, store, script, ran, **options):
        stored(store, script, ran, **options)()


class Counting(ScriptedModel):
    """Says what a script says, reply by reply, whatever the conversation is."""

    said = -1

    async def stream(self, messages, *arguments, **options):
        self.said += 1
        earlier = [{"role": "assistant", "content": []}] * self.said
        async for event in super().stream(earlier):
            yield event


class Throttled(ScriptedModel):
    """Breaks off once before each reply, as a busy service does."""

    busy = True

    async def stream(self, messages, *arguments, **options):
        self.busy = not self.busy
        if not self.busy:
            raise ModelThrottledException("come back later")
        async for event in super().stream(messages):
            yield event


def test_a_round_is_judged_once_however_often_the_model_must_be_asked():
    ran, hearer = Ran(), Hearer()
    options = {"detector": detector(LoopPolicy.INJECT_MESSAGE), "observers": [hearer]}
    made_agent(Script(same(times=3)), ran, model=Throttled, **options)("Go")
    assert sum(NOTICE_MARKER in text for text in ran.seen) == 1
    assert hearer.heard == ["repeat"]


def test_a_notice_comes_after_the_results_of_its_round():
    agent = made_agent(Script(same(), heeds=True), Ran(), detector=detector(Escalation()))
    agent("Go")
    *_, told, last = agent.messages
    assert ["toolResult" in block for block in told["content"]] == [True, False]
    assert NOTICE_MARKER in told["content"][-1]["text"]
    assert [message["role"] for message in agent.messages] == ["user", "assistant"] * 4
    assert last["content"] == [{"text": "done"}]


def test_a_stopped_run_ends_as_one_that_is_done():
    result = made_agent(Script(same()), Ran(), detector=detector(LoopPolicy.STOP))("Go")
    assert result.stop_reason == "end_turn"
    assert str(result).startswith("Stopped: the agent was stuck in a loop.")


@pytest.mark.parametrize("mode", MODES)
@last_words
def test_a_model_that_calls_instead_of_its_last_words_ends_all_the_same(mode, words, answer):
    ran = Ran()
    agent = made_agent(unheard(words), ran, detector=CONCLUDE)
    MODES[mode](agent)
    *_, refused, last = agent.messages
    assert last["content"][0]["text"].startswith(answer)
    assert texts_of(refused) == [WITHDRAWN]
    agent.messages.clear()
    MODES[mode](agent)
    assert ran.searches == 6  # the next run has its tools again


def test_an_ignored_tool_gives_the_last_words_their_form():
    ran = Ran()
    script = Script([[SAME], [SAME], [SAME], [("note", {"text": "It is not there."})]])
    made_agent(script, ran, detector=CONCLUDE, ignore=["note"])("Go")
    assert ran.tools == ["search"] * 3 + ["note"]


def test_a_refused_call_is_an_error_in_the_history():
    agent = made_agent(Script(same()), Ran(), detector=detector(Escalation(("block",))))
    agent("Go")
    results = [
        block["toolResult"]
        for message in agent.messages
        for block in message["content"]
        if "toolResult" in block
    ]
    assert [each["status"] for each in results] == ["success"] * 3 + ["error"] * 3
    assert results[-1]["content"][0]["text"].startswith(REFUSED_MARKER)


def test_an_error_leaves_when_the_run_is_over_and_its_history_is_whole():
    ended = []

    class Ending:
        def register_hooks(self, registry, **options):
            registry.add_callback(AfterInvocationEvent, lambda event: ended.append(event.result))

    ran = Ran()
    agent = made_agent(
        Script(same(times=3)), ran, hooks=[Ending()], detector=detector(LoopPolicy.RAISE)
    )
    with pytest.raises(LoopDetectedError):
        agent("Go")
    assert [result.stop_reason for result in ended] == ["end_turn"]
    assert agent.messages[-1]["content"][0]["text"].startswith("Stopped:")
    assert str(agent("Go on")) == "done\n"


def test_one_guard_serves_many_agents():
    guard, ran = LoopGuard(detector(LoopPolicy.STOP)), Ran()
    for _ in range(2):
        made_agent(Script(same(times=2)), ran, hooks=[guard])("Go")
    assert (ran.searches, ran.asked) == (4, 6)


def test_a_turn_of_the_user_begins_anew():
    ran = Ran()
    agent = made_agent(Script([[SAME], [SAME], (), [SAME], [SAME]]), ran)
    agent("Go")
    agent("Again")
    assert (ran.searches, str(agent.messages[-1]["content"][0]["text"])) == (4, "done")


def test_across_turns_each_round_is_still_judged_once():
    ran, hearer = Ran(), Hearer()
    options = {"detector": detector(LoopPolicy.STOP), "observers": [hearer], "across_turns": True}
    agent = made_agent(Script([[SAME], [SAME], (), [SAME], (), ()]), ran, **options)
    for words in ("Go", "Again", "And now?"):
        agent(words)
    assert (ran.searches, hearer.heard) == (3, ["repeat"])


def sliding(script, ran, **options):
    window = SlidingWindowConversationManager(window_size=4, per_turn=True)
    return made_agent(script, ran, manager=window, **options)


def test_a_history_that_is_shortened_before_each_request_hides_nothing():
    ran = Ran()
    agent = sliding(Script(same(times=12)), ran, model=Counting)
    agent("Go")
    assert len(agent.messages) <= 6
    assert str(agent.messages[-1]["content"][0]["text"]).startswith("Stopped:")
    assert ran.searches == 4


def test_what_is_read_again_after_it_left_the_window_is_no_loop():
    ran = Ran()
    agent = sliding(read_twice(), ran, model=Counting)
    agent("Go")
    assert ran.searches == 18
    assert not any(NOTICE_MARKER in text for text in ran.seen)
    assert str(agent.messages[-1]["content"][0]["text"]) == "done"


def test_what_is_known_travels_in_the_state_of_the_agent():
    first, ran = sliding(Script(same(times=2)), Ran(), model=Counting), Ran()
    first("Go")
    script = Script([[SAME]] * 9)
    later = sliding(script, ran, model=Counting, messages=first.messages[-2:-1], across_turns=True)
    for key, value in json.loads(json.dumps(first.state.get())).items():
        later.state.set(key, value)
    later("Go on")
    assert ran.searches < 4


@pytest.mark.parametrize("known", [None, 5, {}, {"window": {"version": 0}, "judged": []}])
def test_a_state_that_cannot_be_read_is_begun_anew(known):
    ran = Ran()
    agent = made_agent(Script(same()), ran)
    for key in [LoopGuard()._key]:
        agent.state.set(key, known)
    agent("Go")
    assert ran.searches == 4


def test_guards_with_other_thresholds_keep_their_states_apart():
    strict, loose = (
        LoopDetector([RepeatDetector(threshold)], Escalation(("notify", "stop")))
        for threshold in (2, 3)
    )
    assert repr(strict) == repr(loose)
    agent = made_agent(Script(same(times=2)), Ran(), hooks=[LoopGuard(loose)], detector=strict)
    agent("Go")
    states = agent.state.get()
    assert set(states) == {LoopGuard(strict)._key, LoopGuard(loose)._key}
    ladders = [json.dumps(each["window"]["ladder"]) for each in states.values()]
    assert ladders[0] != ladders[1]  # only one of them has found a loop


def test_observers_hear_of_which_agent():
    hearer = Hearer()
    options = {"detector": detector(LoopPolicy.STOP), "observers": [hearer]}
    made_agent(Script(same()), Ran(), **options)("Go")
    assert hearer.runs == ["researcher"]


def test_an_agent_that_knows_nothing_can_be_asked():
    assert str(made_agent(Script(()), Ran())()) == "done\n"


class ThinkingModel(ScriptedModel):
    """Streams thoughts piece by piece, then an answer."""

    async def stream(self, messages, *arguments, **options):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for piece in self.script:
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": piece}}}}
        yield {"contentBlockStop": {}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def thinking_agent(pieces, **options):
    guard = LoopGuard(**options)
    return Agent(ThinkingModel(pieces, Ran()), hooks=[guard], callback_handler=None)


hears_thoughts = pytest.mark.skipif(
    not hasattr(Agent, "add_middleware"), reason="no hook of this version hears what is streamed"
)


@hears_thoughts
class TestThoughts(ThoughtsContract):
    def answer(self, pieces, **options):
        return str(thinking_agent(pieces, **options)("Go")).strip()


@hears_thoughts
def test_an_agent_that_was_left_at_its_thoughts_can_be_asked_again():
    pieces = iter([*IN_CIRCLES, *FORWARD])
    agent = thinking_agent(pieces)
    assert agent("Go").stop_reason == "cancelled"
    unread = list(pieces)
    agent.model.script = iter(unread[-len(FORWARD) :])
    assert str(agent("Go on")).strip() == "done"
    (block,) = agent.messages[1]["content"]
    assert block["text"].startswith("Stopped: the agent was stuck in a loop. What the model thinks")
