"""What of a call and of its result is compared: the user's declarations come first."""

import logging
from typing import Any, Callable, Optional, Tuple, Union, cast

from ..types import ToolCall, ToolResult
from .fingerprint import parsed_arguments, plain, plain_json, text_fingerprint, text_of
from .outcome import Outcome, outcome
from .tool_policy import NO_POLICY, ToolPolicy

Result = Union[ToolResult, str, None]
"""What may stand in a list of results; None is a result that is not known."""

KEY_LENGTH = 10
"""Hexadecimal digits of a fingerprint that are kept: 40 bits tell the calls of a window apart."""

_logger = logging.getLogger("antiloop")


def asked_of(call: ToolCall, policy: ToolPolicy) -> Tuple[str, str, Optional[bool], Any]:
    """Give the half of the facts that needs no result: tool, key, what is declared, arguments."""
    tool = text_of(call.tool_name)
    arguments = parsed_arguments(call.arguments)
    if policy.key is not None:
        arguments = plain(_declared(policy.compared_arguments, arguments, tool, "key"))
    key = text_fingerprint(f"{tool}\x00{plain_json(arguments)}")[:KEY_LENGTH]
    return tool, key, policy.mutates, arguments


def answer_of(result: Result, tool: str, policy: ToolPolicy) -> Tuple[Optional[str], Outcome]:
    """Give the text of a result as it is compared, None where it is not known, and judge it."""
    if result is None:
        return None, Outcome.UNKNOWN
    if issubclass(type(result), ToolResult):
        answer = cast(ToolResult, result)
        text, is_error = text_of(answer.text), bool(answer.is_error)
    else:  # a loop written by hand may pass on what the tool returned: a list, a number, False
        text, is_error = text_of(result), False
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
        _logger.exception("the %s= declared for tool %r raised; it is left out", name, tool)
        return value
