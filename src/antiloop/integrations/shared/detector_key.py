"""A name for a guard's state that tells detectors apart, in every process the same."""

import inspect
from typing import Iterable

from ...loop_detection import LoopDetector
from ...loop_detection.evidence.fingerprint import KEY_LENGTH, text_fingerprint
from ...loop_detection.text.canonical import canonical_json


def detector_key(detector: LoopDetector, ignored: Iterable[str]) -> str:
    """Return a key of all options of a detector, and of the tools that do not count.

    A function, a judge for example, counts by its name, and a custom detector by its class and its
    attributes.
    """
    options = {name: getattr(detector, name) for name in inspect.signature(LoopDetector).parameters}
    known = canonical_json([type(detector), options, sorted(ignored)])
    return text_fingerprint(known)[:KEY_LENGTH]
