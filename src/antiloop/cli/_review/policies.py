"""Choose policies for tools by labels: what each would leave and cost, and which is taken.

A tool over which good runs were stopped may have a higher threshold, be declared a poll, or be
exempt. Each is tried with thresholds that are fitted again. This decides, in order, which one is
taken:

1. One that costs labeled loops which the thresholds alone would keep is never taken, nor one with
   which a threshold is raised that would else stay: a poll with a high threshold is a threshold
   that was raised many times.
2. Being exempt is not taken where no labeled loop has the tool: it would cost nothing there
   whatever it cost elsewhere, and switches all detectors off for the tool.
3. Of the others the one is taken that stops the fewest good runs, then the one that loses the
   fewest loops. Where it makes no difference, a threshold comes before a poll: longer loops of the
   tool are still found then.
"""

from collections import Counter
from dataclasses import replace
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from ...calibration import Calibration, Tally
from ...loop_detection import LoopDetector, ToolPolicy
from .labels import Reviewed
from .recall import Recall, recall_of

TOOLS = 10
"""The number of tools that policies are tried for: those that stopped the most good runs."""
THRESHOLDS, POLL, EXEMPT = "thresholds", "poll", "exempt"
Fit = Callable[[Mapping[str, ToolPolicy]], Calibration]
"""Calibrates with these policies added to the detector's own."""


class Choice(NamedTuple):
    """A policy of a tool, and the result of it together with fitted thresholds."""

    tool: str
    name: str
    """``thresholds``, ``poll`` or ``exempt``."""
    stopped: int
    """Good runs that are still stopped."""
    not_caught: int
    """Labeled loops that are no longer found."""
    not_ended: int
    """Labeled loops in which nothing is blocked or ended any more."""
    is_known: bool
    """Whether a labeled loop has the tool, so that the costs say something."""
    needs_more: bool = False
    """Whether it also needs a threshold raised that would stay without it."""
    is_taken: bool = False


class _Plan(NamedTuple):
    done: Calibration
    recall: Recall

    @property
    def raised(self) -> Set[Tuple[str, str]]:
        """Return the thresholds that differ from those of the detector."""
        return {(each.detector, each.option) for each in self.done.changes if each.detector}

    def lost(self, was: Recall) -> Tuple[int, int]:
        """Return how many labeled loops are no longer found, and no longer ended."""
        return was.caught - self.recall.caught, was.ended - self.recall.ended


def with_policies(
    reviewed: Reviewed, detector: LoopDetector, fit: Fit
) -> Tuple[Calibration, List[Choice]]:
    """Calibrate with the policies that good runs need; return all that were tried, too."""
    was, known = recall_of(reviewed.stuck, detector), _tools_of_loops(reviewed)
    policies: Dict[str, ToolPolicy] = {}
    plan, tried = _plan(reviewed, fit, policies), []
    for tool in _blamed(plan.done.before):
        plans = {THRESHOLDS: (plan, policies)}
        for name, policy in _policies(detector.tools.get(tool, ToolPolicy())):
            declared = {**policies, tool: policy}
            plans[name] = _plan(reviewed, fit, declared), declared
        choices = [
            Choice(
                *(tool, name, len(each.done.after.stops), *each.lost(was)),
                is_known=tool in known,
                needs_more=not each.raised <= plan.raised,
            )
            for name, (each, _) in plans.items()
        ]
        taken = _taken(choices, max(0, plan.done.stops_allowed))
        plan, policies = plans[taken.name]
        tried += [each._replace(is_taken=each is taken) for each in choices]
    return plan.done, tried


def _plan(reviewed: Reviewed, fit: Fit, policies: Mapping[str, ToolPolicy]) -> _Plan:
    done = fit(policies)
    return _Plan(done, recall_of(reviewed.stuck, LoopDetector.from_config(done.config)))


def _taken(choices: List[Choice], allowed: int) -> Choice:
    first = choices[0]
    possible = [
        each
        for each in choices
        if each.not_caught <= first.not_caught
        and each.not_ended <= first.not_ended
        and not each.needs_more
        and (each.is_known or each.name != EXEMPT)
    ]
    # The thresholds alone come first, and `min` keeps the first of equals.
    return min(possible, key=lambda one: (max(allowed, one.stopped), one.not_ended, one.not_caught))


def _policies(own: ToolPolicy) -> Iterator[Tuple[str, ToolPolicy]]:
    if not own.poll:
        yield POLL, replace(own, poll=True)
    if not own.exempt:
        yield EXEMPT, replace(own, exempt=True)


def _blamed(before: Tally) -> List[str]:
    """Name the tools over which alone good runs were stopped, the most often one first."""
    counts: Counter[str] = Counter()
    for stop in before.stops:
        tools = {stop.run.calls[index].tool_name for index in stop.began.indices}
        counts.update(tools if len(tools) == 1 else ())
    return [tool for tool, _ in counts.most_common(TOOLS)]


def _tools_of_loops(reviewed: Reviewed) -> Set[str]:
    return {
        call.tool_name
        for run, stretches in reviewed.stuck
        for first, last in stretches
        for call in run.calls[first : last + 1]
    }
