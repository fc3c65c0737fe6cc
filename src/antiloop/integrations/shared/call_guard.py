"""What adapters share that see single calls and no conversation."""

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ...formats.content import text_of
from ...frozen import frozen
from ...loop_detection import LoopAction, LoopDetector, LoopMonitor, LoopVerdict
from ...loop_detection.text.canonical import parsed_arguments
from ...loop_detection.verdict import GO_ON
from ...stability import beta
from ...types import ToolCall, ToolResult
from .lookout import Lookout

if TYPE_CHECKING:
    from ...agent import AgentObserver


Answer = Tuple[ToolCall, Optional[ToolResult]]


@beta
class CallGuard(Lookout):
    """Judge one run, all calls of which pass through here.

    Nobody tells which calls belong to one reply of the model, so it is those that are under way at
    the same time; `round` says it where they run one after another. A round is judged when nothing
    is under way any more. Make a guard for each run. It may be used from several threads.

    Args:
        run_id: what observers are told as the name of this run.
        detector, ignore, observers: as those of `Lookout`.
    """

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
        self.run: LoopMonitor = self.monitor()
        """What is known of the run: its `snapshot` and `restore`, its listeners."""
        self.verdict = GO_ON
        """The last verdict that was more than to go on, or would have been in shadow mode."""
        self._lock = RLock()  # a listener may ask us something
        # By id: what is under way, held so that nothing else gets the id, and how it began.
        self._under_way: Dict[int, Tuple[object, Optional[ToolCall]]] = {}
        self._round: List[Answer] = []
        self._notice = ""

    def __getstate__(self) -> Dict[str, Any]:
        # What is under way here is not under way in a copy.
        left_out: Dict[str, Any] = {"_lock": None, "_under_way": {}, "_round": []}
        return {**self.__dict__, **left_out}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    def begin(self, call: ToolCall) -> Optional[ToolResult]:
        """Note that a call begins; give its result if it is refused.

        `end` must follow, with the same object. The arguments count as they are now: whoever runs
        the call may change them.
        """
        now = replace(call, arguments=frozen(parsed_arguments(call.arguments)))
        with self._lock:
            self._under_way[id(call)] = (call, now)
            verdict = self.run.before(now)
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
        with self._lock:
            self._carry_out(self._leave(call, result))

    def fail(self, call: ToolCall, error: BaseException) -> None:
        """Note that a call raised; a cancellation is nothing that came back.

        Raises:
            LoopDetectedError: if the run should end.
        """
        if isinstance(error, Exception):
            self.end(call, ToolResult(f"{type(error).__name__}: {text_of(error.args)}", True))
        else:
            self._abandon(call)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Take all calls in this block as those of one reply of the model.

        Raises:
            LoopDetectedError: at the end of the block, if the run should end.
        """
        block = object()
        with self._lock:
            self._under_way[id(block)] = (block, None)
        try:
            yield
        except BaseException:
            with self._lock:
                self._leave(block)
            raise
        with self._lock:
            self._carry_out(self._leave(block))

    def take_notice(self) -> str:
        """Give the notice that the model has yet to read, once; empty where there is none."""
        with self._lock:
            notice, self._notice = self._notice, ""
        return notice

    def user_message(self) -> None:
        """Say that the user has spoken: what came before is no evidence any more."""
        with self._lock:
            self.run.user_message()
            self._notice = ""

    def reset(self) -> None:
        """Begin another run; listeners stay. What is still under way is none of its calls."""
        with self._lock:
            self.run.reset()
            self.verdict, self._notice = GO_ON, ""
            self._round.clear()
            self._under_way.clear()

    def _abandon(self, call: ToolCall) -> None:
        """Raise nothing, so that a cancellation goes on."""
        with self._lock:
            self._leave(call)

    def _leave(self, what: object, result: Optional[ToolResult] = None) -> LoopVerdict:
        known = self._under_way.pop(id(what), None)
        if known is None:
            return GO_ON  # it began in an earlier run
        _, call = known
        if call is not None:
            self._round.append((call, result))
        # A call that never ends must not keep all others unjudged.
        is_over = not self._under_way or len(self._round) >= self.detector.window
        if not (is_over and self._round):
            return GO_ON
        calls, results = zip(*self._round)
        self._round.clear()
        verdict = self.run.after(calls, results)
        if verdict.reported.action is not LoopAction.CONTINUE:
            self.verdict = verdict.reported
        self.tell(verdict, self.run_id)
        return verdict

    def _carry_out(self, verdict: LoopVerdict) -> None:
        if verdict.action is LoopAction.NOTIFY:
            self._notice = self.notice(verdict)
        elif verdict.action.ends_run:
            raise verdict.as_error()


async def _others_have_begun() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the loop of another library
        return
    await asyncio.sleep(0)
