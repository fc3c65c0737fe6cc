"""The agent loop, without I/O: it yields requests and is sent the answers.

``run``, ``arun`` and ``astream`` all drive this one generator, so they cannot differ in what they
decide. Nothing is yielded inside ``finally``: a driver that gives up closes the generator.
"""

import logging
from dataclasses import replace
from itertools import zip_longest
from typing import Optional, Sequence, Union

from .._frozen import frozen
from .._short_repr import error_text
from .._trace import StepType, to_plain
from ..exceptions import LoopDetectedError, ProviderError
from ..loop_detection import CaseFile, LoopAction, LoopDetection, LoopVerdict
from ..loop_detection._internal import GO_ON, NOTICE_MARKER, REFUSED_MARKER, last_words
from ..types import Role, ToolCall, ToolResult
from ._context import _OpenRound, _RunContext, owned
from ._events import (
    LoopDetected,
    ModelReplied,
    OutputRejected,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from ._requests import CallUser, Emit, Steps, ask_judge, ask_model, run_tools, tell
from ._result import AgentResult, RunStatus
from ._tools.toolbox import Invocation
from .providers._protocol import ModelReply, ReplyEnd, check_asked, checked_provider

Plan = Union[Invocation, ToolResult]

_LOOP = StepType.GRAPH_LOOP_DETECTED
_logger = logging.getLogger("antiloop")
NOTICE_TIMEOUT_S = 30.0
"""Seconds that ``Escalation(on_notice=...)`` may take; the run waits for it."""
_STUCK = {True: "stuck", False: "not stuck"}
_SHORTER = (
    "the reply {} before this call was complete. Ask for it again with shorter arguments, or in "
    "several steps."
)
_CUT = {
    ReplyEnd.LENGTH: _SHORTER.format("reached its limit of tokens"),
    ReplyEnd.BROKEN: _SHORTER.format("broke off"),
    ReplyEnd.WITHHELD: "the reply that asked for it was withheld before its end.",
}
_NOT_RUN = f"{REFUSED_MARKER} the run was ended because of a tool-call loop."


def agent_loop(ctx: _RunContext) -> Steps[None]:
    """Run an agent from its first question to its `RunFinished` event.

    Raises:
        LoopDetectedError: if a loop was found and the policy says to raise.
        Exception: whatever the provider raised, after the observers heard of it.
    """
    ctx.record(StepType.RUN_START, "The run began.", messages=len(ctx.messages))
    yield from tell("on_run_start", ctx.run_id)
    if ctx.messages and ctx.messages[-1].role is Role.USER:
        yield from tell("on_user_message", ctx.run_id, ctx.messages[-1].content)
    yield Emit(RunStarted(ctx.run_id))
    try:
        status = yield from _iterate(ctx)
    except Exception as error:
        yield from _fail(ctx, error)
        raise
    result = yield from _end(ctx, status)
    yield Emit(RunFinished(result))


def _iterate(ctx: _RunContext) -> Steps[RunStatus]:
    for iteration in range(1, ctx.config.max_iterations + 1):
        ctx.iteration = iteration
        yield from tell("on_iteration_start", ctx.run_id, iteration)
        reply = yield from _ask(ctx)
        while not (reply.tool_calls or ctx.is_stuck_in_words or reply.end is ReplyEnd.PAUSED):
            if ctx.words.would_be is not None:
                yield from _report(ctx, ctx.words)
            if reply.end.is_cut:
                # Not a matter for a retry: asked again, the answer would be cut again.
                ctx.error = reply.end_detail or f"the reply was cut off ({reply.end.value})"
                return RunStatus.TRUNCATED
            problem = _read_output(ctx, reply)
            if not problem:
                return RunStatus.COMPLETED
            if not (yield from _may_retry(ctx, problem)):
                return RunStatus.FAILED
            reply = yield from _ask(ctx)
        yield from _run_round(ctx, reply)
        if (yield from _check_loop_detection(ctx)):
            return RunStatus.LOOP_DETECTED
    return RunStatus.MAX_ITERATIONS


def _ask(ctx: _RunContext) -> Steps[ModelReply]:
    request, ctx.words = ctx.request(), GO_ON
    provider, ctx.next_provider = ctx.next_provider, None
    yield from tell("on_model_start", ctx.run_id, request)
    reply = yield from ask_model(request, ctx.hear, provider)
    # A provider may pass on what its API sent: null where there is no text or no call.
    number = ctx.rounds_before + ctx.iteration
    calls = tuple(owned(call, number) for call in reply.tool_calls or ())
    reply = replace(reply, text=reply.text or "", tool_calls=calls)
    ctx.hear_all(reply)
    yield from _take(ctx, reply)
    return reply


def _take(ctx: _RunContext, reply: ModelReply) -> Steps[None]:
    ctx.take_reply(reply)
    yield from tell("on_model_end", ctx.run_id, reply)
    if reply.text:
        yield from tell("on_said", ctx.run_id, reply.text)
    yield Emit(ModelReplied(reply))


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
    if ctx.monitor is not None:
        # Equal wrong answers are retries, which are limited anyway, and not a monologue.
        ctx.monitor.user_message(is_progress=False)
    ctx.record(StepType.STRUCTURED_RETRY, f"The answer was refused: {problem}", retry=ctx.retries)
    yield Emit(OutputRejected(problem))
    return True


def _run_round(ctx: _RunContext, reply: ModelReply) -> Steps[None]:
    """Run the calls of one reply, if any; results are taken in the order of the calls."""
    calls = reply.tool_calls
    verdicts = [ctx.monitor.before(call) for call in calls] if ctx.monitor else []
    endings = (one for one in (ctx.words, *verdicts) if one.action.ends_run)
    ctx.round = _OpenRound(ending=next(endings, None))
    plans = [_plan(ctx, call, verdict) for call, verdict in zip_longest(calls, verdicts)]
    plans = [_unless_cut(plan, reply, at) for at, plan in enumerate(plans)]
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


def _unless_cut(plan: Plan, reply: ModelReply, at: int) -> Plan:
    """Return the plan of a call, or why it is not run: its arguments may lack their end.

    A reply is written from front to back, so only its last call can be cut. Its arguments may look
    whole: some servers mend the JSON, and write "" for what is missing.
    """
    is_last = at == len(reply.tool_calls) - 1
    if not reply.end.is_cut or not (is_last or reply.end is ReplyEnd.WITHHELD):
        return plan
    if isinstance(plan, ToolResult) and plan.text.startswith(REFUSED_MARKER):
        return plan
    name = reply.tool_calls[at].tool_name
    return ToolResult(f"Tool {name!r} was not run: {_CUT[reply.end]}", is_error=True)


def _run_together(
    ctx: _RunContext, calls: Sequence[ToolCall], plans: Sequence[Plan]
) -> Steps[None]:
    ready = [plan for plan in plans if isinstance(plan, Invocation)]
    for invocation in ready:
        yield from tell("on_tool_start", ctx.run_id, invocation.call)
        yield Emit(ToolStarted(invocation.call))
    answers = iter((yield from run_tools(ready)) if ready else ())
    for call, plan in zip(calls, plans):
        result = next(answers) if isinstance(plan, Invocation) else plan
        ctx.take_result(call, result)
        yield from tell("on_tool_end", ctx.run_id, call, result)
        yield Emit(ToolFinished(call, result))


def _check_loop_detection(ctx: _RunContext) -> Steps[bool]:
    """Ask the monitor about the round, act on its verdict, and say whether the run is over.

    A reply whose text is stuck is a round, too, also without a call.

    The one place where a loop has consequences, after the round's tools have run and before the
    iteration counter moves.
    """
    verdict = _verdict(ctx)
    if verdict is not None and verdict.case is not None:
        verdict = yield from _second_opinion(ctx, verdict.case)
    if ctx.round.calls:
        results = tuple(ctx.round.results)
        yield from tell("on_round", ctx.run_id, tuple(ctx.round.calls), results)
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
        yield from _on_notice(ctx, verdict, detection)
    if action is LoopAction.CONCLUDE:
        yield from _conclude(ctx, detection)
    return action.stops


def _report(ctx: _RunContext, verdict: LoopVerdict) -> Steps[None]:
    """Report a loop to trace, observers and stream; a loop of a shadow detector, too."""
    reported = verdict.decision
    action, found = reported.action, reported.detection
    yield from tell("on_verdict", ctx.run_id, reported)
    if found is None or action is LoopAction.CONTINUE:
        return
    details, name = frozen(to_plain(found.details)), found.detector_name
    kind = StepType.GRAPH_STALL if name == "stall" else _LOOP
    ctx.record(kind, found.message, details=details, action=action)
    yield from tell("on_tool_loop_detected", ctx.run_id, name, details)
    yield Emit(LoopDetected(name, found.message, details, action))


def _verdict(ctx: _RunContext) -> Optional[LoopVerdict]:
    if ctx.monitor is None or ctx.round.ending is not None:
        return ctx.round.ending
    verdict = ctx.monitor.after(ctx.round.calls, ctx.round.results)
    return ctx.monitor.with_words(verdict, ctx.words)


def _second_opinion(ctx: _RunContext, case: CaseFile) -> Steps[Optional[LoopVerdict]]:
    """Ask the judge about the run, and return the final verdict."""
    detector, monitor = ctx.config.loop_detector, ctx.monitor
    if detector is None or detector.second_opinion is None or monitor is None:
        return None
    opinion = yield from ask_judge(detector.second_opinion, case)
    answer = {} if opinion is None else opinion.to_dict()
    finding = "gave no opinion" if opinion is None else f"finds it {_STUCK[opinion.stuck]}"
    ctx.record(
        StepType.SECOND_OPINION,
        f"A judge of the run {finding}.",
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
    role = ctx.config.loop_detector.notice_role
    if role is Role.USER and not notice.startswith(NOTICE_MARKER):
        # Else a run that continues this conversation would take your own words for the user's.
        notice = f"{NOTICE_MARKER} {notice}"
    ctx.say(role, notice)
    ctx.record(StepType.NOTICE_INJECTED, "The model received a notice about the loop.", text=notice)


def _on_notice(ctx: _RunContext, verdict: LoopVerdict, found: LoopDetection) -> Steps[None]:
    """Let the user's own function add advice, or choose who answers the next request."""
    detector = ctx.config.loop_detector
    if detector is None:
        return
    ladder = detector.escalations.get(found.detector_name, detector.escalation)
    if ladder.on_notice is None:
        return
    answer = yield CallUser(ladder.on_notice, verdict, "on_notice", NOTICE_TIMEOUT_S)
    if isinstance(answer, str):
        _inject(ctx, answer)
    elif answer is not None:
        try:
            check_asked(checked_provider(answer), ctx.method)
            ctx.next_provider = answer
        except TypeError as error:
            _logger.warning(
                "on_notice returned no text, and what it returned is ignored: %s", error
            )


def _conclude(ctx: _RunContext, found: LoopDetection) -> Steps[None]:
    """Ask the model once more, for words alone: a run that just ends leaves nothing behind."""
    _inject(ctx, last_words(found))
    request = ctx.request(is_last=True)
    yield from tell("on_model_start", ctx.run_id, request)
    try:
        reply = yield from ask_model(request, lambda _: False)
    except Exception as error:
        # The run has ended already, as stuck; a failure here does not change that.
        _logger.exception("the model could not be asked for its last words")
        ctx.record(StepType.ERROR, error_text(error))
        return
    # Calls all the same would be requests without results, which no API takes in a conversation.
    reply = replace(reply, text=reply.text or "", tool_calls=())
    ctx.error = reply.end_detail or None
    yield from _take(ctx, reply)


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
