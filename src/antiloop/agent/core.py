"""The agent loop, without I/O: it yields requests and is sent the answers.

``run``, ``arun`` and ``astream`` all drive this one generator, so they cannot differ in what they
decide. Nothing is yielded inside ``finally``: a driver that gives up closes the generator.
"""

from dataclasses import replace
from itertools import zip_longest
from typing import Optional, Sequence, Tuple, Union

from ..exceptions import LoopDetectedError, ProviderError
from ..frozen import frozen
from ..loop_detection import CaseFile, LoopAction, LoopDetection, LoopVerdict
from ..loop_detection.evidence.outcome import REFUSED_MARKER
from ..loop_detection.verdict import GO_ON
from ..short_repr import error_text
from ..trace import StepType, to_plain
from ..types import Role, ToolCall, ToolResult
from .context import _Round, _RunContext, owned
from .events import (
    LoopDetected,
    ModelReplied,
    OutputRejected,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from .providers.protocol import ModelReply
from .requests import Steps, ask_judge, ask_model, emit, run_tools, tell
from .result import AgentResult, RunStatus
from .tools.toolbox import Invocation

Plan = Union[Invocation, ToolResult]

_LOOP = StepType.GRAPH_LOOP_DETECTED
_STUCK = {True: "stuck", False: "not stuck"}
_NOT_RUN = f"{REFUSED_MARKER} the run was ended because of a tool-call loop."


def agent_loop(ctx: _RunContext) -> Steps[None]:
    """Run an agent from its first question to its `RunFinished` event.

    Raises:
        LoopDetectedError: if a loop was found and the policy says to raise.
        Exception: whatever the provider raised, after the observers heard of it.
    """
    ctx.record(StepType.RUN_START, "The run began.", messages=len(ctx.messages))
    yield from tell("on_run_start", ctx.run_id)
    yield from emit(RunStarted(ctx.run_id))
    try:
        status = yield from _iterate(ctx)
    except Exception as error:
        yield from _fail(ctx, error)
        raise
    result = yield from _end(ctx, status)
    yield from emit(RunFinished(result))


def _iterate(ctx: _RunContext) -> Steps[RunStatus]:
    for iteration in range(1, ctx.config.max_iterations + 1):
        ctx.iteration = iteration
        yield from tell("on_iteration_start", ctx.run_id, iteration)
        reply = yield from _ask(ctx)
        while not (reply.tool_calls or ctx.is_stuck_in_words):
            if ctx.words.would_be is not None:
                yield from _report(ctx, ctx.words)
            problem = _read_output(ctx, reply)
            if not problem:
                return RunStatus.COMPLETED
            if not (yield from _may_retry(ctx, problem)):
                return RunStatus.FAILED
            reply = yield from _ask(ctx)
        yield from _run_round(ctx, reply.tool_calls)
        if (yield from _check_loop_detection(ctx)):
            return RunStatus.LOOP_DETECTED
    return RunStatus.MAX_ITERATIONS


def _ask(ctx: _RunContext) -> Steps[ModelReply]:
    request, ctx.words = ctx.request(), GO_ON
    yield from tell("on_model_start", ctx.run_id, request)
    reply = yield from ask_model(request, ctx.hear)
    # A provider may pass on what its API sent: null where there is no text or no call.
    calls = tuple(owned(call, ctx.iteration) for call in reply.tool_calls or ())
    reply = replace(reply, text=reply.text or "", tool_calls=calls)
    ctx.take_reply(reply)
    ctx.hear_all(reply.text)
    yield from tell("on_model_end", ctx.run_id, reply)
    yield from emit(ModelReplied(reply))
    return reply


def _read_output(ctx: _RunContext, reply: ModelReply) -> str:
    """Read the final answer and say what is wrong with it, "" for nothing."""
    if ctx.response_format is None:
        return ""
    ctx.output, problem = ctx.response_format.read(reply.text)
    return problem


def _may_retry(ctx: _RunContext, problem: str) -> Steps[bool]:
    """Ask for the final answer again, as long as there are retries left."""
    if ctx.response_format is None or ctx.retries >= ctx.config.max_structured_retries:
        ctx.error = f"no answer fitted the response format; the last one: {problem}"
        return False
    ctx.retries += 1
    ctx.say(Role.USER, ctx.response_format.retry_text(problem))
    ctx.record(StepType.STRUCTURED_RETRY, f"The answer was refused: {problem}", retry=ctx.retries)
    yield from emit(OutputRejected(problem))
    return True


def _run_round(ctx: _RunContext, calls: Tuple[ToolCall, ...]) -> Steps[None]:
    """Run the calls of one reply, if any; results are taken in the order of the calls."""
    verdicts = [ctx.monitor.before(call) for call in calls] if ctx.monitor else []
    endings = (one for one in (ctx.words, *verdicts) if one.action.ends_run)
    ctx.round = _Round(ending=next(endings, None))
    plans = [_plan(ctx, call, verdict) for call, verdict in zip_longest(calls, verdicts)]
    size = max(1, len(calls)) if ctx.config.parallel_tool_execution else 1
    for start in range(0, len(calls), size):
        part = slice(start, start + size)
        yield from _run_together(ctx, calls[part], plans[part])


def _plan(ctx: _RunContext, call: ToolCall, verdict: Optional[LoopVerdict]) -> Plan:
    """Return how a call is run, or its result if it is not run."""
    if verdict is not None and verdict.action is LoopAction.BLOCK:
        return ToolResult(verdict.message, is_error=True)
    if ctx.round.ending is not None:
        return ToolResult(_NOT_RUN, is_error=True)
    return ctx.toolbox.prepare(call, ctx.config.tool_timeout_s)


def _run_together(
    ctx: _RunContext, calls: Sequence[ToolCall], plans: Sequence[Plan]
) -> Steps[None]:
    ready = [plan for plan in plans if isinstance(plan, Invocation)]
    for invocation in ready:
        yield from tell("on_tool_start", ctx.run_id, invocation.call)
        yield from emit(ToolStarted(invocation.call))
    answers = iter((yield from run_tools(ready)) if ready else ())
    for call, plan in zip(calls, plans):
        result = next(answers) if isinstance(plan, Invocation) else plan
        ctx.take_result(call, result)
        yield from tell("on_tool_end", ctx.run_id, call, result)
        yield from emit(ToolFinished(call, result))


def _check_loop_detection(ctx: _RunContext) -> Steps[bool]:
    """Ask the monitor about the round, act on its verdict, and say whether the run is over.

    A reply whose text is stuck is a round, too, also without a call.

    The one place where a loop has consequences, after the round's tools have run and before the
    iteration counter moves.
    """
    verdict = _verdict(ctx)
    if verdict is not None and verdict.case is not None:
        verdict = yield from _second_opinion(ctx, verdict.case)
    if verdict is None:
        return False
    yield from _report(ctx, verdict)
    detection, action = verdict.detection, verdict.action
    if detection is None or action is LoopAction.CONTINUE:
        return False
    if action.ends_run:
        ctx.detection = detection
    if action is LoopAction.RAISE:
        raise _loop_error(ctx, detection)
    if action is LoopAction.NOTIFY:
        _inject(ctx, verdict.message)
    return action is LoopAction.STOP


def _report(ctx: _RunContext, verdict: LoopVerdict) -> Steps[None]:
    """Report a loop to trace, observers and stream; a loop of a shadow detector, too."""
    reported = verdict.reported
    action, found = reported.action, reported.detection
    yield from tell("on_verdict", ctx.run_id, reported)
    if found is None or action is LoopAction.CONTINUE:
        return
    details, name = frozen(to_plain(found.details)), found.detector_name
    kind = StepType.GRAPH_STALL if name == "stall" else _LOOP
    ctx.record(kind, found.message, details=details, action=action)
    yield from tell("on_tool_loop_detected", ctx.run_id, name, details)
    yield from emit(LoopDetected(name, found.message, details, action))


def _verdict(ctx: _RunContext) -> Optional[LoopVerdict]:
    if ctx.monitor is None or ctx.round.ending is not None:
        return ctx.round.ending
    verdict = ctx.monitor.after(ctx.round.calls, ctx.round.results)
    return ctx.monitor.consultation.with_words(verdict, ctx.words)


def _second_opinion(ctx: _RunContext, case: CaseFile) -> Steps[Optional[LoopVerdict]]:
    """Ask the judge about the run, and return the final verdict."""
    detector, monitor = ctx.config.loop_detector, ctx.monitor
    if detector is None or detector.second_opinion is None or monitor is None:
        return None
    opinion = yield from ask_judge(detector.second_opinion, case)
    answer = {} if opinion is None else opinion.to_dict()
    said = "gave no opinion" if opinion is None else f"finds it {_STUCK[opinion.stuck]}"
    ctx.record(
        StepType.SECOND_OPINION,
        f"A judge of the run {said}.",
        step=case.step,
        suspicion=case.suspicion,
        **answer,
    )
    yield from tell("on_second_opinion", ctx.run_id, case, opinion)
    return monitor.answer(opinion)


def _inject(ctx: _RunContext, notice: str) -> None:
    """Send the notice to the model, after the results of the round."""
    if ctx.config.loop_detector is None or not notice:
        return
    ctx.say(ctx.config.loop_detector.notice_role, notice)
    ctx.record(StepType.NOTICE_INJECTED, "The model received a notice about the loop.", text=notice)


def _loop_error(ctx: _RunContext, detection: LoopDetection) -> LoopDetectedError:
    error = detection.as_error()
    error.partial_result = ctx.result(RunStatus.LOOP_DETECTED)
    error.trace = error.partial_result.trace
    return error


def _fail(ctx: _RunContext, error: Exception) -> Steps[None]:
    """Report the exception that ends the run."""
    status = RunStatus.LOOP_DETECTED if ctx.detection else RunStatus.FAILED
    ctx.error = error_text(error)
    ctx.record(StepType.ERROR, ctx.error)
    if isinstance(error, ProviderError):
        error.partial_result = ctx.result(status)
    yield from tell("on_error", ctx.run_id, error)
    yield from _end(ctx, status)


def _end(ctx: _RunContext, status: RunStatus) -> Steps[AgentResult]:
    ctx.record(StepType.RUN_END, f"The run ended: {status.value}.", status=status)
    result = ctx.result(status)
    yield from tell("on_run_end", ctx.run_id, result)
    return result
