"""The state of one run, and the verdict on each of its rounds."""

from collections import deque
from dataclasses import replace
from itertools import zip_longest
from typing import (
    Any,
    Deque,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from ..exceptions import SnapshotError
from ..short_repr import counted, short_repr
from ..stability import beta
from ..types import ToolCall
from .arguments import check_call, check_round
from .detection import LoopDetection
from .detectors.base import WindowDetector
from .detectors.text_detector import TextDetector
from .evidence.call_features import CallFeatures
from .evidence.compared import Result
from .evidence.suspicion import Suspicion
from .evidence.tool_policy import ToolPolicy
from .evidence.window import Policies, Window
from .ladder import Ladder
from .messages import refusal
from .policy import LoopAction
from .run.blocked import blocked, refused_again, shown_by_refusals
from .run.climbing import heard, verdict_of
from .run.consultation import Consultation
from .run.listeners import Listener, Listeners
from .run.own_copy import Copied, own_copy
from .run.reported import Reported
from .run.speech import Speech
from .second_opinion.opinion import opinion_of
from .second_opinion.second_opinion import Answer
from .settings import DetectorSettings
from .snapshot import check_version, pack, unpack
from .verdict import GO_ON, LoopVerdict

SNAPSHOT_VERSION = 2


@beta
class LoopMonitor(Copied):
    """Watches one run: a bounded window of fingerprints, and where each loop stands.

    Ask `before` whether a call may run, tell `after` what the calls of a round gave. Monitors share
    nothing, so many runs need no lock.

    Calls are told apart by their ids: one that is reported twice counts once. Ids must differ
    within a run, or within a round where rounds are numbered; leave them None where they do not.
    """

    def __init__(self, detector: DetectorSettings, tools: Policies, live: bool = True) -> None:
        self.enabled = True
        """False switches everything off: nothing is recorded, every verdict is to go on."""
        self._detector = detector
        self._tools = tools
        logs, shadow = detector.log_verdicts and live, detector.shadow and live
        self._listeners = Listeners(logs=logs, shadow=shadow)
        self.consultation = Consultation(detector)
        """Who is asked for a second opinion on the run, and what was said."""
        self._start()

    def _start(self) -> None:
        detector = self._detector
        self._window = Window(detector.window, self._tools, detector.counted, detector.masking)
        self._ladder = Ladder(detector.escalation, detector.escalations)
        self._reported = Reported(detector.window)
        self._speech = Speech(detector.detectors, detector.masking)
        self._suspicion = Suspicion()
        self.consultation.start()
        ours = (WindowDetector, TextDetector)
        keeps_texts = not all(isinstance(each, ours) for each in detector.detectors)
        # Only a detector of the user's own looks at texts.
        self._texts: Optional[Deque[Tuple[ToolCall, Result]]] = (
            deque(maxlen=detector.window) if keeps_texts else None
        )

    def __repr__(self) -> str:
        return short_repr(self, counted(self.call_count, "call"), repr(self._ladder))

    @property
    def call_count(self) -> int:
        """How many calls were recorded."""
        return self._window.call_count

    @property
    def window(self) -> Window:
        """What the detectors look at, to be read only."""
        return self._window

    @property
    def speech(self) -> Speech:
        """What is known of the model's replies, to be read only."""
        return self._speech

    def before(self, call: ToolCall) -> LoopVerdict:
        """Say whether a call may run; nothing is recorded.

        Returns:
            A verdict with the action ``block`` and the words of the refusal, or to go on.
        """
        check_call(call)
        if not (self.enabled and self._ladder.is_blocking):
            return GO_ON
        features = CallFeatures.of(call, None, self._policy(call), masking=self._window.masking)
        block = self._ladder.refusing(features)
        if block is None:
            return GO_ON
        found = blocked(block, self._window)
        verdict = LoopVerdict(
            LoopAction.BLOCK, found, refusal(found, features.tool, features.shown)
        )
        return self._listeners.acted_on(verdict)

    def after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        """Record one round and judge it.

        Args:
            tool_calls: the calls of one model reply, in order.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; what is missing, or
                None, is unknown. More results than calls are refused with a ValueError.
        """
        check_round(tool_calls, tool_results)
        if not self.enabled:
            return GO_ON
        calls, results, asked = self._reported.new(tool_calls, tool_results, self._policy)
        if not calls:
            return GO_ON
        if self.consultation.is_held:
            self._settle()
        self._window.append(calls, results, asked, self._ladder.may_refuse)
        self.consultation.record(self._window, calls, results)
        if self._texts is not None:
            pairs = zip_longest(calls, results[: len(calls)])
            self._texts.extend(own_copy(*pair) for pair in pairs)
        self._speech.moved()
        return self._listeners.told(self._judge())

    def answer(self, opinion: Answer) -> LoopVerdict:
        """Take what a judge says about the case of the last verdict, and give the final verdict.

        Args:
            opinion: an `Opinion`, True or False; anything else is no opinion, and the verdict
                stays as it was. Where no question is open, it is to go on.
        """
        question = self.consultation.close()
        if question is None:
            return GO_ON
        found = self.consultation.weigh(question, opinion_of(opinion), self._window)
        verdict = replace(question.verdict, case=None)
        if found is not None:
            self._ladder = question.ladder
            verdict = self._climbed(found, verdict.suspicion)
        return self._listeners.told(verdict)

    def said(self, text: str) -> LoopVerdict:
        """Judge a reply of the model that is complete, before the calls that it asks for.

        Args:
            text: the whole of it, also where its pieces were given to `saying`.
        """
        if not self.enabled:
            return GO_ON
        return self._listeners.told(self._heard(self._speech.said(text)))

    def saying(self, piece: str) -> LoopVerdict:
        """Judge a reply that still arrives, piece by piece; `said` ends it.

        Returns:
            A verdict as soon as the text repeats itself without end: the rest need not be read.
        """
        if not self.enabled:
            return GO_ON
        return self._listeners.told(self._heard(self._speech.saying(piece)))

    def record_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, Any], str, None] = None,
        result: Result = None,
    ) -> LoopVerdict:
        """Record one call of a hand-written loop as a round of its own, and judge it."""
        return self.after([ToolCall(tool_name, arguments)], [result])

    def add_listener(self, listener: Listener) -> None:
        """Tell a function every verdict that is more than to go on; what it raises is logged."""
        self._listeners.add(listener)

    def mark_progress(self) -> None:
        """Say that something has moved: what came before is no evidence any more.

        Where a loop stood on the ladder is remembered, should the run come back to it.
        """
        self._window.clear()
        if self._texts is not None:
            self._texts.clear()
        self._speech.moved()
        self._ladder.leave_all()
        self._suspicion.clear()
        self._settle()
        self.consultation.progress()

    def user_message(self) -> None:
        """Say that the user has spoken, which is progress and begins a turn."""
        self.mark_progress()
        self._window.start_turn()
        self.consultation.user_message()

    def reset(self) -> None:
        """Start anew, as for another run; listeners stay."""
        self._start()

    def snapshot(self) -> Dict[str, Any]:
        """Give the state as plain JSON, mostly 2 to 5 kB.

        With the default window of 50 calls it is less than 10 kB where names, ids and arguments
        take a few dozen characters each, and never more than 32 kB, whatever their length and
        that of results and of the run. Add 25 characters for each tool with a
        limit of its own that was called, and 4 kB for each detector with a ladder of its own.

        `restore` in another process, of a detector with the same configuration, goes on as if
        nothing had happened, also between the calls of one round. Two things are not kept:
        detectors of the user's own see the calls since then only, and long arguments of calls that
        were recorded before stand shortened in the details of a detection.
        """
        return {
            "version": SNAPSHOT_VERSION,
            "ladder": self._ladder.to_dict(),
            "reported": self._reported.to_text(),
            "speech": self._speech.to_dict(),
            "window": pack(self._window, shown_by_refusals(self._ladder, self._window)),
            "suspicion": self._suspicion.to_text(),
            **self.consultation.to_dict(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a state that `snapshot` gave; what was known before is forgotten.

        Raises:
            SnapshotError: if it is no snapshot, or one of another version.
        """
        check_version(snapshot, SNAPSHOT_VERSION)
        self._start()
        try:
            self._load(snapshot)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            self._start()
            raise SnapshotError(f"the snapshot is damaged: {error!r}") from error

    def _load(self, snapshot: Mapping[str, Any]) -> None:
        self._ladder.load(snapshot["ladder"])
        self._reported.load(str(snapshot["reported"]))
        self._speech.load(snapshot["speech"])
        unpack(snapshot["window"], self._window)
        self._suspicion.load(snapshot["suspicion"], self._window.round_count)
        self.consultation.load(snapshot)

    def _judge(self) -> LoopVerdict:
        """Ask all detectors and take the strongest action, the first of equals."""
        calls, results = zip(*self._texts) if self._texts else ((), ())
        findings = list(self._detector.findings(self._window, calls, results))
        if self._ladder.is_blocking:
            findings += refused_again(self._ladder, self._window, findings)
        consultation, ladder = self.consultation, self._ladder
        counted_only = self._suspicion.after(self._window)
        suspicion = 1.0 if findings else counted_only
        if not consultation.is_held:
            return self._climbed(findings, suspicion)
        held, question = consultation.review(findings, suspicion, self._window, ladder)
        return consultation.open(question, self._climbed(held, suspicion), self._window)

    def _climbed(self, findings: Sequence[LoopDetection], suspicion: float) -> LoopVerdict:
        """Climb with the findings of the last round."""
        if not findings:
            return LoopVerdict(suspicion=suspicion) if suspicion else GO_ON
        number, rule = self._window.round_count, self._detector.inject_message
        verdict = verdict_of(findings, self._ladder, number, rule)
        return replace(verdict, suspicion=1.0)

    def _settle(self) -> None:
        """Let a question be over to which nobody has given an answer."""
        question = self.consultation.close()
        if question is not None:
            self._listeners.told(question.verdict)

    def _heard(self, findings: List[LoopDetection]) -> LoopVerdict:
        self._settle()
        return heard(findings, self._ladder, self._speech.replies, self._detector.inject_message)

    def _policy(self, call: ToolCall) -> ToolPolicy:
        return self._window.policy(call.tool_name)
