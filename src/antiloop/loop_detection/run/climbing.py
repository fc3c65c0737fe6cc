"""From findings to a verdict, through the ladder."""

from dataclasses import replace
from typing import Sequence

from ..detection import LoopDetection
from ..ladder import Ladder
from ..messages import MessageRule, words_of_notice
from ..policy import RANK, LoopAction
from ..verdict import GO_ON, LoopVerdict


def verdict_of(
    findings: Sequence[LoopDetection],
    ladder: Ladder,
    rule: MessageRule,
    number: int,
    calls: int = 0,
) -> LoopVerdict:
    """Climb with what was found in the round or reply of that number.

    Args:
        findings: of all detectors.
        ladder: where the loops of the run stand.
        rule: the user's own words for a notice.
        number: of the round or reply.
        calls: how many the run has had; 0 for a reply.
    """
    if not findings:
        return GO_ON
    action, found, rung = ladder.climb(findings, number, calls)
    return GO_ON if found is None else loop_verdict(action, found, rung, rule)


def loop_verdict(
    action: LoopAction, found: LoopDetection, rung: int, rule: MessageRule
) -> LoopVerdict:
    """Return the verdict about a loop, with the message for the model."""
    found = replace(found, severity=action.severity)
    is_notice = action is LoopAction.NOTIFY
    words = words_of_notice(rule, found, rung) if is_notice else found.message
    return LoopVerdict(action, found, words, suspicion=1.0)


def stronger(verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
    """Return the stronger of the verdicts on a round and on the words before it."""
    return max(verdict, words, key=lambda one: RANK[one.reported.action])


def heard(
    findings: Sequence[LoopDetection], ladder: Ladder, number: int, rule: MessageRule
) -> LoopVerdict:
    """Climb with findings about replies; a notice replaces a block, which replies cannot have."""
    verdict = verdict_of(findings, ladder, rule, number)
    if verdict.action is not LoopAction.BLOCK or verdict.detection is None:
        return verdict
    return loop_verdict(LoopAction.NOTIFY, verdict.detection, 0, rule)
