"""The requests of the core loop to its driver.

The loop is a generator that yields requests and is sent the answers; it does no I/O itself. The
helpers here are used with ``yield from``, so that each answer has the type of its question.
"""

from dataclasses import dataclass
from typing import Any, Callable, Generator, Optional, Sequence, Tuple, TypeVar, Union, cast

from ..exceptions import ProviderError
from ..loop_detection import CaseFile, Opinion, SecondOpinion
from ..types import ToolResult
from .events import AgentEvent
from .providers.protocol import ModelReply, ModelRequest
from .tools.toolbox import Invocation


@dataclass(frozen=True)
class AskModel:
    """Ask the model; the answer is its reply. What the provider raises is thrown in."""

    request: ModelRequest
    is_enough: Callable[[str], bool]
    """Where the reply is streamed: takes each piece of text, and says whether to end the stream
    there. What was said until then is the reply."""


@dataclass(frozen=True)
class RunTools:
    """Run these calls at the same time; the answer is their results, in this order."""

    invocations: Tuple[Invocation, ...]


@dataclass(frozen=True)
class AskJudge:
    """Ask for a second opinion; the answer is an `Opinion`, or None for no opinion."""

    options: SecondOpinion
    case: CaseFile


@dataclass(frozen=True)
class Tell:
    """Notify the observers; the answer is None."""

    hook: str
    """Name of the sync method, e.g. ``"on_tool_start"``."""
    arguments: Tuple[Any, ...]


@dataclass(frozen=True)
class Emit:
    """Yield an event to the reader of the stream; the answer is None."""

    event: AgentEvent


Question = Union[AskModel, RunTools, AskJudge, Tell]
"""What a driver carries out."""
Request = Union[Question, Emit]
"""What the loop yields."""
Answer = Union[ModelReply, Sequence[ToolResult], Opinion, None]
T = TypeVar("T")
Steps = Generator[Request, Answer, T]
"""A part of the loop that ends with a T."""


def ask_model(request: ModelRequest, is_enough: Callable[[str], bool]) -> Steps[ModelReply]:
    """Ask the model; see `AskModel`.

    Raises:
        ProviderError: if the answer is not a reply.
    """
    reply = yield AskModel(request, is_enough)
    if not isinstance(reply, ModelReply):
        raise ProviderError(f"the provider returned {reply!r}, not a ModelReply")
    return reply


def run_tools(invocations: Sequence[Invocation]) -> Steps[Sequence[ToolResult]]:
    """Run calls at the same time; results come back in the order of the calls."""
    return cast(Sequence[ToolResult], (yield RunTools(tuple(invocations))))


def ask_judge(options: SecondOpinion, case: CaseFile) -> Steps[Optional[Opinion]]:
    """Ask for a second opinion."""
    return cast(Optional[Opinion], (yield AskJudge(options, case)))


def tell(hook: str, *arguments: Any) -> Steps[None]:
    """Notify the observers."""
    yield Tell(hook, arguments)


def emit(event: AgentEvent) -> Steps[None]:
    """Yield an event."""
    yield Emit(event)


@dataclass(frozen=True)
class Outcome:
    """How a request went: an answer, or the exception that it met."""

    answer: Answer = None
    error: Optional[Exception] = None


def advance(loop: Steps[None], outcome: Outcome) -> Optional[Request]:
    """Send the loop an outcome and return its next request; None when it is done."""
    try:
        if outcome.error is not None:  # an exception may be empty, and false
            return loop.throw(outcome.error)
        return loop.send(outcome.answer)
    except StopIteration:
        return None
