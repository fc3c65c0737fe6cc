"""All presets by name; each is also a method of `LoopDetector`, and they take the same options.

We recommend `default` and `escalating`. The others reproduce published designs, for comparison and
for migration; the reference compares the figures of all.

>>> from antiloop.loop_detection import presets
>>> presets.patient(shadow=True).shadow
True
"""

from typing import Callable, Dict, Final

from ._detector import LoopDetector
from ._registry import PRESETS as _TABLE

__all__ = [
    "PRESETS",
    "budgeted",
    "cycles",
    "default",
    "escalating",
    "literal",
    "patient",
    "thorough",
]

default: Final = LoopDetector.default
escalating: Final = LoopDetector.escalating
thorough: Final = LoopDetector.thorough
literal: Final = LoopDetector.literal
patient: Final = LoopDetector.patient
cycles: Final = LoopDetector.cycles
budgeted: Final = LoopDetector.budgeted

PRESETS: Dict[str, Callable[..., LoopDetector]] = {
    name: getattr(LoopDetector, name) for name in _TABLE
}
"""The presets by name; our own presets come first."""
