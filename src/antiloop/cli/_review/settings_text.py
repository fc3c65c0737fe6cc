"""Settings as the text of an antiloop.toml; the standard library reads TOML, but writes none."""

import json
import re
from typing import Any, Dict, Iterator, Mapping

from ...calibration import Calibration
from ...loop_detection import LoopDetector

_PLAIN_KEY = re.compile("[A-Za-z0-9_-]+")


def settings_with(
    values: Mapping[str, Any], preset: str, before: LoopDetector, done: Calibration
) -> Dict[str, Any]:
    """Return settings that make the calibrated detector.

    Raises:
        ValueError: if a change cannot be written as a setting.
    """
    changed: Dict[str, Any] = json.loads(json.dumps(dict(values)))
    if "config" not in changed:
        changed.setdefault("preset", preset)
    new = LoopDetector.from_config(done.config).to_config()
    old = before.to_config()
    if old["escalations"] != new["escalations"]:
        names = ", ".join(name for name in new["escalations"] if name not in old["escalations"])
        raise ValueError(f"a file of settings has no ladder for one detector ({names})")
    for at, each in enumerate(before.detectors):
        options = _differing(old["detectors"][at], new["detectors"][at])
        if options:
            known = changed.setdefault("thresholds", {}).get(each.name, {})
            known = known if isinstance(known, dict) else {}
            changed["thresholds"][each.name] = {**known, **options}
    for tool, policy in new["tools"].items():
        thresholds = _differing(
            old["tools"].get(tool, {}).get("thresholds", {}), policy["thresholds"]
        )
        if thresholds:
            own = changed.setdefault("tools", {}).setdefault(tool, {})
            own["thresholds"] = {**own.get("thresholds", {}), **thresholds}
        for name in ("poll", "exempt"):
            if policy[name] and not old["tools"].get(tool, {}).get(name):
                changed.setdefault("tools", {}).setdefault(tool, {})[name] = policy[name]
    return changed


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in new.items() if old.get(name) != value}


def toml_of(values: Mapping[str, Any]) -> str:
    """Write values as TOML: plain ones first, then a table for each that is one.

    >>> print(toml_of({"preset": "default", "tools": {"a b": {"poll": True}}}), end="")
    preset = "default"
    <BLANKLINE>
    [tools."a b"]
    poll = true
    """
    return "".join(f"{line}\n" for line in _table(values, ""))


def _table(values: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in values.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in values.items():
        if isinstance(value, Mapping):
            inner = f"{path}.{_key(key)}" if path else _key(key)
            if not value or any(not isinstance(each, Mapping) for each in value.values()):
                yield from ("", f"[{inner}]")
            yield from _table(value, inner)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)


def _text(text: str) -> str:
    # A TOML text is a JSON text but for DEL, which it does not hold, and pairs of surrogates.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
