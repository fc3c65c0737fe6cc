"""The result of an agent's run in a notebook."""

from typing import Any, Iterator, Mapping, Tuple

from ..._short_repr import counted
from ..._trace import StepType, TraceStep
from ...agent import AgentResult
from ...health import HealthReport, HealthStatus
from ...loop_detection import LoopAction, LoopDetection, LoopVerdict
from ...traces import RecordedRun
from .frame import frame, head, quiet, text
from .run import run_picture

_LOOPS = (StepType.GRAPH_LOOP_DETECTED, StepType.GRAPH_STALL)
_WORDS = 400  # characters of the answer


def result_html(result: AgentResult) -> str:
    """Return a result as a notebook shows it, with the loops that the agent's detector found."""
    calls, known = result.tool_calls, result.tool_results[: len(result.tool_calls)]
    results = (*known, *[None] * (len(calls) - len(known)))
    health = HealthReport(100, HealthStatus.HEALTHY, verdicts=tuple(_verdicts(result)))
    spent = result.usage.input_tokens + result.usage.output_tokens
    line = head(
        "AgentResult",
        result.status.value,
        counted(result.iterations, "iteration"),
        counted(len(calls), "call"),
        f"{spent:,} tokens" if spent else "",
    )
    picture = run_picture(RecordedRun(result.run_id, calls, results), health)
    said = result.error or result.text
    title = "error" if result.error else "answer"
    words = f"<div>{quiet(title)} {text(said, _WORDS)}</div>" if said else ""
    return frame(line, picture, words)


def _verdicts(result: AgentResult) -> Iterator[Tuple[int, LoopVerdict]]:
    """Yield the step and the verdict of each loop in the trace."""
    count = 0
    for number, step in enumerate(result.trace.steps):
        count += step.type is StepType.TOOL_CALL
        if step.type in _LOOPS:
            found = _detection(number, step, len(result.tool_calls))
            yield max(0, count - 1), LoopVerdict(_action(step.data.get("action")), found)


def _action(name: Any) -> LoopAction:
    known = [each.value for each in LoopAction]
    return LoopAction(name) if name in known else LoopAction.NOTIFY


def _detection(number: int, step: TraceStep, calls: int) -> LoopDetection:
    """Read a detection; a trace may be made by hand, and hold anything."""
    details = step.data.get("details")
    details = details if isinstance(details, Mapping) else {}
    cycle = details.get("cycle")
    steps = {each for each in _numbers(details.get("indices")) if 0 <= each < calls}
    return LoopDetection(
        "loop",
        step.summary,
        identity=str(number),
        period=len(cycle) if cycle and isinstance(cycle, list) else 1,
        repetitions=2,
        indices=tuple(sorted(steps)),
    )


def _numbers(values: Any) -> Iterator[int]:
    yield from (each for each in (values if isinstance(values, list) else ()) if type(each) is int)
