"""A detector's configuration as plain JSON, and back."""

import inspect
from dataclasses import fields
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Union

from .._checks import check_text, choice_of
from .._json_schema import hint_to, with_whole_numbers
from .._text.masking import MASKINGS
from ..types import Role
from ._detectors.base import BaseDetector
from ._evidence.tool_policy import ToolPolicy
from ._policy import Escalation, LoopAction, LoopPolicy
from ._registry import DETECTORS, NOT_BELOW, names_of, options_of, threshold_of
from ._settings import NOTICE_ROLES, DetectorSettings

CONFIG_VERSION = 1


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
    parts = with_whole_numbers(_read("a configuration", _object, config))
    version = parts.pop("version", None)
    if version != CONFIG_VERSION:
        raise ValueError(
            f"version must be {CONFIG_VERSION}, got {version!r};"
            " LoopDetector.to_config() of this version of antiloop writes a configuration"
        )
    unknown = sorted(set(parts) - set(_READERS))
    if unknown or "detectors" not in parts:
        wrong = f"unknown {unknown[0]!r}" if unknown else "no 'detectors'"
        raise ValueError(f"{wrong}; a configuration holds {', '.join(_READERS)}")
    return {name: _read(name, _READERS[name], value) for name, value in parts.items()}


def with_thresholds(config: Mapping[str, Any], thresholds: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a configuration whose detectors have other thresholds.

    Args:
        config: the configuration, e.g. of a preset.
        thresholds: by detector name: a number, or several options of the detector. A number
            also raises the counts in `NOT_BELOW` that are lower.

    Raises:
        ValueError: if there is no such detector or option; the message names the place.
        TypeError: if the thresholds are not a mapping.
    """
    if not isinstance(thresholds, Mapping):
        raise TypeError(f"thresholds must be a mapping of detector names, got {thresholds!r}")
    names = names_of(config)
    for name in thresholds:
        if name not in names:
            raise ValueError(f"thresholds.{name}: no such detector here{hint_to(name, names)}")
    changed = [
        _read(f"thresholds.{name}", partial(_changed, options), thresholds[name])
        if name in thresholds
        else options
        for name, options in zip(names, config["detectors"])
    ]
    return {**config, "detectors": changed}


def _changed(options: Mapping[str, Any], value: Any) -> Dict[str, Any]:
    """Return the options of a detector with another threshold, or with other options."""
    if isinstance(value, Mapping):
        changed = {**options, **value}
    else:
        changed = {**options, threshold_of(options["type"]): value}
        for other in NOT_BELOW:
            if other in changed and isinstance(value, int):
                changed[other] = max(changed[other], value)
    read_detector(changed)
    return changed


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
    for name, kind in DETECTORS.items():
        if type(detector) is kind:
            values = {option: getattr(detector, option) for option in options_of(name)}
            return {"type": name, **_data(values, f"detectors: {detector.name}")}
    raise ValueError(
        f"detectors: {type(detector).__name__} is not built in, and a configuration holds no"
        " code: leave it out, and add it in your program"
    )


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
    if not isinstance(kind, str) or kind not in DETECTORS:
        raise ValueError(f"unknown type {kind!r}; choose from {', '.join(DETECTORS)}")
    detector: BaseDetector = _made(DETECTORS[kind], rest)
    return detector


def _written_policy(policy: Union[LoopPolicy, Escalation]) -> Any:
    if isinstance(policy, LoopPolicy):
        return policy.value
    _data(policy.on_notice, "policy: on_notice")  # a function is refused
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


def _written_tool(name: str, policy: ToolPolicy) -> Dict[str, Any]:
    values = {each.name: getattr(policy, each.name) for each in fields(policy)}
    return {option: _data(value, f"tools: {name}: {option}") for option, value in values.items()}


def _read_each(kind: Callable[..., Any], value: Any) -> Dict[str, Any]:
    """Make an object of each entry of a mapping."""
    reader = partial(_made, kind)
    return {name: _read(str(name), reader, each) for name, each in _object(value).items()}


def _read_words(value: Any) -> Any:
    if value is not None:
        check_text("the text", value)
    return value


def _read_mask(value: Any) -> str:
    if not isinstance(value, str) or value not in MASKINGS:
        raise ValueError(f"unknown mask {value!r}; choose from {', '.join(MASKINGS)}")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {value!r}")
    return value


def _data(value: Any, place: str) -> Any:
    """Return a value as plain JSON; raises ValueError where that would lose something."""
    if callable(value):
        raise ValueError(f"{place}: a function cannot be written as JSON")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _data(item, place) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):  # in an order that does not change with the process
        return sorted((_data(item, place) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_data(item, place) for item in value]
    if not isinstance(value, (str, int, float, type(None))):
        raise ValueError(f"{place}: {value!r} cannot be written as JSON")
    return value


_READERS: Dict[str, Callable[[Any], Any]] = {
    "detectors": _read_detectors,
    "policy": _read_policy,
    "escalations": partial(_read_each, Escalation),
    "inject_message": _read_words,
    "window": lambda value: value,
    "tools": partial(_read_each, ToolPolicy),
    "notice_role": lambda value: choice_of(Role, value, "role", choices=NOTICE_ROLES),
    "mask": _read_mask,
    "log_verdicts": _read_flag,
    "shadow": _read_flag,
}
