"""Writing a run down while it goes on, from any Python program."""

import json
import os
import time
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Type, Union

from ..loop_detection import Opinion
from ..loop_detection.text.canonical import plain
from ..loop_detection.text.masking import MaskRule, masking_of
from ..short_repr import error_text, quoted, short_repr
from ..stability import beta
from .files.appended_file import AppendedFile

_NAMES_AND_NUMBERS = frozenset(
    [
        *("tool", "agent", "to_agent", "model", "call_id", "round", "tokens", "cost"),
        *("latency_ms", "step", "stuck", "confidence"),
    ]
)
"""Fields that are never masked."""


@beta
class RunRecorder:
    """Append what a run does to a file, one JSON event a line, readable at any time.

    A line is an event and not a run, so that the file also contains a run that is killed in the
    middle, up to its last event. Several threads, processes and runs may write to one file; each
    event is one write at the end of the file. What cannot be written, e.g. to a full disk, is
    logged, and the run goes on.

    Args:
        path: the file; it is created if it is missing.
        run_id: names the run; a new random id by default.
        agent: the name of the agent, for events that name none.
        clock: returns seconds since 1970.
        mask: what to hide of arguments, results and other texts, as for `LoopDetector`. By
            default nothing is hidden, because detectors need the whole texts to judge the
            recording.

    Raises:
        OSError: if the file cannot be opened, or is a named pipe or a socket.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "runs.jsonl")
    >>> with RunRecorder(path, run_id="a1") as run:
    ...     run.tool_call("search", {"query": "cats"}, "No results.", latency_ms=12)
    >>> from antiloop.traces import read_runs
    >>> [(run.run_id, run.calls[0].tool_name, run.results[0].text) for run in read_runs(path)]
    [('a1', 'search', 'No results.')]
    """

    def __init__(
        self,
        path: "Union[str, os.PathLike[str]]",
        *,
        run_id: Optional[str] = None,
        agent: Optional[str] = None,
        clock: Callable[[], float] = time.time,
        mask: Optional[MaskRule] = None,
    ) -> None:
        self.run_id = os.urandom(16).hex() if run_id is None else run_id
        self._agent = agent
        self._clock = clock
        self._masking = None if mask is None else masking_of(mask)
        self._file = AppendedFile(path)
        self.event("run_started")

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.run_id))

    def tool_call(
        self,
        tool_name: str,
        arguments: Any = None,
        result: Any = None,
        *,
        is_error: bool = False,
        latency_ms: Optional[float] = None,
        cost: Optional[float] = None,
        tokens: Optional[int] = None,
        agent: Optional[str] = None,
        call_id: Optional[str] = None,
        round: Union[int, str, None] = None,  # noqa: A002 - the word for it everywhere here
    ) -> None:
        """Record a finished tool call; a result of None is an unknown one.

        Args:
            tool_name: which tool.
            arguments: what it was given.
            result: what came back.
            is_error: whether it failed; then the result is the error.
            latency_ms: how long it took.
            cost: what it cost, in a currency of your choice.
            tokens: how many tokens of a model it used.
            agent: the name of the agent that called.
            call_id: the provider's id of the call.
            round: equal for the calls of one model reply; by default each call is a separate round.
        """
        self.event(
            "tool_call_completed",
            tool=tool_name,
            input=arguments,
            output=result,
            is_error=is_error or None,
            latency_ms=latency_ms,
            cost=cost,
            tokens=tokens,
            agent=agent,
            call_id=call_id,
            round=round,
        )

    def llm_call(
        self,
        model: Optional[str] = None,
        *,
        latency_ms: Optional[float] = None,
        cost: Optional[float] = None,
        input_tokens: Optional[int] = None,
        output_tokens: Optional[int] = None,
        agent: Optional[str] = None,
        text: Optional[str] = None,
        cached_tokens: Optional[int] = None,
    ) -> None:
        """Record a reply of a model: which model, its time, cost and tokens, and what it said.

        It comes before the calls that it asks for.
        """
        amounts = {"input": input_tokens, "output": output_tokens, "cached": cached_tokens}
        known = {name: amount for name, amount in amounts.items() if amount is not None}
        self.event(
            "llm_call_completed",
            model=model,
            latency_ms=latency_ms,
            cost=cost,
            tokens=known or None,
            agent=agent,
            output=text,
        )

    def user_message(self, text: Optional[str] = None) -> None:
        """Record that the user spoke, which is progress; the text may be left out."""
        self.event("user_message", input=text)

    def second_opinion(self, opinion: Optional[Opinion], step: Optional[int] = None) -> None:
        """Record a judge's opinion on the run; None (no opinion) is ignored.

        Args:
            opinion: what it said.
            step: the `CaseFile.step` of the question; by default the last call.
        """
        if opinion is not None:
            self.event("second_opinion", step=step, **opinion.to_dict())

    def handoff(self, agent: str, to_agent: str) -> None:
        """Record that one agent hands over to another."""
        self.event("handoff_started", agent=agent, to_agent=to_agent)

    def retry(self, tool_name: Optional[str] = None, error: Optional[str] = None) -> None:
        """Record that something is tried again, and why."""
        self.event("retry_triggered", tool=tool_name, error=error)

    def state_updated(self, state: Any = None, *, agent: Optional[str] = None) -> None:
        """Record that the run's state changed, and to what."""
        self.event("state_updated", output=state, agent=agent)

    def memory_write(self, value: Any = None, *, agent: Optional[str] = None) -> None:
        """Record that something was written to memory."""
        self.event("memory_write", input=value, agent=agent)

    def failed(self, error: Union[str, BaseException]) -> None:
        """Record that the run ends in an error, and close the file."""
        text = error if isinstance(error, str) else error_text(error)
        self._end("run_failed", error=text)

    def completed(self) -> None:
        """Record that the run is over, and close the file."""
        self._end("run_completed")

    def event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as in the file
        """Record an event of any type; fields of None are left out, other values become JSON.

        Raises:
            ValueError: if the run is over.
        """
        self._file.write(self._line(type, fields))

    def __enter__(self) -> "RunRecorder":
        """Return the recorder itself."""
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """End the run, as failed if an exception is on its way, unless it has been ended."""
        if self._file.is_closed:
            return
        if error is None:
            self.completed()
        else:
            self.failed(error)

    def _end(self, type_: str, **fields: Any) -> None:
        self._file.write(self._line(type_, fields), is_last=True)

    def _line(self, type_: str, fields: Mapping[str, Any]) -> bytes:
        line = {"run_id": self.run_id, "type": type_, "timestamp": self._clock()}
        if self._agent is not None:
            line["agent"] = self._agent
        line.update(
            (name, self._shown(name, plain(value)))
            for name, value in fields.items()
            if value is not None
        )
        return json.dumps(line).encode("ascii")

    def _shown(self, name: str, value: Any) -> Any:
        if self._masking is None or name in _NAMES_AND_NUMBERS:
            return value
        if name == "input":
            return plain(self._masking.arguments(value))
        return plain(self._masking.value(value))
