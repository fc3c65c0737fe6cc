"""The registry: every detector and every preset, each in one place.

A further detector is one line in `DETECTORS`, and the presets that use it name it below. All else
is made from these tables: what a configuration may contain, the JSON schema of settings, the
options of the presets, and the tables of the reference.

A preset is written as a configuration, in the form of `LoopDetector.to_config`, so that code, a
settings file and the command line change a preset in the same way. The order of the detectors
matters: where several of them require the same action, the first one gives the detection.
"""

import inspect
from functools import cache
from typing import Any, Dict, Mapping, Tuple, Type

from ._detectors.base import BaseDetector
from ._detectors.call_limit import CallLimitDetector
from ._detectors.chant import ChantDetector
from ._detectors.failure_streak import FailureStreakDetector
from ._detectors.monologue import MonologueDetector
from ._detectors.near_repeat import NearRepeatDetector
from ._detectors.no_effect import NoEffectDetector
from ._detectors.persistent_failure import PersistentFailureDetector
from ._detectors.ping_pong import PingPongDetector
from ._detectors.recurrence import RecurrenceDetector
from ._detectors.repeat import RepeatDetector
from ._detectors.repeated_finish import RepeatedFinishDetector
from ._detectors.stagnation import StagnationDetector
from ._detectors.stall import StallDetector
from ._detectors.standstill import StandstillDetector
from ._detectors.unknown_tool import UnknownToolDetector

DETECTORS: Dict[str, Type[BaseDetector]] = {
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
    "stagnation": StagnationDetector,
    "stall": StallDetector,
    "standstill": StandstillDetector,
    "unknown_tool": UnknownToolDetector,
}
"""The built-in detectors by the name that configurations, settings and verdicts use."""

THRESHOLDS = ("threshold", "repetitions", "limit")
"""The option that a bare number sets; each detector has one of them."""
NOT_BELOW = ("patience", "unseen", "varied", "in_a_row")
"""Counts for weaker evidence, which are raised with the threshold if they would be below it."""

# A repeat of a result that says "in progress" is normal for a while: patience 12 beside 3. The
# figures behind every number are on docs/reference/quality.md.
_PATIENCE = {"patience": 12, "patience_s": 600}
_CAREFUL_REPEAT = {"type": "repeat", "threshold": 3, "require_same_result": True, **_PATIENCE}
_CAREFUL_CYCLE = {"type": "ping_pong", "cycle_length": 12, "repetitions": 3, **_PATIENCE}
_CLOCK = ["timestamp", "time", "now", "checked_at", "updated_at"]
"""Fields of a poll's result that change although nothing else does."""

PRESETS: Dict[str, Dict[str, Any]] = {
    "default": {
        "detectors": [
            _CAREFUL_REPEAT,
            {"type": "stall", "threshold": 3, "only_fruitless": True, "varied": 5},
            _CAREFUL_CYCLE,
        ],
        "policy": "raise",
    },
    "escalating": {
        "detectors": [
            _CAREFUL_REPEAT,
            {"type": "unknown_tool", "threshold": 3},
            {"type": "no_effect", "threshold": 3},
            _CAREFUL_CYCLE,
            {"type": "near_repeat", "threshold": 4, "patience": 6},
            {"type": "failure_streak", "threshold": 4, "in_a_row": 5, "repeats": 3},
            {"type": "recurrence", "threshold": 3, **_PATIENCE, "unseen": 5, "leave_cycles": True},
            {"type": "persistent_failure", "threshold": 5},
            {"type": "repeated_finish", "threshold": 3},
            {"type": "stagnation", "threshold": 2},
            {"type": "monologue", "threshold": 3},
            {"type": "chant", "repetitions": 6},
        ],
        "policy": {"actions": ["notify", "block", "stop"]},
    },
    # Those of "default", and strict copies of others: to end a run without a word before takes more
    # evidence than to tell the model, so each needs more rounds than in "escalating".
    "thorough": {
        "detectors": [
            _CAREFUL_REPEAT,
            {"type": "stall", "threshold": 3, "only_fruitless": True, "varied": 5},
            _CAREFUL_CYCLE,
            {"type": "near_repeat", "threshold": 4, "patience": 6},
            {"type": "failure_streak", "threshold": 6, "in_a_row": 20, "repeats": 3},
            {"type": "unknown_tool", "threshold": 4},
            {"type": "no_effect", "threshold": 4},
        ],
        "policy": "raise",
    },
    "literal": {
        "detectors": [
            {"type": "repeat", "threshold": 3},
            {"type": "stall", "threshold": 3},
            {"type": "ping_pong", "cycle_length": 2, "repetitions": 3, "match": "tool_names"},
        ],
        "policy": "raise",
    },
    "patient": {
        "detectors": [
            {"type": "standstill", "threshold": 30},
            {"type": "repeat", "name": "no_progress", "threshold": 20, "require_same_result": True},
            {"type": "repeat", "threshold": 10},
            {"type": "ping_pong", "repetitions": 5},
        ],
        "policy": {"actions": ["block"]},
        "escalations": {
            "standstill": {"actions": ["stop"]},
            "repeat": {"actions": ["notify"]},
            "ping_pong": {"actions": ["notify", "block"], "every": 10},
        },
        "window": 30,
        "tools": {
            "command_status": {"poll": True, "strip": _CLOCK},
            "process": {"poll": {"action": ["poll", "log"]}, "strip": _CLOCK},
            "process.poll": {"poll": True, "strip": _CLOCK},
            "process.log": {"poll": True, "strip": _CLOCK},
        },
        "log_verdicts": True,
    },
    "cycles": {
        "detectors": [
            {"type": "repeat", "threshold": 3},
            {"type": "ping_pong", "cycle_length": 3, "repetitions": 3, "match": "calls"},
        ],
        "policy": {"actions": ["notify", "notify", "stop"], "per_lap": True},
        "notice_role": "user",
    },
    "budgeted": {
        "detectors": [
            {"type": "call_limit", "limit": 25, "per_turn": True},
            {"type": "repeat", "threshold": 3},
            {"type": "ping_pong", "cycle_length": 2, "repetitions": 2, "match": "tool_names"},
        ],
        "policy": {"actions": ["block"]},
        "escalations": {
            "repeat": {"actions": ["notify", "notify", "block"], "resumes": False},
            "ping_pong": {"actions": ["notify", "notify", "block"], "resumes": False},
        },
        "mask": "arguments",
        "log_verdicts": True,
    },
}
"""The presets, our own first, then those that reproduce published designs."""


@cache
def options_of(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the options of a detector, in the order of its constructor."""
    return inspect.signature(DETECTORS[name]).parameters


def threshold_of(name: str) -> str:
    """Return the option of a detector that a bare number sets."""
    return next(each for each in THRESHOLDS if each in options_of(name))


def names_of(config: Mapping[str, Any]) -> Tuple[str, ...]:
    """Return the names of the detectors of a configuration."""
    return tuple(each.get("name", each["type"]) for each in config["detectors"])
