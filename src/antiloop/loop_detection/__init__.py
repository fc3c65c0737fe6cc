"""Loop detection: detectors (pure functions of calls and results) and the state of one run."""

from ..lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import presets
    from .detection import LoopDetection, LoopSeverity
    from .detector import LoopDetector
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
    from .monitor import LoopMonitor
    from .policy import Escalation, LoopAction, LoopPolicy
    from .second_opinion.case_file import CaseFile
    from .second_opinion.case_round import CaseCall, CaseRound
    from .second_opinion.opinion import Opinion
    from .second_opinion.second_opinion import SecondOpinion
    from .text.masking import mask_secrets
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
    "detectors.base": "BaseDetector",
    "detectors.call_limit": "CallLimitDetector",
    "second_opinion.case_file": "CaseFile",
    "second_opinion.case_round": "CaseCall CaseRound",
    "detectors.chant": "ChantDetector",
    "detection": "LoopDetection LoopSeverity",
    "detector": "LoopDetector",
    "detectors.failure_streak": "FailureStreakDetector",
    "text.masking": "mask_secrets",
    "monitor": "LoopMonitor",
    "detectors.monologue": "MonologueDetector",
    "detectors.near_repeat": "NearRepeatDetector",
    "detectors.no_effect": "NoEffectDetector",
    "second_opinion.opinion": "Opinion",
    "detectors.persistent_failure": "PersistentFailureDetector",
    "detectors.ping_pong": "PingPongDetector",
    "policy": "Escalation LoopAction LoopPolicy",
    "detectors.recurrence": "RecurrenceDetector",
    "detectors.repeat": "RepeatDetector",
    "detectors.repeated_finish": "RepeatedFinishDetector",
    "second_opinion.second_opinion": "SecondOpinion",
    "detectors.stall": "StallDetector",
    "evidence.tool_policy": "ToolPolicy",
    "detectors.unknown_tool": "UnknownToolDetector",
    "verdict": "LoopVerdict",
    "presets": "presets",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__, {name: home for home, names in _HOMES.items() for name in names.split()}
    )


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
