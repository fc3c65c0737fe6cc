"""The facade: detectors, what is done about their findings, and the presets."""

import logging
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ..choices import choice_of
from ..short_repr import short_repr
from ..stability import beta
from ..types import Role, ToolCall
from .arguments import detectors_of, ladders_of, tools_of, words_of
from .base import BaseDetector, WindowDetector
from .chant import ChantDetector
from .compared import Result
from .config import read_config, write_config
from .detection import LoopDetection
from .failure_streak import FailureStreakDetector
from .masking import Masking, MaskRule, masking_of
from .messages import MessageRule
from .monitor import LoopMonitor
from .monologue import MonologueDetector
from .near_repeat import NearRepeatDetector
from .no_effect import NoEffectDetector
from .persistent_failure import PersistentFailureDetector
from .ping_pong import PingPongDetector
from .policy import Escalation, LoopAction, LoopPolicy
from .recurrence import RecurrenceDetector
from .repeat import RepeatDetector
from .repeated_finish import RepeatedFinishDetector
from .second_opinion import Judge, SecondOpinion, second_opinion_of
from .stall import StallDetector
from .text_detector import TextDetector
from .threshold import check_threshold
from .tool_policy import ToolPolicy
from .unknown_tool import UnknownToolDetector
from .window import Window

_logger = logging.getLogger("antiloop")


@beta
class LoopDetector:
    """Detectors, and the policy that says what is done when one of them finds a loop.

    It keeps no state: one object can serve every run of the process. What belongs to a run lives
    in the monitor that `monitor` makes.

    Args:
        detectors: asked in this order.
        policy: what to do: a `LoopPolicy` or its name, or an `Escalation` for a ladder of your own.
        escalations: other ladders for certain detectors, by name.
        inject_message: the words of a notice instead of our own: a text, or a function of the
            detection that gives one.
        window: how many recent calls are looked at.
        tools: what is declared about tools, by name.
        notice_role: who says a notice: system (default) or user.
        mask: what of the arguments is shown and kept: all but ``"secrets"``, none of the
            ``"arguments"``, or what a function gives that is called with them or with a text.
        log_verdicts: log each notice as a warning, and what is stronger as an error, with the
            logger ``antiloop``.
        second_opinion: who is asked where a run looks stuck and no detector is certain: a function
            of a `CaseFile`, sync or async, or a `SecondOpinion` that says when, too.
        shadow: decide as ever and tell listeners, observers and the trace what would be done, and
            do nothing: each verdict is to go on, and what it would be stands in `would_be`.

    Raises:
        ValueError: for no detectors, or a window in which a detector could never fire.
        TypeError: for a detector that is no `BaseDetector`, or anything else of another type.
    """

    def __init__(
        self,
        detectors: Sequence[BaseDetector],
        policy: Union[LoopPolicy, Escalation, str] = LoopPolicy.RAISE,
        *,
        escalations: Optional[Mapping[str, Escalation]] = None,
        inject_message: MessageRule = None,
        window: int = 50,
        tools: Optional[Mapping[str, ToolPolicy]] = None,
        notice_role: Role = Role.SYSTEM,
        mask: MaskRule = "secrets",
        log_verdicts: bool = False,
        second_opinion: Union[SecondOpinion, Judge, None] = None,
        shadow: bool = False,
    ) -> None:
        self.detectors: List[BaseDetector] = list(detectors_of(detectors))
        if not isinstance(policy, Escalation):
            policy = choice_of(LoopPolicy, policy, "policy", ", or pass an Escalation")
        self.policy = policy
        self.escalation = policy.escalation if isinstance(policy, LoopPolicy) else policy
        self.escalations = ladders_of(escalations)
        self.inject_message = words_of(inject_message)
        self.window = window
        self.tools = tools_of(tools)
        self.notice_role = choice_of(Role, notice_role, "notice_role")
        self.mask = mask
        self.masking = masking_of(mask)
        self.log_verdicts = log_verdicts
        self.second_opinion = second_opinion_of(second_opinion)
        self.shadow = shadow
        self._validate()
        self._validate_tools()
        of_calls = [each for each in self.detectors if not isinstance(each, TextDetector)]
        self._asked = [(each, isinstance(each, WindowDetector)) for each in of_calls]
        own = [each for each in self.detectors if isinstance(each, WindowDetector)]
        self.counted = frozenset(name for each in own for name in each.counted)

    @classmethod
    def default(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Give repeat, stall and ping-pong, set so that normal work is not stopped; raises.

        Unchanged results keep polling and scrolling out, and to look at fruitless answers only
        keeps acknowledgements out.
        """
        return cls(
            [
                RepeatDetector(3, require_same_result=True, patience=6),
                StallDetector(3, only_fruitless=True, varied=5),
                PingPongDetector(12, 3, patience=6),
            ],
            second_opinion=second_opinion,
            shadow=shadow,
        )

    @classmethod
    def escalating(
        cls, second_opinion: Union[SecondOpinion, Judge, None] = None, *, shadow: bool = False
    ) -> "LoopDetector":
        """Give all detectors, and the ladder notify, block, stop: for unattended agents."""
        return cls(
            [
                RepeatDetector(3, require_same_result=True, patience=6),
                UnknownToolDetector(3),
                NoEffectDetector(3),
                PingPongDetector(12, 3, patience=6),
                NearRepeatDetector(4, patience=6),
                FailureStreakDetector(4, in_a_row=5, repeats=3),
                RecurrenceDetector(3, patience=6, leave_cycles=True),
                PersistentFailureDetector(5),
                RepeatedFinishDetector(3),
                MonologueDetector(3),
                ChantDetector(6),
            ],
            Escalation(),
            second_opinion=second_opinion,
            shadow=shadow,
        )

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "LoopDetector":
        """Make a detector of what `to_config` gave, e.g. read from a JSON file.

        Raises:
            ValueError: naming the place, for anything that is no such configuration.
        """
        return cls(**read_config(config))

    def to_config(self) -> Dict[str, Any]:
        """Give the configuration as plain JSON, for `from_config`.

        Raises:
            ValueError: naming the place, where it holds code: a detector of your own, a function.
        """
        return write_config(self)

    def check(
        self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Optional[LoopDetection]:
        """Look at a run's calls and results up to now; the first detection wins.

        Only the last `window` calls are looked at, so the cost does not grow with the run.

        Args:
            tool_calls: oldest first.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; what is missing, or
                None, is unknown.
        """
        window = Window.of(
            tool_calls, tool_results, self.window, self.tools, self.counted, self.masking
        )
        return next(self.findings(window, tool_calls, tool_results), None)

    def monitor(
        self, tools: Optional[Mapping[str, ToolPolicy]] = None, *, live: bool = True
    ) -> LoopMonitor:
        """Make the monitor of one run.

        Args:
            tools: what the run's tools declare themselves; the detector's own declarations win.
            live: False where a recorded run is replayed: what happened is not logged again, and
                the verdicts of a shadow detector are given as they are, since nobody acts on them.
        """
        return LoopMonitor(self, {**(tools or {}), **self.tools}, live)

    def findings(
        self, window: Window, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Iterator[LoopDetection]:
        """Ask every detector in turn; one that raises is logged and has found nothing."""
        for detector, looks_at_window in self._asked:
            try:
                if looks_at_window:
                    found = detector.find(window)  # type: ignore[attr-defined]
                else:
                    found = detector.check(tool_calls, tool_results)
                    found = found and _completed(found, window, len(tool_calls))
                    found = found and _masked(found, self.masking)
            except Exception:
                _logger.exception("detector %r raised; it is left out this time", detector.name)
            else:
                if found is not None:
                    yield found

    def __repr__(self) -> str:
        names = ", ".join(detector.name for detector in self.detectors)
        ladder = " -> ".join(LoopAction(action).value for action in self.escalation.actions)
        return short_repr(self, f"[{names}]", ladder, *(["shadow"] if self.shadow else []))

    def _validate_tools(self) -> None:
        names = [detector.name for detector in self.detectors]
        for tool, policy in self.tools.items():
            for name, threshold in policy.thresholds.items():
                if name not in names:
                    known = ", ".join(names)
                    raise ValueError(f"tools: {tool}: no detector {name!r}; there are {known}")
                if threshold > self.window:
                    raise ValueError(
                        f"tools: {tool}: threshold {threshold} of {name} is more than the"
                        f" window holds; set window={threshold} or more"
                    )

    def _validate(self) -> None:
        if not self.detectors:
            raise ValueError("detectors must name at least one detector, got none")
        check_threshold("window", self.window)
        names = [detector.name for detector in self.detectors]
        for name, ladder in self.escalations.items():
            if name not in names:
                raise ValueError(f"escalations names {name!r}; there are {', '.join(names)}")
            if ladder.max_interventions is not None:
                raise ValueError(
                    f"escalations: {name}: max_interventions is a budget of the whole run;"
                    " give it with policy=Escalation(...)"
                )
        for detector in self.detectors:
            span = getattr(detector, "span", 0)
            if span > self.window:
                raise ValueError(
                    f"{detector.name} looks at {span} rounds, but the window holds {self.window}"
                    f" calls; set window={span} or more"
                )


def _completed(found: LoopDetection, window: Window, given: int) -> LoopDetection:
    """Add what a detector of the user's own left out, and count indices from the run's start."""
    shift = window.call_count - given
    indices = tuple(index + shift for index in found.indices)
    concerned = [item for item in window if item.index in indices]
    members = found.members or tuple(
        item.facts.call for item in concerned or window.rounds[-1].evidence
    )
    tool = found.details.get("tool", "")
    identity = found.identity or f"{found.detector_name}:{tool}"
    return replace(found, identity=identity, indices=indices, members=members)


def _masked(found: LoopDetection, masking: Masking) -> LoopDetection:
    """Mask what a detector of the user's own says; it was shown calls and results as they are."""
    details = masking.value(dict(found.details))
    if not isinstance(details, dict):
        details = {}
    return replace(found, message=masking.text(found.message), details=details)
