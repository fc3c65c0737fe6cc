"""Checks of the arguments of `LoopDetector` and `LoopMonitor`."""

from dataclasses import replace
from typing import Any, Collection, Dict, Iterable, Mapping, Optional, Tuple, cast

from .._checks import check_flag, check_text, choice_of
from .._json_schema import hint_to
from .._text.canonical import text_of
from ..types import ToolCall, ToolResult
from ._detectors.base import BaseDetector, WindowDetector
from ._evidence.answered import Result
from ._evidence.tool_policy import ToolPolicy
from ._policy import Escalation, LoopPolicy
from ._second_opinion.opinion import Opinion


def detectors_of(given: Any) -> Tuple[BaseDetector, ...]:
    """Return the detectors of a list.

    Raises:
        TypeError: for anything else.
        ValueError: for detectors that have no names, or different ones that have the same.
    """
    if isinstance(given, (str, dict, type)) or not hasattr(given, "__iter__"):
        raise TypeError(f"detectors must be a list, got {given!r}; pass [RepeatDetector(3)]")
    detectors = tuple(given)
    kinds: Dict[str, type] = {}
    for at, each in enumerate(detectors):
        if isinstance(each, type):
            name = each.__name__
            raise TypeError(f"detectors[{at}] is a class; pass an instance: {name}()")
        if not isinstance(each, BaseDetector):
            raise TypeError(f"detectors[{at}] must be a BaseDetector, got {each!r}; subclass it")
        check_text(f"the name of detectors[{at}]", each.name)
        if not isinstance(each, WindowDetector) and _are_rules(getattr(each, "keys", None)):
            raise TypeError(
                f"detectors[{at}] declares keys, which only a WindowDetector compares;"
                f" make it the base of {type(each).__name__}, and write find instead of check"
            )
        kind = type(each)
        if each.name == BaseDetector.name:
            raise ValueError(
                f"detectors[{at}] has no name; write name = ... in the class {kind.__name__}"
            )
        # Several of one class climb one ladder.
        other = kinds.setdefault(each.name, kind)
        if other is not kind:
            raise ValueError(
                f"detectors[{at}] has the name {each.name!r} of a {other.__name__} before it;"
                f" give {kind.__name__} another name"
            )
    return detectors


def ladders_of(given: Any) -> Dict[str, Escalation]:
    """Return the ladders by detector name.

    Raises:
        TypeError: for a value that is not a ladder.
        ValueError: for a policy that does not exist.
    """
    ladders = _mapping("escalations", given)
    for name, ladder in ladders.items():
        if isinstance(ladder, str):
            ladders[name] = choice_of(LoopPolicy, ladder, f"escalations: {name}").escalation
        elif not isinstance(ladder, Escalation):
            raise TypeError(
                f"escalations: {name}: must be an Escalation or a LoopPolicy, got {ladder!r}"
            )
    return ladders


def tools_of(given: Any) -> Dict[str, ToolPolicy]:
    """Return the tool policies by tool name; raises TypeError for any other value."""
    tools = _mapping("tools", given)
    for name, policy in tools.items():
        if not isinstance(policy, ToolPolicy):
            raise TypeError(
                f"tools: {name}: must be a ToolPolicy, got {policy!r}; pass ToolPolicy(...)"
            )
    return tools


def opinions_of(given: Any) -> Dict[int, Opinion]:
    """Return opinions by step; raises TypeError for any other value."""
    opinions = _mapping("opinions", given, int)
    for step, opinion in opinions.items():
        if not isinstance(opinion, Opinion):
            raise TypeError(f"opinions: {step}: must be an Opinion, got {opinion!r}")
    return opinions


def message_rule_of(given: Any) -> Any:
    """Return the rule for the text of a notice; raises unless it can be one."""
    if not (given is None or isinstance(given, str) or callable(given)):
        raise TypeError(f"inject_message must be a text, a function or None, got {given!r}")
    if isinstance(given, str):
        # A blank notice would not be given, and still be counted by the ladder.
        check_text("inject_message", given)
    return given


def check_options(given: Iterable[str], known: Collection[str], shown: Collection[str]) -> None:
    """Raise TypeError for an option that does not exist; the message has a hint to the right one.

    Args:
        given: the names.
        known: the names that exist.
        shown: the names for the message.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"unknown option {name!r}{hint_to(name, shown)}")


def whole_result(result: Result, duration_s: Optional[float], *, is_error: bool) -> Result:
    """Return a result with what else is known of it; an unknown one may be known to be an error."""
    check_flag("is_error", is_error)
    if not is_error and (duration_s is None or result is None):
        return result
    if not issubclass(type(result), ToolResult):
        result = ToolResult("" if result is None else text_of(result))
    known = cast(ToolResult, result)
    took = known.duration_s if duration_s is None else duration_s
    return replace(known, is_error=is_error or known.is_error, duration_s=took)


def check_call(given: Any) -> None:
    """Raise TypeError for anything but a call."""
    if not isinstance(given, ToolCall):
        raise TypeError(f"before takes a ToolCall, got {given!r}; pass ToolCall(name, arguments)")


def check_name(given: Any) -> None:
    """Raise TypeError for a call instead of a tool's name."""
    if isinstance(given, ToolCall):
        raise TypeError(
            f"record_call takes a tool name, got {given!r}; pass after([call], [result])"
        )


def checked_words(method: str, given: Any) -> str:
    """Return a text, empty for None; raises TypeError for anything else."""
    if not isinstance(given, (str, type(None))):
        raise TypeError(f"{method} takes a text or None, got {given!r}")
    return given or ""


def _are_rules(keys: Any) -> bool:
    """Whether these are declared keys; a detector may have another use for the name."""
    return isinstance(keys, Mapping) and bool(keys) and all(map(callable, keys.values()))


def _mapping(name: str, given: Any, keys: type = str) -> Dict[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a mapping of names, got {given!r}")
    for key in given:
        if not isinstance(key, keys):
            raise TypeError(f"{name} must be a mapping of names, got {key!r} as a name")
    return dict(given)
