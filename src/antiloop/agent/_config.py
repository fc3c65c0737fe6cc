"""The options of an agent."""

from dataclasses import dataclass, fields
from typing import Any, Optional, Sequence, Union

from .._checks import check_flag, check_seconds, check_threshold, checked_observers
from .._short_repr import short_repr, shown
from ..loop_detection import LoopDetector
from ..loop_detection._internal import check_detector
from ..stability import stable
from ._observer import EVENTS, AgentObserver, AsyncAgentObserver


@stable
@dataclass(frozen=True)
class AgentConfig:
    """The settings of an agent; all have safe defaults.

    Raises:
        ValueError: if a number is out of range; the message names it.
        TypeError: if `loop_detector` is not a `LoopDetector`, `observers` is not a list of
            observers, `parallel_tool_execution` is not True or False, or the system prompt is not a
            string.
    """

    max_iterations: int = 25
    """Largest number of model calls in one run, without retries of structured output."""
    loop_detector: Optional[LoopDetector] = None
    """The loop detector; None switches loop detection off."""
    observers: Sequence[Union[AgentObserver, AsyncAgentObserver]] = ()
    """Observers of the run, sync or async, in any mix."""
    parallel_tool_execution: bool = True
    """Whether the calls of one reply run in parallel; results are in call order in any case."""
    tool_timeout_s: Optional[float] = None
    """Limit of one tool call in seconds, unless the tool has its own; None for no limit."""
    max_structured_retries: int = 2
    """Largest number of new requests in one run for an answer that fits `response_format`."""
    system_prompt: Optional[str] = None
    """Put before the conversation, unless that already begins with a system message."""

    def __post_init__(self) -> None:
        check_threshold("max_iterations", self.max_iterations, least=1)
        check_threshold("max_structured_retries", self.max_structured_retries, least=0)
        check_flag("parallel_tool_execution", self.parallel_tool_execution)
        check_seconds("tool_timeout_s", self.tool_timeout_s, or_none=True)
        if self.loop_detector is not None:
            check_detector("loop_detector must be", self.loop_detector)
        check_prompt("system_prompt", self.system_prompt)
        object.__setattr__(self, "observers", checked_observers(self.observers, EVENTS))

    def __repr__(self) -> str:
        values = [(each, getattr(self, each.name)) for each in fields(self)]
        chosen = [(each.name, value) for each, value in values if value != each.default]
        return short_repr(self, *(f"{name}={shown(value)}" for name, value in chosen))


def checked_config(config: Any) -> AgentConfig:
    """Return the configuration, by default a new one; raises TypeError for any other value."""
    if isinstance(config, AgentConfig):
        return config
    if config is not None:
        hint = "; pass AgentConfig(**options)" if isinstance(config, dict) else ""
        raise TypeError(f"config must be an AgentConfig or None, got {config!r}{hint}")
    return AgentConfig()


def check_prompt(name: str, value: Any) -> None:
    """Raise unless the value is a string or None."""
    if not isinstance(value, (str, type(None))):
        raise TypeError(f"{name} must be a text or None, got {value!r}")
