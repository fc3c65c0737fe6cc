"""Judging a run while it goes on: each round and event costs the same, however long the run is."""

from collections import deque
from itertools import chain, repeat
from typing import Dict, Hashable, List, Mapping, Optional, Sequence, Tuple, Union

from .._amounts import total
from .._latest import Latest
from .._short_repr import counted, short_repr
from .._waste import Waste
from ..formats import TextMessage
from ..loop_detection import ClientProfile, LoopDetection, LoopVerdict, Opinion, Outcome
from ..loop_detection._internal import Result
from ..stability import beta
from ..traces import RunEvent
from ..types import Role, ToolCall
from ._counting import Hits, Item, RaisedWarning, RuleCounter
from ._profile import HealthProfile, check_profile
from ._report import HealthReport, HealthStatus
from ._rules import PROGRESS, HealthRule, loop_rule, step_of
from ._run_so_far import RunSoFar, SeenCall, Several, handed_to

WARNINGS = 50
"""Warnings of one rule; one more stands for all further loops."""


@beta
class HealthMonitor:
    """Takes the rounds and events of one run in their order, and reports at any time.

    Args:
        profile: the rules; those that decide from evidence by default.

    >>> from antiloop import ToolCall
    >>> monitor = HealthMonitor()
    >>> for _ in range(4):
    ...     monitor.add_round([ToolCall("search", {"q": "cats"})], ["no results"])
    >>> monitor.report().status.value
    'Likely stuck'
    """

    def __init__(self, profile: Optional[HealthProfile] = None) -> None:
        check_profile(profile)
        self._profile = profile or HealthProfile()
        rules = self._profile.rules
        self._of_calls = [(RuleCounter(rule), rule.of_call) for rule in rules if rule.of_call]
        self._of_events = [(RuleCounter(rule), rule.of_event) for rule in rules if rule.of_event]
        detector = self._profile.detector
        self._loops = detector.monitor(live=False, can_ask=False)
        self._run = RunSoFar()
        self._failed = False
        self._raised: Dict[Tuple[str, Hashable], RaisedWarning] = {}
        self._raised_of: Dict[str, int] = {}
        self._verdicts: List[Tuple[int, LoopVerdict]] = []
        self._suspicion: List[Tuple[int, float]] = []
        # A finding names calls of the detector's window, which counts parallel calls once.
        self._unnamed: Latest[int, SeenCall] = Latest(4 * detector.window)
        self._waste = Waste(4 * detector.window)

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self._verdicts), "verdict"))

    def take_opinions(
        self, opinions: Mapping[int, Opinion], client: Union[str, ClientProfile, None] = None
    ) -> None:
        """Take what judges said about the run, by step, before its first call is added.

        Args:
            opinions: by step.
            client: the client's profile, or its name.
        """
        detector = self._profile.detector
        self._loops = detector.monitor(client=client, live=False, can_ask=False, opinions=opinions)

    def add_round(self, calls: Sequence[ToolCall], results: Sequence[Result]) -> None:
        """Take the calls of one reply of the model, and what came back.

        Args:
            calls: in order; see `LoopMonitor.after`.
            results: ``results[i]`` belongs to ``calls[i]``; what is missing, or None, is unknown.
        """
        verdict = self._loops.after(calls, results)
        if self._profile.needs_evidence:
            self._note_news(calls)
        for call, result in zip(calls, chain(results, repeat(None))):
            self._see(call, result)
        if verdict.suspicion:
            self._suspicion.append((self._run.calls - 1, verdict.suspicion))
        self._note_verdict(verdict)

    def add_message(self, message: TextMessage) -> None:
        """Take a message of the model or the user; thoughts do not count.

        The text of a user message may be empty.
        """
        if message.is_summary:
            self._loops.forgot()
        if message.role is Role.USER:
            self.add(RunEvent("user_message", self._run.calls))
        elif message.role is Role.ASSISTANT and not message.is_thought:
            self._note_verdict(self._loops.said(message.text))

    def add(self, event: RunEvent) -> None:
        """Take an event; one with more about a tool call comes after the call's round."""
        run = self._run
        run.events += 1
        if event.type == "user_message":
            self._start_turn()
        elif event.type == "run_failed":
            self._failed = True
        elif event.type in PROGRESS:
            run.progress += 1
        elif event.type == "handoff_started":
            run.hand_over(event)
        self._note_amounts(event)
        self._judge_event(event)

    def end(self, *, failed: bool = False, cost: Optional[float] = None) -> None:
        """Note how the run ended.

        Args:
            failed: whether in failure.
            cost: what all of it cost, where that is known beside the costs of events.
        """
        self._failed = self._failed or failed
        if cost is not None:
            self._run.settle(cost)
            self._judge_event(RunEvent("run_ended", self._run.calls))

    def report(self) -> HealthReport:
        """Return what is known of the run up to now."""
        profile, run = self._profile, self._run
        charged = self._charged()
        warnings = tuple(
            each.warning(profile, run.calls, is_charged=each in charged)
            for each in self._raised.values()
        )
        lost = sum(each.penalty for each in warnings)
        score = int(max(0, 100 - lost - (profile.failure_penalty if self._failed else 0)))
        return HealthReport(
            score,
            self._status(score),
            warnings,
            run.calls,
            self._waste.calls,
            self._waste.tokens,
            run.cost,
            tuple(self._verdicts),
            tuple(self._suspicion),
            self._waste.cost,
        )

    def _charged(self) -> List[RaisedWarning]:
        """Choose the warnings that take something: one of each rule, an open one if there is any.

        A loop that tripped rules of the table is charged by these. The literal table takes the
        penalty of each warning: two loops cost twice as much as one.
        """
        raised = list(self._raised.values())
        if not self._profile.needs_evidence:
            return raised
        by_rule: Dict[str, RaisedWarning] = {}
        for each in sorted(raised, key=lambda each: not each.is_open(self._profile)):
            by_rule.setdefault(each.rule.name, each)
        has_calls = any(each.rule.of_call for each in raised)
        return [each for each in by_rule.values() if not (has_calls and each.rule.is_finding)]

    def _status(self, score: int) -> HealthStatus:
        if self._failed:
            return HealthStatus.FAILED
        if score >= self._profile.healthy_from:
            return HealthStatus.HEALTHY
        is_stuck = score < self._profile.warning_from
        return HealthStatus.LIKELY_STUCK if is_stuck else HealthStatus.WARNING

    def _start_turn(self) -> None:
        """Note that the user spoke: what came before no longer counts."""
        self._loops.user_message()
        if not self._profile.needs_evidence:
            return
        for each in self._raised.values():
            each.quiet_rounds = self._profile.recovery_rounds

    def _note_news(self, calls: Sequence[ToolCall]) -> None:
        """Ask the engine what of a round was new: it ends what needs that nothing is."""
        rounds = self._loops.window.rounds
        latest = rounds[-1].evidence if rounds else []
        new = [each.index for each in latest if each.is_fresh or each.is_change]
        new = [step for step in new if step >= self._run.calls]
        for step in new:
            self._run.new_steps[step] = None
        if new:
            self._run.news += 1
            if any(handed_to(calls[step - self._run.calls].tool_name) is None for step in new):
                self._run.control.clear()
            for each in self._raised.values():
                each.quiet_rounds += 1

    def _see(self, call: ToolCall, result: Result) -> None:
        """Take in one call: a literal profile counts it, another one waits for a finding."""
        window = self._loops.window
        seen = SeenCall(self._run.calls, call, result, window, self._run.progress)
        self._run.calls += 1
        if self._profile.needs_evidence:
            self._unnamed[seen.step] = seen
        else:
            self._judge_call(seen)
        to_agent = handed_to(call.tool_name)
        if to_agent and not (seen.features.outcome.is_failure or self._is_refused(seen)):
            self.add(
                RunEvent("handoff_started", self._run.calls, tool=seen.tool, to_agent=to_agent)
            )

    def _is_refused(self, seen: SeenCall) -> bool:
        rounds = self._loops.window.rounds
        judged = rounds[-1].calls.get(seen.features.call) if rounds else None
        return judged is not None and judged.features.outcome is Outcome.REFUSED

    def _note_verdict(self, verdict: LoopVerdict) -> None:
        if verdict.detection is not None:
            self._verdicts.append((max(0, self._run.calls - 1), verdict))
            self._note_loop(verdict.detection)

    def _note_loop(self, found: LoopDetection) -> None:
        """Take in a loop: calls after its first lap are waste, all are evidence for the rules."""
        steps = found.indices or (max(0, self._run.calls - 1),)
        self._waste.mark(steps, found.wasted_calls)
        if self._profile.needs_evidence:
            self._raise_loop(found, steps)
            for seen in filter(None, [self._unnamed.pop(step, None) for step in steps]):
                self._judge_call(seen)

    def _raise_loop(self, found: LoopDetection, steps: Sequence[int]) -> None:
        rule = loop_rule(found.detector_name, self._profile.loop_penalty)
        raised = self._raised_by(rule, found.identity)
        hits = Hits(len(steps), deque((step, step) for step in steps))
        if raised.grow(found.identity, hits, steps[-1]):
            raised.tell(found.summary, self._loops.window.masking)

    def _judge_call(self, seen: SeenCall) -> None:
        for counter, key_of in self._of_calls:
            key = key_of(seen, self._run, self._profile)
            self._count(counter, key, seen, (seen.step, seen.step))

    def _judge_event(self, event: RunEvent) -> None:
        item = self._run.events, step_of(event)
        for counter, key_of in self._of_events:
            key = key_of(event, self._run, self._profile)
            self._count(counter, key, event, item)

    def _count(
        self, counter: RuleCounter, key: Hashable, what: Union[SeenCall, RunEvent], item: Item
    ) -> None:
        """Count an item if its rule is concerned, and raise the warning where that is enough."""
        if isinstance(key, Several):
            for each in key:
                self._count(counter, each, what, item)
            return
        hits = None if key is None else counter.add(key, item)
        if hits is None:
            return
        rule = counter.rule
        raised = self._raised_by(rule, _owner(rule, key, what))
        if raised.grow(key, hits, item[1]):
            names = {"rule": rule, "run": self._run, "profile": self._profile}
            times = f"{hits.count:,} times"
            if rule.of_call and self._profile.needs_evidence:
                times += " in loops"  # other calls of the tool are not counted
            message = rule.message.format(count=hits.count, times=times, item=what, **names)
            raised.tell(message, self._loops.window.masking)

    def _raised_by(self, rule: HealthRule, owner: Hashable) -> RaisedWarning:
        """Return the warning of a loop; the last one of a rule covers all further loops."""
        if (rule.name, owner) not in self._raised:
            count = self._raised_of.get(rule.name, 0)
            self._raised_of[rule.name] = count + 1
            owner = owner if count < WARNINGS else None
        return self._raised.setdefault((rule.name, owner), RaisedWarning(rule))

    def _note_amounts(self, event: RunEvent) -> None:
        """Take in what an event cost, by its recording or else by the prices."""
        prices = self._profile.prices
        cost = event.cost if prices is None else event.cost_by(prices)
        self._run.spend(cost)
        parts = [event.input_tokens, event.output_tokens]
        tokens = total(parts) if event.tokens is None else event.tokens
        self._waste.add(event.step, tokens, cost)


def _owner(rule: HealthRule, key: Hashable, what: Union[SeenCall, RunEvent]) -> Hashable:
    """Return the owner of a warning: what counts as the same, the tool, or the rule."""
    if rule.per == "tool":
        return what.tool
    return key if rule.per == "key" else None
