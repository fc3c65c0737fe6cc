"""A detector's configuration as plain JSON, and back."""

import inspect
from dataclasses import fields
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Type, Union

from ..types import Role
from .choices import choice_of
from .detectors.base import BaseDetector
from .detectors.call_limit import CallLimitDetector
from .detectors.chant import ChantDetector
from .detectors.failure_streak import FailureStreakDetector
from .detectors.monologue import MonologueDetector
from .detectors.near_repeat import NearRepeatDetector
from .detectors.no_effect import NoEffectDetector
from .detectors.persistent_failure import PersistentFailureDetector
from .detectors.ping_pong import PingPongDetector
from .detectors.recurrence import RecurrenceDetector
from .detectors.repeat import RepeatDetector
from .detectors.repeated_finish import RepeatedFinishDetector
from .detectors.stall import StallDetector
from .detectors.unknown_tool import UnknownToolDetector
from .evidence.tool_policy import ToolPolicy
from .policy import Escalation, LoopAction, LoopPolicy
from .settings import NOTICE_ROLES, DetectorSettings
from .text.masking import MASKINGS

CONFIG_VERSION = 1
TYPES: Dict[str, Type[BaseDetector]] = {
    "call_limit": CallLimitDetector,
    "chant": ChantDetector,
    "failure_streak": FailureStreakDetector,
    "monologue": MonologueDetector,
    "near_repeat": NearRepeatDetector,
    "no_effect": NoEffectDetector,
    "persistent_failure": PersistentFailureDetector,
    "ping_pong": PingPongDetector,
    "recurrence": RecurrenceDetector,
    "repeat": RepeatDetector,
    "repeated_finish": RepeatedFinishDetector,
    "stall": StallDetector,
    "unknown_tool": UnknownToolDetector,
}
"""The detectors that a configuration may name."""


def write_config(detector: DetectorSettings) -> Dict[str, Any]:
    """Write a detector's configuration; raises ValueError if it holds code."""
    if detector.second_opinion is not None:
        raise ValueError("second_opinion: a judge is code, which cannot be written as JSON")
    return {
        "version": CONFIG_VERSION,
        "detectors": [_written_detector(each) for each in detector.detectors],
        "policy": _written_policy(detector.policy),
        "escalations": {
            name: _written_policy(ladder) for name, ladder in detector.escalations.items()
        },
        "inject_message": _data(detector.inject_message, "inject_message"),
        "window": detector.window,
        "tools": {name: _written_tool(name, policy) for name, policy in detector.tools.items()},
        "notice_role": detector.notice_role.value,
        "mask": _data(detector.mask, "mask"),
        "log_verdicts": detector.log_verdicts,
        "shadow": detector.shadow,
    }


def read_config(config: Mapping[str, Any]) -> Dict[str, Any]:
    """Read a configuration as the arguments of a `LoopDetector`; raises ValueError."""
    parts = _read("a configuration", _object, config)
    version = parts.pop("version", None)
    if version != CONFIG_VERSION:
        raise ValueError(f"version must be {CONFIG_VERSION}, got {version!r}")
    unknown = sorted(set(parts) - set(_READERS))
    if unknown or "detectors" not in parts:
        wrong = f"unknown {unknown[0]!r}" if unknown else "no 'detectors'"
        raise ValueError(f"{wrong}; a configuration holds {', '.join(_READERS)}")
    return {name: _read(name, _READERS[name], value) for name, value in parts.items()}


def _read(place: str, reader: Callable[[Any], Any], value: Any) -> Any:
    try:
        return reader(value)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from error


def _object(value: Any) -> Dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object, got {type(value).__name__}")
    return dict(value)


def _made(kind: Callable[..., Any], options: Any) -> Any:
    """Make an object from its options; an error names an option that it does not have."""
    known = inspect.signature(kind).parameters
    unknown = [name for name in _object(options) if name not in known]
    if unknown:
        raise ValueError(f"unknown option {unknown[0]!r}; there are {', '.join(known)}")
    return kind(**options)


def _written_detector(detector: BaseDetector) -> Dict[str, Any]:
    for name, kind in TYPES.items():
        if type(detector) is kind:
            options = inspect.signature(kind).parameters
            return {"type": name, **{option: getattr(detector, option) for option in options}}
    raise ValueError(f"detectors: {type(detector).__name__} is not built in, so it has no name")


def _read_detectors(listed: Any) -> List[BaseDetector]:
    if not isinstance(listed, (list, tuple)):
        raise ValueError(f"must be a list, got {type(listed).__name__}")
    return [_read(f"number {at}", read_detector, each) for at, each in enumerate(listed, 1)]


def read_detector(options: Any) -> BaseDetector:
    """Make a detector from its options.

    Raises:
        TypeError, ValueError: if they are malformed.
    """
    rest = _object(options)
    kind = rest.pop("type", None)
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"unknown type {kind!r}; choose from {', '.join(TYPES)}")
    name = rest.get("name", kind)
    if not isinstance(name, str):
        raise ValueError(f"name must be a text, got {name!r}")
    detector: BaseDetector = _made(TYPES[kind], rest)
    return detector


def _written_policy(policy: Union[LoopPolicy, Escalation]) -> Any:
    if isinstance(policy, LoopPolicy):
        return policy.value
    return {
        "actions": [LoopAction(action).value for action in policy.actions],
        "every": policy.every,
        "per_lap": policy.per_lap,
        "resumes": policy.resumes,
        "max_interventions": policy.max_interventions,
    }


def _read_policy(value: Any) -> Union[LoopPolicy, Escalation]:
    if isinstance(value, Mapping):
        ladder: Escalation = _made(Escalation, value)
        return ladder
    return choice_of(LoopPolicy, value, "policy", ", or an object")


def _read_ladders(value: Any) -> Dict[str, Escalation]:
    return _read_each(partial(_made, Escalation), value)


def _written_tool(name: str, policy: ToolPolicy) -> Dict[str, Any]:
    values = {each.name: getattr(policy, each.name) for each in fields(policy)}
    return {option: _data(value, f"tools: {name}: {option}") for option, value in values.items()}


def _read_tools(value: Any) -> Dict[str, ToolPolicy]:
    return _read_each(partial(_made, ToolPolicy), value)


def _read_each(reader: Callable[[Any], Any], value: Any) -> Dict[str, Any]:
    return {name: _read(str(name), reader, each) for name, each in _object(value).items()}


def _read_mask(value: Any) -> str:
    if not isinstance(value, str) or value not in MASKINGS:
        raise ValueError(f"unknown mask {value!r}; choose from {', '.join(MASKINGS)}")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {value!r}")
    return value


def _data(value: Any, place: str) -> Any:
    if callable(value):
        raise ValueError(f"{place}: a function cannot be written as JSON")
    if isinstance(value, Mapping):
        return {key: _data(item, place) for key, item in value.items()}
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value


_READERS: Dict[str, Callable[[Any], Any]] = {
    "detectors": _read_detectors,
    "policy": _read_policy,
    "escalations": _read_ladders,
    "inject_message": lambda value: None if value is None else str(value),
    "window": lambda value: value,
    "tools": _read_tools,
    "notice_role": lambda value: choice_of(Role, value, "role", choices=NOTICE_ROLES),
    "mask": _read_mask,
    "log_verdicts": _read_flag,
    "shadow": _read_flag,
}
