"""The JSON schema of a settings file."""

from typing import Any, Dict

from ...types import Role
from ..config import TYPES
from ..policy import LoopAction, LoopPolicy
from ..preset_makers import MAKERS
from ..text.masking import MASKINGS

_TEXT: Dict[str, Any] = {"type": "string"}
_FLAG: Dict[str, Any] = {"type": "boolean"}
_NAMES: Dict[str, Any] = {"type": "array", "items": _TEXT}


def settings_schema() -> Dict[str, Any]:
    """Return the JSON schema of antiloop.toml; the package ships it as antiloop.schema.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of antiloop",
        "description": "antiloop.toml, or the table [tool.antiloop] of pyproject.toml.",
        **_object(_SETTINGS),
    }


def _count(least: int, about: str) -> Dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": about}


def _object(properties: Dict[str, Any], about: str = "") -> Dict[str, Any]:
    about_it = {"description": about} if about else {}
    return {**about_it, "type": "object", "properties": properties, "additionalProperties": False}


def _map(values: Dict[str, Any], about: str) -> Dict[str, Any]:
    return {"description": about, "type": "object", "additionalProperties": values}


def _said(kind: Dict[str, Any], about: str) -> Dict[str, Any]:
    return {**kind, "description": about}


_LADDER = _object(
    {
        "actions": {
            "description": "From mild to strong.",
            "type": "array",
            "minItems": 1,
            "items": {"enum": [each.value for each in LoopAction][1:]},
        },
        "every": _count(1, "How many further rounds of a loop make a further detection."),
        "per_lap": _said(_FLAG, "Count every in whole laps of a cycle."),
        "resumes": _said(_FLAG, "A loop that the agent comes back to goes on where it stood."),
        "max_interventions": _count(1, "Notices and blocks in one run, before it is stopped."),
    },
)
_OPTIONS = {
    **_map({"type": ["integer", "boolean", "string", "object"]}, "Options of the detector."),
    "properties": {"type": False, "name": False},
}
_TOOL = _object(
    {
        "poll": {
            "description": "It reports on work elsewhere; or the arguments that make it a poll.",
            "anyOf": [_FLAG, {"type": "object", "additionalProperties": {"type": "array"}}],
        },
        "exempt": _said(_FLAG, "Its calls are never evidence of a loop."),
        "mutates": _said(_FLAG, "A successful call changes the world."),
        "idempotent": _said(_FLAG, "The same call brings nothing new; false: each does something."),
        "key": _said(_NAMES, "The arguments that make two calls equal."),
        "strip": _said(_NAMES, "The fields of a result that are noise."),
        "thresholds": _map(_count(2, "A threshold."), "Thresholds for this tool, by detector."),
    }
)

_AMOUNT: Dict[str, Any] = {"type": "number", "minimum": 0}
_PRICE = {
    **_object(
        {
            "input": _said(_AMOUNT, "For what it reads."),
            "output": _said(_AMOUNT, "For what it writes."),
            "cached_input": _said(_AMOUNT, "For what it reads from a cache."),
        }
    ),
    "required": ["input", "output"],
}
_SETTINGS: Dict[str, Any] = {
    "preset": {
        "description": "The detectors and what is done about loops.",
        "enum": list(MAKERS),
    },
    "config": _said(
        _TEXT, "Instead of preset: a JSON file that calibrate or LoopDetector.to_config wrote."
    ),
    "policy": {
        "description": "What is done about a loop: a policy, or a ladder of actions.",
        "anyOf": [{"enum": [each.value for each in LoopPolicy]}, _LADDER],
    },
    "thresholds": _map(
        {"anyOf": [_count(2, "Its threshold."), _OPTIONS]},
        f"By detector: {', '.join(TYPES)}, or another name that the preset has.",
    ),
    "tools": _map(_TOOL, "What is declared about tools, by name."),
    "ignore": _said(_NAMES, "Tools whose calls do not count."),
    "shadow": _said(_FLAG, "Report what would be done, and do nothing."),
    "mask": {"description": "What of arguments is hidden.", "enum": list(MASKINGS)},
    "window": _count(2, "How many recent calls are looked at."),
    "notice_role": {
        "description": "Who says a notice.",
        "enum": [Role.SYSTEM.value, Role.USER.value],
    },
    "inject_message": _said(_TEXT, "The words of a notice, instead of ours."),
    "log_verdicts": _said(_FLAG, "Log each verdict that is more than to go on."),
    "baseline": _said(_TEXT, "For scan: a file of loops that are known."),
    "prices": {
        "description": "What models cost: a file in LiteLLM's format, or prices by model.",
        "anyOf": [_TEXT, _map(_PRICE, "For a million tokens.")],
    },
}
