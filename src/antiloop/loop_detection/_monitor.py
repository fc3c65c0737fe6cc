"""The state of one run, and the verdict on each of its rounds."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple, Union

from .._decision_time import Measure
from .._short_repr import counted, short_repr
from ..exceptions import SnapshotError
from ..stability import stable
from ..types import ToolCall
from ._arguments import check_call, check_name, checked_words, whole_result
from ._detection import LoopDetection
from ._detectors.custom import CallCopies
from ._evidence.answered import Result
from ._evidence.forgetting import known_after
from ._evidence.suspicion import Suspicion
from ._evidence.tool_policy import Policies
from ._evidence.window import Window
from ._ladder import Ladder
from ._lists import check_round
from ._profiles import NO_CLIENT, ClientProfile
from ._project.environment import DISABLED, SHADOW, is_on
from ._run.inquiry import Act, Inquiry
from ._run.listeners import Event, Listener, Listeners
from ._run.reported import AllOrNothing, OneThread, Reported
from ._run.speech import Counts, Speech
from ._second_opinion.opinion import Answer, Opinion, opinion_of
from ._settings import DetectorSettings, new_window
from ._snapshot import DAMAGE, check_version, pack, unpack
from ._verdict import GO_ON, LoopVerdict, stronger, verdict_about

SNAPSHOT_VERSION = 10


@stable
class LoopMonitor:
    """Watches one run: it keeps a bounded window of calls and the state of each loop.

    Ask `before` whether a call may run, and report a round and its results to `after`. Monitors
    share nothing, so many runs need no lock. Two threads must not use one: `after` raises an error.

    Calls are distinguished by their ids: a call that is reported twice counts once. Ids must be
    unique within a run, or within a round if rounds are numbered; otherwise leave them None.
    """

    def __init__(
        self,
        detector: DetectorSettings,
        tools: Policies,
        client: ClientProfile = NO_CLIENT,
        *,
        run_id: str = "",
        live: bool = True,
        logs: bool = True,
        can_ask: bool = True,
        opinions: Optional[Mapping[int, Opinion]] = None,
        measure: Optional[Measure] = None,
    ) -> None:
        self._one_thread = OneThread()
        self.enabled: bool = not (live and is_on(DISABLED))
        """False switches the monitor off: it records nothing, and every verdict says continue."""
        self._detector, self._tools, self._client = detector, tools, client
        logs, shadow = live and logs and detector.log_verdicts, detector.shadow or is_on(SHADOW)
        self._listeners = Listeners(run_id, measure, logs=logs, shadow=live and shadow)
        self._recorded, self._can_ask = dict(opinions or {}), can_ask
        self._start()

    def _start(self) -> None:
        detector = self._detector
        self._window = new_window(detector, self._tools, self._client)
        self._ladder = Ladder(detector.escalation, detector.escalations)
        self._reported = Reported(detector.window)
        self._speech = Speech(detector.detectors, detector.masking)
        self._suspicion = Suspicion()
        run_id, opinions = self.run_id, self._recorded
        self._inquiry = Inquiry(detector, run_id, self._window, opinions, can_ask=self._can_ask)
        self._copies = CallCopies(detector.detectors, detector.window)

    def __repr__(self) -> str:
        return short_repr(self, counted(self.call_count, "call"), repr(self._ladder))

    def __copy__(self) -> "LoopMonitor":
        return deepcopy(self)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "LoopMonitor":
        detector, other = self._detector, object.__new__(type(self))
        # These keep no state, so copies share them; a judge may not even be copied.
        for shared in (detector, detector.masking, detector.second_opinion, self._tools):
            memo[id(shared)] = shared
        other.__dict__.update(deepcopy(self.__dict__, memo))
        return other

    @property
    def run_id(self) -> str:
        """Id of the run; empty if none was given."""
        return self._listeners.run_id

    @property
    def call_count(self) -> int:
        """Number of recorded calls."""
        return self._window.call_count

    @property
    def window(self) -> Window:
        """The calls and results that the detectors check; read only."""
        return self._window

    @property
    def opinions(self) -> Dict[int, Opinion]:
        """The opinions that counted so far, by the step after which they were given."""
        return self._inquiry.opinions

    def counts_of_words(self) -> Counts:
        """Yield each detector of words with how often it has counted those in question."""
        return self._speech.counts()

    def before(self, call: ToolCall) -> LoopVerdict:
        """Return ``block`` with the text of the refusal, or ``continue``; nothing is recorded."""
        check_call(call)
        if not self.enabled:
            return GO_ON
        with self._listeners.measure():
            return self._listeners.to_act_on(self._ladder.blocks.before(call, self._window))

    def after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        """Record one round and judge it.

        Args:
            tool_calls: the calls of one model reply, in order.
            tool_results: ``tool_results[i]`` belongs to ``tool_calls[i]``; a missing result, or
                None, is unknown. More results than calls raise a ValueError.

        If it is interrupted or raises, nothing is recorded, so the round can be reported again.
        """
        check_round(tool_calls, tool_results)
        if not self.enabled:
            return GO_ON
        with self._one_thread, AllOrNothing(self._parts):
            with self._listeners.measure():
                verdict = self._after(tool_calls, tool_results)
            return self._listeners.tell_observers(verdict)

    @property
    def _parts(self) -> Tuple[object, ...]:
        """The objects that a round changes."""
        own = (self._reported, self._suspicion, self._listeners, self._copies)
        return (*own, *self._window.parts, *self._ladder.parts, *self._inquiry.parts)

    def _after(self, tool_calls: Sequence[ToolCall], tool_results: Sequence[Result]) -> LoopVerdict:
        new = self._reported.new(tool_calls, tool_results, self._window)
        if not new:
            return GO_ON
        calls, results, asked = zip(*new)
        self._settle()  # the host goes on without an answer to the last question
        self._listeners.round(calls, results)
        # Before the round: what is found in it refuses no call of it.
        refused_by = self._ladder.blocks.refusing if self._ladder.blocks else None
        self._window.append(calls, results, asked, refused_by)
        self._inquiry.record(calls, results, asked)
        self._copies.add(calls, results)
        self._speech.moved()
        return self._listeners.tell_functions(self._judge())

    def answer(self, opinion: Answer) -> LoopVerdict:
        """Take a judge's answer about the case of the last verdict, and return the final verdict.

        Args:
            opinion: an `Opinion`, True (stuck) or False; any other value leaves the verdict
                unchanged. Without an open question the verdict is ``continue``.
        """
        question = self._inquiry.close()
        if question is None:
            return GO_ON
        said = opinion_of(opinion)
        self._listeners.tell_event("on_second_opinion", question.case, said)
        found, verdict = self._inquiry.answered(said, question.found), question.verdict
        # What holds has climbed already, and a notice is worded once by a function of the user's.
        if found is not question.found:
            self._ladder = question.ladder
            verdict = self._climbed(found, verdict.suspicion)
        verdict = stronger(self._listeners.tell_functions(verdict), question.words)
        return self._listeners.tell_observers(verdict)

    def said(self, text: Optional[str]) -> LoopVerdict:
        """Check a complete reply of the model, before the calls that it requests.

        Args:
            text: the whole text, even if its pieces were given to `saying`; None for no text.
        """
        words = checked_words("said", text)
        if not self.enabled:
            return GO_ON
        with self._listeners.measure():
            self._inquiry.said(words)
            self._listeners.said("on_said", words)
            return self._listeners.report_words(self._heard(self._speech.said(words)))

    def saying(self, piece: Optional[str]) -> LoopVerdict:
        """Check a reply while it arrives, piece by piece, None for no text; `said` ends it.

        Returns:
            A verdict as soon as the text repeats itself without end; you may then stop reading.
        """
        return self._piece("saying", piece, self._speech.saying)

    def thinking(self, piece: Optional[str]) -> LoopVerdict:
        """Check what the model thinks while it arrives, piece by piece; the reply ends it.

        Only a `ChantDetector` looks at it, and the verdict is like that of `saying`. Thoughts are
        never kept, quoted or judged otherwise.
        """
        return self._piece("thinking", piece, self._speech.thinking)

    def _piece(self, method: str, piece: Optional[str], count: Any) -> LoopVerdict:
        words = checked_words(method, piece)
        if not self.enabled:
            return GO_ON
        return self._listeners.report_words(self._heard(count(words)))

    def with_words(self, verdict: LoopVerdict, words: LoopVerdict) -> LoopVerdict:
        """Return the verdict on a whole reply: the stronger one on its round and on its words.

        An open question comes first, unless the words end the run. The words are then weighed when
        it is answered. `verdict` comes from `after`, and `words` from `said` or `saying`.
        """
        return self._inquiry.with_words(verdict, words)

    def recall(self, known: Sequence[Optional[Opinion]], *, can_ask: bool) -> None:
        """Provide the answer that a judge gave about the next round before, for a replay.

        `known` holds the answer, None for no opinion; it is empty if no judge was asked. `can_ask`
        says whether a question may be asked now; an answer that is known counts anyway.
        """
        self._inquiry.recall(known, can_ask=can_ask)

    def record_call(
        self,
        tool_name: str,
        arguments: Union[Mapping[str, Any], str, None] = None,
        result: Result = None,
        *,
        is_error: bool = False,
        started_at: Optional[float] = None,
        duration_s: Optional[float] = None,
    ) -> LoopVerdict:
        """Record one call of a hand-written loop as a separate round, and check it.

        `is_error` says that the call failed, like `ToolResult.is_error`. `started_at`, in seconds
        since 1970, and `duration_s` help to judge waits.
        """
        check_name(tool_name)
        call = ToolCall(tool_name, arguments, started_at=started_at)
        return self.after([call], [whole_result(result, duration_s, is_error=is_error)])

    def add_listener(self, listener: Listener) -> None:
        """Call a function with every verdict but ``continue``, or the methods of an observer.

        An observer receives the same events as from an `Agent` or an adapter.
        """
        self._listeners.add(listener)

    def last_reply(self) -> List[Event]:
        """Return, once, the events of the last reply; adapters pass them to their observers."""
        return self._listeners.taken()

    def mark_progress(self) -> None:
        """Declare progress: earlier calls no longer count; each loop keeps its ladder position."""
        self._speech.moved()
        self._forget(frozenset())
        self._ladder.blocks.clear()

    def forgot(self) -> None:
        """Report that the model no longer sees what came before: a compaction, a summary, a trim.

        Earlier calls no longer count as known, so reading something again does not repeat it. A
        loop that goes on is found again and keeps its ladder position, and a budget of calls stays
        used up. Nothing is forgotten if no new call and no new answer came since the last time.
        """
        if (known := known_after(self._window)) is not None:
            self._forget(known)

    def _forget(self, known: FrozenSet[str]) -> None:
        self._window.clear(known)
        self._copies.clear()
        self._ladder.blocks.end_passing()
        self._suspicion.clear()
        self._settle()
        self._inquiry.progress()

    def user_message(self, text: Optional[str] = None, *, is_progress: bool = True) -> None:
        """Report a user message, which is progress and begins a turn.

        Args:
            text: what the user said, for a judge to know the task; None if it is not known.
            is_progress: False for a run that is judged across its turns; then only what the model
                said before does not count any more.
        """
        words = checked_words("user_message", text)
        if is_progress or words:
            self._inquiry.user_message(words)
            self._listeners.said("on_user_message", words)
        if not is_progress:
            self._speech.moved()
            return
        self.mark_progress()
        self._window.start_turn()

    def reset(self) -> None:
        """Start again as for another run; listeners stay."""
        self._recorded = {}
        self._listeners.forget()
        self._start()

    def snapshot(self) -> Dict[str, Any]:
        """Return the state as plain JSON, mostly 2 to 5 kB.

        With the default window of 50 calls it takes less than 11 kB for usual calls, and never
        more than 32 kB as UTF-8, however long the calls, the results and the run are. Each called
        tool with a separate limit adds 25 characters, each detector with a separate ladder 4 kB,
        and a judge up to 90 kB: excerpts of 100 calls, and what they are compared by.

        `restore` continues in another process, even between the calls of one round. Two things are
        lost: a detector with `check` sees only later calls, and long arguments stay shortened.
        """
        shown = self._ladder.blocks.shown(self._window) + self._inquiry.shown()
        return {
            "version": SNAPSHOT_VERSION,
            "ladder": self._ladder.to_dict(),
            "reported": self._reported.to_text(),
            "speech": self._speech.to_dict(),
            "window": pack(self._window, shown),
            "suspicion": self._suspicion.to_text(),
            **self._inquiry.to_dict(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Load a state from `snapshot`; it replaces the current state.

        A key that was not declared when the snapshot was taken is None for the calls before.

        Raises:
            SnapshotError: if the value is not a snapshot, or has another version; nothing changes.
        """
        check_version(snapshot, SNAPSHOT_VERSION)
        before = dict(self.__dict__)
        self._start()
        try:
            self._load(snapshot)
        except DAMAGE as error:
            self.__dict__.update(before)
            raise SnapshotError(f"the snapshot is damaged: {error!r}") from error
        self._listeners.forget()

    def _load(self, snapshot: Mapping[str, Any]) -> None:
        self._ladder.load(snapshot["ladder"])
        self._reported.load(str(snapshot["reported"]))
        self._speech.load(snapshot["speech"])
        unpack(snapshot["window"], self._window)
        self._suspicion.load(snapshot["suspicion"], self._window.round_count)
        self._inquiry.load(snapshot)

    def _judge(self) -> LoopVerdict:
        """Ask all detectors and take the strongest action, the first of equals."""
        findings = list(self._detector.findings(self._window, *self._copies.lists()))
        if self._ladder.blocks:
            findings += self._ladder.blocks.refused_again(self._window, findings)
        counted = self._suspicion.after(self._window)
        suspicion = 1.0 if findings else counted
        lasting = 1.0 if findings else self._suspicion.lasting
        decision = self._inquiry.decide(findings, suspicion, lasting, self._ladder)
        if isinstance(decision, Act):
            return self._climbed(decision.findings, suspicion)
        decision.verdict = self._climbed(decision.found, suspicion)
        return replace(decision.verdict, case=decision.case)

    def _climbed(self, findings: Sequence[LoopDetection], suspicion: float) -> LoopVerdict:
        """Climb with the findings of the last round."""
        if not findings:
            return LoopVerdict(suspicion=suspicion) if suspicion else GO_ON
        window, rule = self._window, self._detector.inject_message
        action, found, rung = self._ladder.climb(findings, window.round_count, window.call_count)
        if action.ends_run:
            self._inquiry.run_ended()
        if found is None:
            return LoopVerdict(suspicion=1.0)
        return verdict_about(action, found, rung, rule)

    def _settle(self) -> None:
        """Close a question that got no answer."""
        if (question := self._inquiry.close()) is not None:
            self._listeners.tell_observers(self._listeners.tell_functions(question.verdict))

    def _heard(self, findings: List[LoopDetection]) -> LoopVerdict:
        """Climb with findings about a reply."""
        self._settle()
        action, found, rung = self._ladder.climb(findings, self._speech.replies, 0)
        if found is None:
            return GO_ON
        return verdict_about(action, found, rung, self._detector.inject_message)
