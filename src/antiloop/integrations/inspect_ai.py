"""Inspect AI evaluations: approval of calls, notices, an early end, and a scorer."""

from typing import Any, List, Sequence
from weakref import WeakKeyDictionary

try:
    from inspect_ai.approval import Approval, ApprovalPolicy, Approver, approver, auto_approver
    from inspect_ai.hooks import BeforeModelGenerate, Hooks, hooks
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessageTool, ChatMessageUser
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.util import LimitExceededError
except ImportError as error:
    raise ImportError(
        "antiloop.integrations.inspect_ai needs inspect-ai 0.3.246 or later:"
        ' pip install "antiloop[inspect]"'
    ) from error

from ..formats import from_inspect
from ..formats.moment import verdicts_of
from ..loop_detection import LoopAction, ToolPolicy
from ..loop_detection.presets import PRESETS
from ..stability import beta
from ..types import ToolCall
from .guard import Guard, stopped


@beta
class LoopGuard(Guard):
    """Approval policies for ``Task(..., approval=guard.policies())``; see `Guard` for arguments.

    Each round is judged before the model is asked again: a notice is added to what it is sent, or
    the sample ends as at a limit and is scored as it stands. Refused calls get an error as their
    result. One guard serves all samples of all tasks of a process; a sample has one guard.

    A policy that raises stops, as an error of a sample is one of the evaluation.
    """

    def policies(self, *others: ApprovalPolicy) -> List[ApprovalPolicy]:
        """Return policies that refuse what loops, and leave all else to others.

        Args:
            others: policies for what this guard does not refuse; by default all of it is approved.
        """
        rest = others or (ApprovalPolicy(auto_approver(), "*"),)
        return [ApprovalPolicy(self.approver(), "*"), *rest]

    def approver(self) -> Approver:
        """Make an approver that rejects what loops, and leaves all else to the next one."""

        @approver(name="antiloop")
        def made() -> Approver:
            async def approve(message: str, call: Any, view: Any, history: List[Any]) -> Approval:
                return self._approval(call, history)

            return approve

        return made()

    def _approval(self, call: Any, history: Sequence[Any]) -> Approval:
        _GUARDS[transcript()] = self
        pending = ToolCall(call.function, call.arguments, call.id)
        verdict = self.before(from_inspect(self.recent(history)), pending)
        if verdict.action is LoopAction.BLOCK:
            return Approval(decision="reject", explanation=verdict.message)
        return Approval(decision="escalate")

    async def _before_request(self, messages: List[Any], sample_id: str) -> None:
        """Judge the round whose results have just come in; what is added is sent, not stored."""
        verdict = await self.ajudge(from_inspect(self.recent(messages)), sample_id)
        if verdict.action is LoopAction.NOTIFY:
            messages.append(ChatMessageUser(content=self.notice(verdict)))
        if verdict.action.ends_run:
            raise LimitExceededError("custom", value=1, limit=1, message=stopped(verdict))


_GUARDS: "WeakKeyDictionary[Any, LoopGuard]" = WeakKeyDictionary()
"""The guard of each sample under way, by the sample's transcript."""


@hooks(name="antiloop", description="tells a model that it loops, and ends its sample")
class LoopHooks(Hooks):
    """Carry out what the guard of a sample says before its model is asked again."""

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Judge the round before; this is called again where the model must be asked again."""
        guard = _GUARDS.get(transcript())
        if guard is not None and data.input and isinstance(data.input[-1], ChatMessageTool):
            await guard._before_request(data.input, data.sample_id or "")


@scorer(metrics=[mean(), stderr()])
def loop_free(preset: str = "default", ignore: Sequence[str] = ()) -> Scorer:
    """Score 1 for a sample without a tool-call loop, 0 for one that got stuck.

    Args:
        preset: name of the detector preset, which the log shows.
        ignore: names of tools whose calls do not count.

    Raises:
        ValueError: if the preset does not exist.
    """
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; choose from {', '.join(PRESETS)}")
    detector = PRESETS[preset]()
    ignored = {name: ToolPolicy(exempt=True) for name in ignore}

    async def score(state: TaskState, target: Target) -> Score:
        monitor = detector.monitor(ignored, live=False)
        found = list(verdicts_of(monitor, from_inspect(state.messages)))
        details = [each.detection for _, each in found if each.detection]
        explanation = " ".join({each.identity: each.message for each in details}.values())
        return Score(
            value=0 if found else 1,
            answer="stuck" if found else "loop_free",
            explanation=explanation or "no tool-call loop",
            metadata={
                "steps": [at for at, _ in found],
                "detectors": list(dict.fromkeys(each.detector_name for each in details)),
                "wasted_calls": max((each.wasted_calls for each in details), default=0),
            },
        )

    return score
