"""The exceptions of antiloop.

::

    AntiloopError
    ├── AgentError              the agent core loop could not go on
    │   ├── LoopDetectedError   the agent was stuck in a tool-call loop
    │   └── ProviderError       a model could not be asked, or its answer is unusable
    ├── CallRefused             a guarded function was called again in a loop, and did not run
    ├── SettingsError           a settings file is malformed
    ├── SnapshotError           a monitor's snapshot cannot be restored
    └── TraceUnreadable         no recorded run can be read from a file or stream
        └── NoTrace             it can be read, and holds something else

Bad arguments raise ``ValueError`` and ``TypeError``. Output of a model or a tool never makes a
detector raise.
"""

from typing import Any, Dict, Mapping, Optional, Tuple

from .stability import stable
from .types import PartialResult

__all__ = [
    "AgentError",
    "AntiloopError",
    "CallRefused",
    "LoopDetectedError",
    "NoTrace",
    "ProviderError",
    "SettingsError",
    "SnapshotError",
    "TraceUnreadable",
]


@stable
class AntiloopError(Exception):
    """Base of all errors of this package."""


@stable
class AgentError(AntiloopError):
    """The agent core loop could not go on."""


@stable
class ProviderError(AgentError):
    """A model could not be asked, or what it returned is not a reply.

    The message names the model, the status and what to do. ``__cause__`` is the error of the SDK,
    if there is one.
    """

    model: str = ""
    """The model that was asked; empty if the provider does not say."""
    status: Optional[int] = None
    """The HTTP status of the refusal, e.g. 429; None if the failure has none."""
    partial_result: Optional[PartialResult] = None
    """The result of the run up to here, an `AgentResult`, or None. Its messages can be given to
    `Agent.run`, to continue."""


@stable
class CallRefused(AntiloopError):
    """A guarded function did not run; the message is for the model."""


@stable
class SettingsError(AntiloopError, ValueError):
    """Settings cannot be read; the message names the file, the key and the remedy."""


@stable
class SnapshotError(AntiloopError, ValueError):
    """A monitor's snapshot cannot be restored; the message says what was found instead."""


@stable
class TraceUnreadable(AntiloopError):
    """No recorded run can be read; the message names the place and what was expected."""


@stable
class NoTrace(TraceUnreadable):
    """A file or stream can be read, but does not hold a recorded run."""


@stable
class LoopDetectedError(AgentError):
    """The agent was stuck in a tool-call loop and the policy says to raise.

    Args:
        message: what was found, for a person.
        detector: name of the detector that found it, e.g. ``"repeat"``.
        details: the finding as plain JSON data.

    Its text is the message, followed by the name of the detector. It survives pickling.
    ``detection``, ``trace`` and ``partial_result`` are set where it is raised, if they are known.
    """

    # Not typed more closely: errors are below what they are about, and do not import it.
    detection: Any = None
    """The whole finding, a `LoopDetection`, or None."""
    trace: Any = None
    """The steps of the run up to here, an `AgentTrace`, or None."""
    partial_result: Optional[PartialResult] = None
    """The result of the run up to here, an `AgentResult`, or None."""

    def __init__(
        self, message: str, detector: str = "", details: Optional[Mapping[str, Any]] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detector = detector
        self.details: Dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message} (detector: {self.detector})" if self.detector else self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.detector, self.details), self.__dict__
