"""The loop without I/O, driven by hand: exactly these requests, in exactly this order."""

from typing import Any, List

import pytest

from antiloop import (
    AgentConfig,
    LoopDetector,
    Message,
    Role,
    RunStatus,
    StepType,
    ToolCall,
    ToolResult,
)
from antiloop.agent import (
    LoopDetected,
    ModelReplied,
    ModelReply,
    OutputRejected,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from antiloop.agent._context import _RunContext, start_conversation
from antiloop.agent._core import agent_loop
from antiloop.agent._output import ResponseFormat
from antiloop.agent._requests import AskModel, Emit, Response, RunTools, Tell, advance
from antiloop.agent._tools.toolbox import Toolbox
from antiloop.exceptions import LoopDetectedError, ProviderError
from antiloop.loop_detection import LoopPolicy, RepeatDetector

NOTHING = Usage()


def look(at: str = "") -> str:
    """Look."""
    raise AssertionError("the loop itself runs no tools")


def context(config=None, response_format=None) -> _RunContext:
    config = config or AgentConfig()
    return _RunContext(
        run_id="r1",
        config=config,
        toolbox=Toolbox([look]),
        messages=start_conversation("Go", config.system_prompt),
        monitor=config.loop_detector.monitor() if config.loop_detector else None,
        response_format=response_format and ResponseFormat(response_format),
    )


class Hand:
    """Drives a loop by hand and keeps every request in short."""

    def __init__(self, config=None, response_format=None) -> None:
        self.ctx = context(config, response_format)
        self.loop = agent_loop(self.ctx)
        self.seen: List[Any] = []
        self.request = self._on(advance(self.loop, Response()))

    def _on(self, request: Any) -> Any:
        """Answer what needs no answer, up to the next question."""
        while isinstance(request, (Tell, Emit)):
            short = request.hook if isinstance(request, Tell) else type(request.event)
            self.seen.append(short)
            self.last = request
            request = advance(self.loop, Response())
        if request is not None:
            self.seen.append(type(request))
        return request

    def reply(self, *calls: ToolCall, text: str = "", usage: Usage = NOTHING) -> None:
        assert isinstance(self.request, AskModel)
        self.request = self._on(advance(self.loop, Response(ModelReply(text, calls, usage))))

    def results(self, *texts: str) -> None:
        assert isinstance(self.request, RunTools)
        assert len(texts) == len(self.request.invocations)
        answers = [ToolResult(text) for text in texts]
        self.request = self._on(advance(self.loop, Response(answers)))

    def fail(self, error: Exception) -> None:
        self.request = self._on(advance(self.loop, Response(error=error)))

    def take(self) -> List[Any]:
        seen, self.seen = self.seen, []
        return seen

    @property
    def result(self) -> Any:
        assert self.request is None
        return self.last.event.result


CALL = ToolCall("look", {"at": "x"}, id="c1")
ASKED = ["on_iteration_start", "on_model_start", AskModel]
BEGIN = ["on_run_start", "on_user_message", RunStarted, *ASKED]
REPLIED = ["on_model_end", ModelReplied]
SAID = ["on_model_end", "on_said", ModelReplied]
STARTED = ["on_tool_start", ToolStarted]
FINISHED = ["on_tool_end", ToolFinished]
END = ["on_run_end", RunFinished]


def test_an_answer_at_once_is_one_iteration():
    hand = Hand()
    assert hand.take() == BEGIN
    hand.reply(text="Hello.", usage=Usage(3, 2))
    assert hand.take() == SAID + END
    result = hand.result
    assert (result.status, result.iterations, result.text) == (RunStatus.COMPLETED, 1, "Hello.")
    assert result.messages == (Message(Role.USER, "Go"), Message(Role.ASSISTANT, "Hello."))
    assert (result.usage, result.run_id, result.error) == (Usage(3, 2), "r1", None)


def test_a_round_of_two_calls_is_one_request():
    hand = Hand()
    hand.reply(CALL, CALL, usage=Usage(1, 1))
    assert hand.take() == BEGIN + REPLIED + STARTED * 2 + [RunTools]
    hand.results("a", "b")
    assert hand.take() == [*FINISHED * 2, "on_round", *ASKED]
    hand.reply(text="Done.", usage=Usage(1, 1))
    assert hand.take() == SAID + END
    assert [result.text for result in hand.result.tool_results] == ["a", "b"]
    assert hand.result.usage == Usage(2, 2)


def test_one_after_the_other_each_call_ends_before_the_next_begins():
    hand = Hand(AgentConfig(parallel_tool_execution=False))
    hand.reply(CALL, ToolCall("lok"), CALL)
    hand.take()
    hand.results("a")
    assert hand.take() == FINISHED * 2 + STARTED + [RunTools]
    hand.results("b")
    assert hand.take()[:2] == FINISHED
    assert [result.text for result in hand.ctx.results] == [
        "a",
        "Unknown tool 'lok'. Available tools: look.",
        "b",
    ]


def test_calls_that_cannot_run_have_results_and_no_start():
    hand = Hand()
    hand.reply(ToolCall("lok"), ToolCall("look", {"at": 1}), ToolCall("look", "{"))
    assert hand.take() == BEGIN + REPLIED + FINISHED * 3 + [
        "on_round",
        "on_iteration_start",
        "on_model_start",
        AskModel,
    ]
    assert all(result.is_error for result in hand.ctx.results)


def test_the_model_sees_calls_and_results_in_call_order():
    hand = Hand(AgentConfig(system_prompt="Be brief."))
    hand.reply(CALL, ToolCall("lok", id="c2"), text="Let me look.")
    hand.results("a")
    assert hand.request.request.messages == (
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "Go"),
        Message(
            Role.ASSISTANT,
            "Let me look.",
            (
                ToolCall("look", {"at": "x"}, "c1", round=1),
                ToolCall("lok", {}, "c2", round=1),
            ),
        ),
        Message(Role.TOOL, "a", tool_call_id="c1"),
        Message(
            Role.TOOL,
            "Unknown tool 'lok'. Available tools: look.",
            tool_call_id="c2",
            is_error=True,
        ),
    )
    assert [schema.name for schema in hand.request.request.tools] == ["look"]


def test_the_calls_of_a_reply_share_its_round_everywhere():
    hand = Hand()
    hand.reply(CALL, CALL)
    hand.results("a", "a")
    hand.reply(CALL)
    hand.results("a")
    hand.reply(text="Done.")
    assert [call.round for call in hand.result.tool_calls] == [1, 1, 2]
    steps = hand.result.trace.of_type(StepType.TOOL_CALL)
    assert [step.data["round"] for step in steps] == [1, 1, 2]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_run_ends_without_exception_when_its_iterations_are_used_up(most):
    hand = Hand(AgentConfig(max_iterations=most))
    for number in range(most):
        hand.reply(ToolCall("look", {"at": str(number)}), text=f"look {number}")
        hand.results("a")
    result = hand.result
    assert (result.status, result.iterations) == (RunStatus.MAX_ITERATIONS, most)
    assert result.text == f"look {most - 1}"
    assert hand.seen[-2:] == END


def test_an_answer_in_the_last_iteration_is_an_answer():
    hand = Hand(AgentConfig(max_iterations=2))
    hand.reply(CALL)
    hand.results("a")
    hand.reply(text="Done.")
    assert hand.result.status is RunStatus.COMPLETED


def test_an_exception_of_the_provider_is_told_and_goes_on():
    hand = Hand()
    hand.take()
    with pytest.raises(OSError, match="gone"):
        hand.fail(OSError("gone"))
    assert hand.take() == ["on_error", "on_run_end"]
    result = hand.last.arguments[1]
    assert (result.status, result.error) == (RunStatus.FAILED, "OSError: gone")
    error, end = result.trace.steps[-2:]
    assert (error.type, error.summary) == (StepType.ERROR, "OSError: gone")
    assert end.type is StepType.RUN_END


@pytest.mark.parametrize("nothing", [None, "text"])
def test_a_provider_that_gives_no_reply_is_told_so(nothing):
    hand = Hand()
    with pytest.raises(ProviderError, match=f"returned {nothing!r}, not a ModelReply"):
        hand._on(advance(hand.loop, Response(nothing)))


def test_what_a_provider_gives_instead_of_a_reply_is_shown_in_short_and_without_secrets():
    answer = {"content": "x" * 10_000, "headers": {"x-api-key": "sk-abcdefghijklmnop12345"}}
    for given in (answer, dict(reversed(answer.items()))):
        hand = Hand()
        with pytest.raises(ProviderError) as caught:
            hand._on(advance(hand.loop, Response(given)))
        assert len(str(caught.value)) < 400
        assert "sk-abc" not in str(caught.value)


def test_closing_the_loop_asks_for_nothing_more():
    hand = Hand()
    hand.take()
    hand.loop.close()
    assert hand.take() == []
    with pytest.raises(StopIteration):
        next(hand.loop)


def repeat_config(policy: Any, **options: Any) -> AgentConfig:
    return AgentConfig(loop_detector=LoopDetector([RepeatDetector(3)], policy, **options))


def test_the_check_stands_after_the_round_and_before_the_next_iteration():
    hand = Hand(repeat_config(LoopPolicy.INJECT_MESSAGE))
    for _ in range(2):
        hand.reply(CALL)
        hand.results("a")
    hand.take()
    hand.reply(CALL)
    assert hand.ctx.iteration == 3
    hand.results("a")
    assert hand.take() == [
        *REPLIED,
        *STARTED,
        RunTools,
        *FINISHED,
        "on_round",
        "on_verdict",
        "on_tool_loop_detected",
        LoopDetected,
        "on_iteration_start",
        "on_model_start",
        AskModel,
    ]
    assert hand.ctx.iteration == 4


def test_raising_tells_the_loop_then_the_error_then_the_end():
    hand = Hand(repeat_config(LoopPolicy.RAISE))
    for _ in range(2):
        hand.reply(CALL)
        hand.results("a")
    hand.reply(CALL)
    hand.take()
    with pytest.raises(LoopDetectedError) as caught:
        hand.results("a")
    assert hand.take() == [
        *FINISHED,
        "on_round",
        "on_verdict",
        "on_tool_loop_detected",
        LoopDetected,
        "on_error",
        "on_run_end",
    ]
    assert hand.last.arguments[1].status is RunStatus.LOOP_DETECTED
    assert hand.last.arguments[1].detection is caught.value.detection


FORMAT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_retry_of_the_answer_is_no_iteration():
    hand = Hand(AgentConfig(max_iterations=1, max_structured_retries=2), FORMAT)
    assert hand.request.request.response_schema == FORMAT
    hand.take()
    hand.reply(text="no json")
    assert hand.take() == [*SAID, OutputRejected, "on_model_start", AskModel]
    hand.reply(text='{"n": "x"}')
    assert hand.take() == [*SAID, OutputRejected, "on_model_start", AskModel]
    hand.reply(text='{"n": 1}')
    assert hand.take() == SAID + END
    result = hand.result
    assert (result.status, result.output, result.iterations) == (RunStatus.COMPLETED, {"n": 1}, 1)


def test_a_refused_answer_may_be_followed_by_tools_in_the_same_iteration():
    hand = Hand(AgentConfig(max_iterations=2), FORMAT)
    hand.reply(text="no json")
    hand.reply(CALL)
    hand.results("a")
    hand.reply(text='{"n": 1}')
    assert hand.result.iterations == 2
    assert [call.round for call in hand.result.tool_calls] == [1]
