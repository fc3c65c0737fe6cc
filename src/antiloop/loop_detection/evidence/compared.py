"""What of a call and of its result is compared: the user's declarations come first."""

import logging
from typing import Any, Callable, Optional, Tuple, Union, cast

from ...types import ToolCall, ToolResult
from ..text.canonical import copied, parsed_arguments, plain, plain_json, text_of
from .fingerprint import call_key
from .kept_name import kept_name
from .outcome import UNKNOWN, Outcome, outcome, reads_like_refusal
from .tool_policy import NO_POLICY, ToolPolicy

Result = Union[ToolResult, str, None]
"""An entry of a list of results; None is an unknown result."""

KEPT = 8_000
"""Characters of arguments, and of a result, that are kept at most to be compared more loosely."""

_logger = logging.getLogger("antiloop")
_ANOTHER = object()  # the arguments of no call


class Asked:
    """What is known of a call before its result, and the features of its last one."""

    __slots__ = (
        *("arguments", "features", "given", "is_long"),
        *("key", "policy", "result", "text", "tool"),
    )

    def __init__(self, tool: str, compared: str, policy: ToolPolicy, arguments: Any) -> None:
        self.tool = kept_name(tool)
        self.key = call_key(self.tool, compared)
        self.policy = policy
        """What is declared."""
        self.given: Any = _ANOTHER
        """The arguments that the call was made with, if they cannot change in place."""
        self.text = ""
        """The same as JSON."""
        self.arguments = arguments
        """As plain JSON; there is no other reference to them."""
        self.is_long = len(compared) > KEPT
        """Whether the arguments are too long to be kept."""
        self.result: Result = None
        """The result that the features are about."""
        self.features: Any = None


def asked_of(call: ToolCall, policy: ToolPolicy) -> Asked:
    """Return the half of the features that needs no result.

    What is remembered with the call holds only as long as its arguments are the same: the caller
    may change them in place at any time.
    """
    given, remembered = call.arguments, call.__dict__
    known: Optional[Asked] = remembered.get("_asked")
    if known is not None and known.policy is policy and known.given is given:
        return known
    arguments = parsed_arguments(given)
    text = plain_json(arguments)
    if known is not None and known.policy is policy and known.text == text:
        return known
    if arguments is given:
        arguments = copied(arguments)
    name, compared = call.tool_name, text
    if policy.key is not None:
        tool = text_of(name)
        arguments = copied(plain(_declared(policy.compared_arguments, arguments, tool, "key")))
        compared = plain_json(arguments)
    if type(name) is not str:
        return Asked(text_of(name), compared, policy, arguments)
    asked = Asked(name, compared, policy, arguments)
    if len(text) <= KEPT:
        # What is remembered beside the fields of a call takes no part in equality.
        remembered["_asked"] = asked
        asked.text = text
        if type(given) is str:
            asked.given = given
    return asked


def is_refusal(result: Result) -> bool:
    """Whether a result reads like that of a refused call."""
    is_result = issubclass(type(result), ToolResult)
    return reads_like_refusal(text_of(cast(ToolResult, result).text if is_result else result))


def answer_of(result: Result, tool: str, policy: ToolPolicy) -> Tuple[Optional[str], Outcome]:
    """Return the text of a result as it is compared, None where it is not known, and judge it."""
    if result is None:
        return None, UNKNOWN
    text: Any = result
    is_error = False
    if issubclass(type(result), ToolResult):
        text, is_error = result.text, bool(result.is_error)  # type: ignore[union-attr]
    if type(text) is not str:
        # A loop written by hand may pass on what the tool returned: a list, a number, False.
        text = text_of(text)
    kind = outcome(text, is_error)
    return (text, kind) if policy is NO_POLICY else _as_declared(text, kind, tool, policy)


def _as_declared(
    text: str, kind: Outcome, tool: str, policy: ToolPolicy
) -> Tuple[Optional[str], Outcome]:
    if policy.strip is not None:
        text = text_of(_declared(policy.compared_text, text, tool, "strip"))
    if policy.idempotent and not kind.is_failure:
        text = ""
    return text, kind


def _declared(rule: Callable[[Any], Any], value: Any, tool: str, name: str) -> Any:
    """Apply a rule that the user declared; one that raises is left out and logged."""
    try:
        return rule(value)
    except Exception:
        _logger.exception("the %s= declared for tool %r raised; it is ignored", name, tool)
        return value
