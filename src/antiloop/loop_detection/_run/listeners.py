"""The listeners and observers of one run; agents and adapters call the same methods of observers.

The events of one reply come in this order: the words of the user and the model, the opinion of a
judge, the round, the verdict, the loop. The observers receive a verdict with an open question, and
its round, when the question is closed.
"""

import inspect
import logging
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Callable, Iterable, List, Optional, Protocol, Sequence, Tuple, Union

from ..._decision_time import Measure, measure_for
from ..._frozen import frozen
from ..._text.canonical import text_of
from ..._trace import to_plain
from ...types import ToolResult
from .._policy import LoopAction
from .._verdict import LoopVerdict

Event = Tuple[str, Tuple[Any, ...]]
"""The name of an observer's method, and its arguments after the id of the run."""
EVENTS = (
    "on_user_message",
    "on_said",
    "on_second_opinion",
    "on_round",
    "on_verdict",
    "on_tool_loop_detected",
    "on_decision_time",
)
"""The methods that an observer of a monitor may have."""


class Observer(Protocol):
    """Receives the events of a monitor, an agent or an adapter; the other methods are optional."""

    def on_verdict(self, run_id: str, verdict: LoopVerdict) -> None:
        """Receive the verdict on a round, even continue."""


Listener = Union[Callable[[LoopVerdict], None], Observer]
"""A function called with every verdict but ``continue``, or an observer of each round."""

_CONTINUE = LoopAction.CONTINUE  # before Python 3.12, a look-up in the class takes long
_logger = logging.getLogger("antiloop")


class Listeners:
    """The listeners of one run.

    Args:
        run_id: the run's id, which each verdict carries that is reported.
        logs: whether verdicts are logged, too.
        shadow: whether the verdicts are reported without any effect.
        measure: makes the context in which a decision is made; None for none.
    """

    def __init__(
        self, run_id: str, measure: Optional[Measure] = None, *, logs: bool, shadow: bool
    ) -> None:
        self.run_id = run_id
        self.measure: Measure = measure or nullcontext
        self._measure = self.measure
        self._logs = logs
        self._shadow = shadow
        self._functions: List[Callable[[LoopVerdict], None]] = []
        self._observers: List[Any] = []
        self._reply: Sequence[Event] = ()
        self._untold: Tuple[Any, ...] = ()

    def __getstate__(self) -> "dict[str, object]":
        # Listeners and clocks belong to the process and to this run, so a copy of the run has none.
        lists: dict[str, object] = {"_functions": [], "_observers": [], "_reply": (), "_untold": ()}
        return {**self.__dict__, **lists, "measure": nullcontext, "_measure": nullcontext}

    def add(self, listener: Listener) -> None:
        """Add one more; what is both, such as a webhook, is an observer.

        Raises:
            TypeError: for anything but a function or an observer, or for one that is async.
        """
        is_observer = any(hasattr(listener, event) for event in EVENTS)
        if isinstance(listener, type) or not (is_observer or callable(listener)):
            raise TypeError(
                "a listener must be a function, or an object with methods such as on_verdict,"
                f" got {listener!r}"
            )
        check_is_sync(listener)
        if not is_observer:
            self._functions.append(listener)  # type: ignore[arg-type]
            return
        self._observers.append(listener)
        if hasattr(listener, "on_decision_time"):
            self.measure = measure_for(self._observers, self._measure) or self.measure

    def said(self, event: str, text: str) -> None:
        """Report words at once, and note them as the beginning of a reply."""
        # Words after anything but those of the user begin another reply.
        if any(name != "on_user_message" for name, _ in self._reply):
            self._reply = ()
        self._reply = (*self._reply, (event, (text,)))
        self.tell_event(event, text)

    def round(self, calls: Any, results: Any) -> None:
        """Note a round, which the observers receive with its verdict."""
        # Two rounds without words between them belong to two replies.
        if self._reply and self._reply[-1][0] == "on_round":
            self._reply = ()
        self._untold = (calls, results)
        self._reply = (*self._reply, ("on_round", self._untold))

    def forget(self) -> None:
        """Forget the last reply, and a round that is not told yet."""
        self._reply, self._untold = (), ()

    def taken(self) -> List[Event]:
        """Return the events of the last reply, once; adapters pass them to their observers."""
        reply, self._reply = self._reply, ()
        return [(name, _known(*given) if name == "on_round" else given) for name, given in reply]

    def tell_observers(self, verdict: LoopVerdict) -> LoopVerdict:
        """Report a round and its verdict to the observers, unless its question is open."""
        if not self._observers or verdict.case is not None:
            return verdict
        if self._untold:
            self.tell_event("on_round", *_known(*self._untold))
            self._untold = ()
        for event, arguments in events_of(verdict):
            self.tell_event(event, *arguments)
        return verdict

    def tell_event(self, event: str, *arguments: Any) -> None:
        """Call a method of each observer that has it."""
        tell_each(self._observers, event, self.run_id, *arguments)

    def to_act_on(self, verdict: LoopVerdict) -> LoopVerdict:
        """Return the verdict to act on: in shadow mode ``continue``, with the decision in it."""
        if verdict.action is _CONTINUE:
            return verdict
        verdict = replace(verdict, run_id=self.run_id)
        return _shadowed(verdict) if self._shadow else verdict

    def tell_functions(self, verdict: LoopVerdict) -> LoopVerdict:
        """Report a verdict to log and functions, unless it says continue; return the one to act on.

        A verdict with an open question is reported when the question is closed.
        """
        if verdict.action is _CONTINUE and verdict.would_be is None:
            return verdict
        verdict = self.to_act_on(verdict)
        if verdict.case:
            return verdict
        if self._logs:
            verdict.log()
        for listener in self._functions:
            try:
                listener(verdict.decision)
            except Exception:
                _logger.exception("listener %r raised; the run goes on", listener)
        return verdict

    def report_words(self, verdict: LoopVerdict) -> LoopVerdict:
        """Report a verdict on words, also to the observers where it says more than continue."""
        verdict = self.tell_functions(verdict)
        return verdict if verdict.decision.action is _CONTINUE else self.tell_observers(verdict)


def tell_each(observers: Iterable[Any], event: str, *arguments: Any) -> None:
    """Call a method of each observer that has it, and log what it raises."""
    for observer in observers:
        hear = getattr(observer, event, None)
        try:
            if hear is not None:
                hear(*arguments)
        except Exception:
            _logger.exception("observer %r raised; the run goes on", observer)


def check_is_sync(listener: Any) -> None:
    """Raise a TypeError for coroutines, which would never run where nothing awaits them."""
    methods = (getattr(listener, name, None) for name in (*EVENTS, "__call__"))
    if any(map(inspect.iscoroutinefunction, (listener, *methods))):
        raise TypeError(
            f"{listener!r} is async, and only an agent awaits its observers; make it a plain"
            " function that starts the work and returns"
        )


def _known(calls: Any, results: Any) -> Tuple[Any, Any]:
    """Return a round as observers receive it: plain texts become results."""
    known = (
        each if isinstance(each, (ToolResult, type(None))) else ToolResult(text_of(each))
        for each in results
    )
    return tuple(calls), tuple(known)


def events_of(verdict: LoopVerdict) -> List[Event]:
    """Return the events of a verdict: the decision, and the loop if there is one."""
    decision = verdict.decision
    events: List[Event] = [("on_verdict", (decision,))]
    found = decision.detection
    if found is not None and decision.action is not _CONTINUE:
        loop = (found.detector_name, frozen(to_plain(found.details)))
        events.append(("on_tool_loop_detected", loop))
    return events


def _shadowed(verdict: LoopVerdict) -> LoopVerdict:
    """Return the verdict of shadow mode: continue, with the decision in `would_be`."""
    found = verdict.detection and replace(
        verdict.detection, details={**verdict.detection.details, "shadow": True}
    )
    decision = replace(verdict, detection=found, is_shadow=True, case=None)
    return LoopVerdict(
        suspicion=verdict.suspicion,
        case=verdict.case,
        is_shadow=True,
        would_be=decision,
        run_id=verdict.run_id,
    )
