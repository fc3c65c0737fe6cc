"""The settings of a `LoopDetector`: its detectors, and what to do about their findings."""

import logging
from typing import FrozenSet, Iterator, Mapping, Optional, Sequence, Tuple, Type, Union

from .._checks import check_flag, check_threshold, choice_of
from .._frozen import FrozenDict, Unchangeable
from .._short_repr import short_repr
from .._text.masking import Masking, MaskRule, masking_of
from ..types import Role, ToolCall
from ._arguments import detectors_of, ladders_of, message_rule_of, tools_of
from ._detection import LoopDetection
from ._detectors.base import BaseDetector, WindowDetector, check_finding, keys_of
from ._detectors.call_limit import CallLimitDetector
from ._detectors.custom import completed, hint_at_results
from ._detectors.ping_pong import PingPongDetector
from ._detectors.text_detector import TextDetector
from ._evidence.answered import Result
from ._evidence.keys import Keys
from ._evidence.tool_policy import Policies, ToolPolicy
from ._evidence.window import USUAL_SIZE, Window
from ._messages import MessageRule
from ._policy import Escalation, LoopAction, LoopPolicy
from ._profiles import ClientProfile
from ._second_opinion.opinion import Judge, SecondOpinion, second_opinion_of

NOTICE_ROLES = (Role.SYSTEM, Role.USER)
"""The roles in which a notice may be given to the model."""

_logger = logging.getLogger("antiloop")


class DetectorSettings(Unchangeable):
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
        window: int = USUAL_SIZE,
        tools: Optional[Mapping[str, ToolPolicy]] = None,
        notice_role: Role = Role.SYSTEM,
        mask: MaskRule = "secrets",
        log_verdicts: bool = False,
        second_opinion: Union[SecondOpinion, Judge, None] = None,
        shadow: bool = False,
    ) -> None:
        self.detectors: Tuple[BaseDetector, ...] = detectors_of(detectors)
        if not isinstance(policy, Escalation):
            policy = choice_of(LoopPolicy, policy, "policy", ", or pass an Escalation")
        self.policy = policy
        self.escalation: Escalation = (
            policy.escalation if isinstance(policy, LoopPolicy) else policy
        )
        self.escalations: Mapping[str, Escalation] = FrozenDict(ladders_of(escalations))
        self.inject_message: MessageRule = message_rule_of(inject_message)
        self.window = window
        self.tools: Mapping[str, ToolPolicy] = FrozenDict(tools_of(tools))
        self.notice_role: Role = choice_of(Role, notice_role, "notice_role", choices=NOTICE_ROLES)
        self.mask = mask
        self.masking: Masking = masking_of(mask)
        for name, flag in (("log_verdicts", log_verdicts), ("shadow", shadow)):
            check_flag(name, flag)
        self.log_verdicts = log_verdicts
        self.second_opinion: Optional[SecondOpinion] = second_opinion_of(second_opinion)
        self.shadow = shadow
        self._validate()
        self._check_thresholds(self.tools, {})
        self._asked = [each for each in self.detectors if not isinstance(each, TextDetector)]
        self._asked_if_new = [
            each
            for each in self._asked
            if not (isinstance(each, WindowDetector) and each.ignores_new_rounds)
        ]
        own = [each for each in self.detectors if isinstance(each, WindowDetector)]
        self.counted: FrozenSet[str] = frozenset(name for each in own for name in each.counted)
        self.keys: Keys = FrozenDict(keys_of(own))
        """The keys that the detectors compare by, by name."""

    def findings(
        self, window: Window, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]
    ) -> Iterator[LoopDetection]:
        """Ask every detector in turn; if one raises, log it and go on."""
        if not window.rounds:
            return  # all calls are exempt
        for detector in self._asked_if_new if window.ends_new else self._asked:
            found: Optional[LoopDetection] = None
            try:
                if isinstance(detector, WindowDetector):
                    found, given = detector.find(window), window.call_count
                else:
                    found, given = detector.check(tool_calls, tool_results), len(tool_calls)
                if found is None:
                    continue
                check_finding(detector, found)
                # What our own detectors find is complete, and masked.
                is_whole = found.identity and found.indices
                if not (is_whole and isinstance(detector, WindowDetector)):
                    found = completed(found, window, given, self.masking)
            except Exception as error:
                _logger.exception("detector %r raised; it is skipped for this round", detector.name)
                # One that has returned something has read the results.
                if found is None and not isinstance(detector, WindowDetector):
                    hint_at_results(detector, error, tool_results)
            else:
                yield found

    def __repr__(self) -> str:
        names = ", ".join(detector.name for detector in self.detectors)
        ladder = " -> ".join(LoopAction(action).value for action in self.escalation.actions)
        return short_repr(self, f"[{names}]", ladder, *(["shadow"] if self.shadow else []))

    def _check_thresholds(
        self, tools: Mapping[str, ToolPolicy], others: Mapping[str, Type[BaseDetector]]
    ) -> None:
        """Refuse thresholds of tools that cannot count.

        Args:
            tools: the policies.
            others: further detectors that the policies may name, which are not asked here.
        """
        asked = {detector.name: detector for detector in self.detectors}
        for tool, policy in tools.items():
            for name, threshold in policy.thresholds.items():
                detector = asked.get(name)
                kind = others.get(name) if detector is None else type(detector)
                if kind is None:
                    known = ", ".join(asked)
                    raise ValueError(f"tools: {tool}: no detector {name!r}; there are {known}")
                if not issubclass(kind, WindowDetector) or issubclass(kind, CallLimitDetector):
                    raise ValueError(
                        f"tools: {tool}: {name} has no thresholds of tools{_instead(kind, tool)}"
                    )
                # A lap of a cycle is two calls or more.
                needed = threshold * (2 if issubclass(kind, PingPongDetector) else 1)
                if detector is not None and needed > self.window:
                    raise ValueError(
                        f"tools: {tool}: threshold {threshold} of {name} is more than the"
                        f" window holds; set window={needed} or more"
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


def _instead(kind: Type[BaseDetector], tool: str) -> str:
    """Return a hint to what does for a tool what its threshold would not do."""
    if not issubclass(kind, CallLimitDetector):
        return ""
    return f"; pass CallLimitDetector(per_tool={{{tool!r}: ...}})"


def new_window(settings: DetectorSettings, tools: Policies, client: ClientProfile) -> Window:
    """Make the empty window of a run."""
    return Window(
        size=settings.window,
        policies=tools,
        counted=settings.counted,
        masking=settings.masking,
        keys=settings.keys,
        client=client,
    )
