"""Calls and results as they were when they came, for detectors of the user's own."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Tuple

from ..types import ToolCall
from .compared import Result
from .fingerprint import parsed_arguments, plain


def own_copy(call: ToolCall, result: Result) -> Tuple[ToolCall, Result]:
    """Copy a call and its result; what cannot be copied is given as plain JSON."""
    return replace(call, arguments=_copied(call.arguments, parsed_arguments)), _copied(
        result, plain
    )


def _copied(value: Any, in_plain: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - foreign code ran
        return in_plain(value)
