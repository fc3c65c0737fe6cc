"""The agent: tools, a model, and the loop between them."""

import os
from typing import Any, AsyncGenerator, Callable, Generator, Optional, Sequence, Union

from .._decision_time import measure_for
from .._short_repr import short_repr
from ..exceptions import AgentError
from ..stability import stable
from ..types import Message
from ._config import AgentConfig, checked_config
from ._context import _RunContext, replay, results_in_place_of, rounds_in, start_conversation
from ._core import agent_loop
from ._drivers.sync_driver import drive
from ._events import AgentEvent, RunFinished
from ._output import ResponseFormat
from ._requests import Steps
from ._result import AgentResult
from ._tools.tool import Tool
from ._tools.toolbox import Toolbox
from .providers._protocol import Provider, check_asked, checked_provider


@stable
class Agent:
    """A model that may call tools until it has an answer.

    It keeps nothing between runs, so one agent can serve many runs at once.

    Args:
        tools: functions, plain or decorated with `tool`, sync or async.
        provider: the model, e.g. `ScriptedProvider`.
        config: iterations, loop detection, observers and more.

    Raises:
        ValueError: if two tools share a name, or a tool has a threshold for an unknown detector.
        TypeError: if a tool has no name or no readable annotations, or the provider or the
            configuration has a wrong type.

    >>> from antiloop.agent import Agent, ScriptedProvider
    >>> Agent([], ScriptedProvider(["Hello!"])).run("Hi").text
    'Hello!'
    """

    def __init__(
        self,
        tools: Sequence[Union[Tool, Callable[..., Any]]],
        provider: Provider,
        config: Optional[AgentConfig] = None,
    ) -> None:
        self._toolbox = Toolbox(tools)
        self._provider = checked_provider(provider)
        self._config = checked_config(config)
        if self._config.loop_detector is not None:
            self._config.loop_detector.monitor(self._toolbox.policies)  # refuses what cannot work

    def __repr__(self) -> str:
        return short_repr(self, repr(self._toolbox), type(self._provider).__name__)

    def run(
        self, prompt: Union[str, Sequence[Message]], *, response_format: Any = None
    ) -> AgentResult:
        """Run to the end.

        Async tools and observers run on a separate event loop of this run.

        Args:
            prompt: the user's text, or a conversation to continue, oldest message first. Its calls
                count for loop detection as if this run had made them.
            response_format: a dataclass, TypedDict, pydantic model or JSON schema that the answer
                must fit; the result's `output` holds the value.

        Raises:
            TypeError: if the prompt is neither a string nor a list of messages.
            LoopDetectedError: if the agent is stuck in a loop and the policy is to raise.
            Exception: any exception of the provider.
        """
        loop = self._loop(prompt, response_format, "complete")
        events = drive(loop, self._provider, self._config.observers)
        last: Optional[AgentEvent] = None
        for event in events:
            last = event
        return _result(last)

    async def arun(
        self, prompt: Union[str, Sequence[Message]], *, response_format: Any = None
    ) -> AgentResult:
        """Run to the end without blocking the event loop; otherwise like `run`."""
        events = self._events(prompt, response_format, streaming=False)
        last: Optional[AgentEvent] = None
        async for event in events:
            last = event
        return _result(last)

    def astream(
        self, prompt: Union[str, Sequence[Message]], *, response_format: Any = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Run and yield events as they happen; otherwise like `run`.

        The last event is a `RunFinished` with the result. To leave early, close the generator
        (``await events.aclose()``); this closes everything that the run has open.
        """
        return self._events(prompt, response_format, streaming=True)

    def stream(
        self, prompt: Union[str, Sequence[Message]], *, response_format: Any = None
    ) -> Generator[AgentEvent, None, None]:
        """Run and yield events as they happen; like `astream`, for code that is not async.

        It asks the provider with its sync ``stream``. To leave early, close the generator
        (``events.close()``); this closes everything that the run has open.
        """
        loop = self._loop(prompt, response_format, "stream")
        return drive(loop, self._provider, self._config.observers, streaming=True)

    def _events(
        self, prompt: Union[str, Sequence[Message]], response_format: Any, *, streaming: bool
    ) -> AsyncGenerator[AgentEvent, None]:
        # Imported here, so that who never runs async never loads asyncio.
        from ._drivers.async_driver import adrive

        loop = self._loop(prompt, response_format, "astream" if streaming else "acomplete")
        return adrive(loop, self._provider, self._config.observers, streaming=streaming)

    def _loop(
        self,
        prompt: Union[str, Sequence[Message]],
        response_format: Any,
        method: str = "complete",
    ) -> Steps[None]:
        """Return the run as steps to carry out; `method` of the provider is the one to be asked."""
        check_asked(self._provider, method)
        detector = self._config.loop_detector
        run_id = os.urandom(8).hex()
        monitor = None
        if detector is not None:
            measure = measure_for(self._config.observers)
            monitor = detector.monitor(self._toolbox.policies, run_id=run_id, measure=measure)
        messages = start_conversation(prompt, self._config.system_prompt)
        if monitor is not None:
            replay(messages, monitor)
        return agent_loop(
            _RunContext(
                run_id=run_id,
                config=self._config,
                toolbox=self._toolbox,
                messages=messages,
                interrupted=results_in_place_of(messages),
                rounds_before=rounds_in(messages),
                monitor=monitor,
                response_format=(
                    None if response_format is None else ResponseFormat(response_format)
                ),
                method=method,
            )
        )


def _result(last: Optional[AgentEvent]) -> AgentResult:
    if not isinstance(last, RunFinished):
        raise AgentError(f"the run ended without a result, after {last!r}")
    return last.result
