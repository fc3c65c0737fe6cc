"""A result as it is compared, and its outcome: the user's declarations come first."""

from typing import Any, NamedTuple, Optional, Union, cast

from ..._text.canonical import text_of
from ...types import ToolResult
from .asked import Asked
from .host_lines import HostLines
from .outcome import SUCCESS, UNKNOWN, Outcome, outcome, reads_like_refusal
from .tool_policy import declared
from .wrapping import is_object, unwrapped

Result = Union[ToolResult, str, None]
"""An entry of a list of results; None is an unknown result."""

# A key with digits might look like a random id, which is masked as noise.
_NO_DIGITS = str.maketrans("0123456789", "ghijklmnop")


def is_refusal(result: Result) -> bool:
    """Whether a result reads like that of a refused call."""
    is_result = issubclass(type(result), ToolResult)
    return reads_like_refusal(text_of(cast(ToolResult, result).text if is_result else result))


class Answered(NamedTuple):
    """A result as it is read."""

    given: Optional[str] = None
    """Its text as it came, without what the user declares to be noise; None where it is not known.
    """
    text: Optional[str] = None
    """The same as it is compared, without what a host put around it."""
    outcome: Outcome = UNKNOWN


def answer_of(asked: Asked, result: Result, host: Optional[HostLines] = None) -> Answered:
    """Read a result and judge it; never raises on what a tool made.

    Args:
        asked: its call.
        result: the result, None where it is not known.
        host: what is known of the lines of the host; it learns from this answer.
    """
    if result is None:
        return Answered()
    text: Any = result
    is_error = False
    if issubclass(type(result), ToolResult):
        text, is_error = result.text, bool(result.is_error)  # type: ignore[union-attr]
    if type(text) is not str:
        # A loop written by hand may pass on what the tool returned: a list, a number, False.
        text = text_of(text)
    # Judged before anything is left out: what is noise to the user may be the exit code.
    kind = outcome(text, is_error, asked.arguments, asked.tool)
    policy = asked.policy
    if policy.strip is not None:
        text = text_of(declared(policy.compared_text, text, asked.tool, "strip"))
    # Its call stands for its answer, so the same call brings nothing new, and another one does.
    if policy.idempotent and not kind.is_failure:
        text = asked.call.translate(_NO_DIGITS)
    bare = unwrapped(text)
    is_of_host = False
    if host is not None:
        left = host.without(bare, asked.tool, asked.call, asked.arguments)
        if left is not bare:
            bare, is_of_host = unwrapped(left), True
    if kind is SUCCESS and bare is not text:
        inside = outcome(bare, is_error, asked.arguments, asked.tool)
        # A tool's object that says of itself that it went well did not fail, whatever its words.
        kind = kind if inside.is_failure and not is_of_host and is_object(text) else inside
    return Answered(text, bare, kind)
