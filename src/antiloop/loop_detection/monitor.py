"""The state of one run, and the verdict on each of its rounds."""

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ..exceptions import SnapshotError
from ..short_repr import counted, short_repr
from ..stability import beta
from ..types import ToolCall
from .arguments import check_call, check_listener, check_name, check_round, check_words
from .detection import LoopDetection
from .evidence.call_features import CallFeatures
from .evidence.compared import Result
from .evidence.suspicion import Suspicion
from .evidence.window import Policies, Window
from .ladder import Ladder
from .messages import refusal
from .policy import LoopAction
from .run.blocked import blocked, refused_again, shown_by_refusals
from .run.call_copies import CallCopies
from .run.climbing import heard, stronger, verdict_of
from .run.consultation import Consultation
from .run.listeners import Listener, Listeners
from .run.own_copy import Copied
from .run.reported import Reported
from .run.speech import Speech
from .second_opinion.opinion import opinion_of
from .second_opinion.second_opinion import Answer
from .settings import DetectorSettings
from .snapshot import DAMAGE, check_version, pack, unpack
from .verdict import GO_ON, LoopVerdict

SNAPSHOT_VERSION = 2


@beta
class LoopMonitor(Copied):
    """Watches one run: it keeps a bounded window of calls and the state of each loop.

    Ask `before` whether a call may run, and report the calls of a round and their results to
    `after`. Monitors share nothing, so many runs need no lock.

    Calls are distinguished by their ids: a call that is reported twice counts once. Ids must be
    unique within a run, or within a round if rounds are numbered; otherwise leave them None.
    """

    def __init__(self, detector: DetectorSettings, tools: Policies, live: bool = True) -> None:
        self.enabled = True
        """False switches the monitor off: it records nothing, and every verdict says continue."""
        self._detector = detector
        self._tools = tools
        self._is_live = live
        self.listeners = Listeners.of(detector, live)
        """Who hears of the verdicts, and whether they are logged."""
        self.consultation = Consultation(detector)
        """The second opinion on the run: the judge, and its opinions so far."""
        self._start()

    def _start(self) -> None:
        detector = self._detector
        self._window = Window(
            detector.window, self._tools, detector.counted, detector.masking, not self._is_live
        )
        self._ladder = Ladder(detector.escalation, detector.escalations)
        self.reported = Reported(detector.window)
        """Which calls were reported already."""
        self._speech = Speech(detector.detectors, detector.masking)
        self._suspicion = Suspicion()
        self.consultation.start()
        self._copies = CallCopies.of(detector)

    def __repr__(self) -> str:
        return short_repr(self, counted(self.call_count, "call"), repr(self._ladder))

    @property
    def call_count(self) -> int:
        """Number of recorded calls."""
        return self._window.call_count

    @property
    def window(self) -> Window:
        """The window that the detectors check; read only."""
        return self._window

    @property
    def speech(self) -> Speech:
        """The state of the model's replies; read only."""
        return self._speech

    def before(self, call: ToolCall) -> LoopVerdict:
        """Return whether a call may run; nothing is recorded.

        Returns:
            A verdict with the action ``block`` and the text of the refusal, or with ``continue``.
        """
        check_call(call)
        if not (self.enabled and self._ladder.is_blocking):
            return GO_ON
        policy = self._window.policy(call.tool_name)
        features = CallFeatures.of(call, None, policy, masking=self._window.masking)
        block = self._ladder.refusing(features)
        if block is None:
            return GO_ON
        found = blocked(block, self._window)
        text = refusal(found, features.tool, features.shown.label)
        verdict = LoopVerdict(LoopAction.BLOCK, found, text, suspicion=1.0)
        return self.listeners.acted_on(verdict)

    def after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        """Record one round and judge it.

        Args:
            tool_calls: the calls of one model reply, in order.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; a missing result, or
                None, is unknown. More results than calls raise a ValueError.
        """
        check_round(tool_calls, tool_results)
        if not self.enabled:
            return GO_ON
        calls, results, asked = self.reported.new(tool_calls, tool_results, self._window)
        if not calls:
            return GO_ON
        if self.consultation.is_held:
            self._settle()
        refused_by = self._ladder.refusing if self._ladder.is_blocking else None
        self._window.append(calls, results, asked, refused_by)
        if self.consultation.is_held:
            self.consultation.record(self._window, calls, results)
        if self._copies is not None:
            self._copies.add(calls, results)
        self._speech.moved()
        if refused_by is None and self._is_at_rest():
            return GO_ON
        return self.listeners.report(self._judge())

    def answer(self, opinion: Answer) -> LoopVerdict:
        """Take a judge's answer about the case of the last verdict, and return the final verdict.

        Args:
            opinion: an `Opinion`, True (stuck) or False; any other value leaves the verdict
                unchanged. Without an open question the verdict is ``continue``.
        """
        question = self.consultation.close()
        if question is None:
            return GO_ON
        found = self.consultation.weigh(question, opinion_of(opinion), self._window)
        verdict = replace(question.verdict, case=None)
        if found is not None:
            self._ladder = question.ladder
            verdict = self._climbed(found, verdict.suspicion)
        return stronger(self.listeners.report(verdict), question.words)

    def said(self, text: Optional[str]) -> LoopVerdict:
        """Check a complete reply of the model, before the calls that it requests.

        Args:
            text: the whole text, even if its pieces were given to `saying`; None for no text.
        """
        check_words("said", text)
        if not self.enabled:
            return GO_ON
        return self.listeners.report(self._heard(self._speech.said(text or "")))

    def saying(self, piece: Optional[str]) -> LoopVerdict:
        """Check a reply while it arrives, piece by piece, None for no text; `said` ends it.

        Returns:
            A verdict as soon as the text repeats itself without end; you may then stop reading.
        """
        check_words("saying", piece)
        if not self.enabled:
            return GO_ON
        return self.listeners.report(self._heard(self._speech.saying(piece or "")))

    def record_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, Any], str, None] = None,
        result: Result = None,
    ) -> LoopVerdict:
        """Record one call of a hand-written loop as a separate round, and check it."""
        check_name(tool_name)
        return self.after([ToolCall(tool_name, arguments)], [result])

    def add_listener(self, listener: Listener) -> None:
        """Call a function with every verdict but ``continue``; errors in it are logged."""
        check_listener(listener)
        self.listeners.add(listener)

    def mark_progress(self) -> None:
        """Declare progress: earlier calls no longer count as evidence.

        The ladder position of each loop is kept, in case the run returns to it.
        """
        self._window.clear()
        if self._copies is not None:
            self._copies.clear()
        self._speech.moved()
        self._ladder.leave_all()
        self._suspicion.clear()
        self._settle()
        self.consultation.progress()

    def user_message(self) -> None:
        """Report a user message, which is progress and begins a turn."""
        self.mark_progress()
        self._window.start_turn()
        self.consultation.user_message()

    def reset(self) -> None:
        """Start again as for another run; listeners stay."""
        self._start()

    def snapshot(self) -> Dict[str, Any]:
        """Return the state as plain JSON, mostly 2 to 5 kB.

        With the default window of 50 calls the size is below 10 kB if names, ids and arguments
        take a few dozen characters each, and never above 32 kB, regardless of their length, of the
        results and of the run. Each called tool with a separate limit adds 25 characters, each
        detector with a separate ladder 4 kB, and a judge excerpts of 100 calls, about 70 kB.

        `restore` continues in another process as if nothing had happened, even between the calls
        of one round, if the detector has the same configuration. Two things are lost: custom
        detectors see only later calls, and long arguments of earlier calls stay shortened.
        """
        shown = shown_by_refusals(self._ladder, self._window)
        shown += self.consultation.shown(self._window)
        return {
            "version": SNAPSHOT_VERSION,
            "ladder": self._ladder.to_dict(),
            "reported": self.reported.to_text(),
            "speech": self._speech.to_dict(),
            "window": pack(self._window, shown),
            "suspicion": self._suspicion.to_text(self._window.round_count),
            **self.consultation.to_dict(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Load a state from `snapshot`; it replaces the current state.

        Raises:
            SnapshotError: if the value is not a snapshot, or has another version.
        """
        check_version(snapshot, SNAPSHOT_VERSION)
        self._start()
        try:
            self._load(snapshot)
        except DAMAGE as error:
            self._start()
            raise SnapshotError(f"the snapshot is damaged: {error!r}") from error

    def _load(self, snapshot: Mapping[str, Any]) -> None:
        self._ladder.load(snapshot["ladder"])
        self.reported.load(str(snapshot["reported"]))
        self._speech.load(snapshot["speech"])
        unpack(snapshot["window"], self._window)
        if any(each.refused for each in self._ladder.blocks) and not self._window.rounds:
            raise ValueError("a block without calls")
        self._suspicion.load(snapshot["suspicion"], self._window.round_count)
        self.consultation.load(snapshot)

    def _is_at_rest(self) -> bool:
        """Whether the last round changes no verdict: all detectors ignore it, as most rounds."""
        is_quiet = self._suspicion.is_zero and not self.consultation.is_held
        return is_quiet and self._detector.ignores_new_rounds and self._window.ends_new

    def _judge(self) -> LoopVerdict:
        """Ask all detectors and take the strongest action, the first of equals."""
        calls, results = ((), ()) if self._copies is None else self._copies.lists()
        findings = list(self._detector.findings(self._window, calls, results))
        if self._ladder.is_blocking:
            findings += refused_again(self._ladder, self._window, findings)
        counted = self._suspicion.after(self._window)
        suspicion = 1.0 if findings else counted
        if not self.consultation.is_held:
            return self._climbed(findings, suspicion) if suspicion else GO_ON
        lasting = 1.0 if findings else self._suspicion.lasting
        held, question = self.consultation.review(findings, lasting, self._window, self._ladder)
        return self.consultation.open(question, self._climbed(held, suspicion), self._window)

    def _climbed(self, findings: Sequence[LoopDetection], suspicion: float) -> LoopVerdict:
        """Climb with the findings of the last round."""
        if not findings:
            return LoopVerdict(suspicion=suspicion) if suspicion else GO_ON
        window, rule = self._window, self._detector.inject_message
        verdict = verdict_of(findings, self._ladder, rule, window.round_count, window.call_count)
        self.consultation.acted(verdict.action, window)
        return replace(verdict, suspicion=1.0)

    def _settle(self) -> None:
        """Close a question that got no answer."""
        question = self.consultation.close()
        if question is not None:
            self.listeners.report(question.verdict)

    def _heard(self, findings: List[LoopDetection]) -> LoopVerdict:
        self._settle()
        return heard(findings, self._ladder, self._speech.replies, self._detector.inject_message)
