"""The settings of a `LoopDetector`: its detectors, and what to do about their findings."""

import logging
from dataclasses import replace
from typing import Collection, Iterator, List, Mapping, Optional, Sequence, Union

from ..short_repr import short_repr
from ..types import Role, ToolCall
from .arguments import detectors_of, ladders_of, tools_of, words_of
from .choices import choice_of
from .detection import LoopDetection
from .detectors.base import BaseDetector, WindowDetector
from .detectors.text_detector import TextDetector
from .evidence.compared import Result
from .evidence.tool_policy import ToolPolicy
from .evidence.window import Window
from .messages import MessageRule
from .policy import Escalation, LoopAction, LoopPolicy
from .second_opinion.second_opinion import Judge, SecondOpinion, second_opinion_of
from .text.masking import Masking, MaskRule, masking_of
from .threshold import check_flag, check_threshold

NOTICE_ROLES = (Role.SYSTEM, Role.USER)
"""Who may give a notice to the model."""

_logger = logging.getLogger("antiloop")


class DetectorSettings:
    """The checked arguments of a `LoopDetector`, which its monitors read.

    See `LoopDetector` for the arguments.
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
        self.notice_role = choice_of(Role, notice_role, "notice_role", choices=NOTICE_ROLES)
        self.mask = mask
        self.masking = masking_of(mask)
        for name, flag in (("log_verdicts", log_verdicts), ("shadow", shadow)):
            check_flag(name, flag)
        self.log_verdicts = log_verdicts
        self.second_opinion = second_opinion_of(second_opinion)
        self.shadow = shadow
        self._validate()
        self._validate_tools()
        of_calls = [each for each in self.detectors if not isinstance(each, TextDetector)]
        self._asked = [(each, isinstance(each, WindowDetector)) for each in of_calls]
        self._asked_if_new = [
            (each, looks_at_window)
            for each, looks_at_window in self._asked
            if not (isinstance(each, WindowDetector) and each.ignores_new_rounds)
        ]
        self.ignores_new_rounds = not self._asked_if_new
        """Whether a round of new calls with new, successful answers never completes a loop."""
        own = [each for each in self.detectors if isinstance(each, WindowDetector)]
        self.counted = frozenset(name for each in own for name in each.counted)

    def findings(
        self, window: Window, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Iterator[LoopDetection]:
        """Ask every detector in turn; if one raises, log it and go on."""
        asked = self._asked_if_new if window.ends_new else self._asked
        for detector, looks_at_window in asked:
            try:
                if looks_at_window:
                    found = detector.find(window)  # type: ignore[attr-defined]
                elif not window.rounds:
                    continue  # all calls are exempt
                else:
                    found = detector.check(tool_calls, tool_results)
                    if found is not None:
                        found = _completed(found, window, len(tool_calls))
                        found = _masked(found, self.masking)
            except Exception:
                _logger.exception("detector %r raised; it is skipped for this round", detector.name)
            else:
                if found is not None:
                    yield found

    def __repr__(self) -> str:
        names = ", ".join(detector.name for detector in self.detectors)
        ladder = " -> ".join(LoopAction(action).value for action in self.escalation.actions)
        return short_repr(self, f"[{names}]", ladder, *(["shadow"] if self.shadow else []))

    def _validate_names(
        self, tools: Mapping[str, ToolPolicy], others: Collection[str] = ()
    ) -> None:
        """Refuse a threshold for a detector that is neither one of these nor one of the others."""
        names = [detector.name for detector in self.detectors]
        for tool, policy in tools.items():
            for name in policy.thresholds:
                if name not in names and name not in others:
                    known = ", ".join(names)
                    raise ValueError(f"tools: {tool}: no detector {name!r}; there are {known}")

    def _validate_tools(self) -> None:
        self._validate_names(self.tools)
        for tool, policy in self.tools.items():
            for name, threshold in policy.thresholds.items():
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
    """Complete the finding of a custom detector, and count indices from the run's start."""
    if not isinstance(found, LoopDetection):
        raise TypeError(f"check must return a LoopDetection or None, got {found!r}")
    shift = window.call_count - given
    indices = tuple(index + shift for index in found.indices)
    concerned = [item for item in window if item.index in indices]
    members = found.members or tuple(
        item.features.call for item in concerned or window.rounds[-1].evidence
    )
    tool = found.details.get("tool", "")
    identity = found.identity or f"{found.detector_name}:{tool}"
    return replace(found, identity=identity, indices=indices, members=members)


def _masked(found: LoopDetection, masking: Masking) -> LoopDetection:
    """Mask the finding of a custom detector, which sees unmasked calls and results."""
    details = masking.value(dict(found.details))
    if not isinstance(details, dict):
        details = {}
    return replace(found, message=masking.text(found.message), details=details)
