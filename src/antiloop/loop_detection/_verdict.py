"""A verdict: what to do after a round, or about a call."""

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Optional

from .._short_repr import quoted, short_repr
from .._text.masking import SECRETS
from ..exceptions import LoopDetectedError
from ..stability import stable
from ._detection import LoopDetection, LoopSeverity
from ._messages import MessageRule, words_of_notice
from ._policy import RANK, LoopAction
from ._second_opinion.case_file import CaseFile

_logger = logging.getLogger("antiloop")


@stable
@dataclass(frozen=True)
class LoopVerdict:
    """The action to take now, and the reason."""

    action: LoopAction = LoopAction.CONTINUE
    """The action."""
    detection: Optional[LoopDetection] = None
    """The loop that was found; None if there is nothing to do."""
    message: str = ""
    """The message to the model: for ``notify`` the notice, for the ``block`` of
    `LoopMonitor.before` the result of the refused call, and otherwise only the finding."""
    suspicion: float = 0.0
    """The evidence that the run is stuck, from 0 (none) to 1 (a detector found a loop)."""
    case: Optional[CaseFile] = None
    """A question for a judge, or None. Give the answer to `LoopMonitor.answer`, which returns the
    final verdict. Without an answer, this verdict is final."""
    is_shadow: bool = False
    """Whether a shadow detector gave this verdict: its action is reported, and never done."""
    would_be: Optional["LoopVerdict"] = None
    """For a shadow detector: the decision that listeners receive; this verdict says continue."""
    run_id: str = field(default="", compare=False)
    """Id of the run, where its monitor was given one and there is something to do."""

    def __repr__(self) -> str:
        found = [] if self.detection is None else [repr(self.detection)]
        shadow = ["shadow"] if self.is_shadow else []
        shadowed = [] if self.would_be is None else [f"would be {self.would_be.action.value}"]
        return short_repr(self, self.action.value, *shadow, *shadowed, *found)

    @property
    def decision(self) -> "LoopVerdict":
        """The verdict that listeners and observers receive: in shadow mode `would_be`."""
        return self.would_be or self

    @property
    def loop(self) -> LoopDetection:
        """The loop that was found: `detection`, for every action but ``continue``.

        Type checkers know that it is there.

        Raises:
            ValueError: if no loop was found.
        """
        if self.detection is None:
            raise ValueError("no loop was found: the action is continue")
        return self.detection

    @property
    def severity(self) -> LoopSeverity:
        """Severity of the action."""
        return self.action.severity

    def as_error(self) -> LoopDetectedError:
        """Return the loop as an exception, to end a run with it.

        Raises:
            ValueError: if no loop was found.
        """
        return self.loop.as_error()

    def raise_if_looping(self) -> None:
        """Raise an exception if the action ends the run; otherwise do nothing.

        Raises:
            LoopDetectedError: with the detection.
        """
        if self.action.ends_run:
            raise self.as_error()

    def log(self) -> None:
        """Log the decision: a notice as a warning, a stronger action as an error."""
        decision = self.decision
        level = logging.ERROR if decision.severity is LoopSeverity.CRITICAL else logging.WARNING
        shadow = "shadow: " if decision.is_shadow else ""
        run = f" in run {quoted(decision.run_id)}" if decision.run_id else ""
        said = SECRETS.text(decision.summary)  # a tool may be called by one
        _logger.log(level, "%s%s%s: %s", shadow, decision.action.value, run, said)

    def to_dict(self) -> Dict[str, Any]:
        """Return what a person needs of the verdict as plain JSON, without secrets."""
        found = self.detection
        named = found.calls if found else ()
        return {
            "detector": found.detector_name if found else "",
            "action": self.action.value,
            "severity": self.severity.value,
            "message": SECRETS.text(self.summary),
            "calls": [
                {"tool": SECRETS.name(tool), "arguments": SECRETS.text(arguments)}
                for tool, arguments in named
            ],
            "answer": SECRETS.text(found.answer) if found else "",
        }

    @property
    def summary(self) -> str:
        """The finding for a person; see `LoopDetection.summary`. Empty if there is nothing."""
        return self.message if self.detection is None else self.detection.summary


GO_ON = LoopVerdict()
"""The verdict that says continue."""


def verdict_about(
    action: LoopAction, found: LoopDetection, rung: int, rule: MessageRule
) -> LoopVerdict:
    """Return the verdict about a loop, with the message for the model.

    Args:
        action: what to do.
        found: the loop.
        rung: how many rungs of the ladder it has climbed.
        rule: the user's own words for a notice.
    """
    found = replace(found, severity=action.severity)
    is_notice = action is LoopAction.NOTIFY
    words = words_of_notice(rule, found, rung) if is_notice else found.message
    return LoopVerdict(action, found, words, suspicion=1.0)


def stronger(verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
    """Return the stronger of the verdicts on a round and on the words before it."""
    return max(verdict, words, key=lambda one: RANK[one.decision.action])
