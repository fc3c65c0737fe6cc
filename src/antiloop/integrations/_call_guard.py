"""The base of adapters that see single calls and no conversation."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

from .._frozen import frozen
from .._process_lock import ProcessLock
from .._text.canonical import parsed_arguments
from ..formats._internal import text_of
from ..loop_detection import CaseFile, LoopAction, LoopDetector, LoopMonitor, LoopVerdict, Opinion
from ..stability import beta
from ..types import ToolCall, ToolResult
from ._lookout import Lookout

if TYPE_CHECKING:
    from ..agent import AgentObserver


EndedCall = Tuple[ToolCall, Optional[ToolResult]]


@beta
class CallGuard(Lookout):
    """Judge one run, all calls of which pass through here.

    Calls that are under way at the same time count as one reply of the model; `round` groups calls
    that run one after another. The guard judges a round when none of its calls is under way any
    more. Make one guard for each run. Several threads may use it.

    Args:
        run_id: id of this run for observers.
        detector, ignore, observers: as those of `Lookout`.
    """

    can_ask = True

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        run_id: str = "",
    ) -> None:
        super().__init__(detector, ignore=ignore, observers=observers)
        self.run_id = run_id
        self.run: LoopMonitor = self.monitor(run_id)
        """The monitor of the run: its `snapshot` and `restore`, its listeners."""
        self.verdict: LoopVerdict = LoopVerdict()
        """The last verdict that was more than to go on, or would have been in shadow mode."""
        self._lock = ProcessLock()  # a listener may ask us something
        # By id: what is under way, held so that nothing else gets the id, and how it began.
        self._under_way: Dict[int, Tuple[object, Optional[ToolCall]]] = {}
        self._round: List[EndedCall] = []
        self._notice = ""
        self._ending: Optional[LoopVerdict] = None
        """The verdict on a round that ended in a cancellation, which no other error may hide."""
        self._asking: Optional[CaseFile] = None
        """The case that a judge is being asked about."""

    def __getstate__(self) -> Dict[str, Any]:
        # What is under way here is not under way in a copy.
        left_out: Dict[str, Any] = {"_lock": None, "_under_way": {}, "_round": [], "_asking": None}
        return {**self.__dict__, **left_out}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=ProcessLock())

    def begin(self, call: ToolCall) -> Optional[ToolResult]:
        """Note that a call begins; return its result if it is refused.

        `end` must follow, with the same object. The arguments count as they are now,
        because the call may change them.

        Raises:
            LoopDetectedError: if the run should have ended after a call that was cancelled.
        """
        now = replace(call, arguments=frozen(parsed_arguments(call.arguments)))
        with self._lock:
            ending, self._ending = self._ending, None
            if ending is not None:
                raise ending.as_error()
            verdict = self.run.before(now)
            self._under_way[id(call)] = (call, now)
        return ToolResult(verdict.message, True) if verdict.action is LoopAction.BLOCK else None

    async def abegin(self, call: ToolCall) -> Optional[ToolResult]:
        """Begin a call and let its siblings begin, so that a quick one is not taken for a round."""
        refusal = self.begin(call)
        try:
            await _others_have_begun()
        except BaseException:
            self._abandon(call)
            raise
        return refusal

    def end(self, call: ToolCall, result: Optional[ToolResult]) -> None:
        """Note what a call gave; judge the round if it is over.

        Raises:
            LoopDetectedError: if the run should end.
        """
        self._decide(self._left(call, result))

    async def aend(self, call: ToolCall, result: Optional[ToolResult]) -> None:
        """Do what `end` does; the event loop goes on while a judge is asked."""
        await self._adecide(self._left(call, result))

    async def afail(self, call: ToolCall, error: BaseException) -> None:
        """Do what `fail` does; the event loop goes on while a judge is asked."""
        if isinstance(error, Exception):
            await self.aend(call, _failure(error))
        else:
            self._abandon(call)

    def fail(self, call: ToolCall, error: BaseException) -> None:
        """Note that a call raised; a cancellation is nothing that came back.

        Raises:
            LoopDetectedError: if the run should end; after a cancellation the next call raises it.
        """
        if isinstance(error, Exception):
            self.end(call, _failure(error))
        else:
            self._abandon(call)

    def round(self) -> "Together":
        """Take all calls in this block, ``with`` or ``async with``, as those of one reply.

        Raises:
            LoopDetectedError: at the end of the block, if the run should end.
        """
        return Together(self)

    def take_notice(self) -> str:
        """Return the notice that the model has yet to read, once; empty if there is none."""
        with self._lock:
            notice, self._notice = self._notice, ""
        return notice

    def user_message(self) -> None:
        """Note that the user has spoken: what came before no longer counts."""
        with self._lock:
            self.run.user_message()
            self._notice, self._asking, self._ending = "", None, None

    def reset(self) -> None:
        """Begin another run; listeners stay. Calls that are still running are not part of it."""
        with self._lock:
            self.run.reset()
            self.run.user_message()  # observers tell runs of one id apart by it
            self.verdict = LoopVerdict()
            self._notice, self._asking, self._ending = "", None, None
            self._round.clear()
            self._under_way.clear()

    def _enter(self, block: object) -> None:
        with self._lock:
            self._under_way[id(block)] = (block, None)

    def _abandon(self, what: object) -> None:
        """Raise nothing, so that a cancellation goes on; the next call raises instead."""
        verdict = self._left(what)
        if verdict is not None:
            self._put_off(verdict)

    def _put_off(self, verdict: LoopVerdict) -> None:
        """Settle a verdict without a judge, and leave it to the next call to end the run."""
        verdict = self._settle(verdict)
        self._ending = verdict if verdict.action.ends_run else None

    def _left(self, what: object, result: Optional[ToolResult] = None) -> Optional[LoopVerdict]:
        """End a call; return the verdict on the round if it is over, perhaps with a case."""
        with self._lock:
            known = self._under_way.pop(id(what), None)
            if known is None:
                return None  # it began in an earlier run
            _, call = known
            if call is not None:
                self._round.append((call, result))
            # A call that never ends must not keep all others unjudged.
            is_over = not self._under_way or len(self._round) >= self.detector.window
            if not (is_over and self._round):
                return None
            calls, results = zip(*self._round)
            verdict = self.run.after(calls, results)
            # Not before: a round that was interrupted is judged with the next one.
            self._round.clear()
            self._asking = verdict.case
            return verdict

    def _decide(self, verdict: Optional[LoopVerdict]) -> None:
        if verdict is None:
            return
        try:
            opinion = self.opinion_on(verdict.case, self.run_id)
        except BaseException:
            self._put_off(verdict)
            raise
        self._carry_out(verdict, opinion)

    async def _adecide(self, verdict: Optional[LoopVerdict]) -> None:
        if verdict is None:
            return
        try:
            opinion = await self.aopinion_on(verdict.case, self.run_id)
        except BaseException:
            self._put_off(verdict)
            raise
        self._carry_out(verdict, opinion)

    def _settle(self, verdict: LoopVerdict, opinion: Optional[Opinion] = None) -> LoopVerdict:
        """Return the final verdict, and report it."""
        with self._lock:
            # Other calls may have ended a round meanwhile; then the judge comes too late.
            if verdict.case is not None and verdict.case is self._asking:
                self._asking, verdict = None, self.run.answer(opinion)
            if verdict.decision.action is not LoopAction.CONTINUE:
                self.verdict = verdict.decision
            if verdict.action is LoopAction.NOTIFY:
                self._notice = self.notice(verdict)
            self.tell(verdict, self.run_id, self.run)
        return verdict

    def _carry_out(self, verdict: LoopVerdict, opinion: Optional[Opinion]) -> None:
        verdict = self._settle(verdict, opinion)
        if verdict.action.ends_run:
            raise verdict.as_error()


class Together:
    """A block whose calls are those of one reply of the model."""

    def __init__(self, guard: CallGuard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard._enter(self)

    def __exit__(self, kind: object, *raised: object) -> None:
        if kind is None:
            self._guard._decide(self._guard._left(self))
        else:
            self._guard._abandon(self)

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(self, kind: object, *raised: object) -> None:
        if kind is None:
            await self._guard._adecide(self._guard._left(self))
        else:
            self._guard._abandon(self)


def _failure(error: Exception) -> ToolResult:
    return ToolResult(f"{type(error).__name__}: {text_of(error.args)}", is_error=True)


async def _others_have_begun() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the loop of another library
        return
    await asyncio.sleep(0)
