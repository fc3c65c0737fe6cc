"""Loop detection: detectors (pure functions of calls and results) and the state of one run."""

from .._lazy import TYPE_CHECKING, by_name, lazily

if TYPE_CHECKING:
    from .._text.masking import mask_secrets
    from . import presets
    from ._detection import LoopDetection, LoopSeverity
    from ._detector import LoopDetector
    from ._detectors.base import BaseDetector, WindowDetector
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
    from ._evidence.outcome import Outcome
    from ._evidence.round import JudgedCall, Round
    from ._evidence.tool_policy import ToolPolicy
    from ._evidence.window import Window
    from ._messages import system_notice
    from ._monitor import LoopMonitor
    from ._policy import Escalation, LoopAction, LoopPolicy
    from ._presets import PresetOptions
    from ._profiles import CallPattern, ClientProfile
    from ._second_opinion.case_file import CaseCall, CaseFile, CaseRound
    from ._second_opinion.opinion import Opinion, SecondOpinion
    from ._verdict import LoopVerdict

__all__ = [
    "BaseDetector",
    "CallLimitDetector",
    "CallPattern",
    "CaseCall",
    "CaseFile",
    "CaseRound",
    "ChantDetector",
    "ClientProfile",
    "Escalation",
    "FailureStreakDetector",
    "JudgedCall",
    "LoopAction",
    "LoopDetection",
    "LoopDetector",
    "LoopMonitor",
    "LoopPolicy",
    "LoopSeverity",
    "LoopVerdict",
    "MonologueDetector",
    "NearRepeatDetector",
    "NoEffectDetector",
    "Opinion",
    "Outcome",
    "PersistentFailureDetector",
    "PingPongDetector",
    "PresetOptions",
    "RecurrenceDetector",
    "RepeatDetector",
    "RepeatedFinishDetector",
    "Round",
    "SecondOpinion",
    "StagnationDetector",
    "StallDetector",
    "StandstillDetector",
    "ToolPolicy",
    "UnknownToolDetector",
    "Window",
    "WindowDetector",
    "mask_secrets",
    "presets",
    "system_notice",
]

_HOMES = {
    "_detectors.base": "BaseDetector WindowDetector",
    "_detectors.call_limit": "CallLimitDetector",
    "_second_opinion.case_file": "CaseCall CaseFile CaseRound",
    "_detectors.chant": "ChantDetector",
    "_detection": "LoopDetection LoopSeverity",
    "_detector": "LoopDetector",
    "_detectors.failure_streak": "FailureStreakDetector",
    "._text.masking": "mask_secrets",
    "_messages": "system_notice",
    "_monitor": "LoopMonitor",
    "_detectors.monologue": "MonologueDetector",
    "_detectors.near_repeat": "NearRepeatDetector",
    "_detectors.no_effect": "NoEffectDetector",
    "_second_opinion.opinion": "Opinion SecondOpinion",
    "_detectors.persistent_failure": "PersistentFailureDetector",
    "_detectors.ping_pong": "PingPongDetector",
    "_policy": "Escalation LoopAction LoopPolicy",
    "_profiles": "CallPattern ClientProfile",
    "_presets": "PresetOptions",
    "_detectors.recurrence": "RecurrenceDetector",
    "_detectors.repeat": "RepeatDetector",
    "_detectors.repeated_finish": "RepeatedFinishDetector",
    "_detectors.stagnation": "StagnationDetector",
    "_detectors.stall": "StallDetector",
    "_detectors.standstill": "StandstillDetector",
    "_evidence.tool_policy": "ToolPolicy",
    "_evidence.outcome": "Outcome",
    "_evidence.round": "JudgedCall Round",
    "_evidence.window": "Window",
    "_detectors.unknown_tool": "UnknownToolDetector",
    "_verdict": "LoopVerdict",
    "presets": "presets",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES))

    def __dir__() -> "list[str]":
        return sorted({*globals(), *__all__})
