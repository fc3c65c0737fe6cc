"""Loop detection: pure functions over calls and results, and the state of one run."""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import presets
    from .base import BaseDetector
    from .call_limit import CallLimitDetector
    from .case_file import CaseFile
    from .case_round import CaseCall, CaseRound
    from .chant import ChantDetector
    from .detection import LoopDetection, LoopSeverity
    from .detector import LoopDetector
    from .failure_streak import FailureStreakDetector
    from .masking import mask_secrets
    from .monitor import LoopMonitor
    from .monologue import MonologueDetector
    from .near_repeat import NearRepeatDetector
    from .no_effect import NoEffectDetector
    from .opinion import Opinion
    from .persistent_failure import PersistentFailureDetector
    from .ping_pong import PingPongDetector
    from .policy import Escalation, LoopAction, LoopPolicy
    from .recurrence import RecurrenceDetector
    from .repeat import RepeatDetector
    from .repeated_finish import RepeatedFinishDetector
    from .second_opinion import SecondOpinion
    from .stall import StallDetector
    from .tool_policy import ToolPolicy
    from .unknown_tool import UnknownToolDetector
    from .verdict import LoopVerdict

__all__ = [
    "BaseDetector",
    "CallLimitDetector",
    "CaseCall",
    "CaseFile",
    "CaseRound",
    "ChantDetector",
    "Escalation",
    "FailureStreakDetector",
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
    "PersistentFailureDetector",
    "PingPongDetector",
    "RecurrenceDetector",
    "RepeatDetector",
    "RepeatedFinishDetector",
    "SecondOpinion",
    "StallDetector",
    "ToolPolicy",
    "UnknownToolDetector",
    "mask_secrets",
    "presets",
]

_HOMES = {
    "base": "BaseDetector",
    "call_limit": "CallLimitDetector",
    "case_file": "CaseFile",
    "case_round": "CaseCall CaseRound",
    "chant": "ChantDetector",
    "detection": "LoopDetection LoopSeverity",
    "detector": "LoopDetector",
    "failure_streak": "FailureStreakDetector",
    "masking": "mask_secrets",
    "monitor": "LoopMonitor",
    "monologue": "MonologueDetector",
    "near_repeat": "NearRepeatDetector",
    "no_effect": "NoEffectDetector",
    "opinion": "Opinion",
    "persistent_failure": "PersistentFailureDetector",
    "ping_pong": "PingPongDetector",
    "policy": "Escalation LoopAction LoopPolicy",
    "recurrence": "RecurrenceDetector",
    "repeat": "RepeatDetector",
    "repeated_finish": "RepeatedFinishDetector",
    "second_opinion": "SecondOpinion",
    "stall": "StallDetector",
    "tool_policy": "ToolPolicy",
    "unknown_tool": "UnknownToolDetector",
    "verdict": "LoopVerdict",
    "presets": "presets",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__, {name: home for home, names in _HOMES.items() for name in names.split()}
    )


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
