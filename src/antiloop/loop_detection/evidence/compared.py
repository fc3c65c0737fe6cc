"""What of a call and of its result is compared: the user's declarations come first."""

import logging
from typing import Any, Callable, Hashable, Optional, Tuple, Union, cast

from ...types import ToolCall, ToolResult
from ..text.canonical import copied, flat_items, parsed_arguments, plain, plain_json, text_of
from .fingerprint import digest_of, short_call_fingerprint
from .kept_name import kept_name
from .outcome import UNKNOWN, Outcome, outcome, reads_like_refusal
from .tool_policy import NO_POLICY, ToolPolicy

Result = Union[ToolResult, str, None]
"""An entry of a list of results; None is an unknown result."""

KEPT = 8_000
"""Characters of arguments that are kept at most, to be compared more loosely: of the names and
texts of flat arguments, of the JSON of others."""

_logger = logging.getLogger("antiloop")
_ANOTHER = object()  # the arguments of no call


class Asked:
    """What is known of a call before its result, and the features of its last one."""

    __slots__ = (
        *("arguments", "call_key", "features", "given", "is_long"),
        *("policy", "result", "tool", "whole"),
    )

    def __init__(
        self, tool: str, compared: Hashable, policy: ToolPolicy, arguments: Any, is_long: bool
    ) -> None:
        self.tool = kept_name(tool)
        self.call_key: Hashable = (self.tool, compared)
        """Equal for equal calls."""
        self.policy = policy
        """What is declared."""
        self.given: Any = _ANOTHER
        """The arguments that the call was made with, if they cannot change in place."""
        self.whole: Hashable = None
        """Equal for equal arguments, before the policy leaves any out."""
        self.arguments = arguments
        """As plain JSON; there is no other reference to them."""
        self.is_long = is_long
        """Whether the arguments are too long to be kept."""
        self.result: Result = None
        """The result that the features are about."""
        self.features: Any = None

    @property
    def call(self) -> str:
        """The fingerprint of the call."""
        return short_call_fingerprint(self.tool, self.arguments)


def asked_of(call: ToolCall, policy: ToolPolicy, remembers: bool = True) -> Asked:
    """Return the half of the features that needs no result.

    What is remembered with the call holds only as long as its arguments are the same: the caller
    may change them in place at any time.

    Args:
        call: the call.
        policy: what is declared about its tool.
        remembers: whether the same call may be judged again.
    """
    given = call.arguments
    known: Optional[Asked] = getattr(call, "_asked", None)
    if known is not None and known.policy is policy and known.given is given:
        return known
    arguments, whole, whole_is_long = _copied_and_compared(given)
    if known is not None and known.policy is policy and known.whole == whole:
        return known
    name, compared, is_long = call.tool_name, whole, whole_is_long
    if policy.key is not None:
        declared = _declared(policy.compared_arguments, arguments, text_of(name), "key")
        arguments, compared, is_long = _copied_and_compared(plain(declared))
    if type(name) is not str:
        return Asked(text_of(name), compared, policy, arguments, is_long)
    asked = Asked(name, compared, policy, arguments, is_long)
    if remembers and not whole_is_long:
        # What is remembered beside the fields of a call takes no part in equality.
        object.__setattr__(call, "_asked", asked)
        asked.whole = whole
        if type(given) is str:
            asked.given = given
    return asked


def _copied_and_compared(given: Any) -> Tuple[Any, Hashable, bool]:
    """Take arguments as plain JSON values.

    Returns:
        The copy, what equals that of equal arguments, and whether they are too long to be kept.
    """
    items, length = flat_items(given)
    if items is not None:
        arguments = given.copy()
    else:
        arguments = parsed_arguments(given)
        if arguments is given:
            arguments = copied(given)
        else:
            items, length = flat_items(arguments)
    compared: Hashable = items
    if items is None:
        compared = text = plain_json(arguments)
        length = len(text)
    if length > KEPT:
        return arguments, digest_of(plain_json(arguments)), True
    return arguments, compared, False


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
