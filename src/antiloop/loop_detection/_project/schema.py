"""The JSON schema of a settings file."""

from typing import Any, Dict, Mapping, Optional

from ..._text.masking import MASKINGS
from ...types import Role
from .._policy import LoopAction, LoopPolicy
from .._registry import DETECTORS, PRESETS, options_of, threshold_of

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
_OPTION = {
    int: {"type": "integer"},
    Optional[int]: {"type": "integer"},
    bool: _FLAG,
    str: _TEXT,
    Optional[Mapping[str, int]]: {"type": "object", "additionalProperties": {"type": "integer"}},
}
"""The options of detectors, by the type that their constructor declares."""
_OTHER_OPTIONS = {
    **_map({"type": ["integer", "boolean", "string", "object"]}, "Options of the detector."),
    "properties": {"type": False, "name": False},
}


def _threshold(name: str) -> Dict[str, Any]:
    """Return the schema of what may be set for a built-in detector."""
    options = {
        option: _OPTION[parameter.annotation]
        for option, parameter in options_of(name).items()
        if option != "name"
    }
    number = _count(_least(name), f"Its {threshold_of(name)}.")
    return {"anyOf": [number, _object(options, "Its options.")]}


def _least(name: str) -> int:
    """Return the lowest threshold that a detector takes."""
    number = 1
    while not _is_taken(name, number):
        number += 1
    return number


def _is_taken(name: str, threshold: int) -> bool:
    try:
        DETECTORS[name](**{threshold_of(name): threshold})
    except ValueError:
        return False
    return True


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
_CALLS = {
    "type": "array",
    "items": {
        "anyOf": [
            _TEXT,
            {
                **_object({"tool": _TEXT, "where": _map(_TEXT, "Patterns."), "handle": _TEXT}),
                "required": ["tool"],
            },
        ]
    },
}
_PROFILE = _object(
    {
        "title": _said(_TEXT, "Its name for people."),
        "tools": _said(_NAMES, "Names of tools by which it is recognized."),
        "wraps": _said(_NAMES, "Patterns of what it wraps around results."),
        "host_texts": _said(_NAMES, "How texts begin that it writes in the user's place."),
        "compaction": _said(_NAMES, "How a text begins that stands for earlier messages."),
        "compaction_events": _said(_NAMES, "The events of its hooks at a compaction."),
        "plans": _said(_NAMES, "Tools that plan, ask and answer."),
        "waits": _said(_CALLS, "Calls that wait for work elsewhere."),
        "looks": _said(_CALLS, "Calls that only look."),
        "acts": _said(_CALLS, "Calls whose effect the next look shows."),
        "finishes": _said(_CALLS, "Calls by which an agent declares itself done."),
        "agents": _said(_NAMES, "Tools that start another agent."),
        "comments": _said(_NAMES, "Arguments that say what a call is for: TOOL.ARGUMENT."),
    }
)
_SETTINGS: Dict[str, Any] = {
    "preset": {
        "description": "The detectors and what is done about loops.",
        "enum": list(PRESETS),
    },
    "config": _said(
        _TEXT, "Instead of preset: a JSON file that calibrate or LoopDetector.to_config wrote."
    ),
    "policy": {
        "description": "What is done about a loop: a policy, or a ladder of actions.",
        "anyOf": [{"enum": [each.value for each in LoopPolicy]}, _LADDER],
    },
    "thresholds": {
        **_map(
            {"anyOf": [_count(2, "Its threshold."), _OTHER_OPTIONS]},
            "By detector: its name, or another one that the preset has.",
        ),
        "properties": {name: _threshold(name) for name in DETECTORS},
    },
    "tools": _map(_TOOL, "What is declared about tools, by name."),
    "ignore": _said(_NAMES, "Tools whose calls do not count."),
    "profiles": _map(_PROFILE, "Clients by name; of a known one, what is added to its profile."),
    "shadow": _said(_FLAG, "Report what would be done, and do nothing."),
    "mask": {"description": "Which arguments are hidden.", "enum": list(MASKINGS)},
    "window": _count(2, "Number of recent calls that are compared."),
    "notice_role": {
        "description": "Role of the notice: system or user.",
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
