"""Everything that antiloop raises on its own account.

::

    AntiloopError
    ├── AgentError              the agent core loop could not go on
    │   ├── LoopDetectedError   the agent was stuck in a tool-call loop
    │   └── ProviderError       a model provider answered with something unusable
    ├── CallRefused             a guarded function was called again in a loop, and did not run
    ├── SnapshotError           a monitor's snapshot cannot be restored
    └── TraceUnreadable         no recorded run can be read from a file or stream
        └── NoTrace             it can be read, and holds something else

Bad arguments stay ``ValueError`` and ``TypeError``. What a model or a tool produced never makes a
detector raise.
"""

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

from .stability import stable

if TYPE_CHECKING:
    from .agent import AgentResult
    from .loop_detection import LoopDetection
    from .trace import AgentTrace


class AntiloopError(Exception):
    """Base of all errors of this package."""


@stable
class AgentError(AntiloopError):
    """The agent core loop could not go on."""


class ProviderError(AgentError):
    """A model provider answered with something that is no reply."""


class CallRefused(AntiloopError):
    """A guarded function was not run; the message is what to tell the model."""


class SnapshotError(AntiloopError, ValueError):
    """A monitor's snapshot cannot be restored; the message says what was found instead."""


class TraceUnreadable(AntiloopError):
    """No recorded run can be read; the message names the place and what was expected."""


class NoTrace(TraceUnreadable):
    """A file or stream can be read, but what it holds is no recorded run."""


@stable
class LoopDetectedError(AgentError):
    """The agent was stuck in a tool-call loop and the policy says to raise.

    Args:
        message: what was found, for a person.
        detector: name of the detector that found it, e.g. ``"repeat"``.
        details: the finding as plain JSON data.

    The error survives pickling. ``detection``, ``trace`` and ``partial_result`` are set by who
    raises it, where they are known.
    """

    detection: "Optional[LoopDetection]" = None
    """The whole finding."""
    trace: "Optional[AgentTrace]" = None
    """What the run did up to here."""
    partial_result: "Optional[AgentResult]" = None
    """What the run had achieved up to here."""

    def __init__(
        self, message: str, detector: str = "", details: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detector = detector
        self.details: Dict[str, Any] = dict(details or {})

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.detector, self.details), self.__dict__
