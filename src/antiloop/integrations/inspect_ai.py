"""Inspect AI evaluations: approval of calls, notices, an early end, and a scorer."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence
from weakref import WeakKeyDictionary

from ._needed import needed

with needed("inspect-ai 0.3.246 or later", "inspect", __name__):
    from inspect_ai.approval import Approval, ApprovalPolicy, Approver, approver, auto_approver
    from inspect_ai.hooks import BeforeModelGenerate, Hooks, hooks
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessageTool, ChatMessageUser
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.util import LimitExceededError

from .._checks import check_choice, tool_names
from ..formats import from_inspect
from ..formats._internal import verdicts_of
from ..loop_detection import LoopAction, ToolPolicy
from ..loop_detection._internal import NOTICE_MARKER
from ..loop_detection.presets import PRESETS
from ..stability import stable
from ..types import ToolCall
from ._guard import WITHDRAWN, Guard, stopped

__all__ = ["LoopGuard", "loop_free"]


@stable
class LoopGuard(Guard):
    """Approval policies for ``Task(..., approval=guard.policies())``; see `Guard` for arguments.

    Each round is judged before the model is asked again: a notice is added to what it is sent, or
    it is asked for its last words and no tool runs any more, or the sample ends as at a limit and
    is scored as it stands. Refused calls get an error as their result. One guard serves all samples
    of all tasks of a process; a sample has one guard.

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
        _sample().guard = self
        if _sample().ending_in(history):
            return Approval(decision="reject", explanation=WITHDRAWN)
        pending = ToolCall(call.function, call.arguments, call.id)
        verdict = self.before(from_inspect(self.recent(history)), pending)
        if verdict.action is LoopAction.BLOCK:
            return Approval(decision="reject", explanation=verdict.message)
        return Approval(decision="escalate")

    async def _before_request(self, messages: List[Any], sample_id: str) -> None:
        """Judge the round whose results have just come in; what is added is sent, not stored."""
        *earlier, last = messages
        if isinstance(last, ChatMessageUser) and NOTICE_MARKER in last.text:
            return  # the model is asked again after a failure
        ending = _sample().ending_in(earlier)
        if ending:  # it goes on after its last words
            raise _limit(ending)
        if not isinstance(last, ChatMessageTool):
            return
        verdict = await self.ajudge(from_inspect(self.recent(messages)), sample_id)
        if verdict.action is LoopAction.CONCLUDE:
            _sample().endings[last.id or ""] = stopped(verdict)
        if verdict.action in (LoopAction.NOTIFY, LoopAction.CONCLUDE):
            messages.append(ChatMessageUser(content=self.notice(verdict)))
        elif verdict.action.ends_run:
            raise _limit(stopped(verdict))


def _limit(ending: str) -> LimitExceededError:
    return LimitExceededError("custom", value=1, limit=1, message=ending)


@dataclass
class _Sample:
    """The state of a sample under way."""

    guard: Optional[LoopGuard] = None
    endings: Dict[str, str] = field(default_factory=dict)
    """The reasons of the end where models were asked for last words, by the message before."""

    def ending_in(self, messages: Sequence[Any]) -> str:
        """Return why a conversation with last words ends; empty for one that goes on."""
        return next((self.endings[each.id] for each in messages if each.id in self.endings), "")


_SAMPLES: "WeakKeyDictionary[Any, _Sample]" = WeakKeyDictionary()


def _sample() -> _Sample:
    """Return the sample that this task works at; its transcript identifies it."""
    return _SAMPLES.setdefault(transcript(), _Sample())


@hooks(name="antiloop", description="tells a model that it loops, and ends its sample")
class _LoopHooks(Hooks):
    """Carry out what the guard of a sample says before its model is asked again."""

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Judge the round before; this is called again where the model must be asked again."""
        guard = _sample().guard
        if guard is not None and data.input:
            await guard._before_request(data.input, data.sample_id or "")


@scorer(metrics=[mean(), stderr()])
def loop_free(preset: str = "default", ignore: Sequence[str] = ()) -> Scorer:
    """Score 1 for a sample without a tool-call loop, 0 for one that got stuck.

    Args:
        preset: name of the detector preset, which the log shows.
        ignore: names of tools whose calls do not count.

    Raises:
        ValueError: if the preset does not exist.
        TypeError: if its name is not a text, or `ignore` not a list of names.
    """
    check_choice("preset", preset, PRESETS)
    detector = PRESETS[preset]()
    ignored = {name: ToolPolicy(exempt=True) for name in tool_names("ignore", ignore)}

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
