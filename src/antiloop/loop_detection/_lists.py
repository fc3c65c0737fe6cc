"""Checks of the lists of calls and results that detectors and monitors are given."""

from typing import Any, Mapping, Optional, Sequence

from ..types import ToolCall

_LISTS = frozenset((list, tuple))
_TEXTS = (str, bytes, bytearray, memoryview)


def check_round(calls: Sequence[Any], results: Sequence[Any]) -> None:
    """Check the lists of a round.

    Raises:
        TypeError: for anything but a list of calls and a list of results.
        ValueError: if there are more results than calls.
    """
    check_lists("after", calls, results)
    if len(results) > len(calls):
        raise ValueError(
            f"after takes at most one result for each call, got {len(results)} results for"
            f" {len(calls)} calls; tool_results[i] belongs to tool_calls[i]"
        )


def check_lists(
    method: str, calls: Sequence[Any], results: Sequence[Any], last: Optional[int] = None
) -> None:
    """Raise TypeError for anything but a list of calls and a list of results.

    Args:
        method: what takes them, for the message.
        calls: the calls.
        results: the results.
        last: how many of the calls are looked at, from the end; None for all.
    """
    if type(calls) not in _LISTS or type(results) not in _LISTS:
        for name, given in (("calls", calls), ("results", results)):
            if not _is_list(given):
                raise TypeError(
                    f"{method} takes a list of {name}, got {given!r}; pass {_listed(name, given)}"
                )
    for call in calls if last is None else calls[-last:]:
        if not isinstance(call, ToolCall):
            at = next(at for at, each in enumerate(calls) if each is call)
            raise TypeError(
                f"{method} takes a list of ToolCall, got {call!r} as tool_calls[{at}];"
                " pass ToolCall(name, arguments)"
            )


def _is_list(given: Any) -> bool:
    return hasattr(given, "__getitem__") and not isinstance(given, (*_TEXTS, Mapping))


def _listed(name: str, given: Any) -> str:
    """Return what to pass instead."""
    if isinstance(given, Mapping):
        return "[ToolCall(...)]" if name == "calls" else "[result]"
    is_series = hasattr(given, "__iter__") and not isinstance(given, _TEXTS)
    return f"list({name})" if is_series else f"[{name[:-1]}]"
