"""The options that all presets take, and the arguments of `LoopDetector` that they lead to."""

from inspect import signature
from typing import Any, Callable, Dict, Mapping, Optional, TypedDict, Union

from .._checks import check_threshold
from .._text.masking import MaskRule
from ..stability import beta
from ..types import Role
from ._arguments import check_options, tools_of
from ._config import CONFIG_VERSION, read_config, with_thresholds
from ._evidence.tool_policy import ToolPolicy
from ._messages import MessageRule
from ._policy import Escalation, LoopPolicy
from ._registry import PRESETS
from ._second_opinion.opinion import Judge, SecondOpinion


@beta
class PresetOptions(TypedDict, total=False):
    """The keyword arguments of every preset; what is left out or None stays as the preset has it.

    >>> from antiloop import LoopDetector
    >>> LoopDetector.escalating(policy="stop", thresholds={"repeat": 5}).detectors[0].threshold
    5
    """

    policy: Union[LoopPolicy, Escalation, str, None]
    """The response to a loop; replaces all ladders of the preset."""
    thresholds: Optional[Mapping[str, Union[int, Mapping[str, Any]]]]
    """By detector name: its threshold, or several of its options. A number also raises the
    options ``patience``, ``unseen``, ``varied`` and ``in_a_row`` where they are lower."""
    tools: Optional[Mapping[str, ToolPolicy]]
    """Policies by tool name; they are added to those of the preset."""
    window: Optional[int]
    """The number of recent calls that the detectors compare."""
    escalations: Optional[Mapping[str, Escalation]]
    """Other ladders for some detectors, by detector name; replaces those of the preset."""
    inject_message: MessageRule
    """Your own text of a notice."""
    notice_role: Optional[Role]
    """Role of a notice."""
    mask: Optional[MaskRule]
    """The rule for hiding parts of arguments that are shown or stored."""
    log_verdicts: bool
    """Whether to log each verdict that is more than to go on."""
    second_opinion: Union[SecondOpinion, Judge, None]
    """The judge to ask when a run looks stuck and no detector is certain."""
    shadow: bool
    """Whether to report decisions and do nothing."""


_FLAGS = ("log_verdicts", "shadow")


def arguments_of(
    preset: Mapping[str, Any],
    options: Optional[Mapping[str, Any]] = None,
    method: Optional[Callable[..., Any]] = None,
) -> Dict[str, Any]:
    """Return the arguments of `LoopDetector` for a preset.

    Args:
        preset: its configuration, as in the registry.
        options: those of `PresetOptions`.
        method: the method of a preset with further options, which may be meant as well.

    Raises:
        ValueError: if the thresholds name a detector or an option that does not exist.
        TypeError: if there is no such option, or a tool policy is not a `ToolPolicy`.
    """
    known = PresetOptions.__annotations__
    own = list(signature(method).parameters)[:-1] if method else []  # the last are `options`
    check_options(options or {}, known, (*own, *known))
    given = {
        name: value
        for name, value in (options or {}).items()
        if value is not None or name in _FLAGS
    }
    thresholds = given.pop("thresholds", None)
    config = preset if thresholds is None else with_thresholds(preset, thresholds)
    made = read_config({**config, "version": CONFIG_VERSION})
    if "policy" in given:
        made.pop("escalations", None)
    if "tools" in given:
        given["tools"] = {**made.get("tools", {}), **tools_of(given["tools"])}
    return {**made, **given}


def cycles(laps: int) -> Dict[str, Any]:
    """Return the preset with this number of laps; raises ValueError for less than 2."""
    check_threshold("laps", laps)
    return with_thresholds(PRESETS["cycles"], {"repeat": laps, "ping_pong": laps})


def patient(warning: int, critical: int, breaker: int) -> Dict[str, Any]:
    """Return the preset with these counts of calls; raises ValueError if they do not increase."""
    counts = {"warning_threshold": warning, "critical_threshold": critical}
    _check_counts(**counts, global_circuit_breaker_threshold=breaker)
    preset = with_thresholds(
        PRESETS["patient"],
        {
            "standstill": breaker,
            "no_progress": critical,
            "repeat": warning,
            "ping_pong": _pairs(warning),
        },
    )
    further = 2 * (_pairs(critical) - _pairs(warning))
    turns = {"actions": ["notify", "block"], "every": further} if further else _warnings(0)
    ladders = {**preset["escalations"], "ping_pong": turns}
    return {**preset, "escalations": ladders, "window": max(preset["window"], breaker)}


def budgeted(
    same_warning: int, same_critical: int, turn_warning: int, turn_critical: int, most_calls: int
) -> Dict[str, Any]:
    """Return the preset with these counts of calls; raises ValueError if they do not increase."""
    _check_counts(same_call_warning=same_warning, same_call_critical=same_critical)
    _check_counts(pingpong_warning=turn_warning, pingpong_critical=turn_critical)
    check_threshold("max_tool_calls_per_turn", most_calls, 1)
    preset = with_thresholds(
        PRESETS["budgeted"],
        {"call_limit": most_calls, "repeat": same_warning, "ping_pong": _pairs(turn_warning)},
    )
    ladders = {
        "repeat": _warnings(same_critical - same_warning),
        "ping_pong": _warnings(turn_critical - 2 * _pairs(turn_warning)),
    }
    return {**preset, "escalations": ladders}


def _warnings(count: int) -> Dict[str, Any]:
    """Return a ladder with so many warnings before the block."""
    return {"actions": ["notify"] * count + ["block"], "resumes": False}


def _pairs(calls: int) -> int:
    """Return how many laps of two calls make at least this many calls, two or more."""
    return max(2, (calls + 1) // 2)


def _check_counts(**counts: int) -> None:
    """Refuse counts below 2, and a stronger action that would come before a milder one."""
    for name, count in counts.items():
        check_threshold(name, count)
    if list(counts.values()) != sorted(counts.values()):
        order = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ValueError(f"a warning must not come after what follows it, got {order}")
