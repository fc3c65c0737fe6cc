"""Calls and results as they were when they came, for detectors of the user's own."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Dict, Mapping, Tuple, TypeVar

from ...types import ToolCall
from ..evidence.compared import Result
from ..settings import DetectorSettings
from ..text.canonical import parsed_arguments, plain
from .listeners import Listeners

T = TypeVar("T", bound="Copied")


class Copied:
    """A run that may be copied: what keeps no state is shared, listeners are left out."""

    _detector: DetectorSettings
    listeners: Listeners
    _tools: Mapping[str, Any]

    def __getstate__(self) -> Dict[str, Any]:
        # Listeners belong to the process, and to the run that they were added to.
        return {**self.__dict__, "listeners": self.listeners.alone()}

    def __copy__(self: T) -> T:
        return deepcopy(self)

    def __deepcopy__(self: T, memo: Dict[int, Any]) -> T:
        other = object.__new__(type(self))
        detector = self._detector
        for shared in (detector, detector.masking, self._tools, detector.second_opinion):
            memo[id(shared)] = shared  # they keep no state
        other.__dict__.update(deepcopy(self.__getstate__(), memo))
        return other


def own_copy(call: ToolCall, result: Result) -> Tuple[ToolCall, Result]:
    """Copy a call and its result; what cannot be copied is given as plain JSON."""
    return replace(call, arguments=_copied(call.arguments, parsed_arguments)), _copied(
        result, plain
    )


def _copied(value: Any, in_plain: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - foreign code ran
        return in_plain(value)
