"""A loop in a run, as a test reports it."""

from dataclasses import dataclass
from typing import Collection, Dict, Iterator, List, Union

from .._checks import check_choice, tool_names
from .._short_repr import counted
from .._text.canonical import parsed_arguments, readable_json
from .._text.shortening import NAME_LENGTH, visible
from ..formats._internal import verdicts_of
from ..loop_detection import LoopDetection, LoopDetector, ToolPolicy
from ..loop_detection.presets import PRESETS
from ..traces import RecordedRun

_SHOWN_CALLS = 6
_SHOWN = 100
"""Characters of arguments and of a result."""

Preset = Union[str, LoopDetector]
"""The name of a preset, or a detector of your own."""


@dataclass(frozen=True)
class FoundLoop:
    """One loop, however often it was found."""

    run: RecordedRun
    step: int
    """The step at which it was found first."""
    detection: LoopDetection
    """The last finding, when it was longest."""
    detector: LoopDetector
    """The detector that found it, which says what may be shown."""

    @property
    def message(self) -> str:
        """The summary of the finding, with secrets masked."""
        return self.detector.masking.text(self.detection.summary)

    def lines(self) -> Iterator[str]:
        """Yield the finding, and the last calls of the loop with their results."""
        found = self.detection
        yield f"  step {self.step}, {found.detector_name}: {self.message}"
        indices = found.indices[-_SHOWN_CALLS:]
        if len(found.indices) > len(indices):
            yield f"    ... {counted(len(found.indices) - len(indices), 'call')} before"
        for index in indices:
            yield f"    {index:>3}  {self._call(index)}"

    def _call(self, index: int) -> str:
        call, result = self.run.calls[index], self.run.results[index]
        masking = self.detector.masking
        arguments = readable_json(masking.arguments(parsed_arguments(call.arguments)))
        shown = f"{visible(masking.text(call.tool_name), NAME_LENGTH)} {visible(arguments, _SHOWN)}"
        if result is None:
            return f"{shown} -> (result unknown)"
        answer = visible(masking.text(result.text), _SHOWN)
        return f"{shown} -> {'error: ' * result.is_error}{answer}"


def detector_of(preset: Preset) -> LoopDetector:
    """Return the detector of a preset.

    Raises:
        ValueError: if the preset does not exist.
        TypeError: for what is neither a name nor a detector.
    """
    if isinstance(preset, LoopDetector):
        return preset
    check_choice("preset", preset, PRESETS, ", or pass a LoopDetector")
    return PRESETS[preset]()


def loops_in(run: RecordedRun, preset: Preset, allow: Collection[str] = ()) -> List[FoundLoop]:
    """Find the loops of a run, each once, in the order in which they were found.

    Args:
        run: the run.
        preset: what looks for them.
        allow: names of tools that may be called over and over.

    Raises:
        TypeError: for one name where several are meant, and for what is not a name.
    """
    detector = detector_of(preset)
    exempt = {name: ToolPolicy(exempt=True) for name in tool_names("allow", allow)}
    found: Dict[str, FoundLoop] = {}
    monitor = detector.monitor(
        exempt,
        client=run.client,
        run_id=run.run_id,
        live=False,
        can_ask=False,
        opinions=dict(run.opinions),
    )
    for step, verdict in verdicts_of(monitor, run):
        if verdict.detection is not None:
            earlier = found.get(verdict.detection.identity)
            first = earlier.step if earlier else step
            loop = FoundLoop(run, first, verdict.detection, detector)
            found[verdict.detection.identity] = loop
    return list(found.values())
