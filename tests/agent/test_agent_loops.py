"""What happens to a run that is stuck, by policy."""

import asyncio
import pickle

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AsyncAgentObserver,
    BaseDetector,
    LoopDetectedError,
    LoopDetection,
    LoopDetector,
    LoopMonitor,
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    Role,
    RunStatus,
    ScriptedProvider,
    StallDetector,
    StepType,
    ToolCall,
    tool,
)
from antiloop.agent import LoopDetected, ModelReplied, RunFinished, ToolFinished
from antiloop.loop_detection import Escalation, LoopAction, LoopVerdict, ToolPolicy
from antiloop.testing import repeating_script

CALL = ToolCall("look", {"at": "a"})
OTHER = ToolCall("look", {"at": "b"})
REPEAT = RepeatDetector(3)


class Desk:
    """A tool that counts, so that a test sees which calls ran."""

    def __init__(self) -> None:
        self.seen = []

    def look(self, at: str) -> str:
        self.seen.append(at)
        return f"nothing at {at}"


class Ears(AgentObserver, AsyncAgentObserver):
    def __init__(self) -> None:
        self.heard = []

    def on_tool_loop_detected(self, run_id, detector_name, details):
        self.heard.append(("sync", run_id, detector_name, details))

    async def a_on_tool_loop_detected(self, run_id, detector_name, details):
        await asyncio.sleep(0)
        self.heard.append(("async", run_id, detector_name, details))


async def last_of(agent: Agent):
    events = [event async for event in agent.astream("Go")]
    assert isinstance(events[-1], RunFinished)
    return events[-1].result


ENTRIES = {
    "run": lambda agent: agent.run("Go"),
    "arun": lambda agent: asyncio.run(agent.arun("Go")),
    "astream": lambda agent: asyncio.run(last_of(agent)),
}


@pytest.fixture(params=list(ENTRIES))
def go(request):
    return ENTRIES[request.param]


@pytest.fixture
def desk():
    return Desk()


def agent_of(desk, script, policy, detectors=(REPEAT,), **config):
    detector = LoopDetector(list(detectors), policy)
    return Agent(
        [desk.look], ScriptedProvider(script), AgentConfig(loop_detector=detector, **config)
    )


def test_without_a_detector_nothing_is_detected(go, desk):
    result = go(Agent([desk.look], ScriptedProvider(repeating_script(CALL, times=20))))
    assert (result.status, len(desk.seen), result.detection) == (RunStatus.COMPLETED, 20, None)


def test_raise_is_the_default_and_carries_what_was_achieved(go, desk):
    config = AgentConfig(loop_detector=LoopDetector.default())
    agent = Agent([desk.look], ScriptedProvider(repeating_script(CALL, times=9)), config)
    with pytest.raises(LoopDetectedError) as caught:
        go(agent)
    error = caught.value
    assert error.detector == "repeat"
    assert error.detection.detector_name == "repeat"
    assert error.partial_result.status is RunStatus.LOOP_DETECTED
    assert len(error.partial_result.tool_calls) == 3
    assert error.trace.steps[-1].type is StepType.GRAPH_LOOP_DETECTED
    assert error.trace == error.partial_result.trace


def test_the_raised_error_survives_pickling(desk):
    with pytest.raises(LoopDetectedError) as caught:
        agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.RAISE).run("Go")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.partial_result == caught.value.partial_result
    assert str(copy) == str(caught.value)


def test_one_round_short_of_the_threshold_is_no_loop(go, desk):
    result = go(agent_of(desk, repeating_script(CALL, times=2), LoopPolicy.RAISE))
    assert result.status is RunStatus.COMPLETED


def test_stop_ends_the_run_with_what_was_achieved(go, desk):
    result = go(agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.STOP))
    assert (result.status, result.iterations) == (RunStatus.LOOP_DETECTED, 3)
    assert result.detection.detector_name == "repeat"
    assert [step.type for step in result.trace.steps][-2:] == [
        StepType.GRAPH_LOOP_DETECTED,
        StepType.RUN_END,
    ]


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER])
def test_a_notice_comes_once_after_the_results_in_the_detectors_role(go, desk, role):
    detector = LoopDetector([RepeatDetector(3)], LoopPolicy.INJECT_MESSAGE, notice_role=role)
    script = [[CALL, ToolCall("look", {"at": str(number)})] for number in range(5)]
    provider = ScriptedProvider([*script, "Done."])
    result = go(Agent([desk.look], provider, AgentConfig(loop_detector=detector)))
    assert result.status is RunStatus.COMPLETED
    notices = [at for at, message in enumerate(result.messages) if "[antiloop]" in message.content]
    assert len(notices) == 1
    assert result.messages[notices[0]].role is role
    before = [message.role for message in result.messages[notices[0] - 3 : notices[0]]]
    assert before == [Role.ASSISTANT, Role.TOOL, Role.TOOL]
    [step] = result.trace.of_type(StepType.NOTICE_INJECTED)
    assert step.summary == "The model received a notice about the loop."
    assert step.data["text"] == result.messages[notices[0]].content


def test_a_block_refuses_the_loops_call_and_runs_the_others(go, desk):
    script = [CALL, CALL, CALL, [CALL, OTHER], "Done."]
    ladder = Escalation((LoopAction.BLOCK,))
    result = go(agent_of(desk, script, ladder))
    assert result.status is RunStatus.COMPLETED
    assert desk.seen == ["a", "a", "a", "b"]
    refused, allowed = result.tool_results[-2:]
    assert refused.is_error
    assert refused.text.startswith("[antiloop] Refused:")
    assert (allowed.text, allowed.is_error) == ("nothing at b", False)
    assert [call.arguments["at"] for call in result.tool_calls] == ["a", "a", "a", "a", "b"]
    assert not result.trace.of_type(StepType.NOTICE_INJECTED)
    assert all(message.role is not Role.SYSTEM for message in result.messages)


def test_a_run_that_goes_on_after_a_block_is_stopped(go, desk):
    result = go(agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.BLOCK))
    assert (result.status, result.iterations) == (RunStatus.LOOP_DETECTED, 4)
    assert desk.seen == ["a", "a", "a"]


def test_the_ladder_is_climbed_step_by_step(go, desk):
    result = go(agent_of(desk, repeating_script(CALL, times=20), Escalation()))
    steps = result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
    assert [step.data["action"] for step in steps] == ["notify", "block", "stop"]
    assert result.status is RunStatus.LOOP_DETECTED


def test_a_stall_has_its_own_kind_of_step(go, desk):
    script = [ToolCall("peek", {"at": str(number)}) for number in range(9)]

    def peek(at: str) -> str:
        return "404"

    config = AgentConfig(loop_detector=LoopDetector([StallDetector(3)], LoopPolicy.STOP))
    result = go(Agent([peek], ScriptedProvider(script), config))
    [step] = result.trace.of_type(StepType.GRAPH_STALL)
    assert not result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
    assert "peek" in step.summary


def test_the_step_can_be_read_by_a_person_and_holds_details_and_action(go, desk):
    result = go(agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.STOP))
    [step] = result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
    assert step.summary == result.detection.message
    assert step.data["action"] == "stop"
    assert step.data["details"] == dict(result.detection.details)


@pytest.mark.parametrize("policy", list(LoopPolicy))
def test_observers_of_both_kinds_hear_of_a_loop(go, desk, policy):
    ears = Ears()
    agent = agent_of(desk, repeating_script(CALL, times=3), policy, observers=[ears])
    try:
        run_id = go(agent).run_id
    except LoopDetectedError as error:
        run_id = error.partial_result.run_id
    assert [(kind, run, name) for kind, run, name, _ in ears.heard] == [
        ("sync", run_id, "repeat"),
        ("async", run_id, "repeat"),
    ]
    assert ears.heard[0][3]["tool"] == "look"


async def test_the_stream_tells_of_the_loop_with_the_action(desk):
    agent = agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.STOP)
    events = [event async for event in agent.astream("Go")]
    [found] = [event for event in events if isinstance(event, LoopDetected)]
    assert (found.detector_name, found.action) == ("repeat", LoopAction.STOP)
    detection = events[-1].result.detection
    assert (found.message, found.details) == (detection.message, detection.details)
    assert events.index(found) == len(events) - 2


async def test_the_stream_carries_replies_and_results_whole(desk):
    agent = agent_of(desk, [CALL, [OTHER, ToolCall("lok")], "Done."], LoopPolicy.STOP)
    events = [event async for event in agent.astream("Go")]
    replies = [event.reply for event in events if isinstance(event, ModelReplied)]
    assert [(reply.text, len(reply.tool_calls)) for reply in replies] == [
        ("", 1),
        ("", 2),
        ("Done.", 0),
    ]
    ended = [(event.call, event.result) for event in events if isinstance(event, ToolFinished)]
    result = events[-1].result
    assert ended == list(zip(result.tool_calls, result.tool_results))
    assert [each.is_error for _, each in ended] == [False, False, True]


def test_the_trace_tells_how_a_run_began_and_ended(go, desk):
    result = go(agent_of(desk, [CALL, "Done."], LoopPolicy.STOP))
    first, last = result.trace.steps[0], result.trace.steps[-1]
    assert (first.type, first.summary) == (StepType.RUN_START, "The run began.")
    assert dict(first.data) == {"messages": 1}
    assert (last.type, last.summary) == (StepType.RUN_END, "The run ended: completed.")
    assert dict(last.data) == {"status": "completed"}


@pytest.mark.parametrize(
    "call",
    [ToolCall("lok"), ToolCall("look", {"at": 1}), ToolCall("look", "{"), ToolCall("crash")],
    ids=["unknown tool", "invalid arguments", "no JSON", "tool error"],
)
def test_calls_that_fail_count_like_any_call(go, desk, call):
    def crash() -> None:
        raise RuntimeError("boom")

    config = AgentConfig(loop_detector=LoopDetector([RepeatDetector(3)], LoopPolicy.STOP))
    provider = ScriptedProvider(repeating_script(call, times=9))
    result = go(Agent([desk.look, crash], provider, config))
    assert (result.status, result.iterations) == (RunStatus.LOOP_DETECTED, 3)


def test_retries_of_structured_output_never_reach_the_check(go, desk):
    schema = {"type": "object"}
    agent = agent_of(
        desk, ["bad"] * 6 + ["{}"], LoopPolicy.RAISE, [Always()], max_structured_retries=6
    )
    assert agent.run("Go", response_format=schema).output == {}


def test_iterations_and_loops_are_counted_apart(go, desk):
    agent = agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.STOP, max_iterations=2)
    assert go(agent).status is RunStatus.MAX_ITERATIONS
    agent = agent_of(desk, repeating_script(CALL, times=9), LoopPolicy.STOP, max_iterations=3)
    assert go(agent).status is RunStatus.LOOP_DETECTED


def test_the_duplicates_of_one_reply_are_one_round(go, desk):
    result = go(agent_of(desk, [[CALL] * 5, "Done."], LoopPolicy.RAISE))
    assert result.status is RunStatus.COMPLETED


def test_a_cycle_of_parallel_calls_is_found(go, desk):
    script = [[CALL], [OTHER]] * 5
    result = go(agent_of(desk, script, LoopPolicy.STOP, [PingPongDetector(2, 3)]))
    assert (result.detection.detector_name, result.iterations) == ("ping_pong", 6)


def test_each_run_of_an_agent_begins_anew(desk):
    agent = agent_of(desk, [CALL, CALL, "Done."], LoopPolicy.RAISE)
    assert [agent.run("Go").status for _ in range(3)] == [RunStatus.COMPLETED] * 3


class Always(BaseDetector):
    name = "always"

    def check(self, tool_calls, tool_results):
        return LoopDetection("always", f"{len(tool_calls)} calls", {"odd": {1}}, identity="x")


class Raising(BaseDetector):
    name = "raising"

    def check(self, tool_calls, tool_results):
        raise RuntimeError("broken")


def test_a_detector_of_the_users_own_works_and_its_details_become_plain(go, desk):
    ears = Ears()
    result = go(agent_of(desk, [CALL], LoopPolicy.STOP, [Always()], observers=[ears]))
    assert result.detection.detector_name == "always"
    assert ears.heard[0][3] == {"odd": [1]}


def test_a_detector_that_raises_harms_nothing(go, desk, caplog):
    result = go(agent_of(desk, [CALL, "Done."], LoopPolicy.RAISE, [Raising()]))
    assert result.status is RunStatus.COMPLETED
    assert "raising" in caplog.text


class EndingMonitor(LoopMonitor):
    """Ends the run before the calls of the second round run."""

    action = LoopAction.STOP

    def before(self, call):
        if self.call_count < 1 or call.arguments["at"] != "a":
            return LoopVerdict()
        return LoopVerdict(self.action, LoopDetection("early", "Too much of it."))


class EndingDetector(LoopDetector):
    def monitor(self, tools=None, **options):
        return EndingMonitor(self, tools or {}, **options)


@pytest.mark.parametrize("action", [LoopAction.STOP, LoopAction.RAISE])
def test_a_verdict_before_the_calls_may_end_the_run(go, desk, action, monkeypatch):
    monkeypatch.setattr(EndingMonitor, "action", action)
    config = AgentConfig(loop_detector=EndingDetector([RepeatDetector(9)]))
    agent = Agent([desk.look], ScriptedProvider([CALL, [OTHER, CALL], "Done."]), config)
    if action is LoopAction.STOP:
        result = go(agent)
    else:
        with pytest.raises(LoopDetectedError, match="Too much of it") as caught:
            go(agent)
        result = caught.value.partial_result
    assert result.status is RunStatus.LOOP_DETECTED
    assert desk.seen == ["a"]
    assert len(result.tool_results) == len(result.tool_calls) == 3
    assert all(each.text.startswith("[antiloop] Refused:") for each in result.tool_results[1:])
    assert [each.is_error for each in result.tool_results] == [False, True, True]


class Silent(LoopMonitor):
    """Finds something and has no words for the model."""

    def after(self, tool_calls, tool_results):
        return LoopVerdict(LoopAction.NOTIFY, LoopDetection("quiet", "Hm."))


class SilentDetector(LoopDetector):
    def monitor(self, tools=None, **options):
        return Silent(self, tools or {}, **options)


def test_a_notice_without_words_is_none(go, desk):
    config = AgentConfig(loop_detector=SilentDetector([RepeatDetector(3)]))
    result = go(Agent([desk.look], ScriptedProvider([CALL, "Done."]), config))
    assert result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
    assert not result.trace.of_type(StepType.NOTICE_INJECTED)
    assert [message.role for message in result.messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
    ]


def test_what_a_tool_declares_overrules_what_is_inferred(go):
    @tool(exempt=True)
    def wait() -> str:
        return "still the same"

    config = AgentConfig(loop_detector=LoopDetector.default())
    script = repeating_script(ToolCall("wait"), times=9)
    assert go(Agent([wait], ScriptedProvider(script), config)).status is RunStatus.COMPLETED


def test_the_detectors_own_declaration_wins_over_the_tools(go):
    @tool(exempt=True)
    def wait() -> str:
        return "still the same"

    detector = LoopDetector([REPEAT], LoopPolicy.STOP, tools={"wait": ToolPolicy()})
    script = repeating_script(ToolCall("wait"), times=9)
    agent = Agent([wait], ScriptedProvider(script), AgentConfig(loop_detector=detector))
    assert go(agent).status is RunStatus.LOOP_DETECTED


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([CALL], id="one call"),
        pytest.param([CALL, OTHER], id="two calls in one reply"),
    ],
)
def test_a_model_that_ignores_everything_is_stopped_soon(go, desk, calls):
    config = AgentConfig(loop_detector=LoopDetector.escalating(), max_iterations=50)
    result = go(Agent([desk.look], ScriptedProvider([calls] * 40), config))
    assert result.status is RunStatus.LOOP_DETECTED
    assert len(desk.seen) == 4 * len(calls)
    assert result.iterations <= 6


def test_a_model_that_listens_finishes_its_task(go, desk):
    def listening(request):
        told = any("[antiloop]" in message.content for message in request.messages)
        return "Done." if told else CALL

    config = AgentConfig(loop_detector=LoopDetector.escalating())
    result = go(Agent([desk.look], ScriptedProvider([listening] * 40), config))
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Done.")
    assert len(desk.seen) == 3


def test_a_shadow_detector_tells_everybody_and_does_nothing(go, desk):
    ears = Ears()
    detector = LoopDetector([REPEAT], Escalation(), shadow=True)
    config = AgentConfig(loop_detector=detector, observers=[ears])
    result = go(Agent([desk.look], ScriptedProvider(repeating_script(CALL, times=6)), config))
    assert (result.status, len(desk.seen), result.detection) == (RunStatus.COMPLETED, 6, None)
    steps = result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)
    assert [step.data["action"] for step in steps][:3] == ["notify", "block", "stop"]
    assert all(step.data["details"]["shadow"] for step in steps)
    assert not result.trace.of_type(StepType.NOTICE_INJECTED)
    assert len(ears.heard) == 2 * len(steps)
    assert all(details["shadow"] for *_, details in ears.heard)


def test_observers_hear_the_verdict_on_every_round(go, desk):
    class Gauge(AgentObserver):
        heard = ()

        def on_verdict(self, run_id, verdict):
            self.heard = (*self.heard, (verdict.action.value, verdict.suspicion))

    gauge = Gauge()
    script = repeating_script(CALL, times=6)
    go(agent_of(desk, script, LoopPolicy.STOP, [RepeatDetector(6)], observers=[gauge]))
    assert [action for action, _ in gauge.heard] == ["continue"] * 5 + ["stop"]
    assert 0 < gauge.heard[4][1] < gauge.heard[5][1] == 1
