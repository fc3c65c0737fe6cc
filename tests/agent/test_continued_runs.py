"""A run that is continued from its messages is in the loop that it was in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    Escalation,
    LoopDetectedError,
    LoopDetector,
    Message,
    Role,
    RunStatus,
    ScriptedProvider,
    StepType,
    ToolCall,
)
from antiloop.agent import ModelReply
from antiloop.exceptions import ProviderError


def search(query: str) -> str:
    """Search."""
    return f"Nothing about {query[0]}."


class Breaking:
    """A model that answers from a script, and cannot be reached at some of its requests."""

    def __init__(self, script, breaks=()):
        self.script = list(script)
        self.breaks = set(breaks)
        self.asked = 0

    def complete(self, request):
        number, self.asked = self.asked, self.asked + 1
        if number in self.breaks:
            self.breaks.discard(number)
            self.asked -= 1
            raise ProviderError("status 503")
        line = self.script[number] if number < len(self.script) else "done"
        return line if isinstance(line, ModelReply) else ModelReply(line)


def calls_of(*names, text=""):
    return ModelReply(text, tuple(ToolCall("search", {"query": name}) for name in names))


def run_on(provider, detector, store=False, **options):
    """Run to the end, continued after each failure; return all traces and the last result."""
    agent = Agent([search], provider, AgentConfig(loop_detector=detector, **options))
    prompt, steps = "Find it", []
    while True:
        try:
            result = agent.run(prompt)
        except ProviderError as error:
            prompt = error.partial_result.messages
            steps += error.partial_result.trace.steps
            if store:
                prompt = [Message.from_dict(each.to_dict()) for each in prompt]
                json.dumps([each.to_dict() for each in prompt])
        else:
            return [*steps, *result.trace.steps], result


def what_was_done(steps, result):
    kinds = (StepType.GRAPH_LOOP_DETECTED, StepType.GRAPH_STALL, StepType.TOOL_CALL)
    done = [step for step in steps if step.type in (*kinds, StepType.NOTICE_INJECTED)]
    return [(step.type, step.data.get("action"), step.data.get("text")) for step in done], (
        result.status,
        result.text,
        result.messages,
    )


def test_a_call_that_fails_every_second_time_is_a_loop_across_all_runs():
    script = [calls_of("cats")] * 30
    breaks = range(0, 30, 2)
    steps, result = run_on(Breaking(script, breaks), LoopDetector.escalating())
    assert result.status is RunStatus.LOOP_DETECTED
    assert len([step for step in steps if step.type is StepType.TOOL_CALL]) < 8


@pytest.mark.parametrize("store", [False, True])
@given(
    rounds=st.lists(
        st.one_of(
            st.lists(st.sampled_from("ab"), min_size=1, max_size=2).map(
                lambda names: calls_of(*names)
            ),
            st.sampled_from(["x", "y"]).map(lambda text: calls_of("a", text=f"Now I look {text}.")),
        ),
        max_size=12,
    ),
    breaks=st.sets(st.integers(0, 12)),
)
def test_a_continued_run_decides_as_the_unbroken_one(store, rounds, breaks):
    detector = LoopDetector.escalating()
    unbroken = what_was_done(*run_on(Breaking(rounds), detector))
    broken = what_was_done(*run_on(Breaking(rounds, breaks), detector, store))
    assert broken == unbroken


def test_what_the_user_says_after_a_run_is_progress():
    script = [calls_of("cats")] * 2
    agent = Agent(
        [search],
        Breaking([*script, "Nothing.", *script, "Nothing still."]),
        AgentConfig(loop_detector=LoopDetector.escalating()),
    )
    first = agent.run("Find it")
    second = agent.run([*first.messages, Message(Role.USER, "Look once more.")])
    assert not second.trace.of_type(StepType.NOTICE_INJECTED)
    assert [call.round for call in second.tool_calls] == [3, 4]


def test_a_loop_that_ended_a_run_ends_the_run_that_continues_it():
    agent = Agent(
        [search],
        Breaking([calls_of("cats")] * 9),
        AgentConfig(loop_detector=LoopDetector.default()),
    )
    with pytest.raises(LoopDetectedError) as ended:
        agent.run("Find it")
    with pytest.raises(LoopDetectedError) as again:
        agent.run(ended.value.partial_result.messages)
    assert len(again.value.partial_result.tool_calls) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inject_message": "Try something else."},
        {"policy": Escalation(on_notice=lambda verdict: "Look at the index.")},
    ],
    ids=["ours", "own words", "advice"],
)
def test_a_notice_in_the_users_place_is_not_the_user(options):
    detector = LoopDetector.escalating(notice_role="user", **options)
    rounds = [calls_of("cats")] * 9
    unbroken = what_was_done(*run_on(Breaking(rounds), detector))
    assert what_was_done(*run_on(Breaking(rounds, {2, 3, 4}), detector)) == unbroken


def test_calls_without_results_are_of_unknown_results():
    messages = [
        Message(Role.USER, "Find it"),
        Message(Role.ASSISTANT, "", (ToolCall("search", {"query": "cats"}, "1"),)),
        Message(Role.ASSISTANT, "", (ToolCall("search", {"query": "cats"}, "2"),)),
        Message(Role.TOOL, "Nothing.", tool_call_id="2"),
    ]
    config = AgentConfig(loop_detector=LoopDetector.default())
    result = Agent([search], ScriptedProvider(["x", "x", "Nothing."]), config).run(messages)
    assert result.status is RunStatus.COMPLETED


@pytest.mark.parametrize("ids", [("1", "1"), ("1", None), (None, None), (None, "1"), ("1", "x")])
def test_results_belong_to_the_calls_that_an_api_would_give_them_to(ids):
    """A job whose answer changes each time is no loop, unless its answers are not known."""
    messages = [Message(Role.USER, "Wait for it")]
    for number in range(4):
        of_call, of_result = (each and f"{each}-{number}" for each in ids)
        call = ToolCall("search", {"query": "job"}, of_call)
        messages.append(Message(Role.ASSISTANT, "", (call,)))
        messages.append(Message(Role.TOOL, f"{number}0 % done", tool_call_id=of_result))
    config = AgentConfig(loop_detector=LoopDetector.default())
    again = ToolCall("search", {"query": "job"}, "again")
    result = Agent([search], ScriptedProvider([*"abcd", again, "Done."]), config).run(messages)
    assert result.status is RunStatus.COMPLETED
