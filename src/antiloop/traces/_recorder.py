"""Writing runs down while they go on: by hand, or as an observer."""

import json
import os
import time
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .._latest import Latest
from .._process_lock import ProcessLock
from .._short_repr import error_text, quoted, short_repr
from .._text.canonical import plain
from .._text.masking import MaskRule, masking_of
from ..agent import AgentObserver, AgentResult, ModelReply
from ..loop_detection import CaseFile, Opinion
from ..stability import beta
from ..types import ToolCall, ToolResult
from ._files.appended_file import AppendedFile

_NAMES_AND_NUMBERS = frozenset(
    [
        *("tool", "agent", "to_agent", "model", "call_id", "round", "tokens", "cost"),
        *("latency_ms", "step", "stuck", "confidence"),
    ]
)
"""Fields that are never masked."""
_RUNS = 1_000
"""The number of runs that may be under way at one time before the oldest ones are forgotten."""


class _BegunRun:
    """A run that has begun and not ended."""

    def __init__(self) -> None:
        self.tells_replies = False
        self.rounds = 0
        self.latest: Optional[int] = None
        self.opinion: Optional[Opinion] = None
        self.error: Optional[str] = None


@beta
class RunRecorder(AgentObserver):
    """Append what runs do to a file, one JSON event a line, readable at any time.

    Call its methods, or give it to `LoopDetector.monitor`, `AgentConfig` or a ``LoopGuard`` as one
    of the ``observers``: it then records the runs of its host, each under its own id.

    A line is an event and not a run, so that the file also contains a run that is killed in the
    middle, up to its last event. Several threads, processes and runs may write to one file; each
    event is one write at the end of the file. If an event cannot be written, e.g. to a full disk,
    that is logged, and the run goes on.

    Args:
        path: the file; if it is missing it is created, readable by its owner only.
        run_id: names the run that you record by hand, or whose host knows no id; a new random id
            by default.
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
        self.run_id: str = os.urandom(16).hex() if run_id is None else run_id
        self._agent = agent
        self._clock = clock
        self._masking = None if mask is None else masking_of(mask)
        self._file = AppendedFile(path)
        self._lock = ProcessLock()
        # Processes that record one run, one after another, must not give a round the same name.
        self._token = os.urandom(4).hex()
        self._runs: Latest[str, _BegunRun] = Latest(_RUNS)
        self._has_begun = False

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
        """Record that the runs end in an error, and close the file."""
        text = error if isinstance(error, str) else error_text(error)
        self._end("run_failed", error=text)

    def completed(self) -> None:
        """Record that the runs are over, and close the file."""
        self._end("run_completed")

    def event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as in the file
        """Record an event of any type; fields of None are left out, other values become JSON.

        Raises:
            ValueError: if the run is over.
        """
        self._write(self.run_id, type, fields)

    def on_user_message(self, run_id: str, text: str) -> None:
        """Record what the user said."""
        self._write(run_id, "user_message", {"input": text or None})

    def on_model_end(self, run_id: str, reply: ModelReply) -> None:
        """Record a reply of an agent's model, with its tokens."""
        with self._lock:
            usage = reply.usage
            amounts = {"input": usage.input_tokens, "output": usage.output_tokens}
            tokens = amounts if any(amounts.values()) else None
            fields = {"tokens": tokens, "output": reply.text or None}
            self._write(run_id, "llm_call_completed", fields).tells_replies = True

    def on_said(self, run_id: str, text: str) -> None:
        """Record what the model said, where the host does not report whole replies."""
        with self._lock:
            if not self._run(run_id).tells_replies:
                self._write(run_id, "llm_call_completed", {"output": text})

    def on_second_opinion(
        self,
        run_id: str,
        case: CaseFile,  # noqa: ARG002 - an observer's signature
        opinion: Optional[Opinion],
    ) -> None:
        """Record a judge's opinion, after the round that it is about."""
        # Not by `case.step`: an adapter that replays a part of a conversation counts from there.
        self._run(run_id).opinion = opinion

    def on_round(
        self, run_id: str, calls: Sequence[ToolCall], results: Sequence[Optional[ToolResult]]
    ) -> None:
        """Record the calls of a reply, and what came back."""
        with self._lock:
            run = self._run(run_id)
            number = calls[0].round if calls else None
            # Calls that are reported one by one are of one round if they say so.
            run.rounds += number is None or number != run.latest
            run.latest = number
            for call, result in zip(calls, results):
                self._record(run_id, call, result, f"{self._token}-{run.rounds}")
            opinion, run.opinion = run.opinion, None
            if opinion is not None:
                self._write(run_id, "second_opinion", opinion.to_dict())

    def on_error(self, run_id: str, error: Exception) -> None:
        """Note the error that ends a run."""
        self._run(run_id).error = error_text(error)

    def on_run_end(
        self,
        run_id: str,
        result: AgentResult,  # noqa: ARG002 - an observer's signature
    ) -> None:
        """Record the end of a run; the file stays open for others."""
        with self._lock:
            error = self._run(run_id).error
            ending = "run_completed" if error is None else "run_failed"
            self._write(run_id, ending, {"error": error})
            self._runs.pop(run_id or self.run_id, None)

    def __enter__(self) -> "RunRecorder":
        """Return the recorder itself."""
        return self

    def __exit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        """End what has not ended, as failed if an exception is on its way."""
        if self._file.is_closed:
            return
        if error is None:
            self.completed()
        else:
            self.failed(error)

    def _record(
        self, run_id: str, call: ToolCall, result: Optional[ToolResult], round_: str
    ) -> None:
        known: Mapping[str, Any] = {} if result is None else {"output": result.text}
        begun = call.started_at
        shared = {"tool": call.tool_name, "call_id": call.id, "round": round_}
        if begun is not None:
            started = {**shared, "input": call.arguments}
            self._write(run_id, "tool_call_started", started, at=begun)
        seconds = result.duration_s if result else None
        completed = {
            **shared,
            "input": call.arguments,
            "is_error": (result is not None and result.is_error) or None,
            "latency_ms": None if seconds is None else seconds * 1000,
            **known,
        }
        self._write(run_id, "tool_call_completed", completed)

    def _run(self, run_id: str) -> _BegunRun:
        """Return what is known of a run; an unknown one begins here."""
        run_id = run_id or self.run_id
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                run = self._runs[run_id] = _BegunRun()
                self._has_begun = True
                self._file.write(self._line(run_id, "run_started", {}))
            return run

    def _write(
        self, run_id: str, type_: str, fields: Mapping[str, Any], at: Optional[float] = None
    ) -> _BegunRun:
        run = self._run(run_id)
        self._file.write(self._line(run_id or self.run_id, type_, fields, at))
        return run

    def _end(self, type_: str, **fields: Any) -> None:
        """End all runs that are under way, and close the file."""
        with self._lock:
            if not (self._has_begun or self._file.is_closed):
                self._run(self.run_id)
            for run_id in self._runs:
                self._file.write(self._line(run_id, type_, fields))
            self._runs.clear()
            self._file.close()

    def _line(
        self, run_id: str, type_: str, fields: Mapping[str, Any], at: Optional[float] = None
    ) -> bytes:
        timestamp = self._clock() if at is None else at
        line = {"run_id": run_id, "type": type_, "timestamp": timestamp}
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
